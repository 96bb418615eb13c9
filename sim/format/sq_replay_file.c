// SPDX-License-Identifier: Apache-2.0
// Files, metadata, tensors and comparison; the formats are in sq_*_trace.c.
#include "sim/format/sq_replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_kernel_trace.h"

#define MAX_ROWS (1u << 20)
#define MAX_K 131072u

// ---- metadata -------------------------------------------------------------------------------

enum sq_status sq_replay_number(const struct sq_replay *r, const char *key, size_t min, size_t max,
                                size_t *value, struct sq_error *err)
{
    const char *text = sq_safetensors_metadata(&r->st, key);
    const size_t len = text ? strspn(text, "0123456789") : 0;
    const unsigned long long v = text ? strtoull(text, NULL, 10) : 0;
    if (!text || len == 0 || len > 10 || text[len] || v < min || v > max)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: metadata %s = %.20s, need %zu..%zu",
                       sq_path_tail(r->path), key, text ? text : "missing", min, max);
    *value = (size_t)v;
    return SQ_OK;
}

static enum sq_status need_text(const struct sq_replay *r, const char *key, const char *want,
                                struct sq_error *err)
{
    const char *text = sq_safetensors_metadata(&r->st, key);
    if (!text || strcmp(text, want) != 0)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: metadata %s = %.20s, need %s",
                       sq_path_tail(r->path), key, text ? text : "missing", want);
    return SQ_OK;
}

// As traces call it.
static const char *name_of(const struct sq_format_ops *f)
{
    return f->trace->name ? f->trace->name : f->name;
}

static enum sq_status unknown_system(const struct sq_replay *r, const char *system,
                                     struct sq_error *err)
{
    char list[160] = "";
    const char *last = "";
    for (size_t i = 0; sq_formats[i]; i++) {
        const size_t at = strlen(list);
        if (!sq_formats[i]->trace || strcmp(name_of(sq_formats[i]), last) == 0)
            continue;
        last = name_of(sq_formats[i]);
        snprintf(list + at, sizeof list - at, "%s%s", at ? ", " : "", last);
    }
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: metadata system = %.20s, need %s",
                   sq_path_tail(r->path), system ? system : "missing", list);
}

static enum sq_status read_text(struct sq_replay *r, struct sq_error *err)
{
    const char *system = sq_safetensors_metadata(&r->st, "system");
    const char *flags = sq_safetensors_metadata(&r->st, "flags");
    const char *producer = sq_safetensors_metadata(&r->st, "producer");
    const struct sq_format_ops *format = NULL;
    bool is_system = false;
    for (size_t i = 0; sq_formats[i] && !format; i++) {
        const struct sq_format_trace *t = sq_formats[i]->trace;
        const bool is_name = t && system && strcmp(system, name_of(sq_formats[i])) == 0;
        is_system = is_system || is_name;
        if (is_name && (!t->flags || (flags && strcmp(flags, t->flags) == 0)))
            format = sq_formats[i];
    }
    if (!is_system)
        return unknown_system(r, system, err);
    if (!format)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: metadata flags = %.20s, need static or dynamic",
                       sq_path_tail(r->path), flags ? flags : "missing");
    if (!producer || (strcmp(producer, "cuda") != 0 && strcmp(producer, "emulator") != 0))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "%s: metadata producer = %.20s, need cuda or emulator: no kernel trace",
                       sq_path_tail(r->path), producer ? producer : "missing");
    r->format = format;
    r->system_name = system;
    r->producer = producer;
    SQ_TRY(need_text(r, "version", "1", err));
    return need_text(r, "scale_type", "f32", err);
}

// ---- tensors --------------------------------------------------------------------------------

enum sq_status sq_replay_keep(struct sq_replay *r, size_t nbytes, void **data, struct sq_error *err)
{
    void *p = r->n_owned < SQ_REPLAY_OWNED_MAX ? aligned_alloc(64, (nbytes + 127) / 64 * 64) : NULL;
    if (!p)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "%s: out of memory for %zu bytes", sq_path_tail(r->path),
                       nbytes);
    memset(p, 0, nbytes);
    r->owned[r->n_owned++] = p;
    *data = p;
    return SQ_OK;
}

size_t sq_replay_count(const struct sq_replay *r, const char *name)
{
    const struct sq_tensor *t = sq_safetensors_find(&r->st, name);
    return t ? t->n_elements : SIZE_MAX;
}

enum sq_status sq_replay_tensor(struct sq_replay *r, const char *name, enum sq_dtype dtype,
                                size_t n, const void **data, struct sq_error *err)
{
    const struct sq_tensor *t = sq_safetensors_find(&r->st, name);
    if (!t)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: tensor %s is missing, need %s of %zu elements",
                       sq_path_tail(r->path), name, sq_dtype_name(dtype), n);
    if (t->dtype != dtype || t->n_elements != n)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: tensor %s = %s of %zu elements, need %s of %zu",
                       sq_path_tail(r->path), name, sq_dtype_name(t->dtype), t->n_elements,
                       sq_dtype_name(dtype), n);
    void *copy;
    SQ_TRY(sq_replay_keep(r, t->nbytes, &copy, err));
    memcpy(copy, t->data, t->nbytes);
    *data = copy;
    return SQ_OK;
}

