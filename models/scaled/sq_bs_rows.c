// SPDX-License-Identifier: Apache-2.0
// Rows of blocks, and their rotation (sq_bs.h).
#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/number/sq_codes.h"
#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_table.h"

size_t sq_bs_padded(const struct sq_bs_format *f, size_t k_orig)
{
    return (k_orig + f->block - 1) / f->block * f->block;
}

uint32_t sq_bs_scale_at(const struct sq_bs *c, unsigned part, size_t i)
{
    const size_t nbytes = sq_bs_scale_nbytes(&c->f);
    uint32_t code = 0;
    memcpy(&code, c->scale[part] + i * nbytes, nbytes);
    return code;
}

// ---- globals --------------------------------------------------------------------------------

void sq_bs_mark_row(struct sq_bs *c, size_t row, const float *x)
{
    if (c->is_high)
        sq_mask_row(x, c->k, c->k_orig, c->f.block, sq_bs_n_marks(&c->f), c->is_high + row * c->k);
}

// Marks the high elements. Numbers that are not finite have the largest magnitudes, so that the
// largest tell of them.
static enum sq_status row_amax(struct sq_bs *c, size_t row, const float *x, float amax[SQ_BS_PARTS],
                               struct sq_error *err)
{
    sq_bs_mark_row(c, row, x);
    sq_grid_amax(x, c->high ? c->is_high + row * c->k : NULL, c->k_orig, amax);
    const bool is_finite = isfinite(amax[0]) && isfinite(amax[1]);
    for (size_t i = 0; !is_finite && i < c->k_orig; i++)
        if (!isfinite(x[i]))
            return SQ_FAIL(err, SQ_ERR_NON_FINITE, "x[%zu][%zu] = %g, need a finite number", row, i,
                           (double)x[i]);
    return SQ_OK;
}

enum sq_status sq_bs_globals(struct sq_bs *c, const float *x, bool is_tensor, struct sq_error *err)
{
    const unsigned n_parts = sq_bs_n_parts(&c->f);
    float all[SQ_BS_PARTS] = {0, 0}, global[SQ_BS_PARTS];
    for (size_t row = 0; row < c->n; row++) {
        float amax[SQ_BS_PARTS];
        SQ_TRY(row_amax(c, row, x + row * c->k_orig, amax, err));
        sq_bs_globals_of(&c->f, amax, global);
        for (unsigned p = 0; p < n_parts; p++)
            c->global[p][row] = global[p];
        for (unsigned p = 0; p < SQ_BS_PARTS; p++)
            all[p] = fmaxf(all[p], amax[p]);
    }
    sq_bs_globals_of(&c->f, all, global);
    for (unsigned p = 0; is_tensor && p < n_parts; p++)
        for (size_t row = 0; sq_bs_has_scale(&c->f, p) && row < c->n; row++)
            c->global[p][row] = global[p];
    return SQ_OK;
}

// ---- blocks and elements --------------------------------------------------------------------

void sq_bs_get_block(const struct sq_bs *c, size_t row, size_t j, struct sq_bs_block *b)
{
    const size_t block = c->f.block, at = row * (c->k / block) + j;
    memset(b, 0, sizeof *b);
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        if (sq_bs_has_scale(&c->f, p))
            b->scale[p] = sq_bs_scale_at(c, p, at);
    if (c->sub)
        memcpy(b->sub, c->sub + at * sq_bs_n_subs(&c->f), sq_bs_n_subs(&c->f));
    if (c->is_high)
        memcpy(b->is_high, c->is_high + row * c->k + j * block, block);
}

void sq_bs_put_block(struct sq_bs *c, size_t row, size_t j, const struct sq_bs_block *b)
{
    const size_t block = c->f.block, at = row * (c->k / block) + j;
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        if (sq_bs_has_scale(&c->f, p))
            memcpy(c->scale[p] + at * sq_bs_scale_nbytes(&c->f), &b->scale[p],
                   sq_bs_scale_nbytes(&c->f));
    if (c->sub)
        memcpy(c->sub + at * sq_bs_n_subs(&c->f), b->sub, sq_bs_n_subs(&c->f));
    if (c->is_high)
        memcpy(c->is_high + row * c->k + j * block, b->is_high, block);
}

struct sq_bs_code sq_bs_get(const struct sq_bs *c, size_t row, size_t i)
{
    const size_t at = row * c->k + i;
    return (struct sq_bs_code){c->code[at], c->high ? c->high[at] : 0};
}

void sq_bs_elements(const struct sq_bs *c, size_t row, size_t j, float *out)
{
    const size_t block = c->f.block;
    struct sq_bs_block b;
    sq_bs_get_block(c, row, j, &b);
    for (size_t i = 0; i < block; i++)
        out[i] = sq_bs_element(&c->f, &b, i, sq_bs_get(c, row, j * block + i));
    const struct sq_bs_table *t = sq_bs_table_of(&c->f);
    for (size_t i = block; t && (t->zero || t->lacks_zero) && i > 0 && j * block + i > c->k_orig;
         i--)
        out[i - 1] = 0;
}

