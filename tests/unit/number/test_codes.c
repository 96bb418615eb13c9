// SPDX-License-Identifier: Apache-2.0
// Operands as codes and their products (sq_codes): SPEC A.6, A.7, A.9, B.5, C.5.
//
// Judges: the packed golden model (sq_encode_rtn, sq_gemm_sq_w) for grid `own`, which must agree
// bit for bit; vector V5 to the bit; and plain loops over single elements in 64 bits, written from
// the formulas, for every pair of grids. Sampled: shapes off every block size, groups, codes. Every
// kernel of the processor gives the same bits.
#include <math.h>

#include "models/core/sq_act_quant.h"
#include "models/core/sq_mac.h"
#include "models/number/sq_codes.h"
#include "models/number/sq_gemm_kernels.h"
#include "models/quant/sq_codes_alloc.h"
#include "tests/unit/fixture.h"

static struct sq_codes codes_new(struct sq_grid grid, size_t n, size_t k, size_t k_orig,
                                 size_t group, unsigned bank, unsigned high)
{
    struct sq_codes c = {.grid = grid,
                         .n = n,
                         .k = k,
                         .k_orig = k_orig,
                         .group = group,
                         .bank = bank,
                         .high_per_bank = high};
    struct sq_error err = {.text = ""};
    CHECK_EQ(sq_codes_alloc(&c, &err), SQ_OK, "%s\n", err.text);
    return c;
}

static float *random_x(struct sq_rng *r, size_t n)
{
    float *x = fixture_exact(n * sizeof *x);
    random_weights(r, x, n);
    return x;
}

static void encode_act(struct sq_codes *c, const float *x, enum sq_select select,
                       const uint8_t *mask)
{
    float *score = fixture_exact(2 * c->k * sizeof *score);
    assert_ok(sq_codes_encode_act(c, x, select, mask, score, NULL));
}

// ---- against the packed model ---------------------------------------------------------------

struct packed_case {
    struct sq_rng *r;
    unsigned count;
};

// What is packed decodes to the values of the codes; unit/core/test_encode.c judges the codes.
static void packed_values_agree(struct sq_format f, void *context)
{
    struct packed_case *p = context;
    const size_t n = 3, k_orig = sq_k_padded(&f, 1) + 5;
    struct sq_matrix m = matrix_new(f, n, k_orig);
    float *w = random_x(p->r, n * k_orig), *want = fixture_exact(k_orig * sizeof *want),
          *got = fixture_exact(k_orig * sizeof *got);
    struct sq_codes c = codes_new((struct sq_grid){SQ_GRID_OWN, f.high_bits, f.low_bits}, n, m.k,
                                  k_orig, sq_group_len(&f, m.k), f.bank, f.high_per_bank);
    assert_ok(sq_codes_encode_rtn(&c, w, NULL));
    assert_ok(sq_codes_pack(&c, &m, NULL));
    for (size_t row = 0; row < n; row++) {
        sq_decode_row(&m, row, got);
        sq_codes_decode_row(&c, row, want);
        for (size_t i = 0; i < k_orig; i++) // 0 * scale: sign of zero is not kept by either
            assert_true(got[i] == want[i]);
    }
    sq_codes_free(&c);
    p->count++;
}

SQ_TEST(every_format_packs)
{
    struct sq_rng r = {fixture_seed()};
    struct packed_case p = {&r, 0};
    for_each_format(packed_values_agree, &p);
    assert_int_equal(p.count, N_FORMATS);
}

