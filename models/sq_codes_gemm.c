// SPDX-License-Identifier: Apache-2.0
// Integer products of two operands of codes, and their FP32 combine (sq_codes.h).
//
// An operand enters as one or two planes of int16: a single-accumulator grid as its merged
// integers, grids `own` and `shift` as low plane (0 at high positions) and high plane (0
// elsewhere). At most one side has two planes, so one or two dot products per (token, channel,
// group) say everything.
#include <assert.h>
#include <string.h>

#include "models/sq_codes.h"
#include "models/sq_codes_fp.h"
#include "models/sq_combine.h"

// Longest group whose INT32 sums cannot overflow with split codes: 136 * 136 * 2^16 < 2^31.
#define GROUP_MAX 65536u
_Static_assert(136LL * 136 * GROUP_MAX <= INT32_MAX, "a group's sums fit INT32");

// Of three-nibble split activations, beside weights of 8 bits: 2056 * 136 * 2^12 < 2^31.
#define GROUP_MAX_12 4096u
_Static_assert(2056LL * 136 * GROUP_MAX_12 <= INT32_MAX, "and those of wider codes");

enum { CHANNELS = 16, TOKENS = 4 }; // of a block

static bool is_fp_pair(const struct sq_gemm_codes *g)
{
    return g->w->grid.kind == SQ_GRID_FP && g->x->grid.kind == SQ_GRID_FP8;
}

enum sq_status sq_gemm_codes_check(const struct sq_gemm_codes *g, struct sq_error *err)
{
    const struct sq_grid *w = &g->w->grid, *x = &g->x->grid;
    const bool w_one = sq_grid_is_single(w), x_one = sq_grid_is_single(x);
    const bool w_own = w->kind == SQ_GRID_OWN;
    const bool x_own = x->kind == SQ_GRID_OWN || x->kind == SQ_GRID_SHIFT;
    if (w->high_bits > 8 ||
        !((w_one && x_one) || (w_own && x_one) || (w_one && x_own) || is_fp_pair(g)))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "no datapath for %s weights with %s activations",
                       sq_grid_name(w->kind), sq_grid_name(x->kind));
    if (g->w->k != g->x->k || g->x->group != g->x->k || g->w->k % g->w->group != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "weights K = %zu by %zu, activations K = %zu by %zu",
                       g->w->k, g->w->group, g->x->k, g->x->group);
    if (g->w->group % 2 != 0 && g->w->group != g->w->k)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "scale group of %zu elements, need an even number",
                       g->w->group);
    const unsigned most = x->high_bits > 8 ? GROUP_MAX_12 : GROUP_MAX;
    if (g->w->group > most)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "scale group of %zu elements, need <= %u for an exact INT32 sum",
                       g->w->group, most);
    return SQ_OK;
}

// ---- planes ---------------------------------------------------------------------------------

static unsigned n_planes(const struct sq_codes *c)
{
    return c->grid.kind == SQ_GRID_OWN || c->grid.kind == SQ_GRID_SHIFT ? 2 : 1;
}

// One row as n_planes rows of k integers each, `stride` apart.
static void load_planes(const struct sq_codes *c, size_t row, int16_t *plane, size_t stride)
{
    const int16_t *code = c->code + row * c->k;
    const uint8_t *is_high = c->is_high ? c->is_high + row * c->k : NULL;
    if (n_planes(c) == 2) {
        for (size_t i = 0; i < c->k; i++) {
            const int16_t keep = (int16_t)-is_high[i];
            plane[i] = (int16_t)(code[i] & ~keep);
            plane[stride + i] = (int16_t)(code[i] & keep);
        }
    } else if (c->grid.kind == SQ_GRID_TIED) {
        for (size_t i = 0; i < c->k; i++)
            plane[i] = sq_grid_merged(&c->grid, code[i], is_high[i]);
    } else { // dense and split: merged integers are the codes
        memcpy(plane, code, c->k * sizeof *plane);
    }
}

// ---- integers -------------------------------------------------------------------------------

