// SPDX-License-Identifier: Apache-2.0
// Lays out the beats of sq_engine_scaled, draws what they hold, and spoils it for cases with
// errors.
#include "sim/block/scaled/sq_engine_scaled_draw.h"

#include <string.h>

#include "sim/block/flow/sq_case.h"
#include "sim/block/flow/sq_engine.h"

enum { JOB_BITS = 16, BFLOAT16_INF = 0x7f80, ACT_SCALE_PARAMS = 6 };

// ---- ports ----------------------------------------------------------------------------------

// A field behind those that are there; returns where it begins.
static int add(struct sq_ports *p, unsigned stream, const char *name, size_t count, unsigned width)
{
    const size_t at = sq_field_offset(p->in, p->n_in);
    p->in[p->n_in++] = (struct sq_field){name, count, width, true};
    p->stream[stream].n_fields++;
    return (int)at;
}

static void add_side(struct sq_ports *p, unsigned stream, bool is_encoded, struct sq_es_side *s)
{
    const size_t lines = s->lines, bank = s->bank;
    const unsigned place_bits = bank == 32 ? 5 : 4;
    s->x = s->code = s->high = s->mask = s->scale = s->high_scale = s->place = s->sub = SQ_ES_NONE;
    if (is_encoded) {
        s->x = add(p, stream, "x", lines * bank, 16);
        return;
    }
    s->code = add(p, stream, "code", lines * bank, sq_scaled_code_bits(s->element));
    if (s->k > 0)
        s->high = add(p, stream, "high", lines * s->k,
                      sq_scaled_code_bits(sq_scaled_high_element(s->high_kind, s->element)));
    if (s->k > 0 && s->high_kind == SQ_SCALED_SPLIT)
        s->mask = add(p, stream, "mask", lines * bank, 1);
    s->scale = add(p, stream, "scale", lines, sq_scaled_scale_bits(s->scale_kind));
    if (s->k > 0 && s->high_kind == SQ_SCALED_BLOCK)
        s->high_scale = add(p, stream, "high_scale", lines, 8);
    if (s->element == SQ_SCALED_PLUS)
        s->place = add(p, stream, "place", lines, place_bits);
    if (sq_scaled_sub_bits(s->element) > 0)
        s->sub = add(p, stream, "sub", lines * sq_scaled_sub_bits(s->element), 1);
}

struct sq_scaled_codes sq_es_codes(const struct sq_es_side *s)
{
    return (struct sq_scaled_codes){s->element, s->words};
}

const int32_t *sq_es_subs(const struct sq_es_side *s, const int32_t *record, size_t r)
{
    return s->sub == SQ_ES_NONE ? NULL
                                : record + (size_t)s->sub + r * sq_scaled_sub_bits(s->element);
}

static struct sq_es_layout lay_out(const unsigned *v, struct sq_ports *p)
{
    const enum sq_scaled_high high = (enum sq_scaled_high)v[SQ_ES_HIGH];
    const unsigned k = v[SQ_ES_HIGH_PER_BANK];
    struct sq_es_layout l = {.c = sq_output_config(v[SQ_ES_ROWS], v[SQ_ES_COLS], v + SQ_ES_OUTPUT),
                             .pairs = k > 0 ? sq_scaled_pairs(high, v[SQ_ES_WEIGHT_HIGH]) : 1,
                             .act = {.lines = v[SQ_ES_ROWS],
                                     .per_line = 1,
                                     .bank = v[SQ_ES_BANK],
                                     .k = k,
                                     .high_kind = high,
                                     .element = (enum sq_scaled_element)v[SQ_ES_ACT_ELEMENT],
                                     .words = v + SQ_PARAMS_MAX,
                                     .scale_kind = (enum sq_scaled_scale)v[SQ_ES_ACT_SCALE]},
                             .weight = {.lines = v[SQ_ES_COLS],
                                        .per_line = 1,
                                        .bank = v[SQ_ES_BANK],
                                        .k = v[SQ_ES_WEIGHT_HIGH] ? k : 0,
                                        .high_kind = high,
                                        .element = (enum sq_scaled_element)v[SQ_ES_WEIGHT_ELEMENT],
                                        .words = v + SQ_PARAMS_MAX,
                                        .scale_kind = (enum sq_scaled_scale)v[SQ_ES_WEIGHT_SCALE]}};
    struct sq_field scale[SQ_OUTPUT_SCALE_FIELDS];
    const size_t words = (size_t)l.c.rows * l.c.cols / l.c.port_len;
    *p = (struct sq_ports){.stream = {{"job", 0}, {"act", 0}, {"weight", 0}, {"scale", 0}},
                           .out = {sq_output_field(&l.c)},
                           .n_out = 1 + SQ_ENGINE_WORD_FIELDS,
                           .records = SQ_ES_BLOCKS_MAX * SQ_ES_TILES_MAX,
                           .outputs = SQ_ES_TILES_MAX * words,
                           .has_jobs = true,
                           .macs = (double)l.act.lines * l.weight.lines * l.act.bank,
                           .mac_stream = SQ_ES_ACT};
    sq_engine_word_fields(p->out + 1);
    (void)add(p, SQ_ES_JOB, "blocks", 1, JOB_BITS);
    (void)add(p, SQ_ES_JOB, "tiles", 1, JOB_BITS);
    add_side(p, SQ_ES_ACT, v[SQ_ES_ENCODE], &l.act);
    add_side(p, SQ_ES_WEIGHT, false, &l.weight);
    l.scale = sq_field_offset(p->in, p->n_in);
    sq_output_scale_fields(&l.c, scale);
    for (size_t f = 1; f < SQ_OUTPUT_SCALE_FIELDS; f++) // without `last`
        p->in[p->n_in++] = scale[f];
    p->stream[SQ_ES_SCALE].n_fields = SQ_OUTPUT_SCALE_FIELDS - 1;
    l.len = sq_field_offset(p->in, p->n_in);
    return l;
}

