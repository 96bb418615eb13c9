// SPDX-License-Identifier: Apache-2.0
// Finds the rule by which a device sums, from sums that it made (sq_sum_fit.h).
#include "sim/gpu/sq_sum_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "models/number/sq_bits.h"
#include "models/sq_rng.h"
#include "sim/io/sq_grow.h"
#include "sim/io/sq_quote.h"

enum { CODES_MAX = 65536, LENGTH_MAX = 4096, ROWS_MAX = 1000000, LINE_MAX_NBYTES = 1 << 17 };

// ---- texts -------------------------------------------------------------------------------------------

static size_t digits_of(const struct sq_sum_type *t)
{
    return (t->code_bits + 3) / 4;
}

static const char *shown(const char *text, char quoted[64])
{
    sq_quote_text(quoted, 64, text);
    return quoted;
}

// Reads a word of hex digits, of which 9 are too many; returns its end.
static const char *read_hex(const char *s, uint32_t *v, size_t *digits)
{
    *v = 0;
    for (*digits = 0; *digits < 9; ++*digits, s++) {
        const int c = *s | 0x20;
        const bool is_digit = *s >= '0' && *s <= '9';
        if (!is_digit && (c < 'a' || c > 'f'))
            break;
        *v = *v << 4 | (uint32_t)(is_digit ? *s - '0' : c - 'a' + 10);
    }
    return s;
}

static enum sq_status read_codes(const struct sq_sum_type *type, const char *name, const char *text,
                                 double **values, int16_t **exponents, size_t *n,
                                 struct sq_error *err)
{
    const size_t room = strlen(text) / 2 + 1;
    char quoted[64];
    *n = 0;
    *values = malloc(room * sizeof **values);
    *exponents = malloc(room * sizeof **exponents);
    if (!*values || !*exponents)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "no memory for %zu codes", room);
    for (const char *s = text; *(s += strspn(s, " ")); ++*n) {
        uint32_t code;
        size_t digits;
        const char *const end = read_hex(s, &code, &digits);
        if (digits == 0 || digits > digits_of(type) || (*end != ' ' && *end != '\0') ||
            (type->shift && (code & ((UINT32_C(1) << type->shift) - 1))) ||
            code >> type->shift >> (type->exponent_bits + type->fraction_bits + 1) ||
            *n == CODES_MAX)
            return SQ_FAIL(
                err, SQ_ERR_ARG,
                "%s = ..%s, need at most %d codes of %s in hex, 1..%zu digits each, blanks between",
                name, shown(s, quoted), CODES_MAX, type->name, digits_of(type));
        (*values)[*n] = sq_sum_decode(type, code, &(*exponents)[*n]);
        s = end;
    }
    return SQ_OK;
}

void sq_sum_operands_free(struct sq_sum_operands *o)
{
    free(o->a);
    free(o->b);
    free(o->ea);
    free(o->eb);
    memset(o, 0, sizeof *o);
}

static enum sq_status read_single(const char *name, const char *text, uint32_t *bits,
                                  struct sq_error *err)
{
    size_t digits;
    char quoted[64];
    const char *const end = read_hex(text, bits, &digits);
    if (digits < 1 || digits > 8 || *end != '\0')
        return SQ_FAIL(err, SQ_ERR_ARG, "%s = %s, need a binary32 in hex", name,
                       shown(text, quoted));
    return SQ_OK;
}

enum sq_status sq_sum_operands_read(const struct sq_sum_type *type, const char *a, const char *b,
                                    const char *c, struct sq_sum_operands *o, struct sq_error *err)
{
    size_t n = 0;
    uint32_t bits = 0;
    *o = (struct sq_sum_operands){.n = 0};
    enum sq_status status = read_codes(type, "a", a, &o->a, &o->ea, &o->n, err);
    SQ_THEN(status, read_codes(type, "b", b, &o->b, &o->eb, &n, err));
    SQ_THEN(status, read_single("c", c, &bits, err));
    if (status == SQ_OK && (n != o->n || n == 0))
        status = SQ_FAIL(err, SQ_ERR_ARG, "a has %zu codes, b %zu, need as many, and one at least",
                         o->n, n);
    o->c = (double)sq_float_of(bits);
    if (status != SQ_OK)
        sq_sum_operands_free(o);
    return status;
}

uint32_t sq_sum_bits(const struct sq_sum_rule *r, const struct sq_sum_operands *o)
{
    return sq_bits_of((float)sq_sum(r, o->a, o->ea, o->b, o->eb, o->n, o->c, NULL, NULL));
}

