// SPDX-License-Identifier: Apache-2.0
// The two closed forms of "lite" (SPEC F.7 b, c), one row each.
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/gqsa/sq_gqsa_quant.h"
#include "models/number/sq_fp.h"

void sq_gqsa_hessian(const struct sq_calibration *c, const struct sq_factor *f, double *h)
{
    const size_t k = c->k;
    const double scale = 2 / (double)c->n_tokens;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j <= i; j++) {
            double v = c->xtx[i * k + j] * scale;
            if (i == j)
                v = (f->is_dead[i] ? 1 : v) + f->lambda;
            h[i * k + j] = h[j * k + i] = v;
        }
}

// x: a[n][n] x = b, a symmetric positive definite (lower triangle, overwritten), b becomes x.
static bool solve(double *a, double *b, size_t n)
{
    const lapack_int order = (lapack_int)n;
    // Row-major lower is LAPACK's upper.
    return n == 0 ||
           (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', order, a, order) == 0 &&
            LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'U', order, 1, a, order, b, order) == 0);
}

bool sq_gqsa_survivors(const double *h, size_t k, const uint8_t *keep, double *w, double *scratch)
{
    double *a = scratch, *hw = scratch + k * k, *b = hw + k;
    size_t n = 0;
    cblas_dsymv(CblasRowMajor, CblasLower, (int)k, 1, h, (int)k, w, 1, 0, hw, 1);
    for (size_t i = 0; i < k; i++)
        if (keep[i])
            b[n++] = hw[i];
    for (size_t i = 0, r = 0; i < k; i++) {
        if (!keep[i])
            continue;
        for (size_t j = 0, c = 0; j <= i; j++)
            if (keep[j])
                a[r * n + c++] = h[i * k + j];
        r++;
    }
    if (!solve(a, b, n))
        return false;
    for (size_t i = 0, r = 0; i < k; i++)
        w[i] = keep[i] ? b[r++] : 0;
    return true;
}

// ---- scales and zeros -----------------------------------------------------------------------

// One row. A group has two columns in B: its codes and -1 on its columns; p = (scale, scale *
// zero).
struct refit {
    struct sq_gqsa *m;
    size_t row, first, n; // its kept groups
    const double *h, *w;
    double *a, *b;    // [2n][2n], [2n]
    double *product;  // [2][k]: H times the two columns of a group
    double *error_of; // [k]: w - w^, and H times it
    uint16_t *scale;  // [n], the state that stands
    uint8_t *zero;    // [n]
};

static size_t columns_of(const struct refit *f, size_t g, size_t *at)
{
    *at = (size_t)f->m->groups[f->first + g] * f->m->group;
    return f->m->k_orig - *at < f->m->group ? f->m->k_orig - *at : f->m->group;
}

// (w - w^) H (w - w^)^T of the row as *m has it; leaves H (w - w^) behind d.
static double row_error(const struct refit *f)
{
    const size_t k = f->m->k_orig;
    double *d = f->error_of, *hd = d + k;
    memcpy(d, f->w, k * sizeof *d);
    for (size_t g = 0; g < f->n; g++) {
        size_t at;
        const size_t len = columns_of(f, g, &at), e = f->first + g;
        for (size_t i = 0; i < len; i++)
            d[at + i] -= (double)((int)sq_gqsa_code(f->m, e, i) - f->m->zero[e]) *
                         (double)sq_gqsa_scale(f->m, e);
    }
    cblas_dsymv(CblasRowMajor, CblasLower, (int)k, 1, f->h, (int)k, d, 1, 0, hd, 1);
    return cblas_ddot((int)k, d, 1, hd, 1);
}

// Column `which` of group g in B at its element i: code, -1; or, alone, code - zero.
static double base(const struct refit *f, size_t g, size_t i, unsigned which, bool is_alone)
{
    const size_t e = f->first + g;
    const double code = (double)sq_gqsa_code(f->m, e, i);
    return which == 1 ? -1 : is_alone ? code - f->m->zero[e] : code;
}

