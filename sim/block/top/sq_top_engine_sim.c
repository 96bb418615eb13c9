// SPDX-License-Identifier: Apache-2.0
// Adds up the sums of each output slot and combines them with scales to outputs
// (sq_top_engine_sim.h).
#include "sim/block/top/sq_top_engine_sim.h"

#include <assert.h>
#include <string.h>

#include "sim/block/flow/sq_engine.h"
#include "sim/block/scaled/sq_engine_scaled_golden.h"

enum { OPERANDS, SCALES }; // what a job waits for

void sq_top_engine_init(struct sq_top_engine *e, const unsigned *v)
{
    unsigned engine[SQ_POINT_VALUES];
    e->block = sq_top_engine_block(v);
    e->shape = sq_top_shape(v);
    e->c = e->shape.output;
    sq_top_engine(v, engine);
    assert(e->shape.pairs * e->c.rows * e->c.cols <= SQ_TOP_PES_MAX);
    assert(e->block->timing->nbytes <= sizeof e->time);
    e->block->init(engine, e->time);
    if (e->block->indexed) {
        assert(e->block->indexed->nbytes <= sizeof e->values);
        memset(e->values, 0, e->block->indexed->nbytes);
        e->block->indexed->init(e->values, e->c.rows, v[SQ_TOP_BANK_LEN]);
    }
}

uint32_t sq_top_engine_slots(const struct sq_top_engine *e)
{
    return e->shape.pairs * e->c.rows * e->c.cols / e->c.lanes;
}

bool sq_top_engine_keeps(const struct sq_top_engine *e)
{
    return e->shape.is_scaled    ? sq_engine_scaled_keeps(e->time)
           : e->shape.is_indexed ? false
                                 : sq_engine_array_keeps(e->time);
}

// ---- jobs -------------------------------------------------------------------------------------------

static void add_job(struct sq_top_engine *e, const struct sq_top_engine_job *job)
{
    for (unsigned side = OPERANDS; side <= SCALES; side++) {
        assert(e->n_jobs[side] < 4);
        e->job[side][e->n_jobs[side]++] = *job;
    }
}

// A group more of the first job; whether it was its last.
static bool end_group(struct sq_top_engine *e, unsigned side)
{
    struct sq_top_engine_job *const job = e->job[side];
    if (++e->done[side] < job->tiles * job->groups)
        return false;
    e->done[side] = 0;
    memmove(job, job + 1, --e->n_jobs[side] * sizeof *job);
    return true;
}

// ---- sums between chunks ----------------------------------------------------------------------------

// Sums of a tile: so many of an array of SQ_TOP_PES_MAX are read, and cleared.
static size_t n_sums_of(const struct sq_top_engine *e)
{
    return (size_t)e->shape.pairs * e->c.rows * e->c.cols;
}

// part: the integers of a group that goes on, or NULL.
static void push_kept(struct sq_top_engine *e, const float *y, const struct sq_top_group *part)
{
    assert(e->n_kept < SQ_LEN(e->kept));
    struct sq_top_kept *const to = &e->kept[(e->first_kept + e->n_kept++) % SQ_LEN(e->kept)];
    const size_t n = n_sums_of(e);
    memcpy(to->y, y, n * sizeof *y);
    if (!part)
        return;
    memcpy(to->p_lo, part->p_lo, n * sizeof *to->p_lo);
    memcpy(to->p_hi, part->p_hi, n * sizeof *to->p_hi);
}

// Adds the integers to those of `part`, if not NULL.
static void pop_kept(struct sq_top_engine *e, float *y, struct sq_top_group *part)
{
    assert(e->n_kept > 0);
    const struct sq_top_kept *const from = &e->kept[e->first_kept];
    const size_t n = n_sums_of(e);
    memcpy(y, from->y, n * sizeof *y);
    for (size_t i = 0; part && i < n; i++) {
        part->p_lo[i] += from->p_lo[i];
        part->p_hi[i] += from->p_hi[i];
    }
    e->first_kept = (e->first_kept + 1) % SQ_LEN(e->kept);
    e->n_kept--;
}

// ---- operands ---------------------------------------------------------------------------------------

