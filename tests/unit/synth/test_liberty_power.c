// SPDX-License-Identifier: Apache-2.0
// Energy, delay and leakage of cells. A library of a few cells, whose figures are worked out by hand
// here: units, both axes in both orders, interpolation and what lies beyond, groups with and without
// `when`, supplies, flip-flops that list their energy twice. Then every cell of the real libraries,
// where SQ_DATA has them, with figures copied from their files.
#include <math.h>

#include "sim/synth/sq_liberty_power.h"
#include "tests/data.h"
#include "tests/unit/tmpdir.h"

TMPDIR_OF_ALL(dir)

static const char tiny[] =
    "library (tiny) {\n"
    "  time_unit : \"10ps\"; voltage_unit : \"1V\"; leakage_power_unit : \"1pW\";\n"
    "  capacitive_load_unit (2, ff); nom_voltage : 9;\n"
    "  operating_conditions (typ) { voltage : 1.5; }\n"
    "  default_operating_conditions : \"typ\";\n"
    "  power_lut_template (p) { variable_1 : input_transition_time;\n"
    "    variable_2 : total_output_net_capacitance; index_1 (\"0, 2\"); index_2 (\"0, 10\"); }\n"
    "  lu_table_template (t) { variable_1 : total_output_net_capacitance;\n"
    "    variable_2 : input_net_transition; index_1 (\"0, 10\"); index_2 (\"0, 2, 4\"); }\n"
    "  lu_table_template (odd) { variable_1 : constrained_pin_transition; index_1 (\"0, 1\"); }\n"
    "cell (NAND2) { area : 1; cell_leakage_power : 7;\n"
    "  leakage_power () { when : \"A B\"; value : 30; }\n"
    "  leakage_power () { value : 4; }\n"
    "  pin (A) { direction : input; capacitance : 0.5;\n"
    "    internal_power () { when : \"!B\";\n"
    "      rise_power (scalar) { values (\"1\"); } fall_power (scalar) { values (\"2\"); } } }\n"
    "  pin (B) { direction : input; capacitance : 0.25; }\n"
    "  pin (Y) { direction : output; function : \"!(A B)\";\n"
    "    internal_power () { related_pin : \"A\"; when : \"B\"; related_pg_pin : VDD;\n"
    "      rise_power (p) { values (\"1, 3\", \\\n"
    "        \"5, 11\"); }\n"
    "      fall_power (p) { index_2 (\"1, 2\"); values (\"-1, -3\", \"0, 0\"); } }\n"
    "    internal_power () { related_pin : \"A\"; related_pg_pin : VDD;\n"
    "      rise_power (scalar) { values (\"8\"); } fall_power (scalar) { values (\"9\"); } }\n"
    "    internal_power () { related_pin : \"A\"; related_pg_pin : VSS;\n"
    "      rise_power (scalar) { values (\"6\"); } fall_power (scalar) { values (\"7\"); } }\n"
    "    internal_power () { related_pin : \"B A\"; related_pg_pin : VDD;\n"
    "      power (scalar) { values (\"0.5\"); } }\n"
    "    timing () { related_pin : \"A B\"; timing_sense : negative_unate;\n"
    "      cell_rise (t) { values (\"1, 2, 3\", \"11, 12, 13\"); }\n"
    "      rise_transition (scalar) { values (\"4\"); } }\n"
    "    timing () { related_pin : \"A\"; timing_type : three_state_enable; } } }\n";

// Energies of Q when it rises and falls, at two slews and two loads; QN has the other edge's.
#define PIN "{ direction : input; capacitance : 1; } "
#define POWER(rise, fall)                                                                          \
    "internal_power () { related_pin : CK; rise_power (p) { values (" rise "); } "                 \
    "fall_power (p) { values (" fall "); } } }\n"