// Whether a device may have made `want` of it: any NaN is a NaN, and zeros have no sign.
static bool agrees(uint32_t got, uint32_t want)
{
    const uint32_t magnitude = UINT32_MAX >> 1, infinity = UINT32_C(0x7f800000);
    if ((want & magnitude) > infinity)
        return (got & magnitude) > infinity;
    return got == want || ((got | want) & magnitude) == 0;
}

// ---- files -------------------------------------------------------------------------------------------

void sq_sum_set_free(struct sq_sum_set *s)
{
    for (size_t i = 0; i < s->n_rows; i++)
        free(s->row[i].a);
    free(s->row);
    memset(s, 0, sizeof *s);
}

// Reads the fields of a line; the row keeps a copy of it.
static enum sq_status read_row(char *line, struct sq_sum_set *s, struct sq_error *err)
{
    struct sq_sum_text *const row = &s->row[s->n_rows];
    uint32_t code;
    char *field[4] = {strdup(line)};
    if (!field[0])
        return SQ_FAIL(err, SQ_ERR_MEMORY, "no memory for a row");
    unsigned n = 1;
    for (char *p = field[0]; n <= 4 && (p = strchr(p, ',')); n++) {
        *p++ = '\0';
        if (n < 4)
            field[n] = p;
    }
    *row = (struct sq_sum_text){field[0], field[1], field[2], 0};
    enum sq_status status = n == 4 ? read_single("d", field[3], &row->d, err)
                                   : SQ_FAIL(err, SQ_ERR_ARG, "%u columns, need a, b, c and d", n);
    size_t digits = 0;
    if (status == SQ_OK)
        read_hex(row->a + strspn(row->a, " "), &code, &digits);
    if (status == SQ_OK && s->n_rows == 0)
        s->digits = digits;
    if (status != SQ_OK)
        free(field[0]);
    else
        s->n_rows++;
    return status;
}

static enum sq_status read_rows(gzFile f, char *line, struct sq_sum_set *s, struct sq_error *err)
{
    struct sq_error inner;
    size_t number = 0;
    while (gzgets(f, line, LINE_MAX_NBYTES)) {
        const size_t length = strcspn(line, "\r\n");
        number++;
        if (line[length] == '\0' && !gzeof(f))
            return SQ_FAIL(err, SQ_ERR_ARG, "line %zu, need at most %d characters", number,
                           LINE_MAX_NBYTES - 2);
        line[length] = '\0';
        if (number == 1 && strcmp(line, "a,b,c,d") != 0)
            return SQ_FAIL(err, SQ_ERR_ARG, "line 1, need a,b,c,d");
        if (number == 1 || length == 0)
            continue;
        if (s->n_rows == ROWS_MAX)
            return SQ_FAIL(err, SQ_ERR_RANGE, "more rows than %d", ROWS_MAX);
        SQ_TRY(SQ_GROW(s->row, s->n_rows, err, "%zu rows", s->n_rows));
        if (read_row(line, s, &inner) != SQ_OK)
            return SQ_FAIL(err, SQ_ERR_ARG, "line %zu: %.150s", number, inner.text);
    }
    if (!gzeof(f))
        return SQ_FAIL(err, SQ_ERR_IO, "cannot be read to its end");
    return s->n_rows ? SQ_OK : SQ_FAIL(err, SQ_ERR_ARG, "no rows, need one at least");
}

enum sq_status sq_sum_set_load(const char *path, struct sq_sum_set *s, struct sq_error *err)
{
    struct sq_error inner;
    char quoted[64];
    *s = (struct sq_sum_set){.n_rows = 0};
    const char *const name = shown(path, quoted);
    gzFile f = gzopen(path, "rb");
    SQ_FREED char *line = malloc(LINE_MAX_NBYTES);
    enum sq_status status = !line ? SQ_FAIL(err, SQ_ERR_MEMORY, "no memory for a line")
                            : f   ? read_rows(f, line, s, &inner)
                                  : SQ_FAIL(err, SQ_ERR_IO, "'%s' cannot be opened", name);
    if (f && line && status != SQ_OK)
        status = SQ_FAIL(err, status, "'%s': %.160s", name, inner.text);
    if (f)
        gzclose(f);
    if (status != SQ_OK)
        sq_sum_set_free(s);
    return status;
}

