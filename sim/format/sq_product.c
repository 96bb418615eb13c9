// SPDX-License-Identifier: Apache-2.0
// Keeps the tensors and numbers of a product, and finds them by their names (sq_product.h).
#include "sim/format/sq_product.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"

void sq_product_free(struct sq_product *p)
{
    for (size_t i = 0; i < p->n_owned; i++)
        free(p->owned[i]);
    p->n_owned = p->n_tensors = p->n_numbers = 0;
}

enum sq_status sq_product_keep(struct sq_product *p, size_t nbytes, void **data,
                               struct sq_error *err)
{
    void *buffer =
        p->n_owned < SQ_PRODUCT_OWNED_MAX ? aligned_alloc(64, (nbytes + 127) / 64 * 64) : NULL;
    SQ_FAIL_IF(!buffer, err, SQ_ERR_MEMORY, "%s: out of memory for %zu bytes",
               sq_path_tail(p->source), nbytes);
    memset(buffer, 0, nbytes);
    p->owned[p->n_owned++] = buffer;
    *data = buffer;
    return SQ_OK;
}

void sq_product_put(struct sq_product *p, const char *name, enum sq_dtype dtype, size_t n,
                    const void *data)
{
    size_t i = 0;
    while (i < p->n_tensors && strcmp(p->tensor[i].name, name) != 0)
        i++;
    assert(i < SQ_PRODUCT_TENSORS_MAX);
    p->n_tensors += i == p->n_tensors;
    p->tensor[i] = (struct sq_product_tensor){name, dtype, n, data};
}

void sq_product_put_number(struct sq_product *p, const char *name, size_t value)
{
    assert(p->n_numbers < SQ_PRODUCT_NUMBERS_MAX);
    p->number[p->n_numbers++] = (struct sq_product_number){name, value};
}

// ---- numbers --------------------------------------------------------------------------------

// The text of a number of the file; NULL: there is none.
static const char *text_of(const struct sq_product *p, const char *name)
{
    return p->file ? sq_safetensors_metadata(p->file, name) : NULL;
}

static const struct sq_product_number *find_number(const struct sq_product *p, const char *name)
{
    for (size_t i = 0; i < p->n_numbers; i++)
        if (strcmp(p->number[i].name, name) == 0)
            return &p->number[i];
    return NULL;
}

enum sq_status sq_product_number(const struct sq_product *p, const char *name, size_t min,
                                 size_t max, size_t *value, struct sq_error *err)
{
    const struct sq_product_number *number = find_number(p, name);
    if (number) {
        SQ_FAIL_IF(number->value < min || number->value > max, err, SQ_ERR_RANGE,
                   "%s: %s = %zu, need %zu..%zu", sq_path_tail(p->source), name, number->value, min,
                   max);
        *value = number->value;
        return SQ_OK;
    }
    const char *text = text_of(p, name);
    const size_t len = text ? strspn(text, "0123456789") : 0;
    const unsigned long long v = text ? strtoull(text, NULL, 10) : 0;
    SQ_FAIL_IF(!text || len == 0 || len > 10 || text[len] || v < min || v > max, err,
               SQ_ERR_DAMAGED, "%s: metadata %s = %.20s, need %zu..%zu", sq_path_tail(p->source),
               name, text ? text : "missing", min, max);
    *value = (size_t)v;
    return SQ_OK;
}

enum sq_status sq_product_option(const struct sq_product *p, const char *name, size_t min,
                                 size_t max, size_t fallback, size_t *value, struct sq_error *err)
{
    if (find_number(p, name) || text_of(p, name))
        return sq_product_number(p, name, min, max, value, err);
    *value = fallback;
    return SQ_OK;
}

// ---- tensors --------------------------------------------------------------------------------

// A tensor as it is held, aligned or not.
static bool find_tensor(const struct sq_product *p, const char *name, struct sq_product_tensor *t)
{
    for (size_t i = 0; i < p->n_tensors; i++)
        if (strcmp(p->tensor[i].name, name) == 0) {
            *t = p->tensor[i];
            return true;
        }
    const struct sq_tensor *f = p->file ? sq_safetensors_find(p->file, name) : NULL;
    if (f)
        *t = (struct sq_product_tensor){name, f->dtype, f->n_elements, f->data};
    return f;
}

