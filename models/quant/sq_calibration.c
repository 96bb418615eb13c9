// SPDX-License-Identifier: Apache-2.0
// Adds up channel magnitudes and X^T X over tokens, and factors the inverse of the damped Hessian
// (sq_calibration.h).
#include "models/quant/sq_calibration.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/quant/sq_blas.h"

enum { TILE = 256, TOKENS = 512 }; // of a block of X^T X; constants, so that roundings are too

// ---- sums over tokens -----------------------------------------------------------------------

enum sq_status sq_calibration_init(struct sq_calibration *c, size_t k, bool has_hessian,
                                   struct sq_error *err)
{
    *c = (struct sq_calibration){.k = k};
    SQ_FAIL_IF(k == 0 || k > INT32_MAX, err, SQ_ERR_SHAPE, "K = %zu, need 1..%d", k, INT32_MAX);
    c->abs_max = calloc(k, sizeof *c->abs_max);
    c->abs_sum = calloc(k, sizeof *c->abs_sum);
    c->xtx = has_hessian ? calloc(k, k * sizeof *c->xtx) : NULL;
    if (c->abs_max && c->abs_sum && (c->xtx || !has_hessian))
        return SQ_OK;
    sq_calibration_free(c);
    return SQ_NO_MEMORY(err, "a Hessian of %zu x %zu", k, k);
}

void sq_calibration_free(struct sq_calibration *c)
{
    SQ_FREE(c->xtx, c->abs_max, c->abs_sum);
    *c = (struct sq_calibration){0};
}

static enum sq_status check_finite(const float *x, size_t m, size_t k, struct sq_error *err)
{
    for (size_t i = 0; i < m * k; i++)
        SQ_FAIL_IF(!isfinite(x[i]), err, SQ_ERR_NON_FINITE,
                   "x[%zu][%zu] = %g, need a finite number", i / k, i % k, (double)x[i]);
    return SQ_OK;
}

// Adds X^T X of m <= TOKENS tokens, x[m][k] in binary64, tile by tile.
static void add_products(struct sq_calibration *c, const double *x, size_t m)
{
    const size_t k = c->k, n_tiles = (k + TILE - 1) / TILE;
#pragma omp parallel for schedule(dynamic)
    for (size_t t = 0; t < n_tiles * n_tiles; t++) {
        const size_t i = t / n_tiles * TILE, j = t % n_tiles * TILE;
        if (j > i)
            continue;
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)sq_min_size(TILE, k - i),
                    (int)sq_min_size(TILE, k - j), (int)m, 1, x + i, (int)k, x + j, (int)k, 1,
                    c->xtx + i * k + j, (int)k);
    }
}

static void add_magnitudes(struct sq_calibration *c, const float *x, size_t m)
{
    for (size_t t = 0; t < m; t++)
        for (size_t i = 0; i < c->k; i++) {
            const float a = fabsf(x[t * c->k + i]);
            c->abs_max[i] = a > c->abs_max[i] ? a : c->abs_max[i];
            c->abs_sum[i] += (double)a;
        }
}

enum sq_status sq_calibration_add(struct sq_calibration *c, const float *x, size_t m,
                                  struct sq_error *err)
{
    SQ_TRY(check_finite(x, m, c->k, err));
    add_magnitudes(c, x, m);
    c->n_tokens += m;
    if (!c->xtx)
        return SQ_OK;
    SQ_FREED double *wide = malloc(TOKENS * c->k * sizeof *wide);
    SQ_NEED(wide, err, "%d tokens of %zu channels", TOKENS, c->k);
    sq_blas_serial();
    for (size_t t = 0; t < m; t += TOKENS) {
        const size_t n = sq_min_size(TOKENS, m - t);
        for (size_t i = 0; i < n * c->k; i++)
            wide[i] = (double)x[t * c->k + i];
        add_products(c, wide, n);
    }
    return SQ_OK;
}

// ---- U (SPEC N.4) ---------------------------------------------------------------------------

