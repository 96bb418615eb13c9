// SPDX-License-Identifier: Apache-2.0
// The product of sq_engine_scaled, from its stored bits (sq_engine_scaled_golden.h).
#include "sim/block/scaled/sq_engine_scaled_golden.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/scaled/sq_bs_accumulate.h"
#include "models/scaled/sq_bs_plain.h"
#include "sim/block/flow/sq_engine.h"
#include "sim/block/scaled/sq_engine_scaled_encode.h"

// ---- operands -------------------------------------------------------------------------------

enum { KNOWN = 1 << 15, IS_CODE = 1 << 8 }; // flags in `seen`, above the code that is taken

static struct sq_bs_format format_of(const struct sq_es_layout *l, const struct sq_es_side *s)
{
    const bool is_e8m0 = s->scale_kind == SQ_SCALED_E8M0;
    const bool is_split = s->k > 0 && s->high_kind == SQ_SCALED_SPLIT;
    if (sq_scaled_is_described(s->element, s->scale_kind))
        return (struct sq_bs_format){.kind = SQ_BS_TABLE, .block = s->bank};
    return (struct sq_bs_format){.kind = l->pairs > 1                    ? SQ_BS_SQ
                                         : is_split                      ? SQ_BS_SPLIT
                                         : s->element == SQ_SCALED_PLUS  ? SQ_BS_PLUS
                                         : s->element == SQ_SCALED_IF4   ? SQ_BS_IF4
                                         : s->element == SQ_SCALED_RAZER ? SQ_BS_RAZER
                                         : is_e8m0                       ? SQ_BS_MX
                                                                         : SQ_BS_NV,
                                 .element = sq_scaled_element_of(s->element),
                                 .block = s->bank,
                                 .high_per_block = l->act.k,
                                 .is_high_block = s->high_kind == SQ_SCALED_BLOCK,
                                 .is_power_of_two = is_split && is_e8m0};
}

static void alloc_operand(struct sq_es_operand *o, const struct sq_es_layout *l,
                          const struct sq_es_side *s, size_t blocks, size_t n)
{
    const size_t k = blocks * s->bank;
    *o = (struct sq_es_operand){.c = {.f = format_of(l, s), .n = n, .k = k, .k_orig = k}};
    if (o->c.f.kind == SQ_BS_TABLE) {
        o->c.f.table = o->table = malloc(sizeof *o->table);
        if (!o->table)
            abort();
        *o->table = sq_scaled_decoded(sq_es_codes(s), s->scale_kind, s->bank);
    }
    o->c.sub = calloc(n * blocks * SQ_BS_SUBS, 1);
    o->c.code = calloc(n * k, 1);
    o->c.high = calloc(n * k, 1);
    o->c.is_high = calloc(n * k, 1);
    bool ok = o->c.sub && o->c.code && o->c.high && o->c.is_high;
    for (unsigned p = 0; p < SQ_BS_PARTS; p++) {
        o->c.scale[p] = calloc(n * blocks, sq_bs_scale_nbytes(&o->c.f));
        o->c.global[p] = calloc(n, sizeof(float));
        ok = ok && o->c.scale[p] && o->c.global[p];
    }
    if (!ok)
        abort();
}

void sq_es_free(struct sq_es_operand *o)
{
    free(o->table);
    free(o->c.sub);
    free(o->c.code);
    free(o->c.high);
    free(o->c.is_high);
    for (unsigned p = 0; p < SQ_BS_PARTS; p++) {
        free(o->c.scale[p]);
        free(o->c.global[p]);
    }
}

static void get_stored(const unsigned *v, const struct sq_es_side *s, const int32_t *record,
                       unsigned r, struct sq_es_stored *b)
{
    const int line = (int)(r * s->bank);
    b->high_scale = b->place = 0;
    b->high = b->mask = NULL;
    b->sub = sq_es_subs(s, record, r);
    if (s->x != SQ_ES_NONE) {
        unsigned encoder[SQ_PARAMS_MAX];
        sq_es_encoder(v, encoder);
        sq_es_encode(encoder, s, record + s->x + line, b);
        return;
    }
    b->code = record + s->code + line;
    b->scale = record[s->scale + (int)r];
    if (s->high != SQ_ES_NONE)
        b->high = record + s->high + (int)(r * s->k);
    if (s->mask != SQ_ES_NONE)
        b->mask = record + s->mask + line;
    if (s->high_scale != SQ_ES_NONE)
        b->high_scale = record[s->high_scale + (int)r];
    if (s->place != SQ_ES_NONE)
        b->place = record[s->place + (int)r];
}

