// SPDX-License-Identifier: Apache-2.0
// Schedules requests step by step (sq_serve.h).
#include "sim/serve/sq_serve.h"

#include <stdbool.h>
#include <stdlib.h>

// A sequence that has a place.
struct active {
    size_t id;             // of the request
    uint64_t done, output; // tokens of the prompt in the cache, tokens that are there
    uint64_t chunk;        // tokens of the prompt in this step; 0: it decodes, or waits
};

struct server {
    const struct sq_requests *q;
    const struct sq_serve_options *o;
    struct sq_serve_result *out;
    struct active *active; // in the order of their start
    size_t n, next;        // active; the first request that has not started
    double spoken;         // tokens of the cache, of all that are active
    double now;
    struct sq_serve_step step;
};

static double need_of(const struct sq_request *r)
{
    return (double)r->prompt + (double)r->outputs;
}

static void start_requests(struct server *s)
{
    while (s->next < s->q->n && s->n < s->o->sequences) {
        const struct sq_request *r = &s->q->request[s->next];
        if (r->arrived_s > s->now || s->spoken + need_of(r) > s->o->room)
            break;
        s->spoken += need_of(r);
        s->active[s->n++] = (struct active){.id = s->next++};
    }
    if (s->n > s->out->sequences_max)
        s->out->sequences_max = s->n;
    if (s->spoken > s->out->keys_max)
        s->out->keys_max = s->spoken;
}

static void plan_decoding(struct server *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct active *a = &s->active[i];
        if (a->output == 0)
            continue;
        s->step.decoding++;
        s->step.keys += (double)(s->q->request[a->id].prompt + a->output);
    }
    s->step.tokens = s->step.outputs = s->step.decoding;
}

static void plan_prompts(struct server *s)
{
    for (size_t i = 0; i < s->n && s->step.tokens < s->o->budget; i++) {
        struct active *a = &s->active[i];
        const uint64_t left = s->q->request[a->id].prompt - a->done;
        const uint64_t free_tokens = s->o->budget - s->step.tokens;
        if (left == 0)
            continue;
        if (a->done == 0)
            s->out->served[a->id].start_s = s->now;
        a->chunk = left < free_tokens ? left : free_tokens;
        s->step.of[s->step.n++] = (struct sq_serve_chunk){a->chunk, a->done};
        s->step.tokens += a->chunk;
        s->step.outputs += a->chunk == left;
    }
}

// What the step has made of a sequence; whether that was its last token.
static bool advance(struct server *s, struct active *a)
{
    const struct sq_request *r = &s->q->request[a->id];
    struct sq_served *served = &s->out->served[a->id];
    const bool decodes = a->output > 0;
    s->out->prompt_tokens += a->chunk;
    a->done += a->chunk;
    if (!decodes && !(a->chunk > 0 && a->done == r->prompt)) {
        a->chunk = 0;
        return false;
    }
    a->chunk = 0;
    if (!decodes)
        served->first_s = s->now;
    s->out->new_tokens++;
    a->output++;
    served->end_s = s->now;
    return a->output == r->outputs;
}

static void advance_all(struct server *s)
{
    size_t left = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct active a = s->active[i];
        if (advance(s, &a))
            s->spoken -= need_of(&s->q->request[a.id]);
        else
            s->active[left++] = a;
    }
    s->n = left;
}

static enum sq_status check(const struct sq_requests *q, const struct sq_serve_options *o,
                            struct sq_error *err)
{
    SQ_FAIL_IF(o->sequences < 1 || o->sequences > o->budget, err, SQ_ERR_ARG,
               "%llu sequences at once, need 1..%llu, the tokens of a step",
               (unsigned long long)o->sequences, (unsigned long long)o->budget);
    for (size_t i = 0; i < q->n; i++)
        SQ_FAIL_IF(need_of(&q->request[i]) > o->room, err, SQ_ERR_RANGE,
                   "request %zu needs %.0f tokens of the cache, which holds %.0f", i + 1,
                   need_of(&q->request[i]), o->room);
    return SQ_OK;
}

static enum sq_status serve(struct server *s, sq_serve_seconds seconds, void *user,
                            struct sq_error *err)
{
    while (s->n > 0 || s->next < s->q->n) {
        double took = 0;
        if (s->n == 0 && s->q->request[s->next].arrived_s > s->now)
            s->now = s->q->request[s->next].arrived_s;
        start_requests(s);
        s->step = (struct sq_serve_step){.of = s->step.of};
        plan_decoding(s);
        plan_prompts(s);
        SQ_TRY(seconds(user, &s->step, &took, err));
        s->now += took;
        s->out->busy_s += took;
        s->out->sequence_s += took * (double)s->n;
        s->out->steps++;
        advance_all(s);
    }
    s->out->end_s = s->now;
    return SQ_OK;
}

enum sq_status sq_serve(const struct sq_requests *q, const struct sq_serve_options *o,
                        sq_serve_seconds seconds, void *user, struct sq_serve_result *out,
                        struct sq_error *err)
{
    *out = (struct sq_serve_result){0};
    SQ_TRY(check(q, o, err));
    const size_t most = o->sequences < q->n ? (size_t)o->sequences : q->n;
    struct server s = {.q = q,
                       .o = o,
                       .out = out,
                       .active = calloc(most + 1, sizeof *s.active),
                       .step.of = calloc(most + 1, sizeof *s.step.of)};
    out->served = calloc(q->n + 1, sizeof *out->served);
    enum sq_status status =
        SQ_HAVE(s.active && s.step.of && out->served, err, "%zu requests", q->n);
    SQ_THEN(status, serve(&s, seconds, user, err));
    SQ_FREE(s.active, s.step.of);
    return SQ_ELSE(status, sq_serve_free(out));
}

void sq_serve_free(struct sq_serve_result *result)
{
    free(result->served);
    result->served = NULL;
}
