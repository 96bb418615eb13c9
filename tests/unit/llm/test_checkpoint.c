// SPDX-License-Identifier: Apache-2.0
// Hugging Face model directories.
//
// One tiny Llama (2 blocks, hidden 8, 2 heads, 1 KV head, F16) is written in every layout: single
// file, shards with index, tied and untied. Exhausted: every field of config.json that is
// range-checked or refused, each with a value on the wrong side; every kind of lie of the index.
// The real model stories260K is read where it exists.
#include <jansson.h>

#include "sim/llm/foreign/sq_foreign_config.h"
#include "sim/llm/sq_checkpoint.h"
#include "tests/data.h"
#include "tests/skip.h"
#include "tests/unit/core/config_fixture.h"
#include "tests/unit/tmpdir.h"

static const char base_config[] =
    "{\"architectures\":[\"LlamaForCausalLM\"],\"model_type\":\"llama\",\"hidden_size\":8,"
    "\"intermediate_size\":12,\"num_hidden_layers\":2,\"num_attention_heads\":2,"
    "\"num_key_value_heads\":1,\"vocab_size\":16,\"max_position_embeddings\":32,"
    "\"rms_norm_eps\":1e-5,\"rope_theta\":10000.0,\"tie_word_embeddings\":true}";

// ---- writing the model ----------------------------------------------------------------------

struct model {
    char dir[64];
    char name[32][64];
    struct sq_tensor tensor[32];
    size_t n;
};
static uint16_t f16_ones[256]; // filled by model_new

static void add(struct model *m, const char *name, uint64_t rows, uint64_t cols)
{
    snprintf(m->name[m->n], sizeof m->name[0], "%s", name);
    m->tensor[m->n] = (struct sq_tensor){.name = m->name[m->n],
                                         .dtype = SQ_F16,
                                         .n_dims = cols ? 2 : 1,
                                         .dim = {rows, cols},
                                         .data = (const uint8_t *)f16_ones};
    m->n++;
}

static void write_config(const struct model *m, const char *text)
{
    write_bytes(tmpdir_path(m->dir, "config.json"), text, strlen(text));
}

// The base config with one field replaced, added or removed.
static void write_changed(const struct model *m, const char *field, const char *value)
{
    json_t *root = json_loads(base_config, 0, NULL);
    if (value)
        json_object_set_new(root, field, json_loads(value, JSON_DECODE_ANY, NULL));
    else
        json_object_del(root, field);
    char *text = json_dumps(root, 0);
    write_config(m, text);
    free(text);
    json_decref(root);
}

static struct model *model_new(void)
{
    struct model *m = fixture_zeros(1, sizeof *m);
    static const struct {
        const char *part;
        uint64_t rows, cols;
    } block[] = {{"mlp.down_proj", 8, 12},   {"mlp.up_proj", 12, 8},
                 {"mlp.gate_proj", 12, 8},   {"self_attn.o_proj", 8, 8},
                 {"self_attn.v_proj", 4, 8}, {"self_attn.k_proj", 4, 8},
                 {"self_attn.q_proj", 8, 8}, {"post_attention_layernorm", 8, 0},
                 {"input_layernorm", 8, 0}};
    tmpdir_make(m->dir);
    for (size_t i = 0; i < LEN(f16_ones); i++)
        f16_ones[i] = 0x3c00;
    add(m, "model.embed_tokens.weight", 16, 8);
    add(m, "model.norm.weight", 8, 0);
    for (unsigned i = 0; i < 2; i++)
        for (size_t j = 0; j < LEN(block); j++) {
            char name[64];
            snprintf(name, sizeof name, "model.layers.%u.%s.weight", i, block[j].part);
            add(m, name, block[j].rows, block[j].cols);
        }
    write_config(m, base_config);
    return m;
}

static void write_tensors(const struct model *m, const char *file, size_t from, size_t to)
{
    assert_int_equal(
        sq_safetensors_write(tmpdir_path(m->dir, file), m->tensor + from, to - from, NULL, 0, NULL),
        SQ_OK);
}

static void model_free(struct model *m)
{
    tmpdir_remove(m->dir);
}

static void refused(const struct model *m, enum sq_status status, const char *part)
{
    struct sq_checkpoint ck;
    struct sq_error err = {.text = ""};
    check_refused(sq_checkpoint_open(&ck, m->dir, &err), status, &err, part);
    assert_null(ck.layer);
    assert_null(ck.shard);
}

// ---- what opens -----------------------------------------------------------------------------

