// SPDX-License-Identifier: Apache-2.0
// The loops of a layer. Blocks of a loop are alike but for the first and the last ones. So what follows is kept for one block,
// for two, four, ... of them, and for rows of blocks the same, and looked up where such blocks begin with that state and at
// those places within a page. A place may be another one while no transfer crosses a page.
#include "sim/machine/sq_chip_loops.h"

#include <string.h>

#include "sim/io/sq_checked.h"

enum { ROWS = 0, COLS = 1 };
enum level { INNER, OUTER };
enum { END = 3 }; // blocks at the end of a loop, and steps near it, load and keep other operands

// The step of a cursor of loads; tiles of the axis before it count from the posted job.
struct step {
    uint32_t ahead, groups, beats, is_new[2];
};
struct key {
    uint32_t state, job, load, level, n_log2;
    uint32_t tiles, block[2], groups, beats, chunk, part, cols_outer, even; // of the layer
    struct step at;                                                         // that is loaded
    uint32_t other;                // tiles of the other axis before it
    uint32_t place[SQ_CHIP_KINDS]; // of transfers within a page, where they matter
};
struct entry {
    uint32_t to, load;            // at the end
    struct step at, after;        // that is loaded at the end; the one after it
    uint32_t from[SQ_CHIP_KINDS]; // places
    uint64_t next[SQ_CHIP_KINDS], start[SQ_TOP_OPERANDS]; // what is added to these addresses
    struct sq_chip_stats stats;
};

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static unsigned axis_of(const struct sq_chip_run *r, enum level level)
{
    const unsigned outer = r->loads.q.layer.cols_outer ? COLS : ROWS;
    return level == OUTER ? outer : !outer;
}

// A block of the loop begins with the posted job.
static bool begins(const struct sq_chip_run *r, enum level level)
{
    const struct sq_block_walk *const at = &r->posted.at;
    return at->groups == 0 && at->beats == 0 &&
           (level == INNER || at->done[axis_of(r, INNER)] == 0);
}

// The posted job and the step that is loaded are in the loop, so many blocks before its end, and after its first block.
static bool is_within(const struct sq_chip_run *r, enum level level, uint64_t blocks)
{
    const struct sq_top_layer *const l = &r->loads.q.layer;
    const unsigned axis = axis_of(r, level), outer = axis_of(r, OUTER);
    const uint32_t job = r->posted.at.done[axis], load = r->loads.at.done[axis];
    return r->loads.number && job > 0 && load > 0 &&
           larger(load, job) + blocks * l->block[axis] < l->tiles[axis] &&
           (level == OUTER || r->loads.at.done[outer] == r->posted.at.done[outer]);
}

static uint32_t place_of(uint64_t addr)
{
    return (uint32_t)(addr % SQ_AXI_PAGE);
}

static struct step step_of(const struct sq_chip_run *r, unsigned axis,
                           const struct sq_block_walk *w)
{
    return (struct step){w->done[axis] - r->posted.at.done[axis],
                         w->groups,
                         w->beats,
                         {w->is_new[ROWS], w->is_new[COLS]}};
}

static void set_step(const struct sq_chip_run *r, unsigned axis, const struct step *s,
                     struct sq_block_walk *w)
{
    w->done[axis] = r->posted.at.done[axis] + s->ahead;
    w->groups = s->groups;
    w->beats = s->beats;
    w->is_new[ROWS] = s->is_new[ROWS];
    w->is_new[COLS] = s->is_new[COLS];
}

static uint32_t key_here(struct sq_chip_run *r, enum level level, unsigned n_log2)
{
    const struct sq_sequencer_sim *const q = &r->loads.q;
    const struct sq_top_layer *const l = &q->layer;
    const unsigned axis = axis_of(r, level);
    struct key key = {.state = r->state,
                      .job = r->posted.number,
                      .load = r->loads.number,
                      .level = level,
                      .n_log2 = n_log2,
                      .tiles = level == OUTER ? l->tiles[!axis] : 0,
                      .block = {l->block[ROWS], l->block[COLS]},
                      .groups = l->groups,
                      .beats = l->beats,
                      .chunk = l->chunk,
                      .part = l->part,
                      .cols_outer = l->cols_outer,
                      .at = step_of(r, axis, &r->loads.at),
                      .other = level == OUTER ? r->loads.at.done[!axis] : 0};
    for (unsigned i = 0; i < SQ_CHIP_KINDS; i++) {
        const uint32_t at = place_of(q->next[i]);
        const bool may_matter = level == OUTER ? !r->is_even[i] : r->moves[i] != SQ_CHIP_STAYS;
        const bool is_free = level == INNER && r->moves[i] == SQ_CHIP_ONCE &&
                             at + ((uint64_t)r->once[i] << n_log2) <= SQ_AXI_PAGE;
        key.even |= (uint32_t)r->is_even[i] << i;
        key.place[i] = may_matter && !is_free ? at : SQ_AXI_PAGE;
    }
    return sq_memo_add_key(&r->memo->jobs, &key, sizeof key);
}

