// SPDX-License-Identifier: Apache-2.0
// Data ports of a block, between beats of integers (sim/block/flow/sq_block.h) and the packed words that
// its RTL has: fields of any width from bit 0 of word 0 on.
#pragma once

#include "sim/block/flow/sq_block.h"

// Words for a port of `bits` bits, with room for what 64-bit ports and unaligned fields touch.
static inline size_t sq_beat_words(size_t bits)
{
    return (bits + 31) / 32 + 2;
}

// The port of the RTL that has a signal ("valid", "ready", a field) of a stream; side 'i' or 'o'.
struct sq_pin {
    char text[48];
};
struct sq_pin sq_pin(const struct sq_port *stream, const char *signal, char side);

// Field i of width `width` (1..32), as a signed integer.
int32_t sq_beat_field(const uint32_t *words, size_t i, unsigned width);

struct sq_port_words {
    const struct sq_field *field; // of the caller
    size_t n_fields;
    uint32_t *word[SQ_FIELDS_MAX]; // owned
};

// False without memory; sq_port_free is right either way, and on a zero port.
bool sq_port_alloc(struct sq_port_words *p, const struct sq_field *field, size_t n_fields);
void sq_port_free(struct sq_port_words *p);

// `beat`, or noise without one, into n fields from `first` on.
void sq_port_put(struct sq_port_words *p, size_t first, size_t n, const int32_t *beat);
void sq_port_put_noise(struct sq_port_words *p, size_t first, size_t n, struct sq_rng *noise);

// All fields as integers, one after the other.
void sq_port_get(const struct sq_port_words *p, int32_t *beat);

// Whether two ports of the same fields hold the same bits.
bool sq_port_same(const struct sq_port_words *p, const struct sq_port_words *q);

struct sq_port_difference {
    size_t field, element;
    int32_t got, want;
};
// False: all fields hold `want`. Else the first that does not is in *d.
bool sq_port_differs(const struct sq_port_words *p, const int32_t *want,
                     struct sq_port_difference *d);
