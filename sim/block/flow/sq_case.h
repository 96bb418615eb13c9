// SPDX-License-Identifier: Apache-2.0
// A case is what goes into a block in one run: groups of beats (sq_block.h), and how each stream
// stalls (sq_stream.h). It is drawn here at random, by number and seed, or filled by a caller who
// has operands.
#pragma once

#include "sim/block/flow/sq_block.h"
#include "sim/block/flow/sq_stream.h"

enum { SQ_SINK = SQ_STREAMS_MAX, SQ_SIDES }; // index of the output among the sides of a block

struct sq_case {
    const struct sq_block *block;
    const struct sq_point *point;
    uint64_t seed; // draws registers without reset, and input fields while valid is low
    struct sq_stall stall[SQ_SIDES]; // of each input stream, then of the sink; all zero: no stall
    uint64_t stall_seed[SQ_SIDES];
    struct sq_env_choice env; // where the block has an environment
    size_t n_groups;
    uint32_t (*len)[SQ_STREAMS_MAX]; // beats of each stream in each group; owned
    size_t n_beats;                  // records, of all groups together
    int32_t *beats;                  // [n_beats][fields], group after group; owned
    uint32_t wrap[SQ_STREAMS_MAX];   // as in struct sq_group, the same for every group
    size_t max_outputs;   // capacity for a group's outputs, where the block's own is too small
    uint64_t max_cycles;  // > 0: the run ends there, whatever is still to come
    uint64_t reset_every; // > 0: cycles between resets; a reset loses the groups that have begun
    uint32_t resets;      // > 0: only so many, and lost groups are sent again: all outputs leave
};

// Allocates len and beats, all zero, for n_groups groups with n_beats records in all; the caller has
// set both, block and point. SQ_ERR_MEMORY.
enum sq_status sq_case_alloc(struct sq_case *c, struct sq_error *err);
// The same of so many groups of at most `records` records each.
enum sq_status sq_case_room(struct sq_case *c, size_t n_groups, size_t records,
                            struct sq_error *err);
void sq_case_free(struct sq_case *c);

// Appends the groups of `more` to *c. Both are of the same block and point, and neither repeats
// beats (wrap). SQ_ERR_MEMORY.
enum sq_status sq_case_append(struct sq_case *c, const struct sq_case *more, struct sq_error *err);

// Adds stalls of all streams and two resets to a case without stalls. Every group still leaves whole. A
// stream with few beats waits longer for each. A block whose environment has a `disturb` (sq_env.h) gets
// that instead. SQ_ERR_MEMORY.
enum sq_status sq_case_disturb(struct sq_case *c, uint64_t seed, struct sq_error *err);

// Records of group g: its longest stream.
size_t sq_case_records(const struct sq_case *c, size_t g);

// Makes case `number` of a seed at a point, from its arguments alone; points with other parameter
// values have other cases. Where all possible groups are few (n_all > 0 in struct sq_ports), case 0
// holds them all. The directed cases of the block follow, then random ones. SQ_ERR_MEMORY.
enum sq_status sq_case_draw(const struct sq_block *block, const struct sq_point *point,
                            uint64_t seed, uint64_t number, struct sq_case *c,
                            struct sq_error *err);
// Number of cases before the random ones.
uint64_t sq_case_n_fixed(const struct sq_block *block, const struct sq_point *point);

// For `draw_directed` of blocks with has_last: two groups of n equal beats, one with positive sums and
// one with negative ones; `fill` makes the beat. SQ_ERR_MEMORY.
enum sq_status sq_case_sums(struct sq_case *c, uint32_t n,
                            void (*fill)(const unsigned *value, int sign, int32_t *beat),
                            struct sq_error *err);

// Beats of such a group when a beat adds at most `most` (> 0): `need`, which reach the limit of the
// sum, or the beats that reach SQ_SUM_FULL if they are fewer.
uint32_t sq_case_sum_beats(int64_t need, int64_t most);

// For `cut` of blocks with has_last: shortens the group to its last beat.
bool sq_cut_to_last(size_t record_len, int32_t *record, uint32_t *len);
