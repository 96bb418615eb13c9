// SPDX-License-Identifier: Apache-2.0
// The comparison of the co-simulation, without RTL: an object that answers what the models say agrees in every cycle; one that
// differs in a single bit, once, is found in that cycle and by the name of its signal. Of every block at its first point:
// ready of each stream, valid, each field of the output, of the status and of what it asks its environment, an assertion.
// Sampled: the cycle and the bit.
#include <inttypes.h>
#include <string.h>

#include "sim/cosim/sq_lockstep.h"
#include "sim/cosim/sq_port.h"
#include "tests/unit/fixture.h"

enum kind { READY, VALID, BEAT, STATUS, ASK_VALID, REPLY_READY, ASK, ASSERTION, N_KINDS };

// What the models said in this cycle, and the difference: the bit `bit` of signal i, when it has been looked at `at` times.
static struct {
    const struct sq_block *real;
    struct sq_block block;
    struct sq_timing timing;
    struct sq_ports ports;
    struct sq_handshake want;
    struct sq_pins pins;
    const int32_t *beat, *status;
    bool moves;
    enum kind kind;
    unsigned i;
    size_t bit;
    uint64_t seen, at, now, cycle;
} echo;

static bool differs(enum kind kind, unsigned i)
{
    const bool is = echo.kind == kind && echo.i == i && echo.seen++ == echo.at;
    echo.cycle = is ? echo.now : echo.cycle;
    return is;
}

static void put(enum kind kind, const struct sq_field *field, size_t n, const int32_t *beat,
                uint32_t *const *out)
{
    struct sq_port_words words = {.field = field, .n_fields = n};
    memcpy(words.word, out, n * sizeof *out);
    sq_port_put(&words, 0, n, beat);
    for (unsigned i = 0; i < n; i++)
        if (differs(kind, i))
            out[i][echo.bit / 32] ^= UINT32_C(1) << echo.bit % 32;
}

// ---- the models, listened to ----------------------------------------------------------------------

static void comb_model(const void *state, const struct sq_offer *in, bool ready,
                       struct sq_handshake *out)
{
    echo.real->timing->comb(state, in, ready, out);
    echo.want = *out;
}

static uint64_t golden(const unsigned *value, const struct sq_group *in, int32_t *out)
{
    echo.beat = out;
    return echo.real->golden(value, in, out);
}

static void status_model(const unsigned *value, const void *state, const struct sq_group *due,
                         int32_t *status)
{
    echo.real->status(value, state, due, status);
    echo.status = status;
}

static void ask_model(const void *state, struct sq_pins *pins)
{
    echo.real->ask(state, pins);
    echo.pins = *pins;
}

// ---- the object -----------------------------------------------------------------------------------

static void *create(uint64_t seed, const char *path, uint64_t from, uint64_t to)
{
    (void)seed, (void)path, (void)from, (void)to;
    return &echo;
}

static void no_op(void *model)
{
    (void)model;
}

static void comb(void *model, const uint8_t *valid, uint8_t ready, const uint32_t *const *in,
                 uint8_t *answer)
{
    unsigned n = 0;
    (void)model, (void)valid, (void)in;
    for (; n < SQ_STREAMS_MAX && echo.ports.stream[n].n_fields > 0; n++)
        answer[n] = echo.want.in_ready[n] ^ differs(READY, n);
    answer[n] = echo.want.out_valid ^ differs(VALID, 0);
    echo.moves = echo.want.out_valid && ready;
}

static void drive_env(void *model, const uint8_t *side, const uint32_t *const *reply)
{
    (void)model, (void)side, (void)reply;
}

static void read_env(void *model, uint8_t *side, uint32_t *const *ask)
{
    const struct sq_ports *const p = &echo.ports;
    unsigned n = 0;
    (void)model;
    for (; n < SQ_ASKS_MAX && p->ask[n].n_fields > 0; n++)
        side[n] = echo.pins.ask_valid[n] ^ differs(ASK_VALID, n);
    for (unsigned i = 0; i < SQ_REPLIES_MAX && p->reply[i].n_fields > 0; i++)
        side[n + i] = echo.pins.reply_ready[i] ^ differs(REPLY_READY, i);
    put(ASK, p->ask_field, p->n_ask, echo.pins.ask, ask);
}

static const char *clock_edge(void *model)
{
    (void)model;
    const char *const assertion = differs(ASSERTION, 0) ? "assertion" : NULL;
    echo.now++;
    echo.beat += echo.moves ? sq_field_offset(echo.ports.out, echo.ports.n_out) : 0;
    return assertion;
}

static void reset(void *model)
{
    (void)model;
    echo.now += SQ_RTL_RESET_CYCLES;
}

static void beat(void *model, uint32_t *const *out)
{
    (void)model;
    put(BEAT, echo.ports.out, echo.ports.n_out, echo.beat, out);
}

static void status(void *model, uint32_t *const *out)
{
    (void)model;
    put(STATUS, echo.ports.status, echo.ports.n_status, echo.status, out);
}

static const struct sq_rtl_api api = {.create = create,
                                      .destroy = no_op,
                                      .comb = comb,
                                      .drive_env = drive_env,
                                      .read_env = read_env,
                                      .clock = clock_edge,
                                      .reset = reset,
                                      .beat = beat,
                                      .status = status,
                                      .no_assertions = no_op};

