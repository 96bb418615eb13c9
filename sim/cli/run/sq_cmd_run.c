// SPDX-License-Identifier: Apache-2.0
// sqsim run: its options, and which mode they ask for: a core (sq_cmd_run_core.c), a workload on a machine
// (sq_cmd_run_machine.c), a whole pass, and the others of sq_cmd_run.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/run/sq_cmd_run.h"
#include "sim/cli/sq_cli_calib.h"
#include "sim/cli/sq_cli_wires.h"
#include "sim/io/sq_quantity.h"

enum { SHARE = 2, EXPLAIN = 4, DRAM = 8, PHASE = 16 };

struct arguments {
    struct sq_cli_options options;
    struct sq_cli_banks banks; // of the recipe, on a core
    struct sq_cli_core core;
    struct sq_run_request r; // 0 or NULL: not given
    struct sq_cli_wires wires;
    enum sq_run_topic topic;
    unsigned jobs; // 0 = not given
    bool has_seed, timing_only, is_share, has_context, has_seq, has_fair, has_budget, has_sequences;
};

// "8ns", "125 MHz", or nanoseconds as `area --period` takes them.
static enum sq_status read_period(void *context, const struct sq_cli_row *option, const char *text,
                                  struct sq_error *err)
{
    struct arguments *in = context;
    const bool is_frequency = strstr(text, "Hz");
    double v;
    (void)option;
    if (!text[strspn(text, "0123456789.")])
        return sq_cli_double("--period", text, SQ_SYNTH_MIN_PERIOD, SQ_SYNTH_MAX_PERIOD,
                             &in->r.period_ns, err);
    SQ_TRY(sq_quantity_parse("--period", text, is_frequency ? SQ_DIM_FREQUENCY : SQ_DIM_TIME,
                             is_frequency ? 1e9 / SQ_SYNTH_MAX_PERIOD : SQ_SYNTH_MIN_PERIOD,
                             is_frequency ? 1e9 / SQ_SYNTH_MIN_PERIOD : SQ_SYNTH_MAX_PERIOD, &v,
                             err));
    in->r.period_ns = is_frequency ? 1e9 / v : v;
    return SQ_OK;
}

