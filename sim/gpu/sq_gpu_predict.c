// SPDX-License-Identifier: Apache-2.0
// Finds the kernels of a recipe, adds up their times, and looks for measured ones
// (sq_gpu_predict.h).
#include "sim/gpu/sq_gpu_predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/format/sq_format_ops.h"
#include "sim/machine/sq_work.h"

// ---- kernels --------------------------------------------------------------------------------

static const double shares[] = {0, 0.5, 0.75, 0.875, 1};

static unsigned add_plain(const struct sq_gpu *gpu, bool is_sparse, struct sq_gpu_kernel kernel[])
{
    static const enum sq_gpu_dtype order[SQ_GPU_N_DTYPES] = {
        SQ_GPU_BF16, SQ_GPU_INT8,  SQ_GPU_FP8,   SQ_GPU_INT4,
        SQ_GPU_FP8B, SQ_GPU_NVFP4, SQ_GPU_W8A16, SQ_GPU_W4A16};
    unsigned n = 0;
    for (unsigned i = 0; i < SQ_GPU_N_DTYPES; i++) {
        if (!sq_gpu_find_kind(gpu, order[i], is_sparse))
            continue;
        struct sq_gpu_kernel *k = &kernel[n++];
        *k = (struct sq_gpu_kernel){.gemm = {.dtype = order[i], .is_sparse = is_sparse}};
        snprintf(k->name, sizeof k->name, "%s%s", sq_gpu_dtype_name(order[i]),
                 is_sparse ? " 2:4" : "");
    }
    if (!is_sparse && sq_gpu_find_kind(gpu, SQ_GPU_INT8, false))
        kernel[n++] = (struct sq_gpu_kernel){"W4A8", {.dtype = SQ_GPU_INT8, .weight_bits = 4}};
    return n;
}

static unsigned add_split(const struct sq_gpu *gpu, enum sq_gpu_dtype high, enum sq_gpu_dtype low,
                          struct sq_gpu_kernel kernel[])
{
    enum { N_SHARES = sizeof shares / sizeof shares[0] };
    if (!sq_gpu_find_kind(gpu, high, false) || !sq_gpu_find_kind(gpu, low, false))
        return 0;
    for (unsigned i = 0; i < N_SHARES; i++) {
        kernel[i] = (struct sq_gpu_kernel){.gemm = {.dtype = high,
                                                    .low_dtype = low,
                                                    .low_share = shares[i],
                                                    .weight_bits = low == SQ_GPU_INT4 ? 4 : 0}};
        snprintf(kernel[i].name, sizeof kernel[i].name, "SQ %s+%s s=%g", sq_gpu_dtype_name(high),
                 sq_gpu_dtype_name(low), shares[i]);
    }
    return N_SHARES;
}

unsigned sq_gpu_kernels(const struct sq_gpu *gpu, struct sq_gpu_kernel kernel[SQ_GPU_KERNELS_MAX])
{
    unsigned n = add_plain(gpu, false, kernel);
    n += add_plain(gpu, true, &kernel[n]);
    n += add_split(gpu, SQ_GPU_BF16, SQ_GPU_FP8, &kernel[n]);
    n += add_split(gpu, SQ_GPU_INT8, SQ_GPU_INT4, &kernel[n]);
    for (unsigned i = 0; i < n; i++) {
        kernel[i].gemm.is_cold = true;
        kernel[i].gemm.out_nbytes = 2;
    }
    return n;
}

// The first n characters of a text.
static bool parse_dtype(const char *text, size_t n, enum sq_gpu_dtype *dtype)
{
    for (unsigned i = 0; i < SQ_GPU_N_DTYPES; i++) {
        const char *name = sq_gpu_dtype_name(i);
        *dtype = (enum sq_gpu_dtype)i;
        if (strlen(name) == n && strncmp(text, name, n) == 0)
            return true;
    }
    return false;
}

// "SQ BF16+FP8 s=0.5"
static bool parse_split(const char *text, struct sq_gpu_gemm *g)
{
    char *end;
    const char *high = text + 3, *plus = strchr(text, '+'), *s = strstr(text, " s=");
    if (strncmp(text, "SQ ", 3) != 0 || !plus || !s || s < plus ||
        !parse_dtype(high, (size_t)(plus - high), &g->dtype) ||
        !parse_dtype(plus + 1, (size_t)(s - plus - 1), &g->low_dtype))
        return false;
    g->low_share = strtod(s + 3, &end);
    return end != s + 3 && *end == '\0' && g->low_share > 0 && g->low_share < 1;
}

