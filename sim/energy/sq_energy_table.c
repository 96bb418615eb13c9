// SPDX-License-Identifier: Apache-2.0
// Sums the lines of the recipe that is asked for, and divides them by their MACs
// (sq_energy_table.h).
#include "sim/energy/sq_energy_table.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/energy/sq_measure.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_recipe_json.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"

// Sums over the lines that count.
struct sums {
    const char *what;
    const json_t *recipe;              // NULL: of `vector`
    const char *block;                 // with `vector`: whose lines count, "vector" or "attend"
    const struct sq_energy_need *need; // of an attention unit
    struct sq_energy_array array;
    struct sq_mac_energy *out;
    struct sq_vector_energy *vector;
    double macs, beats, cycles, seconds;
    double change[SQ_N_MODES][SQ_N_MAC_SHARES], clock[SQ_N_MAC_SHARES], leak[SQ_N_MAC_SHARES];
    struct sq_error *err;
};

static enum sq_status number(const struct sums *s, const json_t *o, const char *key, double min,
                             double *value)
{
    return sq_json_double(o, s->what, key, min, 1e30, -1, value, s->err);
}

// Joules of a group of kinds; those of wires, which a line without --wires does not have, are among what switches.
static enum sq_status kinds(const struct sums *s, const json_t *o, double joules[SQ_N_ENERGIES])
{
    if (!json_is_object(o))
        return SQ_FAIL(s->err, SQ_ERR_ARG, "%s: a line has no joules by part", s->what);
    for (unsigned k = 0; k < SQ_N_ENERGIES; k++) {
        const char *name = sq_energy_kind_name((enum sq_energy_kind)k);
        SQ_TRY(sq_json_double(o, s->what, name, 0, 1e30, k == SQ_ENERGY_WIRES ? 0 : -1, &joules[k],
                              s->err));
        joules[k] *= 1e-18;
    }
    joules[SQ_ENERGY_SWITCHING] += joules[SQ_ENERGY_WIRES];
    joules[SQ_ENERGY_WIRES] = 0;
    return SQ_OK;
}

static enum sq_status add_mode(struct sums *s, const json_t *line, enum sq_energy_mode mode)
{
    const json_t *o = json_object_get(line, sq_energy_mode_name(mode));
    double share[SQ_N_MAC_SHARES][SQ_N_ENERGIES] = {{0}}, part[SQ_N_ENERGIES];
    const json_t *p;
    size_t i;
    SQ_TRY(kinds(s, json_object_get(o, "pes_aj"), share[SQ_MAC_PE]));
    json_array_foreach(json_object_get(o, "parts_aj"), i, p)
    {
        const char *name = json_string_value(json_object_get(p, "part"));
        const bool is_output = name && strcmp(name, sq_energy_part_name(SQ_PART_OUTPUT)) == 0;
        SQ_TRY(kinds(s, p, part));
        for (unsigned k = 0; k < SQ_N_ENERGIES; k++)
            share[is_output ? SQ_MAC_OUTPUT : SQ_MAC_LINE][k] += part[k];
    }
    for (unsigned k = 0; k < SQ_N_ENERGIES; k++) {
        share[SQ_MAC_LINE][k] -= share[SQ_MAC_PE][k];
        if (share[SQ_MAC_LINE][k] < 0 && share[SQ_MAC_LINE][k] > -1e-15 * (double)SQ_N_PARTS)
            share[SQ_MAC_LINE][k] = 0; // what rounding has left
        if (share[SQ_MAC_LINE][k] < 0)
            return SQ_FAIL(s->err, SQ_ERR_RANGE, "%s: more joules inside of PEs than in all parts",
                           s->what);
    }
    for (unsigned i_share = 0; i_share < SQ_N_MAC_SHARES; i_share++) {
        const double *e = share[i_share];
        s->change[mode][i_share] += e[SQ_ENERGY_SWITCHING] + e[SQ_ENERGY_INTERNAL];
        // Clock pins and leakage are those of the netlist in either kind of time.
        s->clock[i_share] += e[SQ_ENERGY_CLOCK] / SQ_N_MODES;
        s->leak[i_share] += e[SQ_ENERGY_LEAKAGE] / SQ_N_MODES;
    }
    return SQ_OK;
}

