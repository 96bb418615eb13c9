// SPDX-License-Identifier: Apache-2.0
// Writer half of sq_safetensors.h.
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_safetensors.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data is written as it lies in memory");

// ---- header ---------------------------------------------------------------------------------

// Bytes of a tensor; false where its shape overflows or its dtype is none.
static bool tensor_nbytes(const struct sq_tensor *t, uint64_t *nbytes)
{
    *nbytes = sq_dtype_nbytes(t->dtype);
    bool good = (unsigned)t->dtype < SQ_DTYPE_COUNT && t->n_dims <= SQ_TENSOR_MAX_DIMS && t->name;
    for (unsigned i = 0; good && i < t->n_dims; i++)
        good = !__builtin_mul_overflow(*nbytes, t->dim[i], nbytes) && *nbytes <= INT64_MAX;
    return good;
}

// Adds one entry and advances *end. jansson refuses names that are no UTF-8 (set returns -1).
static enum sq_status add_tensor(json_t *header, const struct sq_tensor *t, uint64_t *end,
                                 struct sq_piece *piece, struct sq_error *err)
{
    uint64_t nbytes, begin = *end;
    if (!tensor_nbytes(t, &nbytes) || __builtin_add_overflow(begin, nbytes, end) ||
        *end > INT64_MAX / 2)
        return SQ_FAIL(err, SQ_ERR_ARG, "tensor '%.80s' has an illegal dtype or shape",
                       t->name ? t->name : "(none)");
    if (strcmp(t->name, "__metadata__") == 0 || json_object_get(header, t->name))
        return SQ_FAIL(err, SQ_ERR_ARG, "tensor name '%.80s' is taken", t->name);
    json_t *shape = json_array();
    for (unsigned i = 0; i < t->n_dims; i++)
        json_array_append_new(shape, json_integer((json_int_t)t->dim[i]));
    json_t *entry = json_object();
    json_object_set_new(entry, "dtype", json_string(sq_dtype_name(t->dtype)));
    json_object_set_new(entry, "shape", shape);
    json_t *offsets = json_array();
    json_array_append_new(offsets, json_integer((json_int_t)begin));
    json_array_append_new(offsets, json_integer((json_int_t)*end));
    json_object_set_new(entry, "data_offsets", offsets);
    if (json_object_set_new(header, t->name, entry) != 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "tensor name '%.80s' is no UTF-8", t->name);
    *piece = (struct sq_piece){.at = begin, .nbytes = (size_t)nbytes};
    return SQ_OK;
}

static enum sq_status add_metadata(json_t *header, const struct sq_metadata *metadata, size_t n,
                                   struct sq_error *err)
{
    if (n == 0)
        return SQ_OK;
    json_t *object = json_object();
    json_object_set_new(header, "__metadata__", object);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(metadata[i].key, SQ_DIGEST_KEY) == 0)
            continue; // of the file that these come from
        if (json_object_get(object, metadata[i].key))
            return SQ_FAIL(err, SQ_ERR_ARG, "metadata key '%.80s' is there twice", metadata[i].key);
        if (json_object_set_new(object, metadata[i].key, json_string(metadata[i].value)) != 0)
            return SQ_FAIL(err, SQ_ERR_ARG, "metadata '%.80s' is no UTF-8", metadata[i].key);
    }
    char label[SQ_DIGEST_LABEL_SIZE]; // overwritten when all is known
    sq_digest_label((struct sq_digest){0}, label);
    json_object_set_new(object, SQ_DIGEST_KEY, json_string(label));
    return SQ_OK;
}

// Both sides of the digest's place, and where that is; without one, nothing.
static void digest_header(struct sq_safetensors_writer *w, const char *text, size_t n)
{
    static const char mark[] = "\"" SQ_DIGEST_KEY "\":\"";
    const char *at = strstr(text, mark);
    if (!at)
        return;
    at += sizeof mark - 1;
    const char *after = at + SQ_DIGEST_LABEL_SIZE - 1;
    sq_digest_add(&w->header, text, (size_t)(at - text));
    sq_digest_add(&w->header, after, (size_t)(text + n - after));
    w->digits_at = 8 + (uint64_t)(at - text);
}

// Length, JSON, blanks up to a multiple of 8; *nbytes = where the data starts.
static enum sq_status write_header(struct sq_safetensors_writer *w, const json_t *header,
                                   uint64_t *nbytes, struct sq_error *err)
{
    FILE *f = w->out.stream;
    char *json = json_dumps(header, JSON_COMPACT), *text = NULL;
    const size_t n = json ? strlen(json) : 0, padded = (n + 7) / 8 * 8;
    const int printed =
        json && n < SQ_HEADER_MAX_NBYTES ? asprintf(&text, "%-*s", (int)padded, json) : -1;
    free(json);
    if (n >= SQ_HEADER_MAX_NBYTES)
        return SQ_FAIL(err, SQ_ERR_RANGE, "header of %zu bytes, need at most %u", padded,
                       SQ_HEADER_MAX_NBYTES);
    if (printed < 0)
        return SQ_NO_MEMORY(err, "a safetensors header");
    for (int i = 0; i < 8; i++)
        putc((int)((uint64_t)padded >> (8 * i) & 255), f);
    fwrite(text, 1, padded, f);
    digest_header(w, text, padded);
    free(text);
    *nbytes = 8 + padded;
    return SQ_OK;
}

