// SPDX-License-Identifier: Apache-2.0
// Reads functions, delays and powers of cells, and converts their units (sq_liberty_power.h).
#include "sim/synth/sq_liberty_power.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_grow.h"
#include "sim/synth/sq_liberty_tree.h"

// ---- tables -----------------------------------------------------------------------------------

// Left neighbour of x on an axis and how far x lies between the two, below 0 and above 1 at ends.
static unsigned locate(const double *axis, unsigned n, double x, double *part)
{
    unsigned i = 0;
    *part = 0;
    if (n < 2)
        return 0;
    while (i + 2 < n && x >= axis[i + 1])
        i++;
    *part = (x - axis[i]) / (axis[i + 1] - axis[i]);
    return i;
}

double sq_lib_table_at(const struct sq_lib_table *t, double slew, double load)
{
    double ps, pl;
    if (t->n_slew == 0)
        return 0;
    const unsigned s = locate(t->slew, t->n_slew, slew, &ps);
    const unsigned l = locate(t->load, t->n_load, load, &pl);
    const unsigned s1 = t->n_slew > 1 ? s + 1 : s, l1 = t->n_load > 1 ? l + 1 : l;
    const double *v = t->value;
    const double low = v[s * t->n_load + l] * (1 - pl) + v[s * t->n_load + l1] * pl;
    const double high = v[s1 * t->n_load + l] * (1 - pl) + v[s1 * t->n_load + l1] * pl;
    return low * (1 - ps) + high * ps;
}

static void free_table(struct sq_lib_table *t)
{
    free(t->slew);
    free(t->load);
    free(t->value);
}

// What a group of a cell is read with.
struct reader {
    struct sq_lib_models *m;
    const struct sq_lib_tree *t;
    struct sq_lib_model *c;
    const char *name[SQ_LIB_MODEL_PINS + 2]; // variables of expressions
    struct sq_error *err;
};

static enum sq_status refuse(const struct reader *r, const char *what)
{
    return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "the cell %.63s of the library %s", r->c->name,
                   what);
}

enum axis { AXIS_NONE, AXIS_SLEW, AXIS_LOAD, AXIS_OTHER };

static enum axis axis_of(const char *variable)
{
    if (!*variable)
        return AXIS_NONE;
    if (strcmp(variable, "total_output_net_capacitance") == 0)
        return AXIS_LOAD;
    const bool is_slew = strcmp(variable, "input_net_transition") == 0 ||
                         strcmp(variable, "input_transition_time") == 0 ||
                         strcmp(variable, "related_pin_transition") == 0;
    return is_slew ? AXIS_SLEW : AXIS_OTHER;
}

// The template of a table: what its axes are. "scalar" has none.
static const struct sq_lib_node *template_of(const struct reader *r, const char *name)
{
    static const char *const kind[] = {"lu_table_template", "power_lut_template"};
    const struct sq_lib_tree *t = r->m->tree;
    char own[SQ_LIB_NAME_LEN];
    for (size_t k = 0; k < 2; k++)
        for (const struct sq_lib_node *n = sq_lib_child(t, t->node, kind[k]); n;
             n = sq_lib_next(t, n, kind[k])) {
            sq_lib_unquote(n->text, own, sizeof own);
            if (strcmp(own, name) == 0)
                return n;
        }
    return NULL;
}

static double *numbers(struct sq_lib_text text, unsigned n, double unit)
{
    double *out = calloc(n, sizeof *out);
    if (out)
        sq_lib_numbers(text, out, n);
    for (unsigned i = 0; out && i < n; i++)
        out[i] *= unit;
    return out;
}

static bool ascends(const double *x, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        if (!(x[i] > x[i - 1]))
            return false;
    return true;
}

