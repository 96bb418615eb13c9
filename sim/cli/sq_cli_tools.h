// SPDX-License-Identifier: Apache-2.0
// --tool-seconds and --tool-memory: what the tools that a command runs may take (sq_confine.h).
#pragma once

#include "sim/cli/sq_cli_row.h"

// A part of a command's rows, SQ_CLI_TOOLS(AT(tools)); start from sq_cli_tools_default().
struct sq_cli_tools {
    unsigned seconds;
    uint64_t mib;
};
struct sq_cli_tools sq_cli_tools_default(void);
extern const struct sq_cli_row sq_cli_tools_rows[];
// Sets the limits.
enum sq_status sq_cli_tools_end(void *tools, struct sq_error *err);
#define SQ_CLI_TOOLS(...) SQ_CLI_PART(sq_cli_tools_rows, __VA_ARGS__, .end = sq_cli_tools_end)

// From here on a line on stderr says so where tools run without bubblewrap, once.
void sq_cli_tools_note(void);
