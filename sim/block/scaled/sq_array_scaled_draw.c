// SPDX-License-Identifier: Apache-2.0
// Draws operands of sq_array_scaled, and spoils them for cases with errors.
#include "sim/block/scaled/sq_array_scaled_draw.h"

#include <assert.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/scaled/sq_scaled.h"
#include "sim/block/flow/sq_case.h"

static unsigned lanes(const unsigned *v)
{
    return v[HIGH] > 0 ? v[HIGH] : 1;
}

unsigned sq_array_scaled_blocks(const unsigned *v)
{
    return v[TWO] ? 2 : 1;
}

bool sq_array_scaled_has_mask(const unsigned *v)
{
    return v[HIGH] > 0 && !v[OWN];
}

bool sq_array_scaled_has_place(const unsigned *v)
{
    return v[ACT_ELEMENT] == SQ_SCALED_PLUS;
}

static struct sq_scaled_codes act(const unsigned *v)
{
    return sq_scaled_codes(v, v[ACT_ELEMENT]);
}

static struct sq_scaled_codes weight(const unsigned *v)
{
    return sq_scaled_codes(v, v[WEIGHT_ELEMENT]);
}

static unsigned sub_bits(const unsigned *v, bool is_act)
{
    return sq_scaled_sub_bits((is_act ? act(v) : weight(v)).element);
}

void sq_array_scaled_ports(const unsigned *v, struct sq_ports *p)
{
    const size_t rows = v[ROWS], cols = v[COLS], bank = v[BANK], pes = rows * cols;
    const size_t blocks = sq_array_scaled_blocks(v);
    *p = (struct sq_ports){
        .stream = {{"in", 7}},
        .has_last = true,
        .macs = (double)(pes * bank * blocks),
        .n_in = 7,
        .n_out = 4,
        .in = {{"last", 1, 1, true},
               {"act", rows * blocks * bank, sq_scaled_code_bits(v[ACT_ELEMENT]), true},
               {"high", rows * lanes(v), v[OWN] ? 8 : 4, true},
               {"mask", rows * (sq_array_scaled_has_mask(v) ? bank : 1), 1, true},
               {"act_scale", rows * blocks, sq_scaled_scale_bits(v[ACT_SCALE]), true},
               {"weight", cols * blocks * bank, sq_scaled_code_bits(v[WEIGHT_ELEMENT]), true},
               {"weight_scale", cols * blocks, sq_scaled_scale_bits(v[WEIGHT_SCALE]), true}},
        .out = {{"y", pes, 32, true},
                {"y_top", pes, 32, true},
                {"y_high", pes, 32, true},
                {"error", 1, SQ_SCALED_ERRORS, true}}};
    if (sq_array_scaled_has_place(v)) {
        p->in[p->n_in++] = (struct sq_field){"act_place", rows, bank == 32 ? 5 : 4, true};
        p->in[p->n_in++] = (struct sq_field){"weight_place", cols, bank == 32 ? 5 : 4, true};
    }
    if (sub_bits(v, true) > 0)
        p->in[p->n_in++] = (struct sq_field){"act_sub", rows * blocks * sub_bits(v, true), 1, true};
    if (sub_bits(v, false) > 0)
        p->in[p->n_in++] =
            (struct sq_field){"weight_sub", cols * blocks * sub_bits(v, false), 1, true};
    p->stream[0].n_fields = p->n_in;
}

