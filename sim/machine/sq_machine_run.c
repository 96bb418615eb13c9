// SPDX-License-Identifier: Apache-2.0
// Runs a plan cycle by cycle or from event to event, and skips what repeats (sq_machine_run.h).
#include "sim/machine/sq_machine_run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/sq_chip_machine.h"

// Position in the loop nest; outer, inner and chunk count in the order of the plan.
struct cursor {
    uint64_t outer, inner, chunk;
    bool done;
};

static uint64_t inner_count(const struct sq_mapping *p)
{
    return p->n_outer ? p->count_m : p->count_n;
}

static uint64_t outer_count(const struct sq_mapping *p)
{
    return p->n_outer ? p->count_n : p->count_m;
}

static void advance(const struct sq_mapping *p, struct cursor *c)
{
    if (++c->chunk < p->count_k)
        return;
    c->chunk = 0;
    if (++c->inner < inner_count(p))
        return;
    c->inner = 0;
    c->done = ++c->outer == outer_count(p);
}

static unsigned class_at(const struct sq_mapping *p, const struct cursor *c)
{
    return p->n_outer ? sq_mapping_class(p, c->inner, c->outer, c->chunk)
                      : sq_mapping_class(p, c->outer, c->inner, c->chunk);
}

static uint64_t load_cycles(const struct sq_mapping *p, const struct cursor *c)
{
    const uint64_t i = p->n_outer ? c->inner : c->outer, j = p->n_outer ? c->outer : c->inner;
    return p->step[class_at(p, c)]
        .load[sq_mapping_loads_weight(p, i)][sq_mapping_loads_act(p, j)][c->chunk == 0];
}

// ---- what decides in a cycle ----------------------------------------------------------------
//
// Times are absolute cycles. Shared by both engines: they differ in how a job passes, and in how
// time advances.

enum { HALVES = 2, NEVER_LOADED = 0 };

struct world {
    const struct sq_machine *machine;
    const struct sq_mapping *plan;
    uint64_t now;
    struct cursor load, work;       // next step to load, next step to compute
    unsigned ahead;                 // steps loaded or being loaded, not finished: 0..2
    unsigned ready;                 // entries of arrival[]
    uint64_t arrival[HALVES];       // when the operands of the next steps can be used, in order
    uint64_t dram_free;             // the DRAM is free from this cycle on
    uint64_t store[HALVES];         // DRAM cycles that finished blocks have yet to be stored in
    uint64_t parts[HALVES];         // in so many parts
    uint64_t before[HALVES];        // loads that go before the next one and have not begun
    unsigned n_store;               //
    unsigned out_used;              // output halves: of the block in work, waiting or being stored
    uint64_t store_end;             // the transfer that frees an output half, 0 = none runs
    bool core_busy;                 //
    unsigned core_class;            //
    uint64_t core_end;              // the job's result is complete before this cycle
    uint64_t jobs[SQ_STEP_CLASSES]; // started, by class
    uint64_t dram_busy;
};

static void start(struct world *w, const struct sq_machine *machine, const struct sq_mapping *plan)
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
    if (w->core_class & 4) { // last chunk: the block is complete
        w->store[w->n_store] = w->plan->step[w->core_class].store;
        w->parts[w->n_store] = w->plan->store_late ? 1 : w->plan->count_k;
        w->before[w->n_store++] =
            HALVES - w->ahead + (w->plan->store_late ? w->plan->count_k - 1 : 0);
    }
}

static void free_output(struct world *w)
{
    if (w->store_end && w->now >= w->store_end) {
        w->store_end = 0;
        w->out_used--;
    }
}

static void load(struct world *w)
{
    const uint64_t cycles = load_cycles(w->plan, &w->load);
    w->dram_free = w->now + cycles;
    w->arrival[w->ready++] = cycles ? w->dram_free + w->machine->dram_latency : w->now;
    w->dram_busy += cycles;
    w->ahead++;
    for (unsigned i = 0; i < w->n_store; i++)
        w->before[i] -= w->before[i] > 0;
    advance(w->plan, &w->load);
}

// DRAM cycles of the next part; the first ones are the longer ones, by a cycle.
static uint64_t part_cycles(const struct world *w)
{
    return (w->store[0] + w->parts[0] - 1) / w->parts[0];
}