// R H R of the damped Hessian, R reversing the order of the channels, lower triangle; also finds
// the dead channels and lambda.
static void reversed_hessian(struct sq_factor *f, const struct sq_calibration *c,
                             const float *sigma)
{
    const size_t k = f->k;
    const double scale = 2 / (double)c->n_tokens;
    double trace = 0;
    for (size_t i = 0; i < k; i++) {
        const double d = c->xtx[i * k + i] * scale, s = sigma ? (double)sigma[i] : 1;
        f->is_dead[i] = d == 0;
        trace += d == 0 ? 1 : d / (s * s);
    }
    f->lambda = f->percdamp * trace / (double)k;
    memset(f->u, 0, k * k * sizeof *f->u);
#pragma omp parallel for
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j <= i; j++) {
            const double s = sigma ? (double)sigma[i] * (double)sigma[j] : 1;
            double h = c->xtx[i * k + j] * scale / s;
            if (i == j)
                h = (f->is_dead[i] ? 1 : h) + f->lambda;
            f->u[(k - 1 - j) * k + (k - 1 - i)] = h;
        }
}

// L = chol(R H R), then L^-1 in place. Row-major lower is LAPACK's upper.
static bool invert(struct sq_factor *f)
{
    const lapack_int k = (lapack_int)f->k;
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', k, f->u, k) == 0 &&
           LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'U', 'N', k, f->u, k) == 0;
}

// U = R L^-1 R: reversing rows and columns reverses the whole array.
static void reverse(double *a, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        const double t = a[i];
        a[i] = a[n - 1 - i];
        a[n - 1 - i] = t;
    }
}

static void fill_inverse_diagonal(struct sq_factor *f)
{
    memset(f->inv_diag, 0, f->k * sizeof *f->inv_diag);
    for (size_t i = 0; i < f->k; i++)
        for (size_t j = i; j < f->k; j++)
            f->inv_diag[j] += f->u[i * f->k + j] * f->u[i * f->k + j];
}

static enum sq_status factorize(struct sq_factor *f, const struct sq_calibration *c,
                                const float *sigma, struct sq_error *err)
{
    enum { RETRIES = 5 };
    for (unsigned attempt = 0; attempt <= RETRIES; attempt++) {
        reversed_hessian(f, c, sigma);
        if (invert(f)) {
            reverse(f->u, f->k * f->k);
            fill_inverse_diagonal(f);
            return SQ_OK;
        }
        f->percdamp *= 10;
    }
    return SQ_FAIL(err, SQ_ERR_SINGULAR,
                   "the Hessian of %zu channels over %zu tokens is singular up to percdamp = %g",
                   f->k, c->n_tokens, f->percdamp / 10);
}

enum sq_status sq_factor_init(struct sq_factor *f, const struct sq_calibration *c,
                              const float *sigma, double percdamp, struct sq_error *err)
{
    *f = (struct sq_factor){.k = c->k, .percdamp = percdamp};
    SQ_FAIL_IF(c->n_tokens == 0, err, SQ_ERR_RANGE, "0 calibration tokens, need at least 1");
    SQ_FAIL_IF(!(percdamp >= 0 && percdamp <= 1), err, SQ_ERR_RANGE, "percdamp = %g, need 0..1",
               percdamp);
    SQ_FAIL_IF(!c->xtx, err, SQ_ERR_ARG, "the calibration was made without a Hessian");
    f->u = malloc(f->k * f->k * sizeof *f->u);
    f->inv_diag = malloc(f->k * sizeof *f->inv_diag);
    f->is_dead = malloc(f->k);
    sq_blas_serial();
    const enum sq_status status = f->u && f->inv_diag && f->is_dead
                                      ? factorize(f, c, sigma, err)
                                      : SQ_NO_MEMORY(err, "a factor of %zu x %zu", f->k, f->k);
    return SQ_ELSE(status, sq_factor_free(f));
}

void sq_factor_free(struct sq_factor *f)
{
    SQ_FREE(f->u, f->inv_diag, f->is_dead);
    *f = (struct sq_factor){0};
}
