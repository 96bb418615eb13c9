// SPDX-License-Identifier: Apache-2.0
#include "models/quant/sq_column_loop.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "models/quant/sq_blas.h"

enum { ROWS = 64 }; // of a tile

struct tile {
    size_t row, n_rows;
    double *w; // [ROWS][k], compensated as the columns go by
    double *e; // [ROWS][block]
    void *scratch;
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Columns [begin, end) of row r of the tile: value, error, compensation inside the block.
static void do_row(const struct sq_column_loop *l, const struct tile *t, size_t r, size_t begin,
                   size_t end, double *row_e2)
{
    const size_t k = l->factor->k, row = t->row + r;
    double *w = t->w + r * k, *e = t->e + r * l->block;
    for (size_t j = begin; j < end; j++) {
        const double value = l->column(l->context, row, j, w, t->scratch);
        const double *u = l->factor->u + j * k, error = (w[j] - value) / u[j];
        e[j - begin] = error;
        row_e2[row] += error * error;
#pragma omp simd
        for (size_t i = j; i < end; i++)
            w[i] -= error * u[i];
    }
}

static void do_tile(const struct sq_column_loop *l, const struct tile *t, double *row_e2)
{
    const size_t k = l->factor->k;
    for (size_t r = 0; l->begin_row && r < t->n_rows; r++)
        l->begin_row(l->context, t->row + r, t->w + r * k, t->scratch);
    for (size_t begin = 0; begin < k; begin += l->block) {
        const size_t end = min_size(begin + l->block, k);
        for (size_t r = 0; r < t->n_rows; r++)
            do_row(l, t, r, begin, end, row_e2);
        if (end < k)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)t->n_rows, (int)(k - end),
                        (int)(end - begin), -1, t->e, (int)l->block, l->factor->u + begin * k + end,
                        (int)k, 1, t->w + end, (int)k);
    }
}

static void load_tile(const struct sq_column_loop *l, struct tile *t, const float *w, size_t row)
{
    const size_t k = l->factor->k;
    t->row = row;
    t->n_rows = min_size(ROWS, l->n - row);
    for (size_t i = 0; i < t->n_rows * k; i++)
        t->w[i] = l->factor->is_dead[i % k] ? 0 : (double)w[row * k + i];
}

// False without memory.
static bool run(const struct sq_column_loop *l, const float *w, double *row_e2)
{
    const size_t n_tiles = (l->n + ROWS - 1) / ROWS;
    bool is_out_of_memory = false;
    sq_blas_serial();
#pragma omp parallel
    {
        struct tile t = {.w = malloc(ROWS * l->factor->k * sizeof *t.w),
                         .e = malloc(ROWS * l->block * sizeof *t.e),
                         .scratch = calloc(1, l->scratch_nbytes + 1)};
        if (!t.w || !t.e || !t.scratch) {
#pragma omp atomic write
            is_out_of_memory = true;
        }
#pragma omp barrier
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < n_tiles; i++)
            if (!is_out_of_memory) {
                load_tile(l, &t, w, i * ROWS);
                do_tile(l, &t, row_e2);
            }
        free(t.w);
        free(t.e);
        free(t.scratch);
    }
    return !is_out_of_memory;
}

enum sq_status sq_column_loop_run(const struct sq_column_loop *l, const float *w, double *sum_e2,
                                  struct sq_error *err)
{
    const size_t k = l->factor->k;
    for (size_t i = 0; i < l->n * k; i++)
        if (!isfinite(w[i]))
            return SQ_FAIL(err, SQ_ERR_NON_FINITE, "w[%zu][%zu] = %g, need a finite number", i / k,
                           i % k, (double)w[i]);
    double *row_e2 = calloc(l->n, sizeof *row_e2);
    const bool is_done = row_e2 && run(l, w, row_e2);
    if (is_done && sum_e2) {
        *sum_e2 = 0;
        for (size_t i = 0; i < l->n; i++)
            *sum_e2 += row_e2[i];
    }
    free(row_e2);
    return is_done ? SQ_OK
                   : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu x %zu weights", l->n, k);
}
