// SPDX-License-Identifier: Apache-2.0
// A format as a machine sees it: the unit of hardware that multiplies it, the jobs that this unit
// gets for tiles of operands, and the bytes that move. Each format says so in its
// sq_<name>_format.c. The time of a job comes from the cycle model of the unit
// (sim/block/flow/sq_unit.h).
//
// SQ on weights runs on both paths of the core, with L and H as the machine has them. All others
// get the bit products of all low and high multipliers of a PE, re-partitioned without loss for
// what they multiply:
//
//   products(a, b) = floor((L low_bits + H high_bits) act_bits_of_machine / (a b)), at least 1
//
// Default machine: W8A8 12, INT6 16, W4A8 24, W4A4 48, W16A16 3. A beat takes whole banks, blocks
// or words of the format, and ends with a scale group:
//
//   sq_w          core; banks narrower than L: as many of a group in a beat as fit
//   sq_a_dynamic  core_act, L and H in the machine's ratio; TopK by --topk; narrow banks
//                 likewise, in time: its RTL picks from all of a beat (sim/machine/README.md)
//   sq_a_static   array: channels are in the order of the mask, a beat has as many banks as fit, of
//                 each its b-k low and k high codes; else an even part of one bank
//   dense         array: products(w, a) elements
//   sp24          array: the two values of each four                                         E.8
//   mx*, nv*, sq_b  array: whole blocks
//
// Three formats run on engines side by side, as many as there are multipliers for, each with its own
// channels; the unit takes as long as the one that has most to do:
//
//   gqsa          sq_engine_gqsa: the tokens of a tile times a group of one channel in a cycle. The
//                 channels are shared out evenly (slice_k), or the kept groups are (stream_k)  F.8
//   spqt          sq_engine_spqt: a token, 256 channels; multipliers of 24 x 11 bits (a weight of
//                 binary32, an activation of binary16)                                        G.7
//   spqr          sq_engine_spqr: a token, 16 channels; of 11 x 11 bits (binary16)             H.7
//
// How many groups, outliers or active columns an engine has depends on weights and activations. Where
// only shapes are known these numbers are random: binomial, a tile at a time, by a fixed seed
// (sq_cost_law). The index unit of SpQt also goes ahead of everything: nothing can be fetched
// before the columns of the first token are known (G.8, C_idx).
//
// Bytes of SpQt (G.3, P10): of what is stored, (8 + 1) 16 K per 256 output channels as codes and
// scales, the share that its layout fetches in whole bursts (sq_spqt_cost.h). zigzag rounds the
// channels up to superblocks of 256.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "models/core/sq_config.h"
#include "sim/block/flow/sq_unit.h"
#include "sim/synth/sq_synth.h"

struct sq_recipe;

// Streams between DRAM and buffers, in their stored encoding (SPEC D.9, A.6, E to H).
enum sq_stream_id {
    SQ_STREAM_ACT,       // activation codes, masks
    SQ_STREAM_ACT_SCALE, // FP32 per token; two where a token has two
    SQ_STREAM_LO,        // low codes; elsewhere all weight codes
    SQ_STREAM_HI,        // high codes
    SQ_STREAM_INDEX,     // 2:4 metadata, group and row indices, outliers
    SQ_STREAM_SCALE,     // scales and zeros
    SQ_STREAM_OUT,       // Y, FP16
    SQ_STREAM_PARTIAL,   // FP32 partial sums of split K, both ways
    SQ_N_STREAMS,
};
const char *sq_stream_name(enum sq_stream_id id); // "act", "act_scale", "lo", ...

// A stretch of K: `elements` of it, with `banks` banks and the ends of `groups` scale groups.
struct sq_stretch {
    uint64_t elements, banks, groups;
    bool at_end; // holds the end of the row
};
// Refuses a field of the recipe outside the range of its format, by the name of its option.
enum sq_status sq_cost_check(const struct sq_recipe *r, struct sq_error *err);

// Whether a core alone can run it, without a machine (sq_w).
bool sq_cost_is_core(const struct sq_recipe *r);

// What multiplies a format on one core of a machine, and how it takes K.
struct sq_cost_unit {
    struct sq_unit unit;
    uint64_t stored;     // elements of a stored row
    unsigned step;       // elements: chunks of K are multiples of it
    unsigned flush;      // elements between two results: a scale group; 0: the whole chunk
    unsigned span;       // elements that an array takes in span_beats beats
    unsigned span_beats; //
    unsigned low_lanes, high_lanes; // multipliers of a PE on either path
    double low, high;               // products for an element of K on either
    unsigned rows, lines;           // tokens and channels of a tile: rows and columns of the array
    unsigned abreast;               // tiles of channels that are multiplied at the same time
    // Engines side by side; 0: none.
    unsigned
        engines; // that differ in what they have to do: abreast, with `lines` channels each, or
                 // (is_of_tokens) those of the tokens of a tile
    bool is_of_tokens;
    uint32_t least;       // a tile takes no less than for so much work
    unsigned load;        // elements of a token in a beat of activations
    unsigned depth;       // elements of K that a job may have
    unsigned multipliers; // of one engine
    unsigned reads;       // channels for which it reads an activation once from its own memory
    unsigned weight_rows; // tokens for which weights are read once from the buffer
    double weight_share;  // of the bytes in the buffer that these reads take
};

