// SPDX-License-Identifier: Apache-2.0
// The environment of sq_top: a memory behind AXI4 (sq_axi_memory.h), and a host behind AXI4-Lite that
// runs layer after layer by the driver (lib/sq_driver.h): it waits for the interrupt or asks STATUS, and
// looks at status, counters and outputs. Streams: those of the memory (m_axi_), then asks s_axil_b,
// s_axil_r, replies s_axil_aw, s_axil_w, s_axil_ar; status output irq.
//
//   kind, n   of the memory; the host waits now and then where the memory is random
//   what      which layers (enum sq_host_what), numbers begin .. end - 1; each follows from seed and number
//   given     a struct sq_top_given: a layer of the caller's, in place of those that are drawn; with WRONG every
//             second run of it has a fault of the bus
//
// It complains of a word that is written where it must not be or does not hold the golden output, an
// output that was not written, a status, counter or register that is wrong, an interrupt that does not
// come or stays.
#pragma once

#include "sim/block/top/sq_ring_host.h"
#include "sim/block/top/sq_top_work.h"

extern const struct sq_env sq_top_host;
