// SPDX-License-Identifier: Apache-2.0
// sq_gather_bank (SPEC A.7, D.8) against sq_slow_gather.
//
// Exhausted: every mask of a bank of 4, 8 and 16, thus every number of mask codes from none to all,
// with every legal k and every low width. Sampled: banks of 32 to 128 at every mask density, and
// the values of codes and activations everywhere.
#include "models/core/sq_gather.h"
#include "models/core/sq_slow.h"
#include "tests/unit/fixture.h"

static void fill(struct sq_rng *r, unsigned bank, unsigned low_bits, const uint8_t *mask,
                 int8_t *codes, int8_t *act)
{
    const int qmax = sq_qmax(low_bits);
    for (unsigned i = 0; i < bank; i++) {
        codes[i] = (int8_t)((int)sq_rng_below(r, 2 * (unsigned)qmax + 1) - qmax);
        if (mask[i])
            codes[i] = (int8_t)sq_mask_code(low_bits);
        act[i] = (int8_t)sq_rng_next(r); // all 256 values
    }
}

static void equals_slow(struct sq_rng *r, unsigned bank, unsigned k, unsigned low_bits,
                        const uint8_t *mask)
{
    int8_t *codes = fixture_exact(bank), *act = fixture_exact(bank);
    int8_t *lo = fixture_exact(bank), *gathered = fixture_exact(k);
    int8_t want_lo[SQ_BANK_MAX], want[SQ_BANK_MAX];
    unsigned n_masked = 0;
    fill(r, bank, low_bits, mask, codes, act);
    const bool ok = sq_gather_bank(codes, act, bank, k, low_bits, lo, gathered);
    CHECK_EQ(ok, sq_slow_gather(codes, act, bank, k, low_bits, want_lo, want), "b %u k %u\n", bank,
             k);
    for (unsigned i = 0; i < bank; i++) {
        CHECK_EQ(lo[i], want_lo[i], "bank %u k %u element %u\n", bank, k, i);
        n_masked += mask[i] != 0;
    }
    for (unsigned t = 0; t < k; t++)
        CHECK_EQ(gathered[t], want[t], "bank %u k %u slot %u\n", bank, k, t);
    CHECK_EQ(ok, n_masked == k, "bank %u, %u masked\n", bank, n_masked);
}

SQ_TEST(every_mask_of_small_banks)
{
    struct sq_rng rng = {fixture_seed()};
    for (unsigned bank = 4; bank <= 16; bank *= 2)
        for (unsigned bits = 0; bits < 1u << bank; bits++) {
            uint8_t mask[16];
            for (unsigned i = 0; i < bank; i++)
                mask[i] = bits >> i & 1;
            for (unsigned k = bank / 2; k >= 1 && k * 16 >= bank; k /= 2)
                equals_slow(&rng, bank, k, 2 + bits % 3, mask);
        }
}

SQ_TEST(large_banks_at_every_density)
{
    struct sq_rng rng = {fixture_seed()};
    for (unsigned bank = 32; bank <= 128; bank *= 2)
        for (unsigned density = 0; density <= 64; density++)
            for (unsigned low_bits = 2; low_bits <= 4; low_bits++) {
                uint8_t mask[SQ_BANK_MAX];
                for (unsigned i = 0; i < bank; i++)
                    mask[i] = sq_rng_below(&rng, 64) < density;
                for (unsigned k = bank / 2; k * 16 >= bank; k /= 2)
                    equals_slow(&rng, bank, k, low_bits, mask);
            }
}

// The contract in words: too few leave slots 0, too many are ignored but still count as 0 below.
SQ_TEST(too_few_and_too_many_mask_codes)
{
    const int8_t act[4] = {11, 12, 13, 14};
    int8_t lo[4], gathered[2];
    assert_false(sq_gather_bank((int8_t[]){1, -8, 2, 3}, act, 4, 2, 4, lo, gathered));
    assert_memory_equal(gathered, ((int8_t[]){12, 0}), 2);
    assert_memory_equal(lo, ((int8_t[]){1, 0, 2, 3}), 4);
    assert_false(sq_gather_bank((int8_t[]){-8, -8, -8, 3}, act, 4, 2, 4, lo, gathered));
    assert_memory_equal(gathered, ((int8_t[]){11, 12}), 2);
    assert_memory_equal(lo, ((int8_t[]){0, 0, 0, 3}), 4);
    assert_true(sq_gather_bank((int8_t[]){-4, 1, -4, 3}, act, 4, 2, 3, lo, gathered));
    assert_memory_equal(gathered, ((int8_t[]){11, 13}), 2);
}
