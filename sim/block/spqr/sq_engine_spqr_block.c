// SPDX-License-Identifier: Apache-2.0
// sq_engine_spqr: jobs of a token, words of tiles and outliers through decoder, scales and sums. What
// each of them computes and when is said by their own blocks and models.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_fp.h"
#include "models/number/sq_fp_mac.h"
#include "models/number/sq_half.h"
#include "models/spqr/sq_spqr.h"
#include "sim/block/flow/sq_engine.h"
#include "sim/block/spqr/sq_engine_spqr_sim.h"

#include "sim/block/spqr/sq_engine_spqr.block.h"

enum { T = SQ_SPQR_TILE };
// Fields of a record.
enum { TILES, ROWS, WORKERS, X, WORD = X + T, AT = WORD + 2, COLUMN, VALUE, LEN };
enum { FIRST_OFFSETS = T + 1 };

// ---- values ---------------------------------------------------------------------------------

// The offsets of a row of tiles: where each of 16 rows ends among its outliers.
struct offsets {
    uint32_t base;
    uint32_t end[T];
    bool is_wrong;
};

// at: the 16 offsets behind o->base, LEN apart. An offset counts as the nearest that is allowed.
static void take_offsets(const unsigned *v, const int32_t *at, struct offsets *o)
{
    const uint32_t most = UINT32_C(1) << v[OUTLIER_W];
    uint32_t before = o->base;
    o->is_wrong = false;
    for (unsigned r = 0; r < T; r++) {
        const uint32_t stored = (uint32_t)at[r * LEN];
        const bool low = stored < before, high = !low && stored - o->base > most;
        before = low ? before : high ? o->base + most : stored;
        o->end[r] = before - o->base;
        o->is_wrong = o->is_wrong || low || high;
    }
}

static float as_float(int32_t half)
{
    return sq_half_to_float((uint16_t)half);
}

static float x_of(const int32_t *record, size_t column)
{
    return as_float(record[column / T * LEN + X + column % T]);
}

static bool is_number(int32_t half)
{
    return (half & 0x7c00) != 0x7c00;
}

// Every NaN is 7e00.
static int32_t half_of(float y)
{
    return y == y ? sq_f32_to_f16(y) : 0x7e00;
}

// A tile that stands in 16 records, times its part of the token. Kinds of errors.
static int32_t add_tile(const int32_t *word, const int32_t *record, size_t tile,
                        struct sq_fp_mac sum[T])
{
    uint64_t w[T];
    struct sq_spqr_tile t;
    for (unsigned r = 0; r < T; r++)
        w[r] = (uint32_t)word[r * LEN] | (uint64_t)(uint32_t)word[r * LEN + 1] << 32;
    sq_spqr_dec_tile(w, &t);
    for (unsigned r = 0; r < T; r++) {
        float s, z;
        sq_spqr_row(&t, r, &s, &z);
        for (unsigned j = 0; j < T; j++) {
            const float weight = as_float(half_of(sq_spqr_value(s, z, t.code[r][j])));
            sq_fp_mac_step(&sum[r], weight, x_of(record, tile * T + j), false);
        }
    }
    return ((t.error & (SQ_SPQR_RESERVED | SQ_SPQR_DUPLICATE)) != 0) << SQ_SCALED_ERROR_CODE |
           ((t.error & SQ_SPQR_NON_FINITE) != 0) << SQ_SCALED_ERROR_SCALE;
}

// What is wrong among the outliers of a row of tiles.
static int32_t entry_errors(const int32_t *record, const int32_t *entry, const struct offsets *o)
{
    const uint32_t k = (uint32_t)record[TILES] * T;
    int32_t error = o->is_wrong << SQ_ENGINE_ERROR_INDEX;
    for (unsigned r = 0, e = 0; r < T; r++)
        for (bool first = true; e < o->end[r]; e++, first = false) {
            const int32_t *const at = entry + e * LEN;
            const bool falls = !first && at[COLUMN] <= at[COLUMN - LEN];
            error |= ((uint32_t)at[COLUMN] >= k || falls) << SQ_ENGINE_ERROR_INDEX;
            error |= (!is_number(at[VALUE]) || (at[VALUE] == 0 && at[COLUMN] == 0))
                     << SQ_SCALED_ERROR_CODE;
        }
    return error;
}

