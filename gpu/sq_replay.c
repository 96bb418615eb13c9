// SPDX-License-Identifier: Apache-2.0
#include "sq_replay.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sq_codes.h"
#include "sq_file.h"
#include "sq_mac.h"
#include "sq_meta24.h"
#include "sq_record.h"

// One file being replayed: every buffer in `owned` lives until the end.
struct replay {
    struct sq_safetensors st;
    const char *path;
    size_t m, n, k; // of the metadata
    unsigned bank, high;
    size_t group;
    size_t n_values;
    void *owned[32];
    size_t n_owned;
};

static void *keep(struct replay *r, size_t nbytes)
{
    void *p = r->n_owned < 32 ? aligned_alloc(64, (nbytes + 127) / 64 * 64) : NULL;
    if (p) {
        memset(p, 0, nbytes);
        r->owned[r->n_owned++] = p;
    }
    return p;
}

static enum sq_status size_of(struct replay *r, const char *key, size_t max, size_t *value,
                              struct sq_error *err)
{
    const char *text = sq_safetensors_metadata(&r->st, key);
    char *end;
    const unsigned long long v = text ? strtoull(text, &end, 10) : 0;
    if (!text || *end || v < 1 || v > max)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: metadata %s = %s, need 1..%zu",
                       sq_path_tail(r->path), key, text ? text : "missing", max);
    *value = (size_t)v;
    return SQ_OK;
}

// A tensor of exactly this dtype and number of elements, copied to aligned memory.
static enum sq_status tensor(struct replay *r, const char *name, enum sq_dtype dtype, size_t n,
                             const void **data, struct sq_error *err)
{
    const struct sq_tensor *t = sq_safetensors_find(&r->st, name);
    if (!t || t->dtype != dtype || t->n_elements != n)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: tensor %s, need %s of %zu elements",
                       sq_path_tail(r->path), name, sq_dtype_name(dtype), n);
    void *copy = keep(r, t->nbytes);
    if (!copy)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "%zu bytes for tensor %s", t->nbytes, name);
    memcpy(copy, t->data, t->nbytes);
    *data = copy;
    return SQ_OK;
}

// Bytes of the file against recomputed ones, element by element.
static enum sq_status compare(struct replay *r, const char *name, enum sq_dtype dtype, size_t n,
                              const void *want, struct sq_error *err)
{
    const void *got;
    SQ_TRY(tensor(r, name, dtype, n, &got, err));
    const size_t size = sq_dtype_nbytes(dtype);
    for (size_t i = 0; i < n; i++) {
        uint32_t g = 0, w = 0;
        memcpy(&g, (const char *)got + i * size, size);
        memcpy(&w, (const char *)want + i * size, size);
        if (g != w)
            return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: %s[%zu] = 0x%x, the golden model gives 0x%x",
                           sq_path_tail(r->path), name, i, g, w);
    }
    r->n_values += n;
    return SQ_OK;
}

#define KEEP(r, pointer, n)                                                                        \
    do {                                                                                           \
        (pointer) = keep((r), (n) * sizeof *(pointer));                                            \
        if (!(pointer))                                                                            \
            return SQ_FAIL(err, SQ_ERR_MEMORY, "%s: out of memory", (r)->path);                    \
    } while (0)

#define TENSOR(r, name, dtype, n, pointer)                                                         \
    do {                                                                                           \
        const void *data_;                                                                         \
        SQ_TRY(tensor((r), (name), (dtype), (n), &data_, err));                                    \
        (pointer) = data_;                                                                         \
    } while (0)

// ---- systems --------------------------------------------------------------------------------

static enum sq_status replay_sq_w(struct replay *r, struct sq_error *err)
{
    const float *w, *s_x;
    const int8_t *x;
    TENSOR(r, "w", SQ_F32, r->n * r->k, w);
    TENSOR(r, "x", SQ_I8, r->m * r->k, x);
    TENSOR(r, "s_x", SQ_F32, r->m, s_x);
    struct sq_matrix m = {.format = {8, 4, r->bank, r->high, (unsigned)r->group},
                          .n = r->n,
                          .k = r->k,
                          .k_orig = r->k};
    const size_t n_lo = r->n * sq_lo_row_nbytes(&m.format, r->k);
    const size_t n_hi = r->n * sq_hi_row_nbytes(&m.format, r->k);
    const size_t n_scales = r->n * sq_n_groups(&m.format, r->k);
    KEEP(r, m.lo, n_lo);
    KEEP(r, m.hi, n_hi);
    KEEP(r, m.s_lo, n_scales);
    KEEP(r, m.s_hi, n_scales);
    SQ_TRY(sq_encode_rtn(w, &m, err));
    SQ_TRY(compare(r, "lo", SQ_U8, n_lo, m.lo, err));
    SQ_TRY(compare(r, "hi", SQ_U8, n_hi, m.hi, err));
    SQ_TRY(compare(r, "s_lo", SQ_F32, n_scales, m.s_lo, err));
    SQ_TRY(compare(r, "s_hi", SQ_F32, n_scales, m.s_hi, err));
    uint8_t *scratch;
    float *y;
    KEEP(r, scratch, sq_gemm_scratch_nbytes(&m));
    KEEP(r, y, r->m * r->n);
    sq_gemm_sq_w(&m, x, s_x, r->m, 0, r->n, y, NULL, NULL, scratch);
    return compare(r, "y", SQ_F32, r->m * r->n, y, err);
}