static void raise(struct sq_es_operand *o, enum sq_scaled_error kind, bool is_wrong)
{
    o->errors |= (unsigned)is_wrong << kind;
}

static unsigned look_at(struct sq_scaled_codes e, unsigned grid, int32_t code)
{
    return (unsigned)KNOWN | (sq_scaled_is_code(e, grid, code) ? IS_CODE : 0u) |
           sq_scaled_taken(e, grid, code);
}

// Returns the code that is taken for an element's code, and notes an error if it is illegal.
static uint8_t load_code(struct sq_es_operand *o, struct sq_scaled_codes e, unsigned grid,
                         bool is_skipped, int32_t code)
{
    unsigned is;
    if (grid < SQ_ES_GRIDS && (uint32_t)code < SQ_ES_CODES) {
        uint16_t *const seen = &o->seen[grid][code];
        if (!*seen)
            *seen = (uint16_t)look_at(e, grid, code);
        is = *seen;
    } else {
        is = look_at(e, grid, code);
    }
    raise(o, SQ_SCALED_ERROR_CODE, !is_skipped && !(is & IS_CODE));
    return (uint8_t)is;
}

// Returns the code of a scale; that of 1 where there is none or it is illegal.
static uint32_t load_scale(struct sq_es_operand *o, enum sq_scaled_scale kind, int32_t code,
                           bool *is_scale)
{
    *is_scale = sq_scaled_is_scale(kind, (uint32_t)code);
    raise(o, SQ_SCALED_ERROR_SCALE, !*is_scale);
    return *is_scale && kind != SQ_SCALED_NONE ? (uint32_t)code : sq_scaled_one(kind);
}

// Loads high elements: the first k that are marked, but for those beyond the window of their lane
// (sq_gather_mux, Window).
static void load_high(struct sq_es_operand *o, const struct sq_es_side *s,
                      const struct sq_es_stored *b, size_t at, bool is_scale)
{
    const bool is_split = s->high_kind == SQ_SCALED_SPLIT;
    const struct sq_scaled_codes e = {sq_scaled_high_element(s->high_kind, s->element), NULL};
    uint8_t high[SQ_BS_BLOCK_MAX];
    // High codes at the scale of their row stay where the block's scale is illegal, but not in the array, which does not
    // know their scale: there the whole block and its marks count as zeros.
    const bool stays = s->high_kind == SQ_SCALED_OWN && o->c.f.kind == SQ_BS_SQ;
    const bool goes = s->high_kind == SQ_SCALED_OWN && !stays && !is_scale;
    bool has_scale = is_scale;
    if (s->high_kind == SQ_SCALED_BLOCK)
        o->c.scale[1][at / s->bank] =
            (uint8_t)load_scale(o, s->scale_kind, b->high_scale, &has_scale);
    for (unsigned t = 0; t < s->k; t++) {
        raise(o, SQ_SCALED_ERROR_CODE, !is_split && b->high[t] == 0x80); // -0 of E4M3
        raise(o, SQ_SCALED_ERROR_CODE, !is_split && !sq_scaled_is_code(e, 0, b->high[t]));
        high[t] = sq_scaled_taken(e, 0, b->high[t]);
    }
    unsigned n = 0;
    for (unsigned i = 0; i < s->bank; i++) {
        if (is_split ? !b->mask[i] : b->code[i] != SQ_ES_MASK_CODE)
            continue;
        if (!is_split)
            o->c.code[at + i] = 0;
        if (n < s->k && i <= s->bank - s->k + n) {
            o->c.is_high[at + i] = 1;
            o->c.high[at + i] = has_scale || stays ? high[n] : 0;
        }
        n++;
    }
    raise(o, SQ_SCALED_ERROR_MASK, n != s->k || goes);
}

