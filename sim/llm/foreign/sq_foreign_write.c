// SPDX-License-Identifier: Apache-2.0
// Writes encoded layers as compressed-tensors and modelopt do (sq_foreign_write.h).
#include "sim/llm/foreign/sq_foreign_write.h"

#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_json.h"

const char *const sq_foreign_as_choice[] = {"none", "compressed-tensors", "modelopt", "gguf", NULL};

enum { CONFIG_MAX_NBYTES = 16 << 20, PARTS = 5, NAME_SIZE = 320 };

// ---- what there is a place for ------------------------------------------------------------------

enum sq_status sq_foreign_kind(enum sq_foreign_as as, const struct sq_recipe *r,
                               struct sq_adopted *a, struct sq_error *err)
{
    const struct sq_format_adopts *adopts = r->format->file->adopts;
    return adopts && adopts->kind(r, a) && !r->is_smooth && !r->n_rules
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                         "as = %s: it has no place for layers of %s with these options, need "
                         "plain blocks of FP4 or FP8, or integers",
                         sq_foreign_as_choice[as], r->format->name);
}

static enum sq_status kind_of(enum sq_foreign_as as, const struct sq_recipe *r,
                              struct sq_adopted *a, struct sq_error *err)
{
    const char *name = sq_foreign_as_choice[as], *format = r->format->name;
    SQ_TRY(sq_foreign_kind(as, r, a, err));
    const bool is_fp4 = !a->is_integer && a->bits == 4;
    SQ_FAIL_IF(as == SQ_FOREIGN_AS_MODELOPT && !(is_fp4 && a->has_global), err, SQ_ERR_UNSUPPORTED,
               "as = %s: of %s, need blocks of 16 in FP4", name, format);
    SQ_FAIL_IF(a->is_integer ? a->bits != 4 && a->bits != 8
                             : a->element != SQ_ELEMENT_E2M1 && a->element != SQ_ELEMENT_E4M3,
               err, SQ_ERR_UNSUPPORTED,
               "as = %s: of %s with %u bits, need integers of 4 or 8, E2M1 or E4M3", name, format,
               a->bits);
    SQ_FAIL_IF(a->act == SQ_ADOPTED_ACT_INTEGER && a->act_bits != 8, err, SQ_ERR_UNSUPPORTED,
               "as = %s: act-bits = %u, need 8", name, a->act_bits);
    if (a->act == SQ_ADOPTED_ACT_LIKE && a->has_global && a->act_global == 0)
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "as = %s: a scale of each token above the blocks of activations has no place "
            "there, need --act-scale static or --operand weights",
            name);
    return SQ_OK;
}

enum sq_status sq_foreign_write_check(enum sq_foreign_as as, const struct sq_recipe *r,
                                      struct sq_error *err)
{
    struct sq_adopted a;
    return kind_of(as, r, &a, err);
}

// ---- tensors ----------------------------------------------------------------------------------

// All of them on the way out. Names and what is converted belong to `own`, up to n_own.
struct output {
    enum sq_foreign_as as;
    struct sq_adopted kind;
    struct sq_tensor *tensor;
    size_t n;
    void **own;
    size_t n_own, room;
    size_t n_rounded;
    struct sq_error *err;
};

static void *keep(struct output *o, void *memory)
{
    if (memory)
        o->own[o->n_own++] = memory;
    return memory;
}

// One more tensor under LAYER.part; data stays the caller's.
static enum sq_status add(struct output *o, const char *layer, const char *part,
                          enum sq_dtype dtype, unsigned n_dims, size_t rows, size_t columns,
                          const void *data)
{
    const size_t nbytes = strlen(layer) + strlen(part) + 1;
    char *name = keep(o, malloc(nbytes));
    SQ_NEED(name, o->err, "a name");
    snprintf(name, nbytes, "%s%s", layer, part);
    o->tensor[o->n] = (struct sq_tensor){
        .name = name, .dtype = dtype, .n_dims = n_dims, .dim = {rows, columns}, .data = data};
    return sq_tensor_derive("the file", &o->tensor[o->n++], o->err);
}

// A number as a tensor of its own.
static enum sq_status add_number(struct output *o, const char *layer, const char *part, float v)
{
    float *number = keep(o, malloc(sizeof *number));
    SQ_NEED(number, o->err, "a number");
    *number = v;
    return add(o, layer, part, SQ_F32, o->as == SQ_FOREIGN_AS_MODELOPT ? 0 : 1, 1, 0, number);
}

