// SPDX-License-Identifier: Apache-2.0
// Reads a machine from YAML, and derives its rates (sq_machine.h).
#include "sim/machine/sq_machine.h"
#include "sim/block/vector/sq_top_attend.h"
#include "sim/io/sq_checked.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_quantity.h"
#include "sim/io/sq_yaml.h"

// ---- the file -------------------------------------------------------------------------------

// Numbers are read as text and parsed here: libcyaml takes "4.5" for 4.
struct raw_core {
    char *rows, *cols, *low_lanes, *high_lanes, *low_bits, *high_bits, *act_bits, *gather, *output,
        *sum, *aligned, *cut, *carry;
};

struct raw_machine {
    char *name, *clock, *cores;
    struct raw_core core;
    struct {
        char *activation, *weight, *scale, *output;
    } buffers;
    struct {
        char *bandwidth, *latency, *burst, *device, *channels, *map, *page, *refresh, *queue,
            *placement;
    } dram;
    char *capacity;
    struct raw_vector {
        char *lanes, *clock;
    } * vector; // NULL: the usual one
    struct raw_link {
        char *bandwidth, *latency;
    } * link; // NULL: none
    struct raw_chip {
        char *bus, *burst, *outstanding, *writes, *encoder, *vector, *attend, *head, *cache;
    } * chip; // NULL: none
};

#define MAY_TEXT(key, type, member)                                                                \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type, member, 1, 63)
#define TEXT_FIELD(key, type, member)                                                              \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER, type, member, 1, 63)

static const cyaml_schema_field_t core_fields[] = {
    TEXT_FIELD("rows", struct raw_core, rows),
    TEXT_FIELD("cols", struct raw_core, cols),
    MAY_TEXT("low_lanes", struct raw_core, low_lanes), // check_keys says which are needed
    MAY_TEXT("high_lanes", struct raw_core, high_lanes),
    MAY_TEXT("low_bits", struct raw_core, low_bits),
    MAY_TEXT("high_bits", struct raw_core, high_bits),
    MAY_TEXT("act_bits", struct raw_core, act_bits),
    MAY_TEXT("gather", struct raw_core, gather),
    MAY_TEXT("output", struct raw_core, output),
    MAY_TEXT("sum", struct raw_core, sum),
    MAY_TEXT("aligned", struct raw_core, aligned),
    MAY_TEXT("cut", struct raw_core, cut),
    MAY_TEXT("carry", struct raw_core, carry),
    CYAML_FIELD_END};

static const cyaml_schema_field_t buffer_fields[] = {
    TEXT_FIELD("activation", struct raw_machine, buffers.activation),
    TEXT_FIELD("weight", struct raw_machine, buffers.weight),
    MAY_TEXT("scale", struct raw_machine, buffers.scale), // of a chip
    TEXT_FIELD("output", struct raw_machine, buffers.output), CYAML_FIELD_END};

static const cyaml_schema_field_t dram_fields[] = {
    MAY_TEXT("bandwidth", struct raw_machine, dram.bandwidth),
    MAY_TEXT("latency", struct raw_machine, dram.latency),
    MAY_TEXT("burst", struct raw_machine, dram.burst),
    MAY_TEXT("device", struct raw_machine, dram.device),
    MAY_TEXT("channels", struct raw_machine, dram.channels),
    MAY_TEXT("map", struct raw_machine, dram.map),
    MAY_TEXT("page", struct raw_machine, dram.page),
    MAY_TEXT("refresh", struct raw_machine, dram.refresh),
    MAY_TEXT("queue", struct raw_machine, dram.queue),
    MAY_TEXT("placement", struct raw_machine, dram.placement),
    CYAML_FIELD_END};

static const cyaml_schema_field_t vector_fields[] = {TEXT_FIELD("lanes", struct raw_vector, lanes),
                                                     MAY_TEXT("clock", struct raw_vector, clock),
                                                     CYAML_FIELD_END};

