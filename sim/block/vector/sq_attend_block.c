// SPDX-License-Identifier: Apache-2.0
// sq_attend: attention of queries that share a cache.
#include "models/vector/sq_attend.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_half.h"
#include "models/output/sq_combine.h"

#include "sim/block/vector/sq_attend.block.h"

static enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)
{
    (void)old, (void)given;
    if (v[HEAD_DIM] < v[LANES])
        return SQ_FAIL(err, SQ_ERR_RANGE, "HeadDim=%u, need %u (Lanes) or more", v[HEAD_DIM],
                       v[LANES]);
    return SQ_OK;
}

// ---- input ----------------------------------------------------------------------------------

// A number of `width` bits, 10 or 23 of them its fraction, by flavour: scores of a few units, ends of the range, equal
// scores, any bits.
static int32_t draw_number(struct sq_rng *rng, enum sq_stimulus kind, unsigned width)
{
    const unsigned fraction = width == 16 ? 10 : 23, bias = width == 16 ? 15 : 127;
    const uint32_t any = (uint32_t)sq_rng_next(rng), ones = (1u << fraction) - 1;
    uint32_t exponent = bias - 4 + sq_rng_below(rng, 6);
    if (kind == SQ_STIMULUS_FEW)
        return (int32_t)(any >> 31 << (width - 1) | (any & 1 ? bias << fraction : 0));
    if (kind == SQ_STIMULUS_EXTREME)
        exponent = (uint32_t[]){0, 1, bias, bias + 4, 2 * bias}[sq_rng_below(rng, 5)];
    if (kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 32) == 0)
        exponent = 2 * bias + 1;
    return (int32_t)(any >> 31 << (width - 1) | exponent << fraction |
                     (any & ones & (ones << sq_rng_below(rng, fraction + 1))));
}

static void put_job(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint32_t keys,
                    uint32_t beats, uint32_t heads, int32_t *record, uint32_t *len)
{
    len[JOB] = 1;
    len[Q] = heads * beats;
    len[K] = len[V] = keys * beats;
    record[at_keys(v)] = (int32_t)keys - 1;
    record[at_beats(v)] = (int32_t)beats - 1;
    record[at_heads(v)] = (int32_t)heads - 1;
    for (uint32_t i = 0; i < len[K] || i < len[Q]; i++, record += record_len(v)) {
        for (size_t e = 0; i < len[Q] && e < v[LANES]; e++)
            record[at_x(v) + e] = draw_number(rng, kind, 32);
        for (size_t e = at_k_x(v); i < len[K] && e < record_len(v); e++) {
            const bool is_scale = e == at_scale(v) || e == at_v_scale(v);
            record[e] =
                v[IS_INT8] && !is_scale ? sq_draw_code(rng, 8, kind) : draw_number(rng, kind, 16);
            if (kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 8) == 0)
                record[e] = is_scale ? 0x7c00 : 0; // infinity times 0 is no number
        }
    }
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    (void)number;
    // Outputs of one key are its values, so that each code times its scale is seen.
    const bool is_one = kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 2);
    const uint32_t most = is_one ? 1 : sq_rng_below(rng, 2) ? 4 : KEYS_MAX;
    const uint32_t keys = 1 + sq_rng_below(rng, most);
    const uint32_t heads = sq_rng_below(rng, 2) ? v[HEADS] : 1 + sq_rng_below(rng, v[HEADS]);
    put_job(v, rng, kind, keys, 1 + sq_rng_below(rng, v[HEAD_DIM] / v[LANES]), heads, record, len);
}

// Way 0: the second half of the keys goes; way 1: the last key.
static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    const uint32_t keys = (uint32_t)record[at_keys(v)] + 1, kept = way == 0 ? keys / 2 : keys - 1;
    if (way > 1 || kept == 0)
        return false;
    record[at_keys(v)] = (int32_t)kept - 1;
    len[K] = len[V] = kept * ((uint32_t)record[at_beats(v)] + 1);
    return true;
}

// Scores that rise from key to key, that fall, and as many keys as there may be where a head is a beat.
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const uint32_t beats = v[HEAD_DIM] / v[LANES];
    const uint32_t keys = beats == 1 && number == 0 && v[LANES] > 1 ? SQ_ATTEND_KEYS_MAX : 300;
    c->n_groups = 1;
    c->n_beats = (size_t)keys * beats;
    SQ_TRY(sq_case_alloc(c, err));
    put_job(v, rng, SQ_STIMULUS_UNIFORM, keys, beats, v[HEADS], c->beats, c->len[0]);
    for (uint32_t i = 0; i < c->n_beats; i++) {
        int32_t *const record = c->beats + i * record_len(v);
        const uint32_t step = i / beats % 256;
        for (size_t l = 0; l < v[LANES]; l++)
            record[at_k_x(v) + l] =
                (number == 0 ? (int32_t)step : 255 - (int32_t)step) * (v[IS_INT8] ? 1 : 16) +
                (v[IS_INT8] ? -128 : 0x3000);
        for (size_t e = 0; i < c->len[0][Q] && e < v[LANES]; e++)
            record[at_x(v) + e] &= INT32_MAX;
    }
    return SQ_OK;
}

// ---- output ---------------------------------------------------------------------------------

