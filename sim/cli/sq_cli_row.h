// SPDX-License-Identifier: Apache-2.0
// The options of a command as rows of a table: one row says what an option is called, what it may
// be, what it is for and which field of the command's arguments it sets. From the rows follow the
// parser, its refusals, --help and with it the manual page, and --complete. What an option is where
// nobody gives it stands in one place: the field as the command initializes it.
//
//     struct arguments { uint64_t m; bool is_json; const char *model; };
//     #define AT(field) SQ_CLI_AT(struct arguments, field)
//     static const struct sq_cli_row rows[] = {
//         SQ_CLI_UINT("m", "M", 1, 1 << 20, AT(m), "tokens"),
//         SQ_CLI_FLAG("json", AT(is_json), "one JSON object per layer", .group = SQ_CLI_COMMON),
//         SQ_CLI_ARGUMENT("MODEL", AT(model)),
//         SQ_CLI_END};
#pragma once

#include "sim/cli/sq_cli.h"
#include "sim/io/sq_home.h"

enum sq_cli_kind {
    SQ_CLI_IS_END,    // behind the last row
    SQ_CLI_IS_FLAG,   // no value; a bool
    SQ_CLI_IS_UINT,   // whole number in min..max; bool, unsigned, size_t or uint64_t
    SQ_CLI_IS_REAL,   // least..most; a double
    SQ_CLI_IS_WORD,   // choice[i] is the value min + i
    SQ_CLI_IS_NUMBER, // a whole number that `choice` spells; another word there is 0
    SQ_CLI_IS_TEXT,   // as it is; a const char *
    SQ_CLI_IS_OWN,    // `set` takes it
    SQ_CLI_IS_PART,   // rows of another table, whose struct is the field
};

// Where --help shows an option.
enum sq_cli_group { SQ_CLI_MAIN, SQ_CLI_OF_FORMAT, SQ_CLI_OF_CORE, SQ_CLI_COMMON, SQ_CLI_OF_TOOLS };

// Modes of a command: PLAIN where no option chooses another.
enum { SQ_CLI_PLAIN = 1, SQ_CLI_ALL = 0xff };

struct sq_cli_row {
    const char *name; // "bank": --bank; NULL: an argument without an option
    const char *arg;  // its value in --help and --complete: "N", "FILE", "DIR", ...
    const char *help; // a phrase, to which range and default are added
    enum sq_cli_kind kind;
    enum sq_cli_group group;
    char letter;    // 'o': -o as well; 0: none
    bool is_output; // names what is written: every other file of a command is protected from it
    uint64_t min, max;
    double least, most;
    const char *unit;          // of range and value; NULL: none
    const char *const *choice; // a NULL follows
    const char *usual;         // the default in words, where the field does not say it
    const char *found;     // of an input file: where it is looked for (sq_home_find); NULL: no file
    size_t offset, nbytes; // of the field, in the struct of the table
    size_t given;          // offset of a bool that says whether it was given; 0: none
    unsigned mode;         // bit of the mode that the option chooses; 0: none
    unsigned modes;        // bits of those in which it, or a part, has a use; 0: SQ_CLI_PLAIN
    size_t count, capacity; // a list: offset of its size_t length, most elements; 0: no list
    enum sq_status (*set)(void *in, const struct sq_cli_row *row, const char *text,
                          struct sq_error *err); // `in`: the struct of the table
    // A row that stands for a part has also:
    const struct sq_cli_row *rows; // NULL: those of all formats in `scope` (sq_cli_option.h)
    enum sq_status (*end)(void *in, struct sq_error *err); // once all was read; NULL: nothing
    unsigned scope; // also of each row that comes from the formats, else 0
};

// Field and list of a struct.
#define SQ_CLI_AT(type, field) .offset = offsetof(type, field), .nbytes = sizeof((type *)0)->field
#define SQ_CLI_LIST_AT(type, field, n)                                                             \
    .offset = offsetof(type, field), .nbytes = sizeof((type *)0)->field[0],                        \
    .count = offsetof(type, n), .capacity = sizeof((type *)0)->field / sizeof((type *)0)->field[0]

// Rows; more members may follow the help.
#define SQ_CLI_END                                                                                 \
    {                                                                                              \
        .kind = SQ_CLI_IS_END                                                                      \
    }
