// SPDX-License-Identifier: Apache-2.0
// The hardware of sq_w. Routes: own scales, the core, the gather unit in it, and for layers the
// core with its output stage (sq_w_core_route.c), which is also for codes of floating point; tied scales and split codes, the arrays for them, and for
// layers their engine.
#include "sim/format/core/sq_w_route.h"

#include <string.h>

#include "models/core/sq_mac.h"
#include "models/output/sq_combine.h"
#include "models/quant/sq_codes_alloc.h"
#include "sim/block/core/sq_core_block.h"
#include "sim/format/core/sq_grid_product.h"
#include "sim/format/file/sq_trace.h"
#include "sim/format/sq_tile_route.h"
#include "sim/format/top/sq_chip_route.h"

static enum sq_status values(struct sq_trace *r, struct sq_error *err)
{
    const float *w, *s_x;
    const int8_t *x;
    struct sq_matrix m = {.n = r->p.n, .k = r->p.k, .k_orig = r->p.k};
    SQ_TRY(sq_product_format(&r->p, &m.format, err));
    SQ_TRACE_INPUT(r, "w", SQ_F32, r->p.n * r->p.k, w);
    SQ_TRACE_INPUT(r, "x", SQ_I8, r->p.m * r->p.k, x);
    SQ_TRACE_INPUT(r, "s_x", SQ_F32, r->p.m, s_x);
    const size_t n_lo = r->p.n * sq_lo_row_nbytes(&m.format, r->p.k);
    const size_t n_hi = r->p.n * sq_hi_row_nbytes(&m.format, r->p.k);
    const size_t n_groups = sq_n_groups(&m.format, r->p.k), n_p = r->p.m * r->p.n * n_groups;
    SQ_TRACE_KEEP(r, m.lo, n_lo);
    SQ_TRACE_KEEP(r, m.hi, n_hi);
    SQ_TRACE_KEEP(r, m.s_lo, r->p.n * n_groups);
    SQ_TRACE_KEEP(r, m.s_hi, r->p.n * n_groups);
    SQ_TRY(sq_encode_rtn(w, &m, err));
    SQ_TRY(sq_trace_compare(r, "lo", SQ_U8, n_lo, m.lo, err));
    SQ_TRY(sq_trace_compare(r, "hi", SQ_U8, n_hi, m.hi, err));
    SQ_TRY(sq_trace_compare(r, "s_lo", SQ_F32, r->p.n * n_groups, m.s_lo, err));
    SQ_TRY(sq_trace_compare(r, "s_hi", SQ_F32, r->p.n * n_groups, m.s_hi, err));
    uint8_t *scratch;
    float *y;
    int32_t *p_lo, *p_hi;
    SQ_TRACE_KEEP(r, scratch, sq_gemm_scratch_nbytes(&m));
    SQ_TRACE_KEEP(r, y, r->p.m * r->p.n);
    SQ_TRACE_KEEP(r, p_lo, n_p);
    SQ_TRACE_KEEP(r, p_hi, n_p);
    sq_gemm_sq_w(&m, x, s_x, r->p.m, 0, r->p.n, y, p_lo, p_hi, scratch);
    SQ_TRY(sq_trace_compare(r, "p_lo", SQ_I32, n_p, p_lo, err));
    SQ_TRY(sq_trace_compare(r, "p_hi", SQ_I32, n_p, p_hi, err));
    return sq_trace_compare(r, "y", SQ_F32, r->p.m * r->p.n, y, err);
}

static bool is_own(const struct sq_product *p)
{
    return sq_product_count(p, "lo") != SIZE_MAX;
}

// Kernel traces go through the core alone, which holds a gather unit.
static bool is_own_layer(const struct sq_product *p)
{
    return is_own(p) && !p->file;
}

// ---- gather -------------------------------------------------------------------------------------

// Beats: for (channel) for (tile of tokens) for (bank).
struct gather {
    size_t rows, tiles_m, banks, bank, high;
};

static void fill_gather(struct sq_route_work *w, const struct gather *s, const struct sq_matrix *m,
                        const int8_t *x, int8_t *lo, int8_t *hi)
{
    const size_t code = sq_route_field(w, "code"), act = sq_route_field(w, "act");
    int32_t *beat = w->stream->beats;
    for (size_t c = 0; c < m->n; c++) {
        sq_row_codes(m, c, lo, hi);
        for (size_t tile = 0; tile < s->tiles_m; tile++)
            for (size_t b = 0; b < s->banks; b++, beat += w->len) {
                sq_route_copy(beat + code, lo + b * s->bank, s->bank);
                for (size_t r = 0; r < s->rows && tile * s->rows + r < w->p->m; r++)
                    sq_route_copy(beat + act + r * s->bank,
                                  x + (tile * s->rows + r) * m->k + b * s->bank, s->bank);
            }
    }
    for (size_t g = 0; g < w->stream->n_groups; g++)
        w->stream->len[g][0] = 1;
}

