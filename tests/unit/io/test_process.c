// SPDX-License-Identifier: Apache-2.0
// Tools under their guard, and the cache of what they make. Processes are told by a mark in their
// environment; a program that is killed is a fork of the test. Directed: what a tool gets, how it
// ends, what it leaves in the background, the death of the program by KILL and of one of its
// threads; entries of the cache missing, cut, with one bit flipped (every bit of a small file),
// filled by threads at once, by a program that dies.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "sim/io/sq_cache.h"
#include "sim/io/sq_process.h"
#include "tests/unit/tmpdir.h"

TMPDIR_OF_ALL(dir)

static int shell(const char *where, const char *text, const char *log)
{
    char sh[] = "sh", c[] = "-c", script[512];
    struct sq_error err;
    int code = -1;
    snprintf(script, sizeof script, "%s", text);
    char *const argv[] = {sh, c, script, NULL};
    if (sq_process_run(where, argv, tmpdir_path(dir, log), &code, &err) != SQ_OK)
        fail_msg("%s", err.text);
    return code;
}

static void check_log(const char *log, const char *want)
{
    size_t n;
    char *text = (char *)read_bytes(tmpdir_path(dir, log), &n);
    assert_int_equal(n, strlen(want));
    assert_memory_equal(text, want, n);
}

// What a shell that sleeps for ever left in `file`: its number.
static pid_t number_in(const char *file)
{
    char path[256];
    pid_t pid = 0;
    snprintf(path, sizeof path, "%s/%s", dir, file);
    while (pid == 0) { // until it is written
        FILE *f = fopen(path, "r");
        if (f && fscanf(f, "%d\n", &pid) != 1)
            pid = 0;
        if (f)
            fclose(f);
        usleep(1000);
    }
    return pid;
}

// Waits until a process is gone; the test hangs, and is ended from outside, where it never is.
static void await_gone(pid_t pid)
{
    while (kill(pid, 0) == 0)
        usleep(1000);
}

SQ_TEST(test_what_a_tool_gets)
{
    setenv("MAKEFLAGS", "n", 1);
    assert_int_equal(shell(dir, "cat; pwd; echo $TMPDIR $MAKEFLAGS; echo error >&2", "log"), 0);
    unsetenv("MAKEFLAGS");
    char want[128];
    snprintf(want, sizeof want, "%s\n.\nerror\n", dir);
    check_log("log", want);
    assert_int_equal(shell(NULL, "exit 7", "log"), 7);
    assert_int_equal(shell(NULL, "kill -SEGV $$", "log"), 128 + SIGSEGV);
    // No descriptor but the standard ones, no blocked signal, a group of its own.
    assert_int_equal(shell(NULL,
                           "ls /proc/self/fd | wc -l; grep SigBlk /proc/self/status; "
                           "[ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && echo leader",
                           "log"),
                     0);
    check_log("log", "4\nSigBlk:\t0000000000000000\nleader\n"); // ls has the directory open
}

SQ_TEST(test_refused)
{
    struct sq_error err;
    int code;
    char text[64], none[] = "/nonexistent/tool", plain[] = "sq-no-such-tool", dot[] = "/";
    char *const missing[] = {none, NULL}, *const unknown[] = {plain, NULL},
                *const folder[] = {dot, NULL};
    const char *log = tmpdir_path(dir, "log");
    check_refused(sq_process_run(NULL, missing, log, &code, &err), SQ_ERR_TOOL, &err,
                  "nonexistent");
    check_refused(sq_process_run(NULL, unknown, log, &code, &err), SQ_ERR_TOOL, &err,
                  "no-such-tool");
    check_refused(sq_process_run(NULL, folder, log, &code, &err), SQ_ERR_IO, &err, "cannot start");
    check_refused(sq_process_run("/nonexistent", unknown, log, &code, &err), SQ_ERR_IO, &err,
                  "start");
    check_refused(sq_process_run(NULL, unknown, "/nonexistent/log", &code, &err), SQ_ERR_IO, &err,
                  "cannot write");
    check_refused(sq_process_version("false", "-V", text, sizeof text, &err), SQ_ERR_TOOL, &err,
                  "false does not run");
    assert_ok(sq_process_version("bash", "--version", text, 9, &err));
    assert_string_equal(text, "GNU bash");
}

