// SPDX-License-Identifier: Apache-2.0
// The fast run. Four ideas, each exact:
//   - a world of time alone (sq_chip_world.h);
//   - a *stretch* is what happens from one posted job to the next. It follows from the state of the world,
//     the job, and what the steps that are loaded meanwhile load. Each of these is kept once and has a
//     number, so a stretch that was run before is looked up;
//   - within a stretch, tiles and bursts are alike but for the counters of the job and of the transfers at
//     hand. So what happens from one tile or burst to the next is looked up as well (sq_chip_turn.c);
//   - blocks of a loop are alike but for the first and the last ones. When a block begins with the state, the
//     steps and the places within a page of an earlier one, whole periods are added at once. A place may be another one
//     while no transfer crosses a page.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/block/flow/sq_skip.h"
#include "sim/io/sq_checked.h"
#include "sim/machine/sq_chip_run.h"

enum { ROWS = 0, COLS = 1, PAGE = 4096 };
enum { SPACING = 32 }; // cycles between turns, at least: to keep more costs more than it saves

// ---- the steps of a layer ---------------------------------------------------------------------------

enum level { INNER, OUTER, N_LEVELS };
enum { KINDS = SQ_TOP_OPERANDS + 1 }; // of transfers

// The sequencer's own model, asked for one step after the other.
struct cursor {
    struct sq_sequencer_sim q; // behind the step
    struct sq_block_walk at;   // the step
    struct sq_chip_load load;  // of it, in a cursor of loads
    struct sq_chip_job job;    // ... of jobs
    uint32_t number;           // of that; SQ_POOL_NONE: behind the last step
    // Where the transfers of a kind since the mark, and behind them those since the begin of a block, end at most, from the
    // begin of a page; of a cursor of loads.
    uint32_t end[N_LEVELS + 1][KINDS];
};

static void start_cursor(const unsigned *v, const struct sq_top_layer *layer, uint32_t *checks,
                         struct cursor *c)
{
    const struct sq_sequencer_in in = {.start = false};
    c->q.room = sq_top_room(v);
    sq_top_layer_encode(layer, c->q.word);
    c->q.state = SQ_SEQ_CHECK;
    c->q.sound = true;
    for (*checks = 0; c->q.state == SQ_SEQ_CHECK; ++*checks)
        sq_sequencer_clock(&c->q, &in);
    assert(c->q.state == SQ_SEQ_RUN);
}

enum { STRETCH_LOADS = 8 };

// From one posted job to the next.
struct stretch {
    uint32_t load[STRETCH_LOADS], n_loads; // steps that begin to be loaded meanwhile
    uint32_t to, other; // state at its end; another stretch with its key, or SQ_POOL_NONE
    struct sq_chip_stats stats;
};

// What a course depends on, beside the places of transfers that cross no page.
struct course_key {
    uint32_t state, job, load, shape;             // numbers
    uint32_t ahead, groups, beats, is_new[2];     // of the step that is loaded
    uint32_t next[KINDS], start[SQ_TOP_OPERANDS]; // places within a page, where they matter
};
// The step of a cursor of loads; tiles of the inner axis before it count from the posted job.
struct course_step {
    uint32_t ahead, groups, beats;
    bool is_new[2];
};
// From a block to the next one, both within the inner loop.
struct course {
    uint32_t to, other; // state at its end; another course with its key, or SQ_POOL_NONE
    uint32_t load;
    struct course_step at, behind;                // that is loaded at its end; the one behind it
    uint32_t from[KINDS], end[KINDS];             // of the transfers, as places within a page
    uint64_t next[KINDS], start[SQ_TOP_OPERANDS]; // what is added to these addresses
    struct sq_chip_stats stats;
};

// What a run follows from, on a chip: addresses as places within a page.
struct layer_key {
    uint32_t place[KINDS], tiles[2], block[2], groups, beats, chunk, part, cols_outer;
};

