// SPDX-License-Identifier: Apache-2.0
// The tables of the formats (sq_format_ops.h, sq_format_option.h), every row of every format, and
// every option given with its default, one past its range and with a word that it does not have.

#include "sim/format/core/sq_grid_recipe.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_recipe_json.h"
#include "sim/sweep/sq_sweep_grid.h"
#include "tests/unit/fixture.h"

static const unsigned scopes[] = {SQ_IN_EVAL, SQ_IN_QUANTIZE, SQ_IN_FILE, SQ_IN_RUN, SQ_IN_SWEEP};

SQ_TEST(names_are_those_of_the_list)
{
    for (size_t i = 0; i < sq_n_formats(); i++) {
        assert_string_equal(sq_formats[i]->name, sq_format_names[i]);
        assert_ptr_equal(sq_format_find(sq_format_names[i]), sq_formats[i]);
    }
    assert_null(sq_formats[sq_n_formats()]);
    assert_null(sq_format_names[sq_n_formats()]);
    assert_null(sq_format_find("sq_x"));
    size_t n_core = 0;
    for (size_t i = 0; sq_formats[i]; i++)
        if (sq_formats[i]->cost->is_core)
            assert_string_equal(sq_core_format_names[n_core++], sq_formats[i]->name);
    assert_null(sq_core_format_names[n_core]);
    assert_ptr_equal(sq_format_of_packed()->values->init, sq_formats[0]->values->init);
}

// A format has everything of a part or nothing.
SQ_TEST(parts_are_whole)
{
    for (size_t i = 0; sq_formats[i]; i++) {
        const struct sq_format_ops *f = sq_formats[i];
        const struct sq_format_values *v = f->values;
        assert_true(v->init && v->free && v->apply && v->decode_row);
        assert_true(f->file->outline && f->file->parts && f->file->load);
        assert_true(!f->share || (f->share->loads && f->share->unit));
        assert_true(f->cost->check && f->cost->demand && f->cost->equivalent_bits);
    }
}

static bool is_number(const struct sq_format_option *o)
{
    return o->kind <= SQ_OPTION_FLAG;
}

SQ_TEST(rows_are_complete)
{
    for (size_t i = 0; sq_formats[i]; i++)
        for (const struct sq_format_option *o = sq_formats[i]->option; o->name; o++) {
            if (o->taken && o->kind == SQ_OPTION_REFUSED)
                assert_non_null(o->text);
            if (!o->taken || !is_number(o))
                continue;
            if (!o->help || o->nbytes == 0 || o->offset + o->nbytes > sizeof(struct sq_recipe))
                fail_msg("%s: option %s has no help or field", sq_formats[i]->name, o->name);
            if (o->fallback != SQ_FOLLOWS && o->kind != SQ_OPTION_FLAG &&
                !sq_option_accepts(o, o->fallback))
                fail_msg("%s: default %g of %s is outside its range", sq_formats[i]->name,
                         o->fallback, o->name);
            for (const struct sq_format_option *p = o + 1; p->name; p++)
                if ((p->taken & o->taken) && strcmp(p->name, o->name) == 0)
                    fail_msg("%s: option %s is taken twice", sq_formats[i]->name, o->name);
        }
}

// No key of JSON twice in a scope.
SQ_TEST(shown_once)
{
    for (size_t i = 0; sq_formats[i]; i++)
        for (const struct sq_format_option *o = sq_formats[i]->option; o->name; o++)
            for (const struct sq_format_option *p = o + 1; p->name; p++)
                if ((p->shown & o->shown) &&
                    strcmp(p->key ? p->key : p->name, o->key ? o->key : o->name) == 0)
                    fail_msg("%s shows %s twice", sq_formats[i]->name, o->name);
}

