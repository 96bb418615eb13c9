// SPDX-License-Identifier: Apache-2.0
// Forward pass (sq_llama).
//
// Judges: a second forward pass in binary64 with plain loops over one position at a time
// (slow_llama.h) on random models of every head arrangement, tied and untied, plain and Llama-3
// rotary; and the measured losses of the real models stories260K (1.3837) and tiny-llama (0.8882,
// found by numpy and by PyTorch). Exhausted: nothing. Sampled: shapes that are no multiples of any
// block.
#include <math.h>
#include <omp.h>

#include "sim/llm/sq_llama.h"
#include "tests/data.h"
#include "tests/skip.h"
#include "tests/unit/fixture.h"
#include "tests/unit/llm/slow_llama.h"
#include "tests/unit/tmpdir.h"

static const char tiny_llama[] = "traces/tiny-llama";

// ---- random models --------------------------------------------------------------------------

struct shape {
    size_t hidden, intermediate, n_layers, n_heads, n_kv_heads, head_dim, vocab;
    bool is_tied, is_llama3, is_qwen2;
    size_t window;     // 0: none
    const char *other; // "Qwen3", "Gemma3"; NULL: as is_qwen2 says
    const char *more;  // of the config, ",\"key\":value"
};

enum { MAX_TENSORS = 64 };

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
        "{\"architectures\":[\"%sForCausalLM\"],\"hidden_size\":%zu,\"intermediate_size\":%zu,"
        "\"num_hidden_layers\":%zu,\"num_attention_heads\":%zu,\"num_key_value_heads\":%zu,"
        "\"head_dim\":%zu,\"vocab_size\":%zu,\"max_position_embeddings\":%d,"
        "\"rms_norm_eps\":1e-5,\"rope_theta\":500.0,\"hidden_act\":\"silu\"%s,"
        "\"use_sliding_window\":%s,\"sliding_window\":%zu,"
        "\"tie_word_embeddings\":%s%s}",
        s->other      ? s->other
        : s->is_qwen2 ? "Qwen2"
                      : "Llama",
        s->hidden, s->intermediate, s->n_layers, s->n_heads, s->n_kv_heads, s->head_dim, s->vocab,
        POSITIONS,
        s->is_llama3 ? ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8.0,"
                       "\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"
                       "\"original_max_position_embeddings\":64}"
                     : "",
        s->window ? "true" : "false", s->window ? s->window : 1, s->is_tied ? "true" : "false",
        s->more ? s->more : "");
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
            snprintf(name, sizeof name, "model.layers.%zu.%s.bias", i, part[p].part);
            if (s->is_qwen2 && p < 3)
                add_tensor(&m, r, name, part[p].n, 0);
        }
        static const char *const beside[] = {"self_attn.q_norm", "self_attn.k_norm",
                                             "pre_feedforward_layernorm",
                                             "post_feedforward_layernorm"};
        const size_t n_beside = !s->other ? 0 : strcmp(s->other, "Gemma3") == 0 ? 4 : 2;
        for (size_t p = 0; p < n_beside; p++) {
            snprintf(name, sizeof name, "model.layers.%zu.%s.weight", i, beside[p]);
            add_tensor(&m, r, name, p < 2 ? s->head_dim : s->hidden, 0);
        }
    }
    add_tensor(&m, r, "model.norm.weight", s->hidden, 0);
    if (!s->is_tied)
        add_tensor(&m, r, "lm_head.weight", s->vocab, s->hidden);
    struct sq_error err = {.text = ""};
    const char *path = tmpdir_path(dir, "model.safetensors");
    CHECK_EQ(sq_safetensors_write(path, m.tensor, m.n, NULL, 0, &err), SQ_OK, "%s\n", err.text);
}

// ---- tests ----------------------------------------------------------------------------------

static const struct shape shapes[] = {
    {24, 40, 2, 4, 2, 6, 37, true, false, false, 0, NULL, NULL},
    {24, 44, 1, 4, 4, 10, 37, false, false, false, 0, NULL, NULL}, // q wider than the model
    {40, 12, 2, 6, 1, 4, 5000, false, true, false, 0, NULL,
     NULL}, // more than one block of the vocabulary
    {8, 20, 1, 1, 1, 32, 3, true, true, false, 0, NULL, NULL},
    {24, 40, 2, 4, 2, 6, 37, true, false, true, POSITIONS - 60, NULL,
     ",\"max_window_layers\":0"}, // no longer than the window
    {24, 40, 2, 4, 2, 6, 37, false, false, false, 0, "Qwen3", NULL},
    {24, 40, 3, 4, 1, 6, 37, true, false, false, 17, "Gemma3",
     ",\"sliding_window_pattern\":2,\"query_pre_attn_scalar\":9"},
    {24, 40, 3, 4, 2, 6, 37, true, false, false, 70, "Gemma3", // several blocks of queries
     ",\"layer_types\":[\"full_attention\",\"sliding_attention\",\"full_attention\"],"
     "\"rope_local_base_freq\":77,\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":8}"},
    {24, 40, 2, 2, 1, 8, 37, false, false, false, 1, "Gemma3", // each token sees itself
     ",\"attn_logit_softcapping\":2.5,\"final_logit_softcapping\":3,"
     "\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"default\",\"rope_theta\":300},"
     "\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":30}}"},
};

