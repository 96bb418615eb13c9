// SPDX-License-Identifier: Apache-2.0
// sqsim cosim TRACE...: what CUDA kernels left, through golden model, cycle model and RTL.
#include <string.h>

#include "sim/cli/sq_cmd_cosim.h"
#include "sim/cosim/sq_replay_cosim.h"

struct totals {
    struct sq_cosim_total sum; // cases: runs of a block
    size_t n_traces;
    bool is_real; // every trace of real data
};

static void print_head(const struct sq_cosim_args *in)
{
    if (!in->is_json)
        printf("%-16s %-8s %-12s %-34s %9s %9s %8s %5s %5s\n", "trace", "by", "block", "shape",
               "values", "beats", "cycles", "value", "cycle");
}

static json_t *trace_json(const struct sq_replay *r)
{
    json_t *o = json_object();
    json_object_set_new(o, "trace", sq_cli_json_text(sq_path_tail(r->path)));
    json_object_set_new(o, "system", sq_cli_json_text(r->system_name));
    json_object_set_new(o, "producer", sq_cli_json_text(r->producer));
    json_object_set_new(o, "m", json_integer((json_int_t)r->m));
    json_object_set_new(o, "n", json_integer((json_int_t)r->n));
    json_object_set_new(o, "k", json_integer((json_int_t)r->k));
    return o;
}

static void name_of(const struct sq_replay *r, char name[17])
{
    const char *slash = strrchr(r->path, '/'), *file = slash ? slash + 1 : r->path;
    snprintf(name, 17, "%.*s", (int)strcspn(file, "."), file);
}

// A line for the golden model, which compares all values of the file, or for a block.
static void print_line(const struct sq_cosim_args *in, const struct sq_replay *r, const char *block,
                       const char *shape, uint64_t values, const struct sq_replay_outcome *out)
{
    const bool has_parameters = out->stream.block && !out->stream.block->get_core;
    char name[17];
    if (!in->is_json) {
        name_of(r, name);
        printf("%-16s %-8s %-12s %-34s %9llu %9llu %8llu %5llu %5llu\n", name, r->producer, block,
               shape, (unsigned long long)values, (unsigned long long)out->beats,
               (unsigned long long)out->cycles, (unsigned long long)out->value_mismatches,
               (unsigned long long)out->cycle_mismatches);
        fflush(stdout);
        return;
    }
    json_t *o = trace_json(r);
    json_object_set_new(o, "block", json_string(block));
    json_object_set_new(o, "shape", json_string(shape));
    for (size_t i = 0; has_parameters && out->stream.block->param[i]; i++)
        json_object_set_new(o, out->stream.block->param[i], json_integer(out->point.value[i]));
    json_object_set_new(o, "values", json_integer((json_int_t)values));
    json_object_set_new(o, "beats", json_integer((json_int_t)out->beats));
    json_object_set_new(o, "cycles", json_integer((json_int_t)out->cycles));
    json_object_set_new(o, "value_mismatches", json_integer((json_int_t)out->value_mismatches));
    json_object_set_new(o, "cycle_mismatches", json_integer((json_int_t)out->cycle_mismatches));
    if (*out->difference)
        json_object_set_new(o, "difference", sq_cli_json_text(out->difference));
    sq_cli_json_line(o);
}

static void print_difference(const struct sq_cosim_args *in, const struct sq_replay *r,
                             const struct sq_replay_outcome *out)
{
    char name[17], label[64];
    if (in->is_json)
        return;
    name_of(r, name);
    if (*out->difference)
        printf("MISMATCH %s, %s: %s\n", name, out->block, out->difference);
    if (out->result.mismatch.kind == SQ_MISMATCH_NONE)
        return;
    snprintf(label, sizeof label, "%s-%s-tile%u", name, out->block, out->failing_tile);
    sq_cosim_print_failure(in, label, &out->stream, &out->result);
}

static enum sq_status run_blocks(const struct sq_cosim_args *in, struct sq_replay *r,
                                 struct totals *t, struct sq_error *err)
{
    // Without --rows and the like, arrays that build in seconds.
    struct sq_core_config core;
    sq_core_get(in->points[0].value, &core);
    const struct sq_replay_options options = {.config = core,
                                              .array_rows = in->core.given ? core.rows : 1,
                                              .array_cols = in->core.given ? core.cols : 2,
                                              .netlist = in->is_netlist,
                                              .seed = in->seed,
                                              .home = sq_cli_home()};
    for (size_t i = 0; i < sq_replay_n_blocks(r); i++) {
        struct sq_replay_outcome out;
        const enum sq_status status = sq_replay_cosim(r, i, &options, &out, err);
        if (status == SQ_OK) {
            print_line(in, r, out.block, out.shape, out.values, &out);
            print_difference(in, r, &out);
        }
        t->sum.cases++;
        t->sum.beats += out.beats;
        t->sum.value_mismatches += out.value_mismatches;
        t->sum.cycle_mismatches += out.cycle_mismatches;
        sq_replay_outcome_free(&out);
        SQ_TRY(status);
    }
    return SQ_OK;
}

// The golden model over all values, then the blocks. A value that the golden model does not give is
// a mismatch; the blocks are then not asked.
static enum sq_status run_trace(const struct sq_cosim_args *in, struct sq_replay *r,
                                struct totals *t, struct sq_error *err)
{
    const char *source = sq_safetensors_metadata(&r->st, "source");
    struct sq_replay_outcome golden = {.block = "golden"};
    char shape[64];
    const enum sq_status status = sq_replay_values(r, err);
    snprintf(shape, sizeof shape, "%s %zux%zux%zu", r->system_name, r->m, r->n, r->k);
    t->n_traces++;
    t->is_real = t->is_real && source && strcmp(source, "real") == 0;
    if (status != SQ_OK && !r->is_different)
        return status;
    golden.value_mismatches = r->is_different;
    t->sum.value_mismatches += r->is_different;
    if (r->is_different)
        snprintf(golden.difference, sizeof golden.difference, "%.159s", err->text);
    print_line(in, r, golden.block, shape, r->n_values, &golden);
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
        struct sq_replay r;
        if (sq_replay_open(&r, in->file[i], &err) != SQ_OK)
            return sq_cli_fail("cosim", &err);
        const enum sq_status status = run_trace(in, &r, &t, &err);
        sq_replay_close(&r);
        if (status != SQ_OK)
            return sq_cli_fail("cosim", &err);
    }
    return sq_cosim_summary(in, "traces", t.n_traces, &t.sum, t.is_real ? "real" : "synthetic");
}
