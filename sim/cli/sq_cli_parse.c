// SPDX-License-Identifier: Apache-2.0
// Words of a command line into the fields that the rows of its table name (sq_cli_row.h).
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cli_option.h"

// What is read: twice, since an unknown option or --help anywhere comes before what is wrong with a
// value.
struct reading {
    const struct sq_cli_line *line;
    struct sq_cli_rows all;
    int argc;
    char **argv;
    bool is_setting; // the second time
    struct sq_error *err;
};

static void collect(const struct sq_cli_row *row, char *in, unsigned modes, struct sq_cli_rows *all)
{
    for (; row->kind != SQ_CLI_IS_END; row++) {
        const unsigned own = row->modes ? row->modes : modes;
        if (row->kind == SQ_CLI_IS_PART) {
            collect(row->rows ? row->rows : sq_cli_options_rows(row->scope), in + row->offset, own,
                    all);
            continue;
        }
        assert(all->n < SQ_CLI_ROWS_MAX);
        all->item[all->n++] = (struct sq_cli_item){.row = row, .in = in, .modes = own};
    }
}

// ---- fields -------------------------------------------------------------------------------------

static void put(void *field, size_t nbytes, uint64_t v)
{
    if (nbytes == sizeof(bool))
        *(bool *)field = v != 0;
    else if (nbytes == sizeof(uint32_t))
        *(uint32_t *)field = (uint32_t)v;
    else
        *(uint64_t *)field = v;
}

// The field, or the next element of a list.
static enum sq_status place(const struct sq_cli_item *item, const char *option, void **field,
                            struct sq_error *err)
{
    const struct sq_cli_row *r = item->row;
    *field = item->in + r->offset;
    if (!r->count)
        return SQ_OK;
    size_t *n = (void *)(item->in + r->count);
    if (*n == r->capacity)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s given more than %zu times", option, r->capacity);
    *field = item->in + r->offset + r->nbytes * (*n)++;
    return SQ_OK;
}

static enum sq_status set_word(const struct sq_cli_row *r, const char *option, const char *text,
                               void *field, struct sq_error *err)
{
    char list[200];
    size_t n = 0, index = 0;
    while (r->choice[n])
        n++;
    if (r->kind == SQ_CLI_IS_WORD)
        SQ_TRY(sq_cli_name(option, text, r->choice, n, &index, err));
    while (index < n && strcmp(text, r->choice[index]) != 0)
        index++;
    if (index == n) // no number is meant for another
        return SQ_FAIL(err, SQ_ERR_ARG, "%s = %.40s, need %s", option, text,
                       sq_cli_join(r->choice, n, list, sizeof list));
    put(field, r->nbytes,
        r->kind == SQ_CLI_IS_WORD ? r->min + index : strtoull(r->choice[index], NULL, 10));
    return SQ_OK;
}

static enum sq_status set(struct sq_cli_item *item, const char *text, struct sq_error *err)
{
    const struct sq_cli_row *r = item->row;
    char option[48];
    void *field;
    uint64_t v;
    item->given = true;
    if (r->given)
        *(bool *)(item->in + r->given) = true;
    snprintf(option, sizeof option, "%s%s", r->name ? "--" : "", r->name ? r->name : r->arg);
    const char *const given = text;
    if (r->found)
        text = sq_cli_found(text, r->found);
    if (r->kind == SQ_CLI_IS_OWN) {
        if (!r->name || (r->arg && strcmp(r->arg, "FILE") == 0))
            sq_file_protect(text);
        return r->set(item->in, r, text, err);
    }
    SQ_TRY(place(item, option, &field, err));
    if (r->found && strcmp(r->found, SQ_HOME_MODEL) != 0) // a MODEL has other short names, too
        SQ_TRY(sq_cli_check_found(option, given, r->found, err));
    switch (r->kind) {
    case SQ_CLI_IS_FLAG:
        put(field, r->nbytes, 1);
        return SQ_OK;
    case SQ_CLI_IS_UINT:
        SQ_TRY(sq_cli_uint(option, text, r->min, r->max, &v, err));
        put(field, r->nbytes, v);
        return SQ_OK;
    case SQ_CLI_IS_REAL:
        return sq_cli_double(option, text, r->least, r->most, field, err);
    case SQ_CLI_IS_WORD:
    case SQ_CLI_IS_NUMBER:
        return set_word(r, option, text, field, err);
    default:
        *(const char **)field = text;
        return SQ_OK;
    }
}

