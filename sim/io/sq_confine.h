// SPDX-License-Identifier: Apache-2.0
// Runs a tool on files that anybody may have made: the tool gets no more than it needs, whatever a
// file makes it do.
//
// Where bubblewrap (bwrap) runs, the tool sees the system's programs and libraries (/usr, /lib, /opt
// and the like), the folder that it was installed in, its working directory and what `reads` names;
// no other file of the machine exists for it. It writes in its working directory and in `keeps`
// only, has no network, no terminal, no process besides its own, no privilege.
// Where bubblewrap does not run (not installed, or the system allows no user namespaces), the tool
// sees what the user sees, and sq_confine_on_missing is told so once.
// In both cases it has limits of time, memory and file size (sq_process_run_limited), ends with the
// program, and has no core dumps.
#pragma once

#include <stdbool.h>

#include "models/sq_status.h"
#include "sim/io/sq_process.h"

struct sq_confine {
    const char *dir;          // where it runs, and may write
    const char *const *reads; // further files and folders that it sees, NULL at the end; or NULL
    const char *keeps;        // a further folder that it may write, NULL: none,
    const char *variable;     // and the environment variable that names it to the tool
};

// As sq_process_run, in c->dir. SQ_ERR_RANGE where the time of the limits was over; SQ_ERR_TOOL where
// the tool left a link (none of c->reads), a FIFO or the like in c->dir: after SQ_OK what lies there
// can be opened.
enum sq_status sq_confine_run(const struct sq_confine *c, char *const argv[], const char *log,
                              int *code, struct sq_error *err);

// After a run that failed: whether the disk, the quota or the limit of file sizes was in its way. The
// log says so, or it is silent (`is_silent`: nothing was found in it) and the disk is full.
// SQ_ERR_TOOL, one sentence with the folder; else SQ_OK.
enum sq_status sq_confine_check_disk(const char *dir, const char *log, bool is_silent,
                                     struct sq_error *err);

// The limits of every run from here on; a program has one set of them. Without a call: an hour, 8
// GiB of memory for a process, 16 GiB for a file.
void sq_confine_set_limits(const struct sq_process_limits *limits);
struct sq_process_limits sq_confine_limits(void);

// Whether bubblewrap runs: a tool sees no file that it was not given.
bool sq_confine_is_whole(void);

// Called once, by the first run, where bubblewrap does not run.
void sq_confine_on_missing(void (*say)(void));
