// SPDX-License-Identifier: Apache-2.0
// The decode kernels of one layer shape: operands of full size, launches on rotated copies, checks.
// Operands are random in the stored formats, not encoded: times and traffic do not depend on the
// values of codes. What they do depend on is as in real layers: how unevenly kept groups and
// outliers lie in the rows, and how many activations pass the threshold.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "gpu/measure/sq_layer_jobs.cuh"
#include "gpu/sq_gemv_maps.cuh"

extern "C" {
#include "models/number/sq_half.h"
#include "models/sq_rng.h"
}

namespace
{

constexpr double kFloatMax = 1e-5, kHalfMax = 5e-3; // gpu/README.md, "Tolerances"
constexpr int kRepeats = 2;

// Fraction of a row that is kept or an outlier: rows differ, as pruned layers' do.
double row_density(struct sq_rng *r, double mean)
{
    return mean * (0.5 + sq_rng_unit(r));
}

template <class T> size_t nbytes_of(const std::vector<T> &v)
{
    return v.size() * sizeof(T);
}

template <class T> T at_buffer(const std::vector<T> &copies, int i)
{
    return copies[static_cast<size_t>(i) % copies.size()];
}

} // namespace

// ---- records and checks -------------------------------------------------------------------------

struct sq_record SqLayerBench::decode_base(const char *name, const char *variant,
                                           const char *path) const
{
    struct sq_record r = base(name, variant, path);
    r.op = r.includes = "gemv";
    r.int4_mode = "storage_only";
    r.dtype_x = "f16";
    r.dtype_w = "s4";
    r.dtype_out = "f32";
    return r;
}

// y_ against binary64 on unpacked weights; then more launches, which must give the same bits.
enum sq_status SqLayerBench::check_decode(const SqLaunch &launch, SqInput type, float threshold,
                                          double tolerance, struct sq_record *r,
                                          struct sq_error *err)
{
    const bool is_f16 = type == SQ_INPUT_F16;
    double *const want = reinterpret_cast<double *>(ref_);
    const float *const y = reinterpret_cast<const float *>(y_);
    const SqRefGemv ref = {s_.m,
                           s_.n,
                           s_.k,
                           unpacked_,
                           type,
                           is_f16 ? static_cast<const void *>(x16_) : x8_,
                           is_f16 ? nullptr : sx8_,
                           threshold,
                           want};
    SqDifference d = {};
    SQ_TRY(sq_ref_gemv(&ref, b_.stream, err));
    SQ_TRY(sq_compare_f32(y, want, m_ * n_, &d, b_.stream, err));
    r->rel_fro = sqrt(d.sum_error / d.sum_ref);
    r->max_abs = d.max_abs;
    if (d.n_wrong || !(r->rel_fro <= tolerance))
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s %s at %dx%dx%d: relative error %g, %llu not finite",
                       r->name, r->variant, s_.m, s_.n, s_.k, r->rel_fro, d.n_wrong);
    std::vector<float> first(m_ * n_), again(m_ * n_);
    SQ_CUDA_TRY(cudaMemcpy(first.data(), y, nbytes_of(first), cudaMemcpyDeviceToHost), err);
    for (int i = 0; i < kRepeats; i++) {
        SQ_CUDA_TRY(cudaMemsetAsync(y_, 0xff, nbytes_of(first), b_.stream), err);
        SQ_TRY(launch(0, b_.stream, err));
        SQ_CUDA_TRY(cudaStreamSynchronize(b_.stream), err);
        SQ_CUDA_TRY(cudaMemcpy(again.data(), y, nbytes_of(again), cudaMemcpyDeviceToHost), err);
        if (std::string(r->impl) == "ours" && memcmp(first.data(), again.data(), nbytes_of(first)))
            return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s %s at %dx%dx%d: two launches differ", r->name,
                           r->variant, s_.m, s_.n, s_.k);
    }
    return SQ_OK;
}

