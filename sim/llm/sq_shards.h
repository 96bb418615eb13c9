// SPDX-License-Identifier: Apache-2.0
// The files that hold the tensors of a Hugging Face model: model.safetensors, or the shards that
// model.safetensors.index.json lists.
#pragma once

#include "sim/io/sq_safetensors.h"

// All of them into *shard and *n, NULL and 0 before, which the caller closes and frees, after a failure as well. The single file comes before
// the index, as in the reference loaders. Every tensor must be in the shard that the index says, and files that sqsim or a
// kernel wrote are refused (sq_checkpoint.h).
enum sq_status sq_shards_open(const char *dir, struct sq_safetensors **shard, size_t *n,
                              struct sq_error *err);
// The same of one file.
enum sq_status sq_shards_open_one(const char *path, struct sq_safetensors **shard, size_t *n,
                                  struct sq_error *err);
