// SPDX-License-Identifier: Apache-2.0
// Layers on a grid of codes in files (sq_grid_format.h; SPEC O.1, A.6, A.6b): `lo`, `hi`, `mask` U8
// [N][bytes of a row] (models/sq_codes_pack.h), `s_lo`, `s_hi` F32 [N][K/G]; sq_a_static: `mask` U8
// [bytes of K bits], `perm_hi`, `perm_lo` I32, the channels of either part, ascending.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/quant/sq_algorithm2.h"
#include "models/quant/sq_codes_alloc.h"
#include "sim/format/sq_grid_format.h"

static enum sq_status no_memory(const struct sq_grid_layer *q, struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a layer of %zu x %zu", q->w.n, q->w.k);
}

bool sq_recipe_is_grid(const struct sq_recipe *r)
{
    return r->format->init == sq_grid_init;
}

bool sq_recipe_is_packed(const struct sq_recipe *r)
{
    return r->format == &sq_format_sq_w && r->weight.kind == SQ_GRID_OWN && !r->is_smooth &&
           r->bs.operand == SQ_OPERAND_BOTH && r->bs.rotation == 0;
}

// ---- what is stored ---------------------------------------------------------------------------

static enum sq_status store_mask(struct sq_grid_layer *q, struct sq_error *err)
{
    const size_t k = q->w.k;
    q->mask_bits = calloc((k + 7) / 8, 1);
    q->perm = malloc(2 * k * sizeof *q->perm);
    if (!q->mask_bits || !q->perm)
        return no_memory(q, err);
    q->n_high = sq_static_order(q->mask, k, q->perm, q->perm + k);
    for (size_t i = 0; i < k; i++)
        q->mask_bits[i / 8] |= (uint8_t)(q->mask[i] << i % 8);
    return SQ_OK;
}

static enum sq_status store_codes(struct sq_grid_layer *q, struct sq_error *err)
{
    const struct sq_codes *w = &q->w;
    for (enum sq_codes_stream s = 0; w->code && !q->packed.buffer && s < SQ_CODES_STREAMS; s++) {
        const size_t nbytes = sq_codes_row_nbytes(w, s);
        q->stream[s] = nbytes ? malloc(w->n * nbytes) : NULL;
        if (nbytes && !q->stream[s])
            return no_memory(q, err);
        for (size_t row = 0; nbytes && row < w->n; row++)
            sq_codes_pack_row(w, row, s, q->stream[s] + row * nbytes);
    }
    return SQ_OK;
}

enum sq_status sq_grid_store(struct sq_grid_layer *q, struct sq_error *err)
{
    if (q->mask)
        SQ_TRY(store_mask(q, err));
    return store_codes(q, err);
}

// Own weights have the streams of struct sq_codes as well: packed or not, their bytes are the same.
void *sq_grid_outline(const struct sq_recipe *r, size_t n, size_t k)
{
    struct sq_grid_layer *q = sq_grid_layer_new(r, n, k);
    if (q && r->select == SQ_SELECT_STATIC && sq_grid_is_mixed(&r->act))
        q->n_high = q->w.k / r->bank * r->high_per_bank;
    return q;
}

// ---- out --------------------------------------------------------------------------------------

static const char *const stream_name[SQ_CODES_STREAMS] = {"lo", "hi", "mask"};

static size_t put(struct sq_part *part, size_t n, const char *name, enum sq_dtype dtype,
                  uint64_t rows, uint64_t columns, const void *data)
{
    part[n] = (struct sq_part){name, dtype, columns ? 2 : 1, {rows, columns}, data};
    return n + 1;
}

size_t sq_grid_parts(const void *state, struct sq_part part[SQ_PARTS_MAX])
{
    const struct sq_grid_layer *q = state;
    const struct sq_codes *w = &q->w;
    const struct sq_matrix *m = q->packed.buffer ? &q->packed.m : NULL;
    size_t n = 0;
    if (m) {
        const uint64_t groups = sq_n_groups(&m->format, m->k);
        n = put(part, n, "s_lo", SQ_F32, m->n, groups, m->s_lo);
        n = put(part, n, "s_hi", SQ_F32, m->n, groups, m->s_hi);
        n = put(part, n, "lo", SQ_U8, m->n, sq_lo_row_nbytes(&m->format, m->k), m->lo);
        return put(part, n, "hi", SQ_U8, m->n, sq_hi_row_nbytes(&m->format, m->k), m->hi);
    }
    n = put(part, n, "s_lo", SQ_F32, w->n, w->k / w->group, w->s_lo);
    if (sq_codes_has_high_scale(&w->grid))
        n = put(part, n, "s_hi", SQ_F32, w->n, w->k / w->group, w->s_hi);
    for (enum sq_codes_stream s = 0; s < SQ_CODES_STREAMS; s++)
        if (sq_codes_row_nbytes(w, s) > 0)
            n = put(part, n, stream_name[s], SQ_U8, w->n, sq_codes_row_nbytes(w, s), q->stream[s]);
    if (q->n_high == 0)
        return n;
    n = put(part, n, "perm_hi", SQ_I32, q->n_high, 0, q->perm);
    n = put(part, n, "perm_lo", SQ_I32, w->k - q->n_high, 0, q->perm ? q->perm + w->k : NULL);
    return put(part, n, "mask", SQ_U8, (w->k + 7) / 8, 0, q->mask_bits);
}

