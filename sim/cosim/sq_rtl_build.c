// SPDX-License-Identifier: Apache-2.0
#include "sim/cosim/sq_rtl_build.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/io/sq_digest.h"
#include "sim/io/sq_file.h"

#define PATH_NBYTES SQ_RTL_PATH_NBYTES

// Everything a build depends on besides files.f and its own bridge, relative to home.
static const char *const depends[] = {"rtl/files.f",
                                      "rtl/sq_assert.svh",
                                      "rtl/lint.vlt",
                                      "rtl/verilate.vlt",
                                      "sim/cosim/sq_rtl.h",
                                      "sim/cosim/bridge/sq_bridge.h",
                                      "sim/cosim/bridge/sq_stream_bridge.h"};

void sq_rtl_name(const struct sq_rtl_point *point, char name[96])
{
    const struct sq_core_config *c = &point->config;
    const char *arch = c->gather == SQ_GATHER_LOG ? "log" : "crossbar";
    const char *suffix = point->n_mutants > 0 ? "_mutants"
                         : point->netlist     ? "_netlist"
                         : point->coverage    ? "_coverage"
                                              : "";
    if (point->block == SQ_RTL_STREAM)
        snprintf(name, 96, "%s_%s%s", point->stream->name, point->stream_point->name, suffix);
    else if (point->block == SQ_RTL_GATHER)
        snprintf(name, 96, "gather_%u_b%u_k%u_a%u_w%u_%s%s", c->rows, c->bank, c->high_per_bank,
                 c->act_bits, c->low_bits, arch, suffix);
    else
        snprintf(name, 96, "core_%ux%u_L%u_H%u_b%u_k%u_a%u_w%u-%u_%s%s", c->rows, c->cols,
                 c->low_lanes, c->high_lanes, c->bank, c->high_per_bank, c->act_bits, c->high_bits,
                 c->low_bits, arch, suffix);
}

static const char *top_name(const struct sq_rtl_point *p)
{
    return p->block == SQ_RTL_STREAM   ? p->stream->top
           : p->block == SQ_RTL_GATHER ? "sq_gather"
                                       : "sq_core";
}

// " -GRows=2 ..." for Verilator, " -set Rows 2 ..." for Yosys' chparam.
static void write_parameters(FILE *out, const struct sq_rtl_point *p, const char *format)
{
    const struct sq_core_config *c = &p->config;
    if (p->block == SQ_RTL_STREAM) {
        for (size_t i = 0; p->stream->param[i]; i++)
            fprintf(out, format, p->stream->param[i], p->stream_point->value[i]);
        return;
    }
    fprintf(out, format, "Rows", c->rows);
    fprintf(out, format, "BankLen", c->bank);
    fprintf(out, format, "HighPerBank", c->high_per_bank);
    fprintf(out, format, "ActW", c->act_bits);
    fprintf(out, format, "LowW", c->low_bits);
    fprintf(out, format, "Gather", (unsigned)c->gather);
    if (p->block == SQ_RTL_GATHER)
        return;
    fprintf(out, format, "Cols", c->cols);
    fprintf(out, format, "LowLanes", c->low_lanes);
    fprintf(out, format, "HighLanes", c->high_lanes);
    fprintf(out, format, "HighW", c->high_bits);
}

// The Yosys script that makes netlist.v: gates of synth, or one word-level module in which input
// mutsel = i turns on mutation i of mutants.txt. For proofs that one is kept without the mutations.
static void write_netlist_script(FILE *out, const struct sq_rtl_point *p)
{
    const char *top = top_name(p);
    fprintf(out,
            // Names that do not depend on where the sources are.
            "ln -sfn \"$home/rtl\" rtl\n"
            "{ echo read_verilog -sv -I rtl $(sed 's|^|rtl/|' rtl/files.f)\n"
            "  echo hierarchy -check -top %s",
            top);
    write_parameters(out, p, " -chparam %s %u");
    if (p->n_mutants == 0) {
        fprintf(out, "\n  echo synth -flatten\n  echo rename -top %s\n", top);
    } else {
        fprintf(out, "\n  echo proc\n  echo flatten\n  echo opt -full\n  echo wreduce\n"
                     "  echo opt -full\n  echo opt_clean -purge\n");
        fprintf(out, "  echo rename -top %s\n  echo tee -q -o stat.txt stat\n", top);
        fprintf(out, "  echo write_ilang original.il\n");
        fprintf(out, "  echo mutate -list %u -seed %u -ctrl mutsel 16 1 -o mutants.txt\n",
                p->n_mutants, p->mutant_seed);
        fprintf(out, "  echo script mutants.txt\n");
        // Merged vectors whose bits depend on one another: Verilator 5.006 does not settle them.
        fprintf(out, "  echo splitnets -driver\n");
    }
    fprintf(out, "  echo write_verilog -noattr netlist.v; } > netlist.ys\n"
                 "${YOSYS:-yosys} -q -e 'implicitly declared' -s netlist.ys\n"
                 "sources=netlist.v\nwaivers=\nparameters='-Wno-fatal -Wno-lint -Wno-style'\n");
}

