// SPDX-License-Identifier: Apache-2.0
// Computes the operations of the vector unit and the passes that rows are made of (sq_vector.h).
#include "models/vector/sq_vector.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/output/sq_combine.h"

// ---- functions ------------------------------------------------------------------------------

enum { U_BITS = 22 };                      // of u
static const uint64_t log2_e = 0xb8aa3b29; // log2(e) 2^31

// c0 + c1 u + c2 u^2 in units of 2^-28; u^2 with the upper 14 bits of one factor.
static int64_t polynomial(const struct sq_vector_segment *s, uint32_t u)
{
    const int64_t slope = s->c1 + (((int64_t)s->c2 * (u >> 8)) >> 14);
    return s->c0 + ((slope * u) >> U_BITS);
}

// p 2^(e - 28), rounded once.
static float scaled(int64_t p, int e)
{
    return (float)ldexp((double)p, e - 28);
}

// e^x = 2^z; z = x log2(e) in units of 2^-28, its magnitude rounded down.
static float exponential(float x, uint32_t bits)
{
    const unsigned e = bits >> 23 & 255;
    if (e > 133)
        return x < 0 ? 0.0f : HUGE_VALF;
    const uint64_t product = log2_e * (uint64_t)((e > 0 ? 1u << 23 : 0) | (bits & 0x7fffff));
    const uint64_t magnitude = 153 - e < 64 ? product >> (153 - e) : 0;
    const int64_t z = x < 0 ? -(int64_t)magnitude : (int64_t)magnitude;
    const struct sq_vector_segment *const s = &sq_vector_exp_table[z >> U_BITS & 63];
    return scaled(polynomial(s, (uint32_t)z & ((1u << U_BITS) - 1)), (int)(z >> 28));
}

// The top 7 bits of the fraction choose the segment, the others are u.
static float reciprocal(float x, uint32_t bits)
{
    const unsigned e = bits >> 23 & 255;
    if (e == 0 || e == 255)
        return copysignf(e == 0 ? HUGE_VALF : 0.0f, x);
    const struct sq_vector_segment *const s = &sq_vector_reciprocal_table[bits >> 16 & 127];
    return copysignf(scaled(polynomial(s, (bits & 0xffff) << 6), 127 - (int)e), x);
}

// x = m 4^k, m in 1..4: whether m >= 2, and the top 6 bits of the fraction.
static float rsqrt(float x, uint32_t bits)
{
    const unsigned e = bits >> 23 & 255;
    if (e == 0)
        return copysignf(HUGE_VALF, x);
    if (x < 0 || e == 255)
        return x < 0 ? NAN : 0.0f;
    const unsigned is_odd = ~e & 1;
    const struct sq_vector_segment *const s =
        &sq_vector_rsqrt_table[is_odd << 6 | (bits >> 17 & 63)];
    return scaled(polynomial(s, (bits & 0x1ffff) << 5), (127 - (int)(e - is_odd)) / 2);
}

float sq_vector_func(enum sq_vector_func f, float x)
{
    const uint32_t bits = sq_bits_of(x);
    if (x != x || f == SQ_VECTOR_PLAIN)
        return x;
    return f == SQ_VECTOR_EXP          ? exponential(x, bits)
           : f == SQ_VECTOR_RECIPROCAL ? reciprocal(x, bits)
                                       : rsqrt(x, bits);
}

// ---- a beat ---------------------------------------------------------------------------------

int32_t sq_vector_rank(float x)
{
    const uint32_t bits = sq_combine_bits(x);
    return (int32_t)(bits >> 31 ? bits ^ 0x7fffffffu : bits);
}

static float join(bool is_sum, float x, float y)
{
    return is_sum ? x + y : sq_vector_rank(y) > sq_vector_rank(x) ? y : x;
}

void sq_vector_step(struct sq_vector_unit *unit, const struct sq_vector_beat *beat, float *y)
{
    float left[SQ_VECTOR_LANES_MAX];
    assert(unit->lanes >= 1 && unit->lanes <= SQ_VECTOR_LANES_MAX);
    if (unit->see)
        unit->see(unit->context, beat);
    for (unsigned l = 0; l < unit->lanes; l++)
        left[l] = y[l] = sq_vector_func(beat->f, beat->a[l] * beat->b[l] + beat->c[l]);
    for (unsigned n = unit->lanes; n > 1; n /= 2)
        for (unsigned l = 0; l < n / 2; l++)
            left[l] = join(beat->is_sum, left[2 * l], left[2 * l + 1]);
    unit->red = unit->has_red ? join(beat->is_sum, unit->red, left[0]) : left[0];
    unit->has_red = !beat->is_last;
}

