// SPDX-License-Identifier: Apache-2.0
// A limit of memory (ulimit -v) and OpenBLAS: each of its threads maps a buffer of 128 MiB when it
// starts, before main, and tries for ever where that fails; whoever waits for the thread, as the end
// of the program does, waits for ever as well. So the program starts itself again with as many
// threads as fit, and refuses to compute where not even one does.
#include <cblas.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sim/cli/sq_cli.h"

#define MIB ((uint64_t)1 << 20)
enum {
    PROGRAM_MIB = 512, // with its libraries and what small jobs take
    THREAD_MIB = 256,  // buffer, stack, and the arena of malloc
    BUFFER_MIB = 160   // of the one thread that is always there, and some
};

// Address space in use, in bytes; 0: unknown.
static uint64_t used(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void sq_cli_fit_memory(char **argv)
{
    struct rlimit limit;
    char threads[16];
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    const uint64_t most = limit.rlim_cur / MIB;
    const uint64_t fit = most > PROGRAM_MIB ? (most - PROGRAM_MIB) / THREAD_MIB : 0;
    if ((uint64_t)openblas_get_num_threads() <= (fit > 1 ? fit : 1))
        return;
    snprintf(threads, sizeof threads, "%" PRIu64, fit > 1 ? fit : 1);
    const char *now = getenv("OPENBLAS_NUM_THREADS");
    if ((now && strcmp(now, threads) == 0) || setenv("OPENBLAS_NUM_THREADS", threads, 1) != 0)
        return; // it has been told
    execv("/proc/self/exe", argv);
}

enum sq_status sq_cli_check_memory(struct sq_error *err)
{
    struct rlimit limit;
    const uint64_t need = used() + BUFFER_MIB * MIB;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= need)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_TOOL,
                   "the limit of memory (ulimit -v) is %" PRIu64 " KiB, need at least %" PRIu64,
                   (uint64_t)limit.rlim_cur / 1024, need / 1024);
}
