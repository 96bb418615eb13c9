// SPDX-License-Identifier: Apache-2.0
// sq_topk_bank (SPEC 0.4, C.1) against the stable sort of sq_slow.
//
// Exhausted: every bank of 4 elements of 4 bits and of 8 elements of 2 bits, thus every pattern of
// ties, all equal, all zero, with every k. Sampled: 16-bit magnitudes in banks of 16 to 128.
// Directed: V4, V5, the order of FP16 and BF16 patterns.
#include "models/core/sq_slow.h"
#include "models/core/sq_topk.h"
#include "tests/unit/fixture.h"

static void equals_slow(const uint16_t *mag, unsigned bank, unsigned k)
{
    float score[SQ_BANK_MAX];
    uint8_t got[SQ_BANK_MAX], want[SQ_BANK_MAX];
    for (unsigned i = 0; i < bank; i++)
        score[i] = mag[i];
    sq_topk_bank(mag, bank, k, got);
    sq_slow_topk_sort(score, bank, k, want);
    for (unsigned i = 0; i < bank; i++)
        CHECK_EQ(got[i], want[i], "bank %u k %u element %u\n", bank, k, i);
}

SQ_TEST(every_small_bank)
{
    static const unsigned shape[][2] = {{4, 4}, {8, 2}};
    for (size_t s = 0; s < LEN(shape); s++) {
        const unsigned bank = shape[s][0], bits = shape[s][1];
        for (unsigned n = 0; n < 1u << (bank * bits); n++) {
            uint16_t mag[8];
            for (unsigned i = 0; i < bank; i++)
                mag[i] = (uint16_t)(n >> (i * bits) & ((1u << bits) - 1));
            equals_slow(mag, bank, 1 + n % bank);
            equals_slow(mag, bank, bank / 2);
        }
    }
}

SQ_TEST(large_banks)
{
    struct sq_rng rng = {fixture_seed()};
    for (unsigned n = 0; n < 2000; n++) {
        const unsigned bank = 16u << sq_rng_below(&rng, 4), spread = 1 + sq_rng_below(&rng, 65535);
        uint16_t mag[SQ_BANK_MAX];
        for (unsigned i = 0; i < bank; i++)
            mag[i] = (uint16_t)sq_rng_below(&rng, spread);
        equals_slow(mag, bank, 1 + sq_rng_below(&rng, bank));
    }
}

SQ_TEST(vectors)
{
    uint8_t mask[8];
    sq_topk_bank((uint16_t[]){5, 7, 7, 7, 1, 7, 0, 0}, 8, 2, mask); // V4
    assert_memory_equal(mask, ((uint8_t[]){0, 1, 1, 0, 0, 0, 0, 0}), 8);
    sq_topk_bank((uint16_t[8]){0}, 8, 4, mask);
    assert_memory_equal(mask, ((uint8_t[]){1, 1, 1, 1, 0, 0, 0, 0}), 8);

    // V5 as FP16 patterns: .1, -8, .4, .7, -.3, 6, -.7, .2 -> {1, 5}.
    const uint16_t x[8] = {0x2e66, 0xc800, 0x3666, 0x399a, 0xb4cd, 0x4600, 0xb99a, 0x3266};
    uint16_t mag[8];
    for (unsigned i = 0; i < 8; i++)
        mag[i] = sq_magnitude_fp(x[i]);
    sq_topk_bank(mag, 8, 2, mask);
    assert_memory_equal(mask, ((uint8_t[]){0, 1, 0, 0, 0, 1, 0, 0}), 8);
    assert_int_equal(sq_magnitude_int(-128), 128);
    assert_int_equal(sq_magnitude_int(127), 127);
}
