// SPDX-License-Identifier: Apache-2.0
// The pipeline of the warpgroup kernels (sm_90a): copies, ring of stages, clusters, the walk over
// the output. Template parameter Product says what a step copies and multiplies, and how sums become
// outputs:
//
//   D[a][b] = sum over k of A[a][k] B[b][k]
//
// Two blocks form a cluster and make 256 rows of A x 256 rows of B: 128 rows of A each, the 256
// rows of B shared, half of them loaded by each block and multicast to both. A block is three
// warpgroups: one thread of the first issues the copies (TMA), the other two multiply 64 rows of A
// with all of B. Blocks are persistent and walk over the tiles.
#pragma once

#include "gpu/sq_maps.cuh"
#include "gpu/sq_ptx.cuh"

constexpr int kCluster = 2, kConsumers = 2, kThreads = 128 * (1 + kConsumers);
constexpr int kTileA = 128, kTileB = 256, kGroupA = 64; // rows of a block, a cluster, a warpgroup
constexpr int kHalfB = kTileB / kCluster;
constexpr int kRowNbytes = 128; // of B in a stage; of A as well, or half of it
constexpr int kBarrierNbytes = 1024;
constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;

// Shared memory: Product::kStages stages of Product::kStageNbytes bytes, then their barriers. full[s]
// counts the block's copying thread and the bytes of the stage, empty[s] the consumers of both blocks,
// since a copy of either block writes into both.
template <class Product> struct SqRing {
    static constexpr int kNbytes = Product::kStages * Product::kStageNbytes + kBarrierNbytes;
    static_assert(Product::kStageNbytes % 1024 == 0, "the swizzle repeats every 1024 bytes");
    uint8_t *shared;
    uint64_t *full, *empty;
    explicit SQ_DEVICE SqRing(uint8_t *shared_)
        : shared(shared_),
          full(reinterpret_cast<uint64_t *>(shared_ + Product::kStages * Product::kStageNbytes)),
          empty(full + Product::kStages)
    {
    }
    SQ_DEVICE uint8_t *stage(int s) const
    {
        return shared + s * Product::kStageNbytes;
    }
};

template <class Product> struct SqPosition {
    int stage = 0;
    uint32_t parity = 0;
    SQ_DEVICE void advance()
    {
        stage = stage + 1 == Product::kStages ? 0 : stage + 1;
        parity ^= stage == 0;
    }
};

// ---- producer ----------------------------------------------------------------------------------

SQ_DEVICE int sq_wgmma_row_a(SqTile tile, int rank) // the block's first row of A
{
    return (tile.row * kCluster + rank) * kTileA;
}

// Copies the block's rows of A, from element k_a on, to the start of the stage, and its half of the
// rows of B, from element k_b on, to the stages of both blocks, after the a_nbytes bytes of A.
SQ_DEVICE void sq_wgmma_load(uint8_t *stage, uint64_t *full, const CUtensorMap *a,
                             const CUtensorMap *b, int a_nbytes, int k_a, int k_b, SqTile tile,
                             int rank)
{
    const int row_b = tile.col * kTileB + rank * kHalfB;
    tma_load_2d(stage, a, full, k_a, sq_wgmma_row_a(tile, rank));
    tma_load_2d_multicast(stage + a_nbytes + rank * kHalfB * kRowNbytes, b, full, k_b, row_b,
                          (1u << kCluster) - 1);
}

template <class Product>
SQ_DEVICE void sq_wgmma_produce(const typename Product::Args &p, const SqRing<Product> &ring,
                                int rank)
{
    const int n_tiles = p.n_tiles_a * p.n_tiles_b, n_steps = Product::n_steps(p);
    SqPosition<Product> at;
    for (int t = static_cast<int>(blockIdx.x) / kCluster; t < n_tiles;
         t += static_cast<int>(gridDim.x) / kCluster) {
        const SqTile tile = sq_tile_of(t, p.n_tiles_a, p.n_tiles_b);
        for (int step = 0; step < n_steps; step++) {
            mbarrier_wait(&ring.empty[at.stage], at.parity ^ 1); // the first round does not wait
            uint64_t *const full = &ring.full[at.stage];
            mbarrier_arrive_expect_tx(full, Product::kStageNbytes);
            Product::load(p, ring.stage(at.stage), full, step, tile, rank);
            at.advance();
        }
    }
}

