// SPDX-License-Identifier: Apache-2.0
// Writes files of packed SQ weights, one layer after the other (sq_operand_file.h).
#include "sim/format/file/sq_operand_file.h"

#include "sim/format/sq_format_ops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_version.h"

#define DIM_MAX (UINT64_C(1) << 31)

// ---- operand --------------------------------------------------------------------------------

enum sq_status sq_operand_alloc(struct sq_operand *o, const struct sq_format *f, size_t n,
                                size_t k_orig, struct sq_error *err)
{
    *o = (struct sq_operand){0};
    SQ_TRY(sq_format_check(f, err));
    SQ_FAIL_IF(n < 1 || n > DIM_MAX || k_orig < 1 || k_orig > DIM_MAX, err, SQ_ERR_SHAPE,
               "N x K = %zu x %zu, need 1..2^31 each", n, k_orig);
    size_t k = sq_k_padded(f, k_orig);
    o->m = (struct sq_matrix){.format = *f, .n = n, .k = k, .k_orig = k_orig};
    size_t scales = sq_n_groups(f, k), lo = sq_lo_row_nbytes(f, k), hi = sq_hi_row_nbytes(f, k);
    size_t row = 8 * scales + lo + hi, total;
    if (__builtin_mul_overflow(n, row, &total) || !(o->buffer = calloc(1, total)))
        return SQ_NO_MEMORY(err, "N x K = %zu x %zu", n, k);
    o->n_scales = n * scales;
    o->lo_nbytes = n * lo;
    o->hi_nbytes = n * hi;
    o->m.s_lo = o->buffer;
    o->m.s_hi = o->m.s_lo + o->n_scales;
    o->m.lo = (uint8_t *)(o->m.s_hi + o->n_scales);
    o->m.hi = o->m.lo + o->lo_nbytes;
    return SQ_OK;
}

void sq_operand_free(struct sq_operand *o)
{
    free(o->buffer);
    *o = (struct sq_operand){0};
}

// ---- names ----------------------------------------------------------------------------------

// "layer" + "lo" -> "layer.lo"; "" + "lo" -> "lo". The caller frees; NULL without memory.
static char *join(const char *prefix, const char *name)
{
    size_t n = strlen(prefix) + strlen(name) + 2;
    char *full = malloc(n);
    if (full)
        snprintf(full, n, "%s%s%s", prefix, *prefix ? "." : "", name);
    return full;
}

static char *number(uint64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, v);
    return strdup(text);
}

// ---- writing --------------------------------------------------------------------------------

// Growing list of metadata that owns its strings.
struct pairs {
    struct sq_metadata *pair;
    size_t n;
    bool failed;
};

static void add(struct pairs *p, char *key, char *value)
{
    p->failed = p->failed || !key || !value;
    p->pair[p->n++] = (struct sq_metadata){key, value};
}

static void add_info(struct pairs *p, const struct sq_operand_file_info *info)
{
    const struct sq_format *f = &info->format;
    add(p, strdup("system"), strdup(sq_format_of_packed()->name));
    add(p, strdup("version"), strdup("1"));
    add(p, strdup("h_high"), number(f->high_bits));
    add(p, strdup("h_low"), number(f->low_bits));
    add(p, strdup("bank"), number(f->bank));
    add(p, strdup("k"), number(f->high_per_bank));
    add(p, strdup("group"), f->group ? number(f->group) : strdup("row"));
    add(p, strdup("scale_type"), strdup("f32"));
    add(p, strdup("producer"), strdup(info->producer));
    add(p, strdup("source"), strdup(info->source));
    add(p, strdup("seed"), number(info->seed));
    add(p, strdup("tool"), strdup("sqsim " SQ_VERSION));
}
enum { N_INFO = 12, N_PER_ITEM = 4 };

static void add_item(struct pairs *p, const struct sq_format *f,
                     const struct sq_operand_file_item *item)
{
    char digest[SQ_DIGEST_LABEL_SIZE];
    sq_digest_label(item->input_digest, digest);
    add(p, join(item->name, "N"), number(item->n));
    add(p, join(item->name, "K"), number(sq_k_padded(f, item->k_orig)));
    add(p, join(item->name, "k_orig"), number(item->k_orig));
    add(p, join(item->name, "input_digest"), strdup(digest));
}

static struct sq_tensor tensor_2d(char *name, enum sq_dtype dtype, size_t rows, size_t cols)
{
    return (struct sq_tensor){.name = name, .dtype = dtype, .n_dims = 2, .dim = {rows, cols}};
}

