// SPDX-License-Identifier: Apache-2.0
// Moves one constant at a time (sq_gpu_search.h).
#include "sim/gpu/sq_gpu_search.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

// Each constant goes up or down by a step of its own, which grows where that helps and shrinks where
// neither does.
static double descend(const struct sq_gpu_search *s, double first, double last, double x[])
{
    double step[SQ_GPU_CONSTANTS_MAX], now = s->cost(s, x), longest = first;
    for (unsigned i = 0; i < s->n; i++)
        step[i] = first;
    while (longest > last) {
        for (unsigned i = 0; i < s->n; i++) {
            const double before = x[i];
            bool is_better = false;
            for (int side = 1; side >= -1 && !is_better && step[i] > last; side -= 2) {
                x[i] = before + side * step[i];
                const double then = s->cost(s, x);
                is_better = then < now - 1e-7;
                now = is_better ? then : now;
            }
            x[i] = is_better ? x[i] : before;
            step[i] *= is_better ? 1.3 : 0.5;
        }
        longest = 0;
        for (unsigned i = 0; i < s->n; i++)
            longest = fmax(longest, step[i]);
    }
    return now;
}

double sq_gpu_search(const struct sq_gpu_search *s, double x[])
{
    memcpy(x, s->start, s->n * sizeof *x);
    descend(s, 0.4, 0.02, x);
    return descend(s, 0.1, 0.003, x);
}

double sq_gpu_search_distance(const struct sq_gpu_search *s, const double x[])
{
    double sum = 0;
    for (unsigned i = 0; i < s->n; i++)
        sum += (x[i] - s->start[i]) * (x[i] - s->start[i]);
    return sum;
}

double sq_gpu_loss(double e)
{
    const double far = 0.5;
    return fabs(e) <= far ? fabs(e) : far * (1 + log(fabs(e) / far));
}
