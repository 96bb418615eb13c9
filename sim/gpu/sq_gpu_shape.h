// SPDX-License-Identifier: Apache-2.0
// An index of records by shape, so that what is measured of a shape is found without a walk over
// all records.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Where a record of this shape stands in its array.
struct sq_gpu_place {
    uint64_t m, n, k;
    size_t at;
};

// By M, N, K, then `at`.
void sq_gpu_places_sort(struct sq_gpu_place *place, size_t n);

// The first of *count places of a shape in a sorted array, by ascending `at`; NULL and 0 where
// there are none. O(log n).
const struct sq_gpu_place *sq_gpu_places_find(const struct sq_gpu_place *place, size_t n,
                                              const struct sq_gpu_place *shape, size_t *count);
