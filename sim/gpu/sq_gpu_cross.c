// SPDX-License-Identifier: Apache-2.0
// Fits laws and rooflines without each GPU in turn, predicts its times, and scores the predictors
// (sq_gpu_cross.h).
#include "sim/gpu/sq_gpu_cross.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/gpu/sq_gpu_compare.h"
#include "sim/io/sq_grow.h"

// ---- predictors -----------------------------------------------------------------------------

// One file: its machine as it was read, and what is predicted.
struct file {
    const struct sq_gpu_records *g;
    const struct sq_gpu *gpu;
    struct sq_gpu_cross_file by;
};

static bool is_same(const struct sq_gpu *a, const struct sq_gpu *b)
{
    return strcmp(a->name, b->name) == 0;
}

// The kind's constants as shares of what the data sheet says, by the roofline of a file.
struct share {
    double t0_s, rate, bandwidth, n;
};

static void add_roof(const struct file *f, const struct sq_gpu_kind *k, struct share *sum)
{
    const struct sq_gpu_roof *r = &f->by.roofline[1].roof[k->dtype][k->is_sparse];
    if (!(r->t0_s > 0))
        return;
    sum->t0_s += log(r->t0_s);
    sum->rate += log(r->macs_per_s / (k->macs * f->gpu->clock_hz * f->gpu->sms));
    sum->bandwidth += log(r->bytes_per_s / f->gpu->dram_peak);
    sum->n++;
}

static struct sq_gpu_roof roof_of_others(const struct file *file, size_t n, const struct file *f,
                                         const struct sq_gpu_kind *kind)
{
    struct share sum = {.n = 0};
    for (unsigned any = 0; any < 2 && sum.n == 0; any++)
        for (size_t i = 0; i < n; i++)
            for (unsigned k = 0; k < file[i].gpu->n_kinds && !is_same(file[i].gpu, f->gpu); k++) {
                const struct sq_gpu_kind *other = &file[i].gpu->kind[k];
                if (other->is_sparse == kind->is_sparse && (any || other->dtype == kind->dtype))
                    add_roof(&file[i], other, &sum);
            }
    if (sum.n == 0)
        return (struct sq_gpu_roof){0, 0, 0};
    return (struct sq_gpu_roof){exp(sum.t0_s / sum.n),
                                exp(sum.rate / sum.n) * kind->macs * f->gpu->clock_hz * f->gpu->sms,
                                exp(sum.bandwidth / sum.n) * f->gpu->dram_peak};
}

static enum sq_status law_without(const struct sq_gpu gpu[], const struct sq_gpu_records g[],
                                  size_t n, const struct sq_gpu *without, struct sq_gpu_law *law,
                                  struct sq_error *err)
{
    bool skip[SQ_GPU_CROSS_MAX];
    for (size_t i = 0; i < n; i++)
        skip[i] = without && is_same(&gpu[i], without);
    return sq_gpu_law_fit(gpu, g, skip, n, law, err);
}

static enum sq_status fit_file(const struct sq_gpu gpu[], const struct sq_gpu_records g[], size_t n,
                               size_t at, struct file *f, struct sq_error *err)
{
    struct sq_gpu_law law;
    double error;
    SQ_TRY(law_without(gpu, g, n, &gpu[at], &law, err));
    f->g = &g[at];
    f->gpu = &gpu[at];
    f->by.gpu[0] = gpu[at];
    sq_gpu_law_apply(&law, &f->by.gpu[0]);
    f->by.gpu[1] = f->by.gpu[0];
    sq_gpu_roofline_fit(f->g, 1, &f->by.roofline[1]);
    return sq_gpu_fit(f->g, &f->by.gpu[1], &error, err);
}

// ---- rows -----------------------------------------------------------------------------------

double sq_gpu_cross_seconds(const struct sq_gpu_cross_file *file, bool is_own, unsigned predictor,
                            const struct sq_gpu_gemm *gemm)
{
    struct sq_gpu_time time;
    if (predictor == SQ_GPU_ROOFLINE)
        return sq_gpu_roofline_seconds(&file->roofline[is_own], gemm);
    return sq_gpu_time_gemm(&file->gpu[is_own], gemm, &time, NULL) == SQ_OK ? time.seconds : 0;
}

static bool predict(const struct file *f, const struct sq_gpu_record *r,
                    struct sq_gpu_cross_point *p)
{
    bool has_all = true;
    *p = (struct sq_gpu_cross_point){.gemm = r->gemm, .measured_s = r->seconds};
    for (unsigned own = 0; own < 2; own++)
        for (unsigned by = 0; by < SQ_GPU_N_PREDICTORS; by++) {
            p->predicted_s[own][by] = sq_gpu_cross_seconds(&f->by, own == 1, by, &r->gemm);
            has_all = has_all && p->predicted_s[own][by] > 0;
        }
    return has_all;
}

