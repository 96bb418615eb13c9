// SPDX-License-Identifier: Apache-2.0
// sq_array_bank judged by the definitions of the formats, each through another road: split codes
// through sq_grid (code times operand), sentinels and compact parts through sq_slow_gather and the
// plain sums of SPEC A.7, 2:4 through the dense row it encodes. Sampled: 3000 banks per format over
// bank, k, widths. Exhausted: all 256 split codes. Directed: V5, malformed banks.
#include "models/array/sq_array.h"
#include "models/array/sq_meta24.h"
#include "models/core/sq_slow.h"
#include "models/number/sq_grid.h"
#include "tests/unit/fixture.h"

enum { ROUNDS = 3000 };

static int draw_signed(struct sq_rng *r, unsigned bits)
{
    return sq_sign_extend((uint32_t)sq_rng_next(r), bits);
}

static void draw_mask(struct sq_rng *r, unsigned bank, unsigned k, int32_t *mask)
{
    memset(mask, 0, bank * sizeof *mask);
    for (unsigned n = 0; n < k;) {
        const unsigned i = sq_rng_below(r, bank);
        n += mask[i] == 0;
        mask[i] = 1;
    }
}

SQ_TEST(split_codes_are_products_of_the_code)
{
    const struct sq_grid grid = {SQ_GRID_SPLIT, 8, 4};
    struct sq_rng rng = {fixture_seed()};
    for (int code = -136; code <= 119; code++) { // every code
        const int lower = sq_split_lower(&grid, (int16_t)code);
        const int upper = sq_split_upper(&grid, (int16_t)code);
        assert_in_range(lower + 8, 0, 15);
        assert_in_range(upper + 8, 0, 15);
        assert_int_equal(16 * upper + lower, code);
    }
    for (unsigned n = 0; n < ROUNDS; n++) {
        const unsigned bank = 4u << sq_rng_below(&rng, 4), k = 1 + sq_rng_below(&rng, bank / 2);
        const bool is_full = sq_rng_below(&rng, 2);
        const struct sq_array_config c = {SQ_ARRAY_SPLIT,     true, bank, k,
                                          is_full ? bank : k, 4,    4,    sq_rng_below(&rng, 2)};
        int32_t low[64], high[64], mask[64], plain[64], want = 0;
        draw_mask(&rng, bank, k, mask);
        for (unsigned i = 0, t = 0; i < bank; i++) {
            int16_t code = (int16_t)(mask[i] ? (int)sq_rng_below(&rng, 256) - 136
                                             : (int)sq_rng_below(&rng, 15) - 7);
            plain[i] = draw_signed(&rng, 8);
            low[i] = sq_split_lower(&grid, code);
            high[is_full ? i : t] = sq_split_upper(&grid, code);
            t += (unsigned)mask[i];
            want += sq_grid_merged(&grid, code, mask[i]) * plain[i];
        }
        uint32_t p_lo = 0, p_hi = 0;
        assert_true(
            sq_array_bank(&c, &(struct sq_array_line){low, high, mask}, plain, &p_lo, &p_hi));
        CHECK_EQ((int32_t)p_lo, want, "bank %u k %u\n", bank, k);
        assert_int_equal(p_hi, 0);
    }
}

