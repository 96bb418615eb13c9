// SPDX-License-Identifier: Apache-2.0
// Evaluates the parts of a line: valid from the first to the last, ready from the last to the first
// (sq_line.h).
#include "sim/block/flow/sq_line.h"

#include <assert.h>

#include "sim/block/flow/sq_pipeline.h"

void sq_line_add(struct sq_line *l, const struct sq_line_part *part)
{
    assert(l->n < SQ_LINE_PARTS_MAX);
    l->part[l->n++] = *part;
}

// What stands between the parts in a cycle.
struct wires {
    struct sq_offer in[SQ_LINE_PARTS_MAX][SQ_STREAMS_MAX], out[SQ_LINE_PARTS_MAX];
    struct sq_handshake shake[SQ_LINE_PARTS_MAX];
    bool ready[SQ_LINE_PARTS_MAX]; // of what takes the output of each part
};

static const void *state_of(const struct sq_line *l, unsigned p)
{
    return (const char *)l + l->part[p].at;
}

static void offer_from_front(const struct sq_line *l, const struct sq_offer *in, struct wires *w)
{
    for (unsigned p = 0; p < l->n; p++) {
        const struct sq_line_part *const part = &l->part[p];
        struct sq_handshake shake = {.out_valid = false};
        for (unsigned s = 0; s < part->n_in; s++) {
            const unsigned from = part->from[s];
            assert(from < SQ_LINE_FRONT + p);
            w->in[p][s] = from < SQ_LINE_FRONT ? in[from] : w->out[from - SQ_LINE_FRONT];
        }
        for (unsigned s = part->n_in; s < SQ_STREAMS_MAX; s++)
            w->in[p][s].valid = false;
        part->timing->comb(state_of(l, p), w->in[p], false, &shake);
        w->out[p] = (struct sq_offer){.valid = false};
        if (shake.out_valid && part->show)
            part->show(state_of(l, p), &w->out[p]);
        w->out[p].valid = shake.out_valid;
        w->ready[p] = false;
    }
}

static void answer_from_back(const struct sq_line *l, bool out_ready, struct wires *w)
{
    w->ready[l->n - 1] = out_ready;
    for (unsigned p = l->n; p-- > 0;) {
        const struct sq_line_part *const part = &l->part[p];
        w->shake[p] = (struct sq_handshake){.out_valid = false};
        part->timing->comb(state_of(l, p), w->in[p], w->ready[p], &w->shake[p]);
        for (unsigned s = 0; s < part->n_in; s++)
            if (part->from[s] >= SQ_LINE_FRONT)
                w->ready[part->from[s] - SQ_LINE_FRONT] = w->shake[p].in_ready[s];
    }
}

static struct wires wires_of(const struct sq_line *l, const struct sq_offer *in, bool out_ready)
{
    struct wires w;
    offer_from_front(l, in, &w);
    answer_from_back(l, out_ready, &w);
    return w;
}

static void answer(const struct sq_line *l, const struct wires *w, struct sq_handshake *out)
{
    *out = (struct sq_handshake){.out_valid = w->shake[l->n - 1].out_valid};
    for (unsigned p = 0; p < l->n; p++)
        for (unsigned s = 0; s < l->part[p].n_in; s++)
            if (l->part[p].from[s] < SQ_LINE_FRONT)
                out->in_ready[l->part[p].from[s]] = w->shake[p].in_ready[s];
}

static void edge(struct sq_line *l, const struct wires *w)
{
    for (unsigned p = 0; p < l->n; p++)
        l->part[p].timing->clock((char *)l + l->part[p].at, w->in[p], w->ready[p]);
}

void sq_line_comb(const void *state, const struct sq_offer *in, bool out_ready,
                  struct sq_handshake *out)
{
    const struct wires w = wires_of(state, in, out_ready);
    answer(state, &w, out);
}

void sq_line_clock(void *state, const struct sq_offer *in, bool out_ready)
{
    const struct wires w = wires_of(state, in, out_ready);
    edge(state, &w);
}

struct sq_line_seen sq_line_see(const void *state, const struct sq_offer *in, bool out_ready,
                                unsigned p)
{
    const struct wires w = wires_of(state, in, out_ready);
    return (struct sq_line_seen){w.out[p], w.ready[p]};
}

void sq_line_show_chain(const void *state, struct sq_offer *out)
{
    const struct sq_chain *const c = state;
    out->last = sq_pipeline_last(&c->back);
}