// Rows that all predictors have; speedups of them, as a row over another.
struct table {
    size_t n, n_pairs;
    struct sq_gpu_cross_point *row;
    struct pair {
        size_t fast, slow;
    } * pair;
};

static enum sq_status add_pair(struct table *t, size_t fast, size_t slow, struct sq_error *err)
{
    if (t->n_pairs == SQ_GPU_SPEEDUPS_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE, "more than %d speedups", SQ_GPU_SPEEDUPS_MAX);
    SQ_TRY(SQ_GROW(t->pair, t->n_pairs, err, "%zu speedups", t->n_pairs));
    t->pair[t->n_pairs++] = (struct pair){fast, slow};
    return SQ_OK;
}

// Adds the speedups between rows from `begin` on, which are those of one file.
static enum sq_status pair_up(struct table *t, size_t begin, struct sq_error *err)
{
    const size_t n = t->n - begin;
    SQ_FREED struct sq_gpu_place *place = calloc(n + 1, sizeof *place);
    SQ_NEED(place, err, "%zu rows", n);
    for (size_t i = 0; i < n; i++) {
        const struct sq_gpu_gemm *g = &t->row[begin + i].gemm;
        place[i] = (struct sq_gpu_place){g->m, g->n, g->k, begin + i};
    }
    sq_gpu_places_sort(place, n);
    for (size_t i = begin; i < t->n; i++) {
        const struct sq_gpu_gemm *fast = &t->row[i].gemm;
        size_t count;
        const struct sq_gpu_place *same = sq_gpu_places_find(
            place, n, &(struct sq_gpu_place){fast->m, fast->n, fast->k, 0}, &count);
        for (size_t j = 0; j < count; j++)
            if (sq_gpu_is_speedup(fast, &t->row[same[j].at].gemm))
                SQ_TRY(add_pair(t, i, same[j].at, err));
    }
    return SQ_OK;
}

static enum sq_status make_table(const struct file *file, size_t n, struct table *t,
                                 struct sq_error *err)
{
    size_t room = 1;
    for (size_t i = 0; i < n; i++)
        room += file[i].g->n;
    t->row = calloc(room, sizeof *t->row);
    SQ_NEED(t->row, err, "%zu rows", room);
    for (size_t i = 0; i < n; i++) {
        const size_t begin = t->n;
        for (size_t j = 0; j < file[i].g->n; j++) {
            const struct sq_gpu_record *r = &file[i].g->r[j];
            if (!r->is_calibration && !r->is_repeat && predict(&file[i], r, &t->row[t->n]))
                t->row[t->n++].file = i;
        }
        SQ_TRY(pair_up(t, begin, err));
    }
    return SQ_OK;
}

// ---- scores ---------------------------------------------------------------------------------

static bool is_of(const struct sq_gpu_cross_point *r, const struct sq_gpu_cross_line *line)
{
    const struct sq_gpu_gemm *g = &r->gemm;
    if (line->file != SQ_GPU_CROSS_MAX && r->file != line->file)
        return false;
    if (line->rows_of == SQ_GPU_CROSS_KIND &&
        (g->dtype != line->dtype || g->is_sparse != line->is_sparse || g->low_share > 0))
        return false;
    if (line->rows_of == SQ_GPU_CROSS_KERNELS && g->timed != SQ_GPU_TIMED_KERNEL)
        return false;
    return line->is_small ? g->m <= 64 : g->m >= 128;
}

// x, y, z have room for all rows and all pairs.
static void score(const struct table *t, double *x, double *y, double *z,
                  struct sq_gpu_cross_line *line)
{
    for (unsigned way = 0; way < 2 * SQ_GPU_N_PREDICTORS; way++) {
        const unsigned own = way / SQ_GPU_N_PREDICTORS, by = way % SQ_GPU_N_PREDICTORS;
        struct sq_gpu_score *s = &line->score[own][by];
        line->rows = line->pairs = 0;
        for (size_t i = 0; i < t->n; i++)
            if (is_of(&t->row[i], line))
                x[line->rows++] = fabs(t->row[i].predicted_s[own][by] / t->row[i].measured_s - 1);
        s->error = sq_median(x, line->rows);
        for (size_t i = 0; i < t->n_pairs; i++) {
            const struct sq_gpu_cross_point *fast = &t->row[t->pair[i].fast],
                                            *slow = &t->row[t->pair[i].slow];
            if (!is_of(fast, line))
                continue;
            x[line->pairs] = slow->measured_s / fast->measured_s;
            y[line->pairs++] = slow->predicted_s[own][by] / fast->predicted_s[own][by];
        }
        s->rank = sq_spearman(x, y, line->pairs);
        for (size_t i = 0; i < line->pairs; i++)
            z[i] = fabs(y[i] / x[i] - 1);
        s->speedup_error = sq_median(z, line->pairs);
        line->speedup = sq_median(x, line->pairs);
        s->speedup = sq_median(y, line->pairs);
    }
}

