// SPDX-License-Identifier: Apache-2.0
// GQSA (SPEC F): group quantizer, arrays and their refusals, products.
//
// Directed: V7, the worked BSR of F.4, every refusal of F.4 and section M. Exhausted: every code
// and zero through the quantizer and back, every G with values of 4, 8 and 16 bits. Sampled: random
// matrices and products, judged by plain loops.
#include <math.h>

#include "models/gqsa/sq_gqsa_quant.h"
#include "models/number/sq_half.h"
#include "models/number/sq_lanes.h"
#include "tests/unit/gqsa/gqsa_fixture.h"
#include "tests/unit/number/kernels_fixture.h"

enum { N = 23, K = 150 }; // K off every group but 2

// ---- group quantizer ------------------------------------------------------------------------

SQ_TEST(v7)
{
    const float w[4] = {-1.5f, -.5f, 0, 2.25f};
    uint8_t q[4], zero;
    uint16_t scale;
    assert_ok(sq_gqsa_quantize_group(w, 4, q, &scale, &zero, NULL));
    assert_true(sq_half_to_float(scale) == .25f);
    assert_int_equal(zero, 6);
    assert_memory_equal(q, ((uint8_t[]){0, 4, 6, 15}), 4);
    for (size_t i = 0; i < 4; i++)
        assert_true((float)(q[i] - zero) * sq_half_to_float(scale) == w[i]);
}

SQ_TEST(quantizer_corners)
{
    uint8_t q[4], zero;
    uint16_t scale;
    struct sq_error err;
    assert_ok(sq_gqsa_quantize_group((float[]){0, 0, 0, 0}, 4, q, &scale, &zero, NULL));
    assert_int_equal(scale, 0x3c00); // 1
    assert_int_equal(zero, 0);
    assert_memory_equal(q, ((uint8_t[4]){0}), 4);
    // Zero is in the range: a group of positive weights has z = 0, of negative ones z = 15.
    assert_ok(sq_gqsa_quantize_group((float[]){3, 15, 7, 1}, 4, q, &scale, &zero, NULL));
    assert_int_equal(zero, 0);
    assert_memory_equal(q, ((uint8_t[]){3, 15, 7, 1}), 4);
    assert_ok(sq_gqsa_quantize_group((float[]){-3, -15, -7, -1}, 4, q, &scale, &zero, NULL));
    assert_int_equal(zero, 15);
    assert_memory_equal(q, ((uint8_t[]){12, 0, 8, 14}), 4);
    assert_ok(sq_gqsa_quantize_group((float[]){1e-8f, 0}, 2, q, &scale, &zero, NULL));
    assert_int_equal(scale, 1); // a scale that rounds to 0 becomes 2^-24
    assert_int_equal(sq_gqsa_quantize_group((float[]){1e6f, 0}, 2, q, &scale, &zero, &err),
                     SQ_ERR_OVERFLOW);
    assert_int_equal(sq_gqsa_quantize_group((float[]){0, NAN}, 2, q, &scale, &zero, &err),
                     SQ_ERR_NON_FINITE);
    for (unsigned z = 0; z < 16; z++) // codes are stable
        for (unsigned c = 0; c < 16; c++)
            assert_int_equal(sq_gqsa_quantize((float)((int)c - (int)z) * .37f, .37f, z, 15), c);
}

// ---- arrays ---------------------------------------------------------------------------------

static struct sq_gqsa worked_bsr(void)
{
    const uint8_t kept[8] = {0, 1, 1, 1, 0, 0, 1, 0};
    struct sq_gqsa m = gqsa_new(4, 8, 4, sq_gqsa_count(kept, 4, 2));
    sq_gqsa_set_groups(&m, kept);
    memset(m.codes, 0x21, 4 * 2);
    memset(m.zero, 3, 4);
    for (size_t e = 0; e < 4; e++)
        m.scale[e] = 0x3c00;
    return m;
}

