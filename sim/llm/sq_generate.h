// SPDX-License-Identifier: Apache-2.0
// Text from a model, token after token: embedding, norms, rotary embedding, attention (with kept keys and values),
// softmax and lm_head on the host in binary32, every linear layer of the decoder in the exact arithmetic of a format, by
// the golden model or by the chip. Hidden states and logits do not depend on which of them multiplies, and the states
// are, to the bit, those of a pass over all tokens at once (sq_eval.h). With a vector unit all is the
// chip's, by the program of a token (sq_token_program.h, which says what is rounded).
#pragma once

#include "sim/llm/chip/sq_token_program.h"
#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/sq_layer_file.h"
#include "sim/llm/text/sq_tokens.h"

struct sq_generate_options {
    const struct sq_recipe *recipe;
    const struct sq_layer_file *file; // the layers as they are there, of its recipe; NULL: encoded
    const struct sq_tokens *calib;    // NULL where nothing needs calibration
    const int32_t *prompt;            // [n_prompt]
    size_t n_prompt;                  // >= 1
    size_t n_tokens;                  // to write at most, >= 1
    const int32_t *end;               // [n_ends]: each of these tokens is the last one
    size_t n_ends;
    double
        temperature; // > 0: drawn from softmax(logits / temperature); 0: the most likely, of equals the lowest id
    uint64_t seed;
    struct sq_chip_linear *chip; // the caller's; NULL: the golden model multiplies
    // Not 0: all is computed as a vector unit with a lane for each 4 of so many bytes and an attention unit do it: by the program
    // of a token on the chip, whose bus has as many, or by models/ without one.
    uint32_t vector_nbytes;
    bool has_int8; // with it: the cache is INT8, else binary16; of the chip as its chip.attend says
};

// A token that was written.
struct sq_generate_token {
    size_t number;                   // from 0 on
    int32_t id;                      //
    double nll;                      // -log p of it, nats, temperature 1
    const float *logit;              // [vocab_size], from which it was taken; valid during the call
    size_t m;                        // tokens that went through the layers: the prompt, then one
    struct sq_chip_cost cost;        // of these layers; zeros without a chip
    const struct sq_chip_cost *part; // of it, [SQ_TOKEN_PARTS]; NULL without the program of a token
    uint64_t moves;                  // of the program (sq_token_program.h)
};
typedef void sq_generate_report(void *context, const struct sq_generate_token *token);

// `encoded` is called, where not NULL, after each block of the model that is encoded. SQ_ERR_RANGE where prompt and
// tokens are longer than the model's context; SQ_ERR_NON_FINITE for a logit; what encoding and the chip say.
struct sq_generate_watch {
    void (*encoded)(void *context, size_t block, size_t n_blocks);
    sq_generate_report *written;
    void *context;
};
enum sq_status sq_generate(const struct sq_checkpoint *ck, const struct sq_generate_options *o,
                           const struct sq_generate_watch *watch, struct sq_error *err);
