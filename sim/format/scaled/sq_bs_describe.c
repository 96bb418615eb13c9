// SPDX-License-Identifier: Apache-2.0
// Reads a description of a block-scaled format (sq_bs_describe.h) from the nodes of libyaml: the
// description itself names its grids, so no fixed schema can list the keys.
#include "sim/format/scaled/sq_bs_describe.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "sim/format/scaled/sq_bs_format.h"
#include "sim/io/sq_quote.h"

enum { TEXT = 80 };

struct reader {
    yaml_document_t document;
    const char *what;
    struct sq_error *err;
};

typedef const yaml_node_t node;

static node *at(struct reader *r, int index)
{
    return yaml_document_get_node(&r->document, index);
}

// Refuses the description at a node: file, line, sentence.
__attribute__((format(printf, 3, 4))) static enum sq_status refuse(struct reader *r, node *n,
                                                                   const char *form, ...)
{
    char text[200];
    va_list list;
    va_start(list, form);
    vsnprintf(text, sizeof text, form, list);
    va_end(list);
    return SQ_FAIL(r->err, SQ_ERR_ARG, "%.60s: line %zu: %s", r->what,
                   n ? n->start_mark.line + 1 : 1, text);
}

#define NEED(condition, ...)                                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return refuse(__VA_ARGS__);                                                            \
    } while (0)

// ---- scalars --------------------------------------------------------------------------------

// The text of a scalar of one line without control characters; else NULL.
static const char *text_of(node *n)
{
    if (!n || n->type != YAML_SCALAR_NODE)
        return NULL;
    for (size_t i = 0; i < n->data.scalar.length; i++)
        if (n->data.scalar.value[i] < ' ' || n->data.scalar.value[i] == 0x7f)
            return NULL;
    return (const char *)n->data.scalar.value;
}

static enum sq_status read_text(struct reader *r, node *n, const char *key, char to[TEXT])
{
    const char *text = text_of(n);
    NEED(text && strlen(text) < TEXT, r, n, "%s: need one line of at most %d characters", key,
         TEXT - 1);
    snprintf(to, TEXT, "%s", text);
    return SQ_OK;
}

// Whether the text is a decimal number and nothing else.
static bool is_number(const char *text, double *value)
{
    char *end;
    if (*text == '\0' || strspn(text, "0123456789+-.eE") != strlen(text))
        return false;
    *value = strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

static enum sq_status read_uint(struct reader *r, node *n, const char *key, unsigned max,
                                unsigned *to)
{
    char text[TEXT];
    double v;
    SQ_TRY(read_text(r, n, key, text));
    NEED(is_number(text, &v) && v >= 0 && v <= max && v == floor(v), r, n,
         "%s = %.30s, need a whole number up to %u", key, text, max);
    *to = (unsigned)v;
    return SQ_OK;
}

// The place of a word in a list; 0 where the key is left out.
static enum sq_status read_choice(struct reader *r, node *n, const char *key,
                                  const char *const *choice, unsigned *to)
{
    char text[TEXT], list[120] = "";
    *to = 0;
    if (!n)
        return SQ_OK;
    SQ_TRY(read_text(r, n, key, text));
    for (; choice[*to]; ++*to) {
        if (strcmp(choice[*to], text) == 0)
            return SQ_OK;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *to ? ", " : "",
                 choice[*to]);
    }
    return refuse(r, n, "%s = %.30s, need one of %s", key, text, list);
}

// a-z, 0-9 and _, a letter first: names become parts of files and modules.
static enum sq_status read_name(struct reader *r, node *n, const char *key,
                                char to[SQ_BS_TABLE_NAME])
{
    char text[TEXT];
    SQ_TRY(read_text(r, n, key, text));
    const bool is_name = *text >= 'a' && *text <= 'z' && strlen(text) < SQ_BS_TABLE_NAME &&
                         strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(text);
    NEED(is_name, r, n, "%s = %.40s, need 1 to %d of a-z, 0-9 and _, a letter first", key, text,
         SQ_BS_TABLE_NAME - 1);
    snprintf(to, SQ_BS_TABLE_NAME, "%s", text);
    return SQ_OK;
}

