// SPDX-License-Identifier: Apache-2.0
// Constraints of a sweep (sq_sweep_grid.h).
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_suggest.h"
#include "sim/sweep/sq_sweep_grid.h"

enum op { LE, GE, EQ, NE, LT, GT, N_OPS };
static const char *const ops[N_OPS] = {"<=", ">=", "==", "!=", "<", ">"}; // longest first

enum { WORD_SIZE = 40 };

// The next word; NULL where there is none. "8/4" is one word: a pair of digits.
static const char *next_word(const char *at, char word[WORD_SIZE])
{
    size_t n = 0;
    while (*at == ' ')
        at++;
    const bool is_pair = isdigit((unsigned char)at[0]) && at[1] == '/' &&
                         isdigit((unsigned char)at[2]) && !isalnum((unsigned char)at[3]);
    if (is_pair)
        n = 3;
    else
        while (isalnum((unsigned char)at[n]) || at[n] == '_' || at[n] == '.')
            n++;
    if (n == 0 || n >= WORD_SIZE)
        return NULL;
    memcpy(word, at, n);
    word[n] = '\0';
    return at + n;
}

// Names that an unknown word is compared with; if there are more than fit, none is suggested.
struct known {
    const char *name[256];
    size_t n;
};

static void note(struct known *k, const char *name)
{
    if (k->n < sizeof k->name / sizeof *k->name)
        k->name[k->n++] = name;
}

// A number, a quantity, or a name of an axis with names.
static enum sq_status parse_factor(const char *word, const char *text, struct sq_term *t,
                                   struct sq_error *err)
{
    struct known known = {.n = 0};
    char *end;
    const double v = strtod(word, &end);
    t->factor[t->n].number = v;
    t->factor[t->n].names = SQ_N_AXES;
    if (*end == '\0' && isfinite(v) && (isdigit((unsigned char)word[0]) || word[0] == '.'))
        return SQ_OK;
    for (unsigned q = 0; q < SQ_N_QUANTITIES; q++) {
        if (q < SQ_N_AXES && sq_axes[q].is_path)
            continue;
        note(&known, sq_quantity_name(q));
        if (strcmp(word, sq_quantity_name(q)) == 0) {
            t->factor[t->n].is_quantity = true;
            t->factor[t->n].quantity = q;
            t->factor[t->n].names = q < SQ_N_AXES && sq_axes[q].choice ? q : SQ_N_AXES;
            return SQ_OK;
        }
    }
    for (unsigned i = 0; i < sq_n_measures; i++) {
        note(&known, sq_measures[i].name);
        if (strcmp(word, sq_measures[i].name) == 0) {
            t->factor[t->n].is_quantity = true;
            t->factor[t->n].quantity = SQ_N_QUANTITIES + i;
            return SQ_OK;
        }
    }
    for (unsigned a = 0; a < SQ_N_AXES; a++)
        for (unsigned i = 0; sq_axes[a].choice && sq_axes[a].choice[i]; i++) {
            note(&known, sq_axes[a].choice[i]);
            t->factor[t->n].number = i;
            t->factor[t->n].names = a;
            if (strcmp(word, sq_axes[a].choice[i]) == 0)
                return SQ_OK;
        }
    const char *nearest = sq_suggest(word, known.name, known.n);
    return SQ_FAIL(err, SQ_ERR_ARG, "constraint '%.80s': unknown name '%s'%s%s%s", text, word,
                   nearest ? ", did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static enum sq_status parse_term(const char *text, const char **at, struct sq_term *t,
                                 struct sq_error *err)
{
    bool is_divisor = false;
    for (;;) {
        char word[WORD_SIZE];
        const char *rest = next_word(*at, word);
        if (!rest || t->n == SQ_FACTORS_MAX)
            return SQ_FAIL(err, SQ_ERR_ARG,
                           "constraint '%.80s', need TERM OP TERM, as in high_lanes * 4 <= bank",
                           text);
        SQ_TRY(parse_factor(word, text, t, err));
        t->factor[t->n++].is_divisor = is_divisor;
        for (*at = rest; **at == ' ';)
            ++*at;
        if (**at != '*' && **at != '/')
            return SQ_OK;
        is_divisor = *(*at)++ == '/';
    }
}

static bool has_measure(const struct sq_term *t)
{
    bool has = false;
    for (unsigned i = 0; i < t->n; i++)
        has = has || (t->factor[i].is_quantity && t->factor[i].quantity >= SQ_N_QUANTITIES);
    return has;
}

// A name may only be compared with its own axis, for equality.
static bool names_agree(const struct sq_constraint *c)
{
    const struct sq_term *const side[] = {&c->left, &c->right};
    bool has_names = false;
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0; i < side[s]->n; i++)
            has_names = has_names || side[s]->factor[i].names != SQ_N_AXES;
    return !has_names || (c->left.n == 1 && c->right.n == 1 && (c->op == EQ || c->op == NE) &&
                          c->left.factor[0].names == c->right.factor[0].names);
}

enum sq_status sq_constraint_parse(const char *text, struct sq_constraint *c, struct sq_error *err)
{
    const char *at = text;
    memset(c, 0, sizeof *c);
    SQ_TRY(parse_term(text, &at, &c->left, err));
    for (c->op = 0; c->op < N_OPS; c->op++)
        if (strncmp(at, ops[c->op], strlen(ops[c->op])) == 0)
            break;
    if (c->op == N_OPS)
        return SQ_FAIL(err, SQ_ERR_ARG, "constraint '%.80s', need one of <= >= == != < >", text);
    at += strlen(ops[c->op]);
    SQ_TRY(parse_term(text, &at, &c->right, err));
    if (*at)
        return SQ_FAIL(err, SQ_ERR_ARG, "constraint '%.80s' goes on after its second term", text);
    if (!names_agree(c))
        return SQ_FAIL(
            err, SQ_ERR_ARG,
            "constraint '%.80s', need a name compared with its own axis by == or !=", text);
    c->is_measured = has_measure(&c->left) || has_measure(&c->right);
    snprintf(c->text, sizeof c->text, "%s", text);
    return SQ_OK;
}

static double term(const struct sq_term *t, const double *value)
{
    double v = 1;
    for (unsigned i = 0; i < t->n; i++) {
        const double f =
            t->factor[i].is_quantity ? value[t->factor[i].quantity] : t->factor[i].number;
        v = t->factor[i].is_divisor ? v / f : v * f;
    }
    return v;
}

bool sq_constraint_holds(const struct sq_constraint *c, const double *value)
{
    const double a = term(&c->left, value), b = term(&c->right, value);
    if (isnan(a) || isnan(b))
        return false;
    switch ((enum op)c->op) {
    case LE:
        return a <= b;
    case GE:
        return a >= b;
    case EQ:
        return a == b;
    case NE:
        return a != b;
    case LT:
        return a < b;
    case GT:
        return a > b;
    default:
        return false;
    }
}
