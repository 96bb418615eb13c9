// SPDX-License-Identifier: Apache-2.0
// Draws rings of layers, runs them as a driver does, and checks records, outputs and registers (sq_ring_host.h).
#include "sim/block/top/sq_ring_host.h"

#include <assert.h>
#include <string.h>

#include "sim/block/top/sq_top_work.h"

enum { ROWS, COLS };
enum { SLOTS = 6, LONG_SLOTS = 267, PATIENCE = 200000, NEVER = INT32_MAX };
// Cycles: that any layer takes; that 16 bits do not hold; that no layer takes.
enum { SURELY_RUNS = 3, LATE_WATCH = (1 << 16) + 1, LONG_WATCH = 1 << 20 };
enum { OKAY = 0 };
enum { EARLY = 1 << SQ_STATUS_ABORTED | 1 << SQ_STATUS_EXPIRED }; // the layer was ended

// What the host does next; an access each, but for RUN.
enum step {
    BASE,
    BASE_HIGH,
    SIZE,
    ENABLE,
    WATCH,
    WHERE,
    WHERE_HIGH,
    BELL,
    RUN,
    LOOK,
    CLEAR,
    STATUS,
    HEAD,
    CYCLES,
    TAKE,
    QUIET,
    NEXT
};

static bool is_random(const struct sq_ring_host *h)
{
    return h->choice.what == SQ_RING_ANY;
}

uint32_t sq_ring_n_encodes(const unsigned *value)
{
    enum sq_top_unit unit[SQ_UNIT_ENGINE];
    const uint32_t n = sq_top_units(value, unit);
    return n > 0 ? n * SQ_RING_N_ENCODES : 1;
}

static bool is_all_encoders(const struct sq_ring_host *h)
{
    enum sq_top_unit unit[SQ_UNIT_ENGINE];
    return h->choice.what == SQ_RING_ENCODES && sq_top_units(h->value, unit) > 0;
}

static bool is_long(const struct sq_ring_host *h)
{
    return h->choice.what == SQ_RING_LONG;
}

static uint32_t slot_of(const struct sq_ring_host *h, uint32_t i)
{
    return (h->head + i) % h->size;
}

// ---- a ring -------------------------------------------------------------------------------------------

// What runs the next descriptor of the ring. Where none shall be of the engine, the units take turns, ring by ring.
static enum sq_top_unit draw_unit(struct sq_ring_host *h)
{
    enum sq_top_unit unit[SQ_UNIT_ENGINE];
    const uint32_t n = sq_top_units(h->value, unit);
    if (is_all_encoders(h))
        return unit[h->number % n];
    const uint32_t way = is_random(h) && n > 0 ? sq_rng_below(&h->rng, n + 1) : n;
    return way < n ? unit[way] : SQ_UNIT_ENGINE;
}

