// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sq_cli_tools.h"

#include <errno.h>
#include <stdio.h>

#include "sim/cli/sq_cli.h"
#include "sim/io/sq_confine.h"

enum { KEY_SECONDS = 0x2600, KEY_MEMORY, MAX_SECONDS = 604800, MAX_MIB = 16777216 };

static const struct argp_option options[] = {
    {"tool-seconds", KEY_SECONDS, "N", 0,
     "end a run of Yosys, OpenSTA, Verilator or the compiler after N seconds, 1..604800 (3600)", 4},
    {"tool-memory", KEY_MEMORY, "MIB", 0,
     "memory that one process of them may take, 64..16777216 MiB (8192)", 4},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sq_error *err = state->input;
    struct sq_process_limits limits = sq_confine_limits();
    enum sq_status status = SQ_OK;
    uint64_t v;
    switch (key) {
    case KEY_SECONDS:
        status = sq_cli_uint("--tool-seconds", arg, 1, MAX_SECONDS, &v, err);
        if (status == SQ_OK)
            limits.seconds = (unsigned)v;
        break;
    case KEY_MEMORY:
        status = sq_cli_uint("--tool-memory", arg, 64, MAX_MIB, &v, err);
        if (status == SQ_OK)
            limits.nbytes_memory = v << 20;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    if (status == SQ_OK)
        sq_confine_set_limits(&limits);
    return status == SQ_OK ? 0 : EINVAL;
}

const struct argp sq_cli_tools_argp = {.options = options, .parser = parse};

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