// A side whose codes, scales, places and bits beside them are those fields.
static struct sq_es_side side_of(const unsigned *v, const struct sq_ports *p, bool is_act)
{
    const size_t field[] = {is_act ? 1 : 5, is_act ? 4 : 6, is_act ? 7 : 8,
                            p->n_in - 1 - (is_act && sub_bits(v, false) > 0)};
    const unsigned blocks = sq_array_scaled_blocks(v);
    const bool has_high = is_act && v[HIGH] > 0, has_place = sq_array_scaled_has_place(v);
    int at[SQ_LEN(field)];
    for (size_t i = 0; i < SQ_LEN(field); i++)
        at[i] = (int)sq_field_offset(p->in, field[i]);
    return (struct sq_es_side){.lines = v[is_act ? ROWS : COLS] * blocks,
                               .per_line = blocks,
                               .bank = v[BANK],
                               .k = has_high ? v[HIGH] : 0,
                               .high_kind = v[OWN] ? SQ_SCALED_OWN : SQ_SCALED_SPLIT,
                               .element = (is_act ? act(v) : weight(v)).element,
                               .scale_kind = v[is_act ? ACT_SCALE : WEIGHT_SCALE],
                               .words = v + SQ_PARAMS_MAX,
                               .x = SQ_ES_NONE,
                               .code = at[0],
                               .high = has_high ? (int)sq_field_offset(p->in, 2) : SQ_ES_NONE,
                               .mask = has_high && !v[OWN] ? (int)sq_field_offset(p->in, 3)
                                                           : SQ_ES_NONE,
                               .scale = at[1],
                               .high_scale = SQ_ES_NONE,
                               .place = has_place ? at[2] : SQ_ES_NONE,
                               .sub = sub_bits(v, is_act) > 0 ? at[3] : SQ_ES_NONE};
}

struct sq_es_layout sq_array_scaled_layout(const unsigned *v, struct sq_ports *p)
{
    sq_array_scaled_ports(v, p);
    return (struct sq_es_layout){.act = side_of(v, p, true),
                                 .weight = side_of(v, p, false),
                                 .len = sq_field_offset(p->in, p->n_in),
                                 .pairs = 1};
}

// ---- input ----------------------------------------------------------------------------------

int32_t sq_scaled_draw_scale(enum sq_scaled_scale s, struct sq_rng *rng, enum sq_stimulus kind)
{
    const uint32_t i = sq_rng_below(rng, 8);
    if (kind == SQ_STIMULUS_ILLEGAL) // 0xff is a scale of no kind
        return i == 0 ? 0xff : sq_draw_bits(rng, sq_scaled_scale_bits(s), true);
    if (s >= SQ_SCALED_BF16) { // products up to 2^126, and below the normal numbers
        const uint32_t code =
            kind == SQ_STIMULUS_EXTREME
                ? (uint32_t[]){0, 0x8000, 1, 0x80ff, 0x3f80, 0x5f00, 0xdf7f, 0x2000}[i]
            : kind == SQ_STIMULUS_FEW
                ? 0x3f00 + 0x80 * (i & 1) + 0x8000 * (i >> 2)
                : ((96 + sq_rng_below(rng, 64)) << 7) + sq_rng_below(rng, 128) + 0x8000 * (i & 1);
        return (int32_t)(s == SQ_SCALED_BF16
                             ? code
                             : code << 16 |
                                   (kind == SQ_STIMULUS_FEW ? 0 : sq_rng_below(rng, 1 << 16)));
    }
    if (s == SQ_SCALED_F16)
        return kind == SQ_STIMULUS_EXTREME
                   ? (int32_t[]){0, 0x8000, 1, 0x83ff, 0x400, 0x7bff, 0xfbff, 0xbc00}[i]
               : kind == SQ_STIMULUS_FEW
                   ? (int32_t)(0x3800 + 0x400 * (i & 3) + 0x8000 * (i >> 2))
                   : (int32_t)((sq_rng_below(rng, 31) << 10) +
                               (uint32_t)sq_draw_bits(rng, 10, true) + 0x8000 * (i & 1));
    if (s == SQ_SCALED_POW4)
        return (int32_t)(kind == SQ_STIMULUS_EXTREME ? 15 * (i & 1) : sq_rng_below(rng, 16));
    if (s == SQ_SCALED_E8M0) // sums that fall below and rise beyond binary32, and around it
        return kind == SQ_STIMULUS_EXTREME ? (int32_t[]){0, 1, 30, 62, 64, 127, 190, 254}[i]
               : kind == SQ_STIMULUS_FEW   ? (int32_t)(126 + (i & 1))
                                           : (int32_t)(96 + sq_rng_below(rng, 64));
    const bool is_whole = s == SQ_SCALED_UE5M3 || s == SQ_SCALED_E6M2; // without a bit for a sign
    // Zero, subnormals, the largest; powers of two, whose sums meet ties; all of them.
    return kind == SQ_STIMULUS_EXTREME
               ? (int32_t[]){0x00, 0x01, 0x07, 0x08, 0x38, 0x7e, 0x7d, 0x03}[i] +
                     (is_whole ? 0x80 * (i > 3) : 0)
           : kind == SQ_STIMULUS_FEW ? (int32_t)((is_whole ? 0x70 : 0x30) + 8 * (i & 3))
                                     : (int32_t)sq_rng_below(rng, is_whole ? 0xff : 0x7f);
}

