// SPDX-License-Identifier: Apache-2.0
// Finds the tensors of a quantized layer by their names, checks their shapes, and holds the config against them
// (sq_foreign.h).
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_json.h"
#include "sim/llm/foreign/sq_foreign_config.h"
#include "sim/llm/foreign/sq_foreign_parts.h"

enum { NAME_SIZE = 320 };

// A layer on its way in.
struct opening {
    const struct sq_foreign *f;
    const char *name;
    struct sq_foreign_layer *l;
    size_t n_used;
    struct sq_foreign_scheme scheme; // of the config; zeros where it says nothing
    struct sq_error *err;
};

static const struct sq_tensor *peek(const struct sq_foreign *f, const char *name, const char *part)
{
    char full[NAME_SIZE];
    const bool has_room = snprintf(full, sizeof full, "%s%s", name, part) < (int)sizeof full;
    const struct sq_tensor *t = NULL;
    for (size_t i = 0; has_room && !t && i < f->n_shards; i++)
        t = sq_safetensors_find(&f->shard[i], full);
    return t;
}

// A tensor of the layer; NULL where there is none.
static const struct sq_tensor *find(struct opening *o, const char *part)
{
    const struct sq_tensor *t = peek(o->f, o->name, part);
    if (t && o->n_used < SQ_FOREIGN_TENSORS - 1)
        o->l->used[o->n_used++] = t;
    return t;
}

static size_t up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

static bool has_shape(const struct sq_tensor *t, size_t rows, size_t columns)
{
    return t->n_dims == 2 && t->dim[0] == rows && t->dim[1] == columns;
}

// Rows and columns that a weight_shape holds, each 1..2^32 - 1.
static bool read_shape(const struct sq_tensor *t, size_t *rows, size_t *columns)
{
    if (t->dtype != SQ_I64 || t->n_elements != 2 || sq_foreign_word(t->data, 1) != 0 ||
        sq_foreign_word(t->data, 3) != 0)
        return false;
    const size_t n = sq_foreign_word(t->data, 0), k = sq_foreign_word(t->data, 2);
    if (n > 0 && k > 0) {
        *rows = n;
        *columns = k;
    }
    return n > 0 && k > 0;
}

static bool is_plain(enum sq_dtype d)
{
    return d == SQ_F32 || d == SQ_F16 || d == SQ_BF16;
}

static bool is_e8m0(const struct sq_tensor *t)
{
    return t->dtype == SQ_U8 || t->dtype == SQ_F8_E8M0;
}

// "tensor 'X' is U8 [3, 4], need ...".
__attribute__((format(printf, 3, 4))) static enum sq_status
wrong(const struct sq_tensor *t, struct sq_error *err, const char *need, ...)
{
    char shape[72] = "", text[200];
    va_list list;
    va_start(list, need);
    vsnprintf(text, sizeof text, need, list);
    va_end(list);
    for (unsigned i = 0, at = 0; i < t->n_dims && at < 48; i++)
        at += (unsigned)snprintf(shape + at, sizeof shape - at, "%s%llu", i ? ", " : "",
                                 (unsigned long long)t->dim[i]);
    return SQ_FAIL(err, SQ_ERR_SHAPE, "tensor '%.80s' is %s [%s], need %s", t->name,
                   sq_dtype_name(t->dtype), shape, text);
}

static enum sq_status missing(const struct opening *o, const char *part, const char *beside)
{
    return SQ_FAIL(o->err, SQ_ERR_DAMAGED, "tensor '%.80s%s' is missing beside %s", o->name, part,
                   beside);
}

// How and where the codes are.
static void set_codes(struct sq_foreign_layer *l, enum sq_foreign_layout layout,
                      enum sq_foreign_code code, size_t bits, const uint8_t *data)
{
    l->layout = layout;
    l->code = code;
    l->bits = (unsigned)bits;
    l->data = data;
}

// The one number of a tensor, finite and > 0.
static enum sq_status one_number(const struct sq_tensor *t, float *v, struct sq_error *err)
{
    if (!is_plain(t->dtype) || t->n_elements != 1)
        return wrong(t, err, "one F32");
    *v = sq_foreign_number(t, 0);
    return isfinite(*v) && *v > 0
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_SCALE, "tensor '%.80s' = %g, need a finite number > 0",
                         t->name, (double)*v);
}

// ---- scales -----------------------------------------------------------------------------------

