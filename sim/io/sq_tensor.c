// SPDX-License-Identifier: Apache-2.0
// Contents of tensors: exact widening to binary32, dropping pages (sq_safetensors.h).
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/io/sq_safetensors.h"

static float from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

// binary16: 1 sign, 5 exponent (bias 15), 10 fraction. binary32: 1, 8 (bias 127), 23.
float sq_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
    if (exponent == 31) // infinity, NaN with its payload
        return from_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) { // zero, subnormal: fraction * 2^-24, exact in binary32
        float magnitude = (float)fraction * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

float sq_bf16_to_f32(uint16_t h)
{
    return from_bits((uint32_t)h << 16);
}

static uint16_t load_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static float load_f32(const uint8_t *p)
{
    return from_bits((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                     (uint32_t)p[3] << 24);
}

enum sq_status sq_tensor_read_f32(const struct sq_tensor *t, float *out, struct sq_error *err)
{
    if (!sq_dtype_is_float(t->dtype))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "tensor '%.80s' is %s, need F32, F16 or BF16",
                       t->name, sq_dtype_name(t->dtype));
    for (size_t i = 0; i < t->n_elements; i++) {
        if (t->dtype == SQ_F32)
            out[i] = load_f32(t->data + 4 * i);
        else if (t->dtype == SQ_F16)
            out[i] = sq_f16_to_f32(load_u16(t->data + 2 * i));
        else
            out[i] = sq_bf16_to_f32(load_u16(t->data + 2 * i));
        if (!isfinite(out[i]))
            return SQ_FAIL(err, SQ_ERR_NON_FINITE, "element %zu of tensor '%.80s' is %s", i,
                           t->name, isnan(out[i]) ? "NaN" : "infinite");
    }
    return SQ_OK;
}

void sq_tensor_forget(const struct sq_safetensors *st, const struct sq_tensor *t)
{
    if (!st->map.data)
        return; // not our pages: dropping them would lose their contents
    // Whole pages inside the tensor only: neighbours keep theirs.
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)t->data + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)t->data + t->nbytes) & ~(page - 1);
    if (begin < end)
        (void)madvise((void *)begin, end - begin,
                      MADV_DONTNEED); // a hint: failure costs memory only
}
