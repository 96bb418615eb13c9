// SPDX-License-Identifier: Apache-2.0
// The loops of block-scaled products (sq_bs_gemm, sq_bs_dot, sq_bs_panel), held bit by bit to the
// plain ones (sq_bs_plain), which test_bs.c holds to sums of 128 bits.
//
// Parameter space: every format of bs_fixture.h and pairs that are not of one format, every inner
// loop that this processor has, panels given and not. Sampled: shapes with ragged edges in
// channels, tokens and K, one beyond a piece of tokens and a run of blocks; operands that were
// encoded, and any legal codes with extremes, blocks of zeros and scales across their range.
#include <float.h>
#include <math.h>

#include "models/number/sq_gemm_kernels.h"
#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_plain.h"
#include "sim/format/sq_format_ops.h"
#include "tests/unit/scaled/bs_fixture.h"

struct shape {
    size_t n, m, k;
};

// Beside those of bs_fixture.h: the ways to multiply two integer parts.
static struct sq_bs_format integer_parts(unsigned i)
{
    return (struct sq_bs_format){.kind = SQ_BS_SQ,
                                 .element = SQ_ELEMENT_INT4,
                                 .block = i & 1 ? 16 : 32,
                                 .high_per_block = (const unsigned[]){1, 2, 3, 4, 7, 8}[i / 4],
                                 .is_high_block = i & 2};
}
enum { INTEGER_PARTS = 24, FORMATS = LEN(bs_formats) + INTEGER_PARTS };

static struct sq_bs_format format(size_t i)
{
    return i < LEN(bs_formats) ? bs_formats[i] : integer_parts((unsigned)(i - LEN(bs_formats)));
}

// ---- operands -------------------------------------------------------------------------------

static uint8_t legal(struct sq_rng *r, enum sq_element e)
{
    uint8_t code;
    do
        code = (uint8_t)sq_rng_below(r, 256);
    while (!sq_element_is_number(e, code));
    return code;
}

static uint8_t extreme(struct sq_rng *r, enum sq_element e)
{
    const float most = sq_element_max(e);
    return sq_element_encode(e, sq_rng_below(r, 2) ? most : -most);
}

static uint8_t any(struct sq_rng *r, enum sq_element e, unsigned how)
{
    return how == 0 ? 0 : how == 1 ? extreme(r, e) : legal(r, e);
}

static void draw_marks(struct sq_rng *r, struct sq_bs *c, size_t first)
{
    const unsigned n = c->f.kind == SQ_BS_PLUS ? 1 : c->f.high_per_block;
    for (unsigned i = 0; c->is_high && i < n;) {
        uint8_t *at = &c->is_high[first + sq_rng_below(r, c->f.block)];
        i += !*at;
        *at = 1;
    }
}

static void draw_scales(struct sq_rng *r, struct sq_bs *c, size_t at, bool is_wild)
{
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        if (c->scale[p] && sq_bs_is_e8m0(&c->f))
            c->scale[p][at] = (uint8_t)(is_wild ? sq_rng_below(r, 255) : 107 + sq_rng_below(r, 40));
        else if (c->scale[p])
            c->scale[p][at] = (uint8_t)sq_rng_below(r, 0x7f);
}

// Any legal codes, extremes or zeros by block.
static void draw(struct sq_rng *r, struct sq_bs *c, bool is_wild)
{
    const struct sq_bs_format *f = &c->f;
    const size_t b = f->block, blocks = c->k / b;
    const bool is_split = f->kind == SQ_BS_SPLIT;
    for (size_t at = 0; at < c->n * blocks; at++) {
        const unsigned how = sq_rng_below(r, 4);
        draw_marks(r, c, at * b);
        draw_scales(r, c, at, is_wild && sq_rng_below(r, 8) == 0);
        for (size_t i = at * b; i < (at + 1) * b; i++) {
            const bool is_high = c->is_high && c->is_high[i];
            if (!is_high || f->kind == SQ_BS_PLUS || is_split)
                c->code[i] = any(r, f->element, how);
            if (is_high && f->kind == SQ_BS_PLUS)
                c->code[i] = (uint8_t)sq_rng_below(r, 16);
            if (is_high && is_split) { // down to -136
                c->code[i] = how == 1 ? 8 : (uint8_t)sq_rng_below(r, 16);
                c->high[i] = how == 1 ? 8 : (uint8_t)sq_rng_below(r, 16);
            } else if (is_high && f->kind == SQ_BS_SQ) {
                c->high[i] = any(r, sq_bs_high_element(f), how);
            }
        }
    }
    for (unsigned p = 0; p < sq_bs_n_parts(f); p++)
        for (size_t i = 0; i < c->n; i++)
            c->global[p][i] = sq_bs_has_global(f, p) ? (float)sq_rng_unit(r) + 0.01f : 1;
}

