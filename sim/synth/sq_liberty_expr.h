// SPDX-License-Identifier: Apache-2.0
// A Boolean expression of a Liberty file, compiled once and evaluated on 64 cases at a time: bit i
// of a word is case i.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bounds of an expression. A level of parentheses leaves at most three values waiting: one each for `or`,
// `and` and `xor`.
enum { SQ_LIB_EXPR_LEN = 255, SQ_LIB_EXPR_NESTED = 64, SQ_LIB_EXPR_DEPTH = 4 * SQ_LIB_EXPR_NESTED };

// An operation: the number of a variable, or one of these.
enum sq_lib_op {
    SQ_LIB_NOT = 200, // from here on no variables
    SQ_LIB_AND,
    SQ_LIB_OR,
    SQ_LIB_XOR,
    SQ_LIB_ZERO,
    SQ_LIB_ONE,
};

struct sq_lib_expr {
    uint8_t n;
    uint8_t op[SQ_LIB_EXPR_LEN]; // postfix
    // Most are products of variables below 32, each as it is or inverted, or such a product inverted
    // as a whole.
    bool is_product, is_inverted;
    uint32_t plain, inverted;
};

// Operators ! ' ^ * & + | and juxtaposition, over n named variables. False where the text is no
// such expression.
bool sq_lib_expr_parse(const char *text, const char *const *name, size_t n,
                       struct sq_lib_expr *out);

// Evaluates an expression that was parsed; value[i] is variable i.
uint64_t sq_lib_expr_eval(const struct sq_lib_expr *e, const uint64_t *value);
