// SPDX-License-Identifier: Apache-2.0
// sqsim explain sum: how a device sums a dot product, term by term, and which rule gives the sums that a device made.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/number/sq_bits.h"
#include "sim/cli/sq_cli_row.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/sq_sum_device.h"
#include "sim/gpu/sq_sum_fit.h"

enum { VECTORS = 2, FIT = 4, SHOWN_MAX = 12 };

struct arguments {
    const char *topic, *rule, *type, *a, *b, *c, *vectors, *fit;
    bool is_json;
};

#define AT(field) SQ_CLI_AT(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_TEXT(
        "rule", "NAME", AT(rule),
        "device whose sums are made: v100, a100, ada, h100, b200, cdna1, exact, binary32, or a "
        "YAML file like sim/gpu/sums/h100.yaml",
        .modes = SQ_CLI_PLAIN | VECTORS),
    SQ_CLI_TEXT("type", "T", AT(type),
                "type of the operands: fp16, bf16, tf32, e5m2, e4m3, e3m2, e2m3, e2m1",
                .usual = "bf16; with --fit, each of that many bits", .modes = SQ_CLI_ALL),
    SQ_CLI_TEXT("a", "CODES", AT(a), "operands: codes in hex, blanks between them"),
    SQ_CLI_TEXT("b", "CODES", AT(b), "the other operands"),
    SQ_CLI_TEXT("c", "CODE", AT(c), "what their products are added to, a binary32 in hex"),
    SQ_CLI_TEXT("vectors", "FILE", AT(vectors),
                "make the sums of a file, CSV or gzip, with columns a, b, c and d: how many differ "
                "from d",
                .mode = VECTORS, .modes = VECTORS),
    SQ_CLI_TEXT("fit", "FILE", AT(fit), "find the rules that give all sums of such a file",
                .mode = FIT, .modes = FIT),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per step, rule or file, the summary last",
                .group = SQ_CLI_COMMON, .modes = SQ_CLI_ALL),
    SQ_CLI_ARGUMENT("TOPIC", AT(topic), .modes = SQ_CLI_ALL),
    SQ_CLI_END};

static const char doc[] =
    "Explains how a device sums a dot product (TOPIC: sum; SPEC Q.11): the terms of each step, the "
    "largest exponent, what is cut off below it, the result, and what other rules make of the same "
    "operands. --vectors checks a rule against sums that a device made, --fit finds the rules that "
    "give them and the next input that would tell two of those apart.\v"
    "Examples:\n"
    "  sqsim explain sum --rule h100 --type e4m3 --a '70 38 b0' --b '38 30 38'\n"
    "  sqsim explain sum --rule a100 --a '3f80 3f80' --b '3f80 3380' --c 4b800000\n"
    "  sqsim explain sum --rule h100 --type bf16 --vectors traces/tensor_core/h100_bf16.csv\n"
    "  sqsim explain sum --fit traces/tensor_core/ada_e4m3.csv\n";

static const char *hex(double v, char text[11])
{
    snprintf(text, 11, "0x%08x", sq_bits_of((float)v));
    return text;
}

// A device by its name, or by a file.
static enum sq_status find_type(const char *name, const struct sq_sum_type **type,
                                struct sq_error *err)
{
    const char *names[16];
    size_t n = 0, index;
    for (; sq_sum_types[n].name; n++)
        names[n] = sq_sum_types[n].name;
    SQ_TRY(sq_cli_name("--type", name, names, n, &index, err));
    *type = &sq_sum_types[index];
    return SQ_OK;
}

static const char *const places_of_c[] = {"among the terms", "after each step", "left out"};

// ---- one sum ----------------------------------------------------------------------------------------

struct report {
    bool is_json;
    size_t n;
};

