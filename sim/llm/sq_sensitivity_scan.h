// SPDX-License-Identifier: Apache-2.0
// Which layers suffer most: selective sparsity.
#ifndef SQ_SENSITIVITY_SCAN_H
#define SQ_SENSITIVITY_SCAN_H

#include "sim/llm/sq_blockwise.h"

// Selective sparsity: error[n_layers] of every layer under r->format with nothing dense (relative
// output error on its calibration inputs), and which round(dense_fraction * n_layers) stay
// dense.
enum sq_status sq_eval_sensitive(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                                 const struct sq_recipe *r, double dense_fraction, double *error,
                                 uint8_t *is_dense, struct sq_error *err);

#endif
