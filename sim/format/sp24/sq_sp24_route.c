// SPDX-License-Identifier: Apache-2.0
// The hardware of sp24. Routes: meta24, the array; for layers its engine.
#include <string.h>

#include "models/array/sq_meta24.h"
#include "models/core/sq_mac.h"
#include "models/output/sq_combine.h"
#include "sim/format/file/sq_trace.h"
#include "sim/format/sp24/sq_sp24_recipe.h"
#include "sim/format/sq_tile_route.h"
#include "sim/format/top/sq_chip_route.h"

static enum sq_status values(struct sq_trace *r, struct sq_error *err)
{
    const int8_t *w, *x;
    const float *s_x, *s_w;
    int8_t *values;
    uint8_t *meta, *nibble;
    uint16_t *word;
    SQ_FAIL_IF(r->p.k % 16 != 0, err, SQ_ERR_SHAPE, "%s: metadata K = %zu, need a multiple of 16",
               sq_path_tail(r->p.source), r->p.k);
    SQ_TRACE_INPUT(r, "w", SQ_I8, r->p.n * r->p.k, w);
    SQ_TRACE_INPUT(r, "x", SQ_I8, r->p.m * r->p.k, x);
    SQ_TRACE_INPUT(r, "s_x", SQ_F32, r->p.m, s_x);
    SQ_TRACE_INPUT(r, "s_w", SQ_F32, r->p.n, s_w);
    SQ_TRACE_KEEP(r, values, r->p.n * r->p.k / 2);
    SQ_TRACE_KEEP(r, meta, r->p.n * r->p.k / 8);
    SQ_TRACE_KEEP(r, nibble, r->p.k / 4);
    SQ_TRACE_KEEP(r, word, r->p.k / 16);
    for (size_t row = 0; row < r->p.n; row++) {
        const size_t at = row * r->p.k;
        SQ_TRY(sq_meta24_encode(w + at, r->p.k, values + at / 2, nibble, err));
        sq_meta24_words(nibble, r->p.k, word);
        memcpy(meta + at / 8, word, r->p.k / 8); // little-endian words, as the trace has them
    }
    SQ_TRY(sq_trace_compare(r, "values", SQ_I8, r->p.n * r->p.k / 2, values, err));
    SQ_TRY(sq_trace_compare(r, "meta", SQ_U8, r->p.n * r->p.k / 8, meta, err));
    return sq_trace_product(r, x, s_x, w, s_w, err);
}

// ---- meta24 ------------------------------------------------------------------------------------

enum { META_ROWS = 2, META_GROUPS = 4, META_COLUMNS = 4 * META_GROUPS }; // a word: SPEC E.3

// Beats: for (channel) for (tile of tokens) for (word of the row).
static enum sq_status make_meta24(struct sq_route_work *w, struct sq_error *err)
{
    const size_t m = w->p->m, n = w->p->n, k = w->p->k, words = k / META_COLUMNS;
    const size_t tiles_m = (m + META_ROWS - 1) / META_ROWS;
    const int8_t *x;
    const uint8_t *meta;
    SQ_PRODUCT_TENSOR(w->p, "x", SQ_I8, m * k, x);
    SQ_PRODUCT_TENSOR(w->p, "meta", SQ_U8, n * k / 8, meta);
    sq_route_set(w, "Rows", META_ROWS);
    sq_route_set(w, "Groups", META_GROUPS);
    sq_route_set(w, "ActW", 8);
    SQ_TRY(sq_route_begin(w, n * tiles_m * words, n * tiles_m * words, err));
    int32_t *beat = w->stream->beats;
    for (size_t c = 0; c < n; c++)
        for (size_t tile = 0; tile < tiles_m; tile++)
            for (size_t word = 0; word < words; word++, beat += w->len) {
                for (size_t i = 0; i < META_GROUPS; i++)
                    beat[i] = meta[(c * k + word * META_COLUMNS) / 8 + i / 2] >> (4 * (i % 2)) & 15;
                for (size_t row = 0; row < META_ROWS && tile * META_ROWS + row < m; row++)
                    for (size_t i = 0; i < META_COLUMNS; i++)
                        beat[META_GROUPS + row * META_COLUMNS + i] =
                            x[(tile * META_ROWS + row) * k + word * META_COLUMNS + i];
            }
    for (size_t g = 0; g < w->stream->n_groups; g++)
        w->stream->len[g][0] = 1;
    return SQ_OK;
}