// ---- mappings -------------------------------------------------------------------------------

// A key of a mapping, and where its value goes.
struct key {
    const char *name;
    node **to;
    bool is_needed;
};

static enum sq_status read_keys(struct reader *r, node *n, const char *what, const struct key *key)
{
    char list[160] = "";
    NEED(n && n->type == YAML_MAPPING_NODE, r, n, "%s: need keys with values", what);
    for (const struct key *k = key; k->name; k++) {
        *k->to = NULL;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
                 k->name);
    }
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
         p++) {
        node *const name = at(r, p->key);
        const struct key *k = key;
        const char *const text = text_of(name) ? text_of(name) : "";
        while (k->name && strcmp(k->name, text) != 0)
            k++;
        NEED(k->name, r, name, "%s: unknown key '%.30s', need one of %s", what, text, list);
        NEED(!*k->to, r, name, "%s: key %s stands twice", what, k->name);
        *k->to = at(r, p->value);
    }
    for (const struct key *k = key; k->name; k++)
        NEED(*k->to || !k->is_needed, r, n, "%s: key %s is missing", what, k->name);
    return SQ_OK;
}

static size_t length_of(node *n)
{
    return n && n->type == YAML_SEQUENCE_NODE
               ? (size_t)(n->data.sequence.items.top - n->data.sequence.items.start)
               : 0;
}

// ---- elements -------------------------------------------------------------------------------

// The values of all grids as written, NaN for a code without a value.
struct grids {
    double value[SQ_BS_TABLE_GRIDS][SQ_BS_TABLE_CODES];
    size_t n[SQ_BS_TABLE_GRIDS];
};

// A grid by its name: int, mxint, uint, offset, twos, or eXmY.
static bool fill_named(const char *word, unsigned bits, double value[SQ_BS_TABLE_CODES], size_t *n)
{
    enum { INT, MXINT, TWOS, UINT, OFFSET, N_INTEGERS };
    static const char *const name[N_INTEGERS] = {"int", "mxint", "twos", "uint", "offset"};
    const int half = 1 << (bits - 1), codes = 2 * half;
    unsigned kind = 0;
    while (kind < N_INTEGERS && strcmp(word, name[kind]) != 0)
        kind++;
    *n = (size_t)codes;
    for (int c = 0; kind < N_INTEGERS && c < codes; c++) {
        const int v = kind == UINT ? c : kind == OFFSET ? c - half : c - (c < half ? 0 : codes);
        value[c] =
            kind <= MXINT && c == half ? (double)NAN : ldexp(v, kind == MXINT ? 2 - (int)bits : 0);
    }
    if (kind < N_INTEGERS)
        return kind > MXINT || bits > 1;
    if (strlen(word) != 4 || word[0] != 'e' || word[2] != 'm' || word[1] < '1' || word[1] > '4' ||
        word[3] < '0' || (unsigned)(word[1] - '0' + word[3] - '0' + 1) != bits)
        return false;
    const int fraction = word[3] - '0', bias = (1 << (word[1] - '1')) - 1;
    *n = (size_t)half;
    for (int c = 0; c < half; c++) {
        const int e = c >> fraction, m = c & ((1 << fraction) - 1);
        value[c] = ldexp(e ? m + (1 << fraction) : m, (e ? e : 1) - bias - fraction);
    }
    if (strcmp(word, "e4m3") == 0)
        value[half - 1] = (double)NAN;
    return true;
}

static enum sq_status read_values(struct reader *r, node *n, struct sq_bs_table *t, unsigned grid,
                                  struct grids *g)
{
    const char *const name = t->grid_name[grid];
    const size_t codes = (size_t)1 << t->bits;
    if (text_of(n)) {
        NEED(fill_named(text_of(n), t->bits, g->value[grid], &g->n[grid]), r, n,
             "grid %s: %.30s, need values, or int, mxint, uint, offset, twos or eXmY of %u bits",
             name, text_of(n), t->bits);
        t->is_signed[grid] = g->n[grid] < codes;
        return SQ_OK;
    }
    g->n[grid] = length_of(n);
    NEED(g->n[grid] == codes || g->n[grid] == codes / 2, r, n,
         "grid %s: %zu values, need %zu magnitudes or %zu values of codes of %u bits", name,
         g->n[grid], codes / 2, codes, t->bits);
    t->is_signed[grid] = g->n[grid] < codes;
    for (size_t i = 0; i < g->n[grid]; i++) {
        node *const v = at(r, n->data.sequence.items.start[i]);
        const char *const text = text_of(v) ? text_of(v) : "(a list)";
        g->value[grid][i] = NAN;
        if (strcmp(text, "~") == 0 || strcmp(text, "null") == 0)
            continue;
        NEED(is_number(text, &g->value[grid][i]) && fabs(g->value[grid][i]) <= 512, r, v,
             "grid %s: value %.30s of code %zu, need a number of at most 512, or ~", name, text, i);
    }
    return SQ_OK;
}

