// SPDX-License-Identifier: Apache-2.0
#include "sq_stream_bridge.h"

#include "Vsq_meta24.h"

static void put(Vsq_meta24 &top, const uint32_t *const *field)
{
    sq_bridge::put(top.in_meta_i, field[0]);
    sq_bridge::put(top.in_act_i, field[1]);
}

static void get(const Vsq_meta24 &top, uint32_t *const *field)
{
    sq_bridge::get(top.out_act_o, field[0]);
    sq_bridge::get(top.out_error_o, field[1]);
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    return sq_bridge::stream_entry<Vsq_meta24, put, get>();
}
