// SPDX-License-Identifier: Apache-2.0
// Takes one layer of a model, and runs every system's trace on it (sq_golden.cuh).
#include "gpu/measure/sq_golden_trace.cuh"

#include <cinttypes>
#include <cstring>

#include "gpu/sq_quant.cuh"

extern "C" {
#include "models/core/sq_mac.h"
#include "sim/llm/sq_layer.h"
}

// ---- files -------------------------------------------------------------------------------------

SqTraceFile::SqTraceFile(const SqTraceLayer &l, const char *system, const char *flags, size_t m,
                         size_t n)
    : info_(l.info)
{
    note("system", system);
    note("version", "1");
    note("flags", flags);
    note("M", std::to_string(m));
    note("N", std::to_string(n));
    note("K", std::to_string(l.k));
    note("scale_type", "f32");
    note("producer", kSqProducer);
    note("source", l.is_real ? "real" : "synthetic");
    note("device", l.info->device);
    note("driver", l.info->driver);
    note("seed", std::to_string(l.info->seed));
}

void SqTraceFile::note(const char *key, const std::string &value)
{
    metadata_.emplace_back(key, value);
}

// Tensors by falling element size, as every reader likes them.
enum sq_status SqTraceFile::write(const char *name, struct sq_error *err)
{
    const std::string path = std::string(info_->directory) + "/" + name + ".safetensors";
    char digest[SQ_DIGEST_LABEL_SIZE];
    sq_digest_label(digest_, digest);
    note("input_digest", digest);
    std::vector<struct sq_tensor> sorted;
    for (size_t nbytes = 8; nbytes > 0; nbytes--)
        for (const struct sq_tensor &t : tensors_)
            if (sq_dtype_nbytes(t.dtype) == nbytes)
                sorted.push_back(t);
    std::vector<struct sq_metadata> pairs;
    for (const auto &pair : metadata_)
        pairs.push_back({pair.first, pair.second.c_str()});
    return sq_safetensors_write(path.c_str(), sorted.data(), sorted.size(), pairs.data(),
                                pairs.size(), err);
}

// ---- the layer ---------------------------------------------------------------------------------

enum sq_status sq_trace_weights(const SqTraceLayer &l, unsigned bits, std::vector<int8_t> *code,
                                SqBoth<float> *s_w, struct sq_error *err)
{
    code->resize(l.rows.size());
    SQ_TRY(sq_act_quantize(l.rows.data(), kSqTraceRows, l.k, l.k, bits, code->data(),
                           s_w->host.data(), err));
    return s_w->upload(err);
}

enum sq_status sq_trace_bf16(const SqTraceLayer &l, SqBoth<uint16_t> *x, struct sq_error *err)
{
    for (size_t i = 0; i < l.x.size(); i++)
        x->host[i] = sq_to_bf16(l.x[i]);
    return x->upload(err);
}

namespace
{

enum sq_status take_layer(void *context, size_t, const char *name, const float *x, const float *w,
                          size_t m, size_t n, size_t k, struct sq_error *err)
{
    SqTraceLayer *layer = static_cast<SqTraceLayer *>(context);
    if (layer->k > 0 || !strstr(name, "up_proj"))
        return SQ_OK;
    if (m < kSqTraceTokens || n < kSqTraceAllRows || k % 256 != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s is %zu x %zu, need %zu channels and K %% 256 = 0",
                       name, n, k, kSqTraceAllRows);
    layer->k = k;
    layer->x.assign(x, x + kSqTraceTokens * k);
    layer->w.assign(w, w + kSqTraceAllRows * k);
    layer->rows.assign(w, w + kSqTraceRows * k);
    for (float &v : layer->x) // what the kernels read: BF16
        v = sq_from_bf16(sq_to_bf16(v));
    return SQ_OK;
}

enum sq_status load_layer(SqTraceLayer *layer, struct sq_error *err)
{
    const SqGoldenInfo *info = layer->info;
    struct sq_checkpoint ck;
    SQ_TRY(sq_checkpoint_open(&ck, info->model_dir, err));
    const enum sq_status status =
        sq_model_visit(&ck, info->model_dir, nullptr, kSqTraceTokens, info->seed, take_layer, layer,
                       &layer->is_real, err);
    sq_checkpoint_close(&ck);
    SQ_TRY(status);
    return layer->k ? SQ_OK : SQ_FAIL(err, SQ_ERR_SHAPE, "%s has no up_proj", info->model_dir);
}

} // namespace

enum sq_status sq_golden_traces(const SqGoldenInfo *info, cudaStream_t stream, size_t *n_values,
                                struct sq_error *err)
{
    SqTraceLayer layer;
    layer.info = info;
    SQ_TRY(load_layer(&layer, err));
    SQ_TRY(sq_trace_products(layer, stream, err));
    SQ_TRY(sq_trace_activations(layer, stream, err));
    SQ_TRY(sq_trace_decode(layer, stream, err));
    *n_values = 0;
    for (const char *name : kSqGoldenTraces) {
        const std::string path = std::string(info->directory) + "/" + name + ".safetensors";
        size_t n = 0;
        SQ_TRY(sq_trace_check(path.c_str(), &n, err));
        *n_values += n;
    }
    return SQ_OK;
}
