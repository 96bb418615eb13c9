// SPDX-License-Identifier: Apache-2.0
// Integer products of two operands of codes, and their FP32 combine (sq_codes.h).
//
// An operand enters as one or two planes: a single-accumulator grid as its merged
// integers, grids `own` and `shift` as low plane (0 at high positions) and high plane (0
// elsewhere). At most one side has two planes, so one or two dot products per (token, channel,
// group) say everything.
#include <assert.h>
#include <string.h>

#include "models/number/sq_codes.h"
#include "models/number/sq_codes_combine.h"
#include "models/number/sq_codes_dot.h"
#include "models/number/sq_codes_fp.h"

// Longest group whose INT32 sums cannot overflow with split codes: 136 * 136 * 2^16 < 2^31.
#define GROUP_MAX 65536u
_Static_assert(136LL * 136 * GROUP_MAX <= INT32_MAX, "a group's sums fit INT32");

// The longest group of split activations of three nibbles beside weights of 8 bits: 2056 * 136 * 2^12 < 2^31.
#define GROUP_MAX_12 4096u
_Static_assert(2056LL * 136 * GROUP_MAX_12 <= INT32_MAX, "and those of wider codes");

enum {
    CHANNELS = SQ_CODES_CHANNELS, // of a block
    TOKENS = SQ_CODES_TOKENS_MAX, // of a tile
    PIECE = 128,                  // tokens whose planes are laid out at a time, ...
    ROWS = PIECE + TOKENS,        // and with them the rows of zeros of a tile's end
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
    SQ_FAIL_IF(w->high_bits > 8 ||
                   !((w_one && x_one) || (w_own && x_one) || (w_one && x_own) || is_fp_pair(g)),
               err, SQ_ERR_UNSUPPORTED, "no datapath for %s weights with %s activations",
               sq_grid_name(w->kind), sq_grid_name(x->kind));
    SQ_FAIL_IF(g->w->k != g->x->k || g->x->group != g->x->k || g->w->k % g->w->group != 0, err,
               SQ_ERR_SHAPE, "weights K = %zu by %zu, activations K = %zu by %zu", g->w->k,
               g->w->group, g->x->k, g->x->group);
    SQ_FAIL_IF(g->w->group % 2 != 0 && g->w->group != g->w->k, err, SQ_ERR_SHAPE,
               "scale group of %zu elements, need an even number", g->w->group);
    const unsigned most = x->high_bits > 8 ? GROUP_MAX_12 : GROUP_MAX;
    SQ_FAIL_IF(g->w->group > most, err, SQ_ERR_UNSUPPORTED,
               "scale group of %zu elements, need <= %u for an exact INT32 sum", g->w->group, most);
    return SQ_OK;
}

// ---- planes ---------------------------------------------------------------------------------

static unsigned n_planes(const struct sq_codes *c)
{
    return c->grid.kind == SQ_GRID_OWN || c->grid.kind == SQ_GRID_SHIFT ? 2 : 1;
}

// Split integers: the low plane is 0 at high positions, the high one elsewhere.
static void split_planes(const int16_t *code, const uint8_t *is_high, size_t k, int16_t *lo,
                         int16_t *hi)
{
#pragma omp simd
    for (size_t i = 0; i < k; i++) {
        const int16_t keep = (int16_t)-is_high[i];
        lo[i] = (int16_t)(code[i] & ~keep);
        hi[i] = (int16_t)(code[i] & keep);
    }
}

// One row as n_planes rows of k integers each, `stride` apart.
static void load_planes(const struct sq_codes *c, size_t row, int16_t *plane, size_t stride)
{
    const int16_t *code = c->code + row * c->k;
    const uint8_t *is_high = c->is_high ? c->is_high + row * c->k : NULL;
    if (n_planes(c) == 2) {
        split_planes(code, is_high, c->k, plane, plane + stride);
    } else if (c->grid.kind == SQ_GRID_TIED) {
        for (size_t i = 0; i < c->k; i++)
            plane[i] = sq_grid_merged(&c->grid, code[i], is_high[i]);
    } else { // dense and split: merged integers are the codes
        memcpy(plane, code, c->k * sizeof *plane);
    }
}

