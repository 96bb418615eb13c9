// SPDX-License-Identifier: Apache-2.0
// sq_engine_array and sq_engine_static: jobs of stored operands through an array and its output stage. A
// group is a job; what the array computes and when, and what the stage does, is said by their own blocks.
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "models/array/sq_array.h"
#include "models/core/sq_format.h"
#include "sim/block/array/sq_engine_array_sim.h"
#include "sim/block/flow/sq_case.h"

#include "sim/block/array/sq_engine_array.block.h"
#include "sim/block/array/sq_engine_static.block.h"

enum {
    JOB = SQ_ENGINE_ARRAY_JOB,
    ONE_SIDE = SQ_ENGINE_ARRAY_PLAIN,
    OTHER = SQ_ENGINE_ARRAY_CODED,
    SCALE = SQ_ENGINE_ARRAY_SCALE
};                                         // streams
enum { BEATS, GROUPS, TILES, JOB_FIELDS }; // of a job
enum { OPERAND = JOB_FIELDS };             // plain, low, high, mask; low, high, weight
enum { BEATS_MAX = 4, GROUPS_MAX = 3, TILES_MAX = 3, JOB_BITS = 16 };

// A record: the job, the operands of a beat (those of sq_array without its `last`), its scales.
struct parts {
    const struct sq_block *array;
    const unsigned *v;
    struct sq_output_config c;
    struct sq_ports ports; // of the array
    size_t operands;       // its fields but for `last`
    bool has_mask;         // and an error of it, behind both planes
    size_t array_len, scale, len;
};

static size_t n_params(const struct sq_block *array)
{
    size_t n = 0;
    while (array->param[n])
        n++;
    return n;
}

static struct parts parts_of(const struct sq_block *array, const unsigned *v)
{
    struct parts s = {.array = array, .v = v, .ports = sq_ports_of(array, v)};
    s.c = sq_output_config(v[ROWS], v[COLS], v + n_params(array));
    s.operands = s.ports.n_in - 1;
    s.has_mask = array == &sq_array_block;
    s.array_len = sq_field_offset(s.ports.in, s.ports.n_in);
    s.scale = JOB_FIELDS + s.array_len - 1;
    s.len = s.scale + sq_output_scale_len(&s.c) - 1;
    return s;
}

static void ports_of(const struct parts *s, struct sq_ports *p)
{
    const size_t words = (size_t)s->c.rows * s->c.cols / s->c.port_len, n = s->operands;
    struct sq_field scale[SQ_OUTPUT_SCALE_FIELDS];
    *p = (struct sq_ports){.stream = {{"job", JOB_FIELDS}},
                           .macs = s->ports.macs,
                           .mac_stream = ONE_SIDE,
                           .n_in = JOB_FIELDS + n + SQ_OUTPUT_SCALE_FIELDS - 1,
                           .in = {{"beats", 1, JOB_BITS, true},
                                  {"groups", 1, JOB_BITS, true},
                                  {"tiles", 1, JOB_BITS, true}},
                           .out = {sq_output_field(&s->c)},
                           .n_out = 1 + SQ_ENGINE_WORD_FIELDS,
                           .records = BEATS_MAX * GROUPS_MAX * TILES_MAX,
                           .outputs = TILES_MAX * words,
                           .has_jobs = true};
    p->stream[ONE_SIDE] =
        s->has_mask ? (struct sq_port){"plain", 1} : (struct sq_port){"act", n - 1};
    p->stream[OTHER] =
        s->has_mask ? (struct sq_port){"coded", n - 1} : (struct sq_port){"weight", 1};
    p->stream[SCALE] = (struct sq_port){"scale", SQ_OUTPUT_SCALE_FIELDS - 1};
    memcpy(p->in + OPERAND, s->ports.in + 1, n * sizeof *p->in);
    p->in[s->has_mask ? OPERAND : OPERAND + n - 1].name = "code"; // of the side without parts
    sq_output_scale_fields(&s->c, scale);
    memcpy(p->in + OPERAND + n, scale + 1, (SQ_OUTPUT_SCALE_FIELDS - 1) * sizeof *p->in);
    sq_engine_word_fields(p->out + 1);
}

