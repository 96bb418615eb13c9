// SPDX-License-Identifier: Apache-2.0
// Bits of a number in binary32, sign extension, the smaller of two sizes, and one element of a
// little-endian bit stream (SPEC 0.5); for whole streams outside models/ there are sq_pack and
// sq_unpack (sq_format.h). A code of 1..8 bits spans at most two bytes; the second is touched only
// where the code reaches into it, so nothing outside the stream is read or written.
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// The bits of a number in binary32, and the number of such bits: not one is changed.
static inline uint32_t sq_bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float sq_float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// The one sign extension: the low `bits` bits (1..31) of v as two's complement.
static inline int32_t sq_sign_extend(uint32_t v, unsigned bits)
{
    assert(bits >= 1 && bits <= 31);
    const uint32_t sign = UINT32_C(1) << (bits - 1);
    v &= (sign << 1) - 1;
    return (int32_t)(v ^ sign) - (int32_t)sign;
}

static inline size_t sq_min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline int8_t sq_bits_get(const uint8_t *in, size_t i, unsigned bits)
{
    const size_t byte = i / 8 * bits + i % 8 * bits / 8;
    const unsigned shift = (unsigned)(i % 8 * bits % 8);
    uint32_t v = in[byte];
    if (shift + bits > 8)
        v |= (uint32_t)in[byte + 1] << 8;
    return (int8_t)sq_sign_extend(v >> shift, bits);
}

// Ors the code into place: its bits must still be 0.
static inline void sq_bits_put(uint8_t *out, size_t i, unsigned bits, int8_t code)
{
    const size_t byte = i / 8 * bits + i % 8 * bits / 8;
    const unsigned shift = (unsigned)(i % 8 * bits % 8);
    const uint32_t v = ((uint32_t)code & ((1u << bits) - 1)) << shift;
    out[byte] = (uint8_t)(out[byte] | v);
    if (shift + bits > 8)
        out[byte + 1] = (uint8_t)(out[byte + 1] | v >> 8);
}
