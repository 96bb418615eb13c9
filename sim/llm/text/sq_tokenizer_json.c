// SPDX-License-Identifier: Apache-2.0
// Reads normalizer, pre-tokenizer and BOS of tokenizer.json (sq_tokenizer_json.h).
#include "sim/llm/text/sq_tokenizer_json.h"

#include <string.h>

#define UNSUPPORTED(...) SQ_FAIL(err, SQ_ERR_UNSUPPORTED, __VA_ARGS__)

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
    if (!is_type(o, "Sequence"))
        return UNSUPPORTED("%s: normalizer = %.40s, need NFC or none", what, type_of(o));
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
    if (!behavior || strcmp(behavior, "Isolated") != 0 ||
        json_is_true(json_object_get(o, "invert")))
        return UNSUPPORTED("%s: behavior of a Split = %.40s, need Isolated, not inverted", what,
                           behavior ? behavior : "none");
    if (!regex && !literal)
        return UNSUPPORTED("%s: a Split without a pattern", what);
    return sq_pretokenizer_add(p, regex ? regex : literal, !regex, err);
}

static enum sq_status add_step(const char *what, const json_t *o, struct sq_pretokenizer *p,
                               bool *has_bytes, struct sq_error *err)
{
    if (*has_bytes)
        return UNSUPPORTED("%s: pre_tokenizer %.40s behind ByteLevel", what, type_of(o));
    if (is_type(o, "Split"))
        return add_split(what, o, p, err);
    if (is_type(o, "Digits"))
        return sq_pretokenizer_add(p,
                                   json_is_true(json_object_get(o, "individual_digits"))
                                       ? SQ_REGEX_DIGIT
                                       : SQ_REGEX_DIGITS,
                                   false, err);
    if (!is_type(o, "ByteLevel"))
        return UNSUPPORTED("%s: pre_tokenizer = %.40s, need ByteLevel, Digits or Split: only "
                           "byte-level BPE is supported",
                           what, type_of(o));
    if (json_is_true(json_object_get(o, "add_prefix_space")))
        return UNSUPPORTED("%s: add_prefix_space = true, need false", what);
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
                     : UNSUPPORTED("%s: pre_tokenizer without ByteLevel: only byte-level BPE is "
                                   "supported",
                                   what);
}

// ---- post_processor -------------------------------------------------------------------------

void sq_tokenizer_json_bos(const json_t *o, int32_t *bos, bool *adds_bos)
{
    const json_t *list = json_object_get(o, "processors");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (is_type(json_array_get(list, i), "TemplateProcessing"))
            sq_tokenizer_json_bos(json_array_get(list, i), bos, adds_bos);
    const json_t *first = json_array_get(json_object_get(o, "single"), 0);
    const char *name =
        json_string_value(json_object_get(json_object_get(first, "SpecialToken"), "id"));
    const json_t *special =
        name ? json_object_get(json_object_get(o, "special_tokens"), name) : NULL;
    const json_t *id = json_array_get(json_object_get(special, "ids"), 0);
    if (!is_type(o, "TemplateProcessing") || !json_is_integer(id) || json_integer_value(id) < 0 ||
        json_integer_value(id) >= 1 << 24)
        return;
    *bos = (int32_t)json_integer_value(id);
    *adds_bos = true;
}
