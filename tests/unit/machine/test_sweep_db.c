// SPDX-License-Identifier: Apache-2.0
// The database of sweeps: rows in and out, replaced and merged; two connections at once; what is no
// sweep database. Directed; the kills, full disks and crowds are in tests/cli/sweep.t. Also the
// engines' determinism: a small sweep on one and on four threads gives equal rows.
#include <sqlite3.h>

#include "sim/sweep/sq_report.h"
#include "sim/sweep/sq_sweep.h"
#include "sim/sweep/sq_sweep_export.h"
#include "tests/unit/tmpdir.h"

static struct sq_sweep_db *open_db(const char *path)
{
    struct sq_sweep_db *db;
    struct sq_error err;
    if (sq_sweep_db_open(&db, path, true, &err) != SQ_OK ||
        sq_sweep_db_describe(db, "s", "title", "spec", &err) != SQ_OK)
        fail_msg("%s", err.text);
    return db;
}

static void put(struct sq_sweep_db *db, const char *parameters, uint64_t key, const char *measures)
{
    struct sq_error err;
    const struct sq_sweep_row row = {"s", parameters, {key, ~key}, measures, "{\"data\":\"test\"}"};
    if (sq_sweep_db_put(db, &row, &err) != SQ_OK)
        fail_msg("%s", err.text);
}

// The measures of the row, "" where there is none.
static const char *get(struct sq_sweep_db *db, const char *parameters, uint64_t *key)
{
    struct sq_sweep_row row;
    bool found;
    assert_ok(sq_sweep_db_find(db, "s", parameters, &row, &found, NULL));
    *key = found ? row.key.low : 0;
    if (found)
        assert_true(row.key.high == ~row.key.low);
    if (found)
        assert_string_equal(row.provenance, "{\"data\":\"test\"}");
    return found ? row.measures : "";
}

SQ_TEST(test_rows)
{
    char dir[64];
    uint64_t key;
    tmpdir_make(dir);
    const char *path = tmpdir_path(dir, "a.db");
    struct sq_sweep_db *db = open_db(path), *other = open_db(path);
    assert_string_equal(get(db, "{\"a\":1}", &key), "");
    put(db, "{\"a\":1}", UINT64_C(0xfedcba9876543210), "{\"x\":1}"); // all 64 bits of the key
    put(other, "{\"a\":2}", 7, "{\"x\":2}");
    // A row being read does not stop a write, even after another connection has written.
    assert_string_equal(get(db, "{\"a\":2}", &key), "{\"x\":2}");
    put(other, "{\"a\":3}", 7, "{\"x\":3}");
    put(db, "{\"a\":2}", 8, "{\"x\":4}"); // replaces
    assert_string_equal(get(other, "{\"a\":2}", &key), "{\"x\":4}");
    assert_int_equal(key, 8);
    assert_string_equal(get(other, "{\"a\":1}", &key), "{\"x\":1}");
    assert_true(key == UINT64_C(0xfedcba9876543210));
    sq_sweep_db_close(other);
    sq_sweep_db_close(db);
    tmpdir_remove(dir);
}

static enum sq_status count_row(void *context, const struct sq_sweep_row *row, struct sq_error *err)
{
    (void)row, (void)err;
    ++*(unsigned *)context;
    return SQ_OK;
}

SQ_TEST(test_merge)
{
    char dir[64];
    uint64_t key, added;
    struct sq_error err;
    unsigned n = 0;
    tmpdir_make(dir);
    const char *path_b = tmpdir_path(dir, "b.db");
    struct sq_sweep_db *a = open_db(tmpdir_path(dir, "a.db")), *b = open_db(path_b);
    put(a, "{\"a\":1}", 1, "{\"x\":1}");
    put(a, "{\"a\":2}", 1, "{\"x\":2}");
    put(b, "{\"a\":2}", 1, "{\"x\":2}");
    put(b, "{\"a\":3}", 1, "{\"x\":3}");
    assert_ok(sq_sweep_db_merge(a, path_b, &added, &err));
    assert_int_equal(added, 1);
    assert_string_equal(get(a, "{\"a\":3}", &key), "{\"x\":3}");
    // One contradiction, and nothing of b is taken, not even what comes before it.
    put(b, "{\"a\":0}", 1, "{\"x\":0}");
    put(b, "{\"a\":3}", 2, "{\"x\":3}");
    check_refused(sq_sweep_db_merge(a, path_b, &added, &err), SQ_ERR_RANGE, &err, "another result");
    assert_string_equal(get(a, "{\"a\":0}", &key), "");
    put(a, "{\"a\":9}", 1, "{\"x\":9}"); // a is still of use
    assert_ok(sq_sweep_db_each(a, count_row, &n, &err));
    assert_int_equal(n, 4);
    sq_sweep_db_close(a);
    sq_sweep_db_close(b);
    tmpdir_remove(dir);
}

