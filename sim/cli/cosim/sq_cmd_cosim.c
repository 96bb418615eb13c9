// SPDX-License-Identifier: Apache-2.0
// sqsim cosim: verilated RTL against golden values and cycle model.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/block/top/sq_top_image.h"
#include "sim/cli/cosim/sq_cmd_cosim.h"
#include "sim/cli/sq_cli_tools.h"
#include "sim/cosim/sq_campaign.h"
#include "sim/cosim/sq_rtl_build.h"
#include "sim/format/file/sq_trace.h"
#include "sim/machine/sq_chip_machine.h"

static const char doc[] =
    "Runs the RTL, compiled by Verilator, in lock step with the cycle model: every handshake "
    "signal and every cause counter of every cycle, every accumulator tile against the golden "
    "model, no assertion may fail. Any difference is printed with its operands and the command "
    "that repeats it, shrunk to a small case, and left as an FST window with a GTKWave save file; "
    "exit status 1. With core options or those of the banks of sq_w the one point they describe "
    "replaces the table; for other blocks they replace the sizes of a point. With --layers, each "
    "layer is encoded as eval does it, and the blocks that decode and multiply it get its codes, "
    "masks and indices, and the activations that it sees, while all streams stall at random and a "
    "reset comes twice on the way. TRACE is what a CUDA kernel left (make gpu-measure): its "
    "operands go through every block that takes them, or with --block top through the chip, and "
    "what the blocks compute must be what the kernel computed.\v"
    "Examples:\n"
    "  sqsim cosim --cases 200 --point quick\n"
    "  sqsim cosim --bank 64 --sparsity 0.875 --rows 4 --cols 4 --gather log --cases 100\n"
    "  sqsim cosim --block gather --seed 7\n"
    "  sqsim cosim --block array --point split_a\n"
    "  sqsim cosim --block core_out --rows 3 --cols 5 --bank 16 --parameter Depth=4 --cases 100\n"
    "  sqsim cosim --block all --cases 9000\n"
    "  sqsim cosim --block topk --point b8 --mutants 20 --cases 40\n"
    "  sqsim cosim --layers\n"
    "  sqsim cosim --layers --format all --m 2\n"
    "  sqsim cosim --layers --free-streams\n"
    "  sqsim cosim --layers --format gqsa --sparsity 0.4 --layer '*.up_proj'\n"
    "  sqsim cosim ~/models/my-llama --rows 4 --cols 8 --layer 'model.layers.0.*' --m 4\n"
    "  sqsim cosim sq_w.safetensors gqsa.safetensors\n"
    "  sqsim cosim --block top sq_w.safetensors\n"
    "  sqsim cosim --block top --layers --ring --format nvfp4 --layer '*.0.self_attn.*'\n"
    "  sqsim cosim --block top --layers --ring --encode inputs --format nvfp4 --act-scale token2\n";

static enum sq_status set_block(void *context, const struct sq_cli_row *row, const char *text,
                                struct sq_error *err)
{
    struct sq_cosim_args *in = context;
    const char *names[SQ_COSIM_MAX_POINTS];
    size_t index;
    (void)row;
    for (size_t i = 0; i < sq_n_blocks; i++)
        names[i] = sq_blocks[i]->name;
    names[sq_n_blocks] = "all";
    SQ_TRY(sq_cli_name("--block", text, names, sq_n_blocks + 1, &index, err));
    in->is_all = index == sq_n_blocks;
    in->block = sq_blocks[in->is_all ? 0 : index];
    in->has_block = true;
    return SQ_OK;
}

#define AT(field) SQ_CLI_AT(struct sq_cosim_args, field)
#define LIST(field, n) SQ_CLI_LIST_AT(struct sq_cosim_args, field, n)

