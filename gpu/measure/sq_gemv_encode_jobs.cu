// SPDX-License-Identifier: Apache-2.0
// The encoders of the decode formats on one layer shape, judged by the golden model in places.
#include <cstring>

#include "gpu/measure/sq_layer_jobs.cuh"
#include "gpu/sq_gemv_maps.cuh"

extern "C" {
#include "models/gqsa/sq_gqsa.h"
#include "models/number/sq_q4k.h"
}

// Judged by the golden model on superblocks spread over the matrix.
enum sq_status SqLayerBench::add_encode_q4k(struct sq_error *err)
{
    const size_t n_rows = n_ / 256, nbytes = n_rows * k_ * kSqQ4kNbytes;
    float *w;
    uint8_t *out;
    unsigned *refused;
    SQ_TRY(take(&w, n_ * k_, err));
    SQ_TRY(take(&out, nbytes, err));
    SQ_TRY(take(&refused, 1, err));
    SQ_CUDA_TRY(cudaMemset(refused, 0, sizeof *refused), err);
    SQ_TRY(sq_widen_bf16(w_, w, n_ * k_, b_.stream, err));
    struct sq_record r = base("sq_encode_q4k", "search", "gpu/spqt/sq_encode_q4k.cu");
    r.dtype_w = r.dtype_out = "s4";
    encoder_record(&r, bytes_of(n_, k_, 32 + 4.5));
    r.notes = "values: superblocks encoded by the golden model";
    const SqEncodeQ4k e = {s_.n, s_.k, w, out, refused};
    const size_t k = k_;
    add(
        r, [=](int, cudaStream_t st, struct sq_error *er) { return sq_encode_q4k(&e, st, er); }, 1,
        out, nbytes,
        [=](struct sq_record *record, struct sq_error *er) {
            record->is_exact = true;
            for (size_t i = 0; i < 64; i++) {
                const size_t block = i * 7 % n_rows, column = (i * 977 + i) % k;
                float v[256];
                uint8_t want[SQ_Q4K_NBYTES], got[SQ_Q4K_NBYTES];
                struct sq_q4k golden;
                SQ_CUDA_TRY(cudaMemcpy2D(v, 4, w + block * 256 * k + column, 4 * k, 4, 256,
                                         cudaMemcpyDeviceToHost),
                            er);
                SQ_CUDA_TRY(cudaMemcpy(got, out + (block * k + column) * SQ_Q4K_NBYTES, sizeof got,
                                       cudaMemcpyDeviceToHost),
                            er);
                SQ_TRY(sq_q4k_encode(v, &golden, er));
                sq_q4k_pack(&golden, want);
                if (memcmp(got, want, sizeof got))
                    return SQ_FAIL(er, SQ_ERR_DAMAGED, "sq_encode_q4k: superblock %zu, %zu differs",
                                   block, column);
            }
            return SQ_OK;
        });
    return SQ_OK;
}

// Every other group, judged by the golden model on some of them.
enum sq_status SqLayerBench::add_encode_gqsa(struct sq_error *err)
{
    std::vector<uint32_t> kept(n_ * k_ / 32);
    for (size_t i = 0; i < kept.size(); i++)
        kept[i] = static_cast<uint32_t>(2 * i + i % 2);
    float *w;
    uint32_t *d_kept, *meta;
    uint8_t *codes;
    unsigned *refused;
    SQ_TRY(take(&w, n_ * k_, err));
    SQ_TRY(take(&d_kept, kept.size(), err));
    SQ_TRY(take(&meta, kept.size(), err));
    SQ_TRY(take(&codes, 8 * kept.size(), err));
    SQ_TRY(take(&refused, 1, err));
    SQ_CUDA_TRY(cudaMemset(refused, 0, sizeof *refused), err);
    SQ_CUDA_TRY(
        cudaMemcpy(d_kept, kept.data(), kept.size() * sizeof kept[0], cudaMemcpyHostToDevice), err);
    SQ_TRY(sq_widen_bf16(w_, w, n_ * k_, b_.stream, err));
    struct sq_record r = base("sq_encode_gqsa", "s50", "gpu/gqsa/sq_encode_gqsa.cu");
    r.dtype_w = r.dtype_out = "s4";
    encoder_record(&r, (64.0 + 4 + 4 + 8) * static_cast<double>(kept.size()));
    r.notes = "values: groups quantized by the golden model";
    const SqEncodeGqsa e = {s_.k,   static_cast<uint32_t>(kept.size()), w, d_kept, meta, codes,
                            refused};
    add(
        r, [=](int, cudaStream_t st, struct sq_error *er) { return sq_encode_gqsa(&e, st, er); }, 1,
        meta, kept.size() * sizeof kept[0],
        [=](struct sq_record *record, struct sq_error *er) {
            record->is_exact = true;
            for (size_t i = 0; i < 256; i++) {
                const size_t at = i * 7919 % kept.size();
                float v[16];
                uint8_t want[16], zero, packed[8] = {}, got[8];
                uint16_t scale;
                uint32_t word;
                SQ_CUDA_TRY(cudaMemcpy(v, w + 16 * static_cast<size_t>(kept[at]), sizeof v,
                                       cudaMemcpyDeviceToHost),
                            er);
                SQ_CUDA_TRY(cudaMemcpy(got, codes + 8 * at, sizeof got, cudaMemcpyDeviceToHost),
                            er);
                SQ_CUDA_TRY(cudaMemcpy(&word, meta + at, sizeof word, cudaMemcpyDeviceToHost), er);
                SQ_TRY(sq_gqsa_quantize_group(v, 16, want, &scale, &zero, er));
                for (int j = 0; j < 16; j++)
                    packed[sq_gqsa_position(j) / 2] |=
                        static_cast<uint8_t>(want[j] << (4 * (sq_gqsa_position(j) % 2)));
                const SqGqsaMeta m = sq_gqsa_meta_of(word);
                if (m.scale != scale || m.zero != zero || memcmp(got, packed, sizeof got))
                    return SQ_FAIL(er, SQ_ERR_DAMAGED, "sq_encode_gqsa: group %zu differs", at);
            }
            return SQ_OK;
        });
    return SQ_OK;
}
