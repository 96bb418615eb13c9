// SPDX-License-Identifier: Apache-2.0
// The device of sqsim.h: a chip (sim/machine/sq_device.h) between the caller's driver and the caller's memory.
#pragma GCC visibility push(default)
#include "lib/sqsim.h"
#pragma GCC visibility pop

#include <stdlib.h>
#include <string.h>

#include "lib/sq_api_device.h"

struct sqsim_device {
    struct sq_device *device;
    struct sqsim_memory memory;
    struct sqsim_bus bus;
    unsigned nbytes; // of a beat
    uint8_t beat[SQSIM_BEAT_MAX];
    struct bad {
        uint64_t at;
        enum sqsim_answer answer;
    } * bad; // beats whose last access failed
    size_t n_bad, room;
};

// ---- memory -----------------------------------------------------------------------------------------

static void note(struct sqsim_device *d, uint64_t at, enum sqsim_answer answer)
{
    size_t i = 0;
    while (i < d->n_bad && d->bad[i].at != at)
        i++;
    if (answer == SQSIM_OKAY) {
        if (i < d->n_bad)
            d->bad[i] = d->bad[--d->n_bad];
        return;
    }
    if (i == d->room) {
        struct bad *const more = realloc(d->bad, (2 * i + 16) * sizeof *more);
        if (!more)
            return; // the chip sees the beat before as it was
        d->bad = more;
        d->room = 2 * i + 16;
    }
    d->bad[i] = (struct bad){at, answer};
    d->n_bad += i == d->n_bad;
}

// Words of a beat are read one after the other: the first brings them all.
static int32_t read_word(void *ctx, uint64_t at, unsigned i)
{
    struct sqsim_device *const d = ctx;
    int32_t word;
    if (i == 0) {
        const enum sqsim_answer answer = d->memory.read(d->memory.ctx, at, d->beat, d->nbytes);
        note(d, at, answer);
        if (answer != SQSIM_OKAY)
            memset(d->beat, 0, sizeof d->beat);
    }
    memcpy(&word, d->beat + 4 * i, sizeof word);
    return word;
}

static const char *write_words(void *ctx, uint64_t at, const int32_t *word, unsigned n)
{
    struct sqsim_device *const d = ctx;
    note(d, at, d->memory.write(d->memory.ctx, at, word, 4 * (size_t)n));
    return NULL;
}

static enum sq_axi_fault fault_at(void *ctx, uint64_t at, unsigned nbytes)
{
    const struct sqsim_device *const d = ctx;
    (void)nbytes;
    for (size_t i = 0; i < d->n_bad; i++)
        if (d->bad[i].at == at)
            return d->bad[i].answer == SQSIM_DECERR ? SQ_AXI_DECERR : SQ_AXI_SLVERR;
    return SQ_AXI_GOOD;
}

static const struct sq_axi_content content = {read_word, write_words, fault_at};

// The place of so many bytes, NULL beyond the end.
static uint8_t *place(const struct sqsim_flat *f, uint64_t address, size_t nbytes)
{
    const uint64_t at = address - f->base;
    return address >= f->base && at <= f->nbytes && nbytes <= f->nbytes - at
               ? (uint8_t *)f->bytes + at
               : NULL;
}

enum sqsim_answer sqsim_flat_read(void *flat, uint64_t address, void *bytes, size_t nbytes)
{
    const uint8_t *const from = place(flat, address, nbytes);
    if (from)
        memcpy(bytes, from, nbytes);
    return from ? SQSIM_OKAY : SQSIM_DECERR;
}

enum sqsim_answer sqsim_flat_write(void *flat, uint64_t address, const void *bytes, size_t nbytes)
{
    uint8_t *const to = place(flat, address, nbytes);
    if (to)
        memcpy(to, bytes, nbytes);
    return to ? SQSIM_OKAY : SQSIM_DECERR;
}

// ---- bus --------------------------------------------------------------------------------------------

static void drive(void *ctx, struct sq_pins *pins)
{
    struct sqsim_device *const d = ctx;
    const size_t words = d->nbytes / 4;
    struct sqsim_bus_cycle c;
    memset(&c, 0, sizeof c);
    d->bus.drive(d->bus.ctx, &c);
    const bool ready[SQ_AXI_ASKS] = {c.ar_ready, c.aw_ready, c.w_ready};
    memcpy(pins->ask_ready, ready, sizeof ready);
    pins->reply_valid[0] = c.r_valid;
    pins->reply_valid[1] = c.b_valid;
    if (c.r_valid) {
        memcpy(pins->reply, c.r_data, d->nbytes);
        pins->reply[words] = c.r_resp & 3;
        pins->reply[words + 1] = c.r_last != 0;
    }
    if (c.b_valid)
        pins->reply[words + 2] = c.b_resp & 3;
}

