// SPDX-License-Identifier: Apache-2.0
// Integer products of two operands of codes, and their FP32 combine (sq_codes.h).
//
// An operand enters as one or two planes: a single-accumulator grid as its merged
// integers, grids `own` and `shift` as low plane (0 at high positions) and high plane (0
// elsewhere). At most one side has two planes, so one or two dot products per (token, channel,
// group) say everything.
#include <assert.h>
#include <string.h>

#include "models/sq_codes.h"
#include "models/sq_codes_dot.h"
#include "models/sq_codes_fp.h"
#include "models/sq_combine.h"

// Longest group whose INT32 sums cannot overflow with split codes: 136 * 136 * 2^16 < 2^31.
#define GROUP_MAX 65536u
_Static_assert(136LL * 136 * GROUP_MAX <= INT32_MAX, "a group's sums fit INT32");

// Of three-nibble split activations, beside weights of 8 bits: 2056 * 136 * 2^12 < 2^31.
#define GROUP_MAX_12 4096u
_Static_assert(2056LL * 136 * GROUP_MAX_12 <= INT32_MAX, "and those of wider codes");

enum {
    CHANNELS = SQ_CODES_CHANNELS, // of a block
    TOKENS = SQ_CODES_TOKENS,
    PIECE = 128, // tokens whose planes are laid out at a time
};

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
static inline __attribute__((always_inline)) void combine_body(const struct sq_gemm_codes *j,
                                                               size_t token, const float *s_lo,
                                                               const float *s_hi, const int32_t *lo,
                                                               const int32_t *hi, float *y)
{
    if (j->w->grid.kind == SQ_GRID_OWN) {
#pragma omp simd
        for (unsigned c = 0; c < CHANNELS; c++)
            y[c] = sq_combine_group(SQ_COMBINE_TWO, y[c], lo[c], hi[c], s_lo[c], s_hi[c], 1.0f);
    } else if (j->x->grid.kind == SQ_GRID_SHIFT) {
        combine_shifted(j->x, token, s_lo, lo, hi, y);
    } else if (j->x->grid.kind == SQ_GRID_OWN) {
        const float x_lo = j->x->s_lo[token], x_hi = j->x->s_hi[token];
#pragma omp simd
        for (unsigned c = 0; c < CHANNELS; c++)
            y[c] = sq_combine_group(SQ_COMBINE_SCALED, y[c], lo[c], hi[c], x_lo, x_hi, s_lo[c]);
    } else {
#pragma omp simd
        for (unsigned c = 0; c < CHANNELS; c++)
            y[c] = sq_combine_group(SQ_COMBINE_ONE, y[c], lo[c], 0, s_lo[c], 1.0f, 1.0f);
    }
}

typedef void combine_fn(const struct sq_gemm_codes *j, size_t token, const float *s_lo,
                        const float *s_hi, const int32_t *lo, const int32_t *hi, float *y);

static void combine_portable(const struct sq_gemm_codes *j, size_t token, const float *s_lo,
                             const float *s_hi, const int32_t *lo, const int32_t *hi, float *y)
{
    combine_body(j, token, s_lo, s_hi, lo, hi, y);
}

#if defined(__x86_64__)
__attribute__((target("avx512f,prefer-vector-width=512"))) static void
combine_avx512(const struct sq_gemm_codes *j, size_t token, const float *s_lo, const float *s_hi,
               const int32_t *lo, const int32_t *hi, float *y)
{
    combine_body(j, token, s_lo, s_hi, lo, hi, y);
}

static combine_fn *select_combine(void)
{
    return __builtin_cpu_supports("avx512f") ? combine_avx512 : combine_portable;
}
#else
static combine_fn *select_combine(void)
{
    return combine_portable;
}
#endif

// The last product, with the token's scale, of n channels.
static void finish(const struct sq_codes *x, size_t token, const float *y, unsigned n, float *out)
{
    const float lo = x->s_lo[token], hi = x->s_hi[token];
    if (x->grid.kind == SQ_GRID_OWN) {
        for (unsigned c = 0; c < n; c++)
            out[c] = sq_combine_end(SQ_COMBINE_SCALED, y[c], 1.0f);
        return;
    }
    const float s = x->grid.kind == SQ_GRID_SHIFT ? (lo < hi ? lo : hi)
                                                  : sq_grid_single_scale(&x->grid, lo, hi);
    for (unsigned c = 0; c < n; c++)
        out[c] = sq_combine_end(SQ_COMBINE_ONE, y[c], s);
}

