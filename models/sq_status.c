// SPDX-License-Identifier: Apache-2.0
// Names the status codes and fills in struct sq_error (sq_status.h).
#include "models/sq_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const name[] = {
    [SQ_OK] = "ok",
    [SQ_ERR_ARG] = "argument",
    [SQ_ERR_SHAPE] = "shape",
    [SQ_ERR_UNSUPPORTED] = "unsupported parameter",
    [SQ_ERR_STREAM_LEN] = "stream length",
    [SQ_ERR_PADDING] = "padding",
    [SQ_ERR_MASK_COUNT] = "mask count",
    [SQ_ERR_CODE] = "illegal code",
    [SQ_ERR_SCALE] = "bad scale",
    [SQ_ERR_INDEX] = "index",
    [SQ_ERR_OFFSETS] = "offsets",
    [SQ_ERR_DAMAGED] = "damaged file",
    [SQ_ERR_NON_FINITE] = "non-finite input",
    [SQ_ERR_OVERFLOW] = "overflow",
    [SQ_ERR_SINGULAR] = "singular Hessian",
    [SQ_ERR_RANGE] = "range",
    [SQ_ERR_MEMORY] = "out of memory",
    [SQ_ERR_TOOL] = "missing tool",
    [SQ_ERR_BUILD] = "build",
    [SQ_ERR_IO] = "input/output",
    [SQ_ERR_INTERNAL] = "internal",
};

const char *sq_status_str(enum sq_status status)
{
    const size_t i = (size_t)status;
    return i < sizeof name / sizeof name[0] && name[i] ? name[i] : "unknown";
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

void sq_free_at(const void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}