// Normal equations for the change of p, from the error that row_error left: is_alone, of the scales
// only. A little damping keeps codes that are all alike from making them singular.
static void fill_equations(const struct refit *f, bool is_alone)
{
    const size_t k = f->m->k_orig, per = is_alone ? 1 : 2, order = per * f->n;
    const double *hd = f->error_of + k;
    for (size_t g = 0; g < f->n; g++) {
        size_t at;
        const size_t len = columns_of(f, g, &at);
        for (unsigned p = 0; p < per; p++) {
            double *hb = f->product + p * k, sum = 0;
            memset(hb, 0, k * sizeof *hb);
            for (size_t i = 0; i < len; i++) {
                const double v = base(f, g, i, p, is_alone);
                cblas_daxpy((int)k, v, f->h + (at + i) * k, 1, hb, 1);
                sum += v * hd[at + i];
            }
            f->b[per * g + p] = sum;
            for (size_t o = 0; o <= g; o++) {
                size_t to;
                const size_t n = columns_of(f, o, &to);
                for (unsigned q = 0; q < per; q++) {
                    double dot = 0;
                    for (size_t i = 0; i < n; i++)
                        dot += base(f, o, i, q, is_alone) * hb[to + i];
                    f->a[(per * g + p) * order + per * o + q] = dot;
                }
            }
        }
    }
    for (size_t i = 0; i < order; i++)
        f->a[i * order + i] *= 1 + 1e-9;
}

// The scale of group e, where it is one: positive in binary16.
static void set_scale(struct sq_gqsa *m, size_t e, double scale)
{
    const uint16_t rounded = scale > 0 && scale < 65504 ? sq_f32_to_f16((float)scale) : 0;
    if (rounded > 0 && rounded < 0x7c00)
        m->scale[e] = rounded;
}

// Zero of group e, and the codes of its padding with it.
static void set_zero(struct sq_gqsa *m, size_t e, double zero)
{
    const size_t at = (size_t)m->groups[e] * m->group;
    const double z = rint(zero);
    const double most = sq_gqsa_max_code(m);
    m->zero[e] = (uint8_t)(z < 0 ? 0 : z > most ? most : z);
    for (size_t i = 0; i < m->group; i++)
        if (at + i >= m->k_orig)
            sq_gqsa_set_code(m, e, i, m->zero[e]);
}

static void save(const struct refit *f)
{
    memcpy(f->scale, f->m->scale + f->first, f->n * sizeof *f->scale);
    memcpy(f->zero, f->m->zero + f->first, f->n);
}

static void restore(const struct refit *f)
{
    memcpy(f->m->scale + f->first, f->scale, f->n * sizeof *f->scale);
    for (size_t g = 0; g < f->n; g++)
        set_zero(f->m, f->first + g, f->zero[g]);
}

// The scales alone, on the zeros as they are.
static void refit_scales(const struct refit *f)
{
    row_error(f);
    fill_equations(f, true);
    if (!solve(f->a, f->b, f->n))
        return;
    for (size_t g = 0; g < f->n; g++)
        set_scale(f->m, f->first + g, (double)sq_gqsa_scale(f->m, f->first + g) + f->b[g]);
}

// Scales and real zeros together, then rounded.
static void refit_both(const struct refit *f)
{
    row_error(f);
    fill_equations(f, false);
    if (!solve(f->a, f->b, 2 * f->n))
        return;
    for (size_t g = 0; g < f->n; g++) {
        const size_t e = f->first + g;
        const double old = (double)sq_gqsa_scale(f->m, e), scale = old + f->b[2 * g];
        if (!(scale > 0))
            continue;
        set_zero(f->m, e, (old * f->m->zero[e] + f->b[2 * g + 1]) / scale);
        set_scale(f->m, e, scale);
    }
}

static double refit(const struct refit *f)
{
    double best = row_error(f);
    for (unsigned is_scale_only = 0; is_scale_only < 2; is_scale_only++) {
        save(f);
        if (!is_scale_only)
            refit_both(f);
        refit_scales(f);
        const double now = row_error(f);
        if (now < best)
            best = now;
        else
            restore(f);
    }
    return best;
}

enum sq_status sq_gqsa_refit_row(struct sq_gqsa *m, size_t row, const double *h, const double *w,
                                 double *error, struct sq_error *err)
{
    const size_t first = m->row_index[row], n = m->row_index[row + 1] - first, k = m->k_orig;
    double *wide = malloc((4 * n * n + 2 * n + 4 * k) * sizeof *wide);
    uint16_t *scale = malloc(n * sizeof *scale + 1);
    uint8_t *zero = malloc(n + 1);
    const bool is_done = wide && scale && zero;
    if (is_done) {
        double *b = wide + 4 * n * n, *product = b + 2 * n;
        const struct refit f = {m, row,     first,           n,     h,   w, wide,
                                b, product, product + 2 * k, scale, zero};
        *error = refit(&f);
    }
    SQ_FREE(wide, scale, zero);
    return SQ_HAVE(is_done, err, "a row of %zu", k);
}
