// SPDX-License-Identifier: Apache-2.0
// 2:4: packing and product (SPEC E.1-E.5, E.8), pruning (E.6, E.7), selective sparsity; INT8 with a scale a row,
// and every other width and group.
//
// Exhausted: groups of four scores out of three values (81); all 16 metadata nibbles in a packed
// row. Directed: V6, V15, every refusal of E.8 and of section M. Sampled: random layers with
// outlier channels; the column loop is judged by E.7 written down once more in plain loops over
// whole rows, and by the identity J.3; products by dense products.
#include <math.h>

#include "models/number/sq_half.h"

#include "models/quant/sq_sensitivity.h"
#include "models/sp24/sq_prune24.h"
#include "tests/unit/number/kernels_fixture.h"

enum { N = 21, K = 140, T = 500, PADDED = 192 };

// ---- a random layer -------------------------------------------------------------------------

struct layer {
    size_t n, k, t;
    float *x, *w;
    struct sq_calibration calibration;
    struct sq_factor factor;
    double *norm;
};

// SPEC J.6: inputs of varied scale with some mixing and three outlier channels, heavy-tailed
// weights.
static struct layer layer_new(size_t n, size_t k, size_t t, uint64_t seed)
{
    struct sq_rng r = {seed};
    struct layer l = {.n = n, .k = k, .t = t};
    l.x = fixture_exact(t * k * sizeof(float));
    l.w = fixture_exact(n * k * sizeof(float));
    l.norm = fixture_exact(k * sizeof(double));
    double *scale = fixture_exact(k * sizeof(double)), *z = fixture_exact(k * sizeof(double));
    for (size_t i = 0; i < k; i++)
        scale[i] = exp(0.8 * fixture_gauss(&r)) * (i == 5 || i == k / 2 || i == k - 3 ? 20 : 1);
    for (size_t s = 0; s < t; s++) {
        for (size_t i = 0; i < k; i++)
            z[i] = fixture_gauss(&r);
        for (size_t i = 0; i < k; i++)
            l.x[s * k + i] =
                (float)(scale[i] * (z[i] + 0.4 * z[(i + 1) % k] + 0.3 * z[(i + 7) % k]));
    }
    for (size_t i = 0; i < n * k; i++) {
        double chi = 0;
        for (unsigned d = 0; d < 5; d++) {
            const double g = fixture_gauss(&r);
            chi += g * g;
        }
        l.w[i] = (float)(0.02 * fixture_gauss(&r) / sqrt(chi / 5));
    }
    assert_ok(sq_calibration_init(&l.calibration, k, true, NULL));
    assert_ok(sq_calibration_add(&l.calibration, l.x, t, NULL));
    assert_ok(sq_factor_init(&l.factor, &l.calibration, NULL, 0.01, NULL));
    assert_ok(sq_channel_norms(&l.calibration, l.norm, NULL));
    return l;
}

static void layer_free(struct layer *l)
{
    sq_calibration_free(&l->calibration);
    sq_factor_free(&l->factor);
}

static struct sq_sp24 sp24_new(size_t n, size_t k_orig)
{
    struct sq_sp24 m = {.n = n, .k = sq_sp24_padded(k_orig, 0), .k_orig = k_orig};
    m.value = fixture_exact(n * (m.k / 2));
    m.meta = fixture_exact(n * (m.k / 8));
    m.scale = fixture_exact(n * sizeof(float));
    return m;
}

static enum sq_status validate(const struct sq_sp24 *m, struct sq_error *err)
{
    return sq_sp24_validate(m, m->n * (m->k / 2), m->n * (m->k / 8), m->n, err);
}

// ---- packing --------------------------------------------------------------------------------

SQ_TEST(v6_packed)
{
    const int8_t row[16] = {0, 5, 0, -3, 7, 0, 0, 9, 0, 0, 0, 4, 0, 0, 0, 0};
    struct sq_sp24 m = sp24_new(1, 16);
    float back[16];
    assert_int_equal(m.k, 64);
    m.scale[0] = 1;
    assert_ok(sq_sp24_pack_row(&m, 0, row, NULL));
    assert_memory_equal(m.value, ((int8_t[]){5, -3, 7, 9, 0, 4, 0, 0}), 8);
    assert_int_equal(m.meta[0] | m.meta[1] << 8, 0x4ccd);
    for (size_t i = 2; i < 8; i++)
        assert_int_equal(m.meta[i], 0x44); // empty groups are (0,1)
    assert_ok(validate(&m, NULL));
    sq_sp24_decode_row(&m, 0, back);
    for (size_t i = 0; i < 16; i++)
        assert_true(back[i] == row[i]);
}

