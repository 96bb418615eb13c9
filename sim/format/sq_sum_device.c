// SPDX-License-Identifier: Apache-2.0
// Reads the sums of a device (sq_sum_device.h).
#include "sim/format/sq_sum_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_yaml.h"

struct raw_sum {
    char **inputs;
    unsigned inputs_count;
    unsigned step, groups, kept, last;
    int emin, exponent, rounding, c;
    char *aligned;
};
struct raw_device {
    char *name, *source;
    struct raw_sum *sums;
    unsigned sums_count;
};

static const cyaml_strval_t exponents[] = {{"factors", 0}, {"value", 1}};
static const cyaml_strval_t roundings[] = {{"zero", 0}, {"nearest", 1}};
static const cyaml_strval_t places_of_c[] = {
    {"among", SQ_SUM_C_AMONG}, {"after", SQ_SUM_C_AFTER}, {"none", SQ_SUM_C_NONE}};

static const cyaml_schema_value_t input_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 1, 7)};
#define OPTIONAL_UINT(member) CYAML_FIELD_UINT(#member, CYAML_FLAG_OPTIONAL, struct raw_sum, member)
#define OPTIONAL_WORD(member, words)                                                               \
    CYAML_FIELD_ENUM(#member, CYAML_FLAG_OPTIONAL | CYAML_FLAG_STRICT, struct raw_sum, member,     \
                     words, CYAML_ARRAY_LEN(words))
static const cyaml_schema_field_t sum_fields[] = {
    CYAML_FIELD_SEQUENCE("inputs", CYAML_FLAG_POINTER, struct raw_sum, inputs, &input_schema, 1,
                         SQ_SUM_TYPES_MAX),
    CYAML_FIELD_UINT("step", CYAML_FLAG_DEFAULT, struct raw_sum, step),
    CYAML_FIELD_STRING_PTR("aligned", CYAML_FLAG_POINTER, struct raw_sum, aligned, 1, 7),
    OPTIONAL_UINT(groups),
    OPTIONAL_UINT(kept),
    OPTIONAL_UINT(last),
    CYAML_FIELD_INT("emin", CYAML_FLAG_OPTIONAL, struct raw_sum, emin),
    OPTIONAL_WORD(exponent, exponents),
    OPTIONAL_WORD(rounding, roundings),
    OPTIONAL_WORD(c, places_of_c),
    CYAML_FIELD_END};
static const cyaml_schema_value_t sum_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_sum, sum_fields)};
static const cyaml_schema_field_t device_fields[] = {
    CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct raw_device, name, 1, 31),
    CYAML_FIELD_STRING_PTR("source", CYAML_FLAG_POINTER, struct raw_device, source, 1, 511),
    CYAML_FIELD_SEQUENCE("sums", CYAML_FLAG_POINTER, struct raw_device, sums, &sum_schema, 1,
                         SQ_SUM_RULES_MAX),
    CYAML_FIELD_END};
static const cyaml_schema_value_t device_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_device, device_fields)};

static bool is_input(const char *name)
{
    bool is_known = strcmp(name, "any") == 0;
    for (unsigned i = 0; sq_sum_types[i].name; i++)
        is_known = is_known || strcmp(name, sq_sum_types[i].name) == 0;
    return is_known;
}

static enum sq_status read_rule(const struct raw_sum *raw, struct sq_sum_rule *r,
                                struct sq_error *err)
{
    char *end = raw->aligned;
    const bool is_exact = strcmp(raw->aligned, "exact") == 0;
    const unsigned long aligned = is_exact ? SQ_SUM_EXACT : strtoul(raw->aligned, &end, 10);
    SQ_FAIL_IF(!is_exact &&
                   (raw->aligned[0] < '1' || raw->aligned[0] > '9' || *end || aligned > 99),
               err, SQ_ERR_ARG, "aligned = %s, need exact, or %d..%d", raw->aligned,
               SQ_SUM_ALIGNED_MIN, SQ_SUM_ALIGNED_MAX);
    *r = (struct sq_sum_rule){.step = raw->step,
                              .groups = raw->groups ? raw->groups : 1,
                              .aligned = (unsigned)aligned,
                              .by_value = raw->exponent != 0,
                              .emin = raw->emin ? raw->emin : SQ_SUM_EMIN_MIN,
                              .kept = raw->kept                   ? raw->kept
                                      : !is_exact && aligned < 23 ? (unsigned)aligned
                                                                  : 23,
                              .is_nearest = raw->rounding != 0,
                              .last = raw->last,
                              .c = (enum sq_sum_c)raw->c};
    return sq_sum_check(r, err);
}

