// SPDX-License-Identifier: Apache-2.0
// How one GEMM Y[M][N] = X[M][K] W[N][K]^T is laid over a machine, and what it moves.
//
// Output-stationary: the machine works on one block of outputs at a time, block_m x block_n, and
// walks along K in chunks of block_k. The cores share a block as cores_m x cores_n x cores_k; an
// operand that several cores need is fetched once (multicast). Cores run in lock step: a step
// takes as long as the core with the most tiles. One step = one (block, chunk); its operands are
// loaded while the previous step computes (two buffer halves), its outputs leave while later ones
// compute.
//
//   for outer block (columns if n_outer, else rows)
//     for inner block
//       for chunk of K            a step: load, job of the core, on the last chunk store
//
// cores_k > 1 splits K: every core then writes its FP32 partial sums to DRAM and reads them back
// once for the addition (4 + 4 bytes per partial sum).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/block/flow/sq_unit.h"
#include "sim/format/sq_demand.h"
#include "sim/format/sq_recipe.h"
#include "sim/machine/sq_machine.h"

#define SQ_GEMM_MAX (UINT64_C(1) << 24) // largest M, N and K

struct sq_gemm {
    uint64_t m, n, k;
};

// One kind of step: full or last block in each direction (bit 0 rows, bit 1 columns, bit 2 K).
#define SQ_STEP_CLASSES 8
struct sq_step_class {
    struct sq_unit_job job;        // of every core, alike; tiles = 0: no step is of this kind
    uint64_t nbytes[SQ_N_STREAMS]; // that cross the DRAM
    uint64_t act_nbytes;           // of activations, whether they do or not
    // DRAM cycles of the load of a step: [are weights loaded][are activations loaded][is it the
    // first chunk of K, which also brings the token scales]; and of the store of a finished block.
    uint64_t load[2][2][2]; // [weights][activations][first chunk]
    uint64_t store;
};

// Sums over the steps of a plan, saturating: bytes of every stream over the whole GEMM, and
//
//   compute, dram   cycles of all jobs; cycles of all transfers, each a lower bound of the run
//   paced           an estimate of the whole: each step takes the largest of
//                     its job;
//                     its load, and the store of the block that it ends;
//                     half of (job + load + DRAM latency), because a buffer has two halves, of
//                     which one is filled while the other is read
//   turns           loads and the DRAM latency of each: half of it and of all jobs is a lower bound of the
//                     whole, as a load waits for the job two steps before
//   limit           cycles when nothing overlaps
struct sq_mapping_sums {
    uint64_t nbytes[SQ_N_STREAMS];
    uint64_t compute, dram, paced, turns, limit;
    uint64_t bus,
        bursts; // of a chip: what the bus and the DRAM would take alone, of which dram is the larger
};

// The work of a tile may depend on data (kept groups, outliers, active columns). For each kind of step
// SQ_TILES_DRAWN tiles are drawn, or taken evenly from the layer's own; further tiles repeat them.

struct sq_mapping {
    struct sq_gemm gemm;
    struct sq_cost_unit cost; // what multiplies
    uint64_t n_slices;        // of K: cost.step elements each, the last one what is left
    uint64_t latency;         // of the DRAM
    uint64_t index_cycles;    // before the first load (lead_in of the demand)
    unsigned cores_m, cores_n, cores_k;
    uint64_t block_m, block_n, block_k; // rows, columns, slices
    uint64_t count_m, count_n, count_k; // blocks in each direction
    bool n_outer;
    bool act_kept, weight_kept; // loaded only for the first inner (or outer) block
    bool store_late;            // a block leaves at once, not in parts
    struct sq_step_class step[SQ_STEP_CLASSES];
    uint64_t estimate; // of the cycles, by which candidates are chosen
    uint64_t limit;    // cycles when nothing overlaps: no run takes more
    // Lower bound of the cycles of the GEMM on this machine, whatever the plan (sq_mapping_run): the jobs of one
    // block, which nothing keeps waiting, on the cores as they are best split, or the DRAM if each operand
    // crosses it once, whichever is more. It never falls where a GEMM grows.
    uint64_t bound;
    struct sq_mapping_sums sum;
    // Random work of tiles, for each kind of step (bits 1 and 2 of it); n = 0: every tile is the
    // same.
    uint32_t n_drawn[SQ_STEP_CLASSES / 2];
    struct sq_tile_work drawn[SQ_STEP_CLASSES / 2][SQ_TILES_DRAWN];
    double kept[SQ_STEP_CLASSES / 2]; // share of the products that is made
};
static inline struct sq_tile_list sq_mapping_list(const struct sq_mapping *p, unsigned index)
{
    return (struct sq_tile_list){p->n_drawn[index / 2], p->drawn[index / 2]};
}

