// SPDX-License-Identifier: Apache-2.0
// Counts rows that are left aside, and keeps the first line of each reason (sq_gpu_left.h).
#include "sim/gpu/sq_gpu_left.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sq_gpu_leave(struct sq_gpu_lefts *left, unsigned line, const char *format, ...)
{
    struct sq_gpu_left item = {.n = 1, .line = line};
    va_list args;
    va_start(args, format);
    vsnprintf(item.reason, sizeof item.reason, format, args);
    va_end(args);
    for (size_t i = 0; i < left->n; i++)
        if (strcmp(left->item[i].reason, item.reason) == 0) {
            left->item[i].n++;
            return;
        }
    if (left->n < SQ_GPU_LEFT_MAX)
        left->item[left->n++] = item;
    else
        left->more++;
}