int32_t sq_scaled_draw_element(struct sq_scaled_codes e, struct sq_rng *rng, enum sq_stimulus kind)
{
    const unsigned bits = sq_scaled_code_bits(e.element);
    unsigned grid;
    if (kind == SQ_STIMULUS_FEW)
        return (int32_t)sq_rng_below(rng, 3);
    const bool is_negative = kind == SQ_STIMULUS_EXTREME && sq_rng_below(rng, 2);
    const int32_t code = kind == SQ_STIMULUS_EXTREME ? sq_scaled_end(e, is_negative, &grid)
                                                     : sq_draw_bits(rng, bits, true);
    if (kind == SQ_STIMULUS_ILLEGAL || sq_scaled_is_table(e.element) ||
        sq_scaled_is_code(e, 0, code))
        return code;
    return sq_scaled_end(e, false, &grid) ^ (int32_t)sq_rng_below(rng, 2);
}

int32_t *sq_scaled_draw_elements(struct sq_scaled_codes e, struct sq_rng *rng,
                                 enum sq_stimulus kind, size_t n, int32_t *x)
{
    const bool are_equal = sq_rng_below(rng, 8) == 0;
    for (size_t i = 0; i < n; i++)
        x[i] = are_equal && i > 0 ? x[0] : sq_scaled_draw_element(e, rng, kind);
    return x + n;
}

static void draw_mask(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, int32_t *mask)
{
    const unsigned end = sq_rng_below(rng, 3);
    const unsigned way = kind == SQ_STIMULUS_ILLEGAL ? sq_rng_below(rng, 8) : 7;
    if (!sq_array_scaled_has_mask(v) || way < 3) {
        for (unsigned i = 0; i < (sq_array_scaled_has_mask(v) ? v[BANK] : 1); i++)
            mask[i] = way == 0 ? 1 : sq_draw_bits(rng, 1, true);
        return;
    }
    for (unsigned t = 0; t < v[HIGH]; t++) {
        unsigned i = end == 0 ? t : v[BANK] - v[HIGH] + t; // at one end of the bank, or anywhere
        while (end == 2 && mask[i = sq_rng_below(rng, v[BANK])])
            ;
        mask[i] = 1;
    }
}

// Own scales: k mask codes and no others, but for illegal banks: any codes, or mask codes alone.
static void draw_mask_codes(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                            int32_t *code)
{
    const unsigned way = kind == SQ_STIMULUS_ILLEGAL ? sq_rng_below(rng, 8) : 7;
    if (way < 3) {
        for (unsigned i = 0; i < v[BANK] && way == 0; i++)
            code[i] = MASK_CODE;
        return;
    }
    for (unsigned i = 0; i < v[BANK]; i++)
        code[i] = code[i] == MASK_CODE ? 7 : code[i];
    for (unsigned t = 0; t < v[HIGH];) {
        int32_t *c = &code[sq_rng_below(rng, v[BANK])];
        t += *c != MASK_CODE;
        *c = MASK_CODE;
    }
}

// Split codes: upper nibbles are any, and so are the lower ones below them.
static void draw_nibbles(const unsigned *v, struct sq_rng *rng, int32_t *low, int32_t *high,
                         const int32_t *mask)
{
    for (size_t i = 0; i < (size_t)v[ROWS] * v[HIGH]; i++)
        high[i] = sq_rng_below(rng, 4) ? sq_draw_bits(rng, 4, true) : high[i];
    for (size_t i = 0; i < (size_t)v[ROWS] * v[BANK]; i++)
        low[i] = mask[i] && sq_rng_below(rng, 2) ? sq_draw_bits(rng, 4, true) : low[i];
}

