// SPDX-License-Identifier: Apache-2.0
// Where co-simulation cases come from: the table of parameter points, random and adversarial cases
// by number and seed, and the shrinking of a failing case.
#ifndef SQ_COSIM_CASE_H
#define SQ_COSIM_CASE_H

#include "sim/cosim/sq_core_cosim.h"

struct sq_cosim_point {
    const char *name;             // "p01"
    struct sq_core_config config; // legal
    bool quick;                   // one of those that `make test` runs
};

// The points of `sqsim cosim`, spread over bank, k, lanes (bank shorter than, equal to and longer
// than the lanes), rows, columns, gathers, precisions and activation widths.
size_t sq_cosim_points(const struct sq_cosim_point **points);

// A case with the arrays it owns.
struct sq_owned_case {
    struct sq_core_case c;
    int8_t *act, *lo, *hi; // c.operands points here
};
void sq_owned_case_free(struct sq_owned_case *o);

// Allocates the operand arrays for the jobs of o->c (zeroed). SQ_ERR_MEMORY.
enum sq_status sq_owned_case_alloc(struct sq_owned_case *o, struct sq_error *err);

// Case `number` of a seed on a configuration: shapes down to one bank and one group, all stall
// kinds, values from typical to extreme, sometimes banks with a wrong number of mask codes; on
// small cores one case in 64 counts banks and groups beyond 2^14. A function of its arguments
// alone.
enum sq_status sq_cosim_case(const struct sq_core_config *config, uint64_t seed, uint64_t number,
                             struct sq_owned_case *o, struct sq_error *err);

// Replaces a failing case by a smaller one that still fails (fewer jobs, groups, banks, stalls,
// non-zero operands), until nothing smaller does. *result is that of the case that remains. `run`
// is sq_core_cosim_run or sq_gather_cosim_run.
typedef enum sq_status sq_cosim_run_fn(const struct sq_core_case *c, const struct sq_rtl_api *rtl,
                                       const char *fst_path, uint64_t fst_from,
                                       struct sq_core_cosim_result *result, struct sq_error *err);
enum sq_status sq_cosim_shrink(struct sq_owned_case *o, const struct sq_rtl_api *rtl,
                               sq_cosim_run_fn *run, struct sq_core_cosim_result *result,
                               struct sq_error *err);

#endif
