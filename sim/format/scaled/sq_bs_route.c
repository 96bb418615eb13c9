// SPDX-License-Identifier: Apache-2.0
// The hardware of block-scaled formats: the engine, from the bits of a file to outputs. Activations
// come coded; in bfloat16 where sq_act_scale is the format's encoder: nothing stands above the
// blocks of the token, or a power of two (SPEC Q.5b).
//
// The product holds streams of rows as they are stored (sq_bs_pack.h), bytes of scales, [lines][..] as
// "w_codes" and so on, `x_` of activations; "w_global" F32 [2][n], "x_global" F32 [2][m], by part;
// "x" F32 [m][k], activations over what stands above their blocks, where the engine encodes them.
#include <math.h>
#include <string.h>

#include "models/core/sq_topk.h"
#include "models/output/sq_combine.h"
#include "models/scaled/sq_bs_accumulate.h"
#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_scaled.h"
#include "sim/block/scaled/sq_engine_scaled_draw.h"
#include "sim/format/scaled/sq_bs_format.h"
#include "sim/format/sq_route.h"
#include "sim/format/top/sq_chip_route.h"

enum { SCALE = SQ_BS_STREAMS, HIGH_SCALE, PLANES }; // after enum sq_bs_stream

static const char *const plane_name[2][PLANES] = {
    {"x_codes", "x_high", "x_mask", "x_place", "x_sub", "x_scale", "x_scale_high"},
    {"w_codes", "w_high", "w_mask", "w_place", "w_sub", "w_scale", "w_scale_high"}};
static const char *const global_name[2] = {"x_global", "w_global"};

// ---- points ---------------------------------------------------------------------------------

// The kinds whose codes and scales the engine reads. What codes of another kind stand for, only its table
// says.
static const struct sq_bs_kind *const engine_kinds[] = {SQ_BS_MX,       SQ_BS_PLUS,  SQ_BS_NV,
                                                        SQ_BS_FOUR_SIX, SQ_BS_SQ,    SQ_BS_SPLIT,
                                                        SQ_BS_IF4,      SQ_BS_RAZER, SQ_BS_TABLE};

static bool has_engine(const struct sq_bs_kind *kind)
{
    size_t i = 0;
    while (i < SQ_LEN(engine_kinds) && engine_kinds[i] != kind)
        i++;
    return i < SQ_LEN(engine_kinds);
}

// How sq_act_scale finds the scale of a block.
static enum sq_scaled_choose choice_of(const struct sq_bs_format *f)
{
    if (f->kind == SQ_BS_FOUR_SIX)
        return SQ_SCALED_FOUR_SIX;
    if (f->kind == SQ_BS_IF4 || f->kind == SQ_BS_RAZER)
        return SQ_SCALED_SIGN;
    return f->kind == SQ_BS_NV && f->is_searched ? SQ_SCALED_SEARCH : SQ_SCALED_LARGEST;
}

// Whether sq_act_scale gives the codes of the format: of magnitudes that are those of the tokens
// but for an exponent.
static bool is_encoder(const struct sq_product *p, const struct sq_recipe *r,
                       const struct sq_bs_format *f)
{
    const struct sq_bs_recipe *o = sq_bs_recipe(r);
    const bool has_exponent =
        o->act_scale == SQ_BS_ACT_TOKEN2 || p->is_shape || !sq_bs_has_global(f, 0);
    if (p->is_coded || o->rotation || !has_exponent)
        return false;
    if (f->kind == SQ_BS_MX)
        return f->element == SQ_ELEMENT_E2M1 && f->rule == SQ_BS_OCP;
    if (f->kind == SQ_BS_SPLIT)
        return f->is_by_maximum;
    if (f->kind == SQ_BS_SQ)
        return f->element == SQ_ELEMENT_INT4 && !f->is_high_block;
    return choice_of(f) == SQ_SCALED_LARGEST ? f->kind == SQ_BS_NV
                                             : f->is_error_integer || p->is_shape;
}

