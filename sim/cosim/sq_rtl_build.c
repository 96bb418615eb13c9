// SPDX-License-Identifier: Apache-2.0
// Writes the scripts of Yosys, Verilator and make, runs them in the cache, and loads the object
// (sq_rtl_build.h).
#include "sim/cosim/sq_rtl_build.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cosim/sq_rtl_bridge.h"
#include "sim/io/sq_cache.h"
#include "sim/io/sq_confine.h"
#include "sim/io/sq_digest.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_process.h"

#define PATH_NBYTES SQ_RTL_PATH_NBYTES

// Everything a build depends on besides files.f and its bridge, relative to home.
static const char *const depends[] = {"rtl/files.f",        "rtl/sq_assert.svh",
                                      "rtl/lint.vlt",       "rtl/verilate.vlt",
                                      "sim/cosim/sq_rtl.h", "sim/cosim/sq_bridge.h"};

// "core_p07", "topk_b8_netlist": block and point in a file name.
static void file_name(const struct sq_rtl_point *point, char name[96])
{
    const char *suffix = point->n_mutants > 0 ? "_mutants"
                         : point->netlist     ? "_netlist"
                         : point->coverage    ? "_coverage"
                                              : "";
    snprintf(name, 96, "%s_%s%s", point->block->name, point->point->name, suffix);
}

// "-GRows=2\n" ... for Verilator, " -chparam Rows 2" ... for Yosys.
static void write_parameters(FILE *out, const struct sq_rtl_point *p, const char *format)
{
    for (size_t i = 0; p->block->param[i]; i++)
        if (*p->block->param[i])
            fprintf(out, format, p->block->param[i], p->point->value[i]);
}

// ---- what the tools are told ----------------------------------------------------------------
// They run in the private directory of the build, where `rtl` and `sim` are links to those of home:
// no name of the machine reaches a tool, whatever characters it has.

static bool has_netlist(const struct sq_rtl_point *p)
{
    return p->netlist || p->n_mutants > 0;
}

// The source that a point has in place of one in the tree is in this folder of the build, so that Verilator finds no other
// by its name.
#define OWN "own"

// A line of files.f without its folder.
static const char *module_file(const char *line)
{
    const char *const slash = strrchr(line, '/');
    return slash ? slash + 1 : line;
}

// The sources of files.f, each between `before` and `after`; `own`, one of them, is that of the point.
static enum sq_status write_sources(FILE *out, const char *home, const char *own,
                                    const char *before, const char *after, struct sq_error *err)
{
    char path[PATH_NBYTES], line[256];
    snprintf(path, sizeof path, "%s/rtl/files.f", home);
    FILE *list = fopen(path, "re");
    if (!list)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot read %s: %s", sq_path_tail(path), strerror(errno));
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        const bool is_own = own && strcmp(line, own) == 0;
        fprintf(out, "%s%s/%s%s", before, is_own ? OWN : "rtl", is_own ? module_file(own) : line,
                after);
    }
    fclose(list);
    return SQ_OK;
}

// Whether the file RTL/sub/NAME.sv has a module NAME, so that Verilator finds it by its name.
static bool is_found(const char *home, const char *line)
{
    char path[PATH_NBYTES], module[300];
    const char *at;
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    snprintf(path, sizeof path, "%s/rtl/%s", home, line);
    snprintf(module, sizeof module, "\nmodule %s", module_file(line));
    char *dot = strrchr(module, '.');
    if (!dot || sq_file_map(path, &map, NULL) != SQ_OK)
        return false;
    *dot = '\0';
    at = memmem(map.data, map.nbytes, module, strlen(module));
    const char *const end = (const char *)map.data + map.nbytes;
    const bool is = at && at + strlen(module) < end && strchr(" #(;\n", at[strlen(module)]);
    return is;
}

