// SPDX-License-Identifier: Apache-2.0
// What the quantizer of a group of SpQR costs, with all of its values and without each of them.
// Internal to models/quant/.
#pragma once

#include <stddef.h>

#include "models/spqr/sq_spqr.h"

enum { SQ_SPQR_TOP = 7 }; // largest code

// The nearest code, ties to even: clamped before it is rounded, which is the same, so that adding
// 1.5 * 2^52 rounds it.
static inline double sq_spqr_rounded_code(double r)
{
    const double magic = 0x1.8p52;
    r = r > 0 ? r : 0;
    r = r < SQ_SPQR_TOP ? r : SQ_SPQR_TOP;
    return (r + magic) - magic;
}

// The smaller number; of equal ones the second, as the instruction minsd has it.
static inline double sq_spqr_least(double a, double b)
{
    return a < b ? a : b;
}

static inline double sq_spqr_most(double a, double b)
{
    return a > b ? a : b;
}

// sum ((w^ - w) / U_jj)^2 of n <= SQ_SPQR_TILE values under a quantizer of their own, ascending:
// error[SQ_SPQR_ALL] of all, error[i] of the others without value i; places behind n are no errors.
enum { SQ_SPQR_ALL = SQ_SPQR_TILE, SQ_SPQR_ERRORS = SQ_SPQR_TILE + 8 }; // whole vectors
void sq_spqr_errors(const double *v, const double *u, size_t n, double error[SQ_SPQR_ERRORS]);
