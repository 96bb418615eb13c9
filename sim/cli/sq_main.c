// SPDX-License-Identifier: Apache-2.0
// `sqsim COMMAND ...`: the table of commands.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/sq_cli.h"
#include "sim/cli/sq_cli_tools.h"
#include "sim/io/sq_json.h"
#include "sim/io/sq_version.h"

// One line per command; a command lives in sq_cmd_NAME.c.
static const struct sq_command commands[] = {
    {"quantize", "encode a checkpoint (Hugging Face, GGUF); conformance vectors of a format",
     sq_cmd_quantize},
    {"eval", "perplexity and layer errors of a model in the bit-exact integers of a format",
     sq_cmd_eval},
    {"generate", "text from a model, its layers by golden model, chip or RTL", sq_cmd_generate},
    {"run", "cycles and values of a GEMM or a model, shares of workers, where numbers come from",
     sq_cmd_run},
    {"cosim", "verilated RTL against golden values and cycle model", sq_cmd_cosim},
    {"area", "area and delay of the blocks by synthesis", sq_cmd_area},
    {"energy", "joules of a block's netlist on operands, by part", sq_cmd_energy},
    {"sweep", "a grid of points into a database, resumable", sq_cmd_sweep},
    {"point", "the measures of one design, for a search by another program", sq_cmd_point},
    {"report", "what a sweep found, or what changed between two: text, and a page with plots",
     sq_cmd_report},
    {"compare", "predicted against measured times and speedups of a GPU", sq_cmd_compare},
    {"image", "layers as the chip reads them from memory", sq_cmd_image},
    {"inspect", "what a file or a model holds; the GEMMs of a model as a table", sq_cmd_inspect},
    {"explain", "how silicon sums a dot product, to the bit; the rule behind measured sums",
     sq_cmd_explain},
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static int help(void)
{
    printf("Usage: sqsim COMMAND [OPTION...]\n"
           "Cycle-level simulator and RTL co-design testbench for sparse-quantized formats.\n\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        printf("  %-9s %s\n", commands[i].name, commands[i].summary);
    printf("\n`sqsim COMMAND --help` lists the options with examples; `sqsim --version`.\n"
           "docs/SPEC.md says what each format is, docs/json.md what --json prints.\n"
           "Exit status: 0 done, 1 a check failed, 2 bad input, 3 a tool or device is missing.\n");
    return sq_cli_finish("help", SQ_EXIT_OK);
}

// For completion scripts: a command and its summary per line.
static int complete(void)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        printf("%s\t%s\n", commands[i].name, commands[i].summary);
    return sq_cli_finish("complete", SQ_EXIT_OK);
}

// One line on stderr: the nearest command for a typo, all of them otherwise.
static int unknown(const char *name)
{
    const char *names[N_COMMANDS];
    size_t index;
    struct sq_error err;
    for (size_t i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    (void)sq_cli_name("command", name, names, N_COMMANDS, &index, &err);
    return sq_cli_fail("", &err);
}

// Whoever starts us with one of descriptors 0 to 2 closed does not mean the next file that is opened,
// into which our text would then go. What takes its place cannot be read or written, so that output
// that is lost is said (sq_cli_finish).
static void reserve_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_PATH);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    struct sq_error err;
    reserve_descriptors();
    sq_cli_fit_memory(argv);
    // Full files and closed pipes are answered by write(), not by a signal that leaves things
    // behind.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    json_set_alloc_funcs(sq_json_malloc, free);
    sq_cli_guard_stdout();
    signal(SIGCHLD, SIG_DFL); // whoever started us may have ignored it
    sq_cli_signals();
    sq_cli_tools_note();
    if (argc < 2) {
        fprintf(stderr, "sqsim: no command, see sqsim --help\n");
        return SQ_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return help();
    if (strcmp(argv[1], "--complete") == 0)
        return complete();
    if (strcmp(argv[1], "--version") == 0) {
        printf("sqsim %s\nrevision %s\n", SQ_VERSION, sq_cli_revision());
        return sq_cli_finish("version", SQ_EXIT_OK);
    }
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0) {
            if (sq_cli_check_memory(&err) != SQ_OK)
                return sq_cli_fail(argv[1], &err);
            return sq_cli_finish(argv[1], commands[i].run(argc - 1, argv + 1));
        }
    return unknown(argv[1]);
}