// Every scale is a finite number, not below 0.
static enum sq_status check_scales(struct opening *o)
{
    const struct sq_foreign_layer *l = o->l;
    const size_t n = sq_foreign_n_scales(l);
    for (size_t i = 0; i < n; i++) {
        const float v = sq_foreign_number(l->scale, l->scale_at + i);
        if (!isfinite(v) || v < 0)
            return SQ_FAIL(o->err, SQ_ERR_SCALE,
                           "element %zu of tensor '%.80s' is %g, need a finite number, not below 0",
                           l->scale_at + i, l->scale->name, (double)v);
    }
    return SQ_OK;
}

// The largest number that the layer can stand for.
static double reach(const struct opening *o, bool is_divisor)
{
    const struct sq_foreign_layer *l = o->l;
    const size_t n = sq_foreign_n_scales(l);
    const double global = (double)l->global;
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, sq_foreign_number(l->scale, l->scale_at + i));
    return (double)most * 6 * (is_divisor ? 1 / global : global);
}

// Whether weights so large occur in a model.
static bool is_likely(double most)
{
    return most > 1e-4 && most < 1e3;
}

// The two conventions of the scale above the blocks are each other's reciprocal.
static void judge_global(struct opening *o, const struct sq_tensor *global)
{
    const double as_is = reach(o, o->l->is_global_divisor),
                 other = reach(o, !o->l->is_global_divisor);
    if (is_likely(other) && !is_likely(as_is))
        sq_foreign_note(
            o->f->notes,
            "tensor '%.80s' = %g: %s by it, as %s has it, the largest weight may be %.3g; "
            "%s by it, %.3g: the file may hold the reciprocal",
            global->name, (double)o->l->global, o->l->is_global_divisor ? "divided" : "multiplied",
            o->l->is_global_divisor ? "compressed-tensors" : "modelopt", as_is,
            o->l->is_global_divisor ? "multiplied" : "divided", other);
}

// A scale of each block of `group` columns, in the tensor that is to hold [n][k / group] of them.
static enum sq_status block_scales(struct opening *o, const struct sq_tensor *scale, size_t group)
{
    struct sq_foreign_layer *l = o->l;
    if (!has_shape(scale, l->n, l->k / group) || l->k % group != 0)
        return wrong(scale, o->err, "[%zu, %g]: one of each %zu of %zu columns, not swizzled", l->n,
                     (double)l->k / (double)group, group, l->k);
    l->scale = scale;
    l->scale_rows = 1;
    l->group = group;
    return check_scales(o);
}

// ---- FP4 --------------------------------------------------------------------------------------

// Blocks of 16 below one scale, or of 32: what the scales' dtype says.
static enum sq_status open_fp4(struct opening *o, const struct sq_tensor *codes,
                               bool is_packed_name)
{
    struct sq_foreign_layer *l = o->l;
    const char *const above = is_packed_name ? ".weight_global_scale" : ".weight_scale_2";
    const struct sq_tensor *scale = find(o, ".weight_scale"), *global, *act;
    if (!scale)
        return missing(o, ".weight_scale", codes->name);
    const bool is_six =
        is_packed_name && (o->scheme.bits == 6 || has_shape(codes, l->n, l->k / 4 * 3));
    if (!has_shape(codes, l->n, is_six ? l->k / 4 * 3 : l->k / 2) || l->k % (is_six ? 4 : 2) != 0)
        return wrong(codes, o->err, "U8 [%zu, %g], %s", l->n, (double)l->k * (is_six ? .75 : .5),
                     is_six ? "four codes of 6 bits in three bytes" : "two codes of 4 bits a byte");
    set_codes(l, SQ_FOREIGN_ROWS, SQ_FOREIGN_ELEMENT, is_six ? 6 : 4, codes->data);
    l->element = is_six ? SQ_ELEMENT_E2M3 : SQ_ELEMENT_E2M1;
    if (is_e8m0(scale)) {
        l->what = is_six           ? "compressed-tensors MXFP6"
                  : is_packed_name ? "compressed-tensors MXFP4"
                                   : "MXFP4 of quark and modelopt";
        l->act = sq_foreign_act_like(&o->scheme, l->bits, o->f->notes, o->scheme.is_act);
        return block_scales(o, scale, 32);
    }
    if (is_six || scale->dtype != SQ_F8_E4M3)
        return wrong(scale, o->err, "F8_E4M3 (NVFP4) or U8 (MXFP4)");
    l->is_global_divisor = is_packed_name;
    l->what = is_packed_name ? "compressed-tensors NVFP4" : "modelopt NVFP4";
    global = find(o, above);
    if (!global)
        return missing(o, above, scale->name);
    SQ_TRY(block_scales(o, scale, 16));
    SQ_TRY(one_number(global, &l->global, o->err));
    l->has_global = true;
    judge_global(o, global);
    act = find(o, is_packed_name ? ".input_global_scale" : ".input_scale");
    l->act = sq_foreign_act_like(&o->scheme, l->bits, o->f->notes, act || o->scheme.is_act);
    if (!act || l->act == SQ_ADOPTED_ACT_NONE)
        return SQ_OK;
    SQ_TRY(one_number(act, &l->act_global, o->err));
    if (is_packed_name)
        l->act_global = 1 / l->act_global;
    return SQ_OK;
}

