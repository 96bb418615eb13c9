// SPDX-License-Identifier: Apache-2.0
// Runs Yosys and OpenSTA in the working directory of a cache entry.
#include "sim/synth/sq_synth_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/io/sq_cache.h"
#include "sim/io/sq_confine.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"
#include "sim/io/sq_process.h"

// ---- files ------------------------------------------------------------------------------------

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

static enum sq_status write_liberty(const struct sq_synth *s, const struct sq_synth_block *b,
                                    const char *work, struct sq_error *err)
{
    if (!s->lib.nand2)
        return SQ_OK;
    if (b->macro)
        SQ_TRY(write_text(work, SQ_SYNTH_MACRO, b->macro->lib.text, b->macro->lib.nbytes, err));
    return write_text(work, SQ_SYNTH_LIBERTY, s->lib.text, s->lib.nbytes, err);
}

// What follows `mark` in the first line of a log that has it, after "file:line: " if that is
// before.
static void find_line(const char *dir, const char *log, const char *mark, char *text, size_t size)
{
    char path[SQ_SYNTH_PATH_LEN + 32], line[512];
    snprintf(path, sizeof path, "%s/%s", dir, log);
    FILE *f = fopen(path, "r");
    text[0] = '\0';
    while (f && !text[0] && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = '\0';
        const char *at = strstr(line, mark);
        const bool has_place = at && at > line + 2 && at[-1] == ' ' && at[-2] == ':';
        if (at)
            snprintf(text, size, "%.*s%s", has_place ? (int)(at - line) : 0, line,
                     at + strlen(mark));
    }
    if (f)
        fclose(f);
}

// ---- yosys ------------------------------------------------------------------------------------

#define INPUTS "inputs.d" // what Yosys read, as a rule for make

static bool leads_up(const char *name)
{
    return strncmp(name, "../", 3) == 0 || strstr(name, "/../");
}

// Whatever a source made Yosys read is a file that it got, or one of Yosys itself: all of that is in
// the digest. Maps of Yosys have absolute paths, in the folder of techmap.v, which every script reads.
static enum sq_status check_inputs(const struct sq_synth *s, const char *top, const char *work,
                                   struct sq_error *err)
{
    char path[SQ_SYNTH_PATH_LEN + 32], *save = NULL;
    SQ_FREED char *text = NULL;
    struct sq_file_view map;
    snprintf(path, sizeof path, "%s/" INPUTS, work);
    SQ_TRY(sq_file_map(path, &map, err));
    text = map.nbytes ? strndup((const char *)map.data, map.nbytes) : strdup("");
    sq_file_unmap(&map);
    SQ_NEED(text, err, "a synthesis");
    const char *techmap = strstr(text, "/techmap.v"), *own = techmap;
    while (own && own > text && own[-1] != ' ')
        own--;
    const size_t n_own = own ? (size_t)(techmap + 1 - own) : 0;
    char *list = strstr(text, ": "); // after what Yosys wrote
    for (char *name = list ? strtok_r(list + 1, " \n", &save) : NULL; name;
         name = strtok_r(NULL, " \n", &save)) {
        const bool is_own = n_own > 0 && strncmp(name, own, n_own) == 0;
        if (strcmp(name, s->liberty_path) == 0)
            continue;
        if (leads_up(is_own ? name + n_own : name) || (name[0] == '/' && !is_own))
            return SQ_FAIL(err, SQ_ERR_ARG,
                           "%.40s makes yosys read '%s', which is none of its sources", top,
                           sq_path_tail(name));
    }
    return SQ_OK;
}

// `reads`: what it sees beside its own folder, NULL at the end; NULL: nothing.
static enum sq_status run_yosys(const struct sq_synth *s, const char *top, const char *work,
                                const char *script, const char *const *reads, struct sq_error *err)
{
    char log[SQ_SYNTH_PATH_LEN + 32], name[32], yosys[SQ_SYNTH_PATH_LEN], text[240];
    int code;
    snprintf(log, sizeof log, "%s/yosys.log", work);
    snprintf(name, sizeof name, "%s", script);
    snprintf(yosys, sizeof yosys, "%s", sq_process_tool("YOSYS", "yosys"));
    char quiet[] = "-q", refuse[] = "-e", what[] = "implicitly declared", from[] = "-s";
    char list[] = "-E", inputs[] = INPUTS;
    char *const argv[] = {yosys, quiet, refuse, what, list, inputs, from, name, NULL};
    const struct sq_confine confine = {.dir = work, .reads = reads};
    SQ_TRY(sq_confine_run(&confine, argv, log, &code, err));
    if (code == 0)
        return SQ_OK;
    find_line(work, "yosys.log", "ERROR: ", text, sizeof text);
    SQ_TRY(sq_confine_check_disk(work, log, !text[0], err));
    find_line(work, "yosys.log", "bad_alloc", text, sizeof text);
    if (text[0])
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "yosys needs more than %" PRIu64 " MiB for %.40s, which is its limit",
                       sq_confine_limits().nbytes_memory >> 20, top);
    find_line(work, "yosys.log", "ERROR: ", text, sizeof text);
    sq_synth_own_place(s, text, sizeof text);
    if (text[0])
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "yosys refuses %.40s: %s", top, text);
    if (code > 128)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "yosys was ended by signal %d (%.40s) on %.40s",
                       code - 128, strsignal(code - 128), top);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "yosys ended with status %d on %.40s", code, top);
}

