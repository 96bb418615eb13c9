// SPDX-License-Identifier: Apache-2.0
// The bridge between sq_rtl.h and the class that Verilator makes of a block: C++ that names the
// ports, written from struct sq_ports. What all bridges share is in sq_bridge.h, which it includes.
#ifndef SQ_RTL_BRIDGE_H
#define SQ_RTL_BRIDGE_H

#include <stdio.h>

#include "sim/block/sq_block.h"

void sq_rtl_write_bridge(FILE *out, const struct sq_block *block, const struct sq_ports *ports);

#endif
