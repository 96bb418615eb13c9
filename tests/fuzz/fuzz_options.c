// SPDX-License-Identifier: Apache-2.0
// Options of the commands: words, one a line, through the options of the formats and of the core,
// and what follows from them. First byte: bits 1:0 eval, quantize, run or cosim; bit 2 a command
// that takes a file name.
#include "sim/cli/sq_cli_core.h"
#include "sim/cli/sq_cli_option.h"
#include "tests/fuzz/fuzz.h"

enum { WORDS_MAX = 24 };

struct input {
    struct sq_cli_options options;
    struct sq_cli_banks banks;
    struct sq_cli_core core;
    const char *file[1];
    size_t n_files; // a command without files starts with a full list
    bool is_cosim;
};

static void use(const struct input *in)
{
    struct sq_error err;
    struct sq_core_config core;
    struct sq_recipe recipe;
    if (fuzz_ok(sq_cli_core_config(&in->core, &in->banks, &core, &err), &err))
        FUZZ_CHECK(sq_core_config_check(&core, &err) == SQ_OK);
    if (in->is_cosim) {
        FUZZ_CHECK(sq_format_check(&in->banks.format, &err) == SQ_OK);
        return;
    }
    if (fuzz_ok(sq_cli_recipe(&in->options, &recipe, &err), &err) && in->options.scope != SQ_IN_RUN)
        FUZZ_CHECK(sq_recipe_check(&recipe, &err) == SQ_OK);
}

// What prints and ends the program: --complete, --help, what argp takes for it (--he), and the letters
// of it, alone or among others.
static bool ends_the_program(const char *word)
{
    const size_t n = strlen(word);
    if (word[0] == '-' && word[1] != '-')
        return strpbrk(word, "h?") != NULL;
    return strcmp(word, "--complete") == 0 || (n > 2 && strncmp(word, "--help", n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const unsigned scopes[] = {SQ_IN_EVAL, SQ_IN_QUANTIZE, SQ_IN_RUN, SQ_IN_RUN};
    struct fuzz_reader r = {data, n};
    struct sq_error err;
    const unsigned mode = fuzz_byte(&r);
    const bool is_cosim = (mode & 3) == 3;
    const struct sq_cli_row rows[] = {
        is_cosim
            ? (struct sq_cli_row)SQ_CLI_BANKS(SQ_CLI_AT(struct input, banks))
            : (struct sq_cli_row)SQ_CLI_FORMATS(scopes[mode & 3], SQ_CLI_AT(struct input, options)),
        SQ_CLI_CORE(SQ_CLI_AT(struct input, core)),
        SQ_CLI_ARGUMENT("FILE", SQ_CLI_LIST_AT(struct input, file, n_files)), SQ_CLI_END};
    const struct sq_cli_line line = {rows, "FILE", ""};
    char *text = fuzz_text(&r), *words[WORDS_MAX + 1] = {"command"}, *next = text;
    int n_words = 1;
    for (char *word; n_words < WORDS_MAX && (word = strsep(&next, "\n"));)
        if (!ends_the_program(word))
            words[n_words++] = word;
    struct input in = {.options = sq_cli_options_default(scopes[mode & 3]),
                       .banks = sq_cli_banks_default(),
                       .core.config = sq_core_config_default(),
                       .n_files = mode & 4 ? 0 : 1,
                       .is_cosim = is_cosim};
    if (fuzz_ok(sq_cli_parse(&line, n_words, words, &in, &err), &err))
        use(&in);
    free(text);
    return 0;
}