// ---- FP8 and INT8 -----------------------------------------------------------------------------

// Scales of the tensor, of a row, of a row's blocks or of tiles, as their shape says.
static enum sq_status open_eight(struct opening *o, const struct sq_tensor *codes)
{
    struct sq_foreign_layer *l = o->l;
    const size_t n = l->n, k = l->k;
    const struct sq_tensor *scale = find(o, ".weight_scale");
    const struct sq_tensor *inverse = scale ? NULL : find(o, ".weight_scale_inv");
    const struct sq_tensor *zero = find(o, ".weight_zero_point");
    (void)find(o, ".input_scale");
    (void)find(o, ".input_zero_point");
    if (!scale)
        scale = inverse ? inverse : find(o, ".scale");
    if (!scale)
        return missing(o, ".weight_scale", codes->name);
    if (!has_shape(codes, n, k))
        return wrong(codes, o->err, "[%zu, %zu]", n, k);
    set_codes(l, SQ_FOREIGN_ROWS, codes->dtype == SQ_I8 ? SQ_FOREIGN_INTEGER : SQ_FOREIGN_ELEMENT,
              8, codes->data);
    l->scale = scale;
    l->zero = zero;
    if (!is_e8m0(scale) && !is_plain(scale->dtype))
        return wrong(scale, o->err, "F32, F16, BF16 or bytes of E8M0");
    const size_t rows = scale->n_dims == 2 ? (size_t)scale->dim[0] : scale->n_elements;
    const size_t columns = scale->n_dims == 2 ? (size_t)scale->dim[1] : 1;
    const size_t *tile = o->scheme.block;
    l->scale_rows = scale->n_elements == 1 ? n : 1;
    l->group = k;
    l->has_row_scale = true;
    if (scale->n_elements != 1 && !(scale->n_dims <= 2 && rows == n && columns == 1)) {
        const bool is_given = tile[0] && tile[1];
        l->has_row_scale = false;
        l->scale_rows = is_given ? tile[0] : rows == n ? 1 : 128;
        l->group = is_given ? tile[1] : rows == n ? up(k, columns ? columns : 1) : 128;
        if (scale->n_dims != 2 || rows != up(n, l->scale_rows) || columns != up(k, l->group))
            return wrong(scale, o->err,
                         "one scale, one of each of %zu rows, or [%zu, %zu] of tiles of %zu x %zu",
                         n, up(n, l->scale_rows), up(k, l->group), l->scale_rows, l->group);
    }
    SQ_TRY(check_scales(o));
    if (codes->dtype == SQ_I8) {
        const size_t groups = sq_foreign_groups(l);
        const bool is_beside =
            zero && zero->dtype == SQ_I8 &&
            (has_shape(zero, n, groups) || (groups == 1 && zero->n_dims == 1 && zero->dim[0] == n));
        if (zero && l->scale_rows != 1)
            return wrong(zero, o->err, "none: zero points of rows in common are not read");
        if (zero && !is_beside)
            return wrong(zero, o->err, "I8 [%zu, %zu], one beside each scale", n, groups);
        if (k % l->group != 0)
            return wrong(scale, o->err, "[%zu, groups], groups a divisor of %zu", n, k);
        l->is_signed = true;
        l->what = "compressed-tensors INT8";
        l->act = sq_foreign_act_integer(&o->scheme, &l->act_bits, o->f->notes);
        return SQ_OK;
    }
    if (zero)
        return wrong(zero, o->err, "no zero point of FP8");
    l->element = codes->dtype == SQ_F8_E5M2 ? SQ_ELEMENT_E5M2 : SQ_ELEMENT_E4M3;
    // Beside tiles the other program has activations in blocks of their size, which no format here has.
    l->act =
        sq_foreign_act_like(&o->scheme, l->bits, o->f->notes, o->scheme.is_act && l->group == 32);
    l->what = is_e8m0(scale) && l->group == 32 && l->scale_rows == 1 ? "MXFP8"
              : l->scale_rows == n                                   ? "FP8, a scale a tensor"
              : l->group == k && l->scale_rows == 1                  ? "FP8, a scale a channel"
                                                                     : "FP8, a scale a tile";
    return SQ_OK;
}

