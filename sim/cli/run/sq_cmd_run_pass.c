// SPDX-License-Identifier: Apache-2.0
// --phase of `sqsim run`: a whole pass of a model by part (sq_pass.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/cli/run/sq_cmd_run_pass.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/sq_cache_format.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/gpu/sq_gpu.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"
#include "sim/io/sq_process.h"
#include "sim/llm/sq_gguf_model.h"

const char *const sq_run_phases[] = {"prefill", "decode", "serve", NULL};

enum { CONFIG_MAX_NBYTES = 16 << 20 };

// ---- the model ------------------------------------------------------------------------------

// A GGUF file has these numbers under other names: the config that its model had.
static enum sq_status config_of_gguf(const char *path, json_t **config, struct sq_error *err)
{
    struct sq_model_config checked;
    SQ_CLOSED(sq_gguf_close) struct sq_gguf g = {0};
    SQ_TRY(sq_gguf_open(&g, path, err));
    return sq_gguf_model_json(&g, sq_path_tail(path), config, &checked, err);
}

const char *sq_run_model_path(const struct sq_run_request *in)
{
    return sq_cli_model(in->model ? sq_cli_found(in->model, SQ_HOME_CONFIG) : NULL);
}

static enum sq_status read_config(struct sq_run_one *r, struct sq_error *err)
{
    const char *given = r->request->model;
    if (given)
        SQ_TRY(sq_cli_check_found("MODEL", given, SQ_HOME_CONFIG, err));
    const char *path = sq_run_model_path(r->request);
    const char *end = strrchr(path, '.');
    struct stat st;
    char inside[4200];
    r->name = given ? given : "traces/tiny-llama";
    if (end && strcmp(end, ".gguf") == 0)
        return config_of_gguf(path, &r->config, err);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        snprintf(inside, sizeof inside, "%.4096s/config.json", path);
        path = inside;
    }
    return sq_json_load(path, CONFIG_MAX_NBYTES, &r->config, err);
}

// ---- the pass -------------------------------------------------------------------------------

static bool is_as_layers(const struct sq_run_request *in)
{
    return strcmp(in->head_format, "layers") == 0;
}

const struct sq_recipe *sq_run_head(const struct sq_run_one *r)
{
    return is_as_layers(r->request) ? &r->request->recipe : &r->head;
}

static enum sq_status read_head(struct sq_run_one *r, struct sq_error *err)
{
    const char *text = r->request->head_format;
    if (is_as_layers(r->request))
        return SQ_OK;
    if (strcmp(text, "bf16") == 0)
        return sq_cache_recipe(text, SQ_IN_RUN, &r->head, err);
    SQ_FREED char *copy = strdup(text);
    SQ_NEED(copy, err, "a format");
    SQ_TRY(sq_recipe_read(copy, "head-format", SQ_IN_RUN, NULL, &r->head, err));
    return sq_cost_check(&r->head, err);
}

// What multiplies the cache and lm_head of a row; the second array has the clock of the row.
static void choose_arrays(struct sq_run_one *r)
{
    struct sq_machine *const second = &r->fair.second.machine;
    const struct sq_core_config core = second->core;
    const bool has_second = r->fair.second.um2 > 0;
    if (r->request->fair != SQ_FAIR_AREA || r->request->n_and == 0 || r->machine.chip.bus_nbytes)
        return;
    *second = r->machine;
    second->core = core;
    r->attention_on = r->fair.attention_is_own ? "own" : has_second ? "second" : "none";
    r->head_on =
        is_as_layers(r->request) || sq_fair_takes(&r->machine, &r->request->recipe, &r->head)
            ? "own"
        : has_second && sq_fair_takes(&r->machine, &r->cache, &r->head) ? "second"
                                                                        : "none";
}

static const struct sq_machine *array_of(const struct sq_run_one *r, const char *on)
{
    return on && strcmp(on, "second") == 0 ? &r->fair.second.machine : NULL;
}