#define AT(field) SQ_CLI_AT(struct arguments, field)
#define LIST(field, n) SQ_CLI_LIST_AT(struct arguments, field, n)
static const struct sq_cli_row rows[] = {
    SQ_CLI_UINT("m", "M", 1, 1 << 20, AT(r.gemm.m), "rows of X = tokens",
                .usual = "32; with --share 64", .modes = SQ_CLI_PLAIN | SHARE | EXPLAIN),
    SQ_CLI_UINT("n", "N", 1, 1 << 20, AT(r.gemm.n),
                "output channels of one synthetic GEMM, in place of a model",
                .modes = SQ_CLI_PLAIN | EXPLAIN),
    SQ_CLI_UINT("k", "K", 1, 1 << 20, AT(r.gemm.k), "input channels of it",
                .modes = SQ_CLI_PLAIN | EXPLAIN),
    SQ_CLI_TEXT("tokens", "FILE", AT(r.source.tokens), "token file",
                .usual = "the model's tokens_calib.safetensors", .found = "",
                .modes = SQ_CLI_PLAIN | SHARE),
    SQ_CLI_TEXT("text", "FILE", AT(r.source.text),
                "a text in its place, by the model's own tokenizer", .found = "",
                .modes = SQ_CLI_PLAIN | SHARE),
    SQ_CLI_FLAG("timing-only", AT(timing_only), "cycles without values: nothing is encoded"),
    SQ_CLI_TEXT("machine", "FILE", AT(r.machine),
                "time on this machine, or GPU: cores, buffers, DRAM",
                .usual = "sim/machines/default.yaml", .found = SQ_HOME_MACHINE,
                .modes = SQ_CLI_PLAIN | PHASE),
    SQ_CLI_TEXT("workload", "CSV", AT(r.workload),
                "GEMMs of a SCALE-Sim table or of `sqsim inspect --gemms`",
                .found = SQ_HOME_WORKLOAD),
    SQ_CLI_TEXT("weights", "FILE", AT(r.weights),
                "on a machine: the layers of MODEL as quantize wrote them there, and what they see "
                "of M tokens",
                .found = "", .modes = SQ_CLI_PLAIN | SHARE),
    SQ_CLI_WORD("fair", "WORD", sq_fair_names, AT(r.fair),
                "on a machine: PEs of the format that have no more bit products (peak) or um2 "
                "(area) than the machine's own",
                .usual = "none; with --and area", .given = offsetof(struct arguments, has_fair),
                .modes = SQ_CLI_PLAIN | PHASE),
    SQ_CLI_TEXT("liberty", "FILE", AT(r.liberty), "standard cells of --fair area",
                .usual = "qflow-tech-osu018", .modes = SQ_CLI_PLAIN | PHASE),
    SQ_CLI_TEXT("records", "FILE", AT(r.records),
                "on a GPU: measured times beside the predicted ones", .found = ""),
    SQ_CLI_TEXT("energy", "FILE", AT(r.energy),
                "on a machine: joules by part, with those a MAC that `sqsim energy --layer --json` "
                "has written for the format",
                .found = "", .modes = SQ_CLI_PLAIN | PHASE),
    SQ_CLI_TEXT("memory", "FILE", AT(r.memory), "with --energy: joules of SRAM and DRAM",
                .usual = "sim/machines/memory/default.yaml", .found = "",
                .modes = SQ_CLI_PLAIN | PHASE),
    SQ_CLI_TEXT("dram", "TYPE", AT(r.dram), "with --energy: a type of that file",
                .usual = "the first, lpddr4", .modes = SQ_CLI_PLAIN | PHASE),
    SQ_CLI_TEXT("sram", "LIBERTY", LIST(r.sram, r.n_sram),
                "with --energy: an SRAM macro; several span a range", .usual = "that of --memory",
                .modes = SQ_CLI_PLAIN | PHASE),
    SQ_CLI_FLAG("causes", AT(r.is_causes), "also print where the cycles of both paths went"),
    SQ_CLI_TEXT("commands", "CSV", AT(r.commands),
                "on a machine with dram.device: writes the commands of the DRAM for the GEMM of "
                "--n and --k, clock by clock",
                .is_output = true),
    SQ_CLI_FLAG("share", AT(is_share),
                "how evenly the work of an encoded file's layers falls on workers", .mode = SHARE),
    SQ_CLI_UINT("workers", "P", 1, 65536, AT(r.workers), "workers that share a layer",
                .modes = SHARE),
    SQ_CLI_UINT("tile-rows", "R", 1, 65536, AT(r.tile_rows), "gqsa: rows of a slice-K tile",
                .modes = SHARE),
    SQ_CLI_WORD("explain", "TOPIC", sq_run_topics, AT(topic), "where a number comes from",
                .min = SQ_RUN_CYCLES, .mode = EXPLAIN),
    SQ_CLI_TEXT("device", "NAME", AT(r.device),
                "latencies and bandwidths of a DRAM: ddr4-2400, ..., or a file", .found = "",
                .mode = DRAM),
    SQ_CLI_UINT("channels", "N", 1, SQ_DRAM_CHANNELS_MAX, AT(r.timed.channels), "channels",
                .usual = "1", .modes = DRAM),
    SQ_CLI_TEXT("map", "MAP", AT(r.timed.map),
                "groups, xor, banks, pages, or fields from the highest address bits on",
                .usual = "groups", .modes = DRAM),
    SQ_CLI_WORD("page", "WORD", sq_dram_page_names, AT(r.timed.page),
                "rows stay open, or are closed behind the last burst", .usual = "open",
                .modes = DRAM),
    SQ_CLI_WORD("refresh", "WORD", sq_dram_refresh_names, AT(r.timed.refresh),
                "all banks of a rank, or one bank at a time", .usual = "all", .modes = DRAM),
    SQ_CLI_UINT("queue", "N", 1, SQ_DRAM_QUEUE_MAX, AT(r.timed.queue),
                "bursts that a bank's queue holds", .usual = "8", .modes = DRAM),
    SQ_CLI_WORD("phase", "WORD", sq_run_phases, AT(r.phase),
                "a whole pass of MODEL on a machine, with lm_head, attention and KV cache: of a "
                "prompt, or of the next token; serve: a trace of requests, batch after batch",
                .min = SQ_RUN_PREFILL, .mode = PHASE),
    SQ_CLI_UINT("context", "C", 0, 1 << 24, AT(r.pass.context),
                "tokens of a sequence in the cache: decode, with the new one; prefill, before the "
                "prompt",
                .given = offsetof(struct arguments, has_context), .usual = "decode 2048, prefill 0",
                .modes = PHASE),
    SQ_CLI_UINT("batch", "B", 1, 1 << 20, AT(r.pass.batch), "sequences", .modes = PHASE),
    SQ_CLI_UINT("chips", "C", 1, 1024, AT(r.pass.chips),
                "chips that share the model by heads and columns, in a ring of the machine's link",
                .modes = PHASE),
    SQ_CLI_UINT("seq", "P", 1, 1 << 24, AT(r.pass.seq), "tokens of a prompt",
                .given = offsetof(struct arguments, has_seq), .modes = PHASE),
    SQ_CLI_WORD("routing", "WORD", sq_routing_names, AT(r.pass.routing),
                "tokens of experts: all alike, or shares of 1 / (rank + 1)", .modes = PHASE),
    SQ_CLI_TEXT("kv-format", "FORMAT", AT(r.kv_format),
                "the cache: bf16, int8, int4 or a format with options behind colons, mxfp8 or "
                "dense:weight-bits=6",
                .modes = PHASE),
    SQ_CLI_TEXT(
        "head-format", "FORMAT", AT(r.head_format),
        "lm_head: bf16, as eval leaves it, layers (that of --format) or a format with options "
        "behind colons",
        .modes = PHASE),
    SQ_CLI_TEXT("kv-energy", "FILE", AT(r.kv_energy),
                "with --energy: joules a MAC of the cache's format; without it attention has those "
                "of memory alone",
                .found = "", .modes = PHASE),
    SQ_CLI_TEXT("head-energy", "FILE", AT(r.head_energy),
                "with --energy: joules a MAC of --head-format; without it lm_head has those of "
                "memory alone, or those of the layers",
                .found = "", .modes = PHASE),
    SQ_CLI_TEXT(
        "requests", "FILE", AT(r.requests),
        "serve: a CSV of arrived_at, num_prefill_tokens, num_decode_tokens, or an Azure LLM "
        "inference trace",
        .found = "", .modes = PHASE),
    SQ_CLI_TEXT("tables", "DIR", AT(r.tables),
                "serve: write tables of latencies here, as LLMServingSim and aiconfigurator have "
                "them",
                .is_output = true, .modes = PHASE),
    SQ_CLI_UINT("token-budget", "N", 1, 1 << 20, AT(r.budget),
                "serve: tokens of a step, those of prompts and one of each sequence",
                .given = offsetof(struct arguments, has_budget), .usual = "2048", .modes = PHASE),
    SQ_CLI_UINT("sequences", "N", 1, 1 << 20, AT(r.sequences), "serve: sequences at once",
                .given = offsetof(struct arguments, has_sequences), .usual = "256", .modes = PHASE),
    SQ_CLI_TEXT("and", "FORMAT", LIST(r.and, r.n_and),
                "another format, with options behind colons: a row for each, by default of equal "
                "area (--fair) at the clock that its netlist reaches",
                .modes = PHASE),
    SQ_CLI_OWN("period", "8ns", read_period,
               "one clock for all rows of --and, also a frequency, 125MHz: PEs, and decoders of "
               "lines, are the smallest netlists that meet it",
               .usual = "each row at the knee of its PE, the least um2 x ns", .modes = PHASE),
    SQ_CLI_FLAG("machine-clock", AT(r.is_clock_machine),
                "rows of --and have the clock of the machine, whatever their netlists reach",
                .modes = PHASE),
    SQ_CLI_FLAG("no-wire-load", AT(r.is_wireless),
                "clocks of --and without the wire load that the library puts on every net",
                .modes = PHASE),
    SQ_CLI_WIRES(AT(wires), .modes = PHASE),
    SQ_CLI_TEXT("kl", "FILE", AT(r.kl),
                "KL in the rows of --and: the summaries that `sqsim eval --json` wrote",
                .found = "", .modes = PHASE),
    SQ_CLI_TEXT(
        "sram-area", "DIR", AT(r.sram_area),
        "um2 of the buffers in the rows of --and, by the memories of a library: the Liberty "
        "files of this folder (IHP SG13G2)",
        .modes = PHASE),
    SQ_CLI_FORMATS(SQ_IN_RUN, AT(options), .modes = SQ_CLI_PLAIN | EXPLAIN | PHASE),
    SQ_CLI_CORE(AT(core), .modes = SQ_CLI_PLAIN | EXPLAIN | PHASE),
    SQ_CLI_UINT("seed", "S", 0, UINT64_MAX, AT(r.seed), "seed of synthetic operands",
                .given = offsetof(struct arguments, has_seed), .group = SQ_CLI_COMMON,
                .modes = SQ_CLI_PLAIN | SHARE | PHASE),
    SQ_CLI_UINT("jobs", "N", 1, 64, AT(jobs), "threads of the encoder", .usual = "1",
                .group = SQ_CLI_COMMON),
    SQ_CLI_FLAG("json", AT(r.is_json), "one JSON object per layer or row, the summary last",
                .group = SQ_CLI_COMMON, .modes = SQ_CLI_ALL),
    SQ_CLI_ARGUMENT("MODEL", AT(r.model), .found = SQ_HOME_MODEL,
                    .modes = SQ_CLI_PLAIN | SHARE | PHASE),
    SQ_CLI_END};

