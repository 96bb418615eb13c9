// SPDX-License-Identifier: Apache-2.0
// sqsim area --block top: the chip that a machine is for a format (sq_cmd_area.h).
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/area/sq_cmd_area.h"
#include "sim/cli/sq_cli.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/machine/sq_chip_machine.h"
#include "sim/machine/sq_machine.h"

// Buffers as flip-flops, at most: Yosys makes one of each bit.
enum { FLOPS_NBYTES = 8 << 10 };

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

// Parameters of sq_top by the chip's own names.
static enum sq_status find_unit(const struct sq_machine *m, const char *format,
                                struct sq_area_unit *unit, unsigned *depth, struct sq_error *err)
{
    const struct sq_block *const block = &sq_top_block;
    struct sq_chip_layer layer;
    struct sq_recipe recipe;
    SQ_TRY(find_recipe(format, &recipe, err));
    SQ_TRY(sq_machine_chip_for(m, &recipe, sq_machine_chip_products(m), &layer, err));
    *unit = (struct sq_area_unit){.name = block->name, .top = block->top};
    for (size_t i = 0; block->param[i]; i++)
        if (*block->param[i])
            unit->param[i] = (struct sq_area_param){block->param[i], layer.value[i]};
    unit->weights = layer.value[SQ_TOP_COLS] * layer.value[SQ_TOP_BANK_LEN];
    *depth = layer.value[SQ_TOP_DEPTH];
    return SQ_OK;
}

enum sq_status sq_area_chip_find(struct sq_area_chip *chip, struct sq_area_item *item,
                                 struct sq_error *err)
{
    struct sq_machine m;
    unsigned depth = 0;
    SQ_TRY(sq_machine_load_unclocked(
        chip->machine ? chip->machine : sq_cli_home_path("sim/machines/chip.yaml"), &m, err));
    SQ_TRY(find_unit(&m, chip->format ? chip->format : "dense", &chip->unit, &depth, err));
    const uint64_t nbytes = m.act_nbytes + m.weight_nbytes + m.out_nbytes;
    if (!chip->sram && nbytes > FLOPS_NBYTES)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "machine %.40s: buffers of %" PRIu64 " B, need at most %d B as flip-flops, "
                       "or memories of a library (--sram DIR)",
                       m.name, nbytes, FLOPS_NBYTES);
    item->unit = &chip->unit;
    item->is_chip = true;
    if (!chip->sram)
        return SQ_OK;
    SQ_TRY(sq_synth_macros_read(chip->memory, chip->sram, err));
    item->macro = sq_synth_macro_for(chip->memory, depth);
    chip->unit.param[SQ_TOP_MACRO].value = item->macro->words;
    return SQ_OK;
}
