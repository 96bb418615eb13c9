// SPDX-License-Identifier: Apache-2.0
// Steps a netlist through a cycle and counts its changes; delays are in sq_toggle_delay.c
// (sq_toggle.h).
#include "sim/energy/sq_toggle.h"

#include <stdlib.h>
#include <string.h>

#include "sim/energy/sq_toggle_count.h"

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

void sq_gate_load(const struct sq_toggle *t, uint32_t g, const uint64_t *from, uint64_t clock,
                  uint64_t v[SQ_GATE_VARS])
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

WITH_POPCOUNT
void sq_gate_count(struct sq_toggle *t, uint32_t g, unsigned pin, const uint64_t *v, uint64_t rises,
                   uint64_t falls, const uint64_t *changed)
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
void sq_toggle_clock_rise(struct sq_toggle *t, bool is_counted)
{
    static const uint64_t none[SQ_GATE_VARS];
    uint64_t v[SQ_GATE_VARS];
    for (size_t i = 0; i < t->n->n_flops; i++) {
        const uint32_t g = t->n->flop[i];
        const struct sq_lib_model *c = t->n->gate[g].model;
        sq_gate_load(t, g, t->value, UINT64_MAX, v);
        if (is_counted)
            sq_gate_count(t, g, c->clock, v, UINT64_MAX, 0, none);
        t->state[g] = forced(c, v, sq_lib_expr_eval(&c->next_state, v));
    }
}

void sq_toggle_clock_fall(struct sq_toggle *t)
{
    static const uint64_t none[SQ_GATE_VARS];
    uint64_t v[SQ_GATE_VARS];
    for (size_t i = 0; i < t->n->n_flops; i++) {
        const uint32_t g = t->n->flop[i];
        sq_gate_load(t, g, t->next, UINT64_MAX, v);
        count_leaks(t, g, v, false);
        sq_gate_load(t, g, t->next, 0, v);
        sq_gate_count(t, g, t->n->gate[g].model->clock, v, 0, UINT64_MAX, none);
        count_leaks(t, g, v, true);
    }
    for (size_t i = 0; i < t->n->n_order; i++) {
        sq_gate_load(t, t->n->order[i], t->next, 0, v);
        count_leaks(t, t->n->order[i], v, false);
        count_leaks(t, t->n->order[i], v, true);
    }
    t->cycles++;
}

// Pins of a gate before and after: each that changed is counted.
static void count_gate(struct sq_toggle *t, uint32_t g, const uint64_t v[SQ_GATE_VARS])
{
    const struct sq_gate *gate = &t->n->gate[g];
    const struct sq_lib_model *c = gate->model;
    uint64_t changed[SQ_GATE_VARS] = {0}, any = 0;
    for (unsigned p = 0; p < c->n_pins; p++)
        any |= changed[p] = v[p] ^ t->value[gate->net[p]];
    if (c->is_flop)
        changed[c->clock] = UINT64_MAX; // it is the cause, and counted apart
    for (unsigned p = 0; any && p < c->n_pins; p++) {
        if (changed[p] == 0 || (c->is_flop && p == c->clock))
            continue;
        sq_gate_count(t, g, p, v, changed[p] & v[p], changed[p] & ~v[p], changed);
    }
}

WITH_POPCOUNT
static void count_net(struct sq_toggle *t, uint32_t net)
{
    const uint64_t changed = t->value[net] ^ t->next[net];
    t->net[net][SQ_LIB_RISE] += ones(changed & t->next[net]);
    t->net[net][SQ_LIB_FALL] += ones(changed & ~t->next[net]);
}

static void put_outputs(struct sq_toggle *t, uint32_t g, uint64_t v[SQ_GATE_VARS])
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
    uint64_t v[SQ_GATE_VARS];
    for (size_t i = 0; i < n->n_flops; i++) {
        const uint32_t g = n->flop[i];
        sq_gate_load(t, g, t->next, UINT64_MAX, v);
        t->state[g] = forced(n->gate[g].model, v, t->state[g]);
        sq_gate_load(t, g, t->next, UINT64_MAX, v);
        put_outputs(t, g, v);
    }
    for (size_t i = 0; i < n->n_order; i++) {
        const uint32_t g = n->order[i];
        sq_gate_load(t, g, t->next, 0, v);
        put_outputs(t, g, v);
        if (is_counted)
            count_gate(t, g, v);
    }
    for (size_t i = 0; is_counted && i < n->n_flops; i++) {
        sq_gate_load(t, n->flop[i], t->next, UINT64_MAX, v);
        count_gate(t, n->flop[i], v);
    }
    for (uint32_t i = 2; is_counted && i < n->n_nets; i++)
        count_net(t, i);
}

enum sq_status sq_toggle_step(struct sq_toggle *t, bool is_counted, struct sq_error *err)
{
    sq_toggle_clock_rise(t, is_counted);
    if (is_counted && t->has_delays)
        SQ_TRY(sq_events_step(t, err));
    else
        settle(t, is_counted);
    if (is_counted)
        sq_toggle_clock_fall(t);
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
        status = sq_events_open(t, err);
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
        sq_events_close(t);
    free(t->at);
    free(t->value);
    free(t->next);
    free(t->net);
    free(t->state);
    free(t->count);
    *t = (struct sq_toggle){0};
}
