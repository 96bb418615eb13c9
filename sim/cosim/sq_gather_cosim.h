// SPDX-License-Identifier: Apache-2.0
// Lock-step co-simulation of sq_gather, as sq_core_cosim.h: handshakes of every cycle against the
// cycle model, contents of every beat against the golden model.
#ifndef SQ_GATHER_COSIM_H
#define SQ_GATHER_COSIM_H

#include "sim/cosim/sq_core_cosim.h"

// The case is that of a core with one column: its banks, in order, are the beats; high codes are
// not used. stall[0] is the source, stall[3] the sink; one stream instead of four, so beats counts
// banks in and out.
enum sq_status sq_gather_cosim_run(const struct sq_core_case *c, const struct sq_rtl_api *rtl,
                                   const char *fst_path, uint64_t fst_from,
                                   struct sq_core_cosim_result *result, struct sq_error *err);

#endif
