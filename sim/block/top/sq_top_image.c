// SPDX-License-Identifier: Apache-2.0
// Packs operands and scales into words, and computes the outputs that the chip must write
// (sq_top_image.h).
#include "sim/block/top/sq_top_image.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/core/sq_topk.h"
#include "sim/block/flow/sq_engine.h"
#include "sim/block/scaled/sq_engine_scaled_golden.h"

enum { ROWS, COLS };

unsigned sq_top_out_bits(const unsigned *v)
{
    static const unsigned bits[] = {32, 16, 8};
    return bits[v[SQ_TOP_OUT_KIND]];
}

bool sq_top_is_scaled(const unsigned *v)
{
    return v[SQ_TOP_FORM] == SQ_COMBINE_FLOAT;
}

bool sq_top_is_indexed(const unsigned *v)
{
    return v[SQ_TOP_LAYOUT] == SQ_TOP_KEPT;
}

const struct sq_block *sq_top_engine_block(const unsigned *v)
{
    return sq_top_is_scaled(v)    ? &sq_engine_scaled_block
           : sq_top_is_indexed(v) ? sq_indexed_block(SQ_TOP_KEPT)
                                  : &sq_engine_array_block;
}

struct sq_top_room sq_top_room(const unsigned *v)
{
    struct sq_top_room room = {.sum_tiles = sq_scaled_tail_of(v[SQ_TOP_TAIL]).acc == SQ_SCALED_FIXED
                                                ? 0
                                                : v[SQ_TOP_SUM_TILES],
                               .nbytes = v[SQ_TOP_DATA_W] / 8,
                               .has_encoder = v[SQ_TOP_ENCODE] > 0,
                               .has_vector = v[SQ_TOP_VECTOR] > 0,
                               .has_attend = v[SQ_TOP_ATTEND] > 0,
                               .scale_once = sq_top_is_scaled(v) || sq_top_is_indexed(v),
                               .is_indexed = sq_top_is_indexed(v)};
    room.part_groups = room.scale_once || v[SQ_TOP_PARTS] ? UINT16_MAX
                       : v[SQ_TOP_FORM] == SQ_COMBINE_ONE ? 1
                                                          : 0;
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS; i++)
        room.beat_nbytes[i] = (sq_top_bits(v, (enum sq_top_part)i) + 7) / 8;
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        room.depth[i] = v[SQ_TOP_DEPTH + i];
    return room;
}

// Beats of the queue of outputs.
static unsigned queue_of(const unsigned *v)
{
    return sq_combine_queue((enum sq_combine_form)v[SQ_TOP_FORM],
                            v[SQ_TOP_OUT_KIND] == SQ_OUTPUT_INT8);
}

static void scaled_engine(const unsigned *v, unsigned engine[SQ_POINT_VALUES])
{
    const struct sq_scaled_tail tail = sq_scaled_tail_of(v[SQ_TOP_TAIL]);
    const unsigned value[] = {v[SQ_TOP_ROWS],
                              v[SQ_TOP_COLS],
                              v[SQ_TOP_BANK_LEN],
                              v[SQ_TOP_HIGH],
                              v[SQ_TOP_HIGH_KIND],
                              v[SQ_TOP_HIGH] > 0,
                              v[SQ_TOP_ELEMENT],
                              v[SQ_TOP_ELEMENT],
                              v[SQ_TOP_SCALE],
                              v[SQ_TOP_SCALE],
                              0,
                              SQ_TOPK_RANK,
                              tail.acc,
                              tail.acc_w,
                              tail.cut,
                              tail.carry,
                              v[SQ_TOP_PORT_LEN],
                              SQ_COMBINE_FLOAT,
                              v[SQ_TOP_OUT_KIND],
                              v[SQ_TOP_PORT_LEN],
                              queue_of(v),
                              2};
    memcpy(engine, value, sizeof value);
    memcpy(engine + SQ_PARAMS_MAX, v + SQ_PARAMS_MAX, SQ_TABLE_WORDS * sizeof *v);
}

