// SPDX-License-Identifier: Apache-2.0
// Skips periods of blocks, and keeps what happens from one block to the next (sq_chip_loops.h).
#include "sim/machine/sq_chip_loops.h"

#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_checked.h"

enum { ROWS = 0, COLS = 1, PAGE = 4096 };

// The step of a cursor of loads; tiles of the inner axis before it count from the posted job.
struct sq_chip_course_step {
    uint32_t ahead, groups, beats;
    bool is_new[2];
};
// From a block to the next one, both within the inner loop.
struct sq_chip_course {
    uint32_t to, other; // state at its end; another course with its key, or SQ_POOL_NONE
    uint32_t load;
    struct sq_chip_course_step at, behind; // that is loaded at its end; the one behind it
    uint32_t from[SQ_CHIP_KINDS], end[SQ_CHIP_KINDS]; // of the transfers, as places within a page
    uint64_t next[SQ_CHIP_KINDS], start[SQ_TOP_OPERANDS]; // what is added to these addresses
    struct sq_chip_stats stats;
};

// What blocks of the inner loop are like.
struct shape {
    uint32_t block[2], groups, beats, chunk, part, cols_outer, even;
};

// ---- what is kept -----------------------------------------------------------------------------------

void sq_chip_courses_init(struct sq_chip_courses *c)
{
    c->shape.nbytes = sizeof(struct shape);
    c->of.key.nbytes = sizeof(struct sq_chip_course_key);
}

void sq_chip_courses_free(struct sq_chip_courses *c)
{
    sq_pool_free(&c->shape);
    sq_chains_free(&c->of);
    free(c->course);
}

size_t sq_chip_courses_nbytes(const struct sq_chip_courses *c)
{
    return c->n * sizeof *c->course;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

// ---- loops ------------------------------------------------------------------------------------------

static unsigned axis_of(const struct sq_chip_run *r, enum sq_chip_level level)
{
    const unsigned outer = r->loads.q.layer.cols_outer ? COLS : ROWS;
    return level == OUTER ? outer : !outer;
}

// Neither the first block of its loop nor one of the last two, which load and keep other operands.
static bool is_within(const struct sq_chip_run *r, unsigned axis, enum sq_chip_level level)
{
    const struct sq_top_layer *const l = &r->loads.q.layer;
    const uint32_t job = r->posted.at.done[axis], load = r->loads.at.done[axis];
    const uint32_t ahead = (load > job ? load : job) + l->block[axis];
    const unsigned outer = axis_of(r, OUTER);
    return r->loads.number != SQ_POOL_NONE && job > 0 && load > 0 &&
           ahead + 2 * l->block[axis] < l->tiles[axis] &&
           (level == OUTER || r->loads.at.done[outer] == r->posted.at.done[outer]);
}

// What a block begins with, apart from its position on the axis.
struct begin {
    struct sq_chain_key key;
    uint32_t ahead, other, groups, beats, is_new[2]; // of the step that is loaded
};

// The counters that blocks_here adds first: addresses.
enum { NEXT = 0, START = SQ_TOP_OPERANDS + 1 };

static void blocks_here(struct sq_chip_run *r, struct begin *b, unsigned axis,
                        struct sq_skip_here *here)
{
    struct sq_sequencer_sim *const q = &r->loads.q;
    struct sq_block_walk *const load = &r->loads.at, *const job = &r->posted.at;
    const uint32_t tiles = q->layer.tiles[axis], end = tiles - 3 * q->layer.block[axis] + 2;
    b->ahead = load->done[axis] - job->done[axis];
    b->other = load->done[!axis];
    b->groups = load->groups;
    b->beats = load->beats;
    b->is_new[ROWS] = load->is_new[ROWS];
    b->is_new[COLS] = load->is_new[COLS];
    sq_skip_begin(here, b, sizeof *b);
    sq_skip_add(here, SQ_COUNTS(q->next[0], q->next));
    sq_skip_add(here, SQ_COUNTS(q->start[0], q->start));
    sq_skip_add(here, SQ_COUNTS(r->stats.cycles, r->stats));
    sq_skip_add(here, SQ_COUNTS_UP(job->done[axis], end));
    sq_skip_add(here, SQ_COUNTS_UP(load->done[axis], end));
    sq_skip_add(here, SQ_COUNTS(r->jobs.at.done[axis], uint32_t));
    sq_skip_add(here, SQ_COUNTS(r->jobs.q.job.done[axis], uint32_t));
    sq_skip_add(here, SQ_COUNTS(q->load.done[axis], uint32_t));
}

static uint32_t shift_of(const struct sq_chip_run *r, enum sq_chip_level level, unsigned kind)
{
    return (uint32_t)(r->loads.q.next[kind] - r->mark[level].number[NEXT + kind]);
}

// Periods in which transfers of a kind are cut into bursts as they were since the mark.
static uint32_t periods_of(const struct sq_chip_run *r, enum sq_chip_level level, unsigned kind)
{
    const uint32_t by = shift_of(r, level, kind), end = r->loads.end[level][kind];
    const uint32_t start_by =
        kind == SQ_TOP_STORE
            ? by
            : (uint32_t)(r->loads.q.start[kind] - r->mark[level].number[START + kind]);
    if (r->is_even[kind] || (by % PAGE == 0 && start_by % PAGE == 0))
        return UINT32_MAX;
    return by == start_by && end <= PAGE ? (PAGE - end) / by : 0;
}

// A block begins (OUTER: the first of a row of blocks).
static void visit(struct sq_chip_run *r, const struct sq_chain_key *key, enum sq_chip_level level)
{
    struct sq_skip_mark *const mark = &r->mark[level];
    const unsigned axis = axis_of(r, level);
    struct sq_skip_here here;
    struct begin b = {.key = *key};
    if (!is_within(r, axis, level)) {
        mark->valid = false;
        return;
    }
    blocks_here(r, &b, axis, &here);
    uint64_t n = sq_skip_periods(mark, &here);
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS && n > 0; i++) {
        const uint32_t most = periods_of(r, level, i);
        n = most < n ? most : n;
    }
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS && n > 0; i++) {
        uint32_t *const end = &r->loads.end[OUTER][i];
        *end = larger(*end, r->loads.end[level][i] + (uint32_t)n * (shift_of(r, level, i) % PAGE));
    }
    if (sq_skip_go(mark, &here, n))
        memset(r->loads.end[level], 0, sizeof r->loads.end[level]);
}

