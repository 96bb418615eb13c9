// SPDX-License-Identifier: Apache-2.0
// Probes the chip, runs a layer and says how it ended (sq_driver.h). It needs the two headers and no library.
#include "lib/sq_driver.h"

#include "lib/sq_regs.h"

#define FIELD(word, name) ((word) >> name##_SHIFT & name##_MASK)
#define PUT(value, name) (((uint32_t)(value)&name##_MASK) << name##_SHIFT)

static uint32_t get(const struct sq_driver *d, uint32_t offset)
{
    return d->read(d->ctx, offset);
}

enum sq_driver_result sq_driver_probe(const struct sq_driver *d, struct sq_driver_chip *chip)
{
    if (get(d, SQ_REG_ID_OFFSET) != SQ_REG_ID_VALUE)
        return SQ_DRIVER_NO_CHIP;
    if (get(d, SQ_REG_VERSION_OFFSET) != SQ_REG_VERSION_VALUE)
        return SQ_DRIVER_VERSION;
    if (!chip)
        return SQ_DRIVER_OK;
    const uint32_t array = get(d, SQ_REG_ARRAY_OFFSET), codes = get(d, SQ_REG_CODES_OFFSET);
    const uint32_t buffer = get(d, SQ_REG_BUFFER_OFFSET);
    chip->rows = FIELD(array, SQ_REG_ARRAY_ROWS);
    chip->cols = FIELD(array, SQ_REG_ARRAY_COLS);
    chip->bank = FIELD(array, SQ_REG_ARRAY_BANK);
    chip->act_bits = FIELD(codes, SQ_REG_CODES_ACT);
    chip->weight_bits = FIELD(codes, SQ_REG_CODES_WEIGHT);
    chip->out_kind = FIELD(codes, SQ_REG_CODES_OUT);
    chip->act_beats = FIELD(buffer, SQ_REG_BUFFER_ACT);
    chip->weight_beats = FIELD(buffer, SQ_REG_BUFFER_WEIGHT);
    chip->sum_tiles = FIELD(get(d, SQ_REG_SUMS_OFFSET), SQ_REG_SUMS_TILES);
    chip->bus_nbytes = get(d, SQ_REG_BUS_OFFSET);
    const uint32_t attend = get(d, SQ_REG_ATTEND_OFFSET);
    chip->attend_queries = FIELD(attend, SQ_REG_ATTEND_QUERIES);
    chip->attend_size = attend ? 1u << FIELD(attend, SQ_REG_ATTEND_HEAD) : 0;
    chip->attend_bits = !attend ? 0 : FIELD(attend, SQ_REG_ATTEND_INT8) ? 8 : 16;
    return SQ_DRIVER_OK;
}

// The kind of a descriptor and its addresses, in two halves each; zeros in its other words.
static void begin(uint32_t *word, uint32_t kind, uint64_t act, uint64_t weight, uint64_t row_scale,
                  uint64_t col_scale, uint64_t out)
{
    for (unsigned i = 0; i < SQ_DRIVER_DESCRIPTOR_WORDS; i++)
        word[i] = 0;
    word[SQ_DESC_KIND_OFFSET / 4] = kind;
    word[SQ_DESC_ACT_OFFSET / 4] = (uint32_t)act;
    word[SQ_DESC_WEIGHT_OFFSET / 4] = (uint32_t)weight;
    word[SQ_DESC_ROW_SCALE_OFFSET / 4] = (uint32_t)row_scale;
    word[SQ_DESC_COL_SCALE_OFFSET / 4] = (uint32_t)col_scale;
    word[SQ_DESC_OUT_OFFSET / 4] = (uint32_t)out;
    word[SQ_DESC_OPERANDS_HIGH_OFFSET / 4] =
        PUT(act >> 32, SQ_DESC_OPERANDS_HIGH_ACT) | PUT(weight >> 32, SQ_DESC_OPERANDS_HIGH_WEIGHT);
    word[SQ_DESC_SCALES_HIGH_OFFSET / 4] = PUT(row_scale >> 32, SQ_DESC_SCALES_HIGH_ROWS) |
                                           PUT(col_scale >> 32, SQ_DESC_SCALES_HIGH_COLS);
    word[SQ_DESC_OUT_HIGH_OFFSET / 4] = PUT(out >> 32, SQ_DESC_OUT_HIGH_OUT);
}

