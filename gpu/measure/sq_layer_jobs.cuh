// SPDX-License-Identifier: Apache-2.0
// One layer shape in the making: operands on the GPU and the list of kernels with how to launch and
// how to judge each. The _jobs.cu files make the entries, sq_layer_bench.cu all else.
#pragma once

#include <memory>

#include "gpu/measure/sq_layer_bench.cuh"
#include "gpu/measure/sq_vendor.cuh"
#include "gpu/sq_gemv_reference.cuh"
#include "gpu/sq_kernels.cuh"
#include "gpu/sq_reference.cuh"

constexpr unsigned kSqLayerBank = 32;
constexpr int kSqRefRows = 16;        // tokens compared on large shapes, spread over M
constexpr double kSqRefAll = 1 << 28; // multiplications of a shape of which all are compared

// One kernel on this shape: how to launch it, what it wrote, how to judge that.
struct SqJob {
    SqCandidate candidate;
    std::function<enum sq_status(struct sq_record *, struct sq_error *)> check;
    void *output;
    size_t output_nbytes;
};

// Channel lists of one sparsity (fraction of low channels), from the means of Algorithm 2.
struct SqLists {
    int k_hi, k_lo;
    uint16_t *perm_hi, *perm_lo; // device
};

class SqLayerBench
{
  public:
    SqLayerBench(SqBench *bench, const SqLayerShape &shape) : b_(*bench), s_(shape)
    {
        m_ = static_cast<size_t>(s_.m);
        n_ = static_cast<size_t>(s_.n);
        k_ = static_cast<size_t>(s_.k);
    }

    enum sq_status run(SqBenchWhat what, int samples, FILE *out, int *n_checks,
                       struct sq_error *err);

  private:
    // ---- memory
    template <class T> enum sq_status take(T **p, size_t n, struct sq_error *err)
    {
        *p = b_.arena.template take<T>(n);
        return *p ? SQ_OK
                  : SQ_FAIL(err, SQ_ERR_MEMORY, "no room for %zu bytes on the GPU", n * sizeof(T));
    }
    // Copies of a weight operand, so that a sequence of launches finds it cold.
    template <class T>
    enum sq_status rotate(const T *first, size_t n, std::vector<const T *> *copies,
                          struct sq_error *err)
    {
        const int count = is_timed_ ? sq_n_copies(n * sizeof(T)) : 1;
        copies->assign(1, first);
        for (int i = 1; i < count && b_.arena.left() > 4 * n * sizeof(T); i++) {
            T *copy;
            SQ_TRY(take(&copy, n, err));
            SQ_CUDA_TRY(
                cudaMemcpyAsync(copy, first, n * sizeof(T), cudaMemcpyDeviceToDevice, b_.stream),
                err);
            copies->push_back(copy);
        }
        return SQ_OK;
    }

    enum sq_status make_inputs(struct sq_error *err);
    enum sq_status make_lists(double sparsity, SqLists *l, struct sq_error *err);

    // ---- jobs
    struct sq_record base(const char *name, const char *variant, const char *path) const;
    void add(const struct sq_record &r, SqLaunch launch, int n_buffers, void *output,
             size_t output_nbytes,
             std::function<enum sq_status(struct sq_record *, struct sq_error *)> check);
    enum sq_status add_vendor(SqVendorType type, struct sq_error *err);
    enum sq_status add_vendor_24(SqVendorType type, struct sq_error *err);
    enum sq_status add_pair(double sparsity, bool with_encoder, struct sq_error *err);
    enum sq_status add_integer(SqImma kind, bool is_wgmma, struct sq_error *err);
    enum sq_status add_static(SqImma kind, double sparsity, struct sq_error *err);
    enum sq_status add_dynamic(bool with_product, struct sq_error *err);
    enum sq_status add_sp24(struct sq_error *err);
    enum sq_status add_sqw(struct sq_error *err);
    enum sq_status add_encoders(struct sq_error *err);
    void encoder_record(struct sq_record *r, double bytes) const;
    enum sq_status add_products(struct sq_error *err);

    // ---- decode (sq_gemv_jobs.cu)
    struct sq_record decode_base(const char *name, const char *variant, const char *path) const;
    void add_decode(struct sq_record r, SqLaunch launch, size_t n_buffers, double tolerance,
                    std::function<enum sq_status(struct sq_error *)> unpack, SqInput type,
                    float threshold = 0);
    enum sq_status check_decode(const SqLaunch &launch, SqInput type, float threshold,
                                double tolerance, struct sq_record *r, struct sq_error *err);
    enum sq_status add_gemv_dense(struct sq_error *err);
    enum sq_status add_gemv_gqsa(struct sq_error *err);
    enum sq_status add_gemv_spqt(struct sq_error *err);
    enum sq_status add_gemv_spqr(struct sq_error *err);
    enum sq_status add_encode_q4k(struct sq_error *err);
    enum sq_status add_encode_gqsa(struct sq_error *err);
    enum sq_status add_decoders(struct sq_error *err);

    enum sq_status check_sums(const SqRefPart &part, const int32_t *p, struct sq_record *r,
                              struct sq_error *err);
    enum sq_status check_by_traces(struct sq_record *r, struct sq_error *err) const;
    enum sq_status check_pair(const SqGemmPair &g, struct sq_record *r, struct sq_error *err);
    enum sq_status check_one(SqJob *j, struct sq_error *err);
    enum sq_status check_all(int *n_checks, struct sq_error *err);
    void skip(const std::string &what, const struct sq_error &why)
    {
        b_.skipped[what] = why.text;
    }
    SqRefRows reference_rows() const
    {
        const double work = static_cast<double>(m_) * static_cast<double>(n_ * k_);
        return sq_ref_rows(s_.m, work <= kSqRefAll ? s_.m : kSqRefRows);
    }
    bool has_wgmma() const
    {
        return b_.cc_major == 9;
    }

    SqBench &b_;
    SqLayerShape s_;
    size_t m_, n_, k_;
    bool is_timed_ = false;
    std::vector<SqJob> jobs_;
    uint16_t *x_ = nullptr, *w_ = nullptr; // BF16
    uint8_t *x8_ = nullptr, *w8_ = nullptr, *x4_ = nullptr, *w4_ = nullptr, *w4_halves_ = nullptr;
    float *sx8_ = nullptr, *sw8_ = nullptr, *sx4_ = nullptr, *sw4_ = nullptr, *ones_ = nullptr;
    uint8_t *y_ = nullptr; // [m][n] of 4 bytes, shared by all products
    int32_t *p_lo_ = nullptr, *p_hi_ = nullptr;
    int64_t *ref_ = nullptr;
    double *allowed_ = nullptr;
    uint16_t *x16_ = nullptr;   // decode: binary16
    float *unpacked_ = nullptr; // decode: weights of the format that is being checked
    std::vector<float> act_mean_, weight_mean_;
    std::vector<std::unique_ptr<SqVendorGemm>> vendor_;
    struct sq_digest digest_ = {};
};

// Bytes of [rows][k] elements of `bits` bits.
inline double bytes_of(size_t rows, size_t k, double bits)
{
    return static_cast<double>(rows) * static_cast<double>(k) * bits / 8;
}
