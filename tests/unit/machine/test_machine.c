// SPDX-License-Identifier: Apache-2.0
// Machine files: the shipped ones load; every field is refused when it is missing, misspelt, zero,
// negative, absurd, of the wrong type or without a unit; damaged, circular and huge YAML too.
// Fields x damages are exhausted. Then the search for a mapping: what it must refuse and choose.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/sq_rng.h"
#include "sim/format/core/sq_grid_recipe.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_work_split.h"
#include "sim/io/sq_quantity.h"
#include "sim/machine/sq_machine.h"
#include "sim/machine/sq_machine_run.h"
#include "sim/machine/sq_work.h"
#include "tests/skip.h"
#include "tests/test.h"

static const char good[] = "name: test\n"
                           "clock: 1.5 GHz\n"
                           "cores: 4\n"
                           "core:\n"
                           "  rows: 16\n"
                           "  cols: 8\n"
                           "  low_lanes: 12\n"
                           "  high_lanes: 3\n"
                           "  low_bits: 4\n"
                           "  high_bits: 8\n"
                           "  act_bits: 8\n"
                           "  gather: log\n"
                           "buffers:\n"
                           "  activation: 64 KiB\n"
                           "  weight: 1 MiB\n"
                           "  output: 96 kB\n"
                           "dram:\n"
                           "  bandwidth: 48 GB/s\n"
                           "  latency: 90 ns\n"
                           "  burst: 32 B\n";

static enum sq_status parse(const char *text, struct sq_machine *m, struct sq_error *err)
{
    return sq_machine_parse(text, strlen(text), "test.yaml", m, err);
}

SQ_TEST(test_good)
{
    struct sq_machine m;
    struct sq_error err;
    assert_ok(parse(good, &m, &err));
    assert_string_equal(m.name, "test");
    assert_int_equal(m.cores, 4);
    assert_int_equal(m.core.rows, 16);
    assert_int_equal(m.core.cols, 8);
    assert_int_equal(m.core.low_lanes, 12);
    assert_int_equal(m.core.high_lanes, 3);
    assert_int_equal(m.core.gather, SQ_GATHER_LOG);
    assert_int_equal(m.act_nbytes, 65536);
    assert_int_equal(m.weight_nbytes, 1048576);
    assert_int_equal(m.out_nbytes, 96000);
    assert_int_equal(m.dram_latency, 135);
    // 32 bytes at 48 GB/s and 1.5 GHz: exactly one cycle.
    assert_int_equal(m.burst_num, 1);
    assert_int_equal(m.burst_den, 1);
}

// A unit is what its prefix says of its root, in base units.
SQ_TEST(test_units)
{
    static const struct {
        const char *name;
        double factor;
    } prefix[] = {{"f", 1e-15},
                  {"p", 1e-12},
                  {"n", 1e-9},
                  {"u", 1e-6},
                  {"m", 1e-3},
                  {"", 1},
                  {"k", 1e3},
                  {"M", 1e6},
                  {"G", 1e9},
                  {"T", 1e12},
                  {"Ki", 1024},
                  {"Mi", 1024. * 1024},
                  {"Gi", 1024. * 1024 * 1024}};
    static const struct {
        const char *known, *root; // prefixes that sq_quantity.h names
        double base;
    } unit[] = {[SQ_DIM_FREQUENCY] = {"  k M G ", "Hz", 1},
                [SQ_DIM_TIME] = {" n u m  ", "s", 1e-9},
                [SQ_DIM_SIZE] = {"  Ki Mi Gi k M G ", "B", 1},
                [SQ_DIM_RATE] = {"  k M G T ", "B/s", 1},
                [SQ_DIM_BIT_ENERGY] = {" f p ", "J/bit", 1e-12},
                [SQ_DIM_BIT_POWER] = {" f p n ", "W/bit", 1e-12}};
    for (size_t d = 0; d < sizeof unit / sizeof *unit; d++)
        for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++) {
            char text[32], word[8];
            double v = 0;
            snprintf(text, sizeof text, "2.5 %s%s", prefix[i].name, unit[d].root);
            snprintf(word, sizeof word, " %s ", prefix[i].name);
            const enum sq_status status =
                sq_quantity_parse("x", text, (enum sq_dimension)d, 0, 1e30, &v, NULL);
            assert_int_equal(status, strstr(unit[d].known, word) ? SQ_OK : SQ_ERR_ARG);
            if (status == SQ_OK)
                assert_true(fabs(v * unit[d].base / prefix[i].factor - 2.5) < 1e-12);
        }
}

