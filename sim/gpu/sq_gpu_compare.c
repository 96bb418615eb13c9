// SPDX-License-Identifier: Apache-2.0
// Predicts each record, pairs records to speedups, and sums up errors and ranks (sq_gpu_compare.h).
#include "sim/gpu/sq_gpu_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/gpu/sq_gpu_shape.h"
#include "sim/io/sq_checked.h"
#include "sim/io/sq_grow.h"
#include "sim/io/sq_order.h"

// ---- statistics -----------------------------------------------------------------------------

double sq_median(double *values, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(values, n, sizeof *values, sq_by_number);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

struct ranked {
    double value, rank;
    size_t index;
};

static int by_ranked_value(const void *a, const void *b)
{
    return sq_by_number(&((const struct ranked *)a)->value, &((const struct ranked *)b)->value);
}

// rank[i] of values[i], 0-based, ties share their mean.
static void ranks(const double *values, size_t n, struct ranked *scratch, double *rank)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = (struct ranked){values[i], 0, i};
    qsort(scratch, n, sizeof *scratch, by_ranked_value);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && scratch[end].value == scratch[i].value; end++)
            ;
        for (size_t j = i; j < end; j++)
            rank[scratch[j].index] = (double)(i + end - 1) / 2;
    }
}

double sq_spearman(const double *x, const double *y, size_t n)
{
    SQ_FREED struct ranked *scratch = calloc(n + 1, sizeof *scratch);
    SQ_FREED double *rx = calloc(n + 1, sizeof *rx), *ry = calloc(n + 1, sizeof *ry);
    double xy = 0, xx = 0, yy = 0;
    const double mean = ((double)n - 1) / 2;
    if (n >= 2 && scratch && rx && ry) {
        ranks(x, n, scratch, rx);
        ranks(y, n, scratch, ry);
        for (size_t i = 0; i < n; i++) {
            xy += (rx[i] - mean) * (ry[i] - mean);
            xx += (rx[i] - mean) * (rx[i] - mean);
            yy += (ry[i] - mean) * (ry[i] - mean);
        }
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

// ---- comparison -----------------------------------------------------------------------------

static enum sq_status predict_all(const struct sq_gpu *gpu, const struct sq_gpu_records *g,
                                  bool is_calibrated_on, uint64_t min_m,
                                  struct sq_gpu_comparison *c, struct sq_error *err)
{
    enum sq_status lacking = SQ_OK;
    struct sq_gpu_roofline roofline;
    sq_gpu_roofline_fit(g, min_m, &roofline);
    for (size_t i = 0; i < g->n; i++) {
        const struct sq_gpu_record *r = &g->r[i];
        struct sq_gpu_point *p = &c->point[c->n];
        if (r->is_repeat)
            continue;
        if (r->gemm.m < min_m) {
            c->n_below++;
            continue;
        }
        if (is_calibrated_on && r->is_calibration) {
            c->n_calibration++;
            continue;
        }
        *p = (struct sq_gpu_point){
            .gemm = r->gemm, .measured_s = r->seconds, .low_s = r->low_s, .high_s = r->high_s};
        memcpy(p->name, r->name, sizeof p->name);
        const enum sq_status status = sq_gpu_time_gemm(gpu, &r->gemm, &p->predicted, err);
        if (status == SQ_ERR_UNSUPPORTED) {
            lacking = status;
            sq_gpu_leave(&c->left, r->line, "%s %s: no kind of machine %.40s",
                         r->gemm.is_sparse ? "2:4" : "dense", sq_gpu_dtype_name(r->gemm.dtype),
                         gpu->name);
            continue;
        }
        SQ_TRY(status);
        p->error = p->predicted.seconds / p->measured_s - 1;
        p->roofline_s = r->is_calibration ? 0 : sq_gpu_roofline_seconds(&roofline, &r->gemm);
        c->n++;
    }
    return c->n > 0 ? SQ_OK : lacking; // *err says which kind
}

static enum sq_status add_speedup(struct sq_gpu_comparison *c, size_t i, size_t j,
                                  struct sq_error *err)
{
    const struct sq_gpu_point *fast = &c->point[i], *slow = &c->point[j];
    if (c->n_speedups == SQ_GPU_SPEEDUPS_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "more than %d speedups: shape %llu x %llu x %llu and others have too many "
                       "records",
                       SQ_GPU_SPEEDUPS_MAX, (unsigned long long)fast->gemm.m,
                       (unsigned long long)fast->gemm.n, (unsigned long long)fast->gemm.k);
    SQ_TRY(SQ_GROW(c->speedup, c->n_speedups, err, "%zu speedups", c->n_speedups));
    c->speedup[c->n_speedups++] =
        (struct sq_gpu_speedup){i, j, fast->gemm.is_sparse, slow->measured_s / fast->measured_s,
                                slow->predicted.seconds / fast->predicted.seconds};
    return SQ_OK;
}

// Only points of one shape form speedups.
static enum sq_status pair_up(struct sq_gpu_comparison *c, struct sq_error *err)
{
    SQ_FREED struct sq_gpu_place *place = calloc(c->n + 1, sizeof *place);
    SQ_NEED(place, err, "%zu points", c->n);
    for (size_t i = 0; i < c->n; i++) {
        const struct sq_gpu_gemm *g = &c->point[i].gemm;
        place[i] = (struct sq_gpu_place){g->m, g->n, g->k, i};
    }
    sq_gpu_places_sort(place, c->n);
    for (size_t i = 0; i < c->n; i++) {
        const struct sq_gpu_gemm *fast = &c->point[i].gemm;
        size_t n;
        const struct sq_gpu_place *same = sq_gpu_places_find(
            place, c->n, &(struct sq_gpu_place){fast->m, fast->n, fast->k, 0}, &n);
        for (size_t j = 0; j < n; j++)
            if (sq_gpu_is_speedup(fast, &c->point[same[j].at].gemm))
                SQ_TRY(add_speedup(c, i, same[j].at, err));
    }
    return SQ_OK;
}

// x and y have room for all points and all speedups.
static void summarise_roofline(struct sq_gpu_comparison *c, double *x, double *y)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->point[i].roofline_s > 0)
            x[n++] = fabs(c->point[i].roofline_s / c->point[i].measured_s - 1);
    c->n_roofline = n;
    c->roofline_error = sq_median(x, n);
    n = 0;
    for (size_t i = 0; i < c->n_speedups; i++) {
        const struct sq_gpu_speedup *s = &c->speedup[i];
        const double fast = c->point[s->fast].roofline_s, slow = c->point[s->slow].roofline_s;
        if (fast > 0 && slow > 0) {
            x[n] = s->measured;
            y[n++] = slow / fast;
        }
    }
    c->roofline_spearman = sq_spearman(x, y, n);
    for (size_t i = 0; i < n; i++)
        x[i] = fabs(y[i] / x[i] - 1);
    c->roofline_speedup_error = sq_median(x, n);
}