// The product of grid own with dense activations is SPEC A.7: equal to sq_gemm_sq_w in every bit.
SQ_TEST(products_agree_with_packed)
{
    struct sq_rng r = {fixture_seed()};
    static const struct sq_format formats[] = {
        {8, 4, 32, 8, 128}, {8, 3, 16, 2, 32}, {4, 2, 8, 4, 0}, {8, 4, 128, 8, 128}};
    for (size_t i = 0; i < LEN(formats); i++) {
        const struct sq_format f = formats[i];
        const size_t n = 37, m = 11, k_orig = 300;
        struct sq_matrix w = matrix_new(f, n, k_orig);
        float *wf = random_x(&r, n * k_orig), *x = random_x(&r, m * k_orig);
        assert_ok(sq_encode_rtn(wf, &w, NULL));
        const size_t ng = sq_n_groups(&f, w.k);
        int8_t *act = fixture_exact(m * w.k);
        float *s_a = fixture_exact(m * sizeof *s_a), *y = fixture_exact(2 * m * n * sizeof *y);
        int32_t *p = fixture_exact(4 * m * n * ng * sizeof *p), *p2 = p + 2 * m * n * ng;
        void *scratch = fixture_alloc(sq_gemm_scratch_nbytes(&w));
        const unsigned bits = i % 2 ? 4 : 8;
        assert_ok(sq_act_quantize(x, m, k_orig, w.k, bits, act, s_a, NULL));
        sq_gemm_sq_w(&w, act, s_a, m, 0, n, y, p, p + m * n * ng, scratch);
        struct sq_codes cw = codes_new((struct sq_grid){SQ_GRID_OWN, f.high_bits, f.low_bits}, n,
                                       w.k, k_orig, sq_group_len(&f, w.k), f.bank, f.high_per_bank);
        struct sq_codes cx =
            codes_new((struct sq_grid){SQ_GRID_DENSE, 0, bits}, m, w.k, k_orig, w.k, 0, 0);
        assert_ok(sq_codes_encode_rtn(&cw, wf, NULL));
        encode_act(&cx, x, SQ_SELECT_STATIC, NULL);
        const struct sq_gemm_codes g = {
            .x = &cx, .w = &cw, .y = y + m * n, .p_lo = p2, .p_hi = p2 + m * n * ng};
        assert_ok(sq_gemm_codes_check(&g, NULL));
        void *scratch2 = fixture_alloc(sq_gemm_codes_scratch(&g));
        sq_gemm_codes(&g, 0, 5, scratch2);
        sq_gemm_codes(&g, 5, m, scratch2);
        assert_memory_equal(y, y + m * n, m * n * sizeof *y);
        assert_memory_equal(p, p2, 2 * m * n * ng * sizeof *p);
        sq_codes_free(&cw), sq_codes_free(&cx);
    }
}

// ---- vector V5 ------------------------------------------------------------------------------

SQ_TEST(dynamic_vector_v5)
{
    const float x[8] = {.1f, -8, .4f, .7f, -.3f, 6, -.7f, .2f};
    const int16_t weight[8] = {1, 2, -3, 4, -5, 6, -7, 0};
    struct sq_codes cx = codes_new((struct sq_grid){SQ_GRID_OWN, 8, 4}, 1, 8, 8, 8, 8, 2);
    struct sq_codes cw = codes_new((struct sq_grid){SQ_GRID_DENSE, 0, 4}, 1, 8, 8, 8, 0, 0);
    encode_act(&cx, x, SQ_SELECT_DYNAMIC_FP, NULL);
    assert_memory_equal(cx.is_high, ((uint8_t[]){0, 1, 0, 0, 0, 1, 0, 0}), 8);
    assert_memory_equal(cx.code, ((int16_t[]){1, -127, 4, 7, -3, 95, -7, 2}), 16);
    CHECK_EQ(sq_bits_of(cx.s_lo[0]), 0x3DCCCCCD, "s_lo\n");
    CHECK_EQ(sq_bits_of(cx.s_hi[0]), 0x3D810204, "s_hi\n");
    memcpy(cw.code, weight, sizeof weight);
    cw.s_lo[0] = cw.s_hi[0] = 1;
    float y;
    int32_t lo, hi;
    const struct sq_gemm_codes g = {.x = &cx, .w = &cw, .y = &y, .p_lo = &lo, .p_hi = &hi};
    void *scratch = fixture_alloc(sq_gemm_codes_scratch(&g));
    sq_gemm_codes(&g, 0, 1, scratch);
    CHECK_EQ(lo, 81, "P_lo\n");
    CHECK_EQ(hi, 316, "P_hi\n");
    CHECK_EQ(sq_bits_of(y), 0x41E00B4A, "Y\n");
    sq_codes_free(&cx), sq_codes_free(&cw);
}

