// SPDX-License-Identifier: Apache-2.0
// Writes each rule of SQ down once more, one bit and one element at a time (sq_slow.h).
#include "models/core/sq_slow.h"
#include "models/number/sq_bits.h"

#include <math.h>
#include <string.h>

// The table of SPEC 0.3.
static int qmax_of(unsigned bits)
{
    static const int table[] = {[2] = 1, [3] = 3, [4] = 7, [8] = 127};
    return table[bits];
}

static int mask_code_of(unsigned bits)
{
    static const int table[] = {[2] = -2, [3] = -4, [4] = -8, [8] = -128};
    return table[bits];
}

int sq_slow_code(const uint8_t *stream, size_t i, unsigned bits)
{
    int code = 0;
    for (unsigned b = 0; b < bits; b++) {
        const size_t at = i * bits + b;
        const int bit = stream[at / 8] >> (at % 8) & 1;
        code += (b == bits - 1 ? -bit : bit) * (1 << b); // the top bit weighs -2^(bits-1)
    }
    return code;
}

void sq_slow_topk_sort(const float *score, unsigned n, unsigned k, uint8_t *mask)
{
    unsigned order[SQ_BANK_MAX];
    for (unsigned i = 0; i < n; i++) { // insertion sort: moves only past smaller, so it is stable
        unsigned at = i;
        for (; at > 0 && score[order[at - 1]] < score[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    memset(mask, 0, n);
    for (unsigned i = 0; i < k; i++)
        mask[order[i]] = 1;
}

static uint32_t magnitude_bits(float x)
{
    return sq_bits_of(x) & UINT32_C(0x7fffffff);
}

static unsigned count_at_least(const float *score, unsigned n, uint32_t t)
{
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++)
        count += magnitude_bits(score[i]) >= t;
    return count;
}

void sq_slow_topk_threshold(const float *score, unsigned n, unsigned k, uint8_t *mask)
{
    uint32_t t = 0;
    for (int bit = 30; bit >= 0; bit--)
        if (count_at_least(score, n, t | UINT32_C(1) << bit) >= k)
            t |= UINT32_C(1) << bit;
    unsigned need = k - count_at_least(score, n, t + 1);
    for (unsigned i = 0; i < n; i++) {
        const uint32_t mag = magnitude_bits(score[i]);
        const bool take = mag == t && need > 0;
        need -= take;
        mask[i] = mag > t || take;
    }
}

int sq_slow_quantize(float x, float s, unsigned bits)
{
    // 53 bits are enough that rounding the double quotient to binary32 is the binary32 quotient.
    const double q = (double)(float)((double)x / (double)s);
    const double qmax = qmax_of(bits);
    if (q >= qmax)
        return qmax_of(bits);
    if (q <= -qmax)
        return -qmax_of(bits);
    const int down = (int)floor(q);
    const double rest = q - down;
    if (rest > 0.5 || (rest == 0.5 && down % 2 != 0))
        return down + 1;
    return down;
}

float sq_slow_scale(float amax, unsigned bits)
{
    const float s = (float)((double)amax / (double)qmax_of(bits));
    return amax == 0 || s == 0 ? 1.0f : s;
}

static size_t group_of(const struct sq_matrix *m)
{
    return m->format.group == 0 ? m->k : m->format.group;
}

// Row sizes from the bits themselves, SPEC A.6.
static const uint8_t *lo_row_of(const struct sq_matrix *m, size_t row)
{
    return m->lo + row * ((m->k * m->format.low_bits + 7) / 8);
}

static const uint8_t *hi_row_of(const struct sq_matrix *m, size_t row)
{
    const size_t codes = m->k / m->format.bank * m->format.high_per_bank;
    return m->hi + row * ((codes * m->format.high_bits + 7) / 8);
}

int sq_slow_weight(const struct sq_matrix *m, size_t row, size_t i, bool *is_high)
{
    const struct sq_format *f = &m->format;
    const size_t bank = i / f->bank;
    size_t c = bank * f->high_per_bank;
    for (size_t e = bank * f->bank; e < i; e++)
        c += sq_slow_code(lo_row_of(m, row), e, f->low_bits) == mask_code_of(f->low_bits);
    const int lo = sq_slow_code(lo_row_of(m, row), i, f->low_bits);
    *is_high = lo == mask_code_of(f->low_bits);
    return *is_high ? sq_slow_code(hi_row_of(m, row), c, f->high_bits) : lo;
}

float sq_slow_decode(const struct sq_matrix *m, size_t row, size_t i)
{
    bool is_high;
    const int code = sq_slow_weight(m, row, i, &is_high);
    const size_t at = row * (m->k / group_of(m)) + i / group_of(m);
    return (float)((double)(is_high ? m->s_hi[at] : m->s_lo[at]) * code);
}

// Sorts candidates by hand: real before padding, then magnitude, then index.
static void slow_mask(const float *w, const struct sq_matrix *m, bool *is_high)
{
    const struct sq_format *f = &m->format;
    memset(is_high, 0, m->k * sizeof *is_high);
    for (size_t first = 0; first < m->k; first += f->bank)
        for (unsigned round = 0; round < f->high_per_bank; round++) {
            size_t best = SIZE_MAX;
            for (size_t i = first; i < first + f->bank; i++) {
                if (is_high[i])
                    continue;
                if (best == SIZE_MAX)
                    best = i;
                else if (i < m->k_orig && best < m->k_orig && fabsf(w[i]) > fabsf(w[best]))
                    best = i;
            }
            is_high[best] = true;
        }
}

void sq_slow_encode_row(const float *w, const struct sq_matrix *m, int *codes, bool *is_high,
                        float *s_lo, float *s_hi)
{
    const size_t group = group_of(m);
    slow_mask(w, m, is_high);
    for (size_t g = 0; g < m->k / group; g++) {
        float amax[2] = {0, 0};
        for (size_t i = g * group; i < (g + 1) * group && i < m->k_orig; i++)
            if (fabsf(w[i]) > amax[is_high[i]])
                amax[is_high[i]] = fabsf(w[i]);
        s_lo[g] = sq_slow_scale(amax[0], m->format.low_bits);
        s_hi[g] = sq_slow_scale(amax[1], m->format.high_bits);
    }
    for (size_t i = 0; i < m->k; i++) {
        const float x = i < m->k_orig ? w[i] : 0;
        codes[i] = is_high[i] ? sq_slow_quantize(x, s_hi[i / group], m->format.high_bits)
                              : sq_slow_quantize(x, s_lo[i / group], m->format.low_bits);
    }
}

void sq_slow_dot(const struct sq_matrix *m, size_t row, const int8_t *act, int64_t *p_lo,
                 int64_t *p_hi)
{
    for (size_t g = 0; g < m->k / group_of(m); g++) {
        p_lo[g] = p_hi[g] = 0;
        for (size_t i = g * group_of(m); i < (g + 1) * group_of(m); i++) {
            bool is_high;
            const int64_t code = sq_slow_weight(m, row, i, &is_high);
            *(is_high ? &p_hi[g] : &p_lo[g]) += code * act[i];
        }
    }
}

float sq_slow_y(const struct sq_matrix *m, size_t row, const int64_t *p_lo, const int64_t *p_hi,
                float s_a)
{
    const size_t n_groups = m->k / group_of(m);
    volatile float y = 0; // volatile: every operation rounds to binary32 by itself
    for (size_t g = 0; g < n_groups; g++) {
        volatile float t1 = (float)p_lo[g], t2 = (float)p_hi[g];
        t1 = t1 * m->s_lo[row * n_groups + g];
        t2 = t2 * m->s_hi[row * n_groups + g];
        volatile float t = t1 + t2;
        y = y + t;
    }
    y = y * s_a;
    return y == 0 ? 0.0f : y;
}

bool sq_slow_gather(const int8_t *lo_codes, const int8_t *act, unsigned bank, unsigned k,
                    unsigned low_bits, int8_t *lo_clean, int8_t *gathered)
{
    bool m[SQ_BANK_MAX];
    unsigned prefix[SQ_BANK_MAX], pop = 0;
    for (unsigned i = 0; i < bank; i++) { // S1
        m[i] = lo_codes[i] == mask_code_of(low_bits);
        lo_clean[i] = m[i] ? 0 : lo_codes[i];
    }
    for (unsigned i = 0; i < bank; i++) { // S2
        prefix[i] = pop;
        pop += m[i];
    }
    for (unsigned t = 0; t < k; t++) { // S3
        gathered[t] = 0;
        for (unsigned i = 0; i < bank; i++)
            if (m[i] && prefix[i] == t)
                gathered[t] = (int8_t)(gathered[t] | act[i]);
    }
    return pop == k;
}