enum sq_status sq_replay_input(struct sq_replay *r, const char *name, enum sq_dtype dtype, size_t n,
                               const void **data, struct sq_error *err)
{
    SQ_TRY(sq_replay_tensor(r, name, dtype, n, data, err));
    sq_digest_add(&r->digest, *data, n * sq_dtype_nbytes(dtype));
    return SQ_OK;
}

enum sq_status sq_replay_compare(struct sq_replay *r, const char *name, enum sq_dtype dtype,
                                 size_t n, const void *want, struct sq_error *err)
{
    const void *got;
    SQ_TRY(sq_replay_tensor(r, name, dtype, n, &got, err));
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
                       sq_path_tail(r->path), name, i, g, w);
    }
    r->n_values += n;
    return SQ_OK;
}

// ---- files ----------------------------------------------------------------------------------

bool sq_replay_is_trace(const char *path)
{
    struct sq_safetensors st;
    const size_t n = strlen(path), m = strlen(".safetensors");
    if (n <= m || strcmp(path + n - m, ".safetensors") != 0 ||
        sq_safetensors_open(&st, path, NULL) != SQ_OK)
        return false;
    const bool has_system = sq_safetensors_metadata(&st, "system") != NULL;
    sq_safetensors_close(&st);
    return has_system;
}

enum sq_status sq_replay_open(struct sq_replay *r, const char *path, struct sq_error *err)
{
    *r = (struct sq_replay){.path = path};
    SQ_TRY(sq_safetensors_open(&r->st, path, err));
    enum sq_status status = read_text(r, err);
    if (status == SQ_OK)
        status = sq_replay_number(r, "M", 1, MAX_ROWS, &r->m, err);
    if (status == SQ_OK)
        status = sq_replay_number(r, "N", 1, MAX_ROWS, &r->n, err);
    if (status == SQ_OK)
        status = sq_replay_number(r, "K", 1, MAX_K, &r->k, err);
    if (status != SQ_OK)
        sq_replay_close(r);
    return status;
}

void sq_replay_close(struct sq_replay *r)
{
    for (size_t i = 0; i < r->n_owned; i++)
        free(r->owned[i]);
    r->n_owned = 0;
    sq_safetensors_close(&r->st);
}

enum sq_status sq_replay_values(struct sq_replay *r, struct sq_error *err)
{
    char digest[SQ_DIGEST_LABEL_SIZE];
    const char *text = sq_safetensors_metadata(&r->st, "input_digest");
    r->digest = (struct sq_digest){0};
    SQ_TRY(r->format->trace->values(r, err));
    sq_digest_label(r->digest, digest);
    if (!text || strcmp(text, digest) != 0)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: metadata input_digest = %.41s, the inputs give %s",
                       sq_path_tail(r->path), text ? text : "missing", digest);
    return SQ_OK;
}

enum sq_status sq_replay_file(const char *path, size_t *n_values, struct sq_error *err)
{
    struct sq_replay r;
    *n_values = 0;
    SQ_TRY(sq_replay_open(&r, path, err));
    const enum sq_status status = sq_replay_values(&r, err);
    *n_values = r.n_values;
    sq_replay_close(&r);
    return status;
}

// ---- for the formats ---------------------------------------------------------------------------

enum sq_status sq_replay_bank(const struct sq_replay *r, unsigned *bank, unsigned *high,
                              struct sq_error *err)
{
    size_t b, h;
    SQ_TRY(sq_replay_number(r, "bank", 2, SQ_BANK_MAX, &b, err));
    SQ_TRY(sq_replay_number(r, "k", 1, b - 1, &h, err));
    if (r->k % b != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s: metadata K = %zu, need a multiple of bank = %zu",
                       sq_path_tail(r->path), r->k, b);
    *bank = (unsigned)b;
    *high = (unsigned)h;
    return SQ_OK;
}

enum sq_status sq_replay_product(struct sq_replay *r, const int8_t *x, const float *s_x,
                                 const int8_t *w, const float *s_w, struct sq_error *err)
{
    int32_t *p;
    float *y;
    SQ_REPLAY_KEEP(r, p, r->m * r->n);
    SQ_REPLAY_KEEP(r, y, r->m * r->n);
    for (size_t t = 0; t < r->m; t++)
        for (size_t c = 0; c < r->n; c++) {
            int32_t *const sum = &p[t * r->n + c];
            for (size_t i = 0; i < r->k; i++)
                *sum += w[c * r->k + i] * x[t * r->k + i];
            y[t * r->n + c] = (0.0f + (float)*sum * s_w[c]) * s_x[t] + 0.0f;
        }
    SQ_TRY(sq_replay_compare(r, "p_lo", SQ_I32, r->m * r->n, p, err));
    return sq_replay_compare(r, "y", SQ_F32, r->m * r->n, y, err);
}