// The operands of all rows, [n_rows]; the caller frees them.
static enum sq_status read_all(const struct sq_sum_set *s, const struct sq_sum_type *type,
                               struct sq_sum_operands **all, struct sq_error *err)
{
    struct sq_error inner;
    enum sq_status status = SQ_OK;
    *all = calloc(s->n_rows, sizeof **all);
    if (!*all)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "no memory for %zu rows", s->n_rows);
    for (size_t i = 0; i < s->n_rows && status == SQ_OK; i++) {
        struct sq_sum_operands *const o = &(*all)[i];
        status = sq_sum_operands_read(type, s->row[i].a, s->row[i].b, s->row[i].c, o, &inner);
        if (status == SQ_OK && (o->n != (*all)[0].n || o->n > LENGTH_MAX))
            status = SQ_FAIL(&inner, SQ_ERR_ARG, "%zu codes, need %zu as in row 1, at most %d",
                             o->n, (*all)[0].n, LENGTH_MAX);
        if (status != SQ_OK)
            SQ_FAIL(err, status, "row %zu: %.150s", i + 1, inner.text);
    }
    return status;
}

static void free_all(const struct sq_sum_set *s, struct sq_sum_operands *all)
{
    for (size_t i = 0; all && i < s->n_rows; i++)
        sq_sum_operands_free(&all[i]);
    free(all);
}

enum sq_status sq_sum_set_check(const struct sq_sum_set *s, const struct sq_sum_type *type,
                                const struct sq_sum_rule *r, size_t *n_bad, size_t *first,
                                struct sq_error *err)
{
    struct sq_sum_operands *all;
    const enum sq_status status = read_all(s, type, &all, err);
    *n_bad = 0;
    *first = s->n_rows;
    for (size_t i = 0; status == SQ_OK && i < s->n_rows; i++)
        if (!agrees(sq_sum_bits(r, &all[i]), s->row[i].d)) {
            *first = *n_bad ? *first : i;
            ++*n_bad;
        }
    free_all(s, all);
    return status;
}

// ---- the grid ----------------------------------------------------------------------------------------

enum { ALIGNED_LAST = 40, EMIN_FIRST = -150, EMIN_LAST = -120, SMALL = -110, FITTED_MAX = 1 << 16 };

// Rule `number` of the grid; false: there are no more.
static bool rule_of(size_t number, size_t length, struct sq_sum_rule *r)
{
    const size_t n_aligned = 2 * (ALIGNED_LAST - SQ_SUM_ALIGNED_MIN + 1) + 1;
    const size_t place_of_aligned = number % n_aligned, rest = number / n_aligned;
    unsigned step = 1;
    for (size_t i = 0; i < rest / 12; i++) {
        if (step >= length || step >= SQ_SUM_STEP_MAX)
            return false;
        step *= 2;
    }
    *r = (struct sq_sum_rule){.step = step,
                              .groups = 1 + (unsigned)(rest % 2),
                              .by_value = place_of_aligned % 2,
                              .emin = SQ_SUM_EMIN_MIN,
                              .is_nearest = rest / 2 % 2,
                              .c = (enum sq_sum_c)(rest / 4 % 3)};
    r->aligned =
        place_of_aligned ? SQ_SUM_ALIGNED_MIN + (unsigned)(place_of_aligned - 1) / 2 : SQ_SUM_EXACT;
    r->kept = r->aligned && r->aligned < 23 ? r->aligned : 23;
    return true;
}

// Whether the rule equals one with groups = 1: exact sums and steps of one product have no groups.
static bool is_alike(const struct sq_sum_rule *r)
{
    return r->groups == 2 && (r->aligned == SQ_SUM_EXACT || r->step == 1);
}

// Whether emin may matter: all terms are small.
static bool is_small(const struct sq_sum_operands *o)
{
    if (o->c != 0 && ilogb(o->c) >= SMALL)
        return false;
    for (size_t i = 0; i < o->n; i++)
        if (o->ea[i] + o->eb[i] >= SMALL)
            return false;
    return true;
}

static bool gives_all(const struct sq_sum_rule *r, const struct sq_sum_set *s,
                      const struct sq_sum_operands *all, bool small)
{
    for (size_t i = 0; i < s->n_rows; i++)
        if (is_small(&all[i]) == small && !agrees(sq_sum_bits(r, &all[i]), s->row[i].d))
            return false;
    return true;
}

// Which emin give all rows; false: none.
static bool find_emin(struct sq_sum_fitted *f, const struct sq_sum_set *s,
                      const struct sq_sum_operands *all)
{
    bool is_found = false;
    for (int emin = EMIN_FIRST - 1; emin <= EMIN_LAST; emin++) {
        struct sq_sum_rule r = f->rule;
        r.emin = emin < EMIN_FIRST ? SQ_SUM_EMIN_MIN : emin;
        if (!gives_all(&r, s, all, true))
            continue;
        if (!is_found)
            f->emin_low = f->rule.emin = r.emin;
        f->emin_high = r.emin;
        is_found = true;
    }
    return is_found;
}