// ---- every pair of grids against plain loops ------------------------------------------------

static float slow_y(const struct sq_codes *x, const struct sq_codes *w, size_t t, size_t n)
{
    const size_t ng = w->k / w->group;
    float y = 0;
    for (size_t g = 0; g < ng; g++) {
        int64_t p[2] = {0, 0};
        for (size_t i = g * w->group; i < (g + 1) * w->group; i++) {
            const bool wh = w->is_high && w->is_high[n * w->k + i];
            const bool xh = x->is_high && x->is_high[t * x->k + i];
            int64_t a = w->code[n * w->k + i], b = x->code[t * x->k + i];
            if (w->grid.kind == SQ_GRID_TIED && !wh)
                a *= 1 << (w->grid.high_bits - w->grid.low_bits);
            if (x->grid.kind == SQ_GRID_TIED && !xh)
                b *= 1 << (x->grid.high_bits - x->grid.low_bits);
            if (w->grid.kind == SQ_GRID_SPLIT) // as the hardware adds it: nibble, then upper part
                a = sq_split_lower(&w->grid, (int16_t)a) +
                    (wh ? sq_split_upper(&w->grid, (int16_t)a) * (1 << w->grid.low_bits) : 0);
            if (x->grid.kind == SQ_GRID_SHIFT) // both scales in units of the smaller one
                b *= (int64_t)((xh ? x->s_hi[t] : x->s_lo[t]) / fminf(x->s_lo[t], x->s_hi[t]));
            p[w->grid.kind == SQ_GRID_OWN ? wh : x->grid.kind == SQ_GRID_OWN ? xh : 0] += a * b;
        }
        const size_t s = n * ng + g;
        const float lo = (float)p[0], hi = (float)p[1];
        if (w->grid.kind == SQ_GRID_OWN) {
            const float t1 = lo * w->s_lo[s], t2 = hi * w->s_hi[s], sum = t1 + t2;
            y = y + sum;
        } else {
            const float s_w = w->grid.kind == SQ_GRID_TIED ? w->s_hi[s] : w->s_lo[s];
            const float t1 = lo * x->s_lo[t], t2 = hi * x->s_hi[t], sum = t1 + t2;
            const float term = x->grid.kind == SQ_GRID_OWN ? sum * s_w : lo * s_w;
            y = y + term;
        }
    }
    if (x->grid.kind != SQ_GRID_OWN)
        y = y * (x->grid.kind == SQ_GRID_SHIFT  ? fminf(x->s_lo[t], x->s_hi[t])
                 : x->grid.kind == SQ_GRID_TIED ? x->s_hi[t]
                                                : x->s_lo[t]);
    return y + 0.0f;
}

static double fp_y(const struct sq_codes *x, const struct sq_codes *w, size_t t, size_t n)
{
    float *row = fixture_exact(2 * w->k * sizeof *row);
    double y = 0;
    sq_codes_decode_row(w, n, row);
    sq_codes_decode_row(x, t, row + w->k);
    for (size_t i = 0; i < w->k_orig; i++)
        y += (double)row[i] * (double)row[w->k + i];
    return y;
}

// y[m][n] again by every kernel of this processor, weights laid out before the call or in it.
static void check_kernels(const struct sq_codes *x, const struct sq_codes *w, const float *y)
{
    float *again = fixture_exact(x->n * w->n * sizeof *again);
    for (unsigned kernel = SQ_GEMM_PORTABLE; kernel < SQ_GEMM_N_KERNELS; kernel++) {
        struct sq_gemm_codes g = {.x = x, .w = w, .y = again, .kernel = kernel};
        if (!sq_gemm_kernel_is_supported((enum sq_gemm_kernel)kernel))
            continue;
        const size_t nbytes = sq_gemm_codes_cells(&g);
        void *scratch = fixture_alloc(sq_gemm_codes_scratch(&g));
        void *row = fixture_alloc(sq_gemm_codes_load_scratch(&g));
        void *cells = nbytes ? fixture_alloc(nbytes) : NULL;
        for (size_t b = (w->n + SQ_GEMM_CODES_BLOCK - 1) / SQ_GEMM_CODES_BLOCK; cells && b-- > 0;)
            sq_gemm_codes_load(&g, b, cells, row);
        for (unsigned is_before = 0; is_before < 2; is_before++) {
            g.cells = is_before ? cells : NULL;
            memset(again, 0xff, x->n * w->n * sizeof *again);
            sq_gemm_codes(&g, 0, x->n, scratch);
            CHECK_EQ(memcmp(again, y, x->n * w->n * sizeof *y), 0, "%s, %u: %s x %s\n",
                     sq_gemm_kernel_name((enum sq_gemm_kernel)kernel), is_before,
                     sq_grid_name(w->grid.kind), sq_grid_name(x->grid.kind));
        }
    }
}

