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

bool sq_bs_accumulate(const struct sq_sum_rule *r, const struct sq_bs *w, const struct sq_bs *x,
                      double *sum)
{
    const size_t k = x->k, n = w->n, m = x->n;
    SQ_FREED double *const v = malloc(m * k * sizeof *v);
    SQ_FREED int16_t *const e = malloc(m * k * sizeof *e);
    bool is_out_of_memory = !v || !e;
    for (size_t t = 0; !is_out_of_memory && t < m; t++)
        sq_bs_accumulate_load(x, t, v + t * k, e + t * k);
#pragma omp parallel for schedule(dynamic, 8) if (n * m * k > 1 << 16)
    for (size_t row = 0; row < n; row++) {
        SQ_FREED double *const of_w = v && e ? malloc(k * sizeof *of_w) : NULL;
        SQ_FREED int16_t *const ew = malloc(k * sizeof *ew);
        const bool has_room = of_w && ew;
        if (has_room)
            sq_bs_accumulate_load(w, row, of_w, ew);
        for (size_t t = 0; has_room && t < m; t++) {
            double *const to = &sum[t * n + row];
            *to = sq_sum(r, of_w, ew, v + t * k, e + t * k, k, *to, NULL, NULL);
        }
        if (!has_room) {
#pragma omp atomic write
            is_out_of_memory = true;
        }
    }
    return !is_out_of_memory;
}
