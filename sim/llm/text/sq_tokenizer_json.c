// SPDX-License-Identifier: Apache-2.0
// Reads normalizer, pre-tokenizer and BOS of tokenizer.json (sq_tokenizer_json.h).
#include "sim/llm/text/sq_tokenizer_json.h"

#include <stdlib.h>

#include <string.h>

static bool is_type(const json_t *o, const char *name)
{
    const char *type = json_string_value(json_object_get(o, "type"));
    return type && strcmp(type, name) == 0;
}

static const char *type_of(const json_t *o)
{
    const char *type = json_string_value(json_object_get(o, "type"));
    return type ? type : "none";
}

enum sq_status sq_tokenizer_json_normalizer(const char *what, const json_t *o, bool *is_nfc,
                                            struct sq_error *err)
{
    if (!o || json_is_null(o))
        return SQ_OK;
    if (is_type(o, "NFC")) {
        *is_nfc = true;
        return SQ_OK;
    }
    SQ_FAIL_IF(!is_type(o, "Sequence"), err, SQ_ERR_UNSUPPORTED,
               "%s: normalizer = %.40s, need NFC or none", what, type_of(o));
    const json_t *list = json_object_get(o, "normalizers");
    for (size_t i = 0; i < json_array_size(list); i++)
        SQ_TRY(sq_tokenizer_json_normalizer(what, json_array_get(list, i), is_nfc, err));
    return SQ_OK;
}

// ---- pre_tokenizer --------------------------------------------------------------------------

static enum sq_status add_split(const char *what, const json_t *o, struct sq_pretokenizer *p,
                                struct sq_error *err)
{
    const json_t *pattern = json_object_get(o, "pattern");
    const char *behavior = json_string_value(json_object_get(o, "behavior"));
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    const char *literal = json_string_value(json_object_get(pattern, "String"));
    SQ_FAIL_IF(!behavior || strcmp(behavior, "Isolated") != 0 ||
                   json_is_true(json_object_get(o, "invert")),
               err, SQ_ERR_UNSUPPORTED,
               "%s: behavior of a Split = %.40s, need Isolated, not inverted", what,
               behavior ? behavior : "none");
    SQ_FAIL_IF(!regex && !literal, err, SQ_ERR_UNSUPPORTED, "%s: a Split without a pattern", what);
    return sq_pretokenizer_add(p, regex ? regex : literal, !regex, err);
}

static enum sq_status add_step(const char *what, const json_t *o, struct sq_pretokenizer *p,
                               bool *has_bytes, struct sq_error *err)
{
    SQ_FAIL_IF(*has_bytes, err, SQ_ERR_UNSUPPORTED, "%s: pre_tokenizer %.40s behind ByteLevel",
               what, type_of(o));
    if (is_type(o, "Split"))
        return add_split(what, o, p, err);
    if (is_type(o, "Digits"))
        return sq_pretokenizer_add(p,
                                   json_is_true(json_object_get(o, "individual_digits"))
                                       ? SQ_REGEX_DIGIT
                                       : SQ_REGEX_DIGITS,
                                   false, err);
    SQ_FAIL_IF(!is_type(o, "ByteLevel"), err, SQ_ERR_UNSUPPORTED,
               "%s: pre_tokenizer = %.40s, need ByteLevel, Digits or Split: only "
               "byte-level BPE is supported",
               what, type_of(o));
    SQ_FAIL_IF(json_is_true(json_object_get(o, "add_prefix_space")), err, SQ_ERR_UNSUPPORTED,
               "%s: add_prefix_space = true, need false", what);
    *has_bytes = true;
    return json_is_false(json_object_get(o, "use_regex"))
               ? SQ_OK
               : sq_pretokenizer_add(p, SQ_REGEX_GPT2, false, err);
}

enum sq_status sq_tokenizer_json_steps(const char *what, const json_t *o, struct sq_pretokenizer *p,
                                       struct sq_error *err)
{
    bool has_bytes = false;
    if (is_type(o, "Sequence")) {
        const json_t *list = json_object_get(o, "pretokenizers");
        for (size_t i = 0; i < json_array_size(list); i++)
            SQ_TRY(add_step(what, json_array_get(list, i), p, &has_bytes, err));
    } else {
        SQ_TRY(add_step(what, o, p, &has_bytes, err));
    }
    return has_bytes ? SQ_OK
                     : SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                               "%s: pre_tokenizer without ByteLevel: only byte-level BPE is "
                               "supported",
                               what);
}

// ---- post_processor -------------------------------------------------------------------------

// Appends the ids of a special token of the template.
static enum sq_status add_special(struct sq_tokenizer *t, const json_t *ids, size_t *n,
                                  struct sq_error *err)
{
    const size_t all = t->n_front + t->n_back, more = json_array_size(ids);
    int32_t *grown = realloc(t->around, (all + more + 1) * sizeof *grown);
    SQ_NEED(grown, err, "%zu special tokens", all + more);
    t->around = grown;
    for (size_t i = 0; i < more; i++) {
        const json_t *id = json_array_get(ids, i);
        SQ_FAIL_IF(
            !json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= 1 << 24,
            err, SQ_ERR_RANGE, "post_processor: id %zu of a special token, need 0..16777215", i);
        grown[all + i] = (int32_t)json_integer_value(id);
        (*n)++;
    }
    return SQ_OK;
}

enum sq_status sq_tokenizer_json_around(const json_t *o, struct sq_tokenizer *t,
                                        struct sq_error *err)
{
    const json_t *list = json_object_get(o, "processors"), *single = json_object_get(o, "single");
    bool is_behind = false;
    for (size_t i = 0; i < json_array_size(list); i++)
        SQ_TRY(sq_tokenizer_json_around(json_array_get(list, i), t, err));
    for (size_t i = 0; is_type(o, "TemplateProcessing") && i < json_array_size(single); i++) {
        const json_t *part = json_array_get(single, i);
        const char *name =
            json_string_value(json_object_get(json_object_get(part, "SpecialToken"), "id"));
        const json_t *special =
            name ? json_object_get(json_object_get(o, "special_tokens"), name) : NULL;
        is_behind = is_behind || json_object_get(part, "Sequence");
        SQ_TRY(add_special(t, json_object_get(special, "ids"), is_behind ? &t->n_back : &t->n_front,
                           err));
    }
    if (t->n_front > 0)
        t->bos = t->around[0];
    t->adds_bos = t->adds_bos || t->n_front > 0;
    return SQ_OK;
}
