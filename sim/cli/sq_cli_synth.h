// SPDX-License-Identifier: Apache-2.0
// The synthesis behind areas, as every command opens it. Program code.
#pragma once

#include "sim/synth/sq_synth.h"

// Standard cells where --liberty is not given: Debian's package qflow-tech-osu018.
#define SQ_CLI_LIBERTY "/usr/share/qflow/tech/osu018/osu018_stdcells.lib"

// With the modules of rtl/ and the cache of the program; liberty: NULL = SQ_CLI_LIBERTY.
// SQ_ERR_TOOL where that or a tool is missing, else as sq_synth_open.
enum sq_status sq_cli_synth_open(struct sq_synth *synth, const char *liberty, struct sq_error *err);

// "the wire load 1k of the library on every net, no placed wires": what the delays contain, for people; static.
const char *sq_cli_synth_wires(const struct sq_synth *synth);

// From here on a terminal shows what is synthesized, as a stage of `command`, until sq_cli_progress_end.
void sq_cli_synth_show(struct sq_synth *synth, const char *command);
