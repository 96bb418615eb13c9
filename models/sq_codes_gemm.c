// SPDX-License-Identifier: Apache-2.0
// Integer products of two operands of codes, and their FP32 combine (sq_codes.h).
//
// An operand enters as one or two planes of int16: a single-accumulator grid as its merged
// integers, grid `own` as low plane (0 at high positions) and high plane (0 elsewhere). At most one
// side has two planes, so one or two dot products per (token, channel, group) say everything.
#include <assert.h>
#include <string.h>

#include "sq_codes.h"
#include "sq_codes_fp.h"

// Longest group whose INT32 sums cannot overflow with split codes: 136 * 136 * 2^16 < 2^31.
#define GROUP_MAX 65536u
_Static_assert(136LL * 136 * GROUP_MAX <= INT32_MAX, "a group's sums fit INT32");

enum { CHANNELS = 16, TOKENS = 4 }; // of a block

static bool is_fp_pair(const struct sq_gemm_codes *g)
{
    return g->w->grid.kind == SQ_GRID_FP && g->x->grid.kind == SQ_GRID_FP8;
}

enum sq_status sq_gemm_codes_check(const struct sq_gemm_codes *g, struct sq_error *err)
{
    const struct sq_grid *w = &g->w->grid, *x = &g->x->grid;
    const bool w_one = sq_grid_is_single(w), x_one = sq_grid_is_single(x);
    const bool w_own = w->kind == SQ_GRID_OWN, x_own = x->kind == SQ_GRID_OWN;
    if (!((w_one && x_one) || (w_own && x_one) || (w_one && x_own) || is_fp_pair(g)))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "no datapath for %s weights with %s activations",
                       sq_grid_name(w->kind), sq_grid_name(x->kind));
    if (g->w->k != g->x->k || g->x->group != g->x->k || g->w->k % g->w->group != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "weights K = %zu by %zu, activations K = %zu by %zu",
                       g->w->k, g->w->group, g->x->k, g->x->group);
    if (g->w->group > GROUP_MAX)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "scale group of %zu elements, need <= %u for an exact INT32 sum",
                       g->w->group, GROUP_MAX);
    return SQ_OK;
}

// ---- planes ---------------------------------------------------------------------------------

static unsigned n_planes(const struct sq_codes *c)
{
    return c->grid.kind == SQ_GRID_OWN ? 2 : 1;
}

