// SPDX-License-Identifier: Apache-2.0
// Reads a DRAM device from YAML, one end of its ranges (sq_dram_device.h).
#include "sim/dram/sq_dram_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_yaml.h"

struct raw_source {
    char *id, *text;
};
struct raw_value {
    char *key, *value, *source;
};
struct raw_device {
    char *name, *standard;
    struct raw_source *sources;
    unsigned sources_count;
    struct raw_value *values;
    unsigned values_count;
};

#define TEXT_FIELD(type, member, most)                                                             \
    CYAML_FIELD_STRING_PTR(#member, CYAML_FLAG_POINTER, type, member, 1, most)

static const cyaml_schema_field_t source_fields[] = {TEXT_FIELD(struct raw_source, id, 7),
                                                     TEXT_FIELD(struct raw_source, text, 511),
                                                     CYAML_FIELD_END};
static const cyaml_schema_value_t source_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_source, source_fields)};
static const cyaml_schema_field_t value_fields[] = {
    TEXT_FIELD(struct raw_value, key, 15), TEXT_FIELD(struct raw_value, value, 31),
    TEXT_FIELD(struct raw_value, source, 7), CYAML_FIELD_END};
static const cyaml_schema_value_t value_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_value, value_fields)};
static const cyaml_schema_field_t device_fields[] = {
    TEXT_FIELD(struct raw_device, name, 31), TEXT_FIELD(struct raw_device, standard, 15),
    CYAML_FIELD_SEQUENCE("sources", CYAML_FLAG_POINTER, struct raw_device, sources, &source_schema,
                         1, 16),
    CYAML_FIELD_SEQUENCE("values", CYAML_FLAG_POINTER, struct raw_device, values, &value_schema, 1,
                         64),
    CYAML_FIELD_END};
static const cyaml_schema_value_t device_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_device, device_fields)};

enum { TIME_MAX = 1000000, CLOCK_MIN = 100, CLOCK_MAX = 10000 };

static const struct raw_value *find(const struct raw_device *raw, const char *key)
{
    for (unsigned i = 0; i < raw->values_count; i++)
        if (strcmp(raw->values[i].key, key) == 0)
            return &raw->values[i];
    return NULL;
}

// A number, or FROM..TO, with its unit: clocks (""), ps or ns. The end of the range that is wanted, in clocks, or in ps
// where the clock is 0.
static enum sq_status read_value(const struct raw_value *v, uint32_t clock_ps, bool wants_high,
                                 bool *is_range, uint32_t *value, struct sq_error *err)
{
    const char *const dots = strstr(v->value, "..");
    char first[32] = "", *end;
    double range[2];
    memcpy(first, v->value, dots ? (size_t)(dots - v->value) : strlen(v->value)); // at most 31
    range[0] = range[1] = strtod(first, &end);
    bool is_number = first[0] >= '0' && first[0] <= '9' && (!dots || *end == '\0');
    if (dots) {
        range[1] = strtod(dots + 2, &end);
        is_number = is_number && dots[2] >= '0' && dots[2] <= '9';
    }
    const double unit = strcmp(end, "") == 0      ? (clock_ps ? 1 : -1)
                        : strcmp(end, " ps") == 0 ? 1.0 / (clock_ps ? clock_ps : 1)
                        : strcmp(end, " ns") == 0 ? 1e3 / (clock_ps ? clock_ps : 1)
                                                  : -1;
    if (!is_number || unit < 0 || range[1] < range[0] || (dots && range[1] == range[0]))
        return SQ_FAIL(err, SQ_ERR_ARG, "%.15s = %.31s, need a number, or FROM..TO, %s", v->key,
                       v->value, clock_ps ? "of clocks, ps or ns" : "of ps or ns");
    const double x = range[wants_high] * unit;
    // A time that is written in ns may be a whole number of clocks with an error of rounding.
    const double up = (double)(uint64_t)x + (x - (double)(uint64_t)x > 1e-6 ? 1 : 0);
    if (range[1] * unit > TIME_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%.15s = %.31s, need at most %d clocks", v->key, v->value,
                       TIME_MAX);
    *is_range = *is_range || dots != NULL;
    *value = (uint32_t)up;
    return SQ_OK;
}

static enum sq_status read_shape(const struct raw_device *raw, const char *key, uint32_t least,
                                 uint32_t most, bool is_power, uint32_t *value,
                                 struct sq_error *err)
{
    const struct raw_value *const v = find(raw, key);
    char *end;
    if (!v)
        return SQ_FAIL(err, SQ_ERR_ARG, "values has no key %s, need one", key);
    const unsigned long x = strtoul(v->value, &end, 10);
    if (v->value[0] < '0' || v->value[0] > '9' || *end != '\0' || x < least || x > most)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s = %.31s, need %u..%u", key, v->value, least, most);
    if (is_power && (x & (x - 1)) != 0)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s = %lu, need a power of two", key, x);
    *value = (uint32_t)x;
    return SQ_OK;
}

