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
    json_t *root = NULL;
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
    json_decref(root);
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

static bool is_module(json_t *modules, const char *used)
{
    const char *key;
    const json_t *module;
    json_object_foreach(modules, key, module)
    {
        if (strcmp(as_used(key), used) == 0)
            return true;
    }
    return false;
}

// Instances of a module in the whole block: one of the module that stands in no other.
static json_int_t instances(json_t *modules, const char *name)
{
    const char *above;
    const json_t *module;
    json_int_t n = 0;
    bool is_top = true;
    json_object_foreach(modules, above, module)
    {
        const json_t *count = json_object_get(cells_of(module), as_used(name));
        is_top = is_top && !count;
        if (count)
            n += json_integer_value(count) * instances(modules, above);
    }
    return is_top ? 1 : n;
}

const struct sq_lib_cell *sq_synth_cell(const struct sq_synth *s,
                                        const struct sq_synth_block *block, const char *name)
{
    const struct sq_lib_cell *cell = sq_liberty_find(&s->lib, name);
    if (!cell && block->macro)
        cell = sq_liberty_find(&block->macro->lib, name);
    return cell && cell->area >= 0 ? cell : NULL;
}

void sq_synth_part_name(const char *module, char name[SQ_SYNTH_PART_LEN])
{
    const char *from = strchr(module, '\\');
    from = from ? from + 1 : module;
    snprintf(name, SQ_SYNTH_PART_LEN, "%.*s", (int)strcspn(from, "\\"), from);
}

// So many more of a cell.
static void add_cells(json_t *cells, const char *name, json_int_t n)
{
    const json_int_t before = json_integer_value(json_object_get(cells, name));
    json_object_set_new(cells, name, json_integer(before + n));
}

// Modules of one name and other parameters are one part. A new reference to its cells.
static json_t *add_part(json_t *parts, const char *module, json_int_t n, double area)
{
    char name[SQ_SYNTH_PART_LEN];
    sq_synth_part_name(module, name);
    const json_t *same = json_object_get(parts, name);
    json_t *const before = json_object_get(same, "cells");
    json_t *const cells = before ? json_incref(before) : json_object();
    n += json_integer_value(json_object_get(same, "count"));
    area += json_number_value(json_object_get(same, "area"));
    json_object_set_new(parts, name,
                        json_pack("{s:I, s:f, s:O}", "count", n, "area", area, "cells", cells));
    return cells;
}

// The cells of one module, as often as it is there.
static enum sq_status add_module(const struct sq_synth *s, const struct sq_synth_block *b,
                                 json_t *modules, const char *key, struct sq_synth_count *c,
                                 struct sq_error *err)
{
    const json_int_t n = instances(modules, key);
    json_t *const own = json_object();
    const char *name;
    const json_t *count;
    double area = 0;
    json_object_foreach((json_t *)(uintptr_t)cells_of(json_object_get(modules, key)), name, count)
    {
        if (is_module(modules, name))
            continue;
        const struct sq_lib_cell *cell = sq_synth_cell(s, b, name);
        if (!cell) {
            json_decref(own);
            return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                           "the library has no cell, or no area, for %.60s", name);
        }
        const json_int_t all = n * json_integer_value(count);
        add_cells(c->cells, name, all);
        add_cells(own, name, all);
        area += cell->area * (double)all;
    }
    c->area += area;
    json_t *const cells = add_part(c->parts, key, n, area);
    json_object_foreach(own, name, count)
    {
        add_cells(cells, name, json_integer_value(count));
    }
    json_decref(cells);
    json_decref(own);
    return SQ_OK;
}

enum sq_status sq_synth_count(const struct sq_synth *s, const struct sq_synth_block *block,
                              const char *work, const char *mapper, struct sq_synth_count *c,
                              struct sq_error *err)
{
    const char *key;
    const json_t *module;
    json_t *modules;
    SQ_TRY(load_modules(work, mapper, &modules, err));
    *c = (struct sq_synth_count){json_object(), json_object(), 0};
    enum sq_status status = SQ_OK;
    json_object_foreach(modules, key, module)
    {
        SQ_THEN(status, add_module(s, block, modules, key, c, err));
    }
    json_decref(modules);
    if (status == SQ_OK && json_object_size(c->cells) == 0)
        status = SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%.40s has no cells: nothing in it does anything",
                         block->top);
    return status;
}
