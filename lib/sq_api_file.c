// SPDX-License-Identifier: Apache-2.0
// Files of sqsim.h: encoded layers out and, validated, in.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/sq_api.h"
#include "sim/format/file/sq_operand_file.h"
#include "sim/format/sq_format_ops.h"

enum { NAME_MAX_NBYTES = 255 };

// ---- writing --------------------------------------------------------------------------------

static bool has_same_options(const struct sq_recipe *a, const struct sq_recipe *b)
{
    for (const struct sq_format_option *o = a->format->option; o->name; o++)
        if (o->nbytes && o->kind < SQ_OPTION_REFUSED && sq_option_get(o, a) != sq_option_get(o, b))
            return false;
    return true;
}

static enum sq_status check_layer(const struct sqsim_layer *l, const struct sqsim_layer *first,
                                  const char *name, struct sq_error *err)
{
    SQ_FAIL_IF(l->is_loaded, err, SQ_ERR_UNSUPPORTED, "layer %.60s comes from a file: copy that",
               name);
    SQ_FAIL_IF(!l->recipe.format->file || isnan(sqsim_layer_bits(l)), err, SQ_ERR_UNSUPPORTED,
               "layer %.60s: no packed form of %s exists", name, l->recipe.format->name);
    SQ_FAIL_IF(l->recipe.format != first->recipe.format ||
                   l->recipe.is_smooth != first->recipe.is_smooth ||
                   !has_same_options(&l->recipe, &first->recipe),
               err, SQ_ERR_ARG, "layer %.60s is of another format or other options", name);
    return SQ_OK;
}

static enum sq_status check_names(const char *const *name, size_t n, struct sq_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(name[i]);
        SQ_FAIL_IF(length < 1 || length > NAME_MAX_NBYTES, err, SQ_ERR_RANGE,
                   "name %zu has %zu bytes, need 1..%d", i, length, NAME_MAX_NBYTES);
        for (const char *c = name[i]; *c; c++) // which readers refuse
            SQ_FAIL_IF((unsigned char)*c < 0x20 || *c == 0x7f, err, SQ_ERR_ARG,
                       "name %zu has a control character (byte %d, 0x%02x)", i, (int)(c - name[i]),
                       (unsigned char)*c);
        for (size_t j = 0; j < i; j++)
            SQ_FAIL_IF(strcmp(name[i], name[j]) == 0, err, SQ_ERR_ARG,
                       "two layers are called %.60s", name[i]);
    }
    return SQ_OK;
}

static enum sq_status write_packed(const char *path, const char *const *name,
                                   const sqsim_layer *const *layer, size_t n, struct sq_error *err)
{
    const struct sq_format_packed *packed = layer[0]->recipe.format->file->packed;
    SQ_CLOSED(sq_operand_file_abort) struct sq_operand_file_writer writer = {0};
    const struct sq_operand_file_info info = {
        .format = sq_recipe_banks(&layer[0]->recipe), .producer = "golden", .source = "real"};
    SQ_FREED struct sq_operand_file_item *item = calloc(n, sizeof *item);
    SQ_NEED(item, err, "%zu layers", n);
    for (size_t i = 0; i < n; i++)
        item[i] = (struct sq_operand_file_item){name[i], layer[i]->quant.n, layer[i]->quant.k_orig,
                                                layer[i]->input};
    SQ_TRY(sq_operand_file_begin(&writer, path, &info, item, n, err));
    for (size_t i = 0; i < n; i++)
        SQ_TRY(sq_operand_file_put(&writer, i, packed->operand(layer[i]->quant.state), err));
    return sq_operand_file_commit(&writer, err);
}

static enum sq_status write_other(const char *path, const char *const *name,
                                  const sqsim_layer *const *layer, size_t n, struct sq_error *err)
{
    SQ_FREED struct sq_weight_item *item = calloc(n, sizeof *item);
    SQ_NEED(item, err, "%zu layers", n);
    for (size_t i = 0; i < n; i++)
        item[i] = (struct sq_weight_item){name[i], layer[i]->quant.n, layer[i]->quant.k_orig,
                                          layer[i]->input, &layer[i]->quant};
    return sq_weight_file_write(path, &layer[0]->recipe, "real", item, n, err);
}

