// SPDX-License-Identifier: Apache-2.0
// Builds the command line of bubblewrap, and runs tools within limits, inside it where it works
// (sq_confine.h).
#include "sim/io/sq_confine.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "sim/io/sq_file.h"

// ---- settings: a program has one set -------------------------------------------------------------

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sq_process_limits limits = {3600, (uint64_t)8 << 30, (uint64_t)16 << 30};
static void (*say_missing)(void);
static bool has_bwrap;

void sq_confine_set_limits(const struct sq_process_limits *l)
{
    pthread_mutex_lock(&lock);
    limits = *l;
    pthread_mutex_unlock(&lock);
}

struct sq_process_limits sq_confine_limits(void)
{
    pthread_mutex_lock(&lock);
    const struct sq_process_limits l = limits;
    pthread_mutex_unlock(&lock);
    return l;
}

void sq_confine_on_missing(void (*say)(void))
{
    say_missing = say;
}

// ---- the command line of bubblewrap --------------------------------------------------------------

enum { MAX_WORDS = 1024, MAX_KEPT = 64 };

struct words {
    char *word[MAX_WORDS];
    size_t n;
    char *kept[MAX_KEPT]; // owned
    size_t n_kept;
    bool is_short; // of memory or room
};

static void add(struct words *w, const char *word)
{
    if (w->n + 1 < MAX_WORDS)
        w->word[w->n++] = (char *)(uintptr_t)word; // exec's argv is not const, for history's sake
    else
        w->is_short = true;
}

// A text of our own, freed with the words.
static const char *keep(struct words *w, char *text)
{
    if (!text || w->n_kept == MAX_KEPT) {
        free(text);
        w->is_short = true;
        return "";
    }
    return w->kept[w->n_kept++] = text;
}

static void show(struct words *w, const char *how, const char *path)
{
    add(w, how);
    add(w, path);
    add(w, path);
}

static void show_part(struct words *w, const char *folder, const char *part)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, part) < 0)
        path = NULL;
    show(w, "--ro-bind-try", keep(w, path));
}

static void put_front(struct words *w)
{
    // clang-format off
    static const char *const system[] = {
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store",
        "/gnu/store", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf",
        "/etc/ld.so.conf.d"};
    // clang-format on
    add(w, sq_process_tool("BWRAP", "bwrap"));
    add(w, "--unshare-all");
    add(w, "--die-with-parent");
    add(w, "--cap-drop");
    add(w, "ALL");
    for (size_t i = 0; i < sizeof system / sizeof system[0]; i++)
        show(w, "--ro-bind-try", system[i]);
    add(w, "--proc");
    add(w, "/proc");
    add(w, "--dev");
    add(w, "/dev");
}

static void put_back(struct words *w, const char *dir)
{
    add(w, "--remount-ro");
    add(w, "/");
    add(w, "--chdir");
    add(w, dir);
    add(w, "--");
}

static bool is_below(const char *path, const char *folder)
{
    const size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

// The folder that a program was installed in: its own; for PREFIX/bin/PROGRAM the parts of PREFIX
// that belong to programs, but not PREFIX itself, which may be somebody's home.
static void show_folder_of(struct words *w, const char *program)
{
    static const char *const parts[] = {"lib", "lib64", "libexec", "share"};
    char *folder = strdup(program);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (!slash || slash == folder || is_below(folder, "/usr") || is_below(folder, "/bin")) {
        free(folder);
        return;
    }
    *slash = '\0';
    show(w, "--ro-bind-try", keep(w, folder));
    slash = strrchr(folder, '/');
    if (!slash || slash == folder || strcmp(slash, "/bin") != 0)
        return;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *prefix = strndup(folder, (size_t)(slash - folder));
        show_part(w, keep(w, prefix), parts[i]);
    }
}

// Where exec finds a program; NULL: nowhere. The caller frees.
static char *find_program(const char *name)
{
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? strdup(name) : NULL;
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/bin:/bin"; at; at = strchr(at, ':')) {
        char *program;
        at += *at == ':';
        if (asprintf(&program, "%.*s/%s", (int)strcspn(at, ":"), at, name) < 0)
            return NULL;
        if (access(program, X_OK) == 0)
            return program;
        free(program);
    }
    return NULL;
}

// By both names where one is a link to the other.
static void show_program(struct words *w, const char *program)
{
    SQ_FREED char *real = realpath(program, NULL);
    show_folder_of(w, program);
    if (real)
        show_folder_of(w, real);
}

static void free_words(struct words *w)
{
    for (size_t i = 0; i < w->n_kept; i++)
        free(w->kept[i]);
}

