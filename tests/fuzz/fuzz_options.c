// SPDX-License-Identifier: Apache-2.0
// Options of the commands: words, one a line, through every shared option, and what follows from
// them. First byte: bit 0 the systems beside sq_w, bit 1 a command that takes a file name.
#include "sim/cli/sq_cli_system.h"
#include "sim/format/sq_system.h"
#include "tests/fuzz/fuzz.h"

enum { WORDS_MAX = 24 };

struct input {
    struct sq_cli_format format;
    struct sq_cli_core core;
    struct sq_cli_system system;
    const char *file;
    bool takes_file;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct input *in = state->input;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = state->child_inputs[1] = &in->format;
        state->child_inputs[2] = &in->core;
        state->child_inputs[3] = &in->system;
        return 0;
    }
    if (key != ARGP_KEY_ARG || in->file || !in->takes_file)
        return ARGP_ERR_UNKNOWN;
    in->file = arg;
    return 0;
}

static void use(const struct input *in)
{
    struct sq_error err;
    struct sq_core_config core;
    struct sq_recipe recipe;
    enum sq_status status = sq_cli_core_config(&in->core, &in->format, &core, &err);
    fuzz_status(status, &err);
    if (status == SQ_OK)
        FUZZ_CHECK(sq_core_config_check(&core, &err) == SQ_OK);
    if (!in->format.system) {
        FUZZ_CHECK(sq_format_check(&in->format.format, &err) == SQ_OK);
        fuzz_status(sq_cli_system_unused(&in->system, &err), &err);
        return;
    }
    const enum sq_system system = sq_system_find(in->format.system);
    const struct sq_cli_offline offline = {.score = SQ_CLI_NOT_GIVEN,
                                           .sparsity = in->format.sparsity,
                                           .percdamp = -1,
                                           .group = in->format.format.group};
    if (system == SQ_SYSTEM_GRID)
        return;
    status = sq_cli_system_recipe(&in->system, &offline, system, &recipe, &err);
    fuzz_status(status, &err);
    if (status == SQ_OK)
        FUZZ_CHECK(sq_recipe_check(&recipe, &err) == SQ_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const systems[] = {"sp24", "gqsa", "spqt", "spqr"};
    static const struct argp_option none[] = {{0}};
    static const struct argp_child children[] = {{&sq_cli_format_argp, 0, NULL, 0},
                                                 {&sq_cli_act_argp, 0, NULL, 0},
                                                 {&sq_cli_core_argp, 0, NULL, 0},
                                                 {&sq_cli_system_argp, 0, NULL, 0},
                                                 {0}};
    static const struct argp argp = {none, parse, "FILE", "", children, NULL, NULL};
    struct fuzz_reader r = {data, n};
    struct sq_error err;
    const unsigned mode = fuzz_byte(&r);
    char *text = fuzz_text(&r), *words[WORDS_MAX + 1] = {"command"}, *next = text;
    int n_words = 1;
    for (char *word; n_words < WORDS_MAX && (word = strsep(&next, "\n"));)
        if (strcmp(word, "--help") != 0) // prints and ends the program
            words[n_words++] = word;
    struct input in = {.format = sq_cli_format_default(&err),
                       .core = sq_cli_core_default(&err),
                       .system = sq_cli_system_default(&err),
                       .takes_file = mode & 2};
    if (mode & 1) {
        in.format.systems = systems;
        in.format.n_systems = sizeof systems / sizeof systems[0];
    }
    const enum sq_status status = sq_cli_parse(&argp, n_words, words, &in, &err);
    fuzz_status(status, &err);
    if (status == SQ_OK)
        use(&in);
    free(text);
    return 0;
}