// ---- against the plain loops ----------------------------------------------------------------

static void plain(const struct sq_bs *w, const struct sq_bs *x, float *y)
{
    void *scratch = fixture_alloc(sq_bs_plain_scratch(w));
    for (size_t c = 0; c < w->n; c += SQ_BS_PLAIN_CHANNELS) {
        const size_t n = w->n - c < SQ_BS_PLAIN_CHANNELS ? w->n - c : SQ_BS_PLAIN_CHANNELS;
        sq_bs_plain_load(w, c, scratch);
        for (size_t t = 0; t < x->n; t++) {
            float out[SQ_BS_PLAIN_CHANNELS];
            sq_bs_plain(w, c, x, t, scratch, out);
            memcpy(y + t * w->n + c, out, n * sizeof *out);
        }
    }
}

static void *panels_of(const struct sq_bs_product *g)
{
    void *panels = fixture_alloc(sq_bs_panels(g)), *own = fixture_alloc(sq_bs_load_scratch(g));
    for (size_t i = 0; i < (g->w->n + SQ_BS_PANEL - 1) / SQ_BS_PANEL; i++)
        sq_bs_load(g, i, panels, own);
    return panels;
}

static void check_kernel(const struct sq_bs *w, const struct sq_bs *x, const float *want,
                         unsigned kernel, bool has_panels, const char *what)
{
    float *y = fixture_alloc(x->n * w->n * sizeof *y);
    struct sq_bs_product g = {.w = w, .x = x, .y = y, .kernel = kernel};
    void *panels = has_panels ? panels_of(&g) : NULL;
    g.panels = panels;
    void *scratch = fixture_alloc(sq_bs_gemm_scratch(&g));
    for (size_t i = 0; i < x->n * w->n; i++)
        y[i] = NAN;
    sq_bs_gemm(&g, scratch);
    for (size_t i = 0; i < x->n * w->n; i++)
        if (sq_bits_of(y[i]) != sq_bits_of(want[i]) && !(isnan(y[i]) && isnan(want[i])))
            fail_msg("seed %llu, %s, %s, %zu x %zu x %zu: y[%zu][%zu] = %a, want %a",
                     (unsigned long long)fixture_seed(), what, sq_gemm_kernel_name(kernel), x->n,
                     w->n, w->k, i / w->n, i % w->n, (double)y[i], (double)want[i]);
}

static void check_pair(const struct sq_bs *w, const struct sq_bs *x, const char *what)
{
    float *want = fixture_alloc(x->n * w->n * sizeof *want);
    plain(w, x, want);
    for (unsigned kernel = 0; kernel < SQ_GEMM_N_KERNELS; kernel++)
        if (sq_gemm_kernel_is_supported(kernel))
            for (unsigned has_panels = 0; has_panels < 2; has_panels++)
                check_kernel(w, x, want, kernel, has_panels, what);
}

static void encode_some(struct sq_rng *r, struct sq_bs *c, bool is_tensor)
{
    float *x = fixture_alloc(c->n * c->k_orig * sizeof *x);
    for (size_t i = 0; i < c->n * c->k_orig; i++)
        x[i] = (float)fixture_gauss(r) * (sq_rng_below(r, 40) ? 1 : 30);
    bs_encode(c, x, is_tensor);
}

static void check_shape(struct sq_rng *r, const struct sq_bs_format *f_w,
                        const struct sq_bs_format *f_x, struct shape s, unsigned how)
{
    struct sq_bs w = bs_alloc(f_w, s.n, s.k), x = bs_alloc(f_x, s.m, s.k);
    char what[96];
    if (how == 0) {
        encode_some(r, &w, true);
        encode_some(r, &x, false);
    } else {
        draw(r, &w, how == 2);
        draw(r, &x, how == 2);
    }
    (void)snprintf(what, sizeof what, "kind %s %s block %u high %u, operands %u", f_w->kind->name,
                   sq_element_name(f_w->element), f_w->block, f_w->high_per_block, how);
    check_pair(&w, &x, what);
}

SQ_TEST(formats)
{
    struct sq_rng r = {fixture_seed()};
    static const struct shape edge[] = {{1, 1, 1}, {32, 6, 64}, {33, 7, 70}, {31, 5, 97}};
    for (size_t i = 0; i < FORMATS; i++)
        for (unsigned how = 0; how < 3; how++) {
            const struct sq_bs_format f = format(i);
            const struct shape any_shape = {1 + sq_rng_below(&r, 70), 1 + sq_rng_below(&r, 16),
                                            1 + sq_rng_below(&r, 300)};
            for (size_t e = 0; e < LEN(edge); e++)
                check_shape(&r, &f, &f, edge[e], how);
            check_shape(&r, &f, &f, any_shape, how);
        }
}

