// SPDX-License-Identifier: Apache-2.0
// --format and the options of the formats, made from their tables (sq_format_option.h), and what
// --json says of a recipe.
#ifndef SQ_CLI_OPTION_H
#define SQ_CLI_OPTION_H

#include "sim/cli/sq_cli.h"
#include "sim/format/sq_format_ops.h"

// argp child input; start from sq_cli_options_default.
struct sq_cli_options {
    unsigned scope; // one of enum sq_scope
    const struct sq_format_ops *format;
    bool is_format_given;
    const char *after; // another option has said the format, and --format is refused; NULL: none
    bool takes_all, is_all; // --format all: may be given; was, `format` is then the default
    struct sq_given given;
    struct sq_error *err;
};
struct sq_cli_options sq_cli_options_default(unsigned scope, struct sq_error *err);

// The format by another option than --format, which is refused from then on: what follows belongs
// to it.
enum sq_status sq_cli_options_format(struct sq_cli_options *in, const char *option,
                                     const char *text);

// The options of every format that the scope offers: all are parsed, whatever --format says; which
// of them have a meaning is asked by sq_cli_recipe. Lives as long as the program.
const struct argp *sq_cli_options_argp(unsigned scope);

// What --help shows once a format is named: the options of `argp`, a command's, flat; first those of
// the format with what they mean for it, then the command's, then those of other formats. `argp`
// itself where it has no options of formats, or there is no such format. Lives as long as the
// program.
const struct argp *sq_cli_options_help(const struct argp *argp, const char *format);

// The recipe of the options, checked; sentences begin with "--".
enum sq_status sq_cli_recipe(const struct sq_cli_options *in, struct sq_recipe *r,
                             struct sq_error *err);
// The same with the format and the scope of a file of weights.
enum sq_status sq_cli_recipe_of(const struct sq_cli_options *in, const struct sq_format_ops *f,
                                unsigned scope, struct sq_recipe *r, struct sq_error *err);

// The words that an option of that name may be in any format, separated by blanks; empty where it
// has none, or is no option of a format.
void sq_cli_option_words(const char *name, char *words, size_t nbytes);

// Key format, and those that the format's table shows in this scope.
void sq_cli_recipe_json(const struct sq_recipe *r, unsigned scope, json_t *object);

#endif
