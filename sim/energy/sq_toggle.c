// SPDX-License-Identifier: Apache-2.0
// Steps a netlist through a cycle, with delays or without, and counts its changes (sq_toggle.h).
#include "sim/energy/sq_toggle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Variables of a gate's expressions.
enum { VARS = SQ_LIB_MODEL_PINS + 2 };

// ---- counting ---------------------------------------------------------------------------------

static inline uint64_t ones(uint64_t x)
{
    return (uint64_t)__builtin_popcountll(x);
}

// Counting is most of the work: by the instruction for it where the processor has one.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) &&                        \
    !defined(__SANITIZE_ADDRESS__)
#define WITH_POPCOUNT __attribute__((target_clones("popcnt", "default")))
#else
#define WITH_POPCOUNT
#endif

// Puts the pins of gate g as `from` has them, the clock as given, and the states of a flip-flop into v.
static void load_gate(const struct sq_toggle *t, uint32_t g, const uint64_t *from, uint64_t clock,
                      uint64_t v[VARS])
{
    const struct sq_gate *gate = &t->n->gate[g];
    const size_t n = gate->model->n_pins;
    for (size_t p = 0; p < n; p++)
        v[p] = from[gate->net[p]];
    v[n] = t->state[g];
    v[n + 1] = ~t->state[g];
    if (gate->model->is_flop)
        v[gate->model->clock] = clock;
}

// Where a group of a pin holds: a default one where no other of its pin and supply does.
static uint64_t group_holds(const struct sq_lib_pin *pin, const struct sq_lib_power *p,
                            const uint64_t *v)
{
    uint64_t taken = 0;
    if (p->has_when)
        return sq_lib_expr_eval(&p->when, v);
    for (size_t i = 0; p->is_default && i < pin->n_power; i++) {
        const struct sq_lib_power *other = &pin->power[i];
        if (other->has_when && other->related == p->related && other->supply == p->supply)
            taken |= sq_lib_expr_eval(&other->when, v);
    }
    return ~taken;
}

static uint64_t leak_holds(const struct sq_lib_model *c, const struct sq_lib_leak *l,
                           const uint64_t *v)
{
    uint64_t taken = 0;
    if (l->has_when)
        return sq_lib_expr_eval(&l->when, v);
    for (size_t i = 0; l->is_default && i < c->n_leak; i++)
        if (c->leak[i].has_when && c->leak[i].supply == l->supply)
            taken |= sq_lib_expr_eval(&c->leak[i].when, v);
    return ~taken;
}

// Counters of the groups before those of a pin.
static size_t groups_before(const struct sq_lib_model *c, unsigned pin)
{
    size_t n = 0;
    for (unsigned p = 0; p < pin; p++)
        n += c->pin[p].n_power;
    return n;
}

// Counts rises and falls of a pin by group, in the states of v; `changed` are the lanes in which
// each pin has just changed: those that can have caused it.
WITH_POPCOUNT
static void count_pin(struct sq_toggle *t, uint32_t g, unsigned pin, const uint64_t *v,
                      uint64_t rises, uint64_t falls, const uint64_t *changed)
{
    const struct sq_lib_model *c = t->n->gate[g].model;
    const struct sq_lib_pin *p = &c->pin[pin];
    uint64_t *count = t->count + t->at[g] + 2 * groups_before(c, pin);
    for (size_t i = 0; i < p->n_power; i++, count += 2) {
        const struct sq_lib_power *group = &p->power[i];
        const uint64_t by = group->related >= 0 ? changed[group->related] : UINT64_MAX;
        if (((rises | falls) & by) == 0)
            continue;
        const uint64_t holds = group_holds(p, group, v) & by;
        count[SQ_LIB_RISE] += ones(rises & holds);
        count[SQ_LIB_FALL] += ones(falls & holds);
    }
}

WITH_POPCOUNT
static void count_leaks(struct sq_toggle *t, uint32_t g, const uint64_t *v, bool is_low)
{
    const struct sq_lib_model *c = t->n->gate[g].model;
    uint64_t *count = t->count + t->at[g] + 2 * groups_before(c, (unsigned)c->n_pins);
    for (size_t i = 0; i < c->n_leak; i++)
        count[2 * i + is_low] += ones(leak_holds(c, &c->leak[i], v));
}

