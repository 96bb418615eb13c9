// SPDX-License-Identifier: Apache-2.0
// Starts layers by the driver, disturbs it by accesses that must change nothing, and checks all that the chip answers
// (sq_top_host.h).
#include "sim/block/top/sq_top_host.h"

#include <string.h>

enum { ROWS, COLS };
// Cycles: in which no beat moves, on an indexed chip, whatever the ends of its columns are; that any layer takes.
enum { PATIENCE = 200000, PATIENCE_INDEXED = 20000, SURELY_RUNS = 3 };

// Where the layer is. The driver's call is made from BEFORE to TAKEN.
enum phase {
    AFTER_RESET, // registers are read that it clears
    BEFORE,      // it has not started
    RUNS,
    ENDED, // the interrupt, or STATUS, has said so
    TAKEN, // the driver takes the interrupt back
    QUIET, // that is looked at
    NEXT
};

struct host {
    struct sq_axi_memory memory;
    struct sq_top_work work;
    struct sq_rng rng;
    uint32_t idle; // cycles before the first access
    enum phase phase;
    bool has_irq;    // enabled
    bool irq_before; // in the last cycle without a response to a write
    bool had_irq;    // when the write at hand was done
    bool is_cleared; // the interrupt of this layer, while the host still waited for it
    unsigned spared; // accesses while the interrupt is there, before it is cleared (begin_driven)
    uint64_t lasted; // cycles of the first layer
    uint64_t waited, still; // cycles of the layer; since a beat moved
    uint32_t n_cleared;     // registers that a reset clears, as looked at
    uint32_t n_done;        // layers without an error
    struct sq_lite_access access;
    bool is_extra; // the access is none of the driver's: what must not disturb
    uint32_t want_resp, want_next;
    struct sq_lite_call call;
    struct sq_driver_done done; // once the call is over
};

static bool is_random(const struct host *h)
{
    return h->work.choice.kind == 2;
}

// ---- accesses -----------------------------------------------------------------------------------------

// Cycles that a channel of the host waits.
static uint32_t pause(struct host *h)
{
    return is_random(h) && sq_rng_below(&h->rng, 2) ? sq_rng_below(&h->rng, 6) : 0;
}

static void begin_access(struct host *h, bool is_write, uint32_t addr, uint32_t data)
{
    h->access = sq_lite_begin(is_write, addr, data);
    h->access.addr_wait = pause(h);
    h->access.data_wait = pause(h);
    h->want_resp = SQ_LITE_OKAY;
    h->is_extra = false;
}

// All bits of a register but those that mean something.
#define OTHERS 0xfffffffcu

// What changes nothing, and when: it is refused, or writes bits that mean nothing, or the address of the next
// descriptor, or clears an interrupt before there is one. The first ones are refused at any time.
enum { FIRST = 1, WHILE = 2, N_REFUSED = 13 };
static const struct {
    uint32_t addr, data, strb, resp, when;
} extra[] = {{SQ_REG_STATUS, 0xffffffffu, 15, SQ_LITE_SLVERR, FIRST | WHILE},
             {SQ_REG_ID, 0, 15, SQ_LITE_SLVERR, FIRST | WHILE},
             {SQ_REG_END, 1, 15, SQ_LITE_SLVERR, FIRST | WHILE},
             {SQ_REG_IRQ_ENABLE, 0, 7, SQ_LITE_SLVERR, FIRST | WHILE},
             {0xfc, 1, 15, SQ_LITE_SLVERR, FIRST | WHILE},
             {SQ_REG_IRQ_STATE, 1, 0, SQ_LITE_SLVERR, FIRST | WHILE},
             {SQ_REG_DESCRIPTOR, 4, 14, SQ_LITE_SLVERR, FIRST | WHILE},
             {SQ_REG_COUNTER_HIGH, 1, 15, SQ_LITE_SLVERR, FIRST | WHILE},
             {SQ_REG_CONTROL + 1, 1, 15, SQ_LITE_SLVERR, FIRST | WHILE},
             {SQ_REG_CONTROL + 2, 1, 15, SQ_LITE_SLVERR, FIRST | WHILE},
             {SQ_REG_IRQ_STATE + 1, 1, 15, SQ_LITE_SLVERR, FIRST | WHILE},
             {SQ_REG_IRQ_ENABLE + 2, 0, 15, SQ_LITE_SLVERR, FIRST | WHILE},
             {SQ_REG_DESCRIPTOR + 3, 4, 15, SQ_LITE_SLVERR, FIRST | WHILE},
             {SQ_REG_CONTROL, OTHERS, 15, SQ_LITE_OKAY, FIRST},
             {SQ_REG_IRQ_STATE, OTHERS, 15, SQ_LITE_OKAY, FIRST | WHILE},
             {SQ_REG_DESCRIPTOR, 0xa5a5a5a4u, 15, SQ_LITE_OKAY, WHILE},
             {SQ_REG_DESCRIPTOR_HIGH, 0xa5a5a5a4u, 15, SQ_LITE_OKAY, WHILE},
             {SQ_REG_IRQ_STATE, 1, 15, SQ_LITE_OKAY, WHILE}};

