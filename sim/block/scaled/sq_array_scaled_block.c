// SPDX-License-Identifier: Apache-2.0
// sq_array_scaled: block-scaled formats, a block of every line per cycle.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/output/sq_combine.h"
#include "models/scaled/sq_scaled.h"
#include "sim/block/flow/sq_case.h"
#include "sim/block/flow/sq_pipeline.h"
#include "sim/block/scaled/sq_array_scaled_draw.h"

#define INT4 SQ_SCALED_INT4
#define INT5 SQ_SCALED_INT5
#define E2M1 SQ_SCALED_E2M1
#define E2M3 SQ_SCALED_E2M3
#define FP8 SQ_SCALED_E4M3_ELEMENT
#define MXINT8 SQ_SCALED_MXINT8
#define IF4 SQ_SCALED_IF4
#define RAZER SQ_SCALED_RAZER
#define NONE SQ_SCALED_NONE
#define E4M3 SQ_SCALED_E4M3
#define E8(element) SQ_SCALED_##element, SQ_SCALED_##element, SQ_SCALED_E8M0, SQ_SCALED_E8M0
#define E8M0 SQ_SCALED_E8M0
#define POW4 SQ_SCALED_POW4
#define UE5M3 SQ_SCALED_UE5M3
#define E6M2 SQ_SCALED_E6M2
#define FLOAT SQ_SCALED_BINARY32, 32
#define FIXED(bits) SQ_SCALED_FIXED, bits
// rows, cols, bank, k of split codes, elements, scales, accumulator and its bits, high codes at
// an own scale and bits of their accumulator, two blocks a beat
static const struct sq_point points[] = {
    {"nvfp4", true, {2, 2, 16, 0, E2M1, E2M1, E4M3, E4M3, FLOAT}},
    {"mxfp4", true, {1, 2, 32, 0, E2M1, E2M1, E8M0, E8M0, FLOAT}},
    {"mxfp6", true, {1, 2, 32, 0, E8(E2M3), FLOAT}},
    {"mxfp6_e3m2", true, {2, 1, 32, 0, E8(E3M2), FLOAT}},
    {"mxfp8", true, {1, 2, 32, 0, E8(E4M3_ELEMENT), FLOAT}},
    {"mxfp8_e5m2", true, {1, 1, 32, 0, E8(E5M2), FLOAT}},
    {"mxint8", true, {1, 2, 32, 0, E8(MXINT8), FLOAT}},
    {"mxplus", true, {2, 3, 32, 0, E8(PLUS), FLOAT}},
    {"nvint4", true, {2, 1, 16, 0, INT4, INT4, E4M3, E4M3, FLOAT}},
    {"nvint5", false, {1, 2, 16, 0, INT5, INT5, E4M3, E4M3, FLOAT}},
    {"split", true, {2, 2, 16, 2, INT4, INT4, E4M3, E4M3, FLOAT}},
    {"split_pow2", true, {1, 2, 16, 4, INT4, INT4, E8M0, E4M3, FLOAT}},
    {"split_b32", false, {1, 1, 32, 4, INT4, INT4, E4M3, E4M3, FLOAT}},
    {"split_k1", false, {1, 1, 16, 1, INT4, INT4, E8M0, NONE, FLOAT}},
    {"nvfp4_fixed", true, {1, 2, 16, 0, E2M1, E2M1, E4M3, E4M3, FIXED(59)}},
    {"nvfp4_a_fixed", false, {2, 1, 16, 0, E2M1, INT4, E4M3, NONE, FIXED(41)}},
    {"nvint5_a_fixed", false, {1, 1, 16, 0, INT5, INT4, E4M3, NONE, FIXED(41)}},
    {"nvint4_a_fixed", false, {1, 1, 16, 0, INT4, INT4, E4M3, NONE, FIXED(40)}},
    {"mxfp4_a", false, {1, 1, 32, 0, E2M1, INT4, E8M0, NONE, FLOAT}},
    {"split_a_fixed", true, {2, 1, 16, 2, INT4, INT4, E4M3, NONE, FIXED(42)}},
    {"split_a_pow4", true, {1, 2, 16, 2, INT4, INT4, POW4, NONE, FIXED(39)}},
    {"own_b32", true, {1, 2, 32, 1, INT4, INT4, E4M3, NONE, FIXED(40), 1, 21}},
    {"own_b32k2", false, {1, 1, 32, 2, INT4, INT4, E4M3, NONE, FIXED(40), 1, 22}},
    {"own_b16", false, {2, 1, 16, 2, INT4, INT4, E4M3, NONE, FIXED(40), 1, 23}},
    {"if4", true, {1, 2, 16, 0, IF4, IF4, E4M3, E4M3, FLOAT}},
    {"if4_a_fixed", true, {2, 1, 16, 0, IF4, INT4, E4M3, NONE, FIXED(41)}},
    {"razer", true, {2, 1, 16, 0, RAZER, RAZER, E4M3, E4M3, FLOAT}},
    {"razer_a_fixed", false, {1, 2, 16, 0, RAZER, INT4, E4M3, NONE, FIXED(41)}},
    {"nvfp4_a_two", true, {1, 2, 16, 0, E2M1, INT4, E4M3, NONE, FIXED(41), 0, 0, 1}},
    {"nvint4_a_two", false, {2, 1, 16, 0, INT4, INT4, E4M3, NONE, FIXED(40), 0, 0, 1}},
    {"razer_two", false, {1, 2, 16, 0, RAZER, RAZER, E4M3, E4M3, FIXED(59), 0, 0, 1}},
    {"mixfp4",
     true,
     {2, 2, 16, 0, SQ_MIXFP4, SQ_MIXFP4, E4M3, E4M3, FLOAT, [SQ_PARAMS_MAX] = SQ_MIXFP4_WORDS}},
    {"mixfp4_a_two",
     false,
     {1, 2, 16, 0, SQ_MIXFP4, INT4, E4M3, NONE, FIXED(41), 0, 0,
      1, [SQ_PARAMS_MAX] = SQ_MIXFP4_WORDS}},
    {"three_grids",
     true,
     {2, 1, 32, 0, SQ_THREE_GRIDS, SQ_THREE_GRIDS, UE5M3, E8M0,
      FLOAT, [SQ_PARAMS_MAX] = SQ_THREE_GRIDS_WORDS}},
    {"ue5m3", true, {1, 2, 16, 0, E2M1, E2M1, UE5M3, UE5M3, FLOAT}},
    {"hif4",
     true,
     {1, 2, 64, 0, SQ_HIF4, SQ_HIF4, E6M2, E6M2, FLOAT, [SQ_PARAMS_MAX] = SQ_HIF4_WORDS}},
    {"split_a_b32", false, {1, 2, 32, 8, INT4, INT4, POW4, NONE, FIXED(40)}},
};

