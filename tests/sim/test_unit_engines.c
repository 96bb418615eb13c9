// SPDX-License-Identifier: Apache-2.0
// Jobs of the units that machines are made of: the engine that skips equals the one that steps, in
// every counter; causes sum; bound <= cycles <= limit; a core with a free port is sq_core_run_step;
// and closed forms by hand. State space: kind of unit x its parameters x its output stage x job (tiles,
// passes, flushes, beats, words, loads) x lists of tiles, of engines side by side. Sampled at random, 10,000 jobs of all kinds, small
// ones where the ends of counters meet and long ones where periods are skipped.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_topk.h"
#include "models/sq_rng.h"
#include "sim/block/core/sq_core_run.h"
#include "sim/block/flow/sq_pipeline.h"
#include "sim/block/flow/sq_unit_engine.h"
#include "sim/block/output/sq_output_port.h"
#include "tests/sim/random_recipe.h"
#include "tests/unit/fixture.h"

// 1..most, small ones often.
static uint32_t some(struct sq_rng *r, uint32_t most)
{
    return sq_rng_below(r, 3) ? between(r, 1, most < 5 ? most : 5) : between(r, 1, most);
}

static struct sq_core_config random_core(struct sq_rng *r)
{
    struct sq_core_config c = sq_core_config_default();
    c.bank = 4u << sq_rng_below(r, 6);
    do
        c.high_per_bank = c.bank >> between(r, 1, 4);
    while (c.high_per_bank == 0);
    c.low_lanes = sq_rng_below(r, 2) ? c.bank >> sq_rng_below(r, 3) : between(r, 1, 40);
    c.low_lanes = c.low_lanes ? c.low_lanes : 1;
    c.high_lanes = between(r, 1, c.bank < 16 ? c.bank : 16);
    return c;
}

static struct sq_unit_output random_output(struct sq_rng *r)
{
    const uint32_t slots = some(r, 40), lanes = some(r, 8);
    return (struct sq_unit_output){.pes = slots * lanes,
                                   .lanes = lanes,
                                   .form = sq_rng_below(r, 4),
                                   .depth = between(r, 2, slots + 2),
                                   .hold = sq_rng_below(r, 2),
                                   .pairs = 1u << sq_rng_below(r, 3)};
}

// The engines that formats put side by side.
enum { ENGINES_MAX = 16 };
static const struct sq_unit_engine *engines[ENGINES_MAX];
static uint32_t n_engines;

static int find_engines(void **state)
{
    const struct sq_core_config core = sq_core_config_default();
    (void)state;
    for (size_t i = 0; i < sq_n_formats(); i++) {
        const struct sq_recipe r = default_of(sq_formats[i]);
        struct sq_demand d;
        sq_demand_of(&r, &core, 8, 256, 0, &d);
        if (d.cost.unit.engine)
            engines[n_engines++] = d.cost.unit.engine;
    }
    return n_engines > 0 && n_engines < ENGINES_MAX ? 0 : -1;
}
SQ_BEFORE_ALL(find_engines)

static struct sq_unit random_unit(struct sq_rng *r)
{
    struct sq_unit u;
    memset(&u, 0, sizeof u);
    u.kind = sq_rng_below(r, SQ_UNIT_ENGINES + n_engines);
    u.kind = u.kind < SQ_UNIT_ENGINES ? u.kind : SQ_UNIT_ENGINES;
    u.topk = sq_rng_below(r, 2) ? SQ_TOPK_RANK : SQ_TOPK_RADIX;
    u.stages = sq_rng_below(r, 2) ? SQ_ARRAY_STAGES_PLAIN : SQ_ARRAY_STAGES_MIXED;
    u.core = random_core(r);
    if (u.kind == SQ_UNIT_ENGINES)
        u.engine = engines[sq_rng_below(r, n_engines)];
    else if (sq_rng_below(r, 4) > 0)
        u.output = random_output(r);
    return u;
}

enum { TILES_MAX = 8 };

static struct sq_unit_job random_job(struct sq_rng *r, const struct sq_unit *u,
                                     struct sq_tile_work tile[TILES_MAX], struct sq_tile_list *list)
{
    const bool is_core = u->kind == SQ_UNIT_CORE || u->kind == SQ_UNIT_CORE_ACT;
    const bool is_engines = u->engine != NULL;
    struct sq_unit_job j = {.tiles = some(r, is_engines ? 4 : 12), // their models take time
                            .passes = some(r, is_engines ? 12 : 30),
                            .flushes = is_engines ? 1 : some(r, 8),
                            .beats = some(r, is_core || is_engines ? 24 : 60),
                            .words = sq_rng_below(r, 4) ? some(r, 12) : 0,
                            .loads = is_engines ? some(r, 20) : 0};
    *list = (struct sq_tile_list){is_engines ? sq_rng_below(r, TILES_MAX + 1) : 0, tile};
    if (is_engines && sq_rng_below(r, 4) == 0)
        j.words = some(r, 2000);               // a port that they all wait for
    if (is_engines && u->engine->is_of_tokens) // a token has its columns
        j.loads++;
    for (uint32_t i = 0; i < list->n; i++) {
        tile[i].work = some(r, 25) - 1;
        tile[i].idle = sq_rng_below(r, tile[i].work + 1);
    }
    return j;
}

static uint64_t sum(const uint64_t counts[SQ_N_UNIT_CAUSES])
{
    uint64_t n = 0;
    for (unsigned i = 0; i < SQ_N_UNIT_CAUSES; i++)
        n += counts[i];
    return n;
}

