// SPDX-License-Identifier: Apache-2.0
// What a format knows of its kernel traces: their values, and routes, how one block gets the
// operands of one trace. Inside of sq_replay.h and sq_replay_cosim.h.
#ifndef SQ_KERNEL_TRACE_H
#define SQ_KERNEL_TRACE_H

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
    const struct sq_block *block; // NULL: core
    // Chooses the point (sq_replay_set) and fills in the case (sq_replay_begin).
    enum sq_status (*make)(struct sq_replay_work *w, struct sq_error *err);
    // Compares the golden outputs of the case (sq_replay_golden) with the kernel's.
    enum sq_status (*check)(struct sq_replay_work *w, struct sq_error *err);
};
// The kernel traces of a format.
struct sq_format_trace {
    const char *name, *flags; // metadata system and flags; NULL: the format's name; any
    // Recomputes and compares everything.
    enum sq_status (*values)(struct sq_replay *r, struct sq_error *err);
    const struct sq_replay_plan *route;
    size_t n_routes; // 1..SQ_REPLAY_BLOCKS_MAX
};

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
