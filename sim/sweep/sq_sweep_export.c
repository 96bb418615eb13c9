// SPDX-License-Identifier: Apache-2.0
// Writes rows as CSV, with a JSON object beside it, or as lines of JSON (sq_sweep_export.h).
#include "sim/sweep/sq_sweep_export.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_json.h"
#include "sim/io/sq_quote.h"

static bool is_flat(json_t *object)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object) || json_object_size(object) > SQ_FIELDS_MAX)
        return false;
    json_object_foreach(object, name, value)
    {
        if (json_is_object(value) || json_is_array(value))
            return false;
    }
    return true;
}

enum sq_status sq_fields_read(struct sq_fields *f, const char *json, struct sq_error *err)
{
    const char *name;
    json_t *value;
    f->n = 0;
    const struct sq_json_text text = {json, strlen(json)};
    if (sq_json_tree("a row", text, 0, &f->owner, err) == SQ_ERR_MEMORY)
        return SQ_ERR_MEMORY;
    if (!is_flat(f->owner)) {
        sq_fields_free(f);
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "a row that is no flat object: %.100s", json);
    }
    json_object_foreach(f->owner, name, value)
    {
        if (strncmp(name, "__", 2) == 0) { // none of ours; JavaScript has its own of these names
            sq_fields_free(f);
            return SQ_FAIL(err, SQ_ERR_DAMAGED, "a row has a field that begins with __: %.100s",
                           json);
        }
        struct sq_field *field = &f->field[f->n++];
        *field = (struct sq_field){name, field->digits, !json_is_string(value), NAN, ""};
        if (json_is_string(value))
            field->text = json_string_value(value);
        else if (json_is_number(value))
            field->value = json_number_value(value);
        if (json_is_integer(value))
            snprintf(field->digits, sizeof field->digits, "%" JSON_INTEGER_FORMAT,
                     json_integer_value(value));
        else if (json_is_real(value))
            snprintf(field->digits, sizeof field->digits, "%.12g", field->value);
    }
    return SQ_OK;
}

void sq_fields_free(struct sq_fields *f)
{
    json_decref(f->owner);
    f->owner = NULL;
    f->n = 0;
}

enum sq_status sq_sweep_row_check(const struct sq_sweep_row *row, struct sq_error *err)
{
    struct sq_fields f;
    if (!sq_name_is_stem(row->sweep))
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "sweep name = '%.60s', " SQ_NAME_STEM_RULE, row->sweep);
    SQ_TRY(sq_fields_read(&f, row->parameters, err));
    sq_fields_free(&f);
    SQ_TRY(sq_fields_read(&f, row->measures, err));
    sq_fields_free(&f);
    const struct sq_json_text text = {row->provenance, strlen(row->provenance)};
    json_t *provenance;
    if (sq_json_tree("a row", text, 0, &provenance, err) == SQ_ERR_MEMORY)
        return SQ_ERR_MEMORY;
    const bool is_object = json_is_object(provenance);
    json_decref(provenance);
    return is_object ? SQ_OK
                     : SQ_FAIL(err, SQ_ERR_DAMAGED, "provenance = %.100s, need a JSON object",
                               row->provenance);
}

void sq_csv_head(FILE *out, const char *command, const struct sq_sweep_row *row)
{
    fprintf(out, "# sqsim %s, %s; provenance of the first point: ", command, row->sweep);
    sq_put_json_line(out, row->provenance);
    fputc('\n', out);
}

void sq_csv_sidecar(FILE *out, const char *command, const struct sq_sweep_row *row)
{
    fprintf(out, "{\"command\":\"sqsim %s\",\"sweep\":\"%s\",\"provenance\":", command, row->sweep);
    sq_put_json_line(out, row->provenance);
    fputs("}\n", out);
}

// The members of an object, a comma after the last.
static void put_members(FILE *out, const char *object)
{
    static const char blank[] = " \t\r\n";
    const char *first = object + strspn(object, blank) + 1, *end = strrchr(object, '}');
    first += strspn(first, blank);
    if (first < end)
        fprintf(out, "%.*s,", (int)(end - first), first);
}

void sq_put_row_json(FILE *out, const struct sq_sweep_row *row)
{
    char key[SQ_DIGEST_SIZE];
    sq_digest_hex(row->key, key);
    fprintf(out, "{\"sweep\":\"%s\",\"key\":\"%s\",", row->sweep, key);
    put_members(out, row->parameters);
    put_members(out, row->measures);
    fprintf(out, "\"provenance\":%s}\n", row->provenance);
}

// Whether a spreadsheet would take the text for a formula, and no number begins so.
static bool is_formula(const char *text)
{
    char *end;
    if (!*text || !strchr("=+-@\t\r", *text))
        return false;
    (void)strtod(text, &end);
    return end == text || *end;
}

// Behind an apostrophe a text is a text in every spreadsheet.
static void put_cell(FILE *out, const char *text)
{
    const bool is_quoted = strpbrk(text, ",\"\r\n") != NULL;
    fprintf(out, "%s%s", is_quoted ? "\"" : "", is_formula(text) ? "'" : "");
    for (; *text; text++)
        fprintf(out, *text == '"' ? "\"%c" : "%c", *text);
    if (is_quoted)
        fputc('"', out);
}

static char *head_of(const struct sq_fields *a, const struct sq_fields *b)
{
    char *head = NULL;
    size_t nbytes;
    FILE *f = open_memstream(&head, &nbytes);
    if (!f)
        return NULL;
    for (size_t i = 0; i < a->n + b->n; i++) {
        fputs(i ? "," : "", f);
        put_cell(f, i < a->n ? a->field[i].name : b->field[i - a->n].name);
    }
    return fclose(f) == 0 ? head : NULL;
}

static enum sq_status put_fields(struct sq_csv *csv, const struct sq_fields *a,
                                 const struct sq_fields *b, struct sq_error *err)
{
    char *head = head_of(a, b);
    SQ_NEED(head, err, "a row");
    if (!csv->head || strcmp(csv->head, head) != 0)
        fprintf(csv->out, "%s\n", head);
    free(csv->head);
    csv->head = head;
    for (size_t i = 0; i < a->n + b->n; i++) {
        if (i)
            fputc(',', csv->out);
        put_cell(csv->out, i < a->n ? a->field[i].text : b->field[i - a->n].text);
    }
    fputc('\n', csv->out);
    return SQ_OK;
}

enum sq_status sq_csv_row(struct sq_csv *csv, const struct sq_sweep_row *row, struct sq_error *err)
{
    SQ_CLOSED(sq_fields_free) struct sq_fields a = {0};
    SQ_CLOSED(sq_fields_free) struct sq_fields b = {0};
    SQ_TRY(sq_fields_read(&a, row->parameters, err));
    SQ_TRY(sq_fields_read(&b, row->measures, err));
    return put_fields(csv, &a, &b, err);
}

void sq_csv_free(struct sq_csv *csv)
{
    free(csv->head);
    csv->head = NULL;
}
