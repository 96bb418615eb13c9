// SPDX-License-Identifier: Apache-2.0
// Reading Liberty. The functions: every operator, alone and against its neighbours in precedence,
// each over its whole truth table. The library: a small one that has every kind of statement; all
// of its prefixes are refused, and so are libraries that lack what areas need. The real libraries
// are tried where they are.
#include <zlib.h>

#include "sim/synth/sq_liberty.h"
#include "tests/data.h"
#include "tests/unit/tmpdir.h"

TMPDIR_OF_ALL(dir)

// ---- functions --------------------------------------------------------------------------------

SQ_TEST(test_truth)
{
    char in[3][SQ_LIB_NAME_LEN] = {"A", "B", "CI"};
    const struct {
        const char *text;
        unsigned table; // bit i: value at A = i & 1, B = i >> 1 & 1, CI = i >> 2
    } cases[] = {
        {"A", 0xaa},          {"B", 0xcc},
        {"CI", 0xf0},         {"!A", 0x55},
        {"A'", 0x55},         {"A''", 0xaa},
        {"!A'", 0xaa},        {"(!(A B))", 0x77},
        {"!(A * B)", 0x77},   {"(!A) | (!B)", 0x77},
        {"!A+!B", 0x77},      {"A&B", 0x88},
        {"A B CI", 0x80},     {"A+B CI", 0xea}, // and before or
        {"A^B CI", 0x60},                       // xor before and
        {"CI A^B", 0x60},                       // on both sides
        {"!A^B", 0x99},                         // not before xor
        {"A B'", 0x22},                         // ' belongs to B
        {"(A+B)'", 0x11},                       //
        {"((A^B)^CI)", 0x96}, {"(((A B)+(B CI))+(CI A))", 0xe8},
        {" ( A ) ", 0xaa},    {"1", 0xff},
        {"0+A", 0xaa},
    };
    for (size_t i = 0; i < LEN(cases); i++) {
        unsigned table = 0;
        if (!sq_liberty_truth(cases[i].text, in, 3, &table))
            fail_msg("'%s' is refused", cases[i].text);
        CHECK_EQ(table, cases[i].table, "'%s': ", cases[i].text);
    }
    static const char *const bad[] = {"",  "(",  ")",   "A)", "(A", "A+",  "+A",   "!",    "A^",
                                      "D", "A*", "A $", "2",  "C",  "CI2", "A B)", "A ++B"};
    unsigned table;
    for (size_t i = 0; i < LEN(bad); i++)
        if (sq_liberty_truth(bad[i], in, 3, &table))
            fail_msg("'%s' is accepted as 0x%x", bad[i], table);
    char deep[2000];
    memset(deep, '(', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    assert_false(sq_liberty_truth(deep, in, 3, &table));
    memset(deep, '!', sizeof deep - 1);
    assert_false(sq_liberty_truth(deep, in, 3, &table));
}

// ---- libraries --------------------------------------------------------------------------------

#define PIN_IN(name) "pin(" name ") { direction : input; capacitance : 0.5; }\n"
#define PIN_OUT(name, function)                                                                    \
    "pin(" name ") { direction : output; function : \"" function "\"; }\n"
#define NAND2(name, area, more)                                                                    \
    "cell(" name ") { area : " area ";\n" more PIN_IN("A") PIN_IN("B") PIN_OUT("Y", "!(A B)") "}"  \
                                                                                              "\n"
#define FLOP "cell(\"DFF\") { area : 9.5 ; ff(IQ, IQN) { clocked_on : \"CK\"; } " PIN_IN("D") "}\n"
#define ADDER(name, area, sum, carry)                                                              \
    "cell(" name ") { area : " area ";" PIN_IN("X1") PIN_IN("X2") PIN_IN("X3") PIN_OUT("S", sum)   \
        PIN_OUT("C", carry) "}\n"
#define LIBRARY(cells)                                                                             \
    "/* a comment { */\nlibrary (tiny) {\n  time_unit : \"1ns\"\n  capacitive_load_unit (1, "      \
    "pf); default_wire_load : \"w1\" ;\n"                                                          \
    "  lu_table_template(t) { index_1 (\"1, 2\"); } // another }\n" cells "}\n"

static enum sq_status read_text(const char *text, size_t n, struct sq_liberty *lib,
                                struct sq_error *err)
{
    const char *path = tmpdir_path(dir, "a.lib");
    write_bytes(path, text, n);
    return sq_liberty_read(lib, path, err);
}

static const char whole[] =
    LIBRARY(NAND2("NAND2_BIG", "5", "") NAND2("NAND2_NO", "1", "dont_use : true;\n")
                NAND2("NAND2", "4", "") NAND2("NAND2_FREE", "0", "") FLOP
            "cell(LAT) { area : 3; latch(IQ, IQN) { } }\n"
            "cell(BARE) { }\n" ADDER("FA", "20", "X1^X2^X3", "X1 X2 + X3 (X1+X2)")
                ADDER("FAN", "16", "!(X1^X2^X3)", "!(X1 X2 + X3 (X1+X2))")
                    ADDER("HALF", "2", "X1^X2", "X1 X2"));

SQ_TEST(test_library)
{
    struct sq_liberty lib;
    struct sq_error err;
    if (read_text(whole, sizeof whole - 1, &lib, &err) != SQ_OK)
        fail_msg("%s", err.text);
    assert_int_equal(lib.n_cells, 10);
    assert_string_equal(lib.nand2->name, "NAND2");
    assert_true(lib.nand2->area == 4 && lib.nand2_input_cap == 0.5);
    assert_true(sq_liberty_find(&lib, "DFF")->is_sequential);
    assert_true(sq_liberty_find(&lib, "DFF")->area == 9.5);
    assert_true(sq_liberty_find(&lib, "LAT")->is_sequential);
    assert_false(sq_liberty_find(&lib, "FA")->is_sequential);
    assert_true(sq_liberty_find(&lib, "BARE")->area < 0);
    assert_null(sq_liberty_find(&lib, "NAND"));
    assert_string_equal(lib.adder.cell, "FAN");
    assert_string_equal(lib.wire_load, "w1");
    assert_true(lib.adder.sum_inverted && lib.adder.carry_inverted);
    assert_string_equal(lib.adder.sum, "S");
    assert_string_equal(lib.adder.carry, "C");
    sq_liberty_free(&lib);
}

// No prefix is a library, plain or compressed.
SQ_TEST(test_truncated)
{
    struct sq_liberty lib;
    struct sq_error err;
    const size_t end = strlen(whole) - 1; // the last newline may be missing
    for (size_t n = 0; n < end; n++)
        if (read_text(whole, n, &lib, &err) != SQ_ERR_DAMAGED)
            fail_msg("%zu of %zu bytes: %s", n, end, err.text);
    assert_ok(read_text(whole, end, &lib, &err));
    sq_liberty_free(&lib);

    const char *path = tmpdir_path(dir, "b.lib.gz");
    gzFile gz = gzopen(path, "wb");
    assert_int_equal(gzwrite(gz, whole, sizeof whole - 1), sizeof whole - 1);
    assert_int_equal(gzclose(gz), Z_OK);
    assert_ok(sq_liberty_read(&lib, path, &err));
    assert_int_equal(lib.nbytes, sizeof whole - 1);
    assert_string_equal(lib.text, whole);
    sq_liberty_free(&lib);
    size_t nbytes;
    uint8_t *bytes = read_bytes(path, &nbytes);
    for (size_t n = 3; n < nbytes; n++) {
        write_bytes(path, bytes, n);
        assert_int_equal(sq_liberty_read(&lib, path, &err), SQ_ERR_DAMAGED);
    }
}

SQ_TEST(test_refused)
{
    const struct {
        const char *text;
        enum sq_status status;
        const char *part;
    } cases[] = {
        {"", SQ_ERR_DAMAGED, "no Liberty file"},
        {"module m; endmodule\n", SQ_ERR_DAMAGED, "line 1: this is no Liberty file"},
        {"library_x (t) { }", SQ_ERR_DAMAGED, "no Liberty file"},
        {"library (t);", SQ_ERR_DAMAGED, "no body"},
        {LIBRARY("") "}", SQ_ERR_DAMAGED, "after the end"},
        {LIBRARY("area 5;"), SQ_ERR_DAMAGED, "neither"},
        {LIBRARY("note : \"x;\n"), SQ_ERR_DAMAGED, "line 6: a string does not end"},
        {LIBRARY(""), SQ_ERR_UNSUPPORTED, "0 cells but no flip-flop"},
        {LIBRARY(NAND2("N", "4", "")), SQ_ERR_UNSUPPORTED, "1 cells but no flip-flop"},
        {LIBRARY(FLOP), SQ_ERR_UNSUPPORTED, "no 2-input NAND"},
        {LIBRARY(FLOP NAND2("N", "0", "")), SQ_ERR_UNSUPPORTED, "no 2-input NAND"},
        {LIBRARY(FLOP NAND2("N", "4", "dont_use : true;")), SQ_ERR_UNSUPPORTED, "no 2-input NAND"},
    };
    struct sq_liberty lib;
    struct sq_error err;
    for (size_t i = 0; i < LEN(cases); i++)
        check_refused(read_text(cases[i].text, strlen(cases[i].text), &lib, &err), cases[i].status,
                      &err, cases[i].part);
    // A zero byte ends the text for us, but not for the tools that read the same file.
    static const char hidden[] = LIBRARY(FLOP NAND2("N", "4", "")) "\0cell (X) { }";
    check_refused(read_text(hidden, sizeof hidden - 1, &lib, &err), SQ_ERR_DAMAGED, &err,
                  "zero byte");
    char deep[4000] = "library (t) {";
    while (strlen(deep) < 3000)
        strcat(deep, "g() { ");
    check_refused(read_text(deep, strlen(deep), &lib, &err), SQ_ERR_DAMAGED, &err, "nested");
    check_refused(sq_liberty_read(&lib, tmpdir_path(dir, "none"), &err), SQ_ERR_IO, &err, "none");
    check_refused(sq_liberty_read(&lib, dir, &err), SQ_ERR_IO, &err, "directory");
}

// What Yosys would write into a netlist is a plain name, wherever it stands; real libraries have
// indices and lists of pins.
SQ_TEST(test_names)
{
    static const char *const good[] = {"cell(_a_1) { }",
                                       "cell(\"A\") { pin(\"B\") { } }",
                                       "cell(A) { pin(A,B , \"C\") { } }",
                                       "cell(A) { bus(B[3:0]) { pin(B[3]) { } } }",
                                       "cell(A) { ff(\"IQ\", \"IQN\") { } }",
                                       "operating_conditions(tt_1.80_-25) { }"};
    static const char *const bad[][2] = {
        {"cell(\"F u0();wire [39:0]_TECHMAP_DO_=40'h2169643e78;F\") { }", "cell (\"F u0();wire"},
        {"cell(F\\ u) { }", "cell (F\\ u), need letters"},
        {"cell(F G) { }", "cell (F G), need"},
        {"cell(a$b) { }", "cell (a$b), need"},
        {"cell($fa) { }", "cell ($fa), need"},
        {"cell(1A) { }", "cell (1A), need"},
        {"cell() { }", "cell (), need"},
        {"cell(A[0]) { }", "cell (A[0]), need"},
        {"cell(A) { pin(\"B;C\") { } }", "pin (\"B;C\"), need"},
        {"cell(A) { pin(\"B C\") { } }", "pin (\"B C\"), need"},
        {"cell(A) { pin(A,) { } }", "pin (A,), need"},
        {"cell(A) { pin(A[x]) { } }", "pin (A[x]), need"},
        {"cell(A) { pin(A[1:]) { } }", "pin (A[1:]), need"},
        {"cell(A) { bus(\"B`x`\") { } }", "bus (\"B`x`\"), need"},
        {"cell(A) { bundle(B) { pin(\"$(x)\") { } } }", "pin (\"$(x"},
        {"cell(A) { test_cell() { pin(\"!x\") { } } }", "pin (\"!x\"), need"},
        {"cell(A) { ff(\"I|x\", Q) { } }", "ff (\"I|x\", Q), need"},
        {"x(\"`x`\") { }", "x (\"`x`\"), need"},
        {"cell(A) { area : 1 /* ; x : \" */ ; pin(\"e;\"){} /* \" ; */ }", "comment inside"},
        {"cell // (\n (A) { }", "comment inside"},
        {"include_file(\"/etc/passwd\");", "include_file"},
    };
    struct sq_liberty lib;
    struct sq_error err;
    char text[4000];
    for (size_t i = 0; i < LEN(good) + LEN(bad); i++) {
        const char *more = i < LEN(good) ? good[i] : bad[i - LEN(good)][0];
        const int n = snprintf(text, sizeof text, LIBRARY(FLOP NAND2("N", "4", "") "%s\n"), more);
        const enum sq_status status = read_text(text, (size_t)n, &lib, &err);
        if (i >= LEN(good))
            check_refused(status, SQ_ERR_DAMAGED, &err, bad[i - LEN(good)][1]);
        else if (status != SQ_OK)
            fail_msg("%s: %s", more, err.text);
        else
            sq_liberty_free(&lib);
    }
}

SQ_TEST(test_real)
{
    static const struct {
        const char *path, *nand2, *adder;
        double area;
    } known[] = {
        {"/usr/share/qflow/tech/osu018/osu018_stdcells.lib", "NAND2X1", "FAX1", 24},
        {"liberty/nangate45_typ.lib.gz", "NAND2_X1", "FA_X1", 0.798},
        {"liberty/sg13g2_stdcell_typ_1p20V_25C.lib", "sg13g2_nand2_1", "", 7.2576},
    };
    for (size_t i = 0; i < LEN(known); i++) {
        struct sq_liberty lib;
        struct sq_error err;
        char path[512];
        if (known[i].path[0] == '/')
            snprintf(path, sizeof path, "%s", known[i].path);
        else
            test_data(known[i].path, path);
        if (access(path, R_OK) != 0) {
            print_message("# skipped: %s is not there\n", path);
            continue;
        }
        if (sq_liberty_read(&lib, path, &err) != SQ_OK)
            fail_msg("%s", err.text);
        assert_string_equal(lib.nand2->name, known[i].nand2);
        assert_true(lib.nand2->area == known[i].area);
        assert_string_equal(lib.adder.cell, known[i].adder);
        sq_liberty_free(&lib);
    }
}