#define FLOP(name, rise, fall)                                                                     \
    "cell (" name ") { area : 9; ff (IQ, IQN) { clocked_on : \"CK\"; next_state : \"D\"; "         \
    "clear : \"!R\"; } pin (CK) " PIN "pin (D) " PIN "pin (R) " PIN                                \
    "pin (Q) { direction : output; function : IQ; " POWER(                                         \
        rise, fall) "pin (QN) { direction : output; function : IQN; " POWER(fall, rise) "}\n"
// V^2 = 2.25 and an axis of 10 units of load: 11.25 is C V^2 / 2.
static const char *const flops[] = {
    FLOP("TWICE", "\"5, 16.25, 5, 16.25\"", "\"6, 17.25, 6, 17.25\""), // the other one's load
    FLOP("SPLIT", "\"5, 5, 5, 5\"", "\"6, 6, 6, 6\""),
    FLOP("OWN", "\"5, 16.25, 5, 16.25\"", "\"6, -5.25, 6, -5.25\""), // its own, which cancels
};

static const char refused[] =
    "cell (LATCH) { area : 2; latch (IQ, IQN) { enable : G; } pin (G) { direction : input; } }\n"
    "cell (FALLS) { area : 2; ff (IQ, IQN) { clocked_on : \"!CK\"; next_state : D; }\n"
    "  pin (CK) { direction : input; } pin (D) { direction : input; } }\n"
    "cell (ODD) { area : 2; pin (A) { direction : input;\n"
    "  internal_power () { rise_power (odd) { values (\"1, 2\"); } } } }\n"
    "cell (SHORT) { area : 2; pin (A) { direction : input;\n"
    "  internal_power () { rise_power (p) { values (\"1, 2, 3\"); } } } }\n"
    "cell (WHEN) { area : 2; pin (A) { direction : input; internal_power () { when : \"A + X\"; } "
    "} }\n"
    "}\n";

static struct sq_liberty lib;
static struct sq_lib_models models;

static void open_tiny(void)
{
    struct sq_error err;
    char text[8192];
    const char *path = tmpdir_path(dir, "a.lib");
    const int n =
        snprintf(text, sizeof text, "%s%s%s%s%s", tiny, flops[0], flops[1], flops[2], refused);
    write_bytes(path, text, (size_t)n);
    if (sq_liberty_read(&lib, path, &err) != SQ_OK ||
        sq_lib_models_open(&models, &lib, &err) != SQ_OK)
        fail_msg("%s", err.text);
}

static void close_all(void)
{
    sq_lib_models_close(&models);
    sq_liberty_free(&lib);
}

static const struct sq_lib_model *get(const char *cell)
{
    const struct sq_lib_model *model;
    struct sq_error err;
    if (sq_lib_models_get(&models, cell, &model, &err) != SQ_OK)
        fail_msg("%s", err.text);
    return model;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("got %.12g, want %.12g", got, want);
}

SQ_TEST(units_are_those_of_the_file)
{
    open_tiny();
    near(models.volts, 1.5); // of the operating conditions, not nom_voltage
    near(models.time, 1e-11);
    near(models.cap, 2e-15);
    near(models.energy, 2e-15); // cap * V^2, not of leakage
    near(models.power, 1e-12);
    near(get("NAND2")->pin[0].cap, 1e-15);
    near(get("NAND2")->pin[1].cap, 0.5e-15);
    close_all();
}

