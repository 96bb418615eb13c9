// SPDX-License-Identifier: Apache-2.0
// Shared by the two kinds of time of sq_toggle.h; users include that.
#ifndef SQ_TOGGLE_COUNT_H
#define SQ_TOGGLE_COUNT_H

#include "sim/energy/sq_toggle.h"

// Variables of a gate's expressions.
enum { SQ_GATE_VARS = SQ_LIB_MODEL_PINS + 2 };

// Pins of gate g as `from` has them, the clock as given, and the states of a flip-flop.
void sq_gate_load(const struct sq_toggle *t, uint32_t g, const uint64_t *from, uint64_t clock,
                  uint64_t v[SQ_GATE_VARS]);

// Counts rises and falls of a pin by group, in the states of v; `changed` are the lanes in which
// each pin has just changed: those that can have caused it.
void sq_gate_count(struct sq_toggle *t, uint32_t g, unsigned pin, const uint64_t *v, uint64_t rises,
                   uint64_t falls, const uint64_t *changed);

// Parts of a cycle that both kinds of time share: the edges of the clock, and the next states.
void sq_toggle_clock_rise(struct sq_toggle *t, bool is_counted);
void sq_toggle_clock_fall(struct sq_toggle *t);

// With delays (sq_toggle_delay.c).
enum sq_status sq_events_open(struct sq_toggle *t, struct sq_error *err);
void sq_events_close(struct sq_toggle *t);
enum sq_status sq_events_step(struct sq_toggle *t, struct sq_error *err);

#endif