static bool has_size(const json_t *line, const char *parameter, unsigned size)
{
    const json_t *v = json_object_get(json_object_get(line, "parameters"), parameter);
    return !v || size == 0 || json_integer_value(v) == size;
}

// The block and the library of the lines are one.
static enum sq_status same(const struct sums *s, const json_t *line, const char *key, char *known,
                           size_t size)
{
    const char *text = json_string_value(json_object_get(line, key));
    if (!text || strlen(text) >= size)
        return SQ_FAIL(s->err, SQ_ERR_ARG, "%s: a line has no %s", s->what, key);
    if (s->out->n_layers == 0)
        memcpy(known, text, strlen(text) + 1);
    if (strcmp(text, known) == 0)
        return SQ_OK;
    return SQ_FAIL(s->err, SQ_ERR_ARG,
                   "%s: %s of lines of the same recipe = %.40s, %.40s, need one (sqsim energy "
                   "--block, --liberty)",
                   s->what, key, known, text);
}

// Nodes of known libraries; Liberty has no word for it.
static const char *node_of(const char *library)
{
    static const char *const known[][2] = {
        {"osu018", "180 nm"}, {"gf180", "180 nm"}, {"sg13g2", "130 nm"}, {"sky130", "130 nm"},
        {"Nangate", "45 nm"}, {"saed32", "32 nm"}, {"asap7", "7 nm"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcasestr(library, known[i][0]))
            return known[i][1];
    return "node unknown";
}

static enum sq_status add_netlist(struct sums *s, const json_t *line)
{
    static const char *const key[] = {"settled_ns", "path_ns"};
    const char *library = json_string_value(json_object_get(line, "liberty"));
    struct sq_mac_energy *out = s->out;
    if (library && out->n_layers == 0) {
        const char *slash = strrchr(library, '/'), *name = slash ? slash + 1 : library;
        snprintf(out->library, sizeof out->library, "%.120s, %s", name, node_of(name));
    }
    for (size_t i = 0; i < sizeof key / sizeof key[0]; i++) {
        double ns;
        SQ_TRY(sq_json_double(line, s->what, key[i], 0, 1e9, 0, &ns, s->err));
        out->needs_ns = ns > out->needs_ns ? ns : out->needs_ns;
    }
    return SQ_OK;
}

static enum sq_status add_line(struct sums *s, const json_t *line)
{
    double macs, beats, cycles, clock_ns;
    const json_t *recipe = json_object_get(line, "recipe");
    if (!json_is_object(recipe) || !json_equal(recipe, s->recipe))
        return SQ_OK;
    if (!json_is_true(json_object_get(line, "is_golden")))
        return SQ_FAIL(s->err, SQ_ERR_ARG, "%s: a line of the recipe is not golden", s->what);
    if (!has_size(line, "Rows", s->array.rows) || !has_size(line, "Cols", s->array.cols))
        return SQ_FAIL(s->err, SQ_ERR_ARG, "%s: a line of the recipe has not %ux%u PEs%s", s->what,
                       s->array.rows, s->array.cols,
                       s->array.bank ? " (sqsim energy --machine)" : "");
    if (!has_size(line, "BankLen", s->array.bank))
        return SQ_FAIL(s->err, SQ_ERR_ARG,
                       "%s: PEs of a line of the recipe do not take %u elements a beat "
                       "(sqsim energy --machine)",
                       s->what, s->array.bank);
    SQ_TRY(same(s, line, "block", s->out->block, sizeof s->out->block));
    SQ_TRY(same(s, line, "liberty_digest", s->out->liberty, sizeof s->out->liberty));
    SQ_TRY(number(s, line, "macs", 1, &macs));
    SQ_TRY(number(s, line, "beats", 1, &beats));
    SQ_TRY(number(s, line, "cycles", 1, &cycles));
    SQ_TRY(number(s, line, "clock_ns", 1e-3, &clock_ns));
    SQ_TRY(add_netlist(s, line));
    s->macs += macs;
    s->beats += beats;
    s->cycles += cycles;
    s->seconds += cycles * clock_ns * 1e-9;
    for (unsigned m = 0; m < SQ_N_MODES; m++)
        SQ_TRY(add_mode(s, line, (enum sq_energy_mode)m));
    s->out->has_wires =
        json_object_get(line, "wire_um") && (s->out->n_layers == 0 || s->out->has_wires);
    s->out->n_layers++;
    return SQ_OK;
}

static void settle(const struct sums *s)
{
    struct sq_mac_energy *out = s->out;
    out->slots = s->macs / s->beats;
    for (unsigned i = 0; i < SQ_N_MAC_SHARES; i++) {
        const double zero = s->change[SQ_ZERO_DELAY][i], delays = s->change[SQ_WITH_DELAYS][i];
        out->change[i][SQ_LOW] = (zero < delays ? zero : delays) / s->macs;
        out->change[i][SQ_HIGH] = (zero < delays ? delays : zero) / s->macs;
        out->clock[i] = s->clock[i] / (s->cycles * out->slots);
        out->leak[i] = s->leak[i] / (s->seconds * out->slots);
    }
}

// ---- a vector unit ------------------------------------------------------------------------------

// What changes, clock pins and leakage of all parts in one kind of time.
static enum sq_status all_parts(const struct sums *s, const json_t *line, enum sq_energy_mode mode,
                                double e[SQ_N_ENERGIES])
{
    const json_t *o = json_object_get(line, sq_energy_mode_name(mode)), *p;
    double part[SQ_N_ENERGIES];
    size_t i;
    json_array_foreach(json_object_get(o, "parts_aj"), i, p)
    {
        SQ_TRY(kinds(s, p, part));
        for (unsigned k = 0; k < SQ_N_ENERGIES; k++)
            e[k] += part[k];
    }
    return SQ_OK;
}

// Whether the line is of the unit that is asked for.
static bool is_unit(const struct sums *s, const json_t *line)
{
    const json_t *const parameters = json_object_get(line, "parameters");
    const char *const block = json_string_value(json_object_get(line, "block"));
    bool is = block && strcmp(block, s->block) == 0;
    for (size_t i = 0; is && s->need && s->need[i].name; i++)
        is = json_integer_value(json_object_get(parameters, s->need[i].name)) == s->need[i].value;
    return is;
}

static enum sq_status add_vector(struct sums *s, const json_t *line)
{
    const char *liberty = json_string_value(json_object_get(line, "liberty_digest"));
    double lanes = 1, compared, beats, cycles, clock_ns, ns, e[SQ_N_MODES][SQ_N_ENERGIES] = {{0}};
    struct sq_vector_energy *const v = s->vector;
    if (!is_unit(s, line))
        return SQ_OK;
    if (!json_is_true(json_object_get(line, "is_golden")))
        return SQ_FAIL(s->err, SQ_ERR_ARG, "%s: a line of block %s is not golden", s->what,
                       s->block);
    if (v->is_there)
        return SQ_FAIL(s->err, SQ_ERR_ARG, "%s: two lines of block %s, need one", s->what,
                       s->block);
    if (!liberty || strlen(liberty) >= sizeof v->liberty)
        return SQ_FAIL(s->err, SQ_ERR_ARG, "%s: the line of block %s has no liberty_digest",
                       s->what, s->block);
    SQ_TRY(sq_json_double(line, s->what, "outputs", 1, 1e18, 1, &compared,
                          s->err)); // older lines have none
    if (!s->need)
        SQ_TRY(number(s, json_object_get(line, "parameters"), "Lanes", 1, &lanes));
    SQ_TRY(number(s, line, "beats", 1, &beats));
    SQ_TRY(number(s, line, "cycles", 1, &cycles));
    SQ_TRY(number(s, line, "clock_ns", 1e-3, &clock_ns));
    SQ_TRY(sq_json_double(line, s->what, "settled_ns", 0, 1e9, 0, &ns, s->err));
    for (unsigned m = 0; m < SQ_N_MODES; m++)
        SQ_TRY(all_parts(s, line, (enum sq_energy_mode)m, e[m]));
    const double zero =
        e[SQ_ZERO_DELAY][SQ_ENERGY_SWITCHING] + e[SQ_ZERO_DELAY][SQ_ENERGY_INTERNAL];
    const double delays =
        e[SQ_WITH_DELAYS][SQ_ENERGY_SWITCHING] + e[SQ_WITH_DELAYS][SQ_ENERGY_INTERNAL];
    *v = (struct sq_vector_energy){.is_there = true,
                                   .change = {(zero < delays ? zero : delays) / (beats * lanes),
                                              (zero < delays ? delays : zero) / (beats * lanes)},
                                   .clock = e[SQ_ZERO_DELAY][SQ_ENERGY_CLOCK] / (cycles * lanes),
                                   .leak = e[SQ_ZERO_DELAY][SQ_ENERGY_LEAKAGE] /
                                           (cycles * clock_ns * 1e-9 * lanes),
                                   .needs_ns = ns};
    memcpy(v->liberty, liberty, strlen(liberty) + 1);
    return SQ_OK;
}

// ---- the file -----------------------------------------------------------------------------------

static enum sq_status add_text(struct sums *s, const char *at, const char *end)
{
    while (at < end) {
        const char *to = memchr(at, '\n', (size_t)(end - at));
        json_t *line;
        to = to ? to : end;
        if (to > at) {
            SQ_TRY(sq_json_parse(s->what, at, (size_t)(to - at), &line, s->err));
            const enum sq_status status = s->vector ? add_vector(s, line) : add_line(s, line);
            json_decref(line);
            SQ_TRY(status);
        }
        at = to + (to < end);
    }
    return SQ_OK;
}

enum { TABLE_MAX_NBYTES = 256 << 20 }; // a line of it has some hundred

static enum sq_status read(const char *path, struct sums *s)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view file = {0};
    s->what = sq_path_tail(path);
    SQ_TRY(sq_file_map_text(path, TABLE_MAX_NBYTES, &file, s->err));
    const char *text = (const char *)file.data;
    return file.nbytes ? add_text(s, text, text + file.nbytes) : SQ_OK;
}