// Tensor 2i, 2i+1: scales of item i; 2n+2i, 2n+2i+1: its streams.
static void declare(const struct sq_format *f, const struct sq_operand_file_item *item, size_t i,
                    size_t n, struct sq_tensor *t)
{
    size_t k = sq_k_padded(f, item->k_orig), scales = sq_n_groups(f, k);
    t[2 * i] = tensor_2d(join(item->name, "s_lo"), SQ_F32, item->n, scales);
    t[2 * i + 1] = tensor_2d(join(item->name, "s_hi"), SQ_F32, item->n, scales);
    t[2 * n + 2 * i] = tensor_2d(join(item->name, "lo"), SQ_U8, item->n, sq_lo_row_nbytes(f, k));
    t[2 * n + 2 * i + 1] =
        tensor_2d(join(item->name, "hi"), SQ_U8, item->n, sq_hi_row_nbytes(f, k));
}

static enum sq_status check_items(const struct sq_operand_file_item *item, size_t n,
                                  struct sq_error *err)
{
    for (size_t i = 0; i < n; i++) {
        SQ_FAIL_IF(item[i].n < 1 || item[i].n > DIM_MAX || item[i].k_orig < 1 ||
                       item[i].k_orig > DIM_MAX,
                   err, SQ_ERR_SHAPE, "operand '%.60s' is %zu x %zu, need 1..2^31 each",
                   item[i].name, item[i].n, item[i].k_orig);
        SQ_FAIL_IF(item[i].name[0] == '\0' && n > 1, err, SQ_ERR_ARG,
                   "operand %zu of %zu has no name", i, n);
    }
    return n > 0 ? SQ_OK : SQ_FAIL(err, SQ_ERR_ARG, "no operand to write");
}

enum sq_status sq_operand_file_begin(struct sq_operand_file_writer *w, const char *path,
                                     const struct sq_operand_file_info *info,
                                     const struct sq_operand_file_item *item, size_t n_items,
                                     struct sq_error *err)
{
    *w = (struct sq_operand_file_writer){.n_items = n_items};
    SQ_TRY(sq_format_check(&info->format, err));
    SQ_TRY(check_items(item, n_items, err));
    struct pairs p = {.pair = calloc(N_INFO + N_PER_ITEM * n_items, sizeof *p.pair)};
    SQ_FREED struct sq_tensor *t = calloc(4 * n_items, sizeof *t);
    bool failed = !p.pair || !t;
    if (!failed) {
        add_info(&p, info);
        for (size_t i = 0; i < n_items; i++) {
            add_item(&p, &info->format, &item[i]);
            declare(&info->format, &item[i], i, n_items, t);
        }
        for (size_t i = 0; i < 4 * n_items; i++)
            failed = failed || !t[i].name;
    }
    enum sq_status status =
        failed || p.failed ? SQ_NO_MEMORY(err, "%zu operands", n_items)
                           : sq_safetensors_begin(&w->file, path, t, 4 * n_items, p.pair, p.n, err);
    for (size_t i = 0; t && i < 4 * n_items; i++)
        free((void *)(uintptr_t)t[i].name);
    for (size_t i = 0; i < p.n; i++)
        SQ_FREE((void *)(uintptr_t)p.pair[i].key, (void *)(uintptr_t)p.pair[i].value);
    free(p.pair);
    return status;
}

enum sq_status sq_operand_file_put(struct sq_operand_file_writer *w, size_t i,
                                   const struct sq_operand *o, struct sq_error *err)
{
    const size_t n = w->n_items;
    SQ_FAIL_IF(i >= n || w->file.piece[2 * i].nbytes != o->n_scales * sizeof(float) ||
                   w->file.piece[2 * n + 2 * i].nbytes != o->lo_nbytes ||
                   w->file.piece[2 * n + 2 * i + 1].nbytes != o->hi_nbytes,
               err, SQ_ERR_ARG, "operand %zu of %zu is not the one declared", i, n);
    SQ_TRY(sq_safetensors_put(&w->file, 2 * i, o->m.s_lo, err));
    SQ_TRY(sq_safetensors_put(&w->file, 2 * i + 1, o->m.s_hi, err));
    SQ_TRY(sq_safetensors_put(&w->file, 2 * n + 2 * i, o->m.lo, err));
    return sq_safetensors_put(&w->file, 2 * n + 2 * i + 1, o->m.hi, err);
}

enum sq_status sq_operand_file_commit(struct sq_operand_file_writer *w, struct sq_error *err)
{
    return sq_safetensors_commit(&w->file, err);
}

void sq_operand_file_abort(struct sq_operand_file_writer *w)
{
    sq_safetensors_abort(&w->file);
}