// The number whose reciprocal in binary32 is v, or is next to it; counts the latter.
static float reciprocal(struct output *o, float v)
{
    const float r = 1 / v;
    const float near[] = {r, nextafterf(r, 0), nextafterf(r, INFINITY)};
    for (size_t i = 0; i < 3; i++)
        if (1 / near[i] == v)
            return near[i];
    o->n_rounded++;
    return r;
}

static enum sq_status add_global(struct output *o, const char *layer, float weight, float act)
{
    const bool is_reciprocal = o->as == SQ_FOREIGN_AS_COMPRESSED_TENSORS;
    SQ_TRY(is_reciprocal ? add_number(o, layer, ".weight_global_scale", reciprocal(o, weight))
                         : add_number(o, layer, ".weight_scale_2", weight));
    if (act == 0)
        return SQ_OK;
    return is_reciprocal ? add_number(o, layer, ".input_global_scale", reciprocal(o, act))
                         : add_number(o, layer, ".input_scale", act);
}

// Codes of 4 or 8 bits in two's complement with half of their range added, as words hold them; integers of 8 bits beside
// integers of 8 are bytes as they are.
static enum sq_status add_integers(struct output *o, const struct sq_layer *l, const uint8_t *code)
{
    const bool is_nibbles = o->kind.bits == 4;
    const size_t columns = l->k / (is_nibbles ? 8 : 4), nbytes = 4 * l->n * columns;
    if (!is_nibbles && o->kind.act != SQ_ADOPTED_ACT_NONE)
        return add(o, l->name, ".weight", SQ_I8, 2, l->n, l->k, code);
    uint8_t *words = keep(o, malloc(nbytes));
    int64_t *shape = keep(o, malloc(2 * sizeof *shape));
    SQ_NEED(words && shape, o->err, "layer %.60s", l->name);
    for (size_t i = 0; i < nbytes; i++)
        words[i] = code[i] ^ (is_nibbles ? 0x88 : 0x80);
    shape[0] = (int64_t)l->n;
    shape[1] = (int64_t)l->k;
    SQ_TRY(add(o, l->name, ".weight_packed", SQ_I32, 2, l->n, columns, words));
    return add(o, l->name, ".weight_shape", SQ_I64, 1, 2, 0, shape);
}

const void *sq_foreign_part(const struct sq_quant_layer *q, const char *name)
{
    struct sq_part part[SQ_PARTS_MAX];
    const size_t n = q->format->file->parts(q->state, part);
    for (size_t i = 0; name && i < n; i++)
        if (strcmp(part[i].name, name) == 0)
            return part[i].data;
    return NULL;
}

static enum sq_status add_layer(struct output *o, const struct sq_layer *l,
                                const struct sq_quant_layer *q)
{
    const struct sq_format_adopts *names = q->format->file->adopts;
    const struct sq_adopted *a = &o->kind;
    const uint8_t *code = sq_foreign_part(q, names->code);
    const void *scale = sq_foreign_part(q, names->scale);
    const float *global = sq_foreign_part(q, names->global);
    const float *act = sq_foreign_part(q, names->act_global);
    const size_t group = a->has_row_scale ? l->k : a->group;
    if (q->k != l->k || (a->is_integer && l->k % 8 != 0))
        return SQ_FAIL(o->err, SQ_ERR_SHAPE, "layer %.60s: K = %zu, need a multiple of %zu",
                       l->name, l->k, a->has_row_scale ? 8 : group);
    if (a->is_integer)
        SQ_TRY(add_integers(o, l, code));
    else if (a->bits == 4)
        SQ_TRY(add(o, l->name, o->as == SQ_FOREIGN_AS_MODELOPT ? ".weight" : ".weight_packed",
                   SQ_U8, 2, l->n, l->k / 2, code));
    else
        SQ_TRY(add(o, l->name, ".weight", SQ_F8_E4M3, 2, l->n, l->k, code));
    SQ_TRY(add(o, l->name, ".weight_scale",
               a->scale_type == SQ_ADOPTED_BINARY32 ? SQ_F32
               : a->scale_type == SQ_ADOPTED_E4M3   ? SQ_F8_E4M3
                                                    : SQ_U8,
               2, l->n, l->k / group, scale));
    return a->has_global ? add_global(o, l->name, *global, act ? *act : 0) : SQ_OK;
}

bool sq_foreign_is_of_layer(const struct sq_checkpoint *ck, const struct sq_tensor *t)
{
    for (size_t i = 0; i < ck->n_layers; i++) {
        const struct sq_foreign_layer *f = ck->layer[i].foreign;
        for (size_t j = 0; f && f->used[j]; j++)
            if (f->used[j] == t)
                return true;
        if (ck->layer[i].weight == t)
            return true;
    }
    return false;
}

