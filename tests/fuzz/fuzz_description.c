// SPDX-License-Identifier: Apache-2.0
// Descriptions of block-scaled formats (SPEC Q.9): any text. What is accepted encodes blocks of numbers, hard ones too, in
// legal codes that decode to finite numbers; and what was decoded has codes again.
#include <math.h>

#include "models/scaled/sq_bs.h"
#include "sim/format/scaled/sq_bs_describe.h"
#include "tests/fuzz/fuzz.h"

// A block of n real elements: zeros, a number far above the others, small ones, and those between.
static void set_block(unsigned kind, size_t n, float *x)
{
    for (size_t i = 0; i < n; i++) {
        const float sign = i % 3 == 1 ? -1.0f : 1.0f, v = (float)(i * 37 % 101) / 16;
        x[i] = sign * (kind == 0                 ? 0
                       : kind == 1 && i == n / 2 ? 1e30f
                       : kind == 2               ? v * 0x1p-130f
                                                 : v);
    }
}

static void encode(const struct sq_bs_format *f, const float *x, size_t n, float global,
                   float *decoded)
{
    const float globals[SQ_BS_PARTS] = {global, 1};
    struct sq_bs_block b;
    sq_bs_choose(f, x, n, globals, &b);
    FUZZ_CHECK(sq_bs_is_scale(f, 0, b.scale[0]) && isfinite(b.step[0]));
    for (size_t i = 0; i < f->block; i++) {
        const struct sq_bs_code c = sq_bs_encode(f, &b, i, i < n ? x[i] : 0);
        FUZZ_CHECK(sq_bs_is_legal(f, &b, i, c));
        decoded[i] = sq_bs_value(f, &b, i, c);
        FUZZ_CHECK(isfinite(decoded[i]) &&
                   (i < n || decoded[i] == 0 || f->table->zero || f->table->lacks_zero));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sq_bs_description d;
    struct sq_error err;
    if (!fuzz_ok(sq_bs_describe(data, n, "mem/file.yaml", &d, &err), &err))
        return 0;
    const struct sq_bs_table *t = &d.table;
    struct sq_bs_table again = *t;
    FUZZ_CHECK(sq_bs_table_settle(&again, &err) == SQ_OK && memcmp(&again, t, sizeof again) == 0);
    const struct sq_bs_format f = {.kind = SQ_BS_TABLE, .table = t, .block = t->length};
    FUZZ_CHECK(sq_bs_check(&f, &err) == SQ_OK && sq_bs_bits(&f) > 1 && sq_bs_bits(&f) < 17);
    for (unsigned kind = 0; kind < 4; kind++)
        for (size_t left = 0; left < 2; left++) {
            float x[SQ_BS_BLOCK_MAX], y[SQ_BS_BLOCK_MAX], z[SQ_BS_BLOCK_MAX], global[SQ_BS_PARTS];
            const size_t n_real = t->length - left * (t->length / 2 + 1);
            set_block(kind, n_real, x);
            float amax[SQ_BS_PARTS] = {0, 0};
            for (size_t i = 0; i < n_real; i++)
                amax[0] = fmaxf(amax[0], fabsf(x[i]));
            sq_bs_globals_of(&f, amax, global);
            encode(&f, x, n_real, global[0], y);
            encode(&f, y, n_real, global[0], z);
        }
    return 0;
}
