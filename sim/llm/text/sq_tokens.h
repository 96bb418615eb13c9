// SPDX-License-Identifier: Apache-2.0
// Token files: a safetensors file with `ids` I32 [n] and `offsets` I64 [n_sequences + 1]; sequence
// i is ids[offsets[i]] .. ids[offsets[i+1] - 1].
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

struct sq_tokens {
    size_t n_sequences; // >= 1; a caller may lower it to use the first sequences only
    size_t *offset;     // [n_sequences + 1], offset[0] = 0
    int32_t *id;        // [offset[n_sequences]]
    // Tokens that begin every sequence but the first and are predicted in the one before: windows
    // that overlap (sq_token_source.h). 0 for a token file.
    size_t context;
};

// Reads and checks all of it: offsets start at 0, rise by 2..max_position a sequence and end at the
// number of ids; ids lie in 0..vocab_size-1. Errors: SQ_ERR_IO, SQ_ERR_DAMAGED (no such tensor or
// dtype), SQ_ERR_OFFSETS, SQ_ERR_INDEX, SQ_ERR_RANGE (a sequence too short or too long), each with
// the place. Free with sq_tokens_free; after a failure *t is empty.
enum sq_status sq_tokens_read(struct sq_tokens *t, const char *path, size_t vocab_size,
                              size_t max_position, struct sq_error *err);
// The file `name` that belongs to a model: in its directory, or beside it where it is one file.
void sq_tokens_beside(const char *model, const char *name, char *path, size_t path_size);
void sq_tokens_free(struct sq_tokens *t);

// The place in sequence i of the first token whose prediction counts: 1, or the first after the context.
size_t sq_tokens_first_predicted(const struct sq_tokens *t, size_t i);
// Tokens of all sequences, and how many of them are predicted.
size_t sq_tokens_count(const struct sq_tokens *t);
size_t sq_tokens_predicted(const struct sq_tokens *t);
