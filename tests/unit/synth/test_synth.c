// SPDX-License-Identifier: Apache-2.0
// Synthesis on blocks so small that the cells can be counted by hand, in a copy of rtl/ scripts
// around modules of the test's own, with a cache of its own: every test starts from nothing.
// Sampled: one library (osu018; skipped aloud where it is not installed), a gate, a full adder, a
// flip-flop, and of the design a 4x4 product and small PEs of every recipe, whose netlists are
// proven equal to their sources by SAT. The cache: hit, miss by parameter, by source, by library;
// three processes at once; refusals.
#include <math.h>
#include <sys/wait.h>

#include "sim/io/sq_process.h"
#include "sim/synth/sq_area_block.h"
#include "sim/synth/sq_synth.h"
#include "tests/unit/tmpdir.h"

// Each in the file of its name; tiny_top is built of tiny_add, which the others do not know.
static const struct {
    const char *name, *text;
} modules[] = {
    {"tiny_and.sv", "module tiny_and (input logic a_i, input logic b_i, output logic y_o);\n"
                    "  assign y_o = a_i & b_i;\n"
                    "endmodule\n"},
    {"tiny_nand.sv",
     "module tiny_nand #(parameter int unsigned Width = 1) // no tiny_add here\n"
     "  (input logic [Width-1:0] a_i, input logic [Width-1:0] b_i, output logic [Width-1:0] y_o);\n"
     "  if (Width < 1) begin : gen_bad\n"
     "    $error(\"Width >= 1\");\n"
     "  end\n"
     "  assign y_o = ~(a_i & b_i);\n"
     "endmodule\n"},
    {"tiny_add.sv", "module tiny_add (input logic [2:0] x_i, output logic [1:0] y_o);\n"
                    "  assign y_o = 2'(x_i[0]) + 2'(x_i[1]) + 2'(x_i[2]);\n"
                    "endmodule\n"},
    {"tiny_top.sv", "module tiny_top (input logic [2:0] x_i, output logic [1:0] y_o);\n"
                    "  tiny_add u_add (.x_i, .y_o);\n"
                    "endmodule\n"},
    {"tiny_flop.sv", "module tiny_flop (input logic clk_i, input logic d_i, output logic q_o);\n"
                     "  always_ff @(posedge clk_i) q_o <= d_i;\n"
                     "endmodule\n"},
    {"sq_pe_tiny.sv", "module sq_pe_tiny #(parameter int unsigned Place = 0)\n"
                      "  (input logic a_i, input logic b_i, output logic y_o);\n"
                      "  assign y_o = a_i & b_i;\n"
                      "endmodule\n"},
    {"tiny_twins.sv",
     "module tiny_twins (input logic a_i, input logic b_i, output logic [1:0] y_o);\n"
     "  for (genvar i = 0; i < 2; i++) begin : gen_pe\n"
     "    sq_pe_tiny #(.Place(i)) u_pe (.a_i, .b_i, .y_o(y_o[i]));\n"
     "  end\n"
     "endmodule\n"},
    {"sq_dma_tiny.sv",
     "module sq_dma_tiny (input logic clk_i, input logic d_i, output logic q_o);\n"
     "  always_ff @(posedge clk_i) q_o <= d_i;\n"
     "endmodule\n"},
    {"sq_sram_tiny.sv",
     "module sq_sram_tiny (input logic clk_i, input logic d_i, output logic q_o);\n"
     "  RM_IHPSG13_1P_64x64_c2_bm_bist u_macro (.A_CLK(clk_i), .A_DIN(d_i), .A_DOUT(q_o));\n"
     "endmodule\n"},
    {"tiny_chip.sv", "module tiny_chip (input logic clk_i, input logic d_i, output logic q_o);\n"
                     "  logic asked, read;\n"
                     "  sq_dma_tiny u_dma (.clk_i, .d_i, .q_o(asked));\n"
                     "  sq_sram_tiny u_sram (.clk_i, .d_i(!asked), .q_o(read));\n"
                     "  always_ff @(posedge clk_i) q_o <= !read;\n"
                     "endmodule\n"},
    {"sq_dma_wide.sv", "module sq_dma_wide (input logic en_i, input logic [63:0] d_i,\n"
                       "                    output logic [63:0] y_o);\n"
                       "  assign y_o = en_i ? d_i : '0;\n"
                       "endmodule\n"},
    {"tiny_wide.sv",
     "module tiny_wide (input logic clk_i, input logic en_i, input logic [63:0] d_i,\n"
     "                  output logic [1023:0] y_o);\n"
     "  logic en_q;\n"
     "  always_ff @(posedge clk_i) en_q <= en_i;\n"
     "  for (genvar i = 0; i < 16; i++) begin : gen_wide\n"
     "    sq_dma_wide u_wide (.en_i(en_q), .d_i, .y_o(y_o[64*i +: 64]));\n"
     "  end\n"
     "endmodule\n"},
    {"tiny_bad.sv", ""},
};