void SqLayerBench::add_decode(struct sq_record r, SqLaunch launch, size_t n_buffers,
                              double tolerance,
                              std::function<enum sq_status(struct sq_error *)> unpack, SqInput type,
                              float threshold)
{
    r.bytes_counted += bytes_of(m_, k_, type == SQ_INPUT_F16 ? 16 : 8) + bytes_of(m_, n_, 32);
    add(r, launch, static_cast<int>(n_buffers), y_, 4 * m_ * n_,
        [=](struct sq_record *record, struct sq_error *e) {
            SQ_TRY(unpack(e));
            return check_decode(launch, type, threshold, tolerance, record, e);
        });
}

// ---- dense --------------------------------------------------------------------------------------

enum sq_status SqLayerBench::add_gemv_dense(struct sq_error *err)
{
    const cudaStream_t stream = b_.stream;
    const size_t n_groups = k_ / 128;
    uint16_t *w16, *s;
    uint8_t *codes;
    SQ_TRY(take(&w16, n_ * k_, err));
    SQ_TRY(take(&codes, n_ * k_ / 2, err));
    SQ_TRY(take(&s, n_ * n_groups + 1, err));
    SQ_TRY(sq_bf16_to_f16(w_, w16, n_ * k_, stream, err));
    SQ_TRY(sq_random_words(SQ_RANDOM_BITS, reinterpret_cast<uint32_t *>(codes), n_ * k_ / 8,
                           b_.seed + 11, stream, err));
    SQ_TRY(sq_random_words(SQ_RANDOM_SCALES, reinterpret_cast<uint32_t *>(s),
                           (n_ * n_groups + 1) / 2, b_.seed + 12, stream, err));
    std::vector<const uint16_t *> w16s, ss;
    std::vector<const uint8_t *> ws;
    SQ_TRY(rotate(static_cast<const uint16_t *>(w16), n_ * k_, &w16s, err));
    SQ_TRY(rotate(static_cast<const uint8_t *>(codes), n_ * k_ / 2, &ws, err));
    SQ_TRY(rotate(static_cast<const uint16_t *>(s), n_ * n_groups, &ss, err));
    float *const y = reinterpret_cast<float *>(y_), *const to = unpacked_;
    const int n = s_.n, k = s_.k;

    struct sq_record r = decode_base("sq_gemv_f16", "ours", "gpu/array/sq_gemv_w4.cu");
    r.int4_mode = "none";
    r.dtype_w = "f16";
    r.bytes_counted = bytes_of(n_, k_, 16);
    const auto unpack_f16 = [=](struct sq_error *e) {
        return sq_unpack_dense(SQ_UNPACK_F16, n, k, w16, nullptr, to, stream, e);
    };
    const SqGemvF16 f16 = {s_.m, n, k, w16, x16_, y};
    const SqLaunch launch_f16 = [=](int i, cudaStream_t st, struct sq_error *e) {
        SqGemvF16 at = f16;
        at.w = at_buffer(w16s, i);
        return sq_gemv_f16(&at, st, e);
    };
    add_decode(r, launch_f16, w16s.size(), kFloatMax, unpack_f16, SQ_INPUT_F16);

    std::unique_ptr<SqVendorGemm> gemm;
    struct sq_error why = {};
    if (sq_cublaslt_gemm(SQ_VENDOR_F16, s_.m, n, k, x16_, w16, y, b_.workspace, b_.workspace_nbytes,
                         stream, &gemm, &why) == SQ_OK) {
        SqVendorGemm *const g = gemm.get();
        vendor_.push_back(std::move(gemm));
        r.name = "cublaslt";
        r.variant = "tuned";
        r.impl = "cublaslt";
        r.path = "gpu/measure/sq_cublaslt.cu";
        r.format = "dense";
        const uint16_t *const x = x16_;
        add_decode(
            r,
            [=](int i, cudaStream_t st, struct sq_error *e) {
                return g->run(x, at_buffer(w16s, i), y, st, e);
            },
            w16s.size(), kFloatMax, unpack_f16, SQ_INPUT_F16);
    } else {
        skip("cublaslt f16", why);
    }

