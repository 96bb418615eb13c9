// SPDX-License-Identifier: Apache-2.0
// Factors of sums of a tensor core (sq_bs_accumulate.h).
#include "models/scaled/sq_bs_accumulate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/scaled/sq_bs_kind.h"

// Exponent of the smallest normal number of a small float; integers have none.
static int emin_of(const struct sq_bs_format *f)
{
    for (const struct sq_sum_type *t = sq_sum_types; t->name && !f->table; t++)
        if (strcmp(t->name, sq_element_name(f->element)) == 0)
            return 2 - (1 << (t->exponent_bits - 1));
    return SQ_SUM_ZERO;
}

void sq_bs_accumulate_load(const struct sq_bs *c, size_t row, double *out, int16_t *exponent)
{
    const size_t b = c->f.block;
    const int emin = emin_of(&c->f);
    struct sq_bs_block block;
    assert(sq_bs_n_parts(&c->f) == 1);
    for (size_t j = 0; j < c->k / b; j++) {
        sq_bs_get_block(c, row, j, &block);
        const double scale = (double)sq_bs_scale(&c->f, 0, block.scale[0]);
        for (size_t i = j * b; i < j * b + b; i++) {
            const double v = (double)sq_bs_element(&c->f, &block, i - j * b, sq_bs_get(c, row, i));
            const int e = v == 0 ? SQ_SUM_ZERO : ilogb(v);
            out[i] = v * scale;
            exponent[i] =
                (int16_t)(out[i] == 0 ? SQ_SUM_ZERO : (e < emin ? emin : e) + ilogb(scale));
        }
    }
}

void sq_bs_accumulate(const struct sq_sum_rule *r, const struct sq_bs *w, const struct sq_bs *x,
                      float *sum)
{
    const size_t k = w->k, n = w->n + x->n;
    double *const v = malloc(n * k * sizeof *v);
    int16_t *const e = malloc(n * k * sizeof *e);
    if (!v || !e)
        abort();
    for (size_t i = 0; i < n; i++)
        sq_bs_accumulate_load(i < w->n ? w : x, i < w->n ? i : i - w->n, v + i * k, e + i * k);
    for (size_t i = 0; i < x->n * w->n; i++) {
        const size_t c = i % w->n * k, t = (w->n + i / w->n) * k;
        sum[i] = (float)sq_sum(r, v + c, e + c, v + t, e + t, k, (double)sum[i], NULL, NULL);
    }
    free(v);
    free(e);
}
