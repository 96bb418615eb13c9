// SPDX-License-Identifier: Apache-2.0
// Static masks of activations: of a layer of 20, 32 or 64 channels. The first byte chooses.
#include "sim/format/file/sq_mask_file.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const size_t widths[] = {20, 32, 64};
    struct fuzz_reader r = {data, n};
    struct sq_safetensors st;
    struct sq_error err;
    uint8_t mask[64];
    const size_t k = widths[fuzz_byte(&r) % 3];
    fuzz_file(FUZZ_FILE, r.data, r.n);
    if (sq_safetensors_open(&st, FUZZ_FILE, &err) != SQ_OK)
        return 0;
    const enum sq_status status = sq_masks_read(&st, "layer", k, mask, &err);
    fuzz_ok(status, &err);
    for (size_t i = 0; status == SQ_OK && i < k; i++)
        FUZZ_CHECK(mask[i] <= 1);
    sq_safetensors_close(&st);
    return 0;
}
