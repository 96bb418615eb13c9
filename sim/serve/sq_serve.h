// SPDX-License-Identifier: Apache-2.0
// A server that batches continuously: the schedule of a trace of requests on one machine. A sketch of
// what vLLM and its kin do, enough to see what a format does to waiting times:
//
//   step   every sequence that decodes gets a token; what is left of the budget of tokens goes to prompts, the
//          oldest first, in chunks; the last chunk of a prompt gives its first token
//   start  requests start in the order of arrival, as soon as there is a place for a sequence and room in the
//          cache for all the tokens that it will have; so no sequence is ever thrown out
//
// Steps follow one another without a gap while there is work. Who calls says how long a step takes.
#pragma once

#include "sim/serve/sq_requests.h"

struct sq_serve_chunk {
    uint64_t tokens, before; // of a prompt; before them in the cache
};

struct sq_serve_step {
    uint64_t decoding;         // sequences that get a token
    double keys;               // tokens in the cache of all of those, the new ones counted
    uint64_t tokens;           // decoding, and those of the chunks
    uint64_t outputs;          // tokens that leave: decoding, and prompts that end
    size_t n;                  // chunks
    struct sq_serve_chunk *of; // prompts
};

typedef enum sq_status (*sq_serve_seconds)(void *user, const struct sq_serve_step *step,
                                           double *seconds, struct sq_error *err);

struct sq_serve_options {
    uint64_t budget;    // tokens of a step, >= 1; sequences that decode count
    uint64_t sequences; // at once, 1..budget
    double room;        // tokens that the cache holds; INFINITY: any number
};

struct sq_served {
    double start_s, first_s, end_s; // its first chunk begins; its first, its last token is there
};

struct sq_serve_result {
    struct sq_served *served; // owned: of each request
    uint64_t steps, prompt_tokens, new_tokens;
    double busy_s, end_s;   // of steps; of the last one, from the first arrival on
    double sequence_s;      // sequences times seconds, of all steps
    uint64_t sequences_max; // at once
    double keys_max;        // tokens of the cache that were spoken for at once
};

// SQ_ERR_RANGE for a request that the cache has no room for. Free after success.
enum sq_status sq_serve(const struct sq_requests *q, const struct sq_serve_options *o,
                        sq_serve_seconds seconds, void *user, struct sq_serve_result *result,
                        struct sq_error *err);
void sq_serve_free(struct sq_serve_result *result);