static void draw_layer(struct sq_ring_host *h, uint32_t i)
{
    struct sq_ring_layer *const y = &h->layer[i];
    enum sq_top_unit units[SQ_UNIT_ENGINE];
    struct sq_top_layer l = sq_top_short_layer(h->value);
    if (h->choice.kind == SQ_AXI_LAZY) {
        l.tiles[ROWS] = 6;
        l.tiles[COLS] = 3;
        l.groups = 5;
    }
    if (is_random(h)) {
        sq_top_draw_shape(h->value, &h->rng, &l);
        for (unsigned a = 0; a < 2; a++)
            l.tiles[a] = l.tiles[a] < 3 ? l.tiles[a] : 3;
    }
    const enum sq_top_unit unit = draw_unit(h);
    const bool encodes = unit != SQ_UNIT_ENGINE;
    const uint32_t n_units = sq_top_units(h->value, units), turns = n_units > 0 ? n_units : 1;
    const uint32_t of_all = SQ_RING_LAYERS * (h->number / turns) + i;
    const struct sq_top_given image =
        encodes ? sq_top_draw_unit(h->value, &h->rng, unit, &h->drawn)
                : sq_top_draw_image(h->value, &h->rng, &l, SQ_DRAWN_RIGHT, &h->drawn);
    if (h->n_words + image.n_words > SQ_DRAWN_WORDS ||
        h->n_out + image.n_want > SQ_DRAWN_OUT_WORDS) {
        h->n = i; // no room: the ring is shorter
        return;
    }
    *y = (struct sq_ring_layer){.image = image};
    y->image.word = h->word + h->n_words;
    y->image.want = h->want + h->n_out;
    memcpy(h->word + h->n_words, image.word, image.n_words * sizeof *image.word);
    memcpy(h->want + h->n_out, image.want, image.n_want * sizeof *image.want);
    h->n_words += image.n_words;
    h->n_out += image.n_want;
    y->base = sq_top_draw_base(&h->rng, i, image.n_words);
    y->wants_notice = sq_rng_below(&h->rng, 4) == 0;
    y->is_refused = is_long(h) || (is_random(h) && sq_rng_below(&h->rng, 6) == 0) ||
                    (is_all_encoders(h) && i % 2);
    if (encodes && !y->is_refused && !h->is_set_up && !h->has_end) { // what it writes ends there
        h->has_end = true;
        y->base = SQ_ADDR_END - image.out - 4 * image.n_want;
    }
    y->image.out += y->base;
    memcpy(y->descriptor, image.word + image.descriptor / 4, sizeof y->descriptor);
    sq_top_move_unit(unit, y->descriptor, y->base);
    y->descriptor[SQ_DESC_KIND] |= (uint32_t)y->wants_notice << SQ_DESC_NOTICE;
    if (y->is_refused && encodes)
        (unit == SQ_UNIT_PASSES      ? sq_spoil_vector
         : unit == SQ_UNIT_ATTENTION ? sq_spoil_attend
                                     : sq_spoil_encoder)(
            y->descriptor, is_random(h) ? sq_rng_below(&h->rng, 256) : of_all / 2, h->value);
    else if (y->is_refused)
        y->descriptor[sq_rng_below(&h->rng, 2) ? SQ_DESC_WORDS - 1 : SQ_DESC_KIND] ^= 1u << 20;
}

// The ring lies at the beginning of memory, across an odd multiple of 4 GiB or behind one, or ends at 2^48, if no image does.
// One that is there may keep its size.
static void place_ring(struct sq_ring_host *h)
{
    const uint32_t size = is_long(h) ? LONG_SLOTS : h->n + 1 + sq_rng_below(&h->rng, SLOTS - h->n);
    h->keeps_size = is_random(h) && h->is_set_up && h->n < h->size && sq_rng_below(&h->extra, 2);
    h->keeps_base = is_random(h) && h->is_set_up && !h->keeps_size && sq_rng_below(&h->extra, 2);
    h->size = h->keeps_size ? h->size : size;
    const uint32_t nbytes = h->size * SQ_SLOT_NBYTES;
    const uint64_t slot = sq_rng_below(&h->rng, 64),
                   odd = (uint64_t)(sq_rng_below(&h->rng, 1 << 16) | 1) << 32;
    const uint64_t base[] = {slot * SQ_SLOT_NBYTES, odd + slot * SQ_SLOT_NBYTES,
                             odd - SQ_SLOT_NBYTES, SQ_ADDR_END - nbytes};
    const uint32_t way = sq_rng_below(&h->rng, 4);
    h->base = h->keeps_base ? h->base : base[way == 3 && h->has_end ? 0 : way];
    h->head = 0;
    h->is_set_up = false;
}

// The layers of the caller, all rung for at once.
static void take_program(struct sq_ring_host *h)
{
    const struct sq_top_program *const p = h->choice.given;
    h->n = h->n_rung = p->n;
    h->has_irq = true;
    h->is_single = false;
    h->abort_at = NEVER;
    h->watchdog = 0;
    h->memory.may_be_void = false;
    for (uint32_t i = 0; i < p->n; i++) {
        struct sq_ring_layer *const y = &h->layer[i];
        *y = (struct sq_ring_layer){.image = p->layer[i], .base = p->layer[i].descriptor};
        memcpy(y->descriptor, y->image.word, sizeof y->descriptor);
    }
    if (h->choice.kind == 2 && h->number % 2 == 0) {
        h->fault = sq_rng_below(&h->rng, 2) ? SQ_AXI_SLVERR : SQ_AXI_DECERR;
        h->fault_of = p->n - 1;
    }
    if (!h->is_set_up) {
        h->base = p->base;
        h->size = p->size;
        h->head = 0;
    }
    h->step = h->is_set_up ? ENABLE : BASE;
}

