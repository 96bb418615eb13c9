// SPDX-License-Identifier: Apache-2.0
// sqsim inspect: what a safetensors or GGUF file, an encoded model or a model directory holds, or
// which GEMMs a config.json means.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/cli/sq_cli_calib.h"
#include "sim/cli/sq_cli_core.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/file/sq_operand_file.h"
#include "sim/format/file/sq_weight_file.h"
#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_quote.h"
#include "sim/llm/foreign/sq_as_stored.h"
#include "sim/llm/sq_gguf_model.h"
#include "sim/machine/sq_workload.h"

enum { GEMMS = 2 };

struct arguments {
    const char *path; // NULL: the embedded model
    const char *output;
    struct sq_workload_options options;
    bool is_gemms, has_seq, is_json;
};

static const char *const phases[] = {"prefill", "decode", NULL};

#define AT(field) SQ_CLI_AT(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_FLAG("gemms", AT(is_gemms), "the linear layers as a table of GEMMs, by config.json",
                .mode = GEMMS),
    SQ_CLI_WORD("phase", "P", phases, AT(options.is_decode),
                "batch x seq tokens (prefill) or one token a sequence", .modes = GEMMS),
    SQ_CLI_UINT("batch", "N", 1, SQ_GEMM_MAX, AT(options.batch), "sequences", .modes = GEMMS),
    SQ_CLI_UINT("seq", "N", 1, SQ_GEMM_MAX, AT(options.seq), "tokens of a sequence in prefill",
                .given = offsetof(struct arguments, has_seq), .modes = GEMMS),
    SQ_CLI_WORD("routing", "R", sq_routing_names, AT(options.routing),
                "tokens of experts: balanced, or skewed (expert r proportional to 1/(r+1))",
                .modes = GEMMS),
    SQ_CLI_TEXT("output", "FILE", AT(output), "write the table here", .letter = 'o',
                .usual = "standard output", .group = SQ_CLI_COMMON, .is_output = true,
                .modes = GEMMS),
    SQ_CLI_FLAG("json", AT(is_json),
                "one JSON object per tensor and operand, or row of GEMMs, the summary last",
                .group = SQ_CLI_COMMON, .modes = SQ_CLI_ALL),
    SQ_CLI_ARGUMENT("FILE", AT(path), .found = SQ_HOME_MODEL, .modes = SQ_CLI_ALL),
    SQ_CLI_END};

static const char doc[] =
    "Lists tensors, shapes, dtypes, bytes and metadata of a safetensors file, a GGUF file or a "
    "Hugging Face model directory (default: the embedded traces/tiny-llama). An encoded file is "
    "validated as well: format, stored bits per weight, every bank. With --gemms: the linear "
    "layers of a decoder by its config.json (or the directory that holds it) as "
    "Layer,M,N,K,Count: the form that `sqsim run --workload` and, but for Count, SCALE-Sim read. "
    "The product with the vocabulary, lm_head, is not among them, nor in times of these tables: "
    "add a row of tokens x vocabulary x hidden size for it.\v"
    "Examples:\n"
    "  sqsim inspect\n"
    "  sqsim inspect llama.sq.safetensors\n"
    "  sqsim inspect ~/models/Llama-3.2-1B --json\n"
    "  sqsim inspect SmolLM2-135M-Instruct.Q4_1.gguf\n"
    "  sqsim inspect --gemms traces/workloads/llama-3-70b.json -o llama-3-70b_prefill_2048.csv\n"
    "  sqsim inspect --gemms ~/models/my-llama --phase decode --batch 8\n"
    "  sqsim inspect --gemms traces/workloads/qwen3-30b-a3b.json --seq 128 --routing skewed\n";

// ---- tensors and metadata -------------------------------------------------------------------

static void print_tensor(struct sq_cli_table *table, const struct sq_tensor *t)
{
    json_t *shape = json_array();
    char text[32 * SQ_TENSOR_MAX_DIMS] = " [";
    for (unsigned i = 0; i < t->n_dims; i++) {
        const size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%llu", i ? ", " : "",
                 (unsigned long long)t->dim[i]);
        json_array_append_new(shape, json_integer((json_int_t)t->dim[i]));
    }
    strcat(text, "]");
    const struct sq_cli_column row[] = {SQ_COLUMN("tensor", t->name, "tensor", -52),
                                        SQ_COLUMN("dtype", sq_dtype_name(t->dtype), "type", -4),
                                        SQ_KEYS("shape", shape),
                                        SQ_COLUMN("bytes", t->nbytes, "bytes", 12),
                                        SQ_COLUMN(NULL, text, "shape", 0),
                                        SQ_COLUMNS_END};
    sq_cli_put(table, row);
}

