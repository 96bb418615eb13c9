// SPDX-License-Identifier: Apache-2.0
// Opens the safetensors files of a model, and checks them against their index (sq_shards.h).
#include "sim/llm/sq_shards.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/format/file/sq_mask_file.h"
#include "sim/io/sq_json.h"

#define INDEX_MAX_NBYTES (64u << 20)
#define MAX_SHARDS 4096u

// Files that sqsim or a kernel wrote hold two-dimensional floats too: scales, values. They are no
// weights, and what they are stands in their metadata.
static enum sq_status check_kind(const struct sq_safetensors *st, const char *path,
                                 struct sq_error *err)
{
    const char *system = sq_safetensors_metadata(st, "system");
    const char *producer = sq_safetensors_metadata(st, "producer");
    const struct sq_tensor *ids = sq_safetensors_find(st, "ids");
    const bool is_trace = producer && strcmp(producer, "golden") != 0;
    if (!system && !(ids && sq_safetensors_find(st, "offsets") && st->n_tensors == 2))
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                   "'%s' holds %s%.20s, which %s takes; need unquantized weights",
                   sq_path_tail(path),
                   !system                               ? "tokens"
                   : is_trace                            ? "a kernel trace of "
                   : strcmp(system, SQ_MASK_SYSTEM) == 0 ? "channel masks of "
                                                         : "weights encoded as ",
                   system ? system : "",
                   !system    ? "--tokens"
                   : is_trace ? "cosim"
                              : "inspect");
}

enum sq_status sq_shards_open_one(const char *path, struct sq_safetensors **shard, size_t *n,
                                  struct sq_error *err)
{
    *shard = calloc(1, sizeof **shard);
    SQ_NEED(*shard, err, "a checkpoint");
    SQ_TRY(sq_safetensors_open(*shard, path, err));
    *n = 1;
    return check_kind(*shard, path, err);
}

// A name that stays inside the model directory.
static bool is_plain_file_name(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > 200 || name[0] == '.')
        return false;
    for (const char *c = name; *c; c++)
        if (*c == '/' || (unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    return true;
}

// Every tensor of shard s must be mapped to it, and as many must be mapped as it holds.
static enum sq_status check_shard(const struct sq_safetensors *st, const char *name,
                                  const json_t *weight_map, size_t n_mapped, struct sq_error *err)
{
    for (size_t i = 0; i < st->n_tensors; i++) {
        const char *where = json_string_value(json_object_get(weight_map, st->tensor[i].name));
        SQ_FAIL_IF(!where || strcmp(where, name) != 0, err, SQ_ERR_DAMAGED,
                   "shard %.60s holds tensor '%.60s', the index says %.60s", name,
                   st->tensor[i].name, where ? where : "nothing about it");
    }
    SQ_FAIL_IF(st->n_tensors != n_mapped, err, SQ_ERR_DAMAGED,
               "shard %.80s holds %zu tensors, the index lists %zu", name, st->n_tensors, n_mapped);
    return SQ_OK;
}

// Shard file name -> number of tensors mapped to it, in order of first appearance.
static enum sq_status count_shards(const json_t *weight_map, json_t *count, struct sq_error *err)
{
    const char *tensor;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)weight_map, tensor, value)
    {
        const char *name = json_string_value(value);
        SQ_FAIL_IF(!name || !is_plain_file_name(name), err, SQ_ERR_DAMAGED,
                   "weight_map of the index: an entry is no plain file name");
        json_int_t n = json_integer_value(json_object_get(count, name));
        if (json_object_set_new(count, name, json_integer(n + 1)) != 0)
            return SQ_NO_MEMORY(err, "a checkpoint");
    }
    SQ_FAIL_IF(json_object_size(count) < 1 || json_object_size(count) > MAX_SHARDS, err,
               SQ_ERR_RANGE, "the index lists %zu shards, need 1..%u", json_object_size(count),
               MAX_SHARDS);
    return SQ_OK;
}

static enum sq_status open_all(const char *dir, const json_t *weight_map, const json_t *count,
                               struct sq_safetensors **shard, size_t *n, struct sq_error *err)
{
    const char *name;
    json_t *n_mapped;
    *shard = calloc(json_object_size(count), sizeof **shard);
    SQ_NEED(*shard, err, "a checkpoint");
    json_object_foreach((json_t *)(uintptr_t)count, name, n_mapped)
    {
        SQ_FREED char *path = NULL;
        struct sq_safetensors *st = &(*shard)[*n];
        SQ_NEED(asprintf(&path, "%s/%s", dir, name) >= 0, err, "a checkpoint");
        SQ_TRY(sq_safetensors_open(st, path, err));
        ++*n;
        SQ_TRY(check_kind(st, path, err));
        SQ_TRY(check_shard(st, name, weight_map, (size_t)json_integer_value(n_mapped), err));
    }
    return SQ_OK;
}

enum sq_status sq_shards_open(const char *dir, struct sq_safetensors **shard, size_t *n,
                              struct sq_error *err)
{
    SQ_FREED char *single = NULL;
    SQ_FREED char *index = NULL;
    SQ_NEED(asprintf(&single, "%s/model.safetensors", dir) >= 0 &&
                asprintf(&index, "%s/model.safetensors.index.json", dir) >= 0,
            err, "a checkpoint");
    if (access(single, F_OK) == 0)
        return sq_shards_open_one(single, shard, n, err);
    SQ_FAIL_IF(access(index, F_OK) != 0, err, SQ_ERR_IO,
               "'%s' holds neither model.safetensors nor model.safetensors.index.json",
               sq_path_tail(dir));
    json_auto_t *root = NULL;
    json_auto_t *count = json_object();
    SQ_TRY(sq_json_load(index, INDEX_MAX_NBYTES, &root, err));
    const json_t *weight_map = json_object_get(root, "weight_map");
    SQ_FAIL_IF(!json_is_object(weight_map), err, SQ_ERR_DAMAGED,
               "%s: weight_map is missing or no object", sq_path_tail(index));
    SQ_TRY(count_shards(weight_map, count, err));
    return open_all(dir, weight_map, count, shard, n, err);
}
