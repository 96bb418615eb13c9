// SPDX-License-Identifier: Apache-2.0
// Finds the line of a chip, and adds up its parts (sq_energy_chip.h).
#include "sim/energy/sq_energy_chip.h"

#include <math.h>
#include <string.h>

#include "sim/block/top/sq_top_image.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"

struct search {
    const char *what;
    const unsigned *value;
    struct sq_energy_chip *chip;
    bool is_found;
};

// Parts have their unit in front (sq_synth_parts.c).
static enum sq_chip_side side_of(const char *part)
{
    static const char *const engine[] = {"PEs/", "decoders/", "output stage/", "engine/"};
    for (size_t i = 0; i < sizeof engine / sizeof engine[0]; i++)
        if (strncmp(part, engine[i], strlen(engine[i])) == 0)
            return SQ_CHIP_ENGINE;
    return SQ_CHIP_REST;
}

static bool is_chip(const struct search *s, const json_t *line)
{
    const json_t *const parameters = json_object_get(line, "parameters");
    const char *const block = json_string_value(json_object_get(line, "block"));
    if (!block || strcmp(block, sq_top_block.name) != 0)
        return false;
    for (size_t i = 0; sq_top_block.param[i]; i++) {
        const json_t *const v = json_object_get(parameters, sq_top_block.param[i]);
        if (i != SQ_TOP_MACRO && i != SQ_TOP_COUNT_START && json_integer_value(v) != s->value[i])
            return false;
    }
    return true;
}

static enum sq_status take(struct search *s, const json_t *line, struct sq_error *err)
{
    const char *const digest = json_string_value(json_object_get(line, "liberty_digest"));
    const json_t *const macro =
        json_object_get(json_object_get(line, "parameters"), sq_top_block.param[SQ_TOP_MACRO]);
    const json_t *const period = json_object_get(line, "min_period_ns");
    struct sq_energy_chip *const chip = s->chip;
    const char *name;
    json_t *part;
    *chip = (struct sq_energy_chip){.period_ns =
                                        json_is_number(period) ? json_number_value(period) : NAN,
                                    .has_memories = json_integer_value(macro) > 0};
    if (!digest || strlen(digest) >= sizeof chip->liberty)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s: the line of the chip has no liberty_digest", s->what);
    memcpy(chip->liberty, digest, strlen(digest) + 1);
    json_object_foreach(json_object_get(line, "parts"), name, part)
    {
        struct sq_energy_idle *const idle = &chip->idle[side_of(name)];
        double clock, leak;
        if (!strchr(name, '/'))
            return SQ_FAIL(err, SQ_ERR_ARG,
                           "%s: part %.40s of the chip has no unit, need UNIT/MODULE as sqsim area "
                           "--block top --json writes it",
                           s->what, name);
        if (!json_is_number(json_object_get(part, "clock_fj")))
            return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                           "%s: part %.40s of the chip has no joules, need a library with tables "
                           "of power",
                           s->what, name);
        SQ_TRY(sq_json_double(part, s->what, "clock_fj", 0, 1e30, -1, &clock, err));
        SQ_TRY(sq_json_double(part, s->what, "leak_uw", 0, 1e30, -1, &leak, err));
        idle->clock += 1e-15 * clock;
        idle->leak += 1e-6 * leak;
    }
    s->is_found = true;
    return SQ_OK;
}

static enum sq_status look(const json_t *line, unsigned number, void *context, struct sq_error *err)
{
    struct search *const s = context;
    (void)number;
    return !s->is_found && is_chip(s, line) ? take(s, line, err) : SQ_OK;
}

enum sq_status sq_energy_chip_read(const char *path, const unsigned *value,
                                   struct sq_energy_chip *chip, struct sq_error *err)
{
    struct search s = {sq_path_tail(path), value, chip, false};
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    SQ_TRY(sq_file_map(path, &map, err));
    SQ_TRY(sq_json_lines(path, map.data ? (const char *)map.data : "", map.nbytes, look, &s, err));
    if (!s.is_found)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "%s: no line of this chip; sqsim area --block top --machine M --of F --json "
                       "with them writes one",
                       s.what);
    return SQ_OK;
}
