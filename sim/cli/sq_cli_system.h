// SPDX-License-Identifier: Apache-2.0
// Options of the systems that are no grids, shared by eval and quantize: what they mean, and the
// refusal of those that a format would ignore. Beside them count --sparsity, --group, --algorithm,
// --score and --percdamp, which the commands parse themselves.
#ifndef SQ_CLI_SYSTEM_H
#define SQ_CLI_SYSTEM_H

#include "sim/cli/sq_cli.h"
#include "sim/cli/sq_cli_decode.h"
#include "sim/format/sq_recipe.h"

#define SQ_CLI_NOT_GIVEN SIZE_MAX // an index of a name table
#define SQ_CLI_NO_GROUP UINT32_MAX

enum { SQ_CLI_RTN, SQ_CLI_GPTQ, SQ_CLI_LITE, SQ_CLI_ALGORITHMS };
extern const char *const sq_cli_algorithm_name[SQ_CLI_ALGORITHMS]; // "rtn", "gptq", "lite"

// argp child input; start from sq_cli_system_default.
struct sq_cli_system {
    size_t prune, scope;   // SQ_CLI_NOT_GIVEN
    double dense_fraction; // < 0: not given
    struct sq_error *err;
    struct sq_cli_decode decode; // spqt, spqr
};
struct sq_cli_system sq_cli_system_default(struct sq_error *err);
extern const struct argp sq_cli_system_argp; // --prune --scope --dense-layers

// What the command parsed itself.
struct sq_cli_offline {
    size_t algorithm, score; // score: SQ_CLI_NOT_GIVEN
    double sparsity;         // <= 0: not given
    double percdamp;         // < 0: not given
    unsigned group;          // SQ_CLI_NO_GROUP: not given; 0: row
    unsigned act_bits;       // 0: not given
    bool is_algorithm_given; //
};

// SQ_ERR_ARG where one of the options above was given although the format is a grid.
enum sq_status sq_cli_system_unused(const struct sq_cli_system *in, struct sq_error *err);

// The recipe of a system (never SQ_SYSTEM_GRID), checked; refuses options it would ignore.
enum sq_status sq_cli_system_recipe(const struct sq_cli_system *in, const struct sq_cli_offline *o,
                                    enum sq_system system, struct sq_recipe *r,
                                    struct sq_error *err);

// Keys prune, algorithm, group, sparsity, scope, dense_layers of a JSON object, as the system has
// them.
void sq_cli_system_json(const struct sq_recipe *r, json_t *object);

#endif
