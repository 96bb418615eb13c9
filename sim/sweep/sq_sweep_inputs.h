// SPDX-License-Identifier: Apache-2.0
// The inputs that the engines of a sweep share, opened once and only read then. For sq_sweep_inputs.c, which opens
// them, and sq_sweep_engine.c.
#pragma once

#include <jansson.h>

#include "sim/energy/sq_energy_memory.h"
#include "sim/machine/sq_workload.h"
#include "sim/sweep/sq_sweep_grid.h"
#include "sim/synth/sq_synth.h"

// The engines that encode a model.
#define SQ_SWEEP_ENCODING (SQ_ENGINE_VALUES | SQ_ENGINE_EVAL | SQ_ENGINE_SIZE)

struct sq_sweep_model {
    const char *name; // as in the specification
    char path[SQ_SWEEP_PATH_SIZE], tokens[1100],
        eval_tokens[1100]; // calibration tokens, evaluation tokens
    struct sq_checkpoint ck;
    struct sq_digest shapes_digest, values_digest;
};

struct sq_sweep_table {
    const char *name;
    struct sq_workload rows;
    json_t *config; // of a model, for whole passes; NULL: it has rows
    struct sq_digest digest;
};

struct sq_sweep_inputs {
    unsigned engines;
    size_t n_models, n_tables;
    struct sq_sweep_model *model;
    struct sq_sweep_table *table;
    const struct sq_digest *machine_digest; // of the specification
    struct sq_sweep_memo *memo;             // of ENCODING
    const struct sq_sweep_options *options;
    bool has_synth;
    struct sq_synth synth;
    double sram_um2; // of a bit; NAN: buffers have no area
    struct sq_energy_memory memory;
    struct sq_vector_energy vector;
    struct sq_digest prices; // of all files behind the last three
    char provenance[400];
};

// Those of the point; NULL where it has none.
const struct sq_sweep_model *sq_sweep_model_of(const struct sq_sweep_inputs *in,
                                               const struct sq_sweep_point *p);
const struct sq_sweep_table *sq_sweep_table_of(const struct sq_sweep_inputs *in,
                                               const struct sq_sweep_point *p);
