// SPDX-License-Identifier: Apache-2.0
// The tables of docs/ that the code already knows: axes, derived quantities and measures of
// a sweep and the schema of its database (files.md), causes of cycles and streams of traffic
// (json.md). A row that is missing, that says something else, or that the code does not have fails
// with the row wanted.
#include <sqlite3.h>

#include "sim/block/flow/sq_cause.h"
#include "sim/format/sq_cost.h"
#include "sim/sweep/sq_sweep.h"
#include "tests/unit/tmpdir.h"

static const char *const documents[] = {"docs/files.md", "docs/json.md"};

// Both documents one after the other, read once.
static const char *text(void)
{
    enum { SIZE = 1 << 20 };
    static char all[SIZE];
    static size_t n;
    for (size_t i = n > 0 ? LEN(documents) : 0; i < LEN(documents); i++) {
        FILE *f = fopen(documents[i], "r");
        if (!f)
            fail_msg("%s is missing", documents[i]);
        n += fread(all + n, 1, SIZE - 1 - n, f);
        fclose(f);
    }
    return all;
}

// Where the table marked <!-- NAME --> begins: at its first row, behind head and rule.
static const char *table(const char *name)
{
    char mark[64];
    snprintf(mark, sizeof mark, "<!-- %s -->\n", name);
    const char *at = strstr(text(), mark);
    if (!at)
        fail_msg("docs/ has no table <!-- %s -->", name);
    at += strlen(mark);
    for (unsigned i = 0; i < 2; i++)
        at = strchr(at, '\n') + 1;
    return at;
}

// Row number i of the table begins with `want`.
static void check_row(const char *name, size_t i, const char *want)
{
    const char *at = table(name);
    for (size_t n = 0; n < i && *at == '|'; n++)
        at = strchr(at, '\n') + 1;
    char line[1000];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    if (sq_is_without(line)) // the documents are of the whole tree
        return;
    if (strncmp(at, want, strlen(want)) != 0)
        fail_msg("docs/, table %s, row %zu is\n%s, need\n%s", name, i + 1, line, want);
}

static void check_end(const char *name, size_t n)
{
    const char *at = table(name);
    size_t rows = 0;
    for (; *at == '|'; at = strchr(at, '\n') + 1)
        rows++;
    CHECK_EQ(rows, n, "rows of table %s\n", name);
}

// ---- tables ---------------------------------------------------------------------------------

SQ_TEST(axes)
{
    for (size_t i = 0; i < SQ_N_AXES; i++) {
        const struct sq_axis *a = &sq_axes[i];
        char row[400];
        size_t n = (size_t)snprintf(row, sizeof row, "| `%s` | ", a->name);
        if (a->is_path)
            n += (size_t)snprintf(row + n, sizeof row - n, "paths");
        for (const char *const *c = a->choice; c && *c; c++)
            n += (size_t)snprintf(row + n, sizeof row - n, "%s%s", c == a->choice ? "" : ", ", *c);
        if (!a->is_path && !a->choice)
            n += (size_t)snprintf(row + n, sizeof row - n, "%g..%.8g", a->min, a->max);
        const char *fallback = a->fallback ? a->fallback : "";
        if (a->fallback && !*a->fallback)
            fallback = a->choice[0];
        snprintf(row + n, sizeof row - n, " | %s%s|", fallback, *fallback ? " " : "");
        check_row("axes", i, row);
    }
    check_end("axes", SQ_N_AXES);
}

SQ_TEST(derived_quantities)
{
    for (size_t i = SQ_N_AXES; i < SQ_N_QUANTITIES; i++) {
        char row[100];
        snprintf(row, sizeof row, "| `%s` |", sq_quantity_name((enum sq_quantity)i));
        check_row("derived", i - SQ_N_AXES, row);
    }
    check_end("derived", SQ_N_QUANTITIES - SQ_N_AXES);
}

SQ_TEST(measures)
{
    for (size_t i = 0; i < sq_n_measures; i++) {
        const struct sq_measure *m = &sq_measures[i];
        char row[300];
        snprintf(row, sizeof row, "| `%s` | %s | %s |", m->name, m->unit, m->basis);
        check_row("measures", i, row);
    }
    check_end("measures", sq_n_measures);
}

// The machine model has two causes of its own behind those of the core.
SQ_TEST(causes_and_streams)
{
    char row[100];
    for (size_t i = 0; i < SQ_N_UNIT_CAUSES; i++) {
        snprintf(row, sizeof row, "| `%s` |", sq_cause_name((enum sq_cause)i));
        check_row("causes", i, row);
    }
    check_end("causes", SQ_N_UNIT_CAUSES + 2);
    for (size_t i = 0; i < SQ_N_STREAMS; i++) {
        snprintf(row, sizeof row, "| `%s` |", sq_stream_name((enum sq_stream_id)i));
        check_row("streams", i, row);
    }
    check_end("streams", SQ_N_STREAMS);
}

// ---- database -------------------------------------------------------------------------------

// One blank for every run of blanks.
static void squeeze(char *s)
{
    char *to = s;
    for (const char *from = s; *from; from++)
        if (*from != ' ' || (to > s && to[-1] != ' '))
            *to++ = *from;
    *to = '\0';
}

SQ_TEST(schema)
{
    char dir[64];
    struct sq_sweep_db *db;
    sqlite3 *handle;
    sqlite3_stmt *s;
    const char *path = tmpdir_path(tmpdir_make(dir), "schema.db");
    assert_ok(sq_sweep_db_open(&db, path, true, NULL));
    sq_sweep_db_close(db);
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, "SELECT sql FROM sqlite_master WHERE sql NOT NULL",
                                        -1, &s, NULL),
                     SQLITE_OK);
    size_t n = 0;
    for (; sqlite3_step(s) == SQLITE_ROW; n++) {
        char row[600];
        snprintf(row, sizeof row, "%s;\n", (const char *)sqlite3_column_text(s, 0));
        squeeze(row);
        if (!strstr(text(), row))
            fail_msg("docs/files.md, schema, needs the line\n%s", row);
    }
    sqlite3_finalize(s);
    sqlite3_close(handle);
    size_t documented = 0;
    for (const char *at = text(); (at = strstr(at, "\nCREATE TABLE ")); at++)
        documented++;
    CHECK_EQ(documented, n, "tables of the database\n");
    tmpdir_remove(dir);
}
