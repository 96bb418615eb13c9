// SPDX-License-Identifier: Apache-2.0
// TOPK of one bank (SPEC 0.4) held by one thread: threshold by a partial sorting network, then ties
// to the lowest index. No memory, no branches; about 2 log2(k)^2 / 2 minimum or maximum operations
// an element. k and bank are powers of two, as every legal sparsity gives.
#pragma once

#include <cstring>

#include "gpu/sq_cuda.cuh"

// Score of a finite value: magnitude bits, monotone as an integer. Padding scores kSqPaddingKey,
// below every real element, so it is chosen last (SPEC A.8).
constexpr int32_t kSqPaddingKey = -1;
SQ_HD int32_t sq_magnitude_key(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return static_cast<int32_t>(u & 0x7fffffffu);
}

// v[i] >= v[j] afterwards.
SQ_HD void sq_order_pair(int32_t &i, int32_t &j)
{
    const int32_t larger = i > j ? i : j, smaller = i > j ? j : i;
    i = larger;
    j = smaller;
}

// A bitonic sequence of kLen keys becomes descending.
template <int kLen> SQ_HD void sq_merge_descending(int32_t (&v)[kLen])
{
#pragma unroll
    for (int stride = kLen / 2; stride > 0; stride /= 2)
#pragma unroll
        for (int i = 0; i < kLen; i++)
            if ((i & stride) == 0)
                sq_order_pair(v[i], v[i + stride]);
}

template <int kLen> SQ_HD void sq_sort_descending(int32_t (&v)[kLen])
{
#pragma unroll
    for (int size = 2; size <= kLen; size *= 2)
#pragma unroll
        for (int stride = size / 2; stride > 0; stride /= 2)
#pragma unroll
            for (int i = 0; i < kLen; i++)
                if ((i & stride) == 0) {
                    if ((i & size) == 0)
                        sq_order_pair(v[i], v[i + stride]);
                    else
                        sq_order_pair(v[i + stride], v[i]);
                }
}

// The kHigh-th largest of kBank keys: sorted runs of kHigh, each folded into the best kHigh so far.
template <int kBank, int kHigh> SQ_HD int32_t sq_kth_largest(const int32_t (&key)[kBank])
{
    static_assert(kBank % kHigh == 0 && kBank > kHigh, "1 <= k < b, both powers of two");
    int32_t best[kHigh];
#pragma unroll
    for (int i = 0; i < kHigh; i++)
        best[i] = key[i];
    sq_sort_descending(best);
#pragma unroll
    for (int run = 1; run < kBank / kHigh; run++) {
        int32_t other[kHigh];
#pragma unroll
        for (int i = 0; i < kHigh; i++)
            other[i] = key[run * kHigh + i];
        sq_sort_descending(other);
#pragma unroll
        for (int i = 0; i < kHigh; i++) // the kHigh largest of both, as a bitonic sequence
            best[i] = best[i] > other[kHigh - 1 - i] ? best[i] : other[kHigh - 1 - i];
        sq_merge_descending(best);
    }
    return best[kHigh - 1];
}

// Bit i % 32 of mask[i / 32]: element i is high. Exactly kHigh bits are set.
template <int kBank, int kHigh>
SQ_HD void sq_select_bank(const int32_t (&key)[kBank], uint32_t (&mask)[(kBank + 31) / 32])
{
    const int32_t threshold = sq_kth_largest<kBank, kHigh>(key);
    int need = kHigh; // of those that equal the threshold
#pragma unroll
    for (int i = 0; i < kBank; i++)
        need -= key[i] > threshold;
#pragma unroll
    for (int w = 0; w < (kBank + 31) / 32; w++)
        mask[w] = 0;
#pragma unroll
    for (int i = 0; i < kBank; i++) {
        const bool is_tie = key[i] == threshold;
        const bool is_high = key[i] > threshold || (is_tie && need > 0);
        need -= is_tie;
        mask[i / 32] |= static_cast<uint32_t>(is_high) << (i % 32);
    }
}
