// SPDX-License-Identifier: Apache-2.0
// Times a format and its base on the accelerator and on each GPU, and makes the lines
// (sq_gpu_joined.h).
#include "sim/gpu/sq_gpu_joined.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_grow.h"

const char *sq_gpu_step_name(enum sq_gpu_step step)
{
    static const char *const names[SQ_GPU_N_STEPS] = {"data sheet", "power", "launch and tail",
                                                      "quantizing", "library"};
    return names[step];
}

// ---- the accelerator ------------------------------------------------------------------------

// Cycles of a row's two formats; shapes come back with every file.
struct known {
    struct sq_gemm size;
    double cycles[2]; // slow, fast
};
struct accelerator {
    const struct sq_machine *machine;
    const struct sq_gpu_joined_row *row;
    struct sq_machine_memo *memo;
    size_t n;
    struct known *known;
};

static enum sq_status run_both(struct accelerator *a, struct known *k, struct sq_error *err)
{
    const struct sq_recipe *recipe[2] = {&a->row->slow, &a->row->fast};
    for (unsigned i = 0; i < 2; i++) {
        struct sq_mapping plan;
        struct sq_machine_stats stats;
        SQ_TRY(sq_mapping_run(a->machine, recipe[i], &k->size, &plan, &stats, a->memo, err));
        k->cycles[i] = (double)stats.cycles;
    }
    return SQ_OK;
}

static enum sq_status cycles_of(struct accelerator *a, const struct sq_gemm *size,
                                const double **cycles, struct sq_error *err)
{
    for (size_t i = 0; i < a->n; i++)
        if (memcmp(&a->known[i].size, size, sizeof *size) == 0) {
            *cycles = a->known[i].cycles;
            return SQ_OK;
        }
    SQ_TRY(SQ_GROW(a->known, a->n, err, "%zu shapes", a->n));
    struct known *k = &a->known[a->n];
    k->size = *size;
    SQ_TRY(run_both(a, k, err));
    a->n++;
    *cycles = k->cycles;
    return SQ_OK;
}

// ---- products -------------------------------------------------------------------------------

// A product on the GPU: one GEMM, or a share of one and the rest of another.
struct product {
    unsigned n;
    struct {
        struct sq_gpu_gemm gemm;
        double share, measured_s;
    } part[2];
};

static struct sq_gpu_gemm of_kind(const struct sq_gpu_gemm *kind, const struct sq_gpu_gemm *size)
{
    struct sq_gpu_gemm g = *kind;
    g.m = size->m;
    g.n = size->n;
    g.k = size->k;
    g.low_share = 0;
    return g;
}

// As kinds say; times follow.
static struct product product_of(const struct sq_gpu_gemm *kind, const struct sq_gpu_gemm *size)
{
    struct product p = {.n = 1};
    p.part[0].gemm = of_kind(kind, size);
    p.part[0].share = 1 - kind->low_share;
    if (kind->low_share > 0) {
        p.n = 2;
        p.part[1].gemm = p.part[0].gemm;
        p.part[1].gemm.dtype = kind->low_dtype;
        p.part[1].share = kind->low_share;
    }
    return p;
}

// What is timed comes from the records; false where one is missing.
static bool find_times(const struct sq_gpu_records *g, struct product *p)
{
    for (unsigned i = 0; i < p->n; i++) {
        const struct sq_gpu_record *r = sq_gpu_find_record(g, &p->part[i].gemm);
        if (!r)
            return false;
        p->part[i].gemm = r->gemm;
        p->part[i].measured_s = r->seconds;
    }
    return true;
}

static double measured(const struct product *p)
{
    double sum = 0;
    for (unsigned i = 0; i < p->n; i++)
        sum += p->part[i].share * p->part[i].measured_s;
    return sum;
}

// ---- predictions ----------------------------------------------------------------------------

// The machine as it is by the steps up to one, and whether quantizing counts.
static void machine_at(const struct sq_gpu *gpu, enum sq_gpu_step step, struct sq_gpu *at)
{
    const double sharp = 1000; // compute and DRAM hide each other wholly
    *at = *gpu;
    if (step == SQ_GPU_STEP_SHEET)
        at->knee = sharp;
    for (unsigned i = 0; i < at->n_kinds; i++) {
        struct sq_gpu_kind *k = &at->kind[i];
        if (step == SQ_GPU_STEP_SHEET)
            k->sustained = k->dram = 1;
        if (step <= SQ_GPU_STEP_POWER)
            k->launch_s = k->tail = 0;
    }
}

