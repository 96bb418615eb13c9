// SPDX-License-Identifier: Apache-2.0
// Checks a descriptor of kind vector, says what it must write, and steps its transfers and beats (sq_top_vector.h).
#include "sim/block/vector/sq_top_vector.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_fp.h"
#include "models/output/sq_combine.h"
#include "sim/block/top/sq_axi_memory.h"
#include "sim/block/vector/sq_vector_time.h"

enum { CHECKS = 8 };
enum {
    B_AT = 2,
    C_AT = 4,
    RED_AT = 6,
    ALL_AT = 8,
    Y_AT = 9,
    HALF_AT = 11,
    BYTE_AT = 14
}; // fields of VECTOR

// ---- the descriptor ---------------------------------------------------------------------------------

static const unsigned address_word[SQ_TV_PARTS] = {SQ_DESC_ACT, SQ_DESC_WEIGHT, SQ_DESC_ROW_SCALE,
                                                   SQ_DESC_OUT, SQ_DESC_COL_SCALE};

static uint32_t ceil_div(uint64_t a, uint64_t b)
{
    return (uint32_t)((a + b - 1) / b);
}

void sq_tv_encode(const struct sq_tv_layer *l, uint32_t word[SQ_DESC_WORDS])
{
    memset(word, 0, SQ_DESC_WORDS * sizeof *word);
    word[SQ_DESC_KIND] = SQ_DESC_KIND_VECTOR;
    for (unsigned p = 0; p < SQ_TV_PARTS; p++)
        sq_desc_set_address(word, address_word[p], l->addr[p]);
    word[SQ_DESC_TILES] = l->rows;
    word[SQ_DESC_BLOCK] = l->n;
    word[SQ_DESC_BEATS] = l->stride[SQ_TV_B] << 16 | l->stride[SQ_TV_A];
    word[SQ_DESC_CHUNK] = l->stride[SQ_TV_Y] << 16 | l->stride[SQ_TV_C];
    word[SQ_DESC_VECTOR] = (uint32_t)l->f | l->from[SQ_TV_B] << B_AT | l->from[SQ_TV_C] << C_AT |
                           (uint32_t)l->red << RED_AT | (uint32_t)l->all << ALL_AT |
                           (l->y == SQ_TV_BYTE ? 3u | 1u << (BYTE_AT - Y_AT) : (uint32_t)l->y)
                               << Y_AT;
    for (unsigned p = 0; p < SQ_TV_OPERANDS; p++)
        word[SQ_DESC_VECTOR] |= (uint32_t)l->half[p] << (HALF_AT + p);
}

bool sq_tv_uses(const struct sq_tv_layer *l, unsigned part)
{
    return part == SQ_TV_Y     ? l->y != SQ_TV_NO_Y
           : part == SQ_TV_RED ? l->red != SQ_TV_NONE
                               : l->from[part] == SQ_TV_ROW || l->from[part] == SQ_TV_ONE;
}

static bool is_one(const struct sq_tv_layer *l, unsigned part)
{
    return part == SQ_TV_RED || (part < SQ_TV_OPERANDS && l->from[part] == SQ_TV_ONE);
}

static uint32_t y_nbytes(const struct sq_tv_layer *l)
{
    return l->y == SQ_TV_BYTE ? 1 : l->y == SQ_TV_BFLOAT16 || l->y == SQ_TV_BINARY16 ? 2 : 4;
}

// Beats of n elements of a part.
static uint32_t beats_of(const struct sq_tv_layer *l, unsigned part, uint32_t n, uint32_t nbytes)
{
    const uint32_t size = part == SQ_TV_Y ? y_nbytes(l) : part < SQ_TV_Y && l->half[part] ? 2 : 4;
    return is_one(l, part) ? 1 : ceil_div(n, nbytes / size);
}

uint32_t sq_tv_row_beats(const struct sq_tv_layer *l, unsigned part, uint32_t nbytes)
{
    return beats_of(l, part, l->n, nbytes);
}

static uint64_t stride_of(const struct sq_tv_layer *l, unsigned part)
{
    return part == SQ_TV_RED ? !l->all : l->stride[part];
}

