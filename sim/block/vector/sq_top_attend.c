// SPDX-License-Identifier: Apache-2.0
// Checks a descriptor of kind attend, says what it must write, and steps its transfers and beats (sq_top_attend.h).
#include "sim/block/vector/sq_top_attend.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_half.h"
#include "models/output/sq_combine.h"
#include "sim/block/flow/sq_block.h"
#include "sim/block/top/sq_axi_memory.h"

enum { CHECKS = 8 };
enum { JOB, Q, K, V, STREAMS }; // of sq_attend

// ---- the descriptor ---------------------------------------------------------------------------------

static const unsigned address_word[SQ_TA_PARTS] = {SQ_DESC_ACT, SQ_DESC_WEIGHT, SQ_DESC_ROW_SCALE,
                                                   SQ_DESC_OUT};

const char *const sq_ta_cache_names[] = {"binary16", "int8", NULL};

unsigned sq_ta_param(const struct sq_ta_unit *u)
{
    return u->heads + 16u * u->is_int8 + 32u * sq_bits_below(u->size);
}

struct sq_ta_unit sq_ta_unit_of(unsigned attend)
{
    return (struct sq_ta_unit){attend % 16, attend / 16 % 2, 1u << attend / 32};
}

uint32_t sq_ta_lanes(unsigned attend, uint32_t nbytes)
{
    return nbytes / (sq_ta_unit_of(attend).is_int8 ? 1 : 2);
}

void sq_ta_encode(const struct sq_ta_layer *l, uint32_t word[SQ_DESC_WORDS])
{
    memset(word, 0, SQ_DESC_WORDS * sizeof *word);
    word[SQ_DESC_KIND] = SQ_DESC_KIND_ATTEND;
    for (unsigned p = 0; p < SQ_TA_PARTS; p++)
        sq_desc_set_address(word, address_word[p], l->addr[p]);
    word[SQ_DESC_TILES] = l->size << 16 | l->queries;
    word[SQ_DESC_BLOCK] = l->keys;
    word[SQ_DESC_BEATS] = l->stride[SQ_TA_K] << 16 | l->stride[SQ_TA_Q];
    word[SQ_DESC_CHUNK] = l->stride[SQ_TA_Y] << 16 | l->stride[SQ_TA_V];
}

static bool is_cache(unsigned part)
{
    return part == SQ_TA_K || part == SQ_TA_V;
}

uint32_t sq_ta_row_beats(const struct sq_ta_layer *l, unsigned part, uint32_t nbytes,
                         unsigned attend)
{
    return is_cache(part) ? l->size / sq_ta_lanes(attend, nbytes) + sq_ta_unit_of(attend).is_int8
                          : 4 * l->size / nbytes;
}

uint64_t sq_ta_region_beats(const struct sq_ta_layer *l, unsigned part, uint32_t nbytes,
                            unsigned attend)
{
    const uint32_t rows = is_cache(part) ? l->keys : l->queries;
    return (rows - 1) * (uint64_t)l->stride[part] + sq_ta_row_beats(l, part, nbytes, attend);
}

bool sq_ta_decode(const uint32_t word[SQ_DESC_WORDS], uint32_t nbytes, unsigned attend,
                  struct sq_ta_layer *l)
{
    const struct sq_ta_unit u = sq_ta_unit_of(attend);
    *l = (struct sq_ta_layer){.queries = word[SQ_DESC_TILES] & 0xffff,
                              .size = word[SQ_DESC_TILES] >> 16,
                              .keys = word[SQ_DESC_BLOCK],
                              .stride = {word[SQ_DESC_BEATS] & 0xffff, word[SQ_DESC_BEATS] >> 16,
                                         word[SQ_DESC_CHUNK] & 0xffff, word[SQ_DESC_CHUNK] >> 16}};
    bool is_good = (word[SQ_DESC_KIND] & 0xffff) == SQ_DESC_KIND_ATTEND && l->queries > 0 &&
                   l->queries <= u.heads && l->size > 0 && l->size <= u.size && l->keys > 0 &&
                   l->size % sq_ta_lanes(attend, nbytes) == 0 && l->keys <= SQ_ATTEND_KEYS_MAX;
    for (unsigned i = 0; i < SQ_DESC_WORDS; i++)
        is_good = is_good && (word[i] & ~sq_desc_attend_named(i)) == 0;
    for (unsigned p = 0; p < SQ_TA_PARTS; p++) {
        l->addr[p] = sq_desc_address(word, address_word[p]);
        is_good =
            is_good && l->addr[p] % nbytes == 0 &&
            sq_ta_region_beats(l, p, nbytes, attend) + l->addr[p] / nbytes <= SQ_ADDR_END / nbytes;
    }
    return is_good;
}

