// SPDX-License-Identifier: Apache-2.0
// sqsim run: cycles, utilisation, causes and values of a GEMM or of every layer of a model on one
// core; or cycles, time and bytes of a workload on a machine (sq_cmd_run_machine.c).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_rng.h"
#include "sim/cli/run/sq_cmd_run.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/io/sq_checked.h"
#include "sim/llm/sq_layer.h"

struct arguments {
    struct sq_cli_options options;
    struct sq_recipe recipe;   // of the options
    struct sq_cli_banks banks; // its banks, on a core
    struct sq_cli_core core;
    const char *model;             // NULL: the embedded one, unless n and k are given
    struct sq_token_source source; // a token file or a text, or the model's own
    const char *machine, *workload, *weights, *records; // NULL: not given
    enum sq_fair fair;
    const char *liberty;                // NULL: not given
    const char *energy, *memory, *dram; // NULL: not given
    const char *sram[8];
    size_t n_sram;
    uint64_t m, n, k; // 0 = not given
    uint64_t seed;
    unsigned jobs; // 0 = not given
    bool seed_given;
    bool timing_only, is_causes, is_json;
};

#define AT(field) SQ_CLI_AT(struct arguments, field)
#define LIST(field, n) SQ_CLI_LIST_AT(struct arguments, field, n)
static const struct sq_cli_row rows[] = {
    SQ_CLI_UINT("m", "M", 1, 1 << 20, AT(m), "rows of X = tokens", .usual = "32"),
    SQ_CLI_UINT("n", "N", 1, 1 << 20, AT(n),
                "output channels of one synthetic GEMM, in place of a model"),
    SQ_CLI_UINT("k", "K", 1, 1 << 20, AT(k), "input channels of it"),
    SQ_CLI_TEXT("tokens", "FILE", AT(source.tokens), "token file",
                .usual = "the model's tokens_calib.safetensors", .found = ""),
    SQ_CLI_TEXT("text", "FILE", AT(source.text),
                "a text in its place, by the model's own tokenizer", .found = ""),
    SQ_CLI_FLAG("timing-only", AT(timing_only), "cycles without values: nothing is encoded"),
    SQ_CLI_TEXT("machine", "FILE", AT(machine),
                "time on this machine, or GPU: cores, buffers, DRAM",
                .usual = "sim/machines/default.yaml", .found = SQ_HOME_MACHINE),
    SQ_CLI_TEXT("workload", "CSV", AT(workload),
                "GEMMs of a SCALE-Sim table or of `sqsim workload`", .found = SQ_HOME_WORKLOAD),
    SQ_CLI_TEXT("weights", "FILE", AT(weights),
                "on a machine: the layers of MODEL as quantize wrote them there, and what they see "
                "of M tokens",
                .found = ""),
    SQ_CLI_WORD("fair", "WORD", sq_fair_names, AT(fair),
                "on a machine: PEs of the format that have no more bit products (peak) or um2 "
                "(area) than the machine's own"),
    SQ_CLI_TEXT("liberty", "FILE", AT(liberty), "standard cells of --fair area",
                .usual = "qflow-tech-osu018"),
    SQ_CLI_TEXT("records", "FILE", AT(records),
                "on a GPU: measured times beside the predicted ones", .found = ""),
    SQ_CLI_TEXT("energy", "FILE", AT(energy),
                "on a machine: joules by part, with those a MAC that `sqsim energy --layer --json` "
                "has written for the format",
                .found = ""),
    SQ_CLI_TEXT("memory", "FILE", AT(memory), "with --energy: joules of SRAM and DRAM",
                .usual = "sim/machines/memory/default.yaml", .found = ""),
    SQ_CLI_TEXT("dram", "TYPE", AT(dram), "with --energy: a type of that file",
                .usual = "the first, lpddr4"),
    SQ_CLI_TEXT("sram", "LIBERTY", LIST(sram, n_sram),
                "with --energy: an SRAM macro; several span a range", .usual = "that of --memory"),
    SQ_CLI_FLAG("causes", AT(is_causes), "also print where the cycles of both paths went"),
    SQ_CLI_FORMATS(SQ_IN_RUN, AT(options)),
    SQ_CLI_CORE(AT(core)),
    SQ_CLI_UINT("seed", "S", 0, UINT64_MAX, AT(seed), "seed of synthetic operands",
                .given = offsetof(struct arguments, seed_given), .group = SQ_CLI_COMMON),
    SQ_CLI_UINT("jobs", "N", 1, 64, AT(jobs), "threads of the encoder", .usual = "1",
                .group = SQ_CLI_COMMON),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per layer, the summary last",
                .group = SQ_CLI_COMMON),
    SQ_CLI_ARGUMENT("MODEL", AT(model), .found = SQ_HOME_MODEL),
    SQ_CLI_END};

