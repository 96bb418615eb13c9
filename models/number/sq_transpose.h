// SPDX-License-Identifier: Apache-2.0
// 16 rows of 16 numbers of 32 bits become columns, in registers of AVX-512: loops over banks that
// stand one behind the other then see element i of 16 of them as a vector. Internal to models/.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

// The first loop transposes 4 x 4 numbers of every four rows in each quarter of the registers; the
// second one exchanges the quarters.
__attribute__((target("avx512f"), always_inline)) static inline void sq_transpose16(__m512i v[16])
{
    __m512i w[16];
#pragma GCC unroll 4
    for (unsigned q = 0; q < 16; q += 4) {
        const __m512i a = _mm512_unpacklo_epi32(v[q], v[q + 1]);
        const __m512i b = _mm512_unpackhi_epi32(v[q], v[q + 1]);
        const __m512i c = _mm512_unpacklo_epi32(v[q + 2], v[q + 3]);
        const __m512i d = _mm512_unpackhi_epi32(v[q + 2], v[q + 3]);
        w[q] = _mm512_unpacklo_epi64(a, c); // columns 0, 4, 8, 12 of rows q ..
        w[q + 1] = _mm512_unpackhi_epi64(a, c);
        w[q + 2] = _mm512_unpacklo_epi64(b, d);
        w[q + 3] = _mm512_unpackhi_epi64(b, d);
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        const __m512i a = _mm512_shuffle_i32x4(w[i], w[i + 4], 0x88); // columns i, i + 8
        const __m512i b = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0x88);
        const __m512i c = _mm512_shuffle_i32x4(w[i], w[i + 4], 0xdd); // columns i + 4, i + 12
        const __m512i d = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0xdd);
        v[i] = _mm512_shuffle_i32x4(a, b, 0x88);
        v[i + 8] = _mm512_shuffle_i32x4(a, b, 0xdd);
        v[i + 4] = _mm512_shuffle_i32x4(c, d, 0x88);
        v[i + 12] = _mm512_shuffle_i32x4(c, d, 0xdd);
    }
}
#endif
