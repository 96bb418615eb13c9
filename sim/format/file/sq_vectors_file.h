// SPDX-License-Identifier: Apache-2.0
// The suite of a format (sq_vectors.h) in files, and a unit's answers read back.
//
//   FORMAT.jsonl        a case a line:
//                       {"rule": R, "case": I, "in": {FIELD: [integers]}, "out": {FIELD: [integers]}};
//                       binary32 as its 32 bits
//   FORMAT.safetensors  a tensor R.FIELD a field, [cases] or [cases][count], U8 and F32
//
// Answers are either of the two; only what stands in "out", or in the tensors of the answers, is
// read, in any order, and a case may be missing.
#pragma once

#include "sim/format/sq_vectors.h"

// Both files, into a directory that exists; `name` is that of the format. SQ_ERR_IO.
enum sq_status sq_vectors_write(const struct sq_vectors *v, const char *dir, const char *name,
                                struct sq_error *err);

// What a unit said of a rule, beside the suite.
struct sq_vector_verdict {
    size_t n_answered, n_wrong;                      // cases
    size_t first;                                    // the first wrong case
    struct sq_vector_field answer[SQ_VECTOR_FIELDS]; // as the fields from n_in on; owned
    uint8_t *is_answered;                            // [n] fields answered; owned
};

struct sq_answers {
    struct sq_vector_verdict rule[SQ_VECTOR_RULES]; // of the suite's rules
    size_t n_rules;
};

// SQ_ERR_IO; SQ_ERR_RANGE, SQ_ERR_SHAPE for answers that belong to no case, with rule and case.
enum sq_status sq_answers_read(struct sq_answers *a, const struct sq_vectors *v, const char *path,
                               struct sq_error *err);
void sq_answers_free(struct sq_answers *a);
