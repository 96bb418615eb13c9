// SPDX-License-Identifier: Apache-2.0
// What a format knows of its kernel traces: their values, and routes, how one block gets the
// operands of one trace. sim/cosim/sq_replay_cosim.h takes the routes through the RTL.
#ifndef SQ_KERNEL_TRACE_H
#define SQ_KERNEL_TRACE_H

#include "sim/block/sq_case.h"
#include "sim/format/sq_replay.h"

// One trace on its way through one block. Point and case belong to the caller.
struct sq_route_work {
    struct sq_replay *r;
    unsigned array_rows, array_cols; // of the arrays
    struct sq_point *point;
    struct sq_case *stream;
    struct sq_ports shape; // of the point
    size_t len, out_len;   // integers of an input and of an output beat
    int32_t *golden;       // [n_golden][out_len], of one group
    size_t n_golden;
    uint64_t values, value_mismatches; // outputs of the kernel compared with the block's
    char difference[160];              // the first that differs; "": none
};

struct sq_route {
    const struct sq_block *block; // NULL: core
    // Chooses the point (sq_route_set) and fills in the case (sq_route_begin).
    enum sq_status (*make)(struct sq_route_work *w, struct sq_error *err);
    // Compares the golden outputs of the case (sq_route_golden) with the kernel's.
    enum sq_status (*check)(struct sq_route_work *w, struct sq_error *err);
};

// The kernel traces of a format.
struct sq_format_trace {
    const char *name, *flags; // metadata system and flags; NULL: the format's name; any
    // Recomputes and compares everything.
    enum sq_status (*values)(struct sq_replay *r, struct sq_error *err);
    const struct sq_route *route;
    size_t n_routes; // >= 1
};

// Parameter `name` of the block.
void sq_route_set(struct sq_route_work *w, const char *name, unsigned value);
unsigned sq_route_get(const struct sq_route_work *w, const char *name);
// After the parameters, and w->stream->max_outputs where a group has more outputs than the
// block draws: room for n_groups groups of together n_beats beats; shape and lengths. SQ_ERR_RANGE
// beyond 2^28 integers.
enum sq_status sq_route_begin(struct sq_route_work *w, size_t n_groups, size_t n_beats,
                              struct sq_error *err);
// Where input field `name` begins in a beat.
size_t sq_route_field(const struct sq_route_work *w, const char *name);
// Output beats of a group whose first input beat (record) is `first` into w->golden; how many.
size_t sq_route_golden(struct sq_route_work *w, size_t group, size_t first);
// One output of the kernel, named tensor[at], against the block's.
void sq_route_expect(struct sq_route_work *w, const char *tensor, size_t at, int64_t got,
                     int64_t want);

#endif