static void draw_places(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, size_t n,
                        const int32_t *scale, int32_t *place)
{
    for (size_t i = 0; i < n; i++)
        place[i] =
            scale[i] == 0 && kind != SQ_STIMULUS_ILLEGAL ? 0 : (int32_t)sq_rng_below(rng, v[BANK]);
}

void sq_scaled_draw_signs(struct sq_scaled_codes e, unsigned bank, struct sq_rng *rng,
                          enum sq_stimulus kind, size_t n, int32_t *scale, int32_t *sub,
                          int32_t *code)
{
    const bool has_sign = sq_scaled_has_sign(e.element);
    const unsigned bits = sq_scaled_sub_bits(e.element);
    if (!has_sign && !sq_scaled_is_table(e.element))
        return;
    for (size_t i = 0; i < n; i++, sub += sub ? bits : 0) {
        scale[i] ^= has_sign && sq_rng_below(rng, 2) ? SQ_BS_SCALE_SIGN : 0;
        for (unsigned b = 0; b < bits; b++)
            sub[b] = (int32_t)sq_rng_below(rng, 2);
        const unsigned drawn = sq_scaled_grid(e, scale[i], sub);
        const bool is_grid =
            kind == SQ_STIMULUS_ILLEGAL || sq_scaled_is_code(e, drawn, sq_scaled_zero(e, drawn));
        for (unsigned b = 0; !is_grid && b < sq_scaled_table(e.element).grid_bits; b++)
            sub[b] = 0; // three grids have two bits
        const unsigned grid = sq_scaled_grid(e, scale[i], sub);
        unsigned of;
        for (size_t j = i * bank; j < (i + 1) * bank && kind != SQ_STIMULUS_ILLEGAL; j++)
            if (!sq_scaled_is_code(e, grid, code[j]))
                code[j] = e.element == SQ_SCALED_IF4 ? sq_scaled_end(e, false, &of)
                                                     : sq_scaled_zero(e, grid);
    }
}

static int32_t *field_of_subs(const unsigned *v, bool is_act, int32_t *beat)
{
    struct sq_ports p;
    const struct sq_es_layout l = sq_array_scaled_layout(v, &p);
    const int at = is_act ? l.act.sub : l.weight.sub;
    return at == SQ_ES_NONE ? NULL : beat + at;
}

void sq_array_scaled_draw(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                          uint64_t number, int32_t *beat)
{
    struct sq_ports p;
    (void)number;
    sq_array_scaled_ports(v, &p);
    int32_t *field[SQ_FIELDS_MAX];
    for (size_t f = 0; f < p.n_in; f++)
        field[f] = beat + sq_field_offset(p.in, f);
    sq_scaled_draw_elements(act(v), rng, kind, p.in[1].count, field[1]);
    for (unsigned line = 0; line < v[ROWS] && v[OWN]; line++)
        draw_mask_codes(v, rng, kind, field[1] + line * v[BANK]);
    for (size_t i = 0; i < p.in[2].count; i++)
        field[2][i] = sq_scaled_draw_element(
            sq_scaled_codes(v, v[OWN] ? SQ_SCALED_INT8 : SQ_SCALED_INT4), rng, kind);
    for (unsigned r = 0; r < v[ROWS]; r++)
        draw_mask(v, rng, kind, field[3] + r * (p.in[3].count / v[ROWS]));
    if (sq_array_scaled_has_mask(v))
        draw_nibbles(v, rng, field[1], field[2], field[3]);
    for (size_t i = 0; i < p.in[4].count; i++)
        field[4][i] = sq_scaled_draw_scale(v[ACT_SCALE], rng, kind);
    sq_scaled_draw_elements(weight(v), rng, kind, p.in[5].count, field[5]);
    for (size_t i = 0; i < p.in[6].count; i++)
        field[6][i] = sq_scaled_draw_scale(v[WEIGHT_SCALE], rng, kind);
    sq_scaled_draw_signs(act(v), v[BANK], rng, kind, p.in[4].count, field[4],
                         field_of_subs(v, true, beat), field[1]);
    sq_scaled_draw_signs(weight(v), v[BANK], rng, kind, p.in[6].count, field[6],
                         field_of_subs(v, false, beat), field[5]);
    if (!sq_array_scaled_has_place(v))
        return;
    draw_places(v, rng, kind, v[ROWS], field[4], field[SQ_ARRAY_SCALED_ACT_PLACE]);
    draw_places(v, rng, kind, v[COLS], field[6], field[SQ_ARRAY_SCALED_WEIGHT_PLACE]);
}

