// SPDX-License-Identifier: Apache-2.0
// What the hardware in front of the arrays must deliver for SpQR, SpQt and GQSA (sq_spqr_dec,
// sq_spqt_idx, sq_gqsa_walk), and what the requantiser behind them does.
//
// Exhausted: every single-bit error of a legal SpQR tile; all INT8 codes and all FP16 patterns
// against the comparison of the numbers; every mask of 16 columns with segments of 4 and beats of 1
// to 7; every matrix of 3 rows of 4 groups; every INT8 code from every tie. Sampled: the rest,
// against the formats' own models (sq_spqr.h, sq_spqt.h). Directed: V8's matrix, V10, V11.
#include <math.h>

#include "models/gqsa/sq_gqsa_walk.h"
#include "models/number/sq_half.h"
#include "models/output/sq_requant.h"
#include "models/spqr/sq_spqr.h"
#include "models/spqr/sq_spqr_dec.h"
#include "models/spqt/sq_spqt.h"
#include "models/spqt/sq_spqt_idx.h"
#include "tests/unit/fixture.h"

// ---- SpQR -----------------------------------------------------------------------------------

// The words of V11: codes (r + j) mod 8, a = r mod 8, c = (7 - r) mod 8, halves .5, .25, -1, -2.
static void v11_words(uint64_t word[SQ_SPQR_TILE])
{
    const uint64_t second = UINT64_C(0xc000bc0034003800);
    for (unsigned r = 0; r < SQ_SPQR_TILE; r++) {
        word[r] = (r % 8) | (uint64_t)((7 - r) % 8) << 3 | (second >> (r / 2 * 8) & 0xff) << 54;
        for (unsigned j = 0; j < SQ_SPQR_TILE; j++)
            word[r] |= (uint64_t)((r + j) % 8) << (6 + 3 * j);
    }
}

SQ_TEST(v11)
{
    uint64_t word[SQ_SPQR_TILE];
    struct sq_spqr_tile t;
    v11_words(word);
    assert_true(word[0] == UINT64_C(0x003EB1A23EB1A238));
    assert_true(word[1] == UINT64_C(0x0007D63447D63471));
    assert_true(word[15] == UINT64_C(0x30358D11F58D11C7));
    sq_spqr_dec_tile(word, &t);
    assert_int_equal(t.error, 0);
    for (unsigned r = 0; r < SQ_SPQR_TILE; r++) {
        assert_int_equal(t.scale[r], r % 8);
        assert_int_equal(t.zero[r], (7 - r) % 8);
        for (unsigned j = 0; j < SQ_SPQR_TILE; j++)
            assert_int_equal(t.code[r][j], (r + j) % 8);
    }
    assert_memory_equal(t.second, ((uint16_t[]){0x3800, 0x3400, 0xbc00, 0xc000}), 8);
}

SQ_TEST(every_single_bit_of_a_tile)
{
    uint64_t word[SQ_SPQR_TILE];
    struct sq_spqr_tile good, t;
    v11_words(word);
    sq_spqr_dec_tile(word, &good);
    for (unsigned r = 0; r < SQ_SPQR_TILE; r++)
        for (unsigned bit = 0; bit < 64; bit++) {
            word[r] ^= UINT64_C(1) << bit;
            sq_spqr_dec_tile(word, &t);
            word[r] ^= UINT64_C(1) << bit;
            unsigned want = bit >= 62 ? SQ_SPQR_RESERVED : bit >= 54 ? SQ_SPQR_DUPLICATE : 0;
            if (bit < 62 && !sq_half_is_finite(t.second[r / 4])) // the top bit of -1's exponent
                want |= SQ_SPQR_NON_FINITE;
            CHECK_EQ(t.error, want, "row %u bit %u\n", r, bit);
            // A code bit changes that code, nothing else.
            t.error = 0;
            const bool is_code = bit < 54, is_even_byte = bit >= 54 && bit < 62 && r % 2 == 0;
            CHECK_EQ(memcmp(&t, &good, sizeof t) != 0, is_code || is_even_byte, "row %u bit %u\n",
                     r, bit);
        }
    for (unsigned half = 0; half < 4; half++) { // infinity, in both copies
        for (unsigned r = 4 * half; r < 4 * half + 4; r++)
            word[r] = (word[r] & ~(UINT64_C(0xff) << 54)) | (uint64_t)(r % 4 / 2 ? 0x7c : 0) << 54;
        sq_spqr_dec_tile(word, &t);
        assert_int_equal(t.error, SQ_SPQR_NON_FINITE);
        assert_int_equal(t.second[half], 0x7c00);
        v11_words(word);
    }
}