// Those of one worker.
static void add_entries(const int32_t *record, const int32_t *entry, const struct offsets *o,
                        unsigned u, struct sq_fp_mac sum[T])
{
    const uint32_t k = (uint32_t)record[TILES] * T;
    for (unsigned r = 0; r < T; r++)
        for (uint32_t e = (r > 0 ? o->end[r - 1] : 0) + u; e < o->end[r];
             e += (uint32_t)record[WORKERS]) {
            const int32_t *const at = entry + e * LEN;
            const bool is_there = (uint32_t)at[COLUMN] < k;
            sq_fp_mac_step(&sum[r], is_there ? as_float(at[VALUE]) : 0.0f,
                           x_of(record, is_there ? (size_t)at[COLUMN] : 0), false);
        }
}

// A row of tiles, whose words and outliers begin at *word and *entry.
static int32_t sum_row(const int32_t *record, const struct offsets *o, const int32_t **word,
                       const int32_t *entry, struct sq_fp_mac sum[T])
{
    const unsigned tiles = (unsigned)record[TILES], workers = (unsigned)record[WORKERS];
    int32_t error = entry_errors(record, entry, o);
    memset(sum, 0, T * sizeof *sum);
    for (unsigned u = 0; u < workers; u++) {
        for (unsigned t = u; t < tiles; t += workers, *word += T * LEN)
            error |= add_tile(*word, record, t, sum);
        add_entries(record, entry, o, u, sum);
        for (unsigned r = 0; r < T; r++)
            sq_fp_mac_step(&sum[r], 0.0f, 0.0f, true);
    }
    return error;
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const int32_t *const record = in->record, *word = record + WORD, *entry = record;
    const size_t rows = (size_t)record[ROWS];
    struct offsets o = {.base = (uint32_t)record[AT]};
    int32_t error = 0;
    for (size_t i = 0; i < (size_t)record[TILES] * T; i++)
        error |= !is_number(record[i / T * LEN + X + i % T]) << SQ_SCALED_ERROR_CODE;
    for (size_t row = 0; row < rows; row++) {
        struct sq_fp_mac sum[T];
        take_offsets(v, record + (1 + row * T) * LEN + AT, &o);
        error |= sum_row(record, &o, &word, entry, sum);
        entry += o.end[T - 1] * LEN;
        o.base += o.end[T - 1];
        for (unsigned r = 0; r < T; r++)
            *out++ = half_of(sum[r].sum);
        *out++ = row + 1 == rows;
        *out++ = error;
    }
    return rows;
}

// ---- cases ----------------------------------------------------------------------------------

static int32_t draw_half(struct sq_rng *rng, enum sq_stimulus kind)
{
    const uint32_t any = (uint32_t)sq_rng_next(rng);
    uint32_t exponent = 9 + sq_rng_below(rng, 10);
    if (kind == SQ_STIMULUS_EXTREME)
        exponent = (uint32_t[]){0, 1, 15, 30}[sq_rng_below(rng, 4)];
    else if (kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 32) == 0)
        exponent = 31;
    if (kind == SQ_STIMULUS_FEW) // sums that cancel
        return (int32_t)((any >> 31) << 15 | (any & 3 ? UINT32_C(0x3c00) : 0));
    return (int32_t)((any >> 31) << 15 | exponent << 10 | (any & 0x3ff));
}

// As the fields have it: x is signed.
static int32_t draw_x(struct sq_rng *rng, enum sq_stimulus kind)
{
    return (int16_t)draw_half(rng, kind);
}

// Numbers of second order around 1, so that sums stay numbers: byte r/2 of all four in word r.
static void tame(struct sq_rng *rng, int32_t word[2 * T])
{
    uint64_t second = 0;
    for (unsigned i = 0; i < 4; i++)
        second |= (uint64_t)((9 + sq_rng_below(rng, 6)) << 10 | sq_rng_below(rng, 1024) |
                             sq_rng_below(rng, 2) << 15)
                  << (16 * i);
    for (unsigned r = 0; r < T; r++) {
        const uint32_t byte = (uint32_t)(second >> (r / 2 * 8)) & 0xff;
        word[2 * r + 1] = (int32_t)(((uint32_t)word[2 * r + 1] & 0x3fffff) | byte << 22);
    }
}