// ---- the ends of the sums -------------------------------------------------------------------

static int32_t end_scale(unsigned kind, struct sq_scaled_codes e, unsigned grid)
{
    return kind == SQ_SCALED_POW4 ? 15
           : kind == SQ_SCALED_F16
               ? 0x7bff
               : 0x7e | (sq_scaled_has_sign(e.element) && grid ? SQ_BS_SCALE_SIGN : 0);
}

static void fill(const unsigned *v, int sign, int32_t *beat)
{
    struct sq_ports p;
    unsigned act_grid, weight_grid;
    const uint8_t act_end = sq_scaled_end(act(v), true, &act_grid);
    const uint8_t weight_end = sq_scaled_end(weight(v), sign > 0, &weight_grid);
    sq_array_scaled_ports(v, &p);
    int32_t *x = beat + 1;
    for (size_t i = 0; i < p.in[1].count; i++)
        *x++ = v[OWN] && i % v[BANK] >= v[HIGH] ? 9 // -7: 1000 is the mask code
                                                : act_end;
    for (size_t i = 0; i < p.in[2].count; i++)
        *x++ = v[OWN] ? 128 : 8;
    for (size_t i = 0; i < p.in[3].count; i++)
        *x++ = sq_array_scaled_has_mask(v) && i % v[BANK] < v[HIGH];
    for (size_t i = 0; i < p.in[4].count; i++)
        *x++ = end_scale(v[ACT_SCALE], act(v), act_grid);
    for (size_t i = 0; i < p.in[5].count; i++)
        *x++ = weight_end;
    for (size_t i = 0; i < p.in[6].count; i++)
        *x++ = end_scale(v[WEIGHT_SCALE], weight(v), weight_grid);
    for (size_t i = 0; i < (size_t)v[ROWS] * sq_array_scaled_blocks(v); i++, x += sub_bits(v, true))
        sq_scaled_end_subs(act(v), act_grid, true, x);
    for (size_t i = 0; i < (size_t)v[COLS] * sq_array_scaled_blocks(v);
         i++, x += sub_bits(v, false))
        sq_scaled_end_subs(weight(v), weight_grid, sign > 0, x);
}