static bool is_beyond(const struct sq_ring_host *h)
{
    return h->base + (uint64_t)h->size * SQ_SLOT_NBYTES > SQ_ADDR_END;
}

static void begin_ring(struct sq_ring_host *h)
{
    h->rng.state = (h->choice.seed + (is_random(h) || is_all_encoders(h) ? h->number : 0)) *
                   UINT64_C(0x9e3779b97f4a7c15);
    (void)sq_rng_next(&h->rng);
    h->n_words = h->n_out = h->n_done = 0;
    h->has_irq = h->may_irq = h->was_aborted = h->has_rung_again = false;
    h->fault = SQ_AXI_GOOD;
    h->fault_in_record = h->has_end = false;
    if (h->choice.what == SQ_RING_GIVEN) {
        take_program(h);
        return;
    }
    h->n = is_random(h)                       ? 1 + sq_rng_below(&h->rng, SQ_RING_LAYERS)
           : is_long(h) || is_all_encoders(h) ? SQ_RING_LAYERS
                                              : 2;
    const uint32_t drawn = h->n;
    for (uint32_t i = 0; i < drawn && i < h->n; i++)
        draw_layer(h, i);
    assert(h->n > 0);
    h->is_single = is_random(h) && sq_rng_below(&h->rng, 5) == 0;
    if (h->is_single)
        h->n = 1;
    const bool moves = sq_rng_below(&h->rng, 3) == 0 && !is_long(h);
    if (!h->is_set_up || h->n >= h->size || moves)
        place_ring(h);
    if (is_long(h) && h->number == 0)
        h->base = SQ_ADDR_END - SQ_SLOT_NBYTES; // its doorbell is refused
    h->has_irq = !is_random(h) || sq_rng_below(&h->rng, 4) > 0;
    h->n_rung = is_random(h) ? 1 + sq_rng_below(&h->rng, h->n) : h->n;
    const uint32_t every = h->choice.kind == SQ_AXI_LAZY ? 4 : 1;
    h->abort_at = NEVER;
    const bool expires = h->choice.what == SQ_RING_EXPIRES;
    h->watchdog = expires ? h->number + 1 : 0;
    if (expires && h->watchdog == SQ_RING_N_EXPIRES) { // whose descriptors come later than that
        h->watchdog = LATE_WATCH;
        h->memory.choice.n[0] = LATE_WATCH + 1;
    }
    if (h->choice.what == SQ_RING_ABORTS)
        h->abort_at = (int32_t)(every * h->number);
    const uint32_t late = h->number - SQ_RING_N_CLEAN;
    if (h->choice.what == SQ_RING_ABORTS && h->number >= SQ_RING_N_CLEAN) {
        h->abort_at = late % 2 ? NEVER : (int32_t)late / 2;
        h->fault = late % 2 ? SQ_AXI_DECERR : SQ_AXI_SLVERR;
        h->fault_of = 0;
    }
    if (is_random(h) && sq_rng_below(&h->rng, 4) == 0)
        h->abort_at = (int32_t)sq_rng_below(&h->rng, 1500);
    if (is_random(h) && sq_rng_below(&h->rng, 6) == 0)
        h->watchdog = 1 + sq_rng_below(&h->rng, 800);
    h->is_lowered = is_random(h) && sq_rng_below(&h->extra, 4) == 0;
    h->has_lowered = false;
    h->lower_at = sq_rng_below(&h->extra, 300);
    if (h->is_lowered && h->watchdog == 0)
        h->watchdog = 1 + sq_rng_below(&h->extra, 200);
    if (is_random(h) && sq_rng_below(&h->rng, 4) == 0) {
        h->fault_of = sq_rng_below(&h->rng, h->n);
        h->fault_in_record = sq_rng_below(&h->rng, 2);
        const uint32_t i = sq_rng_below(&h->rng, h->fault_in_record ? 2 : 4);
        h->fault = (enum sq_axi_fault)(SQ_AXI_SLVERR + i + i / 2); // LAST of reads alone
    }
    if (is_long(h) && h->number == 1) { // whose last record has a fault
        h->fault = SQ_AXI_SLVERR;
        h->fault_of = h->n - 1;
        h->fault_in_record = true;
    }
    h->memory.may_be_void = h->abort_at != NEVER || h->watchdog > 0;
    h->step = h->is_set_up ? ENABLE : h->keeps_base ? SIZE : BASE;
}