// ---- words --------------------------------------------------------------------------------------

static struct sq_cli_item *find_long(struct sq_cli_rows *all, const char *name, size_t n)
{
    for (size_t i = 0; i < all->n; i++) {
        const char *known = all->item[i].row->name;
        if (known && strlen(known) == n && strncmp(known, name, n) == 0)
            return &all->item[i];
    }
    return NULL;
}

static struct sq_cli_item *find_letter(struct sq_cli_rows *all, char letter)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->item[i].row->letter == letter)
            return &all->item[i];
    return NULL;
}

static enum sq_status unknown_long(const struct sq_cli_rows *all, const char *name, size_t n,
                                   struct sq_error *err)
{
    const char *names[SQ_CLI_ROWS_MAX + 1] = {"help"};
    size_t n_names = 1;
    for (size_t i = 0; i < all->n; i++)
        if (all->item[i].row->name)
            names[n_names++] = all->item[i].row->name;
    char text[64];
    snprintf(text, sizeof text, "%.*s", n < 60 ? (int)n : 60, name);
    const char *nearest = sq_cli_suggest(text, names, n_names);
    return SQ_FAIL(err, SQ_ERR_ARG, "unknown option --%s, %s%s%s", text,
                   nearest ? "did you mean --" : "see --help", nearest ? nearest : "",
                   nearest ? "?" : "");
}

// The word behind --format, wherever it stands; NULL where there is none.
static const char *format_of(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--format=", 9) == 0)
            return argv[i] + 9;
        else if (strcmp(argv[i], "--format") == 0 && i + 1 < argc)
            return argv[i + 1];
    return NULL;
}

static void help(const struct reading *r)
{
    sq_cli_help_and_exit(r->line, &r->all, r->argv[0], format_of(r->argc, r->argv));
}

// One "name" or "name=value"; *skip: the value is the next word.
static enum sq_status take_long(struct reading *r, const char *name, const char *next, bool *skip)
{
    const size_t n = strcspn(name, "=");
    if (strcmp(name, "help") == 0)
        help(r);
    if (strcmp(name, "complete") == 0)
        sq_cli_complete_and_exit(&r->all, r->argv[0]);
    struct sq_cli_item *item = find_long(&r->all, name, n);
    if (!item)
        return unknown_long(&r->all, name, n, r->err);
    const bool has_value = name[n] == '=', takes = item->row->arg;
    if (!takes && has_value)
        return SQ_FAIL(r->err, SQ_ERR_ARG, "option --%s takes no value", item->row->name);
    *skip = takes && !has_value;
    if (*skip && !next)
        return SQ_FAIL(r->err, SQ_ERR_ARG, "option --%s needs a value", item->row->name);
    return r->is_setting ? set(item, has_value ? name + n + 1 : next, r->err) : SQ_OK;
}

// One "o" or "oFILE" or several flags.
static enum sq_status take_letters(struct reading *r, const char *letters, const char *next,
                                   bool *skip)
{
    for (const char *c = letters; *c; c++) {
        if (strcmp(letters, "h") == 0)
            help(r);
        struct sq_cli_item *item = find_letter(&r->all, *c);
        if (!item)
            return SQ_FAIL(r->err, SQ_ERR_ARG, "unknown option -%c, see --help", *c);
        const bool takes = item->row->arg;
        *skip = takes && !c[1];
        if (*skip && !next)
            return SQ_FAIL(r->err, SQ_ERR_ARG, "option -%c needs a value", *c);
        if (r->is_setting)
            SQ_TRY(set(item, c[1] ? c + 1 : next, r->err));
        if (takes)
            break;
    }
    return SQ_OK;
}

// Whether an argument, no list, has been given.
static bool is_full(const struct sq_cli_item *item)
{
    const struct sq_cli_row *r = item->row;
    return r->count   ? *(const size_t *)(const void *)(item->in + r->count) == r->capacity
           : r->given ? *(const bool *)(item->in + r->given)
                      : r->nbytes && *(const char *const *)(const void *)(item->in + r->offset);
}

static enum sq_status take_argument(struct reading *r, const char *word)
{
    for (size_t i = 0; i < r->all.n; i++)
        if (!r->all.item[i].row->name && !is_full(&r->all.item[i]))
            return set(&r->all.item[i], word, r->err);
    return SQ_FAIL(r->err, SQ_ERR_ARG, "unexpected argument '%.80s', see --help", word);
}