void sq_bs_put(struct sq_bs *c, size_t row, size_t i, struct sq_bs_code code)
{
    c->code[row * c->k + i] = code.code;
    if (c->high)
        c->high[row * c->k + i] = code.high;
}

static void globals_at(const struct sq_bs *c, size_t row, float global[SQ_BS_PARTS])
{
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        global[p] = c->global[p] ? c->global[p][row] : 1;
}

void sq_bs_decode_block(const struct sq_bs *c, size_t row, size_t j, float *out)
{
    const size_t block = c->f.block;
    float global[SQ_BS_PARTS];
    struct sq_bs_block b;
    globals_at(c, row, global);
    sq_bs_get_block(c, row, j, &b);
    sq_bs_steps(&c->f, global, &b);
    for (size_t i = 0; i < block; i++)
        out[i] = sq_bs_value(&c->f, &b, i, sq_bs_get(c, row, j * block + i));
}

void sq_bs_decode_row(const struct sq_bs *c, size_t row, float *out)
{
    for (size_t j = 0; j < c->k / c->f.block; j++)
        sq_bs_decode_block(c, row, j, out + j * c->f.block);
}

// ---- minima ---------------------------------------------------------------------------------

void sq_bs_take_apart(const struct sq_bs *c, bool is_weight, struct sq_bs *to)
{
    const struct sq_bs_table *const t = sq_bs_table_of(&c->f);
    const uint8_t zero = (uint8_t)sq_bs_code_with(t, 0), one = (uint8_t)sq_bs_code_with(t, 1);
    const size_t block = c->f.block, blocks = c->k / block;
    for (size_t at = 0; at < c->n * blocks * SQ_BS_APART; at++) {
        const size_t j = at / SQ_BS_APART, first = j % blocks * block;
        const bool is_min = is_weight ? at & 1u : at >> 1 & 1u;
        const uint8_t *const code = c->code + j * block;
        for (size_t i = 0; i < block; i++)
            to->code[at * block + i] = first + i >= c->k_orig ? zero : is_min ? one : code[i];
        memcpy(to->scale[0] + 2 * at,
               is_min ? c->sub + j * sq_bs_n_subs(&c->f) + sq_bs_zero_at(t) : c->scale[0] + 2 * j,
               2);
    }
}

// ---- rotation -------------------------------------------------------------------------------

void sq_bs_rotate(float *x, size_t k, unsigned n)
{
    const float unit = n == 16 ? 0.25f : 1 / sqrtf((float)n);
    assert(k % n == 0);
    for (float *v = x; v < x + k; v += n) {
        for (unsigned distance = 1; distance < n; distance *= 2)
            for (unsigned i = 0; i < n; i++)
                if ((i & distance) == 0) {
                    const float a = v[i], b = v[i + distance];
                    v[i] = a + b;
                    v[i + distance] = a - b;
                }
        for (unsigned i = 0; i < n; i++)
            v[i] *= unit;
    }
}

// Rounds to the nearest integer, halves away from zero, at most `limit`.
static int32_t nearest(float x, int32_t limit)
{
    const int32_t twice = (int32_t)(fabsf(x) * 2), q = (twice + 1) / 2;
    const int32_t magnitude = q < limit ? q : limit;
    return x < 0 ? -magnitude : magnitude;
}

static void rotate_integer(float *v, unsigned n, unsigned bits)
{
    int32_t q[SQ_BS_BLOCK_MAX];
    float most = 0, none = 0;
    for (unsigned i = 0; i < n; i++) {
        most = fmaxf(most, fabsf(v[i]));
        none += v[i] * 0; // not a number where an element is not finite
    }
    const int least = (int)bits - 126, exponent = most > 0 && none == 0 ? ilogbf(most) : least;
    const int e = exponent > least ? exponent : least;
    const float up = ldexpf(1, (int)bits - 2 - e);
    const float down = ldexpf(1, e - (int)bits + 2) / (n == 16 ? 4 : 2);
    for (unsigned i = 0; i < n; i++)
        q[i] = none == 0 ? nearest(v[i] * up, (1 << (bits - 1)) - 1) : 0;
    for (unsigned distance = 1; distance < n; distance *= 2)
        for (unsigned i = 0; i < n; i++)
            if ((i & distance) == 0) {
                const int32_t a = q[i], b = q[i + distance];
                q[i] = a + b;
                q[i + distance] = a - b;
            }
    for (unsigned i = 0; i < n; i++)
        v[i] = (float)q[i] * down + none;
}

void sq_bs_rotate_integer(float *x, size_t k, unsigned n, unsigned bits)
{
    assert(k % n == 0 && (n == 4 || n == 16) && bits >= 9 && bits <= 16);
    for (float *v = x; v < x + k; v += n)
        rotate_integer(v, n, bits);
}
