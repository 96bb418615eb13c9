// SPDX-License-Identifier: Apache-2.0
// Layers of the formats that have files (sq_format_ops.h) in safetensors files (SPEC O.1).
//
// Tensors: "<layer>.<part>", parts as the format names them (sp24: s_w, values, meta). Metadata,
// strings: system, version = 1, producer = golden, source, tool, the format's own numbers, smooth
// where SmoothQuant was applied (every layer then has `sigma` F32 [k_orig]), and per layer, with
// its prefix: N, K (as stored, padded), k_orig (K of the model), input_digest (XXH3-128 of the
// weight tensor that was encoded).
//
// Reading trusts nothing: every tensor must belong to a layer, shapes must follow from the
// metadata, and each layer is validated by its format before the caller gets it.
#pragma once

#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_digest.h"

// The tensors of a layer: what its format stores and, smoothed, `sigma`, by which activations are
// divided. Valid as long as the layer; returns how many.
#define SQ_LAYER_PARTS_MAX (SQ_PARTS_MAX + 1u)
size_t sq_layer_parts(const struct sq_quant_layer *q, struct sq_part part[SQ_LAYER_PARTS_MAX]);

struct sq_weight_item {
    const char *name; // of the layer
    size_t n, k_orig;
    struct sq_digest input_digest;
    const struct sq_quant_layer *layer; // encoded by the recipe
};

// The file appears complete or not at all. `source`: "real" or "synthetic".
enum sq_status sq_weight_file_write(const char *path, const struct sq_recipe *r, const char *source,
                                    const struct sq_weight_item *item, size_t n,
                                    struct sq_error *err);

struct sq_weight_file {
    struct sq_safetensors st;
    struct sq_recipe recipe; // the default recipe with format and numbers of the file
    size_t n_layers;
    struct sq_weight_entry {
        char *name;
        size_t n, k, k_orig;
        size_t n_tensors; // named "<layer>.<part>"
    } * layer;            // in the order of the metadata
};

// True where the metadata name one of these formats.
bool sq_weight_file_is(const struct sq_safetensors *st);

// After a failure *f is closed. SQ_ERR_DAMAGED, SQ_ERR_SHAPE, SQ_ERR_UNSUPPORTED.
enum sq_status sq_weight_file_open(struct sq_weight_file *f, const char *path,
                                   struct sq_error *err);
// The same on an open file, which becomes part of *f: *st is empty afterwards, whatever happens.
enum sq_status sq_weight_file_adopt(struct sq_weight_file *f, struct sq_safetensors *st,
                                    struct sq_error *err);
void sq_weight_file_close(struct sq_weight_file *f);

// Layer i, copied and validated; free it with sq_quant_layer_free.
enum sq_status sq_weight_file_load(const struct sq_weight_file *f, size_t i,
                                   struct sq_quant_layer *q, struct sq_error *err);
