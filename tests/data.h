// SPDX-License-Identifier: Apache-2.0
// Files that others made (docs/data.md): below the folder that SQ_DATA names.
#pragma once

#include <stdio.h>
#include <stdlib.h>

// The path of `name` in SQ_DATA, written into `path` and returned. Where SQ_DATA is not set, it is
// a path that does not exist.
static inline const char *test_data(const char *name, char path[512])
{
    const char *folder = getenv("SQ_DATA");
    snprintf(path, 512, "%s/%s", folder && *folder ? folder : "/SQ_DATA is not set", name);
    return path;
}
