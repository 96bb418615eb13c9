// SPDX-License-Identifier: Apache-2.0
// The engines of a sweep and the inputs they share (sq_sweep_grid.h).
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/block/core/sq_core_run.h"
#include "sim/energy/sq_measure.h"
#include "sim/format/sq_cache_format.h"
#include "sim/io/sq_home.h"
#include "sim/io/sq_json.h"
#include "sim/llm/text/sq_token_source.h"
#include "sim/machine/sq_machine_run.h"
#include "sim/machine/sq_pass.h"
#include "sim/machine/sq_workload.h"
#include "sim/sweep/sq_sweep_grid.h"
#include "sim/synth/sq_synth.h"

enum {
    CONFIG_MAX_NBYTES = 16 << 20,
    // The engines that read weights and tokens; of them those whose measures are values.
    VALUES = SQ_ENGINE_VALUES | SQ_ENGINE_EVAL | SQ_ENGINE_KL,
    ENCODING = SQ_ENGINE_VALUES | SQ_ENGINE_EVAL | SQ_ENGINE_SIZE,
    TOKENS = SQ_ENGINE_EVAL | SQ_ENGINE_KL, // those that read evaluation tokens
};

struct input_model {
    const char *name; // as in the specification
    char path[SQ_SWEEP_PATH_SIZE], tokens[1100],
        eval_tokens[1100]; // calibration tokens, evaluation tokens
    struct sq_checkpoint ck;
    struct sq_digest shapes_digest, values_digest;
};

struct input_table {
    const char *name;
    struct sq_workload rows;
    json_t *config; // of a model, for whole passes; NULL: it has rows
    struct sq_digest digest;
};

struct sq_sweep_inputs {
    unsigned engines;
    size_t n_models, n_tables;
    struct input_model *model;
    struct input_table *table;
    const struct sq_digest *machine_digest; // of the specification
    struct sq_sweep_memo *memo;             // of ENCODING
    const struct sq_sweep_options *options;
    bool has_synth;
    struct sq_synth synth;
    double sram_um2; // of a bit; NAN: buffers have no area
    struct sq_energy_memory memory;
    struct sq_vector_energy vector;
    struct sq_digest prices; // of all files behind the last three
    char provenance[400];
};

// ---- inputs -----------------------------------------------------------------------------------

static enum sq_status digest_file(const char *path, struct sq_digest *digest, struct sq_error *err)
{
    struct sq_file_view map;
    SQ_TRY(sq_file_map(path, &map, err));
    sq_digest_add(digest, map.data, map.nbytes);
    sq_file_unmap(&map);
    return SQ_OK;
}

static enum sq_status digest_values(struct input_model *m, bool has_eval, struct sq_error *err)
{
    struct sq_digest d = m->shapes_digest;
    for (size_t s = 0; s < m->ck.n_shards; s++)
        for (size_t i = 0; i < m->ck.shard[s].n_tensors; i++) {
            const struct sq_tensor *t = &m->ck.shard[s].tensor[i];
            sq_digest_add(&d, t->name, strlen(t->name));
            sq_digest_add(&d, &t->dtype, sizeof t->dtype);
            sq_digest_add(&d, t->data, t->nbytes);
            sq_tensor_forget(&m->ck.shard[s], t);
        }
    if (m->ck.is_model) {
        char config[1100]; // a GGUF file is its own
        snprintf(config, sizeof config, "%s%s", m->path, m->ck.n_shards ? "/config.json" : "");
        SQ_TRY(digest_file(config, &d, err));
        SQ_TRY(digest_file(m->tokens, &d, err));
        if (has_eval)
            SQ_TRY(digest_file(m->eval_tokens, &d, err));
    }
    m->values_digest = d;
    return SQ_OK;
}

static enum sq_status open_model(struct input_model *m, const char *name, const char *home,
                                 const char *folder, unsigned engines, struct sq_error *err)
{
    const bool has_eval = engines & TOKENS;
    m->name = name;
    sq_sweep_path(name, home, folder, SQ_HOME_MODEL, m->path);
    sq_tokens_beside(m->path, "tokens_calib.safetensors", m->tokens, sizeof m->tokens);
    sq_tokens_beside(m->path, "tokens_eval.safetensors", m->eval_tokens, sizeof m->eval_tokens);
    SQ_TRY(sq_checkpoint_open(&m->ck, m->path, err));
    if (has_eval && !m->ck.is_model)
        return SQ_FAIL(err, SQ_ERR_ARG, "loss and KL of '%s', need a model directory",
                       sq_path_tail(m->path));
    for (size_t i = 0; i < m->ck.n_layers; i++) {
        const uint64_t shape[2] = {m->ck.layer[i].n, m->ck.layer[i].k};
        sq_digest_add(&m->shapes_digest, shape, sizeof shape);
    }
    return engines & (ENCODING | SQ_ENGINE_KL) ? digest_values(m, has_eval, err) : SQ_OK;
}

