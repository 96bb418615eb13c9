// SPDX-License-Identifier: Apache-2.0
// The order of numbers, for qsort().
#pragma once

// Ascending order of doubles that are numbers.
static inline int sq_by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