static const char doc[] =
    "How long does a matrix product (GEMM), a model or a whole token take, and why? The first "
    "option below that is given says what is timed.\n\n"
    "None: every linear layer of MODEL (the embedded traces/tiny-llama) or the GEMM --m --n --k "
    "on one core: cycles of the cycle model, which are those of the RTL, the closed-form bound, "
    "the use of both paths of multipliers; then the values of the golden model and their relative "
    "error.\n\n"
    "--machine, --workload, --fair, or a --format other than sq_w: cycles alone, through the "
    "cores, buffers and DRAM of a machine. Its multipliers are shared out anew for the format, "
    "and none is lost; options of the core override the machine's. Of a file that quantize wrote, "
    "kept groups (gqsa) and outliers (spqr) are those of its rows, and with --weights active "
    "columns (spqt) are those of the model's tokens; otherwise they are drawn. On a GPU: the time "
    "that its model predicts for the format's kernel.\n\n"
    "--phase prefill or decode: a whole pass of MODEL (a folder or file with its config.json, a "
    "GGUF file, or a short name of traces/workloads) by part: linear layers, lm_head, attention "
    "over the KV cache, the vector unit, and what else crosses the DRAM; tokens a second, the "
    "time to the first token, bytes, and with --energy joules. --and adds a row for another "
    "format. --phase serve: times of the requests of a trace, which a machine batches "
    "continuously. A chip with chip.encoder, chip.vector and chip.attend computes a token by "
    "itself: --phase decode then times its program, in the counters of the chip.\n\n"
    "--share: what the slowest of P workers has to do of each layer of a file, MODEL or "
    "--weights. gqsa: groups by slice-K (a tile of rows to a worker, round robin or to the first "
    "that is free) and Stream-K (equal ranges of the list of groups); spqt: active columns in "
    "equal shares and in fixed slices of K, on M tokens of the model; spqr: outliers of a row as "
    "CSR and as PTCSR.\n\n"
    "--explain: where a number comes from. cycles: bound, cycle model and SCALE-Sim's closed form "
    "of one GEMM (128 in each direction); table10: the paper's speedups from its own end points; "
    "v13: closed-form cycles of vector V13 (docs/SPEC.md); roofline: what memory and peaks allow "
    "in decode and prefill.\n\n"
    "--device: what a DRAM gives, as dram.device of a machine has it: the time of a read of an "
    "idle device, and of streams of 20000 bursts, without and with refresh; of a device with "
    "ranges its fast and its slow end.\v"
    "Examples:\n"
    "  sqsim run\n"
    "  sqsim run --m 512 --n 512 --k 512\n"
    "  sqsim run ~/models/my-llama --bank 64 --sparsity 0.875 --causes\n"
    "  sqsim run --m 2048 --n 28672 --k 8192 --timing-only --json\n"
    "  sqsim run --m 1 --n 28672 --k 8192 --format gqsa\n"
    "  sqsim run --workload traces/workloads/llama-3-8b_decode_1.csv\n"
    "  sqsim run --machine sim/machines/server64.yaml --workload "
    "traces/workloads/llama-3-70b_prefill_2048.csv --format dense --weight-bits 8\n"
    "  sqsim run --m 64 --n 4096 --k 4096 --format nvfp4 --fair area\n"
    "  sqsim energy --format nvfp4 --layer '*.0.mlp.up_proj' --json > nvfp4.jsonl\n"
    "  sqsim run --workload traces/workloads/llama-3-8b_decode_1.csv --format nvfp4 --energy "
    "nvfp4.jsonl --dram hbm2\n"
    "  sqsim run llama-3-8b --phase decode --context 8192 --batch 32 --format nvfp4 --kv-format "
    "int8\n"
    "  sqsim run llama-3-8b --phase decode --format nvfp4 --and mxfp4 --and dense:weight-bits=8\n"
    "  sqsim run llama-3-8b --phase serve --requests azure.csv --format nvfp4 --kv-format int8\n"
    "  sqsim run --format gqsa my.sq.safetensors\n"
    "  sqsim run --format spqt --weights my.sq.safetensors --m 1 ~/models/my-llama\n"
    "  sqsim run --machine sim/machines/h200.yaml --workload "
    "traces/workloads/llama-2-7b_decode_1.csv --format gqsa\n"
    "  sqsim run --share my.sq.safetensors --workers 32\n"
    "  sqsim run --share --weights my.sq.safetensors --m 16 ~/models/my-llama\n"
    "  sqsim run --explain cycles --m 512 --n 512 --k 512\n"
    "  sqsim run --explain table10 --json\n"
    "  sqsim run --device ddr4-2400\n"
    "  sqsim run --device hbm3 --channels 16 --map xor --json\n";

