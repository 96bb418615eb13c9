// SPDX-License-Identifier: Apache-2.0
// Parses the header of a safetensors file, and checks that the tensors fill the buffer
// (sq_safetensors.h).
#include "sim/io/sq_safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_grow.h"
#include "sim/io/sq_json.h"

#define DAMAGED(...) SQ_FAIL(err, SQ_ERR_DAMAGED, __VA_ARGS__)

// ---- one tensor of the header ---------------------------------------------------------------

static enum sq_status check_name(const char *what, const char *name, struct sq_error *err)
{
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return DAMAGED("%s: a tensor name holds a control character", what);
    return SQ_OK;
}

static enum sq_status read_dtype(const char *what, const json_t *entry, struct sq_tensor *t,
                                 struct sq_error *err)
{
    const char *text = json_string_value(json_object_get(entry, "dtype"));
    if (!text)
        return DAMAGED("%s: tensor '%.60s' has no dtype", what, t->name);
    for (int d = 0; d < SQ_DTYPE_COUNT; d++)
        if (strcmp(text, sq_dtype_name((enum sq_dtype)d)) == 0) {
            t->dtype = (enum sq_dtype)d;
            return SQ_OK;
        }
    SQ_TRY(check_name(what, text, err));
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                   "%s: dtype of tensor '%.60s' = '%.16s', need F32, F16, BF16, I8, U8, I32, I64 "
                   "or F8_E4M3, F8_E5M2, F8_E8M0",
                   what, t->name, text);
}

static enum sq_status read_shape(const char *what, const json_t *entry, struct sq_tensor *t,
                                 struct sq_error *err)
{
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape))
        return DAMAGED("%s: tensor '%.60s' has no shape", what, t->name);
    if (json_array_size(shape) > SQ_TENSOR_MAX_DIMS)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: tensor '%.60s' has %zu dimensions, need 0..%u",
                       what, t->name, json_array_size(shape), SQ_TENSOR_MAX_DIMS);
    t->n_dims = (unsigned)json_array_size(shape);
    for (unsigned i = 0; i < t->n_dims; i++) {
        const json_t *dim = json_array_get(shape, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return DAMAGED("%s: dimension %u of tensor '%.60s' is no integer >= 0", what, i,
                           t->name);
        t->dim[i] = (uint64_t)json_integer_value(dim);
    }
    return sq_tensor_derive(what, t, err);
}

static enum sq_status read_offsets(const char *what, const json_t *entry, const uint8_t *buffer,
                                   size_t buffer_nbytes, struct sq_tensor *t, struct sq_error *err)
{
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *b = json_array_get(offsets, 0), *e = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(b) || !json_is_integer(e) ||
        json_integer_value(b) < 0 || json_integer_value(e) < json_integer_value(b))
        return DAMAGED("%s: data_offsets of tensor '%.60s' are no ascending pair", what, t->name);
    uint64_t begin = (uint64_t)json_integer_value(b), end = (uint64_t)json_integer_value(e);
    if (end > buffer_nbytes)
        return DAMAGED("%s: tensor '%.60s' ends at byte %llu of %zu, the file is truncated", what,
                       t->name, (unsigned long long)end, buffer_nbytes);
    if (end - begin != t->nbytes)
        return DAMAGED("%s: tensor '%.60s' has %llu bytes of data, its shape needs %zu", what,
                       t->name, (unsigned long long)(end - begin), t->nbytes);
    t->data = buffer + begin;
    return SQ_OK;
}

// ---- the whole header -----------------------------------------------------------------------

struct reader {
    struct sq_safetensors *st;
    const char *what;
    size_t buffer_nbytes;
    bool has_metadata;
};

// A string of the header, kept as long as the file is open: decoded, all of them are shorter than
// the header.
static enum sq_status keep(struct reader *r, struct sq_json_text text, const char **kept,
                           struct sq_error *err)
{
    char *to = r->st->text + r->st->text_nbytes;
    SQ_TRY(sq_json_decode(r->what, text, to, err));
    r->st->text_nbytes += strlen(to) + 1;
    *kept = to;
    return SQ_OK;
}