static void check_model(const char *path)
{
    static const char *const order[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                        "self_attn.o_proj", "mlp.gate_proj",    "mlp.up_proj",
                                        "mlp.down_proj"};
    static const size_t shape[][2] = {{8, 8}, {4, 8}, {4, 8}, {8, 8}, {12, 8}, {12, 8}, {8, 12}};
    struct sq_checkpoint ck;
    struct sq_error err = {.text = ""};
    if (sq_checkpoint_open(&ck, path, &err) != SQ_OK)
        fail_msg("%s", err.text);
    assert_int_equal(ck.n_layers, 14);
    assert_int_equal(ck.config.head_dim, 4);
    assert_true(ck.is_model && ck.config.tie_word_embeddings && !ck.config.rope.is_llama3);
    for (size_t i = 0; i < 14; i++) {
        char name[64];
        float w[96];
        snprintf(name, sizeof name, "model.layers.%zu.%s", i / 7, order[i % 7]);
        assert_string_equal(ck.layer[i].name, name);
        assert_int_equal(ck.layer[i].n, shape[i % 7][0]);
        assert_int_equal(ck.layer[i].k, shape[i % 7][1]);
        assert_int_equal(sq_checkpoint_read_layer(&ck, i, w, &err), SQ_OK);
        for (size_t j = 0; j < ck.layer[i].n * ck.layer[i].k; j++)
            assert_true(w[j] == 1.0f);
    }
    float norm[8];
    assert_int_equal(sq_checkpoint_read_layer(&ck, 14, norm, &err), SQ_ERR_ARG);
    assert_int_equal(sq_checkpoint_read(&ck, "model.norm.weight", norm, 8, &err), SQ_OK);
    assert_int_equal(sq_checkpoint_read(&ck, "model.norm.weight", norm, 7, &err), SQ_ERR_SHAPE);
    assert_int_equal(sq_checkpoint_read(&ck, "none", norm, 8, &err), SQ_ERR_DAMAGED);
    sq_checkpoint_close(&ck);
}

SQ_TEST(single_file_and_bag)
{
    struct model *m = model_new();
    write_tensors(m, "model.safetensors", 0, m->n);
    check_model(m->dir);
    struct sq_checkpoint ck;
    assert_int_equal(sq_checkpoint_open(&ck, tmpdir_path(m->dir, "model.safetensors"), NULL),
                     SQ_OK);
    assert_false(ck.is_model);
    assert_int_equal(ck.n_layers, 15); // 14 and the embedding
    assert_string_equal(ck.layer[0].name, "model.embed_tokens");
    sq_checkpoint_close(&ck);
    model_free(m);
}

// An index that puts the first half of the tensors in a, the rest in b, and `only` elsewhere: in
// `where`, or in no string.
static void write_index(const struct model *m, const char *only, const char *where)
{
    json_t *map = json_object(), *root = json_object();
    for (size_t i = 0; i < m->n; i++)
        json_object_set_new(map, m->name[i],
                            json_string(i < m->n / 2 ? "a.safetensors" : "b.safetensors"));
    if (only)
        json_object_set_new(map, only, where ? json_string(where) : json_integer(1));
    json_object_set_new(root, "weight_map", map);
    json_dump_file(root, tmpdir_path(m->dir, "model.safetensors.index.json"), 0);
    json_decref(root);
}

// safetensors writes of two shared tensors the first by name.
SQ_TEST(tied_model_with_a_head_only)
{
    struct model *m = model_new();
    struct sq_checkpoint ck;
    const char *const stored = "lm_head.weight";
    strcpy(m->name[0], stored);
    write_tensors(m, "model.safetensors", 0, m->n);
    check_model(m->dir);
    assert_int_equal(sq_checkpoint_open(&ck, m->dir, NULL), SQ_OK);
    assert_string_equal(sq_checkpoint_find(&ck, "model.embed_tokens.weight")->name, stored);
    sq_checkpoint_close(&ck);
    write_changed(m, "tie_word_embeddings", "false");
    refused(m, SQ_ERR_DAMAGED, "'model.embed_tokens.weight' is missing");
    write_changed(m, "vocab_size", "17");
    refused(m, SQ_ERR_SHAPE, "'lm_head.weight' does not have the shape 17x8");
    model_free(m);
}

SQ_TEST(shards)
{
    struct model *m = model_new();
    write_index(m, NULL, NULL);
    refused(m, SQ_ERR_IO, "a.safetensors': No such file");
    write_tensors(m, "a.safetensors", 0, m->n / 2);
    write_tensors(m, "b.safetensors", m->n / 2, m->n);
    check_model(m->dir);
    write_index(m, m->name[1], "b.safetensors");
    refused(m, SQ_ERR_DAMAGED, "'model.norm.weight', the index says b.safetensors");
    write_index(m, "ghost", "a.safetensors");
    refused(m, SQ_ERR_DAMAGED, "holds 10 tensors, the index lists 11");
    static const char *const bad[] = {"../a.safetensors", "/a", "", ".a", "a/b", "a\nb"};
    for (size_t i = 0; i < LEN(bad); i++) {
        write_index(m, "ghost", bad[i]);
        refused(m, SQ_ERR_DAMAGED, "no plain file name");
    }
    write_index(m, "ghost", NULL);
    refused(m, SQ_ERR_DAMAGED, "no plain file name");
    write_index(m, NULL, NULL);
    write_tensors(m, "b.safetensors", m->n / 2 - 1, m->n); // one tensor in both
    refused(m, SQ_ERR_DAMAGED, "shard b.safetensors holds tensor");
    const char *index = tmpdir_path(m->dir, "model.safetensors.index.json");
    write_bytes(index, "{\"weight_map\":{}}", 17);
    refused(m, SQ_ERR_RANGE, "0 shards");
    write_bytes(index, "{\"weight_map\":[]}", 17);
    refused(m, SQ_ERR_DAMAGED, "weight_map is missing");
    write_bytes(index, "[]", 2);
    refused(m, SQ_ERR_DAMAGED, "no object at the top");
    model_free(m);
}

// ---- what is refused ------------------------------------------------------------------------

