// SPDX-License-Identifier: Apache-2.0
// The output stage of rtl/output/sq_output.sv behind a core or an array: what it computes and when. Blocks
// that end with it (sq_output_block.c and those with _out in their name) are made of this.
#pragma once

#include "models/output/sq_combine.h"
#include "sim/block/flow/sq_pipeline.h"
#include "sim/block/output/sq_output_port.h"

// Its parameters, those of the RTL in this order behind Rows and Cols.
enum {
    SQ_OUTPUT_LANES,
    SQ_OUTPUT_FORM,
    SQ_OUTPUT_KIND,
    SQ_OUTPUT_PORT_LEN,
    SQ_OUTPUT_DEPTH,
    SQ_OUTPUT_HOLD,
    SQ_OUTPUT_PARAMS
};
#define SQ_OUTPUT_PARAM_NAMES "Lanes", "Form", "OutKind", "PortLen", "Depth", "Hold"
enum { SQ_OUTPUT_TILE_MAX = 64 * 64 };

struct sq_output_config {
    unsigned rows, cols, lanes;
    enum sq_combine_form form;
    enum sq_output_kind kind;
    unsigned port_len, depth, hold;
};
// `value` begins with Lanes.
struct sq_output_config sq_output_config(unsigned rows, unsigned cols, const unsigned *value);
struct sq_output_port sq_output_port_of(const struct sq_output_config *c);

// For `settle` of blocks that end with the stage, whose parameters begin with `value`, bit 0 of `given`: lanes and
// outputs a word that nobody set become the most, up to those of `old`, that divide the tile and the lanes.
enum sq_status sq_output_settle(unsigned rows, unsigned cols, unsigned *value, const unsigned *old,
                                uint32_t given, struct sq_error *err);

// ---- values ---------------------------------------------------------------------------------

// The stream `scale`: last, col_lo [cols], col_hi [cols], row_lo [rows], row_hi [rows].
enum { SQ_OUTPUT_SCALE_FIELDS = 5 };
void sq_output_scale_fields(const struct sq_output_config *c, struct sq_field *field);
size_t sq_output_scale_len(const struct sq_output_config *c);
struct sq_field sq_output_field(const struct sq_output_config *c); // of the outputs

// A tile of a scale group into the sums y [rows * cols], which begin as zeros.
void sq_output_add(const struct sq_output_config *c, const int32_t *p_lo, const int32_t *p_hi,
                   const int32_t *scale, float *y);
// The same of sums that are rounded to binary32 already.
void sq_output_add_sums(const struct sq_output_config *c, const float *lo, const float *hi,
                        const int32_t *scale, float *y);
// After the last one: beats of outputs, out [rows * cols / port_len][port_len]; y is zeros again.
size_t sq_output_end(const struct sq_output_config *c, const int32_t *scale, float *y,
                     int32_t *out);

// A scale beat, as encoders write them or at the ends of the range; and a sum.
void sq_output_draw_scale(const struct sq_output_config *c, struct sq_rng *rng,
                          enum sq_stimulus kind, bool is_last, int32_t *beat);
// Scales of 0 for the low (0) or the high (1) sums, so that the other ones show whole.
void sq_output_drop_plane(const struct sq_output_config *c, unsigned plane, int32_t *beat);
// The scales of a tile so that of one of its outputs, with even chance each, the sum with `y`
// nearly cancels, and the last product lies at the middle between two bfloat16 or next to it.
void sq_output_aim_scale(const struct sq_output_config *c, struct sq_rng *rng, const int32_t *p_lo,
                         const int32_t *p_hi, const float *y, int32_t *beat);
void sq_output_aim_sums(const struct sq_output_config *c, struct sq_rng *rng, const float *lo,
                        const float *hi, const float *y, int32_t *beat);
int32_t sq_output_draw_sum(const struct sq_output_config *c, struct sq_rng *rng,
                           enum sq_stimulus kind);

// ---- time -----------------------------------------------------------------------------------

struct sq_output_sim {
    struct sq_pipeline combine, requant;
    bool has_requant;
    unsigned hold, slots, words, depth;
    unsigned spacing;           // least cycles from a tile to the next one of the same outputs
    unsigned slot, word, count; // of the tile, of the beat on the port, beats in the queue
    bool held;                  // Hold: a tile is inside
    unsigned pause;             // cycles until a tile of the same outputs may begin
    unsigned owed;              // Hold = 2: outputs on their way and in the queue
    // Whether the sums of the last slots on their way through combine are kept: a bit for each, the oldest slot in the lowest.
    uint64_t keep;
    unsigned n_last;
};

struct sq_output_in {
    bool tile_valid, scale_valid, scale_last, out_ready;
    bool scale_carry, scale_keep, carry_valid; // Sums
};

struct sq_output_out {
    bool tile_ready, scale_ready, out_valid, carry_ready;
};

void sq_output_init(struct sq_output_sim *s, const struct sq_output_config *c);
void sq_output_comb(const struct sq_output_sim *s, const struct sq_output_in *in,
                    struct sq_output_out *out);
void sq_output_clock(struct sq_output_sim *s, const struct sq_output_in *in);
// Both at once.
void sq_output_cycle(struct sq_output_sim *s, const struct sq_output_in *in,
                     struct sq_output_out *out);
// A beat of sums leaves in this cycle.
bool sq_output_keeps(const struct sq_output_sim *s);
