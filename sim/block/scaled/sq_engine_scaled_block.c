// SPDX-License-Identifier: Apache-2.0
// sq_engine_scaled: jobs of block-scaled operands to outputs. What is said of activations that come
// as bfloat16, and when, is said by sq_act_scale; the product is in sq_engine_scaled_golden.c.
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_topk.h"
#include "sim/block/flow/sq_case.h"
#include "sim/block/flow/sq_engine.h"
#include "sim/block/flow/sq_pipeline.h"
#include "sim/block/scaled/sq_engine_scaled_draw.h"
#include "sim/block/scaled/sq_engine_scaled_golden.h"

#include "sim/block/scaled/sq_engine_scaled.block.h"

// ---- cases ----------------------------------------------------------------------------------

static void put_job(uint32_t blocks, uint32_t tiles, int32_t *record, uint32_t *len)
{
    record[SQ_ES_BLOCKS] = (int32_t)blocks;
    record[SQ_ES_TILES] = (int32_t)tiles;
    len[SQ_ES_JOB] = 1;
    len[SQ_ES_ACT] = len[SQ_ES_WEIGHT] = blocks * tiles;
    len[SQ_ES_SCALE] = tiles;
}

static void draw_beat(const unsigned *v, const struct sq_es_layout *l, struct sq_rng *rng,
                      enum sq_stimulus kind, int32_t *record)
{
    sq_es_draw_side(v, &l->act, rng, kind, record);
    sq_es_draw_side(v, &l->weight, rng, kind, record);
}

// The scales of a tile, aimed at a cancellation or a tie of what its first pair of parts gives.
static void draw_scale(const unsigned *v, const struct sq_es_layout *l, struct sq_rng *rng,
                       enum sq_stimulus kind, const int32_t *first, uint32_t blocks, int32_t *scale)
{
    const size_t n = sq_output_scale_len(&l->c), pes = (size_t)l->c.rows * l->c.cols;
    SQ_FREED int32_t *const beat = calloc(n, sizeof *beat), *const sum = calloc(pes, sizeof *sum);
    SQ_FREED float *const y = calloc(pes, sizeof *y);
    assert(beat && sum && y);
    for (size_t i = 0; i < n - 1; i++) // of the first pair of parts alone
        beat[i] =
            i < l->c.cols || (i >= 2 * l->c.cols && i < 2 * l->c.cols + l->c.rows) ? 0x3f800000 : 0;
    (void)sq_es_tile(v, l, first, blocks, beat, y);
    for (size_t i = 0; i < pes; i++) {
        sum[i] = (int32_t)sq_combine_bits(y[i]);
        y[i] = 0;
    }
    sq_output_draw_scale(&l->c, rng, kind, true, beat);
    sq_output_aim_scale(&l->c, rng, sum, sum, y, beat);
    memcpy(scale, beat + 1, (n - 1) * sizeof *scale);
}

static void draw_tile(const unsigned *v, const struct sq_es_layout *l, struct sq_rng *rng,
                      enum sq_stimulus kind, uint32_t blocks, int32_t *first, int32_t *scale)
{
    for (uint32_t b = 0; b < blocks; b++)
        draw_beat(v, l, rng, kind, first + b * l->len);
    draw_scale(v, l, rng, kind, first, blocks, scale + l->scale);
}

// One thing wrong, of the kind: of an operand of a beat, or, for a scale, above the blocks of a
// tile. False where the format has no such thing.
static bool spoil(const struct sq_es_layout *l, struct sq_rng *rng, enum sq_scaled_error kind,
                  int32_t *record, int32_t *scales)
{
    static const int32_t wrong_scale[4] = {0, INT32_MIN | 0x3f800000, 0x7f800000, 0x7fc00000};
    if (kind == SQ_SCALED_ERROR_SCALE && sq_rng_below(rng, 3) == 0) {
        const bool is_row = sq_rng_below(rng, 2), is_high = sq_rng_below(rng, 2);
        const size_t n = is_row ? l->c.rows : l->c.cols;
        const bool has_high = is_row ? l->pairs > 1 : l->pairs == 4;
        scales[l->scale + (is_row ? 2 * (size_t)l->c.cols : 0) + (is_high && has_high ? n : 0) +
               sq_rng_below(rng, (uint32_t)n)] = wrong_scale[sq_rng_below(rng, 4)];
        return true;
    }
    const bool is_weight_first = sq_rng_below(rng, 2);
    return sq_es_spoil(is_weight_first ? &l->weight : &l->act, rng, kind, record) ||
           sq_es_spoil(is_weight_first ? &l->act : &l->weight, rng, kind, record);
}

