// SPDX-License-Identifier: Apache-2.0
// Makes the images of layers one behind the other, all of one chip (sq_chip_program.h).
#include "sim/format/top/sq_chip_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/number/sq_codes.h"
#include "models/output/sq_combine.h"
#include "sim/format/sq_format_ops.h"

const char *const sq_program_source_names[] = {"inputs", "outputs", "codes", NULL};

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
        SQ_FAIL_IF(p->value[i] != g->point.value[i], err, SQ_ERR_UNSUPPORTED,
                   "layer %.60s needs a chip of %s = %u, those before it in the ring %u", name,
                   sq_top_block.param[i], p->value[i], g->point.value[i]);
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

// ---- encoders -----------------------------------------------------------------------------------

static struct sq_top_layer layer_of(const struct sq_chip_program *g,
                                    const struct sq_top_given *image)
{
    const struct sq_top_room room = sq_top_room(g->point.value);
    struct sq_top_layer l;
    (void)sq_top_layer_decode((const uint32_t *)image->word, &room, &l);
    return l;
}

static int32_t *words_of(const struct sq_top_given *image, uint64_t addr)
{
    return (int32_t *)(uintptr_t)image->word + (addr - image->descriptor) / 4;
}

// x[m][k] as outputs of a layer lie in memory.
static void put_inputs(const struct sq_chip_program *g, const struct sq_encode_layer *l,
                       const float *x, size_t m, size_t k, int32_t *word)
{
    const size_t rows = g->rows, cols = g->cols, tile = rows * cols;
    uint64_t stride[SQ_ENCODE_REGIONS];
    sq_encode_strides(g->point.value, l, stride);
    for (size_t t = 0; t < m; t++) {
        char *const to =
            (char *)word + t / rows * stride[SQ_ENCODE_FROM] * (g->point.value[SQ_TOP_DATA_W] / 8);
        for (size_t i = 0; i < k; i++) {
            const uint16_t half = sq_combine_bf16(sq_combine_bits(x[t * k + i]));
            memcpy(to + 2 * (i / cols * tile + t % rows * cols + i % cols), &half, sizeof half);
        }
    }
}

// What the encoder must write is what the layer's image has; it is no more there afterwards.
static enum sq_status take_wanted(struct sq_chip_program *g, const struct sq_encode_layer *e,
                                  const struct sq_top_layer *l, const int32_t *from,
                                  const struct sq_top_given *of, struct sq_product *p,
                                  struct sq_top_given *image, struct sq_error *err)
{
    const unsigned *const v = g->point.value;
    const uint64_t act = sq_top_nbytes(v, l, SQ_TOP_ACT);
    const uint64_t end = e->is_codes
                             ? l->addr[SQ_TOP_ACT] + act
                             : l->addr[SQ_TOP_ROW_SCALE] + sq_top_nbytes(v, l, SQ_TOP_ROW_SCALE);
    int32_t *const words = words_of(of, l->addr[SQ_TOP_ACT]), *want, *golden;
    image->out = l->addr[SQ_TOP_ACT];
    image->n_want = (uint32_t)(end - image->out) / 4;
    image->n_gap = e->is_codes ? 0 : (uint32_t)(l->addr[SQ_TOP_ROW_SCALE] - image->out - act) / 4;
    SQ_PRODUCT_KEEP(p, want, image->n_want);
    SQ_PRODUCT_KEEP(p, golden, image->n_want);
    memcpy(want, words, image->n_want * sizeof *want);
    image->status = sq_encode_golden(v, e, from, golden, golden + act / 4 + image->n_gap);
    for (uint32_t i = 0; i < image->n_want; i++)
        if (golden[i] != want[i] && g->value_mismatches++ == 0)
            snprintf(g->difference, sizeof g->difference, "activations, word %u: %08x, want %08x",
                     i, (unsigned)golden[i], (unsigned)want[i]);
    g->values += image->n_want;
    memset(words, 0, image->n_want * sizeof *words);
    image->want = want;
    return SQ_OK;
}

