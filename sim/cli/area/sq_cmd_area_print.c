// SPDX-License-Identifier: Apache-2.0
// What `sqsim area` prints (sq_cmd_area.h).
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/area/sq_cmd_area.h"
#include "sim/cli/sq_cli_synth.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/energy/sq_energy.h"

static const char basis[] = "measured: synthesis by Yosys, delays by OpenSTA, before layout";

static double sequential_share(const struct sq_synth_result *r)
{
    return r->area > 0 ? r->sequential_area / r->area : 0;
}

// NAN: nobody said how many weights a module takes.
static double per_weight(const struct sq_area_row *row)
{
    const double weights = sq_area_weights_per_cycle(&row->block);
    return weights > 0 ? row->result.area / weights : NAN;
}

static bool meets(const struct sq_area_row *row)
{
    return row->result.has_delay && row->result.min_period_ns <= row->period_ns;
}

// Whether a row has a path between opposite edges of its clock that decides the period.
static bool has_half_paths(const struct sq_area_table *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->row[i].result.has_delay &&
            t->row[i].result.min_period_ns > t->row[i].result.critical_path_ns)
            return true;
    return false;
}

// "BankLen=32 Gather=1 ..."
static void parameters_text(const struct sq_synth_block *b, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < b->n_params && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s=%u", i ? " " : "", b->param[i].name,
                               b->param[i].value);
}

// ---- names ----------------------------------------------------------------------------------

static void put_name(struct sq_cli_table *out, const char *group, const struct sq_area_item *block)
{
    const struct sq_synth_block synth = sq_area_synth(block);
    const bool is_unit = block->kind == SQ_AREA_UNIT; // others take theirs from options
    json_t *parameters = json_object();
    char text[256];
    parameters_text(&synth, text, sizeof text);
    for (size_t i = 0; i < synth.n_params; i++)
        json_object_set_new(parameters, synth.param[i].name, json_integer(synth.param[i].value));
    const struct sq_cli_column columns[] = {
        SQ_COLUMN("group", group, "group", -18),
        SQ_COLUMN("block", sq_area_title(block), "block", -32),
        SQ_COLUMN("module", synth.top, "module", -24),
        SQ_COLUMN(NULL, is_unit ? text : "by options", "parameters", 0),
        SQ_KEY_IF(is_unit, "parameters", parameters),
        SQ_COLUMNS_END};
    sq_cli_put(out, columns);
}

void sq_area_print_list(FILE *out, bool is_json)
{
    struct sq_cli_table table = {.out = out, .is_json = is_json};
    struct sq_area_item block = {.config = sq_core_config_default()};
    for (int kind = 0; kind < SQ_AREA_UNIT; kind++) {
        block.kind = (enum sq_area_kind)kind;
        put_name(&table, "parts", &block);
    }
    block.kind = SQ_AREA_UNIT;
    for (size_t b = 0; b < sq_n_blocks; b++)
        for (size_t i = 0; i < sq_blocks[b]->n_area; i++) {
            block.unit = &sq_blocks[b]->area[i];
            put_name(&table, sq_blocks[b]->name, &block);
        }
}

// ---- rows -------------------------------------------------------------------------------------

// Numbers of ten digits: sums of the library's areas.
static void put_line(FILE *out, json_t *o)
{
    SQ_FREED char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(10));
    if (text)
        fprintf(out, "%s\n", text);
    json_decref(o);
}

// A part of the chip; with what it takes whatever it works on, where the library has tables of power.
static json_t *part_json(const struct sq_synth_part *p, struct sq_lib_models *models)
{
    struct sq_energy_idle idle = {NAN, NAN};
    if (models && sq_energy_idle_of(models, p->cell, p->n_types, &idle, NULL) != SQ_OK)
        idle = (struct sq_energy_idle){NAN, NAN};
    const struct sq_cli_column row[] = {SQ_KEYS("count", p->count, "um2", p->area),
                                        SQ_KEY_IF(!isnan(p->path_ns), "path_ns", p->path_ns),
                                        SQ_KEY_IF(models, "clock_fj", 1e15 * idle.clock),
                                        SQ_KEY_IF(models, "leak_uw", 1e6 * idle.leak),
                                        SQ_COLUMNS_END};
    return sq_cli_object(row);
}