static void load_block(struct sq_es_operand *o, const struct sq_es_side *s,
                       const struct sq_es_stored *b, size_t at)
{
    // IF4, RaZeR, described formats: the sign of the scale may choose the values of codes.
    const struct sq_scaled_codes e = sq_es_codes(s);
    const int32_t sign = sq_scaled_has_sign(s->element) ? b->scale & SQ_BS_SCALE_SIGN : 0;
    const unsigned grid = sq_scaled_grid(e, b->scale, b->sub);
    bool is_scale;
    uint32_t scale = load_scale(o, s->scale_kind, b->scale ^ sign, &is_scale);
    scale |= is_scale ? (uint32_t)sign : 0;
    memcpy(o->c.scale[0] + at / s->bank * sq_bs_scale_nbytes(&o->c.f), &scale,
           sq_bs_scale_nbytes(&o->c.f));
    for (unsigned i = 0; i < s->bank; i++) {
        const bool is_skipped =
            s->k > 0 && (b->mask ? b->mask[i] != 0 : b->code[i] == SQ_ES_MASK_CODE);
        const uint8_t code = load_code(o, e, grid, is_skipped, b->code[i]);
        o->c.code[at + i] = is_scale ? code : sq_scaled_zero(e, sq_scaled_grid(e, 0, b->sub));
    }
    if (b->sub)
        sq_scaled_load_subs(e, b->sub, is_scale, o->c.sub + at / s->bank * sq_bs_n_subs(&o->c.f));
    if (s->k > 0)
        load_high(o, s, b, at, is_scale);
    if (s->place == SQ_ES_NONE)
        return;
    raise(o, SQ_SCALED_ERROR_MASK, b->scale == 0 && b->place != 0);
    if (b->scale != 0 && is_scale)
        o->c.is_high[at + (size_t)b->place] = 1;
}

static void set_globals(struct sq_es_operand *o, bool is_high)
{
    for (unsigned part = 0; part < SQ_BS_PARTS; part++)
        for (size_t i = 0; i < o->c.n; i++)
            o->c.global[part][i] = part == is_high;
}

void sq_es_load(const unsigned *v, const struct sq_es_layout *l, const struct sq_es_side *s,
                const int32_t *first, size_t len, uint32_t records, size_t tiles,
                struct sq_es_operand *o)
{
    const size_t lines = s->lines / s->per_line, blocks = (size_t)records * s->per_line;
    alloc_operand(o, l, s, blocks, tiles * lines);
    for (size_t i = 0; i < tiles * records; i++)
        for (unsigned r = 0; r < s->lines; r++) {
            const size_t line = i / records * lines + r / s->per_line;
            const size_t block = i % records * s->per_line + r % s->per_line;
            struct sq_es_stored b;
            get_stored(v, s, first + i * len, r, &b);
            load_block(o, s, &b, (line * blocks + block) * s->bank);
        }
    set_globals(o, false);
}

// ---- values ---------------------------------------------------------------------------------

// The value of a scale; 0 if it is illegal.
static float scale_of(const int32_t *bits)
{
    float x;
    memcpy(&x, bits, sizeof x);
    return sq_engine_is_scale(*bits) ? x : 0;
}

static bool are_scales(const int32_t *bits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!sq_engine_is_scale(bits[i]))
            return false;
    return true;
}

static bool is_wrong_scale(const struct sq_es_layout *l, const int32_t *scale)
{
    const size_t cols = l->c.cols, rows = l->c.rows;
    return !are_scales(scale, l->pairs == 4 ? 2 * cols : cols) ||
           !are_scales(scale + 2 * cols, l->pairs > 1 ? 2 * rows : rows);
}

// y [rows][cols]: the product of both operands, each with its scales above the blocks.
static void multiply(const struct sq_es_operand *x, const struct sq_es_operand *w, float *y)
{
    const size_t cols = w->c.n;
    SQ_FREED void *const scratch = malloc(sq_bs_plain_scratch(&w->c));
    if (!scratch)
        abort();
    for (size_t c0 = 0; c0 < cols; c0 += SQ_BS_PLAIN_CHANNELS) {
        sq_bs_plain_load(&w->c, c0, scratch);
        for (size_t r = 0; r < x->c.n; r++) {
            float some[SQ_BS_PLAIN_CHANNELS];
            sq_bs_plain(&w->c, c0, &x->c, r, scratch, some);
            for (size_t c = c0; c < cols && c < c0 + SQ_BS_PLAIN_CHANNELS; c++)
                y[r * cols + c] = some[c - c0];
        }
    }
}

// Sets the scales above the blocks. A tile has `len` integers: scales of its `lines` lines, low, then high.
static void set_scales(struct sq_es_operand *o, size_t lines, const int32_t *scale, size_t len,
                       bool has_high)
{
    for (size_t i = 0; i < o->c.n; i++) {
        const int32_t *const at = scale + i / lines * len + i % lines;
        o->c.global[0][i] = scale_of(at);
        o->c.global[1][i] = has_high ? scale_of(at + lines) : 0;
    }
}