SQ_TEST(test_shipped)
{
    static const char *const names[] = {"default", "edge4", "server64"};
    for (unsigned i = 0; i < 3; i++) {
        char path[64];
        struct sq_machine m;
        struct sq_error err = {.code = SQ_OK};
        snprintf(path, sizeof path, "sim/machines/%s.yaml", names[i]);
        if (sq_machine_load(path, &m, &err) != SQ_OK)
            fail_msg("%s", err.text);
        assert_string_equal(m.name, names[i]);
    }
}

// `good` with the value of a field replaced; NULL takes the line out.
static void damage(const char *key, const char *value, char *out, size_t n)
{
    char needle[40];
    snprintf(needle, sizeof needle, "%s:", key);
    const char *at = strstr(good, needle);
    while (at && at != good && at[-1] != ' ' && at[-1] != '\n')
        at = strstr(at + 1, needle);
    assert_non_null(at);
    const char *end = strchr(at, '\n');
    snprintf(out, n, "%.*s%s%s%s%s", (int)(at - good), good, value ? needle : "", value ? " " : "",
             value ? value : "", end);
}

static void refused(const char *key, const char *value, const char *want)
{
    char text[1024];
    struct sq_machine m;
    struct sq_error err = {.code = SQ_OK};
    damage(key, value, text, sizeof text);
    if (parse(text, &m, &err) == SQ_OK)
        fail_msg("%s: %s was accepted", key, value ? value : "(missing)");
    if (want && !strstr(err.text, want))
        fail_msg("%s: %s gave '%s', want '%s'", key, value ? value : "(missing)", err.text, want);
    assert_true(strlen(err.text) > 0 && !strchr(err.text, '\n'));
}

SQ_TEST(test_refusals)
{
    static const char *const counts[] = {"cores",      "rows",     "cols",      "low_lanes",
                                         "high_lanes", "low_bits", "high_bits", "act_bits"};
    static const char *const quantities[] = {"clock",  "activation", "weight",
                                             "output", "bandwidth",  "burst"};
    static const char *const bad_counts[] = {
        "0",   "-1",   "-4294967295", "1000000",       "4294967297", "1e3",
        "4.5", "four", "[4]",         "1099511627776", "''",         "~"};
    static const char *const bad_quantities[] = {
        "1",        "0 GHz",   "-1 GB/s", "1e99 GB/s", "nan GHz",    "inf B",  "GHz",
        "1 parsec", "12 KiBB", "{a: 1}",  "''",        "0x10 KiB/s", "1 GHz 2"};
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        refused(counts[i], NULL, counts[i]);
        for (unsigned j = 0; j < sizeof bad_counts / sizeof bad_counts[0]; j++)
            refused(counts[i], bad_counts[j], NULL);
    }
    for (unsigned i = 0; i < sizeof quantities / sizeof quantities[0]; i++) {
        refused(quantities[i], NULL, quantities[i]);
        for (unsigned j = 0; j < sizeof bad_quantities / sizeof bad_quantities[0]; j++)
            refused(quantities[i], bad_quantities[j], NULL);
    }
    refused("clock", "1", "need a unit: Hz, kHz, MHz or GHz");
    refused("bandwidth", "48", "need a unit");
    refused("bandwidth", "48 GHz", "need a unit");
    refused("latency", "-1 ns", "dram.latency");
    refused("latency", "1 s", "dram.latency");
    refused("gather", "butterfly", NULL);
    refused("rows", "65", "core.rows = 65, need 1..64");
    refused("cores", "1025", "cores = 1025, need 1..1024");
    refused("core", NULL, NULL);
    refused("name", NULL, "name");
}

SQ_TEST(test_yaml)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "empty"},
        {"name: a\nclok: 1 GHz\n", "did you mean clock"},
        {"name: a\ncores: 1\ncores: 2\n", NULL},
        {"name: a\ncore: &x\n  rows: *x\n", NULL}, // circular
        {"a: &a [*a]\n", NULL},
        {"- 1\n- 2\n", NULL},
        {"name: [\n", NULL},
        {"\t\n", NULL},
        {"name: a\n...\nname: b\n", NULL},
        {"\x01\x02", NULL},
    };
    struct sq_machine m;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sq_error err = {.code = SQ_OK};
        if (parse(cases[i].text, &m, &err) == SQ_OK)
            fail_msg("case %u was accepted", i);
        if (cases[i].want && !strstr(err.text, cases[i].want))
            fail_msg("case %u gave '%s'", i, err.text);
        assert_null(strchr(err.text, '\n'));
    }
    assert_int_not_equal(sq_machine_load("/nonexistent/m.yaml", &m, NULL), SQ_OK);
    assert_int_not_equal(sq_machine_load("sim/machines", &m, NULL), SQ_OK);
}