SQ_TEST(spqr_words_of_the_encoder)
{
    struct sq_rng rng = {fixture_seed()};
    for (unsigned n = 0; n < 1000; n++) {
        struct sq_spqr_tile in = {.error = 0}, out;
        uint64_t word[SQ_SPQR_TILE];
        for (unsigned r = 0; r < SQ_SPQR_TILE; r++) {
            in.scale[r] = (uint8_t)sq_rng_below(&rng, 8);
            in.zero[r] = (uint8_t)sq_rng_below(&rng, 8);
            for (unsigned j = 0; j < SQ_SPQR_TILE; j++)
                in.code[r][j] = (uint8_t)sq_rng_below(&rng, 8);
        }
        for (unsigned i = 0; i < 4; i++)
            in.second[i] = (uint16_t)(sq_rng_next(&rng) & 0xfbff); // finite
        sq_spqr_pack(&in, word);
        sq_spqr_dec_tile(word, &out);
        assert_memory_equal(&in, &out, sizeof in);
    }
}

// ---- SpQt -----------------------------------------------------------------------------------

SQ_TEST(v10)
{
    static const float x[8] = {.1f, -.9f, 0, .5f, -.5f, .02f, 1.2f, -.3f};
    const unsigned theta = sq_f32_to_f16(.3f);
    uint8_t mask[8];
    uint32_t idx[8];
    struct sq_spqt_beat beat[4];
    for (unsigned i = 0; i < 8; i++)
        mask[i] = sq_spqt_keep_fp16(sq_f32_to_f16(x[i]), theta);
    assert_memory_equal(mask, ((uint8_t[]){0, 1, 0, 1, 1, 0, 1, 1}), 8);
    assert_int_equal(sq_spqt_collect(mask, 8, idx), 5);
    assert_memory_equal(idx, ((uint32_t[]){1, 3, 4, 6, 7}), 20);
    assert_int_equal(sq_spqt_pack(mask, 1, 8, 4, beat), 2);
    assert_int_equal(beat[0].n, 4);
    assert_false(beat[0].last);
    assert_int_equal(beat[1].n, 1);
    assert_int_equal(beat[1].index[0], 7);
    assert_int_equal(beat[1].total, 5);
    assert_true(beat[1].last);
}

SQ_TEST(magnitudes_compare_as_numbers)
{
    for (int x = -127; x <= 127; x++)
        for (unsigned theta = 0; theta <= 128; theta++)
            assert_int_equal(sq_spqt_keep_int8((int8_t)x, theta), abs(x) >= (int)theta);
    static const uint16_t thetas[] = {0, 1, 0x03ff, 0x0400, 0x34cd, 0x3c00, 0x7bff};
    for (unsigned t = 0; t < LEN(thetas); t++)
        for (unsigned x = 0; x <= 0xffff; x++)
            if (sq_spqt_is_legal_fp16((uint16_t)x))
                CHECK_EQ(sq_spqt_keep_fp16((uint16_t)x, thetas[t]),
                         fabsf(sq_half_to_float((uint16_t)x)) >= sq_half_to_float(thetas[t]),
                         "x %04x theta %04x\n", x, thetas[t]);
    assert_false(sq_spqt_is_legal_int8(-128));
    assert_false(sq_spqt_is_legal_fp16(0x7c00) || sq_spqt_is_legal_fp16(0xfe01));
}

// The beats of a mask hold its indices in order; all but the last are full.
static void check_beats(const uint8_t *mask, size_t segments, size_t width, size_t lanes)
{
    uint32_t idx[16];
    struct sq_spqt_beat beat[20];
    const size_t n_idx = sq_spqt_collect(mask, segments * width, idx);
    const size_t n = sq_spqt_pack(mask, segments, width, lanes, beat);
    size_t at = 0;
    for (size_t b = 0; b < n; b++) {
        assert_true(beat[b].last == (b + 1 == n));
        assert_true(beat[b].last || beat[b].n == lanes);
        for (size_t i = 0; i < beat[b].n; i++)
            assert_int_equal(beat[b].index[i], idx[at++]);
        for (size_t i = beat[b].n; i < lanes; i++)
            assert_int_equal(beat[b].index[i], 0);
        assert_int_equal(beat[b].total, at);
    }
    assert_int_equal(at, n_idx);
    // An empty last beat only where the others had left before the last segment came.
    assert_true(beat[n - 1].n > 0 || n == 1 || n_idx == 0 ||
                idx[n_idx - 1] < (segments - 1) * width);
    // And one that became full before it had left as well.
    assert_true(beat[n - 1].n < lanes || idx[n_idx - 1] >= (segments - 1) * width);
}

