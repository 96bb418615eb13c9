// SPDX-License-Identifier: Apache-2.0
// The specification of a sweep. Exhausted: that every combination of legal axis values that the
// format and core checks accept is a point exactly once, and no other; each comparison operator;
// each way of writing a range. Sampled at random: constraints against their evaluation by hand, and
// damaged texts, which must be refused or accepted but never crash. Refusals with their sentences
// are in tests/cli/sweep.t.
#include "sim/format/core/sq_grid_recipe.h"
#include "sim/sweep/sq_sweep_grid.h"
#include "tests/unit/tmpdir.h"

static void parse(struct sq_sweep_grid *s, const char *text)
{
    struct sq_error err;
    if (sq_sweep_grid_parse(s, text, strlen(text), "test", ".", &err) != SQ_OK)
        fail_msg("%s", err.text);
}

// ---- points -----------------------------------------------------------------------------------

SQ_TEST(test_every_format)
{
    struct sq_sweep_grid s;
    parse(&s, "name: all\n"
              "axes:\n"
              "  precision: [8/4, 8/3, 8/2, 4/3, 4/2]\n"
              "  bank: [4..128*2]\n"
              "  sparsity: [0.5, 0.75, 0.875, 0.9375]\n"
              "  group: [32, 64, 128, row]\n"
              "  high_lanes: [1]\n"
              "measures: [cycles]\n");
    assert_int_equal(s.n_points, N_FORMATS);
    assert_int_equal(s.n_illegal, 5 * 6 * 4 * 4 - N_FORMATS);
    assert_int_equal(s.n_excluded, 0);
    char(*text)[SQ_PARAMETERS_SIZE] = fixture_zeros(s.n_points, sizeof *text);
    assert_non_null(text);
    for (size_t i = 0; i < s.n_points; i++) {
        struct sq_sweep_point p;
        sq_sweep_grid_point(&s, i, &p);
        const struct sq_format banks = sq_recipe_banks(&p.recipe);
        assert_ok(sq_format_check(&banks, NULL));
        assert_ok(sq_core_config_check(&p.config, NULL));
        assert_int_equal(p.config.bank, banks.bank);
        assert_true(p.quantity[SQ_EQUIVALENT_BITS] == sq_format_equivalent_bits(&banks));
        sq_sweep_parameters(&p, text[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(text[i], text[j]);
    }
    sq_sweep_grid_free(&s);
}

SQ_TEST(test_defaults)
{
    struct sq_sweep_grid s;
    struct sq_sweep_point p;
    char text[SQ_PARAMETERS_SIZE];
    parse(&s, "name: d\naxes: {bank: [32]}\nmeasures: [cycles, causes, cycles]\n");
    assert_int_equal(s.n_points, 1);
    assert_int_equal(s.n_measures, 1 + 2 * SQ_N_UNIT_CAUSES); // named twice: once
    sq_sweep_grid_point(&s, 0, &p);
    const struct sq_core_config core = sq_core_config_default();
    const struct sq_format format = sq_format_default(), banks = sq_recipe_banks(&p.recipe);
    assert_memory_equal(&p.config, &core, sizeof core);
    assert_memory_equal(&banks, &format, sizeof format);
    sq_sweep_parameters(&p, text);
    assert_string_equal(
        text, "{\"model\":\"traces/tiny-llama\",\"m\":32,\"format\":\"sq_w\",\"precision\":\"8/4\","
              "\"bank\":32,\"sparsity\":0.75,\"group\":128,\"act_bits\":8,"
              "\"algorithm\":\"gptq\",\"gather\":\"crossbar\",\"rows\":32,"
              "\"cols\":32,\"low_lanes\":16,\"high_lanes\":4}");
    sq_sweep_grid_free(&s);
}

SQ_TEST(test_ranges)
{
    static const struct {
        const char *text;
        size_t n;
        double last;
    } cases[] = {{"1..5", 5, 5},     {"1..10+3", 4, 10}, {"1..9+3", 3, 7}, {"1..64*2", 7, 64},
                 {"3..60*4", 3, 48}, {"7..7", 1, 7},     {"5", 1, 5}};
    for (size_t i = 0; i < LEN(cases); i++) {
        struct sq_sweep_grid s;
        char text[200];
        snprintf(text, sizeof text,
                 "name: r\naxes: {m: [%s], n: [8], k: [8]}\nmeasures: [cycles]\n", cases[i].text);
        parse(&s, text);
        CHECK_EQ(s.axis[SQ_AXIS_M].n, cases[i].n, "range %s\n", cases[i].text);
        assert_true(s.axis[SQ_AXIS_M].value[cases[i].n - 1] == cases[i].last);
        sq_sweep_grid_free(&s);
    }
}

// ---- formats and machines ---------------------------------------------------------------------

// An axis that a format does not have makes no points of it, and stands in no row. Several formats are of equal silicon.
SQ_TEST(test_formats)
{
    struct sq_sweep_grid s;
    struct sq_sweep_point p;
    char text[SQ_PARAMETERS_SIZE];
    static const struct {
        const char *format;
        size_t points;
    } row[] = {
        {"dense", 2},    // weight_bits, of group 128
        {"sq_w", 2 * 2}, // bank, sparsity
        {"spqt", 2},     // sparsity
        {"gqsa", 2 * 2}, // sparsity, group
        {"sp24", 1},
    };
    char yaml[600] = "name: f\naxes: {format: [dense";
    for (size_t i = 1; i < sizeof row / sizeof row[0]; i++)
        if (!sq_is_without(row[i].format))
            strcat(strcat(yaml, ", "), row[i].format);
    strcat(yaml, "], weight_bits: [4, 6],\n"
                 "  bank: [16, 32], sparsity: [0.5, 0.75], group: [16, 128],\n"
                 "  machine: [sim/machines/default.yaml], n: [64], k: [64]}\n"
                 "measures: [time_ms, stored_bits]\n");
    parse(&s, yaml);
    size_t n[32] = {0}; // by index of sq_formats[]
    for (size_t i = 0; i < s.n_points; i++) {
        sq_sweep_grid_point(&s, i, &p);
        n[(size_t)p.quantity[SQ_AXIS_FORMAT]]++;
        sq_sweep_parameters(&p, text);
        assert_int_equal(strstr(text, "\"bank\":null") == NULL, p.recipe.format == &sq_format_sq_w);
        assert_null(strstr(text, "\"rows\"")); // the machine's own
    }
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        for (size_t f = 0; sq_formats[f]; f++)
            if (strcmp(sq_formats[f]->name, row[i].format) == 0)
                assert_int_equal(n[f], row[i].points);
    sq_sweep_grid_point(&s, 0, &p);
    sq_sweep_parameters(&p, text);
    assert_string_equal(text, "{\"machine\":\"sim/machines/default.yaml\",\"m\":32,\"n\":64,"
                              "\"k\":64,\"format\":\"dense\",\"weight_bits\":4,\"precision\":null,"
                              "\"bank\":null,\"sparsity\":null,\"group\":128,\"act_bits\":8,"
                              "\"algorithm\":\"gptq\",\"fair\":\"area\"}");
    sq_sweep_grid_free(&s);
}

SQ_TEST(test_format_refusals)
{
    static const struct {
        const char *axes, *measure, *text;
    } bad[] = {
        {"format: [dens], n: [8], k: [8]", "macs", "did you mean dense"},
        {"format: [dense], n: [8], k: [8]", "cycles", "need axis machine"},
        {"n: [8], k: [8]", "time_ms", "need axis machine"},
        {"n: [8], k: [8]", "array_area_um2", "need axis machine"},
        {"format: [nvfp4], machine: [sim/machines/default.yaml]", "pe_area_um2", "not of nvfp4"},
        {"machine: [sim/machines/absent.yaml], n: [8], k: [8]", "macs", "absent.yaml"},
        {"machine: [sim/machines/edge4.yaml], n: [8], k: [8], map: [xor]", "cycles",
         "axis map needs axis device"},
        {"machine: [sim/machines/edge4.yaml], n: [8], k: [8], device: [ddr9]", "cycles",
         "axis device = ddr9, need one of ddr4-2400"},
        {"machine: [sim/machines/edge4.yaml], n: [8], k: [8], device: [hbm2], bandwidth_gb_s: [9]",
         "cycles", "axes bandwidth_gb_s and device given"},
        {"machine: [a, a], n: [8], k: [8]", "macs", "axis machine has 'a' twice"},
        {"workload: [w.csv], n: [8], k: [8]", "macs", "workload together with n and k"},
        {"workload: [w.csv], m: [8]", "macs", "workload together with m"},
        {"workload: [w.csv], model: [x]", "macs",
         "workload together with model, without a measure"},
        {"workload: [w.csv], model: [x]", "loss",
         "workload together with model, without a measure"},
        {"n: [8], k: [8], cores: [2]", "macs", "axis cores needs axis machine"},
        {"n: [8], k: [8], clock_ghz: [0]", "macs", "axis clock_ghz = 0, need 0.001..10"},
        {"n: [8], k: [8], output_bytes: [0.5]", "macs", "axis output_bytes = 0.5, need 1..8192"},
        {"workload: [w.csv]", "perplexity", "of a workload"},
        {"sparsity: [0.6], n: [8], k: [8]", "macs", "sparsity"},
        {"act_bits: [16], n: [8], k: [8]", "macs", "act_bits = 16, need 4 or 8"},
    };
    for (size_t i = 0; i < LEN(bad); i++) {
        struct sq_sweep_grid s;
        struct sq_error err;
        char text[300];
        snprintf(text, sizeof text, "name: b\naxes: {%s}\nmeasures: [%s]\n", bad[i].axes,
                 bad[i].measure);
        assert_int_not_equal(sq_sweep_grid_parse(&s, text, strlen(text), "bad", ".", &err), SQ_OK);
        if (!strstr(err.text, bad[i].text))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].text);
    }
}

