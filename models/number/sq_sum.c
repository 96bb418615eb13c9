// SPDX-License-Identifier: Apache-2.0
// Sums of tensor cores (sq_sum.h).
#include "models/number/sq_sum.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/number/sq_lanes.h"

const struct sq_sum_type sq_sum_types[] = {
    {"fp16", 16, 0, 5, 10, true, false},  {"bf16", 16, 0, 8, 7, true, false},
    {"tf32", 32, 13, 8, 10, true, false}, {"e5m2", 8, 0, 5, 2, true, false},
    {"e4m3", 8, 0, 4, 3, false, true},    {"e3m2", 8, 0, 3, 2, false, false},
    {"e2m3", 8, 0, 2, 3, false, false},   {"e2m1", 8, 0, 2, 1, false, false},
    {NULL, 0, 0, 0, 0, false, false}};

double sq_sum_decode(const struct sq_sum_type *t, uint32_t code, int16_t *exponent)
{
    const uint32_t bits = code >> t->shift, fraction_max = (UINT32_C(1) << t->fraction_bits) - 1;
    const uint32_t top = (UINT32_C(1) << t->exponent_bits) - 1;
    const uint32_t fraction = bits & fraction_max, e = bits >> t->fraction_bits & top;
    const bool is_negative = bits >> (t->fraction_bits + t->exponent_bits) & 1;
    const int bias = (int)(top >> 1), at = e ? (int)e - bias : 1 - bias;
    const uint32_t m = e ? fraction | (fraction_max + 1) : fraction;
    *exponent = (int16_t)(m ? at : SQ_SUM_ZERO);
    double v = ldexp((double)m, at - (int)t->fraction_bits);
    if (t->has_infinity && e == top)
        v = fraction ? (double)NAN : (double)INFINITY;
    else if (t->has_nan && e == top && fraction == fraction_max)
        v = (double)NAN;
    return is_negative ? -v : v;
}

enum sq_status sq_sum_check(const struct sq_sum_rule *r, struct sq_error *err)
{
    const unsigned most = r->by_value ? SQ_SUM_ALIGNED_MAX : SQ_SUM_ALIGNED_MAX - 4;
    SQ_FAIL_IF((r->step < 1 && r->aligned != SQ_SUM_EXACT) || r->step > SQ_SUM_STEP_MAX, err,
               SQ_ERR_ARG, "step = %u, need 1..%d, or 0 with aligned: exact", r->step,
               SQ_SUM_STEP_MAX);
    SQ_FAIL_IF(r->groups < 1 || r->groups > SQ_SUM_GROUPS_MAX, err, SQ_ERR_ARG,
               "groups = %u, need 1..%d", r->groups, SQ_SUM_GROUPS_MAX);
    SQ_FAIL_IF(r->aligned != SQ_SUM_EXACT && (r->aligned < SQ_SUM_ALIGNED_MIN || r->aligned > most),
               err, SQ_ERR_ARG, "aligned = %u, need exact, or %d..%u", r->aligned,
               SQ_SUM_ALIGNED_MIN, most);
    SQ_FAIL_IF(r->kept < 1 || (r->kept > 23 && r->kept != 52), err, SQ_ERR_ARG,
               "kept = %u, need 1..23 or 52", r->kept);
    SQ_FAIL_IF(r->c == SQ_SUM_C_AFTER && (r->kept > 23 || r->last), err, SQ_ERR_ARG,
               "c = after: a binary32 is added to one, need kept of 1..23, no last");
    SQ_FAIL_IF(r->last > 23 && r->last != 52, err, SQ_ERR_ARG, "last = %u, need 1..23 or 52",
               r->last);
    SQ_FAIL_IF(r->emin < SQ_SUM_EMIN_MIN || r->emin > SQ_SUM_EMIN_MAX, err, SQ_ERR_ARG,
               "emin = %d, need %d..%d", r->emin, SQ_SUM_EMIN_MIN, SQ_SUM_EMIN_MAX);
    return SQ_OK;
}