// Converts values to integers, in units of the largest power of two, at most 1, that divides all of them.
static enum sq_status set_units(struct reader *r, node *n, const struct grids *g,
                                struct sq_bs_table *t)
{
    bool is_whole = false;
    for (unsigned i = 0; i < t->n_grids; i++)
        for (size_t c = 0; c < g->n[i]; c++) {
            const double v = ldexp(g->value[i][c], SQ_BS_TABLE_FRACTION);
            NEED(isnan(v) || v == floor(v), r, n,
                 "grid %s: value %g of code %zu, need a multiple of 2^-%d", t->grid_name[i],
                 g->value[i][c], c, SQ_BS_TABLE_FRACTION);
        }
    for (t->fraction = 0; !is_whole; t->fraction += !is_whole) {
        is_whole = true;
        for (unsigned i = 0; i < t->n_grids; i++)
            for (size_t c = 0; c < g->n[i]; c++) {
                const double v = ldexp(g->value[i][c], (int)t->fraction);
                is_whole = is_whole && (isnan(v) || v == floor(v));
                t->value[i][c] = isnan(v) ? SQ_BS_NO_VALUE : (int32_t)v;
            }
    }
    for (unsigned i = 0; i < t->n_grids; i++)
        for (size_t c = 0; t->is_signed[i] && c < g->n[i]; c++)
            t->value[i][c + g->n[i]] =
                t->value[i][c] == SQ_BS_NO_VALUE ? SQ_BS_NO_VALUE : -t->value[i][c];
    return SQ_OK;
}

static enum sq_status read_elements(struct reader *r, node *n, struct sq_bs_table *t)
{
    static const char *const tie[] = {"even", "away", NULL};
    node *bits, *grids, *ties;
    struct grids g;
    unsigned word;
    const struct key keys[] = {{"bits", &bits, true},
                               {"grids", &grids, true},
                               {"ties", &ties, false},
                               {NULL, NULL, false}};
    SQ_TRY(read_keys(r, n, "elements", keys));
    SQ_TRY(read_uint(r, bits, "elements.bits", 255, &t->bits));
    NEED(t->bits >= 1 && t->bits <= SQ_BS_TABLE_BITS, r, bits, "elements.bits = %u, need 1..%d",
         t->bits, SQ_BS_TABLE_BITS);
    SQ_TRY(read_choice(r, ties, "elements.ties", tie, &word));
    t->is_away = word == 1;
    NEED(grids->type == YAML_MAPPING_NODE, r, grids, "elements.grids: need names with values");
    const yaml_node_pair_t *p = grids->data.mapping.pairs.start;
    for (; p < grids->data.mapping.pairs.top; p++, t->n_grids++) {
        NEED(t->n_grids < SQ_BS_TABLE_GRIDS, r, grids, "elements.grids: more than %d grids",
             SQ_BS_TABLE_GRIDS);
        SQ_TRY(read_name(r, at(r, p->key), "elements.grids", t->grid_name[t->n_grids]));
        for (unsigned i = 0; i < t->n_grids; i++)
            NEED(strcmp(t->grid_name[i], t->grid_name[t->n_grids]) != 0, r, at(r, p->key),
                 "elements.grids: key %s stands twice", t->grid_name[i]);
        SQ_TRY(read_values(r, at(r, p->value), t, t->n_grids, &g));
    }
    return set_units(r, grids, &g, t);
}

// ---- blocks ---------------------------------------------------------------------------------

