// SPDX-License-Identifier: Apache-2.0
// The fast run. Six ideas, each exact:
//   - a world of time alone (sq_chip_world.h);
//   - a *stretch* is what happens from one posted job to the next. It follows from the state of the world,
//     the job, and what the steps that are loaded meanwhile load. Each of these is kept once and has a
//     number, so a stretch that was run before is looked up;
//   - within a stretch, tiles and bursts are alike but for the counters of the job and of the transfers at
//     hand. So what happens from one tile or burst to the next is looked up as well (sq_chip_turn.c);
//   - blocks of a loop are alike but for the first and the last ones. When a block begins with the state, the
//     steps and the places within a page of an earlier one, whole periods are added at once. A place may be another one
//     while no transfer crosses a page (sq_chip_loops.c);
//   - a *course* is what happens from such a block to the next one, looked up like a stretch. Places of few transfers of a
//     block, its outputs above all, come back late, those of its operands soon;
//   - layers that were run before are looked up.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/sq_chip_loops.h"
#include "sim/machine/sq_chip_run.h"

enum { ROWS = 0, COLS = 1, PAGE = 4096 };
enum { SPACING = 32 }; // cycles between turns, at least: to keep more costs more than it saves

// ---- the steps of a layer ---------------------------------------------------------------------------

static void start_cursor(const unsigned *v, const struct sq_top_layer *layer, uint32_t *checks,
                         struct sq_chip_cursor *c)
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

// From one posted job to the next.
struct sq_chip_stretch {
    uint32_t load[SQ_CHIP_AHEAD], n_loads; // steps that begin to be loaded meanwhile
    uint32_t to, other; // state at its end; another stretch with its key, or SQ_POOL_NONE
    struct sq_chip_stats stats;
};

// What a run follows from, on a chip: addresses as places within a page.
struct layer_key {
    uint32_t place[SQ_CHIP_KINDS], tiles[2], block[2], groups, beats, chunk, part, cols_outer;
};

static bool next_load(struct sq_chip_run *r, struct sq_chip_cursor *c)
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
        const uint32_t end = addr + t->beats * r->setup.nbytes;
        for (unsigned level = 0; level <= SQ_CHIP_LEVELS; level++)
            c->end[level][i] = c->end[level][i] > end ? c->end[level][i] : end;
    }
    c->number = sq_pool_number(&r->memo->load, &c->load);
    return c->number != SQ_POOL_NONE;
}

static bool next_job(struct sq_chip_run *r)
{
    struct sq_chip_cursor *const c = &r->jobs;
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
static bool turn(struct sq_chip_run *r, struct sq_chip_feed *f)
{
    const struct sq_chip_given given = {r->posted.number, r->loads.number,
                                        r->jobs.number == SQ_POOL_NONE};
    return sq_chip_turn(&r->setup, &r->memo->turns, &r->walk, &given, &r->world, f);
}

// Another step is loaded. It goes into *s, if there is room.
static bool load_next(struct sq_chip_run *r, struct sq_chip_stretch *s, struct sq_chip_feed *f)
{
    if (!next_load(r, &r->loads))
        return false;
    f->load = r->loads.number == SQ_POOL_NONE ? NULL : &r->loads.load;
    if (s->n_loads < SQ_CHIP_AHEAD)
        s->load[s->n_loads] = r->loads.number;
    s->n_loads++;
    return true;
}

// Cycles until a job is posted or the layer ends. The steps that begin to be loaded go into *s. False: no memory.
static bool simulate(struct sq_chip_run *r, struct sq_chip_stretch *s)
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

static bool post(struct sq_chip_run *r)
{
    r->posted = r->jobs;
    return next_job(r);
}

static bool intern(struct sq_chip_run *r, uint32_t *state)
{
    sq_chip_world_settle(&r->setup, &r->world);
    r->world.pending = 0; // follows from the job
    *state = sq_chip_world_number(&r->setup, &r->world, &r->memo->state);
    return *state != SQ_POOL_NONE;
}

// The i-th step behind the one that is loaded.
static bool look_ahead(struct sq_chip_run *r, uint32_t i)
{
    if (i < r->n_ahead)
        return true;
    assert(i == r->n_ahead && i < SQ_CHIP_AHEAD);
    r->ahead[i] = i > 0 ? r->ahead[i - 1] : r->loads;
    return next_load(r, &r->ahead[r->n_ahead++]);
}

// Goes along *s, if the steps that are loaded are those.
static bool follow(struct sq_chip_run *r, const struct sq_chip_stretch *s)
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
static void restore(struct sq_chip_run *r, uint32_t state)
{
    sq_chip_world_unpack(&r->setup, sq_pool_at(&r->memo->state, state), &r->world);
    r->world.pending = sq_chip_takers(&r->posted.job);
}

static bool keep_stretch(struct sq_chip_run *r, const struct sq_chip_stretch *s)
{
    struct sq_chip_memo *const m = r->memo;
    if (!sq_pool_room_for(m->n_stretches, &m->stretch_room, sizeof *s, (void **)&m->stretch))
        return false;
    m->stretch[m->n_stretches++] = *s;
    return true;
}

// From *state to the next posted job and its state.
static bool pass(struct sq_chip_run *r, uint32_t *state)
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
    struct sq_chip_stretch s = {.other = SQ_POOL_NONE};
    restore(r, *state);
    if (!simulate(r, &s) || !intern(r, state))
        return false;
    s.to = *state;
    if (s.n_loads > SQ_CHIP_AHEAD)
        return true;
    *(last == SQ_POOL_NONE ? first : &m->stretch[last].other) = m->n_stretches;
    return keep_stretch(r, &s);
}