static void store(struct world *w)
{
    const uint64_t cycles = part_cycles(w);
    w->dram_free = w->now + cycles;
    w->dram_busy += cycles;
    w->store[0] -= cycles;
    w->parts[0]--;
    w->before[0] = 1;
    if (w->store[0] > 0)
        return;
    w->store_end = w->dram_free;
    w->store[0] = w->store[1];
    w->parts[0] = w->parts[1];
    w->before[0] = w->before[1];
    w->n_store--;
}

// Starts transfers as long as the DRAM is free in this cycle, in the order of the plan.
static void drive_dram(struct world *w)
{
    while (w->now >= w->dram_free) {
        if (w->n_store > 0 && (w->before[0] == 0 || w->load.done))
            store(w);
        else if (!w->load.done && w->ahead < HALVES)
            load(w);
        else
            return;
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
    sq_mapping_traffic(w->plan, s->nbytes, &dram);
    assert(dram == w->dram_busy);
    assert(w->now <= w->plan->limit); // else sums may have wrapped
    s->steps = w->plan->count_m * w->plan->count_n * w->plan->count_k;
}

// ---- stepping engine ------------------------------------------------------------------------

static void add_causes(struct sq_machine_stats *s, const struct sq_unit_stats *job, uint64_t n)
{
    for (unsigned i = 0; i < SQ_N_UNIT_CAUSES; i++) {
        s->low[i] += n * job->low[i];
        s->high[i] += n * job->high[i];
    }
    s->low[SQ_CAUSE_FILLING] += n; // the cycle in which the job is taken
    s->high[SQ_CAUSE_FILLING] += n;
}

struct sq_machine_stats sq_machine_run_step(const struct sq_machine *machine,
                                            const struct sq_mapping *plan)
{
    struct sq_machine_stats stats = {.cycles = 0};
    struct sq_unit_stats core[SQ_STEP_CLASSES]; // the same job takes the same
    bool known[SQ_STEP_CLASSES] = {false};
    struct world w;
    start(&w, machine, plan);
    for (;; w.now++) {
        if (w.core_busy && w.now >= w.core_end)
            finish_job(&w);
        free_output(&w);
        drive_dram(&w);
        if (finished(&w))
            break;
        if (take_job(&w)) {
            const unsigned c = w.core_class;
            const struct sq_tile_list list = sq_mapping_list(plan, c);
            if (!known[c])
                core[c] = sq_unit_run_step(&plan->cost.unit, &plan->step[c].job, &list);
            known[c] = true;
            w.core_end = w.now + 1 + core[c].cycles;
            add_causes(&stats, &core[c], 1);
        }
        if (!w.core_busy)
            ++*(w.now < plan->index_cycles ? &stats.index : &stats.memory);
    }
    put_totals(&w, &stats);
    return stats;
}

// ---- fast engine ----------------------------------------------------------------------------

// The loop that repeats: chunks of one block, inner blocks of one outer block, or outer blocks.
enum level { CHUNK, INNER, OUTER, N_LEVELS };

// State relative to `now` and, in the loop that repeats, to the position: what the future depends
// on as long as steps of the same kind follow.
struct key {
    uint64_t arrival[HALVES], dram_free, store[HALVES], store_end, core_end;
    uint64_t load_outer, load_inner, load_chunk, work_inner;
    uint64_t parts[HALVES], before[HALVES];
    unsigned ahead, ready, n_store, out_used, core_busy, core_class;
};

static uint64_t after(uint64_t t, uint64_t now)
{
    return t > now ? t - now : 0;
}

static struct key make_key(const struct world *w, enum level level)
{
    struct key k;
    memset(&k, 0, sizeof k); // padding too: keys are compared with memcmp
    for (unsigned i = 0; i < w->ready; i++)
        k.arrival[i] = after(w->arrival[i], w->now);
    for (unsigned i = 0; i < w->n_store; i++) {
        k.store[i] = w->store[i];
        k.parts[i] = w->parts[i];
        k.before[i] = w->before[i];
    }
    if (level == CHUNK) { // what only counts down, chunk by chunk, is alike: see most_periods
        for (unsigned i = 0; i < w->n_store; i++)
            k.before[i] = w->before[i] > 0;
        k.store[0] = w->n_store > 0 ? part_cycles(w) : 0;
        k.parts[0] = 0;
    }
    k.dram_free = after(w->dram_free, w->now);
    k.store_end = w->store_end ? after(w->store_end, w->now) + 1 : 0;
    k.core_end = w->core_busy ? after(w->core_end, w->now) : 0;
    k.load_outer = w->load.outer - w->work.outer;
    k.load_inner = level == OUTER ? w->load.inner : w->load.inner - w->work.inner;
    k.load_chunk = level == CHUNK ? w->load.chunk - w->work.chunk : w->load.chunk;
    k.work_inner = level == OUTER ? w->work.inner : 0;
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

static uint64_t *position(struct cursor *c, enum level level)
{
    return level == CHUNK ? &c->chunk : level == INNER ? &c->inner : &c->outer;
}

// At most n periods like that since `then`, of chunks: parts of the first store are of one length
// and not its last, and loads that go before a store are not the last of those. Other stores cannot
// have come or gone: their number is in the key, and within a block none comes.
static uint64_t most_periods(const struct world *w, const struct world *then, uint64_t n)
{
    for (unsigned i = 0; i < w->n_store; i++) {
        const uint64_t went = then->before[i] - w->before[i];
        if (went > 0 && n > (w->before[i] - 1) / went)
            n = (w->before[i] - 1) / went;
    }
    const uint64_t parts = w->n_store > 0 ? then->parts[0] - w->parts[0] : 0;
    if (parts > 0) {
        const uint64_t longer = w->store[0] % w->parts[0], same = longer ? longer : w->parts[0];
        if (n > (same - 1) / parts)
            n = (same - 1) / parts;
    }
    return n;
}

// What counts down in n periods of chunks.
static void count_down(struct world *w, const struct world *then, uint64_t n)
{
    for (unsigned i = 0; i < w->n_store; i++)
        w->before[i] -= n * (then->before[i] - w->before[i]);
    if (w->n_store > 0) {
        const uint64_t parts = n * (then->parts[0] - w->parts[0]);
        w->store[0] -= parts * part_cycles(w);
        w->parts[0] -= parts;
    }
}

// n periods of `length` chunks or blocks at once.
static void skip(struct world *w, const struct world *then, enum level level, uint64_t length,
                 uint64_t n)
{
    const uint64_t by = n * (w->now - then->now);
    *position(&w->work, level) += n * length;
    *position(&w->load, level) += n * length;
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

// One past the last position of the next load with only steps of the same kind before it: the last
// chunk and the last block are of another size. A load may stop in the middle of a block.
static uint64_t same_until(const struct sq_mapping *p, enum level level)
{
    return level == CHUNK ? p->count_k : level == INNER ? inner_count(p) - 1 : outer_count(p) - 1;
}

// Whether work and load are in the same run of the loop and past its first step, in which operands
// are loaded that later ones keep. Loads are never behind the work.
static bool is_within(const struct world *w, enum level level)
{
    const bool same_outer = w->load.outer == w->work.outer;
    const bool same_inner = same_outer && w->load.inner == w->work.inner;
    return level == CHUNK   ? same_inner && w->work.chunk > 0
           : level == INNER ? same_outer && w->work.inner > 0
                            : w->work.outer > 0;
}

// After a job was taken (INNER, OUTER: the first of a block, of an outer block): skips if the
// mark's key came back, else maybe moves the mark.
static void visit(struct world *w, struct mark *m, enum level level)
{
    const uint64_t end = same_until(w->plan, level), load = *position(&w->load, level);
    if (load + 1 >= end || !is_within(w, level)) {
        m->valid = false;
        return;
    }
    const struct key key = make_key(w, level);
    if (m->valid && memcmp(&key, &m->key, sizeof key) == 0) {
        const uint64_t length = load - *position(&m->world.load, level);
        uint64_t n = (end - 1 - load) / length;
        if (level == CHUNK) {
            n = most_periods(w, &m->world, n);
            count_down(w, &m->world, n);
        }
        skip(w, &m->world, level, length, n);
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

struct sq_machine_stats sq_machine_run_next(const struct sq_machine *machine,
                                            const struct sq_mapping *plan,
                                            struct sq_unit_memo *memo)
{
    struct sq_unit_stats core[SQ_STEP_CLASSES];
    bool known[SQ_STEP_CLASSES] = {false};
    struct sq_machine_stats stats = {.cycles = 0};
    struct mark mark[N_LEVELS] = {{.valid = false}};
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
            const struct sq_tile_list list = sq_mapping_list(plan, c);
            if (!known[c])
                core[c] = sq_unit_run(&plan->cost.unit, &plan->step[c].job, &list, memo);
            known[c] = true;
            w.core_end = w.now + 1 + core[c].cycles;
            if (at.chunk == 0 && at.inner == 0)
                visit(&w, &mark[OUTER], OUTER);
            if (at.chunk == 0)
                visit(&w, &mark[INNER], INNER);
            visit(&w, &mark[CHUNK], CHUNK);
        }
    }
    put_totals(&w, &stats);
    for (unsigned c = 0; c < SQ_STEP_CLASSES; c++)
        if (w.jobs[c])
            add_causes(&stats, &core[c], w.jobs[c]);
    stats.index = plan->index_cycles;
    stats.memory = stats.cycles - stats.index - sq_unit_causes_sum(stats.low);
    return stats;
}

struct sq_machine_stats sq_machine_run_fast(const struct sq_machine *machine,
                                            const struct sq_mapping *plan)
{
    return sq_machine_run_next(machine, plan, NULL);
}

uint64_t sq_unit_causes_sum(const uint64_t counts[SQ_N_UNIT_CAUSES])
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SQ_N_UNIT_CAUSES; i++)
        sum += counts[i];
    return sum;
}

// ---- the best plan --------------------------------------------------------------------------

struct best {
    struct sq_mapping_visitor visitor; // the first member
    const struct sq_machine *machine;
    struct sq_unit_memo *memo;
    struct sq_mapping *plan;
    struct sq_machine_stats stats;
};

// Cycles of all jobs of a plan.
static uint64_t jobs_cycles(const struct sq_mapping *p, struct sq_unit_memo *memo)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SQ_STEP_CLASSES; i++) {
        const struct sq_tile_list list = sq_mapping_list(p, i);
        const uint64_t n = sq_mapping_count(p->count_m, i & 1) *
                           sq_mapping_count(p->count_n, i & 2) *
                           sq_mapping_count(p->count_k, i & 4);
        if (n > 0)
            sum += n * sq_unit_run(&p->cost.unit, &p->step[i].job, &list, memo).cycles;
    }
    return sum;
}