// ---- memory -------------------------------------------------------------------------------------------

static bool is_in_ring(const struct sq_ring_host *h, uint64_t addr)
{
    return addr - h->base < h->size * SQ_SLOT_NBYTES;
}

// The layer of a slot; NULL: it has none.
static const struct sq_ring_layer *layer_at(const struct sq_ring_host *h, uint32_t slot)
{
    const uint32_t i = (slot + h->size - h->head) % h->size;
    return i < h->n ? &h->layer[i] : NULL;
}

static int32_t read_word(void *ctx, uint64_t addr, unsigned i)
{
    const struct sq_ring_host *const h = ctx;
    const uint32_t junk = (uint32_t)(addr / 4 + i) * 0x9e3779b9u;
    const uint64_t at = addr - h->base;
    if (is_in_ring(h, addr)) {
        const struct sq_ring_layer *const y = layer_at(h, (uint32_t)(at / SQ_SLOT_NBYTES));
        const uint64_t word = at % SQ_SLOT_NBYTES / 4 + i;
        return (int32_t)(y && word < SQ_DESC_WORDS ? y->descriptor[word] : junk);
    }
    for (uint32_t k = h->n_done; k > 0; k--) { // what layers that have ended wrote
        const struct sq_top_given *const of = &h->layer[k - 1].image;
        if (addr >= of->out && (addr - of->out) / 4 + i < of->n_want)
            return of->want[(addr - of->out) / 4 + i];
    }
    for (uint32_t k = 0; k < h->n; k++) {
        const uint64_t word = (addr - h->layer[k].base) / 4 + i;
        if (addr >= h->layer[k].base && word < h->layer[k].image.n_words)
            return h->layer[k].image.word[word];
    }
    return (int32_t)junk;
}

static const char *write_record(struct sq_ring_host *h, uint64_t addr, const int32_t *word,
                                unsigned n)
{
    struct sq_ring_layer *const y = &h->layer[h->n_done];
    const uint32_t slot = slot_of(h, h->n_done);
    const uint64_t want = h->base + slot * SQ_SLOT_NBYTES + 4 * (SQ_DESC_WORDS + y->n_record);
    if (h->is_single || h->n_done >= h->n_rung || addr != want)
        return "host.record_place";
    for (unsigned i = 0; i < n; i++)
        y->record[y->n_record++] = (uint32_t)word[i];
    if (y->n_record < SQ_RECORD_WORDS)
        return NULL;
    h->n_done++;
    const bool is_early = y->record[SQ_RECORD_STATUS] & EARLY;
    h->may_irq = h->may_irq || (y->wants_notice && !is_early) || h->n_done == h->n_rung ||
                 h->abort_at != NEVER;
    return NULL;
}

static const char *write_words(void *ctx, uint64_t addr, const int32_t *word, unsigned n)
{
    struct sq_ring_host *const h = ctx;
    if (is_in_ring(h, addr))
        return write_record(h, addr, word, n);
    if (h->n_done >= h->n_rung)
        return "memory.outside";
    struct sq_ring_layer *const y = &h->layer[h->n_done];
    const uint64_t first = (addr - y->image.out) / 4;
    if (addr < y->image.out || first + n > y->image.n_want || y->is_refused)
        return "memory.outside";
    for (unsigned i = 0; i < n; i++)
        y->has_wrong = y->has_wrong || word[i] != y->image.want[first + i];
    y->n_written += n;
    return y->has_wrong ? "memory.output" : NULL;
}

static enum sq_axi_fault fault_at(void *ctx, uint64_t addr, unsigned size)
{
    const struct sq_ring_host *const h = ctx;
    const uint32_t burst = size * h->value[SQ_TOP_MAX_BURST], record = 4 * SQ_DESC_WORDS;
    const uint32_t at = h->fault_in_record       ? record
                        : h->fault < SQ_AXI_LATE ? 0
                                                 : (burst < record ? burst : record) - size;
    return h->fault != SQ_AXI_GOOD &&
                   addr == h->base + slot_of(h, h->fault_of) * SQ_SLOT_NBYTES + at
               ? h->fault
               : SQ_AXI_GOOD;
}

