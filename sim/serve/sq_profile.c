// SPDX-License-Identifier: Apache-2.0
// Writes tables of latencies for other simulators (sq_profile.h).
#include "sim/serve/sq_profile.h"

#include <string.h>

#include "sim/format/sq_cache_format.h"
#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_quote.h"
#include "sim/io/sq_version.h"
#include "sim/machine/sq_model_shape.h"

const char *const sq_profile_names[SQ_N_PROFILE_FILES] = {"meta.yaml",
                                                          "dense.csv",
                                                          "per_sequence.csv",
                                                          "attention.csv",
                                                          "gemm_perf.csv",
                                                          "generation_attention_perf.csv",
                                                          "context_attention_perf.csv"};

enum { COUNT_MAX = 2048, CHUNK_MIN = 32, SEQUENCES_MAX = 256, KEYS_MIN = 64, KEYS_MAX = 32768 };

struct writer {
    struct sq_pass_table *t;
    struct sq_model_shape shape;                                    // of the whole model
    char device[SQ_FILE_NAME_MAX + 1], cache[SQ_FILE_NAME_MAX + 1]; // cells of CSV
    FILE *out;
    struct sq_error *err;
};

static const char *format_of(const struct sq_recipe *r)
{
    return sq_recipe_is_reference(r) ? "bfloat16" : r->format->name;
}

// ---- layers -----------------------------------------------------------------------------------

// Which products and element by element operations another simulator has as one.
static const struct fused {
    const char *name, *part[3];
} fused[] = {{"qkv_proj", {"q_proj", "k_proj", "v_proj"}},
             {"o_proj", {"o_proj"}},
             {"gate_up_proj", {"gate_proj", "up_proj"}},
             {"down_proj", {"down_proj"}}};

static double cycles_of(const struct sq_workload *w, const struct sq_pass_result *x,
                        const char *name)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->row[i].name, name) == 0)
            return x->row[i].cycles;
    return 0;
}

static void put_layers(const struct writer *s, uint64_t tokens, const struct sq_workload *w,
                       const struct sq_pass_result *x)
{
    const struct sq_machine *m = s->t->request->machine;
    const double layers = (double)s->shape.layers, elements = (double)(tokens * s->shape.hidden);
    const double norm =
        sq_pass_vector_seconds(m, SQ_VECTOR_NORM, (double)tokens, (double)s->shape.hidden);
    for (size_t i = 0; i < sizeof fused / sizeof fused[0]; i++) {
        double cycles = 0;
        for (unsigned part = 0; part < 3 && fused[i].part[part]; part++)
            cycles += cycles_of(w, x, fused[i].part[part]);
        fprintf(s->out, "%s,%llu,%.6g\n", fused[i].name, (unsigned long long)tokens,
                1e6 * cycles / m->clock_hz);
    }
    const struct {
        const char *name;
        double seconds;
    } other[] = {
        {"embedding", 2 * elements / m->dram_bytes_per_s},
        {"layernorm", // with the addition to the residual stream before it
         (x->op_seconds[SQ_VECTOR_NORM] - norm + x->op_seconds[SQ_VECTOR_ADD]) / layers / 2},
        {"rotary_emb", x->op_seconds[SQ_VECTOR_ROTARY] / layers},
        {"act_fn", x->op_seconds[SQ_VECTOR_GATE] / layers},
        {"final_layernorm", norm}};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        fprintf(s->out, "%s,%llu,%.6g\n", other[i].name, (unsigned long long)tokens,
                1e6 * other[i].seconds);
}

// Columns of aiconfigurator; a shape once.
static void put_products(const struct writer *s, uint64_t tokens, const struct sq_workload *w,
                         const struct sq_pass_result *x)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct sq_gemm *g = &w->row[i].gemm;
        bool is_new = true;
        for (size_t j = 0; j < i; j++)
            is_new = is_new && (w->row[j].gemm.n != g->n || w->row[j].gemm.k != g->k);
        if (is_new)
            fprintf(s->out, "%s,%s,sqsim,%s,%llu,%llu,%llu,%.9g\n", SQ_VERSION, s->device,
                    format_of(s->t->request->recipe), (unsigned long long)tokens,
                    (unsigned long long)g->n, (unsigned long long)g->k,
                    1e3 * x->row[i].cycles / s->t->request->machine->clock_hz);
    }
}

static enum sq_status write_tokens(const struct writer *s, bool is_products)
{
    fputs(is_products ? "version,device,kernel_source,gemm_dtype,m,n,k,latency\n"
                      : "layer,tokens,time_us\n",
          s->out);
    for (uint64_t tokens = 1; tokens <= COUNT_MAX; tokens *= 2) {
        SQ_CLOSED(sq_pass_free) struct sq_pass_result x = {0};
        SQ_CLOSED(sq_workload_free) struct sq_workload w = {0};
        SQ_TRY(sq_pass_table_linear(s->t, tokens, &w, &x, s->err));
        if (is_products)
            put_products(s, tokens, &w, &x);
        else
            put_layers(s, tokens, &w, &x);
    }
    return SQ_OK;
}

