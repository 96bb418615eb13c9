// SPDX-License-Identifier: Apache-2.0
// The time that a fused attention kernel takes on a real GPU, and measured times of it.
//
//   launch + (compute^knee + dram^knee)^(1 / knee) + head x batch x key-value heads
//
//   compute  products of a decode: scores and values of all queries, at least 16 that share a head's keys (a
//            tile of the tensor core). Of a prompt: tiles of 128 x 128 on and below the diagonal, evenly over the SMs,
//            but no less than the longest row of tiles takes on one
//   dram     keys and values as stored, queries and outputs in 16 bits, once
//   head     seconds for each head of keys: nothing of the other two
//
// The five constants of a kind (prompt or decode, data types of operands and cache) are fitted to one measured
// point in ten. A kernel that repeats the keys for every query head, or has them in the L2, is not in it.
#pragma once

#include "sim/gpu/sq_gpu.h"

struct sq_gpu_attention {
    bool is_decode;
    uint64_t batch, keys; // of each sequence; a prompt has as many queries, a decode one
    uint64_t heads, kv_heads, head_dim;
    bool is_fp8, is_cache_fp8; // products; keys and values as stored; else 16 bits
};

struct sq_gpu_attention_record {
    struct sq_gpu_attention shape;
    double seconds;
    bool is_calibration;
    unsigned line;
};

struct sq_gpu_attention_records {
    size_t n, other_device;
    struct sq_gpu_attention_record *r; // owned
};

struct sq_gpu_attention_law {
    double launch_s, dram, sustained, knee, head_s;
};

// Rows of NVIDIA aiconfigurator's operator database (context_attention_*.csv, generation_attention_*.csv), those whose
// device has `device` in its name. Calibration rows are a tenth of the shapes, by a digest of
// the shape. SQ_ERR_DAMAGED with the line for anything that is no such row. Free after success.
enum sq_status sq_gpu_attention_read(const char *path, const char *device,
                                     struct sq_gpu_attention_records *g, struct sq_error *err);
void sq_gpu_attention_free(struct sq_gpu_attention_records *g);

// Whether both have the same constants.
bool sq_gpu_attention_same_kind(const struct sq_gpu_attention *a, const struct sq_gpu_attention *b);

// Seconds on the GPU; NAN where it has no rate of that data type.
double sq_gpu_attention_time(const struct sq_gpu *gpu, const struct sq_gpu_attention_law *law,
                             const struct sq_gpu_attention *shape);

// Fits the law to the calibration rows of the kind. SQ_ERR_RANGE without one, or without a rate.
enum sq_status sq_gpu_attention_fit(const struct sq_gpu *gpu,
                                    const struct sq_gpu_attention_records *g,
                                    const struct sq_gpu_attention *kind,
                                    struct sq_gpu_attention_law *law, struct sq_error *err);
