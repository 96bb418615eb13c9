// SPDX-License-Identifier: Apache-2.0
// Scores and prunes each group of four and encodes the rest in INT8, directly or by the column loop
// (sq_prune24.h).
#include "models/sp24/sq_prune24.h"

#include <math.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/quant/sq_column_loop.h"

struct job {
    const struct sq_prune24 *options;
    const struct sq_sp24 *m;
    const double *norm;
    const struct sq_factor *factor;
    int8_t *codes; // [n][k_orig]
};

// ---- which stay -----------------------------------------------------------------------------

void sq_prune24_group(const double score[4], uint8_t is_kept[4])
{
    for (unsigned i = 0; i < 4; i++) {
        unsigned rank = 0; // among those that go first: smaller, or equal and before it
        for (unsigned j = 0; j < 4; j++)
            rank += score[j] < score[i] || (score[j] == score[i] && j < i);
        is_kept[i] = rank >= 2;
    }
}

static double score_of(const struct job *p, double w, size_t j)
{
    const double e = p->options->criterion == SQ_PRUNE_WANDA ? w * p->norm[j]
                     : p->options->criterion == SQ_PRUNE_SPARSEGPT
                         ? w / p->factor->u[j * p->factor->k + j]
                         : w;
    return fabs(e); // squaring orders alike, but for underflow
}

// Columns j..j+3 of a row, w[0..3], by the criterion.
static void choose(const struct job *p, const double *w, size_t j, uint8_t is_kept[4])
{
    double score[4];
    for (unsigned i = 0; i < 4; i++)
        score[i] = score_of(p, w[i], j + i);
    sq_prune24_group(score, is_kept);
}

// ---- what they become -----------------------------------------------------------------------

static float row_scale(const float *w, size_t k)
{
    float amax = 0;
    for (size_t j = 0; j < k; j++)
        amax = fabsf(w[j]) > amax ? fabsf(w[j]) : amax; // NaN is refused where it is rounded
    return sq_scale_from_amax(amax, 8);
}

float sq_dense8_encode_row(const float *w, size_t k, int8_t *codes)
{
    const float scale = row_scale(w, k);
    for (size_t j = 0; j < k; j++)
        codes[j] = (int8_t)sq_quantize(w[j], scale, 8);
    return scale;
}

// The patterns that do not wait for compensation: marks in the codes of the row, 1 = stays.
static void begin_row(void *context, size_t row, const double *w, void *scratch)
{
    const struct job *p = context;
    (void)scratch;
    if (p->options->criterion == SQ_PRUNE_SPARSEGPT)
        return;
    for (size_t j = 0; j < p->m->k_orig; j += 4)
        choose(p, w + j, j, (uint8_t *)p->codes + row * p->m->k_orig + j);
}

static double do_column(void *context, size_t row, size_t j, const double *w, void *scratch)
{
    const struct job *p = context;
    int8_t *code = p->codes + row * p->m->k_orig + j;
    (void)scratch;
    if (p->options->criterion == SQ_PRUNE_SPARSEGPT && j % 4 == 0)
        choose(p, w + j, j, (uint8_t *)code);
    if (!*code)
        return 0;
    const float scale = p->m->scale[row];
    *code = (int8_t)sq_quantize((float)w[j], scale, 8);
    return p->options->is_joint ? (double)((float)*code * scale) : w[j];
}

// Without a loop: drop, round what is left.
static enum sq_status encode_directly(const struct job *p, const float *w, struct sq_error *err)
{
    const size_t k = p->m->k_orig;
    for (size_t i = 0; i < p->m->n * k; i += 4) {
        uint8_t is_kept[4];
        const double four[4] = {w[i], w[i + 1], w[i + 2], w[i + 3]};
        for (unsigned c = 0; c < 4; c++)
            if (!isfinite(four[c]))
                return SQ_FAIL(err, SQ_ERR_NON_FINITE, "w[%zu][%zu] = %g, need a finite number",
                               i / k, (i + c) % k, four[c]);
        choose(p, four, i % k, is_kept);
        if (p->options->criterion == SQ_PRUNE_NONE)
            memset(is_kept, 1, sizeof is_kept); // packing refuses a third non-zero
        for (unsigned c = 0; c < 4; c++)
            p->codes[i + c] = is_kept[c] ? (int8_t)sq_quantize(w[i + c], p->m->scale[i / k], 8) : 0;
    }
    return SQ_OK;
}

// ---- entry ----------------------------------------------------------------------------------

bool sq_prune24_needs_norm(const struct sq_prune24 *o)
{
    return o->criterion == SQ_PRUNE_WANDA;
}

bool sq_prune24_needs_factor(const struct sq_prune24 *o)
{
    return o->is_joint || o->criterion == SQ_PRUNE_SPARSEGPT;
}

static enum sq_status check(const struct job *p, struct sq_error *err)
{
    const struct sq_prune24 *o = p->options;
    SQ_TRY(sq_sp24_check_shape(p->m, err));
    if ((unsigned)o->criterion >= SQ_PRUNES || o->block % 4 != 0)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "criterion = %u, block = %u, need 0..%d and a multiple of 4",
                       (unsigned)o->criterion, o->block, SQ_PRUNES - 1);
    if ((sq_prune24_needs_norm(o) && !p->norm) || (sq_prune24_needs_factor(o) && !p->factor))
        return SQ_FAIL(err, SQ_ERR_ARG, "this criterion needs calibration");
    if (o->criterion == SQ_PRUNE_NONE && o->is_joint)
        return SQ_FAIL(err, SQ_ERR_ARG, "weights that are 2:4 already leave nothing to compensate");
    if (p->factor && p->factor->k != p->m->k_orig)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "K = %zu of the weights, %zu of the Hessian",
                       p->m->k_orig, p->factor->k);
    return SQ_OK;
}

enum sq_status sq_prune24_encode(struct sq_sp24 *m, const float *w,
                                 const struct sq_prune24 *options, const double *norm,
                                 const struct sq_factor *factor, int8_t *codes, double *sum_e2,
                                 struct sq_error *err)
{
    struct job p = {options, m, norm, factor, codes};
    SQ_TRY(check(&p, err));
    for (size_t row = 0; row < m->n; row++)
        m->scale[row] = row_scale(w + row * m->k_orig, m->k_orig);
    if (sq_prune24_needs_factor(options)) {
        const struct sq_column_loop loop = {.factor = factor,
                                            .n = m->n,
                                            .block =
                                                options->block ? options->block : SQ_COLUMN_BLOCK,
                                            .begin_row = begin_row,
                                            .column = do_column,
                                            .context = &p};
        SQ_TRY(sq_column_loop_run(&loop, w, sum_e2, err));
    } else {
        if (sum_e2)
            *sum_e2 = NAN;
        SQ_TRY(encode_directly(&p, w, err));
    }
    for (size_t row = 0; row < m->n; row++)
        SQ_TRY(sq_sp24_pack_row(m, row, codes + row * m->k_orig, err));
    return SQ_OK;
}
