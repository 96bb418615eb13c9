// SPDX-License-Identifier: Apache-2.0
// Computes outputs with the golden model, aims scales at edges of rounding, and steps the stage
// (sq_output_sim.h).
#include "sim/block/output/sq_output_sim.h"

#include <assert.h>
#include <string.h>

#include "sim/block/output/sq_combine_draw.h"

struct sq_output_config sq_output_config(unsigned rows, unsigned cols, const unsigned *value)
{
    return (struct sq_output_config){.rows = rows,
                                     .cols = cols,
                                     .lanes = value[SQ_OUTPUT_LANES],
                                     .form = (enum sq_combine_form)value[SQ_OUTPUT_FORM],
                                     .kind = (enum sq_output_kind)value[SQ_OUTPUT_KIND],
                                     .port_len = value[SQ_OUTPUT_PORT_LEN],
                                     .depth = value[SQ_OUTPUT_DEPTH],
                                     .hold = value[SQ_OUTPUT_HOLD]};
}

struct sq_output_port sq_output_port_of(const struct sq_output_config *c)
{
    return (struct sq_output_port){.rows = c->rows,
                                   .cols = c->cols,
                                   .lanes = c->lanes,
                                   .form = c->form,
                                   .out_bits = sq_output_bits(c->kind),
                                   .port_bits = c->port_len * sq_output_bits(c->kind),
                                   .hold = c->hold};
}

// ---- points of one's own --------------------------------------------------------------------

// The largest divisor of n that is at most `most`.
static unsigned divisor(unsigned n, unsigned most)
{
    while (n % most != 0)
        most--;
    return most;
}

enum sq_status sq_output_settle(unsigned rows, unsigned cols, unsigned *value, const unsigned *old,
                                uint32_t given, struct sq_error *err)
{
    unsigned *const lanes = &value[SQ_OUTPUT_LANES], *const port = &value[SQ_OUTPUT_PORT_LEN];
    if (!(given >> SQ_OUTPUT_LANES & 1))
        *lanes = divisor(rows * cols, old[SQ_OUTPUT_LANES]);
    if (rows * cols % *lanes != 0)
        return SQ_FAIL(err, SQ_ERR_RANGE, "Lanes = %u, need a divisor of Rows * Cols = %u", *lanes,
                       rows * cols);
    if (!(given >> SQ_OUTPUT_PORT_LEN & 1))
        *port = divisor(*lanes, old[SQ_OUTPUT_PORT_LEN]);
    if (*lanes % *port != 0)
        return SQ_FAIL(err, SQ_ERR_RANGE, "PortLen = %u, need a divisor of Lanes = %u", *port,
                       *lanes);
    return SQ_OK;
}

// ---- values ---------------------------------------------------------------------------------

void sq_output_scale_fields(const struct sq_output_config *c, struct sq_field *field)
{
    field[0] = (struct sq_field){"last", 1, 1, true};
    field[1] = (struct sq_field){"col_lo", c->cols, 32, false};
    field[2] = (struct sq_field){"col_hi", c->cols, 32, false};
    field[3] = (struct sq_field){"row_lo", c->rows, 32, false};
    field[4] = (struct sq_field){"row_hi", c->rows, 32, false};
}

size_t sq_output_scale_len(const struct sq_output_config *c)
{
    return 1 + 2 * ((size_t)c->cols + c->rows);
}

struct sq_field sq_output_field(const struct sq_output_config *c)
{
    return (struct sq_field){"y", c->port_len, sq_output_bits(c->kind), c->kind != SQ_OUTPUT_INT8};
}

// Scales of a place, as sq_combine has them.
struct scales {
    float lo, hi, a;
};

