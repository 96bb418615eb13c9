// SPDX-License-Identifier: Apache-2.0
// A kind of block-scaled format that models/ does not know, written as one table of functions
// (models/scaled/sq_bs_kind.h): RaZeR, which is NVFP4 whose code of -0 stands for a fifth value, +5 or -5,
// whichever serves the block better. The unused sign of the block's E4M3 scale says which. So an
// element's value depends on its block, and nothing but this file says so.
//
// Encoded rows, their stored form and products on every kernel are held to values that the test
// computes from the codes by itself.
#include <math.h>

#include "models/number/sq_gemm_kernels.h"
#include "models/scaled/sq_bs_kind.h"
#include "tests/unit/scaled/bs_fixture.h"

// ---- the kind -------------------------------------------------------------------------------

enum { FIFTH = 8, SIGN = 0x80 };

static float fifth(uint32_t scale)
{
    return scale & SIGN ? -5 : 5;
}

static float scale(const struct sq_bs_format *f, unsigned part, uint32_t code)
{
    (void)f, (void)part;
    return sq_e4m3_decode(code & 0x7f);
}

static bool is_scale(const struct sq_bs_format *f, unsigned part, uint32_t code)
{
    (void)f, (void)part;
    return (code & 0x7f) != 0x7f;
}

static void choose(const struct sq_bs_format *f, const float *x, size_t n,
                   const float amax[SQ_BS_PARTS], const float global[SQ_BS_PARTS],
                   struct sq_bs_block *b)
{
    const uint8_t code = sq_e4m3_encode(amax[0] / 6 / global[0]);
    sq_bs_least_error(f, x, n, global, (const uint8_t[]){code, code | SIGN}, 2, b);
}

static struct sq_bs_code encode(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                                float x, float q)
{
    const uint8_t code = sq_e2m1_encode(q); // without -0
    (void)f, (void)i, (void)x;
    const bool is_fifth = fabsf(q - fifth(b->scale[0])) < fabsf(q - sq_e2m1_decode(code));
    return (struct sq_bs_code){is_fifth ? FIFTH : code, 0};
}

static float element(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                     struct sq_bs_code c)
{
    (void)f, (void)i;
    return c.code == FIFTH ? fifth(b->scale[0]) : sq_e2m1_decode(c.code);
}

static const struct sq_bs_kind razer_kind = {.name = "razer",
                                             .choose = choose,
                                             .encode = encode,
                                             .element = element,
                                             .scale = scale,
                                             .is_scale = is_scale};
static const struct sq_bs_format razer = {
    .kind = &razer_kind, .element = SQ_ELEMENT_E2M1, .block = 16};

// ---- by hand --------------------------------------------------------------------------------

// What a code is worth, from the paper's table.
static double value_of(uint8_t code, uint8_t scale_code, float global)
{
    static const double magnitude[8] = {0, .5, 1, 1.5, 2, 3, 4, 6};
    const int exponent = scale_code >> 3 & 15, fraction = scale_code & 7;
    const double s = exponent ? ldexp(8 + fraction, exponent - 10) : ldexp(fraction, -9);
    const double v = code == FIFTH ? (scale_code & SIGN ? -5 : 5)
                     : code & 8    ? -magnitude[code & 7]
                                   : magnitude[code];
    return v * s * (double)global;
}

// A tensor with 6 * 448 in it has the global scale 1.
SQ_TEST(a_block_chooses_its_fifth_value)
{
    static const float x[32] = {2688, 2240, -1344, 2200, [16] = 6, -5, 4.9f, -5.1f};
    static const uint8_t code[32] = {7, 8, 13, 8, [16] = 7, 8, 6, 8};
    struct sq_bs c = bs_alloc(&razer, 1, 32);
    float v[32];
    bs_encode(&c, x, true);
    assert_true(c.global[0][0] == 1);
    assert_int_equal(c.scale[0][0], 0x7e); // 448, +5
    assert_int_equal(c.scale[0][1], 0xb8); // 1, -5
    for (size_t i = 0; i < 32; i++)
        CHECK_EQ(c.code[i], code[i], "element %zu\n", i);
    sq_bs_decode_row(&c, 0, v);
    assert_true(v[0] == 2688 && v[1] == 2240 && v[2] == -1344 && v[3] == 2240);
    assert_true(v[16] == 6 && v[17] == -5 && v[18] == 4 && v[19] == -5);
}

static void draw(struct sq_rng *r, struct sq_bs *c, bool is_tensor)
{
    float *x = fixture_alloc(c->n * c->k_orig * sizeof *x);
    for (size_t i = 0; i < c->n * c->k_orig; i++)
        x[i] = (float)fixture_gauss(r);
    bs_encode(c, x, is_tensor);
}

