// SPDX-License-Identifier: Apache-2.0
// Fair machines by peak: 300 recipes of all formats on PEs of 1..32 low and 1..8 high lanes. No PE
// has more bit products than the machine's; for formats on both paths no other lanes with as many
// are faster on an element, and none as fast have fewer (all 128 x 64 of them are tried); a layer
// takes no longer than on the machine as it was, where its bits were those of the format. By area:
// tests/cli/machine.t, with a library. Of chips: every key of the YAML changes a parameter of the RTL or the memory
// behind it, or is refused; PEs are as large as the multipliers allow, and no larger.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/block/flow/sq_block.h"
#include "sim/format/core/sq_grid_recipe.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/machine/sq_chip_machine.h"
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
        if (sq_fair_machine(SQ_FAIR_PEAK, NULL, &r, 0, &m, &pe, &err) != SQ_OK) {
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
        assert_ok(sq_fair_machine(SQ_FAIR_PEAK, NULL, &r, 0, &m, &pe, NULL));
        assert_int_equal(pe.low_lanes, want[i].low_lanes);
        assert_int_equal(pe.high_lanes, want[i].high_lanes);
    }
}

// ---- chips --------------------------------------------------------------------------------------

// The chip of sim/machines/chip.yaml with 1024 bit products a PE, of which the line with this key is another one.
static enum sq_status chip_of(const char *key, const char *line, struct sq_machine *m,
                              struct sq_error *err)
{
    static const char *const lines[] = {"name: c",
                                        "clock: 1 GHz",
                                        "cores: 1",
                                        "core:",
                                        "  rows: 2",
                                        "  cols: 4",
                                        "  low_lanes: 16",
                                        "  high_lanes: 8",
                                        "  low_bits: 4",
                                        "  high_bits: 8",
                                        "  act_bits: 8",
                                        "buffers:",
                                        "  activation: 16 KiB",
                                        "  weight: 32 KiB",
                                        "  scale: 8 KiB",
                                        "  output: 4 KiB",
                                        "dram:",
                                        "  bandwidth: 8 GB/s",
                                        "  latency: 40 ns",
                                        "  burst: 64 B",
                                        "chip:",
                                        "  bus: 8 B",
                                        "  burst: 32",
                                        "  outstanding: 4"};
    char text[1024] = "";
    unsigned n = 0;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const bool is_this = key && strncmp(lines[i], key, strlen(key)) == 0 && n++ == 0;
        strcat(text, is_this ? line : lines[i]);
        strcat(text, "\n");
    }
    assert_true(!key || n > 0);
    return sq_machine_parse(text, strlen(text), "c", m, err);
}

static enum sq_status layer_of(const struct sq_machine *m, const struct sq_recipe *r,
                               struct sq_chip_layer *c, struct sq_error *err)
{
    const uint64_t mnk[3] = {16, 32, 512};
    struct sq_chip chip;
    SQ_TRY(sq_machine_chip(m, &chip, err));
    chip.time = NULL;
    return sq_chip_layer_of(r, &chip, m->core.rows, m->core.cols, mnk, c, err);
}