static void draw_tiles(struct sq_rng *rng, enum sq_stimulus kind, int32_t *record, uint32_t *len)
{
    const unsigned one_word = 1;
    const size_t n = (size_t)record[ROWS] * (size_t)record[TILES];
    for (size_t i = 0; i < n; i++) {
        int32_t word[2 * T];
        uint32_t unused[SQ_STREAMS_MAX];
        const bool is_legal = kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 4) > 0;
        sq_spqr_dec_block.draw_group(&one_word, rng, is_legal ? SQ_STIMULUS_UNIFORM : kind, 0, word,
                                     unused);
        if (is_legal || kind == SQ_STIMULUS_UNIFORM || kind == SQ_STIMULUS_FEW)
            tame(rng, word);
        for (unsigned r = 0; r < T; r++)
            memcpy(record + (i * T + r) * LEN + WORD, word + 2 * r, 2 * sizeof *word);
    }
    len[TILE] = (uint32_t)(n * T);
}

// Offsets, at times wrong, and as many outliers as they say.
static void draw_outliers(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                          int32_t *record, uint32_t *len)
{
    const uint32_t k = (uint32_t)record[TILES] * T, most = sq_rng_below(rng, ENTRIES_MAX + 1);
    const size_t rows = (size_t)record[ROWS];
    const bool is_wrong = kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 2);
    struct offsets o = {.base = sq_rng_below(rng, 4) ? 0 : (uint32_t)sq_rng_next(rng) >> 1};
    uint32_t at = o.base;
    record[AT] = (int32_t)at;
    len[ENTRY] = 0;
    for (size_t row = 0; row < rows; row++) {
        int32_t *const offset = record + (1 + row * T) * LEN + AT;
        for (unsigned r = 0; r < T; r++) {
            at += sq_rng_below(rng, most + 1);
            offset[r * LEN] = (int32_t)at;
            if (is_wrong && sq_rng_below(rng, T) == 0)
                offset[r * LEN] = (int32_t)(at + (sq_rng_below(rng, 2) ? 1000 : UINT32_MAX - 1));
        }
        take_offsets(v, offset, &o);
        for (uint32_t e = 0, r = 0, column = 0; e < o.end[T - 1]; e++, len[ENTRY]++) {
            int32_t *const to = record + len[ENTRY] * LEN;
            for (; e == o.end[r]; r++)
                column = 0;
            to[COLUMN] = (int32_t)(column + sq_rng_below(rng, column + 4 < k ? k - column - 3 : 1));
            to[VALUE] = draw_half(rng, kind);
            to[VALUE] += to[VALUE] == 0 && to[COLUMN] == 0; // both are 0 of none
            if (kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 16) == 0)
                to[COLUMN] = (int32_t)sq_rng_below(rng, 1u << (1 + sq_rng_below(rng, 16)));
            column = (uint32_t)to[COLUMN] + 1;
            column = column < k ? column : k - 1;
        }
        o.base += o.end[T - 1];
        at = o.base;
    }
    len[OFFSET] = (uint32_t)(1 + rows * T);
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const uint32_t most = 1u << v[TILE_W];
    (void)number;
    record[WORKERS] = 1 << sq_rng_below(rng, 4);
    while (record[WORKERS] > (int32_t)(most < TILES_MAX ? most : TILES_MAX))
        record[WORKERS] /= 2;
    record[TILES] =
        record[WORKERS] * (1 + (int32_t)sq_rng_below(rng, (most < TILES_MAX ? most : TILES_MAX) /
                                                              (uint32_t)record[WORKERS]));
    record[ROWS] = 1 + (int32_t)sq_rng_below(rng, ROWS_MAX);
    for (size_t i = 0; i < (size_t)record[TILES] * T; i++)
        record[i / T * LEN + X + i % T] = draw_x(rng, kind);
    len[JOB] = 1;
    len[ACT] = (uint32_t)record[TILES];
    draw_tiles(rng, kind, record, len);
    draw_outliers(v, rng, kind, record, len);
}

// ---- errors, each alone -----------------------------------------------------------------------

