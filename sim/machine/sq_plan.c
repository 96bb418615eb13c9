// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/sq_plan.h"

#include <string.h>

#include "models/sq_format.h"
#include "sim/format/sq_cost.h"
#include "sim/io/sq_checked.h"

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b > 0); // a + b - 1 may not fit
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// ---- what a stretch of K holds --------------------------------------------------------------

// Format and machine, with what follows from them.
struct context {
    const struct sq_machine *machine;
    const struct sq_recipe *recipe;
    struct sq_gemm gemm;
    struct sq_core_config core;
    unsigned lanes;
    uint64_t bank;    // elements of one bank (else: of one step)
    uint64_t n_banks; // of a padded row
    uint64_t stored;  // elements of a stored row
    uint64_t unit;    // banks: smallest chunk of K
    uint64_t flush;   // banks between two flushes, 0 = only at the end of a chunk
    uint64_t index_cycles;
};

// Everything but SQ on weights: one step of the low path per `lanes` elements; the high path runs
// along unseen.
static void settle_serial(struct context *c)
{
    const struct sq_core_config *has = &c->machine->core;
    c->lanes = sq_cost_lanes(c->recipe, has, c->gemm.m, c->gemm.k);
    c->core = sq_core_config_default();
    c->core.rows = has->rows;
    c->core.cols = has->cols;
    c->core.bank = c->core.low_lanes = 128;
    c->core.high_per_bank = c->core.high_lanes = 8;
    c->index_cycles = sq_cost_lead_in(c->recipe, c->gemm.k);
    c->bank = c->lanes;
    c->stored = c->gemm.k;
    c->n_banks = ceil_div(c->gemm.k, c->bank);
    c->unit = ceil_div(128, c->bank);
    c->flush = 0;
}

// SQ on weights: both paths of the core.
static enum sq_status settle_sq(struct context *c, struct sq_error *err)
{
    const struct sq_format banks = sq_recipe_banks(c->recipe), *f = &banks;
    SQ_TRY(sq_machine_core(c->machine, f, sq_recipe_act_bits(c->recipe), &c->core, err));
    c->lanes = c->core.low_lanes;
    c->bank = f->bank;
    c->stored = sq_k_padded(f, c->gemm.k);
    c->n_banks = c->stored / f->bank;
    c->flush = f->group / f->bank; // 0: the whole row
    c->unit = c->flush ? c->flush : ceil_div(128, f->bank);
    return SQ_OK;
}

static uint64_t elements(const struct context *c, uint64_t first_bank, uint64_t n_banks)
{
    const uint64_t end = min_u64((first_bank + n_banks) * c->bank, c->stored);
    return end - first_bank * c->bank;
}

// Scale groups that end within the stretch.
static uint64_t groups(const struct context *c, uint64_t first_bank, uint64_t n_banks)
{
    const uint64_t group = c->recipe->group;
    const uint64_t first = first_bank * c->bank, end = first + elements(c, first_bank, n_banks);
    const bool at_end = end == c->stored;
    if (group == 0)
        return at_end;
    return (at_end ? ceil_div(end, group) : end / group) - first / group;
}

// Bytes of m rows, n columns and a stretch of banks. Out and partial sums: of the finished block.
static void count_nbytes(const struct context *c, uint64_t m, uint64_t n, uint64_t first_bank,
                         uint64_t n_banks, unsigned cores_k, uint64_t nbytes[SQ_N_STREAMS])
{
    const uint64_t e = elements(c, first_bank, n_banks);
    const struct sq_stretch stretch = {.elements = e,
                                       .banks = n_banks,
                                       .groups = groups(c, first_bank, n_banks),
                                       .at_end = first_bank * c->bank + e == c->stored,
                                       .burst_nbytes = c->machine->burst_nbytes};
    sq_cost_nbytes(c->recipe, m, n, c->gemm.m, &stretch, nbytes);
    nbytes[SQ_STREAM_OUT] = 2 * m * n;
    nbytes[SQ_STREAM_PARTIAL] = cores_k > 1 ? 8 * m * n * cores_k : 0;
}

static uint64_t weight_nbytes(const uint64_t nbytes[SQ_N_STREAMS])
{
    return nbytes[SQ_STREAM_LO] + nbytes[SQ_STREAM_HI] + nbytes[SQ_STREAM_INDEX] +
           nbytes[SQ_STREAM_SCALE];
}

