// SPDX-License-Identifier: Apache-2.0
// Runs a plan cycle by cycle or from event to event, and skips what repeats (sq_machine_run.h).
#include "sim/machine/sq_machine_run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/block/flow/sq_skip.h"
#include "sim/machine/sq_chip_machine.h"
#include "sim/machine/sq_chip_run.h"
#include "sim/machine/sq_machine_timed.h"

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
// Shared by both engines: they differ in how a job passes, and in how time advances.

enum { HALVES = 2 };

// The outputs of a finished block, which have yet to be stored: `longer` parts of a cycle more than
// `part`, and the rest of `part` cycles.
struct store {
    uint64_t part, longer, parts;
    uint64_t before; // loads that go before the next part and have not begun
};

// Times are cycles from now on. Zeroed with its padding before, and where it is not in use.
struct run {
    const struct sq_machine *machine;
    const struct sq_mapping *plan;
    uint64_t now;
    struct cursor load, work;       // next step to load, next step to compute
    unsigned ahead;                 // steps loaded or being loaded, not finished: 0..2
    unsigned ready;                 // entries of arrival[]
    uint64_t arrival[HALVES];       // when the operands of the next steps can be used, in order
    uint64_t dram_left;             // the DRAM is free then
    struct store store[HALVES];     //
    unsigned n_store;               //
    unsigned out_used;              // output halves: of the block in work, waiting or being stored
    bool is_storing;                // a transfer runs that frees an output half
    uint64_t store_left;            // when it ends
    bool core_busy;                 //
    unsigned core_class;            //
    uint64_t core_left;             // the job's result is complete then
    uint64_t jobs[SQ_STEP_CLASSES]; // started, by class
    uint64_t dram_busy;
    struct sq_machine_timed
        *timed; // NULL: the DRAM is ideal; else times of arrival and of stores are its
    struct {    // of the job at hand, of the outputs that wait: block, class, parts
        uint64_t i, j, parts;
        unsigned class;
    } job, out[HALVES];
    unsigned n_storing; // blocks that are on their way, timed
};

// `timed` is for a DRAM that keeps time.
static void start(struct run *w, const struct sq_machine *machine, const struct sq_mapping *plan,
                  struct sq_machine_timed *timed, bool is_fast)
{
    memset(w, 0, sizeof *w);
    w->machine = machine;
    w->plan = plan;
    w->dram_left = plan->index_cycles;
    if (machine->timed.is_timed) {
        sq_machine_timed_begin(timed, machine, plan, is_fast);
        w->timed = timed;
    }
}

// Block of rows and columns of a cursor.
static void block_at(const struct sq_mapping *p, const struct cursor *c, uint64_t *i, uint64_t *j)
{
    *i = p->n_outer ? c->inner : c->outer;
    *j = p->n_outer ? c->outer : c->inner;
}

static bool dram_is_free(const struct run *w)
{
    return w->timed ? w->now >= w->plan->index_cycles && sq_machine_timed_is_free(w->timed, w->now)
                    : w->dram_left == 0;
}

// Whether the operands of the next step are there.
static bool has_arrived(const struct run *w)
{
    return w->ready > 0 &&
           (w->timed ? sq_machine_timed_loaded(w->timed) <= w->now : w->arrival[0] == 0);
}

static bool finished(const struct run *w)
{
    return w->work.done && !w->core_busy && w->n_store == 0 && !w->is_storing;
}

static uint64_t less(uint64_t t, uint64_t cycles)
{
    return t > cycles ? t - cycles : 0;
}

static void advance_time(struct run *w, uint64_t cycles)
{
    w->now += cycles;
    for (unsigned i = 0; i < HALVES; i++)
        w->arrival[i] = less(w->arrival[i], cycles);
    w->dram_left = less(w->dram_left, cycles);
    w->store_left = less(w->store_left, cycles);
    w->core_left = less(w->core_left, cycles);
}

static void finish_job(struct run *w)
{
    if (!w->core_busy || w->core_left > 0)
        return;
    w->core_busy = false;
    w->ahead--;
    if (!(w->core_class & 4)) // not the last chunk of its block
        return;
    const uint64_t cycles = w->plan->step[w->core_class].store;
    const uint64_t parts = w->plan->store_late ? 1 : w->plan->count_k;
    w->store[w->n_store++] = (struct store){
        .part = cycles / parts,
        .longer = cycles % parts,
        .parts = parts,
        .before = HALVES - w->ahead + (w->plan->store_late ? w->plan->count_k - 1 : 0)};
    if (!w->timed) // states are compared
        return;
    w->out[w->n_store - 1].i = w->job.i;
    w->out[w->n_store - 1].j = w->job.j;
    w->out[w->n_store - 1].parts = parts;
    w->out[w->n_store - 1].class = w->core_class;
}