SQ_TEST(worked_arrays_and_refusals)
{
    struct sq_gqsa m = worked_bsr();
    struct sq_error err;
    assert_int_equal(m.nnz, 4);
    assert_memory_equal(m.row_index, ((uint32_t[]){0, 1, 3, 3, 4}), 20);
    assert_memory_equal(m.groups, ((uint16_t[]){1, 0, 1, 0}), 8);
    assert_ok(sq_gqsa_validate(&m, &err));
    m.groups[1] = 1; // groups {1, 1}
    assert_int_equal(sq_gqsa_validate(&m, &err), SQ_ERR_INDEX);
    assert_string_equal(err.text, "groups[2] = 1 after 1 in row 1, need ascending");
    m.groups[1] = 2;
    assert_int_equal(sq_gqsa_validate(&m, &err), SQ_ERR_INDEX);
    assert_string_equal(err.text, "groups[1] = 2, need 0..1");
    m.groups[1] = 0;
    m.row_index[2] = 0; // decreasing
    assert_int_equal(sq_gqsa_validate(&m, &err), SQ_ERR_OFFSETS);
    m.row_index[2] = 3, m.row_index[0] = 1;
    assert_int_equal(sq_gqsa_validate(&m, &err), SQ_ERR_OFFSETS);
    m.row_index[0] = 0, m.row_index[4] = 3;
    assert_int_equal(sq_gqsa_validate(&m, &err), SQ_ERR_OFFSETS);
    m.row_index[4] = 4;
    const uint16_t bad[] = {0, 0x7c00, 0x7e00, 0xbc00}; // 0, infinity, NaN, -1
    for (size_t i = 0; i < LEN(bad); i++) {
        m.scale[2] = bad[i];
        CHECK_EQ(sq_gqsa_validate(&m, &err), SQ_ERR_SCALE, "scale %04x\n", bad[i]);
    }
    m.scale[2] = 0x3c00, m.zero[1] = 16;
    assert_int_equal(sq_gqsa_validate(&m, &err), SQ_ERR_CODE);
    m.zero[1] = 3, m.k_orig = 7;
    assert_int_equal(sq_gqsa_validate(&m, &err), SQ_ERR_PADDING); // column 7: code 2, zero 3
    m.k_orig = 3;
    assert_int_equal(sq_gqsa_validate(&m, &err), SQ_ERR_SHAPE);
    m.k_orig = m.k = 6;
    assert_int_equal(sq_gqsa_validate(&m, &err), SQ_ERR_SHAPE);
    m.k_orig = m.k = 8, m.group = 12;
    assert_int_equal(sq_gqsa_validate(&m, &err), SQ_ERR_UNSUPPORTED);
    const uint8_t zero[3] = {1, 15, 7};
    uint8_t packed[2], back[3];
    assert_int_equal(sq_gqsa_zero_nbytes(3), 2);
    sq_gqsa_pack_zeros(zero, 3, packed);
    assert_memory_equal(packed, ((uint8_t[]){0xf1, 0x07}), 2);
    assert_ok(sq_gqsa_unpack_zeros(packed, 3, back, &err));
    assert_memory_equal(back, zero, 3);
    packed[1] = 0x17;
    assert_int_equal(sq_gqsa_unpack_zeros(packed, 3, back, &err), SQ_ERR_PADDING);
}

// ---- products -------------------------------------------------------------------------------

static struct sq_gqsa random_matrix(struct sq_rng *r, unsigned group, unsigned bits)
{
    const size_t columns = sq_gqsa_padded(K, group) / group;
    uint8_t *kept = fixture_exact(N * columns);
    for (size_t i = 0; i < N * columns; i++)
        kept[i] = sq_rng_below(r, 2) == 0 && i / columns != 4; // row 4 is empty
    struct sq_gqsa m = gqsa_new(N, K, group, sq_gqsa_count(kept, N, columns));
    sq_gqsa_set_groups(&m, kept);
    m.bits = bits;
    const unsigned codes = bits == 16 ? 0x7c00 : 1u << bits; // finite
    for (size_t e = 0; e < m.nnz; e++) {
        m.zero[e] = bits == 16 ? 0 : (uint8_t)sq_rng_below(r, codes);
        m.scale[e] = (uint16_t)(1 + sq_rng_below(r, 0x4bff)); // up to 16, subnormals too
        for (size_t i = 0; i < group; i++)
            sq_gqsa_set_code(
                &m, e, i, (size_t)m.groups[e] * group + i < K ? sq_rng_below(r, codes) : m.zero[e]);
    }
    assert_ok(sq_gqsa_validate(&m, NULL));
    return m;
}

// 70 tokens at once, by every kernel: token by token the bits of the plain loop.
static void check_gemm(const struct sq_gqsa *m, struct sq_rng *r)
{
    enum { TOKENS = 70 };
    int8_t *x = fixture_exact(TOKENS * m->k);
    int32_t *sum_x = fixture_exact(m->k / m->group * sizeof *sum_x);
    float s_a[TOKENS], *y = fixture_exact(TOKENS * N * sizeof *y);
    for (size_t i = 0; i < TOKENS * m->k; i++)
        x[i] = (int8_t)((int)sq_rng_below(r, 256) - 128);
    for (size_t t = 0; t < TOKENS; t++)
        s_a[t] = (float)(0.001 + sq_rng_unit(r));
    const struct sq_codes w = sq_gqsa_codes(m);
    for (size_t t = 0; t < TOKENS; t++)
        sq_gqsa_gemv_int8(m, x + t * m->k, s_a[t], sum_x, y + t * N, NULL);
    every_kernel_gives(&w, sq_gqsa_row, m, x, s_a, TOKENS, y, NULL);
}