// Activation codes by the golden encoder into *c, compared with the file's.
static enum sq_status replay_act(struct replay *r, bool is_static, struct sq_codes *c,
                                 struct sq_error *err)
{
    const float *x;
    const uint8_t *mask = NULL;
    float *score;
    int8_t *code;
    const size_t n = r->m * r->k;
    TENSOR(r, "x", SQ_F32, n, x);
    if (is_static)
        TENSOR(r, "mask", SQ_U8, r->k, mask);
    *c = (struct sq_codes){.grid = {SQ_GRID_OWN, 8, 4},
                           .n = r->m,
                           .k = r->k,
                           .k_orig = r->k,
                           .group = r->k,
                           .bank = r->bank,
                           .high_per_bank = r->high};
    KEEP(r, c->code, n);
    KEEP(r, c->is_high, n);
    KEEP(r, c->s_lo, r->m);
    KEEP(r, c->s_hi, r->m);
    KEEP(r, score, 2 * r->k);
    KEEP(r, code, n);
    SQ_TRY(sq_codes_encode_act(c, x, is_static ? SQ_SELECT_STATIC : SQ_SELECT_DYNAMIC_FP, mask,
                               score, err));
    for (size_t i = 0; i < n; i++)
        code[i] = (int8_t)c->code[i];
    if (!is_static)
        SQ_TRY(compare(r, "mask", SQ_U8, n, c->is_high, err));
    SQ_TRY(compare(r, "code", SQ_I8, n, code, err));
    SQ_TRY(compare(r, "s_lo", SQ_F32, r->m, c->s_lo, err));
    return compare(r, "s_hi", SQ_F32, r->m, c->s_hi, err);
}

static enum sq_status replay_sq_a(struct replay *r, struct sq_error *err)
{
    const char *flags = sq_safetensors_metadata(&r->st, "flags");
    const bool is_static = flags && strcmp(flags, "static") == 0;
    if (!is_static && (!flags || strcmp(flags, "dynamic") != 0))
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: flags = %s, need static or dynamic",
                       sq_path_tail(r->path), flags ? flags : "missing");
    struct sq_codes x,
        w = {.grid = {SQ_GRID_DENSE, 0, 4}, .n = r->n, .k = r->k, .k_orig = r->k, .group = r->k};
    SQ_TRY(replay_act(r, is_static, &x, err));
    const int8_t *w_code;
    const float *s_w;
    TENSOR(r, "w", SQ_I8, r->n * r->k, w_code);
    TENSOR(r, "s_w", SQ_F32, r->n, s_w);
    KEEP(r, w.code, r->n * r->k);
    KEEP(r, w.s_lo, r->n);
    KEEP(r, w.s_hi, r->n);
    for (size_t i = 0; i < r->n * r->k; i++)
        w.code[i] = w_code[i];
    memcpy(w.s_lo, s_w, r->n * sizeof *s_w);
    memcpy(w.s_hi, s_w, r->n * sizeof *s_w);
    struct sq_gemm_codes g = {.x = &x, .w = &w};
    uint8_t *scratch;
    KEEP(r, g.y, r->m * r->n);
    KEEP(r, g.p_lo, r->m * r->n);
    KEEP(r, g.p_hi, r->m * r->n);
    SQ_TRY(sq_gemm_codes_check(&g, err));
    KEEP(r, scratch, sq_gemm_codes_scratch(&g));
    sq_gemm_codes(&g, 0, r->m, scratch);
    SQ_TRY(compare(r, "p_lo", SQ_I32, r->m * r->n, g.p_lo, err));
    SQ_TRY(compare(r, "p_hi", SQ_I32, r->m * r->n, g.p_hi, err));
    return compare(r, "y", SQ_F32, r->m * r->n, g.y, err);
}