// One of two axes: numbers of its index, of the table itself or of the template.
static enum sq_status read_axis(const struct reader *r, const struct sq_lib_node *group,
                                const struct sq_lib_node *shape, unsigned number, enum axis *axis,
                                struct sq_lib_text *index)
{
    static const char *const variable[] = {"variable_1", "variable_2"};
    static const char *const name[] = {"index_1", "index_2"};
    char text[SQ_LIB_NAME_LEN] = "";
    if (shape)
        (void)sq_lib_string(r->m->tree, shape, variable[number], text, sizeof text);
    *axis = axis_of(text);
    if (*axis == AXIS_OTHER)
        return refuse(r, "has a table over something else than input slew and output load");
    const struct sq_lib_node *own = sq_lib_child(r->t, group, name[number]);
    if (!own && shape)
        own = sq_lib_child(r->m->tree, shape, name[number]);
    *index = own ? own->text : (struct sq_lib_text){"", 0};
    return SQ_OK;
}

// An axis may stand first or second in the file.
static enum sq_status fill_table(const struct reader *r, struct sq_lib_table *t,
                                 const enum axis axis[2], const struct sq_lib_text index[2],
                                 struct sq_lib_text values, double unit)
{
    const unsigned slew_at = axis[1] == AXIS_SLEW, load_at = axis[0] != AXIS_LOAD;
    const bool has_slew = axis[slew_at] == AXIS_SLEW, has_load = axis[load_at] == AXIS_LOAD;
    const size_t n_slew = has_slew ? sq_lib_numbers(index[slew_at], NULL, 0) : 1;
    const size_t n_load = has_load ? sq_lib_numbers(index[load_at], NULL, 0) : 1;
    const size_t n = sq_lib_numbers(values, NULL, 0);
    if (n_slew == 0 || n_load == 0 || n_slew > 64 || n_load > 64 || n != n_slew * n_load)
        return refuse(r, "has a table with another number of values than its indices say");
    t->n_slew = (unsigned)n_slew;
    t->n_load = (unsigned)n_load;
    t->slew =
        numbers(has_slew ? index[slew_at] : (struct sq_lib_text){"0", 1}, t->n_slew, r->m->time);
    t->load =
        numbers(has_load ? index[load_at] : (struct sq_lib_text){"0", 1}, t->n_load, r->m->cap);
    t->value = calloc(n, sizeof *t->value);
    double *raw = numbers(values, (unsigned)n, unit);
    const bool is_there = t->slew && t->load && t->value && raw;
    const bool load_first = has_load && has_slew && load_at < slew_at;
    for (size_t s = 0; is_there && s < n_slew; s++)
        for (size_t l = 0; l < n_load; l++)
            t->value[s * n_load + l] = raw[load_first ? l * n_slew + s : s * n_load + l];
    free(raw);
    SQ_NEED(is_there, r->err, "a Liberty file");
    return ascends(t->slew, t->n_slew) && ascends(t->load, t->n_load)
               ? SQ_OK
               : refuse(r, "has a table whose index does not ascend");
}

// The table of this name in a group; empty where there is none.
static enum sq_status read_table(const struct reader *r, const struct sq_lib_node *in,
                                 const char *name, double unit, struct sq_lib_table *t)
{
    const struct sq_lib_node *group = sq_lib_child(r->t, in, name), *values;
    char shape_name[SQ_LIB_NAME_LEN];
    enum axis axis[2];
    struct sq_lib_text index[2];
    if (!group || !group->is_group || !(values = sq_lib_child(r->t, group, "values")))
        return SQ_OK;
    sq_lib_unquote(group->text, shape_name, sizeof shape_name);
    const struct sq_lib_node *shape = template_of(r, shape_name);
    for (unsigned i = 0; i < 2; i++)
        SQ_TRY(read_axis(r, group, shape, i, &axis[i], &index[i]));
    return fill_table(r, t, axis, index, values->text, unit);
}

// ---- groups of a cell -------------------------------------------------------------------------

