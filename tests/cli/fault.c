// SPDX-License-Identifier: Apache-2.0
// A shim for LD_PRELOAD (fault.t): allocation number FAULT_ALLOC of the process, or write number FAULT_WRITE to a
// file, fails, and all behind it; numbers from 1 on. A write fails as on a full disk. Without either it counts
// into the file that FAULT_COUNT names: "allocations writes". Of copies (strdup) number FAULT_COPY alone fails.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

static atomic_ulong n_alloc, n_write, n_copy;
static unsigned long fail_alloc, fail_write, fail_copy;
static bool is_on; // after main's libraries have started: what they need to load is not ours

__attribute__((constructor)) static void begin(void)
{
    const char *a = getenv("FAULT_ALLOC"), *w = getenv("FAULT_WRITE"), *c = getenv("FAULT_COPY");
    fail_alloc = a ? strtoul(a, NULL, 10) : 0;
    fail_write = w ? strtoul(w, NULL, 10) : 0;
    fail_copy = c ? strtoul(c, NULL, 10) : 0;
    is_on = true;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAULT_COUNT");
    is_on = false;
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%lu %lu\n", (unsigned long)n_alloc, (unsigned long)n_write);
        fclose(f);
    }
}

static bool fails_alloc(void)
{
    return is_on && ++n_alloc >= fail_alloc && fail_alloc > 0;
}

static void *none(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t n)
{
    return fails_alloc() ? none() : __libc_malloc(n);
}

char *strdup(const char *text)
{
    const size_t n = strlen(text) + 1;
    char *copy = is_on && ++n_copy == fail_copy ? none() : malloc(n);
    return copy ? memcpy(copy, text, n) : NULL;
}

void *calloc(size_t n, size_t size)
{
    return fails_alloc() ? none() : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return fails_alloc() ? none() : __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return fails_alloc() ? none() : __libc_memalign(alignment, n);
}

// Only regular files: stdout and stderr of a test are others, or lie in a file that must take the sentence.
static bool fails_write(int fd)
{
    struct stat st;
    if (!is_on || fd <= 2 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    return ++n_write >= fail_write && fail_write > 0;
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    static ssize_t (*next)(int, const void *, size_t);
    if (!next)
        next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (!fails_write(fd))
        return next(fd, bytes, n);
    errno = ENOSPC;
    return -1;
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    static ssize_t (*next)(int, const void *, size_t, off64_t);
    if (!next)
        next = (ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    if (!fails_write(fd))
        return next(fd, bytes, n, at);
    errno = ENOSPC;
    return -1;
}

// stdio writes by a call of its own inside the C library, which no shim sees; fprintf's text is not counted.
size_t fwrite(const void *bytes, size_t size, size_t n, FILE *f)
{
    static size_t (*next)(const void *, size_t, size_t, FILE *);
    if (!next)
        next = (size_t(*)(const void *, size_t, size_t, FILE *))dlsym(RTLD_NEXT, "fwrite");
    if (!fails_write(fileno(f)))
        return next(bytes, size, n, f);
    f->_flags |= 0x20; // glibc's mark that ferror() reads (_IO_ERR_SEEN)
    errno = ENOSPC;
    return 0;
}
