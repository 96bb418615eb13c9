// SPDX-License-Identifier: Apache-2.0
// What commands share that take layers of a model: the recipe of `eval` and `quantize`, which start from
// the same defaults (sq_format_option.h), where calibration may be impossible; and which layers.
#pragma once

#include "sim/cli/sq_cli_option.h"
#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/sq_layer_file.h"

// sq_cli_recipe; but where nobody chose an --algorithm, the default one needs calibration tokens,
// none were named (`is_calib`) and there are none by default (the checkpoint is no model, or no
// tokens_calib.safetensors lies beside it), that of --algorithm rtn where this needs none. Then
// *is_rtn, and in->given says rtn; say so by sq_cli_note_rtn once the command has succeeded.
enum sq_status sq_cli_recipe_calibrated(struct sq_cli_options *in, const struct sq_checkpoint *ck,
                                        const char *model, bool is_calib, struct sq_recipe *r,
                                        bool *is_rtn, struct sq_error *err);
void sq_cli_note_rtn(const char *command);

// Says of weights that another program quantized, on standard error: what they are, which format holds them, which
// layers none does, what in the file contradicts itself. Says nothing of other files.
void sq_cli_note_weights(const char *command, const struct sq_layer_file *f);
// Says so where the values of such weights are encoded once more.
void sq_cli_note_quantized(const char *command, const struct sq_checkpoint *ck);
// Whether nothing was said of a format and the model was quantized by another program: then its own layers are
// taken, as --weights MODEL.
bool sq_cli_has_own_weights(const struct sq_cli_options *in, const char *model);
// Opens the layers of --weights, beside which the options say at most what becomes of activations, and no
// calibration (`is_calib`).
enum sq_status sq_cli_weights_open(const struct sq_cli_options *in, const char *weights,
                                   bool is_calib, struct sq_layer_file *f, struct sq_error *err);

// Marks in *is_wanted, which the caller frees, the layers whose names match the pattern of --layer (NULL:
// all), and counts them. A pattern of none is refused.
enum sq_status sq_cli_layers(const struct sq_checkpoint *ck, const char *pattern,
                             uint8_t **is_wanted, size_t *n, struct sq_error *err);
// Refuses a recipe that the format's blocks do not take.
enum sq_status sq_cli_routes_check(const struct sq_recipe *r, struct sq_error *err);
