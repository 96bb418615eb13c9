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
