// SPDX-License-Identifier: Apache-2.0
#include "sq_stream_bridge.h"

#include "Vsq_core_a.h"

static void put(Vsq_core_a &top, const uint32_t *const *field)
{
    sq_bridge::put(top.in_last_i, field[0]);
    sq_bridge::put(top.in_passes_i, field[1]);
    sq_bridge::put(top.in_mul_i, field[2]);
    sq_bridge::put(top.in_shift_i, field[3]);
    sq_bridge::put(top.in_code_i, field[4]);
}

// Weights and jobs.
static void put_others(Vsq_core_a &top, const sq_rtl_stream_in *in)
{
    top.weight_valid_i = in->second_valid;
    if (in->second_valid)
        sq_bridge::put(top.weight_code_i, in->field[5]);
    top.job_valid_i = in->third_valid;
    if (in->third_valid) {
        sq_bridge::put(top.job_group_banks_i, in->field[6]);
        sq_bridge::put(top.job_groups_i, in->field[7]);
    }
}

static bool weight_ready(const Vsq_core_a &top)
{
    return top.weight_ready_o;
}

static void get(const Vsq_core_a &top, uint32_t *const *field)
{
    sq_bridge::get(top.out_p_lo_o, field[0]);
    sq_bridge::get(top.out_p_hi_o, field[1]);
}

static void comb(void *opaque, const sq_rtl_stream_in *in, sq_rtl_stream_out *out)
{
    sq_bridge::two_stream_comb<Vsq_core_a, put, put_others, weight_ready>(opaque, in, out);
    out->third_ready = static_cast<sq_bridge::Model<Vsq_core_a> *>(opaque)->top->job_ready_o;
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    static const sq_rtl_api api = [] {
        sq_rtl_api a =
            *sq_bridge::two_stream_entry<Vsq_core_a, put, put_others, weight_ready, get>();
        a.stream_comb = comb;
        return a;
    }();
    return &api;
}