// ---- what must come ---------------------------------------------------------------------------------

// Element i of a beat of the cache.
static float element(const int32_t *word, unsigned i, bool is_int8, uint16_t scale)
{
    const uint32_t w = (uint32_t)word[i / (is_int8 ? 4 : 2)];
    return is_int8 ? (float)(int8_t)(w >> 8 * (i % 4)) * sq_half_to_float(scale)
                   : sq_half_to_float((uint16_t)(w >> 16 * (i % 2)));
}

void sq_ta_golden(const struct sq_ta_layer *l, uint32_t nbytes, unsigned attend,
                  const struct sq_tv_memory *m)
{
    const bool is_int8 = sq_ta_unit_of(attend).is_int8;
    const uint32_t words = nbytes / 4, lanes = sq_ta_lanes(attend, nbytes);
    float q[SQ_TA_HEADS_MAX][SQ_ATTEND_HEAD_MAX], y[SQ_TA_HEADS_MAX][SQ_ATTEND_HEAD_MAX];
    struct sq_attend_sum sum[SQ_TA_HEADS_MAX] = {{0}};
    uint64_t at[SQ_TA_PARTS];
    memcpy(at, l->addr, sizeof at);
    for (uint32_t h = 0; h < l->queries; h++, at[SQ_TA_Q] += l->stride[SQ_TA_Q] * (uint64_t)nbytes)
        for (uint32_t i = 0; i < l->size; i++)
            q[h][i] = sq_word_float(m->read(m->ctx, at[SQ_TA_Q] + 4 * (i - i % words), i % words));
    for (uint32_t k = 0; k < l->keys; k++) {
        float x[SQ_TA_V + 1][SQ_ATTEND_HEAD_MAX];
        for (unsigned p = SQ_TA_K; p <= SQ_TA_V; p++) {
            const uint16_t scale = is_int8 ? (uint16_t)m->read(m->ctx, at[p], 0) : 0;
            int32_t word[SQ_DMA_WORDS_MAX];
            for (uint32_t i = 0; i < l->size; i++) {
                const uint64_t beat = at[p] + (i / lanes + is_int8) * (uint64_t)nbytes;
                for (uint32_t w = 0; w < words && i % lanes == 0; w++)
                    word[w] = m->read(m->ctx, beat, w);
                x[p][i] = element(word, i % lanes, is_int8, scale);
            }
            at[p] += l->stride[p] * (uint64_t)nbytes;
        }
        for (uint32_t h = 0; h < l->queries; h++)
            sq_attend_value(sq_attend_key(&sum[h], q[h], x[SQ_TA_K], l->size), x[SQ_TA_V], l->size,
                            y[h]);
    }
    for (uint32_t h = 0; h < l->queries;
         h++, at[SQ_TA_Y] += l->stride[SQ_TA_Y] * (uint64_t)nbytes) {
        int32_t word[SQ_ATTEND_HEAD_MAX];
        sq_attend_end(&sum[h], l->size, y[h]);
        for (uint32_t i = 0; i < l->size; i++)
            word[i] = (int32_t)sq_combine_bits(y[h][i]);
        for (uint32_t i = 0; i < l->size; i += words)
            m->write(m->ctx, at[SQ_TA_Y] + 4 * i, word + i, words);
    }
}

// ---- what follows from the state --------------------------------------------------------------------

void sq_ta_init(struct sq_ta_sim *s, uint32_t nbytes, unsigned attend)
{
    const struct sq_timing *const t = sq_attend_block.timing;
    s->attend = attend;
    s->unit = sq_ta_unit_of(attend);
    s->nbytes = nbytes;
    s->lanes = sq_ta_lanes(attend, nbytes);
    assert(t->nbytes <= sizeof s->time && s->unit.heads <= SQ_TA_HEADS_MAX &&
           s->unit.size <= SQ_ATTEND_HEAD_MAX);
    const unsigned value[] = {s->lanes, s->unit.heads, s->unit.size, SQ_TA_AHEAD, s->unit.is_int8};
    if (attend > 0)
        sq_attend_block.init(value, s->time);
}

bool sq_ta_is_done(const struct sq_ta_sim *s)
{
    return sq_task_refuses(&s->task) ||
           (s->task.state == SQ_TASK_RUN && !s->is_active && s->task.owed == 0);
}

