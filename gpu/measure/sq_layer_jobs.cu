// SPDX-License-Identifier: Apache-2.0
// Our kernels on one layer shape: for each its record, its launch on rotated operands, its check.
// The baselines are in sq_vendor_jobs.cu.
#include "gpu/measure/sq_layer_jobs.cuh"

#include <algorithm>

namespace
{

const char *percent_name(double sparsity)
{
    return sparsity == 0       ? "s0"
           : sparsity == 0.5   ? "s50"
           : sparsity == 0.75  ? "s75"
           : sparsity == 0.875 ? "s87.5"
                               : "s100";
}

} // namespace

// ---- the (BF16, FP8) pair ----------------------------------------------------------------------

enum sq_status SqLayerBench::add_pair(double sparsity, bool with_encoder, struct sq_error *err)
{
    SqLists l;
    uint8_t *x_lo, *w_lo;
    uint16_t *x_hi, *w_hi;
    float *s_x, *s_w;
    SQ_TRY(make_lists(sparsity, &l, err));
    const size_t k_lo = static_cast<size_t>(l.k_lo), k_hi = static_cast<size_t>(l.k_hi);
    SQ_TRY(take(&x_lo, m_ * k_lo + 1, err));
    SQ_TRY(take(&x_hi, m_ * k_hi + 1, err));
    SQ_TRY(take(&w_lo, n_ * k_lo + 1, err));
    SQ_TRY(take(&w_hi, n_ * k_hi + 1, err));
    SQ_TRY(take(&s_x, m_, err));
    SQ_TRY(take(&s_w, n_, err));
    const SqEncodePair ex = {s_.m, s_.k, l.k_hi, x_, l.perm_hi, l.perm_lo, x_lo, x_hi, s_x};
    const SqEncodePair ew = {s_.n, s_.k, l.k_hi, w_, l.perm_hi, l.perm_lo, w_lo, w_hi, s_w};
    SQ_TRY(sq_encode_pair(&ex, b_.stream, err));
    SQ_TRY(sq_encode_pair(&ew, b_.stream, err));
    std::vector<const uint8_t *> lo;
    std::vector<const uint16_t *> hi;
    SQ_TRY(rotate(static_cast<const uint8_t *>(w_lo), n_ * k_lo + 1, &lo, err));
    SQ_TRY(rotate(static_cast<const uint16_t *>(w_hi), n_ * k_hi + 1, &hi, err));
    const int copies = static_cast<int>(k_lo == 0   ? hi.size()
                                        : k_hi == 0 ? lo.size()
                                                    : std::min(lo.size(), hi.size()));
    uint16_t *const y = reinterpret_cast<uint16_t *>(y_);
    const SqGemmPair g = {s_.m, s_.n, x_lo, w_lo, x_hi, w_hi, l.k_lo, l.k_hi, s_x, s_w, y};
    struct sq_record r = base("sq_gemm_pair", percent_name(sparsity), "gpu/array/sq_gemm_wgmma.cu");
    r.mma = k_lo == 0 ? "wgmma.bf16" : k_hi == 0 ? "wgmma.e4m3" : "wgmma.e4m3+bf16";
    r.format = k_lo == 0 || k_hi == 0 ? "dense" : "sq_a_static";
    r.sparsity = sparsity;
    r.bank = kSqLayerBank;
    r.dtype_x = r.dtype_w = k_lo == 0 ? "bf16" : k_hi == 0 ? "e4m3" : "bf16+e4m3";
    r.bits_per_element = 16 * (1 - sparsity) + 8 * sparsity;
    r.bytes_counted = bytes_of(m_ + n_, k_lo, 8) + bytes_of(m_ + n_, k_hi, 16) +
                      bytes_of(m_, n_, 16) + 4.0 * static_cast<double>(m_ + n_);
    if (b_.run.bf16_tflops > 0 && b_.run.fp8_tflops > 0)
        r.peak_tops = 1 / (sparsity / b_.run.fp8_tflops + (1 - sparsity) / b_.run.bf16_tflops);
    if (with_encoder) {
        r.includes = "encode+gemm";
        r.bytes_counted += bytes_of(m_, k_, 16) + bytes_of(m_, k_lo, 8) + bytes_of(m_, k_hi, 16);
    }
    const int n_sms = b_.n_sms;
    const SqLaunch launch = [=](int i, cudaStream_t s, struct sq_error *e) {
        SqGemmPair at = g;
        at.w_lo = lo[static_cast<size_t>(i) % lo.size()];
        at.w_hi = hi[static_cast<size_t>(i) % hi.size()];
        if (with_encoder)
            SQ_TRY(sq_encode_pair(&ex, s, e));
        return sq_gemm_pair(&at, n_sms, s, e);
    };
    add(r, launch, copies, y_, 2 * m_ * n_,
        [=](struct sq_record *record, struct sq_error *e) { return check_pair(g, record, e); });
    return SQ_OK;
}

