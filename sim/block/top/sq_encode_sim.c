// SPDX-License-Identifier: Apache-2.0
// Checks a descriptor of kind encode, says what it must write, and steps its transfers and its elements
// (sq_encode_sim.h).
#include "sim/block/top/sq_encode_sim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_mac.h"
#include "models/core/sq_topk.h"
#include "models/output/sq_combine.h"
#include "sim/block/array/sq_engine_array_encode.h"
#include "sim/block/scaled/sq_engine_scaled_encode.h"
#include "sim/block/top/sq_axi_memory.h"

enum { CHECKS = 48, LAST_STEP = 33, LAST = SQ_ENCODE_STAGES - 1 };
enum {
    LOW,
    HIGH,
    INT8 = 8,
    MASK_CYCLES = 17
}; // parts; bits; from a bank to its beat, in sq_encode_dynamic

// ---- the descriptor ---------------------------------------------------------------------------------

static const unsigned address_word[SQ_ENCODE_REGIONS] = {SQ_DESC_OUT, SQ_DESC_ACT,
                                                         SQ_DESC_ROW_SCALE};

static bool makes_plain_blocks(const unsigned *v)
{
    const unsigned choose = v[SQ_TOP_CHOOSE];
    switch (v[SQ_TOP_ELEMENT]) {
    case SQ_SCALED_E2M1:
        return choose != SQ_SCALED_SIGN;
    case SQ_SCALED_INT4:
        return choose == SQ_SCALED_LARGEST || choose == SQ_SCALED_SEARCH;
    case SQ_SCALED_INT5:
        return choose == SQ_SCALED_LARGEST;
    default:
        return (v[SQ_TOP_ELEMENT] == SQ_SCALED_IF4 || v[SQ_TOP_ELEMENT] == SQ_SCALED_RAZER) &&
               choose == SQ_SCALED_SIGN;
    }
}

// Coded activations whose low and high codes have a scale each, which is an encoder's to choose.
static bool has_masks(const unsigned *v)
{
    return v[SQ_TOP_ON_ACTS] && v[SQ_TOP_LAYOUT] == SQ_ARRAY_COMPACT && !v[SQ_TOP_ONE_ACC] &&
           v[SQ_TOP_FORM] == SQ_COMBINE_SCALED;
}

bool sq_encode_makes(const unsigned *v)
{
    const bool has_high = v[SQ_TOP_HIGH] > 0, is_largest = v[SQ_TOP_CHOOSE] == SQ_SCALED_LARGEST;
    const bool is_int4 = v[SQ_TOP_ELEMENT] == SQ_SCALED_INT4;
    if (!sq_top_is_scaled(v))
        return v[SQ_TOP_ON_ACTS] ? has_masks(v) : v[SQ_TOP_ACT_W] == 8;
    if (v[SQ_TOP_SCALE] == SQ_SCALED_E4M3)
        return has_high ? is_int4 && v[SQ_TOP_HIGH_KIND] == SQ_SCALED_OWN && is_largest
                        : makes_plain_blocks(v);
    return v[SQ_TOP_SCALE] == SQ_SCALED_E8M0 && is_largest &&
           (has_high ? is_int4 && v[SQ_TOP_HIGH_KIND] == SQ_SCALED_SPLIT
                     : v[SQ_TOP_ELEMENT] == SQ_SCALED_E2M1);
}

bool sq_encode_moves(const unsigned *v)
{
    return v[SQ_TOP_OUT_KIND] == SQ_OUTPUT_INT8 && !sq_top_is_scaled(v) && !v[SQ_TOP_ON_ACTS];
}

void sq_encode_encode(const struct sq_encode_layer *l, uint32_t word[SQ_DESC_WORDS])
{
    memset(word, 0, SQ_DESC_WORDS * sizeof *word);
    word[SQ_DESC_KIND] = SQ_DESC_KIND_ENCODE | (uint32_t)l->is_codes << SQ_DESC_CODES;
    for (unsigned i = 0; i < SQ_ENCODE_REGIONS; i++)
        sq_desc_set_address(word, address_word[i], l->addr[i]);
    word[SQ_DESC_TILES] = l->cols << 16 | l->rows;
    word[SQ_DESC_BEATS] = l->beats;
}

