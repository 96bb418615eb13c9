// SPDX-License-Identifier: Apache-2.0
//   program --- guard --- tool --- what the tool starts
//                         '------- one process group --'
// The guard holds one end of a socket whose other end only the program has: when that closes, the
// program is gone. PR_SET_PDEATHSIG alone would not do: it fires at the end of the *thread* that
// forked, and reaches no grandchildren.
#include "sim/io/sq_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

// The guards of running tools, for sq_process_end_all: a program has one end.
struct running {
    pid_t guard;
    struct running *next;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct running *first;
static bool is_ending;

// ---- in the new processes: only async-signal-safe calls, the program may have threads -----------

struct job {
    const char *dir;
    char *const *argv;
    char **env;
    int in, out, log, life; // all >= 3
    struct sq_process_limits limits;
};

// Where the user has a lower limit, that one stays. The soft limit is `most`, the hard one `hard`.
static bool limit(int what, uint64_t most, uint64_t hard)
{
    struct rlimit l;
    if (most == 0)
        return true;
    if (getrlimit((__rlimit_resource_t)what, &l) != 0)
        return false;
    l.rlim_cur = l.rlim_cur < most ? l.rlim_cur : most;
    l.rlim_max = l.rlim_max < hard ? l.rlim_max : hard;
    return setrlimit((__rlimit_resource_t)what, &l) == 0;
}

// What one process may take. The guard's clock ends a tool; the limit of processor time is for a
// process that leaves the group, or that has several threads. It is a second longer than the clock's,
// so that of a busy tool with one thread the clock is always first, and it comes as SIGXCPU, which
// says its reason: SIGKILL (at the hard limit) does not.
static bool limit_all(const struct sq_process_limits *l)
{
    const struct rlimit none = {0};
    const uint64_t cpu = l->seconds ? (uint64_t)l->seconds + 1 : 0;
    return limit(RLIMIT_CPU, cpu, cpu + 1) &&
           limit(RLIMIT_AS, l->nbytes_memory, l->nbytes_memory) &&
           limit(RLIMIT_FSIZE, l->nbytes_file, l->nbytes_file) &&
           setrlimit(RLIMIT_CORE, &none) == 0;
}

static _Noreturn void run_tool(const struct job *j)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); // of the guard, which has one thread
    bool is_ready = dup2(j->in, 0) == 0 && dup2(j->out, 1) == 1 && dup2(j->log, 2) == 2 &&
                    (!j->dir || chdir(j->dir) == 0) && limit_all(&j->limits);
    if (is_ready) {
        close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execvpe(j->argv[0], j->argv, j->env);
    }
    const int reason = errno;
    if (send(j->life, &reason, sizeof reason, MSG_NOSIGNAL) < 0)
        _exit(126);
    _exit(127);
}

// SIGKILL to the group; then until nobody is left of it. Orphans come to the guard. The tool is not
// reaped before: its number is taken until then.
static int end_group(pid_t tool)
{
    int state = 0, one;
    pid_t pid;
    kill(-tool, SIGKILL);
    do {
        pid = waitpid(-1, &one, 0);
        if (pid == tool)
            state = one;
    } while ((pid > 0 || errno == EINTR) && kill(-tool, 0) == 0);
    return state;
}

double sq_process_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int64_t now_ms(void)
{
    return (int64_t)(1e3 * sq_process_clock());
}

// Until the tool ends, the program is gone, it says SIGTERM, or the time is over: true.
static bool await_end(pid_t tool, unsigned seconds)
{
    const int64_t end = now_ms() + (int64_t)seconds * 1000;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    const int signals = signalfd(-1, &set, SFD_CLOEXEC);
    struct pollfd wait[] = {{.fd = 0, .events = POLLRDHUP}, {.fd = signals, .events = POLLIN}};
    for (;;) {
        struct signalfd_siginfo what = {0};
        siginfo_t child = {.si_pid = 0};
        if (waitid(P_PID, (id_t)tool, &child, WEXITED | WNOHANG | WNOWAIT) != 0 || child.si_pid > 0)
            return false;
        const int64_t left = end - now_ms();
        if (seconds > 0 && left <= 0)
            return true;
        // At most a day at a time: an int of milliseconds holds 24.
        const int n = poll(wait, 2, seconds == 0 ? -1 : left < 86400000 ? (int)left : 86400000);
        if (n < 0 || (n > 0 && wait[0].revents))
            return false;
        if (n > 0 && read(signals, &what, sizeof what) == sizeof what && what.ssi_signo == SIGTERM)
            return false;
    }
}