static void add_line(const struct table *t, double *x, double *y, double *z,
                     struct sq_gpu_cross_line line, struct sq_gpu_cross *cross)
{
    score(t, x, y, z, &line);
    if (line.rows > 0)
        cross->line[cross->n++] = line;
}

static enum sq_status score_all(const struct file *file, size_t n, const struct table *t,
                                struct sq_gpu_cross *cross, struct sq_error *err)
{
    const size_t most = t->n > t->n_pairs ? t->n : t->n_pairs;
    SQ_FREED double *x = calloc(most + 1, sizeof *x), *y = calloc(most + 1, sizeof *y),
                    *z = calloc(most + 1, sizeof *z);
    cross->line = calloc((n + 1) * 2 * (SQ_GPU_MAX_KINDS + 2), sizeof *cross->line);
    for (size_t i = 0; i <= n && x && y && z && cross->line; i++)
        for (unsigned is_small = 0; is_small < 2; is_small++) {
            struct sq_gpu_cross_line line = {.file = i < n ? i : SQ_GPU_CROSS_MAX,
                                             .is_small = is_small == 1};
            for (unsigned k = 0; i < n && k < file[i].gpu->n_kinds; k++) {
                line.dtype = file[i].gpu->kind[k].dtype;
                line.is_sparse = file[i].gpu->kind[k].is_sparse;
                add_line(t, x, y, z, line, cross);
            }
            line.rows_of = SQ_GPU_CROSS_KERNELS;
            add_line(t, x, y, z, line, cross);
            line.rows_of = SQ_GPU_CROSS_ALL;
            add_line(t, x, y, z, line, cross);
        }
    const bool done = x && y && z && cross->line;
    return SQ_HAVE(done, err, "%zu rows", most);
}

// ---- all ------------------------------------------------------------------------------------

static enum sq_status check(const struct sq_gpu gpu[], size_t n, struct sq_error *err)
{
    bool differ = false;
    if (n > SQ_GPU_CROSS_MAX)
        return SQ_FAIL(err, SQ_ERR_ARG, "%zu files, need at most %d", n, SQ_GPU_CROSS_MAX);
    for (size_t i = 0; i < n; i++)
        differ = differ || !is_same(&gpu[i], &gpu[0]);
    return differ ? SQ_OK
                  : SQ_FAIL(err, SQ_ERR_ARG, "one machine, need at least two to leave one out");
}

static enum sq_status cross_files(const struct sq_gpu gpu[], const struct sq_gpu_records g[],
                                  size_t n, void (*progress)(size_t, size_t), struct file *file,
                                  struct table *t, struct sq_gpu_cross *cross, struct sq_error *err)
{
    for (size_t i = 0; i < n; i++) {
        SQ_TRY(fit_file(gpu, g, n, i, &file[i], err));
        if (progress)
            progress(i + 1, n);
    }
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < file[i].gpu->n_kinds; k++) {
            const struct sq_gpu_kind *kind = &file[i].gpu->kind[k];
            file[i].by.roofline[0].roof[kind->dtype][kind->is_sparse] =
                roof_of_others(file, n, &file[i], kind);
        }
    for (size_t i = 0; i < n; i++)
        cross->file[cross->n_files++] = file[i].by;
    SQ_TRY(law_without(gpu, g, n, NULL, &cross->law, err));
    SQ_TRY(make_table(file, n, t, err));
    return score_all(file, n, t, cross, err);
}

enum sq_status sq_gpu_cross(const struct sq_gpu gpu[], const struct sq_gpu_records g[], size_t n,
                            void (*progress)(size_t done, size_t total), struct sq_gpu_cross *cross,
                            struct sq_error *err)
{
    struct table t = {.n = 0};
    memset(cross, 0, sizeof *cross);
    SQ_TRY(check(gpu, n, err));
    SQ_FREED struct file *file = calloc(n, sizeof *file);
    cross->file = calloc(n, sizeof *cross->file);
    const enum sq_status status = file && cross->file
                                      ? cross_files(gpu, g, n, progress, file, &t, cross, err)
                                      : SQ_NO_MEMORY(err, "%zu files", n);
    cross->point = t.row;
    cross->n_points = t.n;
    free(t.pair);
    if (status != SQ_OK)
        sq_gpu_cross_free(cross);
    return status;
}

void sq_gpu_cross_free(struct sq_gpu_cross *cross)
{
    free(cross->file);
    free(cross->line);
    free(cross->point);
    memset(cross, 0, sizeof *cross);
}
