// SPDX-License-Identifier: Apache-2.0
// Reads measured times from both forms of CSV and from JSON lines (sq_gpu_records.h).
#include "sim/gpu/sq_gpu_records.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_csv_read.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_grow.h"
#include "sim/io/sq_json.h"

enum { MAX_LINE = 65536, MAX_ROWS = 1000000 };

struct reader {
    const char *what, *device;
    unsigned line;
    struct sq_gpu_records *g;
    struct sq_error *err;
};

#define REFUSE(r, ...)                                                                             \
    do {                                                                                           \
        struct sq_error refuse_;                                                                   \
        (void)SQ_FAIL(&refuse_, SQ_ERR_DAMAGED, __VA_ARGS__);                                      \
        return SQ_FAIL((r)->err, SQ_ERR_DAMAGED, "'%s' line %u: %.120s", sq_path_tail((r)->what),  \
                       (r)->line, refuse_.text);                                                   \
    } while (0)

// ---- names ----------------------------------------------------------------------------------

static bool holds(const char *text, const char *part)
{
    char a[128], b[128];
    const char *from[2] = {text, part};
    char *to[2] = {a, b};
    for (unsigned i = 0; i < 2; i++) {
        size_t n = 0;
        for (const char *c = from[i]; *c && n < 127; c++)
            if (!isspace((unsigned char)*c) && *c != '_' && *c != '-')
                to[i][n++] = (char)tolower((unsigned char)*c);
        to[i][n] = '\0';
    }
    return strstr(a, b) != NULL;
}

static bool read_dtype(const char *text, enum sq_gpu_dtype *dtype)
{
    static const struct {
        const char *name;
        enum sq_gpu_dtype dtype;
    } names[] = {{"INT8", SQ_GPU_INT8}, {"s8", SQ_GPU_INT8},    {"BF16", SQ_GPU_BF16},
                 {"FP8", SQ_GPU_FP8},   {"e4m3", SQ_GPU_FP8},   {"FP8E4M3", SQ_GPU_FP8},
                 {"INT4", SQ_GPU_INT4}, {"s4", SQ_GPU_INT4},    {"FP4", SQ_GPU_NVFP4},
                 {"FP8B", SQ_GPU_FP8B}, {"NVFP4", SQ_GPU_NVFP4}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcasecmp(text, names[i].name) == 0) {
            *dtype = names[i].dtype;
            return true;
        }
    return false;
}

static unsigned out_nbytes(const char *text)
{
    static const char *const four[] = {"INT32", "s32", "FP32", "f32"};
    static const char *const two[] = {"BF16", "FP16", "f16"};
    for (size_t i = 0; i < 4; i++)
        if (strcasecmp(text, four[i]) == 0)
            return 4;
    for (size_t i = 0; i < 3; i++)
        if (strcasecmp(text, two[i]) == 0)
            return 2;
    return strcasecmp(text, "INT8") == 0 || strcasecmp(text, "s8") == 0 ? 1 : 0;
}

// -1: neither dense nor 2:4.
static int read_sparsity(const char *text)
{
    if (strcasecmp(text, "dense") == 0)
        return 0;
    for (size_t i = 0; sq_formats[i]; i++)
        if (strcasecmp(text, sq_formats[i]->name) == 0 && sq_formats[i]->gpu &&
            sq_formats[i]->gpu->is_sparse)
            return 1;
    return strcmp(text, "2:4") == 0 ? 1 : -1;
}

// ---- rows -----------------------------------------------------------------------------------

static enum sq_status add(struct reader *r, const struct sq_gpu_record *record)
{
    struct sq_gpu_records *g = r->g;
    if (g->n == MAX_ROWS)
        REFUSE(r, "more than %d rows", MAX_ROWS);
    SQ_TRY(SQ_GROW(g->r, g->n, r->err, "%zu records", g->n));
    g->r[g->n] = *record;
    g->r[g->n++].line = r->line;
    return SQ_OK;
}

