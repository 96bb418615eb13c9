// SPDX-License-Identifier: Apache-2.0
// Runs register accesses and layers on one of the bodies (sq_device.h).
#include "sim/machine/sq_device.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/block/top/sq_lite_host.h"
#include "sim/block/top/sq_top_sim.h"
#include "sim/cosim/sq_env_run.h"
#include "sim/cosim/sq_rtl_build.h"
#include "sim/machine/sq_chip_run.h"

enum { W = 2, R = 0 };       // streams of data: an ask, a reply
enum { PATIENCE = 1000000 }; // cycles in which no beat moves
enum { TOOK_MAX = 512 };     // layers whose time is kept

// The access at hand.
struct access {
    struct sq_lite_access at;
    bool is_over, starts; // nobody has taken the answer; START of CONTROL, or TAIL
};

struct sq_device {
    enum sq_device_body body;
    unsigned value[SQ_POINT_VALUES];
    struct sq_env_choice choice;
    const struct sq_axi_content *content;
    void *ctx;
    const struct sq_device_bus *bus;
    struct sq_axi_memory memory;
    struct access access;
    uint64_t cycles, still; // since a beat moved
    uint64_t moves, origin; // their digest; the cycle of the first, 0: none
    const char *complaint;
    struct sq_top_sim *chip; // FAST, STEPPING
    // RTL
    struct sq_rtl rtl;
    void *model;
    struct sq_block block; // sq_top with the device in place of its host
    struct sq_point point;
    struct sq_case c;
    struct sq_ports ports;
    struct sq_env_run env;
    struct sq_pins pins;
    struct sq_port_words status;
    bool irq, is_running, is_ring; // is_ring: the interrupt may be that of a notice
    // FAST: what layers took, by their descriptors, with which a host runs them again and again.
    struct took {
        uint32_t word[SQ_DESC_WORDS];
        struct sq_chip_stats stats;
    } took[TOOK_MAX];
    size_t n_took;
};

// ---- the side of the environment ------------------------------------------------------------------

static void drive(const struct sq_device *d, struct sq_pins *pins)
{
    if (d->bus)
        d->bus->drive(d->ctx, pins);
    else
        sq_axi_memory_drive(&d->memory, pins);
    sq_lite_drive(&d->access.at, d->value[SQ_TOP_DATA_W], pins);
}

static bool moves(const struct sq_pins *p, unsigned reply)
{
    return p->reply_valid[reply] && p->reply_ready[reply];
}

static void digest(struct sq_device *d, unsigned stream, const int32_t *word, size_t n)
{
    uint64_t h = d->moves;
    d->origin = d->origin ? d->origin : d->cycles + 1;
    h = (h ^ (d->cycles + 1 - d->origin)) * UINT64_C(0x9e3779b97f4a7c15) + stream;
    for (size_t i = 0; i < n; i++)
        h = ((h ^ (uint32_t)word[i]) * UINT64_C(0x100000001b3)) ^ h >> 29;
    d->moves = h;
}

// Streams of the memory, in the order of the pins (sq_axi_memory.h).
static void digest_moves(struct sq_device *d, const struct sq_pins *p)
{
    const size_t words = d->value[SQ_TOP_DATA_W] / 32;
    const size_t ask_len[SQ_AXI_ASKS] = {SQ_AXI_ADDRESS, SQ_AXI_ADDRESS, 2 * words + 1},
                 reply_len[] = {words + 2, 1};
    const int32_t *word = p->ask;
    for (unsigned i = 0; i < SQ_AXI_ASKS; word += ask_len[i++])
        if (p->ask_valid[i] && p->ask_ready[i])
            digest(d, i, word, ask_len[i]);
    word = p->reply;
    for (unsigned i = 0; i < SQ_AXI_REPLIES; word += reply_len[i++])
        if (p->reply_valid[i] && p->reply_ready[i])
            digest(d, SQ_AXI_ASKS + i, word, reply_len[i]);
}