void sq_encode_strides(const unsigned *v, const struct sq_encode_layer *l,
                       uint64_t stride[SQ_ENCODE_REGIONS])
{
    const struct sq_top_room room = sq_top_room(v);
    const uint32_t nbytes = room.nbytes;
    const uint32_t tile = (l->is_codes ? 1 : 2) * v[SQ_TOP_ROWS] * v[SQ_TOP_COLS];
    const uint64_t of[SQ_ENCODE_REGIONS] = {(uint64_t)l->cols * tile,
                                            (uint64_t)l->beats * room.beat_nbytes[SQ_TOP_ACT],
                                            l->is_codes ? 0 : room.beat_nbytes[SQ_TOP_ROW_SCALE]};
    for (unsigned i = 0; i < SQ_ENCODE_REGIONS; i++)
        stride[i] = (of[i] + nbytes - 1) / nbytes;
}

bool sq_encode_decode(const unsigned *v, const uint32_t word[SQ_DESC_WORDS],
                      struct sq_encode_layer *l)
{
    const uint32_t nbytes = v[SQ_TOP_DATA_W] / 8;
    uint64_t stride[SQ_ENCODE_REGIONS];
    uint32_t unnamed = 0;
    uint64_t addresses = 0;
    bool in_reach = true;
    *l = (struct sq_encode_layer){.rows = word[SQ_DESC_TILES] & 0xffff,
                                  .cols = word[SQ_DESC_TILES] >> 16,
                                  .beats = word[SQ_DESC_BEATS] & 0xffff,
                                  .is_codes = word[SQ_DESC_KIND] >> SQ_DESC_CODES & 1};
    for (unsigned i = 0; i < SQ_DESC_WORDS; i++)
        unnamed |= word[i] & ~sq_desc_encode_named(i);
    sq_encode_strides(v, l, stride);
    for (unsigned i = 0; i < SQ_ENCODE_REGIONS; i++) {
        addresses |= l->addr[i] = sq_desc_address(word, address_word[i]);
        in_reach = in_reach && stride[i] * l->rows + l->addr[i] / nbytes <= SQ_ADDR_END / nbytes;
    }
    if (l->is_codes && (!sq_encode_moves(v) || l->addr[SQ_ENCODE_ROW_SCALE] != 0))
        return false;
    return v[SQ_TOP_ENCODE] > 0 && (word[SQ_DESC_KIND] & 0xffff) == SQ_DESC_KIND_ENCODE &&
           unnamed == 0 && in_reach && addresses % nbytes == 0 && l->rows > 0 && l->cols > 0 &&
           (uint64_t)l->cols * v[SQ_TOP_COLS] <= (uint64_t)l->beats * v[SQ_TOP_BANK_LEN];
}

// The sq_act_scale of a chip of blocks.
static void get_encoder(const unsigned *v, unsigned encoder[SQ_PARAMS_MAX])
{
    unsigned engine[SQ_POINT_VALUES];
    sq_top_engine(v, engine);
    sq_es_encoder(engine, encoder);
    encoder[SQ_ES_ENCODER_TOPK] = v[SQ_TOP_HIGH] <= 2 ? SQ_TOPK_TREE : SQ_TOPK_RANK;
    encoder[SQ_ES_ENCODER_CHOOSE] = v[SQ_TOP_CHOOSE];
}

// ---- what must come ---------------------------------------------------------------------------------

// Element k of a row of a tile of rows that begins at `from`, as it counts.
static uint16_t output_at(const unsigned *v, const unsigned char *from, uint32_t row, size_t k,
                          bool *all_numbers)
{
    const size_t cols = v[SQ_TOP_COLS], tile = v[SQ_TOP_ROWS] * cols;
    uint16_t x;
    memcpy(&x, from + 2 * (k / cols * tile + row * cols + k % cols), sizeof x);
    *all_numbers = *all_numbers && sq_bf16_is_finite(x);
    return sq_bf16_is_finite(x) ? x : 0;
}