static const struct {
    const char *field, *value; // value NULL: the field is missing
    enum sq_status status;
    const char *part;
} config_cases[] = {
    {"hidden_size", "0", SQ_ERR_RANGE, "hidden_size = 0, need 1..1048576"},
    {"hidden_size", "-8", SQ_ERR_RANGE, "hidden_size = -8"},
    {"hidden_size", "8.0", SQ_ERR_RANGE, "no integer"},
    {"hidden_size", "\"8\"", SQ_ERR_RANGE, "no integer"},
    {"hidden_size", "99999999999", SQ_ERR_RANGE, "hidden_size = 99999999999"},
    {"hidden_size", NULL, SQ_ERR_SHAPE, "does not have the shape 16x4096"},
    {"intermediate_size", "0", SQ_ERR_RANGE, "intermediate_size = 0"},
    {"num_hidden_layers", "1025", SQ_ERR_RANGE, "need 1..1024"},
    {"num_hidden_layers", "3", SQ_ERR_DAMAGED,
     "'model.layers.2.self_attn.q_proj.weight' is missing"},
    {"num_attention_heads", "0", SQ_ERR_RANGE, "num_attention_heads = 0"},
    {"num_attention_heads", "3", SQ_ERR_SHAPE, "no multiple of num_attention_heads = 3"},
    {"num_key_value_heads", "3", SQ_ERR_SHAPE, "need a divisor of num_attention_heads = 2"},
    {"num_key_value_heads", "2", SQ_ERR_SHAPE, "'model.layers.0.self_attn.k_proj.weight'"},
    {"head_dim", "3", SQ_ERR_SHAPE, "even"},
    {"head_dim", "6", SQ_ERR_SHAPE, "does not have the shape 12x8"},
    {"vocab_size", "17", SQ_ERR_SHAPE, "'model.embed_tokens.weight' does not have the shape 17x8"},
    {"max_position_embeddings", "0", SQ_ERR_RANGE, "max_position_embeddings = 0"},
    {"rms_norm_eps", "0", SQ_ERR_RANGE, "rms_norm_eps = 0"},
    {"rms_norm_eps", "true", SQ_ERR_RANGE, "no number"},
    {"rope_theta", "0.5", SQ_ERR_RANGE, "rope_theta = 0.5"},
    {"tie_word_embeddings", "1", SQ_ERR_RANGE, "neither true nor false"},
    {"tie_word_embeddings", "false", SQ_ERR_DAMAGED, "'lm_head.weight' is missing"},
    {"attention_bias", "true", SQ_ERR_UNSUPPORTED, "attention_bias = true"},
    {"mlp_bias", "true", SQ_ERR_UNSUPPORTED, "mlp_bias = true"},
    {"hidden_act", "\"gelu\"", SQ_ERR_UNSUPPORTED, "hidden_act = gelu"},
    {"quantization_config", "{}", SQ_ERR_UNSUPPORTED, "quantization_config"},
    {"rope_scaling", "{\"rope_type\":\"yarn\"}", SQ_ERR_UNSUPPORTED, "rope_type = yarn"},
    {"rope_scaling", "{\"rope_type\":\"llama3\"}", SQ_ERR_RANGE, "factor is missing"},
    {"rope_scaling", "7", SQ_ERR_UNSUPPORTED, "no object"},
    {"rope_parameters", "{\"rope_theta\":0}", SQ_ERR_RANGE, "rope_theta = 0"},
    {"architectures", "[\"Qwen2ForCausalLM\"]", SQ_ERR_DAMAGED, "q_proj.bias' is missing"},
    {"sliding_window", "0", SQ_ERR_RANGE, "sliding_window = 0"},
    {"architectures", "[\"Qwen3ForCausalLM\"]", SQ_ERR_SHAPE, "does not have the shape 256x8"},
    {"architectures", "[\"Gemma3ForCausalLM\"]", SQ_ERR_SHAPE, "does not have the shape 512x8"},
    {"architectures", "[\"Gemma2ForCausalLM\"]", SQ_ERR_UNSUPPORTED, "order of local blocks"},
    {"architectures", "[\"GPT2LMHeadModel\"]", SQ_ERR_UNSUPPORTED, "need LlamaForCausalLM"},
};

SQ_TEST(config_refusals)
{
    struct model *m = model_new();
    write_tensors(m, "model.safetensors", 0, m->n);
    for (size_t i = 0; i < LEN(config_cases); i++) {
        write_changed(m, config_cases[i].field, config_cases[i].value);
        refused(m, config_cases[i].status, config_cases[i].part);
    }
    write_config(m, "");
    refused(m, SQ_ERR_DAMAGED, "empty");
    write_config(m, "{\"hidden_size\":8,\"hidden_size\":8}");
    refused(m, SQ_ERR_DAMAGED, "duplicate");
    model_free(m);
}

// The config that `text` is read as; the sentence of a refusal in err.
static enum sq_status config_of(const char *text, struct sq_model_config *c, struct sq_error *err)
{
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    err->text[0] = '\0';
    const enum sq_status status = sq_model_config_of(root, "c", c, err);
    json_decref(root);
    return status;
}

