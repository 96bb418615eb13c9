// SPDX-License-Identifier: Apache-2.0
// The time of the vector unit (SPEC R.4), for its own cycle model and for machines.
#pragma once

// What a model computes element by element.
enum sq_vector_op {
    SQ_VECTOR_NORM,
    SQ_VECTOR_ROTARY,
    SQ_VECTOR_SOFTMAX,
    SQ_VECTOR_GATE, // activation of the MLP, times the other half where it has one
    SQ_VECTOR_ADD,  // to the residual stream
    SQ_N_VECTOR_OPS
};
const char *sq_vector_op_name(enum sq_vector_op op);

// Phases of an operation: passes over a row and single beats (sq_vector.h), each of which needs the results of the
// one before. `sums` of the passes add what they yield. A row whose passes several units share needs a further beat
// for each value that it is reduced to.
struct sq_vector_phases {
    unsigned passes, singles, sums, reductions;
};
extern const struct sq_vector_phases sq_vector_phases[SQ_N_VECTOR_OPS];

// Cycles from a beat's entry to its result, on 1, 2, 4, .. lanes: product, sum, six stages of the function, a stage
// for each halving of the lanes, the beats before. A beat enters in every cycle.
unsigned sq_vector_latency(unsigned lanes);
// With Cut, as chips and machines have it: product, sum and each halving four stages, the function nine.
unsigned sq_vector_cut_latency(unsigned lanes);

// Operations of a lane for rows of n elements.
double sq_vector_operations(enum sq_vector_op op, double rows, double n);

// Lanes of the largest unit, so many of which make `lanes`: a power of two, at most SQ_VECTOR_LANES_MAX.
unsigned sq_vector_unit_lanes(unsigned lanes);

// Cycles of an operation on rows >= 1 of n >= 1 elements, on `units` units of `lanes` lanes with Cut and with operands
// that never wait. Phase by phase: the first beat of a phase enters in the cycle after the last result of the one
// before, and a beat that is added to those before it in its row takes two cycles. Rows
// are spread over the units; where there are fewer, each row is cut into equal parts, into as many as lanes at most
// where it is reduced.
double sq_vector_cycles(enum sq_vector_op op, unsigned lanes, double units, double rows, double n);