// More tokens than a piece has, more blocks than a run.
SQ_TEST(long_ones)
{
    struct sq_rng r = {fixture_seed() + 1};
    for (size_t i = 0; i < FORMATS; i++) {
        const struct sq_bs_format f = format(i);
        check_shape(&r, &f, &f, (struct shape){5, 139, 40}, 1);
        check_shape(&r, &f, &f, (struct shape){9, 4, 1300}, 1);
    }
}

// High by high elements that leave 24 bits when all blocks are added.
SQ_TEST(beyond_integers)
{
    struct sq_rng r = {fixture_seed() + 2};
    const struct sq_bs_format f = {
        .kind = SQ_BS_SQ, .element = SQ_ELEMENT_INT4, .block = 32, .high_per_block = 4};
    check_shape(&r, &f, &f, (struct shape){3, 2, 8100}, 0);
    check_shape(&r, &f, &f, (struct shape){3, 2, 9000}, 1);
}

// What sq_array_scaled multiplies: a side may be split or at another kind of scale.
SQ_TEST(pairs)
{
    struct sq_rng r = {fixture_seed() + 3};
    const struct sq_bs_format nv = {.kind = SQ_BS_NV, .element = SQ_ELEMENT_INT4, .block = 16},
                              fp = {.kind = SQ_BS_NV, .element = SQ_ELEMENT_E2M1, .block = 16},
                              mx = {.kind = SQ_BS_MX, .element = SQ_ELEMENT_INT4, .block = 16},
                              split = {.kind = SQ_BS_SPLIT,
                                       .element = SQ_ELEMENT_INT4,
                                       .block = 16,
                                       .high_per_block = 2},
                              pow2 = {.kind = SQ_BS_SPLIT,
                                      .element = SQ_ELEMENT_INT4,
                                      .block = 16,
                                      .high_per_block = 4,
                                      .is_power_of_two = true};
    const struct sq_bs_format *const pair[][2] = {{&nv, &split}, {&split, &nv},   {&fp, &nv},
                                                  {&nv, &pow2},  {&pow2, &split}, {&mx, &fp}};
    for (size_t i = 0; i < LEN(pair); i++)
        for (unsigned how = 1; how < 3; how++)
            check_shape(&r, pair[i][0], pair[i][1], (struct shape){37, 8, 90}, how);
}

// No encoder writes them, and no loop may read beyond its places.
SQ_TEST(more_marks_than_stated)
{
    struct sq_rng r = {fixture_seed() + 4};
    const struct sq_bs_format f = {
        .kind = SQ_BS_SQ, .element = SQ_ELEMENT_INT4, .block = 32, .high_per_block = 2};
    struct sq_bs w = bs_alloc(&f, 40, 96), x = bs_alloc(&f, 8, 96);
    draw(&r, &w, false);
    draw(&r, &x, false);
    memset(x.is_high + 3 * 96, 1, 32);
    memset(w.is_high + 33 * 96 + 32, 1, 20);
    memset(w.is_high + 5 * 96, 0, 32);
    check_pair(&w, &x, "other marks");
}

// ---- scales beyond binary32 -----------------------------------------------------------------

// Products of scales above the blocks that binary32 does not hold, while A brings the output back,
// or is 0: fl(g_w * g_x) was infinite or 0, and 0 times infinity no number.
SQ_TEST(scales_far_apart)
{
    static const struct {
        float w, x, y; // one element; the largest of the row beside it; w * x
    } cases[] = {
        {0x1p100f, 0x1p100f, INFINITY},
        {0x1p-100f, 0x1p-100f, 0},
        {0x1p120f, 0x1p-120f, 1},
        {0x1p120f, 0, 0},
        {0, 0x1p127f, 0},
    };
    for (size_t i = 0; i < LEN(bs_formats); i++) {
        const struct sq_bs_format *f = &bs_formats[i];
        for (size_t j = 0; j < LEN(cases); j++) {
            float xw[64] = {0}, xa[64] = {0}, y;
            struct sq_bs w = bs_alloc(f, 1, 64), x = bs_alloc(f, 1, 64);
            xw[0] = cases[j].w, xa[0] = cases[j].x;
            xw[40] = 0x1p126f; // beside a zero of x: the scale above the blocks is large
            xa[20] = 0x1p126f;
            bs_encode(&w, xw, true);
            bs_encode(&x, xa, false);
            const struct sq_bs_product g = {.w = &w, .x = &x, .y = &y};
            void *scratch = fixture_alloc(sq_bs_gemm_scratch(&g));
            sq_bs_gemm(&g, scratch);
            if (isnan(y))
                fail_msg("format %zu, case %zu: no number", i, j);
        }
    }
}

