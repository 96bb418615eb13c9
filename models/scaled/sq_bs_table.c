// SPDX-License-Identifier: Apache-2.0
// Formats that a table describes (SPEC Q.9), block by block: checks of the table, choice of scale, grid
// and exponents, codes and values. sq_bs_table_rows.c has the same for rows.
#include "models/scaled/sq_bs_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_tile.h"

// ---- scales ---------------------------------------------------------------------------------

const char *sq_bs_scale_name(enum sq_bs_scale_type type)
{
    static const char *const name[] = {"e4m3", "e8m0", "ue5m3", "e6m2"};
    return name[type];
}

uint8_t sq_bs_scale_last(enum sq_bs_scale_type type)
{
    return type == SQ_BS_SCALE_E4M3 ? 0x7e : 0xfe;
}

float sq_bs_scale_decode(enum sq_bs_scale_type type, uint8_t code)
{
    if (code > sq_bs_scale_last(type))
        return NAN;
    return sq_bs_scale_value(type, code);
}

uint8_t sq_bs_scale_encode(enum sq_bs_scale_type type, float x)
{
    return (uint8_t)sq_bs_scale_code(type, x);
}

float sq_bs_scale_max(enum sq_bs_scale_type type)
{
    return sq_bs_scale_decode(type, sq_bs_scale_last(type));
}

// ---- the table ------------------------------------------------------------------------------

#define RANGE(...) SQ_FAIL(err, SQ_ERR_RANGE, __VA_ARGS__)

// Sorts the codes of a grid by their values; of two zeros the lower code stays.
static enum sq_status sort(struct sq_bs_table *t, unsigned grid, struct sq_error *err)
{
    struct sq_bs_sorted *s = &t->sorted[grid];
    const char *const name = t->grid_name[grid];
    const unsigned n_codes = 1u << (t->bits - t->is_signed[grid]);
    bool has_zero = false;
    s->n = 0;
    for (unsigned c = 0; c < n_codes; c++) {
        const int v = t->value[grid][c];
        unsigned at = s->n;
        if (v == SQ_BS_NO_VALUE || (v == 0 && has_zero))
            continue;
        if (abs(v) > SQ_BS_TABLE_MOST || (t->is_signed[grid] && v < 0))
            return RANGE("grid %s: value %g of code %u, need %d..%d in units of 2^-%u", name,
                         (double)ldexpf((float)v, -(int)t->fraction), c,
                         t->is_signed[grid] ? 0 : -SQ_BS_TABLE_MOST, SQ_BS_TABLE_MOST, t->fraction);
        has_zero = has_zero || v == 0;
        const float value = ldexpf((float)v, -(int)t->fraction);
        for (; at > 0 && s->value[at - 1] > value; at--) {
            s->value[at] = s->value[at - 1];
            s->code[at] = s->code[at - 1];
        }
        if (at > 0 && s->value[at - 1] == value)
            return RANGE("grid %s: value %g of code %u is that of code %u too, need it once", name,
                         (double)value, c, s->code[at - 1]);
        s->value[at] = value;
        s->code[at] = (uint8_t)c;
        s->n++;
    }
    if (!has_zero || s->n < 2)
        return RANGE("grid %s: %s, need 0 and at least one more", name,
                     has_zero ? "no value but 0" : "no value 0");
    return SQ_OK;
}

// Where the encoder of a grid goes from a value to the next: halfway between two values the code
// decides.
static void set_limits(struct sq_bs_table *t, unsigned grid)
{
    struct sq_bs_sorted *s = &t->sorted[grid];
    for (unsigned i = 0; i + 1 < s->n; i++) {
        if (t->is_away) {
            const float middle = (s->value[i] + s->value[i + 1]) / 2;
            s->above[i] = middle > 0 ? nextafterf(middle, -INFINITY) : middle;
            continue;
        }
        const unsigned low = s->code[i], high = s->code[i + 1], top = t->bits - 1;
        const float half = (s->value[i] + s->value[i + 1]) / 2;
        const bool is_even = low >> top == high >> top && (low ^ high) & 1u;
        const bool low_loses = low == 1u << top && s->value[i] != 0;
        const bool high_loses = high == 1u << top && s->value[i + 1] != 0;
        const bool is_upper = low_loses || (!high_loses && (is_even ? high % 2 == 0 : high < low));
        s->above[i] = is_upper ? nextafterf(half, -INFINITY) : half;
    }
}

