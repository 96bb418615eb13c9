// SPDX-License-Identifier: Apache-2.0
#include "sq_stream_bridge.h"

#include "Vsq_topk.h"

static void put(Vsq_topk &top, const uint32_t *const *field)
{
    sq_bridge::put(top.in_mag_i, field[0]);
}

static void get(const Vsq_topk &top, uint32_t *const *field)
{
    sq_bridge::get(top.out_mask_o, field[0]);
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    return sq_bridge::stream_entry<Vsq_topk, put, get>();
}
