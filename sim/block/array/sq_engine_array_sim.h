// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_engine_array, for the engine that makes its masks in front of it.
#pragma once

#include "sim/block/flow/sq_engine.h"
#include "sim/block/flow/sq_pipeline.h"
#include "sim/block/output/sq_output_sim.h"

// Its streams.
enum { SQ_ENGINE_ARRAY_JOB, SQ_ENGINE_ARRAY_PLAIN, SQ_ENGINE_ARRAY_CODED, SQ_ENGINE_ARRAY_SCALE };

struct sq_engine_array_sim {
    struct sq_chain array;
    struct sq_output_sim output;
    struct sq_engine_count in, scale; // beats of operands, of scales
    struct sq_engine_jobs next;       // jobs on their way to the scales
    struct sq_engine_jobs next_sums;  // ... with them: sums come in, sums leave
    bool carries, keeps;              // of the job at the scales
};
