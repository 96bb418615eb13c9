// SPDX-License-Identifier: Apache-2.0
// --help and --complete, from the rows of a command (sq_cli_row.h). argp lays out the text.
#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cli_option.h"

enum { HELP_NBYTES = 1400 };

// What --help says above options that belong together, in this order.
enum { COMMAND = 1, FORMAT, CORE, COMMON, TOOLS, OTHERS, N_HEADINGS };
static const char *const headings[N_HEADINGS] = {[COMMAND] = "Command:",
                                                 [FORMAT] = "Format:",
                                                 [CORE] = "Core:",
                                                 [COMMON] = "Output and work:",
                                                 [TOOLS] = "Tools that it runs:"};
// The same once a format is named: its options come first.
enum { OF_FORMAT = COMMAND, OF_COMMAND, OF_COMMON = COMMON };
static const char *const headings_of[N_HEADINGS] = {[OF_FORMAT] = "Options of %s:",
                                                    [OF_COMMAND] = "Options of the command:",
                                                    [OF_COMMON] = "Output and work:",
                                                    [OTHERS] = "Options of other formats than %s:"};

static struct {
    struct argp_option option[SQ_CLI_ROWS_MAX + N_HEADINGS + 1];
    size_t n;
    const char *format; // that is named; NULL: none
    bool has_heading[N_HEADINGS];
} shown;

static void put(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(char *text, const char *format, ...)
{
    const size_t at = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + at, HELP_NBYTES - at, format, args);
    va_end(args);
}

static bool is_word(const struct sq_cli_row *r)
{
    return r->kind == SQ_CLI_IS_WORD || r->kind == SQ_CLI_IS_NUMBER;
}

// ", 1..64", ", none, peak or area".
static void put_range(const struct sq_cli_row *r, char *text)
{
    char list[400];
    size_t n = 0;
    if (r->kind == SQ_CLI_IS_UINT && r->max < UINT64_MAX)
        put(text, ", %" PRIu64 "..%" PRIu64, r->min, r->max);
    if (r->kind == SQ_CLI_IS_REAL)
        put(text, ", %g..%g", r->least, r->most);
    if (is_word(r)) {
        while (r->choice[n])
            n++;
        put(text, ", %s", sq_cli_join(r->choice, n, list, sizeof list));
    }
    if (r->unit)
        put(text, " %s", r->unit);
    if (r->count)
        put(text, "; may repeat");
}

// The whole number in a field.
static uint64_t whole_of(const struct sq_cli_item *item)
{
    const void *field = item->in + item->row->offset;
    return item->row->nbytes == sizeof(bool)       ? *(const bool *)field
           : item->row->nbytes == sizeof(uint32_t) ? *(const uint32_t *)field
                                                   : *(const uint64_t *)field;
}

// " (32)": the field as it is before anything is read, if that is a value.
static void put_default(const struct sq_cli_item *item, char *text)
{
    const struct sq_cli_row *r = item->row;
    const uint64_t v = r->kind == SQ_CLI_IS_UINT || is_word(r) ? whole_of(item) : 0;
    if (r->usual)
        put(text, " (%s)", r->usual);
    else if (r->count)
        return;
    else if (r->kind == SQ_CLI_IS_UINT && v > 0 && v >= r->min && v <= r->max)
        put(text, " (%" PRIu64 ")", v);
    else if (r->kind == SQ_CLI_IS_REAL && *(const double *)(void *)(item->in + r->offset) > 0)
        put(text, " (%g)", *(const double *)(void *)(item->in + r->offset));
    for (size_t i = 0; !r->usual && is_word(r) && r->choice[i]; i++)
        if (v == (r->kind == SQ_CLI_IS_WORD ? r->min + i : strtoull(r->choice[i], NULL, 10)))
            put(text, " (%s)", r->choice[i]);
}

static void show(const struct sq_cli_row *r, const char *help, int group)
{
    char heading[80];
    if (!shown.has_heading[group]) {
        snprintf(heading, sizeof heading, shown.format ? headings_of[group] : headings[group],
                 shown.format);
        shown.option[shown.n++] = (struct argp_option){.doc = strdup(heading), .group = group};
        shown.has_heading[group] = true;
    }
    shown.option[shown.n] = (struct argp_option){.name = r->name,
                                                 .key = r->letter ? r->letter : 256 + (int)shown.n,
                                                 .arg = r->arg,
                                                 .doc = strdup(help),
                                                 .group = group};
    shown.n++;
}

static void show_item(const struct sq_cli_item *item)
{
    const struct sq_cli_row *r = item->row;
    char help[HELP_NBYTES] = "";
    if (item->needs)
        put(help, "with --%s: ", item->needs);
    put(help, "%s", r->help);
    if (r->kind != SQ_CLI_IS_OWN)
        put_range(r, help);
    put_default(item, help);
    if (!shown.format)
        show(r, help, COMMAND + (int)r->group);
    else if (!r->scope || strcmp(r->name, "format") == 0)
        show(r, help, r->group == SQ_CLI_COMMON ? OF_COMMON : OF_COMMAND);
    else if (sq_cli_options_help(r, shown.format, help, sizeof help))
        show(r, help, OF_FORMAT);
    else
        show(r, help, OTHERS);
}

void sq_cli_help_and_exit(const struct sq_cli_line *line, const struct sq_cli_rows *all,
                          const char *command, const char *format)
{
    const struct argp argp = {
        .options = shown.option, .args_doc = *line->args ? line->args : NULL, .doc = line->doc};
    char name[64];
    for (size_t i = 0; i < all->n; i++)
        if (all->item[i].row->scope && format && sq_format_find(format))
            shown.format = format;
    for (size_t i = 0; i < all->n; i++)
        if (all->item[i].row->name)
            show_item(&all->item[i]);
    snprintf(name, sizeof name, "sqsim %.40s", command);
    argp_help(&argp, stdout, ARGP_HELP_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
    exit(sq_cli_finish(command, SQ_EXIT_OK));
}

// "--bank\tN\t", "--algorithm\tWORD\trtn gptq", "--json\t\t".
void sq_cli_complete_and_exit(const struct sq_cli_rows *all, const char *command)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct sq_cli_row *r = all->item[i].row;
        if (!r->name)
            continue;
        printf("--%s\t%s\t", r->name, r->arg ? r->arg : "");
        for (size_t c = 0; r->choice && r->choice[c]; c++)
            printf("%s%s", c ? " " : "", r->choice[c]);
        printf("\n");
    }
    printf("--help\t\t\n");
    exit(sq_cli_finish(command, SQ_EXIT_OK));
}
