// SPDX-License-Identifier: Apache-2.0
// Files of encoded weights. First byte below 128: the rest is the file, of format sq_w where bit 0
// is set; else a template whose header is altered by the list that follows (fuzz_alter), its data
// by a second one behind a length (u16). Bit 6: what was read is written again as well.
#include "tests/fuzz/encoded.h"

static size_t alter(uint8_t *file, size_t room, unsigned which, struct fuzz_reader *r)
{
    size_t n, got;
    const uint8_t *bytes = encoded_template(which % ENCODED_TEMPLATES, &n);
    FUZZ_CHECK(n > 8 && n <= room);
    memcpy(file, bytes, n);
    fuzz_drop_digest(file, n);
    const size_t header = (size_t)(file[0] | file[1] << 8);
    FUZZ_CHECK(header <= n - 8);
    const size_t n_list = fuzz_u16(r);
    struct fuzz_reader list = {NULL, 0};
    list.data = fuzz_bytes(r, n_list, &got);
    list.n = got;
    fuzz_alter(file + 8, header, &list);
    fuzz_alter(file + 8 + header, n - 8 - header, r);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static uint8_t file[1 << 16];
    struct fuzz_reader r = {data, n};
    const unsigned mode = fuzz_byte(&r);
    if (mode < 128) {
        fuzz_file(FUZZ_FILE, r.data, r.n);
    } else {
        const size_t n_file = alter(file, sizeof file, mode, &r);
        fuzz_file(FUZZ_FILE, file, n_file);
    }
    const bool is_sq_w = mode < 128 ? mode & 1 : mode % ENCODED_TEMPLATES < ENCODED_SQ_W;
    encoded_use(FUZZ_FILE, is_sq_w, mode & 64);
    return 0;
}
