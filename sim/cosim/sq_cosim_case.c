// SPDX-License-Identifier: Apache-2.0
#include "sim/cosim/sq_cosim_case.h"

#include <stdlib.h>
#include <string.h>

#include "models/sq_format.h"

#define X SQ_GATHER_CROSSBAR
#define L SQ_GATHER_LOG
// rows, cols, low lanes, high lanes, activation, high and low bits, bank, k, gather
static const struct sq_cosim_point points[] = {
    {"p01", {1, 1, 1, 1, 8, 8, 4, 4, 1, X}, true},     // one of everything, serial
    {"p02", {1, 2, 4, 1, 4, 8, 4, 4, 2, L}, false},    // bank = lanes
    {"p03", {2, 1, 8, 2, 8, 8, 3, 4, 2, X}, true},     // bank < lanes
    {"p04", {2, 2, 4, 1, 8, 8, 4, 8, 1, L}, false},    //
    {"p05", {1, 4, 8, 2, 4, 4, 2, 8, 4, X}, false},    //
    {"p06", {2, 2, 16, 4, 8, 8, 4, 16, 4, X}, false},  // high path in one step
    {"p07", {2, 4, 8, 2, 8, 8, 4, 16, 4, L}, true},    //
    {"p08", {4, 1, 5, 3, 4, 8, 2, 16, 8, L}, false},   // odd lanes and tails
    {"p09", {2, 2, 16, 4, 8, 8, 4, 32, 8, X}, true},   // the default PE
    {"p10", {2, 2, 16, 4, 8, 8, 4, 32, 8, L}, false},  //
    {"p11", {1, 3, 12, 3, 8, 4, 3, 32, 4, X}, true},   // odd
    {"p12", {3, 1, 32, 8, 4, 8, 4, 32, 16, L}, false}, //
    {"p13", {2, 2, 16, 2, 8, 8, 4, 64, 4, L}, false},  //
    {"p14", {2, 1, 64, 16, 8, 8, 3, 64, 16, X}, false},
    {"p15", {1, 2, 24, 5, 4, 4, 2, 64, 32, L}, true}, // odd, high path slower
    {"p16", {1, 1, 16, 4, 8, 8, 4, 128, 8, X}, false},
    {"p17", {1, 2, 32, 8, 8, 8, 4, 128, 32, L}, false},
    {"p18", {2, 1, 128, 7, 4, 8, 2, 128, 64, X}, false},
    {"p19", {1, 2, 32, 6, 8, 8, 4, 16, 1, L}, false}, // more high lanes than high codes
};
#undef X
#undef L

size_t sq_cosim_points(const struct sq_cosim_point **out)
{
    *out = points;
    return sizeof points / sizeof points[0];
}

void sq_owned_case_free(struct sq_owned_case *o)
{
    free(o->act);
    free(o->lo);
    free(o->hi);
    o->act = o->lo = o->hi = NULL;
}

enum { ENDLESS_BANKS = 50 }; // operands of an endless or long job, over and over

enum sq_status sq_owned_case_alloc(struct sq_owned_case *o, struct sq_error *err)
{
    const struct sq_core_config *g = &o->c.config;
    uint64_t n = 0;
    for (unsigned i = 0; i < o->c.n_jobs; i++)
        n += (uint64_t)o->c.job[i].groups * o->c.job[i].group_banks;
    if (o->c.max_cycles > 0)
        n = ENDLESS_BANKS;
    o->act = calloc(n, (size_t)g->rows * g->bank);
    o->lo = calloc(n, (size_t)g->cols * g->bank);
    o->hi = calloc(n, (size_t)g->cols * g->high_per_bank);
    o->c.operands = (struct sq_core_operands){n, o->act, o->lo, o->hi};
    if (o->act && o->lo && o->hi)
        return SQ_OK;
    sq_owned_case_free(o);
    return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %llu banks", (unsigned long long)n);
}

// ---- random cases ---------------------------------------------------------------------------

enum flavour {
    UNIFORM, // legal codes, any mask
    EXTREME, // largest magnitudes, any sign
    CLUSTER, // masks at the ends of the bank
    ILLEGAL, // any bits: wrong mask counts, -2^(h-1) high codes
    N_FLAVOURS,
};

static int8_t any_code(struct sq_rng *r, unsigned bits)
{
    return (int8_t)sq_sign_extend((uint32_t)sq_rng_next(r), bits);
}