// ---- constraints ------------------------------------------------------------------------------

static bool compare(unsigned op, double a, double b)
{
    const bool results[] = {a <= b, a >= b, a == b, a != b, a<b, a> b};
    return results[op];
}

SQ_TEST(test_constraints)
{
    static const char *const ops[] = {"<=", ">=", "==", "!=", "<", ">"};
    struct sq_rng r = {fixture_seed()};
    unsigned held = 0;
    for (unsigned i = 0; i < 3000; i++) {
        double q[SQ_N_QUANTITIES], a, b;
        const unsigned x = SQ_AXIS_BANK, y = SQ_AXIS_LOW_LANES, z = SQ_AXIS_HIGH_PER_BANK;
        const unsigned op = sq_rng_below(&r, 6), f = 1 + sq_rng_below(&r, 4);
        char text[100];
        struct sq_constraint c;
        for (unsigned j = 0; j < SQ_N_QUANTITIES; j++)
            q[j] = 1 + sq_rng_below(&r, 6);
        snprintf(text, sizeof text, "bank * %u %s low_lanes / high_per_bank", f, ops[op]);
        assert_ok(sq_constraint_parse(text, &c, NULL));
        a = q[x] * f;
        b = q[y] / q[z];
        const bool got = sq_constraint_holds(&c, q);
        CHECK_EQ(got, compare(op, a, b), "%s with %g and %g\n", text, a, b);
        held += got;
    }
    assert_in_range(held, 500, 2500); // both answers occur
    static const char *const sides[] = {"bank < 2 * k", "cycles < k", "k < 2 * cycles"};
    for (unsigned i = 0; i < 3; i++) { // a measure on either side
        struct sq_constraint c;
        assert_ok(sq_constraint_parse(sides[i], &c, NULL));
        assert_true(c.is_measured == (i > 0));
    }
}

