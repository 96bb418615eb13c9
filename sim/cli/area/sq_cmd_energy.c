// SPDX-License-Identifier: Apache-2.0
// sqsim energy: joules of a block's netlist on operands (sim/energy).
#include <stdlib.h>
#include <string.h>

#include "sim/cli/area/sq_cmd_energy.h"
#include "sim/cli/sq_cli_calib.h"
#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_quote.h"
#include "sim/llm/sq_encoded_visit.h"

static const char doc[] =
    "Runs the netlist of a block on operands, counts every rise and fall, and prints joules a MAC "
    "and watts by part, without delays and with those of the library: sums change several times "
    "before they settle, and that decides rankings. A MAC is an element of K of one output, "
    "whatever the format makes of it. In the same run every output is compared with the golden "
    "model and every handshake with the cycle model. Operands are drawn (legal codes of any "
    "value), or, with --layer, those that a layer of MODEL in --format gives to each block that "
    "multiplies it (1x1 PEs unless --rows and --cols say otherwise). The netlist is that of "
    "`sqsim area --keep-parts`. The library says the corner: give another file for another one. "
    "Not counted: wires without --wires, the clock tree, memories; docs/energy.md says what is.\v"
    "Examples:\n"
    "  sqsim energy --block array --point int4x8 --rows 1 --cols 1\n"
    "  sqsim energy --block array_scaled --point nvfp4 --rows 1 --cols 1 --clock 5\n"
    "  sqsim energy --block core --bank 64 --sparsity 0.875 --gather log --json\n"
    "  sqsim energy --format sq_w --layer '*.0.mlp.up_proj'\n"
    "  sqsim energy ~/models/my-llama --format dense --layer 'model.layers.0.*' --block "
    "engine_array --liberty ~/pdk/sg13g2_stdcell_typ_1p20V_25C.lib\n"
    "  sqsim energy --format dense --layer '*.0.mlp.up_proj' --machine sim/machines/chip.yaml\n";

static enum sq_status set_block(void *context, const struct sq_cli_row *row, const char *text,
                                struct sq_error *err)
{
    struct sq_energy_args *in = context;
    const char *names[SQ_COSIM_MAX_POINTS];
    size_t index;
    (void)row;
    for (size_t i = 0; i < sq_n_blocks; i++)
        names[i] = sq_blocks[i]->name;
    SQ_TRY(sq_cli_name("--block", text, names, sq_n_blocks, &index, err));
    in->c.block = sq_blocks[index];
    in->c.has_block = true;
    return SQ_OK;
}