struct totals {
    size_t n_tensors, nbytes;
    json_t *metadata;
};

static void print_file(const struct arguments *in, const struct sq_safetensors *st,
                       struct totals *total)
{
    struct sq_cli_table table = {.is_json = in->is_json, .has_head = true}; // without one
    for (size_t i = 0; i < st->n_tensors; i++) {
        print_tensor(&table, &st->tensor[i]);
        total->nbytes += st->tensor[i].nbytes;
    }
    total->n_tensors += st->n_tensors;
    for (size_t i = 0; i < st->n_metadata; i++) {
        const struct sq_metadata *m = &st->metadata[i];
        if (in->is_json) {
            json_object_set_new(total->metadata, m->key, json_string(m->value));
            continue;
        }
        printf("  ");
        sq_put_text(stdout, m->key);
        printf(" = ");
        sq_put_text(stdout, m->value);
        printf("\n");
    }
}

static void print_summary(const struct arguments *in, const char *kind, const struct totals *total,
                          json_t *extra)
{
    const struct sq_cli_column row[] = {
        SQ_KEYS("kind", kind, "tensors", total->n_tensors, "bytes", total->nbytes),
        SQ_KEYS("metadata", json_incref(total->metadata)), SQ_MEMBERS(extra), SQ_COLUMNS_END};
    if (in->is_json)
        sq_cli_put_summary(row, sq_cli_provenance(NULL, "read", 0));
    else
        printf("%s: %zu tensors, %zu bytes\n", kind, total->n_tensors, total->nbytes);
}

// ---- encoded files --------------------------------------------------------------------------

// What all operands take, each of them valid.
struct encoded {
    size_t n;
    double nbits, weights;
};

// One operand that was found valid.
static void add_valid(const struct arguments *in, const char *name, size_t n, size_t k_orig,
                      size_t k, double nbits, struct encoded *all)
{
    const double size = (double)n * (double)k_orig;
    const struct sq_cli_column row[] = {
        SQ_KEYS("operand", name, "n", n, "k", k_orig, "k_padded", k),
        SQ_KEYS("stored_bits_per_weight", nbits / size, "valid", json_true()), SQ_COLUMNS_END};
    all->n++;
    all->nbits += nbits;
    all->weights += size;
    if (in->is_json)
        sq_cli_json_line(sq_cli_object(row));
    else
        printf("%-36s %6zu x %-6zu padded to %zu, %.4f stored bits per weight, valid\n",
               *name ? name : "(the file)", n, k_orig, k, nbits / size);
}

// `format`: keys that say it.
static void print_encoded(const struct arguments *in, const char *name, const char *text,
                          json_t *format, const struct encoded *all, const struct totals *total)
{
    const double bits = all->nbits / all->weights;
    const struct sq_cli_column extra[] = {
        SQ_MEMBERS(format),
        SQ_KEYS("operands", all->n, "stored_bits_per_weight", bits, "valid", json_true()),
        SQ_COLUMNS_END};
    char kind[160];
    snprintf(kind, sizeof kind, "%s, %zu operands, %.4f stored bits per weight, valid", text,
             all->n, bits);
    print_summary(in, in->is_json ? name : kind, total, sq_cli_object(extra));
}

static enum sq_status print_operand(const struct arguments *in, const struct sq_operand_file *t,
                                    size_t i, struct encoded *all, struct sq_error *err)
{
    const struct sq_operand_file_entry *e = &t->entry[i];
    SQ_CLOSED(sq_quant_layer_free) struct sq_quant_layer q = {0};
    struct sq_error why;
    enum sq_status status = sq_format_of_packed()->file->packed->load(t, i, &q, &why);
    if (status != SQ_OK)
        return SQ_FAIL(err, status, "operand '%.60s' is not valid: %.150s",
                       *e->name ? e->name : "(the file)", why.text);
    add_valid(in, e->name, e->n, e->k_orig, e->k, sq_quant_layer_nbits(&q), all);
    return SQ_OK;
}

