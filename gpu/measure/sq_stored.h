// SPDX-License-Identifier: Apache-2.0
// What a measurement left in the repository, checked without CUDA.
#pragma once

#include <stddef.h>

#include "models/sq_status.h"

// Replays every *.safetensors (sq_trace.h) and checks every *.jsonl (sq_record.h) of a directory,
// not below it; prints nothing. A trace whose producer is another is refused: none of the emulator
// passes for one of a GPU. A missing directory counts as empty.
enum sq_status sq_stored_check(const char *path, const char *producer, size_t *n_files,
                               size_t *n_values, struct sq_error *err);
