// SPDX-License-Identifier: Apache-2.0
// Products of encoded layers: what all formats share.
#include <string.h>

#include "models/number/sq_half.h"
#include "models/quant/sq_smooth.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_route.h"

void sq_route_put_parts(struct sq_product *p, const struct sq_quant_layer *q)
{
    struct sq_part part[SQ_PARTS_MAX];
    const size_t n = q->format->file->parts(q->state, part);
    for (size_t i = 0; i < n; i++) {
        size_t n_elements = 1;
        for (unsigned d = 0; d < part[i].n_dims; d++)
            n_elements *= part[i].dim[d];
        sq_product_put(p, part[i].name, part[i].dtype, n_elements, part[i].data);
    }
}

// Element i of y, binary32 or binary16.
static float y_at(const struct sq_product_tensor *t, size_t i)
{
    return t->dtype == SQ_F16 ? sq_half_to_float(((const uint16_t *)t->data)[i])
                              : ((const float *)t->data)[i];
}

static enum sq_status check_y(const struct sq_product *p, const float *want, struct sq_error *err)
{
    for (size_t t = 0; t < p->n_tensors; t++)
        for (size_t i = 0; strcmp(p->tensor[t].name, "y") == 0 && i < p->m * p->n; i++) {
            const float got = y_at(&p->tensor[t], i);
            SQ_FAIL_IF(memcmp(&got, &want[i], sizeof got) != 0, err, SQ_ERR_INTERNAL,
                       "%s: y[%zu] = %.9g from the integers of the product, the layer "
                       "gives %.9g",
                       p->source, i, (double)got, (double)want[i]);
        }
    return SQ_OK;
}

enum sq_status sq_route_product(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                const float *x, size_t m, struct sq_product *p,
                                struct sq_error *err)
{
    const size_t n_x = m * q->k_orig;
    struct sq_quant_layer own = *q; // without sigma: x is divided by it once, before it is rounded
    float *input, *y;
    own.sigma = NULL;
    p->m = m;
    SQ_PRODUCT_KEEP(p, input, n_x);
    SQ_PRODUCT_KEEP(p, y, m * q->n);
    if (q->sigma)
        sq_smooth_apply_act(x, m, q->k_orig, q->sigma, input);
    else
        memcpy(input, x, n_x * sizeof *x);
    SQ_TRY(q->format->routes->product(q, r, input, p, err));
    SQ_TRY(sq_quant_layer_apply(&own, r, input, m, y, err));
    return check_y(p, y, err);
}