static enum sq_status replay_sp24(struct replay *r, struct sq_error *err)
{
    const int8_t *w, *x;
    const float *s_x, *s_w;
    int8_t *values;
    uint8_t *meta, *nibble;
    uint16_t *word;
    int32_t *p;
    float *y;
    if (r->k % 16 != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s: K = %zu, need a multiple of 16", r->path, r->k);
    TENSOR(r, "w", SQ_I8, r->n * r->k, w);
    TENSOR(r, "x", SQ_I8, r->m * r->k, x);
    TENSOR(r, "s_x", SQ_F32, r->m, s_x);
    TENSOR(r, "s_w", SQ_F32, r->n, s_w);
    KEEP(r, values, r->n * r->k / 2);
    KEEP(r, meta, r->n * r->k / 8);
    KEEP(r, nibble, r->k / 4);
    KEEP(r, word, r->k / 16);
    KEEP(r, p, r->m * r->n);
    KEEP(r, y, r->m * r->n);
    for (size_t row = 0; row < r->n; row++) {
        const size_t at = row * r->k;
        SQ_TRY(sq_meta24_encode(w + at, r->k, values + at / 2, nibble, err));
        sq_meta24_words(nibble, r->k, word);
        memcpy(meta + at / 8, word, r->k / 8); // little-endian words, as the trace has them
    }
    for (size_t t = 0; t < r->m; t++)
        for (size_t c = 0; c < r->n; c++) {
            for (size_t i = 0; i < r->k; i++)
                p[t * r->n + c] += w[c * r->k + i] * x[t * r->k + i];
            y[t * r->n + c] = (0.0f + (float)p[t * r->n + c] * s_w[c]) * s_x[t] + 0.0f;
        }
    SQ_TRY(compare(r, "values", SQ_I8, r->n * r->k / 2, values, err));
    SQ_TRY(compare(r, "meta", SQ_U8, r->n * r->k / 8, meta, err));
    SQ_TRY(compare(r, "p_lo", SQ_I32, r->m * r->n, p, err));
    return compare(r, "y", SQ_F32, r->m * r->n, y, err);
}

// ---- files ------------------------------------------------------------------------------------

static enum sq_status replay_open(struct replay *r, struct sq_error *err)
{
    const char *system = sq_safetensors_metadata(&r->st, "system");
    size_t bank = 0, high = 0;
    SQ_TRY(size_of(r, "M", 1u << 20, &r->m, err));
    SQ_TRY(size_of(r, "N", 1u << 20, &r->n, err));
    SQ_TRY(size_of(r, "K", 131072, &r->k, err));
    if (system && strcmp(system, "sp24") == 0)
        return replay_sp24(r, err);
    SQ_TRY(size_of(r, "bank", SQ_BANK_MAX, &bank, err));
    SQ_TRY(size_of(r, "k", bank - 1, &high, err));
    if (r->k % bank != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s: K = %zu, bank = %zu", r->path, r->k, bank);
    r->bank = (unsigned)bank;
    r->high = (unsigned)high;
    if (system && strcmp(system, "sq_w") == 0) {
        SQ_TRY(size_of(r, "group", r->k, &r->group, err));
        return replay_sq_w(r, err);
    }
    if (system && strcmp(system, "sq_a") == 0)
        return replay_sq_a(r, err);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: system = %s, need sq_w, sq_a or sp24",
                   sq_path_tail(r->path), system ? system : "missing");
}

enum sq_status sq_replay_file(const char *path, size_t *n_values, struct sq_error *err)
{
    struct replay r = {.path = path};
    *n_values = 0;
    SQ_TRY(sq_safetensors_open(&r.st, path, err));
    const enum sq_status status = replay_open(&r, err);
    *n_values = r.n_values;
    for (size_t i = 0; i < r.n_owned; i++)
        free(r.owned[i]);
    sq_safetensors_close(&r.st);
    return status;
}

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

enum sq_status sq_replay_directory(const char *path, size_t *n_files, size_t *n_values,
                                   struct sq_error *err)
{
    DIR *directory = opendir(path);
    enum sq_status status = SQ_OK;
    *n_files = *n_values = 0;
    while (directory && status == SQ_OK) {
        const struct dirent *entry = readdir(directory);
        if (!entry)
            break;
        char file[4096];
        size_t n = 0;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (ends_with(entry->d_name, ".jsonl"))
            status = sq_record_check_file(file, &n, err);
        else if (ends_with(entry->d_name, ".safetensors"))
            status = sq_replay_file(file, &n, err);
        else
            continue;
        *n_files += 1;
        *n_values += n;
    }
    if (directory)
        closedir(directory);
    return status;
}
