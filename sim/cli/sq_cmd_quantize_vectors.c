// SPDX-License-Identifier: Apache-2.0
// sqsim quantize --vectors: a block-scaled format as a conformance suite, and a unit's answers judged
// by it.
#include <string.h>

#include "sim/cli/sq_cmd_quantize.h"

#include "sim/cli/sq_cli_option.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/file/sq_vectors_file.h"
#include "sim/format/sq_format_ops.h"

enum { SEED = 1 };

// ---- what is printed ------------------------------------------------------------------------

static void print_fields(const struct sq_vector_field *field, size_t from, size_t to, size_t at)
{
    for (size_t f = from; f < to; f++) {
        printf(" %s", field[f].name);
        for (size_t i = 0; i < field[f].count && i < 40; i++)
            printf(field[f].dtype == SQ_U8 ? " %02x" : " %08x", sq_vector_get(&field[f], at, i));
        if (field[f].count > 40)
            printf(" ..");
    }
}

static void print_case(const struct sq_vector_rule *r, const struct sq_vector_verdict *d)
{
    printf("  case %zu:", d->first);
    print_fields(r->field, 0, r->n_in, d->first);
    printf("\n  model:");
    print_fields(r->field, r->n_in, r->n_fields, d->first);
    printf("\n  unit: ");
    print_fields(d->answer, r->n_in, r->n_fields, d->first);
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

static void print_summary(const struct sq_vectors_request *in, const struct sq_vectors *v,
                          const struct sq_answers *a, size_t broken)
{
    size_t cases = 0;
    for (size_t i = 0; i < v->n_rules; i++)
        cases += v->rule[i].n;
    if (in->is_json) {
        const struct sq_cli_column row[] = {
            SQ_MEMBERS(sq_recipe_json(in->recipe, SQ_IN_QUANTIZE)), SQ_KEYS("cases", cases),
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

// Prints everything; returns whether the unit, if there is one, keeps all rules.
static bool report(const struct sq_vectors_request *in, const struct sq_vectors *v,
                   const struct sq_answers *a)
{
    size_t broken = v->n_rules;
    struct sq_cli_table table = {.is_json = in->is_json};
    for (size_t i = v->n_rules; i-- > 0;)
        if (a && is_broken(&v->rule[i], &a->rule[i]))
            broken = i;
    for (size_t i = 0; i < v->n_rules; i++)
        print_rule(&table, &v->rule[i], a ? &a->rule[i] : NULL);
    print_summary(in, v, a, broken);
    return broken == v->n_rules;
}

enum sq_status sq_vectors_request(const struct sq_vectors_request *in, bool *is_kept,
                                  struct sq_error *err)
{
    const struct sq_recipe *recipe = in->recipe;
    SQ_CLOSED(sq_vectors_free) struct sq_vectors v = {0};
    SQ_CLOSED(sq_answers_free) struct sq_answers a = {0};
    char list[200];
    if (!recipe->format->vectors)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "--format = %s, need %s", recipe->format->name,
                       sq_cli_formats_with(offsetof(struct sq_format_ops, vectors), list));
    SQ_TRY(recipe->format->vectors(recipe, SEED, &v, err));
    if (in->folder)
        SQ_TRY(sq_vectors_write(&v, in->folder, recipe->format->name, err));
    if (in->answers)
        SQ_TRY(sq_answers_read(&a, &v, in->answers, err));
    *is_kept = report(in, &v, in->answers ? &a : NULL);
    return SQ_OK;
}
