// SPDX-License-Identifier: Apache-2.0
// The YAML of a GPU (sq_gpu.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/gpu/sq_gpu_law.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_quantity.h"
#include "sim/io/sq_quote.h"
#include "sim/io/sq_yaml.h"

struct raw_kind {
    int dtype, sparsity, source;
    char *macs;
    char *sustained, *launch, *dram, *tail; // may be left out, as may source
};

struct raw_gpu {
    char *name, *device, *calibration, *sms, *clock, *watts;
    struct {
        char *peak, *bandwidth; // bandwidth and source may be left out
        int source;
    } dram;
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

static const cyaml_strval_t sources[] = {{"expected", SQ_GPU_EXPECTED},
                                         {"published", SQ_GPU_PUBLISHED},
                                         {"fitted", SQ_GPU_FITTED},
                                         {"measured", SQ_GPU_MEASURED}};
#define SOURCE_FIELD(type, member)                                                                 \
    CYAML_FIELD_ENUM("source", CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL, type, member, sources,     \
                     SQ_GPU_N_SOURCES)

static const cyaml_schema_field_t kind_fields[] = {
    CYAML_FIELD_ENUM("dtype", CYAML_FLAG_STRICT, struct raw_kind, dtype, dtypes, SQ_GPU_N_DTYPES),
    CYAML_FIELD_ENUM("sparsity", CYAML_FLAG_STRICT, struct raw_kind, sparsity, sparsities, 2),
    TEXT_FIELD("macs", struct raw_kind, macs),
    OPTIONAL_FIELD("sustained", struct raw_kind, sustained),
    OPTIONAL_FIELD("launch", struct raw_kind, launch),
    OPTIONAL_FIELD("dram", struct raw_kind, dram),
    OPTIONAL_FIELD("tail", struct raw_kind, tail),
    SOURCE_FIELD(struct raw_kind, source),
    CYAML_FIELD_END};
static const cyaml_schema_value_t kind_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_kind, kind_fields)};

static const cyaml_schema_field_t dram_fields[] = {
    TEXT_FIELD("peak", struct raw_gpu, dram.peak),
    OPTIONAL_FIELD("bandwidth", struct raw_gpu, dram.bandwidth),
    SOURCE_FIELD(struct raw_gpu, dram.source), CYAML_FIELD_END};

static const cyaml_schema_field_t gpu_fields[] = {
    TEXT_FIELD("name", struct raw_gpu, name),
    TEXT_FIELD("device", struct raw_gpu, device),
    TEXT_FIELD("calibration", struct raw_gpu, calibration),
    TEXT_FIELD("sms", struct raw_gpu, sms),
    TEXT_FIELD("clock", struct raw_gpu, clock),
    TEXT_FIELD("watts", struct raw_gpu, watts),
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

// A number that may be left out: then *value stays.
static enum sq_status optional(const char *what, const char *text, double min, double max,
                               double *value, struct sq_error *err)
{
    return text ? number(what, text, min, max, value, err) : SQ_OK;
}

// The law gives the constants, the file those that it has.
static enum sq_status read_constants(const struct raw_kind *raw, struct sq_gpu_kind *kind,
                                     struct sq_error *err)
{
    double launch_ns;
    SQ_TRY(optional("kinds.sustained", raw->sustained, 0.01, 1.2, &kind->sustained, err));
    SQ_TRY(optional("kinds.dram", raw->dram, 0.01, 1, &kind->dram, err));
    SQ_TRY(optional("kinds.tail", raw->tail, 0, 1e7, &kind->tail, err));
    if (raw->launch) {
        SQ_TRY(
            sq_quantity_parse("kinds.launch", raw->launch, SQ_DIM_TIME, 0, 1e9, &launch_ns, err));
        kind->launch_s = launch_ns * 1e-9;
    }
    kind->source = (enum sq_gpu_source)raw->source;
    return SQ_OK;
}

static enum sq_status read_kind(const struct raw_kind *raw, const struct sq_gpu *gpu,
                                struct sq_gpu_kind *kind, struct sq_error *err)
{
    kind->dtype = (enum sq_gpu_dtype)raw->dtype;
    kind->is_sparse = raw->sparsity != 0;
    if (sq_gpu_find_kind(gpu, kind->dtype, kind->is_sparse))
        return SQ_FAIL(err, SQ_ERR_ARG, "kinds has %s %s twice", kind->is_sparse ? "2:4" : "dense",
                       sq_gpu_dtype_name(kind->dtype));
    if (kind->is_sparse && (kind->dtype == SQ_GPU_INT4 || kind->dtype == SQ_GPU_FP8B ||
                            kind->dtype == SQ_GPU_W8A16 || kind->dtype == SQ_GPU_W4A16))
        return SQ_FAIL(err, SQ_ERR_ARG, "kinds has 2:4 %s, need it dense",
                       sq_gpu_dtype_name(kind->dtype));
    return number("kinds.macs", raw->macs, 1, 1e6, &kind->macs, err);
}

static enum sq_status read_figures(const struct raw_gpu *raw, struct sq_gpu *g,
                                   struct sq_error *err)
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
    SQ_TRY(number("watts", raw->watts, 1, 1e5, &g->watts, err));
    SQ_TRY(
        sq_quantity_parse("dram.peak", raw->dram.peak, SQ_DIM_RATE, 1e9, 1e15, &g->dram_peak, err));
    for (unsigned i = 0; i < raw->kinds_count; i++) {
        SQ_TRY(read_kind(&raw->kinds[i], g, &g->kind[i], err));
        g->n_kinds = i + 1;
    }
    return SQ_OK;
}

static enum sq_status read_all(const struct raw_gpu *raw, struct sq_gpu *g, struct sq_error *err)
{
    SQ_TRY(read_figures(raw, g, err));
    sq_gpu_law_apply(&sq_gpu_law, g);
    if (raw->dram.bandwidth) {
        SQ_TRY(sq_quantity_parse("dram.bandwidth", raw->dram.bandwidth, SQ_DIM_RATE,
                                 0.01 * g->dram_peak, g->dram_peak, &g->dram_bytes_per_s, err));
        g->dram_source = (enum sq_gpu_source)raw->dram.source;
        for (unsigned i = 0; i < g->n_kinds; i++)
            g->kind[i].dram = g->dram_bytes_per_s / g->dram_peak;
    }
    for (unsigned i = 0; i < raw->kinds_count; i++)
        SQ_TRY(read_constants(&raw->kinds[i], &g->kind[i], err));
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
    fprintf(out, "\nsms: %u\nclock: %.4g GHz\nwatts: %.4g\n", g->sms, g->clock_hz * 1e-9, g->watts);
    fprintf(out, "dram:\n  peak: %.4g TB/s\n  bandwidth: %.4g TB/s\n  source: %s\nkinds:\n",
            g->dram_peak * 1e-12, g->dram_bytes_per_s * 1e-12, sq_gpu_source_name(g->dram_source));
    for (unsigned i = 0; i < g->n_kinds; i++) {
        const struct sq_gpu_kind *k = &g->kind[i];
        fprintf(out,
                "  - {dtype: %s, sparsity: \"%s\", macs: %.6g, sustained: %.4g, launch: %.4g us, "
                "dram: %.4g, tail: %.4g, source: %s}\n",
                sq_gpu_dtype_name(k->dtype), k->is_sparse ? "2:4" : "dense", k->macs, k->sustained,
                k->launch_s * 1e6, k->dram, k->tail, sq_gpu_source_name(k->source));
    }
}
