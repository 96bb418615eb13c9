// SPDX-License-Identifier: Apache-2.0
// sq_array_scaled: block-scaled formats, a block of every line per cycle.
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/output/sq_combine.h"
#include "models/scaled/sq_bs_accumulate.h"
#include "models/scaled/sq_scaled.h"
#include "sim/block/flow/sq_case.h"
#include "sim/block/flow/sq_pipeline.h"
#include "sim/block/scaled/sq_array_scaled_draw.h"

#include "sim/block/scaled/sq_array_scaled.block.h"

// ---- output ---------------------------------------------------------------------------------

// A side of the product: its blocks as struct sq_bs holds them, without a scale above them.
static struct sq_bs_format format_of(const unsigned *v, bool is_act)
{
    const bool is_e8m0 = v[is_act ? ACT_SCALE : WEIGHT_SCALE] == SQ_SCALED_E8M0;
    const bool is_split = is_act && sq_array_scaled_has_mask(v);
    const unsigned element = v[is_act ? ACT_ELEMENT : WEIGHT_ELEMENT];
    if (sq_scaled_is_described((enum sq_scaled_element)element,
                               (enum sq_scaled_scale)v[is_act ? ACT_SCALE : WEIGHT_SCALE]))
        return (struct sq_bs_format){.kind = SQ_BS_TABLE, .block = v[BANK]};
    return (struct sq_bs_format){.kind = is_split                       ? SQ_BS_SPLIT
                                         : element == SQ_SCALED_IF4     ? SQ_BS_IF4
                                         : element == SQ_SCALED_RAZER   ? SQ_BS_RAZER
                                         : sq_array_scaled_has_place(v) ? SQ_BS_PLUS
                                         : is_e8m0                      ? SQ_BS_MX
                                                                        : SQ_BS_NV,
                                 .element = sq_scaled_element_of(element),
                                 .block = v[BANK],
                                 .high_per_block = v[HIGH],
                                 .is_power_of_two = is_split && is_e8m0};
}

struct side {
    struct sq_bs c;
    struct sq_scaled_codes e;
    struct sq_bs_table table; // where the element is one
    uint8_t *units;           // [n][blocks] scales as they came, 0 of blocks that are none
    int8_t *own;              // [n][k] high codes at an own scale
    unsigned errors;          // bits of enum sq_scaled_error
};

static bool alloc_side(const unsigned *v, bool is_act, struct side *s, size_t n, size_t blocks)
{
    const size_t k = blocks * v[BANK];
    s->errors = 0;
    s->e = sq_scaled_codes(v, v[is_act ? ACT_ELEMENT : WEIGHT_ELEMENT]);
    s->c = (struct sq_bs){.f = format_of(v, is_act), .n = n, .k = k, .k_orig = k};
    if (s->c.f.kind == SQ_BS_TABLE) {
        s->table = sq_scaled_decoded(
            s->e, (enum sq_scaled_scale)v[is_act ? ACT_SCALE : WEIGHT_SCALE], v[BANK]);
        s->c.f.table = &s->table;
    }
    s->c.sub = calloc(n * blocks * SQ_BS_SUBS, 1);
    s->c.code = calloc(n * k, 1);
    s->c.high = calloc(n * k, 1);
    s->c.is_high = calloc(n * k, 1);
    s->c.scale[0] = calloc(n * blocks, sq_bs_scale_nbytes(&s->c.f));
    s->c.global[0] = calloc(n, sizeof(float));
    s->units = calloc(n * blocks, 1);
    s->own = calloc(n * k, 1);
    return s->c.sub && s->c.code && s->c.high && s->c.is_high && s->c.scale[0] && s->c.global[0] &&
           s->units && s->own;
}

static void free_side(struct side *s)
{
    free(s->c.sub);
    free(s->c.code);
    free(s->c.high);
    free(s->c.is_high);
    free(s->c.scale[0]);
    free(s->c.global[0]);
    free(s->units);
    free(s->own);
}

// Upper nibbles to the elements of the first k mask bits; one that stands too far up for its lane
// (sq_gather_mux, Window) is not there. Banks of k mask bits have none such.
static bool place_high(const unsigned *v, const int32_t *high, const int32_t *mask, uint8_t *to,
                       uint8_t *is_high)
{
    unsigned n = 0;
    for (unsigned i = 0; i < v[BANK]; i++) {
        if (!mask[i])
            continue;
        if (n < v[HIGH] && i <= v[BANK] - v[HIGH] + n) {
            to[i] = (uint8_t)high[n];
            is_high[i] = 1;
        }
        n++;
    }
    return n == v[HIGH];
}