// A row of the weights, and its scales by group.
static void load_weights(const struct sq_gemm_codes *g, size_t row, int16_t *plane, size_t stride,
                         float *s_lo, float *s_hi)
{
    const struct sq_codes *w = g->w;
    if (g->row) {
        g->row(g->from, row, plane, stride, s_lo, s_hi);
        return;
    }
    const size_t n_groups = w->k / w->group;
    load_planes(w, row, plane, stride);
    for (size_t i = 0; i < n_groups; i++) {
        const float lo = w->s_lo[row * n_groups + i], hi = w->s_hi[row * n_groups + i];
        s_lo[i] = sq_grid_is_single(&w->grid) ? sq_grid_single_scale(&w->grid, lo, hi) : lo;
        s_hi[i] = hi;
    }
}

// ---- layout ---------------------------------------------------------------------------------

// How the operands of a product stand in memory, with codes in words (sq_codes_dot.h).
struct layout {
    struct sq_codes_dot dot;
    size_t k, n_groups;          // k rounded up to whole words, and whole steps of AMX
    size_t row;                  // bytes from one token to the next
    size_t plane, start, scale;  // bytes of a block of channels: a plane of cells, ...
    unsigned w_planes, x_planes; //
};

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static bool is_int8(const struct sq_codes *c)
{
    return c->grid.kind == SQ_GRID_DENSE ? c->grid.low_bits <= 8
                                         : c->grid.kind != SQ_GRID_SPLIT && c->grid.high_bits <= 8;
}

static struct layout layout_of(const struct sq_gemm_codes *g)
{
    const size_t n_groups = g->w->k / g->w->group;
    const bool is_one = n_groups == 1;
    const bool is_whole = is_one || g->w->group % SQ_CODES_WORD == 0; // words of a group
    const struct sq_codes_dot dot = sq_codes_dot_of(
        (enum sq_gemm_kernel)g->kernel, is_whole && is_int8(g->w) && (g->act || is_int8(g->x)),
        is_one || g->w->group % SQ_CODES_STEP == 0);
    const size_t unit = dot.kernel == SQ_GEMM_AMX ? SQ_CODES_STEP : SQ_CODES_WORD;
    const size_t k = round_up(g->w->k, unit);
    return (struct layout){.dot = dot,
                           .k = k,
                           .n_groups = n_groups,
                           // an odd number of cache lines: tokens of a tile share no set
                           .row = (round_up(k * dot.nbytes, 64) / 64 | 1) * 64,
                           .plane = k * CHANNELS * dot.nbytes,
                           .start = n_groups * CHANNELS * sizeof(int32_t),
                           .scale = n_groups * CHANNELS * sizeof(float),
                           .w_planes = n_planes(g->w),
                           .x_planes = n_planes(g->x)};
}

// A block of channels: cells and starts of each plane, low and high scales by group,
// [..][CHANNELS]. All parts are multiples of 64 bytes.
static size_t block_nbytes(const struct layout *l)
{
    return l->w_planes * (l->plane + l->start) + 2 * l->scale;
}

static const uint8_t *cells_of(const struct layout *l, const uint8_t *block, unsigned plane)
{
    return block + plane * l->plane;
}

static const int32_t *start_of(const struct layout *l, const uint8_t *block, unsigned plane)
{
    return (const int32_t *)(const void *)(block + l->w_planes * l->plane + plane * l->start);
}

static const float *scales_of(const struct layout *l, const uint8_t *block, bool is_high)
{
    block += l->w_planes * (l->plane + l->start);
    return (const float *)(const void *)(block + is_high * l->scale);
}

// Scratch of a call: planes of a piece of tokens, two rows of codes and scales on their way, and a
// block of channels where those of the whole layer are not given.
static size_t tokens_nbytes(const struct layout *l)
{
    return l->x_planes * ROWS * l->row;
}

static size_t rows_nbytes(const struct layout *l)
{
    return round_up(2 * l->k * sizeof(int16_t) + 2 * l->n_groups * sizeof(float), 64);
}

// One channel of a plane into its cells, and minus the kernel's offset times the sum of each group's
// codes.
static void put_channel(const struct layout *l, size_t group, const int16_t *code, unsigned c,
                        uint8_t *cells, int32_t *start)
{
    const unsigned word = SQ_CODES_WORD / l->dot.nbytes; // codes
    uint8_t *at = cells + c * SQ_CODES_WORD;
    for (size_t i = 0; i < l->k; i += word, at += CHANNELS * SQ_CODES_WORD) {
        const int8_t narrow[SQ_CODES_WORD] = {(int8_t)code[i], (int8_t)code[i + 1],
                                              (int8_t)code[i + 2 % word],
                                              (int8_t)code[i + 3 % word]};
        memcpy(at, l->dot.nbytes == 2 ? (const void *)(code + i) : narrow, SQ_CODES_WORD);
    }
    for (size_t g = 0; l->dot.offset && g < l->n_groups; g++) {
        int32_t sum = 0;
        for (size_t i = g * group; i < (g + 1) * group; i++)
            sum += code[i];
        start[g * CHANNELS + c] = -l->dot.offset * sum;
    }
}

