// SPDX-License-Identifier: Apache-2.0
// Makes the image of a layer, runs it by the driver, and reads its outputs (sq_chip_linear.h).
#include "sim/llm/chip/sq_chip_linear.h"

#include <string.h>

#include "sim/block/top/sq_top_host.h"
#include "sim/format/sq_format_ops.h"

void sq_chip_cost_add(struct sq_chip_cost *sum, const struct sq_chip_cost *more)
{
    sum->layers += more->layers;
    sum->passes += more->passes;
    sum->cycles += more->cycles;
    sum->busy += more->busy;
    sum->wait += more->wait;
    sum->blocked += more->blocked;
    sum->read_nbytes += more->read_nbytes;
    sum->write_nbytes += more->write_nbytes;
}

// ---- memory -----------------------------------------------------------------------------------------

static bool holds(const struct sq_chip_image *m, uint64_t addr, unsigned n)
{
    const uint64_t at = (addr - m->base) / 4;
    return at < m->n_words && n <= m->n_words - at;
}

static int32_t read_word(void *ctx, uint64_t addr, unsigned i)
{
    const struct sq_chip_image *const m = ctx;
    return holds(m, addr + 4 * i, 1) ? m->word[(addr - m->base) / 4 + i] : 0;
}

static const char *write_words(void *ctx, uint64_t addr, const int32_t *word, unsigned n)
{
    const struct sq_chip_image *const m = ctx;
    if (!holds(m, addr, n))
        return "a write outside of the image";
    memcpy(m->word + (addr - m->base) / 4, word, n * sizeof *word);
    return NULL;
}

static enum sq_axi_fault fault_at(void *ctx, uint64_t addr, unsigned nbytes)
{
    return holds(ctx, addr, nbytes / 4) ? SQ_AXI_GOOD : SQ_AXI_DECERR;
}

static const struct sq_axi_content content = {read_word, write_words, fault_at};

// ---- a layer ------------------------------------------------------------------------------------------

// The device of this point: that of the layer before, where it is the same chip.
static enum sq_status open_device(struct sq_chip_linear *c, const unsigned *value,
                                  const struct sq_env_choice *memory, struct sq_error *err)
{
    if (c->device && memcmp(c->value, value, sizeof c->value) == 0 &&
        memcmp(c->memory.n, memory->n, sizeof memory->n) == 0)
        return SQ_OK;
    sq_device_close(c->device);
    memcpy(c->value, value, sizeof c->value);
    c->memory = *memory;
    const struct sq_device_setup setup = {.body = c->body,
                                          .value = c->value,
                                          .memory = *memory,
                                          .content = &content,
                                          .ctx = &c->image,
                                          .home = c->home,
                                          .seed = c->seed};
    return sq_device_open(&c->device, &setup, err);
}

// is_own: the memory begins as the image was made, so that an error is ours.
static enum sq_status run(struct sq_chip_linear *c, const char *name, uint64_t descriptor,
                          bool is_own, struct sq_chip_cost *cost, struct sq_error *err)
{
    const struct sq_driver driver = {c->device, sq_device_read, sq_device_write, sq_device_wait};
    struct sq_driver_chip chip;
    struct sq_driver_done done = {.result = sq_driver_probe(&driver, &chip)};
    char text[160];
    SQ_FAIL_IF(done.result == SQ_DRIVER_OK &&
                   sq_driver_run(&driver, descriptor, &done) != SQ_DRIVER_OK && !is_own,
               err, SQ_ERR_DAMAGED,
               "memory does not begin as the image of layer %.60s: the chip says %.160s", name,
               sq_driver_text(&done, text, sizeof text));
    SQ_FAIL_IF(done.result != SQ_DRIVER_OK, err, SQ_ERR_INTERNAL, "layer %.60s on the chip: %.160s",
               name, sq_driver_text(&done, text, sizeof text));
    SQ_FAIL_IF(sq_device_complaint(c->device), err, SQ_ERR_INTERNAL,
               "layer %.60s on the chip: %.60s", name, sq_device_complaint(c->device));
    *cost = (struct sq_chip_cost){.layers = 1,
                                  .cycles = done.cycles,
                                  .busy = done.busy,
                                  .wait = done.wait,
                                  .blocked = done.blocked,
                                  .read_nbytes = done.read_beats * chip.bus_nbytes,
                                  .write_nbytes = done.write_beats * chip.bus_nbytes};
    return SQ_OK;
}

