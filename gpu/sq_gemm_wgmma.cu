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
// Two blocks form a cluster and make 256 tokens x 256 channels: 128 tokens each, the 256 rows of W
// shared, half of them loaded by each block and multicast to both. A block is three warpgroups: one
// thread of the first issues the copies (TMA, 128-byte rows, 128-byte swizzle), the other two
// multiply 64 tokens x 256 channels each. Both data types use the same 48 KiB stages: 128 bytes of
// K a step, 128 FP8 or 64 BF16. Blocks are persistent and walk over the tiles.
#include "gpu/sq_kernels.cuh"
#include "gpu/sq_maps.cuh"
#include "gpu/sq_ptx.cuh"
#include "gpu/sq_quant.cuh"

namespace
{

constexpr int kCluster = 2, kConsumers = 2;
constexpr int kTileM = 128, kTileN = 256, kGroupM = 64; // of a block; of a warpgroup
constexpr int kStages = 4, kThreads = 128 * (1 + kConsumers);
constexpr int kRowNbytes = 128, kStepLo = 128, kStepHi = 64; // elements of K a step
constexpr int kXNbytes = kTileM * kRowNbytes, kWNbytes = kTileN * kRowNbytes;
constexpr int kStageNbytes = kXNbytes + kWNbytes;
constexpr int kBarrierNbytes = 1024;
constexpr int kSharedNbytes = kStages * kStageNbytes + kBarrierNbytes;
constexpr int kSlices = 4; // of 32 bytes: one wgmma each
constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;

struct PairArgs {
    CUtensorMap x_lo, w_lo, x_hi, w_hi;
    SqGemmPair g;
    int n_tiles_m, n_tiles_n; // of the cluster: 256 x 256
};

// The ring: full[s] counts the block's own thread and the bytes of its stage, empty[s] the
// consumers of both blocks, since a copy of either block writes into both.
struct Ring {
    uint8_t *stage;
    uint64_t *full, *empty;
};
SQ_DEVICE Ring ring_of(uint8_t *shared)
{
    uint64_t *bar = reinterpret_cast<uint64_t *>(shared + kStages * kStageNbytes);
    return {shared, bar, bar + kStages};
}

struct Position {
    int stage = 0;
    uint32_t parity = 0;
    SQ_DEVICE void advance()
    {
        stage = stage + 1 == kStages ? 0 : stage + 1;
        parity ^= stage == 0;
    }
};

SQ_DEVICE void load_step(const PairArgs &p, const Ring &ring, int stage, int step, int n_lo,
                         SqTile tile, int rank)
{
    const bool is_lo = step < n_lo;
    const int k = is_lo ? step * kStepLo : (step - n_lo) * kStepHi;
    const int half = kTileN / kCluster;
    const int row_x = (tile.row * kCluster + rank) * kTileM;
    const int row_w = tile.col * kTileN + rank * half;
    uint8_t *const x = ring.stage + stage * kStageNbytes;
    uint64_t *const full = &ring.full[stage];
    mbarrier_arrive_expect_tx(full, kStageNbytes);
    tma_load_2d(x, is_lo ? &p.x_lo : &p.x_hi, full, k, row_x);
    tma_load_2d_multicast(x + kXNbytes + rank * half * kRowNbytes, is_lo ? &p.w_lo : &p.w_hi, full,
                          k, row_w, (1u << kCluster) - 1);
}

SQ_DEVICE void produce(const PairArgs &p, const Ring &ring, int n_lo, int n_steps, int rank)
{
    const int n_tiles = p.n_tiles_m * p.n_tiles_n;
    Position at;
    for (int t = static_cast<int>(blockIdx.x) / kCluster; t < n_tiles;
         t += static_cast<int>(gridDim.x) / kCluster) {
        const SqTile tile = sq_tile_of(t, p.n_tiles_m, p.n_tiles_n);
        for (int step = 0; step < n_steps; step++) {
            mbarrier_wait(&ring.empty[at.stage], at.parity ^ 1); // the first round does not wait
            load_step(p, ring, at.stage, step, n_lo, tile, rank);
            at.advance();
        }
    }
}

// One thread of the warpgroup tells both blocks that it has read the stage.
SQ_DEVICE void release(const Ring &ring, int stage)
{
    const uint32_t thread = threadIdx.x % 128;
    if (thread < kCluster)
        mbarrier_arrive_cluster(&ring.empty[stage], thread);
}

template <bool kIsLo>
SQ_DEVICE void multiply_step(float (&acc)[128], const Ring &ring, int stage, int group,
                             bool is_first)
{
    const uint32_t base = ptx_shared_address(ring.stage + stage * kStageNbytes);
    const uint64_t x =
        sq_wgmma_descriptor(base + static_cast<uint32_t>(group * kGroupM * kRowNbytes));
    const uint64_t w = sq_wgmma_descriptor(base + kXNbytes);
    wgmma_fence();
#pragma unroll
    for (int slice = 0; slice < kSlices; slice++) {
        const uint64_t along = static_cast<uint64_t>(slice * 32 / 16);
        const int is_sum = !(is_first && slice == 0);
        if constexpr (kIsLo)
            wgmma_m64n256k32_e4m3(acc, x + along, w + along, is_sum);
        else
            wgmma_m64n256k16_bf16(acc, x + along, w + along, is_sum);
    }
    wgmma_commit();
}

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
        for (int block = 0; block < kTileN / 32; block++) { // 32 columns: 4 words a lane
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

// `n` steps of one part. The stage of a step is released when the next step's products are under
// way; `before` is the one that waits for that, -1 at the start of a tile.
template <bool kIsLo>
SQ_DEVICE void multiply_part(float (&acc)[128], const Ring &ring, Position &at, int &before,
                             int group, int n)
{
    for (int step = 0; step < n; step++) {
        mbarrier_wait(&ring.full[at.stage], at.parity);
        multiply_step<kIsLo>(acc, ring, at.stage, group, before < 0);
        wgmma_wait<1>(); // all products but this step's are done
        if (before >= 0)
            release(ring, before);
        before = at.stage;
        at.advance();
    }
}

SQ_DEVICE void consume(const PairArgs &p, const Ring &ring, int n_lo, int n_steps, int rank)
{
    const int n_tiles = p.n_tiles_m * p.n_tiles_n;
    const int group = static_cast<int>(threadIdx.x) / 128 - 1;
    Position at;
    float acc[128];
    for (int t = static_cast<int>(blockIdx.x) / kCluster; t < n_tiles;
         t += static_cast<int>(gridDim.x) / kCluster) {
        const SqTile tile = sq_tile_of(t, p.n_tiles_m, p.n_tiles_n);
        int before = -1;
        multiply_part<true>(acc, ring, at, before, group, n_lo);
        wgmma_wait<0>(); // products of another shape may not follow on the same accumulators
        multiply_part<false>(acc, ring, at, before, group, n_steps - n_lo);
        wgmma_wait<0>();
        release(ring, before);
        store_rows(p.g, acc, (tile.row * kCluster + rank) * kTileM + group * kGroupM,
                   tile.col * kTileN);
    }
}

SQ_KERNEL_CLUSTER(kThreads, 1, kCluster) gemm_pair_kernel(const SQ_GRID_CONSTANT PairArgs p)
{
    SQ_DYNAMIC_SHARED(shared);
    const Ring ring = ring_of(shared);
    const int rank = static_cast<int>(cluster_rank());
    const int n_lo = sq_div_up(p.g.k_lo, kStepLo), n_steps = n_lo + sq_div_up(p.g.k_hi, kStepHi);
    if (threadIdx.x == 0) {
        for (int s = 0; s < kStages; s++) {
            mbarrier_init(&ring.full[s], 1);
            mbarrier_init(&ring.empty[s], kConsumers * kCluster);
        }
        mbarrier_init_fence();
    }
    cluster_sync();
    if (threadIdx.x < 128) {
        setmaxnreg_dec<kProducerRegisters>();
        if (threadIdx.x == 0)
            produce(p, ring, n_lo, n_steps, rank);
    } else {
        setmaxnreg_inc<kConsumerRegisters>();
        consume(p, ring, n_lo, n_steps, rank);
    }
    __syncwarp();   // the producer's idle lanes wait for it: the cluster barrier is for whole warps
    cluster_sync(); // no block leaves while the other may write into it
}

// ---- tensor maps -------------------------------------------------------------------------------

#ifdef SQ_EMULATE
enum sq_status tensor_map(CUtensorMap *map, const void *base, int element_nbytes, int rows, int k,
                          struct sq_error *)
{
    *map = {static_cast<const uint8_t *>(base), rows, static_cast<int64_t>(k) * element_nbytes,
            kTileM, element_nbytes};
    return SQ_OK;
}
#else
using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

enum sq_status tensor_map(CUtensorMap *map, const void *base, int element_nbytes, int rows, int k,
                          struct sq_error *err)
{
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    SQ_CUDA_TRY(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000,
                                                 cudaEnableDefault, &found),
                err);
    if (found != cudaDriverEntryPointSuccess || !entry)
        return SQ_FAIL(err, SQ_ERR_TOOL, "the driver has no cuTensorMapEncodeTiled");
    const cuuint64_t size[2] = {static_cast<cuuint64_t>(k), static_cast<cuuint64_t>(rows)};
    const cuuint64_t pitch[1] = {static_cast<cuuint64_t>(k) * element_nbytes};
    const cuuint32_t box[2] = {static_cast<cuuint32_t>(kRowNbytes / element_nbytes), kTileM};
    const cuuint32_t step[2] = {1, 1};
    const CUresult result = reinterpret_cast<EncodeTiled>(entry)(
        map, element_nbytes == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        2, const_cast<void *>(base), size, pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
        return SQ_FAIL(err, SQ_ERR_TOOL, "cuTensorMapEncodeTiled of %d x %d: error %d", rows, k,
                       static_cast<int>(result));
    return SQ_OK;
}
#endif

enum sq_status tensor_maps(PairArgs *p, struct sq_error *err)
{
    const SqGemmPair &g = p->g;
    if (g.k_lo > 0) {
        SQ_TRY(tensor_map(&p->x_lo, g.x_lo, 1, g.m, g.k_lo, err));
        SQ_TRY(tensor_map(&p->w_lo, g.w_lo, 1, g.n, g.k_lo, err));
    }
    if (g.k_hi > 0) {
        SQ_TRY(tensor_map(&p->x_hi, g.x_hi, 2, g.m, g.k_hi, err));
        SQ_TRY(tensor_map(&p->w_hi, g.w_hi, 2, g.n, g.k_hi, err));
    }
    return SQ_OK;
}

// Clusters that run at a time: an odd number of SMs in a GPC, or SMs that are switched off, leave
// fewer than one for two SMs.
enum sq_status active_clusters(int n_sms, int *n, struct sq_error *err)
{
#ifdef SQ_EMULATE
    (void)err;
    *n = n_sms / kCluster;
#else
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute cluster[1] = {};
    cluster[0].id = cudaLaunchAttributeClusterDimension;
    cluster[0].val.clusterDim.x = kCluster;
    cluster[0].val.clusterDim.y = cluster[0].val.clusterDim.z = 1;
    config.gridDim = dim3(static_cast<unsigned>(n_sms / kCluster * kCluster));
    config.blockDim = dim3(kThreads);
    config.dynamicSmemBytes = kSharedNbytes;
    config.attrs = cluster;
    config.numAttrs = 1;
    SQ_CUDA_TRY(cudaOccupancyMaxActiveClusters(n, gemm_pair_kernel, &config), err);
#endif
    return *n > 0 ? SQ_OK
                  : SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "no cluster of %d blocks fits", kCluster);
}

static_assert(kTileN / kCluster == kTileM, "one box size serves X and the halves of W");

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
    p.n_tiles_m = sq_div_up(g->m, kCluster * kTileM);
    p.n_tiles_n = sq_div_up(g->n, kTileN);
    SQ_TRY(tensor_maps(&p, err));
    int most = 0;
    SQ_TRY(sq_launch_prepare(gemm_pair_kernel, kSharedNbytes, err));
    SQ_TRY(active_clusters(n_sms, &most, err));
    const int n_tiles = p.n_tiles_m * p.n_tiles_n;
    const unsigned n_blocks = static_cast<unsigned>(kCluster * (n_tiles < most ? n_tiles : most));
    SQ_LAUNCH_CLUSTER(gemm_pair_kernel, n_blocks, kThreads, kSharedNbytes, stream, kCluster, p);
    return sq_launch_check(err);
}