static const cyaml_schema_field_t link_fields[] = {
    TEXT_FIELD("bandwidth", struct raw_link, bandwidth),
    TEXT_FIELD("latency", struct raw_link, latency), CYAML_FIELD_END};

static const cyaml_schema_field_t chip_fields[] = {
    TEXT_FIELD("bus", struct raw_chip, bus),
    TEXT_FIELD("burst", struct raw_chip, burst),
    TEXT_FIELD("outstanding", struct raw_chip, outstanding),
    MAY_TEXT("writes", struct raw_chip, writes),
    MAY_TEXT("encoder", struct raw_chip, encoder),
    MAY_TEXT("vector", struct raw_chip, vector),
    MAY_TEXT("attend", struct raw_chip, attend),
    MAY_TEXT("head", struct raw_chip, head),
    MAY_TEXT("cache", struct raw_chip, cache),
    CYAML_FIELD_END};

// Sections whose members are fields of the machine itself: offset 0.
#define SECTION(name_, fields_)                                                                    \
    {                                                                                              \
        .key = name_, .data_offset = 0, .value = {                                                 \
            .type = CYAML_MAPPING,                                                                 \
            .flags = CYAML_FLAG_DEFAULT,                                                           \
            .data_size = sizeof(struct raw_machine),                                               \
            .mapping = {.fields = fields_}                                                         \
        }                                                                                          \
    }

static const cyaml_schema_field_t machine_fields[] = {
    TEXT_FIELD("name", struct raw_machine, name),
    TEXT_FIELD("clock", struct raw_machine, clock),
    TEXT_FIELD("cores", struct raw_machine, cores),
    CYAML_FIELD_MAPPING("core", CYAML_FLAG_DEFAULT, struct raw_machine, core, core_fields),
    SECTION("buffers", buffer_fields),
    SECTION("dram", dram_fields),
    MAY_TEXT("capacity", struct raw_machine, capacity),
    CYAML_FIELD_MAPPING_PTR("vector", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct raw_machine,
                            vector, vector_fields),
    CYAML_FIELD_MAPPING_PTR("link", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct raw_machine,
                            link, link_fields),
    CYAML_FIELD_MAPPING_PTR("chip", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct raw_machine,
                            chip, chip_fields),
    CYAML_FIELD_END};

static const cyaml_schema_value_t machine_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_machine, machine_fields)};

// ---- checks ---------------------------------------------------------------------------------

static enum sq_status read_count(const char *what, const char *text, unsigned min, unsigned max,
                                 unsigned *value, struct sq_error *err)
{
    char *end;
    const unsigned long v = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || v < min || v > max)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s = %.40s, need %u..%u", what, text, min, max);
    *value = (unsigned)v;
    return SQ_OK;
}

// Where the key is left out the value stays.
static enum sq_status may_count(const char *what, const char *text, unsigned min, unsigned max,
                                unsigned *value, struct sq_error *err)
{
    return text ? read_count(what, text, min, max, value, err) : SQ_OK;
}

static enum sq_status read_gather(const char *text, enum sq_gather_arch *gather,
                                  struct sq_error *err)
{
    *gather = strcmp(text, "log") == 0 ? SQ_GATHER_LOG : SQ_GATHER_CROSSBAR;
    if (strcmp(text, "log") != 0 && strcmp(text, "crossbar") != 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "core.gather = %.40s, need crossbar or log", text);
    return SQ_OK;
}

