// SPDX-License-Identifier: Apache-2.0
// Sorts records by shape, and finds those of a shape by halving (sq_gpu_shape.h).
#include "sim/gpu/sq_gpu_shape.h"

#include <stdbool.h>
#include <stdlib.h>

static int by_shape(const struct sq_gpu_place *a, const struct sq_gpu_place *b)
{
    if (a->m != b->m)
        return a->m < b->m ? -1 : 1;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return a->k == b->k ? 0 : a->k < b->k ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
    const struct sq_gpu_place *x = a, *y = b;
    const int order = by_shape(x, y);
    return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

void sq_gpu_places_sort(struct sq_gpu_place *place, size_t n)
{
    if (n > 0)
        qsort(place, n, sizeof *place, by_place);
}

// How many places are before the shape, or with it: not after it.
static size_t lower(const struct sq_gpu_place *place, size_t n, const struct sq_gpu_place *shape,
                    bool with)
{
    size_t begin = 0, end = n;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        const int order = by_shape(&place[middle], shape);
        if (order < 0 || (with && order == 0))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

const struct sq_gpu_place *sq_gpu_places_find(const struct sq_gpu_place *place, size_t n,
                                              const struct sq_gpu_place *shape, size_t *count)
{
    const size_t first = lower(place, n, shape, false);
    *count = lower(place, n, shape, true) - first;
    return *count ? &place[first] : NULL;
}