static void sql(const char *path, const char *text)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

// A second row whose text differs behind a NUL only: by its digest it is the first once more.
SQ_TEST(test_rows_with_a_nul)
{
    static const char *const insert[] = {
        "INSERT INTO point SELECT sweep, CAST(parameters || x'0061' AS TEXT), key, measures, "
        "provenance, digest FROM point",
        "INSERT INTO point SELECT CAST(sweep || x'00' AS TEXT), parameters, key, measures, "
        "provenance, digest FROM point",
        "INSERT INTO point SELECT CAST(sweep AS BLOB), parameters, key, measures, provenance, "
        "digest FROM point",
        "UPDATE point SET measures = CAST(measures || x'0061' AS TEXT)"};
    for (size_t i = 0; i < LEN(insert); i++) {
        char dir[64];
        struct sq_error err;
        uint64_t added;
        unsigned n = 0;
        tmpdir_make(dir);
        const char *path = tmpdir_path(dir, "a.db");
        struct sq_sweep_db *db = open_db(path), *into = open_db(tmpdir_path(dir, "b.db"));
        put(db, "{\"a\":1}", 1, "{\"x\":1}");
        sql(path, insert[i]);
        check_refused(sq_sweep_db_each(db, count_row, &n, &err), SQ_ERR_DAMAGED, &err,
                      "does not match its digest");
        assert_true(n <= 1);
        check_refused(sq_sweep_db_merge(into, path, &added, &err), SQ_ERR_DAMAGED, &err,
                      "does not match its digest");
        sq_sweep_db_close(into);
        sq_sweep_db_close(db);
        tmpdir_remove(dir);
    }
}

// A text of a row that is not what was written: no reader takes it, a new row heals it.
SQ_TEST(test_damaged_rows)
{
    static const struct {
        const char *change, *says;
        bool is_spec;
    } c[] = {
        {"UPDATE point SET measures = '{\"x\":3}'", "point {\"a\":1} of s does not match its", 0},
        {"UPDATE point SET key = '00000000000000010000000000000001'", "does not match", 0},
        {"UPDATE point SET parameters = '{\"a\":3}'", "point {\"a\":3} of s does not match", 0},
        {"UPDATE point SET sweep = 'r'", "point {\"a\":1} of r does not match", 0},
        {"UPDATE point SET digest = ''", "does not match its digest", 0},
        {"UPDATE point SET provenance = 7", "does not match its digest", 0},
        {"UPDATE provenance SET text = '{}'", "does not match its digest", 0},
        {"UPDATE sweep SET title = 'another'", "specification of s does not match", 1},
        {"UPDATE sweep SET spec = 'another'", "specification of s does not match", 1},
        {"UPDATE sweep SET digest = 'another'", "specification of s does not match", 1},
        {"UPDATE sweep SET name = 'r'", "specification of s is missing", 1},
    };
    for (size_t i = 0; i < LEN(c); i++) {
        char dir[64], *title, *spec;
        struct sq_error err;
        uint64_t added, key;
        unsigned n = 0;
        tmpdir_make(dir);
        const char *path = tmpdir_path(dir, "a.db");
        struct sq_sweep_db *db = open_db(path), *into = open_db(tmpdir_path(dir, "b.db"));
        put(db, "{\"a\":1}", 1, "{\"x\":1}");
        sq_sweep_db_close(db);
        sql(path, c[i].change);
        assert_ok(sq_sweep_db_open(&db, path, false, &err));
        if (c[i].is_spec)
            check_refused(sq_sweep_db_spec(db, "s", &title, &spec, &err), SQ_ERR_DAMAGED, &err,
                          c[i].says);
        else
            check_refused(sq_sweep_db_each(db, count_row, &n, &err), SQ_ERR_DAMAGED, &err,
                          c[i].says);
        assert_int_equal(n, 0);
        check_refused(sq_sweep_db_merge(into, path, &added, &err), SQ_ERR_DAMAGED, &err, c[i].says);
        assert_ok(sq_sweep_db_each(into, count_row, &n, &err));
        assert_int_equal(n, 0); // nothing was taken
        sq_sweep_db_close(db);
        db = open_db(path); // describes the sweep
        put(db, "{\"a\":1}", 1, "{\"x\":1}");
        assert_string_equal(get(db, "{\"a\":1}", &key), "{\"x\":1}");
        assert_ok(sq_sweep_db_spec(db, "s", &title, &spec, &err));
        assert_string_equal(title, "title");
        assert_string_equal(spec, "spec");
        free(title);
        free(spec);
        sq_sweep_db_close(db);
        sq_sweep_db_close(into);
        tmpdir_remove(dir);
    }
}