int64_t *sq_es_integers(const struct sq_es_operand *o, const struct sq_es_side *s)
{
    const size_t k = o->c.k;
    int64_t *const to = malloc(o->c.n * k * sizeof *to);
    if (!to)
        abort();
    for (size_t i = 0; i < o->c.n * k; i++) {
        const unsigned sign = sq_scaled_has_sign(s->element) ? SQ_BS_SCALE_SIGN : 0;
        const uint8_t scale = (uint8_t)(o->c.scale[0][i / s->bank] & ~sign);
        to[i] = sq_scaled_integer(&o->c, s->element, i / k, i % k) *
                sq_scaled_units(s->scale_kind, scale);
    }
    return to;
}

// Number of fraction bits of those integers.
static int fraction_of(const struct sq_es_side *s)
{
    return (int)sq_scaled_element_fraction(s->element) + (s->scale_kind == SQ_SCALED_E4M3 ? 9 : 0);
}

float sq_es_float(const struct sq_es_layout *l, int64_t sum)
{
    return ldexpf((float)sum, -fraction_of(&l->act) - fraction_of(&l->weight));
}

// Adds the exact products of both operands to sum [rows][cols].
static void add_exact(const struct sq_es_layout *l, const struct sq_es_operand *x,
                      const struct sq_es_operand *w, int64_t *sum)
{
    const size_t k = x->c.k, cols = w->c.n;
    SQ_FREED int64_t *const a = sq_es_integers(x, &l->act);
    SQ_FREED int64_t *const b = sq_es_integers(w, &l->weight);
    for (size_t i = 0; i < x->c.n * cols; i++)
        for (size_t j = 0; j < k; j++)
            sum[i] += a[i / cols * k + j] * b[i % cols * k + j];
}

// As multiply, with one rounding of the exact sum.
static void multiply_exact(const struct sq_es_layout *l, const struct sq_es_operand *x,
                           const struct sq_es_operand *w, float *y)
{
    const size_t cols = w->c.n;
    SQ_FREED int64_t *const sum = calloc(x->c.n * cols, sizeof *sum);
    if (!sum)
        abort();
    add_exact(l, x, w, sum);
    for (size_t i = 0; i < x->c.n * cols; i++)
        y[i] = sq_combine_float(0, sq_es_float(l, sum[i]), w->c.global[0][i % cols],
                                x->c.global[0][i / cols]);
}

// Adds the products to total [rows][cols] as a tensor core does.
static void add_aligned(const unsigned *v, const struct sq_es_operand *x,
                        const struct sq_es_operand *w, float *total)
{
    const struct sq_sum_rule r = sq_scaled_rule(v[SQ_ES_ACC], v[SQ_ES_ACC_W], v[SQ_ES_BANK]);
    const size_t n = x->c.n * w->c.n;
    SQ_FREED double *const sum = malloc(n * sizeof *sum);
    for (size_t i = 0; sum && i < n; i++)
        sum[i] = (double)total[i];
    if (!sum || !sq_bs_accumulate(&r, &w->c, &x->c, sum))
        abort();
    for (size_t i = 0; i < n; i++)
        total[i] = (float)sum[i];
}

static void multiply_aligned(const unsigned *v, const struct sq_es_operand *x,
                             const struct sq_es_operand *w, float *y)
{
    memset(y, 0, x->c.n * w->c.n * sizeof *y);
    add_aligned(v, x, w, y);
    for (size_t i = 0; i < x->c.n * w->c.n; i++)
        y[i] = sq_combine_float(0, y[i], w->c.global[0][i % w->c.n], x->c.global[0][i / w->c.n]);
}

static unsigned end_product(const unsigned *v, const struct sq_es_layout *l,
                            struct sq_es_operand *x, struct sq_es_operand *w, float *y)
{
    if (v[SQ_ES_ACC] == SQ_SCALED_BINARY32)
        multiply(x, w, y);
    else if (v[SQ_ES_ACC] >= SQ_SCALED_ALIGNED)
        multiply_aligned(v, x, w, y);
    else
        multiply_exact(l, x, w, y);
    const unsigned errors = x->errors | w->errors;
    sq_es_free(x);
    sq_es_free(w);
    return errors;
}

unsigned sq_es_tile(const unsigned *v, const struct sq_es_layout *l, const int32_t *first,
                    uint32_t blocks, const int32_t *scale, float *y)
{
    const size_t cols = l->c.cols, rows = l->c.rows;
    struct sq_es_operand x, w;
    sq_es_load(v, l, &l->act, first, l->len, blocks, 1, &x);
    sq_es_load(v, l, &l->weight, first, l->len, blocks, 1, &w);
    set_scales(&w, cols, scale, 0, l->pairs == 4);
    set_scales(&x, rows, scale + 2 * cols, 0, l->pairs > 1);
    return end_product(v, l, &x, &w, y) | (unsigned)is_wrong_scale(l, scale)
                                              << SQ_SCALED_ERROR_SCALE;
}