static enum sq_status read_expr(const struct reader *r, const struct sq_lib_node *in,
                                const char *name, bool *has, struct sq_lib_expr *out)
{
    char text[1024];
    *has = sq_lib_child(r->t, in, name) != NULL;
    if (!*has)
        return SQ_OK;
    if (sq_lib_string(r->t, in, name, text, sizeof text) &&
        sq_lib_expr_parse(text, r->name, r->c->n_pins + 2, out))
        return SQ_OK;
    return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "the cell %.63s of the library has %s : \"%.60s\"",
                   r->c->name, name, text);
}

static unsigned supply_of(const struct reader *r, const struct sq_lib_node *in)
{
    char name[SQ_LIB_NAME_LEN];
    struct sq_lib_models *m = r->m;
    (void)sq_lib_string(r->t, in, "related_pg_pin", name, sizeof name);
    for (unsigned i = 0; i < m->n_supplies; i++)
        if (strcmp(m->supply[i], name) == 0)
            return i;
    if (m->n_supplies == SQ_LIB_SUPPLIES)
        return SQ_LIB_SUPPLIES - 1;
    memcpy(m->supply[m->n_supplies], name, sizeof name);
    return m->n_supplies++;
}

static size_t count(const struct sq_lib_tree *t, const struct sq_lib_node *in, const char *name)
{
    size_t n = 0;
    for (const struct sq_lib_node *g = sq_lib_child(t, in, name); g; g = sq_lib_next(t, g, name))
        n++;
    return n;
}

// Pins of `related_pin : "A B"`, one after the other; false after the last.
static bool next_related(const char **list, char name[SQ_LIB_NAME_LEN])
{
    *list += strspn(*list, " \t,");
    name[0] = '\0';
    const size_t n = strcspn(*list, " \t,");
    if (n == 0 || n >= SQ_LIB_NAME_LEN)
        return false;
    memcpy(name, *list, n);
    name[n] = '\0';
    *list += n;
    return true;
}

static enum sq_status read_power(const struct reader *r, const struct sq_lib_node *group,
                                 struct sq_lib_power *p)
{
    SQ_TRY(read_expr(r, group, "when", &p->has_when, &p->when));
    p->supply = supply_of(r, group);
    SQ_TRY(read_table(r, group, "rise_power", r->m->energy, &p->table[SQ_LIB_RISE]));
    SQ_TRY(read_table(r, group, "fall_power", r->m->energy, &p->table[SQ_LIB_FALL]));
    if (p->table[0].n_slew || p->table[1].n_slew || !sq_lib_child(r->t, group, "power"))
        return SQ_OK;
    SQ_TRY(read_table(r, group, "power", r->m->energy, &p->table[SQ_LIB_RISE]));
    return read_table(r, group, "power", r->m->energy, &p->table[SQ_LIB_FALL]);
}

static enum sq_status read_powers(const struct reader *r, const struct sq_lib_node *in,
                                  struct sq_lib_pin *pin)
{
    static const char name[] = "internal_power";
    const size_t most = count(r->t, in, name) * SQ_LIB_MODEL_PINS;
    pin->power = calloc(most + 1, sizeof *pin->power);
    SQ_NEED(pin->power, r->err, "a Liberty file");
    for (const struct sq_lib_node *g = sq_lib_child(r->t, in, name); g;
         g = sq_lib_next(r->t, g, name)) {
        char list[256], related[SQ_LIB_NAME_LEN];
        const char *at = list;
        bool is_first = true;
        (void)sq_lib_string(r->t, g, "related_pin", list, sizeof list);
        while ((next_related(&at, related) || is_first) && pin->n_power < most) {
            struct sq_lib_power *p = &pin->power[pin->n_power++];
            p->related = *related ? sq_lib_model_pin(r->c, related) : -1;
            is_first = false;
            SQ_TRY(read_power(r, g, p));
        }
    }
    bool has_states[SQ_LIB_MODEL_PINS + 1][SQ_LIB_SUPPLIES] = {{false}}; // by related pin, -1 first
    for (size_t i = 0; i < pin->n_power; i++)
        if (pin->power[i].has_when)
            has_states[pin->power[i].related + 1][pin->power[i].supply] = true;
    for (size_t i = 0; i < pin->n_power; i++)
        pin->power[i].is_default =
            !pin->power[i].has_when && has_states[pin->power[i].related + 1][pin->power[i].supply];
    return SQ_OK;
}