static struct scales scales_of(const struct sq_output_config *c, const int32_t *scale, size_t pe)
{
    const int32_t *const col = scale + 1 + pe % c->cols;
    const int32_t *const row = scale + 1 + 2 * (size_t)c->cols + pe / c->cols;
    if (c->form == SQ_COMBINE_SCALED)
        return (struct scales){sq_word_float(row[0]), sq_word_float(row[c->rows]),
                               sq_word_float(col[0])};
    return (struct scales){sq_word_float(col[0]), sq_word_float(col[c->cols]),
                           sq_word_float(row[0])};
}

void sq_output_add(const struct sq_output_config *c, const int32_t *p_lo, const int32_t *p_hi,
                   const int32_t *scale, float *y)
{
    for (size_t i = 0; i < (size_t)c->rows * c->cols; i++) {
        const struct scales s = scales_of(c, scale, i);
        y[i] = sq_combine_group(c->form, y[i], p_lo[i], p_hi[i], s.lo, s.hi, s.a);
    }
}

void sq_output_add_sums(const struct sq_output_config *c, const float *lo, const float *hi,
                        const int32_t *scale, float *y)
{
    for (size_t i = 0; i < (size_t)c->rows * c->cols; i++) {
        const struct scales s = scales_of(c, scale, i);
        y[i] = sq_combine_sums(c->form, y[i], lo[i], hi[i], s.lo, s.hi, s.a);
    }
}

size_t sq_output_end(const struct sq_output_config *c, const int32_t *scale, float *y, int32_t *out)
{
    const size_t n = (size_t)c->rows * c->cols;
    for (size_t i = 0; i < n; i++) {
        const struct scales s = scales_of(c, scale, i);
        out[i] = sq_combine_out(c->kind, sq_combine_bits(sq_combine_end(c->form, y[i], s.a)));
        y[i] = 0.0f;
    }
    return n / c->port_len;
}

// ---- drawing --------------------------------------------------------------------------------

// INT8 comes of small numbers: halves of integers, around the ends of the codes.
static bool is_near(const struct sq_output_config *c, enum sq_stimulus kind)
{
    return c->kind == SQ_OUTPUT_INT8 && kind == SQ_STIMULUS_UNIFORM;
}

int32_t sq_output_draw_sum(const struct sq_output_config *c, struct sq_rng *rng,
                           enum sq_stimulus kind)
{
    const int32_t sum = is_near(c, kind) ? (int32_t)sq_rng_below(rng, 601) - 300
                                         : sq_combine_draw_sum(rng, kind, false);
    return c->form == SQ_COMBINE_FLOAT ? sq_combine_draw_float(rng, sum) : sum;
}

void sq_output_draw_scale(const struct sq_output_config *c, struct sq_rng *rng,
                          enum sq_stimulus kind, bool is_last, int32_t *beat)
{
    const bool near = is_near(c, kind);
    beat[0] = is_last;
    for (size_t i = 1; i < sq_output_scale_len(c); i++) {
        const bool is_row = i > 2 * (size_t)c->cols;
        const bool is_last_factor = is_row != (c->form == SQ_COMBINE_SCALED);
        beat[i] = near ? (is_last_factor ? 127 : 125 + (int32_t)sq_rng_below(rng, 3)) << 23
                       : sq_combine_draw_scale(rng, kind, false, is_last_factor);
    }
}

void sq_output_drop_plane(const struct sq_output_config *c, unsigned plane, int32_t *beat)
{
    const bool is_row = c->form == SQ_COMBINE_SCALED;
    const size_t n = is_row ? c->rows : c->cols;
    memset(beat + 1 + (is_row ? 2 * (size_t)c->cols : 0) + plane * n, 0, n * sizeof *beat);
}

// A number that is `ulps` steps above or below what `x` rounds to, if it is normal; else the scale
// that was there.
static int32_t steps_from(double x, int ulps, int32_t scale)
{
    const double magnitude = x < 0 ? -x : x;
    if (!(magnitude > 1e-30 && magnitude < 1e30))
        return scale;
    return (int32_t)sq_combine_bits((float)x) + ulps;
}