// ---- CSV ------------------------------------------------------------------------------------

// From P10 on they may be left out.
enum column { GPU, SPARSITY, DTYPE_IN, DTYPE_OUT, M, N, K, LATENCY, P10, P90, KERNEL, N_COLUMNS };
static const char *const column_names[N_COLUMNS] = {"gpu",    "sparsity", "dtype_in", "dtype_out",
                                                    "M",      "N",        "K",        "lat_us",
                                                    "p10_us", "p90_us",   "kernel"};

static enum sq_status read_number(struct reader *r, const char *name, const char *text, double max,
                                  double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || !(*value > 0 && *value <= max))
        REFUSE(r, "%s = %.30s, need a number in (0, %g]", name, text[0] ? text : "(nothing)", max);
    return SQ_OK;
}

static enum sq_status read_size(struct reader *r, const char *name, const char *text, uint64_t *v)
{
    double d;
    SQ_TRY(read_number(r, name, text, 1 << 24, &d));
    if (d != floor(d))
        REFUSE(r, "%s = %.30s, need a whole number", name, text);
    *v = (uint64_t)d;
    return SQ_OK;
}

// Where each of `names` is among the cells; the first `needed` must be there.
static enum sq_status csv_header(struct reader *r, const struct sq_csv_reader *csv,
                                 const char *const names[], unsigned n_names, unsigned needed,
                                 unsigned at[])
{
    for (unsigned c = 0; c < n_names; c++)
        if (!sq_csv_column(csv, names[c], &at[c]) && c < needed)
            REFUSE(r, "no column %s in the header", names[c]);
    return SQ_OK;
}

static enum sq_status csv_cells(struct reader *r, unsigned n, const char *const names[],
                                unsigned needed, const unsigned at[])
{
    for (unsigned c = 0; c < needed; c++)
        if (at[c] >= n)
            REFUSE(r, "%u values, no %s among them", n, names[c]);
    return SQ_OK;
}