// ---- integers in words ------------------------------------------------------------------------

// Scales of groups of columns, `groups` of a row.
static void set_groups(struct opening *o, const struct sq_tensor *scale, size_t groups)
{
    struct sq_foreign_layer *l = o->l;
    l->scale = scale;
    l->scale_rows = 1;
    l->group = l->k / groups;
    l->has_row_scale = groups == 1 && (!o->scheme.group || o->scheme.group == SIZE_MAX);
}

static enum sq_status check_group(const struct opening *o)
{
    const size_t said = o->scheme.group;
    const bool is_same =
        !said || said == o->l->group || (said == SIZE_MAX && o->l->group == o->l->k);
    return is_same ? SQ_OK
                   : SQ_FAIL(o->err, SQ_ERR_SHAPE,
                             "tensor '%.80s' has a scale of each %zu columns, group_size of the "
                             "config is %zd",
                             o->l->scale->name, o->l->group, (ssize_t)said);
}

// The group of each column, where it is not its place that says it.
static enum sq_status open_order(struct opening *o, const struct sq_tensor *order)
{
    struct sq_foreign_layer *l = o->l;
    bool is_order = false;
    size_t n_none = 0; // -1: in order
    if (order->dtype != SQ_I32 || order->n_elements != l->k)
        return wrong(order, o->err, "I32 [%zu]", l->k);
    for (size_t j = 0; j < l->k; j++)
        n_none += sq_foreign_word(order->data, j) == UINT32_MAX;
    for (size_t j = 0; n_none < l->k && j < l->k; j++) {
        const int32_t g = (int32_t)sq_foreign_word(order->data, j);
        if (g < 0 || (size_t)g >= sq_foreign_groups(l))
            return SQ_FAIL(o->err, SQ_ERR_INDEX,
                           "element %zu of tensor '%.80s' is %d, need 0..%zu, or -1 in all of them",
                           j, order->name, g, sq_foreign_groups(l) - 1);
        is_order = is_order || (size_t)g != j / l->group;
    }
    l->order = is_order ? order : NULL;
    return SQ_OK;
}

static enum sq_status open_words(struct opening *o, const struct sq_tensor *codes)
{
    struct sq_foreign_layer *l = o->l;
    const struct sq_tensor *scale = find(o, ".weight_scale"), *zero = find(o, ".weight_zero_point");
    const struct sq_tensor *order = find(o, ".weight_g_idx");
    const struct sq_tensor *shape = find(o, ".weight_shape");
    size_t rows = l->n, columns = l->k;
    const size_t bits = o->scheme.bits       ? o->scheme.bits
                        : codes->n_dims == 2 ? codes->dim[1] * 32 / l->k
                                             : 0;
    if (!scale)
        return missing(o, ".weight_scale", codes->name);
    if (shape && !read_shape(shape, &rows, &columns))
        return wrong(shape, o->err, "I64 [2] with rows and columns of 1..4294967295");
    if (rows != l->n || columns != l->k)
        return SQ_FAIL(o->err, SQ_ERR_SHAPE,
                       "tensor '%.80s' holds %zu x %zu, need %zu x %zu of the config", shape->name,
                       rows, columns, l->n, l->k);
    if (bits < 2 || bits > 8)
        return wrong(codes, o->err, "codes of 2..8 bits, not of %zu (num_bits)", bits);
    const size_t dense = up(l->k * bits, 32), loose = up(l->k, 32 / bits);
    const bool is_dense = has_shape(codes, l->n, dense);
    if (!is_dense && !has_shape(codes, l->n, loose))
        return wrong(codes, o->err, "I32 [%zu, %zu] for codes of %zu bits (num_bits)", l->n, dense,
                     bits);
    if ((bits == 4 || bits == 8) && l->k * bits % 32 != 0)
        return wrong(codes, o->err, "rows of whole words, K = %zu is none", l->k);
    if (!is_plain(scale->dtype) || scale->n_dims != 2 || scale->dim[0] != l->n ||
        scale->dim[1] == 0 || l->k % scale->dim[1] != 0)
        return wrong(scale, o->err, "F32, F16 or BF16 [%zu, groups], groups a divisor of %zu", l->n,
                     l->k);
    set_codes(l, is_dense ? SQ_FOREIGN_ROWS : SQ_FOREIGN_WORDS, SQ_FOREIGN_INTEGER, bits,
              codes->data);
    set_groups(o, scale, (size_t)scale->dim[1]);
    l->zero = zero;
    l->what = "compressed-tensors integers in words";
    l->act = sq_foreign_act_integer(&o->scheme, &l->act_bits, o->f->notes);
    SQ_TRY(check_group(o));
    const size_t loose_zero = up(l->n, 32 / bits), dense_zero = up(l->n * bits, 32);
    l->is_zero_loose = zero && has_shape(zero, loose_zero, (size_t)scale->dim[1]) &&
                       (!is_dense || !has_shape(zero, dense_zero, (size_t)scale->dim[1]));
    if (zero && (zero->dtype != SQ_I32 ||
                 (!l->is_zero_loose && !has_shape(zero, dense_zero, (size_t)scale->dim[1]))))
        return wrong(zero, o->err, "I32 [%zu, %zu]", dense_zero, (size_t)scale->dim[1]);
    SQ_TRY(check_scales(o));
    return order ? open_order(o, order) : SQ_OK;
}