static void random_codes(struct sq_rng *r, int8_t *codes, size_t k)
{
    memset(codes, 0, k);
    for (size_t g = 0; g < k / 4; g++)
        for (uint32_t i = sq_rng_below(r, 3); i > 0; i--)
            codes[4 * g + sq_rng_below(r, 4)] = (int8_t)((int)sq_rng_below(r, 255) - 127);
}

// Decoding after packing is the identity, and the product is the dense one.
SQ_TEST(round_trip_and_product)
{
    enum { TOKENS = 41 };
    struct sq_rng r = {fixture_seed()};
    struct sq_sp24 m = sp24_new(N, K);
    int8_t *dense = fixture_exact(N * K), *act = fixture_exact(TOKENS * PADDED);
    float s_a[TOKENS], y[TOKENS * N], back[K];
    int32_t p[TOKENS * N];
    for (size_t t = 0; t < TOKENS; t++)
        s_a[t] = (float)(0.001 + sq_rng_unit(&r));
    for (size_t n = 0; n < N; n++) {
        random_codes(&r, dense + n * K, K);
        m.scale[n] = (float)(0.01 + sq_rng_unit(&r));
        assert_ok(sq_sp24_pack_row(&m, n, dense + n * K, NULL));
        sq_sp24_decode_row(&m, n, back);
        for (size_t i = 0; i < K; i++)
            assert_true(back[i] == (float)dense[n * K + i] * m.scale[n]);
    }
    assert_ok(validate(&m, NULL));
    for (size_t i = 0; i < TOKENS * PADDED; i++)
        act[i] = (int8_t)((int)sq_rng_below(&r, 256) - 128);
    sq_gemm_sp24(&m, act, s_a, TOKENS, y, p);
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t n = 0; n < N; n++) {
            int32_t want = 0;
            for (size_t i = 0; i < K; i++)
                want += dense[n * K + i] * act[t * PADDED + i];
            CHECK_EQ(p[t * N + n], want, "token %zu row %zu\n", t, n);
            const float scaled = (float)want * m.scale[n];
            CHECK_EQ(sq_bits_of(y[t * N + n]), sq_bits_of(scaled * s_a[t]), "token %zu\n", t);
        }
    const struct sq_codes w = sq_sp24_codes(&m);
    every_kernel_gives(&w, sq_sp24_row, &m, act, s_a, TOKENS, y, p);
}