// A memory: 3 ns to its output, 0.5 ns of setup.
static const char macro[] =
    "library (memories) {\n"
    "  delay_model : table_lookup;\n"
    "  time_unit : \"1ns\"; voltage_unit : \"1V\"; current_unit : \"1mA\";\n"
    "  capacitive_load_unit (1, pf);\n"
    "  input_threshold_pct_rise : 50; output_threshold_pct_rise : 50;\n"
    "  input_threshold_pct_fall : 50; output_threshold_pct_fall : 50;\n"
    "  slew_lower_threshold_pct_rise : 20; slew_upper_threshold_pct_rise : 80;\n"
    "  slew_lower_threshold_pct_fall : 20; slew_upper_threshold_pct_fall : 80;\n"
    "  cell (RM_IHPSG13_1P_64x64_c2_bm_bist) {\n"
    "    area : 1000;\n"
    "    pin (A_CLK) { direction : input; clock : true; capacitance : 0.01; }\n"
    "    pin (A_DIN) { direction : input; capacitance : 0.01;\n"
    "      timing () { related_pin : \"A_CLK\"; timing_type : setup_rising;\n"
    "        rise_constraint (scalar) { values (\"0.5\"); }\n"
    "        fall_constraint (scalar) { values (\"0.5\"); } } }\n"
    "    pin (A_DOUT) { direction : output;\n"
    "      timing () { related_pin : \"A_CLK\"; timing_type : rising_edge;\n"
    "        cell_rise (scalar) { values (\"3\"); } rise_transition (scalar) { values (\"0.1\"); "
    "}\n"
    "        cell_fall (scalar) { values (\"3\"); } fall_transition (scalar) { values (\"0.1\"); } "
    "} }\n"
    "  }\n"
    "}\n";

// What must be refused, one at a time as tiny_bad.sv.
static const char latch[] =
    "module tiny_bad (input logic en_i, input logic d_i, output logic q_o);\n"
    "  always_latch if (en_i) q_o = d_i;\n"
    "endmodule\n";
static const char typo[] = "module tiny_bad (input logic a_i, output logic y_o);\n"
                           "  assign y_o = a_j;\n"
                           "endmodule\n";
static const char loop[] = "module tiny_bad (input logic a_i, output logic y_o);\n"
                           "  assign y_o = y_o ^ a_i;\n"
                           "endmodule\n";

static const char liberty[] = "/usr/share/qflow/tech/osu018/osu018_stdcells.lib";
TMPDIR_OF_ALL(dir)

static void copy_file(const char *from, const char *to)
{
    size_t n;
    uint8_t *bytes = read_bytes(from, &n);
    write_bytes(to, bytes, n);
}

// DIR/NAME, an rtl/ of the modules above and sq_mul.
static const char *make_rtl(char path[128], const char *name)
{
    static const char *const copied[] = {
        "synth_front.ys",      "synth_map.ys",     "synth_speed.ys",    "synth_alu.v",
        "synth_prefix.v",      "synth_dot.sv",     "synth_mul_star.sv", "sq_assert.svh",
        "sq_pkg.sv",           "number/sq_mul.sv", "number/sq_dot.sv",  "array/sq_acc.sv",
        "array/sq_pe_dense.sv"};
    static const char list[] =
        "sq_pkg.sv\nsq_mul.sv\nsq_dot.sv\nsq_acc.sv\nsq_pe_dense.sv\n"
        "tiny_and.sv\ntiny_nand.sv\n"
        "tiny_add.sv\ntiny_top.sv\ntiny_flop.sv\nsq_pe_tiny.sv\n"
        "tiny_twins.sv\nsq_dma_tiny.sv\nsq_sram_tiny.sv\ntiny_chip.sv\nsq_dma_wide.sv\n"
        "tiny_wide.sv\ntiny_bad.sv\n";
    char from[128];
    snprintf(path, 128, "%.64s/%s", dir, name);
    assert_int_equal(mkdir(path, 0777), 0);
    for (size_t i = 0; i < LEN(copied); i++) {
        snprintf(from, sizeof from, "rtl/%s", copied[i]);
        const char *slash = strchr(copied[i], '/');
        copy_file(from, tmpdir_path(path, slash ? slash + 1 : copied[i]));
    }
    write_bytes(tmpdir_path(path, "files.f"), list, sizeof list - 1);
    for (size_t i = 0; i < LEN(modules); i++)
        write_bytes(tmpdir_path(path, modules[i].name), modules[i].text, strlen(modules[i].text));
    return path;
}