// ---- integer products --------------------------------------------------------------------------

// Sums are written in checks and left out in timed launches.
enum sq_status SqLayerBench::add_integer(SqImma kind, bool is_wgmma, struct sq_error *err)
{
    const bool is_w8 = kind == SQ_IMMA_W8A8, is_x8 = is_w8 || kind == SQ_IMMA_W4A8;
    struct sq_record r =
        base(is_wgmma ? "sq_gemm_wgmma_s8" : "sq_gemm_imma",
             is_w8                         ? "w8a8"
             : is_x8                       ? "w4a8"
             : kind == SQ_IMMA_W4A4_UNPACK ? "w4a4_unpack"
                                           : "w4a4_ptx_s4",
             is_wgmma ? "gpu/array/sq_gemm_wgmma_s8.cu" : "gpu/array/sq_gemm_imma.cu");
    const size_t w_nbytes = is_w8 ? n_ * k_ : n_ * k_ / 2;
    const uint8_t *x = is_x8 ? x8_ : x4_, *w = is_w8 ? w8_ : is_x8 ? w4_halves_ : w4_;
    r.int4_mode = sq_int4_mode(kind, b_.cc_major);
    r.mma = is_wgmma ? "wgmma.s8" : kind == SQ_IMMA_W4A4_PTX_S4 ? "mma.s4" : "mma.s8";
    r.dtype_x = is_x8 ? "s8" : "s4";
    r.dtype_w = is_w8 ? "s8" : "s4";
    r.dtype_acc = "s32";
    r.dtype_out = "f32";
    r.bits_per_element = is_w8 ? 8 : 4;
    r.peak_tops = b_.run.int8_tops;
    r.bytes_counted =
        bytes_of(m_, k_, is_x8 ? 8 : 4) + static_cast<double>(w_nbytes) + bytes_of(m_, n_, 32);
    std::vector<const uint8_t *> copies;
    SQ_TRY(rotate(w, w_nbytes, &copies, err));
    SqGemmImma g = {
        s_.m,    s_.n,   {}, {}, sx4_, sx8_, is_w8 ? sw8_ : sw4_, reinterpret_cast<float *>(y_),
        nullptr, nullptr};
    (is_x8 ? g.high : g.low) = {x, w, s_.k};
    const int n_sms = b_.n_sms;
    const auto product = [=](const SqGemmImma &at, cudaStream_t s, struct sq_error *e) {
        return is_wgmma ? sq_gemm_wgmma_s8(kind, &at, n_sms, s, e) : sq_gemm_imma(kind, &at, s, e);
    };
    const SqLaunch launch = [=](int i, cudaStream_t s, struct sq_error *e) {
        SqGemmImma at = g;
        (is_x8 ? at.high : at.low).w = copies[static_cast<size_t>(i)];
        return product(at, s, e);
    };
    const SqOrder order = is_w8 ? SQ_ORDER_BYTES : is_x8 ? SQ_ORDER_HALVES4 : SQ_ORDER_NATURAL4;
    add(r, launch, static_cast<int>(copies.size()), y_, 4 * m_ * n_,
        [=](struct sq_record *record, struct sq_error *e) {
            SqGemmImma with_sums = g;
            with_sums.p_lo = p_lo_;
            with_sums.p_hi = p_hi_;
            SQ_TRY(product(with_sums, b_.stream, e));
            return check_sums({x, w, s_.k, is_x8 ? SQ_ORDER_BYTES : SQ_ORDER_NATURAL4, order},
                              is_x8 ? p_hi_ : p_lo_, record, e);
        });
    return SQ_OK;
}