// ---- layout ---------------------------------------------------------------------------------

// How the operands of a product stand in memory, with codes in words (sq_codes_dot.h).
struct layout {
    struct sq_codes_dot dot;
    size_t k, n_groups;          // k rounded up to whole words
    size_t plane, bias, scale;   // bytes of a block of channels: a plane of cells, ...
    unsigned w_planes, x_planes; //
};

static bool is_int8(const struct sq_codes *c)
{
    return c->grid.kind == SQ_GRID_DENSE
               ? c->grid.low_bits <= 8
               : (c->grid.kind == SQ_GRID_OWN || c->grid.kind == SQ_GRID_SHIFT) &&
                     c->grid.high_bits <= 8;
}

static struct layout layout_of(const struct sq_gemm_codes *g)
{
    const size_t k = (g->w->k + SQ_CODES_WORD - 1) / SQ_CODES_WORD * SQ_CODES_WORD;
    const size_t n_groups = g->w->k / g->w->group;
    const bool is_whole = g->w->group % SQ_CODES_WORD == 0 || n_groups == 1; // words of a group
    const struct sq_codes_dot dot =
        sq_codes_dot_of((enum sq_gemm_kernel)g->kernel, is_whole && is_int8(g->w) && is_int8(g->x));
    return (struct layout){.dot = dot,
                           .k = k,
                           .n_groups = n_groups,
                           .plane = k * CHANNELS * dot.nbytes,
                           .bias = n_groups * CHANNELS * sizeof(int32_t),
                           .scale = n_groups * CHANNELS * sizeof(float),
                           .w_planes = n_planes(g->w),
                           .x_planes = n_planes(g->x)};
}

// A block of channels: cells and biases of each plane, low and high scales by group,
// [..][CHANNELS]. All parts are multiples of 64 bytes.
static size_t block_nbytes(const struct layout *l)
{
    return l->w_planes * (l->plane + l->bias) + 2 * l->scale;
}

static const uint8_t *cells_of(const struct layout *l, const uint8_t *block, unsigned plane)
{
    return block + plane * l->plane;
}

static const int32_t *bias_of(const struct layout *l, const uint8_t *block, unsigned plane)
{
    return (const int32_t *)(const void *)(block + l->w_planes * l->plane + plane * l->bias);
}

static const float *scales_of(const struct layout *l, const uint8_t *block, bool is_high)
{
    block += l->w_planes * (l->plane + l->bias);
    return (const float *)(const void *)(block + is_high * l->scale);
}

// Scratch of a call: planes of a piece of tokens, two rows of codes on their way, and a block of
// channels where those of the whole layer are not given.
static size_t tokens_nbytes(const struct layout *l)
{
    return l->x_planes * PIECE * l->k * l->dot.nbytes;
}

static size_t rows_nbytes(const struct layout *l)
{
    return (2 * l->k * sizeof(int16_t) + 63) / 64 * 64;
}

static void load_scales(const struct layout *l, const struct sq_codes *w, size_t channel,
                        unsigned n, float *s_lo, float *s_hi)
{
    const bool is_single = sq_grid_is_single(&w->grid);
    for (size_t g = 0; g < l->n_groups; g++)
        for (unsigned c = 0; c < CHANNELS; c++) {
            const size_t at = (channel + c) * l->n_groups + g;
            float lo = 0, hi = 0;
            if (c < n) {
                hi = w->s_hi[at];
                lo = is_single ? sq_grid_single_scale(&w->grid, w->s_lo[at], hi) : w->s_lo[at];
            }
            s_lo[g * CHANNELS + c] = lo;
            s_hi[g * CHANNELS + c] = hi;
        }
}