static int8_t legal_code(struct sq_rng *r, unsigned bits, enum flavour f)
{
    const int q = sq_qmax(bits);
    if (f == EXTREME)
        return (int8_t)(sq_rng_below(r, 2) ? q : -q);
    return (int8_t)((int)sq_rng_below(r, (uint32_t)(2 * q + 1)) - q);
}

// k mask codes in a bank of legal codes.
static void random_bank(struct sq_rng *r, const struct sq_core_config *g, enum flavour f,
                        int8_t *lo)
{
    const int8_t mask = (int8_t)sq_mask_code(g->low_bits);
    for (unsigned i = 0; i < g->bank; i++)
        lo[i] = f == ILLEGAL ? any_code(r, g->low_bits) : legal_code(r, g->low_bits, f);
    if (f == ILLEGAL && sq_rng_below(r, 2))
        return;
    for (unsigned i = 0; i < g->bank; i++) // chance mask codes of any_code
        if (lo[i] == mask)
            lo[i] = 0;
    const unsigned start = sq_rng_below(r, 2) ? 0 : g->bank - g->high_per_bank;
    for (unsigned t = 0; t < g->high_per_bank; t++) {
        unsigned i = start + t;
        if (f != CLUSTER)
            do
                i = sq_rng_below(r, g->bank);
            while (lo[i] == mask);
        lo[i] = mask;
    }
}

static void random_operands(struct sq_rng *r, enum flavour f, struct sq_owned_case *o)
{
    const struct sq_core_config *g = &o->c.config;
    const uint64_t n = o->c.operands.n_banks;
    for (uint64_t i = 0; i < n * g->rows * g->bank; i++)
        o->act[i] = f == EXTREME ? (int8_t)(sq_rng_below(r, 2) ? sq_qmax(g->act_bits)
                                                               : sq_mask_code(g->act_bits))
                                 : any_code(r, g->act_bits);
    for (uint64_t i = 0; i < n * g->cols; i++)
        random_bank(r, g, f, o->lo + i * g->bank);
    for (uint64_t i = 0; i < n * g->cols * g->high_per_bank; i++)
        o->hi[i] = f == ILLEGAL ? any_code(r, g->high_bits) : legal_code(r, g->high_bits, f);
}

// Free, one stalled stream, or all streams stalled: each bottleneck alone and all at once.
static void random_stalls(struct sq_rng *r, struct sq_stall stall[4])
{
    const uint32_t mode = sq_rng_below(r, 4), victim = sq_rng_below(r, 4);
    for (unsigned i = 0; i < 4; i++) {
        stall[i] = (struct sq_stall){SQ_STALL_FREE, 1};
        if (mode == 0 || (mode == 1 && i != victim))
            continue;
        stall[i].kind = (enum sq_stall_kind)sq_rng_below(r, SQ_N_STALL_KINDS);
        stall[i].n = 1 + sq_rng_below(r, sq_rng_below(r, 2) ? 4 : 40);
    }
}

// A job whose counts use their high bits; it is cut off long before its end.
static void random_endless(struct sq_rng *r, struct sq_core_case *c)
{
    c->n_jobs = 1;
    c->max_cycles = 300 + sq_rng_below(r, sq_rng_below(r, 4) ? 3000 : 20000);
    if (sq_rng_below(r, 2))
        c->job[0] = (struct sq_job){.group_banks = 1 + sq_rng_below(r, 4),
                                    .groups = 1 + (UINT32_C(1) << (6 + sq_rng_below(r, 26)))};
    else
        c->job[0] = (struct sq_job){.group_banks = 1 + (UINT32_C(1) << (4 + sq_rng_below(r, 12))),
                                    .groups = 1 + sq_rng_below(r, 4)};
}

// Jobs that count banks, then groups, then both beyond 2^14 and come to their end; for cores that
// are small enough to simulate that (PEs times bank).
enum { LONG_PE_BANKS = 32, LONG_ONE_IN = 64, LONG_COUNT = 1 << 14 };

