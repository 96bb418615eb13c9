// SPDX-License-Identifier: Apache-2.0
// A quantity as people write it: a decimal number, blanks, a unit ("1.41 GHz", "256 KiB"). The unit
// is never optional: a bare number is refused.
#pragma once

#include "models/sq_status.h"

enum sq_dimension {
    SQ_DIM_FREQUENCY,  // Hz kHz MHz GHz             -> Hz
    SQ_DIM_TIME,       // ns us ms s                 -> ns
    SQ_DIM_SIZE,       // B KiB MiB GiB kB MB GB     -> bytes
    SQ_DIM_RATE,       // B/s kB/s MB/s GB/s TB/s    -> bytes per second
    SQ_DIM_BIT_ENERGY, // fJ/bit pJ/bit             -> pJ/bit
    SQ_DIM_BIT_POWER,  // fW/bit pW/bit nW/bit      -> pW/bit
};

// Refuses what is no number, a missing or unknown unit (with the known ones), and a value outside
// [min, max] of the base unit: "clock = 0 GHz, need 1e+06..1e+10 Hz". `what` names the field.
enum sq_status sq_quantity_parse(const char *what, const char *text, enum sq_dimension dimension,
                                 double min, double max, double *value, struct sq_error *err);
