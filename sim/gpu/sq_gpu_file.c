// SPDX-License-Identifier: Apache-2.0
// The YAML of a GPU (sq_gpu.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/gpu/sq_gpu.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_quantity.h"
#include "sim/io/sq_quote.h"
#include "sim/io/sq_yaml.h"

struct raw_kind {
    int dtype, sparsity, source;
    char *macs, *sustained, *alone, *area, *round;
    char *boost, *few, *splits; // may be left out, as may boost of the machine
};

struct raw_gpu {
    char *name, *device, *calibration, *sms, *clock, *launch, *round, *split, *lone, *boost;
    struct {
        char *size, *usable, *soft, *bandwidth;
    } l2;
    struct {
        char *bandwidth, *peak; // peak may be left out
        int source;
    } dram;
    int panels;
    struct raw_kind *kinds;
    unsigned kinds_count;
};

#define TEXT_FIELD(key, type, member)                                                              \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER, type, member, 0, 63)
#define OPTIONAL_FIELD(key, type, member)                                                          \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type, member, 0, 63)
#define SECTION(name_, fields_)                                                                    \
    {                                                                                              \
        .key = name_, .data_offset = 0, .value = {                                                 \
            .type = CYAML_MAPPING,                                                                 \
            .flags = CYAML_FLAG_DEFAULT,                                                           \
            .data_size = sizeof(struct raw_gpu),                                                   \
            .mapping = {.fields = fields_}                                                         \
        }                                                                                          \
    }

static const cyaml_strval_t dtypes[] = {{"INT8", SQ_GPU_INT8},   {"BF16", SQ_GPU_BF16},
                                        {"FP8", SQ_GPU_FP8},     {"INT4", SQ_GPU_INT4},
                                        {"FP8B", SQ_GPU_FP8B},   {"NVFP4", SQ_GPU_NVFP4},
                                        {"W8A16", SQ_GPU_W8A16}, {"W4A16", SQ_GPU_W4A16}};
static const cyaml_strval_t sparsities[] = {{"dense", 0}, {"2:4", 1}};

static const cyaml_strval_t panels[] = {{"once", 0}, {"reread", 1}};
static const cyaml_strval_t sources[] = {{"measured", SQ_GPU_MEASURED},
                                         {"fitted", SQ_GPU_FITTED},
                                         {"published", SQ_GPU_PUBLISHED},
                                         {"expected", SQ_GPU_EXPECTED}};

static const cyaml_schema_field_t kind_fields[] = {
    CYAML_FIELD_ENUM("dtype", CYAML_FLAG_STRICT, struct raw_kind, dtype, dtypes, SQ_GPU_N_DTYPES),
    CYAML_FIELD_ENUM("sparsity", CYAML_FLAG_STRICT, struct raw_kind, sparsity, sparsities, 2),
    TEXT_FIELD("macs", struct raw_kind, macs),
    TEXT_FIELD("sustained", struct raw_kind, sustained),
    TEXT_FIELD("alone", struct raw_kind, alone),
    TEXT_FIELD("area", struct raw_kind, area),
    TEXT_FIELD("round", struct raw_kind, round),
    OPTIONAL_FIELD("boost", struct raw_kind, boost),
    OPTIONAL_FIELD("few", struct raw_kind, few),
    OPTIONAL_FIELD("splits", struct raw_kind, splits),
    CYAML_FIELD_ENUM("source", CYAML_FLAG_STRICT, struct raw_kind, source, sources,
                     SQ_GPU_N_SOURCES),
    CYAML_FIELD_END};
static const cyaml_schema_value_t kind_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_kind, kind_fields)};

static const cyaml_schema_field_t l2_fields[] = {
    TEXT_FIELD("size", struct raw_gpu, l2.size), TEXT_FIELD("usable", struct raw_gpu, l2.usable),
    TEXT_FIELD("soft", struct raw_gpu, l2.soft),
    TEXT_FIELD("bandwidth", struct raw_gpu, l2.bandwidth), CYAML_FIELD_END};