// ---- consumers ---------------------------------------------------------------------------------

// Two threads of the warpgroup tell one block each that it has read the stage.
template <class Product> SQ_DEVICE void sq_wgmma_release(const SqRing<Product> &ring, int stage)
{
    const uint32_t thread = threadIdx.x % 128;
    if (thread < kCluster)
        mbarrier_arrive_cluster(&ring.empty[stage], thread);
}

// One step: `prepare` reads registers from the stage, while the products of the step before are
// under way; `issue` starts this step's. The stage of the step before is released when its products
// are done; `before` is that stage, -1 at the start of a tile.
template <class Product, class Prepare, class Issue>
SQ_DEVICE void sq_wgmma_step(const SqRing<Product> &ring, SqPosition<Product> &at, int &before,
                             Prepare prepare, Issue issue)
{
    mbarrier_wait(&ring.full[at.stage], at.parity);
    const uint8_t *const stage = ring.stage(at.stage);
    prepare(stage);
    wgmma_fence();
    issue(ptx_shared_address(stage), before < 0);
    wgmma_commit();
    wgmma_wait<1>(); // all products but this step's are done
    if (before >= 0)
        sq_wgmma_release(ring, before);
    before = at.stage;
    at.advance();
}

// Both operands in rows of 128 bytes: product(a, b, is_sum) of each 32 bytes of K.
template <class Multiply>
SQ_DEVICE void sq_wgmma_slices(uint32_t stage, int group, bool is_first, Multiply product)
{
    const uint64_t a = sq_wgmma_descriptor<kRowNbytes>(
        stage + static_cast<uint32_t>(group * kGroupA * kRowNbytes));
    const uint64_t b = sq_wgmma_descriptor<kRowNbytes>(stage + kTileA * kRowNbytes);
#pragma unroll
    for (int slice = 0; slice < kRowNbytes / 32; slice++) {
        const uint64_t along = static_cast<uint64_t>(slice * 32 / 16);
        product(a + along, b + along, !(is_first && slice == 0));
    }
}

template <class Product>
SQ_DEVICE void sq_wgmma_consume(const typename Product::Args &p, const SqRing<Product> &ring,
                                int rank)
{
    const int n_tiles = p.n_tiles_a * p.n_tiles_b;
    const int group = static_cast<int>(threadIdx.x) / 128 - 1;
    SqPosition<Product> at;
    typename Product::Sum acc[128];
    for (int t = static_cast<int>(blockIdx.x) / kCluster; t < n_tiles;
         t += static_cast<int>(gridDim.x) / kCluster) {
        const SqTile tile = sq_tile_of(t, p.n_tiles_a, p.n_tiles_b);
        const int row_a = sq_wgmma_row_a(tile, rank) + group * kGroupA;
        int before = -1;
        Product::multiply(acc, p, ring, at, before, group, row_a); // returns when all are done
        sq_wgmma_release(ring, before);
        Product::store(p, acc, row_a, tile.col * kTileB);
    }
}

template <class Product>
SQ_KERNEL_CLUSTER(kThreads, 1, kCluster)
sq_wgmma_kernel(const SQ_GRID_CONSTANT typename Product::Args p)
{
    SQ_DYNAMIC_SHARED(shared);
    const SqRing<Product> ring(shared);
    const int rank = static_cast<int>(cluster_rank());
    if (threadIdx.x == 0) {
        for (int s = 0; s < Product::kStages; s++) {
            mbarrier_init(&ring.full[s], 1);
            mbarrier_init(&ring.empty[s], kConsumers * kCluster);
        }
        mbarrier_init_fence();
    }
    cluster_sync();
    if (threadIdx.x < 128) {
        setmaxnreg_dec<kProducerRegisters>();
        if (threadIdx.x == 0)
            sq_wgmma_produce<Product>(p, ring, rank);
    } else {
        setmaxnreg_inc<kConsumerRegisters>();
        sq_wgmma_consume<Product>(p, ring, rank);
    }
    __syncwarp();   // the producer's idle lanes wait for it: the cluster barrier is for whole warps
    cluster_sync(); // no block leaves while the other may write into it
}

// ---- host --------------------------------------------------------------------------------------

// What one copy takes of a matrix of `rows` rows of n_elements elements: n_rows rows of row_nbytes
// bytes. Rows of 128 and of 64 bytes are swizzled over as many bytes, others are not.
struct SqBox {
    int element_nbytes, row_nbytes, n_rows;
};

