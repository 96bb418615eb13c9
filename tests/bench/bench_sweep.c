// SPDX-License-Identifier: Apache-2.0
// Points of a sweep a minute, through everything that `sqsim sweep` does: 2048 points of each
// format on a machine, cycles and time only, planned, timed and put into a database on disk, by one
// job. Other processes lengthen wall time but not processor time: both are printed.
//
//   bench_sweep [--quick]
#include "sim/format/sq_format_ops.h"
#include "sim/sweep/sq_sweep.h"
#include "tests/bench/bench.h"

// In `db`, which is not there yet.
static enum sq_status sweep(const char *format, const char *machine, unsigned points,
                            const char *db, struct sq_error *err)
{
    char text[512];
    struct sq_sweep_grid grid;
    struct sq_sweep_count count;
    const int n = snprintf(text, sizeof text,
                           "name: bench\naxes:\n  machine: [sim/machines/%s.yaml]\n  m: [1..%u]\n"
                           "  n: [4096]\n  k: [4096]\n  format: [%s]\n  weight_bits: [4]\n"
                           "measures: [cycles, time_ms]\n",
                           machine, points, format);
    SQ_TRY(sq_sweep_grid_parse(&grid, text, (size_t)n, "bench", ".", err));
    const struct sq_sweep_options o = {.db = db,
                                       .home = ".",
                                       .cache = "build",
                                       .code = "bench",
                                       .provenance = "\"tool\":\"bench\"",
                                       .jobs = 1,
                                       .n_shards = 1};
    const double wall = bench_now(), cpu = bench_cpu();
    const enum sq_status status = sq_sweep_run(&grid, &o, &count, err);
    if (status == SQ_OK) {
        char name[64];
        const double minute = 60 * (double)count.computed;
        snprintf(name, sizeof name, "%s %s", format, machine);
        BENCH_ROW("points of a sweep", name, {"points", (double)count.computed},
                  {"a_minute", minute / (bench_now() - wall)},
                  {"a_cpu_minute", minute / (bench_cpu() - cpu)});
    }
    sq_sweep_grid_free(&grid);
    return status;
}

int main(int argc, char **argv)
{
    static const char *const machines[] = {"default", "server64"};
    const bool is_quick = bench_is_quick(&argc, argv);
    char dir[] = "/tmp/sq-bench-XXXXXX", db[64];
    struct sq_error err;
    enum sq_status status = SQ_OK;
    if (!mkdtemp(dir))
        bench_die("cannot make a directory in /tmp");
    snprintf(db, sizeof db, "%s/db", dir);
    for (unsigned i = 0; i < (is_quick ? 1 : 2); i++)
        for (unsigned f = 0; f < sq_n_formats() && status == SQ_OK; f++) {
            status = sweep(sq_formats[f]->name, machines[i], is_quick ? 2 : 2048, db, &err);
            (void)unlink(db);
        }
    (void)rmdir(dir);
    bench_need(status, &err);
    return 0;
}
