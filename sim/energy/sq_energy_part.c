// SPDX-License-Identifier: Apache-2.0
// Which part of a block a gate works for. Gates have lost their names in synthesis, but nets between
// parts and registers have kept theirs: a gate belongs to the net that it drives, or, if only Yosys
// named that, to what the net leads to.
#include <stdlib.h>
#include <string.h>

#include "sim/energy/sq_energy.h"

static const char *const part_names[SQ_N_PARTS] = {
    "products",       "sums",     "scale step", "accumulators",      "select",
    "rest of the PE", "decoding", "mask",       "operand registers", "stream buffers",
    "output",         "control",  "input nets",
};

const char *sq_energy_part_name(enum sq_energy_part part)
{
    return part_names[part];
}

const char *sq_energy_kind_name(enum sq_energy_kind kind)
{
    static const char *const name[SQ_N_ENERGIES] = {"switching", "internal", "clock", "leakage",
                                                    "wires"};
    return name[kind];
}

// What stands in a path says, the first that fits: names of instances and registers of rtl/.
static const struct {
    const char *text;
    enum sq_energy_part part;
} rules[] = {
    {"gen_pair.", SQ_PART_SCALE},
    {"u_acc.gen_product.", SQ_PART_SCALE},
    {"u_acc.gen_block", SQ_PART_SCALE},
    {"u_acc.gen_two.first", SQ_PART_SCALE},
    {"u_acc.gen_two.second", SQ_PART_SCALE},
    {"u_acc.sig_q", SQ_PART_SCALE},
    {"u_acc.exp_q", SQ_PART_SCALE},
    {"u_acc.shift_q", SQ_PART_SCALE},
    {"u_acc.scaled", SQ_PART_SCALE},
    {"u_acc.gen_exact.", SQ_PART_SCALE},
    {"u_acc.gen_wide.", SQ_PART_SCALE},
    {"u_acc.product", SQ_PART_SCALE},
    {"u_acc.magnitude", SQ_PART_SCALE},
    {"u_acc.sum_q", SQ_PART_SUMS},
    {"low_sum_q", SQ_PART_SUMS},
    {"high_sum_q", SQ_PART_SUMS},
    {"u_acc", SQ_PART_ACCUMULATOR},
    {"acc_q", SQ_PART_ACCUMULATOR},
    {"acc_d", SQ_PART_ACCUMULATOR},
    {"result_q", SQ_PART_ACCUMULATOR},
    {"u_mul.", SQ_PART_PRODUCTS},
    {"u_dot.product", SQ_PART_PRODUCTS},
    {"u_low.product", SQ_PART_PRODUCTS},
    {"u_high.product", SQ_PART_PRODUCTS},
    {"u_topk.", SQ_PART_MASK},
    {"u_split.", SQ_PART_MASK},
    {"u_rank.", SQ_PART_DECODE},
    {"u_low_rank.", SQ_PART_DECODE},
    {"u_sel.", SQ_PART_DECODE},
    {"u_low_sel.", SQ_PART_DECODE},
    {"u_dec.", SQ_PART_DECODE},
    {"u_mux.", SQ_PART_SELECT},
    {"u_gather_mux.", SQ_PART_SELECT},
    {"gathered_q", SQ_PART_SELECT},
    {"u_dot.", SQ_PART_SUMS},
    {"u_mac", SQ_PART_SUMS},
    {"u_low", SQ_PART_SUMS},
    {"u_high", SQ_PART_SUMS},
    {"u_pe.sum", SQ_PART_SUMS},
    {"u_pe.", SQ_PART_PE_OTHER},
    {"ctl_q", SQ_PART_DECODE},
    {"low_q", SQ_PART_OPERANDS},
    {"high_q", SQ_PART_OPERANDS},
    {"plain_q", SQ_PART_OPERANDS},
    {"act_q", SQ_PART_OPERANDS},
    {"weight_q", SQ_PART_OPERANDS},
    {"element_q", SQ_PART_OPERANDS},
    {"code_q", SQ_PART_OPERANDS},
    {"mask_q", SQ_PART_OPERANDS},
    {"u_line.", SQ_PART_DECODE},
    {"u_code.", SQ_PART_DECODE},
    {"gen_line", SQ_PART_DECODE},
    {"u_output", SQ_PART_OUTPUT},
    {"u_out", SQ_PART_OUTPUT},
    {"u_combine", SQ_PART_OUTPUT},
    {"u_requant", SQ_PART_OUTPUT},
    {"act_l1_q", SQ_PART_OPERANDS},
    {"act_l2_q", SQ_PART_OPERANDS},
    {"code_l1_q", SQ_PART_OPERANDS},
    {"code_l2_q", SQ_PART_OPERANDS},
    {"column_q", SQ_PART_OPERANDS},
    {"clean_q", SQ_PART_OPERANDS},
    {"].sig_q", SQ_PART_OPERANDS},
    {"].exp_q", SQ_PART_OPERANDS},
    {"rank_q", SQ_PART_DECODE},
    {"slot_q", SQ_PART_DECODE},
    {"u_buf.", SQ_PART_BUFFERS},
    {"head_q", SQ_PART_BUFFERS},
    {"skid_q", SQ_PART_BUFFERS},
};

static enum sq_energy_part part_of(const char *place)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strstr(place, rules[i].text))
            return rules[i].part;
    return SQ_PART_CONTROL;
}

// The name of a net that a gate drives; "": all are of Yosys.
static const char *own_place(const struct sq_netlist *n, const struct sq_gate *g)
{
    for (size_t p = 0; p < g->model->n_pins; p++)
        if (g->model->pin[p].is_output && *n->net[g->net[p]].name)
            return n->net[g->net[p]].name;
    return "";
}

static const char *next_place(const struct sq_netlist *n, const struct sq_gate *g,
                              const char *const *place)
{
    for (size_t p = 0; p < g->model->n_pins; p++) {
        const struct sq_net *net = &n->net[g->net[p]];
        for (uint32_t s = 0; g->model->pin[p].is_output && s < net->n_sinks; s++)
            if (*place[n->sink[net->sink + s].gate])
                return place[n->sink[net->sink + s].gate];
    }
    return g->name;
}

enum sq_status sq_energy_parts(const struct sq_netlist *n, uint8_t **part, struct sq_error *err)
{
    const char **place = calloc(n->n_gates + 1, sizeof *place);
    *part = calloc(n->n_gates + 1, 1);
    if (!place || !*part) {
        free(place);
        free(*part);
        *part = NULL;
        return SQ_NO_MEMORY(err, "the parts of a netlist");
    }
    for (size_t g = 0; g < n->n_gates; g++)
        place[g] = own_place(n, &n->gate[g]);
    for (size_t i = n->n_order; i-- > 0;)
        if (!*place[n->order[i]])
            place[n->order[i]] = next_place(n, &n->gate[n->order[i]], place);
    for (size_t g = 0; g < n->n_gates; g++) {
        // A PE is a module of its own in synthesis: its gates have its path, whatever they drive.
        const bool is_pe = strstr(n->gate[g].name, "u_pe.") != NULL;
        const enum sq_energy_part p = part_of(*place[g] ? place[g] : n->gate[g].name);
        const bool is_outside = p == SQ_PART_OPERANDS || p == SQ_PART_CONTROL;
        (*part)[g] = (uint8_t)(is_pe && is_outside ? SQ_PART_PE_OTHER : p);
        (*part)[g] |= is_pe ? SQ_PART_IN_PE : 0;
    }
    free(place);
    return SQ_OK;
}
