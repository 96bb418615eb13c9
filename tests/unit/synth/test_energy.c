// SPDX-License-Identifier: Apache-2.0
// Energy of a netlist of four cells, every rise, fall, state and joule of which is worked out by hand
// below: switching, internal energy by related pin and state, the clock's pin before and behind its
// edge, leakage by state; glitches that delays make and that inertia swallows. Then what must hold of
// any: operands that rest leave clock and leakage, twice a table is twice its part, parts sum up,
// two runs are equal.
#include <math.h>

#include "sim/energy/sq_energy.h"
#include "tests/unit/tmpdir.h"

TMPDIR_OF_ALL(dir)

// 2 V, 1 pF: energies are in pJ. Delays of INV and AND2 and the energy of INV are filled in.
static const char library[] =
    "library (tiny) { time_unit : \"1ns\"; voltage_unit : \"1V\"; leakage_power_unit : \"1nW\";\n"
    "capacitive_load_unit (1, pf); nom_voltage : 2;\n"
    "cell (NAND2) { area : 1; pin (A) { direction : input; capacitance : 1; }\n"
    "  pin (B) { direction : input; capacitance : 1; }\n"
    "  pin (Y) { direction : output; function : \"!(A B)\"; } }\n"
    "cell (INV) { area : 1; leakage_power () { when : A; value : 10; }\n"
    "  leakage_power () { value : 20; } pin (A) { direction : input; capacitance : 1; }\n"
    "  pin (Y) { direction : output; function : \"!A\"; internal_power () { related_pin : A;\n"
    "    rise_power (scalar) { values (\"%g\"); } fall_power (scalar) { values (\"%g\"); } }\n"
    "    timing () { related_pin : A; timing_sense : negative_unate;\n"
    "      cell_rise (scalar) { values (\"%g\"); } cell_fall (scalar) { values (\"%g\"); } } } }\n"
    "cell (AND2) { area : 1; cell_leakage_power : 5;\n"
    "  leakage_power () { related_pg_pin : VDD; when : \"A B\"; value : 8; }\n"
    "  leakage_power () { related_pg_pin : VSS; value : 3; }\n"
    "  pin (A) { direction : input; capacitance : 1; }\n"
    "  pin (B) { direction : input; capacitance : 1; }\n"
    "  pin (Y) { direction : output; function : \"A B\";\n"
    "    internal_power () { related_pin : A; when : B;\n"
    "      rise_power (scalar) { values (\"2\"); } fall_power (scalar) { values (\"1\"); } }\n"
    "    internal_power () { related_pin : A;\n"
    "      rise_power (scalar) { values (\"100\"); } fall_power (scalar) { values (\"100\"); } }\n"
    "    timing () { related_pin : \"A B\"; timing_sense : positive_unate;\n"
    "      cell_rise (scalar) { values (\"%g\"); } cell_fall (scalar) { values (\"%g\"); } } } }\n"
    "cell (DFF) { area : 4; ff (IQ, IQN) { clocked_on : CK; next_state : D; }\n"
    "  pin (CK) { direction : input; capacitance : 0.25;\n"
    "    internal_power () { when : Q;\n"
    "      rise_power (scalar) { values (\"4\"); } fall_power (scalar) { values (\"6\"); } }\n"
    "    internal_power () {\n"
    "      rise_power (scalar) { values (\"1\"); } fall_power (scalar) { values (\"3\"); } } }\n"
    "  pin (D) { direction : input; capacitance : 0.5;\n"
    "    internal_power () { when : CK;\n"
    "      rise_power (scalar) { values (\"1\"); } fall_power (scalar) { values (\"2\"); } }\n"
    "    internal_power () { when : \"!CK\";\n"
    "      rise_power (scalar) { values (\"50\"); } fall_power (scalar) { values (\"50\"); } } }\n"
    "  pin (Q) { direction : output; function : IQ; internal_power () { related_pin : CK; when : "
    "D;\n"
    "    rise_power (scalar) { values (\"40\"); } fall_power (scalar) { values (\"9\"); } }\n"
    "    internal_power () { related_pin : CK; when : \"!D\";\n"
    "    rise_power (scalar) { values (\"7\"); } fall_power (scalar) { values (\"30\"); } }\n"
    "    timing () { related_pin : CK; timing_type : rising_edge;\n"
    "      cell_rise (scalar) { values (\"0.1\"); } cell_fall (scalar) { values (\"0.1\"); } } } "
    "}\n"
    "}\n";

