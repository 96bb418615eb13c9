// SPDX-License-Identifier: Apache-2.0
// Encodes banks in integers as sq_encode does, and tokens as models/ do (sq_engine_array_encode.h).
#include "sim/block/array/sq_engine_array_encode.h"

#include <assert.h>
#include <stdlib.h>

#include "models/core/sq_topk.h"
#include "models/number/sq_bits.h"
#include "models/number/sq_codes.h"

static void put_bank(const struct sq_array_config *c, size_t rows, size_t row, const int16_t *code,
                     const uint8_t *is_high, int32_t *beat)
{
    const size_t lows = sq_array_low_lanes(c), highs = c->high_per_bank;
    int32_t *low = beat + row * lows, *high = beat + rows * lows + row * highs;
    int32_t *const mask = beat + rows * (lows + highs) + row * c->bank;
    for (size_t i = 0; i < c->bank; i++) {
        mask[i] = is_high[i];
        *(is_high[i] ? high++ : low++) = code[i];
    }
}

static void get_mask(const struct sq_array_config *c, const uint16_t *x, uint16_t *mag,
                     uint8_t *is_high)
{
    for (size_t i = 0; i < c->bank; i++)
        mag[i] = sq_magnitude_fp(x[i]);
    sq_topk_bank(mag, c->bank, c->high_per_bank, is_high);
}

void sq_array_encode_bank(const struct sq_array_config *c, size_t rows, size_t row,
                          const uint16_t *x, const struct sq_act_token scale[2], int32_t *beat)
{
    const unsigned bits[] = {c->low_bits, c->high_bits};
    uint16_t mag[SQ_BANK_MAX];
    uint8_t is_high[SQ_BANK_MAX];
    int16_t code[SQ_BANK_MAX];
    get_mask(c, x, mag, is_high);
    for (size_t i = 0; i < c->bank; i++)
        code[i] = sq_act_token_code(&scale[is_high[i]], x[i], bits[is_high[i]]);
    put_bank(c, rows, row, code, is_high, beat);
}

uint16_t sq_array_largest_low(const struct sq_array_config *c, const uint16_t *x)
{
    uint16_t mag[SQ_BANK_MAX], largest = 0;
    uint8_t is_high[SQ_BANK_MAX];
    get_mask(c, x, mag, is_high);
    for (size_t i = 0; i < c->bank; i++)
        largest = !is_high[i] && mag[i] > largest ? mag[i] : largest;
    return largest;
}

void sq_array_encode_tokens(const struct sq_array_config *c, size_t rows, const uint16_t *x,
                            size_t n, size_t banks, int32_t *beat, float *scale)
{
    const size_t k = banks * c->bank;
    const size_t len = rows * (sq_array_low_lanes(c) + c->high_per_bank + c->bank);
    struct sq_codes codes = {.grid = {SQ_GRID_OWN, c->high_bits, c->low_bits},
                             .n = rows,
                             .k = k,
                             .k_orig = n,
                             .group = k,
                             .bank = c->bank,
                             .high_per_bank = c->high_per_bank,
                             .code = malloc(rows * k * sizeof *codes.code),
                             .is_high = malloc(rows * k),
                             .s_lo = scale,
                             .s_hi = scale + rows};
    SQ_FREED float *const number = malloc(rows * n * sizeof *number);
    SQ_FREED float *const score = malloc(2 * k * sizeof *score);
    if (!codes.code || !codes.is_high || !number || !score)
        abort();
    for (size_t i = 0; i < rows * n; i++)
        number[i] = sq_float_of((uint32_t)x[i / n * k + i % n] << 16);
    const enum sq_status status =
        sq_codes_encode_act(&codes, number, SQ_SELECT_DYNAMIC_FP, NULL, score, NULL);
    assert(status == SQ_OK);
    (void)status;
    for (size_t i = 0; i < rows * banks; i++) {
        const size_t row = i / banks, at = row * k + i % banks * c->bank;
        put_bank(c, rows, row, codes.code + at, codes.is_high + at, beat + i % banks * len);
    }
    free(codes.code);
    free(codes.is_high);
}
