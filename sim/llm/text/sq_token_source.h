// SPDX-License-Identifier: Apache-2.0
// Where the tokens of a command come from: a token file, or a text and the model's own tokenizer,
// cut into windows as perplexities are measured.
//
// Window i of a text holds its tokens [i stride, i stride + window); windows that the end of the
// text cuts short are left out, unless it is the only one. Where windows overlap, each but the
// first predicts only what the one before did not see. BOS stands once before the text (first: part
// of the first window) or before every window (each: part of its length; then window - 1 tokens of
// text are in it).
#pragma once

#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/text/sq_tokenizer.h"
#include "sim/llm/text/sq_tokens.h"

enum sq_bos { SQ_BOS_DEFAULT, SQ_BOS_NONE, SQ_BOS_FIRST, SQ_BOS_EACH, SQ_BOS_COUNT };
const char *sq_bos_name(enum sq_bos bos); // "default", "none", "first", "each"

struct sq_token_source {
    const char *tokens; // a token file; NULL: the default one, where text is NULL too
    const char *text;   // UTF-8, taken as its bytes are: no line end is changed
    size_t window;      // 0: 2048, or the model's context where that is shorter
    size_t stride;      // in tokens of the text, 0: no overlap
    enum sq_bos bos;    // default: first where the tokenizer adds it, else none
};

// The tokens; of a text, what *source left to its default is set to what it was. `model` is the
// path *ck was opened with: DIR/tokenizer.json, or the vocabulary in the GGUF file; without either,
// a model of 256 tokens whose default token file says "tokenizer": "bytes: .." takes the bytes of
// the text, BOS first. `beside` names that file (sq_tokens_beside). Errors as sq_tokens_read and sq_tokenizer_read;
// SQ_ERR_RANGE for a window outside 2..context, a stride outside 1..window, a text of fewer than
// two tokens, SQ_ERR_ARG for both a token file and a text and for window, stride or BOS without a
// text.
enum sq_status sq_token_source_read(struct sq_token_source *source, const struct sq_checkpoint *ck,
                                    const char *model, const char *beside, struct sq_tokens *tokens,
                                    struct sq_error *err);

// The tokenizer of a model, found as above; free with sq_tokenizer_free. *is_bytes: a token is a byte, and *t has no
// tokens, only what is said of BOS, which such token files put first.
enum sq_status sq_tokenizer_of_model(struct sq_tokenizer *t, const struct sq_checkpoint *ck,
                                     const char *model, const char *beside, bool *is_bytes,
                                     struct sq_error *err);
