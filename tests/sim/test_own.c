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

#include "sim/format/gqsa/sq_gqsa_recipe.h"
#include "sim/format/spqr/sq_spqr_recipe.h"
#include "sim/format/spqt/sq_spqt_recipe.h"
#include "sim/machine/sq_machine_run.h"
#include "tests/sim/random_recipe.h"
#include "tests/test.h"

enum { PIECE = 16 };

static struct sq_own random_rows(struct sq_rng *rng, size_t n, size_t k, bool is_gqsa)
{
    struct sq_own own;
    assert_int_equal(sq_cost_own_new(&own, n, k / PIECE, PIECE, NULL), SQ_OK);
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

// Tile `t` of columns, and the parts of K that cores have: one of them.
static bool is_own_tile(const struct sq_recipe *r, const struct sq_mapping *p,
                        const struct sq_tile_work *got, uint64_t t)
{
    const struct sq_own *own = r->rows;
    const uint64_t slices = (p->n_slices + p->cores_k - 1) / p->cores_k;
    const uint64_t e =
        slices * p->cost.step < p->cost.stored ? slices * p->cost.step : p->cost.stored;
    for (unsigned part = 0; part < p->cores_k; part++) {
        struct sq_tile_work want;
        uint32_t count[SQ_LINES_MAX] = {0};
        double kept;
        for (uint64_t c = 0; c < p->cost.lines && t * p->cost.lines + c < own->n; c++)
            for (uint64_t i = part * e / PIECE; i < (part + 1) * e / PIECE && i < own->n_pieces;
                 i++)
                count[c] += own->before[(t * p->cost.lines + c) * (own->n_pieces + 1) + i + 1] -
                            own->before[(t * p->cost.lines + c) * (own->n_pieces + 1) + i];
        r->format->cost->own->tile(r, &p->cost, e, count, &want, &kept);
        if (memcmp(&want, got, sizeof want) == 0)
            return true;
    }
    return false;
}

SQ_TEST(test_tiles)
{
    struct sq_rng rng = {11};
    for (unsigned i = 0; i < 200; i++) {
        const bool is_gqsa = i % 2;
        const unsigned cores = 1 + sq_rng_below(&rng, 3);
        struct sq_machine m = machine_of(&rng, cores, 1 << 24);
        struct sq_recipe r = default_of(is_gqsa ? &sq_format_gqsa : &sq_format_spqr);
        const struct sq_gemm g = {8, 1 + sq_rng_below(&rng, 16 * m.core.cols),
                                  128 * (1 + sq_rng_below(&rng, 12))};
        struct sq_own own = random_rows(&rng, g.n, g.k, is_gqsa);
        struct sq_mapping p;
        const double sum = sq_cost_own_sum(&own);
        r.rows = &own;
        if (is_gqsa) {
            const double sparsity = 1 - sum / (double)(own.n * own.n_pieces);
            sq_gqsa_set(&r)->sparsity = sparsity < 0.99 ? sparsity : 0.99;
            sq_gqsa_set(&r)->is_slice_k = sq_rng_below(&rng, 2);
        }
        assert_int_equal(sq_mapping_make(&m, &r, &g, &p, NULL), SQ_OK);
        const struct sq_machine_stats a = sq_machine_run_step(&m, &p);
        const struct sq_machine_stats b = sq_machine_run_fast(&m, &p);
        assert_memory_equal(&a, &b, sizeof a);
        if (p.count_n == 1 && p.count_k == 1 && p.cores_n == 1) {
            const uint64_t tiles = (g.n + m.core.cols - 1) / m.core.cols;
            assert_int_equal(p.n_drawn[3], tiles);
            for (uint64_t t = 0; t < tiles; t++)
                assert_true(is_own_tile(&r, &p, &p.drawn[3][t], t));
            if (is_gqsa && cores == 1 && g.n % m.core.cols == 0)
                assert_true(sq_mapping_used(&m, &p, (double)a.cycles).low >
                                0.999 * sum * PIECE * (double)g.m &&
                            sq_mapping_used(&m, &p, (double)a.cycles).low <
                                1.001 * sum * PIECE * (double)g.m);
        }
        free(own.before);
    }
}

// One full row decides what its tile takes where each column takes its own groups.
SQ_TEST(test_fullest)
{
    struct sq_rng rng = {12};
    struct sq_machine m = machine_of(&rng, 1, 1 << 16);
    struct sq_recipe r = default_of(&sq_format_gqsa);
    const struct sq_gemm g = {64, 16 * m.core.cols, 4096};
    struct sq_own own;
    struct sq_mapping p;
    struct sq_machine_stats even, uneven;
    sq_gqsa_set(&r)->is_slice_k = 1;
    for (unsigned is_uneven = 0; is_uneven < 2; is_uneven++) {
        assert_int_equal(sq_cost_own_new(&own, g.n, g.k / PIECE, PIECE, NULL), SQ_OK);
        for (size_t row = 0; row < g.n; row++)
            for (size_t i = 0; i < own.n_pieces; i++)
                if (is_uneven && row % m.core.cols < 2 ? row % m.core.cols == 0 : i % 2 == 1)
                    sq_cost_own_count(&own, row, i);
        assert_true(sq_cost_own_sum(&own) == (double)(g.n * own.n_pieces / 2));
        r.rows = &own;
        assert_int_equal(sq_mapping_run(&m, &r, &g, &p, is_uneven ? &uneven : &even, NULL, NULL),
                         SQ_OK);
        free(own.before);
    }
    assert_int_equal(even.low[SQ_CAUSE_IMBALANCE], 0);
    assert_true(uneven.low[SQ_CAUSE_IMBALANCE] > uneven.low[SQ_CAUSE_BUSY] * 9 / 10);
    assert_true(uneven.cycles > even.cycles);
}

// SpQt: the columns that a tile of tokens has, counted anew, in all and in the busiest of the
// slices of K that multipliers have; in one tile they are what every tile of channels takes.
SQ_TEST(test_tokens)
{
    struct sq_rng rng = {14};
    for (unsigned i = 0; i < 60; i++) {
        struct sq_machine m = machine_of(&rng, 1, 1 << 24);
        const size_t k = 32 * (1 + sq_rng_below(&rng, 24)), n = 1 + sq_rng_below(&rng, 64);
        const size_t tokens = 1 + sq_rng_below(&rng, 3 * m.core.rows);
        const float theta = 0.05f * (float)(1 + sq_rng_below(&rng, 19));
        float *const w = calloc(n * k, sizeof *w), *const x = malloc(tokens * k * sizeof *x);
        struct sq_recipe r = default_of(&sq_format_spqt), coded = r;
        struct sq_own own = {.before = NULL};
        void *layer;
        uint32_t active = 0, all = 0;
        sq_spqt_set(&coded)->sparsity = 0;
        assert_true(w && x);
        for (size_t e = 0; e < tokens * k; e++)
            x[e] = (float)(2 * sq_rng_unit(&rng) - 1);
        assert_int_equal(
            sq_format_spqt.values->init(&layer, &coded, w, n, k, &(struct sq_quant_input){0}, NULL),
            SQ_OK);
        sq_format_spqt.values->set_threshold(layer, theta);
        sq_spqt_set(&r)->schedule = i % 2 ? SQ_SPQT_STATIC : SQ_SPQT_BALANCED;
        assert_int_equal(
            sq_format_spqt.cost->own->tokens(layer, x, tokens, m.core.rows, &own, &r, NULL), SQ_OK);
        assert_int_equal(own.n, (tokens + m.core.rows - 1) / m.core.rows);
        r.rows = &own;
        const struct sq_gemm g = {tokens, n, k};
        struct sq_mapping p;
        assert_int_equal(sq_mapping_make(&m, &r, &g, &p, NULL), SQ_OK);
        const uint32_t lanes = p.cost.low_lanes;
        for (size_t tile = 0; tile < own.n; tile++) {
            uint32_t has = 0, busiest = 0;
            for (uint32_t lane = 0; lane < lanes; lane++) {
                uint32_t of_lane = 0;
                for (size_t c = lane * k / lanes; c < (lane + 1) * k / lanes; c++) {
                    bool is_active = false;
                    for (size_t t = tile * m.core.rows; t < tokens && t < (tile + 1) * m.core.rows;
                         t++) {
                        const bool is_there = fabsf(x[t * k + c]) >= theta;
                        active += is_there;
                        is_active = is_active || is_there;
                    }
                    of_lane += is_active;
                }
                has += of_lane;
                busiest = of_lane > busiest ? of_lane : busiest;
            }
            all += has;
            struct sq_tile_work work;
            double kept;
            const uint32_t even = has > 0 ? (has + lanes - 1) / lanes : 1;
            sq_cost_own(&r, &p.cost, &own, tile, 0, k, &work, &kept);
            assert_int_equal(work.beats, i % 2 && busiest > even ? busiest : even);
            assert_int_equal(work.beats - work.idle, even);
            uint32_t n_drawn = 0;
            for (uint32_t t = 0; t < p.n_drawn[3]; t++)
                n_drawn += memcmp(&p.drawn[3][t], &work, sizeof work) == 0;
            if (p.count_n == 1 && p.count_k == 1 && p.n_drawn[3] >= own.n)
                assert_true(own.n > 1 ? n_drawn > 0 : n_drawn == p.n_drawn[3]);
        }
        assert_true(fabs(1 - sq_spqt_recipe(&r)->sparsity - (double)active / (double)(tokens * k)) <
                    1e-12);
        assert_true(fabs(p.cost.low - (double)all / (double)(own.n * k)) < 1e-12);
        const struct sq_machine_stats a = sq_machine_run_step(&m, &p);
        const struct sq_machine_stats b = sq_machine_run_fast(&m, &p);
        assert_memory_equal(&a, &b, sizeof a);
        sq_format_spqt.values->free(layer);
        free(own.before);
        free(w);
        free(x);
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
        assert_int_equal(sq_mapping_run(&m, &r, &g, &p, &without, NULL, NULL), SQ_OK);
        r.rows = &own;
        assert_int_equal(sq_mapping_run(&m, &r, &g, &p, &with, NULL, NULL), SQ_OK);
        assert_memory_equal(&with, &without, sizeof with);
    }
    free(own.before);
}
