// SPDX-License-Identifier: Apache-2.0
// Reads the file of memories; sq_energy_memory_macros is in a file of its own (sq_energy_memory.h).
#include "sim/energy/sq_energy_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_quantity.h"
#include "sim/io/sq_yaml.h"

struct raw_dram {
    char *type, *low, *high, *source;
};

struct raw_memory {
    char *name;
    struct raw_dram *dram;
    unsigned dram_count;
    struct {
        char *read_low, *read_high, *write_low, *write_high, *leak_low, *leak_high, *source;
    } sram;
};

#define TEXT_FIELD(key, type, member, most)                                                        \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER, type, member, 1, most)
#define SRAM_FIELD(member, most) TEXT_FIELD(#member, struct raw_memory, sram.member, most)

static const cyaml_schema_field_t dram_fields[] = {
    TEXT_FIELD("type", struct raw_dram, type, 31), TEXT_FIELD("low", struct raw_dram, low, 63),
    TEXT_FIELD("high", struct raw_dram, high, 63),
    TEXT_FIELD("source", struct raw_dram, source, 511), CYAML_FIELD_END};
static const cyaml_schema_value_t dram_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_dram, dram_fields)};

static const cyaml_schema_field_t sram_fields[] = {
    SRAM_FIELD(read_low, 63),  SRAM_FIELD(read_high, 63),
    SRAM_FIELD(write_low, 63), SRAM_FIELD(write_high, 63),
    SRAM_FIELD(leak_low, 63),  SRAM_FIELD(leak_high, 63),
    SRAM_FIELD(source, 511),   CYAML_FIELD_END};

static const cyaml_schema_field_t memory_fields[] = {
    TEXT_FIELD("name", struct raw_memory, name, 63),
    CYAML_FIELD_SEQUENCE("dram", CYAML_FLAG_POINTER, struct raw_memory, dram, &dram_schema, 1,
                         SQ_MEMORY_TYPES),
    {.key = "sram",
     .data_offset = 0, // its members are fields of the whole
     .value = {.type = CYAML_MAPPING,
               .flags = CYAML_FLAG_DEFAULT,
               .data_size = sizeof(struct raw_memory),
               .mapping = {.fields = sram_fields}}},
    CYAML_FIELD_END};
static const cyaml_schema_value_t memory_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_memory, memory_fields)};

static enum sq_status read_range(const char *what, const char *low, const char *high,
                                 enum sq_dimension dimension, struct sq_memory_range *range,
                                 struct sq_error *err)
{
    char name[64];
    const char *const text[] = {low, high};
    for (unsigned i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s%s", what, i ? "high" : "low");
        SQ_TRY(sq_quantity_parse(name, text[i], dimension, 0, 1e6, &range->end[i], err));
        range->end[i] *= 1e-12;
    }
    if (range->end[0] > range->end[1])
        return SQ_FAIL(err, SQ_ERR_RANGE, "%slow = %.40s, need at most %shigh = %.40s", what, low,
                       what, high);
    return SQ_OK;
}

static enum sq_status choose(const struct raw_memory *raw, const char *type,
                             struct sq_energy_memory *m, struct sq_error *err)
{
    char known[192] = "";
    for (unsigned i = 0; i < raw->dram_count; i++) {
        const struct raw_dram *d = &raw->dram[i];
        const size_t n = strlen(known);
        if (!type || strcmp(type, d->type) == 0) {
            snprintf(m->type, sizeof m->type, "%s", d->type);
            snprintf(m->dram_source, sizeof m->dram_source, "%s", d->source);
            return read_range("dram.", d->low, d->high, SQ_DIM_BIT_ENERGY, &m->dram, err);
        }
        snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", d->type);
    }
    return SQ_FAIL(err, SQ_ERR_ARG, "dram = %.40s, need one of: %s", type, known);
}

static enum sq_status read_all(const struct raw_memory *raw, const char *type,
                               struct sq_energy_memory *m, struct sq_error *err)
{
    SQ_TRY(choose(raw, type, m, err));
    snprintf(m->sram_source, sizeof m->sram_source, "%s", raw->sram.source);
    SQ_TRY(read_range("sram.read_", raw->sram.read_low, raw->sram.read_high, SQ_DIM_BIT_ENERGY,
                      &m->read, err));
    SQ_TRY(read_range("sram.write_", raw->sram.write_low, raw->sram.write_high, SQ_DIM_BIT_ENERGY,
                      &m->write, err));
    return read_range("sram.leak_", raw->sram.leak_low, raw->sram.leak_high, SQ_DIM_BIT_POWER,
                      &m->leak, err);
}

enum sq_status sq_energy_memory_load(const char *path, const char *type,
                                     struct sq_energy_memory *memory, struct sq_error *err)
{
    void *raw;
    struct sq_error inner;
    *memory = (struct sq_energy_memory){0};
    SQ_TRY(sq_yaml_load(path, &memory_schema, &raw, err));
    const enum sq_status status = read_all(raw, type, memory, &inner);
    sq_yaml_free(&memory_schema, raw);
    return status == SQ_OK ? SQ_OK
                           : SQ_FAIL(err, status, "'%s': %.200s", sq_path_tail(path), inner.text);
}