struct sq_es_layout sq_es_layout_of(const unsigned *v)
{
    struct sq_ports p;
    return lay_out(v, &p);
}

void sq_es_ports(const unsigned *v, struct sq_ports *p)
{
    (void)lay_out(v, p);
}

void sq_es_encoder(const unsigned *v, unsigned value[SQ_PARAMS_MAX])
{
    const unsigned own = v[SQ_ES_HIGH_PER_BANK] > 0 && v[SQ_ES_HIGH] == SQ_SCALED_OWN;
    const unsigned all[ACT_SCALE_PARAMS] = {v[SQ_ES_BANK],        v[SQ_ES_HIGH_PER_BANK],
                                            v[SQ_ES_ACT_ELEMENT], v[SQ_ES_ACT_SCALE],
                                            v[SQ_ES_TOPK],        own};
    memset(value, 0, SQ_PARAMS_MAX * sizeof *value);
    memcpy(value, all, sizeof all);
}

// ---- operands -------------------------------------------------------------------------------

static bool is_sentinel(const struct sq_es_side *s)
{
    return s->k > 0 && s->high_kind != SQ_SCALED_SPLIT;
}

// The places of the k high elements of a block: at one end of it, or anywhere.
static void draw_marks(const struct sq_es_side *s, struct sq_rng *rng, bool *is_high)
{
    const unsigned end = sq_rng_below(rng, 3);
    for (unsigned t = 0; t < s->k; t++) {
        unsigned i = end == 0 ? t : s->bank - s->k + t;
        while (end == 2 && is_high[i = sq_rng_below(rng, s->bank)])
            ;
        is_high[i] = true;
    }
}

// Marks of a line into its codes or its mask; of ILLEGAL also any, or all.
static void draw_line_marks(const struct sq_es_side *s, struct sq_rng *rng, enum sq_stimulus kind,
                            int32_t *code, int32_t *mask)
{
    const unsigned way = kind == SQ_STIMULUS_ILLEGAL ? sq_rng_below(rng, 8) : 7;
    bool is_high[SQ_BS_BLOCK_MAX] = {false};
    draw_marks(s, rng, is_high);
    for (unsigned i = 0; i < s->bank; i++) {
        const bool bit = way == 0 ? true : way < 3 ? sq_rng_below(rng, 2) : is_high[i];
        if (mask) {
            mask[i] = bit;
            if (bit && sq_rng_below(rng, 2)) // low nibbles are any
                code[i] = sq_draw_bits(rng, 4, true);
        } else {
            code[i] = bit ? SQ_ES_MASK_CODE : code[i] == SQ_ES_MASK_CODE ? 0 : code[i];
        }
    }
}

