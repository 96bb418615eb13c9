// SPDX-License-Identifier: Apache-2.0
// Steps the registers, counters and interrupt of sq_top_regs (sq_top_regs_sim.h).
#include "sim/block/top/sq_top_regs_sim.h"

#include <string.h>

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

uint64_t sq_top_regs_address(const struct sq_top_regs_sim *s, uint32_t low, uint32_t high)
{
    return (uint64_t)s->value[high / 4] << 32 | s->value[low / 4];
}

static bool may_write(const struct sq_top_regs_sim *s)
{
    const struct sq_reg *const r = reg_at(s->aw_addr);
    if (!r || r->access == SQ_REG_READ || s->w_strb != ALL_BYTES)
        return false;
    switch (r->offset) {
    case SQ_REG_CONTROL:
        return !is_running(s) || !(s->w_data >> SQ_CONTROL_START & 1);
    case SQ_REG_RING_BASE:
    case SQ_REG_RING_BASE_HIGH:
    case SQ_REG_RING_SIZE:
        return !is_running(s);
    case SQ_REG_TAIL:
        return s->w_data < s->value[SQ_REG_RING_SIZE / 4] && !(is_running(s) && !s->is_ring) &&
               !s->is_aborting &&
               sq_top_regs_address(s, SQ_REG_RING_BASE, SQ_REG_RING_BASE_HIGH) +
                       (uint64_t)SQ_SLOT_NBYTES * s->value[SQ_REG_RING_SIZE / 4] <=
                   SQ_ADDR_END;
    default:
        return true;
    }
}

// A write to that register is done in this cycle.
static bool writes_to(const struct sq_top_regs_sim *s, uint32_t offset)
{
    return writes(s) && may_write(s) && s->aw_addr == offset;
}

bool sq_top_regs_starts(const struct sq_top_regs_sim *s)
{
    return writes_to(s, SQ_REG_CONTROL) && (s->w_data >> SQ_CONTROL_START & 1);
}

bool sq_top_regs_aborts(const struct sq_top_regs_sim *s)
{
    return writes_to(s, SQ_REG_CONTROL) && (s->w_data >> SQ_CONTROL_ABORT & 1) && is_running(s);
}

bool sq_top_regs_rewinds(const struct sq_top_regs_sim *s)
{
    return writes_to(s, SQ_REG_RING_BASE) || writes_to(s, SQ_REG_RING_BASE_HIGH) ||
           writes_to(s, SQ_REG_RING_SIZE);
}

bool sq_top_regs_has_ring(const struct sq_top_regs_sim *s)
{
    return is_running(s) && s->is_ring;
}

uint32_t sq_top_regs_tail(const struct sq_top_regs_sim *s)
{
    return writes_to(s, SQ_REG_TAIL) ? s->w_data : s->value[SQ_REG_TAIL / 4];
}

bool sq_top_regs_irq(const struct sq_top_regs_sim *s)
{
    return s->value[SQ_REG_IRQ_ENABLE / 4] & s->value[SQ_REG_IRQ_STATE / 4];
}

// Which counter it is; SQ_COUNTERS: none.
static unsigned counter_of(const struct sq_reg *r)
{
    return r->offset >= SQ_REG_READ_WAIT && r->offset <= SQ_REG_WRITE_WAIT
               ? SQ_COUNT_READ_WAIT + (r->offset - SQ_REG_READ_WAIT) / 4
           : r->offset >= SQ_REG_CYCLES && r->offset < SQ_REG_COUNTER_HIGH
               ? (r->offset - SQ_REG_CYCLES) / 4
               : (unsigned)SQ_COUNTERS;
}

// The low half of a counter; the high one goes to where it is read next.
static uint32_t read_counter(struct sq_top_regs_sim *s, unsigned counter)
{
    const uint64_t count = s->count[counter];
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
        const unsigned counter = r ? counter_of(r) : (unsigned)SQ_COUNTERS;
        s->r_data = !r                      ? 0
                    : counter < SQ_COUNTERS ? read_counter(s, counter)
                                            : s->value[r->offset / 4];
    }
}

static void note_write(struct sq_top_regs_sim *s, uint32_t write_status)
{
    uint32_t *const status = &s->value[SQ_REG_STATUS / 4];
    if ((*status >> SQ_STATUS_WRITTEN & 7) == 0)
        *status |= write_status << SQ_STATUS_WRITTEN;
}

// The bits that say what happened; a start clears them.
static void note(struct sq_top_regs_sim *s, const struct sq_top_regs_in *in)
{
    uint32_t *const status = &s->value[SQ_REG_STATUS / 4];
    *status |= (uint32_t)in->refused << SQ_STATUS_REFUSED |
               (uint32_t)in->operand << SQ_STATUS_OPERAND | in->engine << SQ_STATUS_ENGINE |
               (uint32_t)in->aborted << SQ_STATUS_ABORTED |
               (uint32_t)in->expired << SQ_STATUS_EXPIRED;
    if ((*status >> SQ_STATUS_READ & 7) == 0)
        *status |= in->read_status << SQ_STATUS_READ;
    note_write(s, in->write_status);
}

