// SPDX-License-Identifier: Apache-2.0
// Draws a placement: rows, cells coloured by group, and the longest path from pin to pin.
#pragma once

#include <stdio.h>

#include "sim/place/sq_place.h"

enum { SQ_PLACE_SVG_GROUPS = 16, SQ_PLACE_SVG_CELLS = 30000 };

// `group`: the group of each cell, below SQ_PLACE_SVG_GROUPS; `name`: of each group, and the legend lists those with cells;
// `report`: the path as OpenSTA prints it (sq_synth_time), in the names of sq_spef.h. SQ_ERR_DAMAGED where that names a
// cell or pin that is not there.
enum sq_status sq_place_svg(FILE *out, const struct sq_place *p, const uint8_t *group,
                            const char *const *name, const char *report, struct sq_error *err);
