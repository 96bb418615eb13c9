// SPDX-License-Identifier: Apache-2.0
// The encoder of SpQR (SPEC H.5): columns by falling diagonal of the Hessian, groups of 16 of them,
// outliers by leaving one out, quantizers of two levels, errors compensated as in GPTQ. Binary64;
// only what it stores is bit-exact.
#pragma once

#include "models/quant/sq_calibration.h"
#include "models/spqr/sq_spqr.h"

#define SQ_SPQR_PERCDAMP 1.0 // of the published script
#define SQ_SPQR_RELATIVE 0.2 // outlier threshold over the mean of var(W[:,j]) / U_jj^2

struct sq_spqr_options {
    double percdamp;  // 0..1
    double relative;  // > 0; infinity: no outliers
    bool is_absolute; // store fp16(w), not fp16(w - dense)
};

// *m, allocated here, of w[n][k]; `c` has a Hessian of k channels. *sum_e2, where not NULL,
// receives the sum of the squared errors that were passed on. Channels that were 0 in every token
// are taken as weight 0 (SPEC B.2). The result does not depend on the number of threads and is
// validated. SQ_ERR_SHAPE, SQ_ERR_RANGE, SQ_ERR_NON_FINITE, SQ_ERR_SINGULAR, SQ_ERR_MEMORY;
// SQ_ERR_OVERFLOW for weights beyond binary16. After a failure *m is empty.
enum sq_status sq_spqr_encode(struct sq_spqr *m, const float *w, size_t n, size_t k,
                              const struct sq_calibration *c, const struct sq_spqr_options *o,
                              double *sum_e2, struct sq_error *err);

// Buffers for n, k and nnz outliers, zeros, with room for a permutation. Free with sq_spqr_free,
// which is harmless on zeros.
enum sq_status sq_spqr_alloc(struct sq_spqr *m, size_t n, size_t k, size_t nnz,
                             struct sq_error *err);
void sq_spqr_free(struct sq_spqr *m);
