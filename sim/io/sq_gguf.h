// SPDX-License-Identifier: Apache-2.0
// GGUF, the container of llama.cpp (ggml/docs/gguf.md): magic, version, metadata, descriptions of
// the tensors, then their data, aligned. Versions 2 and 3, little-endian.
//
// Opening maps the file and checks all of it but values: counts against the bytes that are left,
// string lengths, duplicate keys and names, types, shapes, and that the tensors lie one after the
// other, each aligned, without overlap or hole, inside the file (as llama.cpp wants them). What
// follows the last tensor is not looked at. Metadata stays in the file until it is asked for.
#pragma once

#include <jansson.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_tensor.h"

enum sq_gguf_type { // as stored
    SQ_GGUF_U8,
    SQ_GGUF_I8,
    SQ_GGUF_U16,
    SQ_GGUF_I16,
    SQ_GGUF_U32,
    SQ_GGUF_I32,
    SQ_GGUF_F32,
    SQ_GGUF_BOOL,
    SQ_GGUF_STRING,
    SQ_GGUF_ARRAY, // of the types around it, never of arrays
    SQ_GGUF_U64,
    SQ_GGUF_I64,
    SQ_GGUF_F64,
    SQ_GGUF_TYPE_COUNT
};

struct sq_gguf_value {
    char *key;              // printable ASCII
    enum sq_gguf_type type; // of the elements, where it is an array
    bool is_array;
    size_t n;          // elements; 1 where it is none
    const uint8_t *at; // the first element, checked to be there whole
};

struct sq_gguf {
    unsigned version;
    size_t alignment;
    size_t n_values;
    struct sq_gguf_value *value; // by ascending key
    size_t n_tensors;
    struct sq_tensor *tensor; // by ascending position; dim as everywhere: the last varies fastest
    // private
    struct sq_file_view map;
};

// Whether a regular file begins with "GGUF" (no safetensors file does) or is called .gguf, so that
// one with other contents is refused as what it should be. False where it cannot be read.
bool sq_gguf_is(const char *path);

// *g owns the mapping until close, which is harmless after a failure. Errors: SQ_ERR_IO,
// SQ_ERR_DAMAGED, and SQ_ERR_UNSUPPORTED for another version, byte order, tensor type or arrays of
// arrays.
enum sq_status sq_gguf_open(struct sq_gguf *g, const char *path, struct sq_error *err);
void sq_gguf_close(struct sq_gguf *g);

// NULL where there is none.
const struct sq_gguf_value *sq_gguf_find(const struct sq_gguf *g, const char *key);
const char *sq_gguf_type_name(enum sq_gguf_type type);

// A value that is no array, as JSON the caller owns: integer (real beyond 2^63 - 1), real, boolean,
// string; NULL for an array, for a string that is no UTF-8, and for NaN and infinity.
json_t *sq_gguf_json(const struct sq_gguf_value *v);
// Element i of an array of integers or booleans, 0 for other types; i < v->n.
int64_t sq_gguf_integer(const struct sq_gguf_value *v, size_t i);

// The strings of an array, one after the other: *at starts as v->at; call at most v->n times. The
// bytes are the file's, any bytes, not terminated.
struct sq_gguf_text {
    const char *at;
    size_t n;
};
struct sq_gguf_text sq_gguf_next(const uint8_t **at);

// ggml's number of a type of tensor; UINT32_MAX: it has none.
uint32_t sq_gguf_tensor_type(enum sq_dtype dtype);

// A file of version 3. Its metadata are those of `from`, which may be NULL, but for what `values` says: an object of
// key -> text, integer (u32) or real (f32). Names of tensors are as they are; none may be there twice.
enum sq_status sq_gguf_write(const char *path, const struct sq_gguf *from, const json_t *values,
                             const struct sq_tensor *tensor, size_t n, struct sq_error *err);

// Lets the system drop the pages of a tensor that was read (sq_file_forget).
void sq_gguf_forget(const struct sq_gguf *g, const struct sq_tensor *t);