// Block j of row `row` from its place in a beat. skip: where no code is looked at; NULL: nowhere.
// sub: its bits beside codes and scale, of tables.
static void load_block(const unsigned *v, struct side *s, enum sq_scaled_scale kind, size_t row,
                       size_t j, const int32_t *code, const int32_t *scale, const int32_t *sub,
                       const int32_t *skip)
{
    const size_t blocks = s->c.k / v[BANK], at = row * blocks + j;
    const bool has_sign = sq_scaled_has_sign(s->e.element);
    const uint32_t unsigned_scale = (uint32_t)(has_sign ? *scale & ~SQ_BS_SCALE_SIGN : *scale);
    const size_t nbytes = sq_bs_scale_nbytes(&s->c.f);
    const bool is_scale = sq_scaled_is_scale(kind, unsigned_scale);
    const bool is_stored = kind != SQ_SCALED_NONE && kind != SQ_SCALED_POW4;
    if (!is_scale)
        s->errors |= 1u << SQ_SCALED_ERROR_SCALE;
    s->units[at] = is_scale ? (uint8_t)unsigned_scale : 0;
    const uint32_t stored = is_scale && is_stored ? (uint32_t)*scale : sq_scaled_one(kind);
    memcpy(s->c.scale[0] + at * nbytes, &stored, nbytes);
    if (sub)
        sq_scaled_load_subs(s->e, sub, is_scale, s->c.sub + at * sq_bs_n_subs(&s->c.f));
    const unsigned grid = sq_scaled_grid(s->e, *scale, sub);
    const uint8_t zero = sq_scaled_zero(s->e, sq_scaled_grid(s->e, 0, sub));
    for (unsigned i = 0; i < v[BANK]; i++) {
        if (!(skip && skip[i]) && !sq_scaled_is_code(s->e, grid, code[i]))
            s->errors |= 1u << SQ_SCALED_ERROR_CODE;
        s->c.code[at * v[BANK] + i] = is_scale ? sq_scaled_taken(s->e, grid, code[i]) : zero;
    }
}

// PLUS: the largest element of the block.
static void load_place(const unsigned *v, struct side *s, size_t row, size_t j, int32_t scale,
                       int32_t place)
{
    const size_t at = row * (s->c.k / v[BANK]) + j;
    if (scale == 0 && place != 0)
        s->errors |= 1u << SQ_SCALED_ERROR_MASK;
    if (scale != 0 && sq_scaled_is_scale(SQ_SCALED_E8M0, (uint8_t)scale))
        s->c.is_high[at * v[BANK] + (size_t)place] = 1;
}

static void check_mask(struct side *s, bool is_right)
{
    if (!is_right)
        s->errors |= 1u << SQ_SCALED_ERROR_MASK;
}

// The same for mask codes, whose elements are 0.
static bool place_own(const unsigned *v, const int32_t *high, uint8_t *code, int8_t *own)
{
    unsigned n = 0;
    for (unsigned i = 0; i < v[BANK]; i++) {
        if (code[i] != MASK_CODE)
            continue;
        code[i] = 0;
        if (n < v[HIGH] && i <= v[BANK] - v[HIGH] + n)
            own[i] = (int8_t)high[n];
        n++;
    }
    return n == v[HIGH];
}

// The bits of a block of a beat beside its codes and scale.
static const int32_t *sub_of(const unsigned *v, const struct side *s, bool is_act,
                             const int32_t *beat, size_t block)
{
    struct sq_ports p;
    const size_t f = sq_array_scaled_sub(v, is_act);
    if (f == 0)
        return NULL;
    sq_array_scaled_ports(v, &p);
    return beat + sq_field_offset(p.in, f) + block * sq_scaled_sub_bits(s->e.element);
}