static void free_output(struct run *w)
{
    while (w->timed && w->n_storing > 0 && sq_machine_timed_stored(w->timed) <= w->now) {
        sq_machine_timed_free(w->timed);
        w->out_used--;
        w->is_storing = --w->n_storing > 0;
    }
    if (w->timed)
        return;
    if (w->is_storing && w->store_left == 0) {
        w->is_storing = false;
        w->out_used--;
    }
}

static void load(struct run *w)
{
    const uint64_t cycles = load_cycles(w->plan, &w->load);
    w->dram_left = cycles;
    w->arrival[w->ready++] = cycles ? cycles + w->machine->dram_latency : 0;
    if (w->timed) {
        uint64_t i, j;
        block_at(w->plan, &w->load, &i, &j);
        sq_machine_timed_load(w->timed, w->now, class_at(w->plan, &w->load), i, j, w->load.chunk);
    }
    w->dram_busy += cycles;
    w->ahead++;
    for (unsigned i = 0; i < w->n_store; i++)
        w->store[i].before -= w->store[i].before > 0;
    advance(w->plan, &w->load);
}

// The next part; the longer ones come first.
static void store(struct run *w)
{
    struct store *const s = w->store;
    const uint64_t cycles = s->part + (s->longer > 0);
    w->dram_left = cycles;
    w->dram_busy += cycles;
    const uint64_t part = w->out[0].parts - s->parts;
    s->longer -= s->longer > 0;
    s->parts--;
    s->before = 1;
    const bool is_last = s->parts == 0 || s->part + s->longer == 0;
    if (w->timed)
        sq_machine_timed_store(w->timed, w->now, w->out[0].class, w->out[0].i, w->out[0].j, part,
                               w->out[0].parts, is_last);
    if (!is_last)
        return;
    w->is_storing = true;
    w->n_storing += w->timed != NULL;
    w->store_left = cycles;
    if (w->timed)
        w->out[0] = w->out[1];
    s[0] = s[1];
    s[1] = (struct store){.parts = 0};
    w->n_store--;
}

// Starts transfers as long as the DRAM is free in this cycle, in the order of the plan.
static void drive_dram(struct run *w)
{
    while (dram_is_free(w)) {
        if (w->n_store > 0 && (w->store[0].before == 0 || w->load.done))
            store(w);
        else if (!w->load.done && w->ahead < HALVES)
            load(w);
        else
            return;
    }
}

// Takes the next job if it can; true then.
static bool take_job(struct run *w)
{
    if (w->core_busy || w->work.done || !has_arrived(w))
        return false;
    if (w->work.chunk == 0) {
        if (w->out_used == HALVES)
            return false;
        w->out_used++;
    }
    w->core_busy = true;
    w->core_class = class_at(w->plan, &w->work);
    if (w->timed) {
        sq_machine_timed_take(w->timed);
        block_at(w->plan, &w->work, &w->job.i, &w->job.j);
    }
    w->jobs[w->core_class]++;
    w->arrival[0] = w->arrival[1];
    w->arrival[1] = 0;
    w->ready--;
    advance(w->plan, &w->work);
    return true;
}