static double largest(const struct sq_bs_table *t)
{
    int most = 0;
    for (unsigned g = 0; g < t->n_grids; g++)
        for (unsigned c = 0; c < SQ_BS_TABLE_CODES && c < 1u << t->bits; c++)
            if (t->value[g][c] != SQ_BS_NO_VALUE && abs(t->value[g][c]) > most)
                most = abs(t->value[g][c]);
    return ldexp(most, -(int)t->fraction);
}

// Which word of the list *text begins with, and *text behind it; the place of the NULL at the end: with none.
static unsigned take_word(char **text, const char *const *list)
{
    unsigned i = 0;
    while (list[i] && strncmp(*text, list[i], strlen(list[i])) != 0)
        i++;
    *text += list[i] ? strlen(list[i]) : 0;
    return i;
}

// Reads "amax / 6", or for e8m0 "floor(amax / 6)" or a word alone; *divisor = 0: none is given.
static enum sq_status read_rule(struct reader *r, node *n, bool is_first, struct sq_bs_table *t,
                                double *divisor)
{
    static const char *const word[] = {"floor", "ceil", "even", NULL},
                             *const of[] = {"amax", "max",         "range",         "rms", "mean",
                                            "l2",   "percentile(", "least_squares", NULL};
    char text[TEXT], copy[TEXT], *from = text, *number;
    SQ_TRY(read_text(r, n, "blocks.0.rule", text));
    snprintf(copy, sizeof copy, "%s", text);
    const unsigned rule = take_word(&from, word);
    const bool has_word = word[rule];
    NEED(!has_word || is_first || t->rule == (enum sq_bs_exponent_rule)rule, r, n,
         "blocks.0.rule = %.40s behind %s of another grid, need one of floor, ceil, even", copy,
         word[t->rule]);
    t->rule = has_word ? (enum sq_bs_exponent_rule)rule : t->rule;
    const size_t len = strlen(from);
    *divisor = 0;
    if (has_word && len > 1 && *from == '(' && from[len - 1] == ')') {
        from[len - 1] = '\0';
        from++;
    }
    const unsigned statistic = take_word(&from, of);
    NEED(is_first || !of[statistic] || t->statistic == (enum sq_bs_statistic)statistic, r, n,
         "blocks.0.rule = %.40s behind %s of another try, need one of them", copy,
         of[t->statistic]);
    if (of[statistic] && statistic == SQ_BS_PERCENTILE) {
        double percentile = 0;
        char *const end = strchr(from, ')');
        if (end)
            *end = '\0';
        NEED(end && is_number(from, &percentile) && percentile > 0 && percentile <= 100 &&
                 (is_first || t->percentile == (float)percentile),
             r, n, "blocks.0.rule = %.40s, need one percentile(P), 0 < P <= 100", copy);
        t->percentile = (float)percentile;
        from = end + 1;
    }
    // a slash and a number, with or without spaces before them
    number = from + strspn(from, " ");
    const bool is_ratio = of[statistic] && *number == '/' &&
                          is_number(number + 1 + strspn(number + 1, " "), divisor) &&
                          (*divisor > 0 || (statistic == SQ_BS_MAX && *divisor < 0));
    NEED(is_ratio || (has_word && *from == '\0'), r, n,
         "blocks.0.rule = %.40s, need amax / NUMBER > 0 (or max, range, rms, mean, l2, "
         "percentile(P), least_squares), of e8m0 floor, ceil or even of it",
         copy);
    t->statistic = (enum sq_bs_statistic)(of[statistic] ? statistic : 0);
    NEED(has_word == (t->scale == SQ_BS_SCALE_E8M0), r, n,
         "blocks.0.rule = %.40s, need %s with scale %s", copy,
         has_word ? "amax / NUMBER" : "floor, ceil or even", sq_bs_scale_name(t->scale));
    return SQ_OK;
}

