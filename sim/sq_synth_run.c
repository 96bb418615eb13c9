// SPDX-License-Identifier: Apache-2.0
// Runs Yosys and OpenSTA in the working directory of a cache entry.
#include "sq_synth_run.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sq_file.h"
#include "sq_json.h"
#include "sq_process.h"

// ---- files ------------------------------------------------------------------------------------

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    return at->level > 0 ? remove(path) : 0;
}

void sq_synth_empty_directory(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static enum sq_status write_text(const char *dir, const char *name, const void *text, size_t n,
                                 struct sq_error *err)
{
    char path[SQ_SYNTH_PATH_LEN + 32];
    struct sq_outfile out;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    SQ_TRY(sq_outfile_open(&out, path, err));
    fwrite(text, 1, n, out.stream);
    return sq_outfile_commit(&out, err); // reports what failed
}

// The library as the tools read it: unpacked, once in the cache; `path` is relative to a working
// directory.
static enum sq_status write_liberty(const struct sq_synth *s, char path[64], struct sq_error *err)
{
    char there[SQ_SYNTH_PATH_LEN + 64];
    struct stat st;
    snprintf(path, 64, "../liberty-%016" PRIx64 ".lib", s->liberty_digest);
    snprintf(there, sizeof there, "%s/%s", s->cache_dir, path + 3);
    if (stat(there, &st) == 0 && (size_t)st.st_size == s->lib.nbytes)
        return SQ_OK;
    return write_text(s->cache_dir, path + 3, s->lib.text, s->lib.nbytes, err);
}

static void remove_sources(const char *work)
{
    char path[SQ_SYNTH_PATH_LEN + 32];
    snprintf(path, sizeof path, "%s/rtl", work);
    sq_synth_empty_directory(path);
    rmdir(path);
}

static void unlink_in(const char *dir, const char *name)
{
    char path[SQ_SYNTH_PATH_LEN + 32];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    unlink(path);
}

// What follows `mark` in the first line of a log that has it.
static void find_line(const char *dir, const char *log, const char *mark, char *text, size_t size)
{
    char path[SQ_SYNTH_PATH_LEN + 32], line[512];
    snprintf(path, sizeof path, "%s/%s", dir, log);
    FILE *f = fopen(path, "r");
    text[0] = '\0';
    while (f && !text[0] && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = '\0';
        const char *at = strstr(line, mark);
        if (at)
            snprintf(text, size, "%s", at + strlen(mark));
    }
    if (f)
        fclose(f);
}

// ---- yosys ------------------------------------------------------------------------------------

// A value of a placeholder of the scripts.
struct fill {
    const char *name, *value;
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
        fputs(fill[i].value, out);
        c = end + 1;
    }
    return SQ_OK;
}

static enum sq_status run_yosys(const char *top, const char *work, const char *script,
                                struct sq_error *err)
{
    char log[SQ_SYNTH_PATH_LEN + 32], name[32], yosys[256], text[160];
    int code;
    snprintf(log, sizeof log, "%s/yosys.log", work);
    snprintf(name, sizeof name, "%s", script);
    snprintf(yosys, sizeof yosys, "%s", sq_synth_tool("YOSYS", "yosys"));
    char quiet[] = "-q", refuse[] = "-e", what[] = "implicitly declared", from[] = "-s";
    char *const argv[] = {yosys, quiet, refuse, what, from, name, NULL};
    SQ_TRY(sq_process_run(work, argv, log, &code, err));
    if (code == 0)
        return SQ_OK;
    find_line(work, "yosys.log", "ERROR: ", text, sizeof text);
    if (text[0])
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "yosys refuses %.40s: %s", top, text);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "yosys ended with status %d on %.40s", code, top);
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

static enum sq_status expand_front(FILE *out, const struct sq_synth *s,
                                   const struct sq_synth_block *b, struct sq_error *err)
{
    bool used[SQ_SYNTH_MAX_SOURCES];
    char chparam[1024], *files = NULL;
    size_t n;
    SQ_TRY(sq_synth_select(s, b->top, used, err));
    FILE *list = open_memstream(&files, &n);
    if (!list)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory");
    sq_synth_print_files(s, used, list);
    fclose(list);
    chparam_line(b, chparam, sizeof chparam);
    const struct fill fill[] = {
        {"RTL", "rtl"},
        {"FILES", files},
        {"CHPARAM", chparam},
        {"TOP", b->top},
        {"KEEP", b->keeps_parts
                     ? "setattr -mod -set keep_hierarchy 1 *sq_pe* *sq_array_code* *sq_act_split*"
                     : ""}};
    enum sq_status status = expand(out, s->script_front, fill, sizeof fill / sizeof fill[0], err);
    free(files);
    return status;
}

