// SPDX-License-Identifier: Apache-2.0
// Finds out which form a file has, and loads layers from each (sq_layer_file.h).
#include "sim/llm/sq_layer_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/format/sq_format_ops.h"
#include "sim/llm/foreign/sq_as_stored.h"

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
    SQ_FAIL_IF(is_told && f->recipe.operand == SQ_OPERAND_WEIGHTS, err, SQ_ERR_ARG,
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
    SQ_THEN(status, settle(f, given, err));
    return SQ_ELSE(status, sq_layer_file_close(f));
}

// ---- checkpoints of other programs -------------------------------------------------------------

// A name as the pattern that only it matches.
static bool put_pattern(char pattern[SQ_LAYER_PATTERN_MAX], const char *name)
{
    size_t n = 0;
    for (; *name && n + 3 < SQ_LAYER_PATTERN_MAX; name++) {
        if (strchr("*?[\\", *name))
            pattern[n++] = '\\';
        pattern[n++] = *name;
    }
    pattern[n] = '\0';
    return *name == '\0';
}

static bool is_same(const struct sq_recipe *a, const struct sq_recipe *b)
{
    return a->format == b->format && a->operand == b->operand && a->group == b->group &&
           a->act.low_bits == b->act.low_bits &&
           memcmp(a->options, b->options, sizeof a->options) == 0;
}

// What is done with activations, where it is said: operand, and beside weights of integers act-bits.
static enum sq_status take_given(const struct sq_given *given, struct sq_recipe *r,
                                 struct sq_error *err)
{
    const char *operand = given ? sq_given_text(given, "operand") : NULL;
    struct sq_given rest = {0};
    struct sq_recipe told;
    for (size_t i = 0; given && i < given->n; i++)
        if (given->option[i].text != operand)
            rest.option[rest.n++] = given->option[i];
    SQ_FAIL_IF(operand && strcmp(operand, "both") != 0 && strcmp(operand, "weights") != 0, err,
               SQ_ERR_ARG, "operand = %.20s, need both or weights", operand);
    if (sq_is_as_stored(r))
        return SQ_OK;
    if (operand)
        r->operand = strcmp(operand, "both") == 0 ? SQ_OPERAND_BOTH : SQ_OPERAND_WEIGHTS;
    if (rest.n == 0)
        return sq_recipe_check(r, err);
    SQ_TRY(sq_format_recipe(r->format, SQ_IN_FILE, &rest, &told, err));
    r->operand = SQ_OPERAND_BOTH;
    r->act = told.act;
    r->is_act_f16 = told.is_act_f16;
    return sq_recipe_check(r, err);
}

// The recipe of layer i, as a rule.
static enum sq_status read_rule(struct sq_layer_file *f, size_t i, const struct sq_given *given,
                                struct sq_layer_rule *rule, struct sq_error *err)
{
    const char *name = f->ck.layer[i].name, *why;
    SQ_TRY(sq_checkpoint_recipe(&f->ck, i, &rule->recipe, &why, err));
    SQ_TRY(take_given(given, &rule->recipe, err));
    if (sq_is_as_stored(&rule->recipe) && f->n_as_stored++ == 0)
        snprintf(f->why, sizeof f->why, "%.80s: %.70s", name, why);
    return put_pattern(rule->pattern, name)
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_RANGE, "layer '%.80s': its name has more than %d characters",
                         name, SQ_LAYER_PATTERN_MAX - 3);
}

// The recipe of the first layer that some format holds, and a rule for each layer that is another.
static enum sq_status list_recipes(struct sq_layer_file *f, const struct sq_given *given,
                                   struct sq_error *err)
{
    const size_t n = f->ck.n_layers;
    f->rule = calloc(n, sizeof *f->rule);
    SQ_NEED(f->rule, err, "%zu layers", n);
    f->recipe = sq_as_stored_recipe();
    for (size_t i = 0; i < n; i++) {
        SQ_TRY(read_rule(f, i, given, &f->rule[i], err));
        if (sq_is_as_stored(&f->recipe))
            f->recipe = f->rule[i].recipe;
    }
    for (size_t i = 0; i < n; i++)
        if (!is_same(&f->rule[i].recipe, &f->recipe))
            f->rule[f->recipe.n_rules++] = f->rule[i];
    f->recipe.rule = f->rule;
    return SQ_OK;
}

