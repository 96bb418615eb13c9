// SPDX-License-Identifier: Apache-2.0
// The environment of sq_top: a memory behind AXI4 (sq_axi_memory.h), and a host behind AXI4-Lite that
// runs layer after layer: it writes descriptor and start, waits for the interrupt or asks STATUS, and
// looks at status, counters and outputs. Streams: those of the memory (m_axi_), then asks s_axil_b,
// s_axil_r, replies s_axil_aw, s_axil_w, s_axil_ar; status output irq.
//
//   kind, n   of the memory; the host waits now and then where the memory is random
//   what      which layers (enum sq_host_what), numbers begin .. end - 1; each follows from seed and number
//   given     a struct sq_top_given: a layer of the caller's, in place of those that are drawn; of WRONG half of
//             its runs have a fault of the bus
//
// It complains of a word that is written where it must not be or does not hold the golden output, an
// output that was not written, a status, counter or register that is wrong, an interrupt that does not
// come or stays.
#ifndef SQ_TOP_HOST_H
#define SQ_TOP_HOST_H

#include "sim/block/top/sq_axi_memory.h"
#include "sim/block/top/sq_ring_host.h"
#include "sim/block/top/sq_top_image.h"

enum sq_host_what {
    SQ_HOST_ANY,   // layers of any shape, order and blocks
    SQ_HOST_WRONG, // the same, half of them with a fault of the bus, illegal operands or a descriptor
                   // that must be refused
    SQ_HOST_FAULTS, // a short layer with every fault of the bus in every beat, a good one behind each
    SQ_HOST_REFUSED, // every way in which a descriptor can be wrong, a good one behind each
    SQ_HOST_LATE, // a short layer again and again; behind reset number n the host waits n cycles, so
                  // that resets at equal distances come in every cycle of a layer
    SQ_HOST_KEPT, // blocks of as many tiles as sums have room for, in two chunks; the first chunk of the last
                  // block, whose sums are kept, has an error
    SQ_HOST_DEEP, // the longest transfers: a tile of as many beats as half a buffer holds, a block of as many tiles
    SQ_HOST_CLEARS, // a short layer again and again; during number n, n cycles before the interrupt of the first
                    // one, the host begins a write that clears interrupts
    SQ_HOST_RINGS, // from here on rings (sq_ring_host.h), in the order of enum sq_ring_what
    SQ_HOST_WHATS = SQ_HOST_RINGS + SQ_RING_WHATS
};
// Layers of FAULTS and of REFUSED.
uint32_t sq_host_n_faults(const unsigned *value);
enum { SQ_HOST_N_REFUSED = 2 * 243, SQ_HOST_N_KEPT = 12, SQ_HOST_N_DEEP = 2, SQ_HOST_N_CLEARS = 9 };

enum { SQ_HOST_COUNTERS = 4 }; // CYCLES, BUSY_CYCLES, WAIT_CYCLES, BLOCKED_CYCLES

extern const struct sq_env sq_top_host;

#endif
