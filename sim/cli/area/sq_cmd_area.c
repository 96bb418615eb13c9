// SPDX-License-Identifier: Apache-2.0
// sqsim area: area and delay of the blocks by synthesis (sq_synth.h).
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/area/sq_cmd_area.h"
#include "sim/cli/sq_cli_core.h"
#include "sim/cli/sq_cli_synth.h"
#include "sim/cli/sq_cli_tools.h"
#include "sim/cli/sq_cli_wires.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_format_unit.h"
#include "sim/io/sq_grow.h"
#include "sim/io/sq_quote.h"
#include "sim/io/sq_suggest.h"

// Both gather architectures, until --gather names one.
#define GATHER_BOTH ((enum sq_gather_arch)2)

enum { LIST = 2, MAX_BLOCKS = 65, MAX_NAMES = 512, MAX_PERIODS = 32 };

struct arguments {
    struct sq_cli_banks banks;
    struct sq_cli_core core;
    struct sq_cli_tools tools;
    struct sq_area_files files;
    struct sq_area_chip_wanted chip;
    struct sq_cli_wires wires;
    size_t n_blocks;
    struct sq_area_item block[MAX_BLOCKS]; // kind and unit
    const char *liberty;                   // NULL: SQ_CLI_LIBERTY
    const char *svg, *def;                 // NULL: no picture, no DEF file
    const char *output;                    // NULL: standard output
    unsigned a_bits, b_bits;               // 0 = not given
    size_t n_periods;
    double period_ns[MAX_PERIODS];
    unsigned jobs;
    bool has_chip; // --block top
    bool keeps_parts;
    bool is_wireless;
    bool is_list;
    bool is_json;
};

static const char doc[] =
    "Synthesizes blocks of the design with Yosys against a standard-cell library and prints area, "
    "NAND2 equivalents, cells, longest path, and area per weight and cycle. Results are cached "
    "under build/synth. Without --block: the whole table, with gathers for banks 4 to 128 at a "
    "quarter high codes, and TopK. The core is built with 2x2 PEs unless --rows and --cols say "
    "otherwise; both gathers are built unless --gather names one (a core: the crossbar). --group "
    "does not change the hardware.\v"
    "Examples:\n"
    "  sqsim area --jobs 2\n"
    "  sqsim area --block gather --bank 64 --sparsity 0.875 --gather log\n"
    "  sqsim area --block array_split_a_k2 --rows 16 --cols 16 --keep-parts\n"
    "  sqsim area --block top --machine chip.yaml --of nvfp4 --sram ~/pdk/sg13g2_sram/lib "
    "--liberty sg13g2.lib\n"
    "  sqsim area --block mul --a-bits 6 --b-bits 6 --json\n"
    "  sqsim area --block pe_split_a_k2 --block pe_int4x8 --period 6,4.5 --jobs 2\n"
    "  sqsim area --units-of nvfp4 --units-of my.yaml --rows 1 --cols 1\n"
    "  sqsim area --block pe_nvfp4 --liberty sg13g2.lib --wires --lef "
    "sg13g2_tech.lef,sg13g2_stdcell.lef\n"
    "  sqsim area --source my_mac.sv --top my_mac --param W=8 --block pe_int4x8\n"
    "  sqsim area --block pe --liberty ~/pdk/sky130_fd_sc_hd__tt_025C_1v80.lib\n";