// Draws scales that take output `pe`, whose sums are lo and hi, to about 0 or to a tie.
static void aim(const struct sq_output_config *c, struct sq_rng *rng, size_t pe, float lo, float hi,
                const float *y, int32_t *beat)
{
    enum { ULPS = 3 };
    int32_t *const col = beat + 1 + pe % c->cols;
    int32_t *const row = beat + 1 + 2 * (size_t)c->cols + pe / c->cols;
    struct scales s = scales_of(c, beat, pe);
    const double t = sq_combine_sums(c->form, 0, lo, hi, s.lo, s.hi, s.a);
    if (sq_rng_below(rng, 2)) { // the columns' scale that takes the sum to about 0
        const int ulps = (int)sq_rng_below(rng, 2 * ULPS + 1) - ULPS;
        if (c->form == SQ_COMBINE_TWO)
            col[c->cols] = steps_from(-y[pe] / t * s.hi, 0, col[c->cols]);
        col[0] = steps_from(-y[pe] / t * sq_word_float(col[0]), ulps, col[0]);
    }
    if (beat[0] && c->kind == SQ_OUTPUT_BFLOAT16 && c->form != SQ_COMBINE_SCALED &&
        sq_rng_below(rng, 2)) {
        s = scales_of(c, beat, pe); // the rows' scale that takes the output to a tie of bfloat16
        const float sum = sq_combine_sums(c->form, y[pe], lo, hi, s.lo, s.hi, s.a);
        const uint32_t out = sq_combine_bits(sq_combine_end(c->form, sum, s.a));
        const double tie = sq_word_float((int32_t)((out & 0xffff0000) | 0x8000));
        row[0] = steps_from(tie / sum, (int)sq_rng_below(rng, 3) - 1, row[0]);
    }
}

void sq_output_aim_scale(const struct sq_output_config *c, struct sq_rng *rng, const int32_t *p_lo,
                         const int32_t *p_hi, const float *y, int32_t *beat)
{
    const size_t pe = sq_rng_below(rng, c->rows * c->cols);
    aim(c, rng, pe, sq_combine_sum(c->form, p_lo[pe]), sq_combine_sum(c->form, p_hi[pe]), y, beat);
}

void sq_output_aim_sums(const struct sq_output_config *c, struct sq_rng *rng, const float *lo,
                        const float *hi, const float *y, int32_t *beat)
{
    const size_t pe = sq_rng_below(rng, c->rows * c->cols);
    aim(c, rng, pe, lo[pe], hi[pe], y, beat);
}

// ---- time -----------------------------------------------------------------------------------

enum { REQUANT_STAGES = 3 };

void sq_output_init(struct sq_output_sim *s, const struct sq_output_config *c)
{
    const struct sq_output_port p = sq_output_port_of(c);
    memset(s, 0, sizeof *s);
    const bool is_cut = c->hold == 2; // then two registers stand in front of combine
    sq_pipeline_init(&s->combine, SQ_TIMING_ARRAY,
                     sq_combine_stages(c->form, is_cut) + (is_cut ? 2 : 0));
    sq_pipeline_init(&s->requant, SQ_TIMING_PIPE, REQUANT_STAGES);
    s->has_requant = c->kind == SQ_OUTPUT_INT8;
    s->hold = c->hold;
    s->slots = (unsigned)sq_output_slots(&p);
    s->words = (unsigned)sq_output_words(&p);
    s->depth = c->depth;
    s->spacing = sq_combine_spacing(is_cut);
}

bool sq_output_keeps(const struct sq_output_sim *s)
{
    return s->combine.has_result && (s->keep & 1);
}

// What the parts offer each other in this cycle.
struct wires {
    struct sq_pipeline_out combine, requant;
    bool has_room, unit_taken; // the queue takes a beat; what combine gives is taken
    bool has_tile;             // one is inside, or comes and need not wait
    bool has_place;            // the queue will have one for what the slot gives
    bool may_go;      // so, and the sums that the slot begins with are there, or it needs none
    bool fires, ends; // a slot of the tile goes; it is the last
    bool leaves;      // a beat of the queue has all its words taken
};

