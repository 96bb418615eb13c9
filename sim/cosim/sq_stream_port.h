// SPDX-License-Identifier: Apache-2.0
// One side of a block of sq_stream_block.h, between beats of integers and the packed words that its
// RTL has on its ports.
#ifndef SQ_STREAM_PORT_H
#define SQ_STREAM_PORT_H

#include "sim/block/sq_stream_block.h"

struct sq_stream_port {
    const struct sq_field *field; // of the caller
    size_t n_fields;
    uint32_t *word[SQ_FIELDS_MAX]; // owned
};

// False without memory; sq_port_free is right either way, and on a zero port.
bool sq_port_alloc(struct sq_stream_port *p, const struct sq_field *field, size_t n_fields);
void sq_port_free(struct sq_stream_port *p);

// `beat` into n fields from `first` on.
void sq_port_put(struct sq_stream_port *p, size_t first, size_t n, const int32_t *beat);

struct sq_port_difference {
    size_t field, element;
    int32_t got, want;
};
// False: all fields hold `want`. Else the first that does not is in *d.
bool sq_port_differs(const struct sq_stream_port *p, const int32_t *want,
                     struct sq_port_difference *d);

#endif
