// SPDX-License-Identifier: Apache-2.0
// INT, TERM and HUP: a thread ends the tools, removes what they were making, lets the command say
// what is kept, and dies of the signal.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/sq_cli.h"
#include "sim/io/sq_cache.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_process.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
static sem_t has_come;
static atomic_int which; // 0: none yet
static _Atomic(void *) say_context;
static _Atomic(void (*)(void *)) say;

static void note(int number)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&which, &none, number))
        sem_post(&has_come);
}

static void *end(void *unused)
{
    while (sem_wait(&has_come) != 0)
        continue;
    sq_process_end_all();
    sq_cache_end_all();
    void (*const f)(void *) = say;
    if (f)
        f(say_context);
    const int number = which;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    return unused;
}

static void put(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(SQ_EXIT_USAGE);
}

// A page of a mapped file that is no longer there. What is half-written has no name yet, tools end
// with the program.
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    const char *name = sq_file_at(info->si_addr);
    (void)context;
    if (!name) { // a fault of ours
        signal(number, SIG_DFL);
        return; // and it comes again
    }
    put("sqsim: the file '");
    for (const char *c = name; *c; c++)
        put((const char[]){*c >= 0x20 && *c < 0x7f ? *c : '?', '\0'});
    put("' became shorter, or cannot be read, while it was in use\n");
    _exit(SQ_EXIT_USAGE);
}

void sq_cli_signals(void)
{
    struct sigaction bus = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigemptyset(&bus.sa_mask);
    sigaction(SIGBUS, &bus, NULL);
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool is_ready =
        sem_init(&has_come, 0, 0) == 0 && pthread_create(&thread, NULL, end, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (size_t i = 0; is_ready && i < sizeof signals / sizeof signals[0]; i++)
        if (signal(signals[i], note) == SIG_IGN) // as under nohup
            signal(signals[i], SIG_IGN);
}

void sq_cli_on_signal(void (*f)(void *context), void *context)
{
    say = NULL;
    say_context = context;
    say = f;
}

void sq_cli_settle(void)
{
    while (which)
        pause();
}
