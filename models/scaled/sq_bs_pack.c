// SPDX-License-Identifier: Apache-2.0
// Packs block-scaled rows into bit streams, and refuses streams that no packing gives
// (sq_bs_pack.h).
#include "models/scaled/sq_bs_pack.h"

#include <string.h>

#include "models/core/sq_format.h"
#include "models/number/sq_bits.h"
#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_table.h"

enum { SENTINEL = 8, PLACE_BITS = 5 };

unsigned sq_bs_stream_bits(const struct sq_bs_format *f, enum sq_bs_stream s)
{
    const enum sq_bs_marks marks = f->kind->marks;
    const struct sq_bs_table *const t = sq_bs_table_of(f);
    if (t && t->keep_m && s == SQ_BS_CODES)
        return f->block / t->keep_m * t->keep_n * t->bits;
    if (t && t->keep_m && s == SQ_BS_MASK)
        return f->block / sq_bs_keep_unit(t);
    return s == SQ_BS_CODES  ? f->block * sq_bs_code_bits(f)
           : s == SQ_BS_HIGH ? sq_bs_n_marks(f) * sq_bs_high_bits(f)
           : s == SQ_BS_SUB  ? sq_bs_sub_bits(f)
           : s == SQ_BS_MASK ? (marks == SQ_BS_MASKED ? f->block : 0)
                             : (marks == SQ_BS_PLACED ? PLACE_BITS : 0);
}

size_t sq_bs_row_nbytes(const struct sq_bs_format *f, size_t k, enum sq_bs_stream s)
{
    return sq_packed_nbytes(k / f->block, sq_bs_stream_bits(f, s));
}

double sq_bs_bits(const struct sq_bs_format *f)
{
    double bits = 8 * (sq_bs_scale_nbytes(f) + (double)sq_bs_has_scale(f, 1));
    for (enum sq_bs_stream s = 0; s < SQ_BS_STREAMS; s++)
        bits += sq_bs_stream_bits(f, s);
    return bits / f->block;
}

// ---- sub-blocks -----------------------------------------------------------------------------

// The next field of the sub bits of a block: `width` bits from bit `shift` of the bytes of `n` leaves from
// `leaf` on. Fields follow from their number.
struct field {
    unsigned leaf, n, shift, width;
};

static bool field_of(const struct sq_bs_table *t, unsigned i, struct field *to)
{
    const unsigned leaves = sq_bs_leaves(t), has_grid = t->n_grids > 1 && !t->is_sign_grid;
    const unsigned integers = t->sub_scale.bits ? sq_bs_zero_at(t) : 0;
    *to = (struct field){0, leaves, 4, sq_bs_grid_bits(t)};
    if (has_grid && i == 0)
        return true;
    i -= has_grid;
    for (unsigned l = 0; l < t->n_levels; l++) {
        const unsigned n = t->length / t->level[l].length;
        *to = (struct field){i * (leaves / n), leaves / n, 2 * l, t->level[l].bits};
        if (i < n)
            return true;
        i -= n;
    }
    *to = (struct field){i, 1, 0, t->sub_scale.bits};
    if (i < integers)
        return true;
    i -= integers;
    *to = (struct field){sq_bs_zero_at(t) + i, 1, 0, t->zero == SQ_BS_ZERO_INT ? t->zero_bits : 8};
    return i < sq_bs_zero_nbytes(t);
}

static void put_sub(const struct sq_bs_table *t, const uint8_t *sub, size_t at, uint8_t *out)
{
    struct field f;
    for (unsigned i = 0; field_of(t, i, &f); i++)
        for (unsigned b = 0; b < f.width; b++, at++)
            out[at / 8] |= (uint8_t)((sub[f.leaf] >> (f.shift + b) & 1u) << at % 8);
}

static void get_sub(const struct sq_bs_table *t, const uint8_t *in, size_t at, size_t n_subs,
                    uint8_t *sub)
{
    struct field f;
    memset(sub, 0, n_subs);
    for (unsigned i = 0; field_of(t, i, &f); i++)
        for (unsigned b = 0; b < f.width; b++, at++)
            for (unsigned l = 0; l < f.n; l++)
                sub[f.leaf + l] |=
                    (uint8_t)(((unsigned)in[at / 8] >> at % 8 & 1u) << (f.shift + b));
}

// ---- kept elements --------------------------------------------------------------------------

