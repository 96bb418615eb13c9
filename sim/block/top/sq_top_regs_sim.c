// SPDX-License-Identifier: Apache-2.0
#include "sim/block/top/sq_top_regs_sim.h"

enum { SLVERR = 2, ALL_BYTES = 15 };

static const struct sq_reg *reg_at(uint32_t addr)
{
    for (unsigned i = 0; i < sq_n_regs; i++)
        if (sq_regs[i].offset == (addr & ~3u))
            return &sq_regs[i];
    return NULL;
}

static bool writes(const struct sq_top_regs_sim *s)
{
    return s->has_aw && s->has_w && !s->b_valid;
}

static bool is_running(const struct sq_top_regs_sim *s)
{
    return s->value[SQ_REG_STATUS / 4] >> SQ_STATUS_BUSY & 1;
}

static bool may_write(const struct sq_top_regs_sim *s)
{
    const struct sq_reg *const r = reg_at(s->aw_addr);
    return r && r->access != SQ_REG_READ && s->w_strb == ALL_BYTES &&
           !(r->offset == SQ_REG_CONTROL && is_running(s));
}

bool sq_top_regs_starts(const struct sq_top_regs_sim *s)
{
    return writes(s) && may_write(s) && reg_at(s->aw_addr)->offset == SQ_REG_CONTROL &&
           (s->w_data & 1);
}

bool sq_top_regs_irq(const struct sq_top_regs_sim *s)
{
    return s->value[SQ_REG_IRQ_ENABLE / 4] & s->value[SQ_REG_IRQ_STATE / 4] & 1;
}

static void clock_reads(struct sq_top_regs_sim *s, const struct sq_top_regs_in *in)
{
    if (s->r_valid) {
        s->r_valid = !in->r_ready;
    } else if (in->ar_valid) {
        const struct sq_reg *const r = reg_at(in->ar_addr);
        s->r_valid = true;
        s->r_resp = r ? 0 : SLVERR;
        s->r_data = r ? s->value[r->offset / 4] : 0;
    }
}

// The bits that say what happened; a start clears them, and the counters.
static void count(struct sq_top_regs_sim *s, const struct sq_top_regs_in *in)
{
    uint32_t *const status = &s->value[SQ_REG_STATUS / 4];
    *status |= (uint32_t)in->refused << SQ_STATUS_REFUSED |
               (uint32_t)in->operand << SQ_STATUS_OPERAND | in->engine << SQ_STATUS_ENGINE;
    if ((*status >> SQ_STATUS_READ & 7) == 0)
        *status |= in->read_status << SQ_STATUS_READ;
    if ((*status >> SQ_STATUS_WRITTEN & 7) == 0)
        *status |= in->write_status << SQ_STATUS_WRITTEN;
    s->value[SQ_REG_CYCLES / 4]++;
    s->value[SQ_REG_BUSY_CYCLES / 4] += in->busy;
    s->value[SQ_REG_WAIT_CYCLES / 4] += in->wait;
    s->value[SQ_REG_BLOCKED_CYCLES / 4] += !in->busy && !in->wait;
    s->value[SQ_REG_READ_BEATS / 4] += in->read;
    s->value[SQ_REG_WRITE_BEATS / 4] += in->write;
}

static void start(struct sq_top_regs_sim *s)
{
    s->value[SQ_REG_STATUS / 4] = 1u << SQ_STATUS_BUSY;
    for (uint32_t r = SQ_REG_CYCLES; r < SQ_REG_END; r += 4)
        s->value[r / 4] = 0;
}

static void write(struct sq_top_regs_sim *s)
{
    const struct sq_reg *const r = reg_at(s->aw_addr);
    if (!may_write(s))
        return;
    if (r->offset == SQ_REG_DESCRIPTOR)
        s->value[r->offset / 4] = s->w_data;
    else if (r->offset == SQ_REG_IRQ_ENABLE)
        s->value[r->offset / 4] = s->w_data & 1;
    else if (r->access == SQ_REG_CLEAR)
        s->value[r->offset / 4] &= ~s->w_data;
}

void sq_top_regs_clock(struct sq_top_regs_sim *s, const struct sq_top_regs_in *in)
{
    const bool writes_now = writes(s), starts = sq_top_regs_starts(s), was_running = is_running(s);
    clock_reads(s, in);
    if (writes_now) {
        write(s);
        s->b_resp = may_write(s) ? 0 : SLVERR;
    }
    if (starts)
        start(s);
    else if (was_running)
        count(s, in);
    if (in->done) {
        s->value[SQ_REG_STATUS / 4] &= ~(1u << SQ_STATUS_BUSY);
        s->value[SQ_REG_IRQ_STATE / 4] |= 1;
    }
    s->b_valid = writes_now || (s->b_valid && !in->b_ready);
    if (writes_now) {
        s->has_aw = s->has_w = false;
        return;
    }
    if (!s->has_aw) {
        s->has_aw = in->aw_valid;
        s->aw_addr = in->aw_addr;
    }
    if (!s->has_w) {
        s->has_w = in->w_valid;
        s->w_data = in->w_data;
        s->w_strb = in->w_strb;
    }
}