static void load(const unsigned *v, const struct sq_group *in, struct side *x, struct side *w)
{
    struct sq_ports p;
    sq_array_scaled_ports(v, &p);
    const size_t len = sq_field_offset(p.in, p.n_in), bank = v[BANK];
    const size_t blocks = sq_array_scaled_blocks(v);
    size_t at[SQ_FIELDS_MAX];
    int32_t all[SQ_BANK_MAX];
    for (size_t i = 0; i < SQ_BANK_MAX; i++)
        all[i] = 1;
    for (size_t f = 0; f < p.n_in; f++)
        at[f] = sq_field_offset(p.in, f);
    for (size_t j = 0; j < in->len[0]; j++) {
        const int32_t *beat = in->record + j * len;
        for (size_t r = 0; r < v[ROWS]; r++) {
            const size_t e = (r * in->len[0] + j) * bank;
            const int32_t *scale = beat + at[4] + r * blocks;
            for (size_t b = 0; b < blocks; b++)
                load_block(v, x, v[ACT_SCALE], r, j * blocks + b,
                           beat + at[1] + (r * blocks + b) * bank, scale + b,
                           sub_of(v, x, true, beat, r * blocks + b),
                           v[OWN]                        ? all
                           : sq_array_scaled_has_mask(v) ? beat + at[3] + r * bank
                                                         : NULL);
            if (sq_array_scaled_has_place(v))
                load_place(v, x, r, j, *scale, beat[at[SQ_ARRAY_SCALED_ACT_PLACE] + r]);
            if (v[HIGH] == 0)
                continue;
            int32_t high[SQ_BANK_MAX] = {0};
            for (size_t t = 0; t < v[HIGH] && v[OWN]; t++)
                if (!sq_element_is_number(SQ_ELEMENT_INT8, (uint8_t)beat[at[2] + r * v[HIGH] + t]))
                    x->errors |= 1u << SQ_SCALED_ERROR_CODE;
            if (sq_scaled_is_scale(v[ACT_SCALE], (uint32_t)*scale))
                memcpy(high, beat + at[2] + r * v[HIGH], v[HIGH] * sizeof *high);
            if (v[OWN]) {
                check_mask(x, place_own(v, high, x->c.code + e, x->own + e));
                continue;
            }
            check_mask(
                x, place_high(v, high, beat + at[3] + r * bank, x->c.high + e, x->c.is_high + e));
        }
        for (size_t c = 0; c < v[COLS]; c++) {
            const int32_t *scale = beat + at[6] + c * blocks;
            for (size_t b = 0; b < blocks; b++)
                load_block(v, w, v[WEIGHT_SCALE], c, j * blocks + b,
                           beat + at[5] + (c * blocks + b) * bank, scale + b,
                           sub_of(v, w, false, beat, c * blocks + b), NULL);
            if (sq_array_scaled_has_place(v))
                load_place(v, w, c, j, *scale, beat[at[SQ_ARRAY_SCALED_WEIGHT_PLACE] + c]);
        }
    }
}

static void product_float(const unsigned *v, const struct side *x, const struct side *w,
                          int32_t *out)
{
    const size_t pes = (size_t)v[ROWS] * v[COLS];
    const struct sq_sum_rule r = sq_scaled_rule(v[ACC], v[ACC_W], v[BANK]);
    const bool is_aligned = v[ACC] >= SQ_SCALED_ALIGNED;
    double *const sum = calloc(pes, sizeof *sum);
    float *y = calloc(pes, sizeof *y);
    const struct sq_bs_product g = {.w = &w->c, .x = &x->c, .y = y};
    void *scratch = aligned_alloc(64, (sq_bs_gemm_scratch(&g) + 63) / 64 * 64);
    if (!y || !scratch || !sum || (is_aligned && !sq_bs_accumulate(&r, &w->c, &x->c, sum)))
        abort();
    if (!is_aligned)
        sq_bs_gemm(&g, scratch);
    for (size_t i = 0; i < pes; i++)
        out[i] = (int32_t)sq_combine_bits(is_aligned ? (float)sum[i] : y[i]);
    free(sum);
    free(y);
    free(scratch);
}

// A total as sq_acc_fixed has it after one more block: with carries that are saved, what stands in the segments
// and, above acc_w bits, in the carries.
static uint64_t add_fixed(uint64_t y, int64_t block, unsigned acc_w, unsigned carry)
{
    const unsigned segment = carry ? carry : acc_w;
    uint64_t to = 0;
    for (unsigned at = 0, n = 0; at < acc_w; at += segment, n++) {
        const uint64_t mask = UINT64_MAX >> (64 - (acc_w - at < segment ? acc_w - at : segment));
        const uint64_t carried = at > 0 ? y >> (acc_w + n - 1) & 1 : 0;
        const uint64_t sum = (y >> at & mask) + ((uint64_t)block >> at & mask) + carried;
        to |= (sum & mask) << at;
        if (at + segment < acc_w)
            to |= (sum > mask) * (UINT64_C(1) << (acc_w + n));
    }
    return to;
}

