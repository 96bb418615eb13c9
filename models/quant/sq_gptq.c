// SPDX-License-Identifier: Apache-2.0
// What a column's value is in GPTQ and Algorithm 1: a code of its group's scales and its bank's
// mask, as SPEC B.4 writes it. The loop around it is sq_column_loop.
#include "models/quant/sq_gptq.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/quant/sq_column_loop.h"

struct job {
    struct sq_codes *c;
    size_t n_groups; // of a row
    bool is_lazy;
    float *weight_of; // [k]: the importance of a weight is (|w| * weight_of[j])^2
};

// ---- importance -----------------------------------------------------------------------------

void sq_score_weights(const struct sq_factor *f, enum sq_score score, float *weight_of)
{
    for (size_t j = 0; j < f->k; j++) {
        const double u = f->u[j * f->k + j], d = f->inv_diag[j];
        weight_of[j] = (float)(score == SQ_SCORE_C0   ? 1 / u
                               : score == SQ_SCORE_C1 ? 1 / d
                               : score == SQ_SCORE_C2 ? 1 / sqrt(d)
                                                      : 1);
    }
}

// Masks of columns [begin, end) of one row, whole banks, from its current weights; score is scratch
// of end - begin floats.
static void choose(const struct job *p, size_t row, const double *w, float *score, size_t begin,
                   size_t end)
{
    const struct sq_codes *c = p->c;
    for (size_t j = begin; j < sq_min_size(end, c->k_orig); j++)
        score[j - begin] = fabsf((float)w[j]) * p->weight_of[j];
    const size_t real = c->k_orig > begin ? c->k_orig - begin : 0;
    sq_mask_row(score, end - begin, real, c->bank, c->high_per_bank,
                c->is_high + row * c->k + begin);
}

// ---- columns --------------------------------------------------------------------------------

// Scales of the group that starts at column j, from the current weights.
static void start_group(const struct job *p, size_t row, const double *w, float *score, size_t j)
{
    struct sq_codes *c = p->c;
    const uint8_t *is_high = c->is_high ? c->is_high + row * c->k : NULL;
    const size_t g = row * (c->k / c->group) + j / c->group;
    float amax[2] = {0, 0};
    if (p->is_lazy && is_high)
        choose(p, row, w, score, j, j + c->group);
    for (size_t i = j; i < sq_min_size(j + c->group, c->k_orig); i++) {
        float *a = &amax[is_high && is_high[i]];
        const float magnitude = fabsf((float)w[i]);
        *a = magnitude > *a ? magnitude : *a;
    }
    sq_grid_scales(&c->grid, amax[0], amax[1], &c->s_lo[g], &c->s_hi[g]);
}

// Groups and banks without a real column: scale 1, code 0, a legal mask.
static void fill_padding(const struct job *p, size_t row, const double *w, float *score)
{
    struct sq_codes *c = p->c;
    const size_t k = c->k_orig, n_groups = c->k / c->group;
    for (size_t g = (k + c->group - 1) / c->group; g < n_groups; g++)
        sq_grid_scales(&c->grid, 0, 0, &c->s_lo[row * n_groups + g], &c->s_hi[row * n_groups + g]);
    memset(c->code + row * c->k + k, 0, (c->k - k) * sizeof *c->code);
    if (c->is_high && p->is_lazy)
        choose(p, row, w, score, (k + c->bank - 1) / c->bank * c->bank, c->k);
}

static void begin_row(void *context, size_t row, const double *w, void *scratch)
{
    const struct job *p = context;
    fill_padding(p, row, w, scratch);
    if (p->c->is_high && !p->is_lazy)
        choose(p, row, w, scratch, 0, p->c->k);
}

static double do_column(void *context, size_t row, size_t j, const double *w, void *scratch)
{
    const struct job *p = context;
    struct sq_codes *c = p->c;
    const uint32_t column = (uint32_t)j, group = (uint32_t)c->group; // shorter divisions
    if (column % group == 0)
        start_group(p, row, w, scratch, j);
    if (p->is_lazy && c->is_high && column % c->bank == 0)
        choose(p, row, w, scratch, j, j + c->bank);
    const size_t g = row * p->n_groups + column / group;
    const bool is_high = c->is_high && c->is_high[row * c->k + j];
    const int16_t code = sq_grid_code(&c->grid, (float)w[j], is_high, c->s_lo[g], c->s_hi[g]);
    c->code[row * c->k + j] = code;
    return (double)sq_grid_value(&c->grid, code, is_high, c->s_lo[g], c->s_hi[g]);
}

// ---- entry ----------------------------------------------------------------------------------

static enum sq_status check(const struct sq_codes *c, const struct sq_factor *f, size_t block,
                            struct sq_error *err)
{
    SQ_FAIL_IF(f->k != c->k_orig, err, SQ_ERR_SHAPE, "K = %zu of the weights, %zu of the Hessian",
               c->k_orig, f->k);
    SQ_FAIL_IF(block % c->group != 0 && c->group % block != 0, err, SQ_ERR_ARG,
               "block = %zu, need a multiple or a divisor of the group %zu", block, c->group);
    SQ_FAIL_IF(c->is_high && block % c->bank != 0 && c->bank % block != 0, err, SQ_ERR_ARG,
               "block = %zu, need a multiple or a divisor of the bank %u", block, c->bank);
    return SQ_OK;
}

enum sq_status sq_gptq_encode(struct sq_codes *c, const float *w, const struct sq_factor *f,
                              const struct sq_gptq *options, double *sum_e2, struct sq_error *err)
{
    const size_t block = sq_min_size(options->block ? options->block : SQ_COLUMN_BLOCK, c->k);
    SQ_TRY(check(c, f, block, err));
    SQ_FREED float *weight_of = malloc(f->k * sizeof *weight_of);
    SQ_NEED(weight_of, err, "%zu x %zu weights", c->n, c->k);
    sq_score_weights(f, options->score, weight_of);
    struct job p = {
        .c = c, .n_groups = c->k / c->group, .is_lazy = options->is_lazy, .weight_of = weight_of};
    const struct sq_column_loop loop = {.factor = f,
                                        .n = c->n,
                                        .block = block,
                                        .begin_row = begin_row,
                                        .column = do_column,
                                        .context = &p,
                                        .scratch_nbytes = c->k * sizeof(float)};
    return sq_column_loop_run(&loop, w, sum_e2, err);
}
