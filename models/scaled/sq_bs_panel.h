// SPDX-License-Identifier: Apache-2.0
// How the operands of a block-scaled product stand in memory for its loops (sq_bs_dot.h): weights
// in panels of SQ_BS_CHANNELS channels, activations in groups of SQ_BS_TOKENS tokens. Internal to
// models/.
//
// Both hold planes, a part of the format in a form each, and a plane is its blocks in ascending
// order. C = 32 channels, T = 6 tokens, b elements of a block, k high ones:
//
//   form     block of a panel                       block of a group
//   INT8     u8  [b/4][C][4]  elements + offset     s8  [b/4][T][4]  elements + offset
//            f32 [C] s_w  f32 [C] magic             i32 [T] start  f32 [T] s_x  f32 [T] -magic s_x
//   INT16    i16 [b/2][C][2]  f32 [C] s_w           i16 [b/2][T][2]  f32 [T] s_x
//   WIDE     f32 [b][C]  f32 [C] s_w                f64 [b][T]  f32 [T] s_x
//   SPARSE   (INT8 of the low part)                 s8  [k][T][4]  i32 [k][T] their words
//                                                   i32 [T] start  f32 [T] s_x  f32 [T] -magic s_x
//   GATHER   u8  [C][4] places                      u8  [T][32 low, 32 high] elements + 128
//            s8  [C][4] by low  s8 [C][4] by high   f32 [T] s_x  f32 [T] -magic s_x of the low part
//            i32 [C] start  f32 [C] s_w             f32 [T] s_x  f32 [T] -magic s_x of the high one
//
// Elements are integers in units of the format (E2M1: 1/2), and a scale is in them; WIDE elements
// are what they are. vpdpbusd multiplies unsigned by signed bytes, so weights (GATHER: tokens) have
// an offset that the accumulator's start takes back: start = SQ_BS_MAGIC_BITS - offset * (sum of
// the other side). With split codes tokens have one as well, which `magic` takes back.
//
// The loops multiply pairs of rows whose reaches are at most SQ_BS_REACH together (sq_bs_lane.h);
// the others need the plain loops.
#pragma once

#include "models/scaled/sq_bs.h"
#include "models/scaled/sq_bs_dot.h"
#include "models/scaled/sq_bs_lane.h"

enum { SQ_BS_PLANES = 3, SQ_BS_PASSES = 4 };

struct sq_bs_plane {
    enum sq_bs_form form;
    unsigned part;
    size_t at, block; // bytes: of a panel or group to the plane; of a block
};

// A of parts p of the weights and q of the tokens; GATHER: (1, 0) and (1, 1).
struct sq_bs_pass {
    unsigned w, x; // planes
    enum sq_bs_form form;
    unsigned p, q;
    bool is_rounded;
};

struct sq_bs_plan {
    struct sq_bs_format w_format, x_format; // of one block and number of parts
    enum sq_gemm_kernel kernel;
    size_t k, n_blocks, block;
    unsigned n_w, n_x, n_passes;
    struct sq_bs_plane w[SQ_BS_PLANES], x[SQ_BS_PLANES];
    struct sq_bs_pass pass[SQ_BS_PASSES];
    size_t panel, group; // bytes
    bool is_summed;      // GATHER: high by high elements as integers over all blocks
};

// What stands in front of the planes.
struct sq_bs_panel_head {
    uint8_t reach[SQ_BS_CHANNELS];
    int32_t high_offset[SQ_BS_CHANNELS]; // GATHER: 128 times the sum of the high weights
    uint8_t unused[32];
};
struct sq_bs_group_head {
    uint8_t reach[SQ_BS_TOKENS];
    uint8_t unused[64 - SQ_BS_TOKENS];
};

// kernel: AUTO or a supported one.
struct sq_bs_plan sq_bs_plan_of(const struct sq_bs_format *w, const struct sq_bs_format *x,
                                size_t k, enum sq_gemm_kernel kernel);
// Rows from `row` of *w, and n groups of *x; rows beyond the last have scale 0. `own`:
// sq_bs_row_scratch bytes.
size_t sq_bs_row_scratch(const struct sq_bs_plan *plan);
void sq_bs_load_panel(const struct sq_bs_plan *plan, const struct sq_bs *w, size_t row, void *panel,
                      void *own);
void sq_bs_load_groups(const struct sq_bs_plan *plan, const struct sq_bs *x, size_t row, size_t n,
                       void *groups, void *own);
// n blocks of a WIDE plane of a panel, with elements of binary64: sq_bs_widened bytes a block.
size_t sq_bs_widened(const struct sq_bs_plan *plan);
void sq_bs_widen(const struct sq_bs_plan *plan, const uint8_t *blocks, size_t n, uint8_t *out);
