// SPDX-License-Identifier: Apache-2.0
// Writes config and tokenizer of a GGUF file as the JSON files of Hugging Face (sq_gguf_export.h).
#include "sim/llm/sq_gguf_export.h"

#include <ctype.h>
#include <string.h>

#include "sim/llm/text/sq_tokenizer.h"
#include "sim/llm/text/sq_tokenizer_json.h"

// ---- config -----------------------------------------------------------------------------------

// As GGUF and as Hugging Face call them.
static const struct {
    const char *key, *id, *token;
} special[] = {{"tokenizer.ggml.bos_token_id", "bos_token_id", "bos_token"},
               {"tokenizer.ggml.eos_token_id", "eos_token_id", "eos_token"},
               {"tokenizer.ggml.unknown_token_id", NULL, "unk_token"},
               {"tokenizer.ggml.padding_token_id", "pad_token_id", "pad_token"}};
enum { N_SPECIAL = sizeof special / sizeof special[0] };

static void put_ids(const struct sq_gguf *g, json_t *to)
{
    for (size_t i = 0; i < N_SPECIAL; i++) {
        const struct sq_gguf_value *v = sq_gguf_find(g, special[i].key);
        json_auto_t *id = v && special[i].id ? sq_gguf_json(v) : NULL;
        if (json_is_integer(id))
            json_object_set(to, special[i].id, id);
    }
}

// "LlamaForCausalLM" is a "llama".
static json_t *model_type(const json_t *config)
{
    const char *name =
        json_string_value(json_array_get(json_object_get(config, "architectures"), 0));
    char type[64] = "";
    for (size_t i = 0; name && name[i] && i + 1 < sizeof type && strcmp(name + i, "ForCausalLM");
         i++)
        type[i] = (char)tolower((unsigned char)name[i]);
    return json_string(type);
}

// What has no form in the files of Hugging Face that are made here.
static enum sq_status check_export(const struct sq_model_config *c, const char *what,
                                   struct sq_error *err)
{
    SQ_FAIL_IF(c->rope.attention_factor != 1, err, SQ_ERR_UNSUPPORTED,
               "%s: rope.scaling.attn_factor = %g, need 1: no field of config.json has it", what,
               c->rope.attention_factor);
    return c->has_post_norm
               ? SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                         "%s: its norms hold the gain, those of Hugging Face's Gemma 3 gain - 1; "
                         "need a model of another architecture",
                         what)
               : SQ_OK;
}

static enum sq_status export_config(const struct sq_gguf *g, const char *what, json_t **json,
                                    struct sq_error *err)
{
    struct sq_model_config checked;
    SQ_TRY(sq_gguf_model_json(g, what, json, &checked, err));
    SQ_TRY(check_export(&checked, what, err));
    json_object_set_new(*json, "model_type", model_type(*json));
    put_ids(g, *json);
    return SQ_OK;
}

// ---- tokenizer --------------------------------------------------------------------------------

static json_t *text_json(struct sq_gguf_text t)
{
    return json_stringn(t.at, t.n);
}

// Split by each expression, then ByteLevel without its own.
static json_t *pre_tokenizer(const struct sq_tokenizer_kind *kind)
{
    json_t *steps = json_array();
    for (size_t i = 0; i < 2 && kind->step[i]; i++)
        json_array_append_new(steps, json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split",
                                               "pattern", "Regex", kind->step[i], "behavior",
                                               "Isolated", "invert", 0));
    json_array_append_new(steps,
                          json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space",
                                    0, "trim_offsets", 1, "use_regex", 0));
    return json_pack("{s:s, s:o}", "type", "Sequence", "pretokenizers", steps);
}

// Puts BOS before a text.
static json_t *post_processor(const char *bos, int32_t id)
{
    json_t *const first = json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", bos, "type_id", 0);
    json_t *const a = json_pack("{s:{s:s, s:i}}", "Sequence", "id", "A", "type_id", 0);
    json_t *const b = json_pack("{s:{s:s, s:i}}", "Sequence", "id", "B", "type_id", 1);
    json_t *const tokens = json_object();
    json_object_set_new(tokens, bos,
                        json_pack("{s:s, s:[i], s:[s]}", "id", bos, "ids", id, "tokens", bos));
    return json_pack("{s:s, s:[O, O], s:[o, o, o], s:o}", "type", "TemplateProcessing", "single",
                     first, a, "pair", first, a, b, "special_tokens", tokens);
}

// One token: all of them are in the vocabulary, so that ids are those of the file.
static enum sq_status put_token(const char *what, size_t id, struct sq_gguf_text text,
                                bool is_added, bool is_special, json_t *vocab, json_t *added,
                                struct sq_error *err)
{
    json_auto_t *content = text_json(text);
    SQ_FAIL_IF(!content, err, SQ_ERR_DAMAGED, "%s: token %zu is no UTF-8", what, id);
    const char *key = json_string_value(content);
    SQ_FAIL_IF(strlen(key) != text.n || json_object_get(vocab, key), err, SQ_ERR_DAMAGED,
               "%s: token %zu has a NUL or is there twice", what, id);
    json_object_set_new(vocab, key, json_integer((json_int_t)id));
    if (is_added)
        json_array_append_new(added,
                              json_pack("{s:i, s:O, s:b, s:b, s:b, s:b, s:b}", "id", (int)id,
                                        "content", content, "single_word", 0, "lstrip", 0, "rstrip",
                                        0, "normalized", 0, "special", is_special));
    return SQ_OK;
}

