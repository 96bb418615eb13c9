// SPDX-License-Identifier: Apache-2.0
// sq_engine_spqt: jobs of tokens and stored superblocks through index unit, decoder, weights and sums.
// What each of them computes and when is said by their own blocks and models.
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_fp_mac.h"
#include "models/number/sq_half.h"
#include "models/output/sq_combine.h"
#include "models/spqt/sq_q4k_dec.h"
#include "models/spqt/sq_spqt.h"
#include "models/spqt/sq_spqt_idx.h"
#include "sim/block/flow/sq_engine.h"
#include "sim/block/flow/sq_line.h"
#include "sim/block/spqt/sq_q4k_dec_sim.h"
#include "sim/block/spqt/sq_spqt_idx_block.h"

#include "sim/block/spqt/sq_engine_spqt.block.h"

enum { SEGMENTS, BLOCKS, WORKERS, THETA, X };

// ---- values ---------------------------------------------------------------------------------

// Beats of a superblock.
static uint32_t beats_of(const unsigned *v)
{
    return SQ_Q4K_NBYTES / v[BYTES];
}

static uint16_t x_of(const unsigned *v, const int32_t *record, size_t column)
{
    return (uint16_t)record[column / v[SEG_LEN] * record_len(v) + X + column % v[SEG_LEN]];
}

// The active columns, ascending, to be freed; *n of them.
static uint32_t *active_of(const unsigned *v, const int32_t *record, size_t *n)
{
    const size_t k = (size_t)record[SEGMENTS] * v[SEG_LEN];
    uint32_t *const column = malloc((k + 1) * sizeof *column);
    assert(column);
    *n = 0;
    for (size_t i = 0; i < k; i++)
        if (sq_spqt_keep_fp16(x_of(v, record, i), (unsigned)record[THETA]))
            column[(*n)++] = (uint32_t)i;
    return column;
}

// The superblock whose first beat is record[0].
static void decode(const unsigned *v, const int32_t *record, struct sq_q4k_dec *d)
{
    uint8_t block[SQ_Q4K_NBYTES];
    for (size_t i = 0; i < SQ_Q4K_NBYTES; i++) {
        const int32_t word = record[i / v[BYTES] * record_len(v) + at_data(v) + i % v[BYTES] / 4];
        block[i] = (uint8_t)((uint32_t)word >> (i % 4 * 8));
    }
    sq_q4k_dec(block, d);
}

// Element of a superblock that is lane i of beat b of its codes.
static size_t element_of(const unsigned *v, size_t b, size_t i)
{
    const size_t byte = b * v[BYTES], pair = byte / SQ_Q4K_BLOCK_LEN;
    return (2 * pair + i / v[BYTES]) * SQ_Q4K_BLOCK_LEN + byte % SQ_Q4K_BLOCK_LEN + i % v[BYTES];
}

// A row of superblocks, the first beat of which is *block: the sums of the workers. Kinds of errors.
static int32_t sum_row(const unsigned *v, const int32_t *record, const uint32_t *column, size_t n,
                       const int32_t **block, struct sq_fp_mac sum[SQ_Q4K_LEN])
{
    const unsigned workers = (unsigned)record[WORKERS];
    int32_t error = 0;
    memset(sum, 0, SQ_Q4K_LEN * sizeof *sum);
    for (unsigned u = 0; u < workers; u++) {
        size_t begin, end;
        sq_spqt_share(n, workers, u, &begin, &end);
        for (size_t i = begin; i < end; i++, *block += beats_of(v) * record_len(v)) {
            const float x = sq_half_to_float(x_of(v, record, column[i]));
            struct sq_q4k_dec d;
            decode(v, *block, &d);
            error |= d.is_refused << SQ_SCALED_ERROR_SCALE;
            error |= ((uint32_t)(*block)[at_column(v)] != column[i]) << SQ_ENGINE_ERROR_INDEX;
            for (size_t e = 0; e < SQ_Q4K_LEN; e++)
                sq_fp_mac_step(&sum[e],
                               sq_q4k_value(sq_float_of(d.step[e / SQ_Q4K_BLOCK_LEN]),
                                            sq_float_of(d.min[e / SQ_Q4K_BLOCK_LEN]), d.code[e]),
                               x, i + 1 == end);
        }
    }
    return error;
}