// One divisor for all grids, one for each, or those that the one grid tries.
static enum sq_status read_rules(struct reader *r, node *n, struct sq_bs_table *t)
{
    const bool is_list = n && n->type == YAML_SEQUENCE_NODE;
    const size_t n_rules = is_list ? length_of(n) : 1;
    NEED(n_rules == 1 || n_rules == t->n_grids || (t->n_grids == 1 && n_rules <= SQ_BS_TABLE_TRIES),
         r, n,
         "blocks.0.rule: %zu divisors of %u grids, need one, one for each grid, or up to %d of one",
         n_rules, t->n_grids, SQ_BS_TABLE_TRIES);
    t->n_tries = n_rules > t->n_grids ? (unsigned)n_rules : t->n_grids;
    for (unsigned i = 0; i < t->n_tries; i++) {
        double divisor = 0;
        node *const one = is_list ? at(r, n->data.sequence.items.start[n_rules > 1 ? i : 0]) : n;
        if (one)
            SQ_TRY(read_rule(r, one, i == 0, t, &divisor));
        t->tries[i] = (struct sq_bs_try){t->n_grids > 1 ? i : 0, (float)divisor};
    }
    return SQ_OK;
}

// [first, second], each up to max.
static enum sq_status read_two(struct reader *r, node *n, const char *key, const char *names,
                               unsigned max, unsigned *first, unsigned *second)
{
    if (!n)
        return SQ_OK;
    NEED(length_of(n) == 2, r, n, "%s: need [%s]", key, names);
    SQ_TRY(read_uint(r, at(r, n->data.sequence.items.start[0]), key, max, first));
    return read_uint(r, at(r, n->data.sequence.items.start[1]), key, max, second);
}

static enum sq_status read_block(struct reader *r, node *n, struct sq_bs_table *t)
{
    static const char *const
        scales[] = {"e4m3", "e8m0", "ue5m3", "e6m2", "f16", "bf16", "f32", NULL},
        *const units[] = {"elements", "pairs", NULL},
        *const zeros[] = {"none", "int", "f16", "min", NULL},
        *const errors[] = {"squared_error", "absolute_error", NULL},
        *const stored[] = {"bits", "scale_sign", NULL}, *const chosen[] = {"grids", "scales", NULL},
        *const divided[] = {"binary32", "bfloat16", NULL};
    node *length, *scale, *rule, *choose, *by, *store, *search, *divide, *zero, *zero_bits, *keep,
        *keep_by;
    unsigned word, by_scales;
    const struct key keys[] = {{"length", &length, true},  {"scale", &scale, true},
                               {"rule", &rule, false},     {"search", &search, false},
                               {"choose", &choose, false}, {"by", &by, false},
                               {"stored", &store, false},  {"divide", &divide, false},
                               {"zero", &zero, false},     {"zero_bits", &zero_bits, false},
                               {"keep", &keep, false},     {"keep_by", &keep_by, false},
                               {NULL, NULL, false}};
    SQ_TRY(read_keys(r, n, "blocks.0", keys));
    SQ_TRY(read_uint(r, length, "blocks.0.length", 1 << 20, &t->length));
    SQ_TRY(read_choice(r, scale, "blocks.0.scale", scales, &word));
    t->scale = (enum sq_bs_scale_type)word;
    SQ_TRY(read_rules(r, rule, t));
    SQ_TRY(read_two(r, search, "blocks.0.search", "below, above", SQ_BS_TABLE_NEAR, &t->below,
                    &t->above));
    SQ_TRY(read_two(r, keep, "blocks.0.keep", "n, m", 1 << 20, &t->keep_n, &t->keep_m));
    NEED(!keep || t->keep_m > 0, r, keep, "blocks.0.keep = [%u, 0], need m > 0", t->keep_n);
    NEED(!keep_by || keep, r, keep_by, "blocks.0.keep_by: need keep: [n, m]");
    SQ_TRY(read_choice(r, keep_by, "blocks.0.keep_by", units, &word));
    t->keeps_pairs = word == 1;
    SQ_TRY(read_choice(r, zero, "blocks.0.zero", zeros, &word));
    t->zero = (enum sq_bs_zero)word;
    t->zero_bits = t->zero == SQ_BS_ZERO_INT ? t->bits : 0;
    if (zero_bits)
        SQ_TRY(read_uint(r, zero_bits, "blocks.0.zero_bits", 255, &t->zero_bits));
    SQ_TRY(read_choice(r, choose, "blocks.0.choose", chosen, &by_scales));
    SQ_TRY(read_choice(r, divide, "blocks.0.divide", divided, &word));
    t->is_reciprocal = word == 1;
    NEED(!choose || by_scales || t->n_grids > 1, r, choose,
         "blocks.0.choose = grids, need more than one grid");
    NEED(by || t->n_tries * (1 + t->below + t->above) == 1, r, n,
         "blocks.0: key by is missing, need squared_error or absolute_error");
    SQ_TRY(read_choice(r, by, "blocks.0.by", errors, &word));
    t->is_absolute = word == 1;
    NEED(!store == (t->n_grids == 1), r, n,
         t->n_grids == 1 ? "blocks.0.stored: there is one grid, need none"
                         : "blocks.0: key stored is missing, need scale_sign or bits");
    SQ_TRY(read_choice(r, store, "blocks.0.stored", stored, &word));
    t->is_sign_grid = word == 1;
    return SQ_OK;
}