// fl(g_w * g_x) as a number of 24 bits with any exponent: 2^-80 * 2^-80 * 2^20 * .. stays exact.
SQ_TEST(compensated)
{
    const struct sq_bs_format f = {.kind = SQ_BS_NV, .element = SQ_ELEMENT_INT4, .block = 16};
    struct sq_bs w = bs_alloc(&f, 1, 16), x = bs_alloc(&f, 1, 16);
    float y;
    const struct sq_bs_product g = {.w = &w, .x = &x, .y = &y};
    void *scratch = fixture_alloc(sq_bs_gemm_scratch(&g));
    for (unsigned i = 0; i < 16; i++)
        w.code[i] = x.code[i] = 4;                            // 16 * 16 = 2^8
    w.scale[0][0] = x.scale[0][0] = 0x78;                     // 2^8 each
    w.global[0][0] = 0x1.8p-75f, x.global[0][0] = 0x1.8p-75f; // together below 2^-149
    sq_bs_gemm(&g, scratch);
    assert_true(y == 0x1.2p-125f);
    w.scale[0][0] = x.scale[0][0] = 1; // 2^-9
    w.global[0][0] = x.global[0][0] = 0x1p64f;
    sq_bs_gemm(&g, scratch);
    assert_true(y == 0x1p118f);
}

// ---- layers ---------------------------------------------------------------------------------

// Any finite number, most of them near the ends of binary32.
static void fill_far(struct sq_rng *r, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const int e = sq_rng_below(r, 2) ? 128 : sq_rng_below(r, 3) ? 100 : -120;
        const float significand = (float)(0.5 + 0.49 * sq_rng_unit(r));
        x[i] = ldexpf(sq_rng_below(r, 2) ? significand : -significand, e);
        if (sq_rng_below(r, 4) == 0)
            x[i] = 0;
        else if (sq_rng_below(r, 8) == 0)
            x[i] = sq_rng_below(r, 2) ? FLT_MAX : -FLT_MAX;
    }
}

// SQ_OK with numbers, infinite ones at most, or a refusal that names the output.
static bool is_refused(struct sq_rng *r, const struct sq_recipe *recipe)
{
    enum { N = 3, M = 2, K = 96 };
    float w[N * K], x[M * K], y[M * N];
    const struct sq_quant_input none = {0};
    struct sq_quant_layer layer;
    struct sq_error err = {0};
    fill_far(r, w, N * K);
    fill_far(r, x, M * K);
    assert_ok(sq_quant_layer_init(&layer, recipe, w, N, K, &none, &err));
    const enum sq_status status = sq_quant_layer_apply(&layer, recipe, x, M, y, &err);
    for (size_t i = 0; status == SQ_OK && i < M * N; i++)
        if (isnan(y[i]))
            fail_msg("seed %llu, %s, operand %u: y[%zu] is no number, status OK",
                     (unsigned long long)fixture_seed(), recipe->format->name, recipe->operand, i);
    if (status != SQ_OK) {
        assert_int_equal(status, SQ_ERR_NON_FINITE);
        assert_non_null(strstr(err.text, "is no number"));
    }
    sq_quant_layer_free(&layer);
    return status != SQ_OK;
}

SQ_TEST(finite_operands_give_numbers)
{
    static const char *const name[] = {"mxfp4",    "mxfp6",  "mxfp8",  "mxint8", "mxplus", "nvfp4",
                                       "nvfp4_46", "nvint4", "nvint5", "if4",    "razer",  "sq_b"};
    struct sq_rng r = {fixture_seed() + 5};
    unsigned n_refused = 0;
    for (size_t i = 0; i < LEN(name); i++)
        for (unsigned operand = 0; operand < 3; operand++) {
            struct sq_recipe recipe;
            struct sq_error err;
            assert_ok(sq_format_recipe(sq_format_find(name[i]), SQ_IN_EVAL, NULL, &recipe, &err));
            recipe.algorithm = SQ_ALGORITHM_RTN;
            recipe.operand = operand;
            for (unsigned round = 0; round < 40; round++)
                n_refused += is_refused(&r, &recipe);
        }
    assert_true(n_refused > 20 && n_refused < 1000);
}
