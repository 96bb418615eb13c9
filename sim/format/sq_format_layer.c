// SPDX-License-Identifier: Apache-2.0
// A recipe and its layer, through the table of their format (sq_recipe.h).
#include "sim/format/sq_recipe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_codes.h"
#include "models/quant/sq_algorithm2.h"
#include "models/quant/sq_smooth.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/format/sq_quantize.h"
#include "sim/io/sq_checked.h"

enum { TOKENS = 128 }; // of one piece of work

// ---- the recipe -----------------------------------------------------------------------------

struct sq_recipe sq_recipe_of(const struct sq_format_ops *format)
{
    return (struct sq_recipe){
        .format = format, .act = {SQ_GRID_DENSE, 0, 8}, .percdamp = 0.01, .alpha = 0.5};
}

bool sq_recipe_is_reference(const struct sq_recipe *r)
{
    const struct sq_format_values *v = r->format->values;
    return v && v->is_reference && v->is_reference(r);
}

unsigned sq_recipe_act_bits(const struct sq_recipe *r)
{
    return r->is_act_f16 ? 16 : r->act.low_bits;
}

struct sq_format sq_recipe_banks(const struct sq_recipe *r)
{
    const struct sq_grid *g = r->format->cost->mixed ? r->format->cost->mixed(r) : &r->act;
    return (struct sq_format){g->high_bits, g->low_bits, r->bank, r->high_per_bank, r->group};
}

void sq_banks_text(const struct sq_format *f, char text[64])
{
    int n = snprintf(text, 64, "SQ(%u,%u,%u,%g) G=", f->high_bits, f->low_bits, f->bank,
                     sq_format_sparsity(f));
    if (f->group == 0)
        snprintf(text + n, 64 - (size_t)n, "row");
    else
        snprintf(text + n, 64 - (size_t)n, "%u", f->group);
}

bool sq_recipe_is_packed(const struct sq_recipe *r)
{
    const struct sq_format_packed *packed = r->format->file->packed;
    return packed && packed->takes(r);
}

void sq_recipe_heading(const struct sq_recipe *r, char text[96])
{
    if (r->format->is_headed_by_text)
        r->format->text(r, text);
    else
        snprintf(text, 96, "%s", r->format->name);
}

enum sq_status sq_recipe_check(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_format_ops *f = r->format;
    SQ_FAIL_IF(!f || !f->values, err, SQ_ERR_UNSUPPORTED, "format %s has no values",
               f ? f->name : "(none)");
    SQ_FAIL_IF(r->is_smooth && !f->values->has_smoothing, err, SQ_ERR_UNSUPPORTED,
               "smooth: %s has no smoothing", f->name);
    if (f->values->check)
        SQ_TRY(f->values->check(r, err));
    SQ_FAIL_IF(!(r->alpha >= 0 && r->alpha <= 1), err, SQ_ERR_RANGE, "alpha = %g, need 0..1",
               r->alpha);
    SQ_FAIL_IF(!(r->percdamp >= 0 && r->percdamp <= 1), err, SQ_ERR_RANGE,
               "percdamp = %g, need 0..1", r->percdamp);
    return SQ_OK;
}

unsigned sq_recipe_needs(const struct sq_recipe *r)
{
    unsigned needs = r->format->values->needs ? r->format->values->needs(r) : 0;
    for (size_t i = 0; i < r->n_rules; i++)
        needs |= sq_recipe_needs(&r->rule[i].recipe);
    return needs;
}

bool sq_recipe_needs_calibration(const struct sq_recipe *r)
{
    return sq_recipe_needs(r) != 0;
}

size_t sq_recipe_padded(const struct sq_recipe *r, size_t k_orig)
{
    return r->format->values->padded ? r->format->values->padded(r, k_orig) : k_orig;
}

// ---- one layer ------------------------------------------------------------------------------

// Encodes the weights times sigma.
static enum sq_status quantize_smooth(struct sq_quant_layer *q, const struct sq_recipe *r,
                                      const float *w, const struct sq_quant_input *in,
                                      struct sq_error *err)
{
    const size_t n = q->n, k = q->k_orig;
    SQ_FREED float *scaled = malloc(n * k * sizeof *scaled);
    q->sigma = malloc(k * sizeof *q->sigma);
    SQ_NEED_LAYER(scaled && q->sigma, err, n, k);
    memcpy(q->sigma, in->sigma, k * sizeof *q->sigma);
    memcpy(scaled, w, n * k * sizeof *scaled);
    sq_smooth_apply_weights(scaled, n, k, q->sigma);
    return q->format->values->init(&q->state, r, scaled, n, k, in, err);
}

