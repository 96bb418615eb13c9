// SPDX-License-Identifier: Apache-2.0
// The hardware of sq_a_*. Routes: static, the array whose weights are stored in the order of the
// codes; dynamic, the mask by topk and the compact array; split codes, the array for them. Layers
// go through the engines of these arrays, dynamic ones with their masks from topk; and through the
// engine that makes codes and masks of INT8 codes (below), where the encoder does the same.
#include <string.h>

#include "models/core/sq_act_quant.h"
#include "models/core/sq_mac.h"
#include "models/core/sq_topk.h"
#include "models/number/sq_codes.h"
#include "models/output/sq_combine.h"
#include "sim/format/core/sq_grid_product.h"
#include "sim/format/file/sq_trace.h"
#include "sim/format/sq_route.h"
#include "sim/format/sq_tile_route.h"
#include "sim/format/top/sq_chip_route.h"

// ---- layers through the engine of core_act -----------------------------------------------------

// Layers of sq_a_dynamic whose low codes an integer multiplier made of INT8 codes (--select int8_mul): the engine makes
// masks and low codes itself. The route reads from the product, beside weights and scales:
//   x8 I8 [m][k]          INT8 codes
//   mul, shift I32 [m]    by what they become low codes (sq_act_quant.h)
static bool has_ratios(const struct sq_product *p)
{
    return sq_product_count(p, "mul") != SIZE_MAX;
}

// The job, in tiles and what a tile holds.
struct job {
    size_t rows, cols, bank, lanes;      // of the engine
    size_t tiles, passes, groups, banks; // banks: of a scale group
    size_t steps;                        // of a bank, at the weights
};

static unsigned least(size_t a, size_t b)
{
    return (unsigned)(a < b ? a : b);
}

static enum sq_status job_of(struct sq_route_work *w, struct job *j, struct sq_error *err)
{
    SQ_TRY(sq_product_groups(w->p, &j->groups, err));
    j->rows = sq_route_get(w, "Rows");
    j->cols = sq_route_get(w, "Cols");
    j->bank = sq_route_get(w, "BankLen");
    j->lanes = sq_route_get(w, "LowLanes");
    j->tiles = (w->p->m + j->rows - 1) / j->rows;
    j->passes = (w->p->n + j->cols - 1) / j->cols;
    j->banks = w->p->k / j->bank / j->groups;
    j->steps = (j->bank + j->lanes - 1) / j->lanes;
    return SQ_OK;
}

static enum sq_status set_engine(struct sq_route_work *w, struct sq_error *err)
{
    enum { HIGH_W = 8, MUL_W = 16, PASS_W = 16, HOLD = 1 };
    static const char *const name[] = {
        "Rows",  "Cols", "LowLanes", "HighLanes", "BankLen",   "HighPerBank", "WeightW", "LowW",
        "HighW", "MulW", "Topk",     "Gather",    "TileBanks", "PassW",       NULL};
    unsigned bank, high;
    size_t weight_bits, low_bits;
    SQ_TRY(sq_product_bank(w->p, &bank, &high, err));
    SQ_TRY(sq_product_number(w->p, "weight_bits", 2, 8, &weight_bits, err));
    SQ_TRY(sq_product_number(w->p, "low_bits", 2, 4, &low_bits, err));
    const unsigned value[] = {w->array_rows,
                              w->array_cols,
                              least(w->core->low_lanes, bank),
                              least(w->core->high_lanes, high),
                              bank,
                              high,
                              weight_bits <= 4 ? 4 : 8, // ports of the core
                              (unsigned)low_bits,
                              HIGH_W,
                              MUL_W,
                              SQ_TOPK_RANK,
                              w->core->gather,
                              (unsigned)(w->p->k / bank),
                              PASS_W};
    sq_route_set_all(w, value, name);
    return sq_route_set_output(w, w->array_rows, w->array_cols, HOLD, err);
}

