// SPDX-License-Identifier: Apache-2.0
// Encodes the rows of a layer on several threads, and adds up signal and noise (sq_quantize.h).
#include "sim/format/sq_quantize.h"

#include <math.h>
#include <omp.h>

#include "models/quant/sq_codes_alloc.h"
#include "sim/io/sq_checked.h"

enum sq_status sq_each_piece(size_t n, size_t length, unsigned jobs, const char *what,
                             sq_piece_work *work, void *context, struct sq_error *err)
{
    struct sq_error first = {0};
    size_t failed = SIZE_MAX;
#pragma omp parallel for schedule(dynamic) if (n > length)                                         \
    num_threads(jobs ? (int)jobs : omp_get_max_threads())
    for (size_t i = 0; i < n; i += length) {
        struct sq_error e;
        if (work(context, i, sq_smaller(length, n - i), &e) == SQ_OK)
            continue;
#pragma omp critical(sq_piece_error)
        if (i < failed) {
            failed = i;
            first = e;
        }
    }
    if (failed == SIZE_MAX)
        return SQ_OK;
    return SQ_FAIL(err, first.code, "%s from %zu: %.200s", what, failed, first.text);
}

struct encoding {
    const struct sq_matrix *m;
    const float *w;
};

// n rows of m as a matrix of their own.
static enum sq_status encode_rows(void *context, size_t first, size_t n, struct sq_error *err)
{
    const struct encoding *e = context;
    struct sq_matrix part = *e->m;
    part.n = n;
    part.lo += first * sq_lo_row_nbytes(&part.format, part.k);
    part.hi += first * sq_hi_row_nbytes(&part.format, part.k);
    part.s_lo += first * sq_n_groups(&part.format, part.k);
    part.s_hi += first * sq_n_groups(&part.format, part.k);
    return sq_encode_rtn(e->w + first * part.k_orig, &part, err);
}

enum sq_status sq_operand_encode(struct sq_operand *o, const float *w, unsigned jobs,
                                 struct sq_error *err)
{
    enum { ROWS = 16 }; // per piece of work
    struct encoding e = {&o->m, w};
    return sq_each_piece(o->m.n, ROWS, jobs, "rows", encode_rows, &e, err);
}

double sq_sqnr_db(const struct sq_sqnr *s)
{
    if (s->signal == 0)
        return NAN;
    return s->noise == 0 ? INFINITY : 10.0 * log10(s->signal / s->noise);
}

double sq_sqnr_relative(const struct sq_sqnr *s)
{
    return s->signal == 0 ? NAN : sqrt(s->noise / s->signal);
}
