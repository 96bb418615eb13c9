// SPDX-License-Identifier: Apache-2.0
// Fits the constants of a GPU, or the law of all GPUs, to measured rows (sq_gpu_fit.h).
#include "sim/gpu/sq_gpu_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/gpu/sq_gpu_search.h"
#include "sim/io/sq_order.h"

// ---- rows -----------------------------------------------------------------------------------

static double log_error(const struct sq_gpu *gpu, const struct sq_gpu_record *r)
{
    struct sq_gpu_time t;
    return sq_gpu_time_gemm(gpu, &r->gemm, &t, NULL) == SQ_OK ? log(t.seconds / r->seconds) : 0;
}

static bool is_fitted(const struct sq_gpu *gpu, const struct sq_gpu_record *r)
{
    return r->is_calibration && !r->is_repeat &&
           sq_gpu_find_kind(gpu, r->gemm.dtype, r->gemm.is_sparse);
}

// Calibration rows of one kind, at most ROWS_MAX, evenly over the file.
enum { ROWS_MAX = 512 };
struct rows {
    const struct sq_gpu_record *row[ROWS_MAX];
    size_t n;
};

static bool is_of(const struct sq_gpu_record *r, const struct sq_gpu_kind *kind)
{
    return r->is_calibration && !r->is_repeat && r->gemm.dtype == kind->dtype &&
           r->gemm.is_sparse == kind->is_sparse && r->gemm.low_share == 0;
}

static void choose(const struct sq_gpu_records *g, const struct sq_gpu_kind *kind,
                   struct rows *rows)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < g->n; i++)
        n += is_of(&g->r[i], kind);
    const size_t stride = (n + ROWS_MAX - 1) / ROWS_MAX;
    rows->n = 0;
    for (size_t i = 0; i < g->n; i++)
        if (is_of(&g->r[i], kind) && at++ % stride == 0)
            rows->row[rows->n++] = &g->r[i];
}

static double mean_loss(const struct sq_gpu *gpu, const struct rows *rows)
{
    double sum = 0;
    for (size_t i = 0; i < rows->n; i++)
        sum += sq_gpu_loss(log_error(gpu, rows->row[i]));
    return sum / (double)rows->n;
}

// ---- one GPU --------------------------------------------------------------------------------

enum { SUSTAINED, LAUNCH, DRAM, TAIL, N_CONSTANTS };

static double clamped(double v, double min, double max)
{
    return fmin(fmax(v, min), max);
}

static void put_kind(const double x[], struct sq_gpu_kind *k)
{
    k->sustained = clamped(exp(x[SUSTAINED]), 0.01, 1.2);
    k->launch_s = clamped(exp(x[LAUNCH]), 1e-8, 1e-2);
    k->dram = clamped(exp(x[DRAM]), 0.01, 1);
    k->tail = clamped(exp(x[TAIL]), 1, 1e6);
}

struct kind_fit {
    const struct sq_gpu *gpu;
    unsigned kind;
    struct rows rows;
};

static double kind_cost(const struct sq_gpu_search *s, const double x[])
{
    const struct kind_fit *f = s->of;
    const double weight = 0.003; // of the start; rows beyond 30 outvote it
    struct sq_gpu one = *f->gpu;
    put_kind(x, &one.kind[f->kind]);
    return mean_loss(&one, &f->rows) +
           weight * fmin(1, 30 / (double)f->rows.n) * sq_gpu_search_distance(s, x);
}

static void fit_kind(struct kind_fit *f, struct sq_gpu *gpu)
{
    struct sq_gpu_kind *k = &gpu->kind[f->kind];
    double x[N_CONSTANTS];
    const struct sq_gpu_search s = {
        .n = N_CONSTANTS,
        .start = {log(k->sustained), log(k->launch_s), log(k->dram), log(k->tail)},
        .cost = kind_cost,
        .of = f};
    sq_gpu_search(&s, x);
    put_kind(x, k);
    k->source = SQ_GPU_FITTED;
}