static const struct sq_axi_content content = {read_word, write_words, fault_at};

// ---- what must have happened --------------------------------------------------------------------------

// A STATUS without BUSY of layer number i.
static const char *check_status(const struct sq_ring_host *h, uint32_t i, uint32_t status)
{
    const struct sq_ring_layer *const y = &h->layer[i];
    const bool has_fault = h->fault != SQ_AXI_GOOD && h->fault_of == i && !h->fault_in_record;
    const uint32_t refused = 1u << SQ_STATUS_REFUSED;
    const uint32_t want = has_fault ? refused | sq_host_fault_status(h->fault) << SQ_STATUS_READ
                          : y->is_refused ? refused
                                          : y->image.status << SQ_STATUS_ENGINE;
    const uint32_t early = status & EARLY;
    if (early) {
        const bool may = early == 1u << SQ_STATUS_ABORTED   ? h->was_aborted
                         : early == 1u << SQ_STATUS_EXPIRED ? h->watchdog > 0
                                                            : false;
        return may && (status & ~early &
                       ~(7u << SQ_STATUS_READ | y->image.status << SQ_STATUS_ENGINE)) == 0
                   ? NULL
                   : "host.ended_early";
    }
    if (status != want)
        return "host.status";
    return want == refused || has_fault                                       ? NULL
           : y->has_wrong || y->n_written + y->image.n_gap != y->image.n_want ? "host.outputs"
                                                                              : NULL;
}

static uint64_t count_of(const struct sq_ring_layer *y, enum sq_reg_counter i)
{
    return y->record[SQ_RECORD_CYCLES + 2 * i] | (uint64_t)y->record[SQ_RECORD_CYCLES + 2 * i + 1]
                                                     << 32;
}

static const char *check_record(const struct sq_ring_host *h, uint32_t i)
{
    const struct sq_ring_layer *const y = &h->layer[i];
    const uint32_t status = y->record[SQ_RECORD_STATUS], start = h->value[SQ_TOP_COUNT_START];
    const uint64_t cycles = count_of(y, SQ_COUNT_CYCLES) - start,
                   busy = count_of(y, SQ_COUNT_BUSY) - start,
                   wait = count_of(y, SQ_COUNT_WAIT) - start,
                   blocked = count_of(y, SQ_COUNT_BLOCKED) - start,
                   written = count_of(y, SQ_COUNT_WRITE) - start;
    if (!(status >> SQ_RECORD_DONE) || (status & 1) || y->record[SQ_RECORD_SLOT] != slot_of(h, i) ||
        y->record[14] != 0 || y->record[15] != 0)
        return "host.record";
    const bool has_watch = h->watchdog > 0 && !h->is_lowered;
    if (cycles != busy + wait + blocked || (has_watch && cycles > h->watchdog) ||
        (has_watch && (status >> SQ_STATUS_EXPIRED & 1) && cycles != h->watchdog))
        return "host.record_cycles";
    // The last beats of a layer that ends early go when it runs no more.
    const uint64_t seen = 4 * y->n_written / (h->value[SQ_TOP_DATA_W] / 8);
    if ((status & EARLY) ? seen < written : seen != written)
        return "host.record_beats";
    for (unsigned k = 0; y->image.counted && k < SQ_HOST_COUNTERS; k++)
        y->image.counted[k] = count_of(y, (enum sq_reg_counter)k) - start;
    return check_status(h, i, status & ~(1u << SQ_RECORD_DONE));
}

// ---- accesses -----------------------------------------------------------------------------------------

static void begin_access(struct sq_ring_host *h, bool is_write, uint32_t addr, uint32_t data)
{
    h->access = sq_lite_begin(is_write, addr, data);
}