static void put_step(void *context, const struct sq_sum_trace *s)
{
    struct report *const to = context;
    char before[11], after[11];
    const bool has_place = s->exponent > SQ_SUM_ZERO;
    const size_t n = s->n < SQ_SUM_STEP_MAX ? s->n : SQ_SUM_STEP_MAX;
    const double none = (double)NAN;
    to->n++;
    if (to->is_json) {
        json_t *terms = json_array(), *kept = json_array();
        for (size_t i = 0; i < n; i++) {
            json_array_append_new(terms, json_sprintf("%a", s->term[i]));
            json_array_append_new(kept, json_sprintf("%a", s->kept[i]));
        }
        const struct sq_cli_column row[] = {
            SQ_KEYS("step", to->n, "first", s->first, "products", s->n),
            SQ_KEYS("largest_exponent", has_place ? (double)s->exponent : none, "last_place",
                    has_place ? (double)s->place : none),
            SQ_KEYS("before", hex(s->before, before), "terms", terms, "kept", kept),
            SQ_KEYS("sum", json_sprintf("%a", s->sum), "after", hex(s->after, after)),
            SQ_COLUMNS_END};
        sq_cli_json_line(sq_cli_object(row));
        return;
    }
    printf("step %zu: products %zu..%zu", to->n, s->first + 1, s->first + s->n);
    if (has_place)
        printf(", largest exponent %d, terms are multiples of 2^%d", s->exponent, s->place);
    printf("\n  %-8s %24s %24s %12s\n", "product", "exact", "kept", "cut off");
    for (size_t i = 0; i < n && i < SHOWN_MAX; i++)
        printf("  %-8zu %24.17g %24.17g %12.3g\n", s->first + i + 1, s->term[i], s->kept[i],
               s->term[i] - s->kept[i]);
    if (n > SHOWN_MAX)
        printf("  ... %zu more\n", n - SHOWN_MAX);
    printf("  sum so far %s (%.9g) + products -> %.17g, rounded %s (%.9g)\n",
           hex(s->before, before), s->before, s->sum, hex(s->after, after), s->after);
}

// What the other devices make of the operands.
static json_t *put_others(const char *mine, const struct sq_sum_type *type,
                          const struct sq_sum_operands *o, bool is_json)
{
    json_t *others = json_object();
    for (unsigned i = 1; sq_sum_choice[i]; i++) {
        struct sq_sum_device d;
        char text[11];
        const struct sq_sum_rule *r = NULL;
        if (sq_sum_device_named(sq_sum_choice[i], &d, NULL) == SQ_OK)
            r = sq_sum_device_rule(&d, type->name);
        if (!r || strcmp(d.name, mine) == 0)
            continue;
        const double v = sq_sum(r, o->a, o->ea, o->b, o->eb, o->n, o->c, NULL, NULL);
        json_object_set_new(others, d.name, json_string(hex(v, text)));
        if (!is_json)
            printf("  %-10s %s  %.9g\n", d.name, text, (double)(float)v);
    }
    return others;
}

static enum sq_status explain(const struct arguments *in, struct sq_error *err)
{
    const struct sq_sum_type *type;
    const struct sq_sum_rule *rule;
    struct sq_sum_device d;
    SQ_CLOSED(sq_sum_operands_free) struct sq_sum_operands o = {0};
    struct report to = {.is_json = in->is_json};
    char text[11];
    if (!in->a || !in->b)
        return SQ_FAIL(err, SQ_ERR_ARG, "needs --a and --b, or --vectors, or --fit");
    SQ_TRY(find_type(in->type ? in->type : "bf16", &type, err));
    SQ_TRY(sq_sum_device_find(in->rule, type->name, &d, &rule, err));
    SQ_TRY(sq_sum_operands_read(type, in->a, in->b, in->c, &o, err));
    if (!in->is_json)
        printf("%s, %s: %u products a step, %s, c %s\n", d.name, type->name,
               rule->step ? rule->step : (unsigned)o.n,
               rule->aligned == SQ_SUM_EXACT ? "nothing cut off" : "terms aligned and cut off",
               places_of_c[rule->c]);
    const double v = sq_sum(rule, o.a, o.ea, o.b, o.eb, o.n, o.c, put_step, &to);
    if (!in->is_json)
        printf("result %s  %.9g\nother rules:\n", hex(v, text), (double)(float)v);
    json_auto_t *others = put_others(d.name, type, &o, in->is_json);
    const struct sq_cli_column row[] = {
        SQ_KEYS("rule", d.name, "type", type->name, "products", o.n, "steps", to.n),
        SQ_KEYS("result", hex(v, text), "others", json_incref(others), "source", d.source),
        SQ_COLUMNS_END};
    if (in->is_json)
        sq_cli_put_summary(row, sq_cli_provenance(NULL, "modelled", 0));
    return SQ_OK;
}

// ---- files ------------------------------------------------------------------------------------------