static enum sq_status settle_grids(struct sq_bs_table *t, struct sq_error *err)
{
    if (t->bits < 2 || t->bits > SQ_BS_TABLE_BITS)
        return RANGE("elements.bits = %u, need 2..%d", t->bits, SQ_BS_TABLE_BITS);
    if (t->n_grids < 1 || t->n_grids > SQ_BS_TABLE_GRIDS)
        return RANGE("elements.grids: %u, need 1..%d", t->n_grids, SQ_BS_TABLE_GRIDS);
    if (t->fraction > 7)
        return RANGE("elements.grids: values in units of 2^-%u, need at most 2^-7", t->fraction);
    t->most = 0;
    for (unsigned g = t->n_grids; g < SQ_BS_TABLE_GRIDS; g++)
        for (unsigned c = 0; c < SQ_BS_TABLE_CODES; c++)
            t->value[g][c] = SQ_BS_NO_VALUE;
    for (unsigned g = 0; g < t->n_grids; g++) {
        SQ_TRY(sort(t, g, err));
        set_limits(t, g);
        for (unsigned c = 0; c < 1u << t->bits; c++)
            if (t->value[g][c] != SQ_BS_NO_VALUE && (unsigned)abs(t->value[g][c]) > t->most)
                t->most = (unsigned)abs(t->value[g][c]);
    }
    return SQ_OK;
}