static enum sq_status take_words(struct reading *r)
{
    bool is_option = true; // until "--"
    for (int i = 1; i < r->argc; i++) {
        const char *word = r->argv[i], *next = i + 1 < r->argc ? r->argv[i + 1] : NULL;
        bool skip = false;
        if (is_option && strcmp(word, "--") == 0)
            is_option = false;
        else if (is_option && strncmp(word, "--", 2) == 0)
            SQ_TRY(take_long(r, word + 2, next, &skip));
        else if (is_option && word[0] == '-' && word[1])
            SQ_TRY(take_letters(r, word + 1, next, &skip));
        else if (r->is_setting)
            SQ_TRY(take_argument(r, word));
        i += skip;
    }
    return SQ_OK;
}

// ---- inputs -------------------------------------------------------------------------------------

// Whether the row's text is the name of a file or folder that is read.
static bool is_input(const struct sq_cli_row *r)
{
    static const char *const texts[] = {"PATTERN", "NAME", "NAME=N", "P", "TYPE"};
    if (r->is_output || !r->arg)
        return false;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(r->arg, texts[i]) == 0)
            return false;
    return true;
}

static void protect_inputs(const struct sq_cli_rows *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct sq_cli_item *const item = &all->item[i];
        const struct sq_cli_row *const r = item->row;
        if (r->kind != SQ_CLI_IS_TEXT || !is_input(r))
            continue;
        const size_t n = r->count ? *(const size_t *)(const void *)(item->in + r->count) : 1;
        for (size_t k = 0; k < n; k++)
            sq_file_protect(
                *(const char *const *)(const void *)(item->in + r->offset + k * r->nbytes));
    }
}

// ---- modes --------------------------------------------------------------------------------------

// Finds the option that chooses one of these modes; NULL for SQ_CLI_PLAIN.
static const char *mode_name(const struct sq_cli_rows *all, unsigned modes)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->item[i].row->mode & modes)
            return all->item[i].row->name;
    return NULL;
}

static void name_modes(struct sq_cli_rows *all)
{
    for (size_t i = 0; i < all->n; i++)
        if (!all->item[i].row->mode && !(all->item[i].modes & SQ_CLI_PLAIN))
            all->item[i].needs = mode_name(all, all->item[i].modes);
}

static enum sq_status check_modes(const struct sq_cli_rows *all, struct sq_error *err)
{
    const struct sq_cli_row *chosen = NULL;
    for (size_t i = 0; i < all->n; i++) {
        const struct sq_cli_item *item = &all->item[i];
        if (!item->given || !item->row->mode)
            continue;
        if (chosen)
            return SQ_FAIL(err, SQ_ERR_ARG, "--%s and --%s given, need one of them", chosen->name,
                           item->row->name);
        chosen = item->row;
    }
    for (size_t i = 0; i < all->n; i++) {
        const struct sq_cli_item *item = &all->item[i];
        const struct sq_cli_row *r = item->row;
        if (item->given && !r->mode && !(item->modes & (chosen ? chosen->mode : SQ_CLI_PLAIN)))
            return SQ_FAIL(err, SQ_ERR_ARG, "%s%s %s --%s", r->name ? "--" : "",
                           r->name ? r->name : r->arg, chosen ? "has no use with" : "needs",
                           chosen ? chosen->name : item->needs);
    }
    return SQ_OK;
}

static enum sq_status end_parts(const struct sq_cli_row *row, char *in, struct sq_error *err)
{
    for (; row->kind != SQ_CLI_IS_END; row++)
        if (row->end)
            SQ_TRY(row->end(in + row->offset, err));
    return SQ_OK;
}

enum sq_status sq_cli_parse(const struct sq_cli_line *line, int argc, char **argv, void *in,
                            struct sq_error *err)
{
    struct reading r = {.line = line, .argc = argc, .argv = argv, .err = err};
    collect(line->rows, in, SQ_CLI_PLAIN, &r.all);
    name_modes(&r.all);
    SQ_TRY(take_words(&r));
    r.is_setting = true;
    SQ_TRY(take_words(&r));
    SQ_TRY(check_modes(&r.all, err));
    protect_inputs(&r.all);
    return end_parts(line->rows, in, err);
}
