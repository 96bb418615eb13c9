// SPDX-License-Identifier: Apache-2.0
// The fast run. Each idea is exact:
//   - the state knows time alone (sq_chip_state.h);
//   - what happens from one posted job to the next follows from the state, the job, and what the steps that are
//     loaded meanwhile load: it is run once, and then looked up;
//   - between two jobs, tiles and bursts are alike but for the counters of the job and of the transfers at
//     hand. So what happens from one tile or burst to the next is looked up as well (sq_chip_tiles.c);
//   - so is what happens from a block of a loop to those after it (sq_chip_loops.c), and in a whole layer.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/sq_chip_loops.h"
#include "sim/machine/sq_chip_run.h"

enum { ROWS = 0, COLS = 1 };
enum { SPACING = 32 }; // cycles between boundaries, at least: to keep more costs more than it saves

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

// Up to the next posted job.
struct entry {
    uint32_t load[SQ_CHIP_AHEAD], n_loads; // steps that begin to be loaded meanwhile
    uint32_t to;                           // state
    struct sq_chip_stats stats;
};

// What a run follows from, on a chip: addresses as places within a page.
struct layer_key {
    uint32_t place[SQ_CHIP_KINDS], tiles[2], block[2], groups, beats, chunk, part, cols_outer;
};
// Keys of one memo are told apart by their lengths; states are longer than any other.
_Static_assert(sizeof(struct sq_chip_load) != sizeof(struct sq_chip_job) &&
                   sizeof(struct sq_chip_load) != sizeof(struct layer_key) &&
                   sizeof(struct sq_chip_job) != sizeof(struct layer_key),
               "lengths of keys");

static bool next_load(struct sq_chip_run *r, struct sq_chip_cursor *c)
{
    struct sq_sequencer_sim *const q = &c->q;
    memset(&c->load, 0, sizeof c->load);
    c->at = q->load;
    c->number = 0;
    if (!q->load.is_active)
        return true;
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS; i++) {
        if (!sq_sequencer_next_transfer(q))
            continue;
        const uint32_t addr = (uint32_t)(sq_axi_addr(q->transfer + SQ_DMA_ADDR) % SQ_AXI_PAGE);
        struct sq_chip_transfer *const t = &c->load.transfer[i];
        t->kind = i;
        t->tail = (uint32_t)q->transfer[SQ_DMA_DEST] >> SQ_TOP_DEST_BITS;
        t->beats = (uint32_t)q->transfer[SQ_DMA_BEATS];
        t->room = sq_chip_room(&r->setup, t->beats, (SQ_AXI_PAGE - addr) / r->setup.nbytes);
    }
    c->number = sq_memo_add_key(&r->memo->jobs, &c->load, sizeof c->load);
    return c->number != 0;
}

static bool next_job(struct sq_chip_run *r)
{
    struct sq_chip_cursor *const c = &r->jobs;
    struct sq_sequencer_sim *const q = &c->q;
    const struct sq_sequencer_in in = {.dma_ready = false};
    memset(&c->job, 0, sizeof c->job);
    memset(q->pending, 0, sizeof q->pending);
    c->at = q->job;
    c->number = 0;
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
    c->number = sq_memo_add_key(&r->memo->jobs, &c->job, sizeof c->job);
    return c->number != 0;
}

// ---- from job to job ---------------------------------------------------------------------------------

// Where a step or a job is due, or another boundary.
static bool look_up(struct sq_chip_run *r, struct sq_chip_feed *f)
{
    const struct sq_chip_given given = {r->posted.number, r->loads.number, r->jobs.number == 0};
    if (sq_memo_nbytes(&r->memo->tiles) > r->memo->limit) {
        sq_memo_forget(&r->memo->tiles);
        memset(&r->walk, 0, sizeof r->walk);
    }
    return sq_chip_tiles_go(&r->setup, &r->memo->tiles, &r->walk, &given, &r->chip, f);
}

// Another step is loaded. It goes into *s, if there is room.
static bool load_next(struct sq_chip_run *r, struct entry *s, struct sq_chip_feed *f)
{
    if (!next_load(r, &r->loads))
        return false;
    f->load = r->loads.number ? &r->loads.load : NULL;
    if (s->n_loads < SQ_CHIP_AHEAD)
        s->load[s->n_loads] = r->loads.number;
    s->n_loads++;
    return true;
}