static void array_engine(const unsigned *v, unsigned engine[SQ_POINT_VALUES])
{
    const bool on_acts = v[SQ_TOP_ON_ACTS];
    const unsigned value[] = {v[SQ_TOP_ROWS],
                              v[SQ_TOP_COLS],
                              1,
                              v[SQ_TOP_BANK_LEN],
                              v[SQ_TOP_HIGH],
                              v[SQ_TOP_HIGH],
                              v[SQ_TOP_LAYOUT],
                              on_acts,
                              v[SQ_TOP_ONE_ACC],
                              v[on_acts ? SQ_TOP_WEIGHT_W : SQ_TOP_ACT_W],
                              v[on_acts ? SQ_TOP_ACT_W : SQ_TOP_WEIGHT_W],
                              v[SQ_TOP_HIGH_W],
                              0,
                              v[SQ_TOP_PORT_LEN],
                              v[SQ_TOP_FORM],
                              v[SQ_TOP_OUT_KIND],
                              v[SQ_TOP_PORT_LEN],
                              queue_of(v),
                              2};
    memcpy(engine, value, sizeof value);
}

static void indexed_engine(const unsigned *v, unsigned engine[SQ_POINT_VALUES])
{
    unsigned bits = 0; // of the index of a group of half a buffer
    while (1u << bits < v[SQ_TOP_DEPTH + SQ_TOP_ACT])
        bits++;
    sq_top_engine_block(v)->indexed->engine(v[SQ_TOP_ROWS], v[SQ_TOP_BANK_LEN], bits, engine);
}

void sq_top_engine(const unsigned *v, unsigned engine[SQ_POINT_VALUES])
{
    memset(engine, 0, SQ_POINT_VALUES * sizeof *engine);
    if (sq_top_is_scaled(v))
        scaled_engine(v, engine);
    else if (sq_top_is_indexed(v))
        indexed_engine(v, engine);
    else
        array_engine(v, engine);
}

struct sq_output_config sq_top_output(const unsigned *v)
{
    const unsigned stage[SQ_OUTPUT_PARAMS] = {
        v[SQ_TOP_PORT_LEN], v[SQ_TOP_FORM], v[SQ_TOP_OUT_KIND], v[SQ_TOP_PORT_LEN], queue_of(v), 2};
    return sq_output_config(v[SQ_TOP_ROWS], v[SQ_TOP_COLS], stage);
}

unsigned sq_top_kept_words(const unsigned *v)
{
    const bool has_two = v[SQ_TOP_FORM] == SQ_COMBINE_TWO || v[SQ_TOP_FORM] == SQ_COMBINE_SCALED;
    return sq_top_is_scaled(v) ? sq_top_shape(v).pairs : v[SQ_TOP_PARTS] == 0 ? 1 : has_two ? 3 : 2;
}

static void add_field(struct sq_top_beat_shape *s, const char *name, size_t count, unsigned width,
                      bool is_unsigned)
{
    s->field[s->n++] = (struct sq_field){name, count, width, is_unsigned};
    s->len += (unsigned)count;
    s->bits += (unsigned)count * width;
}

static void add_scales(struct sq_top_shape *s, bool has_row_hi, bool has_col_hi)
{
    const unsigned rows = s->output.rows, cols = s->output.cols;
    add_field(&s->part[SQ_TOP_ROW_SCALE], "row_lo", rows, 32, false);
    if (has_row_hi)
        add_field(&s->part[SQ_TOP_ROW_SCALE], "row_hi", rows, 32, false);
    add_field(&s->part[SQ_TOP_COL_SCALE], "col_lo", cols, 32, false);
    if (has_col_hi)
        add_field(&s->part[SQ_TOP_COL_SCALE], "col_hi", cols, 32, false);
}

