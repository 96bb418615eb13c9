// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sq_cli_option.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_FORMAT = 0x6000, KEY_FIRST, HELP_NBYTES = 1200, FORMATS_MAX = 64 };

static bool offers(unsigned scope, const struct sq_format_ops *f)
{
    return scope == SQ_IN_QUANTIZE ? f->file != NULL : scope == SQ_IN_RUN || f->values;
}

static size_t offered(unsigned scope, const char *name[FORMATS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; sq_formats[i] && n < FORMATS_MAX; i++)
        if (offers(scope, sq_formats[i]))
            name[n++] = sq_formats[i]->name;
    return n;
}

// ---- help ---------------------------------------------------------------------------------------

static void put(char *text, const char *more)
{
    const size_t at = strlen(text);
    snprintf(text + at, HELP_NBYTES - at, "%s", more);
}

// "bits of a weight, 2..8 (4)".
static void describe(const struct sq_format_option *o, char text[HELP_NBYTES])
{
    char range[160], word[32];
    snprintf(text, HELP_NBYTES, "%s", o->help);
    if (o->kind == SQ_OPTION_FLAG)
        return;
    sq_option_range(o, range, sizeof range);
    put(text, ", ");
    put(text, range);
    if (o->flag || o->fallback < 0)
        return;
    sq_option_word(o, o->fallback, word, sizeof word);
    put(text, " (");
    put(text, word);
    put(text, ")");
}

static const struct sq_format_option *taken(unsigned scope, size_t format, const char *name)
{
    const struct sq_format_ops *f = sq_formats[format];
    const struct sq_format_option *o = offers(scope, f) ? sq_option_find(f, scope, name) : NULL;
    return o && o->kind != SQ_OPTION_REFUSED ? o : NULL;
}

// What the formats say of an option, those that say the same together.
static void help_of(unsigned scope, const char *name, char help[HELP_NBYTES])
{
    const char *all[FORMATS_MAX];
    char mine[HELP_NBYTES], other[HELP_NBYTES];
    bool is_done[FORMATS_MAX] = {false};
    *help = '\0';
    for (size_t i = 0; sq_formats[i]; i++) {
        const struct sq_format_option *o = taken(scope, i, name);
        char who[HELP_NBYTES] = "";
        size_t n = 0;
        if (!o || is_done[i])
            continue;
        describe(o, mine);
        for (size_t j = i; sq_formats[j]; j++) {
            const struct sq_format_option *p = taken(scope, j, name);
            if (!p)
                continue;
            describe(p, other);
            if (strcmp(mine, other) != 0)
                continue;
            is_done[j] = true;
            put(who, n++ ? ", " : "");
            put(who, sq_formats[j]->name);
        }
        put(help, *help ? "; " : "");
        if (n < offered(scope, all)) {
            put(help, who);
            put(help, ": ");
        }
        put(help, mine);
    }
}

static const char *argument(const struct sq_format_option *o)
{
    return o->kind == SQ_OPTION_FLAG     ? NULL
           : o->kind == SQ_OPTION_NAME   ? "WORD"
           : o->kind == SQ_OPTION_DOUBLE ? "X"
                                         : "N";
}

static void add_word(const char *word, char *words, size_t nbytes)
{
    const size_t n = strlen(words), length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return;
    snprintf(words + n, nbytes - n, "%s%s", n ? " " : "", word);
}

void sq_cli_option_words(const char *name, char *words, size_t nbytes)
{
    *words = '\0';
    for (size_t i = 0; sq_formats[i]; i++) {
        if (strcmp(name, "format") == 0)
            add_word(sq_formats[i]->name, words, nbytes);
        for (const struct sq_format_option *o = sq_formats[i]->option; o->name; o++)
            for (size_t c = 0; strcmp(o->name, name) == 0 && o->choice && o->choice[c]; c++)
                add_word(o->choice[c], words, nbytes);
    }
}

// ---- parsing ------------------------------------------------------------------------------------

// One set of options per bit of a scope, made once and kept.
static struct {
    struct argp argp;
    struct argp_option option[SQ_OPTIONS_MAX];
    size_t n;
} tables[8];

static size_t table_of(unsigned scope)
{
    size_t i = 0;
    while (scope >> i > 1)
        i++;
    return i;
}