void sq_driver_describe(const struct sq_driver_layer *l, uint32_t word[SQ_DRIVER_DESCRIPTOR_WORDS])
{
    const uint32_t kind = PUT(SQ_DESC_KIND_VALUE, SQ_DESC_KIND_KIND) |
                          PUT(l->cols_outer != 0, SQ_DESC_KIND_COLS_OUTER);
    begin(word, kind, l->act, l->weight, l->row_scale, l->col_scale, l->out);
    word[SQ_DESC_TILES_OFFSET / 4] =
        PUT(l->rows, SQ_DESC_TILES_ROWS) | PUT(l->cols, SQ_DESC_TILES_COLS);
    word[SQ_DESC_BLOCK_OFFSET / 4] =
        PUT(l->block_rows, SQ_DESC_BLOCK_ROWS) | PUT(l->block_cols, SQ_DESC_BLOCK_COLS);
    word[SQ_DESC_BEATS_OFFSET / 4] =
        PUT(l->beats, SQ_DESC_BEATS_BEATS) | PUT(l->groups, SQ_DESC_BEATS_GROUPS);
    word[SQ_DESC_CHUNK_OFFSET / 4] = PUT(l->chunk, SQ_DESC_CHUNK_GROUPS);
}

void sq_driver_describe_encoder(const struct sq_driver_encoder *e,
                                uint32_t word[SQ_DRIVER_DESCRIPTOR_WORDS])
{
    const uint32_t kind =
        PUT(SQ_DESC_KIND_ENCODE, SQ_DESC_KIND_KIND) | PUT(e->codes != 0, SQ_DESC_KIND_CODES);
    begin(word, kind, e->act, 0, e->row_scale, 0, e->out);
    word[SQ_DESC_TILES_OFFSET / 4] =
        PUT(e->rows, SQ_DESC_TILES_ROWS) | PUT(e->cols, SQ_DESC_TILES_COLS);
    word[SQ_DESC_BEATS_OFFSET / 4] = PUT(e->beats, SQ_DESC_BEATS_BEATS);
}

void sq_driver_describe_vector(const struct sq_driver_vector *v,
                               uint32_t word[SQ_DRIVER_DESCRIPTOR_WORDS])
{
    begin(word, PUT(SQ_DESC_KIND_VECTOR, SQ_DESC_KIND_KIND), v->a, v->b, v->c, v->red, v->y);
    word[SQ_DESC_TILES_OFFSET / 4] = PUT(v->rows, SQ_DESC_TILES_ROWS);
    word[SQ_DESC_BLOCK_OFFSET / 4] = v->n;
    word[SQ_DESC_BEATS_OFFSET / 4] =
        PUT(v->a_stride, SQ_DESC_BEATS_BEATS) | PUT(v->b_stride, SQ_DESC_BEATS_GROUPS);
    word[SQ_DESC_CHUNK_OFFSET / 4] =
        PUT(v->c_stride, SQ_DESC_CHUNK_GROUPS) | PUT(v->y_stride, SQ_DESC_CHUNK_PART);
    word[SQ_DESC_VECTOR_OFFSET / 4] =
        PUT(v->f, SQ_DESC_VECTOR_F) | PUT(v->b_from, SQ_DESC_VECTOR_B) |
        PUT(v->c_from, SQ_DESC_VECTOR_C) | PUT(v->red_kind, SQ_DESC_VECTOR_RED) |
        PUT(v->all != 0, SQ_DESC_VECTOR_ALL) |
        PUT(v->y_kind == 4 ? 3 : v->y_kind, SQ_DESC_VECTOR_Y) |
        PUT(v->y_kind == 4, SQ_DESC_VECTOR_Y_BYTE) | PUT(v->a_half != 0, SQ_DESC_VECTOR_A_HALF) |
        PUT(v->b_half != 0, SQ_DESC_VECTOR_B_HALF) | PUT(v->c_half != 0, SQ_DESC_VECTOR_C_HALF);
}

