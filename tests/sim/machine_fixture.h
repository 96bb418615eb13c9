// SPDX-License-Identifier: Apache-2.0
// Shared by the tests that put jobs of machines on verilated RTL.
#pragma once

#include "sim/cosim/sq_rtl_build.h"
#include "sim/machine/sq_machine.h"
#include "tests/unit/fixture.h"

// Cores of this size behind a DRAM of any speed, buffers that hold what tests have.
static inline struct sq_machine small_machine(struct sq_rng *r, const struct sq_core_config *core)
{
    struct sq_machine m = {.name = "random", .clock_hz = 1e9, .cores = 1 + sq_rng_below(r, 2)};
    m.core = *core;
    m.act_nbytes = m.weight_nbytes = m.out_nbytes = 1 << 20;
    m.dram_bytes_per_s = 1e9 * (1 + sq_rng_below(r, 100));
    m.burst_nbytes = 64;
    sq_machine_derive(&m);
    return m;
}

// False where no Verilator is.
static inline bool load_rtl(struct sq_rtl *rtl, const struct sq_block *block,
                            const struct sq_point *point)
{
    const struct sq_rtl_point at = {.block = block, .point = point};
    struct sq_error err = {.text = ""};
    const char *home = getenv("SQSIM_HOME");
    bool built;
    const enum sq_status status = sq_rtl_load(rtl, &at, home ? home : ".", &built, &err);
    if (status == SQ_ERR_TOOL)
        return false;
    CHECK_EQ(status, SQ_OK, "%s\n", err.text);
    return true;
}