static enum sq_status read_timing(const struct reader *r, const struct sq_lib_node *g,
                                  struct sq_lib_timing *t)
{
    char text[SQ_LIB_NAME_LEN];
    (void)sq_lib_string(r->t, g, "timing_sense", text, sizeof text);
    t->sense = strcmp(text, "positive_unate") == 0   ? SQ_LIB_POSITIVE
               : strcmp(text, "negative_unate") == 0 ? SQ_LIB_NEGATIVE
                                                     : SQ_LIB_NON_UNATE;
    SQ_TRY(read_table(r, g, "cell_rise", r->m->time, &t->delay[SQ_LIB_RISE]));
    SQ_TRY(read_table(r, g, "cell_fall", r->m->time, &t->delay[SQ_LIB_FALL]));
    SQ_TRY(read_table(r, g, "rise_transition", r->m->time, &t->slew[SQ_LIB_RISE]));
    return read_table(r, g, "fall_transition", r->m->time, &t->slew[SQ_LIB_FALL]);
}

// Delays only, no constraints: of combinational arcs and of the clock.
static enum sq_status read_timings(const struct reader *r, const struct sq_lib_node *in,
                                   struct sq_lib_pin *pin)
{
    const size_t most = count(r->t, in, "timing") * SQ_LIB_MODEL_PINS;
    pin->timing = calloc(most + 1, sizeof *pin->timing);
    SQ_NEED(pin->timing, r->err, "a Liberty file");
    for (const struct sq_lib_node *g = sq_lib_child(r->t, in, "timing"); g && pin->is_output;
         g = sq_lib_next(r->t, g, "timing")) {
        char type[SQ_LIB_NAME_LEN], list[256], related[SQ_LIB_NAME_LEN];
        (void)sq_lib_string(r->t, g, "timing_type", type, sizeof type);
        const bool is_clock = strcmp(type, "rising_edge") == 0;
        if (*type && !is_clock && strncmp(type, "combinational", 13) != 0)
            continue;
        (void)sq_lib_string(r->t, g, "related_pin", list, sizeof list);
        for (const char *at = list; next_related(&at, related) && pin->n_timing < most;) {
            const int from = sq_lib_model_pin(r->c, related);
            if (from < 0)
                return refuse(r, "has a delay from a pin that it does not have");
            struct sq_lib_timing *t = &pin->timing[pin->n_timing++];
            t->related = (unsigned)from;
            t->is_clock = is_clock;
            SQ_TRY(read_timing(r, g, t));
        }
    }
    return SQ_OK;
}

static enum sq_status read_leaks(const struct reader *r, const struct sq_lib_node *cell)
{
    struct sq_lib_model *c = r->c;
    c->leak = calloc(count(r->t, cell, "leakage_power") + 1, sizeof *c->leak);
    SQ_NEED(c->leak, r->err, "a Liberty file");
    for (const struct sq_lib_node *g = sq_lib_child(r->t, cell, "leakage_power"); g;
         g = sq_lib_next(r->t, g, "leakage_power")) {
        struct sq_lib_leak *l = &c->leak[c->n_leak++];
        SQ_TRY(read_expr(r, g, "when", &l->has_when, &l->when));
        l->supply = supply_of(r, g);
        l->watts = sq_lib_number(r->t, g, "value", 0) * r->m->power;
    }
    bool has_states[SQ_LIB_SUPPLIES] = {false};
    for (size_t i = 0; i < c->n_leak; i++)
        if (c->leak[i].has_when)
            has_states[c->leak[i].supply] = true;
    for (size_t i = 0; i < c->n_leak; i++)
        c->leak[i].is_default = !c->leak[i].has_when && has_states[c->leak[i].supply];
    c->has_leakage = sq_lib_child(r->t, cell, "cell_leakage_power") != NULL;
    c->leakage = sq_lib_number(r->t, cell, "cell_leakage_power", 0) * r->m->power;
    return SQ_OK;
}