static void draw_high(const struct sq_es_side *s, struct sq_rng *rng, enum sq_stimulus kind,
                      int32_t *high)
{
    const struct sq_scaled_codes e = {sq_scaled_high_element(s->high_kind, s->element), NULL};
    for (size_t i = 0; i < (size_t)s->lines * s->k; i++) {
        high[i] = sq_scaled_draw_element(e, rng, kind);
        if (!is_sentinel(s) && sq_rng_below(rng, 4))
            high[i] = sq_draw_bits(rng, 4, true);
        if (is_sentinel(s) && kind != SQ_STIMULUS_ILLEGAL && high[i] == 0x80)
            high[i] = 0;
    }
}

static void draw_encoded(const unsigned *v, const struct sq_es_side *s, struct sq_rng *rng,
                         enum sq_stimulus kind, int32_t *x)
{
    unsigned value[SQ_PARAMS_MAX];
    sq_es_encoder(v, value);
    for (unsigned r = 0; r < s->lines; r++, x += s->bank) {
        memset(x, 0, s->bank * sizeof *x);
        sq_act_scale_block.draw_beat(value, rng, kind, 0, x);
        if (kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 8) == 0)
            x[sq_rng_below(rng, s->bank)] |= BFLOAT16_INF;
    }
}

void sq_es_draw_side(const unsigned *v, const struct sq_es_side *s, struct sq_rng *rng,
                     enum sq_stimulus kind, int32_t *record)
{
    if (s->x != SQ_ES_NONE) {
        draw_encoded(v, s, rng, kind, record + s->x);
        return;
    }
    (void)sq_scaled_draw_elements(sq_es_codes(s), rng, kind, (size_t)s->lines * s->bank,
                                  record + s->code);
    for (unsigned r = 0; r < s->lines; r++) {
        record[s->scale + (int)r] = sq_scaled_draw_scale(s->scale_kind, rng, kind);
        if (s->high_scale != SQ_ES_NONE)
            record[s->high_scale + (int)r] = sq_scaled_draw_scale(s->scale_kind, rng, kind);
        if (s->place != SQ_ES_NONE)
            record[s->place + (int)r] =
                record[s->scale + (int)r] == 0 && kind != SQ_STIMULUS_ILLEGAL
                    ? 0
                    : (int32_t)sq_rng_below(rng, s->bank);
        if (s->k > 0)
            draw_line_marks(s, rng, kind, record + s->code + r * s->bank,
                            s->mask == SQ_ES_NONE ? NULL : record + s->mask + r * s->bank);
    }
    if (s->k > 0)
        draw_high(s, rng, kind, record + s->high);
    sq_scaled_draw_signs(sq_es_codes(s), s->bank, rng, kind, s->lines, record + s->scale,
                         s->sub == SQ_ES_NONE ? NULL : record + s->sub, record + s->code);
}

// The largest scale, or one that leaves room for sums, or 1.
static uint32_t fill_scale(const struct sq_es_side *s, enum sq_es_fill how)
{
    const uint32_t one = sq_scaled_one(s->scale_kind);
    if (how == SQ_ES_LARGEST)
        return s->scale_kind == SQ_SCALED_POW4  ? 15
               : s->scale_kind == SQ_SCALED_F16 ? 0x7bff
                                                : 0x7e;
    return how == SQ_ES_AT_ONE               ? one
           : s->scale_kind == SQ_SCALED_E8M0 ? one + 7
           : s->scale_kind == SQ_SCALED_F32  ? one + 0x10000000u
           : s->scale_kind >= SQ_SCALED_F16  ? one + 0x1000u
           : one > 0xb8                      ? 0xfe
                                             : one + 0x46;
}