// What each class of transformers (4.57 and 5.24 alike) has where config.json says nothing.
SQ_TEST(defaults_of_each_model_type)
{
    static const struct {
        const char *type;
        size_t hidden, inner, layers, heads, kv, head, vocab, position, window, n_local;
        double theta, query;
        bool is_tied;
    } c[] = {
        {"llama", 4096, 11008, 32, 32, 32, 128, 32000, 2048, 2048, 0, 1e4, 128, false},
        {"mistral", 4096, 14336, 32, 32, 8, 128, 32000, 131072, 4096, 0, 1e4, 128, false},
        {"qwen2", 4096, 22016, 32, 32, 32, 128, 151936, 32768, 32768, 0, 1e4, 128, false},
        {"qwen3", 4096, 22016, 32, 32, 32, 128, 151936, 32768, 32768, 0, 1e4, 128, false},
        {"gemma3_text", 2304, 9216, 26, 8, 4, 256, 262208, 131072, 131072, 22, 1e6, 256, true},
    };
    for (size_t i = 0; i < LEN(c); i++) {
        char text[64];
        struct sq_model_config m;
        struct sq_error err;
        size_t n_local = 0;
        snprintf(text, sizeof text, "{\"model_type\":\"%s\"}", c[i].type);
        CHECK_EQ(config_of(text, &m, &err), SQ_OK, "%s: %s\n", c[i].type, err.text);
        for (size_t b = 0; b < m.n_layers; b++)
            n_local += m.is_local[b];
        CHECK_EQ(m.hidden_size, c[i].hidden, "%s\n", c[i].type);
        CHECK_EQ(m.intermediate_size, c[i].inner, "%s\n", c[i].type);
        CHECK_EQ(m.n_layers, c[i].layers, "%s\n", c[i].type);
        CHECK_EQ(m.n_heads, c[i].heads, "%s\n", c[i].type);
        CHECK_EQ(m.n_kv_heads, c[i].kv, "%s\n", c[i].type);
        CHECK_EQ(m.head_dim, c[i].head, "%s\n", c[i].type);
        CHECK_EQ(m.vocab_size, c[i].vocab, "%s\n", c[i].type);
        CHECK_EQ(m.max_position, c[i].position, "%s\n", c[i].type);
        CHECK_EQ(m.window, c[i].window, "%s\n", c[i].type);
        CHECK_EQ(n_local, c[i].n_local, "%s\n", c[i].type);
        CHECK_EQ(m.local_window, n_local ? 4096 : 0, "%s\n", c[i].type);
        assert_true(m.rms_norm_eps == 1e-6 && m.rope.theta == c[i].theta && m.rope.linear == 1 &&
                    m.query_scale == c[i].query && m.tie_word_embeddings == c[i].is_tied);
        assert_true(n_local == 0 || m.local_rope.theta == 1e4);
    }
}

