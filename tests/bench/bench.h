// SPDX-License-Identifier: Apache-2.0
// What the benchmarks share: clocks, medians, random matrices, and rows of results. A row has a
// part ("product"), a name ("nvfp4 512^3") and figures with a key each. It is printed as a line of
// a table, and appended as a line of JSON to the file that BENCH_JSON names, where it is set.
//
// `--quick` as the first argument makes a program small: the test bench.t runs every one of them
// so. No benchmark judges a time: it exits with 0 when everything it measures could be done.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "models/sq_rng.h"
#include "models/sq_status.h"
#include "sim/io/sq_order.h"

static inline double bench_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Seconds by the clock on the wall.
static inline double bench_now(void)
{
    return bench_clock(CLOCK_MONOTONIC);
}

// Seconds of processor time of all threads: for work of one thread on a machine that others use.
static inline double bench_cpu(void)
{
    return bench_clock(CLOCK_PROCESS_CPUTIME_ID);
}

static inline _Noreturn void bench_die(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(3);
}

static inline void bench_need(enum sq_status status, const struct sq_error *err)
{
    if (status != SQ_OK)
        bench_die(err->text);
}

static inline void *bench_alloc(size_t nbytes)
{
    void *p = malloc(nbytes);
    if (!p)
        bench_die("out of memory");
    return p;
}

// Sums of four uniform numbers, near enough to normal: mean 0, variance 1/3.
static inline float *bench_matrix(size_t n, uint64_t seed)
{
    struct sq_rng r = {seed};
    float *x = bench_alloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(sq_rng_unit(&r) + sq_rng_unit(&r) + sq_rng_unit(&r) + sq_rng_unit(&r) - 2);
    return x;
}

// The median of v[n], n >= 1; it sorts v.
static inline double bench_median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, sq_by_number);
    return v[n / 2];
}

// Whether the first argument is --quick; it is then removed.
static inline bool bench_is_quick(int *argc, char **argv)
{
    if (*argc < 2 || strcmp(argv[1], "--quick") != 0)
        return false;
    memmove(argv + 1, argv + 2, (size_t)(*argc - 1) * sizeof *argv);
    --*argc;
    return true;
}

// ---- rows -----------------------------------------------------------------------------------

struct bench_figure {
    const char *key; // "gmac_s"
    double value;    // no number, also where a clock saw no time: "-" in text, null in JSON
};

// Three significant digits; whole numbers from 1000 on.
static inline void bench_number(double v, char text[32])
{
    if (!isfinite(v))
        snprintf(text, 32, "-");
    else
        snprintf(text, 32, fabs(v) >= 1000 ? "%.0f" : "%.3g", v);
}

// Prints a heading where `part` is another one than in the row before. Names have no quotes or
// backslashes in them.
static inline void bench_row(const char *part, const char *name, size_t n,
                             const struct bench_figure *figure)
{
    static char last[64];
    char number[32];
    if (strcmp(last, part) != 0) {
        printf("\n%-32s", part);
        for (size_t i = 0; i < n; i++)
            printf(" %14s", figure[i].key);
        printf("\n");
        snprintf(last, sizeof last, "%s", part);
    }
    printf("  %-30s", name);
    for (size_t i = 0; i < n; i++) {
        bench_number(figure[i].value, number);
        printf(" %14s", number);
    }
    printf("\n");
    fflush(stdout);
    const char *path = getenv("BENCH_JSON");
    FILE *json = path && *path ? fopen(path, "a") : NULL;
    if (path && *path && !json)
        bench_die("cannot write the file that BENCH_JSON names");
    if (!json)
        return;
    fprintf(json, "{\"part\":\"%s\",\"name\":\"%s\"", part, name);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(figure[i].value))
            fprintf(json, ",\"%s\":null", figure[i].key);
        else
            fprintf(json, ",\"%s\":%.9g", figure[i].key, figure[i].value);
    fprintf(json, "}\n");
    if (fclose(json) != 0)
        bench_die("cannot write the file that BENCH_JSON names");
}

// A row from figures in braces: BENCH_ROW("product", name, {"gmac_s", v}, {"of_sgemm", r}).
#define BENCH_ROW(part, name, ...)                                                                 \
    bench_row(part, name,                                                                          \
              sizeof((const struct bench_figure[]){__VA_ARGS__}) / sizeof(struct bench_figure),    \
              (const struct bench_figure[]){__VA_ARGS__})
