// SPDX-License-Identifier: Apache-2.0
// Computes the derived numbers of a record, writes it as JSON, and checks lines that were written
// (sq_record.h).
#include "gpu/measure/sq_record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"
#include "sim/io/sq_safetensors.h"

// ---- derived numbers ------------------------------------------------------------------------

// The raw numbers that everything derived follows from.
struct raw {
    double median_us, bytes, macs_dense, macs_executed, copy_gbps, read_gbps, peak_tops;
};

struct derived {
    double gbps, pct_of_copy, pct_of_read, tops_dense_equiv, tops_executed, floor_us;
};

static struct derived derive(const struct raw *r)
{
    struct derived d = {0};
    d.gbps = r->bytes / r->median_us / 1e3;
    d.pct_of_copy = r->copy_gbps > 0 ? 100 * d.gbps / r->copy_gbps : 0;
    d.pct_of_read = r->read_gbps > 0 ? 100 * d.gbps / r->read_gbps : 0;
    d.tops_dense_equiv = 2 * r->macs_dense / r->median_us / 1e6;
    d.tops_executed = 2 * r->macs_executed / r->median_us / 1e6;
    const double memory = r->copy_gbps > 0 ? r->bytes / r->copy_gbps / 1e3 : 0;
    const double compute = r->peak_tops > 0 ? 2 * r->macs_executed / r->peak_tops / 1e6 : 0;
    d.floor_us = fmax(memory, compute);
    return d;
}

// ---- writing --------------------------------------------------------------------------------

static json_t *device_json(const struct sq_record_run *run)
{
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:s}", "name", run->device, "cc", run->cc, "sms",
                     run->sms, "l2_mb", run->l2_mb, "mem_gib", run->mem_gib, "driver", run->driver);
}

static json_t *toolchain_json(const struct sq_record_run *run)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "nvcc", run->nvcc, "flags", run->flags,
                     "cublaslt", run->cublaslt, "cusparselt", run->cusparselt, "binary_sha256",
                     run->binary_sha256);
}

static json_t *kernel_json(const struct sq_record *r)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:s}}", "name", r->name, "variant", r->variant,
                     "impl", r->impl, "path", r->path, "native", "mma", r->mma, "int4_mode",
                     r->int4_mode);
}

static json_t *problem_json(const struct sq_record *r)
{
    char digest[SQ_DIGEST_SIZE];
    sq_digest_hex(r->input_digest, digest);
    return json_pack(
        "{s:s, s:i, s:i, s:i, s:s, s:s, s:s, s:f, s:f, s:i, s:i, s:s, s:s, s:s, s:s, s:I, s:s}",
        "op", r->op, "M", r->m, "N", r->n, "K", r->k, "model", r->model, "layer", r->layer,
        "format", r->format, "bits_per_elem", r->bits_per_element, "sparsity", r->sparsity, "bank",
        r->bank, "group", r->group, "dtype_a", r->dtype_x, "dtype_w", r->dtype_w, "dtype_acc",
        r->dtype_acc, "dtype_out", r->dtype_out, "seed", (json_int_t)r->seed, "input_xxh3_128",
        digest);
}

static json_t *timing_json(const struct sq_record *r)
{
    json_t *baselines = json_object();
    for (int i = 0; i < r->n_baselines; i++)
        json_object_set_new(baselines, r->baseline[i].name, json_real(r->baseline[i].median_us));
    return json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:o}",
        "method", "graph_replay_events", "l2", r->buffers > 1 ? "cold_rotated" : "warm", "buffers",
        r->buffers, "launches_per_sample", r->launches_per_sample, "samples", r->samples, "warmup",
        r->warmup, "median_us", r->median_us, "p10_us", r->p10_us, "p90_us", r->p90_us, "min_us",
        r->min_us, "pass2_median_us", r->pass2_median_us, "warm_us", r->warm_us, "single_us",
        r->single_us, "t0_fit_us", r->t0_fit_us, "includes", r->includes, "baselines_us",
        baselines);
}

static json_t *ceilings_json(const struct sq_record_run *run, const struct sq_record *r)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "copy_gbps", run->copy_gbps,
                     "read_gbps", run->read_gbps, "bf16_tflops", run->bf16_tflops, "int8_tops",
                     run->int8_tops, "fp8_tflops", run->fp8_tflops, "sp24_int8_tops",
                     run->sp24_int8_tops, "peak_tops", r->peak_tops);
}