// A read of any register, mostly of those of the ring; a write that is refused, or that means nothing.
static bool begin_extra(struct sq_ring_host *h)
{
    enum { TAIL_BEYOND, TAIL_FAR, ABORT, TAIL_OF_HEAD, WAYS = 10 }; // most are reads
    static const struct {
        uint32_t addr, data;
    } busy[] = {
        {SQ_REG_RING_BASE, 0}, {SQ_REG_RING_SIZE, 9}, {SQ_REG_CONTROL, 1}, {SQ_REG_TAIL, 0}};
    const bool is_idle = h->step >= ENABLE && h->step < BELL;
    const bool has_begun = h->step == RUN && h->ran < SURELY_RUNS && h->watchdog == 0;
    if (h->choice.what == SQ_RING_LATE && !h->has_looked) {
        h->has_looked = true;
        begin_access(h, false, SQ_REG_RING_BASE + 4 * (h->number % 5), 0);
        h->want_resp = OKAY;
        return true;
    }
    if (!is_random(h) || sq_rng_below(&h->extra, h->step == RUN && !has_begun ? 64 : 2) > 0)
        return false;
    const uint32_t way = sq_rng_below(&h->extra, WAYS);
    uint32_t addr = sq_rng_below(&h->extra, 256);
    if (has_begun) {
        const uint32_t i = way % (h->is_single ? 4 : 3);
        h->want_resp = SQ_LITE_SLVERR;
        begin_access(h, true, busy[i].addr, busy[i].data);
    } else if (h->step >= ENABLE && way <= TAIL_FAR) {
        h->want_resp = SQ_LITE_SLVERR;
        begin_access(h, true, SQ_REG_TAIL, way == TAIL_FAR ? 1u << 16 | h->head : h->size);
    } else if (is_idle && way == ABORT) {
        h->want_resp = OKAY;
        begin_access(h, true, SQ_REG_CONTROL, 1u << SQ_CONTROL_ABORT);
    } else if (is_idle && way == TAIL_OF_HEAD && !is_beyond(h)) {
        h->want_resp = OKAY;
        begin_access(h, true, SQ_REG_TAIL, h->head);
    } else {
        addr = way % 4 ? SQ_REG_RING_BASE + addr % 5 * 4 : addr;
        h->want_resp = sq_lite_has_register(addr) ? OKAY : SQ_LITE_SLVERR;
        begin_access(h, false, addr, 0);
    }
    return true;
}

static void begin_run(struct sq_ring_host *h)
{
    const bool is_late = h->waited > 0 && sq_rng_below(&h->rng, 64) == 0;
    if (h->is_lowered && !h->has_lowered && h->ran >= h->lower_at)
        begin_access(h, true, SQ_REG_WATCHDOG, h->watchdog);
    else if (!h->was_aborted && h->waited >= (uint64_t)h->abort_at)
        begin_access(h, true, SQ_REG_CONTROL, 1u << SQ_CONTROL_ABORT);
    else if (h->was_aborted && !h->has_rung_again && h->number % 4 == 1) {
        h->has_rung_again = true;
        begin_access(h, true, SQ_REG_TAIL, slot_of(h, h->n_rung));
    } else if (h->n_rung < h->n && is_late)
        begin_access(h, true, SQ_REG_TAIL, slot_of(h, h->n));
    else if (!h->has_irq)
        begin_access(h, false, SQ_REG_STATUS, 0);
}

static void begin_step(struct sq_ring_host *h)
{
    const uint64_t descriptor = h->base + h->head * SQ_SLOT_NBYTES;
    h->is_extra = begin_extra(h);
    if (h->is_extra)
        return;
    const uint32_t bell = h->is_single ? SQ_REG_CONTROL : SQ_REG_TAIL;
    const struct {
        bool is_write;
        uint32_t addr, data;
    } access[] = {
        [BASE] = {true, SQ_REG_RING_BASE, (uint32_t)h->base | 0x55},
        [BASE_HIGH] = {true, SQ_REG_RING_BASE_HIGH, (uint32_t)(h->base >> 32) | 0xabcd0000u},
        [SIZE] = {true, SQ_REG_RING_SIZE, h->size | 0xabcd0000u},
        [ENABLE] = {true, SQ_REG_IRQ_ENABLE, (uint32_t)h->has_irq << SQ_IRQ_DONE},
        [WATCH] = {true, SQ_REG_WATCHDOG, h->is_lowered ? LONG_WATCH : h->watchdog},
        [WHERE] = {true, SQ_REG_DESCRIPTOR, (uint32_t)descriptor},
        [WHERE_HIGH] = {true, SQ_REG_DESCRIPTOR_HIGH, (uint32_t)(descriptor >> 32)},
        [BELL] = {true, bell, h->is_single ? 1 : slot_of(h, h->n_rung)},
        [LOOK] = {false, SQ_REG_IRQ_STATE, 0},
        [CLEAR] = {true, SQ_REG_IRQ_STATE, 3},
        [STATUS] = {false, SQ_REG_STATUS, 0},
        [HEAD] = {false, SQ_REG_HEAD, 0},
        [CYCLES] = {false, SQ_REG_CYCLES, 0},
        [TAKE] = {true, SQ_REG_IRQ_STATE, 3},
        [QUIET] = {false, SQ_REG_IRQ_STATE, 0}};
    h->may_irq = h->may_irq || (h->step == BELL && h->is_single);
    if (h->step == RUN)
        begin_run(h);
    else if (h->step < NEXT)
        begin_access(h, access[h->step].is_write, access[h->step].addr, access[h->step].data);
}

