// SPDX-License-Identifier: Apache-2.0
// Drives an access of a host by the pins of AXI4-Lite (sq_lite_host.h).
#include "sim/block/top/sq_lite_host.h"

enum { ALL_BYTES = 15 };

void sq_lite_drive(const struct sq_lite_access *a, unsigned data_w, struct sq_pins *pins)
{
    int32_t *const reply = pins->reply + sq_lite_reply(data_w);
    pins->ask_ready[SQ_LITE_B] = pins->ask_ready[SQ_LITE_R] = true;
    pins->reply_valid[SQ_LITE_AW] = a->is_there && a->is_write && !a->has_addr;
    pins->reply_valid[SQ_LITE_W] = a->is_there && a->is_write && !a->has_data;
    pins->reply_valid[SQ_LITE_AR] = a->is_there && !a->is_write && !a->has_addr;
    reply[0] = pins->reply_valid[SQ_LITE_AW] ? (int32_t)a->addr : 0;
    reply[1] = pins->reply_valid[SQ_LITE_W] ? (int32_t)a->data : 0;
    reply[2] = pins->reply_valid[SQ_LITE_W] ? ALL_BYTES : 0;
    reply[3] = pins->reply_valid[SQ_LITE_AR] ? (int32_t)a->addr : 0;
}

static bool moves(const struct sq_pins *p, unsigned reply)
{
    return p->reply_valid[reply] && p->reply_ready[reply];
}

bool sq_lite_clock(struct sq_lite_access *a, unsigned data_w, const struct sq_pins *p)
{
    const int32_t *const ask = p->ask + sq_lite_ask(data_w);
    a->has_addr = a->has_addr || moves(p, a->is_write ? SQ_LITE_AW : SQ_LITE_AR);
    a->has_data = a->has_data || moves(p, SQ_LITE_W);
    if (!p->ask_valid[SQ_LITE_B] && !p->ask_valid[SQ_LITE_R])
        return false;
    a->is_there = false;
    a->response = (uint32_t)ask[p->ask_valid[SQ_LITE_B] ? 0 : 2];
    a->data = p->ask_valid[SQ_LITE_B] ? 0 : (uint32_t)ask[1];
    return true;
}