// A chip may state its multipliers, as lanes of either path; what else its PEs are follows from the format.
static enum sq_status check_keys(const struct raw_core *raw, bool is_chip, struct sq_error *err)
{
    enum use { NEEDED, OPTIONAL, STATED, FORBIDDEN }; // STATED: with both lanes
    const struct {
        const char *name, *text;
        enum use on_cores, on_chip;
    } key[] = {{"low_lanes", raw->low_lanes, NEEDED, STATED},
               {"high_lanes", raw->high_lanes, NEEDED, STATED},
               {"low_bits", raw->low_bits, NEEDED, STATED},
               {"high_bits", raw->high_bits, NEEDED, STATED},
               {"act_bits", raw->act_bits, NEEDED, STATED},
               {"gather", raw->gather, NEEDED, FORBIDDEN},
               {"output", raw->output, OPTIONAL, FORBIDDEN}};
    const char *const tail = raw->sum       ? "sum"
                             : raw->aligned ? "aligned"
                             : raw->cut     ? "cut"
                             : raw->carry   ? "carry"
                                            : NULL;
    if (tail && !is_chip)
        return SQ_FAIL(err, SQ_ERR_ARG, "core.%s, need no such key without chip", tail);
    const bool is_stated = raw->low_lanes && raw->high_lanes;
    for (size_t i = 0; i < sizeof key / sizeof key[0]; i++) {
        const enum use use = is_chip ? key[i].on_chip : key[i].on_cores;
        if (use == FORBIDDEN && key[i].text)
            return SQ_FAIL(err, SQ_ERR_ARG,
                           "core.%s = %.40s, need no such key with chip: its PEs are those of the "
                           "format",
                           key[i].name, key[i].text);
        if (use == STATED && key[i].text && !is_stated)
            return SQ_FAIL(err, SQ_ERR_ARG,
                           "core.%s = %.40s, need core.low_lanes and core.high_lanes with it",
                           key[i].name, key[i].text);
        if (use == NEEDED && !key[i].text)
            return SQ_FAIL(err, SQ_ERR_ARG, "core.%s is missing, need it without chip",
                           key[i].name);
    }
    return SQ_OK;
}

static enum sq_status read_core(const struct raw_core *raw, bool is_chip,
                                struct sq_core_config *core, struct sq_error *err)
{
    *core = is_chip ? sq_core_config_default() : (struct sq_core_config){0};
    SQ_TRY(check_keys(raw, is_chip, err));
    SQ_TRY(read_count("core.rows", raw->rows, 1, 64, &core->rows, err));
    SQ_TRY(read_count("core.cols", raw->cols, 1, 64, &core->cols, err));
    if (!is_chip)
        SQ_TRY(read_gather(raw->gather, &core->gather, err));
    SQ_TRY(may_count("core.low_lanes", raw->low_lanes, 1, 128, &core->low_lanes, err));
    SQ_TRY(may_count("core.high_lanes", raw->high_lanes, 1, 64, &core->high_lanes, err));
    SQ_TRY(may_count("core.low_bits", raw->low_bits, 2, 4, &core->low_bits, err));
    SQ_TRY(may_count("core.high_bits", raw->high_bits, 4, 8, &core->high_bits, err));
    SQ_TRY(may_count("core.act_bits", raw->act_bits, 4, 8, &core->act_bits, err));
    if (core->high_bits != 4 && core->high_bits != 8)
        return SQ_FAIL(err, SQ_ERR_RANGE, "core.high_bits = %u, need 4 or 8", core->high_bits);
    if (core->act_bits != 4 && core->act_bits != 8)
        return SQ_FAIL(err, SQ_ERR_RANGE, "core.act_bits = %u, need 4 or 8", core->act_bits);
    return SQ_OK;
}

static enum sq_status read_size(const char *what, const char *text, double min, double max,
                                uint64_t *value, struct sq_error *err)
{
    double v;
    SQ_TRY(sq_quantity_parse(what, text, SQ_DIM_SIZE, min, max, &v, err));
    *value = (uint64_t)v;
    return SQ_OK;
}

static enum sq_status read_word(const char *what, const char *text, const char *const words[],
                                unsigned *value, struct sq_error *err)
{
    char known[64] = "";
    *value = 0;
    if (!text)
        return SQ_OK;
    for (; words[*value]; ++*value) {
        const size_t n = strlen(known);
        if (strcmp(text, words[*value]) == 0)
            return SQ_OK;
        snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", words[*value]);
    }
    return SQ_FAIL(err, SQ_ERR_ARG, "%s = %.40s, need one of: %s", what, text, known);
}

static const char *const no_yes[] = {"no", "yes", NULL};