// ---- one mapping ----------------------------------------------------------------------------

static uint64_t bursts(const struct context *c, uint64_t nbytes)
{
    return ceil_div(nbytes, c->machine->burst_nbytes);
}

__extension__ typedef unsigned __int128 wide; // a product of two counts

static uint64_t dram_cycles(const struct context *c, uint64_t n_bursts)
{
    const wide den = c->machine->burst_den;
    uint64_t product;
    if (!__builtin_mul_overflow(n_bursts, c->machine->burst_num, &product)) // as a rule, and quick
        return ceil_div(product, c->machine->burst_den);
    const wide cycles = ((wide)n_bursts * c->machine->burst_num + den - 1) / den;
    return cycles < SQ_COUNT_OVER ? (uint64_t)cycles : SQ_COUNT_OVER;
}

static uint64_t size_of(uint64_t total, uint64_t block, uint64_t count, bool is_last)
{
    return is_last ? total - (count - 1) * block : block;
}

static void fill_class(const struct context *c, struct sq_plan *p, unsigned index)
{
    struct sq_step_class *s = &p->step[index];
    const bool last_k = index & 4;
    const uint64_t m = size_of(c->gemm.m, p->block_m, p->count_m, index & 1);
    const uint64_t n = size_of(c->gemm.n, p->block_n, p->count_n, index & 2);
    const uint64_t banks = size_of(c->n_banks, p->block_k, p->count_k, last_k);
    const uint64_t first = last_k ? (p->count_k - 1) * p->block_k : 0;
    const uint64_t tiles = ceil_div(ceil_div(m, c->core.rows), p->cores_m) *
                           ceil_div(ceil_div(n, c->core.cols), p->cores_n);
    const uint64_t of_core =
        min_u64(banks, c->unit * ceil_div(ceil_div(banks, c->unit), p->cores_k));
    const uint64_t per_flush = c->flush ? c->flush : of_core;

    s->job.group_banks = (uint32_t)per_flush;
    s->job.groups = (uint32_t)(tiles * (of_core / per_flush));
    count_nbytes(c, m, n, first, banks, p->cores_k, s->nbytes);
    uint64_t weight = 0;
    for (unsigned id = SQ_STREAM_LO; id <= SQ_STREAM_SCALE; id++)
        weight += bursts(c, s->nbytes[id]);
    const uint64_t act = bursts(c, s->nbytes[SQ_STREAM_ACT]);
    const uint64_t act_scale = bursts(c, s->nbytes[SQ_STREAM_ACT_SCALE]);
    for (unsigned f = 0; f < 2; f++) {
        s->load[0][1][f] = dram_cycles(c, act + f * act_scale);
        s->load[1][0][f] = dram_cycles(c, weight);
        s->load[1][1][f] = dram_cycles(c, weight + act + f * act_scale);
    }
    s->store = dram_cycles(c, bursts(c, s->nbytes[SQ_STREAM_OUT]) +
                                  bursts(c, s->nbytes[SQ_STREAM_PARTIAL]));
}

unsigned sq_plan_class(const struct sq_plan *p, uint64_t i, uint64_t j, uint64_t l)
{
    return (unsigned)(i == p->count_m - 1) | (unsigned)(j == p->count_n - 1) << 1 |
           (unsigned)(l == p->count_k - 1) << 2;
}

// Blocks of one class: the last one, or all others.
static uint64_t count_of(uint64_t count, bool is_last)
{
    return is_last ? 1 : count - 1;
}

// Whether block 0 of a direction is of this class.
static uint64_t has_zero(uint64_t count, bool is_last)
{
    return is_last ? count == 1 : count > 1;
}

enum {
    JOB_OVERHEAD = 12,      // fill and drain of one job, for the estimate only
    JOB_OVERHEAD_MAX = 512, // for the limit: the first bank's 128 low steps, the last's 64 high
                            // steps, registers between; sq_machine_run asserts the limit
};

// Sums over the steps of a plan, saturating. `paced`: what the steps take when each waits for the
// slowest of its job, its load, and half of both with the latency between (two buffer halves in
// turn). `limit`: what they take when nothing overlaps.
struct sums {
    uint64_t nbytes[SQ_N_STREAMS];
    uint64_t compute, dram, paced, limit;
};