// The encoder before is that of the same inputs: the layer takes what it wrote.
static bool shares(struct sq_chip_program *g, const struct sq_top_given *of,
                   const struct sq_top_layer *l)
{
    const struct sq_top_given *const before = g->encoder > 0 ? &g->image[g->encoder - 1] : NULL;
    struct sq_encode_layer e;
    if (!before || g->source != SQ_PROGRAM_INPUTS)
        return false;
    int32_t *const words = words_of(of, l->addr[SQ_TOP_ACT]);
    const uint64_t end =
        l->addr[SQ_TOP_ROW_SCALE] + sq_top_nbytes(g->point.value, l, SQ_TOP_ROW_SCALE);
    (void)sq_encode_decode(g->point.value, (const uint32_t *)before->word, &e);
    if ((end - l->addr[SQ_TOP_ACT]) / 4 != before->n_want ||
        memcmp(words, before->want, 4 * (size_t)before->n_want) != 0)
        return false;
    memset(words, 0, 4 * (size_t)before->n_want);
    uint32_t *const word = (uint32_t *)words_of(of, of->descriptor);
    sq_desc_set_address(word, SQ_DESC_ACT, e.addr[SQ_ENCODE_ACT]);
    sq_desc_set_address(word, SQ_DESC_ROW_SCALE, e.addr[SQ_ENCODE_ROW_SCALE]);
    return true;
}

// Puts an encoder in front of the last layer; the outputs of the one before it, or inputs, lie where it reads.
static enum sq_status add_encoder(struct sq_chip_program *g, const float *x, size_t k,
                                  struct sq_error *err)
{
    const uint32_t at = g->ring.n - 1;
    const struct sq_top_layer l = layer_of(g, &g->image[at]);
    const bool has_outputs = g->source != SQ_PROGRAM_INPUTS && at > 0;
    const bool is_codes = g->source == SQ_PROGRAM_CODES && has_outputs;
    const struct sq_top_given *const before = has_outputs ? &g->image[at - 1] : NULL;
    const struct sq_encode_layer e = {
        .addr = {before ? before->out : g->end + SQ_AXI_PAGE, l.addr[SQ_TOP_ACT],
                 is_codes ? 0 : l.addr[SQ_TOP_ROW_SCALE]},
        .rows = l.tiles[0],
        .cols = before ? layer_of(g, before).tiles[1] : (uint32_t)((k + g->cols - 1) / g->cols),
        .beats = sq_top_act_beats(&l),
        .is_codes = is_codes};
    uint64_t stride[SQ_ENCODE_REGIONS];
    struct sq_encode_layer unused;
    uint32_t word[SQ_DESC_WORDS];
    if (shares(g, &g->image[at], &l))
        return SQ_OK;
    sq_encode_encode(&e, word);
    sq_encode_strides(g->point.value, &e, stride);
    const uint64_t nbytes = stride[SQ_ENCODE_FROM] * e.rows * (g->point.value[SQ_TOP_DATA_W] / 8);
    const uint64_t pages = before ? 1 : 1 + (nbytes + SQ_AXI_PAGE - 1) / SQ_AXI_PAGE;
    if (g->ring.n == SQ_PROGRAM_MAX || g->end + pages * SQ_AXI_PAGE > SQ_ADDR_END ||
        e.beats > UINT16_MAX || !sq_encode_decode(g->point.value, word, &unused))
        return SQ_FAIL(
            err, SQ_ERR_RANGE,
            "layer %.60s: %u tiles of %u columns of inputs, %u banks, in slot %u, need what "
            "an encoder takes, %d slots and addresses below 2^48",
            g->layer[at].name, e.cols, g->cols, e.beats, g->ring.n, SQ_PROGRAM_MAX);
    g->layer[at + 1] = g->layer[at];
    g->image[at + 1] = g->image[at];
    g->layer[at + 1].p.source = g->layer[at + 1].name;
    g->layer[at] = (struct sq_program_layer){.name = "encode", .p = {.m = l.tiles[0], .k = k}};
    g->ring.n++;
    g->encoder = at + 1;
    struct sq_product *const p = &g->layer[at].p;
    struct sq_top_given *const image = &g->image[at];
    *image =
        (struct sq_top_given){.descriptor = g->end, .n_words = (uint32_t)(pages * SQ_AXI_PAGE / 4)};
    int32_t *memory;
    SQ_PRODUCT_KEEP(p, memory, image->n_words);
    SQ_PRODUCT_KEEP(p, image->counted, SQ_HOST_COUNTERS);
    memcpy(memory, word, sizeof word);
    image->word = memory;
    g->end += pages * SQ_AXI_PAGE;
    int32_t *const inputs = memory + SQ_AXI_PAGE / 4;
    p->m = g->layer[at + 1].p.m;
    if (!before)
        put_inputs(g, &e, x, p->m, k, inputs);
    return take_wanted(g, &e, &l, before ? before->want : inputs, &g->image[at + 1], p, image, err);
}