// A tile of rows, x[rows][k], the last columns zeros, to its beats and scales; n: columns that are there.
static void golden_int8(const unsigned *v, const uint16_t *x, size_t n, size_t beats, char *act,
                        float *scale)
{
    const size_t rows = v[SQ_TOP_ROWS], bank = v[SQ_TOP_BANK_LEN], k = beats * bank;
    SQ_FREED float *const number = malloc(n * sizeof *number);
    SQ_FREED int8_t *const code = malloc(k);
    if (!number || !code)
        abort();
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < n; i++)
            number[i] = sq_float_of((uint32_t)x[row * k + i] << 16);
        const enum sq_status status = sq_act_quantize(number, 1, n, k, 8, code, &scale[row], NULL);
        assert(status == SQ_OK);
        (void)status;
        for (size_t b = 0; b < beats; b++)
            memcpy(act + (b * rows + row) * bank, code + b * bank, bank);
    }
}

static void golden_blocks(const unsigned *v, const uint16_t *x, size_t beats, int32_t *act,
                          float *scale)
{
    unsigned encoder[SQ_PARAMS_MAX];
    const struct sq_top_shape s = sq_top_shape(v);
    const uint32_t nbytes = sq_top_room(v).beat_nbytes[SQ_TOP_ACT];
    SQ_FREED int32_t *const record = calloc(beats * s.scaled.len, sizeof *record);
    if (!record)
        abort();
    get_encoder(v, encoder);
    sq_es_encode_tokens(encoder, &s.scaled, x, beats, record, scale);
    for (size_t b = 0; b < beats; b++)
        sq_top_pack(&s.part[SQ_TOP_ACT], record + b * s.scaled.len + s.scaled.act.code, act,
                    b * nbytes);
}

static void golden_dynamic(const unsigned *v, const uint16_t *x, size_t n, size_t beats,
                           int32_t *act, float *scale)
{
    const struct sq_top_shape s = sq_top_shape(v);
    const struct sq_top_beat_shape *const part = &s.part[SQ_TOP_ACT];
    SQ_FREED int32_t *const beat = calloc(beats * part->len, sizeof *beat);
    if (!beat)
        abort();
    sq_array_encode_tokens(&s.array, v[SQ_TOP_ROWS], x, n, beats, beat, scale);
    for (size_t b = 0; b < beats; b++)
        sq_top_pack(part, beat + b * part->len, act, b * sq_top_room(v).beat_nbytes[SQ_TOP_ACT]);
}

// Codes of a tile of rows as the engine reads them; n: columns.
static void golden_move(const unsigned *v, const int8_t *from, size_t n, char *act)
{
    const size_t rows = v[SQ_TOP_ROWS], cols = v[SQ_TOP_COLS], bank = v[SQ_TOP_BANK_LEN];
    for (size_t i = 0; i < rows * n; i++) {
        const size_t row = i / n, k = i % n;
        act[(k / bank * rows + row) * bank + k % bank] =
            from[(k / cols * rows + row) * cols + k % cols];
    }
}

uint32_t sq_encode_golden(const unsigned *v, const struct sq_encode_layer *l, const int32_t *from,
                          int32_t *act, int32_t *row_scale)
{
    const uint32_t words = v[SQ_TOP_DATA_W] / 32, rows = v[SQ_TOP_ROWS];
    const size_t n = (size_t)l->cols * v[SQ_TOP_COLS];
    const size_t k = (size_t)l->beats * v[SQ_TOP_BANK_LEN];
    uint64_t stride[SQ_ENCODE_REGIONS];
    float scale[SQ_BS_PARTS * SQ_ENCODE_ROWS_MAX];
    SQ_FREED uint16_t *const x = calloc(rows * k, sizeof *x);
    bool all_numbers = true;
    if (!x)
        abort();
    sq_encode_strides(v, l, stride);
    for (uint32_t t = 0; t < l->rows && l->is_codes; t++)
        golden_move(v, (const int8_t *)(from + t * words * stride[SQ_ENCODE_FROM]), n,
                    (char *)(act + t * words * stride[SQ_ENCODE_ACT]));
    for (uint32_t t = 0; t < l->rows && !l->is_codes; t++) {
        for (size_t i = 0; i < rows * n; i++)
            x[i / n * k + i % n] =
                output_at(v, (const unsigned char *)(from + t * words * stride[SQ_ENCODE_FROM]),
                          (uint32_t)(i / n), i % n, &all_numbers);
        int32_t *const to = act + t * words * stride[SQ_ENCODE_ACT];
        if (sq_top_is_scaled(v))
            golden_blocks(v, x, l->beats, to, scale);
        else if (has_masks(v))
            golden_dynamic(v, x, n, l->beats, to, scale);
        else
            golden_int8(v, x, n, l->beats, (char *)to, scale);
        memcpy(row_scale + t * words * stride[SQ_ENCODE_ROW_SCALE], scale,
               sq_top_room(v).beat_nbytes[SQ_TOP_ROW_SCALE]);
    }
    return (uint32_t)!all_numbers << SQ_SCALED_ERROR_CODE;
}