static enum sq_status read_level(struct reader *r, node *n, unsigned i, struct sq_bs_table *t)
{
    static const char *const scales[] = {"pow2", "uint4", "uint6", "uint8",
                                         "int4", "int6",  "int8",  NULL};
    node *length, *scale, *bits, *limit;
    struct sq_bs_sub_level *const l = &t->level[i];
    char name[TEXT];
    double v = 0;
    unsigned word;
    const struct key keys[] = {{"length", &length, true},
                               {"scale", &scale, true},
                               {"bits", &bits, false},
                               {"at", &limit, false},
                               {NULL, NULL, false}};
    snprintf(name, sizeof name, "blocks.%u", i + 1);
    SQ_TRY(read_keys(r, n, name, keys));
    SQ_TRY(read_uint(r, length, "length of a sub-block", 1 << 20, &l->length));
    SQ_TRY(read_choice(r, scale, "scale of a sub-block", scales, &word));
    if (word > 0) {
        NEED(i == 0 && t->n_levels == 1 && !bits && !limit, r, n,
             "blocks.%u.scale = %s, need it as blocks.1 alone, without bits and at", i + 1,
             scales[word]);
        t->sub_scale = (struct sq_bs_sub_scale){l->length, 4 + (word - 1) % 3 * 2, word > 3};
        t->n_levels = 0;
        return SQ_OK;
    }
    NEED(bits, r, n, "blocks.%u: key bits is missing", i + 1);
    SQ_TRY(read_uint(r, bits, "bits of a sub-block", 255, &l->bits));
    if (limit) {
        SQ_TRY(read_text(r, limit, "at", name));
        NEED(is_number(name, &v) && v > 0, r, limit, "blocks.%u.at = %.30s, need a number > 0",
             i + 1, name);
    }
    l->at = (float)v;
    return SQ_OK;
}

// Defaults: the divisor is the largest value of the format; a level begins at the power of two where the
// levels below it end.
static void set_defaults(struct sq_bs_table *t)
{
    double most = largest(t);
    for (unsigned i = t->n_levels; i-- > 0;) {
        int e;
        if (t->level[i].at == 0) {
            (void)frexp(most, &e);
            t->level[i].at = ldexpf(1, e);
        }
        most = ldexp(most, t->level[i].bits < 8 ? (1 << t->level[i].bits) - 1 : 0);
    }
    for (unsigned i = 0; i < t->n_tries; i++)
        if (t->tries[i].divisor == 0)
            t->tries[i].divisor = (float)most;
}

static enum sq_status read_blocks(struct reader *r, node *n, struct sq_bs_table *t)
{
    const size_t n_levels = length_of(n);
    NEED(n_levels >= 1 && n_levels <= 1 + SQ_BS_TABLE_LEVELS, r, n,
         "blocks: %zu levels, need 1..%d", n_levels, 1 + SQ_BS_TABLE_LEVELS);
    SQ_TRY(read_block(r, at(r, n->data.sequence.items.start[0]), t));
    t->n_levels = (unsigned)n_levels - 1;
    for (unsigned i = 0; i + 1 < n_levels; i++)
        SQ_TRY(read_level(r, at(r, n->data.sequence.items.start[i + 1]), i, t));
    set_defaults(t);
    return SQ_OK;
}

