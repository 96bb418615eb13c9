// SPDX-License-Identifier: Apache-2.0
// A tensor as a file holds it, whichever container it came in: the elements of safetensors and the
// blocks of GGUF, and their values in binary32.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

struct sq_ggml_type;

enum sq_dtype {
    SQ_F32,
    SQ_F16,
    SQ_BF16,
    SQ_I8,
    SQ_U8,
    SQ_I32,
    SQ_I64,
    SQ_F8_E4M3,     // codes: what they stand for needs the scale of another tensor
    SQ_F8_E5M2,     //
    SQ_F8_E8M0,     //
    SQ_DTYPE_COUNT, // of safetensors; what follows occurs in GGUF files only (models/number/sq_ggml.h)
    SQ_Q8_0 = SQ_DTYPE_COUNT,
    SQ_Q4_0,
    SQ_Q4_1,
    SQ_Q5_0,
    SQ_Q5_1,
    SQ_Q4_K,
    SQ_Q5_K,
    SQ_Q6_K,
    SQ_Q2_K,
    SQ_Q3_K,
    SQ_TQ1_0,
    SQ_TQ2_0,
    SQ_IQ4_NL,
    SQ_IQ4_XS,
    SQ_MXFP4,
    SQ_NVFP4,
    SQ_DTYPE_END
};

const char *sq_dtype_name(enum sq_dtype dtype);    // "F32", ...
size_t sq_dtype_nbytes(enum sq_dtype dtype);       // of an element, or of a block of them
size_t sq_dtype_block_length(enum sq_dtype dtype); // 1, 32, 64 or 256 elements
bool sq_dtype_is_float(enum sq_dtype dtype);       // has values that sq_tensor_read_f32 gives
// How its blocks hold integers (models/number/sq_ggml.h); NULL: they hold none.
const struct sq_ggml_type *sq_dtype_integers(enum sq_dtype dtype);

#define SQ_TENSOR_MAX_DIMS 8u

struct sq_tensor {
    const char *name; // UTF-8 without control characters
    enum sq_dtype dtype;
    unsigned n_dims;                  // 0 = scalar
    uint64_t dim[SQ_TENSOR_MAX_DIMS]; // the last one varies fastest, a multiple of the block length
    size_t n_elements;                // product of dim; derived, ignored by the writer
    size_t nbytes;                    // derived, ignored by the writer
    const uint8_t *data; // little-endian, NOT necessarily aligned to the dtype: copy, do not cast
};

// n_elements and nbytes from dtype and dim. SQ_ERR_DAMAGED where they overflow; `what` names the
// file.
enum sq_status sq_tensor_derive(const char *what, struct sq_tensor *t, struct sq_error *err);

// Rows [first, first + n) of a matrix, in the same memory.
struct sq_tensor sq_tensor_rows(const struct sq_tensor *t, size_t first, size_t n);

// Floats and blocks -> binary32, bit by bit as their format says; out holds t->n_elements. Refuses
// integers (SQ_ERR_UNSUPPORTED) and, with tensor name and flat index, NaN and infinity
// (SQ_ERR_NON_FINITE).
enum sq_status sq_tensor_read_f32(const struct sq_tensor *t, float *out, struct sq_error *err);

// IEEE binary16 and bfloat16 bit patterns to binary32, exact for every pattern.
float sq_f16_to_f32(uint16_t h);
float sq_bf16_to_f32(uint16_t h);
