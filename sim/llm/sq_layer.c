// SPDX-License-Identifier: Apache-2.0
// Multiplies a layer with the golden model, and times it on the cycle model (sq_layer.h).
#include "sim/llm/sq_layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_mac.h"
#include "sim/format/sq_quantize.h"
#include "sim/io/sq_process.h"

struct sq_sqnr sq_output_error(const float *x, const float *w, const float *y, size_t m, size_t n,
                               size_t k)
{
    struct sq_sqnr sum = {0};
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double want = 0;
            for (size_t e = 0; e < k; e++)
                want += (double)x[i * k + e] * (double)w[j * k + e];
            const double d = want - (double)y[i * n + j];
            sum.noise += d * d;
            sum.signal += want * want;
        }
    return sum;
}

static enum sq_status alloc_values(struct sq_layer_run *r, bool integers, struct sq_error *err)
{
    const size_t groups = sq_n_groups(&r->w.m.format, r->w.m.k);
    r->act = calloc(r->m, r->w.m.k);
    r->s_a = calloc(r->m, sizeof *r->s_a);
    r->y = calloc(r->m * r->n, sizeof *r->y);
    if (integers) {
        r->p_lo = calloc(r->m * r->n * groups, sizeof *r->p_lo);
        r->p_hi = calloc(r->m * r->n * groups, sizeof *r->p_hi);
    }
    if (!r->act || !r->s_a || !r->y || (integers && (!r->p_lo || !r->p_hi)))
        return SQ_NO_MEMORY(err, "layer %.60s", r->name);
    return SQ_OK;
}

static enum sq_status compute_values(struct sq_layer_run *r, const struct sq_layer_options *o,
                                     const float *x, const float *w, struct sq_error *err)
{
    SQ_TRY(sq_operand_alloc(&r->w, &o->format, r->n, r->k, err));
    SQ_TRY(sq_operand_encode(&r->w, w, o->jobs, err));
    SQ_TRY(alloc_values(r, o->integers, err));
    SQ_TRY(sq_act_quantize(x, r->m, r->k, r->w.m.k, o->config.act_bits, r->act, r->s_a, err));

    float *row = calloc(r->k, sizeof *row);
    const size_t scratch_nbytes = (sq_gemm_scratch_nbytes(&r->w.m) + 63) / 64 * 64;
    void *scratch = aligned_alloc(64, scratch_nbytes);
    if (row && scratch) {
        sq_sqnr_add(&r->weight, w, &r->w.m, row);
        r->weight_sqnr_db = sq_sqnr_db(&r->weight);
        const double start = sq_process_clock();
        sq_gemm_sq_w(&r->w.m, r->act, r->s_a, r->m, 0, r->n, r->y, r->p_lo, r->p_hi, scratch);
        r->seconds_values = sq_process_clock() - start;
    }
    const bool done = row && scratch;
    free(row);
    free(scratch);
    SQ_NEED(done, err, "layer %.60s", r->name);
    if (o->reference) {
        r->output = sq_output_error(x, w, r->y, r->m, r->n, r->k);
        r->relative_error = sq_sqnr_relative(&r->output);
    }
    return SQ_OK;
}

enum sq_status sq_layer_compute(struct sq_layer_run *r, const struct sq_layer_options *o,
                                const char *name, const float *x, const float *w, size_t m,
                                size_t n, size_t k, struct sq_error *err)
{
    static const struct sq_rates free_streams = {1, 1, 1, 1};
    memset(r, 0, sizeof *r);
    r->name = name;
    r->m = m;
    r->n = n;
    r->k = k;
    r->relative_error = r->weight_sqnr_db = NAN;
    const size_t k_padded = sq_k_padded(&o->format, k);
    if (m == 0 || n == 0 || k_padded == 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "layer %.60s is %zu x %zu x %zu, need sizes >= 1", name,
                       m, n, k);
    r->core = sq_gemm_core(&o->config, &o->format, k_padded);
    SQ_TRY(sq_gemm_job(&r->core, &o->format, m, n, k_padded, &r->job, err));
    if (!o->no_values) {
        const enum sq_status status = compute_values(r, o, x, w, err);
        if (status != SQ_OK) {
            sq_layer_free(r);
            return status;
        }
    }
    r->stats = sq_core_run_fast(&r->core, &r->job, &free_streams);
    return SQ_OK;
}

void sq_layer_free(struct sq_layer_run *r)
{
    sq_operand_free(&r->w);
    free(r->act);
    free(r->s_a);
    free(r->y);
    free(r->p_lo);
    free(r->p_hi);
    r->act = NULL;
    r->s_a = r->y = NULL;
    r->p_lo = r->p_hi = NULL;
}
