// SPDX-License-Identifier: Apache-2.0
// The refusals of sq_matrix_validate (SPEC A.8, the negative vectors of M, codes of O.2).
//
// Each refusal once with its sentence; then, exhausted, every single bit flip of the streams of V1,
// of V2 and of a row with padding bits in both streams: validation must accept exactly the flips
// that a definition written here, from sq_slow, calls legal; the same for all 2^16 LO streams of
// the smallest row, with a sampled HI byte.
#include <math.h>

#include "models/core/sq_slow.h"
#include "models/quant/sq_codes_alloc.h"
#include "tests/unit/fixture.h"

static struct sq_matrix v1(void)
{
    const float w[8] = {0.5f, -3.5f, 0.25f, 1.75f, -31.75f, 0, -1, 15.875f};
    struct sq_matrix m = matrix_new((struct sq_format){8, 4, 8, 2, 0}, 1, 8);
    assert_ok(sq_encode_rtn(w, &m, NULL));
    assert_ok(matrix_validate(&m, NULL));
    return m;
}

// K = 4, b = 4, k = 1 of SQ(4,3): 12 bits of lo, 4 bits of hi; both last bytes are half padding.
static struct sq_matrix padded(void)
{
    const float w[4] = {0.5f, -3.5f, 0.25f, 1.75f};
    struct sq_matrix m = matrix_new((struct sq_format){4, 3, 4, 1, 0}, 1, 4);
    assert_ok(sq_encode_rtn(w, &m, NULL));
    assert_ok(matrix_validate(&m, NULL));
    return m;
}

SQ_TEST(one_mask_code_missing)
{
    struct sq_matrix m = v1();
    struct sq_error err;
    m.lo[3] = 0x0e;
    assert_int_equal(matrix_validate(&m, &err), SQ_ERR_MASK_COUNT);
    assert_string_equal(err.text, "row 0 bank 0: 1 mask codes, need 2");
    m.lo[3] = 0x88;
    assert_int_equal(matrix_validate(&m, NULL), SQ_ERR_MASK_COUNT); // one too many
}

SQ_TEST(high_code_minus_128)
{
    struct sq_matrix m = v1();
    struct sq_error err;
    m.hi[0] = 0x80;
    assert_int_equal(matrix_validate(&m, &err), SQ_ERR_CODE);
    assert_string_equal(err.text, "row 0 bank 0: high code 0 is -128, need -127..127");
}

SQ_TEST(nonzero_padding_bits)
{
    struct sq_matrix m = padded();
    struct sq_error err;
    for (unsigned bit = 4; bit < 8; bit++) {
        m.lo[1] ^= (uint8_t)(1 << bit);
        assert_int_equal(matrix_validate(&m, &err), SQ_ERR_PADDING);
        m.lo[1] ^= (uint8_t)(1 << bit);
        m.hi[0] ^= (uint8_t)(1 << bit);
        assert_int_equal(matrix_validate(&m, NULL), SQ_ERR_PADDING);
        m.hi[0] ^= (uint8_t)(1 << bit);
    }
    assert_ok(matrix_validate(&m, NULL));
}

SQ_TEST(bad_scales)
{
    const float bad[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, -0.5f};
    struct sq_error err;
    struct sq_matrix m = v1();
    for (size_t i = 0; i < LEN(bad); i++) {
        const float s_lo = m.s_lo[0], s_hi = m.s_hi[0];
        m.s_lo[0] = bad[i];
        assert_int_equal(matrix_validate(&m, &err), SQ_ERR_SCALE);
        m.s_lo[0] = s_lo;
        m.s_hi[0] = bad[i];
        assert_int_equal(matrix_validate(&m, &err), SQ_ERR_SCALE);
        m.s_hi[0] = s_hi;
    }
    assert_string_equal(err.text, "row 0 group 0: s_hi = -0.5, need finite and > 0");
}

SQ_TEST(shapes_and_lengths)
{
    struct sq_matrix m = v1();
    struct sq_error err;
    const size_t lengths[][3] = {{3, 2, 1}, {5, 2, 1}, {4, 1, 1}, {4, 3, 1},
                                 {4, 2, 0}, {4, 2, 2}, {0, 0, 0}, {SIZE_MAX, 2, 1}};
    for (size_t i = 0; i < LEN(lengths); i++)
        assert_int_equal(sq_matrix_validate(&m, lengths[i][0], lengths[i][1], lengths[i][2], &err),
                         SQ_ERR_STREAM_LEN);
    assert_string_equal(err.text, "lo has 18446744073709551615 elements, need 1 rows of 4");
    m.k = 12;
    assert_int_equal(sq_matrix_validate(&m, 6, 3, 1, &err), SQ_ERR_SHAPE);
    assert_string_equal(err.text, "K = 12 is no multiple of bank = 8");
    m.k = 40;
    m.format.group = 32;
    assert_int_equal(sq_matrix_validate(&m, 20, 10, 1, &err), SQ_ERR_SHAPE);
    assert_string_equal(err.text, "K = 40 is no multiple of group = 32");
    m.k = 4; // fewer than the 8 real ones
    m.format.group = 0;
    assert_int_equal(sq_matrix_validate(&m, 2, 1, 1, NULL), SQ_ERR_SHAPE);
    m.k = 0;
    assert_int_equal(sq_matrix_validate(&m, 0, 0, 0, NULL), SQ_ERR_SHAPE);
    m.k = 8;
    m.n = 0;
    assert_int_equal(sq_matrix_validate(&m, 0, 0, 0, NULL), SQ_ERR_SHAPE);
    m.n = SIZE_MAX / 2; // n * row bytes wraps to a small number: must not be believed
    assert_int_equal(sq_matrix_validate(&m, m.n * 4, m.n * 2, m.n, NULL), SQ_ERR_STREAM_LEN);
    m.n = 2; // 9 bytes are 4 per row and one too many
    assert_int_equal(sq_matrix_validate(&m, 9, 4, 2, NULL), SQ_ERR_STREAM_LEN);
    assert_int_equal(sq_matrix_validate(&m, 8, 5, 2, NULL), SQ_ERR_STREAM_LEN);
    assert_int_equal(sq_matrix_validate(&m, 8, 4, 3, NULL), SQ_ERR_STREAM_LEN);
    m.n = 1;
    m.k = SQ_GROUP_LEN_MAX + 8;
    assert_int_equal(sq_matrix_validate(&m, m.k / 2, m.k / 4, 1, NULL), SQ_ERR_UNSUPPORTED);
}