// ---- values ---------------------------------------------------------------------------------

// Whether -2^(w-1) is a code of operand f that no encoder writes (SPEC 0.3).
static bool is_checked(const struct parts *s, size_t f)
{
    if (!s->has_mask)
        return true;
    const bool has_sentinel = s->v[LAYOUT] == SQ_ARRAY_SENTINEL,
               is_split = s->v[LAYOUT] == SQ_ARRAY_SPLIT;
    return f == 0   ? true
           : f == 1 ? !has_sentinel && !is_split
           : f == 2 ? has_sentinel || s->v[LAYOUT] == SQ_ARRAY_COMPACT
                    : false;
}

// Where an operand lies in a record.
static size_t operand_at(const struct parts *s, size_t f)
{
    return JOB_FIELDS - 1 + sq_field_offset(s->ports.in, 1 + f);
}

static bool has_illegal(const struct parts *s, const int32_t *record)
{
    bool any = false;
    for (size_t f = 0; f < s->operands; f++) {
        const struct sq_field *const field = &s->ports.in[1 + f];
        for (size_t i = 0; is_checked(s, f) && i < field->count; i++)
            any = any || record[operand_at(s, f) + i] == sq_mask_code(field->width);
    }
    return any;
}

// Illegal codes become the next legal ones.
static void heal(const struct parts *s, int32_t *record)
{
    for (size_t f = 0; f < s->operands; f++) {
        const struct sq_field *const field = &s->ports.in[1 + f];
        int32_t *const x = record + operand_at(s, f);
        for (size_t i = 0; is_checked(s, f) && i < field->count; i++)
            x[i] += x[i] == sq_mask_code(field->width);
    }
}

// What the array computes of `n` beats, both planes: tile [2 * rows * cols + 1], and its error.
static void sums_of(const struct parts *s, const int32_t *first, uint32_t n, int32_t *tile)
{
    const uint32_t len[SQ_STREAMS_MAX] = {n};
    SQ_FREED int32_t *const beats = malloc(n * s->array_len * sizeof *beats);
    assert(beats);
    for (uint32_t b = 0; b < n; b++) {
        beats[b * s->array_len] = b + 1 == n;
        memcpy(beats + b * s->array_len + 1, first + b * s->len + JOB_FIELDS,
               (s->array_len - 1) * sizeof *beats);
    }
    const struct sq_group group = {.record = beats, .len = len};
    memset(tile, 0, sq_field_offset(s->ports.out, s->ports.n_out) * sizeof *tile);
    (void)s->array->golden(s->v, &group, tile);
}

static uint64_t golden_job(const struct parts *s, const struct sq_group *in, int32_t *out)
{
    const size_t pes = (size_t)s->c.rows * s->c.cols, words = pes / s->c.port_len;
    const size_t word_len = s->c.port_len + SQ_ENGINE_WORD_FIELDS;
    const uint32_t beats = (uint32_t)in->record[BEATS], groups = (uint32_t)in->record[GROUPS];
    const uint32_t tiles = (uint32_t)in->record[TILES];
    SQ_CLOSED(sq_engine_sums_free) const struct sq_engine_sums sums = sq_engine_sums(&s->c);
    int32_t error = 0;
    for (uint32_t g = 0; g < groups * tiles; g++) {
        const int32_t *const first = in->record + (size_t)g * beats * s->len;
        const bool is_last = (g + 1) % groups == 0;
        sums.scale[0] = is_last;
        memcpy(sums.scale + 1, in->record + g * s->len + s->scale,
               (s->len - s->scale) * sizeof *sums.scale);
        sums_of(s, first, beats, sums.tile);
        error |= (s->has_mask ? sums.tile[2 * pes] : 0) << SQ_SCALED_ERROR_MASK;
        for (uint32_t b = 0; b < beats; b++)
            error |= has_illegal(s, first + b * s->len) << SQ_SCALED_ERROR_CODE;
        error |= sq_engine_wrong_scale(&s->c, sums.scale + 1, is_last) << SQ_SCALED_ERROR_SCALE;
        sq_output_add(&s->c, sums.tile, sums.tile + pes, sums.scale, sums.y);
        if (is_last)
            out += word_len *
                   sq_engine_end(&s->c, sums.scale, sums.y, g + 1 == groups * tiles, error, out);
    }
    return tiles * words;
}

