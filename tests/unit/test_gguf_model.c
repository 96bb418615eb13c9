// SPDX-License-Identifier: Apache-2.0
// A GGUF file as a model. One tiny Llama (2 blocks, hidden 32, 2 heads, 1 KV head, random F32) is
// written as GGUF, with rows of q and k in pairs as converters do, and as a Hugging Face directory:
// every layer and the loss must be the same, tied and untied, with the frequencies of Llama 3 as a
// tensor and as a config. Exhausted: every refusal of metadata.
#include <math.h>

#include "sim/llm/sq_llama.h"
#include "tests/unit/gguf_fixture.h"

enum { HIDDEN = 32, INNER = 64, HEADS = 2, KV = 1, HEAD = 16, VOCAB = 24, BLOCKS = 2 };

static char dir[64];

// ---- the model ------------------------------------------------------------------------------

static const struct part {
    const char *gguf, *name;
    size_t n, k; // k = 0: a vector
    size_t n_rotated;
} block_part[] = {
    {"attn_norm", "input_layernorm", HIDDEN, 0, 0},
    {"attn_q", "self_attn.q_proj", HEADS *HEAD, HIDDEN, HEADS},
    {"attn_k", "self_attn.k_proj", KV *HEAD, HIDDEN, KV},
    {"attn_v", "self_attn.v_proj", KV *HEAD, HIDDEN, 0},
    {"attn_output", "self_attn.o_proj", HIDDEN, HEADS *HEAD, 0},
    {"ffn_norm", "post_attention_layernorm", HIDDEN, 0, 0},
    {"ffn_gate", "mlp.gate_proj", INNER, HIDDEN, 0},
    {"ffn_up", "mlp.up_proj", INNER, HIDDEN, 0},
    {"ffn_down", "mlp.down_proj", HIDDEN, INNER, 0},
};

struct tensor {
    char gguf[48], name[80];
    struct part p;
    float *v;
};

struct model {
    struct tensor t[BLOCKS * LEN(block_part) + 4];
    size_t n;
};

static void add(struct model *m, const char *gguf, const char *name, struct part p,
                struct sq_rng *r)
{
    struct tensor *t = &m->t[m->n++];
    snprintf(t->gguf, sizeof t->gguf, "%s.weight", gguf);
    snprintf(t->name, sizeof t->name, "%s.weight", name);
    t->p = p;
    const size_t size = p.n * (p.k ? p.k : 1);
    t->v = fixture_alloc(size * sizeof *t->v);
    for (size_t i = 0; i < size; i++)
        t->v[i] = (float)(0.3 * fixture_gauss(r));
}

static struct model *model_new(bool is_tied)
{
    struct sq_rng r = {fixture_seed()};
    struct model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    add(m, "token_embd", "model.embed_tokens", (struct part){.n = VOCAB, .k = HIDDEN}, &r);
    add(m, "output_norm", "model.norm", (struct part){.n = HIDDEN}, &r);
    if (!is_tied)
        add(m, "output", "lm_head", (struct part){.n = VOCAB, .k = HIDDEN}, &r);
    for (unsigned b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < LEN(block_part); i++) {
            char gguf[40], name[64];
            snprintf(gguf, sizeof gguf, "blk.%u.%s", b, block_part[i].gguf);
            snprintf(name, sizeof name, "model.layers.%u.%s", b, block_part[i].name);
            add(m, gguf, name, block_part[i], &r);
        }
    return m;
}

static void model_free(struct model *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->t[i].v);
    free(m);
}

static size_t nbytes_of(const struct tensor *t)
{
    return t->p.n * (t->p.k ? t->p.k : 1) * sizeof(float);
}

// ---- as GGUF --------------------------------------------------------------------------------

// Metadata as a converter writes it; `other` replaces or adds.
struct meta {
    const char *key;
    uint32_t u32;
    const char *text; // instead
    float f32;        // instead, where not 0
    bool is_array;    // of one u32, instead
};

static const struct meta plain[] = {
    {.key = "general.architecture", .text = "llama"},
    {.key = "llama.block_count", .u32 = BLOCKS},
    {.key = "llama.context_length", .u32 = 64},
    {.key = "llama.embedding_length", .u32 = HIDDEN},
    {.key = "llama.feed_forward_length", .u32 = INNER},
    {.key = "llama.attention.head_count", .u32 = HEADS},
    {.key = "llama.attention.head_count_kv", .u32 = KV},
    {.key = "llama.attention.layer_norm_rms_epsilon", .f32 = 0x1p-17f},
    {.key = "llama.rope.freq_base", .f32 = 10000},
    {.key = "llama.rope.dimension_count", .u32 = HEAD},
};