static enum sq_status inspect_encoded(const struct arguments *in, struct sq_safetensors *file,
                                      struct totals *total, struct sq_error *err)
{
    SQ_CLOSED(sq_operand_file_close) struct sq_operand_file t = {0};
    SQ_TRY(sq_operand_file_adopt(&t, file, err));
    enum sq_status status = SQ_OK;
    struct encoded all = {0};
    char format[64];
    print_file(in, &t.file, total);
    for (size_t i = 0; status == SQ_OK && i < t.n_operands; i++)
        status = print_operand(in, &t, i, &all, err);
    sq_cli_banks_text(&t.format, format);
    if (status == SQ_OK)
        print_encoded(in, sq_format_of_packed()->name, format, sq_cli_banks_json(&t.format), &all,
                      total);
    return status;
}

static enum sq_status inspect_layers(const struct arguments *in, const struct sq_weight_file *f,
                                     struct encoded *all, struct sq_error *err)
{
    for (size_t i = 0; i < f->n_layers; i++) {
        const struct sq_weight_entry *e = &f->layer[i];
        SQ_CLOSED(sq_quant_layer_free) struct sq_quant_layer q = {0};
        SQ_TRY(sq_weight_file_load(f, i, &q, err));
        add_valid(in, e->name, e->n, e->k_orig, e->k, sq_quant_layer_nbits(&q), all);
    }
    return SQ_OK;
}

// A file in another format.
static enum sq_status inspect_system(const struct arguments *in, struct sq_safetensors *file,
                                     struct totals *total, struct sq_error *err)
{
    SQ_CLOSED(sq_weight_file_close) struct sq_weight_file f = {0};
    struct encoded all = {0};
    SQ_TRY(sq_weight_file_adopt(&f, file, err));
    print_file(in, &f.st, total);
    SQ_TRY(inspect_layers(in, &f, &all, err));
    const char *name = f.recipe.format->name;
    print_encoded(in, name, name, json_pack("{s:s}", "format", name), &all, total);
    return SQ_OK;
}

// ---- plain files and directories ------------------------------------------------------------

static json_t *config_json(const struct sq_model_config *c)
{
    const struct sq_cli_column row[] = {
        SQ_KEYS("hidden_size", c->hidden_size, "intermediate_size", c->intermediate_size),
        SQ_KEYS("num_hidden_layers", c->n_layers, "num_attention_heads", c->n_heads),
        SQ_KEYS("num_key_value_heads", c->n_kv_heads, "head_dim", c->head_dim),
        SQ_KEYS("vocab_size", c->vocab_size, "max_position_embeddings", c->max_position),
        SQ_KEYS("rms_norm_eps", c->rms_norm_eps, "rope_theta", c->rope.theta),
        SQ_KEYS("tie_word_embeddings", c->tie_word_embeddings),
        SQ_COLUMNS_END};
    return sq_cli_object(row);
}

static void print_config(const struct arguments *in, json_t *config)
{
    const char *key;
    json_t *value;
    json_object_foreach(config, key, value)
    {
        if (in->is_json)
            break;
        printf("  %s = ", key);
        json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
        printf("\n");
    }
}

// What the layers of a checkpoint are that another program quantized, and which format holds them. NULL of others.
static enum sq_status quantization_json(const struct arguments *in, const char *path, json_t **json,
                                        struct sq_error *err)
{
    SQ_CLOSED(sq_layer_file_close) struct sq_layer_file f = {0};
    char format[96];
    *json = NULL;
    if (!sq_layer_file_is_checkpoint(path))
        return SQ_OK;
    SQ_TRY(sq_layer_file_open(&f, path, NULL, err));
    json_t *notes = json_array(), *layers = json_array();
    for (size_t i = 0; i < f.ck.n_layers; i++) {
        const struct sq_layer *l = &f.ck.layer[i];
        const struct sq_recipe *r = sq_recipe_of_layer(&f.recipe, l->name);
        const bool is_held = !sq_is_as_stored(r);
        sq_recipe_heading(r, format);
        const struct sq_cli_column row[] = {
            SQ_KEYS("layer", l->name, "convention", l->foreign ? l->foreign->what : "plain"),
            SQ_KEYS("format", is_held ? sq_cli_string(format) : sq_cli_string(NULL)),
            SQ_COLUMNS_END};
        json_array_append_new(layers, sq_cli_object(row));
        if (!in->is_json)
            printf("  %-36s %-40s %s\n", l->name, l->foreign ? l->foreign->what : "plain",
                   is_held ? format : "values");
    }
    for (size_t i = 0; i < f.ck.notes.n; i++)
        json_array_append_new(notes, json_string(f.ck.notes.text[i]));
    *json = json_pack("{s:s?, s:o, s:o}", "method", f.ck.method, "layers", layers, "notes", notes);
    sq_cli_note_weights("inspect", &f);
    return SQ_HAVE(*json, err, "%s", sq_path_tail(path));
}