#define AT(field) SQ_CLI_AT(struct sq_energy_args, field)
#define LIST(field, n) SQ_CLI_LIST_AT(struct sq_energy_args, field, n)
static const struct sq_cli_row rows[] = {
    SQ_CLI_OWN("block", "B", set_block,
               "array, array_scaled, core, gather, ...; with --layer only this one of the blocks "
               "that the layer goes through",
               .usual = "none; of a layer all that multiply"),
    SQ_CLI_TEXT("point", "P", LIST(c.wanted, c.n_wanted),
                "a point of the block's table (sqsim cosim --block B --list)",
                .usual = "of a core: one of 1x1 PEs"),
    SQ_CLI_TEXT("parameter", "NAME=N", LIST(c.parameter, c.n_parameters),
                "a size of the block by its name in the RTL, in place of that of the point"),
    SQ_CLI_TEXT("liberty", "FILE", AT(liberty), "standard cells with power tables, plain or .gz",
                .usual = "qflow-tech-osu018"),
    SQ_CLI_REAL("clock", "NS", SQ_SYNTH_MIN_PERIOD, SQ_SYNTH_MAX_PERIOD, AT(run.clock_ns),
                "period of the clock: watts, and what leaks in a cycle", .unit = "ns"),
    SQ_CLI_REAL("period", "NS", SQ_SYNTH_MIN_PERIOD, SQ_SYNTH_MAX_PERIOD, AT(run.period_ns),
                "the netlist that `sqsim area --period` finds for this clock period, in place of "
                "the smallest",
                .usual = "the smallest", .unit = "ns"),
    SQ_CLI_WIRES(AT(wires)),
    SQ_CLI_UINT("cycles", "N", 1, SQ_DRIVE_MAX_CYCLES, AT(run.cycles),
                "cycles that are counted, of each of 64 lanes"),
    SQ_CLI_TEXT("layer", "PATTERN", AT(c.layer),
                "layers of MODEL whose name matches, as file names do: 'model.layers.0.*'"),
    SQ_CLI_TEXT(
        "machine", "FILE", AT(c.machine),
        "with --layer: the engine of the chip of this YAML (sim/machines/chip.yaml), with its "
        "array and multipliers, for `sqsim run --machine FILE --energy`",
        .usual = "none; --rows and --cols say the array", .found = SQ_HOME_MACHINE),
    SQ_CLI_UINT("m", "M", 1, 1 << 12, AT(c.m), "tokens that the layer sees"),
    SQ_CLI_TEXT("tokens", "FILE", AT(c.source.tokens),
                "token file whose first sequences feed the layer",
                .usual = "the model's tokens_calib.safetensors", .found = ""),
    SQ_CLI_TEXT("text", "FILE", AT(c.source.text),
                "a text in its place, by the model's own tokenizer", .found = ""),
    SQ_CLI_TEXT("calib", "FILE", AT(c.calib), "where calibrated: calibration tokens",
                .usual = "MODEL/tokens_calib.safetensors", .found = ""),
    SQ_CLI_UINT("seed", "S", 0, UINT64_MAX, AT(c.seed), "seed of what is drawn"),
    SQ_CLI_FORMATS(SQ_IN_EVAL, AT(c.options)),
    SQ_CLI_CORE(AT(c.core)),
    SQ_CLI_TOOLS(AT(c.tools)),
    SQ_CLI_FLAG("json", AT(c.is_json), "one JSON object per block, the summary last",
                .group = SQ_CLI_COMMON),
    SQ_CLI_ARGUMENT("MODEL", LIST(c.file, c.n_files), .found = SQ_HOME_MODEL),
    SQ_CLI_END};

// What has been measured so far.
struct work {
    struct sq_energy_args *in;
    struct sq_checkpoint ck;
    struct sq_recipe r;
    struct sq_route_options options;
    size_t n_rows;
    bool is_wrong;
};

static enum sq_status measure(struct work *w, const struct sq_case *c, const char *layer,
                              const struct sq_route_outcome *o, struct sq_error *err)
{
    struct sq_measured m;
    const struct sq_energy_row row = {c->block, c->point, layer, o, layer ? &w->r : NULL, &m};
    SQ_TRY(sq_measure_run(&w->in->synth, c, &w->in->run, &m, err));
    if (w->in->c.machine && m.drive.outputs == 0 && !m.drive.mismatch[0])
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "--cycles = %llu: no output of the engine came in them to be compared, need "
                       "more",
                       (unsigned long long)w->in->run.cycles);
    w->is_wrong = w->is_wrong || m.drive.mismatch[0] || (o && o->value_mismatches > 0);
    w->n_rows++;
    sq_energy_print_row(w->in, &row);
    return SQ_OK;
}

// ---- drawn operands -----------------------------------------------------------------------------

static enum sq_status run_points(struct work *w, struct sq_error *err)
{
    struct sq_energy_args *in = w->in;
    for (size_t i = 0; i < in->c.n_points; i++) {
        struct sq_case c;
        SQ_TRY(sq_drive_draw(in->c.block, &in->c.points[i], in->c.seed,
                             SQ_LANES * (in->run.cycles + SQ_DRIVE_FILL), &c, err));
        const enum sq_status status = measure(w, &c, NULL, NULL, err);
        sq_case_free(&c);
        SQ_TRY(status);
    }
    return SQ_OK;
}

// ---- layers -------------------------------------------------------------------------------------

static bool is_asked(const struct work *w, const struct sq_route *route)
{
    const struct sq_block *b = route->block ? route->block : &sq_core_block;
    return !w->in->c.has_block || w->in->c.block == b;
}

// Without --block, blocks that multiply: decoders and masks come into their arrays, or by name.
static bool multiplies(const struct sq_case *c)
{
    return sq_ports_of(c->block, c->point->value).macs > 0;
}