static const struct {
    const char *key;
    int usual, sense;
} times[] = {
#define ROW(key, usual, sense) {#key, usual, sense},
    SQ_DRAM_TIMES(ROW)
#undef ROW
};

static const char *const shapes[] = {
#define ROW(key, least, most, power) #key,
    SQ_DRAM_SHAPES(ROW)
#undef ROW
};

static const char *const energies[] = {"Eact", "Eread", "Ewrite", "Erefresh", "background"};
enum { N_ENERGIES = sizeof energies / sizeof energies[0], ENERGY_MAX = 10000000 };

static bool is_known(const char *key)
{
    bool known = strcmp(key, "clock") == 0;
    for (size_t i = 0; i < N_ENERGIES; i++)
        known = known || strcmp(key, energies[i]) == 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        known = known || strcmp(key, shapes[i]) == 0;
    for (size_t i = 0; i < SQ_DRAM_N_TIMES; i++)
        known = known || strcmp(key, times[i].key) == 0;
    return known;
}

// Each key is known and stands once, and its source is one of the list.
static enum sq_status check_values(const struct raw_device *raw, struct sq_error *err)
{
    for (unsigned i = 0; i < raw->values_count; i++) {
        const struct raw_value *const v = &raw->values[i];
        bool has_source = false;
        for (unsigned j = 0; j < raw->sources_count; j++)
            has_source = has_source || strcmp(v->source, raw->sources[j].id) == 0;
        if (!is_known(v->key))
            return SQ_FAIL(err, SQ_ERR_ARG, "key = %.15s, need one of sq_dram_device.h", v->key);
        if (find(raw, v->key) != v)
            return SQ_FAIL(err, SQ_ERR_ARG, "key = %.15s stands twice, need it once", v->key);
        if (!has_source)
            return SQ_FAIL(err, SQ_ERR_ARG, "%.15s: source = %.7s, need the id of one in sources",
                           v->key, v->source);
    }
    return SQ_OK;
}

static enum sq_status read_times(const struct raw_device *raw, enum sq_dram_end end,
                                 struct sq_dram_device *d, struct sq_error *err)
{
    for (unsigned i = 0; i < SQ_DRAM_N_TIMES; i++) {
        const struct raw_value *const v = find(raw, times[i].key);
        if (!v && times[i].usual < 0)
            return SQ_FAIL(err, SQ_ERR_ARG, "values has no key %s, need one", times[i].key);
        if (!v) // keys that stand for others stand behind them
            d->t[i] = times[i].usual == SQ_DRAM_ZERO ? 0 : d->t[times[i].usual];
        else
            SQ_TRY(read_value(v, d->clock_ps, (end == SQ_DRAM_SLOW) == (times[i].sense > 0),
                              &d->is_range, &d->t[i], err));
    }
    return SQ_OK;
}

static enum sq_status read_energies(const struct raw_device *raw, struct sq_dram_energy *e,
                                    struct sq_error *err)
{
    double *const to[N_ENERGIES] = {&e->act_pj, &e->read_pj, &e->write_pj, &e->refresh_pj,
                                    e->background_mw};
    unsigned n = 0;
    for (unsigned i = 0; i < N_ENERGIES; i++) {
        const struct raw_value *const v = find(raw, energies[i]);
        const bool is_power = i == N_ENERGIES - 1;
        const char *const dots = v && is_power ? strstr(v->value, "..") : NULL;
        char *end = NULL;
        if (!v)
            continue;
        to[i][0] = strtod(v->value, &end);
        const bool first = v->value[0] >= '0' && v->value[0] <= '9' && to[i][0] <= ENERGY_MAX;
        if (is_power)
            to[i][1] = dots ? strtod(dots + 2, &end) : to[i][0];
        if (!first || strcmp(end, is_power ? " mW" : " pJ") != 0 ||
            (is_power && (to[i][1] < to[i][0] || to[i][1] > ENERGY_MAX)))
            return SQ_FAIL(err, SQ_ERR_RANGE, "%.15s = %.31s, need 0..%d %s%s", v->key, v->value,
                           ENERGY_MAX, is_power ? "mW" : "pJ", is_power ? ", or FROM..TO" : "");
        n++;
    }
    e->is_there = n > 0;
    if (n > 0 && n < N_ENERGIES)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "values has %u of Eact, Eread, Ewrite, Erefresh and background, need all or "
                       "none",
                       n);
    return SQ_OK;
}

