// SPDX-License-Identifier: Apache-2.0
// sqsim cosim TRACE...: what CUDA kernels left, through golden model, cycle model and RTL.
#include <string.h>

#include "sim/cli/sq_cmd_cosim.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_trace.h"

struct totals {
    struct sq_cosim_total sum; // cases: runs of a block
    size_t n_traces;
    bool is_real; // every trace of real data
};

static void print_head(const struct sq_cosim_args *in)
{
    if (!in->is_json)
        printf("%-16s %-8s %-12s %-34s %9s %10s %8s %5s %5s\n", "trace", "by", "block", "shape",
               "values", "handshakes", "cycles", "value", "cycle");
}

static json_t *trace_json(const struct sq_trace *r)
{
    json_t *o = json_object();
    json_object_set_new(o, "trace", sq_cli_json_text(sq_path_tail(r->p.source)));
    json_object_set_new(o, "system", sq_cli_json_text(r->system_name));
    json_object_set_new(o, "producer", sq_cli_json_text(r->producer));
    json_object_set_new(o, "m", json_integer((json_int_t)r->p.m));
    json_object_set_new(o, "n", json_integer((json_int_t)r->p.n));
    json_object_set_new(o, "k", json_integer((json_int_t)r->p.k));
    return o;
}

static void name_of(const struct sq_trace *r, char name[17])
{
    const char *slash = strrchr(r->p.source, '/'), *file = slash ? slash + 1 : r->p.source;
    snprintf(name, 17, "%.*s", (int)strcspn(file, "."), file);
}

// A line for the golden model, which compares all values of the file, or for a block.
static void print_line(const struct sq_cosim_args *in, const struct sq_trace *r,
                       const struct sq_route_outcome *out)
{
    char name[17];
    if (!in->is_json) {
        name_of(r, name);
        printf("%-16s %-8s %-12s %-34s %9llu %9llu %8llu %5llu %5llu\n", name, r->producer,
               out->block, out->shape, (unsigned long long)out->values,
               (unsigned long long)out->compared.beats, (unsigned long long)out->cycles,
               (unsigned long long)out->value_mismatches,
               (unsigned long long)out->cycle_mismatches);
        fflush(stdout);
        return;
    }
    json_t *o = trace_json(r);
    sq_cosim_route_json(o, out);
    sq_cli_json_line(o);
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

static enum sq_status run_blocks(const struct sq_cosim_args *in, struct sq_trace *r,
                                 struct totals *t, struct sq_error *err)
{
    struct sq_core_config core;
    sq_core_get(in->points[0].value, &core);
    const struct sq_route_options options = sq_cosim_route_options(in, &core);
    const struct sq_format_routes *routes = r->format->routes;
    for (size_t i = 0; i < routes->n_routes; i++) {
        struct sq_route_outcome out;
        if (routes->route[i].takes && !routes->route[i].takes(&r->p))
            continue;
        const enum sq_status status = sq_route_cosim(&routes->route[i], &r->p, &options, &out, err);
        if (status == SQ_OK) {
            print_line(in, r, &out);
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
    print_line(in, r, &golden);
    if (r->is_different && !in->is_json)
        printf("MISMATCH %s\n", err->text);
    return r->is_different ? SQ_OK : run_blocks(in, r, t, err);
}

int sq_cosim_traces(const struct sq_cosim_args *in)
{
    struct totals t = {.is_real = true};
    struct sq_error err;
    print_head(in);
    for (size_t i = 0; i < in->n_files; i++) {
        struct sq_trace r;
        if (sq_trace_open(&r, in->file[i], &err) != SQ_OK)
            return sq_cli_fail("cosim", &err);
        const enum sq_status status = run_trace(in, &r, &t, &err);
        sq_trace_close(&r);
        if (status != SQ_OK)
            return sq_cli_fail("cosim", &err);
    }
    return sq_cosim_summary(in, "traces", t.n_traces, &t.sum, t.is_real ? "real" : "synthetic");
}