static const char *clock_env(struct sq_device *d, const struct sq_pins *p)
{
    const char *complaint = NULL;
    digest_moves(d, p);
    if (d->bus)
        d->bus->clock(d->ctx, p);
    else
        complaint = sq_axi_memory_clock(&d->memory, p);
    d->complaint = d->complaint ? d->complaint : complaint;
    d->cycles++;
    d->still++;
    if (moves(p, R) || (p->ask_valid[W] && p->ask_ready[W]))
        d->still = 0;
    if (sq_lite_clock(&d->access.at, d->value[SQ_TOP_DATA_W], p) == SQ_LITE_OVER)
        d->access.is_over = true;
    return complaint;
}

static void init_memory(struct sq_device *d)
{
    sq_axi_memory_init(&d->memory, d->value[SQ_TOP_DATA_W], &d->choice, d->content, d->ctx);
    d->memory.may_be_void = true; // a driver may abort
}

// As the environment of a block: its state is a pointer.
static void env_init(const unsigned *value, const struct sq_env_choice *choice, void *env)
{
    struct sq_device *const d = (void *)(uintptr_t)choice->given;
    (void)value;
    *(struct sq_device **)env = d;
    if (!d->bus)
        init_memory(d);
}

static void env_drive(const void *env, struct sq_pins *pins)
{
    drive(*(struct sq_device *const *)env, pins);
}

static const char *env_clock(void *env, const struct sq_pins *pins)
{
    return clock_env(*(struct sq_device *const *)env, pins);
}

static const struct sq_env environment = {
    .nbytes = sizeof(struct sq_device *), .init = env_init, .drive = env_drive, .clock = env_clock};

// ---- a cycle ------------------------------------------------------------------------------------------

static void step_model(struct sq_device *d)
{
    struct sq_pins pins;
    memset(&pins, 0, sizeof pins);
    drive(d, &pins);
    d->chip->pins = pins;
    sq_top_ask(d->chip, &pins);
    d->chip->pins = pins;
    sq_top_clock(d->chip, NULL, false);
    (void)clock_env(d, &pins);
    d->irq = sq_top_regs_irq(&d->chip->regs);
}

static void step_rtl(struct sq_device *d)
{
    uint8_t answer[SQ_STREAMS_MAX + 1] = {0};
    int32_t irq;
    sq_env_run_drive(&d->env, &d->pins);
    sq_env_run_drive_rtl(&d->env, d->model);
    d->rtl.api->comb(d->model, answer, 0, (const uint32_t *const *)d->status.word, answer);
    sq_env_run_read_rtl(&d->env, d->model);
    (void)d->rtl.api->clock(d->model);
    (void)sq_env_run_clock_alone(&d->env);
    d->rtl.api->status(d->model, d->status.word);
    sq_port_get(&d->status, &irq);
    d->irq = irq != 0;
}

void sq_device_cycle(struct sq_device *d)
{
    if (d->body == SQ_DEVICE_RTL)
        step_rtl(d);
    else
        step_model(d);
}

// ---- a layer at once ------------------------------------------------------------------------------

struct region {
    uint64_t first, end;
};

static bool overlap(const struct region *a, const struct region *b)
{
    return a->first < b->end && b->first < a->end;
}

// Words of a region; false where a beat of it has a fault, which may be known only once it was read.
static bool fetch(const struct sq_device *d, const struct region *r, int32_t *word)
{
    const unsigned nbytes = d->value[SQ_TOP_DATA_W] / 8;
    for (uint64_t at = r->first; at < r->end; at += nbytes) {
        for (unsigned i = 0; word && i < nbytes / 4; i++)
            *word++ = d->content->read(d->ctx, at, i);
        if (d->content->fault(d->ctx, at, nbytes) != SQ_AXI_GOOD)
            return false;
    }
    return true;
}

// A descriptor that is read in one piece.
static bool fetch_descriptor(const struct sq_device *d, uint64_t at, uint32_t word[SQ_DESC_WORDS])
{
    const size_t nbytes = SQ_DESC_WORDS * sizeof *word;
    const struct region r = {at, at + nbytes};
    return at % (d->value[SQ_TOP_DATA_W] / 8) == 0 && at % SQ_AXI_PAGE + nbytes <= SQ_AXI_PAGE &&
           fetch(d, &r, (int32_t *)word);
}

