// SPDX-License-Identifier: Apache-2.0
// Lists that grow at their end and need no capacity beside their length.
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_status.h"

// Room for one more element of nbytes after the first n of *list: more memory where n is 0 or a
// power of two. false without memory; the list is then as it was.
static inline bool sq_grow(void *list, size_t n, size_t nbytes)
{
    void *memory;
    if ((n & (n - 1)) != 0)
        return true;
    memcpy(&memory, list, sizeof memory);
    memory = realloc(memory, (n ? 2 * n : 1) * nbytes);
    if (memory)
        memcpy(list, &memory, sizeof memory);
    return memory != NULL;
}

// SQ_OK, or SQ_ERR_MEMORY for what the rest names: SQ_TRY(SQ_GROW(g->r, g->n, err, "records"));
#define SQ_GROW(list, n, err, ...) SQ_HAVE(sq_grow(&(list), (n), sizeof *(list)), err, __VA_ARGS__)
