// SPDX-License-Identifier: Apache-2.0
// --window --stride --bos: how a text becomes sequences of tokens (sim/llm/text/sq_token_source.h), in
// the commands that take --text or --calib-text.
#pragma once

#include "sim/cli/sq_cli_row.h"
#include "sim/llm/text/sq_token_source.h"

// A part of a command's rows, whose field is a struct sq_token_source: window, stride and bos are set
// here, the text is the command's.
extern const struct sq_cli_row sq_cli_text_rows[];

// "8 sequences of tokens.safetensors", "8 windows of 512 tokens, stride 512, BOS none", of what was
// read.
void sq_cli_text_of(const struct sq_token_source *source, const struct sq_tokens *tokens,
                    char text[160]);
// The same as an object: sequences, window, stride, bos; the last three null for a token file.
json_t *sq_cli_text_json(const struct sq_token_source *source, const struct sq_tokens *tokens);
