// SPDX-License-Identifier: Apache-2.0
// Options of the two decode formats SpQt and SpQR, and what they say of a recipe. A child of
// sq_cli_system_argp.
#ifndef SQ_CLI_DECODE_H
#define SQ_CLI_DECODE_H

#include "sim/cli/sq_cli.h"
#include "sim/format/sq_recipe.h"

struct sq_cli_offline; // sq_cli_system.h

struct sq_cli_decode {
    size_t prefill, form, layout, thresholds; // SQ_CLI_NOT_GIVEN
    unsigned workers;                         // 0: not given
    double outliers;                          // 0: not given
    struct sq_error *err;
};
struct sq_cli_decode sq_cli_decode_default(struct sq_error *err);
extern const struct argp
    sq_cli_decode_argp; // --prefill --thresholds --workers --outliers --outlier-*

// Whether the system is one of the two.
bool sq_cli_is_decode(enum sq_system system);

// SQ_ERR_ARG where an option was given that `system` does not have (SQ_SYSTEM_GRID: has none).
enum sq_status sq_cli_decode_unused(const struct sq_cli_decode *in, enum sq_system system,
                                    struct sq_error *err);

// Fills the fields of SpQt or SpQR; refuses options it would ignore.
enum sq_status sq_cli_decode_recipe(const struct sq_cli_decode *in, const struct sq_cli_offline *o,
                                    enum sq_system system, struct sq_recipe *r,
                                    struct sq_error *err);

// Keys algorithm, padding, and sparsity, prefill, thresholds, workers or outliers, outlier_form,
// outlier_layout, percdamp.
void sq_cli_decode_json(const struct sq_recipe *r, json_t *object);

// Takes the keys away that a file of weights does not say: sparsity, thresholds, outliers,
// percdamp.
void sq_cli_decode_forget(enum sq_system system, json_t *object);

// What is padded, for people; "" for other systems.
const char *sq_cli_decode_padding(enum sq_system system);

#endif
