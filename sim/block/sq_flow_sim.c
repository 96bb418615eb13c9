// SPDX-License-Identifier: Apache-2.0
#include "sim/block/sq_flow_sim.h"

#include <assert.h>
#include <string.h>

void sq_flow_sim_init(struct sq_flow_sim *s, enum sq_flow_kind kind, unsigned depth)
{
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->depth = depth;
}

// ---- TILE -----------------------------------------------------------------------------------

static void tile_comb(const struct sq_flow_sim *s, bool out_ready, struct sq_flow_out *out)
{
    out->out_valid = s->is_reading;
    out->in_ready[0] = !s->is_reading || s->write < s->read || (s->write == s->read && out_ready);
}

static void tile_clock(struct sq_flow_sim *s, bool in_fire, bool out_fire)
{
    if (out_fire) {
        s->read = (s->read + 1) % s->depth;
        s->is_reading = s->read != 0;
    }
    if (in_fire) {
        s->write = (s->write + 1) % s->depth;
        s->is_reading = s->is_reading || s->write == 0;
    }
}

// ---- PACK -----------------------------------------------------------------------------------

// The beat offered is the last one of its vector.
static bool pack_ends(const struct sq_flow_sim *s)
{
    return s->held_last && s->held <= s->depth;
}

// The buffer takes a segment in this cycle.
static bool pack_takes(const struct sq_flow_sim *s, bool out_ready)
{
    if (!s->held_last && s->held < s->depth)
        return true;
    return out_ready && (pack_ends(s) || (!s->held_last && s->held < 2 * s->depth));
}

static void pack_comb(const struct sq_flow_sim *s, bool out_ready, struct sq_flow_out *out)
{
    out->out_valid = s->held_last || s->held >= s->depth;
    out->in_ready[0] = !s->stage[0].valid || !s->stage[1].valid || pack_takes(s, out_ready);
}

static void pack_clock(struct sq_flow_sim *s, const struct sq_flow_beat *in, bool out_ready,
                       bool out_fire)
{
    const bool takes = pack_takes(s, out_ready), ends = pack_ends(s);
    const bool second_moves = !s->stage[1].valid || takes;
    const bool first_moves = !s->stage[0].valid || second_moves;
    if (out_fire) {
        s->held = ends ? 0 : s->held - s->depth;
        s->held_last = s->held_last && !ends;
    }
    if (takes && s->stage[1].valid) {
        s->held += s->stage[1].n;
        s->held_last = s->stage[1].last;
    }
    if (second_moves)
        s->stage[1] = s->stage[0];
    if (first_moves)
        s->stage[0] = (struct sq_flow_segment){in->valid, in->last, in->n};
}

// ---- WALK -----------------------------------------------------------------------------------

// A step of the row can be made, and it is its last one.
static void walk_step(const struct sq_flow_sim *s, const struct sq_flow_beat *in, bool *steps,
                      bool *ends)
{
    *steps = s->has_row && (s->left == 0 || in[1].valid);
    *ends = *steps && s->left <= 1;
}

static void walk_comb(const struct sq_flow_sim *s, const struct sq_flow_beat *in, bool out_ready,
                      struct sq_flow_out *out)
{
    const bool moves = !s->has_step || out_ready;
    bool steps, ends;
    walk_step(s, in, &steps, &ends);
    out->out_valid = s->has_step;
    out->in_ready[0] = !s->has_row || (ends && moves);
    out->in_ready[1] = s->has_row && s->left > 0 && moves;
}

static void walk_clock(struct sq_flow_sim *s, const struct sq_flow_beat *in, bool out_ready,
                       bool row_fire)
{
    const bool moves = !s->has_step || out_ready;
    bool steps, ends;
    walk_step(s, in, &steps, &ends);
    if (moves) {
        s->has_step = steps;
        if (steps && s->left > 0) {
            s->left--;
            s->at++;
        }
        if (ends) {
            s->has_row = false;
            s->has_start = s->has_start && !s->row_last;
        }
    }
    if (row_fire && !s->has_start) {
        s->has_start = !in[0].last;
        s->at = in[0].n;
    } else if (row_fire) {
        s->has_row = true;
        s->row_last = in[0].last;
        s->left = in[0].n > s->at ? in[0].n - s->at : 0;
    }
}

// ---- STORE ----------------------------------------------------------------------------------

// What passes between the parts in a cycle.
struct store_wires {
    struct sq_stream_out mask, array;
    bool write, give; // a beat enters the store; leaves it
    bool array_in;    // the array is offered a beat
};

static struct store_wires store_wires(const struct sq_flow_sim *s, const struct sq_flow_beat *in,
                                      bool out_ready)
{
    struct store_wires w = {0};
    const bool has_place = sq_store_has_place(&s->store), has_beat = sq_store_has_beat(&s->store);
    if (!s->has_units) {
        w.write = in[0].valid && has_place;
        w.give = has_beat && out_ready;
        return w;
    }
    sq_mask_comb(&s->mask, has_place, &w.mask);
    sq_stream_comb(&s->array, out_ready, &w.array);
    w.write = w.mask.out_valid && has_place;
    w.array_in = has_beat && in[1].valid;
    w.give = w.array_in && w.array.in_ready;
    return w;
}