// Which elements of a group from column `first` on are kept, of codes of which 0 has `zero`: units with another code, then
// the first others, keep_n in all.
static void find_kept(const struct sq_bs_table *t, const uint8_t *code, uint8_t zero,
                      bool is_kept[SQ_BS_TABLE_KEEP])
{
    const unsigned unit = sq_bs_keep_unit(t);
    unsigned n = 0;
    for (unsigned fills = 0; fills < 2; fills++)
        for (unsigned i = 0; i < t->keep_m; i += unit) {
            const bool is_any = code[i] != zero || (unit > 1 && code[i + 1] != zero);
            if (is_any == fills)
                continue;
            for (unsigned e = i; e < i + unit; e++)
                is_kept[e] = n < t->keep_n;
            n += unit;
        }
}

// The code of 0 in block j.
static uint8_t zero_of(const struct sq_bs *c, size_t row, size_t j)
{
    struct sq_bs_block b;
    sq_bs_get_block(c, row, j, &b);
    return sq_bs_encode(&c->f, &b, 0, 0).code;
}

// Codes or mask of a row of which some are kept.
static void pack_kept(const struct sq_bs *c, size_t row, bool is_mask, uint8_t *out)
{
    const struct sq_bs_table *const t = sq_bs_table_of(&c->f);
    bool is_kept[SQ_BS_TABLE_KEEP];
    for (size_t i = 0, at = 0; i < c->k; i += t->keep_m) {
        const uint8_t *const code = c->code + row * c->k + i;
        find_kept(t, code, zero_of(c, row, i / c->f.block), is_kept);
        for (unsigned e = 0; e < t->keep_m; e += is_mask ? sq_bs_keep_unit(t) : 1)
            if (is_mask)
                sq_bits_put(out, at++, 1, (int8_t)is_kept[e]);
            else if (is_kept[e])
                sq_bits_put(out, at++, t->bits, (int8_t)code[e]);
    }
}

// Codes of the row, all of them, from those that are kept and the mask; the group of the first that no packing gives, or k.
static size_t unpack_kept(struct sq_bs *c, size_t row, const uint8_t *const in[SQ_BS_STREAMS])
{
    const struct sq_bs_table *const t = sq_bs_table_of(&c->f);
    const unsigned unit = sq_bs_keep_unit(t);
    bool is_kept[SQ_BS_TABLE_KEEP];
    for (size_t i = 0, at = 0; i < c->k; i += t->keep_m) {
        uint8_t *const code = c->code + row * c->k + i;
        const uint8_t zero = zero_of(c, row, i / c->f.block);
        unsigned n = 0;
        bool is_same = true;
        for (unsigned e = 0; e < t->keep_m; e++) {
            const bool is_in = sq_bits_get(in[SQ_BS_MASK], (i + e) / unit, 1) != 0;
            n += is_in;
            code[e] = zero;
            if (is_in && n <= t->keep_n)
                code[e] = (uint8_t)((unsigned)sq_bits_get(in[SQ_BS_CODES], at++, t->bits) &
                                    ((1u << t->bits) - 1));
        }
        find_kept(t, code, zero, is_kept);
        for (unsigned e = 0; e < t->keep_m; e++)
            is_same =
                is_same && is_kept[e] == (sq_bits_get(in[SQ_BS_MASK], (i + e) / unit, 1) != 0);
        if (!is_same || n != t->keep_n)
            return i;
    }
    return c->k;
}

// ---- out ------------------------------------------------------------------------------------

static void put(uint8_t *out, size_t i, unsigned bits, unsigned code)
{
    sq_bits_put(out, i, bits, (int8_t)code);
}

