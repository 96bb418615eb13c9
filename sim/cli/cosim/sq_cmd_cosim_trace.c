// SPDX-License-Identifier: Apache-2.0
// sqsim cosim TRACE...: what CUDA kernels left, through golden model, cycle model and RTL.
#include <string.h>

#include "sim/cli/cosim/sq_cmd_cosim.h"
#include "sim/format/file/sq_trace.h"
#include "sim/format/sq_format_ops.h"

struct totals {
    struct sq_cosim_total sum; // cases: runs of a block
    size_t n_traces;
    bool is_real; // every trace of real data
    struct sq_cli_table table;
};

static void name_of(const struct sq_trace *r, char name[17])
{
    const char *slash = strrchr(r->p.source, '/'), *file = slash ? slash + 1 : r->p.source;
    snprintf(name, 17, "%.*s", (int)strcspn(file, "."), file);
}

// A line for the golden model, which compares all values of the file, or for a block.
static void print_line(struct totals *t, const struct sq_trace *r,
                       const struct sq_route_outcome *out)
{
    char name[17];
    name_of(r, name);
    const struct sq_cli_column first[] = {
        SQ_COLUMN(NULL, name, "trace", -16),
        SQ_KEYS("trace", sq_path_tail(r->p.source), "system", r->system_name),
        SQ_COLUMN("producer", r->producer, "by", -8),
        SQ_KEYS("m", r->p.m, "n", r->p.n, "k", r->p.k), SQ_COLUMNS_END};
    sq_cosim_put_route(&t->table, first, 12, 34, out);
}

static void print_difference(const struct sq_cosim_args *in, const struct sq_trace *r,
                             const struct sq_route_outcome *out)
{
    char name[17], label[64];
    if (in->is_json)
        return;
    name_of(r, name);
    snprintf(label, sizeof label, "%s-%s-tile%u", name, out->block, out->failing_tile);
    sq_cosim_print_route(in, name, label, out);
}

// Its blocks, or the chip.
static enum sq_status run_blocks(const struct sq_cosim_args *in, struct sq_trace *r,
                                 struct totals *t, struct sq_error *err)
{
    const bool is_chip = sq_cosim_is_chip(in);
    struct sq_core_config core = in->core.config;
    if (!is_chip)
        sq_core_get(in->points[0].value, &core);
    const struct sq_route_options options = sq_cosim_route_options(in, &core);
    const struct sq_format_routes *routes = r->format->routes;
    for (size_t i = 0; i < (is_chip ? 1 : routes->n_routes); i++) {
        const struct sq_route *const route = is_chip ? routes->chip : &routes->route[i];
        struct sq_route_outcome out;
        if (route->takes && !route->takes(&r->p) && is_chip)
            return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: %s: the chip does not run such a trace",
                           sq_path_tail(r->p.source), r->format->name);
        if (route->takes && !route->takes(&r->p))
            continue;
        const enum sq_status status = sq_route_cosim(route, &r->p, &options, &out, err);
        if (status == SQ_OK) {
            print_line(t, r, &out);
            print_difference(in, r, &out);
        }
        sq_cosim_add_route(&t->sum, &out);
        sq_route_outcome_free(&out);
        SQ_TRY(status);
    }
    return SQ_OK;
}

// The golden model over all values, then the blocks. A value that the golden model does not give is
// a mismatch; the blocks are then not asked.
static enum sq_status run_trace(const struct sq_cosim_args *in, struct sq_trace *r,
                                struct totals *t, struct sq_error *err)
{
    const char *source = sq_safetensors_metadata(&r->st, "source");
    struct sq_route_outcome golden = {.block = "golden"};
    const enum sq_status status = sq_trace_values(r, err);
    snprintf(golden.shape, sizeof golden.shape, "%s %zux%zux%zu", r->system_name, r->p.m, r->p.n,
             r->p.k);
    t->n_traces++;
    t->is_real = t->is_real && source && strcmp(source, "real") == 0;
    if (status != SQ_OK && !r->is_different)
        return status;
    golden.values = r->n_values;
    golden.value_mismatches = r->is_different;
    t->sum.value_mismatches += r->is_different;
    if (r->is_different)
        snprintf(golden.difference, sizeof golden.difference, "%.159s", err->text);
    print_line(t, r, &golden);
    if (r->is_different && !in->is_json)
        printf("MISMATCH %s\n", err->text);
    return r->is_different ? SQ_OK : run_blocks(in, r, t, err);
}

int sq_cosim_traces(const struct sq_cosim_args *in)
{
    struct totals t = {.is_real = true, .table.is_json = in->is_json};
    struct sq_error err;
    for (size_t i = 0; i < in->n_files; i++) {
        struct sq_trace r;
        if (sq_trace_open(&r, in->file[i], &err) != SQ_OK)
            return sq_cli_fail("cosim", &err);
        enum sq_status status = sq_cosim_is_chip(in) ? sq_trace_put_output(&r, &err) : SQ_OK;
        SQ_THEN(status, run_trace(in, &r, &t, &err));
        sq_trace_close(&r);
        if (status != SQ_OK)
            return sq_cli_fail("cosim", &err);
    }
    return sq_cosim_summary(in, "traces", t.n_traces, &t.sum, t.is_real ? "real" : "synthetic");
}
