// SPDX-License-Identifier: Apache-2.0
#include "models/sq_element.h"

#include <math.h>

#include "models/sq_bits.h"

enum { MXINT8_POINT = 6 }; // fraction bits

static enum sq_fp fp_of(enum sq_element e)
{
    return (enum sq_fp)e;
}

const char *sq_element_name(enum sq_element e)
{
    static const char *const name[SQ_ELEMENTS] = {"e2m1", "e2m3", "e3m2", "e4m3",  "e5m2",
                                                  "int4", "int5", "int8", "mxint8"};
    return name[e];
}

bool sq_element_is_int(enum sq_element e)
{
    return e >= SQ_ELEMENT_INT4;
}

unsigned sq_element_bits(enum sq_element e)
{
    return !sq_element_is_int(e)  ? sq_fp_bits(fp_of(e))
           : e == SQ_ELEMENT_INT4 ? 4
           : e == SQ_ELEMENT_INT5 ? 5
                                  : 8;
}

// Of integers: the number of steps that a code counts.
static int qmax(enum sq_element e)
{
    return (1 << (sq_element_bits(e) - 1)) - 1;
}

float sq_element_max(enum sq_element e)
{
    if (!sq_element_is_int(e))
        return sq_fp_max(fp_of(e));
    return ldexpf((float)qmax(e), e == SQ_ELEMENT_MXINT8 ? -MXINT8_POINT : 0);
}

int sq_floor_log2(float x)
{
    int exponent;
    (void)frexpf(x, &exponent);
    return exponent - 1;
}

int sq_element_emax(enum sq_element e)
{
    return sq_floor_log2(sq_element_max(e));
}

uint8_t sq_element_encode(enum sq_element e, float x)
{
    if (!sq_element_is_int(e))
        return sq_fp_encode(fp_of(e), x);
    const float steps = e == SQ_ELEMENT_MXINT8 ? ldexpf(x, MXINT8_POINT) : x; // exact, or huge
    const float most = (float)qmax(e), q = rintf(steps);
    const int clamped = (int)(q > most ? most : q < -most ? -most : q);
    return (uint8_t)((unsigned)clamped & ((1u << sq_element_bits(e)) - 1));
}

float sq_element_decode(enum sq_element e, uint8_t code)
{
    if (!sq_element_is_int(e))
        return sq_fp_decode(fp_of(e), code);
    const float q = (float)sq_sign_extend(code, sq_element_bits(e));
    return e == SQ_ELEMENT_MXINT8 ? ldexpf(q, -MXINT8_POINT) : q;
}

bool sq_element_is_number(enum sq_element e, uint8_t code)
{
    if (!sq_element_is_int(e))
        return sq_fp_is_number(fp_of(e), code);
    const unsigned bits = sq_element_bits(e);
    return code >> (bits - 1) <= 1 && code != 1u << (bits - 1);
}