void sq_bs_pack_row(const struct sq_bs *c, size_t row, enum sq_bs_stream s, uint8_t *out)
{
    const struct sq_bs_format *f = &c->f;
    const size_t first = row * c->k;
    const bool is_sentinel = f->kind->marks == SQ_BS_SENTINEL;
    size_t n_high = 0;
    memset(out, 0, sq_bs_row_nbytes(f, c->k, s));
    const size_t blocks = c->k / f->block, subs = sq_bs_n_subs(f);
    for (size_t j = 0; s == SQ_BS_SUB && j < blocks; j++)
        put_sub(sq_bs_table_of(f), c->sub + (row * blocks + j) * subs, j * sq_bs_sub_bits(f), out);
    if (sq_bs_table_of(f) && sq_bs_table_of(f)->keep_m && s != SQ_BS_SUB) {
        pack_kept(c, row, s == SQ_BS_MASK, out);
        return;
    }
    for (size_t i = 0; i < c->k; i++) {
        const bool is_high = c->is_high && c->is_high[first + i];
        if (s == SQ_BS_CODES)
            put(out, i, sq_bs_code_bits(f), is_high && is_sentinel ? SENTINEL : c->code[first + i]);
        else if (s == SQ_BS_HIGH && is_high)
            put(out, n_high++, sq_bs_high_bits(f), c->high[first + i]);
        else if (s == SQ_BS_MASK)
            put(out, i, 1, is_high);
        else if (s == SQ_BS_INDEX && is_high)
            put(out, i / f->block, PLACE_BITS, (unsigned)(i % f->block));
    }
}

// ---- in -------------------------------------------------------------------------------------

static unsigned get(const uint8_t *in, size_t i, unsigned bits)
{
    return (unsigned)sq_bits_get(in, i, bits) & ((1u << bits) - 1);
}

static enum sq_status check_padding(size_t row, const uint8_t *in, size_t nbits, size_t nbytes,
                                    struct sq_error *err)
{
    if (nbits % 8 && in[nbytes - 1] >> nbits % 8)
        return SQ_FAIL(err, SQ_ERR_PADDING, "row %zu: padding bits are not zero", row);
    return SQ_OK;
}

static enum sq_status check_streams(const struct sq_bs *c, size_t row,
                                    const uint8_t *const in[SQ_BS_STREAMS], struct sq_error *err)
{
    const struct sq_bs_format *f = &c->f;
    for (enum sq_bs_stream s = 0; s < SQ_BS_STREAMS; s++) {
        const size_t nbytes = sq_bs_row_nbytes(f, c->k, s);
        if (nbytes > 0)
            SQ_TRY(
                check_padding(row, in[s], c->k / f->block * sq_bs_stream_bits(f, s), nbytes, err));
    }
    return SQ_OK;
}

// Marks of block j. PLACED: in a block that has one.
static enum sq_status mark(struct sq_bs *c, size_t row, size_t j,
                           const uint8_t *const in[SQ_BS_STREAMS], struct sq_error *err)
{
    const struct sq_bs_format *f = &c->f;
    const enum sq_bs_marks marks = f->kind->marks;
    uint8_t *is_high = c->is_high + row * c->k + j * f->block;
    unsigned n = 0;
    for (size_t i = 0; i < f->block; i++) {
        const size_t at = j * f->block + i;
        is_high[i] = marks == SQ_BS_PLACED   ? 0
                     : marks == SQ_BS_MASKED ? (uint8_t)get(in[SQ_BS_MASK], at, 1)
                                             : get(in[SQ_BS_CODES], at, 4) == SENTINEL;
        n += is_high[i];
    }
    if (marks != SQ_BS_PLACED && n != f->high_per_block)
        return SQ_FAIL(err, SQ_ERR_MASK_COUNT, "row %zu, bank %zu: %u high elements, need %u", row,
                       j, n, f->high_per_block);
    if (marks != SQ_BS_PLACED)
        return SQ_OK;
    const unsigned place = get(in[SQ_BS_INDEX], j, PLACE_BITS);
    const bool has_largest = c->scale[0][row * (c->k / f->block) + j] > 0;
    if (has_largest ? j * f->block + place >= c->k_orig : place != 0)
        return SQ_FAIL(err, SQ_ERR_INDEX,
                       "row %zu, block %zu: its largest element is said to be %u", row, j, place);
    is_high[place] = has_largest;
    return SQ_OK;
}

// A binary16 in the last bytes of a block is a number.
static enum sq_status check_zero(size_t row, size_t j, const uint8_t *half, struct sq_error *err)
{
    SQ_FAIL_IF((half[1] & 0x7cu) == 0x7cu, err, SQ_ERR_SCALE,
               "row %zu, block %zu: blocks.0.zero = 0x%02x%02x, need a finite binary16", row, j,
               half[1], half[0]);
    return SQ_OK;
}

