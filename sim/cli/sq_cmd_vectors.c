// SPDX-License-Identifier: Apache-2.0
// sqsim vectors: a block-scaled format as a conformance suite, and a unit's answers judged by it.
#include <string.h>

#include "sim/cli/sq_cli_option.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/file/sq_vectors_file.h"
#include "sim/format/sq_format_ops.h"

enum { SEED = 1 };

struct arguments {
    struct sq_cli_options options;
    const char *out, *check;
    bool is_json;
};

#define AT(field) SQ_CLI_AT(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_TEXT("out", "DIR", AT(out), "write FORMAT.jsonl and FORMAT.safetensors there",
                .is_output = true),
    SQ_CLI_TEXT("check", "ANSWERS", AT(check),
                "judge what a unit answered: JSON lines, or a file NAME.safetensors"),
    SQ_CLI_FORMATS(SQ_IN_QUANTIZE, AT(options)),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per rule, the summary last",
                .group = SQ_CLI_COMMON),
    SQ_CLI_END};

static const char doc[] =
    "The golden model of a block-scaled format (SPEC Q) as cases for those who build a unit for "
    "it: "
    "every element code, ties and the numbers beside them, masks, scales with their edge cases, "
    "codes of blocks, exact sums, scaled sums, accumulation. Options of the format that do not "
    "touch a block have no effect. With --check the rules go in this order, and the first broken "
    "one is named with its first case; exit 1 where one is broken or not answered.\v"
    "Examples:\n"
    "  sqsim vectors --format nvfp4 --out /tmp\n"
    "  sqsim vectors --format sq_b --codes split --step pow2 --out /tmp\n"
    "  sqsim vectors --format nvfp4 --check answers.jsonl\n";

static enum sq_status refuse(const struct sq_format_ops *f, struct sq_error *err)
{
    char list[200] = "";
    for (size_t i = 0; sq_formats[i]; i++)
        if (sq_formats[i]->vectors && strlen(list) + strlen(sq_formats[i]->name) + 2 < sizeof list)
            strcat(strcat(list, *list ? "|" : ""), sq_formats[i]->name);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "--format = %s, need %s", f->name, list);
}

// ---- what is printed ------------------------------------------------------------------------

static void print_fields(const struct sq_vector_rule *r, const struct sq_vector_field *field,
                         size_t from, size_t to, size_t at)
{
    for (size_t f = from; f < to; f++) {
        printf(" %s", field[f].name);
        for (size_t i = 0; i < field[f].count && i < 40; i++)
            printf(field[f].dtype == SQ_U8 ? " %02x" : " %08x", sq_vector_get(&field[f], at, i));
        if (field[f].count > 40)
            printf(" ..");
    }
    (void)r;
}

static void print_case(const struct sq_vector_rule *r, const struct sq_vector_verdict *d)
{
    printf("  case %zu:", d->first);
    print_fields(r, r->field, 0, r->n_in, d->first);
    printf("\n  model:");
    print_fields(r, r->field, r->n_in, r->n_fields, d->first);
    printf("\n  unit: ");
    print_fields(r, d->answer, r->n_in, r->n_fields, d->first);
    printf("\n");
}

// Prints a line of the table; d is NULL where there is a suite and no unit's answers.
static void print_rule(struct sq_cli_table *table, const struct sq_vector_rule *r,
                       const struct sq_vector_verdict *d)
{
    const bool is_wrong = d && d->n_wrong;
    const struct sq_cli_column row[] = {
        SQ_COLUMN("rule", r->name, "rule", -12),
        SQ_COLUMN("cases", r->n, "cases", 6),
        SQ_COLUMN("answered", d ? sq_cli_count(d->n_answered) : sq_cli_string(NULL),
                  d ? "answered" : NULL, 9),
        SQ_COLUMN("wrong", d ? sq_cli_count(d->n_wrong) : sq_cli_string(NULL), d ? "wrong" : NULL,
                  6),
        SQ_KEYS("first", is_wrong ? sq_cli_count(d->first) : sq_cli_string(NULL)),
        SQ_COLUMNS_END};
    sq_cli_put(table, row);
}

