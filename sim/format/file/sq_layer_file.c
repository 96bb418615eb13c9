// SPDX-License-Identifier: Apache-2.0
// Finds out which of the two forms a file has, and loads layers from either (sq_layer_file.h).
#include "sim/format/file/sq_layer_file.h"

#include <string.h>

#include "sim/format/sq_format_ops.h"

// The recipe that the file and the free options say together.
static enum sq_status settle(struct sq_layer_file *f, const struct sq_given *given,
                             struct sq_error *err)
{
    const struct sq_format_ops *ops = f->is_packed ? sq_format_of_packed() : f->other.recipe.format;
    const bool is_told = sq_given_text(given, "act-bits");
    struct sq_recipe told;
    SQ_TRY(sq_format_recipe(ops, SQ_IN_FILE, given, &told, err));
    f->recipe = f->is_packed ? told : f->other.recipe;
    if (f->is_packed)
        ops->file->packed->recipe(&f->packed.format, &f->recipe);
    if (is_told && f->recipe.operand == SQ_OPERAND_WEIGHTS)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "act-bits: operand = weights leaves activations as they are");
    if (is_told) {
        f->recipe.act = told.act;
        f->recipe.is_act_f16 = told.is_act_f16;
    }
    return sq_recipe_check(&f->recipe, err);
}

enum sq_status sq_layer_file_adopt(struct sq_layer_file *f, struct sq_safetensors *st,
                                   const struct sq_given *given, struct sq_error *err)
{
    enum sq_status status = SQ_OK;
    *f = (struct sq_layer_file){.is_packed = !sq_weight_file_is(st)};
    status = f->is_packed ? sq_operand_file_adopt(&f->packed, st, err)
                          : sq_weight_file_adopt(&f->other, st, err);
    if (status == SQ_OK)
        status = settle(f, given, err);
    if (status != SQ_OK)
        sq_layer_file_close(f);
    return status;
}

enum sq_status sq_layer_file_open(struct sq_layer_file *f, const char *path,
                                  const struct sq_given *given, struct sq_error *err)
{
    struct sq_safetensors st;
    *f = (struct sq_layer_file){0};
    SQ_TRY(sq_safetensors_open(&st, path, err));
    return sq_layer_file_adopt(f, &st, given, err);
}

void sq_layer_file_close(struct sq_layer_file *f)
{
    sq_operand_file_close(&f->packed);
    sq_weight_file_close(&f->other);
}

size_t sq_layer_file_count(const struct sq_layer_file *f)
{
    return f->is_packed ? f->packed.n_operands : f->other.n_layers;
}

const char *sq_layer_file_name(const struct sq_layer_file *f, size_t i)
{
    return f->is_packed ? f->packed.entry[i].name : f->other.layer[i].name;
}

enum sq_status sq_layer_file_load(const struct sq_layer_file *f, size_t i, struct sq_quant_layer *q,
                                  struct sq_error *err)
{
    return f->is_packed ? f->recipe.format->file->packed->load(&f->packed, i, q, err)
                        : sq_weight_file_load(&f->other, i, q, err);
}

enum sq_status sq_layer_file_find(const struct sq_layer_file *f, const char *name, size_t n,
                                  size_t k, struct sq_quant_layer *q, struct sq_error *err)
{
    size_t i = 0;
    *q = (struct sq_quant_layer){0};
    while (i < sq_layer_file_count(f) && strcmp(sq_layer_file_name(f, i), name) != 0)
        i++;
    if (i == sq_layer_file_count(f))
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "the file of weights does not hold %.60s", name);
    const size_t has_n = f->is_packed ? f->packed.entry[i].n : f->other.layer[i].n;
    const size_t has_k = f->is_packed ? f->packed.entry[i].k_orig : f->other.layer[i].k_orig;
    if (has_n != n || has_k != k)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "layer %.60s is %zu x %zu in the file, need %zu x %zu",
                       name, has_n, has_k, n, k);
    return sq_layer_file_load(f, i, q, err);
}
