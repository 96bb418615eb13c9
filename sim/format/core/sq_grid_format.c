// SPDX-License-Identifier: Apache-2.0
// Formats on a grid of codes (sq_grid_format.h), and their layers in files (SPEC O.1, A.6, A.6b):
// `lo`, `hi`, `mask` U8 [N][bytes of a row] (models/number/sq_codes_pack.h), `s_lo`, `s_hi` F32 [N][K/G];
// sq_a_static: `mask` U8 [bytes of K bits], `perm_hi`, `perm_lo` I32, the channels of either part,
// ascending.
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_mac.h"
#include "models/quant/sq_algorithm2.h"
#include "models/quant/sq_codes_alloc.h"
#include "models/quant/sq_smooth.h"
#include "models/scaled/sq_bs.h"
#include "sim/format/core/sq_grid_format.h"
#include "sim/format/sq_adopted.h"
#include "sim/format/sq_quantize.h"

const char *const sq_group_choice[] = {"32", "64", "128", "row", NULL};
const char *const sq_algorithm_choice[] = {"rtn", "gptq", NULL};
const char *const sq_variant_choice[] = {"own", "tied", "split", "shift", "fp", NULL};
const char *const sq_operand_choice[] = {"both", "weights", "act", NULL};
const char *const sq_rotation_choice[] = {"none", "16", "32", NULL};
const char *const sq_score_choice[] = {"c0", "c1", "c2", "c3", NULL};

struct sq_grid_layer *sq_grid_layer_of(const struct sq_quant_layer *q)
{
    return q->state;
}

// ---- the recipe -----------------------------------------------------------------------------

static const struct sq_grid_variant *variant_of(const struct sq_recipe *r)
{
    return r->format->variant;
}

static bool is_mixed_act(const struct sq_recipe *r)
{
    return !r->is_act_f16 && sq_grid_is_mixed(&r->act);
}

static bool is_reference(const struct sq_recipe *r)
{
    const struct sq_grid *w = &sq_grid_recipe(r)->weight;
    return w->kind == SQ_GRID_DENSE && w->low_bits == 16;
}

static enum sq_status check_pair(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    const bool is_fp = o->weight.kind == SQ_GRID_FP, is_fp8 = r->act.kind == SQ_GRID_FP8;
    SQ_FAIL_IF(is_mixed_act(r) && sq_grid_is_mixed(&o->weight), err, SQ_ERR_UNSUPPORTED,
               "weights or activations may be sparse-quantized, never both");
    SQ_FAIL_IF(o->weight.kind == SQ_GRID_SHIFT || o->weight.high_bits > 8, err, SQ_ERR_UNSUPPORTED,
               "variant = %s, high-bits = %u: of activations only", sq_grid_name(o->weight.kind),
               o->weight.high_bits);
    if (r->operand == SQ_OPERAND_ACT)
        return r->act.kind != SQ_GRID_FP
                   ? SQ_OK
                   : SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "variant = fp: of weights only");
    SQ_FAIL_IF(is_fp != (is_fp8 && !r->is_act_f16) || r->act.kind == SQ_GRID_FP, err,
               SQ_ERR_UNSUPPORTED, "fp weights need fp8 activations, and only they");
    SQ_FAIL_IF(r->is_act_f16 && o->weight.kind != SQ_GRID_DENSE, err, SQ_ERR_UNSUPPORTED,
               "16-bit activations need dense weights");
    SQ_FAIL_IF(!r->is_act_f16 && r->act.kind == SQ_GRID_DENSE && o->weight.kind == SQ_GRID_OWN &&
                   r->act.low_bits != 4 && r->act.low_bits != 8,
               err, SQ_ERR_UNSUPPORTED,
               "act-bits = %u, need 4 or 8 beside sparse-quantized weights", r->act.low_bits);
    return SQ_OK;
}

