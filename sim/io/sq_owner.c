// SPDX-License-Identifier: Apache-2.0
// Follows a path through folders and links, and asks of each who could change it (sq_owner.h).
#include "sim/io/sq_owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/io/sq_file.h"

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
    char *here = path[0] == '/' ? strdup("") : getcwd(NULL, 0), *whole = NULL;
    enum sq_status status = SQ_OK;
    if (!here || asprintf(&whole, "%s%s%s", here, *here ? "/" : "", path) < 0) {
        whole = NULL;
        status = SQ_NO_MEMORY(err, "'%s'", sq_path_tail(path));
    }
    if (status == SQ_OK)
        status = check(whole, 0, err);
    free(here);
    free(whole);
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
