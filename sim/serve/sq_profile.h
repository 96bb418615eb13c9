// SPDX-License-Identifier: Apache-2.0
// Tables of latencies that other simulators take: what a machine and a format cost there, instead of a GPU.
//
//   LLMServingSim (casys-kaist, 2026)  meta.yaml, and in tp<chips>: dense.csv (layer,tokens,time_us), per_sequence.csv
//                                      (layer,sequences,time_us), attention.csv (prefill_chunk,kv_prefill,n_decode,
//                                      kv_decode,time_us): of one layer of the model each
//   aiconfigurator (NVIDIA)            gemm_perf.csv, generation_attention_perf.csv, context_attention_perf.csv: columns of its
//                                      operator database, milliseconds
//
// Attention is the sum of its prompt and its decode, softmax included: one after the other on the same arrays.
#pragma once

#include <stdio.h>

#include "sim/serve/sq_pass_table.h"

enum sq_profile_file {
    SQ_PROFILE_META,
    SQ_PROFILE_DENSE,
    SQ_PROFILE_SEQUENCE,
    SQ_PROFILE_ATTENTION,
    SQ_PROFILE_GEMM,
    SQ_PROFILE_GENERATION,
    SQ_PROFILE_CONTEXT,
    SQ_N_PROFILE_FILES
};
extern const char
    *const sq_profile_names[SQ_N_PROFILE_FILES]; // within the folder; tp<chips>/ left out

// Writes one of the files to `out`; `cache` names the format of the KV cache there. Tokens and sequences are 1..2048, keys 0..32768, in powers of two.
// SQ_ERR_UNSUPPORTED for a model with experts or latent attention.
enum sq_status sq_profile_write(struct sq_pass_table *table, const char *cache,
                                enum sq_profile_file file, FILE *out, struct sq_error *err);