// Whether rows from that address on end at 2^48 or before.
static int is_in_reach(uint64_t at, uint32_t rows, uint32_t stride, uint32_t nbytes, uint32_t bus)
{
    const uint64_t all = (uint64_t)(rows - 1) * stride * bus + nbytes, end = (uint64_t)1 << 48;
    return (at & (bus - 1)) == 0 && at <= end && all <= end - at;
}

const char *sq_driver_describe_attend(const struct sq_driver_chip *chip,
                                      const struct sq_driver_attend *a,
                                      uint32_t word[SQ_DRIVER_DESCRIPTOR_WORDS])
{
    const uint32_t bus = chip->bus_nbytes;
    const uint32_t lanes = chip->attend_bits == 8 ? bus : bus / 2;
    const uint32_t row = 4 * a->size, cached = chip->attend_bits == 8 ? a->size + bus : 2 * a->size;
    begin(word, PUT(SQ_DESC_KIND_ATTEND, SQ_DESC_KIND_KIND), a->q, a->k, a->v, 0, a->y);
    word[SQ_DESC_TILES_OFFSET / 4] =
        PUT(a->queries, SQ_DESC_TILES_ROWS) | PUT(a->size, SQ_DESC_TILES_COLS);
    word[SQ_DESC_BLOCK_OFFSET / 4] = a->keys;
    word[SQ_DESC_BEATS_OFFSET / 4] =
        PUT(a->q_stride, SQ_DESC_BEATS_BEATS) | PUT(a->k_stride, SQ_DESC_BEATS_GROUPS);
    word[SQ_DESC_CHUNK_OFFSET / 4] =
        PUT(a->v_stride, SQ_DESC_CHUNK_GROUPS) | PUT(a->y_stride, SQ_DESC_CHUNK_PART);
    if (a->queries < 1 || a->queries > chip->attend_queries)
        return "queries: need 1 to those of register ATTEND";
    if (a->size < 1 || a->size > chip->attend_size || a->size % lanes != 0)
        return "size: need whole beats of codes, at most the head of register ATTEND";
    if (a->keys < 1 || a->keys > 65536)
        return "keys: need 1 to 65536";
    if ((a->q_stride | a->k_stride | a->v_stride | a->y_stride) > 65535)
        return "strides: need 0 to 65535 beats";
    if (!is_in_reach(a->q, a->queries, a->q_stride, row, bus) ||
        !is_in_reach(a->k, a->keys, a->k_stride, cached, bus) ||
        !is_in_reach(a->v, a->keys, a->v_stride, cached, bus) ||
        !is_in_reach(a->y, a->queries, a->y_stride, row, bus))
        return "q, k, v, y: need multiples of a beat, rows that end at 2^48 or before";
    return NULL;
}

static int is_busy(const struct sq_driver *d)
{
    return (int)FIELD(get(d, SQ_REG_STATUS_OFFSET), SQ_REG_STATUS_BUSY);
}

enum sq_driver_result sq_driver_start(const struct sq_driver *d, uint64_t descriptor)
{
    if (is_busy(d))
        return SQ_DRIVER_BUSY;
    d->write(d->ctx, SQ_REG_DESCRIPTOR_OFFSET, (uint32_t)descriptor);
    d->write(d->ctx, SQ_REG_DESCRIPTOR_HIGH_OFFSET, (uint32_t)(descriptor >> 32));
    d->write(d->ctx, SQ_REG_IRQ_ENABLE_OFFSET, PUT(d->wait != NULL, SQ_REG_IRQ_ENABLE_DONE));
    d->write(d->ctx, SQ_REG_CONTROL_OFFSET, PUT(1, SQ_REG_CONTROL_START));
    return SQ_DRIVER_OK;
}

// Reading the low half leaves the high one in COUNTER_HIGH.
static uint64_t counter(const struct sq_driver *d, uint32_t offset)
{
    const uint32_t low = get(d, offset);
    return (uint64_t)get(d, SQ_REG_COUNTER_HIGH_OFFSET) << 32 | low;
}