static void put_job(struct sq_route_work *w, const struct job *j)
{
    const size_t value[] = {j->banks, j->groups, j->passes, j->tiles,
                            j->groups * j->passes * j->tiles};
    static const char *const name[] = {"banks", "groups", "passes", "tiles", "sums"};
    for (size_t i = 0; i < SQ_LEN(name); i++)
        w->stream->beats[sq_route_field(w, name[i])] = (int32_t)value[i];
    uint32_t *const len = w->stream->len[0]; // job, activations, weights, scales
    len[0] = 1;
    len[1] = (uint32_t)(j->tiles * j->groups * j->banks);
    len[2] = (uint32_t)(value[4] * j->banks * j->steps);
    len[3] = (uint32_t)value[4];
}

// Banks of all tokens of a tile, tile by tile; zeros after the last token.
static enum sq_status put_tokens(struct sq_route_work *w, const struct job *j, struct sq_error *err)
{
    const size_t m = w->p->m, k = w->p->k, banks = j->groups * j->banks;
    const size_t mul_at = sq_route_field(w, "mul"), shift_at = sq_route_field(w, "shift"),
                 code_at = sq_route_field(w, "code");
    const int32_t *mul, *shift;
    const int8_t *code;
    SQ_PRODUCT_TENSOR(w->p, "mul", SQ_I32, m, mul);
    SQ_PRODUCT_TENSOR(w->p, "shift", SQ_I32, m, shift);
    SQ_PRODUCT_TENSOR(w->p, "x8", SQ_I8, m * k, code);
    for (size_t i = 0; i < j->tiles * banks; i++)
        for (size_t r = 0; r < j->rows && i / banks * j->rows + r < m; r++) {
            const size_t token = i / banks * j->rows + r;
            int32_t *const beat = w->stream->beats + i * w->len;
            beat[mul_at + r] = mul[token];
            beat[shift_at + r] = shift[token];
            sq_route_copy(beat + code_at + r * j->bank, code + token * k + i % banks * j->bank,
                          j->bank);
        }
    return SQ_OK;
}

// All steps of all channels, for each tile of tokens again; zeros after the last channel.
static enum sq_status put_weights(struct sq_route_work *w, const struct job *j,
                                  struct sq_error *err)
{
    const size_t n = w->p->n, k = w->p->k, banks = j->groups * j->banks;
    const size_t at = sq_route_field(w, "code") + j->rows * j->bank;
    const int8_t *weight;
    int32_t *beat = w->stream->beats;
    SQ_PRODUCT_TENSOR(w->p, "w", SQ_I8, n * k, weight);
    for (size_t i = 0; i < j->tiles * j->passes * banks * j->steps; i++, beat += w->len) {
        const size_t step = i % j->steps, first = step * j->lanes;
        const size_t bank = i / j->steps % banks, pass = i / j->steps / banks % j->passes;
        for (size_t c = 0; c < j->cols && pass * j->cols + c < n; c++)
            sq_route_copy(beat + at + c * j->lanes,
                          weight + (pass * j->cols + c) * k + bank * j->bank + first,
                          least(j->lanes, j->bank - first));
    }
    return SQ_OK;
}

static enum sq_status put_scales(struct sq_route_work *w, const struct job *j, struct sq_error *err)
{
    const size_t at = sq_route_field(w, "col_lo");
    struct sq_tile_scales s;
    SQ_TRY(sq_tile_scales_of(w->p, &s, err));
    for (size_t i = 0; i < j->tiles * j->passes * j->groups; i++) {
        const size_t tile = i / j->groups / j->passes, pass = i / j->groups % j->passes;
        sq_tile_scales_put(&s, w->p, tile * j->rows, j->rows, pass * j->cols, j->cols,
                           i % j->groups, w->stream->beats + i * w->len + at);
    }
    return SQ_OK;
}

