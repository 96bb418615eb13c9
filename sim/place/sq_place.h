// SPDX-License-Identifier: Apache-2.0
// A mapped netlist (sq_synth_mapped) on the rows of a chip: where each cell stands, and how long the wires are.
// All lengths are micrometres, all places are measured from the lower left corner of the rows.
//
// The rows lie on one another without gaps, every other one upside down, so that neighbours share their supplies. The
// area is as high as it is wide, and cells cover `utilisation` of it, less where they are few. Ports stand around it, in the order in
// which their nets' cells lie. Blocks are memories, higher than a row: they stand in columns on the left and on the right of the rows, each in
// the order in which what they are wired to lies.
//
// Not promised: what a router can do (a wire is as long as its tree, and no two are in each other's way), a clock tree,
// taps, and a supply's own wires. The same netlist, LEF, utilisation and seed give the same places.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"
#include "sim/place/sq_lef.h"

enum { SQ_PLACE_NONE = UINT32_MAX, SQ_PLACE_PORT_SINKS = 64, SQ_PLACE_NET_PINS = 1000 };

struct sq_place_pin {
    uint32_t cell, net;
    const struct sq_lef_pin *lef; // NULL: a port
    bool is_driver;               // an output of a cell, an input of the module
};

// A cell of the netlist; those from n_cells on are ports, of no size, then blocks: both are fixed.
struct sq_place_cell {
    const char *name;                 // with the path of its part; of a port: its own
    const struct sq_lef_macro *macro; // NULL: a port
    uint32_t bit, n_bits;             // of a port
    double x, y;                      // lower left corner
    bool is_flipped;                  // left and right changed; that a row is upside down is in y
    uint32_t pin, n_pins;             // of sq_place.pin, one after another
};

struct sq_place_net {
    uint32_t first, n; // of sq_place.by_net
    // Without wires in delays: the clock, an input of the module that drives more than SQ_PLACE_PORT_SINKS pins, and a net of more than
    // SQ_PLACE_NET_PINS, which a gated clock is. They take a tree of buffers, which no netlist of ours has.
    bool is_ideal;
};

struct sq_place {
    const struct sq_lef *lef;
    size_t n_cells, n_ports, n_blocks, n_nets, n_pins;
    struct sq_place_cell *cell;  // n_cells, then n_ports, then n_blocks
    struct sq_place_pin *pin;    // by cell, in the order of the JSON
    struct sq_lef_macro *memory; // of a block that the LEF does not have, or NULL; owned
    uint32_t *by_net;            // numbers of pins
    struct sq_place_net
        *net; // by the numbers of Yosys; 0 and 1 are constants and have no pins here
    size_t n_rows;
    double width, height, area; // of the rows; of the cells
    struct json_t *root;        // of the netlist, which owns the names; owned
};

// Reads the JSON of sq_synth_mapped; `clock`: the port of the clock, "": none. `memory`: a library of the one kind of block that there
// may be, NULL: none; without a macro in the LEF it is a square of its area, all pins at equal distances on the side of the rows. SQ_ERR_UNSUPPORTED: a
// cell or a pin that the LEF does not have, another cell that is not one row high. SQ_ERR_DAMAGED, SQ_ERR_MEMORY, SQ_ERR_IO. *lef must live longer.
enum sq_status sq_place_read(struct sq_place *p, const char *path, const char *clock,
                             const struct sq_lef *lef, const struct sq_liberty *memory,
                             struct sq_error *err);
// The same of a JSON that is there; *p owns it, after a failure it is gone.
enum sq_status sq_place_take(struct sq_place *p, struct json_t *root, const char *clock,
                             const struct sq_lef *lef, const struct sq_liberty *memory,
                             struct sq_error *err);
void sq_place_free(struct sq_place *p);

// Places all cells: utilisation in 0.1..0.95. Ends with sq_place_check. SQ_ERR_MEMORY.
enum sq_status sq_place_run(struct sq_place *p, double utilisation, uint64_t seed,
                            struct sq_error *err);
// The same from the places of `old`, of whose cells p has all, perhaps larger ones, and others behind them: what stood somewhere stays near.
enum sq_status sq_place_again(struct sq_place *p, const struct sq_place *old, double utilisation,
                              struct sq_error *err);
// SQ_ERR_INTERNAL: a cell beside the rows or their sites, or upon another one; a block upon rows or another block.
enum sq_status sq_place_check(const struct sq_place *p, struct sq_error *err);

static inline size_t sq_place_n_all(const struct sq_place *p)
{
    return p->n_cells + p->n_ports + p->n_blocks;
}
// The first and the last micrometre of the rows and the blocks beside them, from the left.
void sq_place_extent(const struct sq_place *p, double at[2]);

// The place of a pin.
static inline double sq_place_x(const struct sq_place *p, const struct sq_place_pin *pin)
{
    const struct sq_place_cell *const c = &p->cell[pin->cell];
    return c->x + (!c->macro ? 0 : c->is_flipped ? c->macro->width - pin->lef->x : pin->lef->x);
}
double sq_place_y(const struct sq_place *p, const struct sq_place_pin *pin);
// Width and height of the box around the pins of a net, added.
double sq_place_half_perimeter(const struct sq_place *p, size_t net);

// ---- the steps of sq_place_run -----------------------------------------------------------------

// Places where the cells would like to be, spread out, in no rows (sq_place_global.c).
enum sq_status sq_place_global(struct sq_place *p, uint64_t seed, struct sq_error *err);
// Into rows and sites, each as near to its place as may be (sq_place_rows.c).
enum sq_status sq_place_rows(struct sq_place *p, struct sq_error *err);
// Exchanges and moves of single cells that shorten the nets (sq_place_improve.c).
enum sq_status sq_place_improve(struct sq_place *p, struct sq_error *err);
