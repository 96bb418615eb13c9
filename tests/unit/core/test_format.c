// SPDX-License-Identifier: Apache-2.0
// Integers, bit streams, selection and sizes of sq_format.
//
// Exhausted: every code of every width alone and at every position of a word; packing lengths
// 0..67 for h = 2, 3, 4, 8; all 4^8 score patterns of a bank of 8 for k = 1, 2, 4, all 3^4 of a
// bank of 4; every legal format for the size formulas. Sampled: banks up to 128 with many ties.
#include "models/core/sq_slow.h"
#include "tests/unit/fixture.h"

static const unsigned widths[] = {2, 3, 4, 8};

SQ_TEST(code_tables_of_spec_0_3)
{
    static const int qmax[] = {1, 3, 7, 127}, mc[] = {-2, -4, -8, -128};
    for (size_t i = 0; i < LEN(widths); i++) {
        assert_int_equal(sq_qmax(widths[i]), qmax[i]);
        assert_int_equal(sq_mask_code(widths[i]), mc[i]);
    }
    for (unsigned bits = 1; bits <= 16; bits++)
        for (int32_t v = -(1 << (bits - 1)); v < 1 << (bits - 1); v++)
            assert_int_equal(sq_sign_extend((uint32_t)v, bits), v);
}

SQ_TEST(scale_of_zero_and_of_underflow_is_one)
{
    assert_true(sq_scale_from_amax(0.0f, 4) == 1.0f);
    assert_true(sq_scale_from_amax(0x1p-149f, 8) == 1.0f); // 2^-149 / 127 underflows
    assert_true(sq_scale_from_amax(0x1p-149f, 2) == 0x1p-149f);
    assert_true(sq_scale_from_amax(3.5f, 4) == 0.5f);
    assert_int_equal(sq_bits_of(sq_scale_from_amax(0.7f, 4)), 0x3DCCCCCD); // V5
    assert_int_equal(sq_bits_of(sq_scale_from_amax(8.0f, 8)), 0x3D810204); // V5
}

SQ_TEST(scale_validity)
{
    assert_true(sq_scale_is_valid(1.0f) && sq_scale_is_valid(0x1p-149f));
    const float zero = 0.0f, bad[] = {0.0f, -0.0f, -1.0f, 1.0f / zero, -1.0f / zero, zero / zero};
    for (size_t i = 0; i < LEN(bad); i++)
        assert_false(sq_scale_is_valid(bad[i]));
}

// Every half step, where ties-to-even decides, and its two float neighbours; clamping beyond.
SQ_TEST(quantizer_rounds_half_to_even_and_clamps)
{
    assert_int_equal(sq_quantize(0.5f, 1.0f, 4), 0);
    assert_int_equal(sq_quantize(1.5f, 1.0f, 4), 2);
    assert_int_equal(sq_quantize(-3.5f, 1.0f, 4), -4);
    assert_int_equal(sq_quantize(-0.2f, 1.0f, 4), 0);
    assert_int_equal(sq_quantize(3e38f, 0x1p-149f, 8), 127); // the quotient is infinite
    assert_int_equal(sq_quantize(-3e38f, 0x1p-149f, 2), -1);
    struct sq_rng rng = {fixture_seed()};
    for (size_t i = 0; i < LEN(widths); i++)
        for (int half = -300; half <= 300; half++)
            for (int ulp = -1; ulp <= 1; ulp++) {
                const float s = ulp ? (float)sq_rng_unit(&rng) + 0x1p-20f : 0.25f;
                const float x = (0.5f * (float)half + (float)ulp * 0x1p-17f) * s;
                CHECK_EQ(sq_quantize(x, s, widths[i]), sq_slow_quantize(x, s, widths[i]),
                         "x = %a, s = %a, %u bits\n", (double)x, (double)s, widths[i]);
            }
}

SQ_TEST(pack_then_unpack_is_identity)
{
    struct sq_rng rng = {fixture_seed()};
    for (size_t w = 0; w < LEN(widths); w++)
        for (size_t n = 0; n <= 67; n++) {
            const unsigned h = widths[w];
            int8_t codes[67] = {0}, back[67] = {0};
            for (size_t i = 0; i < n; i++)
                codes[i] = (int8_t)sq_sign_extend((uint32_t)sq_rng_next(&rng), h);
            const size_t nbytes = sq_packed_nbytes(n, h);
            CHECK_EQ(nbytes, (n * h + 7) / 8, "n = %zu, h = %u\n", n, h);
            uint8_t *stream = fixture_exact(nbytes);
            sq_pack(codes, n, h, stream);
            sq_unpack(stream, n, h, back);
            for (size_t i = 0; i < n; i++) {
                CHECK_EQ(back[i], codes[i], "h = %u, n = %zu, i = %zu\n", h, n, i);
                CHECK_EQ(sq_slow_code(stream, i, h), codes[i], "h = %u, i = %zu\n", h, i);
            }
            if (n * h % 8)
                CHECK_EQ(stream[nbytes - 1] >> (n * h % 8), 0, "padding, h = %u n = %zu\n", h, n);
        }
}