// What a recipe demands of the machine for a GEMM; behind it the demands of those whose jobs and transfers are never
// shorter (`slower` of sq_format_cost.h): it takes their plans as well. Refused: sizes outside 1..2^24, and what
// sq_cost_check refuses.
#define SQ_SLOWER_MAX 2u
struct sq_demands {
    unsigned n;
    struct sq_demand demand[1 + SQ_SLOWER_MAX];
};
enum sq_status sq_mapping_demand(const struct sq_machine *machine, const struct sq_recipe *recipe,
                                 const struct sq_gemm *gemm, struct sq_demands *demands,
                                 struct sq_error *err);

// The candidates among which sq_mapping_make chooses, *n >= 1 of them, the best by estimate first.
// For every depth of a block and order of the loops there is one, the best by a closed-form
// estimate, unless it is far worse than the first. Behind them come the candidates of those formats
// that are never faster (sq_mapping_demand), so that a format never takes longer than they
// do. Refused: a format that does not fit the multipliers, buffers that do not hold one tile, a GEMM whose cycles or bytes could pass SQ_COUNT_MAX = 2^63 - 1
// (sq_checked.h). What is not refused overflows in no count of a plan or its run. sq_mapping_make
// (sq_machine_run.h) takes the best.
#define SQ_CANDIDATES 20u // of one format
#define SQ_PLANS ((1u + SQ_SLOWER_MAX) * SQ_CANDIDATES)
enum sq_status sq_mapping_search(const struct sq_machine *machine, const struct sq_demands *demands,
                                 const struct sq_gemm *gemm, struct sq_mapping plan[SQ_PLANS],
                                 unsigned *n, struct sq_error *err);

// Calls visit for every other plan that may take less than `least` cycles, which visit lowers: blocks of
// all or of a power of two of tiles and slices in each direction, in both orders, with both ways to store.
// These sizes do not depend on the GEMM, so the plan of a larger GEMM, cut to a smaller one, is among the
// plans of the smaller one, and the least cycles never fall where a GEMM grows.
struct sq_mapping_visitor {
    uint64_t least;
    uint64_t bound; // of the GEMM, which sq_mapping_sweep sets
    void (*visit)(struct sq_mapping_visitor *v, const struct sq_mapping *p);
};
enum sq_status sq_mapping_sweep(const struct sq_machine *machine, const struct sq_demand *demand,
                                const struct sq_gemm *gemm, struct sq_mapping_visitor *visitor,
                                struct sq_error *err);

// Kind of the step of block (i, j) of rows and columns and of chunk l of K; whether this block
// loads its operands.
unsigned sq_mapping_class(const struct sq_mapping *p, uint64_t i, uint64_t j, uint64_t l);
static inline bool sq_mapping_loads_act(const struct sq_mapping *p, uint64_t j)
{
    return !(p->act_kept && j > 0);
}
static inline bool sq_mapping_loads_weight(const struct sq_mapping *p, uint64_t i)
{
    return !(p->weight_kept && i > 0);
}

// Lower bound of the cycles of this plan, if its jobs take so many, or sum.compute.
uint64_t sq_mapping_least(const struct sq_mapping *p, uint64_t jobs);

// Utilisation of a path, 0..1: the products that it makes over all that it could make in `cycles`
// cycles. The low path of core and core_act also multiplies masked positions, and they count. 0
// where there is no high path.
double sq_mapping_use_low(const struct sq_machine *machine, const struct sq_mapping *p,
                          double cycles);
double sq_mapping_use_high(const struct sq_machine *machine, const struct sq_mapping *p,
                           double cycles);

// ---- what the search compares: sq_mapping_sums.c -----------------------------------------------

enum {
    SQ_JOB_OVERHEAD = 12, // fill and drain of one job, for the estimate only
};

// The sums of a mapping whose blocks, jobs, loads and order are set.
void sq_mapping_sum(const struct sq_mapping *p, struct sq_mapping_sums *sum);

// Multiplications that each path of all PEs could have made (slots), and those that it made.
struct sq_mapping_use {
    double low_slots, low, high_slots, high;
};
struct sq_mapping_use sq_mapping_used(const struct sq_machine *machine, const struct sq_mapping *p,
                                      double cycles);

// Blocks of one class: the last one, or all others.
static inline uint64_t sq_mapping_count(uint64_t count, bool is_last)
{
    return is_last ? 1 : count - 1;
}