static enum sq_status make_core_act(struct sq_route_work *w, struct sq_error *err)
{
    enum { COUNT_MAX = 65535 };
    struct job j;
    SQ_TRY(set_engine(w, err));
    SQ_TRY(job_of(w, &j, err));
    SQ_FAIL_IF(
        j.tiles > COUNT_MAX || j.passes > COUNT_MAX || j.banks > COUNT_MAX, err, SQ_ERR_RANGE,
        "%s: %zu tiles of tokens, %zu of channels, %zu banks in a job of %s, need "
        "at most %d each",
        sq_path_tail(w->p->source), j.tiles, j.passes, j.banks, w->stream->block->name, COUNT_MAX);
    w->stream->max_outputs = j.tiles * j.passes * j.rows;
    SQ_TRY(sq_route_begin(w, 1, j.tiles * j.passes * j.groups * j.banks * j.steps, err));
    put_job(w, &j);
    SQ_TRY(put_tokens(w, &j, err));
    SQ_TRY(put_weights(w, &j, err));
    return put_scales(w, &j, err);
}

static enum sq_status check_core_act(struct sq_route_work *w, struct sq_error *err)
{
    struct job j;
    const float *y;
    SQ_TRY(job_of(w, &j, err));
    SQ_PRODUCT_TENSOR(w->p, "y", SQ_F32, w->p->m * w->p->n, y);
    (void)sq_route_golden(w, 0, 0);
    for (size_t t = 0; t < j.tiles * j.passes; t++)
        sq_tiles_expect_words(w, y, t / j.passes * j.rows, j.rows, t % j.passes * j.cols, j.cols,
                              w->golden +
                                  t * (j.rows * j.cols / w->shape.out[0].count) * w->out_len);
    return SQ_OK;
}

// Activation codes by the golden encoder into *c, compared with the file's.
static enum sq_status replay_act(struct sq_trace *r, const float *x, const uint8_t *mask,
                                 struct sq_codes *c, struct sq_error *err)
{
    float *score;
    int8_t *code;
    const size_t n = r->p.m * r->p.k;
    *c = (struct sq_codes){
        .grid = {SQ_GRID_OWN, 8, 4}, .n = r->p.m, .k = r->p.k, .k_orig = r->p.k, .group = r->p.k};
    SQ_TRY(sq_product_bank(&r->p, &c->bank, &c->high_per_bank, err));
    for (size_t i = 0; mask && i < r->p.k; i += c->bank) {
        unsigned n_high = 0;
        for (unsigned j = 0; j < c->bank; j++)
            n_high += mask[i + j] == 1 ? 1 : mask[i + j] == 0 ? 0 : c->bank;
        SQ_FAIL_IF(n_high != c->high_per_bank, err, SQ_ERR_MASK_COUNT,
                   "%s: mask of bank %zu, need %u ones of %u", sq_path_tail(r->p.source),
                   i / c->bank, c->high_per_bank, c->bank);
    }
    SQ_TRACE_KEEP(r, c->code, n);
    SQ_TRACE_KEEP(r, c->is_high, n);
    SQ_TRACE_KEEP(r, c->s_lo, r->p.m);
    SQ_TRACE_KEEP(r, c->s_hi, r->p.m);
    SQ_TRACE_KEEP(r, score, 2 * r->p.k);
    SQ_TRACE_KEEP(r, code, n);
    SQ_TRY(sq_codes_encode_act(c, x, mask ? SQ_SELECT_STATIC : SQ_SELECT_DYNAMIC_FP, mask, score,
                               err));
    for (size_t i = 0; i < n; i++)
        code[i] = (int8_t)c->code[i];
    if (!mask)
        SQ_TRY(sq_trace_compare(r, "mask", SQ_U8, n, c->is_high, err));
    SQ_TRY(sq_trace_compare(r, "code", SQ_I8, n, code, err));
    SQ_TRY(sq_trace_compare(r, "s_lo", SQ_F32, r->p.m, c->s_lo, err));
    return sq_trace_compare(r, "s_hi", SQ_F32, r->p.m, c->s_hi, err);
}

