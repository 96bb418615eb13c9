// SPDX-License-Identifier: Apache-2.0
// Engines side by side (sq_unit.h): the cycles of the one that has most to do. Nothing stops it: its
// operands are there, and its outputs wait in the output buffer for the port.
#include <assert.h>
#include <string.h>

#include "sim/block/flow/sq_unit_engine.h"
#include "sim/block/flow/sq_unit_state.h"
#include "sim/io/sq_checked.h"

enum { STATE_NBYTES = 4096 };

// ---- a cycle at a time ------------------------------------------------------------------------

uint32_t sq_unit_engine_work(const struct sq_unit_engine_run *r, uint32_t i)
{
    return r->list && r->list->n ? r->list->tile[i % r->list->n].work : r->job->beats;
}

uint32_t sq_unit_engine_offset(const struct sq_unit_engine_run *r, uint32_t rows)
{
    if (r->offset == 0)
        return 0;
    const uint32_t row = (r->offset - 1) % rows + 1;
    return r->at +
           (uint32_t)((uint64_t)sq_unit_engine_work(r, (r->offset - 1) / rows) * row / rows);
}

static void move_offset(struct sq_unit_engine_run *r, uint32_t rows)
{
    if (r->offset > 0 && r->offset % rows == 0)
        r->at += sq_unit_engine_work(r, r->offset / rows - 1);
    r->offset++;
}

static void init(const struct sq_unit_engine *e, void *state)
{
    unsigned value[SQ_PARAMS_MAX];
    const struct sq_point *p = e->block->points;
    while (e->point && strcmp(p->name, e->point) != 0)
        p++;
    memcpy(value, p->value, sizeof value);
    if (e->widest)
        value[sq_param_find(e->block, e->widest)] = e->widest_value;
    e->block->init(value, state);
}

// The streams are always there, jobs as long as there are any.
static void offer(struct sq_unit_engine_run *r, const struct sq_unit_engine *e)
{
    for (unsigned s = 0; s < SQ_STREAMS_MAX; s++)
        r->in[s] = (struct sq_offer){.valid = s > SQ_UNIT_JOB || r->jobs > 0};
    e->offer(r);
}

static void move(struct sq_unit_engine_run *r, const struct sq_unit_engine *e,
                 const struct sq_handshake *h)
{
    if (h->in_ready[SQ_UNIT_JOB] && r->jobs > 0) {
        r->tile = r->job->tiles - r->jobs--;
        r->load = r->offset = r->at = 0;
        return;
    }
    r->load += h->in_ready[SQ_UNIT_ACT];
    if (e->offsets > 0 && h->in_ready[e->offsets])
        move_offset(r, e->rows);
}

static void move_port(struct sq_unit_engine_run *r, bool is_given)
{
    r->waiting += is_given;
    if (r->waiting == 0 || ++r->word < (r->job->words ? r->job->words : 1))
        return;
    r->word = 0;
    r->waiting--;
    r->leaving--;
}

// What the busiest engine has more to do than the others, of its products.
static uint64_t idle_of(const struct sq_unit *unit, const struct sq_unit_job *job,
                        const struct sq_tile_list *list)
{
    const struct sq_unit_engine *const e = unit->engine;
    const uint64_t n = e->is_of_tokens ? job->tiles : job->passes;
    const uint64_t times =
        e->is_of_tokens ? (uint64_t)job->passes * e->outputs : (uint64_t)job->tiles;
    uint64_t sum = 0;
    for (uint32_t i = 0; list && i < list->n; i++)
        sum += list->tile[i].idle * (n / list->n + (i < n % list->n));
    return sum * times;
}

static void take_idle(const struct sq_unit *unit, const struct sq_unit_job *job,
                      const struct sq_tile_list *list, struct sq_unit_stats *stats)
{
    const uint64_t idle = idle_of(unit, job, list);
    assert(idle <= stats->low[SQ_CAUSE_BUSY]);
    stats->low[SQ_CAUSE_BUSY] -= idle;
    stats->low[SQ_CAUSE_IMBALANCE] += idle;
    memcpy(stats->high, stats->low, sizeof stats->high);
}

struct sq_unit_stats sq_unit_engines_step(const struct sq_unit *unit, const struct sq_unit_job *job,
                                          const struct sq_tile_list *list)
{
    const struct sq_unit_engine *const e = unit->engine;
    const struct sq_timing *const timing = e->block->timing;
    struct sq_unit_stats stats = {.cycles = 0};
    union {
        uint8_t bytes[STATE_NBYTES];
        uint64_t aligned;
    } state = {{0}};
    struct sq_unit_engine_run r = {.job = job, .list = list, .jobs = job->tiles};
    assert(timing->nbytes <= sizeof state && job->flushes == 1 && job->loads >= 1);
    r.leaving = (uint64_t)job->tiles * job->passes * e->outputs;
    init(e, &state);
    for (bool is_taking = true; r.leaving > 0; is_taking = false) { // a machine counts that cycle
        struct sq_handshake h = {.out_valid = false};
        offer(&r, e);
        timing->comb(&state, r.in, true, &h);
        if (!is_taking)
            sq_unit_count(&stats, e->cause(&state, r.in, true));
        timing->clock(&state, r.in, true);
        move(&r, e, &h);
        move_port(&r, h.out_valid);
    }
    take_idle(unit, job, list, &stats);
    return stats;
}

