// SPDX-License-Identifier: Apache-2.0
// Cycles, utilisation, causes and values of a GEMM or of every layer of a model on one core (sq_cmd_run.h).
#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "models/sq_rng.h"
#include "sim/block/core/sq_core_run.h"
#include "sim/cli/run/sq_cmd_run.h"
#include "sim/cli/sq_cli_calib.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_checked.h"
#include "sim/io/sq_process.h"
#include "sim/llm/sq_layer.h"

// ---- what is printed ------------------------------------------------------------------------

// A layer: its job, cycles of the fast engine with free streams, errors of values; NAN: not computed.
struct layer {
    const char *name;
    size_t m, n, k;
    struct sq_core_config core; // sq_gemm_core
    struct sq_job job;
    struct sq_core_stats stats;
    double weight_sqnr_db, relative_error; // SPEC J.2, J.1
};

struct visit {
    const struct sq_run_core *in;
    struct sq_recipe recipe;
    size_t n_layers;
    double macs, seconds, weights, nbits;
    uint64_t cycles, bound;
    struct sq_core_stats stats; // sums
    struct sq_cli_table table;
};

static json_t *json_counts(const uint64_t counts[SQ_N_CAUSES])
{
    json_t *o = json_object();
    for (unsigned i = 0; i < SQ_N_CAUSES; i++)
        json_object_set_new(o, sq_cause_name((enum sq_cause)i),
                            json_integer((json_int_t)counts[i]));
    return o;
}

static json_t *json_causes(const struct sq_core_stats *s)
{
    json_t *o = json_object();
    json_object_set_new(o, "low", json_counts(s->low));
    json_object_set_new(o, "high", json_counts(s->high));
    return o;
}

static void print_causes(const struct sq_core_stats *s)
{
    for (unsigned path = 0; path < 2; path++) {
        const uint64_t *counts = path ? s->high : s->low;
        printf("    %-4s", path ? "high" : "low");
        for (unsigned i = 0; i < SQ_N_CAUSES; i++)
            if (counts[i])
                printf("  %s %llu", sq_cause_name((enum sq_cause)i), (unsigned long long)counts[i]);
        printf("\n");
    }
}

static void print_layer(struct visit *v, const struct layer *r)
{
    const struct sq_core_config *g = &v->in->config;
    char shape[48];
    snprintf(shape, sizeof shape, "%6zux%-6zu", r->n, r->k);
    const struct sq_cli_column row[] = {
        SQ_COLUMN("layer", r->name, "layer", -34),
        SQ_KEYS("m", r->m, "n", r->n, "k", r->k),
        SQ_COLUMN(NULL, shape, "NxK", 13),
        SQ_KEYS("macs", (double)r->m * (double)r->n * (double)r->k),
        SQ_COLUMN("bound_cycles", sq_job_bound(&r->core, &r->job), "bound", 12),
        SQ_COLUMN("cycles", r->stats.cycles, "cycles", 12),
        SQ_COLUMN("utilisation_low", sq_utilisation_low(g, r->m, r->n, r->k, r->stats.cycles),
                  "low use", 8, .as = "%.1f%%", .scale = 100),
        SQ_COLUMN("utilisation_high", sq_utilisation_high(g, r->m, r->n, r->k, r->stats.cycles),
                  "high use", 8, .as = "%.1f%%", .scale = 100),
        SQ_COLUMN("relative_error", r->relative_error, "rel error", 10, .as = "%.5f"),
        SQ_KEYS("weight_sqnr_db", r->weight_sqnr_db, "causes", json_causes(&r->stats)),
        SQ_COLUMNS_END};
    sq_cli_put(&v->table, row);
    if (v->in->r->is_causes && !v->in->r->is_json)
        print_causes(&r->stats);
}