// A config in each architecture, and what a field more makes of it.
static const struct {
    const char *type, *more; // of seven blocks, hidden 64, two heads
    const char *part;        // of the sentence; NULL: it is read
    const char *same_as;     // what must be read the same
} readings[] = {
    // rotary embedding
    {"llama", "\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}", NULL,
     "\"rope_parameters\":{\"rope_type\":\"linear\",\"factor\":2.0,\"rope_theta\":10000}"},
    {"llama", "\"rope_scaling\":{},\"rope_theta\":7", NULL,
     "\"rope_parameters\":{\"rope_theta\":7}"},
    {"llama", "\"rope_theta\":9,\"rope_parameters\":{\"rope_theta\":7}", NULL, "\"rope_theta\":7"},
    {"qwen3",
     "\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"default\",\"rope_theta\":7}}", NULL,
     "\"rope_theta\":7"},
    {"qwen3",
     "\"rope_parameters\":{\"full_attention\":{\"rope_theta\":7},"
     "\"sliding_attention\":{\"rope_theta\":8}}",
     "rope_parameters.sliding_attention", NULL},
    {"llama", "\"rope_scaling\":{\"factor\":2}", "rope_type is missing", NULL},
    {"llama", "\"rope_scaling\":{\"rope_type\":\"linear\"}", "factor is missing", NULL},
    {"llama", "\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":2}", "rope_type = dynamic",
     NULL},
    {"llama", "\"rope_scaling\":{\"type\":\"longrope\"}", "rope_type = longrope", NULL},
    {"llama", "\"rope_parameters\":3", "no object", NULL},
    {"llama", "\"partial_rotary_factor\":0.5", "partial_rotary_factor = 0.5, need 1", NULL},
    {"llama", "\"partial_rotary_factor\":1.0", NULL, "\"hidden_act\":\"silu\""},
    {"qwen2", "\"rope_parameters\":{\"partial_rotary_factor\":0.25}",
     "partial_rotary_factor = 0.25", NULL},
    {"llama",
     "\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,"
     "\"high_freq_factor\":4}",
     NULL,
     "\"original_max_position_embeddings\":2048,\"rope_scaling\":{\"rope_type\":\"llama3\","
     "\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4}"},
    {"llama",
     "\"original_max_position_embeddings\":99,\"rope_scaling\":{\"rope_type\":\"llama3\","
     "\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,"
     "\"original_max_position_embeddings\":98}",
     "= 99, and 98 in rope_scaling", NULL},
    {"gemma3_text", "\"rope_theta\":7", NULL,
     "\"rope_parameters\":{\"full_attention\":{\"rope_theta\":7}}"},
    {"gemma3_text", "\"rope_local_base_freq\":7", NULL,
     "\"rope_parameters\":{\"sliding_attention\":{\"rope_theta\":7}}"},
    {"gemma3_text", "\"rope_parameters\":{\"rope_theta\":7}", "neither full_attention nor", NULL},
    {"gemma3_text",
     "\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":8},"
     "\"rope_parameters\":{\"full_attention\":{\"rope_theta\":7}}",
     "rope_scaling and rope_parameters.full_attention differ", NULL},
    // heads
    {"llama", "\"num_key_value_heads\":null", NULL, "\"num_key_value_heads\":2"},
    {"llama", "\"head_dim\":null", NULL, "\"head_dim\":32"},
    {"qwen3", "\"head_dim\":null", "head_dim = null", NULL},
    {"gemma3_text", "\"head_dim\":128,\"query_pre_attn_scalar\":null", NULL,
     "\"head_dim\":128,\"query_pre_attn_scalar\":256"},
    // windows that bound sequences
    {"mistral", "\"sliding_window\":null", NULL, "\"sliding_window\":131072"},
    {"mistral", "\"use_sliding_window\":false", NULL, "\"sliding_window\":4096"},
    {"qwen2", "\"use_sliding_window\":true", NULL, "\"use_sliding_window\":false"}, // 7 blocks
    {"qwen2", "\"use_sliding_window\":true,\"max_window_layers\":6", NULL,
     "\"use_sliding_window\":true,\"sliding_window\":4096,\"max_window_layers\":0"},
    {"qwen3", "\"use_sliding_window\":true,\"sliding_window\":null,\"max_window_layers\":0", NULL,
     "\"use_sliding_window\":false"},
    {"qwen3",
     "\"use_sliding_window\":true,\"sliding_window\":5,\"layer_types\":[\"full_attention\","
     "\"full_attention\",\"full_attention\",\"sliding_attention\",\"full_attention\","
     "\"full_attention\",\"full_attention\"]",
     NULL, "\"use_sliding_window\":true,\"sliding_window\":5,\"max_window_layers\":1"},
    {"qwen3",
     "\"layer_types\":[\"full_attention\",\"full_attention\",\"full_attention\","
     "\"sliding_attention\",\"full_attention\",\"full_attention\",\"full_attention\"]",
     "need use_sliding_window = true", NULL},
    // windows of Gemma 3
    {"gemma3_text", "\"sliding_window_pattern\":2,\"sliding_window\":5", NULL,
     "\"sliding_window\":5,\"layer_types\":[\"sliding_attention\",\"full_attention\","
     "\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"full_attention\","
     "\"sliding_attention\"]"},
    {"gemma3_text", "\"sliding_window_pattern\":1,\"sliding_window\":5", NULL,
     "\"sliding_window_pattern\":1,\"sliding_window\":null"},
    {"gemma3_text", "\"sliding_window\":null", "sliding_window = null", NULL},
    {"gemma3_text", "\"layer_types\":[\"full_attention\"]", "layer_types has 1 words, need 7",
     NULL},
    {"gemma3_text", "\"layer_types\":[1,2,3,4,5,6,7]", "need full_attention or", NULL},
    // what must be plain
    {"gemma3_text", "\"hidden_activation\":\"silu\"", "need gelu_pytorch_tanh", NULL},
    {"gemma3_text", "\"use_bidirectional_attention\":true", "need false", NULL},
    {"gemma3_text", "\"attn_logit_softcapping\":0", "attn_logit_softcapping = 0", NULL},
    {"llama", "\"attn_logit_softcapping\":50", "attn_logit_softcapping is set", NULL},
    {"llama", "\"embedding_multiplier\":12", "embedding_multiplier = 12, need 1", NULL},
    {"llama", "\"no_rope_layers\":[1,0]", "no_rope_layers is set, need 0 or null", NULL},
    {"llama", "\"no_rope_layers\":[]", NULL, "\"hidden_act\":\"silu\""},
};

SQ_TEST(configs_are_read_as_transformers_reads_them)
{
    static const char format[] =
        "{\"model_type\":\"%s\",\"hidden_size\":64,\"intermediate_size\":12,"
        "\"num_hidden_layers\":7,\"num_attention_heads\":2%s,\"vocab_size\":16,%s}";
    for (size_t i = 0; i < LEN(readings); i++) {
        const char *kv = strstr(readings[i].more, "num_key") ? "" : ",\"num_key_value_heads\":2";
        char text[1024], got[CONFIG_TEXT], want[CONFIG_TEXT];
        struct sq_model_config m;
        struct sq_error err;
        snprintf(text, sizeof text, format, readings[i].type, kv, readings[i].more);
        const enum sq_status status = config_of(text, &m, &err);
        if (readings[i].part) {
            if (status == SQ_OK || !strstr(err.text, readings[i].part))
                fail_msg("%s: '%s' does not say '%s'", text, err.text, readings[i].part);
            continue;
        }
        CHECK_EQ(status, SQ_OK, "%s: %s\n", text, err.text);
        config_text(&m, got);
        snprintf(text, sizeof text, format, readings[i].type, kv, readings[i].same_as);
        CHECK_EQ(config_of(text, &m, &err), SQ_OK, "%s: %s\n", text, err.text);
        config_text(&m, want);
        if (strcmp(got, want) != 0)
            fail_msg("%s is read as\n%s, not as\n%s", readings[i].more, got, want);
    }
}

