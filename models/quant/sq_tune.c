// SPDX-License-Identifier: Apache-2.0
// Values, gradients and steps of AdamW of an encoded layer in training (sq_tune.h).
#include "models/quant/sq_tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_half.h"

static bool tensor_init(struct sq_tune_tensor *t, size_t n)
{
    *t = (struct sq_tune_tensor){.n = n,
                                 .at = calloc(n + 1, sizeof(float)),
                                 .gradient = calloc(n + 1, sizeof(float)),
                                 .mean = calloc(n + 1, sizeof(float)),
                                 .square = calloc(n + 1, sizeof(float))};
    return t->at && t->gradient && t->mean && t->square;
}

static void tensor_free(struct sq_tune_tensor *t)
{
    SQ_FREE(t->at, t->gradient, t->mean, t->square);
}

enum sq_status sq_tune_init(struct sq_tune *t, size_t n, size_t k, size_t n_scales,
                            struct sq_error *err)
{
    *t = (struct sq_tune){.n = n, .k = k};
    const bool is_done = tensor_init(&t->w, n * k) & tensor_init(&t->scale, n_scales) &
                         tensor_init(&t->zero, n_scales);
    t->of = calloc(n * k, sizeof *t->of);
    t->value = calloc(n * k, sizeof *t->value);
    if (is_done && t->of && t->value)
        return SQ_OK;
    sq_tune_free(t);
    return SQ_NO_MEMORY(err, "the training of a layer of %zu x %zu", n, k);
}

void sq_tune_free(struct sq_tune *t)
{
    tensor_free(&t->w);
    tensor_free(&t->scale);
    tensor_free(&t->zero);
    SQ_FREE(t->of, t->value, t->code);
    *t = (struct sq_tune){0};
}

// ---- what is stored -------------------------------------------------------------------------

float sq_tune_scale(const struct sq_tune *t, uint32_t i)
{
    const float least = t->is_half ? 0x1p-24f : 0x1p-126f;
    const float s = t->is_half ? sq_half_round(fminf(t->scale.at[i], 65504)) : t->scale.at[i];
    return fmaxf(s, least);
}

static int clamp(const struct sq_tune *t, float q)
{
    return q < (float)t->lowest ? t->lowest : q > (float)t->highest ? t->highest : (int)q;
}

int sq_tune_zero(const struct sq_tune *t, uint32_t i)
{
    return t->has_zero ? clamp(t, rintf(t->zero.at[i])) : 0;
}

static bool has_scales(const struct sq_tune *t)
{
    return t->lowest < t->highest;
}

int sq_tune_code(const struct sq_tune *t, size_t i)
{
    const uint32_t of = t->of[i];
    return t->code
               ? t->code[i]
               : clamp(t, rintf(t->w.at[i] / sq_tune_scale(t, of)) + (float)sq_tune_zero(t, of));
}

enum sq_status sq_tune_freeze(struct sq_tune *t, struct sq_error *err)
{
    int16_t *code = calloc(t->n * t->k, sizeof *code);
    SQ_NEED(code, err, "the codes of a layer of %zu x %zu", t->n, t->k);
    for (size_t i = 0; has_scales(t) && i < t->n * t->k; i++)
        if (t->of[i] != SQ_TUNE_PRUNED)
            code[i] = (int16_t)sq_tune_code(t, i);
    free(t->code);
    t->code = code;
    return SQ_OK;
}

// ---- values and gradients ---------------------------------------------------------------------

void sq_tune_forward(struct sq_tune *t)
{
    for (size_t i = 0; i < t->n * t->k; i++) {
        const uint32_t of = t->of[i];
        t->value[i] = of == SQ_TUNE_PRUNED ? 0
                      : !has_scales(t)     ? t->w.at[i]
                                           : (float)(sq_tune_code(t, i) - sq_tune_zero(t, of)) *
                                             sq_tune_scale(t, of);
    }
}

void sq_tune_backward(struct sq_tune *t, const float *d)
{
    memset(t->scale.gradient, 0, t->scale.n * sizeof(float));
    memset(t->zero.gradient, 0, t->zero.n * sizeof(float));
    for (size_t i = 0; i < t->n * t->k; i++) {
        const uint32_t of = t->of[i];
        t->w.gradient[i] = 0;
        if (of == SQ_TUNE_PRUNED)
            continue;
        if (!has_scales(t)) {
            t->w.gradient[i] = t->code ? 0 : d[i];
            continue;
        }
        const float s = sq_tune_scale(t, of), x = t->w.at[i] / s;
        const int z = sq_tune_zero(t, of), q = sq_tune_code(t, i);
        const bool is_inside = !t->code && q - z == (int)rintf(x);
        t->w.gradient[i] = is_inside ? d[i] : 0;
        t->scale.gradient[of] += d[i] * (is_inside ? rintf(x) - x : (float)(q - z));
        if (t->has_zero && !is_inside)
            t->zero.gradient[of] -= d[i] * s;
    }
}

// ---- AdamW --------------------------------------------------------------------------------------

static void begin(struct sq_tune_tensor *t, double rate)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        sum += fabs((double)t->at[i]);
        n += t->at[i] != 0;
    }
    t->rate = (float)(n ? rate * sum / (double)n : 0);
    memset(t->mean, 0, t->n * sizeof(float));
    memset(t->square, 0, t->n * sizeof(float));
}

void sq_tune_begin(struct sq_tune *t, double rate)
{
    begin(&t->w, rate);
    begin(&t->scale, rate);
    begin(&t->zero, rate);
}

static void step_tensor(struct sq_tune_tensor *t, size_t step, double part)
{
    const float b1 = 0.9f, b2 = 0.999f;
    const float c1 = (float)(1 / (1 - pow(0.9, (double)step)));
    const float c2 = (float)(1 / (1 - pow(0.999, (double)step)));
    const float rate = (float)((double)t->rate * part);
    for (size_t i = 0; i < t->n; i++) {
        const float g = t->gradient[i];
        t->mean[i] = b1 * t->mean[i] + (1 - b1) * g;
        t->square[i] = b2 * t->square[i] + (1 - b2) * g * g;
        t->at[i] -= rate * c1 * t->mean[i] / (sqrtf(c2 * t->square[i]) + 1e-12f);
    }
}

void sq_tune_step(struct sq_tune *t, size_t step, double part)
{
    if (!t->code)
        step_tensor(&t->w, step, part);
    step_tensor(&t->scale, step, part);
    if (t->has_zero)
        step_tensor(&t->zero, step, part);
}