// A beat of both operands into the sums of its group. Totals of sq_engine_scaled go from chunk to chunk
// before any scale meets them.
static void add_beat(struct sq_top_engine *e, const int32_t *act, const int32_t *weight)
{
    assert(e->n_jobs[OPERANDS] > 0);
    const struct sq_top_engine_job job = e->job[OPERANDS][0];
    struct sq_top_group *const g = &e->sums[e->n_sums];
    if (e->beats == 0) {
        const size_t n = n_sums_of(e);
        assert(e->n_sums < SQ_TOP_GROUPS_AHEAD);
        g->errors = 0;
        memset(g->exact, 0, n * sizeof *g->exact); // and p_lo
        memset(g->p_hi, 0, n * sizeof *g->p_hi);
        memset(g->total, 0, n * sizeof *g->total);
    }
    if (e->beats == 0 && e->shape.is_scaled && job.carries)
        pop_kept(e, g->total, NULL);
    if (act)
        g->errors |= e->shape.is_scaled
                         ? sq_top_add_block(&e->shape, act, weight, g->total, g->exact)
                         : sq_top_multiply(&e->shape, act, weight, g->p_lo, g->p_hi);
    if (++e->beats < job.beats)
        return;
    e->beats = 0;
    e->n_sums++;
    if (e->shape.is_scaled && job.keeps)
        push_kept(e, g->total, NULL);
    (void)end_group(e, OPERANDS);
}

// ---- scales -----------------------------------------------------------------------------------------

static void add_scale(struct sq_top_engine *e, const int32_t *row, const int32_t *col)
{
    assert(e->n_scales < SQ_TOP_GROUPS_AHEAD && e->n_jobs[SCALES] > 0);
    const struct sq_top_engine_job *const job = e->job[SCALES];
    struct sq_top_scales *const to = &e->scale[e->n_scales++];
    const uint32_t group = e->done[SCALES] % job->groups;
    const bool is_last = group + 1 == job->groups;
    to->carries = job->carries && group == 0;
    to->keeps = job->keeps && is_last;
    memcpy(to->part, job->part, sizeof to->part);
    to->errors = sq_top_scales(&e->shape, is_last, row, col, to->beat);
    to->ends_job = end_group(e, SCALES);
}

// ---- outputs ----------------------------------------------------------------------------------------

static void put_word(struct sq_top_engine *e, const int32_t *y, bool ends_job, uint32_t errors)
{
    assert(e->n_words < SQ_TOP_OUTPUTS_AHEAD);
    struct sq_top_output_word *const word =
        &e->word[(e->first_word + e->n_words++) % SQ_TOP_OUTPUTS_AHEAD];
    memcpy(word->y, y, e->c.port_len * sizeof *y);
    word->ends_job = ends_job;
    word->errors = ends_job ? errors : 0;
}

static void put_outputs(struct sq_top_engine *e)
{
    int32_t y[SQ_TOP_PES_MAX];
    const uint32_t len = e->c.port_len, n = e->c.rows * e->c.cols / len;
    (void)sq_output_end(&e->c, e->scale[0].beat, e->y, y);
    for (uint32_t w = 0; w < n; w++)
        put_word(e, y + w * len, e->scale[0].ends_job && w + 1 == n, e->errors);
}

const struct sq_top_output_word *sq_top_engine_word(const struct sq_top_engine *e)
{
    assert(e->n_words > 0);
    return &e->word[e->first_word];
}

void sq_top_engine_word_leaves(struct sq_top_engine *e)
{
    e->first_word = (e->first_word + 1) % SQ_TOP_OUTPUTS_AHEAD;
    e->n_words--;
}

static void put_keeps(struct sq_top_engine *e)
{
    const uint32_t n = sq_top_engine_slots(e);
    for (uint32_t i = 0; i < n; i++) {
        assert(e->n_keeps < SQ_TOP_OUTPUTS_AHEAD);
        const bool is_last = e->scale[0].ends_job && i + 1 == n;
        e->keep[e->n_keeps++] = (struct sq_top_keep){is_last ? e->errors : 0, is_last};
    }
}

static void combine_array(struct sq_top_engine *e)
{
    const struct sq_top_scales *const scale = &e->scale[0];
    struct sq_top_group *const g = &e->sums[0];
    if (scale->carries)
        pop_kept(e, e->y, scale->part[0] ? g : NULL);
    if (!scale->part[1])
        sq_output_add(&e->c, (const int32_t *)g->p_lo, (const int32_t *)g->p_hi, scale->beat, e->y);
    if (scale->keeps) {
        push_kept(e, e->y, scale->part[1] ? g : NULL);
        memset(e->y, 0, n_sums_of(e) * sizeof *e->y);
    }
}