static enum sq_status add_block(void *context, const struct sq_cli_row *option, const char *text,
                                struct sq_error *err)
{
    struct arguments *in = context;
    const char *names[MAX_NAMES];
    size_t index, n_units = 0;
    for (int i = 0; i < SQ_AREA_UNIT; i++)
        names[i] = sq_area_kind_name((enum sq_area_kind)i);
    for (const struct sq_area_unit *u; (u = sq_area_unit(n_units)); n_units++) {
        assert(SQ_AREA_UNIT + n_units < MAX_NAMES);
        names[SQ_AREA_UNIT + n_units] = u->name;
    }
    (void)option;
    in->has_chip = in->has_chip || strcmp(text, sq_top_block.name) == 0;
    if (strcmp(text, sq_top_block.name) == 0)
        return SQ_OK;
    const size_t n = SQ_AREA_UNIT + n_units;
    for (index = 0; index < n && strcmp(text, names[index]) != 0;)
        index++;
    const char *nearest = index == n ? sq_suggest(text, names, n) : NULL;
    if (index == n)
        return SQ_FAIL(
            err, SQ_ERR_ARG, "--block = %.40s, need one of %zu names of area --list%s%s%s", text, n,
            nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "");
    if (in->n_blocks == MAX_BLOCKS - 1) // the last one is the chip's
        return SQ_FAIL(err, SQ_ERR_RANGE, "--block given more than %d times", MAX_BLOCKS - 1);
    struct sq_area_item *b = &in->block[in->n_blocks++];
    b->kind = index < SQ_AREA_UNIT ? (enum sq_area_kind)index : SQ_AREA_UNIT;
    b->unit = index < SQ_AREA_UNIT ? NULL : sq_area_unit(index - SQ_AREA_UNIT);
    return SQ_OK;
}

// The units of a format, kept until the program ends.
static enum sq_status add_format(void *context, const struct sq_cli_row *option, const char *text,
                                 struct sq_error *err)
{
    struct arguments *in = context;
    struct sq_format_unit *const unit = calloc(SQ_FORMAT_UNITS, sizeof *unit);
    const struct sq_format_ops *f;
    struct sq_recipe r;
    (void)option;
    SQ_NEED(unit, err, "units");
    enum sq_status status = sq_format_named(text, sq_cli_home(), &f, err);
    if (status == SQ_OK && !f)
        status =
            SQ_FAIL(err, SQ_ERR_ARG, "--units-of = %.40s, need a format or a description", text);
    SQ_THEN(status, sq_format_recipe(f, SQ_IN_RUN, NULL, &r, err));
    const size_t n = status == SQ_OK && f->cost->units ? f->cost->units(&r, unit) : 0;
    if (status == SQ_OK && n == 0)
        status =
            SQ_FAIL(err, SQ_ERR_ARG,
                    "--units-of = %.40s, need a block-scaled format, both sides encoded", text);
    if (status == SQ_OK && in->n_blocks + n > MAX_BLOCKS - 1)
        status = SQ_FAIL(err, SQ_ERR_RANGE, "more than %d blocks", MAX_BLOCKS - 1);
    if (status != SQ_OK) {
        free(unit);
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        unit[i].area.name = unit[i].name;
        in->block[in->n_blocks++] = (struct sq_area_item){.kind = SQ_AREA_UNIT,
                                                          .unit = &unit[i].area,
                                                          .source_of = unit[i].source,
                                                          .value = unit[i].value};
    }
    return SQ_OK;
}

static enum sq_status add_periods(void *context, const struct sq_cli_row *option, const char *text,
                                  struct sq_error *err)
{
    struct arguments *in = context;
    (void)option;
    char *save = NULL;
    SQ_FREED char *list = strdup(text);
    enum sq_status status = SQ_HAVE(list, err, "the rows");
    if (list && (!*list || strstr(list, ",,") || list[0] == ',' || list[strlen(list) - 1] == ','))
        status = SQ_FAIL(err, SQ_ERR_ARG, "--period '%.40s': a period is empty", text);
    for (char *one = list ? strtok_r(list, ",", &save) : NULL; one && status == SQ_OK;
         one = strtok_r(NULL, ",", &save)) {
        if (in->n_periods == MAX_PERIODS)
            status = SQ_FAIL(err, SQ_ERR_RANGE, "more than %d periods", MAX_PERIODS);
        else
            status = sq_cli_double("--period", one, SQ_SYNTH_MIN_PERIOD, SQ_SYNTH_MAX_PERIOD,
                                   &in->period_ns[in->n_periods++], err);
    }
    return status;
}

