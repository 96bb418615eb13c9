// SPDX-License-Identifier: Apache-2.0
// A limit of memory (ulimit -v) and OpenBLAS: each of its threads maps a buffer of 128 MiB when it
// starts, before main, and tries for ever where that fails; whoever waits for the thread, as the end
// of the program does, waits for ever as well. So does each thread of ours that calls it first. So the
// program starts itself again with as many threads of both kinds as fit, takes their buffers before
// anything else can, which OpenBLAS then keeps, and refuses to compute where not even one fits.
#include <cblas.h>
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sim/cli/sq_cli.h"

#define MIB ((uint64_t)1 << 20)
enum {
    PROGRAM_MIB = 512, // with its libraries and what small jobs take
    THREAD_MIB = 256,  // buffer, stack, and the arena of malloc
    THREADS_MAX = 64,  // fewer than OpenBLAS has buffers for
    BUFFER_MIB = 160   // of the one thread that is always there, and some
};

// OpenBLAS exports these two without a header: they take the buffer of a thread and put it back.
void *blas_memory_alloc(int position);
void blas_memory_free(void *buffer);

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

// Threads that fit into the limit, at least one; 0: there is no limit.
static int threads_that_fit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    const uint64_t most = limit.rlim_cur / MIB;
    const uint64_t fit = most > PROGRAM_MIB ? (most - PROGRAM_MIB) / THREAD_MIB : 0;
    return fit < 1 ? 1 : fit > THREADS_MAX ? THREADS_MAX : (int)fit;
}

// Whether the variable had to be changed.
static bool has_set(const char *name, const char *value)
{
    const char *now = getenv(name);
    return !(now && strcmp(now, value) == 0) && setenv(name, value, 1) == 0;
}

void sq_cli_fit_memory(char **argv)
{
    const int fit = threads_that_fit();
    char threads[16];
    if (fit == 0 || (openblas_get_num_threads() <= fit && omp_get_thread_limit() <= fit))
        return;
    snprintf(threads, sizeof threads, "%d", fit);
    const bool is_new = has_set("OPENBLAS_NUM_THREADS", threads);
    if (has_set("OMP_THREAD_LIMIT", threads) || is_new) // else it has been told
        execv("/proc/self/exe", argv);
}

// Buffers for n threads, or as many as fit; OpenBLAS has them from then on.
static void take_buffers(int n)
{
    void *buffer[THREADS_MAX];
    int taken = 0;
    for (; taken < n; taken++) {
        void *const room =
            mmap(NULL, BUFFER_MIB * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED) // it would try for ever
            break;
        munmap(room, BUFFER_MIB * MIB);
        buffer[taken] = blas_memory_alloc(0);
    }
    while (taken > 0)
        blas_memory_free(buffer[--taken]);
}

enum sq_status sq_cli_check_memory(struct sq_error *err)
{
    struct rlimit limit;
    const uint64_t need = used() + BUFFER_MIB * MIB;
    const int fit = threads_that_fit();
    if (fit == 0 || getrlimit(RLIMIT_AS, &limit) != 0)
        return SQ_OK;
    if (limit.rlim_cur >= need) {
        take_buffers(fit);
        return SQ_OK;
    }
    return SQ_FAIL(err, SQ_ERR_TOOL,
                   "the limit of memory (ulimit -v) is %" PRIu64 " KiB, need at least %" PRIu64,
                   (uint64_t)limit.rlim_cur / 1024, need / 1024);
}