// Totals of all pairs of parts, each with the scales of its parts.
static void combine_scaled(struct sq_top_engine *e)
{
    const size_t cols = e->c.cols, rows = e->c.rows, pes = rows * cols;
    const int32_t *const col = e->scale[0].beat + 1, *const row = col + 2 * cols;
    int32_t beat[1 + 4 * SQ_TOP_PES_MAX], total[SQ_TOP_PES_MAX];
    memset(beat, 0, sq_output_scale_len(&e->c) * sizeof *beat);
    if (e->shape.engine[SQ_ES_ACC] != SQ_SCALED_FIXED)
        memcpy(total, e->sums[0].total, n_sums_of(e) * sizeof *total);
    else
        for (size_t i = 0; i < pes; i++)
            total[i] = (int32_t)sq_combine_bits(sq_es_float(&e->shape.scaled, e->sums[0].exact[i]));
    for (unsigned pair = 0; pair < e->shape.pairs && !e->scale[0].keeps; pair++) {
        const bool is_row_high = e->shape.pairs == 4 ? pair / 2 : pair;
        const bool is_col_high = e->shape.pairs == 4 && pair % 2;
        memcpy(beat + 1, col + is_col_high * cols, cols * sizeof *beat);
        memcpy(beat + 1 + 2 * cols, row + is_row_high * rows, rows * sizeof *beat);
        sq_output_add(&e->c, total + pair * pes, total + pair * pes, beat, e->y);
    }
}

// A group whose sums and scales have come.
static void combine(struct sq_top_engine *e)
{
    const struct sq_top_scales *const scale = &e->scale[0];
    e->errors |= e->sums[0].errors | scale->errors;
    if (e->shape.is_scaled)
        combine_scaled(e);
    else
        combine_array(e);
    if (scale->keeps)
        put_keeps(e);
    else if (scale->beat[0])
        put_outputs(e);
    if (scale->ends_job)
        e->errors = 0;
    e->n_sums--;
    e->n_scales--;
    memmove(e->sums, e->sums + 1, (e->n_sums + (e->beats > 0)) * sizeof *e->sums);
    memmove(e->scale, e->scale + 1, e->n_scales * sizeof *e->scale);
}

void sq_top_engine_clock(struct sq_top_engine *e, const struct sq_top_engine_in *in)
{
    if (in->has_operands)
        add_beat(e, in->act, in->weight);
    if (in->job)
        add_job(e, in->job);
    // Scales are taken with the last slot of a tile; outputs of the first ones may leave before.
    if (in->offers_scales && !e->has_scale && e->n_jobs[SCALES] > 0) {
        add_scale(e, in->row, in->col);
        e->has_scale = true;
    }
    if (in->takes_scales)
        e->has_scale = false;
    while (e->n_sums > 0 && e->n_scales > 0)
        combine(e);
}

bool sq_top_indexed_waits(const struct sq_top_engine *e)
{
    return e->feed.left > 0 && e->feed.jobs == 1 && e->n_words > 0 &&
           sq_top_engine_word(e)->ends_job;
}

static void put_row(struct sq_top_engine *e, const int32_t *y)
{
    int32_t out[SQ_INDEXED_ROWS];
    uint32_t errors;
    const bool ends_job = e->block->indexed->ends(e->values, &errors);
    for (unsigned r = 0; r < e->c.port_len; r++)
        out[r] = sq_combine_out(e->c.kind, (uint32_t)y[r]);
    put_word(e, out, ends_job, errors);
}

void sq_top_indexed_clock(struct sq_top_engine *e, const struct sq_top_indexed_in *in)
{
    const int32_t zeros[SQ_INDEXED_KEPT_MAX] = {0};
    const struct sq_indexed *const of = e->block->indexed;
    const uint32_t at = e->feed.owes_zero ? 0 : sq_indexed_end(in->in->at, e->feed.n_kept);
    int32_t y[SQ_INDEXED_ROWS];
    if (in->out->kept_fires && of->kept(e->values, e->feed.left > 0 ? in->kept : zeros, y))
        put_row(e, y);
    if (in->act)
        of->act(e->values, in->act);
    if (in->out->offset_fires && of->offset(e->values, at, y))
        put_row(e, y);
    if (in->out->job_fires)
        of->job(e->values, in->in->groups, in->in->rows, in->s_a);
    sq_indexed_clock(&e->feed, in->in, in->out, in->word_leaves && sq_top_engine_word(e)->ends_job);
}