static enum sq_status put_numbers(struct sq_product *p, const struct sq_bs_format *f,
                                  struct sq_error *err)
{
    int32_t *table;
    unsigned words[SQ_SCALED_TABLE_WORDS];
    sq_product_put_number(p, "bank", f->block);
    sq_product_put_number(p, "k", sq_bs_high_bits(f) > 0 ? f->high_per_block : 0);
    sq_product_put_number(p, "high", sq_bs_engine_high(f));
    sq_product_put_number(p, "element", sq_bs_engine_element(f, words));
    sq_product_put_number(p, "scale", sq_bs_engine_scale(f));
    SQ_PRODUCT_KEEP(p, table, SQ_LEN(words));
    memcpy(table, words, sizeof words);
    sq_product_put(p, "table", SQ_I32, SQ_LEN(words), table);
    return SQ_OK;
}

static enum sq_status set_point(struct sq_route_work *w, struct sq_error *err)
{
    static const char *const name[] = {"bank", "k", "high", "element", "scale"};
    bool is_encoded = !w->is_diagonal && !w->is_engine && sq_product_count(w->p, "x") != SIZE_MAX;
    size_t value[5], choose;
    const int32_t *table;
    for (unsigned i = 0; i < 5; i++)
        SQ_TRY(sq_product_number(w->p, name[i], 0, INT32_MAX, &value[i], err));
    SQ_TRY(sq_product_number(w->p, "choose", 0, SQ_SCALED_SIGN, &choose, err));
    is_encoded = is_encoded && choose == SQ_SCALED_LARGEST; // the engine's encoder has no choice
    SQ_PRODUCT_TENSOR(w->p, "table", SQ_I32, SQ_SCALED_TABLE_WORDS, table);
    const unsigned bank = (unsigned)value[0], k = (unsigned)value[1], high = (unsigned)value[2];
    const unsigned element = (unsigned)value[3], scale = (unsigned)value[4];
    const unsigned rows = w->array_rows, cols = w->array_cols;
    const unsigned port = w->is_engine ? w->engine_port : cols;
    const unsigned queue = w->is_engine ? sq_combine_queue(SQ_COMBINE_FLOAT, false)
                           : rows < 2   ? 2
                                        : rows;
    const unsigned point[] = {rows,
                              cols,
                              bank,
                              k,
                              high,
                              k > 0,
                              element,
                              element,
                              scale,
                              scale,
                              is_encoded,
                              is_encoded && k > 0 && k <= 2 ? SQ_TOPK_TREE : SQ_TOPK_RANK,
                              SQ_SCALED_BINARY32,
                              32,
                              0,
                              0,
                              port,
                              SQ_COMBINE_FLOAT,
                              SQ_OUTPUT_BINARY32,
                              port,
                              queue,
                              w->is_engine ? 2 : 0};
    memcpy(w->point->value, point, sizeof point);
    memcpy(w->point->value + SQ_PARAMS_MAX, table, SQ_SCALED_TABLE_WORDS * sizeof *table);
    return SQ_OK;
}

// ---- beats ----------------------------------------------------------------------------------

// An operand of the product.
struct rows {
    size_t n, k, row_nbytes[SQ_BS_STREAMS]; // lines, columns; 0: there is no such stream
    const uint8_t *plane[PLANES];
    const float *global, *x;
};

