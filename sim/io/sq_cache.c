// SPDX-License-Identifier: Apache-2.0
// Fills, locks, checks and removes the entries of a cache (sq_cache.h).
#include "sim/io/sq_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/sq_status.h"
#include "sim/io/sq_digest.h"
#include "sim/io/sq_file.h"

// ---- who owns a place --------------------------------------------------------------------------

// What the program loads as code or believes without a look must be the user's own. Trusted are the user, root, and who
// owns the program that runs, who could change it as well.

// Refuses (SQ_ERR_IO, one sentence) a path of which a folder, or a link on the way, belongs to
// anybody else, or can be written by anybody else. The write permission of a group that holds the
// user alone is none of others; in a folder with the sticky bit, as /tmp, others cannot replace
// what is not theirs. After SQ_OK nobody else can make the path name another thing.
enum sq_status sq_owner_check_path(const char *path, struct sq_error *err);

// The same of the files in a folder, which are regular files; not of folders below it. Where only
// its owner can enter the folder, their own permissions do not matter.
enum sq_status sq_owner_check_files(const char *folder, struct sq_error *err);

enum { MAX_LINKS = 16, NAMES_LEN = 4096 };

static bool is_trusted(uid_t uid)
{
    struct stat program;
    return uid == geteuid() || uid == 0 ||
           (stat("/proc/self/exe", &program) == 0 && uid == program.st_uid);
}

// A group with the name of the user and no other member, as many systems give to every user.
static bool is_of_user_alone(gid_t gid)
{
    char user_text[NAMES_LEN], group_text[NAMES_LEN];
    struct passwd user, *u = NULL;
    struct group group, *g = NULL;
    if (getpwuid_r(geteuid(), &user, user_text, sizeof user_text, &u) != 0 || !u ||
        getgrgid_r(gid, &group, group_text, sizeof group_text, &g) != 0 || !g ||
        strcmp(u->pw_name, g->gr_name) != 0)
        return false;
    for (char **member = g->gr_mem; *member; member++)
        if (strcmp(*member, u->pw_name) != 0)
            return false;
    return true;
}

static bool others_can_write(const struct stat *st)
{
    return (st->st_mode & S_IWOTH) || ((st->st_mode & S_IWGRP) && !is_of_user_alone(st->st_gid));
}

static enum sq_status refuse_owner(const char *path, const struct stat *st, struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_IO,
                   "'%s' belongs to user %u: results are kept in folders of your own",
                   sq_path_tail(path), (unsigned)st->st_uid);
}

static enum sq_status refuse_mode(const char *path, const struct stat *st, struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_IO,
                   "others can write to '%s' (mode %04o): results are kept where nobody else can, "
                   "see chmod go-w",
                   sq_path_tail(path), (unsigned)st->st_mode & 07777);
}

static enum sq_status check(const char *path, unsigned n_links, struct sq_error *err);

// Where the link at the end of `at` leads, `path` being the whole of which `at` is the beginning.
static enum sq_status follow(const char *at, const char *rest, unsigned n_links,
                             struct sq_error *err)
{
    char target[PATH_MAX], whole[2 * PATH_MAX];
    const ssize_t n = readlink(at, target, sizeof target - 1);
    if (n < 0 || n_links == MAX_LINKS)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot follow '%s': %s", sq_path_tail(at),
                       n < 0 ? strerror(errno) : "too many links");
    target[n] = '\0';
    const char *slash = strrchr(at, '/');
    const int n_dir = target[0] == '/' ? 0 : (int)(slash + 1 - at);
    snprintf(whole, sizeof whole, "%.*s%s%s", n_dir, at, target, rest);
    return check(whole, n_links + 1, err);
}

// Every folder from / on. `path` is absolute; "." and ".." are folders as well.
static enum sq_status check(const char *path, unsigned n_links, struct sq_error *err)
{
    char at[2 * PATH_MAX];
    struct stat st;
    const size_t n = strlen(path);
    if (n >= sizeof at)
        return SQ_FAIL(err, SQ_ERR_IO, "the path '%s' is too long", sq_path_tail(path));
    for (size_t end = 1; end <= n; end++) {
        if (end > 1 && end < n && path[end] != '/')
            continue;
        if (end > 1 && path[end - 1] == '/')
            continue; // of "//", or at the end
        snprintf(at, sizeof at, "%.*s", (int)end, path);
        if (lstat(at, &st) != 0)
            return SQ_FAIL(err, SQ_ERR_IO, "cannot open '%s': %s", sq_path_tail(at),
                           strerror(errno));
        if (!is_trusted(st.st_uid))
            return refuse_owner(at, &st, err);
        if (S_ISLNK(st.st_mode))
            return follow(at, path + end, n_links, err);
        if (others_can_write(&st) && !(S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX)))
            return refuse_mode(at, &st, err);
    }
    return SQ_OK;
}

