// SPDX-License-Identifier: Apache-2.0
#include "sim/io/sq_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *sq_path_tail(const char *path)
{
    size_t n = strlen(path);
    return n > 96 ? path + n - 96 : path;
}

static enum sq_status fail_io(struct sq_error *err, const char *verb, const char *path, int code)
{
    return SQ_FAIL(err, SQ_ERR_IO, "cannot %s '%s': %s", verb, sq_path_tail(path), strerror(code));
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode) ? "a directory" : "no regular file";
}

// ---- in -------------------------------------------------------------------------------------

// What is mapped, for a handler of SIGBUS: a signal is the program's, not a caller's.
static struct mapped {
    atomic_uintptr_t begin; // 0: free, 1: being filled
    atomic_size_t nbytes;
    char name[97];
} mapped[256];

static void note_map(const struct sq_file_view *map, const char *path)
{
    for (size_t i = 0; i < sizeof mapped / sizeof mapped[0]; i++) {
        uintptr_t free_one = 0;
        if (!atomic_compare_exchange_strong(&mapped[i].begin, &free_one, 1))
            continue;
        memccpy(mapped[i].name, sq_path_tail(path), '\0', sizeof mapped[i].name - 1);
        mapped[i].nbytes = map->nbytes;
        mapped[i].begin = (uintptr_t)map->data;
        return;
    }
}

static void forget_map(const struct sq_file_view *map)
{
    for (size_t i = 0; i < sizeof mapped / sizeof mapped[0]; i++) {
        uintptr_t this_one = (uintptr_t)map->data;
        if (atomic_compare_exchange_strong(&mapped[i].begin, &this_one, 0))
            return;
    }
}

const char *sq_file_at(const void *address)
{
    for (size_t i = 0; i < sizeof mapped / sizeof mapped[0]; i++) {
        const uintptr_t begin = mapped[i].begin;
        if (begin > 1 && (uintptr_t)address >= begin &&
            (uintptr_t)address - begin < mapped[i].nbytes)
            return mapped[i].name;
    }
    return NULL;
}

enum sq_status sq_file_map(const char *path, struct sq_file_view *map, struct sq_error *err)
{
    *map = (struct sq_file_view){0};
    // O_NONBLOCK: opening a pipe without a writer must not wait.
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return fail_io(err, "open", path, errno);
    struct stat st;
    enum sq_status status = SQ_OK;
    if (fstat(fd, &st) != 0) {
        status = fail_io(err, "read", path, errno);
    } else if (!S_ISREG(st.st_mode)) {
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot read '%s': it is %s", sq_path_tail(path),
                         kind_of(st.st_mode));
    } else if (st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            status = fail_io(err, "map", path, errno);
        else
            *map = (struct sq_file_view){data, (size_t)st.st_size};
        if (map->data)
            note_map(map, path);
    }
    close(fd);
    return status;
}

void sq_file_unmap(struct sq_file_view *map)
{
    if (map->data) {
        forget_map(map);
        munmap((void *)(uintptr_t)map->data, map->nbytes);
    }
    *map = (struct sq_file_view){0};
}

void sq_file_forget(const struct sq_file_view *map, const uint8_t *at, size_t nbytes)
{
    if (!map->data)
        return; // not our pages: dropping them would lose their contents
    // Whole pages inside the range only: neighbours keep theirs.
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = ((uintptr_t)at + page - 1) & ~(page - 1);
    const uintptr_t end = ((uintptr_t)at + nbytes) & ~(page - 1);
    if (begin < end)
        (void)madvise((void *)begin, end - begin,
                      MADV_DONTNEED); // a hint: failure costs memory only
}

// ---- out ------------------------------------------------------------------------------------

// The directory of `path`; the caller frees it. NULL without memory.
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

// File systems that cannot say that something is on a disk, as some of networks, have no better.
static int sync_fd(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS || errno == EROFS ? 0 : -1;
}

// The new name in its directory. Where that may not be read (mode -wx) it stays with the system.
static int sync_directory(const char *path)
{
    char *dir = directory_of(path);
    const int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const int result = fd < 0 ? 0 : sync_fd(fd), code = errno;
    if (fd >= 0)
        close(fd);
    free(dir);
    errno = code;
    return result;
}

// An unnamed file in the directory of `path`, or one under the name `temp`; -1 and errno.
static int open_beside(const char *path, const char *temp)
{
    char *dir = directory_of(path);
    if (!dir) {
        errno = ENOMEM;
        return -1;
    }
    int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        fd = open(temp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    int code = errno;
    free(dir);
    errno = code;
    return fd;
}

// Gives an unnamed file its temporary name; nothing to do where it has one already.
static int name_temp(int fd, const char *temp)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_nlink > 0)
        return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link, AT_FDCWD, temp, AT_SYMLINK_FOLLOW);
}

static enum sq_status refuse_target(const char *path, struct sq_error *err)
{
    size_t n = strlen(path);
    if (n == 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write '': the file name is empty");
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write '%s': it is %s", sq_path_tail(path),
                       kind_of(st.st_mode));
    if (path[n - 1] == '/')
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write '%s': it names a directory",
                       sq_path_tail(path));
    return SQ_OK;
}

enum sq_status sq_outfile_open(struct sq_outfile *out, const char *path, struct sq_error *err)
{
    *out = (struct sq_outfile){0};
    SQ_TRY(refuse_target(path, err));
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    out->path = strdup(path);
    if (!out->path ||
        asprintf(&out->temp, "%s.tmp-%ld-%09ld", path, (long)getpid(), now.tv_nsec) < 0) {
        out->temp = NULL; // asprintf leaves it undefined
        sq_outfile_abort(out);
        return SQ_NO_MEMORY(err, "'%s'", sq_path_tail(path));
    }
    int fd = open_beside(path, out->temp);
    if (fd >= 0 && (out->stream = fdopen(fd, "wb")))
        return SQ_OK;
    int code = errno;
    if (fd >= 0)
        close(fd);
    sq_outfile_abort(out);
    return fail_io(err, "write", path, code);
}

enum sq_status sq_outfile_flush(struct sq_outfile *out, struct sq_error *err)
{
    if (!ferror(out->stream) && fflush(out->stream) == 0)
        return SQ_OK;
    // stdio may have lost the reason; one more byte of a file that goes away tells it.
    return fail_io(err, "write", out->path, write(fileno(out->stream), "", 1) < 0 ? errno : EIO);
}

enum sq_status sq_outfile_commit(struct sq_outfile *out, struct sq_error *err)
{
    const enum sq_status flushed = sq_outfile_flush(out, err);
    if (flushed != SQ_OK) {
        sq_outfile_abort(out);
        return flushed;
    }
    int bad = sync_fd(fileno(out->stream));
    bad = bad || name_temp(fileno(out->stream), out->temp);
    if (!bad) {
        bad = fclose(out->stream);
        out->stream = NULL;
        bad = bad || rename(out->temp, out->path);
    }
    const bool is_renamed = !bad;
    bad = bad || sync_directory(out->path);
    int code = errno;
    enum sq_status status = bad ? fail_io(err, "write", out->path, code) : SQ_OK;
    if (is_renamed) {
        free(out->temp);
        out->temp = NULL; // nothing to remove
    }
    sq_outfile_abort(out);
    return status;
}

void sq_outfile_abort(struct sq_outfile *out)
{
    if (out->stream)
        fclose(out->stream);
    if (out->temp)
        unlink(out->temp);
    free(out->temp);
    free(out->path);
    *out = (struct sq_outfile){0};
}
