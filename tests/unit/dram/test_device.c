// SPDX-License-Identifier: Apache-2.0
// Files of devices: a good one is read at both ends of its ranges, and every damage is refused. Energies by hand, and those of the
// devices that come with sqsim within what data sheets have.
#include <math.h>
#include <string.h>

#include "tests/unit/dram/dram_fixture.h"

static const char good[] =
    "name: test\nstandard: DDR4\nsources: [{id: A, text: here}]\nvalues:\n"
    "- {key: clock, value: 833 ps, source: A}\n- {key: width, value: 64, source: A}\n"
    "- {key: burst, value: 8, source: A}\n- {key: beats, value: 2, source: A}\n"
    "- {key: pseudo, value: 1, source: A}\n- {key: ranks, value: 1, source: A}\n"
    "- {key: groups, value: 4, source: A}\n- {key: banks, value: 4, source: A}\n"
    "- {key: rows, value: 32768, source: A}\n- {key: columns, value: 1024, source: A}\n"
    "- {key: buses, value: 1, source: A}\n- {key: act, value: 1, source: A}\n"
    "- {key: pre, value: 1, source: A}\n- {key: col, value: 1, source: A}\n"
    "- {key: ref, value: 1, source: A}\n- {key: CL, value: 16, source: A}\n"
    "- {key: CWL, value: 16, source: A}\n- {key: RCDRD, value: 13.32..15 ns, source: A}\n"
    "- {key: RP, value: 16, source: A}\n- {key: RAS, value: 39, source: A}\n"
    "- {key: RC, value: 55, source: A}\n- {key: RTP, value: 9..12, source: A}\n"
    "- {key: WR, value: 18, source: A}\n- {key: WTRS, value: 3, source: A}\n"
    "- {key: RRDS, value: 4, source: A}\n- {key: FAW, value: 26, source: A}\n"
    "- {key: CCDS, value: 4, source: A}\n- {key: RTW, value: 6, source: A}\n"
    "- {key: REFI, value: 7000..7800 ns, source: A}\n- {key: RFC, value: 312, source: A}\n";

static enum sq_status parse_with(const char *from, const char *to, enum sq_dram_end end,
                                 struct sq_dram_device *d, struct sq_error *err)
{
    char text[sizeof good + 400];
    const char *const at = strstr(good, from);
    assert_non_null(at);
    const int n =
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    return sq_dram_device_parse(text, (size_t)n, "test.yaml", end, d, err);
}

SQ_TEST(a_device_is_read_at_both_ends)
{
    struct sq_dram_device fast, slow;
    assert_ok(parse_with("", "", SQ_DRAM_FAST, &fast, NULL));
    assert_ok(parse_with("", "", SQ_DRAM_SLOW, &slow, NULL));
    assert_true(fast.is_range && slow.is_range);
    assert_int_equal(fast.t[SQ_DRAM_T_RCDRD], 16); // 13.32 ns are 15.99 clocks
    assert_int_equal(slow.t[SQ_DRAM_T_RCDRD], 19);
    assert_int_equal(slow.t[SQ_DRAM_T_RCDWR], 19); // as RCDRD
    assert_int_equal(fast.t[SQ_DRAM_T_RTP], 9);
    assert_int_equal(slow.t[SQ_DRAM_T_RTP], 12);
    assert_int_equal(fast.t[SQ_DRAM_T_REFI], 9364); // fewer refreshes
    assert_int_equal(slow.t[SQ_DRAM_T_REFI], 8404);
    assert_int_equal(fast.t[SQ_DRAM_T_CCDL], 4);
    assert_int_equal(fast.t[SQ_DRAM_T_REFIpb], 0);
    assert_int_equal(fast.clock_ps, 833);
}

static const char with_energy[] =
    "- {key: Eact, value: 100 pJ, source: A}\n- {key: Eread, value: 20 pJ, source: A}\n"
    "- {key: Ewrite, value: 30 pJ, source: A}\n- {key: Erefresh, value: 1600 pJ, source: A}\n"
    "- {key: background, value: 2..3.5 mW, source: A}\n- {key: CL, ";

