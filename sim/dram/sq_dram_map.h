// SPDX-License-Identifier: Apache-2.0
// Where an address lies in a DRAM: channel, pseudo-channel, rank, bank group, bank, row and column, each a field of
// its bits above those of a burst.
//
//   row-rank-bank-column-group-pseudo-channel      from the highest bits to the lowest; column3: its three lowest
//                                                  bits, and the rest where column stands
//   ...+xor                                        the bits of bank and group, each with one of the row's lowest
//
// Names of usual ones:
//   groups   the one above: neighbours are in different channels and bank groups, a stream stays in open rows
//   xor      groups+xor: rows of the same place of an array spread over the banks
//   banks    row-column-rank-bank-group-pseudo-channel: neighbours are in different banks
//   pages    row-rank-bank-group-column-pseudo-channel: a stream stays in one bank group until its row ends
#ifndef SQ_DRAM_MAP_H
#define SQ_DRAM_MAP_H

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
    } part[2 * SQ_DRAM_FIELDS];     // from the lowest bits of an address on
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

#endif
