// SPDX-License-Identifier: Apache-2.0
// Reads the list of faults that Yosys made, and runs each one until it shows (sq_mutant.h).
#include "sim/cosim/sq_mutant.h"

#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "sim/cosim/sq_campaign.h"

// ---- what Yosys left in the build directory -------------------------------------------------

// "Number of cells:  123" of stat.txt.
static enum sq_status read_cells(const char *dir, unsigned *n, struct sq_error *err)
{
    char path[SQ_RTL_PATH_NBYTES + 16], line[256];
    bool is_found = false;
    snprintf(path, sizeof path, "%s/stat.txt", dir);
    FILE *in = fopen(path, "r");
    if (!in)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot read the cells of the netlist: %s", strerror(errno));
    while (!is_found && fgets(line, sizeof line, in))
        is_found = sscanf(line, " Number of cells: %u", n) == 1;
    fclose(in);
    return is_found ? SQ_OK : SQ_FAIL(err, SQ_ERR_TOOL, "yosys printed no number of cells");
}

// A line of mutants.txt per fault. Yosys lists fewer than asked for where a netlist is too small.
static enum sq_status read_changes(const char *dir, struct sq_mutant *out, unsigned n,
                                   struct sq_error *err)
{
    char path[SQ_RTL_PATH_NBYTES + 16], line[1024];
    unsigned found = 0;
    snprintf(path, sizeof path, "%s/mutants.txt", dir);
    FILE *in = fopen(path, "r");
    if (!in)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot read the list of faults: %s", strerror(errno));
    for (; fgets(line, sizeof line, in); found++) {
        line[strcspn(line, "\n")] = '\0';
        if (found < n)
            snprintf(out[found].change, sizeof out[found].change, "%.511s",
                     strstr(line, "-mode") ? strstr(line, "-mode") : line);
    }
    fclose(in);
    if (found == n)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_RANGE, "--mutants = %u, the netlist has room for %u", n, found);
}

// ---- one fault ------------------------------------------------------------------------------

static enum sq_status run_case(const struct sq_mutant_campaign *c, uint64_t number,
                               const struct sq_rtl_api *rtl, struct sq_result *r,
                               struct sq_error *err)
{
    SQ_CLOSED(sq_case_free) struct sq_case s = {0};
    SQ_TRY(sq_case_draw(c->point.block, c->point.point, c->seed, number, &s, err));
    return sq_lockstep_run(&s, rtl, NULL, r, err);
}

// Cases 0, 1, ... until one differs; the fixed ones, which are long and go for the ends of ranges,
// after those drawn at random.
static enum sq_status run_mutant(const struct sq_mutant_campaign *c, uint32_t number,
                                 const struct sq_rtl_api *rtl, struct sq_mutant *m,
                                 struct sq_error *err)
{
    const uint64_t fixed = sq_case_n_fixed(c->point.block, c->point.point);
    rtl->select_mutant(number);
    while (m->cases < c->cases && m->found.kind == SQ_MISMATCH_NONE) {
        struct sq_result r;
        SQ_TRY(run_case(c, (fixed + m->cases) % c->cases, rtl, &r, err));
        m->cases++;
        m->cycles += r.compared.cycles;
        m->found = r.mismatch;
    }
    return SQ_OK;
}

// ---- all of them ----------------------------------------------------------------------------

static enum sq_status run_mutants(const struct sq_mutant_campaign *c, const struct sq_rtl_api *rtl,
                                  struct sq_mutant *out, struct sq_error *err)
{
    enum sq_status status = SQ_OK;
    uint64_t done = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)c->jobs)
    for (uint32_t i = 0; i < c->point.n_mutants; i++) {
        struct sq_error mine;
        const enum sq_status one = run_mutant(c, i + 1, rtl, &out[i], &mine);
#pragma omp critical(sq_mutant)
        {
            if (one != SQ_OK && status == SQ_OK) {
                status = one;
                if (err)
                    *err = mine;
            }
            done++;
            if (c->progress)
                c->progress(c->progress_context, done, c->point.n_mutants);
        }
    }
    return status;
}

enum sq_status sq_mutant_run(const struct sq_mutant_campaign *campaign, struct sq_mutant *out,
                             struct sq_mutant_outcome *outcome, struct sq_error *err)
{
    struct sq_mutant none = {.cases = 0};
    SQ_CLOSED(sq_rtl_unload) struct sq_rtl rtl = {0};
    bool built;
    memset(out, 0, campaign->point.n_mutants * sizeof *out);
    memset(outcome, 0, sizeof *outcome);
    SQ_TRY(sq_campaign_check_cases(campaign->point.block, campaign->point.point, 1, campaign->cases,
                                   err));
    SQ_TRY(sq_rtl_load(&rtl, &campaign->point, campaign->home, &built, err));
    snprintf(outcome->dir, sizeof outcome->dir, "%s", rtl.dir);
    enum sq_status status = read_cells(rtl.dir, &outcome->n_cells, err);
    SQ_THEN(status, read_changes(rtl.dir, out, campaign->point.n_mutants, err));
    SQ_THEN(status, run_mutant(campaign, 0, rtl.api, &none, err));
    outcome->is_sound = none.found.kind == SQ_MISMATCH_NONE;
    if (status == SQ_OK && outcome->is_sound)
        status = run_mutants(campaign, rtl.api, out, err);
    return status;
}