enum sq_status sq_quant_layer_init(struct sq_quant_layer *q, const struct sq_recipe *r,
                                   const float *w, size_t n, size_t k,
                                   const struct sq_quant_input *in, struct sq_error *err)
{
    *q = (struct sq_quant_layer){.format = r->format,
                                 .n = n,
                                 .k = sq_recipe_padded(r, k),
                                 .k_orig = k,
                                 .is_unstored = r->operand == SQ_OPERAND_ACT};
    const enum sq_status status = in->sigma
                                      ? quantize_smooth(q, r, w, in, err)
                                      : r->format->values->init(&q->state, r, w, n, k, in, err);
    return SQ_ELSE(status, sq_quant_layer_free(q));
}

void sq_quant_layer_free(struct sq_quant_layer *q)
{
    if (q->format)
        q->format->values->free(q->state);
    free(q->sigma);
    *q = (struct sq_quant_layer){0};
}

// ---- stored bits ----------------------------------------------------------------------------

static bool is_derived(const struct sq_format_ops *f, const char *name)
{
    for (size_t i = 0; f->file->derived && f->file->derived[i]; i++)
        if (strcmp(f->file->derived[i], name) == 0)
            return true;
    return false;
}

// Counts the bits of the tensors of an encoding, or of its outline.
static double count_parts(const struct sq_format_ops *f, const void *state)
{
    struct sq_part part[SQ_PARTS_MAX];
    const size_t n = f->file->parts(state, part);
    double nbytes = 0, nbits = f->file->file_nbits ? f->file->file_nbits(state) : 0;
    if (nbits > 0)
        return nbits;
    for (size_t i = 0; i < n; i++) {
        double size = is_derived(f, part[i].name) ? 0 : (double)sq_dtype_nbytes(part[i].dtype);
        for (unsigned d = 0; d < part[i].n_dims; d++)
            size *= (double)part[i].dim[d];
        nbytes += size;
    }
    return 8 * nbytes;
}

static double sigma_nbits(bool is_smooth, size_t k)
{
    return is_smooth ? 32 * (double)k : 0;
}

double sq_quant_layer_nbits(const struct sq_quant_layer *q)
{
    return q->is_unstored ? NAN
                          : count_parts(q->format, q->state) + sigma_nbits(q->sigma, q->k_orig);
}

double sq_recipe_nbits(const struct sq_recipe *r, size_t n, size_t k)
{
    if (sq_recipe_is_reference(r))
        return 16 * (double)n * (double)k;
    void *state = r->operand == SQ_OPERAND_ACT ? NULL : r->format->file->outline(r, n, k);
    const double nbits = state ? count_parts(r->format, state) + sigma_nbits(r->is_smooth, k) : NAN;
    r->format->values->free(state);
    return nbits;
}

const char *sq_recipe_sized_by(const struct sq_recipe *r)
{
    return r->format->file->sized_by ? r->format->file->sized_by(r) : NULL;
}

enum sq_status sq_quant_layer_sqnr(const struct sq_quant_layer *q, const float *w,
                                   struct sq_sqnr *sum, struct sq_error *err)
{
    const size_t k = q->k_orig;
    struct sq_sqnr sqnr = {0};
    float *row = malloc(k * sizeof *row);
    SQ_NEED(row, err, "a row of %zu", k);
    for (size_t r = 0; r < q->n; r++) {
        q->format->values->decode_row(q->state, r, row);
        for (size_t j = 0; j < k; j++) {
            const double exact = (double)w[r * k + j];
            const double error = exact - (double)row[j] / (q->sigma ? (double)q->sigma[j] : 1);
            sqnr.signal += exact * exact;
            sqnr.noise += error * error;
        }
    }
    free(row);
    sum->signal += sqnr.signal;
    sum->noise += sqnr.noise;
    return SQ_OK;
}

