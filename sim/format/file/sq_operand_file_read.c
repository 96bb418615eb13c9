// SPDX-License-Identifier: Apache-2.0
// Reader half of sq_operand_file.h.
#include <stdlib.h>
#include <string.h>

#include "sim/format/file/sq_content.h"
#include "sim/format/file/sq_operand_file.h"
#include "sim/format/sq_format_ops.h"

bool sq_operand_file_is_encoded(const struct sq_safetensors *st)
{
    const char *system = sq_safetensors_metadata(st, "system");
    return system && strcmp(system, sq_format_of_packed()->name) == 0 &&
           !sq_safetensors_metadata(st, "grid");
}

// ---- metadata -------------------------------------------------------------------------------

// "prefix.key" or "key" as a decimal number in 1..2^31, digits only.
static enum sq_status read_number(const struct sq_safetensors *st, const char *prefix,
                                  const char *key, size_t *value, struct sq_error *err)
{
    const char *text;
    uint64_t v;
    SQ_TRY(sq_content_find(st, prefix, key, &text, err));
    SQ_FAIL_IF(!sq_content_is_number(text, 1, SQ_DIM_MAX, &v), err, SQ_ERR_DAMAGED,
               "metadata %s of '%.60s' is no number in 1..2^31", key, prefix);
    *value = (size_t)v;
    return SQ_OK;
}

static enum sq_status need_text(const struct sq_safetensors *st, const char *key, const char *want,
                                struct sq_error *err)
{
    const char *text = sq_safetensors_metadata(st, key);
    SQ_FAIL_IF(!text || strcmp(text, want) != 0, err, SQ_ERR_UNSUPPORTED,
               "metadata %s = %.20s, need %s", key, text ? text : "(missing)", want);
    return SQ_OK;
}

static enum sq_status read_format(const struct sq_safetensors *st, struct sq_format *f,
                                  struct sq_error *err)
{
    size_t high, low, bank, k, group = 0;
    SQ_TRY(need_text(st, "system", sq_format_of_packed()->name, err));
    SQ_TRY(need_text(st, "version", "1", err));
    SQ_TRY(need_text(st, "scale_type", "f32", err));
    SQ_TRY(read_number(st, "", "h_high", &high, err));
    SQ_TRY(read_number(st, "", "h_low", &low, err));
    SQ_TRY(read_number(st, "", "bank", &bank, err));
    SQ_TRY(read_number(st, "", "k", &k, err));
    const char *text = sq_safetensors_metadata(st, "group");
    if (!text || strcmp(text, "row") != 0)
        SQ_TRY(read_number(st, "", "group", &group, err));
    *f = (struct sq_format){(unsigned)high, (unsigned)low, (unsigned)bank, (unsigned)k,
                            (unsigned)group};
    return sq_format_check(f, err);
}

// ---- tensors --------------------------------------------------------------------------------

// Tensor "prefix.part": there, of this dtype, [n][cols].
static enum sq_status need_tensor(const struct sq_operand_file *t,
                                  const struct sq_operand_file_entry *e, const char *part,
                                  enum sq_dtype dtype, size_t cols, const struct sq_tensor **found,
                                  struct sq_error *err)
{
    SQ_FREED char *full = sq_content_name(e->name, part);
    SQ_NEED(full, err, "an operand");
    *found = sq_safetensors_find(&t->file, full);
    SQ_FAIL_IF(!*found, err, SQ_ERR_DAMAGED, "tensor %s of operand '%.60s' is missing", part,
               e->name);
    SQ_FAIL_IF((*found)->dtype != dtype || (*found)->n_dims != 2, err, SQ_ERR_SHAPE,
               "tensor %s of operand '%.60s' is no %s matrix", part, e->name, sq_dtype_name(dtype));
    SQ_FAIL_IF((*found)->dim[0] != e->n || (*found)->dim[1] != cols, err, SQ_ERR_STREAM_LEN,
               "tensor %s of operand '%.60s' is %llu x %llu, its metadata need %zu x %zu", part,
               e->name, (unsigned long long)(*found)->dim[0], (unsigned long long)(*found)->dim[1],
               e->n, cols);
    return SQ_OK;
}

