// SPDX-License-Identifier: Apache-2.0
// Steps a gearbox (sq_gear_sim.h).
#include "sim/block/top/sq_gear_sim.h"

#include <assert.h>
#include <string.h>

bool sq_gear_offers(const struct sq_gear_sim *g)
{
    return g->level >= g->out;
}

bool sq_gear_ends(const struct sq_gear_sim *g)
{
    return !g->has_begun && g->level == g->out;
}

static uint32_t gear_left(const struct sq_gear_sim *g, bool out_ready)
{
    return g->level - (sq_gear_offers(g) && out_ready ? g->out : 0);
}

bool sq_gear_takes(const struct sq_gear_sim *g, bool out_ready)
{
    return gear_left(g, out_ready) < (g->has_begun ? g->out : 1);
}

void sq_gear_clock(struct sq_gear_sim *g, const struct sq_gear_in *in, bool out_ready)
{
    const uint32_t left = gear_left(g, out_ready);
    const bool leaves = left < g->level, takes = in && sq_gear_takes(g, out_ready);
    if (leaves) {
        memmove(g->data, g->data + g->out, left);
        g->poison = g->last_poison;
    }
    g->level = left;
    if (!takes)
        return;
    g->poison = in->poison || (left > 0 && g->poison);
    g->last_poison = in->poison;
    g->has_begun = !in->last;
    g->level = (left + in->nbytes + in->pad - 1) / in->pad * in->pad;
    assert(g->level <= sizeof g->data || !in->data);
    if (!in->data)
        return;
    memcpy(g->data + left, in->data, in->nbytes);
    memset(g->data + left + in->nbytes, 0, g->level - left - in->nbytes);
}
