// SPDX-License-Identifier: Apache-2.0
// Runs libcyaml on a file, and makes one sentence of what it refuses (sq_yaml.h).
#include "sim/io/sq_yaml.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_suggest.h"

enum { YAML_MAX_NBYTES = 1 << 20, MAX_KEYS = 128 };

// What libcyaml logs about a failure: the reason first, then where it happened, innermost first.
struct log {
    char reason[160];
    char field[64];      // the innermost mapping field, "" at the top
    size_t line, column; // of the value, from 1 on; 0: unknown
};

static void keep_place(struct log *log, const char *line)
{
    const char *field = strstr(line, "in mapping field '"), *at = strstr(line, "(line: ");
    if (!log->line && at && sscanf(at, "(line: %zu, column: %zu)", &log->line, &log->column) != 2)
        log->line = 0;
    if (!log->field[0] && field) {
        field += strlen("in mapping field '");
        snprintf(log->field, sizeof log->field, "%.*s", (int)strcspn(field, "'"), field);
    }
}

static void keep(cyaml_log_t level, void *context, const char *format, va_list args)
{
    struct log *log = context;
    char line[160];
    if (level != CYAML_LOG_ERROR)
        return;
    vsnprintf(line, sizeof line, format, args);
    line[strcspn(line, "\n")] = '\0';
    const char *text = strncmp(line, "Load: ", 6) == 0 ? line + 6 : line;
    if (strncmp(text, "  in ", 5) == 0)
        keep_place(log, text + 1);
    else if (strcmp(text, "Backtrace:") != 0 && !log->reason[0])
        snprintf(log->reason, sizeof log->reason, "%s", text);
}

static cyaml_config_t config_of(struct log *log)
{
    return (cyaml_config_t){.log_fn = keep,
                            .log_ctx = log,
                            .log_level = CYAML_LOG_ERROR,
                            .mem_fn = cyaml_mem,
                            .flags = CYAML_CFG_NO_ALIAS};
}

static size_t collect_keys(const cyaml_schema_value_t *schema, const char **keys, size_t n)
{
    if (schema->type == CYAML_SEQUENCE || schema->type == CYAML_SEQUENCE_FIXED)
        return collect_keys(schema->sequence.entry, keys, n);
    if (schema->type != CYAML_MAPPING)
        return n;
    for (const cyaml_schema_field_t *f = schema->mapping.fields; f->key; f++) {
        if (n < MAX_KEYS)
            keys[n++] = f->key;
        n = collect_keys(&f->value, keys, n);
    }
    return n;
}

// " (line 3)": the first line from that of the value read last on which begins with the key; "" where
// none does, as within { }.
static const char *line_of_key(const char *text, size_t nbytes, const struct log *log,
                               const char *key, char line[32])
{
    const char *at = text, *const end = text + nbytes;
    const size_t n = strlen(key);
    *line = '\0';
    for (size_t i = 1; at < end && n > 0; i++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        while (at < end && (*at == ' ' || *at == '-'))
            at++;
        if (i >= log->line && (size_t)(end - at) > n && memcmp(at, key, n) == 0 && at[n] == ':') {
            snprintf(line, 32, " (line %zu)", i);
            break;
        }
        at = stop ? stop + 1 : end;
    }
    return line;
}

static enum sq_status unknown_key(const struct log *log, const char *text, size_t nbytes,
                                  const char *what, const cyaml_schema_value_t *schema,
                                  struct sq_error *err)
{
    char line[32];
    const char *keys[MAX_KEYS];
    const char *colon = strchr(log->reason, ':');
    const char *key = colon ? colon + 2 : "";
    const size_t n = collect_keys(schema, keys, 0);
    for (size_t i = 0; i < n; i++)
        if (strcmp(key, keys[i]) == 0) // of another mapping
            return SQ_FAIL(err, SQ_ERR_ARG, "'%s': key '%.40s' does not belong here%s",
                           sq_path_tail(what), key, line_of_key(text, nbytes, log, key, line));
    const char *nearest = sq_suggest(key, keys, n);
    return SQ_FAIL(err, SQ_ERR_ARG, "'%s': unknown key '%.40s'%s%.40s%s%s", sq_path_tail(what), key,
                   nearest ? ", did you mean " : "", nearest ? nearest : "", nearest ? "?" : "",
                   line_of_key(text, nbytes, log, key, line));
}

