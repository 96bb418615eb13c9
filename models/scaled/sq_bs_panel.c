// SPDX-License-Identifier: Apache-2.0
// Plans which planes and passes a product needs, and fills panels and groups (sq_bs_panel.h).
#include "models/scaled/sq_bs_panel.h"

#include <assert.h>
#include <string.h>

#include "models/number/sq_lanes.h"
#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_lane.h"
#include "models/scaled/sq_bs_table.h"

enum {
    CHANNELS = SQ_BS_CHANNELS,
    TOKENS = SQ_BS_TOKENS,
    OFFSET = 128,    // of unsigned bytes
    GATHER_MAX = 4,  // high elements of a block: one word of places
    TABLE_HIGH = 32, // place of the high elements in the table of a token
};

// ---- the plan -------------------------------------------------------------------------------

static size_t round_up(size_t n)
{
    return (n + 63) / 64 * 64;
}

// What is added to elements: of weights, which are unsigned bytes, and of tokens, signed ones.
static int offset_w(const struct sq_bs_format *f)
{
    return OFFSET + f->kind->offset;
}

static int offset_x(const struct sq_bs_format *f)
{
    return f->kind->offset;
}

// The largest significand of a scale of a block.
static int64_t most_scale(const struct sq_bs_format *f, unsigned part)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    return t && sq_bs_scale_is_float(t->scale)
               ? (t->scale == SQ_BS_SCALE_F32   ? (INT64_C(1) << 24) - 1
                  : t->scale == SQ_BS_SCALE_F16 ? (1 << 11) - 1
                                                : (1 << 8) - 1)
           : sq_bs_has_scale(f, part) && !sq_bs_is_e8m0(f) ? 15
                                                           : 1;
}

// Whether the sum of a block times both scales always fits 24 bits, and no token has an offset.
static bool is_exact(const struct sq_bs_plan *plan, unsigned p, unsigned q)
{
    const struct sq_bs_format *w = &plan->w_format, *x = &plan->x_format;
    const size_t n_w = p ? w->high_per_block : plan->block;
    const size_t n_x = q ? x->high_per_block : plan->block;
    // In binary64: of two E5M2 it is above 2^64, and below 2^24 it is exact.
    const double sum = (double)(n_w < n_x ? n_w : n_x) * (double)sq_bs_most(w, p) *
                       (double)sq_bs_most(x, q) * (double)most_scale(w, p) *
                       (double)most_scale(x, q);
    return offset_x(w) == 0 && offset_x(x) == 0 && sum <= 0x1p24;
}

static bool fits_int8(const struct sq_bs_format *f, unsigned part)
{
    return sq_bs_most(f, part) <= OFFSET + f->kind->offset;
}

static enum sq_bs_form form_of(const struct sq_bs_plan *plan, unsigned p, unsigned q)
{
    const struct sq_bs_format *w = &plan->w_format, *x = &plan->x_format;
    if (sq_bs_is_wide(w, p) || sq_bs_is_wide(x, q))
        return SQ_BS_WIDE;
    return sq_bs_has_int8(plan->kernel) && fits_int8(w, p) && fits_int8(x, q) ? SQ_BS_INT8
                                                                              : SQ_BS_INT16;
}

static unsigned add_plane(struct sq_bs_plane *plane, unsigned *n, enum sq_bs_form form,
                          unsigned part)
{
    for (unsigned i = 0; i < *n; i++)
        if (plane[i].form == form && plane[i].part == part)
            return i;
    assert(*n < SQ_BS_PLANES);
    plane[*n] = (struct sq_bs_plane){.form = form, .part = part};
    return (*n)++;
}

static void add_pass(struct sq_bs_plan *plan, enum sq_bs_form form, unsigned p, unsigned q)
{
    struct sq_bs_pass *pass = &plan->pass[plan->n_passes++];
    *pass = (struct sq_bs_pass){.form = form, .p = p, .q = q};
    pass->is_rounded = !is_exact(plan, p, q);
    pass->w = add_plane(plan->w, &plan->n_w, form == SQ_BS_SPARSE ? SQ_BS_INT8 : form, p);
    pass->x = add_plane(plan->x, &plan->n_x, form, form == SQ_BS_GATHER ? 0 : q);
}

