// SPDX-License-Identifier: Apache-2.0
// Formats and single blocks (sq_bs.h), and what kinds share.
#include "models/scaled/sq_bs_kind.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "models/number/sq_codes.h"
#include "models/scaled/sq_bs_integer.h"
#include "models/scaled/sq_bs_table.h"

// ---- the format -----------------------------------------------------------------------------

enum sq_status sq_bs_check(const struct sq_bs_format *f, struct sq_error *err)
{
    if (f->block != 16 && f->block != 32 && f->kind != SQ_BS_TABLE)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "bank = %u, need 16 or 32", f->block);
    if (!f->kind || (unsigned)f->element >= SQ_ELEMENTS || (unsigned)f->rule > SQ_BS_CEIL)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "kind, element or rule is unknown");
    return f->kind->check ? f->kind->check(f, err) : SQ_OK;
}

unsigned sq_bs_n_parts(const struct sq_bs_format *f)
{
    return 1u + f->kind->has_two_parts;
}

unsigned sq_bs_n_marks(const struct sq_bs_format *f)
{
    return f->kind->marks == SQ_BS_UNMARKED ? 0
           : f->kind->marks == SQ_BS_PLACED ? 1
                                            : f->high_per_block;
}

unsigned sq_bs_code_bits(const struct sq_bs_format *f)
{
    return sq_bs_table_of(f) ? sq_bs_table_of(f)->bits : sq_element_bits(f->element);
}

unsigned sq_bs_sub_bits(const struct sq_bs_format *f)
{
    return sq_bs_table_of(f) && !f->is_apart ? sq_bs_table_of(f)->sub_bits : 0;
}

unsigned sq_bs_n_subs(const struct sq_bs_format *f)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    if (sq_bs_sub_bits(f) == 0)
        return 0;
    return sq_bs_zero_at(t) + sq_bs_zero_nbytes(t);
}

unsigned sq_bs_high_bits(const struct sq_bs_format *f)
{
    return f->kind->high_bits;
}

enum sq_element sq_bs_high_element(const struct sq_bs_format *f)
{
    return f->element == SQ_ELEMENT_E2M1 ? SQ_ELEMENT_E4M3 : SQ_ELEMENT_INT8;
}

bool sq_bs_is_e8m0(const struct sq_bs_format *f)
{
    return f->kind->is_e8m0 || f->is_power_of_two ||
           (sq_bs_table_of(f) && sq_bs_table_of(f)->scale == SQ_BS_SCALE_E8M0);
}

bool sq_bs_has_global(const struct sq_bs_format *f, unsigned part)
{
    return part < sq_bs_n_parts(f) && !sq_bs_is_e8m0(f) &&
           (!sq_bs_table_of(f) || sq_bs_table_of(f)->has_global);
}

bool sq_bs_has_scale(const struct sq_bs_format *f, unsigned part)
{
    return part == 0 || (part < sq_bs_n_parts(f) && f->is_high_block);
}

// ---- scales ---------------------------------------------------------------------------------

float sq_bs_scale(const struct sq_bs_format *f, unsigned part, uint32_t code)
{
    return f->kind->scale     ? f->kind->scale(f, part, code)
           : sq_bs_is_e8m0(f) ? sq_e8m0_decode((uint8_t)code)
                              : sq_e4m3_decode((uint8_t)code);
}

bool sq_bs_is_scale(const struct sq_bs_format *f, unsigned part, uint32_t code)
{
    enum { E4M3_LAST = 0x7e }; // no sign, no NaN
    return f->kind->is_scale ? f->kind->is_scale(f, part, code)
                             : code <= (sq_bs_is_e8m0(f) ? SQ_E8M0_NAN - 1 : E4M3_LAST);
}

unsigned sq_bs_scale_nbytes(const struct sq_bs_format *f)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    return !t || !sq_bs_scale_is_float(t->scale) ? 1 : t->scale == SQ_BS_SCALE_F32 ? 4 : 2;
}

bool sq_bs_has_scale_sign(const struct sq_bs_format *f)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    return t ? t->is_sign_grid : f->kind->is_scale && f->kind->is_scale(f, 0, SQ_BS_SCALE_SIGN);
}

float sq_bs_top(const struct sq_bs_format *f, unsigned part)
{
    return sq_element_max(part == 0 ? f->element : sq_bs_high_element(f));
}

float sq_bs_positive(float x)
{
    return x > 0 ? x : 1.0f;
}

int sq_bs_ceil_exponent(float amax, float most)
{
    int e_amax, e_most;
    const float m_amax = frexpf(amax, &e_amax), m_most = frexpf(most, &e_most);
    return e_amax - e_most + (m_amax > m_most);
}

// The scale at which `limit` reaches amax; 0 where amax is 0, or too small for one: as a power of two below 2^-126.
static float reach(const struct sq_bs_format *f, float amax, float limit)
{
    if (!f->is_global_power_of_two)
        return amax / limit;
    return amax >= FLT_MIN ? ldexpf(1, sq_bs_ceil_exponent(amax, limit)) : 0;
}

void sq_bs_globals_of(const struct sq_bs_format *f, const float amax[SQ_BS_PARTS],
                      float global[SQ_BS_PARTS])
{
    const float sixteenth = 1.0f / 16;
    float limit[SQ_BS_PARTS] = {SQ_E4M3_MAX * sq_bs_top(f, 0), 0};
    global[0] = global[1] = 1;
    if (!sq_bs_has_global(f, 0))
        return;
    if (f->kind->limits)
        f->kind->limits(f, limit);
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        global[p] = limit[p] > 0 ? reach(f, amax[p], limit[p]) : 0;
    if (sq_bs_n_parts(f) == 1)
        global[0] = fmaxf(global[0], global[1]);
    else if (f->is_global_power_of_two && !f->is_high_block)
        global[0] = global[1] * sixteenth; // Q.5b
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        global[p] = sq_bs_positive(global[p]);
}

