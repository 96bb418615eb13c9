// SPDX-License-Identifier: Apache-2.0
// Port types as `verilator --sc` chooses them, and fields inside them; one parameter point.
#pragma once

#include <systemc.h>

#include <cstdint>
#include <type_traits>

extern "C" {
#include "models/core/sq_gather.h"
#include "sim/block/core/sq_core_sim.h"
#include "sim/block/flow/sq_pipeline.h"
#include "sim/block/flow/sq_stream.h"
}

namespace sq_sc
{

template <unsigned W>
using port_t = std::conditional_t<
    W == 1, bool,
    std::conditional_t<W <= 32, uint32_t, std::conditional_t<W <= 64, uint64_t, sc_dt::sc_bv<W>>>>;

// The point of the lock-step run; sim/sysc/rules.mk gives Verilator the same numbers.
constexpr unsigned Rows = SQ_SC_ROWS, Cols = SQ_SC_COLS, L = SQ_SC_LOW_LANES, H = SQ_SC_HIGH_LANES;
constexpr unsigned Bank = SQ_SC_BANK, High = SQ_SC_HIGH, ActW = 8, LowW = 4, HighW = 8, AccW = 32;
constexpr unsigned CountsW = SQ_N_CAUSES * 32;

inline sq_core_config config()
{
    sq_core_config c = sq_core_config_default();
    c.rows = Rows;
    c.cols = Cols;
    c.low_lanes = L;
    c.high_lanes = H;
    c.bank = Bank;
    c.high_per_bank = High;
    return c;
}

// Signed field i of width w.
template <class Port> int32_t field(const Port &p, unsigned i, unsigned w)
{
    uint32_t v;
    if constexpr (std::is_integral_v<Port>)
        v = static_cast<uint32_t>(p >> (i * w));
    else
        v = p.range(int(i * w + w - 1), int(i * w)).to_uint();
    return w == 32 ? int32_t(v) : int32_t(v << (32 - w)) >> (32 - w);
}

template <class Port> void set_field(Port &p, unsigned i, unsigned w, int32_t value)
{
    const uint32_t v = w == 32 ? uint32_t(value) : uint32_t(value) & ((1u << w) - 1);
    if constexpr (std::is_integral_v<Port>)
        p = Port(p | Port(v) << (i * w));
    else
        p.range(int(i * w + w - 1), int(i * w)) = v;
}

} // namespace sq_sc
