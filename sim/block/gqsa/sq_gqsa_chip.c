// SPDX-License-Identifier: Apache-2.0
// Adds up kept groups as they come from the buffers of the chip, and asks the golden model of the engine for a
// whole job (sq_gqsa_chip.h).
#include "sim/block/gqsa/sq_gqsa_chip.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/number/sq_half.h"
#include "models/output/sq_combine.h"
#include "sim/block/flow/sq_engine.h"

enum { INDEX, CODE };          // of a kept group, then zero and scale
enum { GROUPS, OFFSETS, S_A }; // of a job of the engine
enum { ROWS, GROUP };          // parameters of the engine
enum { AT_BITS = 16 };         // another one
enum { WORD_FIELDS = 2 };      // of the engine: last, error
enum { KEPT_FIELDS = 3 };      // of a kept group, beside the codes
enum { HALF_INFINITY = 0x7c00, GROUP_MAX = 128, ACTS_MAX = 1 << 19 };

struct values {
    unsigned rows, group;
    uint32_t limit, n_rows; // K/G; rows of the job
    uint32_t n_act, row;    // beats of activations that have come; rows that have begun
    uint32_t at, end;       // groups walked; where the row at hand ends
    bool has_start, is_first;
    int32_t before;  // index of the group before
    uint32_t errors; // enum sq_engine_error: up to here
    int32_t s_a[SQ_INDEXED_ROWS];
    float y[SQ_INDEXED_ROWS];
    int8_t act[ACTS_MAX];
};

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

// Errors as the chip has them, where a wrong index counts as a wrong mask.
static uint32_t chip_errors(uint32_t errors)
{
    const uint32_t index = errors >> SQ_ENGINE_ERROR_INDEX & 1;
    return (errors & ((1u << SQ_ENGINE_ERROR_INDEX) - 1)) | index << SQ_SCALED_ERROR_MASK;
}

static void init(void *values, unsigned rows, unsigned group)
{
    struct values *const v = values;
    assert(rows <= SQ_INDEXED_ROWS && group <= GROUP_MAX);
    v->rows = rows;
    v->group = group;
}

static void job(void *values, uint32_t limit, uint32_t n_rows, const int32_t *s_a)
{
    struct values *const v = values;
    v->limit = limit;
    v->n_rows = n_rows;
    v->n_act = v->row = 0;
    v->has_start = false;
    v->errors = 0;
    memcpy(v->s_a, s_a, v->rows * sizeof *s_a);
    for (unsigned r = 0; r < v->rows; r++)
        v->errors |= (uint32_t)!sq_engine_is_scale(s_a[r]) << SQ_SCALED_ERROR_SCALE;
}

static void act(void *values, const int32_t *code)
{
    struct values *const v = values;
    const size_t n = (size_t)v->rows * v->group;
    assert((v->n_act + 1) * n <= sizeof v->act);
    for (size_t i = 0; i < n; i++) {
        v->act[v->n_act * n + i] = (int8_t)code[i];
        v->errors |= (uint32_t)(code[i] == sq_mask_code(8)) << SQ_SCALED_ERROR_CODE;
    }
    v->n_act++;
}

// The outputs of the row that has ended.
static bool put_row(const struct values *v, int32_t *y)
{
    for (unsigned r = 0; r < v->rows; r++)
        y[r] = (int32_t)sq_combine_bits(
            sq_combine_end(SQ_COMBINE_ONE, v->y[r], sq_word_float(v->s_a[r])));
    return true;
}

static bool kept(void *values, const int32_t *beat, int32_t *y)
{
    struct values *const v = values;
    const uint32_t index = (uint32_t)beat[INDEX];
    const int32_t scale = beat[CODE + v->group + 1];
    const bool is_far = index >= v->limit, descends = !v->is_first && beat[INDEX] <= v->before;
    assert(v->at < v->end);
    for (unsigned r = 0; r < v->rows; r++) {
        int32_t x[GROUP_MAX];
        for (unsigned i = 0; !is_far && i < v->group; i++)
            x[i] = v->act[((size_t)index * v->rows + r) * v->group + i];
        v->y[r] = sq_gqsa_chip_add(v->group, v->y[r], beat, is_far ? NULL : x);
    }
    v->errors |= (uint32_t)(is_far || descends) << SQ_ENGINE_ERROR_INDEX;
    v->errors |= (uint32_t)!sq_gqsa_chip_is_scale(scale) << SQ_SCALED_ERROR_SCALE;
    v->is_first = false;
    v->before = beat[INDEX];
    return ++v->at == v->end && put_row(v, y);
}

