// SPDX-License-Identifier: Apache-2.0
// Reads encoded layers: of a file that `sqsim quantize -o` wrote, in either of its two forms, packed SQ
// weights (sq_operand_file.h) or any other format (sq_weight_file.h); or of a checkpoint that another program
// quantized (foreign/sq_foreign.h), whose codes are taken as they are.
#pragma once

#include "sim/format/file/sq_operand_file.h"
#include "sim/format/file/sq_weight_file.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/llm/sq_checkpoint.h"

struct sq_layer_file {
    bool is_checkpoint;            // of another program: `ck`, and
    bool is_packed;                // sq_w at own scales: `packed`; else `other`
    struct sq_operand_file packed; //
    struct sq_weight_file other;   //
    struct sq_checkpoint ck;       //
    struct sq_layer_rule *rule;    // those of the recipe, in layers of several kinds
    // As the file says, and the bits of activations where they are free. Its rules live as long as the file.
    struct sq_recipe recipe;
    size_t
        n_as_stored; // layers that no format holds: their values are kept (foreign/sq_as_stored.h)
    char why[160];   // why the first of them is not held
};

// `path` is a file, or the directory of a checkpoint. `given`, which may be NULL, is what was said beside it:
// act-bits at most, and that only of formats that leave it free; beside a checkpoint also operand, both or weights,
// whatever the file says of activations. SQ_ERR_UNSUPPORTED: no encoded layers. After a failure *f is closed.
enum sq_status sq_layer_file_open(struct sq_layer_file *f, const char *path,
                                  const struct sq_given *given, struct sq_error *err);
// Whether the checkpoint holds layers that another program quantized: sq_layer_file_open opens it.
bool sq_layer_file_is_checkpoint(const char *path);
// The same on an open file, which becomes part of *f: *st is empty afterwards, whatever happens.
enum sq_status sq_layer_file_adopt(struct sq_layer_file *f, struct sq_safetensors *st,
                                   const struct sq_given *given, struct sq_error *err);
void sq_layer_file_close(struct sq_layer_file *f);

size_t sq_layer_file_count(const struct sq_layer_file *f);
const char *sq_layer_file_name(const struct sq_layer_file *f, size_t i);
// Layer i, copied and validated; free it with sq_quant_layer_free, after a failure it is empty.
enum sq_status sq_layer_file_load(const struct sq_layer_file *f, size_t i, struct sq_quant_layer *q,
                                  struct sq_error *err);
// The layer of that name, which must be n x k: SQ_ERR_DAMAGED, SQ_ERR_SHAPE.
enum sq_status sq_layer_file_find(const struct sq_layer_file *f, const char *name, size_t n,
                                  size_t k, struct sq_quant_layer *q, struct sq_error *err);
// The n layers of a model that have the names and shapes of `of`, into layer[n]; after a failure those that are
// there are the caller's to free.
enum sq_status sq_layer_file_block(const struct sq_layer_file *f, const struct sq_layer *of,
                                   size_t n, struct sq_quant_layer *layer, struct sq_error *err);