static const enum sq_scaled_error kinds[SQ_SCALED_ERRORS] = {
    SQ_SCALED_ERROR_MASK, SQ_SCALED_ERROR_CODE, SQ_SCALED_ERROR_SCALE};

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const struct sq_es_layout l = sq_es_layout_of(v);
    const uint32_t blocks = 1 + sq_rng_below(rng, SQ_ES_BLOCKS_MAX);
    const uint32_t tiles = 1 + sq_rng_below(rng, SQ_ES_TILES_MAX);
    const bool has_one = kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 4);
    (void)number;
    put_job(blocks, tiles, record, len);
    for (uint32_t t = 0; t < tiles; t++)
        draw_tile(v, &l, rng, has_one ? SQ_STIMULUS_UNIFORM : kind, blocks,
                  record + t * blocks * l.len, record + t * l.len);
    if (has_one) {
        const uint32_t beat = sq_rng_below(rng, blocks * tiles);
        (void)spoil(&l, rng, kinds[sq_rng_below(rng, SQ_SCALED_ERRORS)], record + beat * l.len,
                    record + sq_rng_below(rng, tiles) * l.len);
    }
}

// Every kind of error alone, or with the next kind, in each beat of a job of two tiles of two blocks;
// behind each job one without any. Two errors are in one line often enough that none may hide the other.
static enum sq_status draw_errors(const unsigned *v, const struct sq_es_layout *l,
                                  struct sq_case *c, struct sq_rng *rng, bool has_two,
                                  struct sq_error *err)
{
    enum { BLOCKS = 2, TILES = 2, RECORDS = BLOCKS * TILES, TIMES = 4, TIMES_TWO = 16 };
    SQ_TRY(sq_case_room(c, (size_t)2 * (has_two ? TIMES_TWO : TIMES) * SQ_SCALED_ERRORS * RECORDS,
                        RECORDS, err));
    for (size_t g = 0; g < c->n_groups; g++) {
        int32_t *const record = c->beats + g * RECORDS * l->len;
        const size_t beat = g / 2 % RECORDS, way = g / 2 / RECORDS;
        put_job(BLOCKS, TILES, record, c->len[g]);
        for (uint32_t t = 0; t < TILES; t++)
            draw_tile(v, l, rng, SQ_STIMULUS_UNIFORM, BLOCKS, record + t * BLOCKS * l->len,
                      record + t * l->len);
        for (size_t i = 0; g % 2 == 0 && i < (has_two ? 2 : 1); i++)
            (void)spoil(l, rng, kinds[(way + i) % SQ_SCALED_ERRORS], record + beat * l->len,
                        record + beat / BLOCKS * l->len);
    }
    return SQ_OK;
}

// Sums of a block at both ends of their range, whole and of one pair of parts after the other, alone
// and behind one of the other sign.
static enum sq_status draw_ends(const struct sq_es_layout *l, struct sq_case *c, struct sq_rng *rng,
                                struct sq_error *err)
{
    enum { SIGNS = 2, DROPS = 5, LARGE = 2, BLOCKS = 2 };
    c->n_groups = BLOCKS * SIGNS * DROPS * LARGE;
    c->n_beats = c->n_groups * (BLOCKS + 1) / 2;
    SQ_TRY(sq_case_alloc(c, err));
    int32_t *record = c->beats;
    for (unsigned g = 0; g < c->n_groups; g++) {
        int32_t *const scale = record + l->scale;
        const unsigned blocks = 1 + g % BLOCKS, sign = g / BLOCKS % SIGNS;
        const unsigned drop = g / BLOCKS / SIGNS % DROPS;
        const enum sq_es_fill how = g / BLOCKS / SIGNS / DROPS ? SQ_ES_LARGE : SQ_ES_AT_ONE;
        const size_t cols = l->c.cols, rows = l->c.rows;
        put_job(blocks, 1, record, c->len[g]);
        for (unsigned b = 0; b < blocks; b++, record += l->len) {
            sq_es_fill_side(&l->act, true, how, record);
            sq_es_fill_side(&l->weight, (sign + b) % 2, how, record);
        }
        for (size_t i = 0; i < 2 * (cols + rows); i++)
            scale[i] = 0x3f800000 - (int32_t)(sq_rng_below(rng, 8) << 23);
        if (drop < 4) { // scales of the other parts are 0
            memset(scale + (drop % 2 ? 0 : cols), 0, cols * sizeof *scale);
            memset(scale + 2 * cols + (drop / 2 ? 0 : rows), 0, rows * sizeof *scale);
        }
    }
    return SQ_OK;
}