enum sq_status sq_bs_unpack_row(struct sq_bs *c, size_t row, const uint8_t *const in[SQ_BS_STREAMS],
                                struct sq_error *err)
{
    const struct sq_bs_format *f = &c->f;
    const bool is_sentinel = f->kind->marks == SQ_BS_SENTINEL;
    struct sq_bs_block b;
    const size_t blocks = c->k / f->block, subs = sq_bs_n_subs(f);
    size_t n_high = 0;
    SQ_TRY(check_streams(c, row, in, err));
    for (size_t j = 0; subs > 0 && j < blocks; j++)
        get_sub(sq_bs_table_of(f), in[SQ_BS_SUB], j * sq_bs_sub_bits(f), subs,
                c->sub + (row * blocks + j) * subs);
    const bool has_kept = sq_bs_table_of(f) && sq_bs_table_of(f)->keep_m;
    const size_t wrong = has_kept ? unpack_kept(c, row, in) : c->k;
    if (wrong < c->k)
        return SQ_FAIL(err, SQ_ERR_MASK_COUNT,
                       "row %zu, columns from %zu on: the mask keeps others than %u of %u, or a 0 "
                       "where another number is not kept",
                       row, wrong, sq_bs_table_of(f)->keep_n, sq_bs_table_of(f)->keep_m);
    for (size_t i = 0; i < c->k; i++) {
        const size_t at = i % f->block;
        if (at == 0 && c->is_high)
            SQ_TRY(mark(c, row, i / f->block, in, err));
        if (at == 0)
            sq_bs_get_block(c, row, i / f->block, &b);
        if (at == 0 && sq_bs_table_of(f)) {
            sq_bs_steps(f, (const float[SQ_BS_PARTS]){1, 1}, &b); // codes of 0 follow from them
            if (sq_bs_table_of(f)->zero > SQ_BS_ZERO_INT)
                SQ_TRY(
                    check_zero(row, i / f->block, b.sub + sq_bs_zero_at(sq_bs_table_of(f)), err));
        }
        const bool is_high = b.is_high[at];
        struct sq_bs_code code = {has_kept ? c->code[row * c->k + i]
                                           : (uint8_t)get(in[SQ_BS_CODES], i, sq_bs_code_bits(f)),
                                  0};
        if (is_high && is_sentinel)
            code.code = 0;
        if (is_high && c->high)
            code.high = (uint8_t)get(in[SQ_BS_HIGH], n_high++, sq_bs_high_bits(f));
        if (!sq_bs_is_legal(f, &b, at, code))
            return SQ_FAIL(err, SQ_ERR_CODE, "row %zu, column %zu: code 0x%x is no value", row, i,
                           is_high && c->high ? code.high : code.code);
        if (i >= c->k_orig &&
            (code.high || code.code != (sq_bs_table_of(f) ? sq_bs_encode(f, &b, at, 0).code : 0)))
            return SQ_FAIL(err, SQ_ERR_PADDING, "row %zu, column %zu: padding is not zero", row, i);
        sq_bs_put(c, row, i, code);
    }
    return SQ_OK;
}

// The largest code of a scale.
static unsigned last_scale(const struct sq_bs_format *f, unsigned part)
{
    if (sq_bs_scale_nbytes(f) > 1)
        return sq_bs_scale_last(sq_bs_table_of(f)->scale);
    unsigned code = 0xff;
    while (!sq_bs_is_scale(f, part, code))
        code--;
    return code;
}

enum sq_status sq_bs_check_scales(const struct sq_bs *c, struct sq_error *err)
{
    const struct sq_bs_format *f = &c->f;
    const size_t n = c->n * (c->k / f->block);
    for (unsigned p = 0; p < SQ_BS_PARTS; p++) {
        for (size_t i = 0; sq_bs_has_scale(f, p) && i < n; i++)
            if (!sq_bs_is_scale(f, p, sq_bs_scale_at(c, p, i)))
                return SQ_FAIL(err, SQ_ERR_SCALE, "scale[%zu] has code 0x%x, need 0..0x%x", i,
                               sq_bs_scale_at(c, p, i), last_scale(f, p));
        for (size_t i = 0; sq_bs_has_global(f, p) && i < c->n; i++)
            if (!sq_scale_is_valid(c->global[p][i]))
                return SQ_FAIL(err, SQ_ERR_SCALE, "global[%zu] = %g, need finite and > 0", i,
                               (double)c->global[p][i]);
    }
    return SQ_OK;
}
