// SPDX-License-Identifier: Apache-2.0
// A text that a model goes on from: its tokens, and the text of the tokens that come.
#pragma once

#include "sim/llm/text/sq_token_source.h"

struct sq_prompt {
    int32_t *id; // [n], BOS first where the tokenizer puts it there
    size_t n;    // >= 1
    // private
    struct sq_tokenizer tokenizer;
    bool is_bytes; // a token is a byte
};

// text: UTF-8. `model` is the path of *ck. Errors are those of sq_tokenizer_of_model and sq_tokenizer_encode;
// SQ_ERR_RANGE where no token comes of it. Free with sq_prompt_free; after a failure *p is empty.
enum sq_status sq_prompt_read(struct sq_prompt *p, const struct sq_checkpoint *ck,
                              const char *model, const char *text, struct sq_error *err);
void sq_prompt_free(struct sq_prompt *p);

// The bytes of a token, cut to `cap`, into out; how many. They may be a part of a character. A token without text
// (control, unused) has none.
size_t sq_prompt_bytes(const struct sq_prompt *p, int32_t id, char *out, size_t cap);