SQ_TEST(every_mask_of_16_columns)
{
    uint8_t mask[16];
    for (unsigned m = 0; m < 1u << 16; m++) {
        for (unsigned i = 0; i < 16; i++)
            mask[i] = m >> i & 1;
        check_beats(mask, 4, 4, 1 + m % 7);
        check_beats(mask, 2, 8, 3);
    }
}

SQ_TEST(spqt_columns_of_the_format)
{
    struct sq_rng rng = {fixture_seed()};
    enum { K = 2048 };
    static float x[K];
    static uint8_t mask[K];
    static uint32_t got[K], want[K];
    for (unsigned n = 0; n < 50; n++) {
        const float theta = sq_half_to_float((uint16_t)sq_rng_below(&rng, 0x3c00));
        for (unsigned i = 0; i < K; i++) {
            const uint16_t half = (uint16_t)(sq_rng_next(&rng) & 0xbbff); // |x| < 1
            x[i] = sq_half_to_float(half);
            mask[i] = sq_spqt_keep_fp16(half, sq_f32_to_f16(theta));
        }
        const size_t n_got = sq_spqt_collect(mask, K, got);
        assert_int_equal(n_got, sq_spqt_active(x, K, theta, 1024, want));
        assert_memory_equal(got, want, n_got * sizeof *got);
    }
}

// ---- GQSA -----------------------------------------------------------------------------------

SQ_TEST(walk_of_the_worked_matrix)
{
    // SPEC F.4: rows {1}, {0, 1}, {}, {0}
    static const uint32_t row_index[5] = {0, 1, 3, 3, 4};
    static const uint16_t groups[4] = {1, 0, 1, 0};
    static const struct sq_gqsa_step want[5] = {
        {.row = 0, .at = 0, .group = 1, .first = true, .last = true},
        {.row = 1, .at = 1, .group = 0, .first = true},
        {.row = 1, .at = 2, .group = 1, .last = true},
        {.row = 2, .at = 3, .first = true, .last = true, .empty = true},
        {.row = 3, .at = 3, .group = 0, .first = true, .last = true, .end = true},
    };
    struct sq_gqsa_step step[8];
    assert_int_equal(sq_gqsa_walk(row_index, 4, groups, 2, step), 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(step[i].row, want[i].row);
        assert_int_equal(step[i].at, want[i].at);
        assert_int_equal(step[i].group, want[i].group);
        assert_true(step[i].first == want[i].first && step[i].last == want[i].last);
        assert_true(step[i].empty == want[i].empty && step[i].end == want[i].end);
        assert_int_equal(step[i].error, 0);
    }
}

SQ_TEST(refused_matrices)
{
    struct sq_gqsa_step step[8];
    // {1, 1}: equal groups. SPEC M.
    assert_int_equal(sq_gqsa_walk((uint32_t[]){0, 2}, 1, (uint16_t[]){1, 1}, 2, step), 2);
    assert_int_equal(step[0].error, 0);
    assert_int_equal(step[1].error, SQ_GQSA_ORDER);
    // Ascending is asked for inside a row only.
    sq_gqsa_walk((uint32_t[]){0, 1, 2}, 2, (uint16_t[]){1, 1}, 2, step);
    assert_int_equal(step[1].error, 0);
    // Out of range, and descending as well.
    sq_gqsa_walk((uint32_t[]){0, 2}, 1, (uint16_t[]){2, 1}, 2, step);
    assert_int_equal(step[0].error, SQ_GQSA_RANGE);
    assert_int_equal(step[1].error, SQ_GQSA_ORDER);
    // A decreasing offset; the row behind it goes on where the one before ended.
    assert_int_equal(sq_gqsa_walk((uint32_t[]){0, 2, 1, 3}, 3, (uint16_t[]){0, 1, 0}, 2, step), 4);
    assert_true(step[2].empty && step[2].error == SQ_GQSA_OFFSET);
    assert_true(step[3].at == 2 && step[3].group == 0 && step[3].error == 0 && step[3].end);
    // row_index[0] not 0.
    assert_int_equal(sq_gqsa_walk((uint32_t[]){1, 2, 2}, 2, (uint16_t[]){0}, 2, step), 2);
    assert_int_equal(step[0].error, SQ_GQSA_OFFSET);
    assert_int_equal(step[0].at, 1);
    assert_int_equal(step[1].error, 0);
}