static size_t w_block(const struct sq_bs_plan *plan, enum sq_bs_form form)
{
    const size_t b = plan->block;
    return CHANNELS * (form == SQ_BS_INT8    ? b + 2 * sizeof(float)
                       : form == SQ_BS_INT16 ? 2 * b + sizeof(float)
                       : form == SQ_BS_WIDE  ? 4 * b + sizeof(float)
                                             : 5 * sizeof(float));
}

static size_t x_block(const struct sq_bs_plan *plan, enum sq_bs_form form)
{
    const size_t b = plan->block;
    return TOKENS * (form == SQ_BS_INT8     ? b + 3 * sizeof(float)
                     : form == SQ_BS_INT16  ? 2 * b + sizeof(float)
                     : form == SQ_BS_WIDE   ? 8 * b + sizeof(float)
                     : form == SQ_BS_SPARSE ? 8 * plan->x_format.high_per_block + 3 * sizeof(float)
                                            : 64 + 4 * sizeof(float));
}

// High by high elements, as integers over all blocks.
static bool is_summed(const struct sq_bs_plan *plan)
{
    const struct sq_bs_format *w = &plan->w_format, *x = &plan->x_format;
    const int64_t n = (int64_t)plan->n_blocks * w->high_per_block;
    return !w->is_high_block && !x->is_high_block &&
           n * sq_bs_most(w, 1) * sq_bs_most(x, 1) <= INT64_C(1) << 24;
}

static void add_passes(struct sq_bs_plan *plan)
{
    const unsigned n_parts = sq_bs_n_parts(&plan->w_format);
    if (n_parts == 2 && form_of(plan, 1, 1) == SQ_BS_INT8 && sq_bs_has_gather(plan->kernel) &&
        plan->w_format.high_per_block <= GATHER_MAX &&
        plan->x_format.high_per_block <= GATHER_MAX) {
        add_pass(plan, SQ_BS_INT8, 0, 0);
        add_pass(plan, SQ_BS_GATHER, 1, 0);
        add_pass(plan, SQ_BS_SPARSE, 0, 1);
        plan->is_summed = is_summed(plan);
        return;
    }
    for (unsigned q = 0; q < n_parts; q++)
        for (unsigned p = 0; p < n_parts; p++)
            add_pass(plan, form_of(plan, p, q), p, q);
}

struct sq_bs_plan sq_bs_plan_of(const struct sq_bs_format *w, const struct sq_bs_format *x,
                                size_t k, enum sq_gemm_kernel kernel)
{
    if (kernel == SQ_GEMM_AUTO)
        for (kernel = SQ_GEMM_N_KERNELS - 1; !sq_gemm_kernel_is_supported(kernel);)
            kernel--;
    assert(sq_gemm_kernel_is_supported(kernel));
    if (kernel == SQ_GEMM_AMX) // it has nothing for these
        kernel = SQ_GEMM_VNNI;
    assert(w->block == x->block && sq_bs_n_parts(w) == sq_bs_n_parts(x));
    struct sq_bs_plan plan = {.w_format = *w,
                              .x_format = *x,
                              .kernel = kernel,
                              .k = k,
                              .n_blocks = k / w->block,
                              .block = w->block};
    add_passes(&plan);
    plan.panel = sizeof(struct sq_bs_panel_head);
    for (unsigned i = 0; i < plan.n_w; i++) {
        plan.w[i].at = plan.panel;
        plan.w[i].block = w_block(&plan, plan.w[i].form);
        plan.panel += round_up(plan.n_blocks * plan.w[i].block);
    }
    plan.group = sizeof(struct sq_bs_group_head);
    for (unsigned i = 0; i < plan.n_x; i++) {
        plan.x[i].at = plan.group;
        plan.x[i].block = x_block(&plan, plan.x[i].form);
        plan.group += round_up(plan.n_blocks * plan.x[i].block);
    }
    return plan;
}

