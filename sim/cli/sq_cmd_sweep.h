// SPDX-License-Identifier: Apache-2.0
// What `sqsim sweep` and `sqsim point` share. Program code.
#ifndef SQ_CMD_SWEEP_H
#define SQ_CMD_SWEEP_H

#include "sim/cli/sq_cli.h"
#include "sim/sweep/sq_sweep.h"

// Home, caches and provenance of this program, for one job and no database. *members, which the caller
// frees after use, holds tool, revision and code; NULL without memory.
struct sq_sweep_options sq_sweep_options_of(const char *liberty, char **members);

#endif
