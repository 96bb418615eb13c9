// SPDX-License-Identifier: Apache-2.0
// Forward pass and token files (sq_llama, sq_tokens).
//
// Judges: a second forward pass in binary64 with plain loops over one position at a time (below) on
// random models of every head arrangement, tied and untied, plain and Llama-3 rotary; and the
// measured losses of the real models stories260K (1.3837) and tiny-llama (0.8882, found by numpy
// and by PyTorch). Exhausted: nothing. Sampled: shapes that are no multiples of any block. Token
// files: one refusal per rule.
#include <math.h>
#include <omp.h>

#include "sim/llm/sq_llama.h"
#include "tests/skip.h"
#include "tests/unit/fixture.h"
#include "tests/unit/tmpdir.h"

static const char stories[] = "../shared/data/models/stories260K";
static const char tiny_llama[] = "traces/tiny-llama";

// ---- token files ----------------------------------------------------------------------------

static void write_tokens(const char *path, const int32_t *id, size_t n_ids, const int64_t *offset,
                         size_t n_offsets)
{
    const struct sq_tensor t[] = {
        {.name = "offsets",
         .dtype = SQ_I64,
         .n_dims = 1,
         .dim = {n_offsets},
         .data = (const void *)offset},
        {.name = "ids", .dtype = SQ_I32, .n_dims = 1, .dim = {n_ids}, .data = (const void *)id},
    };
    assert_int_equal(sq_safetensors_write(path, t, 2, NULL, 0, NULL), SQ_OK);
}

static void token_files(void **state)
{
    (void)state;
    char dir[64];
    tmpdir_make(dir);
    const char *path = tmpdir_path(dir, "t.safetensors");
    const int32_t id[] = {1, 9, 3, 0, 2};
    struct sq_tokens t;
    struct sq_error err;
    write_tokens(path, id, 5, (int64_t[]){0, 3, 5}, 3);
    assert_int_equal(sq_tokens_read(&t, path, 10, 3, &err), SQ_OK);
    assert_true(t.n_sequences == 2 && sq_tokens_count(&t) == 5 && sq_tokens_predicted(&t) == 3);
    assert_memory_equal(t.id, id, sizeof id);
    sq_tokens_free(&t);
    const struct {
        int64_t offset[4];
        size_t n;
        enum sq_status want;
        const char *part;
    } bad[] = {
        {{1, 3, 5}, 3, SQ_ERR_OFFSETS, "offsets[0] = 1, need 0..0"},
        {{0, 3, 6}, 3, SQ_ERR_OFFSETS, "offsets[2] = 6, need 3..5"},
        {{0, 3, 2}, 3, SQ_ERR_OFFSETS, "offsets[2] = 2, need 3..5"},
        {{0, 3, -1}, 3, SQ_ERR_OFFSETS, "offsets[2] = -1"},
        {{0, 2, 4}, 3, SQ_ERR_OFFSETS, "the last offset is 4, need 5"},
        {{0, 3, 3, 5}, 4, SQ_ERR_RANGE, "sequence 1 has 0 tokens, need 2..3"},
        {{0, 2, 3, 5}, 4, SQ_ERR_RANGE, "sequence 1 has 1 tokens, need 2..3"},
        {{0, 5}, 2, SQ_ERR_RANGE, "sequence 0 has 5 tokens, need 2..3"},
        {{0}, 1, SQ_ERR_OFFSETS, "1 offsets, need at least 2"},
    };
    for (size_t i = 0; i < LEN(bad); i++) {
        write_tokens(path, id, 5, bad[i].offset, bad[i].n);
        check_refused(sq_tokens_read(&t, path, 10, 3, &err), bad[i].want, &err, bad[i].part);
    }
    write_tokens(path, id, 5, (int64_t[]){0, 3, 5}, 3);
    check_refused(sq_tokens_read(&t, path, 9, 3, &err), SQ_ERR_INDEX, &err,
                  "ids[1] = 9, need 0..8");
    const int32_t negative[] = {1, 2, 3, 0, -1};
    write_tokens(path, negative, 5, (int64_t[]){0, 3, 5}, 3);
    check_refused(sq_tokens_read(&t, path, 9, 3, &err), SQ_ERR_INDEX, &err, "ids[4] = -1");
    tmpdir_remove(dir);
}

// ---- random models --------------------------------------------------------------------------

struct shape {
    size_t hidden, intermediate, n_layers, n_heads, n_kv_heads, head_dim, vocab;
    bool is_tied, is_llama3;
};

enum { MAX_TENSORS = 64, POSITIONS = 200 };

