// SPDX-License-Identifier: Apache-2.0
// sqsim point: one design in, its measures out, for search by another program.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cli_synth.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/cli/sq_cli_tools.h"
#include "sim/cli/sq_cmd_sweep.h"
#include "sim/io/sq_file.h"
#include "sim/sweep/sq_sweep_export.h"

struct arguments {
    const char *file;
    struct sq_sweep_prices prices;
    bool is_json;
    struct sq_cli_tools tools;
};

#define AT(field) SQ_CLI_AT(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_SWEEP_PRICES(AT(prices)),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per design", .group = SQ_CLI_COMMON),
    SQ_CLI_TOOLS(AT(tools)), SQ_CLI_ARGUMENT("DESIGN", AT(file), .found = ""), SQ_CLI_END};

static const char doc[] =
    "Computes one design. DESIGN is a file, YAML or JSON, with a value of each axis that it names "
    "and a list of measures; axes and measures are those of `sqsim sweep`, and so are the results. "
    "A design has one format, so that its PEs are those of the machine unless it says fair: area. "
    "Without DESIGN, each line of standard input is a design in JSON, and each line of the answer, "
    "which comes at once, has its measures or \"error\", one sentence: a search in another program "
    "keeps sqsim running. python/search.py searches with Optuna in this way.\v"
    "Examples:\n"
    "  sqsim point my.yaml\n"
    "  sqsim point my.json --json\n"
    "  echo '{\"machine\": \"default\", \"workload\": \"smollm2-135m\", \"format\": \"nvfp4\", "
    "\"rows\": 16, \"measures\": [\"tokens_per_second\"]}' | sqsim point --json\n";

static enum sq_status put_fields(const char *title, const char *json, struct sq_error *err)
{
    SQ_CLOSED(sq_fields_free) struct sq_fields f = {0};
    SQ_TRY(sq_fields_read(&f, json, err));
    printf("%s\n", title);
    for (size_t i = 0; i < f.n; i++)
        printf("  %-24s %s\n", f.field[i].name,
               *f.field[i].text ? sq_cli_text(f.field[i].text) : "-");
    return SQ_OK;
}

static enum sq_status put_text(void *context, const struct sq_sweep_row *row, struct sq_error *err)
{
    (void)context;
    SQ_TRY(put_fields("design", row->parameters, err));
    if (strstr(row->parameters, "\"machine\":") && !strstr(row->parameters, "\"fair\":"))
        printf("with other formats %s (fair: area)\n", sq_fair_texts[SQ_FAIR_NONE]);
    return put_fields("measures", row->measures, err);
}

static enum sq_status compute(const struct arguments *in, const char *text, size_t nbytes,
                              const char *what, struct sq_error *err)
{
    struct sq_sweep_grid design;
    SQ_FREED char *members = NULL;
    const struct sq_sweep_options o = sq_sweep_options_of(&in->prices, &members);
    enum sq_status status = SQ_HAVE(members, err, "a design");
    SQ_THEN(status, sq_sweep_design_parse(&design, text, nbytes, what, sq_cli_home(), err));
    if (status == SQ_OK) {
        status = sq_sweep_one(&design, &o, in->is_json ? sq_sweep_print_json : put_text, NULL, err);
        sq_sweep_grid_free(&design);
    }
    return status;
}

// What is wrong with one design stops no other.
static enum sq_status compute_lines(const struct arguments *in, struct sq_error *err)
{
    SQ_FREED char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&line, &room, stdin)) >= 0) {
        struct sq_error why;
        if (strspn(line, " \t\r\n") == (size_t)n)
            continue;
        if (compute(in, line, (size_t)n, "standard input", &why) != SQ_OK) {
            const struct sq_cli_column row[] = {SQ_KEYS("error", sq_cli_json_text(why.text)),
                                                SQ_COLUMNS_END};
            sq_cli_json_line(sq_cli_object(row));
        }
        fflush(stdout);
    }
    return ferror(stdin) ? SQ_FAIL(err, SQ_ERR_IO, "standard input: %s", strerror(errno)) : SQ_OK;
}

static enum sq_status run(const struct arguments *in, struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    if (!in->file && !in->is_json)
        return SQ_FAIL(err, SQ_ERR_ARG, "needs DESIGN, or --json and designs on standard input");
    if (!in->file)
        return compute_lines(in, err);
    SQ_TRY(sq_file_map(in->file, &map, err));
    return compute(in, (const char *)map.data, map.nbytes, in->file, err);
}

int sq_cmd_point(int argc, char **argv)
{
    static const struct sq_cli_line line = {rows, "[DESIGN]", doc};
    struct sq_error err;
    struct arguments in = {.prices.liberty = SQ_CLI_LIBERTY, .tools = sq_cli_tools_default()};
    enum sq_status status = sq_cli_parse(&line, argc, argv, &in, &err);
    SQ_THEN(status, run(&in, &err));
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("point", &err);
}
