// SPDX-License-Identifier: Apache-2.0
// The chip of sqsim.h: images of layers, runs by the driver, outputs judged.
#include <stdlib.h>
#include <string.h>

#include "lib/sq_api.h"
#include "lib/sq_api_device.h"
#include "sim/block/top/sq_top_host.h"
#include "sim/llm/chip/sq_chip_linear.h"
#include "sim/machine/sq_chip_machine.h"

struct sqsim_image {
    struct sq_machine machine;  // its DRAM is the chip's
    struct sq_chip_linear chip; // without a device
    struct sq_linear_image image;
};

static enum sq_status make(struct sqsim_image *i, const struct sqsim_layer *layer, const float *x,
                           size_t m, const char *machine, uint64_t base, struct sq_error *err)
{
    char path[SQ_API_PATH];
    struct sq_machine *const yaml = &i->machine;
    SQ_FAIL_IF(base % SQ_AXI_PAGE != 0 || base >= SQ_ADDR_END, err, SQ_ERR_ARG,
               "base = 0x%llx, need a multiple of %d below 2^%d", (unsigned long long)base,
               SQ_AXI_PAGE, SQ_ADDR_BITS);
    SQ_FAIL_IF(m < 1 || m > UINT16_MAX, err, SQ_ERR_RANGE, "m = %zu, need 1..%d", m, UINT16_MAX);
    SQ_TRY(sq_machine_load(sq_api_found(machine ? machine : "chip", SQ_HOME_MACHINE, path), yaml,
                           err));
    i->chip = (struct sq_chip_linear){.rows = yaml->core.rows, .cols = yaml->core.cols};
    SQ_TRY(sq_machine_chip(yaml, &i->chip.chip, err));
    i->chip.chip.base = base;
    return sq_linear_image_make(&i->chip, &layer->quant, &layer->recipe, "layer", x, m, &i->image,
                                err);
}

enum sqsim_status sqsim_image_new(const sqsim_layer *layer, const float *x, size_t m,
                                  const char *machine, uint64_t base, sqsim_image **image,
                                  struct sqsim_error *err)
{
    SQ_API_ENTER();
    SQ_API_MAKE(image, "an image", make(*image, layer, x, m, machine, base, &inner),
                sqsim_image_free);
}

void sqsim_image_free(sqsim_image *image)
{
    if (image)
        sq_linear_image_free(&image->image);
    free(image);
}

const void *sqsim_image_bytes(const sqsim_image *image, size_t *nbytes)
{
    *nbytes = 4 * (size_t)image->image.given->n_words;
    return image->image.given->word;
}

uint64_t sqsim_image_descriptor(const sqsim_image *image)
{
    return image->image.given->descriptor;
}

static enum sq_status add_all(struct sqsim_figures *f, const struct sq_chip_cost *c,
                              struct sq_error *err)
{
    SQ_TRY(sq_api_figure_add(f, "", "cycles", (double)c->cycles, err));
    SQ_TRY(sq_api_figure_add(f, "", "busy", (double)c->busy, err));
    SQ_TRY(sq_api_figure_add(f, "", "wait", (double)c->wait, err));
    SQ_TRY(sq_api_figure_add(f, "", "blocked", (double)c->blocked, err));
    SQ_TRY(sq_api_figure_add(f, "", "read_bytes", (double)c->read_nbytes, err));
    return sq_api_figure_add(f, "", "write_bytes", (double)c->write_nbytes, err);
}

enum sqsim_status sqsim_chip_run(const sqsim_image *image, enum sqsim_chip_body body, void *memory,
                                 sqsim_figures **figures, struct sqsim_error *err)
{
    SQ_API_ENTER();
    struct sq_error inner;
    struct sq_chip_cost cost;
    struct sq_chip_linear chip = image->chip;
    struct sqsim_figures *const f = *figures = calloc(1, sizeof *f);
    char home[SQ_HOME_SIZE];
    sq_api_home(home);
    chip.body = (enum sq_device_body)body;
    chip.home = home;
    enum sq_status status = f ? SQ_OK : SQ_NO_MEMORY(&inner, "figures");
    if (status == SQ_OK && (unsigned)body > SQSIM_CHIP_RTL)
        status = SQ_FAIL(&inner, SQ_ERR_ARG, "body = %d, need 0..2", (int)body);
    SQ_THEN(status, sq_linear_image_run(&chip, &image->image, memory, &cost, &inner));
    SQ_THEN(status, add_all(f, &cost, &inner));
    sq_chip_linear_close(&chip);
    if (status != SQ_OK) {
        sqsim_figures_free(f);
        *figures = NULL;
    }
    return sq_api_status(status, &inner, err);
}

enum sqsim_status sqsim_device_new(const sqsim_image *image, enum sqsim_chip_body body,
                                   const struct sqsim_memory *memory, const struct sqsim_bus *bus,
                                   sqsim_device **device, struct sqsim_error *err)
{
    SQ_API_ENTER();
    struct sq_error inner;
    char home[SQ_HOME_SIZE];
    sq_api_home(home);
    const struct sq_device_setup setup = {.body = (enum sq_device_body)body,
                                          .value = image->image.point.value,
                                          .memory = image->image.stream.env,
                                          .home = home};
    return sq_api_status(sq_api_device(&setup, memory, bus, device, &inner), &inner, err);
}

enum sqsim_status sqsim_image_check(const sqsim_image *image, const void *memory, float *y,
                                    struct sqsim_error *err)
{
    SQ_API_ENTER();
    struct sq_error inner;
    const struct sq_top_given *const given = image->image.given;
    const uint64_t first = (given->out - image->chip.chip.base) / 4;
    enum sq_status status = SQ_OK;
    for (uint32_t i = 0; i < given->n_want && status == SQ_OK; i++) {
        int32_t got;
        memcpy(&got, (const int32_t *)memory + first + i, sizeof got);
        if (got != given->want[i])
            status = SQ_FAIL(&inner, SQ_ERR_DAMAGED, "0x%08llx: 0x%08x, the layer gives 0x%08x",
                             (unsigned long long)given->out + 4 * i, (uint32_t)got,
                             (uint32_t)given->want[i]);
    }
    if (y)
        sq_linear_image_outputs(&image->chip, &image->image, memory, y);
    return sq_api_status(status, &inner, err);
}