// Whether the descriptor is that of a plain layer; its regions, the last one the descriptor's.
enum { REGIONS = SQ_TOP_OPERANDS + 2 };
static bool take_layer(const struct sq_device *d, uint64_t at, uint32_t word[SQ_DESC_WORDS],
                       struct sq_top_layer *l, struct region *r)
{
    const struct sq_top_room room = sq_top_room(d->value);
    const size_t nbytes = SQ_DESC_WORDS * sizeof *word;
    r[REGIONS - 1] = (struct region){at, at + nbytes};
    // The fast engine knows no time that depends on operands.
    if (room.is_indexed || !fetch_descriptor(d, at, word) || !sq_top_layer_decode(word, &room, l))
        return false;
    for (unsigned i = 0; i <= SQ_TOP_STORE; i++)
        r[i] = (struct region){l->addr[i],
                               l->addr[i] + sq_top_nbytes(d->value, l, (enum sq_top_part)i)};
    bool is_plain = fetch(d, &r[SQ_TOP_STORE], NULL);
    for (unsigned i = 0; i < REGIONS; i++)
        is_plain = is_plain && (i == SQ_TOP_STORE || !overlap(&r[i], &r[SQ_TOP_STORE]));
    return is_plain;
}

// Beats of every operand; false without memory, or where one has a fault.
static bool take_operands(const struct sq_device *d, const struct sq_top_layer *l,
                          const struct region *r, struct sq_top_operands *x)
{
    const struct sq_top_shape s = sq_top_shape(d->value);
    bool is_good = true;
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++) {
        const enum sq_top_part part = (enum sq_top_part)i;
        SQ_FREED int32_t *const word = malloc(r[i].end - r[i].first);
        x->beat[i] = malloc(sq_top_beats(d->value, l, part) * sizeof(int32_t) * s.part[i].len);
        is_good = is_good && word && x->beat[i] && fetch(d, &r[i], word);
        if (is_good)
            sq_top_get_operand(d->value, l, word, part, x->beat[i]);
    }
    return is_good;
}

static void put_outputs(struct sq_device *d, const struct region *r, const int32_t *word)
{
    const unsigned nbytes = d->value[SQ_TOP_DATA_W] / 8;
    for (uint64_t at = r->first; at < r->end; at += nbytes, word += nbytes / 4) {
        const char *const complaint = d->content->write(d->ctx, at, word, nbytes / 4);
        d->complaint = d->complaint ? d->complaint : complaint;
    }
}

// Registers as its end leaves them, but for BUSY and the interrupt.
static void end_layer(struct sq_device *d, const struct sq_chip_stats *s, uint32_t errors)
{
    struct sq_top_regs_sim *const regs = &d->chip->regs;
    const uint64_t count[SQ_COUNTERS] = {[SQ_COUNT_CYCLES] = s->cycles,
                                         [SQ_COUNT_BUSY] = s->busy,
                                         [SQ_COUNT_WAIT] = s->wait,
                                         [SQ_COUNT_BLOCKED] = s->blocked,
                                         [SQ_COUNT_READ] = s->read_beats,
                                         [SQ_COUNT_WRITE] = s->write_beats,
                                         [SQ_COUNT_READ_WAIT] = s->read_wait,
                                         [SQ_COUNT_READ_FULL] = s->read_full,
                                         [SQ_COUNT_WRITE_WAIT] = s->write_wait};
    for (unsigned i = 0; i < SQ_COUNTERS; i++)
        regs->count[i] = regs->count_start + count[i];
    regs->begins = false;
    regs->value[SQ_REG_STATUS / 4] = errors << SQ_STATUS_ENGINE;
    d->cycles += s->cycles;
}

// What a descriptor took before, or NULL.
static const struct sq_chip_stats *time_before(const struct sq_device *d,
                                               const uint32_t word[SQ_DESC_WORDS])
{
    for (size_t i = 0; i < TOOK_MAX && i < d->n_took; i++)
        if (memcmp(d->took[i].word, word, sizeof d->took[i].word) == 0)
            return &d->took[i].stats;
    return NULL;
}