// n = !a; g = a & n, which is 0; d = a & b; q follows d.
static const char json[] =
    "{\"modules\": {\"top\": {\"ports\": {\n"
    "\"clk_i\": {\"direction\": \"input\", \"bits\": [2]},\n"
    "\"a_i\": {\"direction\": \"input\", \"bits\": [3]},\n"
    "\"b_i\": {\"direction\": \"input\", \"bits\": [4]},\n"
    "\"g_o\": {\"direction\": \"output\", \"bits\": [6]},\n"
    "\"q_o\": {\"direction\": \"output\", \"bits\": [9]}},\n"
    "\"cells\": {\n"
    "\"u1\": {\"type\": \"INV\", \"connections\": {\"A\": [3], \"Y\": [5]}},\n"
    "\"u2\": {\"type\": \"AND2\", \"connections\": {\"A\": [3], \"B\": [5], \"Y\": [6]}},\n"
    "\"u3\": {\"type\": \"AND2\", \"connections\": {\"A\": [3], \"B\": [4], \"Y\": [7]}},\n"
    "\"x.u_pe.r\": {\"type\": \"DFF\", \"connections\": {\"CK\": [2], \"D\": [7], \"Q\": [9]}}},\n"
    "\"netnames\": {\"x.u_pe.u_acc.acc_q\": {\"bits\": [9]}, \"q_o\": {\"bits\": [9]},\n"
    "\"x.u_pe.u_dot.u_mul.p_o\": {\"bits\": [7]}, \"_7_\": {\"bits\": [7]}}}}}\n";

static struct sq_liberty lib;
static struct sq_lib_models models;
static struct sq_netlist net;

enum { CLK = 2, A, B, N, G, D, Q = 9 };
static double wire[Q + 1]; // farads by net; a test sets them

static void open_all(double rise, double fall, double inv, double and2)
{
    struct sq_error err;
    char text[8192];
    const struct sq_netlist_edge edge = {0, 0.1e-12, wire, Q + 1};
    const char *path = tmpdir_path(dir, "a.lib"), *file = tmpdir_path(dir, "a.json");
    const int n = snprintf(text, sizeof text, library, rise, fall, inv, inv, and2, and2);
    write_bytes(path, text, (size_t)n);
    write_bytes(file, json, sizeof json - 1);
    if (sq_liberty_read(&lib, path, &err) != SQ_OK ||
        sq_lib_models_open(&models, &lib, &err) != SQ_OK ||
        sq_netlist_read(&net, file, "clk_i", &models, &edge, &err) != SQ_OK)
        fail_msg("%s", err.text);
}

static void close_all(void)
{
    sq_netlist_free(&net);
    sq_lib_models_close(&models);
    sq_liberty_free(&lib);
}

// Four cycles in which a is 1, 0, 1, 0 where `lanes` has a bit; b is 1 in the lower 32 lanes.
static void run(struct sq_toggle *t, bool has_delays, uint64_t lanes)
{
    struct sq_error err;
    assert_ok(sq_toggle_open(t, &net, has_delays, &err));
    sq_toggle_set(t, B, UINT32_MAX);
    assert_ok(sq_toggle_step(t, false, &err));
    for (unsigned i = 0; i < 4; i++) {
        sq_toggle_set(t, A, i % 2 ? 0 : lanes);
        assert_ok(sq_toggle_step(t, true, &err));
    }
}

static struct sq_energy energy(const struct sq_toggle *t)
{
    struct sq_energy e;
    struct sq_error err;
    uint8_t *part;
    assert_ok(sq_energy_parts(&net, &part, &err));
    sq_energy_of(t, &models, 1e-9, part, &e);
    free(part);
    return e;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("got %.12g, want %.12g", got, want);
}

static void changes(const struct sq_toggle *t, uint32_t n, uint64_t rises, uint64_t falls)
{
    if (t->net[n][SQ_LIB_RISE] != rises || t->net[n][SQ_LIB_FALL] != falls)
        fail_msg("net %u: %lu rises and %lu falls, want %lu and %lu", n,
                 (unsigned long)t->net[n][0], (unsigned long)t->net[n][1], (unsigned long)rises,
                 (unsigned long)falls);
}

SQ_TEST(changes_are_counted_over_all_lanes)
{
    struct sq_toggle t;
    open_all(3, 5, .3, .2);
    run(&t, false, UINT64_MAX);
    changes(&t, A, 128, 128);
    changes(&t, N, 128, 128);
    changes(&t, G, 0, 0);
    changes(&t, D, 64, 64);
    changes(&t, Q, 64, 32); // 0, 1, 0, 1: a cycle behind d
    sq_toggle_close(&t);
    close_all();
}

