// SPDX-License-Identifier: Apache-2.0
// Rows of an encoded layer on a machine (struct sq_own): GQSA with 0..all groups kept in a row,
// SpQR with 0..16 outliers in a word. Where one block holds the layer, every tile of a step is the
// very one of its rows, over its part of K (1..3 cores in K), and what is kept is what they keep;
// else the tiles are some of them. Stepping and events agree. Formats without anything of their own
// take the same time with and without.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/sq_machine_run.h"
#include "tests/sim/random_recipe.h"
#include "tests/skip.h"
#include "tests/test.h"

enum { PIECE = 16 };

static struct sq_own random_rows(struct sq_rng *rng, size_t n, size_t k, bool is_gqsa)
{
    struct sq_own own;
    assert_ok(sq_cost_own_new(&own, n, k / PIECE, PIECE, NULL));
    for (size_t row = 0; row < n; row++) {
        const uint32_t most = sq_rng_below(rng, 17); // rows differ
        for (size_t p = 0; p < k / PIECE; p++) {
            uint32_t count = is_gqsa ? sq_rng_below(rng, 17) < most : sq_rng_below(rng, most + 1);
            while (count-- > 0)
                sq_cost_own_count(&own, row, p);
        }
    }
    return own;
}

static struct sq_machine machine_of(struct sq_rng *rng, unsigned cores, uint64_t nbytes)
{
    struct sq_machine m = {.name = "own", .clock_hz = 1e9, .cores = cores};
    m.core = sq_core_config_default();
    m.core.rows = m.core.cols = 8 + sq_rng_below(rng, 8);
    m.act_nbytes = m.weight_nbytes = m.out_nbytes = nbytes;
    m.dram_bytes_per_s = 1e11;
    m.burst_nbytes = 64;
    sq_machine_derive(&m);
    return m;
}

// What engine `e` has in tile `t` of columns, of one of the parts of K that cores have.
static uint32_t count_of(const struct sq_mapping *p, const struct sq_own *own, uint64_t t,
                         unsigned e, unsigned part)
{
    const uint64_t slices = (p->n_slices + p->cores_k - 1) / p->cores_k;
    const uint64_t all = p->cost.stored / PIECE, of_core = slices * p->cost.step / PIECE;
    uint32_t count = 0;
    for (uint64_t c = 0; c < p->cost.lines; c++) {
        const uint64_t row = (t * p->cost.abreast + e) * p->cost.lines + c;
        for (uint64_t i = part * of_core; row < own->n && i < (part + 1) * of_core && i < all; i++)
            count += own->before[row * (own->n_pieces + 1) + i + 1] -
                     own->before[row * (own->n_pieces + 1) + i];
    }
    return count;
}

// Whether the tiles that were taken are those of the slowest engine: it is there, and none has more.
// is_counted: what has nothing takes a cycle all the same.
static bool is_slowest(const struct sq_mapping *p, const struct sq_own *own, bool is_even,
                       bool is_counted)
{
    uint64_t got = 0, most = 0, sum = 0;
    bool is_one = false;
    for (uint32_t t = 0; t < p->n_drawn[3]; t++)
        got += p->drawn[3][t].work;
    for (unsigned e = 0; e < p->cost.abreast; e++) {
        uint64_t of_engine = 0, effort = 0, same = 0;
        for (uint32_t t = 0; t < p->n_drawn[3]; t++) {
            const uint32_t n = count_of(p, own, t, e, 0);
            of_engine += n;
            effort += n > 0 || !is_counted ? n : 1;
            same += p->drawn[3][t].work == n;
        }
        most = effort > most ? effort : most;
        sum += of_engine;
        is_one = is_one || (same == p->n_drawn[3] && of_engine == got);
    }
    if (is_even)
        return got * p->cost.abreast >= sum &&
               got * p->cost.abreast < sum + (uint64_t)p->n_drawn[3] * p->cost.abreast;
    return is_one && got <= most;
}

