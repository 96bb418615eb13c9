// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_gear with its data: words that become words of another width.
#ifndef SQ_GEAR_SIM_H
#define SQ_GEAR_SIM_H

#include "sim/block/top/sq_dma_sim.h"
#include "sim/block/top/sq_top_image.h"

// Widths in bytes; all else zero at first.
struct sq_gear_sim {
    uint32_t in, out;
    uint32_t level;                      // bytes that wait
    bool has_begun, poison, last_poison; // its last word has not come; as in sq_gear
    unsigned char data[4 * (SQ_TOP_WORDS_MAX + SQ_DMA_WORDS_MAX)];
};

bool sq_gear_offers(const struct sq_gear_sim *g);
bool sq_gear_ends(const struct sq_gear_sim *g); // with the word that it offers
bool sq_gear_takes(const struct sq_gear_sim *g, bool out_ready);
// in: a word that comes, `nbytes` of it count and end with a multiple of `pad` bytes; NULL: none. data: NULL, it
// has no value.
struct sq_gear_in {
    const void *data;
    uint32_t nbytes, pad;
    bool poison, last;
};
void sq_gear_clock(struct sq_gear_sim *g, const struct sq_gear_in *in, bool out_ready);

#endif
