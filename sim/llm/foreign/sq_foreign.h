// SPDX-License-Identifier: Apache-2.0
// Linear layers as other programs store them quantized: which tensors a layer has and what they mean, its
// values in binary32 as the program that wrote them computes these, and the same layer in a format of ours where
// one holds its codes. docs/files.md says what each convention is.
//
//   compressed-tensors   weight_packed or weight, weight_scale, weight_global_scale (divides), weight_zero_point
//   modelopt             weight, weight_scale, weight_scale_2 (multiplies), input_scale
//   fp8                  weight, weight_scale_inv (multiplies), blocks of 128 x 128 or any other
//   quark, gpt-oss       weight or *_blocks, weight_scale or *_scales: MXFP4
//   gptq, awq            qweight, qzeros, scales, g_idx
//   GGUF                 blk.N.*.weight of integers, MXFP4 and NVFP4; .scale and .input_scale (multiply)
//   bitsandbytes         weight, weight.absmax, weight.quant_map, weight.quant_state.*: nf4, fp4
//
// Names and shapes of tensors decide; the quantization_config says what they leave open and is held against them.
#pragma once

#include <jansson.h>

#include "models/number/sq_ggml.h"
#include "sim/format/sq_adopted.h"
#include "sim/io/sq_safetensors.h"
#include "sim/llm/foreign/sq_foreign_expression.h"

// ---- a checkpoint -----------------------------------------------------------------------------

// Sentences for people: of each kind the first, of the layer where it was found.
enum { SQ_FOREIGN_NOTES = 8, SQ_FOREIGN_NOTE_SIZE = 320 };
struct sq_foreign_notes {
    size_t n;
    const char *kind[SQ_FOREIGN_NOTES]; // private
    char text[SQ_FOREIGN_NOTES][SQ_FOREIGN_NOTE_SIZE];
};

