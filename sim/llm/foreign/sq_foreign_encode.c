// SPDX-License-Identifier: Apache-2.0
// Finds the format of ours for a layer of another program, and makes the layer of the same codes (sq_foreign.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/llm/foreign/sq_as_stored.h"
#include "sim/llm/foreign/sq_foreign_parts.h"

static bool is_power_of_two(float v)
{
    int exponent;
    return v > 0 && frexpf(v, &exponent) == 0.5f && exponent > -127 && exponent <= 128;
}

// Whether scales of 8-bit floats can be those of blocks of 32.
static bool fits_blocks(const struct sq_foreign_layer *l)
{
    bool is_good =
        l->code == SQ_FOREIGN_ELEMENT && l->bits == 8 && l->group % 32 == 0 && l->k % 32 == 0;
    for (size_t i = 0; is_good && i < sq_foreign_n_scales(l); i++)
        is_good = is_power_of_two(sq_foreign_number(l->scale, l->scale_at + i));
    return is_good;
}

// Whether any integer is the lowest of its bits.
static enum sq_status has_lowest(const struct sq_foreign_layer *l, bool *is_there,
                                 struct sq_error *err)
{
    const uint8_t lowest = (uint8_t)(0u - (1u << (l->bits - 1)));
    SQ_FREED uint8_t *code = malloc(l->k);
    *is_there = false;
    SQ_NEED(code, err, "a row of %zu", l->k);
    for (size_t row = 0; !*is_there && row < l->n; row++) {
        sq_foreign_codes(l, row, code);
        *is_there = memchr(code, lowest, l->k) != NULL;
    }
    return SQ_OK;
}

// Why no description holds integers with zero points, or NULL: its blocks are of 8 to 256 columns, and its activations are
// encoded as its weights are.
static const char *why_no_zero(const struct sq_foreign_layer *l)
{
    if (l->group < 8 || l->group > 256 || (l->group & (l->group - 1)) || l->k % l->group)
        return "it has zero points, of groups of other than 8, 16, .. 256 columns";
    if (l->has_row_scale || l->scale_rows > 1 || l->has_global || !l->scale)
        return "it has zero points, and scales of rows";
    return l->act == SQ_ADOPTED_ACT_NONE
               ? NULL
               : "it has zero points, and activations are encoded otherwise";
}

