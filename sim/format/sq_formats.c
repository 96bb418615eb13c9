// SPDX-License-Identifier: Apache-2.0
// The list of formats: the only one.
#include "sim/format/file/sq_content.h"
#include "sim/format/sq_format_ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
#define FORMATS(FORMAT)  \
    FORMAT(sq_w)         \
    FORMAT(dense)        \
    FORMAT(sq_a_static)  \
    FORMAT(sq_a_dynamic) \
    FORMAT(sp24)         \
    FORMAT(gqsa)         \
    FORMAT(spqt)         \
    FORMAT(spqr)         \
    FORMAT(mxfp4)        \
    FORMAT(mxfp6)        \
    FORMAT(mxfp8)        \
    FORMAT(mxint8)       \
    FORMAT(mxplus)       \
    FORMAT(nvfp4)        \
    FORMAT(nvfp4_46)     \
    FORMAT(nvint4)       \
    FORMAT(nvint5)       \
    FORMAT(if4)          \
    FORMAT(razer)        \
    FORMAT(sq_b)         \
    // end
// clang-format on

#define DECLARE(name) extern const struct sq_format_ops sq_format_##name;
#define ADDRESS(name) &sq_format_##name,
#define NAME(name) #name,
#define ONE(name) 1 +
FORMATS(DECLARE)
enum { N_OWN = FORMATS(ONE) 0 };
const struct sq_format_ops *sq_formats[N_OWN + SQ_FORMATS_MORE + 1] = {FORMATS(ADDRESS) NULL};
const char *sq_format_names[N_OWN + SQ_FORMATS_MORE + 1] = {FORMATS(NAME) NULL};
static size_t n_formats = N_OWN;
const char *const sq_core_format_names[] = {"sq_w", NULL};

struct sq_recipe sq_recipe_default(void)
{
    struct sq_recipe r;
    (void)sq_format_recipe(&sq_format_dense, SQ_IN_EVAL, NULL, &r, NULL);
    return r;
}

size_t sq_n_formats(void)
{
    return n_formats;
}

enum sq_status sq_format_add(const struct sq_format_ops *f, struct sq_error *err)
{
    SQ_FAIL_IF(n_formats == N_OWN + SQ_FORMATS_MORE, err, SQ_ERR_RANGE,
               "format %s: more than %d descriptions", f->name, SQ_FORMATS_MORE);
    SQ_FAIL_IF(sq_format_find(f->name), err, SQ_ERR_ARG,
               "name = %s is that of another format, need another", f->name);
    sq_format_names[n_formats] = f->name;
    sq_formats[n_formats++] = f;
    return SQ_OK;
}

const struct sq_format_ops *sq_format_find(const char *name)
{
    for (size_t i = 0; sq_formats[i]; i++)
        if (strcmp(sq_formats[i]->name, name) == 0)
            return sq_formats[i];
    return NULL;
}

const struct sq_format_ops *sq_format_of_packed(void)
{
    size_t i = 0;
    while (!sq_formats[i]->file || !sq_formats[i]->file->packed)
        i++;
    return sq_formats[i];
}

enum sq_gpu_product sq_gpu_product_bf16(const struct sq_recipe *r)
{
    (void)r;
    return SQ_GPU_PRODUCT_BF16;
}

enum sq_gpu_product sq_gpu_product_int8(const struct sq_recipe *r)
{
    (void)r;
    return SQ_GPU_PRODUCT_INT8;
}

bool sq_gpu_is_f16(const struct sq_gpu_sample *s)
{
    return strcmp(s->dtype_a, "f16") == 0;
}

bool sq_gpu_is_share(const struct sq_gpu_sample *s, double share)
{
    return fabs(s->sparsity - share) < 0.02;
}

// "<layer>.<part>" of a file, or the part of a layer in memory; NULL where there is none.
static enum sq_status part_named(const struct sq_part_source *s, const char *part,
                                 const struct sq_tensor **t, struct sq_error *err)
{
    *t = NULL;
    for (size_t i = 0; i < s->n_parts; i++)
        if (strcmp(s->part[i].name, part) == 0)
            *t = &s->part[i];
    if (!s->file)
        return SQ_OK;
    SQ_FREED char *full = sq_content_name(s->layer, part);
    SQ_NEED(full, err, "a name");
    *t = sq_safetensors_find(s->file, full);
    return SQ_OK;
}

enum sq_status sq_part_find(const struct sq_part_source *s, const char *part, enum sq_dtype dtype,
                            unsigned n_dims, const size_t *dim, const struct sq_tensor **t,
                            struct sq_error *err)
{
    SQ_TRY(part_named(s, part, t, err));
    SQ_FAIL_IF(!*t, err, SQ_ERR_DAMAGED, "tensor %s of layer '%.60s' is missing", part, s->layer);
    SQ_FAIL_IF((*t)->dtype != dtype || (*t)->n_dims != n_dims, err, SQ_ERR_SHAPE,
               "tensor %s of layer '%.60s' is not %s of %u dimensions", part, s->layer,
               sq_dtype_name(dtype), n_dims);
    for (unsigned i = 0; i < n_dims; i++)
        if (dim[i] != SIZE_MAX && (*t)->dim[i] != dim[i])
            return SQ_FAIL(
                err, SQ_ERR_STREAM_LEN,
                "tensor %s of layer '%.60s': dimension %u is %llu, its metadata need %zu", part,
                s->layer, i, (unsigned long long)(*t)->dim[i], dim[i]);
    return SQ_OK;
}

enum sq_status sq_parts_read(sq_parts *parts, const void *state, const struct sq_part_source *s,
                             struct sq_error *err)
{
    struct sq_part part[SQ_PARTS_MAX];
    const size_t n = parts(state, part);
    for (size_t i = 0; i < n; i++) {
        const size_t dim[] = {part[i].dim[0], part[i].dim[1], part[i].dim[2]};
        const struct sq_tensor *t;
        SQ_TRY(sq_part_find(s, part[i].name, part[i].dtype, part[i].n_dims, dim, &t, err));
        memcpy((void *)(uintptr_t)part[i].data, t->data, t->nbytes);
    }
    return SQ_OK;
}
