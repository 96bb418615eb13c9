// SPDX-License-Identifier: Apache-2.0
// Sets the limits of tools, and notes where tools run without bubblewrap (sq_cli_tools.h).
#include "sim/cli/sq_cli_tools.h"

#include "sim/io/sq_confine.h"

#define AT(field) SQ_CLI_AT(struct sq_cli_tools, field), .group = SQ_CLI_OF_TOOLS
const struct sq_cli_row sq_cli_tools_rows[] = {
    SQ_CLI_UINT("tool-seconds", "N", 1, 604800, AT(seconds),
                "end a run of Yosys, OpenSTA, Verilator or the compiler after N seconds"),
    SQ_CLI_UINT("tool-memory", "MIB", 64, 16777216, AT(mib),
                "memory that one process of them may take", .unit = "MiB"),
    SQ_CLI_END};
#undef AT

struct sq_cli_tools sq_cli_tools_default(void)
{
    const struct sq_process_limits limits = sq_confine_limits();
    return (struct sq_cli_tools){limits.seconds, limits.nbytes_memory >> 20};
}

enum sq_status sq_cli_tools_end(void *tools, struct sq_error *err)
{
    const struct sq_cli_tools *in = tools;
    struct sq_process_limits limits = sq_confine_limits();
    (void)err;
    limits.seconds = in->seconds;
    limits.nbytes_memory = in->mib << 20;
    sq_confine_set_limits(&limits);
    return SQ_OK;
}

static void say_missing(void)
{
    sq_cli_progress_end();
    fprintf(stderr, "sqsim: bubblewrap (bwrap) does not run here: tools have limits of time and "
                    "memory, but see all files that you see, and the network\n");
}

void sq_cli_tools_note(void)
{
    sq_confine_on_missing(say_missing);
}