#define SQ_CLI_FLAG(name_, at_, ...)                                                               \
    {                                                                                              \
        .name = (name_), .kind = SQ_CLI_IS_FLAG, at_, .help = __VA_ARGS__                          \
    }
#define SQ_CLI_UINT(name_, arg_, min_, max_, at_, ...)                                             \
    {                                                                                              \
        .name = (name_), .arg = (arg_), .kind = SQ_CLI_IS_UINT, .min = (min_), .max = (max_), at_, \
        .help = __VA_ARGS__                                                                        \
    }
#define SQ_CLI_REAL(name_, arg_, least_, most_, at_, ...)                                          \
    {                                                                                              \
        .name = (name_), .arg = (arg_), .kind = SQ_CLI_IS_REAL, .least = (least_),                 \
        .most = (most_), at_, .help = __VA_ARGS__                                                  \
    }
#define SQ_CLI_WORD(name_, arg_, choice_, at_, ...)                                                \
    {                                                                                              \
        .name = (name_), .arg = (arg_), .kind = SQ_CLI_IS_WORD, .choice = (choice_), at_,          \
        .help = __VA_ARGS__                                                                        \
    }
#define SQ_CLI_NUMBER(name_, arg_, choice_, at_, ...)                                              \
    {                                                                                              \
        .name = (name_), .arg = (arg_), .kind = SQ_CLI_IS_NUMBER, .choice = (choice_), at_,        \
        .help = __VA_ARGS__                                                                        \
    }
#define SQ_CLI_TEXT(name_, arg_, at_, ...)                                                         \
    {                                                                                              \
        .name = (name_), .arg = (arg_), .kind = SQ_CLI_IS_TEXT, at_, .help = __VA_ARGS__           \
    }
#define SQ_CLI_OWN(name_, arg_, set_, ...)                                                         \
    {                                                                                              \
        .name = (name_), .arg = (arg_), .kind = SQ_CLI_IS_OWN, .set = (set_), .help = __VA_ARGS__  \
    }
// An argument without an option, or a list of them.
#define SQ_CLI_ARGUMENT(arg_, ...)                                                                 \
    {                                                                                              \
        .arg = (arg_), .kind = SQ_CLI_IS_TEXT, __VA_ARGS__                                         \
    }
#define SQ_CLI_PART(rows_, ...)                                                                    \
    {                                                                                              \
        .kind = SQ_CLI_IS_PART, .rows = (rows_), __VA_ARGS__                                       \
    }
// --format and the options of all formats; the field is a struct sq_cli_options.
#define SQ_CLI_FORMATS(scope_, ...)                                                                \
    {                                                                                              \
        .kind = SQ_CLI_IS_PART, .scope = (scope_), __VA_ARGS__                                     \
    }

// The command line of a command.
struct sq_cli_line {
    const struct sq_cli_row *rows;
    const char *args; // what stands behind the options: "[MODEL]"
    const char *doc;  // what the command does, "\v", examples
};

// Reads argv into *in, which holds the defaults. Option names are matched whole: no abbreviation
// silently means another option; an unknown one is refused with the nearest that there is. --help
// (-h) prints on stdout and exits 0; --complete prints what completion scripts want, a line each:
// "--name", argument or nothing, words it may be; separated by tabs. Refusals are one sentence with
// option, value and range; so are those of an option that has no use in the mode. Every file that a
// row names, given or default, is then protected from outputs (sq_file_protect) unless the row says
// .is_output.
enum sq_status sq_cli_parse(const struct sq_cli_line *line, int argc, char **argv, void *in,
                            struct sq_error *err);

// ---- for parser and help ------------------------------------------------------------------------

enum { SQ_CLI_ROWS_MAX = 192 };
// All rows of a command, those of its parts among them, each with its struct.
struct sq_cli_rows {
    struct sq_cli_item {
        const struct sq_cli_row *row;
        char *in;
        unsigned modes;
        const char *needs; // the option that chooses its mode; NULL: it is of use without
        bool given;
    } item[SQ_CLI_ROWS_MAX];
    size_t n;
};
// Both print and exit. `format`: the word behind --format, or NULL.
void sq_cli_help_and_exit(const struct sq_cli_line *line, const struct sq_cli_rows *all,
                          const char *command, const char *format);
void sq_cli_complete_and_exit(const struct sq_cli_rows *all, const char *command);