static const struct sq_cli_row rows[] = {
    SQ_CLI_OWN("block", "B", set_block,
               "core, gather, topk, meta24, array, array_static, ... or all", .usual = "core"),
    SQ_CLI_UINT("cases", "N", 1, 1000000000, AT(cases),
                "cases over all points: more of each point than the directed ones that come first "
                "there, 16 "
                "of top, else the campaign is refused; half of 8 or more must give outputs",
                .given = offsetof(struct sq_cosim_args, has_cases)),
    SQ_CLI_UINT("case", "N", 0, 1000000000, AT(number),
                "only case N of each point (what a failure prints to be repeated); with --cases "
                "from case N on",
                .given = offsetof(struct sq_cosim_args, has_case)),
    SQ_CLI_UINT("seed", "S", 0, UINT64_MAX, AT(seed), "seed of all random choices"),
    SQ_CLI_TEXT("point", "P", LIST(wanted, n_wanted), "a point of the table, `quick` or `all`",
                .usual = "all"),
    SQ_CLI_TEXT(
        "parameter", "NAME=N", LIST(parameter, n_parameters),
        "a size of the block by its name in the RTL (Lanes=4), in place of that of the "
        "point. --rows, --cols, --bank, --sparsity and the like are short for some of them"),
    SQ_CLI_FLAG("list", AT(is_list),
                "print the table of points and stop; with --json also of all blocks"),
    SQ_CLI_FLAG("netlist", AT(is_netlist), "simulate the Yosys netlist of each point, not the RTL"),
    SQ_CLI_FLAG("layers", AT(is_model),
                "every linear layer of MODEL, encoded and whole, through the blocks of --format "
                "(all: of each format in turn, which has a line), or with --block top on the chip, "
                "from memory to memory, in place of random cases (the embedded traces/tiny-llama "
                "without MODEL)"),
    SQ_CLI_TEXT("layer", "PATTERN", AT(layer),
                "--layers: only those whose name matches, as file names do: 'model.layers.0.*'"),
    SQ_CLI_TEXT("tokens", "FILE", AT(source.tokens),
                "token file whose first sequences feed --layers",
                .usual = "the model's tokens_calib.safetensors", .found = ""),
    SQ_CLI_TEXT("calib", "FILE", AT(calib), "--layers, where calibrated: calibration tokens",
                .usual = "MODEL/tokens_calib.safetensors", .found = ""),
    SQ_CLI_TEXT("weights", "FILE", AT(weights),
                "--layers: as they are in what `sqsim quantize -o` wrote of MODEL, of any format",
                .found = ""),
    SQ_CLI_TEXT("text", "FILE", AT(source.text),
                "a text in its place, by the model's own tokenizer", .found = ""),
    SQ_CLI_UINT("m", "M", 1, 1 << 20, AT(m), "tokens with --layers"),
    SQ_CLI_FLAG(
        "free-streams", AT(is_free),
        "--layers: without the stalls of all streams and the resets in the middle, so that "
        "`cycles` are those that `run` has; with --block top, also of TRACE, an ideal memory "
        "in place of random wait states, a run with a fault of the bus, and resets"),
    SQ_CLI_FLAG(
        "ring", AT(is_ring),
        "--block top with --layers: all layers in one memory, run as one ring of descriptors "
        "with one interrupt behind the last, in place of one after the other"),
    SQ_CLI_WORD(
        "encode", "FROM", sq_program_source_names, AT(encode),
        "--ring: the chip makes the activations, INT8 or blocks of nvfp4, mxfp4, sq_b and the "
        "like, by descriptors of kind encode: of `inputs` in bfloat16, where layers with the "
        "same ones share them, or of the `outputs` of the layer before; or outputs are INT8 "
        "at a scale of which the largest is 127, and the `codes` of the layer before move to "
        "where the next one reads them",
        .min = SQ_PROGRAM_INPUTS, .usual = "none"),
    SQ_CLI_UINT("depth", "N", 8, SQ_TOP_DEPTH_MAX, AT(depth),
                "--block top with --layers or TRACE: beats of half a buffer of the chip; a longer "
                "K goes in chunks",
                .usual = "256"),
    SQ_CLI_TEXT("machine", "FILE", AT(machine),
                "the same: the chip of this YAML (sim/machines/chip.yaml), so that with "
                "--free-streams `chip_cycles` are those that `run --machine` has",
                .found = SQ_HOME_MACHINE),
    SQ_CLI_OWN("base", "ADDRESS", sq_cli_base,
               "the same: where its images, or the ring, begin in memory, a multiple of 4096 below "
               "2^48 (0)",
               AT(base)),
    SQ_CLI_TEXT("output", "DIR", AT(output), "where a failing case leaves its waveform",
                .letter = 'o', .usual = "build/cosim", .is_output = true),
    SQ_CLI_TEXT("waves", "DIR", AT(waves),
                "leave a waveform of case 0 of the first point there, whatever it shows, and stop",
                .is_output = true),
    SQ_CLI_TEXT("coverage", "DIR", AT(coverage),
                "compile with line and toggle counters; each point leaves DIR/<point>.dat for "
                "verilator_coverage",
                .is_output = true),
    SQ_CLI_UINT("mutants", "N", 1, SQ_RTL_MUTANTS_MAX, AT(n_mutants),
                "faults that Yosys puts into the netlist of the one --point, each run until the "
                "co-simulation finds it or for --cases cases; lists the survivors"),
    SQ_CLI_FORMATS(SQ_IN_EVAL, AT(options)),
    SQ_CLI_CORE(AT(core)),
    SQ_CLI_TOOLS(AT(tools)),
    SQ_CLI_UINT("jobs", "N", 1, 64, AT(jobs), "threads; the result does not depend on it",
                .usual = "all processors", .group = SQ_CLI_COMMON),
    SQ_CLI_FLAG("json", AT(is_json),
                "one JSON object per point or block of a layer, the summary last",
                .group = SQ_CLI_COMMON),
    SQ_CLI_ARGUMENT("MODEL", LIST(file, n_files), .found = SQ_HOME_MODEL),
    SQ_CLI_END};