static enum sq_status inspect_directory(const struct arguments *in, const char *path,
                                        struct totals *total, struct sq_error *err)
{
    SQ_CLOSED(sq_checkpoint_close) struct sq_checkpoint ck = {0};
    SQ_TRY(sq_checkpoint_open(&ck, path, err));
    for (size_t i = 0; i < ck.n_shards; i++)
        print_file(in, &ck.shard[i], total);
    json_t *config = config_json(&ck.config), *quantization;
    print_config(in, config);
    const enum sq_status status = quantization_json(in, path, &quantization, err);
    if (status != SQ_OK) {
        json_decref(config);
        return status;
    }
    char kind[96];
    snprintf(kind, sizeof kind, "model of %zu blocks, %zu linear layers, %zu file%s",
             ck.config.n_layers, ck.n_layers, ck.n_shards, ck.n_shards == 1 ? "" : "s");
    const struct sq_cli_column extra[] = {
        SQ_KEYS("linear_layers", ck.n_layers, "shards", ck.n_shards, "config", config),
        SQ_KEY_IF(quantization, "quantization", quantization), SQ_COLUMNS_END};
    print_summary(in, in->is_json ? "model" : kind, total, sq_cli_object(extra));
    return SQ_OK;
}

// ---- GGUF -----------------------------------------------------------------------------------

