// SPDX-License-Identifier: Apache-2.0
// Writes and reads points in SQLite, and refuses files that are no such database (sq_sweep_db.h).
#include "sim/sweep/sq_sweep_db.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/io/sq_file.h"

enum { APPLICATION_ID = 0x53517377, VERSION = 2, BUSY_MS = 60000 }; // "SQsw"

enum statement { PUT, FIND, INTERN, DESCRIBE, SPEC, EACH, N_STATEMENTS };
static const char *const sql[N_STATEMENTS] = {
    [PUT] = "INSERT OR REPLACE INTO point VALUES(?1, ?2, ?3, ?4, "
            "(SELECT id FROM provenance WHERE text = ?5), ?6)",
    [FIND] = "SELECT sweep, parameters, key, measures, text, digest FROM point LEFT JOIN "
             "provenance ON id = provenance WHERE sweep = ?1 AND parameters = ?2",
    [INTERN] = "INSERT OR IGNORE INTO provenance(text) VALUES(?1)",
    [DESCRIBE] = "INSERT OR REPLACE INTO sweep VALUES(?1, ?2, ?3, ?4)",
    [SPEC] = "SELECT name, title, spec, digest FROM sweep WHERE name = ?1",
    [EACH] = "SELECT sweep, parameters, key, measures, text, digest FROM point LEFT JOIN "
             "provenance ON id = provenance ORDER BY sweep, parameters",
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS sweep(name TEXT PRIMARY KEY, title TEXT NOT NULL, "
    "  spec TEXT NOT NULL, digest TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS provenance(id INTEGER PRIMARY KEY, text TEXT UNIQUE NOT NULL);"
    "CREATE TABLE IF NOT EXISTS point(sweep TEXT NOT NULL, parameters TEXT NOT NULL, "
    "  key TEXT NOT NULL, measures TEXT NOT NULL, "
    "  provenance INTEGER NOT NULL REFERENCES provenance(id), digest TEXT NOT NULL, "
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

static const char *column(sqlite3_stmt *s, int i)
{
    const unsigned char *text = sqlite3_column_text(s, i);
    return text ? (const char *)text : "";
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
    const int version = tables > 0 ? pragma(db, "PRAGMA user_version") : VERSION;
    if (version != VERSION)
        return SQ_FAIL(
            err, SQ_ERR_IO,
            "'%s' is a sweep database of version %d, need %d: run the sweep into a new one",
            sq_path_tail(db->path), version, VERSION);
    return SQ_OK;
}

static bool says_ok(struct sq_sweep_db *db, const char *text)
{
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(db->handle, text, -1, &s, NULL) != SQLITE_OK)
        return false;
    const bool is_ok = sqlite3_step(s) == SQLITE_ROW && strcmp(column(s, 0), "ok") == 0;
    sqlite3_finalize(s);
    return is_ok;
}

// A page that lost or repeats a row, two tables in one page, an index that is not its table's: the
// digests of rows cannot tell. Of our tables only provenance has an index beside it.
static enum sq_status check_pages(struct sq_sweep_db *db, struct sq_error *err)
{
    if (!says_ok(db, "PRAGMA quick_check(1)") || !says_ok(db, "PRAGMA integrity_check(provenance)"))
        return SQ_FAIL(err, SQ_ERR_DAMAGED,
                       "'%s' is damaged: its pages contradict each other; delete it and run its "
                       "sweeps again",
                       sq_path_tail(db->path));
    return SQ_OK;
}

// What a database holds beside rows, object by object.
static const char objects[] =
    "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master ORDER BY name, type";

// Steps through the objects of both as long as they are the same; `name`: the first that is not.
static bool has_objects(sqlite3_stmt *have, sqlite3_stmt *want, char name[64])
{
    for (;;) {
        const bool is_row = sqlite3_step(have) == SQLITE_ROW;
        if ((sqlite3_step(want) == SQLITE_ROW) != is_row) {
            snprintf(name, 64, "%.60s", column(is_row ? have : want, 1));
            return false;
        }
        for (int i = 0; is_row && i < 4; i++)
            if (sqlite3_column_bytes(have, i) != sqlite3_column_bytes(want, i) ||
                strcmp(column(have, i), column(want, i)) != 0) {
                snprintf(name, 64, "%.60s", column(have, 1));
                return false;
            }
        if (!is_row)
            return true;
    }
}

// The schema is ours byte by byte: an index, a constraint or a trigger of somebody else would drop
// rows that we write.
static enum sq_status check_schema(struct sq_sweep_db *db, struct sq_error *err)
{
    struct sq_sweep_db ours = {.path = db->path};
    sqlite3_stmt *have = NULL, *want = NULL;
    enum sq_status status = SQ_OK;
    char name[64];
    if (sqlite3_open(":memory:", &ours.handle) != SQLITE_OK || !is_done(&ours, schema) ||
        sqlite3_prepare_v2(ours.handle, objects, -1, &want, NULL) != SQLITE_OK)
        status = fail(&ours, "compare", err);
    else if (sqlite3_prepare_v2(db->handle, objects, -1, &have, NULL) != SQLITE_OK)
        status = fail(db, "read", err);
    else if (!has_objects(have, want, name))
        status = SQ_FAIL(err, SQ_ERR_IO,
                         "'%s' has another schema than sqsim writes: %s; run the sweep into a new "
                         "database",
                         sq_path_tail(db->path), name);
    sqlite3_finalize(have);
    sqlite3_finalize(want);
    sqlite3_close(ours.handle);
    return status;
}

static enum sq_status set_up(struct sq_sweep_db *db, bool create, struct sq_error *err)
{
    bool is_new = false;
    SQ_TRY(check_kind(db, &is_new, err));
    if (is_new && !create)
        return SQ_FAIL(err, SQ_ERR_IO, "'%s' is an empty database", sq_path_tail(db->path));
    if (!is_new) {
        SQ_TRY(check_schema(db, err));
        SQ_TRY(check_pages(db, err));
    }
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
        SQ_TRY(check_schema(db, err)); // what another process may have made meanwhile as well
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

// A database of somebody else may hold triggers, views and functions in its schema: none of them
// runs, and none of our statements can damage the file.
static bool is_tame(sqlite3 *handle)
{
    static const int option[][2] = {{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                    {SQLITE_DBCONFIG_DEFENSIVE, 1}};
    for (size_t i = 0; i < sizeof option / sizeof option[0]; i++) {
        int now = -1;
        if (sqlite3_db_config(handle, option[i][0], option[i][1], &now) != SQLITE_OK ||
            now != option[i][1])
            return false;
    }
    return true;
}

static bool is_open(struct sq_sweep_db *db, const char *name, int flags)
{
    if (sqlite3_open_v2(name, &db->handle, flags, NULL) != SQLITE_OK)
        return false;
    sqlite3_busy_timeout(db->handle, BUSY_MS);
    sqlite3_extended_result_codes(db->handle, 1);
    return is_tame(db->handle) && is_done(db, "PRAGMA cell_size_check = ON");
}

// The path as a URI of a file that nobody writes: SQLite then needs no files beside it. The caller
// frees it.
static char *immutable_uri(const char *path)
{
    static const char tail[] = "?immutable=1";
    char *uri = malloc(strlen("file:") + 3 * strlen(path) + sizeof tail), *at = uri;
    if (!uri)
        return NULL;
    at += sprintf(at, "file:");
    for (; *path; path++)
        at += sprintf(at, strchr("%?#", *path) ? "%%%02X" : "%c", (unsigned char)*path);
    strcpy(at, tail);
    return uri;
}

// A database in WAL mode where neither it nor files beside it can be written.
static enum sq_status open_read_only(struct sq_sweep_db *db, struct sq_error *err)
{
    struct stat st;
    SQ_FREED char *log = NULL, *uri = immutable_uri(db->path);
    if (asprintf(&log, "%s-wal", db->path) < 0)
        log = NULL;
    enum sq_status status = SQ_OK;
    if (!log || !uri)
        status = SQ_NO_MEMORY(err, "'%s'", sq_path_tail(db->path));
    else if (stat(log, &st) == 0 && st.st_size > 0) // results that are in no other file
        status = SQ_FAIL(err, SQ_ERR_IO,
                         "cannot read database '%s' where nothing can be written: '%s' beside it "
                         "holds results; copy both elsewhere",
                         sq_path_tail(db->path), sq_path_tail(log));
    if (status == SQ_OK) {
        sqlite3_close(db->handle);
        db->handle = NULL;
        if (!is_open(db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI))
            status = fail(db, "open", err);
    }
    return status;
}

// SQLite tries again to read a file that it may not make, and then says that there is none.
static enum sq_status fail_new(const struct sq_sweep_db *db, struct sq_error *err)
{
    const int fd = open(db->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make database '%s': %s", sq_path_tail(db->path),
                       strerror(errno));
    if (fd >= 0) {
        close(fd);
        unlink(db->path); // ours, and nothing in it
    }
    return fail(db, "open", err);
}

static enum sq_status open_file(struct sq_sweep_db *db, bool create, struct sq_error *err)
{
    const int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    if (!is_open(db, db->path, flags))
        return create ? fail_new(db, err) : fail(db, "open", err);
    if (create || pragma(db, "SELECT count(*) FROM sqlite_master") >= 0)
        return SQ_OK;
    const int code = sqlite3_errcode(db->handle) & 0xff;
    return code == SQLITE_CANTOPEN || code == SQLITE_READONLY ? open_read_only(db, err) : SQ_OK;
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
        status = SQ_NO_MEMORY(err, "'%s'", sq_path_tail(path));
    SQ_THEN(status, open_file(db, create, err));
    if (status == SQ_OK && create && sqlite3_db_readonly(db->handle, "main") == 1)
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot write database '%s': %s", sq_path_tail(path),
                         strerror(EACCES));
    SQ_THEN(status, set_up(db, create, err));
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

static void digest_texts(unsigned n, const char *const *text, char hex[SQ_DIGEST_SIZE])
{
    struct sq_digest d = {0};
    for (unsigned i = 0; i < n; i++)
        sq_digest_add(&d, text[i], strlen(text[i]));
    sq_digest_hex(d, hex);
}

// Runs a statement with its texts bound; false on failure. It is reset by the next use.
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
    const char *text[4] = {name, title, spec};
    char digest[SQ_DIGEST_SIZE];
    digest_texts(3, text, digest);
    text[3] = digest;
    return write_row(db, DESCRIBE, 4, text, err);
}

enum sq_status sq_sweep_db_put(struct sq_sweep_db *db, const struct sq_sweep_row *row,
                               struct sq_error *err)
{
    if (!db->provenance || strcmp(db->provenance, row->provenance) != 0) {
        SQ_TRY(write_row(db, INTERN, 1, &row->provenance, err));
        free(db->provenance);
        db->provenance = strdup(row->provenance);
    }
    char key[SQ_DIGEST_SIZE], digest[SQ_DIGEST_SIZE];
    const char *text[6] = {row->sweep, row->parameters, key, row->measures, row->provenance};
    sq_digest_hex(row->key, key);
    digest_texts(5, text, digest);
    text[5] = digest;
    return write_row(db, PUT, 6, text, err);
}

// A text without a NUL: after one there may be anything that no reader sees, so that two rows
// would be read as one and the same.
static bool is_whole(sqlite3_stmt *s, int i)
{
    return sqlite3_column_type(s, i) == SQLITE_TEXT &&
           strlen(column(s, i)) == (size_t)sqlite3_column_bytes(s, i);
}

// Whether column n holds the digest of the n columns before it.
static bool is_intact(sqlite3_stmt *s, unsigned n)
{
    const char *text[5];
    char digest[SQ_DIGEST_SIZE];
    for (unsigned i = 0; i < n; i++) {
        if (!is_whole(s, (int)i))
            return false;
        text[i] = column(s, (int)i);
    }
    digest_texts(n, text, digest);
    return strcmp(column(s, (int)n), digest) == 0;
}

static enum sq_status row_of(const struct sq_sweep_db *db, sqlite3_stmt *s,
                             struct sq_sweep_row *row, struct sq_error *err)
{
    const bool is_good = is_intact(s, 5); // before column(), which makes a text of any type
    *row = (struct sq_sweep_row){column(s, 0), column(s, 1), {0, 0}, column(s, 3), column(s, 4)};
    if (!is_good || !sq_digest_parse(column(s, 2), &row->key))
        return SQ_FAIL(err, SQ_ERR_DAMAGED,
                       "'%s' is damaged: point %.80s of %.30s does not match its digest; run the "
                       "sweep again, into a new database if that does not help",
                       sq_path_tail(db->path), row->parameters, row->sweep);
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
        SQ_THEN(status, visit(context, &row, err));
    }
    if (status == SQ_OK && code != SQLITE_DONE)
        status = fail(db, "read", err);
    sqlite3_reset(db->statement[EACH]);
    return status;
}

enum sq_status sq_sweep_db_spec(struct sq_sweep_db *db, const char *sweep, char **title,
                                char **spec, struct sq_error *err)
{
    sqlite3_stmt *s = db->statement[SPEC];
    enum sq_status status = SQ_OK;
    *title = *spec = NULL;
    const int code = step(db, SPEC, 1, &sweep);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return fail(db, "read", err);
    if (code == SQLITE_DONE || !is_intact(s, 3)) {
        status = SQ_FAIL(err, SQ_ERR_DAMAGED,
                         "'%s' is damaged: the specification of %.80s %s; run the sweep again",
                         sq_path_tail(db->path), sweep,
                         code == SQLITE_DONE ? "is missing" : "does not match its digest");
    } else {
        *title = strdup(column(s, 1));
        *spec = strdup(column(s, 2));
        if (!*title || !*spec) {
            free(*title);
            free(*spec);
            *title = *spec = NULL;
            status = SQ_NO_MEMORY(err, "a specification");
        }
    }
    sqlite3_reset(s);
    return status;
}

// ---- merge ----------------------------------------------------------------------------------

struct merge {
    struct sq_sweep_db *into, *from;
    uint64_t added;
    char *described; // the sweep of the last row
};

static enum sq_status merge_sweep(struct merge *m, const char *sweep, struct sq_error *err)
{
    SQ_FREED char *title = NULL, *spec = NULL;
    if (m->described && strcmp(m->described, sweep) == 0)
        return SQ_OK;
    free(m->described);
    m->described = strdup(sweep);
    SQ_TRY(sq_sweep_db_spec(m->from, sweep, &title, &spec, err));
    return sq_sweep_db_describe(m->into, sweep, title, spec, err);
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
    SQ_THEN(status, sq_sweep_db_each(m.from, merge_row, &m, err));
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