// The side with its fields counted from the start of its own beat.
static struct sq_es_side in_beat(struct sq_es_side s)
{
    int *const field[] = {&s.high, &s.mask, &s.scale, &s.high_scale, &s.place, &s.sub};
    for (size_t i = 0; i < SQ_LEN(field); i++)
        *field[i] -= *field[i] != SQ_ES_NONE ? s.code : 0;
    s.code = 0;
    return s;
}

static void load_tiles(const unsigned *v, const struct sq_es_layout *l, const struct sq_es_side *in,
                       const struct sq_es_tiles *t, uint32_t blocks, bool has_high,
                       struct sq_es_operand *o)
{
    const struct sq_es_side s = in_beat(*in);
    sq_es_load(v, l, &s, t->beat, t->beat_len, blocks, t->n, o);
    set_scales(o, s.lines, t->scale, t->scale_len, has_high);
}

unsigned sq_es_product(const unsigned *v, const struct sq_es_layout *l, uint32_t blocks,
                       const struct sq_es_tiles *act, const struct sq_es_tiles *weight, float *y)
{
    struct sq_es_operand x, w;
    assert(l->act.x == SQ_ES_NONE);
    load_tiles(v, l, &l->act, act, blocks, l->pairs > 1, &x);
    load_tiles(v, l, &l->weight, weight, blocks, l->pairs == 4, &w);
    return end_product(v, l, &x, &w, y);
}

unsigned sq_es_block(const unsigned *v, const struct sq_es_layout *l, const int32_t *record,
                     float *total, int64_t *exact)
{
    const size_t pes = (size_t)l->c.rows * l->c.cols;
    SQ_FREED float *const y = malloc(pes * sizeof *y);
    SQ_CLOSED(sq_es_free) struct sq_es_operand x = {0}, w = {0};
    if (!y)
        abort();
    sq_es_load(v, l, &l->act, record, l->len, 1, 1, &x);
    sq_es_load(v, l, &l->weight, record, l->len, 1, 1, &w);
    if (v[SQ_ES_ACC] == SQ_SCALED_FIXED)
        add_exact(l, &x, &w, exact);
    if (v[SQ_ES_ACC] >= SQ_SCALED_ALIGNED)
        add_aligned(v, &x, &w, total);
    for (unsigned pair = 0; pair < l->pairs && v[SQ_ES_ACC] == SQ_SCALED_BINARY32; pair++) {
        set_globals(&x, l->pairs == 4 ? pair / 2 : pair); // other parts get 0
        set_globals(&w, l->pairs == 4 && pair % 2);
        multiply(&x, &w, y);
        for (size_t i = 0; i < pes; i++)
            total[pair * pes + i] += y[i];
    }
    const unsigned errors = x.errors | w.errors;
    return errors;
}

uint64_t sq_es_golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const struct sq_es_layout l = sq_es_layout_of(v);
    const size_t pes = (size_t)l.c.rows * l.c.cols, words = pes / l.c.port_len;
    const size_t word_len = l.c.port_len + SQ_ENGINE_WORD_FIELDS;
    const uint32_t blocks = (uint32_t)in->record[SQ_ES_BLOCKS];
    const uint32_t tiles = (uint32_t)in->record[SQ_ES_TILES];
    SQ_FREED float *const y = malloc(pes * sizeof *y);
    SQ_FREED int32_t *const bits = malloc(pes * sizeof *bits);
    unsigned errors = 0;
    if (!y || !bits)
        abort();
    for (uint32_t t = 0; t < tiles; t++) {
        const int32_t *const scale = in->record + t * l.len + l.scale;
        errors |= sq_es_tile(v, &l, in->record + (size_t)t * blocks * l.len, blocks, scale, y);
        (void)sq_output_end(&l.c, scale - 1, y, bits); // FLOAT reads no scale at the end
        for (size_t w = 0; w < words; w++, out += word_len) {
            memcpy(out, bits + w * l.c.port_len, l.c.port_len * sizeof *out);
            out[l.c.port_len] = t + 1 == tiles && w + 1 == words;
            out[l.c.port_len + 1] = (int32_t)errors;
        }
    }
    return tiles * words;
}