SQ_TEST(refusals)
{
    struct sq_sp24 m = sp24_new(2, K);
    int8_t codes[K] = {0};
    struct sq_error err;
    m.scale[0] = m.scale[1] = 1;
    for (size_t n = 0; n < 2; n++)
        assert_ok(sq_sp24_pack_row(&m, n, codes, NULL));
    assert_ok(validate(&m, &err));
    for (unsigned nibble = 0; nibble < 16; nibble++) { // row 1, columns 8..11
        unsigned i0, i1;
        m.meta[PADDED / 8 + 1] = (uint8_t)(0x40 | nibble);
        const enum sq_status want = sq_meta24_decode(nibble, &i0, &i1) ? SQ_OK : SQ_ERR_INDEX;
        CHECK_EQ(validate(&m, &err), want, "nibble %x\n", nibble);
    }
    assert_string_equal(err.text, "row 1, columns 8..11: metadata 0xf, need two ascending indices");
    m.meta[PADDED / 8 + 1] = 0x44;
    m.value[3] = -128;
    assert_int_equal(validate(&m, &err), SQ_ERR_CODE);
    m.value[3] = 0;
    for (size_t at = K / 2; at < PADDED / 2; at += PADDED / 2 - K / 2 - 1) { // first, last
        m.value[at] = 1;
        assert_int_equal(validate(&m, &err), SQ_ERR_PADDING);
        m.value[at] = 0;
    }
    const float bad[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < LEN(bad); i++) {
        m.scale[1] = bad[i];
        CHECK_EQ(validate(&m, &err), SQ_ERR_SCALE, "scale %g\n", (double)bad[i]);
    }
    m.scale[1] = 1;
    assert_int_equal(sq_sp24_validate(&m, PADDED - 1, PADDED / 4, 2, &err), SQ_ERR_STREAM_LEN);
    assert_int_equal(sq_sp24_validate(&m, PADDED, PADDED / 4 + 1, 2, &err), SQ_ERR_STREAM_LEN);
    assert_int_equal(sq_sp24_validate(&m, PADDED, PADDED / 4, 1, &err), SQ_ERR_STREAM_LEN);
    codes[4] = codes[5] = codes[6] = 1;
    assert_int_equal(sq_sp24_pack_row(&m, 1, codes, &err), SQ_ERR_MASK_COUNT);
    codes[5] = 0, codes[6] = -128;
    assert_int_equal(sq_sp24_pack_row(&m, 1, codes, &err), SQ_ERR_CODE);
    m.k_orig = 138;
    assert_int_equal(sq_sp24_check_shape(&m, &err), SQ_ERR_SHAPE);
    assert_string_equal(err.text, "K = 138, need a multiple of 4");
    m.k = 144, m.k_orig = 144;
    assert_int_equal(sq_sp24_check_shape(&m, &err), SQ_ERR_SHAPE);
    m.k = 256, m.k_orig = K;
    assert_int_equal(sq_sp24_check_shape(&m, &err), SQ_ERR_SHAPE);
}

// ---- which are pruned -----------------------------------------------------------------------

SQ_TEST(every_order_of_four)
{
    for (unsigned n = 0; n < 81; n++) {
        double score[4] = {n % 3, n / 3 % 3, n / 9 % 3, n / 27};
        uint8_t kept[4], want[4] = {1, 1, 1, 1};
        sq_prune24_group(score, kept);
        for (unsigned pass = 0; pass < 2; pass++) { // the first of the smallest goes
            unsigned least = 4;
            for (unsigned i = 0; i < 4; i++)
                if (want[i] && (least == 4 || score[i] < score[least]))
                    least = i;
            want[least] = 0;
        }
        assert_memory_equal(kept, want, 4);
    }
}

static unsigned first_nibble(enum sq_prune criterion, const float *w, const double *norm)
{
    struct sq_sp24 m = sp24_new(1, 4);
    int8_t codes[4];
    const struct sq_prune24 o = {.criterion = criterion};
    assert_ok(sq_prune24_encode(&m, w, &o, norm, NULL, codes, NULL, NULL));
    const unsigned nibble = m.meta[0] & 15u;
    assert_true(m.scale[0] == fabsf(w[0]) / 127); // of the dense row: w[0] is the largest
    return nibble;
}

SQ_TEST(v15)
{
    const float w[4] = {.9f, -.5f, .4f, .3f}, tie[4] = {1, -1, 1, -1};
    const double norm[4] = {.1, 1, 1, 2};
    assert_int_equal(first_nibble(SQ_PRUNE_MAGNITUDE, w, NULL), 0x4);
    assert_int_equal(first_nibble(SQ_PRUNE_WANDA, w, norm), 0xd);
    assert_int_equal(first_nibble(SQ_PRUNE_MAGNITUDE, tie, NULL), 0xe);
}

// ---- E.7 ------------------------------------------------------------------------------------