void sq_es_fill_side(const struct sq_es_side *s, bool is_negative, enum sq_es_fill how,
                     int32_t *record)
{
    const enum sq_scaled_element e = sq_scaled_high_element(s->high_kind, s->element);
    const bool is_float =
        sq_scaled_is_table(s->element) || !sq_element_is_int(sq_scaled_element_of(s->element));
    const bool is_lowest = is_negative && how == SQ_ES_LARGEST; // which is no code, but counts
    const bool steps_back = is_negative && !is_float && (!is_lowest || is_sentinel(s));
    unsigned grid;
    const int32_t end = sq_scaled_end(sq_es_codes(s), is_negative, &grid);
    const int32_t scale = (int32_t)fill_scale(s, how);
    if (s->x != SQ_ES_NONE) {
        for (unsigned i = 0; i < s->lines * s->bank; i++)
            record[s->x + (int)i] =
                (is_negative ? 0xc000 : 0x4000) + (how == SQ_ES_LARGE ? 0x0300 : 0);
        return;
    }
    for (unsigned i = 0; i < s->lines * s->bank; i++) {
        const bool is_high = i % s->bank < s->k;
        record[s->code + (int)i] =
            is_high && is_sentinel(s) ? SQ_ES_MASK_CODE : end + (steps_back && !is_high);
        if (s->mask != SQ_ES_NONE)
            record[s->mask + (int)i] = is_high;
    }
    for (unsigned i = 0; i < s->lines * s->k; i++)
        record[s->high + (int)i] = sq_scaled_element_end(e, is_negative) +
                                   (e == SQ_SCALED_INT8 && is_negative && !is_lowest);
    for (unsigned r = 0; r < s->lines; r++) {
        record[s->scale + (int)r] =
            sq_scaled_has_sign(s->element) && grid ? scale | SQ_BS_SCALE_SIGN : scale;
        if (s->sub != SQ_ES_NONE)
            sq_scaled_end_subs(sq_es_codes(s), grid, is_negative,
                               record + s->sub + r * sq_scaled_sub_bits(s->element));
        if (s->high_scale != SQ_ES_NONE)
            record[s->high_scale + (int)r] = scale;
        if (s->place != SQ_ES_NONE)
            record[s->place + (int)r] = 0;
    }
}

// ---- errors ---------------------------------------------------------------------------------

// In place of a random one.
static bool spoil_code(const struct sq_es_side *s, struct sq_rng *rng, int32_t *record)
{
    static const int32_t no_e4m3[] = {0x80, 0x80, 0x7f, 0xff};
    const unsigned sub_bits = sq_scaled_sub_bits(s->element);
    unsigned i = sq_rng_below(rng, s->lines * s->bank);
    if (is_sentinel(s)) { // of a low one it is the mask code
        const bool is_int8 = sq_scaled_high_element(s->high_kind, s->element) == SQ_SCALED_INT8;
        record[s->high + (int)sq_rng_below(rng, s->lines * s->k)] =
            is_int8 ? 0x80 : no_e4m3[sq_rng_below(rng, SQ_LEN(no_e4m3))];
        return true;
    }
    while (s->mask != SQ_ES_NONE && record[s->mask + (int)i])
        i = sq_rng_below(rng, s->lines * s->bank);
    return sq_scaled_spoil_code(sq_es_codes(s), rng, record + s->scale + i / s->bank,
                                s->sub == SQ_ES_NONE ? NULL
                                                     : record + s->sub + i / s->bank * sub_bits,
                                record + s->code + i);
}

static bool spoil_mask(const struct sq_es_side *s, struct sq_rng *rng, int32_t *record)
{
    const unsigned i = sq_rng_below(rng, s->lines * s->bank), r = i / s->bank;
    if (s->place != SQ_ES_NONE) {
        record[s->scale + (int)r] = 0;
        record[s->place + (int)r] = 1 + (int32_t)sq_rng_below(rng, s->bank - 1);
        return true;
    }
    if (s->mask != SQ_ES_NONE) {
        record[s->mask + (int)i] ^= 1;
        if (!record[s->mask + (int)i]) // an element that is now low
            record[s->code + (int)i] = 1;
    } else if (s->k > 0) {
        record[s->code + (int)i] =
            record[s->code + (int)i] == SQ_ES_MASK_CODE ? 1 : SQ_ES_MASK_CODE;
    }
    return s->k > 0;
}

static bool spoil_scale(const struct sq_es_side *s, struct sq_rng *rng, int32_t *record)
{
    const int at = s->high_scale != SQ_ES_NONE && sq_rng_below(rng, 2) ? s->high_scale : s->scale;
    return sq_scaled_spoil_scale(sq_es_codes(s), rng, s->scale_kind,
                                 record + at + (int)sq_rng_below(rng, s->lines));
}

bool sq_es_spoil(const struct sq_es_side *s, struct sq_rng *rng, enum sq_scaled_error kind,
                 int32_t *record)
{
    if (s->x != SQ_ES_NONE) {
        if (kind == SQ_SCALED_ERROR_SCALE)
            record[s->x + (int)sq_rng_below(rng, s->lines * s->bank)] |= BFLOAT16_INF;
        return kind == SQ_SCALED_ERROR_SCALE;
    }
    return kind == SQ_SCALED_ERROR_CODE   ? spoil_code(s, rng, record)
           : kind == SQ_SCALED_ERROR_MASK ? spoil_mask(s, rng, record)
                                          : spoil_scale(s, rng, record);
}