static enum sq_status read_pair(void *context, struct sq_json_text key, struct sq_json_text value,
                                struct sq_error *err)
{
    struct reader *r = context;
    struct sq_safetensors *st = r->st;
    struct sq_metadata pair;
    SQ_TRY(keep(r, key, &pair.key, err));
    const enum sq_status status = keep(r, value, &pair.value, err);
    if (status == SQ_ERR_RANGE)
        return DAMAGED("%s: a value of __metadata__ is no string", r->what);
    SQ_TRY(status);
    SQ_TRY(SQ_GROW(st->metadata, st->n_metadata, err, "%s", r->what));
    st->metadata[st->n_metadata++] = pair;
    return SQ_OK;
}

static enum sq_status read_metadata(struct reader *r, struct sq_json_text object,
                                    struct sq_error *err)
{
    if (r->has_metadata)
        return DAMAGED("%s: duplicate __metadata__", r->what);
    r->has_metadata = true;
    if (object.n == 0 || object.at[0] != '{')
        return DAMAGED("%s: __metadata__ is no object", r->what);
    return sq_json_members(r->what, object, read_pair, r, err);
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const struct sq_metadata *const *)a)->key,
                  (*(const struct sq_metadata *const *)b)->key);
}

static int by_position(const void *a, const void *b)
{
    const struct sq_tensor *s = a, *t = b;
    if (s->data != t->data)
        return s->data < t->data ? -1 : 1;
    if (s->nbytes != t->nbytes) // empty tensors before the one that starts at the same byte
        return s->nbytes < t->nbytes ? -1 : 1;
    return strcmp(s->name, t->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct sq_tensor *const *)a)->name,
                  (*(const struct sq_tensor *const *)b)->name);
}

// The data ranges, in order, must tile the buffer.
static enum sq_status check_tiling(const struct sq_safetensors *st, const char *what,
                                   size_t buffer_nbytes, struct sq_error *err)
{
    size_t expected = 0;
    for (size_t i = 0; i < st->n_tensors; i++) {
        const struct sq_tensor *t = &st->tensor[i];
        size_t begin = (size_t)(t->data - st->buffer);
        if (begin != expected)
            return DAMAGED("%s: tensor '%.60s' starts at byte %zu, %s %zu", what, t->name, begin,
                           begin < expected ? "overlapping the one that ends at"
                                            : "leaving a hole after",
                           expected);
        expected += t->nbytes;
    }
    if (expected != buffer_nbytes)
        return DAMAGED("%s: %zu bytes of data, the header describes %zu", what, buffer_nbytes,
                       expected);
    return SQ_OK;
}

static enum sq_status parse_entry(const struct reader *r, const json_t *entry, struct sq_tensor *t,
                                  struct sq_error *err)
{
    if (!json_is_object(entry))
        return DAMAGED("%s: entry '%.60s' is no object", r->what, t->name);
    SQ_TRY(read_dtype(r->what, entry, t, err));
    SQ_TRY(read_shape(r->what, entry, t, err));
    SQ_TRY(read_offsets(r->what, entry, r->st->buffer, r->buffer_nbytes, t, err));
    if (json_object_size(entry) != 3)
        return DAMAGED("%s: entry '%.60s' has fields beside dtype, shape, data_offsets", r->what,
                       t->name);
    return SQ_OK;
}

static enum sq_status read_entry(void *context, struct sq_json_text key, struct sq_json_text value,
                                 struct sq_error *err)
{
    struct reader *r = context;
    struct sq_safetensors *st = r->st;
    struct sq_tensor t = {.name = NULL};
    json_t *entry;
    SQ_TRY(keep(r, key, &t.name, err));
    if (strcmp(t.name, "__metadata__") == 0)
        return read_metadata(r, value, err);
    SQ_TRY(check_name(r->what, t.name, err));
    SQ_TRY(SQ_GROW(st->tensor, st->n_tensors, err, "%zu tensors of %s", st->n_tensors, r->what));
    SQ_TRY(sq_json_value(r->what, value, &entry, err));
    const enum sq_status status = parse_entry(r, entry, &t, err);
    json_decref(entry);
    SQ_TRY(status);
    st->tensor[st->n_tensors++] = t;
    return SQ_OK;
}