static enum sq_status values(struct sq_trace *r, struct sq_error *err)
{
    const float *values, *s_w;
    const int8_t *w_code;
    const uint8_t *mask = NULL;
    struct sq_codes x, w = {.grid = {SQ_GRID_DENSE, 0, 4},
                            .n = r->p.n,
                            .k = r->p.k,
                            .k_orig = r->p.k,
                            .group = r->p.k};
    SQ_TRACE_INPUT(r, "x", SQ_F32, r->p.m * r->p.k, values);
    SQ_TRACE_INPUT(r, "w", SQ_I8, r->p.n * r->p.k, w_code);
    SQ_TRACE_INPUT(r, "s_w", SQ_F32, r->p.n, s_w);
    if (r->format == &sq_format_sq_a_static)
        SQ_TRACE_INPUT(r, "mask", SQ_U8, r->p.k, mask);
    SQ_TRY(replay_act(r, values, mask, &x, err));
    SQ_TRACE_KEEP(r, w.code, r->p.n * r->p.k);
    SQ_TRACE_KEEP(r, w.s_lo, r->p.n);
    SQ_TRACE_KEEP(r, w.s_hi, r->p.n);
    for (size_t i = 0; i < r->p.n * r->p.k; i++)
        w.code[i] = w_code[i];
    memcpy(w.s_lo, s_w, r->p.n * sizeof *s_w);
    memcpy(w.s_hi, s_w, r->p.n * sizeof *s_w);
    struct sq_gemm_codes g = {.x = &x, .w = &w};
    uint8_t *scratch;
    SQ_TRACE_KEEP(r, g.y, r->p.m * r->p.n);
    SQ_TRACE_KEEP(r, g.p_lo, r->p.m * r->p.n);
    SQ_TRACE_KEEP(r, g.p_hi, r->p.m * r->p.n);
    SQ_TRY(sq_gemm_codes_check(&g, err));
    SQ_TRACE_KEEP(r, scratch, sq_gemm_codes_scratch(&g));
    sq_gemm_codes(&g, 0, r->p.m, scratch);
    SQ_TRY(sq_trace_compare(r, "p_lo", SQ_I32, r->p.m * r->p.n, g.p_lo, err));
    SQ_TRY(sq_trace_compare(r, "p_hi", SQ_I32, r->p.m * r->p.n, g.p_hi, err));
    return sq_trace_compare(r, "y", SQ_F32, r->p.m * r->p.n, g.y, err);
}

// ---- topk --------------------------------------------------------------------------------------

enum { BF16_MAG_BITS = 15, INT8_MAG_BITS = 7 };

// Magnitudes of all elements: of BF16 numbers, or of INT8 codes where the product has them.
static enum sq_status take_magnitudes(struct sq_product *p, int32_t *mag, struct sq_error *err)
{
    const size_t n = p->m * p->k;
    const uint32_t *x; // bits of binary32
    const int8_t *code;
    if (sq_product_count(p, "x8") != SIZE_MAX) {
        SQ_PRODUCT_TENSOR(p, "x8", SQ_I8, n, code);
        for (size_t i = 0; i < n; i++)
            mag[i] = sq_magnitude_int(code[i]);
        return SQ_OK;
    }
    SQ_PRODUCT_TENSOR(p, "x", SQ_F32, n, x);
    for (size_t i = 0; i < n; i++) {
        SQ_FAIL_IF(x[i] & 0xffff, err, SQ_ERR_RANGE, "%s: x[%zu] = 0x%x, need a BF16 number",
                   sq_path_tail(p->source), i, x[i]);
        mag[i] = sq_magnitude_fp((uint16_t)(x[i] >> 16));
    }
    return SQ_OK;
}

static enum sq_status make_topk(struct sq_route_work *w, struct sq_error *err)
{
    const size_t n = w->p->m * w->p->k;
    const bool is_int8 = sq_product_count(w->p, "x8") != SIZE_MAX;
    unsigned bank, high;
    SQ_TRY(sq_product_bank(w->p, &bank, &high, err));
    sq_route_set(w, "BankLen", bank);
    sq_route_set(w, "HighPerBank", high);
    sq_route_set(w, "MagW", is_int8 ? INT8_MAG_BITS : BF16_MAG_BITS);
    sq_route_set(w, "Topk", SQ_TOPK_RADIX);
    SQ_TRY(sq_route_begin(w, n / bank, n / bank, err));
    for (size_t g = 0; g < n / bank; g++)
        w->stream->len[g][0] = 1;
    return take_magnitudes(w->p, w->stream->beats, err);
}

