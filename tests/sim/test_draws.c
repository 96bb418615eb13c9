// SPDX-License-Identifier: Apache-2.0
// No draw of a case stops the program: of every block at every point, directed cases and random ones of many seeds,
// with their golden outputs, and of blocks with an environment every piece of work that it brings. No RTL is built.
#include <stdlib.h>
#include <string.h>

#include "sim/block/flow/sq_case.h"
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
    assert_int_equal(sq_case_draw(block, point, seed, number, &c, NULL), SQ_OK);
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