static enum sq_status read_attend(const struct raw_chip *raw, unsigned bus, unsigned *attend,
                                  struct sq_error *err)
{
    struct sq_ta_unit unit = {.size = 128};
    unsigned cache;
    *attend = 0;
    if (!raw->attend && (raw->head || raw->cache))
        return SQ_FAIL(err, SQ_ERR_ARG, "chip.%s without chip.attend",
                       raw->head ? "head" : "cache");
    if (!raw->attend)
        return SQ_OK;
    SQ_TRY(read_count("chip.attend", raw->attend, 1, SQ_TA_HEADS_MAX, &unit.heads, err));
    SQ_TRY(read_word("chip.cache", raw->cache, sq_ta_cache_names, &cache, err));
    unit.is_int8 = cache > 0;
    if (raw->head)
        SQ_TRY(read_count("chip.head", raw->head, 1, SQ_ATTEND_HEAD_MAX, &unit.size, err));
    const unsigned least = unit.is_int8 ? bus : bus / 2;
    if ((unit.size & (unit.size - 1)) != 0 || unit.size < least)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "chip.head = %u, need a power of two, %u (a beat of codes) .. %d", unit.size,
                       least, SQ_ATTEND_HEAD_MAX);
    *attend = sq_ta_param(&unit);
    return SQ_OK;
}

static enum sq_status read_chip(const struct raw_chip *raw, const struct sq_machine *m,
                                struct sq_machine_chip *chip, struct sq_error *err)
{
    uint64_t bus;
    SQ_TRY(read_size("chip.bus", raw->bus, 4, 64, &bus, err));
    if ((bus & (bus - 1)) != 0)
        return SQ_FAIL(err, SQ_ERR_RANGE, "chip.bus = %llu B, need 4, 8, 16, 32 or 64 B",
                       (unsigned long long)bus);
    chip->bus_nbytes = (unsigned)bus;
    SQ_TRY(read_count("chip.burst", raw->burst, 1, 256, &chip->max_burst, err));
    SQ_TRY(read_count("chip.outstanding", raw->outstanding, 2, 32, &chip->outstanding, err));
    if (raw->writes)
        SQ_TRY(read_count("chip.writes", raw->writes, 1, 16, &chip->writes, err));
    SQ_TRY(read_word("chip.encoder", raw->encoder, no_yes, &chip->has_encoder, err));
    SQ_TRY(read_word("chip.vector", raw->vector, no_yes, &chip->has_vector, err));
    SQ_TRY(read_attend(raw, chip->bus_nbytes, &chip->attend, err));
    if (m->cores != 1)
        return SQ_FAIL(err, SQ_ERR_RANGE, "cores = %u, need 1 with chip", m->cores);
    return SQ_OK;
}

// Either the keys of an ideal DRAM, or those of one that keeps time.
static enum sq_status check_dram(const struct raw_machine *raw, struct sq_error *err)
{
    const struct {
        const char *name, *text;
        bool is_ideal, is_needed;
    } key[] = {{"bandwidth", raw->dram.bandwidth, true, true},
               {"latency", raw->dram.latency, true, true},
               {"burst", raw->dram.burst, true, true},
               {"channels", raw->dram.channels, false, false},
               {"map", raw->dram.map, false, false},
               {"page", raw->dram.page, false, false},
               {"refresh", raw->dram.refresh, false, false},
               {"queue", raw->dram.queue, false, false},
               {"placement", raw->dram.placement, false, false}};
    const bool is_ideal = !raw->dram.device;
    for (size_t i = 0; i < sizeof key / sizeof key[0]; i++) {
        if (is_ideal && key[i].is_needed && !key[i].text)
            return SQ_FAIL(err, SQ_ERR_ARG, "dram.%s is missing, need it without dram.device",
                           key[i].name);
        if (is_ideal != key[i].is_ideal && key[i].text)
            return SQ_FAIL(err, SQ_ERR_ARG, "dram.%s = %.40s, need no such key %s dram.device",
                           key[i].name, key[i].text, is_ideal ? "without" : "with");
    }
    return SQ_OK;
}

