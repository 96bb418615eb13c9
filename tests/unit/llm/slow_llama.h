// SPDX-License-Identifier: Apache-2.0
// The forward pass again, slowly: binary64, plain loops over one position at a time; the judge of
// test_llama.c.
#pragma once

#include <math.h>

#include "sim/llm/sq_llama.h"
#include "tests/unit/fixture.h"
#include "tests/unit/tmpdir.h"

enum { WIDTH = 128, POSITIONS = 200 }; // at most

struct slow {
    const struct sq_checkpoint *ck;
    const struct sq_model_config *c;
};

static float *slow_tensor(const struct slow *s, const char *name)
{
    const struct sq_tensor *t = sq_checkpoint_find(s->ck, name);
    assert_non_null(t);
    float *w = fixture_exact(t->n_elements * sizeof *w);
    assert_ok(sq_tensor_read_f32(t, w, NULL));
    return w;
}

static void slow_linear(const struct slow *s, const char *name, size_t n, size_t k, const double *x,
                        double *y)
{
    float *w = slow_tensor(s, name);
    for (size_t i = 0; i < n; i++) {
        y[i] = 0;
        for (size_t j = 0; j < k; j++)
            y[i] += (double)w[i * k + j] * x[j];
    }
    char bias[80];
    snprintf(bias, sizeof bias, "%.*sbias", (int)(strlen(name) - strlen("weight")), name);
    w = sq_checkpoint_find(s->ck, bias) ? slow_tensor(s, bias) : NULL;
    for (size_t i = 0; w && i < n; i++)
        y[i] += (double)w[i];
}

// Normalizes n numbers by the gains of a tensor; Gemma stores its gains less one.
static void slow_norm_of(const struct slow *s, const char *name, const double *h, size_t n,
                         double *x)
{
    float *gain = slow_tensor(s, name);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += h[i] * h[i];
    const double rms = sqrt(sum / (double)n + s->c->rms_norm_eps);
    for (size_t i = 0; i < n; i++)
        x[i] = h[i] / rms * ((s->c->has_offset_gain ? 1 : 0) + (double)gain[i]);
}

static void slow_norm(const struct slow *s, const char *name, const double *h, double *x)
{
    slow_norm_of(s, name, h, s->c->hidden_size, x);
}

static void slow_norm_heads(const struct slow *s, const char *name, double *v, size_t n_heads)
{
    for (size_t i = 0; i < n_heads; i++)
        slow_norm_of(s, name, v + i * s->c->head_dim, s->c->head_dim, v + i * s->c->head_dim);
}

static double slow_cap(double x, double cap)
{
    return cap > 0 ? cap * tanh(x / cap) : x;
}

// The angle as the Llama 3 paper's reference code computes it.
static double slow_angle(const struct sq_rope *r, size_t head_dim, size_t position, size_t i)
{
    double f = 1 / pow(r->theta, (double)(2 * i) / (double)head_dim) / r->linear;
    if (r->is_llama3) {
        const double turns = (double)r->original_max_position * f / (2 * acos(-1.0));
        const double low = r->low_freq_factor, high = r->high_freq_factor;
        double share = (turns - low) / (high - low); // of the unscaled frequency
        share = share < 0 ? 0 : share > 1 ? 1 : share;
        f = share * f + (1 - share) * f / r->factor;
    }
    return (double)position * f;
}

// As a rotation of complex numbers.
static void slow_rotate(const struct sq_model_config *c, bool is_local, double *v, size_t n_heads,
                        size_t position)
{
    for (size_t head = 0; head < n_heads; head++)
        for (size_t i = 0; i < c->head_dim / 2; i++) {
            double *re = v + head * c->head_dim + i, *im = re + c->head_dim / 2;
            const struct sq_rope *r = is_local ? &c->local_rope : &c->rope;
            const double angle = slow_angle(r, c->head_dim, position, i), a = *re, b = *im;
            *re = r->attention_factor * (a * cos(angle) - b * sin(angle));
            *im = r->attention_factor * (a * sin(angle) + b * cos(angle));
        }
}

// Position t of one sequence, whose earlier keys and values are in k and v.
static void slow_attend(const struct slow *s, bool is_local, size_t t, const double *q,
                        const double *k, const double *v, double *out)
{
    const size_t d = s->c->head_dim, kv = s->c->n_kv_heads * d;
    double p[POSITIONS] = {0};
    for (size_t head = 0; head < s->c->n_heads; head++) {
        const size_t at = head * s->c->n_kv_heads / s->c->n_heads * d;
        double sum = 0;
        for (size_t u = 0; u <= t; u++) {
            double dot = 0;
            for (size_t i = 0; i < d; i++)
                dot += q[head * d + i] * k[u * kv + at + i];
            p[u] = exp(slow_cap(dot / sqrt(s->c->query_scale), s->c->attention_cap));
            if (is_local && t - u >= s->c->local_window)
                p[u] = 0;
            sum += p[u];
        }
        for (size_t i = 0; i < d; i++) {
            out[head * d + i] = 0;
            for (size_t u = 0; u <= t; u++)
                out[head * d + i] += p[u] / sum * v[u * kv + at + i];
        }
    }
}

