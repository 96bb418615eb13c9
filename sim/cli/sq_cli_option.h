// SPDX-License-Identifier: Apache-2.0
// --format and the options of the formats, made from their tables (sq_format_option.h).
#pragma once

#include "sim/cli/sq_cli_row.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_recipe_json.h"

// What was given of them, the field of a SQ_CLI_FORMATS row; start from sq_cli_options_default.
struct sq_cli_options {
    unsigned scope; // one of enum sq_scope
    const struct sq_format_ops *format;
    bool is_format_given;
    const char *after; // another option has said the format, and --format is refused; NULL: none
    bool takes_all, is_all; // --format all: may be given; was, `format` is then the default
    struct sq_given given;
};
struct sq_cli_options sq_cli_options_default(unsigned scope);

// The format by another option than --format, which is refused from then on: what follows belongs
// to it.
enum sq_status sq_cli_options_format(struct sq_cli_options *in, const char *option,
                                     const char *text, struct sq_error *err);

// The options of every format that the scope offers: all are read, whatever --format says; which of
// them have a meaning is asked by sq_cli_recipe. Lives as long as the program.
const struct sq_cli_row *sq_cli_options_rows(unsigned scope);
// Whether a format takes the option of such a row; `help` is then what it means for that format.
bool sq_cli_options_help(const struct sq_cli_row *row, const char *format, char *help,
                         size_t nbytes);

// The recipe of the options, checked; sentences begin with "--".
enum sq_status sq_cli_recipe(const struct sq_cli_options *in, struct sq_recipe *r,
                             struct sq_error *err);
// The same with the format and the scope of a file of weights.
enum sq_status sq_cli_recipe_of(const struct sq_cli_options *in, const struct sq_format_ops *f,
                                unsigned scope, struct sq_recipe *r, struct sq_error *err);

// "gqsa|spqt": the formats whose table has a part, a pointer at this offset of struct sq_format_ops.
const char *sq_cli_formats_with(size_t part, char list[200]);
