// SPDX-License-Identifier: Apache-2.0
// Encoded weights in safetensors files (SPEC O.1, system sq_w).
//
// One operand: tensors `s_lo`, `s_hi` F32 [N][K/G], `lo`, `hi` U8 [N][row bytes].
// A whole model: the same four with the layer as prefix, "model.layers.0.mlp.up_proj.lo". All
// scales come first, then all streams, so that every tensor is aligned.
//
// Metadata, strings: system = sq_w, version = 1, h_high, h_low, bank, k (high codes per bank),
// group (a number, or "row" for G = K), scale_type = f32, producer, source, seed, tool; and per
// operand, with its prefix: N, K (as stored, padded), k_orig (K of the model), input_digest
// (XXH3-128 of the bytes of the weight tensor that was encoded).
//
// Reading trusts nothing: the shapes must follow from the metadata, and each operand passes
// sq_matrix_validate before the caller gets it.
#pragma once

#include <stdint.h>

#include "models/core/sq_format.h"
#include "sim/io/sq_digest.h"
#include "sim/io/sq_safetensors.h"

// ---- a matrix that owns its buffers -----------------------------------------------------------

struct sq_operand {
    struct sq_matrix m;
    size_t lo_nbytes, hi_nbytes, n_scales; // of the whole matrix
    void *buffer;                          // private
};

// Sized for w[n][k_orig]: m.k is the padded width, buffers are zero. n, k_orig 1..2^31. free leaves
// an empty struct; free of an empty struct is harmless.
enum sq_status sq_operand_alloc(struct sq_operand *o, const struct sq_format *f, size_t n,
                                size_t k_orig, struct sq_error *err);
void sq_operand_free(struct sq_operand *o);

// ---- writing --------------------------------------------------------------------------------

struct sq_operand_file_item {
    const char *name; // layer, or "" for the only operand of a file
    size_t n, k_orig;
    struct sq_digest input_digest;
};

struct sq_operand_file_info {
    struct sq_format format;
    const char *producer; // "golden" or "cuda"
    const char *source;   // "real" or "synthetic"
    uint64_t seed;
};

// Declares all operands, then takes them one by one in any order; the file appears at commit.
struct sq_operand_file_writer {
    struct sq_safetensors_writer file;
    size_t n_items;
};
enum sq_status sq_operand_file_begin(struct sq_operand_file_writer *w, const char *path,
                                     const struct sq_operand_file_info *info,
                                     const struct sq_operand_file_item *item, size_t n_items,
                                     struct sq_error *err);
enum sq_status sq_operand_file_put(struct sq_operand_file_writer *w, size_t i,
                                   const struct sq_operand *o, struct sq_error *err);
// Both end the life of *w; abort after a failed begin is harmless.
enum sq_status sq_operand_file_commit(struct sq_operand_file_writer *w, struct sq_error *err);
void sq_operand_file_abort(struct sq_operand_file_writer *w);

// ---- reading --------------------------------------------------------------------------------

struct sq_operand_file {
    struct sq_safetensors file;
    struct sq_format format;
    size_t n_operands;
    struct sq_operand_file_entry {
        char *name; // "" for the only operand of a file
        size_t n, k, k_orig;
        const struct sq_tensor *lo, *hi, *s_lo, *s_hi;
    } * entry; // in file order
};

// True where the metadata call the file an encoded operand: sq_operand_file_open is then worth a
// try. Files of sq_weight_file.h have a `grid`.
bool sq_operand_file_is_encoded(const struct sq_safetensors *st);

// Checks names, dtypes, shapes and metadata against each other (SQ_ERR_DAMAGED, SQ_ERR_SHAPE,
// SQ_ERR_STREAM_LEN, SQ_ERR_UNSUPPORTED). After a failure *t is closed.
enum sq_status sq_operand_file_open(struct sq_operand_file *t, const char *path,
                                    struct sq_error *err);
// The same on an open file, which becomes part of *t: *st is empty afterwards, whatever happens.
enum sq_status sq_operand_file_adopt(struct sq_operand_file *t, struct sq_safetensors *st,
                                     struct sq_error *err);
void sq_operand_file_close(struct sq_operand_file *t);

// Operand i, copied and validated (the refusals of SPEC A.8); free it with sq_operand_free.
enum sq_status sq_operand_file_load(const struct sq_operand_file *t, size_t i, struct sq_operand *o,
                                    struct sq_error *err);