// An access beside those of the driver.
static void begin_extra(struct host *h)
{
    const uint32_t i = sq_rng_below(&h->rng, 12);
    uint32_t j = sq_rng_below(&h->rng, sizeof extra / sizeof *extra);
    const bool has_begun = h->phase == RUNS && h->waited < SURELY_RUNS;
    if (i < 4 && !has_begun) {
        // A counter's high half belongs to the last good read of one.
        const uint32_t any = sq_rng_below(&h->rng, 256), way = sq_rng_below(&h->rng, 4);
        const uint32_t counter = SQ_REG_CYCLES + any % (SQ_REG_COUNTER_HIGH - SQ_REG_CYCLES);
        begin_access(h, false,
                     way == 0   ? any / 4 * 4
                     : way == 1 ? any
                     : way == 2 ? counter
                                : (uint32_t)SQ_REG_COUNTER_HIGH,
                     0);
        h->want_resp = sq_lite_has_register(h->access.addr) ? SQ_LITE_OKAY : SQ_LITE_SLVERR;
    } else if (has_begun) {
        begin_access(h, true, sq_rng_below(&h->rng, 4) ? SQ_REG_CONTROL : SQ_REG_RING_BASE_HIGH, 1);
        h->access.addr_wait = h->access.data_wait = 0;
        h->want_resp = SQ_LITE_SLVERR;
    } else {
        if (!(extra[j].when & (h->phase == RUNS ? WHILE : FIRST)))
            j %= N_REFUSED;
        begin_access(h, true, extra[j].addr, extra[j].data);
        h->access.strb = extra[j].strb;
        h->want_resp = extra[j].resp;
    }
    h->is_extra = true;
}

static void begin_own(struct host *h, bool is_write, uint32_t addr, uint32_t data)
{
    begin_access(h, is_write, addr, data);
    h->is_extra = true;
}

// Now and then a write of a random host has a refused one close behind it. Not the start: its layer may end
// before that one is answered.
static void begin_follower(struct host *h)
{
    struct sq_lite_access *const a = &h->access;
    if (!is_random(h) || !a->is_there || !a->is_write ||
        (a->addr == SQ_REG_CONTROL && !h->is_extra) || sq_rng_below(&h->rng, 3) > 0)
        return;
    const uint32_t j = sq_rng_below(&h->rng, N_REFUSED);
    a->next = (struct sq_lite_follower){.is_there = true,
                                        .addr = extra[j].addr,
                                        .data = extra[j].data,
                                        .strb = extra[j].strb,
                                        .addr_wait = pause(h),
                                        .data_wait = pause(h)};
    h->want_next = extra[j].resp;
}

// ---- the driver ---------------------------------------------------------------------------------------

// Makes the driver's call with what has been answered.
static void drive_on(struct host *h)
{
    const struct sq_driver d = sq_lite_driver(&h->call, h->has_irq);
    (void)sq_driver_run(&d, h->work.at.image.descriptor, &h->done);
}

static void answer(struct host *h, uint32_t data)
{
    sq_lite_answer(&h->call, data);
    drive_on(h);
}

