// SPDX-License-Identifier: Apache-2.0
// Block-scaled formats as data: a description in YAML (SPEC Q.9) becomes a table, and a table of a
// format as sq_formats[] has them.
#pragma once

#include "models/scaled/sq_bs_table.h"

// What a description says beside its table.
struct sq_bs_description {
    struct sq_bs_table table; // settled
    unsigned act_scale;       // enum sq_bs_act_scale that --act-scale has where it is not given
    unsigned operand;         // enum sq_operands, the same of --operand
};

enum { SQ_BS_DESCRIPTION_MAX = 16 << 10 }; // bytes of a text

// Reads the text of a description; `what` names it in errors. SQ_ERR_ARG or SQ_ERR_RANGE, a sentence with line,
// field, value and what is needed: no YAML, aliases, unknown and missing keys, keys given twice, and what
// sq_bs_table_settle refuses. Runs nothing and opens nothing.
enum sq_status sq_bs_describe(const void *text, size_t nbytes, const char *what,
                              struct sq_bs_description *d, struct sq_error *err);
// Puts "KEY=VALUE" of `len` bytes into *text, which is allocated, and "_KEY_VALUE" after the format's name, as in
// "_length_32". SQ_ERR_ARG where there is no scalar KEY, or the value is no word or number.
enum sq_status sq_bs_describe_set(char **text, const char *what, const char *set, size_t len,
                                  struct sq_error *err);