enum sq_status SqLayerBench::add_static(SqImma kind, double sparsity, struct sq_error *err)
{
    SqLists l;
    uint8_t *x_lo, *x_hi, *w_lo, *w_hi;
    float *s_lo, *s_hi;
    SQ_TRY(make_lists(sparsity, &l, err));
    const size_t k_lo = static_cast<size_t>(l.k_lo), k_hi = static_cast<size_t>(l.k_hi);
    SQ_TRY(take(&x_lo, m_ * k_lo / 2, err));
    SQ_TRY(take(&x_hi, m_ * k_hi, err));
    SQ_TRY(take(&w_lo, n_ * k_lo / 2, err));
    SQ_TRY(take(&w_hi, n_ * k_hi / 2, err));
    SQ_TRY(take(&s_lo, m_, err));
    SQ_TRY(take(&s_hi, m_, err));
    SQ_TRY(sq_repack4(w4_, n_, s_.k, l.perm_lo, l.k_lo, SQ_ORDER_NATURAL4, w_lo, b_.stream, err));
    SQ_TRY(sq_repack4(w4_, n_, s_.k, l.perm_hi, l.k_hi, SQ_ORDER_HALVES4, w_hi, b_.stream, err));
    const SqEncodeStatic e = {s_.m, s_.k, l.k_hi, x_, l.perm_hi, l.perm_lo, x_lo, x_hi, s_lo, s_hi};
    SQ_TRY(sq_encode_static(&e, b_.stream, err));
    std::vector<const uint8_t *> lo, hi;
    SQ_TRY(rotate(static_cast<const uint8_t *>(w_lo), n_ * k_lo / 2, &lo, err));
    SQ_TRY(rotate(static_cast<const uint8_t *>(w_hi), n_ * k_hi / 2, &hi, err));
    struct sq_record r =
        base("sq_gemm_imma_sq_a", percent_name(sparsity), "gpu/array/sq_gemm_imma.cu");
    r.int4_mode = sq_int4_mode(kind, b_.cc_major);
    r.mma = kind == SQ_IMMA_SQ_A_UNPACK ? "mma.s8" : "mma.s8+s4";
    r.format = "sq_a_static";
    r.sparsity = sparsity;
    r.bank = kSqLayerBank;
    r.dtype_x = "s8+s4";
    r.dtype_w = "s4";
    r.dtype_acc = "s32";
    r.dtype_out = "f32";
    r.bits_per_element = 8 * (1 - sparsity) + 4 * sparsity;
    r.peak_tops = b_.run.int8_tops;
    r.bytes_counted =
        bytes_of(m_, k_lo, 4) + bytes_of(m_, k_hi, 8) + bytes_of(n_, k_, 4) + bytes_of(m_, n_, 32);
    const SqPart low = {x_lo, w_lo, l.k_lo}, high = {x_hi, w_hi, l.k_hi};
    float *const y = reinterpret_cast<float *>(y_);
    const SqGemmImma g = {s_.m, s_.n, low, high, s_lo, s_hi, sw4_, y, nullptr, nullptr};
    const SqLaunch launch = [=](int i, cudaStream_t s, struct sq_error *er) {
        SqGemmImma at = g;
        at.low.w = lo[static_cast<size_t>(i)];
        at.high.w = hi[static_cast<size_t>(i)];
        return sq_gemm_imma(kind, &at, s, er);
    };
    add(r, launch, static_cast<int>(std::min(lo.size(), hi.size())), y_, 4 * m_ * n_,
        [=](struct sq_record *record, struct sq_error *er) {
            SqGemmImma sums = g;
            sums.p_lo = p_lo_;
            sums.p_hi = p_hi_;
            SQ_TRY(sq_gemm_imma(kind, &sums, b_.stream, er));
            SQ_TRY(check_sums({x_lo, w_lo, l.k_lo, SQ_ORDER_NATURAL4, SQ_ORDER_NATURAL4}, p_lo_,
                              record, er));
            return check_sums({x_hi, w_hi, l.k_hi, SQ_ORDER_BYTES, SQ_ORDER_HALVES4}, p_hi_, record,
                              er);
        });
    return SQ_OK;
}