// ---- GPTQ and AWQ -----------------------------------------------------------------------------

// Whether all zero points are `z`.
static bool all_zeros_are(const struct sq_foreign_layer *l, unsigned z)
{
    for (size_t g = 0; g < sq_foreign_groups(l); g++)
        for (size_t row = 0; row < l->n; row++)
            if (sq_foreign_zero(l, row, g) != z)
                return false;
    return true;
}

// The first version of GPTQ stores a zero point less one; a symmetric file tells which version it is of.
static void judge_zeros(struct opening *o)
{
    struct sq_foreign_layer *l = o->l;
    const unsigned middle = 1u << (l->bits - 1);
    const bool is_v2 = o->scheme.is_gptq_v2;
    l->zero_more = is_v2 ? 0 : 1;
    if (all_zeros_are(l, middle)) {
        l->zero = NULL; // symmetric
        return;
    }
    l->zero_more = is_v2 ? 1 : 0;
    if (all_zeros_are(l, middle)) {
        sq_foreign_note(
            o->f->notes,
            "tensor '%.80s.qzeros': every zero point is stored as %u, which %s (checkpoint_format) "
            "would make %u: the file is of %s, and %u is taken",
            o->name, middle - (is_v2 ? 1 : 0), is_v2 ? "gptq_v2" : "gptq",
            is_v2 ? middle - 1 : middle + 1, is_v2 ? "gptq" : "gptq_v2", middle);
        l->zero = NULL;
        return;
    }
    l->zero_more = is_v2 ? 0 : 1;
}

static enum sq_status open_qweight(struct opening *o, const struct sq_tensor *codes)
{
    struct sq_foreign_layer *l = o->l;
    const struct sq_tensor *scale = find(o, ".scales"), *zero = find(o, ".qzeros");
    const struct sq_tensor *order = find(o, ".g_idx");
    const bool is_awq = has_shape(codes, l->k, up(l->n, 8)) && !o->scheme.is_gptq;
    const size_t rows = codes->n_dims == 2 ? (size_t)codes->dim[0] : 0;
    const size_t bits = is_awq || o->scheme.is_awq ? 4
                        : o->scheme.bits           ? o->scheme.bits
                                                   : rows * 32 / l->k;
    const bool is_columns = !o->scheme.is_awq &&
                            (bits == 2 || bits == 3 || bits == 4 || bits == 8) &&
                            has_shape(codes, up(l->k * bits, 32), l->n) && l->k * bits % 32 == 0;
    if (codes->dtype != SQ_I32 || (!is_columns && !is_awq))
        return wrong(codes, o->err,
                     "I32 [%zu, %zu] (gptq, %zu bits) or, of quant_method awq, [%zu, %zu]",
                     up(l->k * bits, 32), l->n, bits, l->k, up(l->n, 8));
    if (!scale || !zero)
        return missing(o, scale ? ".qzeros" : ".scales", codes->name);
    if (!is_plain(scale->dtype) || scale->n_dims != 2 || scale->dim[1] != l->n ||
        scale->dim[0] == 0 || l->k % scale->dim[0] != 0 || l->n * bits % 32 != 0)
        return wrong(scale, o->err,
                     "F16 [groups, %zu], groups a divisor of %zu, and N of whole words", l->n,
                     l->k);
    set_codes(l, is_columns ? SQ_FOREIGN_COLUMNS : SQ_FOREIGN_AWQ, SQ_FOREIGN_INTEGER, bits,
              codes->data);
    set_groups(o, scale, (size_t)scale->dim[0]);
    l->is_scale_across = true;
    l->zero = zero;
    l->what = is_columns ? "GPTQ" : "AWQ";
    if (zero->dtype != SQ_I32 || !has_shape(zero, (size_t)scale->dim[0], l->n * bits / 32))
        return wrong(zero, o->err, "I32 [%zu, %zu]", (size_t)scale->dim[0], l->n * bits / 32);
    SQ_TRY(check_group(o));
    SQ_TRY(check_scales(o));
    if (is_columns)
        judge_zeros(o);
    else if (all_zeros_are(l, 8))
        l->zero = NULL;
    return order ? open_order(o, order) : SQ_OK;
}

