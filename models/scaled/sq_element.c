// SPDX-License-Identifier: Apache-2.0
// Holds the table of element types, and encodes and decodes their codes (sq_element.h).
#include "models/scaled/sq_element.h"

#include <math.h>

#include "models/number/sq_bits.h"

static const struct sq_element_type table[SQ_ELEMENTS] = {
    [SQ_ELEMENT_E2M1] = {"e2m1", 4, 1, 12, 12, false},
    [SQ_ELEMENT_E2M3] = {"e2m3", 6, 3, 60, 60, false},
    [SQ_ELEMENT_E3M2] = {"e3m2", 6, 4, 448, 448, false},
    [SQ_ELEMENT_E4M3] = {"e4m3", 8, 9, 448u << 9, 448u << 9, false},
    [SQ_ELEMENT_E5M2] = {"e5m2", 8, 16, 57344u << 16, 57344u << 16, false},
    [SQ_ELEMENT_INT4] = {"int4", 4, 0, 7, 8, true},
    [SQ_ELEMENT_INT5] = {"int5", 5, 0, 15, 16, true},
    [SQ_ELEMENT_INT8] = {"int8", 8, 0, 127, 128, true},
    [SQ_ELEMENT_MXINT8] = {"mxint8", 8, 6, 127, 128, true},
};

const struct sq_element_type *sq_element_type(enum sq_element e)
{
    return &table[e];
}

static enum sq_fp fp_of(enum sq_element e)
{
    return (enum sq_fp)e;
}

const char *sq_element_name(enum sq_element e)
{
    return table[e].name;
}

bool sq_element_is_int(enum sq_element e)
{
    return table[e].is_int;
}

unsigned sq_element_bits(enum sq_element e)
{
    return table[e].bits;
}

float sq_element_max(enum sq_element e)
{
    return ldexpf((float)table[e].most, -(int)table[e].fraction);
}

uint8_t sq_element_negative(enum sq_element e, uint8_t code)
{
    const unsigned sign = 1u << (table[e].bits - 1), mask = 2 * sign - 1;
    return (uint8_t)(!table[e].is_int ? code ^ sign : code == sign ? sign - 1 : -code & mask);
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
    const float steps = x * (float)(1 << table[e].fraction); // exact, or huge
    const float most = (float)table[e].most, q = rintf(steps);
    const int clamped = (int)(q > most ? most : q < -most ? -most : q);
    return (uint8_t)((unsigned)clamped & ((1u << sq_element_bits(e)) - 1));
}

float sq_element_decode(enum sq_element e, uint8_t code)
{
    if (!sq_element_is_int(e))
        return sq_fp_decode(fp_of(e), code);
    return (float)sq_sign_extend(code, table[e].bits) / (float)(1 << table[e].fraction);
}

bool sq_element_is_number(enum sq_element e, uint8_t code)
{
    if (!sq_element_is_int(e))
        return sq_fp_is_number(fp_of(e), code);
    const unsigned bits = sq_element_bits(e);
    return code >> (bits - 1) <= 1 && code != 1u << (bits - 1);
}
