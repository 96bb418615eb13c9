// SPDX-License-Identifier: Apache-2.0
// Blocks with one input and one output stream, described once for the co-simulation: RTL top and
// parameters, the fields of a beat, how input is drawn, what the golden model makes of it, and
// which cycle model times it. To add a block: an entry in sq_stream_blocks(), a bridge, its model.
//
// A beat is an array of 32-bit integers, its fields one after the other; a field is `count`
// elements of `width` bits each.
#ifndef SQ_STREAM_BLOCK_H
#define SQ_STREAM_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "models/sq_rng.h"
#include "sim/block/sq_flow_sim.h"
#include "sim/block/sq_stream_sim.h"

enum { SQ_FIELDS_MAX = 10, SQ_STREAM_PARAMS_MAX = 14 };

struct sq_field {
    const char *name; // of the port, without in_ and _i
    size_t count;
    unsigned width; // 1..32
    bool is_unsigned;
};

// What the parameters of a point make of a block.
struct sq_stream_shape {
    enum sq_stream_kind kind;
    unsigned depth; // sq_stream_sim.h
    // A unit in front of an ARRAY: its kind and depth; 0 = none.
    enum sq_stream_kind front_kind;
    unsigned front_depth;
    // ARRAY: field 0 of the input is `last`, set by the runner; an output beat per group of banks.
    size_t n_in, n_out;
    struct sq_field in[SQ_FIELDS_MAX], out[SQ_FIELDS_MAX];
    uint64_t n_all; // > 0: so many input beats are all there are (draw with
                    // SQ_DRAW_ALL)
};

struct sq_stream_point {
    const char *name;
    bool is_quick;
    unsigned value[SQ_STREAM_PARAMS_MAX]; // in the order of the block's parameters
};

enum sq_draw {
    SQ_DRAW_UNIFORM,              // legal, any value
    SQ_DRAW_EXTREME,              // legal, largest magnitudes
    SQ_DRAW_FEW,                  // legal, few different values: ties, zeros
    SQ_DRAW_ILLEGAL,              // any bits
    SQ_DRAW_RANDOM,               // end of those drawn at random
    SQ_DRAW_ALL = SQ_DRAW_RANDOM, // beat `number` of n_all
};

// What a block has besides, whose output beats are not one per input beat or group (sq_flow_sim.h),
// or which has further input streams. Its input comes in groups after which it is as after reset.
// Record i of a group holds, in the fields of each input stream, beat i of that stream.
struct sq_flow {
    struct sq_flow_stream {
        size_t n_fields;  // 0 from the first stream on that the block does not have
        const char *name; // on the ports: NAME_valid_i; "in" of the first
    } stream[SQ_FLOW_STREAMS];
    // Records and output beats of a group, at most.
    void (*limits)(const unsigned *value, size_t *records, size_t *outputs);
    // One group; records and len are zero before, len[s] beats of stream s, len[0] >= 1.
    void (*draw)(const unsigned *value, struct sq_rng *rng, enum sq_draw draw, uint64_t number,
                 int32_t *record, uint32_t *len);
    // Its output beats, zero before; returns how many (>= 1).
    size_t (*golden)(const unsigned *value, const int32_t *record, const uint32_t *len,
                     int32_t *out);
    void (*init)(const unsigned *value, struct sq_flow_sim *sim);
    // What time depends on of a beat of stream s; `valid` is the runner's.
    void (*timing)(const unsigned *value, unsigned s, const int32_t *record,
                   struct sq_flow_beat *beat);
};

struct sq_stream_block {
    const char *name, *top;                      // "topk", "sq_topk"
    const char *param[SQ_STREAM_PARAMS_MAX + 1]; // RTL parameters, NULL at the end
    const struct sq_stream_point *points;
    size_t n_points;
    void (*shape)(const unsigned *value, struct sq_stream_shape *shape);
    // One input beat; the fields are zero before.
    void (*draw)(const unsigned *value, struct sq_rng *rng, enum sq_draw draw, uint64_t number,
                 int32_t *beat);
    // The output beat of n input beats, one after the other (n = 1 unless ARRAY).
    void (*golden)(const unsigned *value, const int32_t *beats, size_t n, int32_t *out);
    const struct sq_flow *flow; // then draw and golden are NULL; of the shape only the fields count
};

// The largest matrix that gqsa_walk, and the most columns that spqt_idx takes as given operands.
enum { SQ_WALK_ROWS_MAX = 4096, SQ_WALK_GROUPS_MAX = 16384, SQ_SPQT_COLUMNS_MAX = 1024 };

// All blocks.
const struct sq_stream_block *const *sq_stream_blocks(size_t *n);
extern const struct sq_stream_block sq_stream_topk, sq_stream_meta24, sq_stream_array,
    sq_stream_act_split, sq_stream_array_a, sq_stream_spqr_dec, sq_stream_spqt_idx,
    sq_stream_gqsa_walk, sq_stream_requant, sq_stream_act_store, sq_stream_array_s,
    sq_stream_array_static, sq_stream_core_a;

// Elements of a beat before field f; with f = n the length of the beat.
size_t sq_field_offset(const struct sq_field *field, size_t f);

// The low `width` bits (1..32) of v as a field of an unsigned beat.
static inline int32_t sq_field_unsigned(uint32_t v, unsigned width)
{
    return (int32_t)(v & (UINT32_MAX >> (32 - width)));
}

// Uniform signed or unsigned value of `width` bits.
int32_t sq_draw_bits(struct sq_rng *rng, unsigned width, bool is_unsigned);
// A code of 0.3 (no mask code), by flavour.
int32_t sq_draw_code(struct sq_rng *rng, unsigned width, enum sq_draw draw);

#endif
