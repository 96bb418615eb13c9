// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_top: the models of its parts with what stands between them, and the data that
// flow through. All its outputs follow from its state.
#ifndef SQ_TOP_SIM_H
#define SQ_TOP_SIM_H

#include "sim/block/top/sq_dma_sim.h"
#include "sim/block/top/sq_operand_buffer_sim.h"
#include "sim/block/top/sq_top_image.h"
#include "sim/block/top/sq_top_regs_sim.h"

// Words that are put together (sq_widen). words: of a part; wide: of the whole.
struct sq_widen_sim {
    uint32_t bits, ratio; // of a part
    uint32_t count;
    bool full, poison, last;
    int32_t word[SQ_TOP_WORDS_MAX];
};

struct sq_top_beat {
    int32_t word[SQ_TOP_WORDS_MAX];
    bool poison;
};

struct sq_operand_sim {
    struct sq_widen_sim widen;
    struct sq_operand_buffer_sim buffer;
    uint32_t fill;                                // place of the next beat
    struct sq_top_beat half[2][SQ_TOP_DEPTH_MAX]; // what lies there
    struct sq_top_beat out[2];                    // on its way; as many as buffer.ahead
    uint32_t n[3], at[3], stride[3];              // of the job: rows, columns, beats
};

enum {
    SQ_TOP_GROUPS_AHEAD = 16,
    SQ_TOP_OUTPUTS_AHEAD = 1024,
    SQ_TOP_SUMS_MAX = 64, // tiles of a half
    SQ_TOP_ENGINE_NBYTES = 4096
};

// What the engine computes; when, its own model says.
struct sq_top_engine {
    _Alignas(16) unsigned char time[SQ_TOP_ENGINE_NBYTES];
    struct sq_top_shape shape;
    struct sq_output_config c; // of it
    // Scale groups, as their sums and their scales come.
    struct sq_top_group {
        uint32_t p_lo[SQ_TOP_PES_MAX], p_hi[SQ_TOP_PES_MAX], errors;
    } sums[SQ_TOP_GROUPS_AHEAD];
    struct sq_top_scales {
        int32_t beat[1 + 4 * SQ_TOP_PES_MAX]; // as sq_output has it: last of its tile
        bool carries, keeps, ends_job;        // begins with sums, leaves as sums
        uint32_t errors;
    } scale[SQ_TOP_GROUPS_AHEAD];
    uint32_t n_sums, n_scales, beats; // come; of the group at hand
    bool has_scale;                   // the scales that are offered are among them
    // Jobs whose scales have not all come, and groups of the first that have.
    struct sq_top_engine_job {
        uint32_t tiles, groups;
        bool carries, keeps;
    } job[4];
    uint32_t n_jobs, scaled;
    float y[SQ_TOP_PES_MAX];
    float kept[2 * SQ_TOP_SUMS_MAX][SQ_TOP_PES_MAX]; // tiles between chunks, the oldest first
    uint32_t n_kept;
    uint32_t errors; // of the job up to here
    struct sq_top_output_word {
        int32_t y[SQ_TOP_PES_MAX];
        uint32_t errors; // with the last word of a job
    } word[SQ_TOP_OUTPUTS_AHEAD];
    uint32_t n_words;
    struct sq_top_keep {
        uint32_t errors; // the same of beats of sums
        bool last;
    } keep[SQ_TOP_OUTPUTS_AHEAD];
    uint32_t n_keeps;
};

enum { SQ_TOP_STORE_MAX = 256 }; // sq_fifo in front of the DMA

struct sq_top_sim {
    struct sq_pins pins; // first: of this cycle
    unsigned value[SQ_TOP_PARAMS];
    struct sq_top_regs_sim regs;
    struct sq_sequencer_sim sequencer;
    struct sq_dma_sim dma;
    struct sq_operand_sim operand[SQ_TOP_OPERANDS];
    struct sq_top_engine engine;
    struct sq_operand_buffer_sim sums; // when; what is in engine.kept
    struct sq_widen_sim widen;         // outputs to beats
    int32_t store[SQ_TOP_STORE_MAX][SQ_TOP_WORDS_MAX];
    uint32_t n_store;
    bool
        has_no_values; // operands are zeros: nothing is multiplied, all signals but words are right
};

// As struct sq_block and struct sq_timing have them.
void sq_top_init(const unsigned *value, void *state);
void sq_top_ask(const void *state, struct sq_pins *pins);
void sq_top_clock(void *state, const struct sq_offer *in, bool out_ready);

#endif