// ---- courses ----------------------------------------------------------------------------------------

static uint32_t place_of(uint64_t addr)
{
    return (uint32_t)(addr % PAGE);
}

static void key_here(const struct sq_chip_run *r, const struct sq_chain_key *here,
                     struct sq_chip_course_key *key)
{
    const struct sq_sequencer_sim *const q = &r->loads.q;
    const struct sq_block_walk *const load = &r->loads.at;
    const unsigned axis = axis_of(r, INNER);
    *key = (struct sq_chip_course_key){.state = here->state,
                                       .job = here->job,
                                       .load = here->load,
                                       .shape = r->shape,
                                       .ahead = load->done[axis] - r->posted.at.done[axis],
                                       .groups = load->groups,
                                       .beats = load->beats,
                                       .is_new = {load->is_new[ROWS], load->is_new[COLS]}};
    for (unsigned i = 0; i < SQ_CHIP_KINDS; i++) {
        const uint32_t at = place_of(q->next[i]);
        const bool matters =
            r->moves[i] == SQ_CHIP_OFTEN || (r->moves[i] == SQ_CHIP_ONCE && at + r->once[i] > PAGE);
        key->next[i] = matters ? at : PAGE;
    }
}

static struct sq_chip_course_step step_of(const struct sq_chip_run *r,
                                          const struct sq_block_walk *w)
{
    const unsigned axis = axis_of(r, INNER);
    return (struct sq_chip_course_step){w->done[axis] - r->posted.at.done[axis],
                                        w->groups,
                                        w->beats,
                                        {w->is_new[ROWS], w->is_new[COLS]}};
}

static void set_step(const struct sq_chip_run *r, const struct sq_chip_course_step *s,
                     struct sq_block_walk *w)
{
    const unsigned axis = axis_of(r, INNER);
    w->done[axis] = r->posted.at.done[axis] + s->ahead;
    w->groups = s->groups;
    w->beats = s->beats;
    w->is_new[ROWS] = s->is_new[ROWS];
    w->is_new[COLS] = s->is_new[COLS];
}

