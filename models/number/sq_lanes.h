// SPDX-License-Identifier: Apache-2.0
// Sixteen binary32 numbers side by side, for sums whose order is part of a format: each lane adds
// its own numbers in that order, one rounding an operation. The compilers make one vector of it
// with AVX-512, two with AVX2, four with SSE; bits are the same. And bodies of any loops whose bits do not depend on the
// width of vectors, compiled for each instruction set, of which the processor's last one runs.
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
#define SQ_LANES_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define SQ_LANES_AVX512                                                                            \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#else
#define SQ_LANES_AVX2
#define SQ_LANES_AVX512
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
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
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

// TYPE NAME_portable PARAMETERS, and of each set: NAME_body(...), returned where GIVE is `return`.
#define SQ_LANES_OF(target, type, give, name, parameters, ...)                                     \
    target static type name parameters                                                             \
    {                                                                                              \
        give __VA_ARGS__;                                                                          \
    }
#if defined(__x86_64__)
#define SQ_LANES_EACH(type, give, name, parameters, ...)                                           \
    SQ_LANES_OF(, type, give, name##_portable, parameters, name##_body(__VA_ARGS__))               \
    SQ_LANES_OF(SQ_LANES_AVX2, type, give, name##_avx2, parameters, name##_body(__VA_ARGS__))      \
    SQ_LANES_OF(SQ_LANES_AVX512, type, give, name##_avx512, parameters, name##_body(__VA_ARGS__))
// Which of them a level has.
#define SQ_LANES_AT(name, level)                                                                   \
    (sq_lanes_level_of(level) == SQ_LANES_OF_AVX512 ? name##_avx512                                \
     : sq_lanes_level_of(level) == SQ_LANES_OF_AVX2 ? name##_avx2                                  \
                                                    : name##_portable)
#else
#define SQ_LANES_EACH(type, give, name, parameters, ...)                                           \
    SQ_LANES_OF(, type, give, name##_portable, parameters, name##_body(__VA_ARGS__))
#define SQ_LANES_AT(name, level) ((void)(level), name##_portable)
#endif
#define SQ_LANES_BEST(name) SQ_LANES_AT(name, SQ_LANES_AUTO)