// An option by its name, where the format has it.
static void put(struct sq_recipe *r, const char *name, double value)
{
    const struct sq_format_option *o = sq_option_find(r->format, SQ_IN_RUN, name);
    if (o)
        sq_option_put(o, value, r);
}

// A recipe on a machine; what the format does not have is left alone. Banks of 8/4, 32, s = 3/4.
static struct sq_recipe timed(const char *format, unsigned act_bits, unsigned weight_bits,
                              unsigned group, double sparsity, double outliers)
{
    const struct sq_format_ops *const f = sq_format_find(format);
    struct sq_recipe r;
    assert_ok(sq_format_recipe(f, SQ_IN_RUN, NULL, &r, NULL));
    if (sq_option_find(f, SQ_IN_RUN, "act-bits")) {
        r.is_act_f16 = act_bits == 16;
        r.act.low_bits = act_bits;
    }
    put(&r, "weight-bits", weight_bits);
    r.group = group;
    put(&r, "sparsity", sparsity);
    put(&r, "outliers", outliers);
    return r;
}

// Bits per weight of each format by SPEC A.5, D.9, E.5, F.6, G.3, H.6, and elements per cycle of
// the default core (low 16 x 4 x 8, high 4 x 8 x 8 bits: 768 bit products).
SQ_TEST(test_schemes)
{
    static const unsigned R = 256; // output channels of K = 4096, batch 1
    const struct {
        const char *format;
        unsigned act_bits, weight_bits, group;
        double sparsity, outliers;
        unsigned lanes, groups, beats; // products a cycle of a PE; groups of a tile over 4096
                                       // elements of K, beats of a group; of engines: kept
                                       // groups of a row, active columns, outliers of 16 rows
        double weight, act;            // bits, scales of tokens left out
    } row[] = {
        {"dense", 8, 8, 128, 0, 0, 12, 32, 11, 8 + 32. / 128, 8},
        {"dense", 16, 16, 0, 0, 0, 3, 1, 1366, 16, 16},
        {"sq_a_static", 8, 4, 128, 0, 0, 24, 32, 4, 4 + 32. / 128, 5},
        {"sq_a_dynamic", 8, 4, 128, 0, 0, 32, 32, 4, 4 + 32. / 128, 6},
        {"sp24", 8, 0, 0, 0, 0, 12, 1, 171, 5 + 32. / 4096, 8},
        {"gqsa", 8, 0, 16, 0.5, 0, 24, 1, 128, 3.125 + 32. / 4096, 8},
        {"spqt", 8, 0, 0, 0.5, 0, 2, 1, 2048, 4.5 / 2, 8},                        // 24 x 11 bits
        {"spqr", 8, 0, 0, 0, 1. / 128, 6, 1, 512, 4 + 32. / 128 + 32. / 4096, 8}, // 11 x 11
    };
    const struct sq_core_config core = sq_core_config_default();
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        if (sq_is_without(row[i].format))
            continue;
        const struct sq_recipe s = timed(row[i].format, row[i].act_bits, row[i].weight_bits,
                                         row[i].group, row[i].sparsity, row[i].outliers);
        const struct sq_stretch whole = {4096, 0, s.group ? 4096 / s.group : 1, true};
        uint64_t nbytes[SQ_N_STREAMS], sum = 0;
        assert_ok(sq_cost_check(&s, NULL));
        struct sq_demand demand;
        struct sq_unit_job job;
        sq_demand_of(&s, &core, 1, 4096, 0, &demand);
        sq_work_job(&demand, 4096, &job);
        assert_int_equal(demand.cost.low_lanes, row[i].lanes);
        assert_int_equal(job.flushes, row[i].groups);
        assert_int_equal(job.beats, row[i].beats);
        sq_work_nbytes(&demand, 1, R, &whole, nbytes);
        for (unsigned id = SQ_STREAM_LO; id <= SQ_STREAM_SCALE; id++)
            sum += nbytes[id];
        if (strcmp(row[i].format, "gqsa") == 0) // F.6 has 16 + 16 + 4 bits a group: 0.5 (4 + 36/16)
            assert_int_equal(nbytes[SQ_STREAM_INDEX], R * (256 / 2 * 2 + 4));
        assert_true(fabs(8. * (double)sum / (R * 4096.) - row[i].weight) < 1e-12);
        assert_true(8. * (double)nbytes[SQ_STREAM_ACT] / 4096 == row[i].act);
    }
    // Engines of one token: as many tokens side by side as there are, the rest in the direction of the
    // channels. Engines of gqsa take as many tokens as the array has rows.
    static const struct {
        const char *format;
        unsigned m, rows, lines, abreast, multipliers;
    } side[] = {{"spqt", 1, 1, 256, 64, 32},  {"spqt", 3, 3, 256, 21, 32},
                {"spqt", 99, 32, 256, 2, 32}, {"spqr", 1, 1, 16, 384, 16},
                {"spqr", 99, 32, 16, 12, 16}, {"gqsa", 1, 32, 1, 48, 512},
                {"gqsa", 99, 32, 1, 48, 512}};
    struct sq_core_config large = core;
    large.rows = large.cols = 32;
    for (size_t i = 0; i < sizeof side / sizeof side[0]; i++) {
        if (sq_is_without(side[i].format))
            continue;
        const struct sq_recipe s = timed(side[i].format, 8, 0, 16, 0.5, 0.01);
        struct sq_demand demand;
        sq_demand_of(&s, &large, side[i].m, 4096, 0, &demand);
        const struct sq_cost_unit u = demand.cost;
        assert_int_equal(u.rows, side[i].rows);
        assert_int_equal(u.lines, side[i].lines);
        assert_int_equal(u.abreast, side[i].abreast);
        assert_int_equal(u.multipliers, side[i].multipliers);
    }
}