static enum sq_status check(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    SQ_TRY(sq_grid_check(&o->weight, err));
    if (!r->is_act_f16)
        SQ_TRY(sq_grid_check(&r->act, err));
    SQ_TRY(check_pair(r, err));
    SQ_FAIL_IF(r->group != 0 && r->group != 32 && r->group != 64 && r->group != 128, err,
               SQ_ERR_UNSUPPORTED, "group = %u, need 32, 64, 128 or 0 (row)", r->group);
    SQ_FAIL_IF(o->rotation && is_mixed_act(r) && o->select == SQ_SELECT_STATIC, err,
               SQ_ERR_UNSUPPORTED, "rotate: static masks are of channels that it mixes");
    SQ_FAIL_IF(o->select == SQ_SELECT_DYNAMIC_INT8_MUL && is_mixed_act(r) &&
                   (r->act.kind != SQ_GRID_OWN || r->act.high_bits != 8),
               err, SQ_ERR_UNSUPPORTED,
               "select = int8_mul: variant = %s, high-bits = %u, need own and 8",
               sq_grid_name(r->act.kind), r->act.high_bits);
    if (sq_grid_is_mixed(&o->weight) || is_mixed_act(r)) {
        const struct sq_format f = {8, 4, r->bank, r->high_per_bank,
                                    is_mixed_act(r) ? 0 : r->group};
        SQ_TRY(sq_format_check(&f, err));
    }
    return SQ_OK;
}

static unsigned needs(const struct sq_recipe *r)
{
    return (r->is_smooth ? SQ_NEED_INPUTS : 0u) |
           (r->algorithm == SQ_ALGORITHM_GPTQ ? SQ_NEED_FACTOR : 0u) |
           (is_mixed_act(r) && sq_grid_recipe(r)->select == SQ_SELECT_STATIC ? SQ_NEED_INPUTS : 0u);
}

static size_t padded_to(const struct sq_recipe *r, size_t k_orig)
{
    const size_t bank = r->bank ? r->bank : 1, unit = r->group > bank ? r->group : bank;
    return (k_orig + unit - 1) / unit * unit; // both are powers of two
}

// Weights that stay as they are need no algorithm, activations no bits.
static enum sq_status settle_operand(struct sq_recipe *r, unsigned scope,
                                     const struct sq_given *given, struct sq_error *err)
{
    const bool is_act = r->operand == SQ_OPERAND_ACT;
    const char *algorithm = sq_given_text(given, "algorithm");
    SQ_FAIL_IF(is_act && (scope == SQ_IN_QUANTIZE || sq_given_text(given, "weight-bits") ||
                          (algorithm && r->algorithm == SQ_ALGORITHM_GPTQ)),
               err, SQ_ERR_ARG, "operand = act leaves the weights as they are");
    SQ_FAIL_IF(r->operand == SQ_OPERAND_WEIGHTS && sq_given_text(given, "act-bits"), err,
               SQ_ERR_ARG, "operand = weights leaves activations as they are");
    SQ_FAIL_IF(is_act && (variant_of(r)->mixes_weights || r->is_act_f16), err, SQ_ERR_ARG,
               "operand = act needs encoded activations of 4 to 8 bits");
    SQ_FAIL_IF(r->operand == SQ_OPERAND_WEIGHTS && is_mixed_act(r), err, SQ_ERR_ARG,
               "operand = weights: %s encodes activations", r->format->name);
    if (is_act)
        r->algorithm = SQ_ALGORITHM_RTN;
    SQ_FAIL_IF(sq_grid_recipe(r)->rotation && r->algorithm == SQ_ALGORITHM_GPTQ, err, SQ_ERR_ARG,
               "rotate needs --algorithm rtn, or --operand act");
    return SQ_OK;
}

