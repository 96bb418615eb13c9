// SPDX-License-Identifier: Apache-2.0
// The specification of a sweep: YAML, checked as a whole before any work (sq_sweep.h).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_grow.h"
#include "sim/io/sq_home.h"
#include "sim/io/sq_order.h"
#include "sim/io/sq_quote.h"
#include "sim/io/sq_suggest.h"
#include "sim/io/sq_yaml.h"
#include "sim/sweep/sq_sweep_grid.h"

enum { AXIS_MAX_VALUES = 1000000, AXIS_MAX_ENTRIES = 4096, MAX_CONSTRAINTS = 64 };

// ---- as the file has it -----------------------------------------------------------------------

struct raw_list {
    char **entry;
    unsigned n;
};
struct raw_axes {
    struct raw_list axis[SQ_N_AXES];
};
struct raw {
    char *name, *title;
    struct raw_axes axes;
    struct raw_list constraints, measures;
};

static const cyaml_schema_value_t text_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, 240)};

// The fields of the axes come from the table of axes.
struct schema {
    cyaml_schema_field_t axis[SQ_N_AXES + 1], top[6];
    cyaml_schema_value_t file;
};

static cyaml_schema_field_t list_field(const char *key, bool is_optional, size_t offset,
                                       uint32_t max)
{
    return (cyaml_schema_field_t){
        .key = key,
        .data_offset = (uint32_t)(offset + offsetof(struct raw_list, entry)),
        .count_offset = (uint32_t)(offset + offsetof(struct raw_list, n)),
        .count_size = sizeof(unsigned),
        .value = {.type = CYAML_SEQUENCE,
                  .flags = CYAML_FLAG_POINTER | (is_optional ? CYAML_FLAG_OPTIONAL : 0),
                  .data_size = sizeof(char *),
                  .sequence = {.entry = &text_schema, .min = 1, .max = max}}};
}

static void make_schema(struct schema *s)
{
    memset(s, 0, sizeof *s);
    for (unsigned a = 0; a < SQ_N_AXES; a++)
        s->axis[a] =
            list_field(sq_axes[a].name, true, a * sizeof(struct raw_list), AXIS_MAX_ENTRIES);
    s->top[0] = (cyaml_schema_field_t)CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct raw,
                                                             name, 1, 60);
    s->top[1] = (cyaml_schema_field_t)CYAML_FIELD_STRING_PTR(
        "title", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct raw, title, 1, 200);
    s->top[2] = (cyaml_schema_field_t)CYAML_FIELD_MAPPING("axes", CYAML_FLAG_DEFAULT, struct raw,
                                                          axes, s->axis);
    s->top[3] = list_field("constraints", true, offsetof(struct raw, constraints), MAX_CONSTRAINTS);
    s->top[4] = list_field("measures", false, offsetof(struct raw, measures), SQ_MEASURES_MAX);
    s->file = (cyaml_schema_value_t){CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw, s->top)};
}

// ---- axes ---------------------------------------------------------------------------------------

static bool is_number(const char *text, double *v)
{
    char *end;
    *v = strtod(text, &end);
    return *text && strchr("0123456789.-", *text) && *end == '\0' && isfinite(*v);
}

// The axis of formats stands before those whose values depend on it.
static bool has_sq_only(const struct sq_sweep_grid *s)
{
    for (size_t i = 0; i < s->axis[SQ_AXIS_FORMAT].n; i++)
        if (!s->of_format[(size_t)s->axis[SQ_AXIS_FORMAT].value[i]].option[SQ_AXIS_BANK])
            return false;
    return true;
}