// What is said when the default is given is what holds when nothing is.
SQ_TEST(defaults_are_what_they_say)
{
    for (size_t i = 0; sq_formats[i]; i++)
        for (size_t s = 0; s < LEN(scopes); s++) {
            const struct sq_format_ops *f = sq_formats[i];
            struct sq_recipe plain, given;
            struct sq_error err;
            const bool is_file = scopes[s] == SQ_IN_QUANTIZE || scopes[s] == SQ_IN_FILE;
            if (scopes[s] == SQ_IN_SWEEP || (is_file && !f->file))
                continue;
            if (sq_format_recipe(f, scopes[s], NULL, &plain, &err) != SQ_OK)
                fail_msg("%s: %s", f->name, err.text);
            for (const struct sq_format_option *o = f->option; o->name; o++) {
                char word[32];
                struct sq_given one = {1, {{o->name, word}}};
                if (!(o->taken & scopes[s]) || o->kind > SQ_OPTION_NAME || o->flag ||
                    o->fallback == SQ_FOLLOWS || strcmp(o->name, "percdamp") == 0 ||
                    strcmp(o->name, "chunk") == 0 || strcmp(o->name, "score") == 0)
                    continue; // those have a meaning only beside another
                sq_option_word(o, o->fallback, word, sizeof word);
                if (sq_format_recipe(f, scopes[s], &one, &given, &err) != SQ_OK)
                    fail_msg("%s: %s = %s: %s", f->name, o->name, word, err.text);
                if (memcmp(&plain, &given, sizeof plain) != 0)
                    fail_msg("%s: %s = %s is not the default", f->name, o->name, word);
            }
        }
}

// eval and quantize start from the same recipe: an option of both is the same row, so that its
// default, its range and its help cannot differ, and so is what is settled from it.
SQ_TEST(eval_and_quantize_start_alike)
{
    unsigned shared = 0;
    for (size_t i = 0; sq_formats[i]; i++) {
        const struct sq_format_ops *f = sq_formats[i];
        struct sq_recipe eval, quantize;
        struct sq_error err;
        if (!f->file)
            continue;
        for (const struct sq_format_option *o = f->option; o->name; o++) {
            const struct sq_format_option *e = sq_option_find(f, SQ_IN_EVAL, o->name),
                                          *q = sq_option_find(f, SQ_IN_QUANTIZE, o->name);
            if (!e || !q)
                continue;
            if (e != q)
                fail_msg("%s: %s has a row of its own in eval and in quantize", f->name, o->name);
            shared++;
        }
        if (sq_format_recipe(f, SQ_IN_EVAL, NULL, &eval, &err) != SQ_OK ||
            sq_format_recipe(f, SQ_IN_QUANTIZE, NULL, &quantize, &err) != SQ_OK)
            fail_msg("%s: %s", f->name, err.text);
        if (memcmp(&eval, &quantize, sizeof eval) != 0)
            fail_msg("%s: eval and quantize start from different recipes", f->name);
    }
    assert_true(shared > 60);
}

// An option has one default, whatever command takes it: its rows agree, in their fields and their
// defaults; and so do the recipes that eval, quantize, run and a sweep without axes start from.
// cosim --layers, image and energy take the recipe of eval, vectors that of quantize
// (cli/defaults.t). `outliers` of spqr is a threshold of errors for an encoder, a share in time.
SQ_TEST(one_default_in_every_command)
{
    unsigned shared = 0;
    for (size_t i = 0; sq_formats[i]; i++)
        for (const struct sq_format_option *o = sq_formats[i]->option; o->name; o++)
            for (const struct sq_format_option *p = o + 1; p->name; p++) {
                if (!o->taken || !p->taken || !is_number(o) || !is_number(p) ||
                    strcmp(o->name, p->name) != 0 || strcmp(o->name, "outliers") == 0)
                    continue;
                if (o->offset != p->offset || o->fallback != p->fallback)
                    fail_msg("%s: %s is %g in one command and %g in another", sq_formats[i]->name,
                             o->name, o->fallback, p->fallback);
                shared++;
            }
    assert_true(shared > 4);
}