static void put_totals(const struct run *w, struct sq_machine_stats *s)
{
    s->cycles = w->now;
    s->dram_busy = w->dram_busy;
    memcpy(s->nbytes, w->plan->sum.nbytes, sizeof s->nbytes);
    assert(w->plan->sum.dram == w->dram_busy);
    assert(w->timed || w->now <= w->plan->limit); // else sums may have wrapped
    if (w->timed)
        s->dram = sq_machine_timed_stats(w->timed, w->now);
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
                                            const struct sq_mapping *plan,
                                            struct sq_machine_timed *timed)
{
    struct sq_machine_stats stats = {.cycles = 0};
    struct sq_unit_stats core[SQ_STEP_CLASSES]; // the same job takes the same
    bool known[SQ_STEP_CLASSES] = {false};
    struct run w;
    start(&w, machine, plan, timed, false);
    for (;; advance_time(&w, 1)) {
        if (w.timed)
            sq_machine_timed_run(w.timed, w.now);
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
            w.core_left = 1 + core[c].cycles;
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

static uint64_t *position(struct cursor *c, enum level level)
{
    return level == CHUNK ? &c->chunk : level == INNER ? &c->inner : &c->outer;
}

// One past the last position of the next load with only steps of the same kind before it: the last
// chunk and the last block are of another size. A load may stop in the middle of a block.
static uint64_t same_until(const struct sq_mapping *p, enum level level)
{
    return level == CHUNK ? p->count_k : level == INNER ? inner_count(p) - 1 : outer_count(p) - 1;
}

// Whether work and load are in the same run of the loop and past its first step, in which operands
// are loaded that later ones keep. Loads are never behind the work.
static bool is_within(const struct run *w, enum level level)
{
    const bool same_outer = w->load.outer == w->work.outer;
    const bool same_inner = same_outer && w->load.inner == w->work.inner;
    return level == CHUNK   ? same_inner && w->work.chunk > 0
           : level == INNER ? same_outer && w->work.inner > 0
                            : w->work.outer > 0;
}

// After a job was taken (INNER, OUTER: the first of a block, of an outer block). Within a block no store
// comes, and what only counts down in it, chunk by chunk, is alike.
static void visit(struct run *w, struct sq_skip_mark *mark, enum level level)
{
    const uint64_t end = same_until(w->plan, level);
    struct sq_skip_here here;
    if (*position(&w->load, level) + 1 >= end || !is_within(w, level)) {
        mark->valid = false;
        return;
    }
    sq_skip_begin(&here, w, sizeof *w);
    sq_skip_add(&here, SQ_COUNTS(w->now, w->now));
    sq_skip_add(&here, SQ_COUNTS(w->jobs[0], w->jobs));
    sq_skip_add(&here, SQ_COUNTS(w->dram_busy, w->dram_busy));
    sq_skip_add(&here, SQ_COUNTS_UP(*position(&w->work, level), end));
    sq_skip_add(&here, SQ_COUNTS_UP(*position(&w->load, level), end));
    if (level == CHUNK) {
        sq_skip_add(&here, SQ_COUNTS_DOWN(w->store[0].longer));
        sq_skip_add(&here, SQ_COUNTS_DOWN(w->store[0].parts));
        sq_skip_add(&here, SQ_COUNTS_DOWN(w->store[0].before));
        sq_skip_add(&here, SQ_COUNTS_DOWN(w->store[1].before));
    }
    (void)sq_skip_visit(mark, &here);
}

// Cycles until the next one in which anything can happen.
static uint64_t next_event(const struct run *w)
{
    const uint64_t t[] = {w->core_busy ? w->core_left : 0, w->is_storing ? w->store_left : 0,
                          w->dram_left, !w->core_busy && w->ready > 0 ? w->arrival[0] : 0};
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < SQ_LEN(t); i++)
        least = t[i] > 0 && t[i] < least ? t[i] : least;
    assert(least < UINT64_MAX);
    return least;
}

// The same where the DRAM keeps time.
static uint64_t next_timed(const struct run *w)
{
    const uint64_t core = w->core_busy && w->core_left > 0 ? w->now + w->core_left : UINT64_MAX;
    const uint64_t index = w->now < w->plan->index_cycles ? w->plan->index_cycles : UINT64_MAX;
    return sq_machine_timed_leap(w->timed, w->now, core < index ? core : index) - w->now;
}

static struct sq_machine_stats run_events(const struct sq_machine *machine,
                                          const struct sq_mapping *plan, struct sq_memo *memo,
                                          struct sq_machine_timed *timed, bool is_fast)
{
    struct sq_unit_stats core[SQ_STEP_CLASSES];
    bool known[SQ_STEP_CLASSES] = {false};
    struct sq_machine_stats stats = {.cycles = 0};
    struct sq_skip_mark mark[N_LEVELS];
    struct run w;
    for (unsigned i = 0; i < N_LEVELS; i++)
        mark[i].valid = false;
    start(&w, machine, plan, timed, is_fast);
    for (;; advance_time(&w, w.timed ? next_timed(&w) : next_event(&w))) {
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
            w.core_left = 1 + core[c].cycles;
            if (w.timed) // rows and refreshes do not repeat with the loops (sq_dram_fast.h)
                continue;
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

struct sq_machine_stats sq_machine_run_next(const struct sq_machine *machine,
                                            const struct sq_mapping *plan, struct sq_memo *memo,
                                            struct sq_machine_timed *timed)
{
    const struct sq_machine_stats s = run_events(machine, plan, memo, timed, true);
    const bool is_lost = machine->timed.is_timed && timed->is_fast && timed->fast.is_lost;
    return is_lost ? run_events(machine, plan, memo, timed, false) : s;
}

struct sq_machine_stats sq_machine_run_fast(const struct sq_machine *machine,
                                            const struct sq_mapping *plan,
                                            struct sq_machine_timed *timed)
{
    return sq_machine_run_next(machine, plan, NULL, timed);
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
    struct sq_memo *memo;
    struct sq_mapping *plan;
    struct sq_machine_stats stats;
};

// Cycles of all jobs of a plan.
static uint64_t jobs_cycles(const struct sq_mapping *p, struct sq_memo *memo)
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
    const struct sq_machine_stats s = sq_machine_run_next(b->machine, p, b->memo, NULL);
    if (s.cycles >= v->least)
        return;
    v->least = s.cycles;
    b->stats = s;
    *b->plan = *p;
}

void sq_machine_memo_clear(struct sq_machine_memo *memo)
{
    sq_chip_memo_free(memo->chip);
    memo->chip = NULL;
    for (unsigned i = 0; i < SQ_LEN(memo->timed); i++) {
        if (memo->timed[i] && memo->timed[i]->memo) {
            sq_dram_memo_clear(memo->timed[i]->memo);
            free(memo->timed[i]->memo);
        }
        free(memo->timed[i]);
        memo->timed[i] = NULL;
    }
}

void sq_machine_memos_free(struct sq_machine_memo *memos, size_t n)
{
    for (size_t i = 0; memos && i < n; i++) {
        sq_machine_memo_clear(&memos[i]);
        sq_memo_free(&memos[i].unit);
    }
    free(memos);
}

// Room for the DRAM and for what is seen of it.
static enum sq_status need_timed(struct sq_machine_timed **t, struct sq_error *err)
{
    if (!*t)
        *t = calloc(1, sizeof **t);
    if (*t && !(*t)->memo)
        (*t)->memo = calloc(1, sizeof *(*t)->memo);
    return SQ_HAVE(*t && (*t)->memo, err, "a DRAM");
}

static enum sq_status run_array(const struct sq_machine *machine, const struct sq_recipe *recipe,
                                const struct sq_gemm *gemm, struct sq_mapping *plan,
                                struct sq_machine_stats *stats, struct sq_machine_memo *memo,
                                struct sq_error *err)
{
    struct sq_machine ideal = *machine; // plans are those of an ideal DRAM of the same peak
    ideal.timed.is_timed = false;
    struct sq_mapping candidate[SQ_PLANS];
    struct sq_demands demands;
    struct best best = {
        {.least = UINT64_MAX, .visit = try_plan}, &ideal, &memo->unit, plan, {.cycles = 0}};
    unsigned n;
    SQ_TRY(sq_mapping_demand(machine, recipe, gemm, &demands, err));
    SQ_TRY(sq_mapping_search(machine, &demands, gemm, candidate, &n, err));
    for (unsigned i = 0; i < n; i++)
        try_plan(&best.visitor, &candidate[i]);
    SQ_TRY(sq_mapping_sweep(machine, demands.demand, gemm, &best.visitor, err));
    plan->bound = best.visitor.bound;
    if (stats)
        *stats = best.stats;
    if (!stats || !machine->timed.is_timed)
        return SQ_OK;
    struct sq_machine_timed **const timed = &memo->timed[machine->timed.at];
    SQ_TRY(need_timed(timed, err));
    *stats = sq_machine_run_next(machine, plan, &memo->unit, *timed);
    return SQ_OK;
}

enum sq_status sq_mapping_run(const struct sq_machine *machine, const struct sq_recipe *recipe,
                              const struct sq_gemm *gemm, struct sq_mapping *plan,
                              struct sq_machine_stats *stats, struct sq_machine_memo *memo,
                              struct sq_error *err)
{
    const bool is_chip = machine->chip.bus_nbytes > 0;
    struct sq_machine_memo *const own = memo ? NULL : calloc(1, sizeof *own);
    struct sq_machine_memo *const m = memo ? memo : own;
    SQ_NEED(m, err, "what plans share");
    if (is_chip && !m->chip)
        m->chip = sq_chip_memo_new(SQ_CHIP_MEMO_NBYTES);
    const enum sq_status status =
        is_chip ? sq_chip_mapping_run(machine, recipe, gemm, plan, stats, m->chip, err)
                : run_array(machine, recipe, gemm, plan, stats, m, err);
    sq_machine_memos_free(own, 1);
    return status;
}

enum sq_status sq_mapping_make(const struct sq_machine *machine, const struct sq_recipe *recipe,
                               const struct sq_gemm *gemm, struct sq_mapping *plan,
                               struct sq_error *err)
{
    return sq_mapping_run(machine, recipe, gemm, plan, NULL, NULL, err);
}
