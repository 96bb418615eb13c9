// SPDX-License-Identifier: Apache-2.0
#include "sq_stream_bridge.h"

#include "Vsq_act_split.h"

static void put(Vsq_act_split &top, const uint32_t *const *field)
{
    sq_bridge::put(top.in_code_i, field[0]);
}

static void get(const Vsq_act_split &top, uint32_t *const *field)
{
    sq_bridge::get(top.out_low_o, field[0]);
    sq_bridge::get(top.out_high_o, field[1]);
    sq_bridge::get(top.out_mask_o, field[2]);
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    return sq_bridge::stream_entry<Vsq_act_split, put, get>();
}
