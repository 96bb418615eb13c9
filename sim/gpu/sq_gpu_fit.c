// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/sq_gpu_fit.h"

#include <math.h>
#include <stdlib.h>

#include "models/sq_rng.h"

// A constant that is fitted: its range, where the search starts and is held near (0: where the
// machine has it, to a power of two, so that a fitted machine gives itself again), and how
// strongly: weight x log(value / usual)^2 is added to the cost. Measured rows are few, so what they
// hardly tell stays usual; the weights are those with the least error of rows left out of the fit,
// over all ten choices of the calibration set on two GPUs.
struct constant {
    double *value, min, max, usual, weight;
};
enum { N_SHARED = 9, N_OF_KIND = 6, N_CONSTANTS = N_SHARED + N_OF_KIND * SQ_GPU_MAX_KINDS };
enum { N_SEARCHES = 4 };
static const double pair_weight = 0.5;

// ceiling[i]: `sustained` of kind i by its largest calibration row, 0 where it has none.
static unsigned collect(struct sq_gpu *g, const double ceiling[], struct constant c[])
{
    const struct constant shared[N_SHARED] = {
        {&g->launch_s, 5e-7, 1e-4, 2.5e-6, .03}, {&g->round_s, 1e-8, 1e-4, 1.5e-6, .03},
        {&g->split_s, 1e-8, 1e-4, 5e-6, .01},    {&g->lone, 0.001, 2, .25, .01},
        {&g->l2_usable, 0.05, 1, .8, .01},       {&g->l2_soft, 0.01, 3, .5, .01},
        {&g->boost_s, 1e-5, 1e-1, 1e-3, .01},    {&g->l2_bytes_per_s, 1e11, 1e14, 0, 0},
        {&g->dram_bytes_per_s, 1e10, 1e13, 0, 0}};
    unsigned n = 0;
    for (; n < N_SHARED; n++)
        c[n] = shared[n];
    for (unsigned i = 0; i < g->n_kinds; i++) {
        struct sq_gpu_kind *k = &g->kind[i];
        if (ceiling[i] == 0)
            continue;
        c[n++] = (struct constant){&k->sustained, 0.01, 1.2, ceiling[i], 1};
        c[n++] = (struct constant){&k->alone, 0.05, 2, .8, .03};
        c[n++] = (struct constant){&k->area, 0.001, 2, .08, .01};
        c[n++] = (struct constant){&k->round, 0.01, 100, 1, .01};
        c[n++] = (struct constant){&k->boost, 1, 1.5, 1.1, .3};
        c[n++] = (struct constant){&k->few, 0.5, 1, 1, .001};
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
    double ceiling[SQ_GPU_MAX_KINDS]; // `sustained` by the largest row, 0 without one
};

static void choose(const struct sq_gpu_records *g, const struct sq_gpu *gpu, struct set *set)
{
    for (size_t i = 0; i < g->n && set->n < MAX_ROWS; i++) {
        const struct sq_gpu_kind *kind =
            sq_gpu_find_kind(gpu, g->r[i].gemm.dtype, g->r[i].gemm.is_sparse);
        if (!g->r[i].is_calibration || g->r[i].is_repeat || !kind)
            continue;
        set->row[set->n++] = &g->r[i];
    }
    for (size_t i = 0; i < set->n; i++)
        for (size_t j = 0; j < set->n && set->n_pairs < MAX_PAIRS; j++)
            if (sq_gpu_is_speedup(&set->row[i]->gemm, &set->row[j]->gemm)) {
                set->fast[set->n_pairs] = (unsigned short)i;
                set->slow[set->n_pairs++] = (unsigned short)j;
            }
}

// |e| + e^2, and beyond 0.3 only as its logarithm: a row that is wrong by any factor pulls with a
// bounded force.
static double loss(double e)
{
    const double size = fabs(e), far = 0.3;
    return size <= far ? size + size * size : (far + far * far) * (1 + log(size / far));
}

// A time that spreads by 5 % either way counts half.
static double weight_of(const struct sq_gpu_record *r)
{
    return 1 / (1 + (r->high_s - r->low_s) / (2 * 0.05 * r->seconds));
}

static double cost(const struct sq_gpu *gpu, const struct set *set, const struct constant c[],
                   unsigned n_constants)
{
    double sum = 0, weights = 0, pairs = 0, error[MAX_ROWS];
    for (size_t i = 0; i < set->n; i++) {
        const double w = weight_of(set->row[i]);
        error[i] = log_error(gpu, set->row[i]);
        sum += w * (set->row[i]->gemm.m < 128 ? 0.3 : 1) * loss(error[i]);
        weights += w;
    }
    for (size_t i = 0; i < set->n_pairs; i++)
        if (set->row[set->fast[i]]->gemm.m >= 128)
            pairs += fmin(1, fabs(error[set->fast[i]] - error[set->slow[i]]));
    sum = sum / weights + (set->n_pairs ? pair_weight * pairs / (double)set->n_pairs : 0);
    for (unsigned i = 0; i < n_constants; i++)
        if (c[i].weight > 0) {
            const double l = log(*c[i].value / c[i].usual);
            sum += c[i].weight * l * l;
        }
    return sum;
}

// Large GEMM: launch and rounds cost about one percent of them. The best of several noisy rows is a
// little optimistic, and a row that no other of its kind comes near is no ceiling but a mistake.
static double best_rate(const struct set *set, const struct sq_gpu_kind *k)
{
    double best = 0, any = 0;
    for (size_t i = 0; i < set->n; i++)
        for (size_t j = 0; j < set->n; j++) {
            const struct sq_gpu_gemm *x = &set->row[i]->gemm, *y = &set->row[j]->gemm;
            if (x->dtype != k->dtype || x->is_sparse != k->is_sparse || x->low_share > 0 ||
                y->dtype != k->dtype || y->is_sparse != k->is_sparse || y->low_share > 0)
                continue;
            const double rate = (double)x->m * (double)x->n * (double)x->k / set->row[i]->seconds;
            const double other = (double)y->m * (double)y->n * (double)y->k / set->row[j]->seconds;
            any = fmax(any, rate);
            if (i != j && other > 0.8 * rate)
                best = fmax(best, rate);
        }
    return best > 0 ? best : any;
}

static void set_ceilings(struct set *set, struct sq_gpu *gpu)
{
    for (unsigned i = 0; i < gpu->n_kinds; i++) {
        struct sq_gpu_kind *k = &gpu->kind[i];
        const double share = best_rate(set, k) / (k->macs * gpu->clock_hz * gpu->sms);
        if (share == 0)
            continue;
        k->source = SQ_GPU_FITTED;
        k->sustained = set->ceiling[i] = fmin(fmax(share, 0.01), 1.2);
    }
}

static double clamped(double v, const struct constant *c)
{
    return fmin(fmax(v, c->min), c->max);
}

// Simulated annealing from the usual values: changes shrink, and worse places are taken less and
// less. Returns the least cost.
static double anneal(const struct set *set, struct sq_rng *rng, unsigned steps, struct sq_gpu *gpu)
{
    const double longest = 0.3, shortest = 0.005, hottest = 1e-4;
    struct constant c[N_CONSTANTS];
    const unsigned n = collect(gpu, set->ceiling, c);
    for (unsigned i = 0; i < n; i++)
        *c[i].value = clamped(c[i].usual > 0 ? c[i].usual : exp2(round(log2(*c[i].value))), &c[i]);
    double now = cost(gpu, set, c, n), least = now;
    struct sq_gpu best = *gpu;
    for (unsigned i = 0; i < steps; i++) {
        const double left = 1 - (double)i / steps;
        const double reach = shortest + longest * left * left;
        const struct sq_gpu before = *gpu;
        for (unsigned changes = 1 + sq_rng_below(rng, 3); changes > 0; changes--) {
            const struct constant *x = &c[sq_rng_below(rng, n)];
            *x->value = clamped(*x->value * exp((sq_rng_unit(rng) - 0.5) * reach), x);
        }
        const double then = cost(gpu, set, c, n);
        if (then >= now && sq_rng_unit(rng) >= exp((now - then) / (hottest * left))) {
            *gpu = before;
            continue;
        }
        now = then;
        if (now < least) {
            least = now;
            best = *gpu;
        }
    }
    *gpu = best;
    return least;
}

static void fit(struct set *set, uint64_t seed, unsigned steps, struct sq_gpu *gpu)
{
    struct sq_rng rng = {seed};
    double least = INFINITY;
    set_ceilings(set, gpu);
    gpu->dram_source = SQ_GPU_FITTED;
    const struct sq_gpu start = *gpu;
    for (unsigned i = 0; i < N_SEARCHES; i++) {
        struct sq_gpu trial = start;
        const double now = anneal(set, &rng, steps, &trial);
        if (now < least) {
            least = now;
            *gpu = trial;
        }
    }
}

static int by_error(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_fitted(const struct sq_gpu *gpu, const struct sq_gpu_record *r)
{
    return r->is_calibration && !r->is_repeat &&
           sq_gpu_find_kind(gpu, r->gemm.dtype, r->gemm.is_sparse);
}

size_t sq_gpu_outliers(const struct sq_gpu *gpu, const struct sq_gpu_records *g,
                       struct sq_gpu_outlier out[SQ_GPU_OUTLIERS_MAX])
{
    double size[MAX_ROWS];
    size_t n = 0, found = 0;
    for (size_t i = 0; i < g->n && n < MAX_ROWS; i++)
        if (is_fitted(gpu, &g->r[i]))
            size[n++] = fabs(log_error(gpu, &g->r[i]));
    if (n == 0)
        return 0;
    qsort(size, n, sizeof *size, by_error);
    const double far = fmax(0.5, 6 * size[n / 2]);
    for (size_t i = 0; i < g->n && found < SQ_GPU_OUTLIERS_MAX; i++) {
        const double error = is_fitted(gpu, &g->r[i]) ? log_error(gpu, &g->r[i]) : 0;
        if (fabs(error) > far)
            out[found++] = (struct sq_gpu_outlier){&g->r[i], g->r[i].seconds * exp(error)};
    }
    return found;
}

enum sq_status sq_gpu_fit(const struct sq_gpu_records *g, uint64_t seed, unsigned steps,
                          struct sq_gpu *gpu, double *error, struct sq_error *err)
{
    struct set *set = calloc(1, sizeof *set);
    double n = 0;
    if (!set)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for the calibration rows");
    choose(g, gpu, set);
    *error = 0;
    if (set->n > 0)
        fit(set, seed, steps, gpu);
    for (size_t i = 0; i < set->n; i++)
        if (set->row[i]->gemm.m >= 128) {
            *error += fabs(log_error(gpu, set->row[i]));
            n++;
        }
    *error /= n > 0 ? n : 1;
    const bool is_empty = set->n == 0;
    free(set);
    if (is_empty)
        return SQ_FAIL(err, SQ_ERR_RANGE, "no calibration row of any kind of machine %s",
                       gpu->name);
    return SQ_OK;
}
