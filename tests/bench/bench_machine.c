// SPDX-License-Identifier: Apache-2.0
// Time to plan and time whole models on machines, one thread, nothing cached between them: every
// linear layer of Llama-3-70B (each row of the table once, as sqsim run does), prefill of 2048 and
// decode, for all formats and four machines (of the chip, the formats that it runs); and how the time of one GEMM grows with its size.
//
//   bench_machine [--quick]
#include <omp.h>

#include "sim/format/sq_format_ops.h"
#include "sim/machine/sq_machine_run.h"
#include "sim/machine/sq_workload.h"
#include "tests/bench/bench.h"

static struct sq_recipe recipe(const struct sq_format_ops *f)
{
    struct sq_recipe r;
    struct sq_error err;
    bench_need(sq_format_recipe(f, SQ_IN_RUN, NULL, &r, &err), &err);
    return r;
}

// Seconds of the host; *cycles over all layers. NaN: a chip that cannot run them.
static double time_workload(const struct sq_machine *m, const struct sq_recipe *s,
                            const struct sq_workload *w, double *cycles)
{
    const double start = bench_cpu();
    struct sq_machine_memo *const memo = bench_alloc(sizeof *memo);
    memset(memo, 0, sizeof *memo);
    *cycles = 0;
    for (size_t i = 0; i < w->n; i++) {
        struct sq_mapping p;
        struct sq_machine_stats stats;
        struct sq_error err;
        const enum sq_status status = sq_mapping_run(m, s, &w->row[i].gemm, &p, &stats, memo, &err);
        if (status != SQ_OK && m->chip.bus_nbytes)
            *cycles = NAN;
        else
            bench_need(status, &err);
        *cycles += (double)w->row[i].count * (double)stats.cycles;
    }
    sq_machine_memos_free(memo, 1);
    return isnan(*cycles) ? NAN : bench_cpu() - start;
}

static void measure(const struct sq_machine *m, const char *machine, const char *table)
{
    struct sq_workload w;
    struct sq_error err;
    char text[96];
    snprintf(text, sizeof text, "traces/workloads/%s.csv", table);
    bench_need(sq_workload_read(text, &w, &err), &err);
    for (unsigned f = 0; f < sq_n_formats(); f++) {
        const struct sq_recipe s = recipe(sq_formats[f]);
        double cycles, seconds[3];
        for (unsigned i = 0; i < 3; i++)
            seconds[i] = time_workload(m, &s, &w, &cycles);
        if (isnan(seconds[0]))
            continue;
        snprintf(text, sizeof text, "%s %s", sq_formats[f]->name, machine);
        BENCH_ROW(table, text, {"host_ms", 1e3 * bench_median(seconds, 3)},
                  {"simulated_ms", 1e3 * cycles / m->clock_hz}, {"cycles", cycles});
    }
    sq_workload_free(&w);
}

int main(int argc, char **argv)
{
    static const char *const machines[] = {"default", "edge4", "server64", "chip"};
    static const char *const tables[] = {"llama-3-70b_prefill_2048", "llama-3-70b_decode_1"};
    const bool is_quick = bench_is_quick(&argc, argv);
    struct sq_machine m;
    struct sq_error err;
    char text[96];
    omp_set_num_threads(1);
    for (unsigned t = 0; t < (is_quick ? 1 : 2); t++)
        for (unsigned i = 0; i < (is_quick ? 1 : 4); i++) {
            snprintf(text, sizeof text, "sim/machines/%s.yaml", machines[i]);
            bench_need(sq_machine_load(text, &m, &err), &err);
            measure(&m, machines[i], tables[t]);
        }
    bench_need(sq_machine_load("sim/machines/default.yaml", &m, &err), &err);
    for (uint64_t n = 512; n <= (is_quick ? 512 : 8192); n *= 2) {
        struct sq_workload_row row = {.gemm = {n, n, n}, .count = 1};
        const struct sq_workload w = {.n = 1, .row = &row};
        const struct sq_recipe s = recipe(sq_formats[0]);
        double cycles;
        const double seconds = time_workload(&m, &s, &w, &cycles);
        snprintf(text, sizeof text, "%s %llu^3", sq_formats[0]->name, (unsigned long long)n);
        BENCH_ROW("one GEMM on a machine", text, {"host_ms", 1e3 * seconds}, {"cycles", cycles});
    }
    return 0;
}