static struct sq_pass_request pass_of(const struct sq_run_one *r)
{
    const struct sq_run_request *in = r->request;
    return (struct sq_pass_request){.machine = &r->machine,
                                    .cache_machine = array_of(r, r->attention_on),
                                    .head_machine = array_of(r, r->head_on),
                                    .recipe = &in->recipe,
                                    .head = sq_run_head(r),
                                    .cache = &r->cache,
                                    .mac = in->energy ? &r->energy.mac : NULL,
                                    .head_mac = in->head_energy ? &r->head_energy.mac
                                                : in->energy && is_as_layers(in) ? &r->energy.mac
                                                                                 : NULL,
                                    .cache_mac = in->kv_energy ? &r->cache_energy.mac : NULL,
                                    .memory = &r->energy.memory,
                                    .chip = r->energy.is_chip ? &r->energy.chip : NULL,
                                    .vector = r->energy.vector.is_there ? &r->energy.vector : NULL};
}

// The time of one prompt of as many tokens as the cache of a sequence has.
static enum sq_status time_prompt(struct sq_run_one *r, struct sq_error *err)
{
    const struct sq_workload_options o = {.batch = 1,
                                          .seq = r->request->pass.context,
                                          .is_whole = true,
                                          .chips = r->request->pass.chips};
    struct sq_pass_request request = pass_of(r);
    SQ_CLOSED(sq_pass_free) struct sq_pass_result result = {0};
    struct sq_workload w;
    request.mac = NULL;
    SQ_TRY(sq_workload_of_config(r->config, r->name, &o, &w, err));
    const enum sq_status status = sq_pass_run(&request, &w, &result, err);
    sq_workload_free(&w);
    if (status != SQ_OK)
        return status;
    r->first_s = result.total_seconds;
    return SQ_OK;
}

static enum sq_status time_pass(struct sq_run_one *r, struct sq_error *err)
{
    const struct sq_pass_request request = pass_of(r);
    const double start = sq_process_clock();
    SQ_TRY(sq_workload_of_config(r->config, sq_path_tail(r->name), &r->request->pass, &r->workload,
                                 err));
    SQ_TRY(sq_pass_run(&request, &r->workload, &r->result, err));
    r->first_s = r->result.total_seconds;
    if (r->request->pass.is_decode)
        SQ_TRY(time_prompt(r, err));
    r->seconds_host = sq_process_clock() - start;
    return SQ_OK;
}

enum sq_status sq_run_one_energy(struct sq_run_one *r, struct sq_error *err)
{
    struct sq_run_request of_cache = *r->request, of_head = *r->request;
    if (!r->request->energy)
        return SQ_OK;
    SQ_TRY(sq_run_energy_open(r->request, &r->machine, &r->energy, err));
    if (r->machine.is_clock_netlist)
        SQ_TRY(sq_run_clock_netlist(&r->energy, &r->machine, err));
    of_cache.recipe = r->cache;
    of_cache.energy = r->request->kv_energy;
    if (of_cache.energy)
        SQ_TRY(sq_run_energy_open(&of_cache, &r->machine, &r->cache_energy, err));
    of_head.recipe = *sq_run_head(r);
    of_head.energy = r->request->head_energy;
    return of_head.energy ? sq_run_energy_open(&of_head, &r->machine, &r->head_energy, err) : SQ_OK;
}

static enum sq_status load_machine(struct sq_run_one *r, struct sq_error *err)
{
    const char *usual = sq_cli_home_path("sim/machines/default.yaml");
    const char *path = r->request->machine ? r->request->machine : usual;
    struct sq_gpu gpu;
    const enum sq_status status = sq_run_load_machine(r->request, path, &r->machine, &r->fair, err);
    if (status != SQ_OK && sq_gpu_load(path, &gpu, NULL) == SQ_OK)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "--phase has no use on a GPU, need a machine");
    return status;
}

// ---- what is printed ------------------------------------------------------------------------

static void recipe_text(const struct sq_recipe *r, char text[96])
{
    if (r->format->text)
        r->format->text(r, text);
    else
        snprintf(text, 96, "%s A%u", r->format->name, sq_recipe_act_bits(r));
}