static enum sq_status read_entry(const struct sq_operand_file *t, struct sq_operand_file_entry *e,
                                 struct sq_error *err)
{
    const struct sq_format *f = &t->format;
    SQ_TRY(read_number(&t->file, e->name, "N", &e->n, err));
    SQ_TRY(read_number(&t->file, e->name, "K", &e->k, err));
    SQ_TRY(read_number(&t->file, e->name, "k_orig", &e->k_orig, err));
    SQ_FAIL_IF(e->k != sq_k_padded(f, e->k_orig), err, SQ_ERR_SHAPE,
               "operand '%.60s': K = %zu, k_orig = %zu is padded to %zu", e->name, e->k, e->k_orig,
               sq_k_padded(f, e->k_orig));
    SQ_TRY(need_tensor(t, e, "lo", SQ_U8, sq_lo_row_nbytes(f, e->k), &e->lo, err));
    SQ_TRY(need_tensor(t, e, "hi", SQ_U8, sq_hi_row_nbytes(f, e->k), &e->hi, err));
    SQ_TRY(need_tensor(t, e, "s_lo", SQ_F32, sq_n_groups(f, e->k), &e->s_lo, err));
    return need_tensor(t, e, "s_hi", SQ_F32, sq_n_groups(f, e->k), &e->s_hi, err);
}

static enum sq_status read_entries(struct sq_operand_file *t, struct sq_error *err)
{
    const struct sq_safetensors *st = &t->file;
    SQ_TRY(read_format(st, &t->format, err));
    t->entry = calloc(st->n_tensors + 1, sizeof *t->entry);
    SQ_NEED(t->entry, err, "%zu tensors", st->n_tensors);
    for (size_t i = 0; i < st->n_tensors; i++) {
        long n = sq_content_layer_length(st->tensor[i].name, "lo");
        if (n < 0)
            continue;
        struct sq_operand_file_entry *e = &t->entry[t->n_operands++];
        e->name = strndup(st->tensor[i].name, (size_t)n);
        SQ_NEED(e->name, err, "a name");
        SQ_TRY(read_entry(t, e, err));
    }
    SQ_FAIL_IF(t->n_operands == 0 || st->n_tensors != 4 * t->n_operands, err, SQ_ERR_DAMAGED,
               "%zu tensors for %zu operands, need lo, hi, s_lo, s_hi each", st->n_tensors,
               t->n_operands);
    return SQ_OK;
}

// ---- opening and loading --------------------------------------------------------------------

enum sq_status sq_operand_file_open(struct sq_operand_file *t, const char *path,
                                    struct sq_error *err)
{
    struct sq_safetensors st;
    *t = (struct sq_operand_file){0};
    SQ_TRY(sq_safetensors_open(&st, path, err));
    return sq_operand_file_adopt(t, &st, err);
}

enum sq_status sq_operand_file_adopt(struct sq_operand_file *t, struct sq_safetensors *st,
                                     struct sq_error *err)
{
    *t = (struct sq_operand_file){.file = *st};
    *st = (struct sq_safetensors){0};
    const enum sq_status status = read_entries(t, err);
    return SQ_ELSE(status, sq_operand_file_close(t));
}

void sq_operand_file_close(struct sq_operand_file *t)
{
    for (size_t i = 0; i < t->n_operands; i++)
        free(t->entry[i].name);
    free(t->entry);
    sq_safetensors_close(&t->file);
    *t = (struct sq_operand_file){0};
}

enum sq_status sq_operand_file_load(const struct sq_operand_file *t, size_t i, struct sq_operand *o,
                                    struct sq_error *err)
{
    *o = (struct sq_operand){0};
    SQ_FAIL_IF(i >= t->n_operands, err, SQ_ERR_ARG, "operand = %zu, need less than %zu", i,
               t->n_operands);
    const struct sq_operand_file_entry *e = &t->entry[i];
    SQ_TRY(sq_operand_alloc(o, &t->format, e->n, e->k_orig, err));
    memcpy(o->m.s_lo, e->s_lo->data, e->s_lo->nbytes);
    memcpy(o->m.s_hi, e->s_hi->data, e->s_hi->nbytes);
    memcpy(o->m.lo, e->lo->data, e->lo->nbytes);
    memcpy(o->m.hi, e->hi->data, e->hi->nbytes);
    enum sq_status status =
        sq_matrix_validate(&o->m, e->lo->nbytes, e->hi->nbytes, o->n_scales, err);
    sq_tensor_forget(&t->file, e->lo);
    sq_tensor_forget(&t->file, e->hi);
    return SQ_ELSE(status, sq_operand_free(o));
}
