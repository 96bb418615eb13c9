// SPDX-License-Identifier: Apache-2.0
// Cell libraries. First byte 1: a function expression; 2: the text packed by gzip; 3: the rest is
// the file as it is, the place for altered gzip data; everything else is the file's first byte.
#include <zlib.h>

#include "sim/synth/sq_liberty.h"
#include "tests/fuzz/fuzz.h"

static void function(struct fuzz_reader *r)
{
    char in[3][SQ_LIB_NAME_LEN] = {"A", "B1", "C[0]"};
    char *text = fuzz_text(r);
    for (size_t n = 1; n <= 3; n++) {
        unsigned table = 0;
        if (sq_liberty_truth(text, in, n, &table))
            FUZZ_CHECK(table < 1u << (1u << n));
    }
    free(text);
}

static size_t pack(const struct fuzz_reader *r, uint8_t *out, size_t room)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)r->data,
                  .avail_in = (uInt)r->n,
                  .next_out = out,
                  .avail_out = (uInt)room};
    FUZZ_CHECK(deflateInit2(&z, 1, Z_DEFLATED, 9 + 16, 1, Z_DEFAULT_STRATEGY) == Z_OK);
    const int code = deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return code == Z_STREAM_END ? room - z.avail_out : 0;
}

static void library(const void *bytes, size_t n)
{
    struct sq_liberty lib;
    struct sq_error err;
    fuzz_file(FUZZ_FILE, bytes, n);
    if (!fuzz_ok(sq_liberty_read(&lib, FUZZ_FILE, &err), &err))
        return;
    FUZZ_CHECK(lib.nand2 && lib.nand2 == sq_liberty_find(&lib, lib.nand2->name));
    for (size_t i = 0; i < lib.n_cells; i++) {
        FUZZ_CHECK(sq_liberty_find(&lib, lib.cell[i].name));
        FUZZ_CHECK(i == 0 || strcmp(lib.cell[i - 1].name, lib.cell[i].name) <= 0);
    }
    FUZZ_CHECK(!*lib.adder.cell || sq_liberty_find(&lib, lib.adder.cell));
    FUZZ_CHECK(lib.text[lib.nbytes] == '\0');
    sq_liberty_free(&lib);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static uint8_t packed[1 << 17];
    struct fuzz_reader r = {data, n};
    const unsigned mode = n > 0 && data[0] >= 1 && data[0] <= 3 ? fuzz_byte(&r) : 0;
    if (mode == 1)
        function(&r);
    else if (mode == 2)
        library(packed, pack(&r, packed, sizeof packed));
    else
        library(r.data, r.n);
    return 0;
}
