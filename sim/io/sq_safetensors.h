// SPDX-License-Identifier: Apache-2.0
// The safetensors container (SPEC O.1): 8-byte little-endian header length, JSON header, raw
// little-endian data. Python, PyTorch and other tools open what is written here unchanged.
//
// Reading maps the file and checks everything before a caller sees a tensor: header length, JSON,
// duplicate names, dtype, shape product, byte counts, and that the data ranges cover the buffer
// once, without overlap, hole or rest (SPEC O.2-13). What is open is therefore consistent; only
// float contents are still unchecked (sq_tensor_read_f32 refuses NaN and infinity).
//
// Files written here that have metadata hold the digest of all their bytes as well, under
// SQ_DIGEST_KEY: of the header before its digits, of the header after them, then of the digests of
// the tensors' data in their order (sq_digest.h; 16 bytes each, low half first, little-endian). A
// file that has the key and another digest is refused; one without it, of another writer, is not.
// Who alters such a file on purpose removes the key.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"
#include "sim/io/sq_digest.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_tensor.h"

#define SQ_HEADER_MAX_NBYTES 100000000u // the limit of the reference implementation

struct sq_metadata {
    const char *key, *value; // UTF-8
};

// ---- reading --------------------------------------------------------------------------------

struct sq_safetensors {
    size_t n_tensors;
    struct sq_tensor *tensor; // by ascending position in the file
    size_t n_metadata;
    struct sq_metadata *metadata; // `__metadata__` in the order of the header
    const uint8_t *buffer;        // start of the data
    // private
    const struct sq_tensor **by_name;
    const struct sq_metadata **by_key;
    char *text; // of all names, keys and values
    size_t text_nbytes;
    const uint8_t *head; // the header as it is stored, up to buffer
    struct sq_file_view map;
};

// *st owns the mapping until close; names, metadata and data point into it. After a failure *st is
// closed. Errors: SQ_ERR_IO for the file system, SQ_ERR_DAMAGED for contents, SQ_ERR_UNSUPPORTED
// for a dtype outside the enum or more than SQ_TENSOR_MAX_DIMS dimensions.
enum sq_status sq_safetensors_open(struct sq_safetensors *st, const char *path,
                                   struct sq_error *err);

// Whether the file is what was written, where it holds a digest: SQ_ERR_DAMAGED. Part of
// sq_safetensors_open, and of nothing else.
#define SQ_DIGEST_KEY "sq_digest"
enum sq_status sq_safetensors_check(const struct sq_safetensors *st, const char *what,
                                    struct sq_error *err);

// The same as open on bytes the caller keeps alive, without the check of a digest; `what` names
// them in errors.
enum sq_status sq_safetensors_open_memory(struct sq_safetensors *st, const void *bytes,
                                          size_t nbytes, const char *what, struct sq_error *err);
void sq_safetensors_close(struct sq_safetensors *st);

// NULL where there is none.
const struct sq_tensor *sq_safetensors_find(const struct sq_safetensors *st, const char *name);
const char *sq_safetensors_metadata(const struct sq_safetensors *st, const char *key);

// Lets the system drop the pages of a tensor that was read, so that large models stay out of
// memory; reading them again is allowed. Nothing happens where st was opened from memory.
void sq_tensor_forget(const struct sq_safetensors *st, const struct sq_tensor *t);

// ---- writing --------------------------------------------------------------------------------

// All tensors at once, data from tensor[i].data, in the given order: the same input gives the same
// bytes. Order by falling element size, so that every tensor is aligned (PyTorch insists). The file
// appears complete or not at all.
enum sq_status sq_safetensors_write(const char *path, const struct sq_tensor *tensor, size_t n,
                                    const struct sq_metadata *metadata, size_t n_metadata,
                                    struct sq_error *err);

// The same piece by piece, for files larger than memory: begin declares everything (data ignored),
// put fills tensor i in any order, each once, commit names the file and refuses if one is missing.
struct sq_safetensors_writer {
    struct sq_outfile out;
    size_t n_tensors;
    struct sq_piece {
        uint64_t at; // file offset
        size_t nbytes;
        struct sq_digest digest;
        bool is_written;
    } * piece;
    struct sq_digest header; // both sides of the digits
    uint64_t digits_at;      // file offset; 0: none
};
enum sq_status sq_safetensors_begin(struct sq_safetensors_writer *w, const char *path,
                                    const struct sq_tensor *tensor, size_t n,
                                    const struct sq_metadata *metadata, size_t n_metadata,
                                    struct sq_error *err);
enum sq_status sq_safetensors_put(struct sq_safetensors_writer *w, size_t i, const void *data,
                                  struct sq_error *err);
// Both end the life of *w; abort after a failed begin is harmless.
enum sq_status sq_safetensors_commit(struct sq_safetensors_writer *w, struct sq_error *err);
void sq_safetensors_abort(struct sq_safetensors_writer *w);
