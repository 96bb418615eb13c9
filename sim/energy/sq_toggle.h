// SPDX-License-Identifier: Apache-2.0
// A netlist at work on 64 sets of operands at once: bit i of a word is lane i. Every rise and
// fall is counted, of nets and of the groups of Liberty in whose state it fell, over all lanes.
//
// Two kinds of time. Without delays everything settles once a cycle: what must be paid. With the
// delays of the library, inertial, gates see their inputs arrive one after the other and change more
// than once: glitches are counted as well.
//
// A cycle begins with the rising edge of the clock. Then registers and input ports change and the
// gates settle while the clock is high; then the clock falls.
#pragma once

#include "sim/energy/sq_netlist.h"

enum { SQ_LANES = 64 };

struct sq_toggle {
    const struct sq_netlist *n;
    bool has_delays;
    uint64_t *value;    // [n_nets], after the last cycle
    uint64_t *state;    // [n_gates], of flip-flops
    uint64_t (*net)[2]; // [n_nets] rises and falls; of the clock: 0
    uint64_t cycles;    // counted, of one lane
    double settled;     // with delays: seconds from the edge of the clock to the last change of all
    // The counts of gate g, from count + at[g] on: rises and falls of each internal_power group, pin by pin;
    // then cycles in which each leakage state held, with the clock high and with it low.
    uint64_t *count;
    size_t *at;
    // private
    uint64_t *next;
    struct sq_events *events;
};

// Everything at 0. SQ_ERR_MEMORY.
enum sq_status sq_toggle_open(struct sq_toggle *t, const struct sq_netlist *n, bool has_delays,
                              struct sq_error *err);
void sq_toggle_close(struct sq_toggle *t);

// Sets a net of an input port for the next cycle.
static inline void sq_toggle_set(struct sq_toggle *t, uint32_t net, uint64_t lanes)
{
    t->next[net] = lanes;
}

// A cycle: afterwards `value` is what the nets hold in it. Not counted, without delays: to reset and
// to fill. SQ_ERR_MEMORY.
enum sq_status sq_toggle_step(struct sq_toggle *t, bool is_counted, struct sq_error *err);
