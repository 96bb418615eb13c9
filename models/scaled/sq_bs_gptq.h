// SPDX-License-Identifier: Apache-2.0
// GPTQ on block-scaled formats, and on rotated inputs (SPEC Q.6, Q.7, B.4).
#pragma once

#include "models/quant/sq_calibration.h"
#include "models/scaled/sq_bs.h"

// *c has shape, globals and buffers of zeros and receives scales, marks and codes of w[n][k_orig].
// What a block chooses (sq_bs_choose) it chooses from the compensated weights when it is reached.
// `f` is the factor of the inputs, k = k_orig (SQ_ERR_SHAPE otherwise). SQ_ERR_NON_FINITE for w.
enum sq_status sq_bs_gptq_encode(struct sq_bs *c, const float *w, const struct sq_factor *f,
                                 struct sq_error *err);

// *to, a calibration of its own, with the Hessian of the inputs padded with zeros to k columns and
// rotated in groups of n (sq_bs_rotate): H^T (X^T X) H. Sums and maxima of channels are not carried
// over. Free with sq_calibration_free. SQ_ERR_ARG without a Hessian.
enum sq_status sq_bs_rotate_calibration(const struct sq_calibration *from, size_t k, unsigned n,
                                        struct sq_calibration *to, struct sq_error *err);
