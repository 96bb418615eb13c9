// SPDX-License-Identifier: Apache-2.0
// Reads and checks token files, and counts the tokens that are predicted (sq_tokens.h).
#include "sim/llm/text/sq_tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/io/sq_safetensors.h"

static int64_t load_i64(const uint8_t *p)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return (int64_t)v;
}

static int32_t load_i32(const uint8_t *p)
{
    return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                     (uint32_t)p[3] << 24);
}

static enum sq_status find(const struct sq_safetensors *st, const char *name, enum sq_dtype dtype,
                           const struct sq_tensor **t, struct sq_error *err)
{
    *t = sq_safetensors_find(st, name);
    if (!*t)
        return SQ_FAIL(
            err, SQ_ERR_DAMAGED,
            "token file: tensor '%s' is missing, need a safetensors file with I32 'ids' of "
            "all sequences and I64 'offsets' where each begins and the last ends",
            name);
    SQ_FAIL_IF((*t)->dtype != dtype || (*t)->n_dims != 1, err, SQ_ERR_DAMAGED,
               "token file: '%s' is %s with %u dimensions, need %s, 1", name,
               sq_dtype_name((*t)->dtype), (*t)->n_dims, sq_dtype_name(dtype));
    return SQ_OK;
}

static enum sq_status read_offsets(struct sq_tokens *t, const struct sq_tensor *offsets,
                                   size_t n_ids, size_t max_position, struct sq_error *err)
{
    for (size_t i = 0; i <= t->n_sequences; i++) {
        const int64_t at = load_i64(offsets->data + 8 * i);
        const int64_t before = i ? (int64_t)t->offset[i - 1] : 0;
        SQ_FAIL_IF(at < before || (uint64_t)at > n_ids || (i == 0 && at != 0), err, SQ_ERR_OFFSETS,
                   "offsets[%zu] = %lld, need %lld..%zu", i, (long long)at, (long long)before,
                   i ? n_ids : 0);
        SQ_FAIL_IF(i > 0 && (at - before < 2 || (uint64_t)(at - before) > max_position), err,
                   SQ_ERR_RANGE, "sequence %zu has %lld tokens, need 2..%zu", i - 1,
                   (long long)(at - before), max_position);
        t->offset[i] = (size_t)at;
    }
    SQ_FAIL_IF(t->offset[t->n_sequences] != n_ids, err, SQ_ERR_OFFSETS,
               "the last offset is %zu, need %zu, the number of ids", t->offset[t->n_sequences],
               n_ids);
    return SQ_OK;
}

static enum sq_status read_ids(struct sq_tokens *t, const struct sq_tensor *ids, size_t vocab_size,
                               struct sq_error *err)
{
    for (size_t i = 0; i < ids->n_elements; i++) {
        t->id[i] = load_i32(ids->data + 4 * i);
        SQ_FAIL_IF(t->id[i] < 0 || (size_t)t->id[i] >= vocab_size, err, SQ_ERR_INDEX,
                   "ids[%zu] = %d, need 0..%zu, the vocabulary", i, (int)t->id[i], vocab_size - 1);
    }
    return SQ_OK;
}

static enum sq_status read_all(struct sq_tokens *t, const struct sq_safetensors *st,
                               size_t vocab_size, size_t max_position, struct sq_error *err)
{
    const struct sq_tensor *ids, *offsets;
    SQ_TRY(find(st, "ids", SQ_I32, &ids, err));
    SQ_TRY(find(st, "offsets", SQ_I64, &offsets, err));
    SQ_FAIL_IF(offsets->n_elements < 2, err, SQ_ERR_OFFSETS,
               "token file: %zu offsets, need at least 2 (a sequence)", offsets->n_elements);
    t->n_sequences = offsets->n_elements - 1;
    t->offset = calloc(offsets->n_elements, sizeof *t->offset);
    t->id = calloc(ids->n_elements + 1, sizeof *t->id);
    SQ_NEED(t->offset && t->id, err, "%zu tokens", ids->n_elements);
    SQ_TRY(read_offsets(t, offsets, ids->n_elements, max_position, err));
    return read_ids(t, ids, vocab_size, err);
}

enum sq_status sq_tokens_read(struct sq_tokens *t, const char *path, size_t vocab_size,
                              size_t max_position, struct sq_error *err)
{
    SQ_CLOSED(sq_safetensors_close) struct sq_safetensors st = {0};
    *t = (struct sq_tokens){0};
    SQ_TRY(sq_safetensors_open(&st, path, err));
    const enum sq_status status = read_all(t, &st, vocab_size, max_position, err);
    return SQ_ELSE(status, sq_tokens_free(t));
}

void sq_tokens_beside(const char *model, const char *name, char *path, size_t path_size)
{
    struct stat st;
    const char *slash = strrchr(model, '/');
    if (stat(model, &st) == 0 && S_ISDIR(st.st_mode))
        snprintf(path, path_size, "%s/%s", model, name);
    else
        snprintf(path, path_size, "%.*s%s", slash ? (int)(slash - model) + 1 : 0, model, name);
}

void sq_tokens_free(struct sq_tokens *t)
{
    SQ_FREE(t->offset, t->id);
    *t = (struct sq_tokens){0};
}

size_t sq_tokens_first_predicted(const struct sq_tokens *t, size_t i)
{
    return i > 0 && t->context > 1 ? t->context : 1;
}

size_t sq_tokens_count(const struct sq_tokens *t)
{
    return t->offset[t->n_sequences];
}

size_t sq_tokens_predicted(const struct sq_tokens *t)
{
    size_t n = sq_tokens_count(t);
    for (size_t i = 0; i < t->n_sequences; i++)
        n -= sq_tokens_first_predicted(t, i);
    return n;
}