// Groups of two beats whose sums almost cancel: of the second all weights have the other sign, one
// is a step apart. Which of two operands is the larger one then depends on low bits.
static enum sq_status draw_cancel(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    enum { GROUPS = 256 };
    const unsigned *const v = c->point->value;
    struct sq_ports p;
    sq_array_scaled_ports(v, &p);
    const size_t len = sq_field_offset(p.in, p.n_in), weights = sq_field_offset(p.in, 5);
    c->n_groups = GROUPS;
    c->n_beats = 2 * GROUPS;
    SQ_TRY(sq_case_alloc(c, err));
    for (size_t g = 0; g < GROUPS; g++) {
        int32_t *const first = c->beats + 2 * g * len, *const second = first + len;
        const size_t one = sq_rng_below(rng, v[BANK]);
        sq_array_scaled_draw(v, rng, SQ_STIMULUS_UNIFORM, g, first);
        for (size_t i = 0; i < p.in[5].count && g % 2; i++) // large sums
            first[weights + i] = sq_scaled_draw_element(weight(v), rng, SQ_STIMULUS_EXTREME);
        for (size_t i = one; i < p.in[1].count && !v[OWN]; i += v[BANK])
            first[1 + i] = 1;
        for (size_t i = one; i < p.in[5].count; i += v[BANK])
            first[weights + i] = 1;
        memcpy(second, first, len * sizeof *first);
        const size_t scales = sq_field_offset(p.in, 6);
        const int32_t *const sub = field_of_subs(v, false, first);
        for (size_t i = 0; i < p.in[5].count; i++) {
            const size_t block = i / v[BANK];
            const unsigned grid = sq_scaled_grid(weight(v), first[scales + block],
                                                 sub ? sub + block * sub_bits(v, false) : NULL);
            second[weights + i] = sq_scaled_negative(weight(v), grid, first[weights + i]);
        }
        for (size_t i = one; i < p.in[5].count; i += v[BANK])
            second[weights + i] = (int32_t)sq_rng_below(rng, 2);
        second[0] = 1;
        c->len[g][0] = 2;
    }
    return SQ_OK;
}

// ---- one thing wrong ------------------------------------------------------------------------

// Fields of a beat of the array: of the rows, of the columns.
struct line_fields {
    int32_t *code, *high, *mask, *scale, *place, *sub; // of the line; NULL: there is none
    struct sq_scaled_codes e;
    enum sq_scaled_scale kind;
};

static struct line_fields fields_of(const unsigned *v, unsigned line, int32_t *beat)
{
    struct sq_ports p;
    sq_array_scaled_ports(v, &p);
    const bool is_row = line < v[ROWS];
    const size_t i = is_row ? line : line - v[ROWS], blocks = sq_array_scaled_blocks(v);
    const size_t place = is_row ? SQ_ARRAY_SCALED_ACT_PLACE : SQ_ARRAY_SCALED_WEIGHT_PLACE;
    int32_t *at[SQ_FIELDS_MAX] = {NULL};
    for (size_t f = 0; f < p.n_in; f++)
        at[f] = beat + sq_field_offset(p.in, f);
    int32_t *const sub = field_of_subs(v, is_row, beat);
    return (struct line_fields){.code = at[is_row ? 1 : 5] + i * blocks * v[BANK],
                                .high = is_row && v[OWN] ? at[2] + i * v[HIGH] : NULL,
                                .mask = is_row && sq_array_scaled_has_mask(v) ? at[3] + i * v[BANK]
                                                                              : NULL,
                                .scale = at[is_row ? 4 : 6] + i * blocks,
                                .place = sq_array_scaled_has_place(v) ? at[place] + i : NULL,
                                .sub = sub ? sub + i * blocks * sub_bits(v, is_row) : NULL,
                                .e = is_row ? act(v) : weight(v),
                                .kind = v[is_row ? ACT_SCALE : WEIGHT_SCALE]};
}

bool sq_scaled_spoil_code(struct sq_scaled_codes e, struct sq_rng *rng, int32_t *scale,
                          int32_t *sub, int32_t *code)
{
    const uint32_t n = 1u << sq_scaled_code_bits(e.element), first = sq_rng_below(rng, n);
    const uint32_t sign = sq_scaled_has_sign(e.element) ? SQ_BS_SCALE_SIGN : 0;
    for (uint32_t t = 0; t < 2 * n; t++) { // of either grid
        const int32_t of = (int32_t)((first + t) % n);
        const int32_t s = (int32_t)(t < n ? (uint32_t)*scale | sign : (uint32_t)*scale & ~sign);
        if (!sq_scaled_is_code(e, sq_scaled_grid(e, s, sub), of)) {
            *scale = s;
            *code = of;
            return true;
        }
    }
    return false;
}