enum sq_status sq_owner_check_path(const char *path, struct sq_error *err)
{
    SQ_FREED char *here = path[0] == '/' ? strdup("") : getcwd(NULL, 0), *whole = NULL;
    enum sq_status status = SQ_OK;
    if (!here || asprintf(&whole, "%s%s%s", here, *here ? "/" : "", path) < 0) {
        whole = NULL;
        status = SQ_NO_MEMORY(err, "'%s'", sq_path_tail(path));
    }
    SQ_THEN(status, check(whole, 0, err));
    return status;
}

enum sq_status sq_owner_check_files(const char *folder, struct sq_error *err)
{
    char path[PATH_MAX];
    struct stat st, own;
    DIR *dir = opendir(folder);
    enum sq_status status = SQ_OK;
    if (!dir || fstat(dirfd(dir), &own) != 0)
        status =
            SQ_FAIL(err, SQ_ERR_IO, "cannot read '%s': %s", sq_path_tail(folder), strerror(errno));
    for (struct dirent *e; status == SQ_OK && (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(st.st_mode))
            continue;
        snprintf(path, sizeof path, "%.3000s/%.255s", folder, e->d_name);
        if (!is_trusted(st.st_uid))
            status = refuse_owner(path, &st, err);
        else if (!S_ISREG(st.st_mode))
            status = SQ_FAIL(err, SQ_ERR_IO, "'%s' is no regular file", sq_path_tail(path));
        else if ((own.st_mode & 077) && others_can_write(&st))
            status = refuse_mode(path, &st, err);
    }
    if (dir)
        closedir(dir);
    return status;
}

enum { PATH_LEN = 2048 };
#define WORK ".work-" // between the name of an entry and a random number: a private directory

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

