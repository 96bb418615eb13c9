// SPDX-License-Identifier: Apache-2.0
// Layers that the host of sq_top (sq_top_host.h) runs, one after the other: some with a fault of the bus, illegal
// operands or a descriptor that must be refused. Each is drawn from seed and number; its memory, which complains of
// what is written wrong; the status that must come.
#pragma once

#include "sim/block/top/sq_axi_memory.h"
#include "sim/block/top/sq_top_draw.h"
#include "sim/block/top/sq_top_spoil.h"

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
    SQ_HOST_DEEP, // the longest transfers: a tile of as many beats as half a buffer holds, a block of as many tiles; a
    // block of as many tiles as a job has
    SQ_HOST_CLEARS, // a short layer again and again, then one with a fault. During number n of either, n cycles before
    // the interrupt, the host begins a write that clears DONE, or of those with a fault ERROR
    SQ_HOST_RINGS // from here on rings (sq_ring_host.h), in the order of enum sq_ring_what
};
// Layers of FAULTS and of REFUSED.
uint32_t sq_host_n_faults(const unsigned *value);
enum {
    SQ_HOST_N_REFUSED = 2 * SQ_SPOILS, // each way, and a good layer behind it
    SQ_HOST_N_KEPT = 12,
    SQ_HOST_N_DEEP = 3,
    SQ_HOST_N_CLEARS = 18
};

// Plain data: value, choice are the caller's to set. A layer of the caller's (choice.given) is run as it is.
struct sq_top_work {
    const unsigned *value;
    struct sq_env_choice choice;
    uint32_t number; // of the layer
    uint64_t base;   // address of word 0 of the image
    // The layer at hand.
    struct sq_top_piece {
        struct sq_top_given image;
        enum sq_axi_fault fault;
        uint64_t fault_at; // address of the beat
        uint32_t n_read;   // beats that a layer without faults reads; 0: not known
        bool is_refused;   // the descriptor is wrong, in this way
        enum sq_spoil way;
        struct sq_top_moved {
            uint64_t from, to, nbytes;
        } moved[SQ_TOP_OPERANDS + 1]; // regions that lie elsewhere than the image has them
        uint32_t n_written;           // words of outputs
        bool has_wrong;               // a word differed
    } at;
    struct sq_top_drawn drawn;
    bool written[SQ_DRAWN_OUT_WORDS];
};

// The shape of a layer of the caller's.
struct sq_top_layer sq_top_work_given(const unsigned *value, const struct sq_top_given *given);
void sq_top_work_begin(struct sq_top_work *w, uint32_t number);
// What STATUS.READ or STATUS.WRITTEN says of a fault.
uint32_t sq_host_fault_status(enum sq_axi_fault fault);
// A complaint of what STATUS says behind the layer at hand, and of outputs that have not come; or NULL.
const char *sq_top_work_status(const struct sq_top_work *w, uint32_t status);
// Memory, whose ctx is a struct sq_top_work.
extern const struct sq_axi_content sq_top_work_content;
