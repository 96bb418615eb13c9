// SPDX-License-Identifier: Apache-2.0
// The inputs of a sweep (sq_sweep_inputs.h): models, tables, joules, memories and the synthesis.
#include "sim/sweep/sq_sweep_inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/io/sq_home.h"
#include "sim/io/sq_json.h"
#include "sim/llm/text/sq_token_source.h"

enum {
    CONFIG_MAX_NBYTES = 16 << 20,
    // The engines that read weights and tokens, and those that read evaluation tokens.
    VALUES = SQ_ENGINE_VALUES | SQ_ENGINE_EVAL | SQ_ENGINE_KL,
    TOKENS = SQ_ENGINE_EVAL | SQ_ENGINE_KL,
};

static enum sq_status digest_values(struct sq_sweep_model *m, bool has_eval, struct sq_error *err)
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
        SQ_TRY(sq_digest_add_file(&d, config, err));
        SQ_TRY(sq_digest_add_file(&d, m->tokens, err));
        if (has_eval)
            SQ_TRY(sq_digest_add_file(&d, m->eval_tokens, err));
    }
    m->values_digest = d;
    return SQ_OK;
}

static enum sq_status open_model(struct sq_sweep_model *m, const char *name, const char *home,
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
    return engines & (SQ_SWEEP_ENCODING | SQ_ENGINE_KL) ? digest_values(m, has_eval, err) : SQ_OK;
}

static enum sq_status open_table(struct sq_sweep_table *t, const char *name, const char *home,
                                 const char *folder, struct sq_error *err)
{
    char path[SQ_SWEEP_PATH_SIZE];
    t->name = name;
    sq_sweep_path(name, home, folder, SQ_HOME_WORKLOAD, path);
    if (access(path, F_OK) != 0)
        sq_sweep_path(name, home, folder, SQ_HOME_CONFIG, path);
    SQ_TRY(sq_digest_add_file(&t->digest, path, err));
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
                       "energy_per_token needs --energy, joules of `sqsim energy --layer --json`");
    SQ_TRY(sq_digest_add_file(&in->prices, o->energy, err));
    SQ_TRY(sq_digest_add_file(&in->prices, o->memory, err));
    if (o->dram)
        sq_digest_add(&in->prices, o->dram, strlen(o->dram));
    SQ_TRY(sq_energy_memory_load(o->memory, o->dram, &in->memory, err));
    return sq_energy_table_vector(o->energy, &in->vector, err);
}

static enum sq_status open_prices(struct sq_sweep_inputs *in, struct sq_error *err)
{
    const struct sq_sweep_options *o = in->options;
    in->sram_um2 = NAN;
    if (in->engines &
        SQ_ENGINE_ARRAY) // rows from before times were at the netlist's clock are computed again
        sq_digest_add(&in->prices, "clock", 5);
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
    if (in->engines & SQ_SWEEP_ENCODING)
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

const struct sq_sweep_model *sq_sweep_model_of(const struct sq_sweep_inputs *in,
                                               const struct sq_sweep_point *p)
{
    for (size_t i = 0; p->model && i < in->n_models; i++)
        if (strcmp(in->model[i].name, p->model) == 0)
            return &in->model[i];
    return NULL;
}

const struct sq_sweep_table *sq_sweep_table_of(const struct sq_sweep_inputs *in,
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
    const struct sq_sweep_model *m = sq_sweep_model_of(in, p);
    if (m) {
        sq_digest_add(digest, &m->shapes_digest, sizeof m->shapes_digest);
        sq_digest_add(digest, &m->values_digest, sizeof m->values_digest);
    }
    const struct sq_sweep_table *t = sq_sweep_table_of(in, p);
    if (t)
        sq_digest_add(digest, &t->digest, sizeof t->digest);
    if (p->machine_name)
        sq_digest_add(digest, &in->machine_digest[p->machine_index], sizeof in->machine_digest[0]);
    if (in->has_synth)
        sq_digest_add(digest, &in->synth.digest, sizeof in->synth.digest);
    sq_digest_add(digest, &in->prices, sizeof in->prices);
}
