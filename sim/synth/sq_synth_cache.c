// SPDX-License-Identifier: Apache-2.0
// sq_synth.h: what is opened once, the cache, and the result. sq_synth_run.c runs the tools.
#include "sim/synth/sq_synth.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/io/sq_cache.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"
#include "sim/io/sq_process.h"
#include "sim/synth/sq_synth_run.h"

// ---- open -------------------------------------------------------------------------------------

// Yosys hands the library to ABC by its absolute path, without quotes. Below a path that would need
// them it gets another absolute one, by way of the working directory. (Not always: the name is in
// the digest of what has been made.)
static const char *liberty_path(const char *cache_dir)
{
    const bool is_odd = cache_dir[strcspn(cache_dir, " \t\n;,#*\"'\\<>|&$()")] != '\0';
    return is_odd ? "/proc/self/cwd/" SQ_SYNTH_LIBERTY : SQ_SYNTH_LIBERTY;
}

static enum sq_status open_parts(struct sq_synth *s, const char *liberty, struct sq_error *err)
{
    if (strlen(s->cache_dir) > SQ_SYNTH_PATH_LEN / 2)
        return SQ_FAIL(err, SQ_ERR_ARG, "the path '%s' is too long", sq_path_tail(s->cache_dir));
    s->liberty_path = liberty_path(s->cache_dir);
    if (sq_process_version(sq_process_tool("YOSYS", "yosys"), "-V", s->yosys_version,
                           sizeof s->yosys_version, NULL) != SQ_OK)
        return SQ_FAIL(err, SQ_ERR_TOOL, "%.60s does not run; Debian has it as package yosys",
                       sq_process_tool("YOSYS", "yosys"));
    struct sq_digest *d = &s->base_digest, *all = &s->digest;
    sq_digest_add(d, s->yosys_version, strlen(s->yosys_version));
    SQ_TRY(sq_synth_read_file(s->rtl_dir, "synth_front.ys", all, &s->script_front, err));
    SQ_TRY(sq_synth_read_file(s->rtl_dir, "synth_map.ys", all, &s->script_map, err));
    SQ_TRY(sq_synth_read_file(s->rtl_dir, "synth_speed.ys", all, &s->script_speed, err));
    SQ_TRY(sq_synth_read_sources(s, err));
    if (!liberty)
        return SQ_OK;
    SQ_TRY(sq_liberty_read(&s->lib, liberty, err));
    s->liberty_digest = sq_digest_of(s->lib.text, s->lib.nbytes);
    sq_digest_add(d, &s->liberty_digest, sizeof s->liberty_digest);
    if (sq_process_version(sq_process_tool("STA", "sta"), "-version", s->sta_version,
                           sizeof s->sta_version, NULL) != SQ_OK)
        s->sta_version[0] = '\0';
    sq_digest_add(d, s->sta_version, strlen(s->sta_version));
    return SQ_OK;
}

enum sq_status sq_synth_open(struct sq_synth *s, const char *rtl_dir, const char *liberty,
                             const char *cache_dir, struct sq_error *err)
{
    *s = (struct sq_synth){0};
    // The tools run in the cache, so both paths are made absolute.
    s->rtl_dir = realpath(rtl_dir, NULL);
    if (!s->rtl_dir)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot open '%s': %s", sq_path_tail(rtl_dir),
                       strerror(errno));
    SQ_FREED char *here = cache_dir[0] == '/' ? strdup("") : getcwd(NULL, 0);
    enum sq_status status = SQ_OK;
    if (!here || asprintf(&s->cache_dir, "%s%s%s", here, *here ? "/" : "", cache_dir) < 0) {
        s->cache_dir = NULL;
        status = SQ_NO_MEMORY(err, "'%s'", sq_path_tail(cache_dir));
    }
    SQ_THEN(status, open_parts(s, liberty, err));
    sq_digest_add(&s->digest, &s->base_digest, sizeof s->base_digest);
    if (status != SQ_OK)
        sq_synth_close(s);
    return status;
}

void sq_synth_close(struct sq_synth *s)
{
    sq_liberty_free(&s->lib);
    free(s->rtl_dir);
    free(s->cache_dir);
    free(s->script_front);
    free(s->script_map);
    free(s->script_speed);
    sq_synth_free_sources(s);
    *s = (struct sq_synth){0};
}

// ---- cache ------------------------------------------------------------------------------------