// ---- command --------------------------------------------------------------------------------

// A core alone knows SQ on weights; other formats run on a machine, by default the default one.
static bool is_on_machine(const struct arguments *in)
{
    return in->r.machine || in->r.workload || in->r.fair || in->r.weights || in->r.energy ||
           !sq_cost_is_core(&in->r.recipe);
}

static enum sq_status check_machine_arguments(const struct arguments *in, struct sq_error *err)
{
    const bool has_inputs = in->r.weights != NULL;
    const char *unused = in->r.source.tokens && !has_inputs ? "--tokens"
                         : in->r.source.text && !has_inputs ? "--text"
                         : in->has_seed && !has_inputs      ? "--seed"
                         : in->jobs                         ? "--jobs"
                                                            : NULL;
    if (unused)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s has no use on a machine: nothing is encoded", unused);
    if (in->r.weights && (in->r.workload || in->r.gemm.n))
        return SQ_FAIL(err, SQ_ERR_ARG, "--weights and %s given, need one of them",
                       in->r.workload ? "--workload" : "--n and --k");
    if (in->r.workload && (in->r.model || in->r.gemm.n || in->r.gemm.m))
        return SQ_FAIL(err, SQ_ERR_ARG, "--workload and %s given, need one of them",
                       in->r.model ? "a model" : "--m, --n or --k");
    return SQ_OK;
}