// One row by E.7 in plain loops, columns over the whole row; values[K], a scale for `group` columns (0: the row).
static void slow_row(const struct layer *l, const float *w, const struct sq_prune24 *o,
                     unsigned bits, size_t group, float *values)
{
    const size_t k = l->k;
    double *v = fixture_exact(k * sizeof *v), *score = fixture_exact(k * sizeof *score);
    bool kept[4] = {0};
    float amax = 0;
    for (size_t j = 0; j < k; j++) {
        v[j] = (double)w[j];
        amax = fmaxf(amax, fabsf(w[j]));
        score[j] = fabs(v[j]) * (o->criterion == SQ_PRUNE_WANDA ? l->norm[j] : 1);
    }
    const float most = (float)((1 << (bits - 1)) - 1);
    float scale = amax / most;
    for (size_t j = 0; j < k; j++) {
        const double u = l->factor.u[j * k + j];
        amax = 0;
        for (size_t c = j; group > 0 && j % group == 0 && c < k && c < j + group; c++) {
            const size_t four = c - c % 4;
            unsigned larger = 0;
            double now[4];
            for (size_t d = four; d < four + 4; d++) {
                const double in = l->factor.u[d * k + d];
                now[d - four] = o->criterion == SQ_PRUNE_SPARSEGPT ? fabs(v[d]) / in : score[d];
            }
            for (size_t d = 0; d < 4; d++)
                larger += now[d] > now[c % 4] || (now[d] == now[c % 4] && d > c % 4);
            amax = larger < 2 ? fmaxf(amax, fabsf((float)v[c])) : amax;
        }
        if (group > 0 && j % group == 0)
            scale = amax > 0 ? amax / most : 1;
        for (size_t c = j; j % 4 == 0 && c < j + 4; c++)
            if (o->criterion == SQ_PRUNE_SPARSEGPT)
                score[c] = v[c] * v[c] / (l->factor.u[c * k + c] * l->factor.u[c * k + c]);
        for (size_t c = j; j % 4 == 0 && c < j + 4; c++) {
            unsigned larger = 0;
            for (size_t d = j; d < j + 4; d++)
                larger += score[d] > score[c] || (score[d] == score[c] && d > c);
            kept[c - j] = larger < 2;
        }
        const float q = fminf(most, fmaxf(-most, rintf((float)v[j] / scale)));
        values[j] = !kept[j % 4] ? 0 : bits == 16 ? sq_half_round((float)v[j]) : q * scale;
        const double value = !kept[j % 4] ? 0 : o->is_joint ? (double)values[j] : v[j];
        const double e = (v[j] - value) / u;
        for (size_t c = j; c < k; c++)
            v[c] -= e * l->factor.u[j * k + c];
    }
}

// By magnitude and rounding alone.
static void slow_rtn(const float *w, unsigned bits, size_t group, float *values)
{
    const float most = (float)((1 << (bits - 1)) - 1);
    for (size_t j = 0; j < K; j++) {
        const size_t length = group ? group : K, first = j / length * length;
        float amax = 0;
        bool is_kept = false;
        for (size_t c = first; c < first + length && c < K; c++) {
            unsigned larger = 0;
            for (size_t d = c - c % 4; d < c - c % 4 + 4; d++)
                larger += fabsf(w[d]) > fabsf(w[c]) || (fabsf(w[d]) == fabsf(w[c]) && d > c);
            amax = larger < 2 || !group ? fmaxf(amax, fabsf(w[c])) : amax;
            is_kept = c == j ? larger < 2 : is_kept;
        }
        const float q = rintf(w[j] / (amax / most));
        values[j] = !is_kept     ? 0
                    : bits == 16 ? sq_half_round(w[j])
                                 : fminf(most, fmaxf(-most, q)) * (amax / most);
    }
}

SQ_TEST(loop_is_e7)
{
    struct layer l = layer_new(N, K, T, fixture_seed());
    struct sq_sp24 m = sp24_new(N, K);
    int8_t *codes = fixture_exact(N * K);
    float want[K];
    for (unsigned v = 0; v < 2 * SQ_PRUNE_NONE; v++) {
        struct sq_prune24 o = {.criterion = (enum sq_prune)(v / 2), .is_joint = v % 2};
        if (!sq_prune24_needs_factor(&o))
            continue; // no compensation
        for (o.block = 4; o.block <= 256; o.block *= 4) {
            assert_ok(sq_prune24_encode(&m, l.w, &o, l.norm, &l.factor, codes, NULL, NULL));
            assert_ok(validate(&m, NULL));
            for (size_t n = 0; n < N; n++) {
                slow_row(&l, l.w + n * K, &o, 8, 0, want);
                for (size_t j = 0; j < K; j++)
                    CHECK_EQ((float)codes[n * K + j] * m.scale[n] == want[j], true,
                             "variant %u block %u row %zu column %zu\n", v, o.block, n, j);
            }
        }
    }
    layer_free(&l);
}

