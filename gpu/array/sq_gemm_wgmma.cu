// SPDX-License-Identifier: Apache-2.0
// Static activation SQ for the pair (BF16, FP8) as one kernel on sm_90a, and by the same code the
// dense BF16 and the dense FP8 product (one part empty).
//
//   Y = s_x s_w (sum over k_lo of E4M3 x E4M3  +  sum over k_hi of BF16 x BF16)
//
// Both parts go into the same FP32 accumulators: their scales are powers of two folded into the
// BF16 operands (SqEncodePair), so nothing is rounded for it. The low part comes first, because
// wgmma keeps fewer bits when it adds FP8 products, and the sum is still small then.
//
// A is X, B is W. Both data types use the same 48 KiB stages: 128 bytes of K a step, 128 FP8 or 64
// BF16, in the 128-byte swizzle.
#include "gpu/array/sq_wgmma.cuh"
#include "gpu/sq_kernels.cuh"
#include "gpu/sq_quant.cuh"

namespace
{

constexpr int kStepLo = 128, kStepHi = 64; // elements of K a step
constexpr int kXNbytes = kTileA * kRowNbytes, kWNbytes = kTileB * kRowNbytes;

struct PairArgs {
    CUtensorMap x_lo, w_lo, x_hi, w_hi;
    SqGemmPair g;
    int n_tiles_a, n_tiles_b; // of the cluster
};

// Lane t of a quad gives word j to lane j and receives word t of all four: after it lane t holds
// the four words of block t, 16 consecutive bytes of a row.
SQ_DEVICE void quad_transpose(uint32_t (&v)[4])
{
    const unsigned t = threadIdx.x % 4;
#pragma unroll
    for (unsigned lanes = 1; lanes <= 2; lanes *= 2) {
        const bool is_upper = (t & lanes) != 0;
#pragma unroll
        for (unsigned j = 0; j < 4; j++)
            if ((j & lanes) == 0) {
                const uint32_t give = is_upper ? v[j] : v[j + lanes];
                const uint32_t take = __shfl_xor_sync(0xffffffffu, give, lanes);
                v[j] = is_upper ? take : v[j];
                v[j + lanes] = is_upper ? v[j + lanes] : take;
            }
    }
}

SQ_DEVICE void store_rows(const SqGemmPair &g, const float (&acc)[128], int row0, int col0)
{
    const int thread = static_cast<int>(threadIdx.x) % 128;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = row0 + sq_fragment_wgmma_d(thread, 2 * half).row;
        const float s_x = row < g.m ? g.s_x[row] : 0.0f;
#pragma unroll
        for (int block = 0; block < kTileB / 32; block++) { // 32 columns: 4 words a lane
            uint32_t v[4];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int reg = 16 * block + 4 * j + 2 * half;
                const int col = col0 + sq_fragment_wgmma_d(thread, reg).byte;
                uint32_t word = 0;
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const float s_w = col + e < g.n ? __ldg(&g.s_w[col + e]) : 0.0f;
                    word |= static_cast<uint32_t>(sq_to_bf16(acc[reg + e] * s_x * s_w)) << (16 * e);
                }
                v[j] = word;
            }
            quad_transpose(v);
            const int col = col0 + 32 * block + 8 * (thread % 4);
            if (row < g.m && col < g.n)
                *reinterpret_cast<uint4 *>(g.y + static_cast<size_t>(row) * g.n + col) =
                    make_uint4(v[0], v[1], v[2], v[3]);
        }
    }
}

struct Pair {
    using Args = PairArgs;
    using Sum = float;
    static constexpr int kStages = 4, kStageNbytes = kXNbytes + kWNbytes;

