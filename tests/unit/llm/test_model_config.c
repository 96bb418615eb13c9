// SPDX-License-Identifier: Apache-2.0
// config.json of every class of decoder that is read: defaults, fields that say one thing in several ways, and every field
// of the classes of transformers, each of which must be read, refused by its name, or without effect.
#include <jansson.h>

#include "tests/unit/core/config_fixture.h"
#include "tests/unit/fixture.h"

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

// rope_scaling and rope_parameters, each absent, null, empty and full: the former counts where it is full, else the
// latter where that is. Gemma 3 has the latter by kind of block, and refuses two that differ.
SQ_TEST(rotary_embedding_is_read_where_it_is_full)
{
#define FULL "{\"rope_type\":\"linear\",\"factor\":"
    static const char *const type[] = {"llama", "mistral", "qwen2", "qwen3", "gemma3_text"};
    static const char *const older[] = {"", ",\"rope_scaling\":null", ",\"rope_scaling\":{}",
                                        ",\"rope_scaling\":" FULL "2}"};
    static const char *const newer[] = {"", ",\"rope_parameters\":null", ",\"rope_parameters\":{}",
                                        ",\"rope_parameters\":" FULL "4,\"rope_theta\":7}",
                                        ",\"rope_parameters\":{\"full_attention\":" FULL "4}}"};
    for (size_t i = 0; i < LEN(type) * 16; i++) {
        const size_t t = i / 16, o = i / 4 % 4, n = i % 4 + (t == 4 && i % 4 == 3);
        char text[256], got[CONFIG_TEXT], want[CONFIG_TEXT];
        struct sq_model_config m;
        struct sq_error err;
        snprintf(text, sizeof text, "{\"model_type\":\"%s\"%s%s}", type[t], older[o], newer[n]);
        const enum sq_status status = config_of(text, &m, &err);
        if (o == 3 && n == 4) {
            check_refused(status, SQ_ERR_UNSUPPORTED, &err, "differ");
            continue;
        }
        CHECK_EQ(status, SQ_OK, "%s: %s\n", text, err.text);
        config_text(&m, got);
        snprintf(text, sizeof text, "{\"model_type\":\"%s\"%s}", type[t],
                 o == 3   ? older[o]
                 : n >= 3 ? newer[n]
                          : "");
        CHECK_EQ(config_of(text, &m, &err), SQ_OK, "%s: %s\n", text, err.text);
        config_text(&m, want);
        if (strcmp(got, want) != 0)
            fail_msg("%s%s is read as\n%s, not as\n%s", older[o], newer[n], got, want);
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
