// SPDX-License-Identifier: Apache-2.0
// Placement and wires (sim/place), against values worked out by hand: a LEF of two cells and three layers, a netlist of
// three cells put at stated places. What would go wrong in silence is a value here: a pin on the wrong side of
// a flipped or upside-down cell, a unit of SPEF, half of a capacitance at the wrong end, a net that is missing.
// A netlist drawn at random is then placed whole: no cell upon another, the same places for the same seed.
#include <jansson.h>
#include <math.h>

#include "models/sq_rng.h"
#include "sim/place/sq_place_svg.h"
#include "sim/place/sq_spef.h"
#include "sim/place/sq_steiner.h"
#include "sim/synth/sq_synth.h"
#include "tests/data.h"
#include "tests/unit/tmpdir.h"

TMPDIR_OF_ALL(dir)

#define LAYER(name, width, ohm, area, edge)                                                        \
    "Layer " name                                                                                  \
    "\n  TYPE ROUTING ;\n  SPACINGTABLE PARALLELRUNLENGTH 0 WIDTH 9 1 ;\n  WIDTH " width           \
    " ;\n  RESISTANCE RPERSQ " ohm " ;\n  CAPACITANCE CPERSQDIST " area                            \
    " ;\n  EDGECAPACITANCE " edge " ;\nEND " name "\n"
// At its own width the second layer has 1 / .5 = 2 ohm and 2e-5 * .5 + 2 * 5e-6 = 2e-5 pF a um, the third 3 / .5 = 6 ohm
// and 2e-5 * .5 + 2 * 1.5e-5 = 4e-5 pF: their means are 4 ohm and .03 fF.
static const char tech[] =
    "VERSION 5.7 ; # the technology\nUNITS\n DATABASE MICRONS 1000 ;\nEND UNITS\n"
    "PROPERTYDEFINITIONS\n MACRO kind STRING ;\nEND PROPERTYDEFINITIONS\n"
    "LAYER poly\n TYPE MASTERSLICE ;\nEND poly\n" LAYER("m1", "9", "9", "9", "9")
        LAYER("m2", ".5", "1", "2e-5",
              "5e-6") "LAYER v\n TYPE CUT ;\n RESISTANCE 9 ;\nEND v\n" LAYER("m3", ".5", "3",
                                                                             "2e-5", "1.5e-5")
            LAYER("m4", "9", "9", "9",
                  "9") "VIA v1 DEFAULT\n LAYER m1 ;\n RECT 0 0 1 1 ;\nEND v1\n"
                       "SITE pad\n CLASS PAD ;\n SIZE 7 BY 7 ;\nEND pad\n"
                       "SITE core\n CLASS CORE ;\n SIZE .5 BY 4 ;\nEND core\nEND LIBRARY\n";
#define PIN(name, way, shape)                                                                      \
    " PIN " name "\n DIRECTION " way " ;\n USE SIGNAL ;\n PORT\n LAYER m1 ;\n " shape              \
    " ;\n END\n END " name "\n"
// A of INV is at (.25, 1) and its Y at (.75, 3); NAND has its origin moved by (1, 0) and a shape that is masked.
static const char cells[] =
    "MACRO INV\n CLASS CORE ;\n ORIGIN 0 0 ;\n SIZE 1 BY 4 ;\n SITE core ;\n" PIN(
        "A", "INPUT", "RECT 0 .5 .5 1.5")
        PIN("Y", "OUTPUT",
            "RECT .5 2 1 3 ; RECT .75 3 1 4") " PIN VDD\n DIRECTION INOUT ;\n USE POWER ;\n END "
                                              "VDD\n"
                                              " OBS\n LAYER m1 ;\n RECT 0 0 1 4 ;\n END\nEND INV\n"
                                              "MACRO NAND\n ORIGIN 1 0 ;\n SIZE 2 BY 4 ;\n" PIN(
                                                  "A", "INPUT", "RECT MASK 1 -1 1 0 1")
                                                  PIN("B", "INPUT", "POLYGON 0 2 1 2 1 3")
                                                      PIN("Y", "OUTPUT",
                                                          "RECT .5 0 1 1") "END NAND\n"
                                                                           "END LIBRARY\n";

static struct sq_lef lef; // what was read last

static enum sq_status read_lef(const char *first, const char *second, struct sq_error *err)
{
    const char *const one = tmpdir_path(dir, "tech.lef"), *const other =
                                                              tmpdir_path(dir, "cells.lef");
    const char *const path[] = {one, other};
    sq_lef_free(&lef);
    write_bytes(one, first, strlen(first));
    write_bytes(other, second, strlen(second));
    return sq_lef_read(&lef, path, 2, err);
}

