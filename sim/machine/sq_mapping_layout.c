// SPDX-License-Identifier: Apache-2.0
// Fills in the jobs, loads and bytes of a mapping, and estimates its cycles (sq_mapping_layout.h).
#include "sim/machine/sq_mapping_layout.h"

#include <stddef.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "sim/block/flow/sq_unit_engine.h"
#include "sim/io/sq_checked.h"
#include "sim/machine/sq_work.h"

// ---- what a stretch of K holds --------------------------------------------------------------

// The output stage of a core: combine units that keep up with the PEs, which take group_cycles for the
// tile of a scale group, and with the port; of these numbers the one with which a tile leaves soonest.
// A queue of a tile, so that the next one is read while one drains.
static void size_output(const struct sq_mapping_context *c, uint64_t group_cycles,
                        struct sq_unit_output *o)
{
    const uint32_t pes = c->rows * c->cols, port = c->machine->port_nbits;
    const uint64_t reads = (uint64_t)pes * o->pairs, word = port ? sq_ceil_div(port, 16) : pes;
    uint64_t least = UINT64_MAX;
    o->pes = pes;
    for (uint32_t lanes = 1; lanes <= pes; lanes++) {
        if (pes % lanes != 0 || (lanes < pes && (lanes < word || lanes * group_cycles < reads)))
            continue;
        const uint64_t drain = pes / lanes * (port ? sq_ceil_div(16 * (uint64_t)lanes, port) : 1);
        if (drain < least) {
            least = drain;
            o->lanes = lanes;
        }
    }
    o->depth = pes / o->lanes < 2 ? 2 : pes / o->lanes;
}

// Cycles of the PEs for the tile of a scale group; without groups, of the shortest chunk of K that a plan
// may have.
static uint64_t group_cycles(const struct sq_cost_unit *u)
{
    const bool is_core = u->unit.kind == SQ_UNIT_CORE || u->unit.kind == SQ_UNIT_CORE_ACT;
    const uint64_t beats = sq_work_beats(u, u->flush ? u->flush : u->step);
    const unsigned low = is_core ? sq_core_low_steps(&u->unit.core) : 1;
    const unsigned high = is_core ? sq_core_high_steps(&u->unit.core) : 1;
    return beats * (low > high ? low : high);
}

enum sq_status sq_mapping_settle(struct sq_mapping_context *c, struct sq_error *err)
{
    const struct sq_core_config *has = &c->machine->core;
    struct sq_core_config core;
    if (c->demand->is_core)
        SQ_TRY(sq_machine_core(c->machine, &c->demand->banks, c->demand->act_bits, &core, err));
    c->cost = c->demand->cost;
    if (c->cost.multipliers > 0 && c->cost.engines == 0)
        return SQ_FAIL(
            err, SQ_ERR_RANGE,
            "a core of machine %.40s has %u multipliers of the width that %s needs, need "
            "%u for one engine",
            c->machine->name, has->rows * has->cols * c->cost.low_lanes, c->demand->format,
            c->cost.multipliers);
    c->rows = c->cost.rows;
    c->cols = c->cost.lines;
    if (c->cost.multipliers == 0)
        size_output(c, group_cycles(&c->cost), &c->cost.unit.output);
    c->n_slices = sq_ceil_div(c->cost.stored, c->cost.step);
    return SQ_OK;
}

static uint64_t elements(const struct sq_mapping_context *c, uint64_t first, uint64_t n_slices)
{
    const uint64_t end = sq_smaller((first + n_slices) * c->cost.step, c->cost.stored);
    return end - first * c->cost.step;
}

// Scale groups that end within the stretch.
static uint64_t groups(const struct sq_mapping_context *c, uint64_t first_slice, uint64_t n_slices)
{
    const uint64_t group = c->demand->group, first = first_slice * c->cost.step;
    const uint64_t end = first + elements(c, first_slice, n_slices);
    const bool at_end = end == c->cost.stored;
    if (group == 0)
        return at_end;
    return (at_end ? sq_ceil_div(end, group) : end / group) - first / group;
}

// Bytes of m rows, n columns and a stretch of slices. Out and partial sums: of the finished block.
static void count_nbytes(const struct sq_mapping_context *c, uint64_t m, uint64_t n, uint64_t first,
                         uint64_t n_slices, unsigned cores_k, uint64_t nbytes[SQ_N_STREAMS])
{
    const uint64_t e = elements(c, first, n_slices), bank = c->demand->bank;
    const struct sq_stretch stretch = {.elements = e,
                                       .banks = bank ? sq_ceil_div(e, bank) : 0,
                                       .groups = groups(c, first, n_slices),
                                       .at_end = first * c->cost.step + e == c->cost.stored};
    sq_work_nbytes(c->demand, m, n, &stretch, nbytes);
    nbytes[SQ_STREAM_OUT] = 2 * m * n;
    nbytes[SQ_STREAM_PARTIAL] = cores_k > 1 ? 8 * m * n * cores_k : 0;
}

