// SPDX-License-Identifier: Apache-2.0
// Products of block-scaled operands (sq_bs.h, SPEC Q.7): the order of the loops around those of
// sq_bs_dot.h.
//
//   for a piece of tokens             its groups stay in the second cache
//     for a panel of channels
//       for each pass                 a pair of parts; its A of the whole piece starts at 0
//         for a run of blocks         of the panel, in the first cache
//           for a group of tokens     the tile
//       Y of the piece and the panel
#include <assert.h>
#include <float.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_lanes.h"
#include "models/scaled/sq_bs_panel.h"
#include "models/scaled/sq_bs_plain.h"

enum {
    CHANNELS = SQ_BS_CHANNELS,
    TOKENS = SQ_BS_TOKENS,
    GROUPS = 22,           // of a piece: 132 tokens
    RUN_NBYTES = 20 << 10, // of a panel at a time
    TILE = TOKENS * CHANNELS,
};

static size_t round_up(size_t n)
{
    return (n + 63) / 64 * 64;
}

static size_t n_panels(const struct sq_bs *w)
{
    return (w->n + CHANNELS - 1) / CHANNELS;
}

static size_t groups_of(size_t m)
{
    return sq_min_size((m + TOKENS - 1) / TOKENS, GROUPS);
}

static struct sq_bs_plan plan_of(const struct sq_bs_product *g)
{
    const struct sq_bs_format *x = g->x ? &g->x->f : &g->w->f;
    return sq_bs_plan_of(&g->w->f, x, g->w->k, (enum sq_gemm_kernel)g->kernel);
}

// ---- memory ---------------------------------------------------------------------------------

// Blocks of a plane that are multiplied at a time.
static size_t run_of(size_t block)
{
    return block < RUN_NBYTES ? RUN_NBYTES / block : 1;
}

static bool has_wide(const struct sq_bs_plan *plan)
{
    for (unsigned i = 0; i < plan->n_w; i++)
        if (plan->w[i].form == SQ_BS_WIDE)
            return true;
    return false;
}

// The buffers of a call, one after the other.
struct place {
    uint8_t *groups, *panel, *wide; // a piece of tokens; a panel that is not given; a run of it
    void *row, *plain;
    float *a; // [SQ_BS_PASSES][groups][TILE]
    size_t nbytes;
};

static struct place places(const struct sq_bs_product *g, const struct sq_bs_plan *plan, void *at)
{
    const size_t groups = groups_of(g->x->n), widened = sq_bs_widened(plan);
    const size_t nbytes[] = {groups * plan->group,
                             g->panels ? 0 : plan->panel,
                             has_wide(plan) ? round_up(run_of(widened) * widened) : 0,
                             round_up(sq_bs_row_scratch(plan)),
                             round_up(sq_bs_plain_scratch(g->w)),
                             SQ_BS_PASSES * groups * TILE * sizeof(float)};
    uint8_t *to[6];
    size_t sum = 0;
    for (unsigned i = 0; i < 6; i++, sum += nbytes[i - 1])
        to[i] = at ? (uint8_t *)at + sum : NULL;
    return (struct place){.groups = to[0],
                          .panel = to[1],
                          .wide = to[2],
                          .row = to[3],
                          .plain = to[4],
                          .a = (float *)(void *)to[5],
                          .nbytes = sum};
}

size_t sq_bs_panels(const struct sq_bs_product *g)
{
    return n_panels(g->w) * plan_of(g).panel;
}

size_t sq_bs_load_scratch(const struct sq_bs_product *g)
{
    const struct sq_bs_plan plan = plan_of(g);
    return round_up(sq_bs_row_scratch(&plan));
}

void sq_bs_load(const struct sq_bs_product *g, size_t panel, void *panels, void *scratch)
{
    const struct sq_bs_plan plan = plan_of(g);
    sq_bs_load_panel(&plan, g->w, panel * CHANNELS, (uint8_t *)panels + panel * plan.panel,
                     scratch);
}

size_t sq_bs_gemm_scratch(const struct sq_bs_product *g)
{
    const struct sq_bs_plan plan = plan_of(g);
    return places(g, &plan, NULL).nbytes;
}

// ---- one piece of tokens by one panel -------------------------------------------------------

struct piece {
    const struct sq_bs_product *g;
    const struct sq_bs_plan *plan;
    const struct place *at;
    const uint8_t *panel;
    size_t token, channel; // the first
    size_t n_tokens, n_channels, n_groups;
    bool is_normal; // all scales above the blocks
};

static float *a_of(const struct piece *s, unsigned p, unsigned q)
{
    return s->at->a + (2 * q + p) * s->n_groups * TILE;
}