// Adds n steps of `job` cycles that load what the flags say.
static void add_steps(const struct sq_plan *p, const struct sq_step_class *s, uint64_t job,
                      uint64_t n, bool weight, bool act, bool first, struct sums *sum)
{
    const uint64_t load = s->load[weight][act][first];
    const uint64_t both = sq_sat_add(sq_sat_add(job, load), load ? p->latency : 0);
    const uint64_t turn = sq_sat_add(both, JOB_OVERHEAD) / 2;
    const uint64_t longer = job + JOB_OVERHEAD > load ? job + JOB_OVERHEAD : load;
    if (act)
        sq_sat_sum(&sum->nbytes[SQ_STREAM_ACT], n, s->nbytes[SQ_STREAM_ACT]);
    if (act && first)
        sq_sat_sum(&sum->nbytes[SQ_STREAM_ACT_SCALE], n, s->nbytes[SQ_STREAM_ACT_SCALE]);
    for (unsigned id = SQ_STREAM_LO; weight && id <= SQ_STREAM_SCALE; id++)
        sq_sat_sum(&sum->nbytes[id], n, s->nbytes[id]);
    sq_sat_sum(&sum->compute, n, job);
    sq_sat_sum(&sum->dram, n, load);
    sq_sat_sum(&sum->paced, n, longer > turn ? longer : turn);
    sq_sat_sum(&sum->limit, n, sq_sat_add(both, JOB_OVERHEAD_MAX));
}