static enum sq_status check(const struct arguments *in, bool *is_alike, struct sq_error *err)
{
    const struct sq_sum_type *type;
    const struct sq_sum_rule *rule;
    struct sq_sum_device d;
    SQ_CLOSED(sq_sum_set_free) struct sq_sum_set s = {0};
    size_t n_bad, first;
    SQ_TRY(find_type(in->type ? in->type : "bf16", &type, err));
    SQ_TRY(sq_sum_device_find(in->rule, type->name, &d, &rule, err));
    SQ_TRY(sq_sum_set_load(in->vectors, &s, err));
    const enum sq_status status = sq_sum_set_check(&s, type, rule, &n_bad, &first, err);
    *is_alike = status == SQ_OK && n_bad == 0;
    if (status == SQ_OK) {
        const struct sq_cli_column row[] = {
            SQ_KEYS("rule", d.name, "type", type->name, "rows", s.n_rows, "differ", n_bad),
            SQ_KEYS("first", n_bad ? (double)(first + 1) : (double)NAN, "source", d.source),
            SQ_COLUMNS_END};
        if (in->is_json)
            sq_cli_put_summary(row, sq_cli_provenance("real", "modelled", 0));
        else
            printf("%zu of %zu sums differ from %s, %s\n", n_bad, s.n_rows, d.name, type->name);
        if (!in->is_json && n_bad)
            printf(
                "the first is row %zu; see it with: sqsim explain sum --rule %s --type %s --a '%s' "
                "--b '%s' --c %s\n",
                first + 1, in->rule, type->name, sq_cli_text(s.row[first].a),
                sq_cli_text(s.row[first].b), sq_cli_text(s.row[first].c));
    }
    return status;
}

static void tell(size_t done, size_t all)
{
    sq_cli_progress("explain: rules", done, all);
}

// The devices that come with sqsim and sum by this rule.
static void name_rule(const struct sq_sum_fitted *f, char text[128])
{
    size_t at = 0;
    text[0] = '\0';
    for (unsigned i = 1; sq_sum_choice[i]; i++) {
        struct sq_sum_device d;
        const struct sq_sum_rule *r = NULL;
        if (sq_sum_device_named(sq_sum_choice[i], &d, NULL) == SQ_OK)
            r = sq_sum_device_rule(&d, f->type->name);
        if (!r)
            continue;
        struct sq_sum_rule mine = f->rule;
        const bool fits = r->emin == SQ_SUM_EMIN_MIN
                              ? f->emin_low == SQ_SUM_EMIN_MIN
                              : r->emin >= f->emin_low && r->emin <= f->emin_high;
        mine.emin = r->emin;
        if (fits && sq_sum_rule_equal(&mine, r))
            at += (size_t)snprintf(text + at, 128 - at, "%s%s", at ? ", " : "", d.name);
    }
}

static void put_fitted(struct sq_cli_table *table, const struct sq_sum_fitted *f)
{
    char names[128], emin[32], aligned[16];
    name_rule(f, names);
    snprintf(emin, sizeof emin, f->emin_low == SQ_SUM_EMIN_MIN ? "none..%d" : "%d..%d",
             f->emin_low == SQ_SUM_EMIN_MIN ? f->emin_high : f->emin_low, f->emin_high);
    snprintf(aligned, sizeof aligned, f->rule.aligned ? "%u" : "exact", f->rule.aligned);
    const struct sq_cli_column row[] = {
        SQ_COLUMN("type", f->type->name, "type", -5),
        SQ_COLUMN("step", f->rule.step, "step", 4),
        SQ_COLUMN("groups", f->rule.groups, "groups", 6),
        SQ_COLUMN("aligned", (const char *)aligned, "aligned", 7),
        SQ_COLUMN("exponent", f->rule.by_value ? "value" : "factors", "exponent", -8),
        SQ_COLUMN("kept", f->rule.kept, "kept", 4),
        SQ_COLUMN("rounding", f->rule.is_nearest ? "nearest" : "zero", "rounding", -8),
        SQ_COLUMN("c", places_of_c[f->rule.c], "c", -15),
        SQ_COLUMN("emin", (const char *)emin, "emin", -10),
        SQ_COLUMN("devices", (const char *)names, "as", 0),
        SQ_COLUMNS_END};
    sq_cli_put(table, row);
}

