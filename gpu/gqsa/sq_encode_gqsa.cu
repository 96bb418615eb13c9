// SPDX-License-Identifier: Apache-2.0
// The group quantizer of GQSA (SPEC F.2) on the kept groups, bit-identical to
// sq_gqsa_quantize_group: one thread per group, straight into the order of the decode kernel.
#include "gpu/sq_gemv.cuh"
#include "gpu/sq_gemv_maps.cuh"
#include "gpu/sq_quant.cuh"

namespace
{

constexpr int kThreads = 256;
constexpr float kMaxCode = 15;

SQ_KERNEL(kThreads, 4) encode_gqsa_kernel(const SQ_GRID_CONSTANT SqEncodeGqsa e)
{
    const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= e.n_groups)
        return;
    const uint32_t n_columns = static_cast<uint32_t>(e.k / kSqGqsaGroup), at = __ldg(&e.kept[i]);
    const float4 *const from =
        reinterpret_cast<const float4 *>(e.w + static_cast<size_t>(at) * kSqGqsaGroup);
    float w[kSqGqsaGroup], min = 0, max = 0;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const float4 v = __ldg(&from[j]);
        w[4 * j] = v.x;
        w[4 * j + 1] = v.y;
        w[4 * j + 2] = v.z;
        w[4 * j + 3] = v.w;
    }
#pragma unroll
    for (int j = 0; j < kSqGqsaGroup; j++) {
        min = fminf(min, w[j]);
        max = fmaxf(max, w[j]);
    }
    uint16_t scale = sq_to_f16(max == min ? 1.0f : (max - min) / kMaxCode);
    if ((scale & 0x7c00u) == 0x7c00u)
        atomicAdd(e.n_refused, 1u);
    scale = scale == 0 ? 1 : scale; // 2^-24
    const float s = sq_from_f16(scale), z = fminf(-rintf(min / s), kMaxCode);
    uint32_t codes[2] = {0, 0};
#pragma unroll
    for (int j = 0; j < kSqGqsaGroup; j++) {
        const int nibble = sq_gqsa_position(j);
        const float q = fminf(fmaxf(rintf(w[j] / s) + z, 0.0f), kMaxCode);
        codes[nibble / 8] |= static_cast<uint32_t>(q) << (4 * (nibble % 8));
    }
    e.meta[i] = sq_gqsa_meta({at % n_columns, static_cast<uint32_t>(z), scale});
    reinterpret_cast<uint2 *>(e.codes)[i] = make_uint2(codes[0], codes[1]);
}

} // namespace

enum sq_status sq_encode_gqsa(const SqEncodeGqsa *e, cudaStream_t stream, struct sq_error *err)
{
    if (e->k < kSqGqsaGroup || e->k % kSqGqsaGroup != 0 || e->k > 65536)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "k = %d, need a multiple of %d up to 65536", e->k,
                       kSqGqsaGroup);
    if (e->n_groups == 0)
        return SQ_OK;
    SQ_LAUNCH(encode_gqsa_kernel, sq_div_up<uint32_t>(e->n_groups, kThreads), kThreads, 0, stream,
              *e);
    return sq_launch_check(err);
}