static void random_long(struct sq_rng *r, struct sq_core_case *c)
{
    const uint32_t banks = 65 + sq_rng_below(r, 192); // of a group of the last job
    c->n_jobs = SQ_CASE_JOBS_MAX;
    c->job[0] = (struct sq_job){1 + LONG_COUNT + sq_rng_below(r, LONG_COUNT), 1};
    c->job[1] = (struct sq_job){1, 1 + LONG_COUNT + sq_rng_below(r, LONG_COUNT)};
    c->job[2] = (struct sq_job){banks, 1 + LONG_COUNT / banks};
    for (unsigned i = 0; i < 4; i++)
        c->stall[i] = (struct sq_stall){SQ_STALL_FREE, 1};
    c->max_cycles = UINT64_C(1) << 24; // beyond their end: 2^16 + 2^14 banks of few steps
}

enum sq_status sq_cosim_case(const struct sq_core_config *config, uint64_t seed, uint64_t number,
                             struct sq_owned_case *o, struct sq_error *err)
{
    struct sq_rng r = {seed * UINT64_C(0x100000001b3) + number};
    (void)sq_rng_next(&r);
    memset(o, 0, sizeof *o);
    o->c.config = *config;
    o->c.seed = sq_rng_next(&r);
    o->c.n_jobs = 1 + sq_rng_below(&r, SQ_CASE_JOBS_MAX);
    for (unsigned i = 0; i < o->c.n_jobs; i++)
        o->c.job[i] =
            (struct sq_job){.group_banks = 1 + sq_rng_below(&r, sq_rng_below(&r, 4) ? 5 : 24),
                            .groups = 1 + sq_rng_below(&r, sq_rng_below(&r, 4) ? 16 : 96)};
    random_stalls(&r, o->c.stall);
    o->c.job_gap = sq_rng_below(&r, 2) ? sq_rng_below(&r, 6) : 0;
    if (sq_rng_below(&r, 6) == 0)
        random_endless(&r, &o->c);
    if (o->c.seed % LONG_ONE_IN == 0 && config->rows * config->cols * config->bank <= LONG_PE_BANKS)
        random_long(&r, &o->c);
    SQ_TRY(sq_owned_case_alloc(o, err));
    random_operands(&r, (enum flavour)sq_rng_below(&r, N_FLAVOURS), o);
    return SQ_OK;
}

// ---- shrinking ------------------------------------------------------------------------------

// What a smaller case keeps of a job: groups [first_group, +groups), the first group_banks banks.
struct keep {
    uint32_t first_group;
    struct sq_job job; // groups = 0: the job goes
};

static enum sq_status select_banks(const struct sq_owned_case *from,
                                   const struct keep keep[SQ_CASE_JOBS_MAX],
                                   struct sq_owned_case *to, struct sq_error *err)
{
    const struct sq_core_config *g = &from->c.config;
    const size_t act = (size_t)g->rows * g->bank, lo = (size_t)g->cols * g->bank;
    const size_t hi = (size_t)g->cols * g->high_per_bank;
    uint64_t start = 0, next = 0;

    memset(to, 0, sizeof *to);
    to->c = from->c;
    to->c.n_jobs = 0;
    for (unsigned j = 0; j < from->c.n_jobs; j++)
        if (keep[j].job.groups > 0)
            to->c.job[to->c.n_jobs++] = keep[j].job;
    SQ_TRY(sq_owned_case_alloc(to, err));
    for (unsigned j = 0; j < from->c.n_jobs; j++) {
        const uint32_t banks = from->c.job[j].group_banks;
        for (uint32_t group = 0; group < keep[j].job.groups; group++)
            for (uint32_t b = 0; b < keep[j].job.group_banks; b++, next++) {
                const uint64_t i = start + (uint64_t)(keep[j].first_group + group) * banks + b;
                memcpy(to->act + next * act, from->act + i * act, act);
                memcpy(to->lo + next * lo, from->lo + i * lo, lo);
                memcpy(to->hi + next * hi, from->hi + i * hi, hi);
            }
        start += (uint64_t)from->c.job[j].groups * banks;
    }
    return SQ_OK;
}

// Runs the candidate; if it still fails it replaces *o. The candidate is consumed.
static enum sq_status try_candidate(struct sq_owned_case *o, struct sq_owned_case *candidate,
                                    const struct sq_rtl_api *rtl, sq_cosim_run_fn *run,
                                    struct sq_core_cosim_result *result, bool *shrunk,
                                    struct sq_error *err)
{
    struct sq_core_cosim_result r;
    const enum sq_status status = run(&candidate->c, rtl, NULL, 0, &r, err);
    if (status == SQ_OK && r.mismatch.kind != SQ_MISMATCH_NONE) {
        sq_owned_case_free(o);
        *o = *candidate;
        *result = r;
        *shrunk = true;
    } else {
        sq_owned_case_free(candidate);
    }
    return status;
}

