// SPDX-License-Identifier: Apache-2.0
// The rows of `sqsim area`, synthesized by several threads. A row may take minutes, so that a
// terminal is told every second which ones are at work, and for how long.
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "sim/cli/area/sq_cmd_area.h"
#include "sim/cli/sq_cli.h"

struct work {
    struct sq_area_table *t;
    pthread_mutex_t lock; // of everything below, and of the line on the terminal
    pthread_cond_t changed;
    double *start; // [t->n], seconds; 0: not at work
    size_t n_done;
    bool is_over;
    enum sq_status status;
    struct sq_error err;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t); // that of pthread_cond_timedwait
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Under the lock: "3 of 20 done; at work: core for 42 s, and 1 more".
static void say(const struct work *w)
{
    size_t oldest = w->t->n, n = 0;
    char text[160];
    for (size_t i = 0; i < w->t->n; i++) {
        n += w->start[i] > 0;
        if (w->start[i] > 0 && (oldest == w->t->n || w->start[i] < w->start[oldest]))
            oldest = i;
    }
    if (n == 0)
        return;
    int at = snprintf(text, sizeof text, "%zu of %zu done; at work: %.60s for %.0f s", w->n_done,
                      w->t->n, sq_area_title(&w->t->row[oldest].block), now_s() - w->start[oldest]);
    if (n > 1)
        snprintf(text + at, sizeof text - (size_t)at, ", and %zu more", n - 1);
    sq_cli_stage("area", text);
}

static void *tick(void *context)
{
    struct work *w = context;
    pthread_mutex_lock(&w->lock);
    while (!w->is_over) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        if (pthread_cond_timedwait(&w->changed, &w->lock, &until) == ETIMEDOUT)
            say(w);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

// False after a failure of another row.
static bool begin(struct work *w, size_t i)
{
    pthread_mutex_lock(&w->lock);
    const bool is_wanted = w->status == SQ_OK;
    if (is_wanted) {
        w->start[i] = now_s();
        say(w);
    }
    pthread_mutex_unlock(&w->lock);
    return is_wanted;
}

static void end(struct work *w, size_t i, enum sq_status got, const struct sq_error *err)
{
    pthread_mutex_lock(&w->lock);
    w->start[i] = 0;
    w->n_done += got == SQ_OK;
    if (got == SQ_OK)
        sq_cli_progress("area", w->n_done, w->t->n);
    else if (w->status == SQ_OK) {
        w->status = got;
        w->err = *err;
    }
    pthread_mutex_unlock(&w->lock);
}

static void run_rows(struct work *w, unsigned jobs)
{
    struct sq_area_table *t = w->t;
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)jobs)
    for (size_t i = 0; i < t->n; i++) {
        struct sq_area_row *row = &t->row[i];
        struct sq_error err;
        if (!begin(w, i))
            continue;
        const enum sq_status got =
            t->has_periods
                ? sq_synth_at_period(t->synth, &row->synth, row->period_ns, &row->result, &err)
                : sq_synth_area(t->synth, &row->synth, &row->result, &err);
        end(w, i, got, &err);
    }
}

enum sq_status sq_area_synthesize(struct sq_area_table *t, unsigned jobs, struct sq_error *err)
{
    struct work w = {.t = t, .start = calloc(t->n + 1, sizeof *w.start), .status = SQ_OK};
    pthread_t ticker;
    SQ_NEED(w.start, err, "%zu rows", t->n);
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    const bool is_ticking = pthread_create(&ticker, NULL, tick, &w) == 0; // or it says less
    run_rows(&w, jobs);
    pthread_mutex_lock(&w.lock);
    w.is_over = true;
    pthread_cond_signal(&w.changed);
    pthread_mutex_unlock(&w.lock);
    if (is_ticking)
        pthread_join(ticker, NULL);
    sq_cli_progress_end();
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
    free(w.start);
    if (w.status != SQ_OK && err)
        *err = w.err;
    return w.status;
}