static void keep_time(struct sq_device *d, const uint32_t word[SQ_DESC_WORDS],
                      const struct sq_chip_stats *s)
{
    struct took *const t = &d->took[d->n_took++ % TOOK_MAX];
    memcpy(t->word, word, sizeof t->word);
    t->stats = *s;
}

// Where a descriptor lies in a page changes no cycle, since it is read in one piece.
static enum sq_status time_layer(struct sq_device *d, const uint32_t word[SQ_DESC_WORDS],
                                 const struct sq_top_layer *l, struct sq_chip_stats *s)
{
    const struct sq_chip_stats *const before = time_before(d, word);
    if (before) {
        *s = *before;
        return SQ_OK;
    }
    SQ_TRY(sq_chip_run_fast(d->value, &d->choice, l, s, NULL));
    keep_time(d, word, s);
    return SQ_OK;
}

// The layer of the descriptor at that address, if it is a plain one that no watchdog ends.
static bool run_layer(struct sq_device *d, uint64_t at)
{
    const uint32_t watchdog = d->chip->regs.value[SQ_REG_WATCHDOG / 4];
    uint32_t word[SQ_DESC_WORDS];
    struct sq_top_layer l;
    struct region r[REGIONS];
    struct sq_top_operands x = {{NULL}};
    struct sq_chip_stats s;
    SQ_FREED int32_t *out = NULL;
    if (!take_layer(d, at, word, &l, r))
        return false;
    bool is_done = take_operands(d, &l, r, &x);
    is_done = is_done && (out = calloc(1, r[SQ_TOP_STORE].end - r[SQ_TOP_STORE].first)) &&
              time_layer(d, word, &l, &s) == SQ_OK && (watchdog == 0 || s.cycles <= watchdog);
    if (is_done) {
        const uint32_t errors = sq_top_golden(d->value, &l, &x, out);
        put_outputs(d, &r[SQ_TOP_STORE], out);
        is_done = fetch(d, &r[SQ_TOP_STORE], NULL); // else the stepped chip tells it
        if (is_done)
            end_layer(d, &s, errors);
    }
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        free(x.beat[i]);
    return is_done;
}

// ---- a pass, an encoder at once -----------------------------------------------------------------------

static int32_t read_word(void *device, uint64_t addr, unsigned i)
{
    struct sq_device *const d = device;
    return d->content->read(d->ctx, addr, i);
}

static void write_beat(void *device, uint64_t addr, const int32_t *word, unsigned n)
{
    struct sq_device *const d = device;
    const char *const complaint = d->content->write(d->ctx, addr, word, n);
    d->complaint = d->complaint ? d->complaint : complaint;
}

// y may lie on an operand of the same rows; no other region lies on one that is written.
static bool is_plain_pass(const struct sq_device *d, const struct sq_tv_layer *l)
{
    const uint32_t nbytes = d->value[SQ_TOP_DATA_W] / 8;
    struct region r[SQ_TV_PARTS];
    bool is_plain = true;
    for (unsigned p = 0; p < SQ_TV_PARTS; p++) {
        r[p] = (struct region){l->addr[p], l->addr[p]};
        if (sq_tv_uses(l, p))
            r[p].end += sq_tv_region_beats(l, p, nbytes) * nbytes;
        is_plain = is_plain && fetch(d, &r[p], NULL);
    }
    for (unsigned p = 0; p < SQ_TV_PARTS && is_plain; p++)
        for (unsigned to = SQ_TV_Y; to < SQ_TV_PARTS; to++)
            is_plain =
                is_plain && (p == to || !overlap(&r[p], &r[to]) ||
                             (to == SQ_TV_Y && p < SQ_TV_Y && r[p].first == r[to].first &&
                              r[p].end == r[to].end && l->y == SQ_TV_BINARY32 && !l->half[p] &&
                              l->from[p] == SQ_TV_ROW && l->stride[p] == l->stride[to]));
    return is_plain;
}