// The format that holds the codes of a MODEL that another program quantized, all layers in one.
static enum sq_status own_recipe(struct arguments *in, struct sq_error *err)
{
    SQ_CLOSED(sq_layer_file_close) struct sq_layer_file f = {0};
    SQ_TRY(sq_cli_weights_open(&in->options, in->r.model, false, &f, err));
    in->r.recipe = f.recipe;
    enum sq_status status = SQ_OK;
    if (f.n_as_stored > 0)
        status = SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                         "%zu layers are values that no format holds (%.150s), need --format",
                         f.n_as_stored, f.why);
    else if (f.recipe.n_rules > 0)
        status = SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                         "layers of %.60s are of another kind than the first, need --format",
                         f.rule[0].pattern);
    else if (f.recipe.operand == SQ_OPERAND_WEIGHTS)
        status = SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                         "the file leaves activations as they are, which no unit multiplies, need "
                         "--operand both or --act-bits");
    if (status == SQ_OK)
        sq_cli_note_weights("run", &f);
    return status;
}

static enum sq_status take_recipe(struct arguments *in, struct sq_error *err)
{
    const bool is_own = !in->r.weights && !in->r.workload && !in->r.gemm.n &&
                        sq_cli_has_own_weights(&in->options, in->r.model);
    SQ_TRY(is_own ? own_recipe(in, err) : sq_cli_recipe(&in->options, &in->r.recipe, err));
    in->banks.format = sq_recipe_banks(&in->r.recipe);
    in->banks.act_bits = sq_recipe_act_bits(&in->r.recipe);
    in->r.core = in->core.config;
    return SQ_OK;
}