// What follows from the chip alone.
struct sq_chip_memo {
    unsigned value[SQ_POINT_VALUES]; // the chip; zeros: none
    uint32_t memory[4];
    struct sq_pool load, job, state;
    struct sq_chains stretches; // of a state
    struct stretch *stretch;
    uint32_t n_stretches, stretch_room;
    struct sq_chip_turns turns;
    struct sq_pool shape; // of blocks
    struct sq_chains courses;
    struct course *course;
    uint32_t n_courses, course_room;
    struct sq_pool layer;      // that were run
    struct sq_chip_stats *run; // of each
    uint32_t run_room;
};

struct run {
    struct sq_chip_setup setup;
    struct sq_chip_memo *memo;
    bool is_even[KINDS]; // no burst of this kind is cut short by a page
    enum moves {         // of a kind, from one block of the inner loop to the next:
        NOTHING,         // ... or no burst is cut short
        ONCE,            // a transfer shorter than a page
        OFTEN,           // more
    } moves[KINDS];
    uint32_t once[KINDS], shape; // bytes of that transfer; number of what blocks are like
    struct sq_chip_walk walk;
    struct cursor loads, jobs; // the step that is loaded; whose job comes next
    struct cursor posted;      // whose job was posted
    // The steps behind the one that is loaded, as far as they were asked for.
    struct cursor ahead[STRETCH_LOADS];
    uint32_t n_ahead;
    struct sq_chip_stats stats;
    struct sq_skip_mark mark[N_LEVELS]; // of blocks that begin
    struct {
        bool valid;
        struct course_key key;
        uint64_t next[KINDS], start[SQ_TOP_OPERANDS];
        struct sq_chip_stats stats;
    } begun; // the course that is run
    struct sq_chip_world world;
};

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static bool next_load(struct run *r, struct cursor *c)
{
    struct sq_sequencer_sim *const q = &c->q;
    memset(&c->load, 0, sizeof c->load);
    c->at = q->load;
    c->number = SQ_POOL_NONE;
    if (!q->load.is_active)
        return true;
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS; i++) {
        if (!sq_sequencer_next_transfer(q))
            continue;
        const uint32_t addr = (uint32_t)(sq_axi_addr(q->transfer + SQ_DMA_ADDR) % PAGE);
        struct sq_chip_transfer *const t = &c->load.transfer[i];
        t->kind = i;
        t->tail = (uint32_t)q->transfer[SQ_DMA_DEST] >> SQ_TOP_DEST_BITS;
        t->beats = (uint32_t)q->transfer[SQ_DMA_BEATS];
        t->room = sq_chip_room(&r->setup, t->beats, (PAGE - addr) / r->setup.nbytes);
        for (unsigned level = 0; level <= N_LEVELS; level++)
            c->end[level][i] = larger(c->end[level][i], addr + t->beats * r->setup.nbytes);
    }
    c->number = sq_pool_number(&r->memo->load, &c->load);
    return c->number != SQ_POOL_NONE;
}

static bool next_job(struct run *r)
{
    struct cursor *const c = &r->jobs;
    struct sq_sequencer_sim *const q = &c->q;
    const struct sq_sequencer_in in = {.dma_ready = false};
    memset(&c->job, 0, sizeof c->job);
    memset(q->pending, 0, sizeof q->pending);
    c->at = q->job;
    c->number = SQ_POOL_NONE;
    if (!q->job.is_active)
        return true;
    sq_sequencer_clock_jobs(q, &in);
    const uint32_t beats = q->of.beats;
    c->job.tiles = q->of.tiles[ROWS] * q->of.tiles[COLS];
    c->job.groups = r->setup.is_scaled ? 1 : q->of.groups; // the whole tile is a group
    c->job.beats = beats / c->job.groups;
    c->job.carries = !q->of.is_first;
    c->job.keeps = !q->of.is_last;
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++) {
        const bool is_scale = i == SQ_TOP_ROW_SCALE || i == SQ_TOP_COL_SCALE;
        c->job.places[i] = c->job.tiles * (is_scale ? c->job.groups : beats);
        c->job.keep[i] = q->of.keep[i];
    }
    c->job.places[SQ_TOP_SUMS] = c->job.tiles * r->setup.tile_slots;
    c->number = sq_pool_number(&r->memo->job, &c->job);
    return c->number != SQ_POOL_NONE;
}