// The kind of layer, or why it is none (a phrase).
static enum sq_status kind_of(const struct sq_foreign_layer *l, struct sq_adopted *a,
                              const char **why, struct sq_error *err)
{
    const bool is_integer = l->code == SQ_FOREIGN_INTEGER;
    const bool is_eight = l->code == SQ_FOREIGN_ELEMENT && l->bits == 8;
    const bool is_ggml = l->layout == SQ_FOREIGN_GGML;
    const enum sq_dtype scale = is_ggml    ? is_integer      ? SQ_F16
                                             : l->has_global ? SQ_F8_E4M3
                                                             : SQ_F8_E8M0
                                : l->scale ? l->scale->dtype
                                           : SQ_F32;
    const enum sq_adopted_grid grid = l->zero            ? SQ_ADOPTED_ZERO
                                      : !l->ggml         ? SQ_ADOPTED_BUILT_IN
                                      : l->ggml->has_min ? SQ_ADOPTED_MIN
                                      : l->bits == 8     ? SQ_ADOPTED_INT
                                                         : SQ_ADOPTED_OFFSET;
    bool is_lowest = false;
    *why = l->code == SQ_FOREIGN_TABLE   ? "its values are a table of floats"
           : l->order                    ? "its columns are in groups by g_idx, not by their place"
           : l->zero                     ? why_no_zero(l)
           : is_eight && !fits_blocks(l) ? "its scales are no powers of two of blocks of 32 columns"
           : l->scale_rows > 1 && !is_eight ? "rows share a scale"
                                            : NULL;
    if (*why)
        return SQ_OK;
    if (is_integer && (grid == SQ_ADOPTED_BUILT_IN || grid == SQ_ADOPTED_INT))
        SQ_TRY(has_lowest(l, &is_lowest, err));
    if (is_lowest && l->bits == 8) {
        *why = "a code is -128, and integers of 8 bits are -127..127 here";
        return SQ_OK;
    }
    *a = (struct sq_adopted){
        .is_integer = is_integer,
        .element = l->element,
        .bits = l->bits + (is_lowest ? 1 : 0),
        .stored_bits = l->bits,
        .scale_nbytes = scale == SQ_F16 || scale == SQ_BF16 ? 2 : 4,
        .n = l->n,
        .k = l->k,
        .group = is_eight ? 32 : l->group,
        .sub_group = l->ggml && l->ggml->scale_bits ? l->ggml->group : 0,
        .sub_bits = l->ggml ? l->ggml->scale_bits : 0,
        .is_sub_signed = l->ggml && l->ggml->scale_middle > 0,
        .has_row_scale = l->has_row_scale && !is_eight,
        .scale_type = is_eight                                ? SQ_ADOPTED_E8M0
                      : is_integer                            ? SQ_ADOPTED_BINARY32
                      : scale == SQ_F8_E4M3                   ? SQ_ADOPTED_E4M3
                      : scale == SQ_U8 || scale == SQ_F8_E8M0 ? SQ_ADOPTED_E8M0
                                                              : SQ_ADOPTED_BINARY32,
        .grid = grid,
        .scale_dtype = scale == SQ_F16 || scale == SQ_BF16 ? scale : SQ_F32,
        .has_global = l->has_global,
        .act = l->act,
        .act_bits = l->act_bits,
        .act_global = l->act == SQ_ADOPTED_ACT_LIKE && l->has_global ? l->act_global : 0,
        .global = l->is_global_divisor ? 1 / l->global : l->global};
    return SQ_OK;
}

enum sq_status sq_foreign_recipe(const struct sq_foreign_layer *l, struct sq_recipe *r,
                                 const char **why, struct sq_error *err)
{
    struct sq_adopted a;
    const char *reason;
    SQ_TRY(kind_of(l, &a, &reason, err));
    if (!reason && !sq_adopted_recipe(&a, r))
        reason = "no format has such blocks";
    if (reason)
        *r = sq_as_stored_recipe();
    if (why)
        *why = reason;
    return SQ_OK;
}

// Arrays of a layer in memory of the caller, as struct sq_adopted has them.
struct arrays {
    uint8_t *code, *scale_code, *sub[2];
    float *scale;
    uint16_t *zero;
};

// Block i of integers in a GGUF file.
static void take_block(const struct sq_foreign_layer *l, const struct sq_adopted *a, size_t i,
                       const struct arrays *to)
{
    const size_t groups = a->k / a->group, subs = a->sub_group ? a->group / a->sub_group : 0;
    const int middle = a->grid == SQ_ADOPTED_INT ? 1 << (l->bits - 1) : 0;
    struct sq_ggml_block b;
    sq_foreign_block(l, i / groups, i % groups, &b);
    for (size_t j = 0; j < a->group; j++)
        to->code[i * a->group + j] = (uint8_t)(b.code[j] - middle);
    to->scale[i] = sq_f16_to_f32(b.d);
    to->zero[i] = l->ggml->has_min ? b.m : 0;
    for (size_t s = 0; s < subs; s++) {
        to->sub[0][i * subs + s] = (uint8_t)(b.scale[s] - l->ggml->scale_middle);
        to->sub[1][i * subs + s] = l->ggml->has_min ? b.min[s] : 0;
    }
}

