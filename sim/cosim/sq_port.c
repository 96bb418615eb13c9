// SPDX-License-Identifier: Apache-2.0
// Packs integers into the words of a port, and takes them out again (sq_port.h).
#include "sim/cosim/sq_port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"

struct sq_pin sq_pin(const struct sq_port *stream, const char *signal, char side)
{
    struct sq_pin pin;
    if (strncmp(stream->name, "m_axi_", 6) == 0 || strncmp(stream->name, "s_axil_", 7) == 0)
        snprintf(pin.text, sizeof pin.text, "%.20s%.20s", stream->name, signal);
    else
        snprintf(pin.text, sizeof pin.text, "%.20s_%.20s_%c", stream->name, signal, side);
    return pin;
}

// Ors `width` (1..32) bits of value into the words at a bit position; the field is still zero.
static void put_field(uint32_t *words, size_t bit, unsigned width, uint32_t value)
{
    const uint32_t field = value & (UINT32_MAX >> (32 - width));
    words[bit / 32] |= field << (bit % 32);
    if (bit % 32 + width > 32)
        words[bit / 32 + 1] |= field >> (32 - bit % 32);
}

int32_t sq_beat_field(const uint32_t *words, size_t i, unsigned width)
{
    const size_t bit = i * width;
    const uint64_t two = (uint64_t)words[bit / 32 + 1] << 32 | words[bit / 32];
    const uint32_t field = (uint32_t)(two >> (bit % 32));
    return width == 32 ? (int32_t)field : sq_sign_extend(field, width);
}

static size_t words(const struct sq_field *f)
{
    return sq_beat_words(f->count * f->width);
}

bool sq_port_alloc(struct sq_port_words *p, const struct sq_field *field, size_t n_fields)
{
    bool ok = true;
    *p = (struct sq_port_words){.field = field, .n_fields = n_fields};
    for (size_t f = 0; f < n_fields; f++)
        ok = (p->word[f] = calloc(words(&field[f]), sizeof *p->word[f])) && ok;
    return ok;
}

void sq_port_free(struct sq_port_words *p)
{
    for (size_t f = 0; f < p->n_fields; f++)
        free(p->word[f]);
    *p = (struct sq_port_words){0};
}

void sq_port_put(struct sq_port_words *p, size_t first, size_t n, const int32_t *beat)
{
    for (size_t f = first; f < first + n; f++) {
        const struct sq_field *field = &p->field[f];
        if (field->width == 32) {
            memcpy(p->word[f], beat, field->count * sizeof *beat);
            beat += field->count;
            continue;
        }
        memset(p->word[f], 0, words(field) * sizeof *p->word[f]);
        for (size_t i = 0; i < field->count; i++)
            put_field(p->word[f], i * field->width, field->width, (uint32_t)*beat++);
    }
}

void sq_port_put_noise(struct sq_port_words *p, size_t first, size_t n, struct sq_rng *noise)
{
    for (size_t f = first; f < first + n; f++) {
        const size_t bits = p->field[f].count * p->field[f].width;
        memset(p->word[f], 0, words(&p->field[f]) * sizeof *p->word[f]);
        for (size_t bit = 0; bit < bits; bit += 32)
            put_field(p->word[f], bit, bits - bit < 32 ? (unsigned)(bits - bit) : 32,
                      (uint32_t)sq_rng_next(noise));
    }
}

static int32_t element(const struct sq_port_words *p, size_t f, size_t i)
{
    const struct sq_field *field = &p->field[f];
    const int32_t v = sq_beat_field(p->word[f], i, field->width);
    return field->is_unsigned ? sq_field_unsigned((uint32_t)v, field->width) : v;
}

void sq_port_get(const struct sq_port_words *p, int32_t *beat)
{
    for (size_t f = 0; f < p->n_fields; f++)
        for (size_t i = 0; i < p->field[f].count; i++)
            *beat++ = element(p, f, i);
}

bool sq_port_same(const struct sq_port_words *p, const struct sq_port_words *q)
{
    for (size_t f = 0; f < p->n_fields; f++)
        if (memcmp(p->word[f], q->word[f], words(&p->field[f]) * sizeof *p->word[f]) != 0)
            return false;
    return true;
}

bool sq_port_differs(const struct sq_port_words *p, const int32_t *want,
                     struct sq_port_difference *d)
{
    for (size_t f = 0; f < p->n_fields; f++)
        for (size_t i = 0; i < p->field[f].count; i++, want++)
            if (element(p, f, i) != *want) {
                *d = (struct sq_port_difference){f, i, element(p, f, i), *want};
                return true;
            }
    return false;
}