// What a single value must be, whatever the others are.
static enum sq_status check_number(const struct sq_sweep_grid *s, unsigned a, double v,
                                   const char *text, struct sq_error *err)
{
    const struct sq_axis *axis = &sq_axes[a];
    const bool is_sq = has_sq_only(s);
    unsigned k;
    struct sq_error inner;
    if (v < axis->min || v > axis->max || (axis->is_integer && v != floor(v)))
        return SQ_FAIL(err, SQ_ERR_RANGE, "axis %s = %.40s, need %g..%g", axis->name, text,
                       axis->min, axis->max);
    if ((a == SQ_AXIS_BANK && sq_format_high_per_bank((unsigned)v, .5, &k, &inner) != SQ_OK) ||
        (a == SQ_AXIS_SPARSITY && is_sq && sq_format_high_per_bank(128, v, &k, &inner) != SQ_OK))
        return SQ_FAIL(err, SQ_ERR_RANGE, "axis %.160s", inner.text);
    if (a == SQ_AXIS_GROUP && is_sq && v != 0 && v != 32 && v != 64 && v != 128)
        return SQ_FAIL(err, SQ_ERR_RANGE, "axis group = %.40s, need 32, 64, 128 or row", text);
    if (a == SQ_AXIS_ACT_BITS && v != 4 && v != 8 && (v != 16 || is_sq))
        return SQ_FAIL(err, SQ_ERR_RANGE, "axis act_bits = %.40s, need 4 or 8%s", text,
                       is_sq ? "" : " or 16");
    return SQ_OK;
}

static enum sq_status add_value(struct sq_sweep_grid *s, unsigned a, double v, const char *text,
                                struct sq_error *err)
{
    const size_t n = s->axis[a].n;
    if (n == AXIS_MAX_VALUES)
        return SQ_FAIL(err, SQ_ERR_RANGE, "axis %s has more than %d values", sq_axes[a].name,
                       AXIS_MAX_VALUES);
    if (!sq_axes[a].choice && !sq_axes[a].is_path && !isnan(v))
        SQ_TRY(check_number(s, a, v, text, err));
    SQ_TRY(SQ_GROW(s->axis[a].value, n, err, "axis %s", sq_axes[a].name));
    s->axis[a].value[s->axis[a].n++] = v;
    return SQ_OK;
}

// "A..B", "A..B+STEP" or "A..B*FACTOR".
static enum sq_status add_range(struct sq_sweep_grid *s, unsigned a, const char *text,
                                struct sq_error *err)
{
    char head[64], *dots, *tail, kind = '+';
    double first, last, step = 1;
    snprintf(head, sizeof head, "%s", text);
    dots = strstr(head, "..");
    *dots = '\0';
    tail = dots + 2 + strcspn(dots + 2, "+*");
    if (*tail) {
        kind = *tail;
        *tail = '\0';
        if (!is_number(tail + 1, &step))
            step = 0;
    }
    if (!is_number(head, &first) || !is_number(dots + 2, &last) || first > last || first < 0 ||
        (kind == '*' ? step <= 1 || first == 0 : step <= 0))
        return SQ_FAIL(err, SQ_ERR_ARG, "axis %s: range %.40s, need A..B, A..B+STEP or A..B*FACTOR",
                       sq_axes[a].name, text);
    SQ_TRY(check_number(s, a, first, text, err));
    SQ_TRY(check_number(s, a, last, text, err));
    for (double v = first; v <= last; v = kind == '*' ? v * step : v + step)
        SQ_TRY(add_value(s, a, v, text, err));
    return SQ_OK;
}

static enum sq_status add_choice(struct sq_sweep_grid *s, unsigned a, const char *text,
                                 struct sq_error *err)
{
    const char *const *choice = sq_axes[a].choice;
    const struct sq_format_ops *f = NULL;
    char file[SQ_SWEEP_PATH_SIZE], path[SQ_SWEEP_PATH_SIZE], named[2 * SQ_SWEEP_PATH_SIZE];
    const size_t len = strcspn(text, "@"); // a description, and other values in it
    size_t n = 0;
    char list[80] = "";
    if (a == SQ_AXIS_FORMAT && len < sizeof file) {
        snprintf(file, sizeof file, "%.*s", (int)len, text);
        sq_sweep_path(file, s->home, s->folder, SQ_HOME_FORMAT, path);
        snprintf(named, sizeof named, "%s%s", sq_format_find(text) ? file : path, text + len);
        SQ_TRY(sq_format_named(named, s->home ? s->home : ".", &f, err));
    }
    text = f ? f->name : text;
    for (; choice[n]; n++) {
        if (strcmp(choice[n], text) == 0)
            return add_value(s, a, (double)n, text, err);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", n ? ", " : "", choice[n]);
    }
    const char *nearest = sq_suggest(text, choice, n);
    return SQ_FAIL(err, SQ_ERR_ARG, "axis %s = %.40s, need one of %s%s%s%s", sq_axes[a].name, text,
                   list, nearest ? " (did you mean " : "", nearest ? nearest : "",
                   nearest ? "?)" : "");
}