static void compare_sweep(const char *format, const char *where, const char *measure)
{
    char text[200];
    struct sq_sweep_grid s;
    struct sq_sweep_point p;
    struct sq_recipe from;
    struct sq_error err;
    snprintf(text, sizeof text, "name: d\naxes: {format: [%s]%s}\nmeasures: [%s]\n", format, where,
             measure);
    if (sq_sweep_grid_parse(&s, text, strlen(text), "test", ".", &err) != SQ_OK)
        fail_msg("%s: %s", format, err.text);
    assert_int_equal(s.n_points, 1);
    sq_sweep_grid_point(&s, 0, &p);
    for (size_t c = 0; c < LEN(scopes); c++) {
        const unsigned scope = scopes[c];
        if (scope == SQ_IN_SWEEP || scope == SQ_IN_FILE || // a file says its own
            sq_format_recipe(p.recipe.format, scope, NULL, &from, &err) != SQ_OK)
            continue;
        for (const struct sq_format_option *o = p.recipe.format->option; o->name; o++) {
            if (!(o->taken & scope) || !is_number(o))
                continue;
            const double got = sq_option_get(o, &p.recipe), want = sq_option_get(o, &from);
            const bool is_on = o->flag && *((const bool *)&p.recipe + o->flag),
                       must_be = o->flag && *((const bool *)&from + o->flag);
            if (got != want || is_on != must_be)
                fail_msg("%s: %s = %g (%d) in a sweep of %s, %g (%d) elsewhere", format, o->name,
                         got, is_on, measure, want, must_be);
        }
    }
    sq_sweep_grid_free(&s);
}

SQ_TEST(sweeps_start_like_other_commands)
{
    for (size_t i = 0; sq_formats[i]; i++) {
        compare_sweep(sq_formats[i]->name, "", "loss");
        compare_sweep(sq_formats[i]->name,
                      ", machine: [sim/machines/server64.yaml], n: [64], k: [256]", "time_ms");
    }
}

// ---- refusals -------------------------------------------------------------------------------

static void refuse(const struct sq_format_ops *f, unsigned scope, const char *name,
                   const char *word)
{
    struct sq_given one = {1, {{name, word}}};
    struct sq_recipe r;
    struct sq_error err;
    if (sq_format_recipe(f, scope, &one, &r, &err) == SQ_OK)
        fail_msg("%s takes %s = %s", f->name, name, word);
    if (strncmp(err.text, name, strlen(name)) != 0 || strchr(err.text, '\n'))
        fail_msg("%s: %s = %s is refused by '%s'", f->name, name, word, err.text);
}

// By a sentence that begins with the option: what lies outside a range, is no number, is no word of
// the list, or belongs to another format.
SQ_TEST(refusals_name_the_option)
{
    unsigned outside = 0, foreign = 0;
    for (size_t i = 0; sq_formats[i]; i++)
        for (size_t j = 0; sq_formats[j]; j++)
            for (const struct sq_format_option *o = sq_formats[j]->option; o->name; o++)
                for (size_t s = 0; s < LEN(scopes); s++) {
                    const struct sq_format_option *mine =
                        sq_option_find(sq_formats[i], scopes[s], o->name);
                    if (!(o->taken & scopes[s]) || scopes[s] == SQ_IN_SWEEP)
                        continue;
                    if (!mine || mine->kind == SQ_OPTION_REFUSED) {
                        refuse(sq_formats[i], scopes[s], o->name, "1");
                        foreign++;
                    } else if (mine->kind != SQ_OPTION_FLAG) {
                        char word[32];
                        refuse(sq_formats[i], scopes[s], o->name, "x");
                        refuse(sq_formats[i], scopes[s], o->name, "");
                        refuse(sq_formats[i], scopes[s], o->name, "nan");
                        refuse(sq_formats[i], scopes[s], o->name, "-1");
                        refuse(sq_formats[i], scopes[s], o->name, "1e9x");
                        snprintf(word, sizeof word, "%.10g", 1e7);
                        refuse(sq_formats[i], scopes[s], o->name, word);
                        outside++;
                    }
                }
    assert_true(outside > 100 && foreign > 100);
}