static void load_channels(const struct layout *l, const struct sq_gemm_codes *g, size_t channel,
                          int16_t *rows, uint8_t *block)
{
    const size_t end = g->n1 ? g->n1 : g->w->n;
    const unsigned n = end - channel < CHANNELS ? (unsigned)(end - channel) : CHANNELS;
    float *const scale = (float *)(void *)(rows + 2 * l->k);
    uint8_t *const start = block + l->w_planes * l->plane;
    float *const s_lo = (float *)(void *)(start + l->w_planes * l->start);
    float *const s_hi = s_lo + l->n_groups * CHANNELS;
    memset(block, 0, block_nbytes(l));
    memset(rows, 0, 2 * l->k * sizeof *rows); // and after them
    for (unsigned c = 0; c < n; c++) {
        load_weights(g, channel + c, rows, l->k, scale, scale + l->n_groups);
        for (unsigned p = 0; p < l->w_planes; p++)
            put_channel(l, g->w->group, rows + p * l->k, c, block + p * l->plane,
                        (int32_t *)(void *)(start + p * l->start));
        for (size_t i = 0; i < l->n_groups; i++) {
            s_lo[i * CHANNELS + c] = scale[i];
            s_hi[i * CHANNELS + c] = scale[l->n_groups + i];
        }
    }
}

// A plane of a token: as it is, or narrowed and moved up by the offset.
static void put_token(const struct layout *l, const int16_t *from, uint8_t *to)
{
    if (l->dot.nbytes == 2) {
        memcpy(to, from, l->k * sizeof *from);
        return;
    }
    const int16_t offset = (int16_t)l->dot.offset;
#pragma omp simd
    for (size_t i = 0; i < l->k; i++)
        to[i] = (uint8_t)(from[i] + offset);
}

static void put_act(const struct layout *l, const int8_t *act, size_t k, uint8_t *to)
{
    if (l->dot.nbytes == 2) {
        int16_t *wide = (int16_t *)(void *)to;
        for (size_t i = 0; i < l->k; i++)
            wide[i] = i < k ? act[i] : 0;
        return;
    }
    const uint8_t offset = (uint8_t)l->dot.offset;
#pragma omp simd
    for (size_t i = 0; i < k; i++)
        to[i] = (uint8_t)(act[i] ^ offset); // 128 is the sign
    memset(to + k, offset, l->k - k);
}

// n <= PIECE tokens as planes [planes][ROWS][row]; rows up to a whole tile are of no meaning.
static void load_tokens(const struct layout *l, const struct sq_gemm_codes *g, size_t token,
                        size_t n, int16_t *rows, uint8_t *out)
{
    memset(rows, 0, 2 * l->k * sizeof *rows);
    for (size_t t = 0; t < n; t++) {
        if (g->act) {
            put_act(l, g->act + (token + t) * g->x->k, g->x->k, out + t * l->row);
            continue;
        }
        load_planes(g->x, token + t, rows, l->k);
        for (unsigned p = 0; p < l->x_planes; p++)
            put_token(l, rows + p * l->k, out + (p * ROWS + t) * l->row);
    }
    for (unsigned p = 0; p < l->x_planes; p++)
        memset(out + (p * ROWS + n) * l->row, 0, (round_up(n, TOKENS) - n) * l->row);
}

// ---- blocks ---------------------------------------------------------------------------------

// A piece of tokens times a block of channels.
struct block {
    const uint8_t *x, *w; // planes of the first token, a block of channels
    size_t token, channel, n_tokens;
    unsigned n_channels;
};