enum sq_status sq_grid_settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                              bool is_smoothed, struct sq_error *err)
{
    SQ_FAIL_IF(sq_given_text(given, "percdamp") && r->algorithm != SQ_ALGORITHM_GPTQ, err,
               SQ_ERR_ARG, "percdamp needs --algorithm gptq");
    if (scope != SQ_IN_FILE && !sq_given_text(given, "smooth"))
        r->is_smooth = is_smoothed;
    return settle_operand(r, scope, given, err);
}

enum sq_status sq_grid_settle_banks(struct sq_recipe *r, struct sq_error *err)
{
    SQ_TRY(sq_format_high_per_bank(r->bank, sq_grid_recipe(r)->sparsity, &r->high_per_bank, err));
    struct sq_format f = sq_recipe_banks(r);
    if (f.high_bits == 12 && r->act.kind == SQ_GRID_SPLIT)
        f.high_bits = 8; // its banks are the same
    return sq_format_check(&f, err);
}

// Dense weights.
double sq_grid_equivalent_bits(const struct sq_recipe *r)
{
    return sq_grid_stored_bits(r);
}

unsigned sq_grid_stored_bits(const struct sq_recipe *r)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    return o->stored_bits ? o->stored_bits : o->weight.low_bits;
}

void sq_grid_demand(const struct sq_recipe *r, struct sq_demand *d)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    d->of[SQ_STREAM_LO].element = sq_grid_stored_bits(r);
    if (!is_reference(r))
        d->of[SQ_STREAM_SCALE].group = o->scale_nbytes ? o->scale_nbytes : 4;
    else if (sq_recipe_act_bits(r) == 16)
        d->n_act_scales = 0;
}

// ---- quantizing -----------------------------------------------------------------------------

static enum sq_status encode(struct sq_grid_layer *q, const struct sq_recipe *r, const float *w,
                             const struct sq_quant_input *in, struct sq_error *err)
{
    if (r->algorithm == SQ_ALGORITHM_GPTQ)
        return sq_gptq_encode(&q->w, w, in->factor, &sq_grid_recipe(r)->gptq, NULL, err);
    if (sq_grid_recipe(r)->is_like_ggml)
        return sq_codes_encode_q8_0(&q->w, w, err);
    return sq_codes_encode_rtn(&q->w, w, err);
}

static enum sq_status pack(struct sq_grid_layer *q, const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    const struct sq_format f = {o->weight.high_bits, o->weight.low_bits, r->bank, r->high_per_bank,
                                r->group};
    SQ_TRY(sq_operand_alloc(&q->packed, &f, q->w.n, q->w.k_orig, err));
    return sq_codes_pack(&q->w, &q->packed.m, err);
}

static enum sq_status fill_mask(struct sq_grid_layer *q, const struct sq_recipe *r, const float *w,
                                const struct sq_quant_input *in, struct sq_error *err)
{
    const size_t k = q->w.k_orig;
    SQ_FREED float *abar = malloc(k * sizeof *abar), *wbar = malloc(k * sizeof *wbar);
    q->mask = malloc(q->w.k);
    SQ_NEED_LAYER(abar && wbar && q->mask, err, q->w.n, k);
    sq_mean_act(in->calibration->abs_sum, in->calibration->n_tokens, in->sigma, k, abar);
    sq_mean_weight(w, q->w.n, k, wbar);
    return sq_static_mask(abar, sq_grid_recipe(r)->is_mask_by_act ? NULL : wbar, k, q->w.k, r->bank,
                          r->high_per_bank, q->mask, err);
}

static enum sq_status quantize(struct sq_grid_layer *q, const struct sq_recipe *r, const float *w,
                               const struct sq_quant_input *in, struct sq_error *err)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    if (o->weight.kind == SQ_GRID_OWN &&
        r->algorithm != SQ_ALGORITHM_GPTQ) { // the same bytes, on all threads
        const struct sq_format f = sq_recipe_banks(r);
        SQ_TRY(sq_operand_alloc(&q->packed, &f, q->w.n, q->w.k_orig, err));
        return sq_operand_encode(&q->packed, w, 0, err);
    }
    if (is_mixed_act(r) && o->select == SQ_SELECT_STATIC)
        SQ_TRY(fill_mask(q, r, w, in, err));
    if (r->operand == SQ_OPERAND_ACT)
        return SQ_OK;
    SQ_TRY(sq_codes_alloc(&q->w, err));
    SQ_TRY(encode(q, r, w, in, err));
    return q->w.grid.kind == SQ_GRID_OWN ? pack(q, r, err) : SQ_OK;
}