// Returns whether the slowest engine was looked at. is_gqsa: groups are kept, else outliers counted.
static bool check_tiles(struct sq_rng *rng, bool is_gqsa)
{
    const unsigned cores = 1 + sq_rng_below(rng, 3);
    bool is_checked = false;
    struct sq_machine m = machine_of(rng, cores, 1 << 24);
    struct sq_recipe r = default_of(sq_format_find(is_gqsa ? "gqsa" : "spqr"));
    const struct sq_gemm g = {8, 1 + sq_rng_below(rng, 16 * m.core.cols),
                              128 * (1 + sq_rng_below(rng, 12))};
    struct sq_own own = random_rows(rng, g.n, g.k, is_gqsa);
    struct sq_mapping p;
    const double sum = sq_cost_own_sum(&own);
    r.rows = &own;
    if (is_gqsa) {
        const double sparsity = 1 - sum / (double)(own.n * own.n_pieces);
        set_option(&r, "sparsity", sparsity < 0.99 ? sparsity : 0.99);
        set_option(&r, "schedule", sq_rng_below(rng, 2));
    }
    assert_ok(sq_mapping_make(&m, &r, &g, &p, NULL));
    const struct sq_machine_stats a = sq_machine_run_step(&m, &p, NULL);
    const struct sq_machine_stats b = sq_machine_run_fast(&m, &p, NULL);
    assert_memory_equal(&a, &b, sizeof a);
    const uint64_t lines = p.cost.lines * p.cost.abreast, tiles = (g.n + lines - 1) / lines;
    if (p.count_n == 1 && p.count_k == 1 && p.cores_n == 1 && tiles <= SQ_TILES_DRAWN) {
        assert_int_equal(p.n_drawn[3], tiles);
        if (p.cores_k == 1 && p.cost.abreast <= SQ_LINES_MAX) {
            assert_true(is_slowest(&p, &own, is_gqsa && option_of(&r, "schedule") == 0, is_gqsa));
            is_checked = true;
        }
        if (is_gqsa && cores == 1 && g.n % lines == 0)
            assert_true(
                sq_mapping_used(&m, &p, (double)a.cycles).low > 0.999 * sum * PIECE * (double)g.m &&
                sq_mapping_used(&m, &p, (double)a.cycles).low < 1.001 * sum * PIECE * (double)g.m);
    }
    free(own.before);
    return is_checked;
}

SQ_TEST(test_tiles)
{
    struct sq_rng rng = {11};
    unsigned checked = 0;
    for (unsigned i = 0; i < 300; i++)
        if (!sq_is_without(i % 2 ? "gqsa" : "spqr"))
            checked += check_tiles(&rng, i % 2);
    assert_true(checked > 25 || sq_is_without("spqr")); // nearly all of them are of spqr
}

// An engine whose rows are full decides what the job takes where each has its own channels.
SQ_TEST(test_fullest)
{
    SQ_NEED_ROOM("gqsa");
    struct sq_rng rng = {12};
    struct sq_machine m = machine_of(&rng, 1, 1 << 16);
    struct sq_recipe r = default_of(sq_format_find("gqsa"));
    struct sq_demand demand;
    sq_demand_of(&r, &m.core, 64, 4096, 0, &demand);
    const struct sq_cost_unit unit = demand.cost;
    const unsigned lines = unit.abreast;
    const struct sq_gemm g = {64, SQ_TILES_DRAWN * lines, 4096};
    struct sq_own own;
    struct sq_mapping p;
    struct sq_machine_stats even, uneven;
    set_option(&r, "schedule", 1);
    for (unsigned is_uneven = 0; is_uneven < 2; is_uneven++) {
        assert_ok(sq_cost_own_new(&own, g.n, g.k / PIECE, PIECE, NULL));
        for (size_t row = 0; row < g.n; row++)
            for (size_t i = 0; i < own.n_pieces; i++)
                if (is_uneven && row % lines < 2 ? row % lines == 0 : i % 2 == 1)
                    sq_cost_own_count(&own, row, i);
        assert_true(sq_cost_own_sum(&own) == (double)(g.n * own.n_pieces / 2));
        r.rows = &own;
        assert_ok(sq_mapping_run(&m, &r, &g, &p, is_uneven ? &uneven : &even, NULL, NULL));
        free(own.before);
    }
    assert_int_equal(even.low[SQ_CAUSE_IMBALANCE], 0);
    assert_true(uneven.low[SQ_CAUSE_IMBALANCE] > uneven.low[SQ_CAUSE_BUSY] * 9 / 10);
    assert_true(uneven.cycles > even.cycles);
}

