// SPDX-License-Identifier: Apache-2.0
// Q4_K superblocks down the columns (SPEC G.4, G.5), bit-identical to sq_q4k_encode: every binary32
// operation in the same order. A block encodes 32 columns of 256 rows: warp j has block j of 32
// rows, lane c column c, so that loads and stores are whole lines and each search runs in one
// thread. The eight scales and minima of a superblock meet in shared memory.
#include "gpu/sq_gemv.cuh"
#include "gpu/sq_gemv_maps.cuh"
#include "gpu/sq_quant.cuh"

namespace
{

constexpr int kThreads = 256, kLen = 32, kColumns = 32, kBlocks = 8, kSteps = 20;
constexpr int kWords = kSqQ4kNbytes / 4;

// clamp(rne(x), 0, top); NaN gives 0.
SQ_DEVICE uint32_t code_of(float x, float top)
{
    const float r = rintf(x);
    return r > 0 ? static_cast<uint32_t>(r < top ? r : top) : 0u;
}

// The search of one block: its values, and the best line so far.
struct Fit {
    float v[kLen], rms, sum_u, sum_uv, scale, min, error;
    uint32_t code[4]; // nibbles

    SQ_DEVICE float u(int l) const
    {
        return rms + fabsf(v[l]);
    }
    SQ_DEVICE float error_of(const uint32_t (&c)[4], float s, float m) const
    {
        float sum = 0;
#pragma unroll
        for (int l = 0; l < kLen; l++) {
            const float difference =
                s * static_cast<float>(c[l / 8] >> (4 * (l % 8)) & 15u) + m - v[l];
            sum += u(l) * (difference * difference);
        }
        return sum;
    }
    SQ_DEVICE void try_step(float iscale)
    {
        uint32_t c[4] = {0, 0, 0, 0};
        float sum_l = 0, sum_l2 = 0, sum_lv = 0;
#pragma unroll
        for (int l = 0; l < kLen; l++) {
            const uint32_t q = code_of(iscale * (v[l] - min), 15);
            const float ul = u(l) * static_cast<float>(q);
            c[l / 8] |= q << (4 * (l % 8));
            sum_l += ul;
            sum_l2 += ul * static_cast<float>(q);
            sum_lv += ul * v[l];
        }
        const float det = sum_u * sum_l2 - sum_l * sum_l;
        if (!(det > 0))
            return;
        float s = (sum_u * sum_lv - sum_uv * sum_l) / det;
        float m = (sum_l2 * sum_uv - sum_l * sum_lv) / det;
        if (m > 0) {
            m = 0;
            s = sum_lv / sum_l2;
        }
        const float e = error_of(c, s, m);
        if (!(e < error))
            return;
        scale = s;
        min = m; // later steps start from the new minimum
        error = e;
#pragma unroll
        for (int i = 0; i < 4; i++)
            code[i] = c[i];
    }
    SQ_DEVICE void run()
    {
        float max = v[0], sum_v2 = 0;
        min = v[0];
#pragma unroll
        for (int l = 1; l < kLen; l++) {
            min = v[l] < min ? v[l] : min;
            max = v[l] > max ? v[l] : max;
        }
        min = min > 0 ? 0 : min;
        scale = error = 0;
        code[0] = code[1] = code[2] = code[3] = 0;
        if (max == min)
            return;
#pragma unroll
        for (int l = 0; l < kLen; l++)
            sum_v2 += v[l] * v[l];
        rms = sqrtf(sum_v2 / static_cast<float>(kLen));
        sum_u = sum_uv = 0;
#pragma unroll
        for (int l = 0; l < kLen; l++) {
            sum_u += u(l);
            sum_uv += u(l) * v[l];
        }
        const float iscale = 15 / (max - min);
        scale = 1 / iscale;
#pragma unroll
        for (int l = 0; l < kLen; l++)
            code[l / 8] |= code_of(iscale * (v[l] - min), 15) << (4 * (l % 8));
        error = error_of(code, scale, min);
#pragma unroll 1
        for (int i = 0; i <= kSteps; i++)
            try_step((-1.0f + 0.1f * static_cast<float>(i) + 15) / (max - min));
    }
};

struct Shared {
    float scale[kBlocks][kColumns], min[kBlocks][kColumns];
    uint32_t code[kBlocks][4][kColumns];
    uint8_t scale6[kBlocks][kColumns], min6[kBlocks][kColumns];
    uint16_t d[kColumns], dmin[kColumns];
};

// 32 codes of a block, anew with the scale and minimum that are stored; the search's codes where
// the stored scale is 0.
SQ_DEVICE void store_codes(Shared *s, const Fit &f, int block, int lane, float step, float min)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t word = f.code[i];
        if (step != 0) {
            word = 0;
#pragma unroll
            for (int l = 0; l < 8; l++)
                word |= code_of((f.v[8 * i + l] + min) / step, 15) << (4 * l);
        }
        s->code[block][i][lane] = word;
    }
}