// ---- loading --------------------------------------------------------------------------------

// What a row passes through: the tables of its format and a lane.
struct own {
    struct sq_bs_tables *tables;
    struct sq_bs_lane lane;
};

size_t sq_bs_row_scratch(const struct sq_bs_plan *plan)
{
    return round_up(sizeof(struct sq_bs_tables)) + sq_bs_lane_nbytes(plan->k, plan->n_blocks);
}

static struct own own_in(const struct sq_bs_plan *plan, const struct sq_bs_format *f, void *memory)
{
    uint8_t *lane = (uint8_t *)memory + round_up(sizeof(struct sq_bs_tables));
    const struct own own = {memory, sq_bs_lane_in(lane, plan->k, plan->n_blocks)};
    sq_bs_tables_of(f, own.tables);
    return own;
}

static float *floats(uint8_t *at)
{
    return (float *)(void *)at;
}

static int32_t *integers(uint8_t *at)
{
    return (int32_t *)(void *)at;
}

// One row of a plane on its way: words of 4 bytes, `lanes` rows beside each other.
struct target {
    uint8_t *to;  // the first block
    size_t block; // bytes
    size_t lanes, lane;
};

// Words of the blocks, from consecutive ones; n_words of a block.
static void put_words(const struct sq_bs_plan *plan, const void *words, size_t n_words,
                      struct target at)
{
    const uint8_t *from = words;
    for (size_t j = 0; j < plan->n_blocks; j++) {
        uint8_t *to = at.to + j * at.block + 4 * at.lane;
        for (size_t i = 0; i < n_words; i++, from += 4, to += 4 * at.lanes)
            memcpy(to, from, 4);
    }
}

static void put_values(const struct sq_bs_plan *plan, const double *value, bool is_double,
                       struct target at)
{
    for (size_t j = 0; j < plan->n_blocks; j++, value += plan->block) {
        uint8_t *to = at.to + j * at.block;
        for (size_t i = 0; i < plan->block; i++)
            if (is_double)
                ((double *)(void *)to)[i * at.lanes + at.lane] = value[i];
            else
                floats(to)[i * at.lanes + at.lane] = (float)value[i];
    }
}

// One number of each block, `offset` bytes into it.
static void put_floats(const struct sq_bs_plan *plan, const float *x, size_t offset,
                       struct target at)
{
    for (size_t j = 0; j < plan->n_blocks; j++)
        floats(at.to + j * at.block + offset)[at.lane] = x[j];
}

// ---- weights --------------------------------------------------------------------------------

static void put_weights_int8(const struct sq_bs_plan *plan, unsigned part, struct sq_bs_lane *l,
                             struct target at)
{
    const int offset = offset_w(&plan->w_format), own = offset_x(&plan->x_format);
    const size_t scales = plan->block * CHANNELS;
    sq_bs_lane_bytes(l->x[part], plan->k, offset, l->byte);
    put_words(plan, l->byte, plan->block / 4, at);
    put_floats(plan, l->scale[part], scales, at);
    for (size_t j = 0; j < plan->n_blocks; j++)
        floats(at.to + j * at.block + scales)[CHANNELS + at.lane] =
            SQ_BS_MAGIC + (float)(own * l->sum[part][j]);
}

// Places and codes of the high elements.
static void put_gather(const struct sq_bs_plan *plan, const struct sq_bs_lane *l, struct target at,
                       struct sq_bs_panel_head *head)
{
    const bool is_both = plan->w_format.high_per_block <= 2; // in one word: by low, by high
    for (size_t j = 0; j < plan->n_blocks; j++) {
        uint8_t *to = at.to + j * at.block + 4 * at.lane;
        uint8_t place[4] = {0};
        int8_t by_low[4] = {0}, by_high[4] = {0};
        unsigned n = 0;
        for (uint32_t left = l->mark[j]; left && n < GATHER_MAX; left &= left - 1, n++) {
            const unsigned i = (unsigned)__builtin_ctz(left);
            place[n] = (uint8_t)i;
            by_low[n] = (int8_t)l->x[1][j * plan->block + i];
            if (is_both && n < 2) {
                place[n + 2] = (uint8_t)(i + TABLE_HIGH);
                by_high[n + 2] = by_low[n];
            } else {
                by_high[n] = by_low[n];
            }
        }
        memcpy(to, place, sizeof place);
        memcpy(to + 4 * CHANNELS, by_low, sizeof by_low);
        memcpy(to + 8 * CHANNELS, by_high, sizeof by_high);
        *integers(to + 12 * CHANNELS) = SQ_BS_MAGIC_BITS - OFFSET * l->sum[1][j];
        *floats(to + 16 * CHANNELS) = l->scale[1][j];
        head->high_offset[at.lane] += OFFSET * l->sum[1][j];
    }
}