static enum sq_status put_tokens(const char *what, const struct sq_tokenizer_source *s,
                                 json_t *vocab, json_t *added, struct sq_error *err)
{
    const uint8_t *at = s->tokens->at;
    for (size_t i = 0; i < s->tokens->n; i++) {
        const struct sq_gguf_text text = sq_gguf_next(&at);
        const enum sq_token_class class = sq_tokenizer_class(s, i);
        if (class != SQ_TOKEN_UNUSED)
            SQ_TRY(put_token(what, i, text, class != SQ_TOKEN_NORMAL, class == SQ_TOKEN_CONTROL,
                             vocab, added, err));
    }
    return SQ_OK;
}

static enum sq_status put_merges(const char *what, const struct sq_gguf_value *v, json_t *merges,
                                 struct sq_error *err)
{
    const uint8_t *at = v->at;
    for (size_t i = 0; i < v->n; i++)
        SQ_FAIL_IF(json_array_append_new(merges, text_json(sq_gguf_next(&at))) != 0, err,
                   SQ_ERR_DAMAGED, "%s: merge %zu is no UTF-8", what, i);
    return SQ_OK;
}

// Token `id`, NULL where it is none; the caller owns it.
static json_t *token_text(const struct sq_gguf_value *tokens, int64_t id)
{
    const uint8_t *at = tokens->at;
    struct sq_gguf_text text = {0};
    if (id < 0 || (uint64_t)id >= tokens->n)
        return NULL;
    for (int64_t i = 0; i <= id; i++)
        text = sq_gguf_next(&at);
    return text_json(text);
}

static enum sq_status export_tokenizer(const struct sq_gguf *g, const char *what, json_t **json,
                                       struct sq_error *err)
{
    struct sq_tokenizer_source s;
    struct sq_tokenizer t; // all that reading it refuses
    SQ_TRY(sq_tokenizer_of_gguf(&t, g, what, err));
    const int32_t bos_id = t.adds_bos ? t.bos : SQ_TOKEN_NONE;
    sq_tokenizer_free(&t);
    SQ_TRY(sq_tokenizer_source(g, what, &s, err));
    SQ_FAIL_IF(!s.kind, err, SQ_ERR_UNSUPPORTED,
               "%s: its tokenizer is SentencePiece, need byte-level BPE", what);
    json_t *const vocab = json_object(), *const added = json_array(), *const merges = json_array();
    json_t *const lead = token_text(s.tokens, bos_id);
    json_t *const model = json_pack(
        "{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout", "unk_token",
        "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
        "ignore_merges", s.kind->ignores_merges, "vocab", vocab, "merges", merges);
    *json = json_pack("{s:s, s:n, s:n, s:o, s:o?, s:o, s:o?, s:{s:s, s:b, s:b, s:b}, s:o}",
                      "version", "1.0", "truncation", "padding", "added_tokens", added,
                      "normalizer", s.kind->is_nfc ? json_pack("{s:s}", "type", "NFC") : NULL,
                      "pre_tokenizer", pre_tokenizer(s.kind), "post_processor",
                      lead ? post_processor(json_string_value(lead), bos_id) : NULL, "decoder",
                      "type", "ByteLevel", "add_prefix_space", 1, "trim_offsets", 1, "use_regex", 1,
                      "model", model);
    json_decref(lead);
    SQ_TRY(*json ? put_tokens(what, &s, vocab, added, err) : SQ_NO_MEMORY(err, "%s", what));
    return put_merges(what, s.merges, merges, err);
}

static enum sq_status export_tokenizer_config(const struct sq_gguf *g, const char *what,
                                              json_t **json, struct sq_error *err)
{
    const struct sq_gguf_value *template = sq_gguf_find(g, "tokenizer.chat_template");
    struct sq_tokenizer_source s;
    SQ_TRY(sq_tokenizer_source(g, what, &s, err));
    *json = json_pack("{s:s, s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
                      "clean_up_tokenization_spaces", 0);
    for (size_t i = 0; i < N_SPECIAL; i++) {
        const struct sq_gguf_value *v = sq_gguf_find(g, special[i].key);
        json_t *text = v && !v->is_array ? token_text(s.tokens, sq_gguf_integer(v, 0)) : NULL;
        if (text)
            json_object_set_new(*json, special[i].token, text);
    }
    json_auto_t *chat = template ? sq_gguf_json(template) : NULL;
    if (json_is_string(chat))
        json_object_set(*json, "chat_template", chat);
    return SQ_OK;
}

// ---- all --------------------------------------------------------------------------------------

static enum sq_status export_generation(const struct sq_gguf *g, const char *what, json_t **json,
                                        struct sq_error *err)
{
    *json = json_object();
    put_ids(g, *json);
    return json_object_size(*json) ? SQ_OK
                                   : SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                                             "%s names no token that begins or ends a text", what);
}

enum sq_status sq_gguf_export(const struct sq_gguf *g, const char *what, const char *name,
                              json_t **json, struct sq_error *err)
{
    static const struct {
        const char *name;
        enum sq_status (*make)(const struct sq_gguf *, const char *, json_t **, struct sq_error *);
    } file[] = {{"config.json", export_config},
                {"generation_config.json", export_generation},
                {"tokenizer.json", export_tokenizer},
                {"tokenizer_config.json", export_tokenizer_config}};
    *json = NULL;
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
        if (strcmp(name, file[i].name) != 0)
            continue;
        const enum sq_status status = file[i].make(g, what, json, err);
        if (status != SQ_OK) {
            json_decref(*json);
            *json = NULL;
        }
        return status;
    }
    return SQ_FAIL(err, SQ_ERR_ARG, "no file %.60s is made of a GGUF file", name);
}