static enum sq_status rows_of(struct sq_product *p, bool is_weight, struct rows *r,
                              struct sq_error *err)
{
    size_t bank, scale;
    *r = (struct rows){.n = is_weight ? p->n : p->m, .k = p->k};
    SQ_TRY(sq_product_number(p, "bank", 1, SQ_BS_BLOCK_MAX, &bank, err));
    SQ_TRY(sq_product_number(p, "scale", 0, SQ_SCALED_F32, &scale, err));
    const size_t nbytes = sq_scaled_scale_bits((enum sq_scaled_scale)scale) / 8;
    SQ_PRODUCT_TENSOR(p, global_name[is_weight], SQ_F32, SQ_BS_PARTS * r->n, r->global);
    if (!is_weight && sq_product_count(p, "x") != SIZE_MAX)
        SQ_PRODUCT_TENSOR(p, "x", SQ_F32, r->n * p->k, r->x);
    for (unsigned i = 0; i < PLANES; i++) {
        const char *const name = plane_name[is_weight][i];
        const size_t n = sq_product_count(p, name);
        if (n == SIZE_MAX)
            continue;
        SQ_PRODUCT_TENSOR(p, name, SQ_U8, i < SCALE ? n : r->n * (p->k / bank) * nbytes,
                          r->plane[i]);
        if (i < SCALE)
            r->row_nbytes[i] = n / r->n;
    }
    return SQ_OK;
}

// Elements of `bits` bits from the stream of a row, least significant bit first.
static void take_bits(const struct rows *r, unsigned plane, size_t row, size_t first, unsigned bits,
                      size_t n, int32_t *to)
{
    const uint8_t *const from = r->plane[plane] + row * r->row_nbytes[plane];
    for (size_t i = 0; i < n; i++) {
        to[i] = 0;
        for (size_t b = 0, at = (first + i) * bits; b < bits; b++, at++)
            to[i] |= (from[at / 8] >> (at % 8) & 1) << b;
    }
}

// A block of a line that is not there: zeros, with as many high elements as there have to be.
static void put_nothing(const struct sq_es_side *s, size_t line, int32_t *record)
{
    for (size_t i = 0; i < s->bank && s->code != SQ_ES_NONE; i++)
        record[(size_t)s->code + line * s->bank + i] = sq_scaled_zero(sq_es_codes(s), 0);
    for (size_t i = 0; i < s->k; i++)
        if (s->mask != SQ_ES_NONE)
            record[(size_t)s->mask + line * s->bank + i] = 1;
        else if (s->code != SQ_ES_NONE)
            record[(size_t)s->code + line * s->bank + i] = SQ_ES_MASK_CODE;
}

// Block j of a row, line `line` of the array.
static void put_block(const struct sq_es_side *s, const struct rows *r, size_t row, size_t j,
                      size_t line, int32_t *record)
{
    const size_t bank = s->bank, at = line * bank, blocks = r->k / bank;
    for (size_t i = 0; s->x != SQ_ES_NONE && i < bank; i++)
        record[(size_t)s->x + at + i] =
            (int32_t)(sq_combine_bits(r->x[row * r->k + j * bank + i]) >> 16);
    if (s->x != SQ_ES_NONE)
        return;
    take_bits(r, SQ_BS_CODES, row, j * bank, sq_scaled_code_bits(s->element), bank,
              record + (size_t)s->code + at);
    const size_t nbytes = sq_scaled_scale_bits(s->scale_kind) / 8;
    uint32_t scale = 0;
    memcpy(&scale, r->plane[SCALE] + (row * blocks + j) * nbytes, nbytes);
    record[(size_t)s->scale + line] = (int32_t)scale;
    if (s->high != SQ_ES_NONE)
        take_bits(r, SQ_BS_HIGH, row, j * s->k,
                  sq_scaled_code_bits(sq_scaled_high_element(s->high_kind, s->element)), s->k,
                  record + (size_t)s->high + line * s->k);
    if (s->mask != SQ_ES_NONE)
        take_bits(r, SQ_BS_MASK, row, j * bank, 1, bank, record + (size_t)s->mask + at);
    if (s->high_scale != SQ_ES_NONE)
        record[(size_t)s->high_scale + line] = r->plane[HIGH_SCALE][row * blocks + j];
    if (s->place != SQ_ES_NONE)
        take_bits(r, SQ_BS_INDEX, row, j, 5, 1, record + (size_t)s->place + line);
    const unsigned subs = sq_scaled_sub_bits(s->element);
    if (s->sub != SQ_ES_NONE)
        take_bits(r, SQ_BS_SUB, row, j * subs, 1, subs, record + (size_t)s->sub + line * subs);
}

