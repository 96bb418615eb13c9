// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sq_sweep_db.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/io/sq_file.h"

enum { APPLICATION_ID = 0x53517377, BUSY_MS = 60000 }; // "SQsw"

enum statement { PUT, FIND, INTERN, DESCRIBE, SPEC, EACH, N_STATEMENTS };
static const char *const sql[N_STATEMENTS] = {
    [PUT] = "INSERT OR REPLACE INTO point VALUES(?1, ?2, ?3, ?4, "
            "(SELECT id FROM provenance WHERE text = ?5))",
    [FIND] = "SELECT sweep, parameters, key, measures, text FROM point JOIN provenance "
             "ON id = provenance WHERE sweep = ?1 AND parameters = ?2",
    [INTERN] = "INSERT OR IGNORE INTO provenance(text) VALUES(?1)",
    [DESCRIBE] = "INSERT OR REPLACE INTO sweep VALUES(?1, ?2, ?3)",
    [SPEC] = "SELECT title, spec FROM sweep WHERE name = ?1",
    [EACH] = "SELECT sweep, parameters, key, measures, text FROM point JOIN provenance "
             "ON id = provenance ORDER BY sweep, parameters",
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS sweep(name TEXT PRIMARY KEY, title TEXT NOT NULL, "
    "  spec TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS provenance(id INTEGER PRIMARY KEY, text TEXT UNIQUE NOT NULL);"
    "CREATE TABLE IF NOT EXISTS point(sweep TEXT NOT NULL, parameters TEXT NOT NULL, "
    "  key TEXT NOT NULL, measures TEXT NOT NULL, "
    "  provenance INTEGER NOT NULL REFERENCES provenance(id), "
    "  PRIMARY KEY(sweep, parameters)) WITHOUT ROWID;"
    "PRAGMA application_id = 1397846903; PRAGMA user_version = 2;";

struct sq_sweep_db {
    sqlite3 *handle;
    char *path;
    char *provenance; // the last text interned
    sqlite3_stmt *statement[N_STATEMENTS];
};

static enum sq_status fail(const struct sq_sweep_db *db, const char *verb, struct sq_error *err)
{
    const int code = sqlite3_errcode(db->handle), system = sqlite3_system_errno(db->handle);
    const bool is_io = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
    const char *why = is_io && system ? strerror(system) : sqlite3_errmsg(db->handle);
    return SQ_FAIL(err, code == SQLITE_NOMEM ? SQ_ERR_MEMORY : SQ_ERR_IO,
                   "cannot %s database '%s': %.100s", verb, sq_path_tail(db->path), why);
}

static bool is_done(struct sq_sweep_db *db, const char *text)
{
    return sqlite3_exec(db->handle, text, NULL, NULL, NULL) == SQLITE_OK;
}

// ---- open -----------------------------------------------------------------------------------

static int pragma(struct sq_sweep_db *db, const char *text)
{
    sqlite3_stmt *s;
    int value = -1;
    if (sqlite3_prepare_v2(db->handle, text, -1, &s, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_step(s) == SQLITE_ROW)
        value = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return value;
}

// Ours, or new and empty. Reads the file: damage shows here.
static enum sq_status check_kind(struct sq_sweep_db *db, bool *is_new, struct sq_error *err)
{
    const int tables = pragma(db, "SELECT count(*) FROM sqlite_master");
    if (tables < 0)
        return fail(db, "read", err);
    *is_new = tables == 0;
    if (tables > 0 && pragma(db, "PRAGMA application_id") != APPLICATION_ID)
        return SQ_FAIL(err, SQ_ERR_IO, "'%s' is no sweep database", sq_path_tail(db->path));
    if (tables > 0 && pragma(db, "PRAGMA user_version") != 2)
        return SQ_FAIL(err, SQ_ERR_IO, "'%s' is a sweep database of another version",
                       sq_path_tail(db->path));
    return SQ_OK;
}

static enum sq_status set_up(struct sq_sweep_db *db, bool create, struct sq_error *err)
{
    bool is_new = false;
    sqlite3_busy_timeout(db->handle, BUSY_MS);
    sqlite3_extended_result_codes(db->handle, 1);
    SQ_TRY(check_kind(db, &is_new, err));
    if (is_new && !create)
        return SQ_FAIL(err, SQ_ERR_IO, "'%s' is an empty database", sq_path_tail(db->path));
    if (create) {
        // Another process may be switching the same new file to WAL: the busy timeout does not
        // cover that.
        for (unsigned tries = 0; !is_done(db, "PRAGMA journal_mode = WAL"); tries++) {
            if ((sqlite3_errcode(db->handle) & 0xff) != SQLITE_BUSY || tries == 500)
                return fail(db, "write", err);
            usleep(20000);
        }
        // A commit survives the kill of the process; after a power cut the last ones may be gone,
        // the file is sound.
        if (!is_done(db, "PRAGMA synchronous = NORMAL"))
            return fail(db, "write", err);
        if (!is_done(db, "BEGIN IMMEDIATE") || !is_done(db, schema) || !is_done(db, "COMMIT"))
            return fail(db, "write", err);
    }
    for (unsigned i = 0; i < N_STATEMENTS; i++)
        if (sqlite3_prepare_v2(db->handle, sql[i], -1, &db->statement[i], NULL) != SQLITE_OK)
            return fail(db, "read", err);
    return SQ_OK;
}

static enum sq_status check_path(const char *path, bool create, struct sq_error *err)
{
    struct stat st;
    if (!*path)
        return SQ_FAIL(err, SQ_ERR_IO, "the name of the database is empty");
    if (stat(path, &st) != 0)
        return errno == ENOENT && create ? SQ_OK
                                         : SQ_FAIL(err, SQ_ERR_IO, "cannot open database '%s': %s",
                                                   sq_path_tail(path), strerror(errno));
    if (!S_ISREG(st.st_mode))
        return SQ_FAIL(err, SQ_ERR_IO, "cannot open database '%s': it is no regular file",
                       sq_path_tail(path));
    return SQ_OK;
}

enum sq_status sq_sweep_db_open(struct sq_sweep_db **out, const char *path, bool create,
                                struct sq_error *err)
{
    *out = NULL;
    SQ_TRY(check_path(path, create, err));
    const bool existed = access(path, F_OK) == 0;
    struct sq_sweep_db *db = calloc(1, sizeof *db);
    enum sq_status status = SQ_OK;
    if (!db || !(db->path = strdup(path)))
        status = SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for '%s'", sq_path_tail(path));
    const int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    if (status == SQ_OK && sqlite3_open_v2(path, &db->handle, flags, NULL) != SQLITE_OK)
        status = fail(db, "open", err);
    if (status == SQ_OK && create && sqlite3_db_readonly(db->handle, "main") == 1)
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot write database '%s': %s", sq_path_tail(path),
                         strerror(EACCES));
    if (status == SQ_OK)
        status = set_up(db, create, err);
    if (status == SQ_OK) {
        *out = db;
        return SQ_OK;
    }
    sq_sweep_db_close(db);
    struct stat st;
    if (!existed && stat(path, &st) == 0 && st.st_size == 0)
        unlink(path); // ours, and nothing in it
    return status;
}

void sq_sweep_db_close(struct sq_sweep_db *db)
{
    if (!db)
        return;
    for (unsigned i = 0; i < N_STATEMENTS; i++)
        sqlite3_finalize(db->statement[i]);
    sqlite3_close(db->handle);
    free(db->provenance);
    free(db->path);
    free(db);
}

// ---- rows -----------------------------------------------------------------------------------

// Runs a statement with up to five texts bound; false on failure. It is reset by the next use.
static int step(struct sq_sweep_db *db, enum statement which, unsigned n, const char *const *text)
{
    sqlite3_stmt *s = db->statement[which];
    sqlite3_reset(s);
    for (unsigned i = 0; i < n; i++)
        if (text[i])
            sqlite3_bind_text(s, (int)i + 1, text[i], -1, SQLITE_STATIC);
    return sqlite3_step(s);
}

static enum sq_status write_row(struct sq_sweep_db *db, enum statement which, unsigned n,
                                const char *const *text, struct sq_error *err)
{
    // A row still being read would pin this write to the state of then: busy as soon as another
    // process has written since.
    sqlite3_reset(db->statement[FIND]);
    const int code = step(db, which, n, text);
    const enum sq_status status = code == SQLITE_DONE ? SQ_OK : fail(db, "write", err);
    sqlite3_reset(db->statement[which]);
    return status;
}

enum sq_status sq_sweep_db_describe(struct sq_sweep_db *db, const char *name, const char *title,
                                    const char *spec, struct sq_error *err)
{
    return write_row(db, DESCRIBE, 3, (const char *const[]){name, title, spec}, err);
}

enum sq_status sq_sweep_db_put(struct sq_sweep_db *db, const struct sq_sweep_row *row,
                               struct sq_error *err)
{
    if (!db->provenance || strcmp(db->provenance, row->provenance) != 0) {
        SQ_TRY(write_row(db, INTERN, 1, &row->provenance, err));
        free(db->provenance);
        db->provenance = strdup(row->provenance);
    }
    char key[SQ_DIGEST_SIZE];
    sq_digest_hex(row->key, key);
    return write_row(
        db, PUT, 5,
        (const char *const[]){row->sweep, row->parameters, key, row->measures, row->provenance},
        err);
}

static const char *column(sqlite3_stmt *s, int i)
{
    const unsigned char *text = sqlite3_column_text(s, i);
    return text ? (const char *)text : "";
}

static enum sq_status row_of(const struct sq_sweep_db *db, sqlite3_stmt *s,
                             struct sq_sweep_row *row, struct sq_error *err)
{
    struct sq_digest key;
    if (!sq_digest_parse(column(s, 2), &key))
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "'%s' is damaged: key of %.30s %.80s",
                       sq_path_tail(db->path), column(s, 0), column(s, 1));
    *row = (struct sq_sweep_row){column(s, 0), column(s, 1), key, column(s, 3), column(s, 4)};
    return SQ_OK;
}

enum sq_status sq_sweep_db_find(struct sq_sweep_db *db, const char *sweep, const char *parameters,
                                struct sq_sweep_row *row, bool *found, struct sq_error *err)
{
    const int code = step(db, FIND, 2, (const char *const[]){sweep, parameters});
    *found = code == SQLITE_ROW;
    if (code == SQLITE_ROW)
        SQ_TRY(row_of(db, db->statement[FIND], row, err));
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQ_OK : fail(db, "read", err);
}

enum sq_status sq_sweep_db_each(struct sq_sweep_db *db, sq_sweep_db_visit *visit, void *context,
                                struct sq_error *err)
{
    enum sq_status status = SQ_OK;
    int code = step(db, EACH, 0, NULL);
    for (; status == SQ_OK && code == SQLITE_ROW; code = sqlite3_step(db->statement[EACH])) {
        struct sq_sweep_row row;
        status = row_of(db, db->statement[EACH], &row, err);
        if (status == SQ_OK)
            status = visit(context, &row, err);
    }
    if (status == SQ_OK && code != SQLITE_DONE)
        status = fail(db, "read", err);
    sqlite3_reset(db->statement[EACH]);
    return status;
}

enum sq_status sq_sweep_db_spec(struct sq_sweep_db *db, const char *sweep, char **title,
                                char **spec, struct sq_error *err)
{
    *title = *spec = NULL;
    const int code = step(db, SPEC, 1, &sweep);
    if (code == SQLITE_ROW) {
        *title = strdup(column(db->statement[SPEC], 0));
        *spec = strdup(column(db->statement[SPEC], 1));
    } else if (code != SQLITE_DONE) {
        return fail(db, "read", err);
    }
    sqlite3_reset(db->statement[SPEC]);
    return SQ_OK;
}

// ---- merge ----------------------------------------------------------------------------------

struct merge {
    struct sq_sweep_db *into, *from;
    uint64_t added;
    char *described; // the sweep of the last row
};

static enum sq_status merge_sweep(struct merge *m, const char *sweep, struct sq_error *err)
{
    char *title, *spec;
    if (m->described && strcmp(m->described, sweep) == 0)
        return SQ_OK;
    free(m->described);
    m->described = strdup(sweep);
    SQ_TRY(sq_sweep_db_spec(m->from, sweep, &title, &spec, err));
    const enum sq_status status =
        title && spec ? sq_sweep_db_describe(m->into, sweep, title, spec, err) : SQ_OK;
    free(title);
    free(spec);
    return status;
}

static enum sq_status merge_row(void *context, const struct sq_sweep_row *row, struct sq_error *err)
{
    struct merge *m = context;
    struct sq_sweep_row old;
    bool found;
    SQ_TRY(merge_sweep(m, row->sweep, err));
    SQ_TRY(sq_sweep_db_find(m->into, row->sweep, row->parameters, &old, &found, err));
    if (found &&
        (!sq_digest_is_equal(old.key, row->key) || strcmp(old.measures, row->measures) != 0))
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "'%s' holds another result of %.30s %.80s: other code or inputs",
                       sq_path_tail(m->from->path), row->sweep, row->parameters);
    if (found)
        return SQ_OK;
    m->added++;
    return sq_sweep_db_put(m->into, row, err);
}

enum sq_status sq_sweep_db_merge(struct sq_sweep_db *db, const char *path, uint64_t *added,
                                 struct sq_error *err)
{
    struct merge m = {.into = db};
    SQ_TRY(sq_sweep_db_open(&m.from, path, false, err));
    enum sq_status status = is_done(db, "BEGIN IMMEDIATE") ? SQ_OK : fail(db, "write", err);
    if (status == SQ_OK)
        status = sq_sweep_db_each(m.from, merge_row, &m, err);
    sqlite3_reset(db->statement[FIND]);
    if (status == SQ_OK && !is_done(db, "COMMIT"))
        status = fail(db, "write", err);
    if (status != SQ_OK) {
        (void)is_done(db, "ROLLBACK");
        free(db->provenance); // it may have been rolled back
        db->provenance = NULL;
    }
    sq_sweep_db_close(m.from);
    free(m.described);
    *added = m.added;
    return status;
}