// An access of RUN: an abort, a second doorbell, or a look at STATUS.
static const char *end_run(struct sq_ring_host *h, const struct sq_lite_access *a)
{
    if (a->addr == SQ_REG_STATUS) {
        h->step = a->data & 1 ? RUN : STATUS;
        return NULL;
    }
    h->has_lowered = h->has_lowered || a->addr == SQ_REG_WATCHDOG;
    h->was_aborted = h->was_aborted || a->addr == SQ_REG_CONTROL;
    if (a->addr != SQ_REG_TAIL)
        return a->response == OKAY ? NULL : "host.response";
    if (a->response == OKAY)
        h->n_rung = h->n;
    return a->response == OKAY || h->was_aborted ? NULL : "host.response_to_doorbell";
}

// STATUS behind a ring: a fault of the last record is there, too.
static const char *check_last(const struct sq_ring_host *h, uint32_t status)
{
    if (h->is_single)
        return check_status(h, 0, status);
    const bool has_fault = h->fault != SQ_AXI_GOOD && h->fault_in_record && h->n_done > 0 &&
                           h->fault_of == h->n_done - 1;
    const uint32_t written = status >> SQ_STATUS_WRITTEN & 7;
    return has_fault && written != sq_host_fault_status(h->fault) ? "host.status_of_record" : NULL;
}

// Nothing runs any more: all is checked up to where the ring is, and what is left of it is rung for.
static const char *end_ring(struct sq_ring_host *h, uint32_t head)
{
    const bool is_short = h->n_done < h->n_rung;
    if (h->is_single)
        return head == h->head ? NULL : "host.head";
    if (head != slot_of(h, h->n_done) || (is_short && !h->was_aborted))
        return "host.head";
    return NULL;
}

static const char *end_access(struct sq_ring_host *h)
{
    const struct sq_lite_access a = h->access;
    if (h->is_extra) {
        h->is_extra = false;
        return a.response != h->want_resp                     ? "host.response_to_extra"
               : h->choice.what == SQ_RING_LATE && a.data > 0 ? "host.not_reset"
                                                              : NULL;
    }
    if (h->step == RUN)
        return end_run(h, &a);
    if (h->step == BELL && !h->is_single && is_beyond(h)) {
        place_ring(h);
        h->step = BASE;
        return a.response == OKAY ? "host.ring_beyond_memory" : NULL;
    }
    if (a.response != OKAY)
        return "host.response";
    switch (h->step) {
    case BELL:
        h->step = RUN;
        h->ran = 0;
        return NULL;
    case BASE_HIGH:
        h->step = h->keeps_size ? ENABLE : SIZE;
        return NULL;
    case STATUS:
        h->step = a.data & 1 ? RUN : HEAD;
        return h->step == HEAD ? check_last(h, a.data) : NULL;
    case HEAD:
        h->step = CYCLES;
        return end_ring(h, a.data);
    case CYCLES:
        h->step = TAKE;
        return !h->is_single && h->n_done > 0 &&
                       a.data != h->layer[h->n_done - 1].record[SQ_RECORD_CYCLES] && !h->was_aborted
                   ? "host.counters"
                   : NULL;
    case QUIET:
        h->step = NEXT;
        return a.data == 0 ? NULL : "host.interrupt_stays";
    default:
        h->step++;
        return NULL;
    }
}