SQ_TEST(every_joule_is_that_of_the_hand)
{
    struct sq_toggle t;
    open_all(3, 5, .3, .2);
    run(&t, false, UINT64_MAX);
    const struct sq_energy e = energy(&t);
    // C V^2 / 2 = 2 pJ a pF. a drives three pins of 1 pF, n one, d half a pF, q the port.
    near(e.part[SQ_PART_INPUTS][SQ_ENERGY_SWITCHING], 256 * 3 * 2e-12);
    near(e.part[SQ_PART_CONTROL][SQ_ENERGY_SWITCHING], 256 * 1 * 2e-12);
    near(e.part[SQ_PART_PRODUCTS][SQ_ENERGY_SWITCHING], 128 * .5 * 2e-12);
    near(e.part[SQ_PART_ACCUMULATOR][SQ_ENERGY_SWITCHING], 96 * .1 * 2e-12);
    // INV by both edges; AND2 in the state of its group, not in the other; DFF: Q by both edges, each in the one state
    // that it has, D while the clock is high.
    near(e.part[SQ_PART_CONTROL][SQ_ENERGY_INTERNAL], (128 * 3 + 128 * 5) * 1e-12);
    near(e.part[SQ_PART_PRODUCTS][SQ_ENERGY_INTERNAL], (64 * 2 + 64 * 1) * 1e-12);
    near(e.part[SQ_PART_ACCUMULATOR][SQ_ENERGY_INTERNAL],
         (64 * 7 + 32 * 9 + 64 * 1 + 64 * 2) * 1e-12);
    // The clock rises over q = 0, 0, 1, 0 and falls over 0, 1, 0, 1; over 0 where b is 0. Its pin has
    // 0.25 pF, which rises once a cycle.
    near(e.part[SQ_PART_ACCUMULATOR][SQ_ENERGY_CLOCK],
         (32 * (3 * 1 + 4 + 2 * 3 + 2 * 6) + 32 * 4 * (1 + 3) + 4 * 64 * .25 * 4) * 1e-12);
    // 10 and 20 nW in turns, for 256 ns. AND2: 3 of one supply, of the other 8 (never, in a quarter of the time) or 5.
    near(e.part[SQ_PART_CONTROL][SQ_ENERGY_LEAKAGE], (15e-9 + 8e-9) * 256e-9);
    near(e.part[SQ_PART_PRODUCTS][SQ_ENERGY_LEAKAGE], 8.75e-9 * 256e-9);
    assert_true(e.part[SQ_PART_ACCUMULATOR][SQ_ENERGY_LEAKAGE] == 0);
    near(e.pe[SQ_ENERGY_SWITCHING], 96 * .1 * 2e-12); // u3 lies outside
    near(e.changes, 256 + 256 + 128 + 96);
    sq_toggle_close(&t);
    close_all();
}

// A wire costs what a pin of its capacitance does, under a name of its own, and the pins what they cost without it.
SQ_TEST(wires_count_beside_the_pins)
{
    struct sq_toggle t;
    wire[A] = .5e-12, wire[D] = .25e-12, wire[Q] = 1e-12;
    open_all(3, 5, .3, .2);
    near(net.net[A].load, 3.5e-12);
    run(&t, false, UINT64_MAX);
    const struct sq_energy e = energy(&t);
    memset(wire, 0, sizeof wire);
    near(e.part[SQ_PART_INPUTS][SQ_ENERGY_SWITCHING], 256 * 3 * 2e-12);
    near(e.part[SQ_PART_PRODUCTS][SQ_ENERGY_SWITCHING], 128 * .5 * 2e-12);
    near(e.part[SQ_PART_INPUTS][SQ_ENERGY_WIRES], 256 * .5 * 2e-12);
    near(e.part[SQ_PART_PRODUCTS][SQ_ENERGY_WIRES], 128 * .25 * 2e-12);
    near(e.part[SQ_PART_ACCUMULATOR][SQ_ENERGY_WIRES], 96 * 1 * 2e-12);
    assert_true(e.part[SQ_PART_CONTROL][SQ_ENERGY_WIRES] == 0);
    sq_toggle_close(&t);
    close_all();
}

// Where a rises n is still 1 for the delay of INV.
SQ_TEST(glitches_live_when_they_outlast_the_gate)
{
    struct sq_toggle t;
    open_all(3, 5, .3, .2);
    run(&t, true, UINT64_MAX);
    changes(&t, G, 128, 128); // twice in each of 64 lanes
    changes(&t, A, 128, 128);
    changes(&t, D, 64, 64);
    changes(&t, Q, 64, 32);
    sq_toggle_close(&t);
    close_all();
    open_all(3, 5, .2, .3);
    run(&t, true, UINT64_MAX);
    changes(&t, G, 0, 0); // swallowed
    changes(&t, N, 128, 128);
    sq_toggle_close(&t);
    close_all();
    open_all(3, 5, .2, .2);
    run(&t, true, UINT64_MAX);
    changes(&t, G, 128, 128); // as long as the delay: it leaves
    sq_toggle_close(&t);
    close_all();
}

