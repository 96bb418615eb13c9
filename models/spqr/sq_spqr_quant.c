// SPDX-License-Identifier: Apache-2.0
// Tile rows are independent given U: threads share them out, and each walks its columns in groups
// of 16.
#include "models/spqr/sq_spqr_quant.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_half.h"
#include "models/quant/sq_blas.h"
#include "models/spqr/sq_spqr_errors.h"

enum { T = SQ_SPQR_TILE, TOP = SQ_SPQR_TOP };

// ---- buffers --------------------------------------------------------------------------------

enum sq_status sq_spqr_alloc(struct sq_spqr *m, size_t n, size_t k, size_t nnz,
                             struct sq_error *err)
{
    SQ_FAIL_IF(n == 0 || n >= UINT32_MAX - T || k == 0 || k > SQ_SPQR_K_MAX, err, SQ_ERR_SHAPE,
               "N = %zu, K = %zu, need N >= 1 and K = 1..%d", n, k, SQ_SPQR_K_MAX);
    *m = (struct sq_spqr){.n = n, .k = k, .outliers = {.n = n, .nnz = nnz}};
    m->in_perm = calloc(k, sizeof *m->in_perm);
    m->dense = calloc(sq_spqr_n_words(n, k), sizeof *m->dense);
    m->outliers.row_offsets = calloc(n + 1, sizeof *m->outliers.row_offsets);
    m->outliers.col_val = calloc(nnz + 1, sizeof *m->outliers.col_val);
    if (m->in_perm && m->dense && m->outliers.row_offsets && m->outliers.col_val)
        return SQ_OK;
    sq_spqr_free(m);
    return SQ_NO_MEMORY(err, "a layer of %zu x %zu", n, k);
}

void sq_spqr_free(struct sq_spqr *m)
{
    SQ_FREE(m->in_perm, m->dense, m->outliers.row_offsets, m->outliers.col_val);
    *m = (struct sq_spqr){0};
}

// ---- quantizers -----------------------------------------------------------------------------

static unsigned code_of(double v, double s, double z)
{
    return s == 0 ? 0 : (unsigned)sq_spqr_rounded_code(v / s + z);
}

// s = (max - min) / 7, z = -min / s. Values so close together that z would be lost in binary16 are
// fitted with 0 among them. False where all are 0.
static bool fit(const double *v, size_t n, double *s, double *z)
{
    double min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        min = sq_spqr_least(min, v[i]);
        max = sq_spqr_most(max, v[i]);
    }
    if (max - min <= sq_spqr_most(fabs(min), fabs(max)) / 1024) {
        min = sq_spqr_least(min, 0);
        max = sq_spqr_most(max, 0);
    }
    *s = (max - min) / TOP;
    *z = *s > 0 ? -min / *s : 0;
    return *s > 0;
}

// The second level: 16 scales, or 16 zeros, as 3-bit codes. Rows that are not used want 0.
static void fit_second(const double *v, const bool *is_used, uint16_t *scale, uint16_t *zero,
                       uint8_t *code)
{
    double min = INFINITY, max = -INFINITY;
    for (unsigned r = 0; r < T; r++)
        if (is_used[r]) {
            min = sq_spqr_least(min, v[r]);
            max = sq_spqr_most(max, v[r]);
        }
    *scale = *zero = 0;
    memset(code, 0, T);
    if (min > max)
        return;
    *scale = sq_f32_to_f16((float)((max - min) / TOP));
    double s = (double)sq_half_to_float(*scale);
    if (!(s > 0) || fabs(min) / s > 2048) { // as good as equal: 1 * (0 - (-1)) of their middle
        *scale = sq_f32_to_f16((float)((min + max) / 2));
        *zero = *scale & 0x7fffu ? sq_f32_to_f16(-1) : 0;
        return;
    }
    *zero = sq_f32_to_f16((float)(-min / s));
    for (unsigned r = 0; r < T; r++)
        code[r] = (uint8_t)code_of(is_used[r] ? v[r] : 0, s, (double)sq_half_to_float(*zero));
}

// ---- one tile row ---------------------------------------------------------------------------

struct job {
    struct sq_spqr *m;
    const struct sq_factor *f; // of the permuted inputs
    const float *w;            // [n][k], in the order of the model
    double tau;                // an error above it makes an outlier
    uint32_t **entry;          // [n]: the row's outliers; owned
    uint32_t *n_entries;       // [n]
    double *sum_e2;            // [n]
};