// What is written to `writes()` is text_of(), until the next text.
static struct {
    char *text;
    size_t n;
    FILE *out;
} written;

static FILE *writes(void)
{
    free(written.text);
    written.text = NULL;
    written.out = open_memstream(&written.text, &written.n);
    return written.out;
}

static const char *text_of(void)
{
    fclose(written.out);
    return written.text;
}

static void near(double got, double want)
{
    if (fabs(got - want) > 1e-9 * (want == 0 ? 1 : fabs(want))) // farads are small
        fail_msg("%.12g, want %.12g", got, want);
}

SQ_TEST(a_lef_gives_sizes_pins_and_wires)
{
    assert_ok(read_lef(tech, cells, NULL));
    near(lef.site_width, .5);
    near(lef.row_height, 4);
    near(lef.ohm_per_um, 4);
    near(lef.farad_per_um, 3e-17);
    assert_int_equal(lef.n_macros, 2);
    static const struct {
        const char *macro, *pin;
        double x, y;
        bool is_output;
    } want[] = {{"INV", "A", .25, 1, false},
                {"INV", "Y", .75, 3, true},
                {"NAND", "A", .5, 1, false},
                {"NAND", "B", 1.5, 2.5, false},
                {"NAND", "Y", 1.75, .5, true}};
    for (size_t i = 0; i < LEN(want); i++) {
        const struct sq_lef_pin *const pin =
            sq_lef_pin(sq_lef_find(&lef, want[i].macro), want[i].pin);
        assert_non_null(pin);
        near(pin->x, want[i].x);
        near(pin->y, want[i].y);
        assert_int_equal(pin->is_output, want[i].is_output);
        assert_false(pin->is_supply);
    }
    assert_true(sq_lef_pin(sq_lef_find(&lef, "INV"), "VDD")->is_supply);
    assert_null(sq_lef_find(&lef, "NOR"));
}

SQ_TEST(a_bad_lef_is_refused_with_its_line)
{
    static const struct {
        const char *first, *second;
        enum sq_status status;
        const char *part;
    } bad[] = {
        {tech, "MACRO A\n SIZE 1 BY x ;\nEND A\n", SQ_ERR_DAMAGED, "line 2: a number"},
        {tech, "MACRO A\n SIZE 1 BY -4 ;\nEND A\n", SQ_ERR_DAMAGED, "above 0"},
        {tech, "MACRO A\n SIZE 1 4 ;\nEND A\n", SQ_ERR_DAMAGED, "no BY"},
        {tech, "MACRO A\n SIZE 1 BY 4 ;\nEND B\n", SQ_ERR_DAMAGED, "line 3: a block ends with"},
        {tech, "MACRO A\n SIZE 1 BY 4 ;\n", SQ_ERR_DAMAGED, "ends inside a block"},
        {tech, "MACRO A\n SIZE 1 BY 4", SQ_ERR_DAMAGED, "inside a statement"},
        {tech, "MACRO A\nEND A\n", SQ_ERR_DAMAGED, "A has no SIZE"},
        {tech, "MACRO ;\n", SQ_ERR_DAMAGED, "a name is missing"},
        {"VERSION 5 ;\n", cells, SQ_ERR_UNSUPPORTED, "no site of class CORE"},
        {tech, "SITE other\n CLASS CORE ;\n SIZE 1 BY 4 ;\nEND other\n", SQ_ERR_UNSUPPORTED,
         "a second site of class CORE, 1 x 4 um beside 0.5 x 4"},
    };
    for (size_t i = 0; i < LEN(bad); i++) {
        struct sq_error err;
        const enum sq_status got = read_lef(bad[i].first, bad[i].second, &err);
        check_refused(got, bad[i].status, &err, bad[i].part);
    }
}

// ---- three cells ------------------------------------------------------------------------------

// a -> c0 (INV) -> n4 -> c1.A, c2.A; c1 (NAND, B tied to 1) -> n5 -> c2.B; c2 -> y. Port 0 is a, port 1 is y.
static const char three[] =
    "{\"modules\": {\"top\": {\"ports\": {\"a\": {\"direction\": \"input\", \"bits\": [2]},"
    " \"y\": {\"direction\": \"output\", \"bits\": [3]}}, \"cells\": {"
    "\"u.i\": {\"type\": \"INV\", \"connections\": {\"A\": [2], \"Y\": [4]}},"
    "\"u.n\": {\"type\": \"NAND\", \"connections\": {\"A\": [4], \"B\": [\"1\"], \"Y\": [5]}},"
    "\"v.n\": {\"type\": \"NAND\", \"connections\": {\"A\": [4], \"B\": [5], \"Y\": [3]}}}}}}";