static enum sq_status check_topk(struct sq_route_work *w, struct sq_error *err)
{
    const size_t bank = sq_route_get(w, "BankLen"), n_groups = w->stream->n_groups;
    const uint8_t *mask;
    SQ_PRODUCT_TENSOR(w->p, "mask", SQ_U8, w->p->m * w->p->k, mask);
    for (size_t g = 0; g < n_groups; g++) {
        (void)sq_route_golden(w, g, g);
        for (size_t i = 0; i < bank; i++)
            sq_route_expect(w, "mask", g * bank + i, mask[g * bank + i], w->golden[i]);
    }
    return SQ_OK;
}

// ---- arrays ------------------------------------------------------------------------------------

static bool is_split(const struct sq_product *p)
{
    return sq_product_count(p, "code") == SIZE_MAX;
}

static bool is_trace(const struct sq_product *p)
{
    return !is_split(p) && sq_tiles_has_no_scales(p);
}

static bool is_split_trace(const struct sq_product *p)
{
    return is_split(p) && sq_tiles_has_no_scales(p);
}

static bool is_layer(const struct sq_product *p)
{
    return !is_split(p) && sq_tiles_has_scales(p);
}

static bool is_split_layer(const struct sq_product *p)
{
    return is_split(p) && sq_tiles_has_scales(p);
}

static enum sq_status make_compact(struct sq_route_work *w, struct sq_error *err)
{
    return sq_route_make_coded(w, SQ_ARRAY_COMPACT, true, "w", err);
}

static enum sq_status make_split(struct sq_route_work *w, struct sq_error *err)
{
    return sq_route_make_coded(w, SQ_ARRAY_SPLIT, true, "w", err);
}

// The parameters of array_static; *mask is the one mask.
static enum sq_status begin_static(struct sq_route_work *w, struct sq_tiles *t,
                                   const uint8_t **mask, struct sq_error *err)
{
    static const char *const name[] = {"Rows",   "Cols",    "Banks", "BankLen", "HighPerBank",
                                       "OneAcc", "WeightW", "LowW",  "HighW",   NULL};
    struct sq_product *p = w->p;
    unsigned bank, high;
    size_t weight_bits, low_bits, high_bits, one_acc;
    SQ_TRY(sq_product_bank(p, &bank, &high, err));
    SQ_TRY(sq_product_option(p, "weight_bits", 2, 8, 4, &weight_bits, err));
    SQ_TRY(sq_product_option(p, "low_bits", 2, 4, 4, &low_bits, err));
    SQ_TRY(sq_product_option(p, "high_bits", 4, 8, 8, &high_bits, err));
    SQ_TRY(sq_product_option(p, "one_acc", 0, 1, 0, &one_acc, err));
    SQ_PRODUCT_TENSOR(p, "mask", SQ_U8, p->k, *mask);
    const unsigned value[] = {w->array_rows,
                              w->array_cols,
                              1,
                              bank,
                              high,
                              (unsigned)one_acc,
                              (unsigned)weight_bits,
                              (unsigned)low_bits,
                              (unsigned)high_bits};
    sq_route_set_all(w, value, name);
    return sq_tiles_begin(w, t, err);
}