#define AT(field) SQ_CLI_AT(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_OWN("block", "B", add_block,
               "one block: mul, mul_star, dot, mac_low, mac_high, gather, gather_rank, "
               "gather_select, gather_mux, pe, core, or a unit of --list: pe_*, line_*, mask_*, "
               "array_*, topk_*, engine_*, meta24, of the chip dma, sequencer and others, or all "
               "of it: top; may repeat",
               .usual = "all but core and units"),
    SQ_CLI_OWN("units-of", "F", add_format,
               "PE, decoder of a line and array of a block-scaled format, or of a description in "
               "YAML; may repeat"),
    SQ_CLI_TEXT("machine", "FILE", AT(chip.machine), "of --block top: the chip of this YAML",
                .usual = "sim/machines/chip.yaml", .found = SQ_HOME_MACHINE),
    SQ_CLI_TEXT(
        "of", "F", AT(chip.format),
        "of --block top: the chip for this format, FORMAT:OPTION=VALUE:.., or a description",
        .usual = "dense"),
    SQ_CLI_TEXT(
        "sram", "DIR", AT(chip.sram),
        "of --block top: memories of the library, the Liberty files of this folder (IHP SG13G2)",
        .usual = "flip-flops"),
    SQ_CLI_FLAG("list", AT(is_list),
                "list the names that --block takes, by group; with --json one object for each",
                .mode = LIST),
    SQ_CLI_TEXT("liberty", "FILE", AT(liberty), "standard cells, plain or .gz",
                .usual = "qflow-tech-osu018"),
    SQ_CLI_FLAG(
        "no-wire-load", AT(is_wireless),
        "delays without the wire load that the library puts on every net (default_wire_load)"),
    SQ_CLI_WIRES(AT(wires)),
    SQ_CLI_UINT("seed", "N", 0, UINT64_MAX, AT(wires.wires.seed), "of --wires: first places"),
    SQ_CLI_TEXT("svg", "FILE", AT(svg),
                "of --wires, one row: a picture of the placement, cells by the part that they work "
                "for, and the longest path",
                .usual = "none", .is_output = true),
    SQ_CLI_TEXT("def", "FILE", AT(def),
                "of --wires, one row: the placement as DEF, for routers and other tools",
                .usual = "none", .is_output = true),
    SQ_CLI_UINT("a-bits", "N", 2, 16, AT(a_bits), "first factor of mul, mul_star and dot"),
    SQ_CLI_UINT("b-bits", "N", 2, 16, AT(b_bits), "second factor of them"),
    SQ_CLI_FLAG("keep-parts", AT(keeps_parts),
                "core and units: synthesize each PE, line and mask unit once, of engines each "
                "operator of the stages as well, and count it as often as it is there; no "
                "delays, with --json the area of every part; for engines and arrays beyond 4x4"),
    SQ_CLI_OWN("period", "NS,...", add_periods,
               "clock periods, 0.01..1000 ns: the smallest netlist of a fixed search that meets "
               "each by OpenSTA, sums and sizes for speed where needed; prints which recipe, and "
               "whether it is met"),
    SQ_CLI_BANKS(AT(banks)),
    SQ_CLI_CORE(AT(core)),
    SQ_CLI_PART(sq_area_files_rows, AT(files)),
    SQ_CLI_TOOLS(AT(tools)),
    SQ_CLI_UINT("jobs", "N", 1, 64, AT(jobs), "synthesis runs at a time", .group = SQ_CLI_COMMON),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per block, the summary last",
                .group = SQ_CLI_COMMON, .modes = SQ_CLI_ALL),
    SQ_CLI_TEXT("output", "FILE", AT(output), "write there instead of standard output",
                .letter = 'o', .group = SQ_CLI_COMMON, .is_output = true, .modes = SQ_CLI_ALL),
    SQ_CLI_END};

// ---- the table --------------------------------------------------------------------------------

static bool is_product(enum sq_area_kind kind)
{
    return kind == SQ_AREA_MUL || kind == SQ_AREA_MUL_STAR || kind == SQ_AREA_DOT;
}

static bool has_select(enum sq_area_kind kind)
{
    return kind == SQ_AREA_GATHER || kind == SQ_AREA_GATHER_SELECT || kind == SQ_AREA_GATHER_MUX ||
           kind == SQ_AREA_PE;
}