// The table of models/ (sq_bs_table_kind.c), whose rows go through loops over vectors: the same codes.
SQ_TEST(equals_the_kind_of_models)
{
    enum { N = 5, K = 1000 };
    const struct sq_bs_format own = {.kind = SQ_BS_RAZER, .element = SQ_ELEMENT_E2M1, .block = 16};
    struct sq_rng r = {fixture_seed()};
    struct sq_bs a = bs_alloc(&razer, N, K), b = bs_alloc(&own, N, K);
    float *x = fixture_alloc(N * K * sizeof *x);
    for (unsigned round = 0; round < 4; round++) {
        for (size_t i = 0; i < N * K; i++)
            x[i] = (float)fixture_gauss(&r) * (sq_rng_below(&r, 30) ? 1.0f : 0.0f);
        bs_encode(&a, x, round % 2);
        bs_encode(&b, x, round % 2);
        assert_memory_equal(a.code, b.code, N * a.k);
        assert_memory_equal(a.scale[0], b.scale[0], N * a.k / 16);
        for (size_t row = 0; row < N; row++) {
            float v[1008], w[1008];
            sq_bs_decode_row(&a, row, v);
            sq_bs_decode_row(&b, row, w);
            assert_memory_equal(v, w, sizeof v);
        }
    }
}

SQ_TEST(is_stored_and_read_back)
{
    struct sq_rng r = {fixture_seed()};
    struct sq_bs c = bs_alloc(&razer, 3, 40), back = bs_alloc(&razer, 3, 40);
    uint8_t bytes[24];
    unsigned n_fifth = 0;
    draw(&r, &c, true);
    assert_true(sq_bs_bits(&razer) == 4.5);
    assert_ok(sq_bs_check_scales(&c, NULL));
    for (size_t row = 0; row < c.n; row++) {
        for (size_t j = 0; j < 3; j++)
            back.scale[0][row * 3 + j] = c.scale[0][row * 3 + j];
        assert_int_equal(sq_bs_row_nbytes(&razer, c.k, SQ_BS_CODES), sizeof bytes);
        sq_bs_pack_row(&c, row, SQ_BS_CODES, bytes);
        assert_ok(sq_bs_unpack_row(&back, row, (const uint8_t *[SQ_BS_STREAMS]){bytes}, NULL));
    }
    for (size_t i = 0; i < c.n * c.k; i++) {
        assert_int_equal(back.code[i], c.code[i]);
        n_fifth += c.code[i] == FIFTH;
    }
    assert_true(n_fifth > 0);
    c.scale[0][4] = 0xff;
    assert_int_equal(sq_bs_check_scales(&c, NULL), SQ_ERR_SCALE);
}

// Never worse than NVFP4 by squared error: every code of that is one of this.
SQ_TEST(errs_less_than_nvfp4)
{
    const struct sq_bs_format nv = {.kind = SQ_BS_NV, .element = SQ_ELEMENT_E2M1, .block = 16};
    const struct sq_bs_format *const of[2] = {&razer, &nv};
    double error[2] = {0};
    for (unsigned i = 0; i < 2; i++) {
        struct sq_rng r = {fixture_seed()};
        struct sq_bs c = bs_alloc(of[i], 1, 4096);
        float *x = fixture_alloc(4096 * sizeof *x), *v = fixture_alloc(4096 * sizeof *v);
        for (size_t k = 0; k < 4096; k++)
            x[k] = (float)fixture_gauss(&r);
        bs_encode(&c, x, true);
        sq_bs_decode_row(&c, 0, v);
        for (size_t k = 0; k < 4096; k++)
            error[i] += ((double)x[k] - (double)v[k]) * ((double)x[k] - (double)v[k]);
    }
    assert_true(error[0] < 0.95 * error[1]);
}

// ---- products -------------------------------------------------------------------------------

// SPEC Q.7 of one pair of rows, from codes.
static float product(const struct sq_bs *w, size_t c, const struct sq_bs *x, size_t t)
{
    float a = 0;
    for (size_t j = 0; j < w->k / 16; j++) {
        const uint8_t s_w = w->scale[0][c * w->k / 16 + j], s_x = x->scale[0][t * x->k / 16 + j];
        double sum = 0; // multiples of 1/4 below 2^10
        for (size_t i = 16 * j; i < 16 * j + 16; i++)
            sum += value_of(w->code[c * w->k + i], (s_w & SIGN) | 0x38, 1) *
                   value_of(x->code[t * x->k + i], (s_x & SIGN) | 0x38, 1);
        const float s = (float)(value_of(2, s_w, 1) * value_of(2, s_x, 1)); // exact
        a = a + (float)sum * s;
    }
    return 0 + a * (w->global[0][c] * x->global[0][t]);
}

SQ_TEST(products_on_every_kernel)
{
    enum { M = 9, N = 37, K = 72 };
    struct sq_rng r = {fixture_seed()};
    struct sq_bs w = bs_alloc(&razer, N, K), x = bs_alloc(&razer, M, K);
    float *y = fixture_alloc(M * N * sizeof *y);
    draw(&r, &w, true);
    draw(&r, &x, false);
    for (unsigned kernel = 0; kernel < SQ_GEMM_N_KERNELS; kernel++) {
        const struct sq_bs_product g = {.w = &w, .x = &x, .y = y, .kernel = kernel};
        if (!sq_gemm_kernel_is_supported(kernel))
            continue;
        void *scratch = fixture_alloc(sq_bs_gemm_scratch(&g));
        sq_bs_gemm(&g, scratch);
        for (size_t i = 0; i < M * N; i++)
            CHECK_EQ(sq_bits_of(y[i]), sq_bits_of(product(&w, i % N, &x, i / N)),
                     "%s, y[%zu][%zu]\n", sq_gemm_kernel_name(kernel), i / N, i % N);
    }
}