static void append(const char *rtl, const char *name, const char *text)
{
    FILE *f = fopen(tmpdir_path(rtl, name), "a");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

// Replaces the only place of a word by one as long.
static void edit(const char *rtl, const char *name, const char *word, const char *by)
{
    size_t n;
    char *text = (char *)read_bytes(tmpdir_path(rtl, name), &n);
    char *at = memmem(text, n, word, strlen(word));
    assert_non_null(at);
    assert_int_equal(strlen(word), strlen(by));
    memcpy(at, by, strlen(by));
    assert_null(memmem(text, n, word, strlen(word)));
    write_bytes(tmpdir_path(rtl, name), text, n);
}

static struct sq_synth open_synth(const char *rtl, const char *cache)
{
    struct sq_synth s;
    struct sq_error err;
    if (sq_synth_open(&s, rtl, liberty, tmpdir_path(dir, cache), &err) != SQ_OK)
        fail_msg("%s", err.text);
    return s;
}

static struct sq_synth_result synthesize(const struct sq_synth *s, struct sq_synth_block b)
{
    struct sq_synth_result r;
    struct sq_error err;
    if (sq_synth_area(s, &b, &r, &err) != SQ_OK)
        fail_msg("%s: %s", b.top, err.text);
    return r;
}

// Exactly one type of cell, so many of it.
static void check_cells(const struct sq_synth *s, const char *top, const char *cell, double area)
{
    struct sq_synth_result r = synthesize(s, (struct sq_synth_block){.top = top});
    assert_int_equal(r.n_types, 1);
    assert_memory_equal(r.cell[0].name, cell, strlen(cell)); // the drive strength is yosys's affair
    assert_int_equal(r.cell[0].count, 1);
    assert_true(r.area == area && r.n_cells == 1);
    assert_true(r.nand2_equivalents == area / 24);
    assert_int_equal(r.has_delay, s->sta_version[0] != '\0');
    if (r.has_delay)
        assert_true(r.critical_path_ns > 0 && r.critical_path_ns < 2);
    sq_synth_result_free(&r);
}

// On a core of unequal sides, whose high path is the slower one.
SQ_TEST(weights_a_cycle_of_every_kind)
{
    static const struct sq_area_unit array = {.is_array = true, .weights = 7};
    static const struct sq_area_source source = {.weights = 9};
    static const double want[SQ_N_AREA_KINDS] = {1, 1, 8, 8, 2, 32, 32, 32, 32, 32. / 5, 32, 35, 9};
    struct sq_area_item item = {
        .config =
            {.rows = 3, .cols = 5, .low_lanes = 8, .high_lanes = 2, .bank = 32, .high_per_bank = 9},
        .unit = &array,
        .source = &source};
    for (unsigned i = 0; i < SQ_N_AREA_KINDS; i++) {
        item.kind = (enum sq_area_kind)i;
        const double got = sq_area_weights_per_cycle(&item);
        if (got != want[i])
            fail_msg("%s: %g weights, want %g", sq_area_kind_name(item.kind), got, want[i]);
    }
}

SQ_TEST(test_by_hand)
{
    char rtl[128];
    struct sq_synth s = open_synth(make_rtl(rtl, "rtl1"), "cache1");
    check_cells(&s, "tiny_and", "AND2X", 32); // NAND2 and inverter would be 40
    check_cells(&s, "tiny_nand", "NAND2X", 24);
    check_cells(&s, "tiny_add", "FAX", 120);
    check_cells(&s, "tiny_flop", "DFFPOSX", 96);
    struct sq_synth_result r = synthesize(&s, (struct sq_synth_block){.top = "tiny_flop"});
    assert_true(r.sequential_area == 96);
    sq_synth_result_free(&r);
    sq_synth_close(&s);
}

static bool same_result(const struct sq_synth_result *a, const struct sq_synth_result *b)
{
    bool same = a->area == b->area && a->n_cells == b->n_cells && a->n_types == b->n_types &&
                strcmp(a->mapper, b->mapper) == 0 &&
                (!a->has_delay || a->critical_path_ns == b->critical_path_ns);
    for (size_t i = 0; same && i < a->n_types; i++)
        same =
            strcmp(a->cell[i].name, b->cell[i].name) == 0 && a->cell[i].count == b->cell[i].count;
    return same;
}

SQ_TEST(test_cache)
{
    const struct sq_synth_block one = {.top = "tiny_nand"}, three = {.top = "tiny_nand",
                                                                     .n_params = 1,
                                                                     .param = {{"Width", 3}}};
    char rtl[128];
    make_rtl(rtl, "rtl2");
    struct sq_synth s = open_synth(rtl, "cache2");
    struct sq_synth_result fresh = synthesize(&s, one), again = synthesize(&s, one);
    assert_false(fresh.is_cached);
    assert_true(again.is_cached && same_result(&fresh, &again));
    sq_synth_result_free(&again);
    again = synthesize(&s, three);
    assert_true(!again.is_cached && again.area == 3 * fresh.area);
    sq_synth_result_free(&again);
    sq_synth_close(&s);

    s = open_synth(rtl, "cache2"); // another opening finds what the first one made
    again = synthesize(&s, three);
    assert_true(again.is_cached);
    sq_synth_result_free(&again);
    sq_synth_close(&s);

    s = open_synth(rtl, "cache3"); // from nothing again: the same result
    again = synthesize(&s, one);
    assert_true(!again.is_cached && same_result(&fresh, &again));
    sq_synth_result_free(&again);
    sq_synth_close(&s);

    append(rtl, "tiny_nand.sv", "//\n"); // a comment: one may not know
    s = open_synth(rtl, "cache2");
    again = synthesize(&s, one);
    assert_true(!again.is_cached && same_result(&fresh, &again));
    sq_synth_result_free(&again);
    sq_synth_result_free(&fresh);
    sq_synth_close(&s);
}

// The versions of both tools, the library and each script count, and nothing else does.
SQ_TEST(test_key)
{
    static const struct {
        const char *tool, *text; // a tool of that version, or more of a file
    } change[] = {{NULL, ""},
                  {"YOSYS", "#!/bin/sh\necho Yosys 1\n"},
                  {"YOSYS", "#!/bin/sh\necho Yosys 2\n"},
                  {"STA", "#!/bin/sh\necho 1\n"},
                  {"STA", "#!/bin/sh\necho 2\n"},
                  {"key.lib", "/* */\n"},
                  {"synth_front.ys", "#\n"},
                  {"synth_map.ys", "#\n"},
                  {"synth_speed.ys", "#\n"}};
    char rtl[128], tool[160], lib[160], cache[128];
    struct sq_digest before = {0};
    make_rtl(rtl, "rtl30");
    snprintf(lib, sizeof lib, "%s/key.lib", rtl);
    snprintf(cache, sizeof cache, "%s/c30", dir);
    copy_file(liberty, lib);
    for (size_t i = 0; i < LEN(change); i++) {
        const bool is_tool = change[i].text[0] == '#' && change[i].text[1] == '!';
        if (is_tool) {
            snprintf(tool, sizeof tool, "%s/%s", rtl, change[i].tool);
            write_bytes(tool, change[i].text, strlen(change[i].text));
            assert_int_equal(chmod(tool, 0755) | setenv(change[i].tool, tool, 1), 0);
        } else if (change[i].tool) {
            append(rtl, change[i].tool, change[i].text);
        }
        for (unsigned again = 0; again < 2; again++) {
            struct sq_synth s;
            assert_ok(sq_synth_open(&s, rtl, lib, cache, NULL));
            assert_int_equal(sq_digest_is_equal(s.digest, before), again);
            before = s.digest;
            sq_synth_close(&s);
        }
    }
    unsetenv("YOSYS");
    unsetenv("STA");
}

// A block depends on what it is built of, and on nothing else.
SQ_TEST(test_depends)
{
    const struct sq_synth_block top = {.top = "tiny_top"}, nand = {.top = "tiny_nand"};
    char rtl[128];
    make_rtl(rtl, "rtl8");
    for (int round = 0; round < 3; round++) {
        struct sq_synth s = open_synth(rtl, "cache8");
        struct sq_synth_result a = synthesize(&s, top), b = synthesize(&s, nand);
        assert_int_equal(a.is_cached, round == 1);
        assert_int_equal(b.is_cached, round > 0);
        sq_synth_result_free(&a);
        sq_synth_result_free(&b);
        sq_synth_close(&s);
        append(rtl, round == 0 ? "tiny_and.sv" : "tiny_add.sv", "// another\n");
    }
}

// Two PEs of the same inputs: flat, Yosys finds that one suffices; kept as parts, both are counted,
// in an entry of its own.
SQ_TEST(test_keeps_parts)
{
    char rtl[128];
    struct sq_synth s = open_synth(make_rtl(rtl, "rtl9"), "cache9");
    const struct sq_synth_block flat = {.top = "tiny_twins"};
    const struct sq_synth_block kept = {.top = "tiny_twins", .keeps_parts = true};
    struct sq_synth_result one = synthesize(&s, flat), two = synthesize(&s, kept);
    assert_true(one.area == 32 && one.n_cells == 1);
    assert_true(two.area == 64 && two.n_cells == 2 && two.n_types == 1);
    for (size_t i = 0; i < two.n_parts; i++) // whose modules differ by a parameter
        if (strcmp(two.part[i].name, "sq_pe_tiny") == 0)
            one.n_parts += two.part[i].count == 2 && two.part[i].area == 64;
    assert_int_equal(one.n_parts, 1);
    assert_false(two.is_cached);
    assert_false(two.has_delay);
    sq_synth_result_free(&one);
    sq_synth_result_free(&two);
    two = synthesize(&s, kept);
    assert_true(two.is_cached && two.area == 64);
    sq_synth_result_free(&two);
    sq_synth_close(&s);

    // The list of what is kept is part of the key: without sq_pe* the twins become one, and a flat
    // run, whose script stays the same, is still known.
    edit(rtl, "synth_front.ys", "*sq_pe*", "*no_pe*");
    s = open_synth(rtl, "cache9");
    one = synthesize(&s, flat);
    two = synthesize(&s, kept);
    assert_true(one.is_cached);
    assert_true(!two.is_cached && two.area == 32);
    sq_synth_result_free(&one);
    sq_synth_result_free(&two);
    sq_synth_close(&s);
}

// Parts of a chip: their areas are the whole, the memory is a cell of its own library, and each path lies with
// the part that it ends in.
SQ_TEST(test_keeps_chip)
{
    char rtl[128];
    struct sq_error err;
    struct sq_synth_macro memory[SQ_SYNTH_MACROS];
    const char *const lib = tmpdir_path(dir, "RM_IHPSG13_1P_64x64_c2_bm_bist_typ.lib");
    check_refused(sq_synth_macros_read(memory, dir, &err), SQ_ERR_ARG, &err,
                  "no memory of sq_sram");
    write_bytes(lib, macro, sizeof macro - 1);
    assert_ok(sq_synth_macros_read(memory, dir, &err));
    assert_true(memory[0].words == 64 && memory[1].words == 0);
    assert_ptr_equal(sq_synth_macro_for(memory, 5000), &memory[0]);
    const struct sq_synth_macro some[SQ_SYNTH_MACROS] = {
        {.words = 64}, {.words = 256}, {.words = 512}};
    for (unsigned n = 1; n < 600; n++)
        assert_int_equal(sq_synth_macro_for(some, n)->words, n <= 64 ? 64 : n <= 256 ? 256 : 512);
    struct sq_synth s = open_synth(make_rtl(rtl, "rtl20"), "cache20");
    const struct sq_synth_block chip = {
        .top = "tiny_chip", .keeps_parts = true, .keeps_chip = true, .macro = &memory[0]};
    struct sq_synth_result r = synthesize(&s, chip);
    double sum = 0;
    assert_int_equal(r.n_parts, 3);
    for (size_t i = 0; i < r.n_parts; i++)
        sum += r.part[i].area;
    assert_true(fabs(sum - r.area) < 1e-9 * sum);
    const struct sq_synth_part *const dma = &r.part[0], *const sram = &r.part[1],
                                      *const own = &r.part[2];
    assert_string_equal(dma->name, "DMA and ring/sq_dma_tiny");
    assert_string_equal(sram->name, "memories/sq_sram_tiny");
    assert_string_equal(own->name, "queues/tiny_chip");
    assert_true(sram->area == 1000 && dma->area > 0 && own->area > dma->area);
    if (r.has_delay) { // flip-flop to memory, memory to flip-flop
        assert_true(dma->path_ns > 0 && dma->path_ns < 0.5);
        assert_true(sram->path_ns > 0.5 && sram->path_ns < 2);
        assert_true(own->path_ns > 3 && own->path_ns < 4);
        assert_true(fabs(r.critical_path_ns - own->path_ns) < 1e-6);
    }
    sq_synth_result_free(&r);
    sq_synth_macros_free(memory);

    // A memory that OpenSTA does not read would be one without paths.
    edit(dir, "RM_IHPSG13_1P_64x64_c2_bm_bist_typ.lib", "slew_upper_threshold_pct_fall",
         "slew_upper_threshold_pct_none");
    assert_ok(sq_synth_macros_read(memory, dir, &err));
    if (s.sta_version[0])
        check_refused(sq_synth_area(&s, &chip, &r, &err), SQ_ERR_UNSUPPORTED, &err,
                      "one or more thresholds");
    sq_synth_close(&s);
    sq_synth_macros_free(memory);
    assert_int_equal(remove(lib), 0);
}

// Proves a netlist equal to the source of its block. With registers, which keep their names (*_q):
// those of the same name hold the same values, by induction.
static void prove(const char *rtl, const struct sq_synth_block *b, const char *path,
                  bool has_registers)
{
    char chparam[160] = "", proof[2048], log[128], yosys[] = "yosys", quiet[] = "-q", run[] = "-p";
    struct sq_error err;
    int code;
    for (size_t i = 0; i < b->n_params; i++)
        snprintf(chparam + strlen(chparam), sizeof chparam - strlen(chparam), " -set %s %u",
                 b->param[i].name, b->param[i].value);
    snprintf(
        proof, sizeof proof,
        "read_verilog -nodpi -sv -I%s %s/sq_mul.sv %s/sq_dot.sv %s/sq_acc.sv %s/sq_pe_dense.sv "
        "%s/sq_dma_wide.sv %s/tiny_wide.sv; chparam%s %s; hierarchy -check -top %s; proc; "
        "flatten; opt_clean; rename %s gold; design -stash gold; read_verilog -nodpi %s; rename "
        "%s gate; proc; rename -hide w:* w:*_q %%d; design -stash gate; design -copy-from gold "
        "gold; design -copy-from gate gate; %s",
        rtl, rtl, rtl, rtl, rtl, rtl, rtl, chparam, b->top, b->top, b->top, path, b->top,
        has_registers ? "equiv_make gold gate equiv; hierarchy -top equiv; "
                        "opt_clean; equiv_induct -seq 2; equiv_status -assert"
                      : "miter -equiv -flatten gold gate m; "
                        "hierarchy -top m; sat -verify -prove trigger 0 m");
    snprintf(log, sizeof log, "%s/sat.log", dir);
    char *const argv[] = {yosys, quiet, run, proof, NULL};
    assert_ok(sq_process_run(NULL, argv, log, &code, &err));
    if (code != 0)
        fail_msg("netlist and source of %s differ, recipe %s: %s", b->top,
                 sq_synth_recipe_name(b->recipe), path);
}

static char *netlist(const struct sq_synth *s, const struct sq_synth_block *b)
{
    struct sq_error err;
    char *path;
    if (sq_synth_netlist(s, b, &path, &err) != SQ_OK)
        fail_msg("%s", err.text);
    return path;
}

// A flip-flop that starts 1,024 gates in 16 parts of a chip: trees of buffers stand behind it and behind the port of each
// part, so no delay of 1,024 inputs is left, and the function stays.
SQ_TEST(test_buffers)
{
    char rtl[128];
    struct sq_synth s = open_synth(make_rtl(rtl, "rtl22"), "cache22");
    const struct sq_synth_block b = {.top = "tiny_wide", .keeps_parts = true, .keeps_chip = true};
    struct sq_synth_result r = synthesize(&s, b);
    uint64_t n_buffers = 0;
    for (size_t i = 0; i < r.n_types; i++)
        n_buffers += strstr(r.cell[i].name, "BUF") ? (uint64_t)r.cell[i].count : 0;
    assert_in_range(n_buffers, 17, 512);
    if (r.has_delay)
        assert_true(r.critical_path_ns > 0 && r.critical_path_ns < 2);
    sq_synth_result_free(&r);
    char *path = netlist(&s, &b);
    prove(rtl, &b, path, true);
    free(path);
    sq_synth_close(&s);
}

// The area is that of the cells, and the netlist is the source: proven, for both kinds of netlist.
SQ_TEST(test_product)
{
    static const struct sq_area_item product = {.kind = SQ_AREA_MUL, .a_bits = 4, .b_bits = 4};
    const struct sq_synth_block block = sq_area_synth(&product);
    char rtl[128];
    make_rtl(rtl, "rtl3");
    struct sq_error err;
    for (int with_library = 0; with_library < 2; with_library++) {
        struct sq_synth s;
        if (sq_synth_open(&s, rtl, with_library ? liberty : NULL, tmpdir_path(dir, "cache4"),
                          &err) != SQ_OK)
            fail_msg("%s", err.text);
        char *path = netlist(&s, &block);
        prove(rtl, &block, path, false);
        free(path);
        if (with_library) {
            struct sq_synth_result r = synthesize(&s, block);
            double area = 0;
            for (size_t i = 0; i < r.n_types; i++)
                area += r.cell[i].count * sq_liberty_find(&s.lib, r.cell[i].name)->area;
            assert_true(r.is_cached && area == r.area && area > 0);
            sq_synth_result_free(&r);
        }
        sq_synth_close(&s);
    }
}

// Every recipe makes the same function of a dense PE: three lanes (no power of two: all constants
// of the trees count), both orders of widths, and a sum of more than 20 bits for the prefix adders.
SQ_TEST(test_recipes)
{
    char rtl[128];
    struct sq_synth s = open_synth(make_rtl(rtl, "rtl21"), "cache21");
    for (int wide = 0; wide < 2; wide++) {
        struct sq_synth_block b = {
            .top = "sq_pe_dense", .n_params = 4, .param = {{"Lanes", 3}, {"AccW", wide ? 22 : 8}}};
        b.param[2] = (struct sq_synth_param){"AW", wide ? 2 : 3};
        b.param[3] = (struct sq_synth_param){"BW", 2};
        double area[SQ_SYNTH_N_RECIPES];
        for (int r = 0; r < SQ_SYNTH_N_RECIPES; r++) {
            b.recipe = (enum sq_synth_recipe)r;
            b.target_ps = r >= SQ_SYNTH_NF ? 1500 : 0;
            char *path = netlist(&s, &b);
            prove(rtl, &b, path, true);
            free(path);
            struct sq_synth_result result = synthesize(&s, b);
            assert_true(result.is_cached);
            area[r] = result.area;
            sq_synth_result_free(&result);
        }
        assert_true(area[SQ_SYNTH_AREA] != area[SQ_SYNTH_TREE]);
        assert_true(area[SQ_SYNTH_PREFIX] != area[SQ_SYNTH_TREE]);
        assert_true((area[SQ_SYNTH_WIDE] != area[SQ_SYNTH_TREE]) == (wide == 1));
        assert_true(area[SQ_SYNTH_FAST] != area[SQ_SYNTH_MAP]);
    }
    sq_synth_close(&s);
}

// The search: relaxed, the smallest netlist; tight, a larger and faster one that meets; too tight,
// the fastest, said so. What meets a period does so again from an empty cache.
SQ_TEST(test_period)
{
    static const struct sq_area_item dot = {
        .kind = SQ_AREA_DOT, .a_bits = 4, .b_bits = 3, .config.low_lanes = 2};
    char rtl[128];
    struct sq_error err;
    struct sq_synth s = open_synth(make_rtl(rtl, "rtl11"), "cache11"),
                    fresh = open_synth(rtl, "cache12");
    struct sq_synth_block b = sq_area_synth(&dot);
    struct sq_synth_result smallest = synthesize(&s, b), r, again;
    if (s.sta_version[0] == '\0') {
        assert_int_equal(sq_synth_at_period(&s, &b, 10, &r, &err), SQ_ERR_TOOL);
    } else {
        // Relaxed; out of reach, which tells how fast the fastest is; between the two; hardly above the fastest.
        double period[4] = {1.01 * smallest.critical_path_ns, 0.1, 0, 0};
        for (size_t i = 0; i < LEN(period); i++) {
            struct sq_synth_block mine = b, other = b;
            assert_ok(sq_synth_at_period(&s, &mine, period[i], &r, &err));
            assert_int_equal(r.critical_path_ns <= period[i], i != 1);
            assert_true(i != 0 || r.area <= smallest.area);
            assert_true(i != 1 || r.area > smallest.area);
            assert_true(i == 0 || mine.recipe != SQ_SYNTH_AREA);
            if (i == 1) {
                period[2] = 0.7 * r.critical_path_ns + 0.3 * smallest.critical_path_ns;
                period[3] = 1.02 * r.critical_path_ns;
            } else {
                assert_ok(sq_synth_at_period(&fresh, &other, period[i], &again, &err));
                assert_true(same_result(&r, &again) && mine.recipe == other.recipe &&
                            mine.target_ps == other.target_ps);
                sq_synth_result_free(&again);
            }
            sq_synth_result_free(&r);
        }
    }
    check_refused(sq_synth_at_period(&s, &b, 0, &r, &err), SQ_ERR_RANGE, &err, "period = 0");
    b.keeps_parts = true;
    check_refused(sq_synth_at_period(&s, &b, 1, &r, &err),
                  s.sta_version[0] ? SQ_ERR_ARG : SQ_ERR_TOOL, &err, "");
    sq_synth_result_free(&smallest);
    sq_synth_close(&s);
    sq_synth_close(&fresh);
}

// Where the sources and the cache lie does not matter: not even ties are broken by a path.
SQ_TEST(test_elsewhere)
{
    static const struct sq_area_item product = {.kind = SQ_AREA_MUL, .a_bits = 8, .b_bits = 8};
    char here[128], there[128];
    struct sq_synth s = open_synth(make_rtl(here, "r"), "c"),
                    far =
                        open_synth(make_rtl(there, "z_another name, longer"), "z_cache_of_its_own");
    struct sq_synth_result a = synthesize(&s, sq_area_synth(&product)),
                           b = synthesize(&far, sq_area_synth(&product));
    assert_true(!a.is_cached && !b.is_cached && same_result(&a, &b));
    assert_true(a.n_cells > 100);
    sq_synth_result_free(&a);
    sq_synth_result_free(&b);
    sq_synth_close(&s);
    sq_synth_close(&far);
}

SQ_TEST(test_processes_at_once)
{
    char rtl[128];
    make_rtl(rtl, "rtl5");
    pid_t child[3];
    int result;
    for (int i = 0; i < 3; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) {
            const struct sq_synth_block b = {.top = "tiny_add"};
            struct sq_synth s;
            struct sq_synth_result r;
            _exit(sq_synth_open(&s, rtl, liberty, tmpdir_path(dir, "cache5"), NULL) != SQ_OK ||
                  sq_synth_area(&s, &b, &r, NULL) != SQ_OK || r.area != 120);
        }
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(waitpid(child[i], &result, 0), child[i]);
        assert_int_equal(result, 0);
    }
    assert_int_equal(count_files(tmpdir_path(dir, "cache5")), 2); // one entry and the library
}