SQ_TEST(test_scheme_refusals)
{
    static const struct {
        const char *format;
        unsigned act_bits, weight_bits;
        double sparsity, outliers;
        const char *text;
    } row[] = {
        {"dense", 8, 1, 0, 0, "weight-bits = 1, need 2..16"},
        {"dense", 6, 8, 0, 0, "act-bits = 6, need 4, 8 or 16"},
        {"sp24", 6, 0, 0, 0, "act-bits = 6, need 4, 8 or 16 for sp24"},
        {"gqsa", 8, 0, 0.5, 0, "group = 0, need 4..128"},
        {"spqt", 8, 0, 1, 0, "sparsity = 1"},
        {"spqr", 8, 0, 0, NAN, "outliers = nan"},
        {"sq_a_static", 0, 4, 0, 0, "high-bits/low-bits = 0/0"},
    };
    struct sq_error err;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        if (sq_is_without(row[i].format))
            continue;
        struct sq_recipe r = timed(row[i].format, row[i].act_bits, row[i].weight_bits, 0,
                                   row[i].sparsity, row[i].outliers);
        if (row[i].act_bits == 0)
            r.act.low_bits = r.act.high_bits = 0;
        assert_int_not_equal(sq_cost_check(&r, &err), SQ_OK);
        if (!strstr(err.text, row[i].text))
            fail_msg("'%s' does not say '%s'", err.text, row[i].text);
    }
    const struct sq_recipe w9 = timed("sq_a_dynamic", 8, 9, 0, 0, 0);
    assert_int_equal(sq_cost_check(&w9, &err), SQ_ERR_RANGE);
}

// Buffers hold superblocks as they are stored. Half a buffer holds those of 16 columns, or the
// machine is refused; so is one that has not the multipliers of one engine.
SQ_TEST(test_spqt_buffer)
{
    enum { SUPERBLOCK = 144 };
    SQ_NEED_ROOM("spqt");
    const struct sq_recipe s = timed("spqt", 8, 0, 0, 0, 0);
    const struct sq_gemm g = {16, 256, 1024};
    struct sq_machine m;
    struct sq_mapping p;
    struct sq_error err = {.text = ""};
    assert_ok(parse(good, &m, NULL));
    m.weight_nbytes = 2 * 16 * SUPERBLOCK;
    assert_ok(sq_mapping_make(&m, &s, &g, &p, NULL));
    m.weight_nbytes--;
    assert_int_equal(sq_mapping_make(&m, &s, &g, &p, &err), SQ_ERR_RANGE);
    assert_non_null(strstr(err.text, "does not hold one tile"));
    m.weight_nbytes++;
    m.core.rows = m.core.cols = 3; // 18 multipliers of 24 x 11 bits
    assert_int_equal(sq_mapping_make(&m, &s, &g, &p, &err), SQ_ERR_RANGE);
    assert_non_null(strstr(err.text, "18 multipliers of the width that spqt needs, need 32"));
}

