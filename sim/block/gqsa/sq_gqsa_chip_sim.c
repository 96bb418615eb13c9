// SPDX-License-Identifier: Apache-2.0
// Feeds the engine from the buffers of the chip, adds up kept groups as they come, and asks the golden model
// of the engine for a whole job (sq_gqsa_chip_sim.h).
#include "sim/block/gqsa/sq_gqsa_chip_sim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/number/sq_half.h"
#include "models/output/sq_combine.h"
#include "sim/block/flow/sq_engine.h"

enum { INDEX, CODE };                  // of a kept group, then zero and scale
enum { GROUPS, OFFSETS, S_A };         // of a job of the engine
enum { ROWS, GROUP };                  // parameters of the engine
enum { STREAMS = 4, WORD_FIELDS = 2 }; // of the engine; last, error
enum { HALF_INFINITY = 0x7c00 };

// ---- time -------------------------------------------------------------------------------------------

void sq_gqsa_feed_offer(const struct sq_gqsa_feed *f, const struct sq_gqsa_feed_in *in,
                        struct sq_offer engine[SQ_STREAMS_MAX])
{
    engine[SQ_GQSA_CHIP_JOB].valid = in->job && in->row && f->left == 0;
    engine[SQ_GQSA_CHIP_JOB].job =
        (struct sq_job){.group_banks = in->groups, .groups = in->rows + 1};
    engine[SQ_GQSA_CHIP_ACT].valid = in->act;
    engine[SQ_GQSA_CHIP_OFFSET].valid = in->offset || f->owes_zero;
    engine[SQ_GQSA_CHIP_OFFSET].n = f->owes_zero ? 0 : in->at;
    engine[SQ_GQSA_CHIP_KEPT].valid = in->kept || f->left == 0;
}

void sq_gqsa_feed_take(const struct sq_gqsa_feed *f, const struct sq_gqsa_feed_in *in,
                       const bool ready[SQ_STREAMS_MAX], struct sq_gqsa_feed_out *out)
{
    out->job_ready = ready[SQ_GQSA_CHIP_JOB] && in->row && f->left == 0;
    out->job_fires = out->row_ready = out->job_ready && in->job;
    out->act_ready = ready[SQ_GQSA_CHIP_ACT];
    out->offset_ready = ready[SQ_GQSA_CHIP_OFFSET] && !f->owes_zero;
    out->offset_fires = ready[SQ_GQSA_CHIP_OFFSET] && (in->offset || f->owes_zero);
    out->kept_ready = f->left > 0 && (ready[SQ_GQSA_CHIP_KEPT] || ready[SQ_GQSA_CHIP_JOB]);
    out->kept_fires = ready[SQ_GQSA_CHIP_KEPT] && (in->kept || f->left == 0);
}

void sq_gqsa_feed_clock(struct sq_gqsa_feed *f, const struct sq_gqsa_feed_in *in,
                        const struct sq_gqsa_feed_out *out, bool last_leaves)
{
    f->jobs += (uint32_t)out->job_fires - (uint32_t)last_leaves;
    f->left = out->job_fires ? in->n_kept : f->left - (in->kept && out->kept_ready);
    f->owes_zero = out->job_fires || (f->owes_zero && !out->offset_fires);
}

// ---- values -----------------------------------------------------------------------------------------

bool sq_gqsa_chip_is_scale(int32_t bits)
{
    return bits > 0 && bits < HALF_INFINITY;
}

float sq_gqsa_chip_add(unsigned group, float y, const int32_t *kept, const int32_t *x)
{
    int32_t sum_qx = 0, sum_x = 0;
    for (unsigned i = 0; x && i < group; i++) {
        sum_qx += kept[CODE + i] * x[i];
        sum_x += x[i];
    }
    const int32_t zero = kept[CODE + group], scale = kept[CODE + group + 1];
    return sq_combine_group(SQ_COMBINE_ONE, y, sum_qx - zero * sum_x, 0,
                            sq_half_to_float((uint16_t)scale), 1.0f, 1.0f);
}

uint32_t sq_gqsa_chip_errors(uint32_t errors)
{
    const uint32_t index = errors >> SQ_ENGINE_ERROR_INDEX & 1;
    return (errors & ((1u << SQ_ENGINE_ERROR_INDEX) - 1)) | index << SQ_SCALED_ERROR_MASK;
}

void sq_gqsa_values_job(struct sq_gqsa_values *v, uint32_t limit, uint32_t n_rows,
                        const int32_t *s_a)
{
    assert(v->rows <= SQ_GQSA_CHIP_ROWS && v->group <= SQ_GQSA_CHIP_GROUP);
    v->limit = limit;
    v->n_rows = n_rows;
    v->n_act = v->row = 0;
    v->has_start = false;
    v->errors = 0;
    memcpy(v->s_a, s_a, v->rows * sizeof *s_a);
    for (unsigned r = 0; r < v->rows; r++)
        v->errors |= (uint32_t)!sq_engine_is_scale(s_a[r]) << SQ_SCALED_ERROR_SCALE;
}

