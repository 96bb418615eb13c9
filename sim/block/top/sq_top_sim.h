// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_top: the models of its parts with what stands between them, and the data that
// flow through. All its outputs follow from its state.
#pragma once

#include "sim/block/top/sq_axi_memory.h"
#include "sim/block/top/sq_dma_sim.h"
#include "sim/block/top/sq_encode_sim.h"
#include "sim/block/top/sq_operand_buffer_sim.h"
#include "sim/block/top/sq_top_engine_sim.h"
#include "sim/block/top/sq_top_regs_sim.h"
#include "sim/block/vector/sq_top_attend.h"

// The cycle model of sq_ring, which runs descriptors in order, ends a layer early on an abort or by the watchdog, and writes its record.
// Its outputs in a cycle follow from its state and from struct sq_ring_in. Zeros are the state after reset.
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
    uint32_t head, watch, beat;    // slot; cycles of the layer; beats of the record written so far
};

// Its inputs in a cycle.
struct sq_ring_in {
    bool start, has_ring, abort, rewind; // registers
    uint64_t descriptor, base;
    uint32_t size, tail, watchdog;
    bool layer_done, wants_notice; // sequencer
    bool dma_ready, word_ready, write_done, dma_idle;
    uint32_t beats; // bus beats of a record
};
struct sq_ring_out {
    bool begin, end, done, notice, aborted, expired;
    uint64_t descriptor;
};
struct sq_ring_out sq_ring_out(const struct sq_ring_sim *s, const struct sq_ring_in *in);
uint64_t sq_ring_record_at(const struct sq_ring_sim *s, uint64_t base); // address of the record
void sq_ring_clock(struct sq_ring_sim *s, const struct sq_ring_in *in);

struct sq_operand_sim {
    struct sq_gear_sim gear;
    struct sq_operand_buffer_sim buffer;
    uint32_t fill;                    // place of the next beat
    int32_t out[2][SQ_TOP_WORDS_MAX]; // beats on their way; as many as buffer.ahead
    bool was_poisoned[2];             // what was read a cycle ago, two cycles ago
    uint32_t n[3], at[3], stride[3];  // of the job: rows, columns, beats
    struct {                          // last: what lies in the SRAM, which no reset clears
        unsigned char data[SQ_TOP_HALF_NBYTES];
        bool poison[SQ_TOP_DEPTH_MAX];
    } half[2];
};

enum { SQ_TOP_STORE_MAX = 256 }; // sq_fifo in front of the DMA

struct sq_top_sim {
    struct sq_pins pins;             // first: of this cycle
    unsigned value[SQ_POINT_VALUES]; // of the point, its table among them
    struct sq_top_regs_sim regs;
    struct sq_ring_sim ring;
    bool was_busy, was_waiting; // the engine, in the cycle before
    uint32_t asleep;            // cycles behind a reset in which nothing is answered
    struct sq_dma_sim dma;
    // From here on the core, which a layer that ends early leaves as a reset does.
    struct sq_sequencer_sim sequencer;
    struct sq_operand_sim operand[SQ_TOP_OPERANDS];
    struct sq_top_engine engine;
    struct sq_operand_buffer_sim sums; // when; what is in engine.kept
    struct sq_gear_sim carry;          // sums to tiles, for sq_engine_scaled; when
    struct sq_gear_sim wide;           // outputs to beats
    struct sq_encode_sim encode;
    struct sq_tv_sim vector;
    struct sq_ta_sim attend;
    int32_t store[SQ_TOP_STORE_MAX][SQ_DMA_WORDS_MAX];
    uint32_t n_store;
    bool
        has_no_values; // operands are zeros: nothing is multiplied, all signals but words are right
};

// As struct sq_block and struct sq_timing have them.
void sq_top_init(const unsigned *value, void *state);
void sq_top_ask(const void *state, struct sq_pins *pins);
void sq_top_clock(void *state, const struct sq_offer *in, bool out_ready);