// Both operands with the fields that sq_engine_scaled has of them.
static struct sq_top_shape scaled_shape(const unsigned *v)
{
    struct sq_top_shape s = {.is_scaled = true, .output = sq_top_output(v)};
    struct sq_ports ports;
    sq_top_engine(v, s.engine);
    s.scaled = sq_es_layout_of(s.engine);
    s.scaled.act.words = s.scaled.weight.words = v + SQ_PARAMS_MAX; // s is copied
    s.pairs = s.scaled.pairs;
    sq_es_ports(s.engine, &ports);
    const struct sq_field *f = ports.in + ports.stream[SQ_ES_JOB].n_fields;
    for (unsigned side = SQ_ES_ACT; side <= SQ_ES_WEIGHT; side++)
        for (size_t i = 0; i < ports.stream[side].n_fields; i++, f++)
            add_field(&s.part[side == SQ_ES_ACT ? SQ_TOP_ACT : SQ_TOP_WEIGHT], f->name, f->count,
                      f->width, f->is_unsigned);
    add_scales(&s, s.pairs > 1, s.pairs == 4);
    return s;
}

// The fields of the engine's streams, which stand there one behind the other.
static struct sq_top_shape indexed_shape(const unsigned *v)
{
    static const enum sq_top_part of[] = {SQ_TOP_ROW_SCALE, SQ_TOP_ACT, SQ_TOP_COL_SCALE,
                                          SQ_TOP_WEIGHT};
    struct sq_top_shape s = {.is_indexed = true, .output = sq_top_output(v), .pairs = 1};
    sq_top_engine(v, s.engine);
    const struct sq_ports ports = sq_ports_of(sq_top_engine_block(v), s.engine);
    const struct sq_field *f = ports.in;
    for (unsigned stream = SQ_INDEXED_JOB; stream <= SQ_INDEXED_KEPT; stream++)
        for (size_t i = 0; i < ports.stream[stream].n_fields; i++, f++)
            if (stream != SQ_INDEXED_JOB || i + 1 == ports.stream[stream].n_fields) // its scales
                add_field(&s.part[of[stream]], f->name, f->count, f->width, f->is_unsigned);
    return s;
}

struct sq_top_shape sq_top_shape(const unsigned *v)
{
    if (sq_top_is_scaled(v))
        return scaled_shape(v);
    if (sq_top_is_indexed(v))
        return indexed_shape(v);
    const bool on_acts = v[SQ_TOP_ON_ACTS];
    const unsigned rows = v[SQ_TOP_ROWS], cols = v[SQ_TOP_COLS], high = v[SQ_TOP_HIGH];
    struct sq_top_shape s = {.array = {.layout = (enum sq_array_layout)v[SQ_TOP_LAYOUT],
                                       .one_acc = v[SQ_TOP_ONE_ACC],
                                       .bank = v[SQ_TOP_BANK_LEN],
                                       .high_per_bank = high,
                                       .high_len = high,
                                       .low_bits = v[on_acts ? SQ_TOP_ACT_W : SQ_TOP_WEIGHT_W],
                                       .high_bits = v[SQ_TOP_HIGH_W],
                                       .has_window = true},
                             .output = sq_top_output(v),
                             .pairs = 1,
                             .on_acts = on_acts};
    const enum sq_array_layout layout = s.array.layout;
    const unsigned lines = on_acts ? rows : cols, mask = sq_array_mask_len(&s.array);
    struct sq_top_beat_shape *const coded = &s.part[on_acts ? SQ_TOP_ACT : SQ_TOP_WEIGHT];
    struct sq_top_beat_shape *const plain = &s.part[on_acts ? SQ_TOP_WEIGHT : SQ_TOP_ACT];
    add_field(plain, "code", (on_acts ? cols : rows) * s.array.bank,
              v[on_acts ? SQ_TOP_WEIGHT_W : SQ_TOP_ACT_W], false);
    add_field(coded, "low", lines * sq_array_low_lanes(&s.array), s.array.low_bits, false);
    if (layout != SQ_ARRAY_DENSE && layout != SQ_ARRAY_SP24)
        add_field(coded, "high", lines * high, s.array.high_bits, false);
    if (layout != SQ_ARRAY_DENSE && layout != SQ_ARRAY_SENTINEL)
        add_field(coded, "mask", lines * mask, layout == SQ_ARRAY_SP24 ? 4 : 1, true);
    add_scales(&s, v[SQ_TOP_FORM] == SQ_COMBINE_SCALED, v[SQ_TOP_FORM] == SQ_COMBINE_TWO);
    return s;
}

