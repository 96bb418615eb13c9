// SPDX-License-Identifier: Apache-2.0
// What placement needs of LEF files: the site of the rows, the sizes of cells, where their pins are, and what a
// micrometre of wire costs. All lengths are micrometres.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/sq_status.h"
#include "sim/synth/sq_liberty.h"

enum { SQ_LEF_MAX_NBYTES = 64 << 20, SQ_LEF_FILES = 8 };

struct sq_lef_pin {
    char name[SQ_LIB_NAME_LEN];
    bool is_output, is_supply;
    double x, y; // centre of the box around its shapes, from the lower left corner of the cell
};

struct sq_lef_macro {
    char name[SQ_LIB_NAME_LEN];
    double width, height;
    size_t n_pins;
    struct sq_lef_pin *pin; // owned
};

struct sq_lef {
    char site[SQ_LIB_NAME_LEN];
    double site_width, row_height;
    // Mean of the second and third routing layer, at the width that the layer states: ohms and farads a
    // micrometre; 0: the files give none.
    double ohm_per_um, farad_per_um;
    size_t n_macros;
    struct sq_lef_macro *macro; // by name; owned
};

// Reads files that together hold one library: cells in one, layers in another. A site is that of class CORE.
// SQ_ERR_IO; SQ_ERR_RANGE for a file of more than SQ_LEF_MAX_NBYTES; SQ_ERR_DAMAGED with the line for what is no LEF
// text, a block without an end, a number or a name that is none; SQ_ERR_UNSUPPORTED without a site, and for two sites
// of different sizes. The caller frees; after a failure there is nothing to free.
enum sq_status sq_lef_read(struct sq_lef *lef, const char *const *path, size_t n,
                           struct sq_error *err);
void sq_lef_free(struct sq_lef *lef);

// NULL where there is none.
const struct sq_lef_macro *sq_lef_find(const struct sq_lef *lef, const char *name);
const struct sq_lef_pin *sq_lef_pin(const struct sq_lef_macro *macro, const char *name);