SQ_TEST(test_random)
{
    static struct sq_memo memo;
    struct sq_rng r = {fixture_seed()};
    for (unsigned i = 0; i < fixture_cases(10000); i++) {
        struct sq_tile_work tile[TILES_MAX];
        struct sq_tile_list list;
        const struct sq_unit u = random_unit(&r);
        const struct sq_unit_job j = random_job(&r, &u, tile, &list);
        const struct sq_unit_stats a = sq_unit_run_step(&u, &j, &list);
        const struct sq_unit_stats b = sq_unit_run_fast(&u, &j, &list);
        const struct sq_unit_stats c = sq_unit_run(&u, &j, &list, &memo);
        if (memcmp(&a, &b, sizeof a) != 0)
            fail_msg("seed %llu case %u: %s, %u x %u tiles of %u x %u, words %u, loads %u, list "
                     "of %u: stepping %llu cycles, fast %llu",
                     (unsigned long long)fixture_seed(), i, sq_unit_name(&u), j.tiles, j.passes,
                     j.flushes, j.beats, j.words, j.loads, list.n, (unsigned long long)a.cycles,
                     (unsigned long long)b.cycles);
        assert_memory_equal(&a, &c, sizeof a);
        assert_int_equal(sum(a.low), a.cycles);
        assert_int_equal(sum(a.high), a.cycles);
        assert_true(sq_unit_bound(&u, &j, &list) <= a.cycles);
        assert_true(a.cycles <= sq_unit_limit(&u, &j, &list));
    }
}

SQ_TEST(test_core)
{
    static const struct sq_rates free_streams = {1, 1, 1, 1};
    struct sq_rng r = {fixture_seed()};
    for (unsigned i = 0; i < fixture_cases(1000); i++) {
        struct sq_unit u;
        memset(&u, 0, sizeof u);
        u.core = random_core(&r);
        struct sq_unit_job j = {some(&r, 9), some(&r, 9), some(&r, 5), some(&r, 24), 0, 0};
        const struct sq_job job = {j.beats, j.tiles * j.passes * j.flushes};
        const struct sq_core_stats a = sq_core_run_step(&u.core, &job, &free_streams);
        const struct sq_unit_stats b = sq_unit_run_fast(&u, &j, NULL);
        assert_int_equal(a.cycles, b.cycles);
        assert_memory_equal(a.low, b.low, sizeof a.low);
        assert_memory_equal(a.high, b.high, sizeof a.high);
    }
}

// An array without stalls: all beats, its stages, and the register that its results leave from.
SQ_TEST(test_array)
{
    struct sq_unit u;
    memset(&u, 0, sizeof u);
    u.kind = SQ_UNIT_ARRAY;
    u.stages = SQ_ARRAY_STAGES_MIXED;
    struct sq_unit_job j = {.tiles = 5, .passes = 4, .flushes = 1, .beats = 6};
    struct sq_unit_stats s = sq_unit_run_fast(&u, &j, NULL);
    assert_int_equal(s.cycles, 5 * 4 * 6 + 3 + 1);
    assert_int_equal(s.low[SQ_CAUSE_BUSY], 5 * 4 * 6);
    // A port that is longer at a tile, 5 slots of 4 words, than 6 beats take: the closed form.
    u.output = (struct sq_unit_output){
        .pes = 10, .lanes = 2, .form = SQ_COMBINE_TWO, .depth = 5, .pairs = 1};
    j.words = 4;
    const struct sq_output_port p = {
        .rows = 1, .cols = 10, .lanes = 2, .form = SQ_COMBINE_TWO, .out_bits = 16, .port_bits = 8};
    s = sq_unit_run_fast(&u, &j, NULL);
    assert_int_equal(s.cycles, sq_output_job_cycles(&p, 6 + 3, 20, 1, 6));
    assert_true(s.low[SQ_CAUSE_BLOCKED_OUTPUT] > 200);
    // Partial sums stay inside: a tile goes when its slots are read.
    j.words = 0;
    s = sq_unit_run_fast(&u, &j, NULL);
    assert_int_equal(s.cycles, 5 * 4 * 6 + 3 + 5);
    // Scale groups shorter than their slots, read twice: what the stage takes.
    u.output.pairs = 2;
    j.flushes = 3;
    s = sq_unit_run_fast(&u, &j, NULL);
    assert_int_equal(s.cycles, 6 + 3 + 20 * 3 * 2 * 5);
}

// Jobs as long as whole layers take as long as short ones: what is compared is the sum.
SQ_TEST(test_long)
{
    struct sq_rng r = {fixture_seed() + 2};
    for (unsigned i = 0; i < 300; i++) {
        const struct sq_unit u = random_unit(&r);
        struct sq_unit_job j = {.tiles = 16,
                                .passes = 3000,
                                .flushes = 1,
                                .beats = between(&r, 8, 2000),
                                .words = sq_rng_below(&r, 9)};
        if (u.engine)
            j.loads = between(&r, 1, 300);
        else
            j.flushes = between(&r, 1, 60);
        const struct sq_unit_stats s = sq_unit_run_fast(&u, &j, NULL);
        assert_int_equal(sum(s.low), s.cycles);
        assert_true(sq_unit_bound(&u, &j, NULL) <= s.cycles);
        assert_true(s.cycles <= sq_unit_limit(&u, &j, NULL));
    }
}
