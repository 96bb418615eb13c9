// SPDX-License-Identifier: Apache-2.0
#include "sq_stream_bridge.h"

#include "Vsq_act_store.h"

static void put(Vsq_act_store &top, const uint32_t *const *field)
{
    sq_bridge::put(top.in_data_i, field[0]);
    sq_bridge::put(top.in_last_i, field[1]);
    sq_bridge::put(top.in_passes_i, field[2]);
}

static void get(const Vsq_act_store &top, uint32_t *const *field)
{
    sq_bridge::get(top.out_data_o, field[0]);
    sq_bridge::get(top.out_last_o, field[1]);
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    return sq_bridge::stream_entry<Vsq_act_store, put, get>();
}