// Dynamic masks differ from token to token: on a GPU both planes are multiplied whole.
enum sq_status SqLayerBench::add_dynamic(bool with_product, struct sq_error *err)
{
    uint8_t *lo, *hi, *mask;
    float *s_lo, *s_hi;
    SQ_TRY(take(&lo, m_ * k_ / 2, err));
    SQ_TRY(take(&hi, m_ * k_, err));
    SQ_TRY(take(&mask, m_ * k_ / 8, err));
    SQ_TRY(take(&s_lo, m_, err));
    SQ_TRY(take(&s_hi, m_, err));
    const SqEncodeDynamic e = {
        s_.m, s_.k, static_cast<int>(kSqLayerBank), 8, x_, lo, hi, nullptr, nullptr, mask,
        s_lo, s_hi};
    struct sq_record r =
        base(with_product ? "sq_a_dynamic" : "sq_encode_dynamic", "s75", "gpu/core/sq_encode.cu");
    r.format = "sq_a_dynamic";
    r.sparsity = 0.75;
    r.bank = kSqLayerBank;
    r.dtype_x = "s8+s4";
    r.dtype_w = "s4";
    r.dtype_acc = "s32";
    r.dtype_out = "f32";
    r.bits_per_element = 6;
    const double encode_bytes = bytes_of(m_, k_, 16 + 4 + 8 + 1);
    if (!with_product)
        encoder_record(&r, encode_bytes);
    else {
        r.includes = "encode+gemm";
        r.mma = "mma.s8";
        r.int4_mode = "emulated_unpack";
        r.macs_executed = 2 * r.macs_dense;
        r.peak_tops = b_.run.int8_tops;
        r.bytes_counted =
            encode_bytes + bytes_of(m_, k_, 12) + bytes_of(n_, k_, 8) + bytes_of(m_, n_, 32);
        r.notes = "both planes multiplied over all of K: no gain without hardware";
    }
    const SqPart low = {lo, w4_, s_.k}, high = {hi, w4_halves_, s_.k};
    float *const y = reinterpret_cast<float *>(y_);
    SqGemmImma g = {s_.m, s_.n, low, high, s_lo, s_hi, sw4_, y, nullptr, nullptr};
    const SqLaunch launch = [=](int, cudaStream_t s, struct sq_error *er) {
        SQ_TRY(sq_encode_dynamic(&e, s, er));
        return with_product ? sq_gemm_imma(SQ_IMMA_SQ_A_UNPACK, &g, s, er) : SQ_OK;
    };
    add(r, launch, 1, with_product ? y_ : nullptr, 4 * m_ * n_,
        [=](struct sq_record *record, struct sq_error *er) {
            if (!with_product) // every mask, code and scale
                return check_by_traces(record, er);
            SqGemmImma sums = g;
            sums.p_lo = p_lo_;
            sums.p_hi = p_hi_;
            SQ_TRY(sq_gemm_imma(SQ_IMMA_SQ_A_UNPACK, &sums, b_.stream, er));
            SQ_TRY(check_sums({lo, w4_, s_.k, SQ_ORDER_NATURAL4, SQ_ORDER_NATURAL4}, p_lo_, record,
                              er));
            return check_sums({hi, w4_halves_, s_.k, SQ_ORDER_BYTES, SQ_ORDER_HALVES4}, p_hi_,
                              record, er);
        });
    return SQ_OK;
}

