// SPDX-License-Identifier: Apache-2.0
// Runs a tool without a shell.
#ifndef SQ_PROCESS_H
#define SQ_PROCESS_H

#include "models/sq_status.h"

// Runs argv[0] (looked up in PATH; argv ends with NULL) in directory `dir` (NULL: this one) with
// empty input, its output and errors in the file `log`, and with a dir TMPDIR = ".", so that a tool
// that dies leaves its files there. Waits. *code is the exit status, or 128 + signal. Thread-safe.
// SQ_ERR_TOOL where there is no such program, SQ_ERR_IO or SQ_ERR_MEMORY where it cannot be
// started.
enum sq_status sq_process_run(const char *dir, char *const argv[], const char *log, int *code,
                              struct sq_error *err);

// The first line of `tool flag`, e.g. "Yosys 0.23 (git sha1 ...)", cut to `size`; SQ_ERR_TOOL where
// it does not run.
enum sq_status sq_process_version(const char *tool, const char *flag, char *text, unsigned size,
                                  struct sq_error *err);

#endif
