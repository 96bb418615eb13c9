// SPDX-License-Identifier: Apache-2.0
// Each block as recurrences: `w` holds what is offered and when the sink is ready; filled in are
// the times at which beats are taken, and the output.
#pragma once

#include <string.h>

#include "sim/block/flow/sq_case.h"
#include "tests/sim/oracle.h"
#include "tests/sim/oracle_core.h"

// The case as streams of records, and its parameters by name.
struct input {
    const struct sq_case *c;
    struct sq_ports ports;
    const int32_t **record[ORACLE_STREAMS]; // [beats]
    bool *starts[ORACLE_STREAMS];           // [beats] first of its group
};

static inline unsigned param(const struct input *in, const char *name)
{
    const struct sq_block *b = in->c->block;
    for (size_t i = 0; b->param[i]; i++)
        if (strcmp(b->param[i], name) == 0)
            return in->c->point->value[i];
    assert(false);
    return 0;
}

// Element 0 of a field of a beat.
static inline const int32_t *field(const struct input *in, unsigned stream, size_t i,
                                   const char *name)
{
    size_t f = 0;
    for (unsigned s = 0; s < stream; s++)
        f += in->ports.stream[s].n_fields;
    while (strcmp(in->ports.in[f].name, name) != 0)
        f++;
    return in->record[stream][i] + sq_field_offset(in->ports.in, f);
}

// Beat i of a stream: when it is offered (never beyond its end), and that it is taken.
static inline uint64_t offered(const struct prediction *w, unsigned stream, size_t i)
{
    return i < w->in[stream].n ? w->in[stream].offered[i] : NEVER;
}

static inline void taken(struct prediction *w, unsigned stream, size_t i, uint64_t t)
{
    if (i < w->in[stream].n)
        w->in[stream].taken[i] = t;
}

// ---- one beat for each, one tile for each group ------------------------------------------------

static void predict_unit(struct prediction *w, struct unit u)
{
    for (size_t i = 0; i < w->in[0].n; i++) {
        const uint64_t t = w->in[0].taken[i] = unit_enter(&u, w->in[0].offered[i]);
        if (t >= w->end)
            break;
        const uint64_t shown = unit_show(&u, t);
        unit_leave(&u, shown, give(w, shown));
    }
}

static void predict_gather(const struct input *in, struct prediction *w)
{
    (void)in;
    predict_unit(w, (struct unit){.depth = 3}); // D.8: latency 3, a bank per cycle
}

// A beat per cycle, latency 2.
static void predict_two_stages(const struct input *in, struct prediction *w)
{
    (void)in;
    predict_unit(w, (struct unit){.depth = 2});
}

static void predict_requant(const struct input *in, struct prediction *w)
{
    (void)in;
    predict_unit(w, (struct unit){.depth = 3});
}

// Product, sum, six stages of a function, the lanes in pairs, the row. Cut: 4, 4, 9, 4 each; a beat that is added to the row stands
// two cycles in front of it.
static void predict_vector(const struct input *in, struct prediction *w)
{
    const bool is_cut = param(in, "Cut");
    struct unit u = {.depth = is_cut ? 18 : 9};
    bool goes_on = false;
    for (unsigned n = param(in, "Lanes"); n > 1; n /= 2)
        u.depth += is_cut ? 4 : 1;
    for (size_t i = 0; i < w->in[0].n; i++) {
        const uint64_t t = w->in[0].taken[i] = unit_enter(&u, w->in[0].offered[i]);
        if (t >= w->end)
            break;
        const uint64_t before = moves(&u.stalls, t, u.depth - 2) + 1;
        if (is_cut && goes_on && *field(in, 0, i, "sum") && moving(&u.stalls, before) == before)
            stall(&u.stalls, before, before + 1);
        goes_on = !*field(in, 0, i, "last");
        const uint64_t shown = unit_show(&u, t);
        unit_leave(&u, shown, give(w, shown));
    }
}