// What the model takes for granted.
static enum sq_status check_device(const struct sq_dram_device *d, struct sq_error *err)
{
    const uint32_t burst = sq_dram_burst_clocks(d), *const t = d->t;
    if (sq_dram_n_banks(d) > SQ_DRAM_BANKS_MAX || d->groups * d->banks > 64)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "a channel has %u banks, need at most %d, and 64 of a rank",
                       sq_dram_n_banks(d), SQ_DRAM_BANKS_MAX);
    if (d->columns % d->burst != 0 || d->width % 8 * d->burst % 8 != 0)
        return SQ_FAIL(err, SQ_ERR_RANGE, "columns = %u, need a multiple of burst = %u", d->columns,
                       d->burst);
    if (t[SQ_DRAM_T_CCDS] < burst || t[SQ_DRAM_T_CCDSW] < burst)
        return SQ_FAIL(err, SQ_ERR_RANGE, "CCDS = %u, need at least the %u clocks of a burst",
                       t[SQ_DRAM_T_CCDS], burst);
    if (t[SQ_DRAM_T_RTW] + t[SQ_DRAM_T_CWL] < t[SQ_DRAM_T_CL] + t[SQ_DRAM_T_DQSCK] + burst)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "RTW = %u, need at least CL + DQSCK + burst - CWL, so that no beats meet",
                       t[SQ_DRAM_T_RTW]);
    if (t[SQ_DRAM_T_REFI] <= t[SQ_DRAM_T_RFC] + t[SQ_DRAM_T_RC] + t[SQ_DRAM_T_RPab])
        return SQ_FAIL(err, SQ_ERR_RANGE, "REFI = %u, need more than RFC + RC + RPab",
                       t[SQ_DRAM_T_REFI]);
    if ((t[SQ_DRAM_T_REFIpb] == 0) != (t[SQ_DRAM_T_RFCpb] == 0) ||
        (t[SQ_DRAM_T_REFIpb] != 0 && t[SQ_DRAM_T_REFIpb] <= t[SQ_DRAM_T_PBR]))
        return SQ_FAIL(err, SQ_ERR_RANGE, "REFIpb = %u, need RFCpb as well, and more than PBR = %u",
                       t[SQ_DRAM_T_REFIpb], t[SQ_DRAM_T_PBR]);
    return SQ_OK;
}

static enum sq_status read_all(const struct raw_device *raw, enum sq_dram_end end,
                               struct sq_dram_device *d, struct sq_error *err)
{
    const struct raw_value *const clock = find(raw, "clock");
    memset(d, 0, sizeof *d);
    snprintf(d->name, sizeof d->name, "%s", raw->name);
    snprintf(d->standard, sizeof d->standard, "%s", raw->standard);
    SQ_TRY(check_values(raw, err));
    if (!clock)
        return SQ_FAIL(err, SQ_ERR_ARG, "values has no key clock, need one");
    SQ_TRY(read_value(clock, 0, false, &d->is_range, &d->clock_ps, err));
    if (d->clock_ps < CLOCK_MIN || d->clock_ps > CLOCK_MAX || d->is_range)
        return SQ_FAIL(err, SQ_ERR_RANGE, "clock = %.31s, need %d..%d ps", clock->value, CLOCK_MIN,
                       CLOCK_MAX);
#define ROW(key, least, most, power)                                                               \
    SQ_TRY(read_shape(raw, #key, least, most, power, &d->key, err));
    SQ_DRAM_SHAPES(ROW)
#undef ROW
    SQ_TRY(read_times(raw, end, d, err));
    SQ_TRY(read_energies(raw, &d->energy, err));
    return check_device(d, err);
}

static enum sq_status settle(struct raw_device *raw, const char *what, enum sq_dram_end end,
                             struct sq_dram_device *d, struct sq_error *err)
{
    struct sq_error inner;
    const enum sq_status status = read_all(raw, end, d, &inner);
    sq_yaml_free(&device_schema, raw);
    return status == SQ_OK ? SQ_OK
                           : SQ_FAIL(err, status, "'%s': %.140s", sq_path_tail(what), inner.text);
}

enum sq_status sq_dram_device_load(const char *path, enum sq_dram_end end,
                                   struct sq_dram_device *device, struct sq_error *err)
{
    void *raw;
    SQ_TRY(sq_yaml_load(path, &device_schema, &raw, err));
    return settle(raw, path, end, device, err);
}

enum sq_status sq_dram_device_parse(const char *text, size_t nbytes, const char *what,
                                    enum sq_dram_end end, struct sq_dram_device *device,
                                    struct sq_error *err)
{
    void *raw;
    SQ_TRY(sq_yaml_parse(text, nbytes, what, &device_schema, &raw, err));
    return settle(raw, what, end, device, err);
}

// Made from sim/dram/devices/ when sqsim is built: name and text of each, NULL behind the last.
extern const char *const sq_dram_devices[][2];

enum sq_status sq_dram_device_named(const char *name, enum sq_dram_end end,
                                    struct sq_dram_device *device, struct sq_error *err)
{
    char known[192] = "";
    for (unsigned i = 0; sq_dram_devices[i][0]; i++) {
        const char *const text = sq_dram_devices[i][1];
        const size_t n = strlen(known);
        if (strcmp(name, sq_dram_devices[i][0]) == 0)
            return sq_dram_device_parse(text, strlen(text), name, end, device, err);
        snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", sq_dram_devices[i][0]);
    }
    return SQ_FAIL(err, SQ_ERR_ARG, "device = %.40s, need one of: %s", name, known);
}

double sq_dram_peak(const struct sq_dram_device *d)
{
    return (double)d->pseudo * sq_dram_burst_nbytes(d) /
           (1e-12 * d->clock_ps * sq_dram_burst_clocks(d));
}