SQ_DEVICE uint32_t scale_word(const Shared &s, int word, int column)
{
    uint32_t out = 0;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const uint32_t sc = s.scale6[j][column], m = s.min6[j][column];
        const uint32_t sc4 = s.scale6[j + 4][column], m4 = s.min6[j + 4][column];
        const uint32_t byte = word == 0   ? sc | sc4 >> 4 << 6
                              : word == 1 ? m | m4 >> 4 << 6
                                          : (sc4 & 15u) | (m4 & 15u) << 4;
        out |= byte << (8 * j);
    }
    return out;
}

// Bytes 4t .. 4t + 3 of the codes: byte l of 32 u has value l of blocks 2u and 2u + 1.
SQ_DEVICE uint32_t code_word(const Shared &s, int t, int column)
{
    const int pair = t / 8, first = 4 * (t % 8);
    const uint32_t low = s.code[2 * pair][first / 8][column] >> (4 * (first % 8));
    const uint32_t high = s.code[2 * pair + 1][first / 8][column] >> (4 * (first % 8));
    uint32_t out = 0;
#pragma unroll
    for (int b = 0; b < 4; b++)
        out |= ((low >> (4 * b) & 15u) | (high >> (4 * b) & 15u) << 4) << (8 * b);
    return out;
}

SQ_KERNEL(kThreads, 2) encode_q4k_kernel(const SQ_GRID_CONSTANT SqEncodeQ4k e)
{
    __shared__ Shared s;
    const int block = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int column0 = static_cast<int>(blockIdx.x) * kColumns, column = column0 + lane;
    const int row0 = static_cast<int>(blockIdx.y) * kSqQ4kRows + block * kLen;
    Fit f;
#pragma unroll
    for (int l = 0; l < kLen; l++)
        f.v[l] = column < e.k && row0 + l < e.n
                     ? __ldg(&e.w[static_cast<size_t>(row0 + l) * e.k + column])
                     : 0.0f;
    f.run();
    s.scale[block][lane] = f.scale;
    s.min[block][lane] = f.min;
    __syncthreads();
    float max_scale = 0, max_min = 0;
#pragma unroll
    for (int j = 0; j < kBlocks; j++) {
        max_scale = s.scale[j][lane] > max_scale ? s.scale[j][lane] : max_scale;
        max_min = -s.min[j][lane] > max_min ? -s.min[j][lane] : max_min;
    }
    const float inv_scale = max_scale > 0 ? 63 / max_scale : 0;
    const float inv_min = max_min > 0 ? 63 / max_min : 0;
    const uint16_t d = sq_to_f16(max_scale / 63), dmin = sq_to_f16(max_min / 63);
    if (block == 0) {
        s.d[lane] = d;
        s.dmin[lane] = dmin;
        if (column < e.k && ((d & 0x7c00u) == 0x7c00u || (dmin & 0x7c00u) == 0x7c00u))
            atomicAdd(e.n_refused, 1u);
    }
    const uint32_t scale6 = code_of(inv_scale * f.scale, 63);
    const uint32_t min6 = code_of(inv_min * -f.min, 63);
    s.scale6[block][lane] = static_cast<uint8_t>(scale6);
    s.min6[block][lane] = static_cast<uint8_t>(min6);
    store_codes(&s, f, block, lane, sq_from_f16(d) * static_cast<float>(scale6),
                sq_from_f16(dmin) * static_cast<float>(min6));
    __syncthreads();
    const int n_columns = e.k - column0 < kColumns ? e.k - column0 : kColumns;
    uint32_t *const out = reinterpret_cast<uint32_t *>(e.out) +
                          (static_cast<size_t>(blockIdx.y) * static_cast<size_t>(e.k) +
                           static_cast<size_t>(column0)) *
                              kWords;
    for (int i = static_cast<int>(threadIdx.x); i < n_columns * kWords; i += kThreads) {
        const int word = i % kWords, c = i / kWords;
        out[i] = word == 0  ? s.d[c] | static_cast<uint32_t>(s.dmin[c]) << 16
                 : word < 4 ? scale_word(s, word - 1, c)
                            : code_word(s, word - 4, c);
    }
}

} // namespace

enum sq_status sq_encode_q4k(const SqEncodeQ4k *e, cudaStream_t stream, struct sq_error *err)
{
    if (e->n < 1 || e->k < 1)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "n = %d, k = %d: need at least 1", e->n, e->k);
    const dim3 grid(static_cast<unsigned>(sq_div_up(e->k, kColumns)),
                    static_cast<unsigned>(sq_div_up(e->n, kSqQ4kRows)));
    SQ_LAUNCH(encode_q4k_kernel, grid, kThreads, 0, stream, *e);
    return sq_launch_check(err);
}