// The recipe as a line of JSON gives it back: with as many digits.
static enum sq_status as_read(const struct sq_recipe *recipe, json_t **out, struct sq_error *err)
{
    json_t *made = sq_recipe_json(recipe, SQ_IN_RUN);
    SQ_FREED char *text = json_dumps(made, JSON_REAL_PRECISION(12));
    json_decref(made);
    SQ_NEED(text, err, "a recipe");
    return sq_json_parse("recipe", text, strlen(text), out, err);
}

enum sq_status sq_energy_table_read(const char *path, const struct sq_recipe *recipe,
                                    const struct sq_energy_array *array, struct sq_mac_energy *out,
                                    struct sq_error *err)
{
    json_auto_t *wanted = NULL;
    *out = (struct sq_mac_energy){0};
    SQ_TRY(as_read(recipe, &wanted, err));
    struct sums s = {.recipe = wanted,
                     .array = array ? *array : (struct sq_energy_array){1, 1, 0},
                     .out = out,
                     .err = err};
    SQ_TRY(read(path, &s));
    if (out->n_layers == 0)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "%s: no layer of this format and these options; sqsim energy --layer "
                       "--json with them writes one",
                       s.what);
    settle(&s);
    return SQ_OK;
}

static enum sq_status read_unit(const char *path, const char *block,
                                const struct sq_energy_need *need, struct sq_vector_energy *out,
                                struct sq_error *err)
{
    struct sums s = {.block = block, .need = need, .vector = out, .err = err};
    *out = (struct sq_vector_energy){.is_there = false};
    return read(path, &s);
}

enum sq_status sq_energy_table_vector(const char *path, struct sq_vector_energy *out,
                                      struct sq_error *err)
{
    return read_unit(path, "vector", NULL, out, err);
}

enum sq_status sq_energy_table_attend(const char *path, const struct sq_energy_need *need,
                                      struct sq_vector_energy *out, struct sq_error *err)
{
    return read_unit(path, "attend", need, out, err);
}