static enum sq_status read_place(struct sq_place *p, const char *json, const char *clock,
                                 struct sq_error *err)
{
    const char *const path = tmpdir_path(dir, "mapped.json");
    write_bytes(path, json, strlen(json));
    return sq_place_read(p, path, clock, &lef, NULL, err);
}

// The INV at (0, 0), a NAND at (10, 0) flipped, a NAND at (10, 4) in a row that is upside down; ports left and right.
static void put_three(struct sq_place *p)
{
    p->width = 20;
    p->height = 8;
    p->n_rows = 2;
    p->cell[0].x = p->cell[0].y = p->cell[1].y = 0;
    p->cell[1].x = p->cell[2].x = 10;
    p->cell[1].is_flipped = true;
    p->cell[2].y = 4;
    p->cell[3].x = 0;
    p->cell[3].y = 1;
    p->cell[4].x = 20;
    p->cell[4].y = 7.5;
}

static void open_three(struct sq_place *p, const char *clock)
{
    assert_ok(read_lef(tech, cells, NULL));
    assert_ok(read_place(p, three, clock, NULL));
    put_three(p);
}

// Places: c0.A (.25, 1), c0.Y (.75, 3); c1 is flipped, A (11.5, 1), Y (10.25, .5); c2 is upside down, A (10.5, 4 + 3),
// B (11.5, 4 + 1.5), Y (11.75, 4 + 3.5).
SQ_TEST(three_cells_have_the_wires_that_were_worked_out_by_hand)
{
    static const char verilog[] =
        "module top (p0, p1);\ninput p0;\noutput p1;\nwire n4;\nwire n5;\n"
        "INV c0 (.A(p0), .Y(n4));\nNAND c1 (.A(n4), .B(1'b1), .Y(n5));\n"
        "NAND c2 (.A(n4), .B(n5), .Y(p1));\nendmodule\n";
    // Wires of 2 ohm and .5 fF a um. p0: .25 um. p1: from (11.75, 7.5) 8.25 um. n4: from (.75, 3) to a point at
    // (10.5, 3), 9.75 um, from there 1 + 2 um to c1 and 4 um to c2. n5: from (10.25, .5) 1.25 + 5 um.
    static const char spef[] =
        "*D_NET p0 0.125\n*CONN\n*P p0 I\n*I c0:A I\n*CAP\n1 p0 0.0625\n2 c0:A 0.0625\n"
        "*RES\n1 p0 c0:A 0.5\n*END\n"
        "*D_NET p1 4.125\n*CONN\n*I c2:Y O\n*P p1 O\n*CAP\n1 c2:Y 2.0625\n2 p1 2.0625\n"
        "*RES\n1 c2:Y p1 16.5\n*END\n"
        "*D_NET n4 8.375\n*CONN\n*I c0:Y O\n*I c1:A I\n*I c2:A I\n*CAP\n"
        "1 c0:Y 2.4375\n2 c1:A 0.75\n3 c2:A 1\n4 n4:1 4.1875\n"
        "*RES\n1 n4:1 c1:A 6\n2 n4:1 c2:A 8\n3 c0:Y n4:1 19.5\n*END\n"
        "*D_NET n5 3.125\n*CONN\n*I c1:Y O\n*I c2:B I\n*CAP\n1 c1:Y 1.5625\n"
        "2 c2:B 1.5625\n*RES\n1 c1:Y c2:B 12.5\n*END\n";
    static const char def[] =
        "UNITS DISTANCE MICRONS 1000 ;\nDIEAREA ( 0 0 ) ( 20000 8000 ) ;\n"
        "ROW row0 core 0 0 N DO 40 BY 1 STEP 500 0 ;\n"
        "ROW row1 core 0 4000 FS DO 40 BY 1 STEP 500 0 ;\nCOMPONENTS 3 ;\n"
        "- c0 INV + PLACED ( 0 0 ) N ;\n- c1 NAND + PLACED ( 10000 0 ) FN ;\n"
        "- c2 NAND + PLACED ( 10000 4000 ) FS ;\nEND COMPONENTS\nPINS 2 ;\n"
        "- p0 + NET p0 + DIRECTION INPUT + USE SIGNAL + PLACED ( 0 1000 ) N ;\n"
        "- p1 + NET p1 + DIRECTION OUTPUT + USE SIGNAL + PLACED ( 20000 7500 ) N ;\nEND PINS\n"
        "NETS 4 ;\n- p0 ( c0 A ) ( PIN p0 ) ;\n- p1 ( c2 Y ) ( PIN p1 ) ;\n"
        "- n4 ( c0 Y ) ( c1 A ) ( c2 A ) ;\n- n5 ( c1 Y ) ( c2 B ) ;\nEND NETS\nEND DESIGN\n";
    const struct sq_spef_layer layer = {2, .5e-15};
    double of_net[6];
    struct sq_spef_sum sum = {.of_net = of_net};
    struct sq_place p;
    open_three(&p, "");
    assert_ok(sq_place_check(&p, NULL));
    near(sq_place_half_perimeter(&p, 4), 10.75 + 6);
    near(sq_place_half_perimeter(&p, 5), 1.25 + 5);
    sq_spef_verilog(writes(), &p, "top");
    assert_string_equal(text_of(), verilog);
    sq_spef_def(writes(), &p, "top");
    assert_string_equal(strstr(text_of(), "UNITS"), def);
    assert_ok(sq_spef_write(writes(), &p, "top", &layer, &sum, NULL));
    const char *const text = text_of();
    assert_non_null(
        strstr(text, "*T_UNIT 1 NS\n*C_UNIT 1 FF\n*R_UNIT 1 OHM\n*L_UNIT 1 HENRY\n*D_NET"));
    assert_string_equal(strstr(text, "*D_NET"), spef);
    near(sum.length_um, .25 + 8.25 + 16.75 + 6.25);
    near(sum.farads, .5e-15 * 31.5);
    assert_int_equal(sum.n_nets, 4);
    near(of_net[2], .125e-15);
    near(of_net[5], 3.125e-15);
    sq_place_free(&p);
    // The clock has no wires in delays, and its length counts.
    open_three(&p, "a");
    assert_ok(sq_spef_write(writes(), &p, "top", &layer, &sum, NULL));
    assert_null(strstr(text_of(), "*D_NET p0"));
    near(sum.length_um, 31.5);
    near(sum.farads, .5e-15 * 31.25);
    sq_place_free(&p);
}

