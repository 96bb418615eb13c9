// SPDX-License-Identifier: Apache-2.0
// sq_spqt_idx: thresholds, ranks and packed indices of the active columns of a vector.
#include "sim/block/spqt/sq_spqt_idx_block.h"
#include "sim/block/spqt/sq_spqt_idx.block.h"

#include <assert.h>

#include "models/spqt/sq_spqt_idx.h"

// The point that `sqsim area` prices.
static const unsigned priced[] = {[SEG_LEN] = 32, [LANES] = 8, [FP16] = 0, [INDEX_W] = 16};

static unsigned max_segments(const unsigned *v)
{
    const unsigned most = (1u << v[INDEX_W]) / v[SEG_LEN] + 4;
    return most < 16 ? most : 16;
}

static bool is_legal(const unsigned *v, int32_t x)
{
    return v[FP16] ? sq_spqt_is_legal_fp16((uint16_t)x) : sq_spqt_is_legal_int8((int8_t)x);
}

static bool keep(const unsigned *v, const int32_t *record, unsigned i)
{
    const unsigned theta = (unsigned)record[v[SEG_LEN]];
    return v[FP16] ? sq_spqt_keep_fp16((uint16_t)record[i], theta)
                   : sq_spqt_keep_int8((int8_t)record[i], theta);
}

static int32_t draw_x(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, unsigned theta)
{
    const unsigned bits = v[FP16] ? 16 : 8, max = v[FP16] ? 0x7bff : 127;
    const int32_t sign = v[FP16] ? -0x8000 : 0;
    if (kind == SQ_STIMULUS_ILLEGAL)
        return sq_draw_bits(rng, bits, false);
    uint32_t magnitude = sq_rng_below(rng, max + 1);
    if (kind != SQ_STIMULUS_UNIFORM) // around the threshold
        magnitude = theta + sq_rng_below(rng, 3) - (theta > 0);
    if (magnitude > max)
        magnitude = max;
    if (sq_rng_below(rng, 2))
        return (int32_t)magnitude;
    return v[FP16] ? sign + (int32_t)magnitude : -(int32_t)magnitude;
}

// One illegal element in a vector that has no other, often in a lane at the end.
static void spoil_one(const unsigned *v, struct sq_rng *rng, uint32_t segments, int32_t *record)
{
    const uint32_t lane[3] = {0, v[SEG_LEN] - 1, sq_rng_below(rng, v[SEG_LEN])};
    int32_t *const segment = record + sq_rng_below(rng, segments) * (v[SEG_LEN] + 2);
    const int32_t half =
        (int32_t)sq_rng_below(rng, 1u << (10 * sq_rng_below(rng, 2))) | 0x7c00; // infinity, NaN
    segment[lane[sq_rng_below(rng, 3)]] = !v[FP16]               ? -128
                                          : sq_rng_below(rng, 2) ? half
                                                                 : half - 0x8000;
}

// A segment whose element `at` alone is illegal.
static void put_illegal(const unsigned *v, struct sq_rng *rng, unsigned at, int32_t *record)
{
    for (unsigned i = 0; i < v[SEG_LEN]; i++)
        record[i] = draw_x(v, rng, SQ_STIMULUS_UNIFORM, 0);
    record[at] = !v[FP16] ? -128 : 0x7c00 - (at % 2 ? 0x8000 : 0);
    record[v[SEG_LEN]] = 1;
    record[v[SEG_LEN] + 1] = 1;
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const unsigned seg = v[SEG_LEN], max = v[FP16] ? 0x7fff : 255;
    unsigned theta = sq_rng_below(rng, (kind == SQ_STIMULUS_ILLEGAL ? max : max / 2) + 1);
    if (kind == SQ_STIMULUS_EXTREME) // all, none, only zeros not
        theta = (unsigned[]){0, max, 1}[sq_rng_below(rng, 3)];
    len[0] = kind == SQ_STIMULUS_ALL ? 2 : 1 + sq_rng_below(rng, max_segments(v));
    int32_t *const first = record;
    const bool has_one = kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 2);
    kind = has_one ? SQ_STIMULUS_UNIFORM : kind;
    for (uint32_t s = 0; s < len[0]; s++, record += seg + 2) {
        for (unsigned i = 0; i < seg; i++)
            record[i] = kind == SQ_STIMULUS_ALL ? (number >> (s * seg + i) & 1 ? -127 : 126)
                                                : draw_x(v, rng, kind, theta);
        record[seg] = kind == SQ_STIMULUS_ALL ? 127 : (int32_t)theta;
        record[seg + 1] = s + 1 == len[0];
    }
    if (has_one)
        spoil_one(v, rng, len[0], first);
}

// A vector of `segments` in which all elements are kept, or few: those of the segments at both ends
// and one of each eighth segment.
static void put_vector(const unsigned *v, uint32_t segments, bool is_all, int32_t *record)
{
    const int32_t kept = v[FP16] ? 0x3c00 : 127; // 1.0
    for (uint32_t s = 0; s < segments; s++, record += v[SEG_LEN] + 2) {
        const bool is_end = s < 4 || s + 4 >= segments;
        for (unsigned i = 0; i < v[SEG_LEN]; i++)
            record[i] = is_all || is_end || (s % 8 == 7 && i == s / 8 % v[SEG_LEN]) ? kept : 0;
        record[v[SEG_LEN]] = 1;
        record[v[SEG_LEN] + 1] = s + 1 == segments;
    }
}

enum {
    BEATS_MAX = SQ_SPQT_COLUMNS_MAX / 8 + 2,
    COLUMNS_MAX = (1 << 16) + 64
}; // of a vector; the last segment is too many