SQ_TEST(operands_that_rest_leave_clock_and_leakage)
{
    for (unsigned d = 0; d < 2; d++) {
        struct sq_toggle t;
        open_all(3, 5, .3, .2);
        run(&t, d, 0);
        const struct sq_energy e = energy(&t);
        for (unsigned p = 0; p < SQ_N_PARTS; p++) {
            assert_true(e.part[p][SQ_ENERGY_SWITCHING] == 0);
            assert_true(e.part[p][SQ_ENERGY_INTERNAL] == 0);
        }
        near(e.total, (256 * (1 + 3) + 256 * .25 * 4) * 1e-12 + 36e-9 * 256e-9);
        sq_toggle_close(&t);
        close_all();
    }
}

// Without a run: the mean of a cell's states or what the cell names, and a rise of the clock's pin with the mean of its groups.
SQ_TEST(idle_cells_are_means_of_their_states)
{
    const struct sq_synth_cells cell[] = {
        {.name = "INV", .count = 2}, {.name = "AND2", .count = 3}, {.name = "DFF", .count = 5}};
    struct sq_energy_idle idle;
    open_all(3, 5, .3, .2);
    assert_ok(sq_energy_idle_of(&models, cell, 3, &idle, NULL));
    near(idle.leak, (2 * 15 + 3 * 5) * 1e-9);
    near(idle.clock, 5 * (.25 * 4 + (4 + 6 + 1 + 3) / 2.) * 1e-12);
    close_all();
}

SQ_TEST(twice_a_table_is_twice_its_part)
{
    struct sq_energy e[2];
    for (unsigned i = 0; i < 2; i++) {
        struct sq_toggle t;
        open_all(i ? 6 : 3, i ? 10 : 5, .3, .2);
        run(&t, false, UINT64_C(0x123456789abcdef));
        e[i] = energy(&t);
        sq_toggle_close(&t);
        close_all();
    }
    near(e[1].part[SQ_PART_CONTROL][SQ_ENERGY_INTERNAL],
         2 * e[0].part[SQ_PART_CONTROL][SQ_ENERGY_INTERNAL]);
    assert_true(e[1].part[SQ_PART_PRODUCTS][SQ_ENERGY_INTERNAL] ==
                e[0].part[SQ_PART_PRODUCTS][SQ_ENERGY_INTERNAL]);
}

SQ_TEST(parts_sum_up_and_two_runs_are_equal)
{
    struct sq_energy e[2];
    for (unsigned i = 0; i < 2; i++) {
        struct sq_toggle t;
        double sum = 0;
        open_all(3, 5, .3, .2);
        run(&t, true, UINT64_C(0x123456789abcdef));
        e[i] = energy(&t);
        for (unsigned p = 0; p < SQ_N_PARTS; p++)
            for (unsigned k = 0; k < SQ_N_ENERGIES; k++)
                sum += e[i].part[p][k];
        assert_true(sum == e[i].total);
        sq_toggle_close(&t);
        close_all();
    }
    assert_memory_equal(&e[0], &e[1], sizeof e[0]);
}

// ---- what is refused ----------------------------------------------------------------------------

static void refused(const char *from, const char *to, const char *clock, const char *why)
{
    static char text[sizeof json + 256];
    const struct sq_netlist_edge edge = {0, 0, NULL, 0};
    struct sq_error err;
    struct sq_netlist n;
    const char *at = strstr(json, from), *file = tmpdir_path(dir, "b.json");
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - json), json, to, at + strlen(from));
    write_bytes(file, text, strlen(text));
    if (sq_netlist_read(&n, file, clock, &models, &edge, &err) == SQ_OK || !strstr(err.text, why))
        fail_msg("%s: %s", why, err.text);
}

SQ_TEST(other_netlists_are_refused)
{
    open_all(3, 5, .3, .2);
    refused("\"CK\": [2]", "\"CK\": [3]", "clk_i", "another clock");
    refused("\"A\": [3], \"Y\": [5]", "\"A\": [2], \"Y\": [5]", "clk_i", "clock is an operand");
    refused("\"A\": [3], \"Y\": [5]", "\"A\": [6], \"Y\": [5]", "clk_i", "loop");
    refused("\"Y\": [6]", "\"Y\": [5]", "clk_i", "two cells drive");
    refused("\"INV\"", "\"INVX\"", "clk_i", "no cell INVX");
    refused("\"modules\"", "\"module\"", "clk_i", "no single module");
    refused("\"CK\": [2]", "\"CK\": [2]", NULL, "another clock");
    close_all();
}
