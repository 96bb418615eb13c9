// SPDX-License-Identifier: Apache-2.0
#include "sim/block/top/sq_top_image.h"

#include <assert.h>
#include <string.h>

#include "sim/block/sq_engine.h"

enum { ROWS, COLS };

unsigned sq_top_out_bits(const unsigned *v)
{
    static const unsigned bits[] = {32, 16, 8};
    return bits[v[SQ_TOP_OUT_KIND]];
}

struct sq_top_room sq_top_room(const unsigned *v)
{
    return (struct sq_top_room){v[SQ_TOP_DEPTH], v[SQ_TOP_SUM_TILES], v[SQ_TOP_DATA_W] / 8};
}

struct sq_output_config sq_top_output(const unsigned *v)
{
    const unsigned stage[SQ_OUTPUT_PARAMS] = {
        v[SQ_TOP_PORT_LEN], SQ_COMBINE_ONE, v[SQ_TOP_OUT_KIND], v[SQ_TOP_PORT_LEN], 2, 1};
    return sq_output_config(v[SQ_TOP_ROWS], v[SQ_TOP_COLS], stage);
}

uint32_t sq_top_bits(const unsigned *v, enum sq_top_part part)
{
    const uint32_t rows = v[SQ_TOP_ROWS], cols = v[SQ_TOP_COLS], bank = v[SQ_TOP_BANK_LEN];
    const uint32_t bits[] = {rows * bank * v[SQ_TOP_ACT_W], rows * 32,
                             cols * bank * v[SQ_TOP_WEIGHT_W], cols * 32,
                             rows * cols * sq_top_out_bits(v)};
    return bits[part];
}

uint32_t sq_top_bus_beats(const unsigned *v, enum sq_top_part part)
{
    return (sq_top_bits(v, part) + v[SQ_TOP_DATA_W] - 1) / v[SQ_TOP_DATA_W];
}

uint32_t sq_top_beats(const struct sq_top_layer *l, enum sq_top_part part)
{
    const uint32_t tile = l->beats * l->groups;
    const uint32_t beats[] = {l->tiles[ROWS] * tile, l->tiles[ROWS], l->tiles[COLS] * tile,
                              l->tiles[COLS] * l->groups, l->tiles[ROWS] * l->tiles[COLS]};
    return beats[part];
}

uint32_t sq_top_nbytes(const unsigned *v, const struct sq_top_layer *l, enum sq_top_part part)
{
    return sq_top_beats(l, part) * sq_top_bus_beats(v, part) * (v[SQ_TOP_DATA_W] / 8);
}

void sq_top_put_bits(int32_t *word, uint32_t at, unsigned width, int32_t value)
{
    const uint64_t mask = (UINT64_C(1) << width) - 1, bits = (uint64_t)(uint32_t)value & mask;
    const unsigned low = at % 32;
    word[at / 32] =
        (int32_t)(((uint32_t)word[at / 32] & ~(uint32_t)(mask << low)) | (uint32_t)(bits << low));
    if (low + width > 32)
        word[at / 32 + 1] =
            (int32_t)(((uint32_t)word[at / 32 + 1] & ~(uint32_t)(mask >> (32 - low))) |
                      (uint32_t)(bits >> (32 - low)));
}

int32_t sq_top_get_bits(const int32_t *word, uint32_t at, unsigned width)
{
    uint64_t bits = (uint32_t)word[at / 32];
    if (at % 32 + width > 32)
        bits |= (uint64_t)(uint32_t)word[at / 32 + 1] << 32;
    return (int32_t)(uint32_t)(bits >> at % 32 & ((UINT64_C(1) << width) - 1));
}

static int32_t bits_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

// Which beat of its region group `group` of a tile begins at, where a group has `len` of them.
static uint32_t place_of(const struct sq_top_layer *l, unsigned axis, uint32_t tile, uint32_t group,
                         uint32_t len)
{
    const uint32_t first = tile - tile % l->block[axis], left = l->tiles[axis] - first;
    const uint32_t n = left < l->block[axis] ? left : l->block[axis]; // tiles of the block
    const uint32_t chunk = group - group % l->chunk, rest = l->groups - chunk;
    const uint32_t groups = rest < l->chunk ? rest : l->chunk;
    return (first * l->groups + n * chunk + tile % l->block[axis] * groups + group % l->chunk) *
           len;
}

// [lines][k] codes, beat after beat [lines of a tile][bank].
static void put_codes(const unsigned *v, const struct sq_top_layer *l, unsigned axis,
                      unsigned width, uint32_t bus_bits, const int8_t *code, int32_t *word)
{
    const unsigned bank = v[SQ_TOP_BANK_LEN], lines = v[axis == ROWS ? SQ_TOP_ROWS : SQ_TOP_COLS];
    const uint32_t beats = l->groups * l->beats;
    for (uint32_t i = 0; i < l->tiles[axis] * beats; i++) {
        const uint32_t tile = i / beats, beat = i % beats;
        const size_t place = place_of(l, axis, tile, beat / l->beats, l->beats) + beat % l->beats;
        for (unsigned j = 0; j < lines * bank; j++) {
            const size_t line = (size_t)tile * lines + j / bank;
            sq_top_put_bits(word + place * bus_bits / 32, j * width, width,
                            code[line * beats * bank + beat * bank + j % bank]);
        }
    }
}

