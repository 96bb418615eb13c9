// SPDX-License-Identifier: Apache-2.0
// Layers that one chip runs as a ring of descriptors: their images lie one behind the other in memory, behind the ring.
#pragma once

#include "sim/block/top/sq_top_host.h"
#include "sim/format/top/sq_chip_route.h"

enum { SQ_PROGRAM_NAME_SIZE = 96 };

// Where the activations of a layer come from.
enum sq_program_source {
    SQ_PROGRAM_CODED, // they are in its image
    SQ_PROGRAM_INPUTS, // an encoder makes them of inputs in bfloat16; layers with the same ones share it
    SQ_PROGRAM_OUTPUTS, // of the outputs of the layer before; of the first one of inputs
    SQ_PROGRAM_CODES, // they are the outputs of the layer before, INT8 at one scale; of the first one of inputs
};

extern const char *const sq_program_source_names[]; // from INPUTS on

// Given: chip (its base is where the ring lies; it encodes unless the source is CODED), source, rows and cols of a tile;
// the rest is zero at first.
struct sq_chip_program {
    struct sq_chip chip;
    enum sq_program_source source;
    uint32_t encoder; // the last one and 1; 0: there is none
    float scale;      // of the outputs of the last layer, of CODES: its largest one is 127 of them
    unsigned rows, cols;
    struct sq_point point; // of the layers, the same of all
    struct sq_env_choice memory;
    uint64_t end; // address behind the last image
    struct sq_top_program ring;
    struct sq_top_given image[SQ_PROGRAM_MAX];
    struct sq_program_layer {
        char name[SQ_PROGRAM_NAME_SIZE];
        struct sq_product p; // which owns the image
    } layer[SQ_PROGRAM_MAX];
    uint64_t values, value_mismatches; // as struct sq_route_work has them
    char difference[160];
};

// Puts the product of a layer, which has a chip, and its tokens x[m][k_orig] behind the others: *p, zeros but for its
// source, freed by the caller even after a failure. Of an encoded source its tokens are bfloat16, those of x or the
// outputs of the layer before. What sq_route_product and sq_chip_make say; SQ_ERR_RANGE for more than SQ_PROGRAM_MAX
// layers and encoders; SQ_ERR_SHAPE where those outputs are no inputs; SQ_ERR_UNSUPPORTED for a layer that needs
// another chip, or inputs that are divided.
enum sq_status sq_chip_program_add(struct sq_chip_program *g, const struct sq_quant_layer *q,
                                   const struct sq_recipe *r, const char *name, const float *x,
                                   size_t m, struct sq_product *p, struct sq_error *err);
void sq_chip_program_free(struct sq_chip_program *g);
