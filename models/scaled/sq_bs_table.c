// SPDX-License-Identifier: Apache-2.0
// Checks of a table that describes a format (SPEC Q.9), what follows from it, and codes of scales.
#include "models/scaled/sq_bs_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- scales ---------------------------------------------------------------------------------

const char *sq_bs_scale_name(enum sq_bs_scale_type type)
{
    static const char *const name[] = {"e4m3", "e8m0", "ue5m3", "e6m2", "f16", "bf16", "f32"};
    return name[type];
}

uint32_t sq_bs_scale_last(enum sq_bs_scale_type type)
{
    static const uint32_t last[] = {0x7e, 0xfe, 0xfe, 0xfe, 0x7bff, 0x7f7f, 0x7f7fffff};
    return last[type];
}

float sq_bs_scale_decode(enum sq_bs_scale_type type, uint32_t code)
{
    const bool is_float = sq_bs_scale_is_float(type);
    const uint32_t sign = !is_float ? 0 : type == SQ_BS_SCALE_F32 ? UINT32_C(1) << 31 : 0x8000;
    if ((code & ~sign) > sq_bs_scale_last(type))
        return NAN;
    return is_float ? sq_bs_float_value(type, code) : sq_bs_scale_value(type, (int32_t)code);
}

uint32_t sq_bs_scale_encode(enum sq_bs_scale_type type, float x)
{
    return sq_bs_scale_is_float(type) ? sq_bs_float_code(type, x)
                                      : (uint32_t)sq_bs_scale_code(type, x);
}

float sq_bs_scale_max(enum sq_bs_scale_type type)
{
    return sq_bs_scale_decode(type, sq_bs_scale_last(type));
}

// ---- the table ------------------------------------------------------------------------------

#define RANGE(...) SQ_FAIL(err, SQ_ERR_RANGE, __VA_ARGS__)