uint64_t sq_tv_region_beats(const struct sq_tv_layer *l, unsigned part, uint32_t nbytes)
{
    return (l->rows - 1) * stride_of(l, part) + sq_tv_row_beats(l, part, nbytes);
}

bool sq_tv_decode(const uint32_t word[SQ_DESC_WORDS], uint32_t nbytes, struct sq_tv_layer *l)
{
    const uint32_t v = word[SQ_DESC_VECTOR];
    *l = (struct sq_tv_layer){
        .f = (enum sq_vector_func)(v & 3),
        .from = {SQ_TV_ROW, v >> B_AT & 3, v >> C_AT & 3},
        .half = {v >> HALF_AT & 1, v >> (HALF_AT + 1) & 1, v >> (HALF_AT + 2) & 1},
        .red = (enum sq_tv_red)(v >> RED_AT & 3),
        .y = (enum sq_tv_y)((v >> Y_AT & 3) + (v >> BYTE_AT & 1)),
        .all = v >> ALL_AT & 1,
        .stride = {word[SQ_DESC_BEATS] & 0xffff, word[SQ_DESC_BEATS] >> 16,
                   word[SQ_DESC_CHUNK] & 0xffff, word[SQ_DESC_CHUNK] >> 16},
        .rows = word[SQ_DESC_TILES] & 0xffff,
        .n = word[SQ_DESC_BLOCK]};
    bool is_good = (word[SQ_DESC_KIND] & 0xffff) == SQ_DESC_KIND_VECTOR && l->rows > 0 &&
                   l->n > 0 && l->from[SQ_TV_C] != SQ_TV_FROM_A &&
                   (!(v >> BYTE_AT & 1) || l->y == SQ_TV_BYTE) &&
                   (l->y != SQ_TV_NO_Y || l->red != SQ_TV_NONE);
    for (unsigned i = 0; i < SQ_DESC_WORDS; i++)
        is_good = is_good && (word[i] & ~sq_desc_vector_named(i)) == 0;
    for (unsigned p = 0; p < SQ_TV_PARTS; p++) {
        l->addr[p] = sq_desc_address(word, address_word[p]);
        if (sq_tv_uses(l, p))
            is_good =
                is_good && l->addr[p] % nbytes == 0 &&
                sq_tv_region_beats(l, p, nbytes) + l->addr[p] / nbytes <= SQ_ADDR_END / nbytes;
    }
    return is_good;
}

bool sq_tv_has_address(const uint32_t word[SQ_DESC_WORDS], unsigned low)
{
    struct sq_tv_layer l;
    unsigned p = 0;
    (void)sq_tv_decode(word, 4, &l);
    while (address_word[p] != low)
        p++;
    return sq_tv_uses(&l, p);
}

// ---- a beat of the unit -----------------------------------------------------------------------------

static bool sums(const struct sq_tv_layer *l)
{
    return l->red <= SQ_TV_SUM;
}

// What changes neither a sum nor a largest value as f of it.
static float fill_of(const struct sq_tv_layer *l)
{
    return l->f == SQ_VECTOR_EXP     ? -HUGE_VALF
           : l->f == SQ_VECTOR_PLAIN ? (sums(l) ? 0.0f : -HUGE_VALF)
                                     : (sums(l) ? HUGE_VALF : -0.0f);
}

// Element i of a beat; one: the first of the beat, whatever i.
static float element(const int32_t *word, bool one, bool half, unsigned i)
{
    const unsigned at = one ? 0 : i;
    const uint32_t w = (uint32_t)word[half ? at / 2 : at];
    return sq_float_of(half ? (at % 2 ? w & 0xffff0000u : w << 16) : w);
}