SQ_TEST(a_picture_has_the_cells_and_the_longest_path)
{
    const struct sq_place_groups g = {.of = (uint8_t[]){0, 1, 1}, .name = {"logic", "rest"}};
    struct sq_place p;
    struct sq_error err;
    open_three(&p, "");
    // The path of half a period is not the longest one, nor are those of other groups with more slack. y grows downwards
    // from the top, which is at 8 um.
    assert_ok(sq_place_svg(
        writes(), &p, &g,
        "Longest path\n 0 1 ^ c1/A (NAND)\n  -9   slack (MET)\nLongest path\n"
        "Startpoint: a\n 0 1 ^ c1/Y (NAND)\n   5.10   slack (MET)\n"
        "Startpoint: b\n  0.1  0.1 v p0 (in)\n"
        "  0.1  0.2 ^ c0/Y (INV)\n  1.0  1.2 v c2/A (NAND)\n  -1.5   slack (VIOLATED)\n"
        "Startpoint: c\n 0 1 ^ c1/A (NAND)\n   -1.4   slack (VIOLATED)\n",
        NULL));
    const char *const text = text_of();
    assert_non_null(strstr(text, " points=\"0,7 0.75,5 10.5,1 \"/>"));
    assert_non_null(strstr(text, "d=\"M0 4h1v4h-1z\"/>"));
    assert_non_null(strstr(text, "d=\"M10 4h2v4h-2z\nM10 0h2v4h-2z\"/>"));
    assert_non_null(strstr(text, ">logic (1)<"));
    assert_non_null(strstr(text, ">rest (2)<"));
    check_refused(sq_place_svg(writes(), &p, &g, " 0 1 ^ c1/Q (NAND)\n", &err), SQ_ERR_DAMAGED,
                  &err, "names no pin");
    (void)text_of();
    sq_place_free(&p);
}