// Blocks j .. j + n of a pass for all groups.
static void do_run(const struct piece *s, const struct sq_bs_pass *pass, sq_bs_dot_fn *dot,
                   size_t j, size_t n)
{
    const struct sq_bs_plane *w = &s->plan->w[pass->w], *x = &s->plan->x[pass->x];
    struct sq_bs_run r = {.w = s->panel + w->at + j * w->block,
                          .w_block = w->block,
                          .x_block = x->block,
                          .n_blocks = n,
                          .block = (unsigned)s->plan->block,
                          .n_high = pass->form == SQ_BS_SPARSE ? s->plan->x_format.high_per_block
                                                               : s->plan->w_format.high_per_block};
    if (pass->form == SQ_BS_WIDE) {
        sq_bs_widen(s->plan, r.w, n, s->at->wide);
        r.w = s->at->wide;
        r.w_block = sq_bs_widened(s->plan);
    }
    for (size_t i = 0; i < s->n_groups; i++) {
        r.x = s->at->groups + i * s->plan->group + x->at + j * x->block;
        r.a = a_of(s, pass->p, pass->q) + i * TILE;
        r.a2 = a_of(s, 1, 1) + i * TILE;
        dot(&r);
    }
}

static void do_pass(const struct piece *s, const struct sq_bs_pass *pass)
{
    sq_bs_dot_fn *const dot =
        sq_bs_dot_of(s->plan->kernel, pass->form, pass->is_rounded, s->plan->is_summed);
    const size_t run =
        run_of(pass->form == SQ_BS_WIDE ? sq_bs_widened(s->plan) : s->plan->w[pass->w].block);
    for (size_t j = 0; j < s->plan->n_blocks; j += run)
        do_run(s, pass, dot, j, sq_min_size(run, s->plan->n_blocks - j));
}

// Sums of high by high elements that are integers become numbers.
static void take_back(const struct piece *s)
{
    const int32_t *offset = ((const struct sq_bs_panel_head *)(const void *)s->panel)->high_offset;
    float *a = a_of(s, 1, 1);
    for (size_t t = 0; t < s->n_groups * TOKENS; t++, a += CHANNELS)
        for (unsigned c = 0; c < CHANNELS; c++) {
            uint32_t sum;
            memcpy(&sum, &a[c], sizeof sum);
            a[c] = (float)(int32_t)(sum - (uint32_t)offset[c]);
        }
}

// ---- outputs --------------------------------------------------------------------------------

// Whether products of scales above the blocks are normal numbers of binary32, so that they need no
// care.
static bool is_normal(const struct sq_bs *c)
{
    for (unsigned p = 0; p < sq_bs_n_parts(&c->f); p++)
        for (size_t i = 0; i < c->n; i++)
            if (!(c->global[p][i] >= 0x1p-60f && c->global[p][i] <= 0x1p60f))
                return false;
    return true;
}

// The outputs of a piece by a panel, from A of all pairs of parts.
struct outputs {
    const float *a[SQ_BS_PASSES], *g_w[SQ_BS_PASSES], *g_x[SQ_BS_PASSES];
    unsigned n_pairs;
    size_t n_tokens, n_channels, stride; // of y
    float *y;
};

#define SCALED(i, c) (a##i[c] * (w##i[c] * x##i))

static inline __attribute__((always_inline)) void one_body(const struct outputs *o, size_t t,
                                                           size_t n)
{
    const float *restrict a0 = o->a[0] + t * CHANNELS, *restrict w0 = o->g_w[0];
    const float x0 = o->g_x[0][t];
    float *restrict y = o->y + t * o->stride;
    for (size_t c = 0; c < n; c++)
        y[c] = 0 + SCALED(0, c);
}

static inline __attribute__((always_inline)) void four_body(const struct outputs *o, size_t t,
                                                            size_t n)
{
    const size_t at = t * CHANNELS;
    const float *restrict a0 = o->a[0] + at, *restrict a1 = o->a[1] + at,
                          *restrict a2 = o->a[2] + at, *restrict a3 = o->a[3] + at;
    const float *restrict w0 = o->g_w[0], *restrict w1 = o->g_w[1], *restrict w2 = o->g_w[2],
                          *restrict w3 = o->g_w[3];
    const float x0 = o->g_x[0][t], x1 = o->g_x[1][t], x2 = o->g_x[2][t], x3 = o->g_x[3][t];
    float *restrict y = o->y + t * o->stride;
    for (size_t c = 0; c < n; c++)
        y[c] = 0 + SCALED(0, c) + SCALED(1, c) + SCALED(2, c) + SCALED(3, c);
}

static inline __attribute__((always_inline)) void outputs_body(const struct outputs *o)
{
    for (size_t t = 0; t < o->n_tokens; t++)
        if (o->n_pairs == 1)
            one_body(o, t, o->n_channels);
        else
            four_body(o, t, o->n_channels);
}

SQ_LANES_EACH(void, , outputs, (const struct outputs *o), o)

static void put_outputs(const struct outputs *o)
{
    SQ_LANES_BEST(outputs)(o);
}

