// SPDX-License-Identifier: Apache-2.0
// Translates command lines whose command is a mode of another since 0.2.0 (sq_cli_old_name). The file goes
// with the next version.
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cli.h"

static const struct old_name {
    const char *name, *command, *mode, *spelling; // mode NULL: the argument is its value
    const char *option[3][2];                     // old, new; "": the argument
} old_names[] = {
    // clang-format off
    {"compare-runs", "report", "--changes", "report --changes A B", {{0}}},
    {"workload", "inspect", "--gemms", "inspect --gemms CONFIG", {{0}}},
    {"vectors", "quantize", "--vectors", "quantize --vectors, with --output for --out",
     {{"--out", "--output"}}},
    {"explain", "run", NULL, "run --explain TOPIC", {{"", "--explain"}}},
    {"schedule", "run", "--share",
     "run --share --weights FILE, with --m for --tokens and MODEL for --model",
     {{"", "--weights"}, {"--tokens", "--m"}, {"--model", ""}}},
    // clang-format on
};

// Finds the new option of an old one of n characters; NULL where it is still called so.
static const char *new_option(const struct old_name *o, const char *option, size_t n)
{
    for (size_t i = 0; i < 3 && o->option[i][0]; i++)
        if (strlen(o->option[i][0]) == n && strncmp(o->option[i][0], option, n) == 0)
            return o->option[i][1];
    return NULL;
}

static bool takes_value(const char *word)
{
    return strncmp(word, "--", 2) == 0 && !strchr(word, '=') && strcmp(word, "--json") != 0 &&
           strcmp(word, "--help") != 0 && strcmp(word, "--complete") != 0;
}

// Translates the n words behind the command's name, each into two at most, and adds one more at most.
static int translate(const struct old_name *o, int n, char **from, char **to)
{
    bool has_argument = false;
    int n_to = 0;
    for (int i = 0; i < n; i++) {
        const bool is_option = from[i][0] == '-';
        const size_t length = is_option ? strcspn(from[i], "=") : 0;
        const char *option = new_option(o, from[i], length);
        has_argument = has_argument || !is_option;
        if (option && *option)
            to[n_to++] = (char *)option;
        if (!option || !is_option)
            to[n_to++] = from[i];
        else if (from[i][length])
            to[n_to++] = from[i] + length + 1;
        if (takes_value(from[i]) && i + 1 < n)
            to[n_to++] = from[++i];
    }
    if (!o->mode && !has_argument)
        to[n_to++] = (char *)o->option[0][1];
    return n_to;
}

void sq_cli_old_name(int *argc, char ***argv)
{
    const struct old_name *o = old_names, *const end = o + sizeof old_names / sizeof *o;
    while (o < end && strcmp((*argv)[1], o->name) != 0)
        o++;
    char **to = o < end ? calloc((size_t)*argc * 2 + 3, sizeof *to) : NULL;
    if (!to)
        return;
    fprintf(stderr, "sqsim: %s is now: sqsim %s\n", o->name, o->spelling);
    to[0] = (*argv)[0];
    to[1] = (char *)o->command;
    to[2] = (char *)o->mode;
    const int n = o->mode ? 3 : 2;
    *argc = n + translate(o, *argc - 2, *argv + 2, to + n);
    *argv = to;
}