// ---- bitsandbytes -----------------------------------------------------------------------------

// absmax of each block, which may itself be codes.
static enum sq_status open_absmax(struct opening *o, const struct sq_tensor *absmax,
                                  const json_t *state, size_t block)
{
    struct sq_foreign_layer *l = o->l;
    const size_t n = up(l->n * l->k, block);
    double offset, nested;
    if (absmax->n_elements != n || (absmax->dtype != SQ_F32 && absmax->dtype != SQ_U8))
        return wrong(absmax, o->err, "F32 or U8 [%zu], one of each %zu weights", n, block);
    l->scales = malloc(n * sizeof *l->scales);
    SQ_NEED(l->scales, o->err, "%zu scales", n);
    if (absmax->dtype == SQ_F32) {
        for (size_t i = 0; i < n; i++)
            l->scales[i] = sq_foreign_number(absmax, i);
        return SQ_OK;
    }
    const struct sq_tensor *above = find(o, ".weight.nested_absmax"),
                           *table = find(o, ".weight.nested_quant_map");
    if (!above || !table)
        return missing(o, ".weight.nested_absmax", absmax->name);
    SQ_TRY(sq_json_double(state, o->name, "nested_offset", -1e30, 1e30, 0, &offset, o->err));
    SQ_TRY(sq_json_double(state, o->name, "nested_blocksize", 1, 1 << 20, 256, &nested, o->err));
    const size_t length = (size_t)nested;
    if (above->dtype != SQ_F32 || above->n_elements != up(n, length))
        return wrong(above, o->err, "F32 [%zu]", up(n, length));
    if (table->dtype != SQ_F32 || table->n_elements != 256)
        return wrong(table, o->err, "F32 [256]");
    for (size_t i = 0; i < n; i++)
        l->scales[i] =
            sq_foreign_number(table, absmax->data[i]) * sq_foreign_number(above, i / length) +
            (float)offset;
    return SQ_OK;
}

static enum sq_status open_table(struct opening *o, const struct sq_tensor *codes,
                                 const struct sq_tensor *absmax)
{
    struct sq_foreign_layer *l = o->l;
    const struct sq_tensor *map = find(o, ".weight.quant_map");
    const struct sq_tensor *text = find(o, ".weight.quant_state.bitsandbytes__nf4");
    json_auto_t *state = NULL;
    uint64_t block;
    l->what = text ? "bitsandbytes NF4" : "bitsandbytes FP4";
    if (!text)
        text = find(o, ".weight.quant_state.bitsandbytes__fp4");
    if (!map || !text)
        return missing(o, map ? ".weight.quant_state.bitsandbytes__nf4" : ".weight.quant_map",
                       absmax->name);
    if (codes->dtype != SQ_U8 || codes->n_elements != up(l->n * l->k, 2))
        return wrong(codes, o->err, "U8 of %zu bytes, two codes a byte", up(l->n * l->k, 2));
    if (map->dtype != SQ_F32 || map->n_elements != 16)
        return wrong(map, o->err, "F32 [16]");
    if (text->dtype != SQ_U8)
        return wrong(text, o->err, "U8, a text in JSON");
    set_codes(l, SQ_FOREIGN_HIGH, SQ_FOREIGN_TABLE, 4, codes->data);
    l->scale_rows = 1;
    for (size_t i = 0; i < 16; i++)
        l->table[i] = sq_foreign_number(map, i);
    SQ_TRY(sq_json_parse(text->name, text->data, text->nbytes, &state, o->err));
    SQ_TRY(sq_json_uint(state, o->name, "blocksize", 1, 1 << 20, 64, &block, o->err));
    SQ_FAIL_IF(l->k % block != 0, o->err, SQ_ERR_SHAPE,
               "tensor '%.80s': blocksize = %llu, need a divisor of %zu", text->name,
               (unsigned long long)block, l->k);
    l->group = (size_t)block;
    return open_absmax(o, absmax, state, (size_t)block);
}