// The shell script that makes model.so in the current directory. $1 is home.
static void write_script(FILE *out, const struct sq_rtl_point *p)
{
    const char *top = top_name(p);
    fprintf(out, "set -e\nhome=$1\n");
    fprintf(out, "sources=$(sed \"s|^|$home/rtl/|\" \"$home/rtl/files.f\")\n");
    fprintf(out, "parameters='-Wall'\nwaivers=\"$home/rtl/lint.vlt $home/rtl/verilate.vlt\"\n");
    if (p->netlist || p->n_mutants > 0) {
        write_netlist_script(out, p);
    } else {
        fprintf(out, "parameters=\"$parameters");
        write_parameters(out, p, " -G%s=%u");
        fprintf(out, "\"\n");
    }
    // Toggle coverage has every bit of every signal.
    if (p->coverage)
        fprintf(out,
                "parameters=\"$parameters --coverage-line --coverage-toggle --coverage-max-width "
                "1000000 -CFLAGS -DSQ_BRIDGE_SYMS=V%s__Syms.h\"\n",
                top);
    fprintf(out,
            "${VERILATOR:-verilator} --cc --exe --assert -O3 --x-assign unique --x-initial unique "
            "--unroll-count 256%s -I\"$home/rtl\" --top-module %s --prefix V%s --Mdir obj "
            "$parameters $waivers $sources \"$home/sim/cosim/bridge/%s_bridge.cpp\" "
            "-CFLAGS '-std=c++17 -fPIC -fvisibility=hidden' -LDFLAGS -shared -o ../model.so\n"
            "command -v ccache > ccache.path || true\n"
            "make -s -C obj -f V%s.mk OBJCACHE=\"$(cat ccache.path)\" OPT_FAST=%s OPT_SLOW=-O0 "
            "OPT_GLOBAL=-O1 > /dev/null\n"
            "rm -rf obj\n",
            p->trace ? " --trace-fst" : "", top, top, top, top, p->coverage ? "-O0" : "-O1");
}

static enum sq_status digest_file(const char *path, struct sq_digest *digest, struct sq_error *err)
{
    struct sq_mapping map;
    SQ_TRY(sq_file_map(path, &map, err));
    sq_digest_add(digest, map.data, map.nbytes);
    sq_file_unmap(&map);
    return SQ_OK;
}

// Folds the bridge and every RTL source that files.f lists into the digest.
static enum sq_status digest_sources(const char *home, const char *top, struct sq_digest *digest,
                                     struct sq_error *err)
{
    char path[PATH_NBYTES], line[256];
    for (size_t i = 0; i < sizeof depends / sizeof depends[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", home, depends[i]);
        SQ_TRY(digest_file(path, digest, err));
    }
    snprintf(path, sizeof path, "%s/sim/cosim/bridge/%s_bridge.cpp", home, top);
    SQ_TRY(digest_file(path, digest, err));
    snprintf(path, sizeof path, "%s/rtl/files.f", home);
    FILE *list = fopen(path, "r");
    if (!list)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot read %s: %s", sq_path_tail(path), strerror(errno));
    enum sq_status status = SQ_OK;
    while (status == SQ_OK && fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(path, sizeof path, "%s/rtl/%s", home, line);
        status = digest_file(path, digest, err);
    }
    fclose(list);
    return status;
}

// What a tool prints as its version; refuses a tool that does not run.
static enum sq_status digest_tool(const char *variable, const char *fallback, const char *package,
                                  struct sq_digest *digest, struct sq_error *err)
{
    const char *tool = getenv(variable);
    char command[PATH_NBYTES], text[256] = "";
    snprintf(command, sizeof command, "%s --version 2>/dev/null", tool ? tool : fallback);
    FILE *pipe = popen(command, "r");
    size_t n = pipe ? fread(text, 1, sizeof text - 1, pipe) : 0;
    if (!pipe || pclose(pipe) != 0 || n == 0)
        return SQ_FAIL(err, SQ_ERR_TOOL, "%s does not run; Debian has it as package %s",
                       tool ? tool : fallback, package);
    sq_digest_add(digest, text, n);
    return SQ_OK;
}

static enum sq_status make_dir(const char *path, struct sq_error *err)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make %s: %s", sq_path_tail(path), strerror(errno));
    return SQ_OK;
}