static json_t *derived_json(const struct sq_record_run *run, const struct sq_record *r)
{
    const struct raw raw = {r->median_us,   r->bytes_counted, r->macs_dense, r->macs_executed,
                            run->copy_gbps, run->read_gbps,   r->peak_tops};
    const struct derived d = derive(&raw);
    json_t *speedup = json_object();
    for (int i = 0; i < r->n_baselines; i++)
        json_object_set_new(speedup, r->baseline[i].name,
                            json_real(r->baseline[i].median_us / r->median_us));
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "gbps", d.gbps, "pct_of_copy",
                     d.pct_of_copy, "pct_of_read", d.pct_of_read, "tops_dense_equiv",
                     d.tops_dense_equiv, "tops_executed", d.tops_executed, "floor_us", d.floor_us,
                     "speedup_vs", speedup);
}

static json_t *clocks_json(const struct sq_record *r)
{
    return json_pack("{s:i, s:i, s:i, s:f, s:i, s:I}", "sm_mhz_before", (int)r->sm_mhz_before,
                     "sm_mhz_after", (int)r->sm_mhz_after, "mem_mhz", (int)r->mem_mhz, "power_w",
                     r->power_mw / 1e3, "temp_c", (int)r->temp_c, "throttle_reasons",
                     (json_int_t)r->throttle_reasons);
}

// XXH3-128 over what makes a record itself: kernel, shape, types, variant, revision, time, and the
// times, since a baseline is measured again beside the encoders.
static void record_id(const struct sq_record_run *run, const struct sq_record *r,
                      char id[SQ_DIGEST_SIZE])
{
    char text[512];
    const int n = snprintf(
        text, sizeof text, "%s|%s|%s|%d|%d|%d|%g|%s|%s|%s|%s|%s|%.17g|%.17g|%.17g", r->name,
        r->variant, r->impl, r->m, r->n, r->k, r->sparsity, r->dtype_x, r->dtype_w, r->includes,
        run->revision, run->ts_utc, r->median_us, r->pass2_median_us, r->single_us);
    const size_t used = n < (int)sizeof text ? (size_t)n : sizeof text - 1;
    sq_digest_hex(sq_digest_of(text, used), id);
}

json_t *sq_record_json(const struct sq_record_run *run, const struct sq_record *r)
{
    char id[SQ_DIGEST_SIZE];
    record_id(run, r, id);
    return json_pack(
        "{s:i, s:s, s:s, s:s, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:{s:f, s:f, s:f}, s:o, s:o, "
        "s:{s:s, s:s, s:b, s:f, s:f}, s:o, s:s}",
        "schema_version", SQ_RECORD_SCHEMA, "record_id", id, "ts_utc", run->ts_utc, "git_commit",
        run->revision, "git_dirty", run->is_dirty, "source", "measured", "device", device_json(run),
        "toolchain", toolchain_json(run), "kernel", kernel_json(r), "problem", problem_json(r),
        "timing", timing_json(r), "work", "bytes_counted", r->bytes_counted, "macs_dense",
        r->macs_dense, "macs_executed", r->macs_executed, "derived", derived_json(run, r),
        "ceilings", ceilings_json(run, r), "check", "status", "pass", "ref",
        r->is_by_traces ? "golden_traces"
        : r->is_exact   ? "int64"
                        : "float64",
        "exact", r->is_exact, "rel_fro", r->rel_fro, "max_abs", r->max_abs, "clocks",
        clocks_json(r), "notes", r->notes);
}

// ---- checking -------------------------------------------------------------------------------

// A number at object.key; NaN and absence are refused.
static enum sq_status number(const json_t *record, const char *what, const char *object,
                             const char *key, double min, double *value, struct sq_error *err)
{
    const json_t *o = json_object_get(record, object);
    if (!json_is_object(o))
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: %s is no object", what, object);
    char field[64];
    snprintf(field, sizeof field, "%s.%s", object, key);
    const json_t *v = json_object_get(o, key);
    if (!json_is_number(v))
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: %s is no number", what, field);
    *value = json_number_value(v);
    if (!(*value >= min))
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s: %s = %g, need >= %g", what, field, *value, min);
    return SQ_OK;
}