// cache_dir/<block>-<digest>[suffix]
static enum sq_status entry_path(const struct sq_synth *s, const struct sq_synth_block *b,
                                 const char *suffix, char path[SQ_SYNTH_PATH_LEN],
                                 struct sq_error *err)
{
    bool used[SQ_SYNTH_MAX_SOURCES];
    char *job;
    SQ_TRY(sq_synth_print_job(s, b, &job, used, err));
    char hex[SQ_DIGEST_SIZE];
    struct sq_digest digest;
    const enum sq_status status = sq_synth_digest_sources(s, b, used, &digest, err);
    sq_digest_add(&digest, job, strlen(job));
    sq_digest_hex(digest, hex);
    free(job);
    SQ_TRY(status);
    snprintf(path, SQ_SYNTH_PATH_LEN, "%s/%s-%s%s", s->cache_dir, b->top, hex, suffix);
    return SQ_OK;
}

struct fill {
    const struct sq_synth *synth;
    const struct sq_synth_block *block;
    const char *area; // the area entry
    sq_synth_make *make;
};

static enum sq_status fill_entry(void *context, const char *work, struct sq_error *err)
{
    const struct fill *f = context;
    if (f->synth->on_start && f->make == sq_synth_make_area)
        f->synth->on_start(f->synth->context, f->block);
    return f->make(f->synth, f->block, f->area, work, err);
}

// ---- results ----------------------------------------------------------------------------------

static enum sq_status damaged(const char *entry, struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_DAMAGED, "the cached result '%s' is damaged, remove it",
                   sq_path_tail(entry));
}

// Cells and areas from the counts of an entry and the areas of the library.
static enum sq_status sum_cells(const struct sq_synth *s, const struct sq_synth_block *b,
                                const json_t *cells, struct sq_synth_result *r,
                                struct sq_error *err)
{
    const char *name;
    json_t *count;
    r->cell = calloc(json_object_size(cells) + 1, sizeof *r->cell);
    SQ_NEED(r->cell, err, "the cells");
    json_object_foreach((json_t *)(uintptr_t)cells, name, count)
    {
        const struct sq_lib_cell *cell = sq_synth_cell(s, b, name);
        const unsigned n = (unsigned)json_integer_value(count);
        if (!cell)
            return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "the library gives no area for a %.40s", name);
        struct sq_synth_cells *c = &r->cell[r->n_types++];
        memcpy(c->name, cell->name, sizeof c->name);
        c->count = n;
        r->n_cells += n;
        r->area += n * cell->area;
        r->sequential_area += cell->is_sequential ? n * cell->area : 0;
    }
    r->nand2_equivalents = r->area / s->lib.nand2->area;
    return SQ_OK;
}

enum sq_status sq_synth_recount(const struct sq_synth *s, const struct sq_synth_block *b,
                                json_t *root, struct sq_synth_result *r, struct sq_error *err)
{
    const char *key;
    json_t *cell;
    json_t *const module =
        json_object_iter_value(json_object_iter(json_object_get(root, "modules")));
    json_auto_t *count = json_object();
    json_object_foreach(json_object_get(module, "cells"), key, cell)
    {
        const char *const type = json_string_value(json_object_get(cell, "type"));
        const json_int_t n = json_integer_value(json_object_get(count, type));
        json_object_set_new(count, type, json_integer(n + 1));
    }
    free(r->cell);
    r->area = r->sequential_area = 0;
    r->n_types = r->n_cells = 0;
    return sum_cells(s, b, count, r, err);
}

static enum sq_status load_cells(const json_t *cells, struct sq_synth_part *p, struct sq_error *err)
{
    const char *name;
    const json_t *count;
    p->cell = calloc(json_object_size(cells) + 1, sizeof *p->cell);
    SQ_NEED(p->cell, err, "the cells of a part");
    json_object_foreach((json_t *)(uintptr_t)cells, name, count)
    {
        struct sq_synth_cells *const c = &p->cell[p->n_types++];
        snprintf(c->name, sizeof c->name, "%s", name);
        c->count = (unsigned)json_integer_value(count);
    }
    return SQ_OK;
}

