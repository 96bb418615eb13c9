// SPDX-License-Identifier: Apache-2.0
// Regular expressions of a quantization_config, which nobody vouches for. Internal to sim/llm/foreign/.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

enum {
    SQ_FOREIGN_EXPRESSIONS = 256,       // different ones of a config
    SQ_FOREIGN_EXPRESSION_NBYTES = 300, // length of one
    SQ_FOREIGN_TARGETS = 1 << 15        // names and expressions in the lists of a config
};

// Compiled once each, for one thread. Zeros are an empty set; the owner frees it.
struct sq_foreign_expressions {
    size_t n;
    void *code[SQ_FOREIGN_EXPRESSIONS], *match[SQ_FOREIGN_EXPRESSIONS]; // private
    json_t *place;                                                      // private: text -> number
    uint64_t n_steps;                                                   // private: of all matches
};

// Compiles what begins with "re:" in `targets` of each group and in the lists beside them (ignore). One sentence
// names what is no expression of Python's module re, is too long, or is one too many (SQ_ERR_UNSUPPORTED, SQ_ERR_RANGE).
enum sq_status sq_foreign_expressions_add(struct sq_foreign_expressions *e, const json_t *config,
                                          struct sq_error *err);
// Whether an expression matches a name from its beginning on, as re.match does. The steps of a match and
// those of all matches are bounded (SQ_ERR_RANGE): no expression takes more than a fraction of a second.
enum sq_status sq_foreign_is_match(struct sq_foreign_expressions *e, const char *expression,
                                   const char *name, bool *is_match, struct sq_error *err);
void sq_foreign_expressions_free(struct sq_foreign_expressions *e);
