// SPDX-License-Identifier: Apache-2.0
// Prints a row as a line of a table or as a JSON object (sq_cli_table.h).
#include "sim/cli/sq_cli_table.h"

#include <math.h>
#include <stdlib.h>

struct sq_cli_value sq_cli_count(uint64_t v)
{
    return (struct sq_cli_value){SQ_CELL_COUNT, .count = (int64_t)v};
}

struct sq_cli_value sq_cli_whole(int64_t v)
{
    return (struct sq_cli_value){SQ_CELL_COUNT, .count = v};
}

struct sq_cli_value sq_cli_number(double v)
{
    return (struct sq_cli_value){SQ_CELL_NUMBER, .number = v};
}

struct sq_cli_value sq_cli_truth(bool v)
{
    return (struct sq_cli_value){SQ_CELL_TRUTH, .truth = v};
}

struct sq_cli_value sq_cli_string(const char *v)
{
    return (struct sq_cli_value){SQ_CELL_TEXT, .text = v};
}

struct sq_cli_value sq_cli_json(json_t *v)
{
    return (struct sq_cli_value){SQ_CELL_JSON, .json = v};
}

struct sq_cli_value sq_cli_amount(long double v)
{
    return fabsl(v) < 0x1p63L && v == floorl(v) ? sq_cli_whole((int64_t)v)
                                                : sq_cli_number((double)v);
}

struct sq_cli_value sq_cli_same(struct sq_cli_value v)
{
    return v;
}

static bool is_end(const struct sq_cli_column *c)
{
    return c->width == INT_MAX;
}

// ---- people -------------------------------------------------------------------------------------

enum { CELL_NBYTES = 256 };

static const char *text_of(const struct sq_cli_column *c, char text[CELL_NBYTES])
{
    const struct sq_cli_value *v = &c->value;
    const double number = v->kind == SQ_CELL_COUNT ? (double)v->count : v->number;
    if (v->kind == SQ_CELL_JSON)
        return "";
    if (v->kind == SQ_CELL_TRUTH)
        return v->truth ? "yes" : "no";
    if (v->kind == SQ_CELL_TEXT && (!v->text || !c->as))
        return v->text ? v->text : "-";
    if (v->kind == SQ_CELL_NUMBER && isnan(number))
        return "-";
    if (v->kind == SQ_CELL_TEXT)
        snprintf(text, CELL_NBYTES, c->as, v->text);
    else if (v->kind == SQ_CELL_COUNT && !c->as)
        snprintf(text, CELL_NBYTES, "%lld", (long long)v->count);
    else
        snprintf(text, CELL_NBYTES, c->as ? c->as : "%.6g",
                 c->scale != 0 ? c->scale * number : number);
    return text;
}

// The headings, or the values, each behind *between.
static void put_cells(FILE *out, const struct sq_cli_column *c, bool is_head, const char **between)
{
    for (; !is_end(c); c++) {
        char text[CELL_NBYTES];
        const char *cell = text;
        if (c->value.kind == SQ_CELL_ROW)
            put_cells(out, c->value.row, is_head, between);
        if (!c->heading || c->is_absent)
            continue;
        if (is_head)
            snprintf(text, sizeof text, "%s%s%s", c->heading, c->unit ? " " : "",
                     c->unit ? c->unit : "");
        else
            cell = text_of(c, text);
        if (!*cell && !c->width)
            continue;
        fprintf(out, "%s%*s", *between, c->width, cell);
        *between = " ";
    }
}

static void put_line(FILE *out, const struct sq_cli_column *row, bool is_head)
{
    const char *between = "";
    put_cells(out, row, is_head, &between);
    fputc('\n', out);
}

// The head alone, before there is a row: with values of the right type.
static void put_head(struct sq_cli_table *t, const struct sq_cli_column *row)
{
    if (!t->has_head && !t->is_json)
        put_line(t->out ? t->out : stdout, row, true);
    t->has_head = true;
}

// ---- JSON ---------------------------------------------------------------------------------------

static json_t *json_of(const struct sq_cli_value *v)
{
    switch (v->kind) {
    case SQ_CELL_COUNT:
        return json_integer(v->count);
    case SQ_CELL_NUMBER:
        return sq_cli_json_number(v->number);
    case SQ_CELL_TRUTH:
        return json_boolean(v->truth);
    case SQ_CELL_TEXT:
        return v->text ? sq_cli_json_text(v->text) : json_null();
    case SQ_CELL_JSON:
        return v->json;
    case SQ_CELL_ROW:
        return NULL;
    }
    return NULL;
}

static void add_columns(json_t *o, const struct sq_cli_column *c)
{
    for (; !is_end(c); c++) {
        json_t *value = c->key && !c->is_absent ? json_of(&c->value) : NULL;
        if (c->value.kind == SQ_CELL_ROW) {
            add_columns(o, c->value.row);
        } else if (value && !*c->key) {
            json_object_update(o, value);
            json_decref(value);
        } else if (value) {
            json_object_set_new(o, c->key, value);
        } else if (c->value.kind == SQ_CELL_JSON) {
            json_decref(c->value.json);
        }
    }
}

json_t *sq_cli_object(const struct sq_cli_column *row)
{
    json_t *o = json_object();
    add_columns(o, row);
    return o;
}

// ---- either -------------------------------------------------------------------------------------

// What people do not see.
static void drop(const struct sq_cli_column *c)
{
    for (; !is_end(c); c++)
        if (c->value.kind == SQ_CELL_ROW)
            drop(c->value.row);
        else if (c->value.kind == SQ_CELL_JSON)
            json_decref(c->value.json);
}

void sq_cli_put(struct sq_cli_table *t, const struct sq_cli_column *row)
{
    FILE *out = t->out ? t->out : stdout;
    if (t->is_json) {
        SQ_FREED char *line = sq_cli_json_dump(sq_cli_object(row));
        if (line)
            fprintf(out, "%s\n", line);
        return;
    }
    put_head(t, row);
    put_line(out, row, false);
    drop(row);
}

json_t *sq_cli_summary(const struct sq_cli_column *row, json_t *provenance)
{
    json_t *o = json_object();
    json_object_set_new(o, "summary", json_true());
    add_columns(o, row);
    json_object_set_new(o, "provenance", provenance);
    return o;
}

void sq_cli_put_summary(const struct sq_cli_column *row, json_t *provenance)
{
    sq_cli_json_line(sq_cli_summary(row, provenance));
}
