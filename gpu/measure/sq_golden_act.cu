// SPDX-License-Identifier: Apache-2.0
// Traces of SQ on activations, static and dynamic mask.
#include "gpu/measure/sq_golden_trace.cuh"

#include <cmath>

#include "gpu/sq_kernels.cuh"
#include "gpu/sq_maps.cuh"
#include "gpu/sq_quant.cuh"
#include "gpu/sq_reference.cuh"

extern "C" {
#include "models/number/sq_codes.h"
#include "models/quant/sq_algorithm2.h"
}

namespace
{

// 4-bit weights per channel, packed in natural order.
enum sq_status weights4(const SqTraceLayer &l, std::vector<int8_t> *code, SqBoth<uint8_t> *packed,
                        SqBoth<float> *s_w, struct sq_error *err)
{
    SQ_TRY(sq_trace_weights(l, 4, code, s_w, err));
    sq_pack(code->data(), code->size(), 4, packed->host.data());
    return packed->upload(err);
}

struct Product {
    explicit Product(size_t n) : p_lo(n), p_hi(n), y(n)
    {
    }
    enum sq_status poison(struct sq_error *err)
    {
        return sq_poison(err, p_lo, p_hi, y);
    }
    enum sq_status download(struct sq_error *err)
    {
        return sq_download(err, p_lo, p_hi, y);
    }
    SqBoth<int32_t> p_lo, p_hi;
    SqBoth<float> y;
};

SqTraceFile new_trace(const SqTraceLayer &l, const char *flags)
{
    SqTraceFile t(l, "sq_a", flags, kSqTraceTokens, kSqTraceRows);
    t.note("h_high", "8");
    t.note("h_low", "4");
    t.note("bank", std::to_string(kSqTraceBank));
    t.note("k", std::to_string(kSqTraceHigh));
    return t;
}

void add_product(SqTraceFile *t, const Product &p, const std::vector<int8_t> &code,
                 const SqBoth<float> &s_lo, const SqBoth<float> &s_hi)
{
    t->output("s_lo", SQ_F32, s_lo.host, 1);
    t->output("s_hi", SQ_F32, s_hi.host, 1);
    t->output("y", SQ_F32, p.y.host, kSqTraceTokens);
    t->output("p_lo", SQ_I32, p.p_lo.host, kSqTraceTokens);
    t->output("p_hi", SQ_I32, p.p_hi.host, kSqTraceTokens);
    t->output("code", SQ_I8, code, kSqTraceTokens);
}

void add_inputs(SqTraceFile *t, const SqTraceLayer &l, const std::vector<int8_t> &w,
                const SqBoth<float> &s_w)
{
    t->input("x", SQ_F32, l.x, kSqTraceTokens);
    t->input("w", SQ_I8, w, kSqTraceRows);
    t->input("s_w", SQ_F32, s_w.host, 1);
}

enum sq_status trace_static(const SqTraceLayer &l, const char *name, SqImma kind,
                            cudaStream_t stream, struct sq_error *err)
{
    const size_t k = l.k, k_hi = k / kSqTraceBank * kSqTraceHigh, k_lo = k - k_hi;
    std::vector<float> a(k), b(k);
    std::vector<double> sum(k);
    std::vector<uint8_t> mask(k);
    for (size_t i = 0; i < l.x.size(); i++)
        sum[i % k] += fabs(static_cast<double>(l.x[i]));
    sq_mean_act(sum.data(), kSqTraceTokens, nullptr, k, a.data());
    sq_mean_weight(l.rows.data(), kSqTraceRows, k, b.data());
    SQ_TRY(sq_static_mask(a.data(), b.data(), k, k, kSqTraceBank, kSqTraceHigh, mask.data(), err));
    SqBoth<uint16_t> x(kSqTraceTokens * k), perm_hi(k_hi), perm_lo(k_lo);
    size_t n_hi = 0, n_lo = 0;
    for (size_t i = 0; i < k; i++)
        (mask[i] ? perm_hi.host[n_hi++] : perm_lo.host[n_lo++]) = static_cast<uint16_t>(i);
    SQ_TRY(sq_trace_bf16(l, &x, err));
    SQ_TRY(sq_upload(err, perm_hi, perm_lo));
    SqBoth<uint8_t> w4(kSqTraceRows * k / 2), w_lo(kSqTraceRows * k_lo / 2),
        w_hi(kSqTraceRows * k_hi / 2), lo(kSqTraceTokens * k_lo / 2), hi(kSqTraceTokens * k_hi);
    SqBoth<float> s_w(kSqTraceRows), s_lo(kSqTraceTokens), s_hi(kSqTraceTokens);
    Product p(kSqTraceTokens * kSqTraceRows);
    std::vector<int8_t> w, code(kSqTraceTokens * k), low(k_lo);
    SQ_TRY(weights4(l, &w, &w4, &s_w, err));
    SQ_TRY(p.poison(err));
    const int ki = static_cast<int>(k), hi_len = static_cast<int>(k_hi),
              lo_len = static_cast<int>(k_lo), m = static_cast<int>(kSqTraceTokens);
    SQ_TRY(sq_repack4(w4.device, kSqTraceRows, ki, perm_lo.device, lo_len, SQ_ORDER_NATURAL4,
                      w_lo.device, stream, err));
    SQ_TRY(sq_repack4(w4.device, kSqTraceRows, ki, perm_hi.device, hi_len, SQ_ORDER_HALVES4,
                      w_hi.device, stream, err));
    const SqEncodeStatic e = {
        m,         ki,        hi_len,      x.device,   perm_hi.device, perm_lo.device,
        lo.device, hi.device, s_lo.device, s_hi.device};
    SQ_TRY(sq_encode_static(&e, stream, err));
    const int n_rows = static_cast<int>(kSqTraceRows);
    const SqPart low_part = {lo.device, w_lo.device, lo_len};
    const SqPart high_part = {hi.device, w_hi.device, hi_len};
    const SqGemmImma g = {m,           n_rows,     low_part,   high_part,     s_lo.device,
                          s_hi.device, s_w.device, p.y.device, p.p_lo.device, p.p_hi.device};
    SQ_TRY(sq_gemm_imma(kind, &g, stream, err));
    SQ_TRY(sq_download(err, lo, hi, s_lo, s_hi, p));
    for (size_t t = 0; t < kSqTraceTokens; t++) { // back to channel order, as the trace has it
        sq_unpack(lo.host.data() + t * k_lo / 2, k_lo, 4, low.data());
        for (size_t i = 0; i < k_lo; i++)
            code[t * k + perm_lo.host[i]] = low[i];
        for (size_t i = 0; i < k_hi; i++)
            code[t * k + perm_hi.host[i]] = static_cast<int8_t>(hi.host[t * k_hi + i]);
    }
    SqTraceFile t = new_trace(l, "static");
    add_inputs(&t, l, w, s_w);
    t.input("mask", SQ_U8, mask, 1);
    add_product(&t, p, code, s_lo, s_hi);
    return t.write(name, err);
}

enum sq_status trace_dynamic(const SqTraceLayer &l, cudaStream_t stream, struct sq_error *err)
{
    const size_t k = l.k, n = kSqTraceTokens * k;
    SqBoth<uint16_t> x(n);
    SqBoth<uint8_t> lo(n / 2), hi(n), bits(n / 8), w4(kSqTraceRows * k / 2),
        halves(kSqTraceRows * k / 2);
    SqBoth<float> s_w(kSqTraceRows), s_lo(kSqTraceTokens), s_hi(kSqTraceTokens);
    Product p(kSqTraceTokens * kSqTraceRows);
    std::vector<int8_t> w, code(n), low(n);
    std::vector<uint8_t> mask(n);
    SQ_TRY(sq_trace_bf16(l, &x, err));
    SQ_TRY(weights4(l, &w, &w4, &s_w, err));
    SQ_TRY(p.poison(err));
    const int ki = static_cast<int>(k), m = static_cast<int>(kSqTraceTokens);
    SQ_TRY(sq_repack4(w4.device, kSqTraceRows, ki, nullptr, ki, SQ_ORDER_HALVES4, halves.device,
                      stream, err));
    const SqEncodeDynamic e = {m,        ki,          kSqTraceBank, kSqTraceHigh,
                               x.device, lo.device,   hi.device,    nullptr,
                               nullptr,  bits.device, s_lo.device,  s_hi.device};
    SQ_TRY(sq_encode_dynamic(&e, stream, err));
    const int n_rows = static_cast<int>(kSqTraceRows);
    const SqPart low_part = {lo.device, w4.device, ki}, high_part = {hi.device, halves.device, ki};
    const SqGemmImma g = {m,           n_rows,     low_part,   high_part,     s_lo.device,
                          s_hi.device, s_w.device, p.y.device, p.p_lo.device, p.p_hi.device};
    SQ_TRY(sq_gemm_imma(SQ_IMMA_SQ_A_UNPACK, &g, stream, err));
    SQ_TRY(sq_download(err, lo, hi, bits, s_lo, s_hi, p));
    sq_unpack(lo.host.data(), n, 4, low.data());
    for (size_t i = 0; i < n; i++) {
        mask[i] = bits.host[i / 8] >> (i % 8) & 1;
        code[i] = mask[i] ? static_cast<int8_t>(hi.host[i]) : low[i];
    }
    SqTraceFile t = new_trace(l, "dynamic");
    add_inputs(&t, l, w, s_w);
    add_product(&t, p, code, s_lo, s_hi);
    t.output("mask", SQ_U8, mask, kSqTraceTokens);
    return t.write("sq_a_dynamic", err);
}

} // namespace

enum sq_status sq_trace_activations(const SqTraceLayer &l, cudaStream_t stream,
                                    struct sq_error *err)
{
    SQ_TRY(trace_static(l, "sq_a_static", SQ_IMMA_SQ_A_UNPACK, stream, err));
    SQ_TRY(trace_static(l, "sq_a_static_s4", SQ_IMMA_SQ_A_PTX_S4, stream, err));
    return trace_dynamic(l, stream, err);
}
