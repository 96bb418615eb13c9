// SPDX-License-Identifier: Apache-2.0
// Directories of results that tools made, named by the digest of all that they depend on. An entry
// is filled in a private directory beside it and renamed when it is complete, so that nothing that
// ends the program leaves half an entry. It holds a list of its files with their digests
// (SQ_CACHE_LIST), which cover the name of the entry as well; a file that differs is never used: the
// entry is made anew. Several processes and threads may share a cache: those that want the same
// entry wait for the one that fills it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/sq_status.h"

#define SQ_CACHE_LIST "digests"

// Fills the empty directory `work` with regular files; what else it leaves there it removes itself.
typedef enum sq_status sq_cache_fill(void *context, const char *work, struct sq_error *err);

// Makes sure that directory `entry` holds undamaged `files` (names, NULL at the end; NULL: all that
// it listed); *is_filled: by calling `fill`, as they were missing or damaged. What is there and
// undamaged is used without writing anything. The parent directory is made on demand; leftovers of
// killed processes in it are removed when something is filled. Thread-safe. Errors: those of fill,
// SQ_ERR_IO where the cache cannot be written or is not the user's alone (sq_owner.h: the entry, its
// files, every folder above it), SQ_ERR_INTERNAL where fill left a file out. What is made is for the
// user alone, mode 0700.
enum sq_status sq_cache_get(const char *entry, const char *const *files, sq_cache_fill *fill,
                            void *context, bool *is_filled, struct sq_error *err);

// Where a home keeps what tools made, into path[nbytes]: HOME/build. A home that was installed, as
// PREFIX/share/sqsim, belongs to others: then $XDG_CACHE_HOME/sqsim, ~/.cache/sqsim without it.
void sq_cache_root(const char *home, char *path, size_t nbytes);

// Removes a directory with all that is in it, or a file; no error where there is none.
void sq_cache_remove(const char *path);

// For the end of the program on a signal, after sq_process_end_all: removes the private
// directories. From then on sq_cache_get fills nothing and does not return.
void sq_cache_end_all(void);
