// SPDX-License-Identifier: Apache-2.0
#include "sq_gpu_records.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sq_file.h"
#include "sq_json.h"

enum { MAX_LINE = 65536, MAX_CELLS = 32, MAX_ROWS = 1000000 };

struct reader {
    const char *what, *device;
    unsigned line;
    struct sq_gpu_records *g;
    size_t room;
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

static bool same_shape(const struct sq_gpu_gemm *a, const struct sq_gpu_gemm *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k;
}

// Numbers the shapes in order of appearance.
static enum sq_status number_shapes(struct sq_gpu_records *g, struct sq_error *err)
{
    size_t *first = calloc(g->n + 1, sizeof *first), n = 0;
    if (!first)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu records", g->n);
    for (size_t i = 0; i < g->n; i++) {
        size_t s = 0;
        while (s < n && !same_shape(&g->r[first[s]].gemm, &g->r[i].gemm))
            s++;
        if (s == n)
            first[n++] = i;
        g->r[i].is_calibration = s % 10 == 3;
    }
    free(first);
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

static enum sq_status json_row(struct reader *r, const json_t *o)
{
    struct sq_gpu_record record = {.seconds = 0};
    const json_t *problem = json_object_get(o, "problem"), *timing = json_object_get(o, "timing");
    const char *source = json_string_value(json_object_get(o, "source"));
    const char *device = json_string_value(json_object_get(json_object_get(o, "device"), "name"));
    const char *format = json_string_value(json_object_get(problem, "format"));
    const char *dtype = json_string_value(json_object_get(problem, "dtype_w"));
    const char *out = json_string_value(json_object_get(problem, "dtype_out"));
    const char *impl = json_string_value(json_object_get(json_object_get(o, "kernel"), "impl"));
    const double us = json_number_value(json_object_get(timing, "median_us"));
    const char *what = "record";
    if (json_integer_value(json_object_get(o, "schema_version")) != 1)
        REFUSE(r, "schema_version is not 1");
    if (!source || !device)
        REFUSE(r, "no %s", source ? "device.name" : "source");
    if (strcmp(source, "measured") != 0) {
        r->g->other_source++;
        return SQ_OK;
    }
    if (!holds(device, r->device)) {
        r->g->other_device++;
        return SQ_OK;
    }
    if ((impl && strcmp(impl, "cublaslt") != 0 && strcmp(impl, "cusparselt") != 0) || !format ||
        read_sparsity(format) < 0 || !dtype || !read_dtype(dtype, &record.gemm.dtype) || !out ||
        !out_nbytes(out)) {
        r->g->other_kind++;
        return SQ_OK;
    }
    if (us == 0) {
        r->g->no_time++;
        return SQ_OK;
    }
    if (!(us > 0 && us <= 1e9))
        REFUSE(r, "timing.median_us = %g, need a number in (0, 1e+09]", us);
    struct sq_error inner;
    if (sq_json_uint(problem, what, "M", 1, 1 << 24, 0, &record.gemm.m, &inner) != SQ_OK ||
        sq_json_uint(problem, what, "N", 1, 1 << 24, 0, &record.gemm.n, &inner) != SQ_OK ||
        sq_json_uint(problem, what, "K", 1, 1 << 24, 0, &record.gemm.k, &inner) != SQ_OK)
        REFUSE(r, "%s", inner.text);
    record.seconds = us * 1e-6;
    record.gemm.is_sparse = read_sparsity(format) == 1;
    record.gemm.out_nbytes = out_nbytes(out);
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
    if (r->g->n > 0)
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
    memset(g, 0, sizeof *g);
}
