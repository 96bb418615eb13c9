// SPDX-License-Identifier: Apache-2.0
// sq_top: the chip. It has no streams of its own; its environment brings the layers.
#include "models/array/sq_array.h"
#include "sim/block/flow/sq_case.h"
#include "sim/block/scaled/sq_scaled_codes.h"
#include "sim/block/top/sq_top_host.h"
#include "sim/block/top/sq_top_sim.h"

#define ATTEND(heads, int8, log) (heads) + 16 * (int8) + 32 * (log) // sq_ta_param

// Every fault in every beat of a short layer, with four memories; every wrong descriptor; an error of sums that
// are kept while outputs wait for a memory that is slow to take them; the longest transfers; a write that clears interrupts
// in every cycle around the end of a layer; a reset in every cycle of a layer, behind one that was whole; an abort in
// every cycle of a ring of two layers, and of one whose buffers are full; a watchdog of every length; a reset in every
// cycle of a ring; a ring of more than 256 slots; encoders, vectors and attentions, right and
// wrong, those with masks behind a memory that is slow to take a beat, longer than a mask takes; rings of random layers.
enum {
    MEMORIES = 4,
    REFUSED = MEMORIES,
    KEPT,
    DEEP,
    CLEARS,
    RESETS,
    ABORTS,
    SLOW_ABORTS,
    EXPIRES,
    RING_RESETS,
    LONG_RING,
    ENCODERS,
    SOME_RINGS,
    DIRECTED
};

#include "sim/block/top/sq_top.block.h"

static enum sq_status draw_case(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    (void)rng;
    return sq_case_alloc(c, err); // the environment brings the work
}

enum { RESET_EVERY = 600, N_RESETS = 400, EVERY = 80, N_RINGS = 24 };
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const struct sq_env_choice memory[MEMORIES] = {
        {.n = {0}}, {.kind = 1, .n = {40, 1, 2, 64}}, {.kind = 2, .n = {1}}, {.kind = 2, .n = {2}}};
    const bool has_masks = c->point->value[SQ_TOP_ON_ACTS];
    const struct sq_env_choice work[DIRECTED - MEMORIES] = {
        [REFUSED - MEMORIES] = {.what = SQ_HOST_REFUSED, .end = SQ_HOST_N_REFUSED},
        [KEPT - MEMORIES] = {.kind = SQ_AXI_LAZY,
                             .n = {EVERY},
                             .what = SQ_HOST_KEPT,
                             .end = SQ_HOST_N_KEPT},
        [DEEP - MEMORIES] = {.what = SQ_HOST_DEEP, .end = SQ_HOST_N_DEEP},
        [CLEARS - MEMORIES] = {.what = SQ_HOST_CLEARS, .end = SQ_HOST_N_CLEARS},
        [RESETS - MEMORIES] = {.what = SQ_HOST_LATE, .end = N_RESETS},
        [ABORTS - MEMORIES] = {.what = SQ_HOST_RINGS + SQ_RING_ABORTS, .end = SQ_RING_N_ABORTS},
        [SLOW_ABORTS - MEMORIES] = {.kind = SQ_AXI_LAZY,
                                    .n = {EVERY / 4},
                                    .what = SQ_HOST_RINGS + SQ_RING_ABORTS,
                                    .end = SQ_RING_N_SLOW},
        [EXPIRES - MEMORIES] = {.kind = 1,
                                .n = {0, 0, 1, 64},
                                .what = SQ_HOST_RINGS + SQ_RING_EXPIRES,
                                .end = SQ_RING_N_EXPIRES},
        [RING_RESETS - MEMORIES] = {.what = SQ_HOST_RINGS + SQ_RING_LATE, .end = N_RESETS},
        [LONG_RING - MEMORIES] = {.what = SQ_HOST_RINGS + SQ_RING_LONG, .end = SQ_RING_N_LONG},
        [ENCODERS - MEMORIES] = {.kind = has_masks ? SQ_AXI_LAZY : 2,
                                 .n = {has_masks ? EVERY / 4 : 1},
                                 .what = SQ_HOST_RINGS + SQ_RING_ENCODES,
                                 .end = sq_ring_n_encodes(c->point->value)},
        [SOME_RINGS -
            MEMORIES] = {.kind = 2, .n = {1}, .what = SQ_HOST_RINGS + SQ_RING_ANY, .end = N_RINGS}};
    c->env = number < MEMORIES ? memory[number] : work[number - MEMORIES];
    c->env.seed = sq_rng_next(rng);
    if (number < MEMORIES) {
        c->env.what = SQ_HOST_FAULTS;
        c->env.end = sq_host_n_faults(c->point->value);
    }
    c->reset_every = number == RESETS || number == RING_RESETS ? RESET_EVERY : 0;
    return sq_case_alloc(c, err);
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    (void)state;
    (void)in;
    (void)out_ready;
    *out = (struct sq_handshake){.out_valid = false};
}

static void status(const unsigned *v, const void *state, const struct sq_group *due, int32_t *value)
{
    (void)v;
    (void)due;
    value[0] = sq_top_regs_irq(&((const struct sq_top_sim *)state)->regs);
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    (void)v;
    (void)in;
    (void)out;
    return 0; // nothing leaves but to the environment
}

static const char *source(const unsigned *v, FILE *out)
{
    const unsigned element = v[SQ_TOP_ELEMENT];
    return sq_top_is_scaled(v) ? sq_scaled_write_source(v, element, element, out) : NULL;
}

static const struct sq_timing timing = {sizeof(struct sq_top_sim), comb, sq_top_clock};
