// SPDX-License-Identifier: Apache-2.0
// The environment of a block (sim/block/flow/sq_env.h) during a run in lock step: one object, which
// model and RTL see alike and both send requests to. For a block without an environment every
// function does nothing.
#pragma once

#include "sim/block/flow/sq_case.h"
#include "sim/cosim/sq_port.h"
#include "sim/cosim/sq_rtl.h"

struct sq_env_run {
    const struct sq_case *c;
    const struct sq_ports *ports;
    const struct sq_rtl_api *rtl;
    const int32_t *status; // of the block, in this cycle; NULL: it has none
    void *state;
    uint64_t resets;
    struct sq_pins pins;                   // of this cycle; the block's side is the model's
    bool ask_valid[SQ_ASKS_MAX];           // the RTL's
    bool reply_ready[SQ_REPLIES_MAX];      // the RTL's
    struct sq_port_words ask, reply, want; // RTL's asks, replies, model's asks
};

// False without memory; sq_env_run_free is right either way.
bool sq_env_run_alloc(struct sq_env_run *e, const struct sq_case *c, const struct sq_ports *ports,
                      const struct sq_rtl_api *rtl);
void sq_env_run_free(struct sq_env_run *e);
void sq_env_run_reset(struct sq_env_run *e);
bool sq_env_run_is_busy(const struct sq_env_run *e);
bool sq_env_run_has_done(const struct sq_env_run *e); // a piece of work since the reset

// A cycle, in this order: the environment's side, to the model and to the RTL; what the model asks
// (ask) and what the RTL asks (read_rtl); the comparisons; the edge.
void sq_env_run_drive(struct sq_env_run *e, void *model);
void sq_env_run_ask(struct sq_env_run *e, void *model);
void sq_env_run_drive_rtl(struct sq_env_run *e, void *rtl);
void sq_env_run_read_rtl(struct sq_env_run *e, void *rtl);
void sq_env_run_show(struct sq_env_run *e, void *rtl); // for the waveform, before drive_rtl

// NULL, or the RTL's value of the first valid or ready that differs, its port in `name`.
const bool *sq_env_run_handshake(const struct sq_env_run *e, char name[32]);
// Whether an ask that is valid differs in a field, its port in `name`.
bool sq_env_run_differs(const struct sq_env_run *e, char name[32], struct sq_port_difference *d);

// How many asks and replies moved; what the environment complains of, or NULL.
unsigned sq_env_run_clock(struct sq_env_run *e, const char **complaint);
// The same with what the RTL alone asked, and the environment's side of the next cycle.
bool sq_env_run_clock_alone(struct sq_env_run *e);
