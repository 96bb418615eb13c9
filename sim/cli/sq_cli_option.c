// SPDX-License-Identifier: Apache-2.0
// Makes rows of options and their help from the tables of all formats
// (sq_cli_option.h).
#include "sim/cli/sq_cli_option.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_NBYTES = 1200, FORMATS_MAX = 64, WORDS_MAX = FORMATS_MAX };

// Whether there is a format i that no description added: those that help and tables name.
static bool is_own(size_t i)
{
    return sq_formats[i] && !sq_formats[i]->description;
}

static bool offers(unsigned scope, const struct sq_format_ops *f)
{
    return scope == SQ_IN_QUANTIZE ? f->file != NULL : scope == SQ_IN_RUN || f->values;
}

static size_t offered(unsigned scope, const char *name[FORMATS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; is_own(i) && n < FORMATS_MAX; i++)
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

static const struct sq_format_option *taken(unsigned scope, const struct sq_format_ops *f,
                                            const char *name)
{
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
    for (size_t i = 0; is_own(i); i++) {
        const struct sq_format_option *o = taken(scope, sq_formats[i], name);
        char who[HELP_NBYTES] = "";
        size_t n = 0;
        if (!o || is_done[i])
            continue;
        describe(o, mine);
        for (size_t j = i; is_own(j); j++) {
            const struct sq_format_option *p = taken(scope, sq_formats[j], name);
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

bool sq_cli_options_help(const struct sq_cli_row *row, const char *format, char *help,
                         size_t nbytes)
{
    const struct sq_format_ops *f = sq_format_find(format);
    const struct sq_format_option *o = f ? taken(row->scope, f, row->name) : NULL;
    char text[HELP_NBYTES];
    if (o) {
        describe(o, text);
        snprintf(help, nbytes, "%s", text);
    }
    return o;
}

// ---- rows ---------------------------------------------------------------------------------------

// One table per bit of a scope, made once and kept.
static struct {
    struct sq_cli_row row[SQ_OPTIONS_MAX];
    const char *word[SQ_OPTIONS_MAX][WORDS_MAX + 1]; // that the option of that row may be
    size_t n;
} tables[8];

static size_t table_of(unsigned scope)
{
    size_t i = 0;
    while (scope >> i > 1)
        i++;
    return i;
}

struct sq_cli_options sq_cli_options_default(unsigned scope)
{
    return (struct sq_cli_options){.scope = scope, .format = sq_formats[0]};
}

static enum sq_status choose(struct sq_cli_options *in, const char *option, const char *text,
                             struct sq_error *err)
{
    const char *name[FORMATS_MAX + 1];
    size_t index;
    const size_t n = offered(in->scope, name);
    struct sq_error inner;
    name[n] = "all";
    if (sq_format_named(text, sq_cli_home(), &in->format, &inner) != SQ_OK)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s %.200s", option, inner.text);
    if (in->format && in->format->description) {
        in->is_all = false;
        in->is_format_given = true;
        return SQ_OK;
    }
    SQ_TRY(sq_cli_name(option, text, name, n + in->takes_all, &index, err));
    in->is_all = index == n;
    in->format = in->is_all ? sq_formats[0] : sq_format_find(name[index]);
    in->is_format_given = true;
    return SQ_OK;
}

enum sq_status sq_cli_options_format(struct sq_cli_options *in, const char *option,
                                     const char *text, struct sq_error *err)
{
    SQ_TRY(choose(in, option, text, err));
    in->after = option;
    return SQ_OK;
}

static enum sq_status set_format(void *context, const struct sq_cli_row *row, const char *text,
                                 struct sq_error *err)
{
    struct sq_cli_options *in = context;
    (void)row;
    if (in->after)
        return SQ_FAIL(err, SQ_ERR_ARG, "--format = %.40s behind %s, need it before", text,
                       in->after);
    return choose(in, "--format", text, err);
}

// Kept as text: what it means depends on the format.
static enum sq_status keep(void *context, const struct sq_cli_row *row, const char *text,
                           struct sq_error *err)
{
    struct sq_given *given = &((struct sq_cli_options *)context)->given;
    if (given->n == SQ_OPTIONS_MAX)
        return SQ_FAIL(err, SQ_ERR_ARG, "more than %d options of a format", SQ_OPTIONS_MAX);
    given->option[given->n].name = row->name;
    given->option[given->n++].text = text ? text : "";
    return SQ_OK;
}

static void add_word(const char **words, const char *word)
{
    size_t n = 0;
    for (; words[n]; n++)
        if (strcmp(words[n], word) == 0)
            return;
    if (n < WORDS_MAX)
        words[n] = word;
}

static void add_row(size_t table, unsigned scope, const struct sq_format_option *o)
{
    const size_t n = tables[table].n;
    const char **words = tables[table].word[n];
    char help[HELP_NBYTES];
    for (size_t i = 0; i < n; i++)
        if (strcmp(tables[table].row[i].name, o->name) == 0)
            return;
    help_of(scope, o->name, help);
    for (size_t i = 0; is_own(i); i++)
        for (const struct sq_format_option *p = sq_formats[i]->option; p->name; p++)
            for (size_t c = 0; strcmp(p->name, o->name) == 0 && p->choice && p->choice[c]; c++)
                add_word(words, p->choice[c]);
    tables[table].row[tables[table].n++] = (struct sq_cli_row){.name = o->name,
                                                               .arg = argument(o),
                                                               .help = strdup(help),
                                                               .kind = SQ_CLI_IS_OWN,
                                                               .group = SQ_CLI_OF_FORMAT,
                                                               .choice = words,
                                                               .set = keep,
                                                               .scope = scope};
}

const struct sq_cli_row *sq_cli_options_rows(unsigned scope)
{
    const size_t table = table_of(scope);
    char help[HELP_NBYTES], list[HELP_NBYTES];
    const char **name = tables[table].word[0];
    if (tables[table].n)
        return tables[table].row;
    snprintf(help, sizeof help, "%s (%s); with --help: its options first",
             sq_cli_join(name, offered(scope, name), list, sizeof list), sq_formats[0]->name);
    tables[table].row[tables[table].n++] = (struct sq_cli_row){.name = "format",
                                                               .arg = "F",
                                                               .help = strdup(help),
                                                               .kind = SQ_CLI_IS_OWN,
                                                               .group = SQ_CLI_OF_FORMAT,
                                                               .choice = name,
                                                               .set = set_format,
                                                               .scope = scope};
    for (size_t i = 0; is_own(i); i++)
        for (const struct sq_format_option *o = sq_formats[i]->option; o->name; o++)
            if (taken(scope, sq_formats[i], o->name) && tables[table].n + 1 < SQ_OPTIONS_MAX)
                add_row(table, scope, o);
    return tables[table].row;
}

// ---- recipes ------------------------------------------------------------------------------------

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

const char *sq_cli_formats_with(size_t part, char list[200])
{
    static const void *const none;
    *list = '\0';
    for (size_t i = 0, at = 0; sq_formats[i] && at < 200; i++)
        if (memcmp((const char *)sq_formats[i] + part, &none, sizeof none) != 0)
            at += (size_t)snprintf(list + at, 200 - at, "%s%s", at ? "|" : "", sq_formats[i]->name);
    return list;
}
