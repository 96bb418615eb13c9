// SPDX-License-Identifier: Apache-2.0
// Sums over the steps of a plan, and the figures made of them.
#include "sim/machine/sq_mapping.h"

#include <string.h>

#include "sim/io/sq_checked.h"

unsigned sq_mapping_class(const struct sq_mapping *p, uint64_t i, uint64_t j, uint64_t l)
{
    return (unsigned)(i == p->count_m - 1) | (unsigned)(j == p->count_n - 1) << 1 |
           (unsigned)(l == p->count_k - 1) << 2;
}

// Blocks of one class in which something happens: in every block, or only in block 0.
static uint64_t count_with(uint64_t count, bool is_last, bool only_zero)
{
    return only_zero ? (is_last ? count == 1 : count > 1) : sq_mapping_count(count, is_last);
}

// Adds n steps of `job` cycles that load what the flags say.
static void add_steps(const struct sq_mapping *p, const struct sq_step_class *s, uint64_t job,
                      uint64_t longest, uint64_t n, bool weight, bool act, bool first, bool is_last,
                      struct sq_mapping_sums *sum)
{
    const uint64_t load = s->load[weight][act][first];
    const uint64_t both = sq_sat_add(sq_sat_add(job, load), load ? p->latency : 0);
    const uint64_t turn = sq_sat_add(both, SQ_JOB_OVERHEAD) / 2;
    const uint64_t moves = sq_sat_add(load, is_last ? s->store : 0);
    const uint64_t longer = job + SQ_JOB_OVERHEAD > moves ? job + SQ_JOB_OVERHEAD : moves;
    if (act)
        sq_sat_sum(&sum->nbytes[SQ_STREAM_ACT], n, s->nbytes[SQ_STREAM_ACT]);
    if (act && first)
        sq_sat_sum(&sum->nbytes[SQ_STREAM_ACT_SCALE], n, s->nbytes[SQ_STREAM_ACT_SCALE]);
    for (unsigned id = SQ_STREAM_LO; weight && id <= SQ_STREAM_SCALE; id++)
        sq_sat_sum(&sum->nbytes[id], n, s->nbytes[id]);
    sq_sat_sum(&sum->compute, n, job);
    sq_sat_sum(&sum->dram, n, load);
    sq_sat_sum(&sum->paced, n, longer > turn ? longer : turn);
    sq_sat_sum(&sum->turns, n, sq_sat_add(load, load ? p->latency : 0));
    sq_sat_sum(&sum->limit, n, sq_sat_add(sq_sat_add(longest, load), load ? p->latency : 0));
}

void sq_mapping_sum(const struct sq_mapping *p, struct sq_mapping_sums *sum)
{
    memset(sum, 0, sizeof *sum);
    for (unsigned index = 0; index < SQ_STEP_CLASSES; index++) {
        const struct sq_step_class *s = &p->step[index];
        const bool is_last[3] = {index & 1, index & 2, index & 4};
        if (s->job.tiles == 0)
            continue; // no block of this class
        const struct sq_tile_list list = sq_mapping_list(p, index);
        const uint64_t job = sq_unit_bound(&p->cost.unit, &s->job, &list);
        const uint64_t longest = sq_unit_limit(&p->cost.unit, &s->job, &list);
        const uint64_t all[3] = {sq_mapping_count(p->count_m, is_last[0]),
                                 sq_mapping_count(p->count_n, is_last[1]),
                                 sq_mapping_count(p->count_k, is_last[2])};
        // Blocks that load weights (by row of blocks), activations (by column), their scales.
        const uint64_t load[3] = {count_with(p->count_m, is_last[0], p->weight_kept),
                                  count_with(p->count_n, is_last[1], p->act_kept),
                                  count_with(p->count_k, is_last[2], true)};
        for (unsigned at = 0; at < 8; at++) { // bit d: the blocks that do, else those that do not
            uint64_t n = 1;
            for (unsigned d = 0; d < 3 && n > 0; d++)
                n = sq_sat_mul(n, (at >> d & 1) ? load[d] : all[d] - load[d]);
            if (n > 0)
                add_steps(p, s, job, longest, n, at & 1, at & 2, at & 4, is_last[2], sum);
        }
        if (is_last[2]) {
            const uint64_t n = sq_sat_mul(all[0], all[1]);
            sq_sat_sum(&sum->nbytes[SQ_STREAM_OUT], n, s->nbytes[SQ_STREAM_OUT]);
            sq_sat_sum(&sum->nbytes[SQ_STREAM_PARTIAL], n, s->nbytes[SQ_STREAM_PARTIAL]);
            sq_sat_sum(&sum->dram, n, s->store);
            sq_sat_sum(&sum->limit, n, sq_sat_add(s->store, 1));
        }
    }
}

// ---- figures --------------------------------------------------------------------------------

static double size_of(uint64_t total, uint64_t block, uint64_t count, bool is_last)
{
    return (double)(is_last ? total - (count - 1) * block : block);
}

// Share of the products that is made, over all of K and N.
static double kept(const struct sq_mapping *p)
{
    double sum = 0;
    for (unsigned i = 0; i < SQ_STEP_CLASSES / 2; i++) {
        const bool is_last_n = i & 1, is_last_k = i & 2;
        const double n = size_of(p->gemm.n, p->block_n, p->count_n, is_last_n);
        const double k = size_of(p->n_slices, p->block_k, p->count_k, is_last_k);
        const double blocks = (double)sq_mapping_count(p->count_n, is_last_n) *
                              (double)sq_mapping_count(p->count_k, is_last_k);
        sum += blocks > 0 ? blocks * n * k * (p->n_drawn[i] ? p->kept[i] : 1) : 0;
    }
    return sum / ((double)p->gemm.n * (double)p->n_slices);
}

struct sq_mapping_use sq_mapping_used(const struct sq_machine *machine, const struct sq_mapping *p,
                                      double cycles)
{
    const double macs = (double)p->gemm.m * (double)p->gemm.n * (double)p->gemm.k;
    const double pe = cycles * machine->core.rows * machine->core.cols * machine->cores;
    struct sq_mapping_use use = {.low_slots = pe * p->cost.low_lanes,
                                 .low = macs * p->cost.low * kept(p)};
    if (p->cost.high > 0) {
        use.high_slots = pe * p->cost.high_lanes;
        use.high = macs * p->cost.high;
    }
    return use;
}

double sq_mapping_use_low(const struct sq_machine *machine, const struct sq_mapping *p,
                          double cycles)
{
    const struct sq_mapping_use use = sq_mapping_used(machine, p, cycles);
    return sq_utilisation(use.low, use.low_slots);
}

double sq_mapping_use_high(const struct sq_machine *machine, const struct sq_mapping *p,
                           double cycles)
{
    const struct sq_mapping_use use = sq_mapping_used(machine, p, cycles);
    return use.high_slots > 0 ? sq_utilisation(use.high, use.high_slots) : 0;
}
