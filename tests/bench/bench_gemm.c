// SPDX-License-Identifier: Apache-2.0
// MAC/s of sq_gemm_sq_w per kernel on one thread: 512 x 512 x 512 unless told otherwise, default
// format. A MAC is one (token, channel, k), counted once although both planes are multiplied.
// Best of a few runs, unpacking included. Prints, asserts nothing: not a test.
//
//   bench_gemm [M N K]
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "models/sq_gemm_kernels.h"
#include "models/sq_rng.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "bench_gemm: out of memory\n");
        exit(3);
    }
    return p;
}

static float *random_floats(struct sq_rng *r, size_t n)
{
    float *x = need(malloc(n * sizeof *x));
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(sq_rng_unit(r) - 0.5);
    return x;
}

static double best_seconds(enum sq_gemm_kernel kernel, const struct sq_matrix *w, const int8_t *act,
                           const float *s_a, size_t m, float *y, void *scratch)
{
    double best = 1e30;
    const double end = now() + 0.5;
    do {
        const double start = now();
        sq_gemm_sq_w_with(kernel, w, act, s_a, m, 0, w->n, y, NULL, NULL, scratch);
        const double seconds = now() - start;
        best = seconds < best ? seconds : best;
    } while (now() < end);
    return best;
}

int main(int argc, char **argv)
{
    size_t dim[3] = {512, 512, 512};
    for (int i = 1; i < argc && i < 4; i++)
        dim[i - 1] = strtoul(argv[i], NULL, 10);
    const size_t m = dim[0], n = dim[1], k = dim[2];
    struct sq_rng rng = {1};
    struct sq_matrix w = {.format = sq_format_default(), .n = n, .k_orig = k};
    if (m == 0 || n == 0 || k == 0) {
        fprintf(stderr, "bench_gemm: M N K = %zu %zu %zu, need all >= 1\n", m, n, k);
        return 2;
    }
    w.k = sq_k_padded(&w.format, k);
    w.lo = need(malloc(n * sq_lo_row_nbytes(&w.format, w.k)));
    w.hi = need(malloc(n * sq_hi_row_nbytes(&w.format, w.k)));
    w.s_lo = need(malloc(n * sq_n_groups(&w.format, w.k) * sizeof(float)));
    w.s_hi = need(malloc(n * sq_n_groups(&w.format, w.k) * sizeof(float)));
    float *wf = random_floats(&rng, n * k), *x = random_floats(&rng, m * k);
    float *s_a = need(malloc(m * sizeof *s_a)), *y = need(malloc(m * n * sizeof *y));
    int8_t *act = need(malloc(m * w.k));
    void *scratch = need(aligned_alloc(64, (sq_gemm_scratch_nbytes(&w) + 63) / 64 * 64));
    struct sq_error err;
    const double t0 = now();
    if (sq_encode_rtn(wf, &w, &err) || sq_act_quantize(x, m, k, w.k, 8, act, s_a, &err)) {
        fprintf(stderr, "bench_gemm: %s\n", err.text);
        return 1;
    }
    printf("M=%zu N=%zu K=%zu group=%u: encode %.1f Mweight/s\n", m, n, k, w.format.group,
           (double)(n * k) / (now() - t0) * 1e-6);
    for (int kernel = SQ_GEMM_PORTABLE; kernel < SQ_GEMM_N_KERNELS; kernel++) {
        const char *name = sq_gemm_kernel_name((enum sq_gemm_kernel)kernel);
        if (!sq_gemm_kernel_is_supported((enum sq_gemm_kernel)kernel)) {
            printf("%-8s not on this processor\n", name);
            continue;
        }
        const double s = best_seconds((enum sq_gemm_kernel)kernel, &w, act, s_a, m, y, scratch);
        printf("%-8s %8.2f GMAC/s\n", name, (double)(m * n * k) / s * 1e-9);
    }
    free(w.lo), free(w.hi), free(w.s_lo), free(w.s_hi);
    free(wf), free(x), free(s_a), free(y), free(act), free(scratch);
    return 0;
}