// ---- all of it ------------------------------------------------------------------------------

static enum sq_status read_all(struct reader *r, struct sq_bs_description *d)
{
    static const char *const tensor[] = {"none", "token", "token2", "tensor", NULL},
                             *const operands[] = {"both", "weights", "act", NULL};
    static const unsigned act_scale[] = {SQ_BS_ACT_TOKEN, SQ_BS_ACT_TOKEN, SQ_BS_ACT_TOKEN2,
                                         SQ_BS_ACT_STATIC};
    node *name, *source, *elements, *blocks, *scale, *operand;
    struct sq_bs_table *const t = &d->table;
    struct sq_error inner;
    unsigned word;
    const struct key keys[] = {
        {"name", &name, true},     {"source", &source, false},     {"elements", &elements, true},
        {"blocks", &blocks, true}, {"tensor_scale", &scale, true}, {"operands", &operand, false},
        {NULL, NULL, false}};
    memset(d, 0, sizeof *d);
    SQ_TRY(read_keys(r, yaml_document_get_root_node(&r->document), "a description", keys));
    SQ_TRY(read_name(r, name, "name", t->name));
    NEED(!source || text_of(source), r, source, "source: need a line of text");
    SQ_TRY(read_elements(r, elements, t));
    SQ_TRY(read_blocks(r, blocks, t));
    SQ_TRY(read_choice(r, scale, "tensor_scale", tensor, &word));
    t->has_global = word > 0;
    SQ_TRY(read_choice(r, operand, "operands", operands, &d->operand));
    d->act_scale = d->operand == SQ_OPERAND_WEIGHTS ? SQ_BS_ACT_TOKEN : act_scale[word];
    const enum sq_status status = sq_bs_table_settle(t, &inner);
    return status == SQ_OK ? SQ_OK : SQ_FAIL(r->err, status, "%.60s: %s", r->what, inner.text);
}

// Whether the text has aliases, anchors, tags or a second document: then it is not one tree.
static bool is_no_tree(const void *text, size_t nbytes)
{
    yaml_parser_t parser;
    yaml_token_t token;
    bool has = false, is_end = false;
    size_t n_tokens = 0;
    if (!yaml_parser_initialize(&parser))
        return true;
    yaml_parser_set_input_string(&parser, text, nbytes);
    while (!has && !is_end && yaml_parser_scan(&parser, &token)) {
        has = token.type == YAML_ALIAS_TOKEN || token.type == YAML_ANCHOR_TOKEN ||
              token.type == YAML_TAG_TOKEN || token.type == YAML_DOCUMENT_END_TOKEN ||
              (token.type == YAML_DOCUMENT_START_TOKEN && n_tokens > 1);
        n_tokens++;
        is_end = token.type == YAML_STREAM_END_TOKEN;
        yaml_token_delete(&token);
    }
    yaml_parser_delete(&parser);
    return has;
}

enum sq_status sq_bs_describe(const void *text, size_t nbytes, const char *what,
                              struct sq_bs_description *d, struct sq_error *err)
{
    struct reader r = {.what = sq_path_tail(what), .err = err};
    yaml_parser_t parser;
    SQ_FAIL_IF(nbytes > SQ_BS_DESCRIPTION_MAX, err, SQ_ERR_ARG, "%.60s: %zu bytes, need at most %d",
               r.what, nbytes, SQ_BS_DESCRIPTION_MAX);
    SQ_FAIL_IF(is_no_tree(text, nbytes), err, SQ_ERR_ARG,
               "%.60s: need one document without anchors, aliases and tags", r.what);
    if (!yaml_parser_initialize(&parser))
        return SQ_NO_MEMORY(err, "%.60s", r.what);
    yaml_parser_set_input_string(&parser, text, nbytes);
    enum sq_status status;
    if (!yaml_parser_load(&parser, &r.document)) {
        status = SQ_FAIL(err, SQ_ERR_ARG, "%.60s: line %zu: no YAML: %.80s", r.what,
                         parser.problem_mark.line + 1, parser.problem ? parser.problem : "");
        yaml_parser_delete(&parser);
        return status;
    }
    status = yaml_document_get_root_node(&r.document)
                 ? read_all(&r, d)
                 : SQ_FAIL(err, SQ_ERR_ARG, "%.60s: empty, need a description", r.what);
    yaml_document_delete(&r.document);
    yaml_parser_delete(&parser);
    return status;
}