static void put_with_care(const struct outputs *o)
{
    for (size_t t = 0; t < o->n_tokens; t++)
        for (size_t c = 0; c < o->n_channels; c++) {
            float y = 0;
            for (unsigned i = 0; i < o->n_pairs; i++)
                y = sq_combine_add_scaled(y, o->a[i][t * CHANNELS + c], o->g_w[i][c], o->g_x[i][t]);
            o->y[t * o->stride + c] = y;
        }
}

static void do_outputs(const struct piece *s)
{
    const unsigned n_parts = sq_bs_n_parts(&s->plan->w_format);
    struct outputs o = {.n_pairs = n_parts * n_parts,
                        .n_tokens = s->n_tokens,
                        .n_channels = s->n_channels,
                        .stride = s->g->w->n,
                        .y = s->g->y + s->token * s->g->w->n + s->channel};
    for (unsigned i = 0; i < o.n_pairs; i++) { // (0, 0), (1, 0), (0, 1), (1, 1)
        o.a[i] = a_of(s, i % n_parts, i / n_parts);
        o.g_w[i] = s->g->w->global[i % n_parts] + s->channel;
        o.g_x[i] = s->g->x->global[i / n_parts] + s->token;
    }
    if (s->is_normal)
        put_outputs(&o);
    else
        put_with_care(&o);
}

// Whether the loops reach all pairs of rows.
static bool is_near(const struct piece *s)
{
    const struct sq_bs_panel_head *panel = (const void *)s->panel;
    unsigned w = 0, x = 0;
    for (unsigned c = 0; c < CHANNELS; c++)
        w = panel->reach[c] > w ? panel->reach[c] : w;
    for (size_t i = 0; i < s->n_groups; i++) {
        const struct sq_bs_group_head *group = (const void *)(s->at->groups + i * s->plan->group);
        for (unsigned t = 0; t < TOKENS; t++)
            x = group->reach[t] > x ? group->reach[t] : x;
    }
    return w + x <= SQ_BS_REACH;
}

// Pairs of rows that the loops do not reach, again, channels from c.
static void do_plain(const struct piece *s, size_t c)
{
    const uint8_t *reach = ((const struct sq_bs_panel_head *)(const void *)s->panel)->reach + c;
    const size_t n = sq_min_size(s->n_channels - c, SQ_BS_PLAIN_CHANNELS);
    bool is_loaded = false;
    for (size_t t = 0; t < s->n_tokens; t++) {
        const struct sq_bs_group_head *group =
            (const void *)(s->at->groups + t / TOKENS * s->plan->group);
        float *to = s->g->y + (s->token + t) * s->g->w->n + s->channel + c;
        float y[SQ_BS_PLAIN_CHANNELS];
        bool are_near = true;
        for (size_t i = 0; i < n; i++)
            are_near = are_near && reach[i] + group->reach[t % TOKENS] <= SQ_BS_REACH;
        if (are_near)
            continue;
        if (!is_loaded)
            sq_bs_plain_load(s->g->w, s->channel + c, s->at->plain);
        is_loaded = true;
        sq_bs_plain(s->g->w, s->channel + c, s->g->x, s->token + t, s->at->plain, y);
        memcpy(to, y, n * sizeof *y);
    }
}

static void do_piece(const struct piece *s)
{
    const unsigned n_parts = sq_bs_n_parts(&s->plan->w_format);
    for (unsigned q = 0; q < n_parts; q++)
        for (unsigned p = 0; p < n_parts; p++)
            memset(a_of(s, p, q), 0, s->n_groups * TILE * sizeof(float));
    for (unsigned i = 0; i < s->plan->n_passes; i++)
        do_pass(s, &s->plan->pass[i]);
    if (s->plan->is_summed)
        take_back(s);
    do_outputs(s);
    for (size_t c = 0; !is_near(s) && c < s->n_channels; c += SQ_BS_PLAIN_CHANNELS)
        do_plain(s, c);
}

// ---- all of them ----------------------------------------------------------------------------

void sq_bs_gemm(const struct sq_bs_product *g, void *scratch)
{
    const struct sq_bs_plan plan = plan_of(g);
    const struct place at = places(g, &plan, scratch);
    const bool are_normal = is_normal(g->w) && is_normal(g->x);
    assert(g->w->k == g->x->k);
    for (size_t t = 0; t < g->x->n; t += GROUPS * TOKENS) {
        struct piece s = {.g = g, .plan = &plan, .at = &at, .token = t, .is_normal = are_normal};
        s.n_tokens = sq_min_size(g->x->n - t, GROUPS * TOKENS);
        s.n_groups = groups_of(s.n_tokens);
        sq_bs_load_groups(&plan, g->x, t, s.n_groups, at.groups, at.row);
        for (size_t i = 0; i < n_panels(g->w); i++) {
            s.channel = i * CHANNELS;
            s.n_channels = sq_min_size(g->w->n - s.channel, CHANNELS);
            s.panel = g->panels ? (const uint8_t *)g->panels + i * plan.panel : at.panel;
            if (!g->panels)
                sq_bs_load_panel(&plan, g->w, s.channel, at.panel, at.row);
            do_piece(&s);
        }
    }
}