SQ_TEST(sentences)
{
    static const struct {
        const char *f;
        unsigned scope;
        const char *name, *word, *text;
    } row[] = {
        {"sq_w", SQ_IN_EVAL, "prune", "wanda",
         "prune has no use with --format sq_w; --prune needs --format sp24 or gqsa"},
        {"sp24", SQ_IN_EVAL, "algorithm", "lite",
         "algorithm = lite, need rtn or gptq for sp24; lite needs --format gqsa"},
        {"gqsa", SQ_IN_RUN, "group", "3", "group = 3, need 4..128 for gqsa"},
        {"gqsa", SQ_IN_EVAL, "group", "row", "group = 0, need 4, 8, 16, 32, 64 or 128 for gqsa"},
        {"dense", SQ_IN_EVAL, "act-bits", "3", "act-bits = 3, need 4..8 or 16 for dense"},
        {"gqsa", SQ_IN_EVAL, "prune", "wonda",
         "prune = wonda, need magnitude, wanda or sparsegpt for gqsa (did you mean wanda?)"},
    };
    for (size_t i = 0; i < LEN(row); i++) {
        struct sq_given one = {1, {{row[i].name, row[i].word}}};
        struct sq_recipe r;
        struct sq_error err;
        if (sq_is_without(row[i].f) || sq_is_without(row[i].text))
            continue;
        assert_int_not_equal(
            sq_format_recipe(sq_format_find(row[i].f), row[i].scope, &one, &r, &err), SQ_OK);
        assert_string_equal(err.text, row[i].text);
    }
}

// Removes what only a run takes: the share of outliers that it expects, bits of activations that eval multiplies as they are.
static void keep_common(const struct sq_format_ops *f, json_t *recipe)
{
    for (const struct sq_format_option *o = f->option; o->name; o++) {
        const struct sq_format_option *e = sq_option_find(f, SQ_IN_EVAL, o->name);
        char key[32];
        snprintf(key, sizeof key, "%s", o->key ? o->key : o->name);
        for (char *c = key; *c; c++)
            *c = *c == '-' ? '_' : *c;
        if ((o->taken & SQ_IN_RUN) &&
            !(e && (e->taken & SQ_IN_EVAL) && e->nbytes && e->offset == o->offset))
            json_object_del(recipe, key);
    }
}

static void same_settled(const struct sq_recipe *a, const struct sq_recipe *b, unsigned shown)
{
    json_t *x = sq_recipe_json(a, shown), *y = sq_recipe_json(b, shown);
    keep_common(a->format, x);
    keep_common(a->format, y);
    char *left = json_dumps(x, JSON_SORT_KEYS), *right = json_dumps(y, JSON_SORT_KEYS);
    assert_true(json_object_size(x) > 1 || json_object_size(y) == 1);
    assert_string_equal(left, right);
    free(left);
    free(right);
    json_decref(x);
    json_decref(y);
}

// Without any option: eval, energy, cosim, image and generate ask for SQ_IN_EVAL, quantize, run and its rows, and sweep with
// point, which take each axis that is left out (sq_sweep_axis.c), for the others.
SQ_TEST(commands_settle_the_same)
{
    for (size_t i = 0; sq_formats[i]; i++) {
        const struct sq_format_ops *f = sq_formats[i];
        struct sq_recipe eval, other;
        struct sq_error err;
        assert_ok(sq_format_recipe(f, SQ_IN_EVAL, NULL, &eval, &err));
        assert_ok(sq_format_recipe(f, SQ_IN_RUN, NULL, &other, &err));
        same_settled(&eval, &other, SQ_IN_RUN);
        assert_ok(sq_format_recipe(f, SQ_IN_QUANTIZE, NULL, &other, &err));
        same_settled(&eval, &other, SQ_IN_QUANTIZE);
        sq_format_defaults(f, SQ_IN_EVAL | SQ_IN_RUN | SQ_IN_SWEEP, &other);
        assert_ok(sq_format_settle(SQ_IN_SWEEP, NULL, &other, &err));
        same_settled(&eval, &other, SQ_IN_RUN);
        same_settled(&eval, &other, SQ_IN_EVAL);
    }
}