struct model {
    size_t n;
    struct sq_tensor tensor[MAX_TENSORS];
    char name[MAX_TENSORS][64];
};

static void add_tensor(struct model *m, struct sq_rng *r, const char *name, size_t rows,
                       size_t columns)
{
    const size_t n = rows * (columns ? columns : 1);
    float *data = fixture_exact(n * sizeof *data);
    const float scale = columns ? 1.5f / sqrtf((float)columns) : 0.5f;
    for (size_t i = 0; i < n; i++)
        data[i] = (columns ? 0.0f : 1.0f) + scale * (float)(2 * sq_rng_unit(r) - 1);
    strcpy(m->name[m->n], name);
    m->tensor[m->n] = (struct sq_tensor){.name = m->name[m->n],
                                         .dtype = SQ_F32,
                                         .n_dims = columns ? 2 : 1,
                                         .dim = {rows, columns},
                                         .data = (void *)data};
    m->n++;
}

static void write_config(const char *dir, const struct shape *s)
{
    char text[1024];
    const int n = snprintf(
        text, sizeof text,
        "{\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":%zu,\"intermediate_size\":%zu,"
        "\"num_hidden_layers\":%zu,\"num_attention_heads\":%zu,\"num_key_value_heads\":%zu,"
        "\"head_dim\":%zu,\"vocab_size\":%zu,\"max_position_embeddings\":%d,"
        "\"rms_norm_eps\":1e-5,\"rope_theta\":500.0,\"hidden_act\":\"silu\"%s,"
        "\"tie_word_embeddings\":%s}",
        s->hidden, s->intermediate, s->n_layers, s->n_heads, s->n_kv_heads, s->head_dim, s->vocab,
        POSITIONS,
        s->is_llama3 ? ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8.0,"
                       "\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"
                       "\"original_max_position_embeddings\":64}"
                     : "",
        s->is_tied ? "true" : "false");
    write_bytes(tmpdir_path(dir, "config.json"), text, (size_t)n);
}

static void write_model(const char *dir, const struct shape *s, struct sq_rng *r)
{
    struct model m = {0};
    const size_t q = s->n_heads * s->head_dim, kv = s->n_kv_heads * s->head_dim;
    char name[80];
    write_config(dir, s);
    add_tensor(&m, r, "model.embed_tokens.weight", s->vocab, s->hidden);
    for (size_t i = 0; i < s->n_layers; i++) {
        const struct {
            const char *part;
            size_t n, k;
        } part[] = {{"self_attn.q_proj", q, s->hidden},
                    {"self_attn.k_proj", kv, s->hidden},
                    {"self_attn.v_proj", kv, s->hidden},
                    {"self_attn.o_proj", s->hidden, q},
                    {"mlp.gate_proj", s->intermediate, s->hidden},
                    {"mlp.up_proj", s->intermediate, s->hidden},
                    {"mlp.down_proj", s->hidden, s->intermediate},
                    {"input_layernorm", s->hidden, 0},
                    {"post_attention_layernorm", s->hidden, 0}};
        for (size_t p = 0; p < LEN(part); p++) {
            snprintf(name, sizeof name, "model.layers.%zu.%s.weight", i, part[p].part);
            add_tensor(&m, r, name, part[p].n, part[p].k);
        }
    }
    add_tensor(&m, r, "model.norm.weight", s->hidden, 0);
    if (!s->is_tied)
        add_tensor(&m, r, "lm_head.weight", s->vocab, s->hidden);
    struct sq_error err = {.text = ""};
    const char *path = tmpdir_path(dir, "model.safetensors");
    CHECK_EQ(sq_safetensors_write(path, m.tensor, m.n, NULL, 0, &err), SQ_OK, "%s\n", err.text);
    for (size_t i = 0; i < m.n; i++)
        free((void *)(uintptr_t)m.tensor[i].data);
}

// ---- the slow forward pass ------------------------------------------------------------------

struct slow {
    const struct sq_checkpoint *ck;
    const struct sq_model_config *c;
};

static float *slow_tensor(const struct slow *s, const char *name)
{
    const struct sq_tensor *t = sq_checkpoint_find(s->ck, name);
    assert_non_null(t);
    float *w = fixture_exact(t->n_elements * sizeof *w);
    assert_int_equal(sq_tensor_read_f32(t, w, NULL), SQ_OK);
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
    free(w);
}