static bool is_power_of_two(unsigned n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static enum sq_status settle_levels(struct sq_bs_table *t, struct sq_error *err)
{
    unsigned above = t->length, up = 0;
    if (t->n_levels > SQ_BS_TABLE_LEVELS)
        return RANGE("blocks: %u levels below the first, need at most %d", t->n_levels,
                     SQ_BS_TABLE_LEVELS);
    for (unsigned i = 0; i < t->n_levels; i++) {
        const struct sq_bs_sub_level *l = &t->level[i];
        if (l->length < 4 || !is_power_of_two(l->length) || l->length >= above)
            return RANGE("blocks.%u.length = %u, need a power of two from 4 to %u", i + 1,
                         l->length, above / 2);
        if (l->bits < 1 || l->bits > 2)
            return RANGE("blocks.%u.bits = %u, need 1 or 2", i + 1, l->bits);
        if (!(l->at > 0) || !isfinite(l->at))
            return RANGE("blocks.%u.at = %g, need a number > 0", i + 1, (double)l->at);
        above = l->length;
        up += (1u << l->bits) - 1;
        t->sub_bits += t->length / l->length * l->bits;
    }
    t->leaf = above;
    t->most <<= up;
    if (t->most > SQ_BS_TABLE_MOST)
        return RANGE("elements times the exponents of sub-blocks reach %u in units of 2^-%u, need "
                     "at most %d",
                     t->most, t->fraction, SQ_BS_TABLE_MOST);
    return SQ_OK;
}

// Values of a grid in the binade of the divisor of try i.
static unsigned n_in_binade(const struct sq_bs_table *t, unsigned i)
{
    const struct sq_bs_sorted *s = &t->sorted[t->tries[i].grid];
    unsigned n = 0;
    for (unsigned v = 0; v < s->n; v++)
        n += s->value[v] > 0 && sq_floor_log2(s->value[v]) == sq_floor_log2(t->tries[i].divisor);
    return n;
}

static enum sq_status settle_scale(struct sq_bs_table *t, struct sq_error *err)
{
    const bool is_e8m0 = t->scale == SQ_BS_SCALE_E8M0;
    if ((unsigned)t->scale >= SQ_BS_SCALE_TYPES || (unsigned)t->rule > SQ_BS_EVEN)
        return RANGE("blocks.0: scale or rule is unknown");
    if (t->is_sign_grid && (t->n_grids != 2 || t->scale != SQ_BS_SCALE_E4M3))
        return RANGE("blocks.0.stored = scale_sign of %u grids and scale %s, need 2 and e4m3",
                     t->n_grids, sq_bs_scale_name(t->scale));
    if (is_e8m0 && (t->has_global || t->below + t->above > 0))
        return RANGE("%s of scale e8m0, need none",
                     t->has_global ? "tensor_scale" : "blocks.0.search");
    if (t->is_reciprocal && (t->has_global || is_e8m0))
        return RANGE("blocks.0.divide = bfloat16 with %s, need tensor_scale none and no e8m0",
                     is_e8m0 ? "scale e8m0" : "a tensor_scale");
    if (t->below > SQ_BS_TABLE_NEAR || t->above > SQ_BS_TABLE_NEAR)
        return RANGE("blocks.0.search = [%u, %u], need 0..%d each", t->below, t->above,
                     SQ_BS_TABLE_NEAR);
    if (t->n_tries < 1 || t->n_tries > SQ_BS_TABLE_TRIES)
        return RANGE("blocks.0.rule: %u divisors, need 1..%d", t->n_tries, SQ_BS_TABLE_TRIES);
    for (unsigned i = 0; i < t->n_tries; i++)
        if (!(t->tries[i].divisor >= 0x1p-10f && t->tries[i].divisor <= 0x1p10f) ||
            t->tries[i].grid >= t->n_grids)
            return RANGE("blocks.0.rule: divisor %g of grid %u, need 2^-10..2^10 and 0..%u",
                         (double)t->tries[i].divisor, t->tries[i].grid, t->n_grids - 1);
    for (unsigned i = 0; is_e8m0 && t->rule == SQ_BS_EVEN && i < t->n_tries; i++)
        if (!is_power_of_two(n_in_binade(t, i)))
            return RANGE("blocks.0.rule = even: grid %s has %u values in the binade of %g, need a "
                         "power of two",
                         t->grid_name[t->tries[i].grid], n_in_binade(t, i),
                         (double)t->tries[i].divisor);
    return SQ_OK;
}

enum sq_status sq_bs_table_settle(struct sq_bs_table *t, struct sq_error *err)
{
    SQ_TRY(settle_grids(t, err));
    if (t->length < 8 || t->length > SQ_BS_BLOCK_MAX || !is_power_of_two(t->length))
        return RANGE("blocks.0.length = %u, need 8, 16, 32, 64, 128 or 256", t->length);
    SQ_TRY(settle_scale(t, err));
    t->sub_bits = sq_bs_grid_bits(t);
    return settle_levels(t, err);
}

// ---- choice ---------------------------------------------------------------------------------

// The exponent of a scale of E8M0.
static int exponent_of(const struct sq_bs_table *t, unsigned i, float amax)
{
    const float divisor = t->tries[i].divisor;
    const int emax = sq_floor_log2(divisor);
    int e;
    if (t->rule == SQ_BS_CEILING)
        return sq_bs_ceil_exponent(amax, divisor);
    if (t->rule == SQ_BS_FLOOR)
        return sq_floor_log2(amax) - emax;
    const float mantissa = frexpf(amax, &e); // 1/2 .. 1
    const float up = (float)(2u << sq_bs_binade_bits(t, i));
    return (floorf(mantissa * up + 0.5f) >= up ? e : e - 1) - emax;
}

unsigned sq_bs_binade_bits(const struct sq_bs_table *t, unsigned i)
{
    unsigned bits = 0;
    while (2u << bits <= n_in_binade(t, i))
        bits++;
    return bits;
}

// The nearest bfloat16, ties to even.
static float bfloat16(double x)
{
    int e;
    (void)frexp(x, &e);
    const int last = e - 8 > -133 ? e - 8 : -133; // the exponent of the last bit
    return (float)ldexp(rint(ldexp(x, -last)), last);
}

float sq_bs_reciprocal(float step)
{
    return bfloat16(1 / (double)step);
}

uint8_t sq_bs_first_code(const struct sq_bs_table *t, unsigned i, float amax, float global)
{
    const float divisor = t->tries[i].divisor;
    if (t->scale == SQ_BS_SCALE_E8M0)
        return sq_e8m0_encode(exponent_of(t, i, amax));
    if (t->is_reciprocal)
        return sq_bs_scale_encode(t->scale,
                                  bfloat16((double)amax * (double)sq_bs_reciprocal(divisor)));
    return sq_bs_scale_encode(t->scale, amax / divisor / global);
}

static float amax_of(const float *x, size_t n)
{
    float amax = 0;
    for (size_t i = 0; i < n; i++)
        amax = fmaxf(amax, fabsf(x[i]));
    return amax;
}

// The exponents of the sub-blocks of a level into bits 2 * level of sub[].
static void set_exponents(const struct sq_bs_table *t, unsigned level, const float *x, size_t n,
                          float step, uint8_t *sub)
{
    const struct sq_bs_sub_level *l = &t->level[level];
    const size_t leaves = l->length / t->leaf;
    for (size_t first = 0; first < t->length; first += l->length, sub += leaves) {
        const size_t left = first < n ? n - first : 0;
        const float amax = amax_of(x + first, left < l->length ? left : l->length);
        const float own =
            t->is_reciprocal ? sq_bs_product_odd(amax, sq_bs_reciprocal(step)) : amax / step;
        const float reach = ldexpf(own, -(int)sq_bs_sub_exponent(*sub));
        unsigned e = 0;
        while (e < (1u << l->bits) - 1 && !(ldexpf(reach, -(int)e) < l->at))
            e++;
        for (size_t i = 0; i < leaves; i++)
            sub[i] |= (uint8_t)(e << 2 * level);
    }
}

// A candidate: what is stored beside the codes.
static void set_block(const struct sq_bs_format *f, const float *x, size_t n, unsigned grid,
                      uint8_t code, const float global[SQ_BS_PARTS], struct sq_bs_block *b)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    memset(b->sub, t->is_sign_grid ? 0 : (int)(grid << 4), sizeof b->sub);
    b->scale[0] = code | (uint8_t)(t->is_sign_grid && grid ? SQ_BS_SCALE_SIGN : 0);
    sq_bs_steps(f, global, b);
    for (unsigned i = 0; b->step[0] > 0 && i < t->n_levels; i++)
        set_exponents(t, i, x, n, b->step[0], b->sub);
}

