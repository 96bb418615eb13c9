// SPDX-License-Identifier: Apache-2.0
// Products of formats on a grid of codes, on all threads (sq_grid_format.h).
#include <stdlib.h>

#include "models/quant/sq_codes_alloc.h"
#include "models/sq_mac.h"
#include "sim/format/sq_grid_format.h"

enum { CHANNELS = 64 }; // of one piece of work

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static enum sq_status no_memory(size_t n, size_t k, struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a layer of %zu x %zu", n, k);
}

struct tokens {
    const struct sq_matrix *w;
    unsigned bits;
    const float *x;
    int8_t *act;
    float *s_a;
};

// Tokens of a packed layer as integers.
static enum sq_status quantize_tokens(void *context, size_t t, size_t m, struct sq_error *err)
{
    const struct tokens *c = context;
    const struct sq_matrix *w = c->w;
    return sq_act_quantize(c->x + t * w->k_orig, m, w->k_orig, w->k, c->bits, c->act + t * w->k,
                           c->s_a + t, err);
}

// Packed SQ weights: threads share out the channels, so that each row is unpacked once.
static enum sq_status apply_packed(const struct sq_grid_layer *q, const struct sq_recipe *r,
                                   const float *x, size_t m, float *y, struct sq_error *err)
{
    const struct sq_matrix *w = &q->packed.m;
    const size_t scratch_nbytes = (sq_gemm_scratch_nbytes(w) + 63) / 64 * 64;
    int8_t *act = malloc(m * w->k);
    float *s_a = malloc(m * sizeof *s_a);
    struct tokens tokens = {w, r->act.low_bits, x, act, s_a};
    bool is_out_of_memory = !act || !s_a;
    enum sq_status status = SQ_OK;
    if (!is_out_of_memory)
        status = sq_each_piece(m, quantize_tokens, &tokens, err);
    if (!is_out_of_memory && status == SQ_OK) {
#pragma omp parallel for schedule(dynamic)
        for (size_t n = 0; n < w->n; n += CHANNELS) {
            void *scratch = aligned_alloc(64, scratch_nbytes);
            if (scratch) {
                sq_gemm_sq_w(w, act, s_a, m, n, min_size(n + CHANNELS, w->n), y, NULL, NULL,
                             scratch);
            } else {
#pragma omp atomic write
                is_out_of_memory = true;
            }
            free(scratch);
        }
    }
    free(act);
    free(s_a);
    return is_out_of_memory ? no_memory(w->n, w->k, err) : status;
}

struct sq_codes sq_grid_act_codes(const struct sq_grid_layer *q, const struct sq_recipe *r,
                                  size_t m)
{
    const bool is_mixed = sq_grid_is_mixed(&r->act);
    return (struct sq_codes){.grid = r->act,
                             .n = m,
                             .k = q->w.k,
                             .k_orig = q->w.k_orig,
                             .group = q->w.k,
                             .bank = is_mixed ? r->bank : 0,
                             .high_per_bank = is_mixed ? r->high_per_bank : 0};
}

// m <= TOKENS tokens of any other pair of grids; cells as in struct sq_gemm_codes.
static enum sq_status apply_codes(const struct sq_grid_layer *q, const struct sq_recipe *r,
                                  const void *cells, const float *x, size_t m, float *y,
                                  struct sq_error *err)
{
    struct sq_codes a = sq_grid_act_codes(q, r, m);
    SQ_TRY(sq_codes_alloc(&a, err));
    const struct sq_gemm_codes g = {.x = &a, .w = &q->w, .y = y, .cells = cells};
    float *score = malloc(2 * a.k * sizeof *score);
    void *scratch = aligned_alloc(64, (sq_gemm_codes_scratch(&g) + 63) / 64 * 64);
    enum sq_status status = sq_gemm_codes_check(&g, err);
    if (status == SQ_OK && (!score || !scratch))
        status = no_memory(q->w.n, q->w.k, err);
    if (status == SQ_OK)
        status = sq_codes_encode_act(&a, x, r->select, q->mask, score, err);
    if (status == SQ_OK)
        sq_gemm_codes(&g, 0, m, scratch);
    free(score);
    free(scratch);
    sq_codes_free(&a);
    return status;
}