static void product_fixed(const unsigned *v, const struct side *x, const struct side *w,
                          int32_t *out)
{
    const size_t pes = (size_t)v[ROWS] * v[COLS], blocks = x->c.k / v[BANK];
    for (size_t pe = 0; pe < pes; pe++) {
        const size_t r = pe / v[COLS], c = pe % v[COLS];
        uint64_t y = 0;
        int64_t term = 0, y_high = 0;
        for (size_t j = 0; j < blocks; j++) {
            int64_t p = 0;
            for (size_t i = j * v[BANK]; i < (j + 1) * v[BANK]; i++) {
                const int64_t b = sq_scaled_integer(&w->c, w->e.element, c, i);
                p += sq_scaled_integer(&x->c, x->e.element, r, i) * b;
                y_high += x->own[r * x->c.k + i] * b;
            }
            term += p * sq_scaled_units(v[ACT_SCALE], x->units[r * blocks + j]) *
                    sq_scaled_units(v[WEIGHT_SCALE], w->units[c * blocks + j]);
            if ((j + 1) % sq_array_scaled_blocks(v) != 0)
                continue;
            y = add_fixed(y, term, v[ACC_W], v[CARRY]);
            term = 0;
        }
        if (!v[CARRY]) // the sign
            y = (uint64_t)((int64_t)(y << (64 - v[ACC_W])) >> (64 - v[ACC_W]));
        out[pe] = (int32_t)(uint32_t)y;
        out[pes + pe] = (int32_t)(uint32_t)(y >> 32);
        out[2 * pes + pe] = (int32_t)(uint32_t)y_high;
    }
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    struct side x, w;
    const size_t blocks = in->len[0] * sq_array_scaled_blocks(v);
    if (!alloc_side(v, true, &x, v[ROWS], blocks) || !alloc_side(v, false, &w, v[COLS], blocks))
        abort();
    for (size_t r = 0; r < v[ROWS]; r++)
        x.c.global[0][r] = 1;
    for (size_t c = 0; c < v[COLS]; c++)
        w.c.global[0][c] = 1;
    load(v, in, &x, &w);
    if (v[ACC] == SQ_SCALED_FIXED)
        product_fixed(v, &x, &w, out);
    else
        product_float(v, &x, &w, out);
    out[3 * v[ROWS] * v[COLS]] = (int32_t)(x.errors | w.errors);
    free_side(&x);
    free_side(&w);
    return 1;
}

static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    struct sq_ports p;
    sq_array_scaled_ports(v, &p);
    return way == 0 && sq_cut_to_last(sq_field_offset(p.in, p.n_in), record, len);
}

static void init(const unsigned *v, void *state)
{
    struct sq_chain *c = state;
    sq_pipeline_init(&c->back, SQ_TIMING_ARRAY,
                     sq_array_scaled_stages(sq_scaled_tail_stages(v[ACC], v[CUT]), v[HIGH] > 0));
    c->back.in_place = sq_scaled_tail_stays(v[ACC], v[CARRY]);
}

// PEs of 16 weights a cycle, or of 32 where the name says b32. `_a`: INT4 weights with nothing below
// their channel's scale, so that only activations have scales of blocks; `_fixed` accumulates
// exactly, in the bits of sq_scaled_limit for 28672 columns.
// Arrays of the PEs with INT4 weights. Exponents of SQ_SCALED_E8M0 are too far apart for exact sums.
// The decoders of a line at the edge of an array.
// Two blocks of 16 a beat.

static const char *source(const unsigned *v, FILE *out)
{
    return sq_scaled_write_source(v, v[ACT_ELEMENT], v[WEIGHT_ELEMENT], out);
}

// Exact sums are as wide as those of the largest layer.
static enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)
{
    (void)given;
    if (v[TWO] && v[HIGH] > 0)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "HighPerBank = %u, need 0: two blocks a beat have no high elements",
                       v[HIGH]);
    if (v[BANK] == old[BANK] && v[HIGH] == old[HIGH])
        return SQ_OK;
    if (v[ACC] == SQ_SCALED_FIXED)
        v[ACC_W] = sq_scaled_sum_bits(
            sq_scaled_limit(v[ACT_ELEMENT], v[WEIGHT_ELEMENT], v[ACT_SCALE], v[WEIGHT_SCALE],
                            v[BANK], sq_array_scaled_has_mask(v) ? v[HIGH] : 0, SQ_K_MAX));
    if (v[OWN])
        v[HIGH_ACC_W] = sq_scaled_sum_bits((int64_t)SQ_K_MAX / v[BANK] * v[HIGH] * 128 *
                                           sq_scaled_element_max(v[WEIGHT_ELEMENT]));
    return SQ_OK;
}