static enum sq_status add_path(struct sq_sweep_grid *s, unsigned a, const char *text,
                               struct sq_error *err)
{
    const size_t n = s->axis[a].n;
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == '"' || *c == '\\')
            return SQ_FAIL(err, SQ_ERR_ARG,
                           "axis %s: a path with a control character, quote or backslash",
                           sq_axes[a].name);
    for (size_t i = 0; i < n; i++)
        if (strcmp(s->axis[a].name[i], text) == 0)
            return SQ_FAIL(err, SQ_ERR_ARG, "axis %s has '%.80s' twice", sq_axes[a].name, text);
    SQ_TRY(SQ_GROW(s->axis[a].name, n, err, "axis %s", sq_axes[a].name));
    char *copy = strdup(text);
    SQ_NEED(copy, err, "axis %s", sq_axes[a].name);
    const enum sq_status status = add_value(s, a, (double)n, text, err);
    if (status == SQ_OK)
        s->axis[a].name[n] = copy;
    else
        free(copy);
    return status;
}

static enum sq_status add_text(struct sq_sweep_grid *s, unsigned a, const char *text,
                               struct sq_error *err)
{
    double v;
    if (sq_axes[a].is_path)
        return add_path(s, a, text, err);
    if (sq_axes[a].choice)
        return add_choice(s, a, text, err);
    if (strstr(text, "..") && strlen(text) < 64)
        return add_range(s, a, text, err);
    if (a == SQ_AXIS_GROUP && strcmp(text, "row") == 0)
        return add_value(s, a, 0, text, err);
    if (!is_number(text, &v))
        return SQ_FAIL(err, SQ_ERR_ARG, "axis %s = %.40s, need a number in %g..%g", sq_axes[a].name,
                       text, sq_axes[a].min, sq_axes[a].max);
    return add_value(s, a, v, text, err);
}

// A value given twice would be a point given twice.
static enum sq_status refuse_twice(const struct sq_sweep_grid *s, unsigned a, struct sq_error *err)
{
    const size_t n = s->axis[a].n;
    double *sorted = malloc((n + 1) * sizeof *sorted), twice = NAN;
    SQ_NEED(sorted, err, "axis %s", sq_axes[a].name);
    for (size_t i = 0; i < n; i++)
        sorted[i] = s->axis[a].value[i];
    qsort(sorted, n, sizeof *sorted, sq_by_number);
    for (size_t i = 1; i < n; i++)
        if (sorted[i] == sorted[i - 1])
            twice = sorted[i];
    free(sorted);
    if (isnan(twice))
        return SQ_OK;
    if (sq_axes[a].choice)
        return SQ_FAIL(err, SQ_ERR_ARG, "axis %s has %s twice", sq_axes[a].name,
                       sq_axes[a].choice[(size_t)twice]);
    return SQ_FAIL(err, SQ_ERR_ARG, "axis %s has %g twice", sq_axes[a].name, twice);
}

// A core's axes have no default on a machine, which has a core of its own.
static bool has_default(const struct raw *raw, unsigned a)
{
    const bool is_core = a == SQ_AXIS_ROWS || a == SQ_AXIS_COLS || a == SQ_AXIS_LOW_LANES ||
                         a == SQ_AXIS_HIGH_LANES || a == SQ_AXIS_GATHER;
    return sq_axes[a].fallback && !(is_core && raw->axes.axis[SQ_AXIS_MACHINE].n > 0);
}

// Whether an axis that is left out has the default of each format that has it.
static bool is_of_formats(const struct sq_sweep_grid *s, unsigned a)
{
    bool has = false;
    for (size_t i = 0; i < s->axis[SQ_AXIS_FORMAT].n; i++)
        has = has || s->of_format[(size_t)s->axis[SQ_AXIS_FORMAT].value[i]].option[a];
    return has && !sq_axes[a].is_optional;
}

