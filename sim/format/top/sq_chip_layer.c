// SPDX-License-Identifier: Apache-2.0
// What a layer is on the chip, of its shape and recipe alone.
#include <stdlib.h>

#include "sim/format/sq_format_ops.h"
#include "sim/format/top/sq_chip_route.h"

// A token, a channel and what calibration would have seen, any numbers.
struct sample {
    float *x, *w, *abs_max;
    double *abs_sum;
};

static bool make_sample(struct sample *s, size_t k)
{
    *s = (struct sample){malloc(k * sizeof *s->x), malloc(k * sizeof *s->w),
                         malloc(k * sizeof *s->abs_max), malloc(k * sizeof *s->abs_sum)};
    if (!s->x || !s->w || !s->abs_max || !s->abs_sum)
        return false;
    for (size_t i = 0; i < k; i++) {
        s->x[i] = (float)(i % 7) - 2.5f;
        s->w[i] = (float)(i % 5) - 1.5f;
        s->abs_max[i] = 4;
        s->abs_sum[i] = 2;
    }
    return true;
}

static void free_sample(struct sample *s)
{
    SQ_FREE(s->x, s->w, s->abs_max, s->abs_sum);
}

static enum sq_status ask(const struct sq_recipe *r, struct sample *s, size_t k,
                          struct sq_route_work *w, struct sq_error *err)
{
    const struct sq_calibration calibration = {
        .k = k, .n_tokens = 1, .abs_max = s->abs_max, .abs_sum = s->abs_sum};
    const struct sq_quant_input in = {.calibration = &calibration};
    const struct sq_format_routes *const routes = r->format->routes;
    const struct sq_route *const chip = routes->chip;
    SQ_CLOSED(sq_quant_layer_free) struct sq_quant_layer q = {0};
    SQ_TRY(sq_quant_layer_init(&q, r, s->w, 1, k, &in, err));
    w->p->m = 1;
    SQ_TRY(routes->product(&q, r, s->x, w->p, err));
    SQ_FAIL_IF(chip->takes && !chip->takes(w->p), err, SQ_ERR_UNSUPPORTED,
               "format %s: the chip does not run such layers", r->format->name);
    return chip->make(w, err);
}

// The recipe as far as it says what is stored: how codes were chosen does not matter.
static enum sq_status stored(const struct sq_recipe *from, struct sq_recipe *r,
                             struct sq_error *err)
{
    const struct sq_format_routes *const routes = from->format->routes;
    *r = *from;
    r->algorithm = SQ_ALGORITHM_RTN;
    r->is_smooth = false;
    r->n_rules = 0;
    r->rows = NULL;
    SQ_TRY(sq_route_on_chip(r->format, err));
    SQ_TRY(sq_recipe_check(r, err));
    if (routes->check)
        SQ_TRY(routes->check(r, err));
    SQ_FAIL_IF(sq_recipe_needs(r) & SQ_NEED_HESSIAN & ~(unsigned)SQ_NEED_INPUTS, err,
               SQ_ERR_UNSUPPORTED, "format %s: its layers on the chip need a calibration",
               r->format->name);
    return SQ_OK;
}

enum sq_status sq_chip_layer_of(const struct sq_recipe *recipe, const struct sq_chip *chip,
                                unsigned rows, unsigned cols, const uint64_t mnk[3],
                                struct sq_chip_layer *layer, struct sq_error *err)
{
    struct sq_recipe r;
    SQ_CLOSED(free_sample) struct sample s = {0};
    const size_t k = (size_t)mnk[2];
    SQ_TRY(stored(recipe, &r, err));
    SQ_CLOSED(sq_product_free) struct sq_product p = {.source = "layer", .is_shape = true};
    struct sq_point point = {.name = "chip"};
    struct sq_case c = {.block = r.format->routes->chip->block, .point = &point};
    struct sq_route_work w = {.p = &p,
                              .array_rows = rows,
                              .array_cols = cols,
                              .chip = chip,
                              .chip_layer = layer,
                              .point = &point,
                              .stream = &c};
    *layer = (struct sq_chip_layer){.m = mnk[0], .n = mnk[1]};
    SQ_NEED(make_sample(&s, k), err, "%zu columns", k);
    return ask(&r, &s, k, &w, err);
}