// Block j of all lines from row `first` on.
static void put_side(const struct sq_es_side *s, const struct rows *r, size_t first, size_t j,
                     int32_t *record)
{
    for (size_t line = 0; line < s->lines; line++)
        if (first + line < r->n)
            put_block(s, r, first + line, j, line, record);
        else
            put_nothing(s, line, record);
}

// Scales above the blocks of lines from row `first` on; 1 for a line that is not there.
static void put_globals(const struct rows *r, size_t first, size_t lines, int32_t *scale)
{
    for (unsigned part = 0; part < SQ_BS_PARTS; part++)
        for (size_t i = 0; i < lines; i++)
            *scale++ = first + i < r->n
                           ? (int32_t)sq_combine_bits(r->global[part * r->n + first + i])
                           : 0x3f800000;
}

// A job for each column of tiles, which goes down the tokens; of diagonal tiles, which the chip asks for, a job
// each, of tile i of both sides or the last. There activations come coded.
static enum sq_status make(struct sq_route_work *w, struct sq_error *err)
{
    struct rows act, weight;
    SQ_TRY(set_point(w, err));
    SQ_TRY(rows_of(w->p, false, &act, err));
    SQ_TRY(rows_of(w->p, true, &weight, err));
    const struct sq_es_layout l = sq_es_layout_of(w->point->value);
    const size_t rows = l.c.rows, cols = l.c.cols, blocks = w->p->k / l.act.bank;
    const size_t of_rows = (w->p->m + rows - 1) / rows, of_cols = (w->p->n + cols - 1) / cols;
    const size_t tiles = w->is_diagonal ? 1 : of_rows;
    const size_t jobs = w->is_diagonal && of_rows > of_cols ? of_rows : of_cols;
    SQ_FAIL_IF(blocks > UINT16_MAX || tiles > UINT16_MAX, err, SQ_ERR_RANGE,
               "%s: %zu blocks, %zu tiles of tokens, need 1..%d", sq_path_tail(w->p->source),
               blocks, tiles, UINT16_MAX);
    w->stream->max_outputs = tiles * rows * cols / l.c.port_len;
    SQ_TRY(sq_route_begin(w, jobs, jobs * tiles * blocks, err));
    for (size_t g = 0; g < jobs; g++) {
        int32_t *const job = w->stream->beats + g * tiles * blocks * w->len;
        uint32_t *const len = w->stream->len[g];
        job[SQ_ES_BLOCKS] = (int32_t)blocks;
        job[SQ_ES_TILES] = (int32_t)tiles;
        len[SQ_ES_JOB] = 1;
        len[SQ_ES_ACT] = len[SQ_ES_WEIGHT] = (uint32_t)(blocks * tiles);
        len[SQ_ES_SCALE] = (uint32_t)tiles;
        for (size_t t = 0; t < tiles; t++) {
            const size_t row = (!w->is_diagonal ? t : g < of_rows ? g : of_rows - 1) * rows;
            const size_t col = (g < of_cols ? g : of_cols - 1) * cols;
            put_globals(&weight, col, cols, job + t * w->len + l.scale);
            put_globals(&act, row, rows, job + t * w->len + l.scale + 2 * cols);
            for (size_t j = 0; j < blocks; j++) {
                int32_t *const record = job + (t * blocks + j) * w->len;
                put_side(&l.act, &act, row, j, record);
                put_side(&l.weight, &weight, col, j, record);
            }
        }
    }
    return SQ_OK;
}