enum sq_status SqLayerBench::add_sp24(struct sq_error *err)
{
    uint8_t *values, *pruned;
    uint32_t *meta;
    unsigned *refused;
    SQ_TRY(take(&values, n_ * k_ / 2, err));
    SQ_TRY(take(&pruned, n_ * k_, err));
    SQ_TRY(take(&meta, n_ * k_ / 32, err));
    SQ_TRY(take(&refused, 1, err));
    std::vector<uint32_t> host(n_ * k_ / 4); // elements 1 and 3: any legal pattern will do
    SQ_CUDA_TRY(cudaMemcpy(host.data(), w8_, n_ * k_, cudaMemcpyDeviceToHost), err);
    for (size_t i = 0; i < host.size(); i++)
        host[i] &= i % 3 == 0 ? 0xff00ff00u : i % 3 == 1 ? 0x00ffff00u : 0xff0000ffu;
    SQ_CUDA_TRY(cudaMemcpy(pruned, host.data(), n_ * k_, cudaMemcpyHostToDevice), err);
    SQ_CUDA_TRY(cudaMemset(refused, 0, sizeof *refused), err);
    const SqCompress24 c = {
        s_.n, s_.k, reinterpret_cast<int8_t *>(pruned), false, values, meta, nullptr, refused};
    SQ_TRY(sq_compress24(&c, b_.stream, err));
    std::vector<const uint8_t *> v;
    std::vector<const uint32_t *> e;
    SQ_TRY(rotate(static_cast<const uint8_t *>(values), n_ * k_ / 2, &v, err));
    SQ_TRY(rotate(static_cast<const uint32_t *>(meta), n_ * k_ / 32, &e, err));
    struct sq_record r = base("sq_gemm_sp24", "mma_sp", "gpu/sp24/sq_gemm_sp24.cu");
    r.mma = "mma.sp.s8";
    r.format = "sp24";
    r.sparsity = 0.5;
    r.dtype_x = r.dtype_w = "s8";
    r.dtype_acc = "s32";
    r.dtype_out = "f32";
    r.bits_per_element = 5;
    r.macs_executed = r.macs_dense / 2;
    r.peak_tops = b_.run.sp24_int8_tops; // the library's, or 0
    r.bytes_counted = bytes_of(m_, k_, 8) + bytes_of(n_, k_, 5) + bytes_of(m_, n_, 32);
    const SqGemmSp24 g = {
        s_.m, s_.n, s_.k, x8_, values, meta, sx8_, sw8_, reinterpret_cast<float *>(y_), nullptr};
    const int n_sms = b_.n_sms;
    for (const bool is_wgmma : {false, true}) {
        if (is_wgmma && !has_wgmma())
            break;
        if (is_wgmma) {
            r.name = "sq_gemm_wgmma_sp24";
            r.variant = "wgmma_sp";
            r.mma = "wgmma.sp.s8";
            r.path = "gpu/array/sq_gemm_wgmma_s8.cu";
        }
        const auto product = [=](const SqGemmSp24 &at, cudaStream_t s, struct sq_error *er) {
            return is_wgmma ? sq_gemm_wgmma_sp24(&at, n_sms, s, er) : sq_gemm_sp24(&at, s, er);
        };
        const SqLaunch launch = [=](int i, cudaStream_t s, struct sq_error *er) {
            SqGemmSp24 at = g;
            at.w_values = v[static_cast<size_t>(i) % v.size()];
            at.meta = e[static_cast<size_t>(i) % e.size()];
            return product(at, s, er);
        };
        add(r, launch, static_cast<int>(v.size()), y_, 4 * m_ * n_,
            [=](struct sq_record *record, struct sq_error *er) {
                SqGemmSp24 sums = g;
                sums.p = p_lo_;
                SQ_TRY(product(sums, b_.stream, er));
                return check_sums({x8_, pruned, s_.k, SQ_ORDER_BYTES, SQ_ORDER_BYTES}, p_lo_,
                                  record, er);
            });
    }
    return SQ_OK;
}

