// SPDX-License-Identifier: Apache-2.0
// Files, metadata, tensors and comparison; the formats are in sq_*_route.c.
#include "sim/format/file/sq_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_tile_route.h"

#define MAX_ROWS (1u << 20)
#define MAX_K 131072u

// ---- metadata -------------------------------------------------------------------------------

static enum sq_status need_text(const struct sq_trace *r, const char *key, const char *want,
                                struct sq_error *err)
{
    const char *text = sq_safetensors_metadata(&r->st, key);
    SQ_FAIL_IF(!text || strcmp(text, want) != 0, err, SQ_ERR_UNSUPPORTED,
               "%s: metadata %s = %.20s, need %s", sq_path_tail(r->p.source), key,
               text ? text : "missing", want);
    return SQ_OK;
}

// As traces call it.
static const char *name_of(const struct sq_format_ops *f)
{
    return f->routes->trace_name ? f->routes->trace_name : f->name;
}

static enum sq_status unknown_system(const struct sq_trace *r, const char *system, bool is_chip,
                                     struct sq_error *err)
{
    char list[160] = "";
    const char *last = "";
    for (size_t i = 0; sq_formats[i]; i++) {
        const struct sq_format_routes *const t = sq_formats[i]->routes;
        const size_t at = strlen(list);
        if (!t || !t->trace_values || (is_chip && !t->chip) ||
            strcmp(name_of(sq_formats[i]), last) == 0)
            continue;
        last = name_of(sq_formats[i]);
        snprintf(list + at, sizeof list - at, "%s%s", at ? ", " : "", last);
    }
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: metadata system = %.20s, need %s%s",
                   sq_path_tail(r->p.source), system ? system : "missing", list,
                   is_chip ? " on the chip" : "");
}

static enum sq_status read_text(struct sq_trace *r, struct sq_error *err)
{
    const char *system = sq_safetensors_metadata(&r->st, "system");
    const char *flags = sq_safetensors_metadata(&r->st, "flags");
    const char *producer = sq_safetensors_metadata(&r->st, "producer");
    const struct sq_format_ops *format = NULL;
    bool is_system = false;
    for (size_t i = 0; sq_formats[i] && !format; i++) {
        const struct sq_format_routes *t = sq_formats[i]->routes;
        const bool is_name =
            t && t->trace_values && system && strcmp(system, name_of(sq_formats[i])) == 0;
        is_system = is_system || is_name;
        if (is_name && (!t->trace_flags || (flags && strcmp(flags, t->trace_flags) == 0)))
            format = sq_formats[i];
    }
    if (!is_system)
        return unknown_system(r, system, false, err);
    SQ_FAIL_IF(!format, err, SQ_ERR_DAMAGED, "%s: metadata flags = %.20s, need static or dynamic",
               sq_path_tail(r->p.source), flags ? flags : "missing");
    SQ_FAIL_IF(!producer || (strcmp(producer, "cuda") != 0 && strcmp(producer, "emulator") != 0),
               err, SQ_ERR_UNSUPPORTED,
               "%s: metadata producer = %.20s, need cuda or emulator: no kernel trace",
               sq_path_tail(r->p.source), producer ? producer : "missing");
    r->format = format;
    r->system_name = system;
    r->producer = producer;
    SQ_TRY(need_text(r, "version", "1", err));
    return need_text(r, "scale_type", "f32", err);
}

// ---- tensors --------------------------------------------------------------------------------

enum sq_status sq_trace_input(struct sq_trace *r, const char *name, enum sq_dtype dtype, size_t n,
                              const void **data, struct sq_error *err)
{
    SQ_TRY(sq_product_tensor(&r->p, name, dtype, n, data, err));
    sq_digest_add(&r->digest, *data, n * sq_dtype_nbytes(dtype));
    return SQ_OK;
}

enum sq_status sq_trace_compare(struct sq_trace *r, const char *name, enum sq_dtype dtype, size_t n,
                                const void *want, struct sq_error *err)
{
    const void *got;
    SQ_TRY(sq_product_tensor(&r->p, name, dtype, n, &got, err));
    const size_t size = sq_dtype_nbytes(dtype);
    for (size_t i = 0; i < n; i++) {
        uint64_t g = 0, w = 0;
        memcpy(&g, (const char *)got + i * size, size);
        memcpy(&w, (const char *)want + i * size, size);
        if (g == w)
            continue;
        r->is_different = true;
        return SQ_FAIL(err, SQ_ERR_DAMAGED,
                       "%s: %s[%zu] = 0x%" PRIx64 ", the golden model gives 0x%" PRIx64,
                       sq_path_tail(r->p.source), name, i, g, w);
    }
    r->n_values += n;
    return SQ_OK;
}

