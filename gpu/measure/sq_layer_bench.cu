// SPDX-License-Identifier: Apache-2.0
// Makes the operands of a layer, checks every kernel on them, then times the kernels
// (sq_layer_bench.cuh).
#include "gpu/measure/sq_layer_bench.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gpu/measure/sq_layer_jobs.cuh"

extern "C" {
#include "models/quant/sq_algorithm2.h"
#include "sim/io/sq_safetensors.h"
}

namespace
{

constexpr double kRelMax = 1e-2; // BF16 output (gpu/README.md, "Tolerances")
constexpr float kWeightScale = 0.02f;

// Means over the first rows only: enough to choose channels, and the choice is input, not result.
enum sq_status mean_magnitude(const uint16_t *device, size_t rows, size_t k,
                              struct sq_digest *digest, std::vector<float> *mean,
                              struct sq_error *err)
{
    std::vector<uint16_t> bits(rows * k);
    SQ_CUDA_TRY(cudaMemcpy(bits.data(), device, bits.size() * 2, cudaMemcpyDeviceToHost), err);
    sq_digest_add(digest, bits.data(), bits.size() * 2);
    std::vector<double> sum(k);
    for (size_t i = 0; i < bits.size(); i++)
        sum[i % k] += fabs(static_cast<double>(sq_bf16_to_f32(bits[i])));
    mean->resize(k);
    sq_mean_act(sum.data(), rows, nullptr, k, mean->data());
    return SQ_OK;
}

// Baselines of every record: the vendor's products and ours of the same family on this shape.
void add_baselines(std::vector<SqCandidate> *list)
{
    struct sq_record_baseline found[SQ_RECORD_MAX_BASELINES];
    int n = 0;
    for (const SqCandidate &c : *list) {
        const std::string name = std::string(c.record.name) + "." + c.record.dtype_x;
        const bool is_ours = name == "sq_gemm_pair.bf16" || name == "sq_gemm_pair.e4m3" ||
                             name == "sq_gemm_imma.s8" || name == "sq_gemm_wgmma_s8.s8";
        const bool is_w8 = std::string(c.record.variant) == "w8a8";
        const bool is_fast = std::string(c.record.variant) == "tuned_fast_accum";
        const char *label = name == "cublaslt.bf16"         ? "bf16_cublaslt"
                            : name == "cublaslt.f16"        ? "f16_cublaslt"
                            : name == "sq_gemv_f16.f16"     ? "f16_ours"
                            : name == "sq_gemv_w4a16.f16"   ? "w4a16_ours"
                            : name == "sq_gemv_w4a8.s8"     ? "w4a8_ours"
                            : is_fast                       ? "fp8_fast_cublaslt"
                            : name == "cublaslt.e4m3"       ? "fp8_cublaslt"
                            : name == "cublaslt.s8"         ? "int8_cublaslt"
                            : name == "cusparselt.s8"       ? "sp24_int8_cusparselt"
                            : !is_ours                      ? nullptr
                            : name == "sq_gemm_pair.bf16"   ? "bf16_ours"
                            : name == "sq_gemm_pair.e4m3"   ? "fp8_ours"
                            : name == "sq_gemm_wgmma_s8.s8" ? (is_w8 ? "w8a8_wgmma" : "w4a8_wgmma")
                            : is_w8                         ? "w8a8_ours"
                                                            : "w4a8_ours";
        if (label && n < SQ_RECORD_MAX_BASELINES)
            found[n++] = {label, c.record.median_us};
    }
    for (SqCandidate &c : *list) {
        const bool is_product = std::string(c.record.op) != "encode";
        c.record.n_baselines = is_product ? n : 0;
        std::copy(found, found + n, c.record.baseline);
    }
}

// Least squares of single_us = t0 + slope * bytes.
struct SqLine {
    double t0, slope;
};
SqLine fit_line(const std::vector<struct sq_record *> &list)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const struct sq_record *r : list) {
        n += 1;
        x += r->bytes_counted;
        y += r->single_us;
        xx += r->bytes_counted * r->bytes_counted;
        xy += r->bytes_counted * r->single_us;
    }
    const double det = n * xx - x * x;
    const double slope = det > 0 ? (n * xy - x * y) / det : 0;
    return {(y - slope * x) / n, slope};
}

enum sq_status write_record(const struct sq_record_run &run, const struct sq_record &r, FILE *out,
                            struct sq_error *err)
{
    json_t *record = sq_record_json(&run, &r);
    if (!record)
        return SQ_FAIL(err, SQ_ERR_INTERNAL, "no JSON for %s", r.name);
    const enum sq_status status = sq_record_check(record, r.name, err);
    if (status == SQ_OK) {
        json_dumpf(record, out, JSON_COMPACT);
        fputc('\n', out);
        fflush(out); // what is measured stays, whatever comes next
    }
    json_decref(record);
    return status;
}

} // namespace

