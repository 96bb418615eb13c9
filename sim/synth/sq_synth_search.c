// SPDX-License-Identifier: Apache-2.0
// Area at a clock period, or at the knee (sq_synth.h): the search among the recipes.
#include <math.h>

#include "sim/synth/sq_synth_run.h"

// The best so far: the smallest that meets, else the fastest; for the knee the least area times period.
struct search {
    const struct sq_synth *synth;
    double period_ns; // SQ_SYNTH_KNEE: of the knee
    bool has_any, meets;
    struct sq_synth_block block;
    struct sq_synth_result result;
};

static bool is_better(const struct search *f, const struct sq_synth_result *r, bool meets)
{
    if (!f->has_any || f->period_ns < 0)
        return !f->has_any || r->area * r->min_period_ns < f->result.area * f->result.min_period_ns;
    if (meets != f->meets)
        return meets;
    return meets ? r->area < f->result.area : r->min_period_ns < f->result.min_period_ns;
}

static enum sq_status try_one(struct search *f, struct sq_synth_block block,
                              enum sq_synth_recipe recipe, unsigned target_ps, double *ns,
                              struct sq_error *err)
{
    struct sq_synth_result r;
    block.recipe = recipe;
    block.target_ps = target_ps;
    SQ_TRY(sq_synth_area(f->synth, &block, &r, err));
    *ns = r.min_period_ns;
    const bool meets = *ns <= f->period_ns;
    if (!is_better(f, &r, meets)) {
        sq_synth_result_free(&r);
        return SQ_OK;
    }
    sq_synth_result_free(&f->result);
    f->has_any = true;
    f->meets = meets;
    f->block = block;
    f->result = r;
    return SQ_OK;
}

// ABC knows neither flip-flops nor input slews: its target is met when OpenSTA's path is too long,
// so the second target is less by the ratio of the two.
static enum sq_status try_sized(struct search *f, const struct sq_synth_block *block,
                                enum sq_synth_recipe recipe, struct sq_error *err)
{
    double ns, target = 1000 * f->period_ns;
    for (int attempt = 0; attempt < 2 && !f->meets; attempt++) {
        SQ_TRY(try_one(f, *block, recipe, (unsigned)fmax(1, rint(target)), &ns, err));
        target *= f->period_ns / ns;
    }
    return SQ_OK;
}

// Every recipe once; the sized ones for half the period of the fastest before them.
static enum sq_status try_all(struct search *f, const struct sq_synth_block *block,
                              struct sq_error *err)
{
    double ns, fastest = INFINITY;
    for (int r = SQ_SYNTH_AREA; r < SQ_SYNTH_N_RECIPES; r++) {
        const bool is_sized = r >= SQ_SYNTH_NF;
        SQ_TRY(try_one(f, *block, (enum sq_synth_recipe)r,
                       is_sized ? (unsigned)fmax(1, rint(500 * fastest)) : 0, &ns, err));
        if (!is_sized)
            fastest = fmin(fastest, ns);
    }
    return SQ_OK;
}

enum sq_status sq_synth_for(const struct sq_synth *s, struct sq_synth_block *block,
                            double period_ns, struct sq_synth_result *result, struct sq_error *err)
{
    struct search f = {.synth = s, .period_ns = period_ns};
    if (period_ns > 0)
        return sq_synth_at_period(s, block, period_ns, result, err);
    if (period_ns == SQ_SYNTH_SMALLEST || !s->sta_version[0])
        return sq_synth_area(s, block, result, err);
    const enum sq_status status = try_all(&f, block, err);
    if (status != SQ_OK)
        sq_synth_result_free(&f.result);
    *block = f.block;
    *result = f.result;
    return status;
}

enum sq_status sq_synth_at_period(const struct sq_synth *s, struct sq_synth_block *block,
                                  double period_ns, struct sq_synth_result *result,
                                  struct sq_error *err)
{
    struct search f = {.synth = s, .period_ns = period_ns};
    enum sq_status status = SQ_OK;
    double ns;
    *result = (struct sq_synth_result){0};
    block->period_ns = period_ns;
    if (!(period_ns >= SQ_SYNTH_MIN_PERIOD && period_ns <= SQ_SYNTH_MAX_PERIOD))
        return SQ_FAIL(err, SQ_ERR_RANGE, "period = %g ns, need %g..%g", period_ns,
                       SQ_SYNTH_MIN_PERIOD, SQ_SYNTH_MAX_PERIOD);
    if (!s->sta_version[0])
        return SQ_FAIL(err, SQ_ERR_TOOL, "sta does not run: a period needs OpenSTA");
    if (block->keeps_parts && !block->keeps_chip)
        return SQ_FAIL(err, SQ_ERR_ARG, "%.40s keeps its parts: no delays", block->top);
    for (int r = SQ_SYNTH_AREA; r < SQ_SYNTH_NF && status == SQ_OK; r++)
        status = try_one(&f, *block, (enum sq_synth_recipe)r, 0, &ns, err);
    for (int r = SQ_SYNTH_NF; r < SQ_SYNTH_N_RECIPES && status == SQ_OK && !f.meets; r++)
        status = try_sized(&f, block, (enum sq_synth_recipe)r, err);
    for (int r = SQ_SYNTH_NF; r < SQ_SYNTH_N_RECIPES && status == SQ_OK && !f.meets; r++) {
        status = try_one(&f, *block, (enum sq_synth_recipe)r, 1, &ns, err);
        if (status == SQ_OK && f.meets)
            status = try_one(&f, *block, (enum sq_synth_recipe)r,
                             (unsigned)fmax(1, rint(500 * period_ns)), &ns, err);
    }
    if (status != SQ_OK) {
        sq_synth_result_free(&f.result);
        return status;
    }
    *block = f.block;
    *result = f.result;
    return SQ_OK;
}