void sq_top_put_operand(const unsigned *v, const struct sq_top_layer *l,
                        const struct sq_top_operands *x, enum sq_top_part part, int32_t *word)
{
    const uint32_t bus_bits = sq_top_bus_beats(v, part) * v[SQ_TOP_DATA_W];
    const uint32_t n = sq_top_beats(l, part);
    const unsigned rows = v[SQ_TOP_ROWS], cols = v[SQ_TOP_COLS];
    if (part == SQ_TOP_ACT)
        put_codes(v, l, ROWS, v[SQ_TOP_ACT_W], bus_bits, x->act, word);
    else if (part == SQ_TOP_WEIGHT)
        put_codes(v, l, COLS, v[SQ_TOP_WEIGHT_W], bus_bits, x->weight, word);
    else if (part == SQ_TOP_ROW_SCALE)
        for (uint32_t i = 0; i < n * rows; i++)
            word[i / rows * (bus_bits / 32) + i % rows] = bits_of(x->row_scale[i]);
    else
        for (uint32_t i = 0; i < n * cols; i++) {
            const uint32_t tile = i / cols / l->groups, group = i / cols % l->groups;
            word[place_of(l, COLS, tile, group, 1) * (bus_bits / 32) + i % cols] =
                bits_of(x->col_scale[(tile * cols + i % cols) * l->groups + group]);
        }
}

// ---- outputs ----------------------------------------------------------------------------------------

struct golden {
    const unsigned *v;
    const struct sq_top_layer *l;
    const struct sq_top_operands *x;
    struct sq_output_config c;
    uint32_t errors;
};

static int32_t dot(const int8_t *a, const int8_t *b, uint32_t n)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static bool has_code(const int8_t *code, size_t n, unsigned width)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any = any || code[i] == -(1 << (width - 1));
    return any;
}

static void golden_tile(struct golden *g, uint32_t row_tile, uint32_t col_tile, int32_t *word)
{
    const unsigned rows = g->c.rows, cols = g->c.cols, bits = sq_top_out_bits(g->v);
    const uint32_t k = g->l->beats * g->l->groups * g->v[SQ_TOP_BANK_LEN], len = k / g->l->groups;
    const int8_t *const act = g->x->act + (size_t)row_tile * rows * k;
    const int8_t *const weight = g->x->weight + (size_t)col_tile * cols * k;
    int32_t p[SQ_TOP_PES_MAX], scale[1 + 4 * SQ_TOP_PES_MAX], y_out[SQ_TOP_PES_MAX];
    float y[SQ_TOP_PES_MAX] = {0};
    for (uint32_t group = 0; group < g->l->groups; group++) {
        memset(scale, 0, sizeof scale);
        scale[0] = group + 1 == g->l->groups;
        for (unsigned c = 0; c < cols; c++)
            scale[1 + c] = bits_of(g->x->col_scale[(col_tile * cols + c) * g->l->groups + group]);
        for (unsigned r = 0; r < rows; r++)
            scale[1 + 2 * cols + r] = bits_of(g->x->row_scale[row_tile * rows + r]);
        for (unsigned i = 0; i < rows * cols; i++)
            p[i] = dot(act + i / cols * k + group * len, weight + i % cols * k + group * len, len);
        for (unsigned i = 0; i < cols; i++)
            g->errors |= (uint32_t)!sq_engine_is_scale(scale[1 + i]) << SQ_SCALED_ERROR_SCALE;
        for (unsigned i = 0; i < rows; i++)
            g->errors |= (uint32_t)!sq_engine_is_scale(scale[1 + 2 * cols + i])
                         << SQ_SCALED_ERROR_SCALE;
        sq_output_add(&g->c, p, p, scale, y);
    }
    (void)sq_output_end(&g->c, scale, y, y_out);
    for (unsigned i = 0; i < rows * cols; i++)
        sq_top_put_bits(word, i * bits, bits, y_out[i]);
}

uint32_t sq_top_golden(const unsigned *v, const struct sq_top_layer *l,
                       const struct sq_top_operands *x, int32_t *word)
{
    struct golden g = {.v = v, .l = l, .x = x, .c = sq_top_output(v)};
    const size_t k = (size_t)l->beats * l->groups * v[SQ_TOP_BANK_LEN];
    struct sq_block_walk w;
    for (sq_block_walk_start(&w, l); w.is_active; sq_block_walk_next(&w)) {
        if (!sq_block_walk_is_last(&w))
            continue;
        const uint32_t rows = sq_block_walk_tiles(&w, ROWS), cols = sq_block_walk_tiles(&w, COLS);
        for (uint32_t i = 0; i < rows * cols; i++, word += sq_top_bits(v, SQ_TOP_STORE) / 32)
            golden_tile(&g, w.done[ROWS] + i / cols, w.done[COLS] + i % cols, word);
    }
    if (has_code(x->act, l->tiles[ROWS] * v[SQ_TOP_ROWS] * k, v[SQ_TOP_ACT_W]) ||
        has_code(x->weight, l->tiles[COLS] * v[SQ_TOP_COLS] * k, v[SQ_TOP_WEIGHT_W]))
        g.errors |= 1u << SQ_SCALED_ERROR_CODE;
    return g.errors;
}