inline enum sq_status sq_tensor_map(CUtensorMap *map, const void *base, int rows, int n_elements,
                                    SqBox box, struct sq_error *err)
{
#ifdef SQ_EMULATE
    (void)err;
    *map = {static_cast<const uint8_t *>(base),
            rows,
            static_cast<int64_t>(n_elements) * box.element_nbytes,
            box.n_rows,
            box.row_nbytes,
            box.element_nbytes,
            box.row_nbytes == 128 || box.row_nbytes == 64 ? box.row_nbytes : 0};
#else
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    SQ_CUDA_TRY(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000,
                                                 cudaEnableDefault, &found),
                err);
    if (found != cudaDriverEntryPointSuccess || !entry)
        return SQ_FAIL(err, SQ_ERR_TOOL, "the driver has no cuTensorMapEncodeTiled");
    const cuuint64_t size[2] = {static_cast<cuuint64_t>(n_elements), static_cast<cuuint64_t>(rows)};
    const cuuint64_t pitch[1] = {static_cast<cuuint64_t>(n_elements) *
                                 static_cast<cuuint64_t>(box.element_nbytes)};
    const cuuint32_t taken[2] = {static_cast<cuuint32_t>(box.row_nbytes / box.element_nbytes),
                                 static_cast<cuuint32_t>(box.n_rows)};
    const cuuint32_t step[2] = {1, 1};
    const CUresult result = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry)(
        map,
        box.element_nbytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
        : box.element_nbytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                  : CU_TENSOR_MAP_DATA_TYPE_UINT32,
        2, const_cast<void *>(base), size, pitch, taken, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
        box.row_nbytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
        : box.row_nbytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                               : CU_TENSOR_MAP_SWIZZLE_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
        return SQ_FAIL(err, SQ_ERR_TOOL, "cuTensorMapEncodeTiled of %d x %d: error %d", rows,
                       n_elements, static_cast<int>(result));
#endif
    return SQ_OK;
}

// Clusters that run at a time: an odd number of SMs in a GPC, or SMs that are switched off, leave
// fewer than one for two SMs.
template <class Product> enum sq_status sq_wgmma_clusters(int n_sms, int *n, struct sq_error *err)
{
#ifdef SQ_EMULATE
    *n = n_sms / kCluster;
#else
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute cluster[1] = {};
    cluster[0].id = cudaLaunchAttributeClusterDimension;
    cluster[0].val.clusterDim.x = kCluster;
    cluster[0].val.clusterDim.y = cluster[0].val.clusterDim.z = 1;
    config.gridDim = dim3(static_cast<unsigned>(n_sms / kCluster * kCluster));
    config.blockDim = dim3(kThreads);
    config.dynamicSmemBytes = SqRing<Product>::kNbytes;
    config.attrs = cluster;
    config.numAttrs = 1;
    SQ_CUDA_TRY(cudaOccupancyMaxActiveClusters(n, sq_wgmma_kernel<Product>, &config), err);
#endif
    return *n > 0 ? SQ_OK
                  : SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "no cluster of %d blocks fits", kCluster);
}

// Launches p, whose tensor maps are made, on `rows_a` x `rows_b` outputs.
template <class Product>
enum sq_status sq_wgmma_launch(typename Product::Args &p, int rows_a, int rows_b, int n_sms,
                               cudaStream_t stream, struct sq_error *err)
{
    constexpr int kNbytes = SqRing<Product>::kNbytes;
    auto *kernel = sq_wgmma_kernel<Product>;
    int most = 0;
    p.n_tiles_a = sq_div_up(rows_a, kCluster * kTileA);
    p.n_tiles_b = sq_div_up(rows_b, kTileB);
    SQ_TRY(sq_launch_prepare(kernel, kNbytes, err));
    SQ_TRY(sq_wgmma_clusters<Product>(n_sms, &most, err));
    const int n_tiles = p.n_tiles_a * p.n_tiles_b;
    const unsigned n_blocks = static_cast<unsigned>(kCluster * (n_tiles < most ? n_tiles : most));
    SQ_LAUNCH_CLUSTER(kernel, n_blocks, kThreads, kNbytes, stream, kCluster, p);
    return sq_launch_check(err);
}
