// SPDX-License-Identifier: Apache-2.0
// Plans a GEMM on the chip, runs it, and counts bytes and steps (sq_chip_machine.h).
#include "sim/machine/sq_chip_machine.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_checked.h"
#include "sim/machine/sq_chip_run.h"

enum { TILES = 8, K = 512 }; // a layer that every format has
enum { ROWS = 0, COLS = 1, PARTS_MAX = 1000, LATENCY_MAX = 10000, SRAM_WIDTH = 64 };

// Cycles of a layer wherever it lies; UINT64_MAX where the chip would refuse it, which who plans it then says.
static enum sq_status time_layer(struct sq_chip_memo *memo, const unsigned *value,
                                 const struct sq_env_choice *memory,
                                 const struct sq_top_layer *layer, uint64_t *cycles,
                                 struct sq_error *err)
{
    const struct sq_top_room room = sq_top_room(value);
    struct sq_top_layer at_zero = *layer, legal;
    uint32_t word[SQ_DESC_WORDS];
    struct sq_chip_stats s;
    memset(at_zero.addr, 0, sizeof at_zero.addr);
    sq_top_layer_encode(&at_zero, word);
    *cycles = UINT64_MAX;
    if (!sq_top_layer_decode(word, &room, &legal)) // the chip refuses it, as one beyond 2^48
        return SQ_OK;
    SQ_TRY(sq_chip_run_next(value, memory, &at_zero, memo, &s, err));
    *cycles = s.cycles;
    return SQ_OK;
}

unsigned sq_machine_chip_products(const struct sq_machine *m)
{
    return m->chip.has_lanes ? sq_cost_products(&m->core, 1, 1) : 0;
}

// The bandwidth in whole kB/s nearest to that of the machine at which a burst takes p / q cycles, p and q at most PARTS_MAX.
static double near_bandwidth(const struct sq_machine *m)
{
    const double kilo = 1e3, want = m->dram_bytes_per_s / kilo;
    const uint64_t burst = m->burst_nbytes * (uint64_t)llround(m->clock_hz / kilo);
    double best = 0;
    for (uint64_t q = 1; q <= PARTS_MAX; q++)
        for (uint64_t p = 1; p <= PARTS_MAX; p++) {
            const double at = (double)(burst * q / p);
            if (burst * q % p == 0 && fabs(at - want) < fabs(best - want))
                best = at;
        }
    return best * kilo;
}

enum sq_status sq_machine_chip(const struct sq_machine *m, struct sq_chip *chip,
                               struct sq_error *err)
{
    if (!m->chip.bus_nbytes)
        return SQ_FAIL(err, SQ_ERR_ARG, "machine %.40s has no key 'chip'", m->name);
    const bool is_timed = m->timed.is_timed;
    const bool is_simple = m->burst_num <= PARTS_MAX * m->burst_den && m->burst_den <= PARTS_MAX;
    if (!is_simple && (!is_timed || m->burst_num > PARTS_MAX * m->burst_den))
        return SQ_FAIL(
            err, SQ_ERR_RANGE,
            "dram.bandwidth = %.10g GB/s: at %.10g MHz a burst of %u B takes %llu / %llu cycles, "
            "and a chip counts in p / q of a cycle, p and q at most %d: %.10g GB/s is near",
            m->dram_bytes_per_s / 1e9, m->clock_hz / 1e6, m->burst_nbytes,
            (unsigned long long)m->burst_num, (unsigned long long)m->burst_den, PARTS_MAX,
            near_bandwidth(m) / 1e9);
    if (m->dram_latency > LATENCY_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE, "dram.latency = %llu cycles, need 0..%d with chip",
                       (unsigned long long)m->dram_latency, LATENCY_MAX);
    *chip = (struct sq_chip){.time = time_layer,
                             .bus_nbytes = m->chip.bus_nbytes,
                             .act_nbytes = m->act_nbytes,
                             .weight_nbytes = m->weight_nbytes,
                             .scale_nbytes = m->scale_nbytes,
                             .sum_nbytes = m->out_nbytes,
                             .max_burst = m->chip.max_burst,
                             .outstanding = m->chip.outstanding,
                             .writes = m->chip.writes,
                             .encodes = m->chip.has_encoder,
                             .vectors = m->chip.has_vector,
                             .attend = m->chip.attend,
                             .products = sq_machine_chip_products(m),
                             .tail = {m->chip.sum, m->chip.aligned, m->chip.cut, m->chip.carry},
                             .memory = {.kind = 1,
                                        .n = {(uint32_t)m->dram_latency, (uint32_t)m->burst_num,
                                              (uint32_t)m->burst_den, m->burst_nbytes},
                                        .end = 1}};
    if (!is_timed)
        return SQ_OK;
    struct sq_env_choice *const memory =
        &chip->memory; // n: for plans, in hundredths of a cycle at least
    memory->kind = SQ_AXI_TIMED;
    memory->dram = &m->timed.end[m->timed.at];
    memory->clock = sq_dram_clock_of(&memory->dram->rules.device, m->clock_hz);
    if (!is_simple) {
        memory->n[1] = (uint32_t)sq_ceil_div(100 * m->burst_num, m->burst_den);
        memory->n[2] = 100;
    }
    return SQ_OK;
}