// P_lo, P_hi by A.7 for the same elements in sentinel and compact form, and merged (tied).
SQ_TEST(sentinel_and_compact)
{
    struct sq_rng rng = {fixture_seed()};
    for (unsigned n = 0; n < ROUNDS; n++) {
        const unsigned bank = 4u << sq_rng_below(&rng, 4), k = 1 + sq_rng_below(&rng, bank / 2);
        int32_t low[64], compact[64], high[64], mask[64], plain[64], p_want[2] = {0, 0};
        int8_t codes[64], act[64], clean[64], gathered[64];
        unsigned n_low = 0;
        draw_mask(&rng, bank, k, mask);
        for (unsigned i = 0; i < bank; i++) {
            plain[i] = act[i] = (int8_t)draw_signed(&rng, 8);
            low[i] = mask[i] ? -8 : (int)sq_rng_below(&rng, 15) - 7;
            codes[i] = (int8_t)low[i];
            if (!mask[i])
                compact[n_low++] = low[i];
        }
        assert_true(sq_slow_gather(codes, act, bank, k, 4, clean, gathered));
        for (unsigned t = 0; t < k; t++) {
            high[t] = draw_signed(&rng, 8);
            p_want[1] += high[t] * gathered[t];
        }
        for (unsigned i = 0; i < bank; i++)
            p_want[0] += clean[i] * act[i];
        for (unsigned form = 0; form < 4; form++) {
            const bool is_tied = form & 1, is_compact = form & 2;
            const struct sq_array_config c = {is_compact ? SQ_ARRAY_COMPACT : SQ_ARRAY_SENTINEL,
                                              is_tied,
                                              bank,
                                              k,
                                              k,
                                              4,
                                              8,
                                              n & 1};
            const struct sq_array_line line = {is_compact ? compact : low, high, mask};
            uint32_t p_lo = 7, p_hi = 9; // it adds
            assert_true(sq_array_bank(&c, &line, plain, &p_lo, &p_hi));
            CHECK_EQ((int32_t)p_lo - 7, is_tied ? 16 * p_want[0] + p_want[1] : p_want[0],
                     "form %u bank %u k %u\n", form, bank, k);
            CHECK_EQ((int32_t)p_hi - 9, is_tied ? 0 : p_want[1], "form %u\n", form);
        }
    }
}

SQ_TEST(sp24_equals_the_dense_row)
{
    struct sq_rng rng = {fixture_seed()};
    for (unsigned n = 0; n < ROUNDS; n++) {
        int8_t w[16] = {0}, value[8];
        uint8_t nibble[4];
        int32_t dense[16], values[8], mask[4], plain[16];
        struct sq_error err;
        for (unsigned i = 0; i < 8; i++)
            w[4 * (i / 2) + sq_rng_below(&rng, 4)] = (int8_t)draw_signed(&rng, 8);
        assert_ok(sq_meta24_encode(w, 16, value, nibble, &err));
        for (unsigned i = 0; i < 16; i++) {
            dense[i] = w[i];
            plain[i] = draw_signed(&rng, 8);
        }
        for (unsigned i = 0; i < 8; i++)
            values[i] = value[i];
        for (unsigned i = 0; i < 4; i++)
            mask[i] = nibble[i];
        const struct sq_array_config sp24 = {.layout = SQ_ARRAY_SP24, .bank = 16};
        const struct sq_array_config plainly = {.layout = SQ_ARRAY_DENSE, .bank = 16};
        uint32_t got = 0, want = 0, zero = 0;
        assert_true(
            sq_array_bank(&sp24, &(struct sq_array_line){values, NULL, mask}, plain, &got, &zero));
        assert_true(sq_array_bank(&plainly, &(struct sq_array_line){dense, NULL, NULL}, plain,
                                  &want, &zero));
        CHECK_EQ(got, want, "round %u\n", n);
        mask[2] = 0x5; // illegal: this group gives 0
        memset(dense + 8, 0, 4 * sizeof *dense);
        got = want = 0;
        assert_false(
            sq_array_bank(&sp24, &(struct sq_array_line){values, NULL, mask}, plain, &got, &zero));
        (void)sq_array_bank(&plainly, &(struct sq_array_line){dense, NULL, NULL}, plain, &want,
                            &zero);
        CHECK_EQ(got, want, "round %u\n", n);
    }
}

SQ_TEST(v5_and_malformed)
{
    const int32_t low[] = {1, 4, 7, -3, -7, 2}, high[] = {-127, 95};
    const int32_t mask[] = {0, 1, 0, 0, 0, 1, 0, 0}, w[] = {1, 2, -3, 4, -5, 6, -7, 0};
    const struct sq_array_config c = {SQ_ARRAY_COMPACT, false, 8, 2, 2, 4, 8, true};
    uint32_t p_lo = 0, p_hi = 0;
    assert_true(sq_array_bank(&c, &(struct sq_array_line){low, high, mask}, w, &p_lo, &p_hi));
    assert_int_equal((int32_t)p_lo, 81);
    assert_int_equal((int32_t)p_hi, 316);
    const int32_t one[8] = {1}, three[8] = {1, 1, 1};
    assert_false(sq_array_bank(&c, &(struct sq_array_line){low, high, one}, w, &p_lo, &p_hi));
    assert_false(sq_array_bank(&c, &(struct sq_array_line){low, high, three}, w, &p_lo, &p_hi));
}
