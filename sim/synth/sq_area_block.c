// SPDX-License-Identifier: Apache-2.0
// Names the blocks that are priced, and makes module and parameters of each (sq_area_block.h).
#include "sim/synth/sq_area_block.h"

#include <assert.h>
#include <stdbool.h>

static const struct {
    const char *name, *top;
} kinds[SQ_N_AREA_KINDS] = {
    [SQ_AREA_MUL] = {"mul", "sq_mul"},
    [SQ_AREA_MUL_STAR] = {"mul_star", "synth_mul_star"},
    [SQ_AREA_DOT] = {"dot", "sq_dot"},
    [SQ_AREA_MAC_LOW] = {"mac_low", "sq_mac_low"},
    [SQ_AREA_MAC_HIGH] = {"mac_high", "sq_mac_high"},
    [SQ_AREA_GATHER] = {"gather", "sq_gather"},
    [SQ_AREA_GATHER_RANK] = {"gather_rank", "sq_gather_rank"},
    [SQ_AREA_GATHER_SELECT] = {"gather_select", "sq_gather_sel"},
    [SQ_AREA_GATHER_MUX] = {"gather_mux", "sq_gather_mux"},
    [SQ_AREA_PE] = {"pe", "sq_pe"},
    [SQ_AREA_CORE] = {"core", "sq_core"},
    [SQ_AREA_UNIT] = {"unit", ""},
    [SQ_AREA_SOURCE] = {"source", ""},
};

const char *sq_area_kind_name(enum sq_area_kind kind)
{
    return kinds[kind].name;
}

const char *sq_area_title(const struct sq_area_item *block)
{
    return block->kind == SQ_AREA_UNIT     ? block->unit->name
           : block->kind == SQ_AREA_SOURCE ? block->source->top
                                           : kinds[block->kind].name;
}

static void add(struct sq_synth_block *b, const char *name, unsigned value)
{
    assert(b->n_params < SQ_SYNTH_MAX_PARAMS);
    b->param[b->n_params++] = (struct sq_synth_param){name, value};
}

static void add_widths(struct sq_synth_block *b, const struct sq_core_config *c)
{
    add(b, "ActW", c->act_bits);
    add(b, "LowW", c->low_bits);
    add(b, "HighW", c->high_bits);
}

static void add_gather(struct sq_synth_block *b, enum sq_area_kind kind,
                       const struct sq_core_config *c)
{
    if (kind == SQ_AREA_GATHER)
        add(b, "Rows", 1);
    add(b, "BankLen", c->bank);
    if (kind != SQ_AREA_GATHER_MUX)
        add(b, "HighPerBank", c->high_per_bank);
    if (kind == SQ_AREA_GATHER_RANK)
        add(b, "Lanes", c->bank);
    if (kind == SQ_AREA_GATHER_SELECT || kind == SQ_AREA_GATHER_MUX)
        add(b, "Lanes", c->high_per_bank);
    if (kind == SQ_AREA_GATHER || kind == SQ_AREA_GATHER_MUX)
        add(b, "ActW", c->act_bits);
    if (kind == SQ_AREA_GATHER || kind == SQ_AREA_GATHER_RANK)
        add(b, "LowW", c->low_bits);
    if (kind != SQ_AREA_GATHER_RANK)
        add(b, "Gather", (unsigned)c->gather);
}

static void add_core(struct sq_synth_block *b, bool is_core, const struct sq_core_config *c)
{
    if (is_core) {
        add(b, "Rows", c->rows);
        add(b, "Cols", c->cols);
        add(b, "HighPerBank", c->high_per_bank);
        add(b, "Counters", 0);
    }
    add(b, "LowLanes", c->low_lanes);
    add(b, "HighLanes", c->high_lanes);
    add(b, "BankLen", c->bank);
    add_widths(b, c);
    add(b, "Gather", (unsigned)c->gather);
}

static void add_unit(struct sq_synth_block *b, const struct sq_area_unit *unit,
                     const struct sq_core_config *c)
{
    b->top = unit->top;
    b->keeps_stages = !unit->is_array;
    if (unit->is_array) {
        add(b, "Rows", c->rows);
        add(b, "Cols", c->cols);
    }
    for (size_t i = 0; i < sizeof unit->param / sizeof unit->param[0] && unit->param[i].name; i++)
        add(b, unit->param[i].name, unit->param[i].value);
}

static void add_source(struct sq_synth_block *b, const struct sq_area_source *source)
{
    b->top = source->top;
    b->clock = source->clock;
    b->is_foreign = true;
    for (size_t i = 0; i < source->n_params; i++)
        add(b, source->param[i].name, source->param[i].value);
}

struct sq_synth_block sq_area_synth(const struct sq_area_item *block)
{
    const struct sq_core_config *c = &block->config;
    struct sq_synth_block b = {.top = kinds[block->kind].top};
    switch (block->kind) {
    case SQ_AREA_DOT:
        add(&b, "Lanes", c->low_lanes); // fall through
    case SQ_AREA_MUL:
    case SQ_AREA_MUL_STAR:
        add(&b, "AW", block->a_bits);
        add(&b, "BW", block->b_bits);
        break;
    case SQ_AREA_MAC_LOW:
        add(&b, "Lanes", c->low_lanes);
        add(&b, "ActW", c->act_bits);
        add(&b, "LowW", c->low_bits);
        break;
    case SQ_AREA_MAC_HIGH:
        add(&b, "Lanes", c->high_lanes);
        add(&b, "ActW", c->act_bits);
        add(&b, "HighW", c->high_bits);
        break;
    case SQ_AREA_PE:
    case SQ_AREA_CORE:
        add_core(&b, block->kind == SQ_AREA_CORE, c);
        break;
    case SQ_AREA_UNIT:
        add_unit(&b, block->unit, c);
        b.source = block->source_of;
        b.value = block->value;
        b.macro = block->macro;
        b.keeps_parts = b.keeps_chip = block->is_chip;
        break;
    case SQ_AREA_SOURCE:
        add_source(&b, block->source);
        break;
    default:
        add_gather(&b, block->kind, c);
    }
    return b;
}

double sq_area_weights_per_cycle(const struct sq_area_item *block)
{
    const struct sq_core_config *c = &block->config;
    if (block->kind == SQ_AREA_UNIT) // of an array: the tokens of a column share its weights
        return block->unit->weights * (block->unit->is_array ? c->cols : 1.0);
    if (block->kind == SQ_AREA_SOURCE)
        return block->source->weights;
    const unsigned low = sq_core_low_steps(c), high = sq_core_high_steps(c);
    const double pe = (double)c->bank / (low > high ? low : high);
    switch (block->kind) {
    case SQ_AREA_MUL:
    case SQ_AREA_MUL_STAR:
        return 1;
    case SQ_AREA_DOT:
    case SQ_AREA_MAC_LOW:
        return c->low_lanes;
    case SQ_AREA_MAC_HIGH:
        return c->high_lanes;
    case SQ_AREA_PE:
        return pe;
    case SQ_AREA_CORE:
        return pe * c->cols; // one row of tokens shares the weights of its column
    default:
        return c->bank;
    }
}
