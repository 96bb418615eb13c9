// SPDX-License-Identifier: Apache-2.0
// Layers of sq_w through the core with its output stage: codes and scales to binary32. Own scales, integers as
// they are packed or codes of floating point (SPEC A.9).
#include <string.h>

#include "models/core/sq_mac.h"
#include "sim/block/core/sq_core_block.h"
#include "sim/block/core/sq_core_run.h"
#include "sim/format/core/sq_w_route.h"
#include "sim/format/sq_tile_route.h"

// ---- what the core takes ------------------------------------------------------------------------

static enum sq_status copy_operand(struct sq_product *p, struct sq_operand *w, struct sq_error *err)
{
    const uint8_t *lo, *hi;
    const float *s_lo, *s_hi;
    SQ_PRODUCT_TENSOR(p, "lo", SQ_U8, w->lo_nbytes, lo);
    SQ_PRODUCT_TENSOR(p, "hi", SQ_U8, w->hi_nbytes, hi);
    SQ_PRODUCT_TENSOR(p, "s_lo", SQ_F32, w->n_scales, s_lo);
    SQ_PRODUCT_TENSOR(p, "s_hi", SQ_F32, w->n_scales, s_hi);
    memcpy(w->m.lo, lo, w->lo_nbytes);
    memcpy(w->m.hi, hi, w->hi_nbytes);
    memcpy(w->m.s_lo, s_lo, w->n_scales * sizeof *s_lo);
    memcpy(w->m.s_hi, s_hi, w->n_scales * sizeof *s_hi);
    return sq_matrix_validate(&w->m, w->lo_nbytes, w->hi_nbytes, w->n_scales, err);
}

enum sq_status sq_w_operand(struct sq_product *p, struct sq_operand *w, struct sq_error *err)
{
    struct sq_format f;
    SQ_TRY(sq_product_format(p, &f, err));
    SQ_TRY(sq_operand_alloc(w, &f, p->n, p->k, err));
    const enum sq_status status = copy_operand(p, w, err);
    return SQ_ELSE(status, sq_operand_free(w));
}

enum sq_status sq_w_config(const struct sq_product *p, const struct sq_core_config *core,
                           struct sq_core_config *config, struct sq_error *err)
{
    struct sq_format f;
    size_t act_bits;
    SQ_TRY(sq_product_format(p, &f, err));
    SQ_TRY(sq_product_option(p, "act_bits", 4, 8, 8, &act_bits, err));
    *config = *core;
    config->act_bits = (unsigned)act_bits;
    config->high_bits = f.high_bits;
    config->low_bits = f.low_bits;
    config->bank = f.bank;
    config->high_per_bank = f.high_per_bank;
    SQ_TRY(sq_core_config_check(config, err));
    *config = sq_gemm_core(config, &f, p->k);
    return SQ_OK;
}

bool sq_w_is_fp(const struct sq_product *p)
{
    size_t is_fp;
    return sq_product_option(p, "is_fp", 0, 1, 0, &is_fp, NULL) == SQ_OK && is_fp;
}

// Operands of the tiles of a product, banks in order: a row of tiles is a whole row of W.
struct core_banks {
    struct sq_core_config g;
    size_t groups, group_banks, tiles_m, tiles_n; // of a tile; of the product
    int8_t *act, *lo, *hi;
};

static size_t tile_banks(const struct core_banks *b)
{
    return b->groups * b->group_banks;
}

static enum sq_status alloc_banks(struct sq_product *p, struct core_banks *b, struct sq_error *err)
{
    const size_t n = b->tiles_m * b->tiles_n * tile_banks(b);
    SQ_FAIL_IF(n > UINT32_MAX / 2 / b->g.bank, err, SQ_ERR_RANGE,
               "%s: %zu banks for core_out, need at most %u", sq_path_tail(p->source), n,
               UINT32_MAX / 2 / b->g.bank);
    SQ_PRODUCT_KEEP(p, b->act, n * b->g.rows * b->g.bank);
    SQ_PRODUCT_KEEP(p, b->lo, n * b->g.cols * b->g.bank);
    SQ_PRODUCT_KEEP(p, b->hi, n * b->g.cols * b->g.high_per_bank);
    return SQ_OK;
}