// One channel of a plane into its cells, and 128 times the sum of each group's codes.
static void put_channel(const struct layout *l, const struct sq_codes *w, const int16_t *code,
                        unsigned c, uint8_t *cells, int32_t *bias)
{
    const unsigned word = SQ_CODES_WORD / l->dot.nbytes; // codes
    uint8_t *at = cells + c * SQ_CODES_WORD;
    for (size_t i = 0; i < l->k; i += word, at += CHANNELS * SQ_CODES_WORD) {
        const int8_t narrow[SQ_CODES_WORD] = {(int8_t)code[i], (int8_t)code[i + 1],
                                              (int8_t)code[i + 2 % word],
                                              (int8_t)code[i + 3 % word]};
        memcpy(at, l->dot.nbytes == 2 ? (const void *)(code + i) : narrow, SQ_CODES_WORD);
    }
    for (size_t g = 0; l->dot.nbytes == 1 && g < l->n_groups; g++) {
        int32_t sum = 0;
        for (size_t i = g * w->group; i < (g + 1) * w->group; i++)
            sum += code[i];
        bias[g * CHANNELS + c] = 128 * sum;
    }
}

static void load_channels(const struct layout *l, const struct sq_codes *w, size_t channel,
                          int16_t *rows, uint8_t *block)
{
    const unsigned n = w->n - channel < CHANNELS ? (unsigned)(w->n - channel) : CHANNELS;
    uint8_t *bias = block + l->w_planes * l->plane, *scale = bias + l->w_planes * l->bias;
    memset(block, 0, l->w_planes * (l->plane + l->bias));
    memset(rows, 0, 2 * l->k * sizeof *rows); // and behind them
    for (unsigned c = 0; c < n; c++) {
        load_planes(w, channel + c, rows, l->k);
        for (unsigned p = 0; p < l->w_planes; p++)
            put_channel(l, w, rows + p * l->k, c, block + p * l->plane,
                        (int32_t *)(void *)(bias + p * l->bias));
    }
    load_scales(l, w, channel, n, (float *)(void *)scale, (float *)(void *)(scale + l->scale));
}

// n <= PIECE tokens as planes [planes][PIECE][k]; rows up to a whole block of tokens are zeros.
static void load_tokens(const struct layout *l, const struct sq_codes *x, size_t token, size_t n,
                        int16_t *rows, uint8_t *out)
{
    const size_t row = l->k * l->dot.nbytes;
    for (size_t t = 0; t < (n + TOKENS - 1) / TOKENS * TOKENS; t++) {
        memset(rows, 0, 2 * l->k * sizeof *rows);
        if (t < n)
            load_planes(x, token + t, rows, l->k);
        for (unsigned p = 0; p < l->x_planes; p++) {
            const int16_t *from = rows + p * l->k;
            uint8_t *to = out + (p * PIECE + t) * row;
            if (l->dot.nbytes == 2) {
                memcpy(to, from, row);
                continue;
            }
#pragma omp simd
            for (size_t i = 0; i < l->k; i++)
                to[i] = (uint8_t)(from[i] + 128);
        }
    }
}

// ---- blocks ---------------------------------------------------------------------------------

// TOKENS x CHANNELS of a product; rows beyond n_tokens and n_channels are zeros.
struct block {
    const uint8_t *x, *w; // planes of the first token, a block of channels
    size_t token, channel;
    unsigned n_tokens, n_channels;
};

static void store_integers(const struct sq_gemm_codes *j, const struct block *b, size_t g,
                           size_t n_groups, int32_t lo[TOKENS][CHANNELS],
                           int32_t hi[TOKENS][CHANNELS])
{
    for (unsigned t = 0; t < b->n_tokens; t++)
        for (unsigned c = 0; c < b->n_channels; c++) {
            const size_t at = ((b->token + t) * j->w->n + b->channel + c) * n_groups + g;
            if (j->p_lo)
                j->p_lo[at] = lo[t][c];
            if (j->p_hi)
                j->p_hi[at] = hi[t][c];
        }
}

// The integers of group g from plane x of the tokens and plane w of the channels.
static void dot_group(const struct layout *l, const struct sq_codes *w, const struct block *b,
                      size_t g, unsigned x_plane, unsigned w_plane, int32_t sum[TOKENS][CHANNELS])
{
    const size_t at = g * w->group, left = at < w->k_orig ? w->k_orig - at : 0;
    const size_t len = left < w->group ? left : w->group; // codes of padding are 0
    const size_t word = SQ_CODES_WORD / l->dot.nbytes, row = l->k * l->dot.nbytes;
    l->dot.dot(b->x + x_plane * PIECE * row + at * l->dot.nbytes, l->k / word,
               cells_of(l, b->w, w_plane) + at * CHANNELS * l->dot.nbytes, (len + word - 1) / word,
               bias_of(l, b->w, w_plane) + g * CHANNELS, sum);
}

