// SPDX-License-Identifier: Apache-2.0
// A format as a machine sees it: what a stretch of K costs in cycles of a PE and in bytes. The
// formats themselves are in models/; here only their rates and sizes count. Each one's is in its
// sq_<name>_format.c.
//
// SQ on weights runs on both paths of the core (sq_core_sim.h). All others use the same multipliers
// as honestly as they can: the bit products of all low and high multipliers of a PE, re-partitioned
// without loss for a product of a x b bits:
//
//   lanes(a, b) = floor((L low_bits + H high_bits) act_bits_of_machine / (a b)), at least 1
//
// Default machine: W8A8 12, INT6 16, W4A8 24, W4A4 48, W16A16 3; SQ(8,4,32,.75) does 16. A format
// whose elements need several products or none takes, per element of K,
//
//   dense                 1 / lanes(w, a)
//   sq_a_static, dynamic  s / lanes(w, low) + (1-s) / lanes(w, high)       both parts compact, D.4
//   sp24                  (1/2) / lanes(8, a)                              E.8
//   gqsa                  (1-s) / lanes(4, a)      groups evenly spread over workers (F.8 Stream-K)
//   spqt                  active / lanes(4, a)     active = 1 - s^rows: columns that any token of a
//                                                  tile has, tokens taken as independent (G.8);
//                                                  static: busiest(K) / K, each lane its own slice
//   spqr                  1 / lanes(3, a) + rho / lanes(16, a)             H.7
//
// cycles, rounded down to whole elements per cycle. What a decoder in front of the array does
// (TopK, index walk, second order) is hidden; its latency is that of its own cycle model. The index
// unit of SpQt is not: nothing can be fetched before the first tile's columns are known (G.8,
// C_idx). One unit per PE row; it scans later tiles while earlier ones compute.
//
// Bytes of SpQt (G.3, P10): of what is stored, (8 + 1) 16 K per 256 output channels as codes and
// scales, the share that its layout fetches in whole bursts (sq_spqt_rate.h). zigzag rounds the
// channels up to superblocks of 256.
#ifndef SQ_COST_H
#define SQ_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "models/sq_config.h"

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

// Whether both paths of the core run it (sq_w): then lanes and cycles are the core's.
bool sq_cost_is_core(const struct sq_recipe *r);

// Elements of K that one PE takes per cycle, >= 1; `m` tokens in the GEMM and rows of `k`. Not
// where the core runs it.
unsigned sq_cost_lanes(const struct sq_recipe *r, const struct sq_core_config *core, uint64_t m,
                       uint64_t k);

// Cycles before anything can be fetched: spqt, the index unit over one token; else 0.
uint64_t sq_cost_lead_in(const struct sq_recipe *r, uint64_t k);

// Bytes of m tokens and n output channels over the stretch, of `m_all` tokens in the GEMM; streams
// from SQ_STREAM_OUT on are left alone.
void sq_cost_nbytes(const struct sq_recipe *r, uint64_t m, uint64_t n, uint64_t m_all,
                    const struct sq_stretch *stretch, uint64_t nbytes[SQ_N_STREAMS]);

// ---- for the formats ------------------------------------------------------------------------

// Elements a cycle of products of a x b bits: the formula above.
double sq_cost_products(const struct sq_core_config *core, unsigned a, unsigned b);
// Whole bytes of some bits.
uint64_t sq_cost_bytes(double nbits);
// SQ_ERR_RANGE unless act-bits are 4, 8 or, with has_16, 16.
enum sq_status sq_cost_check_act(const struct sq_recipe *r, bool has_16, struct sq_error *err);

#endif