static enum sq_status write_file(const char *path, const char *const *name,
                                 const sqsim_layer *const *layer, size_t n, struct sq_error *err)
{
    SQ_FAIL_IF(n < 1, err, SQ_ERR_RANGE, "n_layers = 0, need 1 or more");
    SQ_TRY(check_names(name, n, err));
    for (size_t i = 0; i < n; i++)
        SQ_TRY(check_layer(layer[i], layer[0], name[i], err));
    return sq_recipe_is_packed(&layer[0]->recipe) ? write_packed(path, name, layer, n, err)
                                                  : write_other(path, name, layer, n, err);
}

enum sqsim_status sqsim_file_write(const char *path, const char *const *name,
                                   const sqsim_layer *const *layer, size_t n_layers,
                                   struct sqsim_error *err)
{
    SQ_API_ENTER();
    struct sq_error inner;
    return sq_api_status(write_file(path, name, layer, n_layers, &inner), &inner, err);
}

// ---- reading --------------------------------------------------------------------------------

static enum sq_status open_file(struct sqsim_file *f, const char *path, const char *const *option,
                                struct sq_error *err)
{
    struct sq_safetensors st;
    struct sq_given given;
    SQ_TRY(sq_api_options(option, &given, err));
    for (size_t i = 0; i < given.n; i++)
        SQ_FAIL_IF(strcmp(given.option[i].name, "act-bits") != 0, err, SQ_ERR_ARG,
                   "the file says %.40s; only act-bits is free", given.option[i].name);
    f->path = strdup(path);
    SQ_NEED(f->path, err, "a path");
    SQ_TRY(sq_safetensors_open(&st, path, err));
    if (!sq_weight_file_is(&st) && !sq_operand_file_is_encoded(&st)) {
        sq_safetensors_close(&st);
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "'%s' holds no encoded weights",
                       sq_path_tail(path));
    }
    return sq_layer_file_adopt(&f->layers, &st, &given, err);
}

enum sqsim_status sqsim_file_open(const char *path, const char *const *option, sqsim_file **file,
                                  struct sqsim_error *err)
{
    SQ_API_ENTER();
    SQ_API_MAKE(file, "a file", open_file(*file, path, option, &inner), sqsim_file_close);
}

void sqsim_file_close(sqsim_file *file)
{
    if (!file)
        return;
    sq_layer_file_close(&file->layers);
    SQ_FREE(file->path, file);
}

size_t sqsim_file_n_layers(const sqsim_file *file)
{
    return sq_layer_file_count(&file->layers);
}

const char *sqsim_file_format(const sqsim_file *file)
{
    return file->layers.recipe.format->name;
}

const char *sqsim_file_name(const sqsim_file *file, size_t i)
{
    if (i >= sqsim_file_n_layers(file))
        return NULL;
    return sq_layer_file_name(&file->layers, i);
}

static enum sq_status load(const struct sqsim_file *f, size_t i, struct sqsim_layer *l,
                           struct sq_error *err)
{
    SQ_FAIL_IF(i >= sqsim_file_n_layers(f), err, SQ_ERR_RANGE, "layer = %zu, need 0..%zu", i,
               sqsim_file_n_layers(f) - 1);
    l->recipe = f->layers.recipe;
    l->is_loaded = true;
    return sq_layer_file_load(&f->layers, i, &l->quant, err);
}

enum sqsim_status sqsim_file_load(const sqsim_file *file, size_t i, sqsim_layer **layer,
                                  struct sqsim_error *err)
{
    SQ_API_ENTER();
    SQ_API_MAKE(layer, "a layer", load(file, i, *layer, &inner), free);
}

enum sqsim_status sqsim_validate(const char *path, struct sqsim_error *err)
{
    SQ_API_ENTER();
    sqsim_file *file;
    enum sqsim_status status = sqsim_file_open(path, NULL, &file, err);
    for (size_t i = 0; status == SQSIM_OK && i < sqsim_file_n_layers(file); i++) {
        sqsim_layer *layer;
        status = sqsim_file_load(file, i, &layer, err);
        sqsim_layer_free(layer);
    }
    sqsim_file_close(file);
    return status;
}

enum sqsim_status sqsim_safetensors_check(const char *path, struct sqsim_error *err)
{
    SQ_API_ENTER();
    struct sq_error inner;
    struct sq_safetensors st;
    const enum sq_status status = sq_safetensors_open(&st, path, &inner);
    if (status == SQ_OK)
        sq_safetensors_close(&st);
    return sq_api_status(status, &inner, err);
}