enum sq_status sq_machine_chip_for(const struct sq_machine *m, const struct sq_recipe *recipe,
                                   unsigned products, struct sq_chip_layer *layer,
                                   struct sq_error *err)
{
    const uint64_t mnk[3] = {(uint64_t)m->core.rows * TILES, (uint64_t)m->core.cols * TILES, K};
    struct sq_chip chip;
    SQ_TRY(sq_machine_chip(m, &chip, err));
    chip.products = products;
    chip.time = NULL;
    return sq_chip_layer_of(recipe, &chip, m->core.rows, m->core.cols, mnk, layer, err);
}

static uint64_t size_of(uint64_t all, uint64_t block, bool is_last)
{
    return is_last ? all - (sq_ceil_div(all, block) - 1) * block : block;
}

// ---- bytes ------------------------------------------------------------------------------------------

// Where the beats of an operand are counted.
static enum sq_stream_id stream_of(unsigned part)
{
    static const enum sq_stream_id of[] = {SQ_STREAM_ACT, SQ_STREAM_ACT_SCALE, SQ_STREAM_LO,
                                           SQ_STREAM_SCALE, SQ_STREAM_OUT};
    return of[part];
}

// Bytes of the transfer of a step, which has so many tiles of rows, of columns, scale groups and beats of a tile.
static uint64_t step_nbytes(const struct sq_chip_layer *c, unsigned part, uint64_t rows,
                            uint64_t cols, uint64_t groups, uint64_t beats)
{
    const struct sq_top_room room = sq_top_room(c->value);
    const struct sq_top_step step = {
        {(uint32_t)rows, (uint32_t)cols}, (uint32_t)groups, (uint32_t)beats};
    return sq_top_transfer(&room, part, sq_top_step_beats(&room, &c->layer, &step, part)) *
           room.nbytes;
}

static uint64_t whole_nbytes(const struct sq_chip_layer *c, unsigned part)
{
    return sq_top_nbytes(c->value, &c->layer, (enum sq_top_part)part);
}

// How often a part is loaded whole (sq_sequencer_sim.h).
static uint64_t times(const struct sq_chip_layer *c, unsigned part)
{
    const struct sq_top_layer *const l = &c->layer;
    const unsigned axis = part >= SQ_TOP_WEIGHT, outer = l->cols_outer ? COLS : ROWS;
    const uint64_t blocks = sq_ceil_div(l->tiles[!axis], l->block[!axis]); // of the other axis
    const struct sq_top_room room = sq_top_room(c->value);
    const bool serves_chunks = sq_top_serves_chunks(&room, part);
    if (part == SQ_TOP_STORE)
        return 1;
    if (!sq_block_walk_is_whole(l) && !serves_chunks)
        return blocks;
    return axis == outer || l->block[axis] >= l->tiles[axis] ? 1 : blocks;
}

// ---- the plan ---------------------------------------------------------------------------------------

static void fill_steps(const struct sq_chip_layer *c, struct sq_mapping *p)
{
    const struct sq_top_layer *const l = &c->layer;
    for (unsigned i = 0; i < SQ_STEP_CLASSES; i++) {
        struct sq_step_class *const s = &p->step[i];
        if (!sq_mapping_count(p->count_m, i & 1) || !sq_mapping_count(p->count_n, i & 2) ||
            !sq_mapping_count(p->count_k, i & 4))
            continue;
        const uint64_t rows = size_of(l->tiles[ROWS], l->block[ROWS], i & 1);
        const uint64_t cols = size_of(l->tiles[COLS], l->block[COLS], i & 2);
        const uint64_t groups = l->part ? 1 : size_of(l->groups, l->chunk, i & 4);
        const uint64_t beats = l->part ? size_of(l->beats, l->part, i & 4) : groups * l->beats;
        s->job = (struct sq_unit_job){.tiles = (uint32_t)rows,
                                      .passes = (uint32_t)cols,
                                      .flushes = (uint32_t)groups,
                                      .beats = (uint32_t)(beats / groups),
                                      .words = i & 4 ? 1 : 0};
        for (unsigned part = 0; part <= SQ_TOP_STORE; part++)
            s->nbytes[stream_of(part)] = step_nbytes(c, part, rows, cols, groups, beats);
        s->act_nbytes = s->nbytes[SQ_STREAM_ACT];
    }
}

