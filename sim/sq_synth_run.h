// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of sq_synth.h; users include that.
#ifndef SQ_SYNTH_RUN_H
#define SQ_SYNTH_RUN_H

#include "sq_synth.h"

enum { SQ_SYNTH_PATH_LEN = 1024 };
#define SQ_SYNTH_STAR "synth_mul_star.sv" // read besides files.f

// Fills the empty directory `work` with what a cache entry holds. `area` is the area entry.
typedef enum sq_status sq_synth_make(const struct sq_synth *s, const struct sq_synth_block *block,
                                     const char *area, const char *work, struct sq_error *err);
sq_synth_make sq_synth_make_area;    // result.json, netlist.v, path.txt, synth.ys; area = itself
sq_synth_make sq_synth_make_netlist; // <top>.v; reads netlist.v of the area entry with a library

// YOSYS or STA of the environment, else the plain name.
const char *sq_synth_tool(const char *variable, const char *fallback);

// Removes what is below a directory, not the directory.
void sq_synth_empty_directory(const char *path);

#endif
