// SPDX-License-Identifier: Apache-2.0
// Drives an access of a host by the pins of AXI4-Lite, and makes accesses of a call of the driver (sq_lite_host.h).
#include "sim/block/top/sq_lite_host.h"

#include <assert.h>

#include "sim/block/top/sq_regs.h"

static bool has_gone(uint32_t wait)
{
    return wait == SQ_LITE_GONE;
}

bool sq_lite_has_register(uint32_t addr)
{
    bool has = false;
    for (unsigned i = 0; i < sq_n_regs; i++)
        has = has || sq_regs[i].offset == addr;
    return has;
}

// ---- an access ----------------------------------------------------------------------------------------

void sq_lite_drive(const struct sq_lite_access *a, unsigned data_w, struct sq_pins *pins)
{
    const struct sq_lite_follower *const n = &a->next;
    int32_t *const reply = pins->reply + sq_lite_reply(data_w);
    const bool is_write = a->is_there && a->is_write;
    const bool is_next_addr = n->is_there && has_gone(a->addr_wait),
               is_next_data = n->is_there && has_gone(a->data_wait);
    const bool has_aw = is_write && (is_next_addr ? n->addr_wait : a->addr_wait) == 0;
    const bool has_w = is_write && (is_next_data ? n->data_wait : a->data_wait) == 0;
    const bool has_ar = a->is_there && !a->is_write && a->addr_wait == 0;
    pins->ask_ready[SQ_LITE_B] = !a->b_waits;
    pins->ask_ready[SQ_LITE_R] = !a->r_waits;
    pins->reply_valid[SQ_LITE_AW] = has_aw;
    pins->reply_valid[SQ_LITE_W] = has_w;
    pins->reply_valid[SQ_LITE_AR] = has_ar;
    reply[0] = (int32_t)(!has_aw ? 0 : is_next_addr ? n->addr : a->addr);
    reply[1] = (int32_t)(!has_w ? 0 : is_next_data ? n->data : a->data);
    reply[2] = (int32_t)(!has_w ? 0 : is_next_data ? n->strb : a->strb);
    reply[3] = (int32_t)(has_ar ? a->addr : 0);
}

static void pass(uint32_t *wait, const struct sq_pins *p, unsigned reply)
{
    if (p->reply_valid[reply] && p->reply_ready[reply])
        *wait = SQ_LITE_GONE;
    else if (*wait > 0 && !has_gone(*wait))
        --*wait;
}

// The first of two that have not gone.
static void pass_first(uint32_t *wait, uint32_t *next, bool has_next, const struct sq_pins *p,
                       unsigned reply)
{
    if (!has_gone(*wait))
        pass(wait, p, reply);
    else if (has_next)
        pass(next, p, reply);
}

enum sq_lite_edge sq_lite_clock(struct sq_lite_access *a, unsigned data_w, const struct sq_pins *p)
{
    const int32_t *const ask = p->ask + sq_lite_ask(data_w);
    struct sq_lite_follower *const n = &a->next;
    const bool has_b = p->ask_valid[SQ_LITE_B], has_r = p->ask_valid[SQ_LITE_R];
    const bool is_asked = a->is_there && has_gone(a->addr_wait) &&
                          (!a->is_write || has_gone(a->data_wait)) &&
                          (!n->has_turn || (has_gone(n->addr_wait) && has_gone(n->data_wait)));
    if ((has_b && !(is_asked && a->is_write)) || (has_r && !(is_asked && !a->is_write)))
        return SQ_LITE_EARLY;
    if (a->is_there) {
        pass_first(&a->addr_wait, &n->addr_wait, n->is_there, p,
                   a->is_write ? SQ_LITE_AW : SQ_LITE_AR);
        pass_first(&a->data_wait, &n->data_wait, n->is_there, p, SQ_LITE_W);
    }
    if (has_r && !a->r_waits) {
        a->response = (uint32_t)ask[2];
        a->data = (uint32_t)ask[1];
    } else if (has_b && !a->b_waits) {
        *(n->has_turn ? &n->response : &a->response) = (uint32_t)ask[0];
        if (n->is_there && !n->has_turn) {
            n->has_turn = true;
            return SQ_LITE_WAITS;
        }
    } else {
        return SQ_LITE_WAITS;
    }
    a->is_there = false;
    return SQ_LITE_OVER;
}

// ---- a call of the driver -----------------------------------------------------------------------------

// What the call had before; or 0, and it is noted what it needs, if that is the first. So the call ends: it waits no
// longer, and STATUS does not say BUSY.
static uint32_t answer(struct sq_lite_call *c, enum sq_lite_need needs, uint32_t addr,
                       uint32_t data)
{
    if (c->at < c->n)
        return c->answer[c->at++];
    if (c->needs == SQ_LITE_NOTHING) {
        c->needs = needs;
        c->addr = addr;
        c->data = data;
    }
    return 0;
}

static uint32_t read_one(void *ctx, uint32_t offset)
{
    return answer(ctx, SQ_LITE_READ, offset, 0);
}

static void write_one(void *ctx, uint32_t offset, uint32_t value)
{
    (void)answer(ctx, SQ_LITE_WRITE, offset, value);
}

static int wait_once(void *ctx)
{
    return answer(ctx, SQ_LITE_WAIT, 0, 0) != 0;
}

struct sq_driver sq_lite_driver(struct sq_lite_call *c, bool waits)
{
    c->at = 0;
    c->needs = SQ_LITE_NOTHING;
    return (struct sq_driver){
        .ctx = c, .read = read_one, .write = write_one, .wait = waits ? wait_once : NULL};
}

void sq_lite_answer(struct sq_lite_call *c, uint32_t data)
{
    assert(c->n < SQ_LITE_CALL_MAX && c->needs != SQ_LITE_NOTHING);
    c->answer[c->n++] = data;
}