// ---- cases ----------------------------------------------------------------------------------

static void put_job(const struct parts *s, uint32_t beats, uint32_t groups, uint32_t tiles,
                    int32_t *record, uint32_t *len)
{
    (void)s;
    record[BEATS] = (int32_t)beats;
    record[GROUPS] = (int32_t)groups;
    record[TILES] = (int32_t)tiles;
    len[JOB] = 1;
    len[ONE_SIDE] = len[OTHER] = beats * groups * tiles;
    len[SCALE] = groups * tiles;
}

// The operands of a beat; legal ones hold no code that no encoder writes.
static void draw_beat(const struct parts *s, struct sq_rng *rng, enum sq_stimulus kind,
                      int32_t *record)
{
    int32_t *const beat = calloc(s->array_len, sizeof *beat);
    assert(beat);
    s->array->draw_beat(s->v, rng, kind, 0, beat);
    memcpy(record + JOB_FIELDS, beat + 1, (s->array_len - 1) * sizeof *beat);
    free(beat);
    if (kind != SQ_STIMULUS_ILLEGAL)
        heal(s, record);
}

// is_aimed: at sums that cancel, at times with a scale below 0.
static void draw_tile(const struct parts *s, struct sq_rng *rng, enum sq_stimulus kind,
                      bool is_aimed, uint32_t beats, uint32_t groups, int32_t *operands,
                      int32_t *scales)
{
    const size_t pes = (size_t)s->c.rows * s->c.cols;
    SQ_CLOSED(sq_engine_sums_free) const struct sq_engine_sums sums = sq_engine_sums(&s->c);
    for (uint32_t g = 0; g < groups; g++, operands += beats * s->len, scales += s->len) {
        for (uint32_t b = 0; b < beats; b++)
            draw_beat(s, rng, kind, operands + b * s->len);
        sums_of(s, operands, beats, sums.tile);
        sq_output_draw_scale(&s->c, rng, kind, g + 1 == groups, sums.scale);
        if (is_aimed)
            sq_output_aim_scale(&s->c, rng, sums.tile, sums.tile + pes, sums.y, sums.scale);
        sq_output_add(&s->c, sums.tile, sums.tile + pes, sums.scale, sums.y);
        memcpy(scales + s->scale, sums.scale + 1, (s->len - s->scale) * sizeof *scales);
    }
}

// One thing wrong, of the kind: a mask bit, a nibble or a mask code; a code; a scale. False where
// the format has no such thing.
static bool spoil(const struct parts *s, struct sq_rng *rng, enum sq_scaled_error kind,
                  int32_t *operands, int32_t *scales, bool is_last)
{
    static const int32_t wrong_scale[] = {0, INT32_MIN, INT32_MIN | 0x3f800000, 0x7f800000,
                                          0x7fc00000};
    const bool has_sentinel = s->has_mask && s->v[LAYOUT] == SQ_ARRAY_SENTINEL;
    if (kind == SQ_SCALED_ERROR_SCALE) {
        const bool is_scaled = s->c.form == SQ_COMBINE_SCALED, two = s->c.form == SQ_COMBINE_TWO;
        const size_t at =
            sq_rng_below(rng, 2) && (is_scaled || is_last)
                ? 2 * (size_t)s->c.cols + sq_rng_below(rng, (1 + is_scaled) * s->c.rows)
                : sq_rng_below(rng, (1 + two) * s->c.cols);
        scales[s->scale + at] = wrong_scale[sq_rng_below(rng, SQ_LEN(wrong_scale))];
        return true;
    }
    if (kind == SQ_SCALED_ERROR_MASK && (!s->has_mask || s->v[LAYOUT] == SQ_ARRAY_DENSE))
        return false;
    const size_t f = kind == SQ_SCALED_ERROR_MASK               ? (has_sentinel ? 1 : 3)
                     : sq_rng_below(rng, 2) && is_checked(s, 1) ? 1
                     : sq_rng_below(rng, 2) && is_checked(s, 2) ? 2
                                                                : 0;
    const struct sq_field *const field = &s->ports.in[1 + f];
    int32_t *const x = operands + operand_at(s, f) + sq_rng_below(rng, (uint32_t)field->count);
    if (kind == SQ_SCALED_ERROR_CODE)
        *x = sq_mask_code(field->width);
    else if (s->v[LAYOUT] == SQ_ARRAY_SP24)
        *x = (*x & 3) * 5; // two equal indices
    else if (has_sentinel)
        *x = *x == sq_mask_code(field->width) ? 0 : sq_mask_code(field->width);
    else
        *x ^= 1;
    return true;
}