// A stage for each halving, and one for the product; of integers: aligned, summed, back to numbers.
static void predict_hadamard(const struct input *in, struct prediction *w)
{
    unsigned depth = 1;
    for (unsigned n = param(in, "Len"); n > 1; n /= 2)
        depth++;
    if (param(in, "Bits") > 0)
        depth = 3;
    predict_unit(w, (struct unit){.depth = depth});
}

static struct unit mask_unit(const struct input *in, unsigned bits)
{
    if (param(in, "Topk") == SQ_TOPK_TREE) // an element a stage
        return (struct unit){.depth = param(in, "HighPerBank")};
    return topk_unit(param(in, "Topk") == SQ_TOPK_RADIX, bits);
}

static void predict_topk(const struct input *in, struct prediction *w)
{
    predict_unit(w, mask_unit(in, param(in, "MagW")));
}

// An array, behind `front` if there is one.
static void predict_tail(const struct input *in, struct prediction *w, struct tail a,
                         struct unit *front)
{
    for (size_t i = 0; i < w->in[0].n; i++) {
        uint64_t t = w->in[0].offered[i];
        if (front) {
            w->in[0].taken[i] = unit_enter(front, t);
            const uint64_t shown = unit_show(front, w->in[0].taken[i]);
            t = tail_enter(&a, shown);
            unit_leave(front, shown, t);
        } else {
            t = w->in[0].taken[i] = tail_enter(&a, t);
        }
        if (w->in[0].taken[i] >= w->end)
            break;
        if (*field(in, 0, i, "last"))
            a.tile_left = give(w, tail_show(&a, t));
    }
}

// Operands in one register, or two where selects are made of the codes first; then the sum.
static void predict_array(const struct input *in, struct prediction *w)
{
    const unsigned layout = param(in, "Layout");
    const bool plain = layout == SQ_ARRAY_DENSE || layout == SQ_ARRAY_SP24;
    predict_tail(in, w, (struct tail){.depth = plain ? 2 : 3}, NULL);
}

static void predict_array_static(const struct input *in, struct prediction *w)
{
    predict_tail(in, w, (struct tail){.depth = 3}, NULL);
}

// R.1: integers, products, [their sum, [times s_g,]] the sum over groups; then the output. Binary32
// sums at the product of their scales take as long as integers at one scale.
// The forms of it, as each operation takes one stage or, cut, four: integers two, then product, sum; both sums; s_g;
// the token's scale.
static unsigned combine_depth(unsigned form, bool is_cut)
{
    static const unsigned cut[] = {2 + 4 + 4 + 4, 2 + 4 + 4 + 4 + 4, 2 + 4 + 4 + 4 + 4, 4 + 4 + 4};
    return is_cut ? cut[form] : 3 + (form == 3 ? 0 : form);
}

static void predict_combine(const struct input *in, struct prediction *w)
{
    predict_tail(in, w, (struct tail){.depth = combine_depth(param(in, "Form"), false)}, NULL);
}

// ---- tiles kept and given again ----------------------------------------------------------------

// A tile is read from the cycle after its last beat came; its place is free from the cycle after
// its last beat went; there are two.
struct tile {
    size_t first, n; // beats of the input stream
    uint32_t passes;
    uint64_t complete, free;
};

static size_t tiles_of(const struct input *in, const struct prediction *w, struct tile *tile)
{
    size_t n = 0, first = 0;
    for (size_t i = 0; i < w->in[0].n; i++)
        if (*field(in, 0, i, "last")) {
            tile[n++] = (struct tile){.first = first,
                                      .n = i + 1 - first,
                                      .passes = (uint32_t)*field(in, 0, i, "passes"),
                                      .complete = NEVER,
                                      .free = NEVER};
            first = i + 1;
        }
    return n;
}

static uint64_t place_of(const struct tile *tile, size_t t)
{
    return t < 2 ? 0 : tile[t - 2].free;
}