static enum sq_status check_sources(const struct raw *raw, struct sq_error *err)
{
    const struct raw_list *axis = raw->axes.axis;
    const bool has_n = axis[SQ_AXIS_N].n > 0, has_k = axis[SQ_AXIS_K].n > 0;
    const bool has_table = axis[SQ_AXIS_WORKLOAD].n > 0;
    if (has_n != has_k)
        return SQ_FAIL(err, SQ_ERR_ARG, "axis %s without axis %s", has_n ? "n" : "k",
                       has_n ? "k" : "n");
    if (has_n && axis[SQ_AXIS_MODEL].n)
        return SQ_FAIL(err, SQ_ERR_ARG, "axis model together with n and k, need one of them");
    if (has_table && (has_n || (axis[SQ_AXIS_M].n && !axis[SQ_AXIS_MODEL].n)))
        return SQ_FAIL(err, SQ_ERR_ARG, "axis workload together with %s, need one of them",
                       has_n ? "n and k" : "m");
    return SQ_OK;
}

static enum sq_status read_axes(struct sq_sweep_grid *s, const struct raw *raw,
                                struct sq_error *err)
{
    const struct raw_list *axis = raw->axes.axis;
    SQ_TRY(check_sources(raw, err));
    s->is_gemm = axis[SQ_AXIS_N].n > 0;
    s->is_workload = axis[SQ_AXIS_WORKLOAD].n > 0;
    s->is_join = s->is_workload && axis[SQ_AXIS_MODEL].n > 0;
    for (unsigned a = 0; a < SQ_N_AXES; a++) {
        if ((a == SQ_AXIS_MODEL && (s->is_gemm || (s->is_workload && !s->is_join))) ||
            (a == SQ_AXIS_M && s->is_workload && !s->is_join))
            continue;
        for (unsigned i = 0; i < axis[a].n; i++)
            SQ_TRY(add_text(s, a, axis[a].entry[i], err));
        if (axis[a].n == 0 && is_of_formats(s, a))
            SQ_TRY(add_value(s, a, NAN, "", err)); // what each has
        else if (axis[a].n == 0 && has_default(raw, a))
            SQ_TRY(add_text(s, a, *sq_axes[a].fallback ? sq_axes[a].fallback : sq_axes[a].choice[0],
                            err));
        SQ_TRY(refuse_twice(s, a, err));
        if (a == SQ_AXIS_FORMAT) // it may have added some
            SQ_TRY(sq_sweep_resolve_formats(s, err));
    }
    return SQ_OK;
}

// ---- measures, constraints, points --------------------------------------------------------------

static bool add_measures(struct sq_sweep_grid *s, const char *text)
{
    const bool is_causes = strcmp(text, "causes") == 0;
    bool found = false;
    for (size_t i = 0; i < sq_n_measures; i++) {
        const struct sq_measure *m = &sq_measures[i];
        const bool is_cause = strncmp(m->name, "low_", 4) == 0 || strncmp(m->name, "high_", 5) == 0;
        if (is_causes ? !is_cause : strcmp(text, m->name) != 0)
            continue;
        found = true;
        for (size_t j = 0; j < s->n_measures; j++)
            if (s->measure[j] == m)
                return true; // named twice: once is enough
        s->engines |= m->engines;
        s->measure[s->n_measures++] = m;
    }
    return found;
}

// What only SQ on weights has.
static enum sq_status check_engines(const struct sq_sweep_grid *s, struct sq_error *err)
{
    for (size_t i = 0; i < s->axis[SQ_AXIS_FORMAT].n; i++) {
        const size_t index = (size_t)s->axis[SQ_AXIS_FORMAT].value[i];
        const char *format = sq_format_names[index];
        if (sq_formats[index]->cost->is_core)
            continue;
        if ((s->engines & SQ_ENGINE_TIMING) && !s->machine)
            return SQ_FAIL(err, SQ_ERR_ARG,
                           "cycles of format %s need axis machine, as its path does", format);
        if (s->engines & (SQ_ENGINE_PE | SQ_ENGINE_GATHER | SQ_ENGINE_ENERGY))
            return SQ_FAIL(
                err, SQ_ERR_ARG,
                "area and energy of the core's PE and gather are of format sq_w, not of %s: need "
                "array_area_um2",
                format);
    }
    return SQ_OK;
}