enum sq_status sq_gpu_kernel_parse(const char *name, struct sq_gpu_kernel *kernel,
                                   struct sq_error *err)
{
    struct sq_gpu_gemm g = {.out_nbytes = 2, .is_cold = true};
    const size_t n = strcspn(name, " ");
    if (strcmp(name, "W4A8") == 0)
        g.weight_bits = 4; // of INT8, the first data type
    else if (parse_dtype(name, n, &g.dtype) && (!name[n] || strcmp(name + n, " 2:4") == 0))
        g.is_sparse = name[n] != '\0';
    else if (!parse_split(name, &g))
        return SQ_FAIL(
            err, SQ_ERR_ARG,
            "no kernel '%.40s', need a data type (BF16), one of 2:4 (INT8 2:4), W4A8, or "
            "a split (SQ BF16+FP8 s=0.5)",
            name);
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    kernel->gemm = g;
    return SQ_OK;
}

// ---- formats --------------------------------------------------------------------------------

enum { SECTOR = 32 }; // bytes: the least that an L2 fetches

struct sq_gpu_gemm sq_gpu_of_recipe(const struct sq_recipe *r, const struct sq_gemm *size)
{
    const struct sq_format_ops *f = r->format;
    const struct sq_stretch row = {.elements = size->k,
                                   .banks = r->bank ? (size->k + r->bank - 1) / r->bank : 0,
                                   .groups = r->group ? (size->k + r->group - 1) / r->group : 1,
                                   .at_end = true};
    const struct sq_core_config core = sq_core_config_default(); // bytes of a row depend on none,
    struct sq_demand demand;                                     // nor on K
    struct sq_gpu_gemm g = {.m = size->m,
                            .n = size->n,
                            .k = size->k,
                            .dtype = f->gpu->product(r) == SQ_GPU_PRODUCT_INT8 ? SQ_GPU_INT8
                                                                               : SQ_GPU_BF16,
                            .is_sparse = f->gpu->is_sparse,
                            .is_gemv = size->m <= SQ_GPU_GEMV_TOKENS,
                            .out_nbytes = 2,
                            .is_cold = true};
    uint64_t nbytes[SQ_N_STREAMS], sum = 0;
    sq_demand_of(r, &core, size->m, 1, SECTOR, &demand);
    sq_work_nbytes(&demand, 1, size->n, &row, nbytes);
    for (unsigned id = SQ_STREAM_LO; id <= SQ_STREAM_SCALE; id++)
        sum += nbytes[id];
    g.weight_bits = 8. * (double)sum / ((double)size->n * (double)size->k);
    return g;
}

// ---- records --------------------------------------------------------------------------------

static bool close_to(double a, double b)
{
    return fabs(a - b) < 0.02; // a record has the share that whole banks and columns gave
}

const struct sq_gpu_record *sq_gpu_find_record(const struct sq_gpu_records *records,
                                               const struct sq_gpu_gemm *g)
{
    const struct sq_gpu_record *best = NULL;
    const bool is_plain = g->low_share == 0 || g->low_share == 1; // s = 0 and 1 are plain products
    const enum sq_gpu_dtype dtype = g->low_share == 1 ? g->low_dtype : g->dtype;
    // s = 0 of a split with weights of 4 bits is W4A8.
    const bool is_w4a8 =
        dtype == SQ_GPU_INT8 && !g->is_sparse && g->weight_bits > 0 && g->weight_bits < 8;
    const struct sq_gpu_place shape = {g->m, g->n, g->k, 0};
    size_t count = 0;
    const struct sq_gpu_place *place =
        records ? sq_gpu_places_find(records->place, records->n, &shape, &count) : NULL;
    for (size_t i = 0; i < count; i++) {
        const struct sq_gpu_record *r = &records->r[place[i].at];
        const struct sq_gpu_gemm *x = &r->gemm;
        const bool same_kind = is_plain
                                   ? x->dtype == dtype && x->low_share == 0
                                   : x->dtype == g->dtype && x->low_dtype == g->low_dtype &&
                                         x->low_share > 0 && close_to(x->low_share, g->low_share);
        if (same_kind && x->is_sparse == g->is_sparse &&
            (!is_plain || sq_gpu_is_w4a8(x) == is_w4a8) && (!best || r->seconds < best->seconds))
            best = r;
    }
    return best;
}

// Whether a record is of this format; what gpu/ calls it.
static bool is_of_recipe(const struct sq_gpu_format_record *record, const struct sq_recipe *r)
{
    const struct sq_format_ops *f = r->format;
    const struct sq_gpu_sample sample = {record->dtype_a, record->dtype_w, record->sparsity};
    return strcmp(record->format, f->gpu->record ? f->gpu->record : f->name) == 0 &&
           (!f->gpu->is_record || f->gpu->is_record(r, &sample));
}