// What a tool leaves in the background ends with it.
SQ_TEST(test_background)
{
    assert_int_equal(shell(dir, "sleep 1000 & echo $! >left", "log"), 0);
    await_gone(number_in("left"));
}

// Within limits: nothing is left when the time is over; a tool sees those of memory and file size, or
// the user's own where these are lower; its terminal is out of reach.
SQ_TEST(test_limits)
{
    struct sq_process_limits limits = {.seconds = 1};
    char sh[] = "sh", c[] = "-c", wait[] = "sleep 1000 & echo $! >left; sleep 1000",
         print[] = "ulimit -v; ulimit -f; ulimit -c; ulimit -St; ulimit -Ht; ! true </dev/tty",
         cpu[] = "kill -XCPU $$";
    char *const waits[] = {sh, c, wait, NULL}, *const prints[] = {sh, c, print, NULL},
                *const cpus[] = {sh, c, cpu, NULL};
    struct sq_error err;
    struct rlimit old, own = {1 << 20, 1 << 20};
    int code;
    unlink(tmpdir_path(dir, "left"));
    check_refused(sq_process_run_limited(dir, waits, tmpdir_path(dir, "log"), &limits, &code, &err),
                  SQ_ERR_RANGE, &err, "sh ran for more than 1 seconds, which is its limit");
    await_gone(number_in("left"));
    // Its processor time is over: the same sentence. The clock is first: 100 of 101 seconds.
    check_refused(sq_process_run_limited(dir, cpus, tmpdir_path(dir, "log"), &limits, &code, &err),
                  SQ_ERR_RANGE, &err, "sh ran for more than 1 seconds, which is its limit");
    limits = (struct sq_process_limits){100, (uint64_t)1 << 32, 1 << 30};
    getrlimit(RLIMIT_FSIZE, &old);
    own.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &own);
    const enum sq_status status =
        sq_process_run_limited(dir, prints, tmpdir_path(dir, "log"), &limits, &code, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_true(status == SQ_OK && code == 0);
    size_t n;
    char *text = (char *)read_bytes(tmpdir_path(dir, "log"), &n);
    const char want[] = "4194304\n2048\n0\n101\n102\n"; // KiB, blocks of 512 bytes, none, seconds
    assert_true(n >= sizeof want - 1);
    assert_memory_equal(text, want, sizeof want - 1);
}

// A program is killed: its tool and what that started are gone.
SQ_TEST(test_killed)
{
    for (int i = 0; i < 5; i++) {
        int result;
        unlink(tmpdir_path(dir, "tool"));
        unlink(tmpdir_path(dir, "below"));
        const pid_t program = fork();
        assert_true(program >= 0);
        if (program == 0)
            _exit(shell(dir, "echo $$ >tool; sh -c 'echo $$ >below; sleep 1000'; true", "log"));
        const pid_t tool = number_in("tool"), below = number_in("below");
        assert_int_equal(kill(program, SIGKILL), 0);
        assert_int_equal(waitpid(program, &result, 0), program);
        await_gone(tool);
        await_gone(below);
    }
}

static void *run_short(void *log)
{
    assert_int_equal(shell(dir, "sleep 0.1; echo done", log), 0);
    return NULL;
}