struct tile_row {
    size_t row, n_rows;
    double *w;       // [16][k], permuted, compensated as the columns go by
    double e[T][T];  //
    uint32_t *entry; // [16][k]
    uint32_t n_entries[T];
};

static void load(const struct job *p, struct tile_row *t, size_t row)
{
    const size_t k = p->m->k;
    t->row = row;
    t->n_rows = p->m->n - row < T ? p->m->n - row : T;
    memset(t->n_entries, 0, sizeof t->n_entries);
    for (size_t r = 0; r < t->n_rows; r++)
        for (size_t j = 0; j < k; j++)
            t->w[r * k + j] = p->f->is_dead[j] ? 0 : (double)p->w[(row + r) * k + p->m->in_perm[j]];
}

// Values whose absence spares the others more than tau, replaced by the mean of the others.
static void replace_candidates(const double *v, const double *u, size_t n, double tau, double *out)
{
    double error[SQ_SPQR_ERRORS], sum = 0;
    bool is_candidate[T];
    size_t n_others = 0;
    sq_spqr_errors(v, u, n, error);
    for (size_t i = 0; i < n; i++) {
        is_candidate[i] = n > 1 && error[SQ_SPQR_ALL] - error[i] > tau;
        sum += is_candidate[i] ? 0 : v[i];
        n_others += !is_candidate[i];
    }
    for (size_t i = 0; i < n; i++)
        out[i] = is_candidate[i] ? (n_others ? sum / (double)n_others : 0) : v[i];
}

// Both levels of the group's quantizers from the weights as they are now.
static void fit_tile(const struct job *p, const struct tile_row *t, size_t begin, size_t n,
                     struct sq_spqr_tile *tile)
{
    const size_t k = p->m->k;
    double u[T], s[T] = {0}, z[T] = {0}, v[T];
    bool is_used[T] = {false};
    for (size_t j = 0; j < n; j++)
        u[j] = p->f->u[(begin + j) * k + begin + j];
    for (size_t r = 0; r < t->n_rows; r++) {
        replace_candidates(t->w + r * k + begin, u, n, p->tau, v);
        is_used[r] = fit(v, n, &s[r], &z[r]);
    }
    memset(tile, 0, sizeof *tile);
    fit_second(s, is_used, &tile->second[SQ_SPQR_SS], &tile->second[SQ_SPQR_SZ], tile->scale);
    fit_second(z, is_used, &tile->second[SQ_SPQR_ZS], &tile->second[SQ_SPQR_ZZ], tile->zero);
    for (size_t r = t->n_rows; r < T; r++) // padding
        tile->scale[r] = tile->zero[r] = 0;
}

// The code of one weight and what is passed on of its error.
static double encode_weight(const struct job *p, struct tile_row *t, size_t r, size_t j, float s,
                            float z, uint8_t *code)
{
    const size_t k = p->m->k;
    const double v = t->w[r * k + j], u = p->f->u[j * k + j];
    *code = (uint8_t)code_of(v, (double)s, (double)z);
    const double e = (v - (double)sq_spqr_value(s, z, *code)) / u;
    if (!(e * e > p->tau))
        return e;
    *code = (uint8_t)code_of(0, (double)s, (double)z);
    const double dense = p->m->is_absolute ? 0 : (double)sq_spqr_value(s, z, *code);
    const uint16_t half = sq_f32_to_f16((float)(v - dense));
    if (half & 0x7fffu) // a zero adds nothing
        t->entry[r * k + t->n_entries[r]++] = (uint32_t)half << 16 | (uint32_t)j;
    return 0;
}

static void do_group(const struct job *p, struct tile_row *t, size_t begin, size_t n)
{
    const size_t k = p->m->k;
    struct sq_spqr_tile tile;
    fit_tile(p, t, begin, n, &tile);
    for (size_t r = 0; r < t->n_rows; r++) {
        float s, z;
        sq_spqr_row(&tile, (unsigned)r, &s, &z);
        for (size_t j = 0; j < n; j++) {
            const double *u = p->f->u + (begin + j) * k + begin;
            const double e = encode_weight(p, t, r, begin + j, s, z, &tile.code[r][j]);
            t->e[r][j] = e;
            p->sum_e2[t->row + r] += e * e;
            for (size_t i = j; i < n; i++)
                t->w[r * k + begin + i] -= e * u[i];
        }
    }
    sq_spqr_pack(&tile, p->m->dense + t->row * (sq_spqr_padded(k) / T) + begin);
    const size_t end = begin + n;
    if (end < k)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)t->n_rows, (int)(k - end),
                    (int)n, -1, t->e[0], T, p->f->u + begin * k + end, (int)k, 1, t->w + end,
                    (int)k);
}

