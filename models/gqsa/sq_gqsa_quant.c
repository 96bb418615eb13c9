// SPDX-License-Identifier: Apache-2.0
// Prunes groups by their score and encodes the kept ones, row by row or column by column
// (sq_gqsa_quant.h).
#include "models/gqsa/sq_gqsa_quant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_half.h"
#include "models/quant/sq_blas.h"
#include "models/quant/sq_column_loop.h"

enum { MAX_GROUP = 128 };

// ---- which groups stay ----------------------------------------------------------------------

void sq_gqsa_saliency(const float *w, size_t n, size_t k_orig, unsigned group,
                      const float *weight_of, double *score)
{
    const size_t columns = (k_orig + group - 1) / group;
    for (size_t row = 0; row < n; row++)
        for (size_t c = 0; c < columns; c++) {
            double sum = 0;
            for (size_t j = c * group; j < (c + 1) * group && j < k_orig; j++) {
                const double e = (double)w[row * k_orig + j] * (double)weight_of[j];
                sum += e * e;
            }
            score[row * columns + c] = sum / group;
        }
}

struct ranked {
    double score;
    size_t index;
};

// A total order, so that the sort need not be stable (SPEC N.6).
static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void prune(const double *score, size_t n, size_t n_pruned, struct ranked *scratch,
                  uint8_t *is_kept)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = (struct ranked){score[i], i};
    qsort(scratch, n, sizeof *scratch, by_score);
    for (size_t i = 0; i < n; i++)
        is_kept[scratch[i].index] = i >= n_pruned;
}

size_t sq_gqsa_n_pruned(size_t n_groups, double sparsity)
{
    return (size_t)round(sparsity * (double)n_groups);
}

enum sq_status sq_gqsa_prune(const double *score, size_t n, size_t columns, double sparsity,
                             bool is_row_balanced, uint8_t *is_kept, struct sq_error *err)
{
    const size_t all = n * columns, at_once = is_row_balanced ? columns : all;
    SQ_FAIL_IF(!(sparsity >= 0 && sparsity <= 1), err, SQ_ERR_RANGE, "sparsity = %g, need 0..1",
               sparsity);
    for (size_t i = 0; i < all; i++)
        SQ_FAIL_IF(isnan(score[i]), err, SQ_ERR_NON_FINITE, "score of group %zu is no number", i);
    SQ_FREED struct ranked *scratch = malloc(at_once * sizeof *scratch);
    SQ_NEED(scratch, err, "%zu groups", at_once);
    const size_t n_pruned = sq_gqsa_n_pruned(at_once, sparsity);
    for (size_t i = 0; i < all; i += at_once)
        prune(score + i, at_once, n_pruned, scratch, is_kept + i);
    return SQ_OK;
}

size_t sq_gqsa_count(const uint8_t *is_kept, size_t n, size_t columns)
{
    size_t count = 0;
    for (size_t i = 0; i < n * columns; i++)
        count += is_kept[i];
    return count;
}

void sq_gqsa_set_groups(struct sq_gqsa *m, const uint8_t *is_kept)
{
    const size_t columns = m->k / m->group;
    uint32_t e = 0;
    for (size_t row = 0; row < m->n; row++) {
        m->row_index[row] = e;
        for (size_t c = 0; c < columns; c++)
            if (is_kept[row * columns + c])
                m->groups[e++] = (uint16_t)c;
    }
    m->row_index[m->n] = e;
}

// ---- codes ----------------------------------------------------------------------------------

// Group e of *m from w[len], the real columns of it; the others get the group's zero.
static enum sq_status encode_group(struct sq_gqsa *m, size_t e, const float *w, size_t len,
                                   struct sq_error *err)
{
    uint8_t code[MAX_GROUP], zero;
    for (size_t i = 0; m->bits == 16 && i < m->group; i++) {
        const uint16_t half = sq_f32_to_f16(i < len ? w[i] : 0);
        SQ_FAIL_IF(!sq_half_is_finite(half), err, SQ_ERR_OVERFLOW,
                   "w[%zu] of a group = %g, need at most 65504", i, (double)w[i]);
        sq_gqsa_set_code(m, e, i, half);
    }
    if (m->bits == 16)
        return SQ_OK;
    SQ_TRY(sq_gqsa_quantize_bits(sq_gqsa_bits(m), w, len, code, &m->scale[e], &zero, err));
    for (size_t i = 0; i < m->group; i++)
        sq_gqsa_set_code(m, e, i, i < len ? code[i] : zero);
    m->zero[e] = zero;
    return SQ_OK;
}