// ---- what follows from the state --------------------------------------------------------------------

void sq_encode_init(struct sq_encode_sim *s, const unsigned *v)
{
    memcpy(s->value, v, sizeof s->value);
    s->lanes = v[SQ_TOP_ENCODE];
    s->is_scaled = sq_top_is_scaled(v);
    s->is_dynamic = !s->is_scaled && has_masks(v);
    const struct sq_top_room room = sq_top_room(v);
    const uint32_t nbytes = room.nbytes;
    s->words.in = s->moved.in = s->codes.out = s->scales.out = nbytes;
    s->words.out = 2 * s->lanes;
    s->moved.out = s->lanes;
    s->codes.in = room.beat_nbytes[SQ_TOP_ACT];
    s->scales.in = room.beat_nbytes[SQ_TOP_ROW_SCALE];
    if (!s->is_scaled || s->lanes == 0)
        return;
    get_encoder(v, s->encoder);
    sq_act_scale_block.init(s->encoder, &s->blocks);
}

bool sq_encode_transfer(const struct sq_encode_sim *s, int32_t transfer[SQ_DMA_JOB_LEN])
{
    const bool is_write = s->kind & 1;
    const unsigned region = is_write ? (s->kind + 1) / 2 : SQ_ENCODE_FROM;
    const uint32_t nbytes =
        (s->layer.is_codes ? 1 : 2) * s->layer.cols * s->value[SQ_TOP_ROWS] * s->value[SQ_TOP_COLS];
    const uint32_t tail = is_write ? 0 : nbytes % (s->value[SQ_TOP_DATA_W] / 8);
    if (s->task.state != SQ_TASK_RUN || s->left == 0)
        return false;
    sq_dma_put_transfer(transfer, false, is_write, s->at[region], s->stride[region],
                        (SQ_TOP_ENCODER | tail << SQ_TOP_DEST_BITS));
    return true;
}

static bool has_codes(const struct sq_encode_sim *s)
{
    bool any = false;
    for (unsigned i = 0; i < SQ_ENCODE_STAGES; i++)
        any = any || s->stage[i];
    return any;
}

// In its first pass a tile of rows goes for its largest elements; behind the last element of a pass banks leave.
static bool is_first(const struct sq_encode_sim *s)
{
    return s->pass == SQ_PASS_LARGEST || s->pass == SQ_PASS_SETTLE;
}

static bool flushes(const struct sq_encode_sim *s)
{
    return s->pass == SQ_PASS_FLUSH || s->pass == SQ_PASS_SETTLE;
}

static bool offers_bank(const struct sq_encode_sim *s)
{
    return s->have >= s->value[SQ_TOP_BANK_LEN] || (flushes(s) && !has_codes(s) && s->banks > 0);
}

static bool moves(const struct sq_encode_sim *s)
{
    return !s->stage[LAST] || !offers_bank(s);
}

static bool takes_word(const struct sq_encode_sim *s)
{
    return (s->pass == SQ_PASS_LARGEST && !s->is_dynamic) ||
           ((s->pass == SQ_PASS_LARGEST || s->pass == SQ_PASS_CODES) && moves(s));
}

static bool takes_moved(const struct sq_encode_sim *s)
{
    return s->pass == SQ_PASS_CODES && !offers_bank(s);
}

bool sq_encode_takes(const struct sq_encode_sim *s)
{
    return s->lanes == 0 || (s->layer.is_codes ? sq_gear_takes(&s->moved, takes_moved(s))
                                               : sq_gear_takes(&s->words, takes_word(s)));
}