// ---- files ----------------------------------------------------------------------------------

bool sq_trace_is(const char *path)
{
    SQ_CLOSED(sq_safetensors_close) struct sq_safetensors st = {0};
    const size_t n = strlen(path), m = strlen(".safetensors");
    if (n <= m || strcmp(path + n - m, ".safetensors") != 0 ||
        sq_safetensors_open(&st, path, NULL) != SQ_OK)
        return false;
    const bool has_system = sq_safetensors_metadata(&st, "system") != NULL;
    return has_system;
}

enum sq_status sq_trace_open(struct sq_trace *r, const char *path, struct sq_error *err)
{
    *r = (struct sq_trace){.p.source = path};
    SQ_TRY(sq_safetensors_open(&r->st, path, err));
    r->p.file = &r->st;
    enum sq_status status = read_text(r, err);
    SQ_THEN(status, sq_product_number(&r->p, "M", 1, MAX_ROWS, &r->p.m, err));
    SQ_THEN(status, sq_product_number(&r->p, "N", 1, MAX_ROWS, &r->p.n, err));
    SQ_THEN(status, sq_product_number(&r->p, "K", 1, MAX_K, &r->p.k, err));
    return SQ_ELSE(status, sq_trace_close(r));
}

void sq_trace_close(struct sq_trace *r)
{
    sq_product_free(&r->p);
    sq_safetensors_close(&r->st);
}

enum sq_status sq_trace_values(struct sq_trace *r, struct sq_error *err)
{
    char digest[SQ_DIGEST_LABEL_SIZE];
    const char *text = sq_safetensors_metadata(&r->st, "input_digest");
    r->digest = (struct sq_digest){0};
    SQ_TRY(r->format->routes->trace_values(r, err));
    sq_digest_label(r->digest, digest);
    SQ_FAIL_IF(!text || strcmp(text, digest) != 0, err, SQ_ERR_DAMAGED,
               "%s: metadata input_digest = %.41s, the inputs give %s", sq_path_tail(r->p.source),
               text ? text : "missing", digest);
    return SQ_OK;
}

enum sq_status sq_trace_put_output(struct sq_trace *r, struct sq_error *err)
{
    const struct sq_trace_output *const o = &r->format->routes->trace_output;
    const float *scale[SQ_LEN(o->scale)] = {NULL};
    size_t groups;
    if (!r->format->routes->chip)
        return unknown_system(r, r->system_name, true, err);
    SQ_TRY(sq_product_groups(&r->p, &groups, err));
    for (size_t i = 0; i < SQ_LEN(scale); i++)
        if (o->scale[i])
            SQ_TRACE_TENSOR(r, o->scale[i], SQ_F32, i < 2 ? r->p.n * groups : r->p.m, scale[i]);
    return sq_tiles_put_scales(&r->p, o->form, scale[0], scale[1], scale[2], scale[3], err);
}

enum sq_status sq_trace_check(const char *path, size_t *n_values, struct sq_error *err)
{
    SQ_CLOSED(sq_trace_close) struct sq_trace r = {0};
    *n_values = 0;
    SQ_TRY(sq_trace_open(&r, path, err));
    const enum sq_status status = sq_trace_values(&r, err);
    *n_values = r.n_values;
    return status;
}

// ---- for the formats ---------------------------------------------------------------------------

enum sq_status sq_trace_product(struct sq_trace *r, const int8_t *x, const float *s_x,
                                const int8_t *w, const float *s_w, struct sq_error *err)
{
    int32_t *p;
    float *y;
    SQ_TRACE_KEEP(r, p, r->p.m * r->p.n);
    SQ_TRACE_KEEP(r, y, r->p.m * r->p.n);
    for (size_t t = 0; t < r->p.m; t++)
        for (size_t c = 0; c < r->p.n; c++) {
            int32_t *const sum = &p[t * r->p.n + c];
            for (size_t i = 0; i < r->p.k; i++)
                *sum += w[c * r->p.k + i] * x[t * r->p.k + i];
            y[t * r->p.n + c] = (0.0f + (float)*sum * s_w[c]) * s_x[t] + 0.0f;
        }
    SQ_TRY(sq_trace_compare(r, "p_lo", SQ_I32, r->p.m * r->p.n, p, err));
    return sq_trace_compare(r, "y", SQ_F32, r->p.m * r->p.n, y, err);
}