static int by_size(const void *a, const void *b)
{
    const struct sq_tensor *x = a, *y = b;
    const size_t s = sq_dtype_nbytes(x->dtype), t = sq_dtype_nbytes(y->dtype);
    return s != t ? (s < t) - (s > t) : strcmp(x->name, y->name);
}

// Everything but the layers as it is, then the layers.
static enum sq_status collect(struct output *o, const struct sq_checkpoint *ck,
                              const struct sq_quant_layer *layer)
{
    size_t n = PARTS * ck->n_layers;
    for (size_t s = 0; s < ck->n_shards; s++)
        n += ck->shard[s].n_tensors;
    o->tensor = calloc(n, sizeof *o->tensor);
    o->own = calloc(4 * PARTS * ck->n_layers, sizeof *o->own);
    SQ_NEED(o->tensor && o->own, o->err, "%zu tensors", n);
    for (size_t s = 0; s < ck->n_shards; s++)
        for (size_t i = 0; i < ck->shard[s].n_tensors; i++)
            if (!sq_foreign_is_of_layer(ck, &ck->shard[s].tensor[i]))
                o->tensor[o->n++] = ck->shard[s].tensor[i];
    for (size_t i = 0; i < ck->n_layers; i++)
        SQ_TRY(add_layer(o, &ck->layer[i], &layer[i]));
    qsort(o->tensor, o->n, sizeof *o->tensor, by_size);
    return SQ_OK;
}

// ---- config -----------------------------------------------------------------------------------

static const char *form_of(const struct sq_adopted *a)
{
    if (a->is_integer)
        return a->bits == 8 && a->act != SQ_ADOPTED_ACT_NONE ? "int-quantized" : "pack-quantized";
    return a->bits == 8    ? "mxfp8-quantized"
           : a->has_global ? "nvfp4-pack-quantized"
                           : "mxfp4-pack-quantized";
}

static json_t *weights_json(const struct sq_adopted *a)
{
    json_t *w = json_pack("{s:i, s:s, s:b, s:b}", "num_bits", (int)a->bits, "type",
                          a->is_integer ? "int" : "float", "symmetric", 1, "dynamic", 0);
    json_object_set_new(w, "strategy",
                        json_string(a->has_row_scale ? "channel"
                                    : a->has_global  ? "tensor_group"
                                                     : "group"));
    json_object_set_new(w, "group_size",
                        a->has_row_scale ? json_null() : json_integer((json_int_t)a->group));
    if (a->scale_type == SQ_ADOPTED_E8M0)
        json_object_set_new(w, "scale_dtype", json_string("torch.uint8"));
    if (a->scale_type == SQ_ADOPTED_E4M3)
        json_object_set_new(w, "scale_dtype", json_string("torch.float8_e4m3fn"));
    return w;
}

static json_t *act_json(const struct sq_adopted *a)
{
    if (a->act == SQ_ADOPTED_ACT_NONE)
        return json_null();
    if (a->act == SQ_ADOPTED_ACT_INTEGER)
        return json_pack("{s:i, s:s, s:b, s:s, s:b}", "num_bits", (int)a->act_bits, "type", "int",
                         "symmetric", 1, "strategy", "token", "dynamic", 1);
    json_t *like = weights_json(a);
    json_object_set_new(like, "dynamic", a->has_global ? json_string("local") : json_true());
    return like;
}

static json_t *quantization_json(enum sq_foreign_as as, const struct sq_adopted *a)
{
    if (as == SQ_FOREIGN_AS_MODELOPT)
        return json_pack("{s:s, s:s, s:i, s:[s], s:n}", "quant_method", "modelopt", "quant_algo",
                         a->act == SQ_ADOPTED_ACT_NONE ? "W4A16_NVFP4" : "NVFP4", "group_size",
                         (int)a->group, "ignore", "lm_head", "kv_cache_scheme");
    return json_pack("{s:s, s:s, s:s, s:[s], s:n, s:{s:{s:[s], s:o, s:o, s:n}}}", "quant_method",
                     "compressed-tensors", "format", form_of(a), "quantization_status",
                     "compressed", "ignore", "lm_head", "kv_cache_scheme", "config_groups",
                     "group_0", "targets", "Linear", "weights", weights_json(a),
                     "input_activations", act_json(a), "output_activations");
}

