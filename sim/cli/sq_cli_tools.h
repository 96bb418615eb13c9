// SPDX-License-Identifier: Apache-2.0
// --tool-seconds and --tool-memory: what the tools that a command runs may take (sq_confine.h). An
// argp child whose input is the struct sq_error * of the command.
#ifndef SQ_CLI_TOOLS_H
#define SQ_CLI_TOOLS_H

#include <argp.h>

extern const struct argp sq_cli_tools_argp;

// From here on a line on stderr says so where tools run without bubblewrap, once.
void sq_cli_tools_note(void);

#endif
