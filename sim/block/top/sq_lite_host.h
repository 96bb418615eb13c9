// SPDX-License-Identifier: Apache-2.0
// An access of a host behind AXI4-Lite to the registers of sq_top: address and data are offered until they are taken,
// the answer is taken at once.
#ifndef SQ_LITE_HOST_H
#define SQ_LITE_HOST_H

#include "sim/block/top/sq_axi_memory.h"

struct sq_lite_access {
    bool is_there, is_write, has_addr, has_data; // the last two: they have gone
    uint32_t addr, data, response; // data: also what was read; response: as AXI4-Lite has it
};
// The host's side of a cycle into *pins; data_w: bits of a beat of the bus of memory, whose pins come before.
void sq_lite_drive(const struct sq_lite_access *a, unsigned data_w, struct sq_pins *pins);
// The edge; whether the answer has come, so that nothing is_there any more.
bool sq_lite_clock(struct sq_lite_access *a, unsigned data_w, const struct sq_pins *pins);

#endif