// Puts column c of tile t into the banks: a row of weights whose codes are lo[k] and hi. NULL: the product has
// no such row, so the column gets masks and zeros.
static void put_column(const struct core_banks *b, size_t t, unsigned c, const int8_t *lo,
                       const int8_t *hi)
{
    const unsigned len = b->g.bank, high = b->g.high_per_bank;
    for (size_t j = 0; j < tile_banks(b); j++) {
        const size_t line = (t * tile_banks(b) + j) * b->g.cols + c;
        if (lo) {
            memcpy(b->lo + line * len, lo + j * len, len);
            memcpy(b->hi + line * high, hi + j * high, high);
        } else {
            memset(b->lo + line * len, sq_mask_code(b->g.low_bits), high);
        }
    }
}

// The codes of the weights: packed, or where code is not NULL codes and masks [n][k].
struct weights {
    size_t n, k;
    struct sq_operand packed;
    const int8_t *code;
    const uint8_t *mask;
};

static enum sq_status get_weights(struct sq_product *p, struct weights *w, struct sq_error *err)
{
    *w = (struct weights){.n = p->n, .k = p->k};
    if (!sq_w_is_fp(p))
        return sq_w_operand(p, &w->packed, err);
    SQ_PRODUCT_TENSOR(p, "code", SQ_I8, p->n * p->k, w->code);
    SQ_PRODUCT_TENSOR(p, "mask", SQ_U8, p->n * p->k, w->mask);
    return SQ_OK;
}

static void free_weights(struct weights *w)
{
    if (!w->code)
        sq_operand_free(&w->packed);
}

// A row as the core reads it: low codes with mask codes lo[k], the high codes.
static void get_row(const struct core_banks *b, const struct weights *w, size_t row, int8_t *lo,
                    int8_t *hi)
{
    const size_t at = row * w->k;
    if (!w->code) {
        sq_row_codes(&w->packed.m, row, lo, hi);
        return;
    }
    for (size_t i = 0; i < w->k; i++) {
        lo[i] = w->mask[at + i] ? (int8_t)sq_mask_code(b->g.low_bits)
                                : (int8_t)sq_sign_extend((uint8_t)w->code[at + i], b->g.low_bits);
        if (w->mask[at + i])
            *hi++ = w->code[at + i];
    }
}

static void put_tile(const struct core_banks *b, const struct weights *w, const int8_t *x,
                     size_t n_x, size_t t, int8_t *lo, int8_t *hi)
{
    const size_t token = t % b->tiles_m * b->g.rows, channel = t / b->tiles_m * b->g.cols;
    for (unsigned c = 0; c < b->g.cols; c++) {
        const bool is_there = channel + c < w->n;
        if (is_there)
            get_row(b, w, channel + c, lo, hi);
        put_column(b, t, c, is_there ? lo : NULL, hi);
    }
    for (size_t r = 0; r < b->g.rows && token + r < n_x; r++)
        for (size_t j = 0; j < tile_banks(b); j++)
            memcpy(b->act + ((t * tile_banks(b) + j) * b->g.rows + r) * b->g.bank,
                   x + (token + r) * w->k + j * b->g.bank, b->g.bank);
}

// The case: one job over all tiles, then the scales of each of its groups.
static enum sq_status fill_core_out(struct sq_route_work *w, const struct core_banks *b,
                                    struct sq_error *err)
{
    const size_t tiles = b->tiles_m * b->tiles_n, groups = tiles * b->groups;
    const struct sq_job job = {(uint32_t)b->group_banks, (uint32_t)groups};
    const struct sq_core_operands o = {tiles * tile_banks(b), b->act, b->lo, b->hi};
    struct sq_case core = {.point = w->point};
    struct sq_tile_scales s;
    SQ_TRY(sq_tile_scales_of(w->p, &s, err));
    SQ_TRY(sq_core_case(&core, &job, &o, w->stream->seed, err));
    sq_case_free(w->stream);
    const enum sq_status status = sq_core_out_case(w->stream, &core, (uint32_t)b->groups, err);
    sq_case_free(&core);
    SQ_TRY(status);
    for (size_t g = 0; g < groups; g++) {
        const size_t t = g / b->groups;
        int32_t *const to = w->stream->beats + (g + 1) * w->len - 2 * (b->g.rows + b->g.cols);
        sq_tile_scales_put(&s, w->p, t % b->tiles_m * b->g.rows, b->g.rows,
                           t / b->tiles_m * b->g.cols, b->g.cols, g % b->groups, to);
        to[-1] = (g + 1) % b->groups == 0; // the last of its tile
    }
    return SQ_OK;
}

