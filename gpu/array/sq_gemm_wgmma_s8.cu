// SPDX-License-Identifier: Apache-2.0
// Integer products by wgmma on sm_90a, in the pipeline of sq_wgmma.cuh: dense INT8 (W8A8), 2:4 INT8
// and W4A8, INT32 accumulators, the scales of SPEC B.4 in the epilogue.
//
//   W8A8  A is X, B is W, both in shared memory
//   2:4   A is W, the kept bytes in shared memory, metadata in registers; B is X
//   W4A8  A is W, unpacked into registers; B is X
//
// Only A may be sparse or in registers, so these two make the transposed output. Their rows of A
// are 64 bytes a step, in the 64-byte swizzle, beside 128 bytes of X.
#include "gpu/array/sq_wgmma.cuh"
#include "gpu/sq_kernels.cuh"

namespace
{

constexpr int kStepK = 128; // elements of K a step: 128 bytes of X
constexpr int kWRow = 64;   // bytes of a row of A = W: 64 kept or 128 4-bit codes
constexpr int kWNbytes = kTileA * kWRow, kXNbytes = kTileB * kRowNbytes;

struct Output {
    int m, n;
    const float *s_x, *s_w;
    float *y;
    int32_t *p; // may be NULL
};
struct IntegerArgs {
    CUtensorMap a, b, meta;
    Output out;
    int k;
    int n_tiles_a, n_tiles_b; // of the cluster
};

SQ_DEVICE void store_one(const Output &o, int token, int channel, int32_t p, float s_x, float s_w)
{
    const size_t at = static_cast<size_t>(token) * o.n + channel;
    o.y[at] = sq_scaled_sum(p, s_w, s_x);
    if (o.p)
        o.p[at] = p;
}

struct Integer {
    using Args = IntegerArgs;
    using Sum = int32_t;
    static SQ_DEVICE int n_steps(const Args &p)
    {
        return sq_div_up(p.k, kStepK);
    }
};

// ---- W8A8 --------------------------------------------------------------------------------------

struct Dense : Integer {
    static constexpr int kStages = 4, kStageNbytes = (kTileA + kTileB) * kRowNbytes;

    static SQ_DEVICE void load(const Args &p, uint8_t *stage, uint64_t *full, int step, SqTile tile,
                               int rank)
    {
        const int k = step * kStepK;
        sq_wgmma_load(stage, full, &p.a, &p.b, kTileA * kRowNbytes, k, k, tile, rank);
    }
    static SQ_DEVICE void multiply(int32_t (&acc)[128], const Args &p, const SqRing<Dense> &ring,
                                   SqPosition<Dense> &at, int &before, int group, int)
    {
        const int n = n_steps(p);
        for (int step = 0; step < n; step++)
            sq_wgmma_step(
                ring, at, before, [](const uint8_t *) {},
                [&](uint32_t stage, bool is_first) {
                    sq_wgmma_slices(stage, group, is_first, [&](uint64_t x, uint64_t w, int sum) {
                        wgmma_m64n256k32_s8(acc, x, w, sum);
                    });
                });
        wgmma_wait<0>();
    }
    // The four lanes of a quad write 8 channels of a token: 32 bytes.
    static SQ_DEVICE void store(const Args &p, const int32_t (&acc)[128], int row0, int col0)
    {
        const Output &o = p.out;
        const int thread = static_cast<int>(threadIdx.x) % 128;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int token = row0 + sq_fragment_wgmma_d(thread, 2 * half).row;
            if (token >= o.m)
                continue;
            const float s_x = o.s_x[token];
#pragma unroll
            for (int block = 0; block < kTileB / 8; block++) {
                const int reg = 4 * block + 2 * half;
                const int channel = col0 + sq_fragment_wgmma_d(thread, reg).byte;
                if (channel >= o.n) // n is even
                    continue;
                const float2 s_w = __ldg(reinterpret_cast<const float2 *>(o.s_w + channel));
                const size_t at = static_cast<size_t>(token) * o.n + channel;
                *reinterpret_cast<float2 *>(o.y + at) = make_float2(
                    sq_scaled_sum(acc[reg], s_w.x, s_x), sq_scaled_sum(acc[reg + 1], s_w.y, s_x));
                if (o.p)
                    *reinterpret_cast<int2 *>(o.p + at) = make_int2(acc[reg], acc[reg + 1]);
            }
        }
    }
};

