// SPDX-License-Identifier: Apache-2.0
// Larger cells and buffers for what is late (sq_synth_buffer.c): a netlist of three cells and a library of few, with loads and slacks
// for which the sizes and the nets were worked out by hand.
#include <jansson.h>

#include "sim/synth/sq_synth.h"
#include "tests/unit/tmpdir.h"

TMPDIR_OF_ALL(dir)

#define SIZE(name, more, function, cap, most)                                                      \
    "cell (" name ") { area : 1; " more " pin (A) { direction : input; capacitance : " cap         \
    "; }\n  pin (Y) { direction : output; function : \"" function "\"; max_capacitance : " most    \
    "; } }\n"
// Sizes of INV_1 go up to INV_4: INV_6 must not be used, and INV_8 has another function.
static const char sizes[] =
    "library (tiny) { capacitive_load_unit (1, ff);\n"
    "cell (DFF) { area : 4; ff (IQ, IQN) { clocked_on : CK; } pin (CK) { direction : input; }\n"
    "  pin (Q) { direction : output; function : IQ; } }\n"
    "cell (NAND) { area : 1; pin (A) { direction : input; capacitance : 3; }\n"
    "  pin (B) { direction : input; capacitance : 3; }\n"
    "  pin (Y) { direction : output; function : \"!(A B)\"; max_capacitance : 20; } }\n" SIZE(
        "INV_1", "", "!A", "1", "20") SIZE("INV_4", "", "!A", "4", "80")
        SIZE("INV_2", "", "!A", "2", "40") SIZE("INV_6", "dont_use : true;", "!A", "5", "120")
            SIZE("INV_8", "", "(!A)", "8", "160") SIZE("BUF_1", "", "A", "1", "40")
                SIZE("BUF_4", "", "A", "4", "160") "}\n";
// INV_1 drives both inputs of two NANDs, 12 fF and its wire; their pins are numbers 2, 3, 5 and 6.
static const char four[] =
    "{\"modules\": {\"top\": {\"ports\": {\"a\": {\"direction\": \"input\", \"bits\": [2]},"
    " \"y\": {\"direction\": \"output\", \"bits\": [3]}}, \"cells\": {"
    "\"i\": {\"type\": \"INV_1\", \"connections\": {\"A\": [2], \"Y\": [4]}},"
    "\"n\": {\"type\": \"NAND\", \"connections\": {\"A\": [4], \"B\": [4], \"Y\": [5]}},"
    "\"m\": {\"type\": \"NAND\", \"connections\": {\"A\": [4], \"B\": [4], \"Y\": [3]}}}}}}";

static int pin_of(const json_t *root, const char *cell, const char *pin)
{
    const json_t *bits = NULL;
    json_unpack((json_t *)(uintptr_t)root, "{s:{s:{s:{s:{s:{s:o}}}}}}", "modules", "top", "cells",
                cell, "connections", pin, &bits);
    return (int)json_integer_value(json_array_get(bits, 0));
}

SQ_TEST(late_drivers_grow_and_their_other_sinks_get_buffers)
{
    static const struct {
        const char *what, *size;
        double wire, share, late_driver, late_m;
        size_t sized, buffers;
        int net[4]; // of n.A, n.B, m.A, m.B
    } want[] = {
        {"18 fF are more than half of 20, not of 40", "INV_2", 6, .5, 1, 0, 1, 0, {4, 4, 4, 4}},
        {"not late", "INV_1", 6, .5, 0, 0, 0, 0, {4, 4, 4, 4}},
        {"no wires: a clock", "INV_1", -1, .1, 1, 0, 0, 0, {4, 4, 4, 4}},
        // 11 fF each: that of m.A stays, as it is less than half of 40, BUF_4 takes 33.
        {"44 fF are more than half of 80", "INV_4", 32, .5, 1, 1, 1, 1, {6, 6, 4, 6}},
        // .1 of 80 are 8 fF, less than 12; of 160 16: all in one.
        {"a buffer for all", "INV_4", 0, .1, 1, 0, 1, 1, {6, 6, 6, 6}},
        // 16 fF each, two for BUF_4 of 40: pairs by their order; INV_4 has 20 for two of 4.
        {"neighbours share a buffer", "INV_4", 52, .25, 1, 0, 1, 2, {6, 7, 6, 7}},
        // Sizes are for .02, buffers for .09: 14.4 fF.
        {"small shares make no small buffers", "INV_4", 0, .02, 1, 0, 1, 1, {6, 6, 6, 6}},
    };
    const char *const path = tmpdir_path(dir, "sizes.lib");
    const struct sq_synth_block block = {.top = "top"};
    struct sq_synth synth = {.period_ns = 0};
    write_bytes(path, sizes, strlen(sizes));
    assert_ok(sq_liberty_read(&synth.lib, path, NULL));
    for (size_t i = 0; i < LEN(want); i++) {
        static const double order[8] = {0, 0, 1, 4, 0, 2, 3, 0};
        const double farads[6] = {0, 0, 0, 0, 1e-15 * want[i].wire, 0};
        double slack[8] = {1, 1, 1, 1, 1, 1, 1, 1};
        json_t *const root = json_loads(four, 0, NULL);
        size_t n[2];
        slack[1] -= 2 * want[i].late_driver;
        slack[5] -= 2 * want[i].late_m;
        const struct sq_synth_loads loads = {farads, slack, order, 0, want[i].share};
        assert_ok(sq_synth_repair(&synth, &block, root, &loads, n, NULL));
        const char *size = NULL;
        json_unpack(root, "{s:{s:{s:{s:{s:s}}}}}", "modules", "top", "cells", "i", "type", &size);
        const int got[4] = {pin_of(root, "n", "A"), pin_of(root, "n", "B"), pin_of(root, "m", "A"),
                            pin_of(root, "m", "B")};
        if (strcmp(size, want[i].size) != 0 || n[0] != want[i].sized || n[1] != want[i].buffers ||
            memcmp(got, want[i].net, sizeof got) != 0)
            fail_msg("%s: %s, %zu larger, %zu buffers, nets %d %d %d %d", want[i].what, size, n[0],
                     n[1], got[0], got[1], got[2], got[3]);
        json_decref(root);
    }
    sq_liberty_free(&synth.lib);
}
