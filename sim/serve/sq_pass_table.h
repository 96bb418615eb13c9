// SPDX-License-Identifier: Apache-2.0
// The time of a step of a server (sq_serve.h) on a machine, from whole passes (sim/machine/sq_pass.h): passes
// are timed at the nodes of a grid, when they are first needed, and a step lies between nodes.
//
//   part of a step                                    of        nodes
//   linear layers, norms, rotary, gate, link, memory  tokens    1 2 3 4 6 8 12 16 ...
//   lm_head                                           outputs   the same
//   attention and softmax of sequences that decode    sequences, keys of each on average
//   attention and softmax of a chunk of a prompt      tokens, tokens before it
//
// Keys have the nodes 1 64 128 256 ..., tokens before a chunk 0 64 128 ...; between nodes the times go in
// straight lines, of both axes. At the nodes they are those of `run --phase`.
#pragma once

#include "sim/machine/sq_pass.h"
#include "sim/serve/sq_serve.h"

enum { SQ_PASS_COUNTS = 48, SQ_PASS_KEYS = 20 }; // nodes up to 2^24, up to 2^24

struct sq_pass_table {
    const struct sq_pass_request *request; // mac = NULL; stays the caller's, like config
    const json_t *config;
    const char *what; // names the config in sentences
    struct sq_workload_options options;
    double weights_nbytes;    // of the model on a chip
    double token_nbytes;      // of a token in the cache
    uint64_t passes;          // timed so far
    double *tokens, *outputs; // seconds at the nodes; NAN: not yet
    double *decode, *prefill; // [count][keys]
};

// `options` says the chips and the routing of experts. SQ_ERR_RANGE where not even the weights fit. Free after
// success.
enum sq_status sq_pass_table_open(const struct sq_pass_request *request, const json_t *config,
                                  const char *what, const struct sq_workload_options *options,
                                  struct sq_pass_table *table, struct sq_error *err);
// A sq_serve_seconds; `table` is a struct sq_pass_table.
enum sq_status sq_pass_table_seconds(void *table, const struct sq_serve_step *step, double *seconds,
                                     struct sq_error *err);
// One of its parts alone, at any count and number of keys, added to *seconds: the attention of a prompt of `count` tokens with `keys` before
// them, or of `count` sequences that decode with `keys` each; lm_head of `count` outputs.
enum sq_status sq_pass_table_attention(struct sq_pass_table *t, bool is_decode, double count,
                                       double keys, double *seconds, struct sq_error *err);
enum sq_status sq_pass_table_head(struct sq_pass_table *t, double count, double *seconds,
                                  struct sq_error *err);
// The linear layers of so many tokens, row by row. Free both after success.
enum sq_status sq_pass_table_linear(const struct sq_pass_table *t, uint64_t tokens,
                                    struct sq_workload *w, struct sq_pass_result *result,
                                    struct sq_error *err);
void sq_pass_table_free(struct sq_pass_table *table);
