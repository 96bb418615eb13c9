// SPDX-License-Identifier: Apache-2.0
// One row of a block-scaled operand as the loops need it: integers in units of its format, sums and
// scales of its blocks. sq_bs_panel.h lays such rows out in panels. Internal to models/.
//
// The reach of a row is a number. The fast loops may multiply two rows if the sum of their reaches is at
// most SQ_BS_REACH; other rows need the plain loops. Three things make a reach large:
//   - scales of E8M0 so far from 1 that a product might leave the normal numbers of binary32
//   - blocks of E5M2 that span so many binades that a sum needs more than the 53 bits of binary64
//   - more marks in a block than its format allows
#pragma once

#include "models/scaled/sq_bs.h"

enum { SQ_BS_REACH = 48, SQ_BS_REACH_NONE = 255 };

// All codes of a format.
struct sq_bs_tables {
    float scale[SQ_BS_PARTS][256];  // of a block; what a unit of an element is, is in `unit`
    float unit[SQ_BS_PARTS];        // an element is an integer times it
    double value[SQ_BS_PARTS][256]; // E4M3, E5M2: what is multiplied
};

// The largest magnitude of an element of a part of any code, in units. E4M3 and E5M2 are wide: no
// integers here.
int64_t sq_bs_most(const struct sq_bs_format *f, unsigned part);
bool sq_bs_is_wide(const struct sq_bs_format *f, unsigned part);
void sq_bs_tables_of(const struct sq_bs_format *f, struct sq_bs_tables *t);

struct sq_bs_lane {
    uint8_t reach;
    int16_t *x[SQ_BS_PARTS];   // [k]; 0 where an element is of the other part; not of E4M3, E5M2
    double *value;             // [k] of one part, where a plane is WIDE
    uint8_t *byte;             // [k] for those who lay out bytes
    int32_t *sum[SQ_BS_PARTS]; // of x, by block
    float *scale[SQ_BS_PARTS]; // by block, times the unit
    uint32_t *mark;            // by block: bit i, element i is high
};

// A lane in `memory`: sq_bs_lane_nbytes of it.
size_t sq_bs_lane_nbytes(size_t k, size_t n_blocks);
struct sq_bs_lane sq_bs_lane_in(void *memory, size_t k, size_t n_blocks);
// Row `row` of *c; a row behind the last has elements 0 and scales 0.
void sq_bs_lane_load(struct sq_bs_lane *l, const struct sq_bs *c, size_t row,
                     const struct sq_bs_tables *t);
// The part as numbers, into l->value.
void sq_bs_lane_values(const struct sq_bs_lane *l, const struct sq_bs *c, size_t row, unsigned part,
                       const struct sq_bs_tables *t);
// to[i] = x[i] + offset of n elements, into bytes.
void sq_bs_lane_bytes(const int16_t *x, size_t n, int offset, uint8_t *to);
