// SPDX-License-Identifier: Apache-2.0
// Modules of RTL that a format is priced by (`sqsim area --units-of`; struct sq_format_cost).
#pragma once

#include <stdio.h>

#include "sim/block/flow/sq_block.h"

// A module with its parameters, and the source that it has in place of one of rtl/ (struct sq_block).
enum { SQ_FORMAT_UNITS = 3 };
struct sq_format_unit {
    char name[48]; // "pe_mixfp4"
    struct sq_area_unit area;
    const char *(*source)(const unsigned *value, FILE *out);
    unsigned value[SQ_POINT_VALUES];
};