static enum sq_status append(struct sq_area_table *t, const struct sq_area_item *block,
                             struct sq_error *err)
{
    struct sq_synth_block synth = sq_area_synth(block);
    synth.keeps_parts = t->keeps_parts || block->is_chip;
    for (size_t i = 0; i < t->n; i++) { // given twice, or in both series
        const struct sq_synth_block *other = &t->row[i].synth;
        bool same = block->unit == t->row[i].block.unit && strcmp(other->top, synth.top) == 0 &&
                    other->n_params == synth.n_params;
        for (size_t j = 0; same && j < synth.n_params; j++)
            same = other->param[j].value == synth.param[j].value;
        if (same)
            return SQ_OK;
    }
    SQ_TRY(SQ_GROW(t->row, t->n, err, "the rows"));
    t->row[t->n++] = (struct sq_area_row){.block = *block, .synth = synth};
    return SQ_OK;
}

// One kind, once per gather architecture where that matters.
static enum sq_status append_kind(struct sq_area_table *t, struct sq_area_item block,
                                  enum sq_gather_arch gather, struct sq_error *err)
{
    const bool both = gather == GATHER_BOTH && has_select(block.kind);
    block.config.gather = gather == GATHER_BOTH ? SQ_GATHER_CROSSBAR : gather;
    SQ_TRY(append(t, &block, err));
    if (!both)
        return SQ_OK;
    block.config.gather = SQ_GATHER_LOG;
    return append(t, &block, err);
}

// The products of the formats there are, and the dense baselines; or the given widths.
static enum sq_status append_products(struct sq_area_table *t, struct sq_area_item block,
                                      const struct arguments *in, struct sq_error *err)
{
    static const unsigned bits[][2] = {{4, 4}, {4, 6}, {8, 4}, {6, 6}, {8, 6}, {8, 8}};
    if (in->a_bits || in->b_bits) {
        block.a_bits = in->a_bits ? in->a_bits : 8;
        block.b_bits = in->b_bits ? in->b_bits : 8;
        return append(t, &block, err);
    }
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        block.a_bits = bits[i][0];
        block.b_bits = bits[i][1];
        SQ_TRY(append(t, &block, err));
    }
    return SQ_OK;
}

// The gather from `first` on: the unit with its registers, its three parts.
static enum sq_status append_gathers(struct sq_area_table *t, struct sq_area_item block,
                                     enum sq_area_kind first, enum sq_gather_arch gather,
                                     struct sq_error *err)
{
    for (int kind = (int)first; kind <= SQ_AREA_GATHER_MUX; kind++) {
        block.kind = (enum sq_area_kind)kind;
        SQ_TRY(append_kind(t, block, gather, err));
    }
    return SQ_OK;
}

// Area against bank size, a quarter of the elements high: gathers of 4 to 128, the unit with its
// registers up to 64; TopK.
static enum sq_status append_series(struct sq_area_table *t, const struct sq_core_config *config,
                                    enum sq_gather_arch gather, struct sq_error *err)
{
    struct sq_area_item block = {.config = *config};
    for (unsigned bank = 4; bank <= 128; bank *= 2) {
        block.config.bank = bank;
        block.config.high_per_bank = bank / 4;
        // The largest unit takes minutes, and its parts say all.
        const enum sq_area_kind first = bank <= 64 ? SQ_AREA_GATHER : SQ_AREA_GATHER_RANK;
        SQ_TRY(append_gathers(t, block, first, gather, err));
    }
    block.kind = SQ_AREA_UNIT;
    for (size_t i = 0; (block.unit = sq_area_unit(i)); i++)
        if (strncmp(block.unit->name, "topk_", 5) == 0)
            SQ_TRY(append(t, &block, err));
    return SQ_OK;
}