static enum sq_status open_table(struct input_table *t, const char *name, const char *home,
                                 const char *folder, struct sq_error *err)
{
    char path[SQ_SWEEP_PATH_SIZE];
    t->name = name;
    sq_sweep_path(name, home, folder, SQ_HOME_WORKLOAD, path);
    if (access(path, F_OK) != 0)
        sq_sweep_path(name, home, folder, SQ_HOME_CONFIG, path);
    SQ_TRY(digest_file(path, &t->digest, err));
    const char *end = strrchr(path, '.');
    if (end && strcmp(end, ".json") == 0)
        return sq_json_load(path, CONFIG_MAX_NBYTES, &t->config, err);
    return sq_workload_read(path, &t->rows, err);
}

// Whole passes need a machine, and axes of theirs a whole pass.
static enum sq_status check_passes(const struct sq_sweep_inputs *in, const struct sq_sweep_grid *s,
                                   struct sq_error *err)
{
    for (unsigned a = SQ_AXIS_CONTEXT; a <= SQ_AXIS_KV_BITS; a++)
        for (size_t i = 0; s->axis[a].n > 0 && i < in->n_tables + (in->n_tables == 0); i++)
            if (in->n_tables == 0 || !in->table[i].config)
                return SQ_FAIL(err, SQ_ERR_ARG, "axis %s needs a workload that is a config.json",
                               sq_quantity_name((enum sq_quantity)a));
    for (size_t i = 0; i < s->axis[SQ_AXIS_KV_BITS].n; i++) {
        const double bits = s->axis[SQ_AXIS_KV_BITS].value[i];
        if (bits != 4 && bits != 8 && bits != 16)
            return SQ_FAIL(err, SQ_ERR_RANGE, "kv_bits = %g, need 4, 8 or 16", bits);
    }
    for (size_t i = 0; i < in->n_tables; i++)
        if (in->table[i].config && !s->machine)
            return SQ_FAIL(err, SQ_ERR_ARG, "workload %.60s is a config.json, need a machine",
                           in->table[i].name);
    return SQ_OK;
}

static void describe(struct sq_sweep_inputs *in, const struct sq_sweep_grid *s)
{
    bool is_real = (in->engines & VALUES) != 0;
    for (size_t i = 0; i < in->n_models; i++)
        is_real = is_real && in->model[i].ck.is_model;
    const char *data = s->is_gemm || s->is_workload ? "shapes only" : "shapes of real models";
    if (in->engines & VALUES)
        data = is_real ? "real" : "real weights, synthetic inputs where there is no model";
    int at = snprintf(in->provenance, sizeof in->provenance, "\"data\":\"%s\",\"seed\":1", data);
    char digest[SQ_DIGEST_SIZE];
    sq_digest_hex(in->synth.liberty_digest, digest);
    if (in->has_synth)
        snprintf(in->provenance + at, sizeof in->provenance - (size_t)at,
                 ",\"synthesis\":\"%.60s\",\"timing\":\"%.60s\",\"liberty_digest\":\"%s\"",
                 in->synth.yosys_version, in->synth.sta_version, digest);
}

static bool has_fair_area(const struct sq_sweep_grid *s)
{
    bool has = false;
    for (size_t i = 0; i < s->axis[SQ_AXIS_FAIR].n && (s->engines & SQ_ENGINE_TIMING); i++)
        has = has || s->axis[SQ_AXIS_FAIR].value[i] == SQ_FAIR_AREA;
    return has;
}

static enum sq_status open_joules(struct sq_sweep_inputs *in, struct sq_error *err)
{
    const struct sq_sweep_options *o = in->options;
    if (!o->energy)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "energy_per_token needs --energy, joules of `sqsim energy "
                       "--layer --json`");
    SQ_TRY(digest_file(o->energy, &in->prices, err));
    SQ_TRY(digest_file(o->memory, &in->prices, err));
    if (o->dram)
        sq_digest_add(&in->prices, o->dram, strlen(o->dram));
    SQ_TRY(sq_energy_memory_load(o->memory, o->dram, &in->memory, err));
    return sq_energy_table_vector(o->energy, &in->vector, err);
}

