// SPDX-License-Identifier: Apache-2.0
// Cuts a matrix of kept groups into blocks of channels, and puts it into their beats (sq_chip_indexed.h).
#include "sim/format/top/sq_chip_indexed.h"

#include <string.h>

#include "sim/io/sq_checked.h"

enum { ROWS, COLS };
// Beats of weights of a chunk where blocks are not kept: the engine begins when the first one is there. Cycles of a
// job beside its beats.
enum { CHUNK = 128, JOB_CYCLES = 16 };

// Kept groups of channels up to `row`.
static uint64_t before(const struct sq_chip_kept *k, uint64_t row)
{
    return k->at ? (uint64_t)(k->at[row * k->stride] - k->at[0]) : row * k->each;
}

// The most of a block of so many channels; one at least, so that there is something to load.
static uint64_t most_of(const struct sq_chip_kept *k, uint64_t block)
{
    uint64_t most = 1;
    for (uint64_t row = 0; row < k->n; row += block)
        most = sq_larger(most, before(k, sq_smaller(row + block, k->n)) - before(k, row));
    return most;
}

// As few blocks of columns as there may be, of at most so many beats of weights; false: a channel has more.
static bool set_blocks(const unsigned *v, const struct sq_chip_kept *k, uint64_t most,
                       struct sq_top_layer *l)
{
    const uint64_t depth = v[SQ_TOP_DEPTH + SQ_TOP_COL_SCALE];
    for (uint64_t n = sq_ceil_div(k->n, depth);; n++) {
        const uint64_t block = sq_ceil_div(k->n, n), groups = most_of(k, block);
        l->block[ROWS] = 1;
        l->block[COLS] = (uint32_t)block;
        l->groups = (uint32_t)groups;
        if (groups <= most || block == 1)
            return groups <= most;
    }
}

// Beats of the bus or cycles of the engine, whichever are more.
static uint64_t cost_of(const unsigned *v, const struct sq_top_layer *l)
{
    const uint64_t blocks = sq_top_col_blocks(l), rows = l->tiles[ROWS];
    const bool keeps_acts = !l->cols_outer || rows == 1;
    const bool keeps_weights = sq_block_walk_is_whole(l) && (l->cols_outer || blocks == 1);
    const uint64_t acts = sq_top_nbytes(v, l, SQ_TOP_ACT) * (keeps_acts ? 1 : blocks);
    const uint64_t weights = sq_top_nbytes(v, l, SQ_TOP_WEIGHT) * (keeps_weights ? 1 : rows);
    return sq_larger((acts + weights) / (v[SQ_TOP_DATA_W] / 8),
                     rows * blocks * (l->beats + l->groups + JOB_CYCLES));
}

enum sq_status sq_chip_indexed_plan(const unsigned *v, const struct sq_chip_kept *k,
                                    struct sq_top_layer *l, struct sq_error *err)
{
    const uint64_t depth = v[SQ_TOP_DEPTH + SQ_TOP_WEIGHT];
    struct sq_top_layer whole = *l;
    if (l->beats > v[SQ_TOP_DEPTH + SQ_TOP_ACT])
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "K of %u groups of %u: need at most %u, what half of buffers.activation "
                       "holds, on the chip",
                       l->beats, v[SQ_TOP_BANK_LEN], v[SQ_TOP_DEPTH + SQ_TOP_ACT]);
    l->is_indexed = true;
    l->cols_outer = false;
    (void)set_blocks(v, k, UINT16_MAX, l); // of a channel no more than beats of K
    l->chunk = (uint32_t)sq_smaller(l->groups, sq_smaller(depth, CHUNK));
    if (l->tiles[ROWS] == 1)
        return SQ_OK;
    whole.is_indexed = whole.cols_outer = true;
    if (!set_blocks(v, k, depth, &whole))
        return SQ_OK;
    whole.chunk = whole.groups;
    if (cost_of(v, &whole) < cost_of(v, l))
        *l = whole;
    return SQ_OK;
}

// ---- operands ---------------------------------------------------------------------------------------

// One of each tile of rows, or as many as it has beats.
static void put_rows(const struct sq_route_work *w, size_t records, const char *field,
                     const struct sq_top_layer *l, uint32_t n, unsigned len, int32_t *to)
{
    for (uint32_t i = 0; i < l->tiles[ROWS] * n; i++)
        memcpy(to + (size_t)i * len,
               w->stream->beats + ((size_t)(i / n) * records + i % n) * w->len +
                   sq_route_field(w, field),
               len * sizeof *to);
}

enum sq_status sq_chip_indexed_operands(const struct sq_route_work *w, size_t records,
                                        const struct sq_chip_kept *k, const unsigned *v,
                                        const struct sq_top_layer *l, struct sq_product *p,
                                        struct sq_top_operands *x, struct sq_error *err)
{
    const struct sq_top_shape s = sq_top_shape(v);
    const unsigned len = s.part[SQ_TOP_WEIGHT].len;
    for (unsigned part = 0; part < SQ_TOP_OPERANDS; part++)
        SQ_PRODUCT_KEEP(p, x->beat[part],
                        (size_t)sq_top_beats(v, l, (enum sq_top_part)part) * s.part[part].len);
    put_rows(w, records, "code", l, l->beats, s.part[SQ_TOP_ACT].len, x->beat[SQ_TOP_ACT]);
    put_rows(w, records, "s_a", l, 1, s.part[SQ_TOP_ROW_SCALE].len, x->beat[SQ_TOP_ROW_SCALE]);
    for (uint64_t row = 0; row < k->n; row++) {
        const uint64_t block = row / l->block[COLS], first = before(k, block * l->block[COLS]);
        const uint64_t end = before(k, row + 1) - first;
        x->beat[SQ_TOP_COL_SCALE][row] = (int32_t)end;
        for (uint64_t i = before(k, row) - first; i < end; i++)
            memcpy(x->beat[SQ_TOP_WEIGHT] + (block * l->groups + i) * len,
                   w->stream->beats + (first + i) * w->len + sq_route_field(w, "index"),
                   len * sizeof(int32_t));
    }
    return SQ_OK;
}