SQ_TEST(unsupported_formats)
{
    struct sq_matrix m = v1();
    static const struct sq_format bad[] = {{8, 8, 8, 2, 0}, {8, 5, 8, 2, 0},    {4, 4, 8, 2, 0},
                                           {8, 4, 6, 2, 0}, {8, 4, 256, 2, 0},  {8, 4, 2, 1, 0},
                                           {8, 4, 8, 0, 0}, {8, 4, 8, 8, 0},    {8, 4, 8, 3, 0},
                                           {8, 4, 8, 2, 8}, {8, 4, 128, 8, 256}};
    for (size_t i = 0; i < LEN(bad); i++) {
        m.format = bad[i];
        assert_int_equal(sq_matrix_validate(&m, 4, 2, 1, NULL), SQ_ERR_UNSUPPORTED);
    }
    m.format = (struct sq_format){8, 4, 64, 16, 32};
    assert_int_equal(sq_matrix_validate(&m, 4, 2, 1, NULL), SQ_ERR_SHAPE); // G % b
}

// What A.8 demands of the streams of one row, bit by bit.
static bool is_legal(const struct sq_matrix *m)
{
    const struct sq_format *f = &m->format;
    const size_t n_hi = m->k / f->bank * f->high_per_bank;
    for (size_t first = 0; first < m->k; first += f->bank) {
        unsigned count = 0;
        for (size_t i = first; i < first + f->bank; i++)
            count += sq_slow_code(m->lo, i, f->low_bits) == -(1 << (f->low_bits - 1));
        if (count != f->high_per_bank)
            return false;
    }
    for (size_t c = 0; c < n_hi; c++)
        if (sq_slow_code(m->hi, c, f->high_bits) == -(1 << (f->high_bits - 1)))
            return false;
    for (size_t bit = m->k * f->low_bits; bit % 8; bit++)
        if (m->lo[bit / 8] >> (bit % 8) & 1)
            return false;
    for (size_t bit = n_hi * f->high_bits; bit % 8; bit++)
        if (m->hi[bit / 8] >> (bit % 8) & 1)
            return false;
    return true;
}

static void agrees(const struct sq_matrix *m, const char *what, size_t at)
{
    const bool ok = matrix_validate(m, NULL) == SQ_OK;
    CHECK_EQ(ok, is_legal(m), "%s %zu\n", what, at);
}

static void flip_every_bit(struct sq_matrix m)
{
    const size_t lo = sq_lo_row_nbytes(&m.format, m.k), hi = sq_hi_row_nbytes(&m.format, m.k);
    for (size_t bit = 0; bit < 8 * (lo + hi); bit++) {
        uint8_t *byte = bit < 8 * lo ? &m.lo[bit / 8] : &m.hi[bit / 8 - lo];
        *byte ^= (uint8_t)(1 << bit % 8);
        agrees(&m, "bit", bit);
        *byte ^= (uint8_t)(1 << bit % 8);
    }
}

SQ_TEST(every_bit_flip_is_judged_right)
{
    flip_every_bit(v1());
    flip_every_bit(padded());
    const float w[8] = {1, -2, .25f, 7, -3.5f, .5f, -1, 0};
    struct sq_matrix v2 = matrix_new((struct sq_format){4, 2, 8, 4, 0}, 1, 8);
    assert_ok(sq_encode_rtn(w, &v2, NULL));
    flip_every_bit(v2);
}

// Every LO stream of the smallest row (4 codes of 3 bits, 4 padding bits), with a random HI byte.
SQ_TEST(every_small_lo_stream_is_judged_right)
{
    unsigned n_legal = 0;
    struct sq_rng rng = {fixture_seed()};
    struct sq_matrix m = padded();
    for (unsigned lo = 0; lo < 65536; lo++) {
        m.lo[0] = (uint8_t)lo;
        m.lo[1] = (uint8_t)(lo >> 8);
        m.hi[0] = (uint8_t)sq_rng_below(&rng, sq_rng_below(&rng, 8) ? 16 : 256);
        agrees(&m, "lo", lo);
        n_legal += is_legal(&m);
    }
    assert_in_range(n_legal, 1000, 1372); // 4 * 7^3 of the 2^16 have one mask code, most a legal hi
}