// ---- stretches --------------------------------------------------------------------------------------

// At a turn, or where a step or a job is due.
static bool turn(struct run *r, struct sq_chip_feed *f)
{
    const struct sq_chip_given given = {r->posted.number, r->loads.number,
                                        r->jobs.number == SQ_POOL_NONE};
    return sq_chip_turn(&r->setup, &r->memo->turns, &r->walk, &given, &r->world, f);
}

// Another step is loaded. It goes into *s, if there is room.
static bool load_next(struct run *r, struct stretch *s, struct sq_chip_feed *f)
{
    if (!next_load(r, &r->loads))
        return false;
    f->load = r->loads.number == SQ_POOL_NONE ? NULL : &r->loads.load;
    if (s->n_loads < STRETCH_LOADS)
        s->load[s->n_loads] = r->loads.number;
    s->n_loads++;
    return true;
}

// Cycles until a job is posted or the layer ends. The steps that begin to be loaded go into *s. False: no memory.
static bool simulate(struct run *r, struct stretch *s)
{
    struct sq_chip_feed f = {.load = r->loads.number == SQ_POOL_NONE ? NULL : &r->loads.load,
                             .job = &r->posted.job,
                             .ahead = r->jobs.number == SQ_POOL_NONE ? NULL : &r->jobs.job};
    bool begins = r->world.phase == SQ_CHIP_RUN; // behind a step or a job that was due
    uint64_t turned = 0;
    s->n_loads = 0;
    while (!f.posted && r->world.phase != SQ_CHIP_END) {
        if (begins)
            memset(&r->walk, 0, sizeof r->walk);
        else
            sq_chip_world_cycle(&r->setup, &r->world, &f);
        const bool is_due = f.loaded || f.posted;
        const bool is_turn = begins || is_due || (f.turned && f.stats.cycles - turned >= SPACING);
        begins = false;
        if (is_turn && r->world.phase == SQ_CHIP_RUN) {
            if (!turn(r, &f))
                return false;
            turned = f.stats.cycles;
        }
        if (f.loaded) {
            if (!load_next(r, s, &f))
                return false;
            f.loaded = false;
            begins = true;
        }
    }
    s->stats = f.stats;
    sq_chip_stats_add(&r->stats, &s->stats, 1);
    return true;
}

static bool post(struct run *r)
{
    r->posted = r->jobs;
    return next_job(r);
}

static bool intern(struct run *r, uint32_t *state)
{
    sq_chip_world_settle(&r->setup, &r->world);
    r->world.pending = 0; // follows from the job
    *state = sq_chip_world_number(&r->setup, &r->world, &r->memo->state);
    return *state != SQ_POOL_NONE;
}

// The i-th step behind the one that is loaded.
static bool look_ahead(struct run *r, uint32_t i)
{
    if (i < r->n_ahead)
        return true;
    assert(i == r->n_ahead && i < STRETCH_LOADS);
    r->ahead[i] = i > 0 ? r->ahead[i - 1] : r->loads;
    return next_load(r, &r->ahead[r->n_ahead++]);
}

// Goes along *s, if the steps that are loaded are those.
static bool follow(struct run *r, const struct stretch *s)
{
    for (uint32_t i = 0; i < s->n_loads; i++)
        if (!look_ahead(r, i) || r->ahead[i].number != s->load[i])
            return false;
    if (s->n_loads > 0)
        r->loads = r->ahead[s->n_loads - 1];
    sq_chip_stats_add(&r->stats, &s->stats, 1);
    return true;
}

// The world of a state, with the posted job.
static void restore(struct run *r, uint32_t state)
{
    sq_chip_world_unpack(&r->setup, sq_pool_at(&r->memo->state, state), &r->world);
    r->world.pending = sq_chip_takers(&r->posted.job);
}

static bool keep_stretch(struct run *r, const struct stretch *s)
{
    struct sq_chip_memo *const m = r->memo;
    if (!sq_pool_room_for(m->n_stretches, &m->stretch_room, sizeof *s, (void **)&m->stretch))
        return false;
    m->stretch[m->n_stretches++] = *s;
    return true;
}

