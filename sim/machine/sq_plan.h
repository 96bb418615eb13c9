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
#ifndef SQ_PLAN_H
#define SQ_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/block/sq_core_sim.h"
#include "sim/format/sq_cost.h"
#include "sim/format/sq_recipe.h"
#include "sim/machine/sq_machine.h"

#define SQ_GEMM_MAX (UINT64_C(1) << 24) // largest M, N and K

struct sq_gemm {
    uint64_t m, n, k;
};

// One kind of step: full or last block in each direction (bit 0 rows, bit 1 columns, bit 2 K).
#define SQ_STEP_CLASSES 8
struct sq_step_class {
    struct sq_job job; // of every core
    uint64_t nbytes[SQ_N_STREAMS];
    // DRAM cycles: load by [weights loaded][activations loaded] (s_a with the first chunk:
    // [1] holds it), store with the outputs of a finished block.
    uint64_t load[2][2][2]; // [weights][activations][first chunk]
    uint64_t store;
};

struct sq_plan {
    struct sq_gemm gemm;
    struct sq_core_config core; // what the cycle model runs
    unsigned lanes;             // elements of K that a PE takes per cycle, sq_w: on the low path
    bool has_high;
    uint64_t n_banks;      // of a row, padded
    uint64_t latency;      // of the DRAM
    uint64_t index_cycles; // before the first load (sq_cost_lead_in)
    unsigned cores_m, cores_n, cores_k;
    uint64_t block_m, block_n, block_k; // rows, columns, banks
    uint64_t count_m, count_n, count_k; // blocks in each direction
    bool n_outer;
    bool act_kept, weight_kept; // loaded only for the first inner (or outer) block
    struct sq_step_class step[SQ_STEP_CLASSES];
    uint64_t estimate; // cycles by which it was chosen
    uint64_t limit;    // cycles when nothing overlaps: no run takes more
};

// The best of all mappings tried, by a closed-form estimate; ties go to the first. Refused: sizes
// outside 1..2^24, a format that does not fit the multipliers, buffers that do not hold one tile, a
// GEMM whose cycles or bytes could pass SQ_COUNT_MAX = 2^63 - 1 (sq_checked.h). What is not refused
// overflows in no count of the plan or its run.
enum sq_status sq_plan_make(const struct sq_machine *machine, const struct sq_recipe *recipe,
                            const struct sq_gemm *gemm, struct sq_plan *plan, struct sq_error *err);

// Class of a block, and whether it loads its operands: block (i, j) of rows and columns, chunk l.
unsigned sq_plan_class(const struct sq_plan *p, uint64_t i, uint64_t j, uint64_t l);
static inline bool sq_plan_loads_act(const struct sq_plan *p, uint64_t j)
{
    return !(p->act_kept && j > 0);
}
static inline bool sq_plan_loads_weight(const struct sq_plan *p, uint64_t i)
{
    return !(p->weight_kept && i > 0);
}

// Bytes of every stream over the whole GEMM, and the DRAM cycles they occupy.
void sq_plan_traffic(const struct sq_plan *p, uint64_t nbytes[SQ_N_STREAMS], uint64_t *dram_cycles);

// Lower bound: the slower path of the busiest core over all steps, or the DRAM, whichever is more.
uint64_t sq_plan_bound(const struct sq_plan *p, uint64_t *compute, uint64_t *dram);

// M N K / (all multiplications of that path in `cycles` cycles); 0..1.
double sq_plan_use_low(const struct sq_machine *machine, const struct sq_plan *p, double cycles);
double sq_plan_use_high(const struct sq_machine *machine, const struct sq_plan *p, double cycles);

#endif