// A generated file of the working directory.
static enum sq_status save(const char *work, const char *name, char *text, size_t n,
                           enum sq_status status, struct sq_error *err)
{
    SQ_THEN(status, write_text(work, name, text, n, err));
    free(text);
    return status;
}

// ---- OpenSTA ----------------------------------------------------------------------------------

// path.txt shows the paths.
static enum sq_status find_delay(const struct sq_synth *s, const struct sq_synth_block *b,
                                 const char *work, const char *mapper, const char *spef,
                                 const char *clock, struct sq_synth_delay *d, struct sq_error *err)
{
    char *tcl = NULL, text[160], log[SQ_SYNTH_PATH_LEN + 32], netlist[32];
    size_t n = 0;
    int code;
    snprintf(netlist, sizeof netlist, "%s_sta.v", mapper);
    FILE *out = open_memstream(&tcl, &n);
    SQ_NEED(out, err, "a synthesis");
    sq_synth_print_sta(out, s, b, netlist, spef, clock);
    const enum sq_status status =
        b->keeps_chip && !spef ? sq_synth_print_part_paths(out, b, work, err) : SQ_OK;
    fclose(out);
    SQ_TRY(save(work, "sta.tcl", tcl, n, status, err));
    char sta[SQ_SYNTH_PATH_LEN], quiet[] = "-no_splash", quit[] = "-exit", script[] = "sta.tcl";
    char own[] = "-no_init"; // no ~/.sta
    snprintf(sta, sizeof sta, "%s", sq_process_tool("STA", "sta"));
    snprintf(log, sizeof log, "%s/path.txt", work);
    char *const argv[] = {sta, quiet, own, quit, script, NULL};
    const struct sq_confine confine = {.dir = work};
    SQ_TRY(sq_confine_run(&confine, argv, log, &code, err));
    find_line(work, SQ_SYNTH_DELAY, "", text, sizeof text);
    bool is_known = sscanf(text, "%lf %lf", &d->path_ns, &d->period_ns) == 2;
    const bool is_unclocked = strcmp(text, "unclocked") == 0;
    find_line(work, "path.txt", "Error: " SQ_SYNTH_MACRO, text, sizeof text);
    is_known = is_known && !text[0]; // else paths through the memory are missing
    if (code == 0 && is_unclocked)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       *clock ? "%.40s has flip-flops that the clock %.60s does not reach: no path "
                                "is known"
                              : "%.40s has cells with a clock, but no flip-flop of its own%s: no "
                                "path is known",
                       b->top, clock);
    if (code == 0 && is_known && d->path_ns > 0 && d->period_ns < 1e6)
        return SQ_OK;
    find_line(work, "path.txt", "Error: ", text, sizeof text);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "OpenSTA finds no delay of %.40s: %s", b->top,
                   text[0] ? text : "see STA");
}

// ---- jobs -------------------------------------------------------------------------------------

static enum sq_status write_sources(const struct sq_synth *s, const struct sq_synth_block *b,
                                    const char *work, struct sq_error *err)
{
    bool used[SQ_SYNTH_MAX_SOURCES];
    SQ_FREED char *job = NULL;
    SQ_TRY(sq_synth_print_job(s, b, &job, used, err));
    return sq_synth_write_sources(s, b, used, work, err);
}