// ---- with delays ------------------------------------------------------------------------------

// A cycle with the delays of the library. An event makes one net change in a set of lanes, so lanes
// in which the same gate has the same cause share it. A gate that sees its output come back to what
// it is, before the change has left, takes the change back (inertial delay). A gate sees all changes
// of a moment at once: what is as long as its delay leaves it, whatever the order of the events.

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
    uint64_t v[VARS];
    const struct sq_gate *gate = &t->n->gate[g];
    load_gate(t, g, t->next, UINT64_MAX, v);
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
    uint64_t v[VARS], changed[VARS] = {0};
    const uint64_t rises = lanes & t->next[net], falls = lanes & ~t->next[net];
    t->net[net][SQ_LIB_RISE] += (uint64_t)__builtin_popcountll(rises);
    t->net[net][SQ_LIB_FALL] += (uint64_t)__builtin_popcountll(falls);
    if (n->gate != SQ_NET_NONE) {
        load_gate(t, n->gate, t->next, UINT64_MAX, v);
        changed[cause] = lanes;
        count_pin(t, n->gate, n->pin, v, rises, falls, changed);
        changed[cause] = 0;
    }
    for (uint32_t s = 0; s < n->n_sinks; s++) {
        const struct sq_sink *to = &t->n->sink[n->sink + s];
        load_gate(t, to->gate, t->next, UINT64_MAX, v);
        if (t->n->gate[to->gate].model->pin[to->pin].n_power > 0)
            count_pin(t, to->gate, to->pin, v, rises, falls, changed);
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

static enum sq_status events_step(struct sq_toggle *t, struct sq_error *err)
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

static enum sq_status events_open(struct sq_toggle *t, struct sq_error *err)
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

static void events_close(struct sq_toggle *t)
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

// ---- a cycle ----------------------------------------------------------------------------------

// What reset and preset make of a state.
static uint64_t forced(const struct sq_lib_model *c, const uint64_t *v, uint64_t state)
{
    if (c->has_preset)
        state |= sq_lib_expr_eval(&c->preset, v);
    if (c->has_clear)
        state &= ~sq_lib_expr_eval(&c->clear, v);
    return state;
}

// The edge finds pins and states as the last cycle left them. What rises with it is told apart by
// the tables: where an output changes, the group of the clock's pin has nothing.
static void clock_rise(struct sq_toggle *t, bool is_counted)
{
    static const uint64_t none[VARS];
    uint64_t v[VARS];
    for (size_t i = 0; i < t->n->n_flops; i++) {
        const uint32_t g = t->n->flop[i];
        const struct sq_lib_model *c = t->n->gate[g].model;
        load_gate(t, g, t->value, UINT64_MAX, v);
        if (is_counted)
            count_pin(t, g, c->clock, v, UINT64_MAX, 0, none);
        t->state[g] = forced(c, v, sq_lib_expr_eval(&c->next_state, v));
    }
}

static void clock_fall(struct sq_toggle *t)
{
    static const uint64_t none[VARS];
    uint64_t v[VARS];
    for (size_t i = 0; i < t->n->n_flops; i++) {
        const uint32_t g = t->n->flop[i];
        load_gate(t, g, t->next, UINT64_MAX, v);
        count_leaks(t, g, v, false);
        load_gate(t, g, t->next, 0, v);
        count_pin(t, g, t->n->gate[g].model->clock, v, 0, UINT64_MAX, none);
        count_leaks(t, g, v, true);
    }
    for (size_t i = 0; i < t->n->n_order; i++) {
        load_gate(t, t->n->order[i], t->next, 0, v);
        count_leaks(t, t->n->order[i], v, false);
        count_leaks(t, t->n->order[i], v, true);
    }
    t->cycles++;
}

// Pins of a gate before and after: each that changed is counted.
static void count_gate(struct sq_toggle *t, uint32_t g, const uint64_t v[VARS])
{
    const struct sq_gate *gate = &t->n->gate[g];
    const struct sq_lib_model *c = gate->model;
    uint64_t changed[VARS] = {0}, any = 0;
    for (unsigned p = 0; p < c->n_pins; p++)
        any |= changed[p] = v[p] ^ t->value[gate->net[p]];
    if (c->is_flop)
        changed[c->clock] = UINT64_MAX; // it is the cause, and counted apart
    for (unsigned p = 0; any && p < c->n_pins; p++) {
        if (changed[p] == 0 || (c->is_flop && p == c->clock))
            continue;
        count_pin(t, g, p, v, changed[p] & v[p], changed[p] & ~v[p], changed);
    }
}

WITH_POPCOUNT
static void count_net(struct sq_toggle *t, uint32_t net)
{
    const uint64_t changed = t->value[net] ^ t->next[net];
    t->net[net][SQ_LIB_RISE] += ones(changed & t->next[net]);
    t->net[net][SQ_LIB_FALL] += ones(changed & ~t->next[net]);
}

static void put_outputs(struct sq_toggle *t, uint32_t g, uint64_t v[VARS])
{
    const struct sq_gate *gate = &t->n->gate[g];
    for (size_t p = 0; p < gate->model->n_pins; p++)
        if (gate->model->pin[p].is_output && gate->model->pin[p].has_function)
            v[p] = t->next[gate->net[p]] = sq_lib_expr_eval(&gate->model->pin[p].function, v);
}

// Everything settles at once.
static void settle(struct sq_toggle *t, bool is_counted)
{
    const struct sq_netlist *n = t->n;
    uint64_t v[VARS];
    for (size_t i = 0; i < n->n_flops; i++) {
        const uint32_t g = n->flop[i];
        load_gate(t, g, t->next, UINT64_MAX, v);
        t->state[g] = forced(n->gate[g].model, v, t->state[g]);
        load_gate(t, g, t->next, UINT64_MAX, v);
        put_outputs(t, g, v);
    }
    for (size_t i = 0; i < n->n_order; i++) {
        const uint32_t g = n->order[i];
        load_gate(t, g, t->next, 0, v);
        put_outputs(t, g, v);
        if (is_counted)
            count_gate(t, g, v);
    }
    for (size_t i = 0; is_counted && i < n->n_flops; i++) {
        load_gate(t, n->flop[i], t->next, UINT64_MAX, v);
        count_gate(t, n->flop[i], v);
    }
    for (uint32_t i = 2; is_counted && i < n->n_nets; i++)
        count_net(t, i);
}

enum sq_status sq_toggle_step(struct sq_toggle *t, bool is_counted, struct sq_error *err)
{
    clock_rise(t, is_counted);
    if (is_counted && t->has_delays)
        SQ_TRY(events_step(t, err));
    else
        settle(t, is_counted);
    if (is_counted)
        clock_fall(t);
    memcpy(t->value, t->next, t->n->n_nets * sizeof *t->value);
    return SQ_OK;
}

// ---- memory -----------------------------------------------------------------------------------

static size_t counters(const struct sq_lib_model *c)
{
    return 2 * (groups_before(c, (unsigned)c->n_pins) + c->n_leak);
}

enum sq_status sq_toggle_open(struct sq_toggle *t, const struct sq_netlist *n, bool has_delays,
                              struct sq_error *err)
{
    size_t total = 1;
    *t = (struct sq_toggle){.n = n, .has_delays = has_delays};
    t->at = calloc(n->n_gates + 1, sizeof *t->at);
    for (size_t g = 0; t->at && g < n->n_gates; g++) {
        t->at[g] = total;
        total += counters(n->gate[g].model);
    }
    t->value = calloc(n->n_nets, sizeof *t->value);
    t->next = calloc(n->n_nets, sizeof *t->next);
    t->net = calloc(n->n_nets, sizeof *t->net);
    t->state = calloc(n->n_gates + 1, sizeof *t->state);
    t->count = calloc(total, sizeof *t->count);
    enum sq_status status =
        SQ_HAVE(t->at && t->value && t->next && t->net && t->state && t->count, err, "a netlist");
    if (status == SQ_OK && has_delays)
        status = events_open(t, err);
    if (status != SQ_OK) {
        sq_toggle_close(t);
        return status;
    }
    t->value[1] = t->next[1] = UINT64_MAX;
    return SQ_OK;
}

void sq_toggle_close(struct sq_toggle *t)
{
    if (t->events)
        events_close(t);
    free(t->at);
    free(t->value);
    free(t->next);
    free(t->net);
    free(t->state);
    free(t->count);
    *t = (struct sq_toggle){0};
}