    r = decode_base("sq_gemv_w4a16", "lop3_hfma2", "gpu/array/sq_gemv_w4.cu");
    r.format = "w4";
    r.group = 128;
    r.dtype_acc = "f16+f32";
    r.bits_per_element = 4.125;
    r.bytes_counted = bytes_of(n_, k_, 4.125);
    const SqGemvW4A16 a16 = {s_.m, n, k, codes, s, x16_, y};
    add_decode(
        r,
        [=](int i, cudaStream_t st, struct sq_error *e) {
            SqGemvW4A16 at = a16;
            at.w = at_buffer(ws, i);
            at.s = at_buffer(ss, i);
            return sq_gemv_w4a16(&at, st, e);
        },
        ws.size(), kHalfMax,
        [=](struct sq_error *e) {
            return sq_unpack_dense(SQ_UNPACK_PAIRS, n, k, codes, s, to, stream, e);
        },
        SQ_INPUT_F16);

    r.name = "sq_gemv_w4a8";
    r.variant = r.mma = "dp4a";
    r.dtype_x = "s8";
    r.dtype_acc = "s32+f32";
    const SqGemvW4A8 a8 = {s_.m, n, k, codes, s, reinterpret_cast<const int8_t *>(x8_), sx8_, y};
    add_decode(
        r,
        [=](int i, cudaStream_t st, struct sq_error *e) {
            SqGemvW4A8 at = a8;
            at.w = at_buffer(ws, i);
            at.s = at_buffer(ss, i);
            return sq_gemv_w4a8(&at, st, e);
        },
        ws.size(), kFloatMax,
        [=](struct sq_error *e) {
            return sq_unpack_dense(SQ_UNPACK_HALVES, n, k, codes, s, to, stream, e);
        },
        SQ_INPUT_S8);
    return SQ_OK;
}

// ---- GQSA ---------------------------------------------------------------------------------------

