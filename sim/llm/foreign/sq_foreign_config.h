// SPDX-License-Identifier: Apache-2.0
// What a quantization_config says of a layer. Internal to sim/llm/foreign/.
#pragma once

#include "sim/llm/foreign/sq_foreign.h"

struct sq_foreign_scheme {
    unsigned bits;   // of a weight; 0: it says nothing
    bool is_float;   // where it says bits
    bool has_type;   // is_float is said
    size_t group;    // columns that share a scale; SIZE_MAX: all; 0: it says nothing
    size_t block[2]; // rows and columns of a tile; 0: it says nothing
    bool is_act,
        is_weights_only;   // activations are quantized, or said not to be; neither: it says nothing
    unsigned act_bits;     // 0: it says nothing
    bool is_act_float;     // where it says bits
    bool is_act_zero;      // activations have zero points
    const char *algorithm; // quant_algo; NULL: none
    bool is_ignored;       // the layer is said not to be quantized
    bool is_act_static;    // activations have constant scales
    bool is_gptq, is_gptq_v2, is_awq;
};

// What it says of the layer `name`: the group that names it, before one with an expression that matches it (the first
// in the alphabet, as the package has it), before one of all linear layers; of GPTQModel the first `dynamic` entry.
enum sq_status sq_foreign_scheme(const struct sq_foreign *f, const char *name,
                                 struct sq_foreign_scheme *s, struct sq_error *err);
// What becomes of activations, in a note where no format here has what the file says: encoded like weights of so many bits,
// where `is_said` that they are encoded and no other bits are given.
enum sq_adopted_act sq_foreign_act_like(const struct sq_foreign_scheme *s, unsigned bits,
                                        struct sq_foreign_notes *notes, bool is_said);
// The same of integers: *bits are theirs, as before where there are none.
enum sq_adopted_act sq_foreign_act_integer(const struct sq_foreign_scheme *s, unsigned *bits,
                                           struct sq_foreign_notes *notes);
// Refuses a layer whose tensors are of another width or another kind than the config says.
enum sq_status sq_foreign_agrees(const struct sq_foreign_scheme *s,
                                 const struct sq_foreign_layer *l, struct sq_error *err);
// Refuses keys that change values and are not read; a note lists those that nobody knows.
enum sq_status sq_foreign_check_keys(const json_t *config, const char *method,
                                     struct sq_foreign_notes *notes, struct sq_error *err);
