// SPDX-License-Identifier: Apache-2.0
// What `sqsim area` prints (sq_cmd_area.h).
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/cli/sq_cmd_area.h"

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
    return row->result.has_delay && row->result.critical_path_ns <= row->period_ns;
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

// ---- text -------------------------------------------------------------------------------------

static void print_row(FILE *out, const struct sq_area_table *t, const struct sq_area_row *row)
{
    const struct sq_synth_result *r = &row->result;
    char parameters[256], delay[32] = "-", weight[32] = "-";
    parameters_text(&row->synth, parameters, sizeof parameters);
    if (r->has_delay)
        snprintf(delay, sizeof delay, "%.2f", r->critical_path_ns);
    if (isfinite(per_weight(row)))
        snprintf(weight, sizeof weight, "%.2f", per_weight(row));
    if (t->has_periods)
        fprintf(out, "%9.3f %-4s", row->period_ns, meets(row) ? "yes" : "no");
    fprintf(out, "%-22s %12.2f %10.1f %7u %6.1f%% %8s %10s %-6s %s\n", sq_area_title(&row->block),
            r->area, r->nand2_equivalents, r->n_cells, 100 * sequential_share(r), delay, weight,
            t->has_periods ? sq_synth_recipe_name(row->synth.recipe) : r->mapper, parameters);
}

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
    bool has_head = false;
    for (size_t i = 0; i < t->n; i++) {
        const struct sq_area_row *row = &t->row[i];
        const struct sq_core_config *c = &row->block.config;
        const double rank = part_area(t, row, SQ_AREA_GATHER_RANK);
        const double select = part_area(t, row, SQ_AREA_GATHER_SELECT);
        const double mux = part_area(t, row, SQ_AREA_GATHER_MUX);
        if (row->block.kind != SQ_AREA_GATHER_MUX || rank < 0 || select < 0 || mux < 0)
            continue;
        if (!has_head)
            fprintf(out,
                    "\nLogic of the gather per weight and cycle, um2 (rank and select once "
                    "per column, mux once per PE):\n%-10s %5s %5s %10s %10s %10s %10s\n",
                    "gather", "bank", "k", "rank", "select", "mux", "sum");
        has_head = true;
        fprintf(out, "%-10s %5u %5u %10.2f %10.2f %10.2f %10.2f\n",
                c->gather == SQ_GATHER_LOG ? "log" : "crossbar", c->bank, c->high_per_bank,
                rank / c->bank, select / c->bank, mux / c->bank, (rank + select + mux) / c->bank);
    }
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
            "gives no unit); 1 NAND2 = %s = %g.\n",
            t->synth->lib.nand2->name, t->synth->lib.nand2->area);
    if (t->has_periods)
        fprintf(out, "%9s %-4s", "period ns", "met");
    fprintf(out, "%-22s %12s %10s %7s %7s %8s %10s %-6s %s\n", "block", "area um2", "NAND2",
            "cells", "flops", "path ns", "um2/(w/c)", "map", "parameters");
    for (size_t i = 0; i < t->n; i++)
        print_row(out, t, &t->row[i]);
    if (!t->has_periods)
        print_gathers(out, t);
}

// ---- JSON -------------------------------------------------------------------------------------

static void put_line(FILE *out, json_t *o)
{
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(10));
    if (text)
        fprintf(out, "%s\n", text);
    free(text);
    json_decref(o);
}

static json_t *json_row(const struct sq_area_table *t, const struct sq_area_row *row)
{
    const struct sq_synth_result *r = &row->result;
    json_t *o = json_object(), *parameters = json_object(), *cells = json_object();
    for (size_t i = 0; i < row->synth.n_params; i++)
        json_object_set_new(parameters, row->synth.param[i].name,
                            json_integer(row->synth.param[i].value));
    for (size_t i = 0; i < r->n_types; i++)
        json_object_set_new(cells, r->cell[i].name, json_integer(r->cell[i].count));
    json_object_set_new(o, "block", json_string(sq_area_title(&row->block)));
    json_object_set_new(o, "module", json_string(row->synth.top));
    json_object_set_new(o, "parameters", parameters);
    if (row->synth.is_foreign)
        json_object_set_new(o, "clock", *r->clock ? json_string(r->clock) : json_null());
    json_object_set_new(o, "keep_parts", json_boolean(t->keeps_parts));
    json_object_set_new(o, "area_um2", json_real(r->area));
    json_object_set_new(o, "nand2_equivalents", json_real(r->nand2_equivalents));
    json_object_set_new(o, "critical_path_ns",
                        r->has_delay ? json_real(r->critical_path_ns) : json_null());
    if (t->has_periods) {
        json_object_set_new(o, "period_ns", json_real(row->period_ns));
        json_object_set_new(o, "is_met", json_boolean(meets(row)));
        json_object_set_new(o, "recipe", json_string(sq_synth_recipe_name(row->synth.recipe)));
        json_object_set_new(o, "target_ps", json_integer(row->synth.target_ps));
    }
    json_object_set_new(o, "sequential_share", json_real(sequential_share(r)));
    const double weights = sq_area_weights_per_cycle(&row->block);
    json_object_set_new(o, "weights_per_cycle", weights > 0 ? json_real(weights) : json_null());
    json_object_set_new(o, "um2_per_weight_cycle",
                        weights > 0 ? json_real(per_weight(row)) : json_null());
    json_object_set_new(o, "mapper", json_string(r->mapper));
    json_object_set_new(o, "n_cells", json_integer(r->n_cells));
    json_object_set_new(o, "cells", cells);
    json_object_set_new(o, "liberty", sq_cli_json_text(t->liberty));
    json_object_set_new(o, "provenance", sq_cli_provenance(NULL, basis, 0));
    return o;
}

void sq_area_print_json(FILE *out, const struct sq_area_table *t)
{
    char digest[SQ_DIGEST_SIZE];
    json_t *o = json_object();
    const struct sq_liberty *lib = &t->synth->lib;
    sq_digest_hex(t->synth->liberty_digest, digest);
    for (size_t i = 0; i < t->n; i++)
        put_line(out, json_row(t, &t->row[i]));
    json_object_set_new(o, "summary", json_true());
    json_object_set_new(o, "command", sq_cli_json_text(t->command));
    json_object_set_new(o, "rows", json_integer((json_int_t)t->n));
    json_object_set_new(o, "liberty", sq_cli_json_text(t->liberty));
    json_object_set_new(o, "liberty_digest", json_string(digest));
    json_object_set_new(o, "nand2", json_string(lib->nand2->name));
    json_object_set_new(o, "nand2_um2", json_real(lib->nand2->area));
    json_object_set_new(o, "full_adder",
                        lib->adder.cell[0] ? json_string(lib->adder.cell) : json_null());
    json_object_set_new(o, "yosys", json_string(t->synth->yosys_version));
    json_object_set_new(
        o, "sta", t->synth->sta_version[0] ? json_string(t->synth->sta_version) : json_null());
    json_object_set_new(o, "provenance", sq_cli_provenance(NULL, basis, 0));
    put_line(out, o);
}