// ---- output ---------------------------------------------------------------------------------

// A side of the product: its blocks as struct sq_bs holds them, without a scale above them.
static struct sq_bs_format format_of(const unsigned *v, bool is_act)
{
    const bool is_e8m0 = v[is_act ? ACT_SCALE : WEIGHT_SCALE] == E8M0;
    const bool is_split = is_act && sq_array_scaled_has_mask(v);
    const unsigned element = v[is_act ? ACT_ELEMENT : WEIGHT_ELEMENT];
    if (sq_scaled_is_described((enum sq_scaled_element)element,
                               (enum sq_scaled_scale)v[is_act ? ACT_SCALE : WEIGHT_SCALE]))
        return (struct sq_bs_format){.kind = SQ_BS_TABLE, .block = v[BANK]};
    return (struct sq_bs_format){.kind = is_split                       ? SQ_BS_SPLIT
                                         : element == IF4               ? SQ_BS_IF4
                                         : element == RAZER             ? SQ_BS_RAZER
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
    s->c.scale[0] = calloc(n * blocks, 1);
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
    const uint8_t unsigned_scale = (uint8_t)(has_sign ? *scale & ~SQ_BS_SCALE_SIGN : *scale);
    const bool is_scale = sq_scaled_is_scale(kind, unsigned_scale);
    const bool is_stored = kind != NONE && kind != POW4;
    if (!is_scale)
        s->errors |= 1u << SQ_SCALED_ERROR_SCALE;
    s->units[at] = is_scale ? unsigned_scale : 0;
    s->c.scale[0][at] = is_scale && is_stored ? (uint8_t)*scale : sq_scaled_one(kind);
    if (sub)
        sq_scaled_load_subs(s->e, sub, s->c.sub + at * sq_bs_n_subs(&s->c.f));
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
    if (scale != 0 && sq_scaled_is_scale(E8M0, (uint8_t)scale))
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
            if (sq_scaled_is_scale(v[ACT_SCALE], (uint8_t)*scale))
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

static void product_binary32(const unsigned *v, const struct side *x, const struct side *w,
                             int32_t *out)
{
    const size_t pes = (size_t)v[ROWS] * v[COLS];
    float *y = calloc(pes, sizeof *y);
    const struct sq_bs_product g = {.w = &w->c, .x = &x->c, .y = y};
    void *scratch = aligned_alloc(64, (sq_bs_gemm_scratch(&g) + 63) / 64 * 64);
    if (!y || !scratch)
        abort();
    sq_bs_gemm(&g, scratch);
    for (size_t i = 0; i < pes; i++)
        out[i] = (int32_t)sq_combine_bits(y[i]);
    free(y);
    free(scratch);
}

static int64_t integer(const struct side *s, size_t row, size_t i)
{
    const struct sq_bs *const c = &s->c;
    const size_t b = c->f.block;
    struct sq_bs_block block;
    sq_bs_get_block(c, row, i / b, &block);
    const float v = sq_bs_element(&c->f, &block, i % b, sq_bs_get(c, row, i));
    return (int64_t)ldexpf(v, (int)sq_scaled_element_fraction(s->e.element));
}

static void product_fixed(const unsigned *v, const struct side *x, const struct side *w,
                          int32_t *out)
{
    const size_t pes = (size_t)v[ROWS] * v[COLS], blocks = x->c.k / v[BANK];
    for (size_t pe = 0; pe < pes; pe++) {
        const size_t r = pe / v[COLS], c = pe % v[COLS];
        int64_t y = 0, y_high = 0;
        for (size_t j = 0; j < blocks; j++) {
            int64_t p = 0;
            for (size_t i = j * v[BANK]; i < (j + 1) * v[BANK]; i++) {
                p += integer(x, r, i) * integer(w, c, i);
                y_high += x->own[r * x->c.k + i] * integer(w, c, i);
            }
            y += p * sq_scaled_units(v[ACT_SCALE], x->units[r * blocks + j]) *
                 sq_scaled_units(v[WEIGHT_SCALE], w->units[c * blocks + j]);
        }
        out[pe] = (int32_t)(uint32_t)y;
        out[pes + pe] = (int32_t)(uint32_t)((uint64_t)y >> 32);
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
    if (v[ACC] == SQ_SCALED_BINARY32)
        product_binary32(v, &x, &w, out);
    else
        product_fixed(v, &x, &w, out);
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
                     sq_array_scaled_stages(v[ACC] == SQ_SCALED_BINARY32, v[HIGH] > 0));
}

// clang-format off
// PEs of 16 weights a cycle, or of 32 where the name says b32. `_a`: INT4 weights with nothing below
// their channel's scale, so that only activations have scales of blocks; `_fixed` accumulates
// exactly, in the bits of sq_scaled_limit for 28672 columns.
#define PE(bank, k, act, weight, act_scale, weight_scale, acc)                                      \
    {"BankLen", bank}, {"HighLanes", k}, {"ActElement", act}, {"WeightElement", weight},            \
    {"ActScale", act_scale}, {"WeightScale", weight_scale}, ACC_##acc
#define ACC_FLOAT {"Acc", SQ_SCALED_BINARY32}, {"AccW", 32}
#define ACC_FIXED(bits) {"Acc", SQ_SCALED_FIXED}, {"AccW", bits}
// Arrays of the PEs with INT4 weights. Exponents of E8M0 are too far apart for exact sums.
#define ARRAY(name, bank, k, act, scale, bits, own, own_bits)                                       \
    ARRAY_OF(name, bank, k, act, scale, ACC_FIXED(bits), own, own_bits)
#define ARRAY_OF(name, bank, k, act, scale, acc, own, own_bits)                                     \
    {name, "sq_array_scaled", bank, true,                                                           \
     {{"BankLen", bank}, {"HighPerBank", k}, {"ActElement", act}, {"WeightElement", INT4},          \
      {"ActScale", scale}, {"WeightScale", NONE}, acc, {"OwnHigh", own}, {"HighAccW", own_bits}}}
// The decoders of a line at the edge of an array.
#define LINE(name, element)                                                                         \
    {name, "sq_block_line", 16, false, {{"BankLen", 16}, {"Element", element}, {"Scale", E4M3}}}
// Two blocks of 16 a beat.
#define ARRAY_TWO(name, act, bits)                                                                  \
    {name, "sq_array_scaled", 32, true,                                                             \
     {{"BankLen", 16}, {"HighPerBank", 0}, {"ActElement", act}, {"WeightElement", INT4},            \
      {"ActScale", E4M3}, {"WeightScale", NONE}, ACC_FIXED(bits), {"TwoBlocks", 1}}}
static const struct sq_area_unit area[] = {
    {"pe_nvfp4", "sq_pe_scaled", 16, false, {PE(16, 0, E2M1, E2M1, E4M3, E4M3, FLOAT)}},
    {"pe_nvfp4_fixed", "sq_pe_scaled", 16, false, {PE(16, 0, E2M1, E2M1, E4M3, E4M3, FIXED(59))}},
    {"pe_mxfp4", "sq_pe_scaled", 32, false, {PE(32, 0, E2M1, E2M1, E8M0, E8M0, FLOAT)}},
    {"pe_mxfp4_a_b32", "sq_pe_scaled", 32, false, {PE(32, 0, E2M1, INT4, E8M0, NONE, FLOAT)}},
    {"pe_mxfp6_a_b32", "sq_pe_scaled", 32, false, {PE(32, 0, E2M3, INT4, E8M0, NONE, FLOAT)}},
    {"pe_mxfp8_a_b32", "sq_pe_scaled", 32, false, {PE(32, 0, FP8, INT4, E8M0, NONE, FLOAT)}},
    {"pe_mxint8_a_b32", "sq_pe_scaled", 32, false, {PE(32, 0, MXINT8, INT4, E8M0, NONE, FLOAT)}},
    {"pe_nvint4", "sq_pe_scaled", 16, false, {PE(16, 0, INT4, INT4, E4M3, E4M3, FLOAT)}},
    {"pe_nvfp4_a", "sq_pe_scaled", 16, false, {PE(16, 0, E2M1, INT4, E4M3, NONE, FLOAT)}},
    {"pe_nvint4_a", "sq_pe_scaled", 16, false, {PE(16, 0, INT4, INT4, E4M3, NONE, FLOAT)}},
    {"pe_nvint5_a", "sq_pe_scaled", 16, false, {PE(16, 0, INT5, INT4, E4M3, NONE, FLOAT)}},
    {"pe_split_e4m3_a_k2", "sq_pe_scaled", 16, false, {PE(16, 2, INT4, INT4, E4M3, NONE, FLOAT)}},
    {"pe_nvfp4_a_fixed", "sq_pe_scaled", 16, false, {PE(16, 0, E2M1, INT4, E4M3, NONE, FIXED(41))}},
    {"pe_nvint4_a_fixed", "sq_pe_scaled", 16, false, {PE(16, 0, INT4, INT4, E4M3, NONE, FIXED(40))}},
    {"pe_nvint5_a_fixed", "sq_pe_scaled", 16, false, {PE(16, 0, INT5, INT4, E4M3, NONE, FIXED(41))}},
    {"pe_split_e4m3_a_k1_fixed", "sq_pe_scaled", 16, false, {PE(16, 1, INT4, INT4, E4M3, NONE, FIXED(41))}},
    {"pe_split_e4m3_a_k2_fixed", "sq_pe_scaled", 16, false, {PE(16, 2, INT4, INT4, E4M3, NONE, FIXED(42))}},
    {"pe_split_e4m3_a_k4_fixed", "sq_pe_scaled", 16, false, {PE(16, 4, INT4, INT4, E4M3, NONE, FIXED(42))}},
    {"pe_split_pow2_a_k1_fixed", "sq_pe_scaled", 16, false, {PE(16, 1, INT4, INT4, POW4, NONE, FIXED(38))}},
    {"pe_split_pow2_a_k2_fixed", "sq_pe_scaled", 16, false, {PE(16, 2, INT4, INT4, POW4, NONE, FIXED(39))}},
    {"pe_split_pow2_a_k4_fixed", "sq_pe_scaled", 16, false, {PE(16, 4, INT4, INT4, POW4, NONE, FIXED(40))}},
    {"pe_own_e4m3_a_b32k1_fixed", "sq_pe_scaled", 32, false, {PE(32, 1, INT4, INT4, E4M3, NONE, FIXED(40)), {"OwnHigh", 1}, {"HighAccW", 21}}},
    {"pe_own_e4m3_a_b32k2_fixed", "sq_pe_scaled", 32, false, {PE(32, 2, INT4, INT4, E4M3, NONE, FIXED(40)), {"OwnHigh", 1}, {"HighAccW", 22}}},
    {"pe_split_e4m3_a_b32k4_fixed", "sq_pe_scaled", 32, false, {PE(32, 4, INT4, INT4, E4M3, NONE, FIXED(42))}},
    {"pe_nvfp4_a_two_fixed", "sq_pe_scaled", 32, false, {PE(16, 0, E2M1, INT4, E4M3, NONE, FIXED(41)), {"TwoBlocks", 1}}},
    {"pe_nvint4_a_two_fixed", "sq_pe_scaled", 32, false, {PE(16, 0, INT4, INT4, E4M3, NONE, FIXED(40)), {"TwoBlocks", 1}}},
    {"pe_if4_a_fixed", "sq_pe_scaled", 16, false, {PE(16, 0, IF4, INT4, E4M3, NONE, FIXED(41))}},
    {"pe_razer_a_fixed", "sq_pe_scaled", 16, false, {PE(16, 0, RAZER, INT4, E4M3, NONE, FIXED(41))}},
    {"pe_mixfp4", "sq_pe_scaled", 16, false, {PE(16, 0, SQ_MIXFP4, SQ_MIXFP4, E4M3, E4M3, FLOAT)}},
    {"pe_mixfp4_a_fixed", "sq_pe_scaled", 16, false, {PE(16, 0, SQ_MIXFP4, INT4, E4M3, NONE, FIXED(41))}},
    LINE("line_nvfp4", E2M1),
    LINE("line_nvint4", INT4),
    LINE("line_if4", IF4),
    LINE("line_razer", RAZER),
    LINE("line_mixfp4", SQ_MIXFP4),
    ARRAY("array_mixfp4_a", 16, 0, SQ_MIXFP4, E4M3, 41, 0, 32),
    ARRAY("array_if4_a", 16, 0, IF4, E4M3, 41, 0, 32),
    ARRAY("array_razer_a", 16, 0, RAZER, E4M3, 41, 0, 32),
    ARRAY("array_nvfp4_a", 16, 0, E2M1, E4M3, 41, 0, 32),
    ARRAY_OF("array_mxfp4_a_b32", 32, 0, E2M1, E8M0, ACC_FLOAT, 0, 32),
    ARRAY_OF("array_mxfp6_a_b32", 32, 0, E2M3, E8M0, ACC_FLOAT, 0, 32),
    ARRAY_OF("array_mxfp8_a_b32", 32, 0, FP8, E8M0, ACC_FLOAT, 0, 32),
    ARRAY_OF("array_mxint8_a_b32", 32, 0, MXINT8, E8M0, ACC_FLOAT, 0, 32),
    ARRAY("array_nvint4_a", 16, 0, INT4, E4M3, 40, 0, 32),
    ARRAY_TWO("array_nvfp4_a_two", E2M1, 41),
    ARRAY_TWO("array_nvint4_a_two", INT4, 40),
    ARRAY("array_nvint5_a", 16, 0, INT5, E4M3, 41, 0, 32),
    ARRAY("array_split_e4m3_a_k1", 16, 1, INT4, E4M3, 41, 0, 32),
    ARRAY("array_split_e4m3_a_k2", 16, 2, INT4, E4M3, 42, 0, 32),
    ARRAY("array_split_e4m3_a_k4", 16, 4, INT4, E4M3, 42, 0, 32),
    ARRAY("array_split_pow2_a_k1", 16, 1, INT4, POW4, 38, 0, 32),
    ARRAY("array_split_pow2_a_k2", 16, 2, INT4, POW4, 39, 0, 32),
    ARRAY("array_split_pow2_a_k4", 16, 4, INT4, POW4, 40, 0, 32),
    ARRAY("array_own_e4m3_a_b32k1", 32, 1, INT4, E4M3, 40, 1, 21),
    ARRAY("array_own_e4m3_a_b32k2", 32, 2, INT4, E4M3, 40, 1, 22),
};
// clang-format on

static const struct sq_faults faults[] = {{"nvfp4", 20, 60}, {"split_a_pow4", 20, 60}};

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

static const struct sq_free array_scaled_free[] = {{"Rows", 1, 64, false},
                                                   {"Cols", 1, 64, false},
                                                   {"BankLen", 16, 32, true},
                                                   {"HighPerBank", 1, 16, false},
                                                   {NULL, 0, 0, false}};

const struct sq_block sq_array_scaled_block = {
    .name = "array_scaled",
    .top = "sq_array_scaled",
    .group = "tile",
    .param = {"Rows", "Cols", "BankLen", "HighPerBank", "ActElement", "WeightElement", "ActScale",
              "WeightScale", "Acc", "AccW", "OwnHigh", "HighAccW", "TwoBlocks", NULL},
    .free = array_scaled_free,
    .settle = settle,
    .source = source,
    SQ_ROWS(points),
    SQ_ROWS(area),
    .coverage_cases = 200,
    // Those whose decoder is in the tree.
    .coverage_points =
        "nvfp4 mxfp4 mxfp6 mxfp6_e3m2 mxfp8 mxfp8_e5m2 mxint8 mxplus nvint4 split split_pow2 "
        "nvfp4_fixed split_a_fixed split_a_pow4 own_b32 if4 if4_a_fixed razer nvfp4_a_two "
        "mixfp4 ue5m3",
    SQ_ROWS(faults),
    .ports = sq_array_scaled_ports,
    .draw_beat = sq_array_scaled_draw,
    .n_directed = SQ_ARRAY_SCALED_N_DIRECTED,
    .draw_directed = sq_array_scaled_directed,
    .cut = cut,
    .golden = golden,
    .timing = &sq_timing_chain,
    .init = init,
};
