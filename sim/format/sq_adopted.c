// SPDX-License-Identifier: Apache-2.0
// Finds the format for weights that another program encoded, and makes its layers of them (sq_adopted.h).
#include "sim/format/sq_adopted.h"

#include <stdio.h>
#include <stdlib.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_fp.h"
#include "sim/format/sq_format_ops.h"

// A description of integers. Its rule of scales is the usual one for such a grid: nothing is encoded by it here.
static const struct sq_format_ops *described(const struct sq_adopted *a)
{
    const unsigned half = 1u << (a->bits - 1);
    const struct {
        const char *name, *grid, *rule, *zero;
        unsigned by;
    } kind[] = {[SQ_ADOPTED_ZERO] = {"zero_", "uint", "range / ", ", zero: int", 2 * half - 1},
                [SQ_ADOPTED_MIN] = {"min_", "uint", "range / ", ", zero: min", 2 * half - 1},
                [SQ_ADOPTED_OFFSET] = {"", "offset", "max / -", "", half},
                [SQ_ADOPTED_INT] = {"", "int", "amax / ", "", half - 1}},
      k = kind[a->grid];
    const char *const scale = a->scale_dtype == SQ_F16    ? "f16"
                              : a->scale_dtype == SQ_BF16 ? "bf16"
                                                          : "f32";
    const struct sq_format_ops *f;
    char text[320], integer[16] = "", below[64] = "";
    if (a->sub_group) {
        snprintf(integer, sizeof integer, "_%sint%u", a->is_sub_signed ? "" : "u", a->sub_bits);
        snprintf(below, sizeof below, ", {length: %zu, scale: %s}", a->sub_group, integer + 1);
    }
    const int n = snprintf(text, sizeof text,
                           "name: int%u_%sg%zu%s_%s\n"
                           "elements: {bits: %u, grids: {int%u: %s}}\n"
                           "blocks: [{length: %zu, scale: %s, rule: %s%u%s}%s]\n"
                           "tensor_scale: none\n"
                           "operands: weights\n",
                           a->bits, k.name, a->sub_group ? a->sub_group : a->group, integer, scale,
                           a->bits, a->bits, k.grid, a->group, scale, k.rule, k.by, k.zero, below);
    return sq_format_described(text, (size_t)n, "integers", &f, NULL) == SQ_OK ? f : NULL;
}

bool sq_adopted_recipe(const struct sq_adopted *a, struct sq_recipe *r)
{
    if (a->grid) {
        const struct sq_format_ops *const f = described(a);
        *r = f ? sq_recipe_of(f) : *r;
        r->operand = SQ_OPERAND_WEIGHTS;
        return f && sq_format_settle(SQ_IN_FILE, NULL, r, NULL) == SQ_OK &&
               sq_recipe_check(r, NULL) == SQ_OK;
    }
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

static size_t put_bits(uint8_t *out, size_t at, unsigned v, unsigned bits)
{
    for (unsigned b = 0; b < bits; b++, at++)
        out[at / 8] |= (uint8_t)((v >> b & 1u) << at % 8);
    return at;
}

// Integers of sub-blocks, and a zero point or minimum of zero_bits, block after block; each row from a whole byte on.
static void put_beside(const struct sq_adopted *a, unsigned zero_bits, size_t row_nbytes,
                       uint8_t *out)
{
    const size_t groups = a->k / a->group, subs = a->sub_group ? a->group / a->sub_group : 0;
    size_t at = 0;
    for (size_t i = 0; i < a->n * groups; i++) {
        uint8_t *const row = out + i / groups * row_nbytes;
        at = i % groups ? at : 0;
        for (unsigned p = 0; p < 2; p++)
            for (size_t j = i * subs; a->sub[p] && j < (i + 1) * subs; j++)
                at = put_bits(row, at, a->sub[p][j], a->sub_bits);
        at = put_bits(row, at, zero_bits ? a->zero[i] : 0, zero_bits);
    }
}

// Scales as the description stores them: the numbers of the file, which are of that type.
static void put_scales(const struct sq_adopted *a, uint8_t *out)
{
    const size_t size = a->scale_dtype == SQ_F32 ? 4 : 2;
    for (size_t i = 0; i < a->n * (a->k / a->group); i++) {
        const uint32_t bits = sq_bits_of(a->scale[i]);
        const uint32_t code = a->scale_dtype == SQ_F16    ? sq_f32_to_f16(a->scale[i])
                              : a->scale_dtype == SQ_BF16 ? bits >> 16
                                                          : bits;
        for (size_t b = 0; b < size; b++)
            out[i * size + b] = (uint8_t)(code >> 8 * b);
    }
}

enum sq_status sq_adopted_layer(const struct sq_adopted *a, const struct sq_recipe *r,
                                struct sq_quant_layer *q, struct sq_error *err)
{
    const struct sq_format_adopts *names = r->format->file->adopts;
    const size_t row_nbytes = (a->k * a->bits + 7) / 8, groups = a->k / a->group;
    const bool is_code = a->scale_type != SQ_ADOPTED_BINARY32;
    const unsigned zero_bits = a->grid == SQ_ADOPTED_MIN    ? 16
                               : a->grid == SQ_ADOPTED_ZERO ? a->bits
                                                            : 0;
    const size_t subs = a->sub_group ? a->group / a->sub_group * (1u + !!a->sub[1]) : 0;
    const size_t beside_nbytes = (groups * (subs * a->sub_bits + zero_bits) + 7) / 8;
    SQ_FREED uint8_t *stream = calloc(a->n, row_nbytes);
    SQ_FREED uint8_t *beside = calloc(a->n, beside_nbytes + 1),
                     *scales = calloc(a->n, groups * sizeof(float));
    struct sq_tensor part[4] = {{.name = names->code,
                                 .dtype = SQ_U8,
                                 .n_dims = 2,
                                 .dim = {a->n, row_nbytes},
                                 .data = stream},
                                {.name = names->scale,
                                 .dtype = is_code   ? SQ_U8
                                          : a->grid ? a->scale_dtype
                                                    : SQ_F32,
                                 .n_dims = 2,
                                 .dim = {a->n, groups},
                                 .data = is_code   ? a->scale_code
                                         : a->grid ? scales
                                                   : (const void *)a->scale}};
    size_t n_parts = 2;
    *q = (struct sq_quant_layer){0};
    SQ_NEED(stream && beside && scales, err, "a layer of %zu x %zu", a->n, a->k);
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
    if (a->grid)
        put_scales(a, scales);
    if (beside_nbytes > 0) {
        put_beside(a, zero_bits, beside_nbytes, beside);
        part[n_parts++] = (struct sq_tensor){.name = names->zero,
                                             .dtype = SQ_U8,
                                             .n_dims = 2,
                                             .dim = {a->n, beside_nbytes},
                                             .data = beside};
    }
    enum sq_status status = SQ_OK;
    for (size_t i = 0; status == SQ_OK && i < n_parts; i++)
        status = sq_tensor_derive("a layer", &part[i], err);
    const struct sq_part_source source = {
        .layer = "", .n = a->n, .k_orig = a->k, .part = part, .n_parts = n_parts};
    *q = (struct sq_quant_layer){
        .format = r->format, .n = a->n, .k = sq_recipe_padded(r, a->k), .k_orig = a->k};
    SQ_THEN(status, r->format->file->load(&q->state, r, &source, err));
    if (status != SQ_OK)
        sq_quant_layer_free(q);
    return status;
}
