// SPDX-License-Identifier: Apache-2.0
// An input stream of a case with the number of its next beat: what a run in lock step puts on the
// ports of the block.
#pragma once

#include "sim/block/flow/sq_case.h"
#include "sim/cosim/sq_port.h"

struct sq_feed {
    const struct sq_case *c;
    const struct sq_ports *ports;
    unsigned stream;
    struct sq_source source;
    size_t first_field, n_fields, in_len, offset; // of a record
    size_t group, record;                         // group, its first record
    uint32_t beat;
    bool is_fresh;         // the offered beat is on the ports
    struct sq_offer offer; // of that beat
};

// Streams of the case, at its first beats; returns how many there are.
unsigned sq_feed_init(struct sq_feed feed[SQ_STREAMS_MAX], const struct sq_case *c,
                      const struct sq_ports *ports);
// To the first beat of group `from` or one behind it; `record` is that group's first.
void sq_feed_seek(struct sq_feed *f, size_t from, size_t record);
// What stands on the ports in this cycle: the beat offered, or noise, another one in each cycle.
void sq_feed_drive(struct sq_feed *f, bool is_valid, struct sq_port_words *in, struct sq_rng *noise,
                   struct sq_offer *offer);
// The beat was taken.
void sq_feed_take(struct sq_feed *f);
