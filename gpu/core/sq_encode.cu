// SPDX-License-Identifier: Apache-2.0
// Encoders on the GPU, bit-identical to models/ (sq_encode_rtn, sq_codes_encode_act). Inputs are
// finite: the host refuses others before it uploads them.
//
// Selection: one thread owns one bank (sq_select.cuh), so no bank crosses threads. Banks lie in
// shared memory with 16 bytes of padding each: eight threads' 16-byte reads touch all memory banks.
#include "gpu/sq_kernels.cuh"
#include "gpu/sq_quant.cuh"
#include "gpu/sq_select.cuh"

namespace
{

constexpr int kLowBits = 4, kHighMax = 127, kLowMax = 7, kMaskCode = 8;
constexpr int kPadNbytes = 16;
constexpr int kMaxK = 32768;

// Copies bytes from shared memory to global, by the whole block; both are 4-byte aligned.
SQ_DEVICE void copy_out(uint8_t *to, const uint8_t *from, int nbytes)
{
    const int n_words = nbytes / 4;
    for (int i = static_cast<int>(threadIdx.x); i < n_words; i += static_cast<int>(blockDim.x))
        reinterpret_cast<uint32_t *>(to)[i] = reinterpret_cast<const uint32_t *>(from)[i];
    for (int i = 4 * n_words + static_cast<int>(threadIdx.x); i < nbytes;
         i += static_cast<int>(blockDim.x))
        to[i] = from[i];
}

SQ_DEVICE bool is_set(const uint32_t *mask, int i)
{
    return mask[i / 32] >> (i % 32) & 1u;
}

// ---- weights ------------------------------------------------------------------------------------

constexpr int kWeightThreads = 128, kGroup = 128;

// Rows are multiples of the bank and the streams have no padding, so the banks of the whole matrix
// are one sequence; a group is kGroup / kBank neighbouring threads.
template <int kBank, int kHigh>
SQ_KERNEL(kWeightThreads, kBank == 64 ? 2 : 4)
encode_w_kernel(const SQ_GRID_CONSTANT SqEncodeW e, size_t n_banks)
{
    SQ_DYNAMIC_SHARED(shared);
    constexpr int kStride = kBank + kPadNbytes / 4;
    float *const input = reinterpret_cast<float *>(shared);
    uint8_t *const high = shared + kWeightThreads * kStride * 4;
    const int thread = static_cast<int>(threadIdx.x);
    const size_t first = static_cast<size_t>(blockIdx.x) * kWeightThreads;
    const int n_here =
        n_banks - first < kWeightThreads ? static_cast<int>(n_banks - first) : kWeightThreads;
    for (int i = thread; i < n_here * kBank / 4; i += kWeightThreads)
        *reinterpret_cast<float4 *>(input + 4 * i / kBank * kStride + 4 * i % kBank) =
            reinterpret_cast<const float4 *>(e.w + first * kBank)[i];
    for (int i = n_here * kStride + thread; i < kWeightThreads * kStride; i += kWeightThreads)
        input[i] = 0.0f; // threads without a bank take part in the shuffles
    __syncthreads();

    const float *const mine = input + thread * kStride;
    int32_t key[kBank];
    uint32_t mask[(kBank + 31) / 32];
#pragma unroll
    for (int i = 0; i < kBank; i++)
        key[i] = sq_magnitude_key(mine[i]);
    sq_select_bank<kBank, kHigh>(key, mask);
    int32_t most_lo = 0, most_hi = 0; // magnitudes as integers: monotone
#pragma unroll
    for (int i = 0; i < kBank; i++) {
        const int32_t lo = is_set(mask, i) ? 0 : key[i], hi = is_set(mask, i) ? key[i] : 0;
        most_lo = lo > most_lo ? lo : most_lo;
        most_hi = hi > most_hi ? hi : most_hi;
    }
#pragma unroll
    for (unsigned lanes = 1; lanes < kGroup / kBank; lanes *= 2) {
        const int32_t lo = __shfl_xor_sync(0xffffffffu, most_lo, lanes);
        const int32_t hi = __shfl_xor_sync(0xffffffffu, most_hi, lanes);
        most_lo = lo > most_lo ? lo : most_lo;
        most_hi = hi > most_hi ? hi : most_hi;
    }
    const SqScale s_lo = sq_scale(sq_float_from_bits(static_cast<uint32_t>(most_lo)), kLowMax);
    const SqScale s_hi = sq_scale(sq_float_from_bits(static_cast<uint32_t>(most_hi)), kHighMax);

    uint32_t low[kBank / 8] = {};
    int n_high = 0;
#pragma unroll
    for (int i = 0; i < kBank; i++) {
        const bool is_high = is_set(mask, i);
        SqScale scale = s_lo;
        scale.s = is_high ? s_hi.s : s_lo.s;
        scale.reciprocal = is_high ? s_hi.reciprocal : s_lo.reciprocal;
        scale.is_plain = s_lo.is_plain && s_hi.is_plain;
        const int code = sq_code(mine[i], scale, is_high ? kHighMax : kLowMax);
        const uint32_t nibble = static_cast<uint32_t>(is_high ? kMaskCode : code) & 15u;
        low[i / 8] |= nibble << (kLowBits * (i % 8));
        if (is_high)
            high[thread * kHigh + n_high++] = static_cast<uint8_t>(code);
    }
    if (thread < n_here) {
        const size_t bank = first + static_cast<size_t>(thread);
#pragma unroll
        for (int i = 0; i < kBank / 8; i += 2)
            reinterpret_cast<uint2 *>(e.lo)[bank * (kBank / 16) + i / 2] =
                make_uint2(low[i], low[i + 1]);
        if (bank % (kGroup / kBank) == 0) {
            e.s_lo[bank / (kGroup / kBank)] = s_lo.s;
            e.s_hi[bank / (kGroup / kBank)] = s_hi.s;
        }
    }
    __syncthreads();
    copy_out(e.hi + first * kHigh, high, n_here * kHigh);
}

template <int kBank, int kHigh>
enum sq_status launch_w(const SqEncodeW *e, cudaStream_t stream, struct sq_error *err)
{
    const size_t n_banks = static_cast<size_t>(e->n) * e->k / kBank;
    const size_t nbytes = kWeightThreads * (kBank * 4 + kPadNbytes + kHigh);
    const unsigned n_blocks =
        static_cast<unsigned>(sq_div_up(n_banks, static_cast<size_t>(kWeightThreads)));
    auto *kernel = encode_w_kernel<kBank, kHigh>;
    SQ_TRY(sq_launch_prepare(kernel, nbytes, err));
    SQ_LAUNCH(kernel, n_blocks, kWeightThreads, nbytes, stream, *e, n_banks);
    return sq_launch_check(err);
}

// ---- activations, dynamic mask -----------------------------------------------------------------

constexpr int kTokenThreads = 256;

// The largest of a value over the block; every thread gets it. `slots` holds one word a warp.
SQ_DEVICE int32_t block_max(int32_t v, int32_t *slots)
{
    for (unsigned lanes = 16; lanes > 0; lanes /= 2) {
        const int32_t other = __shfl_xor_sync(0xffffffffu, v, lanes);
        v = other > v ? other : v;
    }
    if (threadIdx.x % 32 == 0)
        slots[threadIdx.x / 32] = v;
    __syncthreads();
    for (int i = 0; i < kTokenThreads / 32; i++)
        v = slots[i] > v ? slots[i] : v;
    __syncthreads(); // the slots may be written again
    return v;
}

SQ_DEVICE float magnitude_of_bf16(int32_t key)
{
    return sq_from_bf16(static_cast<uint16_t>(key));
}

// Encodes one bank of a token: codes go to the planes and, in bank order, to the compact streams.
template <int kBank, int kHigh>
SQ_DEVICE void encode_bank(const uint16_t *x, const uint32_t *mask, const SqScale &s_lo,
                           const SqScale &s_hi, uint32_t (&lo_plane)[kBank / 8],
                           uint32_t (&hi_plane)[kBank / 4], uint8_t *lo, uint8_t *hi)
{
    uint32_t even = 0; // the low code that waits for its neighbour
    int n_lo = 0, n_hi = 0;
#pragma unroll
    for (int i = 0; i < kBank; i++) {
        const bool is_high = is_set(mask, i);
        SqScale scale;
        scale.s = is_high ? s_hi.s : s_lo.s;
        scale.reciprocal = is_high ? s_hi.reciprocal : s_lo.reciprocal;
        scale.is_plain = s_lo.is_plain && s_hi.is_plain;
        const int code = sq_code(sq_from_bf16(x[i]), scale, is_high ? kHighMax : kLowMax);
        const uint32_t nibble = is_high ? 0u : static_cast<uint32_t>(code) & 15u;
        const uint32_t byte = is_high ? static_cast<uint32_t>(code) & 255u : 0u;
        lo_plane[i / 8] |= nibble << (4 * (i % 8));
        hi_plane[i / 4] |= byte << (8 * (i % 4));
        if (!lo)
            continue;
        if (is_high) {
            hi[n_hi++] = static_cast<uint8_t>(byte);
        } else {
            if (n_lo % 2 != 0)
                lo[n_lo / 2] = static_cast<uint8_t>(even | nibble << 4);
            even = nibble;
            n_lo++;
        }
    }
}

// Shared memory of a token: banks with padding, mask words, compact streams, reduction slots.
template <int kBank, int kHigh> struct TokenLayout {
    static constexpr int kStride = kBank * 2 + kPadNbytes; // bytes a bank
    static constexpr int kMaskNbytes = kBank < 32 ? 4 : kBank / 8;
    static constexpr int kLo = (kBank - kHigh) / 2;
    SQ_HD static int mask_at(int n_banks)
    {
        return n_banks * kStride;
    }
    SQ_HD static int hi_at(int n_banks)
    {
        return mask_at(n_banks) + n_banks * kMaskNbytes;
    }
    SQ_HD static int lo_at(int n_banks)
    {
        return (hi_at(n_banks) + n_banks * kHigh + 15) / 16 * 16;
    }
    SQ_HD static int slots_at(int n_banks)
    {
        return (lo_at(n_banks) + n_banks * kLo + 15) / 16 * 16;
    }
    SQ_HD static int nbytes(int n_banks)
    {
        return slots_at(n_banks) + kTokenThreads / 32 * 4;
    }
};

// Makes the masks of all banks of the token, and the largest low and high magnitude of this thread's.
template <int kBank, int kHigh>
SQ_DEVICE void select_token(uint8_t *shared, int n_banks, int32_t *most_lo, int32_t *most_hi)
{
    using Layout = TokenLayout<kBank, kHigh>;
    for (int bank = static_cast<int>(threadIdx.x); bank < n_banks; bank += kTokenThreads) {
        const uint16_t *x = reinterpret_cast<const uint16_t *>(shared + bank * Layout::kStride);
        int32_t key[kBank];
        uint32_t mask[(kBank + 31) / 32];
#pragma unroll
        for (int i = 0; i < kBank; i++)
            key[i] = x[i] & 0x7fff;
        sq_select_bank<kBank, kHigh>(key, mask);
#pragma unroll
        for (int i = 0; i < kBank; i++) {
            const int32_t lo = is_set(mask, i) ? 0 : key[i], hi = is_set(mask, i) ? key[i] : 0;
            *most_lo = lo > *most_lo ? lo : *most_lo;
            *most_hi = hi > *most_hi ? hi : *most_hi;
        }
#pragma unroll
        for (int w = 0; w < (kBank + 31) / 32; w++)
            reinterpret_cast<uint32_t *>(shared + Layout::mask_at(n_banks) +
                                         bank * Layout::kMaskNbytes)[w] = mask[w];
    }
}

template <int kBank, int kHigh>
SQ_DEVICE void encode_token_banks(const SqEncodeDynamic &e, uint8_t *shared, int n_banks,
                                  const SqScale &s_lo, const SqScale &s_hi)
{
    using Layout = TokenLayout<kBank, kHigh>;
    const size_t row = blockIdx.x;
    for (int bank = static_cast<int>(threadIdx.x); bank < n_banks; bank += kTokenThreads) {
        const uint16_t *x = reinterpret_cast<const uint16_t *>(shared + bank * Layout::kStride);
        const uint32_t *mask = reinterpret_cast<const uint32_t *>(
            shared + Layout::mask_at(n_banks) + bank * Layout::kMaskNbytes);
        uint8_t *lo = shared + Layout::lo_at(n_banks) + bank * Layout::kLo;
        uint8_t *hi = shared + Layout::hi_at(n_banks) + bank * kHigh;
        uint32_t lo_plane[kBank / 8] = {}, hi_plane[kBank / 4] = {};
        encode_bank<kBank, kHigh>(x, mask, s_lo, s_hi, lo_plane, hi_plane, e.lo ? lo : nullptr, hi);
        if (e.lo_plane) {
            const size_t at = row * e.k + static_cast<size_t>(bank) * kBank;
#pragma unroll
            for (int i = 0; i < kBank / 8; i += 2)
                *reinterpret_cast<uint2 *>(e.lo_plane + at / 2 + 4 * i) =
                    make_uint2(lo_plane[i], lo_plane[i + 1]);
#pragma unroll
            for (int i = 0; i < kBank / 4; i += 4)
                *reinterpret_cast<uint4 *>(e.hi_plane + at + 4 * i) =
                    make_uint4(hi_plane[i], hi_plane[i + 1], hi_plane[i + 2], hi_plane[i + 3]);
        }
        uint8_t *to = e.mask + row * e.k / 8 + static_cast<size_t>(bank) * kBank / 8;
#pragma unroll
        for (int i = 0; i < kBank / 16; i++) // 16 bits at a time: banks of 16 have no more
            reinterpret_cast<uint16_t *>(to)[i] =
                static_cast<uint16_t>(mask[i / 2] >> (16 * (i % 2)));
    }
}

template <int kBank, int kHigh>
SQ_KERNEL(kTokenThreads, kBank == 64 ? 1 : 2)
encode_dynamic_kernel(const SQ_GRID_CONSTANT SqEncodeDynamic e)
{
    SQ_DYNAMIC_SHARED(shared);
    using Layout = TokenLayout<kBank, kHigh>;
    const int n_banks = e.k / kBank, thread = static_cast<int>(threadIdx.x);
    const size_t row = blockIdx.x;
    for (int i = thread; i < e.k / 8; i += kTokenThreads) // 16 bytes
        *reinterpret_cast<uint4 *>(shared + 8 * i / kBank * Layout::kStride + 8 * i % kBank * 2) =
            reinterpret_cast<const uint4 *>(e.x + row * e.k)[i];
    __syncthreads();
    int32_t most_lo = 0, most_hi = 0;
    select_token<kBank, kHigh>(shared, n_banks, &most_lo, &most_hi);
    int32_t *const slots = reinterpret_cast<int32_t *>(shared + Layout::slots_at(n_banks));
    const SqScale s_lo = sq_scale(magnitude_of_bf16(block_max(most_lo, slots)), kLowMax);
    const SqScale s_hi = sq_scale(magnitude_of_bf16(block_max(most_hi, slots)), kHighMax);
    if (thread == 0) {
        e.s_lo[row] = s_lo.s;
        e.s_hi[row] = s_hi.s;
    }
    encode_token_banks<kBank, kHigh>(e, shared, n_banks, s_lo, s_hi);
    if (!e.lo)
        return;
    __syncthreads();
    const int n_hi = n_banks * kHigh, n_lo = n_banks * Layout::kLo;
    copy_out(e.hi + row * n_hi, shared + Layout::hi_at(n_banks), n_hi);
    copy_out(e.lo + row * n_lo, shared + Layout::lo_at(n_banks), n_lo);
}

template <int kBank, int kHigh>
enum sq_status launch_dynamic(const SqEncodeDynamic *e, cudaStream_t stream, struct sq_error *err)
{
    const size_t nbytes = static_cast<size_t>(TokenLayout<kBank, kHigh>::nbytes(e->k / kBank));
    auto *kernel = encode_dynamic_kernel<kBank, kHigh>;
    SQ_TRY(sq_launch_prepare(kernel, nbytes, err));
    SQ_LAUNCH(kernel, static_cast<unsigned>(e->m), kTokenThreads, nbytes, stream, *e);
    return sq_launch_check(err);
}

// ---- activations by index lists ----------------------------------------------------------------

enum TokenMode { kStatic, kPair, kToken };

struct TokenArgs {
    int k, k_hi, bits; // bits: of a plain token
    const uint16_t *x, *perm_hi, *perm_lo;
    uint8_t *lo, *hi;
    float *s_lo, *s_hi;
};

// The largest magnitude among elements perm[0..n) of the row (perm NULL: the row itself).
SQ_DEVICE float largest(const uint16_t *row, const uint16_t *perm, int n, int32_t *slots)
{
    int32_t most = 0;
    for (int i = static_cast<int>(threadIdx.x); i < n; i += kTokenThreads) {
        const int32_t key = row[perm ? perm[i] : i] & 0x7fff;
        most = key > most ? key : most;
    }
    return magnitude_of_bf16(block_max(most, slots));
}

// Writes n codes of kBits bits (8 or 4, natural order); a thread writes one 32-bit word at a time.
template <int kBits>
SQ_DEVICE void write_codes(uint8_t *out, const uint16_t *row, const uint16_t *perm, int n,
                           const SqScale &scale)
{
    constexpr int kPerWord = 32 / kBits, kMost = (1 << (kBits - 1)) - 1;
    for (int w = static_cast<int>(threadIdx.x); w < n / kPerWord; w += kTokenThreads) {
        uint32_t word = 0;
#pragma unroll
        for (int i = 0; i < kPerWord; i++) {
            const int at = w * kPerWord + i;
            const int code = sq_code(sq_from_bf16(row[perm ? perm[at] : at]), scale, kMost);
            word |= (static_cast<uint32_t>(code) & ((1u << kBits) - 1)) << (kBits * i);
        }
        reinterpret_cast<uint32_t *>(out)[w] = word;
    }
}

// The (BF16, FP8) pair: exact division by a power of two, then BF16 as it is or E4M3.
SQ_DEVICE void write_pair(const TokenArgs &e, const uint16_t *row, float inverse, size_t token)
{
    const int k_lo = e.k - e.k_hi;
    for (int w = static_cast<int>(threadIdx.x); w < e.k_hi / 2; w += kTokenThreads) {
        uint32_t word = 0;
#pragma unroll
        for (int i = 0; i < 2; i++)
            word |=
                static_cast<uint32_t>(sq_to_bf16(sq_from_bf16(row[e.perm_hi[2 * w + i]]) * inverse))
                << (16 * i);
        reinterpret_cast<uint32_t *>(e.hi + 2 * token * e.k_hi)[w] = word;
    }
    for (int w = static_cast<int>(threadIdx.x); w < k_lo / 4; w += kTokenThreads) {
        uint32_t word = 0;
#pragma unroll
        for (int i = 0; i < 4; i++)
            word |=
                static_cast<uint32_t>(sq_to_e4m3(sq_from_bf16(row[e.perm_lo[4 * w + i]]) * inverse))
                << (8 * i);
        reinterpret_cast<uint32_t *>(e.lo + token * k_lo)[w] = word;
    }
}

template <TokenMode kMode>
SQ_KERNEL(kTokenThreads, 4)
encode_token_kernel(const SQ_GRID_CONSTANT TokenArgs e)
{
    SQ_DYNAMIC_SHARED(shared);
    uint16_t *const row = reinterpret_cast<uint16_t *>(shared);
    int32_t *const slots = reinterpret_cast<int32_t *>(shared + 2 * e.k);
    const size_t token = blockIdx.x;
    const int k_lo = e.k - e.k_hi;
    for (int i = static_cast<int>(threadIdx.x); i < e.k / 8; i += kTokenThreads)
        reinterpret_cast<uint4 *>(row)[i] = reinterpret_cast<const uint4 *>(e.x + token * e.k)[i];
    __syncthreads();
    const bool is_first = threadIdx.x == 0;
    if constexpr (kMode == kToken) {
        const SqScale s =
            sq_scale(largest(row, nullptr, e.k, slots), e.bits == 8 ? kHighMax : kLowMax);
        if (is_first)
            e.s_hi[token] = s.s;
        if (e.bits == 8)
            write_codes<8>(e.hi + token * e.k, row, nullptr, e.k, s);
        else
            write_codes<4>(e.hi + token * e.k / 2, row, nullptr, e.k, s);
    } else if constexpr (kMode == kStatic) {
        const SqScale s_hi = sq_scale(largest(row, e.perm_hi, e.k_hi, slots), kHighMax);
        const SqScale s_lo = sq_scale(largest(row, e.perm_lo, k_lo, slots), kLowMax);
        if (is_first) {
            e.s_hi[token] = s_hi.s;
            e.s_lo[token] = s_lo.s;
        }
        write_codes<8>(e.hi + token * e.k_hi, row, e.perm_hi, e.k_hi, s_hi);
        write_codes<4>(e.lo + token * k_lo / 2, row, e.perm_lo, k_lo, s_lo);
    } else {
        const float s = sq_pow2_scale(largest(row, e.perm_lo, k_lo, slots));
        if (is_first)
            e.s_lo[token] = s;
        write_pair(e, row, 1.0f / s, token);
    }
}

template <TokenMode kMode>
enum sq_status launch_token(int m, const TokenArgs &e, cudaStream_t stream, struct sq_error *err)
{
    if (m < 1 || e.k < 32 || e.k % 32 != 0 || e.k > kMaxK || e.k_hi % 32 != 0 || e.k_hi < 0 ||
        e.k_hi > e.k)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "m = %d, k = %d, k_hi = %d, need multiples of 32 up to %d", m, e.k, e.k_hi,
                       kMaxK);
    const size_t nbytes = 2 * static_cast<size_t>(e.k) + kTokenThreads / 32 * 4;
    auto *kernel = encode_token_kernel<kMode>;
    SQ_TRY(sq_launch_prepare(kernel, nbytes, err));
    SQ_LAUNCH(kernel, static_cast<unsigned>(m), kTokenThreads, nbytes, stream, e);
    return sq_launch_check(err);
}