// Sorted pointers to tensors and metadata; no name is there twice.
static enum sq_status index_names(struct sq_safetensors *st, const char *what, struct sq_error *err)
{
    st->by_name = calloc(st->n_tensors + 1, sizeof *st->by_name);
    st->by_key = calloc(st->n_metadata + 1, sizeof *st->by_key);
    if (!st->by_name || !st->by_key)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "%s: out of memory for %zu tensors", what,
                       st->n_tensors);
    for (size_t i = 0; i < st->n_tensors; i++)
        st->by_name[i] = &st->tensor[i];
    for (size_t i = 0; i < st->n_metadata; i++)
        st->by_key[i] = &st->metadata[i];
    qsort(st->by_name, st->n_tensors, sizeof *st->by_name, by_name);
    qsort(st->by_key, st->n_metadata, sizeof *st->by_key, by_key);
    for (size_t i = 1; i < st->n_tensors; i++)
        if (by_name(&st->by_name[i - 1], &st->by_name[i]) == 0)
            return DAMAGED("%s: duplicate tensor '%.60s'", what, st->by_name[i]->name);
    for (size_t i = 1; i < st->n_metadata; i++)
        if (by_key(&st->by_key[i - 1], &st->by_key[i]) == 0)
            return DAMAGED("%s: duplicate key '%.60s' in __metadata__", what, st->by_key[i]->key);
    return SQ_OK;
}

static enum sq_status read_header(struct sq_safetensors *st, const char *what,
                                  struct sq_json_text header, size_t buffer_nbytes,
                                  struct sq_error *err)
{
    struct reader r = {.st = st, .what = what, .buffer_nbytes = buffer_nbytes};
    st->text = malloc(header.n + 1);
    SQ_NEED(st->text, err, "the header of %s", what);
    SQ_TRY(sq_json_members(what, header, read_entry, &r, err));
    if (st->n_tensors > 0)
        qsort(st->tensor, st->n_tensors, sizeof *st->tensor, by_position);
    SQ_TRY(index_names(st, what, err));
    return check_tiling(st, what, buffer_nbytes, err);
}

static enum sq_status open_bytes(struct sq_safetensors *st, const uint8_t *bytes, size_t nbytes,
                                 const char *what, struct sq_error *err)
{
    if (nbytes < 8)
        return DAMAGED("%s: %zu bytes, a safetensors file has at least 8", what, nbytes);
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | bytes[i];
    if (n > nbytes - 8)
        return DAMAGED("%s: header of %llu bytes in a file of %zu", what, (unsigned long long)n,
                       nbytes);
    if (n > SQ_HEADER_MAX_NBYTES)
        return DAMAGED("%s: header of %llu bytes, need at most %u", what, (unsigned long long)n,
                       SQ_HEADER_MAX_NBYTES);
    if (n == 0 || bytes[8] != '{')
        return DAMAGED("%s: the header does not start with '{'", what);
    const struct sq_json_text header = {(const char *)bytes + 8, (size_t)n};
    SQ_TRY(sq_json_check_depth(what, header, err));
    st->head = bytes + 8;
    st->buffer = bytes + 8 + n;
    return read_header(st, what, header, nbytes - 8 - (size_t)n, err);
}