// All parts of a row; those of a chip are priced.
static json_t *parts_json(const struct sq_area_table *t, const struct sq_area_row *row)
{
    const struct sq_synth_result *const r = &row->result;
    struct sq_lib_models models;
    json_t *parts = json_object();
    memset(&models, 0, sizeof models);
    const bool is_open =
        row->block.is_chip && sq_lib_models_open(&models, &t->synth->lib, NULL) == SQ_OK;
    for (size_t i = 0; i < r->n_parts; i++)
        json_object_set_new(parts, r->part[i].name,
                            part_json(&r->part[i], is_open ? &models : NULL));
    if (is_open)
        sq_lib_models_close(&models);
    return parts;
}

// Memories of a library in a chip, and the bits of each.
static unsigned n_macros(const struct sq_area_row *row)
{
    const struct sq_synth_result *const r = &row->result;
    unsigned n = 0;
    for (size_t i = 0; row->block.macro && i < r->n_types; i++)
        if (sq_liberty_find(&row->block.macro->lib, r->cell[i].name))
            n += r->cell[i].count;
    return n;
}

static unsigned macro_bits(const struct sq_area_row *row)
{
    return row->block.macro ? 64 * row->block.macro->words : 0;
}

static json_t *units_json(const struct sq_synth_result *r)
{
    json_t *units = json_object();
    struct sq_synth_part unit;
    for (size_t i = 0; i < r->n_parts;) {
        i = sq_area_chip_unit(r, i, &unit);
        const struct sq_cli_column row[] = {
            SQ_KEYS("um2", unit.area), SQ_KEY_IF(!isnan(unit.path_ns), "path_ns", unit.path_ns),
            SQ_COLUMNS_END};
        json_object_set_new(units, unit.name, sq_cli_object(row));
    }
    return units;
}

static json_t *wires_json(const struct sq_synth_result *r)
{
    const struct sq_synth_wires *const w = &r->wires;
    const struct sq_cli_column row[] = {
        SQ_KEYS("length_um", w->length_um, "um_per_cell", w->length_um / r->n_cells, "utilisation",
                w->utilisation, "capacitance_pf", 1e12 * w->farads),
        SQ_KEYS("path_without_ns", w->without_ns, "path_library_ns", w->library_ns,
                "path_placed_ns", w->placed_ns),
        SQ_KEYS("n_sized", w->n_sized, "n_buffers", w->n_buffers, "seconds_host", w->seconds),
        SQ_COLUMNS_END};
    return sq_cli_object(row);
}

