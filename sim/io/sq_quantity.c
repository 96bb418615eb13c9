// SPDX-License-Identifier: Apache-2.0
// Parses a number with its unit (sq_quantity.h).
#include "sim/io/sq_quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    double factor;
};

static const struct {
    const char *base, *known;
    struct unit unit[8];
} dimensions[] = {
    [SQ_DIM_FREQUENCY] = {"Hz",
                          "Hz, kHz, MHz or GHz",
                          {{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}}},
    [SQ_DIM_TIME] = {"ns", "ns, us, ms or s", {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}},
    [SQ_DIM_SIZE] = {"B",
                     "B, KiB, MiB, GiB, kB, MB or GB",
                     {{"B", 1},
                      {"KiB", 1024},
                      {"MiB", 1048576},
                      {"GiB", 1073741824},
                      {"kB", 1e3},
                      {"MB", 1e6},
                      {"GB", 1e9}}},
    [SQ_DIM_RATE] = {"B/s",
                     "B/s, kB/s, MB/s, GB/s or TB/s",
                     {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}}},
    [SQ_DIM_BIT_ENERGY] = {"pJ/bit", "fJ/bit or pJ/bit", {{"fJ/bit", 1e-3}, {"pJ/bit", 1}}},
    [SQ_DIM_BIT_POWER] = {"pW/bit",
                          "fW/bit, pW/bit or nW/bit",
                          {{"fW/bit", 1e-3}, {"pW/bit", 1}, {"nW/bit", 1e3}}},
};

enum sq_status sq_quantity_parse(const char *what, const char *text, enum sq_dimension dimension,
                                 double min, double max, double *value, struct sq_error *err)
{
    char *end;
    const double number = strtod(text, &end);
    if (text[0] == '\0' || !strchr("+-.0123456789", text[0]) || end == text || !isfinite(number))
        return SQ_FAIL(err, SQ_ERR_ARG, "%s = %.40s, need a number and a unit (%s)", what, text,
                       dimensions[dimension].known);
    while (*end == ' ')
        end++;
    const struct unit *u = dimensions[dimension].unit;
    while (u->name && strcmp(u->name, end) != 0)
        u++;
    if (!u->name)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s = %.40s, need a unit: %s", what, text,
                       dimensions[dimension].known);
    *value = number * u->factor;
    if (!(*value >= min && *value <= max))
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s = %.40s, need %g..%g %s", what, text, min, max,
                       dimensions[dimension].base);
    return SQ_OK;
}
