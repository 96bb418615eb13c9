// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_top_regs: registers behind AXI4-Lite. Its outputs follow from its state. Zeros,
// with the fields that say what the chip is, are the state after reset.
#ifndef SQ_TOP_REGS_SIM_H
#define SQ_TOP_REGS_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/block/top/sq_regs.h"

struct sq_top_regs_sim {
    uint32_t
        value[SQ_REG_END / 4]; // of every register but counters, as it is read; CONTROL stays 0
    uint64_t count[SQ_COUNTERS], count_start; // what a start and a reset make of each
    bool has_aw, has_w, b_valid, r_valid;
    uint32_t aw_addr, w_data, w_strb, b_resp, r_data, r_resp;
};

bool sq_top_regs_starts(const struct sq_top_regs_sim *s); // in this cycle
bool sq_top_regs_irq(const struct sq_top_regs_sim *s);

struct sq_top_regs_in {
    // AXI4-Lite
    bool aw_valid, w_valid, b_ready, ar_valid, r_ready;
    uint32_t aw_addr, w_data, w_strb, ar_addr;
    // what happens in this cycle, as the ports of the RTL
    bool done, refused, operand, busy, wait, read, write;
    uint32_t read_status, write_status, engine;
};
void sq_top_regs_init_counts(struct sq_top_regs_sim *s, uint32_t start); // after a reset
void sq_top_regs_clock(struct sq_top_regs_sim *s, const struct sq_top_regs_in *in);

#endif