const uint8_t *sq_quant_layer_mask(const struct sq_quant_layer *q)
{
    return q->format->values->mask ? q->format->values->mask(q->state) : NULL;
}

// ---- multiplying ----------------------------------------------------------------------------

struct product {
    const struct sq_shared_layers *l;
    const float *x;
};

static enum sq_status multiply(void *context, size_t first, size_t m, struct sq_error *err)
{
    const struct product *p = context;
    const struct sq_shared_layers *l = p->l;
    const struct sq_format_values *values = l->q[0]->format->values;
    const float *x = p->x + first * l->q[0]->k_orig;
    const void *state[SQ_SHARED_LAYERS];
    float *y[SQ_SHARED_LAYERS];
    for (size_t i = 0; i < l->n; i++) {
        state[i] = l->q[i]->state;
        y[i] = l->y[i] + first * l->q[i]->n;
    }
    if (values->apply_shared)
        return values->apply_shared(state, l->n, l->r[0], x, m, y, err);
    for (size_t i = 0; i < l->n; i++)
        SQ_TRY(values->apply(state[i], l->r[0], x, m, y[i], err));
    return SQ_OK;
}

// Whether the input comes to both in the same way.
static bool has_same_input(const struct sq_quant_layer *a, const struct sq_quant_layer *b)
{
    return a->format == b->format && a->k_orig == b->k_orig && !a->sigma == !b->sigma &&
           (!a->sigma || memcmp(a->sigma, b->sigma, a->k_orig * sizeof *a->sigma) == 0);
}

// x / sigma in memory the caller frees; *status tells of failure.
static float *smoothed(const struct sq_quant_layer *q, const float *x, size_t m,
                       struct sq_error *err, enum sq_status *status)
{
    float *xs = malloc(m * q->k_orig * sizeof *xs);
    *status = xs ? SQ_OK : SQ_NO_LAYER(err, m, q->k_orig);
    if (xs)
        sq_smooth_apply_act(x, m, q->k_orig, q->sigma, xs);
    return xs;
}

// Layers of one recipe with the same input.
static enum sq_status apply(const struct sq_shared_layers *l, const float *x, size_t m,
                            struct sq_error *err)
{
    enum sq_status status = SQ_OK;
    SQ_FREED float *xs = l->q[0]->sigma ? smoothed(l->q[0], x, m, err, &status) : NULL;
    struct product p = {l, xs ? xs : x};
    SQ_THEN(status, sq_each_piece(m, TOKENS, 0, "tokens", multiply, &p, err));
    return status;
}

enum sq_status sq_quant_layer_apply(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                    const float *x, size_t m, float *y, struct sq_error *err)
{
    return apply(&(struct sq_shared_layers){1, {q}, {r}, {y}}, x, m, err);
}

enum sq_status sq_quant_layers_apply(const struct sq_shared_layers *l, const float *x, size_t m,
                                     struct sq_error *err)
{
    bool is_same = true;
    for (size_t i = 1; i < l->n; i++)
        is_same = is_same && l->r[0] == l->r[i] && has_same_input(l->q[0], l->q[i]);
    if (is_same)
        return apply(l, x, m, err);
    for (size_t i = 0; i < l->n; i++)
        SQ_TRY(sq_quant_layer_apply(l->q[i], l->r[i], x, m, l->y[i], err));
    return SQ_OK;
}

enum sq_status sq_quant_layer_recall(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                     const float *x, size_t m, double *recall, struct sq_error *err)
{
    const size_t k = q->k, k_orig = q->k_orig;
    SQ_FREED float *score = malloc(k_orig * sizeof *score);
    SQ_FREED uint8_t *is_high = malloc(k);
    double sum = 0;
    for (size_t t = 0; score && is_high && t < m; t++) {
        for (size_t i = 0; i < k_orig; i++)
            score[i] = fabsf(x[t * k_orig + i]) / (q->sigma ? q->sigma[i] : 1);
        sq_mask_row(score, k, k_orig, r->bank, r->high_per_bank, is_high);
        sum += sq_mask_recall(sq_quant_layer_mask(q), is_high, 1, k);
    }
    *recall = sum / (double)m;
    const bool is_done = score && is_high;
    return is_done ? SQ_OK : SQ_NO_LAYER(err, m, k);
}