void sq_bs_mark(const struct sq_bs_format *f, const float *x, size_t n, uint8_t *is_high)
{
    sq_mask_row(x, f->block, n, f->block, sq_bs_n_marks(f), is_high);
}

static void amax_of(const float *x, size_t n, const uint8_t *is_high, float amax[SQ_BS_PARTS])
{
    amax[0] = amax[1] = 0;
    for (size_t i = 0; i < n; i++) {
        float *a = &amax[is_high[i] != 0];
        *a = fmaxf(*a, fabsf(x[i]));
    }
}

void sq_bs_steps(const struct sq_bs_format *f, const float global[SQ_BS_PARTS],
                 struct sq_bs_block *b)
{
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        b->step[p] = p >= sq_bs_n_parts(f)    ? 0
                     : !sq_bs_has_scale(f, p) ? global[p]
                     : sq_bs_is_e8m0(f)       ? sq_bs_scale(f, p, b->scale[p])
                                              : sq_bs_scale(f, p, b->scale[p]) * global[p];
    const struct sq_bs_table *const t = sq_bs_table_of(f);
    const bool is_added = t && t->zero > SQ_BS_ZERO_INT && !t->sub_scale.bits;
    const float z = is_added ? sq_bs_half_of(t, b->sub) : 0;
    b->offset = is_added && t->zero == SQ_BS_ZERO_F16 ? -(z * b->step[0]) : z;
}

// Squared error of the block as *b has it, in binary64 by ascending index.
static double error_of(const struct sq_bs_format *f, const float *x, size_t n,
                       const struct sq_bs_block *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const float value = sq_bs_value(f, b, i, sq_bs_encode(f, b, i, x[i]));
        const double e = (double)x[i] - (double)value;
        sum += e * e;
    }
    return sum;
}

// The same in integers (sq_bs_integer.h).
static double integer_error_of(const struct sq_bs_format *f, const float *x, size_t n,
                               uint8_t scale, const float global[SQ_BS_PARTS])
{
    const enum sq_bs_values of = f->element == SQ_ELEMENT_INT4 ? SQ_BS_OF_INT4 : SQ_BS_OF_E2M1;
    float amax = 0;
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        amax = fmaxf(amax, fabsf(x[i]));
    const int32_t e = sq_bs_exponent_of(amax), step = sq_bs_error_step(scale, e, ilogbf(global[0]));
    for (size_t i = 0; i < n; i++) {
        const int32_t d = sq_bs_error_of(of, sq_bs_error_units(x[i], e), step);
        sum += d * d;
    }
    return sum;
}

void sq_bs_least_error(const struct sq_bs_format *f, const float *x, size_t n,
                       const float global[SQ_BS_PARTS], const uint8_t *candidate,
                       size_t n_candidates, struct sq_bs_block *b)
{
    double best = INFINITY;
    uint8_t scale = candidate[0];
    for (size_t i = 0; i < n_candidates; i++) {
        b->scale[0] = candidate[i];
        sq_bs_steps(f, global, b);
        const double e = f->is_error_integer ? integer_error_of(f, x, n, candidate[i], global)
                                             : error_of(f, x, n, b);
        if (e < best) {
            best = e;
            scale = candidate[i];
        }
    }
    b->scale[0] = scale;
}

void sq_bs_choose(const struct sq_bs_format *f, const float *x, size_t n,
                  const float global[SQ_BS_PARTS], struct sq_bs_block *b)
{
    const enum sq_bs_marks marks = f->kind->marks;
    float amax[SQ_BS_PARTS];
    memset(b, 0, sizeof *b);
    if (marks == SQ_BS_SENTINEL || marks == SQ_BS_MASKED)
        sq_bs_mark(f, x, n, b->is_high);
    amax_of(x, n, b->is_high, amax);
    f->kind->choose(f, x, n, amax, global, b);
    sq_bs_steps(f, global, b);
}

// ---- elements -------------------------------------------------------------------------------

static float step_of(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i)
{
    const struct sq_bs_table *const t = sq_bs_table_of(f);
    return t ? sq_bs_step_at(t, b->sub, i, b->step[0])
             : b->step[b->is_high[i] && f->kind->has_two_parts];
}

uint8_t sq_bs_code_without_minus_zero(enum sq_element e, float x)
{
    return e == SQ_ELEMENT_E2M1   ? sq_e2m1_encode(x)
           : e == SQ_ELEMENT_E4M3 ? sq_e4m3_encode(x)
                                  : sq_element_encode(e, x);
}

struct sq_bs_code sq_bs_encode(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                               float x)
{
    const float step = step_of(f, b, i);
    return step != 0           ? f->kind->encode(f, b, i, x, x / step)
           : sq_bs_table_of(f) ? f->kind->encode(f, b, i, 0, 0)
                               : (struct sq_bs_code){0, 0};
}

float sq_bs_element(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                    struct sq_bs_code c)
{
    return f->kind->element(f, b, i, c);
}

bool sq_bs_is_legal(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                    struct sq_bs_code c)
{
    return f->kind->is_legal ? f->kind->is_legal(f, b, i, c)
                             : sq_element_is_number(f->element, c.code);
}

float sq_bs_value(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                  struct sq_bs_code c)
{
    const struct sq_bs_table *const t = sq_bs_table_of(f);
    const float offset = t ? sq_bs_offset_at(t, b->sub, i, b->offset) : 0;
    return sq_bs_element(f, b, i, c) * step_of(f, b, i) + offset;
}
