// SPDX-License-Identifier: Apache-2.0
// Makes the images of layers one behind the other, all of one chip (sq_chip_program.h).
#include "sim/format/top/sq_chip_program.h"

#include <stdio.h>
#include <string.h>

enum {
    RING_NBYTES =
        ((SQ_PROGRAM_MAX + 1) * SQ_SLOT_NBYTES + SQ_AXI_PAGE - 1) / SQ_AXI_PAGE * SQ_AXI_PAGE
};

// The same chip as that of the layers before.
static enum sq_status take_point(struct sq_chip_program *g, const char *name,
                                 const struct sq_point *p, struct sq_error *err)
{
    if (g->ring.n == 0)
        g->point = *p;
    for (size_t i = 0; sq_top_block.param[i]; i++)
        if (p->value[i] != g->point.value[i])
            return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                           "layer %.60s needs a chip of %s = %u, those before it in the ring %u",
                           name, sq_top_block.param[i], p->value[i], g->point.value[i]);
    return SQ_OK;
}

static enum sq_status make(struct sq_chip_program *g, const struct sq_route *chip,
                           const struct sq_chip *as, struct sq_program_layer *l,
                           struct sq_error *err)
{
    struct sq_point point = {.name = "ring"};
    struct sq_case c = {.block = chip->block, .point = &point};
    struct sq_route_work w = {.p = &l->p,
                              .array_rows = g->rows,
                              .array_cols = g->cols,
                              .chip = as,
                              .point = &point,
                              .stream = &c};
    SQ_TRY(chip->make(&w, err));
    sq_case_free(&c);
    SQ_TRY(take_point(g, l->name, &point, err));
    SQ_TRY(chip->check(&w, err));
    g->memory = c.env;
    g->image[g->ring.n++] = *(const struct sq_top_given *)c.env.given;
    g->values += w.values;
    g->value_mismatches += w.value_mismatches;
    if (!*g->difference)
        memcpy(g->difference, w.difference, sizeof g->difference);
    return SQ_OK;
}

enum sq_status sq_chip_program_add(struct sq_chip_program *g, const struct sq_route *chip,
                                   const char *name, struct sq_product *p, struct sq_error *err)
{
    struct sq_program_layer *const l = &g->layer[g->ring.n];
    struct sq_chip as = g->chip;
    if (g->ring.n == SQ_PROGRAM_MAX) {
        sq_product_free(p);
        return SQ_FAIL(err, SQ_ERR_RANGE, "layer %.60s: need at most %d in a ring", name,
                       SQ_PROGRAM_MAX);
    }
    snprintf(l->name, sizeof l->name, "%s", name);
    l->p = *p;
    l->p.source = l->name;
    memset(p, 0, sizeof *p);
    as.base = g->ring.n == 0 ? g->chip.base + RING_NBYTES : g->end;
    const enum sq_status status = make(g, chip, &as, l, err);
    if (status != SQ_OK) {
        sq_product_free(&l->p);
        return status;
    }
    const struct sq_top_given *const image = &g->image[g->ring.n - 1];
    g->end = image->descriptor + 4 * image->n_words;
    g->ring.base = g->chip.base;
    g->ring.size = g->ring.n + 1;
    g->ring.layer = g->image;
    return SQ_OK;
}

void sq_chip_program_free(struct sq_chip_program *g)
{
    for (uint32_t i = 0; i < g->ring.n; i++)
        sq_product_free(&g->layer[i].p);
}
