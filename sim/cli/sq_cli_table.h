// SPDX-License-Identifier: Apache-2.0
// Rows of results. A command lists the columns of its row once: the key of the JSON object, the
// value, and, where people read it too, the heading, width, unit and format. The head of the table,
// its lines and the JSON objects follow from the list:
//
//     const struct sq_cli_column row[] = {
//         SQ_COLUMN("layer", name, "layer", -36),        // to the left in 36 characters
//         SQ_KEYS("n", n, "k", k),                       // in JSON alone
//         SQ_COLUMN(NULL, shape, "NxK", 15),             // for people alone
//         SQ_COLUMN("use", use, "use", 8, .as = "%.1f%%", .scale = 100),
//         SQ_COLUMN("area_um2", area, "area", 12, .unit = "um2", .as = "%.2f"),
//         SQ_COLUMNS_END};
//     sq_cli_put(&table, row);
//
// Every row of a table has the same columns. A number that is NaN and a text that is NULL are null
// in JSON and "-" for people.
#pragma once

#include <limits.h>

#include "sim/cli/sq_cli.h"

// A value as the row has it. Texts may be foreign; they are not copied. A row that was put or made
// into an object has given its JSON away.
struct sq_cli_value {
    enum {
        SQ_CELL_COUNT,
        SQ_CELL_NUMBER,
        SQ_CELL_TRUTH,
        SQ_CELL_TEXT,
        SQ_CELL_JSON,
        SQ_CELL_ROW
    } kind;
    union {
        int64_t count;
        double number;
        bool truth;
        const char *text;
        json_t *json; // for people: nothing
        const struct sq_cli_column *row;
    };
};

struct sq_cli_column {
    const char *key; // NULL: for people alone; "": the members of the JSON object
    struct sq_cli_value value;
    const char *heading; // NULL: in JSON alone
    int width;           // least characters; negative: to the left; 0: an empty text has no column
    const char *unit;    // behind the heading; NULL: none, or the format says it
    const char *as;      // printf's format of a number or text; NULL: %lld, %.6g or %s
    double scale;        // people read this times the number; 0: the number as it is
    bool is_absent;      // this table has no such column
};

struct sq_cli_value sq_cli_count(uint64_t v);
struct sq_cli_value sq_cli_whole(int64_t v);
struct sq_cli_value
sq_cli_amount(long double v); // a whole number below 2^63 with all its digits, others as they are
struct sq_cli_value sq_cli_number(double v);
struct sq_cli_value sq_cli_truth(bool v);
struct sq_cli_value sq_cli_string(const char *v);
struct sq_cli_value sq_cli_json(json_t *v); // takes over the reference
struct sq_cli_value sq_cli_same(struct sq_cli_value v);

// By the type of the expression. In C one that compares, and `true`, is an int: cast it to bool.
// clang-format off
#define SQ_CLI_VALUE(v)                                                                            \
    _Generic((v), bool: sq_cli_truth, int: sq_cli_whole, int64_t: sq_cli_whole,                    \
             double: sq_cli_number, char *: sq_cli_string, const char *: sq_cli_string,            \
             json_t *: sq_cli_json, struct sq_cli_value: sq_cli_same, default: sq_cli_count)(v)
// Keys and values in JSON alone, up to six of them: SQ_KEYS("n", n, "k", k).
#define SQ_KEYS(...)                                                                               \
    SQ_KEYS_OF(__VA_ARGS__, SQ_KEY6, , SQ_KEY5, , SQ_KEY4, , SQ_KEY3, , SQ_KEY2, , SQ_KEY1, , )    \
    (__VA_ARGS__)
#define SQ_KEYS_OF(a, b, c, d, e, f, g, h, i, j, k, l, macro, ...) macro
#define SQ_KEY1(name, v) {.key = name, .value = SQ_CLI_VALUE(v)}
#define SQ_KEY2(name, v, ...) SQ_KEY1(name, v), SQ_KEY1(__VA_ARGS__)
#define SQ_KEY3(name, v, ...) SQ_KEY1(name, v), SQ_KEY2(__VA_ARGS__)
#define SQ_KEY4(name, v, ...) SQ_KEY1(name, v), SQ_KEY3(__VA_ARGS__)
#define SQ_KEY5(name, v, ...) SQ_KEY1(name, v), SQ_KEY4(__VA_ARGS__)
#define SQ_KEY6(name, v, ...) SQ_KEY1(name, v), SQ_KEY5(__VA_ARGS__)
// One that only some tables have.
#define SQ_KEY_IF(is, name, v) {.key = name, .value = SQ_CLI_VALUE(v), .is_absent = !(is)}
// The members of an object.
#define SQ_MEMBERS(object) SQ_KEY1("", object)
// The columns of another list.
#define SQ_ROW(columns) {.value = {SQ_CELL_ROW, .row = columns}}
// Width, then members by name.
#define SQ_COLUMN(name, v, over, ...)                                                              \
    {.key = name, .value = SQ_CLI_VALUE(v), .heading = over, .width = __VA_ARGS__}
#define SQ_COLUMNS_END {.width = INT_MAX}
// clang-format on

// Where the rows of one table go.
struct sq_cli_table {
    FILE *out; // NULL: standard output
    bool is_json;
    bool has_head; // it was printed: before the first row, of which it has the columns
};
// The row as a line of JSON, or as a line for people.
void sq_cli_put(struct sq_cli_table *table, const struct sq_cli_column *row);

// The object of a row, for a line that has more in it. May be called by several threads at once.
json_t *sq_cli_object(const struct sq_cli_column *row);
// The last line of --json: "summary", the columns, "provenance", whose reference it takes over.
json_t *sq_cli_summary(const struct sq_cli_column *row, json_t *provenance);
void sq_cli_put_summary(const struct sq_cli_column *row, json_t *provenance);