static void slow_block(const struct slow *s, size_t block, double h[][WIDTH], size_t length)
{
    const struct sq_model_config *c = s->c;
    const size_t q_dim = c->n_heads * c->head_dim, kv = c->n_kv_heads * c->head_dim;
    double *k = fixture_exact(2 * length * kv * sizeof *k), *v = k + length * kv;
    double x[WIDTH], q[WIDTH], y[WIDTH], gate[WIDTH], up[WIDTH];
    const bool is_local = c->is_local[block];
    char name[80];
#define NAME(part) (snprintf(name, sizeof name, "model.layers.%zu." part ".weight", block), name)
    for (size_t t = 0; t < length; t++) {
        slow_norm(s, NAME("input_layernorm"), h[t], x);
        slow_linear(s, NAME("self_attn.q_proj"), q_dim, c->hidden_size, x, q);
        slow_linear(s, NAME("self_attn.k_proj"), kv, c->hidden_size, x, k + t * kv);
        slow_linear(s, NAME("self_attn.v_proj"), kv, c->hidden_size, x, v + t * kv);
        if (c->has_qk_norm) {
            slow_norm_heads(s, NAME("self_attn.q_norm"), q, c->n_heads);
            slow_norm_heads(s, NAME("self_attn.k_norm"), k + t * kv, c->n_kv_heads);
        }
        slow_rotate(c, is_local, q, c->n_heads, t);
        slow_rotate(c, is_local, k + t * kv, c->n_kv_heads, t);
        slow_attend(s, is_local, t, q, k, v, x);
        slow_linear(s, NAME("self_attn.o_proj"), c->hidden_size, q_dim, x, y);
        if (c->has_post_norm)
            slow_norm(s, NAME("post_attention_layernorm"), y, y);
        for (size_t i = 0; i < c->hidden_size; i++)
            h[t][i] += y[i];
        if (c->has_post_norm)
            slow_norm(s, NAME("pre_feedforward_layernorm"), h[t], x);
        else
            slow_norm(s, NAME("post_attention_layernorm"), h[t], x);
        slow_linear(s, NAME("mlp.gate_proj"), c->intermediate_size, c->hidden_size, x, gate);
        slow_linear(s, NAME("mlp.up_proj"), c->intermediate_size, c->hidden_size, x, up);
        for (size_t i = 0; i < c->intermediate_size; i++)
            up[i] *=
                !c->is_geglu
                    ? gate[i] / (1 + exp(-gate[i]))
                    : gate[i] / 2 *
                          (1 + tanh(sqrt(2 / acos(-1.0)) * (gate[i] + 0.044715 * pow(gate[i], 3))));
        slow_linear(s, NAME("mlp.down_proj"), c->hidden_size, c->intermediate_size, up, y);
        if (c->has_post_norm)
            slow_norm(s, NAME("post_feedforward_layernorm"), y, y);
        for (size_t i = 0; i < c->hidden_size; i++)
            h[t][i] += y[i];
    }
#undef NAME
}

static double slow_sequence(const struct slow *s, const int32_t *id, size_t length)
{
    static double h[POSITIONS][WIDTH];
    const struct sq_model_config *c = s->c;
    float *embedding = slow_tensor(s, "model.embed_tokens.weight");
    double nll = 0, x[WIDTH], *logit = fixture_exact(c->vocab_size * sizeof *logit);
    for (size_t t = 0; t < length; t++)
        for (size_t i = 0; i < c->hidden_size; i++)
            h[t][i] = (double)embedding[(size_t)id[t] * c->hidden_size + i] *
                      (c->has_post_norm ? sqrt((double)c->hidden_size) : 1);
    for (size_t block = 0; block < c->n_layers; block++)
        slow_block(s, block, h, length);
    for (size_t t = 0; t + 1 < length; t++) {
        slow_norm(s, "model.norm.weight", h[t], x);
        slow_linear(s, c->tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight",
                    c->vocab_size, c->hidden_size, x, logit);
        double sum = 0;
        for (size_t i = 0; i < c->vocab_size; i++)
            sum += exp(slow_cap(logit[i], c->logit_cap));
        nll += log(sum) - slow_cap(logit[id[t + 1]], c->logit_cap);
    }
    return nll;
}

static double slow_loss(const struct sq_checkpoint *ck, const struct sq_tokens *t)
{
    const struct slow s = {ck, &ck->config};
    double nll = 0;
    for (size_t i = 0; i < t->n_sequences; i++)
        nll += slow_sequence(&s, t->id + t->offset[i], t->offset[i + 1] - t->offset[i]);
    return nll / (double)sq_tokens_predicted(t);
}