// Outputs y[m][n] of the last layer, as its image has them.
static void get_outputs(const struct sq_chip_program *g, float *y)
{
    const struct sq_top_given *const image = &g->image[g->ring.n - 1];
    const struct sq_product *const p = &g->layer[g->ring.n - 1].p;
    const struct sq_top_layer l = layer_of(g, image);
    sq_chip_outputs(g->point.value, &l, image->want, p->m, p->n, y);
}

// ---- layers -------------------------------------------------------------------------------------

// x[m][k]: of which the product was made. The product belongs to the program from here on.
static enum sq_status add(struct sq_chip_program *g, const struct sq_route *chip, const char *name,
                          const float *x, size_t k, struct sq_product *p, struct sq_error *err)
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
    enum sq_status status = make(g, chip, &as, l, err);
    SQ_TRY(SQ_ELSE(status, sq_product_free(&l->p)));
    const struct sq_top_given *const image = &g->image[g->ring.n - 1];
    g->end = image->descriptor + 4 * (uint64_t)image->n_words;
    if (g->source != SQ_PROGRAM_CODED)
        status = add_encoder(g, x, k, err);
    g->ring.base = g->chip.base;
    g->ring.size = g->ring.n + 1;
    g->ring.layer = g->image;
    return status;
}

// Activations for a ring that encodes: inputs rounded to bfloat16, or the outputs of the layer before, of CODES as
// whole numbers.
static enum sq_status take_inputs(const struct sq_chip_program *g, const char *name,
                                  const struct sq_quant_layer *q, const float *x, size_t m,
                                  float *to, struct sq_error *err)
{
    const bool has_outputs = g->source != SQ_PROGRAM_INPUTS && g->ring.n > 0;
    const size_t n = has_outputs ? g->layer[g->ring.n - 1].p.n : q->k_orig;
    if (n != q->k_orig)
        return SQ_FAIL(
            err, SQ_ERR_SHAPE,
            "layer %.60s: %zu inputs, the layer before has %zu outputs, need the same with "
            "--encode %s",
            name, q->k_orig, n, sq_program_source_names[g->source - SQ_PROGRAM_INPUTS]);
    for (size_t i = 0; i < m * n && !has_outputs; i++)
        to[i] = sq_combine_round_bf16(x[i]);
    if (has_outputs)
        get_outputs(g, to);
    for (size_t i = 0; i < m * n && has_outputs && g->source == SQ_PROGRAM_CODES; i++)
        to[i] = (int8_t)(sq_bits_of(to[i]) >> 24);
    return SQ_OK;
}

// ---- INT8 outputs -------------------------------------------------------------------------------

// Activations that are the outputs of the layer before, INT8 at its scale, in place of those of the encoder.
static enum sq_status take_codes(const struct sq_chip_program *g, const float *outputs, size_t k,
                                 struct sq_product *p, struct sq_error *err)
{
    int8_t *code;
    float *scale;
    SQ_PRODUCT_KEEP(p, code, p->m * p->k);
    SQ_PRODUCT_KEEP(p, scale, p->m);
    for (size_t i = 0; i < p->m * k; i++)
        code[i / k * p->k + i % k] = (int8_t)outputs[i];
    for (size_t t = 0; t < p->m; t++)
        scale[t] = g->scale;
    sq_product_put(p, "code", SQ_I8, p->m * p->k, code);
    sq_product_put(p, "row_lo", SQ_F32, p->m, scale);
    return SQ_OK;
}

