// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/sq_gpu_records.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"

enum { MAX_LINE = 65536, MAX_CELLS = 32, MAX_ROWS = 1000000 };

struct reader {
    const char *what, *device;
    unsigned line;
    struct sq_gpu_records *g;
    size_t room, format_room;
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
    } names[] = {{"INT8", SQ_GPU_INT8}, {"s8", SQ_GPU_INT8},  {"BF16", SQ_GPU_BF16},
                 {"FP8", SQ_GPU_FP8},   {"e4m3", SQ_GPU_FP8}, {"FP8E4M3", SQ_GPU_FP8}};
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
    return strcmp(text, "2:4") == 0 || strcasecmp(text, "sp24") == 0 ? 1 : -1;
}

// ---- rows -----------------------------------------------------------------------------------

static enum sq_status add(struct reader *r, const struct sq_gpu_record *record)
{
    struct sq_gpu_records *g = r->g;
    if (g->n == MAX_ROWS)
        REFUSE(r, "more than %d rows", MAX_ROWS);
    if (g->n == r->room) {
        const size_t room = r->room ? 2 * r->room : 256;
        struct sq_gpu_record *more = realloc(g->r, room * sizeof *more);
        if (!more)
            return SQ_FAIL(r->err, SQ_ERR_MEMORY, "out of memory for %zu records", room);
        g->r = more;
        r->room = room;
    }
    g->r[g->n++] = *record;
    return SQ_OK;
}

// What looks at all records of a shape for each of them stays linear in the file.
static enum sq_status check_repeats(const struct sq_gpu_place *place, size_t n,
                                    struct sq_error *err)
{
    for (size_t i = SQ_GPU_OF_SHAPE_MAX; i < n; i++) {
        const struct sq_gpu_place *p = &place[i], *first = &place[i - SQ_GPU_OF_SHAPE_MAX];
        if (p->m == first->m && p->n == first->n && p->k == first->k)
            return SQ_FAIL(err, SQ_ERR_RANGE,
                           "more than %d records of shape %llu x %llu x %llu, need fewer",
                           SQ_GPU_OF_SHAPE_MAX, (unsigned long long)p->m, (unsigned long long)p->n,
                           (unsigned long long)p->k);
    }
    return SQ_OK;
}

static enum sq_status index_shapes(struct sq_gpu_records *g, struct sq_error *err)
{
    g->place = calloc(g->n + 1, sizeof *g->place);
    g->format_place = calloc(g->n_formats + 1, sizeof *g->format_place);
    if (!g->place || !g->format_place)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu records", g->n + g->n_formats);
    for (size_t i = 0; i < g->n; i++) {
        const struct sq_gpu_gemm *x = &g->r[i].gemm;
        g->place[i] = (struct sq_gpu_place){x->m, x->n, x->k, i};
    }
    for (size_t i = 0; i < g->n_formats; i++) {
        const struct sq_gpu_format_record *x = &g->format[i];
        g->format_place[i] = (struct sq_gpu_place){x->m, x->n, x->k, i};
    }
    sq_gpu_places_sort(g->place, g->n);
    sq_gpu_places_sort(g->format_place, g->n_formats);
    SQ_TRY(check_repeats(g->place, g->n, err));
    return check_repeats(g->format_place, g->n_formats, err);
}

// Numbers the shapes in order of appearance: a record has a new number where it is the first of its
// shape, else that of the first.
static enum sq_status number_shapes(struct sq_gpu_records *g, struct sq_error *err)
{
    SQ_TRY(index_shapes(g, err));
    size_t *number = calloc(g->n + 1, sizeof *number), n = 0;
    if (!number)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu records", g->n);
    for (size_t i = 0; i < g->n; i++) {
        size_t count;
        const struct sq_gpu_gemm *x = &g->r[i].gemm;
        const size_t first =
            sq_gpu_places_find(g->place, g->n, &(struct sq_gpu_place){x->m, x->n, x->k, 0}, &count)
                ->at;
        number[i] = first == i ? n++ : number[first];
        g->r[i].is_calibration = number[i] % 10 == 3;
    }
    free(number);
    return SQ_OK;
}

// ---- CSV ------------------------------------------------------------------------------------

enum column { GPU, SPARSITY, DTYPE_IN, DTYPE_OUT, M, N, K, LATENCY, N_COLUMNS };
static const char *const column_names[N_COLUMNS] = {"gpu", "sparsity", "dtype_in", "dtype_out",
                                                    "M",   "N",        "K",        "lat_us"};

static unsigned split(char *line, char *cell[MAX_CELLS])
{
    unsigned n = 0;
    for (char *at = line; at && n < MAX_CELLS; n++) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma = '\0';
        while (*at == ' ')
            at++;
        at[strcspn(at, "\r")] = '\0';
        cell[n] = at;
        at = comma ? comma + 1 : NULL;
    }
    return n;
}

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

static enum sq_status csv_header(struct reader *r, char *line, unsigned at[N_COLUMNS])
{
    char *cell[MAX_CELLS];
    const unsigned n = split(line, cell);
    for (unsigned c = 0; c < N_COLUMNS; c++) {
        at[c] = 0;
        while (at[c] < n && strcasecmp(cell[at[c]], column_names[c]) != 0)
            at[c]++;
        if (at[c] == n)
            REFUSE(r, "no column %s in the header", column_names[c]);
    }
    return SQ_OK;
}