// More cells than are drawn singly are tiles of their instances: a NAND of 8 um2 covers one of 8 x 8 um by an eighth, an INV by less than a tenth.
SQ_TEST(a_picture_of_many_cells_has_tiles_of_their_instances)
{
    enum { ACROSS = 192, N = SQ_PLACE_SVG_CELLS + 1 };
    static const char *const of[] = {"u_a.x", "$flatten\\u_b.y", "$abc$1.z", "own", "u_b.c.d"};
    struct sq_place_groups g;
    struct sq_place p = {.n_cells = N, .width = 8 * ACROSS, .height = 8 * ACROSS, .lef = &lef};
    assert_ok(read_lef(tech, cells, NULL));
    p.cell = calloc(N, sizeof *p.cell);
    assert_non_null(p.cell);
    for (unsigned i = 0; i < N; i++) {
        // Five to the right in the lowest row, each of one kind; all others upon the first.
        const unsigned kind = i < LEN(of) ? i : 0;
        p.cell[i] = (struct sq_place_cell){.name = of[kind],
                                           .macro = sq_lef_find(&lef, kind == 3 ? "INV" : "NAND"),
                                           .x = 8 * kind};
    }
    assert_ok(sq_place_instances(&p, &g, NULL));
    assert_string_equal(g.name[0], "u_a");
    assert_string_equal(g.name[1], "u_b");
    assert_string_equal(g.name[15], "others");
    assert_memory_equal(g.of, ((uint8_t[]){0, 1, 15, 15, 1, 0}), 6);
    assert_ok(sq_place_svg(writes(), &p, &g, "", NULL));
    const char *const text = text_of();
    // Tiles are 8 um; the INV covers 4 of 64 um2, less than a tenth.
    assert_non_null(strstr(text,
                           "d=\"M0 1528h8v8h-8z\"/><path fill=\"#f28e2b\" d=\"M8 1528h8v8h-8z\"/>"
                           "<path fill=\"#79706e\" d=\"M16 1528h8v8h-8z\"/>"
                           "<path fill=\"#f28e2b\" d=\"M32 1528h8v8h-8z\"/>\n"));
    assert_non_null(strstr(text, ">u_b (2)<"));
    assert_non_null(strstr(text, ">others (2)<"));
    free(g.of);
    free(p.cell);
}

SQ_TEST(places_that_are_not_legal_are_found)
{
    struct sq_place p;
    struct sq_error err;
    open_three(&p, "");
    static const struct {
        double x, y;
        const char *part;
    } bad[] = {{10.25, 4, "in no row"}, {10, 3, "in no row"}, {-.5, 4, "in no row"},
               {18.5, 4, "in no row"},  {10, 8, "in no row"}, {8.5, 0, "stands upon"},
               {11.5, 0, "stands upon"}};
    for (size_t i = 0; i < LEN(bad); i++) {
        put_three(&p);
        p.cell[2].x = bad[i].x;
        p.cell[2].y = bad[i].y;
        check_refused(sq_place_check(&p, &err), SQ_ERR_INTERNAL, &err, bad[i].part);
    }
    put_three(&p);
    p.cell[2].x = 12; // beside the other NAND
    p.cell[2].y = 0;
    assert_ok(sq_place_check(&p, NULL));
    sq_place_free(&p);
    check_refused(read_place(&p,
                             "{\"modules\": {\"t\": {\"ports\": {}, \"cells\": {\"g\": {\"type\": "
                             "\"NOR\", \"connections\": {}}}}}}",
                             "", &err),
                  SQ_ERR_UNSUPPORTED, &err, "no macro NOR");
    check_refused(read_place(&p,
                             "{\"modules\": {\"t\": {\"ports\": {}, \"cells\": {\"g\": {\"type\": "
                             "\"INV\", \"connections\": {\"Q\": [2]}}}}}}",
                             "", &err),
                  SQ_ERR_UNSUPPORTED, &err, "no pin Q of INV");
    check_refused(read_place(&p, "{\"modules\": {}}", "", &err), SQ_ERR_DAMAGED, &err,
                  "no single module");
}

// ---- memories ---------------------------------------------------------------------------------

// a -> INV -> both bits of D of m; Q of m -> D of n; bit 0 of Q of n -> INV -> y. Ports are cells 2 and 3, memories 4 and 5.
static const char with_memories[] =
    "{\"modules\": {\"top\": {\"ports\": {\"a\": {\"direction\": \"input\", \"bits\": [2]},"
    " \"y\": {\"direction\": \"output\", \"bits\": [8]}}, \"cells\": {"
    "\"m\": {\"type\": \"RAM\", \"connections\": {\"D\": [3, 3], \"Q\": [4, 5]}},"
    "\"i\": {\"type\": \"INV\", \"connections\": {\"A\": [2], \"Y\": [3]}},"
    "\"n\": {\"type\": \"RAM\", \"connections\": {\"D\": [4, 5], \"Q\": [6, \"0\"]}},"
    "\"k\": {\"type\": \"INV\", \"connections\": {\"A\": [6], \"Y\": [8]}}}}}}";

