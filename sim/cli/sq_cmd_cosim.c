// SPDX-License-Identifier: Apache-2.0
// sqsim cosim: verilated RTL against golden values and cycle model.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cli/sq_cli.h"
#include "sim/cli/sq_cmd_cosim.h"
#include "sim/cosim/sq_rtl_build.h"
#include "sim/format/sq_replay.h"

enum {
    KEY_BLOCK = 0x2000,
    KEY_CASES,
    KEY_SEED,
    KEY_POINT,
    KEY_NETLIST,
    KEY_LAYERS,
    KEY_TOKENS,
    KEY_M,
    KEY_JOBS,
    KEY_JSON,
    KEY_LIST,
    KEY_WAVES,
    KEY_COVERAGE,
    KEY_MUTANTS
};

static const struct argp_option options[] = {
    {"block", KEY_BLOCK, "B", 0,
     "core, gather, topk, meta24, array, act_split, array_a, ... or all (core)", 0},
    {"cases", KEY_CASES, "N", 0, "random cases over all points, 1..10^9 (2000)", 0},
    {"seed", KEY_SEED, "S", 0, "seed of all random choices (1)", 0},
    {"point", KEY_POINT, "P", 0, "a point of the table, `quick` or `all` (all); may repeat", 0},
    {"list", KEY_LIST, NULL, 0,
     "print the table of points and stop; with --json also of all blocks", 0},
    {"netlist", KEY_NETLIST, NULL, 0, "simulate the Yosys netlist of each point, not the RTL", 0},
    {"layers", KEY_LAYERS, NULL, 0,
     "every linear layer of MODEL, whole, in place of random cases (the embedded "
     "traces/tiny-llama without MODEL)",
     0},
    {"tokens", KEY_TOKENS, "FILE", 0,
     "token file whose first sequences feed --layers (the model's tokens_calib.safetensors)", 0},
    {"m", KEY_M, "M", 0, "tokens with --layers, 1..1048576 (8)", 0},
    {"output", 'o', "DIR", 0, "where a failing case leaves its waveform (build/cosim)", 0},
    {"waves", KEY_WAVES, "DIR", 0,
     "leave a waveform of case 0 of the first point there, whatever it shows, and stop", 0},
    {"coverage", KEY_COVERAGE, "DIR", 0,
     "compile with line and toggle counters; each point leaves DIR/<point>.dat for "
     "verilator_coverage",
     0},
    {"mutants", KEY_MUTANTS, "N", 0,
     "1..60000 faults that Yosys puts into the netlist of the one --point, each run until the "
     "co-simulation finds it or for --cases cases; lists the survivors",
     0},
    {"jobs", KEY_JOBS, "N", 0, "threads, 1..64 (all processors); the result does not depend on it",
     3},
    {"json", KEY_JSON, NULL, 0, "one JSON object per point or layer, the summary last", 3},
    {0}};

static const char doc[] =
    "Runs the RTL, compiled by Verilator, in lock step with the cycle model: every handshake "
    "signal of every cycle, "
    "every accumulator tile against the golden model, every cause counter. Any difference is "
    "printed with its operands, "
    "shrunk to a small case, and left as an FST window with a GTKWave save file; exit status 1. "
    "With core or format options "
    "the one point they describe replaces the table. TRACE is what a CUDA kernel left (make "
    "gpu-measure): its operands go through every block that takes them, and what the blocks "
    "compute must be what the kernel computed.\v"
    "Examples:\n"
    "  sqsim cosim --cases 200 --point quick\n"
    "  sqsim cosim --bank 64 --sparsity 0.875 --rows 4 --cols 4 --gather log --cases 100\n"
    "  sqsim cosim --block gather --seed 7\n"
    "  sqsim cosim --block array --point split_a\n"
    "  sqsim cosim --block all --cases 9000\n"
    "  sqsim cosim --block topk --point b8 --mutants 20 --cases 40\n"
    "  sqsim cosim --layers\n"
    "  sqsim cosim ~/models/my-llama --rows 4 --cols 8\n"
    "  sqsim cosim traces/gpu/sq_w.safetensors traces/gpu/gqsa.safetensors\n";

static enum sq_status parse_block(struct sq_cosim_args *in, const char *arg)
{
    const char *names[SQ_COSIM_MAX_POINTS];
    size_t index;
    for (size_t i = 0; i < sq_n_blocks; i++)
        names[i] = sq_blocks[i]->name;
    names[sq_n_blocks] = "all";
    SQ_TRY(sq_cli_name("--block", arg, names, sq_n_blocks + 1, &index, in->err));
    in->is_all = index == sq_n_blocks;
    in->block = sq_blocks[in->is_all ? 0 : index];
    return SQ_OK;
}