enum sq_driver_result sq_driver_finish(const struct sq_driver *d, struct sq_driver_done *done)
{
    while (is_busy(d))
        if (d->wait && !d->wait(d->ctx))
            return done->result = SQ_DRIVER_TIMEOUT;
    done->status = get(d, SQ_REG_STATUS_OFFSET);
    done->cycles = counter(d, SQ_REG_CYCLES_OFFSET);
    done->busy = counter(d, SQ_REG_BUSY_CYCLES_OFFSET);
    done->wait = counter(d, SQ_REG_WAIT_CYCLES_OFFSET);
    done->blocked = counter(d, SQ_REG_BLOCKED_CYCLES_OFFSET);
    done->read_beats = counter(d, SQ_REG_READ_BEATS_OFFSET);
    done->write_beats = counter(d, SQ_REG_WRITE_BEATS_OFFSET);
    done->read_wait = counter(d, SQ_REG_READ_WAIT_OFFSET);
    done->read_full = counter(d, SQ_REG_READ_FULL_OFFSET);
    done->write_wait = counter(d, SQ_REG_WRITE_WAIT_OFFSET);
    d->write(d->ctx, SQ_REG_IRQ_STATE_OFFSET,
             PUT(1, SQ_REG_IRQ_STATE_DONE) | PUT(1, SQ_REG_IRQ_STATE_ERROR));
    return done->result = done->status ? SQ_DRIVER_FAILED : SQ_DRIVER_OK;
}

enum sq_driver_result sq_driver_run(const struct sq_driver *d, uint64_t descriptor,
                                    struct sq_driver_done *done)
{
    *done = (struct sq_driver_done){.status = 0};
    done->result = sq_driver_start(d, descriptor);
    return done->result == SQ_DRIVER_OK ? sq_driver_finish(d, done) : done->result;
}

// ---- a ring ---------------------------------------------------------------------------------------

static volatile uint32_t *slot_at(const struct sq_driver_ring *r, uint32_t slot)
{
    return r->word + slot * (SQ_SLOT_NBYTES / 4);
}

static uint32_t next_slot(const struct sq_driver_ring *r, uint32_t slot)
{
    return slot + 1 == r->size ? 0 : slot + 1;
}

enum sq_driver_result sq_driver_ring_open(const struct sq_driver *d, struct sq_driver_ring *ring,
                                          uint32_t watchdog)
{
    if (is_busy(d))
        return SQ_DRIVER_BUSY;
    d->write(d->ctx, SQ_REG_RING_BASE_OFFSET, (uint32_t)ring->base);
    d->write(d->ctx, SQ_REG_RING_BASE_HIGH_OFFSET, (uint32_t)(ring->base >> 32));
    d->write(d->ctx, SQ_REG_RING_SIZE_OFFSET, ring->size);
    d->write(d->ctx, SQ_REG_WATCHDOG_OFFSET, watchdog);
    ring->head = ring->tail = 0;
    return SQ_DRIVER_OK;
}

int32_t sq_driver_ring_add(struct sq_driver_ring *ring,
                           const uint32_t word[SQ_DRIVER_DESCRIPTOR_WORDS], int notice)
{
    const uint32_t slot = ring->tail;
    volatile uint32_t *const to = slot_at(ring, slot);
    if (next_slot(ring, slot) == ring->head)
        return -1;
    for (unsigned i = 0; i < SQ_DRIVER_DESCRIPTOR_WORDS; i++)
        to[i] = word[i];
    to[SQ_DESC_KIND_OFFSET / 4] |= PUT(notice != 0, SQ_DESC_KIND_NOTICE);
    to[SQ_RECORD_STATUS_OFFSET / 4] = 0;
    ring->tail = next_slot(ring, slot);
    return (int32_t)slot;
}

void sq_driver_ring_start(const struct sq_driver *d, const struct sq_driver_ring *ring)
{
    d->write(d->ctx, SQ_REG_IRQ_ENABLE_OFFSET, PUT(d->wait != NULL, SQ_REG_IRQ_ENABLE_DONE));
    d->write(d->ctx, SQ_REG_TAIL_OFFSET, ring->tail);
}

static uint64_t record_count(const volatile uint32_t *slot, unsigned offset)
{
    return (uint64_t)slot[offset / 4 + 1] << 32 | slot[offset / 4];
}