static double measured_recipe(const struct sq_gpu_records *records, const struct sq_recipe *r,
                              const struct sq_gpu_gemm *g)
{
    double best = NAN;
    const bool is_library = r->format->gpu->is_library && r->format->gpu->is_library(r);
    const struct sq_gpu_record *record = is_library ? sq_gpu_find_record(records, g) : NULL;
    if (record)
        return record->seconds;
    const struct sq_gpu_place shape = {g->m, g->n, g->k, 0};
    size_t count = 0;
    const struct sq_gpu_place *place =
        records ? sq_gpu_places_find(records->format_place, records->n_formats, &shape, &count)
                : NULL;
    for (size_t i = 0; i < count; i++) {
        const struct sq_gpu_format_record *f = &records->format[place[i].at];
        if (is_of_recipe(f, r))
            best = fmin(best, f->seconds); // of NaN and a number, the number
    }
    return best;
}

// ---- sums -----------------------------------------------------------------------------------

static enum sq_status add_row(const struct sq_gpu *gpu, const struct sq_gpu_gemm *g, double count,
                              double measured, struct sq_gpu_total *t, struct sq_error *err)
{
    struct sq_gpu_time time;
    SQ_TRY(sq_gpu_time_gemm(gpu, g, &time, err));
    t->seconds += count * time.seconds;
    t->launch_s += count * time.launch_s;
    t->dram_s += count * time.dram_s;
    t->measured_s += count * measured;
    t->shapes++;
    if (!isnan(measured))
        t->measured++;
    return SQ_OK;
}

enum sq_status sq_gpu_total_kernel(const struct sq_gpu *gpu, const struct sq_gpu_kernel *kernel,
                                   const struct sq_workload *w,
                                   const struct sq_gpu_records *records, struct sq_gpu_total *t,
                                   struct sq_error *err)
{
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < w->n; i++) {
        const struct sq_workload_row *row = &w->row[i];
        struct sq_gpu_gemm g = kernel->gemm;
        g.m = row->gemm.m;
        g.n = row->gemm.n;
        g.k = row->gemm.k;
        const struct sq_gpu_record *r = sq_gpu_find_record(records, &g);
        SQ_TRY(add_row(gpu, &g, (double)row->count, r ? r->seconds : NAN, t, err));
    }
    return SQ_OK;
}

enum sq_status sq_gpu_total_recipe(const struct sq_gpu *gpu, const struct sq_recipe *r,
                                   const struct sq_workload *w,
                                   const struct sq_gpu_records *records, struct sq_gpu_total *t,
                                   struct sq_error *err)
{
    memset(t, 0, sizeof *t);
    SQ_TRY(sq_cost_check(r, err));
    if (!r->format->gpu)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "format %s is not modelled on a GPU: no kernel in gpu/ multiplies it",
                       r->format->name);
    for (size_t i = 0; i < w->n; i++) {
        const struct sq_workload_row *row = &w->row[i];
        const struct sq_gpu_gemm g = sq_gpu_of_recipe(r, &row->gemm);
        SQ_TRY(add_row(gpu, &g, (double)row->count, measured_recipe(records, r, &g), t, err));
    }
    return SQ_OK;
}

void sq_gpu_total_add(struct sq_gpu_total *sum, const struct sq_gpu_total *t)
{
    sum->seconds += t->seconds;
    sum->launch_s += t->launch_s;
    sum->dram_s += t->dram_s;
    sum->measured_s += t->measured_s;
    sum->shapes += t->shapes;
    sum->measured += t->measured;
}

// ---- gaps -----------------------------------------------------------------------------------

enum sq_status sq_gpu_explain(const struct sq_gpu *gpu, const struct sq_gpu_record *r,
                              struct sq_gpu_gap *gap, struct sq_error *err)
{
    const struct sq_gpu_ceilings *c = &r->ceilings;
    struct sq_gpu as = *gpu;
    struct sq_gpu_time t;
    SQ_TRY(sq_gpu_time_gemm(&as, &r->gemm, &t, err));
    double before = gap->predicted_s = t.seconds;
    for (unsigned i = 0; i < as.n_kinds && c->launch_s > 0; i++)
        as.kind[i].launch_s = c->launch_s;
    SQ_TRY(sq_gpu_time_gemm(&as, &r->gemm, &t, err));
    gap->launch_s = t.seconds - before;
    before = t.seconds;
    for (unsigned i = 0; i < as.n_kinds && c->copy_bytes_per_s > 0; i++)
        as.kind[i].dram = c->copy_bytes_per_s / as.dram_peak;
    SQ_TRY(sq_gpu_time_gemm(&as, &r->gemm, &t, err));
    gap->dram_s = t.seconds - before;
    before = t.seconds;
    for (unsigned i = 0; i < as.n_kinds; i++) {
        struct sq_gpu_kind *k = &as.kind[i];
        const double rate = c->ops_per_s[k->dtype][k->is_sparse];
        if (rate > 0)
            k->sustained *= rate / sq_gpu_ops_per_s(gpu, k);
    }
    SQ_TRY(sq_gpu_time_gemm(&as, &r->gemm, &t, err));
    gap->rate_s = t.seconds - before;
    gap->rest_s = r->seconds - t.seconds;
    return SQ_OK;
}