// Positional files: several are traces, one is a trace or a model.
static void sort_files(struct sq_cosim_args *in)
{
    in->is_trace = in->n_files > 1 || (in->n_files == 1 && sq_trace_is(in->file[0]));
    if (in->n_files != 1 || in->is_trace)
        return;
    in->model = in->file[0];
    in->is_model = true;
}

// What only the chip has, and what it does not have.
static enum sq_status check_chip(const struct sq_cosim_args *in)
{
    static const char *const of_core[] = {NULL, NULL, "low-lanes", "high-lanes", "gather"};
    const bool is_chip = sq_cosim_is_chip(in);
    if ((in->depth > 0 || in->machine || in->base) && !is_chip)
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--%s needs --block top --layers, or a TRACE with it",
                       in->depth > 0 ? "depth"
                       : in->machine ? "machine"
                                     : "base");
    if (in->is_ring && (!is_chip || in->is_trace || in->options.is_all))
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--ring needs --block top --layers and one format");
    if (in->encode && !in->is_ring)
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--encode needs --ring");
    for (size_t i = 0; i < SQ_LEN(of_core) && is_chip; i++)
        if (of_core[i] && in->core.is_given[i])
            return SQ_FAIL(in->err, SQ_ERR_ARG,
                           "--%s has no use on the chip, which has --rows and --cols", of_core[i]);
    if (in->machine && (in->depth > 0 || in->core.given))
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--machine with --%s, which it says itself",
                       in->depth > 0 ? "depth" : "rows or --cols");
    return SQ_OK;
}

// A trace brings its cases, its format and its blocks; only the sizes of core and arrays are free.
static enum sq_status check_trace(const struct sq_cosim_args *in)
{
    struct sq_cosim_args sizes = *in;
    const bool is_chip = sq_cosim_is_chip(in);
    sizes.core.given = false;
    const char *option = in->has_block && !is_chip      ? "--block"
                         : in->n_wanted > 0             ? "--point"
                         : in->n_parameters > 0         ? "--parameter"
                         : in->is_model                 ? "--layers"
                         : in->source.tokens            ? "--tokens"
                         : in->source.text              ? "--text"
                         : in->calib                    ? "--calib"
                         : in->weights                  ? "--weights"
                         : in->is_free && !is_chip      ? "--free-streams"
                         : in->layer                    ? "--layer"
                         : in->is_list                  ? "--list"
                         : in->has_case                 ? "--case"
                         : in->waves                    ? "--waves"
                         : in->coverage                 ? "--coverage"
                         : in->n_mutants > 0            ? "--mutants"
                         : sq_cosim_has_options(&sizes) ? "a format option"
                                                        : NULL;
    if (!option)
        return SQ_OK;
    return SQ_FAIL(in->err, SQ_ERR_ARG,
                   "TRACE = %.60s with %s, need a trace with no options but --rows, --cols, %s, "
                   "--netlist, --seed, --output, --json",
                   in->file[0], option,
                   is_chip ? "--block top, --depth, --machine, --free-streams"
                           : "--low-lanes, --high-lanes, --gather, --block top");
}