static void predict_act_buffer(const struct input *in, struct prediction *w)
{
    struct tile *tile = fixture_zeros(w->in[0].n + 1, sizeof *tile);
    const size_t n = tiles_of(in, w, tile);
    uint64_t came = 0, went = 0;
    for (size_t t = 0; t < n; t++) {
        for (size_t i = 0; i < tile[t].n; i++) {
            const size_t beat = tile[t].first + i;
            w->in[0].taken[beat] = later(w->in[0].offered[beat], later(came, place_of(tile, t)));
            came = w->in[0].taken[beat] + 1;
        }
        for (size_t i = 0; i < tile[t].n * tile[t].passes && went < w->end; i++)
            went = give(w, later(went, came)) + 1;
        tile[t].free = went;
    }
}

// Beats of a tile, which come on a stream from cycle `from` on, through the mask unit, the stages behind it,
// into the store.
static void store_tile(struct prediction *w, unsigned stream, uint64_t from, struct unit *mask,
                       struct unit *stages, struct tile *tile, size_t t)
{
    for (size_t i = 0; i < tile[t].n; i++) {
        const size_t beat = tile[t].first + i;
        uint64_t *const came = &w->in[stream].taken[beat];
        *came = unit_enter(mask, later(from, w->in[stream].offered[beat]));
        const uint64_t masked = unit_show(mask, *came);
        const uint64_t staged = unit_enter(stages, masked);
        unit_leave(mask, masked, staged);
        const uint64_t shown = unit_show(stages, staged);
        const uint64_t stored = later(shown, place_of(tile, t));
        unit_leave(stages, shown, stored);
        tile[t].complete = stored + 1;
    }
}

// ---- cores -------------------------------------------------------------------------------------

struct job_source {
    unsigned stream;
    size_t n;
    uint64_t groups, banks; // of the job at hand
    uint64_t group, bank;   // at hand
    bool any;
};

static bool next_bank(const struct input *in, struct prediction *w, struct oracle_core *c,
                      struct job_source *j)
{
    if (j->any && ++j->bank < j->banks)
        return true;
    j->bank = 0;
    if (j->any && ++j->group < j->groups)
        return true;
    if (j->n == w->in[j->stream].n)
        return false;
    j->group = 0;
    j->banks = (uint32_t)*field(in, j->stream, j->n, "group_banks");
    j->groups = (uint32_t)*field(in, j->stream, j->n, "groups");
    w->in[j->stream].taken[j->n] = core_job(c, w->in[j->stream].offered[j->n], j->n == 0);
    j->n++;
    j->any = true;
    return true;
}

// A job that is done, or was under way when the run ended: its cycles, and where its steps begin.
struct ran {
    uint64_t taken, left;
    size_t low, high;
};

// Banks of a column with another number of mask codes than k are an error for good, seen in the
// cycle after their last low step.
static void predict_masks(const struct input *in, struct prediction *w, const struct oracle_core *c)
{
    const unsigned bank = param(in, "BankLen"), lanes = param(in, "LowLanes");
    const int32_t mask = -(1 << (param(in, "LowW") - 1));
    const size_t cols = param(in, "Cols"), at = 16;
    for (size_t b = 0; w->n_status > at && (b + 1) * c->low_steps <= c->low_log.n; b++)
        for (size_t col = 0; col < cols; col++) {
            unsigned n = 0;
            for (unsigned i = 0; i < bank; i++) {
                const size_t beat = b * c->low_steps + i / lanes;
                n += beat < w->in[2].n &&
                     field(in, 2, beat, "data")[col * lanes + i % lanes] == mask;
            }
            const uint64_t seen = c->low_log.step[(b + 1) * c->low_steps - 1].t + 1;
            for (uint64_t t = seen; n != param(in, "HighPerBank") && t < w->end; t++)
                w->status[t * w->n_status + at + col] = 1;
        }
}