// ---- inputs ------------------------------------------------------------------------------------

enum sq_status SqLayerBench::make_inputs(struct sq_error *err)
{
    const uint64_t seed = b_.seed * 1000003 + n_ * 31 + k_;
    const cudaStream_t s = b_.stream;
    SQ_TRY(take(&x_, m_ * k_, err));
    SQ_TRY(take(&w_, n_ * k_, err));
    SQ_TRY(take(&x8_, m_ * k_, err));
    SQ_TRY(take(&w8_, n_ * k_, err));
    SQ_TRY(take(&x4_, m_ * k_ / 2, err));
    SQ_TRY(take(&w4_, n_ * k_ / 2, err));
    SQ_TRY(take(&w4_halves_, n_ * k_ / 2, err));
    SQ_TRY(take(&sx8_, m_, err));
    SQ_TRY(take(&sx4_, m_, err));
    SQ_TRY(take(&sw8_, n_, err));
    SQ_TRY(take(&sw4_, n_, err));
    SQ_TRY(take(&ones_, std::max(m_, n_), err));
    SQ_TRY(take(&y_, 4 * m_ * n_, err));
    SQ_TRY(take(&p_lo_, m_ * n_, err));
    SQ_TRY(take(&p_hi_, m_ * n_, err));
    const size_t n_ref = static_cast<size_t>(std::max(reference_rows().rows, kSqRefRows)) * n_;
    SQ_TRY(take(&ref_, n_ref, err));
    SQ_TRY(take(&allowed_, n_ref, err));
    SQ_TRY(sq_random_bf16(x_, m_, s_.k, 1.0f, seed, s, err));
    SQ_TRY(sq_random_bf16(w_, n_, s_.k, kWeightScale, seed + 1, s, err));
    const SqEncodeToken tokens[] = {{s_.m, s_.k, 8, x_, x8_, sx8_},
                                    {s_.m, s_.k, 4, x_, x4_, sx4_},
                                    {s_.n, s_.k, 8, w_, w8_, sw8_},
                                    {s_.n, s_.k, 4, w_, w4_, sw4_}};
    for (const SqEncodeToken &e : tokens)
        SQ_TRY(sq_encode_token(&e, s, err));
    SQ_TRY(sq_repack4(w4_, n_, s_.k, nullptr, s_.k, SQ_ORDER_HALVES4, w4_halves_, s, err));
    const std::vector<float> one(std::max(m_, n_), 1.0f);
    SQ_CUDA_TRY(cudaStreamSynchronize(s), err);
    SQ_CUDA_TRY(cudaMemcpy(ones_, one.data(), one.size() * 4, cudaMemcpyHostToDevice), err);
    digest_ = {};
    SQ_TRY(mean_magnitude(x_, std::min<size_t>(m_, 64), k_, &digest_, &act_mean_, err));
    return mean_magnitude(w_, std::min<size_t>(n_, 64), k_, &digest_, &weight_mean_, err);
}

enum sq_status SqLayerBench::make_lists(double sparsity, SqLists *l, struct sq_error *err)
{
    std::vector<uint8_t> mask(k_, sparsity < 1);
    if (sparsity > 0 && sparsity < 1) {
        const unsigned high = static_cast<unsigned>(kSqLayerBank * (1 - sparsity) + 0.5);
        SQ_TRY(sq_static_mask(act_mean_.data(), weight_mean_.data(), k_, k_, kSqLayerBank, high,
                              mask.data(), err));
    }
    std::vector<uint16_t> hi, lo;
    for (size_t i = 0; i < k_; i++)
        (mask[i] ? hi : lo).push_back(static_cast<uint16_t>(i));
    l->k_hi = static_cast<int>(hi.size());
    l->k_lo = static_cast<int>(lo.size());
    SQ_TRY(take(&l->perm_hi, hi.size() + 1, err));
    SQ_TRY(take(&l->perm_lo, lo.size() + 1, err));
    SQ_CUDA_TRY(cudaMemcpy(l->perm_hi, hi.data(), 2 * hi.size(), cudaMemcpyHostToDevice), err);
    SQ_CUDA_TRY(cudaMemcpy(l->perm_lo, lo.data(), 2 * lo.size(), cudaMemcpyHostToDevice), err);
    return SQ_OK;
}

// ---- records -----------------------------------------------------------------------------------

