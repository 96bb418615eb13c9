// SPDX-License-Identifier: Apache-2.0
// A route brings a product (sq_product.h) to one RTL block: it turns the operands into the input
// beats of the block (a case, sim/block/flow/sq_case.h), and says what the block must give. The product
// comes from a kernel trace or from an encoded layer with its activations.
// sim/cosim/sq_route_cosim.h runs routes through the RTL.
#pragma once

#include "sim/block/flow/sq_case.h"
#include "sim/format/sq_product.h"

struct sq_chip;
struct sq_format_ops;
struct sq_chip_layer;
struct sq_trace;
struct sq_recipe;
struct sq_quant_layer;

// One product on its way through one block. Point and case belong to the caller.
struct sq_route_work {
    struct sq_product *p;
    const struct sq_core_config *core; // lanes and gather, where a block has them
    unsigned array_rows, array_cols;   // of the arrays
    const struct sq_chip *chip;        // of a chip (sq_chip_route.h); NULL: as it is usual
    struct sq_chip_layer *chip_layer;  // not NULL: no case, but what a layer is on it
    bool
        is_engine; // of a chip's route: the case is that of its engine alone, whose block it then has
    unsigned engine_port; // ... outputs that leave this engine together; 0: it is no such case
    bool is_diagonal;     // of tiles: not each row with each column, but each at least once
    struct sq_point *point;
    struct sq_case *stream;
    struct sq_ports shape; // of the point
    size_t len, out_len;   // integers of an input and of an output beat
    int32_t *golden;       // [n_golden][out_len], of one group
    size_t n_golden;
    uint64_t values, value_mismatches; // integers of the product compared with the block's
    char difference[160];              // the first that differs; "": none
};

struct sq_route {
    const struct sq_block *block; // NULL: core
    // Chooses the point (sq_route_set) and fills in the case (sq_route_begin).
    enum sq_status (*make)(struct sq_route_work *w, struct sq_error *err);
    // Compares the golden outputs of the case (sq_route_golden) with the product's integers.
    enum sq_status (*check)(struct sq_route_work *w, struct sq_error *err);
    // Whether the block takes this product; NULL: every one.
    bool (*takes)(const struct sq_product *p);
};

// What the output stage reads of a kernel trace: its form (enum sq_combine_form), and which tensors are
// the scales col_lo, col_hi, row_lo, row_hi (sq_tile_route.h); NULL: the form does not read them.
struct sq_trace_output {
    unsigned form;
    const char *scale[4];
};

// The hardware of a format: its routes, and where products come from.
struct sq_format_routes {
    const struct sq_route *route;
    size_t n_routes;             // >= 1
    const struct sq_route *chip; // whole layers on sq_top; NULL: it does not run them

    // Kernel traces: metadata system and flags (NULL: the format's name; any); recomputes and
    // compares everything; where the format has a chip, scales.
    const char *trace_name, *trace_flags;
    enum sq_status (*trace_values)(struct sq_trace *r, struct sq_error *err);
    struct sq_trace_output trace_output;

    // Layers. What no route takes is refused by the option that says so (SQ_ERR_UNSUPPORTED); NULL:
    // there is nothing.
    enum sq_status (*check)(const struct sq_recipe *r, struct sq_error *err);
    // The product of a layer and x[p->m][k_orig], which stand in the layer's own input (smoothed).
    // x is rounded here to what the first block reads, where that is not binary32. Tensor `y` F32
    // [m][n], where the product has it, is the product's output from its integers.
    enum sq_status (*product)(const struct sq_quant_layer *q, const struct sq_recipe *r, float *x,
                              struct sq_product *p, struct sq_error *err);
};

// SQ_ERR_UNSUPPORTED, with what it runs: the chip does not run layers of `f`.
enum sq_status sq_route_on_chip(const struct sq_format_ops *f, struct sq_error *err);
// The tensors of the layer as a file has them (struct sq_part), under their names.
void sq_route_put_parts(struct sq_product *p, const struct sq_quant_layer *q);
// The product of a layer and x[m][k_orig] as the model has it, into *p (zeros; p->source is set),
// and its `y` against what the layer itself gives (SQ_ERR_INTERNAL). Free with sq_product_free even
// after a failure.
enum sq_status sq_route_product(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                const float *x, size_t m, struct sq_product *p,
                                struct sq_error *err);

// Parameter `name` of the block; whether it has one.
bool sq_route_has(const struct sq_route_work *w, const char *name);
void sq_route_set(struct sq_route_work *w, const char *name, unsigned value);
unsigned sq_route_get(const struct sq_route_work *w, const char *name);
// After the parameters, and w->stream->max_outputs where a group has more outputs than the
// block draws: room for n_groups groups of together n_beats beats; shape and lengths. SQ_ERR_RANGE
// beyond 2^28 integers.
enum sq_status sq_route_begin(struct sq_route_work *w, size_t n_groups, size_t n_beats,
                              struct sq_error *err);
// Where input field `name` begins in a beat.
size_t sq_route_field(const struct sq_route_work *w, const char *name);
// Output beats of a group whose first input beat (record) is `first` into w->golden; how many.
size_t sq_route_golden(struct sq_route_work *w, size_t group, size_t first);
// One integer of the product, named tensor[at], against the block's.
void sq_route_expect(struct sq_route_work *w, const char *tensor, size_t at, int64_t got,
                     int64_t want);