// Options that have a use beside another one only.
static enum sq_status check_needs(const struct arguments *in, struct sq_error *err)
{
    const char *of_energy = in->r.memory   ? "memory"
                            : in->r.dram   ? "dram"
                            : in->r.n_sram ? "sram"
                                           : NULL;
    if (in->r.liberty && in->r.fair != SQ_FAIR_AREA)
        return SQ_FAIL(err, SQ_ERR_ARG, "--liberty needs --fair area");
    if (of_energy && !in->r.energy)
        return SQ_FAIL(err, SQ_ERR_ARG, "--%s needs --energy", of_energy);
    return SQ_OK;
}

static enum sq_status check_arguments(struct arguments *in, struct sq_error *err)
{
    SQ_TRY(take_recipe(in, err));
    const bool on_machine = is_on_machine(in);
    if ((in->r.gemm.n == 0) != (in->r.gemm.k == 0))
        return SQ_FAIL(err, SQ_ERR_ARG, "--%s given without --%s", in->r.gemm.n ? "n" : "k",
                       in->r.gemm.n ? "k" : "n");
    if (in->r.gemm.n && (in->r.model || in->r.source.tokens || in->r.source.text))
        return SQ_FAIL(err, SQ_ERR_ARG, "a model and --n --k given, need one of them");
    SQ_TRY(check_needs(in, err));
    if (in->r.commands && !(on_machine && in->r.gemm.n))
        return SQ_FAIL(err, SQ_ERR_ARG, "--commands needs --machine, --n and --k");
    if (!on_machine && in->r.records)
        return SQ_FAIL(err, SQ_ERR_ARG, "--records needs --machine");
    if (on_machine)
        SQ_TRY(check_machine_arguments(in, err));
    in->r.gemm.m = in->r.gemm.m ? in->r.gemm.m : 32;
    in->jobs = in->jobs ? in->jobs : 1;
    return SQ_OK;
}

// Puts the options of a core over its defaults, not over those of a machine.
static enum sq_status core_of(const struct arguments *in, struct sq_core_config *config,
                              struct sq_error *err)
{
    struct sq_cli_core core = {.config = sq_core_config_default()};
    sq_run_override_core(&core.config, &in->core.config);
    return sq_cli_core_config(&core, &in->banks, config, err);
}

static enum sq_status run_core(const struct arguments *in, struct sq_error *err)
{
    struct sq_run_core core = {
        .r = &in->r, .format = in->banks.format, .jobs = in->jobs, .timing_only = in->timing_only};
    SQ_TRY(core_of(in, &core.config, err));
    return sq_run_on_core(&core, err);
}

static enum sq_status explain(struct arguments *in, struct sq_error *err)
{
    struct sq_gemm *g = &in->r.gemm;
    struct sq_core_config core;
    SQ_TRY(take_recipe(in, err));
    if (in->topic != SQ_RUN_CYCLES && (g->m || g->n || g->k || in->core.given ||
                                       in->options.is_format_given || in->options.given.n))
        return SQ_FAIL(err, SQ_ERR_ARG, "options of shape, core and format only go with cycles");
    if (!sq_cost_is_core(&in->r.recipe))
        return SQ_FAIL(err, SQ_ERR_ARG, "--format = %s, need %s with --explain",
                       in->r.recipe.format->name, sq_formats[0]->name);
    SQ_TRY(core_of(in, &core, err));
    *g = (struct sq_gemm){g->m ? g->m : 128, g->n ? g->n : 128, g->k ? g->k : 128};
    return sq_run_explain(in->topic, &in->r, &in->banks.format, &core, err);
}