// Whether a time says that there is none.
static bool is_no_time(const char *text)
{
    static const char *const none[] = {"", "nan", "-", "n/a", "none", "null"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (strcasecmp(text, none[i]) == 0)
            return true;
    return false;
}

// What a row may have: a spread, and a name of its own.
static enum sq_status csv_extras(struct reader *r, char *const *cell, unsigned n,
                                 const unsigned at[N_COLUMNS], struct sq_gpu_record *record)
{
    double low = 0, high = 0;
    if (at[KERNEL] < n)
        snprintf(record->name, sizeof record->name, "%.31s", cell[at[KERNEL]]);
    if (at[P10] >= n || at[P90] >= n || is_no_time(cell[at[P10]]) || is_no_time(cell[at[P90]]))
        return SQ_OK;
    SQ_TRY(read_number(r, "p10_us", cell[at[P10]], 1e9, &low));
    SQ_TRY(read_number(r, "p90_us", cell[at[P90]], 1e9, &high));
    if (low > high)
        REFUSE(r, "p10_us = %g is above p90_us = %g", low, high);
    record->low_s = low * 1e-6;
    record->high_s = high * 1e-6;
    return SQ_OK;
}

static enum sq_status csv_row(struct reader *r, char *const *cell, unsigned n,
                              const unsigned at[N_COLUMNS])
{
    struct sq_gpu_record record = {.seconds = 0};
    double us;
    SQ_TRY(csv_cells(r, n, column_names, P10, at));
    SQ_TRY(read_size(r, "M", cell[at[M]], &record.gemm.m));
    SQ_TRY(read_size(r, "N", cell[at[N]], &record.gemm.n));
    SQ_TRY(read_size(r, "K", cell[at[K]], &record.gemm.k));
    if (is_no_time(cell[at[LATENCY]])) {
        r->g->no_time++;
        sq_gpu_leave(&r->g->left, r->line, "no time (lat_us = %.20s)", cell[at[LATENCY]]);
        return SQ_OK;
    }
    SQ_TRY(read_number(r, "lat_us", cell[at[LATENCY]], 1e9, &us));
    SQ_TRY(csv_extras(r, cell, n, at, &record));
    record.seconds = us * 1e-6;
    const int sparsity = read_sparsity(cell[at[SPARSITY]]);
    record.gemm.is_sparse = sparsity == 1;
    record.gemm.out_nbytes = out_nbytes(cell[at[DTYPE_OUT]]);
    if (!holds(cell[at[GPU]], r->device)) {
        r->g->other_device++;
        return SQ_OK;
    }
    if (sparsity < 0 || record.gemm.out_nbytes == 0 ||
        !read_dtype(cell[at[DTYPE_IN]], &record.gemm.dtype)) {
        r->g->other_kind++;
        sq_gpu_leave(&r->g->left, r->line, "%.12s %.12s to %.12s: no kind of the model",
                     cell[at[DTYPE_IN]], cell[at[SPARSITY]], cell[at[DTYPE_OUT]]);
        return SQ_OK;
    }
    return add(r, &record);
}

// ---- CSV of aiconfigurator ------------------------------------------------------------------

enum layer_column { DEVICE, SOURCE, TYPE, LAYER_M, LAYER_N, LAYER_K, MS, N_LAYER_COLUMNS };
static const char *const layer_names[N_LAYER_COLUMNS] = {
    "device", "kernel_source", "gemm_dtype", "m", "n", "k", "latency"};

// Its types.
static const struct {
    const char *name;
    enum sq_gpu_dtype dtype;
} layer_types[] = {{"bfloat16", SQ_GPU_BF16}, {"fp8", SQ_GPU_FP8},       {"fp8_block", SQ_GPU_FP8B},
                   {"nvfp4", SQ_GPU_NVFP4},   {"int8_wo", SQ_GPU_W8A16}, {"int4_wo", SQ_GPU_W4A16},
                   {"sq", SQ_GPU_INT8}};

// What a time holds, of which kernel: false for a type that is not known.
static bool read_layer(const char *type, const char *source, struct sq_gpu_gemm *g)
{
    const bool is_trt = strcmp(source, "torch_flow") == 0 || strcmp(source, "deepgemm") == 0;
    for (size_t i = 0; i < sizeof layer_types / sizeof layer_types[0]; i++) {
        if (strcmp(type, layer_types[i].name) != 0)
            continue;
        g->dtype = layer_types[i].dtype;
        g->out_nbytes = 2;
        if (strncmp(source, "trt_flow", 8) == 0) {
            g->is_cold = g->is_alone = true;
            return true;
        }
        if (g->dtype != SQ_GPU_BF16)
            g->timed =
                g->dtype == SQ_GPU_FP8B && !is_trt ? SQ_GPU_TIMED_CALL : SQ_GPU_TIMED_QUANTIZING;
        return g->dtype != SQ_GPU_W8A16 && g->dtype != SQ_GPU_W4A16 && g->dtype != SQ_GPU_INT8;
    }
    return false;
}

static enum sq_status layer_row(struct reader *r, char *const *cell, unsigned n,
                                const unsigned at[N_LAYER_COLUMNS])
{
    struct sq_gpu_record record = {.seconds = 0};
    double ms;
    SQ_TRY(csv_cells(r, n, layer_names, N_LAYER_COLUMNS, at));
    SQ_TRY(read_size(r, "m", cell[at[LAYER_M]], &record.gemm.m));
    SQ_TRY(read_size(r, "n", cell[at[LAYER_N]], &record.gemm.n));
    SQ_TRY(read_size(r, "k", cell[at[LAYER_K]], &record.gemm.k));
    if (is_no_time(cell[at[MS]])) {
        r->g->no_time++;
        sq_gpu_leave(&r->g->left, r->line, "no time (latency = %.20s)", cell[at[MS]]);
        return SQ_OK;
    }
    SQ_TRY(read_number(r, "latency", cell[at[MS]], 1e6, &ms));
    record.seconds = ms * 1e-3;
    if (!holds(cell[at[DEVICE]], r->device)) {
        r->g->other_device++;
        return SQ_OK;
    }
    if (!read_layer(cell[at[TYPE]], cell[at[SOURCE]], &record.gemm)) {
        r->g->other_kind++;
        sq_gpu_leave(&r->g->left, r->line, "%.16s of %.32s: no kind of the model", cell[at[TYPE]],
                     cell[at[SOURCE]]);
        return SQ_OK;
    }
    return add(r, &record);
}

// ---- JSON lines -----------------------------------------------------------------------------

// One record, its strings still those of the object.
struct row {
    const json_t *problem, *timing, *ceilings;
    const char *source, *device, *format, *dtype_a, *dtype_w, *out, *impl, *l2;
    double us, sparsity;
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    const double v = json_number_value(json_object_get(object, key));
    return v > 0 ? v : 0;
}

static struct row row_of(const json_t *o)
{
    struct row row = {.problem = json_object_get(o, "problem"),
                      .timing = json_object_get(o, "timing"),
                      .ceilings = json_object_get(o, "ceilings"),
                      .source = text_of(o, "source"),
                      .device = text_of(json_object_get(o, "device"), "name"),
                      .impl = text_of(json_object_get(o, "kernel"), "impl")};
    row.format = text_of(row.problem, "format");
    row.dtype_a = text_of(row.problem, "dtype_a");
    row.dtype_w = text_of(row.problem, "dtype_w");
    row.out = text_of(row.problem, "dtype_out");
    row.l2 = text_of(row.timing, "l2");
    row.us = json_number_value(json_object_get(row.timing, "median_us"));
    row.sparsity = number_of(row.problem, "sparsity");
    return row;
}

// A GEMM of sq_gpu.h: of a vendor's library, or the SQ split of two data types.
static bool read_kind(const struct row *row, struct sq_gpu_gemm *g)
{
    const bool is_library = row->impl[0] == '\0' || strcmp(row->impl, "cublaslt") == 0 ||
                            strcmp(row->impl, "cusparselt") == 0;
    const struct sq_format_ops *f = sq_format_find(row->format);
    const bool is_split = f && f->gpu && f->gpu->is_split;
    g->out_nbytes = out_nbytes(row->out);
    g->is_cold = strcmp(row->l2, "cold_rotated") == 0;
    if (is_split && strcmp(row->dtype_w, "bf16+e4m3") == 0) {
        g->dtype = SQ_GPU_BF16;
        g->low_dtype = SQ_GPU_FP8;
        g->low_share = row->sparsity;
        return g->low_share < 1 && g->out_nbytes > 0;
    }
    g->is_sparse = read_sparsity(row->format) == 1;
    if (is_library && strcmp(row->dtype_w, "s4") == 0 && strcmp(row->dtype_a, "s8") == 0) {
        g->dtype = SQ_GPU_INT8; // W4A8
        g->weight_bits = 4;
        return !g->is_sparse && read_sparsity(row->format) == 0 && g->out_nbytes > 0;
    }
    return is_library && read_sparsity(row->format) >= 0 && read_dtype(row->dtype_w, &g->dtype) &&
           g->out_nbytes > 0;
}

static struct sq_gpu_ceilings read_ceilings(const struct row *row)
{
    struct sq_gpu_ceilings c = {.copy_bytes_per_s = 1e9 * number_of(row->ceilings, "copy_gbps"),
                                .launch_s = 1e-6 * number_of(row->timing, "t0_fit_us")};
    c.ops_per_s[SQ_GPU_BF16][0] = 1e12 * number_of(row->ceilings, "bf16_tflops");
    c.ops_per_s[SQ_GPU_INT8][0] = 1e12 * number_of(row->ceilings, "int8_tops");
    c.ops_per_s[SQ_GPU_FP8][0] = 1e12 * number_of(row->ceilings, "fp8_tflops");
    c.ops_per_s[SQ_GPU_INT8][1] = 1e12 * number_of(row->ceilings, "sp24_int8_tops");
    return c;
}

static enum sq_status read_sizes(struct reader *r, const json_t *problem, uint64_t *m, uint64_t *n,
                                 uint64_t *k)
{
    struct sq_error inner;
    if (sq_json_uint(problem, "record", "M", 1, 1 << 24, 0, m, &inner) != SQ_OK ||
        sq_json_uint(problem, "record", "N", 1, 1 << 24, 0, n, &inner) != SQ_OK ||
        sq_json_uint(problem, "record", "K", 1, 1 << 24, 0, k, &inner) != SQ_OK)
        REFUSE(r, "%s", inner.text);
    return SQ_OK;
}

static enum sq_status add_format(struct reader *r, const struct row *row)
{
    struct sq_gpu_records *g = r->g;
    struct sq_gpu_format_record f = {.sparsity = row->sparsity, .seconds = row->us * 1e-6};
    g->other_kind++;
    sq_gpu_leave(&g->left, r->line, "%.12s %.12s x %.12s of %.12s: a kernel of its own",
                 row->format, row->dtype_a, row->dtype_w, row->impl);
    if (row->format[0] == '\0' || strcmp(row->format, "none") == 0 || !(row->us > 0))
        return SQ_OK;
    SQ_TRY(read_sizes(r, row->problem, &f.m, &f.n, &f.k));
    snprintf(f.format, sizeof f.format, "%.15s", row->format);
    snprintf(f.dtype_a, sizeof f.dtype_a, "%.15s", row->dtype_a);
    snprintf(f.dtype_w, sizeof f.dtype_w, "%.15s", row->dtype_w);
    SQ_TRY(SQ_GROW(g->format, g->n_formats, r->err, "%zu records", g->n_formats));
    g->format[g->n_formats++] = f;
    return SQ_OK;
}

static enum sq_status json_row(struct reader *r, const json_t *o)
{
    struct sq_gpu_record record = {.seconds = 0};
    const struct row row = row_of(o);
    if (json_integer_value(json_object_get(o, "schema_version")) != 1)
        REFUSE(r, "schema_version is not 1");
    if (row.source[0] == '\0' || row.device[0] == '\0')
        REFUSE(r, "no %s", row.source[0] ? "device.name" : "source");
    if (strcmp(row.source, "measured") != 0) {
        r->g->other_source++;
        return SQ_OK;
    }
    if (!holds(row.device, r->device)) {
        r->g->other_device++;
        return SQ_OK;
    }
    if (!read_kind(&row, &record.gemm))
        return add_format(r, &row);
    if (row.us == 0) {
        r->g->no_time++;
        sq_gpu_leave(&r->g->left, r->line, "no time");
        return SQ_OK;
    }
    if (!(row.us > 0 && row.us <= 1e9))
        REFUSE(r, "timing.median_us = %g, need a number in (0, 1e+09]", row.us);
    SQ_TRY(read_sizes(r, row.problem, &record.gemm.m, &record.gemm.n, &record.gemm.k));
    record.seconds = row.us * 1e-6;
    record.ceilings = read_ceilings(&row);
    record.low_s = 1e-6 * number_of(row.timing, "p10_us");
    record.high_s = 1e-6 * number_of(row.timing, "p90_us");
    if (!(record.low_s > 0 && record.high_s >= record.low_s))
        record.low_s = record.high_s = 0;
    snprintf(record.name, sizeof record.name, "%.31s",
             text_of(json_object_get(o, "kernel"), "name"));
    return add(r, &record);
}

// ---- files ----------------------------------------------------------------------------------

static enum sq_status read_csv(struct reader *r, const char *text, size_t nbytes)
{
    SQ_CLOSED(sq_csv_reader_free) struct sq_csv_reader csv = {0};
    unsigned at[N_COLUMNS + N_LAYER_COLUMNS];
    bool more, has_header = false, is_layers = false;
    SQ_TRY(sq_csv_reader_init(&csv, text, nbytes, r->what, MAX_LINE - 1, r->err));
    SQ_TRY(sq_csv_next(&csv, &more, r->err));
    while (more) {
        const unsigned n = csv.n < SQ_CSV_CELLS_MAX ? csv.n : SQ_CSV_CELLS_MAX;
        r->line = csv.line;
        if (!has_header) {
            is_layers = sq_csv_column(&csv, layer_names[TYPE], &at[0]);
            SQ_TRY(is_layers
                       ? csv_header(r, &csv, layer_names, N_LAYER_COLUMNS, N_LAYER_COLUMNS, at)
                       : csv_header(r, &csv, column_names, N_COLUMNS, P10, at));
        } else {
            SQ_TRY(is_layers ? layer_row(r, csv.cell, n, at) : csv_row(r, csv.cell, n, at));
        }
        has_header = true;
        SQ_TRY(sq_csv_next(&csv, &more, r->err));
    }
    return SQ_OK;
}

static enum sq_status read_json_line(const json_t *o, unsigned line, void *user,
                                     struct sq_error *err)
{
    struct reader *r = user;
    (void)err; // is r->err
    r->line = line;
    return json_row(r, o);
}

// The first line that holds something decides.
static enum sq_status read_all(struct reader *r, const char *text, size_t nbytes)
{
    size_t first = 0;
    while (first < nbytes && strchr("\n\r\t ", text[first]) && text[first])
        first++;
    while (first > 0 && text[first - 1] != '\n')
        first--;
    const bool is_json = first < nbytes && text[first] == '{';
    SQ_TRY(is_json ? sq_json_lines(r->what, text, nbytes, read_json_line, r, r->err)
                   : read_csv(r, text, nbytes));
    if (r->g->n > 0 || r->g->n_formats > 0)
        return sq_gpu_records_number(r->g, r->err);
    return SQ_FAIL(r->err, SQ_ERR_DAMAGED,
                   "'%s' holds no measured row of device %.40s (%zu of other devices, %zu of other "
                   "kinds, %zu not measured%s%.96s)",
                   sq_path_tail(r->what), r->device, r->g->other_device, r->g->other_kind,
                   r->g->other_source, r->g->left.n ? "; " : "",
                   r->g->left.n ? r->g->left.item[0].reason : "");
}

enum sq_status sq_gpu_records_parse(const char *text, size_t nbytes, const char *what,
                                    const char *device, struct sq_gpu_records *g,
                                    struct sq_error *err)
{
    struct reader r = {.what = what, .device = device, .g = g, .err = err};
    memset(g, 0, sizeof *g);
    const enum sq_status status = read_all(&r, text, nbytes);
    if (status != SQ_OK)
        sq_gpu_records_free(g);
    return status;
}

enum { RECORDS_MAX_NBYTES = 256 << 20 }; // five thousand times a measured device

enum sq_status sq_gpu_records_read(const char *path, const char *device, struct sq_gpu_records *g,
                                   struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    memset(g, 0, sizeof *g);
    SQ_TRY(sq_file_map_text(path, RECORDS_MAX_NBYTES, &map, err));
    const char *text = map.data ? (const char *)map.data : "";
    return sq_gpu_records_parse(text, map.nbytes, path, device, g, err);
}

void sq_gpu_records_free(struct sq_gpu_records *g)
{
    free(g->r);
    free(g->format);
    free(g->place);
    free(g->format_place);
    memset(g, 0, sizeof *g);
}
