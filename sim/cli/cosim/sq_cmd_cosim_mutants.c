// SPDX-License-Identifier: Apache-2.0
// sqsim cosim --mutants: faults in the netlist of one point, and which of them nobody noticed.
#include <stdlib.h>

#include "sim/cli/cosim/sq_cmd_cosim.h"
#include "sim/cosim/sq_mutant.h"

static void report_mutant(const struct sq_cosim_args *in, unsigned number,
                          const struct sq_mutant *m)
{
    const bool is_killed = m->found.kind != SQ_MISMATCH_NONE;
    if (!in->is_json && !is_killed)
        printf("SURVIVED %u: %s\n", number, m->change);
    if (!in->is_json)
        return;
    const struct sq_cli_column row[] = {
        SQ_KEYS("block", sq_cosim_block_name(in), "point", in->wanted[0], "mutant", number),
        SQ_KEYS("killed", is_killed, "by", sq_cosim_kind(m->found.kind)),
        SQ_KEYS("signal", is_killed ? m->found.what : "", "cases", m->cases),
        SQ_KEYS("cycles", m->cycles, "change", m->change), SQ_COLUMNS_END};
    sq_cli_json_line(sq_cli_object(row));
}

static int report(const struct sq_cosim_args *in, const struct sq_mutant *m,
                  const struct sq_mutant_outcome *outcome)
{
    unsigned n_killed = 0;
    for (unsigned i = 0; i < in->n_mutants && outcome->is_sound; i++) {
        n_killed += m[i].found.kind != SQ_MISMATCH_NONE;
        report_mutant(in, i + 1, &m[i]);
    }
    if (!in->is_json) {
        printf("%s: %s %s, %u cells, %u mutants, %u killed, %u survived, seed %llu; %s\n",
               outcome->is_sound ? "DONE" : "FAIL: differs without a mutant",
               sq_cosim_block_name(in), in->wanted[0], outcome->n_cells, in->n_mutants, n_killed,
               in->n_mutants - n_killed, (unsigned long long)in->seed, outcome->dir);
    } else {
        const struct sq_cli_column row[] = {
            SQ_KEYS("block", sq_cosim_block_name(in), "point", in->wanted[0]),
            SQ_KEYS("cells", outcome->n_cells, "sound", outcome->is_sound),
            SQ_KEYS("mutants", in->n_mutants, "killed", n_killed, "cases", in->cases),
            SQ_KEYS("seed", in->seed, "directory", outcome->dir), SQ_COLUMNS_END};
        sq_cli_put_summary(row,
                           sq_cli_provenance("synthetic", "measured (RTL simulation)", in->seed));
    }
    return outcome->is_sound ? SQ_EXIT_OK : SQ_EXIT_CHECK_FAILED;
}

int sq_cosim_mutants(const struct sq_cosim_args *in)
{
    struct sq_mutant_campaign campaign = {
        .point = {.block = in->block,
                  .point = &in->points[0],
                  .n_mutants = in->n_mutants,
                  .mutant_seed = (unsigned)(in->seed & 0x7fffffff)},
        .cases = in->cases,
        .seed = in->seed,
        .jobs = in->jobs,
        .home = sq_cli_home(),
        .progress = sq_cosim_progress};
    struct sq_mutant_outcome outcome;
    struct sq_error err;
    if (in->n_points != 1) {
        (void)SQ_FAIL(in->err, SQ_ERR_ARG, "--mutants with %zu points, need one", in->n_points);
        return sq_cli_fail("cosim", in->err);
    }
    SQ_FREED struct sq_mutant *m = calloc(in->n_mutants, sizeof *m);
    enum sq_status status = SQ_HAVE(m, &err, "%u mutants", in->n_mutants);
    SQ_THEN(status, sq_mutant_run(&campaign, m, &outcome, &err));
    const int exit_code = status == SQ_OK ? report(in, m, &outcome) : sq_cli_fail("cosim", &err);
    return exit_code;
}