static enum sq_status read_measures(struct sq_sweep_grid *s, const struct raw *raw,
                                    struct sq_error *err)
{
    const char *names[SQ_MEASURES_MAX + 1] = {"causes"};
    for (size_t i = 0; i < sq_n_measures; i++)
        names[i + 1] = sq_measures[i].name;
    for (unsigned i = 0; i < raw->measures.n; i++) {
        const char *text = raw->measures.entry[i];
        if (add_measures(s, text))
            continue;
        const char *nearest = sq_suggest(text, names, sq_n_measures + 1);
        return nearest ? SQ_FAIL(err, SQ_ERR_ARG, "unknown measure '%.40s', did you mean %s?", text,
                                 nearest)
                       : SQ_FAIL(err, SQ_ERR_ARG,
                                 "unknown measure '%.40s', need causes or one of the %zu that "
                                 "`sqsim sweep --measures` lists",
                                 text, sq_n_measures);
    }
    const bool has_values = s->engines & (SQ_ENGINE_VALUES | SQ_ENGINE_EVAL | SQ_ENGINE_KL);
    if (s->is_join && !(has_values && (s->engines & SQ_ENGINE_TIMING)))
        return SQ_FAIL(
            err, SQ_ERR_ARG,
            "axis workload together with model, without a measure of %s: need one of them",
            has_values ? "time" : "values");
    if ((s->is_gemm || (s->is_workload && !s->is_join)) && has_values)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "a measure of values with axes %s, which have none: need a model",
                       s->is_gemm ? "n and k" : "of a workload");
    if (!s->machine && (s->engines & SQ_ENGINE_MACHINE))
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "time_ms, the DRAM measures and array_area_um2 need axis machine");
    for (unsigned a = SQ_AXIS_CORES; !s->machine && a < SQ_N_AXES; a++)
        if (s->axis[a].n > 0)
            return SQ_FAIL(err, SQ_ERR_ARG, "axis %s needs axis machine", sq_axes[a].name);
    const bool has_device = s->axis[SQ_AXIS_DEVICE].n > 0;
    for (unsigned a = SQ_AXIS_CHANNELS; !has_device && a <= SQ_AXIS_PAGE; a++)
        if (s->axis[a].n > 0)
            return SQ_FAIL(err, SQ_ERR_ARG, "axis %s needs axis device", sq_axes[a].name);
    if (has_device && s->axis[SQ_AXIS_BANDWIDTH].n > 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "axes bandwidth_gb_s and device given, need one of them");
    return check_engines(s, err);
}

// Several formats on a machine get equal silicon where nothing else is said, as those of `run --and` do.
static enum sq_status settle_fair(struct sq_sweep_grid *s, struct sq_error *err)
{
    bool is_of_pes = false;
    for (size_t i = 0; i < s->n_measures; i++)
        is_of_pes = is_of_pes || sq_measure_is_of_pes(s->measure[i]);
    if (!s->machine || !is_of_pes || s->axis[SQ_AXIS_FORMAT].n < 2 || s->axis[SQ_AXIS_FAIR].n > 0)
        return SQ_OK;
    for (size_t i = 0; i < s->axis[SQ_AXIS_MACHINE].n && s->axis[SQ_AXIS_LOW_LANES].n == 0; i++)
        if (s->machine[i].chip.bus_nbytes && !s->machine[i].chip.has_lanes)
            return SQ_FAIL(err, SQ_ERR_ARG,
                           "formats of equal silicon: chip %.40s states no multipliers, need axes "
                           "low_lanes and high_lanes, or fair: [none]",
                           s->machine[i].name);
    s->is_fair_usual = true;
    return add_value(s, SQ_AXIS_FAIR, SQ_FAIR_AREA, "", err);
}

// A constraint has measures of the specification alone.
static enum sq_status check_measured(const struct sq_sweep_grid *s, const struct sq_term *t,
                                     const char *text, struct sq_error *err)
{
    for (unsigned i = 0; i < t->n; i++) {
        if (!t->factor[i].is_quantity || t->factor[i].quantity < SQ_N_QUANTITIES)
            continue;
        const struct sq_measure *m = &sq_measures[t->factor[i].quantity - SQ_N_QUANTITIES];
        bool is_there = false;
        for (size_t j = 0; j < s->n_measures; j++)
            is_there = is_there || s->measure[j] == m;
        if (!is_there)
            return SQ_FAIL(err, SQ_ERR_ARG, "constraint '%.80s': %s is not among the measures",
                           text, m->name);
    }
    return SQ_OK;
}