// The error of an element in integers (SPEC Q.5d), |x| of q units: of the values with its sign.
static int32_t integer_error(const struct sq_bs_table *t, unsigned grid, int32_t q,
                             bool is_negative, int32_t step)
{
    const struct sq_bs_sorted *s = &t->sorted[grid];
    int32_t least = 2 * q;
    for (unsigned v = 0; v < s->n; v++)
        if (t->is_signed[grid] || (s->value[v] < 0) == is_negative)
            least = sq_bs_error_nearer(least, q, (int32_t)(2 * fabsf(s->value[v])), step);
    return sq_bs_error_held(least);
}

static double integer_error_of(const struct sq_bs_format *f, const float *x, size_t n,
                               unsigned grid, const float global[SQ_BS_PARTS], uint8_t scale)
{
    const int32_t e = sq_bs_exponent_of(amax_of(x, n));
    const int32_t step = sq_bs_error_step(scale, e, ilogbf(global[0]));
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t d =
            integer_error(sq_bs_table_of(f), grid, sq_bs_error_units(x[i], e), signbit(x[i]), step);
        sum += d * d;
    }
    return sum;
}

static double error_of(const struct sq_bs_format *f, const float *x, size_t n, unsigned grid,
                       const float global[SQ_BS_PARTS], const struct sq_bs_block *b)
{
    double sum = 0;
    if (f->is_error_integer)
        return integer_error_of(f, x, n, grid, global, b->scale[0]);
    for (size_t i = 0; i < n; i++) {
        const float value = sq_bs_value(f, b, i, sq_bs_encode(f, b, i, x[i]));
        const double e = (double)x[i] - (double)value;
        sum += sq_bs_table_of(f)->is_absolute ? fabs(e) : e * e;
    }
    return sum;
}