uint32_t sq_top_bits(const unsigned *v, enum sq_top_part part)
{
    const struct sq_top_shape s = sq_top_shape(v);
    return part == SQ_TOP_STORE ? v[SQ_TOP_ROWS] * v[SQ_TOP_COLS] * sq_top_out_bits(v)
                                : s.part[part].bits;
}

uint32_t sq_top_beats(const unsigned *v, const struct sq_top_layer *l, enum sq_top_part part)
{
    const struct sq_top_room room = sq_top_room(v);
    const uint32_t blocks = l->is_indexed ? sq_top_col_blocks(l) : 1;
    const struct sq_top_step all = {
        {l->tiles[ROWS], l->tiles[COLS]}, blocks * l->groups, l->beats * l->groups};
    return (uint32_t)sq_top_step_beats(&room, l, &all, part);
}

// n in pieces of at most `most`: how many of the whole ones [0] and of the last one [1], and their sizes.
struct pieces {
    uint32_t n[2], size[2];
};
static struct pieces pieces_of(uint32_t n, uint32_t most)
{
    const uint32_t whole = (n - 1) / most;
    return (struct pieces){{whole, 1}, {most, n - whole * most}};
}

// Beats of an operand in a tile, along K: chunks of them, which no stretch of `run` beats shares with the next. Of
// scales one for each scale group, or one.
struct along {
    uint32_t all, run, chunk;
};
static struct along beats_along(const struct sq_top_room *room, const struct sq_top_layer *l,
                                enum sq_top_part part)
{
    const bool is_once = part == SQ_TOP_ROW_SCALE || (part == SQ_TOP_COL_SCALE && room->scale_once);
    const uint32_t all = l->groups * l->beats;
    if (is_once)
        return (struct along){1, 1, 1};
    if (l->is_indexed)
        return part == SQ_TOP_ACT ? (struct along){l->beats, l->beats, l->beats}
                                  : (struct along){l->groups, l->groups, l->chunk};
    if (part == SQ_TOP_COL_SCALE)
        return (struct along){l->groups, l->groups, l->chunk};
    return l->part ? (struct along){all, l->beats, l->part}
                   : (struct along){all, all, l->chunk * l->beats};
}

uint64_t sq_top_nbytes(const unsigned *v, const struct sq_top_layer *l, enum sq_top_part part)
{
    const struct sq_top_room room = sq_top_room(v);
    const struct pieces rows = pieces_of(l->tiles[ROWS], l->block[ROWS]);
    const struct pieces cols = part == SQ_TOP_WEIGHT && l->is_indexed
                                   ? pieces_of(sq_top_col_blocks(l), 1)
                                   : pieces_of(l->tiles[COLS], l->block[COLS]);
    const struct pieces *const blocks = part >= SQ_TOP_WEIGHT ? &cols : &rows;
    const struct along along = beats_along(&room, l, part);
    const struct pieces of = part == SQ_TOP_STORE ? rows : pieces_of(along.run, along.chunk);
    uint64_t n = 0;
    for (unsigned i = 0; i < 4;
         i++) // of blocks, of what each consists of: the whole ones and the last
        n += (uint64_t)blocks->n[i & 1] * of.n[i >> 1] *
             sq_top_transfer(&room, part, (uint64_t)blocks->size[i & 1] * of.size[i >> 1]);
    return n * room.nbytes * (part == SQ_TOP_STORE ? 1 : along.all / along.run);
}