// ---- one mapping ----------------------------------------------------------------------------

static uint64_t bursts(const struct sq_mapping_context *c, uint64_t nbytes)
{
    return sq_ceil_div(nbytes, c->machine->burst_nbytes);
}

__extension__ typedef unsigned __int128 wide; // a product of two counts

static uint64_t dram_cycles(const struct sq_mapping_context *c, uint64_t n_bursts)
{
    const wide den = c->machine->burst_den;
    uint64_t product;
    if (!__builtin_mul_overflow(n_bursts, c->machine->burst_num, &product)) // as a rule, and quick
        return sq_ceil_div(product, c->machine->burst_den);
    const wide cycles = ((wide)n_bursts * c->machine->burst_num + den - 1) / den;
    return cycles < SQ_COUNT_OVER ? (uint64_t)cycles : SQ_COUNT_OVER;
}

static uint64_t size_of(uint64_t total, uint64_t block, uint64_t count, bool is_last)
{
    return is_last ? total - (count - 1) * block : block;
}

// What the steps of a class move, and how long that occupies the DRAM.
static void fill_class(const struct sq_mapping_context *c, struct sq_mapping *p, unsigned index)
{
    struct sq_step_class *s = &p->step[index];
    const uint64_t m = size_of(p->gemm.m, p->block_m, p->count_m, index & 1);
    const uint64_t n = size_of(p->gemm.n, p->block_n, p->count_n, index & 2);
    const uint64_t banks = size_of(p->n_slices, p->block_k, p->count_k, index & 4);
    const uint64_t first = index & 4 ? (p->count_k - 1) * p->block_k : 0;
    count_nbytes(c, m, n, first, banks, p->cores_k, s->nbytes);
    s->act_nbytes = s->nbytes[SQ_STREAM_ACT];
    if (c->demand->act_stays)
        s->nbytes[SQ_STREAM_ACT] = s->nbytes[SQ_STREAM_ACT_SCALE] = 0;
    if (c->demand->out_stays)
        s->nbytes[SQ_STREAM_OUT] = 0;
    uint64_t weight = 0;
    for (unsigned id = SQ_STREAM_LO; id <= SQ_STREAM_SCALE; id++)
        weight += bursts(c, s->nbytes[id]);
    const uint64_t act = bursts(c, s->nbytes[SQ_STREAM_ACT]);
    const uint64_t act_scale = bursts(c, s->nbytes[SQ_STREAM_ACT_SCALE]);
    s->load[1][0][0] = s->load[1][0][1] = dram_cycles(c, weight);
    for (unsigned f = 0; f < 2; f++) {
        s->load[0][1][f] = dram_cycles(c, act + f * act_scale);
        s->load[1][1][f] = dram_cycles(c, weight + act + f * act_scale);
    }
    s->store = dram_cycles(c, bursts(c, s->nbytes[SQ_STREAM_OUT]) +
                                  bursts(c, s->nbytes[SQ_STREAM_PARTIAL]));
    s->store += s->store == 0; // handed over on the chip
}

// ---- blocks ---------------------------------------------------------------------------------

// Bytes of both operands of a block in the buffers of a core.
static void operand_nbytes(const struct sq_mapping_context *c,
                           const struct sq_mapping_extent *block, uint64_t *act, uint64_t *weight)
{
    uint64_t nbytes[SQ_N_STREAMS];
    count_nbytes(c, block->m * c->rows, block->n * c->cols, 0, sq_smaller(block->k, c->n_slices), 1,
                 nbytes);
    *act = nbytes[SQ_STREAM_ACT] + nbytes[SQ_STREAM_ACT_SCALE];
    *weight = sq_cost_weight_nbytes(nbytes);
}

bool sq_mapping_operands_fit(const struct sq_mapping_context *c,
                             const struct sq_mapping_extent *block)
{
    uint64_t act, weight;
    if (c->cost.depth > 0 && elements(c, 0, sq_smaller(block->k, c->n_slices)) > c->cost.depth)
        return false;
    operand_nbytes(c, block, &act, &weight);
    return act <= c->machine->act_nbytes / 2 && weight <= c->machine->weight_nbytes / 2;
}