static enum sq_status begin(struct sq_safetensors_writer *w, json_t *header,
                            const struct sq_tensor *tensor, const struct sq_metadata *metadata,
                            size_t n_metadata, struct sq_error *err)
{
    SQ_TRY(add_metadata(header, metadata, n_metadata, err));
    uint64_t end = 0, start = 0;
    for (size_t i = 0; i < w->n_tensors; i++)
        SQ_TRY(add_tensor(header, &tensor[i], &end, &w->piece[i], err));
    SQ_TRY(write_header(w, header, &start, err));
    for (size_t i = 0; i < w->n_tensors; i++)
        w->piece[i].at += start;
    return SQ_OK;
}

// ---- pieces ---------------------------------------------------------------------------------

enum sq_status sq_safetensors_begin(struct sq_safetensors_writer *w, const char *path,
                                    const struct sq_tensor *tensor, size_t n,
                                    const struct sq_metadata *metadata, size_t n_metadata,
                                    struct sq_error *err)
{
    *w = (struct sq_safetensors_writer){.n_tensors = n};
    SQ_TRY(sq_outfile_open(&w->out, path, err));
    json_auto_t *header = json_object();
    w->piece = calloc(n + 1, sizeof *w->piece);
    enum sq_status status = header && w->piece ? begin(w, header, tensor, metadata, n_metadata, err)
                                               : SQ_NO_MEMORY(err, "%zu tensors", n);
    if (status != SQ_OK)
        sq_safetensors_abort(w);
    return status;
}

enum sq_status sq_safetensors_put(struct sq_safetensors_writer *w, size_t i, const void *data,
                                  struct sq_error *err)
{
    if (i >= w->n_tensors || w->piece[i].is_written)
        return SQ_FAIL(err, SQ_ERR_INTERNAL, "tensor %zu of %zu cannot be written now", i,
                       w->n_tensors);
    struct sq_piece *p = &w->piece[i];
    p->is_written = true;
    p->digest = sq_digest_of(data, p->nbytes);
    if (p->nbytes == 0)
        return SQ_OK;
    if (fseeko(w->out.stream, (off_t)p->at, SEEK_SET) != 0 ||
        fwrite(data, 1, p->nbytes, w->out.stream) != p->nbytes)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write '%s': %s", sq_path_tail(w->out.path),
                       strerror(errno));
    return SQ_OK;
}

static bool has_written_digest(struct sq_safetensors_writer *w)
{
    char label[SQ_DIGEST_LABEL_SIZE];
    if (w->digits_at == 0)
        return true;
    for (size_t i = 0; i < w->n_tensors; i++)
        sq_digest_add(&w->header, &w->piece[i].digest, sizeof w->piece[i].digest);
    sq_digest_label(w->header, label);
    return fseeko(w->out.stream, (off_t)w->digits_at, SEEK_SET) == 0 &&
           fputs(label, w->out.stream) >= 0;
}

enum sq_status sq_safetensors_commit(struct sq_safetensors_writer *w, struct sq_error *err)
{
    for (size_t i = 0; i < w->n_tensors; i++)
        if (!w->piece[i].is_written) {
            sq_safetensors_abort(w);
            return SQ_FAIL(err, SQ_ERR_INTERNAL, "tensor %zu was never written", i);
        }
    if (!has_written_digest(w)) {
        const enum sq_status status = SQ_FAIL(err, SQ_ERR_IO, "cannot write '%s': %s",
                                              sq_path_tail(w->out.path), strerror(errno));
        sq_safetensors_abort(w);
        return status;
    }
    free(w->piece);
    w->piece = NULL;
    return sq_outfile_commit(&w->out, err);
}

void sq_safetensors_abort(struct sq_safetensors_writer *w)
{
    sq_outfile_abort(&w->out);
    free(w->piece);
    *w = (struct sq_safetensors_writer){0};
}

enum sq_status sq_safetensors_write(const char *path, const struct sq_tensor *tensor, size_t n,
                                    const struct sq_metadata *metadata, size_t n_metadata,
                                    struct sq_error *err)
{
    struct sq_safetensors_writer w;
    SQ_TRY(sq_safetensors_begin(&w, path, tensor, n, metadata, n_metadata, err));
    for (size_t i = 0; i < n; i++) {
        enum sq_status status = sq_safetensors_put(&w, i, tensor[i].data, err);
        if (status != SQ_OK) {
            sq_safetensors_abort(&w);
            return status;
        }
    }
    return sq_safetensors_commit(&w, err);
}