size_t sq_product_count(const struct sq_product *p, const char *name)
{
    struct sq_product_tensor t;
    return find_tensor(p, name, &t) ? t.n_elements : SIZE_MAX;
}

enum sq_status sq_product_tensor(struct sq_product *p, const char *name, enum sq_dtype dtype,
                                 size_t n, const void **data, struct sq_error *err)
{
    struct sq_product_tensor t;
    SQ_FAIL_IF(!find_tensor(p, name, &t), err, SQ_ERR_DAMAGED,
               "%s: tensor %s is missing, need %s of %zu elements", sq_path_tail(p->source), name,
               sq_dtype_name(dtype), n);
    SQ_FAIL_IF(t.dtype != dtype || t.n_elements != n, err, SQ_ERR_DAMAGED,
               "%s: tensor %s = %s of %zu elements, need %s of %zu", sq_path_tail(p->source), name,
               sq_dtype_name(t.dtype), t.n_elements, sq_dtype_name(dtype), n);
    *data = t.data;
    if (!p->file)
        return SQ_OK;
    void *copy; // in a file it may stand anywhere
    SQ_TRY(sq_product_keep(p, n * sq_dtype_nbytes(dtype), &copy, err));
    memcpy(copy, t.data, n * sq_dtype_nbytes(dtype));
    *data = copy;
    return SQ_OK;
}

enum sq_status sq_product_copy(struct sq_product *p, const char *name, enum sq_dtype dtype,
                               size_t n, void **data, struct sq_error *err)
{
    const void *from;
    SQ_TRY(sq_product_tensor(p, name, dtype, n, &from, err));
    SQ_TRY(sq_product_keep(p, n * sq_dtype_nbytes(dtype), data, err));
    memcpy(*data, from, n * sq_dtype_nbytes(dtype));
    return SQ_OK;
}

// ---- what several formats have --------------------------------------------------------------

enum sq_status sq_product_bank(const struct sq_product *p, unsigned *bank, unsigned *high,
                               struct sq_error *err)
{
    size_t b, h;
    SQ_TRY(sq_product_number(p, "bank", 2, SQ_BANK_MAX, &b, err));
    SQ_TRY(sq_product_number(p, "k", 1, b - 1, &h, err));
    SQ_FAIL_IF(p->k % b != 0, err, SQ_ERR_SHAPE,
               "%s: metadata K = %zu, need a multiple of bank = %zu", sq_path_tail(p->source), p->k,
               b);
    *bank = (unsigned)b;
    *high = (unsigned)h;
    return SQ_OK;
}

enum sq_status sq_product_groups(const struct sq_product *p, size_t *groups, struct sq_error *err)
{
    size_t group;
    SQ_TRY(sq_product_option(p, "group", 1, p->k, p->k, &group, err));
    SQ_FAIL_IF(p->k % group != 0, err, SQ_ERR_SHAPE,
               "%s: metadata K = %zu, need a multiple of group = %zu", sq_path_tail(p->source),
               p->k, group);
    *groups = p->k / group;
    return SQ_OK;
}

enum sq_status sq_product_format(const struct sq_product *p, struct sq_format *f,
                                 struct sq_error *err)
{
    size_t group, high, low;
    *f = (struct sq_format){0};
    SQ_TRY(sq_product_bank(p, &f->bank, &f->high_per_bank, err));
    SQ_TRY(sq_product_number(p, "group", f->bank, p->k, &group, err));
    SQ_TRY(sq_product_option(p, "high_bits", 4, 8, 8, &high, err));
    SQ_TRY(sq_product_option(p, "low_bits", 2, 4, 4, &low, err));
    f->group = group == p->k && group > SQ_BANK_MAX ? 0 : (unsigned)group; // 0: a row
    f->high_bits = (unsigned)high;
    f->low_bits = (unsigned)low;
    SQ_FAIL_IF(sq_k_padded(f, p->k) != p->k, err, SQ_ERR_SHAPE,
               "%s: metadata K = %zu, need a multiple of group = %zu", sq_path_tail(p->source),
               p->k, group);
    return sq_format_check(f, err);
}