static void try_plan(struct sq_mapping_visitor *v, const struct sq_mapping *p)
{
    struct best *const b = (struct best *)v;
    if (sq_mapping_least(p, jobs_cycles(p, b->memo)) >= v->least)
        return;
    const struct sq_machine_stats s = sq_machine_run_next(b->machine, p, b->memo);
    if (s.cycles >= v->least)
        return;
    v->least = s.cycles;
    b->stats = s;
    *b->plan = *p;
}

enum sq_status sq_mapping_run(const struct sq_machine *machine, const struct sq_recipe *recipe,
                              const struct sq_gemm *gemm, struct sq_mapping *plan,
                              struct sq_machine_stats *stats, struct sq_unit_memo *memo,
                              struct sq_error *err)
{
    if (machine->chip.bus_nbytes)
        return sq_chip_mapping_run(machine, recipe, gemm, plan, stats, err);
    struct sq_mapping candidate[SQ_PLANS];
    struct best best = {
        {.least = UINT64_MAX, .visit = try_plan}, machine, memo, plan, {.cycles = 0}};
    unsigned n;
    SQ_TRY(sq_mapping_search(machine, recipe, gemm, candidate, &n, err));
    struct sq_unit_memo *const own =
        memo ? NULL : calloc(1, sizeof *own); // many plans have the same jobs
    best.memo = memo ? memo : own;
    for (unsigned i = 0; i < n; i++)
        try_plan(&best.visitor, &candidate[i]);
    const enum sq_status status = sq_mapping_sweep(machine, recipe, gemm, &best.visitor, err);
    free(own);
    plan->bound = best.visitor.bound;
    if (stats)
        *stats = best.stats;
    return status;
}

enum sq_status sq_mapping_make(const struct sq_machine *machine, const struct sq_recipe *recipe,
                               const struct sq_gemm *gemm, struct sq_mapping *plan,
                               struct sq_error *err)
{
    return sq_mapping_run(machine, recipe, gemm, plan, NULL, NULL, err);
}
