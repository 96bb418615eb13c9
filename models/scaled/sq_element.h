// SPDX-License-Identifier: Apache-2.0
// The elements of the block-scaled formats (SPEC Q.1): small floats, and signed integers of 4, 5
// and 8 bits. A code is an unsigned byte that holds exactly the element's bits; integers are two's
// complement, -qmax..qmax, their lowest pattern is the code of no value.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "models/number/sq_fp.h"

enum sq_element {
    SQ_ELEMENT_E2M1 = SQ_FP_E2M1,
    SQ_ELEMENT_E2M3 = SQ_FP_E2M3,
    SQ_ELEMENT_E3M2 = SQ_FP_E3M2,
    SQ_ELEMENT_E4M3 = SQ_FP_E4M3,
    SQ_ELEMENT_E5M2 = SQ_FP_E5M2,
    SQ_ELEMENT_INT4,   // -7..7
    SQ_ELEMENT_INT5,   // -15..15
    SQ_ELEMENT_INT8,   // -127..127
    SQ_ELEMENT_MXINT8, // -127/64..127/64 in steps of 1/64: 1.6 fixed point of OCP MX
    SQ_ELEMENTS
};

// An element as the integer that hardware multiplies: the element is that integer times
// 2^-fraction. rtl/sq_pkg.sv has the same numbers for the elements that have RTL.
struct sq_element_type {
    const char *name;
    unsigned bits;     // of a code
    unsigned fraction; // E2M1 is counted in halves: 1
    uint32_t most;     // the largest integer: 12 of E2M1, 7 of INT4
    uint32_t lowest;   // the largest magnitude of any code: 12 of E2M1, 8 of INT4
    bool is_int;       // two's complement; else a sign above the magnitude, so that zero has two
};
const struct sq_element_type *sq_element_type(enum sq_element e);

const char *sq_element_name(enum sq_element e); // "e2m1", "int4", "mxint8", ...
unsigned sq_element_bits(enum sq_element e);
float sq_element_max(enum sq_element e); // the largest magnitude
int sq_element_emax(enum sq_element e);  // floor(log2) of it: 2, 2, 4, 8, 15, 2, 3, 6, 0
bool sq_element_is_int(enum sq_element e);

// Nearest, ties to even, saturating; float zeros keep their sign. x is finite.
uint8_t sq_element_encode(enum sq_element e, float x);
// Exact; NaN or infinite for a code that sq_element_is_number denies, but for the lowest integer.
float sq_element_decode(enum sq_element e, uint8_t code);
// The code of -v for the code of v; of the lowest pattern of integers that of the largest.
uint8_t sq_element_negative(enum sq_element e, uint8_t code);
// Whether the byte is the code of a value: no bits above it, no NaN, no infinity, not -qmax - 1.
bool sq_element_is_number(enum sq_element e, uint8_t code);

// Exact floor(log2 |x|), from the exponent field and below it from the leading one. x is not 0.
int sq_floor_log2(float x);