// By the model at a step; 0 where the machine lacks a kind.
static double at_step(const struct sq_gpu at[], const struct product *p, enum sq_gpu_step step)
{
    double sum = 0;
    for (unsigned i = 0; i < p->n; i++) {
        struct sq_gpu_gemm g = p->part[i].gemm;
        struct sq_gpu_time t;
        if (step < SQ_GPU_STEP_QUANTIZING)
            g.timed = SQ_GPU_TIMED_KERNEL;
        if (sq_gpu_time_gemm(&at[step], &g, &t, NULL) != SQ_OK)
            return 0;
        sum += p->part[i].share * t.seconds;
    }
    return sum;
}

static double by_roofline(const struct sq_gpu_cross_file *f, const struct product *p)
{
    double sum = 0;
    for (unsigned i = 0; i < p->n; i++) {
        const double s = sq_gpu_cross_seconds(f, false, SQ_GPU_ROOFLINE, &p->part[i].gemm);
        if (s == 0)
            return NAN;
        sum += p->part[i].share * s;
    }
    return sum;
}

// ---- lines ----------------------------------------------------------------------------------

// The figures of a GEMM, or of sums: how many times the format is faster, or the seconds of both.
enum { SIMULATED, MEASURED, ROOFLINE, FIRST_STEP, N_FIGURES = FIRST_STEP + SQ_GPU_STEP_LIBRARY };

struct work {
    struct accelerator accelerator;
    const struct sq_gpu_cross_file *file;
    const struct sq_gpu_records *g;
    struct sq_gpu at[SQ_GPU_STEP_LIBRARY]; // the machine at each step
    struct sq_gpu_joined *out;
};

static enum sq_status add_point(struct work *w, const struct sq_gpu_joined_point *p,
                                struct sq_error *err)
{
    struct sq_gpu_joined *j = w->out;
    SQ_TRY(SQ_GROW(j->point, j->n_points, err, "%zu speedups", j->n_points));
    j->point[j->n_points++] = *p;
    return SQ_OK;
}

// seconds[figure] of slow [0] and fast [1]; cycles count as seconds.
static enum sq_status time_both(struct work *w, const struct product *slow,
                                const struct product *fast, double seconds[N_FIGURES][2],
                                struct sq_error *err)
{
    const struct product *p[2] = {slow, fast};
    const struct sq_gpu_gemm *g = &slow->part[0].gemm;
    const double *cycles = (const double[]){NAN, NAN};
    if (w->accelerator.row->is_simulated)
        SQ_TRY(cycles_of(&w->accelerator, &(struct sq_gemm){g->m, g->n, g->k}, &cycles, err));
    for (unsigned i = 0; i < 2; i++) {
        seconds[SIMULATED][i] = cycles[i];
        seconds[MEASURED][i] = measured(p[i]);
        seconds[ROOFLINE][i] = by_roofline(w->file, p[i]);
        for (unsigned s = 0; s < SQ_GPU_STEP_LIBRARY; s++)
            seconds[FIRST_STEP + s][i] = at_step(w->at, p[i], s);
    }
    return SQ_OK;
}

static void finish(const double figure[N_FIGURES], bool is_measured, struct sq_gpu_joined_line *l)
{
    l->simulated = figure[SIMULATED];
    l->measured = is_measured ? figure[MEASURED] : NAN;
    l->roofline = figure[ROOFLINE];
    l->predicted = figure[N_FIGURES - 1];
    l->step[SQ_GPU_STEP_SHEET] = figure[FIRST_STEP] / l->simulated;
    for (unsigned s = 1; s < SQ_GPU_STEP_LIBRARY; s++)
        l->step[s] = figure[FIRST_STEP + s] / figure[FIRST_STEP + s - 1];
    l->step[SQ_GPU_STEP_LIBRARY] = l->measured / l->predicted;
}