void sq_gqsa_values_act(struct sq_gqsa_values *v, const int32_t *code)
{
    const size_t n = (size_t)v->rows * v->group;
    assert((v->n_act + 1) * n <= sizeof v->act);
    for (size_t i = 0; i < n; i++) {
        v->act[v->n_act * n + i] = (int8_t)code[i];
        v->errors |= (uint32_t)(code[i] == sq_mask_code(8)) << SQ_SCALED_ERROR_CODE;
    }
    v->n_act++;
}

// The outputs of the row that has ended.
static bool put_row(const struct sq_gqsa_values *v, int32_t *y)
{
    for (unsigned r = 0; r < v->rows; r++) {
        float s_a;
        memcpy(&s_a, &v->s_a[r], sizeof s_a);
        y[r] = (int32_t)sq_combine_bits(sq_combine_end(SQ_COMBINE_ONE, v->y[r], s_a));
    }
    return true;
}

bool sq_gqsa_values_kept(struct sq_gqsa_values *v, const int32_t *kept, int32_t *y)
{
    const uint32_t index = (uint32_t)kept[INDEX];
    const int32_t scale = kept[CODE + v->group + 1];
    const bool is_far = index >= v->limit, descends = !v->is_first && kept[INDEX] <= v->before;
    assert(v->at < v->end);
    for (unsigned r = 0; r < v->rows; r++) {
        int32_t x[SQ_GQSA_CHIP_GROUP];
        for (unsigned i = 0; !is_far && i < v->group; i++)
            x[i] = v->act[((size_t)index * v->rows + r) * v->group + i];
        v->y[r] = sq_gqsa_chip_add(v->group, v->y[r], kept, is_far ? NULL : x);
    }
    v->errors |= (uint32_t)(is_far || descends) << SQ_ENGINE_ERROR_INDEX;
    v->errors |= (uint32_t)!sq_gqsa_chip_is_scale(scale) << SQ_SCALED_ERROR_SCALE;
    v->is_first = false;
    v->before = kept[INDEX];
    return ++v->at == v->end && put_row(v, y);
}

bool sq_gqsa_values_offset(struct sq_gqsa_values *v, uint32_t at, int32_t *y)
{
    if (!v->has_start) {
        v->has_start = true;
        v->at = v->end = at; // 0
        return false;
    }
    v->errors |= (uint32_t)(at < v->end) << SQ_ENGINE_ERROR_INDEX;
    v->end = at < v->end ? v->end : at;
    v->row++;
    v->is_first = true;
    memset(v->y, 0, sizeof v->y);
    return v->at == v->end && put_row(v, y);
}

bool sq_gqsa_values_ends(const struct sq_gqsa_values *v)
{
    return v->row == v->n_rows;
}

// ---- golden -----------------------------------------------------------------------------------------

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

// Groups that the rows have; those behind n_kept are zeros.
static uint32_t walked(const struct sq_gqsa_chip_job *j)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->n_rows; i++)
        n = larger(n, (uint32_t)j->end[i]);
    return n;
}

uint32_t sq_gqsa_chip_golden(const unsigned *engine, const struct sq_gqsa_chip_job *j, int32_t *y)
{
    const size_t rows = engine[ROWS], act = rows * engine[GROUP], out = rows + WORD_FIELDS;
    const size_t at_act = S_A + rows, at_offset = at_act + act, at_kept = at_offset + 1;
    const size_t kept = engine[GROUP] + SQ_GQSA_CHIP_KEPT_FIELDS, len = at_kept + kept;
    const uint32_t n_walked = walked(j), n_kept = n_walked < j->n_kept ? n_walked : j->n_kept;
    const uint32_t records = larger(larger(j->limit, j->n_rows + 1), n_walked);
    const uint32_t n[SQ_STREAMS_MAX] = {1, j->limit, j->n_rows + 1, n_walked};
    int32_t *const record = calloc(records * len, sizeof *record);
    int32_t *const word = calloc(j->n_rows * out, sizeof *word);
    if (!record || !word)
        abort();
    record[GROUPS] = (int32_t)j->limit;
    record[OFFSETS] = (int32_t)j->n_rows + 1;
    memcpy(record + S_A, j->s_a, rows * sizeof *record);
    for (uint32_t i = 0; i < j->limit; i++)
        memcpy(record + i * len + at_act, j->act + i * act, act * sizeof *record);
    for (uint32_t i = 0; i < j->n_rows; i++)
        record[(i + 1) * len + at_offset] = j->end[i];
    for (uint32_t i = 0; i < n_kept; i++)
        memcpy(record + i * len + at_kept, j->kept + i * kept, kept * sizeof *record);
    (void)sq_engine_gqsa_block.golden(engine, &(struct sq_group){.record = record, .len = n}, word);
    for (uint32_t i = 0; i < j->n_rows; i++)
        memcpy(y + i * rows, word + i * out, rows * sizeof *y);
    const int32_t errors = word[j->n_rows * out - 1];
    free(record);
    free(word);
    return sq_gqsa_chip_errors((uint32_t)errors);
}
