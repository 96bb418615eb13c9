// SPDX-License-Identifier: Apache-2.0
#include "sim/block/sq_store_sim.h"

#include <assert.h>
#include <string.h>

bool sq_store_has_place(const struct sq_store_sim *s)
{
    return !s->full[s->in];
}

bool sq_store_has_beat(const struct sq_store_sim *s)
{
    return s->full[s->out];
}

bool sq_store_ends_pass(const struct sq_store_sim *s)
{
    return s->given + 1 == s->len[s->out];
}

static void give_beat(struct sq_store_sim *s)
{
    const bool ends = sq_store_ends_pass(s);
    s->given = ends ? 0 : s->given + 1;
    if (!ends || ++s->pass < s->passes[s->out])
        return;
    s->pass = 0;
    s->full[s->out] = false;
    s->out = !s->out;
}

static void write_beat(struct sq_store_sim *s, bool last, uint32_t passes)
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

void sq_store_clock(struct sq_store_sim *s, bool write, bool last, uint32_t passes, bool give)
{
    assert((!write || sq_store_has_place(s)) && (!give || sq_store_has_beat(s)));
    if (give)
        give_beat(s);
    if (write)
        write_beat(s, last, passes);
}

void sq_mask_init(struct sq_mask_sim *m, enum sq_stream_kind kind, unsigned depth, unsigned stages)
{
    memset(m, 0, sizeof *m);
    sq_stream_sim_init(&m->topk, kind, depth);
    sq_stream_sim_init(&m->stage, SQ_STREAM_PIPE, stages);
}

// What the parts offer each other in this cycle.
static void between(const struct sq_mask_sim *m, bool out_ready, struct sq_stream_out *topk,
                    struct sq_stream_out *stage)
{
    sq_stream_comb(&m->stage, out_ready, stage);
    sq_stream_comb(&m->topk, stage->in_ready, topk);
}

void sq_mask_comb(const struct sq_mask_sim *m, bool out_ready, struct sq_stream_out *out)
{
    struct sq_stream_out topk, stage;
    between(m, out_ready, &topk, &stage);
    *out = (struct sq_stream_out){topk.in_ready, stage.out_valid};
}

bool sq_mask_last(const struct sq_mask_sim *m)
{
    return m->stage.last[m->stage.depth - 1];
}

uint32_t sq_mask_passes(const struct sq_mask_sim *m)
{
    return m->passes[0];
}

void sq_mask_clock(struct sq_mask_sim *m, bool in_valid, bool in_last, uint32_t in_passes,
                   bool out_ready)
{
    const bool is_serial = m->topk.kind == SQ_STREAM_SERIAL;
    const bool last = is_serial ? m->topk.held_last : m->topk.last[m->topk.depth - 1];
    struct sq_stream_out topk, stage;
    between(m, out_ready, &topk, &stage);
    if (stage.out_valid && out_ready && sq_mask_last(m)) {
        assert(m->n_passes > 0);
        m->n_passes--;
        memmove(m->passes, m->passes + 1, m->n_passes * sizeof *m->passes);
    }
    // Downstream first: each takes what the one before it held before this edge.
    sq_stream_clock(&m->stage, topk.out_valid, last, out_ready);
    sq_stream_clock(&m->topk, in_valid, in_last, stage.in_ready);
    if (in_valid && topk.in_ready && in_last) {
        assert(m->n_passes < sizeof m->passes / sizeof *m->passes);
        m->passes[m->n_passes++] = in_passes;
    }
}
