// SPDX-License-Identifier: Apache-2.0
#include "sq_stream_bridge.h"

#include "Vsq_gqsa_walk.h"

static void put(Vsq_gqsa_walk &top, const uint32_t *const *field)
{
    sq_bridge::put(top.in_offset_i, field[0]);
    sq_bridge::put(top.in_limit_i, field[1]);
    sq_bridge::put(top.in_last_i, field[2]);
}

static void put_second(Vsq_gqsa_walk &top, const sq_rtl_stream_in *in)
{
    top.group_valid_i = in->second_valid;
    if (in->second_valid)
        sq_bridge::put(top.group_index_i, in->field[3]);
}

static bool second_ready(const Vsq_gqsa_walk &top)
{
    return top.group_ready_o;
}

static void get(const Vsq_gqsa_walk &top, uint32_t *const *field)
{
    sq_bridge::get(top.out_row_o, field[0]);
    sq_bridge::get(top.out_at_o, field[1]);
    sq_bridge::get(top.out_group_o, field[2]);
    sq_bridge::get(top.out_x_o, field[3]);
    sq_bridge::get(top.out_first_o, field[4]);
    sq_bridge::get(top.out_last_o, field[5]);
    sq_bridge::get(top.out_empty_o, field[6]);
    sq_bridge::get(top.out_end_o, field[7]);
    sq_bridge::get(top.out_error_o, field[8]);
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    return sq_bridge::two_stream_entry<Vsq_gqsa_walk, put, put_second, second_ready, get>();
}