// sum[t][c] = sum over i < len of x[t][i] * cell[i/2][c][i%2]; len is even, tokens are k apart.
typedef void dot_fn(const int16_t *x, const int16_t *cell, size_t k, size_t len,
                    int32_t sum[TOKENS][CHANNELS]);

static void dot_portable(const int16_t *x, const int16_t *cell, size_t k, size_t len,
                         int32_t sum[TOKENS][CHANNELS])
{
    for (unsigned t = 0; t < TOKENS; t++) {
        int32_t s[CHANNELS] = {0};
        for (size_t i = 0; i < len; i += 2)
            for (unsigned c = 0; c < CHANNELS; c++) {
                const int16_t *w = cell + i * CHANNELS + 2 * c;
                s[c] += x[t * k + i] * w[0] + x[t * k + i + 1] * w[1];
            }
        memcpy(sum[t], s, sizeof s);
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2"))) static void
dot_avx2(const int16_t *x, const int16_t *cell, size_t k, size_t len, int32_t sum[TOKENS][CHANNELS])
{
    __m256i s[TOKENS][2];
#pragma GCC unroll 4
    for (unsigned t = 0; t < TOKENS; t++)
        s[t][0] = s[t][1] = _mm256_setzero_si256();
    for (size_t i = 0; i < len; i += 2) {
        const __m256i *w = (const __m256i *)(const void *)(cell + i * CHANNELS);
        const __m256i w0 = _mm256_loadu_si256(w), w1 = _mm256_loadu_si256(w + 1);
#pragma GCC unroll 4
        for (unsigned t = 0; t < TOKENS; t++) {
            int32_t pair;
            memcpy(&pair, x + t * k + i, sizeof pair);
            const __m256i a = _mm256_set1_epi32(pair);
            s[t][0] = _mm256_add_epi32(s[t][0], _mm256_madd_epi16(w0, a));
            s[t][1] = _mm256_add_epi32(s[t][1], _mm256_madd_epi16(w1, a));
        }
    }
#pragma GCC unroll 4
    for (unsigned t = 0; t < TOKENS; t++) {
        _mm256_storeu_si256((__m256i *)(void *)sum[t], s[t][0]);
        _mm256_storeu_si256((__m256i *)(void *)sum[t] + 1, s[t][1]);
    }
}

static dot_fn *select_dot(void)
{
    return __builtin_cpu_supports("avx2") ? dot_avx2 : dot_portable;
}
#else
static dot_fn *select_dot(void)
{
    return dot_portable;
}
#endif

// ---- combine --------------------------------------------------------------------------------

// One accumulator: the products of the larger scale shifted left, exact in 41 bits.
static void combine_shifted(const struct sq_codes *x, size_t token, const float *s_w,
                            const int32_t *lo, const int32_t *hi, float *y)
{
    const int e = sq_grid_shift(x->s_lo[token], x->s_hi[token]);
    const int64_t by_lo = INT64_C(1) << (e < 0 ? -e : 0), by_hi = INT64_C(1) << (e > 0 ? e : 0);
    for (unsigned c = 0; c < CHANNELS; c++)
        y[c] = y[c] + (float)(lo[c] * by_lo + hi[c] * by_hi) * s_w[c];
}

// One group of a block: the FP32 roundings of sq_codes.h for CHANNELS channels of one token.
static void combine(const struct sq_gemm_codes *j, size_t token, const float *s_lo,
                    const float *s_hi, const int32_t *lo, const int32_t *hi, float *y)
{
    if (j->w->grid.kind == SQ_GRID_OWN) {
        for (unsigned c = 0; c < CHANNELS; c++)
            y[c] = sq_combine_group(SQ_COMBINE_TWO, y[c], lo[c], hi[c], s_lo[c], s_hi[c], 1.0f);
    } else if (j->x->grid.kind == SQ_GRID_SHIFT) {
        combine_shifted(j->x, token, s_lo, lo, hi, y);
    } else if (j->x->grid.kind == SQ_GRID_OWN) {
        const float x_lo = j->x->s_lo[token], x_hi = j->x->s_hi[token];
        for (unsigned c = 0; c < CHANNELS; c++)
            y[c] = sq_combine_group(SQ_COMBINE_SCALED, y[c], lo[c], hi[c], x_lo, x_hi, s_lo[c]);
    } else {
        for (unsigned c = 0; c < CHANNELS; c++)
            y[c] = sq_combine_group(SQ_COMBINE_ONE, y[c], lo[c], 0, s_lo[c], 1.0f, 1.0f);
    }
}

// The last product, with the token's scale.
static float finish(const struct sq_gemm_codes *j, size_t token, float y)
{
    const struct sq_codes *x = j->x;
    if (x->grid.kind == SQ_GRID_OWN)
        return sq_combine_end(SQ_COMBINE_SCALED, y, 1.0f);
    if (x->grid.kind == SQ_GRID_SHIFT)
        return sq_combine_end(SQ_COMBINE_ONE, y,
                              x->s_lo[token] < x->s_hi[token] ? x->s_lo[token] : x->s_hi[token]);
    return sq_combine_end(SQ_COMBINE_ONE, y,
                          sq_grid_single_scale(&x->grid, x->s_lo[token], x->s_hi[token]));
}

// ---- blocks ---------------------------------------------------------------------------------

// Scratch of one call. Cells and scales are of one block of channels, planes of one of tokens.
struct scratch {
    int16_t *cells;     // [planes of w][k/2][CHANNELS][2], k rounded up to even
    int16_t *tokens;    // [planes of x][TOKENS][k], and a row's planes on their way to cells
    float *s_lo, *s_hi; // [groups][CHANNELS]; single-accumulator grids have one, in s_lo
};

static size_t even(size_t k)
{
    return (k + 1) / 2 * 2;
}

static size_t n_groups(const struct sq_codes *w)
{
    return w->k / w->group;
}

static size_t integer_scratch(const struct sq_gemm_codes *g)
{
    const size_t planes = (CHANNELS + 2) * n_planes(g->w) + TOKENS * n_planes(g->x);
    return planes * even(g->w->k) * sizeof(int16_t) + 2 * n_groups(g->w) * CHANNELS * sizeof(float);
}

static struct scratch cut_scratch(const struct sq_gemm_codes *g, void *memory)
{
    struct scratch s = {.s_lo = memory};
    s.s_hi = s.s_lo + n_groups(g->w) * CHANNELS;
    s.cells = (int16_t *)(void *)(s.s_hi + n_groups(g->w) * CHANNELS);
    s.tokens = s.cells + n_planes(g->w) * CHANNELS * even(g->w->k);
    return s;
}

static void load_scales(const struct sq_codes *w, size_t channel, unsigned n, struct scratch *s)
{
    const bool is_single = sq_grid_is_single(&w->grid);
    for (size_t g = 0; g < n_groups(w); g++)
        for (unsigned c = 0; c < CHANNELS; c++) {
            const size_t at = (channel + c) * n_groups(w) + g;
            float lo = 0, hi = 0;
            if (c < n) {
                hi = w->s_hi[at];
                lo = is_single ? sq_grid_single_scale(&w->grid, w->s_lo[at], hi) : w->s_lo[at];
            }
            s->s_lo[g * CHANNELS + c] = lo;
            s->s_hi[g * CHANNELS + c] = hi;
        }
}

static void load_channels(const struct sq_codes *w, size_t channel, unsigned n, struct scratch *s)
{
    const size_t k = even(w->k);
    memset(s->cells, 0, n_planes(w) * CHANNELS * k * sizeof *s->cells);
    for (unsigned c = 0; c < n; c++) {
        load_planes(w, channel + c, s->tokens, k);
        for (unsigned p = 0; p < n_planes(w); p++)
            for (size_t i = 0; i < w->k; i++)
                s->cells[(p * k + i / 2 * 2) * CHANNELS + 2 * c + i % 2] = s->tokens[p * k + i];
    }
    load_scales(w, channel, n, s);
}

static void load_tokens(const struct sq_codes *x, size_t token, unsigned n, struct scratch *s)
{
    const size_t k = even(x->k);
    if (n < TOKENS || k > x->k)
        memset(s->tokens, 0, n_planes(x) * TOKENS * k * sizeof *s->tokens);
    for (unsigned t = 0; t < n; t++)
        load_planes(x, token + t, s->tokens + t * k, TOKENS * k);
}

// TOKENS x CHANNELS; rows beyond n_tokens and n_channels are zeros.
struct block {
    size_t token, channel;
    unsigned n_tokens, n_channels;
};

static void store_integers(const struct sq_gemm_codes *j, const struct block *b, size_t g,
                           int32_t lo[TOKENS][CHANNELS], int32_t hi[TOKENS][CHANNELS])
{
    for (unsigned t = 0; t < b->n_tokens; t++)
        for (unsigned c = 0; c < b->n_channels; c++) {
            const size_t at = ((b->token + t) * j->w->n + b->channel + c) * n_groups(j->w) + g;
            if (j->p_lo)
                j->p_lo[at] = lo[t][c];
            if (j->p_hi)
                j->p_hi[at] = hi[t][c];
        }
}

static void do_block(const struct sq_gemm_codes *j, const struct block *b, const struct scratch *s,
                     dot_fn *dot)
{
    const size_t k = even(j->w->k), group = j->w->group;
    const bool has_two = n_planes(j->w) + n_planes(j->x) > 2;
    const int16_t *x_hi = s->tokens + (n_planes(j->x) - 1) * TOKENS * k;
    const int16_t *w_hi = s->cells + (n_planes(j->w) - 1) * CHANNELS * k;
    float y[TOKENS][CHANNELS] = {{0}};
    int32_t lo[TOKENS][CHANNELS], hi[TOKENS][CHANNELS] = {{0}};
    for (size_t g = 0; g < n_groups(j->w); g++) {
        const size_t at = g * group, left = at < j->w->k_orig ? even(j->w->k_orig - at) : 0;
        const size_t len = left < even(group) ? left : even(group); // codes of padding are 0
        dot(s->tokens + at, s->cells + at * CHANNELS, k, len, lo);
        if (has_two)
            dot(x_hi + at, w_hi + at * CHANNELS, k, len, hi);
        for (unsigned t = 0; t < b->n_tokens; t++)
            combine(j, b->token + t, s->s_lo + g * CHANNELS, s->s_hi + g * CHANNELS, lo[t], hi[t],
                    y[t]);
        if (j->p_lo || j->p_hi)
            store_integers(j, b, g, lo, hi);
    }
    for (unsigned t = 0; t < b->n_tokens; t++)
        for (unsigned c = 0; c < b->n_channels; c++)
            j->y[(b->token + t) * j->w->n + b->channel + c] = finish(j, b->token + t, y[t][c]);
}

// ---- entry ----------------------------------------------------------------------------------

size_t sq_gemm_codes_scratch(const struct sq_gemm_codes *g)
{
    return is_fp_pair(g) ? sq_gemm_fp_scratch(g) : integer_scratch(g);
}

void sq_gemm_codes(const struct sq_gemm_codes *g, size_t m0, size_t m1, void *scratch)
{
    if (is_fp_pair(g)) {
        sq_gemm_fp(g, m0, m1, scratch);
        return;
    }
    dot_fn *const dot = select_dot();
    struct scratch s = cut_scratch(g, scratch);
    for (size_t c = 0; c < g->w->n; c += CHANNELS) {
        struct block b = {.channel = c};
        b.n_channels = g->w->n - c < CHANNELS ? (unsigned)(g->w->n - c) : CHANNELS;
        load_channels(g->w, c, b.n_channels, &s);
        for (size_t t = m0; t < m1; t += TOKENS) {
            b.token = t;
            b.n_tokens = m1 - t < TOKENS ? (unsigned)(m1 - t) : TOKENS;
            load_tokens(g->x, t, b.n_tokens, &s);
            do_block(g, &b, &s, dot);
        }
    }
}
