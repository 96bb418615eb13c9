// SPDX-License-Identifier: Apache-2.0
// The list of blocks, and what their tables share.
#include "sim/block/flow/sq_block.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "models/core/sq_format.h"

#define ENTRY(name) &sq_##name##_block,
const struct sq_block *const sq_blocks[] = {SQ_BLOCKS(ENTRY)};
const size_t sq_n_blocks = SQ_LEN(sq_blocks);

const struct sq_area_unit *sq_area_unit(size_t i)
{
    for (size_t b = 0; b < sq_n_blocks; i -= sq_blocks[b++]->n_area)
        if (i < sq_blocks[b]->n_area)
            return &sq_blocks[b]->area[i];
    return NULL;
}

struct sq_ports sq_ports_of(const struct sq_block *block, const unsigned *value)
{
    struct sq_ports p;
    memset(&p, 0, sizeof p);
    block->ports(value, &p);
    p.records = p.records > 0 ? p.records : 1;
    p.outputs = p.outputs > 0 ? p.outputs : 1;
    return p;
}

size_t sq_field_offset(const struct sq_field *field, size_t f)
{
    size_t n = 0;
    for (size_t i = 0; i < f; i++)
        n += field[i].count;
    return n;
}

// The value of a parameter of the RTL; 0: there is none.
static unsigned parameter(const struct sq_block *block, const unsigned *value, const char *name)
{
    for (size_t i = 0; block->param[i]; i++)
        if (strcmp(block->param[i], name) == 0)
            return value[i];
    return 0;
}

void sq_element_place(const struct sq_block *block, const unsigned *value, size_t f, size_t i,
                      char text[48])
{
    const struct sq_ports ports = sq_ports_of(block, value);
    const size_t count = ports.out[f].count;
    const size_t cols = parameter(block, value, "Cols"), rows = parameter(block, value, "Rows");
    const size_t len = block->row_len ? block->row_len(value, f) : rows * cols == count ? cols : 0;
    text[0] = '\0';
    if (len > 0 && count > 1)
        snprintf(text, 48, ", row %zu, lane %zu", i / len, i % len);
    else if (count > 1)
        snprintf(text, 48, ", lane %zu", i);
}

struct sq_offer sq_offer_of(const struct sq_block *block, const struct sq_ports *ports,
                            const unsigned *value, unsigned stream, const int32_t *record)
{
    size_t f = 0;
    for (unsigned s = 0; s < stream; s++)
        f += ports->stream[s].n_fields;
    struct sq_offer o = {.valid = true,
                         .last = ports->has_last && record[0],
                         .beat = record + sq_field_offset(ports->in, f)};
    if (block->offer)
        block->offer(value, stream, record, &o);
    return o;
}

int32_t sq_draw_bits(struct sq_rng *rng, unsigned width, bool is_unsigned)
{
    const uint32_t v = (uint32_t)sq_rng_next(rng);
    return is_unsigned ? (int32_t)(v & ((1u << width) - 1u)) : sq_sign_extend(v, width);
}

int32_t sq_draw_code(struct sq_rng *rng, unsigned width, enum sq_stimulus kind)
{
    const int q = sq_qmax(width);
    if (kind == SQ_STIMULUS_ILLEGAL)
        return sq_draw_bits(rng, width, false);
    if (kind == SQ_STIMULUS_EXTREME)
        return sq_rng_below(rng, 2) ? q : -q;
    if (kind == SQ_STIMULUS_FEW)
        return (int)sq_rng_below(rng, 3) - 1;
    return (int)sq_rng_below(rng, (uint32_t)(2 * q + 1)) - q;
}

void sq_draw_codes(struct sq_rng *rng, unsigned width, enum sq_stimulus kind, size_t n, int32_t *x)
{
    const bool are_equal = sq_rng_below(rng, 8) == 0;
    for (size_t i = 0; i < n; i++)
        x[i] = are_equal && kind == SQ_STIMULUS_ILLEGAL ? sq_mask_code(width)
               : are_equal && i > 0                     ? x[0]
                                                        : sq_draw_code(rng, width, kind);
}
