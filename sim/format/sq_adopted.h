// SPDX-License-Identifier: Apache-2.0
// Weights that another program encoded, as codes, scales and what is above them, whatever its files look
// like; and the format of ours that holds the very same codes. Nothing is encoded again.
//
// The value of column j of row i is code * scale[i][j / group] * global; with zero points it is
// (code - zero[i][j / group]) * scale[i][j / group], with minima code * scale[i][j / group] + them, and of offset codes (code - 2^(bits-1)) * scale[i][j / group].
#pragma once

#include "models/scaled/sq_element.h"
#include "sim/format/sq_recipe.h"
#include "sim/io/sq_tensor.h"

enum sq_adopted_scale {
    SQ_ADOPTED_BINARY32, // values
    SQ_ADOPTED_E4M3,     // codes
    SQ_ADOPTED_E8M0,     //
};

// Integers that no format of sq_formats has: a description of them is made (SPEC Q.9).
enum sq_adopted_grid {
    SQ_ADOPTED_BUILT_IN, // others
    SQ_ADOPTED_ZERO,     // unsigned, less a zero point of as many bits
    SQ_ADOPTED_MIN,      // unsigned, above a minimum; that of sub-blocks is subtracted
    SQ_ADOPTED_OFFSET,   // unsigned, less 2^(bits - 1)
    SQ_ADOPTED_INT,      // two's complement without its lowest pattern
};

// What the other program makes of activations.
enum sq_adopted_act {
    SQ_ADOPTED_ACT_NONE,    // they stay as they are
    SQ_ADOPTED_ACT_LIKE,    // the element, the block and the scale of the weights
    SQ_ADOPTED_ACT_INTEGER, // integers of act_bits, a scale a token
};

struct sq_adopted {
    // The kind, which decides on the format.
    bool is_integer; // codes are integers in two's complement, `bits` of them; else `element`
    enum sq_element element; //
    unsigned bits;           // of a code, 2..8
    // Size of a code and of a scale in the file: fewer where the lowest integer, which is no value here, takes a bit more,
    // and where scales are 16-bit floats. 0: as here.
    unsigned stored_bits, scale_nbytes;
    size_t n, k;  // k is a multiple of group
    size_t group; // columns that share a scale
    // Columns of a sub-block whose integer multiplies the scale, and another one the minimum; 0: there are none. Its bits.
    size_t sub_group;
    unsigned sub_bits;
    bool is_sub_signed;
    bool has_row_scale; // a row has one, however long it is; group = k
    enum sq_adopted_scale scale_type;
    enum sq_adopted_grid grid; // integers that are described
    enum sq_dtype scale_dtype; // of these: SQ_F16, SQ_BF16 or SQ_F32
    bool has_global;
    enum sq_adopted_act act;
    unsigned act_bits;
    float act_global; // > 0: the constant scale above the blocks of activations; 0: of each token

    // The data, of the caller.
    const uint8_t *code;       // [n][k], a byte each
    const float *scale;        // [n][k / group], SQ_ADOPTED_BINARY32
    const uint8_t *scale_code; // [n][k / group], the others
    const uint16_t *zero;      // [n][k / group], of SQ_ADOPTED_ZERO; of SQ_ADOPTED_MIN binary16
    const uint8_t *sub[2];     // [n][k / sub_group], of scales, and of minima where there are some
    float global;              // where has_global
};

// The recipe of the first format that holds such layers, or of a description of integers; false where none does.
bool sq_adopted_recipe(const struct sq_adopted *a, struct sq_recipe *r);

// The layer itself, by a recipe of sq_adopted_recipe, validated as one from a file is. Free it with
// sq_quant_layer_free; after a failure it is empty.
enum sq_status sq_adopted_layer(const struct sq_adopted *a, const struct sq_recipe *r,
                                struct sq_quant_layer *q, struct sq_error *err);
