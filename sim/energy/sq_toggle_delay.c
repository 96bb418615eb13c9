// SPDX-License-Identifier: Apache-2.0
// A cycle with the delays of the library. An event makes one net change in a set of lanes, so lanes
// in which the same gate has the same cause share it. A gate that sees its output come back to what
// it is, before the change has left, takes the change back (inertial delay). A gate sees all changes
// of a moment at once: what is as long as its delay leaves it, whatever the order of the events.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/energy/sq_toggle_count.h"

struct event {
    uint64_t lanes;
    uint32_t net, next; // of the net, 0: the last
    uint32_t cause;     // pin of the gate that drives it
};

struct slot {
    int64_t time; // femtoseconds
    uint64_t number;
    uint32_t event;
};

struct sq_events {
    struct event *pool;
    struct slot *heap;
    struct event *now; // the changes of a moment
    size_t n_pool, cap, n_heap;
    uint32_t free;     // list
    uint32_t *pending; // [n_nets] events of the net
    uint64_t *owed;    // [n_nets] lanes of them
    uint64_t number;
    // The delays of gate g, from delay + at[g] on: [output pin][input pin][edge of input][edge of output].
    int64_t *delay;
    size_t *at;
    bool is_full;
};

// ---- the heap ---------------------------------------------------------------------------------

static bool is_before(const struct slot *a, const struct slot *b)
{
    return a->time != b->time ? a->time < b->time : a->number < b->number;
}

static void push(struct sq_events *e, struct slot s)
{
    size_t i = e->n_heap++;
    for (; i > 0 && is_before(&s, &e->heap[(i - 1) / 2]); i = (i - 1) / 2)
        e->heap[i] = e->heap[(i - 1) / 2];
    e->heap[i] = s;
}

static struct slot pop(struct sq_events *e)
{
    const struct slot top = e->heap[0], s = e->heap[--e->n_heap];
    size_t i = 0;
    for (size_t c; (c = 2 * i + 1) < e->n_heap; i = c) {
        c += c + 1 < e->n_heap && is_before(&e->heap[c + 1], &e->heap[c]);
        if (!is_before(&e->heap[c], &s))
            break;
        e->heap[i] = e->heap[c];
    }
    e->heap[i] = s;
    return top;
}

static bool grow(struct sq_events *e)
{
    const size_t cap = e->cap ? 2 * e->cap : 4096;
    void *pool = realloc(e->pool, cap * sizeof *e->pool);
    if (pool)
        e->pool = pool;
    void *heap = pool ? realloc(e->heap, cap * sizeof *e->heap) : NULL;
    if (heap)
        e->heap = heap;
    void *now = heap ? realloc(e->now, cap * sizeof *e->now) : NULL;
    if (now)
        e->now = now;
    if (!now)
        return false;
    e->cap = cap;
    return true;
}

static void schedule(struct sq_events *e, uint32_t net, int64_t time, uint64_t lanes,
                     uint32_t cause)
{
    if (lanes == 0)
        return;
    uint32_t i = e->free;
    if (i) {
        e->free = e->pool[i].next;
    } else if (e->n_pool < e->cap || grow(e)) {
        i = (uint32_t)e->n_pool++;
    } else {
        e->is_full = true;
        return;
    }
    e->pool[i] = (struct event){lanes, net, e->pending[net], cause};
    e->pending[net] = i;
    e->owed[net] |= lanes;
    push(e, (struct slot){time, e->number++, i});
}

// Out of the list of its net. The heap may still hold events without lanes.
static void take_out(struct sq_events *e, uint32_t i)
{
    uint32_t *at = &e->pending[e->pool[i].net];
    while (*at != i)
        at = &e->pool[*at].next;
    *at = e->pool[i].next;
    e->pool[i].next = e->free;
    e->free = i;
}

// ---- gates ------------------------------------------------------------------------------------