static void put_row(struct sq_cli_table *out, const struct sq_area_table *t,
                    const struct sq_area_row *row)
{
    const struct sq_synth_result *r = &row->result;
    const double weights = sq_area_weights_per_cycle(&row->block);
    const char *recipe = sq_synth_recipe_name(row->synth.recipe);
    const bool has = t->has_periods;
    json_t *parameters = json_object(), *cells = json_object();
    char text[256], digest[SQ_DIGEST_SIZE];
    sq_digest_hex(t->synth->liberty_digest, digest);
    parameters_text(&row->synth, text, sizeof text);
    for (size_t i = 0; i < row->synth.n_params; i++)
        json_object_set_new(parameters, row->synth.param[i].name,
                            json_integer(row->synth.param[i].value));
    for (size_t i = 0; i < r->n_types; i++)
        json_object_set_new(cells, r->cell[i].name, json_integer(r->cell[i].count));
    const struct sq_cli_column columns[] = {
        SQ_COLUMN(NULL, row->period_ns, "period", 9, .unit = "ns", .as = "%.3f", .is_absent = !has),
        SQ_COLUMN(NULL, meets(row), "met", -3, .is_absent = !has),
        SQ_COLUMN("block", sq_area_title(&row->block), "block", -22),
        SQ_KEYS("module", row->synth.top, "parameters", parameters),
        SQ_KEY_IF(row->synth.is_foreign, "clock", *r->clock ? r->clock : NULL),
        SQ_KEYS("keep_parts", row->synth.keeps_parts),
        SQ_KEY_IF(row->synth.keeps_parts, "parts", parts_json(t, row)),
        SQ_KEY_IF(row->block.is_chip, "units", units_json(r)),
        SQ_KEY_IF(row->block.is_chip, "macros", n_macros(row)),
        SQ_KEY_IF(row->block.is_chip, "macro_bits", macro_bits(row)),
        SQ_COLUMN("area_um2", r->area, "area", 12, .unit = "um2", .as = "%.2f"),
        SQ_COLUMN("nand2_equivalents", r->nand2_equivalents, "NAND2", 10, .as = "%.1f"),
        SQ_COLUMN(NULL, r->n_cells, "cells", 7),
        SQ_COLUMN(NULL, sequential_share(r), "flops", 7, .as = "%.1f%%", .scale = 100),
        SQ_COLUMN("critical_path_ns", r->has_delay ? r->critical_path_ns : NAN, "path", 8,
                  .unit = "ns", .as = "%.2f"),
        SQ_COLUMN("min_period_ns", r->has_delay ? r->min_period_ns : NAN, "clock", 8, .unit = "ns",
                  .as = "%.2f", .is_absent = !out->is_json && !has_half_paths(t)),
        SQ_COLUMN(NULL, r->wires.without_ns, "no wires", 8, .unit = "ns", .as = "%.2f",
                  .is_absent = !t->has_wires),
        SQ_COLUMN(NULL, r->wires.length_um, "wires", 10, .unit = "um", .as = "%.0f",
                  .is_absent = !t->has_wires),
        SQ_COLUMN(NULL, r->wires.length_um / r->n_cells, "um/cell", 8, .as = "%.1f",
                  .is_absent = !t->has_wires),
        SQ_COLUMN(NULL, r->wires.seconds, "took", 7, .unit = "s", .as = "%.1f",
                  .is_absent = !t->has_wires),
        SQ_KEY_IF(t->has_wires, "wires", wires_json(r)),
        SQ_KEY_IF(has, "period_ns", row->period_ns),
        SQ_KEY_IF(has, "is_met", meets(row)),
        SQ_KEY_IF(has, "recipe", recipe),
        SQ_KEY_IF(has, "target_ps", row->synth.target_ps),
        SQ_KEYS("sequential_share", sequential_share(r), "weights_per_cycle",
                weights > 0 ? weights : NAN),
        SQ_COLUMN("um2_per_weight_cycle", per_weight(row), "um2/(w/c)", 10, .as = "%.2f"),
        SQ_COLUMN(NULL, has ? recipe : r->mapper, "map", -6),
        SQ_COLUMN(NULL, text, "parameters", 0),
        SQ_KEYS("mapper", r->mapper, "n_cells", r->n_cells, "cells", cells),
        SQ_KEY_IF(row->block.is_chip, "liberty_digest", digest),
        SQ_KEYS("liberty", t->liberty, "wire_load", sq_synth_wire_load(t->synth), "provenance",
                sq_cli_provenance(NULL, basis, 0)),
        SQ_COLUMNS_END};
    if (out->is_json)
        put_line(out->out, sq_cli_object(columns));
    else
        sq_cli_put(out, columns);
}

// ---- text -------------------------------------------------------------------------------------

// The area of a part of the gather that `row` stands for, or -1.
static double part_area(const struct sq_area_table *t, const struct sq_area_row *row,
                        enum sq_area_kind kind)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct sq_core_config *a = &t->row[i].block.config, *b = &row->block.config;
        if (t->row[i].block.kind == kind && a->bank == b->bank &&
            a->high_per_bank == b->high_per_bank && a->act_bits == b->act_bits &&
            (kind == SQ_AREA_GATHER_RANK || a->gather == b->gather))
            return t->row[i].result.area;
    }
    return -1;
}

// Rank and select are shared by the tokens of a column, the mux is paid by every PE.
static void print_gathers(FILE *out, const struct sq_area_table *t)
{
    struct sq_cli_table table = {.out = out};
    for (size_t i = 0; i < t->n; i++) {
        const struct sq_area_row *row = &t->row[i];
        const struct sq_core_config *c = &row->block.config;
        const double rank = part_area(t, row, SQ_AREA_GATHER_RANK);
        const double select = part_area(t, row, SQ_AREA_GATHER_SELECT);
        const double mux = part_area(t, row, SQ_AREA_GATHER_MUX);
        if (row->block.kind != SQ_AREA_GATHER_MUX || rank < 0 || select < 0 || mux < 0)
            continue;
        if (!table.has_head)
            fprintf(out, "\nLogic of the gather per weight and cycle, um2 (rank and select once "
                         "per column, mux once per PE):\n");
        const struct sq_cli_column columns[] = {
            SQ_COLUMN(NULL, c->gather == SQ_GATHER_LOG ? "log" : "crossbar", "gather", -10),
            SQ_COLUMN(NULL, c->bank, "bank", 5),
            SQ_COLUMN(NULL, c->high_per_bank, "k", 5),
            SQ_COLUMN(NULL, rank / c->bank, "rank", 10, .as = "%.2f"),
            SQ_COLUMN(NULL, select / c->bank, "select", 10, .as = "%.2f"),
            SQ_COLUMN(NULL, mux / c->bank, "mux", 10, .as = "%.2f"),
            SQ_COLUMN(NULL, (rank + select + mux) / c->bank, "sum", 10, .as = "%.2f"),
            SQ_COLUMNS_END};
        sq_cli_put(&table, columns);
    }
}

