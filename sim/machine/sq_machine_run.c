// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/sq_machine_run.h"

#include <assert.h>
#include <string.h>

#include "sim/block/sq_core_run.h"

// Position in the loop nest; outer, inner and chunk count in the order of the plan.
struct cursor {
    uint64_t outer, inner, chunk;
    bool done;
};

static uint64_t inner_count(const struct sq_plan *p)
{
    return p->n_outer ? p->count_m : p->count_n;
}

static uint64_t outer_count(const struct sq_plan *p)
{
    return p->n_outer ? p->count_n : p->count_m;
}

static void advance(const struct sq_plan *p, struct cursor *c)
{
    if (++c->chunk < p->count_k)
        return;
    c->chunk = 0;
    if (++c->inner < inner_count(p))
        return;
    c->inner = 0;
    c->done = ++c->outer == outer_count(p);
}

static unsigned class_at(const struct sq_plan *p, const struct cursor *c)
{
    return p->n_outer ? sq_plan_class(p, c->inner, c->outer, c->chunk)
                      : sq_plan_class(p, c->outer, c->inner, c->chunk);
}

static uint64_t load_cycles(const struct sq_plan *p, const struct cursor *c)
{
    const uint64_t i = p->n_outer ? c->inner : c->outer, j = p->n_outer ? c->outer : c->inner;
    return p->step[class_at(p, c)]
        .load[sq_plan_loads_weight(p, i)][sq_plan_loads_act(p, j)][c->chunk == 0];
}

// ---- what decides in a cycle ----------------------------------------------------------------
//
// Times are absolute cycles. Shared by both engines: they differ in how a job passes, and in how
// time advances.

enum { HALVES = 2, NEVER_LOADED = 0 };

struct world {
    const struct sq_machine *machine;
    const struct sq_plan *plan;
    uint64_t now;
    struct cursor load, work;       // next step to load, next step to compute
    unsigned ahead;                 // steps loaded or being loaded, not finished: 0..2
    unsigned ready;                 // entries of arrival[]
    uint64_t arrival[HALVES];       // when the operands of the next steps can be used, in order
    uint64_t dram_free;             // the DRAM is free from this cycle on
    uint64_t store[HALVES];         // DRAM cycles of finished blocks that wait for their store
    unsigned n_store;               //
    unsigned out_used;              // output halves: of the block in work, waiting or being stored
    uint64_t store_end;             // the transfer that frees an output half, 0 = none runs
    bool core_busy;                 //
    unsigned core_class;            //
    uint64_t core_end;              // fast engine: the job's result is complete before this cycle
    uint64_t jobs[SQ_STEP_CLASSES]; // started, by class
    uint64_t dram_busy;
};

static void start(struct world *w, const struct sq_machine *machine, const struct sq_plan *plan)
{
    memset(w, 0, sizeof *w);
    w->machine = machine;
    w->plan = plan;
    w->dram_free = plan->index_cycles;
}

static bool finished(const struct world *w)
{
    return w->work.done && !w->core_busy && w->n_store == 0 && w->store_end == 0;
}

// The job of the core has ended before this cycle.
static void finish_job(struct world *w)
{
    w->core_busy = false;
    w->ahead--;
    if (w->core_class & 4) // last chunk: the block is complete
        w->store[w->n_store++] = w->plan->step[w->core_class].store;
}

static void free_output(struct world *w)
{
    if (w->store_end && w->now >= w->store_end) {
        w->store_end = 0;
        w->out_used--;
    }
}

// Starts transfers as long as the DRAM is free in this cycle.
static void drive_dram(struct world *w)
{
    while (w->now >= w->dram_free) {
        if (!w->load.done && w->ahead < HALVES) {
            const uint64_t cycles = load_cycles(w->plan, &w->load);
            w->dram_free = w->now + cycles;
            w->arrival[w->ready++] = cycles ? w->dram_free + w->machine->dram_latency : w->now;
            w->dram_busy += cycles;
            w->ahead++;
            advance(w->plan, &w->load);
        } else if (w->n_store > 0) {
            w->store_end = w->dram_free = w->now + w->store[0];
            w->dram_busy += w->store[0];
            w->store[0] = w->store[1];
            w->n_store--;
        } else {
            return;
        }
    }
}

