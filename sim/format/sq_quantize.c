// SPDX-License-Identifier: Apache-2.0
// Encodes the rows of a layer on several threads, and adds up signal and noise (sq_quantize.h).
#include "sim/format/sq_quantize.h"

#include <math.h>

#include "models/quant/sq_codes_alloc.h"

// Rows [begin, end) of m as a matrix of their own.
static struct sq_matrix rows_of(const struct sq_matrix *m, size_t begin, size_t end)
{
    struct sq_matrix part = *m;
    part.n = end - begin;
    part.lo += begin * sq_lo_row_nbytes(&m->format, m->k);
    part.hi += begin * sq_hi_row_nbytes(&m->format, m->k);
    part.s_lo += begin * sq_n_groups(&m->format, m->k);
    part.s_hi += begin * sq_n_groups(&m->format, m->k);
    return part;
}

enum sq_status sq_operand_encode(struct sq_operand *o, const float *w, unsigned jobs,
                                 struct sq_error *err)
{
    enum { ROWS = 16 }; // per piece of work
    const struct sq_matrix *m = &o->m;
    const long n_pieces = (long)((m->n + ROWS - 1) / ROWS);
    long failed = n_pieces; // the first piece that failed: the error does not depend on timing
    struct sq_error first = {.code = SQ_OK};
#pragma omp parallel for schedule(dynamic) num_threads((int)jobs)
    for (long i = 0; i < n_pieces; i++) {
        size_t begin = (size_t)i * ROWS, end = begin + ROWS < m->n ? begin + ROWS : m->n;
        struct sq_matrix part = rows_of(m, begin, end);
        struct sq_error e;
        if (sq_encode_rtn(w + begin * m->k_orig, &part, &e) == SQ_OK)
            continue;
#pragma omp critical
        if (i < failed) {
            failed = i;
            first = e;
        }
    }
    if (failed == n_pieces)
        return SQ_OK;
    return SQ_FAIL(err, first.code, "rows from %ld: %.200s", failed * ROWS, first.text);
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