static void print_value(const struct arguments *in, const struct sq_gguf_value *v, json_t *metadata)
{
    char array[64];
    json_auto_t *j = sq_gguf_json(v);
    snprintf(array, sizeof array, "[%zu %s]", v->n, sq_gguf_type_name(v->type));
    if (in->is_json) {
        json_object_set_new(metadata, v->key, j ? j : json_string(array));
        return;
    }
    printf("  %s = ", v->key);
    if (json_is_string(j))
        sq_put_text(stdout, json_string_value(j));
    else if (j)
        json_dumpf(j, stdout, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
    else
        fputs(array, stdout);
    printf("\n");
}

// Everything in the file, and the config it means, where it is a model that sqsim runs.
static enum sq_status inspect_gguf(const struct arguments *in, const char *path,
                                   struct totals *total, struct sq_error *err)
{
    SQ_CLOSED(sq_gguf_close) struct sq_gguf g = {0};
    struct sq_model_config c;
    struct sq_error why;
    struct sq_cli_table table = {.is_json = in->is_json, .has_head = true}; // without one
    SQ_TRY(sq_gguf_open(&g, path, err));
    for (size_t i = 0; i < g.n_tensors; i++) {
        print_tensor(&table, &g.tensor[i]);
        total->nbytes += g.tensor[i].nbytes;
    }
    total->n_tensors = g.n_tensors;
    for (size_t i = 0; i < g.n_values; i++)
        print_value(in, &g.value[i], total->metadata);
    const bool is_model = sq_gguf_model_config(&g, sq_path_tail(path), &c, &why) == SQ_OK;
    char kind[64];
    snprintf(kind, sizeof kind, "GGUF version %u", g.version);
    json_auto_t *config = is_model ? config_json(&c) : json_object();
    const struct sq_cli_column extra[] = {
        SQ_KEYS("version", g.version, "alignment", g.alignment),
        SQ_KEYS("config", is_model ? json_incref(config) : json_null()),
        SQ_KEY_IF(!is_model, "no_model", why.text), SQ_COLUMNS_END};
    print_config(in, config);
    if (!is_model && !in->is_json)
        printf("  no model that sqsim runs: %s\n", sq_cli_text(why.text));
    print_summary(in, in->is_json ? "gguf" : kind, total, sq_cli_object(extra));
    return SQ_OK;
}

static enum sq_status inspect(const struct arguments *in, const char *path, struct totals *total,
                              struct sq_error *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return inspect_directory(in, path, total, err);
    if (sq_gguf_is(path))
        return inspect_gguf(in, path, total, err);
    struct sq_safetensors file;
    SQ_TRY(sq_safetensors_open(&file, path, err));
    if (sq_operand_file_is_encoded(&file))
        return inspect_encoded(in, &file, total, err);
    if (sq_weight_file_is(&file))
        return inspect_system(in, &file, total, err);
    print_file(in, &file, total);
    json_t *quantization;
    const enum sq_status status = quantization_json(in, path, &quantization, err);
    const struct sq_cli_column extra[] = {SQ_KEY_IF(quantization, "quantization", quantization),
                                          SQ_COLUMNS_END};
    if (status == SQ_OK)
        print_summary(in, "safetensors", total, sq_cli_object(extra));
    sq_safetensors_close(&file);
    return status;
}

// ---- GEMMs ----------------------------------------------------------------------------------

static void print_gemms(const struct sq_workload *w, const struct arguments *in)
{
    struct sq_cli_table table = {.is_json = true};
    long double macs = 0, params = 0; // exact up to 2^64
    for (size_t i = 0; i < w->n; i++) {
        const struct sq_workload_row *r = &w->row[i];
        const long double weights = (long double)r->gemm.n * r->gemm.k * r->count;
        const struct sq_cli_column row[] = {
            SQ_KEYS("layer", r->name, "m", r->gemm.m, "n", r->gemm.n, "k", r->gemm.k),
            SQ_KEYS("count", r->count), SQ_COLUMNS_END};
        sq_cli_put(&table, row);
        params += weights;
        macs += weights * r->gemm.m;
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("phase", phases[in->options.is_decode], "rows", w->n),
        SQ_KEYS("has_lm_head", json_boolean(sq_workload_has_lm_head(w))),
        SQ_KEYS("parameters_used", sq_cli_amount(params), "macs", sq_cli_amount(macs)),
        SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance("shapes", "config.json", 0));
}

static enum sq_status write_table(const struct sq_workload *w, const char *path,
                                  struct sq_error *err)
{
    struct sq_outfile out;
    if (!path) {
        sq_workload_write(w, stdout);
        return SQ_OK;
    }
    SQ_TRY(sq_outfile_open(&out, path, err));
    sq_workload_write(w, out.stream);
    return sq_outfile_commit(&out, err);
}

static enum sq_status list_gemms(const struct arguments *in, struct sq_error *err)
{
    const char *path = sq_cli_model(in->path ? sq_cli_found(in->path, SQ_HOME_CONFIG) : NULL);
    SQ_CLOSED(sq_workload_free) struct sq_workload w = {0};
    struct stat st;
    char inside[4200];
    if (in->has_seq && in->options.is_decode)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "--seq with --phase decode: a sequence has one token there");
    if (in->is_json && in->output)
        return SQ_FAIL(err, SQ_ERR_ARG, "--json and --output given, need one of them");
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        snprintf(inside, sizeof inside, "%.4096s/config.json", path);
        path = inside;
    }
    SQ_TRY(sq_workload_from_config(path, &in->options, &w, err));
    enum sq_status status = SQ_OK;
    if (in->is_json)
        print_gemms(&w, in);
    else
        status = write_table(&w, in->output, err);
    return status;
}

int sq_cmd_inspect(int argc, char **argv)
{
    static const struct sq_cli_line line = {rows, "[FILE|MODEL_DIR]", doc};
    struct arguments in = {.options = {.batch = 1, .seq = 2048}};
    struct sq_error err;
    if (sq_cli_parse(&line, argc, argv, &in, &err) != SQ_OK)
        return sq_cli_fail("inspect", &err);
    struct totals total = {.metadata = json_object()};
    const enum sq_status status =
        in.is_gemms ? list_gemms(&in, &err) : inspect(&in, sq_cli_model(in.path), &total, &err);
    json_decref(total.metadata);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("inspect", &err);
}
