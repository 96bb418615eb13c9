// SPDX-License-Identifier: Apache-2.0
// What options mean for a recipe, by the tables of the formats (sq_format_option.h).
#include "sim/format/sq_format_option.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_suggest.h"

enum { LIST_NBYTES = 160, NAMES_MAX = 64 };

const char *sq_given_text(const struct sq_given *given, const char *name)
{
    for (size_t i = given ? given->n : 0; i-- > 0;)
        if (strcmp(given->option[i].name, name) == 0)
            return given->option[i].text;
    return NULL;
}

// "a", "a or b", "a, b or c" of n names.
static void join(const char *const *name, size_t n, char *text, size_t nbytes)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < n && at < nbytes; i++)
        at += (size_t)snprintf(text + at, nbytes - at, "%s%s",
                               i == 0       ? ""
                               : i + 1 == n ? " or "
                                            : ", ",
                               name[i]);
}

static size_t n_choices(const struct sq_format_option *o)
{
    size_t n = 0;
    while (o->choice[n])
        n++;
    return n;
}

// ---- tables -------------------------------------------------------------------------------------

const struct sq_format_option *sq_option_find(const struct sq_format_ops *f, unsigned scope,
                                              const char *name)
{
    for (const struct sq_format_option *o = f->option; o->name; o++)
        if ((o->taken & scope) && strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

static double spelled(const char *word)
{
    return strcmp(word, "row") == 0 ? 0 : strtod(word, NULL);
}

bool sq_option_accepts(const struct sq_format_option *o, double v)
{
    if (o->kind == SQ_OPTION_NUMBER) {
        size_t i = 0;
        while (o->choice[i] && spelled(o->choice[i]) != v)
            i++;
        return o->choice[i];
    }
    if (o->kind == SQ_OPTION_NAME)
        return v >= o->min && v < o->min + (double)n_choices(o);
    if (o->kind == SQ_OPTION_UINT && v != floor(v))
        return false;
    return (v >= o->min && v <= o->max) || (o->also > 0 && v == o->also);
}

void sq_option_put(const struct sq_format_option *o, double v, struct sq_recipe *r)
{
    char *field = (char *)r + o->offset;
    const unsigned number = o->kind == SQ_OPTION_DOUBLE ? 0 : (unsigned)v;
    const bool flag = number != 0;
    if (o->kind == SQ_OPTION_DOUBLE)
        memcpy(field, &v, o->nbytes);
    else if (o->nbytes == sizeof flag)
        memcpy(field, &flag, sizeof flag);
    else
        memcpy(field, &number, o->nbytes);
}

double sq_option_get(const struct sq_format_option *o, const struct sq_recipe *r)
{
    const char *field = (const char *)r + o->offset;
    unsigned number = 0;
    double v = 0;
    if (o->kind == SQ_OPTION_DOUBLE)
        memcpy(&v, field, o->nbytes);
    else
        memcpy(&number, field, o->nbytes); // a bool is 0 or 1
    return o->kind == SQ_OPTION_DOUBLE ? v : number;
}

void sq_option_range(const struct sq_format_option *o, char *text, size_t nbytes)
{
    if (o->choice)
        join(o->choice, n_choices(o), text, nbytes);
    else if (o->off)
        snprintf(text, nbytes, "%.10g..%.10g or %s", o->min, o->max, o->off);
    else if (o->also > 0)
        snprintf(text, nbytes, "%.10g..%.10g or %.10g", o->min, o->max, o->also);
    else
        snprintf(text, nbytes, "%.10g..%.10g", o->min, o->max);
}

void sq_option_word(const struct sq_format_option *o, double v, char *text, size_t nbytes)
{
    if (o->kind == SQ_OPTION_NAME)
        snprintf(text, nbytes, "%s", o->choice[(size_t)(v - o->min)]);
    else if (o->kind == SQ_OPTION_NUMBER && v == 0)
        snprintf(text, nbytes, "row");
    else
        snprintf(text, nbytes, "%.10g", v);
}

// ---- refusals -----------------------------------------------------------------------------------

// Formats that take the option, and where not NULL the word as its value.
static size_t takers(unsigned scope, const char *name, const char *word,
                     const char *format[NAMES_MAX])
{
    size_t n = 0;
    for (size_t i = 0; sq_formats[i] && n < NAMES_MAX; i++) {
        const struct sq_format_option *o = sq_option_find(sq_formats[i], scope, name);
        bool has_word = !word;
        for (size_t c = 0; word && o && o->kind == SQ_OPTION_NAME && o->choice[c]; c++)
            has_word = has_word || strcmp(o->choice[c], word) == 0;
        if (o && o->kind != SQ_OPTION_REFUSED && has_word)
            format[n++] = sq_formats[i]->name;
    }
    return n;
}

static const char *absent_text(unsigned scope, const char *name)
{
    for (size_t i = 0; sq_formats[i]; i++) {
        const struct sq_format_option *o = sq_option_find(sq_formats[i], scope, name);
        if (o && o->absent)
            return o->absent;
    }
    return NULL;
}

// The format has no such option.
static enum sq_status refuse_option(const struct sq_format_ops *f, unsigned scope, const char *name,
                                    struct sq_error *err)
{
    const char *absent = absent_text(scope, name), *format[NAMES_MAX];
    char list[LIST_NBYTES];
    SQ_FAIL_IF(absent, err, SQ_ERR_ARG, "%s: %s %s", name, f->name, absent);
    join(format, takers(scope, name, NULL, format), list, sizeof list);
    for (const struct sq_format_option *o = f->option; o->name; o++)
        SQ_FAIL_IF(o->by && strcmp(o->name, name) == 0, err, SQ_ERR_ARG,
                   "%s of %s follows from --%s: did you mean that?", name, f->name, o->by);
    return *list
               ? SQ_FAIL(err, SQ_ERR_ARG, "%s has no use with --format %s; --%s needs --format %s",
                         name, f->name, name, list)
               : SQ_FAIL(err, SQ_ERR_ARG, "%s is no option of --format %s, nor of another one",
                         name, f->name);
}

static enum sq_status refuse_value(const struct sq_format_ops *f, unsigned scope,
                                   const struct sq_format_option *o, const char *text,
                                   struct sq_error *err)
{
    char range[LIST_NBYTES], more[LIST_NBYTES] = "", list[LIST_NBYTES];
    const char *format[NAMES_MAX];
    const char *near = NULL;
    size_t n = 0;
    sq_option_range(o, range, sizeof range);
    if (o->kind == SQ_OPTION_NAME) {
        near = sq_suggest(text, o->choice, n_choices(o));
        n = takers(scope, o->name, text, format);
        join(format, n, list, sizeof list);
    }
    if (o->text)
        snprintf(more, sizeof more, ": %s", o->text);
    else if (n > 0)
        snprintf(more, sizeof more, "; %.40s needs --format %.100s", text, list);
    else if (near)
        snprintf(more, sizeof more, " (did you mean %s?)", near);
    return SQ_FAIL(err, SQ_ERR_ARG, "%s = %.40s, need %s for %s%s", o->name, text, range, f->name,
                   more);
}

// ---- recipes ------------------------------------------------------------------------------------

// A whole text as a value; false where it is none of the option's.
static bool read(const struct sq_format_option *o, const char *text, double *v)
{
    char *end;
    if (o->kind == SQ_OPTION_FLAG) {
        *v = 1;
        return true;
    }
    for (size_t i = 0; o->choice && o->choice[i]; i++)
        if (strcmp(o->choice[i], text) == 0) {
            *v = o->kind == SQ_OPTION_NAME ? o->min + (double)i : spelled(text);
            return true;
        }
    if (o->kind == SQ_OPTION_NAME || !strchr("-+.0123456789", *text) || strpbrk(text, "xX"))
        return false;
    errno = 0;
    *v = strtod(text, &end);
    const bool is_whole = strspn(text, "0123456789") == strlen(text);
    return *text && *end == '\0' && errno == 0 && (is_whole || o->kind == SQ_OPTION_DOUBLE) &&
           sq_option_accepts(o, *v);
}

static enum sq_status take(const struct sq_format_ops *f, unsigned scope, const char *name,
                           const char *text, struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_format_option *o = sq_option_find(f, scope, name);
    double v = 0;
    if (!o)
        return refuse_option(f, scope, name, err);
    SQ_FAIL_IF(o->kind == SQ_OPTION_REFUSED, err, SQ_ERR_ARG, "%s: %s", name, o->text);
    const bool is_off = o->off && strcmp(text, o->off) == 0;
    if (!is_off && !read(o, text, &v))
        return refuse_value(f, scope, o, strcmp(text, "row") == 0 ? "0" : text, err);
    if (o->nbytes && !is_off)
        sq_option_put(o, v, r);
    if (o->flag)
        *((bool *)((char *)r + o->flag)) = !is_off;
    return SQ_OK;
}

void sq_format_defaults(const struct sq_format_ops *f, unsigned scope, struct sq_recipe *r)
{
    *r = sq_recipe_of(f);
    for (const struct sq_format_option *o = f->option; o->name; o++)
        if ((o->taken & scope) && o->nbytes && o->fallback != SQ_FOLLOWS)
            sq_option_put(o, o->fallback, r);
}

enum sq_status sq_format_settle(unsigned scope, const struct sq_given *given, struct sq_recipe *r,
                                struct sq_error *err)
{
    r->is_act_f16 = r->act.low_bits == 16;
    return r->format->settle ? r->format->settle(r, scope, given, err) : SQ_OK;
}

enum sq_status sq_format_recipe(const struct sq_format_ops *f, unsigned scope,
                                const struct sq_given *given, struct sq_recipe *r,
                                struct sq_error *err)
{
    sq_format_defaults(f, scope, r);
    for (size_t i = 0; given && i < given->n; i++)
        SQ_TRY(take(f, scope, given->option[i].name, given->option[i].text, r, err));
    SQ_TRY(sq_format_settle(scope, given, r, err));
    if (scope == SQ_IN_RUN)
        return f->cost->check(r, err);
    if (scope == SQ_IN_FILE)
        return SQ_OK;
    return sq_recipe_is_reference(r) ? SQ_OK : sq_recipe_check(r, err);
}