static enum sq_status open_prices(struct sq_sweep_inputs *in, struct sq_error *err)
{
    const struct sq_sweep_options *o = in->options;
    in->sram_um2 = NAN;
    if ((in->engines & SQ_ENGINE_ARRAY) && o->sram_area) {
        SQ_TRY(sq_fair_sram(o->sram_area, &in->sram_um2, err));
        sq_digest_add(&in->prices, &in->sram_um2, sizeof in->sram_um2);
    }
    return in->engines & SQ_ENGINE_JOULES ? open_joules(in, err) : SQ_OK;
}

static void start_synthesis(void *context, const struct sq_synth_block *block)
{
    const struct sq_sweep_options *o = context;
    char text[96];
    snprintf(text, sizeof text, "synthesis of %.60s", block->top);
    o->stage(o->context, text);
}

static enum sq_status open_all(struct sq_sweep_inputs *in, const struct sq_sweep_grid *s,
                               const struct sq_sweep_options *o, struct sq_error *err)
{
    const size_t n = s->axis[SQ_AXIS_MODEL].n, n_tables = s->axis[SQ_AXIS_WORKLOAD].n;
    in->engines = s->engines;
    in->options = o;
    in->machine_digest = s->machine_digest;
    in->model = calloc(n + 1, sizeof *in->model);
    in->table = calloc(n_tables + 1, sizeof *in->table);
    SQ_NEED(in->model && in->table, err, "%zu models and workloads", n + n_tables);
    for (; in->n_models < n; in->n_models++)
        SQ_TRY(open_model(&in->model[in->n_models], s->axis[SQ_AXIS_MODEL].name[in->n_models],
                          o->home, s->folder, in->engines, err));
    for (; in->n_tables < n_tables; in->n_tables++)
        SQ_TRY(open_table(&in->table[in->n_tables], s->axis[SQ_AXIS_WORKLOAD].name[in->n_tables],
                          o->home, s->folder, err));
    SQ_TRY(check_passes(in, s, err));
    SQ_TRY(open_prices(in, err));
    if (in->engines & ENCODING)
        SQ_TRY(sq_sweep_memo_open(&in->memo, s, err));
    if ((in->engines & (SQ_ENGINE_PE | SQ_ENGINE_GATHER | SQ_ENGINE_ARRAY | SQ_ENGINE_ENERGY)) ||
        has_fair_area(s)) {
        char rtl[1024];
        snprintf(rtl, sizeof rtl, "%.1000s/rtl", o->home);
        struct sq_error why;
        const enum sq_status status = sq_synth_open(&in->synth, rtl, o->liberty, o->cache, &why);
        if (status != SQ_OK)
            return SQ_FAIL(err, status, "%.220s%s", why.text,
                           s->is_fair_usual ? "; formats on a machine get PEs of equal silicon "
                                              "unless axis fair says none"
                                            : "");
        in->synth.on_start = o->stage ? start_synthesis : NULL;
        in->synth.context = (void *)(uintptr_t)o;
        in->has_synth = true;
    }
    describe(in, s);
    return SQ_OK;
}

enum sq_status sq_sweep_inputs_open(struct sq_sweep_inputs **out, const struct sq_sweep_grid *s,
                                    const struct sq_sweep_options *o, struct sq_error *err)
{
    struct sq_sweep_inputs *in = calloc(1, sizeof *in);
    *out = NULL;
    SQ_NEED(in, err, "the inputs of a sweep");
    const enum sq_status status = open_all(in, s, o, err);
    if (status == SQ_OK)
        *out = in;
    else
        sq_sweep_inputs_close(in);
    return status;
}

void sq_sweep_inputs_close(struct sq_sweep_inputs *in)
{
    if (!in)
        return;
    for (size_t i = 0; i < in->n_models; i++)
        sq_checkpoint_close(&in->model[i].ck);
    for (size_t i = 0; i < in->n_tables; i++) {
        sq_workload_free(&in->table[i].rows);
        json_decref(in->table[i].config);
    }
    free(in->model);
    free(in->table);
    sq_sweep_memo_close(in->memo);
    if (in->has_synth)
        sq_synth_close(&in->synth);
    free(in);
}