static void store_comb(const struct sq_flow_sim *s, const struct sq_flow_beat *in, bool out_ready,
                       struct sq_flow_out *out)
{
    const struct store_wires w = store_wires(s, in, out_ready);
    const bool has_beat = sq_store_has_beat(&s->store);
    out->in_ready[0] = s->has_units ? w.mask.in_ready : sq_store_has_place(&s->store);
    out->in_ready[1] = s->has_units && has_beat && w.array.in_ready;
    out->out_valid = s->has_units ? w.array.out_valid : has_beat;
}

static void store_clock(struct sq_flow_sim *s, const struct sq_flow_beat *in, bool out_ready)
{
    const struct store_wires w = store_wires(s, in, out_ready);
    const bool has_place = sq_store_has_place(&s->store);
    if (!s->has_units) {
        sq_store_clock(&s->store, w.write, in[0].last, in[0].n, w.give);
        return;
    }
    // Downstream first: each takes what the one before it held before this edge.
    sq_stream_clock(&s->array, w.array_in, sq_store_ends_pass(&s->store), out_ready);
    sq_store_clock(&s->store, w.write, sq_mask_last(&s->mask), sq_mask_passes(&s->mask), w.give);
    sq_mask_clock(&s->mask, in[0].valid, in[0].last, in[0].n, has_place);
}

void sq_flow_store_units(struct sq_flow_sim *s, enum sq_stream_kind front, unsigned front_depth,
                         unsigned array_depth)
{
    s->has_units = true;
    sq_mask_init(&s->mask, front, front_depth, 1);
    sq_stream_sim_init(&s->array, SQ_STREAM_ARRAY, array_depth);
}

enum sq_flow_wait sq_flow_store_wait(const struct sq_flow_sim *s, const struct sq_flow_beat *in,
                                     bool out_ready)
{
    if (!sq_store_has_beat(&s->store))
        return SQ_FLOW_WAIT_MASK;
    return store_wires(s, in, out_ready).give ? SQ_FLOW_BUSY : SQ_FLOW_WAIT_OTHER;
}

// ---- CORE -----------------------------------------------------------------------------------

static struct sq_core_a_in core_in(const struct sq_flow_beat *in, bool out_ready)
{
    return (struct sq_core_a_in){.act_valid = in[0].valid,
                                 .act_last = in[0].last,
                                 .act_passes = in[0].n,
                                 .weight_valid = in[1].valid,
                                 .job_valid = in[2].valid,
                                 .job = in[2].job,
                                 .out_ready = out_ready};
}

static void core_comb(const struct sq_flow_sim *s, const struct sq_flow_beat *in, bool out_ready,
                      struct sq_flow_out *out)
{
    const struct sq_core_a_in core = core_in(in, out_ready);
    struct sq_core_a_out o;
    sq_core_a_comb(&s->core_a, &core, &o);
    *out = (struct sq_flow_out){{o.act_ready, o.weight_ready, o.job_ready}, o.out_valid};
}

static void core_clock(struct sq_flow_sim *s, const struct sq_flow_beat *in, bool out_ready)
{
    const struct sq_core_a_in core = core_in(in, out_ready);
    sq_core_a_clock(&s->core_a, &core);
}

// ---- all ------------------------------------------------------------------------------------

void sq_flow_comb(const struct sq_flow_sim *s, const struct sq_flow_beat *in, bool out_ready,
                  struct sq_flow_out *out)
{
    memset(out, 0, sizeof *out);
    switch (s->kind) {
    case SQ_FLOW_TILE:
        tile_comb(s, out_ready, out);
        return;
    case SQ_FLOW_PACK:
        pack_comb(s, out_ready, out);
        return;
    case SQ_FLOW_WALK:
        walk_comb(s, in, out_ready, out);
        return;
    case SQ_FLOW_STORE:
        store_comb(s, in, out_ready, out);
        return;
    case SQ_FLOW_CORE:
        core_comb(s, in, out_ready, out);
        return;
    }
}

void sq_flow_clock(struct sq_flow_sim *s, const struct sq_flow_beat *in, bool out_ready)
{
    struct sq_flow_out out;
    sq_flow_comb(s, in, out_ready, &out);
    const bool in_fire = in[0].valid && out.in_ready[0], out_fire = out.out_valid && out_ready;
    switch (s->kind) {
    case SQ_FLOW_TILE:
        tile_clock(s, in_fire, out_fire);
        return;
    case SQ_FLOW_PACK:
        pack_clock(s, &in[0], out_ready, out_fire);
        return;
    case SQ_FLOW_WALK:
        walk_clock(s, in, out_ready, in_fire);
        return;
    case SQ_FLOW_STORE:
        store_clock(s, in, out_ready);
        return;
    case SQ_FLOW_CORE:
        core_clock(s, in, out_ready);
        return;
    }
}