// Techmap of $fa to the full adder of the library.
static void print_adder(FILE *out, const struct sq_lib_adder *a)
{
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

static enum sq_status expand_map(FILE *out, const struct sq_synth *s, bool keeps_parts,
                                 const char *liberty, struct sq_error *err)
{
    const char *adders = "extract_fa -d 4 -fa\nopt_clean\ntechmap -map adder.v\ntechmap\n";
    const struct fill fill[] = {
        {"LIBERTY", liberty},
        {"ADDERS", s->lib.adder.cell[0] ? adders : ""},
        {"WRITE nf", keeps_parts ? COUNT_CELLS("nf") : WRITE_NETLIST("nf")},
        {"WRITE amap", keeps_parts ? COUNT_CELLS("amap") : WRITE_NETLIST("amap")}};
    return expand(out, s->script_map, fill, sizeof fill / sizeof fill[0], err);
}

// A generated file of the working directory.
static enum sq_status save(const char *work, const char *name, char *text, size_t n,
                           enum sq_status status, struct sq_error *err)
{
    if (status == SQ_OK)
        status = write_text(work, name, text, n, err);
    free(text);
    return status;
}

static enum sq_status synthesize(const struct sq_synth *s, const struct sq_synth_block *b,
                                 const char *work, const char *liberty, struct sq_error *err)
{
    char *text = NULL;
    size_t n = 0;
    SQ_TRY(sq_synth_write_sources(s, b->top, work, err));
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory");
    print_adder(out, &s->lib.adder);
    fclose(out);
    SQ_TRY(save(work, "adder.v", text, n, SQ_OK, err));

    text = NULL;
    if (!(out = open_memstream(&text, &n)))
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory");
    enum sq_status status = expand_front(out, s, b, err);
    if (status == SQ_OK)
        status = expand_map(out, s, b->keeps_parts, liberty, err);
    fclose(out);
    SQ_TRY(save(work, "synth.ys", text, n, status, err));
    return run_yosys(b->top, work, "synth.ys", err);
}

// ---- OpenSTA ----------------------------------------------------------------------------------

// Longest path of <mapper>_sta.v in ns; path.txt shows it. Inputs arrive at 0 with a slew of 50 ps,
// outputs drive four NAND2 inputs, and a path into a flip-flop includes its setup time.
static enum sq_status find_delay(const struct sq_synth *s, const struct sq_synth_block *b,
                                 const char *work, const char *liberty, const char *mapper,
                                 double *ns, struct sq_error *err)
{
    char tcl[SQ_SYNTH_PATH_LEN * 2], port[64], text[160], log[SQ_SYNTH_PATH_LEN + 32];
    char netlist[32];
    int code;
    snprintf(netlist, sizeof netlist, "%s_sta.v", mapper);
    find_line(work, netlist, "  input clk_i", text, sizeof text);
    snprintf(port, sizeof port, "%s", text[0] == ';' ? " [get_ports clk_i]" : "");
    int n = snprintf(tcl, sizeof tcl,
                     "read_liberty %s\nread_verilog %s\nlink_design %s\n"
                     "set_cmd_units -time ns\n"
                     "create_clock -name clk -period 10%s\n"
                     "set_input_delay 0 -clock clk [all_inputs]\n"
                     "set_output_delay 0 -clock clk [all_outputs]\n"
                     "set_input_transition 0.05 [all_inputs]\n"
                     "set_load %.9g [all_outputs]\n"
                     "report_checks -path_delay max\n"
                     "puts \"critical_path_ns [expr 10 - [worst_slack -max]]\"\n",
                     liberty, netlist, b->top, port, 4 * s->lib.nand2_input_cap);
    SQ_TRY(write_text(work, "sta.tcl", tcl, (size_t)n, err));
    char sta[256], quiet[] = "-no_splash", quit[] = "-exit", script[] = "sta.tcl";
    snprintf(sta, sizeof sta, "%s", sq_synth_tool("STA", "sta"));
    snprintf(log, sizeof log, "%s/path.txt", work);
    char *const argv[] = {sta, quiet, quit, script, NULL};
    SQ_TRY(sq_process_run(work, argv, log, &code, err));
    find_line(work, "path.txt", "critical_path_ns ", text, sizeof text);
    char *end;
    *ns = strtod(text, &end);
    if (code == 0 && end != text && *ns > 0 && *ns < 1e6)
        return SQ_OK;
    find_line(work, "path.txt", "Error: ", text, sizeof text);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "OpenSTA finds no delay of %.40s: %s", b->top,
                   text[0] ? text : "see STA");
}

// ---- cache entries ----------------------------------------------------------------------------

