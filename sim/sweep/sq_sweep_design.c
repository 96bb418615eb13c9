// SPDX-License-Identifier: Apache-2.0
// One design: a value of each axis, as YAML or JSON. It becomes a specification of one point.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_yaml.h"
#include "sim/sweep/sq_sweep_grid.h"

struct raw {
    char *axis[SQ_N_AXES]; // NULL: left out
    char **measure;
    unsigned n_measures;
};

static const cyaml_schema_value_t text_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, 240)};

static void make_schema(cyaml_schema_field_t field[SQ_N_AXES + 2], cyaml_schema_value_t *file)
{
    memset(field, 0, (SQ_N_AXES + 2) * sizeof *field);
    for (unsigned a = 0; a < SQ_N_AXES; a++) {
        field[a] = (cyaml_schema_field_t)CYAML_FIELD_STRING_PTR(
            NULL, CYAML_FLAG_POINTER_NULL_STR | CYAML_FLAG_OPTIONAL, struct raw, axis[0], 1, 240);
        field[a].key = sq_axes[a].name;
        field[a].data_offset = (uint32_t)(a * sizeof(char *));
    }
    field[SQ_N_AXES] = (cyaml_schema_field_t){
        .key = "measures",
        .data_offset = offsetof(struct raw, measure),
        .count_offset = offsetof(struct raw, n_measures),
        .count_size = sizeof(unsigned),
        .value = {.type = CYAML_SEQUENCE,
                  .flags = CYAML_FLAG_POINTER,
                  .data_size = sizeof(char *),
                  .sequence = {.entry = &text_schema, .min = 1, .max = SQ_MEASURES_MAX}}};
    *file = (cyaml_schema_value_t){CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw, field)};
}

// In single quotes, where YAML reads nothing but a doubled quote.
static void put_text(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

// The specification; NULL without memory.
static char *specification(const struct raw *raw, size_t *nbytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, nbytes);
    bool any = false;
    if (!out)
        return NULL;
    fputs("name: point\naxes:", out);
    for (unsigned a = 0; a < SQ_N_AXES; a++) {
        if (!raw->axis[a])
            continue;
        fprintf(out, "\n  %s: [", sq_axes[a].name);
        put_text(out, raw->axis[a]);
        fputc(']', out);
        any = true;
    }
    fputs(any ? "\nmeasures: [" : " {}\nmeasures: [", out);
    for (unsigned i = 0; i < raw->n_measures; i++) {
        fputs(i ? ", " : "", out);
        put_text(out, raw->measure[i]);
    }
    fputs("]\n", out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

// One point, no more and no less.
static enum sq_status check_one(const struct raw *raw, const char *what, struct sq_error *err)
{
    for (unsigned a = 0; a < SQ_N_AXES; a++)
        if (raw->axis[a] && !sq_axes[a].is_path && strstr(raw->axis[a], ".."))
            return SQ_FAIL(err, SQ_ERR_ARG, "'%.60s': axis %s = %.40s, need one value",
                           sq_path_tail(what), sq_axes[a].name, raw->axis[a]);
    return SQ_OK;
}

static enum sq_status parse(struct sq_sweep_grid *s, const struct raw *raw, const char *what,
                            const char *home, struct sq_error *err)
{
    size_t nbytes;
    SQ_TRY(check_one(raw, what, err));
    SQ_FREED char *text = specification(raw, &nbytes);
    SQ_NEED(text, err, "a design");
    return sq_sweep_grid_parse(s, text, nbytes, what, home, err);
}

enum sq_status sq_sweep_design_parse(struct sq_sweep_grid *s, const char *text, size_t nbytes,
                                     const char *what, const char *home, struct sq_error *err)
{
    cyaml_schema_field_t field[SQ_N_AXES + 2];
    cyaml_schema_value_t file;
    void *raw = NULL;
    memset(s, 0, sizeof *s);
    make_schema(field, &file);
    SQ_TRY(sq_yaml_parse(text, nbytes, what, &file, &raw, err));
    const enum sq_status status = parse(s, raw, what, home, err);
    sq_yaml_free(&file, raw);
    return status;
}
