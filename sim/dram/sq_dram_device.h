// SPDX-License-Identifier: Apache-2.0
// A DRAM device: the shape and the timings of one channel. Described in YAML (sim/dram/devices/), each value with
// its source:
//
//   name: ddr4-2400
//   standard: DDR4
//   sources:
//     - {id: A, text: "where values come from"}
//   values:
//     - {key: clock, value: 833 ps, source: A}
//     - {key: CL, value: 16, source: A}
//     - {key: RFC, value: 280..350 ns, source: A}   a range; clocks, ps or ns
//
// A time in ns or ps is rounded up to whole clocks. A range is the values that sources give who do not agree, or that
// vendors choose: a run then has two ends, one with all that is fast, one with all that is slow.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

// Shape of a channel: key, least, most, whether it is a power of two.
//   width    bits of the data bus of a pseudo-channel
//   burst    beats of a burst; beats: of them in a clock
//   pseudo   pseudo-channels, which share a command bus; ranks of each; bank groups of a rank; banks of a group
//   rows     of a bank; columns: beats of a row
//   buses    command buses: 1, or 2 where row and column commands have one each
//   act, pre, col, ref   clocks of a command on its bus: activate, precharge, read or write, refresh
#define SQ_DRAM_SHAPES(X)                                                                          \
    X(width, 4, 1024, true)                                                                        \
    X(burst, 2, 64, true)                                                                          \
    X(beats, 1, 16, false)                                                                         \
    X(pseudo, 1, 2, true)                                                                          \
    X(ranks, 1, 4, true)                                                                           \
    X(groups, 1, 8, true)                                                                          \
    X(banks, 1, 16, true)                                                                          \
    X(rows, 1024, 1048576, true)                                                                   \
    X(columns, 32, 65536, true)                                                                    \
    X(buses, 1, 2, false)                                                                          \
    X(act, 1, 4, false)                                                                            \
    X(pre, 1, 4, false)                                                                            \
    X(col, 1, 4, false)                                                                            \
    X(ref, 1, 4, false)

// Timings in clocks, from the last clock of a command to the last clock of the other: key, what stands for one that
// is not given (-1: it must be given; else another key, or the number 0), sense (+1: more is slower).
//   CL, DQSCK    from a read to its first beat: their sum; CWL, DQSS: from a write
//   RCDRD, RCDWR from an activate to a read, a write; RP, RPab: from a precharge of one bank, of all, to an activate
//   RAS, RC      from an activate to a precharge, to another of the bank; RTP: from a read to a precharge
//   WR           from the last beat of a write to a precharge; WTRS, WTRL: to a read of another group, of the same
//   RRDS, RRDL   between activates of groups, of a group; FAW: in which at most four
//   CCDS, CCDL   between reads of groups, of a group; CCDSW, CCDLW: between writes
//   RTW          from a read to a write; RTRS: clocks of the data bus between two ranks
//   PPD          between precharges
//   REFI, RFC    between refreshes of all banks, and their time; REFIpb, RFCpb: of one bank, 0: has no such refresh
//   RREFD        from a refresh of one bank to an activate of another; PBR: to a refresh of another
#define SQ_DRAM_TIMES(X)                                                                           \
    X(CL, -1, +1)                                                                                  \
    X(DQSCK, SQ_DRAM_ZERO, +1)                                                                     \
    X(CWL, -1, +1)                                                                                 \
    X(DQSS, SQ_DRAM_ZERO, +1)                                                                      \
    X(RCDRD, -1, +1)                                                                               \
    X(RCDWR, SQ_DRAM_T_RCDRD, +1)                                                                  \
    X(RP, -1, +1)                                                                                  \
    X(RPab, SQ_DRAM_T_RP, +1)                                                                      \
    X(RAS, -1, +1)                                                                                 \
    X(RC, -1, +1)                                                                                  \
    X(RTP, -1, +1)                                                                                 \
    X(WR, -1, +1)                                                                                  \
    X(WTRS, -1, +1)                                                                                \
    X(WTRL, SQ_DRAM_T_WTRS, +1)                                                                    \
    X(RRDS, -1, +1)                                                                                \
    X(RRDL, SQ_DRAM_T_RRDS, +1)                                                                    \
    X(FAW, -1, +1)                                                                                 \
    X(CCDS, -1, +1)                                                                                \
    X(CCDL, SQ_DRAM_T_CCDS, +1)                                                                    \
    X(CCDSW, SQ_DRAM_T_CCDS, +1)                                                                   \
    X(CCDLW, SQ_DRAM_T_CCDL, +1)                                                                   \
    X(RTW, -1, +1)                                                                                 \
    X(RTRS, SQ_DRAM_ZERO, +1)                                                                      \
    X(PPD, SQ_DRAM_ZERO, +1)                                                                       \
    X(REFI, -1, -1)                                                                                \
    X(RFC, -1, +1)                                                                                 \
    X(REFIpb, SQ_DRAM_ZERO, -1)                                                                    \
    X(RFCpb, SQ_DRAM_ZERO, +1)                                                                     \
    X(RREFD, SQ_DRAM_T_RRDS, +1)                                                                   \
    X(PBR, SQ_DRAM_T_RFCpb, +1)