const char *sq_run_binds(const struct sq_pass_result *x)
{
    const double vector = x->seconds[SQ_PASS_VECTOR], link = x->seconds[SQ_PASS_LINK];
    if (link > x->compute && link > x->dram && link > vector)
        return "link";
    if (vector > x->compute && vector > x->dram)
        return "the vector unit";
    return x->dram > x->compute ? "memory" : "the multipliers";
}

static double tokens_of(const struct sq_run_one *r)
{
    return (double)r->workload.rest.tokens;
}

// What the cache of a sequence gains with a token.
static double token_nbytes(const struct sq_run_one *r)
{
    return r->workload.rest.cache_new * r->result.cache_row_nbits / 8 / tokens_of(r);
}

static void print_head(const struct sq_run_one *r)
{
    const struct sq_run_request *in = r->request;
    const struct sq_machine *m = &r->machine;
    char format[96], cache[96];
    recipe_text(&in->recipe, format);
    recipe_text(&r->cache, cache);
    printf("%s on machine %s: %u core%s of %ux%u PEs, L=%u, H=%u, %u vector lanes each, at %g GHz, "
           "DRAM %g GB/s; %s\n",
           sq_cli_text(r->name), sq_cli_text(m->name), m->cores, m->cores > 1 ? "s" : "",
           m->core.rows, m->core.cols, in->fair ? r->fair.pe.low_lanes : m->core.low_lanes,
           in->fair ? r->fair.pe.high_lanes : m->core.high_lanes, m->vector_lanes,
           m->clock_hz * 1e-9, m->dram_bytes_per_s * 1e-9, format);
    if (in->fair == SQ_FAIR_NONE)
        printf("PEs as the machine has them, re-partitioned for the format: not of one area with "
               "other formats (--fair area)\n");
    sq_run_fair_text(in, &r->fair);
    printf("KV cache: %s, %.4f stored bits an element, on the same multipliers\n",
           sq_recipe_is_reference(&r->cache) ? "16 bits" : cache,
           r->result.cache_row_nbits / (double)r->workload.rest.cache_width);
    recipe_text(sq_run_head(r), format);
    printf("lm_head: %s\n", is_as_layers(in)                         ? "as the layers"
                            : sq_recipe_is_reference(sq_run_head(r)) ? "16 bits, as eval leaves it"
                                                                     : format);
    const unsigned lanes = sq_vector_unit_lanes(m->vector_lanes);
    printf("the clock is the machine's: %g GHz is decreed, no netlist was asked; vector unit of a "
           "core: %u of %u lanes, by the cycle model of sq_vector",
           m->clock_hz * 1e-9, m->vector_lanes / lanes, lanes);
    if (sq_machine_vector_hz(m) < m->clock_hz)
        printf(", at %g GHz", 1e-9 * sq_machine_vector_hz(m));
    printf("\n");
    if (in->pass.chips > 1)
        printf(
            "%llu chips share the model; bytes, products and memory below are those of one, joules "
            "those of all; link: modelled, %g GB/s and %g us a step of a ring\n",
            (unsigned long long)in->pass.chips, m->link_bytes_per_s * 1e-9,
            m->link_latency_ns * 1e-3);
    if (in->energy)
        sq_run_energy_text(in, &r->energy);
    if (in->energy && !in->kv_energy)
        printf("energy: attention has joules of memory alone (--kv-energy)\n");
    if (in->energy && !is_as_layers(in) && !in->head_energy)
        printf("energy: lm_head has joules of memory alone (--head-energy)\n");
    if (in->energy && !r->energy.vector.is_there)
        printf(
            "energy: none of the vector units (a line of `sqsim energy --block vector --json`)\n");
    if (in->pass.is_decode)
        printf("decode: a token of each of %llu sequence%s, %llu tokens in the cache of each\n",
               (unsigned long long)in->pass.batch, in->pass.batch > 1 ? "s" : "",
               (unsigned long long)in->pass.context);
    else
        printf("prefill: %llu sequence%s of %llu tokens, %llu tokens in the cache before them\n",
               (unsigned long long)in->pass.batch, in->pass.batch > 1 ? "s" : "",
               (unsigned long long)in->pass.seq, (unsigned long long)in->pass.context);
}

