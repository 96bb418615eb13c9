// SPDX-License-Identifier: Apache-2.0
// GPU traces (SPEC O.1): what a kernel read and what it wrote, in safetensors files, and their
// replay by the golden model: every output recomputed from the inputs in the file and compared bit
// for bit.
//
// System sq_w: inputs `w` F32 [N][K], `x` I8 [M][K], `s_x` F32 [M]; outputs of the GPU `lo`, `hi`,
//   `s_lo`, `s_hi` (SPEC A.6) and `y` F32 [M][N] (SPEC A.7).
// System sq_a, flags static or dynamic: inputs `x` F32 [M][K] (values of BF16), `w` I8 [N][K] 4-bit
//   codes, `s_w` F32 [N], `mask` U8 [K] (static) or [M][K] (dynamic, an output); outputs `code` I8
//   [M][K], `s_lo`, `s_hi` F32 [M], `p_lo`, `p_hi` I32 [M][N], `y` F32 [M][N] (SPEC B.5, B.6).
// System sp24: input `w` I8 [N][K] after pruning, `x` I8 [M][K], `s_x` F32 [M], `s_w` F32 [N];
//   outputs `values` I8 [N][K/2], `meta` U8 [N][K/8] (SPEC E.3, little-endian words), `p_lo` I32
//   [M][N], `y` F32 [M][N].
#ifndef SQ_REPLAY_H
#define SQ_REPLAY_H

#include <stddef.h>

#include "sq_safetensors.h"

// Replays one file; *n_values counts compared values. SQ_ERR_DAMAGED names the first value that
// differs; other errors as sq_safetensors_open.
enum sq_status sq_replay_file(const char *path, size_t *n_values, struct sq_error *err);

// Replays every *.safetensors and checks every *.jsonl below a directory (not recursive); prints
// nothing. Missing directories count as empty.
enum sq_status sq_replay_directory(const char *path, size_t *n_files, size_t *n_values,
                                   struct sq_error *err);

#endif