static int32_t job_errors(const unsigned *v, const int32_t *record)
{
    const size_t k = (size_t)record[SEGMENTS] * v[SEG_LEN];
    int32_t error = (record[THETA] >= 0x7c00) << SQ_SCALED_ERROR_SCALE;
    for (size_t i = 0; i < k; i++)
        error |= !sq_spqt_is_legal_fp16(x_of(v, record, i)) << SQ_SCALED_ERROR_CODE;
    return error;
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const int32_t *block = in->record;
    const size_t rows = (size_t)in->record[BLOCKS], turns = SQ_Q4K_LEN / 2 / v[BYTES];
    size_t n;
    SQ_FREED uint32_t *const column = active_of(v, in->record, &n);
    int32_t error = job_errors(v, in->record);
    for (size_t r = 0; r < rows; r++) {
        struct sq_fp_mac sum[SQ_Q4K_LEN];
        error |= sum_row(v, in->record, column, n, &block, sum);
        for (size_t t = 0; t < turns; t++) {
            for (size_t i = 0; i < 2 * (size_t)v[BYTES]; i++)
                *out++ = (int32_t)sq_combine_bits(sum[element_of(v, t, i)].sum);
            *out++ = r + 1 == rows && t + 1 == turns;
            *out++ = error;
        }
    }
    return rows * turns;
}

// ---- cases ----------------------------------------------------------------------------------

// A token of spqt_idx, drawn until it is no longer than an index can say.
static void draw_token(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       int32_t *record, uint32_t *len)
{
    const unsigned idx_v[4] = {v[SEG_LEN], v[IDX_LANES], 1, v[INDEX_W]};
    const size_t stride = v[SEG_LEN] + 2;
    SQ_FREED int32_t *const token = malloc(IDX_SEGMENTS * stride * sizeof *token);
    uint32_t n[SQ_STREAMS_MAX];
    assert(token);
    do
        sq_spqt_idx_block.draw_group(idx_v, rng, kind, 0, token, n);
    while (n[0] * v[SEG_LEN] > 1u << v[INDEX_W]);
    record[SEGMENTS] = (int32_t)n[0];
    record[THETA] = token[v[SEG_LEN]];
    for (uint32_t s = 0; s < n[0]; s++)
        memcpy(record + s * record_len(v) + X, token + s * stride, v[SEG_LEN] * sizeof *token);
    len[JOB] = 1;
    len[ACT] = n[0];
}

// The superblocks of all rows; only the first beat of each says of which column it is.
static void draw_blocks(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                        int32_t *record, uint32_t *len)
{
    const size_t words = v[BYTES] / 4;
    size_t n;
    SQ_FREED uint32_t *const column = active_of(v, record, &n);
    int32_t *at = record;
    for (size_t i = 0; i < n * (size_t)record[BLOCKS]; i++) {
        int32_t data[SQ_Q4K_NBYTES / 4];
        uint32_t unused[SQ_STREAMS_MAX];
        // An illegal superblock hides what the others are.
        const bool is_legal = kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 4) > 0;
        sq_q4k_dec_block.draw_group(&v[BYTES], rng, is_legal ? SQ_STIMULUS_UNIFORM : kind, 0, data,
                                    unused);
        const bool is_wrong = kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 16) == 0;
        for (uint32_t b = 0; b < beats_of(v); b++, at += record_len(v)) {
            at[at_column(v)] =
                b == 0 && !is_wrong ? (int32_t)column[i % n] : sq_draw_bits(rng, v[INDEX_W], true);
            memcpy(at + at_data(v), data + b * words, words * sizeof *data);
        }
    }
    len[BLOCK] = (uint32_t)(n * (size_t)record[BLOCKS]) * beats_of(v);
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const uint32_t most = 1u << v[INDEX_W];
    (void)number;
    draw_token(v, rng, kind, record, len);
    record[BLOCKS] = 1 + (int32_t)sq_rng_below(rng, ROWS_MAX);
    record[WORKERS] = 1 + (int32_t)sq_rng_below(rng, sq_rng_below(rng, 4) ? 8 : most);
    draw_blocks(v, rng, kind, record, len);
}