SQ_TEST(random_models_equal_slow)
{
    struct sq_rng r = {fixture_seed()};
    size_t offset[] = {0, 2, 9, 9 + POSITIONS - 60}; // the last one spans three query blocks
    const size_t count = offset[LEN(offset) - 1];
    int32_t *id = fixture_exact(count * sizeof *id);
    const struct sq_tokens t = {LEN(offset) - 1, offset, id, 0};
    for (size_t i = 0; i < LEN(shapes); i++) {
        char dir[64];
        struct sq_checkpoint ck;
        struct sq_error err = {.text = ""};
        double loss = 0;
        write_model(tmpdir_make(dir), &shapes[i], &r);
        for (size_t j = 0; j < count; j++)
            id[j] = (int32_t)sq_rng_below(&r, (uint32_t)shapes[i].vocab);
        CHECK_EQ(sq_checkpoint_open(&ck, dir, &err), SQ_OK, "%s\n", err.text);
        if (i % 2 == 0) // no config.json has it, but GGUF
            ck.config.rope.attention_factor = ck.config.local_rope.attention_factor = 1.25;
        CHECK_EQ(sq_llama_loss(&ck, &t, NULL, NULL, &loss, &err), SQ_OK, "%s\n", err.text);
        const double want = slow_loss(&ck, &t);
        if (!(fabs(loss - want) < 2e-6 * want))
            fail_msg("seed %llu shape %zu: loss %.9f, want %.9f",
                     (unsigned long long)fixture_seed(), i, loss, want);
        sq_checkpoint_close(&ck);
        tmpdir_remove(dir);
    }
}

// The last states of a set of sequences, [tokens][hidden size].
static float *last_states(const struct sq_checkpoint *ck, const struct sq_tokens *t,
                          unsigned softmax_lanes)
{
    struct sq_llama l;
    const size_t n = sq_tokens_count(t) * ck->config.hidden_size;
    float *x = fixture_exact(n * sizeof *x);
    assert_ok(sq_llama_init(&l, ck, t, NULL));
    l.softmax_lanes = softmax_lanes;
    for (size_t b = 0; b < ck->config.n_layers; b++)
        assert_ok(sq_llama_block(&l, b, NULL, NULL, NULL));
    assert_ok(sq_llama_norm(&l, NULL));
    memcpy(x, l.x, n * sizeof *x);
    sq_llama_free(&l);
    return x;
}

// Sequences go through a layer together; each has the states that it has alone.
SQ_TEST(batched_equals_one_at_a_time)
{
    struct sq_rng r = {fixture_seed()};
    const struct shape shape = {24, 40, 2, 4, 2, 6, 37, true, false, false, 0, NULL, NULL};
    size_t offset[] = {0, 2, 9, 9 + POSITIONS - 60, 600};
    int32_t id[600];
    const struct sq_tokens all = {4, offset, id, 0};
    struct sq_checkpoint ck;
    char dir[64];
    write_model(tmpdir_make(dir), &shape, &r);
    for (size_t i = 0; i < LEN(id); i++)
        id[i] = (int32_t)sq_rng_below(&r, (uint32_t)shape.vocab);
    offset[4] = offset[3] + 33;
    assert_ok(sq_checkpoint_open(&ck, dir, NULL));
    float *x = last_states(&ck, &all, 0);
    for (size_t i = 0; i < all.n_sequences; i++) {
        size_t own[] = {0, offset[i + 1] - offset[i]};
        const struct sq_tokens one = {1, own, id + offset[i], 0};
        float *alone = last_states(&ck, &one, 0);
        for (size_t j = 0; j < own[1] * ck.config.hidden_size; j++) {
            const float d = alone[j] - x[offset[i] * ck.config.hidden_size + j];
            if (!(fabsf(d) < 2e-5f))
                fail_msg("seed %llu sequence %zu state %zu is off by %g",
                         (unsigned long long)fixture_seed(), i, j, (double)d);
        }
    }
    // Two passes that share memory and take turns have what each has alone.
    struct sq_llama one, two;
    assert_ok(sq_llama_init(&one, &ck, &all, NULL));
    assert_ok(sq_llama_init_beside(&two, &one, NULL));
    for (size_t b = 0; b < ck.config.n_layers; b++) {
        assert_ok(sq_llama_block(&one, b, NULL, NULL, NULL));
        assert_ok(sq_llama_block(&two, b, NULL, NULL, NULL));
    }
    struct sq_llama *const both[] = {&one, &two};
    for (size_t i = 0; i < 2; i++) {
        assert_ok(sq_llama_norm(both[i], NULL));
        assert_memory_equal(both[i]->x, x, offset[4] * ck.config.hidden_size * sizeof *x);
    }
    sq_llama_free(&two);
    sq_llama_free(&one);
    sq_checkpoint_close(&ck);
    tmpdir_remove(dir);
}