bool sq_encode_word(const struct sq_encode_sim *s, int32_t word[SQ_DMA_WORDS_MAX])
{
    const struct sq_gear_sim *const g = sq_gear_offers(&s->scales) ? &s->scales : &s->codes;
    if (s->lanes == 0 || !sq_gear_offers(g))
        return false;
    memcpy(word, g->data, g->out);
    return true;
}

bool sq_encode_is_done(const struct sq_encode_sim *s)
{
    return sq_task_refuses(&s->task) ||
           (s->task.state == SQ_TASK_RUN && s->left == 0 && s->task.owed == 0);
}

static uint16_t element(const struct sq_encode_sim *s, unsigned lane)
{
    uint16_t x;
    memcpy(&x, s->words.data + 2 * (size_t)lane, sizeof x);
    return x;
}

bool sq_encode_has_error(const struct sq_encode_sim *s)
{
    bool any = false;
    for (unsigned l = 0; l < s->lanes; l++)
        any = any || !sq_bf16_is_finite(element(s, l));
    return s->lanes > 0 && s->pass == SQ_PASS_LARGEST && takes_word(s) &&
           sq_gear_offers(&s->words) && any;
}

// ---- a cycle ----------------------------------------------------------------------------------------

static void start_run(struct sq_encode_sim *s, const struct sq_task_in *in)
{
    sq_task_start(&s->task, CHECKS, sq_encode_decode(s->value, in->word, &s->layer) && in->sound);
    sq_encode_strides(s->value, &s->layer, s->stride);
    s->kind = s->layer.is_codes;
    s->left = s->layer.rows;
    memcpy(s->at, s->layer.addr, sizeof s->at);
}

static void clock_transfers(struct sq_encode_sim *s, const struct sq_task_in *in)
{
    int32_t unused[SQ_DMA_JOB_LEN];
    const bool issues = sq_encode_transfer(s, unused) && in->dma_ready;
    s->task.owed = s->task.owed + (issues && s->kind & 1) - in->write_done;
    if (!issues)
        return;
    const bool is_last = s->kind == (s->layer.is_codes ? 2 : 3); // of a tile of rows
    s->kind = is_last ? s->layer.is_codes : s->kind + 1;
    for (unsigned i = 0; i < SQ_ENCODE_REGIONS && is_last; i++)
        s->at[i] += s->stride[i] * (s->value[SQ_TOP_DATA_W] / 8);
    s->left -= is_last;
}

// The next group of elements of a tile: group, then row.
static void count(const struct sq_encode_sim *s, uint32_t *group, uint32_t *row)
{
    *group = (*group + 1) % (s->value[SQ_TOP_COLS] / s->lanes);
    if (*group == 0)
        *row = (*row + 1) % s->value[SQ_TOP_ROWS];
}

static void take_codes(struct sq_encode_sim *s, bool takes)
{
    memmove(s->stage + 1, s->stage, LAST * sizeof *s->stage);
    memmove(s->code + 1, s->code, LAST * sizeof *s->code);
    s->stage[0] = takes;
    for (unsigned l = 0; l < s->lanes && takes; l++) {
        const uint16_t x = element(s, l);
        s->code[0][l] = !s->is_dynamic ? (uint8_t)sq_act_token_code(&s->scale[s->row][LOW], x, INT8)
                        : sq_bf16_is_finite(x) ? x
                                               : 0;
    }
}

// An element of a block has one stage, the last one.
static void take_elements(struct sq_encode_sim *s, bool takes)
{
    s->stage[LAST] = takes;
    for (unsigned l = 0; l < s->lanes && takes; l++)
        s->code[LAST][l] = sq_es_over(s->encoder, element(s, l), s->global[s->row]);
}

static void take_largest(struct sq_encode_sim *s)
{
    for (unsigned l = 0; l < s->lanes; l++) {
        const uint16_t x = element(s, l) & SQ_BF16_MAGNITUDE;
        if (sq_bf16_is_finite(x) && x > s->largest[s->row])
            s->largest[s->row] = x;
    }
}

