// SPDX-License-Identifier: Apache-2.0
// Runs the loop over tiles of rows; its vectors round as plain C does (sq_column_loop.h).
#include "models/quant/sq_column_loop.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_lanes.h"
#include "models/quant/sq_blas.h"

enum { ROWS = 64, BESIDE = 8 }; // rows of a tile; rows that one vector loop treats side by side

struct tile {
    size_t row, n_rows;
    double *w;     // [ROWS][k], compensated as the columns go by
    double *e;     // [ROWS][block]
    char *scratch; // [ROWS][scratch_nbytes]
    size_t scratch_nbytes;
};

// w[i] -= error * u[i], each product and difference rounded by itself: any vector gives these bits.
SQ_LANES_BODY void pass_on_body(double *restrict w, const double *restrict u, size_t n,
                                double error)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        w[i] -= error * u[i];
}

typedef void pass_on_fn(double *restrict w, const double *restrict u, size_t n, double error);

SQ_LANES_EACH(void, , pass_on,
              (double *restrict w, const double *restrict u, size_t n, double error), w, u, n,
              error)

// Columns [begin, end) of rows [r, r_end) of the tile: value, error, compensation inside the block.
// The rows go side by side, since a row alone waits for its divisions.
static void do_rows(const struct sq_column_loop *l, const struct tile *t, size_t r, size_t r_end,
                    size_t begin, size_t end, pass_on_fn *pass_on, double *row_e2)
{
    const size_t k = l->factor->k;
    for (size_t j = begin; j < end; j++) {
        const double *u = l->factor->u + j * k;
        double error[BESIDE];
        for (size_t i = r; i < r_end; i++) {
            const double *w = t->w + i * k;
            const double value =
                l->column(l->context, t->row + i, j, w, t->scratch + i * t->scratch_nbytes);
            error[i - r] = (w[j] - value) / u[j];
        }
        for (size_t i = r; i < r_end; i++) {
            const double e = error[i - r];
            t->e[i * l->block + j - begin] = e;
            row_e2[t->row + i] += e * e;
            pass_on(t->w + i * k + j, u + j, end - j, e);
        }
    }
}

static void do_tile(const struct sq_column_loop *l, const struct tile *t, double *row_e2)
{
    const size_t k = l->factor->k;
    pass_on_fn *const pass_on = SQ_LANES_BEST(pass_on);
    for (size_t r = 0; l->begin_row && r < t->n_rows; r++)
        l->begin_row(l->context, t->row + r, t->w + r * k, t->scratch + r * t->scratch_nbytes);
    for (size_t begin = 0; begin < k; begin += l->block) {
        const size_t end = sq_min_size(begin + l->block, k);
        for (size_t r = 0; r < t->n_rows; r += BESIDE)
            do_rows(l, t, r, sq_min_size(r + BESIDE, t->n_rows), begin, end, pass_on, row_e2);
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
    t->n_rows = sq_min_size(ROWS, l->n - row);
    for (size_t r = 0; r < t->n_rows; r++)
        for (size_t j = 0; j < k; j++)
            t->w[r * k + j] = l->factor->is_dead[j] ? 0 : (double)w[(row + r) * k + j];
}

// False without memory.
static bool run(const struct sq_column_loop *l, const float *w, double *row_e2)
{
    const size_t n_tiles = (l->n + ROWS - 1) / ROWS;
    const size_t scratch_nbytes = (l->scratch_nbytes / 64 + 1) * 64;
    bool is_out_of_memory = false;
    sq_blas_serial();
#pragma omp parallel
    {
        struct tile t = {.w = malloc(ROWS * l->factor->k * sizeof *t.w),
                         .e = malloc(ROWS * l->block * sizeof *t.e),
                         .scratch = calloc(ROWS, scratch_nbytes),
                         .scratch_nbytes = scratch_nbytes};
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
        SQ_FREE(t.w, t.e, t.scratch);
    }
    return !is_out_of_memory;
}

enum sq_status sq_column_loop_run(const struct sq_column_loop *l, const float *w, double *sum_e2,
                                  struct sq_error *err)
{
    const size_t k = l->factor->k;
    for (size_t i = 0; i < l->n * k; i++)
        SQ_FAIL_IF(!isfinite(w[i]), err, SQ_ERR_NON_FINITE,
                   "w[%zu][%zu] = %g, need a finite number", i / k, i % k, (double)w[i]);
    SQ_FREED double *row_e2 = calloc(l->n, sizeof *row_e2);
    const bool is_done = row_e2 && run(l, w, row_e2);
    if (is_done && sum_e2) {
        *sum_e2 = 0;
        for (size_t i = 0; i < l->n; i++)
            *sum_e2 += row_e2[i];
    }
    return SQ_HAVE(is_done, err, "%zu x %zu weights", l->n, k);
}