uint8_t sq_bs_near_code(const struct sq_bs_table *t, int code, unsigned i)
{
    const int last = sq_bs_scale_last(t->scale), below = (int)t->below;
    const int to = (int)i - 1 - below, c = i == 0 ? code : code + to + (to >= 0);
    return (uint8_t)(c < 0 ? 0 : c > last ? last : c);
}

static void choose(const struct sq_bs_format *f, const float *x, size_t n,
                   const float amax[SQ_BS_PARTS], const float global[SQ_BS_PARTS],
                   struct sq_bs_block *b)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    const unsigned near = 1 + t->below + t->above;
    double least = INFINITY;
    if (amax[0] == 0)
        return;
    for (unsigned i = 0; i < t->n_tries; i++) {
        const uint8_t code = sq_bs_first_code(t, i, amax[0], global[0]);
        for (unsigned j = 0; j < near; j++) {
            struct sq_bs_block one = *b;
            set_block(f, x, n, t->tries[i].grid, sq_bs_near_code(t, code, j), global, &one);
            const double e =
                t->n_tries * near > 1 ? error_of(f, x, n, t->tries[i].grid, global, &one) : 0;
            if (e < least || i + j == 0) {
                least = e;
                *b = one;
            }
        }
    }
}

// ---- elements -------------------------------------------------------------------------------

static unsigned leaf_of(const struct sq_bs_table *t, size_t i)
{
    return (unsigned)i / t->leaf;
}

static struct sq_bs_code encode(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                                float x, float q)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    const uint8_t sub = b->sub[leaf_of(t, i)];
    const unsigned grid = sq_bs_grid_of(t, b->scale[0], sub);
    const struct sq_bs_sorted *s = &t->sorted[grid];
    const float step = ldexpf(b->step[0], (int)sq_bs_sub_exponent(sub));
    const float own = !(step > 0)        ? 0
                      : t->is_reciprocal ? sq_bs_product_odd(x, sq_bs_reciprocal(step))
                      : t->n_levels > 0  ? x / step
                                         : q;
    const float m = t->is_signed[grid] ? fabsf(own) : own;
    unsigned v = 0;
    while (v + 1 < s->n && m > s->above[v])
        v++;
    const unsigned sign = t->is_signed[grid] && signbit(own) ? 1u << (t->bits - 1) : 0;
    return (struct sq_bs_code){(uint8_t)(s->code[v] | sign), 0};
}

static float element(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                     struct sq_bs_code c)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    const uint8_t sub = b->sub[leaf_of(t, i)];
    const int v = t->value[sq_bs_grid_of(t, b->scale[0], sub)][c.code];
    return ldexpf((float)v, (int)sq_bs_sub_exponent(sub) - (int)t->fraction);
}

static bool is_legal(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                     struct sq_bs_code c)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    const uint8_t sub = b->sub[leaf_of(t, i)];
    return c.code < 1u << t->bits &&
           t->value[sq_bs_grid_of(t, b->scale[0], sub)][c.code] != SQ_BS_NO_VALUE;
}

static float scale(const struct sq_bs_format *f, unsigned part, uint8_t code)
{
    (void)part;
    return sq_bs_scale_decode(sq_bs_table_of(f)->scale,
                              sq_bs_table_of(f)->is_sign_grid ? code & 0x7fu : code);
}