// One row as n_planes rows of k integers each, `stride` apart.
static void load_planes(const struct sq_codes *c, size_t row, int16_t *plane, size_t stride)
{
    const int16_t *code = c->code + row * c->k;
    const uint8_t *is_high = c->is_high ? c->is_high + row * c->k : NULL;
    if (c->grid.kind == SQ_GRID_OWN) {
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

// sum[t][c] = sum over i < len of x[t][i] * w[c][i]; rows `k` apart.
typedef void dot_fn(const int16_t *x, const int16_t *w, size_t k, size_t len,
                    int32_t sum[TOKENS][CHANNELS]);

static inline __attribute__((always_inline)) void
dot_body(const int16_t *x, const int16_t *w, size_t k, size_t len, int32_t sum[TOKENS][CHANNELS])
{
    for (unsigned c = 0; c < CHANNELS; c++) {
        int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        const int16_t *wc = w + c * k, *x1 = x + k, *x2 = x + 2 * k, *x3 = x + 3 * k;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
        for (size_t i = 0; i < len; i++) {
            s0 += (int32_t)x[i] * wc[i];
            s1 += (int32_t)x1[i] * wc[i];
            s2 += (int32_t)x2[i] * wc[i];
            s3 += (int32_t)x3[i] * wc[i];
        }
        sum[0][c] = s0, sum[1][c] = s1, sum[2][c] = s2, sum[3][c] = s3;
    }
}

static void dot_portable(const int16_t *x, const int16_t *w, size_t k, size_t len,
                         int32_t sum[TOKENS][CHANNELS])
{
    dot_body(x, w, k, len, sum);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void dot_avx2(const int16_t *x, const int16_t *w, size_t k,
                                                     size_t len, int32_t sum[TOKENS][CHANNELS])
{
    dot_body(x, w, k, len, sum);
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

// One (token, channel), group g: the FP32 roundings of sq_codes.h. hi is 0 where there is one
// accumulator.
static float combine(const struct sq_gemm_codes *j, size_t token, size_t channel, size_t g, float y,
                     int32_t lo, int32_t hi)
{
    const struct sq_codes *w = j->w, *x = j->x;
    const size_t at = channel * (w->k / w->group) + g;
    if (w->grid.kind == SQ_GRID_OWN) {
        const float t1 = (float)lo * w->s_lo[at], t2 = (float)hi * w->s_hi[at];
        return y + (t1 + t2);
    }
    const float s_w = sq_grid_single_scale(&w->grid, w->s_lo[at], w->s_hi[at]);
    if (x->grid.kind == SQ_GRID_OWN) {
        const float t1 = (float)lo * x->s_lo[token], t2 = (float)hi * x->s_hi[token];
        return y + (t1 + t2) * s_w;
    }
    return y + (float)lo * s_w;
}

// The last product, with the token's scale; + 0 makes -0 of an underflow +0.
static float finish(const struct sq_gemm_codes *j, size_t token, float y)
{
    const struct sq_codes *x = j->x;
    if (x->grid.kind == SQ_GRID_OWN)
        return y + 0.0f;
    return y * sq_grid_single_scale(&x->grid, x->s_lo[token], x->s_hi[token]) + 0.0f;
}

// ---- blocks ---------------------------------------------------------------------------------

// What one block of TOKENS x CHANNELS is about; rows beyond n_tokens and n_channels are zeros.
struct block {
    size_t token, channel;
    unsigned n_tokens, n_channels;
    const int16_t *x, *w; // planes: [planes][TOKENS][k], [planes][CHANNELS][k]
};

static void do_block(const struct sq_gemm_codes *j, const struct block *b, dot_fn *dot)
{
    const size_t k = j->w->k, len = j->w->group, n_groups = k / len;
    const bool has_two = n_planes(j->w) + n_planes(j->x) > 2;
    const int16_t *x_hi = b->x + (n_planes(j->x) - 1) * TOKENS * k;
    const int16_t *w_hi = b->w + (n_planes(j->w) - 1) * CHANNELS * k;
    float y[TOKENS][CHANNELS] = {{0}};
    int32_t lo[TOKENS][CHANNELS], hi[TOKENS][CHANNELS] = {{0}};
    for (size_t g = 0; g < n_groups; g++) {
        dot(b->x + g * len, b->w + g * len, k, len, lo);
        if (has_two)
            dot(x_hi + g * len, w_hi + g * len, k, len, hi);
        for (unsigned t = 0; t < b->n_tokens; t++)
            for (unsigned c = 0; c < b->n_channels; c++) {
                const size_t token = b->token + t, channel = b->channel + c;
                const size_t at = (token * j->w->n + channel) * n_groups + g;
                y[t][c] = combine(j, token, channel, g, y[t][c], lo[t][c], hi[t][c]);
                if (j->p_lo)
                    j->p_lo[at] = lo[t][c];
                if (j->p_hi && has_two)
                    j->p_hi[at] = hi[t][c];
            }
    }
    for (unsigned t = 0; t < b->n_tokens; t++)
        for (unsigned c = 0; c < b->n_channels; c++)
            j->y[(b->token + t) * j->w->n + b->channel + c] = finish(j, b->token + t, y[t][c]);
}

// Rows [first, first + n) of an operand into a block of `rows` rows per plane.
static void load_block(const struct sq_codes *c, size_t first, unsigned n, unsigned rows,
                       int16_t *plane)
{
    if (n < rows)
        memset(plane, 0, n_planes(c) * rows * c->k * sizeof *plane);
    for (unsigned r = 0; r < n; r++)
        load_planes(c, first + r, plane + r * c->k, rows * c->k);
}

// ---- entry ----------------------------------------------------------------------------------

static size_t integer_scratch(const struct sq_gemm_codes *g)
{
    return (n_planes(g->w) * CHANNELS + n_planes(g->x) * TOKENS) * g->w->k * sizeof(int16_t);
}

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
    int16_t *const w = scratch, *const x = w + n_planes(g->w) * CHANNELS * g->w->k;
    for (size_t c = 0; c < g->w->n; c += CHANNELS) {
        const size_t left = g->w->n - c;
        struct block b = {.channel = c, .w = w, .x = x};
        b.n_channels = left < CHANNELS ? (unsigned)left : CHANNELS;
        load_block(g->w, c, b.n_channels, CHANNELS, w);
        for (size_t t = m0; t < m1; t += TOKENS) {
            b.token = t;
            b.n_tokens = m1 - t < TOKENS ? (unsigned)(m1 - t) : TOKENS;
            load_block(g->x, t, b.n_tokens, TOKENS, x);
            do_block(g, &b, dot);
        }
    }
}
