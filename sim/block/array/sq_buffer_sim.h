// SPDX-License-Identifier: Apache-2.0
// Cycle models of sq_act_buffer and of the mask units in front of it
// (sq_core_act). They compute times and no values.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/block/flow/sq_pipeline.h"

// sq_act_buffer: two tiles, each given `passes` times. A struct of zeros is empty.
struct sq_buffer_sim {
    bool full[2];
    unsigned in, out;     // tile being written, being given
    uint32_t written;     // beats of the tile that comes in
    uint32_t given, pass; // beats of the pass, passes done, of the tile that goes out
    uint32_t len[2], passes[2];
};

bool sq_buffer_has_place(const struct sq_buffer_sim *s); // ready for a beat
bool sq_buffer_has_beat(const struct sq_buffer_sim *s);  // offers one
// The edge: a beat enters, the last one of its tile with its passes; one leaves.
void sq_buffer_clock(struct sq_buffer_sim *s, bool write, bool last, uint32_t passes, bool give);

// A tile to draw: full ones used once, short ones used often, and all between. Returns its beats.
uint32_t sq_buffer_draw_tile(struct sq_rng *rng, enum sq_stimulus kind, uint32_t depth,
                             uint32_t passes_max, uint32_t *passes);

// A mask unit (kind and depth as of sq_topk, sq_pipeline.h), then a PIPE of `stages`.
struct sq_mask_sim {
    struct sq_pipeline topk, stage;
    uint32_t passes[8]; // of the tiles whose last beat is inside, the oldest first
    unsigned n_passes;
};

void sq_mask_init(struct sq_mask_sim *m, enum sq_pipeline_kind kind, unsigned depth,
                  unsigned stages);
void sq_mask_comb(const struct sq_mask_sim *m, bool out_ready, struct sq_pipeline_out *out);
bool sq_mask_last(const struct sq_mask_sim *m);       // of the beat offered
uint32_t sq_mask_passes(const struct sq_mask_sim *m); // of its tile, read with the last beat
void sq_mask_clock(struct sq_mask_sim *m, bool in_valid, bool in_last, uint32_t in_passes,
                   bool out_ready);
