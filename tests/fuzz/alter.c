// SPDX-License-Identifier: Apache-2.0
// alter SEED FROM TO: a copy of a file with up to eight changes: bytes set or flipped, a stretch
// removed, doubled or cut off at the end, a number replaced. For blackbox.t.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_rng.h"

enum { ROOM = 1 << 22 };

static size_t change(struct sq_rng *r, char *b, size_t n)
{
    static const char *const values[] = {
        "0",    "-1", "1e999",   "nan",   "18446744073709551616", "\"",
        "'",    "\n", "\x1b[2J", "$(id)", "\xe2\x80\xae",         "{",
        "]]]]", ","};
    const size_t at = sq_rng_below(r, (uint32_t)n), len = 1 + sq_rng_below(r, 16) % (n - at);
    const char *text = values[sq_rng_below(r, sizeof values / sizeof values[0])];
    switch (sq_rng_below(r, 6)) {
    case 0:
        b[at] = (char)sq_rng_below(r, 256);
        return n;
    case 1:
        b[at] = (char)(b[at] ^ 1 << sq_rng_below(r, 8));
        return n;
    case 2:
        memmove(b + at, b + at + len, n - at - len);
        return n - len;
    case 3:
        memmove(b + at + len, b + at, n - at);
        return n + len;
    case 4:
        return sq_rng_below(r, 4) == 0 ? at : n;
    default:
        memmove(b + at + strlen(text), b + at, n - at);
        memcpy(b + at, text, strlen(text));
        return n + strlen(text);
    }
}

int main(int argc, char **argv)
{
    static char b[ROOM + 1024];
    if (argc != 4)
        return 2;
    struct sq_rng r = {strtoull(argv[1], NULL, 0)};
    FILE *in = fopen(argv[2], "rb");
    size_t n = in ? fread(b, 1, ROOM, in) : 0;
    if (!in || fclose(in) != 0)
        return 2;
    for (unsigned i = 1 + sq_rng_below(&r, 8); i > 0 && n > 0; i--)
        n = change(&r, b, n);
    FILE *out = fopen(argv[3], "wb");
    return out && fwrite(b, 1, n, out) == n && fclose(out) == 0 ? 0 : 2;
}