static size_t real_columns(const struct sq_gqsa *m, size_t e)
{
    const size_t at = (size_t)m->groups[e] * m->group;
    return m->k_orig - at < m->group ? m->k_orig - at : m->group;
}

static enum sq_status encode_row(struct sq_gqsa *m, size_t row, const float *w,
                                 struct sq_error *err)
{
    for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++) {
        struct sq_error why;
        const size_t at = (size_t)m->groups[e] * m->group;
        const enum sq_status status = encode_group(m, e, w + at, real_columns(m, e), &why);
        SQ_FAIL_IF(status != SQ_OK, err, status, "row %zu, columns from %zu: %.160s", row, at,
                   why.text);
    }
    return SQ_OK;
}

// ---- sequential -----------------------------------------------------------------------------

struct job {
    struct sq_gqsa *m;
    size_t *next;          // [n]: the kept group of the row that comes next
    struct sq_error first; // of any group
};

static void begin_row(void *context, size_t row, const double *w, void *scratch)
{
    const struct job *p = context;
    (void)w, (void)scratch;
    p->next[row] = p->m->row_index[row];
}

static void start_group(struct job *p, size_t e, const double *w)
{
    float now[MAX_GROUP];
    const size_t len = real_columns(p->m, e);
    struct sq_error why;
    for (size_t i = 0; i < len; i++)
        now[i] = (float)w[i];
    if (encode_group(p->m, e, now, len, &why) == SQ_OK)
        return;
#pragma omp critical(sq_gqsa_error)
    p->first = why;
    if (p->m->bits == 16)
        return;
    p->m->scale[e] = 0x3c00; // 1: the result is thrown away
    p->m->zero[e] = 0;
}

static double do_column(void *context, size_t row, size_t j, const double *w, void *scratch)
{
    struct job *p = context;
    struct sq_gqsa *m = p->m;
    size_t *next = &p->next[row];
    (void)scratch;
    if (j % m->group == 0 && *next < m->row_index[row + 1] && m->groups[*next] == j / m->group) {
        start_group(p, *next, w + j);
        ++*next;
    }
    if (*next == m->row_index[row] || m->groups[*next - 1] != j / m->group)
        return 0;
    const size_t e = *next - 1;
    const float scale = sq_gqsa_scale(m, e);
    sq_gqsa_set_code(m, e, j % m->group,
                     m->bits == 16
                         ? sq_f32_to_f16((float)w[j])
                         : sq_gqsa_quantize((float)w[j], scale, m->zero[e], sq_gqsa_max_code(m)));
    return (double)(sq_gqsa_value(m, e, j % m->group) * scale);
}

static enum sq_status encode_sequential(struct sq_gqsa *m, const float *w,
                                        const struct sq_factor *factor, struct sq_error *err)
{
    struct job p = {.m = m, .next = malloc(m->n * sizeof *p.next)};
    SQ_NEED(p.next, err, "%zu rows", m->n);
    const struct sq_column_loop loop = {.factor = factor,
                                        .n = m->n,
                                        .block = SQ_COLUMN_BLOCK,
                                        .begin_row = begin_row,
                                        .column = do_column,
                                        .context = &p};
    const enum sq_status status = sq_column_loop_run(&loop, w, NULL, err);
    free(p.next);
    SQ_TRY(status);
    return p.first.code == SQ_OK ? SQ_OK : SQ_FAIL(err, p.first.code, "%.200s", p.first.text);
}

// ---- lite -----------------------------------------------------------------------------------

