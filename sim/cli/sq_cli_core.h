// SPDX-License-Identifier: Apache-2.0
// Options that several commands share: those of a core, and of the banks of sq_w that it computes.
#pragma once

#include "models/core/sq_config.h"
#include "sim/block/flow/sq_block.h"
#include "sim/cli/sq_cli_row.h"

// --format --high-bits --low-bits --bank --sparsity --group --act-bits: a part of a command's rows,
//
//     SQ_CLI_PART(sq_cli_banks_rows, AT(banks), .end = sq_cli_banks_end),
//
// whose field starts from sq_cli_banks_default(). After sq_cli_parse, `format` is a legal
// combination (sq_format_check).
struct sq_cli_banks {
    struct sq_format format;
    double sparsity;   // as given; format.high_per_bank follows at the end of parsing
    unsigned act_bits; // 4 or 8
    unsigned stored;   // --format, which is sq_w
};
struct sq_cli_banks sq_cli_banks_default(void);
extern const struct sq_cli_row sq_cli_banks_rows[];
enum sq_status sq_cli_banks_end(void *banks, struct sq_error *err);

// "SQ(8,4,32,0.75) G=128" or "... G=row" into text[64].
void sq_cli_banks_text(const struct sq_format *f, char text[64]);
// The same as a JSON object: format, high_bits, low_bits, bank, high_per_bank, sparsity, group (0 =
// row).
json_t *sq_cli_banks_json(const struct sq_format *f);

// --rows --cols --low-lanes --high-lanes --gather: what a core has besides its format. After
// sq_cli_parse sq_cli_core_config() joins it with the banks.
struct sq_cli_core {
    struct sq_core_config config; // only the five fields above are set by the options
    bool given;                   // any of them was
    bool is_given[5];             // rows, cols, low-lanes, high-lanes, gather
};
extern const struct sq_cli_row sq_cli_core_rows[];
enum sq_status sq_cli_core_end(void *core, struct sq_error *err);
// SQ_ERR_RANGE and the like where the combination is illegal (sq_core_config_check).
enum sq_status sq_cli_core_config(const struct sq_cli_core *core, const struct sq_cli_banks *banks,
                                  struct sq_core_config *config, struct sq_error *err);
// Keys rows, cols, low_lanes, high_lanes, act_bits, gather.
json_t *sq_cli_core_json(const struct sq_core_config *config);
// Sets the uint64_t of a row to an address of the chip's memory, the start of a page, in digits or as 0x..; SQ_ERR_ARG for others.
enum sq_status sq_cli_base(void *in, const struct sq_cli_row *row, const char *text,
                           struct sq_error *err);
// An object of a block's parameters at a point, by their names in the RTL.
json_t *sq_cli_parameters_json(const struct sq_block *block, const unsigned *value);

#define SQ_CLI_BANKS(...) SQ_CLI_PART(sq_cli_banks_rows, __VA_ARGS__, .end = sq_cli_banks_end)
#define SQ_CLI_CORE(...) SQ_CLI_PART(sq_cli_core_rows, __VA_ARGS__, .end = sq_cli_core_end)