// Whether it goes on from here: it ends within the loop, and transfers begin at the same places or cross no page from either.
static bool fits(const struct sq_chip_run *r, enum level level, uint32_t blocks,
                 const struct entry *e)
{
    const struct sq_top_layer *const l = &r->loads.q.layer;
    const unsigned axis = axis_of(r, level);
    const uint32_t job = r->posted.at.done[axis] + blocks * l->block[axis];
    bool is_alike = true;
    for (unsigned i = 0; i < SQ_CHIP_KINDS && level == INNER; i++) {
        const uint32_t at = place_of(r->loads.q.next[i]);
        if (r->moves[i] == SQ_CHIP_ONCE && at != e->from[i])
            is_alike = is_alike && larger(at, e->from[i]) + e->next[i] <= SQ_AXI_PAGE;
    }
    return is_alike && larger(job, job + e->at.ahead) + END * l->block[axis] < l->tiles[axis];
}

static void go_along(struct sq_chip_run *r, enum level level, uint32_t blocks,
                     const struct entry *e)
{
    struct sq_sequencer_sim *const q = &r->loads.q;
    const unsigned axis = axis_of(r, level);
    const uint32_t by = blocks * q->layer.block[axis];
    size_t nbytes;
    for (unsigned i = 0; i < SQ_CHIP_KINDS; i++)
        q->next[i] += e->next[i];
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        q->start[i] += e->start[i];
    r->posted.at.done[axis] += by;
    r->jobs.at.done[axis] += by;
    r->jobs.q.job.done[axis] += by;
    set_step(r, axis, &e->at, &r->loads.at);
    set_step(r, axis, &e->after, &q->load);
    r->loads.number = e->load;
    memcpy(&r->loads.load, sq_memo_key(&r->memo->jobs, e->load, &nbytes), sizeof r->loads.load);
    sq_chip_stats_add(&r->stats, &e->stats, 1);
    r->state = e->to;
}

static bool go(struct sq_chip_run *r, enum level level);

// From one block of the loop to the next.
static bool go_one(struct sq_chip_run *r, enum level level)
{
    bool ok;
    do
        ok = level == OUTER ? go(r, INNER) : r->go(r);
    while (ok && r->jobs.number && !begins(r, level));
    return ok;
}

static struct entry begin_entry(const struct sq_chip_run *r)
{
    const struct sq_sequencer_sim *const q = &r->loads.q;
    struct entry e = {.stats = r->stats};
    memcpy(e.next, q->next, sizeof e.next);
    memcpy(e.start, q->start, sizeof e.start);
    for (unsigned i = 0; i < SQ_CHIP_KINDS; i++)
        e.from[i] = place_of(q->next[i]);
    return e;
}

static bool keep(struct sq_chip_run *r, enum level level, uint32_t key, struct entry *e)
{
    const struct sq_sequencer_sim *const q = &r->loads.q;
    const unsigned axis = axis_of(r, level);
    e->to = r->state;
    e->load = r->loads.number;
    e->at = step_of(r, axis, &r->loads.at);
    e->after = step_of(r, axis, &q->load);
    e->stats = sq_chip_stats_since(&r->stats, &e->stats);
    for (unsigned i = 0; i < SQ_CHIP_KINDS; i++)
        e->next[i] = q->next[i] - e->next[i];
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        e->start[i] = q->start[i] - e->start[i];
    return sq_memo_put(&r->memo->jobs, key, e, sizeof *e);
}

