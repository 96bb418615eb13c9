// SPDX-License-Identifier: Apache-2.0
// Tables of GEMMs and SCALE-Sim topologies.
#include "sim/machine/sq_workload.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sq_workload w, again;
    struct sq_error err;
    char *text;
    size_t nbytes;
    fuzz_file(FUZZ_FILE, data, n);
    if (!fuzz_ok(sq_workload_read(FUZZ_FILE, &w, &err), &err))
        return 0;
    FILE *out = open_memstream(&text, &nbytes);
    FUZZ_CHECK(out && w.n > 0);
    sq_workload_write(&w, out);
    fclose(out);
    FUZZ_CHECK(sq_workload_parse(text, nbytes, "copy", &again, &err) == SQ_OK && again.n == w.n);
    for (size_t i = 0; i < w.n; i++) {
        const struct sq_workload_row *a = &w.row[i], *b = &again.row[i];
        FUZZ_CHECK(a->gemm.m == b->gemm.m && a->gemm.n == b->gemm.n && a->gemm.k == b->gemm.k);
        FUZZ_CHECK(a->gemm.m >= 1 && a->gemm.m <= SQ_GEMM_MAX && a->count >= 1);
        FUZZ_CHECK(a->count == b->count);
    }
    sq_workload_free(&again);
    sq_workload_free(&w);
    free(text);
    return 0;
}