// ---- experts of gpt-oss -----------------------------------------------------------------------

// The name of the tensors and which of the experts, from NAME.E.
static bool split_expert(const char *name, char stem[NAME_SIZE], size_t *expert)
{
    const char *dot = strrchr(name, '.');
    char *end;
    if (!dot || dot == name || (size_t)(dot - name) >= NAME_SIZE || dot[1] < '0' || dot[1] > '9')
        return false;
    *expert = strtoul(dot + 1, &end, 10);
    snprintf(stem, NAME_SIZE, "%.*s", (int)(dot - name), name);
    return *end == '\0';
}

static enum sq_status open_expert(struct opening *o, const char *stem, size_t expert)
{
    struct sq_foreign_layer *l = o->l;
    o->name = stem;
    const struct sq_tensor *codes = find(o, "_blocks"), *scale = find(o, "_scales");
    if (!scale)
        return missing(o, "_scales", codes->name);
    const bool is_good = codes->dtype == SQ_U8 && codes->n_dims == 4 && codes->dim[3] == 16 &&
                         codes->dim[1] == l->n && codes->dim[2] * 32 == l->k &&
                         expert < codes->dim[0];
    if (!is_good)
        return wrong(codes, o->err, "U8 [experts, %zu, %zu, 16]", l->n, l->k / 32);
    if (scale->dtype != SQ_U8 || scale->n_dims != 3 || scale->dim[0] != codes->dim[0] ||
        scale->dim[1] != l->n || scale->dim[2] != l->k / 32)
        return wrong(scale, o->err, "U8 [%zu, %zu, %zu]", (size_t)codes->dim[0], l->n, l->k / 32);
    l->what = "MXFP4 of gpt-oss";
    set_codes(l, SQ_FOREIGN_ROWS, SQ_FOREIGN_ELEMENT, 4, codes->data + expert * l->n * (l->k / 2));
    l->element = SQ_ELEMENT_E2M1;
    l->scale = scale;
    l->scale_rows = 1;
    l->group = 32;
    l->scale_at = expert * l->n * (l->k / 32);
    return check_scales(o);
}

// ---- GGUF -------------------------------------------------------------------------------------

enum sq_status sq_foreign_open_blocks(const struct sq_tensor *t, const struct sq_tensor *global,
                                      const struct sq_tensor *act, size_t n_interleaved_heads,
                                      struct sq_foreign_layer *l, bool *is_there,
                                      struct sq_error *err)
{
    static const char *const name[SQ_DTYPE_END] = {
        [SQ_Q4_0] = "GGUF Q4_0", [SQ_Q4_1] = "GGUF Q4_1",   [SQ_Q5_0] = "GGUF Q5_0",
        [SQ_Q5_1] = "GGUF Q5_1", [SQ_Q4_K] = "GGUF Q4_K",   [SQ_Q5_K] = "GGUF Q5_K",
        [SQ_Q6_K] = "GGUF Q6_K", [SQ_Q2_K] = "GGUF Q2_K",   [SQ_Q3_K] = "GGUF Q3_K",
        [SQ_Q8_0] = "GGUF Q8_0", [SQ_MXFP4] = "GGUF MXFP4", [SQ_NVFP4] = "GGUF NVFP4",
    }; // blocks of the others are values
    const struct sq_ggml_type *const integers = sq_dtype_integers(t->dtype);
    const bool is_nvfp4 = t->dtype == SQ_NVFP4;
    *is_there = t->n_dims == 2 && name[t->dtype];
    *l = (struct sq_foreign_layer){.global = 1};
    if (!*is_there)
        return SQ_OK;
    *l = (struct sq_foreign_layer){.what = name[t->dtype],
                                   .n = (size_t)t->dim[0],
                                   .k = (size_t)t->dim[1],
                                   .layout = SQ_FOREIGN_GGML,
                                   .ggml = integers,
                                   .code = integers ? SQ_FOREIGN_INTEGER : SQ_FOREIGN_ELEMENT,
                                   .element = SQ_ELEMENT_E2M1,
                                   .bits = integers ? integers->bits : 4,
                                   .scale_rows = 1,
                                   .group = is_nvfp4 ? 16 : sq_dtype_block_length(t->dtype),
                                   .n_interleaved_heads = n_interleaved_heads,
                                   .global = 1,
                                   .has_global = is_nvfp4,
                                   .act = act ? SQ_ADOPTED_ACT_LIKE : SQ_ADOPTED_ACT_NONE,
                                   .used = {t, global ? global : act, global ? act : NULL}};
    if (!is_nvfp4 && (global || act))
        return wrong(global ? global : act, err, "none beside %s", l->what);
    if (global)
        SQ_TRY(one_number(global, &l->global, err));
    return act ? one_number(act, &l->act_global, err) : SQ_OK;
}