static bool encode(struct sq_device *d, const struct sq_encode_layer *l, uint32_t *errors)
{
    const unsigned nbytes = d->value[SQ_TOP_DATA_W] / 8;
    uint64_t stride[SQ_ENCODE_REGIONS];
    struct region r[SQ_ENCODE_REGIONS];
    int32_t *word[SQ_ENCODE_REGIONS];
    bool is_good = !l->is_codes;
    sq_encode_strides(d->value, l, stride);
    for (unsigned i = 0; i < SQ_ENCODE_REGIONS; i++) {
        r[i] = (struct region){l->addr[i], l->addr[i] + stride[i] * l->rows * nbytes};
        word[i] = calloc(1, r[i].end - r[i].first);
        is_good = is_good && word[i] && fetch(d, &r[i], i == SQ_ENCODE_FROM ? word[i] : NULL);
        for (unsigned k = 0; k < i; k++)
            is_good = is_good && !overlap(&r[i], &r[k]);
    }
    if (is_good) {
        *errors = sq_encode_golden(d->value, l, word[SQ_ENCODE_FROM], word[SQ_ENCODE_ACT],
                                   word[SQ_ENCODE_ROW_SCALE]);
        put_outputs(d, &r[SQ_ENCODE_ACT], word[SQ_ENCODE_ACT]);
        put_outputs(d, &r[SQ_ENCODE_ROW_SCALE], word[SQ_ENCODE_ROW_SCALE]);
    }
    for (unsigned i = 0; i < SQ_ENCODE_REGIONS; i++)
        free(word[i]);
    return is_good;
}

// A pass or an encoder whose time is known, of one that was stepped before.
static bool run_again(struct sq_device *d, uint64_t at)
{
    const uint32_t watchdog = d->chip->regs.value[SQ_REG_WATCHDOG / 4];
    const uint32_t nbytes = d->value[SQ_TOP_DATA_W] / 8;
    const struct sq_tv_memory memory = {d, read_word, write_beat};
    uint32_t word[SQ_DESC_WORDS], errors = 0;
    struct sq_tv_layer pass;
    struct sq_encode_layer encoder;
    if (!fetch_descriptor(d, at, word))
        return false;
    const struct sq_chip_stats *const s = time_before(d, word);
    if (!s || (watchdog > 0 && s->cycles > watchdog))
        return false;
    if (sq_encode_decode(d->value, word, &encoder)) {
        if (!encode(d, &encoder, &errors))
            return false;
    } else if (d->value[SQ_TOP_VECTOR] && sq_tv_decode(word, nbytes, &pass) &&
               is_plain_pass(d, &pass))
        sq_tv_golden(&pass, nbytes, &memory);
    else
        return false;
    end_layer(d, s, errors);
    return true;
}

// One was stepped: what it took, where it ended without an error.
static void keep_stepped(struct sq_device *d, uint64_t at)
{
    const struct sq_top_regs_sim *const regs = &d->chip->regs;
    const uint32_t busy = 1u << SQ_STATUS_BUSY;
    uint32_t word[SQ_DESC_WORDS];
    if (regs->count_start == 0 && !(regs->value[SQ_REG_STATUS / 4] & ~busy) &&
        fetch_descriptor(d, at, word) && !time_before(d, word)) {
        const struct sq_chip_stats s = sq_chip_stats_of(regs);
        keep_time(d, word, &s);
    }
}

// The layer of DESCRIPTOR.
static bool run_at_once(struct sq_device *d)
{
    struct sq_top_regs_sim *const regs = &d->chip->regs;
    if (!run_layer(d, sq_top_regs_address(regs, SQ_REG_DESCRIPTOR, SQ_REG_DESCRIPTOR_HIGH)))
        return false;
    regs->value[SQ_REG_IRQ_STATE / 4] |=
        1u << SQ_IRQ_DONE | (uint32_t)(regs->value[SQ_REG_STATUS / 4] != 0) << SQ_IRQ_ERROR;
    d->irq = sq_top_regs_irq(regs);
    d->is_running = false;
    return true;
}

