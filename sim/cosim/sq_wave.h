// SPDX-License-Identifier: Apache-2.0
// The waveform of a case: wave.fst, a window that ends at the divergent cycle, and wave.gtkw, which
// shows it in GTKWave.
#ifndef SQ_WAVE_H
#define SQ_WAVE_H

#include "sim/cosim/sq_lockstep.h"
#include "sim/cosim/sq_rtl_build.h"

// Runs the case once more with tracing and leaves both files in `dir` (made if missing). `result`
// is that of the case; with mismatch.kind NONE the window begins at cycle 0.
enum sq_status sq_wave_dump(const struct sq_case *c, bool netlist, const struct sq_result *result,
                            const char *home, const char *dir, struct sq_error *err);

#endif