static const cyaml_schema_field_t dram_fields[] = {
    TEXT_FIELD("bandwidth", struct raw_gpu, dram.bandwidth),
    OPTIONAL_FIELD("peak", struct raw_gpu, dram.peak),
    CYAML_FIELD_ENUM("source", CYAML_FLAG_STRICT, struct raw_gpu, dram.source, sources,
                     SQ_GPU_N_SOURCES),
    CYAML_FIELD_END};

static const cyaml_schema_field_t gpu_fields[] = {
    TEXT_FIELD("name", struct raw_gpu, name),
    TEXT_FIELD("device", struct raw_gpu, device),
    TEXT_FIELD("calibration", struct raw_gpu, calibration),
    TEXT_FIELD("sms", struct raw_gpu, sms),
    TEXT_FIELD("clock", struct raw_gpu, clock),
    TEXT_FIELD("launch", struct raw_gpu, launch),
    TEXT_FIELD("round", struct raw_gpu, round),
    TEXT_FIELD("split", struct raw_gpu, split),
    TEXT_FIELD("lone", struct raw_gpu, lone),
    OPTIONAL_FIELD("boost", struct raw_gpu, boost),
    CYAML_FIELD_ENUM("panels", CYAML_FLAG_STRICT, struct raw_gpu, panels, panels, 2),
    SECTION("l2", l2_fields),
    SECTION("dram", dram_fields),
    CYAML_FIELD_SEQUENCE("kinds", CYAML_FLAG_POINTER, struct raw_gpu, kinds, &kind_schema, 1,
                         SQ_GPU_MAX_KINDS),
    CYAML_FIELD_END};
static const cyaml_schema_value_t gpu_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_gpu, gpu_fields)};

static enum sq_status number(const char *what, const char *text, double min, double max,
                             double *value, struct sq_error *err)
{
    char *end;
    *value = strtod(text, &end);
    if (text[0] == '\0' || !strchr(".0123456789", text[0]) || *end != '\0' ||
        !(*value >= min && *value <= max))
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s = %.40s, need %g..%g", what, text, min, max);
    return SQ_OK;
}

// A number that may be left out.
static enum sq_status optional(const char *what, const char *text, double min, double max,
                               double otherwise, double *value, struct sq_error *err)
{
    *value = otherwise;
    return text ? number(what, text, min, max, value, err) : SQ_OK;
}

static enum sq_status read_splits(const struct raw_kind *raw, struct sq_gpu_kind *kind,
                                  struct sq_error *err)
{
    double splits;
    SQ_TRY(optional("kinds.splits", raw->splits, 1, 16, kind->is_sparse ? 2 : 16, &splits, err));
    kind->splits = (unsigned)splits;
    if (kind->splits != splits || (kind->splits & (kind->splits - 1)))
        return SQ_FAIL(err, SQ_ERR_RANGE, "kinds.splits = %.40s, need 1, 2, 4, 8 or 16",
                       raw->splits);
    return SQ_OK;
}

