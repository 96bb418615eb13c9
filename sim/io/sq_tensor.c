// SPDX-License-Identifier: Apache-2.0
// Holds the sizes of the data types, and widens values to binary32 (sq_tensor.h).
#include "sim/io/sq_tensor.h"

#include <math.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_ggml.h"

// ---- dtypes ---------------------------------------------------------------------------------

static const struct {
    const char *name;
    size_t nbytes, length;
    const struct sq_ggml_type *integers; // of blocks of integers
    sq_ggml_decode *decode;              // of other blocks
} dtype_table[SQ_DTYPE_END] = {
    [SQ_F32] = {"F32", 4, 1, NULL, NULL},
    [SQ_F16] = {"F16", 2, 1, NULL, NULL},
    [SQ_BF16] = {"BF16", 2, 1, NULL, NULL},
    [SQ_I8] = {"I8", 1, 1, NULL, NULL},
    [SQ_U8] = {"U8", 1, 1, NULL, NULL},
    [SQ_I32] = {"I32", 4, 1, NULL, NULL},
    [SQ_I64] = {"I64", 8, 1, NULL, NULL},
    [SQ_F8_E4M3] = {"F8_E4M3", 1, 1, NULL, NULL},
    [SQ_F8_E5M2] = {"F8_E5M2", 1, 1, NULL, NULL},
    [SQ_F8_E8M0] = {"F8_E8M0", 1, 1, NULL, NULL},
    [SQ_Q8_0] = {"Q8_0", SQ_GGML_Q8_0_NBYTES, SQ_GGML_LEN, &sq_ggml_as_q8_0, NULL},
    [SQ_Q4_0] = {"Q4_0", SQ_GGML_Q4_0_NBYTES, SQ_GGML_LEN, &sq_ggml_as_q4_0, NULL},
    [SQ_Q4_1] = {"Q4_1", SQ_GGML_Q4_1_NBYTES, SQ_GGML_LEN, &sq_ggml_as_q4_1, NULL},
    [SQ_Q5_0] = {"Q5_0", SQ_GGML_Q5_0_NBYTES, SQ_GGML_LEN, &sq_ggml_as_q5_0, NULL},
    [SQ_Q5_1] = {"Q5_1", SQ_GGML_Q5_1_NBYTES, SQ_GGML_LEN, &sq_ggml_as_q5_1, NULL},
    [SQ_Q4_K] = {"Q4_K", SQ_GGML_Q4_K_NBYTES, SQ_GGML_K_LEN, &sq_ggml_as_q4_k, NULL},
    [SQ_Q5_K] = {"Q5_K", SQ_GGML_Q5_K_NBYTES, SQ_GGML_K_LEN, &sq_ggml_as_q5_k, NULL},
    [SQ_Q6_K] = {"Q6_K", SQ_GGML_Q6_K_NBYTES, SQ_GGML_K_LEN, &sq_ggml_as_q6_k, NULL},
    [SQ_Q2_K] = {"Q2_K", SQ_GGML_Q2_K_NBYTES, SQ_GGML_K_LEN, &sq_ggml_as_q2_k, NULL},
    [SQ_Q3_K] = {"Q3_K", SQ_GGML_Q3_K_NBYTES, SQ_GGML_K_LEN, &sq_ggml_as_q3_k, NULL},
    [SQ_TQ1_0] = {"TQ1_0", SQ_GGML_TQ1_0_NBYTES, SQ_GGML_K_LEN, NULL, sq_ggml_tq1_0},
    [SQ_TQ2_0] = {"TQ2_0", SQ_GGML_TQ2_0_NBYTES, SQ_GGML_K_LEN, NULL, sq_ggml_tq2_0},
    [SQ_IQ4_NL] = {"IQ4_NL", SQ_GGML_IQ4_NL_NBYTES, SQ_GGML_LEN, NULL, sq_ggml_iq4_nl},
    [SQ_IQ4_XS] = {"IQ4_XS", SQ_GGML_IQ4_XS_NBYTES, SQ_GGML_K_LEN, NULL, sq_ggml_iq4_xs},
    [SQ_MXFP4] = {"MXFP4", SQ_GGML_MXFP4_NBYTES, SQ_GGML_LEN, NULL, sq_ggml_mxfp4},
    [SQ_NVFP4] = {"NVFP4", SQ_GGML_NVFP4_NBYTES, SQ_GGML_NVFP4_LEN, NULL, sq_ggml_nvfp4},
};

const char *sq_dtype_name(enum sq_dtype dtype)
{
    return dtype < SQ_DTYPE_END ? dtype_table[dtype].name : "?";
}

size_t sq_dtype_nbytes(enum sq_dtype dtype)
{
    return dtype < SQ_DTYPE_END ? dtype_table[dtype].nbytes : 0;
}

size_t sq_dtype_block_length(enum sq_dtype dtype)
{
    return dtype < SQ_DTYPE_END ? dtype_table[dtype].length : 1;
}

