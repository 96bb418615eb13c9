// SPDX-License-Identifier: Apache-2.0
#include "sim/block/sq_gather_sim.h"

void sq_gather_comb(const struct sq_gather_sim *sim, bool out_ready, struct sq_gather_out *out)
{
    out->in_ready = !sim->valid[2] || out_ready;
    out->out_valid = sim->valid[2];
}

void sq_gather_clock(struct sq_gather_sim *sim, bool in_valid, bool out_ready)
{
    if (sim->valid[2] && !out_ready)
        return;
    sim->valid[2] = sim->valid[1];
    sim->valid[1] = sim->valid[0];
    sim->valid[0] = in_valid;
}