// Sorts the codes of a grid by their values; keeps the lower code of two zeros.
static enum sq_status sort(struct sq_bs_table *t, unsigned grid, struct sq_error *err)
{
    struct sq_bs_sorted *s = &t->sorted[grid];
    const char *const name = t->grid_name[grid];
    const unsigned n_codes = 1u << (t->bits - t->is_signed[grid]);
    bool has_zero = false;
    s->n = 0;
    for (unsigned c = 0; c < n_codes; c++) {
        const int32_t v = t->value[grid][c];
        unsigned at = s->n;
        if (v == SQ_BS_NO_VALUE || (v == 0 && has_zero))
            continue;
        if (abs(v) > SQ_BS_TABLE_WIDE || (t->is_signed[grid] && v < 0))
            return RANGE("grid %s: value %g of code %u, need %d..%d in units of 2^-%u", name,
                         (double)ldexpf((float)v, -(int)t->fraction), c,
                         t->is_signed[grid] ? 0 : -SQ_BS_TABLE_WIDE, SQ_BS_TABLE_WIDE, t->fraction);
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
    t->lacks_zero = t->lacks_zero || !has_zero;
    if ((!has_zero && t->n_grids > 1) || s->n < 2)
        return RANGE("grid %s: %s, need 0 and at least one more", name,
                     has_zero || s->n < 2 ? "one value" : "no value 0");
    for (unsigned i = s->n - 1; i < SQ_BS_TABLE_CODES; i++)
        s->above[i] = INFINITY;
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

// Whether codes and limits are those that rounding to an integer gives.
static bool is_integers(const struct sq_bs_table *t, unsigned grid)
{
    const struct sq_bs_sorted *s = &t->sorted[grid];
    const int most = (int)s->n / 2, mask = (1 << t->bits) - 1;
    const float unit = s->value[s->n - 1] / (float)most;
    bool is = !t->is_signed[grid] && s->n % 2 == 1 && frexpf(unit, &(int){0}) == 0.5f;
    for (int i = 0; is && i < (int)s->n; i++) {
        const float half = (s->value[i] + s->value[i + (i + 1 < (int)s->n)]) / 2;
        const float above = (i - most) % 2 ? nextafterf(half, -INFINITY) : half; // ties to even
        is = s->value[i] == (float)(i - most) * unit && s->code[i] == ((i - most) & mask) &&
             (i + 1 == (int)s->n || s->above[i] == above);
    }
    return is;
}

// Whether they are those of other consecutive integers, but for one tie.
static bool is_whole(struct sq_bs_table *t, unsigned grid)
{
    struct sq_bs_sorted *s = &t->sorted[grid];
    const int mask = (1 << t->bits) - 1;
    const float unit = s->value[1] - s->value[0];
    unsigned n_odd = 0;
    bool is = !t->is_signed[grid] && s->n > 2 && frexpf(unit, &(int){0}) == 0.5f &&
              fmodf(s->value[0], unit) == 0;
    s->odd = SQ_BS_TABLE_CODES - 1;
    s->shift = (int32_t)s->code[0] - (int32_t)(s->value[0] / unit);
    for (unsigned i = 0; is && i < s->n; i++) {
        const float v = s->value[0] + (float)i * unit, half = v + unit / 2;
        const int k = (int)(v / unit);
        is = s->value[i] == v && s->code[i] == ((k + s->shift) & mask);
        if (i + 1 == s->n || s->above[i] == (k % 2 ? nextafterf(half, -INFINITY) : half))
            continue;
        s->odd = i;
        n_odd++;
    }
    return is && n_odd <= 1;
}

static bool is_e2m1(const struct sq_bs_table *t, unsigned grid)
{
    static const float value[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    bool is = t->is_signed[grid] && t->sorted[grid].n == 8 && t->bits == 4 && !t->is_away;
    for (unsigned i = 0; is && i < 8; i++)
        is = t->sorted[grid].value[i] == value[i] && t->sorted[grid].code[i] == i;
    return is;
}

static void set_shape(struct sq_bs_table *t, unsigned grid)
{
    struct sq_bs_sorted *s = &t->sorted[grid];
    s->shape = is_e2m1(t, grid)       ? SQ_BS_SHAPE_E2M1
               : is_integers(t, grid) ? SQ_BS_SHAPE_INTEGERS
               : is_whole(t, grid)    ? SQ_BS_SHAPE_WHOLE
                                      : SQ_BS_SHAPE_ANY;
    s->unit = s->shape == SQ_BS_SHAPE_WHOLE ? s->value[1] - s->value[0]
                                            : s->value[s->n - 1] / (float)(s->n / 2);
}

static enum sq_status settle_grids(struct sq_bs_table *t, struct sq_error *err)
{
    if (t->bits < 1 || t->bits > SQ_BS_TABLE_BITS)
        return RANGE("elements.bits = %u, need 1..%d", t->bits, SQ_BS_TABLE_BITS);
    if (t->n_grids < 1 || t->n_grids > SQ_BS_TABLE_GRIDS)
        return RANGE("elements.grids: %u, need 1..%d", t->n_grids, SQ_BS_TABLE_GRIDS);
    if (t->fraction > SQ_BS_TABLE_FRACTION)
        return RANGE("elements.grids: values in units of 2^-%u, need at most 2^-%d", t->fraction,
                     SQ_BS_TABLE_FRACTION);
    t->most = 0;
    t->lacks_zero = false;
    for (unsigned g = t->n_grids; g < SQ_BS_TABLE_GRIDS; g++)
        for (unsigned c = 0; c < SQ_BS_TABLE_CODES; c++)
            t->value[g][c] = SQ_BS_NO_VALUE;
    for (unsigned g = 0; g < t->n_grids; g++) {
        SQ_TRY(sort(t, g, err));
        set_limits(t, g);
        set_shape(t, g);
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

// The largest magnitude of a value less a zero point.
static unsigned farthest(const struct sq_bs_table *t)
{
    const float *value = t->sorted[0].value;
    const int last = (int)ldexpf((float)((1 << t->zero_bits) - 1), (int)t->fraction);
    const int low = (int)ldexpf(value[0], (int)t->fraction) - last;
    const int high = (int)ldexpf(value[t->sorted[0].n - 1], (int)t->fraction);
    return (unsigned)(abs(low) > high ? abs(low) : high);
}

static enum sq_status settle_zero(struct sq_bs_table *t, struct sq_error *err)
{
    const bool is_float = sq_bs_scale_is_float(t->scale);
    const bool is_alone = t->n_grids == 1 && t->n_tries == 1 && t->n_levels == 0;
    if ((unsigned)t->statistic >= SQ_BS_STATISTICS || (unsigned)t->zero > SQ_BS_ZERO_MIN)
        return RANGE("blocks.0: rule or zero is unknown");
    if (is_float && (t->has_global || t->below + t->above > 0))
        return RANGE("%s of scale %s, need none",
                     t->has_global ? "tensor_scale" : "blocks.0.search",
                     sq_bs_scale_name(t->scale));
    if (t->statistic != SQ_BS_AMAX && (t->scale == SQ_BS_SCALE_E8M0 || t->is_reciprocal))
        return RANGE("blocks.0.rule: need amax with %s",
                     t->is_reciprocal ? "divide = bfloat16" : "scale = e8m0");
    if (t->statistic == SQ_BS_MAX && (!is_float || t->n_levels > 0))
        return RANGE("blocks.0.rule = max: need scale f16, bf16 or f32 and no sub-blocks");
    if (t->statistic == SQ_BS_LEAST_SQUARES && (t->n_levels > 0 || t->below + t->above > 0))
        return RANGE("blocks.0.rule = least_squares: need no search and no sub-blocks");
    if (t->statistic == SQ_BS_PERCENTILE && !(t->percentile > 0 && t->percentile <= 100))
        return RANGE("blocks.0.rule = percentile(%g), need 0 < percentile <= 100",
                     (double)t->percentile);
    if ((t->zero != SQ_BS_ZERO_NONE) != (t->statistic == SQ_BS_RANGE))
        return RANGE("blocks.0.%s, need %s", t->zero ? "zero: rule is not range" : "rule = range",
                     t->zero ? "range / NUMBER" : "a zero");
    if (t->zero != SQ_BS_ZERO_NONE &&
        (!is_alone || t->is_signed[0] || t->below + t->above > 0 || t->has_global))
        return RANGE(
            "blocks.0.zero: need one grid of a value for each code, one divisor, no search, "
            "no sub-blocks and tensor_scale none");
    if (t->zero == SQ_BS_ZERO_INT ? t->zero_bits < 1 || t->zero_bits > 8 : t->zero_bits != 0)
        return RANGE("blocks.0.zero_bits = %u, need %s", t->zero_bits,
                     t->zero == SQ_BS_ZERO_INT ? "1..8" : "none but with zero = int");
    return SQ_OK;
}

static enum sq_status settle_keep(const struct sq_bs_table *t, struct sq_error *err)
{
    const unsigned unit = sq_bs_keep_unit(t);
    if (t->keep_m == 0 && !t->keeps_pairs)
        return SQ_OK;
    if (t->keep_m < 2 * unit || t->keep_m > SQ_BS_TABLE_KEEP || !is_power_of_two(t->keep_m) ||
        t->keep_m > t->length || t->keep_n < 1 || t->keep_n >= t->keep_m || t->keep_n % unit != 0)
        return RANGE(
            "blocks.0.keep = [%u, %u], need %s1 to m - 1 of m = %u to %d elements, a power "
            "of two up to blocks.0.length",
            t->keep_n, t->keep_m, unit > 1 ? "pairs, " : "", 2 * unit, SQ_BS_TABLE_KEEP);
    if (t->n_levels > 0 || t->zero || t->lacks_zero || t->statistic == SQ_BS_MAX)
        return RANGE("blocks.0.keep with %s, need grids with 0, no zero point, no sub-blocks and "
                     "another rule than max",
                     t->n_levels > 0 ? "sub-blocks"
                     : t->zero       ? "blocks.0.zero"
                     : t->lacks_zero ? "a grid without 0"
                                     : "rule = max");
    return SQ_OK;
}

// Integers of sub-blocks.
static enum sq_status settle_sub_scale(struct sq_bs_table *t, struct sq_error *err)
{
    const struct sq_bs_sub_scale *const s = &t->sub_scale;
    const bool is_alone = t->n_grids == 1 && t->n_tries == 1 && t->n_levels == 0 && !t->keep_m &&
                          !t->is_reciprocal; // nor a search, which no scale of floats has
    if (s->bits == 0)
        return SQ_OK;
    if (s->bits > 8 || s->bits < 2 || s->length < 8 || !is_power_of_two(s->length) ||
        s->length >= t->length || t->length / s->length > SQ_BS_TABLE_SUBS)
        return RANGE("blocks.1: integers of %u bits of %u elements, need 2..8 of 8 to %u, at most "
                     "%d of a block",
                     s->bits, s->length, t->length / 2, SQ_BS_TABLE_SUBS);
    if (!is_alone || !sq_bs_scale_is_float(t->scale))
        return RANGE("blocks.1.scale of integers: need scale f16, bf16 or f32 of the block, one "
                     "grid, one divisor, no search, no keep and no other sub-blocks");
    if (t->statistic > SQ_BS_RANGE || (t->zero && t->zero != SQ_BS_ZERO_MIN) ||
        (t->zero && s->is_signed) || (t->statistic == SQ_BS_MAX && !s->is_signed))
        return RANGE("blocks.1.scale of integers: need rule amax, max with a sign, or range with "
                     "zero min without one");
    t->leaf = s->length;
    t->sub_bits += sq_bs_zero_at(t) * s->bits;
    return SQ_OK;
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
    t->most = t->zero == SQ_BS_ZERO_INT ? farthest(t) : t->most << up;
    if (t->most > SQ_BS_TABLE_MOST && (up > 0 || t->n_grids > 1 || t->zero == SQ_BS_ZERO_INT))
        return RANGE("elements %s reach %u in units of 2^-%u, need at most %d",
                     up > 0           ? "times the exponents of sub-blocks"
                     : t->n_grids > 1 ? "of several grids"
                                      : "less zero points",
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

unsigned sq_bs_binade_bits(const struct sq_bs_table *t, unsigned i)
{
    unsigned bits = 0;
    while (2u << bits <= n_in_binade(t, i))
        bits++;
    return bits;
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
    if (t->is_reciprocal && (t->has_global || is_e8m0 || t->scale >= SQ_BS_SCALE_BF16))
        return RANGE(
            "blocks.0.divide = bfloat16 with %s %s, need tensor_scale none and no scale e8m0, "
            "bf16 or f32, whose smallest have no reciprocal",
            t->has_global ? "a" : "scale",
            t->has_global ? "tensor_scale" : sq_bs_scale_name(t->scale));
    if (t->below > SQ_BS_TABLE_NEAR || t->above > SQ_BS_TABLE_NEAR)
        return RANGE("blocks.0.search = [%u, %u], need 0..%d each", t->below, t->above,
                     SQ_BS_TABLE_NEAR);
    if (t->n_tries < 1 || t->n_tries > SQ_BS_TABLE_TRIES)
        return RANGE("blocks.0.rule: %u divisors, need 1..%d", t->n_tries, SQ_BS_TABLE_TRIES);
    for (unsigned i = 0; i < t->n_tries; i++)
        if (!(fabsf(t->tries[i].divisor) >= 0x1p-10f && fabsf(t->tries[i].divisor) <= 0x1p10f) ||
            (t->tries[i].divisor < 0 && t->statistic != SQ_BS_MAX) ||
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
    SQ_TRY(settle_zero(t, err));
    SQ_TRY(settle_keep(t, err));
    t->sub_bits = sq_bs_grid_bits(t) + (t->zero > SQ_BS_ZERO_INT ? 16 : t->zero_bits);
    SQ_TRY(settle_levels(t, err));
    return settle_sub_scale(t, err);
}
