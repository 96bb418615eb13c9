// SPDX-License-Identifier: Apache-2.0
// sqsim area --block top: the chip that a machine is for a format (sq_cmd_area.h).
#include <stdlib.h>
#include <string.h>

#include "sim/cli/area/sq_cmd_area.h"
#include "sim/cli/sq_cli.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/machine/sq_chip_machine.h"
#include "sim/machine/sq_machine.h"

// FORMAT:OPTION=VALUE, or a description.
static enum sq_status find_recipe(const char *format, struct sq_recipe *recipe,
                                  struct sq_error *err)
{
    const struct sq_format_ops *f;
    SQ_TRY(sq_format_named(format, sq_cli_home(), &f, err));
    if (f)
        return sq_format_recipe(f, SQ_IN_RUN, NULL, recipe, err);
    SQ_FREED char *const text = strdup(format);
    SQ_NEED(text, err, "a format");
    return sq_recipe_read(text, "--of", SQ_IN_RUN, NULL, recipe, err);
}

enum sq_status sq_area_chip_find(struct sq_area_chip_wanted *wanted, struct sq_area_item *item,
                                 struct sq_error *err)
{
    struct sq_machine m;
    struct sq_chip_layer layer;
    struct sq_recipe recipe;
    SQ_TRY(sq_machine_load_unclocked(
        wanted->machine ? wanted->machine : sq_cli_home_path("sim/machines/chip.yaml"), &m, err));
    SQ_TRY(find_recipe(wanted->format ? wanted->format : "dense", &recipe, err));
    SQ_TRY(sq_machine_chip_for(&m, &recipe, sq_machine_chip_products(&m), &layer, err));
    SQ_TRY(sq_area_chip_make(&wanted->chip, layer.value, m.name, sq_machine_buffer_nbytes(&m),
                             wanted->sram, err));
    *item = wanted->chip.item;
    return SQ_OK;
}