// Modes that exclude each other, and options that a block does not have.
static enum sq_status check_modes(const struct sq_cosim_args *in)
{
    SQ_TRY(check_chip(in));
    if (in->is_trace)
        return check_trace(in);
    const bool takes_layers = in->block->set_core || in->block == &sq_top_block;
    if (in->is_all ? in->is_model || sq_cosim_has_own(in) : !takes_layers && in->is_model)
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--block %s has only the points of its table (--list)",
                       sq_cosim_block_name(in));
    for (size_t i = 0; i < in->n_wanted && in->is_all; i++)
        if (strcmp(in->wanted[i], "quick") != 0 && strcmp(in->wanted[i], "all") != 0)
            return SQ_FAIL(in->err, SQ_ERR_ARG, "--point = %s with --block all, need quick or all",
                           in->wanted[i]);
    if (in->is_model && in->n_wanted > 0)
        return SQ_FAIL(in->err, SQ_ERR_ARG,
                       "--point = %s with --layers, which have points of their own", in->wanted[0]);
    const char *of_layers = in->layer     ? "--layer"
                            : in->calib   ? "--calib"
                            : in->weights ? "--weights"
                            : in->is_free ? "--free-streams"
                                          : NULL;
    if (of_layers && !in->is_model)
        return SQ_FAIL(in->err, SQ_ERR_ARG, "%s needs --layers or a MODEL", of_layers);
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
    if (in->has_case && (in->is_model || in->n_mutants > 0))
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--case is one of the random cases, not of %s",
                       in->is_model ? "--layers" : "--mutants");
    if (in->n_mutants > 0 && (in->is_model || in->waves))
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--mutants runs random cases, not %s",
                       in->is_model ? "--layers" : "--waves");
    if (in->n_mutants > 0 && in->n_wanted != 1)
        return SQ_FAIL(in->err, SQ_ERR_ARG, "--mutants = %u with %zu of --point, need one point",
                       in->n_mutants, in->n_wanted);
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
    for (size_t i = 0; i < sq_n_blocks && !in->has_case; i++) // before the first of them runs
        for (size_t p = 0; p < sq_blocks[i]->n_points; p++)
            if (sq_campaign_check_cases(sq_blocks[i], &sq_blocks[i]->points[p], n_points, in->cases,
                                        in->err) != SQ_OK)
                return sq_cli_fail("cosim", in->err);
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

enum sq_status sq_cosim_load_chip(struct sq_cosim_args *in)
{
    static struct sq_machine machine; // its DRAM is that of every case
    SQ_TRY(sq_machine_load(in->machine, &machine, in->err));
    in->array[0] = machine.core.rows;
    in->array[1] = machine.core.cols;
    return sq_machine_chip(&machine, &in->chip, in->err);
}

int sq_cmd_cosim(int argc, char **argv)
{
    struct sq_error err;
    struct sq_cosim_args in = {.options = sq_cli_options_default(SQ_IN_EVAL),
                               .core.config = sq_core_config_default(),
                               .tools = sq_cli_tools_default(),
                               .block = &sq_core_block,
                               .cases = 5000,
                               .seed = 1,
                               .m = 8,
                               .argv = argv,
                               .argc = argc,
                               .err = &err};
    in.options.takes_all = true;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    in.jobs = processors < 1 ? 1 : processors > 64 ? 64 : (unsigned)processors;
    static const struct sq_cli_line line = {rows, "[MODEL | TRACE...]", doc};

    if (sq_cli_parse(&line, argc, argv, &in, &err) != SQ_OK)
        return sq_cli_fail("cosim", &err);
    sort_files(&in);
    if (check_modes(&in) != SQ_OK)
        return sq_cli_fail("cosim", &err);
    if (in.machine && sq_cosim_load_chip(&in) != SQ_OK)
        return sq_cli_fail("cosim", &err);
    if (in.is_list)
        return sq_cosim_list(&in);
    if (in.is_all)
        return run_all(&in);
    if (in.is_model) {
        sq_cosim_small_core(&in);
        return sq_cosim_model(&in);
    }
    if (!sq_cosim_is_chip(&in) && sq_cosim_take_points(&in) != SQ_OK)
        return sq_cli_fail("cosim", &err);
    if (in.is_trace)
        return sq_cosim_traces(&in);
    if (in.n_mutants > 0)
        return sq_cosim_mutants(&in);
    return in.waves ? sq_cosim_waves(&in) : run_block(&in);
}