// y of the product's codes, with so many parts of the scales of its channels.
static enum sq_status multiply(struct sq_product *p, float parts, struct sq_error *err)
{
    struct sq_codes x = {
        .grid = {SQ_GRID_DENSE, 0, 8}, .n = p->m, .k = p->k, .k_orig = p->k, .group = p->k};
    struct sq_codes w = {.grid = {SQ_GRID_DENSE, 0, 8}, .n = p->n, .k = p->k, .k_orig = p->k};
    struct sq_gemm_codes gemm = {.x = &x, .w = &w};
    const int8_t *code, *weight;
    const float *row, *col;
    size_t groups;
    uint8_t *scratch;
    SQ_TRY(sq_product_groups(p, &groups, err));
    w.group = p->k / groups;
    SQ_PRODUCT_TENSOR(p, "code", SQ_I8, p->m * p->k, code);
    SQ_PRODUCT_TENSOR(p, "w", SQ_I8, p->n * p->k, weight);
    SQ_PRODUCT_TENSOR(p, "row_lo", SQ_F32, p->m, row);
    SQ_PRODUCT_TENSOR(p, "col_lo", SQ_F32, p->n * groups, col);
    SQ_PRODUCT_KEEP(p, x.code, p->m * p->k);
    SQ_PRODUCT_KEEP(p, w.code, p->n * p->k);
    SQ_PRODUCT_KEEP(p, x.s_lo, p->m);
    SQ_PRODUCT_KEEP(p, w.s_lo, p->n * groups);
    SQ_PRODUCT_KEEP(p, gemm.y, p->m * p->n);
    for (size_t i = 0; i < p->m * p->k; i++)
        x.code[i] = code[i];
    for (size_t i = 0; i < p->n * p->k; i++)
        w.code[i] = weight[i];
    for (size_t i = 0; i < p->n * groups; i++)
        w.s_lo[i] = col[i] / parts;
    memcpy(x.s_lo, row, p->m * sizeof *row);
    x.s_hi = x.s_lo;
    w.s_hi = w.s_lo;
    SQ_TRY(sq_gemm_codes_check(&gemm, err));
    SQ_PRODUCT_KEEP(p, scratch, sq_gemm_codes_scratch(&gemm));
    sq_gemm_codes(&gemm, 0, p->m, scratch);
    sq_product_put(p, "col_lo", SQ_F32, p->n * groups, w.s_lo);
    sq_product_put(p, "y", SQ_F32, p->m * p->n, gemm.y);
    return SQ_OK;
}

// Outputs in steps of the scale of which the largest is 127: the step goes into the scales of the channels.
static enum sq_status requantize(struct sq_chip_program *g, const float *outputs, size_t k,
                                 struct sq_product *p, struct sq_error *err)
{
    const float *y;
    float amax = 0;
    SQ_FAIL_IF(sq_product_count(p, "code") == SIZE_MAX || sq_product_count(p, "w") == SIZE_MAX ||
                   sq_product_count(p, "mask") != SIZE_MAX,
               err, SQ_ERR_UNSUPPORTED,
               "layer %.60s: INT8 outputs are activations of dense layers alone", p->source);
    if (g->ring.n > 0) {
        SQ_TRY(take_codes(g, outputs, k, p, err));
        SQ_TRY(multiply(p, 1, err));
    }
    SQ_PRODUCT_TENSOR(p, "y", SQ_F32, p->m * p->n, y);
    for (size_t i = 0; i < p->m * p->n; i++)
        amax = fabsf(y[i]) > amax ? fabsf(y[i]) : amax;
    g->scale = sq_scale_from_amax(amax, 8);
    return multiply(p, g->scale, err);
}

// ---- a layer ------------------------------------------------------------------------------------

enum sq_status sq_chip_program_add(struct sq_chip_program *g, const struct sq_quant_layer *q,
                                   const struct sq_recipe *r, const char *name, const float *x,
                                   size_t m, struct sq_product *p, struct sq_error *err)
{
    const struct sq_route *const chip = q->format->routes->chip;
    if (g->source == SQ_PROGRAM_CODED) {
        SQ_TRY(sq_route_product(q, r, x, m, p, err));
        return add(g, chip, name, NULL, 0, p, err);
    }
    SQ_FAIL_IF(r->is_smooth, err, SQ_ERR_UNSUPPORTED,
               "--encode with --smooth: the encoder does not divide inputs");
    SQ_FREED float *const inputs = malloc(m * q->k_orig * sizeof *inputs);
    SQ_NEED(inputs, err, "%zu inputs", m * q->k_orig);
    SQ_TRY(take_inputs(g, name, q, x, m, inputs, err));
    SQ_TRY(sq_route_product(q, r, inputs, m, p, err));
    if (g->source == SQ_PROGRAM_CODES)
        SQ_TRY(requantize(g, inputs, q->k_orig, p, err));
    return add(g, chip, name, inputs, q->k_orig, p, err);
}

void sq_chip_program_free(struct sq_chip_program *g)
{
    for (uint32_t i = 0; i < g->ring.n; i++)
        sq_product_free(&g->layer[i].p);
}