// ---- a layer ----------------------------------------------------------------------------------------

static void clear_memo(struct sq_chip_memo *m)
{
    sq_pool_free(&m->load);
    sq_pool_free(&m->job);
    sq_pool_free(&m->state);
    sq_chains_free(&m->stretches);
    sq_chip_courses_free(&m->courses);
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
                sq_chip_courses_nbytes(&m->courses) >
            SQ_CHIP_STATES_NBYTES)
        clear_memo(m);
    memcpy(m->value, value, sizeof m->value);
    memcpy(m->memory, memory->n, sizeof m->memory);
    m->load.nbytes = sizeof(struct sq_chip_load);
    m->job.nbytes = sizeof(struct sq_chip_job);
    m->state.nbytes = sq_chip_world_nbytes(setup);
    m->stretches.key.nbytes = sizeof(struct sq_chain_key);
    sq_chip_courses_init(&m->courses);
    m->layer.nbytes = sizeof(struct layer_key);
    sq_chip_turns_init(setup, &m->turns);
}

static bool begin(struct sq_chip_run *r, const unsigned *value, const struct sq_top_layer *layer)
{
    start_cursor(value, layer, &r->setup.checks, &r->loads);
    r->setup.looks = r->loads.q.looked;
    r->jobs.q = r->loads.q;
    if (!sq_chip_loops_init(r))
        return false;
    r->posted.number = SQ_POOL_NONE;
    sq_chip_world_init(value, &r->world);
    return next_load(r, &r->loads) && next_job(r);
}

// States fill memory: begins anew with the one at hand.
static bool forget(struct sq_chip_run *r, uint32_t *state)
{
    restore(r, *state);
    sq_pool_forget(&r->memo->state);
    sq_pool_forget(&r->memo->stretches.key);
    r->memo->n_stretches = 0;
    sq_chip_loops_forget(r);
    return intern(r, state);
}

static bool run_layer(struct sq_chip_run *r)
{
    struct sq_chip_stretch s;
    uint32_t state;
    bool ok = simulate(r, &s) && intern(r, &state) && post(r);
    while (ok && r->jobs.number != SQ_POOL_NONE) {
        if (r->memo->state.n * r->memo->state.nbytes > SQ_CHIP_STATES_NBYTES && !forget(r, &state))
            return false;
        bool went;
        ok = sq_chip_loops_go(r, &state, &went) && (went || (pass(r, &state) && post(r)));
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
    for (unsigned i = 0; i < SQ_CHIP_KINDS; i++)
        key.place[i] = (uint32_t)(l->addr[i] % PAGE);
    return key;
}

// The counters of a layer that was run before, or those of a run.
static bool run_or_find(struct sq_chip_run *r, const unsigned *value,
                        const struct sq_env_choice *memory, const struct sq_top_layer *layer)
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
    struct sq_chip_run *const r = calloc(1, sizeof *r);
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
