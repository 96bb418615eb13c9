// SPDX-License-Identifier: Apache-2.0
// The elements of models/scaled/sq_element.h as a filter, for tests/cli/elements.py.
//
//   element_codes ELEMENT encode   binary32 on standard input, a code byte each on standard output
//   element_codes ELEMENT decode   code bytes in, binary32 out
//   element_codes e8m0 decode      the same of block scales
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/scaled/sq_element.h"

enum { CHUNK = 1 << 16 };

// What is not finite is nobody's element: 0.
static void encode(enum sq_element e)
{
    static float x[CHUNK];
    static uint8_t code[CHUNK];
    size_t n;
    while ((n = fread(x, sizeof *x, CHUNK, stdin)) > 0) {
        for (size_t i = 0; i < n; i++)
            code[i] = isfinite(x[i]) ? sq_element_encode(e, x[i]) : 0;
        fwrite(code, 1, n, stdout);
    }
}

static void decode(int e) // SQ_ELEMENTS: E8M0
{
    static float x[CHUNK];
    static uint8_t code[CHUNK];
    size_t n;
    while ((n = fread(code, 1, CHUNK, stdin)) > 0) {
        for (size_t i = 0; i < n; i++)
            x[i] = e == SQ_ELEMENTS ? sq_e8m0_decode(code[i])
                                    : sq_element_decode((enum sq_element)e, code[i]);
        fwrite(x, sizeof *x, n, stdout);
    }
}

int main(int argc, char **argv)
{
    int e = 0;
    if (argc != 3)
        return 2;
    while (e < SQ_ELEMENTS && strcmp(sq_element_name((enum sq_element)e), argv[1]) != 0)
        e++;
    if (e == SQ_ELEMENTS && strcmp(argv[1], "e8m0") != 0)
        return 2;
    if (strcmp(argv[2], "decode") == 0)
        decode(e);
    else if (strcmp(argv[2], "encode") == 0 && e < SQ_ELEMENTS)
        encode((enum sq_element)e);
    else
        return 2;
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