// ---- registers --------------------------------------------------------------------------------

static enum sq_status read_flop(struct reader *r, const struct sq_lib_node *cell)
{
    static const char *const other[] = {"latch", "statetable", "ff_bank", "latch_bank"};
    struct sq_lib_model *c = r->c;
    struct sq_lib_expr clock;
    bool has_next, has_clock;
    const struct sq_lib_node *ff = sq_lib_child(r->t, cell, "ff");
    for (size_t i = 0; i < 4; i++)
        if (sq_lib_child(r->t, cell, other[i]))
            return refuse(r, "is a register, but no single flip-flop");
    if (!ff)
        return SQ_OK;
    c->is_flop = true;
    SQ_TRY(read_expr(r, ff, "next_state", &has_next, &c->next_state));
    SQ_TRY(read_expr(r, ff, "clocked_on", &has_clock, &clock));
    SQ_TRY(read_expr(r, ff, "clear", &c->has_clear, &c->clear));
    SQ_TRY(read_expr(r, ff, "preset", &c->has_preset, &c->preset));
    c->is_falling = has_clock && clock.n == 2 && clock.op[1] == SQ_LIB_NOT;
    if (!has_next || !has_clock || clock.n != 1u + c->is_falling || clock.op[0] >= c->n_pins)
        return refuse(r, "is no flip-flop of an edge of a pin");
    c->clock = clock.op[0];
    return SQ_OK;
}

// The names of the two states, `ff (IQ, IQN)`; text of the cell, cut out into `room`.
static void name_states(struct reader *r, const struct sq_lib_node *cell, char room[2][64])
{
    const struct sq_lib_node *ff = sq_lib_child(r->t, cell, "ff");
    for (unsigned i = 0; i < 2; i++) {
        room[i][0] = '\0';
        r->name[r->c->n_pins + i] = room[i];
    }
    const char *comma = ff ? memchr(ff->text.at, ',', ff->text.n) : NULL;
    if (!comma)
        return;
    const size_t n = (size_t)(comma - ff->text.at);
    sq_lib_unquote((struct sq_lib_text){ff->text.at, n}, room[0], 64);
    sq_lib_unquote((struct sq_lib_text){comma + 1, ff->text.n - n - 1}, room[1], 64);
}

// The clock's group of an output.
static const struct sq_lib_power *clock_power(const struct sq_lib_model *c,
                                              const struct sq_lib_pin *pin)
{
    for (size_t i = 0; i < pin->n_power; i++)
        if (pin->power[i].related == (int)c->clock && pin->power[i].table[0].n_load > 1 &&
            pin->power[i].table[1].n_load > 1)
            return &pin->power[i];
    return NULL;
}

// Joules a farad of load, the mean over both edges.
static double load_slope(const struct sq_lib_power *p)
{
    double sum = 0;
    for (unsigned e = 0; e < 2; e++) {
        const struct sq_lib_table *t = &p->table[e];
        const unsigned last = t->n_load - 1;
        sum += (t->value[last] - t->value[0]) / (t->load[last] - t->load[0]);
    }
    return sum / 2;
}

// Two outputs, one the other's complement: when one rises the other falls. Both were loaded alike
// when the cell was measured. Where each lists all of the energy, the C V^2 / 2 of the other one's
// load is in it; where they split it, and where they hold their own load, the mean over both edges
// does not depend on the load.
static bool is_listed_twice(const struct sq_lib_models *m, const struct sq_lib_model *c)
{
    const struct sq_lib_power *out[2] = {NULL, NULL};
    size_t n = 0;
    for (size_t i = 0; i < c->n_pins; i++)
        if (c->pin[i].is_output && n++ < 2)
            out[n - 1] = clock_power(c, &c->pin[i]);
    if (!c->is_flop || n != 2 || !out[0] || !out[1])
        return false;
    for (unsigned e = 0; e < 2; e++) {
        const double a = out[0]->table[e].value[0], b = out[1]->table[1 - e].value[0];
        if (!(fabs(a - b) <= .1 * fabs(a)) || load_slope(out[e]) < m->volts * m->volts / 4)
            return false;
    }
    return true;
}