// Every field that the configuration classes of the five architectures have in transformers, with
// another value than the default. It changes what is read, or is refused by its name; the rest has
// no effect on a forward pass in binary32 without dropout.
SQ_TEST(no_field_is_passed_over)
{
    static const struct {
        const char *field, *value;
        bool has_no_effect;
    } all[] = {
        {"vocab_size", "17", false},
        {"hidden_size", "32", false},
        {"intermediate_size", "13", false},
        {"num_hidden_layers", "8", false},
        {"num_attention_heads", "4", false},
        {"num_key_value_heads", "1", false},
        {"head_dim", "8", false},
        {"hidden_act", "\"gelu\"", false},
        {"hidden_activation", "\"relu\"", false},
        {"max_position_embeddings", "77", false},
        {"rms_norm_eps", "0.1", false},
        {"tie_word_embeddings", "\"other\"", false},
        {"rope_theta", "77", false},
        {"rope_local_base_freq", "77", false},
        {"rope_scaling", "{\"rope_type\":\"linear\",\"factor\":2}", false},
        {"rope_parameters", "{\"rope_type\":\"yarn\"}", false},
        {"partial_rotary_factor", "0.5", false},
        {"attention_bias", "true", false},
        {"mlp_bias", "true", false},
        {"query_pre_attn_scalar", "77", false},
        {"attn_logit_softcapping", "7", false},
        {"final_logit_softcapping", "7", false},
        {"use_bidirectional_attention", "true", false},
        {"is_causal", "false", false},
        {"is_encoder_decoder", "true", false},
        {"add_cross_attention", "true", false},
        {"pruned_heads", "{\"0\":[1]}", false},
        {"quantization_config", "{}", true}, // sq_foreign_check_config reads it
        {"use_sliding_window", "true", false},
        {"sliding_window", "9", false},
        {"sliding_window_pattern", "2", false},
        {"max_window_layers", "0", false},
        {"layer_types", "[\"chunked_attention\"]", false},
        {"transformers_version", "\"5\"", true},
        {"_name_or_path", "\"x\"", true},
        {"dtype", "\"float16\"", true},
        {"torch_dtype", "\"float16\"", true},
        {"initializer_range", "0.5", true},
        {"use_cache", "false", true},
        {"pad_token_id", "3", true},
        {"bos_token_id", "3", true},
        {"eos_token_id", "3", true},
        {"pretraining_tp", "2", true},
        {"attention_dropout", "0.5", true},
        {"chunk_size_feed_forward", "3", true},
        {"output_hidden_states", "true", true},
        {"output_attentions", "true", true},
        {"return_dict", "false", true},
        {"id2label", "{}", true},
        {"label2id", "{}", true},
        {"problem_type", "\"x\"", true},
        {"_sliding_window_pattern", "3", true},          // layer_types has it
        {"original_max_position_embeddings", "3", true}, // but beside llama3, see readings
    };
    // A field of another architecture's class has no effect on this one, nor in transformers.
    static const struct {
        const char *type, *tie, *not_here;
    } type[] = {
        {"llama", "true",
         " hidden_activation rope_local_base_freq use_sliding_window sliding_window "
         "sliding_window_pattern max_window_layers layer_types "},
        {"mistral", "true",
         " hidden_activation rope_local_base_freq use_sliding_window sliding_window_pattern "
         "max_window_layers layer_types "},
        {"qwen2", "true", " hidden_activation rope_local_base_freq sliding_window_pattern "},
        {"qwen3", "true", " hidden_activation rope_local_base_freq sliding_window_pattern "},
        {"gemma3_text", "false", " hidden_act use_sliding_window max_window_layers "},
    };
    for (size_t t = 0; t < LEN(type); t++)
        for (size_t i = 0; i < LEN(all); i++) {
            char base[CONFIG_TEXT], text[CONFIG_TEXT], word[64];
            struct sq_model_config m;
            struct sq_error err;
            // Windows of Qwen 2 and 3 are on, so that each of their fields matters.
            const bool is_qwen = strncmp(type[t].type, "qwen", 4) == 0;
            snprintf(
                text, sizeof text,
                "{\"model_type\":\"%s\",\"hidden_size\":64,\"intermediate_size\":12,"
                "\"num_hidden_layers\":7,\"num_attention_heads\":2,\"num_key_value_heads\":2,"
                "\"vocab_size\":16%s}",
                type[t].type,
                !is_qwen                                          ? ""
                : strcmp(all[i].field, "max_window_layers") == 0  ? ",\"use_sliding_window\":true"
                : strcmp(all[i].field, "use_sliding_window") == 0 ? ",\"max_window_layers\":0"
                                                                  : ",\"use_sliding_window\":true,"
                                                                    "\"max_window_layers\":0");
            CHECK_EQ(config_of(text, &m, &err), SQ_OK, "%s: %s\n", text, err.text);
            config_text(&m, base);
            json_t *root = json_loads(text, 0, NULL);
            json_object_set_new(root, all[i].field,
                                json_loads(all[i].value, JSON_DECODE_ANY, NULL));
            if (strcmp(all[i].field, "tie_word_embeddings") == 0)
                json_object_set_new(root, all[i].field,
                                    json_loads(type[t].tie, JSON_DECODE_ANY, NULL));
            err.text[0] = '\0';
            const enum sq_status status = sq_model_config_of(root, "c", &m, &err);
            json_decref(root);
            config_text(&m, text);
            snprintf(word, sizeof word, " %s ", all[i].field);
            const bool is_inert = all[i].has_no_effect || strstr(type[t].not_here, word);
            const bool is_named = status != SQ_OK &&
                                  (strstr(err.text, all[i].field) || strstr(err.text, "rope_type"));
            if (is_inert ? status != SQ_OK || strcmp(text, base) != 0
                         : !is_named && (status != SQ_OK || strcmp(text, base) == 0))
                fail_msg("%s: %s = %s is %s %s", type[t].type, all[i].field, all[i].value,
                         status == SQ_OK ? "passed over or read" : "refused:", err.text);
        }
}

