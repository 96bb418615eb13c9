// SPDX-License-Identifier: Apache-2.0
// Counts |x| in a histogram, reads thresholds from it, and hands out sparsity greedily
// (sq_threshold.h).
#include "models/quant/sq_threshold.h"
#include "models/number/sq_bits.h"

#include <math.h>
#include <stdlib.h>

enum { DROP = 13 }; // fraction bits of binary32 that a bin does not look at

// ---- quantiles ------------------------------------------------------------------------------

enum sq_status sq_histogram_init(struct sq_histogram *h, struct sq_error *err)
{
    *h = (struct sq_histogram){.count = calloc(SQ_HISTOGRAM_BINS, sizeof *h->count)};
    SQ_NEED(h->count, err, "%u bins", SQ_HISTOGRAM_BINS);
    return SQ_OK;
}

void sq_histogram_free(struct sq_histogram *h)
{
    free(h->count);
    *h = (struct sq_histogram){0};
}

static uint32_t bin_of(float x)
{
    return (sq_bits_of(x) & 0x7fffffffu) >> DROP;
}

// The smallest magnitude of a bin; infinity for the bin after the last.
static float edge_of(uint32_t bin)
{
    return sq_float_of(bin << DROP);
}

enum sq_status sq_histogram_add(struct sq_histogram *h, const float *x, size_t n,
                                struct sq_error *err)
{
    for (size_t i = 0; i < n; i++)
        SQ_FAIL_IF(!isfinite(x[i]), err, SQ_ERR_NON_FINITE,
                   "activation %zu = %g, need a finite number", i, (double)x[i]);
    for (size_t i = 0; i < n; i++)
        h->count[bin_of(x[i])]++;
    h->n += n;
    return SQ_OK;
}

enum sq_status sq_threshold(const struct sq_histogram *h, double p, float *theta,
                            struct sq_error *err)
{
    SQ_FAIL_IF(!(p >= 0 && p < 1), err, SQ_ERR_RANGE, "sparsity = %g, need 0 or more and below 1",
               p);
    SQ_FAIL_IF(h->n == 0, err, SQ_ERR_RANGE, "0 calibration activations, need at least 1");
    const double below = p * (double)h->n;
    double sum = 0;
    uint32_t bin = 0;
    *theta = 0;
    if (below == 0)
        return SQ_OK;
    while (sum + (double)h->count[bin] < below)
        sum += (double)h->count[bin++];
    const double begin = (double)edge_of(bin);
    const double end = bin + 1 < SQ_HISTOGRAM_BINS ? (double)edge_of(bin + 1) : 0x1p128;
    *theta = (float)(begin + (end - begin) * (below - sum) / (double)h->count[bin]);
    if (isinf(*theta))
        *theta = edge_of(bin);
    return SQ_OK;
}

// ---- one sparsity per matrix ----------------------------------------------------------------

static enum sq_status check_greedy(size_t n, double target, double step, double limit,
                                   struct sq_error *err)
{
    SQ_FAIL_IF(n == 0 || n > SQ_SCAN_MATRICES, err, SQ_ERR_RANGE, "%zu matrices, need 1..%u", n,
               SQ_SCAN_MATRICES);
    SQ_FAIL_IF(!(limit >= 0 && limit < 1), err, SQ_ERR_RANGE,
               "limit = %g, need 0 or more and below 1", limit);
    SQ_FAIL_IF(!(target >= 0 && target <= limit), err, SQ_ERR_RANGE, "target = %g, need 0..%g",
               target, limit);
    SQ_FAIL_IF(!(step > 0 && step <= 1), err, SQ_ERR_RANGE, "step = %g, need above 0 and at most 1",
               step);
    return SQ_OK;
}

static double mean_of(const double *sparsity, const double *weight_count, size_t n, double total)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += sparsity[i] * weight_count[i];
    return sum / total;
}

enum sq_status sq_sparsity_scan(const double *weight_count, size_t n, double target, double step,
                                double limit, sq_scan_error_of *error_of, void *context,
                                double *sparsity, struct sq_error *err)
{
    double total = 0;
    SQ_TRY(check_greedy(n, target, step, limit, err));
    for (size_t i = 0; i < n; i++) {
        total += weight_count[i];
        sparsity[i] = 0;
    }
    for (;;) {
        const double missing = target - mean_of(sparsity, weight_count, n, total);
        if (missing <= 1e-9)
            return SQ_OK;
        const double raise = (missing < step ? missing : step) * total;
        double least = INFINITY, next = 0;
        size_t best = n;
        for (size_t i = 0; i < n; i++) {
            const double old = sparsity[i];
            double error;
            if (old >= limit)
                continue;
            sparsity[i] = fmin(old + raise / weight_count[i], limit);
            SQ_TRY(error_of(context, sparsity, &error, err));
            if (best == n || error < least) {
                least = error;
                best = i;
                next = sparsity[i];
            }
            sparsity[i] = old;
        }
        if (best == n)
            return SQ_OK; // all at the limit, up to rounding
        sparsity[best] = next;
    }
}
