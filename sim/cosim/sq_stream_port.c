// SPDX-License-Identifier: Apache-2.0
#include "sim/cosim/sq_stream_port.h"

#include <stdlib.h>
#include <string.h>

#include "sim/cosim/sq_beat.h"

static size_t words(const struct sq_field *f)
{
    return sq_beat_words(f->count * f->width);
}

bool sq_port_alloc(struct sq_stream_port *p, const struct sq_field *field, size_t n_fields)
{
    bool ok = true;
    *p = (struct sq_stream_port){.field = field, .n_fields = n_fields};
    for (size_t f = 0; f < n_fields; f++)
        ok = (p->word[f] = calloc(words(&field[f]), sizeof *p->word[f])) && ok;
    return ok;
}

void sq_port_free(struct sq_stream_port *p)
{
    for (size_t f = 0; f < p->n_fields; f++)
        free(p->word[f]);
    *p = (struct sq_stream_port){0};
}

void sq_port_put(struct sq_stream_port *p, size_t first, size_t n, const int32_t *beat)
{
    for (size_t f = first; f < first + n; f++) {
        const struct sq_field *field = &p->field[f];
        memset(p->word[f], 0, words(field) * sizeof *p->word[f]);
        for (size_t i = 0; i < field->count; i++)
            sq_beat_put(p->word[f], i * field->width, field->width, (uint32_t)*beat++);
    }
}

bool sq_port_differs(const struct sq_stream_port *p, const int32_t *want,
                     struct sq_port_difference *d)
{
    for (size_t f = 0; f < p->n_fields; f++)
        for (size_t i = 0; i < p->field[f].count; i++, want++) {
            int32_t got = sq_beat_field(p->word[f], i, p->field[f].width);
            if (p->field[f].is_unsigned)
                got = sq_field_unsigned((uint32_t)got, p->field[f].width);
            if (got != *want) {
                *d = (struct sq_port_difference){f, i, got, *want};
                return true;
            }
        }
    return false;
}