SQ_TEST(config_variants_that_open)
{
    static const char *const good[][2] = {
        {"architectures", NULL},
        {"head_dim", "null"},
        {"rope_theta", NULL},
        {"rms_norm_eps", NULL},
        {"hidden_act", "\"silu\""},
        {"rope_scaling", "null"},
        {"rope_scaling", "{\"type\":\"default\"}"},
        {"quantization_config", "null"},
        {"architectures", "[\"MistralForCausalLM\"]"},
        {"rope_parameters", "{\"rope_theta\":500000.0,\"rope_type\":\"default\"}"},
    };
    struct model *m = model_new();
    write_tensors(m, "model.safetensors", 0, m->n);
    for (size_t i = 0; i < LEN(good); i++) {
        write_changed(m, good[i][0], good[i][1]);
        check_model(m->dir);
    }
    write_changed(m, "rope_scaling",
                  "{\"rope_type\":\"llama3\",\"factor\":8.0,\"low_freq_factor\":1.0,"
                  "\"high_freq_factor\":4.0,\"original_max_position_embeddings\":8192}");
    struct sq_checkpoint ck;
    assert_int_equal(sq_checkpoint_open(&ck, m->dir, NULL), SQ_OK);
    assert_true(ck.config.rope.is_llama3 && ck.config.rope.factor == 8.0);
    assert_int_equal(ck.config.rope.original_max_position, 8192);
    sq_checkpoint_close(&ck);
    write_config(m, "{\"model_type\":\"mistral\",\"hidden_size\":8,\"intermediate_size\":12,"
                    "\"num_hidden_layers\":2,\"num_attention_heads\":2,\"num_key_value_heads\":1,"
                    "\"vocab_size\":16,\"sliding_window\":16,\"tie_word_embeddings\":true,"
                    "\"max_position_embeddings\":32}");
    assert_int_equal(sq_checkpoint_open(&ck, m->dir, NULL), SQ_OK);
    assert_int_equal(ck.config.window, 16); // of the tokens: sq_llama_init
    sq_checkpoint_close(&ck);
    model_free(m);
}

SQ_TEST(tensor_refusals)
{
    struct model *m = model_new();
    refused(m, SQ_ERR_IO, "neither model.safetensors nor");
    write_tensors(m, "model.safetensors", 1, m->n);
    refused(m, SQ_ERR_DAMAGED, "'model.embed_tokens.weight' is missing");
    write_tensors(m, "model.safetensors", 0, m->n - 1);
    refused(m, SQ_ERR_DAMAGED, "'model.layers.1.input_layernorm.weight' is missing");
    m->tensor[2].dtype = SQ_I8;
    write_tensors(m, "model.safetensors", 0, m->n);
    refused(m, SQ_ERR_UNSUPPORTED, "is I8, need F32, F16 or BF16");
    m->tensor[2].dtype = SQ_F16;
    add(m, "model.layers.1.self_attn.q_proj.bias", 8, 0);
    write_tensors(m, "model.safetensors", 0, m->n);
    refused(m, SQ_ERR_UNSUPPORTED, "q_proj.bias': biases are not supported");
    for (unsigned i = 0; i < 2; i++) {
        char config[512];
        snprintf(config, sizeof config,
                 "{\"model_type\":\"%s\",\"hidden_size\":8,\"intermediate_size\":12,"
                 "\"num_hidden_layers\":2,\"num_attention_heads\":2,\"num_key_value_heads\":1,"
                 "\"head_dim\":4,\"vocab_size\":16,\"tie_word_embeddings\":true}",
                 i ? "qwen3" : "gemma3_text");
        m->n--;
        write_config(m, config);
        write_tensors(m, "model.safetensors", 0, m->n);
        m->n++;
        refused(m, SQ_ERR_DAMAGED, "q_norm.weight' is missing");
    }
    // No matrix in a bag.
    const char *vector = tmpdir_path(m->dir, "vector.safetensors");
    write_tensors(m, "vector.safetensors", 1, 2);
    struct sq_checkpoint ck;
    struct sq_error err;
    check_refused(sq_checkpoint_open(&ck, vector, &err), SQ_ERR_SHAPE, &err, "no two-dimensional");
    assert_int_equal(unlink(tmpdir_path(m->dir, "config.json")), 0);
    refused(m, SQ_ERR_IO, "config.json': No such file");
    model_free(m);
}

