// SPDX-License-Identifier: Apache-2.0
// Checks the shape of codes, allocates their buffers, and packs them (sq_codes_alloc.h).
#include "models/quant/sq_codes_alloc.h"

#include <stdlib.h>

static enum sq_status check(const struct sq_codes *c, struct sq_error *err)
{
    SQ_TRY(sq_grid_check(&c->grid, err));
    SQ_FAIL_IF(c->n == 0 || c->k_orig == 0 || c->k < c->k_orig || c->group == 0 ||
                   c->k % c->group != 0,
               err, SQ_ERR_SHAPE, "%zu x %zu of %zu codes by %zu, need whole groups", c->n,
               c->k_orig, c->k, c->group);
    if (!sq_grid_is_mixed(&c->grid))
        return SQ_OK;
    SQ_FAIL_IF(c->bank < SQ_BANK_MIN || c->bank > SQ_BANK_MAX || c->group % c->bank != 0, err,
               SQ_ERR_SHAPE, "bank = %u, need %u..%u and a divisor of the group %zu", c->bank,
               SQ_BANK_MIN, SQ_BANK_MAX, c->group);
    SQ_FAIL_IF(c->high_per_bank == 0 || c->high_per_bank >= c->bank, err, SQ_ERR_SHAPE,
               "%u high elements in a bank of %u, need 1..%u", c->high_per_bank, c->bank,
               c->bank - 1);
    return SQ_OK;
}

enum sq_status sq_codes_alloc(struct sq_codes *c, struct sq_error *err)
{
    c->code = NULL;
    c->is_high = NULL;
    c->s_lo = c->s_hi = NULL;
    SQ_TRY(check(c, err));
    const size_t n_scales = c->n * (c->k / c->group);
    const bool is_mixed = sq_grid_is_mixed(&c->grid);
    c->code = calloc(c->n, c->k * sizeof *c->code);
    c->is_high = is_mixed ? calloc(c->n, c->k) : NULL;
    c->s_lo = calloc(n_scales, sizeof *c->s_lo);
    c->s_hi = calloc(n_scales, sizeof *c->s_hi);
    if (c->code && (c->is_high || !is_mixed) && c->s_lo && c->s_hi)
        return SQ_OK;
    sq_codes_free(c);
    return SQ_NO_MEMORY(err, "%zu x %zu codes", c->n, c->k);
}

void sq_codes_free(struct sq_codes *c)
{
    SQ_FREE(c->code, c->is_high, c->s_lo, c->s_hi);
    *c = (struct sq_codes){0};
}

static enum sq_status check_matrix(const struct sq_matrix *m, struct sq_error *err)
{
    const struct sq_format *f = &m->format;
    SQ_TRY(sq_format_check(f, err));
    SQ_FAIL_IF(m->n == 0 || m->k_orig == 0, err, SQ_ERR_SHAPE, "N = %zu, K = %zu, need both >= 1",
               m->n, m->k_orig);
    SQ_FAIL_IF(m->k != sq_k_padded(f, m->k_orig), err, SQ_ERR_SHAPE,
               "padded K = %zu, need %zu for K = %zu, bank %u, group %u", m->k,
               sq_k_padded(f, m->k_orig), m->k_orig, f->bank, f->group);
    SQ_FAIL_IF(sq_group_len(f, m->k) > SQ_GROUP_LEN_MAX, err, SQ_ERR_UNSUPPORTED,
               "scale group of %zu elements, need <= %u for an exact INT32 sum",
               sq_group_len(f, m->k), SQ_GROUP_LEN_MAX);
    return SQ_OK;
}

enum sq_status sq_encode_rtn(const float *w, struct sq_matrix *m, struct sq_error *err)
{
    const struct sq_format *f = &m->format;
    SQ_TRY(check_matrix(m, err));
    SQ_CLOSED(sq_codes_free)
    struct sq_codes c = {.grid = {SQ_GRID_OWN, f->high_bits, f->low_bits},
                         .n = m->n,
                         .k = m->k,
                         .k_orig = m->k_orig,
                         .group = sq_group_len(f, m->k),
                         .bank = f->bank,
                         .high_per_bank = f->high_per_bank};
    SQ_TRY(sq_codes_alloc(&c, err));
    SQ_TRY(sq_codes_encode_rtn(&c, w, err));
    return sq_codes_pack(&c, m, err);
}
