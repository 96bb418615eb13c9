// SPDX-License-Identifier: Apache-2.0
// A GPU as a machine: predicted times are positive, and what is written reads back.
#include <math.h>

#include "sim/gpu/sq_gpu.h"
#include "tests/fuzz/fuzz.h"

static void predict(const struct sq_gpu *gpu, const struct sq_gpu_kind *kind, uint64_t m)
{
    const struct sq_gpu_gemm g = {.m = m,
                                  .n = 4096,
                                  .k = 8192,
                                  .dtype = kind->dtype,
                                  .is_sparse = kind->is_sparse,
                                  .out_nbytes = 2,
                                  .is_cold = true};
    struct sq_gpu_time t;
    struct sq_error err;
    if (fuzz_ok(sq_gpu_time_gemm(gpu, &g, &t, &err), &err))
        FUZZ_CHECK(isfinite(t.seconds) && t.seconds > 0 && t.tail_s <= t.compute_s);
}

static void round_trip(const struct sq_gpu *gpu)
{
    struct sq_gpu again;
    struct sq_error err;
    char *text;
    size_t nbytes;
    FILE *out = open_memstream(&text, &nbytes);
    FUZZ_CHECK(out);
    sq_gpu_write(gpu, "# comment\n", out);
    fclose(out);
    const enum sq_status status = sq_gpu_parse(text, nbytes, "copy", &again, &err);
    if (status != SQ_OK)
        fprintf(stderr, "%s\n%s\n", err.text, text);
    FUZZ_CHECK(status == SQ_OK && strcmp(again.name, gpu->name) == 0);
    FUZZ_CHECK(strcmp(again.device, gpu->device) == 0 && again.n_kinds == gpu->n_kinds);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sq_gpu gpu;
    struct sq_error err;
    fuzz_file(FUZZ_FILE, data, n);
    if (!fuzz_ok(sq_gpu_load(FUZZ_FILE, &gpu, &err), &err))
        return 0;
    FUZZ_CHECK(gpu.n_kinds >= 1 && gpu.n_kinds <= SQ_GPU_MAX_KINDS);
    for (unsigned i = 0; i < gpu.n_kinds; i++) {
        predict(&gpu, &gpu.kind[i], 1);
        predict(&gpu, &gpu.kind[i], 4096);
    }
    round_trip(&gpu);
    return 0;
}