bool sq_mapping_outputs_fit(const struct sq_mapping_context *c,
                            const struct sq_mapping_extent *block)
{
    const uint64_t rows = block->m * c->rows, cols = block->n * c->cols;
    const uint64_t e = elements(c, 0, sq_smaller(block->k, c->n_slices));
    struct sq_unit_job job;
    sq_work_job(c->demand, e, &job);
    return 4 * rows * cols <= c->machine->out_nbytes / 2 && job.beats <= SQ_JOB_GROUP_BANKS_MAX &&
           block->m * block->n < (UINT64_C(1) << 31) / job.flushes &&
           (c->cost.depth == 0 || block->n < UINT64_C(1) << 16); // rows that an engine counts
}

struct sq_mapping_residents sq_mapping_find_residents(const struct sq_mapping_context *c,
                                                      const struct sq_mapping_extent *all)
{
    uint64_t act, weight;
    operand_nbytes(c, all, &act, &weight);
    return (struct sq_mapping_residents){act <= c->machine->act_nbytes,
                                         weight <= c->machine->weight_nbytes};
}

struct sq_mapping_extent sq_mapping_all(const struct sq_mapping_context *c, const unsigned cores[3])
{
    return (struct sq_mapping_extent){sq_ceil_div(sq_ceil_div(c->gemm.m, c->rows), cores[0]),
                                      sq_ceil_div(sq_ceil_div(c->gemm.n, c->cols), cores[1]),
                                      sq_ceil_div(c->n_slices, cores[2])};
}

// Cycles of the port for as many outputs as there are combine units, or engines of `abreast` tiles give at
// a time: a partial sum in binary32, or an output in 16 bits.
static uint32_t word_cycles(const struct sq_mapping_context *c, const struct sq_mapping *p,
                            uint64_t abreast)
{
    const uint64_t nbits = abreast * c->cost.unit.output.lanes * (p->cores_k > 1 ? 32 : 16);
    return c->machine->port_nbits ? (uint32_t)sq_ceil_div(nbits, c->machine->port_nbits) : 1;
}

// Elements of K that the busiest core has of a block.
static uint64_t core_elements(const struct sq_mapping_context *c, const struct sq_mapping *p,
                              bool is_last)
{
    const uint64_t slices = size_of(p->n_slices, p->block_k, p->count_k, is_last);
    const uint64_t first = is_last ? (p->count_k - 1) * p->block_k : 0;
    return elements(c, first, sq_ceil_div(slices, p->cores_k));
}

// The jobs of a core, for blocks that are laid out.
static void fill_jobs(const struct sq_mapping_context *c, struct sq_mapping *p)
{
    uint64_t rows[2], cols[2], abreast[2]; // [is_last]: tiles of a core
    struct sq_unit_job tile[2];
    for (unsigned is_last = 0; is_last < 2; is_last++) {
        const uint64_t m = size_of(p->gemm.m, p->block_m, p->count_m, is_last);
        const uint64_t n = size_of(p->gemm.n, p->block_n, p->count_n, is_last);
        rows[is_last] = sq_ceil_div(sq_ceil_div(m, c->rows), p->cores_m);
        cols[is_last] = sq_ceil_div(sq_ceil_div(n, c->cols), p->cores_n);
        abreast[is_last] = sq_smaller(cols[is_last], c->cost.abreast);
        tile[is_last] = (struct sq_unit_job){.tiles = 0};
        sq_work_job(c->demand, core_elements(c, p, is_last), &tile[is_last]);
    }
    for (unsigned i = 0; i < SQ_STEP_CLASSES; i++)
        if (sq_mapping_count(p->count_m, i & 1) && sq_mapping_count(p->count_n, i & 2) &&
            sq_mapping_count(p->count_k, i & 4)) {
            p->step[i].job = tile[i >> 2];
            p->step[i].job.tiles = (uint32_t)rows[i & 1];
            p->step[i].job.passes = (uint32_t)sq_ceil_div(cols[i >> 1 & 1], c->cost.abreast);
            p->step[i].job.words = i & 4 ? word_cycles(c, p, abreast[i >> 1 & 1]) : 0;
        }
}