// ---- a cell -----------------------------------------------------------------------------------

static enum sq_status read_pins(struct reader *r, const struct sq_lib_node *cell)
{
    struct sq_lib_model *c = r->c;
    char direction[16];
    if (sq_lib_child(r->t, cell, "bus") || sq_lib_child(r->t, cell, "bundle"))
        return refuse(r, "has a bus of pins");
    for (const struct sq_lib_node *g = sq_lib_child(r->t, cell, "pin"); g;
         g = sq_lib_next(r->t, g, "pin")) {
        if (c->n_pins == SQ_LIB_MODEL_PINS)
            return refuse(r, "has more than 24 pins");
        struct sq_lib_pin *pin = &c->pin[c->n_pins];
        sq_lib_unquote(g->text, pin->name, sizeof pin->name);
        (void)sq_lib_string(r->t, g, "direction", direction, sizeof direction);
        pin->is_output = strcmp(direction, "output") == 0;
        pin->cap = sq_lib_number(r->t, g, "capacitance", 0) * r->m->cap;
        r->name[c->n_pins++] = pin->name;
    }
    return SQ_OK;
}

static enum sq_status read_cell(struct reader *r)
{
    const struct sq_lib_node *cell = r->t->node;
    char state[2][64];
    size_t i = 0;
    SQ_TRY(read_pins(r, cell));
    name_states(r, cell, state);
    SQ_TRY(read_flop(r, cell));
    for (const struct sq_lib_node *g = sq_lib_child(r->t, cell, "pin"); g;
         g = sq_lib_next(r->t, g, "pin")) {
        struct sq_lib_pin *pin = &r->c->pin[i++];
        SQ_TRY(read_expr(r, g, "function", &pin->has_function, &pin->function));
        SQ_TRY(read_powers(r, g, pin));
        SQ_TRY(read_timings(r, g, pin));
    }
    r->c->is_listed_twice = is_listed_twice(r->m, r->c);
    return read_leaks(r, cell);
}

static void free_model(struct sq_lib_model *c)
{
    for (size_t i = 0; i < c->n_pins; i++) {
        struct sq_lib_pin *pin = &c->pin[i];
        for (size_t j = 0; j < pin->n_power; j++)
            for (unsigned e = 0; e < 2; e++)
                free_table(&pin->power[j].table[e]);
        for (size_t j = 0; j < pin->n_timing; j++)
            for (unsigned e = 0; e < 2; e++) {
                free_table(&pin->timing[j].delay[e]);
                free_table(&pin->timing[j].slew[e]);
            }
        free(pin->power);
        free(pin->timing);
    }
    free(c->leak);
    free(c);
}

static enum sq_status load_cell(struct sq_lib_models *m, const struct sq_lib_node *at,
                                const char *name, struct sq_error *err)
{
    struct sq_lib_tree tree;
    SQ_TRY(SQ_GROW(m->model, m->n_models, err, "a Liberty file"));
    struct sq_lib_model *c = calloc(1, sizeof *c);
    SQ_NEED(c, err, "a Liberty file");
    memcpy(c->name, name, strlen(name) + 1); // of sq_lib_unquote into as much room
    enum sq_status status =
        sq_lib_tree_read(&tree, at->name.at, m->lib->text + m->lib->nbytes, NULL, err);
    if (status == SQ_OK) {
        struct reader r = {.m = m, .t = &tree, .c = c, .err = err};
        status = read_cell(&r);
        sq_lib_tree_free(&tree);
    }
    if (status == SQ_OK)
        m->model[m->n_models++] = c;
    else
        free_model(c);
    return status;
}

