// SPDX-License-Identifier: Apache-2.0
// Calls the environment of a block, and compares what model and RTL ask of it (sq_env_run.h).
#include "sim/cosim/sq_env_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const struct sq_env *env_of(const struct sq_env_run *e)
{
    return e->c->block->env;
}

static unsigned count(const struct sq_port *stream, unsigned max)
{
    unsigned n = 0;
    while (n < max && stream[n].n_fields > 0)
        n++;
    return n;
}

static unsigned n_asks(const struct sq_env_run *e)
{
    return count(e->ports->ask, SQ_ASKS_MAX);
}

static unsigned n_replies(const struct sq_env_run *e)
{
    return count(e->ports->reply, SQ_REPLIES_MAX);
}

void sq_env_run_reset(struct sq_env_run *e)
{
    if (!env_of(e))
        return;
    struct sq_env_choice choice = e->c->env;
    const uint64_t pieces = choice.end - choice.begin;
    choice.begin += (uint32_t)(e->resets < pieces ? e->resets : pieces);
    choice.seed += e->resets++;
    // Zeros again, in place: of megabytes of memory a case between two resets writes few pages.
    (void)madvise(e->state, env_of(e)->nbytes, MADV_DONTNEED);
    env_of(e)->init(e->c->point->value, &choice, e->state);
}