// Tiles of the layer's own, evenly over those of steps of a kind: all of them, where they are one
// step's. i as in `drawn`; e: elements of the busiest core.
static void take_own(const struct sq_mapping_context *c, struct sq_mapping *p, unsigned i,
                     uint64_t e, struct sq_cost_counts *counts)
{
    const bool is_last_n = i & 1, is_last_k = i & 2;
    const bool is_tokens = c->cost.is_of_tokens;
    const uint64_t row = is_last_n && !is_tokens ? (p->count_n - 1) * p->block_n : 0;
    const uint64_t rows = is_tokens   ? c->demand->own->n
                          : is_last_n ? c->gemm.n - row
                                      : (p->count_n - 1) * p->block_n;
    const unsigned lines = is_tokens ? c->rows : c->cols * c->cost.abreast;
    const uint64_t tiles = sq_ceil_div(rows, lines);
    const uint64_t slices = size_of(p->n_slices, p->block_k, p->count_k, is_last_k);
    const uint64_t chunk = is_last_k ? p->count_k - 1 : 0; // the first of them
    const uint64_t parts = sq_mapping_count(p->count_k, is_last_k) * p->cores_k;
    for (uint64_t t = 0; t < counts->n; t++) {
        const uint64_t part = t * (parts * 5 / 8 + 1) % parts; // any of them, in no step with tiles
        const uint64_t first = (chunk + part / p->cores_k) * p->block_k +
                               part % p->cores_k * sq_ceil_div(slices, p->cores_k);
        const uint64_t at = row + (2 * t + 1) * tiles / (2 * counts->n) * lines;
        sq_work_own(c->demand, at, first * c->cost.step, e, counts->count[t]);
    }
}

// The job of steps of a kind whose tiles are those of `drawn`: of channels, or, in the larger ones of
// both kinds of rows, of tokens.
static uint64_t tiles_drawn(const struct sq_mapping_context *c, const struct sq_mapping *p,
                            unsigned i)
{
    if (!c->cost.is_of_tokens)
        return p->step[2 * i + 1].job.passes; // the last row of blocks has it
    const uint32_t tiles = p->step[2 * i].job.tiles;
    return tiles ? tiles : p->step[2 * i + 1].job.tiles;
}

// How often such a job takes them, where that decides which engine is the slowest.
static uint64_t repeats(const struct sq_mapping_context *c, const struct sq_mapping *p, unsigned i)
{
    const struct sq_unit_engine *const engine = c->cost.unit.engine;
    const uint32_t tiles = p->step[2 * i].job.tiles;
    if (!engine || !engine->late)
        return 1;
    return tiles ? tiles : p->step[2 * i + 1].job.tiles;
}

// The tiles of steps of a kind, over e elements.
static void draw_kind(const struct sq_mapping_context *c, struct sq_mapping *p, unsigned i,
                      uint64_t e)
{
    struct sq_cost_counts counts = {.all = tiles_drawn(c, p, i), .repeats = repeats(c, p, i)};
    double kept[SQ_TILES_DRAWN], sum = 0;
    counts.n = counts.all < SQ_TILES_DRAWN ? (uint32_t)counts.all : SQ_TILES_DRAWN;
    if (c->demand->own)
        take_own(c, p, i, e, &counts);
    else if (!sq_work_draw(c->demand, e, 1, &counts))
        return;
    sq_work_tiles(c->demand, e, &counts, p->drawn[i], kept);
    p->n_drawn[i] = counts.n;
    for (uint32_t t = 0; t < counts.n; t++)
        sum += kept[t] * (double)sq_cost_times(&counts, t);
    p->kept[i] = sum / (double)counts.all;
}

void sq_mapping_draw_tiles(const struct sq_mapping_context *c, struct sq_mapping *p)
{
    for (unsigned i = 0; i < SQ_STEP_CLASSES / 2; i++) {
        if (p->step[2 * i + 1].job.tiles == 0)
            continue;
        const uint64_t e = core_elements(c, p, i & 2), all = tiles_drawn(c, p, i);
        if (!c->draws || c->demand->own) { // whose tiles depend on where they are
            draw_kind(c, p, i, e);
            continue;
        }
        const uint64_t again = repeats(c, p, i);
        struct sq_mapping_draw *const d =
            &c->draws->slot[(e * 31 + all + 7 * again) % SQ_MAPPING_DRAWS];
        if (d->e != e || d->all != all || d->repeats != again) {
            draw_kind(c, p, i, e);
            *d = (struct sq_mapping_draw){e, all, again, p->n_drawn[i], p->kept[i], {{0}}};
            memcpy(d->tile, p->drawn[i], d->n * sizeof d->tile[0]);
        }
        p->n_drawn[i] = d->n;
        p->kept[i] = d->kept;
        memcpy(p->drawn[i], d->tile, d->n * sizeof d->tile[0]);
    }
}

