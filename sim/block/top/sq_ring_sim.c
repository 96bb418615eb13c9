// SPDX-License-Identifier: Apache-2.0
// Steps the ring of descriptors in front of the sequencer (sq_top_sim.h).
#include "sim/block/top/sq_top_sim.h"

#include "sim/block/top/sq_regs.h"

static uint32_t next_head(const struct sq_ring_sim *s, uint32_t size)
{
    return s->head + 1 == size ? 0 : s->head + 1;
}

static bool cuts(const struct sq_ring_sim *s, const struct sq_ring_in *in)
{
    return s->state == SQ_RING_LAYER && !in->layer_done &&
           (s->abort || (in->watchdog > 0 && s->watch >= in->watchdog - 1));
}

uint64_t sq_ring_record_at(const struct sq_ring_sim *s, uint64_t base)
{
    return base + s->head * SQ_SLOT_NBYTES + 4 * SQ_DESC_WORDS;
}

struct sq_ring_out sq_ring_out(const struct sq_ring_sim *s, const struct sq_ring_in *in)
{
    const bool cut = cuts(s, in), is_written = s->state == SQ_RING_ANSWER && in->write_done;
    const bool layer_ends =
        (s->state == SQ_RING_LAYER && in->layer_done) || s->state == SQ_RING_CLEAR;
    const bool goes_on = s->from_ring && next_head(s, in->size) != in->tail && !s->abort;
    struct sq_ring_out out = {.begin = s->state == SQ_RING_IDLE && (in->start || in->has_ring),
                              .end = (layer_ends && !s->from_ring) || is_written,
                              .aborted = cut && s->abort,
                              .expired = cut && !s->abort,
                              .descriptor =
                                  in->start ? in->descriptor : in->base + s->head * SQ_SLOT_NBYTES};
    out.done = out.end && !goes_on;
    out.notice = out.done || (out.end && !s->is_cut && in->wants_notice);
    return out;
}

void sq_ring_clock(struct sq_ring_sim *s, const struct sq_ring_in *in)
{
    const struct sq_ring_out out = sq_ring_out(s, in);
    const bool cut = cuts(s, in);
    s->abort = (s->abort || in->abort) && !out.done;
    switch (s->state) {
    case SQ_RING_IDLE:
        if (!out.begin)
            break;
        s->state = SQ_RING_LAYER;
        s->from_ring = !in->start;
        s->is_cut = false;
        s->watch = 0;
        break;
    case SQ_RING_LAYER:
        s->watch++;
        s->is_cut = cut;
        if (in->layer_done)
            s->state = s->from_ring ? SQ_RING_RECORD : SQ_RING_IDLE;
        else if (cut)
            s->state = SQ_RING_DRAIN;
        break;
    case SQ_RING_DRAIN:
        s->state = in->dma_idle ? SQ_RING_CLEAR : SQ_RING_DRAIN;
        break;
    case SQ_RING_CLEAR:
        s->state = s->from_ring ? SQ_RING_RECORD : SQ_RING_IDLE;
        break;
    case SQ_RING_RECORD:
        s->beat = 0;
        s->state = in->dma_ready ? SQ_RING_WRITE : SQ_RING_RECORD;
        break;
    case SQ_RING_WRITE:
        s->beat += in->word_ready;
        s->state = s->beat == in->beats ? SQ_RING_ANSWER : SQ_RING_WRITE;
        break;
    case SQ_RING_ANSWER:
        if (!in->write_done)
            break;
        s->state = SQ_RING_IDLE;
        s->head = next_head(s, in->size);
        break;
    }
    if (in->rewind)
        s->head = 0;
}
