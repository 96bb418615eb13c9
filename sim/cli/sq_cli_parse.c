// SPDX-License-Identifier: Apache-2.0
// sq_cli_parse: a first pass over argv that knows every option of the argp tree and refuses what
// getopt would guess at or report in several lines, then argp itself.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cli_option.h"

enum { MAX_OPTIONS = 128 };

struct options {
    const struct argp_option *option[MAX_OPTIONS];
    size_t n;
};

static void collect(const struct argp *argp, struct options *all)
{
    for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
        if (all->n < MAX_OPTIONS)
            all->option[all->n++] = o;
    for (const struct argp_child *c = argp->children; c && c->argp; c++)
        collect(c->argp, all);
}

static const struct argp_option *find_long(const struct options *all, const char *name, size_t n)
{
    for (size_t i = 0; i < all->n; i++) {
        const char *known = all->option[i]->name;
        if (known && strlen(known) == n && strncmp(known, name, n) == 0)
            return all->option[i];
    }
    return NULL;
}

static const struct argp_option *find_short(const struct options *all, char key)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->option[i]->key == key && key > ' ' && key <= '~')
            return all->option[i];
    return NULL;
}

// An alias takes what the option before it takes.
static bool takes_value(const struct options *all, const struct argp_option *o)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->option[i] == o)
            while (i > 0 && (all->option[i]->flags & OPTION_ALIAS))
                o = all->option[--i];
    return o->arg != NULL;
}

static enum sq_status unknown_long(const struct options *all, const char *name, size_t n,
                                   struct sq_error *err)
{
    const char *names[MAX_OPTIONS + 1] = {"help"};
    size_t n_names = 1;
    for (size_t i = 0; i < all->n; i++)
        if (all->option[i]->name)
            names[n_names++] = all->option[i]->name;
    char text[64];
    snprintf(text, sizeof text, "%.*s", n < 60 ? (int)n : 60, name);
    const char *nearest = sq_cli_suggest(text, names, n_names);
    return SQ_FAIL(err, SQ_ERR_ARG, "unknown option --%s, %s%s%s", text,
                   nearest ? "did you mean --" : "see --help", nearest ? nearest : "",
                   nearest ? "?" : "");
}

// One "--name" or "--name=value"; *skip = the value is the next word.
static enum sq_status check_long(const struct options *all, const char *name, bool has_next,
                                 bool *skip, struct sq_error *err)
{
    size_t n = strcspn(name, "=");
    const struct argp_option *o = find_long(all, name, n);
    if (!o)
        return unknown_long(all, name, n, err);
    bool has_value = name[n] == '=';
    if (!takes_value(all, o) && has_value)
        return SQ_FAIL(err, SQ_ERR_ARG, "option --%s takes no value", o->name);
    *skip = takes_value(all, o) && !has_value;
    if (*skip && !has_next)
        return SQ_FAIL(err, SQ_ERR_ARG, "option --%s needs a value", o->name);
    return SQ_OK;
}

// One "-o" or "-oFILE" or a cluster of flags.
static enum sq_status check_short(const struct options *all, const char *keys, bool has_next,
                                  bool *skip, struct sq_error *err)
{
    for (const char *c = keys; *c; c++) {
        const struct argp_option *o = find_short(all, *c);
        if (!o)
            return SQ_FAIL(err, SQ_ERR_ARG, "unknown option -%c, see --help", *c);
        if (!takes_value(all, o))
            continue;
        *skip = c[1] == '\0';
        if (*skip && !has_next)
            return SQ_FAIL(err, SQ_ERR_ARG, "option -%c needs a value", *c);
        return SQ_OK;
    }
    return SQ_OK;
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

static void print_help_and_exit(const struct argp *argp, int argc, char **argv)
{
    char name[64];
    const char *command = argv[0], *format = format_of(argc, argv);
    snprintf(name, sizeof name, "sqsim %.40s", command);
    argp_help(format ? sq_cli_options_help(argp, format) : argp, stdout,
              ARGP_HELP_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
    exit(sq_cli_finish(command, SQ_EXIT_OK));
}

// "--bank\tN\t", "--algorithm\tWORD\trtn gptq", "--json\t\t"; an alias has the argument of its
// option.
static void print_options_and_exit(const struct options *all, const char *command)
{
    char words[512];
    for (size_t i = 0; i < all->n; i++) {
        const struct argp_option *o = all->option[i];
        const char *arg = takes_value(all, o) ? o->arg ? o->arg : "X" : "";
        if (!o->name || (o->flags & OPTION_HIDDEN))
            continue;
        sq_cli_option_words(o->name, words, sizeof words);
        printf("--%s\t%s\t%s\n", o->name, arg, *arg ? words : "");
    }
    printf("--help\t\t\n");
    exit(sq_cli_finish(command, SQ_EXIT_OK));
}

static enum sq_status check_words(const struct argp *argp, int argc, char **argv,
                                  struct sq_error *err)
{
    struct options all = {.n = 0};
    collect(argp, &all);
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        bool skip = false, has_next = i + 1 < argc;
        if (strcmp(word, "--") == 0)
            return SQ_OK;
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            print_help_and_exit(argp, argc, argv);
        else if (strcmp(word, "--complete") == 0)
            print_options_and_exit(&all, argv[0]);
        else if (strncmp(word, "--", 2) == 0)
            SQ_TRY(check_long(&all, word + 2, has_next, &skip, err));
        else if (word[0] == '-' && word[1] != '\0')
            SQ_TRY(check_short(&all, word + 1, has_next, &skip, err));
        i += skip;
    }
    return SQ_OK;
}

enum sq_status sq_cli_parse(const struct argp *argp, int argc, char **argv, void *input,
                            struct sq_error *err)
{
    *err = (struct sq_error){.code = SQ_OK};
    SQ_TRY(check_words(argp, argc, argv, err));
    int index = argc;
    error_t e =
        argp_parse(argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP,
                   &index, input);
    if (err->code != SQ_OK)
        return err->code;
    if (e != 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "bad arguments (%s), see --help", strerror(e));
    if (index < argc)
        return SQ_FAIL(err, SQ_ERR_ARG, "unexpected argument '%.80s', see --help", argv[index]);
    return SQ_OK;
}