static void add_all(const struct sq_plan *p, struct sums *sum)
{
    memset(sum, 0, sizeof *sum);
    for (unsigned index = 0; index < SQ_STEP_CLASSES; index++) {
        const struct sq_step_class *s = &p->step[index];
        const bool is_last[3] = {index & 1, index & 2, index & 4};
        if (s->job.groups == 0)
            continue; // no block of this class
        const uint64_t job = sq_job_bound(&p->core, &s->job);
        const uint64_t all[3] = {count_of(p->count_m, is_last[0]), count_of(p->count_n, is_last[1]),
                                 count_of(p->count_k, is_last[2])};
        const uint64_t zero[3] = {has_zero(p->count_m, is_last[0]),
                                  has_zero(p->count_n, is_last[1]),
                                  has_zero(p->count_k, is_last[2])};
        for (unsigned at = 0; at < 8; at++) { // bit d: block 0 of direction d, else the others
            uint64_t n = 1;
            for (unsigned d = 0; d < 3; d++)
                n = sq_sat_mul(n, (at >> d & 1) ? zero[d] : all[d] - zero[d]);
            if (n > 0)
                add_steps(p, s, job, n, !p->weight_kept || (at & 1), !p->act_kept || (at & 2),
                          at & 4, sum);
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

void sq_plan_traffic(const struct sq_plan *p, uint64_t nbytes[SQ_N_STREAMS], uint64_t *dram)
{
    struct sums sum;
    add_all(p, &sum);
    memcpy(nbytes, sum.nbytes, sizeof sum.nbytes);
    *dram = sum.dram;
}

// ---- search ---------------------------------------------------------------------------------

// Per core: tiles in each direction and units of K.
struct extent {
    uint64_t m, n, k;
};

static bool fits(const struct context *c, const struct extent *block)
{
    const struct sq_machine *hw = c->machine;
    const uint64_t rows = block->m * c->core.rows, cols = block->n * c->core.cols;
    const uint64_t banks = min_u64(block->k * c->unit, c->n_banks);
    uint64_t nbytes[SQ_N_STREAMS];
    count_nbytes(c, rows, cols, 0, banks, 1, nbytes);
    const uint64_t act = nbytes[SQ_STREAM_ACT] + nbytes[SQ_STREAM_ACT_SCALE];
    return act <= hw->act_nbytes / 2 && weight_nbytes(nbytes) <= hw->weight_nbytes / 2 &&
           4 * rows * cols <= hw->out_nbytes / 2 && banks <= SQ_JOB_GROUP_BANKS_MAX &&
           block->m * block->n <= (UINT64_C(1) << 31) / banks;
}

// All of an operand in the buffers of the cores that use it.
static bool resident(const struct context *c, const struct extent *all, bool act)
{
    uint64_t nbytes[SQ_N_STREAMS];
    count_nbytes(c, all->m * c->core.rows, all->n * c->core.cols, 0,
                 min_u64(all->k * c->unit, c->n_banks), 1, nbytes);
    if (act)
        return nbytes[SQ_STREAM_ACT] + nbytes[SQ_STREAM_ACT_SCALE] <= c->machine->act_nbytes;
    return weight_nbytes(nbytes) <= c->machine->weight_nbytes;
}

// The blocks, and what their steps hold.
static void lay_out(const struct context *c, const unsigned cores[3], const struct extent *block,
                    struct sq_plan *p)
{
    memset(p, 0, sizeof *p);
    p->gemm = c->gemm;
    p->core = c->core;
    p->lanes = c->lanes;
    p->has_high = sq_cost_is_core(c->recipe);
    p->n_banks = c->n_banks;
    p->latency = c->machine->dram_latency;
    p->index_cycles = c->index_cycles;
    p->cores_m = cores[0];
    p->cores_n = cores[1];
    p->cores_k = cores[2];
    p->block_m = block->m * cores[0] * c->core.rows;
    p->block_n = block->n * cores[1] * c->core.cols;
    p->block_k = block->k * cores[2] * c->unit;
    p->count_m = ceil_div(c->gemm.m, p->block_m);
    p->count_n = ceil_div(c->gemm.n, p->block_n);
    p->count_k = ceil_div(c->n_banks, p->block_k);
    for (unsigned i = 0; i < SQ_STEP_CLASSES; i++)
        if (count_of(p->count_m, i & 1) && count_of(p->count_n, i & 2) &&
            count_of(p->count_k, i & 4))
            fill_class(c, p, i);
}

// The order of the loops over blocks that are laid out, what it loads once, and the estimate.
static void set_order(const struct context *c, const struct extent *all, bool n_outer,
                      struct sq_plan *p)
{
    p->n_outer = n_outer;
    const bool whole_k = p->count_k == 1;
    p->act_kept = resident(c, all, true) || (whole_k && (!n_outer || p->count_m == 1));
    p->weight_kept = resident(c, all, false) || (whole_k && (n_outer || p->count_n == 1));
    struct sums sum;
    add_all(p, &sum);
    const unsigned first = sq_plan_class(p, 0, 0, 0);
    const uint64_t ends =
        sq_sat_add(p->index_cycles + c->machine->dram_latency,
                   sq_sat_add(p->step[first].load[1][1][1], p->step[SQ_STEP_CLASSES - 1].store));
    p->estimate = sq_sat_add(ends, sum.paced > sum.dram ? sum.paced : sum.dram);
    p->limit = sq_sat_add(ends, sum.limit);
}

// Of every order of the loops: the jobs alone, none waiting for the DRAM.
static uint64_t least_estimate(const struct sq_plan *p)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SQ_STEP_CLASSES; i++) {
        const struct sq_job *job = &p->step[i].job;
        const uint64_t n =
            sq_sat_mul(sq_sat_mul(count_of(p->count_m, i & 1), count_of(p->count_n, i & 2)),
                       count_of(p->count_k, i & 4));
        if (job->groups > 0)
            sq_sat_sum(&sum, n, sq_job_bound(&p->core, job) + JOB_OVERHEAD);
    }
    return sum;
}

// All, then the powers of two below.
static uint64_t smaller(uint64_t v)
{
    uint64_t p = 1;
    while (p * 2 < v)
        p *= 2;
    return p;
}

// Best blocks for one way to split the cores.
static void search_blocks(const struct context *c, const unsigned cores[3], struct sq_plan *best)
{
    const struct extent all = {
        ceil_div(ceil_div(c->gemm.m, c->core.rows), cores[0]),
        ceil_div(ceil_div(c->gemm.n, c->core.cols), cores[1]),
        ceil_div(ceil_div(c->n_banks, c->unit), cores[2]),
    };
    struct sq_plan p;
    for (uint64_t k = all.k;; k = smaller(k)) {
        for (uint64_t m = all.m;; m = smaller(m)) {
            struct extent block = {m, all.n, k};
            while (block.n > 1 && !fits(c, &block))
                block.n = smaller(block.n);
            const bool one_order = all.m <= m || all.n <= block.n; // of loops
            bool is_possible = fits(c, &block);
            if (is_possible) {
                lay_out(c, cores, &block, &p);
                is_possible = best->count_m == 0 || least_estimate(&p) < best->estimate;
            }
            for (unsigned n_outer = one_order; n_outer < 2 && is_possible; n_outer++) {
                set_order(c, &all, n_outer, &p);
                if (best->count_m == 0 || p.estimate < best->estimate)
                    *best = p;
            }
            if (m == 1)
                break;
        }
        if (k == 1)
            break;
    }
}

static enum sq_status check_gemm(const struct sq_gemm *g, struct sq_error *err)
{
    const uint64_t size[3] = {g->m, g->n, g->k};
    for (unsigned i = 0; i < 3; i++)
        if (size[i] < 1 || size[i] > SQ_GEMM_MAX)
            return SQ_FAIL(err, SQ_ERR_RANGE, "%c = %llu, need 1..%llu", "MNK"[i],
                           (unsigned long long)size[i], (unsigned long long)SQ_GEMM_MAX);
    return SQ_OK;
}

// Nothing that a run of this plan counts passes SQ_COUNT_MAX.
static enum sq_status check_counts(const struct sq_plan *p, struct sq_error *err)
{
    const struct sq_gemm *g = &p->gemm;
    struct sums sum;
    uint64_t nbytes = 0;
    add_all(p, &sum);
    for (unsigned i = 0; i < SQ_N_STREAMS; i++)
        nbytes = sq_sat_add(nbytes, sum.nbytes[i]);
    const bool is_time = p->limit > SQ_COUNT_MAX;
    if (!is_time && nbytes <= SQ_COUNT_MAX)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_RANGE,
                   "M x N x K = %llu x %llu x %llu can take more than %llu %s on this machine, "
                   "need a smaller GEMM or %s",
                   (unsigned long long)g->m, (unsigned long long)g->n, (unsigned long long)g->k,
                   (unsigned long long)SQ_COUNT_MAX, is_time ? "cycles" : "bytes",
                   is_time ? "more multipliers or bandwidth" : "larger buffers");
}