// Runs the script in dir with output to build.log.
static enum sq_status run_script(const char *dir, const char *home, struct sq_error *err)
{
    char absolute[PATH_NBYTES];
    if (!realpath(home, absolute))
        return SQ_FAIL(err, SQ_ERR_IO, "cannot find %s: %s", sq_path_tail(home), strerror(errno));
    const pid_t pid = fork();
    if (pid < 0)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "cannot start a process: %s", strerror(errno));
    if (pid == 0) {
        const int log =
            chdir(dir) == 0 ? open("build.log", O_CREAT | O_TRUNC | O_WRONLY, 0666) : -1;
        if (log < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
            _exit(126);
        // Verilated objects are built without the sanitizer the caller may run under.
        unsetenv("MAKEFLAGS");
        unsetenv("MFLAGS");
        execlp("sh", "sh", "build.sh", absolute, (char *)NULL);
        _exit(127);
    }
    int result = 0;
    while (waitpid(pid, &result, 0) < 0 && errno == EINTR)
        continue;
    if (!WIFEXITED(result) || WEXITSTATUS(result) != 0)
        return SQ_FAIL(err, SQ_ERR_TOOL, "the RTL did not build, see %s/build.log",
                       sq_path_tail(dir));
    return SQ_OK;
}

// Writes the script, runs it; the object appears under its name when it is complete.
static enum sq_status build(const char *dir, const char *script, const char *home,
                            struct sq_error *err)
{
    char path[PATH_NBYTES + 16];
    snprintf(path, sizeof path, "%s/build.sh", dir);
    FILE *out = fopen(path, "w");
    if (!out || fputs(script, out) < 0 || fclose(out) != 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write %s: %s", sq_path_tail(path), strerror(errno));
    SQ_TRY(run_script(dir, home, err));
    snprintf(path, sizeof path, "%s/done", dir);
    out = fopen(path, "w");
    if (!out || fclose(out) != 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write %s: %s", sq_path_tail(path), strerror(errno));
    return SQ_OK;
}

// Builds unless `done` exists; other processes that want the same object wait.
static enum sq_status build_once(const char *dir, const char *script, const char *home, bool *built,
                                 struct sq_error *err)
{
    char lock_path[PATH_NBYTES + 16], done[PATH_NBYTES + 16];
    snprintf(lock_path, sizeof lock_path, "%s/lock", dir);
    snprintf(done, sizeof done, "%s/done", dir);
    SQ_TRY(make_dir(dir, err));
    const int lock = open(lock_path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) {
        if (lock >= 0)
            close(lock);
        return SQ_FAIL(err, SQ_ERR_IO, "cannot lock %s: %s", sq_path_tail(lock_path),
                       strerror(errno));
    }
    *built = access(done, F_OK) != 0;
    enum sq_status status = *built ? build(dir, script, home, err) : SQ_OK;
    close(lock);
    return status;
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

enum sq_status sq_rtl_load(struct sq_rtl *rtl, const struct sq_rtl_point *point, const char *home,
                           bool *built, struct sq_error *err)
{
    char name[96], hex[SQ_DIGEST_SIZE], dir[SQ_RTL_PATH_NBYTES], path[PATH_NBYTES + 16];
    char *script = NULL;
    size_t script_nbytes = 0;
    struct sq_digest digest = {0};

    memset(rtl, 0, sizeof *rtl);
    if (point->block != SQ_RTL_STREAM)
        SQ_TRY(sq_core_config_check(&point->config, err));
    if (strlen(home) > PATH_NBYTES / 2)
        return SQ_FAIL(err, SQ_ERR_RANGE, "path of %zu bytes, need <= %d", strlen(home),
                       PATH_NBYTES / 2);
    SQ_TRY(digest_tool("VERILATOR", "verilator", "verilator", &digest, err));
    if (point->netlist || point->n_mutants > 0)
        SQ_TRY(digest_tool("YOSYS", "yosys", "yosys", &digest, err));
    SQ_TRY(digest_sources(home, top_name(point), &digest, err));

    FILE *out = open_memstream(&script, &script_nbytes);
    if (!out)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a build script");
    write_script(out, point);
    fclose(out);
    sq_digest_add(&digest, script, script_nbytes);

    sq_rtl_name(point, name);
    snprintf(dir, sizeof dir, "%s/build", home);
    enum sq_status status = make_dir(dir, err);
    snprintf(dir, sizeof dir, "%s/build/rtl", home);
    if (status == SQ_OK)
        status = make_dir(dir, err);
    sq_digest_hex(digest, hex);
    snprintf(dir, sizeof dir, "%s/build/rtl/%s-%s", home, name, hex);
    if (status == SQ_OK)
        status = build_once(dir, script, home, built, err);
    free(script);
    SQ_TRY(status);
    snprintf(rtl->dir, sizeof rtl->dir, "%s", dir);
    snprintf(path, sizeof path, "%s/model.so", dir);
    return load(rtl, path, err);
}

enum sq_status sq_rtl_write_coverage(const struct sq_rtl *rtl, const struct sq_rtl_point *point,
                                     const char *dir, struct sq_error *err)
{
    char name[96], path[PATH_NBYTES + 160];
    sq_rtl_name(point, name);
    snprintf(path, sizeof path, "%.1023s/%s.dat.new", dir, name);
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