#define SQ_DRAM_TIME_ENUM(key, usual, sense) SQ_DRAM_T_##key,
enum sq_dram_time { SQ_DRAM_TIMES(SQ_DRAM_TIME_ENUM) SQ_DRAM_N_TIMES, SQ_DRAM_ZERO };
#undef SQ_DRAM_TIME_ENUM

// Energies of a channel, where the source gives currents or energies; all of them or none.
//   Eact         an activate and its precharge, above standby; Eread, Ewrite: a burst; Erefresh: of all banks, of one bank
//                its share. "1475 pJ"
//   background   standby: with all banks closed .. open. "367..422 mW"
struct sq_dram_energy {
    bool is_there;
    double act_pj, read_pj, write_pj, refresh_pj, background_mw[2];
};

enum sq_dram_end { SQ_DRAM_FAST, SQ_DRAM_SLOW };

struct sq_dram_device {
    char name[32], standard[16];
    bool is_range; // some value is a range: the other end differs
    uint32_t clock_ps;
#define SQ_DRAM_SHAPE_MEMBER(key, least, most, power) uint32_t key;
    SQ_DRAM_SHAPES(SQ_DRAM_SHAPE_MEMBER)
#undef SQ_DRAM_SHAPE_MEMBER
    uint32_t t[SQ_DRAM_N_TIMES];
    struct sq_dram_energy energy;
};

// One end of the device. Refused in one sentence with file and field: see sq_yaml.h; keys given twice, missing,
// unknown, or without a source; values out of range; a channel of more than SQ_DRAM_BANKS_MAX banks.
enum { SQ_DRAM_BANKS_MAX = 128 };
enum sq_status sq_dram_device_load(const char *path, enum sq_dram_end end,
                                   struct sq_dram_device *device, struct sq_error *err);
// The same on text; `what` names it.
enum sq_status sq_dram_device_parse(const char *text, size_t nbytes, const char *what,
                                    enum sq_dram_end end, struct sq_dram_device *device,
                                    struct sq_error *err);
// The same of a device that comes with sqsim, by its name; the known names stand in the refusal.
enum sq_status sq_dram_device_named(const char *name, enum sq_dram_end end,
                                    struct sq_dram_device *device, struct sq_error *err);
// The devices that come with sqsim; NULL behind the last.
extern const char *const sq_dram_device_names[];

// Clocks of a burst on the data bus; bytes of a burst; banks of a channel.
static inline uint32_t sq_dram_burst_clocks(const struct sq_dram_device *d)
{
    return (d->burst + d->beats - 1) / d->beats;
}
static inline uint32_t sq_dram_burst_nbytes(const struct sq_dram_device *d)
{
    return d->width * d->burst / 8;
}
static inline uint32_t sq_dram_n_banks(const struct sq_dram_device *d)
{
    return d->pseudo * d->ranks * d->groups * d->banks;
}
// Bytes a second of one channel, with no clock of its data buses lost.
double sq_dram_peak(const struct sq_dram_device *d);