// What codes mean, and what becomes of activations where that is no choice of the reader.
size_t sq_grid_file_values(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX])
{
    const bool is_w = r->format == &sq_format_sq_w,
               is_dynamic = r->format == &sq_format_sq_a_dynamic,
               is_act = r->format == &sq_format_sq_a_static || is_dynamic;
    size_t n = 0;
    value[n++] = (struct sq_metadata_value){"grid", (unsigned *)&r->weight.kind,
                                            is_w ? SQ_GRID_OWN : SQ_GRID_DENSE,
                                            is_w ? SQ_GRID_FP : SQ_GRID_DENSE};
    if (is_w)
        value[n++] = (struct sq_metadata_value){"h_high", &r->weight.high_bits, 4, 8};
    value[n++] = (struct sq_metadata_value){"h_low", &r->weight.low_bits, 2, 8};
    value[n++] = (struct sq_metadata_value){"group", &r->group, 0, 128};
    value[n++] = (struct sq_metadata_value){"operand", &r->bs.operand, 0, SQ_OPERAND_WEIGHTS};
    value[n++] = (struct sq_metadata_value){"rotate", &r->bs.rotation, 0, 2};
    if (is_w || is_act) {
        value[n++] = (struct sq_metadata_value){"bank", &r->bank, SQ_BANK_MIN, SQ_BANK_MAX};
        value[n++] = (struct sq_metadata_value){"k", &r->high_per_bank, 1, SQ_BANK_MAX};
    }
    if (is_act) {
        value[n++] = (struct sq_metadata_value){"act_grid", (unsigned *)&r->act.kind, SQ_GRID_OWN,
                                                SQ_GRID_SHIFT};
        value[n++] = (struct sq_metadata_value){"act_high", &r->act.high_bits, 4, 12};
        value[n++] = (struct sq_metadata_value){"act_low", &r->act.low_bits, 2, 4};
    }
    if (is_dynamic)
        value[n++] = (struct sq_metadata_value){"select", (unsigned *)&r->select,
                                                SQ_SELECT_DYNAMIC_FP, SQ_SELECT_DYNAMIC_INT8};
    return n;
}

// ---- in ---------------------------------------------------------------------------------------

static enum sq_status fetch(const struct sq_part_source *from, const char *name,
                            enum sq_dtype dtype, size_t rows, size_t columns, void *to,
                            struct sq_error *err)
{
    const struct sq_tensor *t;
    const size_t dim[] = {rows, columns};
    SQ_TRY(sq_part_find(from, name, dtype, columns ? 2 : 1, dim, &t, err));
    memcpy(to, t->data, t->nbytes);
    return SQ_OK;
}

static enum sq_status load_packed(struct sq_grid_layer *q, const struct sq_recipe *r,
                                  const struct sq_part_source *from, struct sq_error *err)
{
    const struct sq_format f = sq_recipe_banks(r);
    SQ_TRY(sq_operand_alloc(&q->packed, &f, from->n, from->k_orig, err));
    const struct sq_matrix *m = &q->packed.m;
    const size_t lo = sq_lo_row_nbytes(&f, m->k), hi = sq_hi_row_nbytes(&f, m->k);
    SQ_TRY(fetch(from, "s_lo", SQ_F32, m->n, sq_n_groups(&f, m->k), m->s_lo, err));
    SQ_TRY(fetch(from, "s_hi", SQ_F32, m->n, sq_n_groups(&f, m->k), m->s_hi, err));
    SQ_TRY(fetch(from, "lo", SQ_U8, m->n, lo, m->lo, err));
    SQ_TRY(fetch(from, "hi", SQ_U8, m->n, hi, m->hi, err));
    return sq_matrix_validate(m, m->n * lo, m->n * hi, q->packed.n_scales, err);
}

