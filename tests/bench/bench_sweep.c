// SPDX-License-Identifier: Apache-2.0
// Points of a sweep a minute, through everything that `sqsim sweep` does: 2048 points of each
// format on a machine, cycles and time only, planned, timed and put into a database on disk, by one
// job. Other processes lengthen wall time but not processor time: both are printed. Prints, asserts
// nothing: not a test.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/format/sq_format_ops.h"
#include "sim/sweep/sq_sweep.h"

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// In `db`, which is not there yet.
static enum sq_status sweep(const char *format, const char *machine, const char *db,
                            struct sq_error *err)
{
    char text[512];
    struct sq_sweep_grid grid;
    struct sq_sweep_count count;
    const int n = snprintf(text, sizeof text,
                           "name: bench\naxes:\n  machine: [sim/machines/%s.yaml]\n  m: [1..2048]\n"
                           "  n: [4096]\n  k: [4096]\n  format: [%s]\n  weight_bits: [4]\n"
                           "measures: [cycles, time_ms]\n",
                           machine, format);
    SQ_TRY(sq_sweep_grid_parse(&grid, text, (size_t)n, "bench", ".", err));
    const struct sq_sweep_options o = {.db = db,
                                       .home = ".",
                                       .cache = "build",
                                       .code = "bench",
                                       .provenance = "\"tool\":\"bench\"",
                                       .jobs = 1,
                                       .n_shards = 1};
    const double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    const enum sq_status status = sq_sweep_run(&grid, &o, &count, err);
    if (status == SQ_OK)
        printf("%-9s %-12s %5llu points %9.0f a minute, %9.0f of processor time\n", machine, format,
               (unsigned long long)count.computed,
               60 * (double)count.computed / (now(CLOCK_MONOTONIC) - wall),
               60 * (double)count.computed / (now(CLOCK_PROCESS_CPUTIME_ID) - cpu));
    sq_sweep_grid_free(&grid);
    return status;
}

int main(void)
{
    static const char *const machines[] = {"default", "server64"};
    char dir[] = "/tmp/sq-bench-XXXXXX", db[64];
    struct sq_error err;
    enum sq_status status = SQ_OK;
    if (!mkdtemp(dir))
        return perror("bench_sweep"), 1;
    snprintf(db, sizeof db, "%s/db", dir);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned f = 0; f < sq_n_formats() && status == SQ_OK; f++) {
            status = sweep(sq_formats[f]->name, machines[i], db, &err);
            (void)unlink(db);
        }
    if (status != SQ_OK)
        fprintf(stderr, "bench_sweep: %s\n", err.text);
    (void)rmdir(dir);
    return status != SQ_OK;
}