// ---- errors, each alone -----------------------------------------------------------------------

enum { WRONG_X, WRONG_THETA, WRONG_ALL, WRONG_D, WRONG_MIN, WRONG_COLUMN, WRONGS };
enum { WRONG_ACTIVE = 5, TIMES = 3 };

// Two segments of which five elements are active, two rows, three workers.
static void put_job(const unsigned *v, struct sq_rng *rng, int32_t *record, uint32_t *len)
{
    record[SEGMENTS] = 2;
    record[BLOCKS] = ROWS_MAX;
    record[WORKERS] = 3;
    record[THETA] = 0x3c00; // 1.0
    for (unsigned i = 0; i < 2 * v[SEG_LEN]; i++)
        record[i / v[SEG_LEN] * record_len(v) + X + i % v[SEG_LEN]] =
            (int32_t)sq_rng_below(rng, 0x3c00);
    for (unsigned i = 0; i < WRONG_ACTIVE; i++) { // -2.0 to -4.0
        const unsigned at = 3 * i + sq_rng_below(rng, 3);
        record[at / v[SEG_LEN] * record_len(v) + X + at % v[SEG_LEN]] =
            (0x4000 | (int32_t)sq_rng_below(rng, 0x400)) - 0x8000;
    }
    len[JOB] = 1;
    len[ACT] = 2;
    draw_blocks(v, rng, SQ_STIMULUS_UNIFORM, record, len);
}

static void spoil(const unsigned *v, struct sq_rng *rng, unsigned wrong, int32_t *record)
{
    static const int32_t half[4] = {0x7c00, 0x7e00, 0x8001, 0xbc00};
    int32_t *const block =
        record + sq_rng_below(rng, ROWS_MAX * WRONG_ACTIVE) * beats_of(v) * record_len(v);
    const int32_t bad = half[sq_rng_below(rng, 4)];
    if (wrong == WRONG_X) { // in place of an active one
        size_t n;
        SQ_FREED uint32_t *const column = active_of(v, record, &n);
        const uint32_t at = column[sq_rng_below(rng, (uint32_t)n)];
        record[at / v[SEG_LEN] * record_len(v) + X + at % v[SEG_LEN]] =
            0x7c00 + (int32_t)sq_rng_below(rng, 3);
    } else if (wrong == WRONG_THETA) { // all superblocks but those of other numbers go
        record[THETA] = 0x7c00 + (int32_t)sq_rng_below(rng, 2);
    } else if (wrong ==
               WRONG_ALL) { // no x is a number, and none is active: the sums are 0 all the same
        record[THETA] = 0x7fff;
        for (unsigned i = 0; i < 2 * v[SEG_LEN]; i++)
            record[i / v[SEG_LEN] * record_len(v) + X + i % v[SEG_LEN]] =
                0x7c00 + (int32_t)sq_rng_below(rng, 0x3ff) - (sq_rng_below(rng, 2) ? 0x8000 : 0);
    } else if (wrong == WRONG_D) {
        block[at_data(v)] = (block[at_data(v)] & ~0xffff) | bad;
    } else if (wrong == WRONG_MIN) {
        block[at_data(v)] = (int32_t)(((uint32_t)block[at_data(v)] & 0xffff) | (uint32_t)bad << 16);
    } else { // of a neighbour
        block[at_column(v)] ^= 1 << sq_rng_below(rng, v[INDEX_W]);
    }
}