void sq_foreign_note(struct sq_foreign_notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// What holds the tensors, of the caller.
struct sq_foreign {
    const struct sq_safetensors *shard;
    size_t n_shards;
    const json_t *config; // quantization_config; NULL: none, the tensors say all
    struct sq_foreign_notes *notes;
    struct sq_foreign_expressions *expressions; // of the config
};

// Refuses a method that is not read and keys that change values and are not read (SQ_ERR_UNSUPPORTED); keys that
// nobody knows are in the notes. *method: its name; NULL without a config.
enum sq_status sq_foreign_check_config(const json_t *config, const char *what, const char **method,
                                       struct sq_foreign_notes *notes, struct sq_error *err);
// Refuses two configs of a checkpoint that say different things; `beside` names the second one.
enum sq_status sq_foreign_check_both(const json_t *config, const json_t *other, const char *beside,
                                     struct sq_error *err);

// ---- a layer ----------------------------------------------------------------------------------

enum sq_foreign_layout {
    SQ_FOREIGN_ROWS,    // codes of a row one after the other, the first in the lowest bits
    SQ_FOREIGN_WORDS,   // 32 / bits codes in a word of 32 bits, the rest of it unused
    SQ_FOREIGN_COLUMNS, // as ROWS down the columns, in words of 32 bits: [k * bits / 32][n]
    SQ_FOREIGN_AWQ,     // [k][n / 8] words, nibbles in the order 0 2 4 6 1 3 5 7
    SQ_FOREIGN_HIGH, // nibbles, the first of two in the upper half of its byte, rows without a break
    SQ_FOREIGN_GGML, // blocks of a GGUF file with their scales inside (models/number/sq_ggml.h)
};

enum sq_foreign_code { SQ_FOREIGN_INTEGER, SQ_FOREIGN_ELEMENT, SQ_FOREIGN_TABLE };

enum { SQ_FOREIGN_TENSORS = 8 };

struct sq_foreign_layer {
    const char *what; // "compressed-tensors NVFP4"
    size_t n, k;
    enum sq_foreign_layout layout;
    const struct sq_ggml_type *ggml; // GGML: of integers; NULL: E2M1
    enum sq_foreign_code code;
    enum sq_element element;  // ELEMENT
    float table[16];          // TABLE
    unsigned bits;            // of a code
    bool is_signed;           // INTEGER: two's complement, else less a zero point
    const uint8_t *data;      // the codes; NULL of a GGUF file, whose blocks are used[0]
    size_t scale_rows, group; // so many rows and columns share a scale; the last ones may be fewer
    bool has_row_scale;       // a row or the tensor has one, however long rows are
    const struct sq_tensor *scale; // binary32, binary16, bfloat16, E4M3, or E8M0 in bytes
    size_t scale_at;               // element of it at which the layer begins
    size_t n_interleaved_heads;    // GGML: as in struct sq_layer
    bool is_scale_across;          // [groups][n], else [n / scale_rows][groups]
    float *scales;                 // in place of them, owned: bitsandbytes
    const struct sq_tensor *zero;  // NULL: 2^(bits - 1)
    bool is_zero_loose;            // compressed-tensors: 32 / bits zero points a word, as WORDS
    unsigned zero_more;            // what a stored zero point lacks: 1 in GPTQ's first version
    const struct sq_tensor *order; // group of each column; NULL: its place
    float global;                  // 1: none
    bool has_global, is_global_divisor;
    enum sq_adopted_act act;
    unsigned act_bits;
    float act_global; // 0: none
    const struct sq_tensor
        *used[SQ_FOREIGN_TENSORS]; // all of the layer, up to a NULL; the codes are the first
};

// The layer `name`, which must be n x k; *is_there: whether its tensors are quantized, else *l is empty and there
// is a plain tensor or none. One sentence with tensor and field for what is damaged (SQ_ERR_SHAPE, SQ_ERR_DAMAGED),
// contradicts the config, or is not read (SQ_ERR_UNSUPPORTED). Free it.
enum sq_status sq_foreign_open(const struct sq_foreign *f, const char *name, size_t n, size_t k,
                               struct sq_foreign_layer *l, bool *is_there, struct sq_error *err);
void sq_foreign_free(struct sq_foreign_layer *l);
// A layer of blocks in a GGUF file: integers, MXFP4, or NVFP4 with the scale above its blocks and that of
// activations, which may be NULL (1, and none). *is_there: whether they are blocks of that kind.
enum sq_status sq_foreign_open_blocks(const struct sq_tensor *t, const struct sq_tensor *global,
                                      const struct sq_tensor *act, size_t n_interleaved_heads,
                                      struct sq_foreign_layer *l, bool *is_there,
                                      struct sq_error *err);

// A layer of a file without config: sizes from the tensors of that name.
struct sq_foreign_size {
    size_t n, k, n_layers; // n_layers > 1: experts in one tensor, opened as NAME.0, NAME.1, ..
};
bool sq_foreign_size(const struct sq_foreign *f, const char *name, struct sq_foreign_size *size);

// Rows [first, end) into out[end - first][k], each operation one rounding to binary32.
// SQ_ERR_NON_FINITE names row and column.
enum sq_status sq_foreign_read(const struct sq_foreign_layer *l, size_t first, size_t end,
                               float *out, struct sq_error *err);

// ---- in a format of ours ----------------------------------------------------------------------

// The recipe of the format that holds the very codes of the layer; of one that none holds the recipe that keeps
// its values (sq_as_stored.h), and *why, where not NULL, is a phrase that says what is in the way.
enum sq_status sq_foreign_recipe(const struct sq_foreign_layer *l, struct sq_recipe *r,
                                 const char **why, struct sq_error *err);
// The layer by that recipe.
enum sq_status sq_foreign_encoded(const struct sq_foreign_layer *l, const struct sq_recipe *r,
                                  struct sq_quant_layer *q, struct sq_error *err);
