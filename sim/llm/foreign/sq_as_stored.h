// SPDX-License-Identifier: Apache-2.0
// A layer whose weights are kept as the values that a file stores, for a model that is quantized in part: the
// product in binary32 of both sides as they are (models/number/sq_gemm_values.h). It is a table of a format that
// no list has, so that nothing is encoded into it.
#pragma once

#include "sim/format/sq_recipe.h"

struct sq_recipe sq_as_stored_recipe(void);
bool sq_is_as_stored(const struct sq_recipe *r);

// w[n][k], which becomes the layer's (malloc), whatever happens; `nbits` of all of it in its file.
enum sq_status sq_as_stored_layer(float *w, size_t n, size_t k, double nbits,
                                  struct sq_quant_layer *q, struct sq_error *err);