// An empty layer of w[n][k]: shape, grid, rotation. NULL without memory; sq_grid_free.
static struct sq_grid_layer *layer_new(const struct sq_recipe *r, size_t n, size_t k)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    const bool is_mixed = sq_grid_is_mixed(&o->weight);
    const size_t padded = padded_to(r, k);
    struct sq_grid_layer *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    q->w = (struct sq_codes){.grid = o->weight,
                             .n = n,
                             .k = padded,
                             .k_orig = k,
                             .group = r->group ? r->group : padded,
                             .bank = is_mixed ? r->bank : 0,
                             .high_per_bank = is_mixed ? r->high_per_bank : 0};
    q->stored_bits = o->stored_bits;
    q->scale_nbytes = o->scale_nbytes;
    q->rotation = o->rotation ? 8u << o->rotation : 0;
    return q;
}

static void layer_free(void *state)
{
    struct sq_grid_layer *q = state;
    if (!q)
        return;
    sq_codes_free(&q->w);
    sq_operand_free(&q->packed);
    SQ_FREE(q->mask, q->values, q->cells.cells);
    for (unsigned s = 0; s < SQ_CODES_STREAMS; s++)
        free(q->stream[s]);
    SQ_FREE(q->mask_bits, q->perm, q);
}

static enum sq_status init(void **state, const struct sq_recipe *r, const float *w, size_t n,
                           size_t k, const struct sq_quant_input *in, struct sq_error *err)
{
    struct sq_grid_layer *const q = *state = layer_new(r, n, k);
    SQ_NEED_LAYER(q, err, n, k);
    SQ_FREED float *rotated = NULL;
    if (q->rotation)
        SQ_TRY(sq_grid_rotated(q->rotation, w, n, k, &rotated, err));
    const float *from = rotated ? rotated : w;
    SQ_TRY(quantize(q, r, from, in, err));
    if (r->operand != SQ_OPERAND_BOTH)
        SQ_TRY(sq_grid_keep_values(q, r, from, err));
    SQ_TRY(sq_grid_store(q, err));
    return sq_grid_prepare(q, r, err);
}

static void decode_row(const void *state, size_t row, float *out)
{
    const struct sq_grid_layer *q = state;
    if (q->values)
        memcpy(out, q->values + row * q->w.k_orig, q->w.k_orig * sizeof *out);
    else if (q->packed.buffer)
        sq_decode_row(&q->packed.m, row, out);
    else
        sq_codes_decode_row(&q->w, row, out);
    if (q->rotation) // its own inverse
        sq_bs_rotate(out, q->w.k_orig, q->rotation);
}

static const uint8_t *mask_of(const void *state)
{
    return ((const struct sq_grid_layer *)state)->mask;
}

// ---- what is stored ---------------------------------------------------------------------------

static enum sq_status mask_alloc(struct sq_grid_layer *q, struct sq_error *err)
{
    const size_t k = q->w.k;
    q->mask_bits = calloc((k + 7) / 8, 1);
    q->perm = malloc(2 * k * sizeof *q->perm);
    return q->mask_bits && q->perm ? SQ_OK : SQ_NO_LAYER(err, q->w.n, q->w.k);
}