// Takes the next job if it can; true then.
static bool take_job(struct world *w)
{
    if (w->core_busy || w->work.done || w->ready == 0 || w->arrival[0] > w->now)
        return false;
    if (w->work.chunk == 0) {
        if (w->out_used == HALVES)
            return false;
        w->out_used++;
    }
    w->core_busy = true;
    w->core_class = class_at(w->plan, &w->work);
    w->jobs[w->core_class]++;
    w->arrival[0] = w->arrival[1];
    w->ready--;
    advance(w->plan, &w->work);
    return true;
}

static void put_totals(const struct world *w, struct sq_machine_stats *s)
{
    uint64_t dram;
    s->cycles = w->now;
    s->dram_busy = w->dram_busy;
    sq_plan_traffic(w->plan, s->nbytes, &dram);
    assert(dram == w->dram_busy);
    assert(w->now <= w->plan->limit); // else sums may have wrapped
    s->steps = w->plan->count_m * w->plan->count_n * w->plan->count_k;
}

// ---- stepping engine ------------------------------------------------------------------------

static void step_core(struct sq_core_sim *core, struct sq_streams *streams,
                      const struct sq_job *new_job)
{
    struct sq_core_in in = {.job_valid = new_job != NULL};
    struct sq_core_out out;
    if (new_job)
        in.job = *new_job;
    sq_streams_drive(streams, &in);
    sq_core_comb(core, &in, &out);
    sq_streams_clock(streams, &in, &out);
    sq_core_clock(core, &in);
}

static void add_causes(struct sq_machine_stats *s, const struct sq_core_stats *core, uint64_t n)
{
    for (unsigned i = 0; i < SQ_N_CAUSES; i++) {
        s->low[i] += n * core->low[i];
        s->high[i] += n * core->high[i];
    }
    s->low[SQ_CAUSE_FILLING] += n; // the cycle in which the job is taken
    s->high[SQ_CAUSE_FILLING] += n;
}

struct sq_machine_stats sq_machine_run_step(const struct sq_machine *machine,
                                            const struct sq_plan *plan)
{
    static const struct sq_stall free_streams[4] = {
        {SQ_STALL_FREE, 1}, {SQ_STALL_FREE, 1}, {SQ_STALL_FREE, 1}, {SQ_STALL_FREE, 1}};
    struct sq_machine_stats stats = {.cycles = 0};
    struct sq_streams streams;
    struct sq_core_sim core;
    struct world w;
    start(&w, machine, plan);
    sq_core_reset(&core, &plan->core);
    sq_streams_init(&streams, free_streams, 0);
    for (;; w.now++) {
        if (w.core_busy && !sq_core_active(&core)) {
            finish_job(&w);
            add_causes(&stats, &core.stats, 1);
        }
        free_output(&w);
        drive_dram(&w);
        if (finished(&w))
            break;
        const struct sq_job *job = NULL;
        if (take_job(&w)) {
            job = &plan->step[w.core_class].job;
            sq_streams_add(&streams, &plan->core, job);
        }
        if (!w.core_busy)
            ++*(w.now < plan->index_cycles ? &stats.index : &stats.memory);
        step_core(&core, &streams, job);
    }
    put_totals(&w, &stats);
    return stats;
}

// ---- fast engine ----------------------------------------------------------------------------

// State relative to `now`, without the positions: what the future depends on as long as blocks of
// the same kind follow.
struct key {
    uint64_t arrival[HALVES], dram_free, store[HALVES], store_end, core_end;
    uint64_t load_outer, load_inner, load_chunk, work_inner;
    unsigned ahead, ready, n_store, out_used, core_busy, core_class;
};

static uint64_t after(uint64_t t, uint64_t now)
{
    return t > now ? t - now : 0;
}

static struct key make_key(const struct world *w, bool is_outer)
{
    struct key k;
    memset(&k, 0, sizeof k); // padding too: keys are compared with memcmp
    for (unsigned i = 0; i < w->ready; i++)
        k.arrival[i] = after(w->arrival[i], w->now);
    for (unsigned i = 0; i < w->n_store; i++)
        k.store[i] = w->store[i];
    k.dram_free = after(w->dram_free, w->now);
    k.store_end = w->store_end ? after(w->store_end, w->now) + 1 : 0;
    k.core_end = w->core_busy ? after(w->core_end, w->now) : 0;
    k.load_outer = w->load.outer - w->work.outer;
    k.load_inner = is_outer ? w->load.inner : w->load.inner - w->work.inner;
    k.load_chunk = w->load.chunk;
    k.work_inner = is_outer ? w->work.inner : 0;
    k.ahead = w->ahead;
    k.ready = w->ready;
    k.n_store = w->n_store;
    k.out_used = w->out_used;
    k.core_busy = w->core_busy;
    k.core_class = w->core_class;
    return k;
}

