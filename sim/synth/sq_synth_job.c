// SPDX-License-Identifier: Apache-2.0
// What Yosys and OpenSTA are told about a block (sq_synth_run.h).
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_quote.h"
#include "sim/synth/sq_synth_run.h"

// ---- Yosys ------------------------------------------------------------------------------------

// A value of a placeholder of the scripts.
struct fill {
    const char *name, *value; // NULL: without the rest of the line
};

// Appends the script with every @NAME@ replaced.
static enum sq_status expand(FILE *out, const char *script, const struct fill *fill, size_t n,
                             struct sq_error *err)
{
    for (const char *c = script; *c;) {
        const char *end = *c == '@' ? strchr(c + 1, '@') : NULL;
        size_t i = 0, len = end ? (size_t)(end - c - 1) : 0;
        if (*c == '#') { // a comment
            c += strcspn(c, "\n");
            continue;
        }
        if (!end) {
            fputc(*c++, out);
            continue;
        }
        while (i < n && (strlen(fill[i].name) != len || strncmp(fill[i].name, c + 1, len) != 0))
            i++;
        if (i == n)
            return SQ_FAIL(err, SQ_ERR_INTERNAL, "rtl/synth_*.ys: unknown placeholder @%.*s@",
                           (int)len, c + 1);
        if (fill[i].value) {
            fputs(fill[i].value, out);
            c = end + 1;
        } else {
            c += strcspn(c, "\n");
        }
    }
    return SQ_OK;
}

// "chparam -set A 1 -set B 2 TOP", or nothing.
static void chparam_line(const struct sq_synth_block *b, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < b->n_params && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s -set %.40s %u", i ? "" : "chparam",
                               b->param[i].name, b->param[i].value);
    if (b->n_params && at < size)
        snprintf(text + at, size - at, " %.40s", b->top);
}

// In front of a command.
static const char *only_if(bool holds)
{
    return holds ? "" : NULL;
}

static enum sq_status expand_front(FILE *out, const struct sq_synth *s,
                                   const struct sq_synth_block *b, struct sq_error *err)
{
    const struct sq_synth_recipe_text *recipe = sq_synth_recipe_text(b->recipe);
    bool used[SQ_SYNTH_MAX_SOURCES];
    char chparam[1024], ripple[16];
    SQ_FREED char *files = NULL;
    size_t n;
    snprintf(ripple, sizeof ripple, "%u", recipe->max_ripple);
    SQ_TRY(sq_synth_select(s, b, used, err));
    FILE *list = open_memstream(&files, &n);
    SQ_NEED(list, err, "a synthesis");
    sq_synth_print_files(s, used, list);
    fclose(list);
    chparam_line(b, chparam, sizeof chparam);
    const struct fill fill[] = {
        {"RTL", "rtl"},
        {"FILES", files},
        {"CHPARAM", chparam},
        {"TOP", b->top},
        {"TREE",
         only_if(recipe->has_tree && !(b->is_foreign && sq_synth_is_replaced(s, "sq_dot")))},
        {"PARTS", only_if(b->keeps_parts)},
        {"STAGES", only_if(b->keeps_parts && b->keeps_stages)},
        {"CHIP", only_if(b->keeps_chip)},
        {"MACRO", only_if(b->macro)},
        {"PREFIX", only_if(recipe->max_ripple > 0)},
        {"RIPPLE", ripple}};
    return expand(out, s->script_front, fill, sizeof fill / sizeof fill[0], err);
}

void sq_synth_print_adder(FILE *out, const struct sq_lib_adder *a)
{
    // sq_liberty_read lets no other names in; an empty adder is printed and not used.
    assert(!a->cell[0] ||
           (sq_name_is_verilog(a->cell) && sq_name_is_pin(a->sum) && sq_name_is_pin(a->carry) &&
            sq_name_is_pin(a->in[0]) && sq_name_is_pin(a->in[1]) && sq_name_is_pin(a->in[2])));
    const char *sum = a->sum_inverted ? "n_sum" : "Y", *carry = a->carry_inverted ? "n_carry" : "X";
    fprintf(out,
            "(* techmap_celltype = \"$fa\" *)\n"
            "module synth_fa (A, B, C, X, Y);\n"
            "  parameter WIDTH = 1;\n"
            "  input [WIDTH-1:0] A, B, C;\n"
            "  output [WIDTH-1:0] X, Y;\n"
            "  wire [WIDTH-1:0] n_sum, n_carry;\n"
            "  genvar i;\n"
            "  generate for (i = 0; i < WIDTH; i = i + 1) begin : slice\n"
            "    \\%s u (.\\%s (A[i]), .\\%s (B[i]), .\\%s (C[i]), .\\%s (%s[i]), .\\%s (%s[i]));\n"
            "  end endgenerate\n",
            a->cell, a->in[0], a->in[1], a->in[2], a->sum, sum, a->carry, carry);
    if (a->sum_inverted)
        fprintf(out, "  assign Y = ~n_sum;\n");
    if (a->carry_inverted)
        fprintf(out, "  assign X = ~n_carry;\n");
    fprintf(out, "endmodule\n");
}

