// SPDX-License-Identifier: Apache-2.0
// Files in and out: a read-only mapping of a regular file, and an output file that appears under
// its name only when it is complete.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "models/sq_status.h"

// The last 96 bytes of a path: what error sentences show, so that the reason still fits.
const char *sq_path_tail(const char *path);

// Bytes of a regular file. A file that another process truncates while it is mapped raises SIGBUS
// where it is read; a program that handles it (sqsim does) asks sq_file_at for the name.
struct sq_file_view {
    const uint8_t *data; // NULL when the file is empty
    size_t nbytes;
};

// Refuses directories, pipes and devices without waiting for them (SQ_ERR_IO). The caller unmaps.
enum sq_status sq_file_map(const char *path, struct sq_file_view *map, struct sq_error *err);
void sq_file_unmap(struct sq_file_view *map);

// The same of a text that a program or a person has written: a file beyond `most` bytes is none, and
// is refused (SQ_ERR_RANGE) before it is read.
static inline enum sq_status sq_file_map_text(const char *path, size_t most,
                                              struct sq_file_view *map, struct sq_error *err)
{
    SQ_TRY(sq_file_map(path, map, err));
    const size_t nbytes = map->nbytes;
    if (nbytes <= most)
        return SQ_OK;
    sq_file_unmap(map);
    return SQ_FAIL(err, SQ_ERR_RANGE, "'%s' has %zu bytes, need at most %zu", sq_path_tail(path),
                   nbytes, most);
}

// The tail of the path of the mapped file that holds this address; NULL where none does, or more
// than 256 were mapped. Async-signal-safe, for a handler of SIGBUS.
const char *sq_file_at(const void *address);

// Lets the system drop the pages inside [at, at + nbytes), which were read, so that large files
// stay out of memory; reading them again is allowed.
void sq_file_forget(const struct sq_file_view *map, const uint8_t *at, size_t nbytes);

// From the first call on, no sq_outfile replaces a file that this process was given or has read:
// `path` (by its inode, or by its folder and name where it does not exist yet; with the files that
// SQLite keeps beside it; of a folder the files in it and in its folders), and every file that
// sq_file_map reads from then on. NULL only begins. For programs, which call it before they read;
// a library does not, as its caller may well replace what was once read.
void sq_file_protect(const char *path);

// Output beside `path` under no name, or a temporary one where the file system cannot do without;
// commit gives it its name in one step (an existing file is replaced), abort removes it. Refuses
// what is no regular file, a missing parent, no permission, with one sentence; after a failure, and
// after a kill, nothing is left behind. Write to `stream`; write errors may be left to commit. What
// is committed is on the disk (fsync of the file before it gets its name, of the directory after).
// Its descriptor is above 2, whether or not 0 to 2 are open. A link is replaced, never followed.
struct sq_outfile {
    FILE *stream;
    char *path; // owned
    char *temp; // owned; the temporary name
};
enum sq_status sq_outfile_open(struct sq_outfile *out, const char *path, struct sq_error *err);
// Everything written so far into the file, still without its name: of several files that belong
// together, all are flushed before the first is committed. SQ_ERR_IO with the path and reason.
enum sq_status sq_outfile_flush(struct sq_outfile *out, struct sq_error *err);
// Both end the life of *out, whatever they return; abort after a failed open is harmless.
enum sq_status sq_outfile_commit(struct sq_outfile *out, struct sq_error *err);
void sq_outfile_abort(struct sq_outfile *out);
// Several files appear together or not at all: from begin to end what a commit of this thread completes waits
// without its name. end gives all of them their names where `so_far` is SQ_OK, else removes them; it returns the
// first failure. Begun once at a time. The limit of open files goes up to what the system allows.
void sq_outset_begin(void);
enum sq_status sq_outset_end(enum sq_status so_far, struct sq_error *err);
// A whole file of data[0..nbytes) in one call.
enum sq_status sq_outfile_write(const char *path, const void *data, size_t nbytes,
                                struct sq_error *err);
