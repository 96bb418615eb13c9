// SPDX-License-Identifier: Apache-2.0
// The time of the vector unit, for its cycle model and for machines: beats of a row and latency.
#ifndef SQ_VECTOR_TIME_H
#define SQ_VECTOR_TIME_H

// Cycles from a beat's entry to its result, on 1, 2, 4, .. lanes: product, sum, six stages of the function, a stage
// for each halving of the lanes, the beats before. A beat enters in every cycle.
static inline unsigned sq_vector_latency(unsigned lanes)
{
    unsigned n = 9;
    for (; lanes > 1; lanes /= 2)
        n++;
    return n;
}

#endif