const char *sq_sweep_inputs_provenance(const struct sq_sweep_inputs *in)
{
    return in->provenance;
}

size_t sq_sweep_inputs_encodings(const struct sq_sweep_inputs *in)
{
    return in->memo ? sq_sweep_memo_encodings(in->memo) : 0;
}

static const struct input_model *model_of(const struct sq_sweep_inputs *in,
                                          const struct sq_sweep_point *p)
{
    for (size_t i = 0; p->model && i < in->n_models; i++)
        if (strcmp(in->model[i].name, p->model) == 0)
            return &in->model[i];
    return NULL;
}

static const struct input_table *table_of(const struct sq_sweep_inputs *in,
                                          const struct sq_sweep_point *p)
{
    for (size_t i = 0; p->workload && i < in->n_tables; i++)
        if (strcmp(in->table[i].name, p->workload) == 0)
            return &in->table[i];
    return NULL;
}

void sq_sweep_inputs_digest(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                            struct sq_digest *digest)
{
    const struct input_model *m = model_of(in, p);
    if (m) {
        sq_digest_add(digest, &m->shapes_digest, sizeof m->shapes_digest);
        sq_digest_add(digest, &m->values_digest, sizeof m->values_digest);
    }
    const struct input_table *t = table_of(in, p);
    if (t)
        sq_digest_add(digest, &t->digest, sizeof t->digest);
    if (p->machine_name)
        sq_digest_add(digest, &in->machine_digest[p->machine_index], sizeof in->machine_digest[0]);
    if (in->has_synth)
        sq_digest_add(digest, &in->synth.digest, sizeof in->synth.digest);
    sq_digest_add(digest, &in->prices, sizeof in->prices);
}

// ---- engines ----------------------------------------------------------------------------------

typedef enum sq_status engine(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                              struct sq_sweep_result *r, struct sq_error *err);

// One GEMM, and how often it counts.
struct gemm {
    struct sq_gemm size;
    double count;
};

static void add_gemm(const struct sq_sweep_point *p, const struct gemm *g, double cycles,
                     const struct sq_mapping_use *use, struct sq_sweep_result *r)
{
    const double weights = (double)g->size.n * (double)g->size.k * g->count;
    r->macs += (double)g->size.m * weights;
    r->weights += weights;
    r->stored_nbits += g->count * sq_recipe_nbits(&p->recipe, (size_t)g->size.n, (size_t)g->size.k);
    r->cycles += cycles;
    r->low_slots += g->count * use->low_slots;
    r->low_macs += g->count * use->low;
    r->high_slots += g->count * use->high_slots;
    r->high_macs += g->count * use->high;
}

static void add_causes(const uint64_t *low, const uint64_t *high, unsigned n, double count,
                       struct sq_sweep_result *r)
{
    for (unsigned i = 0; i < n; i++) {
        r->low[i] += count * (double)low[i];
        r->high[i] += count * (double)high[i];
    }
}

static enum sq_status time_on_core(const struct sq_sweep_point *p, const struct gemm *g,
                                   struct sq_sweep_result *r, struct sq_error *err)
{
    static const struct sq_rates free_streams = {1, 1, 1, 1};
    struct sq_job job;
    const struct sq_format banks = sq_recipe_banks(&p->recipe);
    const size_t k_padded = sq_k_padded(&banks, (size_t)g->size.k);
    const struct sq_core_config core = sq_gemm_core(&p->config, &banks, k_padded);
    SQ_TRY(sq_gemm_job(&core, &banks, (size_t)g->size.m, (size_t)g->size.n, k_padded, &job, err));
    const struct sq_core_stats stats = sq_core_run_fast(&core, &job, &free_streams);
    const double macs = (double)g->size.m * (double)g->size.n * (double)g->size.k;
    const double pe = (double)stats.cycles * p->config.rows * p->config.cols;
    const struct sq_mapping_use use = {pe * p->config.low_lanes, macs, pe * p->config.high_lanes,
                                       macs * banks.high_per_bank / banks.bank};
    add_gemm(p, g, g->count * (double)stats.cycles, &use, r);
    add_causes(stats.low, stats.high, SQ_N_CAUSES, g->count, r);
    r->bound += g->count * (double)sq_job_bound(&core, &job);
    return SQ_OK;
}

