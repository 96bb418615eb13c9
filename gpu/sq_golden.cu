// SPDX-License-Identifier: Apache-2.0
#include "sq_golden.cuh"

#include <cstring>
#include <string>
#include <vector>

#include "sq_kernels.cuh"
#include "sq_maps.cuh"
#include "sq_quant.cuh"
#include "sq_reference.cuh"

extern "C" {
#include "sq_algorithm2.h"
#include "sq_layer.h"
#include "sq_mac.h"
#include "sq_replay.h"
}

namespace
{

constexpr size_t kTokens = 16, kChannels = 128;
constexpr unsigned kBank = 32, kHigh = 8, kGroup = 128;

// A vector that has a twin on the device.
template <class T> class Both
{
  public:
    explicit Both(size_t n) : host(n)
    {
        if (cudaMalloc(&device, n * sizeof(T)) != cudaSuccess)
            device = nullptr;
    }
    ~Both()
    {
        cudaFree(device);
    }
    Both(const Both &) = delete;
    Both &operator=(const Both &) = delete;
    enum sq_status upload(struct sq_error *err)
    {
        SQ_CUDA_TRY(
            cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice), err);
        return SQ_OK;
    }
    // Poison before the kernel runs: what it does not write, shows.
    enum sq_status poison(struct sq_error *err)
    {
        SQ_CUDA_TRY(cudaMemset(device, 0x7f, host.size() * sizeof(T)), err);
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

// ---- files
// ------------------------------------------------------------------------------------------

class TraceFile
{
  public:
    template <class T>
    void add(const char *name, enum sq_dtype dtype, const std::vector<T> &data, size_t rows)
    {
        struct sq_tensor t = {};
        t.name = name;
        t.dtype = dtype;
        t.n_dims = rows == 1 ? 1 : 2;
        t.dim[0] = rows == 1 ? data.size() : rows;
        t.dim[1] = data.size() / rows;
        t.data = reinterpret_cast<const uint8_t *>(data.data());
        tensors_.push_back(t);
    }
    void note(const char *key, const std::string &value)
    {
        keys_.push_back(key);
        values_.push_back(value);
    }
    // Tensors by falling element size, as every reader likes them.
    enum sq_status write(const std::string &path, struct sq_error *err)
    {
        std::vector<struct sq_tensor> sorted;
        for (size_t nbytes = 8; nbytes > 0; nbytes--)
            for (const struct sq_tensor &t : tensors_)
                if (sq_dtype_nbytes(t.dtype) == nbytes)
                    sorted.push_back(t);
        std::vector<struct sq_metadata> metadata;
        for (size_t i = 0; i < keys_.size(); i++)
            metadata.push_back({keys_[i], values_[i].c_str()});
        return sq_safetensors_write(path.c_str(), sorted.data(), sorted.size(), metadata.data(),
                                    metadata.size(), err);
    }

