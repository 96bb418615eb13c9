// SPDX-License-Identifier: Apache-2.0
// A host behind AXI4-Lite at the registers of sq_top: an access takes cycles, and so does a call of the driver
// (lib/sq_driver.h), of which the host makes one access after the other.
#pragma once

#include "lib/sq_driver.h"
#include "sim/block/top/sq_axi_memory.h"

// An access. Address and data are offered until they are taken, a read has an address alone.
enum { SQ_LITE_ALL_BYTES = 15 };
enum { SQ_LITE_OKAY = 0, SQ_LITE_SLVERR = 2 };
#define SQ_LITE_GONE UINT32_MAX
struct sq_lite_access {
    bool is_there, is_write;
    uint32_t addr, data, strb, response; // data: also what was read; response: as AXI4-Lite has it
    uint32_t addr_wait, data_wait;       // cycles before it is offered; SQ_LITE_GONE: it was taken
    bool b_waits, r_waits;               // the answer is not taken in this cycle
    // A write may have one behind it, which is offered before the first is answered.
    struct sq_lite_follower {
        bool is_there, has_turn; // has_turn: the first is answered
        uint32_t addr, data, strb, response;
        uint32_t addr_wait, data_wait;
    } next;
};
static inline struct sq_lite_access sq_lite_begin(bool is_write, uint32_t addr, uint32_t data)
{
    return (struct sq_lite_access){.is_there = true,
                                   .is_write = is_write,
                                   .addr = addr,
                                   .data = data,
                                   .strb = SQ_LITE_ALL_BYTES};
}
// A read of it is answered with OKAY.
bool sq_lite_has_register(uint32_t addr);
// The host's side of a cycle into *pins; data_w: bits of a beat of the bus of memory, whose pins come before.
void sq_lite_drive(const struct sq_lite_access *a, unsigned data_w, struct sq_pins *pins);
// The edge. OVER: all is answered, so that nothing is_there any more. EARLY: an answer that nothing was asked for.
enum sq_lite_edge { SQ_LITE_WAITS, SQ_LITE_OVER, SQ_LITE_EARLY };
enum sq_lite_edge sq_lite_clock(struct sq_lite_access *a, unsigned data_w,
                                const struct sq_pins *pins);

// A call of the driver, plain data: after each answer the host makes it anew with the answers so far, and the call says
// what it needs next. What it returns, or leaves anywhere, holds once nothing is needed any more:
//
//     const struct sq_driver d = sq_lite_driver(&call, has_irq);
//     result = sq_driver_run(&d, descriptor, &done);
//     switch (call.needs) ...
//     sq_lite_answer(&call, data); // then the same again
enum sq_lite_need { SQ_LITE_NOTHING, SQ_LITE_READ, SQ_LITE_WRITE, SQ_LITE_WAIT };
enum { SQ_LITE_CALL_MAX = 64 }; // accesses and waits of a call
struct sq_lite_call {
    uint32_t answer[SQ_LITE_CALL_MAX];
    unsigned n, at; // answers; those that the call has had
    enum sq_lite_need needs;
    uint32_t addr, data;
};
// The driver for one more attempt; waits: by the interrupt, else it asks STATUS.
struct sq_driver sq_lite_driver(struct sq_lite_call *c, bool waits);
// What it needed has come: what was read, 0 behind a write, whether to wait on.
void sq_lite_answer(struct sq_lite_call *c, uint32_t data);
