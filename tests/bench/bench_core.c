// SPDX-License-Identifier: Apache-2.0
// What a cycle and a value cost on this machine, all in one run: the golden product of a 512^3
// GEMM beside OpenBLAS' SGEMM on one thread, the same GEMM through both engines of the cycle model,
// and the verilated RTL of a small core; then the product up to 8192^3, with the memory it takes
// beside its operands. Medians of five (of one from 2048^3 on); the ratios are what to quote.
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "models/sq_rng.h"
#include "sim/cosim/sq_rtl_build.h"
#include "sim/llm/sq_layer.h"

enum { SIZE = 512, LARGEST = 8192, REPEATS = 5, RTL_CYCLES = 20000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *v, unsigned n)
{
    qsort(v, n, sizeof *v, ascending);
    return v[n / 2];
}

static double median(double *v)
{
    return median_of(v, REPEATS);
}

static float *random_matrix(size_t n, uint64_t seed)
{
    struct sq_rng r = {seed};
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++)
        x[i] = (float)(2 * sq_rng_unit(&r) - 1);
    return x;
}

static _Noreturn void die(const struct sq_error *err)
{
    fprintf(stderr, "bench_core: %s\n", err->text);
    exit(2);
}

// Seconds per call of the golden product, and the layer that it leaves.
static double bench_values(const struct sq_layer_options *o, size_t size, unsigned repeats,
                           struct sq_layer_run *r)
{
    float *x = random_matrix(size * size, 1), *w = random_matrix(size * size, 2);
    double seconds[REPEATS];
    struct sq_error err;
    if (!x || !w)
        exit(2);
    for (unsigned i = 0; i < repeats; i++) {
        if (i > 0)
            sq_layer_free(r);
        if (sq_layer_compute(r, o, "bench", x, w, size, size, size, &err) != SQ_OK)
            die(&err);
        seconds[i] = r->seconds_values;
    }
    free(x);
    free(w);
    return median_of(seconds, repeats);
}

static double bench_sgemm(void)
{
    float *x = random_matrix((size_t)SIZE * SIZE, 1), *w = random_matrix((size_t)SIZE * SIZE, 2);
    float *y = random_matrix((size_t)SIZE * SIZE, 3);
    double seconds[REPEATS];
    if (!x || !w || !y)
        exit(2);
    openblas_set_num_threads(1);
    for (unsigned i = 0; i < REPEATS; i++) {
        const double start = now();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, SIZE, SIZE, SIZE, 1, x, SIZE, w, SIZE,
                    0, y, SIZE);
        seconds[i] = now() - start;
    }
    free(x);
    free(w);
    free(y);
    return median(seconds);
}

static double peak_nbytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return 1024. * (double)usage.ru_maxrss;
}

// X, W and Y in binary32, the codes of both.
static double operand_nbytes(const struct sq_layer_options *o, double size)
{
    return size * size * (3 * 4 + 1 + sq_format_equivalent_bits(&o->format) / 8);
}

static void bench_growth(const struct sq_layer_options *o)
{
    printf("%8s %14s %14s %20s %20s\n", "size", "million MAC/s", "cycles", "operands MB",
           "beside them MB");
    for (size_t size = SIZE; size <= LARGEST; size *= 2) {
        struct sq_layer_run r;
        const double macs = (double)size * (double)size * (double)size;
        const double seconds = bench_values(o, size, size < 2048 ? REPEATS : 1, &r);
        const double operands = operand_nbytes(o, (double)size), peak = peak_nbytes();
        printf("%6zu^3 %14.0f %14llu %20.1f %20.1f\n", size, 1e-6 * macs / seconds,
               (unsigned long long)r.stats.cycles, 1e-6 * operands, 1e-6 * (peak - operands));
        sq_layer_free(&r);
    }
}

static double bench_engine(const struct sq_core_config *config, const struct sq_job *job, bool fast)
{
    static const struct sq_rates rates = {1, 1, 1, 1};
    double seconds[REPEATS];
    for (unsigned i = 0; i < REPEATS; i++) {
        const double start = now();
        const struct sq_core_stats s =
            fast ? sq_core_run_fast(config, job, &rates) : sq_core_run_step(config, job, &rates);
        seconds[i] = now() - start;
        if (s.cycles < sq_job_bound(config, job))
            exit(1);
    }
    return median(seconds);
}

// Seconds per cycle of the verilated core with free streams and random data.
static double bench_rtl(const struct sq_rtl_point *point)
{
    struct sq_error err;
    struct sq_rtl rtl;
    struct sq_rng r = {3};
    bool built;
    uint32_t *data = calloc(4096, sizeof *data);
    double seconds[REPEATS];
    if (!data || sq_rtl_load(&rtl, point, ".", &built, &err) != SQ_OK)
        die(&err);
    for (unsigned i = 0; i < 4096; i++)
        data[i] = (uint32_t)sq_rng_next(&r);
    void *model = rtl.api->create(1, NULL, 0);
    const struct sq_rtl_core_in in = {1, 1, 1, 1, 1, 4, 0xffffffff, data, data, data};
    struct sq_rtl_core_out out;
    for (unsigned i = 0; i < REPEATS; i++) {
        const double start = now();
        for (unsigned c = 0; c < RTL_CYCLES; c++) {
            for (unsigned word = 0; word < 64; word++) // new operands in every cycle
                data[word] = data[word] * 1664525u + 1013904223u;
            rtl.api->core_comb(model, &in, &out);
            rtl.api->clock(model);
        }
        seconds[i] = (now() - start) / RTL_CYCLES;
    }
    rtl.api->destroy(model);
    sq_rtl_unload(&rtl);
    free(data);
    return median(seconds);
}

int main(void)
{
    const struct sq_core_config big = sq_core_config_default();
    struct sq_core_config small = big;
    small.rows = 2;
    small.cols = 4;
    const struct sq_layer_options o = {.config = big, .format = sq_format_default(), .jobs = 1};
    const struct sq_rtl_point point = {.block = SQ_RTL_CORE, .config = small};
    struct sq_layer_run r;

    const double macs = (double)SIZE * SIZE * SIZE;
    const double values = macs / bench_values(&o, SIZE, REPEATS, &r), sgemm = macs / bench_sgemm();
    const double step = (double)r.stats.cycles / bench_engine(&big, &r.job, false);
    const double fast = (double)r.stats.cycles / bench_engine(&big, &r.job, true);
    const double rtl_cycles = 1 / bench_rtl(&point);
    const double rtl = rtl_cycles * small.rows * small.cols * small.low_lanes;

    printf("golden values, 512^3, one thread   %10.0f million MAC/s\n", values * 1e-6);
    printf("OpenBLAS SGEMM, 512^3, one thread  %10.0f million MAC/s\n", sgemm * 1e-6);
    printf("values against SGEMM               %10.2f x\n", values / sgemm);
    printf("verilated core 2x4, L=16           %10.0f million low MAC/s (%.0f k cycles/s)\n",
           rtl * 1e-6, rtl_cycles * 1e-3);
    printf("values against RTL                 %10.1f x\n", values / rtl);
    printf("stepping engine                    %10.1f million cycles/s\n", step * 1e-6);
    printf("fast engine, 512^3                 %10.1f million cycles/s\n", fast * 1e-6);
    sq_layer_free(&r);
    bench_growth(&o);
    return 0;
}