static void slow_norm(const struct slow *s, const char *name, const double *h, double *x)
{
    float *gain = slow_tensor(s, name);
    double sum = 0;
    for (size_t i = 0; i < s->c->hidden_size; i++)
        sum += h[i] * h[i];
    const double rms = sqrt(sum / (double)s->c->hidden_size + s->c->rms_norm_eps);
    for (size_t i = 0; i < s->c->hidden_size; i++)
        x[i] = h[i] / rms * (double)gain[i];
    free(gain);
}

// The angle as the Llama 3 paper's reference code computes it.
static double slow_angle(const struct sq_model_config *c, size_t position, size_t i)
{
    double f = 1 / pow(c->rope.theta, (double)(2 * i) / (double)c->head_dim);
    if (c->rope.is_llama3) {
        const double turns = (double)c->rope.original_max_position * f / (2 * acos(-1.0));
        const double low = c->rope.low_freq_factor, high = c->rope.high_freq_factor;
        double share = (turns - low) / (high - low); // of the unscaled frequency
        share = share < 0 ? 0 : share > 1 ? 1 : share;
        f = share * f + (1 - share) * f / c->rope.factor;
    }
    return (double)position * f;
}

// As a rotation of complex numbers.
static void slow_rotate(const struct sq_model_config *c, double *v, size_t n_heads, size_t position)
{
    for (size_t head = 0; head < n_heads; head++)
        for (size_t i = 0; i < c->head_dim / 2; i++) {
            double *re = v + head * c->head_dim + i, *im = re + c->head_dim / 2;
            const double angle = slow_angle(c, position, i), a = *re, b = *im;
            *re = a * cos(angle) - b * sin(angle);
            *im = a * sin(angle) + b * cos(angle);
        }
}

// Position t of one sequence, whose earlier keys and values are in k and v.
static void slow_attend(const struct slow *s, size_t t, const double *q, const double *k,
                        const double *v, double *out)
{
    const size_t d = s->c->head_dim, kv = s->c->n_kv_heads * d;
    double p[POSITIONS];
    for (size_t head = 0; head < s->c->n_heads; head++) {
        const size_t at = head * s->c->n_kv_heads / s->c->n_heads * d;
        double sum = 0;
        for (size_t u = 0; u <= t; u++) {
            double dot = 0;
            for (size_t i = 0; i < d; i++)
                dot += q[head * d + i] * k[u * kv + at + i];
            sum += p[u] = exp(dot / sqrt((double)d));
        }
        for (size_t i = 0; i < d; i++) {
            out[head * d + i] = 0;
            for (size_t u = 0; u <= t; u++)
                out[head * d + i] += p[u] / sum * v[u * kv + at + i];
        }
    }
}

enum { WIDTH = 128 };

static void slow_block(const struct slow *s, size_t block, double h[][WIDTH], size_t length)
{
    const struct sq_model_config *c = s->c;
    const size_t q_dim = c->n_heads * c->head_dim, kv = c->n_kv_heads * c->head_dim;
    double *k = fixture_exact(2 * length * kv * sizeof *k), *v = k + length * kv;
    double x[WIDTH], q[WIDTH], y[WIDTH], gate[WIDTH], up[WIDTH];
    char name[80];
#define NAME(part) (snprintf(name, sizeof name, "model.layers.%zu." part ".weight", block), name)
    for (size_t t = 0; t < length; t++) {
        slow_norm(s, NAME("input_layernorm"), h[t], x);
        slow_linear(s, NAME("self_attn.q_proj"), q_dim, c->hidden_size, x, q);
        slow_linear(s, NAME("self_attn.k_proj"), kv, c->hidden_size, x, k + t * kv);
        slow_linear(s, NAME("self_attn.v_proj"), kv, c->hidden_size, x, v + t * kv);
        slow_rotate(c, q, c->n_heads, t);
        slow_rotate(c, k + t * kv, c->n_kv_heads, t);
        slow_attend(s, t, q, k, v, x);
        slow_linear(s, NAME("self_attn.o_proj"), c->hidden_size, q_dim, x, y);
        for (size_t i = 0; i < c->hidden_size; i++)
            h[t][i] += y[i];
        slow_norm(s, NAME("post_attention_layernorm"), h[t], x);
        slow_linear(s, NAME("mlp.gate_proj"), c->intermediate_size, c->hidden_size, x, gate);
        slow_linear(s, NAME("mlp.up_proj"), c->intermediate_size, c->hidden_size, x, up);
        for (size_t i = 0; i < c->intermediate_size; i++)
            up[i] *= gate[i] / (1 + exp(-gate[i]));
        slow_linear(s, NAME("mlp.down_proj"), c->hidden_size, c->intermediate_size, up, y);
        for (size_t i = 0; i < c->hidden_size; i++)
            h[t][i] += y[i];
    }
#undef NAME
    free(k);
}

