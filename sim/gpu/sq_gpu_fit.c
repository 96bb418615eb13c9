// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/sq_gpu_fit.h"

#include <math.h>
#include <stdlib.h>

#include "models/sq_rng.h"

enum { N_SHARED = 8, N_OF_KIND = 3, N_DESCENTS = 3 };
static const double kind_prior[N_OF_KIND] = {0.8, 0.1, 1};
static const double penalty = 0.001, pair_weight = 0.5;

struct constant {
    double *value, min, max;
};

static unsigned collect(struct sq_gpu *g, struct constant c[])
{
    const struct constant shared[N_SHARED] = {
        {&g->launch_s, 5e-7, 1e-4},       {&g->round_s, 1e-8, 1e-4},
        {&g->split_s, 1e-8, 1e-4},        {&g->lone, 0.001, 2},
        {&g->l2_usable, 0.05, 1},         {&g->l2_soft, 0.01, 3},
        {&g->l2_bytes_per_s, 1e11, 1e14}, {&g->dram_bytes_per_s, 1e10, 1e13},
    };
    unsigned n = 0;
    for (; n < N_SHARED; n++)
        c[n] = shared[n];
    for (unsigned i = 0; i < g->n_kinds; i++) {
        c[n++] = (struct constant){&g->kind[i].alone, 0.05, 2};
        c[n++] = (struct constant){&g->kind[i].area, 0.001, 2};
        c[n++] = (struct constant){&g->kind[i].round, 0.01, 100};
    }
    return n;
}

static double log_error(const struct sq_gpu *gpu, const struct sq_gpu_record *r)
{
    struct sq_gpu_time t;
    return sq_gpu_time_gemm(gpu, &r->gemm, &t, NULL) == SQ_OK ? log(t.seconds / r->seconds) : 0;
}

// The calibration rows a machine has kinds for, and which of them form a speedup.
enum { MAX_ROWS = 4096, MAX_PAIRS = 8192 };
struct set {
    size_t n, n_pairs;
    const struct sq_gpu_record *row[MAX_ROWS];
    unsigned short fast[MAX_PAIRS], slow[MAX_PAIRS];
};

static void choose(const struct sq_gpu_records *g, const struct sq_gpu *gpu, struct set *set)
{
    for (size_t i = 0; i < g->n && set->n < MAX_ROWS; i++)
        if (g->r[i].is_calibration &&
            sq_gpu_find_kind(gpu, g->r[i].gemm.dtype, g->r[i].gemm.is_sparse))
            set->row[set->n++] = &g->r[i];
    for (size_t i = 0; i < set->n; i++)
        for (size_t j = 0; j < set->n && set->n_pairs < MAX_PAIRS; j++)
            if (sq_gpu_is_speedup(&set->row[i]->gemm, &set->row[j]->gemm)) {
                set->fast[set->n_pairs] = (unsigned short)i;
                set->slow[set->n_pairs++] = (unsigned short)j;
            }
}

static double cost(const struct sq_gpu *gpu, const struct set *set, const struct constant c[])
{
    double sum = 0, pairs = 0, error[MAX_ROWS];
    for (size_t i = 0; i < set->n; i++) {
        const double w = set->row[i]->gemm.m < 128 ? 0.3 : 1;
        error[i] = log_error(gpu, set->row[i]);
        sum += w * (fabs(error[i]) + error[i] * error[i]);
    }
    for (size_t i = 0; i < set->n_pairs; i++)
        if (set->row[set->fast[i]]->gemm.m >= 128)
            pairs += fabs(error[set->fast[i]] - error[set->slow[i]]);
    sum = sum / (double)set->n + (set->n_pairs ? pair_weight * pairs / (double)set->n_pairs : 0);
    for (unsigned i = 0; i < gpu->n_kinds * N_OF_KIND; i++) {
        const double l = log((*c[N_SHARED + i].value + .01) / (kind_prior[i % N_OF_KIND] + .01));
        sum += penalty * l * l;
    }
    return sum;
}

// Large GEMM: launch and rounds cost about one percent of them.
static enum sq_status set_ceilings(const struct sq_gpu_records *g, struct sq_gpu *gpu,
                                   struct sq_error *err)
{
    for (unsigned i = 0; i < gpu->n_kinds; i++) {
        struct sq_gpu_kind *k = &gpu->kind[i];
        double best = 0;
        for (size_t r = 0; r < g->n; r++) {
            const struct sq_gpu_gemm *x = &g->r[r].gemm;
            if (!g->r[r].is_calibration || x->dtype != k->dtype || x->is_sparse != k->is_sparse ||
                x->low_share > 0)
                continue;
            const double rate = (double)x->m * (double)x->n * (double)x->k / g->r[r].seconds;
            best = fmax(best, rate);
        }
        if (best == 0)
            return SQ_FAIL(err, SQ_ERR_RANGE, "no calibration row of %s %s for machine %s",
                           k->is_sparse ? "2:4" : "dense", sq_gpu_dtype_name(k->dtype), gpu->name);
        k->source = SQ_GPU_FITTED;
        k->sustained = 1.01 * best / (k->macs * gpu->clock_hz * gpu->sms);
    }
    return SQ_OK;
}

static double descend(const struct set *set, struct sq_rng *rng, unsigned steps, struct sq_gpu *gpu)
{
    struct constant c[N_SHARED + N_OF_KIND * SQ_GPU_MAX_KINDS];
    const unsigned n = collect(gpu, c);
    double best = cost(gpu, set, c);
    for (unsigned i = 0; i < steps; i++) {
        const struct sq_gpu before = *gpu;
        for (unsigned changes = 1 + sq_rng_below(rng, 2); changes > 0; changes--) {
            const struct constant *x = &c[sq_rng_below(rng, n)];
            const double reach = sq_rng_below(rng, 2) ? 0.6 : 0.1;
            const double moved = *x->value * exp((sq_rng_unit(rng) - 0.5) * reach);
            *x->value = fmin(fmax(moved, x->min), x->max);
        }
        const double now = cost(gpu, set, c);
        if (now < best)
            best = now;
        else
            *gpu = before;
    }
    return best;
}

enum sq_status sq_gpu_fit(const struct sq_gpu_records *g, uint64_t seed, unsigned steps,
                          struct sq_gpu *gpu, double *error, struct sq_error *err)
{
    struct sq_rng rng = {seed};
    gpu->dram_source = SQ_GPU_FITTED;
    double best = INFINITY, n = 0;
    SQ_TRY(set_ceilings(g, gpu, err));
    struct set *set = calloc(1, sizeof *set);
    if (!set)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for the calibration rows");
    choose(g, gpu, set);
    const struct sq_gpu start = *gpu;
    for (unsigned d = 0; d < N_DESCENTS; d++) {
        struct sq_gpu trial = start;
        const double now = descend(set, &rng, steps, &trial);
        if (now < best) {
            best = now;
            *gpu = trial;
        }
    }
    free(set);
    *error = 0;
    for (size_t i = 0; i < g->n; i++)
        if (g->r[i].is_calibration && g->r[i].gemm.m >= 128) {
            *error += fabs(log_error(gpu, &g->r[i]));
            n++;
        }
    *error /= n > 0 ? n : 1;
    return SQ_OK;
}