// 2^n_log2 blocks further, or those of them that are within the loop: *gone. False: no memory.
static bool go_many(struct sq_chip_run *r, enum level level, unsigned n_log2, uint32_t *gone)
{
    const struct sq_memo *const m = &r->memo->jobs;
    const uint32_t blocks = 1u << n_log2, job = r->posted.number, forgotten = r->n_forgotten;
    *gone = 0;
    if (!is_within(r, level, (uint64_t)blocks + END - 1))
        return true;
    const uint32_t key = key_here(r, level, n_log2);
    uint32_t i = sq_memo_first(m, key), half = 0;
    while (i && !fits(r, level, blocks, sq_memo_entry(m, i)))
        i = sq_memo_next(m, i);
    if (i) {
        *gone = blocks;
        go_along(r, level, blocks, sq_memo_entry(m, i));
        return true;
    }
    struct entry e = begin_entry(r);
    bool ok = key != 0;
    if (n_log2 == 0) {
        ok = ok && go_one(r, level);
        *gone = 1;
    } else {
        ok = ok && go_many(r, level, n_log2 - 1, gone);
        ok = ok && (*gone == 0 || go_many(r, level, n_log2 - 1, &half));
        *gone += half;
    }
    if (!ok || *gone < blocks || r->n_forgotten != forgotten || r->posted.number != job ||
        !is_within(r, level, END))
        return ok;
    return keep(r, level, key, &e);
}

// As many blocks further as are alike, or one.
static bool go(struct sq_chip_run *r, enum level level)
{
    unsigned n_log2 = 0;
    uint32_t gone;
    while (is_within(r, level, (UINT64_C(2) << n_log2) + END - 1))
        n_log2++;
    return go_many(r, level, n_log2, &gone) && (gone > 0 || go_one(r, level));
}

bool sq_chip_loops_run(struct sq_chip_run *r)
{
    bool ok = true;
    while (ok && r->jobs.number)
        ok = go(r, OUTER);
    return ok;
}

// ---- a layer ----------------------------------------------------------------------------------------

// Beats of the bus of the transfers of a kind: of all the largest, and what divides them and their addresses.
static bool is_even(const struct sq_chip_run *r, unsigned kind)
{
    const struct sq_sequencer_sim *const q = &r->loads.q;
    const struct sq_top_layer *const l = &q->layer;
    const uint32_t page = r->setup.page, most = r->setup.max_burst;
    uint32_t unit = place_of(l->addr[kind]) / r->setup.nbytes, longest = 0;
    for (unsigned i = 0; i < 8; i++) {
        const uint32_t rows = i & 1 ? l->tiles[ROWS] % l->block[ROWS] : l->block[ROWS];
        const uint32_t cols = i & 2 ? l->tiles[COLS] % l->block[COLS] : l->block[COLS];
        const uint32_t groups = i & 4 ? l->groups % l->chunk : l->chunk;
        const uint32_t beats = !l->part ? groups * l->beats : i & 4 ? l->beats % l->part : l->part;
        const uint32_t scales = r->setup.is_scaled ? cols : cols * (l->part ? 1 : groups);
        const uint32_t n[] = {rows * beats, rows, cols * beats, scales, rows * cols};
        const uint32_t all = (uint32_t)sq_top_transfer(&q->room, kind, n[kind]);
        unit = (uint32_t)sq_gcd(unit, all);
        longest = larger(longest, all);
    }
    unit = (uint32_t)sq_gcd(unit, page);
    return page % most == 0 && (unit % most == 0 || longest == unit);
}

void sq_chip_loops_init(struct sq_chip_run *r)
{
    const struct sq_sequencer_sim *const q = &r->loads.q;
    const struct sq_top_layer *const l = &q->layer;
    const bool is_whole = sq_block_walk_is_whole(l);
    const struct sq_top_step step = {
        {l->block[ROWS], l->block[COLS]}, l->chunk, l->part ? l->part : l->chunk * l->beats};
    for (unsigned i = 0; i < SQ_CHIP_KINDS; i++) {
        const bool is_once = i == SQ_TOP_STORE || is_whole || sq_top_serves_chunks(&q->room, i) ||
                             (i == SQ_TOP_COL_SCALE && l->part > 0 && l->groups == 1);
        const bool stays =
            i != SQ_TOP_STORE && (i >= SQ_TOP_WEIGHT) == axis_of(r, OUTER) && is_once;
        const uint64_t beats = sq_top_step_beats(&q->room, l, &step, i);
        const uint64_t nbytes = sq_top_transfer(&q->room, i, beats) * q->room.nbytes;
        r->is_even[i] = is_even(r, i);
        r->once[i] = nbytes < SQ_AXI_PAGE ? (uint32_t)nbytes : SQ_AXI_PAGE;
        r->moves[i] = r->is_even[i] || stays            ? SQ_CHIP_STAYS
                      : is_once && nbytes < SQ_AXI_PAGE ? SQ_CHIP_ONCE
                                                        : SQ_CHIP_OFTEN;
    }
}