static const char doc[] =
    "Times one core on every linear layer of MODEL (default: the embedded "
    "traces/tiny-llama), or on one GEMM given by --m --n --k: "
    "cycles of the cycle model (= RTL), closed-form bound, use of both "
    "paths; and the values of the golden model with their relative error. "
    "With --machine, --workload, --fair or a --format that is not sq_w: cycles only, "
    "through cores, buffers and DRAM (the same multipliers, re-partitioned without loss); "
    "core options then override the machine's; of a file that quantize made, groups kept (gqsa) "
    "and "
    "outliers (spqr) are those of its rows, and with --weights active columns (spqt) those of the "
    "model's tokens, else they are drawn. On a GPU: the time that its "
    "model predicts for the format's kernel.\v"
    "Examples:\n"
    "  sqsim run\n"
    "  sqsim run --m 512 --n 512 --k 512\n"
    "  sqsim run ~/models/my-llama --bank 64 --sparsity 0.875 --causes\n"
    "  sqsim run --m 2048 --n 28672 --k 8192 --timing-only --json\n"
    "  sqsim run --m 1 --n 28672 --k 8192 --format gqsa\n"
    "  sqsim run --workload traces/workloads/llama-3-8b_decode_1.csv\n"
    "  sqsim run --machine sim/machines/server64.yaml --workload "
    "traces/workloads/llama-3-70b_prefill_2048.csv --format dense "
    "--weight-bits 8\n"
    "  sqsim run --m 64 --n 4096 --k 4096 --format nvfp4 --fair area\n"
    "  sqsim energy --format nvfp4 --layer '*.0.mlp.up_proj' --json > nvfp4.jsonl\n"
    "  sqsim run --workload traces/workloads/llama-3-8b_decode_1.csv --format nvfp4 --energy "
    "nvfp4.jsonl --dram hbm2\n"
    "  sqsim run --format gqsa my.sq.safetensors\n"
    "  sqsim run --format spqt --weights my.sq.safetensors --m 1 ~/models/my-llama\n"
    "  sqsim run --machine sim/machines/h200.yaml --workload "
    "traces/workloads/llama-2-7b_decode_1.csv --format gqsa\n";

// ---- what is printed ------------------------------------------------------------------------