// ---- A is W ------------------------------------------------------------------------------------

// 8 lanes write 8 channels of a token: 32 bytes. The accumulators hold P << kShift.
template <int kShift>
SQ_DEVICE void store_transposed(const Output &o, const int32_t (&acc)[128], int row0, int col0)
{
    const int thread = static_cast<int>(threadIdx.x) % 128;
    const int channel[2] = {row0 + sq_fragment_wgmma_d(thread, 0).row,
                            row0 + sq_fragment_wgmma_d(thread, 2).row};
    const float s_w[2] = {channel[0] < o.n ? o.s_w[channel[0]] : 0.0f,
                          channel[1] < o.n ? o.s_w[channel[1]] : 0.0f};
#pragma unroll
    for (int block = 0; block < kTileB / 8; block++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int token = col0 + sq_fragment_wgmma_d(thread, 4 * block + e).byte;
            if (token >= o.m)
                continue;
            const float s_x = __ldg(&o.s_x[token]);
#pragma unroll
            for (int half = 0; half < 2; half++)
                if (channel[half] < o.n)
                    store_one(o, token, channel[half], acc[4 * block + 2 * half + e] >> kShift, s_x,
                              s_w[half]);
        }
}

// ---- 2:4 ---------------------------------------------------------------------------------------

struct Sparse : Integer {
    static constexpr int kStepTiles = kStepK / 64; // metadata tiles of 16 x 64
    static constexpr int kMetaRow = kStepTiles * 32 * 4;
    static constexpr int kMetaAt = kWNbytes + kXNbytes;
    static constexpr int kStages = 5, kStageNbytes = kMetaAt + kTileA / 16 * kMetaRow;
    using Metadata = uint32_t[kStepTiles];

    static SQ_DEVICE void load(const Args &p, uint8_t *stage, uint64_t *full, int step, SqTile tile,
                               int rank)
    {
        const int k = step * kStepK;
        sq_wgmma_load(stage, full, &p.a, &p.b, kWNbytes, k / 2, k, tile, rank);
        tma_load_2d(stage + kMetaAt, &p.meta, full, step * kStepTiles * 32,
                    sq_wgmma_row_a(tile, rank) / 16);
    }
    // Channels beyond n and columns beyond k have no metadata: any legal pattern, the values are 0.
    static SQ_DEVICE void read_meta(Metadata &e, const Args &p, const uint8_t *stage, int step,
                                    int group, int row_a)
    {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const int warp = static_cast<int>(threadIdx.x) % 128 / 32;
        const uint32_t *const row = reinterpret_cast<const uint32_t *>(
            stage + kMetaAt + (group * kGroupA / 16 + warp) * kMetaRow);
        const bool is_row = row_a + 16 * warp < p.out.n;
#pragma unroll
        for (int slice = 0; slice < kStepTiles; slice++) {
            const bool is_inside = is_row && (step * kStepTiles + slice) * 64 < p.k;
            e[slice] = is_inside ? row[slice * 32 + lane] : 0x11111111u * sq_meta24_nibble(0, 1);
            wgmma_input(e[slice]);
        }
    }
    static SQ_DEVICE void issue(int32_t (&acc)[128], const Metadata &e, uint32_t stage, int group,
                                bool is_first)
    {
        const uint64_t w =
            sq_wgmma_descriptor<kWRow>(stage + static_cast<uint32_t>(group * kGroupA * kWRow));
        const uint64_t x = sq_wgmma_descriptor<kRowNbytes>(stage + kWNbytes);
#pragma unroll
        for (int slice = 0; slice < kStepTiles; slice++)
            wgmma_sp_m64n256k64_s8(acc, w + static_cast<uint64_t>(slice * 32 / 16),
                                   x + static_cast<uint64_t>(slice * 64 / 16), e[slice],
                                   !(is_first && slice == 0));
    }
    // Metadata are their products' until these are done, and then the next step's are under way:
    // two sets in turn.
    static SQ_DEVICE void multiply(int32_t (&acc)[128], const Args &p, const SqRing<Sparse> &ring,
                                   SqPosition<Sparse> &at, int &before, int group, int row_a)
    {
        Metadata set[2];
        const int n = n_steps(p);
        const auto one = [&](int step, Metadata &e) {
            sq_wgmma_step(
                ring, at, before,
                [&](const uint8_t *stage) { read_meta(e, p, stage, step, group, row_a); },
                [&](uint32_t stage, bool is_first) { issue(acc, e, stage, group, is_first); });
        };
        for (int step = 0; step < n; step += 2) {
            one(step, set[0]);
            if (step + 1 < n)
                one(step + 1, set[1]);
        }
        wgmma_wait<0>();
    }
    static SQ_DEVICE void store(const Args &p, const int32_t (&acc)[128], int row0, int col0)
    {
        store_transposed<0>(p.out, acc, row0, col0);
    }
};