// ---- the tests ------------------------------------------------------------------------------------

static struct sq_mismatch run(struct sq_case *c, uint64_t at)
{
    struct sq_result r;
    echo.seen = echo.now = 0;
    echo.at = at;
    assert_ok(sq_lockstep_run(c, &api, NULL, &r, NULL));
    return r.mismatch;
}

// Signal i of a kind: how it is called, and its bits; false behind the last one.
static bool name_of(enum kind kind, unsigned i, struct sq_pin *name, const struct sq_field **field)
{
    const struct sq_ports *const p = &echo.ports;
    const size_t n[] = {SQ_STREAMS_MAX, 1,        p->n_out, p->n_status, SQ_ASKS_MAX,
                        SQ_REPLIES_MAX, p->n_ask, 1};
    const struct sq_field *const fields[N_KINDS] = {
        [BEAT] = p->out, [STATUS] = p->status, [ASK] = p->ask_field};
    unsigned s = 0;
    if (i >= n[kind])
        return false;
    *field = fields[kind] ? &fields[kind][i] : NULL;
    switch (kind) {
    case READY:
        snprintf(name->text, sizeof name->text, "%.20s_ready_o", p->stream[i].name);
        return p->stream[i].n_fields > 0;
    case ASK_VALID:
        *name = p->ask[i].n_fields > 0 ? sq_pin(&p->ask[i], "valid", 'o') : *name;
        return p->ask[i].n_fields > 0;
    case REPLY_READY:
        *name = p->reply[i].n_fields > 0 ? sq_pin(&p->reply[i], "ready", 'o') : *name;
        return p->reply[i].n_fields > 0;
    case ASK:
        for (unsigned left = i; left >= p->ask[s].n_fields; s++)
            left -= (unsigned)p->ask[s].n_fields;
        *name = sq_pin(&p->ask[s], (*field)->name, 'o');
        return true;
    default:
        snprintf(name->text, sizeof name->text, "%s",
                 kind == VALID       ? "out_valid_o"
                 : kind == ASSERTION ? "assertion"
                                     : (*field)->name);
        return true;
    }
}

// How many signals of the kind could be wrong.
static unsigned check_kind(struct sq_case *c, enum kind kind, struct sq_rng *rng)
{
    const struct sq_field *f;
    struct sq_pin name;
    unsigned n = 0;
    for (echo.kind = kind, echo.i = 0; name_of(kind, echo.i, &name, &f); echo.i++) {
        echo.bit = f ? sq_rng_below(rng, (uint32_t)f->count * f->width) : 0;
        CHECK_EQ(run(c, UINT64_MAX).kind, SQ_MISMATCH_NONE, "%s: ", echo.real->name);
        if (echo.seen == 0)
            continue;
        const uint32_t seen = (uint32_t)echo.seen;
        struct sq_mismatch m = run(c, sq_rng_below(rng, seen));
        // A field of what it asks has no meaning where its stream is not valid: another cycle is drawn.
        for (unsigned tries = 0; kind == ASK && !m.kind && tries < 200; tries++)
            m = run(c, sq_rng_below(rng, seen));
        if (kind == ASK && !m.kind)
            continue; // it is valid in no cycle of this case
        const size_t element = f ? echo.bit / f->width : 0;
        if (kind == STATUS && f->count == SQ_N_CAUSES)
            snprintf(name.text, sizeof name.text, "%s", sq_cause_name((enum sq_cause)element));
        if (strcmp(m.what, name.text) != 0 || m.cycle != echo.cycle || m.index != element)
            fail_msg("%s: %s[%zu] of cycle %" PRIu64 ": found %s[%u] of cycle %" PRIu64,
                     echo.real->name, name.text, element, echo.cycle, m.what, m.index, m.cycle);
        n++;
    }
    return n;
}

SQ_TEST(a_single_difference_is_found_by_its_name)
{
    struct sq_rng rng = {fixture_seed()};
    unsigned n[N_KINDS] = {0};
    for (size_t b = 0; b < sq_n_blocks; b++) {
        struct sq_case c;
        echo.real = sq_blocks[b];
        assert_ok(sq_case_draw(echo.real, echo.real->points, fixture_seed(),
                               sq_case_n_fixed(echo.real, echo.real->points), &c, NULL));
        echo.block = *echo.real;
        echo.timing = *echo.real->timing;
        echo.timing.comb = comb_model;
        echo.block.timing = &echo.timing;
        echo.block.golden = echo.real->golden ? golden : NULL;
        echo.block.status = echo.real->status ? status_model : NULL;
        echo.block.ask = echo.real->ask ? ask_model : NULL;
        echo.ports = sq_ports_of(echo.real, c.point->value);
        c.block = &echo.block;
        c.max_cycles = 2000;
        c.reset_every = 0;
        for (enum kind k = 0; k < N_KINDS; k++)
            n[k] += check_kind(&c, k, &rng);
        c.block = echo.real;
        sq_case_free(&c);
    }
    for (enum kind k = 0; k < N_KINDS; k++)
        assert_true(n[k] >= (k == ASSERTION || k == VALID ? sq_n_blocks - 3 : k == ASK ? 6 : 3));
}
