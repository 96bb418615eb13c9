// SPDX-License-Identifier: Apache-2.0
// JSON that was written by others: jansson with bounds on size and nesting, duplicates refused, and
// fields read with a range.
#ifndef SQ_JSON_H
#define SQ_JSON_H

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

// A whole file of at most max_nbytes.
enum sq_status sq_json_load(const char *path, size_t max_nbytes, json_t **root,
                            struct sq_error *err);

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

#endif
