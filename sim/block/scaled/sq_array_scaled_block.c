// SPDX-License-Identifier: Apache-2.0
// sq_array_scaled: block-scaled formats, a block of every line per cycle.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/output/sq_combine.h"
#include "models/scaled/sq_bs_accumulate.h"
#include "models/scaled/sq_scaled.h"
#include "sim/block/flow/sq_case.h"
#include "sim/block/flow/sq_pipeline.h"
#include "sim/block/scaled/sq_engine_scaled_golden.h"

#include "sim/block/scaled/sq_array_scaled.block.h"

// Blocks of a line in a beat.
static unsigned blocks_of(const unsigned *v)
{
    return v[TWO_BLOCKS] ? 2 : 1;
}

// Whether activations have mask bits; those with own scales have mask codes.
static bool has_mask(const unsigned *v)
{
    return v[HIGH_PER_BANK] > 0 && !v[OWN_HIGH];
}

static bool has_place(const unsigned *v)
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

static void ports(const unsigned *v, struct sq_ports *p)
{
    const size_t rows = v[ROWS], cols = v[COLS], bank = v[BANK_LEN], pes = rows * cols;
    const size_t blocks = blocks_of(v);
    *p = (struct sq_ports){
        .stream = {{"in", 7}},
        .has_last = true,
        .macs = (double)(pes * bank * blocks),
        .n_in = 7,
        .n_out = 4,
        .in = {{"last", 1, 1, true},
               {"act", rows * blocks * bank, sq_scaled_code_bits(v[ACT_ELEMENT]), true},
               {"high", rows * (v[HIGH_PER_BANK] > 0 ? v[HIGH_PER_BANK] : 1), v[OWN_HIGH] ? 8 : 4,
                true},
               {"mask", rows * (has_mask(v) ? bank : 1), 1, true},
               {"act_scale", rows * blocks, sq_scaled_scale_bits(v[ACT_SCALE]), true},
               {"weight", cols * blocks * bank, sq_scaled_code_bits(v[WEIGHT_ELEMENT]), true},
               {"weight_scale", cols * blocks, sq_scaled_scale_bits(v[WEIGHT_SCALE]), true}},
        .out = {{"y", pes, 32, true},
                {"y_top", pes, 32, true},
                {"y_high", pes, 32, true},
                {"error", 1, SQ_SCALED_ERRORS, true}}};
    if (has_place(v)) {
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

// Where a field begins.
static int at(const struct sq_ports *p, size_t f)
{
    return (int)sq_field_offset(p->in, f);
}

static struct sq_es_side side_of(const unsigned *v, const struct sq_ports *p, bool is_act)
{
    const bool has_high = is_act && v[HIGH_PER_BANK] > 0;
    const size_t sub = p->n_in - 1 - (is_act && sub_bits(v, false) > 0);
    return (struct sq_es_side){.lines = v[is_act ? ROWS : COLS] * blocks_of(v),
                               .per_line = blocks_of(v),
                               .bank = v[BANK_LEN],
                               .k = has_high ? v[HIGH_PER_BANK] : 0,
                               .high_kind = v[OWN_HIGH] ? SQ_SCALED_OWN : SQ_SCALED_SPLIT,
                               .element = (is_act ? act(v) : weight(v)).element,
                               .scale_kind = v[is_act ? ACT_SCALE : WEIGHT_SCALE],
                               .words = v + SQ_PARAMS_MAX,
                               .x = SQ_ES_NONE,
                               .code = at(p, is_act ? 1 : 5),
                               .high = has_high ? at(p, 2) : SQ_ES_NONE,
                               .mask = has_high && !v[OWN_HIGH] ? at(p, 3) : SQ_ES_NONE,
                               .scale = at(p, is_act ? 4 : 6),
                               .high_scale = SQ_ES_NONE,
                               .place = has_place(v) ? at(p, is_act ? 7 : 8) : SQ_ES_NONE,
                               .sub = sub_bits(v, is_act) > 0 ? at(p, sub) : SQ_ES_NONE};
}

static struct sq_es_layout layout_of(const unsigned *v, struct sq_ports *p)
{
    ports(v, p);
    return (struct sq_es_layout){.act = side_of(v, p, true),
                                 .weight = side_of(v, p, false),
                                 .len = sq_field_offset(p->in, p->n_in),
                                 .pairs = 1};
}

// ---- input ----------------------------------------------------------------------------------

// Both operands; what a point without high elements or mask bits has of their ports is noise.
static void draw_beat(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint64_t number,
                      int32_t *beat)
{
    struct sq_ports p;
    const struct sq_es_layout l = layout_of(v, &p);
    (void)number;
    for (size_t f = 2; f < 4; f++)
        for (size_t i = 0; i < p.in[f].count; i++)
            beat[sq_field_offset(p.in, f) + i] = (f == 2 ? l.act.high : l.act.mask) == SQ_ES_NONE
                                                     ? sq_draw_bits(rng, p.in[f].width, true)
                                                     : 0;
    sq_es_draw_side(v, &l.act, rng, kind, beat);
    sq_es_draw_side(v, &l.weight, rng, kind, beat);
}

// ---- the ends of the sums -------------------------------------------------------------------

static void fill(const unsigned *v, int sign, int32_t *beat)
{
    struct sq_ports p;
    const struct sq_es_layout l = layout_of(v, &p);
    sq_es_fill_side(&l.act, true, SQ_ES_LARGEST, beat);
    sq_es_fill_side(&l.weight, sign > 0, SQ_ES_LARGEST, beat);
}

// Groups of two beats whose sums almost cancel: of the second all weights have the other sign, one
// is a step apart. Which of two operands is the larger one then depends on low bits.
static enum sq_status draw_cancel(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    enum { GROUPS = 256 };
    const unsigned *const v = c->point->value;
    struct sq_ports p;
    const struct sq_es_layout l = layout_of(v, &p);
    const struct sq_es_side *const w = &l.weight;
    const size_t weights = (size_t)w->lines * w->bank;
    SQ_TRY(sq_case_room(c, GROUPS, 2, err));
    for (size_t g = 0; g < GROUPS; g++) {
        int32_t *const first = c->beats + 2 * g * l.len, *const second = first + l.len;
        int32_t *const code = first + w->code, *const act_code = first + l.act.code;
        const size_t one = sq_rng_below(rng, v[BANK_LEN]);
        draw_beat(v, rng, SQ_STIMULUS_UNIFORM, g, first);
        for (size_t i = 0; i < weights && g % 2; i++) // large sums
            code[i] = sq_scaled_draw_element(weight(v), rng, SQ_STIMULUS_EXTREME);
        for (size_t i = one; i < (size_t)l.act.lines * v[BANK_LEN] && !v[OWN_HIGH];
             i += v[BANK_LEN])
            act_code[i] = 1;
        for (size_t i = one; i < weights; i += v[BANK_LEN])
            code[i] = 1;
        memcpy(second, first, l.len * sizeof *first);
        for (size_t i = 0; i < weights; i++) {
            const unsigned grid =
                sq_scaled_grid(weight(v), first[w->scale + (int)(i / v[BANK_LEN])],
                               sq_es_subs(w, first, i / v[BANK_LEN]));
            second[w->code + (int)i] = i % v[BANK_LEN] == one
                                           ? (int32_t)sq_rng_below(rng, 2)
                                           : sq_scaled_negative(weight(v), grid, code[i]);
        }
        second[0] = 1;
        c->len[g][0] = 2;
    }
    return SQ_OK;
}

// ---- one thing wrong ------------------------------------------------------------------------

// Line r of a side by itself.
static struct sq_es_side line_of(struct sq_es_side s, unsigned r)
{
    const unsigned of_line[] = {s.bank, s.k, s.bank, 1, 1, sq_scaled_sub_bits(s.element)};
    int *const field[] = {&s.code, &s.high, &s.mask, &s.scale, &s.place, &s.sub};
    for (size_t i = 0; i < SQ_LEN(field); i++)
        *field[i] += *field[i] == SQ_ES_NONE ? 0 : (int)(r * s.per_line * of_line[i]);
    s.lines = s.per_line;
    return s;
}

// Groups of two beats. In every second one a single line has one thing wrong, of each kind in each beat;
// the group behind it has nothing wrong.
static enum sq_status draw_errors(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    enum { BEATS = 2 };
    static const enum sq_scaled_error wrong[] = {SQ_SCALED_ERROR_CODE, SQ_SCALED_ERROR_SCALE,
                                                 SQ_SCALED_ERROR_MASK};
    const unsigned *const v = c->point->value;
    const unsigned lines = v[ROWS] + v[COLS];
    struct sq_ports p;
    const struct sq_es_layout l = layout_of(v, &p);
    SQ_TRY(sq_case_room(c, 2 * SQ_LEN(wrong) * BEATS * lines, BEATS, err));
    for (size_t g = 0; g < c->n_groups; g++) {
        int32_t *const first = c->beats + BEATS * g * l.len;
        for (size_t b = 0; b < BEATS; b++) {
            draw_beat(v, rng, SQ_STIMULUS_UNIFORM, g, first + b * l.len);
            first[b * l.len] = b + 1 == BEATS;
        }
        const size_t way = g / 2;
        const unsigned i = (unsigned)(way % lines);
        const struct sq_es_side line =
            i < v[ROWS] ? line_of(l.act, i) : line_of(l.weight, i - v[ROWS]);
        if (g % 2 == 0)
            (void)sq_es_spoil(&line, rng, wrong[way / lines / BEATS],
                              first + way / lines % BEATS * l.len);
        c->len[g][0] = BEATS;
    }
    return SQ_OK;
}

static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    if (number > 0)
        return number == 1 ? draw_cancel(c, rng, err) : draw_errors(c, rng, err);
    if (v[ACC] == SQ_SCALED_FIXED)
        assert(sq_scaled_limit(v[ACT_ELEMENT], v[WEIGHT_ELEMENT], v[ACT_SCALE], v[WEIGHT_SCALE],
                               v[BANK_LEN], has_mask(v) ? v[HIGH_PER_BANK] : 0,
                               SQ_K_MAX) < INT64_C(1) << (v[ACC_W] - 1));
    return sq_case_sums(c, SQ_K_MAX / (v[BANK_LEN] * blocks_of(v)), fill, err);
}

// ---- output ---------------------------------------------------------------------------------

static void product_float(const unsigned *v, const struct sq_es_operand *x,
                          const struct sq_es_operand *w, int32_t *out)
{
    const size_t pes = (size_t)v[ROWS] * v[COLS];
    const struct sq_sum_rule r = sq_scaled_rule(v[ACC], v[ACC_W], v[BANK_LEN]);
    const bool is_aligned = v[ACC] >= SQ_SCALED_ALIGNED;
    SQ_FREED double *const sum = calloc(pes, sizeof *sum);
    SQ_FREED float *y = calloc(pes, sizeof *y);
    const struct sq_bs_product g = {.w = &w->c, .x = &x->c, .y = y};
    SQ_FREED void *scratch = aligned_alloc(64, (sq_bs_gemm_scratch(&g) + 63) / 64 * 64);
    if (!y || !scratch || !sum || (is_aligned && !sq_bs_accumulate(&r, &w->c, &x->c, sum)))
        abort();
    if (!is_aligned)
        sq_bs_gemm(&g, scratch);
    for (size_t i = 0; i < pes; i++)
        out[i] = (int32_t)sq_combine_bits(is_aligned ? (float)sum[i] : y[i]);
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

static void product_fixed(const unsigned *v, const struct sq_es_layout *l,
                          const struct sq_es_operand *x, const struct sq_es_operand *w,
                          int32_t *out)
{
    const size_t pes = (size_t)v[ROWS] * v[COLS], k = x->c.k;
    const size_t beat = (size_t)v[BANK_LEN] * l->act.per_line;
    SQ_FREED int64_t *const a = sq_es_integers(x, &l->act);
    SQ_FREED int64_t *const b = sq_es_integers(w, &l->weight);
    for (size_t pe = 0; pe < pes; pe++) {
        const size_t r = pe / v[COLS], c = pe % v[COLS];
        uint64_t y = 0;
        int64_t term = 0, y_high = 0;
        for (size_t i = 0; i < k; i++) {
            term += a[r * k + i] * b[c * k + i];
            if (v[OWN_HIGH] && x->c.is_high[r * k + i])
                y_high += (int8_t)x->c.high[r * k + i] *
                          sq_scaled_integer(&w->c, l->weight.element, c, i);
            if ((i + 1) % beat != 0)
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
    struct sq_ports p;
    const struct sq_es_layout l = layout_of(v, &p);
    SQ_CLOSED(sq_es_free) struct sq_es_operand x = {0}, w = {0};
    sq_es_load(v, &l, &l.act, in->record, l.len, in->len[0], 1, &x);
    sq_es_load(v, &l, &l.weight, in->record, l.len, in->len[0], 1, &w);
    if (v[ACC] == SQ_SCALED_FIXED)
        product_fixed(v, &l, &x, &w, out);
    else
        product_float(v, &x, &w, out);
    out[3 * v[ROWS] * v[COLS]] = (int32_t)(x.errors | w.errors);
    return 1;
}

static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    struct sq_ports p;
    ports(v, &p);
    return way == 0 && sq_cut_to_last(sq_field_offset(p.in, p.n_in), record, len);
}

static void init(const unsigned *v, void *state)
{
    struct sq_chain *c = state;
    sq_pipeline_init(
        &c->back, SQ_TIMING_ARRAY,
        sq_array_scaled_stages(sq_scaled_tail_stages(v[ACC], v[CUT]), v[HIGH_PER_BANK] > 0));
    c->back.in_place = sq_scaled_tail_stays(v[ACC], v[CARRY]);
}

static const char *source(const unsigned *v, FILE *out)
{
    return sq_scaled_write_source(v, v[ACT_ELEMENT], v[WEIGHT_ELEMENT], out);
}

// Exact sums are as wide as those of the largest layer.
static enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)
{
    (void)given;
    if (v[TWO_BLOCKS] && v[HIGH_PER_BANK] > 0)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "HighPerBank = %u, need 0: two blocks a beat have no high elements",
                       v[HIGH_PER_BANK]);
    if (v[BANK_LEN] == old[BANK_LEN] && v[HIGH_PER_BANK] == old[HIGH_PER_BANK])
        return SQ_OK;
    if (v[ACC] == SQ_SCALED_FIXED)
        v[ACC_W] = sq_scaled_sum_bits(
            sq_scaled_limit(v[ACT_ELEMENT], v[WEIGHT_ELEMENT], v[ACT_SCALE], v[WEIGHT_SCALE],
                            v[BANK_LEN], has_mask(v) ? v[HIGH_PER_BANK] : 0, SQ_K_MAX));
    if (v[OWN_HIGH])
        v[HIGH_ACC_W] = sq_scaled_sum_bits((int64_t)SQ_K_MAX / v[BANK_LEN] * v[HIGH_PER_BANK] *
                                           128 * sq_scaled_element_max(v[WEIGHT_ELEMENT]));
    return SQ_OK;
}
