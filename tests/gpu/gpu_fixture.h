// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of gpu/: the seed, random operands, operands in the device orders written
// down once more as plain loops, and checks that name the case.
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" {

#include "models/core/sq_format.h"
#include "models/core/sq_mac.h"
#include "models/number/sq_codes.h"
#include "models/quant/sq_codes_alloc.h"
#include "models/sq_rng.h"
}
#include "tests/test.h"

#define LEN(a) (sizeof(a) / sizeof(a)[0])

inline uint64_t fixture_seed()
{
    const char *text = getenv("SQ_SEED");
    return text ? strtoull(text, nullptr, 0) : 1;
}

// Ends the test with the seed, the case and both values.
#define CHECK_EQ(got, want, ...)                                                                   \
    do {                                                                                           \
        const long long got_ = static_cast<long long>(got), want_ = static_cast<long long>(want);  \
        if (got_ != want_) {                                                                       \
            print_error("seed %" PRIu64 ": ", fixture_seed());                                     \
            print_error(__VA_ARGS__);                                                              \
            fail_msg("%s = %lld, want %lld", #got, got_, want_);                                   \
        }                                                                                          \
    } while (0)

#define CHECK_OK(expr)                                                                             \
    do {                                                                                           \
        struct sq_error err_ = {};                                                                 \
        const auto run_ = [&](struct sq_error *err) { return expr; };                              \
        if (run_(&err_) != SQ_OK)                                                                  \
            fail_msg("%s: %s", #expr, err_.text);                                                  \
    } while (0)

inline uint32_t float_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

// 16-byte aligned storage, filled with 0xa5: what a kernel forgets to write shows.
template <class T> struct Buffer {
    explicit Buffer(size_t n)
        : size(n), data(static_cast<T *>(aligned_alloc(64, (n * sizeof(T) + 127) / 64 * 64)))
    {
        memset(static_cast<void *>(data), 0xa5, n * sizeof(T));
    }
    ~Buffer()
    {
        free(data);
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    T &operator[](size_t i)
    {
        return data[i];
    }
    const T &operator[](size_t i) const
    {
        return data[i];
    }
    size_t size;
    T *data;
};

// Roughly normal, sum of four uniforms; some elements 20 times larger (SPEC J.6).
inline float random_value(struct sq_rng *r)
{
    double sum = -2;
    for (int i = 0; i < 4; i++)
        sum += sq_rng_unit(r);
    return static_cast<float>(sum) * (sq_rng_below(r, 50) == 0 ? 20.0f : 1.0f);
}
inline int random_code(struct sq_rng *r, int bits)
{
    const int span = 1 << bits;
    const uint32_t pick = sq_rng_below(r, 16);
    return pick == 0   ? -span / 2
           : pick == 1 ? span / 2 - 1
                       : static_cast<int>(sq_rng_below(r, static_cast<uint32_t>(span))) - span / 2;
}

// [rows][k] codes packed in natural order (SPEC 0.5) or, in halves order, code i of a block of 32
// in the low nibble of byte i (i < 16) or the high nibble of byte i - 16.
inline void pack_natural(const std::vector<int> &code, Buffer<uint8_t> *out)
{
    for (size_t i = 0; i < code.size(); i += 2)
        (*out)[i / 2] = static_cast<uint8_t>((code[i] & 15) | (code[i + 1] & 15) << 4);
}
inline void pack_halves(const std::vector<int> &code, Buffer<uint8_t> *out)
{
    for (size_t block = 0; block < code.size(); block += 32)
        for (size_t i = 0; i < 16; i++)
            (*out)[block / 2 + i] =
                static_cast<uint8_t>((code[block + i] & 15) | (code[block + i + 16] & 15) << 4);
}
inline void pack_bytes(const std::vector<int> &code, Buffer<uint8_t> *out)
{
    for (size_t i = 0; i < code.size(); i++)
        (*out)[i] = static_cast<uint8_t>(code[i]);
}
