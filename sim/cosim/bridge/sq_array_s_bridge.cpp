// SPDX-License-Identifier: Apache-2.0
#include "sq_stream_bridge.h"

#include "Vsq_array_s.h"

static void put(Vsq_array_s &top, const uint32_t *const *field)
{
    sq_bridge::put(top.in_last_i, field[0]);
    sq_bridge::put(top.in_passes_i, field[1]);
    sq_bridge::put(top.in_act_i, field[2]);
}

static void put_second(Vsq_array_s &top, const sq_rtl_stream_in *in)
{
    top.weight_valid_i = in->second_valid;
    if (in->second_valid)
        sq_bridge::put(top.weight_code_i, in->field[3]);
}

static bool second_ready(const Vsq_array_s &top)
{
    return top.weight_ready_o;
}

static void get(const Vsq_array_s &top, uint32_t *const *field)
{
    sq_bridge::get(top.out_p_o, field[0]);
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    return sq_bridge::two_stream_entry<Vsq_array_s, put, put_second, second_ready, get>();
}