static void draw_job(const struct parts *s, struct sq_rng *rng, enum sq_stimulus kind,
                     int32_t *record, uint32_t *len)
{
    static const enum sq_scaled_error kinds[3] = {SQ_SCALED_ERROR_MASK, SQ_SCALED_ERROR_CODE,
                                                  SQ_SCALED_ERROR_SCALE};
    const uint32_t beats = 1 + sq_rng_below(rng, BEATS_MAX);
    const uint32_t groups = 1 + sq_rng_below(rng, GROUPS_MAX);
    const uint32_t tiles = 1 + sq_rng_below(rng, TILES_MAX);
    const bool has_one = kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 4);
    put_job(s, beats, groups, tiles, record, len);
    for (uint32_t t = 0; t < tiles; t++)
        draw_tile(s, rng, has_one ? SQ_STIMULUS_UNIFORM : kind, !has_one, beats, groups,
                  record + t * groups * beats * s->len, record + t * groups * s->len);
    if (has_one) {
        const uint32_t group = sq_rng_below(rng, groups * tiles), beat = sq_rng_below(rng, beats);
        (void)spoil(s, rng, kinds[sq_rng_below(rng, 3)], record + (group * beats + beat) * s->len,
                    record + group * s->len, (group + 1) % groups == 0);
    }
}

// Jobs of one scale group whose sums are those of the array's directed case, at both ends of their
// range, of one plane and of the other, then of every size.
static enum sq_status draw_ends(const struct parts *s, struct sq_case *c, struct sq_rng *rng,
                                struct sq_error *err)
{
    enum { ENDS = 4, SIZES = 8, BEATS_END = (1 << JOB_BITS) - 1 };
    SQ_CLOSED(sq_case_free) struct sq_case array = *c;
    uint32_t beats[ENDS + SIZES];
    array.block = s->array;
    SQ_TRY(s->array->draw_directed(&array, 0, rng, err));
    const uint32_t all = array.len[0][0], n = all < BEATS_END ? all : BEATS_END;
    c->n_groups = ENDS + SIZES;
    for (size_t g = 0; g < c->n_groups; g++) {
        const uint32_t some = 1 + sq_rng_below(rng, UINT32_C(2) << sq_rng_below(rng, 13));
        beats[g] = g < ENDS || some > n ? n : some;
        c->n_beats += beats[g];
    }
    SQ_TRY(sq_case_alloc(c, err));
    SQ_CLOSED(sq_engine_sums_free) const struct sq_engine_sums sums = sq_engine_sums(&s->c);
    int32_t *record = c->beats;
    for (size_t g = 0; g < c->n_groups; g++) { // signs alternate
        const int32_t *const last = array.beats + ((g % 2 + 1) * all - 1) * s->array_len;
        const unsigned without = g < ENDS ? (unsigned)g / 2 : sq_rng_below(rng, 3);
        put_job(s, beats[g], 1, 1, record, c->len[g]);
        sq_output_draw_scale(&s->c, rng, SQ_STIMULUS_UNIFORM, true, sums.scale);
        if (without < 2)
            sq_output_drop_plane(&s->c, without, sums.scale);
        memcpy(record + s->scale, sums.scale + 1, (s->len - s->scale) * sizeof *record);
        for (uint32_t b = 0; b < beats[g]; b++, record += s->len)
            memcpy(record + JOB_FIELDS, last + 1, (s->array_len - 1) * sizeof *record);
    }
    return SQ_OK;
}