// Jobs of two blocks whose products almost cancel: which operand of a sum is the larger one then
// depends on low bits.
static enum sq_status draw_cancel(const unsigned *v, const struct sq_es_layout *l,
                                  struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    enum { JOBS = 96, BLOCKS = 2 };
    const struct sq_es_side *const w = &l->weight;
    SQ_TRY(sq_case_room(c, JOBS, BLOCKS, err));
    for (size_t g = 0; g < JOBS; g++) {
        int32_t *const record = c->beats + g * BLOCKS * l->len, *const code = record + w->code;
        const size_t one = sq_rng_below(rng, w->bank);
        const bool has_codes = w->k > 0 && w->high_kind != SQ_SCALED_SPLIT;
        put_job(BLOCKS, 1, record, c->len[g]);
        draw_beat(v, l, rng, g % 2 ? SQ_STIMULUS_EXTREME : SQ_STIMULUS_UNIFORM, record);
        memcpy(record + l->len + SQ_ES_JOB_FIELDS, record + SQ_ES_JOB_FIELDS,
               (l->len - SQ_ES_JOB_FIELDS) * sizeof *record);
        for (size_t i = 0; i < (size_t)w->lines * w->bank; i++)
            if (!(has_codes && code[i] == SQ_ES_MASK_CODE)) {
                const size_t r = i / w->bank;
                const unsigned grid = sq_scaled_grid(sq_es_codes(w), record[(size_t)w->scale + r],
                                                     sq_es_subs(w, record, r));
                code[(size_t)l->len + i] = i % w->bank == one
                                               ? (int32_t)sq_rng_below(rng, 2)
                                               : sq_scaled_negative(sq_es_codes(w), grid, code[i]);
            }
        draw_scale(v, l, rng, SQ_STIMULUS_UNIFORM, record, BLOCKS, record + l->scale);
    }
    return SQ_OK;
}

static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const struct sq_es_layout l = sq_es_layout_of(v);
    return number % 3 == 0 ? draw_errors(v, &l, c, rng, number == 3, err)
           : number == 1   ? draw_ends(&l, c, rng, err)
                           : draw_cancel(v, &l, c, rng, err);
}

// Half as many tiles, or one less; of one tile so with its blocks.
static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    uint32_t n[SQ_ES_JOB_FIELDS] = {(uint32_t)record[SQ_ES_BLOCKS], (uint32_t)record[SQ_ES_TILES]};
    const unsigned level = n[SQ_ES_TILES] > 1 ? SQ_ES_TILES : SQ_ES_BLOCKS;
    (void)v;
    if (way > 1 || n[level] == 1)
        return false;
    n[level] = way == 0 ? n[level] / 2 : n[level] - 1;
    put_job(n[SQ_ES_BLOCKS], n[SQ_ES_TILES], record, len);
    return true;
}

// ---- time -----------------------------------------------------------------------------------

struct state {
    struct sq_chain encoder; // of activations, where there is one
    bool has_encoder;
    struct sq_engine_count in; // beats of operands
    bool carries;              // the tiles of that job begin with totals of before
    struct sq_pipeline array;  // its stages wait at the accumulator for those totals
    uint32_t begins;           // a bit for each stage: its beat begins with them
    unsigned pairs;            // of parts of a tile, which leave one at a time
    unsigned tile, scale_pair; // the pair that goes next: of tiles, of scales
    struct sq_output_sim output;
    struct sq_engine_count scale;    // beats of scales
    struct sq_engine_jobs next;      // jobs on their way to the scales
    struct sq_engine_jobs next_keep; // ... with them: their totals leave
    bool keeps;                      // of the job at the scales
};

static void init(const unsigned *v, void *state)
{
    const struct sq_es_layout l = sq_es_layout_of(v);
    struct state *const s = state;
    sq_output_init(&s->output, &l.c);
    s->pairs = l.pairs;
    s->has_encoder = v[SQ_ES_ENCODE];
    if (s->has_encoder) {
        unsigned value[SQ_PARAMS_MAX];
        sq_es_encoder(v, value);
        assert(sq_act_scale_block.timing == &sq_timing_chain);
        sq_act_scale_block.init(value, &s->encoder);
    }
    sq_pipeline_init(&s->array, SQ_TIMING_ARRAY,
                     sq_array_scaled_stages(sq_scaled_tail_stages(v[SQ_ES_ACC], v[SQ_ES_CUT]),
                                            v[SQ_ES_HIGH_PER_BANK] > 0));
    s->array.in_place = sq_scaled_tail_stays(v[SQ_ES_ACC], v[SQ_ES_CARRY]);
}

