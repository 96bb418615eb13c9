// SPDX-License-Identifier: Apache-2.0
// Engines side by side (sq_unit.h): the cycles of the one that has most to do. Nothing stops it: its
// operands are there, and its outputs wait in the output buffer for the port.
#include <assert.h>
#include <string.h>

#include "models/sq_q4k.h"
#include "models/sq_spqr.h"
#include "sim/block/sq_engine_cause.h"
#include "sim/block/sq_spqt_idx_block.h"
#include "sim/block/sq_unit_world.h"

enum { JOB, ACT }; // streams of all of them
enum { STATE_NBYTES = 4096, PARTS_MAX = 64, ONE_HALF = 0x3c00 /* 1.0 */ };

// ---- a cycle at a time ------------------------------------------------------------------------

// How long the search for columns takes: no less, as its cycle model says, no more.
enum scan { SCAN_LEAST, SCAN_STEPPED, SCAN_MOST };

struct run {
    const struct sq_unit_job *job;
    const struct sq_tile_list *list;
    uint32_t jobs, tile;                // to come; of the job at hand
    uint32_t load, offset;              // of its activations, of its row offsets: the next one
    uint32_t at;                        // what was before the pass of that offset
    int32_t x[SQ_ENGINE_SPQT_SEG];      // of the segment that is offered
    struct sq_offer in[SQ_STREAMS_MAX]; // what the streams offer
    uint64_t waiting, leaving, word;    // beats of outputs: in the queue; to leave; words gone
};

static uint32_t work_of(const struct run *r, uint32_t i)
{
    return r->list && r->list->n ? r->list->tile[i % r->list->n].work : r->job->beats;
}

// The row offset that comes next, of `rows` in a pass: the work of a pass is spread over them.
static uint32_t offset_of(const struct run *r, uint32_t rows)
{
    if (r->offset == 0)
        return 0;
    const uint32_t row = (r->offset - 1) % rows + 1;
    return r->at + (uint32_t)((uint64_t)work_of(r, (r->offset - 1) / rows) * row / rows);
}

static void move_offset(struct run *r, uint32_t rows)
{
    if (r->offset > 0 && r->offset % rows == 0)
        r->at += work_of(r, r->offset / rows - 1);
    r->offset++;
}

static void offer_gqsa(struct run *r)
{
    r->in[JOB].job = (struct sq_job){.group_banks = r->job->loads, .groups = r->job->passes + 1};
    r->in[2].n = offset_of(r, 1);
}

static void offer_spqr(struct run *r)
{
    r->in[JOB].job = (struct sq_job){.group_banks = r->job->loads, .groups = r->job->passes};
    r->in[JOB].n = sq_spqr_workers((size_t)r->job->loads * SQ_SPQR_TILE);
    r->in[3].n = offset_of(r, SQ_SPQR_TILE);
}

static void offer_spqt(struct run *r)
{
    const uint64_t n = work_of(r, r->tile), s = r->job->loads;
    const uint64_t active =
        r->load < s ? sq_spqt_idx_before(r->load + 1, s, n) - sq_spqt_idx_before(r->load, s, n) : 0;
    r->in[JOB].job = (struct sq_job){.group_banks = r->job->loads, .groups = r->job->passes};
    r->in[JOB].n = ONE_HALF;
    for (unsigned i = 0; i < SQ_ENGINE_SPQT_SEG; i++)
        r->x[i] = i < active ? ONE_HALF : 0;
    r->in[ACT].beat = r->x;
}

struct times;
struct engine {
    const struct sq_block *block;
    const char *point; // NULL: the first one
    void (*offer)(struct run *r);
    enum sq_cause (*cause)(const void *state, const struct sq_offer *in, bool out_ready);
    unsigned offsets, rows; // the stream of row offsets, 0: none; rows in a pass
    unsigned outputs;       // beats of a pass
    uint32_t least;         // a tile takes no less than for so much work
    bool is_of_tokens;      // lists are of tiles of rows
    // In closed form: an entry of the list is added, all are; the counters but cycles and draining.
    void (*add)(struct times *t, uint64_t work, enum scan scan);
    void (*end)(struct times *t);
    void (*count)(const struct times *t, uint64_t low[SQ_N_UNIT_CAUSES]);
};