enum sq_status sq_machine_set_dram(struct sq_machine *m, const char *device,
                                   const struct sq_dram_options *o, struct sq_error *err)
{
    for (unsigned end = SQ_DRAM_FAST; end <= SQ_DRAM_SLOW; end++) {
        struct sq_dram_device d;
        SQ_TRY(sq_dram_device_named(device, (enum sq_dram_end)end, &d, err));
        SQ_TRY(sq_dram_setup_init(&d, o, &m->timed.end[end], err));
        if (end == SQ_DRAM_SLOW)
            break;
        m->timed.is_timed = true;
        m->timed.is_range = d.is_range;
        m->burst_nbytes = sq_dram_burst_nbytes(&d);
        m->dram_bytes_per_s = m->timed.end[0].channels * sq_dram_peak(&d);
        m->dram_latency_ns = 1e-3 * d.clock_ps * m->timed.end[0].rules.read_ends;
    }
    m->timed.at = SQ_DRAM_FAST;
    sq_machine_set_clock(m, m->clock_hz);
    return SQ_OK;
}

static enum sq_status read_timed(const struct raw_machine *raw, struct sq_machine *m,
                                 struct sq_error *err)
{
    struct sq_dram_options o = {.map = raw->dram.map};
    unsigned page, refresh, placement;
    if (raw->dram.channels)
        SQ_TRY(read_count("dram.channels", raw->dram.channels, 1, SQ_DRAM_CHANNELS_MAX, &o.channels,
                          err));
    if (raw->dram.queue)
        SQ_TRY(read_count("dram.queue", raw->dram.queue, 1, SQ_DRAM_QUEUE_MAX, &o.queue, err));
    SQ_TRY(read_word("dram.page", raw->dram.page, sq_dram_page_names, &page, err));
    SQ_TRY(read_word("dram.refresh", raw->dram.refresh, sq_dram_refresh_names, &refresh, err));
    SQ_TRY(
        read_word("dram.placement", raw->dram.placement, sq_dram_placement_names, &placement, err));
    o.page = (enum sq_dram_page)page;
    o.refresh = (enum sq_dram_refresh)refresh;
    o.placement = (enum sq_dram_placement)placement;
    return sq_machine_set_dram(m, raw->dram.device, &o, err);
}

static enum sq_status read_ideal(const struct raw_machine *raw, struct sq_machine *m,
                                 struct sq_error *err)
{
    uint64_t burst;
    SQ_TRY(sq_quantity_parse("dram.bandwidth", raw->dram.bandwidth, SQ_DIM_RATE, 1e6, 1e15,
                             &m->dram_bytes_per_s, err));
    SQ_TRY(sq_quantity_parse("dram.latency", raw->dram.latency, SQ_DIM_TIME, 0, 1e6,
                             &m->dram_latency_ns, err));
    SQ_TRY(read_size("dram.burst", raw->dram.burst, 16, 4096, &burst, err));
    m->burst_nbytes = (unsigned)burst;
    return SQ_OK;
}

// What adds up the blocks in a PE of block-scaled formats.
static enum sq_status read_tail(const struct raw_core *raw, struct sq_machine_chip *chip,
                                struct sq_error *err)
{
    static const char *const sums[] = {"binary32", "exact", "aligned", "after", NULL};
    SQ_TRY(read_word("core.sum", raw->sum, sums, &chip->sum, err));
    SQ_TRY(
        may_count("core.aligned", raw->aligned, 0, chip->sum == 3 ? 25 : 23, &chip->aligned, err));
    SQ_TRY(may_count("core.cut", raw->cut, 0, 2, &chip->cut, err));
    SQ_TRY(may_count("core.carry", raw->carry, 0, 16, &chip->carry, err));
    if (chip->carry != 0 && chip->carry != 16)
        return SQ_FAIL(err, SQ_ERR_RANGE, "core.carry = %u, need 0 or 16", chip->carry);
    if ((chip->sum > 1) != (chip->aligned > 0))
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "core.aligned = %u, need bits with core.sum = aligned or after, no other",
                       chip->aligned);
    if (chip->sum != 1 && (chip->cut || chip->carry))
        return SQ_FAIL(err, SQ_ERR_ARG, "core.%s = %u, need core.sum = exact with it",
                       chip->cut ? "cut" : "carry", chip->cut ? chip->cut : chip->carry);
    return SQ_OK;
}

