// SPDX-License-Identifier: Apache-2.0
// The format of tests/package/toy_format.t and sim/format/README.md: a weight is a sign times the scale
// of its row. Linked beside a list of formats with one line more; nothing else of sim/ knows it.
#include <math.h>
#include <stdlib.h>

#include "sim/format/sq_format_ops.h"

// ---- options --------------------------------------------------------------------------------

struct toy_recipe {
    unsigned is_max;
};
SQ_RECIPE_OPTIONS(toy)

static const char *const scale_choice[] = {"mean", "max", NULL};
static const char *const act_choice[] = {"4", "8", NULL};

static const struct sq_format_option options[] = {
    SQ_WORD("toy-scale", SQ_IN_EVAL | SQ_IN_QUANTIZE, SQ_IN_EVAL | SQ_IN_QUANTIZE, scale_choice, 0,
            0, SQ_OWN(toy_recipe, is_max), "scale of a row: of its magnitudes"),
    SQ_NUMBER("act-bits", SQ_IN_RUN | SQ_IN_SWEEP, SQ_IN_RUN, act_choice, 8, SQ_FIELD(act.low_bits),
              "bits of an activation"),
    {0}};

// ---- values ---------------------------------------------------------------------------------

struct state {
    size_t n, k;
    float *scale;  // [n]
    uint8_t *sign; // [n][row_nbytes(k)], bit i: element i is negative
};

static size_t row_nbytes(size_t k)
{
    return (k + 7) / 8;
}

static float value(const struct state *s, size_t row, size_t i)
{
    const bool is_negative = s->sign[row * row_nbytes(s->k) + i / 8] >> i % 8 & 1;
    return is_negative ? -s->scale[row] : s->scale[row];
}

static void toy_free(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    free(s->scale);
    free(s->sign);
    free(s);
}

static struct state *state_new(size_t n, size_t k)
{
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    *s = (struct state){n, k, malloc(n * sizeof(float)), calloc(n, row_nbytes(k))};
    if (s->scale && s->sign)
        return s;
    toy_free(s);
    return NULL;
}

static enum sq_status init(void **state, const struct sq_recipe *r, const float *w, size_t n,
                           size_t k, const struct sq_quant_input *in, struct sq_error *err)
{
    struct state *s = state_new(n, k);
    (void)in;
    *state = s;
    if (!s)
        return SQ_NO_MEMORY(err, "a layer of %zu x %zu", n, k);
    for (size_t row = 0; row < n; row++) {
        double sum = 0, max = 0;
        for (size_t i = 0; i < k; i++) {
            const double x = fabs((double)w[row * k + i]);
            sum += x;
            max = x > max ? x : max;
            if (signbit(w[row * k + i]))
                s->sign[row * row_nbytes(k) + i / 8] |= (uint8_t)(1u << i % 8);
        }
        s->scale[row] = (float)(toy_recipe(r)->is_max ? max : sum / (double)k);
    }
    return SQ_OK;
}

static enum sq_status apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                            float *y, struct sq_error *err)
{
    const struct state *s = state;
    (void)r, (void)err;
    for (size_t t = 0; t < m; t++)
        for (size_t row = 0; row < s->n; row++) {
            double sum = 0;
            for (size_t i = 0; i < s->k; i++)
                sum += (double)value(s, row, i) * (double)x[t * s->k + i];
            y[t * s->n + row] = (float)sum;
        }
    return SQ_OK;
}

static void *outline(const struct sq_recipe *r, size_t n, size_t k)
{
    struct state *s = calloc(1, sizeof *s);
    (void)r;
    if (s)
        *s = (struct state){.n = n, .k = k};
    return s;
}

static void decode_row(const void *state, size_t row, float *out)
{
    const struct state *s = state;
    for (size_t i = 0; i < s->k; i++)
        out[i] = value(s, row, i);
}

// ---- files ----------------------------------------------------------------------------------

static size_t parts(const void *state, struct sq_part part[SQ_PARTS_MAX])
{
    const struct state *s = state;
    part[0] = (struct sq_part){"scale", SQ_F32, 1, {s->n}, s->scale};
    part[1] = (struct sq_part){"sign", SQ_U8, 2, {s->n, row_nbytes(s->k)}, s->sign};
    return 2;
}

static enum sq_status load(void **state, const struct sq_recipe *r,
                           const struct sq_part_source *from, struct sq_error *err)
{
    struct state *const s = *state = state_new(from->n, from->k_orig);
    (void)r;
    SQ_NEED(s, err, "a layer");
    return sq_parts_read(parts, s, from, err);
}

// ---- time and traffic -----------------------------------------------------------------------

static enum sq_status check_cost(const struct sq_recipe *r, struct sq_error *err)
{
    return sq_cost_check_act(r, false, err);
}

static void demand(const struct sq_recipe *r, const struct sq_core_config *has, struct sq_demand *d)
{
    struct sq_cost_unit *const u = &d->cost;
    u->low_lanes = sq_cost_products(has, 1, sq_recipe_act_bits(r));
    sq_cost_pieces(u, 1, u->low_lanes);
    d->of[SQ_STREAM_LO].element = 1;
    d->of[SQ_STREAM_SCALE].group = 4;
}

static double equivalent_bits(const struct sq_recipe *r)
{
    (void)r;
    return 1;
}

static const struct sq_format_values coded = {
    .init = init,
    .free = toy_free,
    .apply = apply,
    .decode_row = decode_row,
};

static const struct sq_format_file stored = {
    .outline = outline,
    .parts = parts,
    .load = load,
};

static const struct sq_format_cost timed = {
    .check = check_cost,
    .demand = demand,
    .equivalent_bits = equivalent_bits,
};

static const struct sq_format_gpu on_gpu = {
    .product = sq_gpu_product_bf16,
};

const struct sq_format_ops sq_format_toy = {
    .name = "toy",
    .option = options,
    .values = &coded,
    .file = &stored,
    .cost = &timed,
    .gpu = &on_gpu,
};