static enum sq_status load_codes(struct sq_grid_layer *q, const struct sq_part_source *from,
                                 struct sq_error *err)
{
    struct sq_codes *w = &q->w;
    const uint8_t *data[SQ_CODES_STREAMS] = {NULL};
    SQ_TRY(sq_codes_alloc(w, err));
    SQ_TRY(fetch(from, "s_lo", SQ_F32, w->n, w->k / w->group, w->s_lo, err));
    if (sq_codes_has_high_scale(&w->grid))
        SQ_TRY(fetch(from, "s_hi", SQ_F32, w->n, w->k / w->group, w->s_hi, err));
    SQ_TRY(sq_codes_settle_scales(w, err));
    for (enum sq_codes_stream s = 0; s < SQ_CODES_STREAMS; s++) {
        const size_t dim[] = {w->n, sq_codes_row_nbytes(w, s)};
        const struct sq_tensor *t;
        if (dim[1] == 0)
            continue;
        SQ_TRY(sq_part_find(from, stream_name[s], SQ_U8, 2, dim, &t, err));
        data[s] = t->data;
    }
    for (size_t row = 0; row < w->n; row++) {
        const uint8_t *in[SQ_CODES_STREAMS];
        for (enum sq_codes_stream s = 0; s < SQ_CODES_STREAMS; s++)
            in[s] = data[s] ? data[s] + row * sq_codes_row_nbytes(w, s) : NULL;
        SQ_TRY(sq_codes_unpack_row(w, row, in, err));
    }
    return SQ_OK;
}

// The order must be that of the mask, which has k channels a bank.
static enum sq_status load_mask(struct sq_grid_layer *q, const struct sq_recipe *r,
                                const struct sq_part_source *from, struct sq_error *err)
{
    const size_t k = q->w.k;
    const struct sq_tensor *bits, *hi, *lo;
    const size_t nbytes = (k + 7) / 8, n_hi = k / r->bank * r->high_per_bank, n_lo = k - n_hi;
    SQ_TRY(sq_part_find(from, "mask", SQ_U8, 1, &nbytes, &bits, err));
    SQ_TRY(sq_part_find(from, "perm_hi", SQ_I32, 1, &n_hi, &hi, err));
    SQ_TRY(sq_part_find(from, "perm_lo", SQ_I32, 1, &n_lo, &lo, err));
    q->mask = malloc(k);
    if (!q->mask)
        return no_memory(q, err);
    for (size_t i = 0; i < k; i++)
        q->mask[i] = bits->data[i / 8] >> i % 8 & 1;
    if (k % 8 != 0 && bits->data[k / 8] >> k % 8 != 0)
        return SQ_FAIL(err, SQ_ERR_PADDING, "mask: bits beyond channel %zu are not 0", k - 1);
    for (size_t i = 0, n = 0; i < k; i++) {
        n += q->mask[i];
        if ((i + 1) % r->bank == 0 && n != (i + 1) / r->bank * r->high_per_bank)
            return SQ_FAIL(err, SQ_ERR_MASK_COUNT, "mask: %zu channels up to bank %zu, need %zu", n,
                           i / r->bank, (i + 1) / r->bank * r->high_per_bank);
    }
    SQ_TRY(store_mask(q, err));
    if (memcmp(hi->data, q->perm, hi->nbytes) != 0 ||
        memcmp(lo->data, q->perm + k, lo->nbytes) != 0)
        return SQ_FAIL(err, SQ_ERR_INDEX, "perm_hi and perm_lo are not the order of the mask");
    return SQ_OK;
}

static enum sq_status load(struct sq_grid_layer *q, const struct sq_recipe *r,
                           const struct sq_part_source *from, struct sq_error *err)
{
    if (q->rotation && from->k_orig % q->rotation != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "K = %zu, need a multiple of the rotation's %u",
                       from->k_orig, q->rotation);
    if (r->select == SQ_SELECT_STATIC && sq_grid_is_mixed(&r->act))
        SQ_TRY(load_mask(q, r, from, err));
    SQ_TRY(r->weight.kind == SQ_GRID_OWN ? load_packed(q, r, from, err) : load_codes(q, from, err));
    SQ_TRY(store_codes(q, err));
    return r->bs.operand == SQ_OPERAND_WEIGHTS ? sq_grid_keep_values(q, r, NULL, err) : SQ_OK;
}

enum sq_status sq_grid_load(void **state, const struct sq_recipe *r,
                            const struct sq_part_source *from, struct sq_error *err)
{
    struct sq_grid_layer *q = sq_grid_layer_new(r, from->n, from->k_orig);
    *state = NULL;
    if (!q)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a layer");
    enum sq_status status = load(q, r, from, err);
    if (status == SQ_OK)
        status = sq_grid_prepare(q, r, err);
    if (status != SQ_OK)
        sq_grid_free(q);
    else
        *state = q;
    return status;
}
