// SPDX-License-Identifier: Apache-2.0
// A machine of cores, and what it takes for a few products: no fewer cycles than the bound, and no
// more multiplications than there is room for.
#include "sim/machine/sq_machine_run.h"
#include "tests/fuzz/fuzz.h"

static const struct sq_scheme schemes[] = {
    {.kind = SQ_SCHEME_SQ_W, .sq = {8, 4, 32, 8, 128}, .act_bits = 8},
    {.kind = SQ_SCHEME_DENSE, .act_bits = 8, .weight_bits = 8, .group = 128},
    {.kind = SQ_SCHEME_SP24, .act_bits = 8},
    {.kind = SQ_SCHEME_GQSA, .act_bits = 8, .group = 16, .sparsity = 0.5},
};

static void run(const struct sq_machine *m, const struct sq_scheme *s, const struct sq_gemm *g)
{
    struct sq_plan p;
    struct sq_error err;
    uint64_t compute, dram;
    const enum sq_status status = sq_plan_make(m, s, g, &p, &err);
    fuzz_status(status, &err);
    if (status != SQ_OK)
        return;
    const struct sq_machine_stats stats = sq_machine_run_fast(m, &p);
    FUZZ_CHECK(sq_plan_bound(&p, &compute, &dram) <= stats.cycles);
    FUZZ_CHECK(stats.dram_busy <= stats.cycles);
    const double low = sq_plan_use_low(m, &p, (double)stats.cycles);
    const double high = sq_plan_use_high(m, &p, (double)stats.cycles);
    FUZZ_CHECK(low >= 0 && low <= 1.000001 && high >= 0 && high <= 1.000001);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sq_machine m;
    struct sq_error err;
    fuzz_file(FUZZ_FILE, data, n);
    const enum sq_status status = sq_machine_load(FUZZ_FILE, &m, &err);
    fuzz_status(status, &err);
    if (status != SQ_OK)
        return 0;
    FUZZ_CHECK(m.burst_num > 0 && m.burst_den > 0 && m.clock_hz > 0 && m.cores >= 1);
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        run(&m, &schemes[i], &(struct sq_gemm){i % 2 ? 1 : 33, 65, 512});
    return 0;
}
