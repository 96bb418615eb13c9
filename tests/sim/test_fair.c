// SPDX-License-Identifier: Apache-2.0
// Fair machines by peak: 300 recipes of all formats on PEs of 1..32 low and 1..8 high lanes. No PE
// has more bit products than the machine's; for formats on both paths no other lanes with as many
// are faster on an element, and none as fast have fewer (all 128 x 64 of them are tried); a layer
// takes no longer than on the machine as it was, where its bits were those of the format. By area:
// tests/cli/machine.t, with a library.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "sim/format/core/sq_grid_recipe.h"
#include "sim/machine/sq_fair.h"
#include "tests/sim/random_recipe.h"
#include "tests/test.h"

static unsigned products(const struct sq_core_config *c)
{
    return (c->low_lanes * c->low_bits + c->high_lanes * c->high_bits) * c->act_bits;
}

static double pace(const struct sq_recipe *r, const struct sq_core_config *c)
{
    struct sq_demand demand;
    sq_demand_of(r, c, 64, 4096, 0, &demand);
    const struct sq_cost_unit u = demand.cost;
    const unsigned low = sq_core_low_steps(&u.unit.core), high = sq_core_high_steps(&u.unit.core);
    return (double)(low > high ? low : high) / u.unit.core.bank;
}

// No lanes of at most `most` bit products are better than those of `core`.
static void check_best(const struct sq_recipe *r, const struct sq_core_config *core, unsigned most)
{
    const double best = pace(r, core);
    struct sq_core_config c = *core;
    for (c.low_lanes = 1; c.low_lanes <= 128; c.low_lanes++)
        for (c.high_lanes = 1; c.high_lanes <= 64 && products(&c) <= most; c.high_lanes++) {
            const double other = pace(r, &c);
            assert_true(other >= best);
            assert_true(other > best || products(&c) >= products(core));
        }
}

SQ_TEST(test_peak)
{
    struct sq_rng rng = {7};
    unsigned both = 0;
    for (unsigned i = 0; i < 300; i++) {
        struct sq_machine m = {.name = "random", .clock_hz = 1e9, .cores = 1};
        m.core = sq_core_config_default();
        m.core.low_lanes = 1 + sq_rng_below(&rng, 32);
        m.core.high_lanes = 1 + sq_rng_below(&rng, 8);
        const struct sq_recipe r = random_recipe(&rng);
        const struct sq_core_config before = m.core;
        struct sq_fair_pe pe;
        struct sq_error err;
        struct sq_demand now, was;
        if (sq_fair_machine(SQ_FAIR_PEAK, NULL, &r, &m, &pe, &err) != SQ_OK) {
            assert_true(products(&before) < 2 * 8 * 8); // no room for one multiplier of each path
            continue;
        }
        assert_int_equal(pe.reference, products(&before));
        assert_int_equal(pe.products, products(&m.core));
        assert_true(pe.products <= pe.reference);
        assert_true(isnan(pe.area_um2));
        sq_demand_of(&r, &m.core, 64, 4096, 0, &now);
        const struct sq_cost_unit u = now.cost;
        assert_int_equal(pe.low_lanes, u.low_lanes);
        assert_int_equal(pe.high_lanes, u.high_lanes);
        if (u.unit.kind == SQ_UNIT_ARRAY || u.unit.engine) {
            sq_demand_of(&r, &before, 64, 4096, 0, &was);
            assert_memory_equal(&now, &was, sizeof now); // they have them all
            continue;
        }
        check_best(&r, &m.core, pe.reference);
        both++;
    }
    assert_true(both > 50);
}

// The default machine has 96 bits of weights in a cycle, L = 16 and H = 4 are what SQ(8,4) at s =
// .75 wants. With fewer high codes one bank needs 72 and two do not fit; of low codes of 2 bits
// four banks of 8 do.
SQ_TEST(test_lanes)
{
    static const struct {
        unsigned bank, high, high_bits, low_bits, low_lanes, high_lanes;
    } want[] = {{32, 8, 8, 4, 16, 4}, {4, 1, 8, 4, 16, 4},  {16, 1, 8, 4, 16, 1},
                {64, 4, 8, 4, 16, 1}, {32, 8, 8, 2, 16, 4}, {8, 1, 8, 2, 32, 4}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        struct sq_machine m = {.name = "default", .cores = 1, .core = sq_core_config_default()};
        struct sq_recipe r = default_of(&sq_format_sq_w);
        struct sq_fair_pe pe;
        r.bank = want[i].bank;
        r.high_per_bank = want[i].high;
        sq_grid_set(&r)->weight.high_bits = want[i].high_bits;
        sq_grid_set(&r)->weight.low_bits = want[i].low_bits;
        assert_int_equal(sq_fair_machine(SQ_FAIR_PEAK, NULL, &r, &m, &pe, NULL), SQ_OK);
        assert_int_equal(pe.low_lanes, want[i].low_lanes);
        assert_int_equal(pe.high_lanes, want[i].high_lanes);
    }
}