static enum sq_status parse_value(int key, const char *arg, struct sq_cosim_args *in)
{
    uint64_t v;
    switch (key) {
    case KEY_BLOCK:
        in->has_block = true;
        return parse_block(in, arg);
    case KEY_CASES:
        return sq_cli_uint("--cases", arg, 1, 1000000000, &in->cases, in->err);
    case KEY_SEED:
        return sq_cli_uint("--seed", arg, 0, UINT64_MAX, &in->seed, in->err);
    case KEY_POINT: // its table depends on --block
        if (in->n_wanted == SQ_COSIM_MAX_POINTS)
            return SQ_FAIL(in->err, SQ_ERR_RANGE, "--point given more than %d times",
                           SQ_COSIM_MAX_POINTS);
        in->wanted[in->n_wanted++] = arg;
        return SQ_OK;
    case KEY_M:
        SQ_TRY(sq_cli_uint("--m", arg, 1, 1 << 20, &v, in->err));
        in->m = v;
        return SQ_OK;
    case KEY_MUTANTS:
        SQ_TRY(sq_cli_uint("--mutants", arg, 1, SQ_RTL_MUTANTS_MAX, &v, in->err));
        in->n_mutants = (unsigned)v;
        return SQ_OK;
    case KEY_JOBS:
        SQ_TRY(sq_cli_uint("--jobs", arg, 1, 64, &v, in->err));
        in->jobs = (unsigned)v;
        return SQ_OK;
    default:
        return SQ_ERR_INTERNAL;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sq_cosim_args *in = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &in->format;
        state->child_inputs[2] = &in->core;
        return 0;
    case KEY_BLOCK:
    case KEY_CASES:
    case KEY_SEED:
    case KEY_POINT:
    case KEY_M:
    case KEY_MUTANTS:
    case KEY_JOBS:
        return parse_value(key, arg, in) == SQ_OK ? 0 : EINVAL;
    case KEY_NETLIST:
        in->is_netlist = true;
        return 0;
    case KEY_LAYERS:
        in->is_model = true;
        return 0;
    case ARGP_KEY_ARG:
        if (in->n_files == SQ_COSIM_MAX_FILES)
            return ARGP_ERR_UNKNOWN;
        in->file[in->n_files++] = arg;
        return 0;
    case KEY_TOKENS:
        in->tokens = arg;
        return 0;
    case KEY_WAVES:
        in->waves = arg;
        return 0;
    case KEY_COVERAGE:
        in->coverage = arg;
        return 0;
    case 'o':
        in->output = arg;
        return 0;
    case KEY_JSON:
        in->is_json = true;
        return 0;
    case KEY_LIST:
        in->is_list = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// Core or format options were given.
static bool has_point_options(const struct sq_cosim_args *in, int argc, char **argv)
{
    static const char *const names[] = {"--high-bits", "--low-bits", "--bank", "--sparsity",
                                        "--act-bits"};
    bool given = in->core.given;
    for (int i = 1; i < argc; i++)
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++)
            given = given || strncmp(argv[i], names[j], strlen(names[j])) == 0;
    return given;
}

// Positional files: several are traces, one is a trace or a model.
static void sort_files(struct sq_cosim_args *in)
{
    in->is_trace = in->n_files > 1 || (in->n_files == 1 && sq_replay_is_trace(in->file[0]));
    if (in->n_files != 1 || in->is_trace)
        return;
    in->model = in->file[0];
    in->is_model = true;
}

// A trace brings its cases, its format and its blocks; only the sizes of core and arrays are free.
static enum sq_status check_trace(const struct sq_cosim_args *in, int argc, char **argv)
{
    struct sq_cosim_args sizes = *in;
    sizes.core.given = false;
    const char *option = in->has_block                           ? "--block"
                         : in->n_wanted > 0                      ? "--point"
                         : in->is_model                          ? "--layers"
                         : in->tokens                            ? "--tokens"
                         : in->is_list                           ? "--list"
                         : in->waves                             ? "--waves"
                         : in->coverage                          ? "--coverage"
                         : in->n_mutants > 0                     ? "--mutants"
                         : has_point_options(&sizes, argc, argv) ? "a format option"
                                                                 : NULL;
    if (!option)
        return SQ_OK;
    return SQ_FAIL(in->err, SQ_ERR_ARG,
                   "TRACE = %.60s with %s, need a trace with no options but --rows, --cols, "
                   "--low-lanes, --high-lanes, --gather, --netlist, --seed, --output, --json",
                   in->file[0], option);
}

// Modes that exclude each other, and options that a block does not have.
static enum sq_status check_modes(const struct sq_cosim_args *in, int argc, char **argv)
{
    if (in->is_trace)
        return check_trace(in, argc, argv);
    if ((in->is_all || !in->block->set_core) && (in->is_model || has_point_options(in, argc, argv)))
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--block %s has only the points of its table (--list)",
                       sq_cosim_block_name(in));
    for (size_t i = 0; i < in->n_wanted && in->is_all; i++)
        if (strcmp(in->wanted[i], "quick") != 0 && strcmp(in->wanted[i], "all") != 0)
            return SQ_FAIL(in->err, SQ_ERR_ARG, "--point = %s with --block all, need quick or all",
                           in->wanted[i]);
    const bool is_text_list = in->is_list && !in->is_json;
    if (in->is_all && (in->waves || is_text_list || in->n_mutants > 0))
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--block = all with %s, need one block",
                       in->waves      ? "--waves"
                       : is_text_list ? "--list without --json"
                                      : "--mutants");
    if (in->coverage && (in->is_netlist || in->is_model || in->n_mutants > 0 || in->waves))
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--coverage counts RTL of random cases, not %s",
                       in->is_netlist      ? "--netlist"
                       : in->is_model      ? "--layers"
                       : in->n_mutants > 0 ? "--mutants"
                                           : "--waves");
    if (in->n_mutants > 0 && (in->is_model || in->waves))
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--mutants runs random cases, not %s",
                       in->is_model ? "--layers" : "--waves");
    if (in->n_mutants > 0 && in->n_wanted != 1)
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--mutants = %u with %zu of --point, need one point",
                       in->n_mutants, in->n_wanted);
    return SQ_OK;
}