static enum sq_status read_kind(const struct raw_kind *raw, const struct sq_gpu *gpu,
                                struct sq_gpu_kind *kind, struct sq_error *err)
{
    kind->dtype = (enum sq_gpu_dtype)raw->dtype;
    kind->is_sparse = raw->sparsity != 0;
    kind->source = (enum sq_gpu_source)raw->source;
    if (sq_gpu_find_kind(gpu, kind->dtype, kind->is_sparse))
        return SQ_FAIL(err, SQ_ERR_ARG, "kinds has %s %s twice", kind->is_sparse ? "2:4" : "dense",
                       sq_gpu_dtype_name(kind->dtype));
    if (kind->is_sparse && (kind->dtype == SQ_GPU_INT4 || kind->dtype == SQ_GPU_FP8B ||
                            kind->dtype == SQ_GPU_W8A16 || kind->dtype == SQ_GPU_W4A16))
        return SQ_FAIL(err, SQ_ERR_ARG, "kinds has 2:4 %s, need it dense",
                       sq_gpu_dtype_name(kind->dtype));
    SQ_TRY(number("kinds.macs", raw->macs, 1, 1e6, &kind->macs, err));
    SQ_TRY(number("kinds.sustained", raw->sustained, 0.01, 1.2, &kind->sustained, err));
    SQ_TRY(number("kinds.alone", raw->alone, 0.05, 2, &kind->alone, err));
    SQ_TRY(number("kinds.area", raw->area, 0, 2, &kind->area, err));
    SQ_TRY(number("kinds.round", raw->round, 0, 100, &kind->round, err));
    SQ_TRY(optional("kinds.boost", raw->boost, 1, 1.5, 1, &kind->boost, err));
    SQ_TRY(optional("kinds.few", raw->few, 0.5, 1, 1, &kind->few, err));
    return read_splits(raw, kind, err);
}

static enum sq_status read_all(const struct raw_gpu *raw, struct sq_gpu *g, struct sq_error *err)
{
    double sms;
    memset(g, 0, sizeof *g);
    snprintf(g->name, sizeof g->name, "%.63s", raw->name);
    snprintf(g->device, sizeof g->device, "%.63s", raw->device);
    snprintf(g->calibration, sizeof g->calibration, "%.63s", raw->calibration);
    if (!g->name[0] || !g->device[0])
        return SQ_FAIL(err, SQ_ERR_ARG, "%s is empty", g->name[0] ? "device" : "name");
    SQ_TRY(number("sms", raw->sms, 1, 100000, &sms, err));
    if (sms != floor(sms))
        return SQ_FAIL(err, SQ_ERR_RANGE, "sms = %.40s, need a whole number", raw->sms);
    g->sms = (unsigned)sms;
    SQ_TRY(sq_quantity_parse("clock", raw->clock, SQ_DIM_FREQUENCY, 1e6, 1e10, &g->clock_hz, err));
    SQ_TRY(sq_quantity_parse("launch", raw->launch, SQ_DIM_TIME, 0, 1e9, &g->launch_s, err));
    SQ_TRY(sq_quantity_parse("round", raw->round, SQ_DIM_TIME, 0, 1e9, &g->round_s, err));
    SQ_TRY(sq_quantity_parse("split", raw->split, SQ_DIM_TIME, 0, 1e9, &g->split_s, err));
    SQ_TRY(number("lone", raw->lone, 0, 2, &g->lone, err));
    g->boost_s = 1e6; // 1 ms in ns
    if (raw->boost)
        SQ_TRY(sq_quantity_parse("boost", raw->boost, SQ_DIM_TIME, 1, 1e12, &g->boost_s, err));
    SQ_TRY(sq_quantity_parse("l2.size", raw->l2.size, SQ_DIM_SIZE, 1e4, 1e11, &g->l2_nbytes, err));
    SQ_TRY(number("l2.usable", raw->l2.usable, 0.01, 1, &g->l2_usable, err));
    SQ_TRY(number("l2.soft", raw->l2.soft, 0.001, 100, &g->l2_soft, err));
    SQ_TRY(sq_quantity_parse("l2.bandwidth", raw->l2.bandwidth, SQ_DIM_RATE, 1e9, 1e15,
                             &g->l2_bytes_per_s, err));
    SQ_TRY(sq_quantity_parse("dram.bandwidth", raw->dram.bandwidth, SQ_DIM_RATE, 1e9, 1e15,
                             &g->dram_bytes_per_s, err));
    if (raw->dram.peak)
        SQ_TRY(sq_quantity_parse("dram.peak", raw->dram.peak, SQ_DIM_RATE, 1e9, 1e15, &g->dram_peak,
                                 err));
    g->dram_source = (enum sq_gpu_source)raw->dram.source;
    g->rereads_24 = raw->panels != 0;
    g->launch_s *= 1e-9; // sq_quantity_parse gives ns
    g->round_s *= 1e-9;
    g->split_s *= 1e-9;
    g->boost_s *= 1e-9;
    for (unsigned i = 0; i < raw->kinds_count; i++) {
        SQ_TRY(read_kind(&raw->kinds[i], g, &g->kind[i], err));
        g->n_kinds = i + 1;
    }
    return SQ_OK;
}