// An element of a key or of a value; the scale stands behind the lanes.
static float element(const unsigned *v, const int32_t *x, size_t lane)
{
    const float scale = sq_half_to_float((uint16_t)x[v[LANES]]);
    return v[IS_INT8] ? (float)x[lane] * scale : sq_half_to_float((uint16_t)x[lane]);
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const size_t beats = (size_t)in->record[at_beats(v)] + 1, heads = in->len[Q] / beats;
    const size_t lanes = v[LANES], size = beats * lanes, keys = in->len[K];
    float q[SQ_ATTEND_HEAD_MAX], y[SQ_ATTEND_HEAD_MAX];
    SQ_FREED float *const key = malloc(2 * keys * lanes * sizeof *key);
    float *const value = key + keys * lanes;
    assert(key);
    for (size_t i = 0; i < keys * lanes; i++) {
        const int32_t *const record = in->record + i / lanes * record_len(v);
        key[i] = element(v, record + at_k_x(v), i % lanes);
        value[i] = element(v, record + at_v_x(v), i % lanes);
    }
    for (size_t h = 0; h < heads; h++) {
        for (size_t i = 0; i < size; i++)
            q[i] = sq_word_float(
                in->record[(h * beats + i / lanes) * record_len(v) + at_x(v) + i % lanes]);
        sq_attend(q, key, value, size, keys / beats, size, y);
        for (size_t i = 0; i < size; i++)
            out[h * size + i] = (int32_t)sq_combine_bits(y[i]);
    }
    return heads * beats;
}

// ---- time -----------------------------------------------------------------------------------

enum { LOOP = 9, SUM_CYCLES = 11, SCORE_CYCLES = 20 }; // the latter and 4 a halving of the head

enum state { TAKE_JOB, TAKE_QUERY, STREAM, ADD_UP, SCALE, DRAIN };

struct sim {
    enum state state;
    unsigned ahead_max, latency; // from the last beat of a key to its e
    uint32_t beats, at;          // of a head; of the pass
    uint32_t heads, head;        // of the job; whose query comes, or whose outputs leave
    uint32_t keys, values;       // still to come
    unsigned ahead, wait, queue;
    bool is_value;
    uint64_t under_way; // e, by the cycles until they are in the queue
};

static void init(const unsigned *v, void *state)
{
    struct sim *const s = state;
    s->ahead_max = v[AHEAD];
    s->latency = SCORE_CYCLES + 4 * sq_bits_below(v[HEAD_DIM]);
}

static void offer(const unsigned *v, unsigned stream, const int32_t *record, struct sq_offer *o)
{
    if (stream != JOB)
        return;
    o->n = (uint32_t)record[at_keys(v)] + 1;
    o->job.groups = (uint32_t)record[at_beats(v)] + 1;
    o->job.group_banks = (uint32_t)record[at_heads(v)] + 1;
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct sim *const s = state;
    const bool is_free = s->at > 0 || s->wait == 0;
    (void)in, (void)out_ready;
    out->in_ready[JOB] = s->state == TAKE_JOB;
    out->in_ready[Q] = s->state == TAKE_QUERY;
    out->in_ready[K] = s->state == STREAM && !s->is_value;
    out->in_ready[V] = s->state == STREAM && s->is_value && is_free && s->queue > 0;
    out->out_valid = s->state == DRAIN && is_free;
}

// A pass over the head has ended.
static void end_pass(struct sim *s)
{
    const bool is_scale = s->state == SCALE;
    s->at = 0;
    if (is_scale || (s->state == STREAM && s->is_value)) {
        s->queue--;
        s->wait = s->beats < LOOP ? LOOP - s->beats : 0;
    }
    if ((s->state == TAKE_QUERY || s->state == DRAIN) && ++s->head < s->heads) {
        return;
    } else if (s->state != STREAM) {
        s->head = 0;
        s->state = s->state == DRAIN ? TAKE_JOB : (enum state)(s->state + 1);
    } else if (s->is_value) {
        s->ahead--;
        s->is_value = s->keys == 0;
        if (--s->values == 0)
            s->state = ADD_UP;
    } else {
        s->under_way |= UINT64_C(1) << (s->latency - 1);
        s->ahead++;
        s->keys--;
        s->is_value = s->ahead == s->ahead_max || s->keys == 0;
    }
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct sim *const s = state;
    struct sq_handshake out;
    comb(s, in, out_ready, &out);
    const bool moves = (in[Q].valid && out.in_ready[Q]) || (in[K].valid && out.in_ready[K]) ||
                       (in[V].valid && out.in_ready[V]) || (s->state == SCALE && s->queue > 0) ||
                       (out.out_valid && out_ready);
    const bool asks = s->state == ADD_UP && s->wait == 0;
    s->wait -= s->wait > 0;
    if (s->state == TAKE_JOB && in[JOB].valid) {
        s->state = TAKE_QUERY;
        s->keys = s->values = in[JOB].n;
        s->beats = in[JOB].job.groups;
        s->heads = in[JOB].job.group_banks;
        s->is_value = false;
    } else if (asks) {
        s->state = SCALE;
        s->under_way |= UINT64_C(1) << (SUM_CYCLES - 1);
    } else if (moves && ++s->at == s->beats) {
        end_pass(s);
    }
    s->queue += s->under_way & 1;
    s->under_way >>= 1;
}

static const struct sq_timing timing = {sizeof(struct sim), comb, clock};
