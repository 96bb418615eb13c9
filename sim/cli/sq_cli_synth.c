// SPDX-License-Identifier: Apache-2.0
// Opens the synthesis with the default library, and says which package has that library
// (sq_cli_synth.h).
#include "sim/cli/sq_cli_synth.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/cli/sq_cli.h"

enum sq_status sq_cli_synth_open(struct sq_synth *synth, const char *liberty, struct sq_error *err)
{
    if (!liberty && access(SQ_CLI_LIBERTY, R_OK) != 0)
        return SQ_FAIL(err, SQ_ERR_TOOL,
                       "%s is missing; Debian has it in package qflow-tech-osu018, or name another "
                       "library with --liberty",
                       SQ_CLI_LIBERTY);
    return sq_synth_open(synth, sq_cli_home_path("rtl"), liberty ? liberty : SQ_CLI_LIBERTY,
                         sq_cli_cache_path("synth"), err);
}

const char *sq_cli_synth_wires(const struct sq_synth *synth)
{
    static char text[SQ_LIB_NAME_LEN + 64];
    const char *load = sq_synth_wire_load(synth);
    if (synth->on_area)
        return "placed wires";
    if (!load)
        return "no wires";
    snprintf(text, sizeof text, "the wire load %s of the library on every net, no placed wires",
             sq_cli_text(load));
    return text;
}

static void show(void *context, const struct sq_synth_block *block)
{
    static atomic_uint n;
    char text[96];
    snprintf(text, sizeof text, "synthesis %u: %.60s", 1 + atomic_fetch_add(&n, 1), block->top);
    sq_cli_stage(context, text);
}

void sq_cli_synth_show(struct sq_synth *synth, const char *command)
{
    synth->on_start = show;
    synth->context = (void *)(uintptr_t)command;
}