static enum sq_status summarise(struct sq_gpu_comparison *c, struct sq_error *err)
{
    c->mean_abs_error = 0;
    c->n_spread = c->n_inside = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct sq_gpu_point *p = &c->point[i];
        c->n_spread += p->high_s > 0;
        c->n_inside +=
            p->high_s > 0 && p->predicted.seconds >= p->low_s && p->predicted.seconds <= p->high_s;
    }
    const size_t n = c->n > c->n_speedups ? c->n : c->n_speedups;
    SQ_FREED double *x = calloc(n + 1, sizeof *x), *y = calloc(n + 1, sizeof *y);
    if (x && y) {
        for (size_t i = 0; i < c->n; i++) {
            x[i] = c->point[i].measured_s;
            y[i] = c->point[i].predicted.seconds;
        }
        c->spearman_latency = sq_spearman(x, y, c->n);
        for (size_t i = 0; i < c->n; i++) {
            x[i] = fabs(c->point[i].error);
            c->mean_abs_error += x[i] / (double)c->n;
        }
        c->median_abs_error = sq_median(x, c->n);
        size_t n_24 = 0;
        for (size_t i = 0; i < c->n_speedups; i++) {
            x[i] = c->speedup[i].measured;
            y[i] = c->speedup[i].predicted;
        }
        c->spearman = sq_spearman(x, y, c->n_speedups);
        for (size_t i = 0; i < c->n_speedups; i++)
            if (c->speedup[i].is_24) {
                x[n_24] = c->speedup[i].measured;
                y[n_24++] = c->speedup[i].predicted;
            }
        c->spearman_24 = sq_spearman(x, y, n_24);
        for (size_t i = 0; i < c->n_speedups; i++)
            x[i] = fabs(c->speedup[i].predicted / c->speedup[i].measured - 1);
        c->median_speedup_error = sq_median(x, c->n_speedups);
        summarise_roofline(c, x, y);
    }
    const bool done = x && y;
    return SQ_HAVE(done, err, "%zu values", n);
}