// The explicit list of (bank, k) that are compiled: kLaunch<bank, k>.
#define SQ_FOR_BANK(kLaunch, bank, high, ...)                                                      \
    switch ((bank)*256 + (high)) {                                                                 \
    case 16 * 256 + 8:                                                                             \
        return kLaunch<16, 8>(__VA_ARGS__);                                                        \
    case 16 * 256 + 4:                                                                             \
        return kLaunch<16, 4>(__VA_ARGS__);                                                        \
    case 16 * 256 + 2:                                                                             \
        return kLaunch<16, 2>(__VA_ARGS__);                                                        \
    case 32 * 256 + 16:                                                                            \
        return kLaunch<32, 16>(__VA_ARGS__);                                                       \
    case 32 * 256 + 8:                                                                             \
        return kLaunch<32, 8>(__VA_ARGS__);                                                        \
    case 32 * 256 + 4:                                                                             \
        return kLaunch<32, 4>(__VA_ARGS__);                                                        \
    case 64 * 256 + 16:                                                                            \
        return kLaunch<64, 16>(__VA_ARGS__);                                                       \
    default:                                                                                       \
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,                                                    \
                       "bank = %d, k = %d, need b of 16 or 32 and k of "                           \
                       "b/2, b/4, b/8, or b = 64, k = 16",                                         \
                       bank, high);                                                                \
    }

} // namespace