static enum sq_status run_route(struct work *w, const struct sq_route *route, const char *name,
                                struct sq_product *p, struct sq_error *err)
{
    SQ_CLOSED(sq_route_outcome_free) struct sq_route_outcome o = {0};
    SQ_TRY(sq_route_operands(route, p, &w->options, SQ_LANES, &o, err));
    if (w->in->c.has_block || multiplies(&o.stream))
        SQ_TRY(measure(w, &o.stream, name, &o, err));
    return SQ_OK;
}

static enum sq_status run_engine(struct work *w, const struct sq_format_routes *routes,
                                 const char *name, struct sq_product *p, struct sq_error *err)
{
    SQ_CLOSED(sq_route_outcome_free) struct sq_route_outcome o = {0};
    SQ_TRY(sq_route_engine(routes, p, &w->options, &o, err));
    return measure(w, &o.stream, name, &o, err);
}

static enum sq_status visit_layer(void *context, size_t index, const struct sq_quant_layer *q,
                                  const float *x, size_t m, struct sq_error *err)
{
    struct work *w = context;
    const char *name = w->ck.layer[index].name;
    const struct sq_format_routes *routes = q->format->routes;
    SQ_CLOSED(sq_product_free) struct sq_product p = {.source = name};
    SQ_TRY(sq_route_product(q, &w->r, x, m, &p, err));
    const bool is_chip = w->in->c.machine;
    if (is_chip)
        SQ_TRY(run_engine(w, routes, name, &p, err));
    for (size_t i = 0; !is_chip && i < routes->n_routes; i++)
        if (is_asked(w, &routes->route[i]) &&
            (!routes->route[i].takes || routes->route[i].takes(&p)))
            SQ_TRY(run_route(w, &routes->route[i], name, &p, err));
    return SQ_OK;
}

static enum sq_status take_recipe(struct work *w, struct sq_error *err)
{
    const struct sq_cli_options *options = &w->in->c.options;
    const struct sq_format_ops *f = options->format;
    SQ_TRY(sq_cli_recipe(options, &w->r, err));
    if (!f->routes || !f->routes->product)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "--format = %s: no block takes its layers",
                       f->name);
    SQ_TRY(sq_cli_routes_check(&w->r, err));
    if (w->in->c.machine)
        SQ_TRY(sq_route_on_chip(f, err));
    if (w->in->c.calib && !sq_recipe_needs_calibration(&w->r))
        sq_cli_note_calib("energy");
    return SQ_OK;
}

static enum sq_status run_checkpoint(struct work *w, const char *model, bool *is_real,
                                     struct sq_error *err)
{
    const struct sq_cosim_args *c = &w->in->c;
    SQ_FREED uint8_t *is_wanted = NULL;
    size_t n;
    SQ_TRY(sq_cli_layers(&w->ck, c->layer, &is_wanted, &n, err));
    const struct sq_encoded_options o = {.recipe = &w->r,
                                         .model = model,
                                         .source = &c->source,
                                         .calib = c->calib,
                                         .m = c->m,
                                         .seed = c->seed,
                                         .is_wanted = is_wanted};
    SQ_TRY(sq_encoded_layers(&w->ck, &o, visit_layer, w, is_real, err));
    if (w->n_rows == 0 && !c->has_block)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "--format = %s: its layers go through no block whose products are counted, "
                       "need --block B of one that they go through",
                       c->options.format->name);
    if (w->n_rows == 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--block = %s: no layer in %s goes through it",
                       c->block->name, c->options.format->name);
    return SQ_OK;
}

static enum sq_status run_layers(struct work *w, bool *is_real, struct sq_error *err)
{
    struct sq_energy_args *in = w->in;
    w->options = sq_cosim_route_options(&in->c, &in->c.core.config);
    if (!in->c.machine) {
        w->options.array_rows = in->c.core.config.rows;
        w->options.array_cols = in->c.core.config.cols;
    }
    const char *model = sq_cli_model(in->c.n_files > 0 ? in->c.file[0] : NULL);
    SQ_TRY(sq_checkpoint_open(&w->ck, model, err));
    return run_checkpoint(w, model, is_real, err);
}

// ---- options ------------------------------------------------------------------------------------