SQ_TEST(test_fields)
{
    struct sq_fields f;
    struct sq_error err;
    assert_ok(sq_fields_read(&f, "{\"a\":3,\"b\":\"x,y\",\"c\":0.25,\"d\":null}", &err));
    assert_int_equal(f.n, 4);
    assert_string_equal(f.field[0].text, "3");
    assert_string_equal(f.field[1].text, "x,y");
    assert_false(f.field[1].is_number);
    assert_string_equal(f.field[2].text, "0.25");
    assert_true(f.field[2].value == 0.25);
    assert_string_equal(f.field[3].text, "");
    sq_fields_free(&f);
    check_refused(sq_fields_read(&f, "[1]", &err), SQ_ERR_DAMAGED, &err, "no flat object");
    check_refused(sq_fields_read(&f, "{\"a\":", &err), SQ_ERR_DAMAGED, &err, "no flat object");
    check_refused(sq_fields_read(&f, "{\"__proto__\":1}", &err), SQ_ERR_DAMAGED, &err,
                  "begins with __");
}

// No cell is a formula of a spreadsheet; numbers stay.
SQ_TEST(test_cells)
{
    static const struct sq_sweep_row row = {
        "s",
        "{\"=a\":\"=1+1\",\"b\":\"@x,y\",\"c\":\"-2\",\"d\":\"-x\",\"e\":\"+\\\"q\"}",
        {0, 0},
        "{\"f\":-1.5,\"g\":\"\\tx\"}",
        "{}"};
    struct sq_error err;
    char *text = NULL;
    size_t n;
    struct sq_csv csv = {.out = open_memstream(&text, &n)};
    assert_ok(sq_csv_row(&csv, &row, &err));
    fclose(csv.out);
    sq_csv_free(&csv);
    assert_string_equal(text, "'=a,b,c,d,e,f,g\n'=1+1,\"'@x,y\",-2,'-x,\"'+\"\"q\",-1.5,'\tx\n");
    free(text);
}

// ---- running ----------------------------------------------------------------------------------

// Changes of two drawn databases, counted point by point; the largest of a measure is in units of the old value.
SQ_TEST(test_changes)
{
    static char order[][2] = {"0", "1", "2", "3", "4", "5"};
    enum { N = LEN(order) };
    struct sq_rng r = {fixture_seed()};
    for (unsigned i = 0; i < 200; i++) {
        char text[2][N][24];
        struct sq_report_row row[2][N];
        struct sq_report_sweep sweep[2] = {{.name = (char[]){"s"}, .row = row[0]},
                                           {.name = (char[]){"s"}, .row = row[1]}};
        const struct sq_report report[2] = {{1, &sweep[0]}, {1, &sweep[1]}};
        unsigned n[4] = {0}; // of a alone, of b alone, equal, changed
        double most = 0;
        struct sq_changes c;
        for (unsigned j = 0; j < N; j++) {
            const unsigned has = 1 + sq_rng_below(&r, 3);
            const double v[2] = {1 + sq_rng_below(&r, 9), 1 + sq_rng_below(&r, 9)};
            for (unsigned s = 0; s < 2; s++) {
                snprintf(text[s][j], sizeof text[s][j], "{\"x\":%g}", v[s]);
                if (has >> s & 1)
                    row[s][sweep[s].n_rows++] =
                        (struct sq_report_row){.order = order[j], .measures = text[s][j]};
            }
            n[has < 3 ? has - 1 : 2 + (v[0] != v[1])]++;
            most = has == 3 ? fmax(most, fabs(v[1] - v[0]) / v[0]) : most;
        }
        assert_ok(sq_report_compare(&report[0], &report[1], &c, NULL));
        assert_true(c.only_a == n[0] && c.only_b == n[1] && c.same == n[2] && c.changed == n[3]);
        assert_true(n[3] == 0 || (c.measure[0].n == n[3] && c.measure[0].relative == most));
    }
}