static enum sq_status synthesize(const struct sq_synth *s, const struct sq_synth_block *b,
                                 const char *work, struct sq_error *err)
{
    char *text = NULL;
    size_t n = 0;
    SQ_TRY(write_sources(s, b, work, err));
    FILE *out = open_memstream(&text, &n);
    SQ_NEED(out, err, "a synthesis");
    sq_synth_print_adder(out, &s->lib.adder);
    fclose(out);
    SQ_TRY(save(work, "adder.v", text, n, SQ_OK, err));

    text = NULL;
    if (!(out = open_memstream(&text, &n)))
        return SQ_NO_MEMORY(err, "a synthesis");
    enum sq_status status = sq_synth_print_script(out, s, b, err);
    fclose(out);
    SQ_TRY(save(work, "synth.ys", text, n, status, err));
    SQ_TRY(run_yosys(s, b->top, work, "synth.ys", NULL, err));
    return check_inputs(s, b->top, work, err);
}

// Netlists that were mapped, and what is counted of them, with buffers.
static enum sq_status add_buffers(const struct sq_synth *s, const struct sq_synth_block *b,
                                  const char *work, const char *const *mapper, size_t n_mappers,
                                  struct sq_error *err)
{
    char *text = NULL, path[SQ_SYNTH_PATH_LEN + 32];
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    SQ_NEED(out, err, "a synthesis");
    enum sq_status status = SQ_OK;
    for (size_t i = 0; i < n_mappers && status == SQ_OK; i++) {
        snprintf(path, sizeof path, "%s/%s" SQ_SYNTH_MAPPED, work, mapper[i]);
        status = sq_synth_buffer(s, b, path, err);
        sq_synth_print_buffered(out, b, mapper[i]);
    }
    fclose(out);
    SQ_TRY(save(work, "buffered.ys", text, n, status, err));
    return run_yosys(s, b->top, work, "buffered.ys", NULL, err);
}

// ---- cache entries ----------------------------------------------------------------------------

static enum sq_status write_result(const char *work, json_t *cells, json_t *parts,
                                   const char *mapper, const struct sq_synth_delay *d,
                                   const char *clock, struct sq_error *err)
{
    json_t *root = json_pack("{s:s, s:o, s:o, s:s, s:O, s:O*}", "mapper", mapper,
                             "critical_path_ns", d ? json_real(d->path_ns) : json_null(),
                             "min_period_ns", d ? json_real(d->period_ns) : json_null(), "clock",
                             clock, "cells", cells, "parts", parts);
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;
    json_decref(root);
    SQ_NEED(text, err, "a synthesis");
    return save(work, "result.json", text, strlen(text), SQ_OK, err);
}