// area --block top, cosim --block top, image and run all build the chip of these parameters.
SQ_TEST(test_every_key_of_a_chip)
{
    static const struct {
        const char *key, *line,
            *refused; // refused: the sentence has it; NULL: the chip is another one
    } keys[] = {{"clock", "clock: 2 GHz", NULL},
                {"cores", "cores: 2", "cores = 2, need 1 with chip"},
                {"  rows", "  rows: 4", NULL},
                {"  rows", "  rows: 0", "core.rows = 0, need 1..64"},
                {"  cols", "  cols: 8", NULL},
                {"  low_lanes", "  low_lanes: 8", NULL},
                {"  low_lanes", "  low_lanes: 129", "core.low_lanes = 129, need 1..128"},
                {"  low_lanes", "  # none", "core.high_lanes = 8, need core.low_lanes"},
                {"  low_lanes", "  low_lanes: 1", NULL},
                {"  high_lanes", "  high_lanes: 24", NULL},
                {"  high_lanes", "  high_lanes: 0", "core.high_lanes = 0, need 1..64"},
                {"  low_bits", "  low_bits: 2", NULL},
                {"  high_bits", "  high_bits: 4", NULL},
                {"  act_bits", "  act_bits: 4", NULL},
                {"  act_bits", "  act_bits: 5", "core.act_bits = 5, need 4 or 8"},
                {"  act_bits", "  gather: log", "core.gather = log, need no such key with chip"},
                {"  act_bits", "  output: 8 B", "core.output = 8 B, need no such key with chip"},
                {"  act_bits", "  sum: wide",
                 "core.sum = wide, need one of: binary32, exact, aligned, after"},
                {"  act_bits", "  sum: aligned",
                 "core.aligned = 0, need bits with core.sum = aligned or after"},
                {"  act_bits", "  sum: aligned\n  aligned: 24", "core.aligned = 24, need 0..23"},
                {"  act_bits", "  cut: 2", "core.cut = 2, need core.sum = exact with it"},
                {"  act_bits", "  sum: exact\n  carry: 8", "core.carry = 8, need 0 or 16"},
                {"  activation", "  activation: 8 KiB", NULL},
                {"  activation", "  activation: 64 B", "half of it holds"},
                {"  weight", "  weight: 16 KiB", NULL},
                {"  scale", "  scale: 4 KiB", NULL},
                {"  scale", "  # none", NULL},
                {"  output", "  output: 2 KiB", NULL},
                {"  bandwidth", "  bandwidth: 4 GB/s", NULL},
                {"  latency", "  latency: 80 ns", NULL},
                {"  burst: 64", "  burst: 32 B", NULL},
                {"  bus", "  bus: 16 B", NULL},
                {"  bus", "  bus: 128 B", "chip.bus"},
                {"  burst: 32", "  burst: 16", NULL},
                {"  outstanding", "  outstanding: 8", NULL},
                {"  outstanding", "  outstanding: 1", "chip.outstanding = 1, need 2..32"}};
    const struct sq_given wide = {1, {{"weight-bits", "8"}}};
    struct sq_chip_layer before, after;
    struct sq_machine m;
    struct sq_recipe r;
    struct sq_error err;
    assert_ok(sq_format_recipe(sq_format_find("dense"), SQ_IN_RUN, &wide, &r, NULL));
    assert_ok(chip_of(NULL, NULL, &m, NULL));
    assert_ok(layer_of(&m, &r, &before, NULL));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        enum sq_status status = chip_of(keys[i].key, keys[i].line, &m, &err);
        SQ_THEN(status, layer_of(&m, &r, &after, &err));
        if (keys[i].refused ? status == SQ_OK || !strstr(err.text, keys[i].refused)
                            : status != SQ_OK)
            fail_msg("%s: %s", keys[i].line, status == SQ_OK ? "taken" : err.text);
        if (keys[i].refused)
            continue;
        const bool is_same = memcmp(before.value, after.value, sizeof before.value) == 0 &&
                             memcmp(before.memory.n, after.memory.n, sizeof before.memory.n) == 0;
        if (is_same)
            fail_msg("%s changes nothing", keys[i].line);
    }
}

// Every machine that is shipped is square, or has one core.
SQ_TEST(test_lines_of_oblong_cores)
{
    assert_true(
        sq_fair_n_lines(&(struct sq_machine){.cores = 3, .core = {.rows = 24, .cols = 40}}) == 192);
    // The least that is a quarter of the rows and half of the columns.
    for (unsigned n = 1; n <= 64; n++) {
        struct sq_core_config c = {.rows = n, .cols = 65 - n};
        sq_fair_second_size(&c);
        assert_true(4 * c.rows - n < 4 && 2 * c.cols - (65 - n) < 2);
    }
}

