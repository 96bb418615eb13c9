// SPDX-License-Identifier: Apache-2.0
// The points of a sweep: those of the grid that are legal and satisfy the constraints (sq_sweep.h).
#include <stddef.h>
#include <stdlib.h>

#include "sim/sweep/sq_sweep_grid.h"

// Narrower than what can be timed: the integers of sp24 are 8 bits.
static enum sq_status check_evaluated(const struct sq_sweep_grid *s, const struct sq_sweep_point *p,
                                      struct sq_error *err)
{
    return s->engines & (SQ_ENGINE_VALUES | SQ_ENGINE_EVAL) ? sq_recipe_check(&p->recipe, err)
                                                            : SQ_OK;
}

static enum sq_status check_point(const struct sq_sweep_grid *s, struct sq_sweep_point *p,
                                  struct sq_error *err)
{
    SQ_TRY(sq_sweep_point_settle(s, p, err));
    return check_evaluated(s, p, err);
}

enum sq_status sq_sweep_collect_points(struct sq_sweep_grid *s, struct sq_error *err)
{
    bool has_own_size = false; // of a model in a format whose weights decide it
    double total = 1;
    for (unsigned a = 0; a < SQ_N_AXES; a++)
        if (s->axis[a].n)
            total *= (double)s->axis[a].n;
    if (total > SQ_SWEEP_POINTS_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%.4g points, need 1..%u: fewer values or axes", total,
                       SQ_SWEEP_POINTS_MAX);
    s->point = malloc((size_t)total * sizeof *s->point);
    SQ_NEED(s->point, err, "%.0f points", total);
    s->last = s->point + (size_t)total - 1;
    for (uint32_t at = 0; at < (uint32_t)total; at++) {
        struct sq_sweep_point p;
        if (!sq_sweep_point_at(s, at, &p))
            continue;
        const enum sq_status status = check_point(s, &p, total == 1 ? err : NULL);
        const bool is_legal = status == SQ_OK;
        if (total == 1)
            SQ_TRY(status); // of one point the reason is known
        bool holds = true;
        for (size_t c = 0; is_legal && c < s->n_constraints; c++)
            holds = holds && (s->constraint[c].is_measured ||
                              sq_constraint_holds(&s->constraint[c], p.quantity));
        if (!is_legal)
            s->last[-(ptrdiff_t)s->n_illegal++] = at;
        s->n_excluded += is_legal && !holds;
        if (is_legal && holds) {
            s->point[s->n_points++] = at;
            has_own_size =
                has_own_size || (p.model && !p.workload && sq_recipe_sized_by(&p.recipe));
        }
    }
    if (s->n_points == 0)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "no point is left of %.0f: %zu have no legal format or core, %zu are "
                       "excluded by constraints",
                       total, s->n_illegal, s->n_excluded);
    if (!has_own_size)
        s->engines &= ~(unsigned)SQ_ENGINE_SIZE;
    return SQ_OK;
}