// A block begins: the course that was run ends.
static bool keep_course(struct sq_chip_run *r, uint32_t state)
{
    struct sq_chip_courses *const m = &r->memo->courses;
    const struct sq_sequencer_sim *const q = &r->loads.q;
    const bool is_whole = r->begun.valid && r->begun.key.job == r->posted.number &&
                          is_within(r, axis_of(r, INNER), INNER);
    r->begun.valid = false;
    if (!is_whole)
        return true;
    uint32_t *const first = sq_chains_first(&m->of, &r->begun.key);
    if (!first || !sq_pool_room_for(m->n, &m->room, sizeof *m->course, (void **)&m->course))
        return false;
    struct sq_chip_course *const c = &m->course[m->n];
    *c = (struct sq_chip_course){.to = state,
                                 .other = *first,
                                 .load = r->loads.number,
                                 .at = step_of(r, &r->loads.at),
                                 .behind = step_of(r, &q->load),
                                 .stats = sq_chip_stats_since(&r->stats, &r->begun.stats)};
    for (unsigned i = 0; i < SQ_CHIP_KINDS; i++) {
        c->from[i] = place_of(r->begun.next[i]);
        c->end[i] = r->loads.end[SQ_CHIP_LEVELS][i];
        c->next[i] = q->next[i] - r->begun.next[i];
        if (i < SQ_TOP_OPERANDS)
            c->start[i] = q->start[i] - r->begun.start[i];
    }
    *first = m->n++;
    return true;
}

// Whether its transfers of a kind, which follow each other, are in one page where they begin at that place.
static bool is_in_page(const struct sq_chip_course *c, unsigned kind, uint32_t at)
{
    return at + c->next[kind] <= PAGE;
}

// Whether transfers begin at the same places, or cross no page from either.
static bool is_alike(const struct sq_chip_run *r, const struct sq_chip_course *c)
{
    for (unsigned i = 0; i < SQ_CHIP_KINDS; i++) {
        const uint32_t at = place_of(r->loads.q.next[i]);
        if (r->moves[i] == SQ_CHIP_ONCE && at != c->from[i] &&
            !(is_in_page(c, i, at) && is_in_page(c, i, c->from[i])))
            return false;
    }
    return true;
}

// Whether it ends within the loop. A step may be loaded behind the job that is posted.
static bool has_room(const struct sq_chip_run *r, const struct sq_chip_course *c)
{
    const struct sq_top_layer *const l = &r->loads.q.layer;
    const unsigned axis = axis_of(r, INNER);
    const uint32_t by = l->block[axis], job = r->posted.at.done[axis] + by;
    return larger(job, job + c->at.ahead) + 3 * by < l->tiles[axis];
}

static void go_along(struct sq_chip_run *r, const struct sq_chip_course *c)
{
    struct sq_sequencer_sim *const q = &r->loads.q;
    const unsigned axis = axis_of(r, INNER);
    const uint32_t by = q->layer.block[axis];
    for (unsigned i = 0; i < SQ_CHIP_KINDS; i++) {
        const uint32_t at = place_of(q->next[i]);
        const uint32_t end = at == c->from[i] ? c->end[i] : at + (uint32_t)c->next[i];
        for (unsigned level = 0; level < SQ_CHIP_LEVELS; level++)
            r->loads.end[level][i] = larger(r->loads.end[level][i], end);
        q->next[i] += c->next[i];
        if (i < SQ_TOP_OPERANDS)
            q->start[i] += c->start[i];
    }
    r->posted.at.done[axis] += by;
    r->jobs.at.done[axis] += by;
    r->jobs.q.job.done[axis] += by;
    set_step(r, &c->at, &r->loads.at);
    set_step(r, &c->behind, &q->load);
    r->loads.number = c->load;
    memcpy(&r->loads.load, sq_pool_at(&r->memo->load, c->load), sizeof r->loads.load);
    sq_chip_stats_add(&r->stats, &c->stats, 1);
}

// A block begins: goes along the course that begins here, to the begin of the next block, or marks its begin.
// False: there is none.
static bool take_course(struct sq_chip_run *r, const struct sq_chain_key *here, uint32_t *state)
{
    const struct sq_chip_courses *const m = &r->memo->courses;
    const struct sq_sequencer_sim *const q = &r->loads.q;
    if (!is_within(r, axis_of(r, INNER), INNER))
        return false;
    key_here(r, here, &r->begun.key);
    uint32_t i = sq_chains_find(&m->of, &r->begun.key);
    while (i != SQ_POOL_NONE && !is_alike(r, &m->course[i]))
        i = m->course[i].other;
    if (i != SQ_POOL_NONE && has_room(r, &m->course[i])) {
        go_along(r, &m->course[i]);
        *state = m->course[i].to;
        return true;
    }
    r->begun.valid = i == SQ_POOL_NONE;
    memcpy(r->begun.next, q->next, sizeof r->begun.next);
    memcpy(r->begun.start, q->start, sizeof r->begun.start);
    r->begun.stats = r->stats;
    memset(r->loads.end[SQ_CHIP_LEVELS], 0, sizeof r->loads.end[SQ_CHIP_LEVELS]);
    return false;
}

