// SPDX-License-Identifier: Apache-2.0
// Encoding and reading back a matrix (SPEC A.6, A.8): sq_encode_rtn, sq_row_planes,
// sq_row_codes, sq_decode_row.
//
// Vectors V1 and V2 complete. Exhausted: all 360 legal formats, each with K below a bank, one
// element, one off a multiple of the padding unit, and two units. Sampled: the weights, drawn so
// that ties, zeros and outliers are common. Judge: sq_slow.
#include <math.h>

#include "models/core/sq_slow.h"
#include "models/quant/sq_codes_alloc.h"
#include "tests/unit/fixture.h"

static const float v1_w[8] = {0.5f, -3.5f, 0.25f, 1.75f, -31.75f, 0, -1, 15.875f};
static const float v2_w[8] = {1, -2, .25f, 7, -3.5f, .5f, -1, 0};

SQ_TEST(encode_v1)
{
    struct sq_matrix m = matrix_new((struct sq_format){8, 4, 8, 2, 0}, 1, 8);
    assert_ok(sq_encode_rtn(v1_w, &m, NULL));
    assert_memory_equal(m.lo, ((uint8_t[]){0x91, 0x40, 0x08, 0x8e}), 4);
    assert_memory_equal(m.hi, ((uint8_t[]){0x81, 0x40}), 2);
    assert_true(m.s_lo[0] == 0.5f && m.s_hi[0] == 0.25f);
    assert_ok(matrix_validate(&m, NULL));
    int8_t lo[8], hi[8];
    uint8_t mask[8];
    sq_row_codes(&m, 0, lo, hi);
    assert_memory_equal(lo, ((int8_t[]){1, -7, 0, 4, -8, 0, -2, -8}), 8);
    assert_memory_equal(hi, ((int8_t[]){-127, 64}), 2);
    sq_row_planes(&m, 0, lo, hi, mask);
    assert_memory_equal(lo, ((int8_t[]){1, -7, 0, 4, 0, 0, -2, 0}), 8);
    assert_memory_equal(hi, ((int8_t[]){0, 0, 0, 0, -127, 0, 0, 64}), 8);
    assert_memory_equal(mask, ((uint8_t[]){0, 0, 0, 0, 1, 0, 0, 1}), 8);
    float w[8];
    sq_decode_row(&m, 0, w);
    const float want[8] = {0.5f, -3.5f, 0, 2, -31.75f, 0, -1, 16};
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(sq_bits_of(w[i]), sq_bits_of(want[i]));
}

SQ_TEST(encode_v2_with_its_tie)
{
    struct sq_matrix m = matrix_new((struct sq_format){4, 2, 8, 4, 0}, 1, 8);
    assert_ok(sq_encode_rtn(v2_w, &m, NULL));
    assert_memory_equal(m.lo, ((uint8_t[]){0x8a, 0x32}), 2);
    assert_memory_equal(m.hi, ((uint8_t[]){0xe1, 0xc7}), 2);
    assert_true(m.s_lo[0] == 1 && m.s_hi[0] == 1);
    int8_t lo[8], hi[8];
    sq_row_codes(&m, 0, lo, hi);
    assert_memory_equal(lo, ((int8_t[]){-2, -2, 0, -2, -2, 0, -1, 0}), 8);
    assert_memory_equal(hi, ((int8_t[]){1, -2, 7, -4}), 4);
}

// One row against sq_slow, element by element and scale by scale.
static void row_equals_slow(const struct sq_matrix *m, size_t row, const float *w)
{
    const size_t n_groups = sq_n_groups(&m->format, m->k);
    int *codes = fixture_alloc(m->k * sizeof *codes);
    bool *is_high = fixture_alloc(m->k * sizeof *is_high);
    float *s = fixture_alloc(2 * n_groups * sizeof *s),
          *back = fixture_exact(m->k_orig * sizeof *s);
    int8_t *lo = fixture_exact(m->k), *hi = fixture_exact(m->k);
    uint8_t *mask = fixture_exact(m->k);
    sq_slow_encode_row(w, m, codes, is_high, s, s + n_groups);
    sq_row_planes(m, row, lo, hi, mask);
    sq_decode_row(m, row, back);
    for (size_t i = 0; i < m->k; i++) {
        bool stored_high;
        CHECK_EQ(sq_slow_weight(m, row, i, &stored_high), codes[i], "element %zu\n", i);
        CHECK_EQ(stored_high, is_high[i], "element %zu\n", i);
        CHECK_EQ(mask[i], is_high[i], "element %zu\n", i);
        CHECK_EQ(lo[i], is_high[i] ? 0 : codes[i], "element %zu\n", i);
        CHECK_EQ(hi[i], is_high[i] ? codes[i] : 0, "element %zu\n", i);
        if (i < m->k_orig)
            CHECK_EQ(sq_bits_of(back[i]), sq_bits_of(sq_slow_decode(m, row, i)), "at %zu\n", i);
        else
            CHECK_EQ(codes[i], 0, "padding element %zu\n", i);
    }
    for (size_t g = 0; g < n_groups; g++) {
        CHECK_EQ(sq_bits_of(m->s_lo[row * n_groups + g]), sq_bits_of(s[g]), "group %zu\n", g);
        CHECK_EQ(sq_bits_of(m->s_hi[row * n_groups + g]), sq_bits_of(s[n_groups + g]), "g %zu\n",
                 g);
    }
}