// From *state to the next posted job and its state.
static bool pass(struct run *r, uint32_t *state)
{
    struct sq_chip_memo *const m = r->memo;
    r->n_ahead = 0;
    if (!look_ahead(r, 0))
        return false;
    const struct sq_chain_key key = {*state, r->posted.number, r->loads.number, r->ahead[0].number};
    uint32_t *const first = sq_chains_first(&m->stretches, &key), last = SQ_POOL_NONE;
    if (!first)
        return false;
    for (uint32_t i = *first; i != SQ_POOL_NONE; last = i, i = m->stretch[i].other)
        if (follow(r, &m->stretch[i])) {
            *state = m->stretch[i].to;
            return true;
        }
    struct stretch s = {.other = SQ_POOL_NONE};
    restore(r, *state);
    if (!simulate(r, &s) || !intern(r, state))
        return false;
    s.to = *state;
    if (s.n_loads > STRETCH_LOADS)
        return true;
    *(last == SQ_POOL_NONE ? first : &m->stretch[last].other) = m->n_stretches;
    return keep_stretch(r, &s);
}

// ---- loops ------------------------------------------------------------------------------------------

static unsigned axis_of(const struct run *r, enum level level)
{
    const unsigned outer = r->loads.q.layer.cols_outer ? COLS : ROWS;
    return level == OUTER ? outer : !outer;
}

// Neither the first block of its loop nor one of the last two, which load and keep other operands.
static bool is_within(const struct run *r, unsigned axis, enum level level)
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

static void blocks_here(struct run *r, struct begin *b, unsigned axis, struct sq_skip_here *here)
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

static uint32_t shift_of(const struct run *r, enum level level, unsigned kind)
{
    return (uint32_t)(r->loads.q.next[kind] - r->mark[level].number[NEXT + kind]);
}

// Periods in which transfers of a kind are cut into bursts as they were since the mark.
static uint32_t periods_of(const struct run *r, enum level level, unsigned kind)
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
static void visit(struct run *r, const struct sq_chain_key *key, enum level level)
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

static void key_here(const struct run *r, const struct sq_chain_key *here, struct course_key *key)
{
    const struct sq_sequencer_sim *const q = &r->loads.q;
    const struct sq_block_walk *const load = &r->loads.at;
    const unsigned axis = axis_of(r, INNER);
    *key = (struct course_key){.state = here->state,
                               .job = here->job,
                               .load = here->load,
                               .shape = r->shape,
                               .ahead = load->done[axis] - r->posted.at.done[axis],
                               .groups = load->groups,
                               .beats = load->beats,
                               .is_new = {load->is_new[ROWS], load->is_new[COLS]}};
    for (unsigned i = 0; i < KINDS; i++) {
        const uint32_t at = place_of(q->next[i]);
        const bool matters =
            r->moves[i] == OFTEN || (r->moves[i] == ONCE && at + r->once[i] > PAGE);
        key->next[i] = matters ? at : PAGE;
        if (r->moves[i] == OFTEN && i < SQ_TOP_OPERANDS)
            key->start[i] = place_of(q->start[i]);
    }
}

static struct course_step step_of(const struct run *r, const struct sq_block_walk *w)
{
    const unsigned axis = axis_of(r, INNER);
    return (struct course_step){w->done[axis] - r->posted.at.done[axis],
                                w->groups,
                                w->beats,
                                {w->is_new[ROWS], w->is_new[COLS]}};
}

static void set_step(const struct run *r, const struct course_step *s, struct sq_block_walk *w)
{
    const unsigned axis = axis_of(r, INNER);
    w->done[axis] = r->posted.at.done[axis] + s->ahead;
    w->groups = s->groups;
    w->beats = s->beats;
    w->is_new[ROWS] = s->is_new[ROWS];
    w->is_new[COLS] = s->is_new[COLS];
}