static void put_weights(const struct sq_bs_plan *plan, const struct sq_bs_plane *plane,
                        const struct sq_bs *w, size_t row, struct own *own, struct target at,
                        struct sq_bs_panel_head *head)
{
    struct sq_bs_lane *l = &own->lane;
    const size_t b = plan->block;
    switch (plane->form) {
    case SQ_BS_INT8:
        put_weights_int8(plan, plane->part, l, at);
        break;
    case SQ_BS_INT16:
        put_words(plan, l->x[plane->part], b / 2, at);
        put_floats(plan, l->scale[plane->part], 2 * b * CHANNELS, at);
        break;
    case SQ_BS_WIDE:
        sq_bs_lane_values(l, w, row, plane->part, own->tables);
        put_values(plan, l->value, false, at);
        put_floats(plan, l->scale[plane->part], 4 * b * CHANNELS, at);
        break;
    default:
        put_gather(plan, l, at, head);
    }
}

void sq_bs_load_panel(const struct sq_bs_plan *plan, const struct sq_bs *w, size_t row, void *panel,
                      void *scratch)
{
    struct own own = own_in(plan, &plan->w_format, scratch);
    struct sq_bs_panel_head *head = panel;
    memset(head, 0, sizeof *head);
    for (unsigned c = 0; c < CHANNELS; c++) {
        sq_bs_lane_load(&own.lane, w, row + c, own.tables);
        head->reach[c] = own.lane.reach;
        for (unsigned i = 0; i < plan->n_w; i++) {
            const struct target at = {(uint8_t *)panel + plan->w[i].at, plan->w[i].block, CHANNELS,
                                      c};
            put_weights(plan, &plan->w[i], w, row + c, &own, at, head);
        }
    }
}

size_t sq_bs_widened(const struct sq_bs_plan *plan)
{
    return CHANNELS * (plan->block * sizeof(double) + sizeof(float));
}

static inline __attribute__((always_inline)) void widen_body(const float *from, size_t n,
                                                             double *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (double)from[i];
}

SQ_LANES_EACH(void, , widen, (const float *from, size_t n, double *to), from, n, to)

void sq_bs_widen(const struct sq_bs_plan *plan, const uint8_t *blocks, size_t n, uint8_t *out)
{
    const size_t elements = plan->block * CHANNELS;
    for (size_t j = 0; j < n; j++, out += sq_bs_widened(plan)) {
        const float *from = (const float *)(const void *)blocks + j * (elements + CHANNELS);
        double *to = (double *)(void *)out;
        SQ_LANES_BEST(widen)(from, elements, to);
        memcpy(to + elements, from + elements, CHANNELS * sizeof *from);
    }
}

// ---- tokens ---------------------------------------------------------------------------------

// Starts, scales and what MAGIC becomes by them, [3][TOKENS], `offset` bytes into a block. by: the
// offset of the weights; own: the sum of those of the token's elements.
static void put_starts(const struct sq_bs_plan *plan, const struct sq_bs_lane *l, unsigned part,
                       int by, int own, size_t offset, struct target at)
{
    for (size_t j = 0; j < plan->n_blocks; j++) {
        uint8_t *to = at.to + j * at.block + offset;
        integers(to)[at.lane] = SQ_BS_MAGIC_BITS - by * (l->sum[part][j] + own);
        floats(to)[TOKENS + at.lane] = l->scale[part][j];
        floats(to)[2 * TOKENS + at.lane] = -SQ_BS_MAGIC * l->scale[part][j];
    }
}