// ---- the loops of a layer -----------------------------------------------------------------------------

// Beats of the bus of the transfers of a kind: of all the largest, and what divides them and their addresses.
static bool is_even(const struct sq_chip_run *r, unsigned kind)
{
    const struct sq_sequencer_sim *const q = &r->loads.q;
    const struct sq_top_layer *const l = &q->layer;
    const uint32_t page = r->setup.page, most = r->setup.max_burst;
    uint32_t unit = l->addr[kind] % PAGE / r->setup.nbytes, longest = 0;
    for (unsigned i = 0; i < 8; i++) {
        const uint32_t rows = i & 1 ? l->tiles[ROWS] % l->block[ROWS] : l->block[ROWS];
        const uint32_t cols = i & 2 ? l->tiles[COLS] % l->block[COLS] : l->block[COLS];
        const uint32_t groups = i & 4 ? l->groups % l->chunk : l->chunk;
        const uint32_t beats = !l->part ? groups * l->beats : i & 4 ? l->beats % l->part : l->part;
        const uint32_t scales = r->setup.is_scaled ? cols : cols * (l->part ? 1 : groups);
        const uint32_t n[] = {rows * beats, rows, cols * beats, scales, rows * cols};
        const uint32_t all = (uint32_t)sq_top_transfer(&q->room, kind, n[kind]);
        unit = (uint32_t)sq_gcd(unit, all);
        longest = all > longest ? all : longest;
    }
    unit = (uint32_t)sq_gcd(unit, page);
    return page % most == 0 && (unit % most == 0 || longest == unit);
}

// False: no memory.
static bool set_moves(struct sq_chip_run *r)
{
    const struct sq_sequencer_sim *const q = &r->loads.q;
    const struct sq_top_layer *const l = &q->layer;
    const bool is_whole = sq_block_walk_is_whole(l);
    const struct sq_top_step step = {
        {l->block[ROWS], l->block[COLS]}, l->chunk, l->part ? l->part : l->chunk * l->beats};
    struct shape shape = {
        {l->block[ROWS], l->block[COLS]}, l->groups, l->beats, l->chunk, l->part, l->cols_outer, 0};
    for (unsigned i = 0; i < SQ_CHIP_KINDS; i++) {
        const bool is_once = i == SQ_TOP_STORE || is_whole || sq_top_serves_chunks(&q->room, i) ||
                             (i == SQ_TOP_COL_SCALE && l->part > 0 && l->groups == 1);
        const bool stays =
            i != SQ_TOP_STORE && (i >= SQ_TOP_WEIGHT) == axis_of(r, OUTER) && is_once;
        const uint64_t beats = sq_top_step_beats(&q->room, l, &step, i);
        const uint64_t nbytes = sq_top_transfer(&q->room, i, beats) * q->room.nbytes;
        r->once[i] = nbytes < PAGE ? (uint32_t)nbytes : PAGE;
        r->moves[i] = r->is_even[i] || stays     ? SQ_CHIP_STAYS
                      : is_once && nbytes < PAGE ? SQ_CHIP_ONCE
                                                 : SQ_CHIP_OFTEN;
        shape.even |= (uint32_t)r->is_even[i] << i;
    }
    r->shape = sq_pool_number(&r->memo->courses.shape, &shape);
    return r->shape != SQ_POOL_NONE;
}

bool sq_chip_loops_init(struct sq_chip_run *r)
{
    for (unsigned i = 0; i < SQ_CHIP_KINDS; i++)
        r->is_even[i] = is_even(r, i);
    return set_moves(r);
}

bool sq_chip_loops_go(struct sq_chip_run *r, uint32_t *state, bool *went)
{
    const struct sq_chain_key key = {*state, r->posted.number, r->loads.number, 0};
    const struct sq_block_walk *const at = &r->posted.at;
    *went = false;
    if (at->groups > 0 || at->beats > 0)
        return true;
    if (!keep_course(r, *state))
        return false;
    if (at->done[axis_of(r, INNER)] == 0) {
        visit(r, &key, OUTER);
        r->mark[INNER].valid = false;
    }
    visit(r, &key, INNER);
    *went = take_course(r, &key, state);
    return true;
}

void sq_chip_loops_forget(struct sq_chip_run *r)
{
    struct sq_chip_courses *const c = &r->memo->courses;
    sq_pool_forget(&c->of.key);
    c->n = 0;
    r->begun.valid = false;
    for (unsigned i = 0; i < SQ_CHIP_LEVELS; i++)
        r->mark[i].valid = false;
}