static enum sq_status make_static(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_tiles t;
    struct sq_planes code, weight;
    const size_t k = w->p->k;
    const uint8_t *mask;
    SQ_TRY(begin_static(w, &t, &mask, err));
    SQ_TRY(sq_planes_of(w->p, w->p->m, &code, err));
    SQ_PRODUCT_TENSOR(w->p, "w", SQ_I8, w->p->n * k, weight.low);
    weight.high = weight.low;
    const unsigned bank = t.bank, high = sq_route_get(w, "HighPerBank"), low = bank - high;
    const size_t low_at = sq_route_field(w, "low"), high_at = sq_route_field(w, "high");
    for (size_t g = 0; g < t.all; g++)
        for (size_t b = 0; b < t.banks; b++) {
            const size_t at = sq_tiles_column(&t, g, b);
            int32_t *const beat = sq_tiles_beat(w, &t, g, b);
            for (size_t row = 0; row < t.rows; row++)
                if (sq_tiles_token(&t, g, row) < w->p->m)
                    sq_planes_split(&code, sq_tiles_token(&t, g, row) * k + at, mask + at, bank,
                                    false, beat + low_at + row * low, beat + high_at + row * high);
            for (size_t c = 0; c < t.cols; c++) { // the weights in the order of the codes
                int32_t *const to = sq_tiles_plain(w, "weight", beat) + c * bank;
                if (sq_tiles_channel(&t, g, c) < w->p->n)
                    sq_planes_split(&weight, sq_tiles_channel(&t, g, c) * k + at, mask + at, bank,
                                    false, to, to + low);
            }
        }
    return SQ_OK;
}

// ---- engine_dynamic: codes, and the magnitudes that its masks are made of --------------------------

// Puts the magnitudes of each token into every beat; zeros after the last token.
static enum sq_status put_magnitudes(struct sq_route_work *w, struct sq_error *err)
{
    const size_t k = w->p->k, bank = sq_route_get(w, "BankLen"), rows = sq_route_get(w, "Rows");
    const size_t mag_at = sq_route_field(w, "mag"), beats = k / bank;
    const size_t tiles = (w->p->m + rows - 1) / rows;
    int32_t *mag, *record = w->stream->beats;
    SQ_PRODUCT_KEEP(w->p, mag, w->p->m * k);
    SQ_TRY(take_magnitudes(w->p, mag, err));
    for (size_t g = 0; g < w->stream->n_groups; g++) {
        w->stream->len[g][4] = w->stream->len[g][2];
        for (size_t i = 0; i < tiles * beats; i++, record += w->len)
            for (size_t row = 0; row < rows; row++) {
                const size_t token = i / beats * rows + row;
                if (token < w->p->m)
                    memcpy(record + mag_at + row * bank, mag + token * k + i % beats * bank,
                           bank * sizeof *mag);
            }
    }
    return SQ_OK;
}

static enum sq_status make_dynamic(struct sq_route_work *w, enum sq_array_layout layout,
                                   struct sq_error *err)
{
    const bool is_int8 = sq_product_count(w->p, "x8") != SIZE_MAX;
    sq_route_set(w, "MagW", is_int8 ? INT8_MAG_BITS : BF16_MAG_BITS);
    sq_route_set(w, "Topk", SQ_TOPK_RANK);
    SQ_TRY(sq_route_make_coded(w, layout, true, "w", err));
    return put_magnitudes(w, err);
}

static enum sq_status make_dynamic_compact(struct sq_route_work *w, struct sq_error *err)
{
    return make_dynamic(w, SQ_ARRAY_COMPACT, err);
}

static enum sq_status make_dynamic_split(struct sq_route_work *w, struct sq_error *err)
{
    return make_dynamic(w, SQ_ARRAY_SPLIT, err);
}

static const struct sq_route static_routes[] = {
    {&sq_array_static_block, make_static, sq_tiles_check, is_trace},
    {&sq_array_block, make_split, sq_tiles_check, is_split_trace},
    {&sq_engine_static_block, make_static, sq_tiles_check, is_layer},
    {&sq_engine_array_block, make_split, sq_tiles_check, is_split_layer},
};
static const struct sq_route dynamic_routes[] = {
    {&sq_topk_block, make_topk, check_topk, sq_tiles_has_no_scales},
    {&sq_array_block, make_compact, sq_tiles_check, is_trace},
    {&sq_array_block, make_split, sq_tiles_check, is_split_trace},
    {&sq_engine_dynamic_block, make_dynamic_compact, sq_tiles_check, is_layer},
    {&sq_engine_dynamic_block, make_dynamic_split, sq_tiles_check, is_split_layer},
    {&sq_engine_core_act_block, make_core_act, check_core_act, has_ratios},
};