void sq_top_put_bits(int32_t *word, uint32_t at, unsigned width, int32_t value)
{
    const uint64_t mask = (UINT64_C(1) << width) - 1, bits = (uint64_t)(uint32_t)value & mask;
    const unsigned low = at % 32;
    word[at / 32] =
        (int32_t)(((uint32_t)word[at / 32] & ~(uint32_t)(mask << low)) | (uint32_t)(bits << low));
    if (low + width > 32)
        word[at / 32 + 1] =
            (int32_t)(((uint32_t)word[at / 32 + 1] & ~(uint32_t)(mask >> (32 - low))) |
                      (uint32_t)(bits >> (32 - low)));
}

int32_t sq_top_get_bits(const int32_t *word, uint32_t at, unsigned width)
{
    uint64_t bits = (uint32_t)word[at / 32];
    if (at % 32 + width > 32)
        bits |= (uint64_t)(uint32_t)word[at / 32 + 1] << 32;
    return (int32_t)(uint32_t)(bits >> at % 32 & ((UINT64_C(1) << width) - 1));
}

static void unpack(const struct sq_top_beat_shape *s, int32_t *beat, int32_t *word, uint32_t at)
{
    for (unsigned f = 0; f < s->n; f++) {
        const unsigned width = s->field[f].width;
        for (size_t i = 0; i < s->field[f].count; i++, at += width) {
            const int32_t bits = sq_top_get_bits(word, at, width);
            const bool is_negative = !s->field[f].is_unsigned && bits >> (width - 1) & 1;
            *beat++ =
                (int32_t)((uint32_t)bits - (is_negative ? (uint32_t)(UINT64_C(1) << width) : 0));
        }
    }
}

void sq_top_unpack(const struct sq_top_beat_shape *s, const int32_t *word, int32_t *beat)
{
    unpack(s, beat, (int32_t *)(uintptr_t)word, 0);
}

static void pack(const struct sq_top_beat_shape *s, int32_t *beat, int32_t *word, uint32_t at)
{
    for (unsigned f = 0; f < s->n; f++)
        for (size_t i = 0; i < s->field[f].count; i++, at += s->field[f].width)
            sq_top_put_bits(word, at, s->field[f].width, *beat++);
}

