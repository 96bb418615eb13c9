// SPDX-License-Identifier: Apache-2.0
// Where the points of sweeps are kept: one SQLite file (WAL), sound after a kill at any moment and
// with several processes writing. One row per sweep name and parameters:
//
//   sweep(name, title, spec, digest)               the specification as it was last run
//   point(sweep, parameters, key, measures, provenance, digest)
//   provenance(id, text)
//
// parameters, measures and provenance are JSON objects; key is the digest of everything the
// measures depend on: a row whose key differs from the one asked for is out of date.
//
// digest is of the texts before it, as pieces (sq_digest.h), of a point with the provenance's text
// in place of its number. Whoever reads a row checks it: SQ_ERR_DAMAGED with the row where it does
// not match, never a number. sq_sweep_run computes such a point anew, as one that is out of date.
// A file opened to be read has its pages checked as well, for rows that are gone or there twice. A
// file of the version before, without digests, is refused.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "models/sq_status.h"
#include "sim/io/sq_digest.h"

struct sq_sweep_db;

struct sq_sweep_row {
    const char *sweep, *parameters;
    struct sq_digest key;
    const char *measures, *provenance;
};

// Creates the file where `create` and it is missing; without `create` it is only read, and may be
// where nothing can be written. One connection, to be used by one thread at a time. Refuses a file
// that is no sweep database. SQ_ERR_IO with the path and reason; SQ_ERR_DAMAGED without `create`.
enum sq_status sq_sweep_db_open(struct sq_sweep_db **db, const char *path, bool create,
                                struct sq_error *err);
void sq_sweep_db_close(struct sq_sweep_db *db); // NULL is harmless

// Says which specification the rows of `name` come from.
enum sq_status sq_sweep_db_describe(struct sq_sweep_db *db, const char *name, const char *title,
                                    const char *spec, struct sq_error *err);

// One row in one transaction; a row with the same sweep and parameters is replaced.
enum sq_status sq_sweep_db_put(struct sq_sweep_db *db, const struct sq_sweep_row *row,
                               struct sq_error *err);

// The row of this sweep and parameters; *found = false where there is none. Its texts are valid
// until the next call on db.
enum sq_status sq_sweep_db_find(struct sq_sweep_db *db, const char *sweep, const char *parameters,
                                struct sq_sweep_row *row, bool *found, struct sq_error *err);

// Every row, by sweep and parameters as text; texts valid during the call.
typedef enum sq_status sq_sweep_db_visit(void *context, const struct sq_sweep_row *row,
                                         struct sq_error *err);
enum sq_status sq_sweep_db_each(struct sq_sweep_db *db, sq_sweep_db_visit *visit, void *context,
                                struct sq_error *err);

// Title and specification text of a sweep, copies the caller frees. Every sweep that has points has
// them: SQ_ERR_DAMAGED where not.
enum sq_status sq_sweep_db_spec(struct sq_sweep_db *db, const char *sweep, char **title,
                                char **spec, struct sq_error *err);

// Adds every row of the database at `path` in one transaction. Equal rows are added once; a row
// that differs in key or numbers from the one already there is refused (SQ_ERR_RANGE), and nothing
// is added: the two come from different code or inputs. *added = rows that were new.
enum sq_status sq_sweep_db_merge(struct sq_sweep_db *db, const char *path, uint64_t *added,
                                 struct sq_error *err);
