// SPDX-License-Identifier: Apache-2.0
// The steps of a block that go element by element, as passes of a vector unit over rows of a memory (rtl/top/vector.md):
// norm, rotary embedding, SiLU times up, residual. The passes are the same whoever runs them, so are the bits.
#pragma once

#include "models/sq_status.h"
#include "sim/block/vector/sq_top_vector.h"

struct sq_vector_steps {
    uint32_t nbytes; // of a beat of the bus: 4, 8, .. 64, a lane for each 4
    // Runs n passes, one after the other, over word[n_words], which begins at address 0. NULL: by models/.
    enum sq_status (*run)(void *context, const struct sq_tv_layer *pass, size_t n, int32_t *word,
                          size_t n_words, struct sq_error *err);
    void *context;
};

// Rows [rows][n], all below 2^16 rows and 2^17 elements of a row; SQ_ERR_RANGE beyond, what `run` says. out may be in.
// out = in / rms(in) * gain.
enum sq_status sq_vector_steps_norm(const struct sq_vector_steps *v, const float *in,
                                    const float *gain, float eps, size_t rows, size_t n, float *out,
                                    struct sq_error *err);
enum sq_status sq_vector_steps_gate(const struct sq_vector_steps *v, float *gate, const float *up,
                                    size_t rows, size_t n, struct sq_error *err);
enum sq_status sq_vector_steps_add(const struct sq_vector_steps *v, float *x, const float *y,
                                   size_t rows, size_t n, struct sq_error *err);
// Heads x[rows][n], in place: their halves are rotated by rotation[rows / heads][n], cosines, then sines, of each token.
enum sq_status sq_vector_steps_rotary(const struct sq_vector_steps *v, float *x,
                                      const float *rotation, size_t heads, size_t rows, size_t n,
                                      struct sq_error *err);