// k ones per bank, and no padding among them while a real element is left.
static void masks_are_legal(const struct sq_matrix *m, size_t row)
{
    const struct sq_format *f = &m->format;
    for (size_t first = 0; first < m->k; first += f->bank) {
        unsigned count = 0, padding = 0;
        for (size_t i = first; i < first + f->bank; i++) {
            bool is_high;
            sq_slow_weight(m, row, i, &is_high);
            count += is_high;
            padding += is_high && i >= m->k_orig;
        }
        const size_t real = m->k_orig <= first ? 0 : m->k_orig - first;
        CHECK_EQ(count, f->high_per_bank, "bank at %zu\n", first);
        CHECK_EQ(padding, real < f->high_per_bank ? f->high_per_bank - real : 0, "at %zu\n", first);
    }
}

static void encode_one_format(struct sq_format f, void *context)
{
    struct sq_rng *rng = context;
    const size_t unit = sq_k_padded(&f, 1);
    const size_t shape[] = {1, f.bank - 1, unit + 1, 2 * unit - 3, 2 * unit};
    for (size_t s = 0; s < LEN(shape); s++) {
        const size_t n = 2, k = shape[s];
        struct sq_matrix m = matrix_new(f, n, k);
        float *w = fixture_exact(n * k * sizeof *w);
        struct sq_error err = {.text = ""};
        random_weights(rng, w, n * k);
        CHECK_EQ(sq_encode_rtn(w, &m, &err), SQ_OK, "%s\n", err.text);
        CHECK_EQ(matrix_validate(&m, &err), SQ_OK, "%s\n", err.text);
        for (size_t row = 0; row < n; row++) {
            row_equals_slow(&m, row, w + row * k);
            masks_are_legal(&m, row);
        }
    }
}

SQ_TEST(every_format_equals_slow)
{
    struct sq_rng rng = {fixture_seed()};
    assert_int_equal(for_each_format(encode_one_format, &rng), N_FORMATS);
}

// A row of zeros: scales 1, masks at the first k places, every code 0; a row of one outlier too.
SQ_TEST(zero_rows_have_scale_one)
{
    struct sq_matrix m = matrix_new((struct sq_format){8, 3, 16, 4, 32}, 1, 33);
    float w[33] = {0};
    w[0] = -0.0f;
    assert_ok(sq_encode_rtn(w, &m, NULL));
    int8_t lo[64], hi[64];
    uint8_t mask[64];
    sq_row_planes(&m, 0, lo, hi, mask);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(mask[i], i % 16 < 4);
        assert_true(lo[i] == 0 && hi[i] == 0);
    }
    assert_true(m.s_lo[0] == 1 && m.s_hi[0] == 1 && m.s_lo[1] == 1 && m.s_hi[1] == 1);
    float back[33];
    sq_decode_row(&m, 0, back);
    for (unsigned i = 0; i < 33; i++)
        assert_int_equal(sq_bits_of(back[i]), 0); // never -0
}

// Bank 1 of K = 10, b = 8 has two real zeros and six paddings: both zeros are chosen, then padding.
SQ_TEST(padding_is_chosen_last)
{
    struct sq_matrix m = matrix_new((struct sq_format){8, 4, 8, 4, 0}, 1, 10);
    const float w[10] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 0};
    assert_ok(sq_encode_rtn(w, &m, NULL));
    int8_t lo[16], hi[16];
    sq_row_codes(&m, 0, lo, hi);
    assert_memory_equal(lo + 8, ((int8_t[]){-8, -8, -8, -8, 0, 0, 0, 0}), 8);
    assert_memory_equal(hi + 4, ((int8_t[]){0, 0, 0, 0}), 4);
}

SQ_TEST(encoder_refusals)
{
    struct sq_error err;
    float w[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const float bad[] = {NAN, INFINITY, -INFINITY};
    struct sq_matrix m = matrix_new((struct sq_format){8, 4, 8, 2, 0}, 1, 8);
    for (size_t i = 0; i < LEN(bad); i++)
        for (size_t at = 0; at < 8; at++) {
            float x[8];
            memcpy(x, w, sizeof x);
            x[at] = bad[i];
            assert_int_equal(sq_encode_rtn(x, &m, &err), SQ_ERR_NON_FINITE);
        }
    assert_string_equal(err.text, "w[0][7] = -inf, need a finite number");
    m.k = 16;
    assert_int_equal(sq_encode_rtn(w, &m, NULL), SQ_ERR_SHAPE);
    m.k = 8;
    m.k_orig = 0;
    assert_int_equal(sq_encode_rtn(w, &m, NULL), SQ_ERR_SHAPE);
    m.k_orig = 8;
    m.format.high_per_bank = 3;
    assert_int_equal(sq_encode_rtn(w, &m, NULL), SQ_ERR_UNSUPPORTED);
    m.format.high_per_bank = 2;
    m.k_orig = m.k = SQ_GROUP_LEN_MAX + 8; // refused before a byte of it is touched
    assert_int_equal(sq_encode_rtn(w, &m, NULL), SQ_ERR_UNSUPPORTED);
}
