// SPDX-License-Identifier: Apache-2.0
#include "sq_bridge.h"

#include "Vsq_gather.h"

using Gather = sq_bridge::Model<Vsq_gather>;

static void gather_comb(void *opaque, const sq_rtl_gather_in *in, sq_rtl_gather_out *out)
{
    auto *model = static_cast<Gather *>(opaque);
    Vsq_gather &top = *model->top;
    top.in_valid_i = in->in_valid;
    top.out_ready_i = in->out_ready;
    if (in->in_valid) {
        sq_bridge::put(top.in_code_i, in->code);
        sq_bridge::put(top.in_act_i, in->act);
    }
    model->comb();
    out->in_ready = top.in_ready_o;
    out->out_valid = top.out_valid_o;
    out->error = top.out_error_o;
}

static void gather_beat(void *opaque, uint32_t *clean, uint32_t *act)
{
    const Vsq_gather &top = *static_cast<Gather *>(opaque)->top;
    sq_bridge::get(top.out_clean_o, clean);
    sq_bridge::get(top.out_act_o, act);
}

extern "C" SQ_RTL_EXPORT const struct sq_rtl_api *sq_rtl_entry(void)
{
    static const struct sq_rtl_api api = {
        sq_bridge::create<Vsq_gather>,
        sq_bridge::destroy<Vsq_gather>,
        sq_bridge::clock<Vsq_gather>,
        nullptr,
        nullptr,
        nullptr,
        gather_comb,
        gather_beat,
        nullptr,
        nullptr,
        sq_bridge::select_mutant,
        sq_bridge::write_coverage<Vsq_gather>,
    };
    return &api;
}