// The weight-SQ path; its values are judged by the golden model (sq_golden_traces) and, here, by
// two runs of it agreeing on poisoned output.
enum sq_status SqLayerBench::add_sqw(struct sq_error *err)
{
    float *w, *s_lo, *s_hi;
    uint8_t *lo, *hi;
    const size_t groups = k_ / 128;
    SQ_TRY(take(&w, n_ * k_, err));
    SQ_TRY(take(&lo, n_ * k_ / 2, err));
    SQ_TRY(take(&hi, n_ * k_ / 4, err));
    SQ_TRY(take(&s_lo, n_ * groups, err));
    SQ_TRY(take(&s_hi, n_ * groups, err));
    SQ_TRY(sq_widen_bf16(w_, w, n_ * k_, b_.stream, err));
    const SqEncodeW e = {s_.n, s_.k, static_cast<int>(kSqLayerBank), 8, 128, w, lo, hi, s_lo, s_hi};
    SQ_TRY(sq_encode_w(&e, b_.stream, err));
    struct sq_record r = base("sq_gemm_sqw", "dp4a_gather", "gpu/core/sq_gemm_sqw.cu");
    r.format = "sq_w";
    r.sparsity = 0.75;
    r.bank = kSqLayerBank;
    r.group = 128;
    r.mma = "dp4a";
    r.int4_mode = "storage_only";
    r.dtype_x = "s8";
    r.dtype_w = "s8+s4";
    r.dtype_acc = "s32+f32";
    r.dtype_out = "f32";
    r.bits_per_element = 6;
    r.macs_executed = 2 * r.macs_dense;
    r.bytes_counted =
        bytes_of(m_, k_, 8) + bytes_of(n_, k_, 6) + bytes_of(n_, groups, 64) + bytes_of(m_, n_, 32);
    const int8_t *const x = reinterpret_cast<const int8_t *>(x8_);
    float *const y = reinterpret_cast<float *>(y_);
    const int bank = static_cast<int>(kSqLayerBank);
    const SqGemmSqW g = {s_.m, s_.n, s_.k, bank, 8, 128, lo, hi, s_lo, s_hi, x, sx8_, y};
    add(
        r, [=](int, cudaStream_t s, struct sq_error *er) { return sq_gemm_sqw(&g, s, er); }, 1, y_,
        4 * m_ * n_,
        [=](struct sq_record *record, struct sq_error *er) { return check_by_traces(record, er); });
    struct sq_record enc = r;
    enc.name = "sq_encode_w";
    enc.variant = "s75";
    enc.path = "gpu/core/sq_encode.cu";
    encoder_record(&enc, bytes_of(n_, k_, 32 + 6) + bytes_of(n_, groups, 64));
    add(
        enc, [=](int, cudaStream_t s, struct sq_error *er) { return sq_encode_w(&e, s, er); }, 1,
        nullptr, 0,
        [=](struct sq_record *record, struct sq_error *er) { return check_by_traces(record, er); });
    return SQ_OK;
}

// ---- encoders ----------------------------------------------------------------------------------

void SqLayerBench::encoder_record(struct sq_record *r, double bytes) const
{
    r->op = "encode";
    r->format = "none"; // no product: readers of GEMM times pass it by
    r->includes = "encode";
    r->mma = "none";
    r->macs_dense = r->macs_executed = r->peak_tops = 0;
    r->bytes_counted = bytes;
    r->notes = "values: traces/gpu, replayed by the golden model";
}

