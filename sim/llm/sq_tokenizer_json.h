// SPDX-License-Identifier: Apache-2.0
// The small parts of tokenizer.json. Internal to sq_tokenizer.
#ifndef SQ_TOKENIZER_JSON_H
#define SQ_TOKENIZER_JSON_H

#include <jansson.h>

#include "sim/llm/sq_pretokenizer.h"

// normalizer: null, NFC, or a sequence of nothing else.
enum sq_status sq_tokenizer_json_normalizer(const char *what, const json_t *o, bool *is_nfc,
                                            struct sq_error *err);
// pre_tokenizer: Split (isolated), Digits and, last, ByteLevel.
enum sq_status sq_tokenizer_json_steps(const char *what, const json_t *o, struct sq_pretokenizer *p,
                                       struct sq_error *err);
// post_processor: the special token a template puts before a text. Unchanged where there is none.
void sq_tokenizer_json_bos(const json_t *o, int32_t *bos, bool *adds_bos);

#endif
