// SPDX-License-Identifier: Apache-2.0
// Runs a netlist without delays and with them, on the same operands, and prices both
// (sq_measure.h).
#include "sim/energy/sq_measure.h"

#include <stdlib.h>
#include <string.h>

// What lies around the netlist, as in the timing of areas (sq_synth_print_sta): outputs drive four
// NAND2 inputs.
#define EDGE_NAND2 4

const char *sq_energy_mode_name(enum sq_energy_mode mode)
{
    return mode == SQ_ZERO_DELAY ? "zero_delay" : "with_delays";
}

struct sq_synth_block sq_measure_block(const struct sq_block *block, const struct sq_point *point)
{
    struct sq_synth_block b = {
        .top = block->top, .keeps_parts = true, .source = block->source, .value = point->value};
    for (size_t i = 0; block->param[i]; i++)
        if (*block->param[i])
            b.param[b.n_params++] = (struct sq_synth_param){block->param[i], point->value[i]};
    if (sq_param_find(block, "CountStart") < SQ_PARAMS_MAX) // as areas have it
        b.param[b.n_params++] = (struct sq_synth_param){"Counters", 0};
    return b;
}

struct work {
    const struct sq_synth *synth;
    struct sq_lib_models models;
    struct sq_netlist netlist;
    struct sq_toggle toggle[SQ_N_MODES];
    uint8_t *part;
};

static bool has_power(const struct sq_netlist *n)
{
    for (size_t g = 0; g < n->n_gates; g++)
        for (size_t p = 0; p < n->gate[g].model->n_pins; p++)
            if (n->gate[g].model->pin[p].n_power > 0)
                return true;
    return false;
}

// Farads of each net's wire, by the numbers of Yosys; the caller frees *farads.
static enum sq_status place_wires(const char *path, const struct sq_wires *wires, double **farads,
                                  size_t *n, struct sq_measured *out, struct sq_error *err)
{
    struct sq_spef_sum sum;
    SQ_CLOSED(sq_place_free) struct sq_place p = {0};
    SQ_TRY(sq_place_read(&p, path, "clk_i", wires->lef, NULL, err));
    enum sq_status status = sq_place_run(&p, wires->utilisation, wires->seed, err);
    *n = p.n_nets;
    *farads = calloc(p.n_nets + 1, sizeof **farads);
    SQ_THEN(status, SQ_HAVE(*farads, err, "wires"));
    sum.of_net = *farads;
    SQ_THEN(status, sq_spef_write(NULL, &p, "", &wires->layer, &sum, err));
    out->wire_um = sum.length_um;
    out->wire_farads = sum.farads;
    return status;
}

static enum sq_status read_netlist(struct work *w, const char *path, struct sq_netlist_edge edge,
                                   struct sq_error *err)
{
    const struct sq_liberty *lib = &w->synth->lib;
    SQ_TRY(sq_lib_models_open(&w->models, lib, err));
    edge.slew = SQ_ENERGY_SLEW;
    edge.output_load = EDGE_NAND2 * lib->nand2_input_cap * w->models.cap;
    SQ_TRY(sq_netlist_read(&w->netlist, path, "clk_i", &w->models, &edge, err));
    if (!has_power(&w->netlist))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "the library has no internal_power: a sum without it is not the energy");
    return sq_energy_parts(&w->netlist, &w->part, err);
}

// How a netlist for a period is made is found on the block in one piece, whose paths OpenSTA times.
static enum sq_status size_for(const struct sq_synth *synth, struct sq_synth_block *block,
                               double period_ns, double *path_ns, struct sq_error *err)
{
    SQ_CLOSED(sq_synth_result_free) struct sq_synth_result result = {0};
    block->keeps_parts = false;
    SQ_TRY(sq_synth_at_period(synth, block, period_ns, &result, err));
    block->keeps_parts = true;
    *path_ns = result.critical_path_ns;
    return SQ_OK;
}

static enum sq_status run(struct work *w, const struct sq_case *c,
                          const struct sq_measure_options *options, struct sq_measured *out,
                          struct sq_error *err)
{
    struct sq_toggle *toggle[SQ_N_MODES];
    for (unsigned m = 0; m < SQ_N_MODES; m++) {
        toggle[m] = &w->toggle[m];
        SQ_TRY(sq_toggle_open(toggle[m], &w->netlist, m == SQ_WITH_DELAYS, err));
    }
    SQ_TRY(sq_drive_run(c, toggle, SQ_N_MODES, options->cycles, &out->drive, err));
    for (unsigned m = 0; m < SQ_N_MODES; m++)
        sq_energy_of(toggle[m], &w->models, 1e-9 * options->clock_ns, w->part, &out->energy[m]);
    out->volts = w->models.volts;
    out->settled = w->toggle[SQ_WITH_DELAYS].settled;
    out->n_cells = w->netlist.n_gates;
    out->n_flops = w->netlist.n_flops;
    return SQ_OK;
}

enum sq_status sq_measure_run(const struct sq_synth *synth, const struct sq_case *c,
                              const struct sq_measure_options *options, struct sq_measured *out,
                              struct sq_error *err)
{
    struct sq_synth_block block = sq_measure_block(c->block, c->point);
    struct work w = {.synth = synth};
    struct sq_netlist_edge edge = {.wire = NULL};
    SQ_FREED double *farads = NULL;
    SQ_FREED char *path = NULL;
    memset(out, 0, sizeof *out);
    enum sq_status status = SQ_OK;
    if (options->period_ns > 0)
        status = size_for(synth, &block, options->period_ns, &out->path_ns, err);
    SQ_THEN(status, sq_synth_mapped(synth, &block, &path, err));
    if (status == SQ_OK && options->wires)
        status = place_wires(path, options->wires, &farads, &edge.n_wires, out, err);
    edge.wire = farads;
    SQ_THEN(status, read_netlist(&w, path, edge, err));
    for (size_t i = 0; i < w.netlist.n_nets; i++)
        out->pin_farads += farads && i < edge.n_wires && farads[i] > 0
                               ? w.netlist.net[i].load - w.netlist.net[i].wire
                               : 0;
    SQ_THEN(status, run(&w, c, options, out, err));
    for (unsigned m = 0; m < SQ_N_MODES; m++)
        sq_toggle_close(&w.toggle[m]);
    free(w.part);
    sq_netlist_free(&w.netlist);
    sq_lib_models_close(&w.models);
    return status;
}