// How input pin `from` at edge `in` makes edge `out` of an output: the mean of the ways there are.
static double delay_of(const struct sq_netlist *n, const struct sq_gate *g, unsigned pin,
                       unsigned from, unsigned in, unsigned out, bool any_sense)
{
    const struct sq_lib_pin *p = &g->model->pin[pin];
    double sum = 0;
    unsigned ways = 0;
    for (size_t i = 0; i < p->n_timing; i++) {
        const struct sq_lib_timing *t = &p->timing[i];
        const int cause = sq_lib_cause(t, out);
        if (t->related != from || t->delay[out].n_slew == 0 ||
            (!any_sense && cause >= 0 && cause != (int)in))
            continue;
        sum += sq_lib_table_at(&t->delay[out], n->net[g->net[from]].slew[in],
                               n->net[g->net[pin]].load);
        ways++;
    }
    return ways ? sum / ways : any_sense ? 0 : delay_of(n, g, pin, from, in, out, true);
}

static void fill_delays(const struct sq_netlist *n, uint32_t g, int64_t *to)
{
    const struct sq_gate *gate = &n->gate[g];
    const unsigned pins = (unsigned)gate->model->n_pins;
    for (unsigned pin = 0; pin < pins; pin++)
        for (unsigned from = 0; from < pins; from++)
            for (unsigned k = 0; k < 4; k++, to++) {
                const double s = gate->model->pin[pin].is_output
                                     ? delay_of(n, gate, pin, from, k / 2, k % 2, false)
                                     : 0;
                *to = s > 0 ? llrint(s * 1e15) : 0;
            }
}

static const int64_t *delays(const struct sq_toggle *t, uint32_t g, unsigned pin, unsigned from)
{
    return t->events->delay + t->events->at[g] + 4 * (pin * t->n->gate[g].model->n_pins + from);
}

// The lanes in which an output comes back to what it is are taken from the events that are owed.
static void cancel(struct sq_events *e, uint32_t net, uint64_t lanes)
{
    for (uint32_t i = e->pending[net]; i; i = e->pool[i].next)
        e->pool[i].lanes &= ~lanes;
    e->owed[net] &= ~lanes;
}

// Input pin `from` has changed: what that does to the outputs. v: pins as they now are.
static void evaluate(struct sq_toggle *t, uint32_t g, unsigned from, const uint64_t *v,
                     int64_t time)
{
    struct sq_events *e = t->events;
    const struct sq_gate *gate = &t->n->gate[g];
    for (unsigned p = 0; p < gate->model->n_pins; p++) {
        if (!gate->model->pin[p].is_output || !gate->model->pin[p].has_function)
            continue;
        const uint32_t net = gate->net[p];
        const uint64_t to = sq_lib_expr_eval(&gate->model->pin[p].function, v);
        const uint64_t differs = to ^ t->next[net], owed = e->owed[net];
        if (owed & ~differs)
            cancel(e, net, owed & ~differs);
        const uint64_t starts = differs & ~owed;
        if (starts == 0)
            continue;
        const int64_t *d = delays(t, g, p, from);
        schedule(e, net, time + d[0], starts & v[from] & to, from);
        schedule(e, net, time + d[1], starts & v[from] & ~to, from);
        schedule(e, net, time + d[2], starts & ~v[from] & to, from);
        schedule(e, net, time + d[3], starts & ~v[from] & ~to, from);
    }
}

// The clock has risen: outputs of a flip-flop follow its state.
static void launch(struct sq_toggle *t, uint32_t g)
{
    uint64_t v[SQ_GATE_VARS];
    const struct sq_gate *gate = &t->n->gate[g];
    sq_gate_load(t, g, t->next, UINT64_MAX, v);
    for (unsigned p = 0; p < gate->model->n_pins; p++) {
        if (!gate->model->pin[p].is_output || !gate->model->pin[p].has_function)
            continue;
        const uint64_t to = sq_lib_expr_eval(&gate->model->pin[p].function, v);
        const uint64_t differs = to ^ t->next[gate->net[p]];
        const int64_t *d = delays(t, g, p, gate->model->clock);
        schedule(t->events, gate->net[p], d[0], differs & to, gate->model->clock);
        schedule(t->events, gate->net[p], d[1], differs & ~to, gate->model->clock);
    }
}