// The access that the driver needs next, if it does not wait for the interrupt.
static void begin_driven(struct host *h)
{
    const struct sq_lite_call *const c = &h->call;
    if (c->needs != SQ_LITE_READ && c->needs != SQ_LITE_WRITE)
        return;
    if (c->needs == SQ_LITE_WRITE && c->addr == SQ_REG_IRQ_STATE) {
        // Bits of IRQ_STATE that mean nothing are written; then it is read.
        if (h->spared++ < 2) {
            begin_own(h, h->spared == 1, SQ_REG_IRQ_STATE, OTHERS);
            return;
        }
        h->phase = TAKEN;
    }
    if (c->needs == SQ_LITE_WRITE && c->addr == SQ_REG_CONTROL)
        h->waited = h->still = 0;
    const uint32_t others = !is_random(h)                       ? 0
                            : c->addr == SQ_REG_IRQ_ENABLE      ? OTHERS
                            : c->addr == SQ_REG_DESCRIPTOR_HIGH ? 0xffff0000u
                                                                : 0;
    begin_access(h, c->needs == SQ_LITE_WRITE, c->addr, c->data | others);
}

// What a reset clears.
static const uint32_t cleared[] = {SQ_REG_STATUS,     SQ_REG_IRQ_ENABLE,      SQ_REG_IRQ_STATE,
                                   SQ_REG_DESCRIPTOR, SQ_REG_DESCRIPTOR_HIGH, SQ_REG_COUNTER_HIGH};

enum { CLEARS = SQ_HOST_N_CLEARS / 2 };

// The next access, or none.
static void begin_next(struct host *h)
{
    const bool is_at_start = h->phase == RUNS && h->waited < SURELY_RUNS;
    if (is_random(h) && h->phase <= RUNS &&
        sq_rng_below(&h->rng, is_at_start        ? 2
                              : h->phase == RUNS ? 24
                                                 : 8) == 0)
        begin_extra(h);
    else if (h->phase == AFTER_RESET)
        begin_own(h, false, cleared[h->n_cleared], 0);
    else if (h->phase == QUIET)
        begin_own(h, false, SQ_REG_IRQ_STATE, 0);
    else if (h->phase == RUNS && h->work.choice.what == SQ_HOST_CLEARS &&
             h->waited + h->work.number % CLEARS == h->lasted)
        begin_own(h, true, SQ_REG_IRQ_STATE, h->work.number < CLEARS ? 1 : 2);
    else
        begin_driven(h);
}

static void begin_layer(struct host *h, uint32_t number)
{
    sq_top_work_begin(&h->work, number);
    h->phase = BEFORE;
    h->is_cleared = false;
    h->spared = 0;
    h->has_irq = !is_random(h) || sq_rng_below(&h->rng, 4) > 0;
    h->call = (struct sq_lite_call){.n = 0};
    drive_on(h);
}

// The interrupt has come, or an access has cleared it that saw it.
static void end_layer(struct host *h)
{
    h->phase = ENDED;
    if (h->call.needs == SQ_LITE_WAIT)
        answer(h, true);
}

// ---- what must have happened --------------------------------------------------------------------------

// What the driver says of the layer.
static const char *check_done(const struct host *h)
{
    const struct sq_top_work *const w = &h->work;
    const struct sq_top_given *const given = w->choice.given;
    const uint64_t start = w->value[SQ_TOP_COUNT_START];
    const struct sq_driver_done *const d = &h->done;
    const uint64_t n[] = {d->cycles - start, d->busy - start, d->wait - start, d->blocked - start};
    _Static_assert(sizeof n / sizeof *n == SQ_HOST_COUNTERS, "in their order");
    if (d->result != (d->status ? SQ_DRIVER_FAILED : SQ_DRIVER_OK))
        return "host.driver";
    const char *const complaint = sq_top_work_status(w, d->status);
    if (complaint)
        return complaint;
    if (given && given->counted)
        memcpy(given->counted, n, sizeof n);
    if (n[SQ_COUNT_CYCLES] != n[SQ_COUNT_BUSY] + n[SQ_COUNT_WAIT] + n[SQ_COUNT_BLOCKED])
        return "host.counters";
    if (d->read_beats + d->read_wait + d->read_full - 3 * start > n[SQ_COUNT_CYCLES])
        return "host.memory_causes"; // each of them is another cycle of the channel
    if (w->at.n_read == 0)
        return NULL;
    const uint64_t written = 4 * w->at.image.n_want / (w->value[SQ_TOP_DATA_W] / 8);
    return d->read_beats - start != w->at.n_read ? "host.beats_read"
           : d->write_beats - start != written   ? "host.beats_written"
                                                 : NULL;
}