static void put_meta(struct gguf_bytes *b, const struct meta *m)
{
    if (m->text) {
        gguf_text(b, m->key, m->text);
    } else if (m->is_array) {
        gguf_array(b, m->key, GGUF_U32, 1);
        gguf_number(b, m->u32, 4);
    } else if (m->f32 != 0) {
        gguf_f32(b, m->key, m->f32);
    } else {
        gguf_u32(b, m->key, m->u32);
    }
}

static void put_all_meta(struct gguf_bytes *b, const struct meta *other)
{
    for (size_t i = 0; i < LEN(plain); i++)
        put_meta(b, other && strcmp(plain[i].key, other->key) == 0 ? other : &plain[i]);
    bool is_new = other != NULL;
    for (size_t i = 0; i < LEN(plain); i++)
        is_new = is_new && strcmp(plain[i].key, other->key) != 0;
    if (is_new)
        put_meta(b, other);
}

static size_t n_meta(const struct meta *other)
{
    for (size_t i = 0; other && i < LEN(plain); i++)
        if (strcmp(plain[i].key, other->key) == 0)
            return LEN(plain);
    return LEN(plain) + (other ? 1 : 0);
}

// convert_hf_to_gguf.py: reshape(heads, 2, head / 2, k).swapaxes(1, 2)
static void put_rows(struct gguf_bytes *b, const struct tensor *t)
{
    if (!t->p.n_rotated) {
        gguf_raw(b, t->v, nbytes_of(t));
        return;
    }
    for (size_t head = 0; head < t->p.n_rotated; head++)
        for (size_t i = 0; i < HEAD / 2; i++)
            for (size_t j = 0; j < 2; j++)
                gguf_raw(b, t->v + (head * HEAD + j * HEAD / 2 + i) * t->p.k,
                         t->p.k * sizeof(float));
}

static const char *write_gguf(const struct model *m, const struct meta *other, const float *divisor)
{
    struct gguf_bytes b = {0};
    uint64_t at = 0;
    gguf_head(&b, 3, m->n + (divisor ? 1 : 0), n_meta(other));
    put_all_meta(&b, other);
    for (size_t i = 0; i < m->n; i++) {
        const struct tensor *t = &m->t[i];
        gguf_tensor(&b, t->gguf, t->p.k ? t->p.k : t->p.n, t->p.k ? t->p.n : 0, 0, at);
        at += nbytes_of(t); // all multiples of 32
    }
    if (divisor)
        gguf_tensor(&b, "rope_freqs.weight", HEAD / 2, 0, 0, at);
    gguf_pad(&b, 32);
    for (size_t i = 0; i < m->n; i++)
        put_rows(&b, &m->t[i]);
    if (divisor)
        gguf_raw(&b, divisor, HEAD / 2 * sizeof *divisor);
    const char *path = tmpdir_path(dir, "model.gguf");
    write_bytes(path, b.at, b.n);
    gguf_free(&b);
    return path;
}

// ---- as a directory -------------------------------------------------------------------------

static const char *write_directory(const struct model *m, const char *more)
{
    char config[1024];
    struct sq_tensor t[LEN(m->t)];
    for (size_t i = 0; i < m->n; i++)
        t[i] = (struct sq_tensor){.name = m->t[i].name,
                                  .dtype = SQ_F32,
                                  .n_dims = m->t[i].p.k ? 2 : 1,
                                  .dim = {m->t[i].p.n, m->t[i].p.k},
                                  .data = (const uint8_t *)m->t[i].v};
    assert_int_equal(
        sq_safetensors_write(tmpdir_path(dir, "model.safetensors"), t, m->n, NULL, 0, NULL), SQ_OK);
    snprintf(config, sizeof config,
             "{\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":%d,"
             "\"intermediate_size\":%d,\"num_hidden_layers\":%d,\"num_attention_heads\":%d,"
             "\"num_key_value_heads\":%d,\"vocab_size\":%d,\"max_position_embeddings\":64,"
             "\"rms_norm_eps\":%.9g,\"rope_theta\":10000.0,%s}",
             HIDDEN, INNER, BLOCKS, HEADS, KV, VOCAB, 0x1p-17, more);
    write_bytes(tmpdir_path(dir, "config.json"), config, strlen(config));
    return dir;
}

