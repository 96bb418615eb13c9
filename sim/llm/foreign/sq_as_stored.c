// SPDX-License-Identifier: Apache-2.0
// Keeps the values of a layer as a file stores them (sq_as_stored.h).
#include "sim/llm/foreign/sq_as_stored.h"

#include <stdlib.h>
#include <string.h>

#include "models/number/sq_gemm_values.h"
#include "sim/format/sq_format_ops.h"

struct state {
    size_t n, k;
    float *w;
    uint64_t nbytes; // in its file
};

static void state_free(void *context)
{
    struct state *s = context;
    if (s)
        free(s->w);
    free(s);
}

static enum sq_status check(const struct sq_recipe *r, struct sq_error *err)
{
    (void)r, (void)err;
    return SQ_OK;
}

static unsigned needs(const struct sq_recipe *r)
{
    (void)r;
    return 0;
}

static enum sq_status init(void **state, const struct sq_recipe *r, const float *w, size_t n,
                           size_t k, const struct sq_quant_input *in, struct sq_error *err)
{
    (void)r, (void)w, (void)n, (void)k, (void)in;
    *state = NULL;
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "as_stored: nothing is encoded into it");
}

static enum sq_status apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                            float *y, struct sq_error *err)
{
    const struct state *s = state;
    SQ_FREED void *scratch = aligned_alloc(64, (sq_gemm_values_scratch(m, s->k) + 63) / 64 * 64);
    (void)r;
    SQ_NEED(scratch, err, "a layer of %zu x %zu", s->n, s->k);
    sq_gemm_values(s->w, s->n, x, m, s->k, y, scratch);
    return SQ_OK;
}

static size_t padded(const struct sq_recipe *r, size_t k_orig)
{
    (void)r;
    return k_orig;
}

static void decode_row(const void *state, size_t row, float *out)
{
    const struct state *s = state;
    memcpy(out, s->w + row * s->k, s->k * sizeof *out);
}

// The bytes of the file, of which nothing more is said.
static size_t parts(const void *state, struct sq_part part[SQ_PARTS_MAX])
{
    const struct state *s = state;
    part[0] = (struct sq_part){.name = "stored", .dtype = SQ_U8, .n_dims = 1, .dim = {s->nbytes}};
    return 1;
}

static double act_nbits(const struct sq_recipe *r)
{
    (void)r;
    return 32;
}

static const struct sq_format_values values = {.check = check,
                                               .needs = needs,
                                               .init = init,
                                               .free = state_free,
                                               .apply = apply,
                                               .padded = padded,
                                               .decode_row = decode_row};
static const struct sq_format_file file = {.parts = parts};
static const struct sq_format_cost cost = {.act_nbits = act_nbits};
static const struct sq_format_option option[] = {{0}};
static const struct sq_format_ops ops = {
    .name = "as_stored", .option = option, .values = &values, .file = &file, .cost = &cost};

struct sq_recipe sq_as_stored_recipe(void)
{
    struct sq_recipe r = sq_recipe_of(&ops);
    r.operand = SQ_OPERAND_WEIGHTS;
    return r;
}

bool sq_is_as_stored(const struct sq_recipe *r)
{
    return r->format == &ops;
}

enum sq_status sq_as_stored_layer(float *w, size_t n, size_t k, double nbits,
                                  struct sq_quant_layer *q, struct sq_error *err)
{
    struct state *s = malloc(sizeof *s);
    *q = (struct sq_quant_layer){0};
    if (!s) {
        free(w);
        return SQ_NO_MEMORY(err, "a layer of %zu x %zu", n, k);
    }
    *s = (struct state){n, k, w, (uint64_t)(nbits / 8)};
    *q = (struct sq_quant_layer){.format = &ops, .state = s, .n = n, .k = k, .k_orig = k};
    return SQ_OK;
}