static inline struct wires eval(const struct sq_output_sim *s, const struct sq_output_in *in)
{
    struct wires w = {.has_room = s->count < s->depth};
    assert(s->combine.kind == SQ_TIMING_ARRAY && s->requant.kind == SQ_TIMING_PIPE);
    sq_pipeline_comb(&s->requant, w.has_room, &w.requant);
    w.unit_taken =
        s->hold == 2 || sq_output_keeps(s) || (s->has_requant ? w.requant.in_ready : w.has_room);
    sq_pipeline_comb(&s->combine, w.unit_taken, &w.combine);
    w.has_tile = (s->hold > 0 && s->held) || (s->hold != 1 && in->tile_valid);
    w.has_place = s->hold != 2 || s->owed < s->depth || !in->scale_last || in->scale_keep;
    w.may_go = s->pause == 0 && w.has_place && (!in->scale_carry || in->carry_valid);
    w.fires = w.has_tile && in->scale_valid && w.may_go && w.combine.in_ready;
    w.ends = s->slot + 1 == s->slots;
    w.leaves = s->count > 0 && in->out_ready && s->word + 1 == s->words;
    return w;
}

static inline void answer(const struct sq_output_sim *s, const struct sq_output_in *in,
                          const struct wires *w, struct sq_output_out *out)
{
    out->tile_ready = s->hold > 0 ? !s->held || (s->hold == 1 && w->fires && w->ends)
                                  : w->combine.in_ready && in->scale_valid && w->may_go && w->ends;
    out->scale_ready = w->combine.in_ready && w->has_tile && w->may_go && w->ends;
    out->carry_ready =
        in->scale_carry && w->combine.in_ready && w->has_tile && in->scale_valid && w->has_place;
    out->out_valid = s->count > 0;
}

void sq_output_comb(const struct sq_output_sim *s, const struct sq_output_in *in,
                    struct sq_output_out *out)
{
    const struct wires w = eval(s, in);
    answer(s, in, &w, out);
}

void sq_output_clock(struct sq_output_sim *s, const struct sq_output_in *in)
{
    struct sq_output_out unused;
    sq_output_cycle(s, in, &unused);
}

void sq_output_cycle(struct sq_output_sim *s, const struct sq_output_in *in,
                     struct sq_output_out *out)
{
    const struct wires w = eval(s, in);
    const bool is_output = w.combine.out_valid && !sq_output_keeps(s);
    const bool given = s->has_requant ? w.requant.out_valid : is_output;
    assert(s->hold != 2 || !given || w.has_room);
    answer(s, in, &w, out);
    if (s->count > 0 && in->out_ready)
        s->word = w.leaves ? 0 : s->word + 1;
    s->count = s->count + (given && w.has_room) - w.leaves;
    if (s->has_requant)
        sq_pipeline_clock(&s->requant, is_output, false, w.has_room);
    if (w.combine.out_valid && w.unit_taken) {
        s->keep >>= 1;
        s->n_last--;
    }
    if (w.fires && in->scale_last) {
        assert(s->n_last <= SQ_PIPELINE_DEPTH_MAX);
        s->keep |= (uint64_t)in->scale_keep << s->n_last++;
    }
    sq_pipeline_clock(&s->combine, w.fires, in->scale_last, w.unit_taken);
    s->owed = s->owed + (w.fires && in->scale_last && !in->scale_keep) - w.leaves;
    if (s->hold == 2)
        s->held = w.has_tile && !(w.fires && w.ends);
    else if (s->hold == 1 && (!s->held || (w.fires && w.ends)))
        s->held = in->tile_valid;
    if (w.fires && w.ends && !in->scale_last && s->spacing > s->slots)
        s->pause = s->spacing - s->slots;
    else if (s->pause > 0 && w.combine.in_ready)
        s->pause--;
    if (w.fires)
        s->slot = w.ends ? 0 : s->slot + 1;
}