SQ_TEST(tables_are_bilinear_and_go_on_beyond_their_ends)
{
    open_tiny();
    const struct sq_lib_pin *y = &get("NAND2")->pin[2];
    const struct sq_lib_table *rise = &y->power[0].table[SQ_LIB_RISE];
    const struct sq_lib_table *fall = &y->power[0].table[SQ_LIB_FALL];
    near(sq_lib_table_at(rise, 0, 0), 1 * 2e-15);
    near(sq_lib_table_at(rise, 1e-11, 10e-15), 5 * 2e-15);  // the middle of 1, 3, 5, 11
    near(sq_lib_table_at(rise, 2e-11, 20e-15), 11 * 2e-15); // the last corner
    near(sq_lib_table_at(rise, 2e-11, 40e-15), 17 * 2e-15); // as far beyond it
    near(sq_lib_table_at(rise, -1e-11, 0), -1 * 2e-15);     // before the first
    near(sq_lib_table_at(fall, 0, 3e-15), -2 * 2e-15);      // an index of its own: 2 and 4 fF
    const struct sq_lib_timing *t = &y->timing[0];
    near(sq_lib_table_at(&t->delay[SQ_LIB_RISE], 2e-11, 20e-15), 12 * 1e-11); // load stands first
    near(sq_lib_table_at(&t->delay[SQ_LIB_RISE], 3e-11, 10e-15), 7.5 * 1e-11);
    near(sq_lib_table_at(&t->slew[SQ_LIB_RISE], 5e-11, 1e-15), 4 * 1e-11);
    assert_int_equal(t->delay[SQ_LIB_FALL].n_slew, 0);
    assert_true(sq_lib_table_at(&t->delay[SQ_LIB_FALL], 1, 1) == 0);
    close_all();
}

SQ_TEST(groups_have_pins_states_and_supplies)
{
    open_tiny();
    const struct sq_lib_model *c = get("NAND2");
    const struct sq_lib_pin *a = &c->pin[0], *y = &c->pin[2];
    const uint64_t value[] = {0xa, 0xc, 0, 0, 0}; // A, B over four cases
    assert_int_equal(c->n_pins, 3);
    assert_true(y->is_output && !a->is_output && !c->is_flop);
    assert_int_equal(sq_lib_expr_eval(&y->function, value) & 0xf, 0x7);
    assert_int_equal(a->n_power, 1);
    assert_int_equal(a->power[0].related, -1);
    assert_int_equal(sq_lib_expr_eval(&a->power[0].when, value) & 0xf, 0x3);
    near(sq_lib_table_at(&a->power[0].table[SQ_LIB_FALL], 0, 0), 4e-15);
    assert_int_equal(y->n_power, 5); // "B A" is two
    assert_int_equal(sq_lib_expr_eval(&y->power[0].when, value) & 0xf, 0xc);
    assert_true(y->power[1].is_default && !y->power[0].is_default);
    assert_false(y->power[2].is_default); // another supply
    assert_int_not_equal(y->power[2].supply, y->power[1].supply);
    assert_int_equal(y->power[3].related, 1);
    assert_int_equal(y->power[4].related, 0);
    near(sq_lib_table_at(&y->power[3].table[SQ_LIB_FALL], 0, 0), 1e-15); // `power` is both edges
    assert_int_equal(y->n_timing, 2);                                    // no enables
    assert_int_equal(y->timing[0].sense, SQ_LIB_NEGATIVE);
    assert_int_equal(c->n_leak, 2);
    near(c->leak[0].watts, 30e-12);
    assert_true(c->leak[1].is_default && c->has_leakage);
    near(c->leakage, 7e-12);
    close_all();
}

SQ_TEST(flip_flops_have_a_clock_and_split_their_energy_or_not)
{
    open_tiny();
    const struct sq_lib_model *c = get("TWICE");
    const uint64_t value[] = {0, 5, 3, 0, 0, 0, 0}; // CK, D, R
    assert_true(c->is_flop && c->has_clear && !c->has_preset);
    assert_int_equal(c->clock, 0);
    assert_int_equal(sq_lib_expr_eval(&c->next_state, value), 5);
    assert_int_equal(sq_lib_expr_eval(&c->clear, value) & 0xf, 0xc);
    assert_true(c->is_listed_twice);
    assert_false(get("SPLIT")->is_listed_twice);
    assert_false(get("OWN")->is_listed_twice); // its own load, which cancels
    assert_false(c->is_falling);
    assert_true(get("FALLS")->is_falling); // toggles of a netlist with one are refused
    close_all();
}

SQ_TEST(what_has_no_meaning_here_is_refused)
{
    static const char *const bad[] = {"LATCH", "ODD", "SHORT", "WHEN", "NAND3"};
    const struct sq_lib_model *model;
    struct sq_error err;
    open_tiny();
    for (size_t i = 0; i < LEN(bad); i++) {
        assert_int_equal(sq_lib_models_get(&models, bad[i], &model, &err), SQ_ERR_UNSUPPORTED);
        if (!strstr(err.text, bad[i]))
            fail_msg("%s: %s", bad[i], err.text);
    }
    close_all();
}

