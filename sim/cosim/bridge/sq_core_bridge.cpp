// SPDX-License-Identifier: Apache-2.0
#include "sq_bridge.h"

#include "Vsq_core.h"

using Core = sq_bridge::Model<Vsq_core>;

static void core_comb(void *opaque, const sq_rtl_core_in *in, sq_rtl_core_out *out)
{
    auto *model = static_cast<Core *>(opaque);
    Vsq_core &top = *model->top;
    top.job_valid_i = in->job_valid;
    top.job_group_banks_i = static_cast<SData>(in->group_banks);
    top.job_groups_i = in->groups;
    top.act_valid_i = in->act_valid;
    top.lo_valid_i = in->lo_valid;
    top.hi_valid_i = in->hi_valid;
    top.out_ready_i = in->out_ready;
    if (in->act_valid)
        sq_bridge::put(top.act_data_i, in->act);
    if (in->lo_valid)
        sq_bridge::put(top.lo_data_i, in->lo);
    if (in->hi_valid)
        sq_bridge::put(top.hi_data_i, in->hi);
    model->comb();
    out->job_ready = top.job_ready_o;
    out->act_ready = top.act_ready_o;
    out->lo_ready = top.lo_ready_o;
    out->hi_ready = top.hi_ready_o;
    out->out_valid = top.out_valid_o;
}

static void core_tile(void *opaque, uint32_t *p_lo, uint32_t *p_hi)
{
    const Vsq_core &top = *static_cast<Core *>(opaque)->top;
    sq_bridge::get(top.out_p_lo_o, p_lo);
    sq_bridge::get(top.out_p_hi_o, p_hi);
}

static void core_status(void *opaque, uint32_t *low, uint32_t *high, uint32_t *mask_error)
{
    const Vsq_core &top = *static_cast<Core *>(opaque)->top;
    sq_bridge::get(top.low_counts_o, low);
    sq_bridge::get(top.high_counts_o, high);
    sq_bridge::get(top.mask_error_o, mask_error);
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    static const struct sq_rtl_api api = {
        sq_bridge::create<Vsq_core>,
        sq_bridge::destroy<Vsq_core>,
        sq_bridge::clock<Vsq_core>,
        core_comb,
        core_tile,
        core_status,
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        sq_bridge::select_mutant,
        sq_bridge::write_coverage<Vsq_core>,
    };
    return &api;
}