static struct core_banks banks_of(const struct sq_route_work *w, const struct sq_core_config *g,
                                  size_t groups)
{
    return (struct core_banks){.g = *g,
                               .groups = groups,
                               .group_banks = w->p->k / groups / g->bank,
                               .tiles_m = (w->p->m + g->rows - 1) / g->rows,
                               .tiles_n = (w->p->n + g->cols - 1) / g->cols};
}

// Codes of floating point: groups whose sums are exact.
static enum sq_status set_fp(struct sq_route_work *w, const struct core_banks *b,
                             struct sq_error *err)
{
    const size_t high = b->group_banks * b->g.high_per_bank;
    if (!sq_w_is_fp(w->p))
        return SQ_OK;
    sq_route_set(w, "IsFp", 1);
    if (high > SQ_CORE_FP_HIGH_MAX)
        return SQ_FAIL(
            err, SQ_ERR_RANGE,
            "%s: group = %zu has %zu high codes, need at most %d with variant fp, of which "
            "the sum is exact",
            sq_path_tail(w->p->source), b->group_banks * b->g.bank, high, SQ_CORE_FP_HIGH_MAX);
    return SQ_OK;
}

enum sq_status sq_w_make_core_out(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_core_config config;
    struct weights weights;
    const int8_t *x;
    int8_t *lo, *hi;
    size_t groups;
    SQ_TRY(sq_w_config(w->p, w->core, &config, err));
    SQ_TRY(sq_product_groups(w->p, &groups, err));
    sq_core_set(w->point->value, &config);
    SQ_TRY(sq_route_set_output(w, config.rows, config.cols, 1, err));
    struct core_banks b = banks_of(w, &config, groups);
    SQ_TRY(set_fp(w, &b, err));
    const unsigned low = sq_core_low_steps(&config), high = sq_core_high_steps(&config);
    const size_t tiles = b.tiles_m * b.tiles_n;
    w->stream->max_outputs = tiles * config.rows;
    SQ_TRY(sq_route_begin(w, 1, tiles * tile_banks(&b) * (low > high ? low : high), err));
    SQ_TRY(alloc_banks(w->p, &b, err));
    SQ_PRODUCT_TENSOR(w->p, "x", SQ_I8, w->p->m * w->p->k, x);
    SQ_PRODUCT_KEEP(w->p, lo, w->p->k);
    SQ_PRODUCT_KEEP(w->p, hi, w->p->k);
    SQ_TRY(get_weights(w->p, &weights, err));
    for (size_t t = 0; t < tiles; t++)
        put_tile(&b, &weights, x, w->p->m, t, lo, hi);
    free_weights(&weights);
    return fill_core_out(w, &b, err);
}

enum sq_status sq_w_check_core_out(struct sq_route_work *w, struct sq_error *err)
{
    const size_t rows = w->point->value[SQ_CORE_ROWS], cols = w->point->value[SQ_CORE_COLS];
    const size_t tiles_m = (w->p->m + rows - 1) / rows, tiles_n = (w->p->n + cols - 1) / cols;
    const float *y;
    SQ_PRODUCT_TENSOR(w->p, "y", SQ_F32, w->p->m * w->p->n, y);
    (void)sq_route_golden(w, 0, 0);
    for (size_t t = 0; t < tiles_m * tiles_n; t++)
        sq_tiles_expect_words(w, y, t % tiles_m * rows, rows, t / tiles_m * cols, cols,
                              w->golden + t * (rows * cols / w->shape.out[0].count) * w->out_len);
    return SQ_OK;
}
