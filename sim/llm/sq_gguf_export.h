// SPDX-License-Identifier: Apache-2.0
// The files of a Hugging Face directory, beside the weights, as far as a GGUF file holds what is in
// them.
#pragma once

#include "sim/llm/sq_gguf_model.h"

// *json, which the caller owns, of the file `name`:
//
//   config.json             the config (sq_gguf_model.h), model_type, ids of BOS, EOS and padding
//   generation_config.json  the same ids
//   tokenizer.json          vocabulary, merges and added tokens of a byte-level BPE
//   tokenizer_config.json   special tokens and the chat template
//
// SQ_ERR_UNSUPPORTED where the file has no such thing or one of another kind (a SentencePiece
// vocabulary), SQ_ERR_DAMAGED where it contradicts itself, SQ_ERR_ARG for another name.
enum sq_status sq_gguf_export(const struct sq_gguf *g, const char *what, const char *name,
                              json_t **json, struct sq_error *err);