// Every kind of error alone, in the first, a middle and the last beat of a job of two tiles of two
// groups of two beats; behind each job one without any.
static enum sq_status draw_errors(const struct parts *s, struct sq_case *c, struct sq_rng *rng,
                                  struct sq_error *err)
{
    enum { PLACES = 4, BEATS_OF = 2, GROUPS_OF = 2, TILES_OF = 2, TIMES = 2 };
    enum { RECORDS = BEATS_OF * GROUPS_OF * TILES_OF };
    static const enum sq_scaled_error kinds[3] = {SQ_SCALED_ERROR_MASK, SQ_SCALED_ERROR_CODE,
                                                  SQ_SCALED_ERROR_SCALE};
    SQ_TRY(sq_case_room(c, (size_t)2 * TIMES * SQ_LEN(kinds) * PLACES, RECORDS, err));
    for (size_t g = 0; g < c->n_groups; g++) {
        int32_t *const record = c->beats + g * RECORDS * s->len;
        const uint32_t group = (uint32_t)(g / 2 % PLACES);
        put_job(s, BEATS_OF, GROUPS_OF, TILES_OF, record, c->len[g]);
        for (uint32_t t = 0; t < TILES_OF; t++)
            draw_tile(s, rng, SQ_STIMULUS_UNIFORM, false, BEATS_OF, GROUPS_OF,
                      record + t * GROUPS_OF * BEATS_OF * s->len, record + t * GROUPS_OF * s->len);
        if (g % 2 == 0)
            (void)spoil(s, rng, kinds[g / 2 / PLACES % SQ_LEN(kinds)],
                        record + (group * BEATS_OF + g / 4 % BEATS_OF) * s->len,
                        record + group * s->len, group % GROUPS_OF == 1);
    }
    return SQ_OK;
}

// More scale groups of a tile, and more tiles, than one byte counts; a job of one between them.
static enum sq_status draw_counts(const struct parts *s, struct sq_case *c, struct sq_rng *rng,
                                  struct sq_error *err)
{
    enum { MANY = 300, JOBS = 4 };
    const uint32_t groups[JOBS] = {MANY, 1, 1, 1}, tiles[JOBS] = {1, 1, MANY, 1};
    c->max_outputs = MANY * (size_t)s->c.rows * s->c.cols / s->c.port_len;
    SQ_TRY(sq_case_room(c, JOBS, MANY, err));
    int32_t *record = c->beats;
    for (size_t i = 0; i < JOBS; record += sq_case_records(c, i++) * s->len) {
        put_job(s, 1, groups[i], tiles[i], record, c->len[i]);
        for (uint32_t t = 0; t < tiles[i]; t++)
            draw_tile(s, rng, SQ_STIMULUS_UNIFORM, true, 1, groups[i],
                      record + t * groups[i] * s->len, record + t * groups[i] * s->len);
    }
    return SQ_OK;
}

// Half as many tiles, or one less; of one tile so with its scale groups; of one group with its beats.
static bool cut_job(const struct parts *s, unsigned way, int32_t *record, uint32_t *len)
{
    uint32_t n[JOB_FIELDS] = {(uint32_t)record[BEATS], (uint32_t)record[GROUPS],
                              (uint32_t)record[TILES]};
    const unsigned level = n[TILES] > 1 ? TILES : n[GROUPS] > 1 ? GROUPS : BEATS;
    if (way > 1 || n[level] == 1)
        return false;
    n[level] = way == 0 ? n[level] / 2 : n[level] - 1;
    put_job(s, n[BEATS], n[GROUPS], n[TILES], record, len);
    return true;
}

// ---- time -----------------------------------------------------------------------------------

bool sq_engine_array_keeps(const void *state)
{
    return sq_output_keeps(&((const struct sq_engine_array_sim *)state)->output);
}

static void init_of(const struct parts *parts, void *state)
{
    struct sq_engine_array_sim *const s = state;
    assert(parts->array->timing == &sq_timing_chain);
    parts->array->init(parts->v, &s->array);
    sq_output_init(&s->output, &parts->c);
}