// Every output, and that nothing was wrong.
static enum sq_status check(struct sq_route_work *w, struct sq_error *err)
{
    const struct sq_es_layout l = sq_es_layout_of(w->point->value);
    const size_t rows = l.c.rows, cols = l.c.cols, port = l.c.port_len;
    const float *y;
    SQ_PRODUCT_TENSOR(w->p, "y", SQ_F32, w->p->m * w->p->n, y);
    for (size_t g = 0, first = 0; g < w->stream->n_groups; first += w->stream->len[g++][1]) {
        const size_t words = sq_route_golden(w, g, first);
        for (size_t i = 0; i < words * port; i++) {
            const int32_t *const word = w->golden + i / port * w->out_len;
            const size_t token = i / (rows * cols) * rows + i % (rows * cols) / cols;
            const size_t channel = g * cols + i % cols, at = token * w->p->n + channel;
            if (token < w->p->m && channel < w->p->n)
                sq_route_expect(w, "y", at, (int32_t)sq_combine_bits(y[at]), word[i % port]);
        }
        sq_route_expect(w, "error", g, 0, w->golden[(words - 1) * w->out_len + port + 1]);
    }
    return SQ_OK;
}

static const struct sq_route routes[] = {{&sq_engine_scaled_block, make, check, NULL}};

static enum sq_status make_chip(struct sq_route_work *w, struct sq_error *err)
{
    return sq_chip_make(w, &sq_engine_scaled_block, make, err);
}

static const struct sq_route chip = {&sq_top_block, make_chip, sq_chip_check, NULL};

// ---- layers ---------------------------------------------------------------------------------

static enum sq_status check_recipe(const struct sq_recipe *r, struct sq_error *err)
{
    SQ_FAIL_IF(r->operand != SQ_OPERAND_BOTH, err, SQ_ERR_UNSUPPORTED,
               "operand = %s: no block multiplies binary32, need both in RTL",
               sq_bs_operand_choice[r->operand]);
    SQ_FAIL_IF(sq_bs_recipe(r)->accumulate || sq_bs_recipe(r)->sum, err, SQ_ERR_UNSUPPORTED,
               "%s = %s: blocks add as SPEC Q.7 has it, need spec in RTL",
               sq_bs_recipe(r)->sum ? "sum" : "accumulate",
               sq_bs_recipe(r)->sum ? sq_sum_choice[sq_bs_recipe(r)->sum]
                                    : sq_bs_accumulate_choice[sq_bs_recipe(r)->accumulate]);
    SQ_TRY(sq_bs_hardware_check(r, err));
    SQ_FAIL_IF(!has_engine(sq_bs_of(r).kind), err, SQ_ERR_UNSUPPORTED,
               "format = %s: no block multiplies codes of kind %s, need one of the kinds "
               "mx, plus, nv, four_six, sq, split, if4, razer, table",
               r->format->name, sq_bs_of(r).kind->name);
    return SQ_OK;
}

// An operand of the product, as it is stored.
static enum sq_status put_rows(struct sq_product *p, const struct sq_bs *c, bool is_weight,
                               struct sq_error *err)
{
    const size_t blocks = c->k / c->f.block;
    float *global;
    for (enum sq_bs_stream s = 0; s < SQ_BS_STREAMS; s++) {
        const size_t nbytes = sq_bs_row_nbytes(&c->f, c->k, s);
        uint8_t *rows;
        if (nbytes == 0)
            continue;
        SQ_PRODUCT_KEEP(p, rows, c->n * nbytes);
        for (size_t i = 0; i < c->n; i++)
            sq_bs_pack_row(c, i, s, rows + i * nbytes);
        sq_product_put(p, plane_name[is_weight][s], SQ_U8, c->n * nbytes, rows);
    }
    SQ_PRODUCT_KEEP(p, global, SQ_BS_PARTS * c->n);
    for (unsigned part = 0; part < SQ_BS_PARTS; part++) {
        uint8_t *scale;
        for (size_t i = 0; i < c->n; i++)
            global[part * c->n + i] = c->global[part] ? c->global[part][i] : 1;
        if (!c->scale[part])
            continue;
        const size_t nbytes = c->n * blocks * sq_bs_scale_nbytes(&c->f);
        SQ_PRODUCT_KEEP(p, scale, nbytes);
        memcpy(scale, c->scale[part], nbytes);
        sq_product_put(p, plane_name[is_weight][SCALE + part], SQ_U8, nbytes, scale);
    }
    sq_product_put(p, global_name[is_weight], SQ_F32, SQ_BS_PARTS * c->n, global);
    return SQ_OK;
}