#define COUNT_CELLS(mapper)                                                                        \
    "opt_clean\n"                                                                                  \
    "tee -o " mapper ".json stat -json\n"                                                          \
    "write_verilog -noattr " mapper ".v\n"
#define WRITE_NETLIST(mapper)                                                                      \
    COUNT_CELLS(mapper)                                                                            \
    "setundef -zero\n" /* OpenSTA reads neither x nor concatenations */                            \
    "opt_clean -purge\n"                                                                           \
    "splitnets -ports\n"                                                                           \
    "write_verilog -noattr -simple-lhs " mapper "_sta.v"
#define WRITE_MAPPED(mapper)                                                                       \
    "opt_clean\n"                                                                                  \
    "write_json " mapper SQ_SYNTH_MAPPED

static enum sq_status expand_map(FILE *out, const struct sq_synth *s,
                                 const struct sq_synth_block *b, const char *liberty,
                                 struct sq_error *err)
{
    const char *adders = "extract_fa -d 4 -fa\nopt_clean\ntechmap -map adder.v\ntechmap\n";
    const struct sq_synth_recipe_text *recipe = sq_synth_recipe_text(b->recipe);
    const char mapper = recipe->mapper;
    char target[16];
    snprintf(target, sizeof target, "%u", b->target_ps);
    const struct fill fill[] = {
        {"LIBERTY", liberty},
        {"ADDERS", s->lib.adder.cell[0] && recipe->has_cells ? adders : ""},
        {"CELLS", only_if(mapper == 'c')},
        {"NF", only_if(mapper == 'n')},
        {"MAP", only_if(mapper == 'm')},
        {"UPSIZE", recipe->is_sized ? "upsize;" : ""},
        {"TARGET", target},
        {"WRITE net", b->keeps_chip ? WRITE_MAPPED("net") : WRITE_NETLIST("net")},
        {"WRITE nf", b->keeps_chip    ? WRITE_MAPPED("nf")
                     : b->keeps_parts ? COUNT_CELLS("nf")
                                      : WRITE_NETLIST("nf")},
        {"WRITE amap", b->keeps_chip    ? WRITE_MAPPED("amap")
                       : b->keeps_parts ? COUNT_CELLS("amap")
                                        : WRITE_NETLIST("amap")}};
    const char *script = b->recipe == SQ_SYNTH_AREA ? s->script_map : s->script_speed;
    return expand(out, script, fill, sizeof fill / sizeof fill[0], err);
}

void sq_synth_print_buffered(FILE *out, const struct sq_synth_block *b, const char *mapper)
{
    fprintf(out,
            "design -reset\nread_json %s" SQ_SYNTH_MAPPED
            "\nhierarchy -top %s\n" WRITE_NETLIST("%s") "\n",
            mapper, b->top, mapper, mapper, mapper);
}

enum sq_status sq_synth_print_script(FILE *out, const struct sq_synth *s,
                                     const struct sq_synth_block *b, struct sq_error *err)
{
    SQ_TRY(expand_front(out, s, b, err));
    if (!s->lib.nand2)
        return SQ_OK;
    if (b->is_foreign)
        sq_synth_print_clocks(out);
    return expand_map(out, s, b, s->liberty_path, err);
}

// ---- OpenSTA ----------------------------------------------------------------------------------