static enum sq_status make(const struct sq_chip_linear *c, const struct sq_route *route,
                           struct sq_linear_image *image, struct sq_error *err)
{
    struct sq_product *const p = &image->p;
    struct sq_route_work w = {.p = p,
                              .array_rows = c->rows,
                              .array_cols = c->cols,
                              .chip = &c->chip,
                              .point = &image->point,
                              .stream = &image->stream};
    SQ_FAIL_IF(route->takes && !route->takes(p), err, SQ_ERR_UNSUPPORTED,
               "layer %.80s: the chip does not run such layers", p->source);
    SQ_TRY(route->make(&w, err));
    image->given = image->stream.env.given;
    const struct sq_top_room room = sq_top_room(image->point.value);
    (void)sq_top_layer_decode((const uint32_t *)image->given->word, &room, &image->layer);
    return SQ_OK;
}

enum sq_status sq_linear_image_make(const struct sq_chip_linear *c, const struct sq_quant_layer *q,
                                    const struct sq_recipe *r, const char *name, const float *x,
                                    size_t m, struct sq_linear_image *image, struct sq_error *err)
{
    const struct sq_format_routes *const routes = q->format->routes;
    *image = (struct sq_linear_image){.p = {.source = name, .is_coded = !c->chip.encodes},
                                      .point = {.name = "linear"}};
    SQ_TRY(sq_route_on_chip(q->format, err));
    image->stream = (struct sq_case){.block = routes->chip->block, .point = &image->point};
    SQ_TRY(sq_route_product(q, r, x, m, &image->p, err));
    return make(c, routes->chip, image, err);
}

void sq_linear_image_free(struct sq_linear_image *image)
{
    sq_case_free(&image->stream);
    sq_product_free(&image->p);
}

enum sq_status sq_linear_image_run(struct sq_chip_linear *c, const struct sq_linear_image *image,
                                   int32_t *word, struct sq_chip_cost *cost, struct sq_error *err)
{
    SQ_TRY(open_device(c, image->stream.point->value, &image->stream.env, err));
    c->image = (struct sq_chip_image){
        .word = word, .base = c->chip.base, .n_words = image->given->n_words};
    return run(c, image->p.source, image->given->descriptor, word == image->given->word, cost, err);
}

void sq_linear_image_outputs(const struct sq_chip_linear *c, const struct sq_linear_image *image,
                             const int32_t *word, float *y)
{
    sq_chip_outputs(image->point.value, &image->layer,
                    word + (image->given->out - c->chip.base) / 4, image->p.m, image->p.n, y);
}

enum sq_status sq_chip_linear_apply(struct sq_chip_linear *c, const struct sq_quant_layer *q,
                                    const struct sq_recipe *r, const char *name, const float *x,
                                    size_t m, float *y, struct sq_chip_cost *cost,
                                    struct sq_error *err)
{
    SQ_CLOSED(sq_linear_image_free) struct sq_linear_image image = {0};
    c->chip.plans = &c->plans;
    c->chip.no_want = true;
    SQ_TRY(sq_linear_image_make(c, q, r, name, x, m, &image, err));
    int32_t *const word = (int32_t *)(uintptr_t)image.given->word; // of the image
    SQ_TRY(sq_linear_image_run(c, &image, word, cost, err));
    sq_linear_image_outputs(c, &image, word, y);
    return SQ_OK;
}

enum sq_status sq_chip_linear_device(struct sq_chip_linear *c, const unsigned *value,
                                     const struct sq_env_choice *memory, int32_t *word,
                                     size_t n_words, uint64_t base, struct sq_driver *driver,
                                     struct sq_error *err)
{
    SQ_TRY(open_device(c, value, memory, err));
    c->image = (struct sq_chip_image){.word = word, .base = base, .n_words = (uint32_t)n_words};
    *driver = (struct sq_driver){c->device, sq_device_read, sq_device_write, sq_device_wait};
    return SQ_OK;
}

void sq_chip_linear_close(struct sq_chip_linear *c)
{
    sq_device_close(c->device);
    c->device = NULL;
}