static enum sq_status load_parts(const json_t *parts, struct sq_synth_result *r,
                                 struct sq_error *err)
{
    const char *name;
    const json_t *part;
    r->part = calloc(json_object_size(parts) + 1, sizeof *r->part);
    SQ_NEED(r->part, err, "the parts");
    json_object_foreach((json_t *)(uintptr_t)parts, name, part)
    {
        struct sq_synth_part *p = &r->part[r->n_parts++];
        snprintf(p->name, sizeof p->name, "%s", name);
        p->count = (unsigned)json_integer_value(json_object_get(part, "count"));
        p->area = json_number_value(json_object_get(part, "area"));
        const json_t *path = json_object_get(part, "path_ns");
        p->path_ns = path ? json_number_value(path) : NAN;
        SQ_TRY(load_cells(json_object_get(part, "cells"), p, err));
    }
    return SQ_OK;
}

static enum sq_status load_result(const struct sq_synth *s, const struct sq_synth_block *b,
                                  const char *entry, struct sq_synth_result *r,
                                  struct sq_error *err)
{
    char path[SQ_SYNTH_PATH_LEN + 16];
    json_auto_t *root = NULL;
    snprintf(path, sizeof path, "%s/result.json", entry);
    SQ_TRY(sq_json_load(path, 1 << 20, &root, err));
    const json_t *cells = json_object_get(root, "cells");
    const char *mapper = json_string_value(json_object_get(root, "mapper"));
    const json_t *delay = json_object_get(root, "critical_path_ns");
    const json_t *period = json_object_get(root, "min_period_ns");
    const char *clock = json_string_value(json_object_get(root, "clock"));
    enum sq_status status = SQ_OK;
    if (!json_is_object(cells) || !mapper || strlen(mapper) >= sizeof r->mapper || !clock ||
        strlen(clock) >= sizeof r->clock)
        status = damaged(entry, err);
    if (status == SQ_OK) {
        memcpy(r->mapper, mapper, strlen(mapper) + 1);
        memcpy(r->clock, clock, strlen(clock) + 1);
        r->has_delay = json_is_real(delay) && json_is_real(period);
        r->critical_path_ns = r->has_delay ? json_real_value(delay) : NAN;
        r->min_period_ns = r->has_delay ? json_real_value(period) : NAN;
        status = sum_cells(s, b, cells, r, err);
    }
    SQ_THEN(status, load_parts(json_object_get(root, "parts"), r, err));
    return status;
}

// What is read of an area entry.
static const char *const result_files[] = {"result.json", NULL};

enum sq_status sq_synth_area(const struct sq_synth *s, const struct sq_synth_block *block,
                             struct sq_synth_result *result, struct sq_error *err)
{
    char entry[SQ_SYNTH_PATH_LEN];
    *result = (struct sq_synth_result){0};
    if (!s->lib.nand2)
        return SQ_FAIL(err, SQ_ERR_ARG, "area of %s: no library was opened", block->top);
    SQ_TRY(entry_path(s, block, "", entry, err));
    struct fill fill = {s, block, entry, sq_synth_make_area};
    bool is_filled;
    SQ_TRY(sq_cache_get(entry, result_files, fill_entry, &fill, &is_filled, err));
    result->is_cached = !is_filled;
    enum sq_status status = load_result(s, block, entry, result, err);
    if (status == SQ_OK && s->on_area && result->has_delay)
        status = s->on_area(s, block, result, err);
    if (status != SQ_OK)
        sq_synth_result_free(result);
    return status;
}

void sq_synth_result_free(struct sq_synth_result *result)
{
    for (size_t i = 0; i < result->n_parts; i++)
        free(result->part[i].cell);
    free(result->cell);
    free(result->part);
    *result = (struct sq_synth_result){0};
}

// Out of an undamaged area entry. Its lock is another one than that of what is made of it.
static enum sq_status ensure_area(const struct sq_synth *s, const struct sq_synth_block *b,
                                  const char *area, struct sq_error *err)
{
    static const char *const files[] = {"netlist.v", NULL};
    struct fill fill = {s, b, area, sq_synth_make_area};
    bool is_filled;
    return sq_cache_get(area, files, fill_entry, &fill, &is_filled, err);
}

static enum sq_status make_netlist(const struct sq_synth *s, const struct sq_synth_block *b,
                                   const char *area, const char *work, struct sq_error *err)
{
    if (s->lib.nand2)
        SQ_TRY(ensure_area(s, b, area, err));
    return sq_synth_make_netlist(s, b, area, work, err);
}

static enum sq_status make_mapped(const struct sq_synth *s, const struct sq_synth_block *b,
                                  const char *area, const char *work, struct sq_error *err)
{
    SQ_TRY(ensure_area(s, b, area, err));
    return sq_synth_make_mapped(s, b, area, work, err);
}

