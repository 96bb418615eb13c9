// SPDX-License-Identifier: Apache-2.0
// Traces of the integer products: SQ on weights, dense, 2:4.
#include "gpu/measure/sq_golden_trace.cuh"

#include <cstring>

#include "gpu/sq_kernels.cuh"
#include "gpu/sq_maps.cuh"
#include "gpu/sq_quant.cuh"
#include "gpu/sq_reference.cuh"

extern "C" {
#include "models/core/sq_mac.h"
#include "sim/format/file/sq_operand_file.h"
}

namespace
{

// INT8 codes per token by the golden model: the input of the weight-side kernels.
enum sq_status act_codes(const SqTraceLayer &l, SqBoth<int8_t> *codes, SqBoth<float> *s,
                         struct sq_error *err)
{
    SQ_TRY(sq_act_quantize(l.x.data(), kSqTraceTokens, l.k, l.k, 8, codes->host.data(),
                           s->host.data(), err));
    SQ_TRY(codes->upload(err));
    return s->upload(err);
}

// ---- SQ on weights -----------------------------------------------------------------------------

struct Encoded {
    Encoded(size_t n_lo, size_t n_hi, size_t n_scales)
        : lo(n_lo), hi(n_hi), s_lo(n_scales), s_hi(n_scales)
    {
    }
    SqBoth<uint8_t> lo, hi;
    SqBoth<float> s_lo, s_hi;
};

enum sq_status write_operand(const SqTraceLayer &l, const Encoded &w, struct sq_error *err)
{
    struct sq_operand o;
    const struct sq_format f = {8, 4, kSqTraceBank, kSqTraceHigh, kSqTraceGroup};
    const struct sq_digest digest = sq_digest_of(l.rows.data(), l.rows.size() * sizeof(float));
    const struct sq_operand_file_item item = {"", kSqTraceRows, l.k, digest};
    const struct sq_operand_file_info about = {f, kSqProducer, l.is_real ? "real" : "synthetic",
                                               l.info->seed};
    const std::string path = std::string(l.info->directory) + "/operand/sq_w.safetensors";
    struct sq_operand_file_writer writer;
    SQ_TRY(sq_operand_alloc(&o, &f, kSqTraceRows, l.k, err));
    memcpy(o.m.lo, w.lo.host.data(), w.lo.host.size());
    memcpy(o.m.hi, w.hi.host.data(), w.hi.host.size());
    memcpy(o.m.s_lo, w.s_lo.host.data(), w.s_lo.host.size() * sizeof(float));
    memcpy(o.m.s_hi, w.s_hi.host.data(), w.s_hi.host.size() * sizeof(float));
    enum sq_status status = sq_operand_file_begin(&writer, path.c_str(), &about, &item, 1, err);
    SQ_THEN(status, sq_operand_file_put(&writer, 0, &o, err));
    if (status == SQ_OK)
        status = sq_operand_file_commit(&writer, err);
    else
        sq_operand_file_abort(&writer);
    sq_operand_free(&o);
    return status;
}

enum sq_status trace_sq_w(const SqTraceLayer &l, cudaStream_t stream, struct sq_error *err)
{
    const size_t n = kSqTraceRows, k = l.k, groups = k / kSqTraceGroup, m = kSqTraceTokens;
    SqBoth<float> w(n * k), s_x(m), y(m * n);
    Encoded o(n * k / 2, n * k / kSqTraceBank * kSqTraceHigh, n * groups);
    SqBoth<int8_t> x(m * k);
    SqBoth<int32_t> p_lo(m * n * groups), p_hi(m * n * groups);
    w.host = l.rows;
    SQ_TRY(w.upload(err));
    SQ_TRY(act_codes(l, &x, &s_x, err));
    SQ_TRY(sq_poison(err, o.lo, o.hi, p_lo, p_hi, y));
    const int mi = static_cast<int>(m), ni = static_cast<int>(n), ki = static_cast<int>(k);
    const SqEncodeW e = {ni,       ki,          kSqTraceBank, kSqTraceHigh,  kSqTraceGroup,
                         w.device, o.lo.device, o.hi.device,  o.s_lo.device, o.s_hi.device};
    SQ_TRY(sq_encode_w(&e, stream, err));
    const SqGemmSqW g = {mi,
                         ni,
                         ki,
                         kSqTraceBank,
                         kSqTraceHigh,
                         kSqTraceGroup,
                         o.lo.device,
                         o.hi.device,
                         o.s_lo.device,
                         o.s_hi.device,
                         x.device,
                         s_x.device,
                         y.device,
                         p_lo.device,
                         p_hi.device};
    SQ_TRY(sq_gemm_sqw(&g, stream, err));
    SQ_TRY(sq_download(err, o.lo, o.hi, o.s_lo, o.s_hi, p_lo, p_hi, y));
    SqTraceFile t(l, "sq_w", "", m, n);
    t.note("h_high", "8");
    t.note("h_low", "4");
    t.note("bank", std::to_string(kSqTraceBank));
    t.note("k", std::to_string(kSqTraceHigh));
    t.note("group", std::to_string(kSqTraceGroup));
    t.input("w", SQ_F32, w.host, n);
    t.input("x", SQ_I8, x.host, m);
    t.input("s_x", SQ_F32, s_x.host, 1);
    t.output("s_lo", SQ_F32, o.s_lo.host, n);
    t.output("s_hi", SQ_F32, o.s_hi.host, n);
    t.output("p_lo", SQ_I32, p_lo.host, m);
    t.output("p_hi", SQ_I32, p_hi.host, m);
    t.output("y", SQ_F32, y.host, m);
    t.output("lo", SQ_U8, o.lo.host, n);
    t.output("hi", SQ_U8, o.hi.host, n);
    SQ_TRY(t.write("sq_w", err));
    return write_operand(l, o, err);
}

// ---- dense -------------------------------------------------------------------------------------

// Weights as the kernels read them: bytes; natural order beside 4-bit activations, else halves.
enum sq_status device_weights(const std::vector<int8_t> &code, size_t k, unsigned w_bits,
                              unsigned x_bits, SqBoth<uint8_t> *w, cudaStream_t stream,
                              struct sq_error *err)
{
    if (w_bits == 8) {
        memcpy(w->host.data(), code.data(), code.size());
        return w->upload(err);
    }
    sq_pack(code.data(), code.size(), 4, w->host.data());
    SQ_TRY(w->upload(err));
    if (x_bits == 4)
        return SQ_OK;
    SqBoth<uint8_t> natural(code.size() / 2);
    natural.host.assign(w->host.begin(), w->host.begin() + static_cast<long>(code.size() / 2));
    SQ_TRY(natural.upload(err));
    SQ_TRY(sq_repack4(natural.device, kSqTraceRows, static_cast<int>(k), nullptr,
                      static_cast<int>(k), SQ_ORDER_HALVES4, w->device, stream, err));
    SQ_CUDA_TRY(cudaDeviceSynchronize(), err); // `natural` ends here
    return SQ_OK;
}

enum sq_status trace_dense(const SqTraceLayer &l, const char *name, SqImma kind, unsigned w_bits,
                           unsigned x_bits, cudaStream_t stream, struct sq_error *err)
{
    const size_t n = kSqTraceRows, k = l.k, m = kSqTraceTokens;
    const int mi = static_cast<int>(m), ki = static_cast<int>(k);
    SqBoth<uint16_t> x(m * k);
    SqBoth<uint8_t> packed(m * k * x_bits / 8), w(n * k);
    SqBoth<float> s_x(m), s_w(n), y(m * n);
    SqBoth<int32_t> p(m * n);
    std::vector<int8_t> w_code, code(m * k);
    SQ_TRY(sq_trace_bf16(l, &x, err));
    SQ_TRY(sq_trace_weights(l, w_bits, &w_code, &s_w, err));
    SQ_TRY(device_weights(w_code, k, w_bits, x_bits, &w, stream, err));
    SQ_TRY(sq_poison(err, packed, p, y));
    const SqEncodeToken e = {mi, ki, static_cast<int>(x_bits), x.device, packed.device, s_x.device};
    SQ_TRY(sq_encode_token(&e, stream, err));
    SqGemmImma g = {};
    g.m = mi;
    g.n = static_cast<int>(n);
    (x_bits == 8 ? g.high : g.low) = {packed.device, w.device, ki};
    (x_bits == 8 ? g.s_hi : g.s_lo) = s_x.device;
    (x_bits == 8 ? g.p_hi : g.p_lo) = p.device;
    g.s_w = s_w.device;
    g.y = y.device;
    SQ_TRY(sq_gemm_imma(kind, &g, stream, err));
    SQ_TRY(sq_download(err, packed, s_x, p, y));
    sq_unpack(packed.host.data(), m * k, x_bits, code.data());
    SqTraceFile t(l, "dense", "", m, n);
    t.note("act_bits", std::to_string(x_bits));
    t.note("weight_bits", std::to_string(w_bits));
    t.note("int4_path", kind == SQ_IMMA_W8A8          ? "none"
                        : kind == SQ_IMMA_W4A4_PTX_S4 ? "ptx_s4"
                                                      : "unpack");
    t.input("x", SQ_F32, l.x, m);
    t.input("w", SQ_I8, w_code, n);
    t.input("s_w", SQ_F32, s_w.host, 1);
    t.output("s_x", SQ_F32, s_x.host, 1);
    t.output("p_lo", SQ_I32, p.host, m);
    t.output("y", SQ_F32, y.host, m);
    t.output("code", SQ_I8, code, m);
    return t.write(name, err);
}

// ---- 2:4 ---------------------------------------------------------------------------------------

enum sq_status trace_sp24(const SqTraceLayer &l, cudaStream_t stream, struct sq_error *err)
{
    const size_t n = kSqTraceRows, k = l.k, m = kSqTraceTokens;
    SqBoth<int8_t> w(n * k), x(m * k);
    SqBoth<uint8_t> values(n * k / 2);
    SqBoth<uint32_t> meta(n * k / 32);
    SqBoth<uint16_t> rows(n * k / 16);
    SqBoth<unsigned> refused(1);
    SqBoth<float> s_w(n), s_x(m), y(m * n);
    SqBoth<int32_t> p(m * n);
    const int mi = static_cast<int>(m), ni = static_cast<int>(n), ki = static_cast<int>(k);
    SQ_TRY(sq_trace_weights(l, 8, &w.host, &s_w, err));
    for (size_t i = 0; i < n * k; i += 4) { // magnitude pruning, SPEC E.6
        uint32_t four;
        memcpy(&four, &w.host[i], 4);
        four = sq_prune24(four);
        memcpy(&w.host[i], &four, 4);
    }
    SQ_TRY(w.upload(err));
    SQ_TRY(act_codes(l, &x, &s_x, err));
    SQ_TRY(refused.upload(err));
    SQ_TRY(sq_poison(err, p, y));
    const SqCompress24 c = {ni,          ki,          w.device,      false, values.device,
                            meta.device, rows.device, refused.device};
    SQ_TRY(sq_compress24(&c, stream, err));
    const uint8_t *const x_bytes = reinterpret_cast<const uint8_t *>(x.device);
    const SqGemmSp24 g = {mi,          ni,         ki,         x_bytes,  values.device,
                          meta.device, s_x.device, s_w.device, y.device, p.device};
    SQ_TRY(sq_gemm_sp24(&g, stream, err));
    SQ_TRY(sq_download(err, values, rows, refused, p, y));
    if (refused.host[0])
        return SQ_FAIL(err, SQ_ERR_INTERNAL, "2:4 refused %u legal groups", refused.host[0]);
    std::vector<uint8_t> meta_bytes(n * k / 8);
    memcpy(meta_bytes.data(), rows.host.data(), meta_bytes.size());
    SqTraceFile t(l, "sp24", "", m, n);
    t.input("w", SQ_I8, w.host, n);
    t.input("x", SQ_I8, x.host, m);
    t.input("s_x", SQ_F32, s_x.host, 1);
    t.input("s_w", SQ_F32, s_w.host, 1);
    t.output("y", SQ_F32, y.host, m);
    t.output("p_lo", SQ_I32, p.host, m);
    t.output("values", SQ_I8, values.host, n);
    t.output("meta", SQ_U8, meta_bytes, n);
    return t.write("sp24", err);
}

} // namespace

enum sq_status sq_trace_products(const SqTraceLayer &l, cudaStream_t stream, struct sq_error *err)
{
    SQ_TRY(trace_sq_w(l, stream, err));
    SQ_TRY(trace_dense(l, "w8a8", SQ_IMMA_W8A8, 8, 8, stream, err));
    SQ_TRY(trace_dense(l, "w4a8", SQ_IMMA_W4A8, 4, 8, stream, err));
    SQ_TRY(trace_dense(l, "w4a4", SQ_IMMA_W4A4_UNPACK, 4, 4, stream, err));
    SQ_TRY(trace_dense(l, "w4a4_s4", SQ_IMMA_W4A4_PTX_S4, 4, 4, stream, err));
    return trace_sp24(l, stream, err);
}
