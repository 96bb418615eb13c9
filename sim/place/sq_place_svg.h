// SPDX-License-Identifier: Apache-2.0
// Draws a placement: rows, cells coloured by group, and the longest path from pin to pin.
#pragma once

#include <stdio.h>

#include "sim/place/sq_place.h"

// More cells than SQ_PLACE_SVG_CELLS are drawn as tiles.
enum { SQ_PLACE_SVG_GROUPS = 16, SQ_PLACE_SVG_NAME = 32, SQ_PLACE_SVG_CELLS = 30000 };

struct sq_place_groups {
    uint8_t *of; // the group of each cell, below SQ_PLACE_SVG_GROUPS; owned
    char name[SQ_PLACE_SVG_GROUPS][SQ_PLACE_SVG_NAME]; // the legend lists those with cells
};

// `report`: the path as OpenSTA prints it (sq_synth_time), in the names of sq_spef.h. SQ_ERR_DAMAGED where that names a cell or
// pin that is not there.
enum sq_status sq_place_svg(FILE *out, const struct sq_place *p, const struct sq_place_groups *g,
                            const char *report, struct sq_error *err);

// Groups of a netlist by the instances of its top: the first path of a cell's name. The last group, "others", has cells that are in none,
// and those of more instances than there are groups. The caller frees g->of, after a failure too. SQ_ERR_MEMORY.
enum sq_status sq_place_instances(const struct sq_place *p, struct sq_place_groups *g,
                                  struct sq_error *err);