void sq_cache_remove(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

// "/a/b/c" -> "c"
static const char *name_of(const char *entry)
{
    const char *slash = strrchr(entry, '/');
    return slash ? slash + 1 : entry;
}

// ---- private directories, for sq_cache_end_all: a program has one end --------------------------

struct work {
    char path[PATH_LEN];
    struct work *next;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct work *first;
static bool is_ending;

static void lock_works(void)
{
    pthread_mutex_lock(&lock);
    if (!is_ending)
        return;
    pthread_mutex_unlock(&lock);
    for (;;)
        pause();
}

static enum sq_status work_open(struct work *w, const char *entry, struct sq_error *err)
{
    int result;
    lock_works();
    do {
        uint32_t random = 0;
        (void)!getrandom(&random, sizeof random, 0);
        snprintf(w->path, sizeof w->path, "%.1900s" WORK "%08" PRIx32, entry, random);
        result = mkdir(w->path, 0700);
    } while (result != 0 && errno == EEXIST);
    const int reason = errno;
    if (result == 0) {
        w->next = first;
        first = w;
    }
    pthread_mutex_unlock(&lock);
    return result == 0 ? SQ_OK
                       : SQ_FAIL(err, SQ_ERR_IO, "cannot make '%s': %s", sq_path_tail(w->path),
                                 strerror(reason));
}

// Renamed to the entry by now, or to be removed.
static void work_close(struct work *w)
{
    lock_works();
    for (struct work **at = &first; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            break;
        }
    sq_cache_remove(w->path);
    pthread_mutex_unlock(&lock);
}

// A thread may still write into the directory: its file then appears between the removal of the
// others and that of the directory, which fails. Once the directory is gone, no file can appear.
static void remove_in_use(const char *path)
{
    enum { TRIES = 1000 };
    for (unsigned i = 0; i < TRIES && access(path, F_OK) == 0; i++)
        sq_cache_remove(path);
}

void sq_cache_end_all(void)
{
    pthread_mutex_lock(&lock);
    is_ending = true;
    for (struct work *w = first; w; w = w->next)
        remove_in_use(w->path);
    pthread_mutex_unlock(&lock);
}

// ---- digests -----------------------------------------------------------------------------------

// A line of SQ_CACHE_LIST for a file in `dir`. Its digest begins with the name of the entry, which is
// that of all that went in: what was made for one job is never the result of another.
static enum sq_status file_line(const char *dir, const char *entry, const char *name,
                                char line[PATH_LEN], struct sq_error *err)
{
    char path[PATH_LEN];
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    snprintf(path, sizeof path, "%.1700s/%.255s", dir, name);
    SQ_TRY(sq_file_map(path, &map, err));
    char hex[SQ_DIGEST_SIZE];
    struct sq_digest digest = {0};
    sq_digest_add(&digest, name_of(entry), strlen(name_of(entry)));
    sq_digest_add(&digest, map.data, map.nbytes);
    sq_digest_hex(digest, hex);
    snprintf(line, PATH_LEN, "%s %zu %.255s\n", hex, map.nbytes, name);
    return SQ_OK;
}

static bool is_wanted(const char *name, const char *const *files)
{
    for (size_t i = 0; files && files[i]; i++)
        if (strcmp(name, files[i]) == 0)
            return true;
    return !files;
}

// Whether the wanted files of the entry are listed and are what the list says, in `dir`.
static bool is_intact(const char *dir, const char *entry, const char *const *files)
{
    char path[PATH_LEN], line[PATH_LEN], real[PATH_LEN], name[256];
    size_t n_intact = 0, n_wanted = 0;
    bool is_good = true;
    snprintf(path, sizeof path, "%.1900s/" SQ_CACHE_LIST, dir);
    FILE *list = fopen(path, "re");
    if (!list)
        return false;
    while (is_good && fgets(line, sizeof line, list)) {
        is_good = sscanf(line, "%*s %*s %255s", name) == 1;
        if (!is_good || !is_wanted(name, files))
            continue;
        is_good = file_line(dir, entry, name, real, NULL) == SQ_OK && strcmp(line, real) == 0;
        n_intact++;
    }
    fclose(list);
    while (files && files[n_wanted])
        n_wanted++;
    return is_good && n_intact > 0 && (!files || n_intact == n_wanted);
}

static enum sq_status write_list(const char *work, const char *entry, struct sq_error *err)
{
    char path[PATH_LEN], line[PATH_LEN];
    struct sq_outfile out;
    snprintf(path, sizeof path, "%.1900s/" SQ_CACHE_LIST, work);
    SQ_TRY(sq_outfile_open(&out, path, err));
    DIR *dir = opendir(work);
    enum sq_status status =
        dir ? SQ_OK
            : SQ_FAIL(err, SQ_ERR_IO, "cannot read '%s': %s", sq_path_tail(work), strerror(errno));
    for (struct dirent *e; status == SQ_OK && (e = readdir(dir));) {
        if (e->d_name[0] == '.' || strncmp(e->d_name, SQ_CACHE_LIST, sizeof SQ_CACHE_LIST - 1) == 0)
            continue;
        status = file_line(work, entry, e->d_name, line, err);
        if (status == SQ_OK)
            fputs(line, out.stream);
    }
    if (dir)
        closedir(dir);
    if (status == SQ_OK)
        return sq_outfile_commit(&out, err);
    sq_outfile_abort(&out);
    return status;
}

// ---- where -------------------------------------------------------------------------------------

void sq_cache_root(const char *home, char *path, size_t nbytes)
{
    static const char installed[] = "/share/sqsim";
    const size_t n = strlen(home), tail = sizeof installed - 1;
    const char *cache = getenv("XDG_CACHE_HOME"), *user = getenv("HOME");
    if (n < tail || strcmp(home + n - tail, installed) != 0)
        snprintf(path, nbytes, "%s/build", home);
    else if (cache && *cache == '/') // the specification ignores others
        snprintf(path, nbytes, "%s/sqsim", cache);
    else
        snprintf(path, nbytes, "%s/.cache/sqsim", user && *user ? user : "");
}

// ---- filling -----------------------------------------------------------------------------------

// mkdir -p of what comes before the last '/', for the user alone.
static enum sq_status make_parents(const char *entry, struct sq_error *err)
{
    char part[PATH_LEN];
    snprintf(part, sizeof part, "%s", entry);
    for (char *c = part + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return SQ_FAIL(err, SQ_ERR_IO, "cannot make the directory '%s': %s", sq_path_tail(part),
                           strerror(errno));
        *c = '/';
    }
    return SQ_OK;
}

// One file is the lock of all entries, a byte of it for each. A lock belongs to this opening of the
// file, not to the process: threads wait for each other as processes do, and tools never have it.
static struct flock lock_of(const char *name, size_t n, short type)
{
    const struct sq_digest digest = sq_digest_of(name, n);
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(digest.low >> 2), .l_len = 1};
}

static int lock_name(int fd, const char *name, size_t n, bool may_wait)
{
    struct flock l = lock_of(name, n, F_WRLCK);
    int result;
    do
        result = fcntl(fd, may_wait ? F_OFD_SETLKW : F_OFD_SETLK, &l);
    while (result != 0 && errno == EINTR);
    return result;
}

static enum sq_status lock_entry(const char *entry, int *fd, struct sq_error *err)
{
    char path[PATH_LEN];
    snprintf(path, sizeof path, "%.*s/lock", (int)(name_of(entry) - entry - 1), entry);
    *fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd >= 0 && lock_name(*fd, name_of(entry), strlen(name_of(entry)), true) == 0)
        return SQ_OK;
    const int reason = errno;
    if (*fd >= 0)
        close(*fd);
    return SQ_FAIL(err, SQ_ERR_IO, "cannot lock '%s': %s", sq_path_tail(path), strerror(reason));
}