// The encoder has --jobs threads, the product one.
static enum sq_status compute_values(struct visit *v, struct layer *r, const float *x,
                                     const float *w, struct sq_error *err)
{
    const struct sq_quant_input none = {0};
    const int threads = omp_get_max_threads();
    SQ_CLOSED(sq_quant_layer_free) struct sq_quant_layer q = {0};
    struct sq_sqnr weight = {0};
    SQ_FREED float *y = malloc(r->m * r->n * sizeof *y);
    enum sq_status status = SQ_HAVE(y, err, "layer %.60s", r->name);
    omp_set_num_threads((int)v->in->jobs);
    SQ_THEN(status, sq_quant_layer_init(&q, &v->recipe, w, r->n, r->k, &none, err));
    SQ_THEN(status, sq_quant_layer_sqnr(&q, w, &weight, err));
    omp_set_num_threads(1);
    const double start = sq_process_clock();
    SQ_THEN(status, sq_quant_layer_apply(&q, &v->recipe, x, r->m, y, err));
    v->seconds += sq_process_clock() - start;
    omp_set_num_threads(threads);
    r->weight_sqnr_db = sq_sqnr_db(&weight);
    if (status == SQ_OK && v->in->r->gemm.n == 0) {
        const struct sq_sqnr output = sq_output_error(x, w, y, r->m, r->n, r->k);
        r->relative_error = sq_sqnr_relative(&output);
    }
    return status;
}

static enum sq_status visit_layer(void *context, size_t index, const char *name, const float *x,
                                  const float *w, size_t m, size_t n, size_t k,
                                  struct sq_error *err)
{
    static const struct sq_rates free_streams = {1, 1, 1, 1};
    struct visit *v = context;
    const struct sq_format *f = &v->in->format;
    const size_t k_padded = sq_k_padded(f, k);
    struct layer r = {.name = name, .m = m, .n = n, .k = k};
    (void)index;
    r.relative_error = r.weight_sqnr_db = NAN;
    if (m == 0 || n == 0 || k_padded == 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "layer %.60s is %zu x %zu x %zu, need sizes >= 1", name,
                       m, n, k);
    r.core = sq_gemm_core(&v->in->config, f, k_padded);
    SQ_TRY(sq_gemm_job(&r.core, f, m, n, k_padded, &r.job, err));
    if (!v->in->timing_only)
        SQ_TRY(compute_values(v, &r, x, w, err));
    r.stats = sq_core_run_fast(&r.core, &r.job, &free_streams);
    print_layer(v, &r);
    v->n_layers++;
    v->macs += (double)m * (double)n * (double)k;
    v->weights += (double)n * (double)k;
    v->nbits += sq_recipe_nbits(&v->in->r->recipe, n, k);
    v->cycles = sq_sat_add(v->cycles, r.stats.cycles);
    v->bound += sq_job_bound(&r.core, &r.job);
    for (unsigned i = 0; i < SQ_N_CAUSES; i++) {
        v->stats.low[i] += r.stats.low[i];
        v->stats.high[i] += r.stats.high[i];
    }
    if (v->cycles > SQ_COUNT_MAX) // bound and causes are no more than that
        return SQ_FAIL(err, SQ_ERR_RANGE, "the layers take more than 2^63 - 1 cycles together");
    return SQ_OK;
}

// Banks of a beat; where the scale group is a whole row, the most, in rows that so many divide.
static unsigned banks_per_beat(const struct visit *v)
{
    struct sq_core_config core = v->in->config;
    return sq_core_join_banks(&core, v->in->format.group);
}

static void print_summary(const struct visit *v, const char *data)
{
    const struct sq_core_config *g = &v->in->config;
    const double pe = (double)v->cycles * g->rows * g->cols;
    const double low = sq_utilisation(v->macs, pe * g->low_lanes);
    const double high = sq_utilisation(v->macs * g->high_per_bank / g->bank, pe * g->high_lanes);
    if (!v->in->r->is_json) {
        printf("%zu GEMM, %.0f MAC, %llu cycles (bound %llu), low path %.1f %%, high path "
               "%.1f %%, %.4f stored bits per weight\n",
               v->n_layers, v->macs, (unsigned long long)v->cycles, (unsigned long long)v->bound,
               100 * low, 100 * high, v->nbits / v->weights);
        if (v->seconds > 0)
            fprintf(stderr, "values: %.3f s, %.0f million MAC/s on one thread\n", v->seconds,
                    v->macs / v->seconds * 1e-6);
        return;
    }
    const struct sq_cli_column row[] = {
        SQ_MEMBERS(sq_cli_banks_json(&v->in->format)),
        SQ_MEMBERS(sq_cli_core_json(g)),
        SQ_KEYS("banks_per_beat", banks_per_beat(v), "layers", v->n_layers, "macs", v->macs),
        SQ_KEYS("stored_bits_per_weight", v->nbits / v->weights, "bound_cycles", v->bound),
        SQ_KEYS("cycles", v->cycles, "utilisation_low", low, "utilisation_high", high),
        SQ_KEYS("causes", json_causes(&v->stats), "seconds_host", v->seconds),
        SQ_COLUMNS_END};
    sq_cli_put_summary(
        row, sq_cli_provenance(data, "modelled (cycle model, equal to RTL)", v->in->r->seed));
}