// ---- one sentence: field, value, range ----------------------------------------------------------

// The words of an ENUM field of that name: "none or peak"; "" where the schema has none.
static void put_words(const cyaml_schema_value_t *schema, const char *field, char *text,
                      size_t size)
{
    if (schema->type == CYAML_SEQUENCE || schema->type == CYAML_SEQUENCE_FIXED)
        put_words(schema->sequence.entry, field, text, size);
    if (schema->type != CYAML_MAPPING)
        return;
    for (const cyaml_schema_field_t *f = schema->mapping.fields; f->key; f++) {
        if (f->value.type != CYAML_ENUM || strcmp(f->key, field) != 0) {
            put_words(&f->value, field, text, size);
            continue;
        }
        for (uint32_t i = 0; i < f->value.enumeration.count; i++) {
            const size_t n = strlen(text);
            snprintf(text + n, size - n, "%s%s",
                     i == 0                                ? ""
                     : i + 1 == f->value.enumeration.count ? " or "
                                                           : ", ",
                     f->value.enumeration.strings[i].str);
        }
    }
}

// What stands in the file where the value begins, to the end of its line.
static void copy_value(const char *text, size_t nbytes, const struct log *log, char value[48])
{
    const char *at = text, *const end = text + nbytes;
    *value = '\0';
    for (size_t line = 1; at && line < log->line; line++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    if (!at || log->line == 0 || log->column == 0 || log->column > (size_t)(end - at))
        return;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t n = (size_t)((stop ? stop : end) - at);
    if (n < log->column)
        return;
    at += log->column - 1;
    n -= log->column - 1;
    while (n > 0 && (at[n - 1] == ' ' || at[n - 1] == '\r'))
        n--;
    snprintf(value, 48, "%.*s%s", n < 40 ? (int)n : 40, at, n > 40 ? ".." : "");
}

static bool holds(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

// What is asked for where libcyaml says "Expecting KIND, got event: OTHER".
static const char *kind_of(const char *reason)
{
    return holds(reason, "Expecting SEQUENCE")  ? "a list, as [A, B]"
           : holds(reason, "Expecting MAPPING") ? "keys with values, as KEY: VALUE"
                                                : "one value";
}

// "need .." of a value that the schema rejects.
static void put_need(const struct log *log, cyaml_err_t code, const cyaml_schema_value_t *schema,
                     char need[120])
{
    const char *number = strpbrk(log->reason, "0123456789");
    unsigned bound = 0, other = 0;
    char words[100] = "";
    if (holds(log->reason, "Expecting ")) {
        snprintf(need, 120, "need %s", kind_of(log->reason));
        return;
    }
    if (number)
        (void)sscanf(number, code == CYAML_ERR_SEQUENCE_ENTRIES_MIN ? "%u of %u" : "%u", &bound,
                     &other);
    switch (code) {
    case CYAML_ERR_STRING_LENGTH_MIN:
        snprintf(need, 120, "need at least %u character%s", bound, bound == 1 ? "" : "s");
        break;
    case CYAML_ERR_STRING_LENGTH_MAX:
        snprintf(need, 120, "need at most %u characters", bound);
        break;
    case CYAML_ERR_SEQUENCE_ENTRIES_MIN:
        snprintf(need, 120, "need a list of at least %u", other);
        break;
    case CYAML_ERR_SEQUENCE_ENTRIES_MAX:
        snprintf(need, 120, "need a list of at most %u", bound);
        break;
    default:
        put_words(schema, log->field, words, sizeof words);
        snprintf(need, 120, *words ? "need %s" : "%.60s", *words ? words : log->reason);
    }
}

static enum sq_status bad_value(const struct log *log, cyaml_err_t code, const char *text,
                                size_t nbytes, const char *what, const cyaml_schema_value_t *schema,
                                struct sq_error *err)
{
    char value[48], need[120];
    put_need(log, code, schema, need);
    if (!log->field[0])
        return SQ_FAIL(err, SQ_ERR_ARG, "'%s' is one value or a list, %s", sq_path_tail(what),
                       need);
    copy_value(text, nbytes, log, value);
    return SQ_FAIL(err, SQ_ERR_ARG, "'%s' line %zu: %s = %s, %s", sq_path_tail(what), log->line,
                   log->field, *value ? value : "nothing", need);
}

static enum sq_status refuse(const struct log *log, cyaml_err_t code, const char *text,
                             size_t nbytes, const char *what, const cyaml_schema_value_t *schema,
                             struct sq_error *err)
{
    char line[48] = "";
    const char *name = sq_path_tail(what), *colon = strchr(log->reason, ':');
    const char *key = colon && colon[1] ? colon + 2 : "";
    if (log->line) // of the value that was read last
        snprintf(line, sizeof line, ", at or after line %zu", log->line);
    switch (code) {
    case CYAML_OK:
        return SQ_FAIL(err, SQ_ERR_ARG, "'%s' holds no keys and values", name);
    case CYAML_ERR_OOM:
        return SQ_NO_MEMORY(err, "'%s'", name);
    case CYAML_ERR_INVALID_KEY:
        return unknown_key(log, text, nbytes, what, schema, err);
    case CYAML_ERR_ALIAS:
    case CYAML_ERR_INVALID_ALIAS:
        return SQ_FAIL(err, SQ_ERR_ARG, "'%s' has an alias (*NAME), need the value itself%s", name,
                       line);
    case CYAML_ERR_MAPPING_FIELD_MISSING:
        return SQ_FAIL(err, SQ_ERR_ARG, "'%s' lacks key '%.60s'", name, key);
    case CYAML_ERR_LIBYAML_PARSER:
        return SQ_FAIL(err, SQ_ERR_ARG, "'%s' is no YAML: %.90s%s", name, key, line);
    case CYAML_ERR_UNEXPECTED_EVENT:
        if (holds(log->reason, "already seen"))
            return SQ_FAIL(err, SQ_ERR_ARG, "'%s' has key '%.60s' twice", name, key);
        return bad_value(log, code, text, nbytes, what, schema, err);
    case CYAML_ERR_INVALID_VALUE:
    case CYAML_ERR_STRING_LENGTH_MIN:
    case CYAML_ERR_STRING_LENGTH_MAX:
    case CYAML_ERR_SEQUENCE_ENTRIES_MIN:
    case CYAML_ERR_SEQUENCE_ENTRIES_MAX:
        return bad_value(log, code, text, nbytes, what, schema, err);
    default:
        return SQ_FAIL(err, SQ_ERR_ARG, "'%s': %.90s%s", name,
                       log->reason[0] ? log->reason : cyaml_strerror(code), line);
    }
}

enum sq_status sq_yaml_parse(const void *text, size_t nbytes, const char *what,
                             const cyaml_schema_value_t *schema, void **data, struct sq_error *err)
{
    struct log log = {0};
    const cyaml_config_t config = config_of(&log);
    *data = NULL;
    if (nbytes == 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "'%s' is empty", sq_path_tail(what));
    if (nbytes > YAML_MAX_NBYTES)
        return SQ_FAIL(err, SQ_ERR_ARG, "'%s' has %zu bytes, need <= %d", sq_path_tail(what),
                       nbytes, YAML_MAX_NBYTES);
    if (memchr(text, '\0', nbytes))
        return SQ_FAIL(err, SQ_ERR_ARG, "'%s' is no YAML: it holds a zero byte",
                       sq_path_tail(what));
    const cyaml_err_t code = cyaml_load_data(text, nbytes, &config, schema, data, NULL);
    if (code == CYAML_OK && *data)
        return SQ_OK;
    *data = NULL;
    return refuse(&log, code, text, nbytes, what, schema, err);
}

enum sq_status sq_yaml_load(const char *path, const cyaml_schema_value_t *schema, void **data,
                            struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    *data = NULL;
    SQ_TRY(sq_file_map(path, &map, err));
    return sq_yaml_parse(map.data, map.nbytes, path, schema, data, err);
}

void sq_yaml_free(const cyaml_schema_value_t *schema, void *data)
{
    struct log log = {0};
    const cyaml_config_t config = config_of(&log);
    cyaml_free(&config, schema, data, 0);
}
