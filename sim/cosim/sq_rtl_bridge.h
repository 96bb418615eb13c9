// SPDX-License-Identifier: Apache-2.0
// The bridge between sq_rtl.h and the class that Verilator makes of a block: C++ that names the
// ports, written from struct sq_ports. What all bridges share is in sq_bridge.h, which it includes.
#pragma once

#include <stdio.h>

#include "sim/block/flow/sq_block.h"

// `is_traced`: over the module below, not over the block.
void sq_rtl_write_bridge(FILE *out, const struct sq_block *block, const struct sq_ports *ports,
                         bool is_traced);

// The top of an object with tracing, module SQ_RTL_VIEW: the block as instance `rtl`, and beside
// its ports those of the models (model_...), and of every output field one element of both
// (one_...). `value`: the parameters of the block; NULL where they are in its netlist.
#define SQ_RTL_VIEW "cosim"
void sq_rtl_write_view(FILE *out, const struct sq_block *block, const unsigned *value,
                       const struct sq_ports *ports);