// One row; buffers of the thread: doubles k * k + 3 k, floats and bytes k.
static enum sq_status do_lite_row(struct sq_gqsa *m, size_t row, const float *w, const double *h,
                                  const struct sq_factor *f, double *buffer, float *narrow,
                                  uint8_t *keep, struct sq_error *err)
{
    const size_t k = m->k_orig;
    double *wide = buffer, *scratch = buffer + k, unused;
    memset(keep, 0, k);
    for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++)
        memset(keep + (size_t)m->groups[e] * m->group, 1, real_columns(m, e));
    for (size_t j = 0; j < k; j++)
        wide[j] = f->is_dead[j] ? 0 : (double)w[j];
    sq_gqsa_survivors(h, k, keep, wide, scratch);
    for (size_t j = 0; j < k; j++)
        narrow[j] = (float)wide[j];
    SQ_TRY(encode_row(m, row, narrow, err));
    for (size_t j = 0; j < k; j++)
        wide[j] = f->is_dead[j] ? 0 : (double)w[j];
    return m->bits == 16 ? SQ_OK : sq_gqsa_refit_row(m, row, h, wide, &unused, err);
}

static enum sq_status encode_lite(struct sq_gqsa *m, const float *w, const struct sq_calibration *c,
                                  const struct sq_factor *f, struct sq_error *err)
{
    const size_t k = m->k_orig;
    SQ_FREED double *h = malloc(k * k * sizeof *h);
    struct sq_error first = {.code = SQ_OK};
    SQ_NEED(h, err, "a Hessian of %zu x %zu", k, k);
    sq_gqsa_hessian(c, f, h);
    sq_blas_serial();
#pragma omp parallel
    {
        SQ_FREED double *buffer = malloc((k * k + 3 * k) * sizeof *buffer);
        SQ_FREED float *narrow = malloc(k * sizeof *narrow);
        SQ_FREED uint8_t *keep = malloc(k);
#pragma omp for schedule(dynamic)
        for (size_t row = 0; row < m->n; row++) {
            struct sq_error e = {.code = SQ_OK};
            const enum sq_status status =
                buffer && narrow && keep
                    ? do_lite_row(m, row, w + row * k, h, f, buffer, narrow, keep, &e)
                    : SQ_NO_MEMORY(&e, "a row of %zu", k);
            if (status != SQ_OK) {
#pragma omp critical(sq_gqsa_error)
                first = e;
            }
        }
    }
    return first.code == SQ_OK ? SQ_OK : SQ_FAIL(err, first.code, "%.200s", first.text);
}

// ---- entry ----------------------------------------------------------------------------------

static enum sq_status check(const struct sq_gqsa *m, const float *w, enum sq_gqsa_method method,
                            const struct sq_calibration *c, const struct sq_factor *f,
                            struct sq_error *err)
{
    SQ_TRY(sq_gqsa_check_shape(m, err));
    SQ_FAIL_IF((method != SQ_GQSA_RTN && !f) || (method == SQ_GQSA_LITE && (!c || !c->xtx)), err,
               SQ_ERR_ARG, "this method needs calibration");
    SQ_FAIL_IF(f && f->k != m->k_orig, err, SQ_ERR_SHAPE,
               "K = %zu of the weights, %zu of the Hessian", m->k_orig, f->k);
    for (size_t i = 0; i < m->n * m->k_orig; i++)
        SQ_FAIL_IF(!isfinite(w[i]), err, SQ_ERR_NON_FINITE,
                   "w[%zu][%zu] = %g, need a finite number", i / m->k_orig, i % m->k_orig,
                   (double)w[i]);
    return SQ_OK;
}

enum sq_status sq_gqsa_encode(struct sq_gqsa *m, const float *w, enum sq_gqsa_method method,
                              const struct sq_calibration *calibration,
                              const struct sq_factor *factor, struct sq_error *err)
{
    SQ_TRY(check(m, w, method, calibration, factor, err));
    memset(m->codes, 0, m->nnz * m->group * sq_gqsa_bits(m) / 8);
    if (method == SQ_GQSA_SEQUENTIAL)
        return encode_sequential(m, w, factor, err);
    if (method == SQ_GQSA_LITE)
        return encode_lite(m, w, calibration, factor, err);
    for (size_t row = 0; row < m->n; row++)
        SQ_TRY(encode_row(m, row, w + row * m->k_orig, err));
    return SQ_OK;
}
