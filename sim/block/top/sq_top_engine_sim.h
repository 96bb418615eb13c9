// SPDX-License-Identifier: Apache-2.0
// What the engine of sq_top computes, and its time. Its own model (sq_engine_array_block,
// sq_engine_scaled_block, that of sq_indexed_block) says when; the values follow here as operands and scales come.
#pragma once

#include "sim/block/top/sq_top_image.h"

enum {
    SQ_TOP_GROUPS_AHEAD = 16,
    SQ_TOP_OUTPUTS_AHEAD = 4096,
    SQ_TOP_SUMS_MAX = 64, // tiles of a half
    SQ_TOP_ENGINE_NBYTES = 4096
};

struct sq_top_engine {
    _Alignas(16) unsigned char time[SQ_TOP_ENGINE_NBYTES];
    const struct sq_block *block;
    struct sq_top_shape shape;
    struct sq_output_config c;        // of it
    uint32_t n_sums, n_scales, beats; // come; of the group at hand
    bool has_scale;                   // the scales that are offered are among them
    // Jobs whose operands [0], whose scales [1] have not all come, and groups of the first that have.
    struct sq_top_engine_job {
        uint32_t beats, tiles, groups; // beats of a group
        bool carries, keeps, part[2];  // part: with integers, too
    } job[2][4];
    uint32_t n_jobs[2], done[2];
    float y[SQ_TOP_PES_MAX];
    uint32_t first_kept, n_kept;
    uint32_t errors; // of the job up to here
    uint32_t first_word, n_words;
    uint32_t n_keeps;
    struct sq_indexed_feed feed; // of an indexed engine
    // Last, what a reset does not clear: of these queues only what was put there is read.
    // Scale groups (sq_engine_scaled: tiles), as their sums and their scales come.
    struct sq_top_group {
        union {
            struct {
                uint32_t p_lo[SQ_TOP_PES_MAX], p_hi[SQ_TOP_PES_MAX];
            };
            int64_t exact[SQ_TOP_PES_MAX]; // sq_engine_scaled with exact sums
        };
        uint32_t errors;
        float total[SQ_TOP_PES_MAX]; // sq_engine_scaled: [pairs][rows * cols]
    } sums[SQ_TOP_GROUPS_AHEAD];
    struct sq_top_scales {
        int32_t beat[1 + 4 * SQ_TOP_PES_MAX]; // as sq_output has it: last of its tile
        bool carries, keeps, ends_job;        // begins with sums, leaves as sums
        bool part[2];                         // ... and with integers
        uint32_t errors;
    } scale[SQ_TOP_GROUPS_AHEAD];
    struct sq_top_kept { // tiles between chunks, around
        float y[SQ_TOP_PES_MAX];
        uint32_t p_lo[SQ_TOP_PES_MAX], p_hi[SQ_TOP_PES_MAX];
    } kept[2 * SQ_TOP_SUMS_MAX];
    struct sq_top_output_word {
        int32_t y[SQ_TOP_PORT_MAX];
        uint32_t errors; // with the last word of a job
        bool ends_job;
    } word[SQ_TOP_OUTPUTS_AHEAD]; // around
    struct sq_top_keep {
        uint32_t errors; // the same of beats of sums
        bool last;
    } keep[SQ_TOP_OUTPUTS_AHEAD];
    _Alignas(16) unsigned char values[SQ_INDEXED_NBYTES]; // of an indexed engine, which clears them
};

// The word of outputs that leaves next, and is gone then.
const struct sq_top_output_word *sq_top_engine_word(const struct sq_top_engine *e);
void sq_top_engine_word_leaves(struct sq_top_engine *e);
void sq_top_engine_init(struct sq_top_engine *e, const unsigned *value);
uint32_t sq_top_engine_slots(const struct sq_top_engine *e); // beats of sums of a tile
bool sq_top_engine_keeps(const struct sq_top_engine *e);     // one leaves in this cycle

// What the engine takes in a cycle, as integers; no operands (NULL): nothing is multiplied.
struct sq_top_engine_in {
    const struct sq_top_engine_job *job; // NULL: none
    bool has_operands;
    const int32_t *act, *weight;
    bool offers_scales, takes_scales; // they are taken cycles after they are looked at
    const int32_t *row, *col;
};
// The same of an indexed engine: what it takes, of each as integers, or NULL.
struct sq_top_indexed_in {
    const struct sq_indexed_in *in;
    const struct sq_indexed_out *out;
    const int32_t *act, *s_a, *kept;
    bool word_leaves; // sq_top_engine_word
};
bool sq_top_indexed_waits(const struct sq_top_engine *e); // the last word: for padding
void sq_top_indexed_clock(struct sq_top_engine *e, const struct sq_top_indexed_in *in);
void sq_top_engine_clock(struct sq_top_engine *e, const struct sq_top_engine_in *in);