// SpQt: the columns that each token has, counted anew; in a tile of tokens the engines take theirs, and the
// slowest of them is the unit.
SQ_TEST(test_tokens)
{
    SQ_NEED_ROOM("spqt");
    const struct sq_format_ops *const spqt = sq_format_find("spqt");
    struct sq_rng rng = {14};
    for (unsigned i = 0; i < 60; i++) {
        struct sq_machine m = machine_of(&rng, 1, 1 << 24);
        const size_t k = 32 * (1 + sq_rng_below(&rng, 24)), n = 1 + sq_rng_below(&rng, 64);
        const size_t tokens = 1 + sq_rng_below(&rng, 3 * m.core.rows);
        const float theta = 0.05f * (float)(1 + sq_rng_below(&rng, 19));
        float *const w = fixture_zeros(n * k, sizeof *w), *const x =
                                                              fixture_exact(tokens * k * sizeof *x);
        struct sq_recipe r = default_of(spqt), coded = r;
        struct sq_own own = {.before = NULL};
        void *layer;
        uint32_t active = 0;
        set_option(&coded, "sparsity", 0);
        assert_true(w && x);
        for (size_t e = 0; e < tokens * k; e++)
            x[e] = (float)(2 * sq_rng_unit(&rng) - 1);
        assert_ok(spqt->values->init(&layer, &coded, w, n, k, &(struct sq_quant_input){0}, NULL));
        spqt->values->set_threshold(layer, theta);
        assert_ok(spqt->cost->own->tokens(layer, x, tokens, &own, &r, NULL));
        assert_int_equal(own.n, tokens);
        r.rows = &own;
        const struct sq_gemm g = {tokens, n, k};
        struct sq_mapping p;
        assert_ok(sq_mapping_make(&m, &r, &g, &p, NULL));
        uint64_t most = 0, got = 0, sum[SQ_LINES_MAX] = {0};
        for (size_t t = 0; t < tokens; t++) {
            uint32_t has = 0;
            for (size_t c = 0; c < k; c++)
                has += fabsf(x[t * k + c]) >= theta;
            assert_int_equal(own.before[(t + 1) * (own.n_pieces + 1) - 1], has);
            active += has;
            sum[t % p.cost.rows] += has > 0 ? has : 1;
        }
        for (unsigned e = 0; e < p.cost.rows; e++)
            most = sum[e] > most ? sum[e] : most;
        for (uint32_t t = 0; t < p.n_drawn[3]; t++)
            got += p.drawn[3][t].work > 0 ? p.drawn[3][t].work : 1;
        if (p.count_m == 1 && p.count_k == 1 &&
            (tokens + p.cost.rows - 1) / p.cost.rows == p.n_drawn[3])
            assert_int_equal(got, most);
        assert_true(fabs(1 - option_of(&r, "sparsity") - (double)active / (double)(tokens * k)) <
                    1e-12);
        const struct sq_machine_stats a = sq_machine_run_step(&m, &p, NULL);
        const struct sq_machine_stats b = sq_machine_run_fast(&m, &p, NULL);
        assert_memory_equal(&a, &b, sizeof a);
        spqt->values->free(layer);
        free(own.before);
    }
}

SQ_TEST(test_nothing_own)
{
    struct sq_rng rng = {13};
    struct sq_own own = random_rows(&rng, 256, 512, true);
    const struct sq_machine m = machine_of(&rng, 2, 1 << 18);
    const struct sq_gemm g = {32, 256, 512};
    (void)sq_cost_own_sum(&own);
    for (size_t i = 0; i < sq_n_formats(); i++) {
        struct sq_recipe r = default_of(sq_formats[i]);
        struct sq_machine_stats with, without;
        struct sq_mapping p;
        if (sq_formats[i]->cost->own)
            continue;
        assert_ok(sq_mapping_run(&m, &r, &g, &p, &without, NULL, NULL));
        r.rows = &own;
        assert_ok(sq_mapping_run(&m, &r, &g, &p, &with, NULL, NULL));
        assert_memory_equal(&with, &without, sizeof with);
    }
    free(own.before);
}