  private:
    std::vector<struct sq_tensor> tensors_;
    std::vector<const char *> keys_;
    std::vector<std::string> values_;
};

// ---- the layer
// ----------------------------------------------------------------------------------------

struct Layer {
    std::vector<float> x, w; // [kTokens][k], [kChannels][k]
    size_t k = 0;
    bool is_real = false;
    uint64_t digest = 0;
};

enum sq_status take_layer(void *context, size_t, const char *name, const float *x, const float *w,
                          size_t m, size_t n, size_t k, struct sq_error *err)
{
    Layer *layer = static_cast<Layer *>(context);
    if (layer->k > 0 || !strstr(name, "up_proj"))
        return SQ_OK;
    if (m < kTokens || n < kChannels || k % kGroup != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s is %zu x %zu, need %zu channels and K %% %u = 0",
                       name, n, k, kChannels, kGroup);
    layer->k = k;
    layer->x.assign(x, x + kTokens * k);
    layer->w.assign(w, w + kChannels * k);
    for (float &v : layer->x) // what the kernels read: BF16
        v = sq_from_bf16(sq_to_bf16(v));
    layer->digest = sq_digest(SQ_DIGEST_SEED, layer->w.data(), layer->w.size() * sizeof(float));
    layer->digest = sq_digest(layer->digest, layer->x.data(), layer->x.size() * sizeof(float));
    return SQ_OK;
}

enum sq_status load_layer(const SqGoldenInfo *info, Layer *layer, struct sq_error *err)
{
    struct sq_checkpoint ck;
    SQ_TRY(sq_checkpoint_open(&ck, info->model_dir, err));
    const enum sq_status status = sq_model_visit(&ck, info->model_dir, nullptr, kTokens, info->seed,
                                                 take_layer, layer, &layer->is_real, err);
    sq_checkpoint_close(&ck);
    SQ_TRY(status);
    return layer->k ? SQ_OK : SQ_FAIL(err, SQ_ERR_SHAPE, "%s has no up_proj", info->model_dir);
}

TraceFile new_trace(const SqGoldenInfo *info, const Layer &l, const char *system, const char *flags)
{
    TraceFile t;
    t.note("system", system);
    t.note("version", "1");
    t.note("flags", flags);
    t.note("M", std::to_string(kTokens));
    t.note("N", std::to_string(kChannels));
    t.note("K", std::to_string(l.k));
    t.note("h_high", "8");
    t.note("h_low", "4");
    t.note("bank", std::to_string(kBank));
    t.note("k", std::to_string(kHigh));
    t.note("group", std::to_string(kGroup));
    t.note("scale_type", "f32");
    t.note("producer", "cuda");
    t.note("source", l.is_real ? "real" : "synthetic");
    t.note("device", info->device);
    t.note("driver", info->driver);
    t.note("seed", std::to_string(info->seed));
    t.note("input_digest", std::to_string(l.digest));
    return t;
}

// INT8 codes per token by the golden model: the input of the weight-side kernels.
enum sq_status act_codes(const Layer &l, Both<int8_t> *codes, Both<float> *s, struct sq_error *err)
{
    SQ_TRY(
        sq_act_quantize(l.x.data(), kTokens, l.k, l.k, 8, codes->host.data(), s->host.data(), err));
    SQ_TRY(codes->upload(err));
    return s->upload(err);
}

// ---- systems
// --------------------------------------------------------------------------------------------

enum sq_status write_operand(const SqGoldenInfo *info, const Layer &l, const Both<uint8_t> &lo,
                             const Both<uint8_t> &hi, const Both<float> &s_lo,
                             const Both<float> &s_hi, struct sq_error *err)
{
    struct sq_operand o;
    const struct sq_format f = {8, 4, kBank, kHigh, kGroup};
    const struct sq_trace_item item = {"", kChannels, l.k, l.digest};
    const struct sq_trace_info about = {f, "cuda", l.is_real ? "real" : "synthetic", info->seed};
    const std::string path = std::string(info->directory) + "/operand/sq_w.safetensors";
    struct sq_trace_writer writer;
    SQ_TRY(sq_operand_alloc(&o, &f, kChannels, l.k, err));
    memcpy(o.m.lo, lo.host.data(), lo.host.size());
    memcpy(o.m.hi, hi.host.data(), hi.host.size());
    memcpy(o.m.s_lo, s_lo.host.data(), s_lo.host.size() * sizeof(float));
    memcpy(o.m.s_hi, s_hi.host.data(), s_hi.host.size() * sizeof(float));
    enum sq_status status = sq_trace_begin(&writer, path.c_str(), &about, &item, 1, err);
    if (status == SQ_OK)
        status = sq_trace_put(&writer, 0, &o, err);
    if (status == SQ_OK)
        status = sq_trace_commit(&writer, err);
    else
        sq_trace_abort(&writer);
    sq_operand_free(&o);
    return status;
}

enum sq_status trace_sq_w(const SqGoldenInfo *info, const Layer &l, const std::string &path,
                          cudaStream_t stream, struct sq_error *err)
{
    const size_t n = kChannels, k = l.k, groups = k / kGroup;
    Both<float> w(n * k), s_lo(n * groups), s_hi(n * groups), s_x(kTokens), y(kTokens * n);
    Both<uint8_t> lo(n * k / 2), hi(n * k / kBank * kHigh);
    Both<int8_t> x(kTokens * k);
    w.host = l.w;
    SQ_TRY(w.upload(err));
    SQ_TRY(act_codes(l, &x, &s_x, err));
    SQ_TRY(lo.poison(err));
    SQ_TRY(hi.poison(err));
    SQ_TRY(y.poison(err));
    const int ni = static_cast<int>(n), ki = static_cast<int>(k);
    const SqEncodeW e = {ni,       ki,        kBank,     kHigh,       kGroup,
                         w.device, lo.device, hi.device, s_lo.device, s_hi.device};
    SQ_TRY(sq_encode_w(&e, stream, err));
    const SqGemmSqW g = {static_cast<int>(kTokens),
                         ni,
                         ki,
                         kBank,
                         kHigh,
                         kGroup,
                         lo.device,
                         hi.device,
                         s_lo.device,
                         s_hi.device,
                         x.device,
                         s_x.device,
                         y.device};
    SQ_TRY(sq_gemm_sqw(&g, stream, err));
    SQ_TRY(lo.download(err));
    SQ_TRY(hi.download(err));
    SQ_TRY(s_lo.download(err));
    SQ_TRY(s_hi.download(err));
    SQ_TRY(y.download(err));
    TraceFile t = new_trace(info, l, "sq_w", "");
    t.add("w", SQ_F32, w.host, n);
    t.add("s_x", SQ_F32, s_x.host, 1);
    t.add("s_lo", SQ_F32, s_lo.host, n);
    t.add("s_hi", SQ_F32, s_hi.host, n);
    t.add("y", SQ_F32, y.host, kTokens);
    t.add("x", SQ_I8, x.host, kTokens);
    t.add("lo", SQ_U8, lo.host, n);
    t.add("hi", SQ_U8, hi.host, n);
    SQ_TRY(t.write(path, err));
    return write_operand(info, l, lo, hi, s_lo, s_hi, err);
}

// 4-bit weights per channel by the golden model, packed in natural order.
enum sq_status weights4(const Layer &l, std::vector<int8_t> *code, Both<uint8_t> *packed,
                        Both<float> *s_w, struct sq_error *err)
{
    code->resize(kChannels * l.k);
    SQ_TRY(
        sq_act_quantize(l.w.data(), kChannels, l.k, l.k, 4, code->data(), s_w->host.data(), err));
    sq_pack(code->data(), code->size(), 4, packed->host.data());
    SQ_TRY(packed->upload(err));
    return s_w->upload(err);
}

struct Product {
    explicit Product(size_t n) : p_lo(n), p_hi(n), y(n)
    {
    }
    enum sq_status poison(struct sq_error *err)
    {
        SQ_TRY(p_lo.poison(err));
        SQ_TRY(p_hi.poison(err));
        return y.poison(err);
    }
    enum sq_status download(struct sq_error *err)
    {
        SQ_TRY(p_lo.download(err));
        SQ_TRY(p_hi.download(err));
        return y.download(err);
    }
    Both<int32_t> p_lo, p_hi;
    Both<float> y;
};

void add_product(TraceFile *t, const Layer &l, const Product &p, const std::vector<int8_t> &code,
                 const Both<float> &s_lo, const Both<float> &s_hi, const std::vector<int8_t> &w,
                 const Both<float> &s_w)
{
    t->add("x", SQ_F32, l.x, kTokens);
    t->add("s_w", SQ_F32, s_w.host, 1);
    t->add("s_lo", SQ_F32, s_lo.host, 1);
    t->add("s_hi", SQ_F32, s_hi.host, 1);
    t->add("y", SQ_F32, p.y.host, kTokens);
    t->add("p_lo", SQ_I32, p.p_lo.host, kTokens);
    t->add("p_hi", SQ_I32, p.p_hi.host, kTokens);
    t->add("w", SQ_I8, w, kChannels);
    t->add("code", SQ_I8, code, kTokens);
}

void widen(const Layer &l, Both<uint16_t> *x)
{
    for (size_t i = 0; i < l.x.size(); i++)
        x->host[i] = sq_to_bf16(l.x[i]);
}

enum sq_status trace_static(const SqGoldenInfo *info, const Layer &l, const std::string &path,
                            SqImma kind, cudaStream_t stream, struct sq_error *err)
{
    const size_t k = l.k, k_hi = k / kBank * kHigh, k_lo = k - k_hi;
    std::vector<float> a(k), b(k);
    std::vector<double> sum(k);
    std::vector<uint8_t> mask(k);
    for (size_t i = 0; i < l.x.size(); i++)
        sum[i % k] += fabs(static_cast<double>(l.x[i]));
    sq_mean_act(sum.data(), kTokens, nullptr, k, a.data());
    sq_mean_weight(l.w.data(), kChannels, k, b.data());
    SQ_TRY(sq_static_mask(a.data(), b.data(), k, k, kBank, kHigh, mask.data(), err));
    Both<uint16_t> x(kTokens * k), perm_hi(k_hi), perm_lo(k_lo);
    size_t n_hi = 0, n_lo = 0;
    for (size_t i = 0; i < k; i++)
        (mask[i] ? perm_hi.host[n_hi++] : perm_lo.host[n_lo++]) = static_cast<uint16_t>(i);
    widen(l, &x);
    SQ_TRY(x.upload(err));
    SQ_TRY(perm_hi.upload(err));
    SQ_TRY(perm_lo.upload(err));
    Both<uint8_t> w4(kChannels * k / 2), w_lo(kChannels * k_lo / 2), w_hi(kChannels * k_hi / 2),
        lo(kTokens * k_lo / 2), hi(kTokens * k_hi);
    Both<float> s_w(kChannels), s_lo(kTokens), s_hi(kTokens);
    Product p(kTokens * kChannels);
    std::vector<int8_t> w, code(kTokens * k), low(k_lo);
    SQ_TRY(weights4(l, &w, &w4, &s_w, err));
    SQ_TRY(p.poison(err));
    const int ki = static_cast<int>(k), hi_len = static_cast<int>(k_hi),
              lo_len = static_cast<int>(k_lo), m = static_cast<int>(kTokens);
    SQ_TRY(sq_repack4(w4.device, kChannels, ki, perm_lo.device, lo_len, SQ_ORDER_NATURAL4,
                      w_lo.device, stream, err));
    SQ_TRY(sq_repack4(w4.device, kChannels, ki, perm_hi.device, hi_len, SQ_ORDER_HALVES4,
                      w_hi.device, stream, err));
    const SqEncodeStatic e = {
        m,         ki,        hi_len,      x.device,   perm_hi.device, perm_lo.device,
        lo.device, hi.device, s_lo.device, s_hi.device};
    SQ_TRY(sq_encode_static(&e, stream, err));
    const SqGemmImma g = {m,
                          static_cast<int>(kChannels),
                          {lo.device, w_lo.device, lo_len},
                          {hi.device, w_hi.device, hi_len},
                          s_lo.device,
                          s_hi.device,
                          s_w.device,
                          p.y.device,
                          p.p_lo.device,
                          p.p_hi.device};
    SQ_TRY(sq_gemm_imma(kind, &g, stream, err));
    SQ_TRY(lo.download(err));
    SQ_TRY(hi.download(err));
    SQ_TRY(s_lo.download(err));
    SQ_TRY(s_hi.download(err));
    SQ_TRY(p.download(err));
    for (size_t t = 0; t < kTokens; t++) { // back to channel order, as the trace has it
        sq_unpack(lo.host.data() + t * k_lo / 2, k_lo, 4, low.data());
        for (size_t i = 0; i < k_lo; i++)
            code[t * k + perm_lo.host[i]] = low[i];
        for (size_t i = 0; i < k_hi; i++)
            code[t * k + perm_hi.host[i]] = static_cast<int8_t>(hi.host[t * k_hi + i]);
    }
    TraceFile t = new_trace(info, l, "sq_a", "static");
    add_product(&t, l, p, code, s_lo, s_hi, w, s_w);
    t.add("mask", SQ_U8, mask, 1);
    return t.write(path, err);
}

enum sq_status trace_dynamic(const SqGoldenInfo *info, const Layer &l, const std::string &path,
                             cudaStream_t stream, struct sq_error *err)
{
    const size_t k = l.k, n = kTokens * k;
    Both<uint16_t> x(n);
    Both<uint8_t> lo(n / 2), hi(n), bits(n / 8), w4(kChannels * k / 2), halves(kChannels * k / 2);
    Both<float> s_w(kChannels), s_lo(kTokens), s_hi(kTokens);
    Product p(kTokens * kChannels);
    std::vector<int8_t> w, code(n), low(n);
    std::vector<uint8_t> mask(n);
    widen(l, &x);
    SQ_TRY(x.upload(err));
    SQ_TRY(weights4(l, &w, &w4, &s_w, err));
    SQ_TRY(p.poison(err));
    const int ki = static_cast<int>(k), m = static_cast<int>(kTokens);
    SQ_TRY(sq_repack4(w4.device, kChannels, ki, nullptr, ki, SQ_ORDER_HALVES4, halves.device,
                      stream, err));
    const SqEncodeDynamic e = {m,         ki,      kBank,   kHigh,       x.device,    lo.device,
                               hi.device, nullptr, nullptr, bits.device, s_lo.device, s_hi.device};
    SQ_TRY(sq_encode_dynamic(&e, stream, err));
    const SqGemmImma g = {m,
                          static_cast<int>(kChannels),
                          {lo.device, w4.device, ki},
                          {hi.device, halves.device, ki},
                          s_lo.device,
                          s_hi.device,
                          s_w.device,
                          p.y.device,
                          p.p_lo.device,
                          p.p_hi.device};
    SQ_TRY(sq_gemm_imma(SQ_IMMA_SQ_A_UNPACK, &g, stream, err));
    SQ_TRY(lo.download(err));
    SQ_TRY(hi.download(err));
    SQ_TRY(bits.download(err));
    SQ_TRY(s_lo.download(err));
    SQ_TRY(s_hi.download(err));
    SQ_TRY(p.download(err));
    sq_unpack(lo.host.data(), n, 4, low.data());
    for (size_t i = 0; i < n; i++) {
        mask[i] = bits.host[i / 8] >> (i % 8) & 1;
        code[i] = mask[i] ? static_cast<int8_t>(hi.host[i]) : low[i];
    }
    TraceFile t = new_trace(info, l, "sq_a", "dynamic");
    add_product(&t, l, p, code, s_lo, s_hi, w, s_w);
    t.add("mask", SQ_U8, mask, kTokens);
    return t.write(path, err);
}

enum sq_status trace_sp24(const SqGoldenInfo *info, const Layer &l, const std::string &path,
                          cudaStream_t stream, struct sq_error *err)
{
    const size_t n = kChannels, k = l.k;
    Both<int8_t> w(n * k), x(kTokens * k);
    Both<uint8_t> values(n * k / 2);
    Both<uint32_t> meta(n * k / 32);
    Both<uint16_t> rows(n * k / 16);
    Both<unsigned> refused(1);
    Both<float> s_w(n), s_x(kTokens), y(kTokens * n);
    Both<int32_t> p(kTokens * n);
    SQ_TRY(sq_act_quantize(l.w.data(), n, k, k, 8, w.host.data(), s_w.host.data(), err));
    for (size_t i = 0; i < n * k; i += 4) { // magnitude pruning, SPEC E.6
        uint32_t four;
        memcpy(&four, &w.host[i], 4);
        four = sq_prune24(four);
        memcpy(&w.host[i], &four, 4);
    }
    SQ_TRY(w.upload(err));
    SQ_TRY(s_w.upload(err));
    SQ_TRY(act_codes(l, &x, &s_x, err));
    SQ_TRY(refused.upload(err));
    SQ_TRY(p.poison(err));
    SQ_TRY(y.poison(err));
    const SqCompress24 c = {static_cast<int>(n), static_cast<int>(k), w.device,    false,
                            values.device,       meta.device,         rows.device, refused.device};
    SQ_TRY(sq_compress24(&c, stream, err));
    const SqGemmSp24 g = {static_cast<int>(kTokens),
                          static_cast<int>(n),
                          static_cast<int>(k),
                          reinterpret_cast<const uint8_t *>(x.device),
                          values.device,
                          meta.device,
                          s_x.device,
                          s_w.device,
                          y.device,
                          p.device};
    SQ_TRY(sq_gemm_sp24(&g, stream, err));
    SQ_TRY(values.download(err));
    SQ_TRY(rows.download(err));
    SQ_TRY(refused.download(err));
    SQ_TRY(p.download(err));
    SQ_TRY(y.download(err));
    if (refused.host[0])
        return SQ_FAIL(err, SQ_ERR_INTERNAL, "2:4 refused %u legal groups", refused.host[0]);
    std::vector<uint8_t> meta_bytes(n * k / 8);
    memcpy(meta_bytes.data(), rows.host.data(), meta_bytes.size());
    TraceFile t = new_trace(info, l, "sp24", "");
    t.add("s_x", SQ_F32, s_x.host, 1);
    t.add("s_w", SQ_F32, s_w.host, 1);
    t.add("y", SQ_F32, y.host, kTokens);
    t.add("p_lo", SQ_I32, p.host, kTokens);
    t.add("w", SQ_I8, w.host, n);
    t.add("x", SQ_I8, x.host, kTokens);
    t.add("values", SQ_I8, values.host, n);
    t.add("meta", SQ_U8, meta_bytes, n);
    return t.write(path, err);
}

} // namespace

enum sq_status sq_golden_traces(const SqGoldenInfo *info, cudaStream_t stream, size_t *n_values,
                                struct sq_error *err)
{
    Layer layer;
    SQ_TRY(load_layer(info, &layer, err));
    const std::string base = info->directory;
    const std::string path[] = {base + "/sq_w.safetensors", base + "/sq_a_static.safetensors",
                                base + "/sq_a_static_s4.safetensors",
                                base + "/sq_a_dynamic.safetensors", base + "/sp24.safetensors"};
    SQ_TRY(trace_sq_w(info, layer, path[0], stream, err));
    SQ_TRY(trace_static(info, layer, path[1], SQ_IMMA_SQ_A_UNPACK, stream, err));
    SQ_TRY(trace_static(info, layer, path[2], SQ_IMMA_SQ_A_PTX_S4, stream, err));
    SQ_TRY(trace_dynamic(info, layer, path[3], stream, err));
    SQ_TRY(trace_sp24(info, layer, path[4], stream, err));
    *n_values = 0;
    for (const std::string &p : path) {
        size_t n = 0;
        SQ_TRY(sq_replay_file(p.c_str(), &n, err));
        *n_values += n;
    }
    return SQ_OK;
}
