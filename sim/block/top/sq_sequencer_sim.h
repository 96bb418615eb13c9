// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_sequencer: a layer from its descriptor to its last response. All its outputs
// follow from its state, but for done and refused. With all but its sizes zero, no layer runs.
#pragma once

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
    SQ_TOP_ENCODER,                 // destination of its outputs
    SQ_TOP_VECTOR_UNIT,             // of its operands, the tail says of which
    SQ_TOP_ATTENTION,               // of its queries and its cache
    SQ_TOP_STORE = SQ_TOP_OPERANDS, // kind of transfer
    SQ_TOP_ENGINE = SQ_TOP_OPERANDS,
    SQ_TOP_SUMS =
        SQ_TOP_OPERANDS + 1, // job of the buffer of sums, for chunks behind the first of a block
    SQ_TOP_JOBS
};
// A destination is a part and, above these bits, the bytes that count of its last beat; 0: all.
enum { SQ_TOP_DEST_BITS = 3 };

// A layer as its descriptor says it: [0] rows, [1] columns.
struct sq_top_layer {
    uint64_t addr[SQ_TOP_OPERANDS + 1]; // of the operands, of the outputs
    uint32_t tiles[2], block[2];
    uint32_t beats, groups, chunk; // beats of a scale group; groups of a tile, of a chunk of K
    uint32_t part;                 // 0, or beats of a chunk, which is a part of one group
    bool cols_outer;
    // A chip whose weights an index finds (sq_top_room): beats: of activations of a tile of rows; groups: beats of
    // weights of a block; chunk: of those.
    bool is_indexed;
};

// The steps of a layer in their order (sq_block_walk): blocks, and the chunks of each.
struct sq_block_walk {
    const struct sq_top_layer *layer;
    bool is_active;
    uint32_t done[2]; // tiles before this block
    bool is_new[2];   // not those of the block before
    uint32_t groups;  // before this chunk, and beats of the group that it is of
    uint32_t beats;
};
void sq_block_walk_start(struct sq_block_walk *w, const struct sq_top_layer *layer);
uint32_t sq_block_walk_tiles(const struct sq_block_walk *w, unsigned axis);
bool sq_block_walk_is_whole(const struct sq_top_layer *layer); // one chunk
bool sq_block_walk_is_last(const struct sq_block_walk *w);     // chunk of its block
void sq_block_walk_next(struct sq_block_walk *w);

// Words of a descriptor that are low halves of addresses: of each operand, of the outputs.
extern const unsigned sq_top_address_word[SQ_TOP_OPERANDS + 1];
uint32_t sq_top_col_blocks(const struct sq_top_layer *l);             // blocks of columns
static inline uint32_t sq_top_act_beats(const struct sq_top_layer *l) // of a tile of rows
{
    return l->beats * (l->is_indexed ? 1 : l->groups);
}
void sq_top_layer_encode(const struct sq_top_layer *l, uint32_t word[SQ_DESC_WORDS]);
// What the halves of buffers hold, bytes of a beat of the bus, and beats of scales.
struct sq_top_room {
    uint32_t depth[SQ_TOP_OPERANDS], sum_tiles, nbytes; // beats of each operand; tiles of sums
    bool has_encoder, has_vector, has_attend;
    bool scale_once; // a tile of columns has a beat of scales, not each of its scale groups
    bool is_indexed; // weights of a block are so many beats, and an index says which are of a tile
    uint32_t part_groups; // scale groups of a layer whose chunks may be parts of one, at most
    uint32_t beat_nbytes[SQ_TOP_OPERANDS + 1]; // of a beat of each operand, of a tile of outputs
};
// Beats of the bus of a transfer of `n` beats of an operand, which lie packed, or tiles of outputs.
uint64_t sq_top_transfer(const struct sq_top_room *room, unsigned part, uint64_t n);
// An operand that is loaded once for all chunks of a block.
bool sq_top_serves_chunks(const struct sq_top_room *room, unsigned part);
// A step: tiles of rows, of columns, scale groups of its chunk, beats of a tile. Beats of an operand that it loads,
// tiles of outputs of its block.
struct sq_top_step {
    uint32_t tiles[2], groups, beats;
};
uint64_t sq_top_step_beats(const struct sq_top_room *room, const struct sq_top_layer *l,
                           const struct sq_top_step *step, unsigned part);
// Whether these words are a layer that such a chip runs.
bool sq_top_layer_decode(const uint32_t word[SQ_DESC_WORDS], const struct sq_top_room *room,
                         struct sq_top_layer *l);

struct sq_sequencer_sim {
    struct sq_top_room room;
    enum { SQ_SEQ_IDLE, SQ_SEQ_ASK, SQ_SEQ_FETCH, SQ_SEQ_CHECK, SQ_SEQ_RUN, SQ_SEQ_AWAY } state;
    uint64_t at; // the descriptor
    bool sound;  // came whole
    uint32_t word[SQ_DESC_WORDS], n_words, check;
    struct sq_top_layer layer;

    struct sq_block_walk load, job;
    unsigned kind, looked; // of the transfer that is looked at, for so many cycles
    uint64_t next[SQ_TOP_OPERANDS + 1], start[SQ_TOP_OPERANDS]; // behind the last; of the block
    bool has_transfer;
    int32_t transfer[SQ_DMA_JOB_LEN]; // that is shown
    uint32_t owed;                    // stores without their response

    bool pending[SQ_TOP_JOBS];
    struct sq_top_job {
        uint32_t tiles[2], groups, beats; // rows, columns; of the chunk, of a tile of it
        bool keep[SQ_TOP_OPERANDS];
        bool is_first, is_last; // chunk of its block
        bool part[2];           // goes on with a group, which goes on behind it
    } of;
};

// The transfer that is offered, or false.
bool sq_sequencer_transfer(const struct sq_sequencer_sim *s, int32_t transfer[SQ_DMA_JOB_LEN]);
bool sq_sequencer_wants_notice(const struct sq_sequencer_sim *s); // an interrupt behind its layer
// Its descriptor goes to the unit of that kind (encoder, vector unit, attention).
bool sq_sequencer_starts(const struct sq_sequencer_sim *s, uint32_t kind);
bool sq_sequencer_refuses(const struct sq_sequencer_sim *s);
bool sq_sequencer_is_done(const struct sq_sequencer_sim *s); // in this cycle

struct sq_sequencer_in {
    bool start;
    uint64_t descriptor;
    bool dma_ready, write_done, away_done;
    const struct sq_dma_beat *beat; // of the descriptor, or NULL
    bool job_ready[SQ_TOP_JOBS];
};
void sq_sequencer_clock(struct sq_sequencer_sim *s, const struct sq_sequencer_in *in);
// In SQ_SEQ_RUN, without the time that they take: goes on to the transfer behind that which is looked at, and says
// whether the step needs that, which is s->transfer then; posts jobs, and those that are taken are done.
bool sq_sequencer_next_transfer(struct sq_sequencer_sim *s);
void sq_sequencer_clock_jobs(struct sq_sequencer_sim *s, const struct sq_sequencer_in *in);