static enum sq_status read_all(const struct raw_machine *raw, struct sq_machine *m,
                               struct sq_error *err)
{
    uint64_t port;
    memset(m, 0, sizeof *m);
    snprintf(m->name, sizeof m->name, "%.63s", raw->name);
    m->is_clock_netlist = raw->chip && strcmp(raw->clock, "netlist") == 0;
    SQ_TRY(sq_quantity_parse("clock", m->is_clock_netlist ? "1 GHz" : raw->clock, SQ_DIM_FREQUENCY,
                             1e6, 1e10, &m->clock_hz, err));
    SQ_TRY(read_count("cores", raw->cores, 1, 1024, &m->cores, err));
    SQ_TRY(read_core(&raw->core, raw->chip, &m->core, err));
    SQ_TRY(read_size("core.output", raw->core.output ? raw->core.output : "64 B", 1, 8192, &port,
                     err));
    m->port_nbits = 8 * (unsigned)port;
    SQ_TRY(read_size("buffers.activation", raw->buffers.activation, 64, 1073741824, &m->act_nbytes,
                     err));
    SQ_TRY(
        read_size("buffers.weight", raw->buffers.weight, 64, 1073741824, &m->weight_nbytes, err));
    SQ_TRY(read_size("buffers.output", raw->buffers.output, 64, 1073741824, &m->out_nbytes, err));
    SQ_TRY(check_dram(raw, err));
    SQ_TRY(raw->dram.device ? read_timed(raw, m, err) : read_ideal(raw, m, err));
    if (raw->buffers.scale && !raw->chip)
        return SQ_FAIL(err, SQ_ERR_ARG, "buffers.scale = %.40s, need no such key without chip",
                       raw->buffers.scale);
    if (raw->buffers.scale)
        SQ_TRY(
            read_size("buffers.scale", raw->buffers.scale, 64, 1073741824, &m->scale_nbytes, err));
    if (raw->capacity)
        SQ_TRY(read_size("capacity", raw->capacity, 1, 1e15, &m->capacity_nbytes, err));
    m->vector_lanes = m->core.cols;
    if (raw->vector)
        SQ_TRY(read_count("vector.lanes", raw->vector->lanes, 1, 4096, &m->vector_lanes, err));
    if (raw->vector && raw->vector->clock)
        SQ_TRY(sq_quantity_parse("vector.clock", raw->vector->clock, SQ_DIM_FREQUENCY, 1e6, 1e10,
                                 &m->vector_hz, err));
    if (raw->link) {
        SQ_TRY(sq_quantity_parse("link.bandwidth", raw->link->bandwidth, SQ_DIM_RATE, 1e6, 1e15,
                                 &m->link_bytes_per_s, err));
        SQ_TRY(sq_quantity_parse("link.latency", raw->link->latency, SQ_DIM_TIME, 0, 1e6,
                                 &m->link_latency_ns, err));
    }
    if (raw->chip)
        SQ_TRY(read_chip(raw->chip, m, &m->chip, err));
    SQ_TRY(read_tail(&raw->core, &m->chip, err));
    m->chip.has_lanes = raw->chip && raw->core.low_lanes;
    sq_machine_set_clock(m, m->clock_hz);
    return SQ_OK;
}

// Cycles per burst as a fraction in whole kHz and kB/s: num below 2^36.
void sq_machine_derive(struct sq_machine *m)
{
    const double kilo = 1e3;
    const uint64_t num = (uint64_t)m->burst_nbytes * (uint64_t)llround(m->clock_hz / kilo);
    const uint64_t den = (uint64_t)llround(m->dram_bytes_per_s / kilo);
    const uint64_t common = sq_gcd(num, den);
    m->burst_num = num / common;
    m->burst_den = den / common;
}