// ---- other values -----------------------------------------------------------------------------

// The scalar at a path of keys and numbers, "blocks.0.length"; NULL: there is none.
static node *scalar_at(struct reader *r, const char *path)
{
    node *n = yaml_document_get_root_node(&r->document);
    while (n && *path) {
        const size_t len = strcspn(path, ".");
        node *next = NULL;
        if (n->type == YAML_MAPPING_NODE)
            for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
                 p++) {
                const char *const key = text_of(at(r, p->key));
                if (key && strlen(key) == len && strncmp(key, path, len) == 0)
                    next = at(r, p->value);
            }
        else if (strspn(path, "0123456789") == len && len > 0 && len < 4 &&
                 (size_t)atoi(path) < length_of(n))
            next = at(r, n->data.sequence.items.start[atoi(path)]);
        n = next;
        path += len + (path[len] == '.');
    }
    return n && n->type == YAML_SCALAR_NODE ? n : NULL;
}

// Replaces the scalar at `path` in *text by `value`; with is_name appends `value` to it instead.
static enum sq_status put(char **text, const char *what, const char *path, const char *value,
                          bool is_name, struct sq_error *err)
{
    struct reader r = {.what = sq_path_tail(what), .err = err};
    yaml_parser_t parser;
    char *to = NULL;
    size_t nbytes = strlen(*text);
    for (const char *c = *text; *c; c++)
        SQ_FAIL_IF((unsigned char)*c >= 0x80, err, SQ_ERR_ARG,
                   "%.60s: other values are only put into ASCII texts", r.what);
    if (!yaml_parser_initialize(&parser))
        return SQ_NO_MEMORY(err, "%.60s", r.what);
    yaml_parser_set_input_string(&parser, (const unsigned char *)*text, nbytes);
    const bool is_loaded = yaml_parser_load(&parser, &r.document);
    node *const n = is_loaded ? scalar_at(&r, path) : NULL;
    if (n) {
        const size_t from = is_name ? n->end_mark.index : n->start_mark.index;
        to = malloc(nbytes + strlen(value) + 1);
        if (to)
            sprintf(to, "%.*s%s%s", (int)from, *text, value, *text + n->end_mark.index);
    }
    if (is_loaded)
        yaml_document_delete(&r.document);
    yaml_parser_delete(&parser);
    SQ_FAIL_IF(!n, err, SQ_ERR_ARG, "%.60s has no value at %.40s", r.what, path);
    SQ_NEED(to, err, "%.60s", r.what);
    free(*text);
    *text = to;
    return SQ_OK;
}

enum sq_status sq_bs_describe_set(char **text, const char *what, const char *set, size_t len,
                                  struct sq_error *err)
{
    char path[TEXT], value[TEXT], name[TEXT];
    const char *const equals = memchr(set, '=', len);
    const size_t n = equals ? (size_t)(equals - set) : 0;
    SQ_FAIL_IF(n == 0 || n >= TEXT || len - n - 1 == 0 || len - n - 1 >= TEXT / 2, err, SQ_ERR_ARG,
               "%.60s: @%.40s, need @KEY=VALUE", sq_path_tail(what), set);
    snprintf(path, sizeof path, "%.*s", (int)n, set);
    snprintf(value, sizeof value, "%.*s", (int)(len - n - 1), equals + 1);
    SQ_FAIL_IF(strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_.+- /()") != strlen(value), err,
               SQ_ERR_ARG, "%.60s: %s = %s, need a word or a number", sq_path_tail(what), path,
               value);
    const char *const dot = strrchr(path, '.');
    snprintf(name, sizeof name, "_%.30s_%.39s", dot ? dot + 1 : path, value);
    for (char *c = name; *c; c++)
        *c = strchr(" .+-/()", *c) ? '_' : *c;
    SQ_TRY(put(text, what, path, value, false, err));
    return put(text, what, "name", name, true, err);
}
