// SPDX-License-Identifier: Apache-2.0
// Packs rows of codes into bit streams, and refuses streams that no packing gives
// (sq_codes_pack.h).
#include "models/number/sq_codes_pack.h"

#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_fp.h"

static bool is_split(const struct sq_grid *g)
{
    return g->kind == SQ_GRID_SPLIT;
}

// Codes of a row in a stream, and the bits of one; 0: the grid has no such stream.
static size_t row_codes(const struct sq_codes *c, enum sq_codes_stream s)
{
    const bool is_mixed = sq_grid_is_mixed(&c->grid);
    return s == SQ_CODES_LOW                          ? c->k
           : s == SQ_CODES_HIGH && is_mixed           ? c->k / c->bank * c->high_per_bank
           : s == SQ_CODES_MASK && is_split(&c->grid) ? c->k
                                                      : 0;
}

static unsigned code_bits(const struct sq_grid *g, enum sq_codes_stream s)
{
    return s == SQ_CODES_LOW    ? g->low_bits
           : s == SQ_CODES_MASK ? 1
           : is_split(g)        ? g->high_bits - g->low_bits
                                : g->high_bits;
}

size_t sq_codes_row_nbytes(const struct sq_codes *c, enum sq_codes_stream s)
{
    const size_t n = row_codes(c, s);
    return n ? sq_packed_nbytes(n, code_bits(&c->grid, s)) : 0;
}

bool sq_codes_has_high_scale(const struct sq_grid *g)
{
    return g->kind == SQ_GRID_OWN || g->kind == SQ_GRID_FP;
}

// The code at a high place of the low stream, of a grid that marks it there.
static int mark(const struct sq_grid *g)
{
    return g->kind == SQ_GRID_FP ? -(int)SQ_E2M1_MASK_CODE // 1000b
                                 : sq_mask_code(g->low_bits);
}

// ---- out ------------------------------------------------------------------------------------

static int stored(const struct sq_grid *g, enum sq_codes_stream s, int16_t code, bool is_high)
{
    if (s == SQ_CODES_MASK)
        return is_high;
    if (is_split(g))
        return s == SQ_CODES_LOW ? sq_split_lower(g, code) : sq_split_upper(g, code);
    return s == SQ_CODES_LOW && is_high ? mark(g) : code;
}

void sq_codes_pack_row(const struct sq_codes *c, size_t row, enum sq_codes_stream s, uint8_t *out)
{
    const unsigned bits = code_bits(&c->grid, s);
    size_t n = 0;
    memset(out, 0, sq_codes_row_nbytes(c, s));
    for (size_t i = 0; i < c->k; i++) {
        const bool is_high = c->is_high && c->is_high[row * c->k + i];
        if (s != SQ_CODES_HIGH || is_high)
            sq_bits_put(out, n++, bits,
                        (int8_t)stored(&c->grid, s, c->code[row * c->k + i], is_high));
    }
}

// ---- in -------------------------------------------------------------------------------------

static enum sq_status check_padding(const struct sq_codes *c, size_t row, enum sq_codes_stream s,
                                    const uint8_t *in, struct sq_error *err)
{
    const size_t nbits = row_codes(c, s) * code_bits(&c->grid, s);
    SQ_FAIL_IF(nbits % 8 != 0 && in[nbits / 8] >> nbits % 8 != 0, err, SQ_ERR_PADDING,
               "row %zu: padding bits of stream %d are not 0", row, (int)s);
    return SQ_OK;
}

// A code as it lies in a stream, as the grid has it; false: it is none.
static bool value_of(const struct sq_grid *g, bool is_high, int low, int high, int16_t *code)
{
    const unsigned bits = is_high ? g->high_bits : g->low_bits;
    if (is_split(g) && is_high) {
        *code = (int16_t)(high * (1 << g->low_bits) + low);
        return true;
    }
    *code = (int16_t)(is_high ? high : low);
    if (g->kind != SQ_GRID_FP)
        return *code != -(1 << (bits - 1));
    *code = (int16_t)(*code & ((1 << bits) - 1)); // their bits
    return !is_high || sq_fp_is_number(SQ_FP_E4M3, (uint8_t)*code);
}

enum sq_status sq_codes_unpack_row(struct sq_codes *c, size_t row,
                                   const uint8_t *const in[SQ_CODES_STREAMS], struct sq_error *err)
{
    const struct sq_grid *g = &c->grid;
    const bool is_mixed = sq_grid_is_mixed(g);
    const size_t n_high = row_codes(c, SQ_CODES_HIGH);
    size_t n = 0, before = 0;
    for (enum sq_codes_stream s = 0; s < SQ_CODES_STREAMS; s++)
        if (in[s])
            SQ_TRY(check_padding(c, row, s, in[s], err));
    for (size_t i = 0; i < c->k; i++) {
        int16_t *code = &c->code[row * c->k + i];
        const int low = sq_bits_get(in[SQ_CODES_LOW], i, g->low_bits);
        const bool is_high =
            is_mixed && (is_split(g) ? sq_bits_get(in[SQ_CODES_MASK], i, 1) != 0 : low == mark(g));
        SQ_FAIL_IF(is_high && n == n_high, err, SQ_ERR_MASK_COUNT,
                   "row %zu: more than %zu high codes", row, n_high);
        const int high =
            is_high ? sq_bits_get(in[SQ_CODES_HIGH], n++, code_bits(g, SQ_CODES_HIGH)) : 0;
        SQ_FAIL_IF(!value_of(g, is_high, low, high, code), err, SQ_ERR_CODE,
                   "row %zu column %zu: %s code %d is no value", row, i, is_high ? "high" : "low",
                   is_high ? high : low);
        SQ_FAIL_IF(i >= c->k_orig && *code != 0, err, SQ_ERR_PADDING,
                   "row %zu column %zu: padding has code %d", row, i, *code);
        if (is_mixed)
            c->is_high[row * c->k + i] = is_high;
        SQ_FAIL_IF(is_mixed && (i + 1) % c->bank == 0 && n - before != c->high_per_bank, err,
                   SQ_ERR_MASK_COUNT, "row %zu bank %zu: %zu high codes, need %u", row, i / c->bank,
                   n - before, c->high_per_bank);
        before = is_mixed && (i + 1) % c->bank == 0 ? n : before;
    }
    return SQ_OK;
}

enum sq_status sq_codes_settle_scales(struct sq_codes *c, struct sq_error *err)
{
    const struct sq_grid *g = &c->grid;
    const float ratio = (float)(1u << (g->kind == SQ_GRID_TIED ? g->high_bits - g->low_bits : 0));
    for (size_t i = 0; i < c->n * (c->k / c->group); i++) {
        if (!sq_codes_has_high_scale(g))
            c->s_hi[i] = c->s_lo[i] / ratio;
        SQ_FAIL_IF(!sq_scale_is_valid(c->s_lo[i]) || !sq_scale_is_valid(c->s_hi[i]), err,
                   SQ_ERR_SCALE, "scale[%zu] = %g and %g, need finite and > 0", i,
                   (double)c->s_lo[i], (double)c->s_hi[i]);
    }
    return SQ_OK;
}