struct sq_record SqLayerBench::base(const char *name, const char *variant, const char *path) const
{
    struct sq_record r = {};
    r.name = name;
    r.variant = variant;
    r.path = path;
    r.impl = "ours";
    r.mma = "none";
    r.int4_mode = "none";
    r.op = "gemm";
    r.model = s_.model;
    r.layer = s_.layer;
    r.format = "dense";
    r.m = s_.m;
    r.n = s_.n;
    r.k = s_.k;
    r.dtype_x = r.dtype_w = "bf16";
    r.dtype_acc = "f32";
    r.dtype_out = "bf16";
    r.bits_per_element = 16;
    r.seed = b_.seed;
    r.input_digest = digest_;
    r.includes = "gemm";
    r.macs_dense = r.macs_executed =
        static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(k_);
    r.notes = "";
    return r;
}

void SqLayerBench::add(const struct sq_record &r, SqLaunch launch, int n_buffers, void *output,
                       size_t output_nbytes,
                       std::function<enum sq_status(struct sq_record *, struct sq_error *)> check)
{
    const bool is_ours = strcmp(r.impl, "ours") == 0;
    if (is_ours && b_.family && strcmp(b_.family, sq_family_of(r.name)) != 0)
        return;
    SqCandidate c;
    c.record = r;
    c.launch = std::move(launch);
    c.n_buffers = n_buffers;
    jobs_.push_back({std::move(c), std::move(check), output, output_nbytes});
}

// ---- checks ------------------------------------------------------------------------------------

enum sq_status SqLayerBench::check_sums(const SqRefPart &part, const int32_t *p,
                                        struct sq_record *r, struct sq_error *err)
{
    SqDifference d = {};
    const SqRefRows at = reference_rows();
    SQ_TRY(sq_ref_integer(&part, s_.n, at.rows, at.row0, at.step, ref_, b_.stream, err));
    SQ_TRY(sq_compare_i32(p, ref_, s_.n, at.rows, at.row0, at.step, &d, b_.stream, err));
    r->is_exact = true;
    if (d.n_wrong)
        return SQ_FAIL(err, SQ_ERR_DAMAGED,
                       "%s %s at %dx%dx%d: %llu sums differ, one at token %llu channel %llu",
                       r->name, r->variant, s_.m, s_.n, s_.k, d.n_wrong,
                       d.first / static_cast<unsigned long long>(s_.n),
                       d.first % static_cast<unsigned long long>(s_.n));
    return SQ_OK;
}

// Encoders and the weight-SQ path have no reference at this size: the golden model has replayed
// what they wrote at the size of the traces, in this run. Nothing exact is claimed of this shape.
enum sq_status SqLayerBench::check_by_traces(struct sq_record *r, struct sq_error *err) const
{
    r->is_by_traces = true;
    return b_.is_golden ? SQ_OK
                        : SQ_FAIL(err, SQ_ERR_DAMAGED, "%s %s: the golden model did not agree",
                                  r->name, r->variant);
}

enum sq_status SqLayerBench::check_pair(const SqGemmPair &g, struct sq_record *r,
                                        struct sq_error *err)
{
    SqDifference d = {};
    const SqRefRows at = reference_rows();
    double *want = reinterpret_cast<double *>(ref_);
    SQ_TRY(sq_ref_pair(&g, at.rows, at.row0, at.step, want, allowed_, b_.stream, err));
    SQ_TRY(
        sq_compare_bf16(g.y, want, allowed_, s_.n, at.rows, at.row0, at.step, &d, b_.stream, err));
    r->rel_fro = sqrt(d.sum_error / d.sum_ref);
    r->max_abs = d.max_abs;
    if (d.n_wrong || !(r->rel_fro <= kRelMax))
        return SQ_FAIL(err, SQ_ERR_DAMAGED,
                       "%s %s at %dx%dx%d: relative error %g, %llu too far off", r->name,
                       r->variant, s_.m, s_.n, s_.k, r->rel_fro, d.n_wrong);
    return SQ_OK;
}

// The output is poisoned, the kernel runs once, and what it wrote is judged.
enum sq_status SqLayerBench::check_one(SqJob *j, struct sq_error *err)
{
    if (j->output)
        SQ_CUDA_TRY(cudaMemsetAsync(j->output, 0xff, j->output_nbytes, b_.stream), err);
    SQ_CUDA_TRY(cudaMemsetAsync(p_lo_, 0x7f, 4 * m_ * n_, b_.stream), err);
    SQ_CUDA_TRY(cudaMemsetAsync(p_hi_, 0x7f, 4 * m_ * n_, b_.stream), err);
    SQ_TRY(j->candidate.launch(0, b_.stream, err));
    SQ_CUDA_TRY(cudaStreamSynchronize(b_.stream), err);
    SQ_TRY(j->check(&j->candidate.record, err));
    if (!sq_is_capturable(j->candidate.launch, b_.stream))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s %s: no graph capture", j->candidate.record.name,
                       j->candidate.record.variant);
    return SQ_OK;
}