static struct gather gather_of(const struct sq_route_work *w)
{
    const unsigned *v = w->point->value;
    const size_t rows = v[SQ_CORE_ROWS], bank = v[SQ_CORE_BANK_LEN];
    return (struct gather){rows, (w->p->m + rows - 1) / rows, w->p->k / bank, bank,
                           v[SQ_CORE_HIGH_PER_BANK]};
}

static enum sq_status make_gather(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_core_config config;
    SQ_CLOSED(sq_operand_free) struct sq_operand operand = {0};
    const int8_t *x;
    int8_t *lo, *hi;
    SQ_TRY(sq_w_config(w->p, w->core, &config, err));
    sq_core_set(w->point->value, &config);
    const struct gather s = gather_of(w);
    SQ_PRODUCT_TENSOR(w->p, "x", SQ_I8, w->p->m * w->p->k, x);
    SQ_PRODUCT_KEEP(w->p, lo, w->p->k);
    SQ_PRODUCT_KEEP(w->p, hi, w->p->k);
    const size_t n = w->p->n * s.tiles_m * s.banks;
    SQ_TRY(sq_route_begin(w, n, n, err));
    SQ_TRY(sq_w_operand(w->p, &operand, err));
    fill_gather(w, &s, &operand.m, x, lo, hi);
    return SQ_OK;
}

// Clean codes times all activations are P_lo, high codes times the gathered ones P_hi.
static void check_channel(struct sq_route_work *w, const struct gather *s, size_t channel,
                          const int8_t *hi, int32_t *sum, const int32_t *p_lo, const int32_t *p_hi,
                          size_t groups)
{
    const size_t m = w->p->m, act = sq_route_field(w, "act");
    size_t g = channel * s->tiles_m * s->banks;
    for (size_t tile = 0; tile < s->tiles_m; tile++) {
        memset(sum, 0, 2 * groups * s->rows * sizeof *sum);
        for (size_t b = 0; b < s->banks; b++, g++) {
            const int32_t *const x = w->stream->beats + g * w->len + act;
            (void)sq_route_golden(w, g, g);
            for (size_t r = 0; r < s->rows; r++) {
                int32_t *const to = sum + 2 * (r * groups + b * groups / s->banks);
                for (size_t i = 0; i < s->bank; i++)
                    to[0] += w->golden[i] * x[r * s->bank + i];
                for (size_t i = 0; i < s->high; i++)
                    to[1] += w->golden[s->bank + r * s->high + i] * hi[b * s->high + i];
            }
        }
        for (size_t i = 0; i < s->rows * groups && tile * s->rows + i / groups < m; i++) {
            const size_t token = tile * s->rows + i / groups;
            const size_t at = (token * w->p->n + channel) * groups + i % groups;
            sq_route_expect(w, "p_lo", at, p_lo[at], sum[2 * i]);
            sq_route_expect(w, "p_hi", at, p_hi[at], sum[2 * i + 1]);
        }
    }
}

static enum sq_status check_gather(struct sq_route_work *w, struct sq_error *err)
{
    const struct gather s = gather_of(w);
    SQ_CLOSED(sq_operand_free) struct sq_operand operand = {0};
    const int32_t *p_lo, *p_hi;
    int32_t *sum;
    int8_t *lo, *hi;
    size_t groups;
    SQ_TRY(sq_product_groups(w->p, &groups, err));
    SQ_PRODUCT_TENSOR(w->p, "p_lo", SQ_I32, w->p->m * w->p->n * groups, p_lo);
    SQ_PRODUCT_TENSOR(w->p, "p_hi", SQ_I32, w->p->m * w->p->n * groups, p_hi);
    SQ_PRODUCT_KEEP(w->p, sum, 2 * groups * s.rows);
    SQ_PRODUCT_KEEP(w->p, lo, w->p->k);
    SQ_PRODUCT_KEEP(w->p, hi, w->p->k);
    SQ_TRY(sq_w_operand(w->p, &operand, err));
    for (size_t c = 0; c < w->p->n; c++) {
        sq_row_codes(&operand.m, c, lo, hi);
        check_channel(w, &s, c, hi, sum, p_lo, p_hi, groups);
    }
    return SQ_OK;
}