enum sq_status sq_lib_models_get(struct sq_lib_models *m, const char *cell,
                                 const struct sq_lib_model **model, struct sq_error *err)
{
    char name[SQ_LIB_NAME_LEN];
    for (size_t i = 0; i < m->n_models; i++)
        if (strcmp(m->model[i]->name, cell) == 0) {
            *model = m->model[i];
            return SQ_OK;
        }
    for (const struct sq_lib_node *n = sq_lib_child(m->tree, m->tree->node, "cell"); n;
         n = sq_lib_next(m->tree, n, "cell")) {
        sq_lib_unquote(n->text, name, sizeof name);
        if (strcmp(name, cell) != 0)
            continue;
        SQ_TRY(load_cell(m, n, name, err));
        *model = m->model[m->n_models - 1];
        return SQ_OK;
    }
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "the library has no cell %.60s", cell);
}

int sq_lib_model_pin(const struct sq_lib_model *model, const char *name)
{
    for (size_t i = 0; i < model->n_pins; i++)
        if (strcmp(model->pin[i].name, name) == 0)
            return (int)i;
    return -1;
}

// ---- the library ------------------------------------------------------------------------------

// "1ns", "10ps": the number times the prefix; `unit` is what follows it.
static double unit_of(const struct sq_lib_tree *t, const char *name, char unit, double fallback)
{
    static const char prefix[] = "fpnum";
    static const double scale[] = {1e-15, 1e-12, 1e-9, 1e-6, 1e-3};
    char text[SQ_LIB_NAME_LEN], *end;
    if (!sq_lib_string(t, t->node, name, text, sizeof text))
        return fallback;
    const double n = strtod(text, &end);
    const char *at = *end ? strchr(prefix, *end | 0x20) : NULL;
    if (end == text || !(n > 0))
        return fallback;
    return at && (end[1] | 0x20) == (unit | 0x20) ? n * scale[at - prefix] : n;
}

static double voltage(const struct sq_lib_tree *t)
{
    char name[SQ_LIB_NAME_LEN], own[SQ_LIB_NAME_LEN];
    if (sq_lib_string(t, t->node, "default_operating_conditions", name, sizeof name))
        for (const struct sq_lib_node *n = sq_lib_child(t, t->node, "operating_conditions"); n;
             n = sq_lib_next(t, n, "operating_conditions")) {
            sq_lib_unquote(n->text, own, sizeof own);
            if (strcmp(own, name) == 0)
                return sq_lib_number(t, n, "voltage", 0);
        }
    return sq_lib_number(t, t->node, "nom_voltage", 0);
}

enum sq_status sq_lib_models_open(struct sq_lib_models *m, const struct sq_liberty *lib,
                                  struct sq_error *err)
{
    *m = (struct sq_lib_models){.lib = lib};
    m->tree = calloc(1, sizeof *m->tree);
    SQ_NEED(m->tree, err, "a Liberty file");
    enum sq_status status =
        sq_lib_tree_read(m->tree, lib->text, lib->text + lib->nbytes, "cell", err);
    if (status != SQ_OK) {
        sq_lib_models_close(m);
        return status;
    }
    m->volts = voltage(m->tree);
    m->time = unit_of(m->tree, "time_unit", 's', 1e-9);
    m->power = unit_of(m->tree, "leakage_power_unit", 'w', 1e-9);
    m->cap = sq_lib_cap_unit(m->tree);
    const double v = unit_of(m->tree, "voltage_unit", 'v', 1);
    m->volts *= v;
    m->energy = m->cap * v * v;
    if (m->volts > 0)
        return SQ_OK;
    sq_lib_models_close(m);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "the library gives no nom_voltage: no energy is known");
}

void sq_lib_models_close(struct sq_lib_models *m)
{
    for (size_t i = 0; i < m->n_models; i++)
        free_model(m->model[i]);
    free(m->model);
    if (m->tree)
        sq_lib_tree_free(m->tree);
    free(m->tree);
    *m = (struct sq_lib_models){0};
}