// What Verilator is to read of files.f: the top and what holds no module of its own name, such as a
// package. The others it looks for in their folders as it needs them (reading all of them takes half
// a second of each build).
static enum sq_status write_tops(FILE *out, const struct sq_rtl_point *p, const char *home,
                                 const char *own, struct sq_error *err)
{
    char path[PATH_NBYTES], line[256], top[PATH_NBYTES], folder[256] = "";
    snprintf(path, sizeof path, "%s/rtl/files.f", home);
    snprintf(top, sizeof top, "%s.sv", p->block->top);
    FILE *list = fopen(path, "re");
    if (!list)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot read %s: %s", sq_path_tail(path), strerror(errno));
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        const char *const slash = strrchr(line, '/');
        const size_t n = slash ? (size_t)(slash - line) : 0;
        if (own && strcmp(line, own) == 0)
            fprintf(out, OWN "/%s\n", module_file(own));
        else if (strcmp(module_file(line), top) == 0 || !is_found(home, line))
            fprintf(out, "rtl/%s\n", line);
        if (n > 0 && (strlen(folder) != n || strncmp(folder, line, n) != 0)) {
            snprintf(folder, sizeof folder, "%.*s", (int)n, line);
            fprintf(out, "-y\nrtl/%s\n", folder);
        }
    }
    fclose(list);
    return SQ_OK;
}

// The Yosys script that makes netlist.v: gates of synth, or one word-level module in which input
// mutsel = i turns on mutation i of mutants.txt. For proofs that one is kept without the mutations.
static enum sq_status write_script(FILE *out, const struct sq_rtl_point *p, const char *home,
                                   const char *own, struct sq_error *err)
{
    const char *top = p->block->top;
    fprintf(out, "read_verilog -nodpi -sv -I rtl");
    SQ_TRY(write_sources(out, home, own, " ", "", err));
    fprintf(out, "\nhierarchy -check -top %s", top);
    write_parameters(out, p, " -chparam %s %u");
    if (p->n_mutants == 0) {
        fprintf(out, "\nsynth -flatten\nrename -top %s\n", top);
    } else {
        // Memories as registers: Yosys does not read back a port whose enable was changed.
        fprintf(out,
                "\nproc\nflatten\nmemory -nomap\nmemory_map\nopt -full\nwreduce\nopt "
                "-full\nopt_clean -purge\n"
                "rename -top %s\ntee -q -o stat.txt stat\nwrite_ilang original.il\n"
                "mutate -list %u -seed %u -ctrl mutsel 16 1 -o mutants.txt\n"
                "script mutants.txt\n"
                // Merged vectors whose bits depend on one another: Verilator 5.006 does not
                // settle them.
                "splitnets -driver\n",
                top, p->n_mutants, p->mutant_seed);
    }
    fprintf(out, "write_verilog -noattr netlist.v\n");
    return SQ_OK;
}

// Compiled once for all models (build_headers): what Verilator, C++ and the bridge declare, half of what a small model takes.
// Not for the few models whose options differ. The compiler does not collect its garbage below 500 MB, which takes some of its time.
#define HEADERS "headers"
#define CXX_FLAGS                                                                                  \
    "-std=c++17 -fPIC -fvisibility=hidden -I../sim/cosim -DSQ_RTL_OBJECT "                         \
    "--param ggc-min-heapsize=500000"
#define OPT_FAST "-O1 -fno-tree-dominator-opts -fno-tree-dse -fno-tree-pta"

static bool has_headers(const struct sq_rtl_point *p)
{
    return !p->coverage && !p->netlist && !p->trace;
}

static const char *optimisation(const struct sq_rtl_point *p)
{
    return p->coverage || p->netlist || p->is_brief ? "-O0" : OPT_FAST;
}

// The arguments of Verilator, a line each.
static enum sq_status write_verilator(FILE *out, const struct sq_rtl_point *p, const char *home,
                                      const char *own, struct sq_error *err)
{
    const char *top = p->block->top;
    fprintf(out,
            "--cc\n--exe\n--assert\n-O3\n--x-assign\nunique\n--x-initial\nunique\n"
            "--unroll-count\n256\n%s-Irtl\n--top-module\n%s\n--prefix\nV%s\n--Mdir\nobj\n",
            p->trace ? "--trace-fst\n--timescale\n1ns/1ps\n" : "", p->trace ? SQ_RTL_VIEW : top,
            top);
    if (has_netlist(p))
        fprintf(out, "-Wno-fatal\n-Wno-lint\n-Wno-style\n");
    else
        fprintf(out, "-Wall\n-Wno-UNUSED\n"); // a bug may leave a bit unused; lint looks at it
    if (!has_netlist(p) && !p->trace)
        write_parameters(out, p, "-G%s=%u\n");
    if (p->coverage) // toggle coverage has every bit of every signal, each a counter of its own
        fprintf(out,
                "--coverage-line\n--coverage-toggle\n--coverage-max-width\n1000000\n-fno-gate\n"
                "-CFLAGS\n-DSQ_BRIDGE_SYMS=V%s__Syms.h\n",
                top);
    if (has_netlist(p)) {
        fprintf(out, "netlist.v\n");
    } else {
        fprintf(out, "-y\nrtl\nrtl/lint.vlt\nrtl/verilate.vlt\n");
        SQ_TRY(write_tops(out, p, home, own, err));
    }
    if (p->trace)
        fprintf(out, SQ_RTL_VIEW ".sv\n");
    fprintf(out,
            "bridge.cpp\n-CFLAGS\n" CXX_FLAGS " -include ../%s\n"
            "-LDFLAGS\n-shared\n-o\n../model.so\n",
            has_headers(p) ? HEADERS "/all.h" : "sim/cosim/sq_rtl.h");
    return SQ_OK;
}