// A net has changed in some lanes: it, the gate that drives it, and those that it drives are counted.
static void follow(struct sq_toggle *t, uint32_t net, uint64_t lanes, uint32_t cause, int64_t time)
{
    const struct sq_net *n = &t->n->net[net];
    uint64_t v[SQ_GATE_VARS], changed[SQ_GATE_VARS] = {0};
    const uint64_t rises = lanes & t->next[net], falls = lanes & ~t->next[net];
    t->net[net][SQ_LIB_RISE] += (uint64_t)__builtin_popcountll(rises);
    t->net[net][SQ_LIB_FALL] += (uint64_t)__builtin_popcountll(falls);
    if (n->gate != SQ_NET_NONE) {
        sq_gate_load(t, n->gate, t->next, UINT64_MAX, v);
        changed[cause] = lanes;
        sq_gate_count(t, n->gate, n->pin, v, rises, falls, changed);
        changed[cause] = 0;
    }
    for (uint32_t s = 0; s < n->n_sinks; s++) {
        const struct sq_sink *to = &t->n->sink[n->sink + s];
        sq_gate_load(t, to->gate, t->next, UINT64_MAX, v);
        if (t->n->gate[to->gate].model->pin[to->pin].n_power > 0)
            sq_gate_count(t, to->gate, to->pin, v, rises, falls, changed);
        if (!t->n->gate[to->gate].model->is_flop)
            evaluate(t, to->gate, to->pin, v, time);
    }
}

// The nets take the values that are due; returns how many changes that is.
static size_t change(struct sq_toggle *t, int64_t time)
{
    struct sq_events *e = t->events;
    size_t n = 0;
    while (e->n_heap > 0 && e->heap[0].time == time) {
        const uint32_t i = pop(e).event;
        const struct event event = e->pool[i];
        take_out(e, i);
        e->owed[event.net] &= ~event.lanes;
        t->next[event.net] ^= event.lanes;
        if (event.lanes)
            e->now[n++] = event;
    }
    return n;
}

enum sq_status sq_events_step(struct sq_toggle *t, struct sq_error *err)
{
    struct sq_events *e = t->events;
    const struct sq_netlist *n = t->n;
    for (size_t i = 0; i < n->n_ports; i++)
        for (size_t b = 0; n->port[i].is_input && b < n->port[i].n_bits; b++) {
            const uint32_t net = n->port[i].net[b];
            const uint64_t changed = t->next[net] ^ t->value[net];
            t->next[net] = t->value[net]; // until the event comes
            schedule(e, net, 0, changed, 0);
        }
    for (size_t i = 0; i < n->n_flops; i++)
        launch(t, n->flop[i]);
    while (e->n_heap > 0 && !e->is_full) {
        const int64_t time = e->heap[0].time;
        const size_t n_now = change(t, time);
        if (n_now && 1e-15 * (double)time > t->settled)
            t->settled = 1e-15 * (double)time;
        for (size_t i = 0; i < n_now; i++)
            follow(t, e->now[i].net, e->now[i].lanes, e->now[i].cause, time);
    }
    return e->is_full ? SQ_NO_MEMORY(err, "the events of a netlist") : SQ_OK;
}

// ---- memory -----------------------------------------------------------------------------------

enum sq_status sq_events_open(struct sq_toggle *t, struct sq_error *err)
{
    const struct sq_netlist *n = t->n;
    struct sq_events *e = t->events = calloc(1, sizeof *e);
    size_t total = 0;
    if (e) {
        e->pending = calloc(n->n_nets, sizeof *e->pending);
        e->owed = calloc(n->n_nets, sizeof *e->owed);
        e->at = calloc(n->n_gates + 1, sizeof *e->at);
    }
    for (size_t g = 0; e && e->at && g < n->n_gates; g++) {
        e->at[g] = total;
        total += 4 * n->gate[g].model->n_pins * n->gate[g].model->n_pins;
    }
    if (e)
        e->delay = calloc(total + 1, sizeof *e->delay);
    SQ_NEED(e && e->pending && e->owed && e->at && e->delay && grow(e), err,
            "the events of a netlist");
    e->n_pool = 1; // 0 is no event
    for (uint32_t g = 0; g < n->n_gates; g++)
        fill_delays(n, g, e->delay + e->at[g]);
    return SQ_OK;
}

void sq_events_close(struct sq_toggle *t)
{
    struct sq_events *e = t->events;
    free(e->pool);
    free(e->heap);
    free(e->now);
    free(e->pending);
    free(e->owed);
    free(e->at);
    free(e->delay);
    free(e);
    t->events = NULL;
}