// A write of a host that still waits has cleared the interrupt only if there was one when it was done: one that
// comes in that very cycle stays.
static const char *end_own(struct host *h)
{
    const struct sq_lite_access *const a = &h->access;
    const bool clears =
        a->is_write && a->addr == SQ_REG_IRQ_STATE && (a->data & 1) && a->strb == SQ_LITE_ALL_BYTES;
    if (h->phase == RUNS && clears && h->had_irq) {
        h->is_cleared = true;
        end_layer(h);
    } else if (h->phase == AFTER_RESET && !a->is_write && a->addr == cleared[h->n_cleared]) {
        h->phase = ++h->n_cleared < sizeof cleared / sizeof *cleared ? AFTER_RESET : BEFORE;
        return a->data == 0 ? NULL : "host.not_reset";
    } else if (h->phase == QUIET) {
        h->phase = NEXT;
        return a->data == 0 ? NULL : "host.interrupt_stays";
    }
    return NULL;
}

// A host without the interrupt asks STATUS until it says no BUSY: the driver hears that answer alone.
static const char *end_driven(struct host *h)
{
    const struct sq_lite_access *const a = &h->access;
    const bool is_status = !a->is_write && a->addr == SQ_REG_STATUS;
    const bool is_busy = is_status && (a->data & 1u << SQ_STATUS_BUSY);
    if (h->phase == RUNS && is_busy && !h->has_irq)
        return NULL;
    if (h->phase == RUNS && is_status && !is_busy)
        h->phase = ENDED;
    if (a->is_write && a->addr == SQ_REG_CONTROL)
        h->phase = RUNS;
    answer(h, a->is_write ? 0 : a->data);
    if (h->call.needs != SQ_LITE_NOTHING)
        return NULL;
    h->phase = QUIET;
    h->n_done += h->done.result == SQ_DRIVER_OK;
    return check_done(h);
}

static const char *end_access(struct host *h)
{
    const struct sq_lite_access *const a = &h->access;
    if (a->response != h->want_resp)
        return "host.response";
    if (a->next.is_there && a->next.response != h->want_next)
        return "host.response_to_second";
    return h->is_extra ? end_own(h) : end_driven(h);
}

// ---- the environment ----------------------------------------------------------------------------------

static void draw(struct sq_rng *rng, struct sq_env_choice *choice)
{
    sq_axi_memory_draw(rng, choice);
    const uint32_t what = sq_rng_below(rng, 3);
    choice->what = what == 0   ? (uint32_t)SQ_HOST_ANY
                   : what == 1 ? (uint32_t)SQ_HOST_WRONG
                               : (uint32_t)SQ_HOST_RINGS + SQ_RING_ANY;
    choice->begin = 0;
    choice->end = 1 + sq_rng_below(rng, sq_rng_below(rng, 4) ? 4 : 16);
}

// Random wait states; behind the pieces that may be lost, one with a fault of the bus and one without.
static uint64_t disturb(const unsigned *value, struct sq_rng *rng, uint32_t lost,
                        struct sq_env_choice *choice)
{
    if (choice->what >= SQ_HOST_RINGS)
        return sq_ring_host_disturb(rng, lost, choice);
    const struct sq_top_layer l = sq_top_work_given(value, choice->given);
    const void *const given = choice->given;
    *choice = (struct sq_env_choice){.kind = 2,
                                     .n = {sq_rng_below(rng, 2)},
                                     .seed = sq_rng_next(rng),
                                     .what = SQ_HOST_WRONG,
                                     .end = lost + lost % 2 + 2, // even numbers have a fault
                                     .given = given};
    return (uint64_t)l.tiles[ROWS] * l.tiles[COLS] * l.groups * l.beats;
}

static void init(const unsigned *value, const struct sq_env_choice *choice, void *env)
{
    struct host *const h = env;
    h->work.value = value;
    h->work.choice = *choice;
    h->work.number = choice->begin;
    h->rng.state = choice->seed ^ 0x5eed;
    sq_axi_memory_init(&h->memory, value[SQ_TOP_DATA_W], choice, &sq_top_work_content, &h->work);
    h->phase = NEXT;
    h->idle = choice->what == SQ_HOST_LATE ? choice->begin : 0;
    if (choice->begin >= choice->end)
        return;
    begin_layer(h, choice->begin);
    h->phase = is_random(h) ? AFTER_RESET : BEFORE;
}

