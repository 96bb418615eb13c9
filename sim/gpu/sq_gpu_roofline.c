// SPDX-License-Identifier: Apache-2.0
// Fits the three constants by trying factors up and down, and predicts with them
// (sq_gpu_roofline.h).
#include "sim/gpu/sq_gpu_roofline.h"

#include <math.h>
#include <string.h>

static double macs(const struct sq_gpu_gemm *g)
{
    return (double)g->m * (double)g->n * (double)g->k;
}

static double seconds(const struct sq_gpu_roof *r, const struct sq_gpu_gemm *g)
{
    return r->t0_s + fmax(macs(g) / r->macs_per_s, sq_gpu_gemm_nbytes(g) / r->bytes_per_s);
}

double sq_gpu_roofline_seconds(const struct sq_gpu_roofline *roofline, const struct sq_gpu_gemm *g)
{
    const struct sq_gpu_roof *r = &roofline->roof[g->dtype][g->is_sparse];
    return r->t0_s > 0 && g->low_share == 0 ? seconds(r, g) : 0;
}

// A kind and the least M of the rows that fix it.
struct choice {
    unsigned dtype;
    bool is_sparse;
    uint64_t min_m;
};

static bool is_chosen(const struct sq_gpu_record *r, const struct choice *c)
{
    return r->is_calibration && !r->is_repeat && r->gemm.m >= c->min_m &&
           r->gemm.dtype == c->dtype && r->gemm.is_sparse == c->is_sparse && r->gemm.low_share == 0;
}

// The rows that fix a kind, at most FIT_MAX, evenly over those that could.
enum { FIT_MAX = 512 };
struct rows {
    const struct sq_gpu_record *row[FIT_MAX];
    size_t n;
};

static void choose(const struct sq_gpu_records *g, const struct choice *c, struct rows *rows)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < g->n; i++)
        n += is_chosen(&g->r[i], c);
    const size_t stride = (n + FIT_MAX - 1) / FIT_MAX;
    rows->n = 0;
    for (size_t i = 0; i < g->n; i++)
        if (is_chosen(&g->r[i], c) && at++ % stride == 0)
            rows->row[rows->n++] = &g->r[i];
}

static double mean_error(const struct rows *rows, const struct sq_gpu_roof *roof)
{
    double sum = 0;
    for (size_t i = 0; i < rows->n; i++)
        sum += fabs(seconds(roof, &rows->row[i]->gemm) / rows->row[i]->seconds - 1);
    return sum / (double)rows->n;
}

// One constant or two at a time go up or down by a factor, which shrinks where nothing helps.
static double descend(const struct rows *rows, struct sq_gpu_roof *roof)
{
    double least = mean_error(rows, roof);
    for (double step = 0.5; step > 1e-3; step /= 2)
        for (bool is_better = true; is_better;) {
            is_better = false;
            for (unsigned move = 1; move < 27; move++) { // digits to the base of 3: none, up, down
                const double by[3] = {1, 1 + step, 1 / (1 + step)};
                const struct sq_gpu_roof next = {roof->t0_s * by[move % 3],
                                                 roof->macs_per_s * by[move / 3 % 3],
                                                 roof->bytes_per_s * by[move / 9]};
                const double error = mean_error(rows, &next);
                if (error < least * (1 - 1e-9)) {
                    least = error;
                    *roof = next;
                    is_better = true;
                }
            }
        }
    return least;
}

static void fit_kind(const struct sq_gpu_records *g, const struct choice *c,
                     struct sq_gpu_roof *roof)
{
    struct sq_gpu_roof start = {INFINITY, 0, 0};
    struct rows rows;
    double least = INFINITY;
    choose(g, c, &rows);
    for (size_t i = 0; i < rows.n; i++) {
        const struct sq_gpu_record *r = rows.row[i];
        start.t0_s = fmin(start.t0_s, r->seconds);
        start.macs_per_s = fmax(start.macs_per_s, macs(&r->gemm) / r->seconds);
        start.bytes_per_s = fmax(start.bytes_per_s, sq_gpu_gemm_nbytes(&r->gemm) / r->seconds);
    }
    for (unsigned i = 0; i < 8 && rows.n >= 3; i++) {
        struct sq_gpu_roof trial = {start.t0_s * (i & 1 ? 0.25 : 0.9),
                                    start.macs_per_s * (i & 2 ? 1.5 : 1.02),
                                    start.bytes_per_s * (i & 4 ? 4 : 1.02)};
        const double error = descend(&rows, &trial);
        if (error < least) {
            least = error;
            *roof = trial;
        }
    }
}

void sq_gpu_roofline_fit(const struct sq_gpu_records *g, uint64_t min_m,
                         struct sq_gpu_roofline *roofline)
{
    memset(roofline, 0, sizeof *roofline);
    for (unsigned d = 0; d < SQ_GPU_N_DTYPES; d++)
        for (unsigned s = 0; s < 2; s++)
            fit_kind(g, &(struct choice){d, s == 1, min_m}, &roofline->roof[d][s]);
}