static bool keep_entries(const struct job *p, const struct tile_row *t)
{
    for (size_t r = 0; r < t->n_rows; r++) {
        const size_t nbytes = t->n_entries[r] * sizeof *t->entry;
        p->n_entries[t->row + r] = t->n_entries[r];
        p->entry[t->row + r] = malloc(nbytes + 1);
        if (!p->entry[t->row + r])
            return false;
        memcpy(p->entry[t->row + r], t->entry + r * p->m->k, nbytes);
    }
    return true;
}

// False without memory.
static bool run(const struct job *p)
{
    const size_t k = p->m->k;
    bool is_out_of_memory = false;
    sq_blas_serial();
#pragma omp parallel
    {
        struct tile_row t = {.w = malloc(T * k * sizeof *t.w),
                             .entry = malloc(T * k * sizeof *t.entry)};
        bool is_done = t.w && t.entry;
#pragma omp for schedule(dynamic)
        for (size_t row = 0; row < p->m->n; row += T)
            if (is_done) {
                load(p, &t, row);
                for (size_t begin = 0; begin < k; begin += T)
                    do_group(p, &t, begin, k - begin < T ? k - begin : T);
                is_done = keep_entries(p, &t);
            }
        if (!is_done) {
#pragma omp atomic write
            is_out_of_memory = true;
        }
        SQ_FREE(t.w, t.entry);
    }
    return !is_out_of_memory;
}

// ---- columns in order -----------------------------------------------------------------------

struct ranked {
    double diagonal;
    uint16_t channel;
};

static int by_falling_diagonal(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->diagonal != y->diagonal)
        return x->diagonal > y->diagonal ? -1 : 1;
    return x->channel < y->channel ? -1 : 1;
}

static enum sq_status fill_perm(const struct sq_calibration *c, uint16_t *in_perm,
                                struct sq_error *err)
{
    SQ_FREED struct ranked *order = malloc(c->k * sizeof *order);
    SQ_NEED(order, err, "%zu channels", c->k);
    for (size_t j = 0; j < c->k; j++)
        order[j] = (struct ranked){c->xtx[j * c->k + j], (uint16_t)j};
    qsort(order, c->k, sizeof *order, by_falling_diagonal);
    for (size_t j = 0; j < c->k; j++)
        in_perm[j] = order[j].channel;
    return SQ_OK;
}

static enum sq_status factor_permuted(struct sq_factor *f, const struct sq_calibration *c,
                                      const uint16_t *in_perm, double percdamp,
                                      struct sq_error *err)
{
    const size_t k = c->k;
    SQ_CLOSED(sq_calibration_free)
    struct sq_calibration permuted = {
        .k = k, .n_tokens = c->n_tokens, .xtx = malloc(k * k * sizeof *permuted.xtx)};
    SQ_NEED(permuted.xtx, err, "a Hessian of %zu x %zu", k, k);
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j <= i; j++) {
            const size_t a = in_perm[i], b = in_perm[j];
            permuted.xtx[i * k + j] = c->xtx[a > b ? a * k + b : b * k + a];
        }
    return sq_factor_init(f, &permuted, NULL, percdamp, err);
}

// rel * mean over columns of var(W[:,j]) / U_jj^2. Without a variance (one row) nothing is an
// outlier.
static double threshold(const struct job *p, double relative)
{
    const size_t n = p->m->n, k = p->m->k;
    double sum = 0;
    if (n < 2)
        return INFINITY;
    for (size_t j = 0; j < k; j++) {
        const float *w = p->w + p->m->in_perm[j];
        const double u = p->f->u[j * k + j];
        double mean = 0, square = 0;
        for (size_t r = 0; r < n && !p->f->is_dead[j]; r++)
            mean += (double)w[r * k] / (double)n;
        for (size_t r = 0; r < n && !p->f->is_dead[j]; r++)
            square += ((double)w[r * k] - mean) * ((double)w[r * k] - mean);
        sum += square / (double)(n - 1) / (u * u);
    }
    return relative * sum / (double)k;
}