// The ring up to `tail`, if the chip takes that doorbell: layer after layer at once; their records, and what is
// no plain layer, are stepped.
static bool run_ring(struct sq_device *d, uint32_t tail)
{
    struct sq_top_sim *const chip = d->chip;
    struct sq_top_regs_sim *const regs = &chip->regs;
    uint32_t *const status = &regs->value[SQ_REG_STATUS / 4];
    const uint64_t base = sq_top_regs_address(regs, SQ_REG_RING_BASE, SQ_REG_RING_BASE_HIGH);
    const uint32_t busy = 1u << SQ_STATUS_BUSY;
    const uint64_t size = regs->value[SQ_REG_RING_SIZE / 4];
    if ((*status & busy) || tail >= size || tail == chip->ring.head ||
        base + size * SQ_SLOT_NBYTES > SQ_ADDR_END)
        return false;
    regs->value[SQ_REG_TAIL / 4] = tail;
    *status |= busy;
    regs->is_ring = true;
    while (*status & busy) {
        const uint64_t at = base + chip->ring.head * SQ_SLOT_NBYTES;
        if (chip->ring.state != SQ_RING_IDLE) {
            sq_device_cycle(d);
            continue;
        }
        if (!run_layer(d, at) && !run_again(d, at)) {
            do
                sq_device_cycle(d);
            while ((*status & busy) && chip->ring.state != SQ_RING_RECORD);
            keep_stepped(d, at);
            continue;
        }
        *status |= busy;
        d->cycles++; // in which it would begin
        chip->sequencer.word[SQ_DESC_KIND] = (uint32_t)d->content->read(d->ctx, at, SQ_DESC_KIND);
        chip->ring.state = SQ_RING_RECORD;
        chip->ring.from_ring = true;
        chip->ring.is_cut = false;
    }
    d->is_running = *status & busy;
    d->is_ring = true;
    return true;
}

// ---- accesses -----------------------------------------------------------------------------------------

void sq_device_begin(struct sq_device *d, bool is_write, uint32_t offset, uint32_t value)
{
    d->access.is_over = false;
    d->access.at = sq_lite_begin(is_write, offset, value);
    d->access.starts =
        is_write && (offset == SQ_REG_TAIL || (offset == SQ_REG_CONTROL && (value & 1)));
    if (is_write && (offset == SQ_REG_CONTROL || offset == SQ_REG_TAIL))
        d->moves = d->origin = 0;
}

bool sq_device_end(struct sq_device *d, uint32_t *value, unsigned *response)
{
    struct access *const a = &d->access;
    if (!a->is_over)
        return false;
    a->is_over = false;
    if (!a->at.is_write && a->at.addr == SQ_REG_STATUS)
        d->is_running = a->at.data >> SQ_STATUS_BUSY & 1;
    if (a->starts && a->at.response == 0) {
        d->is_running = true;
        d->is_ring = a->at.addr == SQ_REG_TAIL;
    }
    *value = a->at.is_write ? 0 : a->at.data;
    *response = a->at.response;
    return true;
}

static uint32_t reach(struct sq_device *d, bool is_write, uint32_t offset, uint32_t value,
                      unsigned *response)
{
    uint32_t answer;
    unsigned ignored;
    sq_device_begin(d, is_write, offset, value);
    while (!sq_device_end(d, &answer, response ? response : &ignored))
        sq_device_cycle(d);
    return answer;
}

uint32_t sq_device_read_at(struct sq_device *d, uint32_t offset, unsigned *response)
{
    return reach(d, false, offset, 0, response);
}

void sq_device_write_at(struct sq_device *d, uint32_t offset, uint32_t value, unsigned *response)
{
    const bool is_fast = d->body == SQ_DEVICE_FAST;
    if ((is_fast && offset == SQ_REG_CONTROL && (value & 1) &&
         !(d->chip->regs.value[SQ_REG_STATUS / 4] >> SQ_STATUS_BUSY & 1) && run_at_once(d)) ||
        (is_fast && offset == SQ_REG_TAIL && run_ring(d, value))) {
        if (response)
            *response = 0;
        return;
    }
    (void)reach(d, true, offset, value, response);
}

uint32_t sq_device_read(void *device, uint32_t offset)
{
    return sq_device_read_at(device, offset, NULL);
}