enum sq_driver_result sq_driver_ring_done(const struct sq_driver_ring *ring, uint32_t slot,
                                          struct sq_driver_done *done)
{
    const volatile uint32_t *const at = slot_at(ring, slot);
    const uint32_t status = at[SQ_RECORD_STATUS_OFFSET / 4];
    const uint32_t is_written = SQ_RECORD_STATUS_DONE_MASK << SQ_RECORD_STATUS_DONE_SHIFT;
    *done = (struct sq_driver_done){.status = status & ~is_written};
    done->cycles = record_count(at, SQ_RECORD_CYCLES_OFFSET);
    done->busy = record_count(at, SQ_RECORD_BUSY_CYCLES_OFFSET);
    done->wait = record_count(at, SQ_RECORD_WAIT_CYCLES_OFFSET);
    done->blocked = record_count(at, SQ_RECORD_BLOCKED_CYCLES_OFFSET);
    done->read_beats = record_count(at, SQ_RECORD_READ_BEATS_OFFSET);
    done->write_beats = record_count(at, SQ_RECORD_WRITE_BEATS_OFFSET);
    return done->result = !(status & is_written) ? SQ_DRIVER_BUSY
                          : done->status         ? SQ_DRIVER_FAILED
                                                 : SQ_DRIVER_OK;
}

enum sq_driver_result sq_driver_ring_finish(const struct sq_driver *d, struct sq_driver_ring *ring)
{
    enum sq_driver_result result = SQ_DRIVER_OK;
    struct sq_driver_done done;
    while (is_busy(d)) {
        if (d->wait && !d->wait(d->ctx))
            return SQ_DRIVER_TIMEOUT;
        // That of a notice, behind which the ring goes on.
        d->write(d->ctx, SQ_REG_IRQ_STATE_OFFSET, PUT(1, SQ_REG_IRQ_STATE_DONE));
    }
    d->write(d->ctx, SQ_REG_IRQ_STATE_OFFSET,
             PUT(1, SQ_REG_IRQ_STATE_DONE) | PUT(1, SQ_REG_IRQ_STATE_ERROR));
    const uint32_t head = get(d, SQ_REG_HEAD_OFFSET);
    for (; ring->head != head; ring->head = next_slot(ring, ring->head))
        if (sq_driver_ring_done(ring, ring->head, &done) != SQ_DRIVER_OK)
            result = SQ_DRIVER_FAILED;
    return ring->head == ring->tail ? result : SQ_DRIVER_FAILED;
}

void sq_driver_abort(const struct sq_driver *d)
{
    d->write(d->ctx, SQ_REG_CONTROL_OFFSET, PUT(1, SQ_REG_CONTROL_ABORT));
}

// ---- the program of a token -----------------------------------------------------------------------

enum sq_driver_result sq_driver_token_place(struct sq_driver_token *t, uint32_t id,
                                            uint32_t position)
{
    volatile uint32_t *const w = t->word;
    if (w[SQ_DRIVER_TOKEN_MAGIC] != SQ_DRIVER_TOKEN_MAGIC_VALUE || id >= w[SQ_DRIVER_TOKEN_VOCAB] ||
        position >= w[SQ_DRIVER_TOKEN_POSITIONS])
        return SQ_DRIVER_NO_CHIP;
    t->failed = 0;
    t->ring = (struct sq_driver_ring){
        .base = ((uint64_t)w[SQ_DRIVER_TOKEN_BASE_HIGH] << 32 | w[SQ_DRIVER_TOKEN_BASE]) +
                SQ_DRIVER_TOKEN_RING_NBYTES,
        .size = w[SQ_DRIVER_TOKEN_TAIL] + 1,
        .word = w + SQ_DRIVER_TOKEN_RING_NBYTES / 4};
    const volatile uint32_t *patch = w + w[SQ_DRIVER_TOKEN_PATCHES] / 4;
    for (uint32_t i = 0; i < w[SQ_DRIVER_TOKEN_NPATCHES]; i++, patch += 4)
        w[patch[0] / 4] = patch[1] + patch[2] * (patch[3] ? position : id);
    return SQ_DRIVER_OK;
}

