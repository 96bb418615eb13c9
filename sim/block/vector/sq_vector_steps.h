// SPDX-License-Identifier: Apache-2.0
// The steps of a block that go element by element, as passes of a vector unit over rows of a memory (rtl/top/vector.md):
// norm, rotary embedding, SiLU times up, residual. The passes are the same whoever runs them, so are the bits.
#pragma once

#include "models/sq_status.h"
#include "sim/block/vector/sq_top_vector.h"

// Rows in memory: where they begin, beats from one to the next (0: the same row again), whether they are bfloat16.
struct sq_vector_rows {
    uint64_t at;
    uint32_t stride;
    bool half;
};
// Operand b or c of a pass: a row, one element a row, or a constant.
struct sq_vector_operand {
    enum sq_tv_from from;
    struct sq_vector_rows rows;
};
struct sq_vector_operand sq_vector_each(struct sq_vector_rows r);
struct sq_vector_operand sq_vector_one(struct sq_vector_rows r);
struct sq_vector_operand sq_vector_constant(float x);
// y = f(a b + c) of `rows` rows of n elements.
struct sq_tv_layer sq_vector_pass(enum sq_vector_func f, size_t rows, size_t n,
                                  struct sq_vector_rows a, struct sq_vector_operand b,
                                  struct sq_vector_operand c, struct sq_vector_rows y);
// What a b of each row is reduced to, a beat of the bus each from address `to` on.
struct sq_tv_layer sq_vector_reduce(enum sq_tv_red red, size_t rows, size_t n,
                                    struct sq_vector_rows a, struct sq_vector_operand b,
                                    uint64_t to);

// The steps by models/, on a unit of a bus of nbytes: 4, 8, .. 64, a lane for each 4.
// Rows [rows][n], all below 2^16 rows and 2^17 elements of a row; SQ_ERR_RANGE beyond; SQ_ERR_MEMORY. out may be in.
// out = in / rms(in) * gain.
enum sq_status sq_vector_steps_norm(uint32_t nbytes, const float *in, const float *gain, float eps,
                                    size_t rows, size_t n, float *out, struct sq_error *err);
enum sq_status sq_vector_steps_gate(uint32_t nbytes, float *gate, const float *up, size_t rows,
                                    size_t n, struct sq_error *err);
enum sq_status sq_vector_steps_add(uint32_t nbytes, float *x, const float *y, size_t rows, size_t n,
                                   struct sq_error *err);
// Heads x[rows][n], in place: their halves are rotated by rotation[rows / heads][n], cosines, then sines, of each token.
enum sq_status sq_vector_steps_rotary(uint32_t nbytes, float *x, const float *rotation,
                                      size_t heads, size_t rows, size_t n, struct sq_error *err);
// y[rows] = w[rows][n] x[n].
enum sq_status sq_vector_steps_head(uint32_t nbytes, const float *w, const float *x, size_t rows,
                                    size_t n, float *y, struct sq_error *err);
