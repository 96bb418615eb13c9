// SPDX-License-Identifier: Apache-2.0
// Traces of the decode formats: GQSA groups, Q4_K superblocks with the indices of active columns,
// SpQR words.
#include "gpu/measure/sq_golden_trace.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gpu/sq_gemv.cuh"
#include "gpu/sq_gemv_maps.cuh"
#include "gpu/sq_quant.cuh"

extern "C" {
#include "models/core/sq_mac.h"
#include "models/gqsa/sq_gqsa_quant.h"
#include "models/spqr/sq_spqr_quant.h"
}

namespace
{

// The inputs as binary16.
void half_inputs(const SqTraceLayer &l, std::vector<uint16_t> *x)
{
    for (size_t i = 0; i < l.x.size(); i++)
        (*x)[i] = sq_to_f16(l.x[i]);
}

// ---- GQSA --------------------------------------------------------------------------------------

constexpr size_t kGqsaTokens = 4; // what the kernel takes at once
constexpr uint32_t kWorkers = 24; // rows end inside of shares and shares inside of rows
constexpr uint16_t kHalfOne = 0x3c00;

// Half of the groups of the rows, the larger ones (SPEC F.3, reading C3).
struct Kept {
    std::vector<uint32_t> row_index, at; // at: row * columns + group column
    std::vector<uint16_t> groups;
};
enum sq_status keep_groups(const SqTraceLayer &l, Kept *kept, struct sq_error *err)
{
    const size_t columns = l.k / kSqGqsaGroup;
    std::vector<double> score(kSqTraceRows * columns);
    std::vector<uint8_t> is_kept(score.size());
    const std::vector<float> one(l.k, 1.0f);
    sq_gqsa_saliency(l.rows.data(), kSqTraceRows, l.k, kSqGqsaGroup, one.data(), score.data());
    SQ_TRY(sq_gqsa_prune(score.data(), kSqTraceRows, columns, 0.5, false, is_kept.data(), err));
    struct sq_gqsa m = {};
    m.n = kSqTraceRows;
    m.k = m.k_orig = l.k;
    m.group = kSqGqsaGroup;
    m.nnz = sq_gqsa_count(is_kept.data(), kSqTraceRows, columns);
    kept->row_index.resize(m.n + 1);
    kept->groups.resize(m.nnz);
    m.row_index = kept->row_index.data();
    m.groups = kept->groups.data();
    sq_gqsa_set_groups(&m, is_kept.data());
    for (uint32_t i = 0; i < is_kept.size(); i++)
        if (is_kept[i])
            kept->at.push_back(i);
    return SQ_OK;
}

// The sums of a row's integers: the kernel with all scales 1, exact in binary32.
enum sq_status row_integers(const SqTraceLayer &l, const Kept &kept,
                            const std::vector<uint32_t> &meta, const SqBoth<uint8_t> &codes,
                            const SqBoth<int8_t> &x, std::vector<int32_t> *p, cudaStream_t stream,
                            struct sq_error *err)
{
    SqBoth<uint32_t> ones(meta.size()), row_index(kept.row_index.size()), first(kWorkers);
    SqBoth<uint64_t> slot(kWorkers * kGqsaTokens);
    SqBoth<float> s_x(kGqsaTokens), y(kGqsaTokens * kSqTraceRows);
    for (size_t i = 0; i < meta.size(); i++) {
        SqGqsaMeta m = sq_gqsa_meta_of(meta[i]);
        m.scale = kHalfOne;
        ones.host[i] = sq_gqsa_meta(m);
    }
    row_index.host = kept.row_index;
    std::fill(s_x.host.begin(), s_x.host.end(), 1.0f);
    sq_gqsa_first_rows(kept.row_index.data(), kSqTraceRows, kWorkers, first.host.data());
    SQ_TRY(sq_upload(err, ones, row_index, first, slot, s_x));
    SQ_TRY(y.poison(err));
    const int ki = static_cast<int>(l.k);
    const uint32_t nnz = static_cast<uint32_t>(meta.size());
    const SqGemvGqsa g = {kGqsaTokens,      kSqTraceRows, ki,           kWorkers,     nnz,
                          row_index.device, ones.device,  codes.device, first.device, slot.device,
                          x.device,         s_x.device,   y.device};
    SQ_TRY(sq_gemv_gqsa(&g, stream, err));
    SQ_TRY(y.download(err));
    for (size_t i = 0; i < p->size(); i++) {
        (*p)[i] = static_cast<int32_t>(y.host[i]);
        if (static_cast<float>((*p)[i]) != y.host[i])
            return SQ_FAIL(err, SQ_ERR_INTERNAL, "gqsa: sum %zu is no integer", i);
    }
    return SQ_OK;
}

enum sq_status trace_gqsa(const SqTraceLayer &l, cudaStream_t stream, struct sq_error *err)
{
    Kept kept;
    SQ_TRY(keep_groups(l, &kept, err));
    const size_t nnz = kept.at.size(), n_x = kGqsaTokens * l.k;
    SqBoth<float> w(l.rows.size());
    SqBoth<uint32_t> at(nnz), meta(nnz);
    SqBoth<uint8_t> codes(8 * nnz);
    SqBoth<unsigned> refused(1);
    SqBoth<int8_t> x(n_x);
    std::vector<float> s_x(kGqsaTokens);
    w.host = l.rows;
    at.host = kept.at;
    SQ_TRY(sq_act_quantize(l.x.data(), kGqsaTokens, l.k, l.k, 8, x.host.data(), s_x.data(), err));
    SQ_TRY(sq_upload(err, w, at, x, refused));
    SQ_TRY(sq_poison(err, meta, codes));
    const int ki = static_cast<int>(l.k);
    const uint32_t n_groups = static_cast<uint32_t>(nnz);
    const SqEncodeGqsa e = {ki,          n_groups,     w.device,      at.device,
                            meta.device, codes.device, refused.device};
    SQ_TRY(sq_encode_gqsa(&e, stream, err));
    SQ_TRY(sq_download(err, meta, codes, refused));
    if (refused.host[0])
        return SQ_FAIL(err, SQ_ERR_OVERFLOW, "gqsa: %u scales beyond binary16", refused.host[0]);
    std::vector<int32_t> p(kGqsaTokens * kSqTraceRows);
    SQ_TRY(row_integers(l, kept, meta.host, codes, x, &p, stream, err));
    std::vector<uint16_t> scale(nnz); // from the device's words and order to the stored ones
    std::vector<uint8_t> values(8 * nnz), zero(nnz), packed(sq_gqsa_zero_nbytes(nnz));
    for (size_t i = 0; i < nnz; i++) {
        const SqGqsaMeta m = sq_gqsa_meta_of(meta.host[i]);
        if (m.column != kept.groups[i])
            return SQ_FAIL(err, SQ_ERR_INTERNAL, "gqsa: group %zu is column %u, need %u", i,
                           m.column, kept.groups[i]);
        scale[i] = static_cast<uint16_t>(m.scale);
        zero[i] = static_cast<uint8_t>(m.zero);
        for (int j = 0; j < kSqGqsaGroup; j++) {
            const int nibble = sq_gqsa_position(j);
            const int code =
                codes.host[8 * i + static_cast<size_t>(nibble / 2)] >> (4 * (nibble % 2)) & 15;
            values[8 * i + static_cast<size_t>(j / 2)] |=
                static_cast<uint8_t>(code << (4 * (j % 2)));
        }
    }
    sq_gqsa_pack_zeros(zero.data(), nnz, packed.data());
    SqTraceFile t(l, "gqsa", "", kGqsaTokens, kSqTraceRows);
    t.input("w", SQ_F32, w.host, kSqTraceRows);
    t.input("x", SQ_I8, x.host, kGqsaTokens);
    t.input("row_index", SQ_I32, kept.row_index, 1);
    t.input("groups", SQ_U8, kept.groups, nnz);
    t.output("p_lo", SQ_I32, p, kGqsaTokens);
    t.output("s_w", SQ_F16, scale, 1);
    t.output("values", SQ_U8, values, nnz);
    t.output("zero", SQ_U8, packed, 1);
    return t.write("gqsa", err);
}

// ---- SpQt --------------------------------------------------------------------------------------

enum sq_status trace_spqt(const SqTraceLayer &l, cudaStream_t stream, struct sq_error *err)
{
    constexpr int kSplits = 2;
    const size_t m = kSqTraceTokens, n = kSqTraceAllRows, k = l.k;
    const int ni = static_cast<int>(n), ki = static_cast<int>(k);
    SqBoth<float> w(n * k), y(n), part(n * kSplits);
    SqBoth<uint8_t> blocks(n / kSqQ4kRows * k * kSqQ4kNbytes);
    SqBoth<uint16_t> x(m * k);
    SqBoth<unsigned> refused(1), arrived(n / kSqQ4kRows);
    SqBoth<uint32_t> n_active(m), index(m * k);
    w.host = l.w;
    half_inputs(l, &x.host);
    std::vector<uint16_t> magnitude(x.host); // the threshold: half of the columns, over all tokens
    for (uint16_t &v : magnitude)
        v &= 0x7fff;
    std::nth_element(magnitude.begin(), magnitude.begin() + static_cast<long>(m * k / 2),
                     magnitude.end());
    const std::vector<float> theta(1, sq_from_f16(magnitude[m * k / 2]));
    SQ_TRY(sq_upload(err, w, x, refused, arrived));
    SQ_TRY(sq_poison(err, blocks, n_active));
    SQ_TRY(index.poison(err, 0xff)); // -1 where nothing is written
    const SqEncodeQ4k e = {ni, ki, w.device, blocks.device, refused.device};
    SQ_TRY(sq_encode_q4k(&e, stream, err));
    for (size_t t = 0; t < m; t++) {
        const uint16_t *const x_at = x.device + t * k;
        uint32_t *const n_at = n_active.device + t, *const index_at = index.device + t * k;
        const SqGemvSpqt g = {ni,      ki,          kSplits,        theta[0], blocks.device,
                              x_at,    part.device, arrived.device, y.device, n_at,
                              index_at};
        SQ_TRY(sq_gemv_spqt(&g, stream, err));
    }
    SQ_TRY(sq_download(err, blocks, refused, n_active, index));
    if (refused.host[0])
        return SQ_FAIL(err, SQ_ERR_OVERFLOW, "spqt: %u superblocks beyond binary16",
                       refused.host[0]);
    SqTraceFile t(l, "spqt", "", m, n);
    t.input("w", SQ_F32, w.host, n);
    t.input("x", SQ_F16, x.host, m);
    t.input("theta", SQ_F32, theta, 1);
    t.output("n_active", SQ_I32, n_active.host, 1);
    t.output("index", SQ_I32, index.host, m);
    t.output("superblocks", SQ_U8, blocks.host, n / kSqQ4kRows * k);
    return t.write("spqt", err);
}

// ---- SpQR --------------------------------------------------------------------------------------

// Repacked chunks back to published words: the inverse of sq_spqr_repack_words.
std::vector<uint64_t> published(const std::vector<uint4> &chunks, size_t n, size_t k)
{
    const size_t n_quads = k / 64;
    std::vector<uint64_t> words(n * k / 16);
    for (size_t at = 0; at < n / 16 * n_quads; at++) {
        const size_t tile_row = at / n_quads, quad = at % n_quads;
        SqSpqrRow row[16][4];
        uint32_t carried[16];
        for (int r = 0; r < 16; r++) {
            uint32_t hi[4];
            for (int h = 0; h < 2; h++) {
                const uint4 c = chunks[sq_spqr_chunk(tile_row, quad, n_quads, h, r)];
                row[r][2 * h] = sq_spqr_unpack({c.x, c.y});
                row[r][2 * h + 1] = sq_spqr_unpack({c.z, c.w});
                hi[2 * h] = c.y;
                hi[2 * h + 1] = c.w;
            }
            carried[r] = sq_spqr_carried(hi);
        }
        for (int t = 0; t < 4; t++)
            for (int r = 0; r < 16; r++) { // byte r / 2 of the tile's second order, 4 bytes a half
                const uint32_t half = carried[sq_spqr_carrier(t, r / 8)];
                row[r][t].second_order = half >> (8 * (sq_spqr_byte(r) % 4)) & 255u;
                words[(tile_row * 4 * n_quads + 4 * quad + static_cast<size_t>(t)) * 16 +
                      static_cast<size_t>(r)] = sq_spqr_word(row[r][t]);
            }
    }
    return words;
}

enum sq_status run_spqr(const SqTraceLayer &l, const struct sq_spqr &o, cudaStream_t stream,
                        struct sq_error *err)
{
    const size_t m = kSqTraceTokens, n = kSqTraceRows, k = l.k, nnz = o.outliers.nnz;
    const int ni = static_cast<int>(n), ki = static_cast<int>(k);
    SqBoth<uint64_t> words(n * k / 16);
    SqBoth<uint4> chunks(words.host.size() / 2);
    SqBoth<uint32_t> offsets(n + 1), outliers(nnz + 1);
    SqBoth<uint16_t> x(m * k);
    SqBoth<float> y(m * n);
    std::vector<uint16_t> natural(m * k), y_half(m * n);
    half_inputs(l, &natural);
    for (size_t i = 0; i < m * k; i++) // channels in the order of the words
        x.host[i] = natural[i / k * k + o.in_perm[i % k]];
    memcpy(words.host.data(), o.dense, words.host.size() * sizeof(uint64_t));
    memcpy(offsets.host.data(), o.outliers.row_offsets, (n + 1) * sizeof(uint32_t));
    memcpy(outliers.host.data(), o.outliers.col_val, nnz * sizeof(uint32_t));
    SQ_TRY(sq_upload(err, words, offsets, outliers, x));
    SQ_TRY(sq_poison(err, chunks, y));
    const SqSpqrRepack repack = {ni, ki, words.device, chunks.device};
    SQ_TRY(sq_spqr_repack_words(&repack, stream, err));
    for (size_t t = 0; t < m; t++) {
        const uint16_t *const x_at = x.device + t * k;
        float *const y_at = y.device + t * n;
        const SqGemvSpqr g = {ni,   ki,  words.device, false, offsets.device, outliers.device,
                              x_at, y_at};
        SQ_TRY(sq_gemv_spqr(&g, stream, err));
    }
    SQ_TRY(sq_download(err, chunks, y));
    for (size_t i = 0; i < m * n; i++)
        y_half[i] = sq_to_f16(y.host[i]);
    const std::vector<uint64_t> back = published(chunks.host, n, k);
    outliers.host.resize(nnz);
    SqTraceFile t(l, "spqr", "csr", m, n);
    t.note("encoder", "golden"); // of dense64, row_offsets and col_val
    t.input("dense64", SQ_I64, words.host, n / 16 * (k / 16));
    t.input("row_offsets", SQ_I32, offsets.host, 1);
    t.input("col_val", SQ_I32, outliers.host, 1);
    t.input("x", SQ_F16, x.host, m);
    t.output("words", SQ_I64, back, n / 16 * (k / 16));
    t.output("y", SQ_F16, y_half, m);
    return t.write("spqr", err);
}

enum sq_status trace_spqr(const SqTraceLayer &l, cudaStream_t stream, struct sq_error *err)
{
    const struct sq_spqr_options options = {SQ_SPQR_PERCDAMP, SQ_SPQR_RELATIVE, false};
    struct sq_calibration c;
    struct sq_spqr o = {};
    SQ_TRY(sq_calibration_init(&c, l.k, true, err));
    enum sq_status status = sq_calibration_add(&c, l.x.data(), kSqTraceTokens, err);
    SQ_THEN(status,
            sq_spqr_encode(&o, l.rows.data(), kSqTraceRows, l.k, &c, &options, nullptr, err));
    SQ_THEN(status, run_spqr(l, o, stream, err));
    sq_spqr_free(&o);
    sq_calibration_free(&c);
    return status;
}

} // namespace

enum sq_status sq_trace_decode(const SqTraceLayer &l, cudaStream_t stream, struct sq_error *err)
{
    SQ_TRY(trace_gqsa(l, stream, err));
    SQ_TRY(trace_spqt(l, stream, err));
    return trace_spqr(l, stream, err);
}