// The beat of element 0 of n that are left of a row; word[p] is where that element stands in memory, or NULL.
static struct sq_vector_beat make_beat(const struct sq_tv_layer *l, unsigned lanes, uint32_t left,
                                       const int32_t *const word[SQ_TV_OPERANDS],
                                       const unsigned at[SQ_TV_OPERANDS])
{
    struct sq_vector_beat beat = {.f = l->f, .is_sum = sums(l)};
    float *const to[SQ_TV_OPERANDS] = {beat.a, beat.b, beat.c};
    const float behind[SQ_TV_OPERANDS] = {fill_of(l), 1.0f, -0.0f};
    for (unsigned p = 0; p < SQ_TV_OPERANDS; p++)
        for (unsigned i = 0; i < lanes; i++)
            to[p][i] = i >= left                      ? behind[p]
                       : l->from[p] == SQ_TV_CONSTANT ? sq_float_of((uint32_t)l->addr[p])
                       : l->from[p] == SQ_TV_FROM_A
                           ? beat.a[i]
                           : element(word[p], is_one(l, p), l->half[p], at[p] + i);
    return beat;
}

static void put_elements(const struct sq_tv_layer *l, const uint32_t *y, unsigned n, unsigned at,
                         int32_t *word)
{
    const unsigned size = y_nbytes(l), of_word = 4 / size;
    for (unsigned i = 0; i < n; i++) {
        const uint32_t code = l->y == SQ_TV_BFLOAT16   ? sq_combine_bf16(y[i])
                              : l->y == SQ_TV_BINARY16 ? sq_f32_to_f16(sq_float_of(y[i]))
                              : l->y == SQ_TV_BYTE     ? y[i] & 0xff
                                                       : y[i];
        word[(at + i) / of_word] |= (int32_t)(code << 8 * size * ((at + i) % of_word));
    }
}

// ---- what must come ---------------------------------------------------------------------------------

static const int32_t *read_beat(const struct sq_tv_memory *m, uint64_t addr, uint32_t nbytes,
                                int32_t *word)
{
    for (unsigned i = 0; i < nbytes / 4; i++)
        word[i] = m->read(m->ctx, addr, i);
    return word;
}

struct golden {
    struct sq_vector_unit unit;
    bool has_best;
    float best;
    uint32_t index, base; // of the largest; of the elements before this beat
    unsigned n_red;
};

static void write_red(struct golden *g, const struct sq_tv_layer *l, uint32_t nbytes,
                      const struct sq_tv_memory *m)
{
    int32_t word[SQ_DMA_WORDS_MAX] = {0};
    word[0] = (int32_t)(l->red == SQ_TV_INDEX ? g->index : sq_combine_bits(g->unit.red));
    if (l->red != SQ_TV_NONE)
        m->write(m->ctx, l->addr[SQ_TV_RED] + (uint64_t)g->n_red * nbytes, word, nbytes / 4);
    g->n_red++;
    g->has_best = false;
    g->base = 0;
}

// Order of values as the unit has it.
static bool is_larger(float x, float y)
{
    return x != x ? y == y : x == y ? signbit(y) && !signbit(x) : x > y;
}

static void golden_row(struct golden *g, const struct sq_tv_layer *l, uint32_t row, uint32_t nbytes,
                       const struct sq_tv_memory *m)
{
    const unsigned lanes = nbytes / 4;
    int32_t out[SQ_DMA_WORDS_MAX] = {0};
    uint64_t at_y = l->addr[SQ_TV_Y] + row * (uint64_t)l->stride[SQ_TV_Y] * nbytes;
    for (uint32_t i = 0; i < l->n; i += lanes) {
        const uint32_t left = l->n - i;
        const bool ends = left <= lanes, ends_span = ends && (!l->all || row + 1 == l->rows);
        int32_t word[SQ_TV_OPERANDS][SQ_DMA_WORDS_MAX];
        const int32_t *from[SQ_TV_OPERANDS] = {NULL};
        unsigned at[SQ_TV_OPERANDS];
        float y[SQ_VECTOR_LANES_MAX];
        uint32_t bits[SQ_TV_LANES_MAX];
        for (unsigned p = 0; p < SQ_TV_OPERANDS; p++) {
            const uint32_t of_beat = nbytes / (l->half[p] ? 2 : 4);
            const uint64_t beat = row * (uint64_t)l->stride[p] + (is_one(l, p) ? 0 : i / of_beat);
            at[p] = i % of_beat;
            if (sq_tv_uses(l, p))
                from[p] = read_beat(m, l->addr[p] + beat * nbytes, nbytes, word[p]);
        }
        struct sq_vector_beat beat = make_beat(l, lanes, left, from, at);
        beat.is_last = ends_span;
        sq_vector_step(&g->unit, &beat, y);
        const unsigned n = ends ? left : lanes;
        for (unsigned k = 0; k < n; k++) {
            bits[k] = sq_combine_bits(y[k]);
            if (!g->has_best || is_larger(y[k], g->best)) {
                g->best = y[k];
                g->index = g->base + k;
                g->has_best = true;
            }
        }
        g->base += n;
        const uint32_t of_beat = nbytes / y_nbytes(l);
        put_elements(l, bits, n, i % of_beat, out);
        if (l->y != SQ_TV_NO_Y && (ends || (i + lanes) % of_beat == 0)) {
            m->write(m->ctx, at_y, out, nbytes / 4);
            at_y += nbytes;
            memset(out, 0, sizeof out);
        }
        if (ends_span)
            write_red(g, l, nbytes, m);
    }
}