static void put_part(struct sq_cli_table *out, const char *head, const struct sq_synth_part *p,
                     const struct sq_synth_result *r)
{
    const struct sq_cli_column columns[] = {
        SQ_COLUMN(NULL, p->name, head, -38),
        SQ_COLUMN(NULL, p->count, "count", 6, .is_absent = !p->count),
        SQ_COLUMN(NULL, p->area, "area", 12, .unit = "um2", .as = "%.2f"),
        SQ_COLUMN(NULL, p->area / r->area, "share", 7, .as = "%.1f%%", .scale = 100),
        SQ_COLUMN(NULL, p->path_ns, "path", 8, .unit = "ns", .as = "%.2f"),
        SQ_COLUMNS_END};
    sq_cli_put(out, columns);
}

// The units of a chip and their parts, with their own cells each: both add up to the area.
static void print_chip(FILE *out, const struct sq_area_row *row)
{
    const struct sq_synth_result *const r = &row->result;
    struct sq_cli_table units = {.out = out}, parts = {.out = out};
    struct sq_synth_part unit;
    fprintf(out, "\nUnits of %s; the path is the longest that ends in one of them:\n",
            row->synth.top);
    for (size_t i = 0; i < r->n_parts;) {
        i = sq_area_chip_unit(r, i, &unit);
        put_part(&units, "unit", &unit, r);
    }
    if (n_macros(row) > 0)
        fprintf(out, "Memories of the library: %u of %u bits.\n", n_macros(row), macro_bits(row));
    fprintf(out, "\nParts, each with its own cells and not those of parts in it:\n");
    for (size_t i = 0; i < r->n_parts; i++)
        put_part(&parts, "part", &r->part[i], r);
    if (r->has_delay)
        fprintf(out, "The clock of this netlist: %.1f MHz.\n", 1e3 / r->min_period_ns);
}

void sq_area_print_text(FILE *out, const struct sq_area_table *t)
{
    json_t *p = sq_cli_provenance(NULL, basis, 0);
    const char *sta = t->synth->sta_version;
    char digest[SQ_DIGEST_SIZE];
    sq_digest_hex(t->synth->liberty_digest, digest);
    fprintf(out, "# %s | %s, revision %s | %s | %s%s | %s, digest %s\n", sq_cli_text(t->command),
            json_string_value(json_object_get(p, "tool")),
            json_string_value(json_object_get(p, "revision")), t->synth->yosys_version,
            *sta ? "OpenSTA " : "no OpenSTA", sta, sq_cli_text(t->liberty), digest);
    json_decref(p);
    fprintf(out,
            "# Measured by synthesis, before layout. Area: sum of cells, um2 (assumed, Liberty "
            "gives no unit); 1 NAND2 = %s = %g. Delays: %s.\n",
            t->synth->lib.nand2->name, t->synth->lib.nand2->area, sq_cli_synth_wires(t->synth));
    struct sq_cli_table table = {.out = out};
    for (size_t i = 0; i < t->n; i++)
        put_row(&table, t, &t->row[i]);
    if (!t->has_periods)
        print_gathers(out, t);
    for (size_t i = 0; i < t->n; i++)
        if (t->row[i].block.is_chip)
            print_chip(out, &t->row[i]);
}

void sq_area_print_json(FILE *out, const struct sq_area_table *t)
{
    char digest[SQ_DIGEST_SIZE];
    const struct sq_liberty *lib = &t->synth->lib;
    const char *sta = t->synth->sta_version, *adder = lib->adder.cell;
    struct sq_cli_table table = {.out = out, .is_json = true};
    sq_digest_hex(t->synth->liberty_digest, digest);
    for (size_t i = 0; i < t->n; i++)
        put_row(&table, t, &t->row[i]);
    const struct sq_cli_column columns[] = {
        SQ_KEYS("command", t->command, "rows", t->n, "liberty", t->liberty),
        SQ_KEYS("liberty_digest", digest, "nand2", lib->nand2->name, "nand2_um2", lib->nand2->area),
        SQ_KEYS("full_adder", *adder ? adder : NULL, "yosys", t->synth->yosys_version),
        SQ_KEYS("sta", *sta ? sta : NULL, "wire_load", sq_synth_wire_load(t->synth)),
        SQ_COLUMNS_END};
    put_line(out, sq_cli_summary(columns, sq_cli_provenance(NULL, basis, 0)));
}
