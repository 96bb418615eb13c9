// SPDX-License-Identifier: Apache-2.0
// Maps inputs, renames outputs when they are complete, and protects inputs from being overwritten
// (sq_file.h).
#include "sim/io/sq_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <search.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sim/io/sq_grow.h"

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

// The directory of `path`; the caller frees it. NULL without memory.
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

// ---- inputs that no output replaces -----------------------------------------------------------

// A file, by its inode; or a name in a folder, of a file that may not be there yet.
struct input {
    dev_t dev;
    ino_t ino;               // of the file, or of the folder
    char name[NAME_MAX + 1]; // "" for a file
};

static struct {
    pthread_mutex_t lock;
    atomic_bool is_on;
    void *root; // of a tree of struct input (search.h)
} protected = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int by_identity(const void *a, const void *b)
{
    const struct input *const x = a, *const y = b;
    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    if (x->ino != y->ino)
        return x->ino < y->ino ? -1 : 1;
    return strcmp(x->name, y->name);
}

// Without memory an input is not remembered, and whatever runs next says so.
static void remember(const struct input *in)
{
    struct input *const copy = malloc(sizeof *copy);
    if (!copy)
        return;
    *copy = *in;
    pthread_mutex_lock(&protected.lock);
    void *const *const node = tsearch(copy, &protected.root, by_identity);
    if (!node || *node != copy)
        free(copy); // it is there already
    pthread_mutex_unlock(&protected.lock);
}

static bool is_remembered(const struct input *in)
{
    pthread_mutex_lock(&protected.lock);
    const bool found = tfind(in, &protected.root, by_identity) != NULL;
    pthread_mutex_unlock(&protected.lock);
    return found;
}

// `path` followed by `tail` as a name in its folder; false where there is no such folder.
static bool name_of(const char *path, const char *tail, struct input *in)
{
    SQ_FREED char *const folder = directory_of(path);
    struct stat st;
    const char *const slash = strrchr(path, '/');
    const bool is_found = folder && stat(folder, &st) == 0;
    *in = (struct input){0};
    if (is_found) {
        in->dev = st.st_dev;
        in->ino = st.st_ino;
        snprintf(in->name, sizeof in->name, "%s%s", slash ? slash + 1 : path, tail);
    }
    return is_found && in->name[0];
}

static void remember_name(const char *path, const char *tail)
{
    struct input in;
    if (name_of(path, tail, &in))
        remember(&in);
}

static void remember_file(const struct stat *st)
{
    remember(&(struct input){.dev = st->st_dev, .ino = st->st_ino});
}

// The files of a folder and of the folders in it, through links.
static void remember_folder(int fd, int depth)
{
    DIR *const dir = fd < 0 ? NULL : fdopendir(fd);
    struct stat st;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd(dir), e->d_name, &st, 0) != 0)
            continue;
        if (S_ISREG(st.st_mode))
            remember_file(&st);
        else if (S_ISDIR(st.st_mode) && depth > 0)
            remember_folder(openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                            depth - 1);
    }
    closedir(dir);
}

void sq_file_protect(const char *path)
{
    static const char *const tails[] = {"", "-wal", "-shm", "-journal"}; // those of SQLite
    struct stat st;
    protected.is_on = true;
    if (!path)
        return;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        remember_folder(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 1);
        return;
    }
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        remember_file(&st);
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++)
        remember_name(path, tails[i]);
}

static enum sq_status refuse_input(const char *path, struct sq_error *err)
{
    struct stat st;
    struct input in;
    if (!protected.is_on)
        return SQ_OK;
    const bool is_file =
        stat(path, &st) == 0 && is_remembered(&(struct input){.dev = st.st_dev, .ino = st.st_ino});
    if (is_file || (name_of(path, "", &in) && is_remembered(&in)))
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "cannot write '%s': it is an input of this command, or a file in a folder "
                       "that is one; need another name",
                       sq_path_tail(path));
    return SQ_OK;
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
    } else if (protected.is_on) {
        remember_file(&st);
    }
    if (status == SQ_OK && st.st_size > 0) {
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
    // Never one of the standard three: what a program or a library prints there would go into it.
    if (fd >= 0 && fd <= STDERR_FILENO) {
        const int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(fd);
        fd = high;
    }
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

// Whether the folder of `path` is one of the system, where a new name would take the place of a device or a stream.
static bool is_among_devices(const char *path)
{
    char *const copy = strdup(path);
    char *const folder = copy ? realpath(dirname(copy), NULL) : NULL;
    const bool is = folder && (strcmp(folder, "/dev") == 0 || strcmp(folder, "/dev/fd") == 0 ||
                               strncmp(folder, "/proc/", 6) == 0);
    free(folder);
    free(copy);
    return is;
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
    if (is_among_devices(path))
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write '%s': it lies among devices",
                       sq_path_tail(path));
    if (path[n - 1] == '/')
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write '%s': it names a directory",
                       sq_path_tail(path));
    return refuse_input(path, err);
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

// Files that wait for each other.
static _Thread_local struct {
    bool is_open;
    struct sq_outfile *file;
    size_t n;
} set;

static enum sq_status enlist(struct sq_outfile *out, struct sq_error *err)
{
    SQ_TRY(SQ_GROW(set.file, set.n, err, "%zu files", set.n));
    set.file[set.n++] = *out;
    *out = (struct sq_outfile){0};
    return SQ_OK;
}

// All of the file is on the disk.
static enum sq_status complete(struct sq_outfile *out, struct sq_error *err)
{
    SQ_TRY(refuse_input(out->path, err)); // it may have been read since
    SQ_TRY(sq_outfile_flush(out, err));
    return sync_fd(fileno(out->stream)) == 0 ? SQ_OK : fail_io(err, "write", out->path, errno);
}

// Its temporary name, beside a target that still is none or a file.
static enum sq_status stage(struct sq_outfile *out, struct sq_error *err)
{
    SQ_TRY(refuse_target(out->path, err));
    return name_temp(fileno(out->stream), out->temp) == 0 ? SQ_OK
                                                          : fail_io(err, "write", out->path, errno);
}

static enum sq_status give_name(struct sq_outfile *out, struct sq_error *err)
{
    int bad = name_temp(fileno(out->stream), out->temp);
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

enum sq_status sq_outfile_commit(struct sq_outfile *out, struct sq_error *err)
{
    enum sq_status status = complete(out, err);
    SQ_THEN(status, set.is_open ? enlist(out, err) : give_name(out, err));
    sq_outfile_abort(out);
    return status;
}

void sq_outset_begin(void)
{
    struct rlimit files;
    set.is_open = true;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

enum sq_status sq_outset_end(enum sq_status so_far, struct sq_error *err)
{
    enum sq_status status = so_far;
    for (size_t i = 0; i < set.n && status == SQ_OK; i++)
        status = stage(&set.file[i], err);
    for (size_t i = 0; i < set.n && status == SQ_OK; i++)
        status = give_name(&set.file[i], err);
    for (size_t i = 0; i < set.n; i++)
        sq_outfile_abort(&set.file[i]);
    free(set.file);
    memset(&set, 0, sizeof set);
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

enum sq_status sq_outfile_write(const char *path, const void *data, size_t nbytes,
                                struct sq_error *err)
{
    struct sq_outfile out;
    SQ_TRY(sq_outfile_open(&out, path, err));
    fwrite(data, 1, nbytes, out.stream);
    return sq_outfile_commit(&out, err);
}