static uint32_t row_left(const struct sq_ta_sim *s)
{
    return sq_ta_row_beats(&s->layer, s->part, s->nbytes, s->attend) - s->asked;
}

static uint32_t transfer_beats(const struct sq_ta_sim *s)
{
    const uint32_t left = row_left(s);
    return s->part == SQ_TA_Y || left < SQ_TA_CHUNK ? left : SQ_TA_CHUNK;
}

bool sq_ta_transfer(const struct sq_ta_sim *s, int32_t transfer[SQ_DMA_JOB_LEN], unsigned dest)
{
    const bool writes = s->part == SQ_TA_Y;
    if (s->task.state != SQ_TASK_RUN || !s->is_active || (!writes && s->free < transfer_beats(s)))
        return false;
    sq_dma_put_transfer(transfer, false, writes, s->row[s->part] + (uint64_t)s->asked * s->nbytes,
                        transfer_beats(s), dest);
    return true;
}

bool sq_ta_has_beat(const struct sq_ta_sim *s)
{
    return s->queue.n > 0;
}

// Beats of the bus of a beat of binary32.
static uint32_t words_of(const struct sq_ta_sim *s)
{
    return s->unit.is_int8 ? 4 : 2;
}

struct wires {
    struct sq_offer in[STREAMS];
    struct sq_handshake out;
};

static void find_wires(const struct sq_ta_sim *s, bool out_ready, struct wires *w)
{
    const uint32_t words = words_of(s);
    const bool has_beat = s->queue.n > 0, is_code = !s->unit.is_int8 || s->has_scale;
    *w = (struct wires){.in = {[JOB] = {.valid = s->task.state == SQ_TASK_RUN && !s->is_told},
                               [Q] = {.valid = has_beat && s->word == words - 1},
                               [K] = {.valid = has_beat && is_code},
                               [V] = {.valid = has_beat && is_code}}};
    w->in[JOB].n = s->layer.keys;
    w->in[JOB].job.groups = s->lanes > 0 ? s->layer.size / s->lanes : 0;
    w->in[JOB].job.group_banks = s->layer.queries;
    sq_attend_block.timing->comb(s->time, w->in, out_ready && s->out_word == words - 1, &w->out);
}

static bool takes(const struct sq_ta_sim *s, const struct wires *w)
{
    return s->queue.n > 0 && (w->out.in_ready[Q] || w->out.in_ready[K] || w->out.in_ready[V]);
}

bool sq_ta_takes(const struct sq_ta_sim *s)
{
    struct wires w;
    if (s->attend == 0)
        return false;
    find_wires(s, false, &w);
    return takes(s, &w);
}

bool sq_ta_word(const struct sq_ta_sim *s, int32_t word[SQ_DMA_WORDS_MAX])
{
    struct wires w;
    if (s->attend == 0 || s->task.state != SQ_TASK_RUN)
        return false;
    find_wires(s, false, &w);
    const float *const y = s->y[s->out_query] + s->n_out;
    for (unsigned i = 0; w.out.out_valid && i < s->nbytes / 4; i++)
        word[i] = (int32_t)sq_combine_bits(y[i]);
    return w.out.out_valid;
}

// ---- a cycle ----------------------------------------------------------------------------------------

static void start_run(struct sq_ta_sim *s, const struct sq_task_in *in)
{
    const struct sq_ta_layer *const l = &s->layer;
    sq_task_start(&s->task, CHECKS,
                  sq_ta_decode(in->word, s->nbytes, s->attend, &s->layer) && in->sound);
    memcpy(s->row, l->addr, sizeof s->row);
    s->rows[SQ_TA_Q] = s->rows[SQ_TA_Y] = l->queries;
    s->rows[SQ_TA_K] = s->rows[SQ_TA_V] = l->keys;
    s->is_active = true;
    s->part = SQ_TA_Q;
    s->free = SQ_TA_DEPTH;
    s->ahead = s->asked = s->word = s->code = s->out_word = 0;
    s->is_told = s->has_scale = false;
    s->query = s->n_row = s->out_query = s->n_out = s->n_weights = 0;
    s->values = l->keys;
    memset(s->sum, 0, sizeof s->sum);
}

