// SPDX-License-Identifier: Apache-2.0
// Where an address lies in a DRAM: channel, pseudo-channel, rank, bank group, bank, row and column, each a field of
// its bits above those of a burst.
//
//   row-rank-bank-column-group-pseudo-channel      from the highest bits to the lowest; column3, row4: its lowest
//                                                  bits, and the rest where column, row stands
//   ...+xor                                        the bits of bank and group, each with one of the row's lowest
//
// Names of usual ones:
//   groups   the one above: neighbours are in different channels and bank groups, a stream stays in open rows
//   xor      groups+xor: rows of the same place of an array spread over the banks
//   banks    row-column-rank-bank-group-pseudo-channel: neighbours are in different banks
//   pages    row-rank-bank-group-column-pseudo-channel: a stream stays in one bank group until its row ends
#pragma once

#include "sim/dram/sq_dram_device.h"

enum sq_dram_field {
    SQ_DRAM_CHANNEL,
    SQ_DRAM_PSEUDO,
    SQ_DRAM_RANK,
    SQ_DRAM_GROUP,
    SQ_DRAM_BANK,
    SQ_DRAM_ROW,
    SQ_DRAM_COLUMN, // in bursts
    SQ_DRAM_FIELDS
};

struct sq_dram_map {
    struct {
        uint8_t field, from, width; // bits of the field, from that one on
    } part[SQ_DRAM_FIELDS + 2];     // from the lowest bits of an address on
    uint32_t n_parts, below;        // bits of a burst
    uint32_t group_bits, bank_bits; // of xor; 0: none
};

struct sq_dram_place {
    uint32_t at[SQ_DRAM_FIELDS];
};

enum { SQ_DRAM_CHANNELS_MAX = 16 };

// A map of so many channels, a power of two. Refused are fields that are unknown, missing, given twice, and a column
// of more bits than there are.
enum sq_status sq_dram_map_parse(const char *text, const struct sq_dram_device *device,
                                 unsigned channels, struct sq_dram_map *map, struct sq_error *err);
// Names of usual maps, NULL behind the last.
extern const char *const sq_dram_map_names[];

// Addresses beyond the last one begin at the first again.
struct sq_dram_place sq_dram_map_place(const struct sq_dram_map *map, uint64_t address);

// The first address from `from` on, which is a multiple of `page` (a power of two), that is one as well and lies in the bank
// `number` of its bank group, counted round; at most SQ_DRAM_GAP_MAX behind `from`, else `from` itself: a map whose bits of
// banks lie within a page, or far above it.
enum { SQ_DRAM_GAP_MAX = 1 << 23 };
uint64_t sq_dram_map_apart(const struct sq_dram_map *map, uint64_t from, uint64_t page,
                           uint32_t number);