// ---- in closed form ---------------------------------------------------------------------------
//
// Cycle 0 follows the one in which the first job is taken.

static struct sq_unit_times times_of(const struct sq_unit *unit, const struct sq_unit_job *job,
                                     const struct sq_tile_list *list, enum sq_unit_scan scan)
{
    struct sq_unit_times t = {
        .engine = unit->engine, .tiles = job->tiles, .passes = job->passes, .loads = job->loads};
    const uint32_t n = list && list->n ? list->n : 1;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t work = list && list->n ? list->tile[i].work : job->beats;
        sq_unit_sum_add(&t.work, work);
        sq_unit_sum_add(&t.none, work == 0);
        t.engine->add(&t, work, scan);
    }
    t.engine->end(&t);
    return t;
}

// The cycle in which a beat of outputs is there.
static uint64_t output_at(const struct sq_unit_times *t, uint64_t tile, uint64_t pass,
                          uint64_t beat)
{
    if (!t->engine->is_of_tokens)
        return t->late + tile * t->tile + t->first + sq_unit_sum(&t->cycles, pass + 1) - 1 +
               t->latency;
    const uint64_t scan = sq_unit_sum(&t->scan, tile + 1) - sq_unit_sum(&t->scan, tile);
    const uint64_t work = sq_unit_sum(&t->work, tile + 1) - sq_unit_sum(&t->work, tile);
    return sq_unit_sum(&t->cycles, tile) + scan +
           (pass + 1) * sq_larger(work, t->engine->least) * t->engine->steps - t->engine->outputs +
           beat + t->latency;
}

// The port takes a beat for `words` cycles when it is there and those before it have left: the last one
// leaves when the beat that keeps it longest says. In each direction beats come at equal distances, but
// for the entries of the list: the longest is at an end.
static uint64_t port_end(const struct sq_unit_times *t, uint64_t words)
{
    const uint64_t beats = t->engine->outputs, all = t->tiles * t->passes * beats;
    const bool is_of_tokens = t->engine->is_of_tokens;
    const uint64_t turns = is_of_tokens ? t->tiles : t->passes;
    const uint64_t others = is_of_tokens ? t->passes : t->tiles;
    uint64_t end = 0;
    for (unsigned at = 0; at < 8; at++)
        for (uint64_t i = 0; i < t->work.n && i < turns; i++) {
            const uint64_t turn = at & 1 ? (turns - 1 - i) / t->work.n * t->work.n + i : i;
            const uint64_t other = at & 2 ? others - 1 : 0, beat = at & 4 ? beats - 1 : 0;
            const uint64_t tile = is_of_tokens ? turn : other, pass = is_of_tokens ? other : turn;
            const uint64_t before = (tile * t->passes + pass) * beats + beat;
            end = sq_larger(end, output_at(t, tile, pass, beat) + (all - before) * words);
        }
    return end;
}

struct sq_unit_stats sq_unit_engines_run(const struct sq_unit *unit, const struct sq_unit_job *job,
                                         const struct sq_tile_list *list)
{
    const struct sq_unit_times t = times_of(unit, job, list, SQ_SCAN_STEPPED);
    struct sq_unit_stats s = {.cycles = port_end(&t, job->words ? job->words : 1)};
    t.engine->count(&t, s.low);
    s.low[SQ_CAUSE_DRAINING] = s.cycles;
    for (unsigned i = 0; i < SQ_N_UNIT_CAUSES; i++)
        s.low[SQ_CAUSE_DRAINING] -= i == SQ_CAUSE_DRAINING ? 0 : s.low[i];
    take_idle(unit, job, list, &s);
    return s;
}

uint64_t sq_unit_engines_bound(const struct sq_unit *unit, const struct sq_unit_job *job,
                               const struct sq_tile_list *list)
{
    const struct sq_unit_times t = times_of(unit, job, list, SQ_SCAN_LEAST);
    return port_end(&t, job->words ? job->words : 1);
}

uint64_t sq_unit_engines_limit(const struct sq_unit *unit, const struct sq_unit_job *job,
                               const struct sq_tile_list *list)
{
    const struct sq_unit_times t = times_of(unit, job, list, SQ_SCAN_MOST);
    return port_end(&t, job->words ? job->words : 1);
}