enum {
    WRONG_X,
    WRONG_VALUE,
    WRONG_ZERO,
    WRONG_RESERVED,
    WRONG_COPY,
    WRONG_SECOND,
    WRONG_FALL,
    WRONG_MANY,
    WRONG_COLUMN,
    WRONG_ORDER,
    WRONGS
};
enum { WRONG_ROWS = 2, WRONG_TILES = 2, WRONG_ENTRIES = 2, TIMES = 3 }; // outliers of a row

// Two rows of two tiles, two outliers in each row, two workers.
static void put_job(struct sq_rng *rng, int32_t *record, uint32_t *len)
{
    record[TILES] = record[WORKERS] = WRONG_TILES;
    record[ROWS] = WRONG_ROWS;
    for (size_t i = 0; i < WRONG_TILES * T; i++)
        record[i / T * LEN + X + i % T] = draw_x(rng, SQ_STIMULUS_UNIFORM);
    draw_tiles(rng, SQ_STIMULUS_UNIFORM, record, len);
    for (size_t i = 0; i <= WRONG_ROWS * T; i++)
        record[i * LEN + AT] = (int32_t)(WRONG_ENTRIES * i);
    len[JOB] = 1;
    len[ACT] = WRONG_TILES;
    len[OFFSET] = WRONG_ROWS * T + 1;
    len[ENTRY] = WRONG_ENTRIES * WRONG_ROWS * T;
    for (size_t e = 0; e < len[ENTRY]; e++) {
        record[e * LEN + COLUMN] = (int32_t)(e % WRONG_ENTRIES * T + sq_rng_below(rng, T));
        record[e * LEN + VALUE] = draw_half(rng, SQ_STIMULUS_UNIFORM);
    }
}

// An offset that is wrong is right again behind its row, and so are the outliers.
static void spoil(const unsigned *v, struct sq_rng *rng, unsigned wrong, int32_t *record,
                  uint32_t *len)
{
    const int32_t bad = 0x7c00 | (int32_t)sq_rng_below(rng, 2);
    int32_t *const entry = record + sq_rng_below(rng, len[ENTRY] / 2) * 2 * LEN;
    int32_t *const tile = record + sq_rng_below(rng, WRONG_ROWS * WRONG_TILES) * T * LEN + WORD;
    int32_t *const word = tile + sq_rng_below(rng, T) * LEN;
    if (wrong == WRONG_X)
        record[sq_rng_below(rng, WRONG_TILES) * LEN + X + sq_rng_below(rng, T)] = bad;
    else if (wrong == WRONG_VALUE)
        entry[VALUE] = bad;
    else if (wrong == WRONG_ZERO)
        entry[VALUE] = entry[COLUMN] = 0;
    else if (wrong == WRONG_RESERVED)
        word[1] = (int32_t)((uint32_t)word[1] | UINT32_C(1) << (30 + sq_rng_below(rng, 2)));
    else if (wrong == WRONG_COPY)
        word[1] = (int32_t)((uint32_t)word[1] ^ UINT32_C(1) << 22); // a low bit of a byte
    else if (wrong == WRONG_SECOND)                                 // the upper byte of q_ss, twice
        for (unsigned r = 2; r < 4; r++)
            tile[r * LEN + 1] = (int32_t)((uint32_t)tile[r * LEN + 1] | UINT32_C(0x7c) << 22);
    else if (wrong == WRONG_FALL)
        record[(3 + 2 * sq_rng_below(rng, T / 2 - 1)) * LEN + AT] -= WRONG_ENTRIES + 1;
    else if (wrong == WRONG_MANY) { // all that follow are wrong
        const uint32_t most = UINT32_C(1) << v[OUTLIER_W];
        struct offsets o = {.base = 0};
        record[T * LEN + AT] = (int32_t)most + 1;
        take_offsets(v, record + LEN + AT, &o);
        for (uint32_t e = len[ENTRY] = 0; e < most; e++, len[ENTRY]++) {
            record[e * LEN + COLUMN] = (int32_t)(e % (WRONG_TILES * T));
            record[e * LEN + VALUE] = 0x3c00;
        }
        record[ROWS] = 1;
        len[TILE] = WRONG_TILES * T;
        len[OFFSET] = T + 1;
    } else if (wrong == WRONG_COLUMN)
        entry[LEN + COLUMN] = sq_rng_below(rng, 2)
                                  ? WRONG_TILES * T + (int32_t)sq_rng_below(rng, 2)
                                  : (T << v[TILE_W]) + (int32_t)sq_rng_below(rng, T);
    else
        entry[LEN + COLUMN] = entry[COLUMN];
}