SQ_TEST(every_matrix_of_3_rows_of_4_groups)
{
    for (unsigned m = 0; m < 1u << 12; m++) {
        uint32_t row_index[4] = {0};
        uint16_t groups[12];
        struct sq_gqsa_step step[16];
        uint32_t at = 0;
        for (unsigned r = 0; r < 3; r++) {
            for (unsigned g = 0; g < 4; g++)
                if (m >> (4 * r + g) & 1)
                    groups[at++] = (uint16_t)g;
            row_index[r + 1] = at;
        }
        const size_t n = sq_gqsa_walk(row_index, 3, groups, 4, step);
        unsigned seen = 0, empty = 0;
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(step[i].error, 0);
            empty += step[i].empty;
            if (!step[i].empty)
                seen |= 1u << (4 * step[i].row + step[i].group);
            assert_true(step[i].end == (i + 1 == n));
        }
        assert_int_equal(seen, m);
        assert_int_equal(n, at + empty);
    }
}

// ---- requantiser ----------------------------------------------------------------------------

// rne in binary64, exact for these operands.
static int slow_requant(int32_t acc, int16_t mul, unsigned shift, unsigned bits)
{
    const double qmax = (1 << (bits - 1)) - 1;
    const double q = nearbyint(ldexp((double)acc * mul, -(int)shift));
    return (int)(q > qmax ? qmax : q < -qmax ? -qmax : q);
}

SQ_TEST(requant_is_rne_and_clamps)
{
    struct sq_rng rng = {fixture_seed()};
    static const int32_t acc[] = {INT32_MIN, INT32_MAX, -1, 0, 1, -128, 127};
    static const int16_t mul[] = {INT16_MIN, INT16_MAX, -1, 0, 1};
    for (unsigned bits = 2; bits <= 8; bits++) {
        for (unsigned shift = 0; shift <= SQ_REQUANT_SHIFT_MAX; shift++)
            for (unsigned a = 0; a < LEN(acc); a++)
                for (unsigned m = 0; m < LEN(mul); m++)
                    CHECK_EQ(sq_requant(acc[a], mul[m], shift, bits),
                             slow_requant(acc[a], mul[m], shift, bits), "%d * %d >> %u\n", acc[a],
                             mul[m], shift);
        // Every tie and its neighbours, in units of a quarter.
        for (int32_t x = -1100; x <= 1100; x++)
            CHECK_EQ(sq_requant(x, 1, 2, bits), slow_requant(x, 1, 2, bits), "%d / 4\n", x);
        for (unsigned n = 0; n < 20000; n++) {
            const int32_t x = (int32_t)((uint32_t)sq_rng_next(&rng) >> sq_rng_below(&rng, 32));
            const int16_t f = (int16_t)sq_rng_next(&rng);
            const unsigned shift = sq_rng_below(&rng, 64);
            CHECK_EQ(sq_requant(x, f, shift, bits), slow_requant(x, f, shift, bits),
                     "%d * %d >> %u\n", x, f, shift);
        }
    }
    assert_int_equal(sq_requant(-128, 1, 0, 8), -127); // the mask code never
}

SQ_TEST(ratios_become_multipliers)
{
    struct sq_rng rng = {fixture_seed()};
    int16_t mul;
    unsigned shift;
    for (unsigned n = 0; n < 20000; n++) {
        const double ratio = ldexp(1 + sq_rng_unit(&rng), (int)sq_rng_below(&rng, 62) - 48);
        assert_true(sq_requant_choose(ratio, &mul, &shift));
        assert_in_range(mul, 0x4000, 0x7fff);
        assert_true(fabs(ldexp(mul, -(int)shift) / ratio - 1) <= 0x1p-15);
    }
    // 0.5 - 2^-20 rounds up to the next power of two.
    assert_true(sq_requant_choose(0.5 - 0x1p-20, &mul, &shift));
    assert_true(mul == 0x4000 && shift == 15);
    assert_true(sq_requant_choose(0x1p14, &mul, &shift) && shift == 0 && mul == 0x4000);
    assert_true(sq_requant_choose(0x1p-48, &mul, &shift) && shift == 62);
    assert_false(sq_requant_choose(0x1.1p14, &mul, &shift));
    assert_false(sq_requant_choose(0x1p-49, &mul, &shift));
    assert_false(sq_requant_choose(0, &mul, &shift) || sq_requant_choose(NAN, &mul, &shift));
}