// What is selected, times the stored values, is the kernel's product, of each scale group.
static enum sq_status check_meta24(struct sq_route_work *w, struct sq_error *err)
{
    const size_t m = w->p->m, n = w->p->n, k = w->p->k, words = k / META_COLUMNS;
    const size_t tiles_m = (m + META_ROWS - 1) / META_ROWS, kept = META_COLUMNS / 2;
    const int8_t *values;
    const int32_t *p_lo;
    size_t g = 0, groups;
    SQ_TRY(sq_product_groups(w->p, &groups, err));
    SQ_PRODUCT_TENSOR(w->p, "values", SQ_I8, n * k / 2, values);
    SQ_PRODUCT_TENSOR(w->p, "p_lo", SQ_I32, m * n * groups, p_lo);
    for (size_t c = 0; c < n; c++)
        for (size_t tile = 0; tile < tiles_m; tile++) {
            int32_t sum[META_ROWS] = {0};
            for (size_t word = 0; word < words; word++, g++) {
                (void)sq_route_golden(w, g, g);
                for (size_t i = 0; i < META_ROWS * kept; i++)
                    sum[i / kept] += w->golden[i] * values[c * k / 2 + word * kept + i % kept];
                if ((word + 1) % (words / groups) != 0)
                    continue;
                for (size_t row = 0; row < META_ROWS; row++, sum[row - 1] = 0) {
                    const size_t token = tile * META_ROWS + row;
                    const size_t at = (token * n + c) * groups + word / (words / groups);
                    if (token < m)
                        sq_route_expect(w, "p_lo", at, p_lo[at], sum[row]);
                }
            }
        }
    return SQ_OK;
}

// ---- array -------------------------------------------------------------------------------------

enum { BANK = 16, BITS = 8, FIRST_TWO = 0x4 }; // SPEC E.2

static enum sq_status make_sp24(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_tiles t;
    size_t bits;
    SQ_TRY(sq_product_option(w->p, "weight_bits", 4, BITS, BITS, &bits, err));
    const unsigned bank = sq_chip_bank(w, BANK, BITS * (unsigned)bits);
    const unsigned half = bank / 2, nibbles = bank / 4;
    const size_t k = w->p->k;
    const int8_t *x, *values;
    const uint8_t *meta;
    SQ_PRODUCT_TENSOR(w->p, "x", SQ_I8, w->p->m * k, x);
    SQ_PRODUCT_TENSOR(w->p, "values", SQ_I8, w->p->n * k / 2, values);
    SQ_PRODUCT_TENSOR(w->p, "meta", SQ_U8, w->p->n * k / 8, meta);
    sq_route_set_array(w, SQ_ARRAY_SP24, bank, 1, false, BITS, (unsigned)bits, BITS);
    SQ_TRY(sq_tiles_begin(w, &t, err));
    const size_t low = sq_route_field(w, "low"), mask = sq_route_field(w, "mask");
    for (size_t g = 0; g < t.all; g++)
        for (size_t b = 0; b < t.banks; b++) {
            int32_t *beat = sq_tiles_beat(w, &t, g, b);
            sq_tiles_put(w, &t, g, b, x, sq_tiles_plain(w, "plain", beat), NULL, NULL);
            for (size_t c = 0; c < t.cols; c++) {
                const size_t channel = sq_tiles_channel(&t, g, c);
                const size_t at = sq_tiles_column(&t, g, b);
                const bool is_there = channel < w->p->n;
                if (is_there)
                    sq_route_copy(beat + low + c * half, values + (channel * k + at) / 2, half);
                for (size_t i = 0; i < nibbles; i++) {
                    const size_t nibble = (channel * k + at) / 4 + i;
                    beat[mask + c * nibbles + i] =
                        is_there ? meta[nibble / 2] >> (4 * (nibble % 2)) & 15 : FIRST_TWO;
                }
            }
        }
    return SQ_OK;
}