static void offer(const unsigned *v, unsigned stream, const int32_t *record, struct sq_offer *o)
{
    (void)v;
    if (stream != JOB)
        return;
    o->n = (uint32_t)record[BEATS];
    o->job =
        (struct sq_job){.group_banks = (uint32_t)record[GROUPS], .groups = (uint32_t)record[TILES]};
}

// What the stage behind the array is given. Valid of the array does not depend on ready behind it.
static inline struct sq_output_in stage_of(const struct sq_engine_array_sim *s,
                                           const struct sq_engine_in *in, bool out_ready)
{
    const bool scale_last = sq_engine_count_last(&s->scale, 0);
    struct sq_pipeline_out array;
    sq_chain_comb(&s->array, false, &array);
    return (struct sq_output_in){.tile_valid = array.out_valid,
                                 .scale_valid = s->scale.is_busy && in->valid[SCALE],
                                 .scale_last = scale_last,
                                 .out_ready = out_ready,
                                 .scale_carry = s->carries && s->scale.at[0] == 0,
                                 .scale_keep = s->keeps && scale_last,
                                 .carry_valid = in->valid[SQ_ENGINE_CARRY]};
}

// A beat of both operands goes.
struct step {
    bool valid, ready;
};

static inline struct step step_of(const struct sq_engine_array_sim *s,
                                  const struct sq_engine_in *in, const struct sq_output_out *stage)
{
    struct sq_pipeline_out array;
    sq_chain_comb(&s->array, stage->tile_ready, &array);
    return (struct step){s->in.is_busy && in->valid[ONE_SIDE] && in->valid[OTHER], array.in_ready};
}

static inline bool takes_job(const struct sq_engine_array_sim *s, const struct step *step)
{
    return sq_engine_count_ready(&s->in, step->valid && step->ready) && s->next.n < SQ_ENGINE_JOBS;
}

static inline void answer(const struct sq_engine_array_sim *s, const struct sq_engine_in *in,
                          const struct step *step, const struct sq_output_out *stage,
                          struct sq_handshake *out)
{
    out->in_ready[JOB] = takes_job(s, step);
    out->in_ready[ONE_SIDE] = s->in.is_busy && in->valid[OTHER] && step->ready;
    out->in_ready[OTHER] = s->in.is_busy && in->valid[ONE_SIDE] && step->ready;
    out->in_ready[SCALE] = s->scale.is_busy && stage->scale_ready;
    out->in_ready[SQ_ENGINE_CARRY] = stage->carry_ready;
    out->out_valid = stage->out_valid;
}

static void comb(const void *state, const struct sq_offer *offer, bool out_ready,
                 struct sq_handshake *out)
{
    const struct sq_engine_array_sim *const s = state;
    const struct sq_engine_in in = sq_engine_in_of(offer);
    const struct sq_output_in stage_in = stage_of(s, &in, out_ready);
    struct sq_output_out stage;
    sq_output_comb(&s->output, &stage_in, &stage);
    const struct step step = step_of(s, &in, &stage);
    answer(s, &in, &step, &stage, out);
}

// The rising edge of what stands at the jobs.
static void clock_jobs(struct sq_engine_array_sim *s, const struct sq_offer *job, bool passes)
{
    const uint32_t scale_job[3] = {job ? job->job.group_banks : 0, job ? job->job.groups : 0, 1};
    const uint32_t sums[3] = {job && job->carry, job && job->keep};
    if (passes) {
        s->carries = s->next_sums.job[0][0];
        s->keeps = s->next_sums.job[0][1];
    }
    sq_engine_jobs_clock(&s->next, job ? scale_job : NULL, passes);
    sq_engine_jobs_clock(&s->next_sums, job ? sums : NULL, passes);
}

