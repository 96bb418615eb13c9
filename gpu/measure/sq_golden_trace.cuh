// SPDX-License-Identifier: Apache-2.0
// What the parts of the bit-for-bit measurement share (sq_golden.cuh): buffers with a twin on the
// device, the trace file, the layer, and a function per system of sq_trace.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gpu/measure/sq_golden.cuh"

extern "C" {
#include "sim/format/file/sq_trace.h"
}

// Who ran the kernels: a trace of the emulator never passes for one of a GPU.
#ifdef SQ_EMULATE
constexpr const char *kSqProducer = "emulator";
#else
constexpr const char *kSqProducer = "cuda";
#endif

// The layer's first rows and tokens: products take kSqTraceRows rows, superblocks all.
constexpr size_t kSqTraceTokens = 16, kSqTraceRows = 128, kSqTraceAllRows = 256;
constexpr unsigned kSqTraceBank = 32, kSqTraceHigh = 8, kSqTraceGroup = 128;

// A vector that has a twin on the device.
template <class T> class SqBoth
{
  public:
    explicit SqBoth(size_t n) : host(n)
    {
        if (cudaMalloc(&device, n * sizeof(T)) != cudaSuccess)
            device = nullptr;
    }
    ~SqBoth()
    {
        cudaFree(device);
    }
    SqBoth(const SqBoth &) = delete;
    SqBoth &operator=(const SqBoth &) = delete;
    enum sq_status upload(struct sq_error *err)
    {
        SQ_CUDA_TRY(
            cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice), err);
        return SQ_OK;
    }
    // Poison before the kernel runs: what it does not write, shows.
    enum sq_status poison(struct sq_error *err, int byte = 0x7f)
    {
        SQ_CUDA_TRY(cudaMemset(device, byte, host.size() * sizeof(T)), err);
        return SQ_OK;
    }
    enum sq_status download(struct sq_error *err)
    {
        SQ_CUDA_TRY(cudaDeviceSynchronize(), err);
        SQ_CUDA_TRY(
            cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost), err);
        return SQ_OK;
    }
    std::vector<T> host;
    T *device;
};

// One after the other: SQ_TRY(sq_download(err, lo, hi));
template <class... Both> enum sq_status sq_upload(struct sq_error *err, Both &...both)
{
    enum sq_status status = SQ_OK;
    ((status = status == SQ_OK ? both.upload(err) : status), ...);
    return status;
}
template <class... Both> enum sq_status sq_poison(struct sq_error *err, Both &...both)
{
    enum sq_status status = SQ_OK;
    ((status = status == SQ_OK ? both.poison(err) : status), ...);
    return status;
}
template <class... Both> enum sq_status sq_download(struct sq_error *err, Both &...both)
{
    enum sq_status status = SQ_OK;
    ((status = status == SQ_OK ? both.download(err) : status), ...);
    return status;
}

struct SqTraceLayer {
    const SqGoldenInfo *info;
    std::vector<float> x, w; // [kSqTraceTokens][k] values of BF16, [kSqTraceAllRows][k]
    std::vector<float> rows; // the first kSqTraceRows rows of w
    size_t k = 0;
    bool is_real = false;
};

// A trace being made: metadata, then inputs in the order of sq_trace.h, then outputs.
class SqTraceFile
{
  public:
    SqTraceFile(const SqTraceLayer &l, const char *system, const char *flags, size_t m, size_t n);
    void note(const char *key, const std::string &value);
    // The data stay the caller's until write. An input also goes into the digest.
    template <class T>
    void input(const char *name, enum sq_dtype dtype, const std::vector<T> &data, size_t rows)
    {
        sq_digest_add(&digest_, data.data(), data.size() * sizeof(T));
        output(name, dtype, data, rows);
    }
    template <class T>
    void output(const char *name, enum sq_dtype dtype, const std::vector<T> &data, size_t rows)
    {
        struct sq_tensor t = {};
        t.name = name;
        t.dtype = dtype;
        t.n_dims = rows == 1 ? 1 : 2;
        t.dim[0] = rows == 1 ? data.size() * sizeof(T) / sq_dtype_nbytes(dtype) : rows;
        t.dim[1] = data.size() * sizeof(T) / sq_dtype_nbytes(dtype) / rows;
        t.data = reinterpret_cast<const uint8_t *>(data.data());
        tensors_.push_back(t);
    }
    // As NAME.safetensors.
    enum sq_status write(const char *name, struct sq_error *err);

  private:
    const SqGoldenInfo *info_;
    std::vector<struct sq_tensor> tensors_;
    std::vector<std::pair<const char *, std::string>> metadata_;
    struct sq_digest digest_ = {};
};

// Each runs its encoders and kernels and writes the traces of its systems, names as in
// kSqGoldenTraces.
enum sq_status sq_trace_products(const SqTraceLayer &l, cudaStream_t stream, struct sq_error *err);
enum sq_status sq_trace_activations(const SqTraceLayer &l, cudaStream_t stream,
                                    struct sq_error *err);
enum sq_status sq_trace_decode(const SqTraceLayer &l, cudaStream_t stream, struct sq_error *err);

// Codes of 8 or 4 bits per channel of the rows by the golden model, and their scales.
enum sq_status sq_trace_weights(const SqTraceLayer &l, unsigned bits, std::vector<int8_t> *code,
                                SqBoth<float> *s_w, struct sq_error *err);
// BF16 patterns of the inputs.
enum sq_status sq_trace_bf16(const SqTraceLayer &l, SqBoth<uint16_t> *x, struct sq_error *err);