// The forward pass would leave these out: it must not do so without a word.
SQ_TEST(tensors_without_a_place)
{
    static const struct {
        const char *name, *part;
    } bad[] = {
        {"model.layers.0.self_attn.q_proj.weight_scale", "q_proj.weight_scale' has no place"},
        {"model.layers.1.mlp.up_proj.lora_A.weight", "up_proj.lora_A.weight' has no place"},
        {"model.layers.7.mlp.up_proj.weight", "up_proj.weight' is of block 7, need 0..1"},
        {"model.layers.2.input_layernorm.weight", "is of block 2, need 0..1"},
        {"model.layers.00.mlp.up_proj.weight", "has no place"},
        {"model.layers.1.self_attn.q_norm.weight", "has no place"},
        {"model.layers.1.mlp.up_proj", "has no place"},
        {"model.layers.1.", "has no place"},
        {"model.layers.", "has no place"},
        {"rope_freqs.weight", "has no place"}, // of GGUF
        {"lm_head.bias", "'lm_head.bias' has no place"},
        {"extra", "'extra' has no place"},
    };
    static const char *const good[] = {"model.layers.1.self_attn.rotary_emb.inv_freq",
                                       "model.rotary_emb.inv_freq"};
    struct model *m = model_new();
    const size_t n = m->n;
    for (size_t i = 0; i < LEN(bad); i++, m->n = n) {
        add(m, bad[i].name, 8, i % 2 ? 8 : 0);
        write_tensors(m, "model.safetensors", 0, m->n);
        refused(m, SQ_ERR_UNSUPPORTED, bad[i].part);
    }
    for (size_t i = 0; i < LEN(good); i++, m->n = n) {
        add(m, good[i], 2, 0);
        write_tensors(m, "model.safetensors", 0, m->n);
        check_model(m->dir);
    }
    add(m, "model.layers.1.mlp.up_proj.weight_scale", 8, 8); // in the second shard
    write_index(m, NULL, NULL);
    write_tensors(m, "a.safetensors", 0, m->n / 2);
    write_tensors(m, "b.safetensors", m->n / 2, m->n);
    unlink(tmpdir_path(m->dir, "model.safetensors"));
    refused(m, SQ_ERR_UNSUPPORTED, "up_proj.weight_scale' has no place");
    model_free(m);
}

// quant_algo of modelopt, where it says a type: bits of weights, of activations (0: they stay), columns of a scale.
SQ_TEST(words_of_modelopt)
{
    const char *at =
        "FP8 8 8 0 FP8_PER_CHANNEL_PER_TOKEN 8 8 0 NVFP4 4 4 16 NVFP4_AWQ 4 4 16 MXFP4 4 4 32 "
        "MXFP8 8 8 32 W4A8_NVFP4_FP8 4 8 16 W4A8_MXFP4_FP8 4 8 32 W4A8_MXFP4_MXFP8 4 8 32 "
        "W4A16_MXFP4 4 0 32 W4A16_NVFP4 4 0 16 W4A16_AWQ 4 0 0 W4A8_AWQ 4 8 0 "
        "W8A8_SQ_PER_CHANNEL 8 8 0";
    char word[32];
    unsigned bits, act, group;
    for (int n; sscanf(at, "%31s %u %u %u%n", word, &bits, &act, &group, &n) == 4; at += n) {
        struct sq_foreign_scheme s;
        json_t *config = json_pack("{s:s, s:s}", "quant_method", "modelopt", "quant_algo", word);
        const struct sq_foreign f = {.config = config};
        assert_ok(sq_foreign_scheme(&f, "a", &s, NULL));
        const bool is_float = strstr(word, "FP"), is_act = act > 0;
        if (s.bits != bits || s.group != group || s.is_float != is_float || s.is_act != is_act ||
            s.is_weights_only == is_act || (is_act && s.act_bits != act))
            fail_msg("%s: %u bits, activations %u", word, s.bits, s.act_bits);
        json_decref(config);
    }
    assert_string_equal(at, "");
}

// A file of tensors whose names say that the others are no whole weights.
SQ_TEST(bags_of_quantized_weights)
{
    static const char *const bad[] = {"w.weight_scale",  "w.weight_scale_inv", "w.scales",
                                      "w.qzeros",        "weight_scale",       "w.input_scale",
                                      "w.lora_A.weight", "w.weight_zero_point"};
    static const char *const good[] = {"layer_scale.weight", "scaled", "zeroth.weight",
                                       "scale_mlp.w", "lorax"};
    struct model *m = model_new();
    const char *path = tmpdir_path(m->dir, "bag.safetensors");
    const size_t n = m->n;
    struct sq_checkpoint ck;
    struct sq_error err;
    for (size_t i = 0; i < LEN(bad); i++, m->n = n) {
        add(m, bad[i], 8, i % 2 ? 8 : 0);
        write_tensors(m, "bag.safetensors", n - 1, m->n);
        check_refused(sq_checkpoint_open(&ck, path, &err), SQ_ERR_UNSUPPORTED, &err, bad[i]);
    }
    for (size_t i = 0; i < LEN(good); i++, m->n = n) {
        add(m, good[i], 8, 8);
        write_tensors(m, "bag.safetensors", n, m->n);
        if (sq_checkpoint_open(&ck, path, &err) != SQ_OK)
            fail_msg("%s", err.text);
        sq_checkpoint_close(&ck);
    }
    model_free(m);
}

SQ_TEST(real_model)
{
    char path[512];
    if (access(test_data("models/stories260K", path), R_OK) != 0) {
        SQ_SKIP("%s does not exist", path);
    }
    struct sq_checkpoint ck;
    struct sq_error err = {.text = ""};
    if (sq_checkpoint_open(&ck, path, &err) != SQ_OK)
        fail_msg("%s", err.text);
    assert_int_equal(ck.n_layers, 35);
    assert_int_equal(ck.layer[6].k, 172);
    double sum = 0;
    for (size_t i = 0; i < ck.n_layers; i++) {
        float *w = fixture_exact(ck.layer[i].n * ck.layer[i].k * sizeof *w);
        assert_int_equal(sq_checkpoint_read_layer(&ck, i, w, &err), SQ_OK);
        for (size_t j = 0; j < ck.layer[i].n * ck.layer[i].k; j++)
            sum += (double)w[j] * (double)w[j];
    }
    assert_true(sum > 1.0); // weights, not zeros
    sq_checkpoint_close(&ck);
}
