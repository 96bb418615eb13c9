// SPDX-License-Identifier: Apache-2.0
#include "sq_stream_bridge.h"

#include "Vsq_requant.h"

static void put(Vsq_requant &top, const uint32_t *const *field)
{
    sq_bridge::put(top.in_acc_i, field[0]);
    sq_bridge::put(top.in_mul_i, field[1]);
    sq_bridge::put(top.in_shift_i, field[2]);
}

static void get(const Vsq_requant &top, uint32_t *const *field)
{
    sq_bridge::get(top.out_code_o, field[0]);
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    return sq_bridge::stream_entry<Vsq_requant, put, get>();
}