void sq_tv_golden(const struct sq_tv_layer *l, uint32_t nbytes, const struct sq_tv_memory *m)
{
    struct golden g = {.unit = {.lanes = nbytes / 4}};
    for (uint32_t row = 0; row < l->rows; row++)
        golden_row(&g, l, row, nbytes, m);
}

// ---- what follows from the state --------------------------------------------------------------------

void sq_tv_init(struct sq_tv_sim *s, uint32_t nbytes, bool is_there)
{
    s->nbytes = nbytes;
    s->lanes = is_there ? nbytes / 4 : 0;
    s->unit.lanes = s->lanes;
    assert(s->lanes <= SQ_TV_LANES_MAX &&
           sq_vector_cut_latency(SQ_TV_LANES_MAX) <= SQ_TV_STAGES_MAX);
}

bool sq_tv_is_done(const struct sq_tv_sim *s)
{
    return sq_task_refuses(&s->task) ||
           (s->task.state == SQ_TASK_RUN && s->rows == 0 && s->task.owed == 0);
}

static uint32_t chunk_of(const struct sq_tv_sim *s)
{
    const uint32_t most = SQ_TV_CHUNK * s->lanes;
    return s->left < most ? s->left : most;
}

static bool row_ends(const struct sq_tv_sim *s)
{
    return s->left == chunk_of(s);
}

// Whether the chunk has the transfer that is looked at.
static bool is_needed(const struct sq_tv_sim *s)
{
    const struct sq_tv_layer *const l = &s->layer;
    if (s->part == SQ_TV_RED)
        return sq_tv_uses(l, SQ_TV_RED) && row_ends(s) && (!l->all || s->rows == 1);
    return sq_tv_uses(l, s->part) && (!is_one(l, s->part) || s->is_first);
}

static uint32_t transfer_beats(const struct sq_tv_sim *s)
{
    return beats_of(&s->layer, s->part, chunk_of(s), s->nbytes);
}

bool sq_tv_transfer(const struct sq_tv_sim *s, int32_t transfer[SQ_DMA_JOB_LEN], unsigned dest,
                    unsigned dest_bits)
{
    if (s->task.state != SQ_TASK_RUN || s->rows == 0 || !is_needed(s) ||
        (s->part == 0 && s->chunks >= 2))
        return false;
    sq_dma_put_transfer(transfer, false, s->part >= SQ_TV_Y, s->at[s->part], transfer_beats(s),
                        (dest | (s->part & 3) << dest_bits));
    return true;
}

bool sq_tv_has_operands(const struct sq_tv_sim *s)
{
    bool all = s->task.state == SQ_TASK_RUN;
    for (unsigned p = 0; p < SQ_TV_OPERANDS; p++)
        all = all && (!sq_tv_uses(&s->layer, p) || s->fifo[p].n > 0);
    return all;
}

static const struct sq_tv_stage *last_stage(const struct sq_tv_sim *s)
{
    return &s->stage[sq_vector_cut_latency(s->lanes) - 1];
}