static enum sq_status store_mask(struct sq_grid_layer *q, struct sq_error *err)
{
    const size_t k = q->w.k;
    SQ_TRY(mask_alloc(q, err));
    q->n_high = sq_static_order(q->mask, k, q->perm, q->perm + k);
    for (size_t i = 0; i < k; i++)
        q->mask_bits[i / 8] |= (uint8_t)(q->mask[i] << i % 8);
    return SQ_OK;
}

static enum sq_status streams_alloc(struct sq_grid_layer *q, struct sq_error *err)
{
    for (enum sq_codes_stream s = 0; s < SQ_CODES_STREAMS; s++) {
        const size_t nbytes = sq_codes_row_nbytes(&q->w, s);
        q->stream[s] = nbytes ? malloc(q->w.n * nbytes) : NULL;
        SQ_NEED_LAYER(q->stream[s] || !nbytes, err, q->w.n, q->w.k);
    }
    return SQ_OK;
}

enum sq_status sq_grid_store(struct sq_grid_layer *q, struct sq_error *err)
{
    const struct sq_codes *w = &q->w;
    if (q->mask)
        SQ_TRY(store_mask(q, err));
    if (!w->code || q->packed.buffer)
        return SQ_OK;
    SQ_TRY(streams_alloc(q, err));
    for (enum sq_codes_stream s = 0; s < SQ_CODES_STREAMS; s++)
        for (size_t row = 0; q->stream[s] && row < w->n; row++)
            sq_codes_pack_row(w, row, s, q->stream[s] + row * sq_codes_row_nbytes(w, s));
    return SQ_OK;
}

// Own weights have the streams of struct sq_codes as well: packed or not, their bytes are the same.
static void *outline(const struct sq_recipe *r, size_t n, size_t k)
{
    struct sq_grid_layer *q = layer_new(r, n, k);
    if (q && sq_grid_recipe(r)->select == SQ_SELECT_STATIC && sq_grid_is_mixed(&r->act))
        q->n_high = q->w.k / r->bank * r->high_per_bank;
    return q;
}

// ---- out --------------------------------------------------------------------------------------

static const char *const stream_name[SQ_CODES_STREAMS] = {"lo", "hi", "mask"};

static size_t put(struct sq_part *part, size_t n, const char *name, enum sq_dtype dtype,
                  uint64_t rows, uint64_t columns, const void *data)
{
    part[n] = (struct sq_part){name, dtype, columns ? 2 : 1, {rows, columns}, data};
    return n + 1;
}

static size_t parts(const void *state, struct sq_part part[SQ_PARTS_MAX])
{
    const struct sq_grid_layer *q = state;
    const struct sq_codes *w = &q->w;
    const struct sq_matrix *m = q->packed.buffer ? &q->packed.m : NULL;
    size_t n = 0;
    if (m) {
        const uint64_t groups = sq_n_groups(&m->format, m->k);
        n = put(part, n, "s_lo", SQ_F32, m->n, groups, m->s_lo);
        n = put(part, n, "s_hi", SQ_F32, m->n, groups, m->s_hi);
        n = put(part, n, "lo", SQ_U8, m->n, sq_lo_row_nbytes(&m->format, m->k), m->lo);
        return put(part, n, "hi", SQ_U8, m->n, sq_hi_row_nbytes(&m->format, m->k), m->hi);
    }
    n = put(part, n, "s_lo", SQ_F32, w->n, w->k / w->group, w->s_lo);
    if (sq_codes_has_high_scale(&w->grid))
        n = put(part, n, "s_hi", SQ_F32, w->n, w->k / w->group, w->s_hi);
    for (enum sq_codes_stream s = 0; s < SQ_CODES_STREAMS; s++)
        if (sq_codes_row_nbytes(w, s) > 0)
            n = put(part, n, stream_name[s], SQ_U8, w->n, sq_codes_row_nbytes(w, s), q->stream[s]);
    if (q->n_high == 0)
        return n;
    n = put(part, n, "perm_hi", SQ_I32, q->n_high, 0, q->perm);
    n = put(part, n, "perm_lo", SQ_I32, w->k - q->n_high, 0, q->perm ? q->perm + w->k : NULL);
    return put(part, n, "mask", SQ_U8, (w->k + 7) / 8, 0, q->mask_bits);
}

