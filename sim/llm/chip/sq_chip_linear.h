// SPDX-License-Identifier: Apache-2.0
// Linear layers on the chip, as a host runs them: the image of a layer is put into memory, the driver
// (lib/sq_driver.h) starts it, and the outputs are read from memory.
#pragma once

#include "lib/sq_driver.h"
#include "sim/format/top/sq_chip_route.h"
#include "sim/machine/sq_device.h"

// What layers, or other descriptors (`passes`), took, by the counters of the chip.
struct sq_chip_cost {
    uint64_t layers, passes, cycles, busy, wait, blocked;
    uint64_t read_nbytes, write_nbytes;
};
void sq_chip_cost_add(struct sq_chip_cost *sum, const struct sq_chip_cost *more);

// The chip and its memory. Set the first fields, zeros behind them; sq_chip_linear_close at the end.
struct sq_chip_linear {
    enum sq_device_body body;
    struct sq_chip chip;
    unsigned rows, cols; // of its array
    const char *home;    // RTL (sq_device.h)
    uint64_t seed;
    bool has_no_values; // programs of a token are for sq_token_time alone
    // private
    struct sq_device *device;
    unsigned value[SQ_POINT_VALUES]; // of the device
    struct sq_env_choice memory;
    struct sq_chip_plans plans; // of sq_chip_linear_apply
    struct sq_chip_image {
        int32_t *word;
        uint64_t base;
        uint32_t n_words;
    } image; // of the layer at hand
};

// The image of a layer and its tokens, as `sqsim image` makes it: given->word, n_words of them from chip.base on, with
// the descriptor at given->descriptor. Not moved; free it even after a failure. Errors as below.
struct sq_linear_image {
    struct sq_product p;
    struct sq_point point;
    struct sq_case stream;
    struct sq_top_layer layer;
    const struct sq_top_given *given;
};
enum sq_status sq_linear_image_make(const struct sq_chip_linear *c, const struct sq_quant_layer *q,
                                    const struct sq_recipe *r, const char *name, const float *x,
                                    size_t m, struct sq_linear_image *image, struct sq_error *err);
void sq_linear_image_free(struct sq_linear_image *image);
// The chip runs it in a memory of so many words, which begins as given->word and holds the outputs afterwards.
enum sq_status sq_linear_image_run(struct sq_chip_linear *c, const struct sq_linear_image *image,
                                   int32_t *word, struct sq_chip_cost *cost, struct sq_error *err);
// Outputs of such a memory as y[m][n].
void sq_linear_image_outputs(const struct sq_chip_linear *c, const struct sq_linear_image *image,
                             const int32_t *word, float *y);

// All of it: y[m][q->n] of x[m][q->k_orig]; *cost is of this layer. `name` is for refusals. SQ_ERR_UNSUPPORTED for a layer that
// the chip does not run, SQ_ERR_RANGE for one too large for it; SQ_ERR_INTERNAL where it ended with an error.
enum sq_status sq_chip_linear_apply(struct sq_chip_linear *c, const struct sq_quant_layer *q,
                                    const struct sq_recipe *r, const char *name, const float *x,
                                    size_t m, float *y, struct sq_chip_cost *cost,
                                    struct sq_error *err);
// The device of a chip of these parameters, with word[n_words] as its memory from `base` on, and a driver of it.
enum sq_status sq_chip_linear_device(struct sq_chip_linear *c, const unsigned *value,
                                     const struct sq_env_choice *memory, int32_t *word,
                                     size_t n_words, uint64_t base, struct sq_driver *driver,
                                     struct sq_error *err);
void sq_chip_linear_close(struct sq_chip_linear *c);