enum sq_status SqLayerBench::add_encoders(struct sq_error *err)
{
    const auto by_traces = [=](struct sq_record *record, struct sq_error *er) {
        return check_by_traces(record, er);
    };
    SqLists l;
    uint8_t *lo, *hi;
    float *s_lo, *s_hi;
    SQ_TRY(make_lists(0.75, &l, err));
    SQ_TRY(take(&lo, m_ * k_, err));
    SQ_TRY(take(&hi, 2 * m_ * k_, err));
    SQ_TRY(take(&s_lo, m_, err));
    SQ_TRY(take(&s_hi, m_, err));
    struct sq_record r = base("sq_encode_token", "s8", "gpu/core/sq_encode.cu");
    r.dtype_w = r.dtype_out = "s8";
    encoder_record(&r, bytes_of(m_, k_, 24));
    const SqEncodeToken token = {s_.m, s_.k, 8, x_, hi, s_hi};
    add(
        r, [=](int, cudaStream_t s, struct sq_error *e) { return sq_encode_token(&token, s, e); },
        1, nullptr, 0, by_traces);
    r.name = "sq_encode_static";
    r.variant = "s75";
    r.dtype_out = "s8+s4";
    r.bytes_counted = bytes_of(m_, k_, 16 + 5);
    const SqEncodeStatic st = {s_.m, s_.k, l.k_hi, x_, l.perm_hi, l.perm_lo, lo, hi, s_lo, s_hi};
    add(
        r, [=](int, cudaStream_t s, struct sq_error *e) { return sq_encode_static(&st, s, e); }, 1,
        nullptr, 0, by_traces);
    r.name = "sq_encode_pair";
    r.dtype_out = "bf16+e4m3";
    r.bytes_counted = bytes_of(m_, k_, 16 + 10);
    const SqEncodePair pair = {
        s_.m, s_.k, l.k_hi, x_, l.perm_hi, l.perm_lo, lo, reinterpret_cast<uint16_t *>(hi), s_lo};
    add(
        r, [=](int, cudaStream_t s, struct sq_error *e) { return sq_encode_pair(&pair, s, e); }, 1,
        nullptr, 0, by_traces);
    uint8_t *values;
    uint32_t *meta;
    unsigned *refused;
    SQ_TRY(take(&values, n_ * k_ / 2, err));
    SQ_TRY(take(&meta, n_ * k_ / 32, err));
    SQ_TRY(take(&refused, 1, err));
    r.name = "sq_compress24";
    r.variant = "prune";
    r.dtype_out = "s8";
    r.bytes_counted = bytes_of(n_, k_, 8 + 5);
    const SqCompress24 c = {s_.n,    s_.k,   reinterpret_cast<int8_t *>(w8_), true, values, meta,
                            nullptr, refused};
    add(
        r, [=](int, cudaStream_t s, struct sq_error *e) { return sq_compress24(&c, s, e); }, 1,
        nullptr, 0, by_traces);
    SQ_TRY(add_encode_q4k(err));
    SQ_TRY(add_encode_gqsa(err));
    return add_dynamic(false, err);
}

enum sq_status SqLayerBench::add_products(struct sq_error *err)
{
    for (SqVendorType type : {SQ_VENDOR_BF16, SQ_VENDOR_FP8, SQ_VENDOR_FP8_FAST, SQ_VENDOR_INT8})
        SQ_TRY(add_vendor(type, err));
    if (is_timed_) {
        SQ_TRY(add_vendor_24(SQ_VENDOR_INT8, err));
        SQ_TRY(add_vendor_24(SQ_VENDOR_FP8, err));
    }
    if (has_wgmma()) {
        for (double s : {0.0, 0.5, 0.75, 0.875, 1.0})
            SQ_TRY(add_pair(s, false, err));
        for (SqImma kind : {SQ_IMMA_W8A8, SQ_IMMA_W4A8})
            SQ_TRY(add_integer(kind, true, err));
    } else
        b_.skipped["sq_gemm_pair, sq_gemm_wgmma"] = "wgmma needs compute capability 9.0";
    for (SqImma kind : {SQ_IMMA_W8A8, SQ_IMMA_W4A8, SQ_IMMA_W4A4_UNPACK})
        SQ_TRY(add_integer(kind, false, err));
    for (double s : {0.5, 0.75, 0.875})
        SQ_TRY(add_static(SQ_IMMA_SQ_A_UNPACK, s, err));
    if (b_.cc_major == 8 || !is_timed_) { // elsewhere a subroutine: checked, timed on one shape
        SQ_TRY(add_integer(SQ_IMMA_W4A4_PTX_S4, false, err));
        SQ_TRY(add_static(SQ_IMMA_SQ_A_PTX_S4, 0.75, err));
    }
    return add_sp24(err);
}
