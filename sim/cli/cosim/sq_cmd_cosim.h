// SPDX-License-Identifier: Apache-2.0
// The modes of `sqsim cosim`. Each returns an exit code.
#pragma once

#include "sim/cli/cosim/sq_cosim_report.h"

// Fills in->points from in->wanted (all points of in->block without).
enum sq_status sq_cosim_choose_points(struct sq_cosim_args *in);

// Whether core or format options were given; or, besides, --parameter.
bool sq_cosim_has_options(const struct sq_cosim_args *in);
bool sq_cosim_has_own(const struct sq_cosim_args *in);
// Fills in->points by all options: core options, those of banks and --parameter make one point of
// that of --point, by default the first of the table; for a core they stand alone. With traces, which
// bring their points, none is chosen where no option says so.
enum sq_status sq_cosim_take_points(struct sq_cosim_args *in);
// Without core options, one that builds in seconds.
void sq_cosim_small_core(struct sq_cosim_args *in);

// The table of points of in->block; --json: of every block with in->is_all.
int sq_cosim_list(const struct sq_cosim_args *in);

// Random cases over in->points: a line per point and every divergence; adds to *total.
// SQ_EXIT_OK also with mismatches.
int sq_cosim_random(const struct sq_cosim_args *in, struct sq_cosim_total *total);

// A waveform of case 0 of the first point.
int sq_cosim_waves(const struct sq_cosim_args *in);

// --mutants: in->n_mutants faults of the one point, a line per survivor (--json: per fault), the
// sums. SQ_EXIT_CHECK_FAILED only where the netlist without a fault already differs.
int sq_cosim_mutants(const struct sq_cosim_args *in);

// Every linear layer of a checkpoint, whole, through the one point of in->points.
int sq_cosim_model(const struct sq_cosim_args *in);

// Kernel traces in->file[], each through every block that takes it.
int sq_cosim_traces(const struct sq_cosim_args *in);