// 70 tokens in binary32 at every level of the processor: the bits of sq_gqsa_gemv.
static void check_float_gemm(const struct sq_gqsa *m, struct sq_rng *r)
{
    enum { TOKENS = 70 };
    float *x = fixture_exact(TOKENS * m->k * sizeof *x), *y = fixture_exact(TOKENS * N * sizeof *y);
    float one[N];
    void *scratch = fixture_alloc(sq_gqsa_gemm_scratch(m));
    for (size_t i = 0; i < TOKENS * m->k; i++)
        x[i] = (float)fixture_gauss(r);
    for (unsigned level = 0; level < SQ_LANES_LEVELS; level++) {
        if (!sq_lanes_has((enum sq_lanes_level)level))
            continue;
        memset(y, 0xa5, TOKENS * N * sizeof *y);
        sq_gqsa_gemm(m, x, TOKENS, y, scratch, level);
        for (size_t t = 0; t < TOKENS; t++) {
            sq_gqsa_gemv(m, x + t * m->k, one);
            assert_memory_equal(one, y + t * N, sizeof one);
        }
    }
}

SQ_TEST(products)
{
    struct sq_rng r = {fixture_seed()};
    for (unsigned v = 0; v < 6 * 3; v++) {
        const unsigned group = 4u << v / 3, bits = 4u << v % 3;
        struct sq_gqsa m = random_matrix(&r, group, bits);
        int8_t *x = fixture_exact(m.k);
        float *xf = fixture_exact(m.k * sizeof *xf), y[N], yi[N], row[K];
        int32_t *sum_x = fixture_exact(m.k / group * sizeof *sum_x);
        int32_t *acc = fixture_exact(m.nnz * sizeof *acc);
        for (size_t i = 0; i < m.k; i++) {
            x[i] = i < K ? (int8_t)((int)sq_rng_below(&r, 256) - 128) : 0;
            xf[i] = i < K ? (float)fixture_gauss(&r) : 0;
        }
        sq_gqsa_gemv(&m, xf, y);
        if (bits < 16) {
            sq_gqsa_gemv_int8(&m, x, 0.3f, sum_x, yi, acc);
            check_gemm(&m, &r);
        }
        check_float_gemm(&m, &r);
        for (size_t n = 0; n < N; n++) {
            float want = 0, want_int = 0;
            double exact = 0, size = 0;
            sq_gqsa_decode_row(&m, n, row);
            for (size_t e = m.row_index[n]; e < m.row_index[n + 1]; e++) {
                float inner = 0;
                int32_t sum = 0;
                for (size_t i = 0; i < group; i++) {
                    const size_t at = e * group + i, column = (size_t)m.groups[e] * group + i;
                    const int c = bits == 4   ? (m.codes[at / 2] >> (at % 2 * 4) & 15) - m.zero[e]
                                  : bits == 8 ? m.codes[at] - m.zero[e]
                                              : 0;
                    const unsigned half = m.codes[2 * at] | (unsigned)m.codes[2 * at + 1] << 8;
                    inner = inner +
                            (bits == 16 ? sq_half_to_float((uint16_t)half) : (float)c) * xf[column];
                    sum += c * x[column];
                }
                want = want + (bits == 16 ? inner : inner * sq_half_to_float(m.scale[e]));
                want_int = want_int + (float)sum * sq_half_to_float(m.scale[e]);
                if (bits < 16)
                    CHECK_EQ(acc[e], sum, "G %u group %zu\n", group, e);
            }
            CHECK_EQ(sq_bits_of(y[n]), sq_bits_of(want + 0.0f), "G %u row %zu\n", group, n);
            if (bits < 16)
                CHECK_EQ(sq_bits_of(yi[n]), sq_bits_of(want_int * 0.3f + 0.0f), "G %u row %zu\n",
                         group, n);
            for (size_t i = 0; i < K; i++) {
                exact += (double)row[i] * (double)xf[i];
                size += fabs((double)row[i] * (double)xf[i]);
            }
            assert_true(fabs(exact - (double)y[n]) <= 1e-5 * size);
        }
    }
}

// The quantizer of 8 bits by F.2, written down once more.
SQ_TEST(quantizer_of_8_bits)
{
    struct sq_rng r = {fixture_seed()};
    for (size_t i = 0; i < 200; i++) {
        float w[16], min = 0, max = 0;
        uint8_t q[16], zero;
        uint16_t scale;
        for (size_t j = 0; j < 16; j++) {
            w[j] = (float)fixture_gauss(&r);
            min = fminf(min, w[j]), max = fmaxf(max, w[j]);
        }
        assert_ok(sq_gqsa_quantize_bits(8, w, 16, q, &scale, &zero, NULL));
        const float s = sq_half_round((max - min) / 255), z = fminf(-rintf(min / s), 255);
        assert_true(sq_half_to_float(scale) == s && (float)zero == z);
        for (size_t j = 0; j < 16; j++)
            assert_true((float)q[j] == fminf(fmaxf(rintf(w[j] / s) + z, 0), 255));
    }
}