// ---- any --------------------------------------------------------------------------------------

static enum sq_status open_any(struct opening *o, bool *is_there)
{
    char stem[NAME_SIZE];
    size_t expert;
    const struct sq_tensor *t = find(o, ".weight_packed");
    *is_there = true;
    if (t)
        return t->dtype == SQ_U8    ? open_fp4(o, t, true)
               : t->dtype == SQ_I32 ? open_words(o, t)
                                    : wrong(t, o->err, "U8 (FP4) or I32 (integers)");
    t = find(o, ".qweight");
    if (t)
        return open_qweight(o, t);
    t = find(o, ".weight");
    const struct sq_tensor *absmax = t ? find(o, ".weight.absmax") : NULL;
    if (absmax)
        return open_table(o, t, absmax);
    if (t && !o->f->config && !peek(o->f, o->name, ".weight_scale") &&
        !peek(o->f, o->name, ".weight_scale_inv") && !peek(o->f, o->name, ".scale"))
        t = NULL; // nothing says that it is quantized
    if (t && t->dtype == SQ_U8)
        return open_fp4(o, t, false);
    if (t && (t->dtype == SQ_F8_E4M3 || t->dtype == SQ_F8_E5M2 || t->dtype == SQ_I8))
        return open_eight(o, t);
    if (!t && split_expert(o->name, stem, &expert) && peek(o->f, stem, "_blocks"))
        return open_expert(o, stem, expert);
    *is_there = false;
    return SQ_OK;
}

enum sq_status sq_foreign_open(const struct sq_foreign *f, const char *name, size_t n, size_t k,
                               struct sq_foreign_layer *l, bool *is_there, struct sq_error *err)
{
    struct opening o = {.f = f, .name = name, .l = l, .err = err};
    *l = (struct sq_foreign_layer){.n = n, .k = k, .global = 1};
    SQ_TRY(sq_foreign_scheme(f, name, &o.scheme, err));
    enum sq_status status = open_any(&o, is_there);
    if (status == SQ_OK && *is_there)
        status = sq_foreign_agrees(&o.scheme, l, err);
    if (status != SQ_OK || !*is_there)
        sq_foreign_free(l);
    return status;
}

bool sq_foreign_size(const struct sq_foreign *f, const char *name, struct sq_foreign_size *size)
{
    const struct sq_tensor *t = peek(f, name, ".weight_packed"),
                           *scale = peek(f, name, ".weight_scale");
    const struct sq_tensor *shape = peek(f, name, ".weight_shape"), *map;
    *size = (struct sq_foreign_size){.n_layers = 1};
    if (t && t->n_dims == 2 && t->dtype == SQ_U8) {
        size->n = (size_t)t->dim[0];
        size->k = 2 * (size_t)t->dim[1];
    } else if (t && t->n_dims == 2 && shape) {
        size->n = (size_t)t->dim[0]; // for the sentence, where the shape is none
        size->k = (size_t)t->dim[1];
        (void)read_shape(shape, &size->n, &size->k);
    } else if ((t = peek(f, name, ".qweight")) && t->n_dims == 2) {
        scale = peek(f, name, ".scales");
        size->n = scale && scale->n_dims == 2 ? (size_t)scale->dim[1] : 0;
        map = peek(f, name, ".g_idx");
        size->k = map                    ? map->n_elements
                  : t->dim[1] == size->n ? (size_t)t->dim[0] * 8
                                         : (size_t)t->dim[0];
    } else if ((t = peek(f, name, "_blocks")) && t->n_dims == 4) {
        size->n_layers = (size_t)t->dim[0];
        size->n = (size_t)t->dim[1];
        size->k = 32 * (size_t)t->dim[2];
    } else if ((t = peek(f, name, ".weight")) && t->n_dims == 2 && scale) {
        size->n = (size_t)t->dim[0];
        size->k = (size_t)t->dim[1] * (t->dtype == SQ_U8 ? 2 : 1);
    }
    return size->n > 0 && size->k > 0 && size->n <= UINT32_MAX && size->k <= UINT32_MAX;
}