// Each kind of error alone in a job, a right one behind it.
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const size_t records = ROWS_MAX * WRONG_ACTIVE * beats_of(v);
    (void)number;
    SQ_TRY(sq_case_room(c, 2 * TIMES * WRONGS, records, err));
    int32_t *record = c->beats;
    for (size_t g = 0; g < c->n_groups; record += sq_case_records(c, g++) * record_len(v)) {
        const unsigned wrong = (unsigned)(g / 2 % WRONGS);
        put_job(v, rng, record, c->len[g]);
        if (g % 2 == 0)
            spoil(v, rng, wrong, record);
        if (g % 2 == 0 && (wrong == WRONG_THETA || wrong == WRONG_ALL))
            c->len[g][BLOCK] = 0;
    }
    c->n_beats = (size_t)(record - c->beats) / record_len(v);
    return SQ_OK;
}

// A row of superblocks alone, or one worker.
static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    (void)v;
    if (way == 0 && record[BLOCKS] > 1) {
        len[BLOCK] /= (uint32_t)record[BLOCKS];
        record[BLOCKS] = 1;
        return true;
    }
    if (way == 1 && record[WORKERS] > 1) {
        record[WORKERS] = 1;
        return true;
    }
    return false;
}

// ---- time -----------------------------------------------------------------------------------

// The decoder, and beside it whether what it gives is of the last column of a row.
struct superblocks {
    struct sq_q4k_dec_sim dec;
    bool last;
};

static void superblocks_comb(const void *state, const struct sq_offer *in, bool out_ready,
                             struct sq_handshake *out)
{
    const struct superblocks *const s = state;
    sq_q4k_dec_block.timing->comb(&s->dec, in, out_ready, out);
}

static void superblocks_clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct superblocks *const s = state;
    struct sq_handshake h = {.out_valid = false};
    superblocks_comb(s, in, out_ready, &h);
    if (in->valid && h.in_ready[0])
        s->last = in->last;
    sq_q4k_dec_block.timing->clock(&s->dec, in, out_ready);
}

static void superblocks_show(const void *state, struct sq_offer *out)
{
    const struct superblocks *const s = state;
    out->last = s->last;
}

static const struct sq_timing superblocks_timing = {sizeof(struct superblocks), superblocks_comb,
                                                    superblocks_clock};

struct state {
    struct sq_line line;
    struct superblocks superblocks;
    struct sq_chain weight, mac;
    struct sq_spqt_idx_sim idx;
    unsigned seg, theta;
    uint32_t block_beats;
    bool is_busy, is_loading, is_walking;
    uint32_t segments, rows; // to come
    uint32_t columns;        // active so far
    uint32_t place, at;      // of the next beat in its superblock; its column's in the row
};

static void init(const unsigned *v, void *state)
{
    struct state *const s = state;
    s->seg = v[SEG_LEN];
    s->block_beats = SQ_Q4K_NBYTES / v[BYTES];
    s->idx = (struct sq_spqt_idx_sim){.lanes = v[IDX_LANES]};
    sq_q4k_dec_block.init(&v[BYTES], &s->superblocks.dec);
    sq_q4k_weight_block.init(&v[BYTES], &s->weight);
    sq_fp_mac_block.init(NULL, &s->mac);
    SQ_LINE_ADD(s, superblocks, &superblocks_timing, superblocks_show, BLOCK);
    SQ_LINE_ADD(s, weight, sq_q4k_weight_block.timing, sq_line_show_chain, SQ_LINE_FRONT);
    SQ_LINE_ADD(s, mac, sq_fp_mac_block.timing, NULL, SQ_LINE_FRONT + 1);
}

static void offer(const unsigned *v, unsigned stream, const int32_t *record, struct sq_offer *o)
{
    (void)v;
    if (stream == JOB) {
        o->job = (struct sq_job){.group_banks = (uint32_t)record[SEGMENTS],
                                 .groups = (uint32_t)record[BLOCKS]};
        o->n = (uint32_t)record[THETA];
    } else if (stream == ACT) {
        o->beat = record + X;
    }
}