// As many segments as an index can name, few and, as far as the beats go, all elements kept; one
// segment more, which is an error. Then a vector for each element that may be illegal.
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const uint32_t whole = (1u << v[INDEX_W]) / v[SEG_LEN];
    const uint32_t most = (BEATS_MAX - 2) * v[LANES] / v[SEG_LEN];
    const uint32_t segments[3] = {whole, whole < most ? whole : most, whole + 1};
    (void)number;
    c->n_groups = 3 + v[SEG_LEN];
    c->n_beats = segments[0] + segments[1] + segments[2] + v[SEG_LEN];
    c->max_outputs = BEATS_MAX;
    SQ_TRY(sq_case_alloc(c, err));
    int32_t *record = c->beats;
    for (size_t g = 0; g < 3; record += segments[g++] * (v[SEG_LEN] + 2)) {
        c->len[g][0] = segments[g];
        put_vector(v, segments[g], g == 1 || (g == 2 && whole < most), record);
    }
    for (unsigned i = 0; i < v[SEG_LEN]; i++, record += v[SEG_LEN] + 2) {
        c->len[3 + i][0] = 1;
        put_illegal(v, rng, i, record);
    }
    return SQ_OK;
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const int32_t *const record = in->record;
    const uint32_t *const len = in->len;
    const unsigned seg = v[SEG_LEN], lanes = v[LANES];
    uint8_t mask[COLUMNS_MAX];
    struct sq_spqt_beat beat[BEATS_MAX];
    const size_t capacity = (size_t)1 << v[INDEX_W];
    bool is_illegal = (size_t)len[0] * seg > capacity;
    assert((size_t)len[0] * seg <= sizeof mask);
    for (uint32_t s = 0; s < len[0]; s++)
        for (unsigned i = 0; i < seg; i++) {
            mask[s * seg + i] = keep(v, record + s * (seg + 2), i);
            is_illegal = is_illegal || !is_legal(v, record[s * (seg + 2) + i]);
        }
    const size_t n = sq_spqt_pack(mask, len[0], seg, lanes, beat);
    assert(n <= BEATS_MAX);
    for (size_t b = 0; b < n; b++) {
        for (unsigned l = 0; l < lanes; l++)
            *out++ = sq_field_unsigned(beat[b].index[l], v[INDEX_W]);
        *out++ = (int32_t)beat[b].n;
        *out++ = sq_field_unsigned(beat[b].total, v[INDEX_W] + 1);
        *out++ = beat[b].last;
        *out++ = beat[b].last && is_illegal;
    }
    return n;
}

// ---- time -----------------------------------------------------------------------------------

static void init(const unsigned *v, void *state)
{
    *(struct sq_spqt_idx_sim *)state = (struct sq_spqt_idx_sim){.lanes = v[LANES]};
}

static void offer(const unsigned *v, unsigned stream, const int32_t *record, struct sq_offer *o)
{
    (void)stream;
    for (unsigned i = 0; i < v[SEG_LEN]; i++)
        o->n += keep(v, record, i);
    o->last = record[v[SEG_LEN] + 1];
}

// The beat offered is the last one of its vector.
static bool ends(const struct sq_spqt_idx_sim *s)
{
    return s->held_last && s->held <= s->lanes;
}

void sq_spqt_idx_show(const void *state, struct sq_offer *out)
{
    out->last = ends(state);
}

// The buffer takes a segment in this cycle.
static bool takes_segment(const struct sq_spqt_idx_sim *s, bool out_ready)
{
    if (!s->held_last && s->held < s->lanes)
        return true;
    return out_ready && (ends(s) || (!s->held_last && s->held < 2 * s->lanes));
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct sq_spqt_idx_sim *s = state;
    (void)in;
    out->out_valid = s->held_last || s->held >= s->lanes;
    out->in_ready[0] = !s->stage[0].valid || !s->stage[1].valid || takes_segment(s, out_ready);
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct sq_spqt_idx_sim *s = state;
    struct sq_handshake out;
    comb(s, in, out_ready, &out);
    const bool takes = takes_segment(s, out_ready), is_end = ends(s);
    const bool second_moves = !s->stage[1].valid || takes;
    const bool first_moves = !s->stage[0].valid || second_moves;
    if (out.out_valid && out_ready) {
        s->held = is_end ? 0 : s->held - s->lanes;
        s->held_last = s->held_last && !is_end;
    }
    if (takes && s->stage[1].valid) {
        s->held += s->stage[1].n;
        s->held_last = s->stage[1].last;
    }
    if (second_moves)
        s->stage[1] = s->stage[0];
    if (first_moves)
        s->stage[0] = in[0];
}

static const struct sq_timing timing = {sizeof(struct sq_spqt_idx_sim), comb, clock};

uint64_t sq_spqt_idx_scan(unsigned lanes, uint64_t segments, uint64_t n_active)
{
    struct sq_spqt_idx_sim unit = {.lanes = lanes};
    uint64_t cycles = 0, segment = 0;
    assert(n_active < UINT64_C(1) << 32 && segments >= 1 && segments < UINT64_C(1) << 31);
    for (bool is_done = false; !is_done; cycles++) {
        const uint64_t n = sq_spqt_idx_before(segment + 1, segments, n_active) -
                           sq_spqt_idx_before(segment, segments, n_active);
        const struct sq_offer in = {
            .valid = segment < segments, .last = segment + 1 == segments, .n = (uint32_t)n};
        struct sq_handshake out;
        comb(&unit, &in, true, &out);
        is_done = out.out_valid && ends(&unit);
        segment += in.valid && out.in_ready[0];
        clock(&unit, &in, true);
    }
    return cycles;
}

uint64_t sq_spqt_idx_cycles(uint64_t k, uint64_t n_active)
{
    return sq_spqt_idx_scan(priced[LANES], (k + priced[SEG_LEN] - 1) / priced[SEG_LEN], n_active);
}
