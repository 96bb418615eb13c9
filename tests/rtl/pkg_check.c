// SPDX-License-Identifier: Apache-2.0
// Writes a SystemVerilog module that refuses to elaborate where rtl/sq_pkg.sv and the C headers
// differ: every constant, and every width function on the values that its blocks use. pkg.t runs
// it.
#include <stdio.h>

#include "models/sq_array.h"
#include "models/sq_config.h"
#include "models/sq_topk.h"
#include "sim/block/sq_cause.h"
#include "sim/block/sq_core_sim.h"

static unsigned bits_of(uint64_t max)
{
    unsigned n = 0;
    for (; max > 0; max >>= 1)
        n++;
    return n;
}

static void require(const char *expression, unsigned value)
{
    printf("  if (%s != %u) begin : gen_bad\n    $error(\"%s is not %u\");\n  end\n", expression,
           value, expression, value);
}

static void constants(void)
{
    require("sq_pkg::GATHER_CROSSBAR", SQ_GATHER_CROSSBAR);
    require("sq_pkg::GATHER_LOG", SQ_GATHER_LOG);
    require("sq_pkg::TOPK_RANK", SQ_TOPK_RANK);
    require("sq_pkg::TOPK_RADIX", SQ_TOPK_RADIX);
    require("sq_pkg::FORMAT_DENSE", SQ_ARRAY_DENSE);
    require("sq_pkg::FORMAT_SENTINEL", SQ_ARRAY_SENTINEL);
    require("sq_pkg::FORMAT_SPLIT", SQ_ARRAY_SPLIT);
    require("sq_pkg::FORMAT_COMPACT", SQ_ARRAY_COMPACT);
    require("sq_pkg::FORMAT_SP24", SQ_ARRAY_SP24);
    require("sq_pkg::CAUSE_BUSY", SQ_CAUSE_BUSY);
    require("sq_pkg::CAUSE_FILLING", SQ_CAUSE_FILLING);
    require("sq_pkg::CAUSE_WAIT_ACT", SQ_CAUSE_WAIT_ACT);
    require("sq_pkg::CAUSE_WAIT_WEIGHT", SQ_CAUSE_WAIT_WEIGHT);
    require("sq_pkg::CAUSE_WAIT_HIGH", SQ_CAUSE_WAIT_HIGH);
    require("sq_pkg::CAUSE_WAIT_MASK", SQ_CAUSE_WAIT_MASK);
    require("sq_pkg::CAUSE_BLOCKED_OUTPUT", SQ_CAUSE_BLOCKED_OUTPUT);
    require("sq_pkg::CAUSE_DRAINING", SQ_CAUSE_DRAINING);
    require("sq_pkg::N_CAUSES", SQ_N_CAUSES);
    require("sq_pkg::CAUSE_W", bits_of(SQ_N_CAUSES - 1));
    require("sq_pkg::COUNT_W", 8 * sizeof(uint32_t)); // as sq_rtl.h reads them
    require("sq_pkg::GROUP_BANKS_W", bits_of(SQ_JOB_GROUP_BANKS_MAX));
    require("sq_pkg::GROUPS_W", bits_of(SQ_JOB_GROUPS_MAX));
}

static void functions(void)
{
    char text[96];
    for (unsigned format = SQ_ARRAY_DENSE; format <= SQ_ARRAY_SP24; format++)
        for (unsigned bank = 4; bank <= 128; bank *= 2)
            for (unsigned k = 1; k < bank; k = 2 * k + 1) {
                const struct sq_array_config c = {
                    .format = (enum sq_array_format)format, .bank = bank, .high_per_bank = k};
                const unsigned mask_len = sq_array_mask_len(&c);
                snprintf(text, sizeof text, "sq_pkg::low_lanes(%u, %u, %u)", format, bank, k);
                require(text, sq_array_low_lanes(&c));
                // A nibble of 2:4 metadata is one value in C; no mask is one unused bit in RTL.
                snprintf(text, sizeof text, "sq_pkg::mask_w(%u, %u)", format, bank);
                if (format == SQ_ARRAY_SP24)
                    require(text, 4 * mask_len);
                else if (format == SQ_ARRAY_SPLIT || format == SQ_ARRAY_COMPACT)
                    require(text, mask_len);
            }
    for (unsigned lanes = 1; lanes <= 128; lanes = 2 * lanes + 1)
        for (unsigned bank = 4; bank <= 128; bank *= 2) {
            const struct sq_core_config c = {.bank = bank, .low_lanes = lanes};
            snprintf(text, sizeof text, "sq_pkg::ceil_div(%u, %u)", bank, lanes);
            require(text, sq_core_low_steps(&c));
        }
    for (unsigned n = 2; n <= 129; n++) {
        snprintf(text, sizeof text, "sq_pkg::index_w(%u)", n);
        require(text, bits_of(n - 1));
    }
    require("sq_pkg::index_w(1)", 1);
}

int main(void)
{
    printf("module pkg_check;\n");
    constants();
    functions();
    printf("endmodule\n");
    return 0;
}
