// SPDX-License-Identifier: Apache-2.0
// SQ Algorithm 1 on one layer against its own BLAS and LAPACK calls: 4096 x 4096 weights, 8192
// calibration tokens unless told otherwise, default format, two threads. First the algorithm from
// activations to codes; then nothing but the calls it makes, on the same blocks and threads. The
// goal is a ratio of at most 2 and less than 1.5 GB of memory.
//
//   bench_algorithm1 [--quick] [N K T]
#include <cblas.h>
#include <lapacke.h>
#include <omp.h>
#include <sys/resource.h>

#include "models/quant/sq_blas.h"
#include "models/quant/sq_codes_alloc.h"
#include "models/quant/sq_gptq.h"
#include "tests/bench/bench.h"

enum { TILE = 256, TOKENS = 512, ROWS = 64, BLOCK = 128 }; // as sq_calibration.c and sq_gptq.c

static double *zeros(size_t n)
{
    double *x = calloc(n, sizeof *x);
    if (!x)
        bench_die("out of memory");
    return x;
}

static double peak_gigabytes(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss * 1024 / 1e9;
}

// Statistics, factor, masks, codes.
static void algorithm1(const float *x, const float *w, size_t n, size_t k, size_t t, double at[4])
{
    struct sq_error err;
    struct sq_calibration c;
    struct sq_factor f;
    struct sq_codes codes = {.grid = {SQ_GRID_OWN, 8, 4},
                             .n = n,
                             .k = k,
                             .k_orig = k,
                             .group = 128,
                             .bank = 32,
                             .high_per_bank = 8};
    const struct sq_gptq options = {0};
    at[0] = omp_get_wtime();
    bench_need(sq_calibration_init(&c, k, true, &err), &err);
    bench_need(sq_calibration_add(&c, x, t, &err), &err);
    at[1] = omp_get_wtime();
    bench_need(sq_factor_init(&f, &c, NULL, 0.01, &err), &err);
    at[2] = omp_get_wtime();
    bench_need(sq_codes_alloc(&codes, &err), &err);
    bench_need(sq_gptq_encode(&codes, w, &f, &options, NULL, &err), &err);
    at[3] = omp_get_wtime();
    sq_calibration_free(&c);
    sq_factor_free(&f);
    sq_codes_free(&codes);
}

// The products X^T X of t tokens, TOKENS at a time, from one chunk of data.
static void blas_calibration(double *h, const double *x, size_t k, size_t t)
{
    const size_t tiles = k / TILE;
    for (size_t done = 0; done < t; done += TOKENS) {
#pragma omp parallel for schedule(dynamic)
        for (size_t i = 0; i < tiles * tiles; i++)
            if (i % tiles <= i / tiles)
                cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, TILE, TILE, TOKENS, 1,
                            x + i / tiles * TILE, (int)k, x + i % tiles * TILE, (int)k, 1,
                            h + i / tiles * TILE * k + i % tiles * TILE, (int)k);
    }
}

static void blas_factor(double *h, size_t k)
{
    for (size_t i = 0; i < k; i++)
        h[i * k + i] += 1e3 * (double)k;
    const lapack_int n = (lapack_int)k;
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, h, n) != 0 ||
        LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'U', 'N', n, h, n) != 0)
        fprintf(stderr, "bench_algorithm1: the reference factorisation failed\n");
}

static void blas_updates(const double *u, size_t n, size_t k)
{
#pragma omp parallel
    {
        double *w = zeros(ROWS * k), *e = zeros(ROWS * BLOCK);
#pragma omp for schedule(dynamic)
        for (size_t row = 0; row < n; row += ROWS)
            for (size_t end = BLOCK; end < k; end += BLOCK)
                cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, (int)(k - end), BLOCK,
                            -1, e, BLOCK, u + (end - BLOCK) * k + end, (int)k, 1, w + end, (int)k);
        free(w);
        free(e);
    }
}

int main(int argc, char **argv)
{
    const size_t full = bench_is_quick(&argc, argv) ? 256 : 4096;
    size_t dim[3] = {full, full, 2 * full};
    for (int i = 1; i < argc && i < 4; i++)
        dim[i - 1] = strtoul(argv[i], NULL, 10);
    const size_t n = dim[0], k = dim[1], t = dim[2];
    if (n % ROWS || k % TILE || t % TOKENS || n == 0 || k == 0 || t == 0) {
        fprintf(stderr, "usage: bench_algorithm1 [N K T], multiples of %d, %d and %d\n", ROWS, TILE,
                TOKENS);
        return 2;
    }
    omp_set_num_threads(2);
    sq_blas_serial();
    float *x = bench_matrix(t * k, 1), *w = bench_matrix(n * k, 2);
    double a[4], b[4];
    algorithm1(x, w, n, k, t, a);
    const double memory = peak_gigabytes();
    double *wide = bench_alloc(TOKENS * k * sizeof *wide), *h = zeros(k * k);
    for (size_t i = 0; i < TOKENS * k; i++)
        wide[i] = (double)x[i];
    b[0] = omp_get_wtime();
    blas_calibration(h, wide, k, t);
    b[1] = omp_get_wtime();
    blas_factor(h, k);
    b[2] = omp_get_wtime();
    blas_updates(h, n, k);
    b[3] = omp_get_wtime();
    static const char *const part[] = {"statistics", "factor U", "masks, codes", "all"};
    char name[96];
    for (unsigned i = 0; i < 4; i++) {
        const unsigned from = i < 3 ? i : 0, to = i < 3 ? i + 1 : 3;
        const double ours = a[to] - a[from], blas = b[to] - b[from];
        snprintf(name, sizeof name, "%s %zux%zu, %zu tokens", part[i], n, k, t);
        BENCH_ROW("algorithm 1, two threads", name, {"ours_s", ours}, {"blas_s", blas},
                  {"ratio", ours / blas}, {"peak_gb", memory});
    }
    free(x), free(w), free(wide), free(h);
    return 0;
}