SQ_TEST(test_threads)
{
    pthread_t thread[8];
    char log[8][8];
    for (int i = 0; i < 8; i++) {
        snprintf(log[i], sizeof log[i], "log%d", i);
        assert_int_equal(pthread_create(&thread[i], NULL, run_short, log[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        check_log(log[i], "done\n");
    }
}

// sq_process_end_all and sq_cache_end_all, as at a signal, beside a thread that fills an entry: the
// tool is gone, the private directory as well, and the thread does not come back.
static enum sq_status fill_for_ever(void *context, const char *work, struct sq_error *err)
{
    (void)context, (void)err;
    return shell(work, "touch file; echo $$ >../tool; sleep 1000", "log") == 0 ? SQ_OK : SQ_ERR_IO;
}

static void *get_for_ever(void *unused)
{
    bool is_filled;
    char entry[256];
    snprintf(entry, sizeof entry, "%s/ended/entry", dir);
    (void)sq_cache_get(entry, NULL, fill_for_ever, NULL, &is_filled, NULL);
    _exit(1); // it came back
    return unused;
}

SQ_TEST(test_end_all)
{
    int result;
    const pid_t program = fork();
    assert_true(program >= 0);
    if (program == 0) {
        signal(SIGSEGV, SIG_DFL); // cmocka's handler would go on with the next test in here
        signal(SIGABRT, SIG_DFL);
        pthread_t thread;
        pthread_create(&thread, NULL, get_for_ever, NULL);
        const pid_t tool = number_in("ended/tool");
        sq_process_end_all();
        const bool is_gone = kill(tool, 0) != 0;
        sq_cache_end_all();
        usleep(20000);
        _exit(is_gone ? 0 : 2);
    }
    assert_int_equal(waitpid(program, &result, 0), program);
    assert_int_equal(result, 0);
    assert_int_equal(count_files(tmpdir_path(dir, "ended")), 2); // the lock, and the number
}

// A thread that still makes files in the private directory while it is removed.
static enum sq_status fill_while_removed(void *context, const char *work, struct sq_error *err)
{
    char path[256];
    int fd;
    (void)context, (void)err;
    for (unsigned i = 0;; i = (i + 1) % 64) {
        snprintf(path, sizeof path, "%s/%u", work, i);
        if ((fd = open(path, O_CREAT | O_WRONLY, 0600)) < 0)
            break; // the directory is gone
        close(fd);
    }
    return SQ_ERR_IO;
}

static void *get_while_removed(void *entry)
{
    bool is_filled;
    (void)sq_cache_get(entry, NULL, fill_while_removed, NULL, &is_filled, NULL);
    return NULL;
}

SQ_TEST(test_end_all_in_use)
{
    assert_int_equal(mkdir(tmpdir_path(dir, "in_use"), 0700), 0);
    for (unsigned i = 0; i < 50; i++) {
        char entry[256];
        int result;
        snprintf(entry, sizeof entry, "%s/in_use/entry", dir);
        const pid_t program = fork();
        assert_true(program >= 0);
        if (program == 0) {
            signal(SIGSEGV, SIG_DFL);
            signal(SIGABRT, SIG_DFL);
            pthread_t thread;
            pthread_create(&thread, NULL, get_while_removed, entry);
            while (count_files(tmpdir_path(dir, "in_use")) < 2) // the lock, and the directory
                usleep(100);
            usleep(1000);
            sq_cache_end_all();
            _exit(0);
        }
        assert_int_equal(waitpid(program, &result, 0), program);
        assert_int_equal(result, 0);
        assert_int_equal(count_files(tmpdir_path(dir, "in_use")), 1); // the lock
    }
}

// ---- cache --------------------------------------------------------------------------------------

static enum sq_status fill(void *context, const char *work, struct sq_error *err)
{
    (void)err;
    __atomic_add_fetch((int *)context, 1, __ATOMIC_SEQ_CST);
    usleep(10000);
    char path[256];
    snprintf(path, sizeof path, "%s/one", work);
    write_bytes(path, "eight!!\n", 8);
    snprintf(path, sizeof path, "%s/two", work);
    write_bytes(path, "", 0);
    return SQ_OK;
}

static bool get(const char *name, const char *const *files, int *n_filled)
{
    struct sq_error err;
    bool is_filled;
    char entry[128];
    snprintf(entry, sizeof entry, "%s/cache/%s", dir, name);
    if (sq_cache_get(entry, files, fill, n_filled, &is_filled, &err) != SQ_OK)
        fail_msg("%s", err.text);
    return is_filled;
}

// Every bit of a file and of the list, whether all files are wanted or this one.
SQ_TEST(test_flips)
{
    static const char *const one[] = {"one", NULL};
    static const char *const changed[] = {"one", "two", SQ_CACHE_LIST};
    int n_filled = 0;
    assert_true(get("a", NULL, &n_filled));
    assert_false(get("a", NULL, &n_filled));
    for (int file = 0; file < 3; file++) {
        char path[128];
        snprintf(path, sizeof path, "%s/cache/a/%s", dir, changed[file]);
        struct stat st;
        assert_int_equal(stat(path, &st), 0);
        for (off_t bit = 0; bit < 8 * st.st_size; bit++) {
            size_t n;
            uint8_t *bytes = read_bytes(path, &n);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            write_bytes(path, bytes, n);
            if (file == 0)
                assert_true(get("a", one, &n_filled));
            else
                (void)get("a", one, &n_filled);
            (void)get("a", NULL, &n_filled);
            assert_false(get("a", NULL, &n_filled));
            bytes = read_bytes(tmpdir_path(dir, "cache/a/one"), &n);
            assert_int_equal(n, 8);
            assert_memory_equal(bytes, "eight!!\n", 8);
        }
    }
    assert_int_equal(truncate(tmpdir_path(dir, "cache/a/one"), 0), 0);
    assert_true(get("a", one, &n_filled));
    assert_int_equal(unlink(tmpdir_path(dir, "cache/a/two")), 0);
    assert_false(get("a", one, &n_filled));
    assert_true(get("a", NULL, &n_filled));
}

static void *get_b(void *n_filled)
{
    (void)get("b", NULL, n_filled);
    return NULL;
}

SQ_TEST(test_at_once)
{
    pthread_t thread[8];
    int n_filled = 0;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, get_b, &n_filled), 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    assert_int_equal(n_filled, 1);
}

static enum sq_status fill_badly(void *context, const char *work, struct sq_error *err)
{
    (void)work;
    return *(const bool *)context ? SQ_OK : SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "no");
}

SQ_TEST(test_unfilled)
{
    struct sq_error err;
    bool yes = true, no = false, is_filled;
    const char *entry = tmpdir_path(dir, "cache2/c");
    check_refused(sq_cache_get(entry, NULL, fill_badly, &no, &is_filled, &err), SQ_ERR_UNSUPPORTED,
                  &err, "no");
    check_refused(sq_cache_get(entry, NULL, fill_badly, &yes, &is_filled, &err), SQ_ERR_INTERNAL,
                  &err, "was not filled");
    assert_int_equal(count_files(tmpdir_path(dir, "cache2")), 1); // the lock
    write_bytes(tmpdir_path(dir, "file"), "", 0);
    check_refused(sq_cache_get(tmpdir_path(dir, "file/c"), NULL, fill, &yes, &is_filled, &err),
                  SQ_ERR_IO, &err, "cannot");
}

// Fills an entry for which it needs another one, "inner".
static enum sq_status fill_by_inner(void *n_filled, const char *work, struct sq_error *err)
{
    bool is_filled;
    char inner[128];
    snprintf(inner, sizeof inner, "%s/spare/inner", dir);
    SQ_TRY(sq_cache_get(inner, NULL, fill, n_filled, &is_filled, err));
    return fill(n_filled, work, err);
}

// A program dies while it fills: the next one removes what it left, not what another still fills.
SQ_TEST(test_leftovers)
{
    int result, n_filled = 0;
    const pid_t program = fork();
    assert_true(program >= 0);
    if (program == 0) {
        bool is_filled;
        (void)sq_cache_get(tmpdir_path(dir, "spare/entry"), NULL, fill_for_ever, NULL, &is_filled,
                           NULL);
        _exit(0);
    }
    const pid_t tool = number_in("spare/tool");
    assert_int_equal(unlink(tmpdir_path(dir, "spare/tool")), 0);
    char entry[128];
    bool is_filled;
    snprintf(entry, sizeof entry, "%s/spare/other", dir);
    assert_ok(sq_cache_get(entry, NULL, fill, &n_filled, &is_filled, NULL));
    assert_int_equal(count_files(tmpdir_path(dir, "spare")),
                     3); // lock, other, what is being filled
    assert_int_equal(kill(program, SIGKILL), 0);
    assert_int_equal(waitpid(program, &result, 0), program);
    await_gone(tool);
    snprintf(entry, sizeof entry, "%s/spare/third", dir);
    assert_ok(sq_cache_get(entry, NULL, fill, &n_filled, &is_filled, NULL));
    assert_int_equal(count_files(tmpdir_path(dir, "spare")), 3); // lock, other, third
    // What is left of an entry that the next fill needs is removed, and its lock given back.
    snprintf(entry, sizeof entry, "%s/spare/inner.work-0123abcd", dir);
    assert_int_equal(mkdir(entry, 0700), 0);
    snprintf(entry, sizeof entry, "%s/spare/outer", dir);
    alarm(600); // it waited for itself
    assert_ok(sq_cache_get(entry, NULL, fill_by_inner, &n_filled, &is_filled, NULL));
    alarm(0);
    assert_int_equal(count_files(tmpdir_path(dir, "spare")), 5); // inner and outer, too
}