// Rules of devices that come with sqsim stand before the others.
static void known_first(struct sq_sum_fitted *f, size_t n)
{
    size_t n_known = 0;
    for (size_t i = 0; i < n; i++) {
        char names[128];
        const struct sq_sum_fitted here = f[i];
        name_rule(&here, names);
        if (names[0] == '\0')
            continue;
        memmove(f + n_known + 1, f + n_known, (i - n_known) * sizeof *f);
        f[n_known++] = here;
    }
}

// The next input to try: one that tells the first rule from another.
static void put_next(const struct arguments *in, const struct sq_sum_set *s,
                     const struct sq_sum_fitted *f, size_t n, json_t **next)
{
    const size_t length = strlen(s->row[0].a) / (s->digits + 1) + 1, room = length * 9 + 1;
    SQ_FREED char *const a = malloc(room), *const b = malloc(room);
    char c[9], x[11], y[11];
    size_t other = 1;
    *next = json_null();
    while (a && b && other < n && !sq_sum_tell_apart(&f[0], &f[other], length, a, b, room, c))
        other++;
    struct sq_sum_operands o;
    if (a && b && other < n && sq_sum_operands_read(f[0].type, a, b, c, &o, NULL) == SQ_OK) {
        snprintf(x, sizeof x, "0x%08x", sq_sum_bits(&f[0].rule, &o));
        snprintf(y, sizeof y, "0x%08x", sq_sum_bits(&f[other].rule, &o));
        *next = json_pack("{s:s,s:s,s:s,s:i,s:s,s:s}", "a", a, "b", b, "c", c, "other",
                          (int)other + 1, "first_gives", x, "other_gives", y);
        if (!in->is_json)
            printf(
                "the next input to try: --a '%s' --b '%s' --c %s\n  rule 1 gives %s, rule %zu %s\n",
                a, b, c, x, other + 1, y);
        sq_sum_operands_free(&o);
    } else if (n > 1 && !in->is_json)
        printf("no drawn input of this length tells these rules apart\n");
}

static enum sq_status fit(const struct arguments *in, bool *is_found, struct sq_error *err)
{
    const struct sq_sum_type *type = NULL;
    struct sq_cli_table table = {.is_json = in->is_json};
    SQ_CLOSED(sq_sum_set_free) struct sq_sum_set s = {0};
    struct sq_sum_fitted *f = NULL;
    size_t n = 0, n_tried = 0;
    json_t *next = NULL;
    if (in->type)
        SQ_TRY(find_type(in->type, &type, err));
    SQ_TRY(sq_sum_set_load(in->fit, &s, err));
    const enum sq_status status = sq_sum_fit(&s, type, tell, &f, &n, &n_tried, err);
    *is_found = n > 0;
    if (status == SQ_OK) {
        known_first(f, n);
        for (size_t i = 0; i < n && (in->is_json || i < SHOWN_MAX); i++)
            put_fitted(&table, &f[i]);
        if (!in->is_json)
            printf("%zu of %zu rules give all %zu sums%s\n", n, n_tried, s.n_rows,
                   n > SHOWN_MAX ? "; --json lists all of them" : "");
        put_next(in, &s, f, n, &next);
        const struct sq_cli_column row[] = {
            SQ_KEYS("rows", s.n_rows, "rules", n, "tried", n_tried, "next", next), SQ_COLUMNS_END};
        if (in->is_json)
            sq_cli_put_summary(row, sq_cli_provenance("real", "fitted", 0));
        else
            json_decref(next);
        free(f);
    }
    return status;
}

int sq_cmd_explain(int argc, char **argv)
{
    static const struct sq_cli_line line = {rows, "sum", doc};
    struct sq_error err;
    struct arguments in = {.rule = "h100", .c = "0"};
    bool is_right = true;
    enum sq_status status = sq_cli_parse(&line, argc, argv, &in, &err);
    if (status == SQ_OK && (!in.topic || strcmp(in.topic, "sum") != 0))
        status = SQ_FAIL(&err, SQ_ERR_ARG, "TOPIC = %s, need sum",
                         in.topic ? sq_cli_text(in.topic) : "none");
    SQ_THEN(status, in.fit       ? fit(&in, &is_right, &err)
                    : in.vectors ? check(&in, &is_right, &err)
                                 : explain(&in, &err));
    if (status != SQ_OK)
        return sq_cli_fail("explain", &err);
    return is_right ? SQ_EXIT_OK : SQ_EXIT_CHECK_FAILED;
}
