// SPDX-License-Identifier: Apache-2.0
// Integers, bit streams, selection, sizes and reading of a matrix. Writing is in sq_encode.c, the
// refusals on stored data in sq_validate.c.
#include "models/core/sq_format.h"

#include <assert.h>

// ---- integers -------------------------------------------------------------------------------

int sq_qmax(unsigned bits)
{
    assert(bits >= 2 && bits <= 8);
    return (1 << (bits - 1)) - 1;
}

int sq_mask_code(unsigned bits)
{
    assert(bits >= 2 && bits <= 8);
    return -(1 << (bits - 1));
}

float sq_scale_from_amax(float amax, unsigned bits)
{
    const float s = amax / (float)sq_qmax(bits);
    return s == 0.0f ? 1.0f : s; // amax = 0, or the division underflowed
}

int8_t sq_quantize(float x, float s, unsigned bits)
{
    const float qmax = (float)sq_qmax(bits), magic = 0x1.8p23f;
    float q = x / s; // may be infinite for a foreign scale: clamp before the conversion
    q = q > qmax ? qmax : q;
    q = q < -qmax ? -qmax : q;
    return (int8_t)((q + magic) - magic); // the nearest integer, ties to even, without a call
}

// ---- bit streams ----------------------------------------------------------------------------

size_t sq_packed_nbytes(size_t n_codes, unsigned bits)
{
    return n_codes / 8 * bits + (n_codes % 8 * bits + 7) / 8; // no overflow: bits <= 8
}

// Eight codes of h bits are exactly h bytes, so a stream falls into such words; only the last one
// may be short.
void sq_pack(const int8_t *codes, size_t n, unsigned bits, uint8_t *out)
{
    const uint64_t field = (UINT64_C(1) << bits) - 1;
    for (size_t i = 0; i < n; i += 8, out += bits) {
        const size_t n_word = n - i < 8 ? n - i : 8;
        uint64_t word = 0;
        for (size_t e = 0; e < n_word; e++)
            word |= ((uint64_t)codes[i + e] & field) << (bits * e);
        for (size_t byte = 0; byte < (n_word * bits + 7) / 8; byte++)
            out[byte] = (uint8_t)(word >> (8 * byte));
    }
}

// Up to 8 codes of one word. Inlined with constant arguments for whole words, which are the case
// that counts: a matrix product unpacks every weight once.
static inline void unpack_word(const uint8_t *in, size_t n, unsigned bits, int8_t *codes)
{
    uint64_t word = 0;
#pragma GCC unroll 8
    for (size_t byte = 0; byte < (n * bits + 7) / 8; byte++)
        word |= (uint64_t)in[byte] << (8 * byte);
#pragma GCC unroll 8
    for (size_t e = 0; e < n; e++)
        codes[e] = (int8_t)sq_sign_extend((uint32_t)(word >> (bits * e)), bits);
}

void sq_unpack(const uint8_t *in, size_t n, unsigned bits, int8_t *codes)
{
    for (; n >= 8; n -= 8, in += bits, codes += 8) {
        if (bits == 2)
            unpack_word(in, 8, 2, codes);
        else if (bits == 3)
            unpack_word(in, 8, 3, codes);
        else if (bits == 4)
            unpack_word(in, 8, 4, codes);
        else
            unpack_word(in, 8, bits, codes);
    }
    unpack_word(in, n, bits, codes);
}

// ---- selection ------------------------------------------------------------------------------

// Rank form, SPEC 0.4 (ii): an equal score at a lower index goes first. No sort, so no dependence
// on qsort's order of ties (N.6).
void sq_topk(const float *score, unsigned n, unsigned k, uint8_t *mask)
{
    assert(n <= SQ_BANK_MAX && k <= n);
    for (unsigned i = 0; i < n; i++) {
        unsigned rank = 0;
        for (unsigned j = 0; j < i; j++)
            rank += score[j] >= score[i];
        for (unsigned j = i + 1; j < n; j++)
            rank += score[j] > score[i];
        mask[i] = rank < k;
    }
}

// ---- sizes ----------------------------------------------------------------------------------

size_t sq_k_padded(const struct sq_format *f, size_t k_orig)
{
    const size_t unit = f->group > f->bank ? f->group : f->bank;
    if (k_orig == 0 || k_orig > SIZE_MAX - (unit - 1))
        return 0;
    return (k_orig + unit - 1) / unit * unit;
}

size_t sq_group_len(const struct sq_format *f, size_t k)
{
    return f->group ? f->group : k;
}

size_t sq_n_groups(const struct sq_format *f, size_t k)
{
    return k / sq_group_len(f, k);
}

size_t sq_lo_row_nbytes(const struct sq_format *f, size_t k)
{
    return sq_packed_nbytes(k, f->low_bits);
}

size_t sq_hi_row_nbytes(const struct sq_format *f, size_t k)
{
    return sq_packed_nbytes(sq_hi_row_codes(f, k), f->high_bits);
}

size_t sq_hi_row_codes(const struct sq_format *f, size_t k)
{
    return k / f->bank * f->high_per_bank;
}

// ---- reading a row --------------------------------------------------------------------------

static const uint8_t *lo_row(const struct sq_matrix *m, size_t row)
{
    return m->lo + row * sq_lo_row_nbytes(&m->format, m->k);
}

static const uint8_t *hi_row(const struct sq_matrix *m, size_t row)
{
    return m->hi + row * sq_hi_row_nbytes(&m->format, m->k);
}

// The high codes are unpacked to the end of hi and spread from there in place: as many codes as
// are still to be read never need more room than the elements still to be written, so the reader
// stays ahead. No branch on the mask, which is as good as random.
void sq_row_planes(const struct sq_matrix *m, size_t row, int8_t *lo, int8_t *hi, uint8_t *mask)
{
    const int mc = sq_mask_code(m->format.low_bits);
    const size_t n_hi = sq_hi_row_codes(&m->format, m->k);
    size_t next = m->k - n_hi; // the next high code; k when all are placed
    sq_unpack(lo_row(m, row), m->k, m->format.low_bits, lo);
    sq_unpack(hi_row(m, row), n_hi, m->format.high_bits, hi + next);
    for (size_t i = 0; i < m->k; i++) {
        const bool is_high = lo[i] == mc;
        const int8_t code = hi[next < m->k ? next : i];
        hi[i] = (int8_t)(code & -is_high);
        lo[i] = (int8_t)(lo[i] & (is_high - 1));
        next += is_high;
        if (mask)
            mask[i] = is_high;
    }
    assert(next == m->k);
}

void sq_row_codes(const struct sq_matrix *m, size_t row, int8_t *lo, int8_t *hi)
{
    sq_unpack(lo_row(m, row), m->k, m->format.low_bits, lo);
    sq_unpack(hi_row(m, row), sq_hi_row_codes(&m->format, m->k), m->format.high_bits, hi);
}

void sq_decode_row(const struct sq_matrix *m, size_t row, float *w)
{
    const struct sq_format *f = &m->format;
    const size_t group = sq_group_len(f, m->k);
    const float *s_lo = m->s_lo + row * sq_n_groups(f, m->k);
    const float *s_hi = m->s_hi + row * sq_n_groups(f, m->k);
    const int mc = sq_mask_code(f->low_bits);
    size_t c = 0;
    for (size_t i = 0; i < m->k_orig; i++) {
        const int8_t lo = sq_bits_get(lo_row(m, row), i, f->low_bits);
        if (lo == mc)
            w[i] = s_hi[i / group] * (float)sq_bits_get(hi_row(m, row), c++, f->high_bits);
        else
            w[i] = s_lo[i / group] * (float)lo;
    }
}