static enum sq_status list_rows(struct sq_area_table *t, const struct arguments *in,
                                const struct sq_core_config *config, struct sq_error *err)
{
    static const enum sq_area_kind all[] = {SQ_AREA_MUL,     SQ_AREA_MUL_STAR, SQ_AREA_DOT,
                                            SQ_AREA_MAC_LOW, SQ_AREA_MAC_HIGH, SQ_AREA_PE};
    const enum sq_gather_arch gather = in->core.config.gather;
    const size_t n = in->n_blocks || in->files.n ? in->n_blocks : sizeof all / sizeof all[0];
    if (in->files.n > 0)
        SQ_TRY(append(t,
                      &(struct sq_area_item){
                          .kind = SQ_AREA_SOURCE, .config = *config, .source = &in->files.module},
                      err));
    for (size_t i = 0; i < n; i++) {
        const enum sq_area_kind kind = in->n_blocks ? in->block[i].kind : all[i];
        struct sq_area_item block = {.kind = kind, .config = *config};
        if (in->n_blocks) {
            block.unit = in->block[i].unit;
            block.source_of = in->block[i].source_of;
            block.value = in->block[i].value;
            block.is_chip = in->block[i].is_chip;
            block.macro = in->block[i].macro;
        }
        if (is_product(kind))
            SQ_TRY(append_products(t, block, in, err));
        else if (kind == SQ_AREA_GATHER)
            SQ_TRY(append_gathers(t, block, SQ_AREA_GATHER, gather, err));
        else
            SQ_TRY(append_kind(t, block, gather, err));
    }
    return in->n_blocks || in->files.n ? SQ_OK : append_series(t, config, gather, err);
}

// All rows at the first period, then at the next: neighbours share no netlists, so jobs do not wait
// for each other.
static enum sq_status repeat_rows(struct sq_area_table *t, const struct arguments *in,
                                  struct sq_error *err)
{
    const size_t n = t->n;
    if (in->n_periods == 0)
        return SQ_OK;
    void *grown = realloc(t->row, n * in->n_periods * sizeof *t->row);
    SQ_NEED(grown, err, "the rows");
    t->row = grown;
    t->n = n * in->n_periods;
    t->has_periods = true;
    for (size_t i = 0; i < t->n; i++) {
        t->row[i] = t->row[i % n];
        t->row[i].period_ns = in->period_ns[i / n];
    }
    return SQ_OK;
}

// ---- work -------------------------------------------------------------------------------------

static enum sq_status check_arguments(const struct arguments *in, struct sq_core_config *config,
                                      struct sq_error *err)
{
    bool has_product = false;
    SQ_TRY(sq_area_files_check(&in->files, err));
    for (size_t i = 0; i < in->n_blocks; i++)
        has_product = has_product || is_product(in->block[i].kind);
    const char *of_chip = in->chip.machine  ? "--machine"
                          : in->chip.format ? "--of"
                          : in->chip.sram   ? "--sram"
                                            : NULL;
    if (of_chip && !in->has_chip)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s needs --block top", of_chip);
    if ((in->a_bits || in->b_bits) && !has_product)
        return SQ_FAIL(err, SQ_ERR_ARG, "--%c-bits needs --block mul, mul_star or dot",
                       in->a_bits ? 'a' : 'b');
    for (size_t i = 0; in->keeps_parts && i < (in->n_blocks ? in->n_blocks : 1); i++) {
        const struct sq_area_item *b = &in->block[i];
        if (in->n_blocks == 0 || (b->kind != SQ_AREA_CORE && !b->unit))
            return SQ_FAIL(err, SQ_ERR_ARG, "--keep-parts needs --block core or a unit, not %.40s",
                           in->n_blocks ? sq_area_title(b) : "the whole table");
    }
    if (in->keeps_parts && in->n_periods > 0)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "--period needs delays, --keep-parts has none: leave one out");
    if (in->wires.is_on && in->keeps_parts)
        return SQ_FAIL(err, SQ_ERR_ARG, "--wires places flat netlists: leave out --keep-parts");
    if ((in->svg || in->def) && !in->wires.is_on)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s needs --wires", in->svg ? "--svg" : "--def");
    struct sq_cli_core core = in->core;
    if (core.config.gather == GATHER_BOTH)
        core.config.gather = SQ_GATHER_CROSSBAR;
    return sq_cli_core_config(&core, &in->banks, config, err);
}

// What was found of the clock of a module of somebody else, once.
static void note_clock(const struct sq_area_table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct sq_area_row *row = &t->row[i];
        if (!row->synth.is_foreign)
            continue;
        if (!row->result.clock[0])
            fprintf(stderr, "sqsim area: %s has no flip-flops: its path is from input to output\n",
                    row->synth.top);
        else if (!row->synth.clock)
            fprintf(stderr, "sqsim area: %s is clocked by port %s alone\n", row->synth.top,
                    row->result.clock);
        return;
    }
}