static double loss_of(const struct sq_checkpoint *ck)
{
    size_t offset[] = {0, 40};
    int32_t id[40];
    for (int i = 0; i < 40; i++)
        id[i] = i * i % VOCAB;
    const struct sq_tokens tokens = {1, offset, id, 0};
    struct sq_error err;
    double loss = 0;
    CHECK_EQ(sq_llama_loss(ck, &tokens, NULL, NULL, &loss, &err), SQ_OK, "%s\n", err.text);
    return loss;
}

static void compare(const char *gguf, const char *directory)
{
    struct sq_checkpoint a, b;
    struct sq_error err;
    float *x = fixture_alloc(INNER * HIDDEN * sizeof *x),
          *y = fixture_alloc(INNER * HIDDEN * sizeof *y);
    CHECK_EQ(sq_checkpoint_open(&a, gguf, &err), SQ_OK, "%s\n", err.text);
    CHECK_EQ(sq_checkpoint_open(&b, directory, &err), SQ_OK, "%s\n", err.text);
    assert_true(a.is_model && a.n_layers == b.n_layers);
    assert_int_equal(a.config.tie_word_embeddings, b.config.tie_word_embeddings);
    for (size_t i = 0; i < a.n_layers; i++) {
        assert_string_equal(a.layer[i].name, b.layer[i].name);
        assert_int_equal(sq_checkpoint_read_layer(&a, i, x, &err), SQ_OK);
        assert_int_equal(sq_checkpoint_read_layer(&b, i, y, &err), SQ_OK);
        assert_memory_equal(x, y, a.layer[i].n * a.layer[i].k * sizeof *x);
    }
    const double la = loss_of(&a), lb = loss_of(&b);
    if (!(fabs(la - lb) < 1e-6 && la > 0.1))
        fail_msg("loss %.9f from GGUF, %.9f from the directory", la, lb);
    assert_null(sq_checkpoint_find(&a, "token_embd.weight"));
    sq_checkpoint_close(&a);
    sq_checkpoint_close(&b);
    free(x);
    free(y);
}

SQ_TEST(same_as_the_directory)
{
    for (int is_tied = 0; is_tied < 2; is_tied++) {
        struct model *m = model_new(is_tied);
        compare(write_gguf(m, NULL, NULL),
                write_directory(m, is_tied ? "\"tie_word_embeddings\":true"
                                           : "\"tie_word_embeddings\":false"));
        model_free(m);
    }
}

// convert_hf_to_gguf.py, Llama 3.
SQ_TEST(frequencies_as_a_tensor)
{
    struct model *m = model_new(true);
    const double factor = 8, low = 1, high = 4, context = 32;
    float divisor[HEAD / 2];
    for (size_t i = 0; i < HEAD / 2; i++) {
        const double f = pow(10000, -2.0 * (double)i / HEAD), wavelength = 2 * acos(-1.0) / f;
        const double smooth = (context / wavelength - low) / (high - low);
        divisor[i] = wavelength < context / high  ? 1
                     : wavelength > context / low ? (float)factor
                                                  : (float)(1 / ((1 - smooth) / factor + smooth));
    }
    compare(write_gguf(m, NULL, divisor),
            write_directory(m, "\"tie_word_embeddings\":true,\"rope_scaling\":{\"rope_type\":"
                               "\"llama3\",\"factor\":8.0,\"low_freq_factor\":1.0,"
                               "\"high_freq_factor\":4.0,"
                               "\"original_max_position_embeddings\":32}"));
    model_free(m);
}