static const struct engine *engine_of(const struct sq_unit *unit);

static void init(const struct engine *e, void *state)
{
    unsigned value[SQ_PARAMS_MAX];
    const struct sq_point *p = e->block->points;
    while (e->point && strcmp(p->name, e->point) != 0)
        p++;
    memcpy(value, p->value, sizeof value);
    const size_t width = sq_param_find(e->block, "OutlierW");
    if (width < SQ_PARAMS_MAX)
        value[width] = SQ_ENGINE_SPQR_OUTLIER_W;
    e->block->init(value, state);
}

// The streams are always there, jobs as long as there are any.
static void offer(struct run *r, const struct engine *e)
{
    for (unsigned s = 0; s < SQ_STREAMS_MAX; s++)
        r->in[s] = (struct sq_offer){.valid = s > JOB || r->jobs > 0};
    e->offer(r);
}

static void move(struct run *r, const struct engine *e, const struct sq_handshake *h)
{
    if (h->in_ready[JOB] && r->jobs > 0) {
        r->tile = r->job->tiles - r->jobs--;
        r->load = r->offset = r->at = 0;
        return;
    }
    r->load += h->in_ready[ACT];
    if (e->offsets > 0 && h->in_ready[e->offsets])
        move_offset(r, e->rows);
}

static void move_port(struct run *r, bool is_given)
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
    const struct engine *const e = engine_of(unit);
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
    const struct engine *const e = engine_of(unit);
    const struct sq_timing *const timing = e->block->timing;
    struct sq_unit_stats stats = {.cycles = 0};
    union {
        uint8_t bytes[STATE_NBYTES];
        uint64_t aligned;
    } state = {{0}};
    struct run r = {.job = job, .list = list, .jobs = job->tiles};
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

// Sums over the first entries of a list, as often as it is repeated.
struct sums {
    uint32_t n;
    uint64_t of[PARTS_MAX + 1];
};

static uint64_t sum_of(const struct sums *s, uint64_t n)
{
    return n / s->n * s->of[s->n] + s->of[n % s->n];
}

// Of a job.
struct times {
    const struct engine *engine;
    uint64_t tiles, passes, loads;
    struct sums cycles;     // spqt: of the jobs; else of the passes of a job
    struct sums work, none; // of the list; entries without work
    struct sums scan;       // spqt: cycles in which the columns are found
    uint64_t first, tile;   // gqsa, spqr: cycles before the first pass, from a job to the next one
    uint64_t late;          // spqr: cycles that only the first job waits
    uint64_t latency;       // cycles from the last step of a pass to its outputs
};

