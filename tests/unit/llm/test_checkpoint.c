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
