// SPDX-License-Identifier: Apache-2.0
// A GGUF file as a model. One tiny Llama (2 blocks, hidden 32, 2 heads, 1 KV head, random F32) is
// written as GGUF, with rows of q and k in pairs as converters do, and as a Hugging Face directory:
// every layer and the loss must be the same, tied and untied, with the frequencies of Llama 3 as a
// tensor and as a config. Exhausted: every refusal of metadata, and every key that llama.cpp knows.
#include <math.h>

#include "sim/llm/sq_gguf_model.h"
#include "sim/llm/sq_llama.h"
#include "tests/unit/core/config_fixture.h"
#include "tests/unit/llm/gguf_fixture.h"

enum { HIDDEN = 32, INNER = 64, HEADS = 2, KV = 1, HEAD = 16, VOCAB = 24, BLOCKS = 2 };

TMPDIR_OF_ALL(dir)

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
    struct model *m = fixture_zeros(1, sizeof *m);
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

static size_t nbytes_of(const struct tensor *t)
{
    return t->p.n * (t->p.k ? t->p.k : 1) * sizeof(float);
}

// ---- as GGUF --------------------------------------------------------------------------------

// Metadata as a converter writes it; `other` replaces or adds.
struct meta {
    const char *key;
    uint32_t u32;
    const char *text;       // instead
    float f32;              // instead, where not 0
    bool is_array;          // of u32, instead
    size_t n;               // of the array, 0: 1
    bool has_last;          // its last element is another:
    uint32_t last;          //
    const char *instead_of; // the key that is replaced; NULL: `key`
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
        gguf_array(b, m->key, GGUF_U32, m->n ? m->n : 1);
        for (size_t i = 0; i < (m->n ? m->n : 1); i++)
            gguf_number(b, m->has_last && i + 1 == m->n ? m->last : m->u32, 4);
    } else if (m->f32 != 0) {
        gguf_f32(b, m->key, m->f32);
    } else {
        gguf_u32(b, m->key, m->u32);
    }
}

static size_t place_of(const struct meta *other)
{
    size_t i = 0;
    while (other && i < LEN(plain) &&
           strcmp(plain[i].key, other->instead_of ? other->instead_of : other->key) != 0)
        i++;
    return other ? i : LEN(plain) + 1;
}

static void put_all_meta(struct gguf_bytes *b, const struct meta *other)
{
    const size_t place = place_of(other);
    for (size_t i = 0; i < LEN(plain); i++)
        put_meta(b, i == place ? other : &plain[i]);
    if (place == LEN(plain))
        put_meta(b, other);
}

static size_t n_meta(const struct meta *other)
{
    return LEN(plain) + (place_of(other) == LEN(plain) ? 1 : 0);
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
}

