// SPDX-License-Identifier: Apache-2.0
// Running a sweep: threads take the next point that the database lacks, compute it and write it.
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_safetensors.h"
#include "sim/sweep/sq_sweep_grid.h"

struct run {
    const struct sq_sweep_grid *spec;
    const struct sq_sweep_options *options;
    const struct sq_sweep_inputs *inputs;
    char *provenance;
    pthread_mutex_t lock; // of everything below
    struct sq_sweep_db *db;
    struct sq_sweep_count *count;
    bool *is_found; // by index: up to date before the first point was computed
    size_t next;
    enum sq_status status;
    struct sq_error err;
};

struct task {
    size_t index;
    struct sq_sweep_point point;
    char parameters[SQ_PARAMETERS_SIZE];
    struct sq_digest key;
    bool is_damaged; // the row that the database has
};

// ---- what a row says ----------------------------------------------------------------------------

static struct sq_digest key_of(const struct run *run, const struct task *t)
{
    const struct sq_sweep_grid *s = run->spec;
    struct sq_digest d = sq_digest_of(t->parameters, strlen(t->parameters));
    sq_digest_add(&d, run->options->code, strlen(run->options->code));
    for (size_t i = 0; i < s->n_measures; i++)
        sq_digest_add(&d, s->measure[i]->name, strlen(s->measure[i]->name));
    for (size_t i = 0; i < s->n_constraints; i++)
        if (s->constraint[i].is_measured)
            sq_digest_add(&d, s->constraint[i].text, strlen(s->constraint[i].text));
    const char *const description = t->point.recipe.format->description;
    if (description)
        sq_digest_add(&d, description, strlen(description));
    sq_sweep_inputs_digest(run->inputs, &t->point, &d);
    return d;
}

static void describe_point(const struct run *run, struct task *t)
{
    sq_sweep_grid_point(run->spec, t->index, &t->point);
    sq_sweep_parameters(&t->point, t->parameters);
    t->key = key_of(run, t);
}

static enum sq_status make_provenance(struct run *run, struct sq_error *err)
{
    const char *of_inputs = sq_sweep_inputs_provenance(run->inputs);
    if (asprintf(&run->provenance, "{%s,%s}", run->options->provenance, of_inputs) >= 0)
        return SQ_OK;
    run->provenance = NULL;
    return SQ_NO_MEMORY(err, "a sweep");
}

enum { MEASURES_SIZE = (64 + 40 + SQ_NOTE_SIZE) * SQ_MEASURES_MAX };

struct notes {
    char text[SQ_MEASURES_MAX][SQ_NOTE_SIZE]; // of a measure, empty: none
};

// The first constraint that the measures of the point break; NULL: none.
static const struct sq_constraint *broken(const struct sq_sweep_grid *s,
                                          const struct sq_sweep_point *p,
                                          const struct sq_sweep_result *r)
{
    double value[SQ_CONSTRAINT_VALUES] = {0};
    memcpy(value, p->quantity, sizeof p->quantity);
    for (size_t i = 0; i < s->n_measures; i++) {
        const struct sq_measure *m = s->measure[i];
        value[SQ_N_QUANTITIES + (m - sq_measures)] = sq_measure_of(m, p, r);
    }
    for (size_t i = 0; i < s->n_constraints; i++)
        if (s->constraint[i].is_measured && !sq_constraint_holds(&s->constraint[i], value))
            return &s->constraint[i];
    return NULL;
}

static bool is_in_term(const struct sq_term *t, const struct sq_measure *m)
{
    bool is = false;
    for (unsigned i = 0; i < t->n; i++)
        is = is || (t->factor[i].is_quantity &&
                    t->factor[i].quantity == SQ_N_QUANTITIES + (unsigned)(m - sq_measures));
    return is;
}

// A point that breaks a constraint keeps the measures that the constraint names.
static bool is_kept(const struct sq_constraint *c, const struct sq_measure *m)
{
    return !c || is_in_term(&c->left, m) || is_in_term(&c->right, m);
}