static enum sq_status fit_type(const struct sq_sum_set *s, const struct sq_sum_type *type,
                               void (*tell)(size_t done, size_t all), struct sq_sum_fitted *fitted,
                               size_t *n, size_t *n_tried, struct sq_error *err)
{
    struct sq_sum_operands *all;
    struct sq_sum_rule r;
    size_t n_grid = 0;
    enum sq_status status = read_all(s, type, &all, err);
    while (status == SQ_OK && rule_of(n_grid, all[0].n, &r))
        n_grid++;
    for (size_t i = 0; i < n_grid; i++) {
        rule_of(i, all[0].n, &r);
        if (tell)
            tell(i + 1, n_grid);
        if (is_alike(&r))
            continue;
        ++*n_tried;
        struct sq_sum_fitted f = {.type = type, .rule = r};
        if (*n < FITTED_MAX && gives_all(&r, s, all, false) && find_emin(&f, s, all))
            fitted[(*n)++] = f;
    }
    free_all(s, all);
    return status;
}

enum sq_status sq_sum_fit(const struct sq_sum_set *s, const struct sq_sum_type *type,
                          void (*tell)(size_t done, size_t all), struct sq_sum_fitted **fitted,
                          size_t *n, size_t *n_tried, struct sq_error *err)
{
    enum sq_status status = SQ_OK;
    bool is_any = false;
    *n = *n_tried = 0;
    *fitted = malloc(FITTED_MAX * sizeof **fitted);
    if (!*fitted)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "no memory for the rules that fit");
    for (const struct sq_sum_type *t = sq_sum_types; t->name && status == SQ_OK; t++) {
        if (type ? t != type
                 : digits_of(t) != s->digits || t->code_bits % 8 || t->exponent_bits < 4)
            continue;
        is_any = true;
        status = fit_type(s, t, tell, *fitted, n, n_tried, err);
    }
    if (status == SQ_OK && !is_any)
        status =
            SQ_FAIL(err, SQ_ERR_ARG, "a has codes of %zu hex digits, need 2, 4 or 8", s->digits);
    if (status != SQ_OK)
        free(*fitted);
    return status;
}

// ---- the next input ----------------------------------------------------------------------------------

// Codes whose exponents lie anywhere, or near one of three places, so that some terms lose bits and others all of them.
static void draw_codes(const struct sq_sum_type *t, struct sq_rng *rng, size_t n, char *text,
                       size_t nbytes)
{
    const uint32_t most = (UINT32_C(1) << t->exponent_bits) - 1 - t->has_infinity;
    size_t at = 0;
    const uint32_t centre = (most >> 1) + sq_rng_below(rng, 7) - 3;
    const bool is_wide = sq_rng_below(rng, 3) == 0, is_low = sq_rng_below(rng, 16) == 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t e = is_wide ? sq_rng_below(rng, most + 1) : centre + sq_rng_below(rng, 24) - 12;
        e = is_low ? sq_rng_below(rng, 4) : e > most ? sq_rng_below(rng, most + 1) : e;
        uint32_t f = sq_rng_below(rng, UINT32_C(1) << t->fraction_bits);
        if (t->has_nan && e == most && f == (UINT32_C(1) << t->fraction_bits) - 1)
            f = 0;
        const uint32_t sign = sq_rng_below(rng, 2) << (t->exponent_bits + t->fraction_bits);
        at += (size_t)snprintf(text + at, nbytes - at, "%s%0*x", i ? " " : "", (int)digits_of(t),
                               (sign | e << t->fraction_bits | f) << t->shift);
    }
}

bool sq_sum_tell_apart(const struct sq_sum_fitted *x, const struct sq_sum_fitted *y, size_t length,
                       char *a, char *b, size_t nbytes, char c[9])
{
    struct sq_rng rng = {1};
    if (x->type != y->type || nbytes < length * (digits_of(x->type) + 1) + 1)
        return false;
    for (unsigned i = 0; i < 200000; i++) {
        struct sq_sum_operands o;
        draw_codes(x->type, &rng, length, a, nbytes);
        draw_codes(x->type, &rng, length, b, nbytes);
        snprintf(c, 9, "%08x",
                 sq_rng_below(&rng, 4)
                     ? (sq_rng_below(&rng, 2) << 31) | (sq_rng_below(&rng, 50) + 100) << 23 |
                           sq_rng_below(&rng, 1 << 23)
                     : 0);
        if (sq_sum_operands_read(x->type, a, b, c, &o, NULL) != SQ_OK)
            return false;
        const bool is_apart = !agrees(sq_sum_bits(&x->rule, &o), sq_sum_bits(&y->rule, &o));
        sq_sum_operands_free(&o);
        if (is_apart)
            return true;
    }
    return false;
}
