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
    uint64_t seed; // of registers without reset, and of what stands on ports that offer nothing
    struct sq_stall stall[SQ_SIDES]; // of each input stream, and of the sink; all zero: free
    uint64_t stall_seed[SQ_SIDES];
    struct sq_env_choice env; // of a block that has an environment
    size_t n_groups;
    uint32_t (*len)[SQ_STREAMS_MAX]; // beats of each stream in each group; owned
    size_t n_beats;                  // records, of all groups together
    int32_t *beats;                  // [n_beats][fields], the groups one after the other; owned
    uint32_t wrap[SQ_STREAMS_MAX];   // as in struct sq_group, of every group
    size_t max_outputs;              // of a group, where given operands pass the block's limits
    uint64_t max_cycles;             // > 0: the run ends there, whatever is still to come
    uint64_t reset_every; // > 0: cycles between resets, in each of which the groups begun
                          // are lost
    uint32_t resets;      // > 0: only so many, and what is lost of a group comes again: all outputs
                          // of the case leave
};

// Room for c->n_groups groups of together c->n_beats records of c->block at c->point, all zero.
// SQ_ERR_MEMORY.
enum sq_status sq_case_alloc(struct sq_case *c, struct sq_error *err);
void sq_case_free(struct sq_case *c);

// Appends the groups of `more` to *c. Both are of the same block and point, and neither repeats
// beats (wrap). SQ_ERR_MEMORY.
enum sq_status sq_case_append(struct sq_case *c, const struct sq_case *more, struct sq_error *err);

// Stalls of all streams, and resets at two moments, for a case that has free streams. Every group
// leaves whole. A stream with few beats waits longer for each of them. Of an environment that is given its
// work (sq_env.h) the trouble that this has. SQ_ERR_MEMORY.
enum sq_status sq_case_disturb(struct sq_case *c, uint64_t seed, struct sq_error *err);

// Records of group g: its longest stream.
size_t sq_case_records(const struct sq_case *c, size_t g);

// Case `number` of a seed at a point, a function of its arguments alone: other points, by the
// values of their parameters, have other cases. First comes the one that holds all groups there
// are, where the point has it (n_all > 0), then the directed ones of the block, then those drawn at
// random. SQ_ERR_MEMORY.
enum sq_status sq_case_draw(const struct sq_block *block, const struct sq_point *point,
                            uint64_t seed, uint64_t number, struct sq_case *c,
                            struct sq_error *err);
// How many come before the random ones.
uint64_t sq_case_n_fixed(const struct sq_block *block, const struct sq_point *point);

// For `draw_directed` of blocks with has_last: two groups of n equal beats each, of which `fill`
// makes one whose sums have the given sign. SQ_ERR_MEMORY.
enum sq_status sq_case_sums(struct sq_case *c, uint32_t n,
                            void (*fill)(const unsigned *value, int sign, int32_t *beat),
                            struct sq_error *err);

// The number of beats of those groups, where one beat makes a sum of at most `most` (> 0): `need`
// beats, which reach the limit of the sum; or the beats that reach SQ_SUM_FULL, if they are fewer.
uint32_t sq_case_sum_beats(int64_t need, int64_t most);

// For `cut` of blocks with has_last: the group becomes its last beat.
bool sq_cut_to_last(size_t record_len, int32_t *record, uint32_t *len);
