// SPDX-License-Identifier: Apache-2.0
// sqsim workload: the linear layers of a model as a table of GEMMs, from its config.json.
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/cli/sq_cli.h"
#include "sim/machine/sq_workload.h"

enum {
    KEY_PHASE = 0x3000,
    KEY_BATCH,
    KEY_SEQ,
    KEY_ROUTING,
    KEY_JSON,
};

struct arguments {
    struct sq_workload_options options;
    bool seq_given, is_json;
    const char *config, *output;
    struct sq_error *err;
};

static const char *const phases[] = {"prefill", "decode"};
static const char *const routings[] = {"balanced", "skewed"};

static const struct argp_option options[] = {
    {"phase", KEY_PHASE, "P", 0,
     "prefill: batch x seq tokens; decode: one token a sequence (prefill)", 0},
    {"batch", KEY_BATCH, "N", 0, "sequences, 1..16777216 (1)", 0},
    {"seq", KEY_SEQ, "N", 0, "tokens of a sequence in prefill, 1..16777216 (2048)", 0},
    {"routing", KEY_ROUTING, "R", 0,
     "tokens of experts: balanced, or skewed (expert r proportional to 1/(r+1)) (balanced)", 0},
    {"output", 'o', "FILE", 0, "write the table here (standard output)", 3},
    {"json", KEY_JSON, NULL, 0, "one JSON object per row, the summary last, in place of the table",
     3},
    {0}};

static const char doc[] =
    "Lists the linear layers of a decoder by its Hugging Face config.json (or the directory that "
    "holds it) as Layer,M,N,K,Count: the form that `sqsim run --workload` and, but for Count, "
    "SCALE-Sim read.\v"
    "Examples:\n"
    "  sqsim workload traces/workloads/llama-3-70b.json -o llama-3-70b_prefill_2048.csv\n"
    "  sqsim workload ~/models/my-llama --phase decode --batch 8\n"
    "  sqsim workload traces/workloads/qwen3-30b-a3b.json --seq 128 --routing skewed\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *in = state->input;
    struct sq_workload_options *o = &in->options;
    enum sq_status status = SQ_OK;
    size_t index;
    switch (key) {
    case KEY_PHASE:
        status = sq_cli_name("--phase", arg, phases, 2, &index, in->err);
        o->is_decode = status == SQ_OK && index == 1;
        break;
    case KEY_BATCH:
        status = sq_cli_uint("--batch", arg, 1, SQ_GEMM_MAX, &o->batch, in->err);
        break;
    case KEY_SEQ:
        status = sq_cli_uint("--seq", arg, 1, SQ_GEMM_MAX, &o->seq, in->err);
        in->seq_given = true;
        break;
    case KEY_ROUTING:
        status = sq_cli_name("--routing", arg, routings, 2, &index, in->err);
        if (status == SQ_OK)
            o->routing = (enum sq_routing)index;
        break;
    case 'o':
        in->output = arg;
        break;
    case KEY_JSON:
        in->is_json = true;
        break;
    case ARGP_KEY_ARG:
        if (in->config)
            return ARGP_ERR_UNKNOWN;
        in->config = arg;
        break;
    case ARGP_KEY_END:
        if (!in->config)
            status = SQ_FAIL(in->err, SQ_ERR_ARG, "no config.json given, need one");
        else if (in->seq_given && o->is_decode)
            status = SQ_FAIL(in->err, SQ_ERR_ARG,
                             "--seq with --phase decode: a sequence has one "
                             "token there");
        else if (in->is_json && in->output)
            status = SQ_FAIL(in->err, SQ_ERR_ARG, "--json and --output given, need one of them");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return status == SQ_OK ? 0 : EINVAL;
}

static void print_json(const struct sq_workload *w, const struct arguments *in)
{
    double macs = 0, params = 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct sq_workload_row *r = &w->row[i];
        const double weights = (double)r->gemm.n * (double)r->gemm.k * (double)r->count;
        json_t *o = json_object();
        json_object_set_new(o, "layer", sq_cli_json_text(r->name));
        json_object_set_new(o, "m", json_integer((json_int_t)r->gemm.m));
        json_object_set_new(o, "n", json_integer((json_int_t)r->gemm.n));
        json_object_set_new(o, "k", json_integer((json_int_t)r->gemm.k));
        json_object_set_new(o, "count", json_integer((json_int_t)r->count));
        sq_cli_json_line(o);
        params += weights;
        macs += weights * (double)r->gemm.m;
    }
    json_t *o = json_object();
    json_object_set_new(o, "summary", json_true());
    json_object_set_new(o, "phase", json_string(phases[in->options.is_decode]));
    json_object_set_new(o, "rows", json_integer((json_int_t)w->n));
    json_object_set_new(o, "parameters_used", json_real(params));
    json_object_set_new(o, "macs", json_real(macs));
    json_object_set_new(o, "provenance", sq_cli_provenance("shapes", "config.json", 0));
    sq_cli_json_line(o);
}

static enum sq_status write_table(const struct sq_workload *w, const char *path,
                                  struct sq_error *err)
{
    struct sq_outfile out;
    if (!path) {
        sq_workload_write(w, stdout);
        return SQ_OK;
    }
    SQ_TRY(sq_outfile_open(&out, path, err));
    sq_workload_write(w, out.stream);
    return sq_outfile_commit(&out, err);
}

int sq_cmd_workload(int argc, char **argv)
{
    struct sq_error err;
    struct arguments in = {.options = {.batch = 1, .seq = 2048}, .err = &err};
    const struct argp argp = {options, parse, "CONFIG", doc, NULL, NULL, NULL};
    struct sq_workload w;
    struct stat st;
    char inside[4200];
    if (sq_cli_parse(&argp, argc, argv, &in, &err) != SQ_OK)
        return sq_cli_fail("workload", &err);
    if (stat(in.config, &st) == 0 && S_ISDIR(st.st_mode)) {
        snprintf(inside, sizeof inside, "%.4096s/config.json", in.config);
        in.config = inside;
    }
    enum sq_status status = sq_workload_from_config(in.config, &in.options, &w, &err);
    if (status != SQ_OK)
        return sq_cli_fail("workload", &err);
    if (in.is_json)
        print_json(&w, &in);
    else
        status = write_table(&w, in.output, &err);
    sq_workload_free(&w);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("workload", &err);
}