SQ_TEST(metadata_that_is_refused)
{
    static const struct {
        struct meta meta;
        enum sq_status status;
        const char *part;
    } bad[] = {
        {{.key = "general.architecture", .text = "mamba"}, SQ_ERR_UNSUPPORTED, "mamba"},
        {{.key = "general.architecture", .u32 = 7}, SQ_ERR_DAMAGED, "no name"},
        {{.key = "llama.expert_count", .u32 = 8}, SQ_ERR_UNSUPPORTED, "experts"},
        {{.key = "llama.block_count", .u32 = 0}, SQ_ERR_RANGE, "num_hidden_layers = 0"},
        {{.key = "llama.block_count", .u32 = 3}, SQ_ERR_DAMAGED, "'model.layers.2."},
        {{.key = "llama.embedding_length", .u32 = 64}, SQ_ERR_UNSUPPORTED, "need 32, the head"},
        {{.key = "llama.attention.head_count_kv", .u32 = 2}, SQ_ERR_SHAPE, "k_proj"},
        {{.key = "llama.embedding_length", .u32 = 32, .is_array = true},
         SQ_ERR_UNSUPPORTED,
         "llama.embedding_length is an array of u32, need one number"},
        {{.key = "llama.embedding_length", .text = "32"}, SQ_ERR_RANGE, "hidden_size"},
        {{.key = "llama.attention.layer_norm_rms_epsilon", .f32 = INFINITY},
         SQ_ERR_UNSUPPORTED,
         "is no legal f32"},
        {{.key = "llama.rope.dimension_count", .u32 = 8},
         SQ_ERR_UNSUPPORTED,
         "rope.dimension_count = 8, need 16, the head"},
        {{.key = "llama.attention.value_length", .u32 = 8}, SQ_ERR_UNSUPPORTED, "value_length = 8"},
        {{.key = "llama.rope.scaling.type", .text = "yarn"}, SQ_ERR_UNSUPPORTED, "yarn"},
        {{.key = "llama.attention.sliding_window", .u32 = 0}, SQ_ERR_RANGE, "sliding_window = 0"},
    };
    struct model *m = model_new(true);
    for (size_t i = 0; i < LEN(bad); i++) {
        struct sq_checkpoint ck;
        struct sq_error err = {0};
        const enum sq_status status =
            sq_checkpoint_open(&ck, write_gguf(m, &bad[i].meta, NULL), &err);
        CHECK_EQ(status, bad[i].status, "%s: %s\n", bad[i].meta.key, err.text);
        if (!strstr(err.text, bad[i].part))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].part);
        assert_null(ck.tensor);
    }
    model_free(m);
}

// A second tensor that would get the name of the first, and names that only look like a block's.
SQ_TEST(names)
{
    struct model *m = model_new(true);
    struct sq_checkpoint ck;
    struct sq_error err;
    snprintf(m->t[2].gguf, sizeof m->t[2].gguf, "model.norm.weight");
    assert_int_equal(sq_checkpoint_open(&ck, write_gguf(m, NULL, NULL), &err), SQ_ERR_DAMAGED);
    assert_non_null(strstr(err.text, "two tensors are 'model.norm.weight'"));
    static const char *const odd[] = {"blk.00.attn_norm.weight", "blk.+0.attn_norm.weight",
                                      "blk. 0.attn_norm.weight", "blk.0.attn_norm.scale",
                                      "blk.0.attn_norm"};
    for (size_t i = 0; i < LEN(odd); i++) {
        snprintf(m->t[2].gguf, sizeof m->t[2].gguf, "%s", odd[i]);
        assert_int_equal(sq_checkpoint_open(&ck, write_gguf(m, NULL, NULL), &err), SQ_ERR_DAMAGED);
        assert_non_null(strstr(err.text, "'model.layers.0.input_layernorm.weight' is missing"));
    }
    model_free(m);
}

// Overlapping windows: what is context is seen, and not predicted again.
SQ_TEST(context_is_not_predicted)
{
    struct model *m = model_new(true);
    struct sq_checkpoint ck;
    size_t whole[] = {0, 12, 24}, prefix[] = {0, 5};
    int32_t id[24];
    double both, first, second, seen;
    for (int i = 0; i < 12; i++) // the second window begins with the last five of the first
        id[i] = i * 5 % VOCAB;
    for (int i = 0; i < 12; i++)
        id[12 + i] = i < 5 ? id[7 + i] : i * 7 % VOCAB;
    assert_int_equal(sq_checkpoint_open(&ck, write_gguf(m, NULL, NULL), NULL), SQ_OK);
    const struct sq_tokens overlap = {2, whole, id, 5}, a = {1, whole, id, 0},
                           b = {1, whole, id + 12, 0}, c = {1, prefix, id + 12, 0};
    assert_int_equal(sq_tokens_predicted(&overlap), 11 + 7);
    assert_int_equal(sq_llama_loss(&ck, &overlap, NULL, NULL, &both, NULL), SQ_OK);
    assert_int_equal(sq_llama_loss(&ck, &a, NULL, NULL, &first, NULL), SQ_OK);
    assert_int_equal(sq_llama_loss(&ck, &b, NULL, NULL, &second, NULL), SQ_OK);
    assert_int_equal(sq_llama_loss(&ck, &c, NULL, NULL, &seen, NULL), SQ_OK);
    if (!(fabs(18 * both - (11 * first + 11 * second - 4 * seen)) < 1e-4))
        fail_msg("%.9f, want %.9f", 18 * both, 11 * first + 11 * second - 4 * seen);
    sq_checkpoint_close(&ck);
    model_free(m);
}

static int set_up(void **state)
{
    (void)state;
    tmpdir_make(dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tmpdir_remove(dir);
    return 0;
}

SQ_BEFORE_ALL(set_up)
SQ_AFTER_ALL(tear_down)