// The counters of a job, cycle by cycle: from the cycle after it was taken up to the one in which
// its last tile leaves, one cause a path; they stay until the next job is taken.
static void predict_status(const struct input *in, struct prediction *w,
                           const struct oracle_core *c, const struct ran *job, size_t n_jobs)
{
    enum { FILLING = 1, WAIT_ACT, WAIT_WEIGHT, WAIT_HIGH, WAIT_MASK, BLOCKED, DRAINING };
    static const int low_cause[] = {[DONE] = DRAINING,  [STANDS] = BLOCKED,     [HELD] = WAIT_HIGH,
                                    [FIRST] = WAIT_ACT, [SECOND] = WAIT_WEIGHT, [STEP] = 0};
    const uint32_t start = param(in, "CountStart");
    uint32_t now[16]; // carries into the sign of a status value
    uint64_t t = 0;
    for (unsigned i = 0; i < 16; i++)
        now[i] = start;
    for (size_t j = 0; w->n_status > 0 && j <= n_jobs; j++) {
        const uint64_t until = j < n_jobs && job[j].taken < w->end ? job[j].taken + 1 : w->end;
        for (; t < until; t++)
            memcpy(w->status + t * w->n_status, now, sizeof now);
        if (t == w->end)
            break;
        const size_t low_end = j + 1 < n_jobs ? job[j + 1].low : c->low_log.n;
        const size_t high_end = j + 1 < n_jobs ? job[j + 1].high : c->high_log.n;
        size_t low = job[j].low, high = job[j].high;
        const uint64_t first = c->low_log.step[job[j].low + c->low_steps - 1].t; // a bank is there
        for (unsigned i = 0; i < 16; i++)
            now[i] = start;
        for (; t < w->end && t <= job[j].left; t++) {
            memcpy(w->status + t * w->n_status, now, sizeof now);
            now[low_cause[why(&c->low_log, &c->low, &low, low_end, t)]]++;
            const enum why h = why(&c->high_log, &c->high, &high, high_end, t);
            now[8 + (h == DONE     ? DRAINING
                     : h == STANDS ? BLOCKED
                     : h == FIRST  ? (t > first ? WAIT_MASK : FILLING)
                     : h == SECOND ? WAIT_WEIGHT
                                   : 0)]++;
        }
    }
    predict_masks(in, w, c);
}

// A core whose tiles go to `tile`, or, NULL, to the sink.
static void predict_core_into(const struct input *in, struct prediction *w,
                              uint64_t (*tile)(void *to, struct prediction *w, uint64_t t),
                              void *to)
{
    const unsigned low_lanes = param(in, "LowLanes"), high_lanes = param(in, "HighLanes");
    struct oracle_core c = {.low_steps = (param(in, "BankLen") + low_lanes - 1) / low_lanes,
                            .high_steps = (param(in, "HighPerBank") + high_lanes - 1) / high_lanes};
    struct job_source j = {.stream = 0};
    struct ran *job = fixture_zeros(w->in[0].n + 1, sizeof *job);
    size_t low = 0, high = 0;
    assert(job);
    while (c.low_step < w->end && next_bank(in, w, &c, &j)) {
        const bool last = j.bank + 1 == j.banks;
        if (j.group == 0 && j.bank == 0)
            job[j.n - 1] = (struct ran){w->in[0].taken[j.n - 1], NEVER, low, high};
        for (unsigned s = 0; s < c.low_steps; s++, low++) {
            uint64_t act = offered(w, 1, low), lo = offered(w, 2, low);
            core_low(&c, s + 1 == c.low_steps, last && s + 1 == c.low_steps, &act, &lo);
            taken(w, 1, low, act);
            taken(w, 2, low, lo);
        }
        for (unsigned s = 0; s < c.high_steps; s++, high++) {
            uint64_t hi = offered(w, 3, high);
            core_high(&c, j.bank == 0 && s == 0, s + 1 == c.high_steps,
                      last && s + 1 == c.high_steps, &hi);
            taken(w, 3, high, hi);
        }
        if (last && tile)
            c.tile_left = tile(to, w, later(c.low_total, c.high_total));
        else if (last)
            core_tile(&c, w);
        if (last && j.group + 1 == j.groups)
            job[j.n - 1].left = c.tile_left;
    }
    predict_status(in, w, &c, job, j.n);
    for (unsigned k = 0; k < 2; k++) { // what the registers still take
        taken(w, 1, low + k, enter(&c.act, offered(w, 1, low + k)));
        taken(w, 2, low + k, enter(&c.lo, offered(w, 2, low + k)));
        taken(w, 3, high + k, enter(&c.hi, offered(w, 3, high + k)));
        go_on(&c.act, NEVER);
        go_on(&c.lo, NEVER);
        go_on(&c.hi, NEVER);
    }
}