static enum sq_status time_on_machine(const struct sq_sweep_point *p,
                                      const struct sq_machine *machine, const struct gemm *g,
                                      struct sq_unit_memo *memo, struct sq_sweep_result *r,
                                      struct sq_error *err)
{
    struct sq_mapping plan;
    struct sq_machine_stats stats;
    SQ_TRY(sq_mapping_run(machine, &p->recipe, &g->size, &plan, &stats, memo, err));
    const struct sq_mapping_use use = sq_mapping_used(machine, &plan, (double)stats.cycles);
    add_gemm(p, g, g->count * (double)stats.cycles, &use, r);
    add_causes(stats.low, stats.high, SQ_N_UNIT_CAUSES, g->count, r);
    r->bound += g->count * (double)plan.bound;
    r->memory += g->count * (double)stats.memory;
    r->index += g->count * (double)stats.index;
    for (unsigned i = 0; i < SQ_N_STREAMS; i++)
        r->nbytes += g->count * (double)stats.nbytes[i];
    r->clock_hz = machine->clock_hz;
    return SQ_OK;
}

static enum sq_status time_gemm(const struct sq_sweep_point *p, const struct sq_machine *machine,
                                const struct gemm *g, struct sq_sweep_result *r,
                                struct sq_error *err)
{
    static _Thread_local struct sq_unit_memo memo; // of the jobs of other points
    return p->machine_name ? time_on_machine(p, machine, g, &memo, r, err)
                           : time_on_core(p, g, r, err);
}

// An axis of the point, or what stands for it.
static double axis_or(const struct sq_sweep_point *p, enum sq_quantity axis, double other)
{
    return p->absent >> axis & 1 ? other : p->quantity[axis];
}

static enum sq_status time_pass(const struct sq_pass_request *request, const json_t *config,
                                const char *name, const struct sq_workload_options *o,
                                struct sq_workload *w, struct sq_pass_result *x,
                                struct sq_error *err)
{
    SQ_TRY(sq_workload_of_config(config, name, o, w, err));
    const enum sq_status status = sq_pass_run(request, w, x, err);
    if (status != SQ_OK)
        sq_workload_free(w);
    return status;
}

// Joules a MAC of the point's recipe; *is_there: somebody measured it.
static enum sq_status find_joules(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                  struct sq_mac_energy *mac, bool *is_there, struct sq_error *err)
{
    *is_there = false;
    if (!(in->engines & SQ_ENGINE_JOULES) || p->machine.chip.bus_nbytes)
        return SQ_OK;
    const enum sq_status status =
        sq_energy_table_read(in->options->energy, &p->recipe, NULL, mac, err);
    *is_there = status == SQ_OK;
    return status == SQ_ERR_UNSUPPORTED ? SQ_OK : status;
}

static void take_joules(const struct sq_sweep_inputs *in, bool is_there,
                        const struct sq_machine_energy *e, struct sq_sweep_result *r)
{
    for (unsigned i = 0; i < SQ_N_ENDS; i++)
        r->joules[i] = is_there ? 1e-12 * (double)sq_machine_energy_total(e, i) : NAN;
    r->has_vector_joules = in->vector.is_there;
}