static void clock_bus(void *ctx, const struct sq_pins *p)
{
    struct sqsim_device *const d = ctx;
    const size_t words = d->nbytes / 4;
    const int32_t *const aw = p->ask + SQ_AXI_ADDRESS, *const w = aw + SQ_AXI_ADDRESS;
    struct sqsim_bus_cycle c = {.ar_ready = p->ask_ready[0],
                                .aw_ready = p->ask_ready[1],
                                .w_ready = p->ask_ready[2],
                                .r_valid = p->reply_valid[0],
                                .r_resp = (uint8_t)p->reply[words],
                                .r_last = (uint8_t)p->reply[words + 1],
                                .b_valid = p->reply_valid[1],
                                .b_resp = (uint8_t)p->reply[words + 2],
                                .ar_valid = p->ask_valid[0],
                                .ar_len = (uint8_t)p->ask[SQ_AXI_LEN],
                                .aw_valid = p->ask_valid[1],
                                .aw_len = (uint8_t)aw[SQ_AXI_LEN],
                                .w_valid = p->ask_valid[2],
                                .w_last = (uint8_t)w[2 * words],
                                .w_strobe = w[words] != 0,
                                .r_ready = p->reply_ready[0],
                                .b_ready = p->reply_ready[1],
                                .ar_address = sq_axi_addr(p->ask),
                                .aw_address = sq_axi_addr(aw)};
    memcpy(c.r_data, p->reply, d->nbytes);
    memcpy(c.w_data, w, d->nbytes);
    d->bus.clock(d->bus.ctx, &c);
}

static const struct sq_device_bus bus_of = {drive, clock_bus};

// ---- the device ---------------------------------------------------------------------------------------

enum sq_status sq_api_device(const struct sq_device_setup *setup, const struct sqsim_memory *memory,
                             const struct sqsim_bus *bus, sqsim_device **device,
                             struct sq_error *err)
{
    *device = NULL;
    SQ_FAIL_IF(!memory == !bus, err, SQ_ERR_ARG, "memory and bus are %s, need one of them",
               bus ? "both given" : "both NULL");
    SQ_FAIL_IF((unsigned)setup->body > SQ_DEVICE_RTL || (bus && setup->body == SQ_DEVICE_FAST), err,
               SQ_ERR_ARG, "body = %d, need %s", (int)setup->body,
               bus ? "1 or 2 (with a bus)" : "0..2");
    struct sqsim_device *const d = calloc(1, sizeof *d);
    struct sq_device_setup own = *setup;
    SQ_NEED(d, err, "a device of %zu bytes", sizeof *d);
    if (memory)
        d->memory = *memory;
    else
        d->bus = *bus;
    d->nbytes = setup->value[SQ_TOP_DATA_W] / 8;
    own.content = &content;
    own.bus = bus ? &bus_of : NULL;
    own.ctx = d;
    const enum sq_status status = sq_device_open(&d->device, &own, err);
    if (status == SQ_OK)
        *device = d;
    else
        sqsim_device_free(d);
    return status;
}

void sqsim_device_free(sqsim_device *device)
{
    if (!device)
        return;
    sq_device_close(device->device);
    SQ_FREE(device->bad, device);
}

size_t sqsim_device_beat(const sqsim_device *device)
{
    return device->nbytes;
}

uint32_t sqsim_device_read(void *device, uint32_t offset)
{
    return sq_device_read(((sqsim_device *)device)->device, offset);
}

void sqsim_device_write(void *device, uint32_t offset, uint32_t value)
{
    sq_device_write(((sqsim_device *)device)->device, offset, value);
}

int sqsim_device_wait(void *device)
{
    return sq_device_wait(((sqsim_device *)device)->device);
}

void sqsim_device_begin(sqsim_device *device, int is_write, uint32_t offset, uint32_t value)
{
    sq_device_begin(device->device, is_write != 0, offset, value);
}

void sqsim_device_cycle(sqsim_device *device)
{
    sq_device_cycle(device->device);
}

int sqsim_device_end(sqsim_device *device, uint32_t *value, enum sqsim_answer *answer)
{
    unsigned response = 0;
    const bool is_over = sq_device_end(device->device, value, &response);
    *answer = (enum sqsim_answer)response;
    return is_over;
}

enum sqsim_answer sqsim_device_access(sqsim_device *device, int is_write, uint32_t offset,
                                      uint32_t *value)
{
    unsigned response;
    if (is_write)
        sq_device_write_at(device->device, offset, *value, &response);
    else
        *value = sq_device_read_at(device->device, offset, &response);
    return (enum sqsim_answer)response;
}

int sqsim_device_irq(const sqsim_device *device)
{
    return sq_device_irq(device->device);
}

int sqsim_device_is_running(const sqsim_device *device)
{
    return sq_device_is_running(device->device);
}

uint64_t sqsim_device_cycles(const sqsim_device *device)
{
    return sq_device_cycles(device->device);
}

uint64_t sqsim_device_moves(const sqsim_device *device)
{
    return sq_device_moves(device->device);
}