static enum sq_status path_of(const char *dir, const char *file, char path[4200],
                              struct sq_error *err)
{
    return snprintf(path, 4200, "%s/%s", dir, file) < 4200
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_RANGE, "output: a name of more than 4200 bytes");
}

// Whether a file of the model is no link, or one into the store that huggingface_hub keeps its files in.
static bool is_own(const char *model, const char *path)
{
    struct stat st;
    char folder[PATH_MAX], target[PATH_MAX], store[PATH_MAX + 8];
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode))
        return true;
    if (!realpath(model, folder) || !realpath(path, target))
        return false;
    char *const snapshots = dirname(folder);
    char *const slash = strrchr(snapshots, '/');
    if (!slash || strcmp(slash, "/snapshots") != 0)
        return false;
    *slash = '\0';
    snprintf(store, sizeof store, "%s/blobs", folder);
    return strcmp(dirname(target), store) == 0;
}

// The config of the model, with what is now true of its weights.
static enum sq_status write_config(const struct output *o, const char *dir, const char *model,
                                   struct sq_error *err)
{
    char path[4200];
    json_t *root;
    SQ_TRY(path_of(model, "config.json", path, err));
    SQ_FAIL_IF(!is_own(model, path), err, SQ_ERR_IO,
               "as = %s: config.json of MODEL is a link, need a file", sq_foreign_as_choice[o->as]);
    SQ_TRY(sq_json_load(path, CONFIG_MAX_NBYTES, &root, err));
    json_object_del(root, "compression_config");
    json_object_set_new(root, "quantization_config", quantization_json(o->as, &o->kind));
    SQ_FREED char *text = json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    SQ_NEED(text, err, "config.json");
    SQ_TRY(path_of(dir, "config.json", path, err));
    return sq_outfile_write(path, text, strlen(text), err);
}

// What programs want beside the weights, and the tokens of sqsim, where the model has them and the folder does not.
static enum sq_status copy_others(const char *dir, const char *model,
                                  struct sq_foreign_written *written, struct sq_error *err)
{
    static const char *const name[] = {"tokenizer.json",
                                       "tokenizer_config.json",
                                       "tokenizer.model",
                                       "special_tokens_map.json",
                                       "vocab.json",
                                       "merges.txt",
                                       "chat_template.jinja",
                                       "generation_config.json",
                                       "tokens_calib.safetensors",
                                       "tokens_eval.safetensors",
                                       NULL};
    char from[4200], to[4200];
    struct sq_file_view map;
    for (size_t i = 0; name[i]; i++) {
        SQ_TRY(path_of(model, name[i], from, err));
        SQ_TRY(path_of(dir, name[i], to, err));
        if (access(from, F_OK) != 0 || access(to, F_OK) == 0)
            continue;
        if (!is_own(model, from)) {
            const size_t n = strlen(written->links);
            snprintf(written->links + n, sizeof written->links - n, "%s%s", n ? ", " : "", name[i]);
            continue;
        }
        SQ_TRY(sq_file_map(from, &map, err));
        const enum sq_status status = sq_outfile_write(to, map.data, map.nbytes, err);
        sq_file_unmap(&map);
        SQ_TRY(status);
    }
    return SQ_OK;
}

enum sq_status sq_foreign_write(enum sq_foreign_as as, const char *dir, const char *model,
                                const struct sq_checkpoint *ck, const struct sq_recipe *r,
                                const struct sq_quant_layer *layer,
                                struct sq_foreign_written *written, struct sq_error *err)
{
    static const struct sq_metadata metadata[] = {{"format", "pt"}};
    struct output o = {.as = as, .err = err};
    char path[4200];
    *written = (struct sq_foreign_written){0};
    SQ_FAIL_IF(!ck->is_model || !ck->n_shards, err, SQ_ERR_UNSUPPORTED,
               "as = %s: MODEL must be a directory with config.json", sq_foreign_as_choice[as]);
    SQ_TRY(kind_of(as, r, &o.kind, err));
    sq_outset_begin();
    enum sq_status status = collect(&o, ck, layer);
    SQ_THEN(status, path_of(dir, "model.safetensors", path, err));
    SQ_THEN(status, sq_safetensors_write(path, o.tensor, o.n, metadata, 1, err));
    SQ_THEN(status, write_config(&o, dir, model, err));
    SQ_THEN(status, copy_others(dir, model, written, err));
    status = sq_outset_end(status, err);
    for (size_t i = 0; i < o.n_own; i++)
        free(o.own[i]);
    SQ_FREE(o.own, o.tensor);
    written->n_rounded = o.n_rounded;
    return status;
}
