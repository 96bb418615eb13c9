// SPDX-License-Identifier: Apache-2.0
// GQSA on a machine: the unit, tiles of columns by the groups that they keep, bytes (sq_cost.h).
#include "sim/format/gqsa/sq_gqsa_cost.h"

#include "sim/block/sq_block.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_work_split.h"

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

// A walker in each column for each group that a beat holds.
void sq_gqsa_unit(const struct sq_recipe *r, const struct sq_core_config *has, uint64_t m,
                  uint64_t k, struct sq_cost_unit *u)
{
    (void)m, (void)k;
    u->low_lanes = sq_cost_products(has, 4, sq_recipe_act_bits(r));
    u->low = 1;
    u->unit.lead = sq_block_lead(&sq_gqsa_walk_block, NULL);
    u->flush = 0;
    u->step = r->group;
    sq_cost_pieces(u, r->group, u->low_lanes);
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void sq_gqsa_tile(const struct sq_recipe *r, const struct sq_cost_unit *u, const uint32_t *nnz,
                  struct sq_tile_work *tile, double *mean)
{
    const uint64_t at_once = u->span / r->group;
    struct sq_work_split split;
    (void)sq_work_split(sq_gqsa_recipe(r)->is_slice_k ? SQ_SLICE_K : SQ_STREAM_K, nnz, u->lines,
                        u->lines, 1, &split, NULL, NULL);
    // Sums that columns share are added one after the other.
    const uint64_t shared = split.shared_rows > 0 ? split.max_partials : 0;
    const uint64_t steps = max_u64(1, (split.makespan + at_once - 1) / at_once);
    const uint64_t least = max_u64(1, (split.ideal + at_once - 1) / at_once);
    tile->beats = (uint32_t)(steps * u->span_beats + shared);
    tile->idle = (uint32_t)((steps - least) * u->span_beats + shared);
    *mean = (double)split.total / u->lines;
}

void sq_gqsa_own_tile(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t elements,
                      const uint32_t *count, struct sq_tile_work *tile, double *kept)
{
    sq_gqsa_tile(r, u, count, tile, kept);
    *kept = *kept / (double)((elements + r->group - 1) / r->group);
}

// Columns of a tile, and the groups that each keeps: drawn, or all the mean.
void sq_gqsa_draw(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t m,
                  uint64_t elements, struct sq_rng *rng, struct sq_tile_work *tile, double *kept)
{
    const struct sq_gqsa_recipe *o = sq_gqsa_recipe(r);
    const uint64_t groups = (elements + r->group - 1) / r->group;
    uint32_t nnz[SQ_LINES_MAX];
    (void)m;
    if (!rng) { // as many in every column
        const uint64_t mean = sq_cost_binomial(NULL, groups, 1 - o->sparsity);
        const uint64_t at_once = u->span / r->group, steps = (mean + at_once - 1) / at_once;
        *tile = (struct sq_tile_work){(uint32_t)max_u64(1, steps) * u->span_beats, 0};
        *kept = 1 - o->sparsity;
        return;
    }
    for (unsigned c = 0; c < u->lines; c++)
        nnz[c] = o->is_row_balanced ? sq_cost_binomial(NULL, groups, 1 - o->sparsity)
                                    : sq_cost_binomial(rng, groups, 1 - o->sparsity);
    sq_gqsa_own_tile(r, u, elements, nnz, tile, kept);
}

// F.6: 4 bits, and per kept group 16 of index, 16 + 4 of scale and zero; row_index, 32 a row.
void sq_gqsa_weight_nbytes(const struct sq_recipe *r, uint64_t n, uint64_t m_all,
                           const struct sq_stretch *t, uint64_t nbytes[SQ_N_STREAMS])
{
    const double kept = (1 - sq_gqsa_recipe(r)->sparsity) * (double)t->elements;
    (void)m_all;
    nbytes[SQ_STREAM_LO] = n * sq_cost_bytes(4 * kept);
    nbytes[SQ_STREAM_INDEX] = n * (sq_cost_bytes(16 * kept / r->group) + (t->at_end ? 4 : 0));
    nbytes[SQ_STREAM_SCALE] = n * sq_cost_bytes(20 * kept / r->group);
}

double sq_gqsa_equivalent_bits(const struct sq_recipe *r)
{
    return (1 - sq_gqsa_recipe(r)->sparsity) * (4 + 16. / r->group);
}
