// SPDX-License-Identifier: Apache-2.0
// A block-scaled format as a conformance suite (SPEC Q): cases whose answers the golden model
// gives, for people who build such units. Every case is one line of small integers; a rule is a
// table of cases. Rules come in the order in which a unit is made: a broken one spoils those behind
// it, so the first broken rule is what to look at.
//
//   decode       every code that is a number           -> its value
//   encode       that value                            -> the code again
//   tie          halves between neighbours, and the binary32 next to them on both sides;
//                beyond the largest                    -> code
//   mask         a block (mxplus, sq_b)                -> which elements are high
//   scale        a block, the scales above it          -> scale codes: ties, 0, subnormal, the
//                                                         largest
//   code         a block with all its scales           -> codes
//   dot          two blocks of codes at scale 1        -> their sum: nothing is lost, 1 beside the
//                                                         largest
//   scaled       the same, scales 0, subnormal, largest, across the range
//   accumulate   24 blocks a side                      -> binary32, blocks ascending: cases to
//                                                         which another order or another width of
//                                                         the sum gives another bit
//
// Fields are U8 (codes, marks) or F32 (as the 32 bits of binary32 wherever text holds them). A high
// element of two parts, or the upper nibble of a split code, has its code in the field `high`.
#ifndef SQ_VECTORS_H
#define SQ_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_bs.h"
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
    struct sq_bs_format f;
    size_t n_rules;
    struct sq_vector_rule rule[SQ_VECTOR_RULES];
};

// The suite of a legal format, the same for the same format and seed. SQ_ERR_MEMORY; *v is empty
// then.
enum sq_status sq_vectors_make(struct sq_vectors *v, const struct sq_bs_format *f, uint64_t seed,
                               struct sq_error *err);
void sq_vectors_free(struct sq_vectors *v);

// Element i of a case as an unsigned integer, and the same in place; binary32 as its bits.
uint32_t sq_vector_get(const struct sq_vector_field *f, size_t at, size_t i);
void sq_vector_put(struct sq_vector_field *f, size_t at, size_t i, uint32_t bits);
// Whether two such are the same answer: all NaN of a binary32 are one.
bool sq_vector_same(const struct sq_vector_field *f, uint32_t a, uint32_t b);

#endif