static enum sq_status write_table(const struct arguments *in, const struct sq_area_table *t,
                                  struct sq_error *err)
{
    struct sq_outfile out = {.stream = stdout};
    if (in->output)
        SQ_TRY(sq_outfile_open(&out, in->output, err));
    if (in->is_list)
        sq_area_print_list(out.stream, in->is_json);
    else if (in->is_json)
        sq_area_print_json(out.stream, t);
    else
        sq_area_print_text(out.stream, t);
    return in->output ? sq_outfile_commit(&out, err) : SQ_OK;
}

static enum sq_status open_synth(struct sq_synth *synth, const struct sq_area_files *files,
                                 const char *liberty, struct sq_error *err)
{
    SQ_TRY(sq_cli_synth_open(synth, liberty, err));
    const enum sq_status status = sq_area_files_add(files, synth, err);
    if (status != SQ_OK)
        sq_synth_close(synth);
    return status;
}

static enum sq_status run(struct arguments *in, struct sq_area_table *t, struct sq_error *err)
{
    struct sq_core_config config;
    SQ_CLOSED(sq_synth_close) struct sq_synth synth = {0};
    SQ_TRY(check_arguments(in, &config, err));
    if (in->is_list)
        return write_table(in, t, err);
    t->keeps_parts = in->keeps_parts;
    if (in->has_chip) {
        in->block[in->n_blocks] = (struct sq_area_item){.kind = SQ_AREA_UNIT};
        SQ_TRY(sq_area_chip_find(&in->chip, &in->block[in->n_blocks++], err));
    }
    SQ_TRY(list_rows(t, in, &config, err));
    SQ_TRY(repeat_rows(t, in, err));
    if ((in->svg || in->def) && t->n != 1)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "%s takes one row, not %zu: name one --block, and one --period",
                       in->svg ? "--svg" : "--def", t->n);
    t->liberty = in->liberty ? in->liberty : SQ_CLI_LIBERTY;
    SQ_TRY(open_synth(&synth, &in->files, in->liberty, err));
    synth.is_wireless = in->is_wireless;
    t->synth = &synth;
    t->has_wires = in->wires.is_on;
    in->wires.wires.is_later = in->n_periods == 0 && (in->svg || in->def);
    enum sq_status status = sq_cli_wires_open(&in->wires, &synth, err);
    if (!synth.sta_version[0] && !t->has_periods)
        fprintf(stderr, "sqsim area: OpenSTA (sta) is not installed, no delays\n");
    SQ_THEN(status, sq_area_synthesize(t, in->jobs, err));
    if (status == SQ_OK)
        note_clock(t);
    if (status == SQ_OK && (in->svg || in->def))
        status = sq_area_draw(&synth, t->row, in->svg, in->def, err);
    SQ_THEN(status, write_table(in, t, err));
    t->synth = NULL;
    return status;
}

int sq_cmd_area(int argc, char **argv)
{
    static const struct sq_cli_line line = {rows, "", doc};
    struct sq_error err;
    struct arguments in = {.jobs = 1,
                           .banks = sq_cli_banks_default(),
                           .core.config = sq_core_config_default(),
                           .wires = sq_cli_wires_default(),
                           .tools = sq_cli_tools_default()};
    in.core.config.rows = in.core.config.cols = 2;
    in.core.config.gather = GATHER_BOTH;
    struct sq_area_table table = {.command = sq_command_line(argc, argv)};
    enum sq_status status = sq_cli_parse(&line, argc, argv, &in, &err);
    if (status == SQ_OK && !table.command)
        status = SQ_NO_MEMORY(&err, "the rows");
    SQ_THEN(status, run(&in, &table, &err));
    for (size_t i = 0; i < table.n; i++)
        sq_synth_result_free(&table.row[i].result);
    free(table.row);
    sq_area_files_free(&in.files);
    sq_cli_wires_free(&in.wires);
    sq_area_chip_free(&in.chip.chip);
    free(table.command);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("area", &err);
}