static void add(struct sums *s, uint64_t x)
{
    assert(s->n < PARTS_MAX);
    s->of[s->n + 1] = s->of[s->n] + x;
    s->n++;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// sq_engine_gqsa: activations, row_index[0] and the next one; then a step for a group or an empty row.
// The next job comes when the last sums have left the array.
static void add_gqsa(struct times *t, uint64_t work, enum scan scan)
{
    (void)scan;
    add(&t->cycles, max_u64(work, t->engine->least));
}

static void end_gqsa(struct times *t)
{
    enum { OFFSETS = 2, TO_SUMS = 4, TO_OUTPUT = 9 };
    t->first = t->loads + OFFSETS;
    t->tile = t->first + sum_of(&t->cycles, t->passes) + TO_SUMS + 1;
    t->latency = TO_OUTPUT;
}

static void count_gqsa(const struct times *t, uint64_t low[SQ_N_UNIT_CAUSES])
{
    low[SQ_CAUSE_FILLING] = t->tiles * (1 + t->loads) - 1;
    low[SQ_CAUSE_BUSY] = t->tiles * sum_of(&t->work, t->passes);
    low[SQ_CAUSE_WAIT_INDEX] = t->tiles * (t->first - t->loads + sum_of(&t->none, t->passes));
}

// sq_engine_spqr: for 16 rows their offsets, the outliers on their way in, all columns of all tiles, each
// outlier; each worker looks through 16 rows and ends its share. The first tile needs time.
static void add_spqr(struct times *t, uint64_t work, enum scan scan)
{
    const uint64_t workers = sq_spqr_workers((size_t)t->loads * SQ_SPQR_TILE);
    (void)scan;
    add(&t->cycles, SQ_SPQR_TILE * (1 + t->loads) + workers * (SQ_SPQR_TILE + 1) + 2 * work);
}

static void end_spqr(struct times *t)
{
    enum { TO_OUTPUT = 5, FIRST_TILE = 36 }; // cycles in which it is decoded
    t->first = t->loads + 1;
    t->tile = t->first + sum_of(&t->cycles, t->passes) + 1;
    const uint64_t first_step = t->first + SQ_SPQR_TILE + sum_of(&t->work, 1);
    t->late = first_step < FIRST_TILE ? FIRST_TILE - first_step : 0;
    t->latency = TO_OUTPUT;
}

static void count_spqr(const struct times *t, uint64_t low[SQ_N_UNIT_CAUSES])
{
    const uint64_t steps = t->passes * SQ_SPQR_TILE * t->loads + sum_of(&t->work, t->passes);
    low[SQ_CAUSE_FILLING] = t->tiles * (1 + t->loads) - 1;
    low[SQ_CAUSE_BUSY] = t->tiles * steps;
    low[SQ_CAUSE_WAIT_WEIGHT] = t->late;
    low[SQ_CAUSE_WAIT_INDEX] =
        t->tiles * (t->first - t->loads + sum_of(&t->cycles, t->passes) - steps);
}

// sq_engine_spqt: the columns are found; then the superblocks of all active ones, or one of zeros.
enum { SPQT_BEATS = SQ_Q4K_NBYTES / SQ_ENGINE_SPQT_BYTES };

static void add_spqt(struct times *t, uint64_t work, enum scan scan)
{
    enum { LANES = SQ_ENGINE_SPQT_LANES, PIPELINE = 8 };
    const uint64_t cycles = scan == SCAN_STEPPED ? sq_spqt_idx_scan(LANES, t->loads, work)
                            : scan == SCAN_LEAST ? max_u64(t->loads, work / LANES)
                                                 : t->loads + work / LANES + PIPELINE;
    add(&t->scan, cycles);
    add(&t->cycles, cycles + t->passes * max_u64(work, t->engine->least) * SPQT_BEATS + 1);
}

static void end_spqt(struct times *t)
{
    enum { TO_OUTPUT = 7 };
    t->latency = TO_OUTPUT;
}

static void count_spqt(const struct times *t, uint64_t low[SQ_N_UNIT_CAUSES])
{
    const uint64_t superblocks = t->passes * sum_of(&t->work, t->tiles);
    const uint64_t none = t->passes * sum_of(&t->none, t->tiles);
    low[SQ_CAUSE_FILLING] = t->tiles - 1;
    low[SQ_CAUSE_BUSY] = superblocks * t->engine->outputs;
    low[SQ_CAUSE_WAIT_WEIGHT] = superblocks * (SPQT_BEATS - t->engine->outputs);
    low[SQ_CAUSE_WAIT_INDEX] = sum_of(&t->scan, t->tiles) + none * SPQT_BEATS;
}

static const struct engine engines[] = {
    [SQ_UNIT_GQSA - SQ_UNIT_GQSA] = {.block = &sq_engine_gqsa_block,
                                     .offer = offer_gqsa,
                                     .cause = sq_engine_gqsa_cause,
                                     .offsets = 2,
                                     .rows = 1,
                                     .outputs = 1,
                                     .least = 1,
                                     .add = add_gqsa,
                                     .end = end_gqsa,
                                     .count = count_gqsa},
    [SQ_UNIT_SPQT - SQ_UNIT_GQSA] = {.block = &sq_engine_spqt_block,
                                     .point = SQ_ENGINE_SPQT_POINT,
                                     .offer = offer_spqt,
                                     .cause = sq_engine_spqt_cause,
                                     .outputs = SQ_Q4K_LEN / 2 / SQ_ENGINE_SPQT_BYTES,
                                     .least = 1,
                                     .is_of_tokens = true,
                                     .add = add_spqt,
                                     .end = end_spqt,
                                     .count = count_spqt},
    [SQ_UNIT_SPQR - SQ_UNIT_GQSA] = {.block = &sq_engine_spqr_block,
                                     .offer = offer_spqr,
                                     .cause = sq_engine_spqr_cause,
                                     .offsets = 3,
                                     .rows = SQ_SPQR_TILE,
                                     .outputs = 1,
                                     .add = add_spqr,
                                     .end = end_spqr,
                                     .count = count_spqr},
};

static const struct engine *engine_of(const struct sq_unit *unit)
{
    return &engines[unit->kind - SQ_UNIT_GQSA];
}

uint32_t sq_unit_least_work(enum sq_unit_kind kind)
{
    return sq_unit_is_engines(kind) ? engines[kind - SQ_UNIT_GQSA].least : 0;
}

bool sq_unit_is_of_tokens(enum sq_unit_kind kind)
{
    return sq_unit_is_engines(kind) && engines[kind - SQ_UNIT_GQSA].is_of_tokens;
}

static struct times times_of(const struct sq_unit *unit, const struct sq_unit_job *job,
                             const struct sq_tile_list *list, enum scan scan)
{
    struct times t = {
        .engine = engine_of(unit), .tiles = job->tiles, .passes = job->passes, .loads = job->loads};
    const uint32_t n = list && list->n ? list->n : 1;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t work = list && list->n ? list->tile[i].work : job->beats;
        add(&t.work, work);
        add(&t.none, work == 0);
        t.engine->add(&t, work, scan);
    }
    t.engine->end(&t);
    return t;
}

