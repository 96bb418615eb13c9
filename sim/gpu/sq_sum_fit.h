// SPDX-License-Identifier: Apache-2.0
// Sums that a device made, and the rules (models/number/sq_sum.h) that give them all.
#pragma once

#include "models/number/sq_sum.h"

// Operands of one sum, ready for sq_sum.
struct sq_sum_operands {
    size_t n;
    double *a, *b; // [n], owned
    int16_t *ea, *eb;
    double c;
};
void sq_sum_operands_free(struct sq_sum_operands *o);
// From codes in hex with blanks between them, c in hex as a binary32. Texts are refused in one sentence: what they are
// called, the word, what is needed; at most 65,536 codes, as many of b as of a.
enum sq_status sq_sum_operands_read(const struct sq_sum_type *type, const char *a, const char *b,
                                    const char *c, struct sq_sum_operands *o, struct sq_error *err);

// The bits of a sum as a binary32.
uint32_t sq_sum_bits(const struct sq_sum_rule *r, const struct sq_sum_operands *o);

// Rows of a file: CSV, plain or gzip, with the columns a, b, c (as above) and d, the sum in hex as a binary32. Rows are
// of one length, at most 4096; at most 1,000,000 of them.
struct sq_sum_set {
    size_t n_rows, digits; // hex digits of a code
    struct sq_sum_text {
        char *a, *b, *c;
        uint32_t d;
    } * row; // owned
};
enum sq_status sq_sum_set_load(const char *path, struct sq_sum_set *s, struct sq_error *err);
void sq_sum_set_free(struct sq_sum_set *s);
// Rows whose sum by the rule differs; *first: the first of them, or n_rows.
enum sq_status sq_sum_set_check(const struct sq_sum_set *s, const struct sq_sum_type *type,
                                const struct sq_sum_rule *r, size_t *n_bad, size_t *first,
                                struct sq_error *err);

// A rule that gives all rows, with any emin of emin_low..emin_high (of those tried: none, which is SQ_SUM_EMIN_MIN, and
// -150..-120).
struct sq_sum_fitted {
    const struct sq_sum_type *type;
    struct sq_sum_rule rule;
    int emin_low, emin_high;
};
// All rules of a grid that give all rows: steps of powers of two up to the length; one group or two; exact, or 7..40 bits
// aligned; exponents of factors or values; the result rounded toward zero or to nearest with 23 fraction bits, or as many
// as are aligned; c in each place. type NULL: all whose codes have so many digits. *n_tried: rules in the grid. *fitted
// [*n], owned by the caller, in the order of the grid. tell may be NULL: (done, all) for progress.
enum sq_status sq_sum_fit(const struct sq_sum_set *s, const struct sq_sum_type *type,
                          void (*tell)(size_t done, size_t all), struct sq_sum_fitted **fitted,
                          size_t *n, size_t *n_tried, struct sq_error *err);

// A drawn row of `length` products that two rules sum differently: texts of at most `nbytes` characters. false: none of
// 200,000 draws tells them apart.
bool sq_sum_tell_apart(const struct sq_sum_fitted *x, const struct sq_sum_fitted *y, size_t length,
                       char *a, char *b, size_t nbytes, char c[9]);
