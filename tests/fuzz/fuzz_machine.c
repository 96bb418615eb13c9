// SPDX-License-Identifier: Apache-2.0
// A machine of cores, and what it takes for a few products: no fewer cycles than the bound, and no
// more multiplications than there is room for.
#include "sim/format/sq_format_ops.h"
#include "sim/machine/sq_machine_run.h"
#include "sim/machine/sq_machine_timed.h"
#include "tests/fuzz/fuzz.h"

static void run(const struct sq_machine *m, const struct sq_recipe *r, const struct sq_gemm *g)
{
    struct sq_mapping p;
    struct sq_error err;
    if (!fuzz_ok(sq_mapping_make(m, r, g, &p, &err), &err))
        return;
    static struct sq_machine_timed timed;
    const struct sq_machine_stats stats = sq_machine_run_fast(m, &p, &timed);
    FUZZ_CHECK(p.bound <= stats.cycles);
    FUZZ_CHECK(stats.dram_busy <= stats.cycles);
    const double low = sq_mapping_use_low(m, &p, (double)stats.cycles);
    const double high = sq_mapping_use_high(m, &p, (double)stats.cycles);
    FUZZ_CHECK(low >= 0 && low <= 1.000001 && high >= 0 && high <= 1.000001);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sq_machine m;
    struct sq_error err;
    fuzz_file(FUZZ_FILE, data, n);
    if (!fuzz_ok(sq_machine_load(FUZZ_FILE, &m, &err), &err))
        return 0;
    FUZZ_CHECK(m.burst_num > 0 && m.burst_den > 0 && m.clock_hz > 0 && m.cores >= 1);
    for (size_t i = 0; i < sq_n_formats(); i++) {
        struct sq_recipe r;
        FUZZ_CHECK(sq_format_recipe(sq_formats[i], SQ_IN_RUN, NULL, &r, &err) == SQ_OK);
        run(&m, &r, &(struct sq_gemm){i % 2 ? 1 : 33, 65, 512});
    }
    return 0;
}