// What the index unit is offered: a segment and how many of its elements are active.
static struct sq_offer segment_of(const struct state *s, const struct sq_offer *act)
{
    struct sq_offer o = {.valid = act->valid && s->is_loading, .last = s->segments == 1};
    for (unsigned i = 0; o.valid && i < s->seg; i++)
        o.n += sq_spqt_keep_fp16((uint16_t)act->beat[i], s->theta);
    return o;
}

static bool is_last_column(const struct state *s)
{
    return s->at + 1 >= s->columns;
}

// What the decoder is offered: superblocks of active columns, or, where there is none, zeros.
static void between(const struct state *s, const struct sq_offer *in,
                    struct sq_offer line[SQ_STREAMS_MAX])
{
    memcpy(line, in, SQ_STREAMS_MAX * sizeof *line);
    line[BLOCK].valid = s->is_walking && (in[BLOCK].valid || s->columns == 0);
    line[BLOCK].last = is_last_column(s);
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct state *const s = state;
    const struct sq_offer segment = segment_of(s, &in[ACT]);
    struct sq_handshake idx = {.out_valid = false};
    struct sq_offer line[SQ_STREAMS_MAX];
    between(s, in, line);
    sq_line_comb(&s->line, line, out_ready, out);
    sq_spqt_idx_block.timing->comb(&s->idx, &segment, true, &idx);
    out->in_ready[JOB] = !s->is_busy;
    out->in_ready[ACT] = s->is_loading && idx.in_ready[0];
    out->in_ready[BLOCK] = s->is_walking && s->columns > 0 && out->in_ready[BLOCK];
}

// A beat of a superblock has gone.
static void step(struct state *s)
{
    const bool ends_row = is_last_column(s);
    if (++s->place < s->block_beats)
        return;
    s->place = 0;
    s->at = ends_row ? 0 : s->at + 1;
    s->rows -= ends_row;
    if (s->rows == 0)
        s->is_busy = s->is_walking = false;
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct state *const s = state;
    const struct sq_offer segment = segment_of(s, &in[ACT]);
    struct sq_offer line[SQ_STREAMS_MAX], found = {.valid = false};
    struct sq_handshake h, decoder, idx = {.out_valid = false};
    between(s, in, line);
    comb(s, in, out_ready, &h);
    sq_line_comb(&s->line, line, out_ready, &decoder);
    sq_spqt_idx_block.timing->comb(&s->idx, &segment, true, &idx);
    sq_spqt_idx_show(&s->idx, &found);
    sq_line_clock(&s->line, line, out_ready);
    sq_spqt_idx_block.timing->clock(&s->idx, &segment, true);
    if (line[BLOCK].valid && decoder.in_ready[BLOCK])
        step(s);
    if (idx.out_valid && found.last)
        s->is_walking = true;
    if (in[ACT].valid && h.in_ready[ACT]) {
        s->columns += segment.n;
        s->is_loading = --s->segments > 0;
    }
    if (in[JOB].valid && h.in_ready[JOB]) {
        s->is_busy = s->is_loading = true;
        s->segments = in[JOB].job.group_banks;
        s->rows = in[JOB].job.groups;
        s->theta = in[JOB].n;
        s->columns = 0;
    }
}

static const struct sq_timing timing = {sizeof(struct state), comb, clock};

enum sq_cause sq_engine_spqt_cause(const void *state, const struct sq_offer *in, bool out_ready)
{
    const struct state *const s = state;
    struct sq_offer line[SQ_STREAMS_MAX];
    struct sq_handshake h;
    between(s, in, line);
    sq_line_comb(&s->line, line, out_ready, &h);
    if (!s->is_busy)
        return in[JOB].valid ? SQ_CAUSE_FILLING : SQ_CAUSE_DRAINING;
    if (!s->is_walking || s->columns == 0)
        return SQ_CAUSE_WAIT_INDEX;
    if (!h.in_ready[BLOCK])
        return SQ_CAUSE_BLOCKED_OUTPUT;
    return in[BLOCK].valid && s->place >= s->superblocks.dec.head ? SQ_CAUSE_BUSY
                                                                  : SQ_CAUSE_WAIT_WEIGHT;
}
