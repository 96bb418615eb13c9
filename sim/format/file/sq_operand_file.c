// SPDX-License-Identifier: Apache-2.0
// Writes files of packed SQ weights, one layer after the other (sq_operand_file.h).
#include "sim/format/file/sq_operand_file.h"

#include "sim/format/file/sq_content.h"
#include "sim/format/sq_format_ops.h"

#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_version.h"

// ---- operand --------------------------------------------------------------------------------

enum sq_status sq_operand_alloc(struct sq_operand *o, const struct sq_format *f, size_t n,
                                size_t k_orig, struct sq_error *err)
{
    *o = (struct sq_operand){0};
    SQ_TRY(sq_format_check(f, err));
    SQ_FAIL_IF(n < 1 || n > SQ_DIM_MAX || k_orig < 1 || k_orig > SQ_DIM_MAX, err, SQ_ERR_SHAPE,
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

// ---- writing --------------------------------------------------------------------------------

static void add_info(struct sq_content *c, const struct sq_operand_file_info *info)
{
    const struct sq_format *f = &info->format;
    sq_content_text(c, "", "system", sq_format_of_packed()->name);
    sq_content_text(c, "", "version", "1");
    sq_content_number(c, "", "h_high", f->high_bits);
    sq_content_number(c, "", "h_low", f->low_bits);
    sq_content_number(c, "", "bank", f->bank);
    sq_content_number(c, "", "k", f->high_per_bank);
    if (f->group)
        sq_content_number(c, "", "group", f->group);
    else
        sq_content_text(c, "", "group", "row");
    sq_content_text(c, "", "scale_type", "f32");
    sq_content_text(c, "", "producer", info->producer);
    sq_content_text(c, "", "source", info->source);
    sq_content_number(c, "", "seed", info->seed);
    sq_content_text(c, "", "tool", "sqsim " SQ_VERSION);
}
enum { N_INFO = 12 };

// Tensor 2i, 2i+1: scales of item i; 2n+2i, 2n+2i+1: its streams.
static void declare(struct sq_content *c, const struct sq_format *f,
                    const struct sq_operand_file_item *item, size_t i, size_t n)
{
    const size_t k = sq_k_padded(f, item->k_orig), scales = sq_n_groups(f, k);
    sq_content_layer(c, item->name, item->n, k, item->k_orig, &item->input_digest);
    sq_content_matrix(c, 2 * i, item->name, "s_lo", SQ_F32, item->n, scales);
    sq_content_matrix(c, 2 * i + 1, item->name, "s_hi", SQ_F32, item->n, scales);
    sq_content_matrix(c, 2 * n + 2 * i, item->name, "lo", SQ_U8, item->n, sq_lo_row_nbytes(f, k));
    sq_content_matrix(c, 2 * n + 2 * i + 1, item->name, "hi", SQ_U8, item->n,
                      sq_hi_row_nbytes(f, k));
}

static enum sq_status check_items(const struct sq_operand_file_item *item, size_t n,
                                  struct sq_error *err)
{
    for (size_t i = 0; i < n; i++) {
        SQ_FAIL_IF(item[i].n < 1 || item[i].n > SQ_DIM_MAX || item[i].k_orig < 1 ||
                       item[i].k_orig > SQ_DIM_MAX,
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
    SQ_CLOSED(sq_content_free) struct sq_content c;
    sq_content_init(&c, N_INFO + SQ_CONTENT_LAYER * n_items, 4 * n_items);
    SQ_NEED(!c.has_failed, err, "%zu operands", n_items);
    c.n_tensors = 4 * n_items;
    add_info(&c, info);
    for (size_t i = 0; i < n_items; i++)
        declare(&c, &info->format, &item[i], i, n_items);
    SQ_NEED(!c.has_failed, err, "%zu operands", n_items);
    return sq_safetensors_begin(&w->file, path, c.tensor, c.n_tensors, c.pair, c.n_pairs, err);
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