// The cells of one netlist and their area.
static enum sq_status read_cells(const struct sq_synth *s, const char *work, const char *mapper,
                                 json_t **cells, double *area, struct sq_error *err)
{
    char path[SQ_SYNTH_PATH_LEN + 32];
    const char *name;
    json_t *root, *count;
    snprintf(path, sizeof path, "%s/%s.json", work, mapper);
    SQ_TRY(sq_json_load(path, 1 << 24, &root, err));
    *cells = json_incref(
        json_object_get(json_object_get(root, "design"), "num_cells_by_type")); // NULL stays NULL
    json_decref(root);
    if (!json_is_object(*cells))
        return SQ_FAIL(err, SQ_ERR_INTERNAL, "yosys counts no cells in %s", mapper);
    *area = 0;
    json_object_foreach(*cells, name, count)
    {
        const struct sq_lib_cell *cell = sq_liberty_find(&s->lib, name);
        if (!cell || cell->area < 0) {
            enum sq_status status = SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                                            "the library has no cell, or no area, for %.60s", name);
            json_decref(*cells);
            *cells = NULL;
            return status;
        }
        *area += cell->area * (double)json_integer_value(count);
    }
    return SQ_OK;
}

static enum sq_status write_result(const char *work, json_t *cells, const char *mapper,
                                   const double *ns, struct sq_error *err)
{
    json_t *root = json_pack("{s:s, s:o, s:O}", "mapper", mapper, "critical_path_ns",
                             ns ? json_real(*ns) : json_null(), "cells", cells);
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;
    json_decref(root);
    if (!text)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory");
    return save(work, "result.json", text, strlen(text), SQ_OK, err);
}

// Keeps the smaller netlist as netlist.v and what explains it, removes the rest.
static void tidy(const char *work, const char *mapper)
{
    static const char *const extra[] = {"nf.v",       "amap.v",  "nf_sta.v",
                                        "amap_sta.v", "nf.json", "amap.json",
                                        "yosys.log",  "adder.v", "sta.tcl"};
    char from[SQ_SYNTH_PATH_LEN + 32], to[SQ_SYNTH_PATH_LEN + 32];
    snprintf(from, sizeof from, "%s/%s.v", work, mapper);
    snprintf(to, sizeof to, "%s/netlist.v", work);
    (void)rename(from, to);
    for (size_t i = 0; i < sizeof extra / sizeof extra[0]; i++)
        unlink_in(work, extra[i]);
    remove_sources(work);
}

enum sq_status sq_synth_make_area(const struct sq_synth *s, const struct sq_synth_block *b,
                                  const char *entry, const char *work, struct sq_error *err)
{
    char liberty[64];
    json_t *cells[2] = {NULL, NULL};
    double area[2], ns = 0;
    static const char *const mapper[2] = {"nf", "amap"};
    (void)entry;
    SQ_TRY(write_liberty(s, liberty, err));
    SQ_TRY(synthesize(s, b, work, liberty, err));
    enum sq_status status = read_cells(s, work, mapper[0], &cells[0], &area[0], err);
    if (status == SQ_OK)
        status = read_cells(s, work, mapper[1], &cells[1], &area[1], err);
    const int best = status == SQ_OK && area[1] < area[0];
    const bool is_timed = s->sta_version[0] && !b->keeps_parts;
    if (status == SQ_OK && is_timed)
        status = find_delay(s, b, work, liberty, mapper[best], &ns, err);
    if (status == SQ_OK)
        status = write_result(work, cells[best], mapper[best], is_timed ? &ns : NULL, err);
    if (status == SQ_OK)
        tidy(work, mapper[best]);
    json_decref(cells[0]);
    json_decref(cells[1]);
    return status;
}

enum sq_status sq_synth_make_netlist(const struct sq_synth *s, const struct sq_synth_block *b,
                                     const char *area, const char *work, struct sq_error *err)
{
    char *text = NULL, liberty[64];
    const char *entry = strrchr(area, '/'); // entries are neighbours
    size_t n = 0;
    enum sq_status status = SQ_OK;
    SQ_TRY(sq_synth_write_sources(s, b->top, work, err));
    if (s->lib.nand2)
        SQ_TRY(write_liberty(s, liberty, err));
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory");
    if (s->lib.nand2)
        fprintf(out,
                "read_liberty -ignore_miss_func %s\nread_verilog ..%s/netlist.v\n"
                "hierarchy -check -top %s\nflatten\nopt_clean\ncheck -assert\n",
                liberty, entry, b->top);
    else
        status = expand_front(out, s, b, err);
    fprintf(out, "write_verilog -noattr %s.v\n", b->top);
    fclose(out);
    SQ_TRY(save(work, "netlist.ys", text, n, status, err));
    SQ_TRY(run_yosys(b->top, work, "netlist.ys", err));
    unlink_in(work, "yosys.log");
    remove_sources(work);
    return SQ_OK;
}