struct sq_cli_options sq_cli_options_default(unsigned scope, struct sq_error *err)
{
    return (struct sq_cli_options){.scope = scope, .format = sq_formats[0], .err = err};
}

static enum sq_status set_format(struct sq_cli_options *in, const char *option, const char *text)
{
    const char *name[FORMATS_MAX + 1];
    size_t index;
    const size_t n = offered(in->scope, name);
    name[n] = "all";
    SQ_TRY(sq_cli_name(option, text, name, n + in->takes_all, &index, in->err));
    in->is_all = index == n;
    in->format = in->is_all ? sq_formats[0] : sq_format_find(name[index]);
    in->is_format_given = true;
    return SQ_OK;
}

enum sq_status sq_cli_options_format(struct sq_cli_options *in, const char *option,
                                     const char *text)
{
    SQ_TRY(set_format(in, option, text));
    in->after = option;
    return SQ_OK;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sq_cli_options *in = state->input;
    const size_t table = table_of(in->scope);
    if (key == KEY_FORMAT && in->after) {
        (void)SQ_FAIL(in->err, SQ_ERR_ARG, "--format = %.40s behind %s, need it before", arg,
                      in->after);
        return EINVAL;
    }
    if (key == KEY_FORMAT)
        return set_format(in, "--format", arg) == SQ_OK ? 0 : EINVAL;
    if (key < KEY_FIRST || (size_t)(key - KEY_FIRST) >= tables[table].n)
        return ARGP_ERR_UNKNOWN;
    if (in->given.n == SQ_OPTIONS_MAX) {
        (void)SQ_FAIL(in->err, SQ_ERR_ARG, "more than %d options of a format", SQ_OPTIONS_MAX);
        return EINVAL;
    }
    in->given.option[in->given.n].name = tables[table].option[1 + key - KEY_FIRST].name;
    in->given.option[in->given.n++].text = arg ? arg : "";
    return 0;
}

static void add_option(size_t table, unsigned scope, const struct sq_format_option *o)
{
    struct argp_option *to = &tables[table].option[1 + tables[table].n];
    char help[HELP_NBYTES];
    for (struct argp_option *p = &tables[table].option[1]; p < to; p++)
        if (strcmp(p->name, o->name) == 0)
            return;
    help_of(scope, o->name, help);
    *to = (struct argp_option){.name = o->name,
                               .key = KEY_FIRST + (int)tables[table].n++,
                               .arg = argument(o),
                               .doc = strdup(help),
                               .group = 1};
}

const struct argp *sq_cli_options_argp(unsigned scope)
{
    const size_t table = table_of(scope);
    char help[HELP_NBYTES] = "";
    const char *name[FORMATS_MAX];
    const size_t n = offered(scope, name);
    if (tables[table].n)
        return &tables[table].argp;
    for (size_t i = 0; i < n; i++) {
        put(help, i == 0 ? "" : i + 1 == n ? " or " : ", ");
        put(help, name[i]);
    }
    put(help, " (");
    put(help, sq_formats[0]->name);
    put(help, "); with --help: its options first");
    tables[table].option[0] = (struct argp_option){
        .name = "format", .key = KEY_FORMAT, .arg = "F", .doc = strdup(help), .group = 1};
    for (size_t i = 0; sq_formats[i]; i++)
        for (const struct sq_format_option *o = sq_formats[i]->option; o->name; o++)
            if (taken(scope, i, o->name) && tables[table].n + 2 < SQ_OPTIONS_MAX)
                add_option(table, scope, taken(scope, i, o->name));
    tables[table].argp = (struct argp){.options = tables[table].option, .parser = parse};
    return &tables[table].argp;
}

// ---- the help of one format ---------------------------------------------------------------------

enum { OF_FORMAT = 1, OF_COMMAND, COMMON, OF_OTHERS };

static struct {
    struct argp argp;
    struct argp_option option[2 * SQ_OPTIONS_MAX];
    size_t n;
} shown;

static void show(struct argp_option o, int group)
{
    o.group = group;
    if (shown.n + 1 < sizeof shown.option / sizeof shown.option[0])
        shown.option[shown.n++] = o;
}

static void show_heading(const char *text, const char *format, int group)
{
    char heading[80];
    snprintf(heading, sizeof heading, text, format);
    show((struct argp_option){.doc = strdup(heading)}, group);
}