void sq_mapping_lay_out(const struct sq_mapping_context *c, const unsigned cores[3],
                        const struct sq_mapping_extent *block, struct sq_mapping *p)
{
    // Not what is drawn: that comes with the best ones.
    memset(p, 0, offsetof(struct sq_mapping, drawn));
    p->gemm = c->gemm;
    p->cost = c->cost;
    p->n_slices = c->n_slices;
    p->latency = c->machine->dram_latency;
    p->index_cycles = c->demand->lead_in;
    p->cores_m = cores[0];
    p->cores_n = cores[1];
    p->cores_k = cores[2];
    p->block_m = block->m * cores[0] * c->rows;
    p->block_n = block->n * cores[1] * c->cols;
    p->block_k = block->k * cores[2];
    p->count_m = sq_ceil_div(c->gemm.m, p->block_m);
    p->count_n = sq_ceil_div(c->gemm.n, p->block_n);
    p->count_k = sq_ceil_div(c->n_slices, p->block_k);
    fill_jobs(c, p);
}

void sq_mapping_fill_loads(const struct sq_mapping_context *c, struct sq_mapping *p)
{
    for (unsigned i = 0; i < SQ_STEP_CLASSES; i++)
        if (p->step[i].job.tiles > 0)
            fill_class(c, p, i);
}

void sq_mapping_set_estimate(const struct sq_mapping_context *c, struct sq_mapping *p)
{
    sq_mapping_sum(p, &p->sum);
    const unsigned first = sq_mapping_class(p, 0, 0, 0);
    const uint64_t ends =
        sq_sat_add(p->index_cycles + c->machine->dram_latency,
                   sq_sat_add(p->step[first].load[1][1][1], p->step[SQ_STEP_CLASSES - 1].store));
    p->estimate = sq_sat_add(ends, p->sum.paced > p->sum.dram ? p->sum.paced : p->sum.dram);
    p->limit = sq_sat_add(ends, p->sum.limit);
}

// Which takes less, if steps overlap as they should: a store at once, beside the last job of the
// next block (which has more to do than others where the port is narrow), or a part beside each.
static bool is_store_late(const struct sq_mapping *p)
{
    const struct sq_step_class *s = p->step;
    const unsigned at = sq_mapping_class(p, 0, 0, 0) & 3, end = at | 4;
    const uint64_t steps = p->count_k - 1, store = s[end].store;
    const uint64_t load = s[end].load[!p->weight_kept][!p->act_kept][0];
    const uint64_t job = steps ? sq_unit_bound(&p->cost.unit, &s[at].job, NULL) : 0;
    const uint64_t last = sq_unit_bound(&p->cost.unit, &s[end].job, NULL);
    const uint64_t part = store / p->count_k;
    const uint64_t late =
        sq_sat_add(sq_sat_mul(steps, sq_larger(job, load)), sq_larger(last, load + store));
    const uint64_t parts =
        sq_sat_add(sq_sat_mul(steps, sq_larger(job, load + part)), sq_larger(last, load + part));
    return late <= parts;
}

void sq_mapping_set_order(const struct sq_mapping_context *c,
                          const struct sq_mapping_residents *whole, bool n_outer,
                          struct sq_mapping *p)
{
    p->n_outer = n_outer;
    const bool whole_k = p->count_k == 1;
    p->act_kept = whole->act || (whole_k && (!n_outer || p->count_m == 1));
    p->weight_kept = whole->weight || (whole_k && (n_outer || p->count_n == 1));
    p->store_late = is_store_late(p);
    sq_mapping_set_estimate(c, p);
}

uint64_t sq_mapping_work(const struct sq_mapping *p, uint64_t more)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SQ_STEP_CLASSES; i++) {
        const struct sq_unit_job *job = &p->step[i].job;
        const uint64_t n = sq_sat_mul(
            sq_sat_mul(sq_mapping_count(p->count_m, i & 1), sq_mapping_count(p->count_n, i & 2)),
            sq_mapping_count(p->count_k, i & 4));
        const struct sq_tile_list list = sq_mapping_list(p, i);
        if (job->tiles > 0)
            sq_sat_sum(&sum, n, sq_unit_bound(&p->cost.unit, job, &list) + more);
    }
    return sum;
}

uint64_t sq_mapping_least(const struct sq_mapping *p, uint64_t jobs)
{
    const unsigned first = sq_mapping_class(p, 0, 0, 0);
    const uint64_t store = p->step[SQ_STEP_CLASSES - 1].store;
    const uint64_t steps = sq_sat_mul(sq_sat_mul(p->count_m, p->count_n), p->count_k);
    const uint64_t one =
        sq_sat_add(sq_sat_add(jobs, steps), p->step[first].load[1][1][1] + p->latency);
    const uint64_t turns = sq_sat_add(sq_sat_add(p->sum.turns, jobs), steps) / 2;
    const uint64_t work = sq_sat_add(one > turns ? one : turns, store);
    return sq_sat_add(p->index_cycles, work > p->sum.dram ? work : p->sum.dram);
}
