// SPDX-License-Identifier: Apache-2.0
// Steps a gearbox (sq_gear_sim.h).
#include "sim/block/top/sq_gear_sim.h"

#include <assert.h>
#include <string.h>

bool sq_gear_offers(const struct sq_gear_sim *g)
{
    return g->time.level >= g->out;
}

bool sq_gear_ends(const struct sq_gear_sim *g)
{
    return !g->time.has_begun && g->time.level == g->out;
}

bool sq_gear_takes(const struct sq_gear_sim *g, bool out_ready)
{
    return sq_gear_has_room(&g->time, g->out, out_ready);
}

void sq_gear_clock(struct sq_gear_sim *g, const struct sq_gear_in *in, bool out_ready)
{
    const uint32_t left = sq_gear_left(&g->time, g->out, out_ready);
    const bool leaves = left < g->time.level, takes = in && sq_gear_takes(g, out_ready);
    if (leaves) {
        memmove(g->data, g->data + g->out, left);
        g->poison = g->last_poison;
    }
    sq_gear_step(&g->time, g->out, in ? in->nbytes : 0, in ? in->pad : 1, in && in->last,
                 out_ready);
    if (!takes)
        return;
    g->poison = in->poison || (left > 0 && g->poison);
    g->last_poison = in->poison;
    assert(g->time.level <= sizeof g->data || !in->data);
    if (!in->data)
        return;
    memcpy(g->data + left, in->data, in->nbytes);
    memset(g->data + left + in->nbytes, 0, g->time.level - left - in->nbytes);
}