    static SQ_DEVICE int n_steps_lo(const Args &p)
    {
        return sq_div_up(p.g.k_lo, kStepLo);
    }
    static SQ_DEVICE int n_steps_hi(const Args &p)
    {
        return sq_div_up(p.g.k_hi, kStepHi);
    }
    static SQ_DEVICE int n_steps(const Args &p)
    {
        return n_steps_lo(p) + n_steps_hi(p);
    }
    static SQ_DEVICE void load(const Args &p, uint8_t *stage, uint64_t *full, int step, SqTile tile,
                               int rank)
    {
        const int n_lo = n_steps_lo(p);
        const bool is_lo = step < n_lo;
        const int k = is_lo ? step * kStepLo : (step - n_lo) * kStepHi;
        sq_wgmma_load(stage, full, is_lo ? &p.x_lo : &p.x_hi, is_lo ? &p.w_lo : &p.w_hi, kXNbytes,
                      k, k, tile, rank);
    }

    // `n` steps of one part.
    template <bool kIsLo>
    static SQ_DEVICE void multiply_part(float (&acc)[128], const SqRing<Pair> &ring,
                                        SqPosition<Pair> &at, int &before, int group, int n)
    {
        for (int step = 0; step < n; step++)
            sq_wgmma_step(
                ring, at, before, [](const uint8_t *) {},
                [&](uint32_t stage, bool is_first) {
                    sq_wgmma_slices(stage, group, is_first, [&](uint64_t x, uint64_t w, int sum) {
                        if constexpr (kIsLo)
                            wgmma_m64n256k32_e4m3(acc, x, w, sum);
                        else
                            wgmma_m64n256k16_bf16(acc, x, w, sum);
                    });
                });
    }
    static SQ_DEVICE void multiply(float (&acc)[128], const Args &p, const SqRing<Pair> &ring,
                                   SqPosition<Pair> &at, int &before, int group, int)
    {
        multiply_part<true>(acc, ring, at, before, group, n_steps_lo(p));
        wgmma_wait<0>(); // products of another shape may not follow on the same accumulators
        multiply_part<false>(acc, ring, at, before, group, n_steps_hi(p));
        wgmma_wait<0>();
    }
    static SQ_DEVICE void store(const Args &p, const float (&acc)[128], int row0, int col0)
    {
        store_rows(p.g, acc, row0, col0);
    }
};

enum sq_status tensor_maps(PairArgs *p, struct sq_error *err)
{
    const SqGemmPair &g = p->g;
    const SqBox lo = {1, kRowNbytes, kTileA}, hi = {2, kRowNbytes, kTileA};
    if (g.k_lo > 0) {
        SQ_TRY(sq_tensor_map(&p->x_lo, g.x_lo, g.m, g.k_lo, lo, err));
        SQ_TRY(sq_tensor_map(&p->w_lo, g.w_lo, g.n, g.k_lo, lo, err));
    }
    if (g.k_hi > 0) {
        SQ_TRY(sq_tensor_map(&p->x_hi, g.x_hi, g.m, g.k_hi, hi, err));
        SQ_TRY(sq_tensor_map(&p->w_hi, g.w_hi, g.n, g.k_hi, hi, err));
    }
    return SQ_OK;
}

static_assert(kHalfB == kTileA, "one box size serves X and the halves of W");

} // namespace

enum sq_status sq_gemm_pair(const SqGemmPair *g, int n_sms, cudaStream_t stream,
                            struct sq_error *err)
{
    if (g->m < 1 || g->n < 8 || g->n % 8 != 0 || g->k_lo % 16 != 0 || g->k_hi % 8 != 0 ||
        g->k_lo < 0 || g->k_hi < 0 || g->k_lo + g->k_hi == 0)
        return SQ_FAIL(
            err, SQ_ERR_SHAPE,
            "m = %d, n = %d, k_lo = %d, k_hi = %d, need n %% 8, k_lo %% 16, k_hi %% 8 = 0", g->m,
            g->n, g->k_lo, g->k_hi);
    PairArgs p = {};
    p.g = *g;
    SQ_TRY(tensor_maps(&p, err));
    return sq_wgmma_launch<Pair>(p, g->m, g->n, n_sms, stream, err);
}
