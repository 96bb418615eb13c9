// SPDX-License-Identifier: Apache-2.0
// Rows are independent given U: threads share out tiles of rows, and every tile walks the columns
// as SPEC B.4 writes it.
#include "sq_gptq.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sq_blas.h"

enum { ROWS = 64, BLOCK = 128 }; // of a tile; columns of a block by default

// One encoding, and one tile of rows of it.
struct job {
    struct sq_codes *c;
    const struct sq_factor *f;
    enum sq_score score;
    bool is_lazy;
    size_t block;
    float *weight_of; // [k]: the importance of a weight is (|w| * weight_of[j])^2
};

struct tile {
    size_t row, n_rows;
    double *w;    // [ROWS][k_orig], compensated as the columns go by
    double *e;    // [ROWS][block]
    float *score; // [k]
    double *sum_e2;
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

// ---- importance -----------------------------------------------------------------------------

static void fill_weight_of(const struct sq_factor *f, enum sq_score score, float *weight_of)
{
    for (size_t j = 0; j < f->k; j++) {
        const double u = f->u[j * f->k + j], d = f->inv_diag[j];
        weight_of[j] = (float)(score == SQ_SCORE_C0   ? 1 / u
                               : score == SQ_SCORE_C1 ? 1 / d
                               : score == SQ_SCORE_C2 ? 1 / sqrt(d)
                                                      : 1);
    }
}

// Masks of columns [begin, end) of one row, whole banks, from its current weights.
static void choose(const struct job *p, const struct tile *t, size_t r, size_t begin, size_t end)
{
    const struct sq_codes *c = p->c;
    const double *w = t->w + r * c->k_orig;
    for (size_t j = begin; j < min_size(end, c->k_orig); j++)
        t->score[j - begin] = fabsf((float)w[j]) * p->weight_of[j];
    const size_t real = c->k_orig > begin ? c->k_orig - begin : 0;
    sq_mask_row(t->score, end - begin, real, c->bank, c->high_per_bank,
                c->is_high + (t->row + r) * c->k + begin);
}

// ---- columns --------------------------------------------------------------------------------

// Scales of the group that starts at column j, from the current weights.
static void start_group(const struct job *p, const struct tile *t, size_t r, size_t j)
{
    struct sq_codes *c = p->c;
    const double *w = t->w + r * c->k_orig;
    const uint8_t *is_high = c->is_high ? c->is_high + (t->row + r) * c->k : NULL;
    const size_t g = (t->row + r) * (c->k / c->group) + j / c->group;
    float amax[2] = {0, 0};
    if (p->is_lazy && is_high)
        choose(p, t, r, j, j + c->group);
    for (size_t i = j; i < min_size(j + c->group, c->k_orig); i++) {
        float *a = &amax[is_high && is_high[i]];
        *a = fmaxf(*a, fabsf((float)w[i]));
    }
    sq_grid_scales(&c->grid, amax[0], amax[1], &c->s_lo[g], &c->s_hi[g]);
}

// Columns [begin, end) of row r of the tile: code, error, compensation inside the block.
static void do_row(const struct job *p, const struct tile *t, size_t r, size_t begin, size_t end)
{
    struct sq_codes *c = p->c;
    const size_t k = c->k_orig, row = t->row + r;
    double *w = t->w + r * k, *e = t->e + r * p->block;
    for (size_t j = begin; j < end; j++) {
        if (j % c->group == 0)
            start_group(p, t, r, j);
        if (p->is_lazy && c->is_high && j % c->bank == 0)
            choose(p, t, r, j, j + c->bank);
        const size_t g = row * (c->k / c->group) + j / c->group;
        const bool is_high = c->is_high && c->is_high[row * c->k + j];
        const int16_t code = sq_grid_code(&c->grid, (float)w[j], is_high, c->s_lo[g], c->s_hi[g]);
        const float value = sq_grid_value(&c->grid, code, is_high, c->s_lo[g], c->s_hi[g]);
        const double *u = p->f->u + j * k, error = (w[j] - (double)value) / u[j];
        c->code[row * c->k + j] = code;
        e[j - begin] = error;
        t->sum_e2[row] += error * error;
#pragma omp simd
        for (size_t i = j; i < end; i++)
            w[i] -= error * u[i];
    }
}

// Groups and banks without a real column: scale 1, code 0, a legal mask.
static void finish_padding(const struct job *p, const struct tile *t, size_t r)
{
    struct sq_codes *c = p->c;
    const size_t row = t->row + r, k = c->k_orig, n_groups = c->k / c->group;
    for (size_t g = (k + c->group - 1) / c->group; g < n_groups; g++)
        sq_grid_scales(&c->grid, 0, 0, &c->s_lo[row * n_groups + g], &c->s_hi[row * n_groups + g]);
    memset(c->code + row * c->k + k, 0, (c->k - k) * sizeof *c->code);
    if (c->is_high && p->is_lazy) {
        const size_t first = (k + c->bank - 1) / c->bank * c->bank;
        choose(p, t, r, first, c->k);
    }
}

static void do_tile(const struct job *p, const struct tile *t)
{
    const struct sq_codes *c = p->c;
    const size_t k = c->k_orig;
    if (c->is_high && !p->is_lazy)
        for (size_t r = 0; r < t->n_rows; r++)
            choose(p, t, r, 0, c->k);
    for (size_t begin = 0; begin < k; begin += p->block) {
        const size_t end = min_size(begin + p->block, k);
        for (size_t r = 0; r < t->n_rows; r++)
            do_row(p, t, r, begin, end);
        if (end < k)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)t->n_rows, (int)(k - end),
                        (int)(end - begin), -1, t->e, (int)p->block, p->f->u + begin * k + end,
                        (int)k, 1, t->w + end, (int)k);
    }
    for (size_t r = 0; r < t->n_rows; r++)
        finish_padding(p, t, r);
}

