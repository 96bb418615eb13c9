// SPDX-License-Identifier: Apache-2.0
// sqsim inspect: what a safetensors or GGUF file, an encoded model or a model directory holds.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/cli/sq_cli_core.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_operand_file.h"
#include "sim/format/sq_weight_file.h"
#include "sim/io/sq_quote.h"
#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/sq_gguf_model.h"

struct arguments {
    const char *path; // NULL: the embedded model
    bool is_json;
};

#define AT(field) SQ_CLI_AT(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per tensor and operand, the summary last"),
    SQ_CLI_ARGUMENT("FILE", AT(path)), SQ_CLI_END};

static const char doc[] =
    "Lists tensors, shapes, dtypes, bytes and metadata of a safetensors file, a GGUF file or a "
    "Hugging Face model directory (default: the embedded traces/tiny-llama). An encoded file is "
    "validated as well: "
    "format, stored bits per weight, every bank.\v"
    "Examples:\n"
    "  sqsim inspect\n"
    "  sqsim inspect llama.sq.safetensors\n"
    "  sqsim inspect ~/models/Llama-3.2-1B --json\n"
    "  sqsim inspect SmolLM2-135M-Instruct.Q4_1.gguf\n";

// ---- tensors and metadata -------------------------------------------------------------------

static void print_tensor(const struct arguments *in, const struct sq_tensor *t)
{
    if (in->is_json) {
        json_t *o = json_object(), *shape = json_array();
        for (unsigned i = 0; i < t->n_dims; i++)
            json_array_append_new(shape, json_integer((json_int_t)t->dim[i]));
        json_object_set_new(o, "tensor", json_string(t->name));
        json_object_set_new(o, "dtype", json_string(sq_dtype_name(t->dtype)));
        json_object_set_new(o, "shape", shape);
        json_object_set_new(o, "bytes", json_integer((json_int_t)t->nbytes));
        sq_cli_json_line(o);
        return;
    }
    printf("%-52s %-4s %12zu  [", t->name, sq_dtype_name(t->dtype), t->nbytes);
    for (unsigned i = 0; i < t->n_dims; i++)
        printf("%s%llu", i ? ", " : "", (unsigned long long)t->dim[i]);
    printf("]\n");
}

struct totals {
    size_t n_tensors, nbytes;
    json_t *metadata;
};

