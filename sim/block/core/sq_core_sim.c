// SPDX-License-Identifier: Apache-2.0
// Computes handshakes, causes and next state of the two paths of the core (sq_core_sim.h).
#include "sim/block/core/sq_core_sim.h"

#include <assert.h>
#include <string.h>

// Combinational signals of one cycle, named as in sq_core_ctl.sv.
struct wires {
    bool job_fire, out_valid, out_fire;
    bool high_left, high_en, hi_ready, high_fire, high_bank_last, high_group_last;
    bool low_left, low_en, low_blocked, low_fire, low_bank_last, low_group_last;
};

void sq_core_reset(struct sq_core_sim *sim, const struct sq_core_config *config)
{
    assert(sq_core_config_check(config, NULL) == SQ_OK);
    memset(sim, 0, sizeof *sim);
    sim->low_steps = sq_core_low_steps(config);
    sim->high_steps = sq_core_high_steps(config);
}

static struct wires eval(const struct sq_core_sim *sim, const struct sq_core_in *in)
{
    const struct sq_core_state *s = &sim->state;
    struct wires w;

    w.job_fire = in->job_valid && s->out_groups == 0;

    // Results.
    w.out_valid = s->low_result && s->high_result;
    w.out_fire = w.out_valid && in->out_ready;

    // High path.
    w.high_left = s->high_groups != 0;
    w.high_en = !(s->hs_valid && s->high_result && !w.out_fire);
    w.hi_ready = w.high_left && w.high_en && s->bank_full;
    w.high_fire = w.hi_ready && s->hi_beats > 0;
    w.high_bank_last = s->high_step == sim->high_steps - 1;
    w.high_group_last = w.high_bank_last && s->high_bank == s->group_banks - 1;

    // Low path. The last step of a bank needs the bank buffer, free or just being freed.
    w.low_left = s->low_groups != 0;
    w.low_en = !(s->ls_valid && s->ls_last && s->low_result && !w.out_fire);
    w.low_bank_last = s->low_step == sim->low_steps - 1;
    w.low_group_last = w.low_bank_last && s->low_bank == s->group_banks - 1;
    w.low_blocked = w.low_bank_last && s->bank_full && !(w.high_fire && w.high_bank_last);
    w.low_fire = w.low_left && w.low_en && !w.low_blocked && s->act_beats > 0 && s->lo_beats > 0;
    return w;
}

void sq_core_comb(const struct sq_core_sim *sim, const struct sq_core_in *in,
                  struct sq_core_out *out)
{
    const struct sq_core_state *s = &sim->state;
    (void)in; // no output depends on an input of the same cycle
    out->job_ready = s->out_groups == 0;
    out->act_ready = s->act_beats < 2;
    out->lo_ready = s->lo_beats < 2;
    out->hi_ready = s->hi_beats < 2;
    out->out_valid = s->low_result && s->high_result;
}

// Causes, first that applies.
static enum sq_cause low_cause(const struct sq_core_state *s, const struct wires *w)
{
    if (!w->low_left)
        return SQ_CAUSE_DRAINING;
    if (!w->low_en)
        return SQ_CAUSE_BLOCKED_OUTPUT;
    if (w->low_blocked)
        return SQ_CAUSE_WAIT_HIGH;
    if (s->act_beats == 0)
        return SQ_CAUSE_WAIT_ACT;
    if (s->lo_beats == 0)
        return SQ_CAUSE_WAIT_WEIGHT;
    return SQ_CAUSE_BUSY;
}

static enum sq_cause high_cause(const struct sq_core_state *s, const struct wires *w)
{
    if (!w->high_left)
        return SQ_CAUSE_DRAINING;
    if (!w->high_en)
        return SQ_CAUSE_BLOCKED_OUTPUT;
    if (!s->bank_full)
        return s->started ? SQ_CAUSE_WAIT_MASK : SQ_CAUSE_FILLING;
    if (s->hi_beats == 0)
        return SQ_CAUSE_WAIT_WEIGHT;
    return SQ_CAUSE_BUSY;
}