// Columns that wait: a bank leaves, or codes of a row come.
static void clock_columns(struct sq_encode_sim *s, bool goes, bool puts)
{
    const uint32_t bank = s->value[SQ_TOP_BANK_LEN], cols = s->value[SQ_TOP_COLS];
    const uint32_t rows = s->value[SQ_TOP_ROWS], slots = bank + cols - 1;
    if (goes) {
        for (uint32_t r = 0; r < rows; r++) {
            uint16_t *const line = s->line + (size_t)r * slots;
            memmove(line, line + bank, (slots - bank) * sizeof *line);
            memset(line + slots - bank, 0, bank * sizeof *line);
        }
        s->have = s->have >= bank ? s->have - bank : 0;
    } else if (puts) {
        uint16_t *const to = s->line + (size_t)s->to_row * slots + s->have + s->to_group * s->lanes;
        for (uint32_t l = 0; l < s->lanes; l++)
            to[l] =
                s->layer.is_codes ? ((const unsigned char *)s->moved.data)[l] : s->code[LAST][l];
        count(s, &s->to_group, &s->to_row);
        if (s->to_group == 0 && s->to_row == 0)
            s->have += cols;
    }
}

// The bank that is offered, a beat of INT8.
static void get_codes(const struct sq_encode_sim *s, unsigned char *beat)
{
    const uint32_t bank = s->value[SQ_TOP_BANK_LEN], slots = bank + s->value[SQ_TOP_COLS] - 1;
    for (uint32_t i = 0; i < s->value[SQ_TOP_ROWS] * bank; i++)
        beat[i] = (unsigned char)s->line[i / bank * slots + i % bank];
}

// ... a beat of blocks.
static void get_blocks(const struct sq_encode_sim *s, unsigned char *beat)
{
    const uint32_t bank = s->value[SQ_TOP_BANK_LEN], slots = bank + s->value[SQ_TOP_COLS] - 1;
    const struct sq_top_shape shape = sq_top_shape(s->value);
    int32_t record[SQ_ES_JOB_FIELDS + 2 * SQ_TOP_BEAT_MAX], word[SQ_TOP_WORDS_MAX] = {0};
    for (uint32_t r = 0; r < s->value[SQ_TOP_ROWS]; r++) {
        int32_t x[SQ_BS_BLOCK_MAX];
        struct sq_es_stored block;
        for (uint32_t i = 0; i < bank; i++)
            x[i] = s->line[r * slots + i];
        sq_es_encode(s->encoder, &shape.scaled.act, x, &block);
        sq_es_put_stored(&shape.scaled.act, r, &block, record);
    }
    sq_top_pack(&shape.part[SQ_TOP_ACT], record + shape.scaled.act.code, word, 0);
    memcpy(beat, word, s->codes.in);
}

// The bank that is offered as sq_encode_dynamic makes a beat of it; in the first pass its largest elements count.
static void get_dynamic(struct sq_encode_sim *s, unsigned char *beat)
{
    const uint32_t slots = s->value[SQ_TOP_BANK_LEN] + s->value[SQ_TOP_COLS] - 1;
    const uint32_t rows = s->value[SQ_TOP_ROWS];
    const struct sq_top_shape shape = sq_top_shape(s->value);
    int32_t fields[SQ_TOP_BEAT_MAX], word[SQ_TOP_WORDS_MAX] = {0};
    for (uint32_t r = 0; r < rows && is_first(s); r++) {
        const uint16_t low = sq_array_largest_low(&shape.array, s->line + r * slots);
        s->low[r] = low > s->low[r] ? low : s->low[r];
    }
    if (is_first(s))
        return;
    for (uint32_t r = 0; r < rows; r++)
        sq_array_encode_bank(&shape.array, rows, r, s->line + r * slots, s->scale[r], fields);
    sq_top_pack(&shape.part[SQ_TOP_ACT], fields, word, 0);
    memcpy(beat, word, s->codes.in);
}

// Whether a bank is taken where one is offered; the beat of activations that is offered to the gearbox.
static bool takes_bank(const struct sq_encode_sim *s, bool out_ready)
{
    const bool ready = sq_gear_takes(&s->codes, out_ready);
    struct sq_pipeline_out o;
    if (s->is_dynamic)
        return s->masking == 0 || (s->masking == 1 && (is_first(s) || ready));
    if (!s->is_scaled)
        return ready;
    sq_chain_comb(&s->blocks, ready, &o);
    return o.in_ready;
}

