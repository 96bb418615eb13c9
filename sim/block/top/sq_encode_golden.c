// SPDX-License-Identifier: Apache-2.0
// What an encoder must write, token after token by sq_act_quantize (sq_encode_sim.h).
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_mac.h"
#include "sim/block/top/sq_encode_sim.h"

// Element k of a row of a tile of rows that begins at `from`, as it counts.
static float element(const unsigned *v, const unsigned char *from, uint32_t row, size_t k,
                     bool *is_number)
{
    const size_t cols = v[SQ_TOP_COLS], tile = v[SQ_TOP_ROWS] * cols;
    uint16_t x;
    float value;
    memcpy(&x, from + 2 * (k / cols * tile + row * cols + k % cols), sizeof x);
    *is_number = sq_bf16_is_finite(x);
    const uint32_t bits = *is_number ? (uint32_t)x << 16 : 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint32_t sq_encode_golden(const unsigned *v, const struct sq_encode_layer *l, const int32_t *from,
                          int32_t *act, int32_t *row_scale)
{
    const uint32_t nbytes = v[SQ_TOP_DATA_W] / 8, rows = v[SQ_TOP_ROWS], bank = v[SQ_TOP_BANK_LEN];
    const size_t n = (size_t)l->cols * v[SQ_TOP_COLS], k = (size_t)l->beats * bank;
    uint64_t stride[SQ_ENCODE_REGIONS];
    float *const x = malloc(n * sizeof *x);
    float scale = 0;
    int8_t *const code = malloc(k);
    bool all = true;
    if (!x || !code)
        abort();
    sq_encode_strides(v, l, stride);
    for (uint32_t t = 0; t < l->rows * rows; t++) {
        const size_t tile = t / rows * nbytes, row = t % rows;
        const unsigned char *const begin =
            (const unsigned char *)from + tile * stride[SQ_ENCODE_FROM];
        for (size_t i = 0; i < n; i++) {
            bool is_number;
            x[i] = element(v, begin, (uint32_t)row, i, &is_number);
            all = all && is_number;
        }
        const enum sq_status status = sq_act_quantize(x, 1, n, k, 8, code, &scale, NULL);
        assert(status == SQ_OK);
        (void)status;
        char *const to = (char *)act + tile * stride[SQ_ENCODE_ACT];
        for (size_t b = 0; b < l->beats; b++)
            memcpy(to + (b * rows + row) * bank, code + b * bank, bank);
        memcpy((char *)row_scale + tile * stride[SQ_ENCODE_ROW_SCALE] + 4 * row, &scale,
               sizeof scale);
    }
    free(x);
    free(code);
    return (uint32_t)!all << SQ_SCALED_ERROR_CODE;
}