static bool out_ends(const struct sq_tv_sim *s)
{
    return s->out_left <= s->lanes;
}

static bool ends_word(const struct sq_tv_sim *s)
{
    return s->piece == 4 / y_nbytes(&s->layer) - 1;
}

// The results that leave the unit make a beat for memory.
static bool word_comes(const struct sq_tv_sim *s)
{
    return s->layer.y != SQ_TV_NO_Y && (ends_word(s) || out_ends(s));
}

bool sq_tv_word(const struct sq_tv_sim *s, int32_t word[SQ_DMA_WORDS_MAX])
{
    if (s->lanes == 0 || (!s->has_red && !(last_stage(s)->valid && word_comes(s))))
        return false;
    memset(word, 0, SQ_DMA_WORDS_MAX * sizeof *word);
    const uint32_t n = out_ends(s) ? s->out_left : s->lanes;
    if (s->has_red) {
        word[0] = (int32_t)s->red;
        return true;
    }
    memcpy(word, s->held, s->nbytes);
    put_elements(&s->layer, last_stage(s)->y, n, s->piece * s->lanes, word);
    return true;
}

static bool leaves(const struct sq_tv_sim *s, bool out_ready)
{
    return last_stage(s)->valid && !s->has_red && (!word_comes(s) || out_ready);
}

static bool adds(const struct sq_tv_sim *s)
{
    return last_stage(s)[-1].valid && last_stage(s)[-1].adds;
}

static bool moves(const struct sq_tv_sim *s, bool out_ready)
{
    return (!last_stage(s)->valid || leaves(s, out_ready)) && (!adds(s) || s->waited);
}

bool sq_tv_takes(const struct sq_tv_sim *s, bool out_ready)
{
    return s->lanes > 0 && sq_tv_has_operands(s) && moves(s, out_ready);
}

// ---- a cycle ----------------------------------------------------------------------------------------

static void start_run(struct sq_tv_sim *s, const struct sq_task_in *in)
{
    const struct sq_tv_layer *const l = &s->layer;
    sq_task_start(&s->task, CHECKS, sq_tv_decode(in->word, s->nbytes, &s->layer) && in->sound);
    memcpy(s->at, l->addr, sizeof s->at);
    memcpy(s->row, l->addr, sizeof s->row);
    s->part = s->in_beat = s->base = 0;
    s->is_first = true;
    s->rows = s->in_rows = s->out_rows = l->rows;
    s->left = s->in_left = s->out_left = l->n;
}

static void clock_transfers(struct sq_tv_sim *s, const struct sq_task_in *in)
{
    int32_t unused[SQ_DMA_JOB_LEN];
    const bool issues = sq_tv_transfer(s, unused, 0, 0) && in->dma_ready;
    s->task.owed = s->task.owed + (issues && s->part >= SQ_TV_Y) - in->write_done;
    if (s->task.state != SQ_TASK_RUN || s->rows == 0 || (is_needed(s) && !issues))
        return;
    if (issues)
        s->at[s->part] += (uint64_t)transfer_beats(s) * s->nbytes;
    s->chunks += issues && s->part == 0;
    if (++s->part < SQ_TV_PARTS)
        return;
    const bool ends = row_ends(s);
    s->part = 0;
    s->is_first = ends;
    s->rows -= ends;
    s->left = ends ? s->layer.n : s->left - chunk_of(s);
    for (unsigned p = 0; p < SQ_TV_PARTS && ends; p++)
        s->at[p] = s->row[p] += stride_of(&s->layer, p) * s->nbytes;
}

static void pop(struct sq_tv_fifo *f)
{
    assert(f->n > 0);
    f->n--;
    memmove(f->word, f->word + 1, f->n * sizeof f->word[0]);
}

