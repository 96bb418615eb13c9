// SPDX-License-Identifier: Apache-2.0
// MAC/s of sq_gemm_sq_w per kernel on one thread: 512 x 512 x 512 unless told otherwise, default
// format. A MAC is one (token, channel, k), counted once although both planes are multiplied.
// Best of a few runs, unpacking included. What evaluation runs is bench_product's.
//
//   bench_gemm [--quick] [M N K]
#include "models/number/sq_gemm_kernels.h"
#include "models/quant/sq_codes_alloc.h"
#include "tests/bench/bench.h"

static double best_seconds(enum sq_gemm_kernel kernel, const struct sq_matrix *w, const int8_t *act,
                           const float *s_a, size_t m, float *y, void *scratch, double enough)
{
    double best = 1e30;
    const double end = bench_cpu() + enough;
    do {
        const double start = bench_cpu();
        sq_gemm_sq_w_with(kernel, w, act, s_a, m, 0, w->n, y, NULL, NULL, scratch);
        const double seconds = bench_cpu() - start;
        best = seconds < best ? seconds : best;
    } while (bench_cpu() < end);
    return best;
}

int main(int argc, char **argv)
{
    const bool is_quick = bench_is_quick(&argc, argv);
    size_t dim[3] = {512, 512, is_quick ? 128 : 512};
    for (int i = 1; i < argc && i < 4; i++)
        dim[i - 1] = strtoul(argv[i], NULL, 10);
    const size_t m = dim[0], n = dim[1], k = dim[2];
    struct sq_matrix w = {.format = sq_format_default(), .n = n, .k_orig = k};
    if (m == 0 || n == 0 || k == 0)
        bench_die("M, N and K are at least 1");
    w.k = sq_k_padded(&w.format, k);
    w.lo = bench_alloc(n * sq_lo_row_nbytes(&w.format, w.k));
    w.hi = bench_alloc(n * sq_hi_row_nbytes(&w.format, w.k));
    w.s_lo = bench_alloc(n * sq_n_groups(&w.format, w.k) * sizeof(float));
    w.s_hi = bench_alloc(n * sq_n_groups(&w.format, w.k) * sizeof(float));
    float *wf = bench_matrix(n * k, 1), *x = bench_matrix(m * k, 2);
    float *s_a = bench_alloc(m * sizeof *s_a), *y = bench_alloc(m * n * sizeof *y);
    int8_t *act = bench_alloc(m * w.k);
    void *scratch = aligned_alloc(64, (sq_gemm_scratch_nbytes(&w) + 63) / 64 * 64);
    if (!scratch)
        bench_die("out of memory");
    struct sq_error err;
    bench_need(sq_encode_rtn(wf, &w, &err), &err);
    bench_need(sq_act_quantize(x, m, k, w.k, 8, act, s_a, &err), &err);
    for (int kernel = SQ_GEMM_PORTABLE; kernel < SQ_GEMM_N_KERNELS; kernel++) {
        const enum sq_gemm_kernel which = (enum sq_gemm_kernel)kernel;
        char name[64];
        double rate = NAN; // not on this processor
        if (sq_gemm_kernel_is_supported(which))
            rate = 1e-9 * (double)(m * n * k) /
                   best_seconds(which, &w, act, s_a, m, y, scratch, is_quick ? 0 : .5);
        snprintf(name, sizeof name, "%s %zux%zux%zu", sq_gemm_kernel_name(which), m, n, k);
        BENCH_ROW("kernels of sq_w, one thread", name, {"gmac_s", rate});
    }
    free(w.lo), free(w.hi), free(w.s_lo), free(w.s_hi);
    free(wf), free(x), free(s_a), free(y), free(act), free(scratch);
    return 0;
}