static bool is_slow(const struct work *w, const struct sq_gpu_record *r)
{
    const struct sq_gpu_joined_row *row = w->accelerator.row;
    const struct sq_gpu_gemm *kind = &row->slow_kernel.gemm;
    return !r->is_repeat && r->gemm.dtype == kind->dtype && r->gemm.is_sparse == kind->is_sparse &&
           r->gemm.low_share == 0 && !sq_gpu_is_w4a8(&r->gemm) && r->gemm.m >= row->min_m &&
           r->gemm.m <= row->max_m && sq_gpu_find_record(w->g, &r->gemm) == r;
}

// The time of a kind at some K: measured, or between two that are; NaN beyond.
static double time_at(const struct sq_gpu_records *g, const struct sq_gpu_gemm *kind, double k)
{
    const struct sq_gpu_record *below = NULL, *above = NULL;
    for (size_t i = 0; i < g->n; i++) {
        const struct sq_gpu_record *r = &g->r[i];
        const double at = (double)r->gemm.k;
        if (r->is_repeat || r->gemm.m != kind->m || r->gemm.n != kind->n ||
            r->gemm.dtype != kind->dtype || r->gemm.is_sparse != kind->is_sparse ||
            r->gemm.low_share > 0 || r->gemm.timed != kind->timed)
            continue;
        if (at <= k && (!below || r->gemm.k > below->gemm.k))
            below = r;
        if (at >= k && (!above || r->gemm.k < above->gemm.k))
            above = r;
    }
    if (!below || !above)
        return NAN;
    const double far = (double)above->gemm.k - (double)below->gemm.k;
    const double share = far > 0 ? (k - (double)below->gemm.k) / far : 0;
    return below->seconds + share * (above->seconds - below->seconds);
}

static double two_kernels(const struct sq_gpu_records *g, const struct product *p)
{
    double sum = 0;
    for (unsigned i = 0; i < p->n; i++)
        sum += time_at(g, &p->part[i].gemm, p->part[i].share * (double)p->part[i].gemm.k);
    return p->n == 2 ? sum : NAN;
}

static enum sq_status measured_line(struct work *w, struct sq_gpu_joined_line *l,
                                    struct sq_error *err)
{
    const struct sq_gpu_joined_row *row = w->accelerator.row;
    double sum[N_FIGURES] = {0}, one = 0, two = 0;
    for (size_t i = 0; i < w->g->n; i++) {
        const struct sq_gpu_record *r = &w->g->r[i];
        if (!is_slow(w, r))
            continue;
        struct product slow = product_of(&row->slow_kernel.gemm, &r->gemm);
        struct product fast = product_of(&row->fast_kernel.gemm, &r->gemm);
        if (!find_times(w->g, &slow) || !find_times(w->g, &fast))
            continue;
        double seconds[N_FIGURES][2];
        SQ_TRY(time_both(w, &slow, &fast, seconds, err));
        for (unsigned f = 0; f < N_FIGURES; f++)
            sum[f] += log(seconds[f][0] / seconds[f][1]);
        l->shapes++;
        SQ_TRY(add_point(w,
                         &(struct sq_gpu_joined_point){
                             l->row, r->gemm.m, seconds[MEASURED][0] / seconds[MEASURED][1],
                             seconds[N_FIGURES - 1][0] / seconds[N_FIGURES - 1][1]},
                         err));
        const double parts = two_kernels(w->g, &fast);
        if (isnan(parts))
            continue;
        l->parts.shapes++;
        one += log(measured(&slow) / measured(&fast));
        two += log(measured(&slow) / parts);
    }
    for (unsigned f = 0; f < N_FIGURES; f++)
        sum[f] = exp(sum[f] / (double)l->shapes);
    finish(sum, true, l);
    l->parts.one_kernel = l->parts.shapes ? exp(one / (double)l->parts.shapes) : NAN;
    l->parts.two_kernels = l->parts.shapes ? exp(two / (double)l->parts.shapes) : NAN;
    return SQ_OK;
}

static struct product modelled(const struct sq_gpu_joined_row *row, bool is_fast,
                               const struct sq_gemm *size)
{
    const struct sq_gpu_kernel *kernel = is_fast ? &row->fast_kernel : &row->slow_kernel;
    const struct sq_gpu_gemm g =
        row->has_kernels ? kernel->gemm : sq_gpu_of_recipe(is_fast ? &row->fast : &row->slow, size);
    return product_of(&g, &(struct sq_gpu_gemm){.m = size->m, .n = size->n, .k = size->k});
}