static void put_part(const struct sq_run_one *r, const char *name, double seconds, double nbytes,
                     double macs, struct sq_cli_table *table)
{
    const struct sq_cli_column row[] = {SQ_COLUMN("part", name, "part", -12),
                                        SQ_COLUMN("ms", 1e3 * seconds, "ms", 14, .as = "%.6f"),
                                        SQ_COLUMN("share", seconds / r->result.total_seconds,
                                                  "share", 8, .as = "%.1f%%", .scale = 100),
                                        SQ_COLUMN("bytes", sq_cli_amount((long double)nbytes), "GB",
                                                  12, .as = "%.6f", .scale = 1e-9),
                                        SQ_COLUMN("macs", sq_cli_amount((long double)macs), "GMAC",
                                                  14, .as = "%.6f", .scale = 1e-9),
                                        SQ_COLUMNS_END};
    sq_cli_put(table, row);
}

static void put_row(const struct sq_run_one *r, size_t i, struct sq_cli_table *table)
{
    const struct sq_workload_row *w = &r->workload.row[i];
    const struct sq_pass_row *x = &r->result.row[i];
    const struct sq_cli_column row[] = {SQ_KEYS("layer", w->name, "m", w->gemm.m, "n", w->gemm.n,
                                                "k", w->gemm.k, "count", w->count, "macs", x->macs),
                                        SQ_KEYS("cycles", x->cycles, "compute_cycles", x->compute,
                                                "dram_cycles", x->dram, "bytes",
                                                sq_cli_amount((long double)x->nbytes)),
                                        SQ_COLUMNS_END};
    sq_cli_put(table, row);
}

static void put_parts(const struct sq_run_one *r, struct sq_cli_table *table)
{
    const struct sq_pass_result *x = &r->result;
    for (unsigned i = 0; i < SQ_N_PASS_PARTS; i++)
        put_part(r, sq_pass_part_name((enum sq_pass_part)i), x->seconds[i], x->nbytes[i],
                 x->macs[i], table);
}

static json_t *json_ops(const struct sq_run_one *r)
{
    json_t *o = json_object();
    for (unsigned i = 0; i < SQ_N_VECTOR_OPS; i++)
        json_object_set_new(o, sq_vector_op_name((enum sq_vector_op)i),
                            json_real(1e3 * r->result.op_seconds[i]));
    return o;
}

static json_t *json_sum(const struct sq_run_one *r)
{
    const struct sq_run_request *in = r->request;
    const struct sq_pass_result *x = &r->result;
    const double tokens = tokens_of(r);
    const struct sq_cli_column row[] = {
        SQ_KEYS("machine", r->machine.name, "model", r->name, "phase",
                sq_run_phases[in->phase - SQ_RUN_PREFILL]),
        SQ_KEYS("context", in->pass.context, "batch", in->pass.batch, "chips", in->pass.chips,
                "tokens", r->workload.rest.tokens),
        SQ_KEYS("recipe", sq_recipe_json(&in->recipe, SQ_IN_RUN), "kv_recipe",
                sq_recipe_json(&r->cache, SQ_IN_RUN), "head_recipe",
                sq_recipe_json(sq_run_head(r), SQ_IN_RUN), "kv_stored_bits",
                x->cache_row_nbits / (double)r->workload.rest.cache_width),
        SQ_KEYS("cores", r->machine.cores, "rows", r->machine.core.rows, "cols",
                r->machine.core.cols, "vector_lanes", r->machine.vector_lanes),
        SQ_KEYS("clock_ghz", 1e-9 * r->machine.clock_hz, "clock_from", "machine"),
        SQ_KEYS("pe", sq_run_fair_json(in, &r->machine, &r->fair)),
        SQ_KEYS("stored_bits_per_weight", x->nbits / x->weights, "weights_bytes",
                sq_cli_amount((long double)x->weights_nbytes), "kv_bytes",
                sq_cli_amount((long double)x->cache_nbytes), "kv_token_bytes", token_nbytes(r)),
        SQ_KEYS("capacity_bytes", r->machine.capacity_nbytes),
        SQ_KEYS("ms", 1e3 * x->total_seconds, "compute_ms", 1e3 * x->compute, "dram_ms",
                1e3 * x->dram, "vector_ms_by_op", json_ops(r)),
        SQ_KEYS("bytes", sq_cli_amount((long double)x->total_nbytes), "binds", sq_run_binds(x)),
        SQ_KEYS("tokens_per_second", tokens / x->total_seconds, "ttft_ms", 1e3 * r->first_s),
        SQ_KEYS("energy", in->energy ? sq_run_energy_all_json(&r->energy, &x->energy,
                                                              x->total_seconds, tokens)
                                     : json_null()),
        SQ_KEYS("seconds_host", r->seconds_host),
        SQ_COLUMNS_END};
    return sq_cli_object(row);
}