enum sq_status sq_gpu_compare(const struct sq_gpu *gpu, const struct sq_gpu_records *g,
                              bool is_calibrated_on, uint64_t min_m, struct sq_gpu_comparison *c,
                              struct sq_error *err)
{
    memset(c, 0, sizeof *c);
    c->point = calloc(g->n + 1, sizeof *c->point);
    enum sq_status status = c->point ? predict_all(gpu, g, is_calibrated_on, min_m, c, err)
                                     : SQ_NO_MEMORY(err, "%zu points", g->n);
    if (status == SQ_OK && c->n == 0)
        status = SQ_FAIL(err, SQ_ERR_RANGE, "no row with M >= %llu outside the calibration set",
                         (unsigned long long)min_m);
    SQ_THEN(status, pair_up(c, err));
    SQ_THEN(status, summarise(c, err));
    if (status != SQ_OK)
        sq_gpu_comparison_free(c);
    return status;
}

enum sq_status sq_gpu_comparison_add(struct sq_gpu_comparison *all,
                                     const struct sq_gpu_comparison *c, struct sq_error *err)
{
    struct sq_gpu_point *point = realloc(all->point, (all->n + c->n + 1) * sizeof *point);
    SQ_NEED(point, err, "%zu points", all->n + c->n);
    all->point = point;
    struct sq_gpu_speedup *speedup =
        realloc(all->speedup, (all->n_speedups + c->n_speedups + 1) * sizeof *speedup);
    SQ_NEED(speedup, err, "%zu speedups", c->n_speedups);
    all->speedup = speedup;
    memcpy(point + all->n, c->point, c->n * sizeof *point);
    for (size_t i = 0; i < c->n_speedups; i++) {
        speedup[all->n_speedups] = c->speedup[i];
        speedup[all->n_speedups].fast += all->n;
        speedup[all->n_speedups++].slow += all->n;
    }
    all->n += c->n;
    all->n_calibration += c->n_calibration;
    all->n_below += c->n_below;
    return summarise(all, err);
}

void sq_gpu_comparison_free(struct sq_gpu_comparison *c)
{
    free(c->point);
    free(c->speedup);
    c->point = NULL;
    c->speedup = NULL;
}

void sq_gpu_reason(const struct sq_gpu_time *t, char text[64])
{
    const double quarter = 0.25 * t->seconds;
    if (t->quantize_s > quarter)
        snprintf(text, 64, "quantizing the activations is %.0f %%",
                 100 * sq_utilisation(t->quantize_s, t->seconds));
    else if (t->launch_s > quarter)
        snprintf(text, 64, "launch cost is %.0f %%", 100 * sq_utilisation(t->launch_s, t->seconds));
    else if (t->dram_s >= t->compute_s)
        snprintf(text, 64, "DRAM-bound");
    else if (t->tail_s > quarter)
        snprintf(text, 64, "the tail of the busiest SM is %.0f %%",
                 100 * sq_utilisation(t->tail_s, t->seconds));
    else
        snprintf(text, 64, "sustained rate");
}