static double file_nbits(const void *state)
{
    const struct sq_grid_layer *q = state;
    const size_t row = (q->w.k_orig * q->stored_bits + 7) / 8;
    return q->stored_bits
               ? 8 * (double)q->w.n * (double)(row + q->w.k / q->w.group * q->scale_nbytes)
               : 0;
}

// What codes mean, and what becomes of activations where that is no choice of the reader.
static size_t numbers(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX])
{
    const bool is_w = variant_of(r)->mixes_weights, is_act = variant_of(r)->mixes_act;
    size_t n = 0;
    value[n++] = (struct sq_metadata_value){"grid", (unsigned *)&sq_grid_set(r)->weight.kind,
                                            is_w ? SQ_GRID_OWN : SQ_GRID_DENSE,
                                            is_w ? SQ_GRID_FP : SQ_GRID_DENSE};
    if (is_w)
        value[n++] = (struct sq_metadata_value){"h_high", &sq_grid_set(r)->weight.high_bits, 4, 8};
    value[n++] = (struct sq_metadata_value){"h_low", &sq_grid_set(r)->weight.low_bits, 2, 8};
    value[n++] = (struct sq_metadata_value){"group", &r->group, 0, 128};
    value[n++] = (struct sq_metadata_value){"operand", &r->operand, 0, SQ_OPERAND_WEIGHTS};
    value[n++] = (struct sq_metadata_value){"rotate", &sq_grid_set(r)->rotation, 0, 2};
    if (is_w || is_act) {
        value[n++] = (struct sq_metadata_value){"bank", &r->bank, SQ_BANK_MIN, SQ_BANK_MAX};
        value[n++] = (struct sq_metadata_value){"k", &r->high_per_bank, 1, SQ_BANK_MAX};
    }
    if (is_act) {
        value[n++] = (struct sq_metadata_value){"act_grid", (unsigned *)&r->act.kind, SQ_GRID_OWN,
                                                SQ_GRID_SHIFT};
        value[n++] = (struct sq_metadata_value){"act_high", &r->act.high_bits, 4, 12};
        value[n++] = (struct sq_metadata_value){"act_low", &r->act.low_bits, 2, 4};
    }
    if (variant_of(r)->is_by_token)
        value[n++] = (struct sq_metadata_value){"select", (unsigned *)&sq_grid_set(r)->select,
                                                SQ_SELECT_DYNAMIC_FP, SQ_SELECT_DYNAMIC_INT8_MUL};
    return n;
}

// ---- in ---------------------------------------------------------------------------------------

// Memory for the parts of an outline.
static enum sq_status parts_alloc(struct sq_grid_layer *q, const struct sq_recipe *r,
                                  struct sq_error *err)
{
    const struct sq_format f = sq_recipe_banks(r);
    if (q->n_high)
        SQ_TRY(mask_alloc(q, err));
    if (sq_grid_recipe(r)->weight.kind == SQ_GRID_OWN)
        return sq_operand_alloc(&q->packed, &f, q->w.n, q->w.k_orig, err);
    SQ_TRY(sq_codes_alloc(&q->w, err));
    return streams_alloc(q, err);
}

static enum sq_status unpack(struct sq_grid_layer *q, struct sq_error *err)
{
    struct sq_codes *w = &q->w;
    SQ_TRY(sq_codes_settle_scales(w, err));
    for (size_t row = 0; row < w->n; row++) {
        const uint8_t *in[SQ_CODES_STREAMS];
        for (enum sq_codes_stream s = 0; s < SQ_CODES_STREAMS; s++)
            in[s] = q->stream[s] ? q->stream[s] + row * sq_codes_row_nbytes(w, s) : NULL;
        SQ_TRY(sq_codes_unpack_row(w, row, in, err));
    }
    return SQ_OK;
}