// Removes all but these files, NULL at the end.
static enum sq_status keep_only(const char *work, const char *const *names, struct sq_error *err)
{
    char path[SQ_SYNTH_PATH_LEN + 300];
    DIR *dir = opendir(work);
    if (!dir)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot read '%s': %s", sq_path_tail(work), strerror(errno));
    bool is_clean = true;
    for (struct dirent *e; (e = readdir(dir));) {
        size_t i = 0;
        while (names[i] && strcmp(names[i], e->d_name) != 0)
            i++;
        if (names[i] || strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%.255s", work, e->d_name);
        sq_cache_remove(path);
        is_clean = is_clean && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    }
    closedir(dir);
    return is_clean ? SQ_OK : SQ_FAIL(err, SQ_ERR_IO, "cannot empty '%s'", sq_path_tail(work));
}

// Keeps one netlist as netlist.v and what explains it, removes the rest.
static enum sq_status tidy(const char *work, const char *mapper, struct sq_error *err)
{
    static const char *const kept[] = {"result.json", "netlist.v",   "path.txt",
                                       "synth.ys",    SQ_SYNTH_CHIP, NULL};
    char from[SQ_SYNTH_PATH_LEN + 32], to[SQ_SYNTH_PATH_LEN + 32];
    snprintf(from, sizeof from, "%s/%s.v", work, mapper);
    snprintf(to, sizeof to, "%s/netlist.v", work);
    (void)rename(from, to);
    snprintf(from, sizeof from, "%s/%s" SQ_SYNTH_MAPPED, work, mapper); // of a chip alone
    snprintf(to, sizeof to, "%s/" SQ_SYNTH_CHIP, work);
    (void)rename(from, to);
    return keep_only(work, kept, err);
}

enum sq_status sq_synth_make_area(const struct sq_synth *s, const struct sq_synth_block *b,
                                  const char *entry, const char *work, struct sq_error *err)
{
    static const char *const both[] = {"nf", "amap"}, *const one[] = {"net"};
    const bool has_two = b->recipe == SQ_SYNTH_AREA;
    const char *const *made = has_two ? both : one;
    struct sq_synth_count count[2] = {{0}, {0}};
    char clock[SQ_LIB_NAME_LEN] = "clk_i";
    struct sq_synth_delay delay = {0};
    (void)entry;
    SQ_TRY(write_liberty(s, b, work, err));
    SQ_TRY(synthesize(s, b, work, err));
    if (b->keeps_chip)
        SQ_TRY(add_buffers(s, b, work, made, has_two ? 2 : 1, err));
    enum sq_status status = sq_synth_count(s, b, work, made[0], &count[0], err);
    if (status == SQ_OK && has_two)
        status = sq_synth_count(s, b, work, made[1], &count[1], err);
    const int best = status == SQ_OK && has_two && count[1].area < count[0].area;
    const bool is_timed = s->sta_version[0] && (!b->keeps_parts || b->keeps_chip);
    if (status == SQ_OK && b->is_foreign)
        status = sq_synth_find_clock(b, work, clock, err);
    if (status == SQ_OK && is_timed)
        status = find_delay(s, b, work, made[best], NULL, clock, &delay, err);
    if (status == SQ_OK && is_timed && b->keeps_chip)
        status = sq_synth_read_part_paths(count[best].parts, work, err);
    SQ_THEN(status, write_result(work, count[best].cells, b->keeps_parts ? count[best].parts : NULL,
                                 has_two ? made[best] : sq_synth_recipe_name(b->recipe),
                                 is_timed ? &delay : NULL, clock, err));
    SQ_THEN(status, tidy(work, made[best], err));
    for (int i = 0; i < 2; i++) {
        json_decref(count[i].cells);
        json_decref(count[i].parts);
    }
    return status;
}

enum sq_status sq_synth_make_mapped(const struct sq_synth *s, const struct sq_synth_block *b,
                                    const char *area, const char *work, struct sq_error *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    SQ_NEED(out, err, "a synthesis");
    sq_synth_print_mapped(out, b, strrchr(area, '/')); // entries are neighbours
    fclose(out);
    SQ_TRY(save(work, "mapped.ys", text, n, SQ_OK, err));
    const char *const reads[] = {area, NULL};
    SQ_TRY(run_yosys(s, b->top, work, "mapped.ys", reads, err));
    const char *const kept[] = {"mapped.json", "mapped.ys", NULL};
    return keep_only(work, kept, err);
}

enum sq_status sq_synth_make_netlist(const struct sq_synth *s, const struct sq_synth_block *b,
                                     const char *area, const char *work, struct sq_error *err)
{
    char *text = NULL;
    size_t n = 0;
    enum sq_status status = SQ_OK;
    SQ_TRY(write_sources(s, b, work, err));
    SQ_TRY(write_liberty(s, b, work, err));
    FILE *out = open_memstream(&text, &n);
    SQ_NEED(out, err, "a synthesis");
    if (s->lib.nand2)
        sq_synth_print_flatten(out, b, strrchr(area, '/')); // entries are neighbours
    else
        status = sq_synth_print_script(out, s, b, err);
    fprintf(out, "write_verilog -noattr %s.v\n", b->top);
    fclose(out);
    SQ_TRY(save(work, "netlist.ys", text, n, status, err));
    const char *const reads[] = {s->lib.nand2 ? area : NULL, NULL};
    SQ_TRY(run_yosys(s, b->top, work, "netlist.ys", reads, err));
    char netlist[64];
    snprintf(netlist, sizeof netlist, "%s.v", b->top);
    const char *const kept[] = {netlist, "netlist.ys", NULL};
    return keep_only(work, kept, err);
}

enum sq_status sq_synth_make_time(const struct sq_synth *s, const struct sq_synth_block *b,
                                  const char *clock, const char *verilog, const char *spef,
                                  const char *work, struct sq_error *err)
{
    struct sq_synth bare = *s;
    struct sq_synth_block flat = *b;
    struct sq_synth_delay delay;
    static const char *const kept[] = {"path.txt", SQ_SYNTH_DELAY, SQ_SYNTH_SLACK, NULL};
    bare.is_wireless = true; // what SPEF says is all
    flat.keeps_chip = false;
    SQ_TRY(write_liberty(s, b, work, err));
    SQ_TRY(write_text(work, "placed_sta.v", verilog, strlen(verilog), err));
    if (spef)
        SQ_TRY(write_text(work, "wires.spef", spef, strlen(spef), err));
    SQ_TRY(
        find_delay(&bare, &flat, work, "placed", spef ? "wires.spef" : NULL, clock, &delay, err));
    return keep_only(work, kept, err);
}