static enum sq_status read_all(const struct raw_device *raw, struct sq_sum_device *d,
                               struct sq_error *err)
{
    memset(d, 0, sizeof *d);
    snprintf(d->name, sizeof d->name, "%s", raw->name);
    snprintf(d->source, sizeof d->source, "%s", raw->source);
    for (unsigned i = 0; i < raw->sums_count; i++) {
        const struct raw_sum *const s = &raw->sums[i];
        for (unsigned j = 0; j < s->inputs_count; j++) {
            SQ_FAIL_IF(!is_input(s->inputs[j]), err, SQ_ERR_ARG,
                       "inputs = %s, need any, fp16, bf16, tf32, e5m2, e4m3, e3m2, e2m3 or "
                       "e2m1",
                       s->inputs[j]);
            SQ_FAIL_IF(sq_sum_device_rule(d, s->inputs[j]), err, SQ_ERR_ARG,
                       "inputs = %s stands twice, need it once", s->inputs[j]);
            snprintf(d->sum[i].input[j], sizeof d->sum[i].input[j], "%s", s->inputs[j]);
        }
        d->sum[i].n_inputs = s->inputs_count;
        SQ_TRY(read_rule(s, &d->sum[i].rule, err));
        d->n = i + 1;
    }
    return SQ_OK;
}

static enum sq_status settle(struct raw_device *raw, const char *what, struct sq_sum_device *d,
                             struct sq_error *err)
{
    struct sq_error inner;
    const enum sq_status status = read_all(raw, d, &inner);
    sq_yaml_free(&device_schema, raw);
    return status == SQ_OK ? SQ_OK
                           : SQ_FAIL(err, status, "'%s': %.140s", sq_path_tail(what), inner.text);
}

static enum sq_status load_device(const char *path, struct sq_sum_device *d, struct sq_error *err)
{
    void *raw;
    SQ_TRY(sq_yaml_load(path, &device_schema, &raw, err));
    return settle(raw, path, d, err);
}

// Refused in one sentence with file and field (sq_yaml.h, sq_sum_check).
static enum sq_status parse_device(const char *text, size_t nbytes, const char *what,
                                   struct sq_sum_device *d, struct sq_error *err)
{
    void *raw;
    SQ_TRY(sq_yaml_parse(text, nbytes, what, &device_schema, &raw, err));
    return settle(raw, what, d, err);
}

// Made from sums/ when sqsim is built: name and text of each, NULL after the last.
extern const char *const sq_sum_devices[][2];

enum sq_status sq_sum_device_named(const char *name, struct sq_sum_device *d, struct sq_error *err)
{
    char known[192] = "";
    for (unsigned i = 0; sq_sum_devices[i][0]; i++) {
        const char *const text = sq_sum_devices[i][1];
        const size_t n = strlen(known);
        if (strcmp(name, sq_sum_devices[i][0]) == 0)
            return parse_device(text, strlen(text), name, d, err);
        snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", sq_sum_devices[i][0]);
    }
    return SQ_FAIL(err, SQ_ERR_ARG, "sum = %.40s, need one of: %s", name, known);
}

const struct sq_sum_rule *sq_sum_device_rule(const struct sq_sum_device *d, const char *type)
{
    for (unsigned i = 0; i < d->n; i++)
        for (unsigned j = 0; j < d->sum[i].n_inputs; j++)
            if (strcmp(d->sum[i].input[j], type) == 0 || strcmp(d->sum[i].input[j], "any") == 0)
                return &d->sum[i].rule;
    return NULL;
}

enum sq_status sq_sum_device_find(const char *name, const char *type, struct sq_sum_device *d,
                                  const struct sq_sum_rule **rule, struct sq_error *err)
{
    const size_t length = strlen(name);
    const bool is_file = strchr(name, '/') || (length > 5 && !strcmp(name + length - 5, ".yaml"));
    SQ_TRY(is_file ? load_device(name, d, err) : sq_sum_device_named(name, d, err));
    *rule = sq_sum_device_rule(d, type);
    return *rule ? SQ_OK
                 : SQ_FAIL(err, SQ_ERR_ARG, "type = %s: %s has no sums of it, need %s%s%s", type,
                           d->name, d->sum[0].input[0], d->n > 1 ? ", " : "",
                           d->n > 1 ? d->sum[d->n - 1].input[0] : "");
}