static double slow_sequence(const struct slow *s, const int32_t *id, size_t length)
{
    static double h[POSITIONS][WIDTH];
    const struct sq_model_config *c = s->c;
    float *embedding = slow_tensor(s, "model.embed_tokens.weight");
    double nll = 0, x[WIDTH], *logit = fixture_exact(c->vocab_size * sizeof *logit);
    for (size_t t = 0; t < length; t++)
        for (size_t i = 0; i < c->hidden_size; i++)
            h[t][i] = (double)embedding[(size_t)id[t] * c->hidden_size + i];
    for (size_t block = 0; block < c->n_layers; block++)
        slow_block(s, block, h, length);
    for (size_t t = 0; t + 1 < length; t++) {
        slow_norm(s, "model.norm.weight", h[t], x);
        slow_linear(s, c->tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight",
                    c->vocab_size, c->hidden_size, x, logit);
        double sum = 0;
        for (size_t i = 0; i < c->vocab_size; i++)
            sum += exp(logit[i]);
        nll += log(sum) - logit[id[t + 1]];
    }
    free(embedding);
    free(logit);
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

// ---- tests ----------------------------------------------------------------------------------

static const struct shape shapes[] = {
    {24, 40, 2, 4, 2, 6, 37, true, false},
    {24, 44, 1, 4, 4, 10, 37, false, false}, // q wider than the model
    {40, 12, 2, 6, 1, 4, 5000, false, true}, // more than one block of the vocabulary
    {8, 20, 1, 1, 1, 32, 3, true, true},
};

static void random_models_equal_slow(void **state)
{
    (void)state;
    struct sq_rng r = {fixture_seed()};
    size_t offset[] = {0, 2, 9, 9 + POSITIONS - 60}; // the last one spans three query blocks
    const size_t count = offset[LEN(offset) - 1];
    int32_t *id = fixture_exact(count * sizeof *id);
    const struct sq_tokens t = {LEN(offset) - 1, offset, id};
    for (size_t i = 0; i < LEN(shapes); i++) {
        char dir[64];
        struct sq_checkpoint ck;
        struct sq_error err = {.text = ""};
        double loss = 0;
        write_model(tmpdir_make(dir), &shapes[i], &r);
        for (size_t j = 0; j < count; j++)
            id[j] = (int32_t)sq_rng_below(&r, (uint32_t)shapes[i].vocab);
        CHECK_EQ(sq_checkpoint_open(&ck, dir, &err), SQ_OK, "%s\n", err.text);
        CHECK_EQ(sq_llama_loss(&ck, &t, NULL, NULL, &loss, &err), SQ_OK, "%s\n", err.text);
        const double want = slow_loss(&ck, &t);
        if (!(fabs(loss - want) < 2e-6 * want))
            fail_msg("seed %llu shape %zu: loss %.9f, want %.9f",
                     (unsigned long long)fixture_seed(), i, loss, want);
        sq_checkpoint_close(&ck);
        tmpdir_remove(dir);
    }
    free(id);
}

// What a hook saw: layers in order with their shapes, and one layer replaced by zeros.
struct seen {
    size_t count, zeroed;
    const struct sq_checkpoint *ck;
};

static enum sq_status watch(void *context, const struct sq_llama_linear *l, bool *is_done,
                            struct sq_error *err)
{
    static const size_t shared[] = {0, 0, 0, 3, 4, 4, 6};
    struct seen *s = context;
    CHECK_EQ(l->layer, s->count, "order\n");
    CHECK_EQ(l->shared, l->layer / 7 * 7 + shared[l->layer % 7], "layer %zu\n", l->layer);
    assert_ptr_equal(l->name, s->ck->layer[l->layer].name);
    assert_true(l->m == 5 && l->n == s->ck->layer[l->layer].n && l->k == s->ck->layer[l->layer].k);
    s->count++;
    if (l->layer == s->zeroed) {
        memset(l->y, 0, l->m * l->n * sizeof *l->y);
        *is_done = true;
    }
    return l->layer == 1000 ? SQ_FAIL(err, SQ_ERR_RANGE, "no") : SQ_OK;
}

static enum sq_status refuse(void *context, const struct sq_llama_linear *l, bool *is_done,
                             struct sq_error *err)
{
    (void)context, (void)is_done;
    return l->layer < 3 ? SQ_OK : SQ_FAIL(err, SQ_ERR_RANGE, "layer %zu refused", l->layer);
}

static void hooks_see_and_replace(void **state)
{
    (void)state;
    struct sq_rng r = {fixture_seed()};
    char dir[64];
    struct sq_checkpoint ck;
    struct sq_error err;
    size_t offset[] = {0, 5};
    int32_t id[] = {3, 1, 4, 1, 5};
    const struct sq_tokens t = {1, offset, id};
    double plain, watched, zeroed;
    write_model(tmpdir_make(dir), &shapes[0], &r);
    assert_int_equal(sq_checkpoint_open(&ck, dir, NULL), SQ_OK);
    struct seen all = {0, SIZE_MAX, &ck}, one = {0, 13, &ck};
    assert_int_equal(sq_llama_loss(&ck, &t, NULL, NULL, &plain, NULL), SQ_OK);
    assert_int_equal(sq_llama_loss(&ck, &t, watch, &all, &watched, NULL), SQ_OK);
    assert_int_equal(sq_llama_loss(&ck, &t, watch, &one, &zeroed, NULL), SQ_OK);
    assert_true(all.count == 14 && plain == watched && plain != zeroed);
    check_refused(sq_llama_loss(&ck, &t, refuse, NULL, &plain, &err), SQ_ERR_RANGE, &err,
                  "layer 3 refused");
    id[4] = 37;
    check_refused(sq_llama_loss(&ck, &t, NULL, NULL, &plain, &err), SQ_ERR_INDEX, &err,
                  "token 4 = 37, need 0..36");
    sq_checkpoint_close(&ck);
    const char *file = tmpdir_path(dir, "model.safetensors");
    assert_int_equal(sq_checkpoint_open(&ck, file, NULL), SQ_OK);
    check_refused(sq_llama_loss(&ck, &t, NULL, NULL, &plain, &err), SQ_ERR_UNSUPPORTED, &err,
                  "needs a model directory");
    sq_checkpoint_close(&ck);
    tmpdir_remove(dir);
}

static double real_loss(const char *dir, size_t n_sequences, size_t *n_predicted)
{
    char path[256];
    struct sq_checkpoint ck;
    struct sq_tokens t;
    struct sq_error err = {.text = ""};
    double loss = 0;
    snprintf(path, sizeof path, "%s/tokens_eval.safetensors", dir);
    CHECK_EQ(sq_checkpoint_open(&ck, dir, &err), SQ_OK, "%s\n", err.text);
    CHECK_EQ(sq_tokens_read(&t, path, ck.config.vocab_size, ck.config.max_position, &err), SQ_OK,
             "%s\n", err.text);
    if (n_sequences)
        t.n_sequences = n_sequences;
    CHECK_EQ(sq_llama_loss(&ck, &t, NULL, NULL, &loss, &err), SQ_OK, "%s\n", err.text);
    *n_predicted = sq_tokens_predicted(&t);
    sq_tokens_free(&t);
    sq_checkpoint_close(&ck);
    return loss;
}

static void check_real(const char *dir, size_t want_predicted, double want, double tolerance)
{
    if (access(dir, R_OK) != 0) {
        SQ_SKIP("no %s here", dir);
    }
    size_t n_predicted;
    const double loss = real_loss(dir, 0, &n_predicted);
    CHECK_EQ(n_predicted, want_predicted, "%s\n", dir);
    if (!(fabs(loss - want) <= tolerance))
        fail_msg("%s: loss %.6f, want %.4f +- %.4f", dir, loss, want, tolerance);
    print_message("# %s: loss %.6f\n", dir, loss);
}

static void stories260k_loss(void **state)
{
    (void)state;
    check_real(stories, 16259, 1.3837, 0.0002);
}

static void tiny_llama_loss(void **state)
{
    (void)state;
    check_real(tiny_llama, 15347, 0.8882, 0.0001);
}

static void thread_count_changes_no_bit(void **state)
{
    (void)state;
    size_t n;
    omp_set_num_threads(1);
    const double one = real_loss(tiny_llama, 5, &n);
    for (int threads = 2; threads <= 5; threads++) {
        omp_set_num_threads(threads);
        const double many = real_loss(tiny_llama, 5, &n);
        assert_memory_equal(&one, &many, sizeof one);
    }
    omp_set_num_threads(omp_get_num_procs());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_files),           cmocka_unit_test(random_models_equal_slow),
        cmocka_unit_test(hooks_see_and_replace), cmocka_unit_test(stories260k_loss),
        cmocka_unit_test(tiny_llama_loss),       cmocka_unit_test(thread_count_changes_no_bit),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