// Loads and stores have channels of their own on the bus, and share the memory.
static uint64_t bus_cycles(const struct sq_machine *m, uint64_t load, uint64_t store)
{
    return (load > store ? load : store) / m->chip.bus_nbytes;
}

static uint64_t burst_cycles(const struct sq_machine *m, uint64_t nbytes)
{
    return nbytes / m->burst_nbytes * m->burst_num / m->burst_den;
}

// Cycles in which the engine takes operands.
static uint64_t compute_of(const struct sq_top_layer *l)
{
    return l->tiles[ROWS] * (l->is_indexed ? (uint64_t)sq_top_col_blocks(l) * l->groups
                                           : (uint64_t)l->tiles[COLS] * l->groups * l->beats);
}

// Chunks of K.
static uint64_t chunks_of(const struct sq_top_layer *l)
{
    return l->part ? l->groups * sq_ceil_div(l->beats, l->part) : sq_ceil_div(l->groups, l->chunk);
}

// Share of the products that is made: all, or those of kept groups.
static double share_of(const struct sq_top_layer *l)
{
    const double all = (double)l->tiles[COLS] * l->beats;
    const double kept = (double)sq_top_col_blocks(l) * l->groups;
    return l->is_indexed && kept < all ? kept / all : 1;
}

static void fill_plan(const struct sq_machine *m, const struct sq_gemm *g,
                      const struct sq_chip_layer *c, struct sq_mapping *p)
{
    const struct sq_top_layer *const l = &c->layer;
    const bool is_whole = sq_block_walk_is_whole(l);
    memset(p, 0, sizeof *p);
    p->gemm = *g;
    p->cost = (struct sq_cost_unit){.unit = {.kind = SQ_UNIT_ARRAY},
                                    .step = c->value[SQ_TOP_BANK_LEN],
                                    .low_lanes = c->value[SQ_TOP_BANK_LEN],
                                    .low = share_of(l),
                                    .high = 0,
                                    .rows = m->core.rows,
                                    .lines = m->core.cols,
                                    .weight_rows = m->core.rows,
                                    .weight_share = 1};
    p->n_slices = (uint64_t)l->groups * (l->is_indexed ? 1 : l->beats);
    p->latency = m->dram_latency;
    p->cores_m = p->cores_n = p->cores_k = 1;
    p->block_m = sq_smaller((uint64_t)l->block[ROWS] * c->value[SQ_TOP_ROWS], g->m);
    p->block_n = sq_smaller((uint64_t)l->block[COLS] * c->value[SQ_TOP_COLS], g->n);
    p->block_k = l->part ? l->part : l->is_indexed ? l->chunk : (uint64_t)l->chunk * l->beats;
    p->count_m = sq_ceil_div(l->tiles[ROWS], l->block[ROWS]);
    p->count_n = sq_ceil_div(l->tiles[COLS], l->block[COLS]);
    p->count_k = chunks_of(l);
    p->n_outer = l->cols_outer;
    p->act_kept = (is_whole || l->is_indexed) && (!l->cols_outer || p->count_m == 1);
    p->weight_kept = is_whole && (l->cols_outer || p->count_n == 1);
    p->store_late = true;
    fill_steps(c, p);
    uint64_t nbytes = 0;
    for (unsigned part = 0; part <= SQ_TOP_STORE; part++) {
        uint64_t *const sum = &p->sum.nbytes[stream_of(part)];
        *sum = times(c, part) * whole_nbytes(c, part);
        nbytes += *sum;
    }
    p->sum.compute = compute_of(l);
    const uint64_t store = p->sum.nbytes[SQ_STREAM_OUT];
    p->sum.bus = bus_cycles(m, nbytes - store, store);
    p->sum.bursts = burst_cycles(m, nbytes);
    p->sum.dram = sq_larger(p->sum.bus, p->sum.bursts);
}

// Every multiplication, and every part once, whatever the plan.
static uint64_t bound_of(const struct sq_machine *m, const struct sq_chip_layer *c)
{
    const struct sq_top_layer *const l = &c->layer;
    const uint64_t compute = compute_of(l);
    const uint64_t store = whole_nbytes(c, SQ_TOP_STORE);
    uint64_t load = 0;
    for (unsigned part = 0; part < SQ_TOP_STORE; part++)
        load += whole_nbytes(c, part);
    return sq_larger(compute, sq_larger(bus_cycles(m, load, store), burst_cycles(m, load + store)));
}