// Every width and group: the values are those of E.7 written down once more, or without a loop those of rounding what
// the criterion keeps; and both products are plain loops over them.
SQ_TEST(widths_and_groups)
{
    enum { TOKENS = 33 };
    static const unsigned widths[] = {4, 5, 6, 7, 8, 16};
    static const size_t groups[] = {0, 16, 32, 64, 128};
    struct layer l = layer_new(N, K, T, fixture_seed() + 3);
    struct sq_rng r = {fixture_seed()};
    int8_t *codes = fixture_exact(N * K), *act = fixture_exact(TOKENS * 256);
    float *x = fixture_exact(TOKENS * 256 * sizeof *x), s_a[TOKENS], y[TOKENS * N], want[K], row[K];
    for (size_t i = 0; i < TOKENS * 256; i++) {
        act[i] = (int8_t)((int)sq_rng_below(&r, 256) - 128);
        x[i] = sq_half_round((float)fixture_gauss(&r));
    }
    for (size_t t = 0; t < TOKENS; t++)
        s_a[t] = (float)(0.001 + sq_rng_unit(&r));
    for (size_t v = 0; v < LEN(widths) * LEN(groups) * 4; v++) {
        const unsigned bits = widths[v % LEN(widths)];
        const size_t group = groups[v / LEN(widths) % LEN(groups)];
        const bool is_joint = v / LEN(widths) / LEN(groups) % 2;
        struct sq_prune24 o = {SQ_PRUNE_SPARSEGPT, is_joint, 128};
        if (v / LEN(widths) / LEN(groups) / 2)
            o.criterion = is_joint ? SQ_PRUNE_WANDA : SQ_PRUNE_MAGNITUDE;
        if (bits == 16 && group > 0)
            continue;
        struct sq_sp24 m = {
            .n = N, .k = sq_sp24_padded(K, group), .k_orig = K, .bits = bits, .group = group};
        const size_t scales = sq_sp24_groups(&m), per = scales ? m.k / scales : m.k;
        m.value = bits < 16 ? fixture_exact(N * m.k / 2) : NULL;
        m.half = bits == 16 ? fixture_exact(N * m.k) : NULL;
        m.meta = fixture_exact(N * m.k / 8);
        m.scale = fixture_exact(N * scales * sizeof(float));
        struct sq_error err = {0};
        CHECK_EQ(sq_prune24_encode(&m, l.w, &o, l.norm, &l.factor, codes, NULL, &err), SQ_OK,
                 "W%u G%zu criterion %u joint %d: %s\n", bits, group, o.criterion, is_joint,
                 err.text);
        assert_ok(sq_sp24_validate(&m, N * m.k / 2, N * m.k / 8, N * scales, NULL));
        for (size_t n = 0; n < N; n++) {
            sq_sp24_decode_row(&m, n, row);
            if (sq_prune24_needs_factor(&o))
                slow_row(&l, l.w + n * K, &o, bits, group, want);
            else
                slow_rtn(l.w + n * K, bits, group, want);
            for (size_t j = 0; j < K; j++)
                CHECK_EQ(sq_bits_of(row[j]), sq_bits_of(want[j] + 0.0f),
                         "W%u G%zu row %zu column %zu\n", bits, group, n, j);
        }
        for (unsigned is_half = bits == 16; is_half < 2; is_half++) {
            if (is_half)
                sq_gemm_sp24_f16(&m, x, TOKENS, y);
            else
                sq_gemm_sp24(&m, act, s_a, TOKENS, y, NULL);
            for (size_t i = 0; i < TOKENS * N; i++) {
                const size_t t = i / N, n = i % N;
                float sum = 0;
                sq_sp24_decode_row(&m, n, row);
                for (size_t j = 0; j < m.k; j += per) {
                    const float s = scales ? m.scale[n * scales + j / per] : 1;
                    double p = 0;
                    for (size_t c = j; c < j + per && c < K; c++) {
                        const double w = bits == 16 ? (double)row[c] : rint((double)(row[c] / s));
                        p += w * (is_half ? (double)x[t * m.k + c] : (double)act[t * m.k + c]);
                    }
                    sum = sum + (float)p * s;
                }
                CHECK_EQ(sq_bits_of(y[i]), sq_bits_of((is_half ? sum : sum * s_a[t]) + 0.0f),
                         "W%u G%zu token %zu row %zu\n", bits, group, t, n);
            }
        }
        if (bits < 16) {
            const struct sq_codes w = sq_sp24_codes(&m);
            sq_gemm_sp24(&m, act, s_a, TOKENS, y, NULL);
            every_kernel_gives(&w, sq_sp24_row, &m, act, s_a, TOKENS, y, NULL);
        }
    }
    layer_free(&l);
}