// "of workload llama-3-8b", "of model tiny-llama": which of the two of a join.
static void note_source(const struct sq_sweep_point *p, bool is_time, char text[SQ_NOTE_SIZE])
{
    const char *path = is_time ? p->workload : p->model, *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path, *end = strrchr(name, '.');
    const bool has_end = end && (strcmp(end, ".json") == 0 || strcmp(end, ".csv") == 0);
    snprintf(text, SQ_NOTE_SIZE, "of %s %.*s", is_time ? "workload" : "model",
             (int)(has_end ? end - name : 100), name);
}

static void make_notes(const struct sq_sweep_grid *s, const struct sq_sweep_point *p,
                       const struct sq_sweep_result *r, const struct sq_constraint *excluded,
                       struct notes *notes)
{
    for (size_t i = 0; i < s->n_measures; i++) {
        const struct sq_measure *m = s->measure[i];
        if (is_kept(excluded, m))
            sq_measure_note(m, p, r, notes->text[i]);
        else
            snprintf(notes->text[i], SQ_NOTE_SIZE, "not %s", excluded->text);
        if (s->is_join && !notes->text[i][0])
            note_source(p, m->engines & SQ_ENGINE_TIMING, notes->text[i]);
    }
}

static bool has_times(const struct sq_sweep_grid *s)
{
    bool has = false;
    for (size_t i = 0; i < s->n_measures; i++)
        has = has || strcmp(s->measure[i]->unit, "ms") == 0 ||
              strcmp(s->measure[i]->unit, "1/s") == 0;
    return has;
}

// "utilisation_high, high_busy: dense has no high path; stored_bits: ...; clock: ...", null without any. No
// note has a character that JSON escapes.
static size_t write_notes(const struct sq_sweep_grid *s, const struct sq_sweep_result *r,
                          struct notes *notes, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, ",\"notes\":");
    bool any = false;
    for (size_t i = 0; i < s->n_measures; i++) {
        char same[SQ_NOTE_SIZE];
        if (!notes->text[i][0])
            continue;
        memcpy(same, notes->text[i], sizeof same);
        at +=
            (size_t)snprintf(text + at, size - at, "%s%s", any ? "; " : "\"", s->measure[i]->name);
        any = true;
        for (size_t j = i + 1; j < s->n_measures; j++)
            if (strcmp(notes->text[j], same) == 0) {
                at += (size_t)snprintf(text + at, size - at, ", %s", s->measure[j]->name);
                notes->text[j][0] = '\0';
            }
        at += (size_t)snprintf(text + at, size - at, ": %s", same);
    }
    if (r->clock_from && has_times(s)) {
        at +=
            (size_t)snprintf(text + at, size - at, "%sclock: %s", any ? "; " : "\"", r->clock_from);
        any = true;
    }
    return at + (size_t)snprintf(text + at, size - at, any ? "\"" : "null");
}

// Whole numbers in full, others with twelve digits, what is undefined as null; then what is to be
// known of them.
static void write_measures(const struct sq_sweep_grid *s, const struct sq_sweep_point *p,
                           const struct sq_sweep_result *r, char text[MEASURES_SIZE])
{
    const struct sq_constraint *excluded = broken(s, p, r);
    struct notes notes;
    size_t at = 0;
    make_notes(s, p, r, excluded, &notes);
    for (size_t i = 0; i < s->n_measures; i++) {
        const struct sq_measure *m = s->measure[i];
        const double v = is_kept(excluded, m) ? sq_measure_of(m, p, r) : NAN;
        char number[40] = "null";
        if (isfinite(v))
            snprintf(number, sizeof number,
                     v == floor(v) && fabs(v) < 9007199254740992.0 ? "%.0f" : "%.12g", v);
        at += (size_t)snprintf(text + at, MEASURES_SIZE - at, "%c\"%s\":%s", i ? ',' : '{', m->name,
                               number);
    }
    at += write_notes(s, r, &notes, text + at, MEASURES_SIZE - at);
    snprintf(text + at, MEASURES_SIZE - at, "}");
}

