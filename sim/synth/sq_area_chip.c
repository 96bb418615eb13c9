// SPDX-License-Identifier: Apache-2.0
// The parameters, memories and units of a chip that is priced (sq_area_chip.h).
#include "sim/synth/sq_area_chip.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/block/top/sq_top_image.h"

// Buffers as flip-flops, at most: Yosys makes one of each bit.
enum { FLOPS_NBYTES = 8 << 10 };

enum sq_status sq_area_chip_make(struct sq_area_chip *chip, const unsigned *value, const char *name,
                                 uint64_t nbytes, const char *sram, struct sq_error *err)
{
    const struct sq_block *const block = &sq_top_block;
    *chip =
        (struct sq_area_chip){.unit = {.name = block->name,
                                       .top = block->top,
                                       .weights = value[SQ_TOP_COLS] * value[SQ_TOP_BANK_LEN]},
                              .item = {.kind = SQ_AREA_UNIT, .unit = &chip->unit, .is_chip = true}};
    for (size_t i = 0; block->param[i]; i++)
        if (*block->param[i])
            chip->unit.param[i] = (struct sq_area_param){block->param[i], value[i]};
    if (!sram && nbytes > FLOPS_NBYTES)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "machine %.40s: buffers of %" PRIu64 " B, need at most %d B as flip-flops, "
                       "or memories of a library (--sram, --sram-area DIR)",
                       name, nbytes, FLOPS_NBYTES);
    if (!sram)
        return SQ_OK;
    SQ_TRY(sq_synth_macros_read(chip->memory, sram, err));
    chip->item.macro = sq_synth_macro_for(chip->memory, value[SQ_TOP_DEPTH]);
    chip->unit.param[SQ_TOP_MACRO].value = chip->item.macro->words;
    return SQ_OK;
}

void sq_area_chip_free(struct sq_area_chip *chip)
{
    sq_synth_macros_free(chip->memory);
}

size_t sq_area_chip_unit(const struct sq_synth_result *r, size_t i, struct sq_synth_part *unit)
{
    const char *const name = r->part[i].name;
    const size_t n = strcspn(name, "/");
    *unit = (struct sq_synth_part){.path_ns = NAN};
    memcpy(unit->name, name, n);
    for (; i < r->n_parts && strncmp(r->part[i].name, name, n + 1) == 0; i++) {
        unit->area += r->part[i].area;
        unit->path_ns = fmax(unit->path_ns, r->part[i].path_ns); // of a number and NAN the number
    }
    return i;
}