// The part whose row is asked for after one of s->part.
static void next_part(struct sq_ta_sim *s)
{
    const bool is_last = --s->rows[s->part] == 0;
    switch (s->part) {
    case SQ_TA_K:
        if (++s->ahead == SQ_TA_AHEAD || is_last)
            s->part = SQ_TA_V;
        break;
    case SQ_TA_V:
        s->ahead--;
        s->part = is_last ? SQ_TA_Y : s->rows[SQ_TA_K] == 0 ? SQ_TA_V : SQ_TA_K;
        break;
    case SQ_TA_Q:
        s->part = is_last ? SQ_TA_K : SQ_TA_Q;
        break;
    default:
        s->is_active = !is_last;
    }
}

static void clock_transfers(struct sq_ta_sim *s, const struct sq_task_in *in)
{
    int32_t unused[SQ_DMA_JOB_LEN];
    const bool issues = sq_ta_transfer(s, unused, 0) && in->dma_ready;
    s->task.owed = s->task.owed + (issues && s->part == SQ_TA_Y) - in->write_done;
    if (!issues)
        return;
    const uint32_t n = transfer_beats(s);
    s->free -= s->part == SQ_TA_Y ? 0 : n;
    s->asked += n;
    if (row_left(s) > 0)
        return;
    s->asked = 0;
    s->row[s->part] += s->layer.stride[s->part] * (uint64_t)s->nbytes;
    next_part(s);
}

// The key or the value in x is whole.
static void end_row(struct sq_ta_sim *s, bool is_key)
{
    const uint32_t size = s->layer.size;
    for (uint32_t h = 0; h < s->layer.queries; h++)
        if (is_key)
            s->weight[s->n_weights][h] = sq_attend_key(&s->sum[h], s->q[h], s->x, size);
        else
            sq_attend_value(s->weight[0][h], s->x, size, s->y[h]);
    s->n_weights += is_key;
    if (is_key)
        return;
    memmove(s->weight, s->weight + 1, --s->n_weights * sizeof *s->weight);
    s->values--;
    for (uint32_t h = 0; h < s->layer.queries && s->values == 0; h++)
        sq_attend_end(&s->sum[h], size, s->y[h]);
}

// The values of a beat that leaves the queue.
static void take_values(struct sq_ta_sim *s, const int32_t *word, bool is_query, bool is_key)
{
    const uint32_t n = is_query ? s->nbytes / 4 : s->lanes, size = s->layer.size;
    if (!is_query && s->unit.is_int8 && !s->has_scale) {
        s->scale = (uint16_t)word[0];
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        if (is_query)
            s->q[s->query][s->n_row + i] = sq_word_float(word[i]);
        else
            s->x[s->n_row + i] = element(word, i, s->unit.is_int8, s->scale);
    s->n_row = (s->n_row + n) % size;
    if (s->n_row > 0)
        return;
    if (is_query)
        s->query++;
    else
        end_row(s, is_key);
}

static void take(struct sq_ta_sim *s, const struct wires *w)
{
    const bool is_query = w->out.in_ready[Q];
    take_values(s, s->queue.word[0], is_query, w->out.in_ready[K]);
    if (is_query)
        s->word = (s->word + 1) % words_of(s);
    else if (s->unit.is_int8 && !s->has_scale)
        s->has_scale = true;
    else if ((s->code += s->lanes) == s->layer.size)
        s->code = s->has_scale = 0;
    s->free++;
    memmove(s->queue.word, s->queue.word + 1, --s->queue.n * sizeof *s->queue.word);
}

static void give(struct sq_ta_sim *s)
{
    s->out_word = (s->out_word + 1) % words_of(s);
    s->n_out = (s->n_out + s->nbytes / 4) % s->layer.size;
    s->out_query += s->n_out == 0;
}

void sq_ta_clock(struct sq_ta_sim *s, const struct sq_task_in *in)
{
    struct wires w;
    if (s->attend == 0)
        return;
    const bool is_done = sq_ta_is_done(s), runs = s->task.state == SQ_TASK_RUN;
    find_wires(s, in->out_ready, &w);
    const bool unit_ready = in->out_ready && s->out_word == words_of(s) - 1;
    clock_transfers(s, in);
    if (runs && takes(s, &w))
        take(s, &w);
    if (runs && w.out.out_valid && in->out_ready)
        give(s);
    if (runs)
        sq_attend_block.timing->clock(s->time, w.in, unit_ready);
    s->is_told = s->is_told || (w.in[JOB].valid && w.out.in_ready[JOB]);
    if (s->task.state == SQ_TASK_IDLE && in->start)
        start_run(s, in);
    else
        sq_task_clock(&s->task, is_done);
    if (!in->beat)
        return;
    assert(s->queue.n < SQ_TA_DEPTH);
    memcpy(s->queue.word[s->queue.n++], in->beat->word, s->nbytes);
}