// ---- W4A8 --------------------------------------------------------------------------------------

struct Packed : Integer {
    static constexpr int kStages = 5, kStageNbytes = kWNbytes + kXNbytes;
    static constexpr int kSlices = kStepK / 32;
    using Registers = uint32_t[kSlices][4];

    static SQ_DEVICE void load(const Args &p, uint8_t *stage, uint64_t *full, int step, SqTile tile,
                               int rank)
    {
        const int k = step * kStepK;
        sq_wgmma_load(stage, full, &p.a, &p.b, kWNbytes, k / 2, k, tile, rank);
    }
    // A word of 16 bytes in halves order is columns 4t..4t+3 and, in the high nibbles, 16 more. The
    // registers are those of the step before until its products are done; meanwhile the other
    // warpgroup multiplies.
    static SQ_DEVICE void unpack(Registers &a, const uint8_t *stage, int group)
    {
        const SqCell at = sq_ldmatrix_a(static_cast<int>(threadIdx.x) % 32);
        const int row = group * kGroupA + static_cast<int>(threadIdx.x) % 128 / 32 * 16 + at.row;
        uint32_t packed[kSlices / 2][4]; // rows q, q + 8 of one chunk, then of the next
#pragma unroll
        for (int pair = 0; pair < kSlices / 2; pair++)
            ldmatrix_x4(packed[pair],
                        stage + sq_tile_offset<kWRow / kChunkNbytes>(row, 2 * pair + at.byte));
        wgmma_wait<0>();
#pragma unroll
        for (int slice = 0; slice < kSlices; slice++) {
#pragma unroll
            for (int i = 0; i < 2; i++)
                sq_unpack_nibbles(packed[slice / 2][slice % 2 * 2 + i], &a[slice][i],
                                  &a[slice][i + 2]);
#pragma unroll
            for (int i = 0; i < 4; i++)
                wgmma_input(a[slice][i]);
        }
    }
    static SQ_DEVICE void issue(int32_t (&acc)[128], const Registers &a, uint32_t stage,
                                bool is_first)
    {
        const uint64_t x = sq_wgmma_descriptor<kRowNbytes>(stage + kWNbytes);
#pragma unroll
        for (int slice = 0; slice < kSlices; slice++)
            wgmma_m64n256k32_s8_regs(acc, a[slice], x + static_cast<uint64_t>(slice * 32 / 16),
                                     !(is_first && slice == 0));
    }
    static SQ_DEVICE void multiply(int32_t (&acc)[128], const Args &p, const SqRing<Packed> &ring,
                                   SqPosition<Packed> &at, int &before, int group, int)
    {
        Registers a;
        const int n = n_steps(p);
        for (int step = 0; step < n; step++)
            sq_wgmma_step(
                ring, at, before, [&](const uint8_t *stage) { unpack(a, stage, group); },
                [&](uint32_t stage, bool is_first) { issue(acc, a, stage, is_first); });
        wgmma_wait<0>();
    }
    static SQ_DEVICE void store(const Args &p, const int32_t (&acc)[128], int row0, int col0)
    {
        store_transposed<4>(p.out, acc, row0, col0); // unpacked codes are 16 times the codes
    }
};

