// SPDX-License-Identifier: Apache-2.0
// Every device that comes with sqsim, and a memory of it.
#pragma once

#include "sim/dram/sq_dram.h"
#include "tests/unit/fixture.h"

// Calls with every device that comes with sqsim, both ends.
static inline void for_devices(void (*call)(const struct sq_dram_device *d))
{
    unsigned n = 0;
    for (unsigned i = 0; sq_dram_device_names[i]; i++)
        for (unsigned end = SQ_DRAM_FAST; end <= SQ_DRAM_SLOW; end++) {
            struct sq_dram_device d;
            struct sq_error err;
            if (sq_dram_device_named(sq_dram_device_names[i], end, &d, &err) != SQ_OK)
                fail_msg("%s", err.text);
            if (end == SQ_DRAM_FAST || d.is_range)
                call(&d), n++;
        }
    assert_true(n >= 9);
}

// A test of every device `d`.
#define TEST_OF_DEVICES(name)                                                                      \
    static void name##_of(const struct sq_dram_device *d);                                         \
    SQ_TEST(name)                                                                                  \
    {                                                                                              \
        for_devices(name##_of);                                                                    \
    }                                                                                              \
    static void name##_of(const struct sq_dram_device *d)

static inline struct sq_dram_device device_of(const char *name)
{
    struct sq_dram_device d;
    assert_ok(sq_dram_device_named(name, SQ_DRAM_FAST, &d, NULL));
    return d;
}

static inline struct sq_dram_setup setup_of(const struct sq_dram_device *d,
                                            const struct sq_dram_options *o)
{
    struct sq_dram_setup s;
    struct sq_error err;
    if (sq_dram_setup_init(d, o, &s, &err) != SQ_OK)
        fail_msg("%s", err.text);
    return s;
}
