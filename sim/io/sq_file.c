// SPDX-License-Identifier: Apache-2.0
#include "sim/io/sq_file.h"

#include <errno.h>
#include <fcntl.h>
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
    }
    close(fd);
    return status;
}

void sq_file_unmap(struct sq_file_view *map)
{
    if (map->data)
        munmap((void *)(uintptr_t)map->data, map->nbytes);
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

// An unnamed file in the directory of `path`, or one under the name `temp`; -1 and errno.
static int open_beside(const char *path, const char *temp)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
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
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory opening '%s'", sq_path_tail(path));
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
    int bad = name_temp(fileno(out->stream), out->temp);
    if (!bad) {
        bad = fclose(out->stream);
        out->stream = NULL;
        bad = bad || rename(out->temp, out->path);
    }
    int code = errno;
    enum sq_status status = bad ? fail_io(err, "write", out->path, code) : SQ_OK;
    if (!bad) {
        free(out->temp);
        out->temp = NULL; // renamed: nothing to remove
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