enum sq_status sq_gpu_fit(const struct sq_gpu_records *g, struct sq_gpu *gpu, double *error,
                          struct sq_error *err)
{
    struct kind_fit *f = calloc(1, sizeof *f);
    size_t fitted = 0;
    double n = 0;
    SQ_NEED(f, err, "the calibration rows");
    f->gpu = gpu;
    for (f->kind = 0; f->kind < gpu->n_kinds; f->kind++) {
        choose(g, &gpu->kind[f->kind], &f->rows);
        if (f->rows.n > 0)
            fit_kind(f, gpu);
        fitted += f->rows.n;
    }
    free(f);
    *error = 0;
    for (size_t i = 0; i < g->n; i++)
        if (is_fitted(gpu, &g->r[i]) && g->r[i].gemm.m >= 128) {
            *error += fabs(expm1(log_error(gpu, &g->r[i])));
            n++;
        }
    *error /= n > 0 ? n : 1;
    return fitted > 0 ? SQ_OK
                      : SQ_FAIL(err, SQ_ERR_RANGE, "no calibration row of any kind of machine %s",
                                gpu->name);
}

// ---- the law --------------------------------------------------------------------------------

struct law_file {
    const struct sq_gpu *gpu;
    unsigned kind;
    struct rows rows;
};
struct law_fit {
    size_t n;
    struct law_file *file; // a kind of a file each
};

static void put_law(const double x[], struct sq_gpu_law *law)
{
    *law = (struct sq_gpu_law){.share = exp(x[0]),
                               .per_watt = x[1],
                               .watts = x[2],
                               .launch_s = exp(x[3]),
                               .alone = exp(x[4]),
                               .dram = exp(x[5]),
                               .tail = exp(x[6]),
                               .knee = exp(x[7]),
                               .sparse = exp(x[8]),
                               .quantize = exp(x[9])};
    law->dram = fmin(law->dram, 1);
    law->knee = clamped(law->knee, 1, 64);
}

static double law_cost(const struct sq_gpu_search *s, const double x[])
{
    const struct law_fit *f = s->of;
    struct sq_gpu_law law;
    double sum = 0;
    put_law(x, &law);
    for (size_t i = 0; i < f->n; i++) {
        struct sq_gpu one = *f->file[i].gpu; // this kind alone
        one.kind[0] = one.kind[f->file[i].kind];
        one.n_kinds = 1;
        sq_gpu_law_apply(&law, &one);
        sum += mean_loss(&one, &f->file[i].rows);
    }
    return sum / (double)f->n + 0.002 * sq_gpu_search_distance(s, x);
}

enum sq_status sq_gpu_law_fit(const struct sq_gpu gpu[], const struct sq_gpu_records g[],
                              const bool skip[], size_t n, struct sq_gpu_law *law,
                              struct sq_error *err)
{
    struct law_fit f = {.n = 0};
    double x[SQ_GPU_CONSTANTS_MAX];
    f.file = calloc(n * SQ_GPU_MAX_KINDS, sizeof *f.file);
    SQ_NEED(f.file, err, "the calibration rows");
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < gpu[i].n_kinds && !skip[i]; k++) {
            struct law_file *file = &f.file[f.n];
            file->gpu = &gpu[i];
            file->kind = k;
            choose(&g[i], &gpu[i].kind[k], &file->rows);
            f.n += file->rows.n > 0;
        }
    const struct sq_gpu_search s = {
        .n = 10,
        .start = {log(0.8), 0.2, 0.2, log(5e-6), log(2), log(0.85), log(2000), log(4), 0, 0},
        .cost = law_cost,
        .of = &f};
    if (f.n > 0)
        sq_gpu_search(&s, x);
    if (f.n > 0)
        put_law(x, law);
    free(f.file);
    return f.n > 0 ? SQ_OK : SQ_FAIL(err, SQ_ERR_RANGE, "no calibration row to fit a law to");
}

// ---- rows that are far off ------------------------------------------------------------------

size_t sq_gpu_outliers(const struct sq_gpu *gpu, const struct sq_gpu_records *g,
                       struct sq_gpu_outlier out[SQ_GPU_OUTLIERS_MAX])
{
    enum { MOST = 4096 };
    double size[MOST];
    size_t n = 0, found = 0;
    for (size_t i = 0; i < g->n && n < MOST; i++)
        if (is_fitted(gpu, &g->r[i]))
            size[n++] = fabs(log_error(gpu, &g->r[i]));
    if (n == 0)
        return 0;
    qsort(size, n, sizeof *size, sq_by_number);
    const double far = fmax(0.5, 6 * size[n / 2]);
    for (size_t i = 0; i < g->n && found < SQ_GPU_OUTLIERS_MAX; i++) {
        const double error = is_fitted(gpu, &g->r[i]) ? log_error(gpu, &g->r[i]) : 0;
        if (fabs(error) > far)
            out[found++] = (struct sq_gpu_outlier){&g->r[i], g->r[i].seconds * exp(error)};
    }
    return found;
}