// The work of engines side by side in some of the tiles of a job, which has `all`: of n <=
// SQ_TILES_DRAWN entries, in each the work of every engine; of more than SQ_LINES_MAX engines that of as
// many. The tiles take the entries in turn, and where entries come again each engine takes the work of
// its neighbour: a sample does not make the same engine the slowest each time. A job takes all of them `repeats` times, >= 1.
#define SQ_TILES_DRAWN 16u
#define SQ_LINES_MAX 64u
struct sq_cost_counts {
    uint32_t n;
    uint64_t all, repeats;
    uint32_t count[SQ_TILES_DRAWN][SQ_LINES_MAX];
};
// How many tiles take entry i.
static inline uint64_t sq_cost_times(const struct sq_cost_counts *c, uint32_t i)
{
    return c->all / c->n + (i < c->all % c->n);
}
// How many engines are counted, where each has work of its own.
static inline unsigned sq_cost_counted(const struct sq_cost_unit *u)
{
    return u->engines < SQ_LINES_MAX ? u->engines : SQ_LINES_MAX;
}
// The real work of an encoded layer, in place of random work: how many groups or outliers each row
// of weights has, in pieces of K. Of formats in which tokens decide (active columns), a row is a
// token.
struct sq_own {
    size_t n, n_pieces;
    unsigned piece;   // elements
    uint32_t *before; // [n][n_pieces + 1]: number in the first 0, 1, ... pieces of a row
};
// For formats: sq_cost_own_new makes counts of 0 (SQ_ERR_MEMORY), sq_cost_own_count adds one in a
// piece, and sq_cost_own_sum ends the counting and returns the number of all.
enum sq_status sq_cost_own_new(struct sq_own *own, size_t n, size_t n_pieces, unsigned piece,
                               struct sq_error *err);
static inline void sq_cost_own_count(struct sq_own *own, size_t row, size_t piece)
{
    own->before[row * (own->n_pieces + 1) + piece + 1]++;
}
double sq_cost_own_sum(struct sq_own *own);

// The law of the random work, for people; NULL where nothing is random.
const char *sq_cost_law(const struct sq_recipe *r);

// Stored bits of an activation, masks and scales of blocks among them, scales of tokens left out
// (SPEC A.6b); 32 where activations stay binary32. The one definition of what eval, quantize and
// run call the bits of an activation.
double sq_cost_act_nbits(const struct sq_recipe *r);

// The bytes of weights among those of all streams.
uint64_t sq_cost_weight_nbytes(const uint64_t nbytes[SQ_N_STREAMS]);

// ---- for the formats ------------------------------------------------------------------------

// Products of a x b bits that a PE makes in a cycle: the formula above.
unsigned sq_cost_products(const struct sq_core_config *has, unsigned a, unsigned b);
// An array that takes pieces of `size` elements, each `per_cycle` of them a cycle: whole pieces in
// a beat, or beats for a piece.
void sq_cost_pieces(struct sq_cost_unit *u, unsigned size, double per_cycle);
// Banks on both paths of a core that has the lanes of *u and the bits of the format. A beat takes a
// bank; of banks narrower than the low lanes, as many of a group as fit.
void sq_cost_banks(struct sq_cost_unit *u, const struct sq_format *f);
// Modules that stand side by side in a PE (sq_format_ops: pe).
struct sq_cost_pe {
    unsigned n_parts;
    struct sq_synth_block part[2];
    unsigned count[2]; // of each
    bool is_engine;    // the caller's: the PE of the engine that the chip has
    unsigned tail;     // the caller's: which of its tails, from 0 on
    unsigned n_tails;  // how many there are; 0: it has none to choose from
    // How scaled blocks are added, "exact", or "binary32: " and why, or as unit says; NULL: there are none.
    const char *sum;
    const char *unit; // the area unit that lends its tail; NULL: none
};
void sq_cost_pe_add(struct sq_cost_pe *pe, unsigned count, const struct sq_synth_block *part);
// A dot product of as many products of a x b bits, and its sum; nothing where one has more than 8.
void sq_cost_pe_dense(struct sq_cost_pe *pe, unsigned lanes, unsigned a, unsigned b);
// As many lanes of sq_fp_mac, of binary16 numbers or of binary32.
void sq_cost_pe_fp_mac(struct sq_cost_pe *pe, unsigned lanes, bool is_half);
// Both paths of a core.
void sq_cost_pe_core(struct sq_cost_pe *pe, const struct sq_core_config *core);
// Engines of u->multipliers each, of the PEs' multipliers of a x b bits (u->low_lanes): how many; 0: there
// are fewer multipliers.
unsigned sq_cost_engines(struct sq_cost_unit *u, const struct sq_core_config *has, unsigned a,
                         unsigned b);
// SQ_ERR_RANGE unless act-bits are 4, 8 or, with has_16, 16.
enum sq_status sq_cost_check_act(const struct sq_recipe *r, bool has_16, struct sq_error *err);