static bool is_checkpoint_path(const char *path)
{
    struct stat st;
    return (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) || sq_gguf_is(path);
}

static enum sq_status open_checkpoint(struct sq_layer_file *f, const char *path,
                                      const struct sq_given *given, struct sq_error *err)
{
    f->is_checkpoint = true;
    enum sq_status status = sq_checkpoint_open(&f->ck, path, err);
    if (status == SQ_OK && !sq_checkpoint_is_quantized(&f->ck))
        status = SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "'%s' holds plain weights, need encoded layers",
                         sq_path_tail(path));
    SQ_THEN(status, list_recipes(f, given, err));
    return SQ_ELSE(status, sq_layer_file_close(f));
}

bool sq_layer_file_is_checkpoint(const char *path)
{
    SQ_CLOSED(sq_checkpoint_close) struct sq_checkpoint ck = {0};
    if (sq_checkpoint_open(&ck, path, NULL) != SQ_OK)
        return false;
    const bool is_quantized = sq_checkpoint_is_quantized(&ck);
    return is_quantized;
}

// ---- either ------------------------------------------------------------------------------------

enum sq_status sq_layer_file_open(struct sq_layer_file *f, const char *path,
                                  const struct sq_given *given, struct sq_error *err)
{
    struct sq_safetensors st;
    *f = (struct sq_layer_file){0};
    if (is_checkpoint_path(path))
        return open_checkpoint(f, path, given, err);
    SQ_TRY(sq_safetensors_open(&st, path, err));
    if (!sq_weight_file_is(&st) && !sq_operand_file_is_encoded(&st) &&
        sq_layer_file_is_checkpoint(path)) {
        sq_safetensors_close(&st);
        return open_checkpoint(f, path, given, err);
    }
    return sq_layer_file_adopt(f, &st, given, err);
}

void sq_layer_file_close(struct sq_layer_file *f)
{
    sq_operand_file_close(&f->packed);
    sq_weight_file_close(&f->other);
    sq_checkpoint_close(&f->ck);
    free(f->rule);
    *f = (struct sq_layer_file){0};
}

size_t sq_layer_file_count(const struct sq_layer_file *f)
{
    return f->is_checkpoint ? f->ck.n_layers
           : f->is_packed   ? f->packed.n_operands
                            : f->other.n_layers;
}

const char *sq_layer_file_name(const struct sq_layer_file *f, size_t i)
{
    return f->is_checkpoint ? f->ck.layer[i].name
           : f->is_packed   ? f->packed.entry[i].name
                            : f->other.layer[i].name;
}

enum sq_status sq_layer_file_load(const struct sq_layer_file *f, size_t i, struct sq_quant_layer *q,
                                  struct sq_error *err)
{
    if (f->is_checkpoint)
        return sq_checkpoint_encoded(&f->ck, i, sq_recipe_of_layer(&f->recipe, f->ck.layer[i].name),
                                     q, err);
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
    SQ_FAIL_IF(i == sq_layer_file_count(f), err, SQ_ERR_DAMAGED,
               "the file of weights does not hold %.60s", name);
    const size_t has_n = f->is_checkpoint ? f->ck.layer[i].n
                         : f->is_packed   ? f->packed.entry[i].n
                                          : f->other.layer[i].n;
    const size_t has_k = f->is_checkpoint ? f->ck.layer[i].k
                         : f->is_packed   ? f->packed.entry[i].k_orig
                                          : f->other.layer[i].k_orig;
    SQ_FAIL_IF(has_n != n || has_k != k, err, SQ_ERR_SHAPE,
               "layer %.60s is %zu x %zu in the file, need %zu x %zu", name, has_n, has_k, n, k);
    return sq_layer_file_load(f, i, q, err);
}

enum sq_status sq_layer_file_block(const struct sq_layer_file *f, const struct sq_layer *of,
                                   size_t n, struct sq_quant_layer *layer, struct sq_error *err)
{
    for (size_t i = 0; i < n; i++)
        SQ_TRY(sq_layer_file_find(f, of[i].name, of[i].n, of[i].k, &layer[i], err));
    return SQ_OK;
}