enum sq_status sq_plan_make(const struct sq_machine *machine, const struct sq_recipe *recipe,
                            const struct sq_gemm *gemm, struct sq_plan *plan, struct sq_error *err)
{
    struct context c = {.machine = machine, .recipe = recipe, .gemm = *gemm};
    memset(plan, 0, sizeof *plan);
    SQ_TRY(check_gemm(gemm, err));
    SQ_TRY(sq_cost_check(recipe, err));
    if (sq_cost_is_core(recipe))
        SQ_TRY(settle_sq(&c, err));
    else
        settle_serial(&c);
    for (unsigned k = 1; k <= machine->cores; k++)
        for (unsigned m = 1; machine->cores % k == 0 && m <= machine->cores / k; m++)
            if (machine->cores / k % m == 0) {
                const unsigned cores[3] = {m, machine->cores / k / m, k};
                search_blocks(&c, cores, plan);
            }
    if (plan->count_m == 0)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "half a buffer of machine %.40s (activation %llu, weight %llu, output %llu "
                       "bytes) does not hold one tile of %u x %u over %llu elements of K",
                       machine->name, (unsigned long long)machine->act_nbytes / 2,
                       (unsigned long long)machine->weight_nbytes / 2,
                       (unsigned long long)machine->out_nbytes / 2, c.core.rows, c.core.cols,
                       (unsigned long long)(c.unit * c.bank));
    return check_counts(plan, err);
}

// ---- figures --------------------------------------------------------------------------------

uint64_t sq_plan_bound(const struct sq_plan *p, uint64_t *compute, uint64_t *dram)
{
    struct sums sum;
    add_all(p, &sum);
    *compute = sum.compute;
    *dram = sum.dram;
    return sum.compute > sum.dram ? sum.compute : sum.dram;
}

static double macs(const struct sq_plan *p)
{
    return (double)p->gemm.m * (double)p->gemm.n * (double)p->gemm.k;
}

static double pe_cycles(const struct sq_machine *machine, double cycles)
{
    return cycles * machine->core.rows * machine->core.cols * machine->cores;
}

double sq_plan_use_low(const struct sq_machine *machine, const struct sq_plan *p, double cycles)
{
    return sq_utilisation(macs(p), pe_cycles(machine, cycles) * p->lanes);
}

double sq_plan_use_high(const struct sq_machine *machine, const struct sq_plan *p, double cycles)
{
    if (!p->has_high)
        return 0;
    return sq_utilisation(macs(p) * p->core.high_per_bank / p->core.bank,
                          pe_cycles(machine, cycles) * machine->core.high_lanes);
}