void sq_machine_set_clock(struct sq_machine *m, double hz)
{
    m->clock_hz = hz;
    m->dram_latency = (uint64_t)ceil(m->dram_latency_ns * hz * 1e-9);
    sq_machine_derive(m);
}

static enum sq_status settle(struct raw_machine *raw, const char *what, struct sq_machine *m,
                             struct sq_error *err)
{
    struct sq_error inner;
    const enum sq_status status = read_all(raw, m, &inner);
    sq_yaml_free(&machine_schema, raw);
    return status == SQ_OK ? SQ_OK
                           : SQ_FAIL(err, status, "'%s': %.140s", sq_path_tail(what), inner.text);
}

enum sq_status sq_machine_set_netlist(struct sq_machine *m, double period_ns, struct sq_error *err)
{
    const double parts = 1000, unit = m->dram_bytes_per_s / (parts * m->burst_nbytes);
    const bool is_whole = !m->chip.bus_nbytes || m->timed.is_timed;
    const double hz = 1e9 / period_ns, rounded = is_whole ? hz : floor(hz / unit) * unit;
    if (rounded < 1e6)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "clock of the netlist: %g ns a cycle, need at least 1 MHz, and %g MHz for a "
                       "burst of the DRAM in thousandths of cycles",
                       period_ns, 1e-6 * unit);
    m->is_clock_netlist = false;
    sq_machine_set_clock(m, rounded);
    return SQ_OK;
}

enum sq_status sq_machine_load_unclocked(const char *path, struct sq_machine *machine,
                                         struct sq_error *err)
{
    void *raw;
    SQ_TRY(sq_yaml_load(path, &machine_schema, &raw, err));
    return settle(raw, path, machine, err);
}

enum sq_status sq_machine_check_clock(const struct sq_machine *m, const char *what,
                                      struct sq_error *err)
{
    return !m->is_clock_netlist
               ? SQ_OK
               : SQ_FAIL(
                     err, SQ_ERR_ARG,
                     "'%s': clock = netlist, need a frequency here: run --energy knows that of a "
                     "netlist",
                     sq_path_tail(what));
}

enum sq_status sq_machine_load(const char *path, struct sq_machine *machine, struct sq_error *err)
{
    SQ_TRY(sq_machine_load_unclocked(path, machine, err));
    return sq_machine_check_clock(machine, path, err);
}

enum sq_status sq_machine_parse(const char *text, size_t nbytes, const char *what,
                                struct sq_machine *machine, struct sq_error *err)
{
    void *raw;
    SQ_TRY(sq_yaml_parse(text, nbytes, what, &machine_schema, &raw, err));
    SQ_TRY(settle(raw, what, machine, err));
    return sq_machine_check_clock(machine, what, err);
}

// ---- one format on it -----------------------------------------------------------------------

enum sq_status sq_machine_core(const struct sq_machine *machine, const struct sq_format *format,
                               unsigned act_bits, struct sq_core_config *core, struct sq_error *err)
{
    const struct sq_core_config *has = &machine->core;
    if (format->low_bits > has->low_bits || format->high_bits > has->high_bits ||
        act_bits > has->act_bits)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "low, high, act bits = %u, %u, %u do not fit the multipliers of machine "
                       "%.40s (%u, %u, %u)",
                       format->low_bits, format->high_bits, act_bits, machine->name, has->low_bits,
                       has->high_bits, has->act_bits);
    *core = *has;
    core->low_bits = format->low_bits;
    core->high_bits = format->high_bits;
    core->act_bits = act_bits;
    core->bank = format->bank;
    core->high_per_bank = format->high_per_bank;
    if (core->high_lanes > core->bank) // a small bank leaves high multipliers idle
        core->high_lanes = core->bank;
    return sq_core_config_check(core, err);
}
