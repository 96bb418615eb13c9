// SPDX-License-Identifier: Apache-2.0
// Counts the cycles of rows on vector units (sq_vector_time.h).
#include "sim/block/vector/sq_vector_time.h"

#include <math.h>

#include "models/vector/sq_vector.h"

const char *sq_vector_op_name(enum sq_vector_op op)
{
    static const char *const names[SQ_N_VECTOR_OPS] = {"norm", "rotary", "softmax", "gate", "add"};
    return names[op];
}

const struct sq_vector_phases sq_vector_phases[SQ_N_VECTOR_OPS] = {
    [SQ_VECTOR_NORM] = {3, 1, 1, 1}, [SQ_VECTOR_ROTARY] = {2}, [SQ_VECTOR_SOFTMAX] = {3, 1, 1, 2},
    [SQ_VECTOR_GATE] = {4},          [SQ_VECTOR_ADD] = {1},
};

static unsigned latency(unsigned lanes, unsigned of_lane, unsigned of_halving)
{
    for (; lanes > 1; lanes /= 2)
        of_lane += of_halving;
    return of_lane;
}

unsigned sq_vector_latency(unsigned lanes)
{
    return latency(lanes, 9, 1);
}

unsigned sq_vector_cut_latency(unsigned lanes)
{
    return latency(lanes, 18, 4);
}

double sq_vector_operations(enum sq_vector_op op, double rows, double n)
{
    return rows * (sq_vector_phases[op].passes * n + sq_vector_phases[op].singles);
}

unsigned sq_vector_unit_lanes(unsigned lanes)
{
    unsigned unit = 1;
    while (unit < SQ_VECTOR_LANES_MAX && lanes % (2 * unit) == 0)
        unit *= 2;
    return unit;
}

double sq_vector_cycles(enum sq_vector_op op, unsigned lanes, double units, double rows, double n)
{
    const struct sq_vector_phases *const p = &sq_vector_phases[op];
    double parts = rows < units ? floor(units / rows) : 1;
    if (p->reductions > 0 && parts > lanes)
        parts = lanes;
    const double pass = ceil(ceil(n / parts) / lanes), each = ceil(rows * parts / units);
    const double latency = sq_vector_cut_latency(lanes);
    return each * (p->passes * pass + p->sums * (pass - 1) + p->singles) +
           (p->passes + p->singles) * latency + (parts > 1 ? p->reductions * (1 + latency) : 0);
}
