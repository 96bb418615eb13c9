// SPDX-License-Identifier: Apache-2.0
// Steps an activation buffer and the mask units in front of it (sq_buffer_sim.h).
#include "sim/block/array/sq_buffer_sim.h"

#include <assert.h>
#include <string.h>

bool sq_buffer_has_place(const struct sq_buffer_sim *s)
{
    return !s->full[s->in];
}

bool sq_buffer_has_beat(const struct sq_buffer_sim *s)
{
    return s->full[s->out];
}

static void give_beat(struct sq_buffer_sim *s)
{
    const bool ends = s->given + 1 == s->len[s->out]; // the beat on offer is the last of its pass
    s->given = ends ? 0 : s->given + 1;
    if (!ends || ++s->pass < s->passes[s->out])
        return;
    s->pass = 0;
    s->full[s->out] = false;
    s->out = !s->out;
}

static void write_beat(struct sq_buffer_sim *s, bool last, uint32_t passes)
{
    s->written++;
    if (!last)
        return;
    s->full[s->in] = true;
    s->len[s->in] = s->written;
    s->passes[s->in] = passes;
    s->written = 0;
    s->in = !s->in;
}

void sq_buffer_clock(struct sq_buffer_sim *s, bool write, bool last, uint32_t passes, bool give)
{
    assert((!write || sq_buffer_has_place(s)) && (!give || sq_buffer_has_beat(s)));
    if (give)
        give_beat(s);
    if (write)
        write_beat(s, last, passes);
}

uint32_t sq_buffer_draw_tile(struct sq_rng *rng, enum sq_stimulus kind, uint32_t depth,
                             uint32_t passes_max, uint32_t *passes)
{
    *passes = 1 + sq_rng_below(rng, kind == SQ_STIMULUS_FEW ? 1 : passes_max);
    return kind == SQ_STIMULUS_EXTREME ? depth : 1 + sq_rng_below(rng, depth);
}

void sq_mask_init(struct sq_mask_sim *m, enum sq_pipeline_kind kind, unsigned depth,
                  unsigned stages)
{
    memset(m, 0, sizeof *m);
    sq_pipeline_init(&m->topk, kind, depth);
    sq_pipeline_init(&m->stage, SQ_TIMING_PIPE, stages);
}

// What the parts offer each other in this cycle.
static void between(const struct sq_mask_sim *m, bool out_ready, struct sq_pipeline_out *topk,
                    struct sq_pipeline_out *stage)
{
    sq_pipeline_comb(&m->stage, out_ready, stage);
    sq_pipeline_comb(&m->topk, stage->in_ready, topk);
}

void sq_mask_comb(const struct sq_mask_sim *m, bool out_ready, struct sq_pipeline_out *out)
{
    struct sq_pipeline_out topk, stage;
    between(m, out_ready, &topk, &stage);
    *out = (struct sq_pipeline_out){topk.in_ready, stage.out_valid};
}

bool sq_mask_last(const struct sq_mask_sim *m)
{
    return sq_pipeline_last(&m->stage);
}

uint32_t sq_mask_passes(const struct sq_mask_sim *m)
{
    return m->passes[0];
}

void sq_mask_clock(struct sq_mask_sim *m, bool in_valid, bool in_last, uint32_t in_passes,
                   bool out_ready)
{
    const bool last = sq_pipeline_last(&m->topk);
    struct sq_pipeline_out topk, stage;
    between(m, out_ready, &topk, &stage);
    if (stage.out_valid && out_ready && sq_mask_last(m)) {
        assert(m->n_passes > 0);
        m->n_passes--;
        memmove(m->passes, m->passes + 1, m->n_passes * sizeof *m->passes);
    }
    // Downstream first: each takes what the one before it held before this edge.
    sq_pipeline_clock(&m->stage, topk.out_valid, last, out_ready);
    sq_pipeline_clock(&m->topk, in_valid, in_last, stage.in_ready);
    if (in_valid && topk.in_ready && in_last) {
        assert(m->n_passes < sizeof m->passes / sizeof *m->passes);
        m->passes[m->n_passes++] = in_passes;
    }
}
