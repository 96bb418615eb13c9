// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_ring: which descriptor runs, the end of a layer before its time, and the record of a layer.
// What it shows in a cycle follows from its state and from struct sq_ring_in. Zeros are the state after reset.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sq_ring_sim {
    enum {
        SQ_RING_IDLE,
        SQ_RING_LAYER,
        SQ_RING_DRAIN, // DMA: nothing begins
        SQ_RING_CLEAR, // all but DMA and registers is in reset
        SQ_RING_RECORD,
        SQ_RING_WRITE,
        SQ_RING_ANSWER
    } state;
    bool from_ring, abort, is_cut; // is_cut: the layer has ended early
    uint32_t head, watch, beat;    // cycles of the layer; beats of the record that have gone
};

// What the parts around it say in a cycle.
struct sq_ring_in {
    bool start, has_ring, abort, rewind; // registers
    uint64_t descriptor, base;
    uint32_t size, tail, watchdog;
    bool layer_done, wants_notice; // sequencer
    bool dma_ready, word_ready, write_done, dma_idle;
    uint32_t beats; // of the bus that a record has
};
struct sq_ring_out {
    bool begin, end, done, notice, aborted, expired;
    uint64_t descriptor;
};
struct sq_ring_out sq_ring_out(const struct sq_ring_sim *s, const struct sq_ring_in *in);
uint64_t sq_ring_record_at(const struct sq_ring_sim *s, uint64_t base); // its address
void sq_ring_clock(struct sq_ring_sim *s, const struct sq_ring_in *in);