// ---- rows -----------------------------------------------------------------------------------

// An operand of a pass: an element of x, or one value for all.
struct operand {
    const float *x; // NULL: all are `value`
    float value;
};

static float element(const struct operand *o, size_t i)
{
    return o->x ? o->x[i] : o->value;
}

// y[i] = f(a[i] b[i] + c[i]); the last beat is filled up with f(fill). Returns red.
static float pass(struct sq_vector_unit *unit, enum sq_vector_func f, bool is_sum, struct operand a,
                  struct operand b, struct operand c, float fill, float *y, size_t n)
{
    struct sq_vector_beat beat = {.f = f, .is_sum = is_sum};
    float out[SQ_VECTOR_LANES_MAX];
    for (size_t first = 0; first < n; first += unit->lanes) {
        const size_t left = n - first < unit->lanes ? n - first : unit->lanes;
        beat.is_last = first + left == n;
        for (size_t l = 0; l < unit->lanes; l++) {
            const bool is_there = l < left;
            beat.a[l] = is_there ? element(&a, first + l) : fill;
            beat.b[l] = is_there ? element(&b, first + l) : 1.0f;
            beat.c[l] = is_there ? element(&c, first + l) : 0.0f;
        }
        sq_vector_step(unit, &beat, out);
        if (y)
            memcpy(y + first, out, left * sizeof *y);
    }
    return unit->red;
}

static struct operand all(float value)
{
    return (struct operand){.value = value};
}

static struct operand each(const float *x)
{
    return (struct operand){.x = x};
}

// x * y + c of single values.
static float single(struct sq_vector_unit *unit, enum sq_vector_func f, float x, float y, float c)
{
    float out;
    pass(unit, f, true, all(x), all(y), all(c), 0.0f, &out, 1);
    return out;
}

void sq_vector_softmax(struct sq_vector_unit *unit, float *x, size_t n)
{
    const float most =
        pass(unit, SQ_VECTOR_PLAIN, false, each(x), all(1.0f), all(0.0f), -HUGE_VALF, NULL, n);
    const float sum =
        pass(unit, SQ_VECTOR_EXP, true, each(x), all(1.0f), all(-most), -HUGE_VALF, x, n);
    const float part = single(unit, SQ_VECTOR_RECIPROCAL, sum, 1.0f, 0.0f);
    pass(unit, SQ_VECTOR_PLAIN, true, each(x), all(part), all(0.0f), 0.0f, x, n);
}

void sq_vector_norm(struct sq_vector_unit *unit, float *x, const float *gain, float eps, size_t n)
{
    const float sum = pass(unit, SQ_VECTOR_PLAIN, true, each(x), each(x), all(0.0f), 0.0f, NULL, n);
    const float part = single(unit, SQ_VECTOR_RSQRT, sum, 1.0f / (float)n, eps);
    pass(unit, SQ_VECTOR_PLAIN, true, each(x), all(part), all(0.0f), 0.0f, x, n);
    pass(unit, SQ_VECTOR_PLAIN, true, each(x), each(gain), all(0.0f), 0.0f, x, n);
}

// A beat at a time through its four passes: their order within a row changes no value.
void sq_vector_gate(struct sq_vector_unit *unit, float *gate, const float *up, size_t n)
{
    float part[SQ_VECTOR_LANES_MAX];
    for (size_t i = 0; i < n; i += unit->lanes) {
        const size_t len = n - i < unit->lanes ? n - i : unit->lanes;
        float *const g = gate + i;
        pass(unit, SQ_VECTOR_EXP, true, each(g), all(-1.0f), all(0.0f), 0.0f, part, len);
        pass(unit, SQ_VECTOR_RECIPROCAL, true, each(part), all(1.0f), all(1.0f), 0.0f, part, len);
        pass(unit, SQ_VECTOR_PLAIN, true, each(g), each(part), all(0.0f), 0.0f, g, len);
        pass(unit, SQ_VECTOR_PLAIN, true, each(g), each(up + i), all(0.0f), 0.0f, g, len);
    }
}

void sq_vector_rotary(struct sq_vector_unit *unit, float *x, const float *partner,
                      const float *cosine, const float *sine, size_t n)
{
    pass(unit, SQ_VECTOR_PLAIN, true, each(x), each(cosine), all(0.0f), 0.0f, x, n);
    pass(unit, SQ_VECTOR_PLAIN, true, each(partner), each(sine), each(x), 0.0f, x, n);
}

void sq_vector_add(struct sq_vector_unit *unit, float *x, const float *y, size_t n)
{
    pass(unit, SQ_VECTOR_PLAIN, true, each(x), all(1.0f), each(y), 0.0f, x, n);
}