static enum sq_status check_layers(const struct sq_cosim_args *c, struct sq_error *err)
{
    const char *option = c->n_wanted > 0 ? "--point" : c->n_parameters > 0 ? "--parameter" : NULL;
    if (option)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s with --layer, whose format says the point", option);
    option = c->has_block ? "--block" : c->core.given ? "--rows, --cols and the like" : NULL;
    if (c->machine && option)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s with --machine, whose chip has one engine", option);
    if (c->n_files > 1)
        return SQ_FAIL(err, SQ_ERR_ARG, "%zu of MODEL, need one", c->n_files);
    return SQ_OK;
}

static enum sq_status check_drawn(const struct sq_cosim_args *c, struct sq_error *err)
{
    const char *option = c->n_files > 0               ? "MODEL"
                         : c->options.is_format_given ? "--format"
                         : c->source.tokens           ? "--tokens"
                         : c->source.text             ? "--text"
                         : c->calib                   ? "--calib"
                         : c->machine                 ? "--machine"
                                                      : NULL;
    if (option)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s needs --layer: which layers give the operands", option);
    if (!c->has_block)
        return SQ_FAIL(err, SQ_ERR_ARG, "need --block B, or --layer PATTERN of a model");
    return SQ_OK;
}

// One point: the synthesis of all of a table would take minutes.
static enum sq_status take_points(struct sq_cosim_args *c, struct sq_error *err)
{
    if (c->block->set_core && c->n_wanted == 0)
        c->core.given = true;
    if (!c->block->set_core && c->n_wanted == 0 && c->block->n_points > 1)
        return SQ_FAIL(err, SQ_ERR_ARG, "--block = %s has %zu points, need --point, such as %s",
                       c->block->name, c->block->n_points, c->block->points[0].name);
    return sq_cosim_take_points(c);
}

static enum sq_status prepare(struct work *w, struct sq_error *err)
{
    struct sq_cosim_args *c = &w->in->c;
    if (!c->layer) {
        SQ_TRY(check_drawn(c, err));
        return take_points(c, err);
    }
    SQ_TRY(check_layers(c, err));
    if (c->machine)
        SQ_TRY(sq_cosim_load_chip(c));
    return take_recipe(w, err);
}

static enum sq_status run(struct work *w, struct sq_error *err)
{
    struct sq_energy_args *in = w->in;
    bool is_real = false;
    SQ_TRY(prepare(w, err));
    SQ_TRY(sq_cli_synth_open(&in->synth, in->liberty, err));
    SQ_TRY(sq_cli_wires_open(&in->wires, &in->synth, err));
    in->wires.wires.seed = in->c.seed;
    in->run.wires = in->wires.is_on ? &in->wires.wires : NULL;
    sq_energy_print_head(in);
    SQ_TRY(in->c.layer ? run_layers(w, &is_real, err) : run_points(w, err));
    sq_energy_print_summary(in, w->n_rows, is_real);
    return SQ_OK;
}

int sq_cmd_energy(int argc, char **argv)
{
    static const struct sq_cli_line line = {rows, "[MODEL]", doc};
    struct sq_error err;
    struct sq_energy_args in = {.c = {.options = sq_cli_options_default(SQ_IN_EVAL),
                                      .core.config = sq_core_config_default(),
                                      .tools = sq_cli_tools_default(),
                                      .seed = 1,
                                      .m = 8,
                                      .err = &err},
                                .wires = sq_cli_wires_default(),
                                .run = {.clock_ns = 10, .cycles = 32},
                                .command = sq_command_line(argc, argv)};
    struct work w = {.in = &in};
    in.c.core.config.rows = in.c.core.config.cols = 1;
    enum sq_status status = sq_cli_parse(&line, argc, argv, &in, &err);
    if (status == SQ_OK && !in.command)
        status = SQ_FAIL(&err, SQ_ERR_MEMORY, "out of memory");
    SQ_THEN(status, run(&w, &err));
    free(in.command);
    sq_checkpoint_close(&w.ck);
    sq_synth_close(&in.synth);
    sq_cli_wires_free(&in.wires);
    return status != SQ_OK ? sq_cli_fail("energy", &err)
           : w.is_wrong    ? SQ_EXIT_CHECK_FAILED
                           : SQ_EXIT_OK;
}