// J.3 with D = W - W^, pruned weights included.
SQ_TEST(identity_of_errors)
{
    struct layer l = layer_new(N, K, T, fixture_seed() + 7);
    struct sq_sp24 m = sp24_new(N, K);
    int8_t *codes = fixture_exact(N * K);
    float *d = fixture_exact(N * K * sizeof *d);
    for (unsigned c = 0; c < SQ_PRUNE_NONE; c++) {
        const struct sq_prune24 o = {.criterion = (enum sq_prune)c, .is_joint = true};
        double sum_e2, energy, square = 0;
        assert_ok(sq_prune24_encode(&m, l.w, &o, l.norm, &l.factor, codes, &sum_e2, NULL));
        for (size_t i = 0; i < N * K; i++) {
            d[i] = l.w[i] - (float)codes[i] * m.scale[i / K];
            square += (double)d[i] * (double)d[i];
        }
        assert_ok(sq_output_energy(&l.calibration, d, N, &energy, NULL));
        const double want = 2.0 / T * energy + l.factor.lambda * square;
        if (!(fabs(sum_e2 - want) < 1e-5 * want))
            fail_msg("criterion %u: sum e^2 = %.9g, tr(D H D^T) = %.9g", c, sum_e2, want);
    }
    layer_free(&l);
}

static double relative_error(const struct layer *l, enum sq_prune criterion, bool is_joint)
{
    struct sq_sp24 m = sp24_new(l->n, l->k);
    int8_t *codes = fixture_exact(l->n * l->k);
    float *d = fixture_exact(l->n * l->k * sizeof *d);
    const struct sq_prune24 o = {.criterion = criterion, .is_joint = is_joint};
    double noise, signal;
    assert_ok(sq_prune24_encode(&m, l->w, &o, l->norm, &l->factor, codes, NULL, NULL));
    for (size_t i = 0; i < l->n * l->k; i++)
        d[i] = l->w[i] - (float)codes[i] * m.scale[i / l->k];
    assert_ok(sq_output_energy(&l->calibration, d, l->n, &noise, NULL));
    assert_ok(sq_output_energy(&l->calibration, l->w, l->n, &signal, NULL));
    return sqrt(noise / signal);
}

// The order of E.7's reference check: magnitude > Wanda > SparseGPT, joint as good as SparseGPT.
SQ_TEST(order_of_the_criteria)
{
    for (uint64_t s = 0; s < 3; s++) {
        struct layer l = layer_new(96, 256, 1024, fixture_seed() + s);
        const double magnitude = relative_error(&l, SQ_PRUNE_MAGNITUDE, false);
        const double wanda = relative_error(&l, SQ_PRUNE_WANDA, false);
        const double sparsegpt = relative_error(&l, SQ_PRUNE_SPARSEGPT, false);
        const double joint = relative_error(&l, SQ_PRUNE_SPARSEGPT, true);
        print_message(
            "# relative output error: magnitude %.4f, Wanda then INT8 %.4f, SparseGPT then "
            "INT8 %.4f, joint %.4f\n",
            magnitude, wanda, sparsegpt, joint);
        assert_true(magnitude > wanda);
        assert_true(wanda > 1.03 * sparsegpt);
        assert_true(wanda > 1.03 * joint);
        assert_true(fabs(joint - sparsegpt) < 0.02 * sparsegpt);
        layer_free(&l);
    }
}

// ---- refusals of the encoder, dense rows, sensitivity -----------------------------------------