enum sq_status sq_safetensors_check(const struct sq_safetensors *st, const char *what,
                                    struct sq_error *err)
{
    enum { FORGET_NBYTES = 1 << 20 };
    static const char mark[] = "\"" SQ_DIGEST_KEY "\":\"";
    char label[SQ_DIGEST_LABEL_SIZE];
    const char *stored = sq_safetensors_metadata(st, SQ_DIGEST_KEY);
    if (!stored)
        return SQ_OK;
    const uint8_t *at = memmem(st->head, (size_t)(st->buffer - st->head), mark, sizeof mark - 1);
    if (!at || strlen(stored) != sizeof label - 1)
        return DAMAGED("%s: metadata " SQ_DIGEST_KEY " = '%.41s' is no digest", what, stored);
    at += sizeof mark - 1;
    struct sq_digest d = {0};
    sq_digest_add(&d, st->head, (size_t)(at - st->head));
    at += sizeof label - 1;
    sq_digest_add(&d, at, (size_t)(st->buffer - at));
    const uint8_t *kept = st->buffer; // data up to here are forgotten
    for (size_t i = 0; i < st->n_tensors; i++) {
        const struct sq_tensor *t = &st->tensor[i];
        const struct sq_digest data = sq_digest_of(t->data, t->nbytes);
        sq_digest_add(&d, &data, sizeof data);
        const size_t nbytes = (size_t)(t->data + t->nbytes - kept);
        if (nbytes < FORGET_NBYTES)
            continue; // many tensors can share a page
        sq_tensor_forget(st, &(struct sq_tensor){.data = kept, .nbytes = nbytes});
        kept += nbytes;
    }
    sq_digest_label(d, label);
    if (strcmp(stored, label) != 0)
        return DAMAGED("%s is damaged: it does not match its " SQ_DIGEST_KEY "; write it again",
                       what);
    return SQ_OK;
}

enum sq_status sq_safetensors_open_memory(struct sq_safetensors *st, const void *bytes,
                                          size_t nbytes, const char *what, struct sq_error *err)
{
    *st = (struct sq_safetensors){0};
    enum sq_status status = open_bytes(st, bytes, nbytes, what, err);
    if (status != SQ_OK)
        sq_safetensors_close(st);
    return status;
}

enum sq_status sq_safetensors_open(struct sq_safetensors *st, const char *path,
                                   struct sq_error *err)
{
    *st = (struct sq_safetensors){0};
    SQ_TRY(sq_file_map(path, &st->map, err));
    enum sq_status status = open_bytes(st, st->map.data, st->map.nbytes, sq_path_tail(path), err);
    SQ_THEN(status, sq_safetensors_check(st, sq_path_tail(path), err));
    if (status != SQ_OK) {
        sq_safetensors_close(st);
    } else { // the header has been copied
        const size_t n = (size_t)(st->buffer - st->map.data);
        sq_tensor_forget(st, &(struct sq_tensor){.data = st->map.data, .nbytes = n});
    }
    return status;
}

void sq_safetensors_close(struct sq_safetensors *st)
{
    free(st->tensor);
    free(st->by_name);
    free(st->by_key);
    free(st->metadata);
    free(st->text);
    sq_file_unmap(&st->map);
    *st = (struct sq_safetensors){0};
}

const struct sq_tensor *sq_safetensors_find(const struct sq_safetensors *st, const char *name)
{
    struct sq_tensor key = {.name = name};
    const struct sq_tensor *p = &key;
    if (st->n_tensors == 0)
        return NULL;
    const struct sq_tensor *const *hit =
        bsearch(&p, st->by_name, st->n_tensors, sizeof *st->by_name, by_name);
    return hit ? *hit : NULL;
}

const char *sq_safetensors_metadata(const struct sq_safetensors *st, const char *key)
{
    const struct sq_metadata pair = {.key = key}, *p = &pair;
    if (st->n_metadata == 0)
        return NULL;
    const struct sq_metadata *const *hit =
        bsearch(&p, st->by_key, st->n_metadata, sizeof *st->by_key, by_key);
    return hit ? (*hit)->value : NULL;
}

void sq_tensor_forget(const struct sq_safetensors *st, const struct sq_tensor *t)
{
    sq_file_forget(&st->map, t->data, t->nbytes);
}
