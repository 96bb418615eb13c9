// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/sq_layer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "models/sq_mac.h"
#include "sim/format/sq_quantize.h"
#include "sim/io/sq_checked.h"

static size_t ceil_div(size_t a, size_t b)
{
    return a / b + (a % b > 0); // a + b - 1 may not fit
}

enum sq_status sq_gemm_job(const struct sq_core_config *config, const struct sq_format *format,
                           size_t m, size_t n, size_t k_padded, struct sq_job *job,
                           struct sq_error *err)
{
    const size_t tiles_m = ceil_div(m, config->rows), tiles_n = ceil_div(n, config->cols);
    const size_t groups = sq_n_groups(format, k_padded);
    const size_t banks = sq_group_len(format, k_padded) / format->bank;
    if (banks > SQ_JOB_GROUP_BANKS_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE, "group of %zu banks, need <= %u", banks,
                       SQ_JOB_GROUP_BANKS_MAX);
    if (tiles_m > SQ_JOB_GROUPS_MAX / tiles_n || tiles_m * tiles_n > SQ_JOB_GROUPS_MAX / groups)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%zu x %zu tiles of %zu groups, need <= %u together",
                       tiles_m, tiles_n, groups, SQ_JOB_GROUPS_MAX);
    *job = (struct sq_job){(uint32_t)banks, (uint32_t)(tiles_m * tiles_n * groups)};
    return SQ_OK;
}

static double pe_cycles(const struct sq_core_config *config, uint64_t cycles)
{
    return (double)cycles * config->rows * config->cols;
}

double sq_utilisation_low(const struct sq_core_config *config, size_t m, size_t n, size_t k,
                          uint64_t cycles)
{
    return sq_utilisation((double)m * (double)n * (double)k,
                          pe_cycles(config, cycles) * config->low_lanes);
}

double sq_utilisation_high(const struct sq_core_config *config, size_t m, size_t n, size_t k,
                           uint64_t cycles)
{
    const double high = (double)k / config->bank * config->high_per_bank;
    return sq_utilisation((double)m * (double)n * high,
                          pe_cycles(config, cycles) * config->high_lanes);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// SPEC J.1: against the unquantized product, FP64, ascending index.
static struct sq_sqnr output_error(const float *x, const float *w, const float *y, size_t m,
                                   size_t n, size_t k)
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
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for layer %.60s", r->name);
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
        const double start = now();
        sq_gemm_sq_w(&r->w.m, r->act, r->s_a, r->m, 0, r->n, r->y, r->p_lo, r->p_hi, scratch);
        r->seconds_values = now() - start;
    }
    const bool done = row && scratch;
    free(row);
    free(scratch);
    if (!done)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for layer %.60s", r->name);
    if (o->reference) {
        r->output = output_error(x, w, r->y, r->m, r->n, r->k);
        if (r->output.signal > 0)
            r->relative_error = sqrt(r->output.noise / r->output.signal);
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
    SQ_TRY(sq_gemm_job(&o->config, &o->format, m, n, k_padded, &r->job, err));
    if (!o->no_values) {
        const enum sq_status status = compute_values(r, o, x, w, err);
        if (status != SQ_OK) {
            sq_layer_free(r);
            return status;
        }
    }
    r->stats = sq_core_run_fast(&o->config, &r->job, &free_streams);
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

// ---- the layer as streams -------------------------------------------------------------------

// One column of one tile: its banks as stored, or legal banks of zeros beyond the last column.
static void put_column(const struct sq_layer_run *r, const struct sq_core_config *g, size_t column,
                       size_t first_bank, size_t n_banks, size_t slot, unsigned c,
                       struct sq_owned_case *o, int8_t *lo_row, int8_t *hi_row)
{
    const unsigned b = g->bank, k = g->high_per_bank;
    if (column < r->n)
        sq_row_codes(&r->w.m, column, lo_row, hi_row);
    for (size_t j = 0; j < n_banks; j++) {
        int8_t *lo = o->lo + ((slot + j) * g->cols + c) * b;
        int8_t *hi = o->hi + ((slot + j) * g->cols + c) * k;
        if (column < r->n) {
            memcpy(lo, lo_row + (first_bank + j) * b, b);
            memcpy(hi, hi_row + (first_bank + j) * k, k);
        } else {
            memset(lo, sq_mask_code(g->low_bits), k);
        }
    }
}

enum sq_status sq_layer_case(const struct sq_layer_run *r, const struct sq_core_config *config,
                             uint32_t first, uint32_t n_tiles, uint64_t seed,
                             struct sq_owned_case *o, struct sq_error *err)
{
    const size_t groups = sq_n_groups(&r->w.m.format, r->w.m.k);
    const size_t n_banks = groups * r->job.group_banks; // of one tile: a whole row of W
    const size_t tiles_m = ceil_div(r->m, config->rows);
    const size_t k = r->w.m.k;

    memset(o, 0, sizeof *o);
    o->c.config = *config;
    o->c.seed = seed;
    o->c.n_jobs = 1;
    o->c.job[0] = (struct sq_job){r->job.group_banks, (uint32_t)(n_tiles * groups)};
    SQ_TRY(sq_owned_case_alloc(o, err));
    int8_t *lo_row = malloc(k), *hi_row = malloc(sq_hi_row_codes(&r->w.m.format, k));
    const bool ok = lo_row && hi_row;
    for (uint32_t t = first; ok && t < first + n_tiles; t++) {
        const size_t slot = (t - first) * n_banks;
        const size_t row0 = t % tiles_m * config->rows, col0 = t / tiles_m * config->cols;
        for (unsigned c = 0; c < config->cols; c++)
            put_column(r, config, col0 + c, 0, n_banks, slot, c, o, lo_row, hi_row);
        for (unsigned i = 0; i < config->rows && row0 + i < r->m; i++)
            for (size_t j = 0; j < n_banks; j++)
                memcpy(o->act + ((slot + j) * config->rows + i) * config->bank,
                       r->act + (row0 + i) * k + j * config->bank, config->bank);
    }
    free(lo_row);
    free(hi_row);
    if (ok)
        return SQ_OK;
    sq_owned_case_free(o);
    return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for the streams of layer %.60s", r->name);
}

uint64_t sq_layer_case_check(const struct sq_layer_run *r, const struct sq_owned_case *o,
                             uint32_t first)
{
    const struct sq_core_config *g = &o->c.config;
    const size_t groups = sq_n_groups(&r->w.m.format, r->w.m.k);
    const size_t tiles_m = ceil_div(r->m, g->rows);
    int32_t p_lo[64 * 64], p_hi[64 * 64]; // rows and cols are at most 64
    uint64_t bad = 0;
    assert(r->p_lo && r->p_hi && g->rows * g->cols <= 64 * 64);
    for (uint32_t i = 0; i < o->c.job[0].groups; i++) {
        const size_t tile = first + i / groups, group = i % groups;
        const size_t row0 = tile % tiles_m * g->rows, col0 = tile / tiles_m * g->cols;
        bad += sq_core_golden_tile(g, &o->c.operands, (uint64_t)i * r->job.group_banks,
                                   r->job.group_banks, p_lo, p_hi) != 0;
        for (size_t a = 0; a < g->rows && row0 + a < r->m; a++)
            for (size_t c = 0; c < g->cols && col0 + c < r->n; c++) {
                const size_t at = ((row0 + a) * r->n + col0 + c) * groups + group;
                bad += p_lo[a * g->cols + c] != r->p_lo[at] || p_hi[a * g->cols + c] != r->p_hi[at];
            }
    }
    return bad;
}