// ---- the real ones ----------------------------------------------------------------------------

static bool open_real(const char *name)
{
    char path[512];
    struct sq_error err;
    if (access(test_data(name, path), R_OK) != 0) {
        print_message("# skipped: no %s\n", name);
        return false;
    }
    if (sq_liberty_read(&lib, path, &err) != SQ_OK ||
        sq_lib_models_open(&models, &lib, &err) != SQ_OK)
        fail_msg("%s: %s", name, err.text);
    return true;
}

// Every gate is read, and every register or refused for not being a flip-flop of the rising edge.
static void check_all(void)
{
    for (size_t i = 0; i < lib.n_cells; i++) {
        const struct sq_lib_model *c;
        struct sq_error err;
        const enum sq_status status = sq_lib_models_get(&models, lib.cell[i].name, &c, &err);
        if (status != SQ_OK && !(status == SQ_ERR_UNSUPPORTED && lib.cell[i].is_sequential))
            fail_msg("%s: %s", lib.cell[i].name, err.text);
    }
}

SQ_TEST(nangate45_is_in_femtojoules)
{
    if (!open_real("liberty/nangate45_typ.lib.gz"))
        return;
    near(models.volts, 1.1);
    near(models.energy, 1e-15);
    const struct sq_lib_model *c = get("DFF_X1");
    assert_false(c->is_listed_twice);
    const struct sq_lib_pin *d = &c->pin[sq_lib_model_pin(c, "D")];
    const struct sq_lib_pin *q = &c->pin[sq_lib_model_pin(c, "Q")];
    near(d->cap, 1.140290e-15);
    assert_int_equal(d->n_power, 4); // by CK and Q
    near(q->power[0].table[SQ_LIB_RISE].value[0], 4.357977e-15);
    assert_int_equal(c->n_leak, 8);
    near(c->leak[0].watts, 73.812310e-9);
    check_all();
    close_all();
}

SQ_TEST(sg13g2_lists_the_energy_of_dfrbp_twice)
{
    if (!open_real("liberty/sg13g2_stdcell_typ_1p20V_25C.lib"))
        return;
    near(models.energy, 1e-12);
    assert_true(get("sg13g2_dfrbp_1")->is_listed_twice);
    assert_false(get("sg13g2_dfrbpq_1")->is_listed_twice);
    near(get("sg13g2_dfrbp_1")->leakage, 567.01e-12);
    check_all();
    close_all();
}

SQ_TEST(sky130_holds_the_load_with_both_signs)
{
    if (!open_real("liberty/sky130hd_tt.lib.gz"))
        return;
    near(models.volts, 1.8);
    const struct sq_lib_model *c = get("sky130_fd_sc_hd__dfxtp_1");
    const struct sq_lib_power *q = &c->pin[sq_lib_model_pin(c, "Q")].power[0];
    near(q->table[SQ_LIB_RISE].value[6], 0.2778807e-12);
    near(q->table[SQ_LIB_FALL].value[6], -0.2408877e-12);
    assert_false(c->is_listed_twice);
    check_all();
    close_all();
}

SQ_TEST(asap7_has_two_supplies)
{
    if (!open_real("liberty/asap7sc7p5t_RVT_TT_merged_simple_invbuf_seq.lib.gz"))
        return;
    near(models.volts, .7);
    near(models.time, 1e-12);
    const struct sq_lib_model *c = get("DFFHQNx1_ASAP7_75t_R");
    const struct sq_lib_pin *q = &c->pin[sq_lib_model_pin(c, "QN")];
    assert_int_equal(q->n_power, 2);
    assert_int_not_equal(q->power[0].supply, q->power[1].supply);
    near(c->leak[0].watts, 192.231e-12);
    check_all();
    close_all();
}