static bool offset(void *values, uint32_t at, int32_t *y)
{
    struct values *const v = values;
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

static bool ends(const void *values, uint32_t *errors)
{
    const struct values *const v = values;
    *errors = chip_errors(v->errors);
    return v->row == v->n_rows;
}

// ---- operands ---------------------------------------------------------------------------------------

void sq_gqsa_chip_draw_act(size_t n, struct sq_rng *rng, enum sq_stimulus kind, int32_t *code)
{
    for (size_t i = 0; i < n; i++)
        code[i] = sq_draw_code(rng, 8, kind);
}

// A scale in binary16: of encoders, at the ends of the range, any bits.
static int32_t draw_half(struct sq_rng *rng, enum sq_stimulus kind)
{
    const int32_t fraction = (int32_t)sq_rng_below(rng, 1024);
    if (kind == SQ_STIMULUS_EXTREME)
        return sq_rng_below(rng, 2) ? 30 << 10 | fraction : 1 + fraction;
    if (kind == SQ_STIMULUS_ILLEGAL)
        return sq_draw_bits(rng, 16, true);
    return (int32_t)(6 + sq_rng_below(rng, 10)) << 10 | fraction;
}

void sq_gqsa_chip_draw_kept(unsigned group, struct sq_rng *rng, enum sq_stimulus kind,
                            int32_t *kept)
{
    const bool is_end = kind == SQ_STIMULUS_EXTREME;
    for (unsigned i = 0; i <= group; i++) // codes, zero
        kept[CODE + i] =
            is_end ? 15 * (int32_t)sq_rng_below(rng, 2) : (int32_t)sq_rng_below(rng, 16);
    kept[CODE + group + 1] = draw_half(rng, kind);
}

// ---- golden -----------------------------------------------------------------------------------------

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

// Groups that the rows have; one behind n_kept is zeros.
static uint32_t walked(const struct sq_indexed_job *j)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->n_rows; i++)
        n = larger(n, sq_indexed_end((uint32_t)j->end[i], j->n_kept));
    return n;
}

static uint32_t golden(const struct sq_block *block, const unsigned *engine,
                       const struct sq_indexed_job *j, int32_t *y)
{
    const size_t rows = engine[ROWS], n_act = rows * engine[GROUP], out = rows + WORD_FIELDS;
    const size_t at_act = S_A + rows, at_offset = at_act + n_act, at_kept = at_offset + 1;
    const size_t n_beat = engine[GROUP] + KEPT_FIELDS, len = at_kept + n_beat;
    const uint32_t n_walked = walked(j), n_kept = n_walked < j->n_kept ? n_walked : j->n_kept;
    const uint32_t records = larger(larger(j->limit, j->n_rows + 1), n_walked);
    const uint32_t n[SQ_STREAMS_MAX] = {1, j->limit, j->n_rows + 1, n_walked};
    SQ_FREED int32_t *const record = calloc(records * len, sizeof *record);
    SQ_FREED int32_t *const word = calloc(j->n_rows * out, sizeof *word);
    if (!record || !word)
        abort();
    record[GROUPS] = (int32_t)j->limit;
    record[OFFSETS] = (int32_t)j->n_rows + 1;
    memcpy(record + S_A, j->s_a, rows * sizeof *record);
    for (uint32_t i = 0; i < j->limit; i++)
        memcpy(record + i * len + at_act, j->act + i * n_act, n_act * sizeof *record);
    for (uint32_t i = 0; i < j->n_rows; i++)
        record[(i + 1) * len + at_offset] = (int32_t)sq_indexed_end((uint32_t)j->end[i], j->n_kept);
    for (uint32_t i = 0; i < n_kept; i++)
        memcpy(record + i * len + at_kept, j->kept + i * n_beat, n_beat * sizeof *record);
    (void)block->golden(engine, &(struct sq_group){.record = record, .len = n}, word);
    for (uint32_t i = 0; i < j->n_rows; i++)
        memcpy(y + i * rows, word + i * out, rows * sizeof *y);
    const int32_t errors = word[j->n_rows * out - 1];
    return chip_errors((uint32_t)errors);
}

// ---- the table --------------------------------------------------------------------------------------

static void engine(unsigned rows, unsigned group, unsigned index_bits, unsigned *value)
{
    const unsigned of[] = {rows, group, index_bits, AT_BITS};
    memcpy(value, of, sizeof of);
}

static void draw_act(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, int32_t *code)
{
    sq_gqsa_chip_draw_act((size_t)v[ROWS] * v[GROUP], rng, kind, code);
}

static void draw_kept(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, int32_t *beat)
{
    sq_gqsa_chip_draw_kept(v[GROUP], rng, kind, beat);
}

const struct sq_indexed sq_gqsa_indexed = {.layout = SQ_TOP_KEPT,
                                           .engine = engine,
                                           .nbytes = sizeof(struct values),
                                           .init = init,
                                           .job = job,
                                           .act = act,
                                           .kept = kept,
                                           .offset = offset,
                                           .ends = ends,
                                           .golden = golden,
                                           .draw_act = draw_act,
                                           .draw_kept = draw_kept};