// ---- threads ------------------------------------------------------------------------------------

// Describes point `index` in *t, and whether the database has an up-to-date row of it.
static enum sq_status look_up(struct run *run, size_t index, struct task *t, bool *is_there)
{
    struct sq_sweep_row row;
    bool found;
    t->index = index;
    describe_point(run, t);
    const enum sq_status status =
        sq_sweep_db_find(run->db, run->spec->name, t->parameters, &row, &found, &run->err);
    *is_there = status == SQ_OK && found && sq_digest_is_equal(row.key, t->key);
    t->is_damaged = status == SQ_ERR_DAMAGED;
    return status == SQ_ERR_DAMAGED ? SQ_OK : status; // one row, and about to be replaced
}

// Before the first point: what is left to do is known, and its pace is that of points computed.
static enum sq_status find_all(struct run *run)
{
    const struct sq_sweep_options *o = run->options;
    run->is_found = calloc(run->spec->n_points + 1, sizeof *run->is_found);
    SQ_NEED(run->is_found, &run->err, "%zu points", run->spec->n_points);
    for (size_t i = o->shard, n = 0; i < run->spec->n_points; i += o->n_shards, n++) {
        struct task t;
        char text[80];
        SQ_TRY(look_up(run, i, &t, &run->is_found[i]));
        run->count->cached += run->is_found[i];
        run->count->damaged += t.is_damaged;
        if (o->stage && n % 1024 == 1023) {
            snprintf(text, sizeof text, "%zu points looked up, %llu found in the database", n + 1,
                     (unsigned long long)run->count->cached);
            o->stage(o->context, text);
        }
    }
    if (o->progress)
        o->progress(o->context, run->count);
    return SQ_OK;
}

// Under the lock. The next point that neither was found nor came from another process meanwhile;
// false at the end and after a failure.
static bool take(struct run *run, struct task *t)
{
    while (run->status == SQ_OK && run->next < run->spec->n_points) {
        const size_t index = run->next;
        bool is_there;
        run->next += run->options->n_shards;
        if (run->is_found[index])
            continue;
        run->status = look_up(run, index, t, &is_there);
        if (run->status == SQ_OK && !is_there)
            return true;
        run->count->cached += is_there;
    }
    return false;
}

// Under the lock.
static void finish(struct run *run, const struct task *t, const struct sq_sweep_result *r)
{
    const struct sq_sweep_options *o = run->options;
    char measures[MEASURES_SIZE];
    write_measures(run->spec, &t->point, r, measures);
    const struct sq_sweep_row row = {run->spec->name, t->parameters, t->key, measures,
                                     run->provenance};
    const enum sq_status status = sq_sweep_db_put(run->db, &row, &run->err);
    if (status != SQ_OK) {
        run->status = status;
        return;
    }
    run->count->computed++;
    if (o->progress)
        o->progress(o->context, run->count);
}

