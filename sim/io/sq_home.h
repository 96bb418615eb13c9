// SPDX-License-Identifier: Apache-2.0
// Where the files lie that come with sqsim, and how others name them: sim/machines, traces, sim/sweeps.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// The home around a program or a library: of the folders above the file the nearest that has sim/machines
// (the sources: build/sqsim) or share/sqsim/sim/machines (an installation: bin/sqsim, lib/libsqsim.so), with
// what lies before it. "." where there is none. $SQSIM_HOME stands before both.
enum { SQ_HOME_SIZE = 4096 + 32 };
void sq_home_around(const char *file, char home[SQ_HOME_SIZE]);

// `name` as it is where such a file exists; else NAME below `home`; else what `pattern` has below it with the
// name in place of its '*' ("sim/machines/*.yaml"; "" or NULL: nothing). Where none exists, `name`. A name that begins
// with '/' stays as it is, and a short one has no '/'. Into path[size]; a path that is longer is not one.
void sq_home_find(const char *home, const char *name, const char *pattern, char *path, size_t size);

// The short name that was probably meant by one that is no file; false: none is near.
enum { SQ_HOME_NAME = 64 };
bool sq_home_suggest(const char *home, const char *name, const char *pattern,
                     char meant[SQ_HOME_NAME]);

// The folders of short names.
#define SQ_HOME_MACHINE "sim/machines/*.yaml"
#define SQ_HOME_WORKLOAD "traces/workloads/*.csv"
#define SQ_HOME_CONFIG "traces/workloads/*.json"
#define SQ_HOME_RECORDS "traces/gpu_measured/*.csv"
#define SQ_HOME_SWEEP "sim/sweeps/*.yaml"
#define SQ_HOME_FORMAT "sim/format/scaled/formats/*.yaml"
#define SQ_HOME_MODEL "traces/*"