static void predict_core(const struct input *in, struct prediction *w)
{
    predict_core_into(in, w, NULL, NULL);
}

// SPEC C.4: masks are made once per tile and kept for all passes. Low codes leave their store step
// by step into the core, high codes bank by bank into a register, and from there step by step.
struct oracle_act {
    struct oracle_core c;
    struct unit mask, stages;
    struct register2 high_bank;
    uint64_t low_given, high_given;
    size_t weight;
};

static struct oracle_act oracle_act(const struct input *in)
{
    const unsigned low_lanes = param(in, "LowLanes"), high_lanes = param(in, "HighLanes");
    return (struct oracle_act){
        .c = {.low_steps = (param(in, "BankLen") + low_lanes - 1) / low_lanes,
              .high_steps = (param(in, "HighPerBank") + high_lanes - 1) / high_lanes},
        .mask = topk_unit(param(in, "Topk") == SQ_TOPK_RADIX, param(in, "HighW") - 1),
        .stages = {.depth = 3}};
}

// A bank of a tile, the first of its scale group or the last, with weights of a stream.
static void act_bank(struct oracle_act *o, struct prediction *w, unsigned stream,
                     const struct tile *t, bool first, bool last)
{
    struct oracle_core *const c = &o->c;
    for (unsigned s = 0; s < c->low_steps; s++, o->weight++) {
        uint64_t act = offered(w, stream, o->weight), lo = later(t->complete, o->low_given);
        core_low(c, s + 1 == c->low_steps, last && s + 1 == c->low_steps, &act, &lo);
        taken(w, stream, o->weight, act);
        o->low_given = lo + 1;
    }
    const uint64_t moved = enter(&o->high_bank, later(t->complete, o->high_given));
    o->high_given = moved + 1;
    uint64_t hi = moved + 1;
    for (unsigned s = 0; s < c->high_steps; s++) {
        hi = later(hi, moved + 1);
        core_high(c, first && s == 0, s + 1 == c->high_steps, last && s + 1 == c->high_steps, &hi);
    }
    go_on(&o->high_bank, hi);
}

static void free_act(struct oracle_act *o, struct prediction *w, unsigned stream)
{
    for (unsigned k = 0; k < 2; k++) { // what the registers still take
        taken(w, stream, o->weight + k, enter(&o->c.act, offered(w, stream, o->weight + k)));
        go_on(&o->c.act, NEVER);
    }
}

static void predict_core_act(const struct input *in, struct prediction *w)
{
    struct oracle_act o = oracle_act(in);
    struct tile *tile = fixture_zeros(w->in[0].n + 1, sizeof *tile);
    const size_t n = tiles_of(in, w, tile);
    struct job_source j = {.stream = 2};
    size_t t = 0, bank = 0; // tile, bank of it over all passes
    bool is_stored = false;
    while (t < n && o.c.low_step < w->end && next_bank(in, w, &o.c, &j)) {
        const bool last = j.bank + 1 == j.banks;
        if (!is_stored)
            store_tile(w, 0, 0, &o.mask, &o.stages, tile, t);
        is_stored = true;
        act_bank(&o, w, 1, &tile[t], j.bank == 0, last);
        if (last)
            core_tile(&o.c, w);
        if (++bank == tile[t].n * tile[t].passes) {
            tile[t++].free = later(o.low_given, o.high_given);
            bank = 0;
            is_stored = false;
        }
    }
    for (t += is_stored; t < n; t++)
        store_tile(w, 0, 0, &o.mask, &o.stages, tile, t);
    free_act(&o, w, 1);
}
