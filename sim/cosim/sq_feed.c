// SPDX-License-Identifier: Apache-2.0
// Puts the beats of a stream on the ports of a block, one after the other (sq_feed.h).
#include "sim/cosim/sq_feed.h"

#include <assert.h>

// The record that is offered.
static const int32_t *offered(const struct sq_feed *f)
{
    const uint32_t wrap = f->c->wrap[f->stream];
    const uint32_t beat = wrap > 0 ? f->beat % wrap : f->beat;
    return f->c->beats + (f->record + beat) * f->in_len;
}

// Groups of which the stream has no beat.
static void pass_empty(struct sq_feed *f)
{
    while (f->group < f->c->n_groups && f->c->len[f->group][f->stream] == 0)
        f->record += sq_case_records(f->c, f->group++);
}

void sq_feed_take(struct sq_feed *f)
{
    f->is_fresh = false;
    if (++f->beat < f->c->len[f->group][f->stream])
        return;
    f->record += sq_case_records(f->c, f->group++);
    pass_empty(f);
    f->beat = 0;
}

void sq_feed_drive(struct sq_feed *f, bool is_valid, struct sq_port_words *in, struct sq_rng *noise,
                   struct sq_offer *offer)
{
    *offer = (struct sq_offer){.valid = false};
    if (!is_valid) {
        sq_port_put_noise(in, f->first_field, f->n_fields, noise);
        return;
    }
    if (!f->is_fresh) {
        const int32_t *record = offered(f);
        sq_port_put(in, f->first_field, f->n_fields, record + f->offset);
        f->offer = sq_offer_of(f->c->block, f->ports, f->c->point->value, f->stream, record);
    }
    f->is_fresh = true;
    *offer = f->offer;
}

void sq_feed_seek(struct sq_feed *f, size_t from, size_t record)
{
    f->group = from;
    f->record = record;
    f->beat = 0;
    f->is_fresh = false;
    f->source.left = 0;
    for (size_t g = from; g < f->c->n_groups; g++)
        f->source.left += f->c->len[g][f->stream];
    pass_empty(f);
}

unsigned sq_feed_init(struct sq_feed feed[SQ_STREAMS_MAX], const struct sq_case *c,
                      const struct sq_ports *ports)
{
    size_t field = 0;
    unsigned n = 0;
    for (; n < SQ_STREAMS_MAX && ports->stream[n].n_fields > 0; n++) {
        feed[n] = (struct sq_feed){.c = c,
                                   .ports = ports,
                                   .stream = n,
                                   .first_field = field,
                                   .n_fields = ports->stream[n].n_fields,
                                   .in_len = sq_field_offset(ports->in, ports->n_in),
                                   .offset = sq_field_offset(ports->in, field)};
        field += feed[n].n_fields;
        sq_source_init(&feed[n].source, &c->stall[n], c->stall_seed[n]);
        sq_feed_seek(&feed[n], 0, 0);
    }
    assert(field == ports->n_in);
    return n;
}