enum sq_status SqLayerBench::add_gemv_gqsa(struct sq_error *err)
{
    struct sq_rng rng = {b_.seed * 31 + n_ + k_};
    std::vector<uint32_t> row_index(n_ + 1), meta, first(sq_gqsa_workers(b_.n_sms));
    meta.reserve(n_ * k_ / 28);
    for (size_t row = 0; row < n_; row++) {
        const double density = row_density(&rng, 0.5);
        for (uint32_t column = 0; column < k_ / 16; column++) {
            const uint64_t bits = sq_rng_next(&rng);
            if (static_cast<double>(bits >> 32) < density * 4294967296.0)
                meta.push_back(sq_gqsa_meta({column, static_cast<uint32_t>(bits & 15u),
                                             0x1800u | static_cast<uint32_t>(bits >> 4 & 1023u)}));
        }
        row_index[row + 1] = static_cast<uint32_t>(meta.size());
    }
    sq_gqsa_first_rows(row_index.data(), s_.n, static_cast<uint32_t>(first.size()), first.data());
    uint32_t *d_rows, *d_meta, *d_first;
    uint8_t *codes;
    uint64_t *slot;
    const size_t n_slots = first.size() * m_;
    SQ_TRY(take(&d_rows, row_index.size(), err));
    SQ_TRY(take(&d_meta, meta.size() + 1, err));
    SQ_TRY(take(&d_first, first.size(), err));
    SQ_TRY(take(&codes, 8 * meta.size() + 8, err));
    SQ_TRY(take(&slot, n_slots, err));
    const auto upload = [&](uint32_t *to, const std::vector<uint32_t> &from) {
        return cudaMemcpy(to, from.data(), nbytes_of(from), cudaMemcpyHostToDevice);
    };
    SQ_CUDA_TRY(upload(d_rows, row_index), err);
    SQ_CUDA_TRY(upload(d_meta, meta), err);
    SQ_CUDA_TRY(upload(d_first, first), err);
    SQ_CUDA_TRY(cudaMemset(slot, 0, n_slots * sizeof *slot), err);
    SQ_TRY(sq_random_words(SQ_RANDOM_BITS, reinterpret_cast<uint32_t *>(codes), 2 * meta.size(),
                           b_.seed + 21, b_.stream, err));
    std::vector<const uint32_t *> metas;
    std::vector<const uint8_t *> all_codes;
    SQ_TRY(rotate(static_cast<const uint32_t *>(d_meta), meta.size(), &metas, err));
    SQ_TRY(rotate(static_cast<const uint8_t *>(codes), 8 * meta.size(), &all_codes, err));
    const int8_t *const x = reinterpret_cast<const int8_t *>(x8_);
    float *const y = reinterpret_cast<float *>(y_);
    const uint32_t n_workers = static_cast<uint32_t>(first.size()), n_groups = row_index.back();
    const SqGemvGqsa g = {s_.m,  s_.n,    s_.k, n_workers, n_groups, d_rows, d_meta,
                          codes, d_first, slot, x,         sx8_,     y};
    struct sq_record r = decode_base("sq_gemv_gqsa", "dp4a_streamk", "gpu/gqsa/sq_gemv_gqsa.cu");
    const double kept =
        static_cast<double>(meta.size()) * 16 / (static_cast<double>(n_) * static_cast<double>(k_));
    r.format = "gqsa";
    r.group = 16;
    r.sparsity = 1 - kept;
    r.mma = "dp4a";
    r.dtype_x = "s8";
    r.dtype_acc = "s32+f32";
    r.bits_per_element = 6 * kept + 32 / static_cast<double>(k_);
    r.bytes_counted = 12.0 * static_cast<double>(meta.size()) +
                      static_cast<double>(nbytes_of(row_index) + nbytes_of(first));
    r.macs_executed = r.macs_dense * kept;
    float *const to = unpacked_;
    const cudaStream_t stream = b_.stream;
    add_decode(
        r,
        [=](int i, cudaStream_t st, struct sq_error *e) {
            SqGemvGqsa at = g;
            at.meta = at_buffer(metas, i);
            at.codes = at_buffer(all_codes, i);
            return sq_gemv_gqsa(&at, st, e);
        },
        std::max(metas.size(), all_codes.size()), kFloatMax,
        [=](struct sq_error *e) { return sq_unpack_gqsa(&g, to, stream, e); }, SQ_INPUT_S8);
    return SQ_OK;
}

// ---- SpQt ---------------------------------------------------------------------------------------