bool sq_sum_rule_equal(const struct sq_sum_rule *a, const struct sq_sum_rule *b)
{
    return a->step == b->step && a->groups == b->groups && a->aligned == b->aligned &&
           a->by_value == b->by_value && a->emin == b->emin && a->kept == b->kept &&
           a->is_nearest == b->is_nearest && a->last == b->last && a->c == b->c;
}

// ---- a fixed-point number that holds every sum ------------------------------------------------------

// Digit i is a multiple of 2^(32 i - 1280); carries are left in it until the end.
enum { DIGITS = 80, LEAST = -1280 };
struct wide {
    int64_t digit[DIGITS];
};

static void wide_add(struct wide *w, double v)
{
    int e;
    const double f = frexp(v, &e); // v = f 2^e
    const int64_t m = (int64_t)ldexp(fabs(f), 53);
    if (m == 0)
        return;
    const int place = e - 53 - LEAST;
    assert(place >= 0 && place < 32 * (DIGITS - 4));
    uint64_t low = (uint64_t)m << 11 >> 11; // 53 bits, in three digits
    const unsigned shift = (unsigned)place % 32, at = (unsigned)place / 32;
    const uint64_t digit[3] = {low << shift & UINT32_MAX, low >> (32 - shift) & UINT32_MAX,
                               shift ? low >> 32 >> (32 - shift) : 0};
    for (unsigned i = 0; i < 3; i++)
        w->digit[at + i] += f < 0 ? -(int64_t)digit[i] : (int64_t)digit[i];
}

// Carries go up: every digit is then 0 .. 2^32 - 1. What is left at the top: -1 of a negative number, else 0.
static int64_t wide_carry(struct wide *w)
{
    int64_t carry = 0;
    for (unsigned i = 0; i < DIGITS; i++) {
        const int64_t v = w->digit[i] + carry;
        w->digit[i] = v & UINT32_MAX;
        carry = (v - w->digit[i]) / (INT64_C(1) << 32);
    }
    return carry;
}

static int length_of(uint64_t v)
{
    return v ? 64 - __builtin_clzll(v) : 0;
}

// Its sign and magnitude: the 64 bits below its leading one, the exponent of the last of them, and whether any bit below
// is set.
static uint64_t wide_top(struct wide *w, bool *is_negative, int *place, bool *is_more)
{
    *is_negative = wide_carry(w) < 0;
    if (*is_negative) {
        for (unsigned i = 0; i < DIGITS; i++)
            w->digit[i] = UINT32_MAX - w->digit[i];
        w->digit[0]++;
        wide_carry(w);
    }
    int top = DIGITS - 1;
    while (top > 2 && w->digit[top] == 0)
        top--;
    const uint64_t upper = (uint64_t)w->digit[top] << 32 | (uint64_t)w->digit[top - 1];
    const uint64_t lower = (uint64_t)w->digit[top - 2];
    const int up = 64 - length_of(upper), shift = up < 32 ? up : 32;
    *place = 32 * (top - 1) - shift + LEAST;
    *is_more = (lower << shift & UINT32_MAX) != 0;
    for (int i = 0; i < top - 2 && !*is_more; i++)
        *is_more = w->digit[i] != 0;
    return upper << (shift % 64) | lower >> (32 - shift);
}

// ---- rounding ----------------------------------------------------------------------------------------

// magnitude 2^place, and a bit below it where is_more, with `fraction` bits below the leading one.
static double rounded(uint64_t magnitude, bool is_negative, int place, bool is_more,
                      unsigned fraction, bool is_nearest)
{
    if (magnitude == 0)
        return 0;
    const int least = fraction <= 23 ? -126 : -1022; // of binary32 and binary64
    const int top = place + length_of(magnitude) - 1, e = top < least ? least : top;
    const int drop = e - (int)fraction - place;
    if (drop > 0) {
        const uint64_t upper = drop < 64 ? magnitude >> drop : 0;
        const uint64_t rest = drop < 64 ? magnitude - (upper << drop) : magnitude;
        const uint64_t half = drop <= 64 ? UINT64_C(1) << (drop - 1) : 0;
        const bool is_up =
            is_nearest && half && (rest > half || (rest == half && (is_more || (upper & 1))));
        magnitude = upper + is_up;
        place += drop;
    }
    const double v = ldexp((double)magnitude, place);
    const double most = fraction <= 23 && v >= 0x1p128 ? (double)INFINITY : v;
    return is_negative ? -most : most;
}

