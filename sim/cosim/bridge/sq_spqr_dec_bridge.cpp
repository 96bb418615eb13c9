// SPDX-License-Identifier: Apache-2.0
#include "sq_stream_bridge.h"

#include "Vsq_spqr_dec.h"

static void put(Vsq_spqr_dec &top, const uint32_t *const *field)
{
    sq_bridge::put(top.in_word_i, field[0]);
}

static void get(const Vsq_spqr_dec &top, uint32_t *const *field)
{
    sq_bridge::get(top.out_code_o, field[0]);
    sq_bridge::get(top.out_scale_o, field[1]);
    sq_bridge::get(top.out_zero_o, field[2]);
    sq_bridge::get(top.out_second_o, field[3]);
    sq_bridge::get(top.out_last_o, field[4]);
    sq_bridge::get(top.out_error_o, field[5]);
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    return sq_bridge::stream_entry<Vsq_spqr_dec, put, get>();
}
