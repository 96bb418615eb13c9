// SPDX-License-Identifier: Apache-2.0
// The program of a token: one memory image with the weights of a model, its tables and a ring of descriptors that make the
// logits and the number of the next token from the number of a token and its position. Every step is one of the chip: layers,
// encoders between them, passes of the vector unit (rtl/top/vector.md). lib/sq_driver.h runs it: it writes the token and
// the position into the words that depend on them, and TAIL once.
//
// Values: inputs and outputs of layers are bfloat16, keys and values in the cache binary16 or INT8, all that lies between them
// binary32, attention is that of models/vector/sq_attend.h, lm_head the sums of the vector unit.
#pragma once

#include "sim/llm/chip/sq_chip_linear.h"
#include "sim/llm/sq_checkpoint.h"

// What a descriptor is for.
enum sq_token_part {
    SQ_TOKEN_EMBED, // the rows of token and position
    SQ_TOKEN_NORM,
    SQ_TOKEN_ENCODE,
    SQ_TOKEN_QKV,
    SQ_TOKEN_ROTARY,
    SQ_TOKEN_ATTENTION,
    SQ_TOKEN_O,
    SQ_TOKEN_RESIDUAL,
    SQ_TOKEN_GATE_UP,
    SQ_TOKEN_SILU,
    SQ_TOKEN_DOWN,
    SQ_TOKEN_HEAD, // lm_head, and the largest logit
    SQ_TOKEN_PARTS
};
extern const char *const sq_token_part_names[SQ_TOKEN_PARTS];

// chip.attend of a chip that says what its cache holds (sq_ta_cache_names) and takes the rest from the model.
unsigned sq_token_cache(unsigned cache);
// chip.attend of a unit for heads of this model, as many side by side as share a cache.
unsigned sq_token_attend(const struct sq_model_config *c, bool is_int8);

struct sq_token_program {
    uint64_t base;
    // [n_words], from base on: header, ring, patches, all else; a program without values has no memory for the rest.
    int32_t *word;
    size_t n_words;
    unsigned value[SQ_POINT_VALUES]; // of the chip
    struct sq_env_choice memory;
    uint32_t n;              // descriptors
    uint8_t *part;           // [n], enum sq_token_part
    uint64_t logits;         // of the vocabulary, a beat each
    size_t positions, vocab; // tokens of a sequence, of the vocabulary
    // What moved on the bus of memory for the last token, cycle by cycle (sq_device_moves).
    uint64_t moves;
};

// The program for sequences of so many positions on the chip of c (its chip.base is where the image lies; an attention unit of no
// queries says what the cache is, and becomes one for the model's heads), of layers of
// this recipe: begin, every layer of the model in its order (q NULL where c has no values), end. SQ_ERR_UNSUPPORTED for a model or recipe with steps that the
// chip does not do, SQ_ERR_RANGE for what does not fit; builder and *p are freed even after a failure.
struct sq_token_builder;
enum sq_status sq_token_begin(struct sq_token_builder **builder, const struct sq_checkpoint *ck,
                              const struct sq_recipe *r, const struct sq_chip_linear *c,
                              size_t positions, struct sq_token_program *p, struct sq_error *err);
enum sq_status sq_token_layer(struct sq_token_builder *b, size_t index,
                              const struct sq_quant_layer *q, struct sq_error *err);
enum sq_status sq_token_end(struct sq_token_builder *b, struct sq_error *err);
void sq_token_builder_free(struct sq_token_builder *b); // may be NULL
void sq_token_program_free(struct sq_token_program *p);

// What else is counted of a token, for joules.
struct sq_token_counts {
    struct sq_chip_cost layer;                  // layers alone
    uint64_t sram_read_nbits, sram_write_nbits; // by them (sq_chip_sram_nbits)
    uint64_t vector_beats, key_beats; // that the vector unit takes; of keys, that attention takes
};

// What the parts of such a program take for token 0 at this position, by the counters of the chip behind an ideal memory: the same as
// sq_token_program_run, without a device and without values. Each descriptor is timed by the chip's cycle model (sq_chip_run.h)
// once for all that differ in pages of their regions alone. cost[SQ_TOKEN_PARTS] and *counts are written.
enum sq_status sq_token_time(const struct sq_token_program *p, size_t position,
                             struct sq_chip_cost *cost, struct sq_token_counts *counts,
                             struct sq_error *err);

// A token on the device of c, after those at the positions before it: *next is the number of the largest logit; logit[vocab];
// cost[SQ_TOKEN_PARTS] is added to. SQ_ERR_RANGE for a position or token that there is none; SQ_ERR_INTERNAL where a
// descriptor ended with an error.
enum sq_status sq_token_program_run(struct sq_token_program *p, struct sq_chip_linear *c,
                                    int32_t id, size_t position, struct sq_chip_cost *cost,
                                    int32_t *next, float *logit, struct sq_error *err);