SQ_TEST(energies_count_commands_and_time)
{
    struct sq_dram_device d;
    const struct sq_dram_options o = {.channels = 2};
    assert_ok(parse_with("- {key: CL, ", with_energy, SQ_DRAM_FAST, &d, NULL));
    const struct sq_dram_setup setup = setup_of(&d, &o);
    const struct sq_dram_stats s = {.command = {1, 9, 9, 10, 100, 1000, 10000, 2, 16}};
    double pj[2];
    sq_dram_picojoules(&setup, &s, 1e-6, pj);
    const double work = 100 + 110 * 20 + 11000 * 30 + 2 * 1600 + 16 * 100;
    assert_true(fabs(pj[0] - work - 4000) < 1e-6 && fabs(pj[1] - work - 7000) < 1e-6);
}

static unsigned with_joules;

// Data sheets: 2 to 15 pJ for a bit that is read, an activate dearer than a burst's half, a refresh dearer than it.
static void judge_energy(const struct sq_dram_device *d)
{
    const struct sq_dram_energy *const e = &d->energy;
    const double bits = 8 * (double)sq_dram_burst_nbytes(d);
    if (!e->is_there)
        return;
    with_joules++;
    assert_true(e->read_pj > 2 * bits && e->read_pj < 15 * bits && e->write_pj < e->read_pj);
    assert_true(2 * e->act_pj > e->read_pj && e->refresh_pj > e->act_pj);
    assert_true(e->background_mw[0] > 0 && e->background_mw[1] > e->background_mw[0]);
}

SQ_TEST(energies_of_devices_are_in_the_range_of_data_sheets)
{
    with_joules = 0;
    for_devices(judge_energy);
    assert_int_equal(with_joules, 4);
}

SQ_TEST(damaged_devices_are_refused)
{
    static const char *const bad[][2] = {
        {"833 ps", "833"},
        {"833 ps", "99 ps"},
        {"833 ps", "700..833 ps"},
        {"key: CL, ", "key: CR, "},
        {"key: CL, ", "key: RP, "},
        {"- {key: CL, value: 16, source: A}\n", ""},
        {"- {key: rows, value: 32768, source: A}\n", ""},
        {"CL, value: 16, source: A", "CL, value: 16, source: B"},
        {"CL, value: 16, source: A", "CL, value: 16, sauce: A"},
        {"CL, value: 16", "CL, value: -16"},
        {"CL, value: 16", "CL, value: 16 mm"},
        {"CL, value: 16", "CL, value: 18..16"},
        {"CL, value: 16", "CL, value: 16..16"},
        {"CL, value: 16", "CL, value: 16.."},
        {"CL, value: 16", "CL, value: 1e9"},
        {"width, value: 64", "width, value: 60"},
        {"groups, value: 4", "groups, value: 3"},
        {"banks, value: 4", "banks, value: 0"},
        {"rows, value: 32768", "rows, value: 4..8"},
        {"CCDS, value: 4", "CCDS, value: 3"},
        {"RTW, value: 6", "RTW, value: 3"},
        {"RFC, value: 312", "RFC, value: 9400"},
        {"RFC, value: 312", "RFCpb, value: 312"},
        {"columns, value: 1024", "columns, value: 1000"},
        {"- {key: CL, ", "- {key: Eact, value: 9 pJ, source: A}\n- {key: CL, "},
        {"- {key: CL, ", "- {key: Eact, value: 9, source: A}\n- {key: CL, "},
        {"- {key: CL, ", "- {key: background, value: 9..2 mW, source: A}\n- {key: CL, "}};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sq_dram_device d;
        struct sq_error err = {.text = ""};
        if (parse_with(bad[i][0], bad[i][1], SQ_DRAM_FAST, &d, &err) == SQ_OK)
            fail_msg("'%s' for '%s' was taken", bad[i][1], bad[i][0]);
        if (!strstr(err.text, "need") && !strstr(err.text, "key"))
            fail_msg("%s", err.text);
    }
}

SQ_TEST(options_out_of_range_are_refused)
{
    static const struct sq_dram_options bad[] = {
        {.channels = 3}, {.channels = 32}, {.queue = 17}, {.refresh = SQ_DRAM_REFRESH_BANK}};
    struct sq_dram_device d = device_of("ddr4-2400");
    struct sq_error err;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sq_dram_setup s;
        assert_int_not_equal(sq_dram_setup_init(&d, &bad[i], &s, &err), SQ_OK);
        assert_non_null(strstr(err.text, "need"));
    }
    assert_int_equal(sq_dram_device_named("ddr9", SQ_DRAM_FAST, &d, &err), SQ_ERR_ARG);
    assert_non_null(strstr(err.text, "hbm3"));
}