// What the encoder reads: bfloat16 over a power of two, of a token with high codes that of theirs.
static enum sq_status put_x(struct sq_product *p, const struct sq_bs *a, const float *x, size_t k,
                            struct sq_error *err)
{
    const unsigned part = sq_bs_n_parts(&a->f) - 1;
    float *over;
    SQ_PRODUCT_KEEP(p, over, a->n * a->k);
    for (size_t t = 0; t < a->n; t++)
        for (size_t i = 0; i < k; i++) {
            float *const to = &over[t * a->k + i];
            *to = x[t * k + i] / a->global[part][t];
            SQ_FAIL_IF(!p->is_shape && (sq_combine_round_bf16(*to) != *to ||
                                        *to * a->global[part][t] != x[t * k + i]),
                       err, SQ_ERR_RANGE,
                       "%s: x[%zu][%zu] = %g over its scale of %g is no bfloat16", p->source, t, i,
                       (double)x[t * k + i], (double)a->global[part][t]);
        }
    sq_product_put(p, "x", SQ_F32, a->n * a->k, over);
    return SQ_OK;
}

// Elements of a row times the scales of their blocks, as integers; fraction: of what they are units of 2^-fraction.
static void take_integers(const struct sq_bs *c, size_t row, int *fraction, int64_t *to)
{
    unsigned words[SQ_SCALED_TABLE_WORDS];
    const enum sq_scaled_element e = sq_bs_engine_element(&c->f, words);
    const unsigned sign = sq_bs_has_scale_sign(&c->f) ? SQ_BS_SCALE_SIGN : 0;
    const size_t blocks = c->k / c->f.block;
    for (size_t i = 0; i < c->k; i++) {
        const unsigned scale = c->scale[0][row * blocks + i / c->f.block] & ~sign;
        to[i] = sq_scaled_integer(c, e, row, i) * sq_scaled_units(SQ_SCALED_E4M3, (uint8_t)scale);
    }
    *fraction = (int)sq_scaled_element_fraction(e) + 9;
}

// The product with exact sums of blocks at scales of E4M3: one rounding, then that of the scales above.
static enum sq_status multiply_exact(struct sq_product *p, const struct sq_bs *w,
                                     const struct sq_bs *a, struct sq_error *err)
{
    int64_t *x, *v;
    float *y;
    int of_w, of_x = 0;
    SQ_PRODUCT_KEEP(p, y, a->n * w->n);
    SQ_PRODUCT_KEEP(p, x, a->n * a->k);
    SQ_PRODUCT_KEEP(p, v, w->k);
    for (size_t t = 0; t < a->n; t++)
        take_integers(a, t, &of_x, x + t * a->k);
    for (size_t c = 0; c < w->n; c++) {
        take_integers(w, c, &of_w, v);
        for (size_t t = 0; t < a->n; t++) {
            int64_t sum = 0;
            for (size_t i = 0; i < w->k; i++)
                sum += x[t * a->k + i] * v[i];
            y[t * w->n + c] = sq_combine_float(0, ldexpf((float)sum, -of_x - of_w),
                                               w->global[0] ? w->global[0][c] : 1,
                                               a->global[0] ? a->global[0][t] : 1);
        }
    }
    sq_product_put(p, "y_summed", SQ_F32, a->n * w->n, y);
    return SQ_OK;
}