static enum sq_status read_constraints(struct sq_sweep_grid *s, const struct raw *raw,
                                       struct sq_error *err)
{
    s->constraint = calloc(raw->constraints.n + 1, sizeof *s->constraint);
    SQ_NEED(s->constraint, err, "constraints");
    for (; s->n_constraints < raw->constraints.n; s->n_constraints++) {
        struct sq_constraint *c = &s->constraint[s->n_constraints];
        SQ_TRY(sq_constraint_parse(raw->constraints.entry[s->n_constraints], c, err));
        SQ_TRY(check_measured(s, &c->left, c->text, err));
        SQ_TRY(check_measured(s, &c->right, c->text, err));
    }
    return SQ_OK;
}

static enum sq_status read_raw(struct sq_sweep_grid *s, const struct raw *raw, const char *home,
                               struct sq_error *err)
{
    if (!sq_name_is_stem(raw->name))
        return SQ_FAIL(err, SQ_ERR_ARG, "name = %.60s, " SQ_NAME_STEM_RULE, raw->name);
    s->name = strdup(raw->name);
    s->title = strdup(raw->title ? raw->title : raw->name);
    SQ_NEED(s->name && s->title, err, "a sweep");
    SQ_TRY(read_axes(s, raw, err));
    SQ_TRY(sq_sweep_read_machines(s, home, err));
    SQ_TRY(read_measures(s, raw, err));
    SQ_TRY(settle_fair(s, err));
    SQ_TRY(read_constraints(s, raw, err));
    return sq_sweep_collect_points(s, err);
}

// `folder`, NULL or of the heap, becomes part of *s.
static enum sq_status parse(struct sq_sweep_grid *s, const char *text, size_t nbytes,
                            const char *what, const char *home, char *folder, struct sq_error *err)
{
    struct schema schema;
    struct sq_error inner;
    void *raw = NULL;
    make_schema(&schema);
    *s = (struct sq_sweep_grid){.folder = folder, .home = home};
    enum sq_status status = sq_yaml_parse(text, nbytes, what, &schema.file, &raw, err);
    if (status != SQ_OK) {
        sq_sweep_grid_free(s);
        return status;
    }
    status = read_raw(s, raw, home, &inner);
    if (status != SQ_OK)
        status = SQ_FAIL(err, status, "'%s': %.200s", sq_path_tail(what), inner.text);
    else if (!(s->text = strndup(text, nbytes)))
        status = SQ_NO_MEMORY(err, "'%s'", sq_path_tail(what));
    sq_yaml_free(&schema.file, raw);
    if (status != SQ_OK)
        sq_sweep_grid_free(s);
    return status;
}

enum sq_status sq_sweep_grid_parse(struct sq_sweep_grid *s, const char *text, size_t nbytes,
                                   const char *what, const char *home, struct sq_error *err)
{
    return parse(s, text, nbytes, what, home, NULL, err);
}

enum sq_status sq_sweep_grid_load(struct sq_sweep_grid *s, const char *path, const char *home,
                                  struct sq_error *err)
{
    const char *slash = strrchr(path, '/');
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    memset(s, 0, sizeof *s);
    SQ_TRY(sq_file_map(path, &map, err));
    return parse(s, (const char *)map.data, map.nbytes, path, home,
                 slash ? strndup(path, (size_t)(slash - path)) : NULL, err);
}

void sq_sweep_grid_free(struct sq_sweep_grid *s)
{
    for (unsigned a = 0; a < SQ_N_AXES; a++) {
        for (size_t i = 0; s->axis[a].name && i < s->axis[a].n; i++)
            free(s->axis[a].name[i]);
        free(s->axis[a].name);
        free(s->axis[a].value);
    }
    free(s->of_format);
    free(s->machine);
    free(s->machine_digest);
    free(s->name);
    free(s->title);
    free(s->text);
    free(s->folder);
    free(s->constraint);
    free(s->point);
    memset(s, 0, sizeof *s);
}