// A RAM of 100 um2 is a square of 10 um, its four pins 1.25, 3.75, 6.25 and 8.75 um high on the side of the rows, from which it is two rows
// away.
SQ_TEST(memories_stand_beside_the_rows_with_the_pins_that_were_worked_out_by_hand)
{
    static char library[] = "library (m) { cell (RAM) { area : 100; bus (\"D\") { direction : "
                            "\"input\"; } bus (Q) { direction : output; } } }";
    static struct sq_lib_cell cell = {.name = "RAM", .area = 100};
    static const struct sq_liberty ram = {
        .text = library, .nbytes = sizeof library - 1, .n_cells = 1, .cell = &cell};
    const char *const path = tmpdir_path(dir, "memories.json");
    struct sq_place p;
    struct sq_error err;
    assert_ok(read_lef(tech, cells, NULL));
    write_bytes(path, with_memories, strlen(with_memories));
    check_refused(sq_place_read(&p, path, "", &lef, NULL, &err), SQ_ERR_UNSUPPORTED, &err,
                  "no macro RAM");
    struct sq_place first;
    assert_ok(sq_place_read(&first, path, "", &lef, &ram, NULL));
    p = first; // as sq_wires_place hands it on
    memset(&first, 0, sizeof first);
    assert_int_equal(p.n_cells, 2);
    assert_int_equal(p.n_blocks, 2);
    near(p.area, 8);
    assert_ok(sq_place_run(&p, .5, 1, NULL));

    const bool m_is_left = p.cell[4].x < 0;
    for (unsigned i = 4; i < 6; i++) {
        const bool is_left = (i == 4) == m_is_left;
        const struct sq_place_pin *const pin = &p.pin[p.cell[i].pin];
        near(p.cell[i].x, is_left ? -18 : p.width + 8);
        for (unsigned k = 0; k < 4; k++) {
            near(sq_place_x(&p, &pin[k]), is_left ? -8 : p.width + 8);
            near(sq_place_y(&p, &pin[k]) - p.cell[i].y, 1.25 + 2.5 * k);
            assert_int_equal(pin[k].is_driver, k >= 2);
        }
    }
    sq_spef_verilog(writes(), &p, "top");
    assert_string_equal(strstr(text_of(), "INV c0"),
                        "INV c0 (.A(p0), .Y(n3));\nINV c1 (.A(n6), .Y(p1));\n"
                        "RAM c4 (.D({n3, n3}), .Q({n5, n4}));\n"
                        "RAM c5 (.D({n5, n4}), .Q({1'b0, n6}));\nendmodule\n");
    struct sq_spef_sum sum = {.of_net = NULL};
    assert_ok(sq_spef_write(writes(), &p, "top", &(struct sq_spef_layer){2, .5e-15}, &sum, NULL));
    // From one side of the rows to the other, as high as bit 1 of Q is above bit 1 of D.
    const double um = p.width + 16 + fabs(p.cell[4].y - p.cell[5].y + 5);
    char net[120];
    snprintf(net, sizeof net, "*D_NET n5 %.6g\n*CONN\n*I c4:Q[1] O\n*I c5:D[1] I\n", um / 2);
    assert_non_null(strstr(text_of(), net));
    sq_spef_def(writes(), &p, "top");
    assert_non_null(strstr(text_of(), "DIEAREA ( -18000 0 )"));
    assert_non_null(strstr(written.text, "COMPONENTS 4 ;\n"));
    p.cell[5].x = p.cell[4].x + 9.5;
    p.cell[5].y = p.cell[4].y - 9.5;
    if (m_is_left)
        p.cell[5].x = p.cell[4].x;
    check_refused(sq_place_check(&p, &err), SQ_ERR_INTERNAL, &err, "block n stands upon m");
    p.cell[5].x = p.width - .5;
    check_refused(sq_place_check(&p, &err), SQ_ERR_INTERNAL, &err, "upon the rows");
    sq_place_free(&p);
}

// ---- trees ------------------------------------------------------------------------------------

SQ_TEST(trees_are_as_short_as_they_can_be)
{
    static const struct {
        size_t n;
        double at[5][2], length; // the driver first
    } want[] = {{1, {{3, 3}}, 0},
                {2, {{0, 0}, {3, 4}}, 7},
                {3, {{0, 0}, {4, 3}, {4, -2}}, 9},                 // meet at (4, 0)
                {4, {{0, 1}, {2, 0}, {4, 1}, {2, 2}}, 6},          // a cross
                {4, {{0, 0}, {0, 4}, {10, 0}, {10, 4}}, 18},       // two points: 10 + 4 + 4
                {5, {{5, 5}, {5, 5}, {9, 5}, {9, 5}, {7, 5}}, 4}}; // pins upon one another
    struct sq_steiner s = {0};
    for (size_t i = 0; i < LEN(want); i++) {
        assert_ok(sq_steiner_reserve(&s, want[i].n, NULL));
        for (size_t k = 0; k < want[i].n; k++) {
            s.node[k].x = want[i].at[k][0];
            s.node[k].y = want[i].at[k][1];
        }
        sq_steiner_make(&s);
        near(sq_steiner_length(&s), want[i].length);
    }
    sq_steiner_free(&s);
}