static _Noreturn void guard(const struct job *j)
{
    // Not by the name of the program: who kills all of that name must not kill the guards first.
    prctl(PR_SET_NAME, "sq-guard");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGCHLD, SIG_DFL); // whoever started the program may have ignored it
    setsid(); // the terminal's ^C is for the program, which tells us; no tool reaches the terminal
    const pid_t tool = _Fork();
    if (tool == 0)
        run_tool(j);
    if (tool < 0 || dup2(j->life, 0) < 0)
        _exit(126);
    setpgid(tool, tool);
    close_range(1, ~0u, 0);
    const bool is_late = await_end(tool, j->limits.seconds);
    const int state = end_group(tool), reason = ETIME;
    if (is_late && send(0, &reason, sizeof reason, MSG_NOSIGNAL) < 0)
        _exit(126);
    _exit(WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state));
}

// ---- in the program -----------------------------------------------------------------------------

static _Noreturn void wait_for_end(void)
{
    for (;;)
        pause();
}

// environ with another TMPDIR; the caller frees the array.
static char **environment(char *tmpdir)
{
    size_t n = 0, at = 0;
    while (environ[n])
        n++;
    char **env = malloc((n + 2) * sizeof *env);
    if (!env)
        return NULL;
    env[at++] = tmpdir;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "TMPDIR=", 7) != 0 && strncmp(environ[i], "MAKEFLAGS=", 10) != 0 &&
            strncmp(environ[i], "MFLAGS=", 7) != 0)
            env[at++] = environ[i];
    env[at] = NULL;
    return env;
}

// Duplicates a descriptor above the standard ones; without one opens /dev/null.
static int raise_fd(int fd)
{
    const int null = fd < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    const int high = fcntl(fd < 0 ? null : fd, F_DUPFD_CLOEXEC, 3);
    if (null >= 0)
        close(null);
    return high;
}

// The guard starts with all signals blocked, so that none finds the handlers of the program in it.
// 0 or an error number.
static int start(const struct job *j, struct running *r)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_mutex_lock(&lock);
    if (is_ending) {
        pthread_mutex_unlock(&lock);
        wait_for_end();
    }
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r->guard = _Fork(); // no handlers of libraries: those of OpenBLAS end its threads
    if (r->guard == 0)
        guard(j);
    const int reason = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r->guard > 0) {
        r->next = first;
        first = r;
    }
    pthread_mutex_unlock(&lock);
    return r->guard > 0 ? 0 : reason;
}

// *state of waitpid; *failure: the error number of an exec, or 0.
static void finish(struct running *r, int life, int *state, int *failure)
{
    *failure = 0;
    while (recv(life, failure, sizeof *failure, MSG_WAITALL) < 0 && errno == EINTR)
        continue;
    while (waitpid(r->guard, state, 0) < 0)
        if (errno != EINTR) {
            *failure = errno;
            break;
        }
    pthread_mutex_lock(&lock);
    for (struct running **at = &first; *at; at = &(*at)->next)
        if (*at == r) {
            *at = r->next;
            break;
        }
    const bool stop = is_ending;
    pthread_mutex_unlock(&lock);
    if (stop)
        wait_for_end();
}