enum sq_driver_result sq_driver_token(const struct sq_driver *d, struct sq_driver_token *t,
                                      uint32_t id, uint32_t position, uint32_t *next)
{
    volatile uint32_t *const w = t->word;
    struct sq_driver_done done;
    enum sq_driver_result result =
        is_busy(d) ? SQ_DRIVER_BUSY : sq_driver_token_place(t, id, position);
    if (result == SQ_DRIVER_OK)
        result = sq_driver_ring_open(d, &t->ring, 0);
    if (result != SQ_DRIVER_OK)
        return result;
    t->ring.tail = w[SQ_DRIVER_TOKEN_TAIL];
    sq_driver_ring_start(d, &t->ring);
    result = sq_driver_ring_finish(d, &t->ring);
    while (result == SQ_DRIVER_FAILED && t->failed + 1 < t->ring.tail &&
           sq_driver_ring_done(&t->ring, t->failed, &done) == SQ_DRIVER_OK)
        t->failed++;
    *next = w[w[SQ_DRIVER_TOKEN_RESULT] / 4];
    return result;
}

// ---- a sentence -----------------------------------------------------------------------------------

struct line {
    char *text;
    size_t n, size;
};

static void add(struct line *l, const char *words)
{
    while (*words && l->n + 1 < l->size)
        l->text[l->n++] = *words++;
    if (l->size > 0)
        l->text[l->n] = '\0';
}

// The bits of `words` that are set, one after the other.
static void add_each(struct line *l, uint32_t bits, const char *const *words, unsigned n)
{
    const char *between = "";
    for (unsigned i = 0; i < n; i++)
        if (bits >> i & 1) {
            add(l, between);
            add(l, words[i]);
            between = ", ";
        }
}

// Behind "; " where something stands there already.
static void add_clause(struct line *l, const char *words, const char *more)
{
    add(l, l->n > 0 ? "; " : "");
    add(l, words);
    add(l, more);
}

static void add_status(struct line *l, uint32_t status)
{
    static const char *const bus[] = {"",
                                      "",
                                      "slave error",
                                      "decode error",
                                      "last beat too early",
                                      "last beat too late",
                                      "unknown error",
                                      "unknown error"};
    static const char *const engine[] = {"a code that stands for no value",
                                         "a scale that is no positive number", "a malformed mask"};
    const uint32_t read = FIELD(status, SQ_REG_STATUS_READ);
    const uint32_t written = FIELD(status, SQ_REG_STATUS_WRITTEN);
    const uint32_t wrong = FIELD(status, SQ_REG_STATUS_ENGINE);
    if (FIELD(status, SQ_REG_STATUS_REFUSED))
        add_clause(l, "the descriptor cannot be run, and nothing was written", "");
    if (read)
        add_clause(l, "a read of memory failed: ", bus[read]);
    if (written)
        add_clause(l, "a write of memory failed: ", bus[written]);
    if (FIELD(status, SQ_REG_STATUS_ABORTED))
        add_clause(l, "the layer was aborted", "");
    if (FIELD(status, SQ_REG_STATUS_EXPIRED))
        add_clause(l, "the layer took longer than the watchdog lets it", "");
    if (FIELD(status, SQ_REG_STATUS_OPERAND))
        add_clause(l, "an operand with wrong parity was multiplied", "");
    if (wrong) {
        add_clause(l, "operands hold ", "");
        add_each(l, wrong, engine, 3);
    }
}

const char *sq_driver_text(const struct sq_driver_done *done, char *text, size_t size)
{
    struct line l = {text, 0, size};
    switch (done->result) {
    case SQ_DRIVER_OK:
        add(&l, "the layer is done");
        break;
    case SQ_DRIVER_NO_CHIP:
        add(&l, "there is no sq_top at this address");
        break;
    case SQ_DRIVER_VERSION:
        add(&l, "the registers are of another version than the driver");
        break;
    case SQ_DRIVER_BUSY:
        add(&l, "a layer runs already");
        break;
    case SQ_DRIVER_TIMEOUT:
        add(&l, "the layer has not ended in time");
        break;
    default:
        add_status(&l, done->status);
    }
    return text;
}