// The attention unit, whose cache has binary16, in every shape of heads and windows; capped scores it has not.
SQ_TEST(attention_unit_is_near)
{
    struct sq_rng r = {fixture_seed()};
    size_t offset[] = {0, 2, 40};
    int32_t id[40];
    const struct sq_tokens t = {2, offset, id, 0};
    for (size_t i = 0; i < LEN(shapes); i++) {
        char dir[64];
        struct sq_checkpoint ck;
        struct sq_llama l;
        struct sq_error err = {.text = ""};
        write_model(tmpdir_make(dir), &shapes[i], &r);
        for (size_t j = 0; j < LEN(id); j++)
            id[j] = (int32_t)sq_rng_below(&r, (uint32_t)shapes[i].vocab);
        assert_ok(sq_checkpoint_open(&ck, dir, NULL));
        if (ck.config.attention_cap > 0) {
            assert_ok(sq_llama_init(&l, &ck, &t, NULL));
            l.softmax_lanes = SQ_LLAMA_ATTEND;
            check_refused(sq_llama_block(&l, 0, NULL, NULL, &err), SQ_ERR_UNSUPPORTED, &err,
                          "scores capped at 2.5");
            sq_llama_free(&l);
        } else {
            float *const x = last_states(&ck, &t, 0), *y = last_states(&ck, &t, SQ_LLAMA_ATTEND);
            double worst = 0;
            for (size_t j = 0; j < offset[2] * ck.config.hidden_size; j++)
                worst = fmax(worst, fabs((double)x[j] - y[j]));
            if (!(worst > 0 && worst < 0.05))
                fail_msg("seed %llu shape %zu: %g apart", (unsigned long long)fixture_seed(), i,
                         worst);
        }
        sq_checkpoint_close(&ck);
        tmpdir_remove(dir);
    }
}

// Products whose sums have one order, as those of a format have.
static enum sq_status plain_products(void *context, const struct sq_llama_linear *l, bool *is_done,
                                     struct sq_error *err)
{
    const float *w;
    (void)context;
    SQ_TRY(sq_llama_weights(l, &w, err));
    for (size_t t = 0; t < l->m; t++)
        for (size_t i = 0; i < l->n; i++) {
            float sum = 0;
            for (size_t j = 0; j < l->k; j++)
                sum += l->x[t * l->k + j] * w[i * l->k + j];
            l->y[t * l->n + i] = sum;
        }
    *is_done = true;
    return SQ_OK;
}

static void run_blocks(struct sq_llama *l)
{
    struct sq_error err = {.text = ""};
    for (size_t b = 0; b < l->ck->config.n_layers; b++)
        CHECK_EQ(sq_llama_block(l, b, plain_products, NULL, &err), SQ_OK, "%s\n", err.text);
    assert_ok(sq_llama_norm(l, NULL));
}