// Cycles until a job is posted or the layer ends. The steps that begin to be loaded go into *s. False: no memory.
static bool simulate(struct sq_chip_run *r, struct entry *s)
{
    struct sq_chip_feed f = {.load = r->loads.number ? &r->loads.load : NULL,
                             .job = &r->posted.job,
                             .ahead = r->jobs.number ? &r->jobs.job : NULL};
    bool begins = r->chip.phase == SQ_CHIP_RUN; // after a step or a job that was due
    uint64_t last = 0;
    s->n_loads = 0;
    while (!f.posted && r->chip.phase != SQ_CHIP_END) {
        if (begins)
            memset(&r->walk, 0, sizeof r->walk);
        else
            sq_chip_cycle(&r->setup, &r->chip, &f);
        const bool is_due = f.loaded || f.posted;
        const bool is_boundary =
            begins || is_due || (f.is_boundary && f.stats.cycles - last >= SPACING);
        begins = false;
        if (is_boundary && r->chip.phase == SQ_CHIP_RUN) {
            if (!look_up(r, &f))
                return false;
            last = f.stats.cycles;
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

// A job was posted.
static bool set_state(struct sq_chip_run *r)
{
    sq_chip_state_settle(&r->setup, &r->chip);
    r->chip.pending = 0; // follows from the job
    r->state = sq_chip_state_key(&r->setup, &r->chip, &r->memo->jobs);
    return r->state != 0;
}

// The state of the key, with the posted job.
static void restore(struct sq_chip_run *r)
{
    size_t nbytes;
    sq_chip_state_unpack(&r->setup, sq_memo_key(&r->memo->jobs, r->state, &nbytes), &r->chip);
    r->chip.pending = sq_chip_takers(&r->posted.job);
}

static bool set_number(struct sq_chip_run *r, uint32_t *number, const void *key, size_t nbytes)
{
    const bool is_there = *number != 0;
    *number = is_there ? sq_memo_add_key(&r->memo->jobs, key, nbytes) : 0;
    return is_there == (*number != 0);
}

// What is kept fills memory: begins anew with what is at hand.
static bool forget(struct sq_chip_run *r)
{
    struct sq_chip_cursor *const job[] = {&r->posted, &r->jobs};
    restore(r);
    sq_memo_forget(&r->memo->jobs);
    sq_memo_forget(&r->memo->tiles); // its keys hold some of those
    r->n_forgotten++;
    bool ok = set_number(r, &r->loads.number, &r->loads.load, sizeof r->loads.load);
    for (unsigned i = 0; i < 2; i++)
        ok = ok && set_number(r, &job[i]->number, &job[i]->job, sizeof job[i]->job);
    return ok && set_state(r);
}

// The i-th step after the one that is loaded.
static bool look_ahead(struct sq_chip_run *r, uint32_t i)
{
    if (i < r->n_ahead)
        return true;
    assert(i == r->n_ahead && i < SQ_CHIP_AHEAD);
    r->ahead[i] = i > 0 ? r->ahead[i - 1] : r->loads;
    return next_load(r, &r->ahead[r->n_ahead++]);
}

// Goes along *e, if the steps that are loaded are those. *went: it did.
static bool follow(struct sq_chip_run *r, const struct entry *e, bool *went)
{
    *went = false;
    for (uint32_t i = 0; i < e->n_loads; i++) {
        if (!look_ahead(r, i))
            return false;
        if (r->ahead[i].number != e->load[i])
            return true;
    }
    if (e->n_loads > 0)
        r->loads = r->ahead[e->n_loads - 1];
    sq_chip_stats_add(&r->stats, &e->stats, 1);
    r->state = e->to;
    *went = true;
    return true;
}

// From the posted job to where the next one is.
static bool pass(struct sq_chip_run *r)
{
    struct sq_memo *const m = &r->memo->jobs;
    r->n_ahead = 0;
    if (!look_ahead(r, 0))
        return false;
    const struct sq_chip_key from = {r->state, r->posted.number, r->loads.number,
                                     r->ahead[0].number};
    const uint32_t key = sq_memo_add_key(m, &from, sizeof from);
    for (uint32_t i = sq_memo_first(m, key); i; i = sq_memo_next(m, i)) {
        const struct entry e = *(const struct entry *)sq_memo_entry(m, i);
        bool went;
        if (!follow(r, &e, &went) || went)
            return went;
    }
    struct entry e = {.n_loads = 0};
    restore(r);
    if (!key || !simulate(r, &e) || !set_state(r))
        return false;
    e.to = r->state;
    return e.n_loads > SQ_CHIP_AHEAD || sq_memo_put(m, key, &e, sizeof e);
}

static bool step(struct sq_chip_run *r)
{
    const bool is_full = sq_memo_nbytes(&r->memo->jobs) > r->memo->limit;
    return (!is_full || forget(r)) && pass(r) && post(r);
}

// ---- a layer ----------------------------------------------------------------------------------------

static void clear_memo(struct sq_chip_memo *m)
{
    sq_memo_free(&m->tiles);
    sq_memo_free(&m->jobs);
    *m = (struct sq_chip_memo){.limit = m->limit};
}

struct sq_chip_memo *sq_chip_memo_new(size_t limit)
{
    struct sq_chip_memo *const m = calloc(1, sizeof *m);
    if (m)
        m->limit = limit;
    return m;
}

void sq_chip_memo_free(struct sq_chip_memo *m)
{
    if (m)
        clear_memo(m);
    free(m);
}

// What is in it is of this chip and memory.
static void open_memo(struct sq_chip_memo *m, const unsigned *value,
                      const struct sq_env_choice *memory)
{
    if (memcmp(m->value, value, sizeof m->value) != 0 ||
        memcmp(m->memory, memory->n, sizeof m->memory) != 0)
        clear_memo(m);
    memcpy(m->value, value, sizeof m->value);
    memcpy(m->memory, memory->n, sizeof m->memory);
}

static bool run_layer(struct sq_chip_run *r, const unsigned *value,
                      const struct sq_top_layer *layer)
{
    struct entry e;
    start_cursor(value, layer, &r->setup.checks, &r->loads);
    r->setup.looks = r->loads.q.looked;
    r->jobs.q = r->loads.q;
    r->go = step;
    sq_chip_loops_init(r);
    sq_chip_state_init(value, &r->chip);
    if (!next_load(r, &r->loads) || !next_job(r) || !simulate(r, &e) || !set_state(r) || !post(r) ||
        !sq_chip_loops_run(r))
        return false;
    restore(r);
    return simulate(r, &e);
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
        key.place[i] = (uint32_t)(l->addr[i] % SQ_AXI_PAGE);
    return key;
}

// The counters of a layer that was run before, or those of a run.
static bool run_or_find(struct sq_chip_run *r, const unsigned *value,
                        const struct sq_env_choice *memory, const struct sq_top_layer *layer)
{
    struct sq_memo *const m = &r->memo->jobs;
    const struct layer_key key = key_of(layer);
    open_memo(r->memo, value, memory);
    const uint32_t known = sq_memo_first(m, sq_memo_find(m, &key, sizeof key));
    if (known) {
        r->stats = *(const struct sq_chip_stats *)sq_memo_entry(m, known);
        return true;
    }
    sq_chip_setup(value, memory, &r->setup);
    if (!run_layer(r, value, layer))
        return false;
    return sq_memo_put(m, sq_memo_add_key(m, &key, sizeof key), &r->stats, sizeof r->stats);
}

enum sq_status sq_chip_run_next(const unsigned *value, const struct sq_env_choice *memory,
                                const struct sq_top_layer *layer, struct sq_chip_memo *memo,
                                struct sq_chip_stats *stats, struct sq_error *err)
{
    if (sq_top_is_indexed(value)) // what happens depends on the offsets
        return sq_chip_run_step(value, memory, layer, stats, err);
    struct sq_chip_run *const r = calloc(1, sizeof *r);
    struct sq_chip_memo *const own = memo ? NULL : sq_chip_memo_new(SQ_CHIP_MEMO_NBYTES);
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