SQ_TEST(same_as_the_directory)
{
    for (int is_tied = 0; is_tied < 2; is_tied++) {
        struct model *m = model_new(is_tied);
        compare(write_gguf(m, NULL, NULL),
                write_directory(m, is_tied ? "\"tie_word_embeddings\":true"
                                           : "\"tie_word_embeddings\":false"));
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
}

// ---- metadata alone ---------------------------------------------------------------------------

// A file of `arch` with an embedding only; `more` up to a key that is NULL. A key without its
// architecture, ".block_count", replaces that of `head`.
static enum sq_status config_of(const char *arch, const struct meta *more, char text[CONFIG_TEXT],
                                struct sq_error *err)
{
    static const struct meta head[] = {
        {.key = ".block_count", .u32 = 3},
        {.key = ".context_length", .u32 = 64},
        {.key = ".embedding_length", .u32 = HIDDEN},
        {.key = ".feed_forward_length", .u32 = INNER},
        {.key = ".attention.head_count", .u32 = 4},
        {.key = ".attention.head_count_kv", .u32 = 2},
        {.key = ".attention.layer_norm_rms_epsilon", .f32 = 0x1p-17f},
    };
    struct gguf_bytes b = {0};
    struct sq_gguf g;
    struct sq_model_config c;
    size_t n = 0;
    struct meta all[LEN(head) + 16];
    char key[LEN(all)][80];
    for (size_t i = 0; i < LEN(head); i++)
        all[n++] = head[i];
    for (; more->key; more++) {
        size_t at = 0;
        while (at < n && strcmp(all[at].key, more->key) != 0)
            at++;
        all[at] = *more;
        n += at == n;
    }
    gguf_head(&b, 3, 1, n + 1);
    gguf_text(&b, "general.architecture", arch);
    for (size_t i = 0; i < n; i++) {
        snprintf(key[i], sizeof key[i], "%s%s", arch, all[i].key);
        all[i].key = key[i];
        put_meta(&b, &all[i]);
    }
    gguf_tensor(&b, "token_embd.weight", 32, 3, 0, 0);
    gguf_pad(&b, 32);
    static const float embedding[96];
    gguf_raw(&b, embedding, sizeof embedding);
    const char *path = tmpdir_path(dir, "meta.gguf");
    write_bytes(path, b.at, b.n);
    err->text[0] = text[0] = '\0';
    enum sq_status status = sq_gguf_open(&g, path, err);
    SQ_THEN(status, sq_gguf_model_config(&g, "m", &c, err));
    if (status == SQ_OK)
        config_text(&c, text);
    sq_gguf_close(&g);
    return status;
}

// A key that stands between two others: no key, one key, what must be read the same.
enum { MAX_MORE = 5 };
static const struct {
    const char *arch;
    struct meta more[MAX_MORE];
    const char *part; // of the sentence; NULL: it is read
    struct meta same_as[MAX_MORE];
} readings[] = {
    // A factor is linear where no type says otherwise; 0 is none.
    {"llama",
     {{".rope.scaling.factor", .f32 = 4}},
     NULL,
     {{".rope.scaling.type", .text = "linear"}, {".rope.scaling.factor", .f32 = 4}}},
    {"qwen3", {{".rope.scale_linear", .f32 = 4}}, NULL, {{".rope.scaling.factor", .f32 = 4}}},
    {"qwen2",
     {{".rope.scale_linear", .f32 = 8}, {".rope.scaling.factor", .f32 = 4}},
     NULL,
     {{".rope.scaling.factor", .f32 = 4}}},
    {"llama", {{".rope.scaling.factor", .u32 = 0}}, NULL, {{0}}},
    {"llama", {{".rope.scaling.type", .text = "linear"}}, NULL, {{0}}},
    {"llama",
     {{".rope.scaling.type", .text = "none"}, {".rope.scaling.factor", .f32 = 4}},
     NULL,
     {{0}}},
    {"gemma3", {{".rope.freq_base", .f32 = 10000}}, NULL, {{0}}},
    {"llama", {{".rope.scaling.type", .text = "llama3"}}, "rope.scaling.type = llama3", {{0}}},
    {"llama", {{".rope.scaling.type", .text = "longrope"}}, "rope.scaling.type = longrope", {{0}}},
    {"llama", {{".rope.scaling.type", .u32 = 2}}, "rope.scaling.type = no text", {{0}}},
    {"llama", {{".rope.scaling.attn_factor", .f32 = -1}}, "attn_factor = -1, need more", {{0}}},
    {"llama", {{".rope.scaling.attn_factor", .f32 = 1}}, NULL, {{0}}},
    {"llama", {{".rope.scaling.yarn_ext_factor", .f32 = 1}}, "yarn_ext_factor = 1, need 0", {{0}}},
    // A number a block.
    {"llama",
     {{".attention.head_count_kv", .u32 = 2, .is_array = true, .n = 3}},
     NULL,
     {{".attention.head_count_kv", .u32 = 2}}},
    {"gemma3",
     {{".attention.head_count", .u32 = 4, .is_array = true, .n = 3},
      {".feed_forward_length", .u32 = INNER, .is_array = true, .n = 3}},
     NULL,
     {{0}}},
    {"llama",
     {{".attention.head_count_kv", .u32 = 2, .is_array = true, .n = 2}},
     "head_count_kv has 2 elements, need 3",
     {{0}}},
    {"llama",
     {{".attention.head_count_kv", .u32 = 2, .is_array = true, .n = 3, .has_last = true,
       .last = 1}},
     "head_count_kv of block 2 = 1, need 2",
     {{0}}},
    {"llama",
     {{".block_count", .u32 = 3, .is_array = true, .n = 3}},
     "block_count is an array",
     {{0}}},
    {"qwen3",
     {{".attention.head_count_kv", .u32 = 4}},
     NULL,
     {{".attention.head_count_kv", .u32 = 4}, {".attention.key_length", .u32 = 8}}},
    // Windows of Gemma 3: none, a period, an array.
    {"gemma3",
     {{".attention.sliding_window", .u32 = 9}},
     NULL,
     {{".attention.sliding_window", .u32 = 9},
      {".attention.sliding_window_pattern", .u32 = 6},
      {".rope.freq_base_swa", .f32 = 10000}}},
    {"gemma3",
     {{".attention.sliding_window", .u32 = 9}, {".attention.sliding_window_pattern", .u32 = 3}},
     NULL,
     {{".attention.sliding_window", .u32 = 9},
      {".attention.sliding_window_pattern", .u32 = 1, .is_array = true, .n = 3, .has_last = true,
       .last = 0}}},
    {"gemma3",
     {{".attention.sliding_window", .u32 = 9}, {".attention.sliding_window_pattern", .u32 = 0}},
     NULL,
     {{".attention.sliding_window", .u32 = 9},
      {".attention.sliding_window_pattern", .u32 = 1, .is_array = true, .n = 3, .has_last = true,
       .last = 1}}},
    {"gemma3", {{".attention.sliding_window", .u32 = 0}}, NULL, {{0}}},
    {"gemma3", {{".attention.sliding_window_pattern", .u32 = 2}}, NULL, {{0}}},
    {"gemma3",
     {{".attention.sliding_window", .u32 = 9},
      {".attention.sliding_window_pattern", .u32 = 1, .is_array = true, .n = 4}},
     "sliding_window_pattern has 4 elements",
     {{0}}},
    {"llama",
     {{".attention.sliding_window", .u32 = 9}, {".attention.sliding_window_pattern", .u32 = 2}},
     "sliding_window_pattern may change values",
     {{0}}},
    {"qwen3", {{".rope.freq_base_swa", .f32 = 5}}, "freq_base_swa may change values", {{0}}},
    // What is there with its plain value.
    {"llama", {{".tensor_data_layout", .text = "Meta AI original pth"}}, NULL, {{0}}},
    {"llama", {{".tensor_data_layout", .text = "reference"}}, "tensor_data_layout is", {{0}}},
    {"qwen2", {{".tensor_data_layout", .text = "reference"}}, NULL, {{0}}},
    {"llama", {{".expert_count", .u32 = 0}, {".expert_used_count", .u32 = 0}}, NULL, {{0}}},
    {"llama", {{".logit_scale", .f32 = 1}, {".attention.causal", .u32 = 1}}, NULL, {{0}}},
    {"llama", {{".logit_scale", .f32 = 2}}, "llama.logit_scale = 2, need 1", {{0}}},
    {"gemma3", {{".attn_logit_softcapping", .f32 = 50}}, "attn_logit_softcapping = 50", {{0}}},
    {"llama", {{".something.new", .u32 = 1}}, "llama.something.new may change values", {{0}}},
};

SQ_TEST(metadata_is_read_as_llama_cpp_reads_it)
{
    for (size_t i = 0; i < LEN(readings); i++) {
        const char *arch = readings[i].arch, *key = readings[i].more[0].key;
        char got[CONFIG_TEXT], want[CONFIG_TEXT];
        struct sq_error err;
        const enum sq_status status = config_of(arch, readings[i].more, got, &err);
        if (readings[i].part) {
            if (status == SQ_OK || !strstr(err.text, readings[i].part))
                fail_msg("%s%s: '%s' does not say '%s'", arch, key, err.text, readings[i].part);
            continue;
        }
        CHECK_EQ(status, SQ_OK, "%s%s: %s\n", arch, key, err.text);
        CHECK_EQ(config_of(arch, readings[i].same_as, want, &err), SQ_OK, "%s%s: %s\n", arch, key,
                 err.text);
        if (strcmp(got, want) != 0)
            fail_msg("%s%s is read as\n%s, not as\n%s", arch, key, got, want);
    }
}

// The numbers themselves, by hand from llama.cpp's load_hparams.
SQ_TEST(defaults_of_llama_cpp)
{
    static const struct {
        const char *arch;
        struct meta more[MAX_MORE];
        const char *part; // of the config's text
    } c[] = {
        {"gemma3", {{0}}, "query 8 caps 0 0 local 0 rope 10000 1 1 0"},
        {"gemma3", {{".block_count", .u32 = 62}, {".attention.key_length", .u32 = 16}}, "query 8 "},
        {"gemma3",
         {{".block_count", .u32 = 61}, {".attention.key_length", .u32 = 16}},
         "query 16 "},
        {"gemma3",
         {{".attention.sliding_window", .u32 = 9}, {".rope.scaling.factor", .f32 = 8}},
         "local 9 rope 10000 8 1 0 0 0 0 0 rope 10000 1 1 0 0 0 0 0 111"},
        {"gemma3",
         {{".attention.sliding_window", .u32 = 9}, {".rope.scaling.attn_factor", .f32 = 0.5f}},
         "rope 10000 1 0.5 0 0 0 0 0 rope 10000 1 0.5 0"},
        {"gemma3",
         {{".block_count", .u32 = 13}, {".attention.sliding_window", .u32 = 9}},
         " 1111101111101"},
        {"gemma3", {{".final_logit_softcapping", .f32 = 30}}, "caps 0 30"},
        {"llama", {{".rope.scaling.attn_factor", .f32 = 0.5f}}, "rope 10000 1 0.5 0"},
        {"llama", {{".attention.sliding_window", .u32 = 9}}, "window 9"},
        {"qwen2", {{".attention.sliding_window", .u32 = 9}}, "window 9"},
        {"qwen3", {{0}}, "32 64 3 4 2 8 3 64 eps"},
    };
    for (size_t i = 0; i < LEN(c); i++) {
        char got[CONFIG_TEXT];
        struct sq_error err;
        CHECK_EQ(config_of(c[i].arch, c[i].more, got, &err), SQ_OK, "%s\n", err.text);
        if (!strstr(got, c[i].part))
            fail_msg("case %zu: %s has no '%s'", i, got, c[i].part);
    }
    for (size_t i = 0; i < LEN(plain); i++) { // llama.cpp has no default of these
        static const char *const needed[] = {"block_count",      "context_length",
                                             "embedding_length", "feed_forward_length",
                                             "head_count",       "rms_epsilon"};
        for (size_t j = 0; j < LEN(needed); j++) {
            const size_t n = strlen(plain[i].key), k = strlen(needed[j]);
            if (n < k || strcmp(plain[i].key + n - k, needed[j]) != 0)
                continue;
            struct model *m = model_new(true);
            struct sq_checkpoint ck;
            struct sq_error err;
            struct meta renamed = plain[i];
            renamed.key = "other.key";
            renamed.instead_of = plain[i].key;
            assert_int_equal(sq_checkpoint_open(&ck, write_gguf(m, &renamed, NULL), &err),
                             SQ_ERR_DAMAGED);
            assert_non_null(strstr(err.text, "is missing"));
        }
    }
}

// Every key of a model's namespace that llama.cpp knows (LLM_KV_NAMES, 2026), with a value that is
// not plain: it changes what is read, or is refused by its name, or llama.cpp makes nothing of it.
SQ_TEST(no_key_is_passed_over)
{
    // clang-format off
    static const char *const keys[] = {
        "vocab_size", "context_length", "embedding_length", "embedding_length_out",
        "embedding_length_per_layer_input", "features_length", "block_count",
        "leading_dense_block_count", "feed_forward_length", "expert_feed_forward_length",
        "expert_shared_feed_forward_length", "expert_chunk_feed_forward_length",
        "swiglu_clamp_exp", "swiglu_clamp_shexp", "use_parallel_residual", "tensor_data_layout",
        "expert_count", "expert_used_count", "expert_shared_count", "expert_group_count",
        "expert_group_used_count", "expert_weights_scale", "expert_weights_norm",
        "expert_gating_func", "expert_group_scale", "experts_per_group", "moe_every_n_layers",
        "moe_latent_size", "nextn_predict_layers", "n_deepstack_layers", "deepstack_mapping",
        "hidden_activation", "pooling_type", "logit_scale", "decoder_start_token_id",
        "decoder_block_count", "attn_logit_softcapping", "router_logit_softcapping",
        "final_logit_softcapping", "swin_norm", "rescale_every_n_layers", "time_mix_extra_dim",
        "time_decay_extra_dim", "residual_scale", "embedding_scale", "token_shift_count",
        "interleave_moe_layer_step", "full_attention_interval", "attention.head_count",
        "attention.head_count_kv", "attention.max_alibi_bias", "attention.clamp_kqv",
        "attention.key_length", "attention.value_length", "attention.layer_norm_epsilon",
        "attention.layer_norm_rms_epsilon", "attention.group_norm_epsilon",
        "attention.group_norm_groups", "attention.causal", "attention.q_lora_rank",
        "attention.kv_lora_rank", "attention.decay_lora_rank", "attention.iclr_lora_rank",
        "attention.value_residual_mix_lora_rank", "attention.gate_lora_rank",
        "attention.relative_buckets_count", "attention.sliding_window",
        "attention.sliding_window_pattern", "attention.scale", "attention.output_scale",
        "attention.value_scale", "attention.temperature_length", "attention.temperature_scale",
        "attention.key_length_mla", "attention.value_length_mla", "attention.key_length_swa",
        "attention.value_length_swa", "attention.indexer.head_count",
        "attention.indexer.key_length", "attention.indexer.top_k", "attention.output_group_count",
        "attention.output_lora_rank", "attention.compress_rope_freq_base",
        "attention.compress_ratios", "attention.shared_kv_layers", "attention.recurrent_layers",
        "hyper_connection.count", "hyper_connection.sinkhorn_iterations",
        "hyper_connection.epsilon", "hash_layer_count", "rope.dimension_count",
        "rope.dimension_count_swa", "rope.dimension_sections", "rope.freq_base",
        "rope.freq_base_swa", "rope.scale_linear", "rope.scaling.type", "rope.scaling.factor",
        "rope.scaling.alpha", "rope.scaling.attn_factor", "rope.scaling.original_context_length",
        "rope.scaling.finetuned", "rope.scaling.yarn_log_multiplier",
        "rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor",
        "rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow", "ssm.conv_kernel",
        "ssm.inner_size", "ssm.state_size", "ssm.time_step_rank", "ssm.group_count",
        "ssm.dt_b_c_rms", "kda.head_dim", "wkv.head_size", "posnet.embedding_length",
        "posnet.block_count", "convnext.embedding_length", "convnext.block_count",
        "classifier.output_labels", "target_layers", "target_hidden_size", "norm_before_residual",
        "shortconv.l_cache", "dense_2_feat_in", "dense_2_feat_out", "dense_3_feat_in",
        "dense_3_feat_out"};
    // clang-format on
    // Names, training, embeddings; those of YaRN where the type, which is refused, is another.
    static const char *const inert[] = {"vocab_size",
                                        "pooling_type",
                                        "rope.scaling.original_context_length",
                                        "rope.scaling.finetuned",
                                        "rope.scaling.yarn_beta_fast",
                                        "rope.scaling.yarn_beta_slow"};
    static const char *const arch[] = {"llama", "qwen2", "qwen3", "gemma3"};
    for (size_t a = 0; a < LEN(arch); a++)
        for (size_t i = 0; i < LEN(keys); i++) {
            char base[CONFIG_TEXT], text[CONFIG_TEXT], key[80];
            struct sq_error err;
            // A window is there, so that its pattern and its base matter; "3" is nobody's default.
            struct meta more[3] = {{.key = ".attention.sliding_window", .u32 = 9}};
            CHECK_EQ(config_of(arch[a], more, base, &err), SQ_OK, "%s\n", err.text);
            snprintf(key, sizeof key, ".%s", keys[i]);
            more[1] = (struct meta){.key = key, .u32 = 3};
            if (strcmp(keys[i], "block_count") == 0)
                more[1].u32 = 4;
            if (strcmp(keys[i], "embedding_length") == 0)
                more[1].u32 = 2 * HIDDEN;
            if (strcmp(keys[i], "attention.head_count_kv") == 0)
                more[1].u32 = 1;
            if (strcmp(keys[i], "attention.key_length") == 0)
                more[1].u32 = 6;
            if (strcmp(keys[i], "attention.layer_norm_rms_epsilon") == 0)
                more[1].f32 = 0.5;
            const enum sq_status status = config_of(arch[a], more, text, &err);
            bool is_inert = false;
            for (size_t j = 0; j < LEN(inert); j++)
                is_inert = is_inert || strcmp(keys[i], inert[j]) == 0;
            const bool is_named =
                status != SQ_OK &&
                (strstr(err.text, keys[i]) ||
                 (strcmp(keys[i], "expert_count") == 0 && strstr(err.text, "experts")) ||
                 (strcmp(keys[i], "attention.head_count") == 0 && strstr(err.text, "heads")));
            if (is_inert ? status != SQ_OK || strcmp(text, base) != 0
                         : !is_named && (status != SQ_OK || strcmp(text, base) == 0))
                fail_msg("%s.%s is %s %s", arch[a], keys[i],
                         status == SQ_OK ? "passed over or read" : "refused:", err.text);
        }
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
}