// The order must be that of the mask, which has k channels a bank.
static enum sq_status unpack_mask(struct sq_grid_layer *q, const struct sq_recipe *r,
                                  struct sq_error *err)
{
    const size_t k = q->w.k;
    uint32_t *const order = malloc(2 * k * sizeof *order);
    q->mask = malloc(k);
    if (!q->mask || !order) {
        free(order);
        return SQ_NO_LAYER(err, q->w.n, q->w.k);
    }
    for (size_t i = 0; i < k; i++)
        q->mask[i] = q->mask_bits[i / 8] >> i % 8 & 1;
    const size_t n_high = sq_static_order(q->mask, k, order, order + k);
    const bool is_alike = n_high == q->n_high &&
                          memcmp(order, q->perm, n_high * sizeof *order) == 0 &&
                          memcmp(order + k, q->perm + k, (k - n_high) * sizeof *order) == 0;
    free(order);
    SQ_FAIL_IF(k % 8 != 0 && q->mask_bits[k / 8] >> k % 8 != 0, err, SQ_ERR_PADDING,
               "mask: bits beyond channel %zu are not 0", k - 1);
    for (size_t i = 0, n = 0; i < k; i++) {
        n += q->mask[i];
        SQ_FAIL_IF((i + 1) % r->bank == 0 && n != (i + 1) / r->bank * r->high_per_bank, err,
                   SQ_ERR_MASK_COUNT, "mask: %zu channels up to bank %zu, need %zu", n, i / r->bank,
                   (i + 1) / r->bank * r->high_per_bank);
    }
    return is_alike
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_INDEX, "perm_hi and perm_lo are not the order of the mask");
}

static enum sq_status load(void **state, const struct sq_recipe *r,
                           const struct sq_part_source *from, struct sq_error *err)
{
    struct sq_grid_layer *const q = *state = outline(r, from->n, from->k_orig);
    SQ_NEED(q, err, "a layer");
    SQ_FAIL_IF(q->rotation && from->k_orig % q->rotation != 0, err, SQ_ERR_SHAPE,
               "K = %zu, need a multiple of the rotation's %u", from->k_orig, q->rotation);
    SQ_TRY(parts_alloc(q, r, err));
    SQ_TRY(sq_parts_read(parts, q, from, err));
    if (q->n_high)
        SQ_TRY(unpack_mask(q, r, err));
    const struct sq_matrix *const m = &q->packed.m;
    SQ_TRY(q->packed.buffer ? sq_matrix_validate(m, m->n * sq_lo_row_nbytes(&m->format, m->k),
                                                 m->n * sq_hi_row_nbytes(&m->format, m->k),
                                                 q->packed.n_scales, err)
                            : unpack(q, err));
    if (r->operand == SQ_OPERAND_WEIGHTS)
        SQ_TRY(sq_grid_keep_values(q, r, NULL, err));
    return sq_grid_prepare(q, r, err);
}

// ---- the packed SQ-format ---------------------------------------------------------------------

static bool takes_packed(const struct sq_recipe *r)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    return o->weight.kind == SQ_GRID_OWN && !r->is_smooth && r->operand == SQ_OPERAND_BOTH &&
           o->rotation == 0;
}

static void recipe_of_packed(const struct sq_format *f, struct sq_recipe *r)
{
    sq_grid_set(r)->weight = (struct sq_grid){SQ_GRID_OWN, f->high_bits, f->low_bits};
    r->bank = f->bank;
    r->high_per_bank = f->high_per_bank;
    r->group = f->group;
}

