// SPDX-License-Identifier: Apache-2.0
// Runs a tool without a shell. Nothing of it outlives the program: each tool has a process group of
// its own and a guard, a small process in between that kills the group when the program ends, in
// whatever way (also by SIGKILL), and when the tool does (what it left in the background).
#pragma once

#include <stdint.h>

#include "models/sq_status.h"

// Runs argv[0] (looked up in PATH; argv ends with NULL) in directory `dir` (NULL: this one) with
// empty input, its output and errors in the file `log` (never one that a link leads to), and with a dir TMPDIR = ".", so that a tool
// that dies leaves its files there. Waits. *code is the exit status, or 128 + signal. Thread-safe.
// SQ_ERR_TOOL where there is no such program, SQ_ERR_IO or SQ_ERR_MEMORY where it cannot be
// started. Tools never see MAKEFLAGS: a `make` around the program is none of their business.
enum sq_status sq_process_run(const char *dir, char *const argv[], const char *log, int *code,
                              struct sq_error *err);

// What a tool may take; 0: as much as it likes. `seconds` is by the clock for all that it starts, and
// one more of processor time for each process; bytes are those of one process and of one file.
struct sq_process_limits {
    unsigned seconds;
    uint64_t nbytes_memory, nbytes_file;
};

// The same within limits. SQ_ERR_RANGE where the time was over: everything of the tool is gone then.
// A process without memory or file sees that in its own calls.
enum sq_status sq_process_run_limited(const char *dir, char *const argv[], const char *log,
                                      const struct sq_process_limits *limits, int *code,
                                      struct sq_error *err);

// sq_process_run with open descriptors: standard input `in`, output `out`, errors `log`; -1: none. They
// stay the caller's.
enum sq_status sq_process_run_on(const char *dir, char *const argv[], int in, int out, int log,
                                 int *code, struct sq_error *err);

// The first line of `tool flag`, e.g. "Yosys 0.23 (git sha1 ...)", cut to `size`; SQ_ERR_TOOL where
// it does not run.
enum sq_status sq_process_version(const char *tool, const char *flag, char *text, unsigned size,
                                  struct sq_error *err);

// The value of an environment variable, or what stands for it where that is unset or empty.
const char *sq_process_tool(const char *variable, const char *fallback);

// Seconds of a clock that is never set: differences count.
double sq_process_clock(void);

// For the end of the program on a signal: kills every tool with all that it started and waits until
// they are gone. From then on the functions above neither start anything nor return: their threads
// wait for the program to end.
void sq_process_end_all(void);