// A beat of the operands goes into the unit.
static void take(struct sq_tv_sim *s, struct sq_tv_stage *to)
{
    const struct sq_tv_layer *const l = &s->layer;
    const bool ends = s->in_left <= s->lanes;
    const int32_t *word[SQ_TV_OPERANDS];
    unsigned at[SQ_TV_OPERANDS];
    float y[SQ_VECTOR_LANES_MAX];
    for (unsigned p = 0; p < SQ_TV_OPERANDS; p++) {
        word[p] = s->fifo[p].word[0];
        at[p] = s->fifo[p].upper ? s->lanes : 0;
    }
    struct sq_vector_beat beat = make_beat(l, s->lanes, s->in_left, word, at);
    beat.is_last = ends && (!l->all || s->in_rows == 1);
    const bool adds_up = l->red == SQ_TV_SUM && s->unit.has_red;
    sq_vector_step(&s->unit, &beat, y);
    *to = (struct sq_tv_stage){.valid = true, .adds = adds_up, .red = sq_combine_bits(s->unit.red)};
    for (unsigned i = 0; i < s->lanes; i++)
        to->y[i] = sq_combine_bits(y[i]);
    for (unsigned p = 0; p < SQ_TV_OPERANDS; p++) {
        struct sq_tv_fifo *const f = &s->fifo[p];
        if (sq_tv_uses(l, p) && (ends || (l->from[p] == SQ_TV_ROW && (!l->half[p] || f->upper))))
            pop(f);
        f->upper = l->half[p] && !f->upper && !ends;
    }
    s->chunks -= ends || s->in_beat == SQ_TV_CHUNK - 1;
    s->in_beat = ends ? 0 : (s->in_beat + 1) % SQ_TV_CHUNK;
    s->in_rows -= ends;
    s->in_left = ends ? l->n : s->in_left - s->lanes;
}

// Results leave the unit.
static void leave(struct sq_tv_sim *s)
{
    const struct sq_tv_stage *const r = last_stage(s);
    const struct sq_tv_layer *const l = &s->layer;
    const bool ends = out_ends(s), ends_span = ends && (!l->all || s->out_rows == 1);
    const bool is_better = !s->goes_on || r->red != s->last_red;
    for (unsigned i = s->lanes; i-- > 0;)
        if (is_better && r->y[i] == r->red)
            s->index = s->base + i;
    const uint32_t n = ends ? s->out_left : s->lanes;
    if (ends || ends_word(s)) {
        s->piece = 0;
        memset(s->held, 0, sizeof s->held);
    } else {
        put_elements(l, r->y, n, s->piece++ * s->lanes, s->held);
    }
    s->last_red = r->red;
    s->red = l->red == SQ_TV_INDEX ? s->index : r->red;
    s->has_red = ends_span && sq_tv_uses(l, SQ_TV_RED);
    s->goes_on = !ends_span;
    s->base = ends_span ? 0 : s->base + n;
    s->out_rows -= ends;
    s->out_left = ends ? l->n : s->out_left - s->lanes;
}

static void clock_unit(struct sq_tv_sim *s, bool out_ready)
{
    const bool takes = sq_tv_takes(s, out_ready), goes = moves(s, out_ready);
    struct sq_tv_stage first = {.valid = false};
    const bool leaves_now = leaves(s, out_ready);
    s->waited = adds(s) && !goes;
    if (takes)
        take(s, &first);
    if (leaves_now)
        leave(s);
    else if (out_ready)
        s->has_red = false;
    if (!goes) {
        s->stage[sq_vector_cut_latency(s->lanes) - 1].valid &= !leaves_now;
        return;
    }
    memmove(s->stage + 1, s->stage, (sq_vector_cut_latency(s->lanes) - 1) * sizeof *s->stage);
    s->stage[0] = first;
}

void sq_tv_clock(struct sq_tv_sim *s, const struct sq_task_in *in)
{
    if (s->lanes == 0)
        return;
    const bool is_done = sq_tv_is_done(s);
    clock_transfers(s, in);
    if (s->task.state == SQ_TASK_RUN)
        clock_unit(s, in->out_ready);
    if (s->task.state == SQ_TASK_IDLE && in->start)
        start_run(s, in);
    else
        sq_task_clock(&s->task, is_done);
    if (!in->beat)
        return;
    struct sq_tv_fifo *const f = &s->fifo[in->part];
    assert(f->n < 2 * SQ_TV_CHUNK);
    memcpy(f->word[f->n++], in->beat->word, s->nbytes);
}
