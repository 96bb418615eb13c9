// SPDX-License-Identifier: Apache-2.0
// Sixteen binary32 numbers side by side, for sums whose order is part of a format: each lane adds
// its own numbers in that order, one rounding an operation. The compilers make one vector of it
// with AVX-512, two with AVX2, four with SSE; bits are the same. Internal to models/.
#pragma once

enum { SQ_LANES = 16 };

typedef float sq_lanes __attribute__((vector_size(64)));
typedef float sq_lanes_at __attribute__((vector_size(64), aligned(4), may_alias)); // in memory

static inline const sq_lanes_at *sq_lanes_from(const float *p)
{
    return (const sq_lanes_at *)p;
}

static inline sq_lanes_at *sq_lanes_to(float *p)
{
    return (sq_lanes_at *)p;
}

#define SQ_LANES_BODY static inline __attribute__((always_inline))
#if defined(__x86_64__)
#define SQ_LANES_AVX2 __attribute__((target("avx2")))
#if defined(__clang__) // leaves out all of an attribute of which it does not know one word
#define SQ_LANES_AVX512 __attribute__((target("avx512f,avx512bw")))
#else
#define SQ_LANES_AVX512 __attribute__((target("avx512f,avx512bw,prefer-vector-width=512")))
#endif
#endif

// Instruction sets that a body is compiled for; 0: the last one of the processor.
enum sq_lanes_level {
    SQ_LANES_AUTO,
    SQ_LANES_PORTABLE,
    SQ_LANES_OF_AVX2,
    SQ_LANES_OF_AVX512,
    SQ_LANES_LEVELS
};

static inline int sq_lanes_has(enum sq_lanes_level level)
{
#if defined(__x86_64__)
    if (level == SQ_LANES_OF_AVX512)
        return __builtin_cpu_supports("avx512bw");
    if (level == SQ_LANES_OF_AVX2)
        return __builtin_cpu_supports("avx2");
#endif
    return level <= SQ_LANES_PORTABLE;
}

static inline enum sq_lanes_level sq_lanes_level_of(enum sq_lanes_level level)
{
    if (level == SQ_LANES_AUTO)
        for (level = SQ_LANES_LEVELS - 1; !sq_lanes_has(level);)
            level--;
    return level;
}
