// SPDX-License-Identifier: Apache-2.0
// The part of sq_stream_cosim.h for blocks with struct sq_flow: how a case is drawn and run. Used
// by sq_stream_cosim.c alone.
#ifndef SQ_FLOW_COSIM_H
#define SQ_FLOW_COSIM_H

#include "sim/cosim/sq_stream_cosim.h"

// Fills the groups of *c, whose block, point, seed and stalls are set. SQ_ERR_MEMORY.
enum sq_status sq_flow_draw_case(struct sq_stream_case *c, const struct sq_stream_shape *s,
                                 struct sq_rng *rng, bool is_all, struct sq_error *err);

// As sq_stream_cosim_run; `tile` of a mismatch is the group.
enum sq_status sq_flow_cosim_run(const struct sq_stream_case *c, const struct sq_rtl_api *rtl,
                                 const char *fst_path, uint64_t fst_from,
                                 struct sq_core_cosim_result *result, struct sq_error *err);

#endif
