// SPDX-License-Identifier: Apache-2.0
// sqsim workload: the linear layers of a model as a table of GEMMs, from its config.json.
#include <string.h>
#include <sys/stat.h>

#include "sim/cli/sq_cli_row.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/machine/sq_workload.h"

struct arguments {
    struct sq_workload_options options;
    bool seq_given, is_json;
    const char *config, *output;
};

static const char *const phases[] = {"prefill", "decode", NULL};
static const char *const routings[] = {"balanced", "skewed", NULL};

#define AT(field) SQ_CLI_AT(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_WORD("phase", "P", phases, AT(options.is_decode),
                "prefill: batch x seq tokens; decode: one token a sequence"),
    SQ_CLI_UINT("batch", "N", 1, SQ_GEMM_MAX, AT(options.batch), "sequences"),
    SQ_CLI_UINT("seq", "N", 1, SQ_GEMM_MAX, AT(options.seq), "tokens of a sequence in prefill",
                .given = offsetof(struct arguments, seq_given)),
    SQ_CLI_WORD("routing", "R", routings, AT(options.routing),
                "tokens of experts: balanced, or skewed (expert r proportional to 1/(r+1))"),
    SQ_CLI_TEXT("output", "FILE", AT(output), "write the table here", .letter = 'o',
                .usual = "standard output", .group = SQ_CLI_COMMON, .is_output = true),
    SQ_CLI_FLAG("json", AT(is_json),
                "one JSON object per row, the summary last, in place of the table",
                .group = SQ_CLI_COMMON),
    SQ_CLI_ARGUMENT("CONFIG", AT(config), .found = SQ_HOME_CONFIG),
    SQ_CLI_END};

static const char doc[] =
    "Lists the linear layers of a decoder by its Hugging Face config.json (or the directory that "
    "holds it) as Layer,M,N,K,Count: the form that `sqsim run --workload` and, but for Count, "
    "SCALE-Sim read. The product with the vocabulary, lm_head, is not among them, nor in times of "
    "these tables: add a row of tokens x vocabulary x hidden size for it.\v"
    "Examples:\n"
    "  sqsim workload traces/workloads/llama-3-70b.json -o llama-3-70b_prefill_2048.csv\n"
    "  sqsim workload ~/models/my-llama --phase decode --batch 8\n"
    "  sqsim workload traces/workloads/qwen3-30b-a3b.json --seq 128 --routing skewed\n";

static enum sq_status check(const struct arguments *in, struct sq_error *err)
{
    if (!in->config)
        return SQ_FAIL(err, SQ_ERR_ARG, "no config.json given, need one");
    if (in->seq_given && in->options.is_decode)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "--seq with --phase decode: a sequence has one token there");
    if (in->is_json && in->output)
        return SQ_FAIL(err, SQ_ERR_ARG, "--json and --output given, need one of them");
    return SQ_OK;
}

static void print_json(const struct sq_workload *w, const struct arguments *in)
{
    struct sq_cli_table table = {.is_json = true};
    long double macs = 0, params = 0; // exact up to 2^64
    for (size_t i = 0; i < w->n; i++) {
        const struct sq_workload_row *r = &w->row[i];
        const long double weights = (long double)r->gemm.n * r->gemm.k * r->count;
        const struct sq_cli_column row[] = {
            SQ_KEYS("layer", r->name, "m", r->gemm.m, "n", r->gemm.n, "k", r->gemm.k),
            SQ_KEYS("count", r->count), SQ_COLUMNS_END};
        sq_cli_put(&table, row);
        params += weights;
        macs += weights * r->gemm.m;
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("phase", phases[in->options.is_decode], "rows", w->n),
        SQ_KEYS("has_lm_head", json_boolean(sq_workload_has_lm_head(w))),
        SQ_KEYS("parameters_used", sq_cli_amount(params), "macs", sq_cli_amount(macs)),
        SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance("shapes", "config.json", 0));
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
    static const struct sq_cli_line line = {rows, "CONFIG", doc};
    struct arguments in = {.options = {.batch = 1, .seq = 2048}};
    struct sq_workload w;
    struct stat st;
    char inside[4200];
    if (sq_cli_parse(&line, argc, argv, &in, &err) != SQ_OK || check(&in, &err) != SQ_OK)
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
