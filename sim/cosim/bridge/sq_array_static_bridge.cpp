// SPDX-License-Identifier: Apache-2.0
#include "sq_stream_bridge.h"

#include "Vsq_array_static.h"

static void put(Vsq_array_static &top, const uint32_t *const *field)
{
    sq_bridge::put(top.in_last_i, field[0]);
    sq_bridge::put(top.in_low_i, field[1]);
    sq_bridge::put(top.in_high_i, field[2]);
    sq_bridge::put(top.in_weight_i, field[3]);
}

static void get(const Vsq_array_static &top, uint32_t *const *field)
{
    sq_bridge::get(top.out_p_lo_o, field[0]);
    sq_bridge::get(top.out_p_hi_o, field[1]);
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    return sq_bridge::stream_entry<Vsq_array_static, put, get>();
}
