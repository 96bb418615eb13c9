// SPDX-License-Identifier: Apache-2.0
// A YAML file into a C structure by a libcyaml schema, with every refusal in one sentence.
#pragma once

#include <cyaml/cyaml.h>

#include "models/sq_status.h"

// `schema` is a pointer to a mapping (CYAML_VALUE_MAPPING with CYAML_FLAG_POINTER); *data receives
// the structure, released by sq_yaml_free. Refused in a sentence: a file that is none, is longer than
// 1 MiB or no YAML, aliases, unknown keys (with the nearest known one), keys given twice, missing
// ones, values the schema rejects (line, field, value and what is needed). SQ_ERR_IO or SQ_ERR_ARG;
// *data is NULL then.
enum sq_status sq_yaml_load(const char *path, const cyaml_schema_value_t *schema, void **data,
                            struct sq_error *err);

// The same on text; `what` names it in errors.
enum sq_status sq_yaml_parse(const void *text, size_t nbytes, const char *what,
                             const cyaml_schema_value_t *schema, void **data, struct sq_error *err);

void sq_yaml_free(const cyaml_schema_value_t *schema, void *data);
