// SPDX-License-Identifier: Apache-2.0
// Tests that register themselves, on cmocka. A program of tests is one source file, which includes
// this header once; it needs no list of its tests and no main().
//
//   SQ_TEST(zero_times_anything_is_zero)
//   {
//       assert_int_equal(product(0, 7), 0);
//   }
//
// A test that never ends fails: after SQ_TEST_SECONDS of the processor, or eight times as many on the clock if it waits. Both
// are far above what the slowest takes, so that no verdict depends on how busy a machine is.
//
// The program runs its tests in the order of the file and prints TAP. Arguments are the names of
// the tests to run, with `*` and `?` as in a shell:
//
//   build/tests/unit/core/test_gemm 'every_*'         (or: make t T=unit/core/test_gemm ARGS="every_*")
#pragma once

#ifdef __cplusplus
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#else
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#endif
#include <fnmatch.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>
#ifdef __cplusplus
}
#endif

enum { SQ_TESTS_MAX = 128 };
#ifndef SQ_TEST_SECONDS
#define SQ_TEST_SECONDS 1800
#endif

static struct {
    struct CMUnitTest test[SQ_TESTS_MAX];
    int line[SQ_TESTS_MAX];
    size_t n;
    int (*before)(void **state), (*after)(void **state);
    const char *needs, *package;
    char running[80]; // the line of TAP if it has no end
    void **kept;      // memory of the test that runs
    size_t n_kept;
} sq_tests;

// p, which is freed when the running test has ended.
static inline void *sq_test_keep(void *p)
{
    if ((sq_tests.n_kept & (sq_tests.n_kept - 1)) == 0)
        sq_tests.kept =
            (void **)realloc((void *)sq_tests.kept, (2 * sq_tests.n_kept + 1) * sizeof p);
    if (!p || !sq_tests.kept)
        abort();
    return sq_tests.kept[sq_tests.n_kept++] = p;
}

static inline void sq_test_free(void)
{
    while (sq_tests.n_kept > 0)
        free(sq_tests.kept[--sq_tests.n_kept]);
    free((void *)sq_tests.kept);
    sq_tests.kept = NULL;
}

#ifndef __cplusplus
static inline void *fixture_alloc(size_t nbytes)
{
    return sq_test_keep(aligned_alloc(64, (nbytes + 63) / 64 * 64 + 64));
}

// Exactly nbytes, so that AddressSanitizer sees the first byte beyond.
static inline void *fixture_exact(size_t nbytes)
{
    return memset(sq_test_keep(malloc(nbytes ? nbytes : 1)), 0xa5, nbytes);
}

static inline void *fixture_zeros(size_t n, size_t size)
{
    return sq_test_keep(calloc(n ? n : 1, size));
}
#endif

// The status of a call that must succeed.
#define assert_ok(call) assert_int_equal((call), SQ_OK)

// Whether a text names the room that this copy of the sources is without (make without): what spans rooms skips its rows.
static inline bool sq_is_without(const char *text)
{
    const char *const room = getenv("SQ_WITHOUT");
    return room && *room && strstr(text, room);
}

#define SQ_AT_START(name) __attribute__((constructor)) static void name(void)

static inline void sq_test_has_no_end(int number)
{
    (void)number;
    (void)!write(STDOUT_FILENO, sq_tests.running, strlen(sq_tests.running));
    _exit(1);
}

static inline void sq_test_begin(const char *name)
{
    const struct itimerval limit = {.it_interval = {0, 0}, .it_value = {SQ_TEST_SECONDS, 0}};
    snprintf(sq_tests.running, sizeof sq_tests.running, "not ok - %.50s has no end\n", name);
    setitimer(ITIMER_PROF, &limit, NULL);
    alarm(8 * SQ_TEST_SECONDS);
}

// A test: its body follows.
#define SQ_TEST(name)                                                                              \
    static void name(void);                                                                        \
    static void name##_run(void **state)                                                           \
    {                                                                                              \
        (void)state;                                                                               \
        sq_test_begin(#name);                                                                      \
        name();                                                                                    \
        sq_test_free();                                                                            \
    }                                                                                              \
    SQ_AT_START(name##_register)                                                                   \
    {                                                                                              \
        sq_test_add(#name, name##_run, __LINE__);                                                  \
    }                                                                                              \
    static void name(void)

// int function(void **state) before the first test and after the last one; 0 is success.
#define SQ_BEFORE_ALL(function)                                                                    \
    SQ_AT_START(sq_test_before)                                                                    \
    {                                                                                              \
        sq_tests.before = function;                                                                \
    }
#define SQ_AFTER_ALL(function)                                                                     \
    SQ_AT_START(sq_test_after)                                                                     \
    {                                                                                              \
        sq_tests.after = function;                                                                 \
    }

// The whole program is skipped, aloud, where this file is not there.
#define SQ_NEEDS(file, package_)                                                                   \
    SQ_AT_START(sq_test_needs)                                                                     \
    {                                                                                              \
        sq_tests.needs = file, sq_tests.package = package_;                                        \
    }

// Constructors run in no order that C fixes: tests are sorted by the line that they stand in.
static inline void sq_test_add(const char *name, CMUnitTestFunction function, int line)
{
    size_t at = sq_tests.n;
    if (sq_tests.n == SQ_TESTS_MAX) {
        fprintf(stderr, "more than %d tests in one program\n", SQ_TESTS_MAX);
        exit(2);
    }
    for (; at > 0 && sq_tests.line[at - 1] > line; at--) {
        sq_tests.test[at] = sq_tests.test[at - 1];
        sq_tests.line[at] = sq_tests.line[at - 1];
    }
    sq_tests.test[at].name = name;
    sq_tests.test[at].test_func = function;
    sq_tests.line[at] = line;
    sq_tests.n++;
}

static inline bool sq_test_is_asked(const char *name, char **pattern)
{
    for (; *pattern; pattern++)
        if (fnmatch(*pattern, name, 0) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    size_t n = 0;
    for (size_t i = 0; i < sq_tests.n; i++)
        if (argc < 2 || sq_test_is_asked(sq_tests.test[i].name, argv + 1))
            sq_tests.test[n++] = sq_tests.test[i];
    if (n == 0) {
        fprintf(stderr, "no test is called %s; there are:\n", argv[1]);
        for (size_t i = 0; i < sq_tests.n; i++)
            fprintf(stderr, "  %s\n", sq_tests.test[i].name);
        return 2;
    }
    signal(SIGPROF, sq_test_has_no_end);
    signal(SIGALRM, sq_test_has_no_end);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    FILE *needed = sq_tests.needs ? fopen(sq_tests.needs, "rb") : NULL;
    if (sq_tests.needs && !needed) {
        printf("1..0 # SKIP %s is not there (package %s)\n", sq_tests.needs, sq_tests.package);
        return 0;
    }
    if (needed)
        fclose(needed);
    return _cmocka_run_group_tests("tests", sq_tests.test, n, sq_tests.before, sq_tests.after);
}