// A string at object.key, or at key where object is NULL; not empty.
static enum sq_status text(const json_t *record, const char *what, const char *object,
                           const char *key, const char **value, struct sq_error *err)
{
    const json_t *o = object ? json_object_get(record, object) : record;
    *value = json_string_value(json_object_get(o, key));
    if (!*value || !**value)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: %s%s%s is no text", what, object ? object : "",
                       object ? "." : "", key);
    return SQ_OK;
}

static enum sq_status check_texts(const json_t *record, const char *what, struct sq_error *err)
{
    static const char *const field[][2] = {
        {NULL, "record_id"},    {NULL, "ts_utc"},       {NULL, "git_commit"},
        {"device", "name"},     {"device", "cc"},       {"device", "driver"},
        {"toolchain", "nvcc"},  {"toolchain", "flags"}, {"toolchain", "binary_sha256"},
        {"kernel", "name"},     {"kernel", "variant"},  {"kernel", "impl"},
        {"problem", "op"},      {"problem", "format"},  {"problem", "dtype_a"},
        {"problem", "dtype_w"}, {"timing", "method"},   {"timing", "l2"},
        {"timing", "includes"}, {"check", "status"},    {"problem", "input_xxh3_128"},
    };
    const char *value;
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        SQ_TRY(text(record, what, field[i][0], field[i][1], &value, err));
    return SQ_OK;
}

static bool is_one_of(const char *value, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(value, *list) == 0)
            return true;
    return false;
}

static enum sq_status check_claims(const json_t *record, const char *what, struct sq_error *err)
{
    static const char *const sources[] = {"measured", "published", "projected", "simulated", NULL};
    static const char *const modes[] = {
        "none", "native", "emulated_unpack", "ptx_s4_emulated", "storage_only", NULL};
    static const char *const native_cc[] = {"8.0", "8.6", "8.7", "8.9", NULL};
    const char *source, *cc, *status, *mode;
    SQ_TRY(text(record, what, NULL, "source", &source, err));
    if (!is_one_of(source, sources))
        return SQ_FAIL(err, SQ_ERR_DAMAGED,
                       "%s: source = %s, need measured, published, projected or simulated", what,
                       source);
    const char *citation = json_string_value(json_object_get(record, "citation"));
    if (strcmp(source, "published") == 0 && (!citation || !*citation))
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: published without a citation", what);
    SQ_TRY(text(record, what, "check", "status", &status, err));
    if (strcmp(source, "measured") == 0 && strcmp(status, "pass") != 0)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: measured, but check.status = %s", what, status);
    SQ_TRY(text(record, what, "device", "cc", &cc, err));
    const json_t *check = json_object_get(record, "check");
    const char *ref = json_string_value(json_object_get(check, "ref"));
    if (ref && strcmp(ref, "golden_traces") == 0 && json_is_true(json_object_get(check, "exact")))
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: exact, but checked on other shapes only", what);
    const json_t *native = json_object_get(json_object_get(record, "kernel"), "native");
    mode = json_string_value(json_object_get(native, "int4_mode"));
    if (!mode || !is_one_of(mode, modes))
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: kernel.native.int4_mode = %s", what,
                       mode ? mode : "missing");
    if (strcmp(mode, "native") == 0 && !is_one_of(cc, native_cc))
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: native INT4 on compute capability %s", what, cc);
    return SQ_OK;
}

static enum sq_status same(const json_t *record, const char *what, const char *key, double want,
                           struct sq_error *err)
{
    double got;
    SQ_TRY(number(record, what, "derived", key, -HUGE_VAL, &got, err));
    if (fabs(got - want) > 1e-9 * fabs(want))
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: derived.%s = %.17g, the raw numbers give %.17g",
                       what, key, got, want);
    return SQ_OK;
}

static enum sq_status check_speedups(const json_t *record, const char *what, double median_us,
                                     struct sq_error *err)
{
    const json_t *base = json_object_get(json_object_get(record, "timing"), "baselines_us");
    const json_t *speedup = json_object_get(json_object_get(record, "derived"), "speedup_vs");
    if (!json_is_object(base) || !json_is_object(speedup) ||
        json_object_size(base) != json_object_size(speedup))
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: baselines_us and speedup_vs do not match", what);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)base, name, value)
    {
        const double want = json_number_value(value) / median_us;
        const double got = json_number_value(json_object_get(speedup, name));
        if (!(want > 0) || fabs(got - want) > 1e-9 * want)
            return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: speedup_vs.%s = %g, the times give %g", what,
                           name, got, want);
    }
    return SQ_OK;
}

