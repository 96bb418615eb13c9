// SPDX-License-Identifier: Apache-2.0
// Time to plan and time whole models on machines, one thread, nothing cached between them: every
// linear layer of Llama-3-70B (each row of the table once, as sqsim run does), prefill of 2048 and
// decode, for all formats and three machines; and how the time of one GEMM grows with its size.
// Prints, asserts nothing: not a test.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sim/format/sq_format_ops.h"
#include "sim/machine/sq_machine_run.h"
#include "sim/machine/sq_workload.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct sq_recipe recipe(const struct sq_format_ops *f)
{
    struct sq_recipe r;
    (void)sq_format_recipe(f, SQ_IN_RUN, NULL, &r, NULL);
    return r;
}

// Seconds of the host; *cycles over all layers.
static double time_workload(const struct sq_machine *m, const struct sq_recipe *s,
                            const struct sq_workload *w, double *cycles)
{
    static struct sq_unit_memo memo;
    const double start = now();
    memset(&memo, 0, sizeof memo);
    *cycles = 0;
    for (size_t i = 0; i < w->n; i++) {
        struct sq_mapping p;
        struct sq_machine_stats stats;
        if (sq_mapping_run(m, s, &w->row[i].gemm, &p, &stats, &memo, NULL) == SQ_OK)
            *cycles += (double)w->row[i].count * (double)stats.cycles;
    }
    return now() - start;
}

int main(void)
{
    static const char *const machines[] = {"default", "edge4", "server64"};
    static const char *const tables[] = {"llama-3-70b_prefill_2048", "llama-3-70b_decode_1"};
    char path[96];
    struct sq_machine m;
    struct sq_error err;
    for (unsigned t = 0; t < 2; t++)
        for (unsigned i = 0; i < 3; i++) {
            struct sq_workload w;
            snprintf(path, sizeof path, "sim/machines/%s.yaml", machines[i]);
            if (sq_machine_load(path, &m, &err) != SQ_OK)
                return fprintf(stderr, "bench_machine: %s\n", err.text), 1;
            snprintf(path, sizeof path, "traces/workloads/%s.csv", tables[t]);
            if (sq_workload_read(path, &w, &err) != SQ_OK)
                return fprintf(stderr, "bench_machine: %s\n", err.text), 1;
            for (unsigned f = 0; f < sq_n_formats(); f++) {
                const struct sq_recipe s = recipe(sq_formats[f]);
                double cycles, best = 1e9;
                for (unsigned again = 0; again < 3; again++) {
                    const double seconds = time_workload(&m, &s, &w, &cycles);
                    best = seconds < best ? seconds : best;
                }
                printf("%-26s %-9s %-12s %8.2f ms host %14.0f cycles %9.1f ms simulated\n",
                       tables[t], machines[i], sq_formats[f]->name, 1e3 * best, cycles,
                       1e3 * cycles / m.clock_hz);
            }
            sq_workload_free(&w);
        }
    (void)sq_machine_load("sim/machines/default.yaml", &m, NULL);
    for (uint64_t n = 512; n <= 8192; n *= 2) {
        struct sq_workload_row row = {.gemm = {n, n, n}, .count = 1};
        const struct sq_workload w = {.n = 1, .row = &row};
        const struct sq_recipe s = recipe(&sq_format_sq_w);
        double cycles;
        const double seconds = time_workload(&m, &s, &w, &cycles);
        printf("%5llu^3 %8.3f ms host %14.0f cycles\n", (unsigned long long)n, 1e3 * seconds,
               cycles);
    }
    return 0;
}
