// SPDX-License-Identifier: Apache-2.0
// The waveform of a case: wave.fst, a window around the divergent cycle, and wave.gtkw, which shows
// it in GTKWave: a marker on the cycle, what differs in red with the model's value beside it, then
// the streams and what the block has inside. One nanosecond of the wave is one cycle.
#pragma once

#include "sim/cosim/sq_lockstep.h"
#include "sim/cosim/sq_rtl_build.h"

// Runs the case once more with tracing and leaves both files in `dir` (made if missing). `*result`
// is that of the case, or {0} where none is known, and becomes that of the traced run; where
// neither has a mismatch the wave has the whole case.
enum sq_status sq_wave_dump(const struct sq_case *c, bool netlist, struct sq_result *result,
                            const char *home, const char *dir, struct sq_error *err);