SQ_TEST(test_plan_refusals)
{
    static const struct sq_gemm bad[] = {{0, 1, 1},
                                         {1, 0, 1},
                                         {1, 1, 0},
                                         {UINT64_C(1) << 40, 1, 1},
                                         {1, UINT64_C(1) << 40, 1},
                                         {1, 1, UINT64_MAX}};
    struct sq_recipe s = timed("sq_w", 8, 0, 128, 0, 0);
    struct sq_machine m;
    struct sq_error err;
    struct sq_mapping p;
    assert_ok(parse(good, &m, NULL));
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(sq_mapping_make(&m, &s, &bad[i], &p, &err), SQ_ERR_RANGE);
        assert_non_null(strstr(err.text, "need 1..16777216"));
    }
    const struct sq_gemm g = {64, 64, 64};
    m.weight_nbytes = 64;
    assert_int_equal(sq_mapping_make(&m, &s, &g, &p, &err), SQ_ERR_RANGE);
    assert_non_null(strstr(err.text, "does not hold one tile"));
    m.weight_nbytes = 1 << 20;
    m.core.low_bits = 3;
    assert_int_equal(sq_mapping_make(&m, &s, &g, &p, &err), SQ_ERR_UNSUPPORTED);
}

// The largest GEMM: refused on a small machine, whose buffers make it move 2^66 bytes, and on the
// largest behind 1 MB/s, 2^68 cycles; behind 1 GB/s it is timed, and quickly. test_extremes has the
// figures between.
SQ_TEST(test_extremes)
{
    const struct sq_gemm huge = {SQ_GEMM_MAX, SQ_GEMM_MAX, SQ_GEMM_MAX};
    const struct sq_recipe s = timed("sq_w", 8, 0, 128, 0, 0);
    struct sq_machine m;
    struct sq_mapping p;
    struct sq_error err;
    assert_ok(parse(good, &m, NULL));
    m.cores = 1;
    assert_int_equal(sq_mapping_make(&m, &s, &huge, &p, &err), SQ_ERR_RANGE);
    assert_non_null(strstr(err.text, "more than 9223372036854775807 bytes"));
    m.cores = 1024;
    m.core.rows = m.core.cols = 64;
    m.act_nbytes = m.weight_nbytes = m.out_nbytes = 1 << 30;
    m.dram_bytes_per_s = 1e6;
    m.clock_hz = 1e10;
    m.burst_nbytes = 16;
    sq_machine_derive(&m);
    assert_int_equal(sq_mapping_make(&m, &s, &huge, &p, &err), SQ_ERR_RANGE);
    assert_non_null(strstr(err.text, "more than 9223372036854775807 cycles"));
    m.dram_bytes_per_s = 1e9;
    sq_machine_derive(&m);
    assert_ok(sq_mapping_make(&m, &s, &huge, &p, NULL));
    const struct sq_machine_stats stats = sq_machine_run_fast(&m, &p, NULL);
    assert_true(stats.cycles >= p.bound);
    assert_true(p.sum.compute > UINT64_C(1) << 40 && p.sum.dram > UINT64_C(1) << 50);
}

// More cores never make a GEMM slower than the bound of fewer, and a matrix-vector product with
// few columns splits K.
SQ_TEST(test_cores)
{
    const struct sq_recipe s = timed("sq_w", 8, 0, 128, 0, 0);
    const struct sq_gemm wide = {512, 2048, 2048}, narrow = {1, 64, 16384};
    struct sq_machine m;
    struct sq_mapping p;
    uint64_t last = UINT64_MAX;
    assert_ok(sq_machine_load("sim/machines/server64.yaml", &m, NULL));
    for (m.cores = 1; m.cores <= 64; m.cores *= 2) {
        assert_ok(sq_mapping_make(&m, &s, &wide, &p, NULL));
        const uint64_t now = sq_machine_run_fast(&m, &p, NULL).cycles;
        assert_true(now < last);
        last = now;
    }
    m.cores = 64;
    m.dram_bytes_per_s = 1e14; // the cores decide, not the DRAM
    sq_machine_derive(&m);
    assert_ok(sq_mapping_make(&m, &s, &narrow, &p, NULL));
    assert_true(p.cores_k > 1);
}
