// SPDX-License-Identifier: Apache-2.0
// A product on the chip (rtl/top/sq_top.sv): its operands become the image of a layer in memory, with a
// descriptor; the lock step runs it, and holds every word that is written to the golden outputs, which
// must be the product's `y`. For every product that a route takes to an engine which the chip may have
// (sq_engine_array, sq_engine_scaled): that route says what the operands are.
#pragma once

#include "sim/format/sq_route.h"
#include "sim/format/top/sq_chip_plan.h"

// A chip, but for what the format says of it. 0: as it is usual.
struct sq_chip {
    sq_chip_time *time;          // times the best plans; NULL: by an estimate
    struct sq_chip_memo *memo;   // for `time`
    struct sq_chip_plans *plans; // the caller's, of layers before; NULL: each is planned anew
    bool no_want; // the golden outputs of an image are not asked for: they and `status` are 0
    unsigned bus_nbytes; // of a beat of memory: 4, 8, ... 64; usual: 8
    unsigned depth;      // beats of operands in half a buffer; usual: 256
    // Buffers of activations, of weights, of the scales of rows and of columns (each so much), of sums, both halves.
    uint64_t act_nbytes, weight_nbytes, scale_nbytes, sum_nbytes;
    uint64_t base; // of the image in memory: where its descriptor lies; a multiple of SQ_AXI_PAGE
    bool
        encodes; // it has an encoder, outputs are bfloat16, and tiles of rows lie apart (sq_encode_sim.h)
    unsigned attend;  // sq_ta_param of its attention unit (sq_top_attend.h); 0: it has none
    bool vectors;     // it has a vector unit (sq_top_vector.h)
    bool moves_codes; // with `encodes`: outputs are INT8, which the encoder moves
    struct sq_chip_tail {
        unsigned acc,
            aligned; // of block-scaled formats: enum sq_scaled_acc, bits of its aligned ones
        unsigned cut, carry; // of exact sums (SQ_SCALED_TAIL)
    } tail;
    unsigned max_burst, outstanding,
        writes; // of the DMA; usual: 32 beats, 4 bursts read and 4 written at once
    unsigned
        products; // bit products that a PE may have; 0: as many as a beat of the format as it is usual
    struct sq_env_choice
        memory; // kind 1 (sq_axi_memory.h); usual: as fast as the bus, 40 cycles away
};

// A layer on it: parameters of sq_top, the layer with its regions in memory.
struct sq_chip_layer {
    uint64_t m, n; // given
    unsigned value[SQ_POINT_VALUES];
    struct sq_top_layer layer;
    struct sq_env_choice memory;
};
// Makes the descriptor of a layer of m tokens, n channels, k columns in this recipe, on tiles of rows x cols.
// It is what sq_chip_make makes of such a layer, without its values: a layer of one channel and one token is
// encoded and asked.
// SQ_ERR_UNSUPPORTED: the chip does not run the format, or not these options of it; SQ_ERR_RANGE: too large.
enum sq_status sq_chip_layer_of(const struct sq_recipe *r, const struct sq_chip *chip,
                                unsigned rows, unsigned cols, const uint64_t mnk[3],
                                struct sq_chip_layer *layer, struct sq_error *err);

// Elements of K of a beat on the chip: as many as the multipliers that it states make at so many bit products for
// each two of them, a power of two, 4..SQ_BANK_MAX; `usual` where it states none, or w is of no chip.
unsigned sq_chip_bank(const struct sq_route_work *w, unsigned usual, unsigned products_of_two);
// Bit products that a PE makes in a cycle: each multiplier counts the product of the bits of its operands.
unsigned sq_chip_products(const unsigned *value);

// make of struct sq_route for the engine; sq_route_work.is_diagonal is set.
typedef enum sq_status sq_chip_engine_route(struct sq_route_work *w, struct sq_error *err);

// Outputs of the chip, tile after tile as they lie in memory, as y[m][n]; INT8 stand in its highest byte.
void sq_chip_outputs(const unsigned *value, const struct sq_top_layer *layer, const int32_t *out,
                     size_t m, size_t n, float *y);

// make and check of struct sq_route: the golden outputs against `y`. With sq_route_work.is_engine make is that of the
// chip's engine alone, on the operands of the whole layer, and check is that of its block.
enum sq_status sq_chip_make(struct sq_route_work *w, const struct sq_block *engine,
                            sq_chip_engine_route *make, struct sq_error *err);
enum sq_status sq_chip_check(struct sq_route_work *w, struct sq_error *err);