static const struct sq_route routes[] = {
    {&sq_meta24_block, make_meta24, check_meta24, NULL},
    {&sq_array_block, make_sp24, sq_tiles_check, sq_tiles_has_no_scales},
    {&sq_engine_array_block, make_sp24, sq_tiles_check, sq_tiles_has_scales},
};

static enum sq_status make_chip(struct sq_route_work *w, struct sq_error *err)
{
    return sq_chip_make(w, &sq_engine_array_block, make_sp24, err);
}

static const struct sq_route chip = {&sq_top_block, make_chip, sq_chip_check, sq_tiles_has_scales};

// ---- layers ------------------------------------------------------------------------------------

static enum sq_status check(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_sp24_recipe *o = sq_sp24_recipe(r);
    SQ_FAIL_IF(o->weight_bits == 16 || r->is_act_f16, err, SQ_ERR_UNSUPPORTED,
               "%s = 16: no block multiplies binary16 by 2:4, need %s in RTL",
               o->weight_bits == 16 ? "weight-bits" : "act-bits",
               o->weight_bits == 16 ? "4 to 8" : "8");
    SQ_FAIL_IF(o->dense_fraction > 0, err, SQ_ERR_UNSUPPORTED,
               "dense-layers = %g: a layer that stays dense has no 2:4, need 0 in RTL",
               o->dense_fraction);
    return SQ_OK;
}

static enum sq_status product(const struct sq_quant_layer *q, const struct sq_recipe *r, float *x,
                              struct sq_product *p, struct sq_error *err)
{
    const struct sq_sp24 *m = sq_sp24_encoded(q->state);
    int8_t *code;
    float *scale, *y;
    int32_t *p_lo;
    p->n = m->n;
    p->k = m->k;
    SQ_PRODUCT_KEEP(p, code, p->m * p->k);
    SQ_PRODUCT_KEEP(p, scale, p->m);
    SQ_PRODUCT_KEEP(p, y, p->m * p->n);
    SQ_PRODUCT_KEEP(p, p_lo, p->m * p->n * sq_sp24_groups(m));
    SQ_TRY(sq_act_quantize(x, p->m, m->k_orig, p->k, r->act.low_bits, code, scale, err));
    sq_gemm_sp24(m, code, scale, p->m, y, p_lo);
    sq_route_put_parts(p, q);
    sq_product_put(p, "values", SQ_I8, p->n * (p->k / 2), m->value);
    sq_product_put_number(p, "weight_bits", sq_sp24_bits(m));
    if (m->group)
        sq_product_put_number(p, "group", m->group);
    sq_product_put(p, "x", SQ_I8, p->m * p->k, code);
    sq_product_put(p, "p_lo", SQ_I32, p->m * p->n * sq_sp24_groups(m), p_lo);
    sq_product_put(p, "y", SQ_F32, p->m * p->n, y);
    return sq_tiles_put_scales(p, SQ_COMBINE_ONE, m->scale, NULL, scale, NULL, err);
}

const struct sq_format_routes sq_sp24_routes = {
    .route = routes,
    .n_routes = SQ_LEN(routes),
    .chip = &chip,
    .trace_values = values,
    .trace_output = {SQ_COMBINE_ONE, {"s_w", NULL, "s_x", NULL}},
    .check = check,
    .product = product,
};