static void check_pair(struct sq_rng *r, struct sq_grid gw, struct sq_grid gx, size_t group)
{
    const size_t n = 21, m = 7, k_orig = 150, k = 256;
    struct sq_codes w = codes_new(gw, n, k, k_orig, group ? group : k, 32, 4);
    struct sq_codes x = codes_new(gx, m, k, k_orig, k, 16, 4);
    float *wf = random_x(r, n * k_orig), *xf = random_x(r, m * k_orig);
    float *y = fixture_exact(m * n * sizeof *y);
    assert_ok(sq_codes_encode_rtn(&w, wf, NULL));
    encode_act(&x, xf, SQ_SELECT_DYNAMIC_FP, NULL);
    const struct sq_gemm_codes g = {.x = &x, .w = &w, .y = y, .p_lo = NULL, .p_hi = NULL};
    struct sq_error err = {.text = ""};
    CHECK_EQ(sq_gemm_codes_check(&g, &err), SQ_OK, "%s\n", err.text);
    void *scratch = fixture_alloc(sq_gemm_codes_scratch(&g));
    sq_gemm_codes(&g, 0, m, scratch);
    for (size_t t = 0; t < m; t++)
        for (size_t c = 0; c < n; c++)
            if (gw.kind == SQ_GRID_FP) {
                const double want = fp_y(&x, &w, t, c);
                assert_true(fabs((double)y[t * n + c] - want) <= 1e-4 * (1 + fabs(want)));
            } else {
                CHECK_EQ(sq_bits_of(y[t * n + c]), sq_bits_of(slow_y(&x, &w, t, c)),
                         "%s x %s token %zu channel %zu\n", sq_grid_name(gw.kind),
                         sq_grid_name(gx.kind), t, c);
            }
    check_kernels(&x, &w, y);
    sq_codes_free(&w), sq_codes_free(&x);
}

// Largest codes of both signs, more tokens than a piece, a group that is no multiple of a word;
// groups of whole steps of AMX, a row that ends within one, tokens around its tiles of 16 and 32.
SQ_TEST(corners_of_kernels)
{
    static const size_t shape[][3] = {{300, 96, 32}, {130, 90, 30},  {9, 51, 51},    {1, 1, 1},
                                      {16, 192, 64}, {17, 256, 128}, {33, 130, 130}, {161, 64, 64}};
    struct sq_rng r = {fixture_seed()};
    for (size_t i = 0; i < LEN(shape); i++) {
        const size_t m = shape[i][0], k = shape[i][1], n = 18 + 31 * (i % 2);
        struct sq_codes w =
            codes_new((struct sq_grid){SQ_GRID_DENSE, 0, 8}, n, k, k, shape[i][2], 0, 0);
        struct sq_codes x = codes_new((struct sq_grid){SQ_GRID_DENSE, 0, 8}, m, k, k, k, 0, 0);
        for (size_t j = 0; j < n * k; j++)
            w.code[j] = sq_rng_below(&r, 2) ? 127 : -127;
        for (size_t j = 0; j < m * k; j++)
            x.code[j] = sq_rng_below(&r, 2) ? 127 : -127;
        for (size_t j = 0; j < n * (k / w.group); j++)
            w.s_lo[j] = w.s_hi[j] = (float)(1 + sq_rng_below(&r, 9));
        for (size_t t = 0; t < m; t++)
            x.s_lo[t] = x.s_hi[t] = (float)(1 + sq_rng_below(&r, 9));
        float *y = fixture_exact(m * n * sizeof *y);
        for (size_t t = 0; t < m; t++)
            for (size_t c = 0; c < n; c++)
                y[t * n + c] = slow_y(&x, &w, t, c);
        check_kernels(&x, &w, y);
        sq_codes_free(&w), sq_codes_free(&x);
    }
}