// Static masks, too, with the bits of the mask beside the codes: the engine in the chip is that of both.
static enum sq_status make_chip(struct sq_route_work *w, struct sq_error *err)
{
    return sq_chip_make(w, &sq_engine_array_block, is_split(w->p) ? make_split : make_compact, err);
}

static const struct sq_route chip = {&sq_top_block, make_chip, sq_chip_check, sq_tiles_has_scales};

// ---- layers ------------------------------------------------------------------------------------

// By what each token's INT8 codes become low codes, where the encoder multiplied.
static enum sq_status put_ratios(struct sq_product *p, const float *s8, struct sq_error *err)
{
    int32_t *mul, *shift;
    const float *s_lo;
    size_t low_bits;
    SQ_TRY(sq_product_number(p, "low_bits", 2, 4, &low_bits, err));
    SQ_PRODUCT_TENSOR(p, "row_lo", SQ_F32, p->m, s_lo);
    SQ_PRODUCT_KEEP(p, mul, p->m);
    SQ_PRODUCT_KEEP(p, shift, p->m);
    for (size_t t = 0; t < p->m; t++) {
        const struct sq_act_quant q = sq_act_quant_of(s8[t], s_lo[t], (unsigned)low_bits, 8);
        mul[t] = q.mul;
        shift[t] = (int32_t)q.shift;
    }
    sq_product_put(p, "mul", SQ_I32, p->m, mul);
    sq_product_put(p, "shift", SQ_I32, p->m, shift);
    return SQ_OK;
}

// What topk reads of the tokens: BF16 numbers, or INT8 codes.
static enum sq_status dynamic_product(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                      float *x, struct sq_product *p, struct sq_error *err)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    const size_t m = p->m, n = m * q->k;
    int8_t *code;
    float *wide, *scale;
    if (p->is_coded)
        return sq_grid_product(q, r, x, p, err);
    for (size_t i = 0; i < m * q->k_orig && o->select == SQ_SELECT_DYNAMIC_FP; i++)
        x[i] = sq_combine_round_bf16(x[i]);
    SQ_TRY(sq_grid_product(q, r, x, p, err));
    if (o->select == SQ_SELECT_DYNAMIC_FP) {
        SQ_PRODUCT_KEEP(p, wide, n);
        for (size_t t = 0; t < m; t++)
            memcpy(wide + t * q->k, x + t * q->k_orig, q->k_orig * sizeof *x);
        sq_product_put(p, "x", SQ_F32, n, wide);
        return SQ_OK;
    }
    SQ_PRODUCT_KEEP(p, code, n);
    SQ_PRODUCT_KEEP(p, scale, m);
    SQ_TRY(sq_act_quantize(x, m, q->k_orig, q->k, 8, code, scale, err));
    sq_product_put(p, "x8", SQ_I8, n, code);
    return o->select == SQ_SELECT_DYNAMIC_INT8_MUL ? put_ratios(p, scale, err) : SQ_OK;
}

const struct sq_format_routes sq_a_static_routes = {
    .route = static_routes,
    .n_routes = SQ_LEN(static_routes),
    .chip = &chip,
    .trace_name = "sq_a",
    .trace_flags = "static",
    .trace_values = values,
    .trace_output = {SQ_COMBINE_SCALED, {"s_w", NULL, "s_lo", "s_hi"}},
    .check = sq_grid_check_routes,
    .product = sq_grid_product,
};
const struct sq_format_routes sq_a_dynamic_routes = {
    .route = dynamic_routes,
    .n_routes = SQ_LEN(dynamic_routes),
    .chip = &chip,
    .trace_name = "sq_a",
    .trace_flags = "dynamic",
    .trace_values = values,
    .trace_output = {SQ_COMBINE_SCALED, {"s_w", NULL, "s_lo", "s_hi"}},
    .check = sq_grid_check_routes,
    .product = dynamic_product,
};
