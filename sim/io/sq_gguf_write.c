// SPDX-License-Identifier: Apache-2.0
// Writer half of sq_gguf.h.
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_gguf.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data is written as it lies in memory");

enum { ALIGNMENT = 32, VERSION = 3 };

static void put(FILE *out, const void *data, size_t nbytes)
{
    fwrite(data, 1, nbytes, out); // the end looks for errors
}

static void put_u32(FILE *out, uint32_t v)
{
    put(out, &v, sizeof v);
}

static void put_u64(FILE *out, uint64_t v)
{
    put(out, &v, sizeof v);
}

static void put_text(FILE *out, const char *text)
{
    put_u64(out, strlen(text));
    put(out, text, strlen(text));
}

// Zeros up to the next multiple of the alignment.
static void pad(FILE *out, uint64_t nbytes)
{
    static const uint8_t zeros[ALIGNMENT];
    put(out, zeros, (size_t)(-nbytes % ALIGNMENT));
}

// Bytes of all elements.
static size_t value_nbytes(const struct sq_gguf_value *v)
{
    static const size_t nbytes[SQ_GGUF_TYPE_COUNT] = {
        [SQ_GGUF_U8] = 1,  [SQ_GGUF_I8] = 1,  [SQ_GGUF_U16] = 2, [SQ_GGUF_I16] = 2,
        [SQ_GGUF_U32] = 4, [SQ_GGUF_I32] = 4, [SQ_GGUF_F32] = 4, [SQ_GGUF_BOOL] = 1,
        [SQ_GGUF_U64] = 8, [SQ_GGUF_I64] = 8, [SQ_GGUF_F64] = 8};
    const uint8_t *at = v->at;
    if (v->type != SQ_GGUF_STRING)
        return v->n * nbytes[v->type];
    for (size_t i = 0; i < v->n; i++)
        (void)sq_gguf_next(&at);
    return (size_t)(at - v->at);
}

static void copy_value(FILE *out, const struct sq_gguf_value *v)
{
    put_text(out, v->key);
    if (v->is_array) {
        put_u32(out, SQ_GGUF_ARRAY);
        put_u32(out, v->type);
        put_u64(out, v->n);
    } else {
        put_u32(out, v->type);
    }
    put(out, v->at, value_nbytes(v));
}

static void put_value(FILE *out, const char *key, const json_t *value)
{
    const float real = (float)json_real_value(value);
    put_text(out, key);
    if (json_is_string(value)) {
        put_u32(out, SQ_GGUF_STRING);
        put_text(out, json_string_value(value));
    } else if (json_is_real(value)) {
        put_u32(out, SQ_GGUF_F32);
        put(out, &real, sizeof real);
    } else {
        put_u32(out, SQ_GGUF_U32);
        put_u32(out, (uint32_t)json_integer_value(value));
    }
}

// Whether a value of `from` goes on: it is not said again, and the alignment is this file's own.
static bool is_copied(const struct sq_gguf_value *v, const json_t *values)
{
    return !json_object_get(values, v->key) && strcmp(v->key, "general.alignment") != 0;
}

static void put_values(FILE *out, const struct sq_gguf *from, const json_t *values)
{
    const char *key;
    json_t *value;
    for (size_t i = 0; from && i < from->n_values; i++)
        if (is_copied(&from->value[i], values))
            copy_value(out, &from->value[i]);
    json_object_foreach((json_t *)(uintptr_t)values, key, value)
    {
        put_value(out, key, value);
    }
}

static void put_tensors(FILE *out, const struct sq_tensor *tensor, size_t n)
{
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sq_tensor *t = &tensor[i];
        put_text(out, t->name);
        put_u32(out, t->n_dims);
        for (unsigned d = t->n_dims; d-- > 0;)
            put_u64(out, t->dim[d]);
        put_u32(out, sq_gguf_tensor_type(t->dtype));
        put_u64(out, at);
        at += t->nbytes + -t->nbytes % ALIGNMENT;
    }
    pad(out, (uint64_t)ftell(out));
    for (size_t i = 0; i < n; i++) {
        put(out, tensor[i].data, tensor[i].nbytes);
        pad(out, tensor[i].nbytes);
    }
}

enum sq_status sq_gguf_write(const char *path, const struct sq_gguf *from, const json_t *values,
                             const struct sq_tensor *tensor, size_t n, struct sq_error *err)
{
    struct sq_outfile out;
    uint64_t n_values = json_object_size(values);
    for (size_t i = 0; from && i < from->n_values; i++)
        n_values += is_copied(&from->value[i], values);
    for (size_t i = 0; i < n; i++)
        if (sq_gguf_tensor_type(tensor[i].dtype) == UINT32_MAX)
            return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "tensor '%.80s' is %s, which GGUF has not",
                           tensor[i].name, sq_dtype_name(tensor[i].dtype));
    SQ_TRY(sq_outfile_open(&out, path, err));
    put(out.stream, "GGUF", 4);
    put_u32(out.stream, VERSION);
    put_u64(out.stream, n);
    put_u64(out.stream, n_values);
    put_values(out.stream, from, values);
    put_tensors(out.stream, tensor, n);
    return sq_outfile_commit(&out, err); // says what could not be written
}