uint64_t sq_top_regs_count(const struct sq_top_regs_sim *s, enum sq_reg_counter counter)
{
    return s->begins ? s->count_start : s->count[counter] + s->adds[counter];
}

// The counters, which are a cycle behind.
static void clock_counts(struct sq_top_regs_sim *s, const struct sq_top_regs_in *in)
{
    const bool adds[SQ_COUNTERS] = {[SQ_COUNT_CYCLES] = true,
                                    [SQ_COUNT_BUSY] = in->busy,
                                    [SQ_COUNT_WAIT] = in->wait,
                                    [SQ_COUNT_BLOCKED] = !in->busy && !in->wait,
                                    [SQ_COUNT_READ] = in->read,
                                    [SQ_COUNT_WRITE] = in->write,
                                    [SQ_COUNT_READ_WAIT] = in->read_wait,
                                    [SQ_COUNT_READ_FULL] = in->read_full,
                                    [SQ_COUNT_WRITE_WAIT] = in->write_wait};
    for (unsigned i = 0; i < SQ_COUNTERS; i++) {
        s->count[i] = sq_top_regs_count(s, i);
        s->adds[i] = in->run && adds[i];
    }
    s->begins = in->begin;
}

void sq_top_regs_init_counts(struct sq_top_regs_sim *s, uint32_t start)
{
    s->count_start = start;
    for (unsigned i = 0; i < SQ_COUNTERS; i++)
        s->count[i] = start;
}

void sq_top_regs_record(const struct sq_top_regs_sim *s, uint32_t word[SQ_RECORD_WORDS])
{
    memset(word, 0, SQ_RECORD_WORDS * sizeof *word);
    word[SQ_RECORD_STATUS] =
        (s->value[SQ_REG_STATUS / 4] & ~(1u << SQ_STATUS_BUSY)) | 1u << SQ_RECORD_DONE;
    word[SQ_RECORD_SLOT] = s->value[SQ_REG_HEAD / 4];
    for (unsigned i = 0; i <= SQ_COUNT_WRITE; i++) {
        word[SQ_RECORD_CYCLES + 2 * i] = (uint32_t)s->count[i];
        word[SQ_RECORD_CYCLES + 2 * i + 1] = (uint32_t)(s->count[i] >> 32);
    }
}

static void write(struct sq_top_regs_sim *s)
{
    const struct sq_reg *const r = reg_at(s->aw_addr);
    if (!may_write(s))
        return;
    switch (r->offset) {
    case SQ_REG_DESCRIPTOR:
    case SQ_REG_WATCHDOG:
    case SQ_REG_TAIL:
        s->value[r->offset / 4] = s->w_data;
        break;
    case SQ_REG_RING_BASE:
        s->value[r->offset / 4] = s->w_data / SQ_SLOT_NBYTES * SQ_SLOT_NBYTES;
        break;
    case SQ_REG_RING_SIZE:
    case SQ_REG_RING_BASE_HIGH:
    case SQ_REG_DESCRIPTOR_HIGH:
        s->value[r->offset / 4] = s->w_data & 0xffff;
        break;
    case SQ_REG_IRQ_ENABLE:
        s->value[r->offset / 4] = s->w_data & 3;
        break;
    case SQ_REG_IRQ_STATE:
        s->value[r->offset / 4] &= ~s->w_data;
        break;
    default:
        break;
    }
    if (sq_top_regs_rewinds(s))
        s->value[SQ_REG_TAIL / 4] = 0;
}

void sq_top_regs_clock(struct sq_top_regs_sim *s, const struct sq_top_regs_in *in)
{
    const bool writes_now = writes(s), starts = sq_top_regs_starts(s);
    const bool begins_ring =
        writes_to(s, SQ_REG_TAIL) && !is_running(s) && s->w_data != s->value[SQ_REG_HEAD / 4];
    uint32_t *const status = &s->value[SQ_REG_STATUS / 4];
    clock_reads(s, in);
    if (writes_now) {
        s->b_resp = may_write(s) ? 0 : SLVERR;
        write(s);
    }
    clock_counts(s, in);
    if (in->begin)
        *status &= 1u << SQ_STATUS_BUSY;
    else if (in->run)
        note(s, in);
    else if (in->end)
        note_write(s, in->write_status);
    if (in->end && *status >> 1)
        s->value[SQ_REG_IRQ_STATE / 4] |= 1u << SQ_IRQ_ERROR;
    if (in->notice)
        s->value[SQ_REG_IRQ_STATE / 4] |= 1u << SQ_IRQ_DONE;
    if (starts || begins_ring) {
        *status |= 1u << SQ_STATUS_BUSY;
        s->is_ring = begins_ring;
    } else if (in->done)
        *status &= ~(1u << SQ_STATUS_BUSY);
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