// Only what passes stays in the list; a device that no longer answers ends everything.
enum sq_status SqLayerBench::check_all(int *n_checks, struct sq_error *err)
{
    std::vector<SqJob> passed;
    for (SqJob &j : jobs_) {
        struct sq_error why = {};
        const enum sq_status status = check_one(&j, &why);
        const struct sq_record &r = j.candidate.record;
        const bool is_ours = std::string(r.impl) == "ours";
        if (status == SQ_OK) {
            passed.push_back(j);
            ++*n_checks;
            continue;
        }
        SQ_CUDA_TRY(cudaStreamSynchronize(b_.stream), err);
        if (is_ours) {
            b_.n_wrong++;
            printf("WRONG     %s\n", why.text);
        }
        skip(std::string(r.name) + " " + r.variant + " " + r.dtype_x, why);
    }
    jobs_ = std::move(passed);
    return SQ_OK;
}

// ---- the run ----

enum sq_status SqLayerBench::run(SqBenchWhat what, int samples, FILE *out, int *n_checks,
                                 struct sq_error *err)
{
    is_timed_ = out != nullptr;
    SQ_TRY(make_inputs(err));
    if (what == SQ_BENCH_DECODE) {
        SQ_TRY(add_decoders(err));
    } else if (what == SQ_BENCH_ENCODE) {
        SQ_TRY(add_vendor(SQ_VENDOR_BF16, err));
        SQ_TRY(add_encoders(err));
        SQ_TRY(add_dynamic(true, err));
        SQ_TRY(add_sqw(err));
        if (has_wgmma())
            SQ_TRY(add_pair(0.75, true, err));
        SQ_TRY(add_integer(SQ_IMMA_W4A8, false, err));
        if (b_.cc_major != 8)
            SQ_TRY(add_integer(SQ_IMMA_W4A4_PTX_S4, false, err));
    } else {
        SQ_TRY(add_products(err));
    }
    SQ_CUDA_TRY(cudaStreamSynchronize(b_.stream), err);
    SQ_TRY(check_all(n_checks, err));
    if (!is_timed_)
        return SQ_OK;
    std::vector<SqCandidate> list;
    for (const SqJob &j : jobs_)
        list.push_back(j.candidate);
    SQ_TRY(sq_time_candidates(&list, samples, b_.stream, err));
    add_baselines(&list);
    for (size_t i = 0; i < list.size(); i++)
        jobs_[i].candidate.record = list[i].record;
    for (SqJob &j : jobs_) {
        if (what == SQ_BENCH_ENCODE)
            j.candidate.record.notes = "beside encoders";
        SQ_TRY(write_record(b_.run, j.candidate.record, out, err));
        if (what == SQ_BENCH_DECODE)
            b_.decode.push_back(j.candidate.record);
    }
    return SQ_OK;
}

const char *sq_family_of(const char *kernel)
{
    static const struct {
        const char *prefix, *family;
    } known[] = {{"sq_gemm_pair", "wgmma"},
                 {"sq_gemm_wgmma", "wgmma"},
                 {"sq_gemm_imma", "imma"},
                 {"sq_gemm_sp24", "sp24"},
                 {"sq_gemv", "decode"}};
    for (const auto &k : known)
        if (strncmp(kernel, k.prefix, strlen(k.prefix)) == 0)
            return k.family;
    return "encode";
}

enum sq_status sq_bench_layer(SqBench *bench, const SqLayerShape *shape, SqBenchWhat what,
                              int samples, FILE *out, int *n_checks, struct sq_error *err)
{
    const size_t mark = bench->arena.used();
    enum sq_status status;
    {
        SqLayerBench layer(bench, *shape);
        status = layer.run(what, samples, out, n_checks, err);
        cudaStreamSynchronize(bench->stream);
    }
    bench->arena.rewind(mark);
    return status;
}

enum sq_status sq_bench_write_decode(SqBench *bench, FILE *out, struct sq_error *err)
{
    std::map<std::string, std::vector<struct sq_record *>> kernels;
    for (struct sq_record &r : bench->decode)
        kernels[std::string(r.name) + " " + r.variant + " " + r.dtype_x +
                " M=" + std::to_string(r.m)]
            .push_back(&r);
    for (auto &kernel : kernels) {
        const SqLine line = fit_line(kernel.second);
        if (!(line.slope > 0) || kernel.second.size() < 3)
            continue;
        for (struct sq_record *r : kernel.second)
            r->t0_fit_us = std::max(line.t0, 0.0);
        printf("fit       %-40s t0 %5.2f us, %5.0f GB/s\n", kernel.first.c_str(), line.t0,
               1e-3 / line.slope);
    }
    for (const struct sq_record &r : bench->decode)
        SQ_TRY(write_record(bench->run, r, out, err));
    bench->decode.clear();
    return SQ_OK;
}