// The file `name` of the entry with this suffix, made where it is not there.
static enum sq_status get_file(const struct sq_synth *s, const struct sq_synth_block *block,
                               const char *suffix, const char *name, sq_synth_make *make,
                               char **path, struct sq_error *err)
{
    char area[SQ_SYNTH_PATH_LEN], entry[SQ_SYNTH_PATH_LEN];
    bool is_filled;
    *path = NULL;
    SQ_TRY(entry_path(s, block, "", area, err));
    SQ_TRY(entry_path(s, block, suffix, entry, err));
    const char *const files[] = {name, NULL};
    struct fill fill = {s, block, area, make};
    SQ_TRY(sq_cache_get(entry, files, fill_entry, &fill, &is_filled, err));
    if (asprintf(path, "%s/%s", entry, name) < 0) {
        *path = NULL;
        return SQ_NO_MEMORY(err, "a synthesis");
    }
    return SQ_OK;
}

enum sq_status sq_synth_netlist(const struct sq_synth *s, const struct sq_synth_block *block,
                                char **path, struct sq_error *err)
{
    char name[64];
    snprintf(name, sizeof name, "%.50s.v", block->top);
    return get_file(s, block, "-netlist", name, make_netlist, path, err);
}

enum sq_status sq_synth_mapped(const struct sq_synth *s, const struct sq_synth_block *block,
                               char **path, struct sq_error *err)
{
    *path = NULL;
    if (!s->lib.nand2)
        return SQ_FAIL(err, SQ_ERR_ARG, "netlist of %s: no library was opened", block->top);
    return get_file(s, block, "-mapped", "mapped.json", make_mapped, path, err);
}

// ---- delays of another netlist ----------------------------------------------------------------

struct fill_time {
    const struct sq_synth *synth;
    const struct sq_synth_block *block;
    const char *clock, *verilog, *spef;
};

static enum sq_status fill_time_entry(void *context, const char *work, struct sq_error *err)
{
    const struct fill_time *f = context;
    return sq_synth_make_time(f->synth, f->block, f->clock, f->verilog, f->spef, work, err);
}

static enum sq_status read_text(const char *entry, const char *name, char **text,
                                struct sq_error *err)
{
    char path[SQ_SYNTH_PATH_LEN + 32];
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    snprintf(path, sizeof path, "%s/%s", entry, name);
    SQ_TRY(sq_file_map(path, &map, err));
    *text = strndup((const char *)map.data, map.nbytes);
    return SQ_HAVE(*text, err, "a path");
}

enum sq_status sq_synth_time(const struct sq_synth *s, const struct sq_synth_block *b,
                             const char *clock, const char *verilog, const char *spef,
                             struct sq_synth_delay *delay, char **report, char **slack,
                             struct sq_error *err)
{
    const char *const files[] = {"path.txt", SQ_SYNTH_DELAY, spef ? SQ_SYNTH_SLACK : NULL, NULL};
    struct fill_time fill = {s, b, clock, verilog, spef};
    char entry[SQ_SYNTH_PATH_LEN], hex[SQ_DIGEST_SIZE], *script = NULL, *text = NULL;
    struct sq_digest digest = s->base_digest;
    size_t n;
    bool is_filled;
    *report = *slack = NULL;
    if (!s->sta_version[0])
        return SQ_FAIL(err, SQ_ERR_TOOL, "sta does not run: delays need OpenSTA");
    FILE *const out = open_memstream(&script, &n);
    SQ_NEED(out, err, "a synthesis");
    sq_synth_print_sta(out, s, b, "placed", spef ? "wires" : NULL, clock);
    fclose(out);
    sq_digest_add(&digest, script, n);
    sq_digest_add(&digest, verilog, strlen(verilog));
    sq_digest_add(&digest, spef, spef ? strlen(spef) : 0);
    free(script);
    sq_digest_hex(digest, hex);
    snprintf(entry, sizeof entry, "%s/%s-%s-time", s->cache_dir, b->top, hex);
    SQ_TRY(sq_cache_get(entry, files, fill_time_entry, &fill, &is_filled, err));
    SQ_TRY(read_text(entry, SQ_SYNTH_DELAY, &text, err));
    const bool is_whole = sscanf(text, "%lf %lf", &delay->path_ns, &delay->period_ns) == 2;
    free(text);
    if (!is_whole)
        return damaged(entry, err);
    SQ_TRY(read_text(entry, "path.txt", report, err));
    return spef ? read_text(entry, SQ_SYNTH_SLACK, slack, err) : SQ_OK;
}
