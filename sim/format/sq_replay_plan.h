// SPDX-License-Identifier: Apache-2.0
// Inside of sq_replay_cosim.h: how one block gets the operands of one trace.
#ifndef SQ_REPLAY_PLAN_H
#define SQ_REPLAY_PLAN_H

#include "sim/cosim/sq_replay_cosim.h"

// One trace on its way through one stream block.
struct sq_replay_work {
    struct sq_replay *r;
    const struct sq_replay_options *o;
    struct sq_replay_outcome *out; // point and stream are made there
    struct sq_ports shape;         // of out->point
    size_t len, out_len;           // integers of an input and of an output beat
    int32_t *golden;               // [n_golden][out_len], of one group
    size_t n_golden;
};

struct sq_replay_plan {
    enum sq_replay_system system;
    const struct sq_block *block; // NULL: core
    // Chooses the point (sq_replay_set) and fills in the case (sq_replay_begin).
    enum sq_status (*make)(struct sq_replay_work *w, struct sq_error *err);
    // Compares the golden outputs of the case (sq_replay_golden) with the kernel's.
    enum sq_status (*check)(struct sq_replay_work *w, struct sq_error *err);
};
extern const struct sq_replay_plan sq_replay_array_plans[5], sq_replay_front_plans[5];

// Parameter `name` of the block.
void sq_replay_set(struct sq_replay_work *w, const char *name, unsigned value);
unsigned sq_replay_get(const struct sq_replay_work *w, const char *name);
// After the parameters, and w->out->stream.max_outputs where a group has more outputs than the
// block draws: room for n_groups groups of together n_beats beats; shape and lengths. SQ_ERR_RANGE
// beyond 2^28 integers.
enum sq_status sq_replay_begin(struct sq_replay_work *w, size_t n_groups, size_t n_beats,
                               struct sq_error *err);
// Where input field `name` begins in a beat.
size_t sq_replay_field(const struct sq_replay_work *w, const char *name);
// Output beats of a group whose first input beat (record) is `first` into w->golden; how many.
size_t sq_replay_golden(struct sq_replay_work *w, size_t group, size_t first);
// One output of the kernel, named tensor[at], against the block's.
void sq_replay_expect(struct sq_replay_work *w, const char *tensor, size_t at, int64_t got,
                      int64_t want);

#endif
