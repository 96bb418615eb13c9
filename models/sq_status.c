// SPDX-License-Identifier: Apache-2.0
// Names the status codes and fills in struct sq_error (sq_status.h).
#include "models/sq_status.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    enum sq_status status;
    int refusal; // SPEC O.2, 0 = none
    const char *name;
} table[] = {
    {SQ_OK, 0, "ok"},
    {SQ_ERR_ARG, 0, "argument"},
    {SQ_ERR_SHAPE, 1, "shape"},
    {SQ_ERR_UNSUPPORTED, 12, "unsupported parameter"},
    {SQ_ERR_STREAM_LEN, 2, "stream length"},
    {SQ_ERR_PADDING, 3, "padding"},
    {SQ_ERR_MASK_COUNT, 4, "mask count"},
    {SQ_ERR_CODE, 5, "illegal code"},
    {SQ_ERR_SCALE, 6, "bad scale"},
    {SQ_ERR_INDEX, 8, "index"},
    {SQ_ERR_OFFSETS, 9, "offsets"},
    {SQ_ERR_DAMAGED, 13, "damaged file"},
    {SQ_ERR_NON_FINITE, 7, "non-finite input"},
    {SQ_ERR_OVERFLOW, 10, "overflow"},
    {SQ_ERR_SINGULAR, 11, "singular Hessian"},
    {SQ_ERR_RANGE, 0, "range"},
    {SQ_ERR_MEMORY, 0, "out of memory"},
    {SQ_ERR_TOOL, 0, "missing tool"},
    {SQ_ERR_BUILD, 0, "build"},
    {SQ_ERR_IO, 0, "input/output"},
    {SQ_ERR_INTERNAL, 0, "internal"},
};

const char *sq_status_str(enum sq_status status)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].status == status)
            return table[i].name;
    return "unknown";
}

int sq_status_refusal(enum sq_status status)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].status == status)
            return table[i].refusal;
    return 0;
}

enum sq_status sq_error_set(struct sq_error *err, enum sq_status status, const char *file, int line,
                            const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = status;
        err->file = file;
        err->line = line;
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}