static void show_formats(size_t table, size_t format)
{
    for (const struct argp_option *o = &tables[table].option[1]; o->name; o++) {
        const struct sq_format_option *mine = taken(1u << table, format, o->name);
        char help[HELP_NBYTES];
        if (!mine) {
            show(*o, OF_OTHERS);
            continue;
        }
        describe(mine, help);
        show((struct argp_option){o->name, o->key, o->arg, o->flags, strdup(help), 0}, OF_FORMAT);
    }
    show(tables[table].option[0], OF_COMMAND); // --format
}

const struct argp *sq_cli_options_help(const struct argp *argp, const char *format)
{
    const size_t n_tables = sizeof tables / sizeof tables[0];
    size_t index = 0, table = n_tables;
    for (const struct argp_child *c = argp->children; c && c->argp; c++)
        for (size_t t = 0; t < n_tables; t++)
            table = c->argp == &tables[t].argp ? t : table;
    while (sq_formats[index] && strcmp(sq_formats[index]->name, format) != 0)
        index++;
    if (table == n_tables || !sq_formats[index])
        return argp;
    show_heading("Options of %s:", format, OF_FORMAT);
    show_heading("Options of the command:", "", OF_COMMAND);
    show_heading("Options of other formats than %s:", format, OF_OTHERS);
    show_formats(table, index);
    for (const struct argp_option *o = argp->options; o && o->name; o++)
        show(*o, o->group < COMMON ? OF_COMMAND : COMMON);
    for (const struct argp_child *c = argp->children; c->argp; c++)
        for (const struct argp_option *o = c->argp->options;
             c->argp != &tables[table].argp && o && o->name; o++)
            show(*o, OF_COMMAND);
    shown.argp = *argp;
    shown.argp.options = shown.option;
    shown.argp.children = NULL;
    return &shown.argp;
}

enum sq_status sq_cli_recipe_of(const struct sq_cli_options *in, const struct sq_format_ops *f,
                                unsigned scope, struct sq_recipe *r, struct sq_error *err)
{
    struct sq_error inner;
    const enum sq_status status = sq_format_recipe(f, scope, &in->given, r, &inner);
    return status == SQ_OK ? SQ_OK : SQ_FAIL(err, status, "--%.220s", inner.text);
}

enum sq_status sq_cli_recipe(const struct sq_cli_options *in, struct sq_recipe *r,
                             struct sq_error *err)
{
    return sq_cli_recipe_of(in, in->format, in->scope, r, err);
}

// ---- what is said -------------------------------------------------------------------------------

static json_t *json_grid(const struct sq_grid *g)
{
    return json_pack("{s:s, s:i, s:i}", "grid", sq_grid_name(g->kind), "high_bits",
                     (int)g->high_bits, "low_bits", (int)g->low_bits);
}

static json_t *json_value(const struct sq_format_option *o, const struct sq_recipe *r)
{
    const char *field = (const char *)r;
    const double v = o->nbytes && o->kind < SQ_OPTION_TEXT ? sq_option_get(o, r) : 0;
    char word[64];
    if (o->flag && !*(const bool *)(field + o->flag))
        return json_null();
    switch (o->kind) {
    case SQ_OPTION_TEXT:
        return json_string(o->text);
    case SQ_OPTION_GRID:
        return json_grid((const struct sq_grid *)(const void *)(field + o->offset));
    case SQ_OPTION_ACT:
        return o->text         ? json_string(o->text)
               : r->is_act_f16 ? json_string("binary16")
                               : json_grid(&r->act);
    case SQ_OPTION_NAME:
        sq_option_word(o, v, word, sizeof word);
        return json_string(word);
    case SQ_OPTION_DOUBLE:
        return json_real(v);
    default:
        return json_integer((json_int_t)v);
    }
}

void sq_cli_recipe_json(const struct sq_recipe *r, unsigned scope, json_t *object)
{
    json_object_set_new(object, "format", json_string(r->format->name));
    for (const struct sq_format_option *o = r->format->option; o->name; o++) {
        char key[32];
        snprintf(key, sizeof key, "%s", o->key ? o->key : o->name);
        for (char *c = key; *c; c++)
            *c = *c == '-' ? '_' : *c;
        if (o->shown & scope)
            json_object_set_new(object, key, json_value(o, r));
    }
}
