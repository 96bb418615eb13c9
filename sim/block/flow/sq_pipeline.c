// SPDX-License-Identifier: Apache-2.0
// Steps the shared pipelines, alone and two in a row (sq_pipeline.h).
#include "sim/block/flow/sq_pipeline.h"

#include <assert.h>
#include <string.h>

#include "models/core/sq_topk.h"

void sq_pipeline_init(struct sq_pipeline *s, enum sq_pipeline_kind kind, unsigned depth)
{
    assert(depth >= 1 && depth <= SQ_PIPELINE_DEPTH_MAX);
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->depth = depth;
}

void sq_topk_pipeline(struct sq_pipeline *s, unsigned arch, unsigned magnitude_bits)
{
    assert(arch != SQ_TOPK_TREE);
    if (arch == SQ_TOPK_RANK)
        sq_pipeline_init(s, SQ_TIMING_PIPE, 2);
    else
        sq_pipeline_init(s, SQ_TIMING_SERIAL, magnitude_bits);
}

void sq_topk_tree_pipeline(struct sq_pipeline *s, unsigned k)
{
    sq_pipeline_init(s, SQ_TIMING_PIPE, k);
}

void sq_pipeline_clock_serial(struct sq_pipeline *s, bool in_valid, bool in_last, bool out_ready)
{
    struct sq_pipeline_out out;
    sq_pipeline_comb(s, out_ready, &out);
    if (in_valid && out.in_ready) {
        s->is_busy = true;
        s->step = 0;
        s->held_last = in_last;
    } else if (out.out_valid && out_ready) {
        s->is_busy = false;
    } else if (s->is_busy && s->step < s->depth) {
        s->step++;
    }
}

// ---- two in a row ---------------------------------------------------------------------------

// What the front offers the back in this cycle.
static void between(const struct sq_chain *c, bool out_ready, struct sq_pipeline_out *front,
                    struct sq_pipeline_out *back)
{
    sq_pipeline_comb(&c->back, out_ready, back);
    sq_pipeline_comb(&c->front, back->in_ready, front);
}

void sq_chain_comb(const struct sq_chain *c, bool out_ready, struct sq_pipeline_out *out)
{
    struct sq_pipeline_out front, back;
    if (!c->has_front) {
        sq_pipeline_comb(&c->back, out_ready, out);
        return;
    }
    between(c, out_ready, &front, &back);
    *out = (struct sq_pipeline_out){front.in_ready, back.out_valid};
}

void sq_chain_clock(struct sq_chain *c, bool in_valid, bool in_last, bool out_ready)
{
    struct sq_pipeline_out front, back;
    if (!c->has_front) {
        sq_pipeline_clock(&c->back, in_valid, in_last, out_ready);
        return;
    }
    between(c, out_ready, &front, &back);
    sq_pipeline_clock(&c->back, front.out_valid, sq_pipeline_last(&c->front), out_ready);
    sq_pipeline_clock(&c->front, in_valid, in_last, back.in_ready);
}

static void block_comb(const void *state, const struct sq_offer *in, bool out_ready,
                       struct sq_handshake *out)
{
    struct sq_pipeline_out o;
    (void)in;
    sq_chain_comb(state, out_ready, &o);
    out->in_ready[0] = o.in_ready;
    out->out_valid = o.out_valid;
}

static void block_clock(void *state, const struct sq_offer *in, bool out_ready)
{
    sq_chain_clock(state, in[0].valid, in[0].last, out_ready);
}

const struct sq_timing sq_timing_chain = {sizeof(struct sq_chain), block_comb, block_clock};
