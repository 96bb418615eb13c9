// SPDX-License-Identifier: Apache-2.0
// Sweep databases. First byte, bit 0: the rest is rows for a new database, each of five texts that
// end with a zero byte: sweep, parameters, key (its first bytes), measures, provenance; else a
// database. Bit 1: each function of sq_sweep_db.h, else reports, pages, tables and comparison.
#include <jansson.h>
#include <sqlite3.h>

#include "sim/sweep/sq_report.h"
#include "sim/sweep/sq_sweep_export.h"
#include "tests/fuzz/fuzz.h"

static const char page[] = "@POLICY@<style></style>[[@DATA@]]@D3@<script></script>";

static enum sq_status visit(void *context, const struct sq_sweep_row *row, struct sq_error *err)
{
    (void)context;
    (void)err;
    fuzz_sink +=
        strlen(row->sweep) + strlen(row->parameters) + strlen(row->measures) + row->key.low;
    return SQ_OK;
}

// JSON that was written is JSON: results.json and the part of the page between the marks.
static void check_pages(void)
{
    size_t n;
    const char *text = (const char *)fuzz_written("mem/report/results.json", &n);
    json_t *json = json_loadb(text, n, 0, NULL);
    FUZZ_CHECK(json_is_array(json));
    json_decref(json);
    text = (const char *)fuzz_written("mem/report/index.html", &n);
    static const char first[] = "<style></style>[[", last[] = "]]!function("; // D3 begins so
    const char *data = memmem(text, n, first, sizeof first - 1);
    FUZZ_CHECK(data);
    data += sizeof first - 1;
    json_error_t
        end; // a name may hold any text, that of the marks as well: where JSON ends, they are
    json = json_loadb(data, n - (size_t)(data - text), JSON_DISABLE_EOF_CHECK, &end);
    FUZZ_CHECK(json_is_object(json));
    const size_t nbytes = (size_t)end.position;
    FUZZ_CHECK(memcmp(data + nbytes, last, sizeof last - 1) == 0);
    FUZZ_CHECK(memchr(data, '<', nbytes) == NULL);
    json_decref(json);
}

static void report(void)
{
    struct sq_report r;
    struct sq_changes c;
    struct sq_error err;
    char *text;
    size_t n;
    if (!fuzz_ok(sq_report_load(&r, FUZZ_FILE, NULL, &err), &err))
        return;
    if (!fuzz_ok(sq_report_hide_stale(&r, "mem", &err), &err)) {
        sq_report_free(&r);
        return;
    }
    FILE *out = open_memstream(&text, &n);
    FUZZ_CHECK(out && r.n_sweeps > 0);
    fuzz_ok(sq_report_text(&r, out, &err), &err);
    fclose(out);
    free(text);
    if (fuzz_ok(sq_report_write(&r, "mem/report", "mem/page", &err), &err))
        check_pages();
    if (fuzz_ok(sq_report_compare(&r, &r, &c, &err), &err))
        FUZZ_CHECK(c.only_a == 0 && c.only_b == 0 && c.changed == 0 && c.n_measures == 0);
    sq_report_free(&r);
}

// Everything a database's own functions do, merging with a copy of itself at last.
static void rows(struct sq_sweep_db *db)
{
    struct sq_sweep_row row;
    struct sq_error err;
    bool found;
    uint64_t added;
    char *title, *spec;
    fuzz_ok(sq_sweep_db_each(db, visit, NULL, &err), &err);
    fuzz_ok(sq_sweep_db_find(db, "s", "{}", &row, &found, &err), &err);
    fuzz_ok(sq_sweep_db_spec(db, "s", &title, &spec, &err), &err);
    free(title);
    free(spec);
    fuzz_ok(sq_sweep_db_merge(db, FUZZ_FILE, &added, &err), &err);
}

// The rows of the input into a new database.
static void put_rows(const char *path, struct fuzz_reader *r)
{
    struct sq_sweep_db *db;
    struct sq_error err;
    char *text = fuzz_text(r), *const end = text + r->n;
    FUZZ_CHECK(sq_sweep_db_open(&db, path, true, &err) == SQ_OK);
    for (char *at = text; at < end;) {
        const char *part[5] = {"", "{}", "", "{}", "{}"};
        struct sq_digest key = {0};
        for (size_t i = 0; i < 5 && at < end; i++, at += strlen(at) + 1)
            part[i] = at;
        memcpy(&key, part[2], strnlen(part[2], sizeof key));
        const struct sq_sweep_row row = {part[0], part[1], key, part[3], part[4]};
        fuzz_ok(sq_sweep_db_put(db, &row, &err), &err);
        fuzz_ok(sq_sweep_db_describe(db, part[0], part[1], part[4], &err), &err);
    }
    sq_sweep_db_close(db);
    free(text);
}

static void run(const uint8_t *data, size_t n)
{
    struct fuzz_reader r = {data, n};
    struct sq_sweep_db *db;
    struct sq_error err;
    const unsigned mode = fuzz_byte(&r);
    fuzz_forget();
    fuzz_forget_written();
    fuzz_file("mem/page", page, sizeof page - 1);
    if (mode & 1)
        put_rows(FUZZ_FILE, &r);
    else
        fuzz_file(FUZZ_FILE, r.data, r.n);
    if (!(mode & 2)) {
        report();
        return;
    }
    if (fuzz_ok(sq_sweep_db_open(&db, FUZZ_FILE, false, &err), &err))
        rows(db);
    sq_sweep_db_close(db);
}

// SQLite's own memory needs no check of every access, only that all of it comes back.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static bool is_set_up;
    if (!is_set_up)
        fuzz_sqlite_memory();
    is_set_up = true;
    run(data, n);
    FUZZ_CHECK(sqlite3_memory_used() == 0);
    return 0;
}