static void drive(const void *env, struct sq_pins *pins)
{
    const struct host *const h = env;
    sq_axi_memory_drive(&h->memory, pins);
    sq_lite_drive(&h->access, h->work.value[SQ_TOP_DATA_W], pins);
}

static const char *clock_steps(struct host *h, bool irq)
{
    struct sq_top_work *const w = &h->work;
    const bool is_indexed = sq_top_is_indexed(w->value);
    if (h->phase == RUNS && (h->waited++, ++h->still > (is_indexed ? PATIENCE_INDEXED : PATIENCE)))
        return "host.no_end";
    if (h->phase == RUNS && h->has_irq && irq && !h->access.is_there) {
        end_layer(h);
        h->lasted = w->number == 0 ? h->waited : h->lasted;
    }
    if (irq && (h->phase < RUNS || h->phase == NEXT || (h->phase == RUNS && !h->has_irq)))
        return "host.interrupt";
    if (irq == h->is_cleared && h->has_irq && h->phase == ENDED)
        return irq ? "host.interrupt_stays" : "host.interrupt_withdrawn";
    if (h->phase == NEXT && w->number < w->choice.end) {
        if (++w->number < w->choice.end)
            begin_layer(h, w->number);
        return NULL;
    }
    if (h->idle > 0)
        h->idle--;
    else if (!h->access.is_there && h->phase != NEXT) {
        begin_next(h);
        begin_follower(h);
    }
    return NULL;
}

static const char *clock(void *env, const struct sq_pins *pins)
{
    struct host *const h = env;
    const char *const memory = sq_axi_memory_clock(&h->memory, pins);
    if (!h->access.next.has_turn)
        h->had_irq = h->irq_before;
    const enum sq_lite_edge edge = sq_lite_clock(&h->access, h->work.value[SQ_TOP_DATA_W], pins);
    const char *const access = edge == SQ_LITE_OVER    ? end_access(h)
                               : edge == SQ_LITE_EARLY ? "host.answer_before_question"
                                                       : NULL;
    const char *const steps = clock_steps(h, pins->status[0]);
    if (!pins->ask_valid[SQ_LITE_B])
        h->irq_before = pins->status[0];
    if ((pins->reply_valid[0] && pins->reply_ready[0]) ||
        (pins->ask_valid[2] && pins->ask_ready[2]))
        h->still = 0;
    h->access.b_waits = pause(h) >= 3;
    h->access.r_waits = pause(h) >= 3;
    return memory ? memory : access ? access : steps;
}

static bool is_busy(const void *env)
{
    const struct host *const h = env;
    return h->work.number < h->work.choice.end || sq_axi_memory_is_busy(&h->memory);
}

// A host of layers, or one of rings.
struct either {
    bool has_rings;
    union {
        struct host layers;
        struct sq_ring_host rings;
    } of;
};

static void init_either(const unsigned *value, const struct sq_env_choice *choice, void *env)
{
    struct either *const e = env;
    struct sq_env_choice of = *choice;
    e->has_rings = choice->what >= SQ_HOST_RINGS;
    of.what -= e->has_rings ? SQ_HOST_RINGS : 0;
    (e->has_rings ? sq_ring_host_init : init)(value, &of, &e->of);
}

static void drive_either(const void *env, struct sq_pins *pins)
{
    const struct either *const e = env;
    (e->has_rings ? sq_ring_host_drive : drive)(&e->of, pins);
}

static const char *clock_either(void *env, const struct sq_pins *pins)
{
    struct either *const e = env;
    return (e->has_rings ? sq_ring_host_clock : clock)(&e->of, pins);
}

static bool is_either_busy(const void *env)
{
    const struct either *const e = env;
    return (e->has_rings ? sq_ring_host_is_busy : is_busy)(&e->of);
}

static uint32_t n_either_done(const void *env)
{
    const struct either *const e = env;
    return e->has_rings ? e->of.rings.n_sound : e->of.layers.n_done;
}

const struct sq_env sq_top_host = {.nbytes = sizeof(struct either),
                                   .draw = draw,
                                   .disturb = disturb,
                                   .init = init_either,
                                   .drive = drive_either,
                                   .clock = clock_either,
                                   .is_busy = is_either_busy,
                                   .n_done = n_either_done};