static enum sq_status check_numbers(const json_t *record, const char *what, struct sq_error *err)
{
    double min, p10, p90, dimension, samples, extra;
    struct raw r;
    static const char *const sizes[] = {"M", "N", "K"};
    for (int i = 0; i < 3; i++)
        SQ_TRY(number(record, what, "problem", sizes[i], 0, &dimension, err));
    SQ_TRY(number(record, what, "timing", "samples", 1, &samples, err));
    SQ_TRY(number(record, what, "timing", "min_us", 1e-3, &min, err));
    SQ_TRY(number(record, what, "timing", "p10_us", min, &p10, err));
    SQ_TRY(number(record, what, "timing", "median_us", p10, &r.median_us, err));
    SQ_TRY(number(record, what, "timing", "p90_us", r.median_us, &p90, err));
    static const char *const extras[] = {"warm_us", "single_us", "t0_fit_us"};
    for (int i = 0; i < 3; i++)
        SQ_TRY(number(record, what, "timing", extras[i], 0, &extra, err));
    SQ_TRY(number(record, what, "work", "bytes_counted", 0, &r.bytes, err));
    SQ_TRY(number(record, what, "work", "macs_dense", 0, &r.macs_dense, err));
    SQ_TRY(number(record, what, "work", "macs_executed", 0, &r.macs_executed, err));
    SQ_TRY(number(record, what, "ceilings", "copy_gbps", 0, &r.copy_gbps, err));
    SQ_TRY(number(record, what, "ceilings", "read_gbps", 0, &r.read_gbps, err));
    SQ_TRY(number(record, what, "ceilings", "peak_tops", 0, &r.peak_tops, err));
    const struct derived d = derive(&r);
    SQ_TRY(same(record, what, "gbps", d.gbps, err));
    SQ_TRY(same(record, what, "pct_of_copy", d.pct_of_copy, err));
    SQ_TRY(same(record, what, "pct_of_read", d.pct_of_read, err));
    SQ_TRY(same(record, what, "tops_dense_equiv", d.tops_dense_equiv, err));
    SQ_TRY(same(record, what, "tops_executed", d.tops_executed, err));
    SQ_TRY(same(record, what, "floor_us", d.floor_us, err));
    return check_speedups(record, what, r.median_us, err);
}

enum sq_status sq_record_check(const json_t *record, const char *what, struct sq_error *err)
{
    uint64_t version;
    SQ_TRY(sq_json_uint(record, what, "schema_version", SQ_RECORD_SCHEMA, SQ_RECORD_SCHEMA, 0,
                        &version, err));
    SQ_TRY(check_texts(record, what, err));
    SQ_TRY(check_claims(record, what, err));
    return check_numbers(record, what, err);
}

static enum sq_status check_line(const char *path, size_t number_of_line, const char *line,
                                 size_t nbytes, json_t *ids, struct sq_error *err)
{
    char what[160];
    snprintf(what, sizeof what, "%s line %zu", sq_path_tail(path), number_of_line);
    json_t *record;
    SQ_TRY(sq_json_parse(what, line, nbytes, &record, err));
    enum sq_status status = sq_record_check(record, what, err);
    const char *id = json_string_value(json_object_get(record, "record_id"));
    if (status == SQ_OK && json_object_get(ids, id))
        status = SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: record_id %s is taken", what, id);
    if (status == SQ_OK)
        json_object_set_new(ids, id, json_true());
    json_decref(record);
    return status;
}

enum sq_status sq_record_check_file(const char *path, size_t *n, struct sq_error *err)
{
    struct sq_file_view map;
    *n = 0;
    SQ_TRY(sq_file_map(path, &map, err));
    json_t *ids = json_object();
    enum sq_status status = SQ_OK;
    for (size_t at = 0; at < map.nbytes && status == SQ_OK;) {
        const char *line = (const char *)map.data + at;
        const char *end = memchr(line, '\n', map.nbytes - at);
        const size_t nbytes = end ? (size_t)(end - line) : map.nbytes - at;
        status = check_line(path, *n + 1, line, nbytes, ids, err);
        *n += status == SQ_OK;
        at += nbytes + 1;
    }
    json_decref(ids);
    sq_file_unmap(&map);
    return status;
}