static bool get_beat(const struct sq_encode_sim *s, bool offers, unsigned char *beat)
{
    struct sq_pipeline_out o = {.out_valid = s->masking == 1 && !is_first(s)};
    if (!s->is_scaled && !s->is_dynamic) {
        if (offers)
            get_codes(s, beat);
        return offers;
    }
    if (s->is_scaled)
        sq_chain_comb(&s->blocks, false, &o);
    if (o.out_valid)
        memcpy(beat, s->inside[0], s->codes.in);
    return o.out_valid;
}

// Blocks on their way; goes: a bank comes, leaves: a beat of them is taken.
static void clock_blocks(struct sq_encode_sim *s, bool offers, bool goes, bool ready, bool leaves)
{
    if (leaves) {
        s->n_inside--;
        memmove(s->inside[0], s->inside[1], s->n_inside * sizeof s->inside[0]);
    }
    if (goes) {
        assert(s->n_inside < SQ_ENCODE_BEATS);
        get_blocks(s, s->inside[s->n_inside++]);
    }
    sq_chain_clock(&s->blocks, offers, false, ready);
    s->beats -= leaves;
}

// A bank that waits for its mask, or its beat for the gearbox.
static void clock_dynamic(struct sq_encode_sim *s, bool goes, bool ready)
{
    const bool leaves = s->masking == 1 && (is_first(s) || ready);
    s->masking -= s->masking > 1 || leaves;
    s->beats -= leaves;
    if (!goes)
        return;
    get_dynamic(s, s->inside[0]);
    s->masking = MASK_CYCLES;
}

// Beats that have not left.
static uint32_t beats_left(const struct sq_encode_sim *s)
{
    return s->is_scaled || s->is_dynamic ? s->beats : s->banks;
}

static void clock_codes(struct sq_encode_sim *s, bool offers, bool goes, bool out_ready)
{
    unsigned char data[4 * SQ_TOP_WORDS_MAX];
    const bool has_beat = get_beat(s, offers, data);
    const bool last = beats_left(s) == 1;
    const bool ready = sq_gear_takes(&s->codes, out_ready);
    const struct sq_gear_in in = {data, s->codes.in, last ? s->codes.out : 1, false, last};
    if (s->is_scaled)
        clock_blocks(s, offers, goes, ready, has_beat && ready);
    if (s->is_dynamic)
        clock_dynamic(s, goes, ready);
    sq_gear_clock(&s->codes, has_beat ? &in : NULL, out_ready);
}

static void clock_scales(struct sq_encode_sim *s, bool offers, bool out_ready)
{
    const uint32_t rows = s->value[SQ_TOP_ROWS];
    uint32_t data[SQ_BS_PARTS * SQ_ENCODE_ROWS_MAX] = {0};
    for (uint32_t i = 0; i < SQ_BS_PARTS * rows && offers && !s->is_scaled; i++)
        data[i] = sq_act_token_bits(&s->scale[i % rows][i / rows]);
    for (uint32_t i = 0; i < SQ_BS_PARTS * rows && s->is_scaled; i++)
        data[i] = sq_combine_bits(s->global[i % rows][i / rows]);
    const struct sq_gear_in in = {data, s->scales.in, s->scales.out, false, true};
    sq_gear_clock(&s->scales, offers ? &in : NULL, out_ready);
}