static bool is_broken(const struct sq_vector_rule *r, const struct sq_vector_verdict *d)
{
    return d->n_wrong > 0 || d->n_answered < r->n;
}

static void print_summary(const struct arguments *in, const struct sq_recipe *recipe,
                          const struct sq_vectors *v, const struct sq_answers *a, size_t broken)
{
    size_t cases = 0;
    for (size_t i = 0; i < v->n_rules; i++)
        cases += v->rule[i].n;
    if (in->is_json) {
        const struct sq_cli_column row[] = {
            SQ_MEMBERS(sq_cli_recipe_json(recipe, SQ_IN_QUANTIZE)), SQ_KEYS("cases", cases),
            SQ_KEYS("broken", a && broken < v->n_rules ? v->rule[broken].name : NULL),
            SQ_COLUMNS_END};
        sq_cli_put_summary(row, sq_cli_provenance("synthetic", "golden model", SEED));
        return;
    }
    if (!a || broken == v->n_rules) {
        printf("%s%zu cases of %zu rules\n", a ? "PASS: " : "", cases, v->n_rules);
        return;
    }
    const struct sq_vector_rule *r = &v->rule[broken];
    if (a->rule[broken].n_wrong == 0) {
        printf("FAIL: rule %s: %zu of %zu cases not answered\n", r->name,
               r->n - a->rule[broken].n_answered, r->n);
        return;
    }
    printf("FAIL: rule %s: %s\n", r->name, r->says);
    print_case(r, &a->rule[broken]);
}

static int report(const struct arguments *in, const struct sq_recipe *recipe,
                  const struct sq_vectors *v, const struct sq_answers *a)
{
    size_t broken = v->n_rules;
    struct sq_cli_table table = {.is_json = in->is_json};
    for (size_t i = v->n_rules; i-- > 0;)
        if (a && is_broken(&v->rule[i], &a->rule[i]))
            broken = i;
    for (size_t i = 0; i < v->n_rules; i++)
        print_rule(&table, &v->rule[i], a ? &a->rule[i] : NULL);
    print_summary(in, recipe, v, a, broken);
    return a && broken < v->n_rules ? SQ_EXIT_CHECK_FAILED : SQ_EXIT_OK;
}

static enum sq_status run(const struct arguments *in, int *code, struct sq_error *err)
{
    struct sq_recipe recipe;
    struct sq_vectors v;
    struct sq_answers a;
    if (!in->options.format->vectors)
        return refuse(in->options.format, err);
    SQ_TRY(sq_cli_recipe(&in->options, &recipe, err));
    SQ_TRY(recipe.format->vectors(&recipe, SEED, &v, err));
    enum sq_status status = SQ_OK;
    if (in->out)
        status = sq_vectors_write(&v, in->out, recipe.format->name, err);
    if (status == SQ_OK && in->check)
        status = sq_answers_read(&a, &v, in->check, err);
    if (status == SQ_OK)
        *code = report(in, &recipe, &v, in->check ? &a : NULL);
    if (status == SQ_OK && in->check)
        sq_answers_free(&a);
    sq_vectors_free(&v);
    return status;
}

int sq_cmd_vectors(int argc, char **argv)
{
    struct sq_error err = {0};
    static const struct sq_cli_line line = {rows, "", doc};
    struct arguments in = {.options = sq_cli_options_default(SQ_IN_QUANTIZE)};
    int code = SQ_EXIT_OK;
    enum sq_status status = sq_cli_parse(&line, argc, argv, &in, &err);
    if (status == SQ_OK)
        status = run(&in, &code, &err);
    return status == SQ_OK ? sq_cli_finish("vectors", code) : sq_cli_fail("vectors", &err);
}
