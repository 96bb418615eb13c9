// SPDX-License-Identifier: Apache-2.0
// Reads, writes and compares the fields of a suite (sq_vectors.h).
#include "sim/format/sq_vectors.h"

#include <stdlib.h>
#include <string.h>

uint32_t sq_vector_get(const struct sq_vector_field *f, size_t at, size_t i)
{
    const uint8_t *p = f->data + (at * f->count + i) * sq_dtype_nbytes(f->dtype);
    return f->dtype == SQ_U8
               ? p[0]
               : (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void sq_vector_put(struct sq_vector_field *f, size_t at, size_t i, uint32_t bits)
{
    uint8_t *p = f->data + (at * f->count + i) * sq_dtype_nbytes(f->dtype);
    for (size_t b = 0; b < sq_dtype_nbytes(f->dtype); b++)
        p[b] = (uint8_t)(bits >> 8 * b);
}

static bool is_nan(uint32_t bits)
{
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

bool sq_vector_same(const struct sq_vector_field *f, uint32_t a, uint32_t b)
{
    return a == b || (f->dtype == SQ_F32 && is_nan(a) && is_nan(b));
}

void sq_vectors_free(struct sq_vectors *v)
{
    for (size_t r = 0; r < v->n_rules; r++)
        for (size_t f = 0; f < v->rule[r].n_fields; f++)
            free(v->rule[r].field[f].data);
    memset(v, 0, sizeof *v);
}
