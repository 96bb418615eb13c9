// SPDX-License-Identifier: Apache-2.0
// redigest DB: gives every row of a sweep database the digest of what it now holds, so that tests
// can put texts behind the digests. They are no secret: whoever alters a database can do the same.
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "sim/io/sq_digest.h"

// digest(a, b, ...) of texts, as sq_sweep_db.c makes it.
static void digest(sqlite3_context *context, int n, sqlite3_value **value)
{
    struct sq_digest d = {0};
    char hex[SQ_DIGEST_SIZE];
    for (int i = 0; i < n; i++) {
        const char *text = (const char *)sqlite3_value_text(value[i]);
        sq_digest_add(&d, text ? text : "", text ? strlen(text) : 0);
    }
    sq_digest_hex(d, hex);
    sqlite3_result_text(context, hex, -1, SQLITE_TRANSIENT);
}

int main(int argc, char **argv)
{
    sqlite3 *db;
    if (argc != 2 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        return 2;
    sqlite3_create_function(db, "digest", -1, SQLITE_UTF8, NULL, digest, NULL, NULL);
    const int code =
        sqlite3_exec(db,
                     "UPDATE sweep SET digest = digest(name, title, spec);"
                     "UPDATE point SET digest = digest(sweep, parameters, key, measures,"
                     "  (SELECT text FROM provenance WHERE id = point.provenance));",
                     NULL, NULL, NULL);
    if (code != SQLITE_OK)
        fprintf(stderr, "redigest: %s\n", sqlite3_errmsg(db));
    sqlite3_close(db);
    return code == SQLITE_OK ? 0 : 1;
}