// A token of each sequence, and the prompt before it.
static enum sq_status run_pass(const struct sq_sweep_inputs *in, const struct input_table *t,
                               const struct sq_sweep_point *p, const struct sq_machine *machine,
                               struct sq_sweep_result *r, struct sq_error *err)
{
    const double bits = axis_or(p, SQ_AXIS_KV_BITS, 16);
    struct sq_workload_options o = {.is_decode = true,
                                    .batch = (uint64_t)axis_or(p, SQ_AXIS_BATCH, 1),
                                    .seq = (uint64_t)axis_or(p, SQ_AXIS_CONTEXT, 2048),
                                    .is_whole = true};
    struct sq_recipe cache;
    struct sq_workload w;
    struct sq_pass_result x;
    struct sq_machine any = *machine; // what does not fit has a time, but no tokens
    any.capacity_nbytes = 0;
    struct sq_mac_energy mac;
    bool has_joules;
    o.context = o.seq;
    SQ_TRY(find_joules(in, p, &mac, &has_joules, err));
    struct sq_pass_request request = {.machine = &any,
                                      .recipe = &p->recipe,
                                      .cache = &cache,
                                      .mac = has_joules ? &mac : NULL,
                                      .memory = &in->memory,
                                      .vector = in->vector.is_there ? &in->vector : NULL};
    SQ_TRY(sq_cache_recipe(bits == 4   ? "int4"
                           : bits == 8 ? "int8"
                                       : "bf16",
                           SQ_IN_RUN, &cache, err));
    SQ_TRY(time_pass(&request, t->config, t->name, &o, &w, &x, err));
    const bool fits = machine->capacity_nbytes == 0 ||
                      x.weights_nbytes + x.cache_nbytes <= (double)machine->capacity_nbytes;
    r->tokens = fits ? (double)w.rest.tokens : -1;
    r->pass_s = x.total_seconds;
    r->clock_hz = machine->clock_hz;
    r->cycles = x.total_seconds * machine->clock_hz;
    r->bound = (x.compute > x.dram ? x.compute : x.dram) * machine->clock_hz;
    r->nbytes = x.total_nbytes;
    r->weights = x.weights;
    r->stored_nbits = x.nbits;
    for (unsigned i = 0; i < SQ_N_PASS_PARTS; i++)
        r->macs += x.macs[i];
    take_joules(in, has_joules, &x.energy, r);
    sq_pass_free(&x);
    sq_workload_free(&w);
    request.mac = NULL;
    o = (struct sq_workload_options){.batch = 1, .seq = o.seq, .is_whole = true};
    SQ_TRY(time_pass(&request, t->config, t->name, &o, &w, &x, err));
    r->first_s = x.total_seconds;
    sq_pass_free(&x);
    sq_workload_free(&w);
    return SQ_OK;
}

// A format that has no such PE keeps those of the machine, for what its shapes alone decide.
static enum sq_status make_fair(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                struct sq_machine *machine, struct sq_sweep_result *r,
                                struct sq_error *err)
{
    struct sq_error why;
    const enum sq_status status =
        sq_fair_machine((enum sq_fair)p->quantity[SQ_AXIS_FAIR], in->has_synth ? &in->synth : NULL,
                        &p->recipe, machine, &r->pe, &why);
    if (status == SQ_ERR_UNSUPPORTED || status == SQ_ERR_RANGE) {
        snprintf(r->unfair, sizeof r->unfair, "%.*s", SQ_NOTE_SIZE - 1, why.text);
        for (char *c = r->unfair; *c; c++) // a note has no character that JSON escapes
            *c = *c == '"' || *c == '\\' || (unsigned char)*c < 0x20 ? '\'' : *c;
        return SQ_OK;
    }
    if (status != SQ_OK && err)
        *err = why;
    return status;
}

static enum sq_status run_timing(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                 struct sq_sweep_result *r, struct sq_error *err)
{
    const struct input_model *m = model_of(in, p);
    const struct input_table *t = table_of(in, p);
    struct sq_machine machine = p->machine;
    if (p->machine_name)
        SQ_TRY(make_fair(in, p, &machine, r, err));
    if (in->engines & SQ_ENGINE_ARRAY)
        SQ_TRY(
            sq_fair_silicon_of(&in->synth, &p->recipe, &machine, in->sram_um2, &r->silicon, err));
    if (t && t->config)
        return run_pass(in, t, p, &machine, r, err);
    for (size_t i = 0; t && i < t->rows.n; i++) {
        const struct gemm g = {t->rows.row[i].gemm, (double)t->rows.row[i].count};
        SQ_TRY(time_gemm(p, &machine, &g, r, err));
    }
    for (size_t i = 0; m && !t && i < m->ck.n_layers; i++) {
        const struct gemm g = {{p->m, m->ck.layer[i].n, m->ck.layer[i].k}, 1};
        SQ_TRY(time_gemm(p, &machine, &g, r, err));
    }
    if (!t && !m)
        SQ_TRY(time_gemm(p, &machine, &(struct gemm){{p->m, p->n, p->k}, 1}, r, err));
    return SQ_OK;
}

// Losses and errors, by the tokens beside the model; or what its weights take, where they decide.
// Tensors that are no model have no tokens to calibrate by, so that nothing but shapes is left.
static enum sq_status run_values(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                 struct sq_sweep_result *r, struct sq_error *err)
{
    const struct input_model *m = model_of(in, p);
    if (!m || (!(in->engines & (SQ_ENGINE_VALUES | SQ_ENGINE_EVAL)) &&
               (!m->ck.is_model || !sq_recipe_sized_by(&p->recipe))))
        return SQ_OK;
    const struct sq_sweep_source source = {&m->ck, m->path, m->tokens, m->eval_tokens,
                                           m->values_digest};
    return sq_sweep_values(in->memo, &source, in->engines, p, r, err);
}