// *has: the machine has the kinds.
static enum sq_status modelled_line(struct work *w, struct sq_gpu_joined_line *l, bool *has,
                                    struct sq_error *err)
{
    const struct sq_workload *load = &w->accelerator.row->workload;
    double sum[N_FIGURES][2] = {{0}}, figure[N_FIGURES];
    *has = true;
    for (size_t i = 0; i < load->n && *has; i++) {
        const struct product slow = modelled(w->accelerator.row, false, &load->row[i].gemm);
        const struct product fast = modelled(w->accelerator.row, true, &load->row[i].gemm);
        double seconds[N_FIGURES][2];
        SQ_TRY(time_both(w, &slow, &fast, seconds, err));
        for (unsigned f = 0; f < N_FIGURES; f++)
            for (unsigned s = 0; s < 2; s++)
                sum[f][s] += (double)load->row[i].count * seconds[f][s];
        *has = seconds[FIRST_STEP][0] > 0 && seconds[FIRST_STEP][1] > 0;
    }
    for (unsigned f = 0; f < N_FIGURES; f++)
        figure[f] = sum[f][0] / sum[f][1];
    finish(figure, false, l);
    l->parts.one_kernel = l->parts.two_kernels = NAN;
    return SQ_OK;
}

static void set_file(struct work *w, const struct sq_gpu_cross *cross,
                     const struct sq_gpu_records g[], size_t file)
{
    w->file = &cross->file[file];
    w->g = &g[file];
    for (unsigned s = 0; s < SQ_GPU_STEP_LIBRARY; s++)
        machine_at(&w->file->gpu[0], s, &w->at[s]);
}

// Lines of files with times of both; then of the machines that have none.
static enum sq_status join_row(struct work *w, size_t row, const struct sq_gpu_cross *cross,
                               const struct sq_gpu_records g[], struct sq_error *err)
{
    struct sq_gpu_joined *j = w->out;
    const char *done[SQ_GPU_CROSS_MAX]; // machines with a line
    size_t n_done = 0;
    for (unsigned is_modelled = 0; is_modelled < 2; is_modelled++)
        for (size_t i = 0; i < cross->n_files; i++) {
            struct sq_gpu_joined_line l = {.row = row, .file = i};
            bool has = true, is_done = false;
            set_file(w, cross, g, i);
            for (size_t d = 0; d < n_done && is_modelled; d++)
                is_done = is_done || strcmp(done[d], w->file->gpu[0].name) == 0;
            if (is_done || (!is_modelled && !w->accelerator.row->has_kernels))
                continue;
            if (is_modelled)
                SQ_TRY(modelled_line(w, &l, &has, err));
            else
                SQ_TRY(measured_line(w, &l, err));
            if (!has || (!is_modelled && l.shapes == 0))
                continue;
            j->line[j->n++] = l;
            done[n_done++] = w->file->gpu[0].name;
        }
    return SQ_OK;
}

enum sq_status sq_gpu_joined(const struct sq_gpu_joined_row row[], size_t n_rows,
                             const struct sq_machine *accelerator, const struct sq_gpu_cross *cross,
                             const struct sq_gpu_records g[], struct sq_gpu_joined *j,
                             struct sq_error *err)
{
    SQ_FREED struct work *w = calloc(1, sizeof *w);
    struct sq_machine_memo *memo = calloc(1, sizeof *memo);
    enum sq_status status = SQ_OK;
    *j = (struct sq_gpu_joined){.n = 0};
    j->line = calloc(n_rows * cross->n_files + 1, sizeof *j->line);
    if (!w || !memo || !j->line)
        status = SQ_NO_MEMORY(err, "%zu formats", n_rows);
    if (w)
        w->out = j;
    for (size_t i = 0; i < n_rows && status == SQ_OK; i++) {
        w->accelerator = (struct accelerator){accelerator, &row[i], memo, 0, NULL};
        status = join_row(w, i, cross, g, err);
        free(w->accelerator.known);
    }
    sq_machine_memos_free(memo, 1);
    if (status != SQ_OK)
        sq_gpu_joined_free(j);
    return status;
}

void sq_gpu_joined_free(struct sq_gpu_joined *j)
{
    free(j->line);
    free(j->point);
    *j = (struct sq_gpu_joined){.n = 0};
}