static void print_sum(const struct sq_run_one *r)
{
    const struct sq_pass_result *x = &r->result;
    const double capacity = (double)r->machine.capacity_nbytes;
    printf("%.6g ms, %.6g tokens/s, first token after %.6g ms%s; bound by %s\n",
           1e3 * x->total_seconds, tokens_of(r) / x->total_seconds, 1e3 * r->first_s,
           r->request->pass.is_decode ? " (one prompt as long as the context)" : "",
           sq_run_binds(x));
    printf("in memory: weights %.4f GB (%.4f stored bits each), KV cache %.4f GB",
           1e-9 * x->weights_nbytes, x->nbits / x->weights, 1e-9 * x->cache_nbytes);
    printf(" (%.4f MB a token)", 1e-6 * token_nbytes(r));
    printf(capacity > 0 ? ", of %.4f GB\n" : "\n", 1e-9 * capacity);
    if (r->request->energy)
        sq_run_energy_print(&x->energy, x->total_seconds, tokens_of(r));
}

static void print(const struct sq_run_one *r)
{
    struct sq_cli_table table = {.is_json = r->request->is_json}, rows = table;
    if (!table.is_json)
        print_head(r);
    for (size_t i = 0; table.is_json && i < r->workload.n; i++)
        put_row(r, i, &rows);
    put_parts(r, &table);
    if (!table.is_json) {
        put_part(r, "all", r->result.total_seconds, r->result.total_nbytes, NAN, &table);
        print_sum(r);
        return;
    }
    const struct sq_cli_column row[] = {SQ_MEMBERS(json_sum(r)), SQ_COLUMNS_END};
    sq_cli_put_summary(
        row, sq_cli_provenance("shapes",
                               "modelled (cycle models of cores and vector unit, equal to RTL; "
                               "buffers and DRAM modelled)",
                               0));
}

enum sq_status sq_run_one_open(const struct sq_run_request *in, struct sq_run_one *r,
                               struct sq_error *err)
{
    *r = (struct sq_run_one){.request = in};
    SQ_TRY(sq_cache_recipe(in->kv_format, SQ_IN_RUN, &r->cache, err));
    SQ_TRY(read_head(r, err));
    SQ_TRY(load_machine(r, err));
    SQ_TRY(sq_run_token_check(in, &r->machine, err));
    return read_config(r, err);
}

enum sq_status sq_run_one_time(struct sq_run_one *r, struct sq_error *err)
{
    choose_arrays(r);
    SQ_TRY(sq_run_one_energy(r, err));
    return time_pass(r, err);
}

void sq_run_one_free(struct sq_run_one *r)
{
    sq_pass_free(&r->result);
    sq_workload_free(&r->workload);
    json_decref(r->config);
}

enum sq_status sq_run_pass(const struct sq_run_request *in, struct sq_error *err)
{
    SQ_CLOSED(sq_run_one_free) struct sq_run_one r = {0};
    SQ_TRY(sq_run_one_open(in, &r, err));
    if (sq_machine_has_token(&r.machine)) {
        SQ_TRY(sq_run_one_energy(&r, err));
        SQ_TRY(sq_run_token(&r, sq_run_model_path(in), err));
    } else {
        SQ_TRY(sq_run_one_time(&r, err));
        print(&r);
    }
    if (in->energy)
        sq_run_energy_note(&r.energy, r.machine.clock_hz);
    return SQ_OK;
}
