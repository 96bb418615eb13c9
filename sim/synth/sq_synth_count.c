// SPDX-License-Identifier: Apache-2.0
// Cells and parts of a netlist, from what `stat -json` of Yosys prints of its modules.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"
#include "sim/synth/sq_synth_run.h"

// A new reference; NULL where there is nothing to read: of a module without cells Yosys 0.23 writes
// no valid JSON. Nor does it after the modules, where some stand in modules that stand in the top:
// that, the sum, is left out and made here.
static enum sq_status load_modules(const char *work, const char *mapper, json_t **modules,
                                   struct sq_error *err)
{
    static const char last[] = "\n   },\n"; // closes the modules
    char path[SQ_SYNTH_PATH_LEN + 32], *text = NULL;
    struct sq_file_view map;
    json_auto_t *root = NULL;
    *modules = NULL;
    snprintf(path, sizeof path, "%s/%s.json", work, mapper);
    SQ_TRY(sq_file_map(path, &map, err));
    const char *start = (const char *)map.data;
    const char *end = map.nbytes ? memmem(start, map.nbytes, last, strlen(last)) : NULL;
    if (end && asprintf(&text, "%.*s}}", (int)(end - start), start) < 0)
        text = NULL;
    sq_file_unmap(&map);
    if (!end)
        return SQ_OK;
    SQ_NEED(text, err, "a synthesis");
    const enum sq_status status = sq_json_parse(mapper, text, strlen(text), &root, err);
    free(text);
    *modules = json_incref(json_object_get(root, "modules"));
    return status == SQ_ERR_DAMAGED ? SQ_OK : status;
}

// A name that Yosys did not make is "\\sq_pe" where a module is, "sq_pe" where one is used.
static const char *as_used(const char *module)
{
    return module + (module[0] == '\\');
}

static const json_t *cells_of(const json_t *module)
{
    return json_object_get(module, "num_cells_by_type");
}

// The module of the block that stands in no other: the key of the object.
static const char *top_of(json_t *modules)
{
    const char *key, *above;
    const json_t *module, *around;
    json_object_foreach(modules, key, module)
    {
        bool is_top = true;
        json_object_foreach(modules, above, around)
        {
            is_top = is_top && !json_object_get(cells_of(around), as_used(key));
        }
        if (is_top)
            return key;
    }
    return NULL;
}

// The key of a module by the name that its instances have; NULL: it is a cell of the library.
static const char *module_of(json_t *modules, const char *used)
{
    const char *key;
    const json_t *module;
    json_object_foreach(modules, key, module)
    {
        if (strcmp(as_used(key), used) == 0)
            return key;
    }
    return NULL;
}

const struct sq_lib_cell *sq_synth_cell(const struct sq_synth *s,
                                        const struct sq_synth_block *block, const char *name)
{
    const struct sq_lib_cell *cell = sq_liberty_find(&s->lib, name);
    if (!cell && block->macro)
        cell = sq_liberty_find(&block->macro->lib, name);
    return cell && cell->area >= 0 ? cell : NULL;
}

// So many more of a cell.
static void add_cells(json_t *cells, const char *name, json_int_t n)
{
    const json_int_t before = json_integer_value(json_object_get(cells, name));
    json_object_set_new(cells, name, json_integer(before + n));
}

// So many instances more of a part, as modules of one name and other parameters are one; NULL: no memory.
static json_t *find_part(json_t *parts, const char *name, json_int_t n)
{
    json_t *part = json_object_get(parts, name);
    if (!part) {
        json_object_set_new(parts, name,
                            json_pack("{s:i, s:f, s:{}}", "count", 0, "area", 0.0, "cells"));
        part = json_object_get(parts, name);
    }
    n += json_integer_value(json_object_get(part, "count"));
    json_object_set_new(part, "count", json_integer(n));
    return part;
}

struct walk {
    const struct sq_synth *s;
    const struct sq_synth_block *b;
    json_t *modules;
    struct sq_synth_count *c;
};

// n instances of a module, and all below; `unit`: that of what they stand in.
static enum sq_status add_module(const struct walk *w, const char *key, json_int_t n,
                                 const char *unit, struct sq_error *err)
{
    char name[SQ_SYNTH_PART_LEN];
    const char *used;
    const json_t *count;
    double area = 0;
    enum sq_status status = SQ_OK;
    unit = sq_synth_part_name(w->b, key, unit, name);
    json_t *const part = find_part(w->c->parts, name, n);
    SQ_NEED(part, err, "the parts of a netlist");
    json_object_foreach((json_t *)(uintptr_t)cells_of(json_object_get(w->modules, key)), used,
                        count)
    {
        const json_int_t all = n * json_integer_value(count);
        const char *const below = module_of(w->modules, used);
        const struct sq_lib_cell *const cell = below ? NULL : sq_synth_cell(w->s, w->b, used);
        if (status == SQ_OK && below)
            status = add_module(w, below, all, unit, err);
        else if (status == SQ_OK && !cell)
            status = SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                             "the library has no cell, or no area, for %.60s", used);
        if (status != SQ_OK || below)
            continue;
        add_cells(w->c->cells, used, all);
        add_cells(json_object_get(part, "cells"), used, all);
        area += cell->area * (double)all;
    }
    w->c->area += area;
    area += json_number_value(json_object_get(part, "area"));
    json_object_set_new(part, "area", json_real(area));
    return status;
}

enum sq_status sq_synth_count(const struct sq_synth *s, const struct sq_synth_block *block,
                              const char *work, const char *mapper, struct sq_synth_count *c,
                              struct sq_error *err)
{
    json_auto_t *modules = NULL;
    SQ_TRY(load_modules(work, mapper, &modules, err));
    *c = (struct sq_synth_count){json_object(), json_object(), 0};
    const struct walk w = {s, block, modules, c};
    const char *const top = top_of(modules);
    if (top)
        SQ_TRY(add_module(&w, top, 1, NULL, err));
    if (json_object_size(c->cells) == 0)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%.40s has no cells: nothing in it does anything",
                       block->top);
    return SQ_OK;
}