// Outputs wait longer than a row of tiles takes, so that steps wait, too.
static enum sq_status draw_waiting(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    enum { JOBS = 8, WAIT = 400 };
    const struct sq_ports p = sq_ports_of(c->block, c->point->value);
    c->n_groups = JOBS;
    c->n_beats = JOBS * p.records;
    c->stall[SQ_SINK] = (struct sq_stall){SQ_STALL_INTERVAL, WAIT};
    SQ_TRY(sq_case_alloc(c, err));
    int32_t *record = c->beats;
    for (size_t g = 0; g < JOBS; record += sq_case_records(c, g++) * LEN)
        draw_group(c->point->value, rng, SQ_STIMULUS_UNIFORM, g, record, c->len[g]);
    c->n_beats = (size_t)(record - c->beats) / LEN;
    return SQ_OK;
}

// A token as long as it can be, 16 workers, and as many outliers as 16 rows can have, none of them wrong; then
// the same with a column that the token does not have, of each power of two.
static enum sq_status draw_widest(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    enum { WIDE = 2, COLUMN_BITS = 16 };
    const unsigned *const v = c->point->value;
    const uint32_t tiles = UINT32_C(1) << v[TILE_W], most = UINT32_C(1) << v[OUTLIER_W];
    SQ_TRY(sq_case_room(c, WIDE, (size_t)(tiles * T > most ? tiles * T : most), err));
    int32_t *record = c->beats;
    for (uint32_t g = 0; g < WIDE; record += sq_case_records(c, g++) * LEN) {
        record[TILES] = (int32_t)tiles;
        record[WORKERS] = tiles < T ? (int32_t)tiles : T;
        record[ROWS] = 1;
        for (size_t i = 0; i < tiles * (size_t)T; i++)
            record[i / T * LEN + X + i % T] = draw_x(rng, SQ_STIMULUS_UNIFORM);
        draw_tiles(rng, SQ_STIMULUS_UNIFORM, record, c->len[g]);
        for (uint32_t r = 0; r <= T; r++)
            record[r * LEN + AT] = (int32_t)(r * most / T);
        for (uint32_t e = 0; e < most; e++) {
            const uint32_t of_row = most / T, place = e % of_row;
            record[e * LEN + COLUMN] = (int32_t)((place + 1) * (tiles * T / of_row) - 1);
            record[e * LEN + VALUE] = 1 + (int32_t)sq_rng_below(rng, 0x3fff);
            if (g > 0 && place + 1 == of_row)
                record[e * LEN + COLUMN] = 1 << e / of_row % COLUMN_BITS;
        }
        c->len[g][JOB] = 1;
        c->len[g][ACT] = tiles;
        c->len[g][OFFSET] = T + 1;
        c->len[g][ENTRY] = most;
    }
    return SQ_OK;
}

// Each kind of error alone in a job, a right one behind it.
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const size_t most = (size_t)1 << v[OUTLIER_W], usual = WRONG_ROWS * WRONG_TILES * T;
    if (number > 0)
        return number == 1 ? draw_waiting(c, rng, err) : draw_widest(c, rng, err);
    SQ_TRY(sq_case_room(c, 2 * TIMES * WRONGS, (most > usual ? most : usual), err));
    int32_t *record = c->beats;
    for (size_t g = 0; g < c->n_groups; record += sq_case_records(c, g++) * LEN) {
        put_job(rng, record, c->len[g]);
        if (g % 2 == 0)
            spoil(v, rng, (unsigned)(g / 2 % WRONGS), record, c->len[g]);
    }
    c->n_beats = (size_t)(record - c->beats) / LEN;
    return SQ_OK;
}

// The first row of tiles alone.
static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    struct offsets o = {.base = (uint32_t)record[AT]};
    if (way > 0 || record[ROWS] == 1)
        return false;
    take_offsets(v, record + LEN + AT, &o);
    record[ROWS] = 1;
    len[TILE] = (uint32_t)record[TILES] * T;
    len[OFFSET] = FIRST_OFFSETS;
    len[ENTRY] = o.end[T - 1];
    return true;
}
