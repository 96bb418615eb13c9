// SPDX-License-Identifier: Apache-2.0
// A format as a machine sees it: the unit of hardware that multiplies it, the jobs that this unit
// gets for tiles of operands, and the bytes that move. Each format says so in its
// sq_<name>_format.c. The time of a job comes from the cycle model of the unit
// (sim/block/sq_unit.h).
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
//   gqsa          array behind a walker in each column: a group a beat. A tile of columns takes
//                 as long as its fullest one (slice_k), or columns share its groups (stream_k)  F.8
//   spqt          array: active columns of a tile of tokens, found by a scan one tile ahead;
//                 static: as many as the busiest multiplier has in its slice of K             G.7
//   spqr          array behind a decoder: words of 16, then the outliers of the fullest column  H.7
//   mx*, nv*, sq_b  array: whole blocks
//
// How many groups, outliers or active columns a tile has depends on weights and activations. Where
// only shapes are known these numbers are random: binomial, a tile at a time, by a fixed seed
// (sq_cost_law). The index unit of SpQt also goes ahead of everything: nothing can be fetched
// before the columns of the first tile are known (G.8, C_idx).
//
// Decoders of gqsa and spqr stand between buffer and array, those of SpQt between DRAM and buffer:
// headers of superblocks take the time of their own bytes on the DRAM, a job waits for one
// superblock (`lead`), and the buffer holds codes and steps (sim/machine/README.md).
//
// Bytes of SpQt (G.3, P10): of what is stored, (8 + 1) 16 K per 256 output channels as codes and
// scales, the share that its layout fetches in whole bursts (sq_spqt_cost.h). zigzag rounds the
// channels up to superblocks of 256.
#ifndef SQ_COST_H
#define SQ_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "models/sq_config.h"
#include "models/sq_rng.h"
#include "sim/block/sq_unit.h"
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
    bool at_end;           // holds the end of the row
    unsigned burst_nbytes; // of the DRAM; 0: what is needed, not what is fetched
};
// Of the recipe's format. Refuses a field outside its range, by the name of its option.
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
    unsigned lines;                 // columns of the array: channels of a tile
};
// `has` is the core of the machine, m and k are of the GEMM; the recipe has passed sq_cost_check.
void sq_cost_unit(const struct sq_recipe *r, const struct sq_core_config *has, uint64_t m,
                  uint64_t k, struct sq_cost_unit *u);

// flushes and beats of the job of a tile over `elements` of K; their mean where they are random.
void sq_cost_job(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t m,
                 uint64_t elements, struct sq_unit_job *job);

// Cycles in which the columns of a tile of tokens are found over `elements` of K; 0: there is
// nothing to find.
uint32_t sq_cost_scan(const struct sq_recipe *r, uint64_t elements);

// Random work of `n` tiles of columns over `elements` of K; kept: the share of the products of each
// tile that is made. False where every tile is the same, and nothing is drawn.
bool sq_cost_draw(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t m,
                  uint64_t elements, uint64_t seed, uint32_t n, struct sq_tile_work *tile,
                  double *kept);
// The real work of an encoded layer, in place of random work: how many groups or outliers each row
// of weights has, in pieces of K. Of formats in which tokens decide (active columns), a row is a
// tile of tokens, and it counts what any token of the tile needs.
struct sq_own {
    size_t n, n_pieces;
    unsigned piece;   // elements
    uint32_t *before; // [n][n_pieces + 1]: number in the first 0, 1, ... pieces of a row
};
// sq_cost_has_own: whether the recipe has such rows; sq_cost_is_own_of_tokens: whether they are
// tiles of tokens. sq_cost_own: the work of the tile of channels from `row` on, over `elements` of
// K from `first` on, as sq_cost_draw gives random work.
bool sq_cost_has_own(const struct sq_recipe *r);
bool sq_cost_is_own_of_tokens(const struct sq_recipe *r);
void sq_cost_own(const struct sq_recipe *r, const struct sq_cost_unit *u, const struct sq_own *own,
                 uint64_t row, uint64_t first, uint64_t elements, struct sq_tile_work *tile,
                 double *kept);
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

// Cycles before anything can be fetched: spqt, the index unit over one token; else 0.
uint64_t sq_cost_lead_in(const struct sq_recipe *r, uint64_t k);

// Stored bits of an activation, masks and scales of blocks among them, scales of tokens left out
// (SPEC A.6b); 32 where activations stay binary32. The one definition of what eval, quantize and
// run call the bits of an activation.
double sq_cost_act_nbits(const struct sq_recipe *r);

// Bytes of m tokens and n output channels over the stretch, of `m_all` tokens in the GEMM; streams
// from SQ_STREAM_OUT on are left alone.
void sq_cost_nbytes(const struct sq_recipe *r, uint64_t m, uint64_t n, uint64_t m_all,
                    const struct sq_stretch *stretch, uint64_t nbytes[SQ_N_STREAMS]);

// Bytes of weights in a buffer, of those that sq_cost_nbytes says.
uint64_t sq_cost_held_nbytes(const struct sq_recipe *r, const uint64_t nbytes[SQ_N_STREAMS]);

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
};
void sq_cost_pe_add(struct sq_cost_pe *pe, unsigned count, const struct sq_synth_block *part);
// A dot product of as many products of a x b bits, and its sum; nothing where one has more than 8.
void sq_cost_pe_dense(struct sq_cost_pe *pe, unsigned lanes, unsigned a, unsigned b);
// Both paths of a core.
void sq_cost_pe_core(struct sq_cost_pe *pe, const struct sq_core_config *core);
uint64_t sq_cost_beats(const struct sq_cost_unit *u, uint64_t elements);
// Successes of n trials; rng = NULL: their mean. From 16 trials on about a normal distribution.
uint32_t sq_cost_binomial(struct sq_rng *rng, uint64_t n, double p);
enum { SQ_LINES_MAX = 64 }; // columns of an array
// Whole bytes of some bits.
uint64_t sq_cost_bytes(double nbits);
// SQ_ERR_RANGE unless act-bits are 4, 8 or, with has_16, 16.
enum sq_status sq_cost_check_act(const struct sq_recipe *r, bool has_16, struct sq_error *err);

#endif
