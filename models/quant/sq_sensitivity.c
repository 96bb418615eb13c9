// SPDX-License-Identifier: Apache-2.0
// Computes the energy that an error of the weights has at the output, and ranks layers by it
// (sq_sensitivity.h).
#include "models/quant/sq_sensitivity.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "models/quant/sq_blas.h"

enum { ROWS = 64 }; // of a piece; a constant, so that roundings are too

static enum sq_status need_hessian(const struct sq_calibration *c, struct sq_error *err)
{
    return c->xtx ? SQ_OK : SQ_FAIL(err, SQ_ERR_ARG, "the calibration was made without a Hessian");
}

enum sq_status sq_channel_norms(const struct sq_calibration *c, double *norm, struct sq_error *err)
{
    SQ_TRY(need_hessian(c, err));
    for (size_t i = 0; i < c->k; i++)
        norm[i] = sqrt(c->xtx[i * c->k + i]);
    return SQ_OK;
}

// n <= ROWS rows; wide and product hold ROWS * k each.
static double energy_of_piece(const struct sq_calibration *c, const float *d, size_t n,
                              double *wide, double *product)
{
    const size_t k = c->k;
    double sum = 0;
    for (size_t i = 0; i < n * k; i++)
        wide[i] = (double)d[i];
    cblas_dsymm(CblasRowMajor, CblasRight, CblasLower, (int)n, (int)k, 1, c->xtx, (int)k, wide,
                (int)k, 0, product, (int)k);
    for (size_t i = 0; i < n * k; i++)
        sum += wide[i] * product[i];
    return sum;
}

enum sq_status sq_output_energy(const struct sq_calibration *c, const float *d, size_t n,
                                double *sum, struct sq_error *err)
{
    SQ_TRY(need_hessian(c, err));
    const size_t n_pieces = (n + ROWS - 1) / ROWS;
    SQ_FREED double *part = calloc(n_pieces, sizeof *part);
    bool is_out_of_memory = !part;
    sq_blas_serial();
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < n_pieces; i++) {
        SQ_FREED double *wide = malloc(2 * ROWS * c->k * sizeof *wide);
        if (wide && part) {
            const size_t rows = n - i * ROWS < ROWS ? n - i * ROWS : ROWS;
            part[i] =
                energy_of_piece(c, d + i * ROWS * c->k, rows, wide, wide + (size_t)ROWS * c->k);
        } else {
#pragma omp atomic write
            is_out_of_memory = true;
        }
    }
    *sum = 0;
    for (size_t i = 0; !is_out_of_memory && i < n_pieces; i++)
        *sum += part[i];
    return is_out_of_memory ? SQ_NO_MEMORY(err, "the output error of %zu x %zu", n, c->k) : SQ_OK;
}

enum sq_status sq_sensitive_layers(const double *error, size_t n, double fraction,
                                   uint8_t *is_dense, struct sq_error *err)
{
    SQ_FAIL_IF(!(fraction >= 0 && fraction <= 1), err, SQ_ERR_RANGE,
               "fraction of dense layers = %g, need 0..1", fraction);
    const size_t keep = (size_t)rint(fraction * (double)n);
    for (size_t i = 0; i < n; i++)
        SQ_FAIL_IF(isnan(error[i]), err, SQ_ERR_NON_FINITE, "error of layer %zu is no number", i);
    for (size_t i = 0; i < n; i++) {
        size_t rank = 0; // SPEC 0.4 (ii)
        for (size_t j = 0; j < n; j++)
            rank += error[j] > error[i] || (error[j] == error[i] && j < i);
        is_dense[i] = rank < keep;
    }
    return SQ_OK;
}