static enum sq_status run_serve(struct arguments *in, struct sq_error *err)
{
    const char *of_pass = in->has_context        ? "context"
                          : in->has_seq          ? "seq"
                          : in->r.pass.batch > 1 ? "batch"
                          : in->r.n_and          ? "and"
                          : in->r.energy         ? "energy"
                                                 : NULL;
    if (of_pass)
        return SQ_FAIL(err, SQ_ERR_ARG, "--%s has no use with --phase serve", of_pass);
    if (!in->r.requests && !in->r.tables)
        return SQ_FAIL(err, SQ_ERR_ARG, "--phase serve needs --requests FILE or --tables DIR");
    in->r.budget = in->has_budget ? in->r.budget : 2048;
    in->r.sequences = in->has_sequences ? in->r.sequences : in->r.budget < 256 ? in->r.budget : 256;
    return sq_run_serve(&in->r, err);
}

static enum sq_status run_pass(struct arguments *in, struct sq_error *err)
{
    const bool is_decode = in->r.phase == SQ_RUN_DECODE;
    const char *of_rows = in->r.kl                 ? "kl"
                          : in->r.sram_area        ? "sram-area"
                          : in->r.period_ns > 0    ? "period"
                          : in->r.is_clock_machine ? "machine-clock"
                          : in->r.is_wireless      ? "no-wire-load"
                          : in->wires.is_on        ? "wires"
                                                   : NULL;
    SQ_TRY(take_recipe(in, err));
    if (of_rows && in->r.n_and == 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--%s needs --and", of_rows);
    if (in->r.n_and > 0 && !in->has_fair)
        in->r.fair = SQ_FAIR_AREA;
    if (in->r.period_ns > 0 && (in->r.is_clock_machine || in->r.fair != SQ_FAIR_AREA))
        return SQ_FAIL(err, SQ_ERR_ARG, "--period needs --fair area and no --machine-clock");
    if (in->wires.is_on && in->r.fair != SQ_FAIR_AREA)
        return SQ_FAIL(err, SQ_ERR_ARG, "--wires needs --fair area");
    if (in->has_seed && !in->wires.is_on)
        return SQ_FAIL(err, SQ_ERR_ARG, "--seed with --phase needs --wires: there is no input");
    in->wires.wires.seed = in->r.seed;
    in->r.wires = in->wires.is_on ? &in->wires : NULL;
    if (!in->r.n_and)
        SQ_TRY(check_needs(in, err));
    if (in->has_seq && is_decode)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "--seq with --phase decode: a sequence has one token there");
    if ((in->r.kv_energy || in->r.head_energy) && !in->r.energy)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s needs --energy",
                       in->r.kv_energy ? "--kv-energy" : "--head-energy");
    if (in->r.phase == SQ_RUN_SERVE)
        return run_serve(in, err);
    const char *of_serve = in->r.requests      ? "requests"
                           : in->r.tables      ? "tables"
                           : in->has_budget    ? "token-budget"
                           : in->has_sequences ? "sequences"
                                               : NULL;
    if (of_serve)
        return SQ_FAIL(err, SQ_ERR_ARG, "--%s needs --phase serve", of_serve);
    in->r.pass.is_decode = is_decode;
    if (!in->has_context)
        in->r.pass.context = is_decode ? 2048 : 0;
    return in->r.n_and > 0 ? sq_run_rows(&in->r, err) : sq_run_pass(&in->r, err);
}

static enum sq_status run(struct arguments *in, struct sq_error *err)
{
    if (in->r.phase)
        return run_pass(in, err);
    if (in->topic)
        return explain(in, err);
    if (in->r.device)
        return sq_run_dram(&in->r, err);
    if (in->is_share)
        return sq_run_share(&in->r, err);
    SQ_TRY(check_arguments(in, err));
    return is_on_machine(in) ? sq_run_on_machine(&in->r, err) : run_core(in, err);
}

int sq_cmd_run(int argc, char **argv)
{
    struct sq_error err;
    struct arguments in = {.options = sq_cli_options_default(SQ_IN_RUN),
                           .core.config.gather = SQ_GATHER_LOG + 1,
                           .wires = sq_cli_wires_default(),
                           .r = {.seed = 1,
                                 .workers = 64,
                                 .tile_rows = 16,
                                 .kv_format = "bf16",
                                 .head_format = "bf16",
                                 .pass = {.batch = 1, .chips = 1, .seq = 2048, .is_whole = true}}};
    static const struct sq_cli_line line = {rows, "[MODEL]", doc};
    enum sq_status status = sq_cli_parse(&line, argc, argv, &in, &err);
    SQ_THEN(status, run(&in, &err));
    sq_cli_wires_free(&in.wires);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("run", &err);
}
