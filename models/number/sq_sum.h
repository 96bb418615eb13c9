// SPDX-License-Identifier: Apache-2.0
// The sum of a dot product as silicon makes it (SPEC Q.11): one rule with parameters. Tensor cores of several
// generations, an exact sum and a chain of fused multiply-adds are points of it.
//
// The products are added `step` at a time. Each product, and the sum so far, is a term. The terms of a step are cut off
// toward zero at one place, `aligned` bits below the largest of their exponents, and added exactly; the result is
// rounded to `kept` fraction bits and is the sum so far.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

enum {
    SQ_SUM_STEP_MAX = 512,
    SQ_SUM_GROUPS_MAX = 8,
    SQ_SUM_ALIGNED_MIN = 7,
    SQ_SUM_ALIGNED_MAX = 52,
    SQ_SUM_EXACT = 0, // aligned: nothing is cut off
    SQ_SUM_EMIN_MIN = -600,
    SQ_SUM_EMIN_MAX = -1,
    SQ_SUM_ZERO = -30000, // exponent of a zero
};

// Where c, the number that the products are added to, comes in.
enum sq_sum_c {
    SQ_SUM_C_AMONG, // it is the sum so far of the first step, a term like the others
    SQ_SUM_C_AFTER, // no step has the sum so far among its terms: it is added to the result in binary32
    SQ_SUM_C_NONE, // it is left out: the sum begins at 0
};

struct sq_sum_rule {
    unsigned step; // products of a step, 1..512
    unsigned
        groups; // 1..8; 2: even and odd products of a step are aligned apart, then their sums, then c
    unsigned aligned; // fraction bits kept below the largest exponent, 7..48, by value ..52;
                      // SQ_SUM_EXACT
    bool by_value; // exponent of a product: floor(log2) of it; else the sum of those of its factors
    int emin;      // the largest exponent counts as at least this
    unsigned
        kept; // fraction bits of a step's result, 1..23 (as a binary32 that lacks the others), or 52 (binary64)
    bool is_nearest; // it is rounded to nearest even; else toward zero
    unsigned last;   // fraction bits of the result of the last step; 0: as kept
    enum sq_sum_c c;
};
// SQ_ERR_ARG with field, value and range.
enum sq_status sq_sum_check(const struct sq_sum_rule *r, struct sq_error *err);
bool sq_sum_rule_equal(const struct sq_sum_rule *a, const struct sq_sum_rule *b);

// How an operand's code of a tensor core is read: sign, exponent, fraction, IEEE 754's subnormals.
struct sq_sum_type {
    const char *name;
    unsigned code_bits, shift; // of the word in which a code stands; zeros below the code in it
    unsigned exponent_bits, fraction_bits;
    bool has_infinity; // the largest exponent means infinity and NaN
    bool has_nan;      // e4m3: the largest code of either sign is NaN
};
extern const struct sq_sum_type
    sq_sum_types[]; // fp16 bf16 tf32 e5m2 e4m3 e3m2 e2m3 e2m1; a NULL name ends it
// A code as a number, infinite or NaN where the type has that, and the exponent of its leading one, at least the
// type's smallest; SQ_SUM_ZERO for 0.
double sq_sum_decode(const struct sq_sum_type *t, uint32_t code, int16_t *exponent);

// A step as it was made, for those who explain it.
struct sq_sum_trace {
    size_t first, n; // products
    int exponent;    // the largest, of all terms; SQ_SUM_ZERO: none but zeros
    int place;       // exponent of the last bit that a term keeps; of EXACT no meaning
    double before, sum,
        after; // the sum so far; the exact sum of what was kept (rounded to binary64); the result
    const double *term; // [n]: products, and what each keeps
    double kept[SQ_SUM_STEP_MAX];
};

// The sum of a[i] b[i], i < n, in steps of the rule, onto c. Products of a and b are exact in binary64 and of magnitudes
// in 2^-600..2^600. ea, eb: exponents as of sq_sum_decode; NULL where the rule goes by values. Infinite where a result
// of at most 23 fraction bits is 2^128 or more; NaN as IEEE 754 has it. tell may be NULL; it is called for each step.
double sq_sum(const struct sq_sum_rule *r, const double *a, const int16_t *ea, const double *b,
              const int16_t *eb, size_t n, double c,
              void (*tell)(void *context, const struct sq_sum_trace *step), void *context);