// ---- arrays -------------------------------------------------------------------------------------

static bool is_tied(const struct sq_product *p)
{
    return !is_own(p) && !sq_w_is_fp(p) && sq_product_count(p, "code") != SIZE_MAX;
}

static bool is_split(const struct sq_product *p)
{
    return !is_own(p) && !sq_w_is_fp(p) && !is_tied(p);
}

static bool is_tied_trace(const struct sq_product *p)
{
    return is_tied(p) && sq_tiles_has_no_scales(p);
}

static bool is_tied_layer(const struct sq_product *p)
{
    return is_tied(p) && sq_tiles_has_scales(p);
}

static bool is_split_trace(const struct sq_product *p)
{
    return is_split(p) && sq_tiles_has_no_scales(p);
}

static bool is_split_layer(const struct sq_product *p)
{
    return is_split(p) && sq_tiles_has_scales(p);
}

static enum sq_status make_tied(struct sq_route_work *w, struct sq_error *err)
{
    return sq_route_make_coded(w, SQ_ARRAY_SENTINEL, false, "x", err);
}

static enum sq_status make_split(struct sq_route_work *w, struct sq_error *err)
{
    return sq_route_make_coded(w, SQ_ARRAY_SPLIT, false, "x", err);
}

// ---- the chip -----------------------------------------------------------------------------------

// Own scales on the array: mask codes in the dense plane, high codes beside it, two sums.
static enum sq_status make_own(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_operand operand;
    int8_t *code, *hi;
    uint8_t *mask;
    const size_t k = w->p->k;
    SQ_PRODUCT_KEEP(w->p, code, w->p->n * k);
    SQ_PRODUCT_KEEP(w->p, mask, w->p->n * k);
    SQ_PRODUCT_KEEP(w->p, hi, k);
    SQ_TRY(sq_w_operand(w->p, &operand, err));
    const int mask_code = sq_mask_code(operand.m.format.low_bits);
    for (size_t c = 0; c < w->p->n; c++) {
        int8_t *const row = code + c * k;
        const int8_t *next = hi;
        sq_row_codes(&operand.m, c, row, hi);
        for (size_t i = 0; i < k; i++) {
            mask[c * k + i] = row[i] == mask_code;
            if (mask[c * k + i])
                row[i] = *next++;
        }
    }
    sq_operand_free(&operand);
    sq_product_put(w->p, "code", SQ_I8, w->p->n * k, code);
    sq_product_put(w->p, "mask", SQ_U8, w->p->n * k, mask);
    return sq_route_make_coded(w, SQ_ARRAY_SENTINEL, false, "x", err);
}

static enum sq_status make_chip(struct sq_route_work *w, struct sq_error *err)
{
    SQ_FAIL_IF(sq_w_is_fp(w->p), err, SQ_ERR_UNSUPPORTED,
               "variant = fp: the chip multiplies integers, need own, tied or split");
    return sq_chip_make(w, &sq_engine_array_block,
                        is_own(w->p)    ? make_own
                        : is_tied(w->p) ? make_tied
                                        : make_split,
                        err);
}

static const struct sq_route chip = {&sq_top_block, make_chip, sq_chip_check, sq_tiles_has_scales};

static const struct sq_route routes[] = {
    {NULL, NULL, NULL, is_own},
    {&sq_gather_block, make_gather, check_gather, is_own_layer},
    {&sq_core_out_block, sq_w_make_core_out, sq_w_check_core_out, is_own_layer},
    {&sq_core_out_block, sq_w_make_core_out, sq_w_check_core_out, sq_w_is_fp},
    {&sq_array_block, make_tied, sq_tiles_check, is_tied_trace},
    {&sq_array_block, make_split, sq_tiles_check, is_split_trace},
    {&sq_engine_array_block, make_tied, sq_tiles_check, is_tied_layer},
    {&sq_engine_array_block, make_split, sq_tiles_check, is_split_layer},
};

const struct sq_format_routes sq_w_routes = {
    .route = routes,
    .n_routes = SQ_LEN(routes),
    .chip = &chip,
    .trace_values = values,
    .trace_output = {SQ_COMBINE_TWO, {"s_lo", "s_hi", "s_x", NULL}},
    .check = sq_grid_check_routes,
    .product = sq_grid_product,
};