static enum sq_status write_sequences(const struct writer *s)
{
    fputs("layer,sequences,time_us\n", s->out);
    for (uint64_t n = 1; n <= COUNT_MAX; n *= 2) {
        double seconds = 0;
        SQ_TRY(sq_pass_table_head(s->t, (double)n, &seconds, s->err));
        fprintf(s->out, "lm_head,%llu,%.6g\nsampler,%llu,0\n", (unsigned long long)n, 1e6 * seconds,
                (unsigned long long)n);
    }
    return SQ_OK;
}

// ---- attention ----------------------------------------------------------------------------------

static uint64_t next_keys(uint64_t keys)
{
    return keys ? 2 * keys : KEYS_MIN;
}

// Microseconds of a layer.
static enum sq_status layer_us(const struct writer *s, bool is_decode, uint64_t count,
                               uint64_t keys, double *us)
{
    double seconds = 0;
    if (count > 0)
        SQ_TRY(sq_pass_table_attention(s->t, is_decode, (double)count, (double)keys, &seconds,
                                       s->err));
    *us = 1e6 * seconds / (double)s->shape.layers;
    return SQ_OK;
}

static enum sq_status write_attention(const struct writer *s)
{
    fputs("prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n", s->out);
    for (uint64_t chunk = 0; chunk <= COUNT_MAX; chunk = chunk ? 2 * chunk : CHUNK_MIN)
        for (uint64_t before = 0; before <= KEYS_MAX; before = next_keys(before))
            for (uint64_t n = 0; n <= SEQUENCES_MAX; n = n ? 2 * n : 1)
                for (uint64_t keys = 0; keys <= KEYS_MAX; keys = next_keys(keys)) {
                    double prompt, decode;
                    if (chunk == 0 && n == 0)
                        continue;
                    SQ_TRY(layer_us(s, false, chunk, before, &prompt));
                    SQ_TRY(layer_us(s, true, n, keys, &decode));
                    fprintf(s->out, "%llu,%llu,%llu,%llu,%.6g\n", (unsigned long long)chunk,
                            (unsigned long long)before, (unsigned long long)n,
                            (unsigned long long)keys, prompt + decode);
                }
    return SQ_OK;
}

// Columns of aiconfigurator: a decode has one query and `step` tokens before it, a prompt no step.
static enum sq_status write_operator(const struct writer *s, bool is_decode)
{
    const uint64_t most = is_decode ? SEQUENCES_MAX : 1;
    fputs("version,device,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,"
          "attn_dtype,kv_cache_dtype,step,latency\n",
          s->out);
    for (uint64_t n = 1; n <= most; n *= 2)
        for (uint64_t keys = KEYS_MIN; keys <= KEYS_MAX; keys *= 2) {
            double us;
            SQ_TRY(layer_us(s, is_decode, is_decode ? n : keys, is_decode ? keys : 0, &us));
            fprintf(s->out, "%s,%s,sqsim,%llu,%llu,%llu,%llu,%llu,%s,%s,%llu,%.9g\n", SQ_VERSION,
                    s->device, (unsigned long long)n, (unsigned long long)(is_decode ? 1 : keys),
                    (unsigned long long)s->shape.heads, (unsigned long long)s->shape.kv_heads,
                    (unsigned long long)s->shape.head_dim, s->cache, s->cache,
                    (unsigned long long)(is_decode ? keys - 1 : 0), 1e-3 * us);
        }
    return SQ_OK;
}

static enum sq_status write_meta(const struct writer *s)
{
    const struct sq_pass_request *in = s->t->request;
    fputs("profiler_version: sqsim " SQ_VERSION "\nhardware: ", s->out);
    sq_put_yaml(s->out, in->machine->name);
    fputs("\nmodel: ", s->out);
    sq_put_yaml(s->out, s->t->what);
    fprintf(s->out,
            "\nvariant: %s\n"
            "source: modelled by sqsim (cycle model of the cores, equal to RTL; buffers, DRAM and "
            "vector unit modelled), not measured\nclock_ghz: %g\nkv_cache: %s\n"
            "skew_fit:\n  enabled: false\n",
            format_of(in->recipe), 1e-9 * in->machine->clock_hz, s->cache);
    return SQ_OK;
}

enum sq_status sq_profile_write(struct sq_pass_table *t, const char *cache,
                                enum sq_profile_file file, FILE *out, struct sq_error *err)
{
    struct writer s = {.t = t, .out = out, .err = err};
    SQ_TRY(sq_model_shape_of(t->config, t->what, &s.shape, err));
    sq_quote_file(s.device, t->request->machine->name);
    sq_quote_file(s.cache, cache);
    SQ_FAIL_IF(s.shape.kind != SQ_MODEL_LLAMA, err, SQ_ERR_UNSUPPORTED,
               "%s: tables for other simulators are of models without experts and latent "
               "attention",
               t->what);
    switch (file) {
    case SQ_PROFILE_META:
        return write_meta(&s);
    case SQ_PROFILE_DENSE:
        return write_tokens(&s, false);
    case SQ_PROFILE_SEQUENCE:
        return write_sequences(&s);
    case SQ_PROFILE_ATTENTION:
        return write_attention(&s);
    case SQ_PROFILE_GEMM:
        return write_tokens(&s, true);
    default:
        return write_operator(&s, file == SQ_PROFILE_GENERATION);
    }
}