// Every node reaches the driver, and a tree is no shorter than the half perimeter and no longer than one of pins alone.
SQ_TEST(random_trees_are_whole_and_within_their_bounds)
{
    struct sq_rng rng = {fixture_seed()};
    struct sq_steiner s = {0};
    for (unsigned round = 0; round < 300; round++) {
        const size_t n = 2 + sq_rng_below(&rng, 30);
        double box[4] = {1e9, 1e9, -1e9, -1e9}, chain = 0;
        assert_ok(sq_steiner_reserve(&s, n, NULL));
        for (size_t i = 0; i < n; i++) {
            s.node[i].x = sq_rng_below(&rng, 20);
            s.node[i].y = sq_rng_below(&rng, 20);
            box[0] = fmin(box[0], s.node[i].x), box[2] = fmax(box[2], s.node[i].x);
            box[1] = fmin(box[1], s.node[i].y), box[3] = fmax(box[3], s.node[i].y);
            double nearest = i ? 1e9 : 0; // a tree by the order of the pins
            for (size_t k = 0; k < i; k++)
                nearest = fmin(nearest,
                               fabs(s.node[i].x - s.node[k].x) + fabs(s.node[i].y - s.node[k].y));
            chain += nearest;
        }
        sq_steiner_make(&s);
        const double length = sq_steiner_length(&s);
        assert_true(length >= box[2] - box[0] + box[3] - box[1] && length <= chain);
        for (size_t i = 0; i < s.n; i++) {
            size_t at = i, steps = 0;
            while (at != 0 && steps++ < s.n)
                at = s.node[at].parent;
            assert_int_equal(at, 0);
        }
    }
    sq_steiner_free(&s);
}

// ---- a whole placement ------------------------------------------------------------------------

// A chain of `n` gates, each of which also reads one further back: its cells should lie near their neighbours.
static char *chain(unsigned n, const char *even, struct sq_rng *rng)
{
    char *text = NULL;
    size_t size;
    FILE *const out = open_memstream(&text, &size);
    fprintf(
        out,
        "{\"modules\": {\"top\": {\"ports\": {\"a\": {\"direction\": \"input\", \"bits\": [2]}, "
        "\"y\": {\"direction\": \"output\", \"bits\": [%u]}}, \"cells\": {",
        n + 2);
    for (unsigned i = 0; i < n; i++) {
        fprintf(out, "%s\"g%u\": {\"type\": \"%s\", \"connections\": {\"A\": [%u], \"Y\": [%u]",
                i ? ", " : "", i, i % 2 ? "NAND" : even, i + 2, i + 3);
        if (i % 2)
            fprintf(out, ", \"B\": [%u]", 2 + i - sq_rng_below(rng, i < 9 ? i : 9));
        fprintf(out, "}}");
    }
    fprintf(out, "}}}}");
    fclose(out);
    return text;
}

static double length_of(const struct sq_place *p)
{
    double sum = 0;
    for (size_t i = 0; i < p->n_nets; i++)
        sum += sq_place_half_perimeter(p, i);
    return sum;
}

SQ_TEST(a_placement_is_legal_near_and_the_same_for_a_seed)
{
    struct sq_rng rng = {fixture_seed()};
    char *const json = chain(600, "INV", &rng);
    assert_ok(read_lef(tech, cells, NULL));
    static const double utilisation[] = {.3, .7, .95};
    for (size_t u = 0; u < LEN(utilisation); u++) {
        struct sq_place p[3];
        for (size_t i = 0; i < 3; i++) {
            assert_ok(read_place(&p[i], json, "", NULL));
            assert_ok(sq_place_run(&p[i], utilisation[u], i == 2 ? 9 : 7, NULL));
            const double used = p[i].area / (p[i].width * p[i].height);
            assert_true(used <= utilisation[u] * 1.1 && used > utilisation[u] * .9);
        }
        bool is_same = true;
        for (size_t i = 0; i < p[0].n_cells + p[0].n_ports; i++) {
            near(p[1].cell[i].x, p[0].cell[i].x);
            near(p[1].cell[i].y, p[0].cell[i].y);
            is_same = is_same && p[2].cell[i].x == p[0].cell[i].x;
        }
        assert_false(is_same);
        // Neighbours of a chain of cells 1.5 um wide and 4 um high, each with a second input: a few um a net. Cells
        // thrown at random on this area have 35 um and more.
        if (!(length_of(&p[0]) / 600 < 9))
            fail_msg("utilisation %g: %g um a cell", utilisation[u], length_of(&p[0]) / 600);
        for (size_t i = 0; i < 3; i++)
            sq_place_free(&p[i]);
    }
    free(json);
}