SQ_TEST(every_pair_of_grids)
{
    struct sq_rng r = {fixture_seed()};
    static const struct sq_grid grid[] = {
        {SQ_GRID_DENSE, 0, 4}, {SQ_GRID_DENSE, 0, 6}, {SQ_GRID_DENSE, 0, 8}, {SQ_GRID_TIED, 8, 4},
        {SQ_GRID_SPLIT, 8, 4}, {SQ_GRID_OWN, 8, 4},   {SQ_GRID_OWN, 8, 2}};
    for (size_t i = 0; i < LEN(grid); i++)
        for (size_t j = 0; j < LEN(grid); j++)
            for (size_t group = 0; group <= 128; group += 64)
                if (grid[i].kind != SQ_GRID_OWN || grid[j].kind != SQ_GRID_OWN)
                    check_pair(&r, grid[i], grid[j], group);
    static const struct sq_grid act[] = {{SQ_GRID_SHIFT, 8, 4}, {SQ_GRID_SPLIT, 12, 4}};
    for (size_t i = 0; i < LEN(grid) && grid[i].kind != SQ_GRID_OWN; i++)
        for (size_t j = 0; j < LEN(act); j++)
            for (size_t group = 0; group <= 128; group += 64)
                check_pair(&r, grid[i], act[j], group);
    check_pair(&r, (struct sq_grid){SQ_GRID_FP, 8, 4}, (struct sq_grid){SQ_GRID_FP8, 0, 8}, 64);
}

__extension__ typedef _Float16 f16;

// W4A16: binary16 activations against a plain sum in binary64.
SQ_TEST(sixteen_bit_activations)
{
    struct sq_rng r = {fixture_seed()};
    const size_t n = 13, m = 3, k = 128, k_orig = 100;
    struct sq_codes w = codes_new((struct sq_grid){SQ_GRID_DENSE, 0, 4}, n, k, k_orig, 64, 0, 0);
    float *wf = random_x(&r, n * k_orig), *x = random_x(&r, m * k_orig), *y = random_x(&r, m * n);
    struct sq_error err;
    assert_ok(sq_codes_encode_rtn(&w, wf, NULL));
    void *scratch = fixture_alloc(sq_gemm_f16_scratch(&w, m));
    assert_ok(sq_gemm_f16(&w, x, m, y, scratch, NULL));
    for (size_t t = 0; t < m; t++)
        for (size_t c = 0; c < n; c++) {
            float want = 0;
            for (size_t g = 0; g < 2; g++) {
                double p = 0;
                for (size_t i = g * 64; i < (g + 1) * 64 && i < k_orig; i++)
                    p += w.code[c * k + i] * (double)(f16)x[t * k_orig + i];
                want = want + (float)p * w.s_lo[c * 2 + g];
            }
            CHECK_EQ(sq_bits_of(y[t * n + c]), sq_bits_of(want + 0.0f), "token %zu\n", t);
        }
    x[k_orig + 3] = 65520;
    assert_int_equal(sq_gemm_f16(&w, x, m, y, scratch, &err), SQ_ERR_OVERFLOW);
    assert_string_equal(err.text, "x[1][3] = 65520, need a number of binary16, below 65520");
    sq_codes_free(&w);
}

// ---- selection ------------------------------------------------------------------------------

