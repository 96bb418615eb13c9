// SPDX-License-Identifier: Apache-2.0
// Cycle model of sq_gather (SPEC D.8): latency 3, one bank per cycle, three stages that move
// together. When, not what: the g-th beat that leaves holds sq_gather_bank() of the g-th bank.
#ifndef SQ_GATHER_SIM_H
#define SQ_GATHER_SIM_H

#include <stdbool.h>

struct sq_gather_sim {
    bool valid[3]; // stage S1, S2, S3 holds a bank
};

struct sq_gather_out {
    bool in_ready;
    bool out_valid;
};

void sq_gather_comb(const struct sq_gather_sim *sim, bool out_ready, struct sq_gather_out *out);
void sq_gather_clock(struct sq_gather_sim *sim, bool in_valid, bool out_ready);

#endif