enum sq_status sq_encode_w(const SqEncodeW *e, cudaStream_t stream, struct sq_error *err)
{
    if (e->n < 1 || e->k < kGroup || e->k % kGroup != 0 || e->group != kGroup)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "n = %d, k = %d, group = %d, need group %d and k %% %d = 0", e->n, e->k,
                       e->group, kGroup, kGroup);
    SQ_FOR_BANK(launch_w, e->bank, e->high_per_bank, e, stream, err)
}

enum sq_status sq_encode_dynamic(const SqEncodeDynamic *e, cudaStream_t stream,
                                 struct sq_error *err)
{
    if (e->m < 1 || e->k < e->bank || e->k % 64 != 0 || e->k > kMaxK)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "m = %d, k = %d, need k %% 64 = 0 up to %d", e->m, e->k,
                       kMaxK);
    SQ_FOR_BANK(launch_dynamic, e->bank, e->high_per_bank, e, stream, err)
}

enum sq_status sq_encode_static(const SqEncodeStatic *e, cudaStream_t stream, struct sq_error *err)
{
    return launch_token<kStatic>(
        e->m, {e->k, e->k_hi, 0, e->x, e->perm_hi, e->perm_lo, e->lo, e->hi, e->s_lo, e->s_hi},
        stream, err);
}

enum sq_status sq_encode_pair(const SqEncodePair *e, cudaStream_t stream, struct sq_error *err)
{
    return launch_token<kPair>(e->m,
                               {e->k, e->k_hi, 0, e->x, e->perm_hi, e->perm_lo, e->lo,
                                reinterpret_cast<uint8_t *>(e->hi), e->s_x, nullptr},
                               stream, err);
}

enum sq_status sq_encode_token(const SqEncodeToken *e, cudaStream_t stream, struct sq_error *err)
{
    if (e->bits != 8 && e->bits != 4)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "codes of %d bits, need 4 or 8", e->bits);
    return launch_token<kToken>(
        e->m, {e->k, 0, e->bits, e->x, nullptr, nullptr, nullptr, e->codes, nullptr, e->s}, stream,
        err);
}