static void offer(const unsigned *v, unsigned stream, const int32_t *record, struct sq_offer *o)
{
    (void)v;
    if (stream != SQ_ES_JOB)
        return;
    o->n = (uint32_t)record[SQ_ES_BLOCKS];
    o->job = (struct sq_job){.groups = (uint32_t)record[SQ_ES_TILES]};
}

static inline bool is_last_pair(const struct state *s)
{
    return s->scale_pair + 1 == s->pairs;
}

bool sq_engine_scaled_keeps(const void *state)
{
    return sq_output_keeps(&((const struct state *)state)->output);
}

// What the stage behind the array is given. Valid of the array does not depend on ready behind it.
static inline struct sq_output_in stage_of(const struct state *s, const struct sq_engine_in *in,
                                           bool out_ready)
{
    return (struct sq_output_in){.tile_valid = s->array.has_result,
                                 .scale_valid = s->scale.is_busy && in->valid[SQ_ES_SCALE],
                                 .scale_last = s->keeps || is_last_pair(s),
                                 .scale_keep = s->keeps,
                                 .out_ready = out_ready};
}

// A beat of both operands in front of the array, and what the parts say of it.
struct step {
    bool valid, begins; // begins: totals are at the accumulator
    bool tile_ready;    // the tile leaves the array
    bool ready;
};

static inline struct step step_of(const struct state *s, const struct sq_engine_in *in,
                                  const struct sq_output_out *stage)
{
    const bool begins = sq_pipeline_end(&s->array, s->array.valid & s->begins);
    const bool tile_ready = stage->tile_ready && s->tile + 1 == s->pairs;
    return (struct step){.valid = s->in.is_busy && in->valid[SQ_ES_ACT] && in->valid[SQ_ES_WEIGHT],
                         .begins = begins,
                         .tile_ready = tile_ready,
                         .ready = sq_pipeline_advances(&s->array, tile_ready) &&
                                  (!begins || in->valid[SQ_ENGINE_CARRY])};
}

static inline bool takes_job(const struct state *s, const struct step *step)
{
    return sq_engine_count_ready(&s->in, step->valid && step->ready) && s->next.n < SQ_ENGINE_JOBS;
}

static inline void answer(const struct state *s, const struct sq_engine_in *in,
                          const struct step *step, const struct sq_output_out *stage,
                          struct sq_handshake *out)
{
    const bool is_ready = s->in.is_busy && step->ready;
    out->in_ready[SQ_ES_JOB] = takes_job(s, step);
    out->in_ready[SQ_ES_ACT] = is_ready && in->valid[SQ_ES_WEIGHT];
    out->in_ready[SQ_ES_WEIGHT] = is_ready && in->valid[SQ_ES_ACT];
    out->in_ready[SQ_ES_SCALE] = s->scale.is_busy && stage->scale_ready && is_last_pair(s);
    out->in_ready[SQ_ENGINE_CARRY] = step->ready && step->begins;
    out->out_valid = stage->out_valid;
}

static inline void clock_operands(struct state *s, const struct sq_offer *job,
                                  const struct step *step)
{
    const bool begins = step->valid && s->carries && s->in.at[0] == 0;
    if (step->ready) {
        sq_pipeline_clock(&s->array, step->valid, step->valid && sq_engine_count_last(&s->in, 0),
                          step->tile_ready);
        s->begins = sq_pipeline_moved(&s->array, s->begins, begins);
    } else { // the tile that is offered may still leave
        s->array.has_result = s->array.has_result && !step->tile_ready;
    }
    const uint32_t count[3] = {job ? job->n : 0, job ? job->job.groups : 0, 1};
    if (job)
        s->carries = job->carry;
    sq_engine_count_clock(&s->in, job ? count : NULL, step->valid && step->ready);
}

static inline void clock_scales(struct state *s, const struct sq_offer *job, bool pair_step)
{
    const bool scale_step = pair_step && is_last_pair(s);
    const bool passes = s->next.n > 0 && sq_engine_count_ready(&s->scale, scale_step);
    sq_engine_count_clock(&s->scale, passes ? s->next.job[0] : NULL, scale_step);
    if (passes)
        s->keeps = s->next_keep.job[0][0];
    if (passes || job) {
        const uint32_t count[3] = {job ? job->job.groups : 0, 1, 1}, keep[3] = {job && job->keep};
        sq_engine_jobs_clock(&s->next, job ? count : NULL, passes);
        sq_engine_jobs_clock(&s->next_keep, job ? keep : NULL, passes);
    }
    if (pair_step)
        s->scale_pair = scale_step ? 0 : s->scale_pair + 1;
}

