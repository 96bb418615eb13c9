// SPDX-License-Identifier: Apache-2.0
// A directory of the test's own, and files written byte for byte.
#pragma once

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/fixture.h"

// In memory where that is offered: thousands of small files.
static inline char *tmpdir_make(char path[64])
{
    strcpy(path, access("/dev/shm", W_OK) == 0 ? "/dev/shm/sq-test-XXXXXX" : "/tmp/sq-test-XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

// DIR/NAME in one of eight buffers of the calling thread, which live as long as it does.
static inline char *tmpdir_path(const char *dir, const char *name)
{
    static _Thread_local char path[8][256];
    static _Thread_local unsigned next;
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", dir, name);
    return path[next];
}

static inline void write_bytes(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

// The whole file, in memory of the running test.
static inline uint8_t *read_bytes(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = fixture_exact(*n);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

// Renames the digest of a safetensors file in memory: what reads behind it is to be tested.
static inline void drop_digest(uint8_t *bytes, size_t n)
{
    uint8_t *at = memmem(bytes, n, "\"sq_digest\"", 11);
    assert_non_null(at);
    memcpy(at, "\"no_digest\"", 11);
}

static inline int count_files(const char *dir)
{
    DIR *d = opendir(dir);
    assert_non_null(d);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.' || (e->d_name[1] != '\0' && e->d_name[1] != '.');
    closedir(d);
    return n;
}

static inline int tmpdir_drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

// Removes `dir` with what is below it.
static inline void tmpdir_remove(const char *dir)
{
    assert_int_equal(nftw(dir, tmpdir_drop, 16, FTW_DEPTH | FTW_PHYS), 0);
}

// A directory of this name for all tests of a program: made before the first, removed behind the last.
#define TMPDIR_OF_ALL(dir)                                                                         \
    static char dir[64];                                                                           \
    static int tmpdir_set_up(void **state)                                                         \
    {                                                                                              \
        (void)state;                                                                               \
        tmpdir_make(dir);                                                                          \
        return 0;                                                                                  \
    }                                                                                              \
    static int tmpdir_tear_down(void **state)                                                      \
    {                                                                                              \
        (void)state;                                                                               \
        tmpdir_remove(dir);                                                                        \
        return 0;                                                                                  \
    }                                                                                              \
    SQ_BEFORE_ALL(tmpdir_set_up)                                                                   \
    SQ_AFTER_ALL(tmpdir_tear_down)