static bool is_scale(const struct sq_bs_format *f, unsigned part, uint8_t code)
{
    (void)part;
    return (sq_bs_table_of(f)->is_sign_grid ? code & 0x7fu : code) <=
           sq_bs_scale_last(sq_bs_table_of(f)->scale);
}

static void limits(const struct sq_bs_format *f, float limit[SQ_BS_PARTS])
{
    limit[0] = sq_bs_scale_max(sq_bs_table_of(f)->scale) * sq_bs_table_of(f)->tries[0].divisor;
}

static enum sq_status check(const struct sq_bs_format *f, struct sq_error *err)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    if (f->kind->table && f->element != SQ_ELEMENT_E2M1)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "element = %s, need e2m1",
                       sq_element_name(f->element));
    if (!t || t->length != f->block)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "block = %u, need %u", f->block, t ? t->length : 0);
    return SQ_OK;
}

// ---- kinds ----------------------------------------------------------------------------------

#define E2M1_MAGNITUDES 0, 1, 2, 3, 4, 6, 8, 12 // in halves
#define RAZER_VALUES(fifth)                                                                        \
    {                                                                                              \
        E2M1_MAGNITUDES, fifth, -1, -2, -3, -4, -6, -8, -12                                        \
    }

static struct sq_bs_table
    // SPEC Q.3: the largest element is 6 or 4.
    four_six = {.name = "nvfp4_46",
                .bits = 4,
                .n_grids = 1,
                .grid_name = {"e2m1"},
                .fraction = 1,
                .value = {{E2M1_MAGNITUDES, 0, -1, -2, -3, -4, -6, -8, -12}},
                .is_signed = {true},
                .length = 16,
                .n_tries = 2,
                .tries = {{0, 6}, {0, 4}},
                .has_global = true},
    // Q.5c: E2M1 or INT4 by block.
    if4 = {.name = "if4",
           .bits = 4,
           .n_grids = 2,
           .grid_name = {"e2m1", "int4"},
           .fraction = 1,
           .value = {{E2M1_MAGNITUDES, 0, -1, -2, -3, -4, -6, -8, -12},
                     {0, 2, 4, 6, 8, 10, 12, 14, SQ_BS_NO_VALUE, -14, -12, -10, -8, -6, -4, -2}},
           .is_signed = {true, false},
           .length = 16,
           .n_tries = 2,
           .tries = {{0, 6}, {1, 7}},
           .is_sign_grid = true,
           .has_global = true},
    // Q.5c: the code of -0 is a fifth value, +5 or -5 by block.
    razer = {.name = "razer",
             .bits = 4,
             .n_grids = 2,
             .grid_name = {"plus", "minus"},
             .fraction = 1,
             .value = {RAZER_VALUES(10), RAZER_VALUES(-10)},
             .length = 16,
             .n_tries = 2,
             .tries = {{0, 6}, {1, 6}},
             .is_sign_grid = true,
             .has_global = true};

// Runs before main, so that no thread sees a table that is not settled.
__attribute__((constructor)) static void settle_own(void)
{
    struct sq_bs_table *const own[] = {&four_six, &if4, &razer};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (sq_bs_table_settle(own[i], NULL) != SQ_OK)
            abort();
}

#define KIND(name_, table_)                                                                        \
    {                                                                                              \
        .name = (name_), .table = (table_), .check = check, .limits = limits, .choose = choose,    \
        .encode = encode, .element = element, .is_legal = is_legal, .scale = scale,                \
        .is_scale = is_scale, .loops = sq_bs_table_loops,                                          \
    }
const struct sq_bs_kind sq_bs_four_six = KIND("four_six", &four_six), sq_bs_if4 = KIND("if4", &if4),
                        sq_bs_razer = KIND("razer", &razer), sq_bs_of_table = KIND("table", NULL);