// Core or format options describe one point of their own.
static enum sq_status custom_point(struct sq_cosim_args *in, int argc, char **argv)
{
    const bool given = has_point_options(in, argc, argv);
    if (in->n_wanted > 0)
        SQ_TRY(sq_cosim_choose_points(in));
    if (!given && (in->n_points > 0 || !(in->is_model || in->is_trace)))
        return SQ_OK;
    if (in->n_points > 0)
        return SQ_FAIL(
            in->err, SQ_ERR_ARG,
            "--point names a point of the table, core and format options describe another");
    if (!in->core.given) { // a small core that builds in seconds
        in->core.config.rows = 2;
        in->core.config.cols = 4;
    }
    struct sq_core_config config;
    SQ_TRY(sq_cli_core_config(&in->core, &in->format, &config, in->err));
    in->points[0] = (struct sq_point){.name = "custom"};
    in->n_points = 1;
    in->block->set_core(in->points[0].value, &config);
    return SQ_OK;
}

// ---- campaigns ------------------------------------------------------------------------------

static int run_block(const struct sq_cosim_args *in)
{
    struct sq_cosim_total total = {0};
    const int exit_code = sq_cosim_random(in, &total);
    return exit_code == SQ_EXIT_OK
               ? sq_cosim_summary(in, "points", total.points, &total, "synthetic")
               : exit_code;
}

// Every block, its share of the cases by its points.
static int run_all(const struct sq_cosim_args *in)
{
    struct sq_cosim_args one = *in;
    struct sq_cosim_total total = {0};
    uint64_t n_points = 0;
    one.is_all = false;
    for (size_t i = 0; i < sq_n_blocks; i++) {
        one.block = sq_blocks[i];
        if (sq_cosim_choose_points(&one) != SQ_OK)
            return sq_cli_fail("cosim", in->err);
        n_points += one.n_points;
    }
    for (size_t i = 0; i < sq_n_blocks; i++) {
        one.block = sq_blocks[i];
        (void)sq_cosim_choose_points(&one);
        one.cases = (in->cases * one.n_points + n_points - 1) / n_points;
        if (!in->is_json)
            printf("== %s\n", one.block->name);
        const int exit_code = sq_cosim_random(&one, &total);
        if (exit_code != SQ_EXIT_OK)
            return exit_code;
        fflush(stdout);
    }
    return sq_cosim_summary(in, "points", total.points, &total, "synthetic");
}

int sq_cmd_cosim(int argc, char **argv)
{
    struct sq_error err;
    struct sq_cosim_args in = {.format = sq_cli_format_default(&err),
                               .core = sq_cli_core_default(&err),
                               .block = &sq_core_block,
                               .cases = 2000,
                               .seed = 1,
                               .m = 8,
                               .err = &err};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    in.jobs = processors < 1 ? 1 : processors > 64 ? 64 : (unsigned)processors;
    const struct argp_child children[] = {{&sq_cli_format_argp, 0, NULL, 0},
                                          {&sq_cli_act_argp, 0, NULL, 0},
                                          {&sq_cli_core_argp, 0, NULL, 0},
                                          {0}};
    const struct argp argp = {options, parse, "[MODEL | TRACE...]", doc, children, NULL, NULL};

    if (sq_cli_parse(&argp, argc, argv, &in, &err) != SQ_OK)
        return sq_cli_fail("cosim", &err);
    sort_files(&in);
    if (check_modes(&in, argc, argv) != SQ_OK)
        return sq_cli_fail("cosim", &err);
    if (in.is_list)
        return sq_cosim_list(&in);
    if (in.is_all)
        return run_all(&in);
    if (in.block->set_core && custom_point(&in, argc, argv) != SQ_OK)
        return sq_cli_fail("cosim", &err);
    if (in.is_trace)
        return sq_cosim_traces(&in);
    if (in.is_model)
        return sq_cosim_model(&in);
    if (in.n_points == 0 && sq_cosim_choose_points(&in) != SQ_OK)
        return sq_cli_fail("cosim", &err);
    if (in.n_mutants > 0)
        return sq_cosim_mutants(&in);
    return in.waves ? sq_cosim_waves(&in) : run_block(&in);
}