// Whether a program runs that way at all.
static void probe(void)
{
    struct words w = {0};
    struct sq_error err;
    int code = -1;
    put_front(&w);
    put_back(&w, "/");
    add(&w, "true");
    has_bwrap = sq_process_run(NULL, w.word, "/dev/null", &code, &err) == SQ_OK && code == 0;
    free_words(&w);
    if (!has_bwrap && say_missing)
        say_missing();
}

bool sq_confine_is_whole(void)
{
    pthread_once(&once, probe);
    return has_bwrap;
}

// ---- running -------------------------------------------------------------------------------------

static enum sq_status run_in_bubble(const struct sq_confine *c, char *const argv[],
                                    const char *program, const char *log, int *code,
                                    struct sq_error *err)
{
    struct words w = {0};
    const struct sq_process_limits l = sq_confine_limits();
    SQ_FREED char *dir = realpath(c->dir, NULL);
    if (!dir)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot open '%s': %s", sq_path_tail(c->dir),
                       strerror(errno));
    put_front(&w);
    show_program(&w, program);
    for (size_t i = 0; c->reads && c->reads[i]; i++) {
        char *real = realpath(c->reads[i], NULL); // as the tool finds it from its own folder
        if (real)
            show(&w, "--ro-bind", keep(&w, real));
    }
    show(&w, "--bind", dir);
    if (c->keeps) {
        show(&w, "--bind", c->keeps);
        add(&w, "--setenv");
        add(&w, c->variable);
        add(&w, c->keeps);
    }
    put_back(&w, dir);
    for (size_t i = 0; argv[i]; i++)
        add(&w, argv[i]);
    enum sq_status status =
        w.is_short ? SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory or room to start %.60s", argv[0])
                   : sq_process_run_limited(dir, w.word, log, &l, code, err);
    if (status == SQ_ERR_RANGE)
        status =
            SQ_FAIL(err, SQ_ERR_RANGE, "%.60s ran for more than %u seconds, which is its limit",
                    argv[0], l.seconds);
    free_words(&w);
    return status;
}

// A link that the caller made, to what the tool was to read.
static bool is_given(const struct sq_confine *c, const char *path)
{
    for (size_t i = 0; c->reads && c->reads[i]; i++)
        if (strcmp(c->reads[i], path) == 0)
            return true;
    return false;
}

// The tool is gone. What it left is opened later, by us and by other tools.
static enum sq_status check_left(const struct sq_confine *c, const char *program,
                                 struct sq_error *err)
{
    char *const roots[] = {(char *)(uintptr_t)c->dir, NULL}; // fts changes none of them
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    SQ_NEED(tree, err, "'%s'", sq_path_tail(c->dir));
    enum sq_status status = SQ_OK;
    for (FTSENT *e; status == SQ_OK && (e = fts_read(tree));)
        if (e->fts_info != FTS_F && e->fts_info != FTS_D && e->fts_info != FTS_DP &&
            !is_given(c, e->fts_path))
            status = SQ_FAIL(err, SQ_ERR_TOOL, "%.60s left '%s', which is no regular file", program,
                             sq_path_tail(e->fts_path));
    fts_close(tree);
    return status;
}

enum sq_status sq_confine_run(const struct sq_confine *c, char *const argv[], const char *log,
                              int *code, struct sq_error *err)
{
    pthread_once(&once, probe);
    const struct sq_process_limits l = sq_confine_limits();
    SQ_FREED char *program = find_program(argv[0]);
    if (!program)
        return SQ_FAIL(err, SQ_ERR_TOOL, "%.60s is not installed", argv[0]);
    SQ_TRY(has_bwrap ? run_in_bubble(c, argv, program, log, code, err)
                     : sq_process_run_limited(c->dir, argv, log, &l, code, err));
    return check_left(c, argv[0], err);
}

// ---- after a run ---------------------------------------------------------------------------------

enum { FULL_NBYTES = 1 << 20 }; // tools remove some of their files when they fail

enum sq_status sq_confine_check_disk(const char *dir, const char *log, bool is_silent,
                                     struct sq_error *err)
{
    static const int reasons[] = {ENOSPC, EDQUOT, EFBIG};
    char line[512];
    int reason = 0;
    struct statvfs disk;
    FILE *f = fopen(log, "re");
    while (f && reason == 0 && fgets(line, sizeof line, f))
        for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
            if (strstr(line, strerrordesc_np(reasons[i])))
                reason = reasons[i];
    if (f)
        fclose(f);
    if (reason == 0 && is_silent && statvfs(dir, &disk) == 0 &&
        (uint64_t)disk.f_bavail * disk.f_frsize < FULL_NBYTES)
        reason = ENOSPC;
    return reason == 0 ? SQ_OK
                       : SQ_FAIL(err, SQ_ERR_TOOL, "a tool could not write in '%s': %s",
                                 sq_path_tail(dir), strerror(reason));
}
