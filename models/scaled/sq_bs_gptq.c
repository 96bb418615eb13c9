// SPDX-License-Identifier: Apache-2.0
// Gives the column loop of GPTQ the block-scaled encoders, and rotates what calibration has seen
// (sq_bs_gptq.h).
#include "models/scaled/sq_bs_gptq.h"

#include <math.h>
#include <string.h>

#include "models/quant/sq_column_loop.h"

// The block that the columns of a row are in; scratch of a thread.
static void start_block(struct sq_bs *c, size_t row, size_t j, const double *w,
                        struct sq_bs_block *b)
{
    const size_t left = c->k_orig - j, n = left < c->f.block ? left : c->f.block;
    float now[SQ_BS_BLOCK_MAX], global[SQ_BS_PARTS] = {1, 1};
    for (size_t i = 0; i < n; i++)
        now[i] = (float)w[j + i];
    for (unsigned p = 0; p < sq_bs_n_parts(&c->f); p++)
        global[p] = c->global[p][row];
    sq_bs_choose(&c->f, now, n, global, b);
    sq_bs_put_block(c, row, j / c->f.block, b);
}

static double do_column(void *context, size_t row, size_t j, const double *w, void *scratch)
{
    struct sq_bs *c = context;
    struct sq_bs_block *b = scratch;
    const size_t at = j % c->f.block;
    if (at == 0)
        start_block(c, row, j, w, b);
    const struct sq_bs_code code = sq_bs_encode(&c->f, b, at, (float)w[j]);
    sq_bs_put(c, row, j, code);
    return (double)sq_bs_value(&c->f, b, at, code);
}

enum sq_status sq_bs_gptq_encode(struct sq_bs *c, const float *w, const struct sq_factor *f,
                                 struct sq_error *err)
{
    if (f->k != c->k_orig)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "K = %zu of the weights, %zu of the Hessian", c->k_orig,
                       f->k);
    const struct sq_column_loop loop = {.factor = f,
                                        .n = c->n,
                                        .block = SQ_COLUMN_BLOCK < c->f.block ? c->f.block
                                                                              : SQ_COLUMN_BLOCK,
                                        .column = do_column,
                                        .context = c,
                                        .scratch_nbytes = sizeof(struct sq_bs_block)};
    _Static_assert(SQ_BS_BLOCK_MAX % SQ_COLUMN_BLOCK == 0, "whole blocks");
    return sq_column_loop_run(&loop, w, NULL, err);
}

// ---- rotation -------------------------------------------------------------------------------

// Groups of n elements at this stride.
static void rotate(double *x, size_t k, size_t stride, unsigned n)
{
    const double unit = 1 / sqrt(n);
    for (size_t first = 0; first < k; first += n) {
        double *v = x + first * stride;
        for (unsigned distance = 1; distance < n; distance *= 2)
            for (unsigned i = 0; i < n; i++)
                if ((i & distance) == 0) {
                    const double a = v[i * stride], b = v[(i + distance) * stride];
                    v[i * stride] = a + b;
                    v[(i + distance) * stride] = a - b;
                }
        for (unsigned i = 0; i < n; i++)
            v[i * stride] *= unit;
    }
}

enum sq_status sq_bs_rotate_calibration(const struct sq_calibration *from, size_t k, unsigned n,
                                        struct sq_calibration *to, struct sq_error *err)
{
    if (!from->xtx)
        return SQ_FAIL(err, SQ_ERR_ARG, "a rotation of inputs needs their Hessian");
    SQ_TRY(sq_calibration_init(to, k, true, err));
    to->n_tokens = from->n_tokens;
    for (size_t i = 0; i < from->k; i++)
        for (size_t j = 0; j <= i; j++)
            to->xtx[i * k + j] = to->xtx[j * k + i] = from->xtx[i * from->k + j];
    for (size_t i = 0; i < k; i++)
        rotate(to->xtx + i * k, k, 1, n);
    for (size_t i = 0; i < k; i++)
        rotate(to->xtx + i, k, k, n);
    return SQ_OK;
}