static enum sq_status run_kl(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                             struct sq_sweep_result *r, struct sq_error *err)
{
    const struct input_model *m = model_of(in, p);
    const struct sq_sweep_source source = {&m->ck, m->path, m->tokens, m->eval_tokens,
                                           m->values_digest};
    return sq_sweep_kl(in->options, &source, &p->recipe, r, err);
}

static enum sq_status synthesize(const struct sq_sweep_inputs *in,
                                 const struct sq_synth_block *block, double *area, double *path_ns,
                                 struct sq_error *err)
{
    struct sq_synth_result result;
    SQ_TRY(sq_synth_area(&in->synth, block, &result, err));
    *area = result.area;
    *path_ns = result.has_delay ? result.critical_path_ns : NAN;
    sq_synth_result_free(&result);
    return SQ_OK;
}

static enum sq_status run_pe(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                             struct sq_sweep_result *r, struct sq_error *err)
{
    struct sq_core_config g = p->config;
    (void)sq_core_join_banks(&g, p->recipe.group);
    const struct sq_synth_block block = {.top = "sq_pe",
                                         .n_params = 7,
                                         .param = {{"LowLanes", g.low_lanes},
                                                   {"HighLanes", g.high_lanes},
                                                   {"BankLen", g.bank},
                                                   {"ActW", g.act_bits},
                                                   {"LowW", g.low_bits},
                                                   {"HighW", g.high_bits},
                                                   {"Gather", g.gather}}};
    return synthesize(in, &block, &r->pe_area_um2, &r->pe_critical_path_ns, err);
}

static enum sq_status run_gather(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                 struct sq_sweep_result *r, struct sq_error *err)
{
    const struct sq_core_config *g = &p->config;
    const struct sq_synth_block block = {.top = "sq_gather",
                                         .n_params = 6,
                                         .param = {{"Rows", 1},
                                                   {"BankLen", g->bank},
                                                   {"HighPerBank", g->high_per_bank},
                                                   {"ActW", g->act_bits},
                                                   {"LowW", g->low_bits},
                                                   {"Gather", g->gather}}};
    return synthesize(in, &block, &r->gather_area_um2, &r->gather_critical_path_ns, err);
}

// As `sqsim energy --block core` with the point's options and its usual clock, cycles and seed.
static enum sq_status run_energy(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                 struct sq_sweep_result *r, struct sq_error *err)
{
    const struct sq_measure_options options = {.cycles = 32, .clock_ns = 10};
    struct sq_core_config g = p->config;
    struct sq_point point = {.name = "sweep"};
    struct sq_measured m;
    struct sq_case c;
    g.rows = g.cols = 1;
    sq_core_block.set_core(point.value, &g);
    SQ_TRY(sq_drive_draw(&sq_core_block, &point, 1, SQ_LANES * (options.cycles + SQ_DRIVE_FILL), &c,
                         err));
    const enum sq_status status = sq_measure_run(&in->synth, &c, &options, &m, err);
    sq_case_free(&c);
    SQ_TRY(status);
    if (m.drive.mismatch[0])
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "netlist of the core: %.100s", m.drive.mismatch);
    for (unsigned mode = 0; mode < SQ_N_MODES; mode++) {
        double joules = 0;
        for (unsigned k = 0; k < SQ_N_ENERGIES; k++)
            joules += m.energy[mode].pe[k];
        r->pe_fj_per_mac[mode] = 1e15 * joules / m.drive.macs;
    }
    return SQ_OK;
}

static const struct {
    unsigned bits;
    engine *run;
} engines[] = {
    {SQ_ENGINE_TIMING, run_timing}, {ENCODING, run_values},         {SQ_ENGINE_PE, run_pe},
    {SQ_ENGINE_GATHER, run_gather}, {SQ_ENGINE_ENERGY, run_energy}, {SQ_ENGINE_KL, run_kl},
};

enum sq_status sq_sweep_compute(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                struct sq_sweep_result *r, struct sq_error *err)
{
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
        if (in->engines & engines[i].bits)
            SQ_TRY(engines[i].run(in, p, r, err));
    return SQ_OK;
}