// Piece after piece with kept keys and values, a sequence has the states, to the bit, that it has at once.
SQ_TEST(pieces_equal_the_whole)
{
    enum { LENGTH = 200 };
    struct sq_rng r = {fixture_seed()};
    for (size_t i = 0; i < LEN(shapes); i++) {
        const size_t length = shapes[i].window && !shapes[i].other ? shapes[i].window : LENGTH;
        size_t offset[] = {0, length}, longest[] = {0, 70}, own[2] = {0};
        int32_t id[LENGTH];
        const struct sq_tokens all = {1, offset, id, 0}, most = {1, longest, id, 0};
        const size_t width = shapes[i].hidden;
        struct sq_checkpoint ck;
        struct sq_llama whole, pieces;
        struct sq_error err = {.text = ""};
        char dir[64];
        write_model(tmpdir_make(dir), &shapes[i], &r);
        for (size_t j = 0; j < length; j++)
            id[j] = (int32_t)sq_rng_below(&r, (uint32_t)shapes[i].vocab);
        assert_ok(sq_checkpoint_open(&ck, dir, NULL));
        CHECK_EQ(sq_llama_init(&whole, &ck, &all, &err), SQ_OK, "%s\n", err.text);
        run_blocks(&whole);
        CHECK_EQ(sq_llama_init_cached(&pieces, &ck, &most, length, &err), SQ_OK, "%s\n", err.text);
        for (size_t at = 0; at < length; at += own[1]) {
            own[1] = sq_rng_below(&r, 4) ? 1 : 1 + sq_rng_below(&r, 70);
            own[1] = own[1] < length - at ? own[1] : length - at;
            const struct sq_tokens next = {1, own, id + at, 0};
            CHECK_EQ(sq_llama_next(&pieces, &next, &err), SQ_OK, "%s\n", err.text);
            run_blocks(&pieces);
            for (size_t j = 0; j < own[1] * width; j++)
                if (memcmp(&pieces.x[j], &whole.x[at * width + j], sizeof(float)) != 0)
                    fail_msg(
                        "seed %llu shape %zu token %zu of a piece of %zu from %zu: %a, want %a",
                        (unsigned long long)fixture_seed(), i, j / width, own[1], at,
                        (double)pieces.x[j], (double)whole.x[at * width + j]);
        }
        own[1] = 1;
        const struct sq_tokens over = {1, own, id, 0};
        char want[80];
        snprintf(want, sizeof want, "%zu tokens, need at most %zu", length + 1, length);
        check_refused(sq_llama_next(&pieces, &over, &err), SQ_ERR_RANGE, &err, want);
        sq_llama_free(&pieces);
        sq_llama_free(&whole);
        sq_checkpoint_close(&ck);
        tmpdir_remove(dir);
    }
}

// A window of sixteen takes sequences of sixteen, and no longer ones.
SQ_TEST(windows_bound_sequences)
{
    struct sq_rng r = {fixture_seed()};
    const struct shape shape = {
        24, 40, 1, 4, 2, 6, 37, true, false, true, 16, NULL, ",\"max_window_layers\":0"};
    size_t offset[] = {0, 5, 21};
    int32_t id[22] = {0};
    struct sq_tokens t = {2, offset, id, 0};
    struct sq_checkpoint ck;
    struct sq_error err = {.text = ""};
    char dir[64];
    double loss;
    write_model(tmpdir_make(dir), &shape, &r);
    CHECK_EQ(sq_checkpoint_open(&ck, dir, &err), SQ_OK, "%s\n", err.text);
    CHECK_EQ(sq_llama_loss(&ck, &t, NULL, NULL, &loss, &err), SQ_OK, "%s\n", err.text);
    offset[2] = 22;
    assert_int_equal(sq_llama_loss(&ck, &t, NULL, NULL, &loss, &err), SQ_ERR_UNSUPPORTED);
    assert_string_equal(err.text, "a sequence of 17 tokens is longer than sliding_window = 16; "
                                  "only full attention is supported");
    sq_checkpoint_close(&ck);
    tmpdir_remove(dir);
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

SQ_TEST(hooks_see_and_replace)
{
    struct sq_rng r = {fixture_seed()};
    char dir[64];
    struct sq_checkpoint ck;
    struct sq_error err;
    size_t offset[] = {0, 5};
    int32_t id[] = {3, 1, 4, 1, 5};
    const struct sq_tokens t = {1, offset, id, 0};
    double plain, watched, zeroed;
    write_model(tmpdir_make(dir), &shapes[0], &r);
    assert_ok(sq_checkpoint_open(&ck, dir, NULL));
    struct seen all = {0, SIZE_MAX, &ck}, one = {0, 13, &ck};
    assert_ok(sq_llama_loss(&ck, &t, NULL, NULL, &plain, NULL));
    assert_ok(sq_llama_loss(&ck, &t, watch, &all, &watched, NULL));
    assert_ok(sq_llama_loss(&ck, &t, watch, &one, &zeroed, NULL));
    assert_true(all.count == 14 && plain == watched && plain != zeroed);
    check_refused(sq_llama_loss(&ck, &t, refuse, NULL, &plain, &err), SQ_ERR_RANGE, &err,
                  "layer 3 refused");
    id[4] = 37;
    check_refused(sq_llama_loss(&ck, &t, NULL, NULL, &plain, &err), SQ_ERR_INDEX, &err,
                  "token 4 = 37, need 0..36");
    sq_checkpoint_close(&ck);
    const char *file = tmpdir_path(dir, "model.safetensors");
    assert_ok(sq_checkpoint_open(&ck, file, NULL));
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

SQ_TEST(stories260k_loss)
{
    char stories[512];
    check_real(test_data("models/stories260K", stories), 16259, 1.3837, 0.0002);
}

SQ_TEST(tiny_llama_loss)
{
    check_real(tiny_llama, 15347, 0.8882, 0.0001);
}

SQ_TEST(thread_count_changes_no_bit)
{
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