// ---- memories ---------------------------------------------------------------------------------------

// Bits of the memories that a beat of a buffer takes: with a parity bit a byte, in whole words (sq_sram.sv).
static uint64_t word_nbits(uint64_t nbits)
{
    const uint64_t nbytes = sq_ceil_div(nbits, 8);
    return sq_ceil_div(9 * nbytes, SRAM_WIDTH) * SRAM_WIDTH;
}

// Beats of an indexed layer beside the kept groups: activations and scales of tokens once a job, offsets.
static uint64_t indexed_reads(const struct sq_top_layer *l, unsigned part)
{
    const uint64_t jobs = (uint64_t)l->tiles[ROWS] * sq_top_col_blocks(l);
    return part == SQ_TOP_ACT         ? jobs * l->beats
           : part == SQ_TOP_ROW_SCALE ? jobs
                                      : (uint64_t)l->tiles[ROWS] * l->tiles[COLS];
}

uint64_t sq_chip_sram_nbits(const struct sq_chip_layer *c, bool is_write)
{
    const struct sq_top_room room = sq_top_room(c->value);
    const uint64_t tiles = (uint64_t)c->layer.tiles[ROWS] * c->layer.tiles[COLS];
    const uint64_t results = tiles * (room.scale_once ? 1 : c->layer.groups);
    const uint64_t port = c->value[SQ_TOP_PORT_LEN];
    const uint64_t beats = (uint64_t)c->value[SQ_TOP_ROWS] * c->value[SQ_TOP_COLS] / port;
    uint64_t sum = (c->layer.is_indexed ? 0 : chunks_of(&c->layer) - 1) * tiles * beats *
                   word_nbits(32 * port * sq_top_kept_words(c->value));
    for (unsigned part = 0; part < SQ_TOP_OPERANDS; part++) {
        const bool is_scale = part == SQ_TOP_ROW_SCALE || part == SQ_TOP_COL_SCALE;
        const uint64_t read = c->layer.is_indexed && part != SQ_TOP_WEIGHT
                                  ? indexed_reads(&c->layer, part)
                              : is_scale ? results
                                         : compute_of(&c->layer);
        const uint64_t written =
            times(c, part) * sq_top_beats(c->value, &c->layer, (enum sq_top_part)part);
        sum +=
            (is_write ? written : read) * word_nbits(sq_top_bits(c->value, (enum sq_top_part)part));
    }
    return sum;
}

enum sq_status sq_chip_mapping_run(const struct sq_machine *m, const struct sq_recipe *recipe,
                                   const struct sq_gemm *gemm, struct sq_mapping *plan,
                                   struct sq_machine_stats *stats, struct sq_chip_memo *memo,
                                   struct sq_error *err)
{
    const uint64_t mnk[3] = {gemm->m, gemm->n, gemm->k};
    struct sq_chip chip;
    struct sq_chip_layer c;
    struct sq_chip_stats s;
    SQ_TRY(sq_machine_chip(m, &chip, err));
    chip.memo = memo;
    SQ_TRY(sq_chip_layer_of(recipe, &chip, m->core.rows, m->core.cols, mnk, &c, err));
    fill_plan(m, gemm, &c, plan);
    struct sq_dram_stats dram = {.hits = 0};
    SQ_TRY(m->timed.is_timed ? sq_chip_run_timed(c.value, &c.memory, &c.layer, &s, &dram, err)
                             : sq_chip_run_next(c.value, &c.memory, &c.layer, memo, &s, err));
    plan->estimate = plan->limit = s.cycles;
    plan->bound = bound_of(m, &c);
    if (!stats)
        return SQ_OK;
    *stats = (struct sq_machine_stats){.cycles = s.cycles,
                                       .sram_read_nbits = sq_chip_sram_nbits(&c, false),
                                       .sram_write_nbits = sq_chip_sram_nbits(&c, true),
                                       .steps = plan->count_m * plan->count_n * plan->count_k,
                                       .memory = s.wait,
                                       .dram = dram,
                                       .dram_busy = plan->sum.dram};
    stats->low[SQ_CAUSE_BUSY] = stats->high[SQ_CAUSE_BUSY] = s.busy;
    stats->low[SQ_CAUSE_BLOCKED_OUTPUT] = stats->high[SQ_CAUSE_BLOCKED_OUTPUT] = s.blocked;
    memcpy(stats->nbytes, plan->sum.nbytes, sizeof stats->nbytes);
    assert(s.busy == plan->sum.compute);
    return SQ_OK;
}