// The product with aligned sums (SPEC Q.11), then that of the scales above.
static enum sq_status multiply_aligned(struct sq_product *p, unsigned acc, unsigned aligned,
                                       const struct sq_bs *w, const struct sq_bs *a,
                                       struct sq_error *err)
{
    const struct sq_sum_rule r = sq_scaled_rule(acc, aligned, w->f.block);
    float *y;
    double *sum;
    SQ_PRODUCT_KEEP(p, y, a->n * w->n);
    SQ_PRODUCT_KEEP(p, sum, a->n * w->n);
    memset(sum, 0, a->n * w->n * sizeof *sum);
    if (!sq_bs_accumulate(&r, w, a, sum))
        return SQ_NO_MEMORY(err, "sums of %zu x %zu", w->n, w->k);
    for (size_t i = 0; i < a->n * w->n; i++)
        y[i] = sq_combine_float(0, (float)sum[i], w->global[0] ? w->global[0][i % w->n] : 1,
                                a->global[0] ? a->global[0][i / w->n] : 1);
    sq_product_put(p, "y_summed", SQ_F32, a->n * w->n, y);
    return SQ_OK;
}

static enum sq_status multiply(struct sq_product *p, const struct sq_bs *w, const struct sq_bs *a,
                               struct sq_error *err)
{
    float *y;
    uint8_t *scratch;
    SQ_PRODUCT_KEEP(p, y, a->n * w->n);
    const struct sq_bs_product g = {.w = w, .x = a, .y = y};
    SQ_PRODUCT_KEEP(p, scratch, sq_bs_gemm_scratch(&g));
    sq_bs_gemm(&g, scratch);
    sq_product_put(p, "y", SQ_F32, a->n * w->n, y);
    return SQ_OK;
}

static enum sq_status put_all(const struct sq_quant_layer *q, const struct sq_recipe *r,
                              const float *x, const struct sq_bs *a, struct sq_product *p,
                              struct sq_error *err)
{
    const struct sq_bs *const w = sq_bs_layer_weights(q->state);
    p->n = w->n;
    p->k = w->k;
    SQ_TRY(put_numbers(p, &w->f, err));
    sq_product_put_number(p, "choose", choice_of(&a->f));
    SQ_TRY(put_rows(p, w, true, err));
    SQ_TRY(put_rows(p, a, false, err));
    if (is_encoder(p, r, &a->f))
        SQ_TRY(put_x(p, a, x, q->k_orig, err));
    size_t acc, aligned;
    SQ_TRY(sq_product_option(p, "acc", 0, SQ_SCALED_AFTER, 0, &acc, err));
    SQ_TRY(sq_product_option(p, "aligned", 0, SQ_SUM_ALIGNED_MAX, 0, &aligned, err));
    const enum sq_scaled_scale scale = sq_bs_engine_scale(&w->f);
    if (acc == SQ_SCALED_FIXED && scale == SQ_SCALED_E4M3 && sq_bs_high_bits(&w->f) == 0)
        SQ_TRY(multiply_exact(p, w, a, err));
    if (acc >= SQ_SCALED_ALIGNED && scale == SQ_SCALED_E8M0 && sq_bs_n_parts(&w->f) == 1)
        SQ_TRY(multiply_aligned(p, (unsigned)acc, (unsigned)aligned, w, a, err));
    return multiply(p, w, a, err);
}

static enum sq_status product(const struct sq_quant_layer *q, const struct sq_recipe *r, float *x,
                              struct sq_product *p, struct sq_error *err)
{
    SQ_CLOSED(sq_bs_rows_free) struct sq_bs a = {0};
    const struct sq_bs_format f = sq_bs_act_of(r);
    for (size_t i = 0; is_encoder(p, r, &f) && i < p->m * q->k_orig; i++)
        x[i] = sq_combine_round_bf16(x[i]);
    SQ_TRY(sq_bs_layer_encode(q->state, x, p->m, &a, err));
    return put_all(q, r, x, &a, p, err);
}

const struct sq_format_routes sq_bs_routes = {
    .route = routes,
    .n_routes = SQ_LEN(routes),
    .chip = &chip,
    .check = check_recipe,
    .product = product,
};