static void *work(void *context)
{
    struct run *run = context;
    struct task t;
    struct sq_sweep_result r;
    if (run->options->jobs > 1)
        omp_set_num_threads(1); // of this thread: the points are the parallelism
    pthread_mutex_lock(&run->lock);
    while (take(run, &t)) {
        struct sq_error err;
        pthread_mutex_unlock(&run->lock);
        const enum sq_status status = sq_sweep_compute(run->inputs, &t.point, &r, &err);
        pthread_mutex_lock(&run->lock);
        if (status == SQ_OK) {
            finish(run, &t, &r);
        } else if (run->status == SQ_OK) {
            run->status = status;
            run->err = err;
        }
    }
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

static void run_threads(struct run *run)
{
    const unsigned jobs = run->options->jobs;
    SQ_FREED pthread_t *thread = calloc(jobs, sizeof *thread);
    unsigned n = 0;
    while (thread && n < jobs - 1 && pthread_create(&thread[n], NULL, work, run) == 0)
        n++;
    work(run); // this one too; fewer threads than asked for only take longer
    for (unsigned i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

enum sq_status sq_sweep_run(const struct sq_sweep_grid *s, const struct sq_sweep_options *o,
                            struct sq_sweep_count *count, struct sq_error *err)
{
    struct sq_sweep_inputs *inputs;
    struct run run = {.spec = s, .options = o, .count = count, .next = o->shard};
    *count = (struct sq_sweep_count){
        .total = s->n_points > o->shard ? (s->n_points - o->shard - 1) / o->n_shards + 1 : 0};
    if (o->stage)
        o->stage(o->context, "reading models, tables and libraries");
    SQ_TRY(sq_sweep_inputs_open(&inputs, s, o, err));
    run.inputs = inputs;
    run.status = sq_sweep_db_open(&run.db, o->db, !o->is_dry_run, &run.err);
    if (run.status == SQ_OK && !o->is_dry_run)
        run.status = sq_sweep_db_describe(run.db, s->name, s->title, s->text, &run.err);
    if (run.status == SQ_OK)
        run.status = make_provenance(&run, &run.err);
    pthread_mutex_init(&run.lock, NULL);
    if (run.status == SQ_OK)
        run.status = find_all(&run);
    if (run.status == SQ_OK && !o->is_dry_run)
        run_threads(&run);
    pthread_mutex_destroy(&run.lock);
    count->encoded = sq_sweep_inputs_encodings(inputs);
    sq_sweep_db_close(run.db);
    free(run.provenance);
    free(run.is_found);
    sq_sweep_inputs_close(inputs);
    if (run.status != SQ_OK && err)
        *err = run.err;
    return run.status;
}

static enum sq_status visit_first(const struct run *run, sq_sweep_db_visit *each, void *context,
                                  struct sq_error *err)
{
    struct task t = {.index = 0};
    struct sq_sweep_result r;
    char measures[MEASURES_SIZE];
    describe_point(run, &t);
    SQ_TRY(sq_sweep_compute(run->inputs, &t.point, &r, err));
    write_measures(run->spec, &t.point, &r, measures);
    const struct sq_sweep_row row = {run->spec->name, t.parameters, t.key, measures,
                                     run->provenance};
    return each(context, &row, err);
}

enum sq_status sq_sweep_one(const struct sq_sweep_grid *s, const struct sq_sweep_options *o,
                            sq_sweep_db_visit *each, void *context, struct sq_error *err)
{
    struct sq_sweep_inputs *inputs;
    struct run run = {.spec = s, .options = o};
    SQ_TRY(sq_sweep_inputs_open(&inputs, s, o, err));
    run.inputs = inputs;
    enum sq_status status = make_provenance(&run, err);
    SQ_THEN(status, visit_first(&run, each, context, err));
    free(run.provenance);
    sq_sweep_inputs_close(inputs);
    return status;
}

enum sq_status sq_sweep_rows(const struct sq_sweep_grid *s, size_t shard, size_t n_shards,
                             struct sq_sweep_db *db, sq_sweep_db_visit *each, void *context,
                             struct sq_error *err)
{
    for (size_t i = shard; i < s->n_points; i += n_shards) {
        struct sq_sweep_point p;
        struct sq_sweep_row row;
        char parameters[SQ_PARAMETERS_SIZE];
        bool found;
        sq_sweep_grid_point(s, i, &p);
        sq_sweep_parameters(&p, parameters);
        SQ_TRY(sq_sweep_db_find(db, s->name, parameters, &row, &found, err));
        if (!found)
            return SQ_FAIL(err, SQ_ERR_RANGE, "no result of %.160s", parameters);
        SQ_TRY(each(context, &row, err));
    }
    return SQ_OK;
}