static void put_sparse(const struct sq_bs_plan *plan, const struct sq_bs_lane *l, struct target at)
{
    const unsigned k = plan->x_format.high_per_block;
    for (size_t j = 0; j < plan->n_blocks; j++) {
        int32_t *words = integers(at.to + j * at.block), *places = words + k * TOKENS;
        uint32_t left = l->mark[j];
        for (unsigned n = 0; n < k; n++, left &= left - 1) {
            const unsigned i = left ? (unsigned)__builtin_ctz(left) : 0;
            const uint32_t code = left ? (uint8_t)l->x[1][j * plan->block + i] : 0;
            const uint32_t word = code << 8 * (i % 4);
            memcpy(&words[n * TOKENS + at.lane], &word, sizeof word);
            places[n * TOKENS + at.lane] = (int32_t)(i / 4 * 4 * CHANNELS);
        }
    }
    put_starts(plan, l, 1, OFFSET, 0, 8 * k * TOKENS, at);
}

static void put_table(const struct sq_bs_plan *plan, struct sq_bs_lane *l, struct target at)
{
    const size_t b = plan->block;
    for (unsigned p = 0; p < SQ_BS_PARTS; p++) {
        sq_bs_lane_bytes(l->x[p], plan->k, OFFSET, l->byte);
        for (size_t j = 0; j < plan->n_blocks; j++) {
            uint8_t *block = at.to + j * at.block;
            memcpy(block + 64 * at.lane + p * TABLE_HIGH, l->byte + j * b, b);
            float *scales = floats(block + 64 * TOKENS) + 2 * p * TOKENS;
            scales[at.lane] = l->scale[p][j];
            scales[TOKENS + at.lane] = -SQ_BS_MAGIC * l->scale[p][j];
        }
    }
}

static void put_tokens(const struct sq_bs_plan *plan, const struct sq_bs_plane *plane,
                       const struct sq_bs *x, size_t row, struct own *own, struct target at)
{
    struct sq_bs_lane *l = &own->lane;
    const size_t b = plan->block;
    switch (plane->form) {
    case SQ_BS_INT8: {
        const int by = offset_w(&plan->w_format), offset = offset_x(&plan->x_format);
        sq_bs_lane_bytes(l->x[plane->part], plan->k, offset, l->byte);
        put_words(plan, l->byte, b / 4, at);
        put_starts(plan, l, plane->part, by, offset * (int)b, b * TOKENS, at);
        break;
    }
    case SQ_BS_INT16:
        put_words(plan, l->x[plane->part], b / 2, at);
        put_floats(plan, l->scale[plane->part], 2 * b * TOKENS, at);
        break;
    case SQ_BS_WIDE:
        sq_bs_lane_values(l, x, row, plane->part, own->tables);
        put_values(plan, l->value, true, at);
        put_floats(plan, l->scale[plane->part], 8 * b * TOKENS, at);
        break;
    case SQ_BS_SPARSE:
        put_sparse(plan, l, at);
        break;
    default:
        put_table(plan, l, at);
    }
}

void sq_bs_load_groups(const struct sq_bs_plan *plan, const struct sq_bs *x, size_t row, size_t n,
                       void *groups, void *scratch)
{
    struct own own = own_in(plan, &plan->x_format, scratch);
    for (size_t j = 0; j < n * TOKENS; j++) {
        uint8_t *group = (uint8_t *)groups + j / TOKENS * plan->group;
        sq_bs_lane_load(&own.lane, x, row + j, own.tables);
        ((struct sq_bs_group_head *)(void *)group)->reach[j % TOKENS] = own.lane.reach;
        for (unsigned i = 0; i < plan->n_x; i++) {
            const struct target at = {group + plan->x[i].at, plan->x[i].block, TOKENS, j % TOKENS};
            put_tokens(plan, &plan->x[i], x, row + j, &own, at);
        }
    }
}