void sq_device_write(void *device, uint32_t offset, uint32_t value)
{
    sq_device_write_at(device, offset, value, NULL);
}

int sq_device_wait(void *device)
{
    struct sq_device *const d = device;
    for (d->still = 0; !d->irq && d->still < PATIENCE;)
        sq_device_cycle(d);
    return d->irq;
}

uint64_t sq_device_step(struct sq_device *d, uint64_t cycles)
{
    uint64_t n = 0;
    for (; n < cycles && !d->irq; n++)
        sq_device_cycle(d);
    return n;
}

bool sq_device_irq(const struct sq_device *d)
{
    return d->irq;
}

bool sq_device_is_running(const struct sq_device *d)
{
    return d->is_running && (d->is_ring || !d->irq);
}

uint64_t sq_device_cycles(const struct sq_device *d)
{
    return d->cycles;
}

uint64_t sq_device_moves(const struct sq_device *d)
{
    return d->moves;
}

const char *sq_device_complaint(const struct sq_device *d)
{
    return d->complaint;
}

// ---- open, close ----------------------------------------------------------------------------------

// The point of the table with these parameters lends its name, and with it the compiled RTL.
static const char *name_of(const unsigned *value)
{
    for (size_t i = 0; i < sq_top_block.n_points; i++)
        if (memcmp(sq_top_block.points[i].value, value, SQ_POINT_VALUES * sizeof *value) == 0)
            return sq_top_block.points[i].name;
    return "device";
}

static enum sq_status open_rtl(struct sq_device *d, const struct sq_device_setup *setup,
                               struct sq_error *err)
{
    bool built;
    d->block = sq_top_block;
    d->block.env = &environment;
    d->point.name = name_of(d->value);
    memcpy(d->point.value, d->value, sizeof d->value);
    d->c = (struct sq_case){.block = &d->block, .point = &d->point, .env = {.given = d}};
    d->ports = sq_ports_of(&d->block, d->value);
    const struct sq_rtl_point point = {.block = &sq_top_block, .point = &d->point};
    SQ_TRY(sq_rtl_load(&d->rtl, &point, setup->home, &built, err));
    SQ_NEED(sq_env_run_alloc(&d->env, &d->c, &d->ports, d->rtl.api) &&
                sq_port_alloc(&d->status, d->ports.status, d->ports.n_status),
            err, "the pins of the chip");
    d->model = d->rtl.api->create(setup->seed, NULL, 0, 0);
    SQ_NEED(d->model, err, "a verilated chip");
    return SQ_OK;
}

static enum sq_status open_model(struct sq_device *d, struct sq_error *err)
{
    d->chip = calloc(1, sizeof *d->chip);
    SQ_NEED(d->chip, err, "a chip of %zu bytes", sizeof *d->chip);
    sq_top_init(d->value, d->chip);
    if (!d->bus)
        init_memory(d);
    return SQ_OK;
}

enum sq_status sq_device_open(struct sq_device **device, const struct sq_device_setup *setup,
                              struct sq_error *err)
{
    struct sq_device *const d = calloc(1, sizeof *d);
    *device = NULL;
    assert(!setup->bus || setup->body != SQ_DEVICE_FAST);
    SQ_NEED(d, err, "a device of %zu bytes", sizeof *d);
    d->body = setup->body;
    d->choice = setup->memory;
    d->choice.given = NULL;
    d->content = setup->content;
    d->bus = setup->bus;
    d->ctx = setup->ctx;
    memcpy(d->value, setup->value, sizeof d->value);
    const enum sq_status status =
        d->body == SQ_DEVICE_RTL ? open_rtl(d, setup, err) : open_model(d, err);
    if (status == SQ_OK)
        *device = d;
    else
        sq_device_close(d);
    return status;
}

void sq_device_close(struct sq_device *d)
{
    if (!d)
        return;
    if (d->model)
        d->rtl.api->destroy(d->model);
    if (d->rtl.api)
        sq_rtl_unload(&d->rtl);
    if (d->body == SQ_DEVICE_RTL) {
        sq_env_run_free(&d->env);
        sq_port_free(&d->status);
    }
    free(d->chip);
    free(d);
}