enum sq_status SqLayerBench::add_gemv_spqt(struct sq_error *err)
{
    const size_t n_rows = n_ / 256, nbytes = n_rows * k_ * kSqQ4kNbytes;
    const int n_splits = sq_spqt_splits(s_.n, s_.k, b_.n_sms);
    uint8_t *w;
    float *part;
    unsigned *arrived;
    SQ_TRY(take(&w, nbytes, err));
    SQ_TRY(take(&part, n_ * static_cast<size_t>(n_splits), err));
    SQ_TRY(take(&arrived, n_rows, err));
    SQ_CUDA_TRY(cudaMemset(arrived, 0, n_rows * sizeof *arrived), err);
    SQ_TRY(sq_random_words(SQ_RANDOM_Q4K, reinterpret_cast<uint32_t *>(w), nbytes / 4, b_.seed + 31,
                           b_.stream, err));
    std::vector<const uint8_t *> ws;
    SQ_TRY(rotate(static_cast<const uint8_t *>(w), nbytes, &ws, err));
    std::vector<uint16_t> x(k_);
    SQ_CUDA_TRY(cudaStreamSynchronize(b_.stream), err);
    SQ_CUDA_TRY(cudaMemcpy(x.data(), x16_, nbytes_of(x), cudaMemcpyDeviceToHost), err);
    std::vector<float> magnitude(k_);
    for (size_t i = 0; i < k_; i++)
        magnitude[i] = fabsf(sq_half_to_float(x[i]));
    std::sort(magnitude.begin(), magnitude.end());
    for (const double sparsity : {0.0, 0.5}) {
        const float threshold =
            sparsity > 0 ? magnitude[static_cast<size_t>(sparsity * static_cast<double>(k_))] : 0;
        const double active = static_cast<double>(
            magnitude.end() - std::lower_bound(magnitude.begin(), magnitude.end(), threshold));
        const SqGemvSpqt g = {s_.n,      s_.k,    n_splits,
                              threshold, w,       x16_,
                              part,      arrived, reinterpret_cast<float *>(y_),
                              nullptr};
        struct sq_record r =
            decode_base("sq_gemv_spqt", sparsity > 0 ? "s50" : "s0", "gpu/spqt/sq_gemv_spqt.cu");
        r.format = "spqt";
        r.includes = "index+gemv";
        r.sparsity = 1 - active / static_cast<double>(k_);
        r.mma = "ffma";
        r.bits_per_element = 4.5;
        r.bytes_counted = active * static_cast<double>(n_rows * kSqQ4kNbytes);
        r.macs_executed = active * static_cast<double>(n_);
        float *const to = unpacked_;
        const cudaStream_t stream = b_.stream;
        add_decode(
            r,
            [=](int i, cudaStream_t st, struct sq_error *e) {
                SqGemvSpqt at = g;
                at.w = at_buffer(ws, i);
                return sq_gemv_spqt(&at, st, e);
            },
            ws.size(), kFloatMax,
            [=](struct sq_error *e) { return sq_unpack_q4k(g.n, g.k, w, to, stream, e); },
            SQ_INPUT_F16, threshold);
    }
    return SQ_OK;
}

// ---- SpQR ---------------------------------------------------------------------------------------

namespace
{

struct Outliers {
    std::vector<uint32_t> offsets, words;
};

// About one weight in a hundred, rows between half and one and a half of that.
Outliers random_csr(struct sq_rng *r, size_t n, size_t k)
{
    Outliers o;
    o.offsets.push_back(0);
    for (size_t row = 0; row < n; row++) {
        const double gap = 2 / row_density(r, 0.01); // twice the mean distance
        for (double at = gap * sq_rng_unit(r); at < static_cast<double>(k);
             at += 1 + gap * sq_rng_unit(r)) {
            const uint32_t half = (0x2800u | sq_rng_below(r, 1024)) | sq_rng_below(r, 2) << 15;
            o.words.push_back(half << 16 | static_cast<uint32_t>(at));
        }
        o.offsets.push_back(static_cast<uint32_t>(o.words.size()));
    }
    return o;
}

Outliers to_ptcsr(const Outliers &csr)
{
    Outliers o;
    o.offsets.push_back(0);
    for (size_t row = 0; row + 1 < csr.offsets.size(); row += 16) {
        uint32_t most = 0;
        for (size_t i = row; i < row + 16; i++)
            most = std::max(most, csr.offsets[i + 1] - csr.offsets[i]);
        const size_t base = o.words.size();
        o.words.resize(base + 16 * most);
        for (size_t i = row; i < row + 16; i++)
            for (uint32_t t = 0; t < csr.offsets[i + 1] - csr.offsets[i]; t++)
                o.words[base + 16 * t + (i - row)] = csr.words[csr.offsets[i] + t];
        o.offsets.push_back(static_cast<uint32_t>(o.words.size()));
    }
    return o;
}

} // namespace

