// SPDX-License-Identifier: Apache-2.0
// The order among records: places by shape, numbers of shapes, repeats; and what is left aside.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/gpu/sq_gpu_records.h"

void sq_gpu_leave(struct sq_gpu_lefts *left, unsigned line, const char *format, ...)
{
    struct sq_gpu_left item = {.n = 1, .line = line};
    va_list args;
    va_start(args, format);
    vsnprintf(item.reason, sizeof item.reason, format, args);
    va_end(args);
    for (size_t i = 0; i < left->n; i++)
        if (strcmp(left->item[i].reason, item.reason) == 0) {
            left->item[i].n++;
            return;
        }
    if (left->n < SQ_GPU_LEFT_MAX)
        left->item[left->n++] = item;
    else
        left->more++;
}

// What looks at all records of a shape for each of them stays linear in the file.
static enum sq_status check_repeats(const struct sq_gpu_place *place, size_t n,
                                    struct sq_error *err)
{
    for (size_t i = SQ_GPU_OF_SHAPE_MAX; i < n; i++) {
        const struct sq_gpu_place *p = &place[i], *first = &place[i - SQ_GPU_OF_SHAPE_MAX];
        if (p->m == first->m && p->n == first->n && p->k == first->k)
            return SQ_FAIL(err, SQ_ERR_RANGE,
                           "more than %d records of shape %llu x %llu x %llu, need fewer",
                           SQ_GPU_OF_SHAPE_MAX, (unsigned long long)p->m, (unsigned long long)p->n,
                           (unsigned long long)p->k);
    }
    return SQ_OK;
}

static enum sq_status index_shapes(struct sq_gpu_records *g, struct sq_error *err)
{
    g->place = calloc(g->n + 1, sizeof *g->place);
    g->format_place = calloc(g->n_formats + 1, sizeof *g->format_place);
    SQ_NEED(g->place && g->format_place, err, "%zu records", g->n + g->n_formats);
    for (size_t i = 0; i < g->n; i++) {
        const struct sq_gpu_gemm *x = &g->r[i].gemm;
        g->place[i] = (struct sq_gpu_place){x->m, x->n, x->k, i};
    }
    for (size_t i = 0; i < g->n_formats; i++) {
        const struct sq_gpu_format_record *x = &g->format[i];
        g->format_place[i] = (struct sq_gpu_place){x->m, x->n, x->k, i};
    }
    sq_gpu_places_sort(g->place, g->n);
    sq_gpu_places_sort(g->format_place, g->n_formats);
    SQ_TRY(check_repeats(g->place, g->n, err));
    return check_repeats(g->format_place, g->n_formats, err);
}

static bool same_kind(const struct sq_gpu_gemm *a, const struct sq_gpu_gemm *b)
{
    return a->dtype == b->dtype && a->is_sparse == b->is_sparse && a->is_cold == b->is_cold &&
           a->out_nbytes == b->out_nbytes && a->low_share == b->low_share &&
           a->low_dtype == b->low_dtype && a->weight_bits == b->weight_bits &&
           a->timed == b->timed && a->is_alone == b->is_alone;
}

// Whether another record of the same shape and kind is faster, or equal and before.
static bool is_repeat(const struct sq_gpu_records *g, size_t i)
{
    const struct sq_gpu_record *r = &g->r[i];
    size_t count;
    const struct sq_gpu_place *place = sq_gpu_places_find(
        g->place, g->n, &(struct sq_gpu_place){r->gemm.m, r->gemm.n, r->gemm.k, 0}, &count);
    for (size_t j = 0; j < count; j++) {
        const struct sq_gpu_record *x = &g->r[place[j].at];
        if (x != r && same_kind(&x->gemm, &r->gemm) &&
            (x->seconds < r->seconds || (x->seconds == r->seconds && x < r)))
            return true;
    }
    return false;
}

// Numbers the shapes in order of appearance: a record has a new number where it is the first of its
// shape, else that of the first.
enum sq_status sq_gpu_records_number(struct sq_gpu_records *g, struct sq_error *err)
{
    SQ_TRY(index_shapes(g, err));
    size_t n = 0;
    SQ_FREED size_t *number = calloc(g->n + 1, sizeof *number);
    SQ_NEED(number, err, "%zu records", g->n);
    for (size_t i = 0; i < g->n; i++) {
        size_t count;
        const struct sq_gpu_gemm *x = &g->r[i].gemm;
        const size_t first =
            sq_gpu_places_find(g->place, g->n, &(struct sq_gpu_place){x->m, x->n, x->k, 0}, &count)
                ->at;
        number[i] = first == i ? n++ : number[first];
        g->r[i].is_calibration = number[i] % 10 == 3;
        g->r[i].is_repeat = is_repeat(g, i);
        if (g->r[i].is_repeat)
            sq_gpu_leave(&g->left, g->r[i].line,
                         "repeated: the fastest of a shape and kind counts");
    }
    return SQ_OK;
}