// What a PE has is at most what the machine states, and a beat is as long as that allows.
SQ_TEST(test_lanes_of_a_chip)
{
    static const struct {
        const char *format, *bits;
        unsigned low, high, bank; // bank 0: refused
    } want[] = {
        {"dense", "8", 16, 4, 8},    {"dense", "4", 16, 4, 16}, {"dense", "4", 128, 64, 128},
        {"dense", "8", 4, 2, 4},     {"dense", "8", 3, 1, 0},   {"sp24", NULL, 16, 4, 16},
        {"sp24", NULL, 32, 16, 64},  {"nvfp4", NULL, 4, 2, 16}, {"nvfp4", NULL, 4, 1, 0},
        {"mxfp8", NULL, 32, 16, 32}, {"mxfp8", NULL, 16, 4, 0}, {"sq_w", NULL, 32, 8, 32},
        {"sq_w", NULL, 32, 7, 0}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const struct sq_given bits = {want[i].bits ? 1 : 0, {{"weight-bits", want[i].bits}}};
        struct sq_machine m;
        struct sq_chip_layer c;
        struct sq_recipe r;
        struct sq_error err;
        if (sq_is_without(want[i].format))
            continue;
        assert_ok(sq_format_recipe(sq_format_find(want[i].format), SQ_IN_RUN, &bits, &r, NULL));
        assert_ok(chip_of(NULL, NULL, &m, NULL));
        m.core.low_lanes = want[i].low;
        m.core.high_lanes = want[i].high;
        const enum sq_status status = layer_of(&m, &r, &c, &err);
        if (want[i].bank == 0) {
            assert_int_equal(status, SQ_ERR_RANGE);
            assert_non_null(strstr(err.text, "core.low_lanes, core.high_lanes"));
            continue;
        }
        assert_ok(status);
        assert_int_equal(c.value[SQ_TOP_BANK_LEN], want[i].bank);
        assert_true(sq_chip_products(c.value) <= products(&m.core));
    }
}

// A PE of blocks has the tail of every area unit with its module and scales, its own first; option sum picks among them.
SQ_TEST(test_tails)
{
    const struct sq_core_config core = sq_core_config_default();
    char *text[] = {strdup("nvfp4"), strdup("nvint4:sum=exact"), strdup("nvfp4:sum=binary32"),
                    strdup("mxfp4"), strdup("mxfp4:sum=exact")};
    unsigned n[5], units = 0;
    for (size_t i = 0; i < 5; i++) {
        struct sq_recipe r;
        struct sq_demand d;
        struct sq_cost_pe pe = {.n_parts = 0};
        assert_ok(sq_recipe_read(text[i], "format", SQ_IN_RUN, NULL, &r, NULL));
        sq_demand_of(&r, &core, 64, 4096, 0, &d);
        r.format->cost->pe(&r, &d.cost, &pe);
        n[i] = pe.n_tails;
        assert_int_equal(pe.n_parts, n[i] > 0);
        if (n[i] > 0)
            assert_int_equal(strncmp(pe.sum, i < 2 ? "exact" : "binary32", 5), 0);
        free(text[i]);
    }
    for (size_t i = 0; sq_area_unit(i); i++)
        units += strncmp(sq_area_unit(i)->name, "pe_nvfp4_fixed", 14) == 0;
    assert_true(units >= 3); // with registers behind product and shift
    assert_true(n[0] >= units && n[1] >= units);
    assert_int_equal(n[2], 1);
    assert_true(n[3] >= 1);
    assert_int_equal(n[4], 0); // E8M0
}

// By bit products: all PEs together have no more than the machine's own, and one column more would have.
SQ_TEST(test_fair_chip)
{
    static const struct {
        const char *format;
        unsigned cols;
    } want[] = {{"dense", 6}, {"sp24", 6}, {"nvfp4", 12}, {"mxfp8", 1}, {"sq_w", 2}, {"mxfp4", 6}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        struct sq_machine m;
        struct sq_chip_layer c;
        struct sq_recipe r;
        struct sq_fair_pe pe;
        if (sq_is_without(want[i].format))
            continue;
        assert_ok(sq_format_recipe(sq_format_find(want[i].format), SQ_IN_RUN, NULL, &r, NULL));
        assert_ok(chip_of(NULL, NULL, &m, NULL));
        m.core.high_lanes = 4;
        const unsigned most = products(&m.core) * m.core.cols;
        assert_ok(sq_fair_machine(SQ_FAIR_PEAK, NULL, &r, 0, &m, &pe, NULL));
        assert_int_equal(m.core.cols, want[i].cols);
        assert_true(pe.products * m.core.cols <= most && pe.products * (m.core.cols + 1) > most);
        assert_ok(layer_of(&m, &r, &c, NULL));
        assert_int_equal(sq_chip_products(c.value), pe.products);
    }
}