// Paths that start and end at the same edge of the clock have a period; those between opposite edges,
// which only flip-flops have, half of one. Ports get the edge of the flip-flop at the other end: they
// are constrained at both edges after the paths between flip-flops were found, and only paths within
// one edge are looked at then. So no path is longer by where an edge lies in the period.
static const char sta_paths[] =
    "proc least {edges} {\n"
    "  set least 1e30\n"
    "  foreach {from to} $edges {\n"
    "    foreach end [find_timing_paths -${from}_from [all_clocks] -${to}_to [all_clocks]] {\n"
    "      if {[$end slack] * 1e9 < $least} {\n"
    "        set least [expr [$end slack] * 1e9]\n"
    "        set worst [list $from $to]\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "  if {[info exists worst]} {\n"
    "    lassign $worst from to\n"
    "    puts \"Longest path from a $from to a $to of the clock:\"\n"
    "    report_checks -path_delay max -${from}_from [all_clocks] -${to}_to [all_clocks]\n"
    "  }\n"
    "  return $least\n"
    "}\n"
    "set half [expr 5 - [least {rise fall fall rise}]]\n"
    "foreach edge {{} -clock_fall} {\n"
    "  eval set_input_delay 0 -clock clk -add_delay $edge {[all_inputs]}\n"
    "  eval set_output_delay 0 -clock clk -add_delay $edge {[all_outputs]}\n"
    "}\n"
    "set whole [expr 10 - [least {rise rise fall fall}]]\n"
    "set out [open " SQ_SYNTH_DELAY " w]\n"
    "if {[check_setup -no_clock]} {\n"
    "  puts $out \"[expr max($half, $whole)] [expr max(2 * $half, $whole)]\"\n"
    "} else {\n"
    "  puts $out unclocked\n"
    "}\n"
    "close $out\n";

// OpenSTA has no command for it: in its copy of the library the attribute gets another name.
static const char sta_wireless[] =
    "set file [open " SQ_SYNTH_LIBERTY " r+]\n"
    "regsub -all {default_wire_load(_selection)?\\s*:} [read $file] {no_&} text\n"
    "seek $file 0\n"
    "puts -nonewline $file $text\n"
    "close $file\n";

// Whole periods alone: inputs that come with the falling edge have half of one.
static const char sta_slacks[] = "set_false_path -rise_from [all_clocks] -fall_to [all_clocks]\n"
                                 "set_false_path -fall_from [all_clocks] -rise_to [all_clocks]\n"
                                 "set out [open " SQ_SYNTH_SLACK " w]\n"
                                 "foreach pin [get_pins -hierarchical *] {\n"
                                 "  set rise [get_property $pin max_rise_slack]\n"
                                 "  set fall [get_property $pin max_fall_slack]\n"
                                 "  puts $out \"[get_full_name $pin] [expr min($rise, $fall)]\"\n"
                                 "}\n"
                                 "close $out\n";

void sq_synth_print_sta(FILE *out, const struct sq_synth *s, const struct sq_synth_block *b,
                        const char *netlist, const char *spef, const char *clock)
{
    fputs(s->is_wireless ? sta_wireless : "", out);
    fprintf(out,
            "read_liberty %s\n%sread_verilog %s\nlink_design %s\n%s%s%s"
            "set_cmd_units -time ns\n"
            "%s%s%s"
            "if {[llength $port] > 0} {\n"
            "  create_clock -name clk -period 10 $port\n"
            "} else {\n"
            "  create_clock -name clk -period 10\n"
            "}\n"
            "set_input_transition 0.05 [all_inputs]\n"
            "set_load %.9g [all_outputs]\n",
            SQ_SYNTH_LIBERTY, b->macro ? "read_liberty " SQ_SYNTH_MACRO "\n" : "", netlist, b->top,
            spef ? "read_spef " : "", spef ? spef : "", spef ? "\n" : "",
            *clock ? "set port [get_ports -quiet " : "set port {", clock, *clock ? "]\n" : "}\n",
            4 * s->lib.nand2_input_cap);
    fputs(sta_paths, out);
    fputs(spef ? sta_slacks : "", out);
}

// ---- together ---------------------------------------------------------------------------------

void sq_synth_print_flatten(FILE *out, const struct sq_synth_block *b, const char *entry)
{
    fprintf(out,
            "read_liberty -ignore_miss_func %s\nread_verilog -nodpi ..%s/netlist.v\n"
            "hierarchy -check -top %s\nflatten\nopt_clean\ncheck -assert\n",
            SQ_SYNTH_LIBERTY, entry, b->top);
}

// Modules that are not there stay cells: those of the library.
void sq_synth_print_mapped(FILE *out, const struct sq_synth_block *b, const char *entry)
{
    fprintf(out,
            b->keeps_chip ? "read_json ..%s/" SQ_SYNTH_CHIP "\nsetattr -mod -unset keep_hierarchy\n"
                          : "read_verilog -nodpi ..%s/netlist.v\n",
            entry);
    fprintf(out,
            "hierarchy -top %s\nflatten\nhierarchy -top %s\ndelete =A:blackbox\nsetundef -zero\n"
            "write_json mapped.json\n",
            b->top, b->top);
}

enum sq_status sq_synth_print_job(const struct sq_synth *s, const struct sq_synth_block *b,
                                  char **text, bool used[SQ_SYNTH_MAX_SOURCES],
                                  struct sq_error *err)
{
    size_t n;
    *text = NULL;
    SQ_TRY(sq_synth_select(s, b, used, err));
    FILE *out = open_memstream(text, &n);
    SQ_NEED(out, err, "a synthesis");
    if (s->lib.nand2) {
        sq_synth_print_adder(out, &s->lib.adder);
        sq_synth_print_sta(out, s, b, "", NULL,
                           b->clock        ? b->clock
                           : b->is_foreign ? "any"
                                           : "clk_i");
        sq_synth_print_flatten(out, b, "");
    }
    if (b->macro) { // what the script reads as SQ_SYNTH_MACRO
        char hex[SQ_DIGEST_SIZE];
        sq_digest_hex(sq_digest_of(b->macro->lib.text, b->macro->lib.nbytes), hex);
        fprintf(out, "# %s\n", hex);
    }
    if (b->keeps_chip) // with the form of results: cells of each part
        fprintf(out, "# cells, units\n%s# buffers: 1, " SQ_SYNTH_CHIP "\n", sq_synth_part_script);
    enum sq_status status = sq_synth_print_script(out, s, b, err);
    fclose(out);
    if (status == SQ_OK)
        sq_synth_select_named(s, *text, used);
    else {
        free(*text);
        *text = NULL;
    }
    return status;
}