const struct sq_ggml_type *sq_dtype_integers(enum sq_dtype dtype)
{
    return dtype < SQ_DTYPE_END ? dtype_table[dtype].integers : NULL;
}

bool sq_dtype_is_float(enum sq_dtype dtype)
{
    return dtype == SQ_F32 || dtype == SQ_F16 || dtype == SQ_BF16 ||
           sq_dtype_block_length(dtype) > 1;
}

enum sq_status sq_tensor_derive(const char *what, struct sq_tensor *t, struct sq_error *err)
{
    const size_t length = sq_dtype_block_length(t->dtype);
    uint64_t n = 1, nbytes;
    bool over = false;
    for (unsigned i = 0; i < t->n_dims; i++)
        over = over || __builtin_mul_overflow(n, t->dim[i], &n) || n > INT64_MAX;
    over = over || __builtin_mul_overflow(n / length, sq_dtype_nbytes(t->dtype), &nbytes) ||
           nbytes > INT64_MAX || nbytes > SIZE_MAX;
    if (over)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: the shape of tensor '%.60s' overflows", what,
                       t->name);
    if (length > 1 && (t->n_dims == 0 || t->dim[t->n_dims - 1] % length != 0))
        return SQ_FAIL(err, SQ_ERR_DAMAGED,
                       "%s: a row of tensor '%.60s' has %llu elements, %s needs a multiple of %zu",
                       what, t->name, t->n_dims ? (unsigned long long)t->dim[t->n_dims - 1] : 1,
                       sq_dtype_name(t->dtype), length);
    t->n_elements = (size_t)n;
    t->nbytes = (size_t)nbytes;
    return SQ_OK;
}

struct sq_tensor sq_tensor_rows(const struct sq_tensor *t, size_t first, size_t n)
{
    struct sq_tensor rows = *t;
    const size_t columns = (size_t)t->dim[1];
    const size_t row_nbytes = columns / sq_dtype_block_length(t->dtype) * sq_dtype_nbytes(t->dtype);
    rows.dim[0] = n;
    rows.n_elements = n * columns;
    rows.nbytes = n * row_nbytes;
    rows.data = t->data + first * row_nbytes;
    return rows;
}

// ---- values ---------------------------------------------------------------------------------

// binary16: 1 sign, 5 exponent (bias 15), 10 fraction. binary32: 1, 8 (bias 127), 23.
float sq_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
    if (exponent == 31) // infinity, NaN with its payload
        return sq_float_of(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) { // zero, subnormal: fraction * 2^-24, exact in binary32
        float magnitude = (float)fraction * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return sq_float_of(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

float sq_bf16_to_f32(uint16_t h)
{
    return sq_float_of((uint32_t)h << 16);
}

static uint16_t load_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static float load_f32(const uint8_t *p)
{
    return sq_float_of((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                       (uint32_t)p[3] << 24);
}

static void widen_bf16(const uint8_t *data, size_t n, float *out)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        out[i] = sq_float_of((uint32_t)load_u16(data + 2 * i) << 16);
}

static void widen(const struct sq_tensor *t, float *out)
{
    const size_t length = sq_dtype_block_length(t->dtype), nbytes = sq_dtype_nbytes(t->dtype);
    const struct sq_ggml_type *const integers = sq_dtype_integers(t->dtype);
    if (t->dtype == SQ_BF16) {
        widen_bf16(t->data, t->n_elements, out);
        return;
    }
    for (size_t i = 0; i < t->n_elements / length; i++) {
        const uint8_t *at = t->data + nbytes * i;
        if (integers)
            sq_ggml_values(integers, at, out + length * i);
        else if (length > 1)
            dtype_table[t->dtype].decode(at, out + length * i);
        else if (t->dtype == SQ_F32)
            out[i] = load_f32(at);
        else
            out[i] = sq_f16_to_f32(load_u16(at));
    }
}

// Whether all numbers are finite. The largest magnitude, taken as an integer, decides: compilers make
// vector code of integer maxima.
static bool all_finite(const float *x, size_t n)
{
    uint32_t largest = 0;
#pragma omp simd reduction(max : largest)
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= 0x7fffffffu;
        largest = bits > largest ? bits : largest;
    }
    return largest < 0x7f800000u;
}

enum sq_status sq_tensor_read_f32(const struct sq_tensor *t, float *out, struct sq_error *err)
{
    if (!sq_dtype_is_float(t->dtype))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "tensor '%.80s' is %s, need F32, F16 or BF16",
                       t->name, sq_dtype_name(t->dtype));
    widen(t, out);
    if (all_finite(out, t->n_elements))
        return SQ_OK;
    size_t i = 0;
    while (isfinite(out[i]))
        i++;
    return SQ_FAIL(err, SQ_ERR_NON_FINITE, "element %zu of tensor '%.80s' is %s", i, t->name,
                   isnan(out[i]) ? "NaN" : "infinite");
}