static enum sq_status settle(struct raw_gpu *raw, const char *what, struct sq_gpu *gpu,
                             struct sq_error *err)
{
    struct sq_error inner;
    const enum sq_status status = read_all(raw, gpu, &inner);
    sq_yaml_free(&gpu_schema, raw);
    return status == SQ_OK ? SQ_OK
                           : SQ_FAIL(err, status, "'%s': %.140s", sq_path_tail(what), inner.text);
}

enum sq_status sq_gpu_load(const char *path, struct sq_gpu *gpu, struct sq_error *err)
{
    void *raw;
    SQ_TRY(sq_yaml_load(path, &gpu_schema, &raw, err));
    return settle(raw, path, gpu, err);
}

enum sq_status sq_gpu_parse(const char *text, size_t nbytes, const char *what, struct sq_gpu *gpu,
                            struct sq_error *err)
{
    void *raw;
    SQ_TRY(sq_yaml_parse(text, nbytes, what, &gpu_schema, &raw, err));
    return settle(raw, what, gpu, err);
}

void sq_gpu_write(const struct sq_gpu *g, const char *comment, FILE *out)
{
    fprintf(out, "# SPDX-License-Identifier: Apache-2.0\n%s", comment);
    fputs("name: ", out);
    sq_put_yaml(out, g->name);
    fputs("\ndevice: ", out);
    sq_put_yaml(out, g->device);
    fputs(" # what records call it\ncalibration: ", out);
    sq_put_yaml(out, g->calibration);
    fprintf(out, "\nsms: %u\nclock: %.4g GHz\n", g->sms, g->clock_hz * 1e-9);
    fprintf(out, "l2:\n  size: %.4g MiB\n  usable: %.4g\n  soft: %.4g\n  bandwidth: %.4g TB/s\n",
            g->l2_nbytes / 1048576, g->l2_usable, g->l2_soft, g->l2_bytes_per_s * 1e-12);
    fprintf(out, "dram:\n  bandwidth: %.4g TB/s\n", g->dram_bytes_per_s * 1e-12);
    if (g->dram_peak > 0)
        fprintf(out, "  peak: %.4g TB/s\n", g->dram_peak * 1e-12);
    fprintf(out, "  source: %s\n", sq_gpu_source_name(g->dram_source));
    fprintf(out,
            "launch: %.4g us\nround: %.4g us\nsplit: %.4g us\nboost: %.4g us\nlone: %.4g\n"
            "panels: %s\nkinds:\n",
            g->launch_s * 1e6, g->round_s * 1e6, g->split_s * 1e6, g->boost_s * 1e6, g->lone,
            g->rereads_24 ? "reread" : "once");
    for (unsigned i = 0; i < g->n_kinds; i++) {
        const struct sq_gpu_kind *k = &g->kind[i];
        fprintf(out,
                "  - {dtype: %s, sparsity: \"%s\", macs: %.6g, sustained: %.4g, alone: %.4g, "
                "area: %.4g, round: %.4g, boost: %.4g, few: %.4g, splits: %u, source: %s}\n",
                sq_gpu_dtype_name(k->dtype), k->is_sparse ? "2:4" : "dense", k->macs, k->sustained,
                k->alone, k->area, k->round, k->boost, k->few, k->splits,
                sq_gpu_source_name(k->source));
    }
}
