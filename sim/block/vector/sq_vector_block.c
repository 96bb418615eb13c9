// SPDX-License-Identifier: Apache-2.0
// sq_vector: what a model computes element by element.
#include "models/vector/sq_vector.h"

#include <assert.h>
#include <string.h>

#include "models/output/sq_combine.h"
#include "sim/block/vector/sq_vector_time.h"

#include "sim/block/vector/sq_vector.block.h"

enum { F, IS_SUM, IS_LAST, FLAGS }; // of a record, before a, b and c of each lane
// ---- input ----------------------------------------------------------------------------------

static int32_t bits_of(float x)
{
    return (int32_t)sq_combine_bits(x);
}

// A number by flavour. Uniform ones are of the size of scores and activations, and up to 512, whose e^x is none; short fractions make ties.
static int32_t draw_number(struct sq_rng *rng, enum sq_stimulus kind)
{
    const uint32_t any = (uint32_t)sq_rng_next(rng), sign = any & 0x80000000u;
    const uint32_t fraction = any & 0x7fffffu & (UINT32_MAX << sq_rng_below(rng, 24));
    switch (kind) {
    case SQ_STIMULUS_EXTREME: // zeros, subnormal numbers, ends of every function's range
        return (int32_t)(sign | (uint32_t[]){0, 1, 0x7fffff, 0x800000, 0x3f800000, 0x7f7fffff,
                                             0x7f800000, 0x42b17217, 0x42b17218, 0x42cff1b4,
                                             0x42ffffff, 0x43000000, 0x7e800000 | fraction,
                                             0x7f000000 | fraction, fraction,
                                             0x42a00000 | (fraction >> 2)}[sq_rng_below(rng, 16)]);
    case SQ_STIMULUS_FEW: // sums that cancel, equal numbers
        return (int32_t)(sign | (uint32_t[]){0, 0x3f800000, 0x40000000}[sq_rng_below(rng, 3)]);
    case SQ_STIMULUS_ILLEGAL:
        return (int32_t)any;
    default:
        return (int32_t)(sign | (112 + sq_rng_below(rng, 24)) << 23 | fraction);
    }
}

// x = a b + c: at times a alone.
static void draw_lane(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, bool is_alone,
                      int32_t *a)
{
    const size_t lanes = v[LANES];
    a[0] = draw_number(rng, kind);
    a[lanes] = is_alone ? bits_of(1.0f) : draw_number(rng, kind);
    a[2 * lanes] = is_alone ? INT32_MIN : draw_number(rng, kind);
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    (void)number;
    const bool is_alone = sq_rng_below(rng, 2), is_sum = sq_rng_below(rng, 2);
    len[0] = 1 + sq_rng_below(rng, BEATS_MAX);
    for (uint32_t i = 0; i < len[0]; i++, record += record_len(v)) {
        record[F] = (int32_t)sq_rng_below(rng, SQ_VECTOR_FUNCS);
        record[IS_SUM] = is_sum ^ (sq_rng_below(rng, 16) == 0);
        record[IS_LAST] = i + 1 == len[0];
        for (size_t l = 0; l < v[LANES]; l++)
            draw_lane(v, rng, kind, is_alone, record + FLAGS + l);
    }
}

// Way 0: the first beat goes.
static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    if (way > 0 || len[0] == 1)
        return false;
    len[0]--;
    memmove(record, record + record_len(v), len[0] * record_len(v) * sizeof *record);
    return true;
}

// ---- directed cases -------------------------------------------------------------------------

// Every segment of every function, u at both ends and in between; a beat each.
enum { N_U = 3, N_SEGMENTS = 2 * SQ_VECTOR_SEGMENTS + SQ_VECTOR_SEGMENTS / 2 };

static float segment_end(struct sq_rng *rng, unsigned segment, unsigned u)
{
    const bool is_exp = segment >= 2 * SQ_VECTOR_SEGMENTS;
    const unsigned bits = segment / SQ_VECTOR_SEGMENTS == 0 ? 16 : 17;
    const uint32_t low = u == 0   ? 0
                         : u == 1 ? (1u << bits) - 1
                                  : (uint32_t)sq_rng_next(rng) & ((1u << bits) - 1);
    if (is_exp) // a multiple of ln(2) / 64, both signs, and its neighbours
        return (float)((segment - 2.0 * SQ_VECTOR_SEGMENTS + (u == 2 ? sq_rng_unit(rng) : u)) / 64 *
                           0x1.62e42fefa39efp-1 -
                       (low & 1));
    const uint32_t place = segment % SQ_VECTOR_SEGMENTS << bits;
    return sq_word_float((int32_t)((127u << 23) + (place | low)));
}

static enum sq_status draw_segments(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    SQ_TRY(sq_case_room(c, N_U * N_SEGMENTS, 1, err));
    for (size_t g = 0; g < c->n_groups; g++) {
        int32_t *const record = c->beats + g * record_len(v);
        const unsigned segment = (unsigned)g / N_U;
        c->len[g][0] = 1;
        record[F] = segment >= 2 * SQ_VECTOR_SEGMENTS ? SQ_VECTOR_EXP
                    : segment >= SQ_VECTOR_SEGMENTS   ? SQ_VECTOR_RSQRT
                                                      : SQ_VECTOR_RECIPROCAL;
        record[IS_SUM] = g & 1;
        record[IS_LAST] = 1;
        for (size_t l = 0; l < v[LANES]; l++) {
            record[FLAGS + l] = bits_of(segment_end(rng, segment, (unsigned)(g + l) % N_U));
            record[FLAGS + v[LANES] + l] = bits_of(1.0f);
            record[FLAGS + 2 * v[LANES] + l] = INT32_MIN;
        }
    }
    return SQ_OK;
}

