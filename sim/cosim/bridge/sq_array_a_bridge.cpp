// SPDX-License-Identifier: Apache-2.0
#include "sq_stream_bridge.h"

#include "Vsq_array_a.h"

static void put(Vsq_array_a &top, const uint32_t *const *field)
{
    sq_bridge::put(top.in_last_i, field[0]);
    sq_bridge::put(top.in_act_i, field[1]);
    sq_bridge::put(top.in_weight_i, field[2]);
}

static void get(const Vsq_array_a &top, uint32_t *const *field)
{
    sq_bridge::get(top.out_p_o, field[0]);
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    return sq_bridge::stream_entry<Vsq_array_a, put, get>();
}