static void print_head(const struct visit *v, const char *what)
{
    char format[64];
    const struct sq_core_config *g = &v->in->config;
    if (v->in->r->is_json)
        return;
    sq_cli_banks_text(&v->in->format, format);
    printf("%s, M=%llu, %s, INT%u activations; core %ux%u PEs, L=%u, H=%u", what,
           (unsigned long long)v->in->r->gemm.m, format, g->act_bits, g->rows, g->cols,
           g->low_lanes, g->high_lanes);
    if (banks_per_beat(v) > 1)
        printf(", %s%u banks a beat", v->in->format.group ? "" : "up to ", banks_per_beat(v));
    printf("\n");
}

// ---- work -----------------------------------------------------------------------------------

// Uniform in [-1, 1): quick to make, and the product does not care.
static float *random_matrix(size_t n, uint64_t seed)
{
    struct sq_rng r = {seed};
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++)
        x[i] = (float)(2 * sq_rng_unit(&r) - 1);
    return x;
}

static enum sq_status run_gemm(struct visit *v, struct sq_error *err)
{
    const struct sq_run_core *in = v->in;
    SQ_FREED float *x = NULL, *w = NULL;
    enum sq_status status = SQ_OK;
    print_head(v, "synthetic GEMM");
    if (!in->timing_only) {
        x = random_matrix(in->r->gemm.m * in->r->gemm.k, in->r->seed);
        w = random_matrix(in->r->gemm.n * in->r->gemm.k, in->r->seed + 1);
        if (!x || !w)
            status = SQ_NO_MEMORY(err, "%llu x %llu weights", (unsigned long long)in->r->gemm.n,
                                  (unsigned long long)in->r->gemm.k);
    }
    SQ_THEN(status,
            visit_layer(v, 0, "gemm", x, w, in->r->gemm.m, in->r->gemm.n, in->r->gemm.k, err));
    return status;
}

static enum sq_status run_model(struct visit *v, const char **data, struct sq_error *err)
{
    const struct sq_run_core *in = v->in;
    SQ_CLOSED(sq_checkpoint_close) struct sq_checkpoint ck = {0};
    bool is_real = true;
    const char *model = sq_cli_model(in->r->model);
    SQ_TRY(sq_checkpoint_open(&ck, model, err));
    print_head(v, in->r->model ? in->r->model : "traces/tiny-llama");
    enum sq_status status = SQ_OK;
    for (size_t i = 0; in->timing_only && i < ck.n_layers && status == SQ_OK; i++)
        status = visit_layer(v, i, ck.layer[i].name, NULL, NULL, in->r->gemm.m, ck.layer[i].n,
                             ck.layer[i].k, err);
    if (!in->timing_only)
        status = sq_model_visit(&ck, model, &in->r->source, in->r->gemm.m, in->r->seed, visit_layer,
                                v, &is_real, err);
    *data = is_real ? "real" : "real weights, synthetic inputs";
    return status;
}

enum sq_status sq_run_on_core(const struct sq_run_core *in, struct sq_error *err)
{
    struct visit v = {.in = in, .recipe = in->r->recipe, .table.is_json = in->r->is_json};
    const char *data = "synthetic";
    v.recipe.algorithm = SQ_ALGORITHM_RTN;
    v.recipe.act.low_bits = in->config.act_bits;
    SQ_TRY(in->r->gemm.n ? run_gemm(&v, err) : run_model(&v, &data, err));
    print_summary(&v, data);
    return SQ_OK;
}