SQ_TEST(test_names)
{
    struct sq_constraint c;
    double q[SQ_N_QUANTITIES] = {0};
    q[SQ_AXIS_GATHER] = 1;
    q[SQ_AXIS_PRECISION] = 2;
    assert_ok(sq_constraint_parse("gather == log", &c, NULL));
    assert_true(sq_constraint_holds(&c, q));
    assert_ok(sq_constraint_parse("8/2 != precision", &c, NULL));
    assert_false(sq_constraint_holds(&c, q));
    static const char *const refused[] = {"bank == log",
                                          "gather < log",
                                          "gather == 8/4",
                                          "gather * 2 == log",
                                          "gather == 1",
                                          "bank",
                                          "",
                                          "bank <= ",
                                          "model == 1",
                                          "1*1*1*1*1 == 1",
                                          "bank => 4",
                                          "bank <= 4 <= 8"};
    for (size_t i = 0; i < LEN(refused); i++)
        if (sq_constraint_parse(refused[i], &c, NULL) == SQ_OK)
            fail_msg("accepted: %s", refused[i]);
}

// ---- damage -----------------------------------------------------------------------------------

SQ_TEST(test_damaged_texts)
{
    static const char good[] = "name: x\naxes:\n  bank: [4..128*2]\n  m: [1, 2, 3]\n  n: [8]\n"
                               "  k: [8, 16]\nconstraints: [\"bank * 2 <= 64\"]\n"
                               "measures: [cycles, causes]\n";
    struct sq_rng r = {fixture_seed()};
    unsigned refused = 0;
    for (unsigned i = 0; i < 4000; i++) {
        char text[sizeof good];
        struct sq_sweep_grid s;
        struct sq_error err;
        size_t n = sizeof good - 1;
        memcpy(text, good, sizeof good);
        for (unsigned j = 1 + sq_rng_below(&r, 3); j > 0; j--)
            text[sq_rng_below(&r, (uint32_t)n)] = (char)sq_rng_below(&r, 256);
        if (sq_rng_below(&r, 4) == 0)
            n = sq_rng_below(&r, (uint32_t)n);
        if (sq_sweep_grid_parse(&s, text, n, "damaged", ".", &err) != SQ_OK) {
            refused++;
            assert_null(strchr(err.text, '\n'));
        }
        sq_sweep_grid_free(&s);
    }
    assert_in_range(refused, 2000, 3999);
}
