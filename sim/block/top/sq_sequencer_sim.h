// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_sequencer: a layer from its descriptor to its last response. All its outputs
// follow from its state, but for done and refused. With all but its sizes zero, no layer runs.
#ifndef SQ_SEQUENCER_SIM_H
#define SQ_SEQUENCER_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/block/top/sq_dma_sim.h"
#include "sim/block/top/sq_regs.h"

// Destinations of the DMA, and jobs of the buffers in the same order; behind them that of the engine.
enum sq_top_part {
    SQ_TOP_ACT,
    SQ_TOP_ROW_SCALE,
    SQ_TOP_WEIGHT,
    SQ_TOP_COL_SCALE,
    SQ_TOP_OPERANDS,
    SQ_TOP_DESCRIPTOR = SQ_TOP_OPERANDS,
    SQ_TOP_STORE = SQ_TOP_OPERANDS, // kind of transfer
    SQ_TOP_ENGINE = SQ_TOP_OPERANDS,
    SQ_TOP_JOBS
};

// The blocks of a layer in their order (sq_block_walk): [0] rows, [1] columns.
struct sq_block_walk {
    bool is_active, cols_outer;
    uint32_t all[2], block[2]; // tiles
    uint32_t done[2];          // tiles before this block
    bool is_new[2];            // not those of the block before
};
void sq_block_walk_start(struct sq_block_walk *w, const uint32_t all[2], const uint32_t block[2],
                         bool cols_outer);
uint32_t sq_block_walk_tiles(const struct sq_block_walk *w, unsigned axis);
bool sq_block_walk_keeps(const struct sq_block_walk *w, unsigned axis); // for the next block
void sq_block_walk_next(struct sq_block_walk *w);

// A layer as its descriptor says it.
struct sq_top_layer {
    uint32_t addr[SQ_TOP_OPERANDS + 1]; // of the operands, of the outputs
    uint32_t tiles[2], block[2];        // [0] rows, [1] columns
    uint32_t beats, groups;             // of a scale group; of a tile
    bool cols_outer;
};
void sq_top_layer_encode(const struct sq_top_layer *l, uint32_t word[SQ_DESC_WORDS]);
// Whether these words are a layer that a chip with `depth` beats in half a buffer runs.
bool sq_top_layer_decode(const uint32_t word[SQ_DESC_WORDS], uint32_t depth, uint32_t nbytes,
                         struct sq_top_layer *l);

struct sq_sequencer_sim {
    uint32_t nbytes, depth, bus_beats[SQ_TOP_OPERANDS + 1]; // of a beat of each operand, of a tile
    enum { SQ_SEQ_IDLE, SQ_SEQ_ASK, SQ_SEQ_FETCH, SQ_SEQ_CHECK, SQ_SEQ_RUN } state;
    uint32_t at; // the descriptor
    bool sound;  // came whole
    uint32_t word[SQ_DESC_WORDS], n_words, check;
    struct sq_top_layer layer;

    struct sq_block_walk load, job;
    unsigned kind; // of the transfer that is looked at
    uint32_t next[SQ_TOP_OPERANDS + 1];
    bool has_transfer;
    int32_t transfer[SQ_DMA_JOB_LEN]; // that is shown
    uint32_t owed;                    // stores without their response

    bool pending[SQ_TOP_JOBS];
    struct sq_top_job {
        uint32_t tiles[2]; // rows, columns
        bool keep[2];
    } of;
};

void sq_sequencer_init(struct sq_sequencer_sim *s, uint32_t nbytes, uint32_t depth,
                       const uint32_t bus_beats[SQ_TOP_OPERANDS + 1]);
// The transfer that is offered, or false.
bool sq_sequencer_transfer(const struct sq_sequencer_sim *s, int32_t transfer[SQ_DMA_JOB_LEN]);
bool sq_sequencer_refuses(const struct sq_sequencer_sim *s);
bool sq_sequencer_is_done(const struct sq_sequencer_sim *s); // in this cycle

struct sq_sequencer_in {
    bool start;
    uint32_t descriptor;
    bool dma_ready, write_done;
    const struct sq_dma_beat *beat; // of the descriptor, or NULL
    bool job_ready[SQ_TOP_JOBS];
};
void sq_sequencer_clock(struct sq_sequencer_sim *s, const struct sq_sequencer_in *in);

#endif