static void store_integers(const struct sq_gemm_codes *j, const struct block *b, size_t t,
                           unsigned n, size_t g, sq_codes_sums *lo, sq_codes_sums *hi)
{
    const size_t n_groups = j->w->k / j->w->group;
    for (unsigned i = 0; i < n; i++)
        for (unsigned c = 0; c < b->n_channels; c++) {
            const size_t at = ((b->token + t + i) * j->w->n + b->channel + c) * n_groups + g;
            if (j->p_lo)
                j->p_lo[at] = lo[i][c];
            if (j->p_hi)
                j->p_hi[at] = hi[i][c];
        }
}

// The integers of group g of n tokens from t on, from plane x of the tokens and plane w of the
// channels.
static void dot_group(const struct layout *l, const struct sq_codes *w, const struct block *b,
                      size_t g, size_t t, unsigned n, unsigned x_plane, unsigned w_plane,
                      sq_codes_sums *sum)
{
    const size_t at = g * w->group, left = at < w->k_orig ? w->k_orig - at : 0;
    const size_t len = left < w->group ? left : w->group; // codes of padding are 0
    const size_t unit = l->dot.kernel == SQ_GEMM_AMX ? SQ_CODES_STEP : SQ_CODES_WORD;
    const struct sq_codes_tile tile = {
        .x = b->x + (x_plane * ROWS + t) * l->row + at * l->dot.nbytes,
        .stride = l->row,
        .n_tokens = n,
        .cell = cells_of(l, b->w, w_plane) + at * CHANNELS * l->dot.nbytes,
        .n = round_up(len * l->dot.nbytes, unit) / SQ_CODES_WORD,
        .start = start_of(l, b->w, w_plane) + g * CHANNELS,
    };
    l->dot.dot(&tile, sum);
}

// A group at a time, so that its cells stay in the first cache for all tokens.
static void do_block(const struct sq_gemm_codes *j, const struct layout *l, const struct block *b,
                     sq_codes_combine_fn *combine)
{
    const bool has_two = l->w_planes + l->x_planes > 2;
    const float *s_lo = scales_of(l, b->w, false), *s_hi = scales_of(l, b->w, true);
    _Alignas(64) sq_codes_outputs y[PIECE];
    _Alignas(64) sq_codes_sums lo[TOKENS], hi[TOKENS] = {{0}};
    memset(y, 0, b->n_tokens * sizeof *y);
    for (size_t g = 0; g < l->n_groups; g++, s_lo += CHANNELS, s_hi += CHANNELS)
        for (size_t t = 0; t < b->n_tokens; t += l->dot.n_tokens) {
            const size_t left = b->n_tokens - t;
            const unsigned n = left < l->dot.n_tokens ? (unsigned)left : l->dot.n_tokens;
            dot_group(l, j->w, b, g, t, n, 0, 0, lo);
            if (has_two)
                dot_group(l, j->w, b, g, t, n, l->x_planes - 1, l->w_planes - 1, hi);
            combine(j, b->token + t, n, s_lo, s_hi, lo, hi, y + t);
            if (j->p_lo || j->p_hi)
                store_integers(j, b, t, n, g, lo, hi);
        }
    sq_codes_finish_of()(j, b->token, b->n_tokens, b->channel, b->n_channels, y);
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
    load_channels(&l, g, block * CHANNELS, scratch, (uint8_t *)cells + block * block_nbytes(&l));
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
    const size_t end = g->n1 ? g->n1 : g->w->n;
    sq_codes_combine_fn *const combine = sq_codes_combine_of();
    int16_t *rows = scratch;
    uint8_t *x = (uint8_t *)scratch + rows_nbytes(&l), *own = x + tokens_nbytes(&l);
    assert((uintptr_t)scratch % 64 == 0 && (uintptr_t)g->cells % 64 == 0);
    assert(!g->cells || g->n0 % CHANNELS == 0);
    sq_codes_dot_begin(&l.dot);
    for (size_t t = m0; t < m1; t += PIECE) {
        struct block b = {.x = x, .token = t, .n_tokens = m1 - t < PIECE ? m1 - t : PIECE};
        load_tokens(&l, g, t, b.n_tokens, rows, x);
        for (size_t c = g->n0; c < end; c += CHANNELS) {
            b.channel = c;
            b.n_channels = end - c < CHANNELS ? (unsigned)(end - c) : CHANNELS;
            b.w = own;
            if (g->cells)
                b.w = (const uint8_t *)g->cells + c / CHANNELS * block_nbytes(&l);
            else
                load_channels(&l, g, c, rows, own);
            do_block(g, &l, &b, combine);
        }
    }
    sq_codes_dot_end(&l.dot);
}
