// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_gear with its data: words that become words of another width.
#pragma once

#include "sim/block/top/sq_dma_sim.h"
#include "sim/block/top/sq_top_image.h"

// Its time, without values. Widths are in bytes, `out` that of the words which leave; zeroed at first.
struct sq_gear_time {
    uint32_t level, has_begun; // bytes that wait; its last word has not come
};
// Bytes that stay in a cycle.
static inline uint32_t sq_gear_left(const struct sq_gear_time *g, uint32_t out, bool out_ready)
{
    return g->level - (g->level >= out && out_ready ? out : 0);
}
static inline bool sq_gear_has_room(const struct sq_gear_time *g, uint32_t out, bool out_ready)
{
    return sq_gear_left(g, out, out_ready) < (g->has_begun ? out : 1);
}
// The edge. come: bytes that come, 0: none; the last of them end with a multiple of `pad`.
static inline void sq_gear_step(struct sq_gear_time *g, uint32_t out, uint32_t come, uint32_t pad,
                                bool last, bool out_ready)
{
    const bool takes = come > 0 && sq_gear_has_room(g, out, out_ready);
    g->level = sq_gear_left(g, out, out_ready);
    if (!takes)
        return;
    g->level += come;
    if (pad > 1)
        g->level = (g->level + pad - 1) / pad * pad;
    g->has_begun = !last;
}

struct sq_gear_sim {
    uint32_t in, out;
    struct sq_gear_time time;
    bool poison, last_poison; // as in sq_gear
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
