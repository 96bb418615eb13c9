// SPDX-License-Identifier: Apache-2.0
// The demand of a recipe, and what else machines read, through the table of the format (sq_cost.h, sq_demand.h).
#include "sim/format/sq_demand.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/block/core/sq_core_run.h"
#include "sim/block/flow/sq_unit_engine.h"
#include "sim/format/sq_format_ops.h"
#include "sim/synth/sq_area_block.h"

const char *sq_stream_name(enum sq_stream_id id)
{
    static const char *const names[SQ_N_STREAMS] = {"act",   "act_scale", "lo",  "hi",
                                                    "index", "scale",     "out", "partial"};
    return names[id];
}

enum sq_status sq_cost_check(const struct sq_recipe *r, struct sq_error *err)
{
    return r->format->cost->check(r, err);
}

bool sq_cost_is_core(const struct sq_recipe *r)
{
    return r->format->cost->is_core;
}

// ---- jobs -----------------------------------------------------------------------------------

unsigned sq_cost_engines(struct sq_cost_unit *u, const struct sq_core_config *has, unsigned a,
                         unsigned b)
{
    u->low_lanes = sq_cost_products(has, a, b);
    return has->rows * has->cols * u->low_lanes / u->multipliers;
}

static void take_cached(const struct sq_cached *cached, struct sq_demand *d)
{
    memset(d->of, 0, sizeof d->of);
    d->of[SQ_STREAM_LO].element = cached->nbits;
    d->is_joint = true;
    d->act_stays = cached->act_stays;
    d->out_stays = cached->out_stays;
}

void sq_demand_of(const struct sq_recipe *r, const struct sq_core_config *has, uint64_t m,
                  uint64_t k, unsigned burst_nbytes, struct sq_demand *d)
{
    const struct sq_format_cost *const cost = r->format->cost;
    struct sq_cost_unit *const u = &d->cost;
    memset(d, 0, sizeof *d); // with the padding: units are compared by their bytes
    d->format = r->format->name;
    d->m = m;
    d->k = k;
    d->burst_nbytes = burst_nbytes;
    d->is_core = cost->is_core;
    d->banks = sq_recipe_banks(r);
    d->act_bits = sq_recipe_act_bits(r);
    d->group = r->group;
    d->bank = r->bank;
    d->act_nbits = sq_cost_act_nbits(r);
    d->n_act_scales = d->channels = 1;
    d->own = cost->own ? r->rows : NULL;
    u->unit.kind = SQ_UNIT_ARRAY;
    u->unit.stages = SQ_ARRAY_STAGES_PLAIN;
    u->unit.output.form = SQ_COMBINE_ONE;
    u->unit.output.pairs = 1;
    u->stored = k;
    u->flush = r->group;
    u->span_beats = u->abreast = 1;
    u->low = u->weight_share = 1;
    u->rows = u->weight_rows = has->rows;
    u->lines = has->cols;
    cost->demand(r, has, d);
    if (u->unit.engine) {
        u->is_of_tokens = u->unit.engine->is_of_tokens;
        u->least = u->unit.engine->least;
    }
    if (u->step == 0)
        u->step = u->flush ? u->flush : SQ_BANK_MAX;
    if (r->cached)
        take_cached(r->cached, d);
}

enum sq_status sq_cost_own_new(struct sq_own *own, size_t n, size_t n_pieces, unsigned piece,
                               struct sq_error *err)
{
    *own = (struct sq_own){n, n_pieces, piece, calloc(n * (n_pieces + 1), sizeof *own->before)};
    return SQ_HAVE(own->before, err, "%zu rows of %zu pieces", n, n_pieces);
}

double sq_cost_own_sum(struct sq_own *own)
{
    double sum = 0;
    for (size_t row = 0; row < own->n; row++) {
        uint32_t *before = own->before + row * (own->n_pieces + 1);
        for (size_t p = 0; p < own->n_pieces; p++)
            before[p + 1] += before[p];
        sum += before[own->n_pieces];
    }
    return sum;
}

const char *sq_cost_law(const struct sq_recipe *r)
{
    return r->format->cost->law;
}

double sq_cost_act_nbits(const struct sq_recipe *r)
{
    if (r->operand == SQ_OPERAND_WEIGHTS)
        return 32; // they stay as they are
    return r->format->cost->act_nbits ? r->format->cost->act_nbits(r) : sq_recipe_act_bits(r);
}

uint64_t sq_cost_weight_nbytes(const uint64_t nbytes[SQ_N_STREAMS])
{
    return nbytes[SQ_STREAM_LO] + nbytes[SQ_STREAM_HI] + nbytes[SQ_STREAM_INDEX] +
           nbytes[SQ_STREAM_SCALE];
}

// ---- for the formats ------------------------------------------------------------------------

unsigned sq_cost_products(const struct sq_core_config *has, unsigned a, unsigned b)
{
    const unsigned cells =
        (has->low_lanes * has->low_bits + has->high_lanes * has->high_bits) * has->act_bits;
    return cells / (a * b) > 0 ? cells / (a * b) : 1;
}

void sq_cost_pieces(struct sq_cost_unit *u, unsigned size, double per_cycle)
{
    const double pieces = floor(per_cycle / size + 1e-9);
    u->span = pieces >= 1 ? (unsigned)pieces * size : size;
    u->span_beats = pieces >= 1 ? 1 : (unsigned)ceil(size / per_cycle - 1e-9);
}

void sq_cost_banks(struct sq_cost_unit *u, const struct sq_format *f)
{
    struct sq_core_config *core = &u->unit.core;
    core->bank = f->bank;
    core->high_per_bank = f->high_per_bank;
    core->low_lanes = u->low_lanes;
    (void)sq_core_join_banks(core, f->group);
    core->high_lanes = u->high_lanes < core->bank ? u->high_lanes : core->bank;
    u->span = core->bank;
    u->high = (double)f->high_per_bank / f->bank;
}

void sq_cost_pe_add(struct sq_cost_pe *pe, unsigned count, const struct sq_synth_block *part)
{
    pe->part[pe->n_parts] = *part;
    pe->count[pe->n_parts++] = count;
}

void sq_cost_pe_dense(struct sq_cost_pe *pe, unsigned lanes, unsigned a, unsigned b)
{
    const struct sq_synth_block dense = {
        .top = "sq_pe_dense", .n_params = 3, .param = {{"Lanes", lanes}, {"AW", a}, {"BW", b}}};
    if (a <= 8 && b <= 8)
        sq_cost_pe_add(pe, 1, &dense);
}

void sq_cost_pe_fp_mac(struct sq_cost_pe *pe, unsigned lanes, bool is_half)
{
    const struct sq_synth_block lane = {
        .top = "sq_fp_mac", .n_params = 2, .param = {{"Lanes", 1}, {"IsHalf", is_half}}};
    sq_cost_pe_add(pe, lanes, &lane);
}

void sq_cost_pe_core(struct sq_cost_pe *pe, const struct sq_core_config *core)
{
    const struct sq_area_item item = {.kind = SQ_AREA_PE, .config = *core};
    const struct sq_synth_block block = sq_area_synth(&item);
    sq_cost_pe_add(pe, 1, &block);
}

enum sq_status sq_cost_check_act(const struct sq_recipe *r, bool has_16, struct sq_error *err)
{
    const unsigned bits = sq_recipe_act_bits(r);
    SQ_FAIL_IF(bits != 4 && bits != 8 && !(has_16 && bits == 16), err, SQ_ERR_RANGE,
               "act-bits = %u, need 4%s for %s", bits, has_16 ? ", 8 or 16" : " or 8",
               r->format->name);
    return SQ_OK;
}
