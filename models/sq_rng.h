// SPDX-License-Identifier: Apache-2.0
// The one random generator: splitmix64 (Steele, Lea, Flood 2014). Seeded state is owned by the
// caller, so a run is a function of its seed on every machine.
#pragma once

#include <stdint.h>

struct sq_rng {
    uint64_t state;
};

static inline uint64_t sq_rng_next(struct sq_rng *r)
{
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

// Uniform in 0..n-1, n >= 1 (bias below 2^-32 for n < 2^32).
static inline uint32_t sq_rng_below(struct sq_rng *r, uint32_t n)
{
    return (uint32_t)(((sq_rng_next(r) >> 32) * n) >> 32);
}

// Uniform in [0, 1).
static inline double sq_rng_unit(struct sq_rng *r)
{
    return (double)(sq_rng_next(r) >> 11) * 0x1p-53;
}