static enum sq_status run_job(struct job *j, int life, int *code, struct sq_error *err)
{
    struct running r;
    int state = 0;
    int failure = j->env && j->in >= 0 && j->out >= 0 && j->log >= 0 && j->life >= 0 ? 0 : ENOMEM;
    if (failure == 0)
        failure = start(j, &r);
    close(j->life); // the guard has it
    if (failure == 0)
        finish(&r, life, &state, &failure);
    if (failure == ENOENT && (!j->dir || access(j->dir, X_OK) == 0))
        return SQ_FAIL(err, SQ_ERR_TOOL, "%.60s is not installed", j->argv[0]);
    const int end = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    if (failure == ETIME || (failure == 0 && j->limits.seconds > 0 && end == 128 + SIGXCPU))
        return SQ_FAIL(err, SQ_ERR_RANGE, "%.60s ran for more than %u seconds, which is its limit",
                       j->argv[0], j->limits.seconds);
    if (failure != 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot start %.60s: %s", j->argv[0], strerror(failure));
    *code = end;
    return SQ_OK;
}

static enum sq_status run_with(const char *dir, char *const argv[], int in, int out, int log,
                               const struct sq_process_limits *limits, int *code,
                               struct sq_error *err)
{
    char here[] = "TMPDIR=.", usual[] = "TMPDIR=/tmp";
    int life[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life) != 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot start %.60s: %s", argv[0], strerror(errno));
    struct job j = {dir,
                    argv,
                    environment(dir ? here : usual),
                    raise_fd(in),
                    raise_fd(out),
                    raise_fd(log),
                    raise_fd(life[1]),
                    limits ? *limits : (struct sq_process_limits){0}};
    close(life[1]);
    const enum sq_status status = run_job(&j, life[0], code, err);
    close(life[0]);
    close(j.in);
    close(j.out);
    close(j.log);
    free(j.env);
    return status;
}

enum sq_status sq_process_run_on(const char *dir, char *const argv[], int in, int out, int log,
                                 int *code, struct sq_error *err)
{
    return run_with(dir, argv, in, out, log, NULL, code, err);
}

enum sq_status sq_process_run_limited(const char *dir, char *const argv[], const char *log,
                                      const struct sq_process_limits *limits, int *code,
                                      struct sq_error *err)
{
    const int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write '%.80s': %s", log, strerror(errno));
    const enum sq_status status = run_with(dir, argv, -1, fd, fd, limits, code, err);
    close(fd);
    return status;
}

enum sq_status sq_process_run(const char *dir, char *const argv[], const char *log, int *code,
                              struct sq_error *err)
{
    return sq_process_run_limited(dir, argv, log, NULL, code, err);
}

const char *sq_process_tool(const char *variable, const char *fallback)
{
    const char *name = getenv(variable);
    return name && *name ? name : fallback;
}

enum sq_status sq_process_version(const char *tool, const char *flag, char *text, unsigned size,
                                  struct sq_error *err)
{
    char name[1024], option[32];
    int code;
    snprintf(name, sizeof name, "%s", tool);
    snprintf(option, sizeof option, "%s", flag);
    char *const argv[] = {name, option, NULL};
    const int fd = memfd_create("version", MFD_CLOEXEC);
    text[0] = '\0';
    if (fd < 0)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "no memory for a version: %s", strerror(errno));
    enum sq_status status = sq_process_run_on(NULL, argv, -1, fd, fd, &code, err);
    const ssize_t n = status == SQ_OK ? pread(fd, text, size - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
    close(fd);
    SQ_TRY(status);
    text[strcspn(text, "\r\n")] = '\0';
    return code == 0 && text[0] ? SQ_OK : SQ_FAIL(err, SQ_ERR_TOOL, "%.60s does not run", tool);
}

void sq_process_end_all(void)
{
    pthread_mutex_lock(&lock);
    is_ending = true;
    for (struct running *r = first; r; r = r->next)
        kill(r->guard, SIGTERM);
    pthread_mutex_unlock(&lock);
    for (;;) { // each thread takes its own off the list
        pthread_mutex_lock(&lock);
        const bool is_done = !first;
        pthread_mutex_unlock(&lock);
        if (is_done)
            return;
        const struct timespec moment = {.tv_nsec = 2000000};
        nanosleep(&moment, NULL);
    }
}