enum { N_CUTS = 6 };

// One way to make job j smaller; false where it does not apply.
static bool cut(const struct sq_owned_case *o, unsigned j, unsigned way, struct keep *k)
{
    const struct sq_job *job = &o->c.job[j];
    const uint32_t half = job->groups / 2;
    switch (way) {
    case 0: // without this job
        k->job.groups = 0;
        return o->c.n_jobs > 1;
    case 1: // first half of the groups
        k->job.groups = half;
        return half > 0;
    case 2: // second half
        k->first_group = half;
        k->job.groups = job->groups - half;
        return half > 0;
    case 3: // all but the first group
        k->first_group = 1;
        k->job.groups = job->groups - 1;
        return job->groups > 1;
    case 4: // half the banks of each group
        k->job.group_banks = job->group_banks / 2;
        return job->group_banks > 1;
    default: // one bank less
        k->job.group_banks = job->group_banks - 1;
        return job->group_banks > 1;
    }
}

static enum sq_status shrink_shape(struct sq_owned_case *o, const struct sq_rtl_api *rtl,
                                   sq_cosim_run_fn *run, struct sq_core_cosim_result *result,
                                   bool *shrunk, struct sq_error *err)
{
    for (unsigned j = 0; j < o->c.n_jobs; j++)
        for (unsigned way = 0; way < N_CUTS; way++) {
            struct keep keep[SQ_CASE_JOBS_MAX] = {{0}};
            struct sq_owned_case candidate;
            if (j >= o->c.n_jobs)
                break;
            for (unsigned i = 0; i < o->c.n_jobs; i++)
                keep[i].job = o->c.job[i];
            if (!cut(o, j, way, &keep[j]))
                continue;
            SQ_TRY(select_banks(o, keep, &candidate, err));
            SQ_TRY(try_candidate(o, &candidate, rtl, run, result, shrunk, err));
        }
    return SQ_OK;
}

// A copy with stream i free, or (i >= 4) with one operand plane zeroed where that is legal.
static enum sq_status simplify(struct sq_owned_case *o, const struct sq_rtl_api *rtl,
                               sq_cosim_run_fn *run, unsigned i,
                               struct sq_core_cosim_result *result, bool *shrunk,
                               struct sq_error *err)
{
    struct keep keep[SQ_CASE_JOBS_MAX] = {{0}};
    struct sq_owned_case candidate;
    const struct sq_core_config *g = &o->c.config;
    if (i < 4 && o->c.stall[i].kind == SQ_STALL_FREE)
        return SQ_OK;
    for (unsigned j = 0; j < o->c.n_jobs; j++)
        keep[j].job = o->c.job[j];
    SQ_TRY(select_banks(o, keep, &candidate, err));
    const size_t n = candidate.c.operands.n_banks;
    const size_t n_lo = n * g->cols * g->bank;
    bool changed = i < 4;
    if (i < 4)
        candidate.c.stall[i] = (struct sq_stall){SQ_STALL_FREE, 1};
    for (size_t e = 0; i == 4 && e < n_lo; e++)
        if (candidate.lo[e] != sq_mask_code(g->low_bits) && candidate.lo[e] != 0) {
            candidate.lo[e] = 0;
            changed = true;
        }
    for (size_t e = 0; i == 5 && e < n * g->cols * g->high_per_bank; e++)
        if (candidate.hi[e] != 0) {
            candidate.hi[e] = 0;
            changed = true;
        }
    if (changed)
        return try_candidate(o, &candidate, rtl, run, result, shrunk, err);
    sq_owned_case_free(&candidate);
    return SQ_OK;
}

enum sq_status sq_cosim_shrink(struct sq_owned_case *o, const struct sq_rtl_api *rtl,
                               sq_cosim_run_fn *run, struct sq_core_cosim_result *result,
                               struct sq_error *err)
{
    for (bool shrunk = o->c.max_cycles == 0; shrunk;) { // an endless job stays as it is
        shrunk = false;
        SQ_TRY(shrink_shape(o, rtl, run, result, &shrunk, err));
        for (unsigned i = 0; i < 6; i++)
            SQ_TRY(simplify(o, rtl, run, i, result, &shrunk, err));
    }
    return SQ_OK;
}
