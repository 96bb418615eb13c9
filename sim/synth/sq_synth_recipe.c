// SPDX-License-Identifier: Apache-2.0
// What the recipes are (sq_synth.h); sq_synth_search.c searches among them.
#include <assert.h>

#include "sim/synth/sq_synth_run.h"

static const struct sq_synth_recipe_text recipes[SQ_SYNTH_N_RECIPES] = {
    [SQ_SYNTH_AREA] = {"area", .has_cells = true, .mapper = 'a'},
    [SQ_SYNTH_TREE] = {"tree", .has_tree = true, .has_cells = true, .mapper = 'c'},
    [SQ_SYNTH_WIDE] = {"wide", true, 20, .has_cells = true, .mapper = 'c'},
    [SQ_SYNTH_PREFIX] = {"prefix", true, 1, .has_cells = true, .mapper = 'c'},
    [SQ_SYNTH_CELLS] = {"cells", true, 1, .has_cells = true, .is_sized = true, .mapper = 'c'},
    [SQ_SYNTH_NF] = {"nf", .has_tree = true, .is_sized = true, .mapper = 'n'},
    [SQ_SYNTH_MAP] = {"map", .has_tree = true, .is_sized = true, .mapper = 'm'},
    [SQ_SYNTH_FAST] = {"fast", true, 1, .is_sized = true, .mapper = 'm'},
};

const struct sq_synth_recipe_text *sq_synth_recipe_text(enum sq_synth_recipe recipe)
{
    assert(recipe < SQ_SYNTH_N_RECIPES);
    return &recipes[recipe];
}

const char *sq_synth_recipe_name(enum sq_synth_recipe recipe)
{
    return sq_synth_recipe_text(recipe)->name;
}