// Rows that hold two cells or three must have room for the last one.
SQ_TEST(a_few_cells_fit_at_any_utilisation)
{
    struct sq_rng rng = {fixture_seed()};
    assert_ok(read_lef(tech, cells, NULL));
    for (unsigned n = 1; n <= 40; n++) {
        struct sq_place p;
        struct sq_error err;
        char *const json = chain(n, "NAND", &rng);
        assert_ok(read_place(&p, json, "", NULL));
        if (sq_place_run(&p, n % 2 ? .95 : .8, 1, &err) != SQ_OK)
            fail_msg("%u cells: %s", n, err.text);
        sq_place_free(&p);
        free(json);
    }
}

// A buffer that came stands at what it drives, a cell that grew has its room, and all others stay near their places.
SQ_TEST(a_placement_goes_on_from_an_old_one)
{
    struct sq_rng rng = {fixture_seed()};
    struct sq_place p, q;
    char *const text = chain(600, "INV", &rng);
    assert_ok(read_lef(tech, cells, NULL));
    assert_ok(read_place(&p, text, "", NULL));
    assert_ok(sq_place_run(&p, .7, 1, NULL));
    json_t *const root = json_deep_copy(p.root);
    json_t *list = NULL;
    json_unpack(root, "{s:{s:{s:o}}}", "modules", "top", "cells", &list);
    for (int i = 0; i < 60; i++) {
        char name[2][8];
        json_t *pins = NULL;
        snprintf(name[0], 8, "g%d", 10 * i);
        snprintf(name[1], 8, "b%d", i);
        json_unpack(list, "{s:{s:o}}", name[0], "connections", &pins);
        json_object_set_new(list, name[1],
                            json_pack("{s:s, s:{s:O, s:[i]}}", "type", "INV", "connections", "A",
                                      json_object_get(pins, "A"), "Y", 9000 + i));
        json_object_set_new(pins, "A", json_pack("[i]", 9000 + i));
    }
    json_object_set_new(json_object_get(list, "g400"), "type", json_string("NAND"));
    assert_ok(sq_place_take(&q, root, "", &lef, NULL, NULL));
    assert_ok(sq_place_again(&q, &p, .7, NULL));
    double moved = 0, apart = 0;
    for (size_t i = 0; i < p.n_cells; i++)
        moved += (fabs(q.cell[i].x - p.cell[i].x) + fabs(q.cell[i].y - p.cell[i].y)) / 600;
    for (size_t i = 9000; i < 9060; i++)
        apart += sq_place_half_perimeter(&q, i) / 60;
    if (!(moved < 6 && apart < 6))
        fail_msg("cells moved by %g um, buffers stand %g um from their cells", moved, apart);
    near(q.area, p.area + 60 * 4 + 4); // INVs that came, an INV that is a NAND now
    sq_place_free(&p);
    sq_place_free(&q);
    free(text);
}

SQ_TEST(real_libraries_are_read)
{
    static const struct {
        const char *file[2];
        size_t n_macros;
        double site, row;
    } real[] = {
        {{"lef/sg13g2_tech.lef", "lef/sg13g2_stdcell.lef"}, 84, .48, 3.78},
        {{"lef/NangateOpenCellLibrary.tech.lef", "lef/NangateOpenCellLibrary.macro.mod.lef"},
         135,
         .19,
         1.4}};
    for (size_t i = 0; i < LEN(real); i++) {
        char path[2][512];
        const char *const file[] = {test_data(real[i].file[0], path[0]),
                                    test_data(real[i].file[1], path[1])};
        if (access(file[0], R_OK) != 0) {
            skip();
            return;
        }
        sq_lef_free(&lef);
        assert_ok(sq_lef_read(&lef, file, 2, NULL));
        assert_int_equal(lef.n_macros, real[i].n_macros);
        near(lef.site_width, real[i].site);
        near(lef.row_height, real[i].row);
    }
}