static enum sq_status load_operand(const struct sq_operand_file *file, size_t i,
                                   struct sq_quant_layer *layer, struct sq_error *err)
{
    const struct sq_operand_file_entry *e = &file->entry[i];
    const struct sq_grid grid = {SQ_GRID_OWN, file->format.high_bits, file->format.low_bits};
    struct sq_grid_layer *q = calloc(1, sizeof *q);
    *layer = (struct sq_quant_layer){0};
    SQ_NEED(q, err, "layer %.60s", e->name);
    q->w = (struct sq_codes){.grid = grid, .n = e->n, .k = e->k, .k_orig = e->k_orig};
    *layer = (struct sq_quant_layer){
        .format = &sq_format_sq_w, .state = q, .n = e->n, .k = e->k, .k_orig = e->k_orig};
    enum sq_status status = sq_operand_file_load(file, i, &q->packed, err);
    SQ_THEN(status, sq_grid_prepare(q, &(struct sq_recipe){0}, err));
    return SQ_ELSE(status, sq_quant_layer_free(layer));
}

static const struct sq_operand *operand_of(const void *state)
{
    return &((const struct sq_grid_layer *)state)->packed;
}

// ---- weights of other programs ----------------------------------------------------------------

// Symmetric integers: dense weights.
static bool takes(const struct sq_adopted *a, struct sq_recipe *r)
{
    const bool is_act = a->act == SQ_ADOPTED_ACT_INTEGER;
    sq_grid_set(r)->weight = (struct sq_grid){SQ_GRID_DENSE, 0, a->bits};
    sq_grid_set(r)->stored_bits = a->stored_bits;
    sq_grid_set(r)->scale_nbytes = a->scale_nbytes;
    r->group = a->has_row_scale ? 0 : (unsigned)a->group;
    r->operand = is_act ? SQ_OPERAND_BOTH : SQ_OPERAND_WEIGHTS;
    if (is_act)
        r->act = (struct sq_grid){SQ_GRID_DENSE, 0, a->act_bits};
    return !variant_of(r)->mixes_weights && !variant_of(r)->mixes_act && a->is_integer &&
           !a->has_global && a->scale_type == SQ_ADOPTED_BINARY32 && a->act != SQ_ADOPTED_ACT_LIKE;
}

static bool kind(const struct sq_recipe *r, struct sq_adopted *a)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    const bool is_alone = r->operand == SQ_OPERAND_WEIGHTS || r->is_act_f16;
    *a = (struct sq_adopted){.is_integer = true,
                             .bits = o->weight.low_bits,
                             .group = r->group,
                             .has_row_scale = r->group == 0,
                             .act = is_alone ? SQ_ADOPTED_ACT_NONE : SQ_ADOPTED_ACT_INTEGER,
                             .act_bits = is_alone ? 0 : r->act.low_bits};
    return !variant_of(r)->mixes_weights && !variant_of(r)->mixes_act && o->rotation == 0;
}

static const struct sq_format_adopts adopts = {
    .takes = takes, .kind = kind, .code = "lo", .scale = "s_lo"};

// ---- the tables -------------------------------------------------------------------------------

#define VALUES                                                                                     \
    .check = check, .needs = needs, .has_smoothing = true, .is_reference = is_reference,           \
    .init = init, .free = layer_free, .apply = sq_grid_apply,                                      \
    .apply_shared = sq_grid_apply_shared, .padded = padded_to, .decode_row = decode_row

const struct sq_format_values sq_grid_coded = {VALUES};
const struct sq_format_values sq_grid_masked = {VALUES, .mask = mask_of};

static const char *const derived[] = {"perm_hi", "perm_lo", NULL}; // of `mask`
static const struct sq_format_packed packed = {
    .takes = takes_packed,
    .recipe = recipe_of_packed,
    .load = load_operand,
    .operand = operand_of,
};

#define STORED                                                                                     \
    .parts = parts, .derived = derived, .outline = outline, .load = load, .numbers = numbers,      \
    .adopts = &adopts, .file_nbits = file_nbits

const struct sq_format_file sq_grid_stored = {STORED};
const struct sq_format_file sq_grid_packed = {STORED, .packed = &packed};
