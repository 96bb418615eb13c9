// SPDX-License-Identifier: Apache-2.0
// Names the causes (sq_cause.h).
#include "sim/block/flow/sq_cause.h"

const char *sq_cause_name(enum sq_cause cause)
{
    switch (cause) {
    case SQ_CAUSE_BUSY:
        return "busy";
    case SQ_CAUSE_FILLING:
        return "filling";
    case SQ_CAUSE_WAIT_ACT:
        return "wait_act";
    case SQ_CAUSE_WAIT_WEIGHT:
        return "wait_weight";
    case SQ_CAUSE_WAIT_HIGH:
        return "wait_high";
    case SQ_CAUSE_WAIT_MASK:
        return "wait_mask";
    case SQ_CAUSE_BLOCKED_OUTPUT:
        return "blocked_output";
    case SQ_CAUSE_DRAINING:
        return "draining";
    case SQ_CAUSE_IMBALANCE:
        return "imbalance";
    case SQ_CAUSE_WAIT_INDEX:
        return "wait_index";
    case SQ_N_UNIT_CAUSES:
        break;
    }
    return "unknown";
}