// A block begins: the course that was run ends.
static bool keep_course(struct run *r, uint32_t state)
{
    struct sq_chip_memo *const m = r->memo;
    const struct sq_sequencer_sim *const q = &r->loads.q;
    const bool is_whole = r->begun.valid && r->begun.key.job == r->posted.number &&
                          is_within(r, axis_of(r, INNER), INNER);
    r->begun.valid = false;
    if (!is_whole)
        return true;
    uint32_t *const first = sq_chains_first(&m->courses, &r->begun.key);
    if (!first ||
        !sq_pool_room_for(m->n_courses, &m->course_room, sizeof *m->course, (void **)&m->course))
        return false;
    struct course *const c = &m->course[m->n_courses];
    *c = (struct course){.to = state,
                         .other = *first,
                         .load = r->loads.number,
                         .at = step_of(r, &r->loads.at),
                         .behind = step_of(r, &q->load),
                         .stats = sq_chip_stats_since(&r->stats, &r->begun.stats)};
    for (unsigned i = 0; i < KINDS; i++) {
        c->from[i] = place_of(r->begun.next[i]);
        c->end[i] = r->loads.end[N_LEVELS][i];
        c->next[i] = q->next[i] - r->begun.next[i];
        if (i < SQ_TOP_OPERANDS)
            c->start[i] = q->start[i] - r->begun.start[i];
    }
    *first = m->n_courses++;
    return true;
}

// Whether its transfers of a kind, which follow each other, are in one page where they begin at that place.
static bool is_in_page(const struct course *c, unsigned kind, uint32_t at)
{
    return at + c->next[kind] <= PAGE;
}

// Whether transfers begin at the same places, or cross no page from either.
static bool is_alike(const struct run *r, const struct course *c)
{
    for (unsigned i = 0; i < KINDS; i++) {
        const uint32_t at = place_of(r->loads.q.next[i]);
        if (r->moves[i] == ONCE && at != c->from[i] &&
            !(is_in_page(c, i, at) && is_in_page(c, i, c->from[i])))
            return false;
    }
    return true;
}

// Whether it ends within the loop. A step may be loaded behind the job that is posted.
static bool has_room(const struct run *r, const struct course *c)
{
    const struct sq_top_layer *const l = &r->loads.q.layer;
    const unsigned axis = axis_of(r, INNER);
    const uint32_t by = l->block[axis], job = r->posted.at.done[axis] + by;
    return larger(job, job + c->at.ahead) + 3 * by < l->tiles[axis];
}

