// SPDX-License-Identifier: Apache-2.0
// Finds the format for weights that another program encoded, and makes its layers of them (sq_adopted.h).
#include "sim/format/sq_adopted.h"

#include <stdlib.h>

#include "models/number/sq_bits.h"
#include "sim/format/sq_format_ops.h"

bool sq_adopted_recipe(const struct sq_adopted *a, struct sq_recipe *r)
{
    for (size_t i = 0; sq_formats[i]; i++) {
        const struct sq_format_file *file = sq_formats[i]->file;
        *r = sq_recipe_of(sq_formats[i]);
        if (file && file->adopts && file->adopts->takes(a, r) &&
            sq_format_settle(SQ_IN_FILE, NULL, r, NULL) == SQ_OK &&
            sq_recipe_check(r, NULL) == SQ_OK)
            return true;
    }
    return false;
}

// Codes as a stream of bits, each row from a whole byte on.
static void pack(const struct sq_adopted *a, size_t row_nbytes, uint8_t *out)
{
    for (size_t row = 0; row < a->n; row++)
        for (size_t j = 0; j < a->k; j++)
            sq_bits_put(out + row * row_nbytes, j, a->bits, (int8_t)a->code[row * a->k + j]);
}

enum sq_status sq_adopted_layer(const struct sq_adopted *a, const struct sq_recipe *r,
                                struct sq_quant_layer *q, struct sq_error *err)
{
    const struct sq_format_adopts *names = r->format->file->adopts;
    const size_t row_nbytes = (a->k * a->bits + 7) / 8, groups = a->k / a->group;
    const bool is_code = a->scale_type != SQ_ADOPTED_BINARY32;
    uint8_t *stream = calloc(a->n, row_nbytes);
    struct sq_tensor part[4] = {{.name = names->code,
                                 .dtype = SQ_U8,
                                 .n_dims = 2,
                                 .dim = {a->n, row_nbytes},
                                 .data = stream},
                                {.name = names->scale,
                                 .dtype = is_code ? SQ_U8 : SQ_F32,
                                 .n_dims = 2,
                                 .dim = {a->n, groups},
                                 .data = is_code ? a->scale_code : (const void *)a->scale}};
    size_t n_parts = 2;
    *q = (struct sq_quant_layer){0};
    SQ_NEED(stream, err, "a layer of %zu x %zu", a->n, a->k);
    if (a->has_global)
        part[n_parts++] = (struct sq_tensor){.name = names->global,
                                             .dtype = SQ_F32,
                                             .n_dims = 1,
                                             .dim = {1},
                                             .data = (const void *)&a->global};
    if (a->act_global > 0)
        part[n_parts++] = (struct sq_tensor){.name = names->act_global,
                                             .dtype = SQ_F32,
                                             .n_dims = 1,
                                             .dim = {1},
                                             .data = (const void *)&a->act_global};
    pack(a, row_nbytes, stream);
    enum sq_status status = SQ_OK;
    for (size_t i = 0; status == SQ_OK && i < n_parts; i++)
        status = sq_tensor_derive("a layer", &part[i], err);
    const struct sq_part_source source = {
        .layer = "", .n = a->n, .k_orig = a->k, .part = part, .n_parts = n_parts};
    *q = (struct sq_quant_layer){
        .format = r->format, .n = a->n, .k = sq_recipe_padded(r, a->k), .k_orig = a->k};
    SQ_THEN(status, r->format->file->load(&q->state, r, &source, err));
    if (status != SQ_OK)
        *q = (struct sq_quant_layer){0};
    free(stream);
    return status;
}
