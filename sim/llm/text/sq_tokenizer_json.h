// SPDX-License-Identifier: Apache-2.0
// The small parts of tokenizer.json, and where a GGUF file has them. Internal to sq_tokenizer and
// sq_gguf_export.
#pragma once

#include <jansson.h>

#include "sim/io/sq_gguf.h"
#include "sim/llm/text/sq_tokenizer.h"

// normalizer: null, NFC, or a sequence of nothing else.
enum sq_status sq_tokenizer_json_normalizer(const char *what, const json_t *o, bool *is_nfc,
                                            struct sq_error *err);
// pre_tokenizer: Split (isolated), Digits and, last, ByteLevel.
enum sq_status sq_tokenizer_json_steps(const char *what, const json_t *o, struct sq_pretokenizer *p,
                                       struct sq_error *err);
// post_processor: the special tokens that a template puts around a text, the first of them bos. Unchanged where there
// is none.
enum sq_status sq_tokenizer_json_around(const json_t *o, struct sq_tokenizer *t,
                                        struct sq_error *err);

// ---- GGUF -----------------------------------------------------------------------------------

// What the name of a pre-tokenizer means.
struct sq_tokenizer_kind {
    const char *name, *step[2]; // expressions in their order; NULL: no second one
    bool ignores_merges;        // whole pieces of the vocabulary are taken as they are
    bool is_nfc;
};

struct sq_tokenizer_source {
    const struct sq_tokenizer_kind *kind;        // NULL: SentencePiece
    const struct sq_gguf_value *tokens, *merges; // arrays of strings; SentencePiece has no merges
    const struct sq_gguf_value *scores;          // of each token; of SentencePiece alone
    const struct sq_gguf_value *type;            // of each token; NULL: all are normal
};

// Finds them; SQ_ERR_UNSUPPORTED for another kind of tokenizer, SQ_ERR_DAMAGED.
enum sq_status sq_tokenizer_source(const struct sq_gguf *g, const char *what,
                                   struct sq_tokenizer_source *s, struct sq_error *err);

// Control and user tokens are found in the text as they are. "<0x0A>" is the byte 10 where a character
// is no token (SentencePiece).
enum sq_token_class {
    SQ_TOKEN_NORMAL,
    SQ_TOKEN_CONTROL, // or the unknown token
    SQ_TOKEN_USER,
    SQ_TOKEN_BYTE,
    SQ_TOKEN_UNUSED,
};
enum sq_token_class sq_tokenizer_class(const struct sq_tokenizer_source *s, size_t token);
