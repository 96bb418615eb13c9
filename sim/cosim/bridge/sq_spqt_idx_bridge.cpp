// SPDX-License-Identifier: Apache-2.0
#include "sq_stream_bridge.h"

#include "Vsq_spqt_idx.h"

static void put(Vsq_spqt_idx &top, const uint32_t *const *field)
{
    sq_bridge::put(top.in_x_i, field[0]);
    sq_bridge::put(top.in_theta_i, field[1]);
    sq_bridge::put(top.in_last_i, field[2]);
}

static void get(const Vsq_spqt_idx &top, uint32_t *const *field)
{
    sq_bridge::get(top.out_index_o, field[0]);
    sq_bridge::get(top.out_n_o, field[1]);
    sq_bridge::get(top.out_total_o, field[2]);
    sq_bridge::get(top.out_last_o, field[3]);
    sq_bridge::get(top.out_error_o, field[4]);
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    return sq_bridge::stream_entry<Vsq_spqt_idx, put, get>();
}