struct mark {
    bool valid;
    struct key key;
    struct world world;
    uint64_t next, seen; // the mark moves after `next` visits, doubling
};

static void shift(uint64_t *t, uint64_t by)
{
    if (*t)
        *t += by;
}

// n periods at once.
static void skip(struct world *w, const struct world *then, bool is_outer, uint64_t n)
{
    const uint64_t period = w->now - then->now, by = n * period;
    if (is_outer) {
        const uint64_t blocks = n * (w->work.outer - then->work.outer);
        w->work.outer += blocks;
        w->load.outer += blocks;
    } else {
        const uint64_t blocks = n * (w->work.inner - then->work.inner);
        w->work.inner += blocks;
        w->load.inner += blocks;
    }
    for (unsigned i = 0; i < SQ_STEP_CLASSES; i++)
        w->jobs[i] += n * (w->jobs[i] - then->jobs[i]);
    w->dram_busy += n * (w->dram_busy - then->dram_busy);
    w->now += by;
    for (unsigned i = 0; i < w->ready; i++)
        w->arrival[i] += by;
    w->dram_free += by;
    shift(&w->store_end, by);
    w->core_end += by;
}

// Blocks near the first (operands are loaded there) and the last (another size) are never skipped.
enum { MARGIN = 4 };

static void visit(struct world *w, struct mark *m, bool is_outer)
{
    const uint64_t at = is_outer ? w->work.outer : w->work.inner;
    const uint64_t count = is_outer ? outer_count(w->plan) : inner_count(w->plan);
    if (at < MARGIN || at + 2 * MARGIN > count) {
        m->valid = false;
        return;
    }
    const struct key key = make_key(w, is_outer);
    if (m->valid && memcmp(&key, &m->key, sizeof key) == 0) {
        const uint64_t then = is_outer ? m->world.work.outer : m->world.work.inner;
        skip(w, &m->world, is_outer, (count - MARGIN - at) / (at - then));
        m->valid = false;
        return;
    }
    if (!m->valid || ++m->seen >= m->next) {
        m->next = m->valid ? m->next * 2 : 1;
        m->seen = 0;
        m->key = key;
        m->world = *w;
        m->valid = true;
    }
}

// The next cycle in which anything can happen.
static uint64_t next_event(const struct world *w)
{
    uint64_t t = UINT64_MAX;
    if (w->core_busy && w->core_end < t)
        t = w->core_end;
    if (w->store_end && w->store_end < t)
        t = w->store_end;
    if (w->dram_free > w->now && w->dram_free < t)
        t = w->dram_free;
    if (!w->core_busy && w->ready > 0 && w->arrival[0] > w->now && w->arrival[0] < t)
        t = w->arrival[0];
    assert(t != UINT64_MAX && t > w->now);
    return t;
}

struct sq_machine_stats sq_machine_run_fast(const struct sq_machine *machine,
                                            const struct sq_plan *plan)
{
    static const struct sq_rates free_streams = {1, 1, 1, 1};
    struct sq_core_stats core[SQ_STEP_CLASSES];
    bool known[SQ_STEP_CLASSES] = {false};
    struct sq_machine_stats stats = {.cycles = 0};
    struct mark inner = {.valid = false}, outer = {.valid = false};
    struct world w;
    start(&w, machine, plan);
    for (;; w.now = next_event(&w)) {
        if (w.core_busy && w.now >= w.core_end)
            finish_job(&w);
        free_output(&w);
        drive_dram(&w);
        if (finished(&w))
            break;
        const struct cursor at = w.work;
        if (take_job(&w)) {
            const unsigned c = w.core_class;
            if (!known[c])
                core[c] = sq_core_run_fast(&plan->core, &plan->step[c].job, &free_streams);
            known[c] = true;
            w.core_end = w.now + 1 + core[c].cycles;
            if (at.chunk == 0) {
                if (at.inner == 0)
                    visit(&w, &outer, true);
                visit(&w, &inner, false);
            }
        }
    }
    put_totals(&w, &stats);
    for (unsigned c = 0; c < SQ_STEP_CLASSES; c++)
        if (w.jobs[c])
            add_causes(&stats, &core[c], w.jobs[c]);
    stats.index = plan->index_cycles;
    stats.memory = stats.cycles - stats.index - sq_causes_sum(stats.low);
    return stats;
}