static enum sq_status apply_f16(const struct sq_grid_layer *q, const float *x, size_t m, float *y,
                                struct sq_error *err)
{
    void *scratch = malloc(sq_gemm_f16_scratch(&q->w, m));
    if (!scratch)
        return no_memory(q->w.n, q->w.k, err);
    const enum sq_status status = sq_gemm_f16(&q->w, x, m, y, scratch, err);
    free(scratch);
    return status;
}

enum sq_status sq_grid_apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                             float *y, struct sq_error *err)
{
    const struct sq_grid_layer *q = state;
    float *rotated = NULL;
    if (q->rotation)
        SQ_TRY(sq_grid_rotated(q->rotation, x, m, q->w.k_orig, &rotated, err));
    const float *from = rotated ? rotated : x;
    const enum sq_status status = q->values          ? sq_grid_apply_values(q, r, from, m, y, err)
                                  : q->packed.buffer ? apply_packed(q, r, from, m, y, err)
                                  : r->is_act_f16    ? apply_f16(q, from, m, y, err)
                                                     : apply_codes(q, r, NULL, from, m, y, err);
    free(rotated);
    return status;
}

// What the pieces of a product by codes have in common.
struct codes_product {
    const struct sq_grid_layer *q;
    const struct sq_recipe *r;
    const float *x;
    float *y;
    void *cells;
};

static enum sq_status codes_piece(void *context, size_t t, size_t m, struct sq_error *err)
{
    const struct codes_product *p = context;
    return apply_codes(p->q, p->r, p->cells, p->x + t * p->q->w.k_orig, m, p->y + t * p->q->w.n,
                       err);
}

// The weights are laid out once, for all pieces; all threads share them.
static enum sq_status apply_all_codes(const struct sq_grid_layer *q, const struct sq_recipe *r,
                                      const float *x, size_t m, float *y, bool *is_done,
                                      struct sq_error *err)
{
    const struct sq_codes a = sq_grid_act_codes(q, r, m);
    const struct sq_gemm_codes g = {.x = &a, .w = &q->w};
    SQ_TRY(sq_gemm_codes_check(&g, err));
    const size_t nbytes = sq_gemm_codes_cells(&g);
    struct codes_product p = {q, r, x, y, nbytes ? aligned_alloc(64, nbytes) : NULL};
    bool is_out_of_memory = nbytes && !p.cells;
    *is_done = nbytes != 0;
#pragma omp parallel for schedule(dynamic) if (p.cells)
    for (size_t b = 0; b < (p.cells ? q->w.n : 0); b += SQ_GEMM_CODES_BLOCK) {
        void *scratch = malloc(sq_gemm_codes_load_scratch(&g));
        if (scratch) {
            sq_gemm_codes_load(&g, b / SQ_GEMM_CODES_BLOCK, p.cells, scratch);
        } else {
#pragma omp atomic write
            is_out_of_memory = true;
        }
        free(scratch);
    }
    enum sq_status status = is_out_of_memory ? no_memory(q->w.n, q->w.k, err) : SQ_OK;
    if (status == SQ_OK && *is_done)
        status = sq_each_piece(m, codes_piece, &p, err);
    free(p.cells);
    return status;
}

enum sq_status sq_grid_apply_all(const void *state, const struct sq_recipe *r, const float *x,
                                 size_t m, float *y, bool *is_done, struct sq_error *err)
{
    const struct sq_grid_layer *q = state;
    *is_done = q->packed.buffer && !q->values && !q->rotation;
    if (*is_done)
        return apply_packed(state, r, x, m, y, err);
    return q->packed.buffer || q->values || q->rotation || r->is_act_f16
               ? SQ_OK
               : apply_all_codes(q, r, x, m, y, is_done, err);
}