// ---- a step ------------------------------------------------------------------------------------------

// Exponent of a number, at least that of the smallest normal binary32 where it is one with few fraction bits.
static int exponent_of(double v, unsigned kept)
{
    const int e = v == 0 ? SQ_SUM_ZERO : ilogb(v);
    return v != 0 && kept <= 23 && e < -126 ? -126 : e;
}

// t[n] without what is below `place`, as a multiple of 2^place; `to`: where what is kept of each goes, or NULL.
static int64_t cut_sum(const double *t, size_t n, size_t stride, int place, double *to)
{
    int64_t sum = 0;
    const double up = ldexp(1, -place);
    for (size_t i = 0; i < n; i += stride) {
        const int64_t v = (int64_t)(t[i] * up);
        sum += v;
        if (to)
            to[i] = ldexp((double)v, place);
    }
    return sum;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

// What a step adds up: sum 2^place.
struct part {
    int64_t sum;
    int place, exponent;
};

// That sum with what is below another place cut off.
static int64_t lowered(const struct part *p, int place)
{
    const int by = place - p->place;
    return by <= 0 ? p->sum : by > 62 ? 0 : p->sum / (INT64_C(1) << by);
}

// The largest exponent of the terms of one group.
static int exponent_of_terms(const struct sq_sum_rule *r, const double *t, const int16_t *ea,
                             const int16_t *eb, size_t n)
{
    int e = SQ_SUM_ZERO;
    if (r->by_value) {
        double most = 0;
        for (size_t i = 0; i < n; i += r->groups)
            most = fmax(most, fabs(t[i]));
        return most == 0 ? SQ_SUM_ZERO : ilogb(most);
    }
    for (size_t i = 0; i < n; i += r->groups)
        e = larger(e, ea[i] + eb[i]); // a zero's is far below all others
    return e < SQ_SUM_ZERO / 2 ? SQ_SUM_ZERO : e;
}

// The sum so far is among the terms of one group, and comes after the sums of several.
static struct part add_aligned(const struct sq_sum_rule *r, const double *t, const int16_t *ea,
                               const int16_t *eb, size_t n, double before, double *kept)
{
    const int aligned = (int)r->aligned, of_before = exponent_of(before, r->kept);
    const bool is_among = r->groups == 1;
    struct part all = {0, 0, SQ_SUM_ZERO}, part[SQ_SUM_GROUPS_MAX];
    for (unsigned g = 0; g < r->groups && g < n; g++) {
        struct part *const p = &part[g];
        p->exponent = exponent_of_terms(r, t + g, ea ? ea + g : NULL, eb ? eb + g : NULL, n - g);
        if (is_among)
            p->exponent = larger(p->exponent, of_before);
        if (p->exponent != SQ_SUM_ZERO)
            p->exponent = larger(p->exponent, r->emin);
        p->place = p->exponent - aligned;
        p->sum = 0;
        if (p->exponent != SQ_SUM_ZERO)
            p->sum = cut_sum(t + g, n - g, r->groups, p->place, kept ? kept + g : NULL);
        all.exponent = larger(all.exponent, p->exponent);
    }
    if (!is_among)
        all.exponent = larger(all.exponent, of_before);
    if (all.exponent == SQ_SUM_ZERO)
        return all;
    all.place = all.exponent - aligned;
    for (unsigned g = 0; g < r->groups && g < n; g++)
        if (part[g].exponent != SQ_SUM_ZERO)
            all.sum += lowered(&part[g], all.place);
    all.sum += cut_sum(&before, 1, 1, all.place, NULL);
    return all;
}

// No term is cut off.
static double add_exact(const double *a, const double *b, size_t n, double before,
                        unsigned fraction, bool is_nearest, double *sum)
{
    struct wide w = {{0}};
    bool is_negative = false, is_more = false;
    int place = 0;
    for (size_t i = 0; i < n; i++)
        wide_add(&w, a[i] * b[i]);
    wide_add(&w, before);
    const uint64_t m = wide_top(&w, &is_negative, &place, &is_more);
    *sum = rounded(m, is_negative, place, is_more, 52, true);
    return rounded(m, is_negative, place, is_more, fraction, is_nearest);
}

// A step: its products are the first n. `step` says what comes before it, and receives the rest but for .after.
static double add_step(const struct sq_sum_rule *r, const double *a, const int16_t *ea,
                       const double *b, const int16_t *eb, unsigned fraction, bool is_told,
                       double *t, struct sq_sum_trace *step)
{
    const double before = r->c == SQ_SUM_C_AFTER ? 0 : step->before;
    const size_t n = step->n, n_terms = n < SQ_SUM_STEP_MAX ? n : SQ_SUM_STEP_MAX;
    double plain = step->before, sum; // says whether there is an infinity or NaN
    for (size_t i = 0; i < n; i++)
        plain += a[i] * b[i];
    if (!isfinite(plain))
        return plain;
    for (size_t i = 0; i < n_terms; i++)
        step->kept[i] = t[i] = a[i] * b[i];
    if (r->aligned == SQ_SUM_EXACT) {
        sum = add_exact(a, b, n, before, fraction, r->is_nearest, &step->sum);
    } else {
        const struct part p = add_aligned(r, t, ea, eb, n, before, is_told ? step->kept : NULL);
        const uint64_t m = p.sum < 0 ? -(uint64_t)p.sum : (uint64_t)p.sum;
        step->exponent = p.exponent;
        step->place = p.place;
        step->sum = ldexp((double)p.sum, p.place);
        sum = rounded(m, p.sum < 0, p.place, false, fraction, r->is_nearest);
    }
    return r->c == SQ_SUM_C_AFTER ? (double)((float)sum + (float)step->before) : sum;
}

// One product at a time, rounded to binary32: a chain of fused multiply-adds, where all factors are binary32.
static bool is_chain(const struct sq_sum_rule *r)
{
    return r->step == 1 && r->groups == 1 && r->aligned == SQ_SUM_EXACT && r->kept == 23 &&
           r->is_nearest && (r->last == 0 || r->last == 23) && r->c == SQ_SUM_C_AMONG;
}

static bool add_chain(const double *a, const double *b, size_t n, double c, double *sum)
{
    float acc = (float)c;
    bool is_same = (double)acc == c;
    for (size_t i = 0; i < n && is_same; i++) {
        const float x = (float)a[i], y = (float)b[i];
        acc = fmaf(x, y, acc);
        is_same = (double)x == a[i] && (double)y == b[i] && isfinite(acc);
    }
    *sum = (double)acc;
    return is_same && acc != 0; // the sign of a zero is decided with the terms
}

// Steps of one group by factors, of 16 or 32 products, are added up side by side in integers of 32 bits. No term has more
// than four bits above the largest exponent: two of a product of significands, two of the scales of blocks.
enum { QUICK_ALIGNED = 25 };
typedef double eight __attribute__((vector_size(64)));
typedef double eight_at __attribute__((vector_size(64), aligned(8), may_alias));
typedef int32_t eight_int __attribute__((vector_size(32)));
typedef int64_t eight_long __attribute__((vector_size(64)));
typedef int16_t eight_short_at __attribute__((vector_size(16), aligned(2), may_alias));

static bool is_quick(const struct sq_sum_rule *r, size_t n)
{
    return (r->step == 16 || r->step == 32) && n % 16 == 0 && r->groups == 1 && !r->by_value &&
           r->aligned != SQ_SUM_EXACT && r->aligned <= QUICK_ALIGNED && r->kept <= 23 &&
           r->last <= 23 && !r->is_nearest;
}

static double power_of_two(int e) // -1022..1023
{
    const uint64_t bits = (uint64_t)(e + 1023) << 52;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static int exponent_in(double v) // of a normal number
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (int)(bits >> 52 & 2047) - 1023;
}

// v without what is below `fraction` bits, into *v; false where it is no normal binary32.
static bool cut_normal(double *v, unsigned fraction)
{
    uint64_t bits;
    if (!(fabs(*v) >= 0x1p-126 && fabs(*v) < 0x1p128))
        return *v == 0;
    memcpy(&bits, v, sizeof bits);
    bits &= ~UINT64_C(0) << (52 - fraction);
    memcpy(v, &bits, sizeof bits);
    return true;
}

// The sum by such steps; false where a number is infinite, NaN or no normal binary32.
SQ_LANES_BODY bool add_quick_body(const struct sq_sum_rule *r, const double *a, const int16_t *ea,
                                  const double *b, const int16_t *eb, size_t n, double c,
                                  double *sum)
{
    const bool is_after = r->c == SQ_SUM_C_AFTER;
    double so_far = r->c == SQ_SUM_C_NONE ? 0 : c;
    eight poison = {0}; // NaN where a term is infinite or NaN
    if (!cut_normal(&so_far, 52))
        return false;
    for (size_t first = 0; first < n; first += r->step) {
        const size_t end = n - first < r->step ? n : first + r->step;
        const double before = is_after ? 0 : so_far;
        eight_int most = {0}, total = {0};
        most += SQ_SUM_ZERO;
        for (size_t i = first; i < end; i += 8) {
            const eight_int e =
                __builtin_convertvector(*(const eight_short_at *)&ea[i], eight_int) +
                __builtin_convertvector(*(const eight_short_at *)&eb[i], eight_int);
            const eight_int is_more = e > most;
            most = (e & is_more) | (most & ~is_more);
        }
        int e = larger(before == 0 ? SQ_SUM_ZERO : exponent_in(before), r->emin);
        for (unsigned i = 0; i < 8; i++)
            e = larger(e, most[i]);
        const double up = power_of_two((int)r->aligned - e);
        for (size_t i = first; i < end; i += 8) {
            const eight v = *(const eight_at *)&a[i] * *(const eight_at *)&b[i] * up;
            poison += v * 0;
            total += __builtin_convertvector(v, eight_int);
        }
        const eight_long wide_total = __builtin_convertvector(total, eight_long);
        int64_t sum_of = (int64_t)(before * up);
        for (unsigned i = 0; i < 8; i++)
            sum_of += wide_total[i];
        double v = (double)sum_of * power_of_two(e - (int)r->aligned);
        if (!cut_normal(&v, r->last && end == n ? r->last : r->kept))
            return false;
        so_far = is_after ? (double)((float)v + (float)so_far) : v;
    }
    for (unsigned i = 0; i < 8; i++)
        so_far += poison[i];
    *sum = so_far;
    return isfinite(so_far);
}

SQ_LANES_EACH(bool, return, add_quick,
              (const struct sq_sum_rule *r, const double *a, const int16_t *ea, const double *b,
               const int16_t *eb, size_t n, double c, double *sum),
              r, a, ea, b, eb, n, c, sum)

double sq_sum(const struct sq_sum_rule *r, const double *a, const int16_t *ea, const double *b,
              const int16_t *eb, size_t n, double c,
              void (*tell)(void *context, const struct sq_sum_trace *step), void *context)
{
    struct sq_sum_trace step;
    double t[SQ_SUM_STEP_MAX];
    const size_t most = r->step ? r->step : n;
    assert(sq_sum_check(r, NULL) == SQ_OK);
    if (!tell && is_chain(r) && add_chain(a, b, n, c, &step.sum))
        return step.sum;
    if (!tell && is_quick(r, n) && SQ_LANES_BEST(add_quick)(r, a, ea, b, eb, n, c, &step.sum))
        return step.sum;
    step.after = r->c == SQ_SUM_C_NONE ? 0 : c;
    step.term = t;
    for (size_t first = 0; first < n; first += step.n) {
        step.first = first;
        step.n = n - first < most ? n - first : most;
        step.before = step.after;
        step.exponent = step.place = SQ_SUM_ZERO;
        step.sum = 0;
        const unsigned fraction = r->last && first + step.n == n ? r->last : r->kept;
        step.after = add_step(r, a + first, ea ? ea + first : NULL, b + first,
                              eb ? eb + first : NULL, fraction, tell != NULL, t, &step);
        if (tell)
            tell(context, &step);
    }
    return step.after;
}
