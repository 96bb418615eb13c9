// SPDX-License-Identifier: Apache-2.0
#include "sim/io/sq_yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_suggest.h"

enum { YAML_MAX_NBYTES = 1 << 20, MAX_KEYS = 128 };

// What libcyaml logs about a failure: the reason first, then where it happened.
struct log {
    char reason[160];
    char place[120];
};

static void keep(cyaml_log_t level, void *context, const char *format, va_list args)
{
    struct log *log = context;
    char line[160];
    if (level != CYAML_LOG_ERROR)
        return;
    vsnprintf(line, sizeof line, format, args);
    line[strcspn(line, "\n")] = '\0';
    const char *text = strncmp(line, "Load: ", 6) == 0 ? line + 6 : line;
    if (strcmp(text, "Backtrace:") == 0)
        return;
    if (!log->reason[0])
        snprintf(log->reason, sizeof log->reason, "%s", text);
    else if (!log->place[0] && strncmp(line, "  in ", 5) == 0)
        snprintf(log->place, sizeof log->place, "%.118s", line + 1);
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

static enum sq_status unknown_key(const struct log *log, const char *what,
                                  const cyaml_schema_value_t *schema, struct sq_error *err)
{
    const char *keys[MAX_KEYS];
    const char *colon = strchr(log->reason, ':');
    const char *key = colon ? colon + 2 : "";
    const size_t n = collect_keys(schema, keys, 0);
    for (size_t i = 0; i < n; i++)
        if (strcmp(key, keys[i]) == 0) // of another mapping
            return SQ_FAIL(err, SQ_ERR_ARG, "'%s': key '%.40s' does not belong here%.60s",
                           sq_path_tail(what), key, log->place);
    const char *nearest = sq_suggest(key, keys, n);
    return SQ_FAIL(err, SQ_ERR_ARG, "'%s': unknown key '%.40s'%s%.40s%s%.60s", sq_path_tail(what),
                   key, nearest ? ", did you mean " : "", nearest ? nearest : "",
                   nearest ? "?" : "", log->place);
}

enum sq_status sq_yaml_parse(const void *text, size_t nbytes, const char *what,
                             const cyaml_schema_value_t *schema, void **data, struct sq_error *err)
{
    struct log log = {"", ""};
    const cyaml_config_t config = config_of(&log);
    *data = NULL;
    if (nbytes == 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "'%s' is empty", sq_path_tail(what));
    if (nbytes > YAML_MAX_NBYTES)
        return SQ_FAIL(err, SQ_ERR_ARG, "'%s' has %zu bytes, need <= %d", sq_path_tail(what),
                       nbytes, YAML_MAX_NBYTES);
    const cyaml_err_t code = cyaml_load_data(text, nbytes, &config, schema, data, NULL);
    if (code == CYAML_OK && *data)
        return SQ_OK;
    *data = NULL;
    if (code == CYAML_ERR_INVALID_KEY)
        return unknown_key(&log, what, schema, err);
    if (code == CYAML_ERR_OOM)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for '%s'", sq_path_tail(what));
    return SQ_FAIL(err, SQ_ERR_ARG, "'%s': %.90s%.60s", sq_path_tail(what),
                   log.reason[0] ? log.reason : cyaml_strerror(code), log.place);
}

enum sq_status sq_yaml_load(const char *path, const cyaml_schema_value_t *schema, void **data,
                            struct sq_error *err)
{
    struct sq_file_view map;
    *data = NULL;
    SQ_TRY(sq_file_map(path, &map, err));
    const enum sq_status status = sq_yaml_parse(map.data, map.nbytes, path, schema, data, err);
    sq_file_unmap(&map);
    return status;
}

void sq_yaml_free(const cyaml_schema_value_t *schema, void *data)
{
    struct log log = {"", ""};
    const cyaml_config_t config = config_of(&log);
    cyaml_free(&config, schema, data, 0);
}