// ---- entry ----------------------------------------------------------------------------------

static enum sq_status check(const float *w, size_t n, size_t k, const struct sq_calibration *c,
                            const struct sq_spqr_options *o, struct sq_error *err)
{
    SQ_FAIL_IF(c->k != k, err, SQ_ERR_SHAPE, "K = %zu of the weights, %zu of the Hessian", k, c->k);
    SQ_FAIL_IF(!c->xtx, err, SQ_ERR_ARG, "the calibration was made without a Hessian");
    SQ_FAIL_IF(!(o->relative > 0), err, SQ_ERR_RANGE, "outliers = %g, need a threshold above 0",
               o->relative);
    for (size_t i = 0; i < n * k; i++)
        SQ_FAIL_IF(!isfinite(w[i]), err, SQ_ERR_NON_FINITE,
                   "w[%zu][%zu] = %g, need a finite number", i / k, i % k, (double)w[i]);
    return SQ_OK;
}

// The rows' outliers one after the other.
static enum sq_status join(const struct job *p, struct sq_error *err)
{
    struct sq_spqr_csr *c = &p->m->outliers;
    size_t nnz = 0;
    for (size_t r = 0; r < c->n; r++)
        nnz += p->n_entries[r];
    uint32_t *all = nnz <= UINT32_MAX ? malloc((nnz + 1) * sizeof *all) : NULL;
    SQ_NEED(all, err, "%zu outliers", nnz);
    free(c->col_val);
    c->col_val = all;
    c->nnz = nnz;
    nnz = 0;
    for (size_t r = 0; r < c->n; r++) {
        memcpy(all + nnz, p->entry[r], p->n_entries[r] * sizeof *all);
        nnz += p->n_entries[r];
        c->row_offsets[r + 1] = (uint32_t)nnz;
    }
    return SQ_OK;
}

// What was made is legal, or the weights do not fit binary16.
static enum sq_status validate(const struct sq_spqr *m, struct sq_error *err)
{
    struct sq_error e = {.text = ""};
    uint8_t *seen = malloc(m->k);
    SQ_NEED(seen, err, "%zu channels", m->k);
    const enum sq_status status =
        sq_spqr_validate(m, sq_spqr_n_words(m->n, m->k), m->n + 1, m->outliers.nnz, seen, &e);
    free(seen);
    if (status == SQ_OK)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_OVERFLOW, "weights too large for binary16: %.180s", e.text);
}

static enum sq_status encode(struct job *p, double relative, double *sum_e2, struct sq_error *err)
{
    const size_t n = p->m->n;
    p->tau = threshold(p, relative);
    p->entry = calloc(n, sizeof *p->entry);
    p->n_entries = calloc(n, sizeof *p->n_entries);
    p->sum_e2 = calloc(n, sizeof *p->sum_e2);
    enum sq_status status = p->entry && p->n_entries && p->sum_e2 && run(p)
                                ? join(p, err)
                                : SQ_NO_MEMORY(err, "a layer of %zu rows", n);
    for (size_t r = 0; sum_e2 && p->sum_e2 && r < n; r++)
        *sum_e2 = (r ? *sum_e2 : 0) + p->sum_e2[r];
    for (size_t r = 0; p->entry && r < n; r++)
        free(p->entry[r]);
    SQ_FREE(p->entry, p->n_entries, p->sum_e2);
    return status == SQ_OK ? validate(p->m, err) : status;
}

enum sq_status sq_spqr_encode(struct sq_spqr *m, const float *w, size_t n, size_t k,
                              const struct sq_calibration *c, const struct sq_spqr_options *o,
                              double *sum_e2, struct sq_error *err)
{
    SQ_CLOSED(sq_factor_free) struct sq_factor f = {0};
    *m = (struct sq_spqr){0};
    SQ_TRY(check(w, n, k, c, o, err));
    SQ_TRY(sq_spqr_alloc(m, n, k, 0, err));
    m->is_absolute = o->is_absolute;
    enum sq_status status = fill_perm(c, m->in_perm, err);
    SQ_THEN(status, factor_permuted(&f, c, m->in_perm, o->percdamp, err));
    if (status == SQ_OK) {
        struct job p = {.m = m, .f = &f, .w = w};
        status = encode(&p, o->relative, sum_e2, err);
    }
    return SQ_ELSE(status, sq_spqr_free(m));
}