struct visit {
    const struct arguments *in;
    struct sq_layer_options options;
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

static void print_layer(struct visit *v, const struct sq_layer_run *r)
{
    const struct sq_core_config *g = &v->options.config;
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
    if (v->in->is_causes && !v->in->is_json)
        print_causes(&r->stats);
}

static enum sq_status visit_layer(void *context, size_t index, const char *name, const float *x,
                                  const float *w, size_t m, size_t n, size_t k,
                                  struct sq_error *err)
{
    struct visit *v = context;
    struct sq_layer_run r;
    (void)index;
    SQ_TRY(sq_layer_compute(&r, &v->options, name, x, w, m, n, k, err));
    print_layer(v, &r);
    v->n_layers++;
    v->macs += (double)m * (double)n * (double)k;
    v->weights += (double)n * (double)k;
    v->nbits += sq_recipe_nbits(&v->in->recipe, n, k);
    v->seconds += r.seconds_values;
    v->cycles = sq_sat_add(v->cycles, r.stats.cycles);
    v->bound += sq_job_bound(&r.core, &r.job);
    for (unsigned i = 0; i < SQ_N_CAUSES; i++) {
        v->stats.low[i] += r.stats.low[i];
        v->stats.high[i] += r.stats.high[i];
    }
    sq_layer_free(&r);
    if (v->cycles > SQ_COUNT_MAX) // bound and causes are no more than that
        return SQ_FAIL(err, SQ_ERR_RANGE, "the layers take more than 2^63 - 1 cycles together");
    return SQ_OK;
}

// Banks of a beat; where the scale group is a whole row, the most, in rows that so many divide.
static unsigned banks_per_beat(const struct visit *v)
{
    struct sq_core_config core = v->options.config;
    return sq_core_join_banks(&core, v->options.format.group);
}

static void print_summary(const struct visit *v, const char *data)
{
    const struct sq_core_config *g = &v->options.config;
    const double pe = (double)v->cycles * g->rows * g->cols;
    const double low = sq_utilisation(v->macs, pe * g->low_lanes);
    const double high = sq_utilisation(v->macs * g->high_per_bank / g->bank, pe * g->high_lanes);
    if (!v->in->is_json) {
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
        SQ_MEMBERS(sq_cli_banks_json(&v->in->banks.format)),
        SQ_MEMBERS(sq_cli_core_json(g)),
        SQ_KEYS("banks_per_beat", banks_per_beat(v), "layers", v->n_layers, "macs", v->macs),
        SQ_KEYS("stored_bits_per_weight", v->nbits / v->weights, "bound_cycles", v->bound),
        SQ_KEYS("cycles", v->cycles, "utilisation_low", low, "utilisation_high", high),
        SQ_KEYS("causes", json_causes(&v->stats), "seconds_host", v->seconds),
        SQ_COLUMNS_END};
    sq_cli_put_summary(
        row, sq_cli_provenance(data, "modelled (cycle model, equal to RTL)", v->in->seed));
}

static void print_head(const struct visit *v, const char *what)
{
    char format[64];
    const struct sq_core_config *g = &v->options.config;
    if (v->in->is_json)
        return;
    sq_cli_banks_text(&v->in->banks.format, format);
    printf("%s, M=%llu, %s, INT%u activations; core %ux%u PEs, L=%u, H=%u", what,
           (unsigned long long)v->in->m, format, g->act_bits, g->rows, g->cols, g->low_lanes,
           g->high_lanes);
    if (banks_per_beat(v) > 1)
        printf(", %s%u banks a beat", v->options.format.group ? "" : "up to ", banks_per_beat(v));
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
    const struct arguments *in = v->in;
    float *x = NULL, *w = NULL;
    enum sq_status status = SQ_OK;
    print_head(v, "synthetic GEMM");
    if (!in->timing_only) {
        x = random_matrix(in->m * in->k, in->seed);
        w = random_matrix(in->n * in->k, in->seed + 1);
        if (!x || !w)
            status = SQ_NO_MEMORY(err, "%llu x %llu weights", (unsigned long long)in->n,
                                  (unsigned long long)in->k);
    }
    if (status == SQ_OK)
        status = visit_layer(v, 0, "gemm", x, w, in->m, in->n, in->k, err);
    free(x);
    free(w);
    return status;
}

static enum sq_status run_model(struct visit *v, const char **data, struct sq_error *err)
{
    const struct arguments *in = v->in;
    struct sq_checkpoint ck;
    bool is_real = true;
    const char *model = sq_cli_model(in->model);
    SQ_TRY(sq_checkpoint_open(&ck, model, err));
    print_head(v, in->model ? in->model : "traces/tiny-llama");
    enum sq_status status = SQ_OK;
    for (size_t i = 0; in->timing_only && i < ck.n_layers && status == SQ_OK; i++)
        status = visit_layer(v, i, ck.layer[i].name, NULL, NULL, in->m, ck.layer[i].n,
                             ck.layer[i].k, err);
    if (!in->timing_only)
        status =
            sq_model_visit(&ck, model, &in->source, in->m, in->seed, visit_layer, v, &is_real, err);
    *data = is_real ? "real" : "real weights, synthetic inputs";
    sq_checkpoint_close(&ck);
    return status;
}

// ---- command --------------------------------------------------------------------------------

// A core alone knows SQ on weights; other formats run on a machine, by default the default one.
static bool is_on_machine(const struct arguments *in)
{
    return in->machine || in->workload || in->fair || in->weights || in->energy ||
           !sq_cost_is_core(&in->recipe);
}

static enum sq_status check_machine_arguments(const struct arguments *in, struct sq_error *err)
{
    const bool has_inputs = in->weights != NULL;
    const char *unused = in->source.tokens && !has_inputs ? "--tokens"
                         : in->source.text && !has_inputs ? "--text"
                         : in->seed_given && !has_inputs  ? "--seed"
                         : in->jobs                       ? "--jobs"
                                                          : NULL;
    if (unused)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s has no use on a machine: nothing is encoded", unused);
    if (in->weights && (in->workload || in->n))
        return SQ_FAIL(err, SQ_ERR_ARG, "--weights and %s given, need one of them",
                       in->workload ? "--workload" : "--n and --k");
    if (in->workload && (in->model || in->n || in->m))
        return SQ_FAIL(err, SQ_ERR_ARG, "--workload and %s given, need one of them",
                       in->model ? "a model" : "--m, --n or --k");
    return SQ_OK;
}

static enum sq_status check_arguments(struct arguments *in, struct sq_error *err)
{
    SQ_TRY(sq_cli_recipe(&in->options, &in->recipe, err));
    const bool on_machine = is_on_machine(in);
    in->banks.format = sq_recipe_banks(&in->recipe);
    in->banks.act_bits = sq_recipe_act_bits(&in->recipe);
    if ((in->n == 0) != (in->k == 0))
        return SQ_FAIL(err, SQ_ERR_ARG, "--%s given without --%s", in->n ? "n" : "k",
                       in->n ? "k" : "n");
    if (in->n && (in->model || in->source.tokens || in->source.text))
        return SQ_FAIL(err, SQ_ERR_ARG, "a model and --n --k given, need one of them");
    if (in->liberty && in->fair != SQ_FAIR_AREA)
        return SQ_FAIL(err, SQ_ERR_ARG, "--liberty needs --fair area");
    const char *of_energy = in->memory ? "memory" : in->dram ? "dram" : in->n_sram ? "sram" : NULL;
    if (of_energy && !in->energy)
        return SQ_FAIL(err, SQ_ERR_ARG, "--%s needs --energy", of_energy);
    if (!on_machine && in->records)
        return SQ_FAIL(err, SQ_ERR_ARG, "--records needs --machine");
    if (on_machine)
        SQ_TRY(check_machine_arguments(in, err));
    in->m = in->m ? in->m : 32;
    in->jobs = in->jobs ? in->jobs : 1;
    return SQ_OK;
}

static int run_machine(const struct arguments *in, struct sq_error *err)
{
    const struct sq_run_request request = {
        .machine = in->machine,
        .workload = in->workload,
        .model = in->model,
        .weights = in->weights,
        .source = in->source,
        .seed = in->seed,
        .records = in->records,
        .gemm = {in->m, in->n, in->k},
        .core = in->core.config,
        .recipe = in->recipe,
        .fair = in->fair,
        .liberty = in->liberty,
        .energy = in->energy,
        .memory = in->memory,
        .dram = in->dram,
        .sram = in->sram,
        .n_sram = in->n_sram,
        .is_causes = in->is_causes,
        .is_json = in->is_json,
    };
    const enum sq_status status = sq_run_on_machine(&request, err);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("run", err);
}

int sq_cmd_run(int argc, char **argv)
{
    struct sq_error err;
    struct arguments in = {.options = sq_cli_options_default(SQ_IN_RUN),
                           .core.config.gather = SQ_GATHER_LOG + 1,
                           .seed = 1};
    static const struct sq_cli_line line = {rows, "[MODEL]", doc};
    struct visit v = {.in = &in};
    const char *data = "synthetic";

    if (sq_cli_parse(&line, argc, argv, &in, &err) != SQ_OK || check_arguments(&in, &err) != SQ_OK)
        return sq_cli_fail("run", &err);
    if (is_on_machine(&in))
        return run_machine(&in, &err);
    struct sq_cli_core core = {.config = sq_core_config_default()};
    sq_run_override_core(&core.config, &in.core.config);
    if (sq_cli_core_config(&core, &in.banks, &v.options.config, &err) != SQ_OK)
        return sq_cli_fail("run", &err);
    v.options.format = in.banks.format;
    v.table.is_json = in.is_json;
    v.options.jobs = in.jobs;
    v.options.no_values = in.timing_only;
    v.options.reference = in.n == 0;
    const enum sq_status status = in.n ? run_gemm(&v, &err) : run_model(&v, &data, &err);
    if (status != SQ_OK)
        return sq_cli_fail("run", &err);
    print_summary(&v, data);
    return SQ_EXIT_OK;
}
