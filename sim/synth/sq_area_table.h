// SPDX-License-Identifier: Apache-2.0
// Units priced by name, at equal weights per cycle: PEs that take 16 weights per cycle in every
// format of sq_array, what a row or column of them shares, whole arrays, TopK and 2:4. The table
// below is the one that reports/area/README.md quotes.
#ifndef SQ_BLOCK_UNIT_H
#define SQ_BLOCK_UNIT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/synth/sq_synth.h"

struct sq_block_unit {
    const char *name, *top;
    unsigned weights;                // per cycle, of one PE or line
    bool is_array;                   // has parameters Rows and Cols
    struct sq_synth_param param[12]; // up to the first without a name
};

const struct sq_block_unit *sq_block_units(size_t *n);

#endif