// Behind the last access of a ring: layers that were not rung for, or fell to an abort, come next; then the next ring.
static const char *end_work(struct sq_ring_host *h)
{
    const uint32_t n = h->is_single ? 0 : h->n_done;
    const char *complaint = NULL;
    for (uint32_t i = 0; i < n && !complaint; i++) {
        complaint = check_record(h, i);
        h->n_sound += h->layer[i].record[SQ_RECORD_STATUS] == 1u << SQ_RECORD_DONE;
    }
    if (complaint)
        return complaint;
    if (!h->is_single && h->n_done < h->n && (!h->was_aborted || h->number % 2)) {
        h->n_rung = h->n;
        h->abort_at = NEVER;
        h->may_irq = false;
        h->step = BELL;
        return NULL;
    }
    h->is_set_up =
        h->n_done == h->n || h->is_single; // else slots are left, and the ring is set up anew
    h->head = h->is_single ? h->head : slot_of(h, h->n_done);
    if (++h->number < h->choice.end)
        begin_ring(h);
    return NULL;
}

// ---- the environment ----------------------------------------------------------------------------------

uint64_t sq_ring_host_disturb(struct sq_rng *rng, uint32_t lost, struct sq_env_choice *choice)
{
    const struct sq_top_program *const p = choice->given;
    uint64_t words = 0;
    for (uint32_t i = 0; i < p->n; i++)
        words += p->layer[i].n_want;
    choice->kind = 2;
    memset(choice->n, 0, sizeof choice->n);
    choice->n[0] = sq_rng_below(rng, 2);
    choice->seed = sq_rng_next(rng);
    choice->dram = NULL;
    choice->end = lost + lost % 2 + 2; // even numbers have a fault
    return words;
}

void sq_ring_host_init(const unsigned *value, const struct sq_env_choice *choice, void *env)
{
    struct sq_ring_host *const h = env;
    h->value = value;
    h->choice = *choice;
    h->number = choice->begin;
    h->extra.state = choice->seed ^ 0x5eed;
    h->is_extra = h->has_looked = false;
    sq_axi_memory_init(&h->memory, value[SQ_TOP_DATA_W], choice, &content, h);
    h->step = NEXT;
    h->idle = choice->what == SQ_RING_LATE ? choice->begin : 0;
    if (h->number < choice->end)
        begin_ring(h);
}

void sq_ring_host_drive(const void *env, struct sq_pins *pins)
{
    const struct sq_ring_host *const h = env;
    sq_axi_memory_drive(&h->memory, pins);
    sq_lite_drive(&h->access, h->value[SQ_TOP_DATA_W], pins);
}

static const char *clock_steps(struct sq_ring_host *h, bool irq)
{
    const bool waits = h->step == RUN;
    h->waited = h->step < BELL ? 0 : h->waited + 1;
    h->ran++;
    if (waits && ++h->still > PATIENCE)
        return "host.no_end";
    if (irq && !(h->has_irq && h->may_irq))
        return "host.interrupt";
    if (waits && h->has_irq && irq && !h->access.is_there)
        h->step = LOOK;
    if (h->step == NEXT)
        return h->number < h->choice.end ? end_work(h) : NULL;
    if (h->idle > 0)
        h->idle--;
    else if (!h->access.is_there)
        begin_step(h);
    return NULL;
}

const char *sq_ring_host_clock(void *env, const struct sq_pins *pins)
{
    struct sq_ring_host *const h = env;
    const char *const memory = sq_axi_memory_clock(&h->memory, pins);
    const enum sq_lite_edge edge = sq_lite_clock(&h->access, h->value[SQ_TOP_DATA_W], pins);
    const char *const access = edge == SQ_LITE_OVER    ? end_access(h)
                               : edge == SQ_LITE_EARLY ? "host.answer_before_question"
                                                       : NULL;
    const char *const steps = clock_steps(h, pins->status[0]);
    if ((pins->reply_valid[0] && pins->reply_ready[0]) ||
        (pins->ask_valid[2] && pins->ask_ready[2]))
        h->still = 0;
    return memory ? memory : access ? access : steps;
}

bool sq_ring_host_is_busy(const void *env)
{
    const struct sq_ring_host *const h = env;
    return h->number < h->choice.end || sq_axi_memory_is_busy(&h->memory);
}