static void go_along(struct run *r, const struct course *c)
{
    struct sq_sequencer_sim *const q = &r->loads.q;
    const unsigned axis = axis_of(r, INNER);
    const uint32_t by = q->layer.block[axis];
    for (unsigned i = 0; i < KINDS; i++) {
        const uint32_t at = place_of(q->next[i]);
        const uint32_t end = at == c->from[i] ? c->end[i] : at + (uint32_t)c->next[i];
        for (unsigned level = 0; level < N_LEVELS; level++)
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
static bool take_course(struct run *r, const struct sq_chain_key *here, uint32_t *state)
{
    const struct sq_chip_memo *const m = r->memo;
    const struct sq_sequencer_sim *const q = &r->loads.q;
    if (!is_within(r, axis_of(r, INNER), INNER))
        return false;
    key_here(r, here, &r->begun.key);
    uint32_t i = sq_chains_find(&m->courses, &r->begun.key);
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
    memset(r->loads.end[N_LEVELS], 0, sizeof r->loads.end[N_LEVELS]);
    return false;
}

// ---- a layer ----------------------------------------------------------------------------------------

// Beats of the bus of the transfers of a kind: of all the largest, and what divides them and their addresses.
static bool is_even(const struct run *r, unsigned kind)
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

// What blocks of the inner loop are like.
struct shape {
    uint32_t block[2], groups, beats, chunk, part, cols_outer, even;
};

// False: no memory.
static bool set_moves(struct run *r)
{
    const struct sq_sequencer_sim *const q = &r->loads.q;
    const struct sq_top_layer *const l = &q->layer;
    const bool is_whole = sq_block_walk_is_whole(l);
    const struct sq_top_step step = {
        {l->block[ROWS], l->block[COLS]}, l->chunk, l->part ? l->part : l->chunk * l->beats};
    struct shape shape = {
        {l->block[ROWS], l->block[COLS]}, l->groups, l->beats, l->chunk, l->part, l->cols_outer, 0};
    for (unsigned i = 0; i < KINDS; i++) {
        const bool is_once = i == SQ_TOP_STORE || is_whole || sq_top_serves_chunks(&q->room, i) ||
                             (i == SQ_TOP_COL_SCALE && l->part > 0 && l->groups == 1);
        const bool stays =
            i != SQ_TOP_STORE && (i >= SQ_TOP_WEIGHT) == axis_of(r, OUTER) && is_once;
        const uint64_t beats = sq_top_step_beats(&q->room, l, &step, i);
        const uint64_t nbytes = sq_top_transfer(&q->room, i, beats) * q->room.nbytes;
        r->once[i] = nbytes < PAGE ? (uint32_t)nbytes : PAGE;
        r->moves[i] = r->is_even[i] || stays ? NOTHING : is_once && nbytes < PAGE ? ONCE : OFTEN;
        shape.even |= (uint32_t)r->is_even[i] << i;
    }
    r->shape = sq_pool_number(&r->memo->shape, &shape);
    return r->shape != SQ_POOL_NONE;
}

static void clear_memo(struct sq_chip_memo *m)
{
    sq_pool_free(&m->load);
    sq_pool_free(&m->job);
    sq_pool_free(&m->state);
    sq_chains_free(&m->stretches);
    sq_pool_free(&m->shape);
    sq_chains_free(&m->courses);
    free(m->course);
    sq_pool_free(&m->layer);
    free(m->run);
    free(m->stretch);
    sq_chip_turns_free(&m->turns);
    memset(m, 0, sizeof *m);
}

struct sq_chip_memo *sq_chip_memo_new(void)
{
    return calloc(1, sizeof(struct sq_chip_memo));
}

void sq_chip_memo_free(struct sq_chip_memo *m)
{
    if (m)
        clear_memo(m);
    free(m);
}

// What is in it is of this chip and memory, and not too much.
static void open_memo(struct sq_chip_memo *m, const unsigned *value,
                      const struct sq_env_choice *memory, const struct sq_chip_setup *setup)
{
    if (memcmp(m->value, value, sizeof m->value) != 0 ||
        memcmp(m->memory, memory->n, sizeof m->memory) != 0 ||
        m->load.n * m->load.nbytes + m->n_stretches * sizeof *m->stretch +
                m->n_courses * sizeof *m->course >
            SQ_CHIP_STATES_NBYTES)
        clear_memo(m);
    memcpy(m->value, value, sizeof m->value);
    memcpy(m->memory, memory->n, sizeof m->memory);
    m->load.nbytes = sizeof(struct sq_chip_load);
    m->job.nbytes = sizeof(struct sq_chip_job);
    m->state.nbytes = sq_chip_world_nbytes(setup);
    m->stretches.key.nbytes = sizeof(struct sq_chain_key);
    m->shape.nbytes = sizeof(struct shape);
    m->courses.key.nbytes = sizeof(struct course_key);
    m->layer.nbytes = sizeof(struct layer_key);
    sq_chip_turns_init(setup, &m->turns);
}

static bool begin(struct run *r, const unsigned *value, const struct sq_top_layer *layer)
{
    start_cursor(value, layer, &r->setup.checks, &r->loads);
    r->setup.looks = r->loads.q.looked;
    r->jobs.q = r->loads.q;
    for (unsigned i = 0; i < KINDS; i++)
        r->is_even[i] = is_even(r, i);
    if (!set_moves(r))
        return false;
    r->posted.number = SQ_POOL_NONE;
    sq_chip_world_init(value, &r->world);
    return next_load(r, &r->loads) && next_job(r);
}

// States fill memory: begins anew with the one at hand.
static bool forget(struct run *r, uint32_t *state)
{
    restore(r, *state);
    sq_pool_forget(&r->memo->state);
    sq_pool_forget(&r->memo->stretches.key);
    sq_pool_forget(&r->memo->courses.key);
    r->memo->n_stretches = r->memo->n_courses = 0;
    r->begun.valid = false;
    for (unsigned i = 0; i < N_LEVELS; i++)
        r->mark[i].valid = false;
    return intern(r, state);
}

static bool run_layer(struct run *r)
{
    struct stretch s;
    uint32_t state;
    bool ok = simulate(r, &s) && intern(r, &state) && post(r);
    while (ok && r->jobs.number != SQ_POOL_NONE) {
        if (r->memo->state.n * r->memo->state.nbytes > SQ_CHIP_STATES_NBYTES && !forget(r, &state))
            return false;
        const struct sq_chain_key key = {state, r->posted.number, r->loads.number, 0};
        const struct sq_block_walk *const at = &r->posted.at;
        const unsigned inner = axis_of(r, INNER);
        const bool begins = at->groups == 0 && at->beats == 0;
        if (begins && !keep_course(r, state))
            return false;
        if (begins && at->done[inner] == 0) {
            visit(r, &key, OUTER);
            r->mark[INNER].valid = false;
        }
        if (begins)
            visit(r, &key, INNER);
        if (begins && take_course(r, &key, &state))
            continue;
        ok = pass(r, &state) && post(r);
    }
    if (!ok)
        return false;
    restore(r, state);
    return simulate(r, &s);
}

static struct layer_key key_of(const struct sq_top_layer *l)
{
    struct layer_key key = {.tiles = {l->tiles[ROWS], l->tiles[COLS]},
                            .block = {l->block[ROWS], l->block[COLS]},
                            .groups = l->groups,
                            .beats = l->beats,
                            .chunk = l->chunk,
                            .part = l->part,
                            .cols_outer = l->cols_outer};
    for (unsigned i = 0; i < KINDS; i++)
        key.place[i] = place_of(l->addr[i]);
    return key;
}

// The counters of a layer that was run before, or those of a run.
static bool run_or_find(struct run *r, const unsigned *value, const struct sq_env_choice *memory,
                        const struct sq_top_layer *layer)
{
    struct sq_chip_memo *const m = r->memo;
    const struct layer_key key = key_of(layer);
    sq_chip_setup(value, memory, &r->setup);
    open_memo(m, value, memory, &r->setup);
    const uint32_t n = m->layer.n, number = sq_pool_number(&m->layer, &key);
    if (number == SQ_POOL_NONE ||
        !sq_pool_room_for(number, &m->run_room, sizeof *m->run, (void **)&m->run))
        return false;
    if (number < n) {
        r->stats = m->run[number];
        return true;
    }
    if (!begin(r, value, layer) || !run_layer(r))
        return false;
    m->run[number] = r->stats;
    return true;
}

enum sq_status sq_chip_run_next(const unsigned *value, const struct sq_env_choice *memory,
                                const struct sq_top_layer *layer, struct sq_chip_memo *memo,
                                struct sq_chip_stats *stats, struct sq_error *err)
{
    if (sq_top_is_indexed(value)) // what happens depends on the offsets
        return sq_chip_run_step(value, memory, layer, stats, err);
    struct run *const r = calloc(1, sizeof *r);
    struct sq_chip_memo *const own = memo ? NULL : sq_chip_memo_new();
    bool ok = r && (memo || own);
    if (ok) {
        r->memo = memo ? memo : own;
        ok = run_or_find(r, value, memory, layer);
    }
    if (ok)
        *stats = r->stats;
    else if (memo)
        clear_memo(memo);
    sq_chip_memo_free(own);
    free(r);
    return SQ_HAVE(ok, err, "the states of a chip of %zu bytes", sizeof *r);
}

enum sq_status sq_chip_run_fast(const unsigned *value, const struct sq_env_choice *memory,
                                const struct sq_top_layer *layer, struct sq_chip_stats *stats,
                                struct sq_error *err)
{
    return sq_chip_run_next(value, memory, layer, NULL, stats, err);
}
