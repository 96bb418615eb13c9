// SPDX-License-Identifier: Apache-2.0
// A format as a conformance suite: cases whose answers the golden model gives, for people who build
// such units. Every case is one line of small integers; a rule is a table of cases. Rules come in the
// order in which a unit is made: a broken one spoils those behind it, so the first broken rule is
// what to look at. The format makes them (vectors of struct sq_format_ops).
//
// Fields are U8 (codes, marks) or F32 (as the 32 bits of binary32 wherever text holds them).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/io/sq_tensor.h"

enum { SQ_VECTOR_RULES = 12, SQ_VECTOR_FIELDS = 9 };

struct sq_vector_field {
    const char *name;
    enum sq_dtype dtype; // SQ_U8 or SQ_F32
    size_t count;        // a case
    uint8_t *data;       // [n][count], little-endian; owned
};

// The last fields, from n_in on, are what a unit must answer.
struct sq_vector_rule {
    const char *name, *says; // says: what is broken, a sentence without a dot
    size_t n, n_in, n_fields;
    struct sq_vector_field field[SQ_VECTOR_FIELDS];
};

struct sq_vectors {
    size_t n_rules;
    struct sq_vector_rule rule[SQ_VECTOR_RULES];
};

void sq_vectors_free(struct sq_vectors *v);

// Element i of a case as an unsigned integer, and the same in place; binary32 as its bits.
uint32_t sq_vector_get(const struct sq_vector_field *f, size_t at, size_t i);
void sq_vector_put(struct sq_vector_field *f, size_t at, size_t i, uint32_t bits);
// Whether two such are the same answer: all NaN of a binary32 are one.
bool sq_vector_same(const struct sq_vector_field *f, uint32_t a, uint32_t b);
