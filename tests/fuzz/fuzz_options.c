// SPDX-License-Identifier: Apache-2.0
// Options of the commands: words, one a line, through the options of the formats and of the core,
// and what follows from them. First byte: bits 1:0 eval, quantize, run or cosim; bit 2 a command
// that takes a file name.
#include "sim/cli/sq_cli_option.h"
#include "tests/fuzz/fuzz.h"

enum { WORDS_MAX = 24 };

struct input {
    struct sq_cli_options options;
    struct sq_cli_format format;
    struct sq_cli_core core;
    const char *file;
    bool takes_file, is_cosim;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct input *in = state->input;
    if (key == ARGP_KEY_INIT) {
        void *first = in->is_cosim ? (void *)&in->format : &in->options;
        state->child_inputs[0] = first;
        state->child_inputs[1] = &in->core;
        if (in->is_cosim)
            state->child_inputs[2] = &in->format;
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
    if (in->is_cosim) {
        FUZZ_CHECK(sq_format_check(&in->format.format, &err) == SQ_OK);
        return;
    }
    status = sq_cli_recipe(&in->options, &recipe, &err);
    fuzz_status(status, &err);
    if (status == SQ_OK && in->options.scope != SQ_IN_RUN)
        FUZZ_CHECK(sq_recipe_check(&recipe, &err) == SQ_OK);
}

// --help, what argp takes for it (--he), and the letters of it, alone or among others.
static bool asks_for_help(const char *word)
{
    const size_t n = strlen(word);
    if (word[0] == '-' && word[1] != '-')
        return strpbrk(word, "h?") != NULL;
    return n > 2 && strncmp(word, "--help", n) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const unsigned scopes[] = {SQ_IN_EVAL, SQ_IN_QUANTIZE, SQ_IN_RUN, SQ_IN_RUN};
    static const struct argp_option none[] = {{0}};
    struct fuzz_reader r = {data, n};
    struct sq_error err;
    const unsigned mode = fuzz_byte(&r);
    const bool is_cosim = (mode & 3) == 3;
    const struct argp_child children[] = {
        {is_cosim ? &sq_cli_format_argp : sq_cli_options_argp(scopes[mode & 3]), 0, NULL, 0},
        {&sq_cli_core_argp, 0, NULL, 0},
        {is_cosim ? &sq_cli_act_argp : NULL, 0, NULL, 0},
        {0}};
    const struct argp argp = {none, parse, "FILE", "", children, NULL, NULL};
    char *text = fuzz_text(&r), *words[WORDS_MAX + 1] = {"command"}, *next = text;
    int n_words = 1;
    for (char *word; n_words < WORDS_MAX && (word = strsep(&next, "\n"));)
        if (!asks_for_help(word)) // which prints and ends the program
            words[n_words++] = word;
    struct input in = {.options = sq_cli_options_default(scopes[mode & 3], &err),
                       .format = sq_cli_format_default(&err),
                       .core = sq_cli_core_default(&err),
                       .is_cosim = is_cosim,
                       .takes_file = mode & 4};
    const enum sq_status status = sq_cli_parse(&argp, n_words, words, &in, &err);
    fuzz_status(status, &err);
    if (status == SQ_OK)
        use(&in);
    free(text);
    return 0;
}