// The cycle in which a beat of outputs is there.
static uint64_t output_at(const struct times *t, uint64_t tile, uint64_t pass, uint64_t beat)
{
    if (!t->engine->is_of_tokens)
        return t->late + tile * t->tile + t->first + sum_of(&t->cycles, pass + 1) - 1 + t->latency;
    const uint64_t scan = sum_of(&t->scan, tile + 1) - sum_of(&t->scan, tile);
    const uint64_t work = sum_of(&t->work, tile + 1) - sum_of(&t->work, tile);
    return sum_of(&t->cycles, tile) + scan +
           (pass + 1) * max_u64(work, t->engine->least) * SPQT_BEATS - t->engine->outputs + beat +
           t->latency;
}

// The port takes a beat for `words` cycles when it is there and those before it have left: the last one
// leaves when the beat that keeps it longest says. In each direction beats come at equal distances, but
// for the entries of the list: the longest is at an end.
static uint64_t port_end(const struct times *t, uint64_t words)
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
            end = max_u64(end, output_at(t, tile, pass, beat) + (all - before) * words);
        }
    return end;
}

struct sq_unit_stats sq_unit_engines_run(const struct sq_unit *unit, const struct sq_unit_job *job,
                                         const struct sq_tile_list *list)
{
    const struct times t = times_of(unit, job, list, SCAN_STEPPED);
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
    const struct times t = times_of(unit, job, list, SCAN_LEAST);
    return port_end(&t, job->words ? job->words : 1);
}

uint64_t sq_unit_engines_limit(const struct sq_unit *unit, const struct sq_unit_job *job,
                               const struct sq_tile_list *list)
{
    const struct times t = times_of(unit, job, list, SCAN_MOST);
    return port_end(&t, job->words ? job->words : 1);
}