// ... of all but the stage.
static inline void edge(struct sq_engine_array_sim *s, const struct sq_engine_in *in,
                        const struct step *step, bool tile_ready, bool scale_step)
{
    const bool in_step = step->valid && step->ready, in_last = sq_engine_count_last(&s->in, 0);
    const bool takes = in->valid[JOB] && takes_job(s, step);
    const bool passes = s->next.n > 0 && sq_engine_count_ready(&s->scale, scale_step);
    sq_engine_count_clock(&s->scale, passes ? s->next.job[0] : NULL, scale_step);
    if (takes || passes)
        clock_jobs(s, takes ? in->job : NULL, passes);
    const uint32_t job[3] = {takes ? in->job->n : 0, takes ? in->job->job.group_banks : 0,
                             takes ? in->job->job.groups : 0};
    sq_engine_count_clock(&s->in, takes ? job : NULL, in_step);
    sq_chain_clock(&s->array, step->valid, in_last, tile_ready);
}

static void clock(void *state, const struct sq_offer *offer, bool out_ready)
{
    const struct sq_engine_in in = sq_engine_in_of(offer);
    struct sq_handshake unused;
    sq_engine_array_cycle(state, &in, out_ready, &unused);
}

void sq_engine_array_cycle(void *state, const struct sq_engine_in *in, bool out_ready,
                           struct sq_handshake *out)
{
    struct sq_engine_array_sim *const s = state;
    const struct sq_output_in stage_in = stage_of(s, in, out_ready);
    struct sq_output_out stage;
    sq_output_cycle(&s->output, &stage_in, &stage);
    const struct step step = step_of(s, in, &stage);
    answer(s, in, &step, &stage, out);
    edge(s, in, &step, stage.tile_ready, stage_in.scale_valid && stage.scale_ready);
}

void sq_engine_array_counts(void *state, struct sq_engine_count *count[SQ_ENGINE_COUNTS])
{
    struct sq_engine_array_sim *const s = state;
    count[0] = &s->in;
    count[1] = &s->scale;
}

static const struct sq_timing timing = {sizeof(struct sq_engine_array_sim), comb, clock};

// ---- the two --------------------------------------------------------------------------------

typedef enum sq_status draw_fn(const struct parts *s, struct sq_case *c, struct sq_rng *rng,
                               struct sq_error *err);
static draw_fn *const directed[] = {draw_errors, draw_ends, draw_counts};

#define TWO_OF(name, array)                                                                        \
    static void name##_ports(const unsigned *v, struct sq_ports *p)                                \
    {                                                                                              \
        const struct parts s = parts_of(&(array), v);                                              \
        ports_of(&s, p);                                                                           \
    }                                                                                              \
    static void name##_draw(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,          \
                            uint64_t number, int32_t *record, uint32_t *len)                       \
    {                                                                                              \
        const struct parts s = parts_of(&(array), v);                                              \
        (void)number;                                                                              \
        draw_job(&s, rng, kind, record, len);                                                      \
    }                                                                                              \
    static enum sq_status name##_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,  \
                                          struct sq_error *err)                                    \
    {                                                                                              \
        const struct parts s = parts_of(&(array), c->point->value);                                \
        return directed[number](&s, c, rng, err);                                                  \
    }                                                                                              \
    static bool name##_cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)        \
    {                                                                                              \
        const struct parts s = parts_of(&(array), v);                                              \
        return cut_job(&s, way, record, len);                                                      \
    }                                                                                              \
    static uint64_t name##_golden(const unsigned *v, const struct sq_group *in, int32_t *out)      \
    {                                                                                              \
        const struct parts s = parts_of(&(array), v);                                              \
        return golden_job(&s, in, out);                                                            \
    }                                                                                              \
    static void name##_init(const unsigned *v, void *state)                                        \
    {                                                                                              \
        const struct parts s = parts_of(&(array), v);                                              \
        init_of(&s, state);                                                                        \
    }                                                                                              \
    static enum sq_status name##_settle(unsigned *v, const unsigned *old, uint32_t given,          \
                                        struct sq_error *err)                                      \
    {                                                                                              \
        const size_t n = n_params(&(array));                                                       \
        if ((array).settle)                                                                        \
            SQ_TRY((array).settle(v, old, given, err));                                            \
        return sq_output_settle(v[ROWS], v[COLS], v + n, old + n, given >> n, err);                \
    }

TWO_OF(any, sq_array_block)
TWO_OF(fixed, sq_array_static_block)

// Whole engines of 4 x 4 PEs: 4 outputs a cycle, a tile in the queue, bfloat16 out.
