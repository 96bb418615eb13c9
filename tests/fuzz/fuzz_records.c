// SPDX-License-Identifier: Apache-2.0
// Measured GPU times, CSV and JSON lines, and their comparison with a prediction.
#include <math.h>

#include "sim/gpu/sq_gpu_compare.h"
#include "sim/gpu/sq_gpu_fit.h"
#include "tests/fuzz/fuzz.h"

static const char machine[] =
    "{name: h200, device: H200, calibration: '', sms: 132, clock: 1.83 GHz, watts: 700, dram: "
    "{peak: 4.8 TB/s}, kinds: ["
    "{dtype: INT8, sparsity: dense, macs: 4096}, "
    "{dtype: BF16, sparsity: dense, macs: 2048}, "
    "{dtype: FP8, sparsity: dense, macs: 4096}, "
    "{dtype: W4A16, sparsity: dense, macs: 2048}, "
    "{dtype: INT8, sparsity: '2:4', macs: 8192}]}\n";

static void compare(const struct sq_gpu *gpu, const struct sq_gpu_records *g)
{
    struct sq_gpu_comparison c;
    struct sq_error err;
    if (!fuzz_ok(sq_gpu_compare(gpu, g, false, 1, &c, &err), &err))
        return;
    FUZZ_CHECK(c.n >= 1 && c.n <= g->n);
    for (size_t i = 0; i < c.n_speedups; i++)
        FUZZ_CHECK(c.speedup[i].fast < c.n && c.speedup[i].slow < c.n);
    for (size_t i = 0; i < c.n; i++)
        FUZZ_CHECK(isfinite(c.point[i].error) && c.point[i].error > -1);
    sq_gpu_comparison_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct sq_gpu gpu;
    struct sq_gpu_records g;
    struct sq_error err;
    if (gpu.sms == 0)
        FUZZ_CHECK(sq_gpu_parse(machine, sizeof machine - 1, "h200", &gpu, &err) == SQ_OK);
    fuzz_file(FUZZ_FILE, data, n);
    if (!fuzz_ok(sq_gpu_records_read(FUZZ_FILE, "H200", &g, &err), &err))
        return 0;
    FUZZ_CHECK(g.n + g.n_formats > 0);
    for (size_t i = 0; i < g.n; i++)
        FUZZ_CHECK(g.r[i].seconds > 0 && g.r[i].gemm.m >= 1 && g.r[i].gemm.k <= 1u << 24);
    compare(&gpu, &g);
    if (g.n > 0 && g.n < 50) {
        struct sq_gpu fitted = gpu;
        double error;
        fuzz_ok(sq_gpu_fit(&g, &fitted, &error, &err), &err);
    }
    sq_gpu_records_free(&g);
    return 0;
}