// Whole rows, as the golden model issues their beats.
enum { ROWS = 24, ROW_MAX = 5 * 16 };

struct taker {
    struct sq_case *c; // without beats: they are counted alone
    size_t n_groups, n_beats;
};

static void take(void *context, const struct sq_vector_beat *beat)
{
    struct taker *const t = context;
    if (t->c->beats) {
        const unsigned *const v = t->c->point->value;
        int32_t *const record = t->c->beats + t->n_beats * record_len(v);
        record[F] = beat->f;
        record[IS_SUM] = beat->is_sum;
        record[IS_LAST] = beat->is_last;
        for (size_t l = 0; l < v[LANES]; l++) {
            record[FLAGS + l] = bits_of(beat->a[l]);
            record[FLAGS + v[LANES] + l] = bits_of(beat->b[l]);
            record[FLAGS + 2 * v[LANES] + l] = bits_of(beat->c[l]);
        }
        t->c->len[t->n_groups][0]++;
    }
    t->n_beats++;
    t->n_groups += beat->is_last;
}

static void issue_rows(struct taker *t, struct sq_rng rng)
{
    const unsigned lanes = t->c->point->value[LANES];
    struct sq_vector_unit unit = {.lanes = lanes, .see = take, .context = t};
    t->n_groups = t->n_beats = 0;
    for (unsigned row = 0; row < ROWS; row++) {
        const size_t n = 1 + sq_rng_below(&rng, 5 * (lanes < 16 ? lanes : 16));
        float x[4][ROW_MAX];
        for (size_t i = 0; i < 4 * ROW_MAX; i++)
            x[i / ROW_MAX][i % ROW_MAX] = (float)(16 * sq_rng_unit(&rng) - 8);
        sq_vector_softmax(&unit, x[0], n);
        sq_vector_norm(&unit, x[1], x[2], 1e-5f, n);
        sq_vector_gate(&unit, x[1], x[3], n);
        sq_vector_rotary(&unit, x[1], x[0], x[2], x[3], n);
        sq_vector_add(&unit, x[1], x[0], n);
    }
}

static enum sq_status draw_rows(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    struct taker t = {.c = c};
    issue_rows(&t, *rng);
    c->n_groups = t.n_groups;
    c->n_beats = t.n_beats;
    SQ_TRY(sq_case_alloc(c, err));
    issue_rows(&t, *rng);
    return SQ_OK;
}

static enum sq_status draw_directed(struct sq_case *c, unsigned n, struct sq_rng *rng,
                                    struct sq_error *err)
{
    return n == 0 ? draw_segments(c, rng, err) : draw_rows(c, rng, err);
}

// ---- output ---------------------------------------------------------------------------------

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const size_t lanes = v[LANES];
    struct sq_vector_unit unit = {.lanes = v[LANES]};
    for (uint32_t i = 0; i < in->len[0]; i++) {
        const int32_t *const record = in->record + i * record_len(v);
        struct sq_vector_beat beat = {.f = (enum sq_vector_func)record[F],
                                      .is_sum = record[IS_SUM],
                                      .is_last = record[IS_LAST]};
        float y[SQ_VECTOR_LANES_MAX];
        for (size_t l = 0; l < lanes; l++) {
            beat.a[l] = sq_word_float(record[FLAGS + l]);
            beat.b[l] = sq_word_float(record[FLAGS + lanes + l]);
            beat.c[l] = sq_word_float(record[FLAGS + 2 * lanes + l]);
        }
        sq_vector_step(&unit, &beat, y);
        for (size_t l = 0; l < lanes; l++)
            *out++ = bits_of(y[l]);
        *out++ = bits_of(unit.red);
    }
    return in->len[0];
}

// ---- time -----------------------------------------------------------------------------------

// Stages, the first in the lowest bit. Cut: a beat that is added to those before it waits a cycle in front of the last stage.
struct sim {
    unsigned depth;
    uint64_t valid, sum, last;
    bool is_cut, goes_on, waited; // goes_on: a row has begun
};

static void init(const unsigned *v, void *state)
{
    struct sim *const s = state;
    s->is_cut = v[CUT];
    s->depth = s->is_cut ? sq_vector_cut_latency(v[LANES]) : sq_vector_latency(v[LANES]);
}

static bool adds(const struct sim *s)
{
    return s->is_cut && s->goes_on && (s->valid & s->sum) >> (s->depth - 2) & 1;
}

static bool moves(const struct sim *s, bool out_ready)
{
    return (!(s->valid >> (s->depth - 1)) || out_ready) && (!adds(s) || s->waited);
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct sim *const s = state;
    (void)in;
    out->in_ready[0] = moves(s, out_ready);
    out->out_valid = s->valid >> (s->depth - 1);
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct sim *const s = state;
    const bool goes = moves(s, out_ready);
    s->waited = adds(s) && !goes;
    if (!goes) {
        s->valid &= ~((uint64_t)out_ready << (s->depth - 1));
        return;
    }
    if (s->valid >> (s->depth - 2) & 1)
        s->goes_on = !(s->last >> (s->depth - 2) & 1);
    s->valid = (s->valid << 1 | in->valid) & ((UINT64_C(1) << s->depth) - 1);
    s->sum = s->sum << 1 | (in->n > 0);
    s->last = s->last << 1 | in->last;
}

static const struct sq_timing timing = {sizeof(struct sim), comb, clock};