SQ_TEST(element_zero_is_in_the_low_bits)
{
    const int8_t codes[] = {1, -7, 0, 4};
    uint8_t out[2];
    sq_pack(codes, 4, 4, out);
    assert_int_equal(out[0], 0x91);
    assert_int_equal(out[1], 0x40);
}

static void all_definitions_agree(const float *score, unsigned n, unsigned k)
{
    uint8_t rank[SQ_BANK_MAX], sorted[SQ_BANK_MAX], threshold[SQ_BANK_MAX];
    unsigned count = 0;
    sq_topk(score, n, k, rank);
    sq_slow_topk_sort(score, n, k, sorted);
    sq_slow_topk_threshold(score, n, k, threshold);
    for (unsigned i = 0; i < n; i++)
        count += rank[i];
    CHECK_EQ(count, k, "n = %u\n", n);
    if (memcmp(rank, sorted, n) != 0 || memcmp(rank, threshold, n) != 0)
        fail_msg("seed %llu: n = %u, k = %u: definitions differ",
                 (unsigned long long)fixture_seed(), n, k);
}

SQ_TEST(topk_v4)
{
    const float tie[8] = {5, 7, 7, 7, 1, 7, 0, 0}, equal[8] = {2, 2, 2, 2, 2, 2, 2, 2};
    const uint8_t tie_mask[8] = {0, 1, 1}, equal_mask[8] = {1, 1, 1, 1};
    uint8_t mask[8];
    sq_topk(tie, 8, 2, mask);
    assert_memory_equal(mask, tie_mask, 8);
    sq_topk(equal, 8, 4, mask);
    assert_memory_equal(mask, equal_mask, 8);
}

SQ_TEST(topk_definitions_agree_on_every_small_bank)
{
    for (unsigned pattern = 0; pattern < 65536; pattern++) {
        float score[8];
        for (unsigned i = 0; i < 8; i++)
            score[i] = (float)(pattern >> (2 * i) & 3);
        for (unsigned k = 1; k <= 4; k *= 2)
            all_definitions_agree(score, 8, k);
    }
    for (unsigned pattern = 0; pattern < 81; pattern++) {
        const float score[4] = {(float)(pattern % 3), (float)(pattern / 3 % 3),
                                (float)(pattern / 9 % 3), (float)(pattern / 27)};
        for (unsigned k = 0; k <= 4; k++)
            all_definitions_agree(score, 4, k);
    }
}

SQ_TEST(topk_definitions_agree_on_banks_with_many_ties)
{
    struct sq_rng rng = {fixture_seed()};
    for (unsigned round = 0; round < 2000; round++) {
        float score[SQ_BANK_MAX];
        const unsigned n = 4u << sq_rng_below(&rng, 6), values = 1 + sq_rng_below(&rng, 40);
        for (unsigned i = 0; i < n; i++)
            score[i] = (float)sq_rng_below(&rng, values) * 0x1p-140f; // subnormal scores too
        all_definitions_agree(score, n, sq_rng_below(&rng, n + 1));
    }
}

// SPEC A.5: h_low + (1-s) h_high for weights, and the printed rows of (4/8).
SQ_TEST(equivalent_bits_of_weights)
{
    static const struct {
        unsigned high, low;
        double bits[4]; // s = .5, .75, .875, .9375
    } row[] = {{8, 4, {8, 6, 5, 4.5}},
               {8, 3, {7, 5, 4, 3.5}},
               {8, 2, {6, 4, 3, 2.5}},
               {4, 2, {4, 3, 2.5, 2.25}},
               {4, 3, {5, 4, 3.5, 3.25}}};
    static const double s[4] = {.5, .75, .875, .9375};
    for (size_t i = 0; i < LEN(row); i++)
        for (unsigned j = 0; j < 4; j++) {
            struct sq_format f = {row[i].high, row[i].low, 32, 0, 128};
            assert_ok(sq_format_high_per_bank(32, s[j], &f.high_per_bank, NULL));
            assert_true(sq_format_sparsity(&f) == s[j]);
            assert_true(sq_format_equivalent_bits(&f) == row[i].bits[j]);
        }
}

// Where rows fill whole bytes, those of both streams are the equivalent bits.
static void sizes_of_one_format(struct sq_format f, void *context)
{
    (void)context;
    const size_t k = 1024;
    const size_t nbytes = sq_lo_row_nbytes(&f, k) + sq_hi_row_nbytes(&f, k);
    assert_true(8.0 * (double)nbytes / (double)k == sq_format_equivalent_bits(&f));
    const size_t unit = f.group > f.bank ? f.group : f.bank;
    for (size_t k_orig = 1; k_orig <= 3 * unit; k_orig += 7) {
        const size_t padded = sq_k_padded(&f, k_orig);
        assert_true(padded >= k_orig && padded < k_orig + unit && padded % unit == 0);
    }
    assert_int_equal(sq_k_padded(&f, 0), 0);
    assert_int_equal(sq_k_padded(&f, SIZE_MAX), 0); // would wrap
}

SQ_TEST(sizes_of_every_format)
{
    assert_int_equal(for_each_format(sizes_of_one_format, NULL), N_FORMATS);
    assert_true(sq_packed_nbytes(SIZE_MAX, 8) == SIZE_MAX);
}