// A row of any other file.
static void take_row(const struct sq_foreign_layer *l, const struct sq_adopted *a, size_t row,
                     const struct arrays *to)
{
    const size_t groups = a->k / a->group;
    const unsigned middle = 1u << (l->bits - 1);
    uint8_t *const code = to->code + row * l->k;
    sq_foreign_codes(l, row, code);
    for (size_t j = 0; a->grid == SQ_ADOPTED_ZERO && j < l->k; j++)
        code[j] = (uint8_t)(code[j] + middle);
    for (size_t g = 0; g < groups; g++) {
        const size_t of = g * a->group / l->group, at = row * groups + g;
        const size_t place = sq_foreign_scale_place(l, row, of);
        const enum sq_dtype dtype = l->scale ? l->scale->dtype : SQ_U8; // in blocks of GGUF
        int exponent;
        if (a->grid == SQ_ADOPTED_ZERO)
            to->zero[at] = (uint8_t)(sq_foreign_zero(l, row, of) + (l->is_signed ? middle : 0));
        if (a->scale_type == SQ_ADOPTED_BINARY32)
            to->scale[at] = sq_foreign_scale(l, row, of);
        else if (dtype == SQ_U8 || dtype == SQ_F8_E8M0 || dtype == SQ_F8_E4M3)
            to->scale_code[at] = sq_foreign_scale_byte(l, row, of);
        else // a power of two
            to->scale_code[at] =
                (uint8_t)(frexpf(sq_foreign_number(l->scale, place), &exponent), exponent + 126);
    }
}

static enum sq_status adopted(const struct sq_foreign_layer *l, struct sq_adopted *a,
                              const struct sq_recipe *r, struct sq_quant_layer *q,
                              struct sq_error *err)
{
    const size_t n = a->n * (a->k / a->group), subs = a->sub_group ? a->group / a->sub_group : 0;
    SQ_FREED uint8_t *code = malloc(a->n * a->k), *scale_code = malloc(n);
    SQ_FREED uint8_t *sub = malloc(n * subs + 1), *least = malloc(n * subs + 1);
    SQ_FREED uint16_t *zero = malloc(n * sizeof *zero);
    SQ_FREED float *scale = malloc(n * sizeof *scale);
    const struct arrays to = {code, scale_code, {sub, least}, scale, zero};
    SQ_NEED(code && scale && scale_code && zero && sub && least, err, "a layer of %zu x %zu", a->n,
            a->k);
    for (size_t i = 0; l->ggml && i < n; i++)
        take_block(l, a, i, &to);
    for (size_t row = 0; !l->ggml && row < a->n; row++)
        take_row(l, a, row, &to);
    a->code = code;
    a->scale = scale;
    a->scale_code = scale_code;
    a->zero = zero;
    a->sub[0] = sub;
    a->sub[1] = a->grid == SQ_ADOPTED_MIN ? least : NULL;
    return sq_adopted_layer(a, r, q, err);
}

static enum sq_status stored(const struct sq_foreign_layer *l, struct sq_quant_layer *q,
                             struct sq_error *err)
{
    double nbytes = 0;
    float *w = malloc(l->n * l->k * sizeof *w);
    SQ_NEED(w, err, "a layer of %zu x %zu", l->n, l->k);
    const enum sq_status status = sq_foreign_read(l, 0, l->n, w, err);
    if (status != SQ_OK) {
        free(w);
        return status;
    }
    for (size_t i = 0; i < SQ_FOREIGN_TENSORS && l->used[i]; i++)
        nbytes += (double)l->used[i]->nbytes;
    return sq_as_stored_layer(w, l->n, l->k, 8 * nbytes, q, err);
}

enum sq_status sq_foreign_encoded(const struct sq_foreign_layer *l, const struct sq_recipe *r,
                                  struct sq_quant_layer *q, struct sq_error *err)
{
    struct sq_adopted a;
    const char *why;
    *q = (struct sq_quant_layer){0};
    if (sq_is_as_stored(r))
        return stored(l, q, err);
    SQ_TRY(kind_of(l, &a, &why, err));
    return why ? SQ_FAIL(err, SQ_ERR_INTERNAL, "tensor '%.80s': %s", l->used[0]->name, why)
               : adopted(l, &a, r, q, err);
}