static void clock_pass(struct sq_encode_sim *s, bool takes_last, bool is_flushed, bool scales_go)
{
    const uint32_t rows = s->value[SQ_TOP_ROWS];
    switch (s->pass) {
    case SQ_PASS_LARGEST:
        if (takes_last || sq_gear_offers(&s->moved))
            s->pass = !takes_last ? SQ_PASS_CODES : s->is_dynamic ? SQ_PASS_SETTLE : SQ_PASS_DIVIDE;
        s->step = 0;
        break;
    case SQ_PASS_SETTLE:
        s->pass = is_flushed ? SQ_PASS_DIVIDE : SQ_PASS_SETTLE;
        break;
    case SQ_PASS_DIVIDE:
        if (s->step++ < (s->is_scaled ? 0 : LAST_STEP))
            break;
        for (uint32_t r = 0; r < rows; r++)
            if (s->is_scaled)
                sq_es_global(s->encoder, s->largest[r], s->global[r]);
            else if (s->is_dynamic) {
                s->scale[r][LOW] = sq_act_token_of(s->low[r], s->value[SQ_TOP_ACT_W]);
                s->scale[r][HIGH] = sq_act_token_of(s->largest[r], s->value[SQ_TOP_HIGH_W]);
            } else
                s->scale[r][LOW] = sq_act_token_of(s->largest[r], INT8);
        s->pass = SQ_PASS_CODES;
        break;
    case SQ_PASS_CODES:
        s->pass = takes_last ? SQ_PASS_FLUSH : SQ_PASS_CODES;
        break;
    case SQ_PASS_FLUSH:
        if (is_flushed)
            s->pass = s->layer.is_codes ? SQ_PASS_LARGEST : SQ_PASS_SCALES;
        break;
    default:
        memset(s->largest, 0, sizeof s->largest);
        memset(s->low, 0, sizeof s->low);
        s->pass = scales_go ? SQ_PASS_LARGEST : SQ_PASS_SCALES;
    }
}

static void clock_elements(struct sq_encode_sim *s, const struct sq_task_in *in)
{
    const bool has_scales = sq_gear_offers(&s->scales), has_beat = sq_gear_offers(&s->codes);
    const bool out_ready = in->out_ready && !has_scales, ready = takes_word(s), en = moves(s);
    const bool takes = sq_gear_offers(&s->words) && ready;
    const bool is_codes = s->pass == SQ_PASS_CODES, can_move = takes_moved(s);
    const bool has_code = takes && (is_codes || s->is_dynamic);
    const bool moves_some = sq_gear_offers(&s->moved) && can_move;
    const bool takes_last =
        (takes && sq_gear_ends(&s->words)) || (moves_some && sq_gear_ends(&s->moved));
    const bool offers = offers_bank(s), goes = offers && takes_bank(s, out_ready);
    const bool puts = (s->stage[LAST] && !offers) || moves_some;
    const bool is_flushed = !has_codes(s) && beats_left(s) == 0;
    const bool reloads = s->task.state == SQ_TASK_CHECK || (flushes(s) && is_flushed);
    const bool offers_scales = s->pass == SQ_PASS_SCALES && !has_beat;
    const bool scales_go = offers_scales && sq_gear_takes(&s->scales, in->out_ready);
    clock_codes(s, offers, goes, out_ready);
    clock_scales(s, offers_scales, in->out_ready);
    clock_columns(s, goes, puts);
    s->banks = reloads ? s->layer.beats : s->banks - goes;
    s->beats = reloads ? s->layer.beats : s->beats;
    if (takes && !is_codes)
        take_largest(s);
    if (en && s->is_scaled)
        take_elements(s, has_code);
    else if (en)
        take_codes(s, has_code);
    if (takes)
        count(s, &s->group, &s->row);
    clock_pass(s, takes_last, is_flushed, scales_go);
    const uint32_t tail =
        in->beat && in->beat->last ? (uint32_t)in->beat->dest >> SQ_TOP_DEST_BITS : 0;
    const struct sq_gear_in word = {in->beat ? in->beat->word : NULL, tail > 0 ? tail : s->words.in,
                                    1, false, in->beat && in->beat->last};
    const bool moved = s->layer.is_codes; // of the layer at hand
    sq_gear_clock(&s->words, in->beat && !moved ? &word : NULL, ready);
    sq_gear_clock(&s->moved, in->beat && moved ? &word : NULL, can_move);
}

void sq_encode_clock(struct sq_encode_sim *s, const struct sq_task_in *in)
{
    if (s->lanes == 0)
        return;
    const bool is_done = sq_encode_is_done(s);
    clock_elements(s, in);
    clock_transfers(s, in);
    if (s->task.state == SQ_TASK_IDLE && in->start)
        start_run(s, in);
    else
        sq_task_clock(&s->task, is_done);
}
