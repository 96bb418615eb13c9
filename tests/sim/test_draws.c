// SPDX-License-Identifier: Apache-2.0
// No draw of a case stops the program: of every block at every point, directed cases and random ones of many seeds,
// with their golden outputs, and of blocks with an environment every piece of work that it brings. No RTL is built.
#include <stdlib.h>
#include <string.h>

#include "sim/block/flow/sq_case.h"
#include "sim/block/top/sq_top_work.h"
#include "tests/unit/fixture.h"

// Some pieces of the work of a case.
static void begin_some(const struct sq_case *c, void *env)
{
    enum { SOME = 12 };
    struct sq_env_choice choice = c->env;
    for (; choice.begin < choice.end; choice.begin += 1 + (c->env.end - 1) / SOME) {
        memset(env, 0, c->block->env->nbytes);
        c->block->env->init(c->point->value, &choice, env);
    }
}

static void draw(const struct sq_block *block, const struct sq_point *point, uint64_t seed,
                 uint64_t number)
{
    struct sq_case c;
    assert_ok(sq_case_draw(block, point, seed, number, &c, NULL));
    if (block->env) {
        void *const env = malloc(block->env->nbytes);
        assert_non_null(env);
        begin_some(&c, env);
        free(env);
    } else {
        assert_true(c.n_groups > 0 && c.n_beats > 0);
    }
    sq_case_free(&c);
}

// A descriptor of passes or attention that was made wrong is refused, at every point with the unit, in each way.
SQ_TEST(test_spoiled_descriptors_are_refused)
{
    struct sq_top_drawn *const drawn = calloc(1, sizeof *drawn);
    assert_non_null(drawn);
    for (size_t p = 0; p < sq_top_block.n_points; p++) {
        const unsigned *const value = sq_top_block.points[p].value;
        enum sq_top_unit unit[SQ_UNIT_ENGINE];
        struct sq_rng rng = {p};
        for (uint32_t u = sq_top_units(value, unit); u-- > 0;)
            for (uint32_t i = 0; i < 64 * 64 && unit[u] != SQ_UNIT_ENCODER; i++) {
                const uint32_t nbytes = value[SQ_TOP_DATA_W] / 8;
                const struct sq_top_given image = sq_top_draw_unit(value, &rng, unit[u], drawn);
                uint32_t word[SQ_DESC_WORDS];
                struct sq_ta_layer a;
                struct sq_tv_layer v;
                memcpy(word, image.word + image.descriptor / 4, sizeof word);
                (unit[u] == SQ_UNIT_PASSES ? sq_spoil_vector : sq_spoil_attend)(word, i, value);
                assert_false(unit[u] == SQ_UNIT_PASSES
                                 ? sq_tv_decode(word, nbytes, &v)
                                 : sq_ta_decode(word, nbytes, value[SQ_TOP_ATTEND], &a));
            }
    }
    free(drawn);
}

SQ_TEST(test_every_draw_ends)
{
    // In a layer of the last one no beat of weights was wrong in 400 draws of hif4.
    const uint64_t seed[] = {fixture_seed(), fixture_seed() + 1, 141567060};
    enum { RANDOM = 2 };
    for (size_t b = 0; b < sq_n_blocks; b++)
        for (size_t p = 0; p < sq_blocks[b]->n_points; p++) {
            const struct sq_point *const point = &sq_blocks[b]->points[p];
            const uint64_t n = sq_case_n_fixed(sq_blocks[b], point);
            for (uint64_t s = 0; s < SQ_LEN(seed); s++)
                for (uint64_t i = s > 0 && !sq_blocks[b]->env ? n : 0; i < n + RANDOM; i++)
                    draw(sq_blocks[b], point, seed[s], i);
        }
}
