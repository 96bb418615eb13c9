// SPDX-License-Identifier: Apache-2.0
// SQ_SKIP("no %s here", path): leaves the test, aloud. Not cmocka's skip(), which 1.1.7 prints as
// "not ok ... # SKIP": prove counts that as a failure.
#pragma once

#include <stdio.h>

#define SQ_SKIP(...)                                                                               \
    do {                                                                                           \
        printf("# skipped: " __VA_ARGS__);                                                         \
        putchar('\n');                                                                             \
        return;                                                                                    \
    } while (0)

// Leaves the test where this copy of the sources is without the room (make without).
#define SQ_NEED_ROOM(room)                                                                         \
    do {                                                                                           \
        if (sq_is_without(room))                                                                   \
            SQ_SKIP("no %s here", room);                                                           \
    } while (0)