void sq_engine_scaled_cycle(void *state, const struct sq_engine_in *in, bool out_ready,
                            struct sq_handshake *out)
{
    struct state *const s = state;
    const struct sq_output_in stage_in = stage_of(s, in, out_ready);
    struct sq_output_out stage;
    sq_output_cycle(&s->output, &stage_in, &stage);
    const struct step step = step_of(s, in, &stage);
    answer(s, in, &step, &stage, out);
    const struct sq_offer *const job =
        in->valid[SQ_ES_JOB] && out->in_ready[SQ_ES_JOB] ? in->job : NULL;
    if (stage_in.tile_valid && stage.tile_ready)
        s->tile = s->tile + 1 == s->pairs ? 0 : s->tile + 1;
    clock_operands(s, job, &step);
    clock_scales(s, job, stage_in.scale_valid && stage.scale_ready);
}

// What the engine behind the encoder of activations is offered.
static struct sq_engine_in behind_encoder(const struct state *s, const struct sq_offer *offer)
{
    struct sq_engine_in in = sq_engine_in_of(offer);
    struct sq_pipeline_out encoder;
    if (s->has_encoder) {
        sq_chain_comb(&s->encoder, false, &encoder);
        in.valid[SQ_ES_ACT] = encoder.out_valid;
    }
    return in;
}

static void comb(const void *state, const struct sq_offer *offer, bool out_ready,
                 struct sq_handshake *out)
{
    const struct state *const s = state;
    const struct sq_engine_in in = behind_encoder(s, offer);
    const struct sq_output_in stage_in = stage_of(s, &in, out_ready);
    struct sq_output_out stage;
    struct sq_pipeline_out encoder;
    sq_output_comb(&s->output, &stage_in, &stage);
    const struct step step = step_of(s, &in, &stage);
    answer(s, &in, &step, &stage, out);
    if (s->has_encoder) {
        sq_chain_comb(&s->encoder, out->in_ready[SQ_ES_ACT], &encoder);
        out->in_ready[SQ_ES_ACT] = encoder.in_ready;
    }
}

static void clock(void *state, const struct sq_offer *offer, bool out_ready)
{
    struct state *const s = state;
    const struct sq_engine_in in = behind_encoder(s, offer);
    struct sq_handshake h;
    sq_engine_scaled_cycle(s, &in, out_ready, &h);
    if (s->has_encoder)
        sq_chain_clock(&s->encoder, offer[SQ_ES_ACT].valid, offer[SQ_ES_ACT].last,
                       h.in_ready[SQ_ES_ACT]);
}

void sq_engine_scaled_counts(void *state, struct sq_engine_count *count[SQ_ENGINE_COUNTS])
{
    struct state *const s = state;
    count[0] = &s->in;
    count[1] = &s->scale;
}

static const struct sq_timing timing = {sizeof(struct state), comb, clock};

// ---- the table ------------------------------------------------------------------------------

// Whole engines of 4 x 4 PEs: 4 outputs a cycle, a tile in the queue, bfloat16 out; `_x`: activations
// come as bfloat16. What stores high elements, if any, stands behind the elements and scales of both
// sides.

static const char *source(const unsigned *v, FILE *out)
{
    return sq_scaled_write_source(v, v[SQ_ES_ACT_ELEMENT], v[SQ_ES_WEIGHT_ELEMENT], out);
}

static enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)
{
    if (v[SQ_ES_HIGH_PER_BANK] > v[SQ_ES_BANK] / 2 ||
        (v[SQ_ES_HIGH_PER_BANK] > 0) != (old[SQ_ES_HIGH_PER_BANK] > 0))
        return SQ_FAIL(err, SQ_ERR_RANGE, "HighPerBank = %u, need %s", v[SQ_ES_HIGH_PER_BANK],
                       old[SQ_ES_HIGH_PER_BANK] > 0 ? "1..BankLen / 2" : "0 as in the point");
    return sq_output_settle(v[SQ_ES_ROWS], v[SQ_ES_COLS], v + SQ_ES_OUTPUT, old + SQ_ES_OUTPUT,
                            given >> SQ_ES_OUTPUT, err);
}