bool sq_env_run_alloc(struct sq_env_run *e, const struct sq_case *c, const struct sq_ports *ports,
                      const struct sq_rtl_api *rtl)
{
    *e = (struct sq_env_run){.c = c, .ports = ports, .rtl = rtl};
    if (!env_of(e))
        return true;
    const bool has_asks = sq_port_alloc(&e->ask, ports->ask_field, ports->n_ask);
    const bool has_want = sq_port_alloc(&e->want, ports->ask_field, ports->n_ask);
    const bool has_replies = sq_port_alloc(&e->reply, ports->reply_field, ports->n_reply);
    void *const state =
        mmap(NULL, env_of(e)->nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    e->state = state == MAP_FAILED ? NULL : state;
    if (!has_asks || !has_want || !has_replies || !e->state)
        return false;
    sq_env_run_reset(e);
    return true;
}

void sq_env_run_free(struct sq_env_run *e)
{
    sq_port_free(&e->ask);
    sq_port_free(&e->want);
    sq_port_free(&e->reply);
    if (e->state)
        (void)munmap(e->state, env_of(e)->nbytes);
}

bool sq_env_run_is_busy(const struct sq_env_run *e)
{
    return env_of(e) && env_of(e)->is_busy(e->state);
}

bool sq_env_run_has_done(const struct sq_env_run *e)
{
    return env_of(e) && env_of(e)->n_done && env_of(e)->n_done(e->state) > 0;
}

// ---- a cycle ------------------------------------------------------------------------------------

// Its side; streams that have nothing to say carry zeros.
static void drive(struct sq_env_run *e)
{
    memset(&e->pins, 0, sizeof e->pins);
    env_of(e)->drive(e->state, &e->pins);
    e->pins.status = e->status;
    sq_port_put(&e->reply, 0, e->ports->n_reply, e->pins.reply);
}

void sq_env_run_drive(struct sq_env_run *e, void *model)
{
    if (!env_of(e))
        return;
    drive(e);
    memcpy(model, &e->pins, sizeof e->pins);
}

void sq_env_run_ask(struct sq_env_run *e, void *model)
{
    if (!env_of(e))
        return;
    e->c->block->ask(model, &e->pins);
    memcpy(model, &e->pins, sizeof e->pins);
    sq_port_put(&e->want, 0, e->ports->n_ask, e->pins.ask);
}

void sq_env_run_drive_rtl(struct sq_env_run *e, void *rtl)
{
    uint8_t side[SQ_ASKS_MAX + SQ_REPLIES_MAX] = {0};
    if (!env_of(e))
        return;
    for (unsigned i = 0; i < n_asks(e); i++)
        side[i] = e->pins.ask_ready[i];
    for (unsigned i = 0; i < n_replies(e); i++)
        side[n_asks(e) + i] = e->pins.reply_valid[i];
    e->rtl->drive_env(rtl, side, (const uint32_t *const *)e->reply.word);
}

void sq_env_run_read_rtl(struct sq_env_run *e, void *rtl)
{
    uint8_t side[SQ_ASKS_MAX + SQ_REPLIES_MAX] = {0};
    if (!env_of(e))
        return;
    e->rtl->read_env(rtl, side, e->ask.word);
    for (unsigned i = 0; i < n_asks(e); i++)
        e->ask_valid[i] = side[i];
    for (unsigned i = 0; i < n_replies(e); i++)
        e->reply_ready[i] = side[n_asks(e) + i];
}

void sq_env_run_show(struct sq_env_run *e, void *rtl)
{
    uint8_t side[SQ_ASKS_MAX + SQ_REPLIES_MAX] = {0};
    if (!env_of(e))
        return;
    for (unsigned i = 0; i < n_asks(e); i++)
        side[i] = e->pins.ask_valid[i];
    for (unsigned i = 0; i < n_replies(e); i++)
        side[n_asks(e) + i] = e->pins.reply_ready[i];
    e->rtl->show_env(rtl, side, (const uint32_t *const *)e->want.word);
}

const bool *sq_env_run_handshake(const struct sq_env_run *e, char name[32])
{
    if (!env_of(e))
        return NULL;
    for (unsigned i = 0; i < n_asks(e); i++)
        if (e->ask_valid[i] != e->pins.ask_valid[i]) {
            snprintf(name, 32, "%.31s", sq_pin(&e->ports->ask[i], "valid", 'o').text);
            return &e->ask_valid[i];
        }
    for (unsigned i = 0; i < n_replies(e); i++)
        if (e->reply_ready[i] != e->pins.reply_ready[i]) {
            snprintf(name, 32, "%.31s", sq_pin(&e->ports->reply[i], "ready", 'o').text);
            return &e->reply_ready[i];
        }
    return NULL;
}

bool sq_env_run_differs(const struct sq_env_run *e, char name[32], struct sq_port_difference *d)
{
    size_t at = 0;
    if (!env_of(e))
        return false;
    for (size_t s = 0, f = 0; s < n_asks(e); s++)
        for (const size_t end = f + e->ports->ask[s].n_fields; f < end; f++) {
            const struct sq_field *field = &e->ports->ask_field[f];
            for (size_t i = 0; i < field->count; i++, at++) {
                const int32_t bits = sq_beat_field(e->ask.word[f], i, field->width);
                const int32_t got =
                    field->is_unsigned ? sq_field_unsigned((uint32_t)bits, field->width) : bits;
                if (!e->pins.ask_valid[s] || got == e->pins.ask[at])
                    continue;
                snprintf(name, 32, "%.31s", sq_pin(&e->ports->ask[s], field->name, 'o').text);
                *d = (struct sq_port_difference){f, i, got, e->pins.ask[at]};
                return true;
            }
        }
    return false;
}

unsigned sq_env_run_clock(struct sq_env_run *e, const char **complaint)
{
    unsigned moved = 0;
    if (!env_of(e))
        return 0;
    for (unsigned i = 0; i < n_asks(e); i++)
        moved += e->pins.ask_valid[i] && e->pins.ask_ready[i];
    for (unsigned i = 0; i < n_replies(e); i++)
        moved += e->pins.reply_valid[i] && e->pins.reply_ready[i];
    *complaint = env_of(e)->clock(e->state, &e->pins);
    return moved;
}

bool sq_env_run_clock_alone(struct sq_env_run *e)
{
    const char *unused;
    if (!env_of(e))
        return false;
    memcpy(e->pins.ask_valid, e->ask_valid, sizeof e->ask_valid);
    memcpy(e->pins.reply_ready, e->reply_ready, sizeof e->reply_ready);
    sq_port_get(&e->ask, e->pins.ask);
    const bool moved = sq_env_run_clock(e, &unused) > 0;
    drive(e);
    return moved;
}