SQ_TEST(test_threads)
{
    static const char text[] = "name: t\naxes: {n: [100], k: [64..2048*2], bank: [8..128*2],\n"
                               "  m: [1, 33], sparsity: [0.5, 0.75]}\nmeasures: [cycles, causes]\n";
    char dir[64];
    struct sq_error err;
    struct sq_sweep_grid s;
    struct sq_sweep_count count;
    uint64_t added;
    tmpdir_make(dir);
    assert_ok(sq_sweep_grid_parse(&s, text, strlen(text), "t", ".", &err));
    struct sq_sweep_options o = {.db = tmpdir_path(dir, "one.db"),
                                 .home = ".",
                                 .cache = dir,
                                 .code = "c",
                                 .provenance = "\"tool\":\"test\"",
                                 .jobs = 1,
                                 .n_shards = 1};
    assert_ok(sq_sweep_run(&s, &o, &count, &err));
    assert_int_equal(count.computed, s.n_points);
    // The other half of the points by four threads, then all: equal rows, or merge would refuse.
    o.db = tmpdir_path(dir, "four.db");
    o.jobs = 4;
    o.shard = 1;
    o.n_shards = 2;
    assert_ok(sq_sweep_run(&s, &o, &count, &err));
    assert_int_equal(count.computed, s.n_points / 2);
    o.shard = 0;
    o.n_shards = 1;
    assert_ok(sq_sweep_run(&s, &o, &count, &err));
    assert_int_equal(count.cached, s.n_points / 2);
    struct sq_sweep_db *db = open_db(o.db);
    assert_ok(sq_sweep_db_merge(db, tmpdir_path(dir, "one.db"), &added, &err));
    assert_int_equal(added, 0);
    sq_sweep_db_close(db);
    o.code = "other code"; // everything is out of date
    assert_ok(sq_sweep_run(&s, &o, &count, &err));
    assert_int_equal(count.computed, s.n_points);
    sq_sweep_grid_free(&s);
    tmpdir_remove(dir);
}

// ---- text -----------------------------------------------------------------------------------------

enum { POINTS = 60 };

static bool beats(const unsigned a[3], const unsigned b[3], unsigned x)
{
    return a[0] <= b[0] && a[x] <= b[x] && (a[0] < b[0] || a[x] < b[x]);
}

// The points on the front of relative_error and measure x, and those that the text says.
static void check_front(const char *text, const char *head, unsigned v[POINTS][3], unsigned x)
{
    unsigned n = 0, of[3];
    for (unsigned i = 0, k; i < POINTS; i++, n += k == POINTS)
        for (k = 0; k < POINTS && !beats(v[k], v[i], x); k++)
            ;
    const char *line = strstr(text, head);
    assert_non_null(line);
    line = strchr(line + strlen(head), '\n') + 1;
    for (; *line != '\n'; line = strchr(line, '\n') + 1, n--) {
        assert_int_equal(sscanf(line, "%u %u", &of[0], &of[x]), 2);
        for (unsigned k = 0; k < POINTS; k++)
            assert_false(beats(v[k], of, x));
    }
    assert_int_equal(n, 0);
}

// Drawn points, many of them equal: fronts and maps are those of all points, looked at one by one.
SQ_TEST(summaries_are_those_of_the_points)
{
    struct sq_rng rng = {fixture_seed()};
    struct sq_report_row row[POINTS] = {{0}};
    unsigned v[POINTS][3], least[2][2] = {{99, 99}, {99, 99}}, got[4];
    char parameters[POINTS][64], measures[POINTS][96], none[] = "{}", name[] = "s", *text = NULL;
    for (unsigned i = 0; i < POINTS; i++) {
        for (unsigned m = 0; m < 3; m++)
            v[i][m] = 1 + sq_rng_below(&rng, 5 + m);
        unsigned *const cell = &least[i % 2][i % 3 == 0];
        *cell = v[i][1] < *cell ? v[i][1] : *cell;
        snprintf(parameters[i], 64, "{\"bank\":%u,\"sparsity\":%g,\"i\":%u}", 16u << i % 2,
                 i % 3 ? .5 : .75, i);
        snprintf(measures[i], 96, "{\"relative_error\":%u,\"cycles\":%u,\"stored_bits\":%u}",
                 v[i][0], v[i][1], v[i][2]);
        row[i] = (struct sq_report_row){
            .parameters = parameters[i], .measures = measures[i], .provenance = none, .pair = none};
    }
    struct sq_report_pair one = {.of = none, .n_rows = POINTS};
    struct sq_report_sweep s = {
        .name = name, .n_rows = POINTS, .row = row, .n_pairs = 1, .pair = &one};
    size_t n;
    FILE *out = open_memstream(&text, &n);
    assert_ok(sq_report_text(&(struct sq_report){1, &s}, out, NULL));
    fclose(out);
    check_front(text, "Pareto front of relative_error and cycles\n", v, 1);
    check_front(text, "Pareto front of relative_error and stored_bits\n", v, 2);
    const char *const map = strstr(text, "cycles, smallest of each bank and sparsity\n");
    assert_int_equal(
        sscanf(strstr(map, " 16 "), " 16 %u %u - - 32 %u %u", &got[0], &got[1], &got[2], &got[3]),
        4);
    assert_memory_equal(got, least, sizeof got);
    free(text);
}