// The arguments of make. Its files have only relative names, so that the check of verilated.mk
// against blanks in the current directory is told of another one. One translation unit, the bridge
// among what Verilator wrote: another one would read a second of headers once more. A model runs for
// seconds: of -O1 without the passes that take a third of its time, on code of Verilator's kind, for
// a fifth of the speed. A netlist is a few cases and a minute of -O1: not optimised, but for one with
// faults, and so is what runs for as long as the passes take. Neither is what runs once, before cycle 0 (sq_bridge.h). The table of symbols, where Verilator
// divides it, is in units of its own: with them a model of 16x16 PEs takes 6 GB and a quarter of an hour.
static void write_make(FILE *out, const struct sq_rtl_point *p)
{
    fprintf(
        out,
        "-s\n-C\nobj\n-f\nV%s.mk\nCURDIR=.\n--eval=VM_FAST+=bridge\n"
        "VM_USER_CLASSES=$(if $(wildcard *__Syms__1.cpp),$(basename $(wildcard *__Syms*.cpp)))\n"
        "VM_SLOW=$(VM_CLASSES_SLOW) $(filter-out $(VM_USER_CLASSES),$(VM_SUPPORT_SLOW))\n"
        "--eval=$(addsuffix .o,$(VM_USER_CLASSES)): override OPT_FAST=-O0\n"
        "VM_PARALLEL_BUILDS=0\nOPT_FAST=%s\nOPT_SLOW=-O0\nOPT_GLOBAL=-O1\n%s",
        p->block->top, optimisation(p),
        has_headers(p) ? "VM_GLOBAL_FAST=\nLDFLAGS=../headers/verilated.o "
                         "../headers/verilated_dpi.o ../headers/verilated_threads.o\n"
                       : "");
}

struct job {
    const char *home, *entry;
    char ccache[PATH_NBYTES]; // its folder; "" where there is none
    bool has_headers;
    const char *optimisation;
    char verilator_version[256]; // asked once a model: Verilator starts through Perl
    char *script;                // of Yosys; "" where it is not run
    char *verilator, *make, *bridge;
    char *view; // "" without tracing
    const char
        *own; // the source of rtl/ that the point has in place of the one in the tree; NULL: none
    char *own_source; // its text
};

static void free_job(struct job *j)
{
    free(j->script);
    free(j->verilator);
    free(j->make);
    free(j->bridge);
    free(j->view);
    free(j->own_source);
}

static enum sq_status write_job(struct job *j, const struct sq_rtl_point *p, struct sq_error *err)
{
    const struct sq_ports ports = sq_ports_of(p->block, p->point->value);
    size_t n[6];
    FILE *script = open_memstream(&j->script, &n[0]);
    FILE *verilator = open_memstream(&j->verilator, &n[1]);
    FILE *make = open_memstream(&j->make, &n[2]);
    FILE *bridge = open_memstream(&j->bridge, &n[3]);
    FILE *view = open_memstream(&j->view, &n[4]);
    FILE *own = open_memstream(&j->own_source, &n[5]);
    enum sq_status status = SQ_HAVE(script && verilator && make && bridge && view && own, err,
                                    "the arguments of a build");
    if (status == SQ_OK && p->block->source)
        j->own = p->block->source(p->point->value, own);
    if (status == SQ_OK && has_netlist(p))
        status = write_script(script, p, j->home, j->own, err);
    SQ_THEN(status, write_verilator(verilator, p, j->home, j->own, err));
    if (status == SQ_OK) {
        write_make(make, p);
        sq_rtl_write_bridge(bridge, p->block, &ports, p->trace);
        if (p->trace)
            sq_rtl_write_view(view, p->block, has_netlist(p) ? NULL : p->point->value, &ports);
    }
    FILE *const out[] = {script, verilator, make, bridge, view, own};
    for (size_t i = 0; i < sizeof out / sizeof out[0]; i++)
        if (out[i])
            fclose(out[i]);
    return status;
}

