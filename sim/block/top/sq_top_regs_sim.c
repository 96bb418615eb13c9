// SPDX-License-Identifier: Apache-2.0
// Steps the registers, counters and interrupt of sq_top_regs (sq_top_regs_sim.h).
#include "sim/block/top/sq_top_regs_sim.h"

enum { SLVERR = 2, ALL_BYTES = 15 };

static const struct sq_reg *reg_at(uint32_t addr)
{
    for (unsigned i = 0; i < sq_n_regs; i++)
        if (sq_regs[i].offset == addr)
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

static bool is_counter(const struct sq_reg *r)
{
    return r->offset >= SQ_REG_CYCLES && r->offset < SQ_REG_COUNTER_HIGH;
}

// The low half of a counter; the high one goes to where it is read next.
static uint32_t read_counter(struct sq_top_regs_sim *s, const struct sq_reg *r)
{
    const uint64_t count = s->count[(r->offset - SQ_REG_CYCLES) / 4];
    s->value[SQ_REG_COUNTER_HIGH / 4] = (uint32_t)(count >> 32);
    return (uint32_t)count;
}

static void clock_reads(struct sq_top_regs_sim *s, const struct sq_top_regs_in *in)
{
    if (s->r_valid) {
        s->r_valid = !in->r_ready;
    } else if (in->ar_valid) {
        const struct sq_reg *const r = reg_at(in->ar_addr);
        s->r_valid = true;
        s->r_resp = r ? 0 : SLVERR;
        s->r_data = !r ? 0 : is_counter(r) ? read_counter(s, r) : s->value[r->offset / 4];
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
    s->count[SQ_COUNT_CYCLES]++;
    s->count[SQ_COUNT_BUSY] += in->busy;
    s->count[SQ_COUNT_WAIT] += in->wait;
    s->count[SQ_COUNT_BLOCKED] += !in->busy && !in->wait;
    s->count[SQ_COUNT_READ] += in->read;
    s->count[SQ_COUNT_WRITE] += in->write;
}

static void clear_counts(struct sq_top_regs_sim *s)
{
    for (unsigned i = 0; i < SQ_COUNTERS; i++)
        s->count[i] = s->count_start;
}

void sq_top_regs_init_counts(struct sq_top_regs_sim *s, uint32_t start)
{
    s->count_start = start;
    clear_counts(s);
}

static void start(struct sq_top_regs_sim *s)
{
    s->value[SQ_REG_STATUS / 4] = 1u << SQ_STATUS_BUSY;
    clear_counts(s);
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