// What killed processes left: private directories of entries that nobody fills (whoever does has
// the lock; ours is not open yet). Locks of other entries are given back: filling this one may need
// them.
static void remove_leftovers(const char *entry, int fd)
{
    char path[PATH_LEN];
    const char *const own = name_of(entry);
    const int n_dir = (int)(own - entry - 1);
    snprintf(path, sizeof path, "%.*s", n_dir, entry);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        const char *mark = strstr(e->d_name, WORK);
        const size_t n = mark ? (size_t)(mark - e->d_name) : 0;
        if (!mark || lock_name(fd, e->d_name, n, false) != 0)
            continue;
        snprintf(path, sizeof path, "%.*s/%.255s", n_dir < 1700 ? n_dir : 1700, entry, e->d_name);
        sq_cache_remove(path);
        struct flock unlock = lock_of(e->d_name, n, F_UNLCK);
        if (strlen(own) != n || strncmp(own, e->d_name, n) != 0)
            fcntl(fd, F_OFD_SETLK, &unlock);
    }
    if (dir)
        closedir(dir);
}

// Under the lock.
static enum sq_status fill_entry(const char *entry, const char *const *files, sq_cache_fill *fill,
                                 void *context, struct sq_error *err)
{
    struct work w;
    sq_cache_remove(entry); // damaged
    SQ_TRY(work_open(&w, entry, err));
    enum sq_status status = fill(context, w.path, err);
    SQ_THEN(status, write_list(w.path, entry, err));
    if (status == SQ_OK && !is_intact(w.path, entry, files))
        status = SQ_FAIL(err, SQ_ERR_INTERNAL, "'%s' was not filled", sq_path_tail(entry));
    if (status == SQ_OK && rename(w.path, entry) != 0)
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot rename '%s': %s", sq_path_tail(w.path),
                         strerror(errno));
    work_close(&w);
    return status;
}

// That nobody else made the entry, or can change it from here on.
static enum sq_status check_owner(const char *entry, struct sq_error *err)
{
    char parent[PATH_LEN];
    struct stat st;
    snprintf(parent, sizeof parent, "%.*s", (int)(name_of(entry) - entry), entry);
    if (lstat(entry, &st) != 0)
        return sq_owner_check_path(parent, err);
    SQ_TRY(sq_owner_check_path(entry, err));
    return S_ISDIR(st.st_mode) ? sq_owner_check_files(entry, err) : SQ_OK;
}

enum sq_status sq_cache_get(const char *entry, const char *const *files, sq_cache_fill *fill,
                            void *context, bool *is_filled, struct sq_error *err)
{
    int fd;
    *is_filled = false;
    if (strlen(entry) > 1600 || !strchr(entry, '/'))
        return SQ_FAIL(err, SQ_ERR_RANGE, "path of %zu bytes, need <= 1600", strlen(entry));
    if (access(entry, F_OK) != 0)
        SQ_TRY(make_parents(entry, err));
    SQ_TRY(check_owner(entry, err));
    if (is_intact(entry, entry, files))
        return SQ_OK;
    SQ_TRY(lock_entry(entry, &fd, err));
    enum sq_status status = SQ_OK;
    *is_filled = !is_intact(entry, entry, files); // another may have filled it meanwhile
    if (*is_filled) {
        remove_leftovers(entry, fd);
        status = fill_entry(entry, files, fill, context, err);
    }
    close(fd);
    return status;
}
