// SPDX-License-Identifier: Apache-2.0
// What a path of the core did in one cycle of a job. Exactly one cause applies per path and cycle,
// so the counts of a path sum to the cycles of the job. The first SQ_N_CAUSES are those of the
// core, with the same values in rtl/sq_pkg.sv; the others are of units around arrays (sq_unit.h).
#pragma once

enum sq_cause {
    SQ_CAUSE_BUSY = 0,           // a step was accepted
    SQ_CAUSE_FILLING = 1,        // high path: no bank has been completed yet
    SQ_CAUSE_WAIT_ACT = 2,       // low path: no activation beat
    SQ_CAUSE_WAIT_WEIGHT = 3,    // no code beat (low codes on the low path, high on the high path)
    SQ_CAUSE_WAIT_HIGH = 4,      // low path: the bank buffer is held by the high path
    SQ_CAUSE_WAIT_MASK = 5,      // high path: no complete bank, hence no mask
    SQ_CAUSE_BLOCKED_OUTPUT = 6, // results not taken
    SQ_CAUSE_DRAINING = 7,       // all steps of the job were accepted
    SQ_N_CAUSES = 8,
    SQ_CAUSE_IMBALANCE = 8,  // only the engine with most to do has a step
    SQ_CAUSE_WAIT_INDEX = 9, // what says which products come next is taken
    SQ_N_UNIT_CAUSES = 10,
};

// Stable name used in reports and JSON, e.g. "wait_high".
const char *sq_cause_name(enum sq_cause cause);
