// SPDX-License-Identifier: Apache-2.0
// Runs the cases of all points on several threads and adds up what they counted (sq_campaign.h).
#include "sim/cosim/sq_campaign.h"

#include <omp.h>
#include <string.h>

#define BRIEF_BEATS UINT64_C(20000)

struct shared {
    const struct sq_campaign *campaign;
    uint64_t done, total;
    enum sq_status status; // the first failure stops all points
};

static bool step_done(struct shared *s, uint64_t n)
{
    bool go_on;
#pragma omp critical(sq_campaign)
    {
        s->done += n;
        if (n > 0 && s->campaign->progress)
            s->campaign->progress(s->campaign->progress_context, s->done, s->total);
        go_on = s->status == SQ_OK;
    }
    return go_on;
}

static void add_counts(struct sq_outcome *o, const struct sq_result *r)
{
    sq_compared_add(&o->compared, &r->compared);
    for (size_t f = 0; f < SQ_FIELDS_MAX; f++) {
        struct sq_reach *const reach = &o->reach[f];
        reach->low = r->reach[f].low < reach->low ? r->reach[f].low : reach->low;
        reach->high = r->reach[f].high > reach->high ? r->reach[f].high : reach->high;
    }
}

static enum sq_status run_case(const struct sq_campaign *campaign, const struct sq_point *point,
                               uint64_t number, const struct sq_rtl_api *rtl, struct sq_outcome *o,
                               struct sq_error *err)
{
    struct sq_case c;
    struct sq_result r;
    SQ_TRY(sq_case_draw(campaign->block, point, campaign->seed, number, &c, err));
    const enum sq_status status = sq_lockstep_run(&c, rtl, NULL, &r, err);
    const enum sq_mismatch_kind kind = r.mismatch.kind;
    o->cases++;
    add_counts(o, &r);
    o->value_mismatches += sq_mismatch_is_value(&r.mismatch);
    o->cycle_mismatches += kind != SQ_MISMATCH_NONE && !sq_mismatch_is_value(&r.mismatch);
    const bool first = kind != SQ_MISMATCH_NONE && o->result.mismatch.kind == SQ_MISMATCH_NONE;
    if (status != SQ_OK || !first) {
        sq_case_free(&c);
        return status;
    }
    o->failing_case = number;
    o->failing = c;
    o->result = r;
    return sq_shrink(&o->failing, rtl, &o->result, err);
}

// Whether the beats of `n` cases take less time than the compiler's passes. An environment has beats of its own.
static bool is_brief(const struct sq_campaign *c, const struct sq_point *point, uint64_t n)
{
    uint64_t beats = c->block->env ? BRIEF_BEATS : 0;
    for (uint64_t i = c->first; i < c->first + n && beats < BRIEF_BEATS; i++) {
        SQ_CLOSED(sq_case_free) struct sq_case drawn = {0};
        if (sq_case_draw(c->block, point, c->seed, i, &drawn, NULL) != SQ_OK)
            return false;
        for (size_t g = 0; g < drawn.n_groups; g++)
            for (size_t k = 0; k < SQ_STREAMS_MAX; k++)
                beats += drawn.len[g][k];
    }
    return beats < BRIEF_BEATS;
}

static enum sq_status run_point(struct shared *s, size_t i, struct sq_outcome *o,
                                struct sq_error *err)
{
    const struct sq_campaign *c = s->campaign;
    const uint64_t n_cases = c->cases / c->n_points + (i < c->cases % c->n_points);
    const struct sq_rtl_point point = {.block = c->block,
                                       .point = c->points[i],
                                       .netlist = c->netlist,
                                       .coverage = c->coverage != NULL,
                                       .is_brief = is_brief(c, c->points[i], n_cases)};
    const struct sq_ports ports = sq_ports_of(c->block, c->points[i]->value);
    SQ_CLOSED(sq_rtl_unload) struct sq_rtl rtl = {0};
    bool built;
    if (!step_done(s, 0))
        return SQ_OK;
    SQ_TRY(sq_rtl_load(&rtl, &point, c->home, &built, err));
    enum sq_status status = SQ_OK;
    bool go_on = step_done(s, 1);
    for (uint64_t n = c->first; n < c->first + n_cases && status == SQ_OK && go_on; n++) {
        status = run_case(c, c->points[i], n, rtl.api, o, err);
        o->is_exhausted = o->is_exhausted || (n == 0 && ports.n_all > 0);
        go_on = step_done(s, 1);
    }
    if (status == SQ_OK && c->coverage)
        status = sq_rtl_write_coverage(&rtl, &point, c->coverage, err);
    return status;
}

enum sq_status sq_campaign_check_cases(const struct sq_block *block, const struct sq_point *point,
                                       size_t n_points, uint64_t cases, struct sq_error *err)
{
    const uint64_t fixed = sq_case_n_fixed(block, point), each = cases / n_points;
    if (each > fixed)
        return SQ_OK;
    return SQ_FAIL(
        err, SQ_ERR_ARG,
        "cases = %llu on %zu points, need at least %llu: the first %llu of a point of %s "
        "are directed, and a campaign must draw some at random; --point takes fewer points",
        (unsigned long long)cases, n_points, (unsigned long long)((fixed + 1) * n_points),
        (unsigned long long)fixed, block->name);
}

enum sq_status sq_campaign_run(const struct sq_campaign *campaign, struct sq_outcome *out,
                               struct sq_error *err)
{
    struct shared s = {campaign, 0, campaign->cases + campaign->n_points, SQ_OK};
    memset(out, 0, campaign->n_points * sizeof *out);
    for (size_t i = 0; i < campaign->n_points && !campaign->is_one_case; i++)
        SQ_TRY(sq_campaign_check_cases(campaign->block, campaign->points[i], campaign->n_points,
                                       campaign->cases, err));
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)campaign->jobs)
    for (size_t i = 0; i < campaign->n_points; i++) {
        struct sq_error mine;
        const enum sq_status status = run_point(&s, i, &out[i], &mine);
#pragma omp critical(sq_campaign)
        if (status != SQ_OK && s.status == SQ_OK) {
            s.status = status;
            if (err)
                *err = mine;
        }
    }
    return s.status;
}