SQ_TEST(encoder_refusals)
{
    struct layer l = layer_new(N, K, T, 3);
    struct sq_sp24 m = sp24_new(N, K);
    int8_t *codes = fixture_exact(N * K);
    struct sq_error err;
    struct sq_prune24 o = {.criterion = SQ_PRUNE_WANDA};
    assert_int_equal(sq_prune24_encode(&m, l.w, &o, NULL, NULL, codes, NULL, &err), SQ_ERR_ARG);
    o = (struct sq_prune24){.criterion = SQ_PRUNE_SPARSEGPT};
    assert_int_equal(sq_prune24_encode(&m, l.w, &o, NULL, NULL, codes, NULL, &err), SQ_ERR_ARG);
    o.block = 6;
    assert_int_equal(sq_prune24_encode(&m, l.w, &o, NULL, &l.factor, codes, NULL, &err),
                     SQ_ERR_ARG);
    for (unsigned is_joint = 0; is_joint < 2; is_joint++) {
        o = (struct sq_prune24){.is_joint = is_joint};
        l.w[K + 7] = NAN;
        assert_int_equal(sq_prune24_encode(&m, l.w, &o, NULL, &l.factor, codes, NULL, &err),
                         SQ_ERR_NON_FINITE);
        assert_string_equal(err.text, "w[1][7] = nan, need a finite number");
        l.w[K + 7] = 0;
    }
    m.k_orig = 138;
    assert_int_equal(sq_prune24_encode(&m, l.w, &o, NULL, &l.factor, codes, NULL, &err),
                     SQ_ERR_SHAPE);
    m.k_orig = K;
    o = (struct sq_prune24){.criterion = SQ_PRUNE_NONE, .is_joint = true};
    assert_int_equal(sq_prune24_encode(&m, l.w, &o, NULL, &l.factor, codes, NULL, &err),
                     SQ_ERR_ARG);
    o.is_joint = false;
    assert_int_equal(sq_prune24_encode(&m, l.w, &o, NULL, NULL, codes, NULL, &err),
                     SQ_ERR_MASK_COUNT);
    for (size_t i = 0; i < N * K; i++)
        l.w[i] *= i % 4 == 1 || i % 4 == 2;
    assert_ok(sq_prune24_encode(&m, l.w, &o, NULL, NULL, codes, NULL, &err));
    assert_int_equal(m.meta[0], 0x99);
    const float w[4] = {-2, 1, 0.5f, 0};
    assert_true(sq_dense8_encode_row(w, 4, codes) == 2.0f / 127);
    assert_memory_equal(codes, ((int8_t[]){-127, 64, 32, 0}), 4);
    layer_free(&l);
}

SQ_TEST(sensitive_layers)
{
    struct layer l = layer_new(N, K, T, 5);
    double energy, want = 0;
    assert_ok(sq_output_energy(&l.calibration, l.w, N, &energy, NULL));
    for (size_t t = 0; t < T; t++)
        for (size_t n = 0; n < N; n++) {
            double y = 0;
            for (size_t i = 0; i < K; i++)
                y += (double)l.x[t * K + i] * (double)l.w[n * K + i];
            want += y * y;
        }
    assert_true(fabs(energy - want) < 1e-9 * want);
    layer_free(&l);
    const double error[6] = {.1, .4, .4, .2, .9, 0};
    uint8_t is_dense[6];
    struct sq_error err;
    assert_ok(sq_sensitive_layers(error, 6, 1.0 / 3, is_dense, NULL));
    assert_memory_equal(is_dense, ((uint8_t[]){0, 1, 0, 0, 1, 0}), 6); // ties: the lower index
    for (unsigned i = 0; i <= 20; i++) {
        static const unsigned order[6] = {4, 1, 2, 3, 0, 5};
        assert_ok(sq_sensitive_layers(error, 6, i / 20., is_dense, NULL));
        for (unsigned r = 0; r < 6; r++)
            assert_int_equal(is_dense[order[r]], r < rint(6 * (i / 20.)));
    }
    assert_int_equal(sq_sensitive_layers(error, 6, 1.5, is_dense, &err), SQ_ERR_RANGE);
    assert_int_equal(sq_sensitive_layers((double[]){1, NAN}, 2, .5, is_dense, &err),
                     SQ_ERR_NON_FINITE);
    struct sq_calibration plain;
    assert_ok(sq_calibration_init(&plain, 4, false, NULL));
    assert_int_equal(sq_channel_norms(&plain, (double[4]){0}, &err), SQ_ERR_ARG);
    assert_int_equal(sq_output_energy(&plain, (float[4]){0}, 1, &energy, &err), SQ_ERR_ARG);
    sq_calibration_free(&plain);
}
