// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_top_regs: registers behind AXI4-Lite. Its outputs follow from its state. Zeros,
// with the fields that say what the chip is, are the state after reset.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/block/top/sq_regs.h"

struct sq_top_regs_sim {
    uint32_t
        value[SQ_REG_END / 4]; // of every register but counters, as it is read; CONTROL stays 0
    uint64_t count[SQ_COUNTERS], count_start; // what a start and a reset make of each
    bool begins, adds[SQ_COUNTERS];           // to the counters, of the cycle before
    bool has_aw, has_w, b_valid, r_valid;
    uint32_t aw_addr, w_data, w_strb, b_resp, r_data, r_resp;
    bool is_ring;     // what runs
    bool is_aborting; // of the ring
};

bool sq_top_regs_starts(const struct sq_top_regs_sim *s); // in this cycle
bool sq_top_regs_aborts(const struct sq_top_regs_sim *s);
bool sq_top_regs_rewinds(const struct sq_top_regs_sim *s);  // HEAD and TAIL become 0
bool sq_top_regs_has_ring(const struct sq_top_regs_sim *s); // which has descriptors
uint32_t sq_top_regs_tail(const struct sq_top_regs_sim *s); // with what is written in this cycle
uint64_t sq_top_regs_address(const struct sq_top_regs_sim *s, uint32_t low,
                             uint32_t high); // of two
bool sq_top_regs_irq(const struct sq_top_regs_sim *s);

struct sq_top_regs_in {
    // AXI4-Lite
    bool aw_valid, w_valid, b_ready, ar_valid, r_ready;
    uint32_t aw_addr, w_data, w_strb, ar_addr;
    // what happens in this cycle, as the ports of the RTL
    bool begin, run, end, done, notice; // of a layer; nothing runs any more; the interrupt
    bool aborted, expired, refused, operand, busy, wait, read, write;
    bool read_wait, read_full, write_wait;
    uint32_t read_status, write_status, engine;
};
// The counter, with what the cycle before adds to it.
uint64_t sq_top_regs_count(const struct sq_top_regs_sim *s, enum sq_reg_counter counter);
void sq_top_regs_init_counts(struct sq_top_regs_sim *s, uint32_t start); // after a reset
// The record of the layer that has ended.
void sq_top_regs_record(const struct sq_top_regs_sim *s, uint32_t word[SQ_RECORD_WORDS]);
void sq_top_regs_clock(struct sq_top_regs_sim *s, const struct sq_top_regs_in *in);