// ---- entry ----------------------------------------------------------------------------------

static enum sq_status check(const struct sq_codes *c, const float *w, const struct sq_factor *f,
                            size_t block, struct sq_error *err)
{
    if (f->k != c->k_orig)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "K = %zu of the weights, %zu of the Hessian", c->k_orig,
                       f->k);
    if (block % c->group != 0 && c->group % block != 0)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "block = %zu, need a multiple or a divisor of the group %zu", block,
                       c->group);
    if (c->is_high && block % c->bank != 0 && c->bank % block != 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "block = %zu, need a multiple or a divisor of the bank %u",
                       block, c->bank);
    for (size_t i = 0; i < c->n * c->k_orig; i++)
        if (!isfinite(w[i]))
            return SQ_FAIL(err, SQ_ERR_NON_FINITE, "w[%zu][%zu] = %g, need a finite number",
                           i / c->k_orig, i % c->k_orig, (double)w[i]);
    return SQ_OK;
}

// Rows from `row` on, dead channels 0 (SPEC B.2).
static void load_tile(const struct job *p, struct tile *t, const float *w, size_t row)
{
    const size_t k = p->c->k_orig;
    t->row = row;
    t->n_rows = min_size(ROWS, p->c->n - row);
    for (size_t i = 0; i < t->n_rows * k; i++)
        t->w[i] = p->f->is_dead[i % k] ? 0 : (double)w[row * k + i];
}

static bool run(const struct job *p, const float *w, double *sum_e2)
{
    const size_t n_tiles = (p->c->n + ROWS - 1) / ROWS;
    bool is_out_of_memory = false;
    sq_blas_serial();
#pragma omp parallel
    {
        struct tile t = {.w = malloc(ROWS * p->c->k_orig * sizeof *t.w),
                         .e = malloc(ROWS * p->block * sizeof *t.e),
                         .score = malloc(p->c->k * sizeof *t.score),
                         .sum_e2 = sum_e2};
        if (!t.w || !t.e || !t.score) {
#pragma omp atomic write
            is_out_of_memory = true;
        }
#pragma omp barrier
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < n_tiles; i++)
            if (!is_out_of_memory) {
                load_tile(p, &t, w, i * ROWS);
                do_tile(p, &t);
            }
        free(t.w);
        free(t.e);
        free(t.score);
    }
    return !is_out_of_memory;
}

enum sq_status sq_gptq_encode(struct sq_codes *c, const float *w, const struct sq_factor *f,
                              const struct sq_gptq *options, double *sum_e2, struct sq_error *err)
{
    const size_t block = options->block ? options->block : BLOCK;
    SQ_TRY(check(c, w, f, min_size(block, c->k), err));
    struct job p = {.c = c,
                    .f = f,
                    .score = options->score,
                    .is_lazy = options->is_lazy,
                    .block = min_size(block, c->k)};
    p.weight_of = malloc(f->k * sizeof *p.weight_of);
    double *row_e2 = calloc(c->n, sizeof *row_e2);
    bool is_done = false;
    if (p.weight_of && row_e2) {
        fill_weight_of(f, p.score, p.weight_of);
        is_done = run(&p, w, row_e2);
    }
    if (is_done && sum_e2) {
        *sum_e2 = 0;
        for (size_t i = 0; i < c->n; i++)
            *sum_e2 += row_e2[i];
    }
    free(p.weight_of);
    free(row_e2);
    if (!is_done)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu x %zu weights", c->n, c->k);
    return SQ_OK;
}