static void do_block(const struct sq_gemm_codes *j, const struct layout *l, const struct block *b,
                     combine_fn *combine)
{
    const bool has_two = l->w_planes + l->x_planes > 2;
    const float *s_lo = scales_of(l, b->w, false), *s_hi = scales_of(l, b->w, true);
    float y[TOKENS][CHANNELS] = {{0}};
    int32_t lo[TOKENS][CHANNELS], hi[TOKENS][CHANNELS] = {{0}};
    for (size_t g = 0; g < l->n_groups; g++) {
        dot_group(l, j->w, b, g, 0, 0, lo);
        if (has_two)
            dot_group(l, j->w, b, g, l->x_planes - 1, l->w_planes - 1, hi);
        for (unsigned t = 0; t < b->n_tokens; t++)
            combine(j, b->token + t, s_lo + g * CHANNELS, s_hi + g * CHANNELS, lo[t], hi[t], y[t]);
        if (j->p_lo || j->p_hi)
            store_integers(j, b, g, l->n_groups, lo, hi);
    }
    for (unsigned t = 0; t < b->n_tokens; t++)
        finish(j->x, b->token + t, y[t], b->n_channels,
               j->y + (b->token + t) * j->w->n + b->channel);
}

// n <= PIECE tokens, whose planes are in x, times a block of channels.
static void do_piece(const struct sq_gemm_codes *g, const struct layout *l, size_t token, size_t n,
                     const uint8_t *x, struct block *b, combine_fn *combine)
{
    for (size_t t = 0; t < n; t += TOKENS) {
        b->x = x + t * l->k * l->dot.nbytes;
        b->token = token + t;
        b->n_tokens = n - t < TOKENS ? (unsigned)(n - t) : TOKENS;
        do_block(g, l, b, combine);
    }
}

// ---- entry ----------------------------------------------------------------------------------

size_t sq_gemm_codes_cells(const struct sq_gemm_codes *g)
{
    const struct layout l = layout_of(g);
    return is_fp_pair(g) ? 0 : (g->w->n + CHANNELS - 1) / CHANNELS * block_nbytes(&l);
}

size_t sq_gemm_codes_load_scratch(const struct sq_gemm_codes *g)
{
    const struct layout l = layout_of(g);
    return rows_nbytes(&l);
}

void sq_gemm_codes_load(const struct sq_gemm_codes *g, size_t block, void *cells, void *scratch)
{
    const struct layout l = layout_of(g);
    load_channels(&l, g->w, block * CHANNELS, scratch, (uint8_t *)cells + block * block_nbytes(&l));
}

size_t sq_gemm_codes_scratch(const struct sq_gemm_codes *g)
{
    const struct layout l = layout_of(g);
    return is_fp_pair(g) ? sq_gemm_fp_scratch(g)
                         : rows_nbytes(&l) + tokens_nbytes(&l) + block_nbytes(&l);
}

void sq_gemm_codes(const struct sq_gemm_codes *g, size_t m0, size_t m1, void *scratch)
{
    if (is_fp_pair(g)) {
        sq_gemm_fp(g, m0, m1, scratch);
        return;
    }
    const struct layout l = layout_of(g);
    combine_fn *const combine = select_combine();
    int16_t *rows = scratch;
    uint8_t *x = (uint8_t *)scratch + rows_nbytes(&l), *own = x + tokens_nbytes(&l);
    for (size_t t = m0; t < m1; t += PIECE) {
        const size_t n = m1 - t < PIECE ? m1 - t : PIECE;
        load_tokens(&l, g->x, t, n, rows, x);
        for (size_t c = 0; c < g->w->n; c += CHANNELS) {
            struct block b = {.channel = c, .w = own};
            b.n_channels = g->w->n - c < CHANNELS ? (unsigned)(g->w->n - c) : CHANNELS;
            if (g->cells)
                b.w = (const uint8_t *)g->cells + c / CHANNELS * block_nbytes(&l);
            else
                load_channels(&l, g->w, c, rows, own);
            do_piece(g, &l, t, n, x, &b, combine);
        }
    }
}
