// SPDX-License-Identifier: Apache-2.0
// JSON that was written by others: jansson with bounds on size and nesting, duplicates refused, and
// fields read with a range.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

// Deeper objects and arrays are refused before jansson sees them.
#define SQ_JSON_MAX_DEPTH 16

// Text -> object (anything else at the top is refused). `what` opens the error sentence. The caller
// owns *root (json_decref).
enum sq_status sq_json_parse(const char *what, const void *text, size_t nbytes, json_t **root,
                             struct sq_error *err);

// ---- objects of millions of members ---------------------------------------------------------
//
// A tree of jansson takes a kilobyte a member. Here the members pass one by one, as text.
struct sq_json_text {
    const char *at;
    size_t n;
};
// Called with key and value as they stand in the text, without blanks around them; what it returns
// ends the walk unless SQ_OK. It must read both (sq_json_decode, sq_json_value, sq_json_members):
// the walk looks for their ends only. Duplicate keys are the visitor's to refuse.
typedef enum sq_status sq_json_visit(void *context, struct sq_json_text key,
                                     struct sq_json_text value, struct sq_error *err);
enum sq_status sq_json_members(const char *what, struct sq_json_text object, sq_json_visit *visit,
                               void *context, struct sq_error *err);
// Refuses text that nests deeper than SQ_JSON_MAX_DEPTH.
enum sq_status sq_json_check_depth(const char *what, struct sq_json_text text,
                                   struct sq_error *err);
// What jansson makes of a text, by its flags; duplicate keys are refused. SQ_ERR_DAMAGED with line,
// column and reason on one line, or SQ_ERR_MEMORY.
enum sq_status sq_json_tree(const char *what, struct sq_json_text text, size_t flags,
                            json_t **value, struct sq_error *err);
// For json_set_alloc_funcs, once at the start of a program: with it no lack of memory is taken for
// a bad text; without it some is.
void *sq_json_malloc(size_t nbytes);
// One value, whole; the caller owns it.
enum sq_status sq_json_value(const char *what, struct sq_json_text text, json_t **value,
                             struct sq_error *err);
// A string into out, which holds text.n + 1 bytes; SQ_ERR_RANGE where it is another value.
enum sq_status sq_json_decode(const char *what, struct sq_json_text text, char *out,
                              struct sq_error *err);

// A whole file of at most max_nbytes.
enum sq_status sq_json_load(const char *path, size_t max_nbytes, json_t **root,
                            struct sq_error *err);

// One object a line; blank lines are passed over. Calls `each` with the number of the line, counted
// from 1, until it fails. Refuses a line that is no object, holds a zero byte or has more than 65,535
// characters: "'PATH' line N: ...".
enum sq_status sq_json_lines(const char *path, const char *text, size_t nbytes,
                             enum sq_status (*each)(const json_t *object, unsigned line, void *user,
                                                    struct sq_error *err),
                             void *user, struct sq_error *err);

// The field, NULL where it is missing or null.
static inline const json_t *sq_json_field(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_null(v) ? NULL : v;
}

// Fields of `object`; a missing or null field gives `fallback`, and is refused where that is no
// legal value (outside [min, max]). Wrong type or range: "WHAT: KEY = 0, need 1..64".
enum sq_status sq_json_uint(const json_t *object, const char *what, const char *key, uint64_t min,
                            uint64_t max, uint64_t fallback, uint64_t *value, struct sq_error *err);
enum sq_status sq_json_double(const json_t *object, const char *what, const char *key, double min,
                              double max, double fallback, double *value, struct sq_error *err);
enum sq_status sq_json_bool(const json_t *object, const char *what, const char *key, bool fallback,
                            bool *value, struct sq_error *err);
// *value stays owned by the object; NULL where the field is missing or null.
enum sq_status sq_json_string(const json_t *object, const char *what, const char *key,
                              const char **value, struct sq_error *err);
