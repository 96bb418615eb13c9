// SPDX-License-Identifier: Apache-2.0
// INT, TERM and HUP: a thread ends the tools, removes what they were making, lets the command say
// what is kept, and dies of the signal.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "sim/cli/sq_cli.h"
#include "sim/io/sq_cache.h"
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

void sq_cli_signals(void)
{
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