SQ_TEST(static_and_int8_selection)
{
    struct sq_rng r = {fixture_seed()};
    const size_t m = 40, k = 64;
    float *x = random_x(&r, m * k);
    uint8_t mask[64];
    for (size_t i = 0; i < k; i++)
        mask[i] = i % 8 < 2;
    struct sq_codes c = codes_new((struct sq_grid){SQ_GRID_OWN, 8, 4}, m, k, k, k, 8, 2);
    encode_act(&c, x, SQ_SELECT_STATIC, mask);
    for (size_t t = 0; t < m; t++)
        assert_memory_equal(c.is_high + t * k, mask, k);
    encode_act(&c, x, SQ_SELECT_DYNAMIC_INT8, NULL);
    for (size_t t = 0; t < m; t++) {
        int8_t code[64];
        float s8, amax_lo = 0;
        assert_ok(sq_act_quantize(x + t * k, 1, k, k, 8, code, &s8, NULL));
        for (size_t b = 0; b < k; b += 8) {
            float score[8];
            uint8_t want[8];
            for (size_t i = 0; i < 8; i++)
                score[i] = fabsf((float)code[b + i]);
            sq_topk(score, 8, 2, want);
            assert_memory_equal(c.is_high + t * k + b, want, 8);
        }
        for (size_t i = 0; i < k; i++)
            if (!c.is_high[t * k + i])
                amax_lo = fmaxf(amax_lo, fabsf((float)code[i] * s8));
        CHECK_EQ(sq_bits_of(c.s_lo[t]), sq_bits_of(sq_scale_from_amax(amax_lo, 4)), "%zu\n", t);
        for (size_t i = 0; i < k; i++)
            CHECK_EQ(c.code[t * k + i],
                     c.is_high[t * k + i] ? code[i]
                                          : sq_quantize((float)code[i] * s8, c.s_lo[t], 4),
                     "token %zu channel %zu\n", t, i);
    }
    sq_codes_free(&c);
}

// As by INT8, but low codes are those of sq_act_quant_bank, with one ratio for a token: masks, scales and
// high codes stay, and a low code differs where its quotient is near a tie. A token of zeros has no ratio.
SQ_TEST(int8_selection_multiplied)
{
    struct sq_rng r = {fixture_seed()};
    const size_t m = 200, k = 64;
    float *x = random_x(&r, m * k);
    size_t others = 0;
    memset(x, 0, k * sizeof *x);
    struct sq_codes c = codes_new((struct sq_grid){SQ_GRID_OWN, 8, 4}, m, k, k, k, 8, 2);
    struct sq_codes divided = codes_new((struct sq_grid){SQ_GRID_OWN, 8, 4}, m, k, k, k, 8, 2);
    encode_act(&c, x, SQ_SELECT_DYNAMIC_INT8_MUL, NULL);
    encode_act(&divided, x, SQ_SELECT_DYNAMIC_INT8, NULL);
    assert_memory_equal(c.is_high, divided.is_high, m * k);
    assert_memory_equal(c.s_lo, divided.s_lo, m * sizeof *c.s_lo);
    assert_memory_equal(c.s_hi, divided.s_hi, m * sizeof *c.s_hi);
    for (size_t t = 0; t < m; t++) {
        int8_t code[64], lo[8], hi[2];
        float s8;
        assert_ok(sq_act_quantize(x + t * k, 1, k, k, 8, code, &s8, NULL));
        const struct sq_act_quant q = sq_act_quant_of(s8, c.s_lo[t], 4, 8);
        for (size_t b = 0; b < k; b += 8) {
            const int8_t *next = hi;
            sq_act_quant_bank(&q, code + b, 8, 2, lo, hi);
            for (size_t i = 0; i < 8; i++) {
                const size_t at = t * k + b + i;
                CHECK_EQ(c.code[at], c.is_high[at] ? *next++ : lo[i], "%zu %zu\n", t, b + i);
                others += c.code[at] != divided.code[at];
                assert_true(abs(c.code[at] - divided.code[at]) <= 1);
            }
        }
    }
    assert_in_range(others, 1, m * k / 50);
    sq_codes_free(&c);
    sq_codes_free(&divided);
}

