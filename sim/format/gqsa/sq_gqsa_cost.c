// SPDX-License-Identifier: Apache-2.0
// GQSA on a machine: the unit, the groups that its channels keep, bytes (sq_cost.h).
#include "sim/format/gqsa/sq_gqsa_cost.h"
#include "sim/block/gqsa/sq_gqsa_walk_sim.h"

#include "sim/format/sq_format_ops.h"

enum sq_status sq_gqsa_check_cost(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_gqsa_recipe *o = sq_gqsa_recipe(r);
    SQ_TRY(sq_cost_check_act(r, true, err));
    if (r->group < 4 || r->group > 128)
        return SQ_FAIL(err, SQ_ERR_RANGE, "group = %u, need 4..128 for gqsa", r->group);
    if (!(o->sparsity >= 0 && o->sparsity < 1))
        return SQ_FAIL(err, SQ_ERR_RANGE, "sparsity = %g, need 0 <= sparsity < 1 for gqsa",
                       o->sparsity);
    return SQ_OK;
}

// As many tokens as the array has rows, if that leaves multipliers for one engine.
// F.6: 4 bits, and per kept group 16 of index, 16 + 4 of scale and zero; row_index, 32 a row. An engine
// steps through the kept groups.
void sq_gqsa_demand(const struct sq_recipe *r, const struct sq_core_config *has,
                    struct sq_demand *d)
{
    struct sq_cost_unit *const u = &d->cost;
    u->multipliers = r->group;
    const unsigned groups = sq_cost_engines(u, has, 4, sq_recipe_act_bits(r)); // in a cycle
    u->unit.kind = SQ_UNIT_ENGINES;
    u->unit.engine = &sq_engine_gqsa_unit;
    u->rows = u->weight_rows = groups < has->rows ? groups : has->rows;
    u->engines = u->rows ? groups / u->rows : 0;
    u->multipliers *= u->rows ? u->rows : 1;
    u->abreast = u->engines;
    u->lines = u->reads = 1;
    u->load = u->step = r->group;
    u->depth = r->group << 16; // an index has 16 bits (F.4)
    u->flush = 0;
    u->unit.output.lanes = u->rows;
    const struct sq_gqsa_recipe *o = sq_gqsa_recipe(r);
    const double kept = 1 - o->sparsity;
    d->of[SQ_STREAM_LO].element = 4 * kept;
    d->of[SQ_STREAM_INDEX] = (struct sq_demand_bytes){.element = 16 * kept / r->group, .end = 4};
    d->of[SQ_STREAM_SCALE].element = 20 * kept / r->group;
    d->work = (struct sq_demand_work){.piece = r->group,
                                      .times = 1,
                                      .p = kept,
                                      .is_even = !o->is_slice_k,
                                      .is_fixed = o->is_row_balanced,
                                      .is_share = true,
                                      .full = 1};
}

double sq_gqsa_equivalent_bits(const struct sq_recipe *r)
{
    return (1 - sq_gqsa_recipe(r)->sparsity) * (4 + 16. / r->group);
}