static void print_file(const struct arguments *in, const struct sq_safetensors *st,
                       struct totals *total)
{
    for (size_t i = 0; i < st->n_tensors; i++) {
        print_tensor(in, &st->tensor[i]);
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
    if (!in->is_json) {
        printf("%s: %zu tensors, %zu bytes\n", kind, total->n_tensors, total->nbytes);
        json_decref(extra);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "summary", json_true());
    json_object_set_new(o, "kind", json_string(kind));
    json_object_set_new(o, "tensors", json_integer((json_int_t)total->n_tensors));
    json_object_set_new(o, "bytes", json_integer((json_int_t)total->nbytes));
    json_object_set(o, "metadata", total->metadata);
    json_object_update(o, extra);
    json_object_set_new(o, "provenance", sq_cli_provenance(NULL, "read", 0));
    json_decref(extra);
    sq_cli_json_line(o);
}

// ---- encoded files --------------------------------------------------------------------------

// One operand that was found valid.
static void print_valid(const struct arguments *in, const char *name, size_t n, size_t k_orig,
                        size_t k, double per_weight)
{
    if (!in->is_json) {
        printf("%-36s %6zu x %-6zu padded to %zu, %.4f stored bits per weight, valid\n",
               *name ? name : "(the file)", n, k_orig, k, per_weight);
        return;
    }
    json_t *j = json_object();
    json_object_set_new(j, "operand", sq_cli_json_text(name));
    json_object_set_new(j, "n", json_integer((json_int_t)n));
    json_object_set_new(j, "k", json_integer((json_int_t)k_orig));
    json_object_set_new(j, "k_padded", json_integer((json_int_t)k));
    json_object_set_new(j, "stored_bits_per_weight", json_real(per_weight));
    json_object_set_new(j, "valid", json_true());
    sq_cli_json_line(j);
}

static enum sq_status print_operand(const struct arguments *in, const struct sq_operand_file *t,
                                    size_t i, double *bits, double *weights, struct sq_error *err)
{
    const struct sq_operand_file_entry *e = &t->entry[i];
    struct sq_quant_layer q;
    struct sq_error why;
    enum sq_status status = sq_format_of_packed()->file->packed->load(t, i, &q, &why);
    if (status != SQ_OK)
        return SQ_FAIL(err, status, "operand '%.60s' is not valid: %.150s",
                       *e->name ? e->name : "(the file)", why.text);
    const double nbits = sq_quant_layer_nbits(&q), size = (double)e->n * (double)e->k_orig;
    *bits += nbits;
    *weights += size;
    sq_quant_layer_free(&q);
    print_valid(in, e->name, e->n, e->k_orig, e->k, nbits / size);
    return SQ_OK;
}

static enum sq_status inspect_encoded(const struct arguments *in, struct sq_safetensors *file,
                                      struct totals *total, struct sq_error *err)
{
    struct sq_operand_file t;
    SQ_TRY(sq_operand_file_adopt(&t, file, err));
    enum sq_status status = SQ_OK;
    double bits = 0, weights = 0;
    print_file(in, &t.file, total);
    for (size_t i = 0; status == SQ_OK && i < t.n_operands; i++)
        status = print_operand(in, &t, i, &bits, &weights, err);
    if (status == SQ_OK) {
        json_t *extra = json_object();
        sq_cli_banks_json(&t.format, extra);
        json_object_set_new(extra, "operands", json_integer((json_int_t)t.n_operands));
        json_object_set_new(extra, "stored_bits_per_weight", json_real(bits / weights));
        json_object_set_new(extra, "valid", json_true());
        char format[64], kind[160];
        sq_cli_banks_text(&t.format, format);
        snprintf(kind, sizeof kind, "%s, %zu operands, %.4f stored bits per weight, valid", format,
                 t.n_operands, bits / weights);
        print_summary(in, in->is_json ? sq_format_of_packed()->name : kind, total, extra);
    }
    sq_operand_file_close(&t);
    return status;
}

static enum sq_status inspect_layers(const struct arguments *in, const struct sq_weight_file *f,
                                     double *bits, double *weights, struct sq_error *err)
{
    for (size_t i = 0; i < f->n_layers; i++) {
        const struct sq_weight_entry *e = &f->layer[i];
        const double size = (double)e->n * (double)e->k_orig;
        struct sq_quant_layer q;
        SQ_TRY(sq_weight_file_load(f, i, &q, err));
        const double nbits = sq_quant_layer_nbits(&q);
        sq_quant_layer_free(&q);
        *bits += nbits;
        *weights += size;
        print_valid(in, e->name, e->n, e->k_orig, e->k, nbits / size);
    }
    return SQ_OK;
}

// A file in another format.
static enum sq_status inspect_system(const struct arguments *in, struct sq_safetensors *file,
                                     struct totals *total, struct sq_error *err)
{
    struct sq_weight_file f;
    double bits = 0, weights = 0;
    SQ_TRY(sq_weight_file_adopt(&f, file, err));
    print_file(in, &f.st, total);
    const enum sq_status status = inspect_layers(in, &f, &bits, &weights, err);
    if (status == SQ_OK) {
        const char *name = f.recipe.format->name;
        json_t *extra = json_object();
        char kind[160];
        json_object_set_new(extra, "format", sq_cli_json_text(name));
        json_object_set_new(extra, "operands", json_integer((json_int_t)f.n_layers));
        json_object_set_new(extra, "stored_bits_per_weight", json_real(bits / weights));
        json_object_set_new(extra, "valid", json_true());
        snprintf(kind, sizeof kind, "%s, %zu operands, %.4f stored bits per weight, valid", name,
                 f.n_layers, bits / weights);
        print_summary(in, in->is_json ? name : kind, total, extra);
    }
    sq_weight_file_close(&f);
    return status;
}

// ---- plain files and directories ------------------------------------------------------------

static json_t *config_json(const struct sq_model_config *c)
{
    json_t *o = json_object();
    json_object_set_new(o, "hidden_size", json_integer((json_int_t)c->hidden_size));
    json_object_set_new(o, "intermediate_size", json_integer((json_int_t)c->intermediate_size));
    json_object_set_new(o, "num_hidden_layers", json_integer((json_int_t)c->n_layers));
    json_object_set_new(o, "num_attention_heads", json_integer((json_int_t)c->n_heads));
    json_object_set_new(o, "num_key_value_heads", json_integer((json_int_t)c->n_kv_heads));
    json_object_set_new(o, "head_dim", json_integer((json_int_t)c->head_dim));
    json_object_set_new(o, "vocab_size", json_integer((json_int_t)c->vocab_size));
    json_object_set_new(o, "max_position_embeddings", json_integer((json_int_t)c->max_position));
    json_object_set_new(o, "rms_norm_eps", json_real(c->rms_norm_eps));
    json_object_set_new(o, "rope_theta", json_real(c->rope.theta));
    json_object_set_new(o, "tie_word_embeddings", json_boolean(c->tie_word_embeddings));
    return o;
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

static enum sq_status inspect_directory(const struct arguments *in, const char *path,
                                        struct totals *total, struct sq_error *err)
{
    struct sq_checkpoint ck;
    SQ_TRY(sq_checkpoint_open(&ck, path, err));
    for (size_t i = 0; i < ck.n_shards; i++)
        print_file(in, &ck.shard[i], total);
    json_t *config = config_json(&ck.config), *extra = json_object();
    print_config(in, config);
    char kind[96];
    snprintf(kind, sizeof kind, "model of %zu blocks, %zu linear layers, %zu file%s",
             ck.config.n_layers, ck.n_layers, ck.n_shards, ck.n_shards == 1 ? "" : "s");
    json_object_set_new(extra, "linear_layers", json_integer((json_int_t)ck.n_layers));
    json_object_set_new(extra, "shards", json_integer((json_int_t)ck.n_shards));
    json_object_set_new(extra, "config", config);
    print_summary(in, in->is_json ? "model" : kind, total, extra);
    sq_checkpoint_close(&ck);
    return SQ_OK;
}

// ---- GGUF -----------------------------------------------------------------------------------

static void print_value(const struct arguments *in, const struct sq_gguf_value *v, json_t *metadata)
{
    char array[64];
    json_t *j = sq_gguf_json(v);
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
    json_decref(j);
}

// Everything in the file, and the config it means, where it is a model that sqsim runs.
static enum sq_status inspect_gguf(const struct arguments *in, const char *path,
                                   struct totals *total, struct sq_error *err)
{
    struct sq_gguf g;
    struct sq_model_config c;
    struct sq_error why;
    SQ_TRY(sq_gguf_open(&g, path, err));
    for (size_t i = 0; i < g.n_tensors; i++) {
        print_tensor(in, &g.tensor[i]);
        total->nbytes += g.tensor[i].nbytes;
    }
    total->n_tensors = g.n_tensors;
    for (size_t i = 0; i < g.n_values; i++)
        print_value(in, &g.value[i], total->metadata);
    const bool is_model = sq_gguf_model_config(&g, sq_path_tail(path), &c, &why) == SQ_OK;
    char kind[64];
    snprintf(kind, sizeof kind, "GGUF version %u", g.version);
    json_t *extra = json_object(), *config = is_model ? config_json(&c) : json_object();
    json_object_set_new(extra, "version", json_integer(g.version));
    json_object_set_new(extra, "alignment", json_integer((json_int_t)g.alignment));
    print_config(in, config);
    json_object_set_new(extra, "config", is_model ? json_incref(config) : json_null());
    if (!is_model) {
        json_object_set_new(extra, "no_model", sq_cli_json_text(why.text));
        if (!in->is_json) {
            printf("  no model that sqsim runs: ");
            sq_put_text(stdout, why.text);
            printf("\n");
        }
    }
    print_summary(in, in->is_json ? "gguf" : kind, total, extra);
    json_decref(config);
    sq_gguf_close(&g);
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
    print_summary(in, "safetensors", total, json_object());
    sq_safetensors_close(&file);
    return SQ_OK;
}

int sq_cmd_inspect(int argc, char **argv)
{
    static const struct sq_cli_line line = {rows, "[FILE|MODEL_DIR]", doc};
    struct arguments in = {0};
    struct sq_error err;
    if (sq_cli_parse(&line, argc, argv, &in, &err) != SQ_OK)
        return sq_cli_fail("inspect", &err);
    char *embedded = sq_cli_home_path("traces/tiny-llama");
    struct totals total = {.metadata = json_object()};
    enum sq_status status = inspect(&in, in.path ? in.path : embedded, &total, &err);
    json_decref(total.metadata);
    free(embedded);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("inspect", &err);
}