// Ties, zeros and padding: the same choice as sq_topk.
SQ_TEST(masks_equal_topk)
{
    struct sq_rng r = {fixture_seed()};
    for (unsigned bank = 4; bank <= 128; bank *= 2)
        for (unsigned round = 0; round < 300; round++) {
            float score[128];
            uint8_t got[128], want[128];
            const unsigned k = 1 + sq_rng_below(&r, bank - 1), real = sq_rng_below(&r, bank + 1);
            for (unsigned i = 0; i < bank; i++)
                score[i] = i < real ? 0.25f * (float)sq_rng_below(&r, 1 + round % 40) : -1.0f;
            sq_mask_row(score, bank, real, bank, k, got);
            sq_topk(score, bank, k, want);
            assert_memory_equal(got, want, bank);
        }
}

// Rows of many banks go side by side: every k, signs, ties in some banks, a row that ends in a
// bank.
SQ_TEST(masks_of_many_banks)
{
    enum { BANKS = 35, BANK_MAX = 128 };
    struct sq_rng r = {fixture_seed()};
    float *x = fixture_alloc(BANKS * BANK_MAX * sizeof *x), score[BANK_MAX];
    uint8_t *got = fixture_alloc(BANKS * BANK_MAX), want[BANK_MAX];
    for (unsigned bank = 4; bank <= BANK_MAX; bank *= 2)
        for (unsigned k = 1; k < bank && k <= 40; k++) {
            const unsigned n = bank * (17 + sq_rng_below(&r, BANKS - 16));
            const unsigned real = n - sq_rng_below(&r, bank + 3), steps = k % 3 ? 100000 : 40;
            for (unsigned i = 0; i < n; i++)
                x[i] = (float)sq_rng_below(&r, steps) * (sq_rng_below(&r, 2) ? 0.5f : -0.5f);
            sq_mask_row(x, n, real, bank, k, got);
            for (unsigned b = 0; b < n / bank; b++) {
                for (unsigned i = 0; i < bank; i++)
                    score[i] = b * bank + i < real ? fabsf(x[b * bank + i]) : -1.0f;
                sq_topk(score, bank, k, want);
                assert_memory_equal(got + b * bank, want, bank);
            }
        }
}

SQ_TEST(refusals)
{
    struct sq_error err;
    float x[16] = {0}, score[32], y[4];
    x[9] = NAN;
    struct sq_codes a = codes_new((struct sq_grid){SQ_GRID_OWN, 8, 4}, 2, 8, 8, 8, 8, 2);
    struct sq_codes b = codes_new((struct sq_grid){SQ_GRID_FP8, 0, 8}, 2, 8, 8, 8, 0, 0);
    struct sq_codes d = codes_new((struct sq_grid){SQ_GRID_DENSE, 0, 4}, 2, 16, 8, 8, 0, 0);
    assert_int_equal(sq_codes_encode_act(&a, x, SQ_SELECT_DYNAMIC_FP, NULL, score, &err),
                     SQ_ERR_NON_FINITE);
    assert_string_equal(err.text, "x[1][1] = nan, need a finite number");
    assert_int_equal(sq_codes_encode_rtn(&a, x, &err), SQ_ERR_NON_FINITE);
    struct sq_gemm_codes g = {.x = &a, .w = &a, .y = y, .p_lo = NULL, .p_hi = NULL};
    assert_int_equal(sq_gemm_codes_check(&g, &err), SQ_ERR_UNSUPPORTED);
    assert_string_equal(err.text, "no datapath for own weights with own activations");
    g.x = &b;
    assert_int_equal(sq_gemm_codes_check(&g, &err), SQ_ERR_UNSUPPORTED);
    g = (struct sq_gemm_codes){.x = &a, .w = &d, .y = y, .p_lo = NULL, .p_hi = NULL};
    assert_int_equal(sq_gemm_codes_check(&g, &err), SQ_ERR_SHAPE);
    sq_codes_free(&a), sq_codes_free(&b), sq_codes_free(&d);
    struct sq_codes bad = {.grid = {SQ_GRID_OWN, 8, 4},
                           .n = 1,
                           .k = 24,
                           .k_orig = 24,
                           .group = 24,
                           .bank = 16,
                           .high_per_bank = 4};
    assert_int_equal(sq_codes_alloc(&bad, &err), SQ_ERR_SHAPE);
    bad.bank = 8, bad.high_per_bank = 8;
    assert_int_equal(sq_codes_alloc(&bad, &err), SQ_ERR_SHAPE);
}