// A code that stands for no number, in place of a random one; false where the element has none.
static bool spoil_code(const unsigned *v, struct sq_rng *rng, const struct line_fields *l)
{
    const uint32_t b = sq_rng_below(rng, sq_array_scaled_blocks(v));
    uint32_t i = sq_rng_below(rng, v[BANK]);
    while (l->mask && l->mask[i]) // a low element
        i = (i + 1) % v[BANK];
    if (l->high) { // low codes are mask codes or numbers
        l->high[sq_rng_below(rng, v[HIGH])] = 0x80;
        return true;
    }
    return sq_scaled_spoil_code(l->e, rng, l->scale + b,
                                l->sub ? l->sub + b * sq_scaled_sub_bits(l->e.element) : NULL,
                                l->code + b * v[BANK] + i);
}

static bool spoil_scale(const unsigned *v, struct sq_rng *rng, const struct line_fields *l)
{
    const uint32_t b = sq_rng_below(rng, sq_array_scaled_blocks(v));
    const uint32_t sign = sq_scaled_has_sign(l->e.element) ? SQ_BS_SCALE_SIGN : 0;
    const uint32_t infinite = sq_scaled_infinite(l->kind);
    for (uint32_t t = 0, code = sq_rng_below(rng, 256); t < 256; t++, code = (code + 1) % 256)
        if (!sq_scaled_is_scale(l->kind, (code | infinite) & ~sign)) {
            l->scale[b] = (int32_t)(code | infinite);
            return true;
        }
    return false;
}

// One mark too many or too few of high elements; the place of a largest element of zeros.
static bool spoil_mask(const unsigned *v, struct sq_rng *rng, const struct line_fields *l)
{
    const uint32_t i = sq_rng_below(rng, v[BANK]);
    if (l->place) {
        *l->scale = 0;
        *l->place = 1 + (int32_t)sq_rng_below(rng, v[BANK] - 1);
        return true;
    }
    if (l->high)
        l->code[i] = l->code[i] == MASK_CODE ? 1 : MASK_CODE;
    else if (l->mask && !(l->mask[i] ^= 1))
        l->code[i] = 1; // an element that is now low
    return l->high || l->mask;
}

// Groups of two beats. In every second one a single line has one thing wrong, of each kind in each beat;
// the group behind it has nothing wrong.
static enum sq_status draw_errors(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    enum { BEATS = 2 };
    static bool (*const spoil[])(const unsigned *, struct sq_rng *, const struct line_fields *) = {
        spoil_code, spoil_scale, spoil_mask};
    const unsigned *const v = c->point->value;
    const unsigned lines = v[ROWS] + v[COLS];
    struct sq_ports p;
    sq_array_scaled_ports(v, &p);
    const size_t len = sq_field_offset(p.in, p.n_in);
    c->n_groups = 2 * SQ_LEN(spoil) * BEATS * lines;
    c->n_beats = BEATS * c->n_groups;
    SQ_TRY(sq_case_alloc(c, err));
    for (size_t g = 0; g < c->n_groups; g++) {
        int32_t *const first = c->beats + BEATS * g * len;
        for (size_t b = 0; b < BEATS; b++) {
            sq_array_scaled_draw(v, rng, SQ_STIMULUS_UNIFORM, g, first + b * len);
            first[b * len] = b + 1 == BEATS;
        }
        const size_t way = g / 2;
        const struct line_fields l =
            fields_of(v, (unsigned)(way % lines), first + way / lines % BEATS * len);
        if (g % 2 == 0)
            (void)spoil[way / lines / BEATS](v, rng, &l);
        c->len[g][0] = BEATS;
    }
    return SQ_OK;
}

enum sq_status sq_array_scaled_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                        struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    if (number > 0)
        return number == 1 ? draw_cancel(c, rng, err) : draw_errors(c, rng, err);
    if (v[ACC] == SQ_SCALED_FIXED)
        assert(sq_scaled_limit(v[ACT_ELEMENT], v[WEIGHT_ELEMENT], v[ACT_SCALE], v[WEIGHT_SCALE],
                               v[BANK], sq_array_scaled_has_mask(v) ? v[HIGH] : 0,
                               SQ_K_MAX) < INT64_C(1) << (v[ACC_W] - 1));
    return sq_case_sums(c, SQ_K_MAX / (v[BANK] * sq_array_scaled_blocks(v)), fill, err);
}