enum sq_status SqLayerBench::add_gemv_spqr(struct sq_error *err)
{
    const size_t n_words = n_ * k_ / 16;
    struct sq_rng rng = {b_.seed * 37 + n_ + k_};
    uint64_t *words;
    uint4 *chunks;
    SQ_TRY(take(&words, n_words, err));
    SQ_TRY(take(&chunks, n_words / 2, err));
    SQ_TRY(sq_random_words(SQ_RANDOM_SPQR_WORDS, reinterpret_cast<uint32_t *>(words), 2 * n_words,
                           b_.seed + 41, b_.stream, err));
    const SqSpqrRepack repack = {s_.n, s_.k, words, chunks};
    SQ_TRY(sq_spqr_repack_words(&repack, b_.stream, err));
    std::vector<const uint64_t *> published;
    std::vector<const uint4 *> repacked;
    SQ_TRY(rotate(static_cast<const uint64_t *>(words), n_words, &published, err));
    SQ_TRY(rotate(static_cast<const uint4 *>(chunks), n_words / 2, &repacked, err));
    const Outliers csr = random_csr(&rng, n_, k_);
    for (const bool is_ptcsr : {false, true}) {
        const Outliers o = is_ptcsr ? to_ptcsr(csr) : csr;
        uint32_t *offsets, *entries;
        SQ_TRY(take(&offsets, o.offsets.size(), err));
        SQ_TRY(take(&entries, o.words.size() + 1, err));
        SQ_CUDA_TRY(
            cudaMemcpy(offsets, o.offsets.data(), nbytes_of(o.offsets), cudaMemcpyHostToDevice),
            err);
        SQ_CUDA_TRY(cudaMemcpy(entries, o.words.data(), nbytes_of(o.words), cudaMemcpyHostToDevice),
                    err);
        std::vector<const uint32_t *> all_entries;
        SQ_TRY(rotate(static_cast<const uint32_t *>(entries), o.words.size(), &all_entries, err));
        const SqGemvSpqr g = {s_.n,    s_.k,    words, is_ptcsr,
                              offsets, entries, x16_,  reinterpret_cast<float *>(y_)};
        struct sq_record r =
            decode_base("sq_gemv_spqr", is_ptcsr ? "published_ptcsr" : "published_csr",
                        "gpu/spqr/sq_gemv_spqr.cu");
        r.format = "spqr";
        r.group = 16;
        r.mma = "ffma";
        r.dtype_w = "u3";
        r.bytes_counted =
            bytes_of(n_, k_, 4) + static_cast<double>(nbytes_of(o.offsets) + nbytes_of(o.words));
        r.bits_per_element =
            8 * r.bytes_counted / (static_cast<double>(n_) * static_cast<double>(k_));
        float *const to = unpacked_;
        const cudaStream_t stream = b_.stream;
        const auto unpack = [=](struct sq_error *e) { return sq_unpack_spqr(&g, to, stream, e); };
        add_decode(
            r,
            [=](int i, cudaStream_t st, struct sq_error *e) {
                SqGemvSpqr at = g;
                at.words = at_buffer(published, i);
                at.outliers = at_buffer(all_entries, i);
                return sq_gemv_spqr(&at, st, e);
            },
            published.size(), kFloatMax, unpack, SQ_INPUT_F16);
        r.variant = is_ptcsr ? "repacked_ptcsr" : "repacked_csr";
        r.mma = "hfma2";
        r.dtype_acc = "f16+f32";
        add_decode(
            r,
            [=](int i, cudaStream_t st, struct sq_error *e) {
                SqGemvSpqr at = g;
                at.words = at_buffer(repacked, i);
                at.outliers = at_buffer(all_entries, i);
                return sq_gemv_spqr_repacked(&at, st, e);
            },
            repacked.size(), kHalfMax, unpack, SQ_INPUT_F16);
    }
    return SQ_OK;
}

enum sq_status SqLayerBench::add_decoders(struct sq_error *err)
{
    SQ_TRY(take(&x16_, m_ * k_, err));
    SQ_TRY(take(&unpacked_, n_ * k_, err));
    SQ_TRY(sq_bf16_to_f16(x_, x16_, m_ * k_, b_.stream, err));
    SQ_TRY(add_vendor(SQ_VENDOR_BF16, err));
    SQ_TRY(add_gemv_dense(err));
    if (m_ <= 4 && m_ * k_ <= 96u << 10)
        SQ_TRY(add_gemv_gqsa(err));
    if (m_ == 1) {
        SQ_TRY(add_gemv_spqt(err));
        SQ_TRY(add_gemv_spqr(err));
    }
    return SQ_OK;
}