// sq_pipe_reg: takes a beat unless it holds two, gives one when popped.
static uint8_t pipe_reg_next(uint8_t beats, bool in_valid, bool pop)
{
    bool push = in_valid && beats < 2;
    return (uint8_t)(beats + push - pop);
}

static void clock_low(struct sq_core_sim *sim, struct sq_core_state *d, const struct wires *w)
{
    const struct sq_core_state *s = &sim->state;
    if (w->low_fire) {
        d->low_step = w->low_bank_last ? 0 : s->low_step + 1;
        if (w->low_bank_last) {
            d->low_bank = w->low_group_last ? 0 : s->low_bank + 1;
            d->started = 1;
        }
        if (w->low_group_last)
            d->low_groups = s->low_groups - 1;
    }
    if (w->low_en) {
        d->l1_valid = w->low_fire;
        d->l1_last = w->low_fire && w->low_group_last;
        d->l2_valid = s->l1_valid;
        d->l2_last = s->l1_last;
        d->ls_valid = s->l2_valid;
        d->ls_last = s->l2_last;
    }
    if (w->low_en && s->ls_valid && s->ls_last)
        d->low_result = 1;
    else if (w->out_fire)
        d->low_result = 0;
}

static void clock_high(struct sq_core_sim *sim, struct sq_core_state *d, const struct wires *w)
{
    const struct sq_core_state *s = &sim->state;
    if (w->low_fire && w->low_bank_last)
        d->bank_full = 1;
    else if (w->high_fire && w->high_bank_last)
        d->bank_full = 0;

    if (w->high_fire) {
        d->high_step = w->high_bank_last ? 0 : s->high_step + 1;
        if (w->high_bank_last)
            d->high_bank = w->high_group_last ? 0 : s->high_bank + 1;
        if (w->high_group_last)
            d->high_groups = s->high_groups - 1;
    }
    if (w->high_en) {
        d->h1_valid = w->high_fire;
        d->h1_last = w->high_fire && w->high_group_last;
        d->hs_valid = s->h1_valid;
        d->hs_last = s->h1_last;
    }
    if (w->high_en && s->hs_valid && s->hs_last)
        d->high_result = 1;
    else if (w->out_fire)
        d->high_result = 0;
}

void sq_core_clock(struct sq_core_sim *sim, const struct sq_core_in *in)
{
    const struct sq_core_state *s = &sim->state;
    const struct wires w = eval(sim, in);
    struct sq_core_state d = *s;

    if (sq_core_active(sim)) {
        sim->stats.cycles++;
        sim->stats.low[low_cause(s, &w)]++;
        sim->stats.high[high_cause(s, &w)]++;
    }
    if (w.out_fire)
        d.out_groups = s->out_groups - 1;
    if (w.job_fire) {
        d.group_banks = in->job.group_banks;
        d.low_groups = d.high_groups = d.out_groups = in->job.groups;
        d.started = 0;
        memset(&sim->stats, 0, sizeof sim->stats);
    }
    sim->has_bank = w.low_fire && w.low_bank_last;
    clock_low(sim, &d, &w);
    clock_high(sim, &d, &w);
    d.act_beats = pipe_reg_next(s->act_beats, in->act_valid, w.low_fire);
    d.lo_beats = pipe_reg_next(s->lo_beats, in->lo_valid, w.low_fire);
    d.hi_beats = pipe_reg_next(s->hi_beats, in->hi_valid, w.high_fire);
    sim->state = d;
}

uint64_t sq_job_low_beats(const struct sq_core_config *config, const struct sq_job *job)
{
    return (uint64_t)job->groups * job->group_banks * sq_core_low_steps(config);
}

uint64_t sq_job_high_beats(const struct sq_core_config *config, const struct sq_job *job)
{
    return (uint64_t)job->groups * job->group_banks * sq_core_high_steps(config);
}

uint64_t sq_job_bound(const struct sq_core_config *config, const struct sq_job *job)
{
    uint64_t low = sq_job_low_beats(config, job), high = sq_job_high_beats(config, job);
    return low > high ? low : high;
}
