// SPDX-License-Identifier: Apache-2.0
// A trace of requests to a server: when each arrives, the tokens of its prompt, the tokens that it asks for.
//
// A CSV file with a head, whose columns are found by name, in the form of Vidur
//   arrived_at,num_prefill_tokens,num_decode_tokens     (seconds)
// or in that of the Azure LLM inference traces
//   TIMESTAMP,ContextTokens,GeneratedTokens             (2023-11-16 18:15:46.6805900)
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

#define SQ_REQUESTS_MAX 10000000u
#define SQ_REQUEST_TOKENS_MAX (1u << 20)

struct sq_request {
    double arrived_s;         // since the first one, ascending
    uint64_t prompt, outputs; // tokens, 1..2^20 each
};

struct sq_requests {
    size_t n;
    struct sq_request *request; // owned
};

// SQ_ERR_DAMAGED, with the line, for a missing column, a cell that is no number in its range, a request
// before the one above it, and a file without requests. Free after success.
enum sq_status sq_requests_read(const char *path, struct sq_requests *q, struct sq_error *err);
// The same on text; `what` names it.
enum sq_status sq_requests_parse(const char *text, size_t nbytes, const char *what,
                                 struct sq_requests *q, struct sq_error *err);
void sq_requests_free(struct sq_requests *q);