static void check_area_refused(const struct sq_synth *s, struct sq_synth_block b,
                               enum sq_status want, const char *part)
{
    struct sq_synth_result r;
    struct sq_error err;
    check_refused(sq_synth_area(s, &b, &r, &err), want, &err, part);
}

SQ_TEST(test_refused)
{
    char rtl[128], cache[128];
    make_rtl(rtl, "rtl6");
    snprintf(cache, sizeof cache, "%.64s/cache6", dir);
    struct sq_error err;
    struct sq_synth s = open_synth(rtl, "cache6"), other;
    const struct sq_synth_block narrow = {
        .top = "tiny_nand", .n_params = 1, .param = {{"Width", 0}}};
    check_area_refused(&s, narrow, SQ_ERR_UNSUPPORTED, "Width >= 1");
    check_area_refused(&s, (struct sq_synth_block){.top = "tiny_none"}, SQ_ERR_ARG,
                       "no module tiny_none");
    sq_synth_close(&s);
    const struct {
        const char *text, *part;
    } bad[] = {{latch, "tiny_bad"}, {typo, "implicitly declared"}, {loop, "check -assert"}};
    for (size_t i = 0; i < LEN(bad); i++) {
        write_bytes(tmpdir_path(rtl, "tiny_bad.sv"), bad[i].text, strlen(bad[i].text));
        s = open_synth(rtl, "cache6");
        check_area_refused(&s, (struct sq_synth_block){.top = "tiny_bad"}, SQ_ERR_UNSUPPORTED,
                           bad[i].part);
        sq_synth_close(&s);
    }
    assert_int_equal(count_files(cache), 1); // the library only

    assert_ok(sq_synth_open(&s, rtl, NULL, cache, &err));
    check_area_refused(&s, (struct sq_synth_block){.top = "tiny_and"}, SQ_ERR_ARG, "no library");
    sq_synth_close(&s);
    check_refused(sq_synth_open(&other, tmpdir_path(dir, "no"), liberty, cache, &err), SQ_ERR_IO,
                  &err, "no");
    check_refused(sq_synth_open(&other, dir, liberty, cache, &err), SQ_ERR_IO, &err, "synth_front");
    assert_ok(sq_synth_open(&other, rtl, liberty, "/x y", &err));
    sq_synth_close(&other);
    setenv("YOSYS", "/nonexistent/yosys", 1);
    check_refused(sq_synth_open(&other, rtl, liberty, cache, &err), SQ_ERR_TOOL, &err, "package");
    unsetenv("YOSYS");
}

SQ_NEEDS(liberty, "qflow-tech-osu018")