static enum sq_status csv_row(struct reader *r, char *line, const unsigned at[N_COLUMNS])
{
    struct sq_gpu_record record = {.seconds = 0};
    char *cell[MAX_CELLS];
    double us;
    const unsigned n = split(line, cell);
    for (unsigned c = 0; c < N_COLUMNS; c++)
        if (at[c] >= n)
            REFUSE(r, "%u values, no %s among them", n, column_names[c]);
    SQ_TRY(read_size(r, "M", cell[at[M]], &record.gemm.m));
    SQ_TRY(read_size(r, "N", cell[at[N]], &record.gemm.n));
    SQ_TRY(read_size(r, "K", cell[at[K]], &record.gemm.k));
    SQ_TRY(read_number(r, "lat_us", cell[at[LATENCY]], 1e9, &us));
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
    g->out_nbytes = out_nbytes(row->out);
    g->is_cold = strcmp(row->l2, "cold_rotated") == 0;
    if (strcmp(row->format, "sq_a_static") == 0 && strcmp(row->dtype_w, "bf16+e4m3") == 0) {
        g->dtype = SQ_GPU_BF16;
        g->low_dtype = SQ_GPU_FP8;
        g->low_share = row->sparsity;
        return g->low_share < 1 && g->out_nbytes > 0;
    }
    g->is_sparse = read_sparsity(row->format) == 1;
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
    if (row->format[0] == '\0' || strcmp(row->format, "none") == 0 || !(row->us > 0))
        return SQ_OK;
    SQ_TRY(read_sizes(r, row->problem, &f.m, &f.n, &f.k));
    snprintf(f.format, sizeof f.format, "%.15s", row->format);
    snprintf(f.dtype_a, sizeof f.dtype_a, "%.15s", row->dtype_a);
    snprintf(f.dtype_w, sizeof f.dtype_w, "%.15s", row->dtype_w);
    if (g->n_formats == r->format_room) {
        const size_t room = r->format_room ? 2 * r->format_room : 64;
        struct sq_gpu_format_record *more = realloc(g->format, room * sizeof *more);
        if (!more)
            return SQ_FAIL(r->err, SQ_ERR_MEMORY, "out of memory for %zu records", room);
        g->format = more;
        r->format_room = room;
    }
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
        return SQ_OK;
    }
    if (!(row.us > 0 && row.us <= 1e9))
        REFUSE(r, "timing.median_us = %g, need a number in (0, 1e+09]", row.us);
    SQ_TRY(read_sizes(r, row.problem, &record.gemm.m, &record.gemm.n, &record.gemm.k));
    record.seconds = row.us * 1e-6;
    record.ceilings = read_ceilings(&row);
    return add(r, &record);
}

// ---- files ----------------------------------------------------------------------------------

static enum sq_status read_line(struct reader *r, char *line, bool *is_json, bool *has_header,
                                unsigned at[N_COLUMNS])
{
    if (!*has_header && !*is_json) { // the first line decides
        *is_json = line[0] == '{';
        if (!*is_json) {
            *has_header = true;
            return csv_header(r, line, at);
        }
    }
    if (!*is_json)
        return csv_row(r, line, at);
    struct sq_error inner;
    json_t *o;
    if (sq_json_parse("record", line, strlen(line), &o, &inner) != SQ_OK)
        REFUSE(r, "%s", inner.text);
    const enum sq_status status = json_row(r, o);
    json_decref(o);
    return status;
}

static enum sq_status read_all(struct reader *r, const char *text, size_t nbytes, char *line)
{
    bool is_json = false, has_header = false;
    unsigned at[N_COLUMNS];
    for (const char *end = text + nbytes; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const size_t n = (size_t)((stop ? stop : end) - text);
        r->line++;
        if (n >= MAX_LINE || memchr(text, '\0', n))
            REFUSE(r, n >= MAX_LINE ? "longer than 65535 characters" : "holds a zero byte");
        memcpy(line, text, n);
        line[n] = '\0';
        text += n + (stop ? 1 : 0);
        if (line[strspn(line, " \t\r")] != '\0')
            SQ_TRY(read_line(r, line, &is_json, &has_header, at));
    }
    if (r->g->n > 0 || r->g->n_formats > 0)
        return number_shapes(r->g, r->err);
    return SQ_FAIL(r->err, SQ_ERR_DAMAGED,
                   "'%s' holds no measured row of device %.40s (%zu of other devices, %zu of other "
                   "kinds, %zu not measured)",
                   sq_path_tail(r->what), r->device, r->g->other_device, r->g->other_kind,
                   r->g->other_source);
}

enum sq_status sq_gpu_records_parse(const char *text, size_t nbytes, const char *what,
                                    const char *device, struct sq_gpu_records *g,
                                    struct sq_error *err)
{
    struct reader r = {.what = what, .device = device, .g = g, .err = err};
    char *line = malloc(MAX_LINE);
    memset(g, 0, sizeof *g);
    if (!line)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a line");
    const enum sq_status status = read_all(&r, text, nbytes, line);
    free(line);
    if (status != SQ_OK)
        sq_gpu_records_free(g);
    return status;
}

enum sq_status sq_gpu_records_read(const char *path, const char *device, struct sq_gpu_records *g,
                                   struct sq_error *err)
{
    struct sq_mapping map;
    memset(g, 0, sizeof *g);
    SQ_TRY(sq_file_map(path, &map, err));
    const char *text = map.data ? (const char *)map.data : "";
    const enum sq_status status = sq_gpu_records_parse(text, map.nbytes, path, device, g, err);
    sq_file_unmap(&map);
    return status;
}

void sq_gpu_records_free(struct sq_gpu_records *g)
{
    free(g->r);
    free(g->format);
    free(g->place);
    free(g->format_place);
    memset(g, 0, sizeof *g);
}