void sq_top_pack(const struct sq_top_beat_shape *s, const int32_t *beat, int32_t *word,
                 size_t nbytes)
{
    pack(s, (int32_t *)(uintptr_t)beat, word + nbytes / 4, nbytes % 4 * 8); // which it only reads
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// Every beat of a region between its place in memory, where it begins at bit `at`, and integers.
typedef void move_beat(const struct sq_top_beat_shape *s, int32_t *beat, int32_t *word,
                       uint32_t at);
static void move_operand(const unsigned *v, const struct sq_top_layer *l, enum sq_top_part part,
                         move_beat *move, int32_t *beats_of_all, int32_t *word)
{
    const struct sq_top_shape shape = sq_top_shape(v);
    const struct sq_top_beat_shape *const s = &shape.part[part];
    const struct sq_top_room room = sq_top_room(v);
    const struct along along = beats_along(&room, l, part);
    const unsigned axis = part >= SQ_TOP_WEIGHT;
    const bool by_block = l->is_indexed && part == SQ_TOP_WEIGHT;
    const uint32_t all = along.all, block = by_block ? 1 : l->block[axis];
    const uint32_t n = by_block ? sq_top_col_blocks(l) : l->tiles[axis];
    uint32_t beats;
    for (uint32_t first = 0; first < n; first += block)
        for (uint32_t chunk = 0; chunk < all; chunk += beats) {
            const uint32_t tiles = smaller(block, n - first);
            beats = smaller(along.chunk, along.run - chunk % along.run);
            for (uint32_t i = 0; i < tiles * beats; i++) {
                const size_t beat = (size_t)(first + i / beats) * all + chunk + i % beats;
                const uint64_t at = (uint64_t)i * room.beat_nbytes[part];
                move(s, beats_of_all + beat * s->len, word + at / 4, at % 4 * 8);
            }
            word += sq_top_transfer(&room, part, (uint64_t)tiles * beats) * (room.nbytes / 4);
        }
}

void sq_top_put_operand(const unsigned *v, const struct sq_top_layer *l,
                        const struct sq_top_operands *x, enum sq_top_part part, int32_t *word)
{
    move_operand(v, l, part, pack, x->beat[part], word);
}

void sq_top_get_operand(const unsigned *v, const struct sq_top_layer *l, const int32_t *word,
                        enum sq_top_part part, int32_t *beat)
{
    move_operand(v, l, part, unpack, beat, (int32_t *)(uintptr_t)word); // which it only reads
}

// ---- values -----------------------------------------------------------------------------------------

static bool has_code(const struct sq_field *f, const int32_t *x)
{
    bool any = false;
    for (size_t i = 0; i < f->count; i++)
        any = any || x[i] == sq_mask_code(f->width);
    return any;
}

// A code that no encoder writes, where that is not a mask code or a nibble.
static bool is_illegal(const struct sq_top_shape *s, bool is_coded,
                       const struct sq_top_beat_shape *part, const int32_t *beat)
{
    const enum sq_array_layout layout = s->array.layout;
    const bool low = layout != SQ_ARRAY_SENTINEL && layout != SQ_ARRAY_SPLIT;
    const bool high = layout == SQ_ARRAY_SENTINEL || layout == SQ_ARRAY_COMPACT;
    if (!is_coded)
        return has_code(&part->field[0], beat);
    return (low && has_code(&part->field[0], beat)) ||
           (high && has_code(&part->field[1], beat + part->field[0].count));
}

uint32_t sq_top_multiply(const struct sq_top_shape *s, const int32_t *act, const int32_t *weight,
                         uint32_t *p_lo, uint32_t *p_hi)
{
    const struct sq_top_beat_shape *const part = &s->part[s->on_acts ? SQ_TOP_ACT : SQ_TOP_WEIGHT];
    const int32_t *const coded = s->on_acts ? act : weight, *const plain =
                                                                s->on_acts ? weight : act;
    const unsigned cols = s->output.cols, n = s->output.rows * cols;
    const bool has_high = s->array.layout != SQ_ARRAY_DENSE && s->array.layout != SQ_ARRAY_SP24;
    const int32_t *const high = coded + part->field[0].count;
    const int32_t *const mask = has_high ? high + part->field[1].count : high;
    bool ok = true;
    for (unsigned i = 0; i < n; i++) {
        const unsigned row = i / cols, col = i % cols;
        const unsigned line = s->on_acts ? row : col, other = s->on_acts ? col : row;
        const struct sq_array_line at = {coded + line * sq_array_low_lanes(&s->array),
                                         high + line * s->array.high_len,
                                         mask + line * sq_array_mask_len(&s->array)};
        ok = sq_array_bank(&s->array, &at, plain + other * s->array.bank, &p_lo[i], &p_hi[i]) && ok;
    }
    const bool is_wrong = is_illegal(s, s->on_acts, &s->part[SQ_TOP_ACT], act) ||
                          is_illegal(s, !s->on_acts, &s->part[SQ_TOP_WEIGHT], weight);
    return (uint32_t)is_wrong << SQ_SCALED_ERROR_CODE | (uint32_t)!ok << SQ_SCALED_ERROR_MASK;
}

uint32_t sq_top_add_block(const struct sq_top_shape *s, const int32_t *act, const int32_t *weight,
                          float *total, int64_t *exact)
{
    int32_t record[SQ_ES_JOB_FIELDS + 2 * SQ_TOP_BEAT_MAX];
    memcpy(record + s->scaled.act.code, act, s->part[SQ_TOP_ACT].len * sizeof *record);
    memcpy(record + s->scaled.weight.code, weight, s->part[SQ_TOP_WEIGHT].len * sizeof *record);
    return sq_es_block(s->engine, &s->scaled, record, total, exact);
}

uint32_t sq_top_scales(const struct sq_top_shape *s, bool is_last, const int32_t *row,
                       const int32_t *col, int32_t *scale)
{
    const struct sq_top_beat_shape *const rows = &s->part[SQ_TOP_ROW_SCALE];
    const struct sq_top_beat_shape *const cols = &s->part[SQ_TOP_COL_SCALE];
    const bool reads_rows = is_last || s->output.form == SQ_COMBINE_SCALED; // of FLOAT all are last
    bool ok = true;
    memset(scale, 0, sq_output_scale_len(&s->output) * sizeof *scale);
    scale[0] = is_last;
    memcpy(scale + 1, col, cols->len * sizeof *scale);
    memcpy(scale + 1 + 2 * (size_t)s->output.cols, row, rows->len * sizeof *scale);
    for (unsigned i = 0; i < cols->len; i++)
        ok = ok && sq_engine_is_scale(col[i]);
    for (unsigned i = 0; reads_rows && i < rows->len; i++)
        ok = ok && sq_engine_is_scale(row[i]);
    return (uint32_t)!ok << SQ_SCALED_ERROR_SCALE;
}

// ---- outputs ----------------------------------------------------------------------------------------

struct golden {
    const unsigned *v;
    const struct sq_top_layer *l;
    const struct sq_top_operands *x;
    struct sq_top_shape s;
    float *y; // of all blocks, or NULL
    uint32_t errors;
};

static const int32_t *beat_of(const struct golden *g, enum sq_top_part part, uint32_t i)
{
    return g->x->beat[part] + (size_t)i * g->s.part[part].len;
}

static struct sq_es_tiles tiles_of(const struct golden *g, enum sq_top_part part,
                                   enum sq_top_part scale, unsigned axis)
{
    return (struct sq_es_tiles){.beat = g->x->beat[part],
                                .beat_len = g->s.part[part].len,
                                .scale = g->x->beat[scale],
                                .scale_len = g->s.part[scale].len,
                                .n = g->l->tiles[axis]};
}

// Blocks of the whole layer, to g->y.
static void golden_layer(struct golden *g)
{
    const struct sq_es_tiles act = tiles_of(g, SQ_TOP_ACT, SQ_TOP_ROW_SCALE, ROWS),
                             weight = tiles_of(g, SQ_TOP_WEIGHT, SQ_TOP_COL_SCALE, COLS);
    g->y = malloc(act.n * g->s.output.rows * weight.n * g->s.output.cols * sizeof *g->y);
    if (!g->y)
        abort();
    g->errors |=
        sq_es_product(g->s.engine, &g->s.scaled, g->l->groups * g->l->beats, &act, &weight, g->y);
}

static void golden_blocks(struct golden *g, uint32_t row_tile, uint32_t col_tile, int32_t *scale,
                          float *y)
{
    const size_t rows = g->s.output.rows, cols = g->s.output.cols;
    const size_t width = g->l->tiles[COLS] * cols;
    g->errors |= sq_top_scales(&g->s, true, beat_of(g, SQ_TOP_ROW_SCALE, row_tile),
                               beat_of(g, SQ_TOP_COL_SCALE, col_tile), scale);
    for (size_t r = 0; r < rows; r++)
        memcpy(y + r * cols, g->y + (row_tile * rows + r) * width + col_tile * cols,
               cols * sizeof *y);
}

static void golden_groups(struct golden *g, uint32_t row_tile, uint32_t col_tile, int32_t *scale,
                          float *y)
{
    const uint32_t groups = g->l->groups, beats = g->l->beats;
    for (uint32_t group = 0; group < groups; group++) {
        uint32_t p_lo[SQ_TOP_PES_MAX] = {0}, p_hi[SQ_TOP_PES_MAX] = {0};
        for (uint32_t b = group * beats; b < (group + 1) * beats; b++)
            g->errors |= sq_top_multiply(
                &g->s, beat_of(g, SQ_TOP_ACT, row_tile * groups * beats + b),
                beat_of(g, SQ_TOP_WEIGHT, col_tile * groups * beats + b), p_lo, p_hi);
        g->errors |=
            sq_top_scales(&g->s, group + 1 == groups, beat_of(g, SQ_TOP_ROW_SCALE, row_tile),
                          beat_of(g, SQ_TOP_COL_SCALE, col_tile * groups + group), scale);
        sq_output_add(&g->s.output, (const int32_t *)p_lo, (const int32_t *)p_hi, scale, y);
    }
}

// All blocks of an indexed layer, word by word: the outputs of a column are a word of all tokens.
static uint32_t golden_indexed(const struct golden *g, int32_t *word)
{
    const struct sq_top_layer *const l = g->l;
    const struct sq_block *const block = sq_top_engine_block(g->v);
    const struct sq_top_room room = sq_top_room(g->v);
    const unsigned rows = g->s.output.rows, bits = sq_top_out_bits(g->v);
    SQ_FREED int32_t *const y = malloc((size_t)l->block[COLS] * rows * sizeof *y);
    struct sq_block_walk w;
    uint32_t errors = 0;
    if (!y)
        abort();
    for (sq_block_walk_start(&w, l); w.is_active; sq_block_walk_next(&w)) {
        if (!sq_block_walk_is_last(&w))
            continue;
        const uint32_t cols = sq_block_walk_tiles(&w, COLS);
        const struct sq_indexed_job job = {
            .act = beat_of(g, SQ_TOP_ACT, w.done[ROWS] * l->beats),
            .s_a = beat_of(g, SQ_TOP_ROW_SCALE, w.done[ROWS]),
            .end = beat_of(g, SQ_TOP_COL_SCALE, w.done[COLS]),
            .kept = beat_of(g, SQ_TOP_WEIGHT, w.done[COLS] / l->block[COLS] * l->groups),
            .limit = l->beats,
            .n_rows = cols,
            .n_kept = l->groups};
        errors |= block->indexed->golden(block, g->s.engine, &job, y);
        for (uint32_t i = 0; i < cols * rows; i++)
            sq_top_put_bits(word, i * bits, bits, sq_combine_out(g->s.output.kind, (uint32_t)y[i]));
        word += sq_top_transfer(&room, SQ_TOP_STORE, cols) * (room.nbytes / 4);
    }
    return errors;
}

static void golden_tile(struct golden *g, uint32_t row_tile, uint32_t col_tile, int32_t *word,
                        uint32_t at)
{
    const unsigned n = g->s.output.rows * g->s.output.cols, bits = sq_top_out_bits(g->v);
    int32_t scale[1 + 4 * SQ_TOP_PES_MAX], out[SQ_TOP_PES_MAX];
    float y[SQ_TOP_PES_MAX] = {0};
    if (g->s.is_scaled)
        golden_blocks(g, row_tile, col_tile, scale, y);
    else
        golden_groups(g, row_tile, col_tile, scale, y);
    (void)sq_output_end(&g->s.output, scale, y, out);
    for (unsigned i = 0; i < n; i++)
        sq_top_put_bits(word, at + i * bits, bits, out[i]);
}

uint32_t sq_top_golden(const unsigned *v, const struct sq_top_layer *l,
                       const struct sq_top_operands *x, int32_t *word)
{
    struct golden g = {.v = v, .l = l, .x = x, .s = sq_top_shape(v)};
    const struct sq_top_room room = sq_top_room(v);
    struct sq_block_walk w;
    if (g.s.is_indexed)
        return golden_indexed(&g, word);
    if (g.s.is_scaled)
        golden_layer(&g);
    for (sq_block_walk_start(&w, l); w.is_active; sq_block_walk_next(&w)) {
        if (!sq_block_walk_is_last(&w))
            continue;
        const uint32_t rows = sq_block_walk_tiles(&w, ROWS), cols = sq_block_walk_tiles(&w, COLS);
        for (uint32_t i = 0; i < rows * cols; i++) {
            const uint64_t at = (uint64_t)i * room.beat_nbytes[SQ_TOP_STORE];
            golden_tile(&g, w.done[ROWS] + i / cols, w.done[COLS] + i % cols, word + at / 4,
                        at % 4 * 8);
        }
        word += sq_top_transfer(&room, SQ_TOP_STORE, rows * cols) * (room.nbytes / 4);
    }
    free(g.y);
    return g.errors;
}