// Folds every RTL source that files.f lists into the digest.
static enum sq_status digest_sources(const char *home, struct sq_digest *digest,
                                     struct sq_error *err)
{
    char path[PATH_NBYTES], line[256];
    for (size_t i = 0; i < sizeof depends / sizeof depends[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", home, depends[i]);
        SQ_TRY(sq_digest_add_file(digest, path, err));
    }
    snprintf(path, sizeof path, "%s/rtl/files.f", home);
    FILE *list = fopen(path, "r");
    if (!list)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot read %s: %s", sq_path_tail(path), strerror(errno));
    enum sq_status status = SQ_OK;
    while (status == SQ_OK && fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(path, sizeof path, "%s/rtl/%s", home, line);
        status = sq_digest_add_file(digest, path, err);
    }
    fclose(list);
    return status;
}

// What a tool prints as its version; refuses a tool that does not run.
static enum sq_status digest_tool(const char *tool, const char *package, char text[256],
                                  struct sq_digest *digest, struct sq_error *err)
{
    if (sq_process_version(tool, "--version", text, 256, NULL) != SQ_OK)
        return SQ_FAIL(err, SQ_ERR_TOOL, "%.60s does not run; Debian has it as package %s", tool,
                       package);
    sq_digest_add(digest, text, strlen(text));
    return SQ_OK;
}

// The program that the Perl script verilator starts says the same version in a twentieth of the script's time. Variables of
// Verilator would name another one to the script.
static enum sq_status digest_verilator(char text[256], struct sq_digest *digest,
                                       struct sq_error *err)
{
    const char *named = sq_process_tool("VERILATOR", NULL);
    const bool is_moved = named || getenv("VERILATOR_ROOT") || getenv("VERILATOR_BIN");
    if (is_moved || digest_tool("verilator_bin", "verilator", text, digest, NULL) != SQ_OK)
        return digest_tool(named ? named : "verilator", "verilator", text, digest, err);
    return SQ_OK;
}

// ---- building -------------------------------------------------------------------------------

enum { MAX_ARGUMENTS = 512 };

// The first complaint in a log, as the tool wrote it: "%Error: rtl/a.sv:12:3: ..." of Verilator,
// else "ERROR: ..." of Yosys or "error: ..." of a compiler.
static void first_complaint(const char *log, char text[200])
{
    static const char *const marks[] = {"%Error", "%Warning", "ERROR: ", "error: "};
    char line[512];
    text[0] = '\0';
    for (size_t m = 0; m < sizeof marks / sizeof marks[0] && !text[0]; m++) {
        FILE *f = fopen(log, "re");
        while (f && !text[0] && fgets(line, sizeof line, f)) {
            const bool is_last = m < 2 && strstr(line, ": Exiting due to");
            line[strcspn(line, "\r\n")] = '\0';
            if (strstr(line, marks[m]) && !is_last)
                snprintf(text, 200, "%.199s", line);
        }
        if (f)
            fclose(f);
    }
}

// Runs a tool with one argument per line of `text`. Its log stays beside the entry when it fails.
static enum sq_status run_tool(const struct job *j, const char *work, const char *tool,
                               const char *text, struct sq_error *err)
{
    char log[PATH_NBYTES + 32], kept[PATH_NBYTES + 32], name[PATH_NBYTES];
    char rtl[PATH_NBYTES + 32], sim[PATH_NBYTES + 32], headers[PATH_NBYTES + 32];
    char *argv[MAX_ARGUMENTS + 2] = {name}, *copy = strdup(text), *save = NULL;
    size_t n = 1;
    int code = 0;
    SQ_NEED(copy, err, "the arguments of a build");
    snprintf(name, sizeof name, "%s", tool);
    snprintf(log, sizeof log, "%s/log", work);
    snprintf(kept, sizeof kept, "%s.log", j->entry);
    snprintf(rtl, sizeof rtl, "%s/rtl", work); // links to those of home
    snprintf(sim, sizeof sim, "%s/sim", work);
    snprintf(headers, sizeof headers, "%s/" HEADERS, work);
    for (char *one = strtok_r(copy, "\n", &save); one && n <= MAX_ARGUMENTS;
         one = strtok_r(NULL, "\n", &save))
        argv[n++] = one;
    const struct sq_confine confine = {
        .dir = work,
        .reads = (const char *const[]){rtl, sim, access(headers, F_OK) == 0 ? headers : NULL, NULL},
        .keeps = *j->ccache ? j->ccache : NULL,
        .variable = "CCACHE_DIR"};
    enum sq_status status = n <= MAX_ARGUMENTS
                                ? sq_confine_run(&confine, argv, log, &code, err)
                                : SQ_FAIL(err, SQ_ERR_RANGE, "more than %d sources", MAX_ARGUMENTS);
    free(copy);
    if (status == SQ_OK && code != 0) {
        char why[200];
        first_complaint(log, why);
        SQ_TRY(sq_confine_check_disk(work, log, !*why, err));
        (void)rename(log, kept);
        return SQ_FAIL(err, SQ_ERR_BUILD, "%s; see %s", *why ? why : "the RTL did not build",
                       sq_path_tail(kept));
    }
    unlink(log);
    return status;
}

static enum sq_status link_home(const struct job *j, const char *work, const char *name,
                                struct sq_error *err)
{
    char target[PATH_MAX], path[PATH_NBYTES + 8];
    snprintf(path, sizeof path, "%.1000s/%s", j->home, name);
    if (!realpath(path, target)) // through every link: a confined tool sees the last folder only
        return SQ_FAIL(err, SQ_ERR_IO, "cannot find %s: %s", sq_path_tail(path), strerror(errno));
    snprintf(path, sizeof path, "%s/%s", work, name);
    if (symlink(target, path) != 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make '%s': %s", sq_path_tail(path), strerror(errno));
    return SQ_OK;
}

static enum sq_status write_file(const char *work, const char *name, const char *text,
                                 struct sq_error *err)
{
    char path[PATH_NBYTES + 16];
    snprintf(path, sizeof path, "%s/%s", work, name);
    FILE *out = fopen(path, "we");
    bool is_bad = !out || fputs(text, out) < 0;
    is_bad = (out && fclose(out) != 0) || is_bad;
    if (is_bad)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write %s: %s", sq_path_tail(path), strerror(errno));
    return SQ_OK;
}

static enum sq_status write_own(const struct job *j, const char *work, struct sq_error *err)
{
    char dir[PATH_NBYTES];
    snprintf(dir, sizeof dir, "%s/" OWN, work);
    if (mkdir(dir, 0700) != 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make %s: %s", sq_path_tail(dir), strerror(errno));
    return write_file(dir, module_file(j->own), j->own_source, err);
}

static enum sq_status run_yosys(const struct job *j, const char *work, struct sq_error *err)
{
    SQ_TRY(write_file(work, "netlist.ys", j->script, err));
    return run_tool(j, work, sq_process_tool("YOSYS", "yosys"),
                    "-q\n-e\nimplicitly declared\n-s\nnetlist.ys\n", err);
}

// With ccache where there is one that has a folder, which is relative, and no place to write, where
// XDG_CACHE_HOME is empty: what it makes is the same.
static enum sq_status run_make(struct job *j, const char *work, struct sq_error *err)
{
    char text[1024], folder[PATH_NBYTES];
    if (sq_process_version("ccache", "-kcache_dir", folder, sizeof folder, NULL) == SQ_OK &&
        folder[0] == '/' && (access(folder, W_OK) == 0 || mkdir(folder, 0700) == 0))
        snprintf(j->ccache, sizeof j->ccache, "%s", folder);
    snprintf(text, sizeof text, "%s%s", j->make,
             *j->ccache && !j->has_headers ? "OBJCACHE=ccache\n" : "");
    const enum sq_status status = run_tool(j, work, "make", text, err);
    j->ccache[0] = '\0';
    return status;
}

static void remove_passing(const char *work)
{
    static const char *const passing[] = {"obj", "rtl", "sim", OWN, HEADERS};
    char path[PATH_NBYTES + 16];
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", work, passing[i]);
        sq_cache_remove(path);
    }
}

// Leaves all.h, compiled, and Verilator's own objects. Options are those of a model: of a makefile that Verilator writes.
static const char headers_make[] =
    "-s\n-C\nobj\n-f\nVnone.mk\nCURDIR=.\nOPT_FAST=%s\nOPT_GLOBAL=-O1\nall\n"
    "VM_GLOBAL_FAST=verilated verilated_dpi verilated_threads\n"
    "--eval=all: all.h.gch $(VM_GLOBAL_FAST:=.o); mv $(VM_GLOBAL_FAST:=.o) ..\n"
    "--eval=all.h.gch: ; $(CXX) $(CXXFLAGS) $(CPPFLAGS) $(OPT_FAST) -x c++-header ../all.h -o "
    "../$@\n";

static enum sq_status build_headers(void *context, const char *work, struct sq_error *err)
{
    struct job *const j = context;
    SQ_TRY(link_home(j, work, "rtl", err));
    SQ_TRY(link_home(j, work, "sim", err));
    SQ_TRY(write_file(work, "none.sv", "module none;\nendmodule\n", err));
    SQ_TRY(write_file(work, "all.h",
                      "#include \"../sim/cosim/sq_rtl.h\"\n#include \"../sim/cosim/sq_bridge.h\"\n",
                      err));
    SQ_TRY(run_tool(j, work, sq_process_tool("VERILATOR", "verilator"),
                    "--cc\n--prefix\nVnone\n--Mdir\nobj\n-CFLAGS\n" CXX_FLAGS
                    " -include ../sim/cosim/sq_rtl.h\nnone.sv\n",
                    err));
    SQ_TRY(run_make(j, work, err));
    remove_passing(work);
    return SQ_OK;
}

// Beside the entry of the model, for all models.
static enum sq_status get_headers(struct job *j, const char *work, struct sq_error *err)
{
    static const char *const header[] = {"rtl", "bridge"};
    char path[PATH_NBYTES + 16], entry[PATH_NBYTES], target[PATH_MAX], hex[SQ_DIGEST_SIZE];
    bool unused;
    struct sq_digest digest = {0};
    char make[sizeof headers_make + sizeof OPT_FAST];
    struct job job = {.home = j->home, .entry = entry, .make = make};
    snprintf(make, sizeof make, headers_make, j->optimisation);
    sq_digest_add(&digest, j->verilator_version, strlen(j->verilator_version));
    for (size_t i = 0; i < sizeof header / sizeof header[0]; i++) {
        snprintf(path, sizeof path, "%.1000s/sim/cosim/sq_%s.h", j->home, header[i]);
        SQ_TRY(sq_digest_add_file(&digest, path, err));
    }
    sq_digest_add(&digest, CXX_FLAGS, sizeof CXX_FLAGS);
    sq_digest_add(&digest, j->optimisation, strlen(j->optimisation));
    sq_digest_hex(digest, hex);
    snprintf(entry, sizeof entry, "%.*s/" HEADERS "-%s", (int)(strrchr(j->entry, '/') - j->entry),
             j->entry, hex);
    SQ_TRY(sq_cache_get(entry, NULL, build_headers, &job, &unused, err));
    snprintf(path, sizeof path, "%s/" HEADERS, work);
    if (!realpath(entry, target) || symlink(target, path) != 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make '%s': %s", sq_path_tail(path), strerror(errno));
    return SQ_OK;
}

// Leaves model.so, and of a netlist what made it.
static enum sq_status build(void *context, const char *work, struct sq_error *err)
{
    struct job *j = context;
    char path[PATH_NBYTES + 16];
    snprintf(path, sizeof path, "%s.log", j->entry);
    unlink(path); // of an earlier failure
    SQ_TRY(link_home(j, work, "rtl", err));
    SQ_TRY(link_home(j, work, "sim", err));
    SQ_TRY(write_file(work, "bridge.cpp", j->bridge, err));
    SQ_TRY(write_file(work, SQ_RTL_VIEW ".sv", j->view, err));
    if (j->own)
        SQ_TRY(write_own(j, work, err));
    if (*j->script)
        SQ_TRY(run_yosys(j, work, err));
    SQ_TRY(run_tool(j, work, sq_process_tool("VERILATOR", "verilator"), j->verilator, err));
    if (j->has_headers)
        SQ_TRY(get_headers(j, work, err));
    SQ_TRY(run_make(j, work, err));
    remove_passing(work);
    return SQ_OK;
}

static enum sq_status load(struct sq_rtl *rtl, const char *path, struct sq_error *err)
{
    // ISO C has no cast between object and function pointers; POSIX guarantees their bytes agree.
    const struct sq_rtl_api *(*entry)(void);
    rtl->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = rtl->library ? dlsym(rtl->library, "sq_rtl_entry") : NULL;
    if (!symbol)
        return SQ_FAIL(err, SQ_ERR_TOOL, "cannot load %s", sq_path_tail(path));
    memcpy(&entry, &symbol, sizeof entry);
    rtl->api = entry();
    return SQ_OK;
}

// The digest of everything that a build depends on.
static enum sq_status digest_job(struct job *j, const struct sq_rtl_point *point,
                                 struct sq_digest *digest, struct sq_error *err)
{
    char yosys_version[256];
    *digest = (struct sq_digest){0};
    SQ_TRY(digest_verilator(j->verilator_version, digest, err));
    if (has_netlist(point))
        SQ_TRY(digest_tool(sq_process_tool("YOSYS", "yosys"), "yosys", yosys_version, digest, err));
    SQ_TRY(digest_sources(j->home, digest, err));
    sq_digest_add(digest, j->script, strlen(j->script));
    sq_digest_add(digest, j->verilator, strlen(j->verilator));
    sq_digest_add(digest, j->make, strlen(j->make));
    sq_digest_add(digest, j->bridge, strlen(j->bridge));
    sq_digest_add(digest, j->view, strlen(j->view));
    sq_digest_add(digest, j->own_source, strlen(j->own_source));
    return SQ_OK;
}

enum sq_status sq_rtl_load(struct sq_rtl *rtl, const struct sq_rtl_point *point, const char *home,
                           bool *built, struct sq_error *err)
{
    char name[96], hex[SQ_DIGEST_SIZE], path[PATH_NBYTES + 16];
    struct job job = {.home = home,
                      .entry = rtl->dir,
                      .has_headers = has_headers(point),
                      .optimisation = optimisation(point)};
    struct sq_digest digest;

    memset(rtl, 0, sizeof *rtl);
    if (point->block->get_core) {
        struct sq_core_config config;
        point->block->get_core(point->point->value, &config);
        SQ_TRY(sq_core_config_check(&config, err));
    }
    sq_cache_root(home, path, sizeof path);
    const size_t longest = strlen(home) > strlen(path) ? strlen(home) : strlen(path);
    if (longest > PATH_NBYTES / 2)
        return SQ_FAIL(err, SQ_ERR_RANGE, "path of %zu bytes, need <= %d", longest,
                       PATH_NBYTES / 2);
    enum sq_status status = write_job(&job, point, err);
    SQ_THEN(status, digest_job(&job, point, &digest, err));
    if (status == SQ_OK) {
        file_name(point, name);
        sq_digest_hex(digest, hex);
        snprintf(rtl->dir, sizeof rtl->dir, "%.800s/rtl/%s-%s", path, name, hex);
        status = sq_cache_get(rtl->dir, NULL, build, &job, built, err);
    }
    free_job(&job);
    SQ_TRY(status);
    snprintf(path, sizeof path, "%s/model.so", rtl->dir);
    return load(rtl, path, err);
}

enum sq_status sq_rtl_write_coverage(const struct sq_rtl *rtl, const struct sq_rtl_point *point,
                                     const char *dir, struct sq_error *err)
{
    char name[96], path[PATH_NBYTES + 160];
    file_name(point, name);
    snprintf(path, sizeof path, "%.1023s/%s.dat.new", dir, name);
    (void)unlink(path); // a link would be followed
    if (access(dir, W_OK) != 0 || rtl->api->write_coverage(path) != 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write coverage to %s", sq_path_tail(dir));
    char done[PATH_NBYTES + 160];
    snprintf(done, sizeof done, "%.1023s/%s.dat", dir, name);
    if (rename(path, done) != 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write %s: %s", sq_path_tail(done), strerror(errno));
    return SQ_OK;
}

void sq_rtl_unload(struct sq_rtl *rtl)
{
#ifndef __SANITIZE_ADDRESS__ // what the globals of a verilated library hold would look leaked
    if (rtl->library)
        dlclose(rtl->library);
#endif
    memset(rtl, 0, sizeof *rtl);
}