// X and W as the operand B, or X as A: rows of k bytes.
enum sq_status byte_map(CUtensorMap *map, const uint8_t *base, int rows, int k,
                        struct sq_error *err)
{
    static_assert(kHalfB == kTileA, "one box size serves A and the halves of B");
    return sq_tensor_map(map, base, rows, k, {1, kRowNbytes, kTileA}, err);
}
// W as the operand A: rows of k / 2 bytes.
enum sq_status half_map(CUtensorMap *map, const uint8_t *base, int rows, int k,
                        struct sq_error *err)
{
    return sq_tensor_map(map, base, rows, k / 2, {1, kWRow, kTileA}, err);
}

} // namespace

enum sq_status sq_gemm_wgmma_s8(SqImma kind, const SqGemmImma *g, int n_sms, cudaStream_t stream,
                                struct sq_error *err)
{
    const SqPart &part = g->high;
    if (kind != SQ_IMMA_W8A8 && kind != SQ_IMMA_W4A8)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "integer kernel %d by wgmma, need %d or %d", kind,
                       SQ_IMMA_W8A8, SQ_IMMA_W4A8);
    if (g->m < 1 || g->n < 2 || g->n % 2 != 0 || part.k < 32 || part.k % 32 != 0 ||
        part.k > kSqImmaMaxK)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "m = %d, n = %d, k = %d, need m >= 1, even n, k a multiple of 32 up to %d",
                       g->m, g->n, part.k, kSqImmaMaxK);
    IntegerArgs p = {};
    p.out = {g->m, g->n, g->s_hi, g->s_w, g->y, g->p_hi};
    p.k = part.k;
    if (kind == SQ_IMMA_W8A8) {
        SQ_TRY(byte_map(&p.a, part.x, g->m, part.k, err));
        SQ_TRY(byte_map(&p.b, part.w, g->n, part.k, err));
        return sq_wgmma_launch<Dense>(p, g->m, g->n, n_sms, stream, err);
    }
    SQ_TRY(half_map(&p.a, part.w, g->n, part.k, err));
    SQ_TRY(byte_map(&p.b, part.x, g->m, part.k, err));
    return sq_wgmma_launch<Packed>(p, g->n, g->m, n_sms, stream, err);
}

enum sq_status sq_gemm_wgmma_sp24(const SqGemmSp24 *g, int n_sms, cudaStream_t stream,
                                  struct sq_error *err)
{
    SQ_TRY(sq_sp24_check_shape(g->n, g->k, err));
    if (g->m < 1)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "m = %d, need >= 1", g->m);
    IntegerArgs p = {};
    p.out = {g->m, g->n, g->s_x, g->s_w, g->y, g->p};
    p.k = g->k;
    SQ_TRY(half_map(&p.a, g->w_values, g->n, g->k, err));
    SQ_TRY(byte_map(&p.b, g->x, g->m, g->k, err));
    SQ_TRY(sq_tensor_map(&p.meta, g->meta, g->n / 16, g->k / 64 * 32,
                         {4, Sparse::kMetaRow, kTileA / 16}, err));
    return sq_wgmma_launch<Sparse>(p, g->n, g->m, n_sms, stream, err);
}
